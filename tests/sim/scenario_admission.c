/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_admission.c - pools with admission: limits, reserves, keys and rates hold, and all tasks run
 *
 * The tasks themselves are the oracle: each counts how many tasks of its class, of its key, and in all run at
 * the same time. */
#include <stdatomic.h>

#include "books.h"
#include "harness.h"

enum { SPAN = 1000, MOST = 8 };

static hora_pool *pool;
static hora_class *narrow; /* of which `limit` may run at a time */
static atomic_int limit;
static int threads; /* how many tasks may run at the same time at all */

struct run {
    hora_class *of;
    uint64_t key;
    int number; /* among those of its key, as they came */
    hora_future *future;
};

static struct run runs[MOST];
static atomic_int running;
static atomic_int narrow_running;
static atomic_int key_running;
static atomic_int key_next;
static atomic_int done;
static atomic_int drops;
static hora_ns starts[MOST];

/* Others may run here: a call that looks at a shared word. */
static void let_others(void)
{
    for (int i = 0; i < 2; i++)
        (void)hora_pool_is_shutdown(pool);
}

static int work(void *arg, void **ret_result)
{
    const struct run *run = arg;
    (void)ret_result;
    starts[run - runs] = hora_clock_now(NULL);
    CHECK(++running <= threads);
    CHECK(run->of != narrow || narrow == NULL || ++narrow_running <= limit);
    if (run->key != 0) {
        CHECK(++key_running == 1);
        CHECK(key_next <= run->number); /* those before it have run, or were taken out */
        key_next = run->number + 1;
    }
    let_others();
    if (run->key != 0)
        key_running--;
    if (run->of == narrow && narrow != NULL)
        narrow_running--;
    running--;
    done++;
    return 0;
}

static void count_drop(void *arg)
{
    (void)arg;
    drops++;
}

static void reset(int core_threads)
{
    running = narrow_running = key_running = key_next = done = drops = 0;
    narrow = NULL;
    pool = NULL;
    threads = core_threads;
    for (int i = 0; i < MOST; i++)
        runs[i] = (struct run){.of = NULL};
}

static void begin(int core_threads)
{
    reset(core_threads);
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = core_threads, .admission = HORA_ADMISSION()),
                           &pool, NULL));
}

static void make_narrow(int most)
{
    limit = most;
    CHECK_OK(hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "narrow", .limit = most), &narrow, NULL));
}

static void submit(int i, hora_class *of, uint64_t key, int number)
{
    runs[i] = (struct run){.of = of, .key = key, .number = number};
    CHECK_OK(hora_pool_submit_with(pool, HORA_TASK(work, &runs[i], .drop = count_drop),
                                   HORA_TASK_OPTIONS(.task_class = of, .key = key), &runs[i].future, NULL));
}

static void forget(int count)
{
    for (int i = 0; i < count; i++)
        runs[i].future = hora_future_unref(runs[i].future);
}

static void end(void)
{
    CHECK_OK(hora_pool_free(pool));
}

/* All that was submitted runs. */
static void all_run(int count)
{
    for (int i = 0; i < count; i++)
        CHECK_OK(hora_future_get(runs[i].future, NULL));
    forget(count);
    end();
    CHECK_INT(done, count);
    CHECK_INT(drops, count);
}

LARGE_SCENARIO(admission_class_keeps_its_limit)
{
    begin(2);
    make_narrow(1);
    for (int i = 0; i < 3; i++)
        submit(i, narrow, 0, 0);
    all_run(3);
}

LARGE_SCENARIO(admission_key_is_kept_in_order)
{
    begin(2);
    for (int i = 0; i < 3; i++)
        submit(i, NULL, 7, i);
    all_run(3);
}

LARGE_SCENARIO(admission_classes_and_keys_together)
{
    begin(2);
    make_narrow(1);
    submit(0, narrow, 7, 0);
    submit(1, NULL, 7, 1);
    submit(2, narrow, 0, 0);
    submit(3, NULL, 0, 0);
    all_run(4);
}

/* One thread is reserved: tasks without a class run one at a time, and a task of the class does not wait for
 * them. */
LARGE_SCENARIO(admission_reserve_is_kept)
{
    hora_class *dear;
    begin(2);
    threads = 1;
    CHECK_OK(hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "dear", .reserve = 1), &dear, NULL));
    for (int i = 0; i < 3; i++)
        submit(i, NULL, 0, 0);
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_future_get(runs[i].future, NULL));
    threads = 2;
    submit(3, dear, 0, 0);
    all_run(4);
}

