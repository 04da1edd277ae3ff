/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_backlog.c - the pool's own queue: a taker that waits while there is a task is woken
 *
 * Elements are posted as a pool posts them. Each scenario ends when all takers have what they waited for. A
 * lost wake-up leaves one of them asleep for ever, and the simulator reports that. */
#include <string.h>

#include "exec/backlog.h"
#include "harness.h"

static int offer_item(hora_queue *source, void *item, struct hora__books *counts)
{
    return hora__work_kind_of(source)->offer(source, &(struct hora__offer){.item = item, .books = counts});
}

enum { SPAN = 1000, SLOTS = 128, VALUES = 3 * SLOTS, STEPS = 5 * SLOTS };

static hora_queue *queue;
static struct hora__books books;
static int values[VALUES];

static void begin(int capacity)
{
    memset(&books, 0, sizeof books);
    CHECK_OK(hora__backlog_new(capacity, 0, NULL, &queue));
    hora__backlog_open_books(queue, &books);
}

static struct hora__hold hold;

static void end(void)
{
    hora__work_leave(queue, &hold, &books);
    CHECK_INT(hora_queue_size(queue), 0);
    CHECK_OK(hora_queue_free(queue));
}

static void post(int number)
{
    CHECK_OK(offer_item(queue, &values[number], &books));
}

static void take_one(void *arg)
{
    void *item = NULL;
    CHECK_OK(hora_queue_take(queue, &item));
    *(void **)arg = item;
}

static void post_one(void *arg)
{
    (void)arg;
    post(1);
}

/* ---- waiting and waking ---- */

static void meets_a_taker(int capacity)
{
    void *got = NULL;
    begin(capacity);
    test_thread *taker = test_thread_start(NULL, take_one, &got);
    post(0);
    test_thread_join(taker);
    CHECK_POINTER(got, &values[0]);
    end();
}

SCENARIO(backlog_post_meets_a_taker)
{
    meets_a_taker(HORA_UNBOUNDED);
}

SCENARIO(backlog_offer_meets_a_taker)
{
    meets_a_taker(1);
}

/* Two elements, two takers, each of which takes only one: if the poster does not wake the second taker, the
 * first must. */
static void wakes_both_takers(int capacity)
{
    void *got[2] = {NULL, NULL};
    begin(capacity);
    test_thread *takers[] = {test_thread_start(NULL, take_one, &got[0]),
                             test_thread_start(NULL, take_one, &got[1])};
    post(0);
    post(1);
    test_thread_join(takers[0]);
    test_thread_join(takers[1]);
    CHECK(got[0] != got[1] && got[0] != NULL && got[1] != NULL);
    CHECK_INT(hora__books_accepted(&books), 2);
    end();
}

LARGE_SCENARIO(backlog_posts_wake_both_takers)
{
    wakes_both_takers(HORA_UNBOUNDED);
}

LARGE_SCENARIO(backlog_offers_wake_both_takers)
{
    wakes_both_takers(2);
}

/* Two who post at the same time, one taker that wants both. */
LARGE_SCENARIO(backlog_takes_from_two)
{
    void *got[2];
    begin(HORA_UNBOUNDED);
    test_thread *other = test_thread_start(NULL, post_one, NULL);
    post(0);
    take_one(&got[0]);
    take_one(&got[1]);
    test_thread_join(other);
    CHECK(got[0] != got[1]);
    end();
}

/* What one thread posts is taken in that order, also while other threads take and look. */
static void post_three(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        post(i);
}

SCENARIO(backlog_keeps_the_order)
{
    begin(HORA_UNBOUNDED);
    test_thread *other = test_thread_start(NULL, post_three, NULL);
    for (int i = 0; i < 3; i++) {
        void *item;
        CHECK(hora_queue_size(queue) <= 3 - i);
        take_one(&item);
        CHECK_POINTER(item, &values[i]);
    }
    test_thread_join(other);
    end();
}

static void take_or_be_interrupted(void *arg)
{
    void *item = NULL;
    int error = hora_queue_take(queue, &item);
    CHECK(error == 0 || error == HORA_EINTERRUPTED);
    *(void **)arg = item;
}

