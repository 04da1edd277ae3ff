/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_limits.c - limits of tasks against events at the same moment
 *
 * Each scenario ends with hora_pool_free, which waits for all threads and checks the books. A task is
 * reported as expired exactly if its outcome says so, its argument is dropped exactly once, and an interrupt
 * never reaches another task. */
#include <stdatomic.h>

#include "books.h"
#include "harness.h"

enum { SPAN = 1000 };

static hora_pool *pool;
static atomic_int runs, drops, told, stuck, interrupts;
static _Atomic hora_ns stuck_at;

static void count_told(hora_pool *whose, const hora_event *event, void *arg)
{
    (void)event;
    (void)arg;
    CHECK_POINTER(whose, pool);
    told++;
}

static void count_stuck(hora_pool *whose, const hora_event *event, void *arg)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    (void)event;
    (void)arg;
    CHECK_OK(hora_pool_get_stats(whose, &stats)); /* no lock is held */
    stuck_at = hora_clock_now(NULL);
    stuck++;
}

/* One that counts, from zero. */
static hora_listener counting(void)
{
    runs = drops = told = stuck = interrupts = 0;
    stuck_at = 0;
    return *HORA_LISTENER(.expired = count_told, .stuck = count_stuck);
}

/* Returns whether the pool could be made: in a sweep that may fail. */
static bool try_begin(int threads, hora_ns stuck_after)
{
    hora_listener listener = counting();
    int error = hora_pool_new(HORA_POOL_OPTIONS(.core_threads = threads,
                                                .watchdog = HORA_WATCHDOG(.stuck_after = stuck_after),
                                                .listener = &listener),
                              &pool, NULL);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    return error == 0;
}

static void begin(int threads)
{
    CHECK(try_begin(threads, 0));
}

static void begin_scheduler(void)
{
    hora_listener listener = counting();
    CHECK_OK(
        hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .listener = &listener), &pool, NULL));
}

static void end(void)
{
    free_pool(pool);
}

static void count_drop(void *arg)
{
    (void)arg;
    drops++;
}

/* Checks that no interrupt of another task has reached this one. */
static int work(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    CHECK(!hora_interrupted());
    runs++;
    return 0;
}

static int work_perhaps_interrupted(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    return 0;
}

/* Takes a while, which an interrupt ends. */
static int take_a_while(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    if (hora_sleep(SPAN) == HORA_EINTERRUPTED)
        interrupts++;
    return 0;
}

/* The same, and nothing ends it before. */
static int take_a_long_while(void *arg, void **ret_result)
{
    (void)ret_result;
    hora_ns until = hora_clock_now(NULL) + *(const hora_ns *)arg;
    runs++;
    for (hora_ns now; (now = hora_clock_now(NULL)) < until;)
        if (hora_sleep(until - now) == HORA_EINTERRUPTED)
            interrupts++;
    return 0;
}

static hora_future *submit(hora_run_fn run, const hora_task_options *options)
{
    hora_future *future = NULL;
    CHECK_OK(hora_pool_submit_with(pool, HORA_TASK(run, NULL, .drop = count_drop), options, &future, NULL));
    return future;
}

/* Waits for a future and releases it. */
static int outcome_of(hora_future *future)
{
    int outcome = hora_future_get(future, NULL);
    (void)hora_future_unref(future);
    return outcome;
}

static _Atomic hora_ns came;

static int begin_in_time(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    if (test_is_exact())
        CHECK(hora_clock_now(NULL) - came < SPAN);
    runs++;
    return 0;
}

/* The worker takes the task at the moment at which it expires. */
MEDIUM_SCENARIO(limit_start_within_meets_begin)
{
    begin(1);
    hora_future *first = submit(take_a_while, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_NORMAL));
    came = hora_clock_now(NULL);
    hora_future *second = submit(begin_in_time, HORA_TASK_OPTIONS(.start_within = SPAN));
    CHECK_OK(hora_future_get(first, NULL));
    int outcome = hora_future_get(second, NULL);
    CHECK(outcome == 0 || outcome == HORA_EEXPIRED);
    CHECK_INT(runs, outcome == 0 ? 2 : 1);
    (void)hora_future_unref(first);
    (void)hora_future_unref(second);
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    end();
    CHECK_INT(drops, 2);
    CHECK_INT(told, outcome == 0 ? 0 : 1);
}