/* There are never more running tasks than the pool has threads for, also if workers start and end. */
LARGE_SCENARIO(admission_tasks_have_a_thread_each)
{
    reset(1);
    CHECK_OK(hora_pool_new(
        HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = MOST, .admission = HORA_ADMISSION()), &pool,
        NULL));
    CHECK_OK(hora_pool_prestart(pool) < 0 ? -1 : 0);
    CHECK_OK(hora_pool_set_max_threads(pool, 2, NULL));
    for (int i = 0; i < 3; i++)
        submit(i, NULL, 0, 0);
    all_run(3);
}

SCENARIO(admission_rate_is_in_time)
{
    hora_class *polite;
    begin(1);
    CHECK_OK(
        hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "polite", .rate = 1, .per = SPAN), &polite, NULL));
    submit(0, NULL, 0, 0);
    CHECK_OK(hora_future_get(runs[0].future,
                             NULL)); /* the worker has begun: from here on only it looks at the time */
    for (int i = 1; i < 4; i++)
        submit(i, polite, 0, 0);
    for (int i = 1; i < 4; i++)
        CHECK_OK(hora_future_get(runs[i].future, NULL));
    CHECK(starts[2] >= starts[1] + SPAN && starts[3] >= starts[2] + SPAN);
    if (test_is_exact())
        CHECK_INT(starts[3], starts[1] + 2 * SPAN);
    all_run(4);
}

static void cancel_second(void *arg)
{
    *(int *)arg = hora_future_cancel(runs[1].future, false);
}

/* The second of three of a key: it runs, or it does not, and the third runs in any case. */
LARGE_SCENARIO(admission_cancel_meets_begin)
{
    int what = 0;
    begin(2);
    make_narrow(1);
    for (int i = 0; i < 3; i++)
        submit(i, narrow, 7, i);
    test_thread *other = test_thread_start(NULL, cancel_second, &what);
    CHECK_OK(hora_future_get(runs[2].future, NULL));
    test_thread_join(other);
    CHECK_OK(hora_future_get(runs[0].future, NULL));
    CHECK(hora_future_is_done(runs[1].future));
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(done, what == HORA_CANCEL_REMOVED ? 2 : 3);
    CHECK_INT(drops, 3);
    forget(3);
    end();
}

static void stop(void *arg)
{
    CHECK_OK(hora_pool_shutdown_now(pool, arg));
}

/* Each task has run or is handed back, and the pool terminates. */
LARGE_SCENARIO(admission_stop_meets_the_end_of_a_task)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin(2);
    make_narrow(1);
    for (int i = 0; i < 3; i++)
        submit(i, i < 2 ? narrow : NULL, i < 2 ? 7 : 0, i);
    test_thread *other = test_thread_start(NULL, stop, &list);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    test_thread_join(other);
    CHECK_INT(done + list.count, 3);
    hora_future_list_cancel(&list);
    CHECK_INT(drops, 3);
    forget(3);
    end();
}

static void widen(void *arg)
{
    (void)arg;
    limit = 2;
    CHECK_OK(hora_class_set(narrow, HORA_CLASS_OPTIONS(.limit = 2), NULL));
}

LARGE_SCENARIO(admission_class_is_widened_while_tasks_end)
{
    begin(2);
    make_narrow(1);
    test_thread *other = test_thread_start(NULL, widen, NULL);
    for (int i = 0; i < 3; i++)
        submit(i, narrow, 0, 0);
    test_thread_join(other);
    all_run(3);
}

static int wait_for_the_gate(void *arg, void **ret_result)
{
    (void)ret_result;
    return hora_latch_await(arg);
}

/* The limit of a class that lets nothing begin is raised. The running tasks do not end by themselves, so the
 * change itself must wake a worker. */
LARGE_SCENARIO(admission_class_is_widened_for_those_who_wait)
{
    hora_latch *gate;
    hora_future *first;
    begin(2);
    make_narrow(1);
    CHECK_OK(hora_latch_new(1, NULL, &gate, NULL));
    CHECK_OK(hora_pool_submit_with(pool, HORA_TASK(wait_for_the_gate, gate),
                                   HORA_TASK_OPTIONS(.task_class = narrow), &first, NULL));
    submit(0, narrow, 0, 0);
    widen(NULL);
    CHECK_OK(hora_future_get(runs[0].future, NULL));
    CHECK_OK(hora_latch_count_down(gate));
    CHECK_OK(hora_future_get(first, NULL));
    (void)hora_future_unref(first);
    forget(1);
    end();
    CHECK_OK(hora_latch_free(gate));
}

