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

/* The stage of a scheduled future. See series.c for the transitions. */
enum hora__stage {
    HORA__OUT = 0, /* not yet accepted, or removed, or over */
    HORA__SWEPT,   /* in a chain of entries that are to be cancelled */
    HORA__WAITS,   /* in the timer queue */
    HORA__TAKEN,   /* a worker has it, and has not decided yet */
    HORA__RUNS,    /* its body runs, or is about to */
};

/* Whether the planned time still holds, or has to be found anew, and why. */
enum hora__staleness {
    HORA__NOT_STALE,
    HORA__NEW_RULES, /* a zone of its trigger was refreshed */
    HORA__SET_BACK,  /* the wall clock was set back; this overrides NEW_RULES */
};

struct hora__overlap;
struct hora__scheduled;

/* The state of a task that may run more than once, or has a schedule of its own. It lives as long as the
 * future. */
struct hora__series {
    /* immutable */
    struct hora__scheduled *scheduled; /* the future it belongs to */
    const hora_schedule *rules;        /* hora__jdk_rules, or own_rules[0] */
    enum hora__trigger trigger;
    hora_ns offset;                /* added to each planned time */
    struct hora__overlap *overlap; /* HORA_OVERLAP_ALLOW: its runs; NULL: one run at a time */
    struct hora__extra *extra;     /* its options and context; NULL: none */

    /* guarded by the timer queue's lock */
    struct hora__timer_node by_latest; /* with slack only: when it must be taken */
    bool is_given;    /* the planned time was given: for the first run, by re-timing or by backing off */
    bool has_skipped; /* planned times between that of the last run and this one were skipped */
    bool is_over;     /* no run follows those that have begun; its future may not be done yet */
    bool is_retimed;  /* while it is taken or runs: `planned_next` is the next planned time */
    enum hora__staleness staleness;
    struct hora__list zoned;         /* among the series states whose trigger has a zone */
    struct hora__entry *next_picked; /* in a chain of entries */
    uint32_t set_backs;              /* how many times the wall clock had been set back when it was taken */
    uint32_t refreshes;              /* how many refreshes of zones had been seen then */
    hora_ns every;                   /* RATE, GAP: the period, or the delay */
    hora_ns planned_next;            /* valid while is_retimed */
    hora_ns last_planned;            /* the planned time of the last run, without the offset */
    int running;                     /* runs that have not ended */
    int64_t runs;                    /* runs that have begun */
    int64_t failures;
    int64_t failures_in_a_row;
    int64_t skipped;           /* planned times */
    hora_schedule own_rules[]; /* one or none; it has a reference to its trigger, if any. Immutable */
};

/* Count skipped planned times, with the timer queue's lock. The count saturates. */
static inline void hora__series_skips(struct hora__series *series, int64_t count)
{
    assert(count >= 0);
    series->skipped = hora__ns_add(series->skipped, count);
}

/* When the last run began and ended; HORA_NEVER: it has not. */
struct hora__last_run {
    hora_ns start;
    hora_ns end;
};

/* There may be millions that run once, so everything that these do not need is in the series state. */
struct hora__scheduled {
    hora_future future;          /* first: they begin at the same address */
    hora_queue *queue;           /* its timer queue, with a counted reference; immutable */
    struct hora__series *series; /* immutable; NULL: it runs once, by the rules of the JDK's calls */

    /* guarded by the timer queue's lock */
    hora_ns planned; /* the time of the run that it waits for, or that is going on */
    union {
        struct hora__last_run last;      /* with a series state, or once its run has begun */
        struct hora__entry *next_picked; /* in a chain of entries: without a series state, before its run */
    } run;
    int last_code;
    bool paused : 1;
    bool has_begun : 1;  /* without a series state: its run has begun, */
    bool is_running : 1; /* and has not ended */
    uint8_t lane;        /* immutable: the lane by which it holds the timer queue */
    uint16_t spot;       /* guarded by the lane's lock: see hora__node_spot */
    struct hora__entry entry;
};

/* The rules of the JDK's calls. */
extern const hora_schedule hora__jdk_rules;

