/* SPDX-License-Identifier: Apache-2.0 */
/* rows_alone.c - promises shared by several kinds of queue, tested with one thread */
#include "rows.h"

static int room(struct fixture *f)
{
    return hora_queue_remaining_capacity(f->queue);
}

void add_makes_the_size_grow(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CHECK_INT(hora_queue_size(f.queue), i);
        CHECK_OK(insert(&f, item(i)));
    }
    CHECK_INT(hora_queue_size(f.queue), SIZE);
    CHECK_POLLS_RANGE(f.queue, 0, SIZE - 1);
    fixture_close(&f);
}

void put_inserts_each_element(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CHECK_INT(hora_queue_contains(f.queue, item(i)), 0);
        CHECK_OK(hora_queue_put(f.queue, item(i)));
        CHECK_INT(hora_queue_contains(f.queue, item(i)), 1);
    }
    CHECK_INT(hora_queue_size(f.queue), SIZE);
    CHECK_INT(room(&f), is_bounded(kind) ? 0 : HORA_UNBOUNDED);
    CHECK_POLLS_RANGE(f.queue, 0, SIZE - 1);
    fixture_close(&f);
}

void take_gives_all_in_order(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    for (int i = 0; i < SIZE; i++) {
        void *got = untouched;
        CHECK_OK(hora_queue_take(f.queue, &got));
        CHECK_POINTER(got, item(i));
    }
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

void poll_gives_all_in_order(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CHECK_INT(hora_queue_size(f.queue), SIZE - i);
        CHECK_POLL(f.queue, item(i));
    }
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

void poll_for_zero_is_poll(enum kind kind)
{
    struct fixture f;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CHECK_OK(hora_queue_poll_for(f.queue, 0, &got));
        CHECK_POINTER(got, item(i));
    }
    got = untouched;
    CHECK_ERROR(hora_queue_poll_for(f.queue, 0, &got), HORA_ETIMEDOUT);
    CHECK_POINTER(got, untouched);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

void peek_shows_the_head_and_keeps_it(enum kind kind)
{
    struct fixture f;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CHECK_PEEK(f.queue, item(i));
        CHECK_PEEK(f.queue, item(i));
        CHECK_INT(hora_queue_size(f.queue), SIZE - i);
        CHECK_POLL(f.queue, item(i));
    }
    CHECK_ERROR(hora_queue_peek(f.queue, &got), HORA_EEMPTY);
    CHECK_POINTER(got, untouched);
    fixture_close(&f);
}

/* Elements are the same if they are the same pointer: one of equal value is another one. */
void contains_knows_what_is_inside(enum kind kind)
{
    struct fixture f;
    struct element twin;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    for (int i = 0; i < SIZE; i++) {
        twin = *item(i);
        CHECK_INT(hora_queue_contains(f.queue, &twin), 0);
        CHECK_INT(hora_queue_contains(f.queue, item(i)), 1);
        CHECK_POLL(f.queue, item(i));
        CHECK_INT(hora_queue_contains(f.queue, item(i)), 0);
    }
    CHECK_INT(hora_queue_contains(f.queue, NULL), 0);
    fixture_close(&f);
}

void clear_empties_and_the_queue_goes_on(enum kind kind)
{
    struct fixture f;
    const int all = is_bounded(kind) ? SIZE : HORA_UNBOUNDED;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_EMPTY(f.queue);
    CHECK_INT(room(&f), all);
    CHECK_OK(insert(&f, item(1)));
    CHECK_INT(hora_queue_size(f.queue), 1);
    CHECK_INT(hora_queue_contains(f.queue, item(1)), 1);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_EMPTY(f.queue);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_INT(room(&f), all);
    fill(&f, SIZE);
    CHECK_POLLS_RANGE(f.queue, 0, SIZE - 1);
    fixture_close(&f);
}

