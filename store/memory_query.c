/* SPDX-License-Identifier: Apache-2.0 */
/* memory_query.c - a store in memory: list tasks, records and numbers; see memory.h
 *
 * The callback runs without the lock: tasks and records are read in portions, with references to what the
 * callback sees. */
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

enum { PORTION = 64 };

/* ---- tasks ---- */

/* A task to show, with references. */
typedef struct shown_task {
    hora_durable_info info;
    hora__blob *key, *definition, *payload;
} shown_task;

static hora_durable_state state_of(const hora__row *row)
{
    if (row->dead)
        return HORA_DURABLE_DEAD;
    if (row->owner != 0)
        return HORA_DURABLE_CLAIMED;
    return row->paused ? HORA_DURABLE_PAUSED : HORA_DURABLE_WAITING;
}

static bool selects(const hora_durable_filter *filter, const hora__row *row)
{
    const char *key = hora__blob_text(row->key);
    if (filter->key != NULL && (key == NULL || strcmp(key, filter->key) != 0))
        return false;
    if (filter->key_prefix != NULL &&
        (key == NULL || strncmp(key, filter->key_prefix, strlen(filter->key_prefix)) != 0))
        return false;
    if (filter->handler != NULL && strcmp(row->handler->name, filter->handler) != 0)
        return false;
    return filter->state == 0 || filter->state == state_of(row);
}

static void show_row(const hora__row *row, shown_task *shown)
{
    const hora__row_series *series = row->series;
    shown->key = hora__blob_share(row->key);
    shown->definition = hora__blob_share(series != NULL ? series->definition : row->definition);
    shown->payload = hora__blob_share(series != NULL ? series->payload : row->payload);
    shown->info = (hora_durable_info){
        .struct_size = (uint32_t)sizeof shown->info,
        .id = row->id,
        .handler = row->handler->name,
        .key = hora__blob_text(shown->key),
        .state = state_of(row),
        .recurring = series != NULL,
        .revision = row->revision,
        .planned = hora__instant_of_us(row->planned),
        .due = hora__instant_of_us(row->due),
        .attempts = row->attempt,
        .fence = row->fence,
        .node = row->owner,
        .firings = row->firings > 0 ? row->firings : 0,
        .failures_in_a_row = row->gave_up,
        .last_end = hora__instant_of_us(row->last_end),
        .last_code = row->last_code,
        .last_success = hora__instant_of_us(row->last_success),
        .priority = (hora_priority)(HORA_PRIORITY_URGENT - row->lane),
        .payload = hora__blob_text(shown->payload),
        .payload_size = shown->payload == NULL ? 0 : shown->payload->size,
    };
}

/* Collects the next tasks after *after_id, at most `limit`. */
static int read_tasks(hora__memory *memory, const hora_durable_filter *filter, int64_t *after_id, int limit,
                      shown_task *ret_shown)
{
    int count = 0;
    const hora__tree *tree = filter->state == HORA_DURABLE_DEAD ? &memory->dead : &memory->firings;
    pthread_mutex_lock(&memory->lock);
    const hora__row probe = {.id = *after_id};
    hora__memory_tree_node *node = hora__memory_tree_after(tree, &probe.by_id);
    for (; node != NULL && count < limit; node = hora__memory_tree_after(tree, node)) {
        const hora__row *row = HORA__ROW_OF(node, by_id);
        *after_id = row->id;
        if (selects(filter, row))
            show_row(row, &ret_shown[count++]);
    }
    pthread_mutex_unlock(&memory->lock);
    return count;
}

static void drop_tasks(hora__memory *memory, shown_task *shown, int count)
{
    pthread_mutex_lock(&memory->lock);
    for (int i = 0; i < count; i++) {
        hora__blob_drop(shown[i].key);
        hora__blob_drop(shown[i].definition);
        hora__blob_drop(shown[i].payload);
    }
    pthread_mutex_unlock(&memory->lock);
}

/* How many elements the next portion may have. */
static int portion_of(int64_t limit, int64_t shown)
{
    return limit > 0 && limit - shown < PORTION ? (int)(limit - shown) : PORTION;
}

int hora__memory_list(hora__backend *backend, const hora_durable_filter *filter, hora__info_fn fn, void *arg,
                      hora_error *reason)
{
    (void)reason;
    hora__memory *memory = (hora__memory *)backend;
    shown_task shown[PORTION];
    int64_t after_id = filter->after_id, total = 0;
    for (int result = 0, portion, count;;) {
        portion = portion_of(filter->limit, total);
        count = read_tasks(memory, filter, &after_id, portion, shown);
        for (int i = 0; result == 0 && i < count; i++)
            result = fn(&shown[i].info, hora__blob_text(shown[i].definition), arg);
        drop_tasks(memory, shown, count);
        total += count;
        if (result != 0 || count < portion || total == filter->limit)
            return result;
    }
}

