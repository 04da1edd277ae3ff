/* SPDX-License-Identifier: Apache-2.0 */
/* free_list.h - a free list: memory for very many small blocks of a few sizes
 *
 * A block has no header. It is cut from a chunk, and its owner stores a 16-bit offset by which the free list
 * finds that chunk again. So a block takes no memory beyond its size, and getting or returning one takes a
 * few instructions. Only one thread at a time may use a free list: the caller locks. */
#ifndef HORA_TIMER_FREE_LIST_H
#define HORA_TIMER_FREE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

/* The number of block sizes. */
enum { HORA__FREE_LIST_SIZES = 4 };

struct hora__chunk;

struct hora__free_list {
    size_t least; /* the smallest block size in bytes, a multiple of 8; each next size is 8 larger */
    struct hora__list room[HORA__FREE_LIST_SIZES]; /* chunks with a free block, for each size */
    struct hora__chunk *spare;                     /* an empty chunk, kept for reuse; NULL: none */
};

/* Makes a free list without memory. `least` is the size of the blocks with size_index 0. */
void hora__free_list_init(struct hora__free_list *list, size_t least);

/* Frees the spare chunk. All blocks must have been returned. */
void hora__free_list_destroy(struct hora__free_list *list);

/* Returns a block of least + 8 * size_index bytes, aligned to 8, with arbitrary contents, and stores its
 * offset. NULL: no memory. */
__attribute__((warn_unused_result)) void *hora__free_list_get(struct hora__free_list *list, int size_index,
                                                              uint16_t *ret_offset);

/* Takes a block back; `offset` is the one that hora__free_list_get stored for it. */
void hora__free_list_put(struct hora__free_list *list, void *block, uint16_t offset);

#endif
