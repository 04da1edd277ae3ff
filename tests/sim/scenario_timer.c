/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_timer.c - timers in memory of the caller: each start runs once or is cancelled, in time
 *
 * Each run asserts that it is not early and that its timer is not pending. The memory of a timer that is not
 * pending belongs to the caller. The test overwrites it, so that a use of it is detected. */
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

/* ---- waiting ---- */

/* A timer that is due earlier wakes the leader, and each begins in time. */
MEDIUM_SCENARIO(timer_is_punctual)
{
    static const hora_ns delays[] = {30, 10, 20};
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    for (int i = 0; i < 3; i++) {
        all[i].punctual = true;
        CHECK_OK(start(i, delays[i]));
    }
    quiesce();
    for (int i = 0; i < 3; i++)
        CHECK_INT(all[i].runs, 1);
    end();
}

static void start_two(void *arg)
{
    (void)arg;
    CHECK_OK(start(2, 5));
    CHECK_OK(start(3, 0));
}

LARGE_SCENARIO(timer_from_two_threads)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    test_thread *other = test_thread_start(NULL, start_two, NULL);
    CHECK_OK(start(0, 5));
    CHECK_OK(start(1, 0));
    test_thread_join(other);
    quiesce();
    for (int i = 0; i < TIMERS; i++)
        CHECK_INT(all[i].runs, 1);
    end();
}

/* The last worker leaves when a timer is started: whether or not it leaves, the timer runs. */
LARGE_SCENARIO(timer_meets_a_leaving_worker)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 0));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(start(i, 0));
        quiesce();
        CHECK_INT(all[i].runs, 1);
    }
    end();
}

/* ---- cancelling ---- */

/* The timer either runs or is cancelled; if it is cancelled, its memory can be freed at once. */
SCENARIO(timer_cancel_meets_a_worker)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(start(0, 0));
    bool cancelled = cancel_and_spoil(0);
    quiesce();
    CHECK_INT(all[0].runs, cancelled ? 0 : 1);
    CHECK_INT(stats().cancelled, cancelled ? 1 : 0);
    end();
}

/* In lanes and heap, with others that move when one goes. */
LARGE_SCENARIO(timer_cancel_among_others)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < TIMERS; i++)
        CHECK_OK(start(i, i == 3 ? 0 : FAR));
    bool cancelled[TIMERS];
    for (int i = 0; i < TIMERS; i++)
        cancelled[i] = cancel_and_spoil(i);
    quiesce();
    for (int i = 0; i < TIMERS; i++)
        CHECK_INT(all[i].runs, cancelled[i] ? 0 : 1);
    for (int i = 0; i < 3 && test_is_exact(); i++)
        CHECK(cancelled[i]);
    end();
}

static void look(void *arg)
{
    (void)arg;
    (void)stats();
}

/* Another thread moves a posted timer into the heap while it is being cancelled. */
SCENARIO(timer_cancel_meets_a_look)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(start(0, FAR));
    CHECK_OK(start(1, FAR));
    test_thread *other = test_thread_start(NULL, look, NULL);
    bool cancelled = cancel_and_spoil(0);
    CHECK(cancelled || !test_is_exact());
    test_thread_join(other);
    CHECK(cancel_and_spoil(1) || !test_is_exact());
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    end();
}

static void wait_for_quiet(void *arg)
{
    (void)arg;
    quiesce();
}

/* A thread that waits until the scheduler is idle is woken also if the last timer is cancelled, wherever the
 * timer is: the second one is still in a lane. */
SCENARIO(timer_cancel_meets_a_quiescer)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(start(0, FAR));
    test_thread *other = test_thread_start(NULL, wait_for_quiet, NULL);
    CHECK_OK(start(1, 2 * FAR));
    for (int i = 0; i < 2; i++)
        CHECK(cancel_and_spoil(i) || !test_is_exact());
    test_thread_join(other);
    end();
}

static void shut_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(scheduler));
}

/* The scheduler ends although its last timer is cancelled at that moment. */
SCENARIO(timer_cancel_meets_shutdown)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(start(0, FAR));
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    (void)cancel_and_spoil(0);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    end();
}

/* A worker that stays for this timer alone goes when that does. */
LARGE_SCENARIO(timer_cancel_releases_the_last_worker)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 0, .keep_alive = 10));
    CHECK_OK(start(0, FAR));
    CHECK_OK(hora_sleep(20));
    bool cancelled = cancel_and_spoil(0);
    CHECK_OK(hora_sleep(100));
    if (cancelled && test_is_exact())
        CHECK_INT(stats().threads, 0);
    end();
}

