/* SPDX-License-Identifier: Apache-2.0 */
/* free_list.h - a free list: memory for very many small blocks of a few sizes
 *
 * A block has no header. It is cut from a chunk, and its owner keeps a 16-bit offset by which the free list
 * finds that chunk again. So a block takes its size and nothing more, and getting or returning one takes a
 * few instructions. For one thread at a time: the caller locks. */
#ifndef HORA_TIMER_FREE_LIST_H
#define HORA_TIMER_FREE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

enum { HORA__FREE_LIST_SIZES = 4 };

struct hora__chunk;

struct hora__free_list {
    size_t least; /* the smallest size, a multiple of 8; each of the others has 8 more */
    struct hora__list room[HORA__FREE_LIST_SIZES]; /* chunks with a free block, for each size */
    struct hora__chunk *spare;                     /* an empty chunk, kept for reuse; NULL: none */
};

void hora__free_list_init(struct hora__free_list *list, size_t least);

/* Free the kept memory. All blocks have been returned. */
void hora__free_list_destroy(struct hora__free_list *list);

/* Get a block of the size with this index, aligned to 8, with any contents. NULL: no memory. */
__attribute__((warn_unused_result)) void *hora__free_list_get(struct hora__free_list *list, int size_index,
                                                              uint16_t *ret_offset);

/* Return a block; `offset` is the one that hora__free_list_get returned with it. */
void hora__free_list_put(struct hora__free_list *list, void *block, uint16_t offset);

#endif
