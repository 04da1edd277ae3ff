/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - simulated memory: finds leaks and misuse, and makes allocations fail on demand
 *
 * Purpose           A schedule passes only if no block is left allocated. Freed memory is filled with a
 *                   pattern and not used again in the same run, so that a late write is found and a late read
 *                   returns nonsense.
 * How it works      Blocks are cut one after the other from one large mapping, which is used from its start
 *                   again in every run. That is quick, and the addresses are the same each time. Every block
 *                   is listed in a table; a header before it holds its index, and a fence follows it. With a
 *                   sanitizer each block comes from malloc instead, so that reports show where a block was
 *                   allocated and freed.
 * Resting memory    It is on a free list of the library. The simulator fills it with another pattern, and
 *                   poisons it if AddressSanitizer is used. When it is taken from the list, the pattern is
 *                   checked.
 * Failures          All constructors of the platform call hora__sim_allocation_fails. Its n-th call returns
 *                   true if options.fail_allocation is n.
 * Invariants        M1 blocks[header->index].start is the block behind that header.
 *                   M2 a block that is not live holds only POISON (without a sanitizer). */
#include "sys/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "simulator/internal.h"

enum {
    POISON = 0xdd,     /* contents of freed memory */
    FENCE = 0xfd,      /* contents of the bytes behind a block */
    DIRT = 0xb5,       /* contents of new memory that need not be zero */
    REST = 0xe7,       /* contents of memory on a free list */
    UNIT = 16,         /* alignment of blocks */
    FIRST_BLOCKS = 256 /* first size of the table */
};

/* Precedes each block. */
struct header {
    uint64_t index;
    uint64_t check; /* the index, mixed with MAGIC */
};

#define MAGIC UINT64_C(0x9bd1c3a57f24e680)

struct block {
    unsigned char *start; /* behind the header */
    size_t size;          /* that the library asked for */
    bool live;            /* not yet freed */
};

/* The blocks of this run, freed ones included. */
static struct {
    struct block *blocks;
    size_t count;    /* blocks in the table */
    size_t capacity; /* of the table */
    size_t live;     /* blocks that are not yet freed */
} memory;

/* get and put allocate and free the bytes of a block, is_ours and is_poisoned support the checks, and
 * start_anew begins another run. */

#if defined(HORA_SIM_ASAN) || defined(HORA_SIM_TSAN)

static void *get(size_t size)
{
    return malloc(size);
}

static void put(struct block *block)
{
#ifdef HORA__ASAN
    /* After a schedule that fails, memory may still rest. */
    __asan_unpoison_memory_region(block->start, block->size);
#endif
    free(block->start - sizeof(struct header));
}

static bool is_ours(const void *start)
{
    return start != NULL; /* the sanitizer reports other addresses */
}

static bool is_poisoned(const struct block *block)
{
    return block != NULL; /* the memory is freed; the sanitizer reports late writes */
}

static void start_anew(void)
{
}

#else

/* The mapping that blocks are cut from. */
static struct {
    unsigned char *start; /* NULL: not yet mapped */
    size_t used;          /* bytes cut off in this run */
    size_t size;
} arena = {.size = (size_t)64 << 20};

static void *get(size_t size)
{
    if (arena.start == NULL) {
        void *mapping = mmap(NULL, arena.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapping == MAP_FAILED)
            return NULL;
        arena.start = mapping;
    }
    if (size > arena.size - arena.used)
        return NULL;
    arena.used += size;
    return arena.start + arena.used - size;
}

static void put(struct block *block)
{
    memset(block->start, POISON, block->size); /* M2 */
}

static bool is_ours(const void *start)
{
    const unsigned char *byte = start;
    return byte >= arena.start + sizeof(struct header) && byte < arena.start + arena.used;
}

static bool is_poisoned(const struct block *block)
{
    for (size_t i = 0; i < block->size; i++)
        if (block->start[i] != POISON)
            return false;
    return true;
}

static void start_anew(void)
{
    arena.used = 0;
}

#endif

/* Returns the size of a block with its header and at least one byte of fence; 0: the size is too large. */
static size_t whole_size(size_t size)
{
    if (size > SIZE_MAX / 2)
        return 0;
    return (sizeof(struct header) + size + UNIT) / UNIT * UNIT;
}

/* Returns true if the bytes behind a block are unchanged. */
static bool fence_stands(const struct block *block)
{
    size_t end = whole_size(block->size) - sizeof(struct header);
    for (size_t i = block->size; i < end; i++)
        if (block->start[i] != FENCE)
            return false;
    return true;
}

