/* SPDX-License-Identifier: Apache-2.0 */
/* scheduled.h - a future of a scheduler: a task, its outcome, and when it runs */
#ifndef HORA_SCHED_SCHEDULED_H
#define HORA_SCHED_SCHEDULED_H

#include <assert.h>
#include <hora/scheduler.h>

#include "base/ns.h"
#include "exec/future.h"
#include "sched/timer_queue.h"

/* How a task gets its planned times. ONCE: it has only one. RATE: at a fixed rate. GAP: a fixed delay after
 * the end of each run. ASKED: by asking a trigger, or a function of the user. */
enum hora__trigger { HORA__ONCE, HORA__RATE, HORA__GAP, HORA__ASKED };

/* The stage of a scheduled future. See series.c for the transitions. */
enum hora__stage {
    HORA__OUT = 0, /* not yet accepted, or removed from the timer queue and not taken */
    HORA__SWEPT,   /* in a chain of entries that will be cancelled */
    HORA__WAITS,   /* in the timer queue: in a lane, a heap or the admission queue */
    HORA__TAKEN,   /* a worker has taken it, and has not decided yet whether it runs */
    HORA__RUNS,    /* a run has begun; it stays RUNS if no run follows, else until it is put back */
};

/* Whether the planned time still holds, or a worker has to find it anew, and why. A larger value overrides a
 * smaller one. */
enum hora__staleness {
    HORA__NOT_STALE,
    HORA__NEW_RULES, /* a zone of its trigger was refreshed */
    HORA__SET_BACK,  /* the wall clock was set back */
};

struct hora__overlap;
struct hora__scheduled;

/* The series state: what a task needs that may run more than once or has its own schedule or options. It
 * lives as long as the future. */
struct hora__series {
    /* immutable */
    struct hora__scheduled *scheduled; /* the future it belongs to */
    const hora_schedule *rules;        /* &hora__jdk_rules, or own_rules */
    enum hora__trigger trigger;
    hora_ns offset;                /* added to each planned time: the task's share of `spread`; >= 0 */
    struct hora__overlap *overlap; /* with HORA_OVERLAP_ALLOW: its runs; NULL: one run at a time */
    struct hora__extra *extra;     /* its options, context and ticket; NULL: none. Owned */

    /* guarded by the timer queue's lock */
    struct hora__timer_node by_latest; /* with slack only: the node in the heap `latest` */
    /* The planned time was not found by the trigger, but given: for the first run, by re-timing, or by
     * backing off after a failure. Such a time does not depend on zones. */
    bool is_given;
    bool has_skipped; /* planned times between that of the last run and the present one were skipped */
    bool is_over;     /* no run follows those that have begun; the future may not be done yet */
    /* The task was re-timed while a worker had it: planned_next replaces the next planned time. */
    bool is_retimed;
    enum hora__staleness staleness;
    struct hora__list zoned;         /* in `zoned` or `other_zoned` of the timer queue; empty: no zone */
    struct hora__entry *next_picked; /* the next entry of a chain; see struct hora__entries */
    uint32_t set_backs;              /* the timer queue's count of set-backs when the entry was taken */
    uint32_t refreshes;              /* its count of zone refreshes when the entry was taken or made */
    hora_ns every;                   /* RATE: the period; GAP: the delay; otherwise unused */
    hora_ns planned_next;            /* valid while is_retimed; without the offset */
    hora_ns last_planned;            /* planned time of the last run, without the offset; HORA_NEVER: none */
    int running;                     /* runs that have begun and not ended */
    int64_t runs;                    /* runs that have begun */
    int64_t failures;                /* runs that have failed */
    int64_t failures_in_a_row;       /* since the last run that succeeded */
    int64_t skipped;                 /* planned times for which there was no run; saturates */
    /* One copy of the caller's rules, or none. It has a reference to its trigger, if any. Immutable. */
    hora_schedule own_rules[];
};

/* Counts planned times that were skipped. The caller holds the timer queue's lock. */
static inline void hora__series_skips(struct hora__series *series, int64_t count)
{
    assert(count >= 0);
    series->skipped = hora__ns_add(series->skipped, count);
}

