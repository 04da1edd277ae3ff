/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - shared by the files that explain why a task has not run: facts about a future and its pool
 *
 * The facts are copies. Each struct holds what was true while one lock was held. */
#ifndef HORA_OBSERVE_EXPLAIN_H
#define HORA_OBSERVE_EXPLAIN_H

#include <hora/explain.h>

#include "base/text.h"
#include "observe/observer.h"

/* The facts about a future, read under its lock. */
struct hora__explained_future {
    hora_future *future; /* the caller's; borrowed */
    enum hora__future_state state;
    int failure;         /* its code, if it has failed */
    bool is_listed;      /* a pool that was stopped has handed it back */
    hora_thread *runner; /* a reference; NULL: no thread runs it */
    hora_pool *pool;     /* the pool that will run it; a reference; NULL: none */
    hora_queue *queue;   /* the queue of that pool; a reference; NULL: none */
    hora_ns now;         /* on the pool's clock, or on the future's clock if it has no pool */
};

/* The facts about a pool and its workers, read under the pool's lock. */
struct hora__pool_view {
    enum hora__run_state state;
    int workers;                          /* without those that were written off */
    int busy;                             /* how many of these run a task */
    int written_off;                      /* workers that were replaced because they are stuck */
    int core_threads;                     /* the pool's setting */
    int thread_failures;                  /* threads that could not be started */
    int thread_error;                     /* why the last of them could not */
    int runner;                           /* number of the worker that runs the future; 0: none */
    bool runner_is_known;                 /* runner_now is set */
    struct hora__run_reading runner_now;  /* what the runner has noted */
    int longest;                          /* number of the worker whose current run began first; 0: unknown */
    struct hora__run_reading longest_now; /* what that worker has noted */
};

/* Reads the facts about the pool and its workers under the pool's lock. */
void hora__pool_view_read(const struct hora__explained_future *explained,
                          struct hora__pool_view *ret_pool_view);

/* Adds a clause if the pool has been shut down or stopped. */
void hora__explain_state(struct hora__text *out, const struct hora__pool_view *pool_view);

/* Adds `words` and "worker 3 has been busy with resize (img.c:88) for 9 s", if that is known. */
void hora__explain_longest(struct hora__text *out, const char *words,
                           const struct hora__explained_future *explained,
                           const struct hora__pool_view *pool_view);

/* Adds clauses that explain why no worker takes a task that is ready. */
void hora__explain_not_taken(struct hora__text *out, const struct hora__explained_future *explained,
                             const struct hora__pool_view *pool_view);

/* Adds clauses that explain why a task of a pool with admission does not begin. The task is not done, and no
 * worker runs it; in a scheduler it is due. */
void hora__explain_admission(struct hora__text *out, const struct hora__explained_future *explained);

#endif
