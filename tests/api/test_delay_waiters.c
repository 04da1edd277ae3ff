/* SPDX-License-Identifier: Apache-2.0 */
/* test_delay_waiters.c - threads that wait for a delay queue: one sleeps until the head is due */
#include <stdlib.h>

#include "rows.h"

#define BOTH(promise, rows)             \
    SHARED(delay, DELAY, promise, rows) \
    SHARED(asked_delay, DELAY_ASKED, promise, rows)

/* A new first element is waited for instead of the old one, by the one who came first. */
static void new_head_is_taken_in_time(enum kind kind)
{
    struct fixture f;
    struct call first, second;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 1, 100)));
    start_take(&first, &f);
    CHECK_BLOCKED(&first);
    start_take(&second, &f);
    CHECK_BLOCKED(&second);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    advance(&f, 9);
    CHECK_BLOCKED(&first);
    advance(&f, 1);
    CHECK_TAKES(&first, item(0));
    advance(&f, 89);
    CHECK_BLOCKED(&second);
    advance(&f, 1);
    CHECK_TAKES(&second, item(1));
    fixture_close(&f);
}
BOTH(new_head_is_taken_in_time, "CP-DQ2")

/* Five wait and one element falls due: one wakes, not all; the others are woken by close. */
static void one_due_element_wakes_one_waiter(enum kind kind)
{
    enum { WAITERS = 5 };
    struct fixture f;
    struct call calls[WAITERS];
    uint64_t before;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    for (int i = 0; i < WAITERS; i++) {
        start_take(&calls[i], &f);
        CHECK_BLOCKED(&calls[i]);
    }
    before = test_wakeups();
    advance(&f, 10);
    CHECK_TAKES(&calls[0], item(0));
    /* The taker, and this thread in settle and join. */
    if (test_is_exact())
        CHECK(test_wakeups() - before <= 3);
    for (int i = 1; i < WAITERS; i++)
        CHECK_BLOCKED(&calls[i]);
    CHECK_OK(hora_queue_close(f.queue));
    for (int i = 1; i < WAITERS; i++)
        CHECK_RETURNS(&calls[i], HORA_ECLOSED);
    fixture_close(&f);
}
BOTH(one_due_element_wakes_one_waiter, "CP-DQ2")

/* Only one of the waiting threads sleeps until a due time: none sleeps until that of the second element. */
TEST(delay_followers_wait_for_no_time, "CP-DQ2")
{
    struct fixture f;
    struct call first, second;
    hora_ns by = -1;

    fixture_open_queue(&f, DELAY, 0);
    start_take(&first, &f);
    CHECK_BLOCKED(&first);
    start_take(&second, &f);
    CHECK_BLOCKED(&second);
    CHECK_ERROR(hora_virtual_clock_advance_to_next(f.clock, &by), HORA_EEMPTY);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    settle(&f);
    CHECK_OK(hora_virtual_clock_advance_to_next(f.clock, &by));
    CHECK_INT(by, 10);
    CHECK_TAKES(&first, item(0));
    CHECK_ERROR(hora_virtual_clock_advance_to_next(f.clock, &by), HORA_EEMPTY);
    CHECK_INTERRUPTIBLE(&second);
    fixture_close(&f);
}

/* Two threads wait, and two elements become due one after the other, or at once: first come, first served. */
static void leader_that_takes_hands_on(enum kind kind)
{
    for (int at_once = 0; at_once < 2; at_once++) {
        struct fixture f;
        struct call first, second;

        fixture_open_queue(&f, kind, 0);
        start_take(&first, &f);
        CHECK_BLOCKED(&first);
        start_take(&second, &f);
        CHECK_BLOCKED(&second);
        CHECK_OK(insert(&f, due_in(&f, 0, 10)));
        CHECK_OK(insert(&f, due_in(&f, 1, 20)));
        if (at_once) {
            advance(&f, 20);
        } else {
            advance(&f, 10);
            CHECK_BLOCKED(&second);
            advance(&f, 10);
        }
        CHECK_TAKES(&first, item(0));
        CHECK_TAKES(&second, item(1));
        fixture_close(&f);
    }
}
BOTH(leader_that_takes_hands_on, "CP-DQ3")

