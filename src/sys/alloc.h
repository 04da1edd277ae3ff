/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - memory: allocation, and marking of memory on free lists
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

/* Returns whole pages of the system with arbitrary contents, at least `size` bytes; NULL: no memory. Unlike
 * memory from the functions above, they go back to the system at once when they are freed, by the function
 * below and with the same size. */
__attribute__((warn_unused_result, malloc)) void *hora__pages_alloc(size_t size);
void hora__pages_free(void *pages, size_t size);

/* For a field of an object of hora__alloc_lines: the field starts a cache line. The simulator runs on one
 * thread and does not need this. */
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

#endif
