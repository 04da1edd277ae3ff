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
#include <strings.h>

#include "command.h"

enum { BLOCK_SIZE = 16384, MOST_NEAREST = 64 };

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

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the number of letters to add, remove, change or swap with the next one to get from one word to the
 * other; upper and lower case are the same. Both are at most MOST_NEAREST bytes long. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][MOST_NEAREST + 1]; /* of the usual table: this one, the last, the one before */
    size_t length = strlen(b);
    for (size_t j = 0; j <= length; j++)
        rows[0][j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t *now = rows[i % 3], *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= length; j++) {
            bool same = strncasecmp(a + i - 1, b + j - 1, 1) == 0;
            now[j] = least_of(last[j - 1] + !same, least_of(last[j], now[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && strncasecmp(a + i - 1, b + j - 2, 1) == 0 &&
                           strncasecmp(a + i - 2, b + j - 1, 1) == 0;
            if (swapped)
                now[j] = least_of(now[j], before[j - 2] + 1);
        }
    }
    return rows[strlen(a) % 3][length];
}

const char *text_nearest(const char *text, const char *const *first, size_t count, size_t stride)
{
    const char *nearest = NULL;
    size_t length = strlen(text);
    if (length > MOST_NEAREST)
        return NULL;
    size_t best = length <= 3 ? 2 : length <= 6 ? 3 : 4; /* one more than is near enough */
    for (size_t i = 0; i < count; i++) {
        const char *word = *(const char *const *)(const void *)((const char *)first + i * stride);
        size_t other = strlen(word);
        if (!nearest && length >= 3 && strncasecmp(text, word, length) == 0)
            nearest = word; /* the start of a word, unless another one is nearer */
        size_t difference = other > length ? other - length : length - other;
        if (difference >= best || other > MOST_NEAREST)
            continue;
        size_t steps = distance(text, word);
        if (steps < best) {
            best = steps;
            nearest = word;
        }
    }
    return nearest;
}
