/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_detached.c - tasks without a future: none is lost, none runs twice, views show futures
 *
 * Pools with core size 0 queue each task, even the first one, and then start a worker for it. */
#include <stdatomic.h>

#include "books.h"
#include "harness.h"
#include "simulator/sim.h"

enum { TASKS = 3 };

static hora_pool *pool;
static atomic_int runs;
static atomic_int drops;
static atomic_int accepted;

static int work(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    (void)hora_interrupted();
    runs++;
    return 0;
}

static void count_drop(void *arg)
{
    (void)arg;
    drops++;
}

static void begin(int core_threads)
{
    runs = drops = accepted = 0;
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = core_threads), &pool, NULL));
}

/* Whatever has happened: each task that was accepted is dropped once. */
static void end(void)
{
    free_pool(pool);
    CHECK_INT(drops, accepted);
}

static void execute(hora_run_fn run)
{
    int error = hora_pool_execute(pool, HORA_TASK(run, NULL, .drop = count_drop));
    CHECK(error == 0 || error == HORA_EREJECTED);
    accepted += error == 0;
}

static void execute_one(void *arg)
{
    (void)arg;
    execute(work);
}

/* ---- the end of the pool ---- */

static void shut_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(pool));
}

/* An accepted task runs; the caller owns a rejected one. */
static void execute_meets_shutdown(int core_threads)
{
    begin(core_threads);
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    execute_one(NULL);
    execute_one(NULL);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(runs, accepted);
    CHECK_INT(drops, accepted);
    end();
}

LARGE_SCENARIO(detached_execute_meets_shutdown)
{
    execute_meets_shutdown(0);
}

LARGE_SCENARIO(detached_execute_meets_shutdown_with_core)
{
    execute_meets_shutdown(1);
}

static void stop(void *arg)
{
    CHECK_OK(hora_pool_shutdown_now(pool, arg));
}

/* Each task has run or is handed back, as a future that its new owner may run. */
LARGE_SCENARIO(detached_stop_hands_back_futures)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin(0);
    test_thread *other = test_thread_start(NULL, stop, &list);
    for (int i = 0; i < TASKS; i++)
        execute_one(NULL);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(runs + list.count, accepted);
    hora_future *future = hora_future_list_take(&list);
    if (future != NULL) {
        CHECK_INT(hora_future_run(future), 1);
        CHECK(hora_future_task(future)->run == work);
        (void)hora_future_unref(future);
    }
    hora_future_list_cancel(&list);
    end();
}

/* Without a list they are abandoned. */
LARGE_SCENARIO(detached_stop_abandons)
{
    begin(0);
    test_thread *other = test_thread_start(NULL, stop, NULL);
    for (int i = 0; i < TASKS; i++)
        execute_one(NULL);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK(runs <= accepted);
    end();
}

/* The last worker leaves when a task is executed: whether or not it leaves, the task runs. */
LARGE_SCENARIO(detached_execute_meets_a_leaving_worker)
{
    begin(0);
    execute_one(NULL);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER)); /* keep-alive is 0: it is about to go */
    execute_one(NULL);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 2);
    CHECK_INT(drops, 2);
    end();
}

/* ---- looking ---- */

static hora_latch *gate;

static int wait_at_gate(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return hora_latch_await(gate);
}

/* One worker waits at the gate, so that tasks stay queued. */
static void begin_busy(void)
{
    begin(1);
    CHECK_OK(hora_latch_new(1, NULL, &gate, NULL));
    execute(wait_at_gate);
}

static void end_busy(void)
{
    CHECK_OK(hora_latch_count_down(gate));
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    end();
    CHECK_OK(hora_latch_free(gate));
}

/* The queue shows only futures, also for tasks that are executed at the same moment. */
LARGE_SCENARIO(detached_execute_meets_a_look)
{
    begin_busy();
    execute_one(NULL);
    test_thread *other = test_thread_start(NULL, execute_one, NULL);
    hora_queue *queue = hora_pool_queue(pool);
    for (int round = 0; round < 2; round++) {
        void *items[TASKS];
        int count = hora_queue_snapshot(queue, items, TASKS);
        CHECK(count == 2 || (count == 1 && round == 0));
        for (int i = 0; i < count; i++) {
            CHECK(!hora_future_is_done(items[i]) && hora_future_task(items[i])->run == work);
            (void)hora_future_unref(items[i]); /* they are references */
        }
        if (round == 0)
            test_thread_join(other);
    }
    void *first;
    CHECK_OK(hora_queue_peek(queue, &first));
    CHECK_INT(hora_future_cancel(first, false), HORA_CANCEL_REMOVED);
    CHECK_INT(drops, 1);
    (void)hora_future_unref(first);
    end_busy();
    CHECK_INT(runs, 1);
}

