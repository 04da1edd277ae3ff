/* SPDX-License-Identifier: Apache-2.0 */
/* spares.h - memory of futures that have gone, for those to come
 *
 * Futures are made by one thread and end on another. So each thread keeps a few blocks of memory, and workers bring
 * what they have too much of to their pool's depot, where those who submit get it; in batches, so that there is no
 * lock for the single future. Plain futures and scheduled ones differ in size; a pool's depot is for its own kind. */
#ifndef HORA_EXEC_SPARES_H
#define HORA_EXEC_SPARES_H

#include "base/build.h"
#include "sync/thread.h"
#include "sys/alloc.h"
#include "sys/mutex.h"

struct hora_pool;

struct hora__depot {
    enum hora__keepsake what; /* immutable */
    hora__mutex lock;         /* rank DEPOT */
    hora__atomic count;       /* of batches; read by anyone, written under the lock */
    void *first;              /* a batch: see spares.c */
};

__attribute__((warn_unused_result)) int hora__depot_init(struct hora__depot *depot, enum hora__keepsake what);

/* Free what is in it. */
void hora__depot_destroy(struct hora__depot *depot);

/* Give the calling thread a batch, if it has no spares and there is one. */
void hora__depot_supply(struct hora__depot *depot);

/* A worker has nothing to do: a good time to give back memory, until there is. */
void hora__pool_tidy(struct hora_pool *pool);

/* So many batches it leaves. */
enum { HORA__DEPOT_KEEPS = HORA__KEPT(32, 1) };

/* Memory for a future, always of the same size for the same, with any contents; NULL: there is none. */
__attribute__((warn_unused_result)) void *hora__spares_get(enum hora__keepsake what, size_t size);

/* The same of what the thread has itself. */
HORA__INLINE void *hora__spares_own(enum hora__keepsake what)
{
    hora_thread *thread = hora__thread_existing();
    return thread != NULL ? hora__blocks_pop(&thread->spares[what]) : NULL;
}

/* The same, for one of this pool, whose depot is for that: it is asked before the system is. */
__attribute__((warn_unused_result)) void *hora__depot_get_more(struct hora__depot *depot, size_t size);

__attribute__((warn_unused_result)) HORA__INLINE void *hora__depot_get(struct hora__depot *depot,
                                                                       enum hora__keepsake what, size_t size)
{
    void *block = hora__spares_own(what);
    return block != NULL ? block : hora__depot_get_more(depot, size);
}

/* Memory of a future is no longer used. */
void hora__spares_put(enum hora__keepsake what, void *block);

#endif
