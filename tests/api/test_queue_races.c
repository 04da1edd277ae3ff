/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_races.c - threads that use a queue at the same time: nothing is lost or duplicated */
#include "rows.h"

enum { PUTTERS = 2, TAKERS = 2, EACH = 3, ALL = PUTTERS * EACH };

/* The record of one thread. Elements are numbered so that putter p puts p * EACH and following. */
struct part {
    struct call call;
    int first;        /* putters: the first element */
    int put;          /* putters: how many the queue took */
    void *taken[ALL]; /* takers */
    int count;
    bool by_time; /* use the timed calls */
};

static int put_each(struct call *call)
{
    struct part *part = call->item;

    for (int i = 0; i < EACH; i++) {
        void *element = item(part->first + i);
        int error = part->by_time ? hora_queue_offer_for(call->object, element, A_LONG_WHILE)
                                  : hora_queue_put(call->object, element);
        if (error < 0)
            return error;
        part->put++;
    }
    return 0;
}

/* Until the queue is closed, or the thread interrupted. */
static int take_all(struct call *call)
{
    struct part *part = call->item;

    for (;;) {
        void *got;
        int error = part->by_time ? hora_queue_poll_for(call->object, HORA_FOREVER, &got)
                                  : hora_queue_take(call->object, &got);
        if (error < 0)
            return error;
        if (part->count < ALL)
            part->taken[part->count] = got;
        part->count++;
    }
}

static void start_part(struct part *part, struct fixture *f, int (*run)(struct call *call), int number)
{
    *part = (struct part){.first = number * EACH, .by_time = number % 2 == 1};
    part->call = (struct call){.run = run, .object = f->queue, .item = part};
    start_call(&part->call, f);
}

static void start_all(struct fixture *f, struct part *putters, struct part *takers)
{
    for (int i = 0; i < TAKERS; i++)
        start_part(&takers[i], f, take_all, i);
    for (int i = 0; i < PUTTERS; i++)
        start_part(&putters[i], f, put_each, i);
}

/* Counts the elements of a taker; those of each putter must be in the order in which they were put. */
static void count_taken(const struct part *taker, int *counts)
{
    int last[PUTTERS];

    for (int i = 0; i < PUTTERS; i++)
        last[i] = -1;
    for (int i = 0; i < taker->count && i < ALL; i++) {
        int value = ((const struct element *)taker->taken[i])->value;
        counts[value]++;
        CHECK(value > last[value / EACH]);
        last[value / EACH] = value;
    }
}

/* Everything that was put has been taken once, or is still inside. */
static void check_conserved(hora_queue *queue, const struct part *putters, const struct part *takers)
{
    int counts[ALL] = {0};
    void *got;

    for (int i = 0; i < TAKERS; i++)
        count_taken(&takers[i], counts);
    while (hora_queue_poll(queue, &got) == 0)
        counts[((const struct element *)got)->value]++;
    for (int i = 0; i < ALL; i++)
        CHECK_INT(counts[i], i % EACH < putters[i / EACH].put);
}

static void many_put_and_take_and_nothing_is_lost(enum kind kind)
{
    struct fixture f;
    struct part putters[PUTTERS], takers[TAKERS];

    fixture_open_queue(&f, kind, 1);
    start_all(&f, putters, takers);
    for (int i = 0; i < PUTTERS; i++)
        CHECK_RETURNS(&putters[i].call, 0);
    settle(&f);
    CHECK_INT(hora_queue_size(f.queue), 0);
    CHECK_OK(hora_queue_close(f.queue));
    for (int i = 0; i < TAKERS; i++)
        CHECK_RETURNS(&takers[i].call, HORA_ECLOSED);
    CHECK_INT(takers[0].count + takers[1].count, ALL);
    check_conserved(f.queue, putters, takers);
    fixture_close(&f);
}
EVERY_KIND(many_put_and_take_and_nothing_is_lost, "")

/* Elements that were put before are taken or still in the queue, later ones are rejected, and no thread waits
 * for ever. */
