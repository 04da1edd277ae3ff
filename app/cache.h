/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - a bounded map from texts to values that are expensive to create */
#ifndef APP_CACHE_H
#define APP_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define CACHE_WAYS 4   /* entries per set */
#define CACHE_SETS 512 /* a power of two */

struct cache_entry {
    char *key;     /* a copy of the text; NULL: the entry is free */
    size_t length; /* of the key in bytes */
    uint64_t hash; /* of the key */
    uint64_t used; /* time of the last use, counted in lookups; 0: never */
    void *value;   /* owned by the cache; not NULL */
};

/* All fields 0 except `drop`: an empty cache. */
struct cache {
    void (*drop)(void *value); /* called for a value that is evicted or cleared */
    uint64_t lookups;          /* number of calls of cache_find, the clock of `used` */
    struct cache_entry entries[CACHE_SETS][CACHE_WAYS];
};

/* Returns the value of a text, or NULL. It belongs to the cache and is valid until the next cache_add. */
void *cache_find(struct cache *cache, const char *key, size_t length);

/* Adds a value for a text that is not in the cache. The cache takes ownership and may evict another value. */
void cache_add(struct cache *cache, const char *key, size_t length, void *value);

/* Removes all values. */
void cache_clear(struct cache *cache);

#endif
