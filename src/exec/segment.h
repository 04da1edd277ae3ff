/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - a block of queued tasks in a backlog, from which workers can take without a lock
 *
 * Slots             Each task moves from the cache of one processor to that of another, which is its main
 *                   cost. So a slot is small: it holds an element, or the argument of a detached task and the
 *                   number of the task's form. The form is the rest of the task: its functions, its name and
 *                   its call site. Tasks from one call site share a form, so most segments need only a few.
 *                   A segment has room for these itself. It allocates a larger table when it needs one, and
 *                   keeps it: then there is room for a form of each slot. A small hash table finds the form
 *                   of a task. Two forms with the same place in it displace each other, and a form that is
 *                   not found is added a second time. That wastes a place but costs no search.
 * How it works      A thread that holds the queue's lock offers the entries of a segment from an index up to
 *                   a limit. One atomic word holds both numbers. Each holder of the segment claims the next
 *                   entry by adding 1 to the word. A recall exchanges the word for 0, and so takes back all
 *                   entries that have not been claimed: each entry is either claimed by exactly one holder or
 *                   recalled. A claim at or beyond the limit is void, and its holder takes the queue's lock.
 * Holding           A holder reads an entry after it has claimed it, and may try to claim one after a recall
 *                   it does not know of. So a segment is neither reused nor freed while a worker holds it.
 *                   Beginning and ending to hold a segment needs the queue's lock, once for many entries.
 * Invariants        I1 only holders make claims and read claimed entries.
 *                   I2 entries that are offered or have been claimed do not change.
 *                   I3 the index in the word exceeds the limit by at most the number of holders. A holder
 *                      whose claim was void takes the queue's lock before it tries again; there the word is
 *                      rewritten, or the holder releases the segment. */
#ifndef HORA_EXEC_SEGMENT_H
#define HORA_EXEC_SEGMENT_H

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/build.h"
#include "base/fault.h"
#include "exec/work_source.h"
#include "sys/alloc.h"
#include "sys/atomic.h"
#include "sys/free_list.h"

enum {
    HORA__SLOTS = 128,                     /* entries per segment */
    HORA__FORMS = 16,                      /* forms in a segment itself */
    HORA__FORMS_MOST = 144,                /* forms in the table that it allocates when it needs more */
    HORA__FORM_PLACES = HORA__KEPT(64, 2), /* of the hash table */
    HORA__LIMIT_SHIFT = 23,                /* in the word `claims`: the limit lies above the index */
    HORA__INDEX_MASK = (1 << HORA__LIMIT_SHIFT) - 1,
};

/* One entry: an element, a detached task, or a hole. */
struct hora__slot {
    void *value;  /* the element, or the argument of the detached task; NULL with form 0: a hole */
    short form;   /* the number of the task's form in this segment, from 1 on; 0: not a detached task */
    bool stamped; /* the detached task has a stamp, in came[] */
};

/* Slots, forms and stamps are written under the inbox's lock while the segment is in the inbox, and under the
 * queue's lock while it is in the container. */
struct hora__segment {
    struct hora__segment *next; /* in the chain of the inbox or container, or in the free list */
    hora_task *forms;           /* own_forms, or a larger table; their `arg` is not used */
    uint16_t offset;            /* in its chunk, see sys/free_list.h; immutable */
    bool retired;               /* it has left the chain: the last holder gives it back; as `holders` */
    int form_count;             /* how many forms are in use */
    int holders;                /* workers that hold it; guarded by the queue's lock */
    char apart[36];             /* `claims`, which changes with each task taken, has a cache line to itself */
    hora__atomic claims;        /* the limit, and the index of the first entry that has not been claimed */
    char apart_too[60];
    /* The hash table, of which HORA__FORM_PLACES are used: at each place the number of the form that was
     * added last; 0: none. */
    unsigned char form_at[HORA__CACHE_LINE];
    hora_task own_forms[HORA__FORMS];
    struct hora__slot slots[HORA__SLOTS];
    int64_t came[HORA__SLOTS]; /* of slots that are stamped: see struct hora__offer */
};