/* items[] has elements 0 to n - 1, each once; in this order unless the queue orders its elements itself. */
static void check_all_there(void *const *items, int n, enum kind kind)
{
    bool seen[ELEMENTS] = {false};

    for (int i = 0; i < n; i++) {
        const struct element *e = items[i];
        if (!is_ordered(kind))
            CHECK_POINTER(e, item(i));
        if (e < item(0) || e >= item(0) + n || seen[e->value]) {
            test_fail(__FILE__, __LINE__, "element %d of %d is foreign or comes twice", i, n);
            return;
        }
        seen[e->value] = true;
    }
}

/* With more than enough room, with exactly enough, and with too little: the result is always the number of
 * elements. */
void snapshot_copies_all(enum kind kind)
{
    struct fixture f;
    void *items[SIZE + 2];

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    for (int i = 0; i < SIZE + 2; i++)
        items[i] = untouched;
    CHECK_INT(hora_queue_snapshot(f.queue, items, SIZE + 2), SIZE);
    check_all_there(items, SIZE, kind);
    CHECK_POINTER(items[SIZE], NULL);
    CHECK_POINTER(items[SIZE + 1], untouched);

    items[SIZE] = untouched;
    CHECK_INT(hora_queue_snapshot(f.queue, items, SIZE), SIZE);
    check_all_there(items, SIZE, kind);
    CHECK_POINTER(items[SIZE], untouched);

    items[0] = items[1] = untouched;
    CHECK_INT(hora_queue_snapshot(f.queue, items, 1), SIZE);
    CHECK(items[0] != untouched);
    CHECK_POINTER(items[1], untouched);
    CHECK_INT(hora_queue_snapshot(f.queue, NULL, 0), SIZE);
    CHECK_POLLS_RANGE(f.queue, 0, SIZE - 1);
    fixture_close(&f);
}

struct visits {
    hora_queue *queue;
    void *items[ELEMENTS];
    int count;
    void *victim; /* what to remove when it is seen; NULL: all */
};

static int note_visit(void *element, void *context)
{
    struct visits *visits = context;

    if (visits->count < ELEMENTS)
        visits->items[visits->count] = element;
    visits->count++;
    return 0;
}

void for_each_visits_all(enum kind kind)
{
    struct fixture f;
    struct visits visits = {0};

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    CHECK_OK(hora_queue_for_each(f.queue, note_visit, &visits));
    if (CHECK_INT(visits.count, SIZE))
        check_all_there(visits.items, SIZE, kind);
    CHECK_POLLS_RANGE(f.queue, 0, SIZE - 1);
    fixture_close(&f);
}

void for_each_of_an_empty_queue_visits_nothing(enum kind kind)
{
    struct fixture f;
    struct visits visits = {0};

    fixture_open_queue(&f, kind, SIZE);
    CHECK_OK(hora_queue_for_each(f.queue, note_visit, &visits));
    CHECK_INT(visits.count, 0);
    fixture_close(&f);
}

static int remove_visit(void *element, void *context)
{
    struct visits *visits = context;

    visits->count++;
    if (!visits->victim || visits->victim == element)
        CHECK_INT(hora_queue_remove(visits->queue, element), 1);
    return 0;
}

/* Elements 2, 1, 3 are put. The visitor removes the first in the queue's own order; the others stay in
 * order. */
