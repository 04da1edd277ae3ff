/* SPDX-License-Identifier: Apache-2.0 */
/* memory_rows.c - rows of a store in memory, and their indices; see memory.h
 *
 * The fields of a row say in which indices it is. hora__row_unlink and hora__row_link are the only functions
 * that touch the indices: callers unlink a row, change it, and link it again. */
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

hora__blob *hora__blob_new(const void *data, size_t size)
{
    assert(data != NULL || size == 0);
    hora__blob *blob = malloc(sizeof *blob + size + 1);
    if (blob == NULL)
        return NULL;
    blob->references = 1;
    blob->size = size;
    if (size > 0)
        memcpy(blob->data, data, size);
    blob->data[size] = '\0';
    return blob;
}

hora__blob *hora__blob_share(hora__blob *blob)
{
    if (blob != NULL)
        blob->references++;
    return blob;
}

void hora__blob_drop(hora__blob *blob)
{
    if (blob == NULL)
        return;
    assert(blob->references > 0);
    if (--blob->references == 0)
        free(blob);
}

const char *hora__blob_text(const hora__blob *blob)
{
    return blob == NULL ? NULL : blob->data;
}

hora__memory_handler *hora__memory_intern(hora__memory *memory, const char *name)
{
    for (hora__memory_handler *handler = memory->handlers; handler != NULL; handler = handler->next) {
        if (strcmp(handler->name, name) == 0)
            return handler;
    }
    size_t size = strlen(name) + 1;
    hora__memory_handler *handler = malloc(sizeof *handler + size);
    if (handler == NULL)
        return NULL;
    handler->index = -1;
    memcpy(handler->name, name, size);
    handler->next = memory->handlers;
    memory->handlers = handler;
    return handler;
}

/* ---- indices ---- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ids(const hora__memory_tree_node *a, const hora__memory_tree_node *b)
{
    return compare_numbers(HORA__ROW_OF(a, by_id)->id, HORA__ROW_OF(b, by_id)->id);
}

static int compare_keys(const hora__memory_tree_node *a, const hora__memory_tree_node *b)
{
    return strcmp(HORA__ROW_OF(a, by_key)->key->data, HORA__ROW_OF(b, by_key)->key->data);
}

static int compare_dues(const hora__memory_tree_node *a, const hora__memory_tree_node *b)
{
    const hora__row *row = HORA__ROW_OF(a, by_due), *other = HORA__ROW_OF(b, by_due);
    int order = compare_numbers(row->due, other->due);
    return order != 0 ? order : compare_numbers(row->id, other->id);
}

static int compare_owners(const hora__memory_tree_node *a, const hora__memory_tree_node *b)
{
    const hora__row *row = HORA__ROW_OF(a, by_owner), *other = HORA__ROW_OF(b, by_owner);
    int order = compare_numbers(row->owner, other->owner);
    return order != 0 ? order : compare_numbers(row->id, other->id);
}

static hora__row_series *series_of(const hora__memory_tree_node *node)
{
    return hora__element_of(node, offsetof(hora__row_series, by_id));
}

static int compare_series(const hora__memory_tree_node *a, const hora__memory_tree_node *b)
{
    return compare_numbers(series_of(a)->id, series_of(b)->id);
}

void hora__rows_init(hora__memory *memory)
{
    memory->firings = (hora__tree){NULL, compare_ids};
    memory->dead = (hora__tree){NULL, compare_ids};
    memory->keys = (hora__tree){NULL, compare_keys};
    for (int lane = 0; lane < HORA__LANES; lane++)
        memory->waiting[lane] = (hora__tree){NULL, compare_dues};
    memory->claimed = (hora__tree){NULL, compare_owners};
    memory->series = (hora__tree){NULL, compare_series};
}

void hora__row_link(hora__memory *memory, hora__row *row)
{
    if (row->id == 0)
        row->id = ++memory->last_id;
    uint64_t number = (uint64_t)row->id;
    if (row->dead) {
        assert(row->owner == 0);
        hora__memory_tree_insert(&memory->dead, &row->by_id, number);
        return;
    }
    hora__memory_tree_insert(&memory->firings, &row->by_id, number);
    if (row->key != NULL)
        hora__memory_tree_insert(&memory->keys, &row->by_key, number);
    if (row->owner != 0)
        hora__memory_tree_insert(&memory->claimed, &row->by_owner, number);
    else if (!row->paused)
        hora__memory_tree_insert(&memory->waiting[row->lane], &row->by_due, number);
}

void hora__row_unlink(hora__memory *memory, hora__row *row)
{
    if (row->dead) {
        hora__memory_tree_remove(&memory->dead, &row->by_id);
        return;
    }
    hora__memory_tree_remove(&memory->firings, &row->by_id);
    if (row->key != NULL)
        hora__memory_tree_remove(&memory->keys, &row->by_key);
    if (row->owner != 0)
        hora__memory_tree_remove(&memory->claimed, &row->by_owner);
    else if (!row->paused)
        hora__memory_tree_remove(&memory->waiting[row->lane], &row->by_due);
}

hora__row *hora__row_by_id(const hora__tree *tree, int64_t id)
{
    const hora__row probe = {.id = id};
    hora__memory_tree_node *node = hora__memory_tree_from(tree, &probe.by_id);
    return node != NULL && HORA__ROW_OF(node, by_id)->id == id ? HORA__ROW_OF(node, by_id) : NULL;
}

/* Keys are looked up by a walk of its own, because a blob to compare with would have to be allocated. */
hora__row *hora__row_by_key(const hora__memory *memory, const char *key)
{
    hora__memory_tree_node *node = memory->keys.root;
    while (node != NULL) {
        hora__row *row = HORA__ROW_OF(node, by_key);
        int order = strcmp(key, row->key->data);
        if (order == 0)
            return row;
        node = order < 0 ? node->left : node->right;
    }
    return NULL;
}

