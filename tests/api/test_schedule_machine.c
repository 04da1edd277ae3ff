/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_machine.c - schedulers on the real clock: under load, with a million tasks, and at rest
 *
 * The tests print what they measure, and check what is promised. */
#include <stdio.h>
#include <stdlib.h>

#include "schedule_support.h"
#if defined(__GLIBC__)
#include "memory_use.h"
#endif

/* ---- lateness on a loaded machine ---- */

enum { TASKS = 10000, BURNERS = 4, WORKERS = 4 };

struct timed {
    hora_ns due;
    hora_ns late;
};

static int note_lateness(void *arg, void **ret_result)
{
    struct timed *timed = arg;
    (void)ret_result;
    timed->late = hora_clock_now(NULL) - timed->due;
    return 0;
}

static atomic_bool burning;

static void burn(void *arg)
{
    volatile unsigned *work = arg;
    while (burning)
        for (int i = 0; i < 1000; i++)
            *work = *work * 1664525u + 1013904223u;
}

static int compare_lateness(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    return (x->late > y->late) - (x->late < y->late);
}

static double ms(const struct timed *timed)
{
    return (double)timed->late / 1e6;
}

TEST_REAL(schedule_on_a_loaded_machine_is_never_early, "")
{
    static struct timed tasks[TASKS];
    unsigned work[BURNERS] = {0};
    test_thread *burners[BURNERS];
    hora_scheduler *scheduler;

    burning = true;
    for (int i = 0; i < BURNERS; i++)
        burners[i] = test_thread_start(NULL, burn, &work[i]);
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = WORKERS), &scheduler, NULL));
    for (int i = 0; i < TASKS; i++) {
        hora_ns delay = HORA_US((hora_ns)test_random(2000000));
        tasks[i] = (struct timed){.due = hora_clock_now(NULL) + delay, .late = -1};
        CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(note_lateness, &tasks[i]), delay, NULL));
    }
    CHECK_OK(hora_pool_shutdown(scheduler)); /* what runs once, later, runs in its time */
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    burning = false;
    for (int i = 0; i < BURNERS; i++)
        test_thread_join(burners[i]);
    qsort(tasks, TASKS, sizeof(*tasks), compare_lateness);
    CHECK(tasks[0].late >= 0);
    printf("late, %d tasks, %d workers, %d threads burn: p50 %.3f ms, p99 %.3f ms, p99.9 %.3f ms, most %.3f "
           "ms\n",
           TASKS, WORKERS, BURNERS, ms(&tasks[TASKS / 2]), ms(&tasks[TASKS - TASKS / 100]),
           ms(&tasks[TASKS - TASKS / 1000]), ms(&tasks[TASKS - 1]));
    CHECK_OK(hora_pool_free(scheduler));
}

/* From 1 ns to 10 ms: never early, on any of the three clocks. */
TEST_REAL(schedule_of_short_delays_is_never_early, "")
{
    hora_scheduler *scheduler;

    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL));
    for (hora_ns delay = 1; delay <= HORA_MS(10); delay = delay * 3 + 1)
        for (int line = 0; line < 3; line++) {
            const hora_clock *clock = hora_clock_system((hora_clock_id)(line + 1));
            hora_future *future = NULL;
            struct timed timed = {.late = -1};
            void *result;
            hora_ns before = hora_clock_now(clock);
            CHECK_OK(hora_scheduler_schedule_with(
                scheduler, HORA_TASK(note_lateness, &timed),
                HORA_SCHEDULE(.initial_delay = delay, .clock = (hora_clock_id)(line + 1)), &future, NULL));
            CHECK_OK(hora_future_get(future, &result));
            CHECK(info_of(future).last_start >= before + delay);
            CHECK(info_of(future).last_start >= info_of(future).last_planned);
            CHECK_POINTER(hora_future_unref(future), NULL);
        }
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    CHECK_OK(hora_pool_free(scheduler));
}

