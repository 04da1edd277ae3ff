/* SPDX-License-Identifier: Apache-2.0 */
/* future_memory.h - memory of futures that have gone, for new ones
 *
 * One thread makes a future, and it ends on another. So each thread keeps a few free blocks. A worker that
 * has too many brings them to the shared free list of its pool, and submitters get them there. Both move
 * whole batches, so that a single future needs no lock. Plain and scheduled futures differ in size; the list
 * of a pool holds only blocks for its own kind. */
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

/* Frees all blocks in it. */
void hora__shared_free_list_destroy(struct hora__shared_free_list *shared_free_list);

/* Gives the calling thread a batch, if it has no free blocks and the list has a batch. */
void hora__shared_free_list_supply(struct hora__shared_free_list *shared_free_list);

/* A worker has nothing to do: it gives memory back to the system until a task comes. */
void hora__pool_free_excess(struct hora_pool *pool);

/* So many batches stay in the list then. */
enum { HORA__FREE_LIST_KEEPS = HORA__KEPT(32, 1) };

/* Memory for a future, with any contents, and of the same size for each kind of block; NULL: there is
 * none. */
__attribute__((warn_unused_result)) void *hora__future_memory_get(enum hora__block_kind what, size_t size);

/* The same for a future of a pool, whose shared free list keeps this kind of blocks: the thread's own blocks
 * come first, then the list, then the system. */
__attribute__((warn_unused_result)) void *hora__shared_free_list_get(
    struct hora__shared_free_list *shared_free_list, enum hora__block_kind what, size_t size);

/* Gives back the memory of a future. */
void hora__future_memory_put(enum hora__block_kind what, void *block);

#endif