void visitor_may_remove_what_it_sees(enum kind kind)
{
    struct fixture f;
    int first = is_ordered(kind) ? 1 : 2;
    struct visits visits = {.victim = item(first)};

    fixture_open_queue(&f, kind, 3);
    visits.queue = f.queue;
    CHECK_OK(insert(&f, item(2)));
    CHECK_OK(insert(&f, item(1)));
    CHECK_OK(insert(&f, item(3)));
    CHECK_OK(hora_queue_for_each(f.queue, remove_visit, &visits));
    CHECK_INT(visits.count, 3);
    CHECK_POLL(f.queue, item(3 - first));
    CHECK_POLL(f.queue, item(3));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

void drain_moves_all_in_order(enum kind kind)
{
    struct fixture f;
    void *items[SIZE + 1];

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    items[SIZE] = untouched;
    CHECK_INT(hora_queue_drain(f.queue, items, SIZE + 1), SIZE);
    for (int i = 0; i < SIZE; i++)
        CHECK_POINTER(items[i], item(i));
    CHECK_POINTER(items[SIZE], untouched);
    CHECK_EMPTY(f.queue);

    CHECK_OK(insert(&f, item(0)));
    CHECK_OK(insert(&f, item(1)));
    CHECK_INT(hora_queue_contains(f.queue, item(0)), 1);
    CHECK_INT(hora_queue_contains(f.queue, item(1)), 1);
    CHECK_INT(hora_queue_drain(f.queue, items, INT_MAX), 2);
    CHECK_POINTER(items[0], item(0));
    CHECK_POINTER(items[1], item(1));
    CHECK_EMPTY(f.queue);
    CHECK_INT(hora_queue_drain(f.queue, items, SIZE), 0);
    fixture_close(&f);
}

void drain_moves_at_most_max(enum kind kind)
{
    struct fixture f;
    void *items[SIZE + 2];

    fixture_open_queue(&f, kind, SIZE);
    for (int max = 0; max < SIZE + 2; max++) {
        int expect = max < SIZE ? max : SIZE;
        fill(&f, SIZE);
        for (int i = 0; i < SIZE + 2; i++)
            items[i] = untouched;
        CHECK_INT(hora_queue_drain(f.queue, items, max), expect);
        for (int i = 0; i < SIZE + 2; i++)
            CHECK_POINTER(items[i], i < expect ? (void *)item(i) : untouched);
        CHECK_INT(hora_queue_size(f.queue), SIZE - expect);
        CHECK_POLLS_RANGE(f.queue, expect, SIZE - 1);
    }
    fixture_close(&f);
}

/* The same pointer may be inside several times; its first occurrence is removed. */
void remove_takes_the_first_of_several(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, 4);
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_OK(hora_queue_offer(f.queue, item(1)));
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_INT(hora_queue_remove(f.queue, item(0)), 1);
    CHECK_INT(hora_queue_contains(f.queue, item(0)), 1);
    CHECK_POLL(f.queue, item(1));
    CHECK_POLL(f.queue, item(0));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

/* ---- bounded ---- */

void is_full_at_its_capacity(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, 2);
    CHECK_EMPTY(f.queue);
    CHECK_INT(room(&f), 2);
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_INT(hora_queue_size(f.queue), 1);
    CHECK_INT(room(&f), 1);
    CHECK_OK(hora_queue_offer(f.queue, item(1)));
    CHECK_INT(hora_queue_size(f.queue), 2);
    CHECK_INT(room(&f), 0);
    CHECK_ERROR(hora_queue_offer(f.queue, item(2)), HORA_EFULL);
    CHECK_POLLS_RANGE(f.queue, 0, 1);
    fixture_close(&f);
}

void offer_refuses_when_full(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, 1);
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_ERROR(hora_queue_offer(f.queue, item(1)), HORA_EFULL);
    CHECK_INT(hora_queue_contains(f.queue, item(1)), 0);
    CHECK_POLLS_RANGE(f.queue, 0, 0);
    fixture_close(&f);
}

void size_and_room_make_up_the_capacity(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CHECK_INT(room(&f), i);
        CHECK_INT(hora_queue_size(f.queue) + room(&f), SIZE);
        CHECK_POLL(f.queue, item(i));
    }
    for (int i = 0; i < SIZE; i++) {
        CHECK_INT(room(&f), SIZE - i);
        CHECK_INT(hora_queue_size(f.queue) + room(&f), SIZE);
        CHECK_OK(hora_queue_offer(f.queue, item(i)));
    }
    CHECK_INT(room(&f), 0);
    fixture_close(&f);
}

