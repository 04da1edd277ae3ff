/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - memory: allocation, marking of memory on free lists, and free lists of blocks
 *
 * All memory of the library comes from the functions below. The simulator replaces them: it counts the live
 * blocks and can make the n-th allocation fail. */
#ifndef HORA_SYS_ALLOC_H
#define HORA_SYS_ALLOC_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* The size of a cache line in bytes. Words that several threads write should be this far from data that other
 * threads only read. */
enum { HORA__CACHE_LINE = 64 };

/* Frees memory from any of the functions below. NULL is allowed. */
void hora__free(void *memory);

/* Returns `count` objects of `size` bytes, all zero. NULL: no memory, or the product overflows. */
__attribute__((warn_unused_result, malloc)) void *hora__alloc(size_t count, size_t size);

/* Returns one object with arbitrary contents, or NULL. */
__attribute__((warn_unused_result, malloc)) void *hora__alloc_dirty(size_t size);

/* Returns one object that starts at a cache line, or NULL. In the simulator it starts anywhere. */
__attribute__((warn_unused_result, malloc)) void *hora__alloc_lines(size_t size);

/* For a field of such an object: the field starts a cache line. The simulator runs on one thread and does not
 * need this. */
#ifdef HORA_SIM
#define HORA__BEGINS_LINE
#else
#define HORA__BEGINS_LINE _Alignas(HORA__CACHE_LINE)
#endif

/* Asks the processor to fetch the first three cache lines of a block that will be used soon. NULL is allowed,
 * and so is a block that is shorter: a prefetch beyond its end has no effect on the program. */
static inline void hora__prefetch(const void *block)
{
    const char *byte = block;
    for (size_t i = 0; block != NULL && i < 3; i++)
        __builtin_prefetch(byte + i * HORA__CACHE_LINE, 1);
}

/* Asks the processor for write access to a cache line that other processors hold now. Compilers emit this
 * instruction only if told that the processor has it; every x86-64 processor at least ignores it. */
static inline void hora__prefetch_line(const void *line)
{
#ifdef __x86_64__
    __asm__("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Memory on a free list.
 *
 * A use of memory on a free list would go unnoticed, because the memory is still allocated. So each free list
 * marks memory as resting (hora__memory_rests) while it is on the list, and as awake (hora__memory_wakes)
 * when it is handed out. AddressSanitizer reports every use of resting memory. The simulator fills it with a
 * pattern and fails the schedule if the pattern has changed when the memory wakes. In other builds these
 * calls do nothing.
 *
 * A free list needs a few bytes of the memory for its links, and these do not rest. In builds that check
 * memory the links are at the end of a block, because most late uses hit its start, where a future has its
 * reference count. LeakSanitizer finds the blocks of a list through the links. */

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HORA__ASAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HORA__ASAN
#endif

#ifdef HORA__ASAN
#include <sanitizer/asan_interface.h>
#endif

#if defined(HORA_SIM) || defined(HORA__ASAN)
#define HORA__CHECKS_MEMORY
#endif

/* Returns true if the library keeps memory for reuse instead of freeing it. In the simulator each schedule
 * decides, so that both ways are tested. */
#ifdef HORA_SIM
bool hora__keeps_memory(void);
#else
static inline bool hora__keeps_memory(void)
{
    return true;
}
#endif

/* HORA__KEPT(many, few) is the length of a free list. Free lists are short in the simulator, so that few
 * tasks fill one and move memory between threads. */
#ifdef HORA_SIM
#define HORA__KEPT(many, few) (few)
#else
#define HORA__KEPT(many, few) (many)
#endif

/* Mark a part of an allocation: once it rests, it must not be used until it wakes. */
#ifdef HORA_SIM

void hora__memory_rests(void *memory, size_t size);
void hora__memory_wakes(void *memory, size_t size);

#elif defined(HORA__ASAN)

static inline void hora__memory_rests(void *memory, size_t size)
{
    __asan_poison_memory_region(memory, size);
}

static inline void hora__memory_wakes(void *memory, size_t size)
{
    __asan_unpoison_memory_region(memory, size);
}

#else

static inline void hora__memory_rests(void *memory, size_t size)
{
    (void)memory;
    (void)size;
}

static inline void hora__memory_wakes(void *memory, size_t size)
{
    (void)memory;
    (void)size;
}

#endif

/* ---- whole blocks ---- */

/* The bytes of a resting block that belong to the free list. */
struct hora__links {
    void *next;  /* the next block; NULL: none */
    void *other; /* for a list that needs a second link; other lists do not use it */
};

#ifdef HORA__CHECKS_MEMORY

/* hora__block_links returns the links of a block; hora__block_rests and hora__block_wakes mark a whole block
 * except for its links. */

/* Returns the size that the caller of hora__alloc asked for. */
size_t hora__memory_size(void *block);

/* Returns the number of bytes in front of the links, which are aligned for pointers. */
static inline size_t hora__resting_size(void *block)
{
    return hora__memory_size(block) / sizeof(void *) * sizeof(void *) - sizeof(struct hora__links);
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

/* ---- free lists of blocks ---- */

/* The free lists that each thread has: one per kind of block. All blocks of one list have the same size. */
enum hora__block_kind { HORA__BLOCK_PLAIN_FUTURE, HORA__BLOCK_SCHEDULED_FUTURE, HORA__BLOCK_KINDS };

/* A free list of blocks of one size. Only one thread at a time may use it. */
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

/* Frees all blocks of the list. */
static inline void hora__blocks_free(struct hora__blocks *blocks)
{
    void *block;
    while ((block = hora__blocks_pop(blocks)) != NULL)
        hora__free(block);
}

#endif
