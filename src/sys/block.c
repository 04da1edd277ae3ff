/* SPDX-License-Identifier: Apache-2.0 */
/* block.c - blocks and their sources
 *
 * Mechanism    A source is a free list with a lock. The header of a block holds the block's offset in its
 *              chunk, and so leads to the chunk, to the free list and to the source.
 * Lifetime     A chunk with a block in use keeps its source. The thread that closes the source, or that
 *              returns the last block of a closed one, frees the source.
 * Leak checks  A source is in pages of its own, as its chunks are. At the end of a program, the free list of
 *              the main thread may still have blocks, which keep their source. Only chunks lead to the source
 *              then, and a leak checker, which does not look into them, would report memory from malloc.
 * System       No thread holds the lock of a source while it asks the system for pages or returns some.
 * Fork         A child process cannot take the lock of a source of its parent, because a thread of the parent
 *              may hold it for ever. It abandons blocks of such a source. */
#include "sys/block.h"

#include <hora/error.h>

#include "base/fault.h"
#include "base/list.h"
#include "sys/free_list.h"
#include "sys/mutex.h"
#include "sys/process.h"

/* How many empty chunks a source keeps, and how many are left when it is tidied. They save system calls if
 * the number of blocks in use goes up and down. */
enum { SPARE_CHUNKS = HORA__KEPT(32, 2), FEW_SPARE_CHUNKS = HORA__KEPT(4, 1) };

struct hora__block_source {
    size_t size;        /* of a block without its header; immutable */
    int32_t generation; /* hora__fork_generation() when it was made; immutable */
    /* The number of spare chunks. Written under the lock, and read without it as a hint: an old value makes
     * no difference but a chunk freed too early or too late. */
    hora__atomic spare_count;
    hora__mutex lock; /* rank FREE_LIST; guards the fields below */
    bool closed;      /* its owner has left */
    struct hora__free_list list;
};

static_assert(sizeof(struct hora__block_header) == 8, "blocks are aligned as free_list.h aligns them");

/* ---- single blocks ---- */

/* Writes a header, and returns the block behind it. */
static void *begin_block(struct hora__block_header *header, uint16_t offset, size_t size)
{
    assert(size >= sizeof(struct hora__links) && size <= UINT32_MAX);
    *header = (struct hora__block_header){.offset = offset, .size = (uint32_t)size};
    return header + 1;
}

void *hora__block_alloc(size_t size)
{
    struct hora__block_header *header = hora__alloc_dirty(sizeof *header + size);
    return header != NULL ? begin_block(header, 0, size) : NULL;
}

void hora__block_free(void *block)
{
    struct hora__blocks blocks = {NULL, 0};
    hora__blocks_push(&blocks, block);
    hora__blocks_free(&blocks);
}

/* ---- sources ---- */

int hora__block_source_new(size_t size, struct hora__block_source **ret_source)
{
    assert(size % sizeof(struct hora__block_header) == 0);
    struct hora__block_source *source = hora__pages_alloc(sizeof *source);
    if (source == NULL)
        return HORA_ENOMEM;
    *source = (struct hora__block_source){.size = size, .generation = hora__fork_generation()};
    hora__atomic_init(&source->spare_count, 0);
    int error = hora__mutex_init(&source->lock, HORA__RANK_FREE_LIST);
    if (error < 0) {
        hora__pages_free(source, sizeof *source);
        return error;
    }
    size_t header = sizeof(struct hora__block_header);
    hora__free_list_init(&source->list, header + size, header, SPARE_CHUNKS);
    *ret_source = source;
    return 0;
}

/* Frees a source that is closed and has no block in use. */
static void destroy(struct hora__block_source *source)
{
    assert(source->closed);
    hora__free_list_destroy(&source->list);
    hora__mutex_destroy(&source->lock);
    hora__pages_free(source, sizeof *source);
}

/* Releases the lock. */
static void leave(struct hora__block_source *source)
{
    assert(hora__mutex_held(&source->lock));
    hora__atomic_store_relaxed(&source->spare_count, source->list.spare_count);
    hora__mutex_unlock(&source->lock);
}