static void leader_that_is_interrupted_hands_on(enum kind kind)
{
    struct fixture f;
    struct call first, second;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    start_take(&first, &f);
    CHECK_BLOCKED(&first);
    start_take(&second, &f);
    CHECK_BLOCKED(&second);
    CHECK_INTERRUPTIBLE(&first);
    advance(&f, 9);
    CHECK_BLOCKED(&second);
    advance(&f, 1);
    CHECK_TAKES(&second, item(0));
    fixture_close(&f);
}
BOTH(leader_that_is_interrupted_hands_on, "CP-DQ3")

/* The leader's head is removed and its time runs out before the next element is due. */
static void leader_that_times_out_hands_on(enum kind kind)
{
    struct fixture f;
    struct call first, second;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 100)));
    start_poll_for(&first, &f, 200);
    CHECK_BLOCKED(&first);
    start_take(&second, &f);
    CHECK_BLOCKED(&second);
    CHECK_INT(hora_queue_remove(f.queue, item(0)), 1);
    CHECK_OK(insert(&f, due_in(&f, 1, 300)));
    advance(&f, 199);
    CHECK_BLOCKED(&first);
    advance(&f, 1);
    CHECK_RETURNS(&first, HORA_ETIMEDOUT);
    advance(&f, 99);
    CHECK_BLOCKED(&second);
    advance(&f, 1);
    CHECK_TAKES(&second, item(1));
    fixture_close(&f);
}
BOTH(leader_that_times_out_hands_on, "CP-DQ3")

/* The first waiter cannot stay until the head is due: the second gets it, in time. */
static void impatient_waiter_does_not_strand_the_next(enum kind kind)
{
    struct fixture f;
    struct call first, second;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 100)));
    start_poll_for(&first, &f, 50);
    CHECK_BLOCKED(&first);
    start_take(&second, &f);
    CHECK_BLOCKED(&second);
    CHECK_TIMES_OUT(&first, 50);
    advance(&f, 49);
    CHECK_BLOCKED(&second);
    advance(&f, 1);
    CHECK_TAKES(&second, item(0));
    fixture_close(&f);
}
BOTH(impatient_waiter_does_not_strand_the_next, "CP-DQ3 CP-DQ4")

/* What falls due at the very end of the time is given out; one nanosecond later is too late. */
static void element_due_with_the_timeout_is_taken(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, A_WHILE)));
    start_poll_for(&call, &f, A_WHILE - 1);
    CHECK_TIMES_OUT(&call, A_WHILE - 1);
    start_poll_for(&call, &f, 1);
    CHECK_BLOCKED(&call);
    advance(&f, 1);
    CHECK_TAKES(&call, item(0));

    CHECK_OK(insert(&f, due_in(&f, 1, A_WHILE)));
    start_poll_for(&call, &f, A_WHILE);
    CHECK_BLOCKED(&call);
    advance(&f, A_LONG_WHILE);
    CHECK_TAKES(&call, item(1));
    fixture_close(&f);
}
BOTH(element_due_with_the_timeout_is_taken, "CP-DQ4")

/* A timed poll that leads takes the head as soon as it is due, long before its own timeout. */
static void poll_for_takes_the_head_when_due(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    start_poll_for(&call, &f, HORA_FOREVER);
    CHECK_BLOCKED(&call);
    advance(&f, 9);
    CHECK_BLOCKED(&call);
    advance(&f, 1);
    CHECK_TAKES(&call, item(0));
    fixture_close(&f);
}
BOTH(poll_for_takes_the_head_when_due, "CP-DQ4 CP-DQ6")

