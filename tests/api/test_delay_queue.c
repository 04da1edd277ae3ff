/* SPDX-License-Identifier: Apache-2.0 */
/* test_delay_queue.c - the queue whose elements can be taken once they are due */
#include "rows.h"

#define ROW(promise, rows)              \
    SHARED(delay, DELAY, promise, rows) \
    SHARED(asked_delay, DELAY_ASKED, promise, rows)

ROW(empties_after_as_many_polls_as_puts, "DelayQueueTest.testEmpty")
ROW(room_is_always_unbounded, "DelayQueueTest.testRemainingCapacity")
ROW(offer_always_succeeds, "DelayQueueTest.testOffer")
ROW(add_makes_the_size_grow, "DelayQueueTest.testAdd")
ROW(put_inserts_each_element, "DelayQueueTest.testPut")
ROW(inserting_never_waits, "DelayQueueTest.testPutWithTake DelayQueueTest.testTimedOffer")
ROW(take_gives_all_in_order, "DelayQueueTest.testTake")
ROW(take_is_interruptible, "DelayQueueTest.testBlockingTake")
ROW(poll_gives_all_in_order, "DelayQueueTest.testPoll DelayQueueTest.testRemove")
ROW(poll_for_zero_is_poll, "DelayQueueTest.testTimedPoll0")
ROW(poll_for_takes_at_once_or_times_out, "DelayQueueTest.testTimedPoll")
ROW(poll_for_is_interruptible, "DelayQueueTest.testInterruptedTimedPoll")
ROW(peek_shows_the_head_and_keeps_it, "DelayQueueTest.testPeek DelayQueueTest.testElement")
ROW(contains_knows_what_is_inside, "DelayQueueTest.testContains")
ROW(clear_empties_and_the_queue_goes_on, "DelayQueueTest.testClear")
ROW(snapshot_copies_all, "DelayQueueTest.testToArray DelayQueueTest.testToArray2")
ROW(for_each_visits_all, "")
ROW(for_each_of_an_empty_queue_visits_nothing, "DelayQueueTest.testEmptyIterator")
ROW(visitor_may_remove_what_it_sees, "DelayQueueTest.testIteratorRemove")
ROW(poll_for_gets_what_another_thread_puts, "DelayQueueTest.testPollInExecutor")
ROW(drain_moves_all_in_order, "DelayQueueTest.testDrainTo")
ROW(drain_and_a_concurrent_put_lose_nothing, "DelayQueueTest.testDrainToWithActivePut")
ROW(drain_moves_at_most_max, "DelayQueueTest.testDrainToN")
ROW(never_contains_null, "DelayQueueTest.testNeverContainsNull")

TEST(delay_has_no_bound, "DelayQueueTest.testConstructor1")
{
    hora_queue *queue;

    CHECK_OK(hora_queue_new_delay(NULL, &queue, NULL));
    CHECK_INT(hora_queue_remaining_capacity(queue), INT_MAX);
    CHECK_EMPTY(queue);
    CHECK_OK(hora_queue_free(queue));
}

static int count_element(void *element, void *context)
{
    int *counts = context;

    counts[((struct element *)element)->value]++;
    return 0;
}

/* Due or not. */
static void for_each_sees_what_is_not_due(enum kind kind)
{
    struct fixture f;
    int counts[SIZE] = {0};

    fixture_open_queue(&f, kind, 0);
    for (int i = 0; i < SIZE; i++)
        CHECK_OK(insert(&f, due_in(&f, i, HORA_MS(SIZE / 2 - i))));
    CHECK_OK(hora_queue_for_each(f.queue, count_element, counts));
    for (int i = 0; i < SIZE; i++)
        CHECK_INT(counts[i], 1);
    CHECK_INT(hora_queue_size(f.queue), SIZE);
    fixture_close(&f);
}
ROW(for_each_sees_what_is_not_due, "DelayQueueTest.testIterator")

/* Takes SIZE elements, each at the very moment when it is due. */
static int take_each_in_time(struct call *call)
{
    hora_ns last = 0;

    for (int i = 0; i < SIZE; i++) {
        void *got = untouched;
        int error = hora_queue_take(call->object, &got);
        if (error < 0)
            return error;
        const struct element *e = got;
        CHECK_INT(e->due, hora_clock_now(call->fixture->view));
        CHECK(e->due >= last);
        last = e->due;
    }
    return 0;
}

