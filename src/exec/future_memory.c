/* SPDX-License-Identifier: Apache-2.0 */
/* future_memory.c - the free lists that recycle the memory of futures
 *
 * Limits            A worker keeps fewer than 2 * BATCH blocks, any other thread at most BATCH, and a shared
 *                   free list at most MOST batches, about 100 KB. All of these blocks were in use recently,
 *                   and a thread takes from the free lists before it asks the source, which asks the system
 *                   only if it has no free block. So the free lists do not raise the peak use of memory. A
 *                   worker that becomes idle returns the batches beyond HORA__FREE_LIST_KEEPS to the source,
 *                   and lets the source give up a chunk. The lists are short, because a free block keeps its
 *                   whole chunk: blocks that came back in a random order may keep a chunk each.
 * Order             The count is read without the lock as a hint. A thread that reads an old value asks the
 *                   system for memory needlessly, or frees a batch too few. So relaxed order would suffice,
 *                   and no memory-order fault is planted for it.
 * Invariants        I1 a batch is a chain of BATCH blocks; in a shared free list, the `other` link of its
 *                      first block points to the next batch.
 *                   I2 `count` of a shared free list is the number of batches in the chain from `first`. */
#include "exec/future_memory.h"

#include <assert.h>
#include <stddef.h>

#include "exec/pool.h"

/* See "Limits" above. HORA__KEPT gives a smaller value in builds for the simulator. */
enum { BATCH = HORA__KEPT(32, 1), MOST = HORA__KEPT(16, 2) };

static_assert(sizeof(struct hora__links) <= sizeof(struct hora_future),
              "links are written into memory of futures");
static_assert(_Alignof(struct hora_future) <= sizeof(struct hora__block_header), "blocks are aligned");

int hora__shared_free_list_init(struct hora__shared_free_list *shared_free_list, enum hora__block_kind what,
                                size_t size)
{
    assert(size >= sizeof(struct hora_future));
    shared_free_list->what = what;
    hora__atomic_init(&shared_free_list->count, 0);
    shared_free_list->first = NULL;
    int error = hora__mutex_init(&shared_free_list->lock, HORA__RANK_FREE_LIST);
    if (error < 0)
        return error;
    error = hora__block_source_new(size, &shared_free_list->source);
    if (error < 0)
        hora__mutex_destroy(&shared_free_list->lock);
    return error;
}

/* Adds a batch, given by its first block. */
static void put_batch(struct hora__shared_free_list *shared_free_list, void *batch)
{
    assert(batch != NULL);
    hora__mutex_lock(&shared_free_list->lock);
    hora__block_links(batch)->other = shared_free_list->first;
    shared_free_list->first = batch;
    (void)hora__atomic_add(&shared_free_list->count, 1); /* I2 */
    hora__mutex_unlock(&shared_free_list->lock);
}

/* Removes the first batch and returns its first block; NULL if there are not more than `but` batches. The
 * first test needs no lock, so that a thread does not lock a list that is empty. */
static void *take_batch(struct hora__shared_free_list *shared_free_list, int but)
{
    assert(but >= 0);
    if (hora__atomic_load(&shared_free_list->count) <= but)
        return NULL;
    hora__mutex_lock(&shared_free_list->lock);
    void *batch = hora__atomic_load(&shared_free_list->count) > but ? shared_free_list->first : NULL;
    if (batch != NULL) {
        shared_free_list->first = hora__block_links(batch)->other;
        (void)hora__atomic_add(&shared_free_list->count, -1); /* I2 */
    }
    hora__mutex_unlock(&shared_free_list->lock);
    return batch;
}

/* Frees one batch. Returns false if there are not more than `but`. */
static bool free_batch(struct hora__shared_free_list *shared_free_list, int but)
{
    assert(but >= 0);
    struct hora__blocks blocks = {.first = take_batch(shared_free_list, but), .count = BATCH};
    if (blocks.first == NULL)
        return false;
    hora__blocks_free(&blocks);
    return true;
}

void hora__shared_free_list_destroy(struct hora__shared_free_list *shared_free_list)
{
    while (free_batch(shared_free_list, 0)) {
    }
    hora__mutex_destroy(&shared_free_list->lock);
    hora__block_source_close(shared_free_list->source);
}

void hora__pool_free_excess(hora_pool *pool)
{
    while (hora__pool_queue_is_empty(pool) && free_batch(&pool->shared_free_list, HORA__FREE_LIST_KEEPS)) {
    }
    hora__block_source_tidy(pool->shared_free_list.source);
}

