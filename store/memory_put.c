/* SPDX-License-Identifier: Apache-2.0 */
/* memory_put.c - a store in memory: what clients do to tasks; see memory.h */
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <hora/future.h>

#include "reason.h"
#include "units.h"

/* ---- put ---- */

/* Fills *ret_blob with a copy, or NULL if there are no bytes. False: no memory. */
static bool copy_bytes(hora__bytes bytes, hora__blob **ret_blob)
{
    *ret_blob = bytes.data == NULL ? NULL : hora__blob_new(bytes.data, bytes.size);
    return bytes.data == NULL || *ret_blob != NULL;
}

static bool copy_text(const char *text, hora__blob **ret_blob)
{
    return copy_bytes((hora__bytes){text, text == NULL ? 0 : strlen(text)}, ret_blob);
}

/* Gives a new row a series of its own, which is not in the index yet. */
static bool draft_series(hora__row *row, const hora__put *put)
{
    hora__row_series *series = calloc(1, sizeof *series);
    if (series == NULL)
        return false;
    series->version = 1;
    series->key = hora__blob_share(row->key);
    hora__row_join_series(row, series);
    return copy_text(put->definition, &series->definition) && copy_bytes(put->payload, &series->payload);
}

/* Makes the row that a put asks for. It is in no index. NULL: no memory. */
static hora__row *draft_row(hora__memory *memory, const hora__put *put, int64_t now)
{
    assert(put->lane >= 0 && put->lane < HORA__LANES);
    hora__row *row = hora__row_new();
    if (row == NULL)
        return NULL;
    row->handler = hora__memory_intern(memory, put->handler);
    bool complete = row->handler != NULL && copy_text(put->key, &row->key);
    if (put->recurring)
        complete = complete && draft_series(row, put);
    else
        complete = complete && copy_text(put->definition, &row->definition) &&
                   copy_bytes(put->payload, &row->payload);
    if (!complete) {
        hora__row_free(memory, row);
        return NULL;
    }
    row->revision = put->revision;
    row->lane = put->lane;
    row->history = put->history;
    row->planned = put->after_now ? hora__sum(now, put->planned) : put->planned;
    row->due = put->after_now ? hora__sum(now, put->due) : put->due;
    if (row->due < now)
        row->due = now;
    return row;
}

/* Gives a series its id. */
static void link_series(hora__memory *memory, hora__row_series *series)
{
    if (series == NULL || series->id != 0)
        return;
    series->id = ++memory->last_series;
    hora__memory_tree_insert(&memory->series, &series->by_id, (uint64_t)series->id);
}

