/* SPDX-License-Identifier: Apache-2.0 */
/* test_growth.c - threads that are started and ended with the load */
#include <string.h>

#include "events_support.h"
#include "pool_support.h"

#define BOUND      HORA_MS(100)
#define KEEP_ALIVE HORA_SECONDS(5)

static void open_growing(struct rig *r, struct diary *diary, bool with_admission, hora_pool_options options)
{
    memset(diary, 0, sizeof(*diary));
    hora_listener listener = diary_listener_for(diary, "ZT");
    const hora_admission admission = HORA_INIT(hora_admission);
    options.listener = &listener;
    options.grow_after = BOUND;
    options.admission = with_admission ? &admission : NULL;
    options.keep_alive = KEEP_ALIVE;
    rig_open(r, false, &options);
}

#define OPEN_GROWING(r, diary, ...) open_growing((r), (diary), false, *HORA_POOL_OPTIONS(__VA_ARGS__))

/* Lets this much time pass, with everything that is due in that time. */
static void pass_time(struct rig *r, hora_ns time)
{
    settle(&r->f);
    CHECK_OK(hora_virtual_clock_run(r->f.clock, time));
    settle(&r->f);
}

static void check_step(const char *file, int line, struct diary *diary, int i, int before, int after)
{
    if (diary->count <= i) {
        test_fail(file, line, "only %d changes were told", diary->count);
        return;
    }
    test_check_int(file, line, "threads_before", diary->notes[i].event.threads_before, before);
    test_check_int(file, line, "threads", diary->notes[i].event.threads, after);
    if (diary->notes[i].event.why == NULL)
        test_fail(file, line, "no reason");
}
#define CHECK_STEP(diary, i, before, after) check_step(__FILE__, __LINE__, (diary), (i), (before), (after))

static void grow_and_shrink(int capacity, bool with_admission)
{
    struct rig r;
    struct diary diary;
    struct job jobs[5];

    open_growing(&r, &diary, with_admission,
                 *HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 3, .queue_capacity = capacity));
    execute_jobs(&r, jobs, 5);
    CHECK_INT(rig_stats(&r).threads, 1);
    pass_time(&r, BOUND - 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_DIARY(&diary, "");
    pass_time(&r, 1);
    CHECK_DIARY(&diary, "Z"); /* one at a time */
    CHECK_STEP(&diary, 0, 1, 2);
    CHECK_INT(rig_stats(&r).threads, 2);
    pass_time(&r, BOUND);
    CHECK_DIARY(&diary, "ZZ");
    CHECK_STEP(&diary, 1, 2, 3);
    pass_time(&r, 100 * BOUND);
    CHECK_INT(rig_stats(&r).threads, 3); /* never more than max_threads */
    CHECK_INT(rig_stats(&r).queued, 2);
    CHECK_DIARY(&diary, "ZZ");
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(rig_stats(&r).done, 5);
    pass_time(&r, KEEP_ALIVE - 1);
    CHECK_INT(rig_stats(&r).threads, 3);
    pass_time(&r, 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_DIARY(&diary, "ZZZZ");
    CHECK_INT(diary.notes[2].event.threads + diary.notes[3].event.threads,
              2 + 1); /* two threads tell, in any order */
    pass_time(&r, 10 * KEEP_ALIVE);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).largest, 3);
    rig_close(&r);
    CHECK_DIARY(&diary, "ZZZZ");
}

TEST(growth_of_a_pool_whose_threads_are_blocked, "")
{
    grow_and_shrink(0, false);
}

TEST(growth_of_a_pool_with_a_bounded_queue, "")
{
    grow_and_shrink(10, false);
}

TEST(growth_of_a_pool_with_admission, "")
{
    grow_and_shrink(0, true);
}

/* Each task waits for less than the bound, although there is always one that waits. */
TEST(growth_needs_a_task_that_waits_for_the_bound, "")
{
    struct rig r;
    struct diary diary;
    struct job first = A_WAITING_JOB(&r), next = A_JOB(&r);

    OPEN_GROWING(&r, &diary, .core_threads = 1, .max_threads = 2);
    execute_job(&r, &first);
    execute_job(&r, &next);
    pass_time(&r, BOUND - 1);
    CHECK_INT(rig_stats(&r).queued, 1);
    rig_open_gate(&r);
    pass_time(&r, 10 * BOUND);
    CHECK_INT(rig_stats(&r).done, 2);
    CHECK_DIARY(&diary, "");
    rig_close(&r);
}

struct sleeper {
    struct rig *rig;
    hora_ns time;
};

static int sleep_a_while(void *arg, void **ret_result)
{
    const struct sleeper *sleeper = arg;
    (void)ret_result;
    return hora_clock_sleep(sleeper->rig->f.view, sleeper->time);
}

