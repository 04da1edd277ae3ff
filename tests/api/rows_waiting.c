/* SPDX-License-Identifier: Apache-2.0 */
/* rows_waiting.c - promises shared by several kinds of queue, tested with waiting threads */
#include "rows.h"

/* Returns with an empty queue, after SIZE elements have passed through it by take or timed poll. */
static void open_used(struct fixture *f, enum kind kind, bool timed)
{
    fixture_open_queue(f, kind, SIZE);
    fill(f, SIZE);
    for (int i = 0; i < SIZE; i++) {
        void *got = untouched;
        CHECK_OK(timed ? hora_queue_poll_for(f->queue, A_LONG_WHILE, &got) : hora_queue_take(f->queue, &got));
        CHECK_POINTER(got, item(i));
    }
}

void take_is_interruptible(enum kind kind)
{
    struct fixture f;
    struct call call;
    void *got = untouched;

    open_used(&f, kind, false);
    CHECK_INTERRUPTED(hora_queue_take(f.queue, &got), &got);
    start_take(&call, &f);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

void poll_for_takes_at_once_or_times_out(enum kind kind)
{
    struct fixture f;
    struct call call;

    open_used(&f, kind, true);
    start_poll_for(&call, &f, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

void poll_for_is_interruptible(enum kind kind)
{
    struct fixture f;
    struct call call;
    void *got = untouched;

    open_used(&f, kind, true);
    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_queue_poll_for(f.queue, any_timeout[i], &got), &got);
    start_poll_for(&call, &f, A_LONG_WHILE);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

void poll_for_gets_what_another_thread_puts(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, SIZE);
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    start_poll_for(&call, &f, A_LONG_WHILE);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_queue_put(f.queue, item(1)));
    CHECK_TAKES(&call, item(1));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

/* The put may happen before, during or after the drain. */
void drain_and_a_concurrent_put_lose_nothing(enum kind kind)
{
    struct fixture f;
    struct call put;
    void *items[ELEMENTS];
    int first, second;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    start_put(&put, &f, item(SIZE));
    first = hora_queue_drain(f.queue, items, SIZE + 1);
    CHECK(first >= SIZE);
    CHECK_RETURNS(&put, 0);
    second = hora_queue_drain(f.queue, items + first, SIZE);
    CHECK_INT(first + second, SIZE + 1);
    for (int i = 0; i <= SIZE; i++)
        CHECK_POINTER(items[i], item(i));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

/* ---- bounded ---- */

void put_on_full_is_interruptible(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    CHECK_INTERRUPTED(hora_queue_put(f.queue, item(SIZE)), NULL);
    start_put(&call, &f, item(SIZE));
    CHECK_INTERRUPTIBLE(&call);
    CHECK_INT(hora_queue_size(f.queue), SIZE);
    CHECK_INT(hora_queue_remaining_capacity(f.queue), 0);
    CHECK_POLLS_RANGE(f.queue, 0, SIZE - 1);
    fixture_close(&f);
}

void put_goes_on_after_a_take(enum kind kind)
{
    struct fixture f;
    struct call call;
    void *got = untouched;

    fixture_open_queue(&f, kind, 2);
    fill(&f, 2);
    start_put(&call, &f, item(2));
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_queue_remaining_capacity(f.queue), 0);
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK_POINTER(got, item(0));
    CHECK_RETURNS(&call, 0);

    CHECK_INTERRUPTED(hora_queue_put(f.queue, item(3)), NULL);
    start_put(&call, &f, item(3));
    CHECK_INTERRUPTIBLE(&call);
    CHECK_INT(hora_queue_remaining_capacity(f.queue), 0);
    CHECK_POLLS_RANGE(f.queue, 1, 2);
    fixture_close(&f);
}

void offer_for_on_full_times_out_or_is_interrupted(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, 2);
    fill(&f, 2);
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_queue_offer_for(f.queue, item(2), expired[i]), HORA_ETIMEDOUT);
    start_offer_for(&call, &f, item(2), A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_queue_offer_for(f.queue, item(2), any_timeout[i]), NULL);
    start_offer_for(&call, &f, item(2), 2 * A_LONG_WHILE);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_POLLS_RANGE(f.queue, 0, 1);
    fixture_close(&f);
}

void offer_for_gets_the_room_of_a_take(enum kind kind)
{
    struct fixture f;
    struct call call;
    void *got = untouched;

    fixture_open_queue(&f, kind, 2);
    fill(&f, 2);
    CHECK_ERROR(hora_queue_offer(f.queue, item(2)), HORA_EFULL);
    start_offer_for(&call, &f, item(2), A_LONG_WHILE);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK_POINTER(got, item(0));
    CHECK_RETURNS(&call, 0);
    CHECK_INT(hora_queue_remaining_capacity(f.queue), 0);
    CHECK_POLLS_RANGE(f.queue, 1, 2);
    fixture_close(&f);
}

/* What the waiting put brings is let in, but not drained. */
void drain_lets_a_waiting_put_in(enum kind kind)
{
    struct fixture f;
    struct call call;
    void *items[SIZE + 1];

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    start_put(&call, &f, item(SIZE));
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_queue_drain(f.queue, items, SIZE + 1), SIZE);
    for (int i = 0; i < SIZE; i++)
        CHECK_POINTER(items[i], item(i));
    CHECK_RETURNS(&call, 0);
    CHECK_INT(hora_queue_size(f.queue), 1);
    CHECK_POLLS_RANGE(f.queue, SIZE, SIZE);
    fixture_close(&f);
}
