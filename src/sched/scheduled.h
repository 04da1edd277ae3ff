/* SPDX-License-Identifier: Apache-2.0 */
/* scheduled.h - a future of a scheduler: a task, its outcome, and when it runs */
#ifndef HORA_SCHED_SCHEDULED_H
#define HORA_SCHED_SCHEDULED_H

#include <assert.h>
#include <hora/scheduler.h>

#include "base/ns.h"
#include "exec/future.h"
#include "sched/timer_queue.h"

enum hora__trigger { HORA__ONCE, HORA__RATE, HORA__GAP, HORA__ASKED };

/* Where it stands. See series.c for the transitions. */
enum hora__stage {
    HORA__OUT = 0, /* nowhere: not yet accepted, or removed, or over */
    HORA__SWEPT,   /* on its way out: in a chain of those that are to be cancelled */
    HORA__WAITS,   /* in the timer queue */
    HORA__TAKEN,   /* a worker has it, and has not decided yet */
    HORA__RUNS,    /* its body runs, or is about to */
};

/* Whether its planned time still holds, or has to be found anew; and why. */
enum hora__staleness {
    HORA__NOT_STALE,
    HORA__NEW_RULES, /* a zone of its trigger was refreshed */
    HORA__SET_BACK,  /* the wall clock was set back: this is more than the other */
};

struct hora__overlap;
struct hora__scheduled;

/* What only a task has that may run more than once, or by rules of its own. It lives as long as the future. */
struct hora__series {
    struct hora__scheduled *scheduled; /* whose it is; this and what follows is immutable */
    const hora_schedule *rules;        /* those of the JDK's calls are static, others are own_rules[0] */
    enum hora__trigger trigger;
    hora_ns offset;                /* planned times are put off by this */
    struct hora__overlap *overlap; /* HORA_OVERLAP_ALLOW: those who run it; NULL: one at a time */
    struct hora__extra *extra;     /* its terms, and what it carries; NULL: none */

    /* guarded by the timer queue's lock */
    struct hora__timer_node by_latest; /* with slack, and only then: when it must be taken */
    bool is_given;    /* the planned time was given: for the first run, by re-timing or by backing off */
    bool has_skipped; /* planned times between that of the last run and this one were passed over */
    bool is_over;     /* no run will follow those that have begun; its future may not be done yet */
    bool
        is_retimed; /* while it is taken or runs: the next planned time is given already, in `planned_next` */
    enum hora__staleness staleness;
    struct hora__list zoned;         /* among those whose trigger has a zone */
    struct hora__entry *next_picked; /* in a chain of entries */
    uint32_t set_backs;              /* of the wall clock, and */
    uint32_t refreshes;              /* of zones, that had been seen when it was taken */
    hora_ns every;                   /* RATE, GAP */
    hora_ns planned_next;
    hora_ns last_planned;
    int running;
    int64_t runs;
    int64_t failures;
    int64_t failures_in_a_row;
    int64_t skipped;
    hora_schedule own_rules[]; /* one or none; its trigger, if any, is a reference; immutable */
};

/* Count planned times that are passed over. There may be more than can be counted; with the timer queue's lock. */
static inline void hora__series_skips(struct hora__series *series, int64_t count)
{
    assert(count >= 0);
    series->skipped = hora__ns_add(series->skipped, count);
}

/* When a run began and ended last; for what has none: HORA_NEVER. */
struct hora__last_run {
    hora_ns start;
    hora_ns end;
};

/* There may be millions that run once: so whatever these do not need is in the series state. */
struct hora__scheduled {
    hora_future future;          /* first: they begin at the same address */
    hora_queue *queue;           /* its timer queue, of which it counts a reference; immutable */
    struct hora__series *series; /* immutable; NULL: it runs once, by the rules of the JDK's calls */

    /* guarded by the timer queue's lock */
    hora_ns planned; /* of the run that it waits for, or that is going */
    union {
        struct hora__last_run last; /* with series state, or if it has begun */
        struct hora__entry
            *next_picked; /* in a chain of entries: without series state, and before it has begun */
    } run;
    int last_code;
    bool paused : 1;
    bool has_begun : 1;  /* without series state: its run has begun, */
    bool is_running : 1; /* and has not ended */
    uint8_t lane;        /* immutable: by which it holds the timer queue */
    uint16_t spot;       /* guarded by the lane's lock: see hora__node_spot */
    struct hora__entry entry;
};

/* The rules of the JDK's calls. */
extern const hora_schedule hora__jdk_rules;

