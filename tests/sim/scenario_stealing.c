/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_stealing.c - own queues of workers: none of their tasks is lost, runs twice, or waits for ever
 *
 * The first scenarios use a backlog without a pool. There the main thread is the worker that has the own
 * queue, and the other thread is one that steals. The last ones use pools. */
#include <stdatomic.h>
#include <string.h>

#include "books.h"
#include "exec/backlog.h"
#include "exec/worker.h"
#include "harness.h"
#include "simulator/sim.h"
#include "sync/thread.h"

enum { VALUES = 4 };

static hora_queue *queue;
static struct hora__books books;
static struct hora__worker worker; /* of the main thread */
static hora__atomic gate;
static int values[VALUES];
static int taken[VALUES];

static void begin_backlog(void)
{
    hora_thread *thread;
    memset(&books, 0, sizeof books);
    memset(&worker, 0, sizeof worker);
    memset(taken, 0, sizeof taken);
    hora__atomic_init(&gate, 0);
    CHECK_OK(hora__backlog_new(HORA_UNBOUNDED, 2, NULL, &queue));
    hora__backlog_open_books(queue, &books);
    hora__backlog_begin_owning(queue, &worker.hold);
    CHECK_OK(hora__thread_current(&thread));
    thread->worker = &worker;
}

static void end_backlog(void)
{
    hora__thread_existing()->worker = NULL;
    hora__work_leave(queue, &worker.hold, &books);
    hora__backlog_end_owning(queue, &worker.hold);
    CHECK_INT(hora_queue_size(queue), 0);
    CHECK_OK(hora_queue_free(queue));
}

static int offer_item(void *item)
{
    return hora__work_kind_of(queue)->offer(queue, &(struct hora__offer){.item = item, .books = &books});
}

static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* The task's argument stands for it. */
static int offer_task(void *value)
{
    hora_task task = {.run = run, .arg = value};
    return hora__work_kind_of(queue)->offer(
        queue, &(struct hora__offer){.task = &task, .control = &gate, .closed = 1});
}

static void note_taken(void *item, const struct hora__taken *cell)
{
    const int *value = item == cell ? cell->task.arg : item;
    taken[value - values]++;
}

static bool take_next(struct hora__hold *hold)
{
    struct hora__taken cell = {.now = HORA_NEVER};
    void *item = hora__work_next(queue, hold, &cell, &books);
    if (item == NULL)
        return false;
    hold->finished++;
    note_taken(item, &cell);
    return true;
}

static void take_all(void *arg)
{
    struct hora__hold hold = {.segment = NULL};
    (void)arg;
    while (take_next(&hold)) {
    }
    hora__work_leave(queue, &hold, &books);
}

/* The owner pops and another thread steals, down to the last task: each task is taken once. */
static void pop_meets_steal(int count)
{
    begin_backlog();
    for (int i = 0; i < count; i++)
        CHECK_OK(i % 2 == 0 ? offer_task(&values[i]) : offer_item(&values[i]));
    test_thread *other = test_thread_start(NULL, take_all, NULL);
    while (take_next(&worker.hold)) {
    }
    test_thread_join(other);
    for (int i = 0; i < count; i++)
        CHECK_INT(taken[i], 1);
    CHECK_INT(hora__books_accepted(&books), count);
    end_backlog();
    CHECK_INT(hora__counter_read(&books.finished), count);
}

SCENARIO(own_pop_of_the_last_task_meets_steal)
{
    pop_meets_steal(1);
}

SCENARIO(own_pops_meet_steals)
{
    pop_meets_steal(VALUES);
}

static void take_one(void *arg)
{
    struct hora__taken cell = {.now = HORA_NEVER};
    void *item;
    (void)arg;
    CHECK_OK(hora__work_await(queue, HORA_FOREVER, &cell, &item));
    note_taken(item, &cell);
}

/* The owner inserts a task and does not take it. A thread that goes to sleep at the same time must get it. */
SCENARIO(own_insert_meets_sleep)
{
    begin_backlog();
    test_thread *other = test_thread_start(NULL, take_one, NULL);
    CHECK_OK(offer_task(&values[0]));
    test_thread_join(other);
    CHECK_INT(taken[0], 1);
    end_backlog();
}

/* The same with two tasks and two threads: the first one that finds a task has the other one woken. */
MEDIUM_SCENARIO(own_inserts_meet_two_sleepers)
{
    begin_backlog();
    test_thread *one = test_thread_start(NULL, take_one, NULL);
    test_thread *two = test_thread_start(NULL, take_one, NULL);
    CHECK_OK(offer_task(&values[0]));
    CHECK_OK(offer_item(&values[1]));
    test_thread_join(one);
    test_thread_join(two);
    CHECK_INT(taken[0], 1);
    CHECK_INT(taken[1], 1);
    end_backlog();
}

