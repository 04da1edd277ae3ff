/* SPDX-License-Identifier: Apache-2.0 */
/* oversight.h - the state of a pool's oversight, shared by the files of this folder
 *
 * How it works      A pool that is made with oversight has one of these; each of its workers has a post, which is told what the worker does
 *                   (see exec/overseer.h, sync/thread.h). The files here each do one thing with that: measures.c counts, events.c tells
 *                   listeners, watch.c, limits.c and overruns.c look after time, carry.c carries, growth.c starts and ends threads.
 * Life              It is counted: the pool has a reference, and each extra, since futures may outlive their pool. When the pool
 *                   goes, all that needs the pool ends (pool_gone), and what is left is memory. */
#ifndef HORA_OVERSEE_OVERSIGHT_H
#define HORA_OVERSEE_OVERSIGHT_H

#include <hora/context.h>
#include <hora/event.h>
#include <hora/trigger.h>

#include "exec/extra.h"
#include "exec/overseer.h"
#include "exec/pool.h"
#include "oversee/reminder.h"

struct hora__measures;
struct hora__sheet;
struct hora__watch;
struct hora__growth;
struct hora__patrol;
struct hora__requests;

/* What the options of a pool say about all of this. */
struct hora__oversight_options {
    bool measured; /* metrics */
    int names;     /* how many names are told apart */
    bool has_admission;
    hora_ns ageing;
    hora_ns stuck_after; /* watchdog */
    hora_ns late_after;
    hora_ns grow_after;
    hora_context_hooks hooks;
    hora_listener listener;
    hora_write_fn dump;
    void *dump_arg;
};

struct hora__oversight {
    struct hora__overseer base;
    hora_pool *pool;                        /* immutable, and not to be used after pool_gone */
    struct hora__oversight_options options; /* copied, with defaults filled in; immutable */
    struct hora__measures *measures;        /* names and what was measured under them; immutable */
    struct hora__watch *watch;              /* who looks after limits and stuck workers; immutable */
    struct hora__patrol *patrol;            /* who looks for stuck workers; NULL: there is no rule for all. Immutable */
    struct hora__requests *requests; /* who writes dumps that are asked for; NULL: nobody. Immutable until pool_ends */
    struct hora__growth *growth;     /* NULL: threads do not come and go; immutable */
    hora_class *classes;             /* the latest first; guarded by the lock of the pool's queue */
};

/* What a worker runs now. Written by the worker, read by anyone: see post.c. */
struct hora__now_slot {
    hora__counter name; /* pointers as numbers: to texts that live as long as the oversight; 0: none */
    hora__counter file; /* to the text of HORA_TASK, which is part of the program */
    hora__counter line;
    hora__counter began;    /* as hora__overseer_stamp says it; HORA_NEVER: it runs nothing */
    hora__counter progress; /* when it was last said, by the pool's clock; HORA_NEVER: not yet */
    hora__counter done;
    hora__counter of;
    hora__counter run; /* the number of this run, counted by the worker from 1 */
};

struct hora__now {
    hora__counter version; /* the slot with this number, modulo two, says what is; the other one is written meanwhile */
    struct hora__now_slot slots[2];
};

struct hora__now_reading {
    const char *name;
    const char *file;
    int line;
    hora_ns began; /* by the pool's clock, from hora__post_read */
    hora_ns progress;
    int64_t done;
    int64_t of;
    int64_t run;
};

/* A task that a worker is in. There are several if one waits for another one, and runs it meanwhile. */
struct hora__frame {
    hora_future *future;            /* whose it is; NULL: a task without one */
    struct hora__sheet *sheet;      /* where it is measured; NULL: nowhere */
    int64_t began;                  /* as hora__overseer_stamp says it */
    struct hora__now_reading noted; /* what was noted of it in `now`, while it waits for an inner one */
    void *carried;
    void *before;                  /* what was current before that */
    bool is_installed;             /* and is to be restored */
    struct hora__watched_run *run; /* what the watch knows of it; NULL: it has no limits */
};

/* A run with limits of its own. Written by the worker before the watch is told of it, and after that guarded by the watch's lock. */
struct hora__watched_run {
    struct hora__reminder reminder;
    struct hora__post *post; /* immutable */
    const hora_task_options *terms;
    hora_future *future;
    hora_thread *thread;
    hora_ns began;
    hora_ns told; /* as stuck, the last time; HORA_NEVER: not yet */
    int number;   /* among those of the worker */
    bool is_interrupted;
};

/* A failed run of a scheduled task: what is told of it besides what the scheduler knows. */
struct hora__failure {
    bool is_noted;
    int code;
    hora_ns ran;
    const hora_task *task;
};

/* What lies deeper is run, but not told of. */
enum { HORA__FRAMES = 8 };

/* A worker's. */
struct hora__post {
    struct hora__witness witness;
    struct hora__oversight *oversight; /* immutable */
    struct hora__worker *worker;       /* immutable */
    struct hora__now now;
    struct hora__sheets *sheets; /* where it writes what it measures; NULL: nothing. Immutable */
    int depth;                   /* how many tasks of the pool it is in; the worker's own, as what follows */
    int64_t ended_at;            /* when the last one ended; */
    bool ended_just_now;         /* and nothing else was done since */
    struct hora__frame frames[HORA__FRAMES];
    bool is_seen; /* growth.c has looked at it, and then */
    hora_ns used; /* it had used so much of a processor; both guarded by the pool's lock */
    int numbers;  /* of runs with limits */
    struct hora__watched_run runs[HORA__FRAMES];
    struct hora__failure failure; /* of the scheduled run that has just ended, and has not been told yet */
    hora__counter
        has_own_limit; /* 1: the task that it runs, or one that waits for that; then the pool's rule does not hold */
    int64_t told_run;  /* the run that was told as stuck by the pool's rule last, and */
    hora_ns told;      /* when; of the watch's thread, as told_run */
};

static inline struct hora__oversight *hora__oversight_of(struct hora__overseer *overseer)
{
    return HORA__LIST_ENTRY(overseer, struct hora__oversight, base);
}

static inline struct hora__post *hora__post_of(struct hora__witness *witness)
{
    return HORA__LIST_ENTRY(witness, struct hora__post, witness);
}

/* NULL: the pool has none. */
static inline struct hora__oversight *hora__pool_oversight(const hora_pool *pool)
{
    return pool->overseer != NULL ? hora__oversight_of(pool->overseer) : NULL;
}

/* ---- classes.c ---- */

/* A class of tasks. The lock of the pool's queue guards admission_class; the rest is immutable. */
struct hora_class {
    struct hora__admission_class admission_class;
    struct hora__oversight *oversight; /* that of its pool */
    hora_class *next;                  /* the class created before it; NULL: none */
    char name[];
};

/* Free all classes: the pool and all extras are gone. */
void hora__classes_free(hora_class *first);

/* ---- post.c ---- */

extern const struct hora__witness_kind hora__post_kind;

/* What a worker runs: false if nothing, or if that cannot be read now. */
bool hora__post_read(const struct hora__post *post, struct hora__now_reading *ret_reading);

/* The frame of the task that the calling thread runs, and its post; NULL: it is in none of a pool with oversight. */
struct hora__frame *hora__post_current(struct hora__post **ret_post);

#endif