/* A task begins only before its time limit. In these schedules time does not pass while any thread can
 * run. */
SCENARIO(limit_nothing_begins_late)
{
    begin(1);
    static hora_ns lasts;
    lasts = 2L * SPAN;
    hora_future *futures[2];
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(take_a_long_while, &lasts, .drop = count_drop), &futures[0]));
    came = hora_clock_now(NULL);
    futures[1] = submit(begin_in_time, HORA_TASK_OPTIONS(.start_within = SPAN));
    CHECK_OK(outcome_of(futures[0]));
    int outcome = outcome_of(futures[1]);
    CHECK(outcome == HORA_EEXPIRED || (!test_is_exact() && outcome == 0));
    end();
    CHECK_INT(drops, 2);
}

/* The same on a scheduler, where the worker looks at the time when it takes the task. */
MEDIUM_SCENARIO(limit_of_a_scheduled_task_meets_begin)
{
    begin_scheduler();
    static hora_ns lasts;
    lasts = SPAN;
    hora_future *first;
    hora_future *second;
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(take_a_long_while, &lasts, .drop = count_drop), &first));
    came = hora_clock_now(NULL);
    CHECK_OK(hora_scheduler_schedule_with(pool, HORA_TASK(begin_in_time, NULL, .drop = count_drop),
                                          HORA_SCHEDULE(.options = HORA_TASK_OPTIONS(.start_within = SPAN)),
                                          &second, NULL));
    int outcome = outcome_of(second);
    CHECK(outcome == HORA_EEXPIRED || (!test_is_exact() && outcome == 0));
    CHECK_OK(outcome_of(first));
    end();
    CHECK_INT(drops, 2);
}

/* A task without a planned time gets one at the moment at which the watchdog looks at it: it expires all the
 * same, although the only worker is busy. */
MEDIUM_SCENARIO(limit_of_a_scheduled_task_meets_reschedule)
{
    begin_scheduler();
    static hora_ns lasts;
    lasts = 100L * SPAN;
    hora_future *first;
    hora_future *second;
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(take_a_long_while, &lasts, .drop = count_drop), &first));
    CHECK_OK(hora_scheduler_schedule_with(
        pool, HORA_TASK(work, NULL, .drop = count_drop),
        HORA_SCHEDULE(.initial_delay = SPAN, .options = HORA_TASK_OPTIONS(.start_within = SPAN)), &second,
        NULL));
    int error = hora_future_reschedule(second, HORA_FOREVER, 0);
    CHECK_OK(hora_sleep(2L * SPAN));
    if (error == 0)
        error = hora_future_reschedule(second, 0, 0);
    CHECK(error == 0 || (!test_is_exact() && error == HORA_EBUSY));
    hora_ns from = hora_clock_now(NULL);
    int outcome = outcome_of(second);
    CHECK(outcome == HORA_EEXPIRED || (!test_is_exact() && outcome == 0));
    if (test_is_exact())
        CHECK(hora_clock_now(NULL) - from <= SPAN);
    CHECK_OK(outcome_of(first));
    end();
    CHECK_INT(drops, 2);
    CHECK_INT(told, outcome == 0 ? 0 : 1);
}

/* The same on a pool with admission: a task that began too late frees its key. */
MEDIUM_SCENARIO(limit_of_an_admitted_task_meets_begin)
{
    hora_listener listener = counting();
    CHECK_OK(hora_pool_new(
        HORA_POOL_OPTIONS(.core_threads = 1, .admission = HORA_ADMISSION(), .listener = &listener), &pool,
        NULL));
    hora_future *futures[3];
    futures[0] = submit(take_a_while, HORA_TASK_OPTIONS(.key = 7));
    came = hora_clock_now(NULL);
    futures[1] = submit(begin_in_time, HORA_TASK_OPTIONS(.key = 7, .start_within = SPAN));
    futures[2] = submit(work, HORA_TASK_OPTIONS(.key = 7));
    CHECK_OK(outcome_of(futures[0]));
    int outcome = outcome_of(futures[1]);
    CHECK(outcome == HORA_EEXPIRED || (!test_is_exact() && outcome == 0));
    CHECK_OK(outcome_of(futures[2]));
    end();
    CHECK_INT(drops, 3);
    CHECK_INT(told, outcome == 0 ? 0 : 1);
}

