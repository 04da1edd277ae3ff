/* SPDX-License-Identifier: Apache-2.0 */
/* test_priority_queue.c - the queue whose smallest element leaves first */
#include "rows.h"

#define ROW(promise, rows) SHARED(priority, PRIORITY, promise, rows)

ROW(empties_after_as_many_polls_as_puts, "PriorityBlockingQueueTest.testEmpty")
ROW(room_is_always_unbounded, "PriorityBlockingQueueTest.testRemainingCapacity")
ROW(offer_always_succeeds, "PriorityBlockingQueueTest.testOffer")
ROW(add_makes_the_size_grow, "PriorityBlockingQueueTest.testAdd")
ROW(put_inserts_each_element, "PriorityBlockingQueueTest.testPut")
ROW(inserting_never_waits, "PriorityBlockingQueueTest.testTimedOffer")
ROW(take_gives_all_in_order, "PriorityBlockingQueueTest.testTake")
ROW(take_is_interruptible, "PriorityBlockingQueueTest.testBlockingTake")
ROW(poll_gives_all_in_order, "PriorityBlockingQueueTest.testPoll PriorityBlockingQueueTest.testRemove")
ROW(poll_for_zero_is_poll, "PriorityBlockingQueueTest.testTimedPoll0")
ROW(poll_for_takes_at_once_or_times_out, "PriorityBlockingQueueTest.testTimedPoll")
ROW(poll_for_is_interruptible, "PriorityBlockingQueueTest.testInterruptedTimedPoll")
ROW(peek_shows_the_head_and_keeps_it,
    "PriorityBlockingQueueTest.testPeek PriorityBlockingQueueTest.testElement")
ROW(contains_knows_what_is_inside, "PriorityBlockingQueueTest.testContains")
ROW(clear_empties_and_the_queue_goes_on, "PriorityBlockingQueueTest.testClear")
ROW(snapshot_copies_all, "PriorityBlockingQueueTest.testToArray PriorityBlockingQueueTest.testToArray2")
ROW(for_each_visits_all, "PriorityBlockingQueueTest.testIterator")
ROW(for_each_of_an_empty_queue_visits_nothing, "PriorityBlockingQueueTest.testEmptyIterator")
ROW(visitor_may_remove_what_it_sees, "PriorityBlockingQueueTest.testIteratorRemove")
ROW(poll_for_gets_what_another_thread_puts, "PriorityBlockingQueueTest.testPollInExecutor")
ROW(drain_moves_all_in_order, "PriorityBlockingQueueTest.testDrainTo CP-Q4")
ROW(drain_and_a_concurrent_put_lose_nothing, "PriorityBlockingQueueTest.testDrainToWithActivePut")
ROW(drain_moves_at_most_max, "PriorityBlockingQueueTest.testDrainToN")
ROW(never_contains_null, "PriorityBlockingQueueTest.testNeverContainsNull")

SHARED(small_priority, PRIORITY_SMALL, offer_always_succeeds, "PriorityBlockingQueueTest.testOffer")
SHARED(small_priority, PRIORITY_SMALL, inserting_never_waits, "PriorityBlockingQueueTest.testPutWithTake")
SHARED(small_priority, PRIORITY_SMALL, poll_gives_all_in_order, "")
SHARED(small_priority, PRIORITY_SMALL, drain_moves_all_in_order, "")

/* By value, downwards if the context says so. */
static int compare_in_direction(const void *a, const void *b, void *context)
{
    const struct element *x = a, *y = b;
    const int *direction = context;

    return *direction * ((x->value > y->value) - (x->value < y->value));
}

static int up = 1, down = -1;

TEST(priority_has_no_bound, "PriorityBlockingQueueTest.testConstructor1")
{
    hora_queue *queue;

    CHECK_OK(hora_queue_new_priority(SIZE, HORA_QUEUE_OPTIONS(.compare = compare_in_direction, .arg = &up),
                                     &queue, NULL));
    CHECK_INT(hora_queue_remaining_capacity(queue), INT_MAX);
    CHECK_EMPTY(queue);
    CHECK_OK(hora_queue_free(queue));
}

/* 0 is the default here. */
TEST(priority_initial_capacity_must_not_be_negative, "PriorityBlockingQueueTest.testConstructor2")
{
    static const int capacities[] = {-1, INT_MIN};
    hora_queue *queue = (hora_queue *)untouched;

    for (int i = 0; i < 2; i++) {
        hora_error reason;
        CHECK_ERROR(hora_queue_new_priority(
                        capacities[i], HORA_QUEUE_OPTIONS(.compare = compare_in_direction), &queue, &reason),
                    HORA_EINVAL);
        CHECK_REFUSAL(&reason, HORA_EINVAL, NULL, "capacity");
    }
    CHECK_POINTER(queue, untouched);
    CHECK_OK(hora_queue_new_priority(0, HORA_QUEUE_OPTIONS(.compare = compare_in_direction), &queue, NULL));
    CHECK_OK(hora_queue_free(queue));
}