static void elements_are_taken_exactly_when_due(enum kind kind)
{
    struct fixture f;
    struct call call = {.run = take_each_in_time};
    hora_ns by;

    fixture_open_queue(&f, kind, 0);
    call.object = f.queue;
    for (int i = 0; i < SIZE; i++)
        CHECK_OK(insert(&f, due_in(&f, i, HORA_MS(SIZE - i))));
    start_call(&call, &f);
    for (int i = 0; i < SIZE; i++) {
        CHECK_BLOCKED(&call);
        CHECK_INT(hora_queue_size(f.queue), SIZE - i);
        CHECK_OK(hora_virtual_clock_advance_to_next(f.clock, &by));
        CHECK_INT(by, HORA_MS(1));
    }
    CHECK_RETURNS(&call, 0);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
ROW(elements_are_taken_exactly_when_due, "DelayQueueTest.testDelay")

/* On the machine's own clock, in a random order of insertion. */
TEST_REAL(delay_never_gives_an_element_early, "DelayQueueTest.testDelay")
{
    enum { COUNT = 10 };
    hora_queue *queue;
    struct element some[COUNT];
    hora_ns last = 0;

    CHECK_OK(hora_queue_new_delay(NULL, &queue, NULL));
    for (int i = 0; i < COUNT; i++) {
        some[i].due = hora_clock_now(NULL) + HORA_US(test_random(20000));
        CHECK_OK(hora_queue_put_at(queue, &some[i], some[i].due));
    }
    for (int i = 0; i < COUNT; i++) {
        void *got = untouched;
        CHECK_OK(hora_queue_take(queue, &got));
        const struct element *e = got;
        CHECK(hora_clock_now(NULL) >= e->due);
        CHECK(e->due >= last);
        last = e->due;
    }
    CHECK_EMPTY(queue);
    CHECK_OK(hora_queue_free(queue));
}

/* Due in the longest time there is: seen by peek, never given out; nothing overflows. */
TEST(delay_peek_sees_what_is_never_due,
     "DelayQueueTest.testPeekDelayed DelayQueueTest.testPollDelayed CP-DQ6")
{
    struct fixture f;

    fixture_open_queue(&f, DELAY, 0);
    CHECK_OK(hora_queue_put_delayed(f.queue, item(0), INT64_MAX));
    CHECK_PEEK(f.queue, item(0));
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    advance(&f, INT64_MAX);
    CHECK_PEEK(f.queue, item(0));
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    CHECK_INT(hora_queue_size(f.queue), 1);
    fixture_close(&f);
}

static hora_ns remaining_forever(const void *element, void *context)
{
    (void)element;
    (void)context;
    return INT64_MAX;
}

TEST(asked_delay_peek_sees_what_is_never_due,
     "DelayQueueTest.testPeekDelayed DelayQueueTest.testPollDelayed CP-DQ6")
{
    struct fixture f;
    struct call call;

    fixture_open(&f);
    CHECK_OK(hora_queue_new_delay(HORA_QUEUE_OPTIONS(.remaining = remaining_forever, .clock = f.view),
                                  &f.queue, NULL));
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    CHECK_PEEK(f.queue, item(0));
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    start_poll_for(&call, &f, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    fixture_close(&f);
}

static void poll_for_times_out_before_the_head_is_due(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, A_LONG_WHILE)));
    start_poll_for(&call, &f, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    CHECK_INT(hora_queue_size(f.queue), 1);
    fixture_close(&f);
}
ROW(poll_for_times_out_before_the_head_is_due, "DelayQueueTest.testTimedPollDelayed")

/* Elements 0 and 1 are due, 2 and 3 are not. */
static void open_half_due(struct fixture *f, enum kind kind)
{
    fixture_open_queue(f, kind, 0);
    CHECK_OK(insert(f, due_in(f, 3, 2)));
    CHECK_OK(insert(f, due_in(f, 1, 0)));
    CHECK_OK(insert(f, due_in(f, 2, 1)));
    CHECK_OK(insert(f, due_in(f, 0, -1)));
}

