/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_order.c - what happens before a hand-over is visible after it
 *
 * These are the memory consistency properties of java.util.concurrent. Actions before a task is submitted
 * happen before its run, and the run happens before actions of a thread that has seen its end. Actions before
 * a put happen before those after the corresponding take. The same holds for a latch, an interrupt and the
 * end of a pool.
 *
 * The value that is handed over is a relaxed word of the simulator. So with weak memory (--weak) a thread
 * that lacks an acquire may read the old value. */
#include "exec/backlog.h"
#include "harness.h"
#include "sched/detached.h"
#include "sys/atomic.h"
#include "sys/futex.h"

enum { TASKS = 6 };

static hora_pool *pool;
static hora__counter sent[TASKS]; /* written before something is handed over */
static hora__counter answer[TASKS];

static void begin_words(void)
{
    for (int i = 0; i < TASKS; i++) {
        hora__counter_set(&sent[i], 0);
        hora__counter_set(&answer[i], 0);
    }
}

/* With threads that wait already, so that the start of a thread hands nothing over. */
static void begin(int threads)
{
    begin_words();
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = threads), &pool, NULL));
    CHECK_INT(hora_pool_prestart_all(pool), threads);
}

static void end(void)
{
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
}

/* The argument is the word that was written before. */
static int check_sent(void *arg, void **ret_result)
{
    const hora__counter *word = arg;
    (void)ret_result;
    CHECK_INT(hora__counter_read(word), 1);
    hora__counter_set(&answer[word - sent], 1);
    return 0;
}

static void execute(int i)
{
    hora__counter_set(&sent[i], 1);
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(check_sent, &sent[i])));
}

static hora_future *submit(int i)
{
    hora_future *future;
    hora__counter_set(&sent[i], 1);
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(check_sent, &sent[i]), &future));
    return future;
}

LARGE_SCENARIO(order_of_execute_and_quiesce)
{
    begin(2);
    for (int i = 0; i < TASKS / 2; i++)
        execute(i);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    for (int i = 0; i < TASKS / 2; i++)
        CHECK_INT(hora__counter_read(&answer[i]), 1);
    end();
}

LARGE_SCENARIO(order_of_submit_and_get)
{
    void *result;
    begin(1);
    hora_future *future = submit(0);
    CHECK_OK(hora_future_get(future, &result));
    CHECK_INT(hora__counter_read(&answer[0]), 1);
    (void)hora_future_unref(future);
    end();
}

LARGE_SCENARIO(order_of_submit_and_done)
{
    begin(1);
    hora_future *future = submit(0);
    if (hora_future_is_done(future))
        CHECK_INT(hora__counter_read(&answer[0]), 1);
    (void)hora_future_unref(future);
    end();
}

LARGE_SCENARIO(order_of_pool_and_its_end)
{
    begin(1);
    execute(0);
    CHECK_OK(hora_pool_shutdown(pool));
    if (hora_pool_is_terminated(pool))
        CHECK_INT(hora__counter_read(&answer[0]), 1);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_INT(hora__counter_read(&answer[0]), 1);
    CHECK_OK(hora_pool_free(pool));
}

static void on_done(hora_future *future, void *context)
{
    (void)future;
    (void)context;
    CHECK_INT(hora__counter_read(&answer[0]), 1);
}

LARGE_SCENARIO(order_of_run_and_callback)
{
    begin(1);
    hora_future *future = submit(0);
    CHECK_OK(hora_future_on_done(future, on_done, NULL, NULL));
    (void)hora_future_unref(future);
    end();
}

/* ---- a latch, a promise, an interrupt, a queue ---- */

static hora_latch *latch;

static void count_down(void *arg)
{
    (void)arg;
    hora__counter_set(&sent[0], 1);
    CHECK_OK(hora_latch_count_down(latch));
}

SCENARIO(order_of_latch)
{
    begin_words();
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    test_thread *other = test_thread_start(NULL, count_down, NULL);
    if (hora_latch_count(latch) == 0)
        CHECK_INT(hora__counter_read(&sent[0]), 1);
    CHECK_OK(hora_latch_await(latch));
    CHECK_INT(hora__counter_read(&sent[0]), 1);
    test_thread_join(other);
    CHECK_OK(hora_latch_free(latch));
}

static hora_future *promise;

static void complete(void *arg)
{
    (void)arg;
    hora__counter_set(&sent[0], 1);
    CHECK_INT(hora_future_complete(promise, NULL), 1);
}

SCENARIO(order_of_promise)
{
    void *result;
    begin_words();
    CHECK_OK(hora_future_new_promise(NULL, &promise));
    test_thread *other = test_thread_start(NULL, complete, NULL);
    if (hora_future_get_state(promise) != HORA_FUTURE_PENDING)
        CHECK_INT(hora__counter_read(&sent[0]), 1);
    CHECK_OK(hora_future_get(promise, &result));
    CHECK_INT(hora__counter_read(&sent[0]), 1);
    test_thread_join(other);
    (void)hora_future_unref(promise);
}