/* A run that ends at the moment at which it should be done. */
MEDIUM_SCENARIO(limit_finish_within_meets_the_end)
{
    begin(1);
    hora_future *future = submit(take_a_while, HORA_TASK_OPTIONS(.finish_within = SPAN));
    hora_future *next = submit(work, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_NORMAL));
    int outcome = outcome_of(future);
    CHECK(outcome == 0 || outcome == HORA_EEXPIRED);
    CHECK_OK(hora_future_get(next, NULL));
    (void)hora_future_unref(next);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    end();
    CHECK_INT(drops, 2);
    CHECK_INT(told, outcome == 0 ? 0 : 1);
    if (test_is_exact())
        CHECK_INT(runs, 2);
}

static void cancel(void *future)
{
    CHECK(hora_future_cancel(future, false) >= 0);
}

/* In the queue, and cancelled, or taken, at that moment. */
MEDIUM_SCENARIO(limit_finish_within_meets_cancel)
{
    begin(1);
    hora_future *first = submit(take_a_while, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_NORMAL));
    hora_future *second = submit(work_perhaps_interrupted, HORA_TASK_OPTIONS(.finish_within = SPAN / 2));
    test_thread *other = test_thread_start(NULL, cancel, second);
    int outcome = hora_future_get(second, NULL);
    CHECK(outcome == 0 || outcome == HORA_EEXPIRED || outcome == HORA_ECANCELED);
    test_thread_join(other);
    (void)hora_future_unref(first);
    (void)hora_future_unref(second);
    end();
    CHECK_INT(drops, 2);
    CHECK_INT(told, outcome == HORA_EEXPIRED ? 1 : 0);
}

/* The interrupt is meant for a run that ends at that moment. */
MEDIUM_SCENARIO(limit_run_for_never_meets_the_next)
{
    begin(1);
    hora_future *futures[2];
    futures[0] = submit(take_a_while, HORA_TASK_OPTIONS(.run_limit = SPAN));
    futures[1] = submit(work, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_NORMAL));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_future_get(futures[i], NULL));
        (void)hora_future_unref(futures[i]);
    }
    end();
    CHECK_INT(drops, 2);
}

/* A series: nor the next run of the same task. */
SCENARIO(limit_run_for_never_meets_the_next_run)
{
    begin_scheduler();
    hora_future *future;
    CHECK_OK(hora_scheduler_schedule_with(
        pool, HORA_TASK(take_a_while, NULL, .drop = count_drop),
        HORA_SCHEDULE(.fixed_delay = 1, .count = 2, .options = HORA_TASK_OPTIONS(.run_limit = SPAN + 1)),
        &future, NULL));
    CHECK_OK(hora_future_get(future, NULL));
    if (test_is_exact())
        CHECK_INT(interrupts, 0);
    CHECK_INT(runs, 2);
    (void)hora_future_unref(future);
    end();
}

/* The second limit is earlier than the first, for which the watchdog already sleeps: it must be enforced
 * nevertheless. */
SCENARIO(limit_earlier_than_all_others)
{
    begin(1);
    hora_future *first = submit(take_a_while, HORA_TASK_OPTIONS(.run_limit = 100L * SPAN));
    hora_ns then = hora_clock_now(NULL);
    hora_future *second = submit(work, HORA_TASK_OPTIONS(.start_within = SPAN / 2));
    int outcome = outcome_of(second);
    if (test_is_exact()) {
        CHECK_ERROR(outcome, HORA_EEXPIRED);
        CHECK_INT(hora_clock_now(NULL) - then, SPAN / 2);
    }
    (void)hora_future_unref(first);
    end();
}

/* ---- stuck ---- */

