/* SPDX-License-Identifier: Apache-2.0 */
/* block.h - blocks: memory that knows where it came from, and lists of free blocks
 *
 * Any thread may free a block, also long after the pool it was made for is gone. A word in front of each
 * block tells whether it is an allocation of its own or part of a chunk of a block source. Threads get blocks
 * from a source, and return them, many at a time: the source has a lock. */
#ifndef HORA_SYS_BLOCK_H
#define HORA_SYS_BLOCK_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/alloc.h"

/* ---- blocks ---- */

/* Precedes each block, and is not part of it. */
struct hora__block_header {
    uint16_t offset; /* of this header in its chunk, see sys/free_list.h; 0: not part of a chunk */
    uint32_t size;   /* of the block, without this header */
};

static inline struct hora__block_header *hora__block_header(void *block)
{
    return (struct hora__block_header *)block - 1;
}

/* The bytes of a resting block that belong to the list it is on. */
struct hora__links {
    void *next;  /* the next block; NULL: none */
    void *other; /* for a list that needs a second link; other lists do not use it */
};

#ifdef HORA__CHECKS_MEMORY

/* hora__block_links returns the links of a block; hora__block_rests and hora__block_wakes mark a whole block
 * except for its links. */

/* Returns the number of bytes in front of the links, which are aligned for pointers. */
static inline size_t hora__resting_size(void *block)
{
    return hora__block_header(block)->size / sizeof(void *) * sizeof(void *) - sizeof(struct hora__links);
}

static inline struct hora__links *hora__block_links(void *block)
{
    return (struct hora__links *)(void *)((char *)block + hora__resting_size(block));
}

static inline void hora__block_rests(void *block)
{
    hora__memory_rests(block, hora__resting_size(block));
}

static inline void hora__block_wakes(void *block)
{
    hora__memory_wakes(block, hora__resting_size(block));
}

#else

static inline struct hora__links *hora__block_links(void *block)
{
    return block;
}

static inline void hora__block_rests(void *block)
{
    (void)block;
}

static inline void hora__block_wakes(void *block)
{
    (void)block;
}

#endif

/* Returns a block that is an allocation of its own, aligned to 8, with arbitrary contents; NULL: no
 * memory. */
__attribute__((warn_unused_result)) void *hora__block_alloc(size_t size);

/* Returns a block to where it came from. */
void hora__block_free(void *block);

/* ---- lists of free blocks ---- */

/* The lists that each thread has: one per kind of block. All blocks of one list have the same size. */
enum hora__block_kind { HORA__BLOCK_PLAIN_FUTURE, HORA__BLOCK_SCHEDULED_FUTURE, HORA__BLOCK_KINDS };

/* A list of free blocks of one size. Only one thread at a time may use it. */
struct hora__blocks {
    void *first; /* NULL: the list is empty */
    int count;   /* blocks on the list */
};

/* Adds a block, which rests from now on. */
static inline void hora__blocks_push(struct hora__blocks *blocks, void *block)
{
    assert(block != NULL && blocks->count >= 0);
    hora__block_links(block)->next = blocks->first;
    hora__block_rests(block);
    blocks->first = block;
    blocks->count++;
}

/* Removes the block that was added last and wakes it. Returns NULL if the list is empty. */
static inline void *hora__blocks_pop(struct hora__blocks *blocks)
{
    assert((blocks->first == NULL) == (blocks->count == 0));
    void *block = blocks->first;
    if (block != NULL) {
        hora__block_wakes(block);
        blocks->first = hora__block_links(block)->next;
        blocks->count--;
        hora__prefetch(blocks->first); /* the next caller gets this one */
    }
    return block;
}

/* Moves the first `count` blocks of a list, which has as many, to an empty list. */
static inline void hora__blocks_split(struct hora__blocks *blocks, int count, struct hora__blocks *ret_part)
{
    assert(ret_part->first == NULL && count > 0 && count <= blocks->count);
    void *last = blocks->first;
    for (int i = 1; i < count; i++)
        last = hora__block_links(last)->next;
    *ret_part = (struct hora__blocks){blocks->first, count};
    blocks->first = hora__block_links(last)->next;
    blocks->count -= count;
    hora__block_links(last)->next = NULL;
}

/* Returns all blocks of the list to where they came from. */
void hora__blocks_free(struct hora__blocks *blocks);

/* ---- sources of blocks ---- */

/* A source of blocks of one size, in chunks of pages that go back to the system when they are empty. It
 * exists until it is closed and all its blocks have been returned. */
struct hora__block_source;

/* Makes a source. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__block_source_new(size_t size,
                                                               struct hora__block_source **ret_source);

/* Ends the use of a source by its owner. Blocks can still be returned; the last one frees the source. */
void hora__block_source_close(struct hora__block_source *source);

/* Frees one of the empty chunks that a source keeps for reuse, if there are many. */
void hora__block_source_tidy(struct hora__block_source *source);

/* Moves up to `most` blocks of a source to an empty list. Moves none if there is no memory, and where the
 * library does not keep memory (hora__keeps_memory). */
void hora__blocks_fill(struct hora__blocks *blocks, struct hora__block_source *source, int most);

#endif