static void examining_sees_all_taking_only_what_is_due(enum kind kind)
{
    struct fixture f;
    void *items[5], *got = untouched;

    open_half_due(&f, kind);
    CHECK_PEEK(f.queue, item(0));
    CHECK_INT(hora_queue_size(f.queue), 4);
    CHECK_INT(hora_queue_contains(f.queue, item(3)), 1);
    CHECK_INT(hora_queue_snapshot(f.queue, items, 5), 4);
    CHECK_POLL(f.queue, item(0));
    CHECK_OK(hora_queue_poll_for(f.queue, 0, &got));
    CHECK_POINTER(got, item(1));

    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    CHECK_ERROR(hora_queue_poll_for(f.queue, 0, &got), HORA_ETIMEDOUT);
    CHECK_INT(hora_queue_drain(f.queue, items, 5), 0);
    CHECK_PEEK(f.queue, item(2));
    CHECK_INT(hora_queue_remove(f.queue, item(3)), 1);
    CHECK_INT(hora_queue_size(f.queue), 1);
    advance(&f, 1);
    CHECK_POLL(f.queue, item(2));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
ROW(examining_sees_all_taking_only_what_is_due, "CP-DQ1")

static void drain_stops_at_the_first_that_is_not_due(enum kind kind)
{
    struct fixture f;
    void *items[5] = {untouched, untouched, untouched, untouched, untouched};

    open_half_due(&f, kind);
    CHECK_INT(hora_queue_drain(f.queue, items, 5), 2);
    CHECK_POINTER(items[0], item(0));
    CHECK_POINTER(items[1], item(1));
    CHECK_POINTER(items[2], untouched);
    CHECK_INT(hora_queue_size(f.queue), 2);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
ROW(drain_stops_at_the_first_that_is_not_due, "CP-DQ1")

/* Elements that are due at the same time leave in the order in which they were put, and not mixed with their
 * neighbours. */
static void equal_due_times_leave_in_order_of_arrival(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, 0);
    for (int i = 0; i < SIZE; i++)
        CHECK_OK(insert(&f, due_in(&f, i, i % 2)));
    advance(&f, 1);
    for (int i = 0; i < SIZE; i += 2)
        CHECK_POLL(f.queue, item(i));
    for (int i = 1; i < SIZE; i += 2)
        CHECK_POLL(f.queue, item(i));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
ROW(equal_due_times_leave_in_order_of_arrival, "CP-DQ5")

/* Without compare the elements' own answers decide. */
TEST(asked_delay_without_compare_orders_by_due_time, "")
{
    struct fixture f;

    fixture_open(&f);
    f.kind = DELAY_ASKED;
    CHECK_OK(hora_queue_new_delay(
        HORA_QUEUE_OPTIONS(.remaining = element_remaining, .arg = &f, .clock = f.view), &f.queue, NULL));
    fill(&f, SIZE);
    CHECK_OK(insert(&f, due_in(&f, SIZE, 1)));
    CHECK_POLLS_RANGE(f.queue, 0, SIZE - 1);
    advance(&f, 1);
    CHECK_POLLS_RANGE(f.queue, SIZE, SIZE);
    fixture_close(&f);
}

/* hora_queue_put and offer. */
TEST(delay_plain_put_means_due_now, "")
{
    struct fixture f;

    fixture_open_queue(&f, DELAY, 0);
    CHECK_OK(hora_queue_put_delayed(f.queue, item(2), 1));
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    CHECK_OK(hora_queue_offer(f.queue, item(1)));
    CHECK_POLLS_RANGE(f.queue, 0, 1);
    advance(&f, 1);
    CHECK_POLLS_RANGE(f.queue, 2, 2);
    fixture_close(&f);
}

/* The more negative a delay is, the earlier the element leaves. The extremes neither wrap around nor pass
 * each other. */
TEST(delay_extreme_delays_keep_their_order, "CP-DQ6")
{
    static const hora_ns delays[] = {INT64_MIN, -HORA_HOURS(1), -1, 0};
    struct fixture f;

    fixture_open_queue(&f, DELAY, 0);
    for (int i = 3; i >= 0; i--)
        CHECK_OK(hora_queue_put_delayed(f.queue, item(i), delays[i]));
    CHECK_OK(hora_queue_put_delayed(f.queue, item(10), INT64_MAX));
    CHECK_OK(hora_queue_put_delayed(f.queue, item(11), INT64_MAX - 1));
    CHECK_OK(hora_queue_put_at(f.queue, item(12), INT64_MAX));
    CHECK_OK(hora_queue_put_at(f.queue, item(13), INT64_MIN));
    CHECK_POLL(f.queue, item(13));
    CHECK_POLLS_RANGE(f.queue, 0, 3);
    CHECK_INT(hora_queue_size(f.queue), 3);
    fixture_close(&f);
}

/* With the same pointer inside several times, the one that would leave first goes. */
TEST(delay_remove_takes_the_first_of_several, "")
{
    struct fixture f;

    fixture_open_queue(&f, DELAY, 0);
    CHECK_OK(hora_queue_put_delayed(f.queue, item(0), 10));
    CHECK_OK(hora_queue_put_delayed(f.queue, item(0), 5));
    CHECK_OK(hora_queue_put_delayed(f.queue, item(0), 15));
    CHECK_INT(hora_queue_remove(f.queue, item(0)), 1);
    advance(&f, 9);
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    advance(&f, 1);
    CHECK_POLL(f.queue, item(0));
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    advance(&f, 5);
    CHECK_POLL(f.queue, item(0));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

/* Elements with callbacks decide themselves when they are due; explicit due times are for the other form. */
TEST(delay_put_with_a_due_time_needs_a_delay_queue_without_callbacks, "")
{
    static const enum kind kinds[] = {DELAY_ASKED, LINKED, PRIORITY, ARRAY, SYNCHRONOUS};
    struct fixture f;

    for (int i = 0; i < 5; i++) {
        fixture_open_queue(&f, kinds[i], 1);
        CHECK_ERROR(hora_queue_put_delayed(f.queue, item(0), 0), HORA_EINVAL);
        CHECK_ERROR(hora_queue_put_at(f.queue, item(0), 0), HORA_EINVAL);
        CHECK_EMPTY(f.queue);
        fixture_close(&f);
    }
}