/* Returns whether the caller, which holds the lock, must destroy the source. */
static bool is_last_locked(const struct hora__block_source *source)
{
    assert(hora__mutex_held(&source->lock) && source->list.used_count >= 0);
    return source->closed && (source->list.used_count == 0 || HORA__FAULT(BLOCK_SOURCE_ENDS_TOO_SOON)) &&
           !HORA__FAULT(BLOCK_SOURCE_STAYS);
}

/* Frees the spare chunks first. As long as the source is not closed, no other thread destroys it. */
void hora__block_source_close(struct hora__block_source *source)
{
    hora__mutex_lock(&source->lock);
    assert(!source->closed);
    source->list.spare_most = 0;
    struct hora__chunk *chunk;
    while ((chunk = hora__free_list_trim(&source->list, 0)) != NULL) {
        hora__mutex_unlock(&source->lock);
        hora__chunk_free(chunk);
        hora__mutex_lock(&source->lock);
    }
    source->closed = true;
    bool is_last = is_last_locked(source);
    hora__mutex_unlock(&source->lock);
    if (is_last)
        destroy(source);
}

void hora__block_source_tidy(struct hora__block_source *source)
{
    if (hora__atomic_load_relaxed(&source->spare_count) <= FEW_SPARE_CHUNKS)
        return;
    hora__mutex_lock(&source->lock);
    struct hora__chunk *chunk = hora__free_list_trim(&source->list, FEW_SPARE_CHUNKS);
    leave(source);
    hora__chunk_free(chunk);
}

/* With the lock held: moves up to `most` blocks to a list, until there is no free one left. */
static void fill_locked(struct hora__block_source *source, struct hora__blocks *blocks, int most)
{
    assert(hora__mutex_held(&source->lock));
    while (blocks->count < most && hora__free_list_has_room(&source->list, 0)) {
        uint16_t offset;
        struct hora__block_header *header = hora__free_list_get(&source->list, 0, &offset);
        hora__blocks_push(blocks, begin_block(header, offset, source->size));
    }
}

/* Several threads may find no room at once, and make a chunk each. Then some chunks are spare ones. */
void hora__blocks_fill(struct hora__blocks *blocks, struct hora__block_source *source, int most)
{
    assert(blocks->first == NULL && most > 0);
    if (!hora__keeps_memory())
        return;
    hora__mutex_lock(&source->lock);
    if (!hora__free_list_has_room(&source->list, 0)) {
        hora__mutex_unlock(&source->lock);
        struct hora__chunk *chunk = hora__chunk_new(&source->list);
        hora__mutex_lock(&source->lock);
        if (chunk != NULL)
            hora__free_list_add(&source->list, chunk);
    }
    fill_locked(source, blocks, most);
    leave(source);
}

/* ---- returning ---- */

/* Returns the source of a block; NULL: the block is an allocation of its own. */
static struct hora__block_source *source_of(void *block)
{
    struct hora__block_header *header = hora__block_header(block);
    if (header->offset == 0)
        return NULL;
    return HORA__LIST_ENTRY(hora__free_list_of(header, header->offset), struct hora__block_source, list);
}

/* Returns the first blocks of a list, which come from this source, until another block comes from elsewhere
 * or a chunk has become empty. Frees that chunk, and the source with its last block. */
static void free_some(struct hora__blocks *blocks, struct hora__block_source *source)
{
    assert(source_of(blocks->first) == source);
    struct hora__chunk *chunk = NULL;
    hora__mutex_lock(&source->lock);
    while (chunk == NULL && blocks->first != NULL && source_of(blocks->first) == source) {
        struct hora__block_header *header = hora__block_header(hora__blocks_pop(blocks));
        chunk = hora__free_list_put(&source->list, header, header->offset);
    }
    bool is_last = is_last_locked(source);
    leave(source);
    hora__chunk_free(chunk);
    if (is_last)
        destroy(source);
}

void hora__blocks_free(struct hora__blocks *blocks)
{
    while (blocks->first != NULL) {
        struct hora__block_source *source = source_of(blocks->first);
        if (source == NULL)
            hora__free(hora__block_header(hora__blocks_pop(blocks)));
        else if (source->generation != hora__fork_generation())
            (void)hora__blocks_pop(blocks); /* of the parent process */
        else
            free_some(blocks, source);
    }
}