static_assert(sizeof(void *) != 8 || (offsetof(struct hora__segment, claims) == HORA__CACHE_LINE &&
                                      offsetof(struct hora__segment, slots) % HORA__CACHE_LINE == 0 &&
                                      sizeof(struct hora__slot) == 16),
              "cache lines");
static_assert(HORA__FORMS_MOST <= UCHAR_MAX, "form_at holds the number of any form");
static_assert(HORA__FORMS_MOST >= HORA__FORMS / 2 + HORA__SLOTS,
              "there is room for a form of each slot, also if some forms were left when it was filled");

static inline bool hora__slot_is_hole(const struct hora__slot *slot)
{
    return slot->value == NULL && slot->form == 0;
}

/* Stores an element in a slot; NULL makes it a hole. */
static inline void hora__slot_set_item(struct hora__slot *slot, void *item)
{
    HORA__WEAK_PLAIN_WRITE(slot);
    *slot = (struct hora__slot){.value = item};
}

/* Removes all forms from a segment in which no entry needs them. */
static inline void hora__segment_clear_forms(struct hora__segment *segment)
{
    segment->form_count = 0;
    memset(segment->form_at, 0, sizeof segment->form_at);
}

/* Makes a segment empty: no entry is offered, no worker holds it, and it has no forms. It keeps its larger
 * table. */
static inline void hora__segment_init(struct hora__segment *segment)
{
    segment->next = NULL;
    segment->holders = 0;
    segment->retired = false;
    hora__segment_clear_forms(segment);
    hora__atomic_init(&segment->claims, 0);
}

/* ---- tasks ---- */

/* Returns whether a task differs from a form in nothing but its argument. */
static inline bool hora__form_fits(const hora_task *form, const hora_task *task)
{
    return form->run == task->run && form->line == task->line && form->file == task->file &&
           form->name == task->name && form->drop == task->drop && form->drop_result == task->drop_result;
}

/* Replaces the segment's own table by a larger one, which it keeps. Returns false if it has one, or if there
 * is no memory. Not inlined, because few segments need it. */
__attribute__((noinline)) static bool hora__segment_grow_forms(struct hora__segment *segment)
{
    assert(segment->form_count >= HORA__FORMS);
    if (segment->forms != segment->own_forms)
        return false;
    hora_task *larger = hora__pages_alloc(HORA__FORMS_MOST * sizeof *larger);
    if (larger == NULL)
        return false;
    memcpy(larger, segment->own_forms, sizeof segment->own_forms);
    segment->forms = larger;
    return true;
}

/* Adds a form to a segment. Returns its number, from 1 on; 0 if there is no room, or no memory for more. */
static inline int hora__segment_add_form(struct hora__segment *segment, const hora_task *task)
{
    int room = segment->forms == segment->own_forms ? HORA__FORMS : HORA__FORMS_MOST;
    assert(segment->form_count >= 0 && segment->form_count <= room);
    if (segment->form_count == room && !hora__segment_grow_forms(segment))
        return 0;
    segment->forms[segment->form_count] = *task;
    return ++segment->form_count;
}

/* Returns the place of a task's form in the hash table. */
static inline unsigned hora__form_place(const hora_task *task)
{
    uintptr_t mixed = (uintptr_t)task->run / 16 + (uintptr_t)task->name + (uintptr_t)task->line;
    return ((uint32_t)mixed * UINT32_C(0x9e3779b1) >> 16) % HORA__FORM_PLACES;
}

/* Returns the number of a task's form in a segment from which no thread takes, by the hash table; adds the
 * form if it is not found. Returns 0 if there is no room for it. */
