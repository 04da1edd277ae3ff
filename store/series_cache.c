/* SPDX-License-Identifier: Apache-2.0 */
/* series_cache.c - the definitions and payloads of recurring tasks that a node has read */
#include "series_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 9 };

struct hora__series_cache {
    size_t limit, unused;                /* `unused` entries have no references */
    hora__series_entry *newest, *oldest; /* of those */
    hora__series_entry *buckets[BUCKETS];
};

static hora__series_entry **bucket_of(hora__series_cache *cache, int64_t series)
{
    return &cache->buckets[(uint64_t)series * UINT64_C(0x9e3779b97f4a7c15) >> (64 - 9)];
}

int hora__series_cache_new(size_t limit, hora__series_cache **ret_cache)
{
    hora__series_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return HORA_ENOMEM;
    cache->limit = limit;
    *ret_cache = cache;
    return 0;
}

static void unlink_unused(hora__series_cache *cache, hora__series_entry *entry)
{
    assert(entry->references == 0 && cache->unused > 0);
    *(entry->newer != NULL ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older != NULL ? &entry->older->newer : &cache->oldest) = entry->newer;
    entry->newer = entry->older = NULL;
    cache->unused--;
}

static void unlink_bucket(hora__series_cache *cache, hora__series_entry *entry)
{
    hora__series_entry **at = bucket_of(cache, entry->series);
    while (*at != entry)
        at = &(*at)->next_in_bucket;
    *at = entry->next_in_bucket;
    entry->current = false;
}

static void entry_free(hora__series_entry *entry)
{
    hora__definition_free(entry->definition);
    free(entry);
}

/* Frees an entry without users. */
static void drop(hora__series_cache *cache, hora__series_entry *entry)
{
    unlink_unused(cache, entry);
    unlink_bucket(cache, entry);
    entry_free(entry);
}

void hora__series_cache_free(hora__series_cache *cache)
{
    if (cache == NULL)
        return;
    while (cache->oldest != NULL)
        drop(cache, cache->oldest);
    for (size_t i = 0; i < BUCKETS; i++)
        assert(cache->buckets[i] == NULL);
    free(cache);
}

/* Returns the current entry of a series, without a reference. */
static hora__series_entry *look_up(hora__series_cache *cache, int64_t series)
{
    hora__series_entry *entry = *bucket_of(cache, series);
    while (entry != NULL && entry->series != series)
        entry = entry->next_in_bucket;
    return entry;
}

static void take(hora__series_cache *cache, hora__series_entry *entry)
{
    if (entry->references == 0)
        unlink_unused(cache, entry);
    entry->references++;
}

hora__series_entry *hora__series_cache_find(hora__series_cache *cache, int64_t series, int64_t revision)
{
    hora__series_entry *entry = look_up(cache, series);
    if (entry == NULL || entry->revision != revision)
        return NULL;
    take(cache, entry);
    return entry;
}

/* The payload is behind the entry, in the same memory. */
static int entry_new(int64_t series, const hora__series *row, hora__series_entry **ret_entry)
{
    hora__series_entry *entry = calloc(1, sizeof *entry + row->payload.size);
    if (entry == NULL)
        return HORA_ENOMEM;
    int error = hora__definition_read(row->definition, &entry->definition, NULL);
    if (error < 0) {
        free(entry);
        return error;
    }
    entry->series = series;
    entry->revision = row->revision;
    if (row->payload.data != NULL) {
        entry->payload = (hora__bytes){entry + 1, row->payload.size};
        if (row->payload.size > 0)
            memcpy(entry + 1, row->payload.data, row->payload.size);
    }
    *ret_entry = entry;
    return 0;
}

int hora__series_cache_add(hora__series_cache *cache, int64_t series, const hora__series *row,
                           hora__series_entry **ret_entry)
{
    hora__series_entry *entry, *old = look_up(cache, series);
    if (old != NULL && old->revision == row->revision) {
        take(cache, old);
        *ret_entry = old;
        return 0;
    }
    int error = entry_new(series, row, &entry);
    if (error < 0)
        return error;
    if (old != NULL && old->references == 0)
        drop(cache, old);
    else if (old != NULL)
        unlink_bucket(cache, old); /* its users free it */
    entry->next_in_bucket = *bucket_of(cache, series);
    *bucket_of(cache, series) = entry;
    entry->current = true;
    entry->references = 1;
    *ret_entry = entry;
    return 0;
}

void hora__series_cache_release(hora__series_cache *cache, hora__series_entry *entry)
{
    assert(entry->references > 0);
    if (--entry->references > 0)
        return;
    if (!entry->current) {
        entry_free(entry);
        return;
    }
    entry->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
    if (++cache->unused > cache->limit)
        drop(cache, cache->oldest);
}
