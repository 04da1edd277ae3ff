/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - memory that is freed all at once, and the texts and arrays in it
 *
 * An arena is a list of blocks. A request is served from the latest block; if it does not fit, there is a new
 * block, which is as large as the request if that is larger than a usual block. */
#include "jobs/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { BLOCK_SIZE = 16384 };

struct arena_block {
    struct arena_block *older;
    size_t used, size; /* of the bytes that follow */
    alignas(max_align_t) char bytes[];
};

static struct arena_block *new_block(struct arena *arena, size_t size)
{
    struct arena_block *block = memory(sizeof *block + size);
    block->older = arena->blocks;
    block->used = 0;
    block->size = size;
    arena->blocks = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t rounded = (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    struct arena_block *block = arena->blocks;
    if (!block || rounded > block->size - block->used)
        block = new_block(arena, rounded > BLOCK_SIZE ? rounded : BLOCK_SIZE);
    void *result = block->bytes + block->used;
    block->used += rounded;
    return memset(result, 0, rounded);
}

void arena_free(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->older;
        free(block);
    }
}

char *arena_text(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    int length = vsnprintf(NULL, 0, format, values);
    assert(length >= 0);
    char *text = arena_alloc(arena, (size_t)length + 1);
    (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(values);
    return text;
}

void *arena_grow(struct arena *arena, void *array, size_t count, size_t size)
{
    bool is_full = count == 0 || (count & (count - 1)) == 0;
    if (!is_full)
        return array;
    void *larger = arena_alloc(arena, (count == 0 ? 1 : 2 * count) * size);
    if (count > 0)
        memcpy(larger, array, count * size);
    return larger;
}
