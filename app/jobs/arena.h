/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that is freed all at once, and the texts and arrays in it
 *
 * Like all of the command, these functions end the process with a message if there is no memory. */
#ifndef APP_ARENA_H
#define APP_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

/* Memory that is freed all at once. Starts as {0}. */
struct arena {
    struct arena_block *blocks; /* the latest first */
};

/* Returns zeroed memory, aligned for every type. */
void *arena_alloc(struct arena *arena, size_t size);
void arena_free(struct arena *arena);

/* Return a copy of a text of this length, and a text as printf makes it. */
char *arena_text(struct arena *arena, const char *text, size_t length);
__attribute__((format(printf, 2, 3))) char *arena_format(struct arena *arena, const char *format, ...);

/* Returns the array with room for one more element than `count`. It grows in powers of two, so the caller needs
 * to keep only the count. */
void *arena_grow(struct arena *arena, void *array, size_t count, size_t size);

/* Adds a zeroed element to an array and yields a pointer to it. */
#define arena_add(arena, array, count) \
    ((array) = arena_grow((arena), (array), (count), sizeof *(array)), &(array)[(count)++])

#endif
