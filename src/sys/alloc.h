/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - the library's only way to memory
 *
 * The simulator counts what is live and makes the n-th allocation fail. */
#ifndef HORA_SYS_ALLOC_H
#define HORA_SYS_ALLOC_H

#include <stddef.h>

#include "sys/resting.h"

/* What is written by several threads should lie that far from what others only read. */
enum { HORA__CACHE_LINE = 64 };

void hora__free(void *memory);

/* `count` objects of `size` bytes, all zero; NULL if there is no memory or the product overflows. */
__attribute__((warn_unused_result, malloc)) void *hora__alloc(size_t count, size_t size);

/* The same for one object, with any contents. */
__attribute__((warn_unused_result, malloc)) void *hora__alloc_dirty(size_t size);

/* The same, at the beginning of a cache line; in the simulator anywhere. */
__attribute__((warn_unused_result, malloc)) void *hora__alloc_lines(size_t size);

/* Of a member of what is allocated so: it begins a line. The simulator, where all is one thread's, does without. */
#ifdef HORA_SIM
#define HORA__BEGINS_LINE
#else
#define HORA__BEGINS_LINE _Alignas(HORA__CACHE_LINE)
#endif

/* A block of memory, if it is not NULL, will be used soon: let the processor fetch its beginning meanwhile. */
static inline void hora__prefetch(const void *block)
{
    const char *byte = block;
    for (size_t i = 0; block != NULL && i < 3; i++)
        __builtin_prefetch(byte + i * HORA__CACHE_LINE, 1);
}

/* The cache line at this address will be written soon, and others have it now. What the compiler makes of a prefetch for writing, it
 * does only if told that each processor has it; all of x86-64 at least ignore it. */
static inline void hora__prefetch_line(const void *line)
{
#ifdef __x86_64__
    __asm__("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* What memory is kept for; blocks for one are of one size. */
enum hora__keepsake { HORA__KEPT_PLAIN, HORA__KEPT_SCHEDULED, HORA__KEEPSAKES };

/* Blocks of one size that are kept, linked by their links. For one thread at a time. */
struct hora__blocks {
    void *first;
    int count;
};

static inline void hora__blocks_push(struct hora__blocks *blocks, void *block)
{
    hora__block_links(block)->next = blocks->first;
    hora__block_rests(block);
    blocks->first = block;
    blocks->count++;
}

/* NULL: there is none. */
static inline void *hora__blocks_pop(struct hora__blocks *blocks)
{
    void *block = blocks->first;
    if (block != NULL) {
        hora__block_wakes(block);
        blocks->first = hora__block_links(block)->next;
        blocks->count--;
        hora__prefetch(blocks->first);
    }
    return block;
}

static inline void hora__blocks_free(struct hora__blocks *blocks)
{
    void *block;
    while ((block = hora__blocks_pop(blocks)) != NULL)
        hora__free(block);
}

#endif
