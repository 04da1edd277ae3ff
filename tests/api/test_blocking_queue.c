/* SPDX-License-Identifier: Apache-2.0 */
/* test_blocking_queue.c - the promises of all kinds of queue, in each of their configurations */
#include "rows.h"

/* No element is inserted by a call that was given none, and no call waits before it says so. */
static void refuses_null(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    CHECK_ERROR(hora_queue_offer(f.queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_offer_for(f.queue, NULL, A_LONG_WHILE), HORA_EINVAL);
    CHECK_ERROR(hora_queue_put(f.queue, NULL), HORA_EINVAL);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
EVERY_KIND(refuses_null, "BlockingQueueTest.testOfferNull BlockingQueueTest.testAddNull "
                         "BlockingQueueTest.testTimedOfferNull BlockingQueueTest.testPutNull")

/* One element inside, where that is possible. */
static int open_with_one(struct fixture *f, enum kind kind)
{
    fixture_open_queue(f, kind, SIZE);
    if (is_synchronous(kind))
        return 0;
    fill(f, 1);
    return 1;
}

static void refuses_to_copy_to_nowhere(enum kind kind)
{
    struct fixture f;
    int size = open_with_one(&f, kind);

    CHECK_ERROR(hora_queue_snapshot(f.queue, NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_queue_snapshot(f.queue, NULL, -1), HORA_EINVAL);
    CHECK_INT(hora_queue_snapshot(f.queue, NULL, 0), size);
    fixture_close(&f);
}
EVERY_KIND(refuses_to_copy_to_nowhere, "BlockingQueueTest.testToArray_NullArray")

static void refuses_to_drain_to_nowhere(enum kind kind)
{
    struct fixture f;
    int size = open_with_one(&f, kind);

    CHECK_ERROR(hora_queue_drain(f.queue, NULL, SIZE), HORA_EINVAL);
    CHECK_ERROR(hora_queue_drain(f.queue, NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_queue_drain(f.queue, NULL, INT_MIN), HORA_EINVAL);
    CHECK_INT(hora_queue_size(f.queue), size);
    fixture_close(&f);
}
EVERY_KIND(refuses_to_drain_to_nowhere,
           "BlockingQueueTest.testDrainToNull BlockingQueueTest.testDrainToNullN")

static void refuses_to_drain_to_itself(enum kind kind)
{
    struct fixture f;
    int size = open_with_one(&f, kind);
    void **self = (void **)(void *)f.queue;

    CHECK_ERROR(hora_queue_drain(f.queue, self, SIZE), HORA_EINVAL);
    CHECK_ERROR(hora_queue_drain(f.queue, self, 0), HORA_EINVAL);
    CHECK_ERROR(hora_queue_drain(f.queue, self, INT_MIN), HORA_EINVAL);
    CHECK_INT(hora_queue_size(f.queue), size);
    fixture_close(&f);
}
EVERY_KIND(refuses_to_drain_to_itself, "BlockingQueueTest.testDrainToSelf BlockingQueueTest.testDrainToSelfN")

static void check_drains_nothing(struct fixture *f, int size)
{
    static const int maxima[] = {0, -1, -42, INT_MIN};
    void *items[1] = {untouched};

    for (int i = 0; i < 4; i++) {
        CHECK_INT(hora_queue_drain(f->queue, items, maxima[i]), 0);
        CHECK_INT(hora_queue_size(f->queue), size);
    }
    CHECK_POINTER(items[0], untouched);
}

/* On an empty queue, and with one element inside or offered by a waiting put. */
static void drains_nothing_for_a_max_of_zero_or_less(enum kind kind)
{
    struct fixture f;
    struct call put;

    fixture_open_queue(&f, kind, SIZE);
    check_drains_nothing(&f, 0);
    start_put(&put, &f, item(0));
    if (is_synchronous(kind)) {
        CHECK_BLOCKED(&put);
        check_drains_nothing(&f, 0);
        CHECK_POLL(f.queue, item(0));
        CHECK_RETURNS(&put, 0);
    } else {
        CHECK_RETURNS(&put, 0);
        check_drains_nothing(&f, 1);
        CHECK_POLL(f.queue, item(0));
    }
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
EVERY_KIND(drains_nothing_for_a_max_of_zero_or_less, "BlockingQueueTest.testDrainToNonPositiveMaxElements")

/* The timeout expires; then an element arrives in time; a pending interrupt and one while waiting are
 * reported. */
static void poll_for_times_out_meets_an_offer_and_is_interruptible(enum kind kind)
{
    struct fixture f;
    struct call poll, offer;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    start_poll_for(&poll, &f, A_WHILE);
    CHECK_TIMES_OUT(&poll, A_WHILE);

    start_poll_for(&poll, &f, A_LONG_WHILE);
    CHECK_BLOCKED(&poll);
    start_offer_for(&offer, &f, item(0), A_LONG_WHILE);
    CHECK_RETURNS(&offer, 0);
    CHECK_TAKES(&poll, item(0));

    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_queue_poll_for(f.queue, any_timeout[i], &got), &got);
    start_poll_for(&poll, &f, A_LONG_WHILE);
    CHECK_INTERRUPTIBLE(&poll);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
EVERY_KIND(poll_for_times_out_meets_an_offer_and_is_interruptible, "BlockingQueueTest.testTimedPollWithOffer")

static void take_waits_interruptibly(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, SIZE);
    start_take(&call, &f);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
EVERY_KIND(take_waits_interruptibly, "BlockingQueueTest.testTakeFromEmptyBlocksInterruptibly")

static void take_reports_a_pending_interrupt(enum kind kind)
{
    struct fixture f;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    CHECK_INTERRUPTED(hora_queue_take(f.queue, &got), &got);
    fixture_close(&f);
}
EVERY_KIND(take_reports_a_pending_interrupt, "BlockingQueueTest.testTakeFromEmptyAfterInterrupt")

static void poll_for_waits_interruptibly(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, SIZE);
    start_poll_for(&call, &f, 2 * A_LONG_WHILE);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
EVERY_KIND(poll_for_waits_interruptibly, "BlockingQueueTest.testTimedPollFromEmptyBlocksInterruptibly")

static void poll_for_reports_a_pending_interrupt(enum kind kind)
{
    struct fixture f;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_queue_poll_for(f.queue, any_timeout[i], &got), &got);
    fixture_close(&f);
}
EVERY_KIND(poll_for_reports_a_pending_interrupt, "BlockingQueueTest.testTimedPollFromEmptyAfterInterrupt")

/* Element i is inside; removing it works once and leaves its neighbours alone. */
static void check_removes_once(hora_queue *queue, int i, int neighbour)
{
    CHECK_INT(hora_queue_contains(queue, item(i)), 1);
    CHECK_INT(hora_queue_remove(queue, item(i)), 1);
    CHECK_INT(hora_queue_contains(queue, item(i)), 0);
    CHECK_INT(hora_queue_remove(queue, item(i)), 0);
    if (neighbour >= 0)
        CHECK_INT(hora_queue_contains(queue, item(neighbour)), 1);
}

/* Odd ones from the front, then even ones from the back. */
static void remove_takes_out_one_particular_element(enum kind kind)
{
    struct fixture f;
    int size = is_synchronous(kind) ? 0 : SIZE;
    struct element twin = {.value = 1, .due = 1};

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, size);
    CHECK_INT(hora_queue_contains(f.queue, item(size)), 0);
    CHECK_INT(hora_queue_remove(f.queue, item(size)), 0);
    CHECK_INT(hora_queue_remove(f.queue, &twin), 0);
    for (int i = 1; i < size; i += 2) {
        CHECK_INT(hora_queue_contains(f.queue, item(i - 1)), 1);
        check_removes_once(f.queue, i, i + 1 < size ? i + 1 : -1);
    }
    CHECK_INT(hora_queue_size(f.queue), size / 2);
    for (int i = size - 2; i >= 0; i -= 2)
        check_removes_once(f.queue, i, i - 2);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
EVERY_KIND(remove_takes_out_one_particular_element, "BlockingQueueTest.testRemoveElement")

/* The elements that are left after random removals leave in the same order as if the others had never been in
 * the queue. */
static void remove_keeps_the_order_of_the_others(enum kind kind)
{
    struct fixture f;
    int size = is_synchronous(kind) ? 0 : SIZE;
    bool inside[SIZE];

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, size);
    for (int i = 0; i < size; i++)
        inside[i] = true;
    for (int i = 0; i < size / 2; i++) {
        int victim = (int)test_random(SIZE);
        CHECK_INT(hora_queue_remove(f.queue, item(victim)), inside[victim]);
        inside[victim] = false;
    }
    for (int i = 0; i < size; i++) {
        if (inside[i])
            CHECK_POLL(f.queue, item(i));
    }
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
EVERY_KIND(remove_keeps_the_order_of_the_others, "BlockingQueueTest.testRemoveElement")
