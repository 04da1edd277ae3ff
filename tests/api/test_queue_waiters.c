/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_waiters.c - which of several waiting threads is served, and the effects of an interrupt */
#include "rows.h"

enum { CROWD = 3 };

static void start_takers(struct call *calls, struct fixture *f)
{
    for (int i = 0; i < CROWD; i++) {
        start_take(&calls[i], f);
        CHECK_BLOCKED(&calls[i]);
    }
}

/* CROWD puts wait, of elements `first` and following. */
static void start_putters(struct call *calls, struct fixture *f, int first)
{
    for (int i = 0; i < CROWD; i++) {
        start_put(&calls[i], f, item(first + i));
        CHECK_BLOCKED(&calls[i]);
    }
}

/* Each element goes to the thread that has waited longest; the unfair synchronous queue serves the latest
 * first. */
static void takers_are_served_in_order(enum kind kind)
{
    struct fixture f;
    struct call calls[CROWD];

    fixture_open_queue(&f, kind, SIZE);
    start_takers(calls, &f);
    for (int i = 0; i < CROWD; i++)
        CHECK_OK(hora_queue_offer(f.queue, item(i)));
    for (int i = 0; i < CROWD; i++)
        CHECK_TAKES(&calls[i], item(kind == SYNCHRONOUS ? CROWD - 1 - i : i));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
EVERY_KIND(takers_are_served_in_order, "")

/* An element that is put while a thread waits belongs to that thread at once: no poll, peek or drain can get
 * it. */
static void element_for_a_waiting_taker_is_not_overtaken(enum kind kind)
{
    struct fixture f;
    struct call take;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    CHECK_INT(hora_queue_drain(f.queue, &got, 1), 0);
    CHECK_INT(hora_queue_size(f.queue), 0);
    CHECK_INT(hora_queue_remove(f.queue, item(0)), 0);
    CHECK_TAKES(&take, item(0));
    fixture_close(&f);
}
EVERY_KIND(element_for_a_waiting_taker_is_not_overtaken, "")

/* Each room goes to the put that has waited longest, so that the elements stay in the order of the puts. */
static void putters_are_served_in_order(enum kind kind)
{
    struct fixture f;
    struct call calls[CROWD];

    fixture_open_queue(&f, kind, 2);
    fill(&f, 2);
    start_putters(calls, &f, 2);
    for (int i = 0; i < CROWD; i++) {
        CHECK_POLL(f.queue, item(i));
        CHECK_RETURNS(&calls[i], 0);
        CHECK_INT(hora_queue_size(f.queue), 2);
        if (i + 1 < CROWD)
            CHECK_BLOCKED(&calls[i + 1]);
    }
    CHECK_POLLS_RANGE(f.queue, CROWD, CROWD + 1);
    fixture_close(&f);
}
BOUNDED_KINDS(putters_are_served_in_order, "CP-Q3")

static void room_for_a_waiting_putter_is_not_overtaken(enum kind kind)
{
    struct fixture f;
    struct call put;

    fixture_open_queue(&f, kind, 1);
    fill(&f, 1);
    start_put(&put, &f, item(1));
    CHECK_BLOCKED(&put);
    CHECK_POLL(f.queue, item(0));
    CHECK_ERROR(hora_queue_offer(f.queue, item(2)), HORA_EFULL);
    CHECK_ERROR(hora_queue_offer_for(f.queue, item(2), 0), HORA_ETIMEDOUT);
    CHECK_PEEK(f.queue, item(1));
    CHECK_RETURNS(&put, 0);
    CHECK_POLLS_RANGE(f.queue, 1, 1);
    fixture_close(&f);
}
BOUNDED_KINDS(room_for_a_waiting_putter_is_not_overtaken, "")

/* The first elements are drained: as many waiting puts succeed as there is room, in order. */
static void drain_lets_as_many_in_as_there_is_room(enum kind kind)
{
    struct fixture f;
    struct call calls[CROWD];
    void *items[SIZE];

    fixture_open_queue(&f, kind, CROWD);
    fill(&f, CROWD);
    start_putters(calls, &f, CROWD);
    CHECK_INT(hora_queue_drain(f.queue, items, 1), 1);
    CHECK_RETURNS(&calls[0], 0);
    CHECK_BLOCKED(&calls[1]);
    CHECK_INT(hora_queue_drain(f.queue, items, SIZE), CROWD);
    CHECK_POINTER(items[CROWD - 1], item(CROWD));
    CHECK_RETURNS(&calls[1], 0);
    CHECK_RETURNS(&calls[2], 0);
    CHECK_POLLS_RANGE(f.queue, CROWD + 1, CROWD + 2);
    fixture_close(&f);
}
BOUNDED_KINDS(drain_lets_as_many_in_as_there_is_room, "CP-Q3")

/* However many there are, in one go and in their order. */
static void clear_lets_a_crowd_in(enum kind kind)
{
    enum { MANY = 20 };
    struct fixture f;
    struct call calls[MANY];

    fixture_open_queue(&f, kind, MANY);
    fill(&f, MANY);
    for (int i = 0; i < MANY; i++) {
        start_put(&calls[i], &f, item(MANY + i));
        settle(&f);
    }
    CHECK_OK(hora_queue_clear(f.queue));
    for (int i = 0; i < MANY; i++)
        CHECK_RETURNS(&calls[i], 0);
    CHECK_POLLS_RANGE(f.queue, MANY, 2 * MANY - 1);
    fixture_close(&f);
}
BOUNDED_KINDS(clear_lets_a_crowd_in, "CP-Q3")

static void clear_lets_as_many_in_as_there_is_room(enum kind kind)
{
    struct fixture f;
    struct call calls[CROWD];

    fixture_open_queue(&f, kind, 2);
    fill(&f, 2);
    start_putters(calls, &f, 2);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_RETURNS(&calls[0], 0);
    CHECK_RETURNS(&calls[1], 0);
    CHECK_BLOCKED(&calls[2]);
    CHECK_INT(hora_queue_size(f.queue), 2);
    CHECK_POLL(f.queue, item(2));
    CHECK_RETURNS(&calls[2], 0);
    CHECK_POLLS_RANGE(f.queue, 3, 4);
    fixture_close(&f);
}
BOUNDED_KINDS(clear_lets_as_many_in_as_there_is_room, "CP-Q3")

static void remove_lets_one_in(enum kind kind)
{
    struct fixture f;
    struct call calls[CROWD];

    fixture_open_queue(&f, kind, CROWD);
    fill(&f, CROWD);
    start_putters(calls, &f, CROWD);
    CHECK_INT(hora_queue_remove(f.queue, item(1)), 1);
    CHECK_RETURNS(&calls[0], 0);
    CHECK_BLOCKED(&calls[1]);
    CHECK_INT(hora_queue_remove(f.queue, item(SIZE)), 0);
    CHECK_BLOCKED(&calls[1]);
    CHECK_INTERRUPTIBLE(&calls[1]);
    CHECK_INTERRUPTIBLE(&calls[2]);
    CHECK_POLL(f.queue, item(0));
    CHECK_POLLS_RANGE(f.queue, 2, CROWD);
    fixture_close(&f);
}
BOUNDED_KINDS(remove_lets_one_in, "CP-Q3")

/* One in the middle gives up: those before and behind it are served as if it had never been there. */
static void one_who_gives_up_does_not_hold_up_the_others(enum kind kind)
{
    struct fixture f;
    struct call calls[CROWD];

    fixture_open_queue(&f, kind, SIZE);
    start_takers(calls, &f);
    CHECK_INTERRUPTIBLE(&calls[1]);
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_OK(hora_queue_offer(f.queue, item(1)));
    CHECK_TAKES(&calls[0], item(kind == SYNCHRONOUS ? 1 : 0));
    CHECK_TAKES(&calls[2], item(kind == SYNCHRONOUS ? 0 : 1));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
EVERY_KIND(one_who_gives_up_does_not_hold_up_the_others, "")

/* A putter that times out takes its element along, and the next in line gets the room. */
static void putter_that_gives_up_takes_its_element_along(enum kind kind)
{
    struct fixture f;
    struct call first, second;

    fixture_open_queue(&f, kind, 1);
    fill(&f, 1);
    start_offer_for(&first, &f, item(1), A_WHILE);
    CHECK_BLOCKED(&first);
    start_put(&second, &f, item(2));
    CHECK_BLOCKED(&second);
    CHECK_TIMES_OUT(&first, A_WHILE);
    CHECK_BLOCKED(&second);
    CHECK_POLL(f.queue, item(0));
    CHECK_RETURNS(&second, 0);
    CHECK_POLLS_RANGE(f.queue, 2, 2);
    fixture_close(&f);
}
BOUNDED_KINDS(putter_that_gives_up_takes_its_element_along, "")

/* An element arrives while the taker is interrupted: either the taker has it, with its interrupt still
 * pending, or the queue still has it. */
static void element_and_interrupt_at_once_lose_nothing(enum kind kind)
{
    struct fixture f;
    struct call take;

    fixture_open_queue(&f, kind, SIZE);
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(take.thread)));
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    if (RESULT_OF(&take) == 0) {
        CHECK_POINTER(take.item, item(0));
        CHECK(take.interrupted);
    } else {
        CHECK_ERROR(take.result, HORA_EINTERRUPTED);
        CHECK(!take.interrupted);
        CHECK_POLL(f.queue, item(0));
    }
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
ROOMY_KINDS(element_and_interrupt_at_once_lose_nothing, "")

/* The same with the end of the time instead of an interrupt. */
static void element_and_timeout_at_once_lose_nothing(enum kind kind)
{
    struct fixture f;
    struct call poll;

    fixture_open_queue(&f, kind, SIZE);
    start_poll_for(&poll, &f, A_WHILE);
    CHECK_BLOCKED(&poll);
    advance(&f, A_WHILE);
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    if (RESULT_OF(&poll) == 0) {
        CHECK_POINTER(poll.item, item(0));
    } else {
        CHECK_ERROR(poll.result, HORA_ETIMEDOUT);
        CHECK_POINTER(poll.item, untouched);
        CHECK_POLL(f.queue, item(0));
    }
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
ROOMY_KINDS(element_and_timeout_at_once_lose_nothing, "")

/* ---- interrupts first ---- */

static void taking_reports_an_interrupt_although_it_could_go_ahead(enum kind kind)
{
    struct fixture f;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, 2);
    CHECK_INTERRUPTED(hora_queue_take(f.queue, &got), &got);
    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_queue_poll_for(f.queue, any_timeout[i], &got), &got);
    CHECK_POLLS_RANGE(f.queue, 0, 1);
    fixture_close(&f);
}
ROOMY_KINDS(taking_reports_an_interrupt_although_it_could_go_ahead, "CP-Q1")

