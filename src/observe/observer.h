/* SPDX-License-Identifier: Apache-2.0 */
/* observer.h - the observer of a pool, shared by the files of this folder
 *
 * How it works      A pool has an observer if its options ask for metrics, admission, a watchdog, a
 *                   listener, context hooks, growth or dumps. Each of its workers has a record, which the
 *                   worker calls around every task that it runs (exec/observer.h, sync/thread.h). Each file
 *                   here serves one purpose: measures.c counts and measures, events.c calls listeners,
 *                   watchdog.c is the watchdog thread, limits.c and overruns.c use it for time limits,
 *                   growth.c starts workers when tasks wait for too long.
 * Lifetime          The observer is reference-counted: the pool holds a reference, and so does each extra,
 *                   since futures may outlive their pool. When the pool is freed, the threads of the
 *                   observer end (pool_ends), then everything else that needs the pool (pool_gone). After
 *                   that only memory remains. */
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

/* The options of the pool that concern observation, copied from the structs that the user's options point to.
 * Times are in nanoseconds. */
struct hora__observer_options {
    bool measured;            /* the pool has metrics */
    int names;                /* maximum number of task names */
    bool has_admission;       /* the pool has admission */
    hora_ns ageing;           /* of hora_admission: the waiting time that is worth one priority level */
    hora_ns stuck_after;      /* of hora_watchdog: a run that is quiet for this long is stuck; 0: no rule */
    hora_ns late_after;       /* of hora_watchdog: a run that starts later than this is reported */
    hora_ns grow_after;       /* a task that waits for longer than this may start a worker; 0: no growth */
    hora_context_hooks hooks; /* all NULL: none */
    hora_listener listener;   /* all NULL: none */
    hora_write_fn dump;       /* writes dumps that signal handlers request; NULL: none */
    void *dump_arg;           /* argument of `dump` */
};

/* The observer of a pool. */
struct hora__pool_observer {
    struct hora__observer base;            /* the part that src/exec sees */
    hora_pool *pool;                       /* immutable; NULL after pool_gone */
    struct hora__observer_options options; /* a copy with defaults filled in; immutable */
    struct hora__measures *measures;       /* task names and the measurements under them; immutable */
    struct hora__watchdog *watchdog;       /* checks limits, stuck workers and growth; immutable */
    /* Looks for stuck workers; NULL: the pool has no stuck_after. Immutable until pool_gone. */
    struct hora__stuck_rounds *rounds;
    /* Writes dumps that signal handlers request; NULL: none. Immutable until pool_ends. */
    struct hora__dump_requests *requests;
    /* Starts workers when tasks wait for too long; NULL: the pool does not grow. Immutable until
     * pool_gone. */
    struct hora__growth *growth;
    /* The classes of a pool with admission, the newest first; the lock of its queue guards the list. */
    hora_class *classes;
};

/* The current run of a worker. The worker writes it, any thread reads it without a lock, see
 * worker_record.c. Each field is a separate word, so that no reading of one is torn. */
struct hora__run_slot {
    hora__counter name;  /* address of a text that lives as long as the observer; 0: none */
    hora__counter file;  /* address of a text of HORA_TASK, which is part of the program; 0: unknown */
    hora__counter line;  /* line in `file` */
    hora__counter began; /* as a stamp (hora__observer_stamp); HORA_NEVER: the worker runs nothing */
    /* When the task last called hora_progress, on the pool's clock; HORA_NEVER: not yet. */
    hora__counter progress;
    hora__counter done; /* the arguments of that call */
    hora__counter of;
    hora__counter run; /* number of this run, counted by the worker from 1 */
};

/* Two slots, of which one is current. The worker fills the other one and then makes it current, so readers
 * find a complete slot at any time. */
struct hora__run_note {
    hora__counter version;          /* slot version % 2 is current; published after that slot is complete */
    struct hora__run_slot slots[2]; /* only the worker writes them */
};

/* A consistent copy of a run slot, with the addresses as pointers. */
struct hora__run_reading {
    const char *name;
    const char *file;
    int line;
    hora_ns began;    /* as a stamp; hora__worker_record_read converts it to a time on the pool's clock */
    hora_ns progress; /* on the pool's clock; HORA_NEVER: the task has not reported any */
    int64_t done;
    int64_t of;
    int64_t run;
};

/* A task that a worker is in. There are several if a task waits for another one of its pool and runs it
 * while it waits. Only the worker uses it. */
struct hora__frame {
    hora_future *future;            /* NULL: a detached task */
    struct hora__task_stats *stats; /* where the run is measured; NULL: nowhere */
    int64_t began;                  /* as a stamp */
    struct hora__run_reading noted; /* the note of this task, put aside while an inner one runs */
    void *carried;                  /* context of the task */
    void *before;                   /* the context that was current before; result of the install hook */
    bool is_installed;              /* the install hook was called, so `before` must be restored */
    struct hora__watched_run *run;  /* the watchdog's view of the run; NULL: it has no limits */
};