hora__row *hora__row_dead_by_key(const hora__memory *memory, const char *key)
{
    hora__row *found = NULL;
    const hora__row probe = {.id = 0};
    for (hora__memory_tree_node *node = hora__memory_tree_after(&memory->dead, &probe.by_id); node != NULL;
         node = hora__memory_tree_after(&memory->dead, node)) {
        hora__row *row = HORA__ROW_OF(node, by_id);
        if (row->key != NULL && strcmp(row->key->data, key) == 0)
            found = row;
    }
    return found;
}

/* ---- rows ---- */

hora__row *hora__row_new(void)
{
    hora__row *row = calloc(1, sizeof *row);
    if (row != NULL)
        row->change_due = HORA__UNCHANGED;
    return row;
}

void hora__row_free(hora__memory *memory, hora__row *row)
{
    if (row == NULL)
        return;
    hora__row_leave_series(memory, row);
    hora__blob_drop(row->key);
    hora__blob_drop(row->definition);
    hora__blob_drop(row->payload);
    free(row);
}

void hora__row_delete(hora__memory *memory, hora__row *row)
{
    hora__row_unlink(memory, row);
    hora__row_free(memory, row);
}

void hora__row_wait(hora__memory *memory, hora__row *row, int64_t due, int64_t now)
{
    hora__row_unlink(memory, row);
    row->owner = 0;
    row->started = false;
    row->change_due = HORA__UNCHANGED;
    row->firings = row->firings > 0 ? row->firings : 0;
    row->due = due > now ? due : now;
    hora__row_link(memory, row);
}

void hora__row_release(hora__memory *memory, hora__row *row, bool uncount, int64_t now)
{
    assert(row->owner != 0);
    bool ends = hora__release_deletes(row->started && !HORA__STORE_FAULT(STORE_REPEATS), row->forked,
                                      row->series != NULL);
    if (row->change_cancel || (ends && row->change_due == HORA__UNCHANGED)) {
        hora__row_delete(memory, row);
        return;
    }
    int64_t due = row->due;
    if (row->change_due != HORA__UNCHANGED) {
        /* Not before now: the times after it would be those that have run. */
        due = row->planned = row->change_due > now ? row->change_due : now;
        row->attempt = 0;
    } else if (uncount && row->attempt > 0) {
        row->attempt--;
    }
    hora__row_wait(memory, row, due, now);
}