static inline int hora__segment_look_up_form(struct hora__segment *segment, const hora_task *task)
{
    unsigned char *at = &segment->form_at[hora__form_place(task)];
    assert(*at <= segment->form_count);
    if (*at > 0 && (hora__form_fits(&segment->forms[*at - 1], task) || HORA__FAULT(BACKLOG_FORM_BY_PLACE)))
        return *at;
    int number = hora__segment_add_form(segment, task);
    if (number > 0)
        *at = (unsigned char)number;
    return number;
}

/* The same. `guess` is the number to try first, or 0. Inlined: most tasks have the form of the one before. */
HORA__INLINE int hora__segment_form(struct hora__segment *segment, const hora_task *task, int guess)
{
    assert(guess >= 0 && guess <= segment->form_count);
    if (guess > 0 && (hora__form_fits(&segment->forms[guess - 1], task) || HORA__FAULT(BACKLOG_FORM_GUESSED)))
        return guess;
    return hora__segment_look_up_form(segment, task);
}

/* Returns the element at an index. A detached task is copied to *ret_taken, whose address is then
 * returned. */
static inline void *hora__segment_read(const struct hora__segment *segment, int index,
                                       struct hora__taken *ret_taken)
{
    assert(index >= 0 && index < HORA__SLOTS);
    const struct hora__slot *slot = &segment->slots[index];
    if (slot->form == 0)
        return slot->value;
    ret_taken->came = slot->stamped ? segment->came[index] : 0;
    ret_taken->task = segment->forms[slot->form - 1];
    ret_taken->task.arg = slot->value;
    return ret_taken;
}

/* Copies an entry to a slot that no thread takes from, of the same or another segment. Returns false, and
 * changes nothing there, if the other segment has no room for the form. */
static inline bool hora__segment_copy(struct hora__segment *to, int to_index,
                                      const struct hora__segment *from, int from_index)
{
    assert(to_index >= 0 && to_index < HORA__SLOTS && from_index >= 0 && from_index < HORA__SLOTS);
    struct hora__slot slot = from->slots[from_index];
    if (slot.form > 0 && to != from && !HORA__FAULT(BACKLOG_FORM_STAYS))
        slot.form = (short)hora__segment_form(to, &from->forms[slot.form - 1], 0);
    if (slot.form == 0 && from->slots[from_index].form > 0)
        return false;
    to->slots[to_index] = slot;
    if (slot.stamped)
        to->came[to_index] = from->came[from_index];
    return true;
}

/* ---- taking ---- */

/* With the queue's lock held: offers the entries from index `from` up to `limit`. The store publishes the
 * entries to the holders. */
static inline void hora__segment_offer(struct hora__segment *segment, int from, int limit)
{
    assert(from >= 0 && from <= limit && limit <= HORA__SLOTS && segment->holders >= 0);
    HORA__ORDER_FAULT(CLAIMS_OFFERED_RELAXED, memory_order_relaxed);
    hora__atomic_store(&segment->claims, limit << HORA__LIMIT_SHIFT | from);
}

/* With the queue's lock held: ends the offer. Returns the index of the first entry that was not claimed, or
 * the limit if all were. */
static inline int hora__segment_recall(struct hora__segment *segment)
{
    int32_t word = HORA__FAULT(CLAIMS_GO_ON) ? hora__atomic_load(&segment->claims)
                                             : hora__atomic_exchange(&segment->claims, 0);
    int index = word & HORA__INDEX_MASK;
    int limit = word >> HORA__LIMIT_SHIFT;
    return index < limit ? index : limit;
}

/* Without the lock, by a holder: claims the next entry and returns its index. Returns -1 if none is offered;
 * then the caller takes the queue's lock (I3). Skips holes. */
static inline int hora__segment_claim(struct hora__segment *segment)
{
    for (;;) {
        HORA__TOUCH(1);
        HORA__ORDER_FAULT(CLAIMS_TAKEN_RELAXED, memory_order_relaxed);
        int32_t word = hora__atomic_add(&segment->claims, 1);
        int index = word & HORA__INDEX_MASK;
        if (index >= word >> HORA__LIMIT_SHIFT)
            return -1;
        HORA__WEAK_PLAIN_READ(&segment->slots[index]);
        if (!hora__slot_is_hole(&segment->slots[index]) || HORA__FAULT(BACKLOG_GIVES_HOLES))
            return index;
    }
}

