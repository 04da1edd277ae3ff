/* SPDX-License-Identifier: Apache-2.0 */
/* observer.h - the observer of a pool, shared by the files of this folder
 *
 * How it works      A pool whose options ask for metrics, events, limits or admission has one observer.
 *                   Each of its workers has a record, which the worker calls around every task that it
 *                   runs (exec/observer.h, sync/thread.h). Each file here does one thing with that:
 *                   measures.c counts, events.c calls listeners, watchdog.c is the watchdog thread, limits.c
 *                   and overruns.c use it for time limits, growth.c starts and ends workers.
 * Lifetime          The observer is counted: the pool has a reference, and so has each extra, since
 *                   futures may outlive their pool. When the pool is freed, everything that needs the pool
 *                   ends (pool_gone), and only memory remains. */
#ifndef HORA_OBSERVE_OBSERVER_H
#define HORA_OBSERVE_OBSERVER_H

#include <hora/context.h>
#include <hora/event.h>
#include <hora/trigger.h>

#include "exec/extra.h"
#include "exec/observer.h"
#include "exec/pool.h"
#include "observe/watchdog.h"

struct hora__measures;
struct hora__task_stats;
struct hora__watchdog;
struct hora__growth;
struct hora__stuck_rounds;
struct hora__dump_requests;

/* What the options of the pool say about observation. */
struct hora__observer_options {
    bool measured; /* metrics */
    int names;     /* maximum number of task names */
    bool has_admission;
    hora_ns ageing;
    hora_ns stuck_after; /* of hora_watchdog */
    hora_ns late_after;
    hora_ns grow_after;
    hora_context_hooks hooks;
    hora_listener listener;
    hora_write_fn dump;
    void *dump_arg;
};

struct hora__pool_observer {
    struct hora__observer base;
    hora_pool *pool;                       /* immutable; NULL after pool_gone */
    struct hora__observer_options options; /* a copy with defaults filled in; immutable */
    struct hora__measures *measures;       /* task names and the measurements under them; immutable */
    struct hora__watchdog *watchdog;       /* checks limits and stuck workers; immutable */
    /* looks for stuck workers; NULL: the pool has no stuck_after. Immutable until pool_gone */
    struct hora__stuck_rounds *rounds;
    /* writes dumps that signal handlers request; NULL: none. Immutable until pool_ends */
    struct hora__dump_requests *requests;
    struct hora__growth *growth; /* NULL: the pool does not grow. Immutable until pool_gone */
    /* of a pool with admission, the newest first; the lock of its queue guards the list */
    hora_class *classes;
};

/* What a worker runs now. The worker writes it, any thread reads it, see worker_record.c. */
struct hora__run_slot {
    hora__counter name; /* addresses as numbers: texts that live as long as the observer; 0: none */
    hora__counter file; /* text of HORA_TASK, which is part of the program */
    hora__counter line;
    hora__counter began; /* as a stamp (hora__observer_stamp); HORA_NEVER: the worker runs nothing */
    /* when the task last reported progress, on the pool's clock; HORA_NEVER: not yet */
    hora__counter progress;
    hora__counter done;
    hora__counter of;
    hora__counter run; /* number of this run, counted by the worker from 1 */
};

struct hora__run_note {
    hora__counter version; /* slot version % 2 is current; the worker writes the other one meanwhile */
    struct hora__run_slot slots[2];
};

struct hora__run_reading {
    const char *name;
    const char *file;
    int line;
    hora_ns began; /* on the pool's clock when read by hora__worker_record_read */
    hora_ns progress;
    int64_t done;
    int64_t of;
    int64_t run;
};

/* A task that a worker is in. There are several if a task waits for another one and runs it meanwhile. */
struct hora__frame {
    hora_future *future;            /* NULL: a detached task */
    struct hora__task_stats *stats; /* where the run is measured; NULL: nowhere */
    int64_t began;                  /* as a stamp */
    struct hora__run_reading noted; /* what was noted of this task, while it waits for an inner one */
    void *carried;                  /* context of the task */
    void *before;                   /* the context that was current before */
    bool is_installed;              /* `before` must be restored */
    struct hora__watched_run *run;  /* the watchdog's view of the run; NULL: it has no limits */
};

