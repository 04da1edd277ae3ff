/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_close.c - closing and freeing a queue: who is woken, what can still be taken, what is dropped */
#include "rows.h"

static void close_wakes_waiting_takers(enum kind kind)
{
    struct fixture f;
    struct call take, poll;

    fixture_open_queue(&f, kind, SIZE);
    start_take(&take, &f);
    start_poll_for(&poll, &f, A_LONG_WHILE);
    CHECK_BLOCKED(&take);
    CHECK_BLOCKED(&poll);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_RETURNS(&take, HORA_ECLOSED);
    CHECK_RETURNS(&poll, HORA_ECLOSED);
    fixture_close(&f);
}
EVERY_KIND(close_wakes_waiting_takers, "")

/* However many there are. */
static void close_wakes_a_crowd(enum kind kind)
{
    enum { CROWD = 40 };
    struct fixture f;
    struct call calls[CROWD];

    fixture_open_queue(&f, kind, 1);
    for (int i = 0; i < CROWD; i++)
        start_take(&calls[i], &f);
    settle(&f);
    CHECK_OK(hora_queue_close(f.queue));
    for (int i = 0; i < CROWD; i++)
        CHECK_RETURNS(&calls[i], HORA_ECLOSED);
    fixture_close(&f);
}
SHARED(array_queue, ARRAY, close_wakes_a_crowd, "")
SHARED(synchronous_queue, SYNCHRONOUS, close_wakes_a_crowd, "")
SHARED(delay_queue, DELAY, close_wakes_a_crowd, "")

/* Their elements stay with their callers. */
static void close_wakes_waiting_putters(enum kind kind)
{
    struct fixture f;
    struct call put, offer;

    fixture_open_queue(&f, kind, 1);
    if (is_bounded(kind))
        fill(&f, 1);
    start_put(&put, &f, item(1));
    start_offer_for(&offer, &f, item(2), A_LONG_WHILE);
    CHECK_BLOCKED(&put);
    CHECK_BLOCKED(&offer);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_RETURNS(&put, HORA_ECLOSED);
    CHECK_RETURNS(&offer, HORA_ECLOSED);
    if (is_bounded(kind))
        CHECK_POLL(f.queue, item(0));
    CHECK_POLL_FAILS(f.queue, HORA_ECLOSED);
    fixture_close(&f);
}
BOUNDED_KINDS(close_wakes_waiting_putters, "")
SYNCHRONOUS_KINDS(close_wakes_waiting_putters, "")

static void closed_lets_nothing_in(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    CHECK_INT(hora_queue_is_closed(f.queue), 0);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_INT(hora_queue_is_closed(f.queue), 1);
    CHECK_ERROR(hora_queue_put(f.queue, item(0)), HORA_ECLOSED);
    CHECK_ERROR(hora_queue_offer(f.queue, item(0)), HORA_ECLOSED);
    for (int i = 0; i < 5; i++)
        CHECK_ERROR(hora_queue_offer_for(f.queue, item(0), any_timeout[i]), HORA_ECLOSED);
    CHECK_ERROR(insert(&f, item(0)), HORA_ECLOSED);
    CHECK_INT(hora_queue_size(f.queue), 0);
    fixture_close(&f);
}
EVERY_KIND(closed_lets_nothing_in, "")

/* A full one too: it is closed, not full. */
static void closed_and_full_reports_closed(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, 1);
    fill(&f, 1);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_ERROR(hora_queue_offer(f.queue, item(1)), HORA_ECLOSED);
    CHECK_ERROR(hora_queue_put(f.queue, item(1)), HORA_ECLOSED);
    CHECK_ERROR(hora_queue_offer_for(f.queue, item(1), HORA_FOREVER), HORA_ECLOSED);
    CHECK_POLL(f.queue, item(0));
    fixture_close(&f);
}
BOUNDED_KINDS(closed_and_full_reports_closed, "")

/* The elements in a closed queue can be taken with every call, in order; then each call reports that the
 * queue is closed. */