static void interrupt(void *thread)
{
    hora__counter_set(&sent[0], 1);
    CHECK_OK(hora_thread_interrupt(thread));
}

SCENARIO(order_of_interrupt)
{
    hora_thread *self;
    begin_words();
    CHECK_OK(hora_thread_self(&self));
    test_thread *other = test_thread_start(NULL, interrupt, self);
    if (hora_thread_is_interrupted(self))
        CHECK_INT(hora__counter_read(&sent[0]), 1);
    test_thread_join(other);
    CHECK(hora_interrupted());
    (void)hora_thread_unref(self);
}

static hora_queue *queue;

static void put(void *item)
{
    hora__counter_set(&sent[0], 1);
    CHECK_OK(hora_queue_put(queue, item));
}

SCENARIO(order_of_queue)
{
    void *item;
    begin_words();
    CHECK_OK(hora_queue_new_array(1, NULL, &queue, NULL));
    test_thread *other = test_thread_start(NULL, put, &sent[0]);
    CHECK_OK(hora_queue_take(queue, &item));
    CHECK_INT(hora__counter_read(item), 1);
    test_thread_join(other);
    CHECK_OK(hora_queue_free(queue));
}

/* ---- timers ---- */

static int check_sent_by_timer(void *arg)
{
    return check_sent(arg, NULL);
}

/* Once a timer is not pending, the caller may use its memory for something else. The simulator checks that
 * all earlier uses of the word happen before that. */
LARGE_SCENARIO(order_of_timer)
{
    hora_timer timer;
    begin_words();
    hora__atomic *pending = &hora__timer_inside(&timer)->task.pending;
    CHECK_OK(hora_timer_init(&timer, check_sent_by_timer, &sent[0]));
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &pool, NULL));
    CHECK_INT(hora_pool_prestart_all(pool), 1);
    hora__counter_set(&sent[0], 1);
    CHECK_OK(hora_timer_start(&timer, pool, 0));
    if (!hora_timer_is_pending(&timer))
        hora__atomic_init(pending, 0);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_INT(hora__counter_read(&answer[0]), 1);
    end();
}

/* ---- the lock in one word ---- */

static hora__atomic word;

static void add_locked(void *arg)
{
    (void)arg;
    hora__word_lock(&word);
    hora__counter_add_alone(&sent[0], 1); /* who read what was there before would undo what another did */
    hora__word_unlock(&word);
}

SCENARIO(order_of_word_lock)
{
    begin_words();
    hora__atomic_init(&word, HORA__LOCK_FREE);
    test_thread *other = test_thread_start(NULL, add_locked, NULL);
    add_locked(NULL);
    test_thread_join(other);
    CHECK_INT(hora__counter_read(&sent[0]), 2);
}

/* ---- what workers take without a lock ---- */

static hora_queue *backlog;
static struct hora__books books;
static hora__atomic gate;

static int nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static void post(int i)
{
    hora_task task = {.run = nothing, .arg = &sent[i]};
    hora__counter_set(&sent[i], 1);
    CHECK_OK(hora__work_kind_of(backlog)->offer(
        backlog, &(struct hora__offer){.task = &task, .control = &gate, .closed = 1}));
}

/* Takes tasks as a worker does. An element that is not detached is the word itself. */
static void take_all(void *arg)
{
    struct hora__hold hold = {.segment = NULL};
    struct hora__taken cell = {.now = HORA_NEVER};
    void *item;
    (void)arg;
    while ((item = hora__work_next(backlog, &hold, &cell, &books)) != NULL) {
        CHECK_INT(hora__counter_read(item == &cell ? cell.task.arg : item), 1);
        hold.finished++;
    }
    hora__work_leave(backlog, &hold, &books);
}

/* Two workers hold a segment to which more elements are added. One of them offers these, and the other claims
 * them without having taken the lock again. */
LARGE_SCENARIO(order_of_claims)
{
    begin_words();
    books = (struct hora__books){.branch_count = 0};
    hora__atomic_init(&gate, 0);
    CHECK_OK(hora__backlog_new(HORA_UNBOUNDED, 0, NULL, &backlog));
    hora__backlog_open_books(backlog, &books);
    for (int i = 0; i < TASKS / 2; i++)
        post(i);
    test_thread *takers[] = {test_thread_start(NULL, take_all, NULL),
                             test_thread_start(NULL, take_all, NULL)};
    for (int i = TASKS / 2; i < TASKS; i++) {
        hora__counter_set(&sent[i], 1);
        CHECK_OK(hora_queue_offer(backlog, &sent[i]));
    }
    for (int i = 0; i < 2; i++)
        test_thread_join(takers[i]);
    take_all(NULL);
    CHECK_OK(hora_queue_free(backlog));
}
