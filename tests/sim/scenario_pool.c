/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_pool.c - no accepted task is lost, whatever happens at the same time
 *
 * Each scenario ends with hora_pool_free, which waits for all threads and, in builds with assertions, checks
 * the books. */
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "books.h"
#include "harness.h"

enum { SPAN = 1000 };

static hora_pool *pool;
static atomic_int runs;
static atomic_int drops;

static int work(void *arg, void **ret_result)
{
    CHECK(!hora_interrupted());
    runs++;
    *ret_result = arg;
    return 0;
}

static int work_perhaps_interrupted(void *arg, void **ret_result)
{
    (void)hora_interrupted();
    runs++;
    *ret_result = arg;
    return 0;
}

static void count_drop(void *arg)
{
    (void)arg;
    drops++;
}

static void begin(const hora_pool_options *options)
{
    hora_error why;
    hora_pool_options own = *options;
    const hora_admission admission = HORA_INIT(hora_admission);
    if (getenv("HORA_TEST_ADMISSION") != NULL && own.queue == NULL && own.queue_capacity >= 0 &&
        !own.keep_cancelled)
        own.admission = &admission; /* without task options all is as ever */
    runs = drops = 0;
    int error = hora_pool_new(&own, &pool, &why);
    if (error < 0)
        test_fail(__FILE__, __LINE__, "%s: %s", hora_errname(error), why.message);
}

static void end(void)
{
    free_pool(pool);
}

static hora_future *submit(hora_run_fn run)
{
    hora_future *future = NULL;
    int error = hora_pool_submit(pool, HORA_TASK(run, &runs, .drop = count_drop), &future);
    CHECK(error == 0 || error == HORA_EREJECTED);
    return future;
}

static void shut_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(pool));
}

/* A task that was accepted before the shutdown runs; one that was not is the caller's. */
static void submit_meets_shutdown(const hora_pool_options *options)
{
    begin(options);
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    hora_future *futures[] = {submit(work), submit(work)};
    int accepted = 0;
    for (int i = 0; i < 2; i++) {
        if (futures[i] == NULL)
            continue;
        accepted++;
        CHECK_OK(hora_future_get(futures[i], NULL));
        (void)hora_future_unref(futures[i]);
    }
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(runs, accepted);
    CHECK_INT(drops, accepted);
    end();
}

LARGE_SCENARIO(pool_submit_meets_shutdown)
{
    submit_meets_shutdown(HORA_POOL_OPTIONS(.core_threads = 1));
}

LARGE_SCENARIO(pool_submit_meets_shutdown_without_core)
{
    submit_meets_shutdown(HORA_POOL_OPTIONS(.core_threads = 0));
}

LARGE_SCENARIO(pool_submit_meets_shutdown_with_two)
{
    submit_meets_shutdown(HORA_POOL_OPTIONS(.core_threads = 2));
}

/* Of two workers, one may find the queue empty after it has decided to wait for a task: the shutdown must
 * wake it. */
LARGE_SCENARIO(pool_last_idle_worker_is_told)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 2));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(work, NULL, .drop = count_drop)));
    shut_down(NULL);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 3);
    CHECK_INT(drops, 3);
    end();
}

static void stop(void *arg)
{
    CHECK_OK(hora_pool_shutdown_now(pool, arg));
}

/* Stopping: each task has run, or is handed back, or was refused. */
LARGE_SCENARIO(pool_stop_meets_running_tasks)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin(HORA_POOL_OPTIONS(.core_threads = 1));
    test_thread *other = test_thread_start(NULL, stop, &list);
    hora_future *futures[] = {submit(work_perhaps_interrupted), submit(work_perhaps_interrupted)};
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    int accepted = (futures[0] != NULL) + (futures[1] != NULL);
    CHECK_INT(runs + list.count, accepted);
    hora_future_list_cancel(&list);
    for (int i = 0; i < 2; i++) {
        if (futures[i] != NULL)
            CHECK(hora_future_is_done(futures[i]));
        (void)hora_future_unref(futures[i]);
    }
    CHECK_INT(drops, accepted);
    end();
}

/* A worker's keep-alive expires when a task is queued: whether or not the worker leaves, the task runs. */
LARGE_SCENARIO(pool_keep_alive_meets_submit)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 1, .keep_alive = SPAN, .core_time_out = true));
    hora_future *first = submit(work);
    CHECK_OK(hora_future_get(first, NULL));
    (void)hora_future_unref(first);
    CHECK_OK(hora_sleep(SPAN));
    hora_future *second = submit(work);
    CHECK_OK(hora_future_get(second, NULL));
    (void)hora_future_unref(second);
    CHECK_INT(runs, 2);
    end();
}

static void resize(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_set_max_threads(pool, 3, NULL));
    CHECK_OK(hora_pool_set_core_threads(pool, 2, NULL));
    CHECK_OK(hora_pool_set_core_threads(pool, 0, NULL));
    CHECK_OK(hora_pool_set_max_threads(pool, 1, NULL));
}

