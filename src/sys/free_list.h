/* SPDX-License-Identifier: Apache-2.0 */
/* free_list.h - a free list: memory for very many blocks of a few sizes, which goes back to the system
 *
 * A block has no header. It is cut from a chunk, which consists of whole pages, and its owner stores a 16-bit
 * offset by which the free list finds that chunk again. So a block takes no memory beyond its size, and
 * getting or returning one takes a few instructions. When no block of a chunk is in use, its pages go back to
 * the system, whatever was allocated after them. Memory from malloc often does not: the C library returns
 * only the end of its heap. Only one thread at a time may use a free list: the caller locks. */
#ifndef HORA_SYS_FREE_LIST_H
#define HORA_SYS_FREE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

/* The number of block sizes. */
enum { HORA__FREE_LIST_SIZES = 4 };

struct hora__chunk;

struct hora__free_list {
    size_t least;   /* the smallest block size in bytes, a multiple of 8; each next size is 8 larger */
    size_t align;   /* the alignment of blocks, a power of two from 8 on */
    int spare_most; /* how many spare chunks are kept at most */
    int spare_count;
    int used_count;                                /* chunks that have a block in use */
    struct hora__list room[HORA__FREE_LIST_SIZES]; /* chunks with a free block, for each size */
    struct hora__list spare;                       /* empty chunks, kept for reuse */
};

/* Makes a free list without memory. `least` is the size of the blocks with size_index 0. */
void hora__free_list_init(struct hora__free_list *list, size_t least, size_t align, int spare_most);

/* Frees the spare chunks. All blocks must have been returned. */
void hora__free_list_destroy(struct hora__free_list *list);

/* Returns whether hora__free_list_get needs no memory from the system. */
bool hora__free_list_has_room(const struct hora__free_list *list, int size_index);

/* Returns a block of least + 8 * size_index bytes with arbitrary contents, and stores its offset, which is
 * never 0. NULL: no memory. */
__attribute__((warn_unused_result)) void *hora__free_list_get(struct hora__free_list *list, int size_index,
                                                              uint16_t *ret_offset);

/* Takes a block back; `offset` is the one that hora__free_list_get stored for it. Returns a chunk that the
 * caller frees, without the lock of the list if it likes; NULL: none. */
__attribute__((warn_unused_result)) struct hora__chunk *hora__free_list_put(struct hora__free_list *list,
                                                                            void *block, uint16_t offset);

/* Returns the free list of a block that is in use. */
struct hora__free_list *hora__free_list_of(void *block, uint16_t offset);

/* Makes a chunk for a list, without its lock. NULL: no memory. */
__attribute__((warn_unused_result)) struct hora__chunk *hora__chunk_new(const struct hora__free_list *list);

/* Adds a chunk of hora__chunk_new as a spare one, also beyond `spare_most`. */
void hora__free_list_add(struct hora__free_list *list, struct hora__chunk *chunk);

/* Takes a spare chunk off the list, which the caller frees. NULL: there are not more than `few`. */
__attribute__((warn_unused_result)) struct hora__chunk *hora__free_list_trim(struct hora__free_list *list,
                                                                             int few);

/* Gives the pages of a chunk back to the system. NULL is allowed. */
void hora__chunk_free(struct hora__chunk *chunk);

#endif
