/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - a bounded map from texts to values that are expensive to create
 *
 * The hash of a text selects a set. A set has a few entries, and the least recently used one is evicted. A
 * lookup therefore compares at most CACHE_WAYS hashes, and the cache never holds more than CACHE_SETS *
 * CACHE_WAYS values. */
#include "cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* Returns the FNV-1a hash of a text. The upper half is folded in because the lowest bits select the set. */
static uint64_t hash_of(const char *key, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)key[i]) * 0x100000001b3;
    return hash ^ hash >> 32;
}

void *cache_find(struct cache *cache, const char *key, size_t length)
{
    uint64_t hash = hash_of(key, length);
    struct cache_entry *set = cache->entries[hash % CACHE_SETS];
    cache->lookups++;
    for (int i = 0; i < CACHE_WAYS; i++) {
        if (set[i].key && set[i].hash == hash && set[i].length == length &&
            memcmp(set[i].key, key, length) == 0) {
            set[i].used = cache->lookups;
            return set[i].value;
        }
    }
    return NULL;
}

/* Frees the value and the key of an entry, if it has one. */
static void empty(const struct cache *cache, struct cache_entry *entry)
{
    if (!entry->key)
        return;
    cache->drop(entry->value);
    free(entry->key);
    *entry = (struct cache_entry){0};
}

void cache_add(struct cache *cache, const char *key, size_t length, void *value)
{
    uint64_t hash = hash_of(key, length);
    struct cache_entry *set = cache->entries[hash % CACHE_SETS];
    struct cache_entry *oldest = &set[0];
    /* A free entry counts as used at time 0, so it is chosen first. */
    for (int i = 1; i < CACHE_WAYS; i++)
        if (set[i].used < oldest->used)
            oldest = &set[i];
    empty(cache, oldest);
    char *copy = memory(length + 1);
    memcpy(copy, key, length);
    *oldest = (struct cache_entry){
        .key = copy, .length = length, .hash = hash, .used = cache->lookups, .value = value};
    assert(oldest->value);
}

void cache_clear(struct cache *cache)
{
    for (int set = 0; set < CACHE_SETS; set++)
        for (int way = 0; way < CACHE_WAYS; way++)
            empty(cache, &cache->entries[set][way]);
}