/* A run with limits of its own. The worker writes it before it tells the watchdog; afterwards the watchdog's
 * lock guards it. */
struct hora__watched_run {
    struct hora__watchdog_check check;
    struct hora__worker_record *record; /* immutable */
    const hora_task_options *terms;
    hora_future *future;
    hora_thread *thread;
    hora_ns began;
    hora_ns told; /* when it was last reported as stuck; HORA_NEVER: not yet */
    int number;   /* number among the worker's runs with limits */
    bool is_interrupted;
};

/* A failed run of a scheduled task: the facts that the scheduler does not know. */
struct hora__failure {
    bool is_noted;
    int code;
    hora_ns ran;
    const hora_task *task;
};

/* Deeper tasks run, but are not observed. */
enum { HORA__FRAMES = 8 };

/* The observer's record of a worker. */
struct hora__worker_record {
    struct hora__worker_observer worker_observer;
    struct hora__pool_observer *pool_observer; /* immutable */
    struct hora__worker *worker;               /* immutable */
    struct hora__run_note now;
    /* where the worker records measurements; NULL: nowhere. Immutable */
    struct hora__worker_stats *worker_stats;
    /* number of the pool's tasks that the worker is in. This and the fields down to `frames` belong to the
     * worker */
    int depth;
    int64_t ended_at;    /* stamp of the end of the last task */
    bool ended_just_now; /* nothing else was done since */
    struct hora__frame frames[HORA__FRAMES];
    bool is_seen; /* growth.c has looked at the worker */
    hora_ns used; /* processor time it had used then; the pool's lock guards both */
    int numbers;  /* counter for the runs with limits */
    struct hora__watched_run runs[HORA__FRAMES];
    struct hora__failure failure; /* of the scheduled run that has just ended, and is not reported yet */
    /* 1: the task that it runs, or a task that waits for that one, has its own limit, so the pool's
     * stuck_after does not apply */
    hora__counter has_own_limit;
    /* the run last reported as stuck by the pool's rule, and when; only the watchdog's thread uses both */
    int64_t told_run;
    hora_ns told;
};

static inline struct hora__pool_observer *hora__pool_observer_of(struct hora__observer *observer)
{
    return HORA__LIST_ENTRY(observer, struct hora__pool_observer, base);
}

static inline struct hora__worker_record *hora__worker_record_of(
    struct hora__worker_observer *worker_observer)
{
    return HORA__LIST_ENTRY(worker_observer, struct hora__worker_record, worker_observer);
}

/* NULL: the pool is not observed. */
static inline struct hora__pool_observer *hora__pool_get_observer(const hora_pool *pool)
{
    return pool->observer != NULL ? hora__pool_observer_of(pool->observer) : NULL;
}

/* ---- classes.c ---- */

/* A class of tasks. The lock of the pool's queue guards admission_class; the rest is immutable. */
struct hora_class {
    struct hora__admission_class admission_class;
    struct hora__pool_observer *pool_observer; /* that of its pool */
    hora_class *next;                          /* the class created before it; NULL: none */
    char name[];
};

/* Free all classes: the pool and all extras are gone. */
void hora__classes_free(hora_class *first);

/* ---- worker_record.c ---- */

extern const struct hora__worker_observer_kind hora__worker_record_kind;

/* Reads what a worker runs. Returns false if it runs nothing. */
bool hora__worker_record_read(const struct hora__worker_record *record,
                              struct hora__run_reading *ret_reading);

/* ---- events.c ---- */

/* What is known of a run when it begins. Times are nanoseconds; they are known if the pool has a listener for
 * tasks or measures in nanoseconds. */
struct hora__run_start {
    const char *name; /* a copy that lives as long as the observer; NULL: the task has none */
    hora_ns waited;   /* since it could have begun; < 0: unknown */
    hora_ns late;     /* after its planned time; < 0: not scheduled */
};

/* Called by a worker around a run. */
void hora__events_started(struct hora__worker_record *record, hora_future *future, const hora_task *task,
                          const struct hora__run_start *start);
void hora__events_ended(struct hora__worker_record *record, hora_future *future, const hora_task *task,
                        int code, hora_ns ran);

