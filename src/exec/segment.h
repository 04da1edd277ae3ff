/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - a part of a backlog: an array of elements and detached tasks, from which workers can take
 * without a lock
 *
 * Slots             Each task goes from the cache of one processor to that of another, and that is its main
 *                   cost. So a slot is small: an element, or the argument of a task and the number of its
 *                   form. The form is the rest of the task. Tasks from one place of a program share one, so a
 *                   segment knows only some forms, and most posts find theirs.
 * How it works      A thread with the queue's lock offers a segment: the entries from one index up to
 *                   another, the limit. Each holder claims the next entry by adding 1 to a word that has
 *                   both. Recall takes back the entries that have not been claimed, by exchanging the word
 *                   for one in which the limit is 0: so each entry is either claimed, by one holder, or
 *                   recalled. A claim beyond the limit is void, and its holder goes to the queue's lock.
 * Holding           A holder that has claimed an entry goes on to read it, and other holders may claim
 *                   without knowing of a recall. So a segment is neither reused nor freed while it is held.
 *                   To hold a segment and to let it go needs the queue's lock, once for many entries.
 * Invariants        I1 only holders make claims and read claimed entries.
 *                   I2 entries that are offered or have been claimed do not change.
 *                   I3 the index in the word is beyond the limit by at most the number of holders: a holder
 *                      with a void claim goes to the queue's lock, where the word is written anew or the
 *                      segment let go, before it tries again. */
#ifndef HORA_EXEC_SEGMENT_H
#define HORA_EXEC_SEGMENT_H

#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "exec/work_source.h"
#include "sys/alloc.h"
#include "sys/atomic.h"

enum {
    HORA__SLOTS = 128,
    HORA__FORMS = 16,
    HORA__LIMIT_SHIFT = 23,
    HORA__INDEX_MASK = (1 << HORA__LIMIT_SHIFT) - 1,
};

/* An entry of a queue: an element, or a detached task. */
struct hora__slot {
    void *value;  /* the element, NULL: a hole; or the argument of the task */
    short form;   /* of the task: which of the segment's it has, from 1 on; 0: an element */
    bool stamped; /* of the task: there is more to know, in came[] */
};

struct hora__segment {
    struct hora__segment *next;
    int holders;         /* guarded by the queue's lock, as the next */
    bool retired;        /* it has left the queue: the last holder gives it back */
    int form_count;      /* written like the slots */
    char apart[44];      /* the word changes with each task that is taken, */
    hora__atomic claims; /* the limit, above the index of the first entry that has not been claimed */
    char apart_too[60];
    hora_task forms[HORA__FORMS]; /* without their argument */
    struct hora__slot slots[HORA__SLOTS];
    int64_t came[HORA__SLOTS]; /* see struct hora__offer */
};

static_assert(sizeof(void *) != 8 || (offsetof(struct hora__segment, claims) == HORA__CACHE_LINE &&
                                      offsetof(struct hora__segment, forms) == 2 * (size_t)HORA__CACHE_LINE &&
                                      offsetof(struct hora__segment, slots) % HORA__CACHE_LINE == 0 &&
                                      sizeof(struct hora__slot) == 16),
              "cache lines");

static inline bool hora__slot_is_hole(const struct hora__slot *slot)
{
    return slot->value == NULL && slot->form == 0;
}

/* NULL makes it a hole. */
static inline void hora__slot_set_item(struct hora__slot *slot, void *item)
{
    HORA__WEAK_PLAIN_WRITE(slot);
    *slot = (struct hora__slot){.value = item};
}

static inline void hora__segment_init(struct hora__segment *segment)
{
    segment->next = NULL;
    segment->holders = 0;
    segment->retired = false;
    segment->form_count = 0;
    hora__atomic_init(&segment->claims, 0);
}

/* ---- tasks ---- */

static inline bool hora__form_fits(const hora_task *form, const hora_task *task)
{
    return form->run == task->run && form->line == task->line && form->file == task->file &&
           form->name == task->name && form->drop == task->drop && form->drop_result == task->drop_result;
}

/* The number of a task's form in a segment that no thread takes from, if it is there or there is room for it;
 * 0: it is not. `guess` is tried first, a number of this segment, or 0. */
static inline int hora__segment_form(struct hora__segment *segment, const hora_task *task, int guess)
{
    assert(guess >= 0 && guess <= segment->form_count);
    if (guess > 0 && (hora__form_fits(&segment->forms[guess - 1], task) || HORA__FAULT(BACKLOG_FORM_GUESSED)))
        return guess;
    int number = 1;
    while (number <= segment->form_count && !hora__form_fits(&segment->forms[number - 1], task))
        number++;
    if (number > HORA__FORMS)
        return 0;
    if (number > segment->form_count) {
        segment->forms[number - 1] = *task;
        segment->form_count = number;
    }
    return number;
}

/* The element at an index; or the task is copied to *ret_taken, and that address returned. */
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

