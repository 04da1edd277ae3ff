/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_clock.c - the virtual clock: due threads wake up, and settle returns exactly when all is quiet */
#include "harness.h"

enum { SPAN = 1000 };

static hora_virtual_clock *vclock;
static hora_queue *queue;
static hora_latch *latch;
static int work_done;

static const hora_clock *view(void)
{
    return hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC);
}

static void work_until_closed(void *arg)
{
    (void)arg;
    void *item;
    while (hora_queue_take(queue, &item) == 0)
        ++*(int *)item;
}

/* After a put, settle returns only when the worker has done its work, because the worker counts as running
 * from the moment at which it is woken. */
SCENARIO(settle_waits_for_the_woken)
{
    int work = 0;
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    test_thread *worker = test_thread_start(vclock, work_until_closed, NULL);
    for (int i = 1; i <= 2; i++) {
        CHECK_OK(hora_queue_put(queue, &work));
        CHECK_OK(hora_virtual_clock_settle(vclock));
        CHECK_INT(work, i);
    }
    CHECK_OK(hora_queue_close(queue));
    test_thread_join(worker);
    CHECK_OK(hora_queue_free(queue));
    CHECK_OK(hora_virtual_clock_free(vclock));
}

static void await_span(void *arg)
{
    CHECK_ERROR(hora_latch_await_for(latch, SPAN), HORA_ETIMEDOUT);
    *(int *)arg = 1;
}

/* A wait ends exactly at its time, and not a nanosecond before. */
SCENARIO(advance_wakes_what_is_due)
{
    int over = 0;
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    CHECK_OK(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = view()), &latch, NULL));
    test_thread *waiter = test_thread_start(vclock, await_span, &over);
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK_OK(hora_virtual_clock_advance(vclock, SPAN - 1));
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK_INT(over, 0);
    CHECK_OK(hora_virtual_clock_advance(vclock, 1));
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK_INT(over, 1);
    test_thread_join(waiter);
    CHECK_OK(hora_latch_free(latch));
    CHECK_OK(hora_virtual_clock_free(vclock));
}

static void sleep_for(void *arg)
{
    CHECK_OK(hora_clock_sleep(view(), *(hora_ns *)arg));
    work_done++;
}

/* advance_to_next goes from one sleeper's time to the next, and says when there is none. */
SCENARIO(advance_to_next_stops_at_each)
{
    hora_ns spans[] = {10, 30};
    hora_ns by = 0;
    work_done = 0;
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *threads[] = {test_thread_start(vclock, sleep_for, &spans[0]),
                              test_thread_start(vclock, sleep_for, &spans[1])};
    for (int i = 1; i <= 2; i++) {
        CHECK_OK(hora_virtual_clock_settle(vclock));
        CHECK_OK(hora_virtual_clock_advance_to_next(vclock, &by));
        CHECK_OK(hora_virtual_clock_settle(vclock));
        CHECK_INT(by, i == 1 ? 10 : 20);
        CHECK_INT(work_done, i);
    }
    CHECK_ERROR(hora_virtual_clock_advance_to_next(vclock, &by), HORA_EEMPTY);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

static void settle_interrupted(void *arg)
{
    int *error = arg;
    *error = hora_virtual_clock_settle(vclock);
    CHECK(*error == 0 || *error == HORA_EINTERRUPTED);
    if (*error == 0)
        CHECK_ERROR(hora_sleep(HORA_FOREVER), HORA_EINTERRUPTED);
    CHECK(!hora_interrupted());
}

/* Two who settle, one of them attached and interrupted: neither waits for the other for ever. */
SCENARIO(settle_can_be_interrupted)
{
    int error = 1;
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    CHECK_OK(hora_virtual_clock_expect(vclock, 1));
    test_thread *settler = test_thread_start(NULL, settle_interrupted, &error);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(settler)));
    CHECK_OK(hora_virtual_clock_expect(vclock, -1));
    test_thread_join(settler);
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK_OK(hora_virtual_clock_free(vclock));
}

static void settle_and_leave(void *arg)
{
    (void)arg;
    int error = hora_virtual_clock_settle(vclock);
    CHECK(error == 0 || error == HORA_EINTERRUPTED);
    (void)hora_interrupted();
}

/* A thread in settle is interrupted and resolved at the same time, and the owner frees the clock before the
 * thread has decided which of the two counts. A second clock, which the thread is attached to, shows when the
 * thread waits. */
SCENARIO(clock_is_freed_while_a_thread_leaves_settle)
{
    hora_virtual_clock *other;
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    CHECK_OK(hora_virtual_clock_new(NULL, &other, NULL));
    CHECK_OK(hora_virtual_clock_expect(vclock, 1));
    test_thread *settler = test_thread_start(other, settle_and_leave, NULL);
    CHECK_OK(hora_virtual_clock_settle(other));
    CHECK_OK(hora_thread_interrupt(test_thread_handle(settler)));
    CHECK_OK(hora_virtual_clock_expect(vclock, -1));
    CHECK_OK(hora_virtual_clock_free(vclock));
    test_thread_join(settler);
    CHECK_OK(hora_virtual_clock_free(other));
}
