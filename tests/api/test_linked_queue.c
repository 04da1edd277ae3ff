/* SPDX-License-Identifier: Apache-2.0 */
/* test_linked_queue.c - the linked queue, with and without a bound */
#include "rows.h"

#define ROW(promise, rows) SHARED(linked, LINKED, promise, rows)

ROW(is_full_at_its_capacity, "LinkedBlockingQueueTest.testEmptyFull")
ROW(size_and_room_make_up_the_capacity, "LinkedBlockingQueueTest.testRemainingCapacity")
ROW(offer_refuses_when_full, "LinkedBlockingQueueTest.testOffer")
ROW(add_refuses_beyond_the_capacity, "LinkedBlockingQueueTest.testAdd")
ROW(put_inserts_each_element, "LinkedBlockingQueueTest.testPut")
ROW(put_on_full_is_interruptible, "LinkedBlockingQueueTest.testBlockingPut")
ROW(put_goes_on_after_a_take, "LinkedBlockingQueueTest.testPutWithTake")
ROW(offer_for_on_full_times_out_or_is_interrupted, "LinkedBlockingQueueTest.testTimedOffer")
ROW(take_gives_all_in_order, "LinkedBlockingQueueTest.testTake")
ROW(take_is_interruptible, "LinkedBlockingQueueTest.testBlockingTake")
ROW(poll_gives_all_in_order, "LinkedBlockingQueueTest.testPoll LinkedBlockingQueueTest.testRemove")
ROW(poll_for_zero_is_poll, "LinkedBlockingQueueTest.testTimedPoll0")
ROW(poll_for_takes_at_once_or_times_out, "LinkedBlockingQueueTest.testTimedPoll")
ROW(poll_for_is_interruptible, "LinkedBlockingQueueTest.testInterruptedTimedPoll")
ROW(peek_shows_the_head_and_keeps_it, "LinkedBlockingQueueTest.testPeek LinkedBlockingQueueTest.testElement")
ROW(contains_knows_what_is_inside, "LinkedBlockingQueueTest.testContains")
ROW(clear_empties_and_the_queue_goes_on, "LinkedBlockingQueueTest.testClear")
ROW(snapshot_copies_all, "LinkedBlockingQueueTest.testToArray LinkedBlockingQueueTest.testToArray2")
ROW(for_each_visits_all, "LinkedBlockingQueueTest.testIterator")
ROW(for_each_of_an_empty_queue_visits_nothing, "LinkedBlockingQueueTest.testEmptyIterator")
ROW(visitor_may_remove_what_it_sees, "LinkedBlockingQueueTest.testIteratorRemove")
ROW(for_each_keeps_the_order, "LinkedBlockingQueueTest.testIteratorOrdering")
ROW(visitor_may_empty_the_queue, "LinkedBlockingQueueTest.testWeaklyConsistentIteration")
ROW(offer_for_gets_the_room_of_a_take, "LinkedBlockingQueueTest.testOfferInExecutor")
ROW(poll_for_gets_what_another_thread_puts, "LinkedBlockingQueueTest.testPollInExecutor")
ROW(drain_moves_all_in_order, "LinkedBlockingQueueTest.testDrainTo")
ROW(drain_and_a_concurrent_put_lose_nothing, "LinkedBlockingQueueTest.testDrainToWithActivePut")
ROW(drain_lets_a_waiting_put_in, "LinkedBlockingQueueTest.testDrainToWithActivePut")
ROW(drain_moves_at_most_max, "LinkedBlockingQueueTest.testDrainToN")
ROW(remove_takes_the_first_of_several, "")
ROW(never_contains_null, "LinkedBlockingQueueTest.testNeverContainsNull")

SHARED(unbounded_linked, LINKED_UNBOUNDED, offer_always_succeeds, "")
SHARED(unbounded_linked, LINKED_UNBOUNDED, inserting_never_waits, "")

TEST(linked_has_room_for_its_capacity_or_no_bound, "LinkedBlockingQueueTest.testConstructor1")
{
    hora_queue *queue;

    CHECK_OK(hora_queue_new_linked(SIZE, NULL, &queue, NULL));
    CHECK_INT(hora_queue_remaining_capacity(queue), SIZE);
    CHECK_EMPTY(queue);
    CHECK_OK(hora_queue_free(queue));
    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    CHECK_INT(hora_queue_remaining_capacity(queue), INT_MAX);
    CHECK_EMPTY(queue);
    CHECK_OK(hora_queue_offer(queue, item(0)));
    CHECK_INT(hora_queue_remaining_capacity(queue), INT_MAX - 1);
    CHECK_OK(hora_queue_free(queue));
}

TEST(linked_capacity_must_be_positive, "LinkedBlockingQueueTest.testConstructor2")
{
    static const int capacities[] = {0, -1, INT_MIN};
    hora_queue *queue = (hora_queue *)untouched;

    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_queue_new_linked(capacities[i], NULL, &queue, NULL), HORA_EINVAL);
    CHECK_POINTER(queue, untouched);
}

/* Removing the last element moves the tail back, so that an element that is added then can be found. */
TEST(linked_remove_of_the_last_keeps_the_tail_right, "LinkedBlockingQueueTest.testRemoveElementAndAdd CP-Q3")
{
    struct fixture f;
    void *got = untouched;

    fixture_open_queue(&f, LINKED_UNBOUNDED, SIZE);
    CHECK_OK(hora_queue_offer(f.queue, item(1)));
    CHECK_OK(hora_queue_offer(f.queue, item(2)));
    CHECK_INT(hora_queue_remove(f.queue, item(1)), 1);
    CHECK_INT(hora_queue_remove(f.queue, item(2)), 1);
    CHECK_OK(hora_queue_offer(f.queue, item(3)));
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK_POINTER(got, item(3));

    fill(&f, 3);
    CHECK_INT(hora_queue_remove(f.queue, item(2)), 1);
    CHECK_OK(hora_queue_offer(f.queue, item(4)));
    CHECK_POLL(f.queue, item(0));
    CHECK_POLL(f.queue, item(1));
    CHECK_POLL(f.queue, item(4));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
