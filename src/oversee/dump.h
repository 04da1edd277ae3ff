/* SPDX-License-Identifier: Apache-2.0 */
/* dump.h - what a pool is doing, as it was at one moment for each part, copied so that it can be written without a lock */
#ifndef HORA_OVERSEE_DUMP_H
#define HORA_OVERSEE_DUMP_H

#include <hora/explain.h>

#include "oversee/oversight.h"

enum {
    HORA__DUMP_TASKS = 20,   /* of the queue, and of firings */
    HORA__DUMP_CLASSES = 64, /* a pool has no more */
    HORA__DUMP_NAME = 128,   /* bytes of a name, with the final NUL */
};

/* Workers that need no memory. In the simulator they are few, so that there are more of them. */
#ifdef HORA_SIM
enum { HORA__DUMP_WORKERS = 1 };
#else
enum { HORA__DUMP_WORKERS = 64 };
#endif

/* A task that waits. Names of tasks may go with them, so they are copied while they cannot. */
struct hora__dump_task {
    bool has_name;
    char name[HORA__DUMP_NAME];
    const char *file;
    int line;
    bool knows_when; /* its future knows when it came, but not under the queue's lock */
    hora_ns waited;  /* HORA_NEVER: not known */
    hora_ns in;      /* until it is due */
    bool is_series;
    bool is_steered;        /* then these hold: */
    const char *class_name; /* lives as long as the pool; NULL: it has none */
    uint64_t key;
    int priority;
};

struct hora__dump_class {
    const char *name; /* as above */
    int limit;
    int reserve;
    int rate;
    hora_ns per;
    int running;
    int waiting;
    int64_t started;
};

struct hora__dump_worker {
    int number;
    bool is_busy;
    bool is_off;                  /* written off as stuck */
    bool is_known;                /* what it runs is */
    struct hora__now_reading now; /* if so */
    int64_t completed;
};

struct hora__dump {
    hora_pool *pool;
    hora_pool_stats stats;
    hora_ns now;  /* by the pool's clock */
    hora_ns wall; /* by the wall clock that belongs to it */
    int workers;
    int workers_left_out; /* there was no room for them */
    int worker_room;
    struct hora__dump_worker *worker; /* own_workers, or allocated */
    struct hora__dump_worker own_workers[HORA__DUMP_WORKERS];
    int queued;
    int heads;
    struct hora__dump_task head[HORA__DUMP_TASKS];
    hora_future *asked[HORA__DUMP_TASKS]; /* the futures of heads: references, while collecting; NULL: it has none */
    bool is_steered;
    int keys; /* in use */
    int classes;
    struct hora__dump_class class[HORA__DUMP_CLASSES];
    bool is_scheduler;
    int planned; /* that are not due yet */
    int firings;
    struct hora__dump_task firing[HORA__DUMP_TASKS];
};

/* ---- dump_collect.c ---- */

/* Collect all of a pool. HORA_ENOMEM. `for_debugger`: as much as can be had without memory, and without locks that are not free. */
__attribute__((warn_unused_result)) int hora__dump_collect(struct hora__dump *dump, hora_pool *pool, bool for_debugger);
void hora__dump_release(struct hora__dump *dump);

#endif