static void putting_reports_an_interrupt_although_there_is_room(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    CHECK_INTERRUPTED(hora_queue_put(f.queue, item(0)), NULL);
    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_queue_offer_for(f.queue, item(0), any_timeout[i]), NULL);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}
BOUNDED_KINDS(putting_reports_an_interrupt_although_there_is_room, "CP-Q1")
SHARED(unbounded_linked_queue, LINKED_UNBOUNDED, putting_reports_an_interrupt_although_there_is_room, "CP-Q1")

/* A partner waits already; the interrupt is still reported first, and the partner waits on. */
static void meeting_reports_an_interrupt_although_a_partner_waits(enum kind kind)
{
    struct fixture f;
    struct call call;
    void *got = untouched;

    fixture_open_queue(&f, kind, 0);
    start_take(&call, &f);
    CHECK_BLOCKED(&call);
    CHECK_INTERRUPTED(hora_queue_put(f.queue, item(0)), NULL);
    CHECK_INTERRUPTED(hora_queue_offer_for(f.queue, item(0), INT64_MAX), NULL);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_queue_offer(f.queue, item(1)));
    CHECK_TAKES(&call, item(1));

    start_put(&call, &f, item(2));
    CHECK_BLOCKED(&call);
    CHECK_INTERRUPTED(hora_queue_take(f.queue, &got), &got);
    CHECK_INTERRUPTED(hora_queue_poll_for(f.queue, INT64_MAX, &got), &got);
    CHECK_BLOCKED(&call);
    CHECK_POLL(f.queue, item(2));
    CHECK_RETURNS(&call, 0);
    fixture_close(&f);
}
SYNCHRONOUS_KINDS(meeting_reports_an_interrupt_although_a_partner_waits, "CP-Q1")

