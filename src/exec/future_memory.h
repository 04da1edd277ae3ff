/* SPDX-License-Identifier: Apache-2.0 */
/* future_memory.h - the free lists that recycle the memory of futures
 *
 * A future is usually made by one thread and freed by another. So each thread keeps a few free blocks. A
 * worker that has too many moves a batch of them to the shared free list of its pool, where submitters take
 * them. Because whole batches move, a single future takes no lock. Plain and scheduled futures differ in
 * size, and the shared list of a pool holds only the kind that the pool uses.
 *
 * Behind the shared list is the block source of the pool (sys/block.h), which takes memory from the system in
 * chunks and returns it when a chunk is empty. Futures that no pool made are allocations of their own. A
 * thread may free blocks of any origin, and each block knows its own, so all of them can be on any list. */
#ifndef HORA_EXEC_FUTURE_MEMORY_H
#define HORA_EXEC_FUTURE_MEMORY_H

#include "base/build.h"
#include "sync/thread.h"
#include "sys/block.h"
#include "sys/mutex.h"

struct hora_pool;

/* The free list of a pool. */
struct hora__shared_free_list {
    enum hora__block_kind what;        /* the kind of its blocks; immutable */
    struct hora__block_source *source; /* of new blocks; immutable */
    hora__mutex lock;                  /* rank FREE_LIST */
    hora__atomic count;                /* number of batches; written under the lock, read by any thread */
    void *first; /* first block of the first batch, see I1 in future_memory.c; NULL: empty */
};

/* Initialises an empty list of blocks of a size. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__shared_free_list_init(
    struct hora__shared_free_list *shared_free_list, enum hora__block_kind what, size_t size);

/* Frees all blocks of the list. No other thread uses it any more. Blocks that are in use can still be
 * returned. */
void hora__shared_free_list_destroy(struct hora__shared_free_list *shared_free_list);

/* Moves a batch to the calling thread, if the thread has no free blocks: from the list or, if that is empty,
 * from the source. */
void hora__shared_free_list_supply(struct hora__shared_free_list *shared_free_list);

/* Frees the batches of the pool's free list beyond HORA__FREE_LIST_KEEPS, and a chunk of its source. An idle
 * worker calls it; it stops early when a task is queued. */
void hora__pool_free_excess(struct hora_pool *pool);

/* Number of batches that hora__pool_free_excess leaves in the list. */
enum { HORA__FREE_LIST_KEEPS = HORA__KEPT(2, 1) };

/* Returns memory for a future, with undefined contents, from the calling thread's free blocks or from the
 * system; NULL: out of memory. All blocks of a kind have the same size. */
__attribute__((warn_unused_result)) void *hora__future_memory_get(enum hora__block_kind what, size_t size);

/* As hora__future_memory_get, for a pool whose shared free list holds this kind of blocks: takes a block of
 * the calling thread, else one of the list, else one of the list's source. */
__attribute__((warn_unused_result)) void *hora__shared_free_list_get(
    struct hora__shared_free_list *shared_free_list, enum hora__block_kind what, size_t size);

/* Puts the memory of a future on a free list, or returns it to where it came from. */
void hora__future_memory_put(enum hora__block_kind what, void *block);

#endif
