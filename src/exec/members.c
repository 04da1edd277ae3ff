/* SPDX-License-Identifier: Apache-2.0 */
/* members.c - the pending futures of a group or of a completion service, and walks over them
 *
 * Walks             The caller of a walk cancels or runs each member. That may end this member and others,
 *                   whose threads may take the object's lock. So a walk holds no lock between its steps and
 *                   keeps no pointer to a member: it finds its position again by number. Each step searches
 *                   from the end of the lists at which the walk began. It passes few members that were
 *                   visited already, because most members are removed when they are visited.
 * Seats             A future takes a seat under the lock, before it is submitted. Its bit in the row's word
 *                   is set from then on until it is done. The thread that completes it clears the bit without
 *                   the lock, as long as another bit of the row stays set. The thread that clears the last
 *                   bit takes the lock before: the object might be freed as soon as it has no members, and
 *                   threads that wait for this must be woken. So the lock is taken once per row and not
 *                   once per future.
 * Reserved seats    A thread that takes the first seat of a row sets the bits of all its seats, so that the
 *                   next ones need no atomic operation. A reserved seat keeps the row from being empty. So
 *                   before a thread waits for the end of all members, or examines whether there are any, it
 *                   gives up the reserved seats, and while it waits none are reserved.
 * Watching          A step of a walk must not let a future go that it is about to reference. It sets WATCHED,
 *                   under the lock, and reads the bits by the same operation. Until it clears the flag, each
 *                   future that leaves its seat needs the lock. A future with a set bit has the reference of
 *                   its seat.
 * Submission        A future is in its seat before the pool has accepted it, because afterwards it may be
 *                   done at any time. Until it is accepted, only the submitting thread may use it. So a walk
 *                   passes over it (is_placed).
 * Invariants        I1 a bit is set exactly while its seat is taken or reserved.
 *                   I2 every row in `rows` except `open` has a bit that is set.
 *                   I3 the bits of a row in `free_rows` are all clear. */
#include "exec/members.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"

/* SEATS: the bits of the seats in the word of a row. WATCHED: a walk examines the row. KEPT: how many
 * empty rows are kept for reuse. */
enum { SEATS = (1 << HORA__SEATS) - 1, WATCHED = 1 << 30, KEPT = HORA__KEPT(64, 1) };

static_assert(HORA__SEATS <= 30, "the flag is not the bit of a seat");

void hora__members_init(struct hora__members *members, struct hora__object *object,
                        void (*done)(hora_future *future))
{
    members->object = object;
    members->done = done;
    hora__list_init(&members->pending);
    members->count = 0;
    members->last_number = 0;
    hora__list_init(&members->rows);
    members->open = NULL;
    hora__list_init(&members->free_rows);
    members->free_count = 0;
}

void hora__members_destroy(struct hora__members *members)
{
    assert(members->count == 0);
    struct hora__list *lists[] = {&members->rows, &members->free_rows};
    for (int i = 0; i < 2; i++)
        while (!hora__list_is_empty(lists[i])) {
            struct hora__seat_row *row = HORA__LIST_ENTRY(lists[i]->next, struct hora__seat_row, link);
            assert(hora__atomic_load(&row->word) == 0);
            hora__list_remove(&row->link);
            hora__free(row);
        }
}

/* ---- listed members ---- */

void hora__members_add_locked(struct hora__members *members, struct hora__member *member)
{
    assert(hora__mutex_held(&members->object->lock));
    member->number = ++members->last_number;
    hora__list_add_last(&members->pending, &member->link);
    members->count++;
}

void hora__members_remove_locked(struct hora__members *members, struct hora__member *member)
{
    assert(hora__mutex_held(&members->object->lock) && members->count > 0);
    hora__list_remove(&member->link);
    members->count--;
}

/* ---- rows ---- */

/* Returns a row for the next seats: the open one, or a new one. NULL: out of memory. */
static struct hora__seat_row *open_row_locked(struct hora__members *members)
{
    assert(hora__mutex_held(&members->object->lock));
    struct hora__seat_row *row = members->open;
    if (row != NULL)
        return row;
    if (!hora__list_is_empty(&members->free_rows)) {
        row = HORA__LIST_ENTRY(members->free_rows.next, struct hora__seat_row, link);
        hora__list_remove(&row->link);
        members->free_count--;
    } else if ((row = hora__alloc_lines(sizeof *row)) == NULL) {
        return NULL;
    }
    hora__atomic_init(&row->word, 0);
    row->members = members;
    row->used = row->reserved = 0;
    hora__list_add_last(&members->rows, &row->link);
    return members->open = row;
}