TEST(priority_keeps_its_comparator_and_obeys_it, "PriorityBlockingQueueTest.testConstructor7")
{
    struct fixture f;

    fixture_open(&f);
    CHECK_OK(hora_queue_new_priority(SIZE, HORA_QUEUE_OPTIONS(.compare = compare_in_direction, .arg = &down),
                                     &f.queue, NULL));
    CHECK(hora_queue_comparator(f.queue) == compare_in_direction);
    f.kind = PRIORITY;
    fill(&f, SIZE);
    for (int i = SIZE - 1; i >= 0; i--)
        CHECK_POLL(f.queue, item(i));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

TEST(priority_comparator_of_another_kind_is_null, "")
{
    hora_queue *queue;

    CHECK_OK(hora_queue_new_linked(1, NULL, &queue, NULL));
    CHECK(hora_queue_comparator(queue) == NULL);
    CHECK_OK(hora_queue_free(queue));
    CHECK(hora_queue_comparator(NULL) == NULL);
}

/* Elements of equal rank leave in the order in which they were put, also when others between them are
 * removed. */
TEST(priority_is_stable_among_equals, "CP-Q4")
{
    enum { RANKS = 4 };
    struct fixture f;
    bool removed[SIZE] = {false};

    fixture_open_queue(&f, PRIORITY_SMALL, 1);
    for (int i = 0; i < SIZE; i++) {
        item(i)->value = (int)test_random(RANKS);
        CHECK_OK(hora_queue_offer(f.queue, item(i)));
    }
    for (int i = 0; i < SIZE / 4; i++) {
        uint32_t victim = test_random(SIZE);
        CHECK_INT(hora_queue_remove(f.queue, item((int)victim)), !removed[victim]);
        removed[victim] = true;
    }
    for (int rank = 0; rank < RANKS; rank++) {
        for (int i = 0; i < SIZE; i++) {
            if (item(i)->value == rank && !removed[i])
                CHECK_POLL(f.queue, item(i));
        }
    }
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

/* drain gives equals in the order in which they came as well. */
TEST(priority_drain_is_stable_among_equals, "CP-Q4")
{
    struct fixture f;
    void *items[SIZE];
    int n = 0;

    fixture_open_queue(&f, PRIORITY, SIZE);
    for (int i = 0; i < SIZE; i++) {
        item(i)->value = i % 2;
        CHECK_OK(hora_queue_offer(f.queue, item(i)));
    }
    CHECK_INT(hora_queue_drain(f.queue, items, SIZE), SIZE);
    for (int i = 0; i < SIZE; i += 2)
        CHECK_POINTER(items[n++], item(i));
    for (int i = 1; i < SIZE; i += 2)
        CHECK_POINTER(items[n++], item(i));
    fixture_close(&f);
}

/* The element that fills the gap of a removed one may have to move towards the head or away from it. */
TEST(priority_remove_from_inside_keeps_the_order, "")
{
    static const int ascending[] = {0, 10, 1, 11, 12, 2, 3}; /* each comes to lie where it is put */
    static const int rest[] = {0, 1, 2, 3, 10, 12};
    struct fixture f;

    fixture_open_queue(&f, PRIORITY, SIZE);
    for (int i = 0; i < 7; i++)
        CHECK_OK(hora_queue_offer(f.queue, item(ascending[i])));
    CHECK_INT(hora_queue_remove(f.queue, item(11)), 1);
    for (int i = 0; i < 6; i++)
        CHECK_POLL(f.queue, item(rest[i]));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

/* With the same pointer inside several times, the one that would leave first goes. */
TEST(priority_remove_takes_one_of_several, "")
{
    struct fixture f;

    fixture_open_queue(&f, PRIORITY, SIZE);
    CHECK_OK(hora_queue_offer(f.queue, item(1)));
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_OK(hora_queue_offer(f.queue, item(1)));
    CHECK_INT(hora_queue_remove(f.queue, item(1)), 1);
    CHECK_INT(hora_queue_contains(f.queue, item(1)), 1);
    CHECK_POLLS_RANGE(f.queue, 0, 1);
    fixture_close(&f);
}

/* A smallest element that is put while others are in the queue leaves before them. */
TEST(priority_waiting_taker_gets_what_is_put, "")
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, PRIORITY, SIZE);
    start_take(&call, &f);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_queue_put(f.queue, item(5)));
    CHECK_OK(hora_queue_put(f.queue, item(3)));
    CHECK_OK(hora_queue_put(f.queue, item(4)));
    CHECK_TAKES(&call, item(5));
    CHECK_POLLS_RANGE(f.queue, 3, 4);
    fixture_close(&f);
}

/* When the heap cannot grow, the put fails and changes nothing, and the queue still works. */
SWEEP(priority_failed_growth_leaves_the_queue_unchanged)
{
    struct element some[8];
    bool inside[8] = {false};
    hora_queue *queue;
    int size = 0;

    if (hora_queue_new_priority(1, HORA_QUEUE_OPTIONS(.compare = compare_in_direction, .arg = &up), &queue,
                                NULL) < 0)
        return;
    for (int i = 7; i >= 0; i--) {
        some[i].value = i;
        int error = hora_queue_offer(queue, &some[i]);
        inside[i] = error == 0;
        size += inside[i];
        if (error != 0)
            CHECK_ERROR(error, HORA_ENOMEM);
        CHECK_INT(hora_queue_contains(queue, &some[i]), inside[i]);
        CHECK_INT(hora_queue_size(queue), size);
    }
    for (int i = 0; i < 8; i++) {
        if (inside[i])
            CHECK_POLL(queue, &some[i]);
    }
    CHECK_POLL_FAILS(queue, HORA_EEMPTY);
    CHECK_OK(hora_queue_free(queue));
}