/* ---- series ---- */

void hora__row_join_series(hora__row *row, hora__row_series *series)
{
    assert(row->series == NULL);
    row->series = series;
    row->series_next = series->rows;
    series->rows = row;
}

void hora__row_leave_series(hora__memory *memory, hora__row *row)
{
    hora__row_series *series = row->series;
    if (series == NULL)
        return;
    hora__row **place = &series->rows;
    while (*place != row)
        place = &(*place)->series_next;
    *place = row->series_next;
    row->series = NULL;
    if (series->rows != NULL)
        return;
    if (series->id != 0)
        hora__memory_tree_remove(&memory->series, &series->by_id);
    hora__blob_drop(series->key);
    hora__blob_drop(series->definition);
    hora__blob_drop(series->payload);
    free(series);
}

hora__row_series *hora__series_by_id(const hora__memory *memory, int64_t id)
{
    const hora__row_series probe = {.id = id};
    hora__memory_tree_node *node = hora__memory_tree_from(&memory->series, &probe.by_id);
    return node != NULL && series_of(node)->id == id ? series_of(node) : NULL;
}

hora__row *hora__series_head(const hora__row_series *series)
{
    for (hora__row *row = series->rows; row != NULL; row = row->series_next) {
        if (row->key != NULL && !row->dead)
            return row;
    }
    return NULL;
}

/* ---- records ---- */

hora__memory_record *hora__record_new(hora__bytes note)
{
    hora__memory_record *record = calloc(1, sizeof *record);
    if (record == NULL)
        return NULL;
    record->references = 1;
    if (note.data == NULL)
        return record;
    record->note = hora__blob_new(note.data, note.size);
    if (record->note == NULL) {
        free(record);
        return NULL;
    }
    return record;
}

void hora__record_drop(hora__memory_record *record)
{
    if (record == NULL || --record->references > 0)
        return;
    hora__blob_drop(record->key);
    hora__blob_drop(record->note);
    free(record);
}

bool hora__records_reserve(hora__memory *memory, size_t count)
{
    if (memory->record_capacity - memory->record_count >= count)
        return true;
    size_t capacity = 2 * memory->record_capacity + count;
    hora__memory_record **records = realloc(memory->records, capacity * sizeof(records[0]));
    if (records == NULL)
        return false;
    memory->records = records;
    memory->record_capacity = capacity;
    return true;
}

void hora__record_add(hora__memory *memory, hora__memory_record *record, const hora__row *row,
                      hora_run_record contents)
{
    assert(memory->record_count < memory->record_capacity);
    /* A row that has been forked has given its key away, but its record is one of the task. */
    record->key = hora__blob_share(row->key == NULL && row->series != NULL ? row->series->key : row->key);
    contents.struct_size = (uint32_t)sizeof contents;
    contents.id = ++memory->last_record;
    contents.task_id = row->id;
    contents.handler = row->handler->name;
    contents.key = hora__blob_text(record->key);
    contents.fence = row->fence;
    contents.node = row->owner;
    contents.note = hora__blob_text(record->note);
    contents.note_size = record->note == NULL ? 0 : record->note->size;
    record->record = contents;
    memory->records[memory->record_count++] = record;
}

void hora__rows_free(hora__memory *memory)
{
    const hora__row first = {.id = 0};
    hora__tree *trees[] = {&memory->firings, &memory->dead};
    for (int i = 0; i < 2; i++) {
        hora__memory_tree_node *node;
        while ((node = hora__memory_tree_after(trees[i], &first.by_id)) != NULL)
            hora__row_delete(memory, HORA__ROW_OF(node, by_id));
    }
    for (size_t i = 0; i < memory->record_count; i++)
        hora__record_drop(memory->records[i]);
    free(memory->records);
    while (memory->handlers != NULL) {
        hora__memory_handler *handler = memory->handlers;
        memory->handlers = handler->next;
        free(handler);
    }
}