/* Called when the last bit of a row was cleared: begins the open row anew, and keeps or frees another. */
static void empty_row_locked(struct hora__members *members, struct hora__seat_row *row)
{
    assert(hora__mutex_held(&members->object->lock) && hora__atomic_load(&row->word) == 0);
    if (row == members->open) {
        row->used = row->reserved = 0;
        return;
    }
    hora__list_remove(&row->link); /* I2 */
    if (members->free_count < KEPT) {
        hora__list_add_last(members->free_rows.next, &row->link); /* in front of the first */
        members->free_count++;
    } else {
        hora__free(row);
    }
}

/* Clears bits that are set. */
static void clear_locked(struct hora__members *members, struct hora__seat_row *row, int32_t bits)
{
    assert(hora__mutex_held(&members->object->lock));
    int32_t before = hora__atomic_add(&row->word, -bits);
    assert((before & bits) == bits && (before & WATCHED) == 0); /* I1 */
    if (before == bits)
        empty_row_locked(members, row);
}

/* Returns the bits of the seats from `from` to `to` - 1. */
static int32_t bits_of(int from, int to)
{
    assert(from >= 0 && from <= to && to <= HORA__SEATS);
    return (int32_t)((1U << to) - (1U << from));
}

/* ---- seated members ---- */

int hora__members_seat_locked(struct hora__members *members, hora_future *future, bool reserves)
{
    assert(hora__mutex_held(&members->object->lock) && future->kind == HORA__FUTURE_PLAIN);
    assert(hora__atomic_load(&future->object.references) == 1);
    struct hora__seat_row *row = open_row_locked(members);
    if (row == NULL)
        return HORA_ENOMEM;
    int seat = row->used++;
    if (seat == row->reserved) {
        row->reserved = reserves ? HORA__SEATS : seat + 1;
        (void)hora__atomic_add(&row->word, bits_of(seat, row->reserved)); /* I1 */
    }
    if (row->used == HORA__SEATS)
        members->open = NULL;
    row->futures[seat] = future;
    row->numbers[seat] = ++members->last_number;
    future->kind = HORA__FUTURE_SEATED;
    hora__future_seat(future)->row = row;
    hora__future_seat(future)->number = seat;
    hora__atomic_init(&hora__future_seat(future)->is_placed, 0);
    hora__atomic_init(&future->object.references, 2);
    return 0;
}

/* Must release: a walk that sees the flag uses the future. */
void hora__members_placed(hora_future *future)
{
    assert(hora__atomic_load(&future->object.references) >= 1);
    hora__atomic_publish(&hora__future_seat(future)->is_placed, 1);
}

void hora__members_unreserve_locked(struct hora__members *members)
{
    assert(hora__mutex_held(&members->object->lock));
    struct hora__seat_row *row = members->open;
    if (row == NULL || row->used == row->reserved)
        return;
    int32_t bits = bits_of(row->used, row->reserved);
    row->reserved = row->used;
    clear_locked(members, row, bits);
}

/* Must acquire and release: what the tasks of the row did is visible to the thread that clears the last
 * bit, and from there to threads that wait for that. */
bool hora__members_leave(struct hora__seat_row *row, int seat)
{
    int32_t bit = bits_of(seat, seat + 1);
    for (;;) {
        int32_t word = hora__atomic_load(&row->word);
        int32_t rest = word - bit;
        assert((word & bit) != 0); /* I1 */
        if ((rest & SEATS) == 0 && !HORA__FAULT(MEMBER_LEAVES_LAST_UNLOCKED))
            return false;
        if ((rest & WATCHED) != 0 && !HORA__FAULT(MEMBER_LEAVES_UNWATCHED))
            return false;
        HORA__ORDER_FAULT(MEMBER_LEFT_RELAXED, memory_order_relaxed);
        if (hora__atomic_cas(&row->word, word, rest))
            return true;
    }
}

void hora__members_leave_locked(struct hora__seat_row *row, int seat)
{
    assert(hora__mutex_held(&row->members->object->lock));
    clear_locked(row->members, row, bits_of(seat, seat + 1));
}

/* ---- how many ---- */

/* I2: only the open row can be without a bit. */
bool hora__members_seats_are_free_locked(const struct hora__members *members)
{
    assert(hora__mutex_held(&members->object->lock));
    if (hora__list_is_empty(&members->rows))
        return true;
    const struct hora__seat_row *open = members->open;
    return open != NULL && members->rows.next == &open->link && hora__atomic_load(&open->word) == 0;
}