static void closed_gives_what_is_left_then_reports_closed(enum kind kind)
{
    struct fixture f;
    void *items[SIZE], *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, 5);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_INT(hora_queue_size(f.queue), 5);
    CHECK_PEEK(f.queue, item(0));
    CHECK_POLL(f.queue, item(0));
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK_POINTER(got, item(1));
    CHECK_OK(hora_queue_poll_for(f.queue, A_LONG_WHILE, &got));
    CHECK_POINTER(got, item(2));
    CHECK_INT(hora_queue_remove(f.queue, item(3)), 1);
    CHECK_INT(hora_queue_drain(f.queue, items, SIZE), 1);
    CHECK_POINTER(items[0], item(4));

    got = untouched;
    CHECK_ERROR(hora_queue_take(f.queue, &got), HORA_ECLOSED);
    for (int i = 0; i < 5; i++)
        CHECK_ERROR(hora_queue_poll_for(f.queue, any_timeout[i], &got), HORA_ECLOSED);
    CHECK_ERROR(hora_queue_peek(f.queue, &got), HORA_EEMPTY);
    CHECK_POINTER(got, untouched);
    CHECK_POLL_FAILS(f.queue, HORA_ECLOSED);
    CHECK_INT(hora_queue_drain(f.queue, items, SIZE), 0);
    CHECK_OK(hora_queue_clear(f.queue));
    fixture_close(&f);
}
ROOMY_KINDS(closed_gives_what_is_left_then_reports_closed, "")

static void closing_again_changes_nothing(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, 1);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_INT(hora_queue_is_closed(f.queue), 1);
    CHECK_POLL(f.queue, item(0));
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_POLL_FAILS(f.queue, HORA_ECLOSED);
    fixture_close(&f);
}
ROOMY_KINDS(closing_again_changes_nothing, "")

/* Still before it says that the queue is closed. */
static void closed_reports_a_pending_interrupt_first(enum kind kind)
{
    struct fixture f;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_INTERRUPTED(hora_queue_take(f.queue, &got), &got);
    CHECK_INTERRUPTED(hora_queue_poll_for(f.queue, 0, &got), &got);
    if (!is_ordered(kind)) {
        CHECK_INTERRUPTED(hora_queue_put(f.queue, item(0)), NULL);
        CHECK_INTERRUPTED(hora_queue_offer_for(f.queue, item(0), 0), NULL);
    }
    fixture_close(&f);
}
EVERY_KIND(closed_reports_a_pending_interrupt_first, "")

/* Nothing is due now, so nothing can be taken now; what becomes due later can. */
static void closed_delay_queue_gives_elements_when_due(enum kind kind)
{
    struct fixture f;
    struct call take;
    void *got = untouched;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    CHECK_OK(insert(&f, due_in(&f, 1, 20)));
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_RETURNS(&take, HORA_ECLOSED);
    CHECK_ERROR(hora_queue_take(f.queue, &got), HORA_ECLOSED);
    CHECK_ERROR(hora_queue_poll_for(f.queue, HORA_FOREVER, &got), HORA_ECLOSED);
    CHECK_POLL_FAILS(f.queue, HORA_ECLOSED);
    CHECK_PEEK(f.queue, item(0));
    CHECK_INT(hora_queue_size(f.queue), 2);
    advance(&f, 10);
    CHECK_POLL(f.queue, item(0));
    CHECK_POLL_FAILS(f.queue, HORA_ECLOSED);
    advance(&f, 10);
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK_POINTER(got, item(1));
    CHECK_POLL_FAILS(f.queue, HORA_ECLOSED);
    fixture_close(&f);
}
SHARED(delay_queue, DELAY, closed_delay_queue_gives_elements_when_due, "")
SHARED(asked_delay_queue, DELAY_ASKED, closed_delay_queue_gives_elements_when_due, "")