/* From the moment it is due, even if that thread has not got going yet. */
static void what_falls_due_belongs_to_the_one_who_waits(enum kind kind)
{
    struct fixture f;
    struct call take;
    void *got = untouched;

    fixture_open_queue(&f, kind, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(insert(&f, due_in(&f, i, 10)));
        start_take(&take, &f);
        CHECK_BLOCKED(&take);
        advance(&f, 10);
        if (i == 0)
            CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
        else if (i == 1)
            CHECK_ERROR(hora_queue_poll_for(f.queue, 0, &got), HORA_ETIMEDOUT);
        else
            CHECK_INT(hora_queue_drain(f.queue, &got, 1), 0);
        CHECK_TAKES(&take, item(i));
    }
    CHECK_POINTER(got, untouched);
    fixture_close(&f);
}
BOTH(what_falls_due_belongs_to_the_one_who_waits, "")

/* The element that a thread waits for is removed and freed: it must not be touched any more. */
static void waiter_does_not_touch_a_removed_element(enum kind kind)
{
    struct fixture f;
    struct call call;
    struct element *gone = malloc(sizeof(*gone));

    fixture_open_queue(&f, kind, 0);
    *gone = *due_in(&f, 0, 10);
    CHECK_OK(insert(&f, gone));
    start_take(&call, &f);
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_queue_remove(f.queue, gone), 1);
    gone->due = -1;
    free(gone);
    advance(&f, 10);
    CHECK_BLOCKED(&call);
    CHECK_OK(insert(&f, due_in(&f, 1, 5)));
    advance(&f, 5);
    CHECK_TAKES(&call, item(1));
    fixture_close(&f);
}
BOTH(waiter_does_not_touch_a_removed_element, "CP-DQ6 CP-DQ7")

/* After the head is removed the waiter continues to wait, for the next element. */
static void removing_the_head_lets_the_waiter_wait_for_the_next(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    CHECK_OK(insert(&f, due_in(&f, 1, 20)));
    start_take(&call, &f);
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_queue_remove(f.queue, item(0)), 1);
    CHECK_BLOCKED(&call);
    advance(&f, 19);
    CHECK_BLOCKED(&call);
    advance(&f, 1);
    CHECK_TAKES(&call, item(1));
    fixture_close(&f);
}
BOTH(removing_the_head_lets_the_waiter_wait_for_the_next, "CP-DQ7")

static void clearing_lets_the_waiter_wait_on(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    start_take(&call, &f);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_queue_clear(f.queue));
    advance(&f, 10);
    CHECK_BLOCKED(&call);
    CHECK_OK(insert(&f, due_in(&f, 1, 0)));
    CHECK_TAKES(&call, item(1));
    fixture_close(&f);
}
BOTH(clearing_lets_the_waiter_wait_on, "CP-DQ7")

/* Three takers and three elements, put while the takers wait, and due in another order than they were put:
 * each is taken in time. */
static void every_element_is_taken_in_time_by_some_waiter(enum kind kind)
{
    static const hora_ns delays[] = {30, 10, 20};
    struct fixture f;
    struct call calls[3];

    fixture_open_queue(&f, kind, 0);
    for (int i = 0; i < 3; i++)
        start_take(&calls[i], &f);
    for (int i = 0; i < 3; i++)
        CHECK_OK(insert(&f, due_in(&f, i, delays[i])));
    settle(&f);
    for (int left = 2; left >= 0; left--) {
        advance(&f, 9);
        settle(&f);
        CHECK_INT(hora_queue_size(f.queue), left + 1);
        advance(&f, 1);
        settle(&f);
        CHECK_INT(hora_queue_size(f.queue), left);
    }
    for (int i = 0; i < 3; i++)
        CHECK_RETURNS(&calls[i], 0);
    CHECK(calls[0].item != calls[1].item && calls[1].item != calls[2].item && calls[0].item != calls[2].item);
    fixture_close(&f);
}
BOTH(every_element_is_taken_in_time_by_some_waiter, "CP-DQ2 CP-DQ3")
