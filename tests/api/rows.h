/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - promises that several kinds of queue share, each written once
 *
 * The test files of the kinds name the conformance rows:
 *
 *     SHARED(array, ARRAY, poll_gives_all_in_order, "ArrayBlockingQueueTest.testPoll")
 *
 * is the test array_poll_gives_all_in_order. rows_alone.c has the tests that need one thread, rows_waiting.c
 * those in which a thread waits. */
#ifndef HORA_TESTS_API_ROWS_H
#define HORA_TESTS_API_ROWS_H

#include "support.h"

#define SHARED(prefix, kind, promise, rows) \
    TEST(prefix##_##promise, rows)          \
    {                                       \
        promise(kind);                      \
    }

/* One such test for each kind of queue, or for some of them. */
#define EVERY_KIND(promise, rows) \
    ROOMY_KINDS(promise, rows)    \
    SYNCHRONOUS_KINDS(promise, rows)

#define SYNCHRONOUS_KINDS(promise, rows)                  \
    SHARED(synchronous_queue, SYNCHRONOUS, promise, rows) \
    SHARED(fair_synchronous_queue, SYNCHRONOUS_FAIR, promise, rows)

#define ROOMY_KINDS(promise, rows)                                  \
    BOUNDED_KINDS(promise, rows)                                    \
    SHARED(unbounded_linked_queue, LINKED_UNBOUNDED, promise, rows) \
    ORDERED_KINDS(promise, rows)

#define BOUNDED_KINDS(promise, rows)                    \
    SHARED(array_queue, ARRAY, promise, rows)           \
    SHARED(fair_array_queue, ARRAY_FAIR, promise, rows) \
    SHARED(linked_queue, LINKED, promise, rows)

#define ORDERED_KINDS(promise, rows)                            \
    SHARED(priority_queue, PRIORITY, promise, rows)             \
    SHARED(small_priority_queue, PRIORITY_SMALL, promise, rows) \
    SHARED(delay_queue, DELAY, promise, rows)                   \
    SHARED(asked_delay_queue, DELAY_ASKED, promise, rows)

/* All kinds except the synchronous ones, with one thread. */
void add_makes_the_size_grow(enum kind kind);
void put_inserts_each_element(enum kind kind);
void take_gives_all_in_order(enum kind kind);
void poll_gives_all_in_order(enum kind kind);
void poll_for_zero_is_poll(enum kind kind);
void peek_shows_the_head_and_keeps_it(enum kind kind);
void contains_knows_what_is_inside(enum kind kind);
void clear_empties_and_the_queue_goes_on(enum kind kind);
void snapshot_copies_all(enum kind kind);
void for_each_visits_all(enum kind kind);
void for_each_of_an_empty_queue_visits_nothing(enum kind kind);
void visitor_may_remove_what_it_sees(enum kind kind);
void drain_moves_all_in_order(enum kind kind);
void drain_moves_at_most_max(enum kind kind);

/* Kinds that leave the order alone. */
void remove_takes_the_first_of_several(enum kind kind);

/* Bounded kinds. */
void is_full_at_its_capacity(enum kind kind);
void offer_refuses_when_full(enum kind kind);
void size_and_room_make_up_the_capacity(enum kind kind);
void add_refuses_beyond_the_capacity(enum kind kind);
void for_each_keeps_the_order(enum kind kind);
void visitor_may_empty_the_queue(enum kind kind);

/* Ordered kinds, which have no bound. */
void empties_after_as_many_polls_as_puts(enum kind kind);
void room_is_always_unbounded(enum kind kind);
void offer_always_succeeds(enum kind kind);
void inserting_never_waits(enum kind kind);

/* All kinds. */
void never_contains_null(enum kind kind);
void poll_for_gets_what_another_thread_puts(enum kind kind);

/* All kinds but the synchronous ones: a taker waits. */
void take_is_interruptible(enum kind kind);
void poll_for_takes_at_once_or_times_out(enum kind kind);
void poll_for_is_interruptible(enum kind kind);
void drain_and_a_concurrent_put_lose_nothing(enum kind kind);

/* Bounded kinds: a putter waits. */
void put_on_full_is_interruptible(enum kind kind);
void put_goes_on_after_a_take(enum kind kind);
void offer_for_on_full_times_out_or_is_interrupted(enum kind kind);
void offer_for_gets_the_room_of_a_take(enum kind kind);
void drain_lets_a_waiting_put_in(enum kind kind);

#endif
