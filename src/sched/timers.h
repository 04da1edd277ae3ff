/* SPDX-License-Identifier: Apache-2.0 */
/* timers.h - timers in the order in which they are due, in memory that the caller provides
 *
 * What it is for    A scheduler asks three things of its timers: which is due first, here is one more, and this one is
 *                   cancelled, wherever it stands. Each costs O(log n), and nothing is left behind by a cancelled timer.
 * Order             By due, then by sequence. So the order is total, and timers due together leave in the order of their numbers.
 * Pure              No thread, no clock, no lock, no allocation: the caller locks, knows the time, and provides the memory. */
#ifndef HORA_SCHED_TIMERS_H
#define HORA_SCHED_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HORA__TIMER_OUT = -1,        /* the index of a timer that is in no heap */
    HORA__TIMERS_LEAST = 64,     /* a smaller capacity is not worth moving to */
    HORA__TIMERS_MOST = 1 << 30, /* the largest capacity: indices of children stay far from INT_MAX */
};

/* Part of what is timed; nothing more of it is known here. There may be millions of them: so when it is due stands in the heap alone,
 * and it has no padding, but leaves that to what it is part of. */
struct __attribute__((packed, aligned(4))) hora__timer {
    uint64_t
        sequence; /* of timers due together the smaller leaves first; unique within a heap, where it must not change */
    int index;    /* where it stands in its heap, or HORA__TIMER_OUT */
};

struct hora__timer_slot {
    int64_t due; /* here, most comparisons need not follow the pointer */
    char *mark;  /* the timer's first byte; of a stray the second */
};

static inline bool hora__slot_is_stray(struct hora__timer_slot slot)
{
    return ((uintptr_t)slot.mark & 1) != 0;
}

static inline struct hora__timer *hora__slot_timer(struct hora__timer_slot slot)
{
    return (struct hora__timer *)(void *)(slot.mark - hora__slot_is_stray(slot));
}

/* Empty and without memory when zero. */
struct hora__timers {
    struct hora__timer_slot *slots; /* slots[0] is due first */
    int size;
    int capacity;
    int reserved; /* slots promised to timers that are out for a while and come back: see hora__timers_keep */
    int strays;   /* timers that do not know where they stand */
};

/* In no heap. */
static inline void hora__timer_init(struct hora__timer *timer)
{
    timer->sequence = 0;
    timer->index = HORA__TIMER_OUT;
}

/* Move to other memory, larger or smaller, with room for size + reserved; returns the old, for the caller to free. NULL and
 * 0 take the memory from timers that hold and promise nothing. */
struct hora__timer_slot *hora__timers_move(struct hora__timers *timers, struct hora__timer_slot *memory, int capacity);

/* What capacity to move to: `larger` when full, the same again if there is none larger. `smaller` after a removal, the same
 * again if that is not worth it; `used` is size + reserved. Growing doubles, and shrinking halves what is used by less
 * than a quarter: so between two moves lie operations in proportion to what is moved, and memory follows what is used. */
int hora__timers_larger(int capacity);
int hora__timers_smaller(int used, int capacity);

/* When the second timer is due; INT64_MAX: there is none. */
int64_t hora__timers_second_due(const struct hora__timers *timers);

/* Whether there is no room to push or to promise a slot. */
bool hora__timers_is_full(const struct hora__timers *timers);

/* Insert a timer that is in no heap. There must be room. */
void hora__timers_push(struct hora__timers *timers, struct hora__timer *timer, int64_t due);

/* The same for a stray: a timer that is not told where it stands. It is not touched while others move it, so it costs less, but only the first
 * can be removed. And: tell all, from now on. */
void hora__timers_push_stray(struct hora__timers *timers, struct hora__timer *timer, int64_t due);
void hora__timers_tell_all(struct hora__timers *timers);

/* When a timer of this heap is due; a stray is the first. */
int64_t hora__timers_due(const struct hora__timers *timers, const struct hora__timer *timer);

/* The timer that is due first, NULL if there is none. */
static inline struct hora__timer *hora__timers_first(const struct hora__timers *timers)
{
    return timers->size > 0 ? hora__slot_timer(timers->slots[0]) : NULL;
}

/* Remove a timer of this heap, wherever it stands; a stray is the first. */
void hora__timers_remove(struct hora__timers *timers, struct hora__timer *timer);

/* Remove all for which `leaves` says so, and which it makes timers of no heap; afterwards they are not touched. There is no stray among them. */
void hora__timers_sift_out(struct hora__timers *timers, bool (*leaves)(struct hora__timer *timer));

/* Let another timer, which is in no heap, stand where one of this heap stands, with its sequence; that one is in no heap then. */
void hora__timers_replace(struct hora__timers *timers, struct hora__timer *timer, struct hora__timer *other);

/* Whether the timer is in this heap: it may be in another, or in none. */
static inline bool hora__timers_holds(const struct hora__timers *timers, const struct hora__timer *timer)
{
    return timer->index >= 0 && timer->index < timers->size && hora__slot_timer(timers->slots[timer->index]) == timer;
}

/* Promise so many slots more, or give some back if negative. A periodic timer runs outside of the heap: remove and
 * keep(+1) when it leaves, keep(-1) and push when it comes back, and coming back needs no memory, so it cannot fail.
 * There must be room. */
void hora__timers_keep(struct hora__timers *timers, int by);

/* See that there is room for one more, and give memory back that is used little; if there is none to move to, it stays where it is. These two
 * do allocate: timers_room.c. HORA_ENOMEM, HORA_EFULL. */
__attribute__((warn_unused_result)) int hora__timers_make_room(struct hora__timers *timers);
void hora__timers_save_room(struct hora__timers *timers);

/* Whether every invariant holds. O(n). */
bool hora__timers_check(const struct hora__timers *timers);

#endif