/* Makes room in the table for one more block. Returns false if there is no memory. */
static bool has_room(void)
{
    if (memory.count < memory.capacity)
        return true;
    size_t capacity = memory.capacity == 0 ? FIRST_BLOCKS : 2 * memory.capacity;
    struct block *larger = realloc(memory.blocks, capacity * sizeof *larger);
    if (larger == NULL)
        return false;
    memory.blocks = larger;
    memory.capacity = capacity;
    return true;
}

/* Counts an allocation. Returns true if the options demand that it fails. */
bool hora__sim_allocation_fails(void)
{
    const struct hora__sim_options *options = &hora__sim.options;
    hora__sim_step();
    long number = ++hora__sim.result->allocations;
    if (options->fail_allocation == 0)
        return false;
    return options->fail_from_then_on ? number >= options->fail_allocation
                                      : number == options->fail_allocation;
}

void *hora__alloc(size_t count, size_t size)
{
    size_t bytes;
    if (hora__sim_allocation_fails() || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    size_t whole = whole_size(bytes);
    struct header *header = whole == 0 || !has_room() ? NULL : get(whole);
    if (header == NULL)
        return NULL;
    header->index = memory.count;
    header->check = memory.count ^ MAGIC;
    struct block *block = &memory.blocks[memory.count++];
    *block = (struct block){(unsigned char *)(header + 1), bytes, true};
    memset(block->start, 0, bytes);
    memset(block->start + bytes, FENCE, whole - sizeof *header - bytes);
    memory.live++;
    return block->start;
}

void *hora__alloc_dirty(size_t size)
{
    void *start = hora__alloc(1, size);
    if (start != NULL)
        memset(start, DIRT, size);
    return start;
}

void *hora__alloc_lines(size_t size)
{
    return hora__alloc_dirty(size);
}

/* Returns the block that starts at this address; NULL: there is none. */
static struct block *block_at(const void *start)
{
    const struct header *header = (const struct header *)start - 1;
    if (!is_ours(start) || header->check != (header->index ^ MAGIC) || header->index >= memory.count ||
        memory.blocks[header->index].start != start) /* M1 */
        return NULL;
    return &memory.blocks[header->index];
}

void hora__free(void *start)
{
    hora__sim_step();
    if (start == NULL)
        return;
    struct block *block = block_at(start);
    if (block == NULL)
        hora__sim_end(HORA__SIM_MISUSE, "free of %p, which was never allocated", start);
    if (!block->live)
        hora__sim_end(HORA__SIM_MISUSE, "a block of %zu bytes is freed twice", block->size);
    if (!fence_stands(block))
        hora__sim_end(HORA__SIM_MISUSE, "a block of %zu bytes was written past its end", block->size);
    hora__sim_weak_free(start, block->size);
    block->live = false;
    memory.live--;
    put(block);
}

void *hora__pages_alloc(size_t size)
{
    return hora__alloc_dirty(size);
}

void hora__pages_free(void *pages, size_t size)
{
    const struct block *block = pages != NULL ? block_at(pages) : NULL;
    if (block == NULL || block->size != size)
        hora__sim_end(HORA__SIM_MISUSE, "%zu bytes of pages are freed at %p, which are not there", size,
                      pages);
    hora__free(pages);
}

/* ---- memory that rests ---- */

bool hora__keeps_memory(void)
{
    return hora__sim.options.recycles;
}

void hora__memory_rests(void *start, size_t size)
{
    memset(start, REST, size);
#ifdef HORA__ASAN
    __asan_poison_memory_region(start, size);
#endif
}

void hora__memory_wakes(void *start, size_t size)
{
#ifdef HORA__ASAN
    __asan_unpoison_memory_region(start, size);
#endif
    const unsigned char *bytes = start;
    if (size > 0 && (bytes[0] != REST || memcmp(bytes, bytes + 1, size - 1) != 0))
        hora__sim_end(HORA__SIM_MISUSE, "%zu bytes were written to while they were on a free list", size);
    memset(start, DIRT, size);
}

/* Ends the run if a freed block was written to, or if blocks are left. */
void hora__sim_memory_check(void)
{
    for (size_t i = 0; i < memory.count; i++) {
        const struct block *block = &memory.blocks[i];
        if (!block->live && !is_poisoned(block))
            hora__sim_end(HORA__SIM_MISUSE, "a block of %zu bytes was written after it was freed",
                          block->size);
    }
    for (size_t i = 0; i < memory.count && memory.live > 0; i++)
        if (memory.blocks[i].live)
            hora__sim_end(HORA__SIM_LEAK, "%zu blocks are left, the first of %zu bytes", memory.live,
                          memory.blocks[i].size);
}

/* Frees all blocks that a failed schedule left. */
void hora__sim_memory_end(void)
{
    for (size_t i = 0; i < memory.count && memory.live > 0; i++)
        if (memory.blocks[i].live) {
            memory.live--;
            put(&memory.blocks[i]);
        }
    memory.count = 0;
    start_anew();
}