static bool blobs_equal(const hora__blob *a, const hora__blob *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static void swap_blobs(hora__blob **a, hora__blob **b)
{
    hora__blob *blob = *a;
    *a = *b;
    *b = blob;
}

/* Moves definition and payload of a draft into a row, which may become recurring or one-shot by that. The
 * series of a row that stays recurring is changed in place, because runs in progress refer to it, too. */
static void replace_contents(hora__memory *memory, hora__row *row, hora__row *draft)
{
    if (row->series != NULL && draft->series != NULL) {
        row->series->version++;
        swap_blobs(&row->series->definition, &draft->series->definition);
        swap_blobs(&row->series->payload, &draft->series->payload);
        return;
    }
    hora__row_leave_series(memory, row);
    if (draft->series != NULL) {
        hora__row_series *series = draft->series;
        hora__row_join_series(row, series);
        hora__row_leave_series(memory, draft);
        link_series(memory, series);
    }
    swap_blobs(&row->definition, &draft->definition);
    swap_blobs(&row->payload, &draft->payload);
}

static void replace_row(hora__memory *memory, hora__row *row, hora__row *draft, bool same_time)
{
    if (row->change_cancel || row->series == NULL || draft->series == NULL ||
        !blobs_equal(row->series->definition, draft->series->definition))
        same_time = false;
    hora__row_unlink(memory, row);
    replace_contents(memory, row, draft);
    row->handler = draft->handler;
    row->lane = draft->lane;
    row->history = draft->history;
    row->revision = draft->revision;
    row->change_cancel = false;
    if (!same_time) {
        row->firings = row->owner != 0 && !row->started ? HORA__UNCOUNTED : 0;
        row->gave_up = 0;
        if (row->owner != 0) {
            row->change_due = draft->due;
        } else {
            row->planned = draft->planned;
            row->due = draft->due;
            row->attempt = 0;
        }
    }
    hora__row_link(memory, row);
}

/* Carries out one put, which cannot fail. Takes the draft over. */
static hora__put_done put_row(hora__memory *memory, const hora__put *put, hora__row *draft, int64_t now)
{
    hora__row *row = put->key == NULL ? NULL : hora__row_by_key(memory, put->key);
    if (row == NULL) {
        link_series(memory, draft->series);
        hora__row_link(memory, draft);
        hora__memory_wake_for(memory, draft, now);
        return (hora__put_done){HORA_PUT_INSERTED, draft->id};
    }
    /* A task that was cancelled while it runs is gone for clients: the new one takes its row over. */
    bool replace = row->change_cancel || put->if_exists == HORA_IF_EXISTS_REPLACE ||
                   (put->if_exists == HORA_IF_EXISTS_UPGRADE && put->revision > row->revision);
    assert(replace || put->if_exists != HORA_IF_EXISTS_REFUSE);
    if (replace) {
        replace_row(memory, row, draft, put->same_time);
        hora__memory_wake_for(memory, row, now);
    }
    hora__row_free(memory, draft);
    return (hora__put_done){replace ? HORA_PUT_REPLACED : HORA_PUT_KEPT, row->id};
}

/* Returns the index of the first put that must be refused, or `count`. An earlier put of the batch leaves its
 * key in the store, whatever it does. */
static size_t find_refused(const hora__memory *memory, const hora__put *puts, hora__row *const *drafts,
                           size_t count)
{
    hora__tree earlier = {NULL, memory->keys.compare};
    for (size_t i = 0; i < count; i++) {
        if (puts[i].key == NULL)
            continue;
        hora__memory_tree_node *node = hora__memory_tree_from(&earlier, &drafts[i]->by_key);
        bool exists = node != NULL && strcmp(HORA__ROW_OF(node, by_key)->key->data, puts[i].key) == 0;
        if (!exists) {
            hora__memory_tree_insert(&earlier, &drafts[i]->by_key, i);
            const hora__row *row = hora__row_by_key(memory, puts[i].key);
            exists = row != NULL && !row->change_cancel;
        }
        if (exists && puts[i].if_exists == HORA_IF_EXISTS_REFUSE)
            return i;
    }
    return count;
}

/* Makes all drafts, or none. */
static int make_drafts(hora__memory *memory, const hora__put *puts, size_t count, int64_t now,
                       hora__row ***ret_drafts, hora_error *reason)
{
    hora__row **drafts = calloc(count > 0 ? count : 1, sizeof(drafts[0]));
    for (size_t i = 0; drafts != NULL && i < count; i++) {
        drafts[i] = draft_row(memory, &puts[i], now);
        if (drafts[i] != NULL)
            continue;
        while (i > 0)
            hora__row_free(memory, drafts[--i]);
        free(drafts);
        drafts = NULL;
    }
    if (drafts == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "no memory for %zu tasks", count);
    *ret_drafts = drafts;
    return 0;
}

static int put_locked(hora__memory *memory, const hora__put *puts, size_t count, hora__put_done *ret_done,
                      size_t *ret_wrong, hora_error *reason)
{
    int64_t now;
    hora__row **drafts = NULL;
    *ret_wrong = count;
    int result = hora__memory_now(memory, &now, reason);
    if (result == 0)
        result = make_drafts(memory, puts, count, now, &drafts, reason);
    if (result != 0)
        return result;
    size_t refused = find_refused(memory, puts, drafts, count);
    for (size_t i = 0; i < count; i++) {
        if (refused < count)
            hora__row_free(memory, drafts[i]);
        else
            ret_done[i] = put_row(memory, &puts[i], drafts[i], now);
    }
    free(drafts);
    if (refused == count)
        return 0;
    *ret_wrong = refused;
    return hora__store_refuse(reason, HORA_EEXIST, "key", "a task with the key \"%s\" exists already",
                              puts[refused].key);
}

int hora__memory_put(hora__backend *backend, const hora__put *puts, size_t count, hora__put_done *ret_done,
                     size_t *ret_wrong, hora_error *reason)
{
    hora__memory *memory = (hora__memory *)backend;
    pthread_mutex_lock(&memory->lock);
    int result = put_locked(memory, puts, count, ret_done, ret_wrong, reason);
    pthread_mutex_unlock(&memory->lock);
    return result;
}

/* ---- change ---- */

static int cancel_row(hora__memory *memory, hora__row *row)
{
    if (row->owner == 0) {
        hora__row_delete(memory, row);
        return HORA_CANCEL_REMOVED;
    }
    row->change_cancel = true;
    hora__memory_wake(memory, INT64_MIN);
    return HORA_CANCEL_RUNNING;
}

/* Cancels all firings of the task to which a row belongs. */
static int cancel_task(hora__memory *memory, hora__row *row)
{
    if (row->dead || row->series == NULL)
        return cancel_row(memory, row);
    int result = HORA_CANCEL_REMOVED;
    /* The series is freed with its last row, so only `next` may be used after a row was deleted. */
    for (hora__row *next = row->series->rows; (row = next) != NULL;) {
        next = row->series_next;
        if (!row->dead && cancel_row(memory, row) == HORA_CANCEL_RUNNING)
            result = HORA_CANCEL_RUNNING;
    }
    return result;
}

static int retime_row(hora__memory *memory, hora__row *row, int64_t due, int64_t now)
{
    due = due > now ? due : now;
    if (row->owner != 0) {
        row->change_due = due;
        return 0;
    }
    hora__row_unlink(memory, row);
    row->planned = row->due = due;
    row->attempt = 0;
    hora__row_link(memory, row);
    hora__memory_wake_for(memory, row, now);
    return 0;
}

/* Returns whether that has changed anything. */
static int pause_row(hora__memory *memory, hora__row *row, bool paused, int64_t now)
{
    if (row->paused == paused)
        return 0;
    hora__row_unlink(memory, row);
    row->paused = paused;
    if (row->owner == 0 && !paused && row->due < now)
        row->due = now;
    hora__row_link(memory, row);
    hora__memory_wake_for(memory, row, now);
    return 1;
}

static int revive_row(hora__memory *memory, hora__row *row, int64_t due, int64_t now, hora_error *reason)
{
    assert(row->dead);
    if (row->key != NULL && hora__row_by_key(memory, row->key->data) != NULL)
        return hora__store_refuse(reason, HORA_EEXIST, "key",
                                  "a task with the key \"%s\" has been put since task %lld died",
                                  row->key->data, (long long)row->id);
    hora__row_unlink(memory, row);
    row->dead = false;
    row->planned = row->due = due > now ? due : now;
    row->attempt = 0;
    row->gave_up = 0;
    hora__row_link(memory, row);
    hora__memory_wake_for(memory, row, now);
    return 0;
}

/* Finds the row that a change is about; NULL: none. */
static hora__row *find_row(hora__memory *memory, const hora__change *change)
{
    bool cancel = change->kind == HORA__CHANGE_CANCEL;
    hora__row *row = NULL, *dead;
    if (change->kind != HORA__CHANGE_REVIVE)
        row = change->key != NULL ? hora__row_by_key(memory, change->key)
                                  : hora__row_by_id(&memory->firings, change->id);
    if (row != NULL && !cancel && row->forked)
        row = row->series == NULL ? NULL : hora__series_head(row->series);
    if (row != NULL && !cancel && row->change_cancel)
        row = NULL;
    if (row != NULL || (!cancel && change->kind != HORA__CHANGE_REVIVE))
        return row;
    dead = change->key != NULL ? hora__row_dead_by_key(memory, change->key)
                               : hora__row_by_id(&memory->dead, change->id);
    return dead;
}

static int change_row(hora__memory *memory, hora__row *row, const hora__change *change, int64_t now,
                      hora_error *reason)
{
    switch (change->kind) {
    case HORA__CHANGE_CANCEL:
        return cancel_task(memory, row);
    case HORA__CHANGE_RETIME:
        return retime_row(memory, row, change->due, now);
    case HORA__CHANGE_PAUSE:
        return pause_row(memory, row, true, now);
    case HORA__CHANGE_RESUME:
        return pause_row(memory, row, false, now);
    case HORA__CHANGE_REVIVE:
        return revive_row(memory, row, change->due, now, reason);
    case HORA__CHANGE_STOP: /* hora__memory_stop */
        break;
    }
    return hora__store_refuse(reason, HORA_EINVAL, NULL, "%d is not a kind of change", (int)change->kind);
}

static int refuse_unknown(const hora__change *change, hora_error *reason)
{
    const char *what = change->kind == HORA__CHANGE_REVIVE ? "dead task" : "task";
    if (change->key != NULL)
        return hora__store_refuse(reason, HORA_ENOENT, "key", "there is no %s with the key \"%s\"", what,
                                  change->key);
    return hora__store_refuse(reason, HORA_ENOENT, "id", "there is no %s with the id %lld", what,
                              (long long)change->id);
}

int hora__memory_change(hora__backend *backend, const hora__change *change, hora_error *reason)
{
    hora__memory *memory = (hora__memory *)backend;
    pthread_mutex_lock(&memory->lock);
    int64_t now;
    int result = hora__memory_now(memory, &now, reason);
    bool stops = change->kind == HORA__CHANGE_STOP;
    hora__row *row = result < 0 || stops ? NULL : find_row(memory, change);
    if (result == 0 && stops)
        result = hora__memory_stop(memory, change, now, reason);
    else if (row != NULL)
        result = change_row(memory, row, change, now, reason);
    else if (result == 0)
        result = change->kind == HORA__CHANGE_CANCEL ? HORA_CANCEL_TOO_LATE : refuse_unknown(change, reason);
    pthread_mutex_unlock(&memory->lock);
    return result;
}