/* A run that has its own limits. The worker writes it before it sets the check; from then on until it unsets
 * the check, the watchdog's lock guards it. */
struct hora__watched_run {
    struct hora__watchdog_check check;
    struct hora__worker_record *record; /* the record that this is part of; immutable */
    const hora_task_options *terms;     /* the task's options, which belong to its extra */
    hora_future *future;                /* borrowed: the worker holds a reference while it runs it */
    hora_thread *thread;                /* the worker's thread, to interrupt it; borrowed */
    hora_ns began;                      /* on the pool's clock */
    hora_ns reported_at;                /* when it was last reported as stuck; HORA_NEVER: not yet */
    int number;                         /* number among the worker's runs with limits, from 1 */
    bool is_interrupted;                /* the watchdog has interrupted it because of run_limit */
};

/* A failed run of a scheduled task, noted until the scheduler has decided whether another run follows. Only
 * then the failure is reported. */
struct hora__failure {
    bool is_noted; /* the fields below are set, and the failure is not reported yet */
    int code;      /* the code that the body returned */
    hora_ns ran;   /* how long the run took */
    const hora_task *task;
};

/* The maximum depth of tasks that wait for each other on one worker. Deeper tasks run, but are not
 * observed. */
enum { HORA__FRAMES = 8 };

/* The observer's record of a worker. */
struct hora__worker_record {
    struct hora__worker_observer worker_observer; /* the part that the worker itself sees */
    struct hora__pool_observer *pool_observer;    /* immutable */
    struct hora__worker *worker;                  /* immutable */
    struct hora__run_note now;                    /* what it runs; only the worker writes it */
    /* Where the worker records measurements; NULL: nowhere. Immutable. */
    struct hora__worker_stats *worker_stats;

    /* Only the worker uses the fields from here to `frames`. */
    int depth;        /* number of the pool's tasks that the worker is in */
    int uncleared;    /* slots of `now` that may hold a progress; see note_alone in worker_record.c */
    int64_t last_run; /* number of the run that began last; see struct hora__run_slot */
    /* frames[depth - 1] is the innermost task. Frames that are not in use have no future, no context and no
     * limits. */
    struct hora__frame frames[HORA__FRAMES];

    /* The pool's lock guards these two. */
    bool is_seen; /* growth.c has checked the worker at least once */
    hora_ns used; /* processor time that it had used at the last check; < 0: unknown */

    /* Only the worker uses `last_number` and `failure`; for `runs` see struct hora__watched_run. */
    int last_number;                             /* number of the last run with limits */
    struct hora__watched_run runs[HORA__FRAMES]; /* one per frame */
    struct hora__failure failure;                /* of the scheduled run that has just ended */

