/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - simulated memory: what is live, what was misused, and allocations that fail on demand
 *
 * What it is for    A schedule passes only if nothing is left allocated. Freed memory is filled with a pattern and not used
 *                   again before the run is over, so that a late write is found and a late read gives nonsense.
 * How it works      Blocks are cut off one after the other from one large mapping, which starts anew with every run: quick, and
 *                   the addresses are the same each time. Every block is listed in a table; a header before it holds
 *                   its index, and a fence stands behind it. With a sanitizer each block comes from malloc instead, so that its
 *                   reports say where a block was allocated and freed.
 * Resting memory    is on a free list of the library. It is filled with another pattern, and with AddressSanitizer it is poisoned as
 *                   well. Whoever takes it from the list finds out whether it was written to meanwhile.
 * Fails on demand   the n-th call of hora__sim_allocation_fails, which all constructors of the platform ask.
 * Invariants        M1 blocks[header->index].start is the block behind that header.
 *                   M2 a block that is not live holds only POISON (without a sanitizer). */
#include "sys/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "simulator/internal.h"

enum { POISON = 0xdd, FENCE = 0xfd, DIRT = 0xb5, REST = 0xe7, UNIT = 16, FIRST_BLOCKS = 256 };

struct header {
    uint64_t index;
    uint64_t check; /* the index, mixed with MAGIC */
};

#define MAGIC UINT64_C(0x9bd1c3a57f24e680)

struct block {
    unsigned char *start;
    size_t size;
    bool live;
};

static struct {
    struct block *blocks;
    size_t count;
    size_t capacity;
    size_t live;
} memory;

#if defined(HORA_SIM_ASAN) || defined(HORA_SIM_TSAN)

static void *get(size_t size)
{
    return malloc(size);
}

static void put(struct block *block)
{
#ifdef HORA__ASAN
    __asan_unpoison_memory_region(block->start,
                                  block->size); /* a schedule that fails leaves some that rests */
#endif
    free(block->start - sizeof(struct header));
}

static bool is_ours(const void *start)
{
    return start != NULL; /* else the sanitizer says so */
}

static bool is_poisoned(const struct block *block)
{
    return block != NULL; /* it is gone */
}

static void start_anew(void)
{
}

#else

static struct {
    unsigned char *start;
    size_t used;
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

/* The bytes of a block with its header and at least one byte of fence; 0: more than there can be. */
static size_t whole_size(size_t size)
{
    if (size > SIZE_MAX / 2)
        return 0;
    return (sizeof(struct header) + size + UNIT) / UNIT * UNIT;
}

static bool fence_stands(const struct block *block)
{
    size_t end = whole_size(block->size) - sizeof(struct header);
    for (size_t i = block->size; i < end; i++)
        if (block->start[i] != FENCE)
            return false;
    return true;
}

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

/* NULL: there is none. */
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

/* ---- memory that rests ---- */

bool hora__keeps_memory(void)
{
    return hora__sim.options.recycles;
}

size_t hora__memory_size(void *start)
{
    const struct block *block = block_at(start);
    if (block == NULL || !block->live)
        hora__sim_end(HORA__SIM_MISUSE, "%p is kept to be used again, and is not allocated", start);
    return block->size;
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