/* When the last run began and ended, by the clock of the task's timeline; HORA_NEVER: it has not. */
struct hora__last_run {
    hora_ns start;
    hora_ns end;
};

/* A future of a scheduler. There may be millions that run once, so everything that these do not need is in
 * the series state. */
struct hora__scheduled {
    hora_future future;          /* first: they begin at the same address */
    hora_queue *queue;           /* its timer queue, with a reference that `lane` counts; immutable */
    struct hora__series *series; /* immutable; NULL: it runs once, by the rules of the JDK's calls */

    /* guarded by the timer queue's lock */
    hora_ns planned; /* the planned time, without the offset, of the next run or of the run in progress */
    union {
        struct hora__last_run last;      /* valid with a series state, or once the run has begun */
        struct hora__entry *next_picked; /* without a series state, before the run: link of a chain */
    } run;
    int last_code;       /* the code with which the last run ended; 0: success, or none has ended */
    bool paused : 1;     /* no run begins, and the entry is never due */
    bool has_begun : 1;  /* without a series state: the run has begun */
    bool is_running : 1; /* without a series state: the run has begun and not ended */
    uint8_t lane;        /* the lane that counts its reference, and into which it is inserted; immutable */
    uint16_t spot;       /* position in that lane, guarded by the lane's lock; see hora__node_spot */
    struct hora__entry entry;
};

/* The rules of the JDK's calls: all missed runs are made up for, and a failure ends the series. */
extern const hora_schedule hora__jdk_rules;

/* Returns the context that is passed to a trigger, which is called later without the lock. The caller holds
 * the lock; the task has a series state. `now` is without the offset. */
hora_trigger_context hora__scheduled_context(const struct hora__scheduled *scheduled, hora_ns now);

/* Returns the scheduled future of a future; NULL: no scheduler made it. */
static inline struct hora__scheduled *hora__scheduled_of(hora_future *future)
{
    assert(future != NULL);
    return future->kind == HORA__FUTURE_SCHEDULED ? (struct hora__scheduled *)future : NULL;
}

/* Returns the scheduled future of an entry; NULL: the entry belongs to a foreign future, a detached task or a
 * timer. */
static inline struct hora__scheduled *hora__scheduled_of_entry(struct hora__entry *entry)
{
    assert(entry != NULL);
    return entry->is_foreign || entry->is_detached ? NULL
                                                   : HORA__LIST_ENTRY(entry, struct hora__scheduled, entry);
}

/* The next three return what a future without series state does not store: it runs once, by the rules of the
 * JDK's calls, without an offset. */
static inline const hora_schedule *hora__scheduled_rules(const struct hora__scheduled *scheduled)
{
    return scheduled->series != NULL ? scheduled->series->rules : &hora__jdk_rules;
}

static inline enum hora__trigger hora__scheduled_trigger(const struct hora__scheduled *scheduled)
{
    return scheduled->series != NULL ? scheduled->series->trigger : HORA__ONCE;
}

static inline hora_ns hora__scheduled_offset(const struct hora__scheduled *scheduled)
{
    return scheduled->series != NULL ? scheduled->series->offset : 0;
}

/* Returns the timeline of all its times. */
static inline enum hora__timeline hora__scheduled_line(const struct hora__scheduled *scheduled)
{
    return (enum hora__timeline)scheduled->entry.line;
}

/* Returns whether the task may run repeatedly. A one-shot task may have a series state, too. */
static inline bool hora__scheduled_is_series(const struct hora__scheduled *scheduled)
{
    return hora__scheduled_trigger(scheduled) != HORA__ONCE;
}

/* Returns whether the planned times follow the wall clock one after the other. Such a task would not run for
 * a long time if the clock was set back. */
static inline bool hora__scheduled_follows_wall(const struct hora__scheduled *scheduled)
{
    enum hora__trigger trigger = hora__scheduled_trigger(scheduled);
    return scheduled->entry.line == HORA__WALL && (trigger == HORA__RATE || trigger == HORA__ASKED);
}

