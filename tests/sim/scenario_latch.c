/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_latch.c - the latch opens once, for all, and a waiter that leaves early leaves nothing behind */
#include "harness.h"

enum { SPAN = 1000 };

static hora_latch *latch;

static void await(void *arg)
{
    (void)arg;
    CHECK_OK(hora_latch_await(latch));
    CHECK_INT(hora_latch_count(latch), 0);
}

static void count_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_latch_count_down(latch));
}

/* The last of two count-downs releases both waiters, each with one wake-up at most. */
SCENARIO(latch_releases_all)
{
    CHECK_OK(hora_latch_new(2, NULL, &latch, NULL));
    test_thread *threads[] = {test_thread_start(NULL, await, NULL), test_thread_start(NULL, await, NULL)};
    count_down(NULL);
    count_down(NULL);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    if (test_is_exact())
        CHECK(test_wakeups() <= 2);
    CHECK_OK(hora_latch_free(latch));
}

/* Counting down more often than the count, from several threads, leaves it at zero. */
SCENARIO(latch_stays_at_zero)
{
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    test_thread *other = test_thread_start(NULL, count_down, NULL);
    count_down(NULL);
    test_thread_join(other);
    CHECK_INT(hora_latch_count(latch), 0);
    CHECK_OK(hora_latch_await_for(latch, INT64_MIN));
    CHECK_OK(hora_latch_free(latch));
}

static void sleep_and_count_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_sleep(SPAN));
    count_down(NULL);
}

/* Time-out and count-down at the same moment: either may win, but never early, and never neither. */
SCENARIO(latch_timeout_meets_count_down)
{
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    hora_ns start = hora_clock_now(NULL);
    test_thread *other = test_thread_start(NULL, sleep_and_count_down, NULL);
    int error = hora_latch_await_for(latch, SPAN);
    hora_ns waited = hora_clock_now(NULL) - start;
    CHECK(error == 0 || error == HORA_ETIMEDOUT);
    CHECK(waited >= SPAN);
    if (test_is_exact())
        CHECK_INT(waited, SPAN);
    test_thread_join(other);
    CHECK_OK(hora_latch_free(latch));
}

/* A timed wait that no thread ends lasts exactly its time. */
SCENARIO(latch_timeout_is_exact)
{
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    hora_ns start = hora_clock_now(NULL);
    CHECK_ERROR(hora_latch_await_for(latch, SPAN), HORA_ETIMEDOUT);
    hora_ns waited = hora_clock_now(NULL) - start;
    CHECK(waited >= SPAN);
    if (test_is_exact())
        CHECK_INT(waited, SPAN);
    CHECK_INT(hora_latch_count(latch), 1);
    CHECK_OK(hora_latch_free(latch));
}

static void await_interrupted(void *arg)
{
    int *outcome = arg;
    *outcome = hora_latch_await(latch);
    CHECK(*outcome == 0 || *outcome == HORA_EINTERRUPTED);
    /* The interrupt counts once: as the outcome, or later. */
    if (*outcome == 0)
        CHECK_ERROR(hora_sleep(HORA_FOREVER), HORA_EINTERRUPTED);
    CHECK(!hora_interrupted());
}

/* An interrupt and a count-down race: one of them is the outcome, the other is not lost, and the latch has no
 * waiters left. */
SCENARIO(latch_interrupt_meets_count_down)
{
    int outcome = 1;
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    test_thread *waiter = test_thread_start(NULL, await_interrupted, &outcome);
    test_thread *counter = test_thread_start(NULL, count_down, NULL);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(waiter)));
    test_thread_join(counter);
    test_thread_join(waiter);
    CHECK_OK(hora_latch_free(latch));
}

/* An interrupted waiter leaves the latch as it was. */
SCENARIO(latch_interrupted_waiter_leaves_nothing)
{
    int outcome = 1;
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    test_thread *waiter = test_thread_start(NULL, await_interrupted, &outcome);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(waiter)));
    test_thread_join(waiter);
    CHECK_INT(outcome, HORA_EINTERRUPTED);
    CHECK_INT(hora_latch_count(latch), 1);
    CHECK_OK(hora_latch_free(latch));
}

/* A thread whose await has returned may free the latch, although the counting thread may still be inside its
 * call. */
SCENARIO(latch_free_right_after_await)
{
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    test_thread *other = test_thread_start(NULL, count_down, NULL);
    CHECK_OK(hora_latch_await(latch));
    CHECK_OK(hora_latch_free(latch));
    test_thread_join(other);
}

/* A latch on which a thread waits cannot be freed, and continues to work. */
SCENARIO(latch_free_refused_while_waited_for)
{
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    hora_virtual_clock *clock;
    CHECK_OK(hora_virtual_clock_new(NULL, &clock, NULL));
    test_thread *waiter = test_thread_start(clock, await, NULL);
    CHECK_OK(hora_virtual_clock_settle(clock));
    CHECK_ERROR(hora_latch_free(latch), HORA_EBUSY);
    count_down(NULL);
    test_thread_join(waiter);
    CHECK_OK(hora_latch_free(latch));
    CHECK_OK(hora_virtual_clock_free(clock));
}

SWEEP(latch_survives_every_failure)
{
    latch = NULL;
    int error = hora_latch_new(1, NULL, &latch, NULL);
    if (error == 0) {
        test_thread *other = test_thread_start(NULL, count_down, NULL);
        int left = other != NULL ? 0 : 1;
        error = hora_latch_await_for(latch, SPAN);
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_ETIMEDOUT);
        test_thread_join(other);
        CHECK_INT(hora_latch_count(latch), left);
        CHECK_OK(hora_latch_free(latch));
    } else {
        CHECK_ERROR(error, HORA_ENOMEM);
        CHECK_POINTER(latch, NULL);
    }
}