/* ---- positions in a chain of segments ---- */

/* A slot of a segment. An index of HORA__SLOTS means the slot before the first one of the next segment. */
struct hora__position {
    struct hora__segment *segment;
    int index;
};

/* A segment that has no room for another form, because there is no memory for more, has at least HORA__FORMS
 * entries, hence at most this many slots per entry. */
enum { HORA__FORM_SPREAD = HORA__SLOTS / HORA__FORMS };

/* Returns the slot at a position, which must not be the end of the chain. First moves a position behind the
 * last slot of a segment to the next segment. */
static inline struct hora__slot *hora__position_slot(struct hora__position *position)
{
    if (position->index == HORA__SLOTS)
        *position = (struct hora__position){position->segment->next, 0};
    return &position->segment->slots[position->index];
}

/* Fills the rest of the segment with holes, and moves the position behind it. Returns the number of holes. */
static inline int hora__position_leave_holes(struct hora__position *position)
{
    assert(position->segment != NULL && position->index <= HORA__SLOTS);
    int count = HORA__SLOTS - position->index;
    for (; position->index < HORA__SLOTS; position->index++)
        hora__slot_set_item(&position->segment->slots[position->index], NULL);
    return count;
}

/* Moves a position to the next segment while entries are moved to the front. That is the segment that is
 * being read, whose forms are still needed, or an earlier one, whose entries have all been moved: there the
 * forms are cleared. */
static inline void hora__position_step(struct hora__position *to, const struct hora__segment *reads)
{
    *to = (struct hora__position){to->segment->next, 0};
    assert(to->segment->holders == 0); /* only the first one is ever offered */
    if (to->segment != reads)
        hora__segment_clear_forms(to->segment);
}

/* Moves an entry towards the front of its chain, to the position `to`, or to the next segment if the segment
 * of `to` has no room for its form. All entries before it have been moved already. Advances `to` behind the
 * entry. Returns the number of holes that were left. */
static inline int hora__position_move(struct hora__position *to, const struct hora__position *from)
{
    int holes = 0;
    if (to->index == HORA__SLOTS)
        hora__position_step(to, from->segment);
    if (!hora__segment_copy(to->segment, to->index, from->segment, from->index)) {
        holes = hora__position_leave_holes(to);
        hora__position_step(to, from->segment);
        (void)hora__segment_copy(to->segment, to->index, from->segment, from->index);
    }
    to->index++;
    return holes;
}

/* ---- the free list of segments; guarded by the inbox's lock ---- */

/* Segments on the list were in use before, so a backlog never has more segments than it once needed at the
 * same time. They keep their larger tables. Other segments return to their chunk, whose pages go back to the
 * system when it is empty: a backlog fills and empties its segments in order, so that happens soon. Each time
 * a taker finds the backlog empty, hora__free_segments_tidy frees a part of what is kept. */
enum {
    HORA__SEGMENTS_MOST = HORA__KEPT(256, 2), /* the list holds no more than these */
    HORA__SEGMENTS_FEW = HORA__KEPT(16, 1),   /* these stay until the end */
    HORA__SEGMENTS_PARTS = 8,                 /* of the others, one in this many returns to its chunk */
    HORA__SEGMENT_CHUNKS = HORA__KEPT(64, 1), /* spare chunks; takers free further ones, without a lock */
    HORA__SEGMENT_CHUNKS_MOST = HORA__KEPT(128, 2) /* if there are more, they are freed at once */
};

struct hora__free_segments {
    struct hora__segment *first; /* linked by `next`; NULL: empty */
    int count;
    struct hora__free_list chunks;
};

/* Where the part of a free segment begins that counts as freed memory. */
enum { HORA__SEGMENT_RESTS_FROM = offsetof(struct hora__segment, holders) };

