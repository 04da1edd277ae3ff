/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_queue.c - all kinds of queue: each element arrives once, no waiter is forgotten
 *
 * Each scenario is written once, with the kind as a parameter, and defined for all kinds to which it
 * applies. */
#include "kinds.h"

enum { SPAN = 1000 };

static hora_queue *queue;
static hora_virtual_clock *vclock;

#define ON_KIND(name, kind) \
    SCENARIO(name##_##kind) \
    {                       \
        name(kind);         \
    }
#define ON_BOUNDED(name)  ON_KIND(name, ARRAY) ON_KIND(name, LINKED) ON_KIND(name, FAIR) ON_KIND(name, UNFAIR)
#define ON_ALL(name)      ON_BOUNDED(name) ON_KIND(name, PRIORITY) ON_KIND(name, DELAY)
#define ON_BUFFERED(name) ON_KIND(name, ARRAY) ON_KIND(name, LINKED)

static void begin(enum kind kind)
{
    CHECK_OK(kinds_new(kind, NULL, NULL, &queue));
}

static void end(void)
{
    CHECK_INT(hora_queue_size(queue), 0);
    CHECK_OK(hora_queue_free(queue));
}

static void put(void *item)
{
    CHECK_OK(hora_queue_put(queue, item));
}

static void put_two(void *arg)
{
    (void)arg;
    put(&kinds_values[1]);
    put(&kinds_values[2]);
}

static void take_into(void *item)
{
    CHECK_OK(hora_queue_take(queue, item));
}

/* One producer, two consumers: each gets one of the two elements. */
static void transfer_is_complete(enum kind kind)
{
    void *got[2] = {NULL, NULL};
    begin(kind);
    test_thread *threads[] = {test_thread_start(NULL, take_into, &got[0]),
                              test_thread_start(NULL, put_two, NULL)};
    take_into(&got[1]);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    CHECK(got[0] != got[1]);
    CHECK(got[0] == &kinds_values[1] || got[0] == &kinds_values[2]);
    CHECK(got[1] == &kinds_values[1] || got[1] == &kinds_values[2]);
    end();
}
ON_ALL(transfer_is_complete)

/* One consumer gets the elements of one producer in the order in which they were put. */
static void transfer_keeps_order(enum kind kind)
{
    void *first;
    void *second;
    begin(kind);
    test_thread *producer = test_thread_start(NULL, put_two, NULL);
    take_into(&first);
    take_into(&second);
    test_thread_join(producer);
    CHECK_POINTER(first, &kinds_values[1]);
    CHECK_POINTER(second, &kinds_values[2]);
    end();
}
ON_ALL(transfer_keeps_order)

static void take_until_closed(void *arg)
{
    int *taken = arg;
    void *item;
    int error;
    while ((error = hora_queue_take(queue, &item)) == 0)
        ++*taken;
    CHECK_ERROR(error, HORA_ECLOSED);
}

/* Two takers, one element, then close: no thread is woken for nothing. A taker sleeps at most twice, once
 * before the element and once before the close. */
static void wakes_only_whom_it_concerns(enum kind kind)
{
    int taken[2] = {0, 0};
    begin(kind);
    test_thread *threads[] = {test_thread_start(NULL, take_until_closed, &taken[0]),
                              test_thread_start(NULL, take_until_closed, &taken[1])};
    put(&kinds_values[1]);
    uint64_t putting = test_wakeups();
    CHECK_OK(hora_queue_close(queue));
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    CHECK_INT(taken[0] + taken[1], 1);
    bool put_never_waits = kind != FAIR && kind != UNFAIR;
    if (test_is_exact() && put_never_waits) {
        CHECK(putting <= 1);
        CHECK(test_wakeups() <= 3);
    }
    end();
}
ON_ALL(wakes_only_whom_it_concerns)

/* A taker's timeout expires when an element arrives: either the taker gets it, or the element is still in the
 * queue. */
static void offer_later(void *arg)
{
    CHECK_OK(hora_sleep(SPAN));
    *(int *)arg = hora_queue_offer(queue, &kinds_values[1]);
}

static void timeout_meets_offer(enum kind kind)
{
    int offered = 1;
    void *item = NULL;
    begin(kind);
    hora_ns start = hora_clock_now(NULL);
    test_thread *producer = test_thread_start(NULL, offer_later, &offered);
    int error = hora_queue_poll_for(queue, SPAN, &item);
    CHECK(hora_clock_now(NULL) - start >= SPAN);
    test_thread_join(producer);
    if (error == 0) {
        CHECK_POINTER(item, &kinds_values[1]);
        CHECK_ERROR(offered, 0);
    } else {
        CHECK_ERROR(error, HORA_ETIMEDOUT);
        CHECK_POINTER(item, NULL);
        if (offered == 0)
            CHECK_OK(hora_queue_poll(queue, &item));
        else
            CHECK_ERROR(offered, HORA_EFULL);
    }
    end();
}
ON_ALL(timeout_meets_offer)

/* A putter's timeout expires when there is room: either its element is inserted, or the caller keeps it. */
static void poll_later(void *item)
{
    CHECK_OK(hora_sleep(SPAN));
    int error = hora_queue_poll(queue, item);
    CHECK(error == 0 || error == HORA_EEMPTY);
}

static void timeout_meets_poll(enum kind kind)
{
    void *first = NULL;
    void *second = NULL;
    begin(kind);
    if (kind == ARRAY || kind == LINKED)
        put(&kinds_values[0]);
    test_thread *consumer = test_thread_start(NULL, poll_later, &first);
    int error = hora_queue_offer_for(queue, &kinds_values[1], SPAN);
    test_thread_join(consumer);
    bool left = hora_queue_poll(queue, &second) == 0;
    if (kind == ARRAY || kind == LINKED) {
        CHECK_POINTER(first, &kinds_values[0]);
        CHECK_INT(left, error == 0);
    } else {
        CHECK_POINTER(first, error == 0 ? &kinds_values[1] : NULL);
        CHECK(!left);
    }
    CHECK(error == 0 || error == HORA_ETIMEDOUT);
    end();
}
ON_BOUNDED(timeout_meets_poll)

/* An interrupt meets an element: one of them is the outcome, and the other is not lost. */
struct interrupted_take {
    int error;
    void *item;
};

/* The interrupt, which is certain to happen, counts once: as the outcome of a call, or later. */
static void check_interrupted_once(int error)
{
    CHECK(error == 0 || error == HORA_EINTERRUPTED);
    if (error == 0)
        CHECK_ERROR(hora_sleep(HORA_FOREVER), HORA_EINTERRUPTED);
    CHECK(!hora_interrupted());
}

static void take_interrupted(void *arg)
{
    struct interrupted_take *take = arg;
    take->error = hora_queue_take(queue, &take->item);
    check_interrupted_once(take->error);
}

static void offer_into(void *arg)
{
    *(int *)arg = hora_queue_offer(queue, &kinds_values[1]);
}

static void interrupt_meets_offer(enum kind kind)
{
    struct interrupted_take take = {.item = NULL};
    int offered = 1;
    void *item = NULL;
    begin(kind);
    test_thread *taker = test_thread_start(NULL, take_interrupted, &take);
    test_thread *producer = test_thread_start(NULL, offer_into, &offered);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(taker)));
    test_thread_join(producer);
    test_thread_join(taker);
    bool left = hora_queue_poll(queue, &item) == 0;
    CHECK_INT((take.error == 0) + left, offered == 0);
    end();
}
ON_ALL(interrupt_meets_offer)

