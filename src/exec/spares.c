/* SPDX-License-Identifier: Apache-2.0 */
/* spares.c - see spares.h
 *
 * How much          A thread keeps at most 2 * BATCH blocks. A depot keeps at most MOST batches, about 12 MB.
 *                   All of it was in use a moment ago, and a thread that needs a block takes it there before
 *                   it asks the system; so there is never more memory than was needed at the same time. Each
 *                   time that a worker finds nothing to do, it frees one of PARTS parts of what is beyond
 *                   HORA__DEPOT_KEEPS batches.
 * Order             Without the lock the count is a hint: who reads an old one asks the system for memory, or
 *                   frees a batch too few. So it could be relaxed, and no fault of order is planted.
 * Invariants        I1 a batch is a chain of BATCH blocks; in a depot, the other link of its first one is the
 *                      next batch.
 *                   I2 depot->count is the number of batches that hang on depot->first. */
#include "exec/spares.h"

#include <assert.h>
#include <stddef.h>

#include "exec/pool.h"

enum { BATCH = HORA__KEPT(32, 1), MOST = HORA__KEPT(2048, 2), PARTS = HORA__KEPT(8, 2) };

static_assert(sizeof(struct hora__links) <= sizeof(struct hora_future), "links are written into memory of futures");

int hora__depot_init(struct hora__depot *depot, enum hora__keepsake what)
{
    depot->what = what;
    hora__atomic_init(&depot->count, 0);
    depot->first = NULL;
    return hora__mutex_init(&depot->lock, HORA__RANK_DEPOT);
}

static void put_batch(struct hora__depot *depot, void *batch)
{
    assert(batch != NULL);
    hora__mutex_lock(&depot->lock);
    hora__block_links(batch)->other = depot->first;
    depot->first = batch;
    (void)hora__atomic_add(&depot->count, 1); /* I2 */
    hora__mutex_unlock(&depot->lock);
}

/* NULL: there is none, or not more than `but`. */
static void *take_batch(struct hora__depot *depot, int but)
{
    assert(but >= 0);
    if (hora__atomic_load(&depot->count) <= but)
        return NULL;
    hora__mutex_lock(&depot->lock);
    void *batch = hora__atomic_load(&depot->count) > but ? depot->first : NULL;
    if (batch != NULL) {
        depot->first = hora__block_links(batch)->other;
        (void)hora__atomic_add(&depot->count, -1); /* I2 */
    }
    hora__mutex_unlock(&depot->lock);
    return batch;
}

static bool free_batch(struct hora__depot *depot, int but)
{
    assert(but >= 0);
    struct hora__blocks blocks = {.first = take_batch(depot, but), .count = BATCH};
    if (blocks.first == NULL)
        return false;
    hora__blocks_free(&blocks);
    return true;
}

void hora__depot_destroy(struct hora__depot *depot)
{
    while (free_batch(depot, 0)) {
    }
    hora__mutex_destroy(&depot->lock);
}

void hora__pool_tidy(hora_pool *pool)
{
    int count = hora__atomic_load(&pool->depot.count);
    int excess = count > HORA__DEPOT_KEEPS ? (count - HORA__DEPOT_KEEPS + PARTS - 1) / PARTS : 0;
    while (excess-- > 0 && hora__pool_queue_is_empty(pool) && free_batch(&pool->depot, HORA__DEPOT_KEEPS)) {
    }
}

void hora__depot_supply(struct hora__depot *depot)
{
    hora_thread *thread;
    if (hora__atomic_load(&depot->count) == 0 || hora__thread_current(&thread) < 0)
        return;
    struct hora__blocks *spares = &thread->spares[depot->what];
    if (spares->first != NULL)
        return;
    spares->first = take_batch(depot, 0);
    spares->count = spares->first != NULL ? BATCH : 0;
}

void *hora__spares_get(enum hora__keepsake what, size_t size)
{
    assert(size >= sizeof(struct hora__links));
    void *block = hora__spares_own(what);
    return block != NULL ? block : hora__alloc_dirty(size);
}

__attribute__((noinline)) void *hora__depot_get_more(struct hora__depot *depot, size_t size)
{
    assert(size >= sizeof(struct hora__links));
    hora__depot_supply(depot);
    return hora__spares_get(depot->what, size);
}

/* A worker has too many: bring BATCH of them to its pool. */
static void bring(struct hora__depot *depot, struct hora__blocks *spares)
{
    assert(spares->count == 2 * BATCH);
    struct hora__blocks batch = {NULL, 0};
    while (batch.count < BATCH)
        hora__blocks_push(&batch, hora__blocks_pop(spares)); /* I1 */
    if (hora__atomic_load(&depot->count) < MOST)
        put_batch(depot, batch.first);
    else
        hora__blocks_free(&batch);
}

/* Where the thread can bring what it has too much of; NULL: nowhere. */
static struct hora__depot *depot_of(const hora_thread *thread, enum hora__keepsake what)
{
    assert(thread == hora__thread_existing());
    struct hora__depot *depot = thread->worker != NULL ? &thread->worker->pool->depot : NULL;
    return depot != NULL && depot->what == what ? depot : NULL;
}

/* The thread has a batch already. */
__attribute__((noinline)) static void put_more(hora_thread *thread, enum hora__keepsake what, void *block)
{
    assert(block != NULL);
    struct hora__depot *depot = depot_of(thread, what);
    struct hora__blocks *spares = &thread->spares[what];
    if (depot == NULL) {
        hora__free(block);
        return;
    }
    hora__blocks_push(spares, block);
    if (spares->count == 2 * BATCH)
        bring(depot, spares);
}

void hora__spares_put(enum hora__keepsake what, void *block)
{
    assert(block != NULL);
    hora_thread *thread = hora__keeps_memory() ? hora__thread_existing() : NULL;
    if (thread == NULL)
        hora__free(block);
    else if (thread->spares[what].count < BATCH)
        hora__blocks_push(&thread->spares[what], block);
    else
        put_more(thread, what, block);
}
