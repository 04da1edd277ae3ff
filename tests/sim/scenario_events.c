/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_events.c - listeners are notified of exactly what happens, whatever happens at the same time
 *
 * They are notified of as many starts as there are runs, of one end for each, and once of each rejected
 * task. */
#include <stdatomic.h>

#include <hora/event.h>

#include "books.h"
#include "harness.h"
#include "simulator/sim.h"

static hora_pool *pool;
static atomic_int runs, drops;
static atomic_int started, done, failed, rejected, skipped, stepped, thread_failures;

#define COUNTS(name)                                                              \
    static void count_##name(hora_pool *told, const hora_event *event, void *arg) \
    {                                                                             \
        (void)event;                                                              \
        (void)arg;                                                                \
        CHECK_POINTER(told, pool);                                                \
        name++;                                                                   \
    }
COUNTS(started)
COUNTS(done)
COUNTS(failed)
COUNTS(rejected)

static void count_thread_failed(hora_pool *told, const hora_event *event, void *arg)
{
    (void)told;
    (void)arg;
    CHECK(event->code < 0);
    thread_failures++;
}

static void count_skipped(hora_pool *told, const hora_event *event, void *arg)
{
    (void)arg;
    CHECK_POINTER(told, pool);
    skipped += (int)event->count;
}

/* Asks for something that takes the locks: none is held. */
static void count_stepped(hora_pool *told, const hora_event *event, void *arg)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    (void)event;
    (void)arg;
    CHECK_OK(hora_pool_get_stats(told, &stats));
    stepped++;
}

/* One that counts, from zero. */
static hora_listener counting(void)
{
    runs = drops = started = done = failed = rejected = skipped = stepped = thread_failures = 0;
    return *HORA_LISTENER(.started = count_started, .done = count_done, .failed = count_failed,
                          .rejected = count_rejected, .skipped = count_skipped,
                          .thread_failed = count_thread_failed, .clock_stepped = count_stepped);
}

static int work(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    return 0;
}

static void count_drop(void *arg)
{
    (void)arg;
    drops++;
}

static int end_thread(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    hora__sim_exit_thread();
}

static void shut_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(pool));
}

static int execute(hora_run_fn run)
{
    int error = hora_pool_execute(pool, HORA_TASK(run, NULL, .drop = count_drop));
    CHECK(error == 0 || error == HORA_EREJECTED);
    return error;
}

static void submit_meets_shutdown(const hora_pool_options *options)
{
    hora_listener own = counting();
    hora_pool_options all = *options;
    all.listener = &own;
    CHECK_OK(hora_pool_new(&all, &pool, NULL));
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    int refused = 0;
    for (int i = 0; i < 2; i++)
        refused += execute(work) < 0;
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(rejected, refused);
    CHECK_INT(started, runs);
    CHECK_INT(done, runs);
    CHECK_INT(runs, 2 - refused);
    CHECK_OK(hora_pool_free(pool));
}

LARGE_SCENARIO(events_of_tasks_that_meet_shutdown)
{
    submit_meets_shutdown(HORA_POOL_OPTIONS(.core_threads = 1));
}

/* The second task waits for room, and finds it or the shutdown. */
LARGE_SCENARIO(events_of_tasks_that_wait_for_room)
{
    submit_meets_shutdown(
        HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_BLOCK));
}

/* Which task is dropped depends on the order of the submitters; each rejection is reported once. */
LARGE_SCENARIO(events_of_tasks_that_are_dropped)
{
    hora_listener own = counting();
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1,
                                             .reject = HORA_REJECT_DISCARD_OLDEST, .listener = &own),
                           &pool, NULL));
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(work, NULL, .drop = count_drop)));
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(runs + rejected, 3);
    CHECK_INT(drops, 3);
    CHECK_INT(started, runs);
    CHECK_INT(done, runs);
    CHECK_OK(hora_pool_free(pool));
}

/* ---- threads that end ---- */

static void after(hora_pool *told, const hora_run_info *run, void *arg)
{
    (void)told;
    (void)arg;
    CHECK(!run->submitted);
    if (run->code == 0)
        hora__sim_exit_thread();
}