static inline void hora__free_segments_init(struct hora__free_segments *free_segments)
{
    free_segments->first = NULL;
    free_segments->count = 0;
    hora__free_list_init(&free_segments->chunks, sizeof(struct hora__segment), HORA__CACHE_LINE,
                         HORA__SEGMENT_CHUNKS_MOST);
}

/* Returns a segment that no worker holds to its chunk. NULL is allowed. Returns a chunk that the caller
 * frees; NULL: none. */
__attribute__((warn_unused_result)) static inline struct hora__chunk *hora__free_segments_return(
    struct hora__free_segments *free_segments, struct hora__segment *segment)
{
    if (segment == NULL)
        return NULL;
    if (segment->forms != segment->own_forms)
        hora__pages_free(segment->forms, HORA__FORMS_MOST * sizeof *segment->forms);
    return hora__free_list_put(&free_segments->chunks, segment, segment->offset);
}

/* Puts a segment that no worker holds on the list, or returns it to its chunk if the list is full. Returns a
 * chunk that the caller frees; NULL: none. */
__attribute__((warn_unused_result)) static inline struct hora__chunk *hora__free_segments_keep(
    struct hora__free_segments *free_segments, struct hora__segment *segment)
{
    assert(segment->holders == 0 && free_segments->count >= 0);
    if (free_segments->count == (hora__keeps_memory() ? HORA__SEGMENTS_MOST : 1))
        return hora__free_segments_return(free_segments, segment);
    segment->next = free_segments->first;
    hora__memory_rests((char *)segment + HORA__SEGMENT_RESTS_FROM,
                       sizeof *segment - HORA__SEGMENT_RESTS_FROM);
    free_segments->first = segment;
    free_segments->count++;
    return NULL;
}

/* Takes a segment off the list; its contents are undefined, except for `forms` and `offset`. NULL: the list
 * is empty. */
static inline struct hora__segment *hora__free_segments_take(struct hora__free_segments *free_segments)
{
    struct hora__segment *segment = free_segments->first;
    if (segment != NULL) {
        hora__memory_wakes((char *)segment + HORA__SEGMENT_RESTS_FROM,
                           sizeof *segment - HORA__SEGMENT_RESTS_FROM);
        free_segments->first = segment->next;
        free_segments->count--;
    }
    return segment;
}

/* Returns an empty segment, from the list or from a chunk. NULL: out of memory. */
static inline struct hora__segment *hora__free_segments_get(struct hora__free_segments *free_segments)
{
    struct hora__segment *segment = hora__free_segments_take(free_segments);
    if (segment == NULL) {
        uint16_t offset;
        segment = hora__free_list_get(&free_segments->chunks, 0, &offset);
        if (segment == NULL)
            return NULL;
        segment->forms = segment->own_forms;
        segment->offset = offset;
    }
    hora__segment_init(segment);
    return segment;
}

/* Returns one in HORA__SEGMENTS_PARTS of the segments beyond HORA__SEGMENTS_FEW to their chunks, but stops
 * when a chunk is to be freed: the memory of a burst goes back to the system gradually. If there is no such
 * segment, gives up a spare chunk. Returns a chunk that the caller frees; NULL: none. */
__attribute__((warn_unused_result)) static inline struct hora__chunk *hora__free_segments_tidy(
    struct hora__free_segments *free_segments)
{
    int excess = free_segments->count - HORA__SEGMENTS_FEW;
    HORA__TOUCH(excess > 0 ? excess / HORA__SEGMENTS_PARTS : 1);
    struct hora__chunk *chunk = excess > 0 ? NULL : hora__free_list_trim(&free_segments->chunks, 0);
    for (int i = 0; i < excess && chunk == NULL; i += HORA__SEGMENTS_PARTS)
        chunk = hora__free_segments_return(free_segments, hora__free_segments_take(free_segments));
    return chunk;
}

#endif