/* Called by any thread. Those with an observer are called through struct hora__observer_kind; they also count
 * the event. */
void hora__events_rejected(struct hora__observer *observer, hora_future *future, const hora_task *task,
                           const char *why);
void hora__events_thread_failed(struct hora__observer *observer, int error);
void hora__events_skipped(struct hora__observer *observer, hora_future *future, int64_t count);
/* The scheduler has decided what the failure that the calling worker noted in hora__events_ended means. */
void hora__events_failed(struct hora__observer *observer, hora_future *future, bool ends,
                         int64_t failures_in_a_row);
void hora__events_clock_stepped(struct hora__observer *observer, hora_ns suspended, hora_ns stepped,
                                int overdue);
void hora__events_expired(struct hora__pool_observer *pool_observer, hora_future *future, int64_t count,
                          const char *why);
void hora__events_stuck(struct hora__pool_observer *pool_observer, hora_future *future,
                        const hora_event *event);
void hora__events_resized(struct hora__pool_observer *pool_observer, int before, int after, const char *why);

/* ---- limits.c: start_within and finish_within of hora_task_options ---- */

/* exec/extra.h declares hora__extra_prepare and hora__extra_accepted, which make and set the limits of a
 * future. */
void hora__limits_free(struct hora__limits *limits);

/* Called by a worker that is about to run the body: whether it is too late to start. If so, it reports that,
 * and the future fails with HORA_EEXPIRED. */
bool hora__limits_refuse(struct hora__worker_record *record, hora_future *future);

/* Called by a worker when a run has begun. */
void hora__limits_begun(struct hora__limits *limits);

/* Called through struct hora__observer_kind. */
void hora__limits_expired(struct hora__observer *observer, hora_future *future, int64_t count);

/* ---- overruns.c: run_limit and stuck_after of a task, stuck_after of the pool ---- */

/* *ret_rounds is NULL if the pool has no stuck_after. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__stuck_rounds_new(struct hora__pool_observer *pool_observer,
                                                               struct hora__stuck_rounds **ret_rounds);
void hora__stuck_rounds_free(struct hora__stuck_rounds *rounds);

/* Prepare a worker's record for runs with limits, and undo that. Returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__overruns_prepare(struct hora__worker_record *record);
void hora__overruns_release(struct hora__worker_record *record);

/* Called by a worker around a run. */
void hora__overruns_begins(struct hora__worker_record *record, struct hora__frame *frame, hora_future *future,
                           hora_ns now);
void hora__overruns_ended(struct hora__worker_record *record, struct hora__frame *frame, hora_future *future);

/* ---- growth.c: workers that come and go with the load, see grow_after in hora/pool.h ---- */

/* Checks grow_after. Returns 0 or HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__growth_check(const hora_pool_options *options,
                                                           hora_error *reason);

/* *ret_growth is NULL if the pool does not grow. The watchdog exists already. Returns 0 or HORA_ENOMEM. Free
 * it when the watchdog is closed. */
__attribute__((warn_unused_result)) int hora__growth_new(struct hora__pool_observer *pool_observer,
                                                         struct hora__growth **ret_growth);
void hora__growth_free(struct hora__growth *growth);

/* Called through struct hora__observer_kind. */
void hora__growth_queued(struct hora__observer *observer);
void hora__growth_left(struct hora__observer *observer, int threads);

/* ---- requests.c: dumps that signal handlers request, see hora_pool_request_dump ---- */

/* *ret_requests is NULL if the options have no dump function. Returns 0, HORA_ENOMEM, HORA_EAGAIN,
 * HORA_EMFILE or HORA_ENFILE. */
__attribute__((warn_unused_result)) int hora__dump_requests_new(struct hora__pool_observer *pool_observer,
                                                                struct hora__dump_requests **ret_requests);

/* Ends the thread, after a dump that it may be writing, and frees the memory. Must not be called in that
 * thread. NULL is allowed. */
void hora__dump_requests_free(struct hora__dump_requests *requests);

/* Whether the calling thread is the one that writes dumps. */
bool hora__dump_requests_is_me(struct hora__dump_requests *requests);

#endif