static void look(void *arg)
{
    (void)arg;
    CHECK(hora_pool_queue(pool) != NULL);
    CHECK_INT(hora_pool_purge(pool), 0);
}

/* A worker may take a task that is being shown: it runs once, as a task or as a future. */
LARGE_SCENARIO(detached_look_meets_a_worker)
{
    begin(0);
    test_thread *other = test_thread_start(NULL, look, NULL);
    for (int i = 0; i < TASKS; i++)
        execute_one(NULL);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    test_thread_join(other);
    CHECK_INT(runs, TASKS);
    CHECK_INT(drops, TASKS);
    end();
}

/* Detached tasks and futures run in the order of their coming. */
static int order[2 * TASKS];
static atomic_int ordered;

static int note_order(void *arg, void **ret_result)
{
    (void)ret_result;
    order[ordered++] = *(const int *)arg;
    return 0;
}

LARGE_SCENARIO(detached_keeps_the_order)
{
    static int numbers[2 * TASKS] = {0, 1, 2, 3, 4, 5};
    hora_future *futures[TASKS];
    begin(1);
    ordered = 0;
    for (int i = 0; i < TASKS; i++) {
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(note_order, &numbers[2 * i])));
        CHECK_OK(hora_pool_submit(pool, HORA_TASK(note_order, &numbers[2 * i + 1]), &futures[i]));
    }
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    for (int i = 0; i < TASKS; i++)
        (void)hora_future_unref(futures[i]);
    for (int i = 0; i < 2 * TASKS; i++)
        CHECK_INT(order[i], i);
    end();
}

/* ---- inside ---- */

static int end_thread(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    hora__sim_exit_thread();
    return 0;
}

static void drop_and_end_thread(void *arg)
{
    (void)arg;
    drops++;
    hora__sim_exit_thread();
}

static hora_pool_stats stats(void)
{
    hora_pool_stats all = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(pool, &all));
    return all;
}

/* A task that ends its thread is abandoned; a task whose drop ends the thread is done. Each is dropped once,
 * and the other tasks run. */
LARGE_SCENARIO(detached_task_ends_its_thread)
{
    begin(0);
    execute(end_thread);
    execute_one(NULL);
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(work, NULL, .drop = drop_and_end_thread)));
    accepted++;
    execute_one(NULL);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 4);
    CHECK_INT(drops, 4);
    CHECK_INT(stats().abandoned, 1);
    CHECK_INT(stats().done, 3);
    end();
}

/* The future that a detached task waits for. The test gives back its last reference at the end, because the
 * wait may not return. */
struct wait {
    hora_run_fn run;
    hora_future *future;
};

static int wait_inside(void *arg, void **ret_result)
{
    struct wait *wait = arg;
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(wait->run, NULL, .drop = count_drop), &wait->future));
    accepted++;
    int error = hora_future_get(wait->future, ret_result);
    CHECK(error == 0 || error == HORA_EABANDONED);
    return error;
}

/* A detached task that waits for a future runs it itself, if no other thread does, even if the future's body
 * ends their thread. */
LARGE_SCENARIO(detached_task_waits_for_a_future)
{
    struct wait waits[] = {{work, NULL}, {end_thread, NULL}};
    begin(0);
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(wait_inside, &waits[i], .drop = count_drop)));
    accepted += 2;
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 2);
    CHECK_INT(drops, 4);
    for (int i = 0; i < 2; i++)
        (void)hora_future_unref(waits[i].future);
    end();
}

/* ---- no memory ---- */

/* What there is no memory for is not shown, or abandoned instead of handed back; nothing is lost. */
SWEEP(detached_survives)
{
    runs = drops = 0;
    int in = 0;
    if (hora_latch_new(1, NULL, &gate, NULL) < 0)
        return;
    if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1), &pool, NULL) < 0) {
        CHECK_OK(hora_latch_free(gate));
        return;
    }
    for (int i = 0; i < TASKS; i++) {
        int error = hora_pool_execute(pool, HORA_TASK(wait_at_gate, NULL, .drop = count_drop));
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
        in += error == 0;
    }
    hora_queue *queue = test_random(2) == 0 ? hora_pool_queue(pool) : NULL;
    CHECK(queue == NULL || hora_queue_size(queue) <= in);
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    int error = hora_pool_shutdown_now(pool, &list);
    CHECK(error == 0 || error == HORA_ENOMEM);
    CHECK_INT(list.count, stats().handed_back);
    CHECK(error == HORA_ENOMEM || list.count + 1 >= in);
    hora_future_list_cancel(&list);
    (void)hora_latch_count_down(gate);
    free_pool(pool);
    CHECK_INT(drops, in);
    CHECK_OK(hora_latch_free(gate));
}