MEDIUM_SCENARIO(limit_stuck_worker_is_replaced_or_ends)
{
    begin(1);
    hora_future *futures[2];
    futures[0] = submit(take_a_while, HORA_TASK_OPTIONS(.stuck_after = SPAN, .replace_stuck = true));
    futures[1] = submit(work, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_NORMAL));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_future_get(futures[i], NULL));
        (void)hora_future_unref(futures[i]);
    }
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    end();
    CHECK_INT(runs, 2);
    CHECK_INT(drops, 2);
}

static atomic_int ended;

static int take_a_while_and_say(void *arg, void **ret_result)
{
    (void)take_a_long_while(arg, ret_result);
    ended++;
    return 0;
}

/* The pool is shut down while a worker that was written off still runs: it terminates after that worker, and
 * never has more workers than allowed. */
SCENARIO(limit_replaced_worker_is_waited_for)
{
    begin(1);
    static hora_ns lasts;
    lasts = 2L * SPAN;
    ended = 0;
    CHECK_OK(hora_pool_submit_with(pool, HORA_TASK(take_a_while_and_say, &lasts, .drop = count_drop),
                                   HORA_TASK_OPTIONS(.stuck_after = SPAN, .replace_stuck = true), NULL,
                                   NULL));
    hora_future *future = submit(work, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_NORMAL));
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(ended, 1);
    end();
    CHECK_INT(drops, 2);
}

static atomic_int at_once, most_at_once;

static int take_turns(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    int now = ++at_once;
    if (now > most_at_once)
        most_at_once = now;
    (void)hora_sleep(1);
    at_once--;
    return 0;
}

/* When its task has returned, a worker that was written off takes no other task. So no two tasks of this kind
 * run at the same time. */
SCENARIO(limit_replaced_worker_takes_nothing)
{
    begin(1);
    at_once = most_at_once = 0;
    static hora_ns lasts;
    lasts = SPAN + 1;
    CHECK_OK(hora_pool_submit_with(pool, HORA_TASK(take_a_long_while, &lasts, .drop = count_drop),
                                   HORA_TASK_OPTIONS(.stuck_after = SPAN, .replace_stuck = true), NULL,
                                   NULL));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(take_turns, NULL)));
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    end();
    if (test_is_exact())
        CHECK_INT(most_at_once, 1);
}

/* By the pool's rule: a task that begins while the watchdog has nothing to look after is found in time. */
SCENARIO(limit_watchdog_is_woken)
{
    CHECK(try_begin(1, SPAN));
    static hora_ns lasts;
    lasts = SPAN + 1;
    hora_ns began = hora_clock_now(NULL);
    hora_future *future;
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(take_a_long_while, &lasts, .drop = count_drop), &future));
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
    end();
    if (test_is_exact()) {
        CHECK_INT(stuck, 1);
        CHECK_INT(stuck_at - began, SPAN);
    }
}

/* ---- the end ---- */

static void stop(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown_now(pool, NULL));
}

/* The pool is freed while limits are set, and while one of them expires. */
MEDIUM_SCENARIO(limit_meets_the_end_of_the_pool)
{
    begin(1);
    hora_future *futures[2];
    futures[0] = submit(take_a_while, HORA_TASK_OPTIONS(.finish_within = SPAN / 2, .run_limit = SPAN / 2));
    futures[1] = submit(work_perhaps_interrupted,
                        HORA_TASK_OPTIONS(.start_within = SPAN / 2, .finish_within = 5L * SPAN));
    test_thread *other = test_thread_start(NULL, stop, NULL);
    test_thread_join(other);
    end();
    for (int i = 0; i < 2; i++) {
        CHECK(hora_future_is_done(futures[i]));
        (void)hora_future_unref(futures[i]);
    }
    CHECK_INT(drops, 2);
}

static void submit_two(void *arg)
{
    hora_future **futures = arg;
    futures[0] = submit(work, HORA_TASK_OPTIONS(.start_within = SPAN));
}