/* Copy an entry to another index, from which no thread takes; false: there is no room for its form. */
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

/* With the queue's lock. */
static inline void hora__segment_offer(struct hora__segment *segment, int from, int limit)
{
    assert(from >= 0 && from <= limit && limit <= HORA__SLOTS && segment->holders >= 0);
    HORA__ORDER_FAULT(CLAIMS_OFFERED_RELAXED, memory_order_relaxed);
    hora__atomic_store(&segment->claims, limit << HORA__LIMIT_SHIFT | from);
}

/* The same: what is offered is so no more. The index of the first that has not been claimed, or the limit. */
static inline int hora__segment_recall(struct hora__segment *segment)
{
    int32_t word = HORA__FAULT(CLAIMS_GO_ON) ? hora__atomic_load(&segment->claims)
                                             : hora__atomic_exchange(&segment->claims, 0);
    int index = word & HORA__INDEX_MASK;
    int limit = word >> HORA__LIMIT_SHIFT;
    return index < limit ? index : limit;
}

/* By a holder, without the lock: the index of an entry that is now the caller's; -1: there is none, go to the
 * queue's lock. */
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

/* `index` may be HORA__SLOTS, which is the place before the first of the next segment. */
struct hora__position {
    struct hora__segment *segment;
    int index;
};

/* A segment that ends early, since there is no room for another form, has one entry in so many slots. */
enum { HORA__FORM_SPREAD = HORA__SLOTS / HORA__FORMS };

/* What stands there, if it is a place where something can stand, which it is unless it is the end of the
 * chain. */
static inline struct hora__slot *hora__position_slot(struct hora__position *position)
{
    if (position->index == HORA__SLOTS)
        *position = (struct hora__position){position->segment->next, 0};
    return &position->segment->slots[position->index];
}

/* From here to the end of its segment nothing stands. Returns how many holes these are. */
static inline int hora__position_leave_holes(struct hora__position *position)
{
    assert(position->segment != NULL && position->index <= HORA__SLOTS);
    int count = HORA__SLOTS - position->index;
    for (; position->index < HORA__SLOTS; position->index++)
        hora__slot_set_item(&position->segment->slots[position->index], NULL);
    return count;
}

/* On to the next segment: the one that is read from, or one before it, where nothing is left that needs its
 * forms. */
static inline void hora__position_step(struct hora__position *to, const struct hora__segment *reads)
{
    *to = (struct hora__position){to->segment->next, 0};
    assert(to->segment->holders == 0); /* only the first one is ever offered */
    if (to->segment != reads)
        to->segment->form_count = 0;
}

/* Move an entry towards the front of its chain, to a place or, if that one's segment has no room for its
 * form, to the beginning of the next; the place is then the one behind it. All that is before the entry has
 * been moved already. Returns how many holes that leaves. */
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

/* ---- segments that are kept ---- */

/* They were in use a moment ago, so there is never more memory than was needed at the same time. Each time
 * that there is nothing to take, one of PARTS parts of what is beyond FEW is freed. */
enum {
    HORA__SEGMENTS_MOST = HORA__KEPT(2048, 2),
    HORA__SEGMENTS_FEW = HORA__KEPT(16, 1),
    HORA__SEGMENTS_PARTS = 8
};

struct hora__free_segments {
    struct hora__segment *first;
    int count;
};

/* The rest of a segment that is kept: the first field is the link. */
enum { HORA__SEGMENT_RESTS_FROM = sizeof(struct hora__segment *) };

static inline void hora__free_segments_keep(struct hora__free_segments *free_segments,
                                            struct hora__segment *segment)
{
    assert(segment->holders == 0 && free_segments->count >= 0);
    if (free_segments->count == (hora__keeps_memory() ? HORA__SEGMENTS_MOST : 1)) {
        hora__free(segment);
        return;
    }
    segment->next = free_segments->first;
    hora__memory_rests((char *)segment + HORA__SEGMENT_RESTS_FROM,
                       sizeof *segment - HORA__SEGMENT_RESTS_FROM);
    free_segments->first = segment;
    free_segments->count++;
}

/* NULL: there is none. */
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

/* An empty one, whether kept or new. NULL: there is no memory. */
static inline struct hora__segment *hora__free_segments_get(struct hora__free_segments *free_segments)
{
    struct hora__segment *segment = hora__free_segments_take(free_segments);
    if (segment == NULL)
        segment = hora__alloc_lines(sizeof *segment);
    if (segment != NULL)
        hora__segment_init(segment);
    return segment;
}

static inline void hora__free_segments_tidy(struct hora__free_segments *free_segments)
{
    int excess = free_segments->count - HORA__SEGMENTS_FEW;
    HORA__TOUCH(excess > 0 ? excess / HORA__SEGMENTS_PARTS : 0);
    for (int i = 0; i < excess; i += HORA__SEGMENTS_PARTS)
        hora__free(hora__free_segments_take(free_segments));
}

#endif