/* A nearer task that is added while a thread sleeps for a farther one wakes it. */
TEST_REAL(schedule_of_a_nearer_task_wakes_the_thread_that_sleeps, "")
{
    hora_scheduler *scheduler;
    hora_future *far = NULL, *near = NULL;
    struct timed timed = {0};
    void *result;

    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL));
    CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(note_lateness, &timed), HORA_HOURS(10), &far));
    for (int i = 0; i < 20; i++) {
        CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(note_lateness, &timed), HORA_MS(1), &near));
        CHECK_OK(hora_future_get_for(near, test_scale(HORA_SECONDS(30)), &result));
        CHECK_POINTER(hora_future_unref(near), NULL);
    }
    CHECK_OK(hora_future_reschedule(far, HORA_MS(1), 0));
    CHECK_OK(hora_future_get_for(far, test_scale(HORA_SECONDS(30)), &result));
    CHECK_POINTER(hora_future_unref(far), NULL);
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    CHECK_OK(hora_pool_free(scheduler));
}

/* ---- a million tasks ---- */

#if defined(__GLIBC__)

enum {
    MILLION = 1000000,
    PENDING = 100000,
    LEFT_BYTES = 5 << 20, /* may be kept for reuse: 4 MB of spare chunks, and some free blocks */
};

static int never_run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    test_fail(__FILE__, __LINE__, "a task ran before its time");
    return 0;
}

static void fill_and_empty(hora_scheduler *scheduler, hora_future **futures, int count, hora_schedule *spec)
{
    for (int i = 0; i < count; i++) {
        spec->initial_delay = HORA_HOURS(1) + HORA_SECONDS((hora_ns)test_random(1000000));
        CHECK_OK(
            hora_scheduler_schedule_with(scheduler, HORA_TASK(never_run, NULL), spec, &futures[i], NULL));
    }
    for (int i = 0; i < count; i++) {
        CHECK_INT(hora_future_cancel(futures[i], false), HORA_CANCEL_REMOVED);
        CHECK_POINTER(hora_future_unref(futures[i]), NULL);
    }
}

/* How much a pending task takes, and that nothing is left of it. */
static size_t bytes_per_task(hora_scheduler *scheduler, hora_future **futures, const hora_schedule *spec)
{
    size_t before = memory_in_use();
    for (int i = 0; i < PENDING; i++)
        if (spec != NULL)
            CHECK_OK(
                hora_scheduler_schedule_with(scheduler, HORA_TASK(never_run, NULL), spec, &futures[i], NULL));
        else
            CHECK_OK(
                hora_scheduler_schedule(scheduler, HORA_TASK(never_run, NULL), HORA_HOURS(2), &futures[i]));
    size_t full = memory_in_use();
    for (int i = 0; i < PENDING; i++) {
        CHECK_INT(hora_future_cancel(futures[i], false), HORA_CANCEL_REMOVED);
        CHECK_POINTER(hora_future_unref(futures[i]), NULL);
    }
    CHECK(memory_in_use() <= before + LEFT_BYTES);
    return (full - before) / PENDING;
}

TEST_REAL(schedule_a_million_and_cancel_leaves_nothing, "")
{
    static hora_future *futures[PENDING];
    hora_scheduler *scheduler;
    hora_schedule spec = HORA_INIT(hora_schedule);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    if (BUILT_WITH_ASAN || BUILT_WITH_TSAN)
        return; /* they have another malloc */
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL));
    fill_and_empty(scheduler, futures, 1000, &spec); /* the thread is there, and the first memory */
    size_t before = memory_in_use();
    for (int i = 0; i < MILLION / PENDING; i++) {
        spec.slack = i % 2 == 0 ? 0 : HORA_SECONDS(1);
        fill_and_empty(scheduler, futures, PENDING, &spec);
        CHECK(memory_in_use() <= before + LEFT_BYTES); /* flat */
    }
    CHECK_OK(hora_pool_get_stats(scheduler, &stats));
    CHECK_INT(stats.queued, 0);
    printf("bytes per pending task: %zu; with a schedule of its own %zu, with slack %zu\n",
           bytes_per_task(scheduler, futures, NULL),
           bytes_per_task(scheduler, futures,
                          HORA_SCHEDULE(.initial_delay = HORA_HOURS(2), .fixed_rate = HORA_HOURS(1))),
           bytes_per_task(scheduler, futures,
                          HORA_SCHEDULE(.initial_delay = HORA_HOURS(2), .slack = HORA_HOURS(1))));
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    CHECK_OK(hora_pool_free(scheduler));
}

#endif