void add_refuses_beyond_the_capacity(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    for (int i = 0; i < SIZE; i++)
        CHECK_OK(hora_queue_offer(f.queue, item(i)));
    CHECK_INT(room(&f), 0);
    CHECK_ERROR(hora_queue_offer(f.queue, item(SIZE)), HORA_EFULL);
    CHECK_INT(hora_queue_size(f.queue), SIZE);
    CHECK_INT(hora_queue_contains(f.queue, item(SIZE)), 0);
    CHECK_POLLS_RANGE(f.queue, 0, SIZE - 1);
    fixture_close(&f);
}

void for_each_keeps_the_order(enum kind kind)
{
    struct fixture f;
    struct visits visits = {0};

    fixture_open_queue(&f, kind, 3);
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_queue_offer(f.queue, item(i)));
    CHECK_INT(room(&f), 0);
    CHECK_OK(hora_queue_for_each(f.queue, note_visit, &visits));
    CHECK_INT(visits.count, 3);
    for (int i = 0; i < 3; i++)
        CHECK_POINTER(visits.items[i], item(i));
    fixture_close(&f);
}

void visitor_may_empty_the_queue(enum kind kind)
{
    struct fixture f;
    struct visits visits = {0};

    fixture_open_queue(&f, kind, 3);
    visits.queue = f.queue;
    fill(&f, 3);
    CHECK_OK(hora_queue_for_each(f.queue, remove_visit, &visits));
    CHECK_INT(visits.count, 3);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

/* ---- ordered ---- */

void empties_after_as_many_polls_as_puts(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    CHECK_EMPTY(f.queue);
    CHECK_INT(room(&f), HORA_UNBOUNDED);
    CHECK_OK(insert(&f, item(1)));
    CHECK_INT(hora_queue_size(f.queue), 1);
    CHECK_OK(insert(&f, item(0)));
    CHECK_INT(hora_queue_size(f.queue), 2);
    CHECK_POLL(f.queue, item(0));
    CHECK_POLL(f.queue, item(1));
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

void room_is_always_unbounded(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CHECK_INT(room(&f), HORA_UNBOUNDED);
        CHECK_INT(hora_queue_size(f.queue), SIZE - i);
        CHECK_POLL(f.queue, item(i));
    }
    for (int i = 0; i < SIZE; i++) {
        CHECK_INT(room(&f), HORA_UNBOUNDED);
        CHECK_INT(hora_queue_size(f.queue), i);
        CHECK_OK(insert(&f, item(i)));
    }
    fixture_close(&f);
}

/* Also far beyond the room that was made at first. */
void offer_always_succeeds(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, 1);
    for (int i = 0; i < ELEMENTS; i++)
        CHECK_OK(hora_queue_offer(f.queue, item(i)));
    CHECK_INT(hora_queue_size(f.queue), ELEMENTS);
    CHECK_POLLS_RANGE(f.queue, 0, ELEMENTS - 1);
    fixture_close(&f);
}

/* put and every timed offer return at once, whatever the timeout, since there is always room. */
void inserting_never_waits(enum kind kind)
{
    struct fixture f;
    void *got = untouched;

    fixture_open_queue(&f, kind, 2);
    for (int i = 0; i < 4; i++)
        CHECK_OK(hora_queue_put(f.queue, item(i)));
    for (int i = 0; i < 5; i++)
        CHECK_OK(hora_queue_offer_for(f.queue, item(4 + i), any_timeout[i]));
    CHECK_INT(hora_queue_size(f.queue), 9);
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK_POINTER(got, item(0));
    CHECK_POLLS_RANGE(f.queue, 1, 8);
    fixture_close(&f);
}

/* ---- all kinds ---- */

void never_contains_null(enum kind kind)
{
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    CHECK_INT(hora_queue_contains(f.queue, NULL), 0);
    CHECK_INT(hora_queue_remove(f.queue, NULL), 0);
    if (!is_synchronous(kind)) {
        fill(&f, 3);
        CHECK_INT(hora_queue_contains(f.queue, NULL), 0);
        CHECK_INT(hora_queue_remove(f.queue, NULL), 0);
        CHECK_POLLS_RANGE(f.queue, 0, 2);
    }
    fixture_close(&f);
}