/* Without a bound of the queue the largest number of threads follows that of the core. */
static void resize_unbounded(void *arg)
{
    (void)arg;
    CHECK_ERROR(hora_pool_set_max_threads(pool, 3, NULL), HORA_EINVAL);
    CHECK_OK(hora_pool_set_core_threads(pool, 2, NULL));
    CHECK_OK(hora_pool_set_core_threads(pool, 0, NULL));
    CHECK_OK(hora_pool_set_max_threads(pool, 1, NULL));
}

static void resize_meets_work(const hora_pool_options *options, void (*resizes)(void *arg))
{
    begin(options);
    test_thread *other = test_thread_start(NULL, resizes, NULL);
    for (int i = 0; i < 3; i++) {
        hora_future *future = submit(work);
        if (i == 1)
            CHECK_OK(hora_future_get(future, NULL));
        (void)hora_future_unref(future);
    }
    test_thread_join(other);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 3);
    end();
}

LARGE_SCENARIO(pool_resize_meets_work)
{
    resize_meets_work(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 3), resize);
}

LARGE_SCENARIO(pool_resize_without_a_bound_meets_work)
{
    resize_meets_work(HORA_POOL_OPTIONS(.core_threads = 1), resize_unbounded);
}

static int sleep_for_ever(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return hora_sleep(HORA_FOREVER);
}

/* The interrupt that cancels one task does not reach the next one on the same thread. */
LARGE_SCENARIO(pool_interrupt_stays_with_its_task)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 1));
    hora_future *sleeper = submit(sleep_for_ever);
    hora_future *next = submit(work); /* checks that its flag is clear */
    CHECK(hora_future_cancel(sleeper, true) != HORA_CANCEL_TOO_LATE);
    CHECK_OK(hora_future_get(next, NULL));
    CHECK_ERROR(hora_future_get(sleeper, NULL), HORA_ECANCELED);
    (void)hora_future_unref(sleeper);
    (void)hora_future_unref(next);
    end();
}

static void cancel(void *arg)
{
    CHECK(hora_future_cancel(arg, true) >= 0);
}

/* A cancelled task that is queued leaves the queue or is met by a worker: either way once. */
LARGE_SCENARIO(pool_cancel_meets_worker)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 1));
    hora_future *futures[] = {submit(work_perhaps_interrupted), submit(work_perhaps_interrupted)};
    test_thread *other = test_thread_start(NULL, cancel, futures[1]);
    CHECK_OK(hora_future_get(futures[0], NULL));
    int error = hora_future_get(futures[1], NULL);
    CHECK(error == 0 || error == HORA_ECANCELED);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_INT(drops, 2);
    CHECK_INT(hora_queue_size(hora_pool_queue(pool)), 0);
    (void)hora_future_unref(futures[0]);
    (void)hora_future_unref(futures[1]);
    end();
}

/* A thread that cancels a queued task may still be inside that call when pool and queue are freed. */
MEDIUM_SCENARIO(pool_cancel_outlives_pool_and_queue)
{
    hora_queue *queue;
    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    begin(HORA_POOL_OPTIONS(.core_threads = 1, .queue = queue));
    hora_future *futures[] = {submit(sleep_for_ever), submit(work_perhaps_interrupted)};
    test_thread *other = test_thread_start(NULL, cancel, futures[1]);
    end();
    CHECK_OK(hora_queue_free(queue));
    test_thread_join(other);
    CHECK_INT(drops, 2);
    (void)hora_future_unref(futures[0]);
    (void)hora_future_unref(futures[1]);
}

static int wait_inside(void *arg, void **ret_result)
{
    (void)arg;
    hora_future *inner = submit(work);
    int error = hora_future_get(inner, ret_result);
    (void)hora_future_unref(inner);
    return error;
}

/* A worker that waits for a task of its own pool does not wait for ever, although there is no other
 * thread. */
LARGE_SCENARIO(pool_wait_inside_a_worker)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 1));
    hora_future *outer[] = {submit(wait_inside), submit(wait_inside)};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_future_get(outer[i], NULL));
        (void)hora_future_unref(outer[i]);
    }
    CHECK_INT(runs, 2);
    end();
}

static void submit_again(hora_future *done, void *context)
{
    (void)done;
    *(hora_future **)context = submit(work);
}

/* A completion callback may submit. */
LARGE_SCENARIO(pool_callback_submits)
{
    hora_future *second = NULL;
    begin(HORA_POOL_OPTIONS(.core_threads = 1));
    hora_future *first = submit(work);
    CHECK_OK(hora_future_on_done(first, submit_again, &second, NULL));
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_OK(hora_future_get(first, NULL));
    (void)hora_future_unref(first);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 2);
    (void)hora_future_unref(second);
    end();
}

static void submit_one(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(work, NULL, .drop = count_drop)));
}

/* Submitters that wait for room are all let in. */
LARGE_SCENARIO(pool_submitters_wait_for_room)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_BLOCK));
    test_thread *threads[] = {test_thread_start(NULL, submit_one, NULL),
                              test_thread_start(NULL, submit_one, NULL)};
    submit_one(NULL);
    submit_one(NULL);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 4);
    CHECK_INT(drops, 4);
    end();
}

