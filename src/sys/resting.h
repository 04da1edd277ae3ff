/* SPDX-License-Identifier: Apache-2.0 */
/* resting.h - memory that is kept to be used again, and that nobody may use before
 *
 * A program that uses memory on a free list would go unnoticed: the memory is allocated. So each free list says which memory rests,
 * and until when. AddressSanitizer reports each use of it. The simulator fills it with a pattern, and ends the schedule if the
 * pattern has changed when the memory is taken from the list. In other builds these calls do nothing.
 *
 * Links             A free list needs a few bytes of the memory for its own links, which do not rest. Whole blocks have them at their
 *                   end where memory is checked, because most that use memory too late use its beginning: there a future
 *                   counts its references. LeakSanitizer finds the blocks of a list through the links. */
#ifndef HORA_SYS_RESTING_H
#define HORA_SYS_RESTING_H

#include <stdbool.h>
#include <stddef.h>

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

/* Whether memory is kept to be used again, instead of being freed. In the simulator each schedule says so. */
#ifdef HORA_SIM
bool hora__keeps_memory(void);
#else
static inline bool hora__keeps_memory(void)
{
    return true;
}
#endif

/* In the simulator, free lists are short: few tasks are enough to fill one, and to bring memory from one thread to another. */
#ifdef HORA_SIM
#define HORA__KEPT(many, few) (few)
#else
#define HORA__KEPT(many, few) (many)
#endif

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

/* Part of an allocation is not used until it wakes. */
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

/* What a free list keeps in a block. */
struct hora__links {
    void *next;
    void *other;
};

#ifdef HORA__CHECKS_MEMORY

/* The size that was asked for. */
size_t hora__memory_size(void *block);

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

/* A block that was allocated, but for its links, is not used until it wakes. */
static inline void hora__block_rests(void *block)
{
    (void)block;
}

static inline void hora__block_wakes(void *block)
{
    (void)block;
}

#endif

#endif