/* ---- records ---- */

static bool selects_record(const hora_history_filter *filter, const hora_run_record *record)
{
    if (filter->key != NULL && (record->key == NULL || strcmp(record->key, filter->key) != 0))
        return false;
    if (filter->outcome != 0 && record->outcome != filter->outcome)
        return false;
    if (filter->failed && record->outcome != HORA_RUN_FAILED && record->outcome != HORA_RUN_GAVE_UP &&
        record->outcome != HORA_RUN_LOST)
        return false;
    return filter->since.ns == 0 || record->ended.ns >= filter->since.ns;
}

/* The number of records with an id below `before_id`; 0 means all. */
static size_t count_before(const hora__memory *memory, int64_t before_id)
{
    size_t low = 0, high = memory->record_count;
    while (before_id != 0 && low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->records[middle]->record.id < before_id)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

/* Collects the latest records before *before_id, at most `limit`. */
static int read_records(hora__memory *memory, const hora_history_filter *filter, int64_t *before_id,
                        int limit, hora__memory_record **ret_records)
{
    int count = 0;
    pthread_mutex_lock(&memory->lock);
    for (size_t i = count_before(memory, *before_id); i > 0 && count < limit; i--) {
        hora__memory_record *record = memory->records[i - 1];
        *before_id = record->record.id;
        if (!selects_record(filter, &record->record))
            continue;
        record->references++;
        ret_records[count++] = record;
    }
    pthread_mutex_unlock(&memory->lock);
    return count;
}

int hora__memory_history(hora__backend *backend, const hora_history_filter *filter, hora_run_record_fn fn,
                         void *arg, hora_error *reason)
{
    (void)reason;
    hora__memory *memory = (hora__memory *)backend;
    hora__memory_record *records[PORTION];
    int64_t before_id = filter->before_id, total = 0;
    for (int result = 0, portion, count;;) {
        portion = portion_of(filter->limit, total);
        count = read_records(memory, filter, &before_id, portion, records);
        for (int i = 0; result == 0 && i < count; i++)
            result = fn(&records[i]->record, arg);
        pthread_mutex_lock(&memory->lock);
        for (int i = 0; i < count; i++)
            hora__record_drop(records[i]);
        pthread_mutex_unlock(&memory->lock);
        total += count;
        if (result != 0 || count < portion || total == filter->limit)
            return result;
    }
}

int hora__memory_trim(hora__backend *backend, int64_t before_us, int64_t *ret_deleted, hora_error *reason)
{
    (void)reason;
    hora__memory *memory = (hora__memory *)backend;
    size_t kept = 0;
    hora_ns before = hora__ns_of_us(before_us);
    pthread_mutex_lock(&memory->lock);
    for (size_t i = 0; i < memory->record_count; i++) {
        if (memory->records[i]->record.ended.ns < before)
            hora__record_drop(memory->records[i]);
        else
            memory->records[kept++] = memory->records[i];
    }
    *ret_deleted = (int64_t)(memory->record_count - kept);
    memory->record_count = kept;
    pthread_mutex_unlock(&memory->lock);
    return 0;
}

/* ---- numbers ---- */

static void count_row(const hora__row *row, int64_t now, hora_store_stats *stats)
{
    switch (state_of(row)) {
    case HORA_DURABLE_CLAIMED:
        stats->claimed++;
        return;
    case HORA_DURABLE_PAUSED:
        stats->paused++;
        return;
    case HORA_DURABLE_DEAD:
        stats->dead++;
        return;
    case HORA_DURABLE_WAITING:
        break;
    }
    hora_instant due = hora__instant_of_us(row->due);
    stats->waiting++;
    stats->overdue += row->due <= now;
    if (stats->waiting == 1 || due.ns < stats->next_due.ns)
        stats->next_due = due;
}

int hora__memory_stats(hora__backend *backend, hora_store_stats *ret_stats, hora_error *reason)
{
    hora__memory *memory = (hora__memory *)backend;
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    const hora__row first = {.id = 0};
    int64_t now;
    pthread_mutex_lock(&memory->lock);
    int result = hora__memory_now(memory, &now, reason);
    if (result == 0) {
        stats.now = hora__instant_of_us(now);
        const hora__tree *trees[] = {&memory->firings, &memory->dead};
        for (int i = 0; i < 2; i++) {
            hora__memory_tree_node *node = hora__memory_tree_after(trees[i], &first.by_id);
            for (; node != NULL; node = hora__memory_tree_after(trees[i], node))
                count_row(HORA__ROW_OF(node, by_id), now, &stats);
        }
        for (const hora__memory_node *node = memory->nodes; node != NULL; node = node->next)
            stats.nodes += !node->gone && node->lease_end > now;
        *ret_stats = stats;
    }
    pthread_mutex_unlock(&memory->lock);
    return result;
}