/* The searcher may be interrupted before it has looked: then the other taker must be nudged. */
LARGE_SCENARIO(backlog_interrupted_searcher_tells_the_next)
{
    void *got[2] = {NULL, NULL};
    begin(HORA_UNBOUNDED);
    test_thread *patient = test_thread_start(NULL, take_one, &got[0]);
    test_thread *other = test_thread_start(NULL, take_or_be_interrupted, &got[1]);
    post(0);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(other)));
    test_thread_join(other);
    if (got[1] != NULL)
        post(1);
    test_thread_join(patient);
    CHECK(got[0] != NULL && got[0] != got[1]);
    end();
}

static void take_in_time(void *arg)
{
    void *item = NULL;
    int error = hora_queue_poll_for(queue, SPAN, &item);
    CHECK(error == 0 || error == HORA_ETIMEDOUT);
    *(void **)arg = item;
}

/* The same with a searcher whose timeout has expired. */
LARGE_SCENARIO(backlog_late_searcher_tells_the_next)
{
    void *got[2] = {NULL, NULL};
    begin(HORA_UNBOUNDED);
    test_thread *patient = test_thread_start(NULL, take_one, &got[0]);
    test_thread *other = test_thread_start(NULL, take_in_time, &got[1]);
    CHECK_OK(hora_sleep(SPAN));
    post(0);
    test_thread_join(other);
    if (got[1] != NULL)
        post(1);
    test_thread_join(patient);
    CHECK(got[0] != NULL && got[0] != got[1]);
    end();
}

/* No thread is woken as long as none sleeps. */
SCENARIO(backlog_wakes_no_worker_without_need)
{
    void *got = NULL;
    begin(HORA_UNBOUNDED);
    uint64_t before = test_wakeups();
    for (int i = 0; i < 3; i++)
        post(i);
    for (int i = 0; i < 3; i++)
        take_one(&got);
    CHECK_INT(test_wakeups() - before, 0);
    end();
}

static void post_or_find_it_closed(void *arg)
{
    int error = offer_item(queue, &values[0], &books);
    CHECK(error == 0 || error == HORA_ECLOSED);
    *(bool *)arg = error == 0;
}

/* An element that is posted before the queue is closed is in it, and none is accepted later. */
SCENARIO(backlog_post_meets_close)
{
    bool posted = false;
    void *item;
    begin(HORA_UNBOUNDED);
    test_thread *other = test_thread_start(NULL, post_or_find_it_closed, &posted);
    CHECK_OK(hora_queue_close(queue));
    test_thread_join(other);
    CHECK_ERROR(offer_item(queue, &values[1], &books), HORA_ECLOSED);
    CHECK_ERROR(hora_queue_poll(queue, &item), posted ? 0 : HORA_ECLOSED);
    end();
}

/* ---- detached tasks ---- */

static hora__atomic gate;

static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static int forms; /* how many kinds of tasks there are; told from each other by their line */

static int number_of(const void *value)
{
    return (int)((const int *)value - values);
}

static int64_t came_of(const void *value)
{
    return number_of(value) % 3 == 0 ? 0 : number_of(value);
}

/* The task's argument stands for it. */
static int post_task(void *value)
{
    hora_task task = {.run = run, .arg = value, .line = forms > 0 ? number_of(value) % forms : 0};
    struct hora__offer offer = {.task = &task, .came = came_of(value), .control = &gate, .closed = 1};
    return hora__work_kind_of(queue)->offer(queue, &offer);
}

static int make_element(void *context, const struct hora__taken *cell, void **ret_item)
{
    CHECK_POINTER(context, &books);
    *ret_item = cell->task.arg;
    return 0;
}

static void show(void)
{
    CHECK_OK(hora__work_show(queue, &(struct hora__maker){make_element, &books}));
}

