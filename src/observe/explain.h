/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - shared by the files that explain why a task has not run: facts about a future and its pool */
#ifndef HORA_OBSERVE_EXPLAIN_H
#define HORA_OBSERVE_EXPLAIN_H

#include <hora/explain.h>

#include "base/text.h"
#include "observe/observer.h"

/* What was true of a future while its lock was held. */
struct hora__explained_future {
    hora_future *future; /* the caller's */
    enum hora__future_state state;
    int failure;
    bool is_listed;
    hora_thread *runner; /* a reference; NULL: no thread runs it */
    hora_pool *pool;     /* the pool that will run it, and its queue: references; NULL: none */
    hora_queue *queue;
    hora_ns now; /* on the pool's clock, or on the future's own if it has no pool */
};

/* What was true of a pool while its lock was held. */
struct hora__pool_view {
    enum hora__run_state state;
    int workers; /* without those that were replaced */
    int busy;
    int written_off;
    int core_threads;
    int thread_failures;
    int thread_error;
    int runner; /* number of the worker that runs the future; 0: none */
    bool runner_is_known;
    struct hora__run_reading runner_now; /* what the runner has noted, if runner_is_known */
    int longest; /* number of the worker that has been busy with one task for longest; 0: unknown */
    struct hora__run_reading longest_now;
};

/* Reads the facts about the pool and its workers under the pool's lock. */
void hora__pool_view_read(const struct hora__explained_future *explained,
                          struct hora__pool_view *ret_pool_view);

/* Adds a clause that the pool has been shut down or stopped, or nothing. */
void hora__explain_state(struct hora__text *out, const struct hora__pool_view *pool_view);

/* Adds `words` and "worker 3 has been busy with resize (img.c:88) for 9 s", if that is known. */
void hora__explain_longest(struct hora__text *out, const char *words,
                           const struct hora__explained_future *explained,
                           const struct hora__pool_view *pool_view);

/* Adds clauses that tell why no worker takes a task that is ready. */
void hora__explain_not_taken(struct hora__text *out, const struct hora__explained_future *explained,
                             const struct hora__pool_view *pool_view);

/* In a pool with admission: why a task that is not done, and that no worker runs, does not begin. In a
 * scheduler it is due. */
void hora__explain_admission(struct hora__text *out, const struct hora__explained_future *explained);

#endif