/* Two threads need the watch for the first time. */
MEDIUM_SCENARIO(limit_watch_is_started_once)
{
    begin(1);
    hora_future *futures[2];
    test_thread *other = test_thread_start(NULL, submit_two, &futures[0]);
    submit_two(&futures[1]);
    test_thread_join(other);
    for (int i = 0; i < 2; i++) {
        int outcome = outcome_of(futures[i]);
        CHECK(outcome == 0 || (!test_is_exact() && outcome == HORA_EEXPIRED));
    }
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    end();
    CHECK_INT(drops, 2);
}

SWEEP(limits_survive_every_failure)
{
    if (!try_begin(1, SPAN))
        return;
    int accepted = 0;
    for (int i = 0; i < 3; i++) {
        int error = hora_pool_submit_with(pool, HORA_TASK(take_a_while, NULL, .drop = count_drop),
                                          HORA_TASK_OPTIONS(.start_within = SPAN, .finish_within = 2L * SPAN,
                                                            .run_limit = SPAN / 2, .stuck_after = 1,
                                                            .replace_stuck = i == 0),
                                          NULL, NULL);
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
        accepted += error == 0;
    }
    CHECK_OK(hora_pool_shutdown(pool));
    end();
    CHECK_INT(drops, accepted);
    CHECK(runs <= accepted);
}

SWEEP(limits_of_a_scheduler_survive_every_failure)
{
    hora_listener listener = counting();
    int error =
        hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .listener = &listener), &pool, NULL);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    if (error < 0)
        return;
    int accepted = 0;
    for (int i = 0; i < 3; i++) {
        hora_schedule spec = HORA_INIT(hora_schedule);
        hora_task_options limits = HORA_INIT(hora_task_options);
        limits.start_within = SPAN;
        limits.finish_within = i == 0 ? 2L * SPAN : 0;
        limits.run_limit = SPAN / 2;
        spec.fixed_rate = i == 0 ? 0 : SPAN;
        spec.count = i == 0 ? 0 : 2;
        if (i == 2) {
            spec.overlap = HORA_OVERLAP_ALLOW;
            spec.overlap_max = 2;
        }
        spec.options = &limits;
        error = hora_scheduler_schedule_with(pool, HORA_TASK(take_a_while, NULL, .drop = count_drop), &spec,
                                             NULL, NULL);
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
        accepted += error == 0;
    }
    (void)hora_sleep(3L * SPAN);
    end();
    CHECK_INT(drops, accepted);
}

/* ---- dumps ---- */

static atomic_int dumps_written;
static int dump_depth; /* of the one that is being written */

static int note_dump(const char *text, size_t length, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < length; i++) {
        dump_depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
        if (text[i] == '}' && dump_depth == 0)
            dumps_written++;
    }
    return 0;
}

static void request(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_request_dump(pool));
}

/* Two requests result in one dump or two, and the pool ends at the same time. */
SCENARIO(request_meets_request)
{
    dumps_written = dump_depth = 0;
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .dump = note_dump), &pool, NULL));
    test_thread *other = test_thread_start(NULL, request, NULL);
    request(NULL);
    test_thread_join(other);
    end();
    CHECK(dumps_written <= 2 && dump_depth == 0);
}

static hora_latch *two_dumps;

/* Asks for another one in the middle of the first. */
static int request_again(const char *text, size_t length, void *arg)
{
    int before = dumps_written;
    if (dump_depth == 0 && before == 0)
        request(NULL);
    CHECK_OK(note_dump(text, length, arg));
    if (dumps_written > before)
        CHECK_OK(hora_latch_count_down(two_dumps));
    return 0;
}

SCENARIO(request_during_a_dump)
{
    dumps_written = dump_depth = 0;
    CHECK_OK(hora_latch_new(2, NULL, &two_dumps, NULL));
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .dump = request_again), &pool, NULL));
    request(NULL);
    CHECK_OK(hora_latch_await(two_dumps));
    end();
    CHECK_OK(hora_latch_free(two_dumps));
}

SWEEP(requests_survive_every_failure)
{
    int error = hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .dump = note_dump), &pool, NULL);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    if (error < 0)
        return;
    CHECK_OK(hora_pool_request_dump(pool));
    end();
}