static int make_item(void *context, const struct hora__taken *cell, void **ret_item)
{
    (void)context;
    *ret_item = cell->task.arg;
    return 0;
}

static void show(void *arg)
{
    (void)arg;
    CHECK_OK(hora__work_show(queue, &(struct hora__maker){make_item, NULL}));
}

/* Once the queue has been shown, there is no detached task in it. */
SCENARIO(own_insert_meets_show)
{
    struct hora__taken cell = {.now = HORA_NEVER};
    begin_backlog();
    test_thread *other = test_thread_start(NULL, show, NULL);
    int error = offer_task(&values[0]);
    CHECK(error == 0 || error == HORA_ENOTSUP);
    test_thread_join(other);
    CHECK_ERROR(offer_task(&values[1]), HORA_ENOTSUP);
    CHECK_POINTER(hora__work_poll(queue, &cell), error == 0 ? &values[0] : NULL);
    end_backlog();
}

static void close_gate(void *arg)
{
    hora__atomic_store(&gate, 1);
    *(int *)arg = hora_queue_size(queue);
}

/* A thread that closes the pool and then counts the tasks finds each detached task that was accepted. */
SCENARIO(own_insert_meets_the_end_of_the_pool)
{
    struct hora__taken cell = {.now = HORA_NEVER};
    int size = -1;
    begin_backlog();
    test_thread *other = test_thread_start(NULL, close_gate, &size);
    int error = offer_task(&values[0]);
    CHECK(error == 0 || error == HORA_ENOTSUP);
    test_thread_join(other);
    CHECK_INT(size, error == 0 ? 1 : 0);
    CHECK(hora__work_poll(queue, &cell) == (error == 0 ? &cell : NULL));
    end_backlog();
}

static void close_queue(void *arg)
{
    (void)arg;
    CHECK_OK(hora_queue_close(queue));
}

/* A closed queue accepts nothing, not even in an own queue. What was accepted before can be taken. */
SCENARIO(own_insert_meets_close)
{
    struct hora__taken cell = {.now = HORA_NEVER};
    begin_backlog();
    test_thread *other = test_thread_start(NULL, close_queue, NULL);
    int error = offer_item(&values[0]);
    CHECK(error == 0 || error == HORA_ECLOSED);
    test_thread_join(other);
    CHECK_ERROR(offer_item(&values[1]), HORA_ECLOSED);
    CHECK_POINTER(hora__work_poll(queue, &cell), error == 0 ? &values[0] : NULL);
    end_backlog();
}

/* ---- pools ---- */

enum { NODES = 5 };

static hora_pool *pool;
static atomic_int runs[NODES + 1];
static atomic_int drops;
static atomic_int accepted;
static bool ends_thread; /* the first task ends its thread after it has submitted others */

static void count_drop(void *arg)
{
    (void)arg;
    drops++;
}

static int run_node(void *arg, void **ret_result);

static void execute_node(intptr_t number)
{
    int error = hora_pool_execute(pool, HORA_TASK(run_node, (void *)number, .drop = count_drop));
    CHECK(error == 0 || error == HORA_EREJECTED);
    accepted += error == 0;
}

/* Task n submits the tasks 2n and 2n + 1. */
static int run_node(void *arg, void **ret_result)
{
    (void)ret_result;
    intptr_t number = (intptr_t)arg;
    (void)hora_interrupted();
    for (intptr_t child = 2 * number; child <= 2 * number + 1 && child <= NODES; child++)
        execute_node(child);
    runs[number]++;
    if (number == 1 && ends_thread)
        hora__sim_exit_thread();
    return 0;
}

static void begin_pool(int threads)
{
    for (int i = 0; i <= NODES; i++)
        runs[i] = 0;
    drops = accepted = 0;
    ends_thread = false;
    CHECK_OK(hora_pool_new_work_stealing(threads, NULL, &pool, NULL));
}

static void check_all_ran(void)
{
    CHECK_INT(accepted, NODES);
    CHECK_INT(drops, NODES);
    for (int i = 1; i <= NODES; i++)
        CHECK_INT(runs[i], 1);
}

/* The pool is not idle before all tasks of the tree have ended. */
LARGE_SCENARIO(stealing_pool_runs_a_tree)
{
    begin_pool(2);
    CHECK_INT(hora_pool_prestart_all(pool), 2);
    execute_node(1);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    check_all_ran();
    CHECK_OK(hora_pool_free(pool));
}

