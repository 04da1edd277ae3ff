/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - a bounded map from texts to values that are costly to make */
#ifndef APP_CACHE_H
#define APP_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define CACHE_WAYS 4   /* places where a text can stand */
#define CACHE_SETS 512 /* a power of two */

struct cache_entry {
    char *key; /* NULL: free */
    size_t length;
    uint64_t hash;
    uint64_t used; /* when, counted in look-ups */
    void *value;
};

struct cache {
    void (*drop)(void *value); /* what to do with a value that has to go */
    uint64_t lookups;
    struct cache_entry entries[CACHE_SETS][CACHE_WAYS];
};

/* The value of a text, or NULL. It belongs to the cache, and stays until the next cache_add. */
void *cache_find(struct cache *cache, const char *key, size_t length);

/* Put in a value that is not there. The cache owns it from now on; another one may have to go for it. */
void cache_add(struct cache *cache, const char *key, size_t length, void *value);

void cache_clear(struct cache *cache);

#endif
