/* SPDX-License-Identifier: Apache-2.0 */
/* slabs.h - memory for very many small blocks of a few sizes
 *
 * A block has no header: it is cut from a slab, and whoever has it keeps a number of 16 bits by which its slab is found again. So a block
 * takes its size and nothing more, and to get one or to give it back is a few instructions.
 * For one thread at a time: the caller locks. */
#ifndef HORA_SCHED_SLABS_H
#define HORA_SCHED_SLABS_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

enum { HORA__SLAB_SIZES = 4 };

struct hora__slab;

struct hora__slabs {
    size_t least;                             /* the smallest size, a multiple of 8; each of the others has 8 more */
    struct hora__list room[HORA__SLAB_SIZES]; /* slabs in which a block is free, for each size */
    struct hora__slab *spare;                 /* an empty one; NULL: none */
};

void hora__slabs_init(struct hora__slabs *slabs, size_t least);

/* Free what is kept. All blocks have been given back. */
void hora__slabs_destroy(struct hora__slabs *slabs);

/* A block of the size with this index, aligned to 8, with any contents; NULL: there is no memory. */
__attribute__((warn_unused_result)) void *hora__slabs_get(struct hora__slabs *slabs, int size_index,
                                                          uint16_t *ret_place);

/* Give it back; `place` is what was told when it was got. */
void hora__slabs_put(struct hora__slabs *slabs, void *block, uint16_t place);

#endif