/* Returns whether the planned time depends on a zone. The caller holds the lock. */
static inline bool hora__scheduled_follows_zone(const struct hora__scheduled *scheduled)
{
    const struct hora__series *series = scheduled->series;
    return series != NULL && !hora__list_is_empty(&series->zoned) && !series->is_given;
}

/* Called in the visit to the timer queue in which a worker has taken the entry; the own clock shows `now`.
 * Begins the run, if that can be decided at once, and sets run->begun. See series.c. */
void hora__series_take_locked(struct hora__series_run *run, struct hora__scheduled *scheduled, hora_ns now);

/* Notes the end of the run of run->ended, which has succeeded, plans the next run and puts the entry back.
 * Returns false, with nothing changed, if that must go the general way. The caller holds the lock; it then
 * serves the queue, or looks for the next task itself before it sleeps. */
bool hora__series_return_locked(struct hora__series_run *run, hora_ns now);

/* Called under the lock for a task that is inserted, is taken or runs: makes its planned time stale if
 * zones were refreshed since the trigger was asked. Tasks in the timer queue are made stale by the refresh
 * itself. */
void hora__scheduled_check_rules(struct hora__scheduled *scheduled);

/* Returns the due time: HORA_FOREVER while the task is paused, INT64_MIN, that is at once, if its planned
 * time is stale. The caller holds the lock, or no other thread has seen the task. */
hora_ns hora__scheduled_due(const struct hora__scheduled *scheduled);

/* Returns how late the task is now; negative: it is not due yet; HORA_NEVER: it has no planned time, and a
 * worker is about to end it. Takes the lock. */
hora_ns hora__scheduled_lateness(struct hora__scheduled *scheduled);

/* Checks that a future is one of a scheduler, locks its timer queue and absorbs the lanes. Returns 0 with the
 * lock held, HORA_EINVAL, HORA_EFORKED or HORA_EDEADLK. hora__scheduled_leave unlocks. */
__attribute__((warn_unused_result)) int hora__scheduled_enter(hora_future *future,
                                                              struct hora__scheduled **ret_scheduled);
void hora__scheduled_leave(struct hora__scheduled *scheduled);

/* The arguments of hora__scheduled_new. */
struct hora__scheduled_plan {
    const hora_schedule *rules; /* not NULL */
    bool copies_rules;          /* the future gets a copy of `rules`; else these live as long as the future */
    struct hora__extra *extra;  /* passes to the future on success; NULL: none */
    bool paused;                /* the task starts paused */
    enum hora__trigger trigger;
    enum hora__timeline line; /* the clock of all its times */
    hora_ns now;         /* of a task that runs once: when the call began, by the timer queue's own clock */
    hora_ns planned;     /* planned time of the first run, without the offset */
    hora_ns every;       /* RATE, GAP: the period, or the delay */
    hora_ns offset;      /* see struct hora__series */
    bool is_given;       /* `planned` was given, and not found by the trigger */
    uint32_t zones_seen; /* hora__zones_seen before the trigger was asked; see hora__zones_follow */
    bool zone_is_known;  /* the zone of the trigger comes from hora__zones_get */
};

/* Makes a scheduled future, which is OUT and has a reference to the timer queue. Returns 0, HORA_ENOMEM,
 * HORA_EAGAIN or HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__scheduled_new(const hora_task *task, hora_queue *queue,
                                                            const struct hora__scheduled_plan *plan,
                                                            struct hora__scheduled **ret_scheduled);

/* Makes a future that runs once, by the rules of the JDK's calls. It already belongs to the pool
 * (hora__future_enqueued_fresh), and has no reference to the timer queue yet: the caller then calls
 * hora__timer_queue_insert_new. */
__attribute__((warn_unused_result)) int hora__scheduled_new_once(const hora_task *task,
                                                                 struct hora_pool *pool, hora_ns planned,
                                                                 struct hora__scheduled **ret_scheduled);

#endif