static void move_second(void *arg)
{
    *(int *)arg = hora_future_set_class(runs[1].future, NULL);
}

/* It is moved, or has begun. */
LARGE_SCENARIO(admission_move_meets_begin)
{
    int moved = 0;
    begin(2);
    make_narrow(2); /* what runs may be more than the class says, if it has been moved since */
    for (int i = 0; i < 3; i++)
        submit(i, narrow, 0, 0);
    test_thread *other = test_thread_start(NULL, move_second, &moved);
    test_thread_join(other);
    CHECK(moved == 0 || moved == HORA_EBUSY);
    all_run(3);
}

/* ---- waiting for tasks of the same pool ---- */

static int wait_for_first(void *arg, void **ret_result)
{
    (void)ret_result;
    CHECK_OK(hora_future_get(runs[0].future, NULL));
    (void)arg;
    return 0;
}

/* Both tasks are of a class with limit 1. The awaited task runs nevertheless, after the other tasks with its
 * key. */
LARGE_SCENARIO(admission_task_awaited_by_its_own_pool)
{
    hora_future *outer;
    begin(2);
    threads = 3; /* one of them waits meanwhile */
    make_narrow(2);
    submit(1, NULL, 7, 0); /* the first of the key */
    submit(0, narrow, 7, 1);
    CHECK_OK(hora_class_set(narrow, HORA_CLASS_OPTIONS(.limit = 1), NULL));
    CHECK_OK(hora_pool_submit_with(pool, HORA_TASK(wait_for_first, NULL),
                                   HORA_TASK_OPTIONS(.task_class = narrow, .priority = HORA_PRIORITY_URGENT),
                                   &outer, NULL));
    CHECK_OK(hora_future_get(outer, NULL));
    (void)hora_future_unref(outer);
    CHECK_OK(hora_future_get(runs[1].future, NULL));
    forget(2);
    CHECK_INT(done, 2);
    end();
}

static hora_latch *latches[2];
static hora_latch *ready; /* all has been submitted */

static int wait_for_first_and_second(void *arg, void **ret_result)
{
    CHECK_OK(hora_latch_await(ready));
    CHECK_OK(hora_future_get(runs[0].future, NULL));
    return wait_for_the_gate(arg, ret_result);
}

static int let_go(void *arg, void **ret_result)
{
    (void)ret_result;
    return hora_latch_count_down(arg);
}

static void submit_other(int i, hora_run_fn run, hora_latch *latch, uint64_t key)
{
    CHECK_OK(hora_pool_submit_with(pool, HORA_TASK(run, latch), HORA_TASK_OPTIONS(.key = key),
                                   &runs[i].future, NULL));
}

/* A task that a waiting worker has run frees its key, and that worker continues with another task. So the
 * pool must wake another worker that has looked and found nothing in between. */
LARGE_SCENARIO(admission_key_is_free_after_a_run_on_a_waiting_worker)
{
    begin(2);
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_latch_new(1, NULL, &latches[i], NULL));
    CHECK_OK(hora_latch_new(1, NULL, &ready, NULL));
    submit_other(3, wait_for_the_gate, latches[0], 0);
    submit_other(2, wait_for_first_and_second, latches[1], 0);
    submit_other(0, let_go, latches[0], 7);
    submit_other(1, let_go, latches[1], 7);
    CHECK_OK(hora_latch_count_down(ready));
    CHECK_OK(hora_future_get(runs[2].future, NULL));
    CHECK_OK(hora_future_get(runs[3].future, NULL));
    forget(4);
    end();
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_latch_free(latches[i]));
    CHECK_OK(hora_latch_free(ready));
}

/* ---- schedulers ---- */

static void begin_scheduler(int core_threads)
{
    begin(core_threads);
    CHECK_OK(hora_pool_free(pool));
    CHECK_OK(hora_scheduler_new(
        HORA_SCHEDULER_OPTIONS(.core_threads = core_threads, .admission = HORA_ADMISSION()), &pool, NULL));
}

static void schedule(int i, hora_ns delay, hora_class *of, uint64_t key, int number)
{
    runs[i] = (struct run){.of = of, .key = key, .number = number};
    CHECK_OK(hora_scheduler_schedule_with(
        pool, HORA_TASK(work, &runs[i], .drop = count_drop),
        HORA_SCHEDULE(.initial_delay = delay, .options = HORA_TASK_OPTIONS(.task_class = of, .key = key)),
        &runs[i].future, NULL));
}

