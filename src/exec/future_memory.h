/* SPDX-License-Identifier: Apache-2.0 */
/* future_memory.h - memory of futures that have gone, for those to come
 *
 * Futures are made by one thread and end on another. So each thread keeps a few blocks of memory, and workers bring
 * what they have too much of to their pool's shared free list, where those who submit get it; in batches, so that there is no
 * lock for the single future. Plain futures and scheduled ones differ in size; a pool's shared free list is for its own kind. */
#ifndef HORA_EXEC_FUTURE_MEMORY_H
#define HORA_EXEC_FUTURE_MEMORY_H

#include "base/build.h"
#include "sync/thread.h"
#include "sys/alloc.h"
#include "sys/mutex.h"

struct hora_pool;

struct hora__shared_free_list {
    enum hora__block_kind what; /* immutable */
    hora__mutex lock;           /* rank FREE_LIST */
    hora__atomic count;         /* of batches; read by anyone, written under the lock */
    void *first;                /* a batch: see future_memory.c */
};

__attribute__((warn_unused_result)) int hora__shared_free_list_init(
    struct hora__shared_free_list *shared_free_list, enum hora__block_kind what);

/* Free what is in it. */
void hora__shared_free_list_destroy(struct hora__shared_free_list *shared_free_list);

/* Give the calling thread a batch, if it has no free blocks and there is one. */
void hora__shared_free_list_supply(struct hora__shared_free_list *shared_free_list);

/* A worker has nothing to do: a good time to give back memory, until there is. */
void hora__pool_free_excess(struct hora_pool *pool);

/* So many batches it leaves. */
enum { HORA__FREE_LIST_KEEPS = HORA__KEPT(32, 1) };

/* Memory for a future, always of the same size for the same, with any contents; NULL: there is none. */
__attribute__((warn_unused_result)) void *hora__future_memory_get(enum hora__block_kind what, size_t size);

/* The same for a future of a pool, whose shared free list keeps this kind of blocks: the thread's own blocks come
 * first, then the list, then the system. */
__attribute__((warn_unused_result)) void *hora__shared_free_list_get(
    struct hora__shared_free_list *shared_free_list, enum hora__block_kind what, size_t size);

/* Memory of a future is no longer used. */
void hora__future_memory_put(enum hora__block_kind what, void *block);

#endif