static void put_interrupted(void *arg)
{
    int *error = arg;
    *error = hora_queue_put(queue, &kinds_values[1]);
    check_interrupted_once(*error);
}

/* The same race for a putter: an interrupt against a take that makes room. */
static void interrupt_meets_take(enum kind kind)
{
    int error = 1;
    void *items[3];
    begin(kind);
    put(&kinds_values[0]);
    test_thread *putter = test_thread_start(NULL, put_interrupted, &error);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(putter)));
    take_into(&items[0]);
    test_thread_join(putter);
    CHECK_POINTER(items[0], &kinds_values[0]);
    CHECK_INT(hora_queue_drain(queue, items, 3), error == 0 ? 1 : 0);
    end();
}
ON_BUFFERED(interrupt_meets_take)

/* drain, remove and clear make room, and a thread that waits for room may insert its element. */
static void drain_admits(enum kind kind)
{
    void *items[4];
    begin(kind);
    put(&kinds_values[0]);
    test_thread *putter = test_thread_start(NULL, put, &kinds_values[1]);
    int drained = hora_queue_drain(queue, items, 4);
    CHECK_INT(drained, 1);
    CHECK_POINTER(items[0], &kinds_values[0]);
    test_thread_join(putter);
    take_into(&items[1]);
    CHECK_POINTER(items[1], &kinds_values[1]);
    end();
}
ON_BUFFERED(drain_admits)

