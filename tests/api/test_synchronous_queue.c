/* SPDX-License-Identifier: Apache-2.0 */
/* test_synchronous_queue.c - the queue without room, where each put waits for a take: unfair and fair */
#include "rows.h"

/* One test for each of the two modes. */
#define MODES(promise, rows, fair_rows)             \
    SHARED(synchronous, SYNCHRONOUS, promise, rows) \
    SHARED(fair_synchronous, SYNCHRONOUS_FAIR, promise, fair_rows)

static void is_always_empty_and_full(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, 0);
    CHECK_EMPTY(f.queue);
    CHECK_INT(hora_queue_remaining_capacity(f.queue), 0);
    CHECK_ERROR(hora_queue_offer(f.queue, item(0)), HORA_EFULL);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(is_always_empty_and_full, "SynchronousQueueTest.testEmptyFull",
      "SynchronousQueueTest.testEmptyFull_fair")

/* offer gives an element only to a thread that waits for it. */
static void offer_needs_a_waiting_taker(enum kind kind)
{
    struct fixture f;
    struct call take;

    fixture_open_queue(&f, kind, 0);
    CHECK_ERROR(hora_queue_offer(f.queue, item(0)), HORA_EFULL);
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    CHECK_OK(hora_queue_offer(f.queue, item(1)));
    CHECK_ERROR(hora_queue_offer(f.queue, item(2)), HORA_EFULL);
    CHECK_TAKES(&take, item(1));
    fixture_close(&f);
}
MODES(offer_needs_a_waiting_taker, "SynchronousQueueTest.testOffer SynchronousQueueTest.testAdd",
      "SynchronousQueueTest.testOffer_fair SynchronousQueueTest.testAdd_fair")