/* The first ends its thread, the hook after the second one does so. */
LARGE_SCENARIO(events_of_threads_that_end)
{
    hora_listener own = counting();
    CHECK_OK(
        hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .listener = &own, .after = after), &pool, NULL));
    CHECK_OK(execute(end_thread));
    CHECK_OK(execute(work));
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 2);
    CHECK_INT(started, 2);
    CHECK_INT(failed, 1);
    CHECK_INT(done, 1);
    CHECK_INT(hora_pool_free(pool), 1); /* the first one */
}

static void cancel(void *arg)
{
    CHECK(hora_future_cancel(arg, true) >= 0);
}

/* Either the task runs, and both events are reported, or it does not, and none is. */
LARGE_SCENARIO(events_of_a_task_that_is_cancelled)
{
    hora_listener own = counting();
    hora_future *future = NULL;
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .listener = &own), &pool, NULL));
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(work, NULL, .drop = count_drop), &future));
    test_thread *other = test_thread_start(NULL, cancel, future);
    test_thread_join(other);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(started, runs);
    CHECK_INT(done, runs);
    CHECK_INT(drops, 1);
    (void)hora_future_unref(future);
    CHECK_OK(hora_pool_free(pool));
}

/* ---- schedulers ---- */

static void leap(void *arg)
{
    CHECK_OK(hora_virtual_clock_step_wall(arg, HORA_SECONDS(10)));
    CHECK_OK(hora_virtual_clock_advance(arg, HORA_SECONDS(5)));
}

/* Time passes, the clock is set and the scheduler is stopped. The number of skipped times in the events is
 * the number that the series counts. */
LARGE_SCENARIO(events_of_a_series_that_is_late)
{
    hora_listener own = counting();
    hora_virtual_clock *clock;
    hora_future *series = NULL;
    CHECK_OK(hora_virtual_clock_new(NULL, &clock, NULL));
    CHECK_OK(hora_scheduler_new(
        HORA_SCHEDULER_OPTIONS(.core_threads = 1, .listener = &own,
                               .clock = hora_virtual_clock_view(clock, HORA_CLOCK_MONOTONIC)),
        &pool, NULL));
    CHECK_OK(hora_scheduler_schedule_with(
        pool, HORA_TASK(work, NULL, .drop = count_drop),
        HORA_SCHEDULE(.fixed_rate = HORA_SECONDS(1), .missed = HORA_MISSED_ONCE), &series, NULL));
    test_thread *other = test_thread_start(NULL, leap, clock);
    test_thread_join(other);
    CHECK_OK(hora_pool_shutdown_now(pool, NULL));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    CHECK_OK(hora_future_get_schedule_info(series, &info));
    CHECK_INT(skipped, info.skipped);
    CHECK_INT(started, runs);
    CHECK_INT(done, runs);
    CHECK(stepped <= 1);
    CHECK_INT(drops, 1);
    (void)hora_future_unref(series);
    free_pool(pool);
    CHECK_OK(hora_virtual_clock_free(clock));
}

/* ---- no memory, no threads ---- */

SWEEP(events_survive)
{
    hora_listener own = counting();
    pool = NULL;
    int error = hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 2, .listener = &own), &pool, NULL);
    CHECK(error == 0 || error == HORA_ENOMEM);
    if (error < 0)
        return;
    int in = 0;
    for (int i = 0; i < 3; i++) {
        error = hora_pool_execute(pool, HORA_TASK(work, NULL, .drop = count_drop));
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
        in += error == 0;
    }
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    error = hora_pool_shutdown(pool);
    CHECK(error == 0 || error == HORA_ENOMEM);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    if (stats.threads == 0)
        CHECK(hora_pool_shutdown_now(pool, NULL) <= 0);
    free_pool(pool);
    CHECK_INT(drops, in);
    CHECK_INT(started, runs);
    CHECK_INT(done, runs);
    CHECK_INT(rejected, 0);
    CHECK_INT(thread_failures, stats.thread_failures);
}