static void remove_admits(enum kind kind)
{
    void *item;
    begin(kind);
    put(&kinds_values[0]);
    test_thread *putter = test_thread_start(NULL, put, &kinds_values[1]);
    CHECK_INT(hora_queue_remove(queue, &kinds_values[0]), 1);
    test_thread_join(putter);
    take_into(&item);
    CHECK_POINTER(item, &kinds_values[1]);
    end();
}
ON_BUFFERED(remove_admits)

static void clear_admits(enum kind kind)
{
    void *item;
    begin(kind);
    put(&kinds_values[0]);
    test_thread *putter = test_thread_start(NULL, put, &kinds_values[1]);
    CHECK_OK(hora_queue_clear(queue));
    int error = hora_queue_poll(queue, &item); /* the other put may come after all this */
    test_thread_join(putter);
    if (error == HORA_EEMPTY)
        take_into(&item);
    CHECK_POINTER(item, &kinds_values[1]);
    end();
}
ON_BUFFERED(clear_admits)

/* Closing ends every wait, on both sides, and later elements are rejected. */
static void put_closed(void *arg)
{
    int *error = arg;
    *error = hora_queue_put(queue, &kinds_values[1]);
}

static void close_wakes_putter(enum kind kind)
{
    int error = 1;
    void *item;
    begin(kind);
    if (kind == ARRAY || kind == LINKED)
        put(&kinds_values[0]);
    test_thread *putter = test_thread_start(NULL, put_closed, &error);
    CHECK_OK(hora_queue_close(queue));
    test_thread_join(putter);
    CHECK_ERROR(error, HORA_ECLOSED);
    if (kind == ARRAY || kind == LINKED)
        take_into(&item);
    CHECK_ERROR(hora_queue_poll(queue, &item), HORA_ECLOSED);
    CHECK_ERROR(hora_queue_offer(queue, &kinds_values[2]), HORA_ECLOSED);
    end();
}
ON_BOUNDED(close_wakes_putter)

/* Close, then free at once: threads that were waiting are on their way out and must not meet freed memory. */
static void take_closed(void *arg)
{
    void *item;
    int error = hora_queue_poll_for(queue, SPAN, &item);
    CHECK(error == HORA_ECLOSED || error == HORA_ETIMEDOUT);
    *(int *)arg = 1;
}

static void free_right_after_close(enum kind kind)
{
    int done = 0;
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    CHECK_OK(kinds_new(kind, hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC), NULL, &queue));
    test_thread *taker = test_thread_start(vclock, take_closed, &done);
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK_OK(hora_virtual_clock_advance(vclock, SPAN)); /* it wakes, and wants the lock */
    CHECK_OK(hora_queue_close(queue));
    CHECK_OK(hora_queue_free(queue));
    test_thread_join(taker);
    CHECK_INT(done, 1);
    CHECK_OK(hora_virtual_clock_free(vclock));
}
ON_ALL(free_right_after_close)

/* Waiting takers are served in the order in which they arrived; an unfair synchronous queue serves the latest
 * first. */
static void takers_are_served_in_order(enum kind kind)
{
    void *got[2] = {NULL, NULL};
    begin(kind);
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *threads[2];
    for (int i = 0; i < 2; i++) {
        threads[i] = test_thread_start(vclock, take_into, &got[i]);
        CHECK_OK(hora_virtual_clock_settle(vclock));
    }
    put(&kinds_values[1]);
    put(&kinds_values[2]);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    CHECK_POINTER(got[kind == UNFAIR ? 1 : 0], &kinds_values[1]);
    CHECK_POINTER(got[kind == UNFAIR ? 0 : 1], &kinds_values[2]);
    CHECK_OK(hora_virtual_clock_free(vclock));
    end();
}
ON_ALL(takers_are_served_in_order)

static void putters_are_served_in_order(enum kind kind)
{
    begin(kind);
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    if (kind == ARRAY || kind == LINKED)
        put(&kinds_values[0]);
    test_thread *threads[2];
    for (int i = 0; i < 2; i++) {
        threads[i] = test_thread_start(vclock, put, &kinds_values[1 + i]);
        CHECK_OK(hora_virtual_clock_settle(vclock));
    }
    void *item;
    if (kind == ARRAY || kind == LINKED)
        take_into(&item);
    take_into(&item);
    CHECK_POINTER(item, &kinds_values[kind == UNFAIR ? 2 : 1]);
    take_into(&item);
    CHECK_POINTER(item, &kinds_values[kind == UNFAIR ? 1 : 2]);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    CHECK_OK(hora_virtual_clock_free(vclock));
    end();
}
ON_BOUNDED(putters_are_served_in_order)