LARGE_SCENARIO(admission_scheduler_keeps_limit_and_key)
{
    begin_scheduler(2);
    make_narrow(1);
    schedule(0, SPAN, narrow, 7, 0);
    schedule(1, SPAN, narrow, 0, 0);
    schedule(2, SPAN, NULL, 7, 1);
    all_run(3);
}

/* Another task is due long before the rate lets the second one begin, so another worker becomes leader in
 * between. */
SCENARIO(admission_scheduler_rate_is_in_time)
{
    hora_class *polite;
    begin_scheduler(1);
    CHECK_OK(hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "polite", .rate = 1, .per = 10 * SPAN), &polite,
                            NULL));
    schedule(3, 0, NULL, 0, 0);
    CHECK_OK(hora_future_get(runs[3].future,
                             NULL)); /* the worker has begun: from here on only it looks at the time */
    schedule(0, 0, polite, 0, 0);
    schedule(1, 0, polite, 0, 0);
    schedule(2, SPAN, NULL, 0, 0);
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_future_get(runs[i].future, NULL));
    CHECK(test_is_exact() ? starts[1] == starts[0] + 10 * SPAN : starts[1] >= starts[0] + 10 * SPAN);
    all_run(4);
}

static int beat(void *arg, void **ret_result)
{
    (void)ret_result;
    CHECK(++narrow_running <= limit);
    let_others();
    if (arg != NULL)
        CHECK_OK(hora_sleep(SPAN + SPAN / 2));
    narrow_running--;
    done++;
    return 0;
}

static hora_future *series(hora_class *of, bool overlaps)
{
    hora_future *future = NULL;
    CHECK_OK(hora_scheduler_schedule_with(
        pool, HORA_TASK(beat, overlaps ? &runs : NULL),
        HORA_SCHEDULE(.initial_delay = SPAN, .fixed_rate = SPAN, .count = 3,
                      .overlap = overlaps ? HORA_OVERLAP_ALLOW : HORA_OVERLAP_NEVER,
                      .overlap_max = overlaps ? 3 : 0, .options = HORA_TASK_OPTIONS(.task_class = of)),
        &future, NULL));
    return future;
}

/* A series and a task of its class run one at a time, and both end. */
LARGE_SCENARIO(admission_series_gives_its_ticket_back)
{
    begin_scheduler(2);
    make_narrow(1);
    hora_future *future = series(narrow, false);
    schedule(0, SPAN, narrow, 0, 0);
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_OK(hora_future_get(runs[0].future, NULL));
    (void)hora_future_unref(future);
    forget(1);
    end();
    CHECK_INT(done, 4);
}

/* Runs that overlap, two of a class that lets two run. */
LARGE_SCENARIO(admission_series_overlaps_within_its_limit)
{
    begin_scheduler(3);
    make_narrow(2);
    hora_future *future = series(narrow, true);
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
    end();
    CHECK_INT(done, 3);
    CHECK_INT(narrow_running, 0);
}

static void disturb(void *arg)
{
    hora_future *future = arg;
    (void)hora_future_pause(future);
    (void)hora_future_set_priority(future, HORA_PRIORITY_HIGH);
    (void)hora_future_reschedule(future, 0, 0);
    (void)hora_future_resume(future);
}

/* Paused, re-timed and resumed while it waits for admission, or runs. */
LARGE_SCENARIO(admission_series_changes_while_it_waits)
{
    begin_scheduler(2);
    make_narrow(1);
    hora_future *future = series(narrow, false);
    schedule(0, SPAN, narrow, 0, 0);
    CHECK_OK(hora_sleep(SPAN));
    test_thread *other = test_thread_start(NULL, disturb, future);
    CHECK_OK(hora_future_get(runs[0].future, NULL));
    test_thread_join(other);
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
    forget(1);
    end();
    CHECK_INT(done, 4);
}

static hora_future *awaited;

static int wait_for_cancelled(void *arg, void **ret_result)
{
    (void)ret_result;
    hora_latch **both = arg;
    CHECK_OK(hora_latch_count_down(both[0]));
    CHECK_OK(hora_latch_await(both[1]));
    CHECK_INT(hora_future_get(awaited, NULL), HORA_ECANCELED);
    return 0;
}

/* A series that is due and waits for admission ends with the shutdown, not only when it may begin: the
 * running task of its class waits for that end. */
