/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_timer_stop.c - timers that are stopped, and timers that are started on another scheduler
 *
 * Afterwards the memory belongs to the owner. The test overwrites a timer as soon as it has been stopped, so
 * that a use of it is detected, and its function asserts that it does not run. */
#include <stdatomic.h>
#include <string.h>

#include "harness.h"

enum { TIMERS = 4, FAR = 1000000 };

struct watched {
    hora_timer timer;
    atomic_int starts;
    atomic_int runs;
    atomic_int cancelled;
    _Atomic hora_ns due;
    atomic_bool punctual;
    atomic_bool is_gone; /* nothing may run or touch it */
};

static hora_scheduler *scheduler;
static struct watched all[TIMERS];

static int run(void *arg)
{
    struct watched *watched = arg;
    hora_ns now = hora_clock_now(NULL);
    CHECK(!watched->is_gone);
    CHECK(now >= watched->due);
    if (watched->punctual && test_is_exact())
        CHECK_INT(now, watched->due);
    watched->runs++;
    return 0;
}

static int begin_if_possible(const hora_scheduler_options *options)
{
    for (int i = 0; i < TIMERS; i++) {
        memset(&all[i], 0, sizeof all[i]);
        CHECK_OK(hora_timer_init(&all[i].timer, run, &all[i]));
    }
    return hora_scheduler_new(options, &scheduler, NULL);
}

static void begin(const hora_scheduler_options *options)
{
    CHECK_OK(begin_if_possible(options));
}

static hora_pool_stats stats(void)
{
    hora_pool_stats now = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(scheduler, &now));
    return now;
}

/* No thread may touch it any more. */
static void spoil(int i)
{
    all[i].is_gone = true;
    memset(&all[i].timer, 0x5A, sizeof all[i].timer);
}

static void check_spoilt(int i)
{
    const unsigned char *bytes = (const unsigned char *)&all[i].timer;
    for (size_t at = 0; at < sizeof all[i].timer; at++)
        CHECK_INT(bytes[at], 0x5A);
}

/* The scheduler checks its books when it is freed. */
static void end(void)
{
    CHECK_OK(hora_pool_free(scheduler));
    for (int i = 0; i < TIMERS; i++) {
        CHECK(all[i].runs + all[i].cancelled <= all[i].starts);
        if (all[i].is_gone)
            check_spoilt(i);
        else
            CHECK(!hora_timer_is_pending(&all[i].timer));
    }
}

static int start(int i, hora_ns delay)
{
    bool may_run_meanwhile = all[i].starts > 0 && !test_is_exact(); /* for the start before this one */
    all[i].due = may_run_meanwhile ? 0 : hora_clock_now(NULL) + delay;
    all[i].starts++; /* before it can run */
    int outcome = hora_timer_start(&all[i].timer, scheduler, delay);
    CHECK(outcome == 0 || outcome == 1 || outcome == HORA_EREJECTED);
    all[i].starts -= outcome < 0;
    return outcome < 0 ? outcome : 0;
}

/* Returns whether the timer will not run; then overwrites it at once. */
static bool cancel_and_spoil(int i)
{
    int answer = hora_timer_cancel(&all[i].timer);
    CHECK(answer == HORA_CANCEL_REMOVED || answer == HORA_CANCEL_RUNNING || answer == HORA_CANCEL_TOO_LATE);
    all[i].cancelled += answer == HORA_CANCEL_REMOVED;
    if (answer == HORA_CANCEL_REMOVED)
        spoil(i);
    return answer == HORA_CANCEL_REMOVED;
}

static void quiesce(void)
{
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
}

/* ---- stopping ---- */

/* A timer whose function takes some time, and notes when it is in it. */
static atomic_int inside;
static atomic_int begun;
static hora_ns again_after; /* its function starts it again after this; < 0: it does not */
static atomic_bool is_stopped;

static int run_for_a_while(void *arg)
{
    hora_timer *timer = arg;
    CHECK(!is_stopped);
    inside++;
    begun++;
    CHECK_OK(hora_sleep(3));
    if (again_after >= 0) {
        int outcome = hora_timer_start(timer, scheduler, again_after);
        CHECK(outcome == 0 || outcome == HORA_EBUSY || outcome == HORA_EREJECTED);
    }
    CHECK(!is_stopped);
    inside--;
    return 0;
}

static void begin_running(const hora_scheduler_options *options, hora_ns again)
{
    begin(options);
    inside = begun = 0;
    is_stopped = false;
    again_after = again;
    CHECK_OK(hora_timer_init(&all[0].timer, run_for_a_while, &all[0].timer));
    CHECK_OK(hora_timer_start(&all[0].timer, scheduler, 2));
}

/* From here on no thread may touch the timer or run it. */
static void stop_and_spoil(void)
{
    int answer = hora_timer_stop(&all[0].timer);
    CHECK(answer == HORA_CANCEL_REMOVED || answer == HORA_CANCEL_RUNNING || answer == HORA_CANCEL_TOO_LATE);
    is_stopped = true;
    CHECK_INT(inside, 0);
    if (answer == HORA_CANCEL_REMOVED && again_after < 0)
        CHECK_INT(begun, 0);
    if (answer != HORA_CANCEL_REMOVED)
        CHECK(begun > 0);
    spoil(0);
}

/* It is pending, about to run, running, or has run. */
SCENARIO(timer_stop_meets_a_worker)
{
    begin_running(HORA_SCHEDULER_OPTIONS(.core_threads = 1), -1);
    CHECK_OK(hora_sleep(2));
    stop_and_spoil();
    quiesce();
    end();
}

