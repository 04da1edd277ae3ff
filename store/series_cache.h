/* SPDX-License-Identifier: Apache-2.0 */
/* series_cache.h - the definitions and payloads of recurring tasks that a node has read
 *
 * A node reads the series row of a task once, and again when the task was changed. Entries are counted
 * references: those in use stay, and of the others the most recently used. */
#ifndef HORA_STORE_SERIES_CACHE_H
#define HORA_STORE_SERIES_CACHE_H

#include "backend.h"
#include "definition.h"

typedef struct hora__series_cache hora__series_cache;

typedef struct hora__series_entry {
    int64_t series, revision;
    hora__definition *definition;
    hora__bytes payload;
    int64_t references;
    bool current; /* it can be found */
    struct hora__series_entry *next_in_bucket;
    struct hora__series_entry *newer, *older; /* entries without references, by last use */
} hora__series_entry;

/* Entries without references beyond `limit` are freed. */
int hora__series_cache_new(size_t limit, hora__series_cache **ret_cache);
void hora__series_cache_free(hora__series_cache *cache); /* no entry may have references */

/* Returns a reference to the entry of a revision, or NULL. */
hora__series_entry *hora__series_cache_find(hora__series_cache *cache, int64_t series, int64_t revision);

/* Reads and adds a series, in place of an older revision of it, and returns a reference. */
int hora__series_cache_add(hora__series_cache *cache, int64_t series, const hora__series *row,
                           hora__series_entry **ret_entry);

void hora__series_cache_release(hora__series_cache *cache, hora__series_entry *entry);

#endif