    /* 1: the current run, or one that waits for it, has its own limits, so the pool's stuck_after does not
     * apply. The worker writes it, the watchdog's thread reads it. */
    hora__counter has_own_limit;
    /* The run last reported as stuck by the pool's rule, and when. Only the watchdog's thread uses both. */
    int64_t reported_run;
    hora_ns reported_at;
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

/* Returns the observer of a pool; NULL: it has none. */
static inline struct hora__pool_observer *hora__pool_get_observer(const hora_pool *pool)
{
    return pool->observer != NULL ? hora__pool_observer_of(pool->observer) : NULL;
}

/* ---- classes.c ---- */

/* A class of tasks. The lock of the pool's queue guards admission_class; the rest is immutable. It lives as
 * long as the observer of its pool, because extras, which may outlive the pool, refer to it. */
struct hora_class {
    struct hora__admission_class admission_class;
    struct hora__pool_observer *pool_observer; /* that of its pool */
    hora_class *next;                          /* the class created before it; NULL: none */
    char name[];                               /* NUL-terminated; admission_class.name points to it */
};

/* Frees a list of classes. The pool and all extras must be gone. */
void hora__classes_free(hora_class *first);

/* ---- worker_record.c ---- */

/* The functions that a worker calls around each task. */
extern const struct hora__worker_observer_kind hora__worker_record_kind;

/* Reads what a worker runs, with `began` as a time on the pool's clock. Returns false if it runs nothing;
 * then only `run` is meaningful. The call never waits for the worker. The caller keeps the record alive: it
 * holds the pool's lock, or the watchdog's lock while a run of the worker is registered there. */
bool hora__worker_record_read(const struct hora__worker_record *record,
                              struct hora__run_reading *ret_reading);

/* ---- events.c ---- */

/* Facts about a run when it begins. The times are stamps. Listeners use them only in pools whose stamps are
 * nanoseconds, see init_times in observer.c. */
struct hora__run_start {
    const char *name; /* a copy that lives as long as the observer; NULL: the task has none */
    hora_ns waited;   /* time since it could have begun; < 0: unknown */
    hora_ns late;     /* time since its planned time; < 0: not scheduled */
};

/* Report the start and the end of a run to the listener. The worker calls them around each run. */
void hora__events_started(struct hora__worker_record *record, hora_future *future, const hora_task *task,
                          const struct hora__run_start *start);
void hora__events_ended(struct hora__worker_record *record, hora_future *future, const hora_task *task,
                        int code, hora_ns ran);

/* Report other events. The thread that causes the event calls them, with no lock held. The functions that
 * take a struct hora__observer are called through struct hora__observer_kind. Those of rejected, skipped,
 * expired and stuck tasks also count the event. */
void hora__events_rejected(struct hora__observer *observer, hora_future *future, const hora_task *task,
                           const char *why);
void hora__events_thread_failed(struct hora__observer *observer, int error);
void hora__events_skipped(struct hora__observer *observer, hora_future *future, int64_t count);
/* Reports the failure that the calling worker noted in hora__events_ended. The scheduler calls it once it has
 * decided whether another run follows: `ends` is true if none does. */
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

/* exec/extra.h declares hora__extra_prepare and hora__extra_accepted, which make the limits of a future and
 * set their checks. This frees them; no check may be set any more. NULL is allowed. */
void hora__limits_free(struct hora__limits *limits);

/* Returns whether it is too late to start a run of this future, and reports that. The worker calls it before
 * the body; if it is too late, the future fails with HORA_EEXPIRED. `future` may be NULL. */
bool hora__limits_refuse(struct hora__worker_record *record, hora_future *future);

/* Cancels the check for the start, because a run has begun. NULL is allowed. */
void hora__limits_begun(struct hora__limits *limits);

/* Reports that `count` runs were dropped because they could not start in time. Called through struct
 * hora__observer_kind. */
void hora__limits_expired(struct hora__observer *observer, hora_future *future, int64_t count);

/* ---- overruns.c: run_limit and stuck_after of a task, stuck_after of the pool ---- */

/* Makes the part that applies stuck_after of the pool, and starts the watchdog's thread for it. *ret_rounds
 * is NULL if the pool has no stuck_after. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__stuck_rounds_new(struct hora__pool_observer *pool_observer,
                                                               struct hora__stuck_rounds **ret_rounds);
/* Frees it. The watchdog must be closed. NULL is allowed. */
void hora__stuck_rounds_free(struct hora__stuck_rounds *rounds);

/* prepare makes the checks for runs with limits in a worker's record and reserves room for them; release
 * undoes that. prepare returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__overruns_prepare(struct hora__worker_record *record);
void hora__overruns_release(struct hora__worker_record *record);

/* Register and unregister a run with the watchdog, if it has limits. The worker calls them around each run.
 * `now` is the start on the pool's clock. */
void hora__overruns_begins(struct hora__worker_record *record, struct hora__frame *frame, hora_future *future,
                           hora_ns now);
void hora__overruns_ended(struct hora__worker_record *record, struct hora__frame *frame, hora_future *future);

/* ---- growth.c: more workers under load, see grow_after in hora/pool.h ---- */

/* Checks grow_after against the other options. Returns 0 or HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__growth_check(const hora_pool_options *options,
                                                           hora_error *reason);

/* Makes the part that starts workers. *ret_growth is NULL if the pool does not grow. The watchdog must exist.
 * Returns 0 or HORA_ENOMEM. It is freed after the watchdog is closed. */
__attribute__((warn_unused_result)) int hora__growth_new(struct hora__pool_observer *pool_observer,
                                                         struct hora__growth **ret_growth);
void hora__growth_free(struct hora__growth *growth);

/* queued: a task has been put into the queue, so the watchdog must look. left: a worker has ended because it
 * was idle for too long, and `threads` remain. Both are called through struct hora__observer_kind. */
void hora__growth_queued(struct hora__observer *observer);
void hora__growth_left(struct hora__observer *observer, int threads);

/* ---- requests.c: dumps that signal handlers request, see hora_pool_request_dump ---- */

/* Starts the thread that writes requested dumps. *ret_requests is NULL if the options have no dump function.
 * Returns 0, HORA_ENOMEM, HORA_EAGAIN, HORA_EMFILE or HORA_ENFILE. */
__attribute__((warn_unused_result)) int hora__dump_requests_new(struct hora__pool_observer *pool_observer,
                                                                struct hora__dump_requests **ret_requests);

/* Ends the thread and frees the memory. Waits for the end of a dump that the thread is writing, so it must
 * not be called in that thread. NULL is allowed. */
void hora__dump_requests_free(struct hora__dump_requests *requests);

/* Returns whether the calling thread is the one that writes dumps. NULL is allowed. */
bool hora__dump_requests_is_own_thread(struct hora__dump_requests *requests);

#endif