/* Its function starts it again and again: at once, on whichever worker. */
SCENARIO(timer_stop_meets_a_restart)
{
    begin_running(HORA_SCHEDULER_OPTIONS(.core_threads = 1), 0);
    CHECK_OK(hora_sleep(4));
    stop_and_spoil();
    quiesce();
    end();
}

LARGE_SCENARIO(timer_stop_meets_restarts_on_two_workers)
{
    begin_running(HORA_SCHEDULER_OPTIONS(.core_threads = 2), 1);
    CHECK_OK(hora_sleep(5));
    stop_and_spoil();
    quiesce();
    end();
}

static int nothing_before(hora_pool *pool, const hora_run_info *run, void *context)
{
    (void)pool;
    (void)context;
    CHECK(run->future == NULL && run->task != NULL);
    return 0;
}

/* On a scheduler that shows its timers, and on one with admission, where all have one turn. */
LARGE_SCENARIO(timer_stop_on_schedulers_that_see_timers)
{
    for (int admitted = 0; admitted < 2; admitted++) {
        begin_running(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .before = nothing_before,
                                             .admission = admitted ? HORA_ADMISSION() : NULL),
                      0);
        CHECK_OK(start(1, 1));
        CHECK_OK(start(2, FAR));
        CHECK_OK(hora_sleep(4));
        stop_and_spoil();
        CHECK(cancel_and_spoil(2) || !test_is_exact());
        quiesce();
        CHECK_INT(all[1].runs, 1);
        end();
    }
}

/* With one thread a due timer waits for the active run, whose end is counted. */
MEDIUM_SCENARIO(timer_runs_end_on_a_scheduler_with_admission)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .admission = HORA_ADMISSION()));
    for (int i = 0; i < 3; i++)
        CHECK_OK(start(i, i == 0 ? 0 : 2));
    quiesce();
    for (int i = 0; i < 3; i++)
        CHECK_INT(all[i].runs, 1);
    end();
}

static void stop_it(void *arg)
{
    (void)arg;
    CHECK(hora_timer_stop(&all[0].timer) >= 0);
    CHECK_INT(inside, 0);
}

LARGE_SCENARIO(timer_stop_by_two_threads)
{
    begin_running(HORA_SCHEDULER_OPTIONS(.core_threads = 1), -1);
    test_thread *other = test_thread_start(NULL, stop_it, NULL);
    CHECK_OK(hora_sleep(2));
    stop_it(NULL);
    test_thread_join(other);
    is_stopped = true;
    spoil(0);
    quiesce();
    end();
}

static void stop_pool(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown_now(scheduler, NULL));
}

/* Whichever is first: the function has returned, or was never called. */
LARGE_SCENARIO(timer_stop_meets_the_stop_of_its_scheduler)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(start(0, 0));
    test_thread *other = test_thread_start(NULL, stop_pool, NULL);
    CHECK(hora_timer_stop(&all[0].timer) >= 0);
    spoil(0);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK_INT(hora_timer_stop(&all[1].timer), HORA_CANCEL_TOO_LATE);
    end();
}

/* A scheduler that has been freed is not accessed. */
MEDIUM_SCENARIO(timer_outlives_a_scheduler_that_is_freed)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(start(0, 0));
    quiesce();
    end();
    CHECK_INT(all[0].runs, 1);
    CHECK_INT(hora_timer_cancel(&all[0].timer), HORA_CANCEL_TOO_LATE);
    CHECK_INT(hora_timer_stop(&all[0].timer), HORA_CANCEL_TOO_LATE);
}

/* ---- to another scheduler ---- */

static hora_scheduler *second;

static void shut_second_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(second));
}

/* It is pending here or there, or has run, or was lost in the one way that is promised. */
LARGE_SCENARIO(timer_moves_to_a_scheduler_that_ends)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &second, NULL));
    CHECK_OK(start(0, 5));
    test_thread *other = test_thread_start(NULL, shut_second_down, NULL);
    all[0].due = 0;
    int outcome = hora_timer_start(&all[0].timer, second, 5);
    test_thread_join(other);
    CHECK(outcome == 1 || outcome == HORA_EREJECTED ||
          (!test_is_exact() && (outcome == 0 || outcome == HORA_EBUSY)));
    all[0].starts += outcome >= 0;
    quiesce();
    CHECK_OK(hora_pool_await_termination_for(second, HORA_FOREVER));
    if (outcome == 1)
        CHECK_INT(all[0].runs, 1);
    else
        CHECK_INT(all[0].runs + stats().cancelled, all[0].starts);
    CHECK_OK(hora_pool_free(second));
    end();
}

/* ---- no memory, no threads ---- */

static bool try_start(int i, hora_ns delay)
{
    all[i].starts++;
    int error = hora_timer_start(&all[i].timer, scheduler, delay);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    all[i].starts -= error < 0;
    if (error < 0) {
        CHECK(!hora_timer_is_pending(&all[i].timer));
        CHECK_INT(all[i].runs, 0);
        spoil(i);
    }
    return error == 0;
}

/* With any error of a move the timer is still pending where it was. */
SWEEP(timer_move_survives)
{
    if (begin_if_possible(HORA_SCHEDULER_OPTIONS(.core_threads = 1)) < 0)
        return;
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &second, NULL) == 0) {
        if (try_start(0, HORA_SECONDS(1))) {
            int outcome = hora_timer_start(&all[0].timer, second, HORA_SECONDS(2));
            CHECK(outcome == 1 || outcome == HORA_ENOMEM || outcome == HORA_EAGAIN);
            CHECK(hora_timer_is_pending(&all[0].timer));
            CHECK_INT(hora_timer_stop(&all[0].timer), HORA_CANCEL_REMOVED);
            all[0].cancelled++;
        }
        CHECK_OK(hora_pool_free(second));
    }
    end();
}
