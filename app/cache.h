/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - a bounded map from texts to values that are expensive to create */
#ifndef APP_CACHE_H
#define APP_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define CACHE_WAYS 4   /* entries per set */
#define CACHE_SETS 512 /* a power of two */

struct cache_entry {
    char *key; /* NULL means free */
    size_t length;
    uint64_t hash;
    uint64_t used; /* time of the last use, counted in lookups */
    void *value;
};

struct cache {
    void (*drop)(void *value); /* called for a value that is evicted */
    uint64_t lookups;
    struct cache_entry entries[CACHE_SETS][CACHE_WAYS];
};

/* Returns the value of a text, or NULL. It belongs to the cache and is valid until the next cache_add. */
void *cache_find(struct cache *cache, const char *key, size_t length);

/* Adds a value for a text that is not in the cache. The cache takes ownership and may evict another value. */
void cache_add(struct cache *cache, const char *key, size_t length, void *value);

void cache_clear(struct cache *cache);

#endif