void hora__shared_free_list_supply(struct hora__shared_free_list *shared_free_list)
{
    hora_thread *thread;
    if (hora__thread_current(&thread) < 0)
        return;
    struct hora__blocks *free_blocks = &thread->free_blocks[shared_free_list->what];
    if (free_blocks->first != NULL)
        return;
    free_blocks->first = take_batch(shared_free_list, 0);
    if (free_blocks->first != NULL)
        free_blocks->count = BATCH; /* I1 */
    else
        hora__blocks_fill(free_blocks, shared_free_list->source, BATCH);
}

void *hora__future_memory_get(enum hora__block_kind what, size_t size)
{
    assert(size >= sizeof(struct hora__links));
    hora_thread *thread = hora__thread_existing();
    void *block = thread != NULL ? hora__blocks_pop(&thread->free_blocks[what]) : NULL;
    return block != NULL ? block : hora__block_alloc(size);
}

/* Gets a block for a thread that has no free one: moves a batch to the thread and takes from it. Not inlined,
 * because it is rare. */
__attribute__((noinline)) static void *get_more(struct hora__shared_free_list *shared_free_list, size_t size)
{
    assert(size >= sizeof(struct hora__links));
    hora__shared_free_list_supply(shared_free_list);
    return hora__future_memory_get(shared_free_list->what, size);
}

void *hora__shared_free_list_get(struct hora__shared_free_list *shared_free_list, enum hora__block_kind what,
                                 size_t size)
{
    assert(shared_free_list->what == what);
    hora_thread *thread = hora__thread_existing();
    void *block = thread != NULL ? hora__blocks_pop(&thread->free_blocks[what]) : NULL;
    return block != NULL ? block : get_more(shared_free_list, size);
}

/* Moves BATCH of the free blocks of a worker to its pool; returns them to their sources if the pool has MOST
 * batches already. */
static void bring(struct hora__shared_free_list *shared_free_list, struct hora__blocks *free_blocks)
{
    assert(free_blocks->count == 2 * BATCH);
    struct hora__blocks batch = {NULL, 0};
    hora__blocks_split(free_blocks, BATCH, &batch); /* I1 */
    if (hora__atomic_load(&shared_free_list->count) < MOST)
        put_batch(shared_free_list, batch.first);
    else
        hora__blocks_free(&batch);
}

/* Returns the shared free list to which the calling thread can move blocks of this kind; NULL if the thread
 * is not a worker, or if its pool uses the other kind. */
static struct hora__shared_free_list *shared_free_list_of(const hora_thread *thread,
                                                          enum hora__block_kind what)
{
    assert(thread == hora__thread_existing());
    struct hora__shared_free_list *shared_free_list =
        thread->worker != NULL ? &thread->worker->pool->shared_free_list : NULL;
    return shared_free_list != NULL && shared_free_list->what == what ? shared_free_list : NULL;
}

/* Puts back a block for a thread that has as many free ones as it may have. A worker moves a batch of them to
 * its pool; any other thread returns all of them to where they came from, and keeps the new one. */
__attribute__((noinline)) static void put_more(hora_thread *thread, enum hora__block_kind what, void *block)
{
    assert(block != NULL);
    struct hora__shared_free_list *shared_free_list = shared_free_list_of(thread, what);
    struct hora__blocks *free_blocks = &thread->free_blocks[what];
    if (shared_free_list == NULL)
        hora__blocks_free(free_blocks); /* many at once, because a source has a lock */
    hora__blocks_push(free_blocks, block);
    if (shared_free_list != NULL && free_blocks->count == 2 * BATCH)
        bring(shared_free_list, free_blocks);
}

/* A thread without a record has no free list and frees the block. hora__keeps_memory is false only in some
 * schedules of the simulator. A worker collects a second batch, which it can move to its pool as a whole. */
void hora__future_memory_put(enum hora__block_kind what, void *block)
{
    assert(block != NULL);
    hora_thread *thread = hora__keeps_memory() ? hora__thread_existing() : NULL;
    if (thread == NULL)
        hora__block_free(block);
    else if (thread->free_blocks[what].count < (thread->worker != NULL ? 2 * BATCH - 1 : BATCH))
        hora__blocks_push(&thread->free_blocks[what], block);
    else
        put_more(thread, what, block);
}