bool hora__members_are_none_locked(const struct hora__members *members)
{
    assert(hora__mutex_held(&members->object->lock));
    return members->count == 0 && hora__members_seats_are_free_locked(members);
}

int hora__members_count_locked(const struct hora__members *members)
{
    assert(hora__mutex_held(&members->object->lock));
    int count = members->count;
    for (struct hora__list *link = members->rows.next; link != &members->rows; link = link->next) {
        const struct hora__seat_row *row = HORA__LIST_ENTRY(link, struct hora__seat_row, link);
        int32_t bits = hora__atomic_load(&row->word) & ~bits_of(row->used, row->reserved);
        count += __builtin_popcount((uint32_t)bits);
    }
    return count;
}

/* ---- walks ---- */

struct hora__walk hora__walk_forth_locked(const struct hora__members *members)
{
    assert(hora__mutex_held(&members->object->lock));
    return (struct hora__walk){.back = false, .at = 0, .end = members->last_number};
}

struct hora__walk hora__walk_back_locked(const struct hora__members *members)
{
    assert(hora__mutex_held(&members->object->lock));
    return (struct hora__walk){.back = true, .at = members->last_number + 1};
}

/* A member that a walk may visit next. */
struct candidate {
    hora_future *future; /* NULL: none; else with a reference */
    uint64_t number;
};

/* Returns whether the walk has still to visit a member with this number. */
static bool is_ahead(const struct hora__walk *walk, uint64_t number)
{
    return walk->back ? number < walk->at : number > walk->at && number <= walk->end;
}

/* Returns the next listed member of a walk. */
static struct candidate next_listed_locked(const struct hora__members *members, const struct hora__walk *walk)
{
    assert(hora__mutex_held(&members->object->lock));
    const struct hora__list *all = &members->pending;
    for (struct hora__list *link = walk->back ? all->prev : all->next; link != all;
         link = walk->back ? link->prev : link->next) {
        const struct hora__member *member = HORA__LIST_ENTRY(link, struct hora__member, link);
        if (is_ahead(walk, member->number))
            return (struct candidate){hora_future_ref(member->future), member->number};
    }
    return (struct candidate){NULL, 0};
}

/* Returns the next member of a walk in one row. While WATCHED is set, each future whose bit is set keeps
 * the reference of its seat. */
static struct candidate next_in_row_locked(struct hora__seat_row *row, const struct hora__walk *walk)
{
    assert(hora__mutex_held(&row->members->object->lock));
    struct candidate found = {NULL, 0};
    int32_t word = hora__atomic_add(&row->word, WATCHED);
    for (int i = 0; i < row->used && found.future == NULL; i++) {
        int seat = walk->back ? row->used - 1 - i : i;
        if ((word & (int32_t)(1U << seat)) == 0 || !is_ahead(walk, row->numbers[seat]))
            continue;
        hora_future *future = row->futures[seat];
        if (hora__atomic_load(&hora__future_seat(future)->is_placed) || HORA__FAULT(WALK_VISITS_UNPLACED))
            found = (struct candidate){hora_future_ref(future), row->numbers[seat]};
    }
    (void)hora__atomic_add(&row->word, -WATCHED);
    return found;
}

/* Returns the next seated member of a walk. */
static struct candidate next_seated_locked(const struct hora__members *members, const struct hora__walk *walk)
{
    assert(hora__mutex_held(&members->object->lock));
    const struct hora__list *all = &members->rows;
    struct candidate found = {NULL, 0};
    for (struct hora__list *link = walk->back ? all->prev : all->next; link != all && found.future == NULL;
         link = walk->back ? link->prev : link->next)
        found = next_in_row_locked(HORA__LIST_ENTRY(link, struct hora__seat_row, link), walk);
    return found;
}

/* Of the next listed and the next seated member, visits the one that was added last (back) or first
 * (forth). */
hora_future *hora__walk_next(struct hora__members *members, struct hora__walk *walk)
{
    assert(!hora__mutex_held(&members->object->lock));
    hora__mutex_lock(&members->object->lock);
    struct candidate one = next_listed_locked(members, walk);
    struct candidate other = next_seated_locked(members, walk);
    hora__mutex_unlock(&members->object->lock);
    bool takes_one =
        other.future == NULL || (one.future != NULL && (one.number > other.number) == walk->back);
    struct candidate next = takes_one ? one : other;
    (void)hora_future_unref(takes_one ? other.future : one.future);
    if (next.future != NULL)
        walk->at = next.number;
    return next.future;
}