/* New tasks arrive all the time, and none waits for long, so the pool does not grow. As soon as each waits
 * longer, it does. */
TEST(growth_does_not_mind_a_queue_that_is_never_empty, "")
{
    struct rig r;
    struct diary diary;
    struct sleeper sleeper = {.rig = &r, .time = BOUND / 4};

    OPEN_GROWING(&r, &diary, .core_threads = 1, .max_threads = 2);
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(sleep_a_while, &sleeper)));
    for (int i = 0; i < 40; i++) { /* each waits for two quarters, and takes one */
        pass_time(&r, BOUND / 4);
        CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(sleep_a_while, &sleeper)));
    }
    CHECK_DIARY(&diary, "");
    for (int i = 0; i < 10; i++)
        CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(sleep_a_while, &sleeper)));
    pass_time(&r, 2 * BOUND);
    CHECK_DIARY(&diary, "Z");
    pass_time(&r, 10 * BOUND);
    CHECK_INT(rig_stats(&r).queued, 0);
    rig_close(&r);
}

/* Once the queue has been found empty, no thread checks it any more; when a task is queued again, one
 * does. */
TEST(growth_leaves_an_idle_pool_alone, "")
{
    struct rig r;
    struct diary diary;
    struct job jobs[2] = {A_WAITING_JOB(&r), A_JOB(&r)}, again[2] = {A_WAITING_JOB(&r), A_WAITING_JOB(&r)};

    OPEN_GROWING(&r, &diary, .core_threads = 1, .max_threads = 2);
    execute_job(&r, &jobs[0]);
    execute_job(&r, &jobs[1]);
    settle(&r.f);
    rig_open_gate(&r);
    pass_time(&r, 2 * BOUND);
    CHECK_INT(rig_stats(&r).done, 2);
    uint64_t wakeups = test_wakeups();
    CHECK_OK(hora_virtual_clock_advance(r.f.clock, HORA_HOURS(1)));
    settle(&r.f);
    if (test_is_exact())
        CHECK_INT(test_wakeups(), wakeups);
    CHECK_OK(hora_latch_free(r.gate));
    CHECK_OK(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = r.f.view), &r.gate, NULL));
    execute_job(&r, &again[0]);
    execute_job(&r, &again[1]);
    pass_time(&r, BOUND - 1);
    CHECK_DIARY(&diary, "");
    pass_time(
        &r,
        1 + BOUND / 2); /* the second came after the first one, which has woken the watch, had been counted */
    CHECK_DIARY(&diary, "Z");
    rig_close(&r);
}

/* A thread that cannot be started is reported; the pool continues with those that it has. */
TEST(growth_that_gets_no_thread, "")
{
    struct rig r;
    struct diary diary;
    struct job jobs[2];

    OPEN_GROWING(&r, &diary, .core_threads = 1, .max_threads = 2, .thread_factory = rig_factory);
    r.factory_threads = 1;
    r.factory_error = HORA_EAGAIN;
    execute_jobs(&r, jobs, 2);
    pass_time(&r, BOUND);
    CHECK_DIARY(&diary, "T");
    r.factory_threads = 2;
    pass_time(&r, BOUND / 2);
    CHECK_DIARY(&diary, "TZ");
    rig_close(&r);
}

/* After shutdown the pool still grows for queued tasks. */
TEST(growth_goes_on_after_shutdown, "")
{
    struct rig r;
    struct diary diary;
    struct job jobs[2];

    OPEN_GROWING(&r, &diary, .core_threads = 1, .max_threads = 2);
    execute_jobs(&r, jobs, 2);
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown(r.pool));
    pass_time(&r, BOUND);
    CHECK_DIARY(&diary, "Z");
    rig_close(&r);
}

TEST(growth_options_that_cannot_work, "")
{
    struct rig r;
    hora_error reason;
    hora_queue *queue;

    rig_prepare(&r, false);
    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    CHECK_ERROR(rig_try_pool(&r, HORA_POOL_OPTIONS(.core_threads = 2, .grow_after = BOUND), &reason),
                HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, "grow_after", "max_threads");
    CHECK_ERROR(rig_try_pool(&r,
                             HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .queue_capacity = -1,
                                               .grow_after = BOUND),
                             &reason),
                HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, "grow_after", "queue_capacity");
    CHECK_ERROR(rig_try_pool(&r,
                             HORA_POOL_OPTIONS(.core_threads = 0, .max_threads = 2, .queue = queue,
                                               .grow_after = BOUND),
                             &reason),
                HORA_EINVAL);
    CHECK_ERROR(
        rig_try_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .grow_after = -1), &reason),
        HORA_EINVAL);
    CHECK_ERROR(
        hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .grow_after = BOUND), &r.pool, &reason),
        HORA_EINVAL);
    CHECK_OK(hora_queue_free(queue));
    r.pool = NULL;
    rig_close(&r);
}