static void *next(void)
{
    struct hora__taken cell = {.now = HORA_NEVER};
    void *item = hora__work_next(queue, &hold, &cell, &books);
    if (item != &cell)
        return item;
    CHECK_INT(cell.task.line, forms > 0 ? number_of(cell.task.arg) % forms : 0);
    CHECK_INT(cell.came, came_of(cell.task.arg));
    return cell.task.arg;
}

static void post_task_or_be_refused(void *arg)
{
    int error = post_task(&values[0]);
    CHECK(error == 0 || error == HORA_ENOTSUP);
    *(bool *)arg = error == 0;
}

static void begin_detached(void)
{
    hora__atomic_init(&gate, 0);
    begin(HORA_UNBOUNDED);
}

/* A thread that changes the control word and then looks sees all detached tasks that will ever be queued. */
SCENARIO(backlog_task_meets_the_close)
{
    bool posted = false;
    begin_detached();
    test_thread *other = test_thread_start(NULL, post_task_or_be_refused, &posted);
    hora__atomic_store(&gate, 1);
    int seen = hora_queue_size(queue);
    test_thread_join(other);
    CHECK_INT(seen, posted);
    CHECK_INT(hora_queue_size(queue), seen);
    CHECK_POINTER(next(), posted ? &values[0] : NULL);
    end();
}

/* After show, the queue has only elements, no detached tasks. */
SCENARIO(backlog_task_meets_a_show)
{
    bool posted = false;
    void *item = NULL;
    begin_detached();
    test_thread *other = test_thread_start(NULL, post_task_or_be_refused, &posted);
    show();
    int seen = hora_queue_snapshot(queue, &item, 1);
    test_thread_join(other);
    CHECK_INT(seen, posted);
    CHECK_POINTER(item, posted ? &values[0] : NULL);
    CHECK_ERROR(post_task(&values[1]), HORA_ENOTSUP);
    CHECK_POINTER(next(), item);
    end();
}

/* A task wakes a taker as an element does. */
static void take_task(void *arg)
{
    struct hora__taken cell = {.now = HORA_NEVER};
    void *item;
    CHECK_OK(hora__work_await(queue, HORA_FOREVER, &cell, &item));
    CHECK_POINTER(item, &cell);
    *(void **)arg = cell.task.arg;
}

SCENARIO(backlog_task_meets_a_taker)
{
    void *got = NULL;
    begin_detached();
    test_thread *taker = test_thread_start(NULL, take_task, &got);
    CHECK_OK(post_task(&values[0]));
    test_thread_join(taker);
    CHECK_POINTER(got, &values[0]);
    end();
}

/* ---- the contents ---- */

static void *model[VALUES];
static int model_size;
static bool detached; /* tasks are posted as well, and the queue has not been shown */

static int model_find(const void *item)
{
    for (int i = 0; i < model_size; i++)
        if (model[i] == item)
            return i;
    return -1;
}

static void model_remove(int i)
{
    memmove(&model[i], &model[i + 1], (size_t)(model_size - i - 1) * sizeof model[0]);
    model_size--;
}

static void compare(void)
{
    void *items[VALUES + 1];
    CHECK_INT(hora_queue_snapshot(queue, items, VALUES + 1), model_size);
    CHECK_INT(memcmp(items, model, (size_t)model_size * sizeof model[0]), 0);
}

static void step_in(int capacity)
{
    bool as_task = detached && test_random(2) == 0;
    void *item = &values[2 * test_random(VALUES / 2) + as_task];
    bool by_hand = test_random(4) == 0;
    if (model_size == VALUES - 1)
        return;
    int error = as_task   ? post_task(item)
                : by_hand ? hora_queue_offer(queue, item)
                          : offer_item(queue, item, &books);
    CHECK_ERROR(error, model_size < capacity ? 0 : HORA_EFULL);
    if (error == 0)
        model[model_size++] = item;
}

static void step_out(void)
{
    void *item = NULL;
    int error = !detached && test_random(2) == 0 ? hora_queue_poll(queue, &item) : -!(item = next());
    CHECK_INT(error == 0, model_size > 0);
    if (model_size > 0) {
        CHECK_POINTER(item, model[0]);
        model_remove(0);
    }
}