/* An element that has become due before the queue is closed belongs to the thread that waits for it. */
static void close_does_not_take_away_what_is_due(enum kind kind)
{
    struct fixture f;
    struct call first, second;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    start_take(&first, &f);
    CHECK_BLOCKED(&first);
    start_take(&second, &f);
    CHECK_BLOCKED(&second);
    advance(&f, 10);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_TAKES(&first, item(0));
    CHECK_RETURNS(&second, HORA_ECLOSED);
    fixture_close(&f);
}
SHARED(delay_queue, DELAY, close_does_not_take_away_what_is_due, "")
SHARED(asked_delay_queue, DELAY_ASKED, close_does_not_take_away_what_is_due, "")

/* The queue is freed before the woken threads have left their calls. */
static void can_be_freed_as_soon_as_it_is_closed(enum kind kind)
{
    struct fixture f;
    struct call take, poll;

    fixture_open_queue(&f, kind, SIZE);
    start_take(&take, &f);
    start_poll_for(&poll, &f, A_LONG_WHILE);
    CHECK_BLOCKED(&take);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_OK(hora_queue_free(f.queue));
    f.queue = NULL;
    CHECK_RETURNS(&take, HORA_ECLOSED);
    CHECK_RETURNS(&poll, HORA_ECLOSED);
    fixture_close(&f);
}
EVERY_KIND(can_be_freed_as_soon_as_it_is_closed, "")

/* The same with an interrupt and the end of the time coming at once: each reports one of the two. */
static void can_be_freed_while_its_waiters_give_up(enum kind kind)
{
    struct fixture f;
    struct call take, poll;
    int result;

    fixture_open_queue(&f, kind, SIZE);
    start_take(&take, &f);
    start_poll_for(&poll, &f, A_WHILE);
    CHECK_BLOCKED(&take);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(take.thread)));
    advance(&f, A_WHILE);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_OK(hora_queue_free(f.queue));
    f.queue = NULL;
    result = RESULT_OF(&take);
    CHECK(result == HORA_EINTERRUPTED || result == HORA_ECLOSED);
    CHECK_INT(take.interrupted, result == HORA_ECLOSED);
    result = RESULT_OF(&poll);
    CHECK(result == HORA_ETIMEDOUT || result == HORA_ECLOSED);
    fixture_close(&f);
}
EVERY_KIND(can_be_freed_while_its_waiters_give_up, "")

static void cannot_be_freed_while_takers_wait(enum kind kind)
{
    struct fixture f;
    struct call take;

    fixture_open_queue(&f, kind, SIZE);
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    CHECK_ERROR(hora_queue_free(f.queue), HORA_EBUSY);
    CHECK_BLOCKED(&take);
    CHECK_INT(hora_queue_is_closed(f.queue), 0);
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_TAKES(&take, item(0));
    fixture_close(&f);
}
EVERY_KIND(cannot_be_freed_while_takers_wait, "")

static void cannot_be_freed_while_putters_wait(enum kind kind)
{
    struct fixture f;
    struct call put;

    fixture_open_queue(&f, kind, 1);
    if (is_bounded(kind))
        fill(&f, 1);
    start_put(&put, &f, item(1));
    CHECK_BLOCKED(&put);
    CHECK_ERROR(hora_queue_free(f.queue), HORA_EBUSY);
    CHECK_BLOCKED(&put);
    if (is_bounded(kind))
        CHECK_POLL(f.queue, item(0));
    settle(&f);
    CHECK_POLL(f.queue, item(1));
    CHECK_RETURNS(&put, 0);
    fixture_close(&f);
}
BOUNDED_KINDS(cannot_be_freed_while_putters_wait, "")
SYNCHRONOUS_KINDS(cannot_be_freed_while_putters_wait, "")

/* ---- the destructor ---- */

static int drops[ELEMENTS];

static void count_drop(void *element)
{
    drops[((struct element *)element)->value]++;
}

static void open_dropping(struct fixture *f, enum kind kind)
{
    fixture_open(f);
    for (int i = 0; i < ELEMENTS; i++)
        drops[i] = 0;
    f->kind = kind;
    CHECK_OK(make_queue(f, kind, SIZE, count_drop, f->view, &f->queue));
}

/* Those left behind are dropped once each, those taken out by whatever way are not. */
static void check_drops(int first, int last)
{
    for (int i = 0; i < ELEMENTS; i++)
        CHECK_INT(drops[i], i >= first && i <= last);
}