/* The worker that has submitted tasks ends; others run them, also if it was the only worker. */
static void worker_ends(int threads)
{
    begin_pool(threads);
    ends_thread = true;
    execute_node(1);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    check_all_ran();
    free_pool(pool);
}

LARGE_SCENARIO(stealing_worker_ends_with_tasks)
{
    worker_ends(2);
}

LARGE_SCENARIO(stealing_only_worker_ends_with_tasks)
{
    worker_ends(1);
}

static void make_smaller(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_set_core_threads(pool, 1, NULL));
}

/* A worker ends because the pool becomes smaller, perhaps one that has tasks of its own. */
LARGE_SCENARIO(stealing_pool_becomes_smaller)
{
    begin_pool(2);
    CHECK_INT(hora_pool_prestart_all(pool), 2);
    test_thread *other = test_thread_start(NULL, make_smaller, NULL);
    execute_node(1);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    check_all_ran();
    CHECK_OK(hora_pool_free(pool));
}

static int count_runs(void)
{
    int sum = 0;
    for (int i = 1; i <= NODES; i++) {
        CHECK(runs[i] <= 1);
        sum += runs[i];
    }
    return sum;
}

static void stop(void *arg)
{
    CHECK_OK(hora_pool_shutdown_now(pool, arg));
}

/* Each accepted task has run or is handed back. */
LARGE_SCENARIO(stealing_stop_meets_steal)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin_pool(2);
    execute_node(1);
    test_thread *other = test_thread_start(NULL, stop, &list);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(count_runs() + list.count, accepted);
    hora_future_list_cancel(&list);
    CHECK_INT(drops, accepted);
    free_pool(pool);
}

static void shut_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(pool));
}

/* Each accepted task runs. */
LARGE_SCENARIO(stealing_shutdown_runs_all)
{
    begin_pool(2);
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    execute_node(1);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(count_runs(), accepted);
    CHECK_INT(drops, accepted);
    CHECK_OK(hora_pool_free(pool));
}

/* A reader finds no more endings than accepted tasks, and the queue is read while workers steal. */
LARGE_SCENARIO(stealing_stats_and_queue_are_read)
{
    begin_pool(2);
    execute_node(1);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK(stats.done <= stats.accepted && stats.accepted <= NODES);
    hora_queue *shown = hora_pool_queue(pool);
    int size = hora_queue_size(shown);
    CHECK(size >= 0 && size < NODES);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    check_all_ran();
    CHECK_OK(hora_pool_free(pool));
}

static int wait_for_child(void *arg, void **ret_result)
{
    hora_future *future;
    (void)ret_result;
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(run, NULL), &future));
    if (arg != NULL)
        execute_node(NODES); /* newer than the one that it waits for */
    CHECK_OK(hora_future_get(future, NULL));
    hora_future_unref(future);
    return 0;
}

/* A worker that waits for a task of its own queue runs it. */
LARGE_SCENARIO(stealing_worker_waits_for_its_own_task)
{
    begin_pool(1);
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(wait_for_child, NULL)));
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(wait_for_child, pool)));
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_INT(runs[NODES], 1);
    CHECK_OK(hora_pool_free(pool));
}

static int cancel_child(void *arg, void **ret_result)
{
    hora_future *future;
    (void)arg;
    (void)ret_result;
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(run_node, (void *)(intptr_t)NODES), &future));
    bool removed = hora_future_cancel(future, false) == 1;
    CHECK(!removed || hora_future_is_cancelled(future));
    hora_future_unref(future);
    return 0;
}

/* A task is cancelled in the own queue while another worker steals it. */
LARGE_SCENARIO(stealing_cancel_meets_steal)
{
    begin_pool(2);
    CHECK_INT(hora_pool_prestart_all(pool), 2);
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(cancel_child, NULL)));
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK_INT(stats.queued, 0);
    CHECK_INT(stats.done + stats.cancelled, 2);
    CHECK_OK(hora_pool_free(pool));
}

/* An allocation or a thread start fails: accepted tasks run, and the caller keeps the others. */
SWEEP(stealing_pool_without_memory)
{
    drops = accepted = 0;
    memset(runs, 0, sizeof runs);
    ends_thread = false;
    if (hora_pool_new_work_stealing(2, NULL, &pool, NULL) < 0)
        return;
    for (intptr_t number = NODES - 1; number <= NODES; number++)
        accepted += hora_pool_execute(pool, HORA_TASK(run_node, (void *)number, .drop = count_drop)) == 0;
    (void)hora_pool_close_for(pool, HORA_FOREVER);
    CHECK(hora_pool_free(pool) >= 0);
    CHECK_INT(drops, accepted);
}