static void close_in_the_middle_loses_nothing(enum kind kind)
{
    struct fixture f;
    struct part putters[PUTTERS], takers[TAKERS];

    fixture_open_queue(&f, kind, 1);
    start_all(&f, putters, takers);
    CHECK_OK(hora_queue_close(f.queue));
    for (int i = 0; i < PUTTERS; i++) {
        int result = RESULT_OF(&putters[i].call);
        CHECK(result == 0 ? putters[i].put == EACH : result == HORA_ECLOSED);
    }
    for (int i = 0; i < TAKERS; i++)
        CHECK_RETURNS(&takers[i].call, HORA_ECLOSED);
    check_conserved(f.queue, putters, takers);
    CHECK_POLL_FAILS(f.queue, HORA_ECLOSED);
    fixture_close(&f);
}
EVERY_KIND(close_in_the_middle_loses_nothing, "")

/* One putter and one taker are interrupted wherever they are; the others go on. */
static void interrupts_in_the_middle_lose_nothing(enum kind kind)
{
    struct fixture f;
    struct part putters[PUTTERS], takers[TAKERS];
    int result;

    fixture_open_queue(&f, kind, 1);
    start_all(&f, putters, takers);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(putters[0].call.thread)));
    CHECK_OK(hora_thread_interrupt(test_thread_handle(takers[0].call.thread)));
    result = RESULT_OF(&putters[0].call);
    CHECK(result == 0 ? putters[0].put == EACH : result == HORA_EINTERRUPTED);
    CHECK(result == 0 || !putters[0].call.interrupted);
    CHECK_RETURNS(&takers[0].call, HORA_EINTERRUPTED);
    CHECK_RETURNS(&putters[1].call, 0);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_RETURNS(&takers[1].call, HORA_ECLOSED);
    check_conserved(f.queue, putters, takers);
    fixture_close(&f);
}
EVERY_KIND(interrupts_in_the_middle_lose_nothing, "")

/* Other threads also remove, drain and clear elements while threads wait to put: all puts succeed. */
static void room_made_by_any_means_lets_putters_in(enum kind kind)
{
    struct fixture f;
    struct part putters[PUTTERS];
    void *items[ALL];
    int left = ALL;

    fixture_open_queue(&f, kind, 1);
    for (int i = 0; i < PUTTERS; i++)
        start_part(&putters[i], &f, put_each, i);
    while (left > 0) {
        settle(&f);
        CHECK_INT(hora_queue_size(f.queue), 1);
        CHECK_OK(hora_queue_peek(f.queue, &items[0]));
        switch (left-- % 3) {
        case 0:
            CHECK_INT(hora_queue_remove(f.queue, items[0]), 1);
            break;
        case 1:
            CHECK_INT(hora_queue_drain(f.queue, items, ALL), 1);
            break;
        case 2:
            CHECK_OK(hora_queue_clear(f.queue));
            break;
        }
    }
    for (int i = 0; i < PUTTERS; i++)
        CHECK_RETURNS(&putters[i].call, 0);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
BOUNDED_KINDS(room_made_by_any_means_lets_putters_in, "")

/* A taker arrives while time passes: it gets the element as soon as that is due, neither early nor late. */
static void taker_that_comes_while_time_passes_is_in_time(enum kind kind)
{
    struct fixture f;
    struct call take;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    start_take(&take, &f);
    advance(&f, 9);
    CHECK_BLOCKED(&take);
    advance(&f, 1);
    CHECK_TAKES(&take, item(0));
    fixture_close(&f);
}
SHARED(delay_queue, DELAY, taker_that_comes_while_time_passes_is_in_time, "")
SHARED(asked_delay_queue, DELAY_ASKED, taker_that_comes_while_time_passes_is_in_time, "")

/* An element that is put while time passes is due at its own time. */
static int put_due(struct call *call)
{
    struct fixture *f = call->fixture;

    return insert(f, item(0));
}

static void element_put_while_time_passes_is_in_time(enum kind kind)
{
    struct fixture f;
    struct call take, put = {.run = put_due};

    fixture_open_queue(&f, kind, 0);
    due_in(&f, 0, 10);
    start_take(&take, &f);
    start_call(&put, &f);
    advance(&f, 9);
    CHECK_RETURNS(&put, 0);
    CHECK_BLOCKED(&take);
    advance(&f, 1);
    CHECK_TAKES(&take, item(0));
    fixture_close(&f);
}
SHARED(delay_queue, DELAY, element_put_while_time_passes_is_in_time, "")
SHARED(asked_delay_queue, DELAY_ASKED, element_put_while_time_passes_is_in_time, "")
