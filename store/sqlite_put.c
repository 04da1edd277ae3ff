/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_put.c - a store in SQLite: put tasks, in a transaction of its own or of the caller
 *
 * Only one writer exists at a time, so a put looks for the key and then inserts or changes the row. In the
 * transaction of a caller, a savepoint makes the call happen as a whole or not at all. */
#include <assert.h>
#include <string.h>

#include "reason.h"
#include "sqlite.h"
#include "units.h"

/* One call of put. */
typedef struct put_batch {
    hora__connection *connection;
    int64_t now;
    int64_t next_id, next_series; /* of hora_meta; 0: not read */
    bool has_changed;
    int64_t earliest; /* due of what was put */
} put_batch;

static void read_meta(put_batch *batch)
{
    if (batch->has_changed)
        return;
    batch->has_changed = true;
    sqlite3_stmt *statement = hora__sqlite_use(batch->connection, HORA__SQL_META);
    if (!hora__sqlite_step(batch->connection, statement))
        return;
    batch->next_id = sqlite3_column_int64(statement, 0);
    batch->next_series = sqlite3_column_int64(statement, 1);
    hora__sqlite_reset(statement);
}

static void write_meta(const put_batch *batch)
{
    if (batch->has_changed)
        hora__sqlite_run2(batch->connection, HORA__SQL_SET_META, batch->next_id, batch->next_series);
}

static int64_t time_of(const put_batch *batch, const hora__put *put, int64_t time)
{
    return put->after_now ? hora__sum(batch->now, time) : time;
}

/* A time in the past is stored as now, so that claims need not look far back. */
static int64_t due_of(const put_batch *batch, const hora__put *put)
{
    int64_t due = time_of(batch, put, put->due);
    return due > batch->now ? due : batch->now;
}

static void note_due(put_batch *batch, int64_t due)
{
    if (due < batch->earliest)
        batch->earliest = due;
}

static int64_t insert_series(put_batch *batch, const hora__put *put)
{
    hora__connection *connection = batch->connection;
    int64_t id = batch->next_series++;
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_INSERT_SERIES);
    hora__sqlite_int(connection, statement, 1, id);
    hora__sqlite_text(connection, statement, 2, put->key);
    hora__sqlite_text(connection, statement, 3, put->definition);
    hora__sqlite_blob(connection, statement, 4, put->payload.data, put->payload.size);
    hora__sqlite_run(connection, statement);
    return id;
}

/* Definition and payload are in the series, if the task has one. */
static void bind_contents(hora__connection *connection, sqlite3_stmt *statement, int index,
                          const hora__put *put)
{
    hora__sqlite_text(connection, statement, index, put->recurring ? NULL : put->definition);
    hora__sqlite_blob(connection, statement, index + 1, put->recurring ? NULL : put->payload.data,
                      put->payload.size);
}

static int64_t insert(put_batch *batch, const hora__put *put)
{
    hora__connection *connection = batch->connection;
    read_meta(batch);
    int64_t id = batch->next_id++, due = due_of(batch, put);
    int64_t series = put->recurring ? insert_series(batch, put) : 0;
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_INSERT);
    hora__sqlite_int(connection, statement, 1, id);
    hora__sqlite_text(connection, statement, 2, put->handler);
    hora__sqlite_text(connection, statement, 3, put->key);
    hora__sqlite_int(connection, statement, 4, series);
    hora__sqlite_int(connection, statement, 5, put->lane);
    hora__sqlite_int(connection, statement, 6, time_of(batch, put, put->planned));
    hora__sqlite_int(connection, statement, 7, due);
    hora__sqlite_int(connection, statement, 8, put->history);
    hora__sqlite_int(connection, statement, 9, put->revision);
    bind_contents(connection, statement, 10, put);
    hora__sqlite_run(connection, statement);
    note_due(batch, due);
    return id;
}

/* ---- replace ---- */

/* Whether a series has the definition of a put. */
static bool has_definition(hora__connection *connection, int64_t series, const hora__put *put)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_SAME_SERIES);
    hora__sqlite_int(connection, statement, 1, series);
    hora__sqlite_text(connection, statement, 2, put->definition);
    return hora__sqlite_number(connection, statement, 0) != 0;
}

/* The series of the replaced task: changed in place if there is one, because runs in progress refer to it,
 * too. */
static int64_t replace_series(put_batch *batch, int64_t series, const hora__put *put)
{
    if (!put->recurring)
        return 0;
    if (series == 0)
        return insert_series(batch, put);
    hora__connection *connection = batch->connection;
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_CHANGE_SERIES);
    hora__sqlite_int(connection, statement, 1, series);
    hora__sqlite_text(connection, statement, 2, put->definition);
    hora__sqlite_blob(connection, statement, 3, put->payload.data, put->payload.size);
    hora__sqlite_run(connection, statement);
    return series;
}

static void replace_contents(put_batch *batch, const hora__sqlite_row *row, const hora__put *put)
{
    hora__connection *connection = batch->connection;
    int64_t series = replace_series(batch, row->series, put);
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_REPLACE);
    hora__sqlite_int(connection, statement, 1, row->id);
    hora__sqlite_text(connection, statement, 2, put->handler);
    hora__sqlite_int(connection, statement, 3, series);
    hora__sqlite_int(connection, statement, 4, put->lane);
    hora__sqlite_int(connection, statement, 5, put->history);
    hora__sqlite_int(connection, statement, 6, put->revision);
    bind_contents(connection, statement, 7, put);
    hora__sqlite_run(connection, statement);
    if (row->series != 0 && series == 0)
        hora__sqlite_run1(connection, HORA__SQL_FREE_SERIES, row->series);
}