/* Calls that never block do not look at the flag and leave it alone. */
static void calls_that_never_block_ignore_interrupts(enum kind kind)
{
    struct fixture f;
    int size = is_synchronous(kind) ? 0 : 1;
    void *items[2], *got;

    fixture_open_queue(&f, kind, SIZE);
    interrupt_self();
    CHECK_ERROR(hora_queue_offer(f.queue, item(0)), size ? 0 : HORA_EFULL);
    CHECK_ERROR(hora_queue_peek(f.queue, &got), size ? 0 : HORA_EEMPTY);
    CHECK_INT(hora_queue_contains(f.queue, item(0)), size);
    CHECK_INT(hora_queue_snapshot(f.queue, items, 2), size);
    CHECK_INT(hora_queue_size(f.queue), size);
    CHECK_ERROR(hora_queue_poll(f.queue, &got), size ? 0 : HORA_EEMPTY);
    CHECK_INT(hora_queue_drain(f.queue, items, 2), 0);
    CHECK_INT(hora_queue_remove(f.queue, item(0)), 0);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK(hora_interrupted());
    fixture_close(&f);
}
EVERY_KIND(calls_that_never_block_ignore_interrupts, "CP-Q1")

static void inserting_ignores_interrupts(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    interrupt_self();
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    for (int i = 0; i < 5; i++)
        CHECK_OK(hora_queue_offer_for(f.queue, item(1 + i), any_timeout[i]));
    CHECK_OK(insert(&f, item(6)));
    CHECK(hora_interrupted());
    CHECK_INT(hora_queue_size(f.queue), 7);
    fixture_close(&f);
}
ORDERED_KINDS(inserting_ignores_interrupts, "CP-Q1")