static void submit_or_be_rejected(void *arg)
{
    int error = hora_pool_execute(pool, HORA_TASK(work_perhaps_interrupted, NULL, .drop = count_drop));
    CHECK(error == 0 || error == HORA_EREJECTED);
    *(int *)arg = error == 0;
}

/* The newest task is not the one that is dropped, also if workers have just taken all older ones. */
MEDIUM_SCENARIO(pool_discards_the_oldest_only)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_DISCARD_OLDEST));
    hora_future *futures[] = {submit(work), submit(work), submit(work)};
    CHECK_OK(hora_future_get(futures[0], NULL)); /* its worker began with it */
    int error = hora_future_get(futures[1], NULL);
    CHECK(error == 0 || error == HORA_EREJECTED);
    CHECK_OK(hora_future_get(futures[2], NULL));
    for (int i = 0; i < 3; i++)
        (void)hora_future_unref(futures[i]);
    end();
    CHECK_INT(drops, 3);
}

/* After a shutdown no thread waits for room for ever. */
LARGE_SCENARIO(pool_shutdown_meets_waiting_submitter)
{
    int accepted[3] = {0, 0, 0};
    begin(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_BLOCK));
    test_thread *threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = test_thread_start(NULL, submit_or_be_rejected, &accepted[i]);
    CHECK_OK(hora_pool_shutdown(pool));
    for (int i = 0; i < 3; i++)
        test_thread_join(threads[i]);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(runs, accepted[0] + accepted[1] + accepted[2]);
    CHECK_INT(drops, runs);
    end();
}

/* Quiet means: nothing queued, nothing running. */
LARGE_SCENARIO(pool_await_idle_waits_for_all)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 2));
    for (int i = 0; i < 3; i++)
        submit_one(NULL);
    CHECK_OK(hora_pool_await_idle(pool));
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK_INT(stats.active, 0);
    CHECK_INT(runs, 3);
    CHECK_INT(drops, 3);
    end();
}

/* Allocations and thread starts fail: each accepted task ends in some way, and the caller owns the others. */
SWEEP(pool_survives_every_failure)
{
    runs = drops = 0;
    int error = hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .queue_capacity = 1),
                              &pool, NULL);
    if (error < 0) {
        CHECK_ERROR(error, HORA_ENOMEM);
        return;
    }
    int accepted = 0;
    for (int i = 0; i < 3; i++) {
        error = hora_pool_execute(pool, HORA_TASK(work_perhaps_interrupted, NULL, .drop = count_drop));
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN || error == HORA_EREJECTED);
        accepted += error == 0;
    }
    CHECK_OK(hora_pool_shutdown(pool));
    end();
    CHECK_INT(drops, accepted);
    CHECK(runs <= accepted);
}

/* ---- the books, read without a lock ---- */

static int bring_another(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(work, NULL)));
    return 0;
}

/* A task executes another one before it ends. So the pool must not appear idle before both have ended,
 * whatever the order of memory accesses. The threads are started before, and the descriptor has already shown
 * that there is work, so no thread takes the pool's lock in between. Returns the descriptor. */
static int begin_with_another(int threads)
{
    begin(HORA_POOL_OPTIONS(.core_threads = threads));
    CHECK_INT(hora_pool_prestart_all(pool), threads);
    int fd = hora_pool_idle_fd(pool);
    CHECK(fd >= 0);
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(bring_another, NULL)));
    return fd;
}

LARGE_SCENARIO(pool_quiesce_sees_what_a_task_brings)
{
    (void)begin_with_another(2);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 1);
    end();
}

static hora_latch *may_bring, *is_checked;
static int idle_fd;

static int check_not_idle(void *arg, void **ret_result)
{
    struct pollfd poll_fd = {.fd = idle_fd, .events = POLLIN};
    CHECK_INT(poll(&poll_fd, 1, 0), 0);
    CHECK_OK(hora_latch_count_down(is_checked));
    (void)arg;
    (void)ret_result;
    return 0;
}

static int bring_when_told(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    CHECK_OK(hora_latch_await(may_bring));
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(check_not_idle, NULL)));
    return 0;
}

/* The same for the descriptor: a worker that has done something else must not show that all is done. */
LARGE_SCENARIO(pool_idle_descriptor_sees_what_a_task_brings)
{
    CHECK_OK(hora_latch_new(1, NULL, &may_bring, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &is_checked, NULL));
    begin(HORA_POOL_OPTIONS(.core_threads = 3));
    CHECK_INT(hora_pool_prestart_all(pool), 3);
    idle_fd = hora_pool_idle_fd(pool);
    CHECK(idle_fd >= 0);
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(bring_when_told, NULL)));
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(work_perhaps_interrupted, NULL)));
    CHECK_OK(hora_latch_count_down(may_bring));
    CHECK_OK(hora_latch_await(is_checked));
    end();
    CHECK_OK(hora_latch_free(may_bring));
    CHECK_OK(hora_latch_free(is_checked));
}

/* No reading shows more finished than accepted tasks. */
LARGE_SCENARIO(pool_stats_know_that_what_ended_came)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    (void)begin_with_another(2);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK(stats.done <= stats.accepted);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    end();
}