static void step_aside(void)
{
    void *item = model_size > 0 && test_random(4) > 0 ? model[test_random((uint32_t)model_size)]
                                                      : &values[test_random(VALUES)];
    if (detached && number_of(item) % 2 != 0)
        return; /* a task: which of them equal which is not for the queue to know */
    int at = model_find(item);
    CHECK_INT(hora_queue_remove(queue, item), at >= 0);
    if (at >= 0)
        model_remove(at);
}

static void step_aside_or_show(void)
{
    if (detached && test_random(STEPS / 8) == 0) {
        show();
        detached = false;
    }
    step_aside();
}

/* More elements are inserted than removed, then fewer, so that segments fill and empty. In a few phases,
 * elements in the middle are removed. */
static void follow_a_plain_list(int capacity, bool with_tasks)
{
    detached = with_tasks;
    hora__atomic_init(&gate, 0);
    begin(capacity);
    model_size = 0;
    uint32_t ins = 8;
    for (int i = 0; i < STEPS; i++) {
        if (i % SLOTS == 0)
            ins = 1 + test_random(12);
        uint32_t which = test_random(14);
        if (which < ins)
            step_in(capacity);
        else if (which % 2 == 0)
            step_out();
        else
            step_aside_or_show();
        if (!detached && test_random(8) == 0)
            compare();
    }
    if (detached)
        CHECK_INT(hora_queue_size(queue), model_size);
    else
        compare();
    while (model_size > 0)
        step_out();
    step_out();
    end();
}

SCENARIO(unbounded_backlog_follows_a_plain_list)
{
    follow_a_plain_list(HORA_UNBOUNDED, false);
}

static void follow_with_tasks_of(int kinds)
{
    forms = kinds;
    follow_a_plain_list(HORA_UNBOUNDED, true);
    forms = 0;
}

SCENARIO(backlog_with_tasks_follows_a_plain_list)
{
    follow_with_tasks_of(1);
}

SCENARIO(backlog_with_tasks_of_some_kinds_follows_a_plain_list)
{
    follow_with_tasks_of(12);
}

/* More than a segment has room for. */
SCENARIO(backlog_with_tasks_of_many_kinds_follows_a_plain_list)
{
    follow_with_tasks_of(VALUES);
}

SCENARIO(bounded_backlog_follows_a_plain_list)
{
    follow_a_plain_list(SLOTS + 3, false);
}

/* A call that fails for want of memory has changed nothing. */
SWEEP(backlog_survives)
{
    hora__atomic_init(&gate, 0);
    int error = hora__backlog_new(HORA_UNBOUNDED, 0, NULL, &queue);
    if (error < 0) {
        CHECK_ERROR(error, HORA_ENOMEM);
        return;
    }
    int in = 0;
    forms = VALUES;
    for (int i = 0; i < 2 * SLOTS + 1; i++) {
        error = i % 3 == 0   ? hora_queue_offer(queue, &values[i])
                : i % 3 == 1 ? post_task(&values[i])
                             : offer_item(queue, &values[i], &books);
        CHECK(error == 0 || error == HORA_ENOMEM);
        in += error == 0;
    }
    CHECK_INT(hora_queue_size(queue), in);
    while (next() != NULL)
        in--;
    CHECK_INT(in, 0);
    forms = 0;
    end();
}

static void put_one(void *arg)
{
    (void)arg;
    CHECK_OK(hora_queue_put(queue, &values[2]));
}

/* When a searcher makes room, a thread that waits for room may insert its element. */
LARGE_SCENARIO(bounded_backlog_lets_a_waiting_put_in)
{
    void *got[2];
    begin(1);
    test_thread *taker = test_thread_start(NULL, take_one, &got[0]);
    test_thread *putter = test_thread_start(NULL, put_one, NULL);
    CHECK_OK(hora_queue_put(queue, &values[0]));
    take_one(&got[1]);
    test_thread_join(taker);
    test_thread_join(putter);
    CHECK(got[0] != got[1]);
    end();
}