static void put_is_interruptible(enum kind kind)
{
    struct fixture f;
    struct call put;

    fixture_open_queue(&f, kind, 0);
    CHECK_INTERRUPTED(hora_queue_put(f.queue, item(0)), NULL);
    start_put(&put, &f, item(0));
    CHECK_INTERRUPTIBLE(&put);
    CHECK_INT(hora_queue_remaining_capacity(f.queue), 0);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(put_is_interruptible, "SynchronousQueueTest.testBlockingPut",
      "SynchronousQueueTest.testBlockingPut_fair")

static void put_waits_for_a_take(enum kind kind)
{
    struct fixture f;
    struct call put;
    void *got = untouched;

    fixture_open_queue(&f, kind, 0);
    start_put(&put, &f, item(0));
    CHECK_BLOCKED(&put);
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK_POINTER(got, item(0));
    CHECK_RETURNS(&put, 0);
    CHECK_INTERRUPTED(hora_queue_put(f.queue, item(1)), NULL);
    start_put(&put, &f, item(1));
    CHECK_INTERRUPTIBLE(&put);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(put_waits_for_a_take, "SynchronousQueueTest.testPutWithTake",
      "SynchronousQueueTest.testPutWithTake_fair")

static void offer_for_times_out_or_is_interrupted(enum kind kind)
{
    struct fixture f;
    struct call offer;

    fixture_open_queue(&f, kind, 0);
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_queue_offer_for(f.queue, item(0), expired[i]), HORA_ETIMEDOUT);
    start_offer_for(&offer, &f, item(0), A_WHILE);
    CHECK_TIMES_OUT(&offer, A_WHILE);
    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_queue_offer_for(f.queue, item(0), any_timeout[i]), NULL);
    start_offer_for(&offer, &f, item(0), 2 * A_LONG_WHILE);
    CHECK_INTERRUPTIBLE(&offer);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(offer_for_times_out_or_is_interrupted, "SynchronousQueueTest.testTimedOffer",
      "SynchronousQueueTest.testTimedOffer")

/* poll takes only from a thread that waits to put. */
static void poll_needs_a_waiting_putter(enum kind kind)
{
    struct fixture f;
    struct call put;

    fixture_open_queue(&f, kind, 0);
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    start_put(&put, &f, item(0));
    CHECK_BLOCKED(&put);
    CHECK_POLL(f.queue, item(0));
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    CHECK_RETURNS(&put, 0);
    fixture_close(&f);
}
MODES(poll_needs_a_waiting_putter, "SynchronousQueueTest.testPoll SynchronousQueueTest.testRemove",
      "SynchronousQueueTest.testPoll_fair SynchronousQueueTest.testRemove_fair")

static void poll_for_zero_does_not_wait(enum kind kind)
{
    struct fixture f;
    struct call put;
    void *got = untouched;

    fixture_open_queue(&f, kind, 0);
    CHECK_ERROR(hora_queue_poll_for(f.queue, 0, &got), HORA_ETIMEDOUT);
    CHECK_POINTER(got, untouched);
    start_put(&put, &f, item(0));
    CHECK_BLOCKED(&put);
    CHECK_OK(hora_queue_poll_for(f.queue, 0, &got));
    CHECK_POINTER(got, item(0));
    CHECK_RETURNS(&put, 0);
    fixture_close(&f);
}
MODES(poll_for_zero_does_not_wait, "SynchronousQueueTest.testTimedPoll0",
      "SynchronousQueueTest.testTimedPoll0_fair")

static void poll_for_times_out(enum kind kind)
{
    struct fixture f;
    struct call poll;

    fixture_open_queue(&f, kind, 0);
    start_poll_for(&poll, &f, A_WHILE);
    CHECK_TIMES_OUT(&poll, A_WHILE);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(poll_for_times_out, "SynchronousQueueTest.testTimedPoll", "SynchronousQueueTest.testTimedPoll")

static void poll_for_meets_a_timed_offer(enum kind kind)
{
    struct fixture f;
    struct call poll, offer;
    void *got = untouched;

    fixture_open_queue(&f, kind, 0);
    start_poll_for(&poll, &f, A_WHILE);
    CHECK_TIMES_OUT(&poll, A_WHILE);
    start_poll_for(&poll, &f, A_LONG_WHILE);
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
MODES(poll_for_meets_a_timed_offer, "SynchronousQueueTest.testTimedPollWithOffer",
      "SynchronousQueueTest.testTimedPollWithOffer")

static int never_called(void *element, void *context)
{
    (void)element;
    (void)context;
    return 1;
}

/* By no way of looking, although its putter waits; size and room stay 0 as well. */
static void element_of_a_waiting_put_is_not_seen(enum kind kind)
{
    struct fixture f;
    struct call put;
    void *got = untouched;
    void *items[2] = {untouched, untouched};

    fixture_open_queue(&f, kind, 0);
    for (int waiting = 0; waiting < 2; waiting++) {
        if (waiting) {
            start_put(&put, &f, item(0));
            CHECK_BLOCKED(&put);
        }
        CHECK_ERROR(hora_queue_peek(f.queue, &got), HORA_EEMPTY);
        CHECK_POINTER(got, untouched);
        CHECK_INT(hora_queue_contains(f.queue, item(0)), 0);
        CHECK_INT(hora_queue_remove(f.queue, item(0)), 0);
        CHECK_INT(hora_queue_size(f.queue), 0);
        CHECK_INT(hora_queue_remaining_capacity(f.queue), 0);
        CHECK_INT(hora_queue_snapshot(f.queue, NULL, 0), 0);
        CHECK_INT(hora_queue_snapshot(f.queue, items, 2), 0);
        CHECK_POINTER(items[0], NULL);
        CHECK_POINTER(items[1], untouched);
        CHECK_ERROR(hora_queue_snapshot(f.queue, NULL, 1), HORA_EINVAL);
        CHECK_OK(hora_queue_for_each(f.queue, never_called, NULL));
    }
    CHECK_POLL(f.queue, item(0));
    CHECK_RETURNS(&put, 0);
    fixture_close(&f);
}
MODES(element_of_a_waiting_put_is_not_seen,
      "SynchronousQueueTest.testPeek SynchronousQueueTest.testElement SynchronousQueueTest.testContains "
      "SynchronousQueueTest.testToArray SynchronousQueueTest.testToArray2 "
      "SynchronousQueueTest.testToArray_null "
      "SynchronousQueueTest.testIterator",
      "SynchronousQueueTest.testPeek_fair SynchronousQueueTest.testElement_fair "
      "SynchronousQueueTest.testContains_fair "
      "SynchronousQueueTest.testToArray_fair SynchronousQueueTest.testToArray2_fair "
      "SynchronousQueueTest.testToArray_null_fair SynchronousQueueTest.testIterator_fair")

static void clear_does_nothing(enum kind kind)
{
    struct fixture f;
    struct call put;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_EMPTY(f.queue);
    start_put(&put, &f, item(0));
    CHECK_BLOCKED(&put);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_BLOCKED(&put);
    CHECK_POLL(f.queue, item(0));
    CHECK_RETURNS(&put, 0);
    fixture_close(&f);
}
MODES(clear_does_nothing, "SynchronousQueueTest.testClear", "SynchronousQueueTest.testClear_fair")

static void offer_for_waits_for_a_take(enum kind kind)
{
    struct fixture f;
    struct call offer;
    void *got = untouched;

    fixture_open_queue(&f, kind, 0);
    CHECK_ERROR(hora_queue_offer(f.queue, item(0)), HORA_EFULL);
    start_offer_for(&offer, &f, item(0), A_LONG_WHILE);
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK_POINTER(got, item(0));
    CHECK_RETURNS(&offer, 0);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(offer_for_waits_for_a_take, "SynchronousQueueTest.testOfferInExecutor",
      "SynchronousQueueTest.testOfferInExecutor_fair")

MODES(poll_for_gets_what_another_thread_puts, "SynchronousQueueTest.testPollInExecutor",
      "SynchronousQueueTest.testPollInExecutor_fair")
MODES(never_contains_null, "SynchronousQueueTest.testNeverContainsNull",
      "SynchronousQueueTest.testNeverContainsNull")

static void drain_without_putters_moves_nothing(enum kind kind)
{
    struct fixture f;
    void *items[1] = {untouched};

    fixture_open_queue(&f, kind, 0);
    CHECK_INT(hora_queue_drain(f.queue, items, 1), 0);
    CHECK_POINTER(items[0], untouched);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(drain_without_putters_moves_nothing, "SynchronousQueueTest.testDrainTo",
      "SynchronousQueueTest.testDrainTo_fair")

/* A drain before the putter waits may find nothing; once the putter waits, it does not. */
static void drain_takes_from_a_waiting_put(enum kind kind)
{
    struct fixture f;
    struct call put;
    void *items[2] = {untouched, untouched};

    fixture_open_queue(&f, kind, 0);
    start_put(&put, &f, item(0));
    if (hora_queue_drain(f.queue, items, 2) == 0) {
        CHECK_BLOCKED(&put);
        CHECK_INT(hora_queue_drain(f.queue, items, 2), 1);
    }
    CHECK_POINTER(items[0], item(0));
    CHECK_POINTER(items[1], untouched);
    CHECK_RETURNS(&put, 0);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(drain_takes_from_a_waiting_put, "SynchronousQueueTest.testDrainToWithActivePut",
      "SynchronousQueueTest.testDrainToWithActivePut_fair")

/* Two waiting puts, drained one by one or both at once: in the order of takes, in the unfair mode the latest
 * first. */
static void drain_takes_from_several_waiting_puts(enum kind kind)
{
    bool fair = kind == SYNCHRONOUS_FAIR;

    for (int max = 1; max <= 2; max++) {
        struct fixture f;
        struct call puts[2];
        void *items[2] = {untouched, untouched};

        fixture_open_queue(&f, kind, 0);
        for (int i = 0; i < 2; i++) {
            start_put(&puts[i], &f, item(i));
            CHECK_BLOCKED(&puts[i]);
        }
        CHECK_INT(hora_queue_drain(f.queue, items, max), max);
        if (max == 1)
            CHECK_INT(hora_queue_drain(f.queue, items + 1, max), 1);
        CHECK_POINTER(items[0], item(fair ? 0 : 1));
        CHECK_POINTER(items[1], item(fair ? 1 : 0));
        for (int i = 0; i < 2; i++)
            CHECK_RETURNS(&puts[i], 0);
        CHECK_EMPTY(f.queue);
        fixture_close(&f);
    }
}
MODES(drain_takes_from_several_waiting_puts, "SynchronousQueueTest.testDrainToN",
      "SynchronousQueueTest.testDrainToN")

/* ---- many threads ---- */

enum { CROWD = 250 };

static struct element pool_view[CROWD];

/* As many producers as consumers: all calls succeed, each element passes once, and nothing is left. */
static void crowd_meets_and_leaves_nothing(enum kind kind)
{
    static struct call puts[CROWD], takes[CROWD];
    int size = test_simulated() ? 4 : CROWD;
    struct fixture f;

    fixture_open_queue(&f, kind, 0);
    for (int i = 0; i < size; i++) {
        pool_view[i].value = 0;
        start_put(&puts[i], &f, &pool_view[i]);
        start_take(&takes[i], &f);
    }
    for (int i = 0; i < size; i++) {
        CHECK_RETURNS(&puts[i], 0);
        CHECK_RETURNS(&takes[i], 0);
        if (takes[i].result == 0)
            ((struct element *)takes[i].item)->value++;
    }
    for (int i = 0; i < size; i++)
        CHECK_INT(pool_view[i].value, 1);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(crowd_meets_and_leaves_nothing, "SynchronousQueue20Test.testUnfairDoesntLeak",
      "SynchronousQueue20Test.testFairDoesntLeak")

/* ---- unambiguous ends ---- */

/* The timeout expires while a partner arrives: either both succeed or both time out. */
static void match_and_timeout_exclude_each_other(enum kind kind)
{
    struct fixture f;
    struct call offer, poll;

    fixture_open_queue(&f, kind, 0);
    start_offer_for(&offer, &f, item(0), A_WHILE);
    start_poll_for(&poll, &f, A_WHILE);
    advance(&f, A_WHILE);
    settle(&f);
    advance(&f, A_WHILE);
    if (RESULT_OF(&offer) == 0) {
        CHECK_TAKES(&poll, item(0));
    } else {
        CHECK_ERROR(offer.result, HORA_ETIMEDOUT);
        CHECK_RETURNS(&poll, HORA_ETIMEDOUT);
    }
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(match_and_timeout_exclude_each_other, "CP-Q2", "CP-Q2")

/* The putter is interrupted while a taker arrives: the element is handed over or stays, and both calls
 * agree. */
static void match_and_interrupt_exclude_each_other(enum kind kind)
{
    struct fixture f;
    struct call put, poll;

    fixture_open_queue(&f, kind, 0);
    start_put(&put, &f, item(0));
    start_poll_for(&poll, &f, A_WHILE);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(put.thread)));
    if (RESULT_OF(&put) == 0) {
        CHECK_TAKES(&poll, item(0));
    } else {
        CHECK_ERROR(put.result, HORA_EINTERRUPTED);
        CHECK(!put.interrupted);
        CHECK_TIMES_OUT(&poll, A_WHILE);
    }
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(match_and_interrupt_exclude_each_other, "CP-Q2", "CP-Q2")

/* The taker is interrupted while the element arrives: then either the taker has it, or the putter still
 * does. */
static void offer_and_interrupt_of_the_taker_exclude_each_other(enum kind kind)
{
    struct fixture f;
    struct call take;
    int offered;

    fixture_open_queue(&f, kind, 0);
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(take.thread)));
    offered = hora_queue_offer(f.queue, item(0));
    if (RESULT_OF(&take) == 0) {
        CHECK_OK(offered);
        CHECK_POINTER(take.item, item(0));
        CHECK(take.interrupted);
    } else {
        CHECK_ERROR(take.result, HORA_EINTERRUPTED);
        CHECK_ERROR(offered, HORA_EFULL);
        CHECK_POINTER(take.item, untouched);
        CHECK(!take.interrupted);
    }
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
MODES(offer_and_interrupt_of_the_taker_exclude_each_other, "CP-Q2", "CP-Q2")