static void free_drops_what_is_left(enum kind kind)
{
    struct fixture f;
    void *items[2], *got;

    open_dropping(&f, kind);
    fill(&f, SIZE);
    CHECK_POLL(f.queue, item(0));
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK_INT(hora_queue_remove(f.queue, item(2)), 1);
    CHECK_INT(hora_queue_drain(f.queue, items, 2), 2);
    check_drops(-1, -1);
    CHECK_OK(hora_queue_close(f.queue));
    check_drops(-1, -1);
    fixture_close(&f);
    check_drops(5, SIZE - 1);
}
ROOMY_KINDS(free_drops_what_is_left, "")

static void clear_drops_what_is_inside(enum kind kind)
{
    struct fixture f;

    open_dropping(&f, kind);
    CHECK_OK(hora_queue_clear(f.queue));
    fill(&f, 5);
    CHECK_POLL(f.queue, item(0));
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_EMPTY(f.queue);
    check_drops(1, 4);
    CHECK_OK(hora_queue_clear(f.queue));
    fixture_close(&f);
    check_drops(1, 4);
}
ROOMY_KINDS(clear_drops_what_is_inside, "")

/* Elements that were refused stay with the caller. */
static void refused_elements_are_not_dropped(enum kind kind)
{
    struct fixture f;

    open_dropping(&f, kind);
    fill(&f, 1);
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_ERROR(hora_queue_offer(f.queue, item(1)), HORA_ECLOSED);
    CHECK_ERROR(hora_queue_put(f.queue, item(2)), HORA_ECLOSED);
    fixture_close(&f);
    check_drops(0, 0);
}
ROOMY_KINDS(refused_elements_are_not_dropped, "")

/* Elements not yet due are dropped as well. */
TEST(delay_queue_drops_also_what_is_not_due, "")
{
    struct fixture f;

    open_dropping(&f, DELAY);
    CHECK_OK(insert(&f, due_in(&f, 0, A_LONG_WHILE)));
    CHECK_OK(hora_queue_put_delayed(f.queue, item(1), INT64_MAX));
    CHECK_OK(hora_queue_clear(f.queue));
    check_drops(0, 1);
    CHECK_OK(insert(&f, due_in(&f, 2, A_LONG_WHILE)));
    fixture_close(&f);
    check_drops(0, 2);
}

static hora_queue *queue_of_drop;
static int sizes_seen;

static void look_and_drop(void *element)
{
    count_drop(element);
    sizes_seen += hora_queue_size(queue_of_drop);
    CHECK_INT(hora_queue_contains(queue_of_drop, element), 0);
}

/* The destructor runs with no lock held, when the element is no longer inside. */
static void destructor_may_call_the_queue(enum kind kind)
{
    struct fixture f;

    open_dropping(&f, kind);
    CHECK_OK(hora_queue_free(f.queue));
    CHECK_OK(make_queue(&f, kind, SIZE, look_and_drop, f.view, &f.queue));
    queue_of_drop = f.queue;
    sizes_seen = 0;
    fill(&f, 3);
    CHECK_OK(hora_queue_clear(f.queue));
    check_drops(0, 2);
    CHECK_INT(sizes_seen, 0);
    fixture_close(&f);
}
ROOMY_KINDS(destructor_may_call_the_queue, "")

/* Threads that wait for room insert their elements while the old ones are dropped; the new ones are not
 * dropped. */
static void clear_does_not_drop_what_comes_in(enum kind kind)
{
    struct fixture f;
    struct call put;

    open_dropping(&f, kind);
    fill(&f, SIZE);
    start_put(&put, &f, item(SIZE));
    CHECK_BLOCKED(&put);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_RETURNS(&put, 0);
    check_drops(0, SIZE - 1);
    CHECK_POLLS_RANGE(f.queue, SIZE, SIZE);
    fixture_close(&f);
    check_drops(0, SIZE - 1);
}
BOUNDED_KINDS(clear_does_not_drop_what_comes_in, "")
