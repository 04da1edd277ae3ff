/* SPDX-License-Identifier: Apache-2.0 */
/* test_array_queue.c - the bounded queue in an array */
#include "rows.h"

#define ROW(promise, rows) SHARED(array, ARRAY, promise, rows)

ROW(is_full_at_its_capacity, "ArrayBlockingQueueTest.testEmptyFull")
ROW(size_and_room_make_up_the_capacity, "ArrayBlockingQueueTest.testRemainingCapacity")
ROW(offer_refuses_when_full, "ArrayBlockingQueueTest.testOffer")
ROW(add_refuses_beyond_the_capacity, "ArrayBlockingQueueTest.testAdd")
ROW(put_inserts_each_element, "ArrayBlockingQueueTest.testPut")
ROW(put_on_full_is_interruptible, "ArrayBlockingQueueTest.testBlockingPut")
ROW(put_goes_on_after_a_take, "ArrayBlockingQueueTest.testPutWithTake")
ROW(offer_for_on_full_times_out_or_is_interrupted, "ArrayBlockingQueueTest.testTimedOffer")
ROW(take_gives_all_in_order, "ArrayBlockingQueueTest.testTake")
ROW(take_is_interruptible, "ArrayBlockingQueueTest.testBlockingTake")
ROW(poll_gives_all_in_order, "ArrayBlockingQueueTest.testPoll ArrayBlockingQueueTest.testRemove")
ROW(poll_for_zero_is_poll, "ArrayBlockingQueueTest.testTimedPoll0")
ROW(poll_for_takes_at_once_or_times_out, "ArrayBlockingQueueTest.testTimedPoll")
ROW(poll_for_is_interruptible, "ArrayBlockingQueueTest.testInterruptedTimedPoll")
ROW(peek_shows_the_head_and_keeps_it, "ArrayBlockingQueueTest.testPeek ArrayBlockingQueueTest.testElement")
ROW(contains_knows_what_is_inside, "ArrayBlockingQueueTest.testContains")
ROW(clear_empties_and_the_queue_goes_on, "ArrayBlockingQueueTest.testClear")
ROW(snapshot_copies_all, "ArrayBlockingQueueTest.testToArray")
ROW(for_each_visits_all, "ArrayBlockingQueueTest.testIterator")
ROW(for_each_of_an_empty_queue_visits_nothing, "ArrayBlockingQueueTest.testEmptyIterator")
ROW(visitor_may_remove_what_it_sees, "ArrayBlockingQueueTest.testIteratorRemove")
ROW(for_each_keeps_the_order, "ArrayBlockingQueueTest.testIteratorOrdering")
ROW(visitor_may_empty_the_queue, "ArrayBlockingQueueTest.testWeaklyConsistentIteration")
ROW(offer_for_gets_the_room_of_a_take, "ArrayBlockingQueueTest.testOfferInExecutor")
ROW(poll_for_gets_what_another_thread_puts, "ArrayBlockingQueueTest.testPollInExecutor")
ROW(drain_moves_all_in_order, "ArrayBlockingQueueTest.testDrainTo")
ROW(drain_and_a_concurrent_put_lose_nothing, "ArrayBlockingQueueTest.testDrainToWithActivePut")
ROW(drain_lets_a_waiting_put_in, "ArrayBlockingQueueTest.testDrainToWithActivePut")
ROW(drain_moves_at_most_max, "ArrayBlockingQueueTest.testDrainToN")
ROW(remove_takes_the_first_of_several, "")
ROW(never_contains_null, "ArrayBlockingQueueTest.testNeverContainsNull")

TEST(array_has_room_for_its_capacity, "ArrayBlockingQueueTest.testConstructor1")
{
    hora_queue *queue;

    CHECK_OK(hora_queue_new_array(SIZE, NULL, &queue, NULL));
    CHECK_INT(hora_queue_remaining_capacity(queue), SIZE);
    CHECK_EMPTY(queue);
    CHECK_OK(hora_queue_free(queue));
    CHECK_OK(hora_queue_new_array(SIZE, HORA_QUEUE_OPTIONS(.fair = true), &queue, NULL));
    CHECK_INT(hora_queue_remaining_capacity(queue), SIZE);
    CHECK_OK(hora_queue_free(queue));
}

TEST(array_capacity_must_be_positive, "ArrayBlockingQueueTest.testConstructor_nonPositiveCapacity")
{
    static const int capacities[] = {0, -1, INT_MIN};
    hora_queue *queue = (hora_queue *)untouched;

    for (int i = 0; i < 3; i++) {
        CHECK_ERROR(hora_queue_new_array(capacities[i], NULL, &queue, NULL), HORA_EINVAL);
        CHECK_ERROR(hora_queue_new_array(capacities[i], HORA_QUEUE_OPTIONS(.fair = false), &queue, NULL),
                    HORA_EINVAL);
        CHECK_ERROR(hora_queue_new_array(capacities[i], HORA_QUEUE_OPTIONS(.fair = true), &queue, NULL),
                    HORA_EINVAL);
    }
    CHECK_POINTER(queue, untouched);
}

/* Interior removal at every position of the ring, wherever it starts. */
TEST(array_remove_closes_the_gap_across_the_end_of_the_ring, "")
{
    enum { CAPACITY = 5 };
    struct fixture f;

    fixture_open_queue(&f, ARRAY, CAPACITY);
    for (int start = 0; start < CAPACITY; start++) {
        for (int victim = 0; victim < CAPACITY; victim++) {
            fill(&f, CAPACITY);
            CHECK_INT(hora_queue_remove(f.queue, item(victim)), 1);
            CHECK_OK(hora_queue_offer(f.queue, item(CAPACITY)));
            CHECK_ERROR(hora_queue_offer(f.queue, item(CAPACITY + 1)), HORA_EFULL);
            for (int i = 0; i <= CAPACITY; i++) {
                if (i != victim)
                    CHECK_POLL(f.queue, item(i));
            }
            CHECK_EMPTY(f.queue);
        }
        CHECK_OK(hora_queue_offer(f.queue, item(0)));
        CHECK_POLL(f.queue, item(0));
    }
    fixture_close(&f);
}