static void replace(put_batch *batch, hora__sqlite_row *row, const hora__put *put)
{
    read_meta(batch);
    bool same = put->same_time && put->recurring && row->series != 0 && !row->change_cancel &&
                has_definition(batch->connection, row->series, put);
    replace_contents(batch, row, put);
    row->change_cancel = false;
    if (!same) {
        row->firings = row->owner != 0 && !row->started ? HORA__UNCOUNTED : 0;
        row->gave_up = 0;
        if (row->owner != 0) {
            row->change_due = due_of(batch, put);
        } else {
            row->planned = time_of(batch, put, put->planned);
            row->due = due_of(batch, put);
            row->attempt = 0;
        }
    }
    hora__sqlite_save_row(batch->connection, row);
    if (row->owner == 0 && !row->paused)
        note_due(batch, row->due);
}

/* ---- put ---- */

/* False if the key exists and the put does not allow that. */
static bool put_one(put_batch *batch, const hora__put *put, hora__put_done *ret_done)
{
    hora__sqlite_row row;
    if (put->key == NULL || !hora__sqlite_find_row(batch->connection, put->key, 0, &row)) {
        *ret_done = (hora__put_done){HORA_PUT_INSERTED, insert(batch, put)};
        return true;
    }
    /* A task that was cancelled while it runs is gone for clients: the new one takes its row over. */
    bool with = row.change_cancel || put->if_exists == HORA_IF_EXISTS_REPLACE ||
                (put->if_exists == HORA_IF_EXISTS_UPGRADE && put->revision > row.revision);
    if (!with && put->if_exists == HORA_IF_EXISTS_REFUSE)
        return false;
    if (with)
        replace(batch, &row, put);
    *ret_done = (hora__put_done){with ? HORA_PUT_REPLACED : HORA_PUT_KEPT, row.id};
    return true;
}

static int put_all(put_batch *batch, const hora__put *puts, size_t count, hora__put_done *ret_done,
                   size_t *ret_wrong, hora_error *reason)
{
    for (size_t i = 0; i < count && batch->connection->failed == SQLITE_OK; i++) {
        if (put_one(batch, &puts[i], &ret_done[i]))
            continue;
        *ret_wrong = i;
        return hora__store_refuse(reason, HORA_EEXIST, "key", "a task with the key \"%.200s\" exists already",
                                  puts[i].key);
    }
    write_meta(batch);
    return 0;
}

int hora__sqlite_put(hora__backend *backend, const hora__put *puts, size_t count, hora__put_done *ret_done,
                     size_t *ret_wrong, hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    *ret_wrong = count;
    pthread_mutex_lock(&store->lock);
    put_batch batch = {.connection = &store->common, .earliest = HORA__NEVER};
    int error = hora__sqlite_begin(&store->common, reason);
    if (error == 0) {
        batch.now = hora__sqlite_now(store);
        error = put_all(&batch, puts, count, ret_done, ret_wrong, reason);
        error = hora__sqlite_end(&store->common, error, "put a task", reason);
    }
    pthread_mutex_unlock(&store->lock);
    if (error == 0 && batch.earliest != HORA__NEVER)
        hora__sqlite_wake_nodes(store, batch.earliest);
    return error;
}

/* ---- in a transaction of the caller ---- */

static int check_joined(const hora__sqlite *store, sqlite3 *db, hora_error *reason)
{
    const char *path = sqlite3_db_filename(db, "main");
    if (path == NULL || strcmp(path, store->path) != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "connection",
                                  "connection is open on %.80s, and the store is %.80s",
                                  path == NULL || path[0] == '\0' ? "no file" : path, store->path);
    if (sqlite3_get_autocommit(db))
        return hora__store_refuse(reason, HORA_EINVAL, "connection", "connection is not in a transaction");
    return 0;
}

/* Leaves the savepoint. SQLite itself rolls the whole transaction back after some errors. */
static int leave_savepoint(hora__connection *connection, int error, hora_error *reason)
{
    if (error == 0 && connection->failed == SQLITE_OK)
        hora__sqlite_run(connection, hora__sqlite_use(connection, HORA__SQL_RELEASE));
    if (error == 0)
        error = hora__sqlite_result(connection, "put a task", reason);
    if (error < 0 && !sqlite3_get_autocommit(connection->db))
        sqlite3_exec(connection->db, "ROLLBACK TO hora_put; RELEASE hora_put", NULL, NULL, NULL);
    return error;
}

int hora__sqlite_put_joined(hora__backend *backend, void *connection, const hora__put *puts, size_t count,
                            hora__put_done *ret_done, size_t *ret_wrong, hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection joined = {.store = store, .db = connection};
    *ret_wrong = count;
    int error = check_joined(store, joined.db, reason);
    if (error < 0)
        return error;
    if (hora__sqlite_run(&joined, hora__sqlite_use(&joined, HORA__SQL_SAVEPOINT))) {
        put_batch batch = {.connection = &joined, .now = hora__sqlite_now(store), .earliest = HORA__NEVER};
        error = put_all(&batch, puts, count, ret_done, ret_wrong, reason);
        error = leave_savepoint(&joined, error, reason);
    } else {
        error = hora__sqlite_result(&joined, "put a task", reason);
    }
    for (int sql = 0; sql < HORA__SQL_COUNT; sql++)
        sqlite3_finalize(joined.statements[sql]);
    return error;
}