/* The context for a trigger of the user, which is called without the lock. Taken with the lock, of a task
 * with a series state. */
hora_trigger_context hora__scheduled_context(const struct hora__scheduled *scheduled, hora_ns now);

/* The scheduled future of a future; NULL: it was not made by a scheduler. */
static inline struct hora__scheduled *hora__scheduled_of(hora_future *future)
{
    assert(future != NULL);
    return future->kind == HORA__FUTURE_SCHEDULED ? (struct hora__scheduled *)future : NULL;
}

/* The scheduled future of an entry; NULL: the entry belongs to a foreign future or to a detached task. */
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

/* Whether its planned times follow the wall clock one after the other, so that setting the clock back
 * would silence it. */
static inline bool hora__scheduled_follows_wall(const struct hora__scheduled *scheduled)
{
    enum hora__trigger trigger = hora__scheduled_trigger(scheduled);
    return scheduled->entry.line == HORA__WALL && (trigger == HORA__RATE || trigger == HORA__ASKED);
}

/* Whether its planned time depends on a zone. */
static inline bool hora__scheduled_follows_zone(const struct hora__scheduled *scheduled)
{
    const struct hora__series *series = scheduled->series;
    return series != NULL && !hora__list_is_empty(&series->zoned) && !series->is_given;
}

/* A worker has just taken the entry, in this visit to the timer queue, and the own clock shows `now`.
 * Begin the run, if that can be decided at once; then run->begun is set. See series.c. */
void hora__series_take_locked(struct hora__series_run *run, struct hora__scheduled *scheduled, hora_ns now);

/* The run of run->ended has succeeded: note its end, plan the next run and put the entry back. Returns
 * false, with nothing changed, if that takes the general way. The caller serves the queue, or looks itself
 * before it sleeps. */
bool hora__series_return_locked(struct hora__series_run *run, hora_ns now);

/* With the lock, for a task that is taken, runs, or comes in: if zones were refreshed since, its planned
 * time is stale, like those of the tasks in the timer queue. */
void hora__scheduled_check_rules(struct hora__scheduled *scheduled);

/* The same, and also if the wall clock was set back. */
void hora__scheduled_check_clock(struct hora__scheduled *scheduled);

/* Its due time: never while it is paused, at once if its planned time is stale. */
hora_ns hora__scheduled_due(const struct hora__scheduled *scheduled);

/* How late it is now; negative: its time has not come; HORA_NEVER: it has none, and a worker is about to
 * end it. */
hora_ns hora__scheduled_lateness(struct hora__scheduled *scheduled);

/* Check that it is a future of a scheduler, and lock its timer queue; unlock. HORA_EINVAL, HORA_EFORKED,
 * HORA_EDEADLK. */
__attribute__((warn_unused_result)) int hora__scheduled_enter(hora_future *future,
                                                              struct hora__scheduled **ret_scheduled);
void hora__scheduled_leave(struct hora__scheduled *scheduled);

/* Make a scheduled future, which is OUT. HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
struct hora__scheduled_plan {
    const hora_schedule *rules;
    bool copies_rules;         /* the future gets a copy of `rules` */
    struct hora__extra *extra; /* passes to the future with success */
    bool paused;
    enum hora__trigger trigger;
    enum hora__timeline line;
    hora_ns now; /* of a task that runs once: when the call began, by the timer queue's own clock */
    hora_ns planned;
    hora_ns every;
    hora_ns offset;
    bool is_given;       /* the first planned time was given, and not found by the trigger */
    uint32_t zones_seen; /* see hora__zones_follow */
    bool zone_is_known;
};
__attribute__((warn_unused_result)) int hora__scheduled_new(const hora_task *task, hora_queue *queue,
                                                            const struct hora__scheduled_plan *plan,
                                                            struct hora__scheduled **ret_scheduled);

/* The same for a future that runs once, by the rules of the JDK's calls. It is born enqueued; the caller
 * then calls hora__timer_queue_insert_new. */
__attribute__((warn_unused_result)) int hora__scheduled_new_once(const hora_task *task,
                                                                 struct hora_pool *pool, hora_ns planned,
                                                                 struct hora__scheduled **ret_scheduled);

#endif