LARGE_SCENARIO(admission_series_that_waits_meets_shutdown)
{
    hora_latch *both[2];
    begin_scheduler(2);
    make_narrow(1);
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_latch_new(1, NULL, &both[i], NULL));
    CHECK_OK(hora_pool_submit_with(pool, HORA_TASK(wait_for_cancelled, both),
                                   HORA_TASK_OPTIONS(.task_class = narrow), &runs[0].future, NULL));
    CHECK_OK(hora_latch_await(both[0]));
    awaited = series(narrow, false);
    CHECK_OK(hora_latch_count_down(both[1]));
    CHECK_OK(hora_sleep(SPAN));
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_future_get(runs[0].future, NULL));
    (void)hora_future_unref(awaited);
    forget(1);
    end();
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_latch_free(both[i]));
    CHECK_INT(done, 0);
}

/* Each has run, or is handed back or cancelled. */
LARGE_SCENARIO(admission_scheduler_stop_meets_the_end_of_a_task)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin_scheduler(2);
    make_narrow(1);
    for (int i = 0; i < 3; i++)
        schedule(i, 0, i < 2 ? narrow : NULL, i > 0 ? 7 : 0, i);
    test_thread *other = test_thread_start(NULL, stop, &list);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    test_thread_join(other);
    int cancelled = 0; /* those that a worker had, and that had not begun */
    for (int i = 0; i < 3; i++)
        cancelled += hora_future_is_cancelled(runs[i].future);
    CHECK_INT(done + cancelled + list.count, 3);
    hora_future_list_cancel(&list);
    forget(3);
    end();
    CHECK_INT(drops, 3);
}

LARGE_SCENARIO(admission_scheduler_task_awaited_by_its_own_pool)
{
    hora_future *outer;
    begin_scheduler(2);
    threads = 3;
    make_narrow(2);
    schedule(1, SPAN, NULL, 7, 0);
    schedule(0, SPAN, narrow, 7, 1);
    CHECK_OK(hora_class_set(narrow, HORA_CLASS_OPTIONS(.limit = 1), NULL));
    CHECK_OK(hora_pool_submit_with(pool, HORA_TASK(wait_for_first, NULL),
                                   HORA_TASK_OPTIONS(.task_class = narrow), &outer, NULL));
    CHECK_OK(hora_future_get(outer, NULL));
    (void)hora_future_unref(outer);
    CHECK_OK(hora_future_get(runs[1].future, NULL));
    forget(2);
    end();
    CHECK_INT(done, 2);
}

/* ---- without memory, without threads ---- */

static bool is_lack(int error)
{
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    return error < 0;
}

static void use_without(void)
{
    hora_class *one = NULL;
    hora_future *future = NULL;
    int accepted = 0;
    if (!is_lack(hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "one", .limit = 1, .rate = 4, .per = 1),
                                &one, NULL)))
        (void)is_lack(hora_class_set(one, HORA_CLASS_OPTIONS(.limit = 1, .rate = 5, .per = 1), NULL));
    for (int i = 0; i < 3; i++) {
        runs[i] = (struct run){.key = 7, .number = i};
        if (!is_lack(hora_pool_submit_with(pool, HORA_TASK(work, &runs[i], .drop = count_drop),
                                           HORA_TASK_OPTIONS(.task_class = one, .key = 7), &runs[i].future,
                                           NULL)))
            accepted++;
    }
    if (!is_lack(hora_future_new(HORA_TASK(work, &runs[3], .drop = count_drop), &future))) {
        if (!is_lack(hora_pool_execute_future(pool, future)))
            accepted++;
        else
            drops--;
    }
    (void)hora_future_unref(future);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK(stats.accepted >= accepted); /* a series counts its runs, too, if they overlap */
    forget(3);
}

SWEEP(admission_pool_survives_every_failure)
{
    reset(2);
    if (is_lack(
            hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 2, .admission = HORA_ADMISSION()), &pool, NULL)))
        return;
    use_without();
    free_pool(pool);
}

SWEEP(admission_scheduler_survives_every_failure)
{
    reset(2);
    limit = 3;
    if (is_lack(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2, .admission = HORA_ADMISSION()),
                                   &pool, NULL)))
        return;
    hora_future *future = NULL;
    (void)is_lack(
        hora_scheduler_schedule_with(pool, HORA_TASK(beat, NULL),
                                     HORA_SCHEDULE(.fixed_rate = SPAN, .overlap = HORA_OVERLAP_ALLOW,
                                                   .overlap_max = 2, .options = HORA_TASK_OPTIONS(.key = 7)),
                                     &future, NULL));
    use_without();
    if (future != NULL)
        CHECK(hora_future_cancel(future, false) != HORA_CANCEL_TOO_LATE);
    (void)hora_future_unref(future);
    free_pool(pool);
}