/* What is told to a function of the user, which runs without the lock; taken with it. Of one with series state. */
hora_trigger_context hora__scheduled_context(const struct hora__scheduled *scheduled, hora_ns now);

/* NULL: the future is none of a scheduler. */
static inline struct hora__scheduled *hora__scheduled_of(hora_future *future)
{
    assert(future != NULL);
    return future->kind == HORA__FUTURE_SCHEDULED ? (struct hora__scheduled *)future : NULL;
}

/* NULL: that of a foreign future, or of a detached task. */
static inline struct hora__scheduled *hora__scheduled_of_entry(struct hora__entry *entry)
{
    assert(entry != NULL);
    return entry->is_foreign || entry->is_detached ? NULL
                                                   : HORA__LIST_ENTRY(entry, struct hora__scheduled, entry);
}

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

static inline enum hora__timeline hora__scheduled_line(const struct hora__scheduled *scheduled)
{
    return (enum hora__timeline)scheduled->entry.line;
}

static inline bool hora__scheduled_is_series(const struct hora__scheduled *scheduled)
{
    return hora__scheduled_trigger(scheduled) != HORA__ONCE;
}

/* Whether its planned times are read off the wall clock, one after the other: so that clock being set back would silence it. */
static inline bool hora__scheduled_follows_wall(const struct hora__scheduled *scheduled)
{
    enum hora__trigger trigger = hora__scheduled_trigger(scheduled);
    return scheduled->entry.line == HORA__WALL && (trigger == HORA__RATE || trigger == HORA__ASKED);
}

/* Whether its planned times depend on a zone, and this one, too. */
static inline bool hora__scheduled_follows_zone(const struct hora__scheduled *scheduled)
{
    const struct hora__series *series = scheduled->series;
    return series != NULL && !hora__list_is_empty(&series->zoned) && !series->is_given;
}

/* A worker has taken it, in this visit to the timer queue, and the own clock shows `now`: begin its run, if that can be
 * decided at once; then run->begun says so. See series.c. */
void hora__series_take_locked(struct hora__series_run *run, struct hora__scheduled *scheduled, hora_ns now);

/* The run of run->ended has succeeded: note its end, plan the next run and put the entry back. False: that takes the
 * general way, and nothing has changed. The caller settles the queue, or looks itself before it sleeps. */
bool hora__series_return_locked(struct hora__series_run *run, hora_ns now);

/* With the lock, of one that is taken, runs, or comes in: if zones were refreshed since, it finds its planned time anew, like those
 * in the timer queue. */
void hora__scheduled_check_rules(struct hora__scheduled *scheduled);

/* The same, and if the wall clock was set back. */
void hora__scheduled_check_clock(struct hora__scheduled *scheduled);

/* When it is to be taken out of the timer queue: never while it is paused, at once if its planned time has to be found. */
hora_ns hora__scheduled_due(const struct hora__scheduled *scheduled);

/* How long after its planned time it is now; negative: that has not come; HORA_NEVER: it never will, for a worker is about to end it. */
hora_ns hora__scheduled_lateness(struct hora__scheduled *scheduled);

/* Check that it is a future of a scheduler and take its timer queue's lock; and let go. HORA_EINVAL, HORA_EFORKED, HORA_EDEADLK. */
__attribute__((warn_unused_result)) int hora__scheduled_enter(hora_future *future,
                                                              struct hora__scheduled **ret_scheduled);
void hora__scheduled_leave(struct hora__scheduled *scheduled);

/* Make one, out of the timer queue, for a clock line. `rules` are copied if told so. HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
struct hora__scheduled_plan {
    const hora_schedule *rules;
    bool copies_rules;
    struct hora__extra *extra; /* passes to it with success */
    bool paused;
    enum hora__trigger trigger;
    enum hora__timeline line;
    hora_ns now; /* when that was asked for, by the timer queue's own clock; for what runs once */
    hora_ns planned;
    hora_ns every;
    hora_ns offset;
    bool is_given;       /* the first planned time */
    uint32_t zones_seen; /* see zones.h */
    bool zone_is_known;
};
__attribute__((warn_unused_result)) int hora__scheduled_new(const hora_task *task, hora_queue *queue,
                                                            const struct hora__scheduled_plan *plan,
                                                            struct hora__scheduled **ret_scheduled);

/* The same of one that runs once, by the rules of the JDK's calls: it is born enqueued, and hora__timer_queue_insert_new follows. */
__attribute__((warn_unused_result)) int hora__scheduled_new_once(const hora_task *task,
                                                                 struct hora_pool *pool, hora_ns planned,
                                                                 struct hora__scheduled **ret_scheduled);

#endif