/* ---- moving ---- */

/* However often it is moved, it runs at its last time, and if it was already taken, also at that one. */
LARGE_SCENARIO(timer_is_moved)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(start(0, 10));
    CHECK_OK(start(1, 20));
    all[0].punctual = true;
    CHECK_OK(start(0, 30));
    CHECK_OK(start(0, 5));
    quiesce();
    CHECK_INT(all[1].runs, 1);
    if (test_is_exact())
        CHECK_INT(all[0].runs, 1);
    CHECK_INT(stats().done, all[0].runs + 1);
    CHECK_INT(stats().done + stats().cancelled, 4);
    end();
}

/* Of what runs while it is moved nothing is lost. */
SCENARIO(timer_move_meets_a_worker)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(start(0, 0));
    all[0].due = 0; /* it may run as it was started first */
    all[0].starts++;
    int moved = hora_timer_start(&all[0].timer, scheduler, 5);
    CHECK(moved == 0 || moved == 1);
    quiesce();
    CHECK_INT(stats().cancelled, moved);
    CHECK_INT(all[0].runs + stats().cancelled, 2);
    CHECK(all[0].runs >= 1);
    end();
}

static atomic_int again_runs;

static int run_again(void *arg)
{
    hora_timer *timer = arg;
    if (++again_runs == 3)
        memset(timer, 0x5A, sizeof *timer);
    else
        CHECK_OK(hora_timer_start(timer, scheduler, again_runs == 1 ? 0 : 5));
    return 0;
}

/* From its body, while the call that started it may not have returned. */
SCENARIO(timer_starts_itself_again)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    again_runs = 0;
    CHECK_OK(hora_timer_init(&all[0].timer, run_again, &all[0].timer));
    all[0].is_gone = true;
    CHECK_OK(hora_timer_start(&all[0].timer, scheduler, 0));
    quiesce();
    CHECK_INT(again_runs, 3);
    end();
}

/* ---- the end of the scheduler ---- */

/* An accepted timer runs; a rejected one belongs to the caller. */
LARGE_SCENARIO(timer_meets_shutdown)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    for (int i = 0; i < 2; i++)
        if (start(i, i == 0 ? 5 : 0) < 0)
            spoil(i);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    for (int i = 0; i < 2; i++)
        CHECK_INT(all[i].runs, all[i].starts);
    end();
}

/* With the policy for delayed tasks: a timer that is not due at the shutdown is cancelled, whenever it was
 * started. */
SCENARIO(timer_meets_shutdown_that_cancels)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    int error = start(0, FAR);
    test_thread_join(other);
    if (test_is_exact()) {
        CHECK(!hora_timer_is_pending(&all[0].timer));
        spoil(0);
    }
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    if (test_is_exact())
        CHECK_INT(stats().cancelled, error == 0);
    end();
}

static void stop(void *arg)
{
    hora_future_list *list = arg;
    CHECK_OK(hora_pool_shutdown_now(scheduler, list));
}

/* After a stop has returned none is pending, and none is handed back. */
LARGE_SCENARIO(timer_meets_stop)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(start(0, FAR));
    test_thread *other = test_thread_start(NULL, stop, &list);
    (void)start(1, 0);
    (void)start(2, 5);
    test_thread_join(other);
    for (int i = 0; i < 3; i++)
        CHECK(!hora_timer_is_pending(&all[i].timer));
    CHECK_INT(list.count, 0);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK_INT(stats().done, all[0].runs + all[1].runs + all[2].runs);
    CHECK_INT(stats().done + stats().cancelled, all[0].starts + all[1].starts + all[2].starts);
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

SWEEP(timer_survives)
{
    if (begin_if_possible(HORA_SCHEDULER_OPTIONS(.core_threads = 1)) < 0)
        return;
    int started = 0;
    for (int i = 0; i < TIMERS; i++)
        started += try_start(i, i == 0 ? 0 : HORA_SECONDS(i)) ? 1 : 0;
    CHECK(stats().queued <= started);
    CHECK_INT(stats().accepted, started);
    if (!all[1].is_gone)
        (void)cancel_and_spoil(1);
    int error = hora_pool_close_for(scheduler, HORA_SECONDS(10));
    CHECK(error == 0 || error == HORA_ETIMEDOUT || error == HORA_ENOMEM);
    end();
}
