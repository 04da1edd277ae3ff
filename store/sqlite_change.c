/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_change.c - a store in SQLite: cancel, retime, pause, resume, revive and stop */
#include <assert.h>

#include <hora/future.h>

#include "reason.h"
#include "sqlite.h"

/* A change and what it does. */
typedef struct edit {
    hora__connection *connection;
    const hora__change *wanted;
    int64_t now;
    int64_t wake; /* due of a firing that nodes should look for; HORA__NEVER: none */
} edit;

/* ---- cancel ---- */

static int cancel_row(edit *change, hora__sqlite_row *row)
{
    if (row->owner == 0) {
        hora__sqlite_delete_row(change->connection, row);
        return HORA_CANCEL_REMOVED;
    }
    row->change_cancel = true;
    hora__sqlite_save_row(change->connection, row);
    change->wake = INT64_MIN;
    return HORA_CANCEL_RUNNING;
}

/* The next row of a series; the rows are in the order of their ids. */
static bool next_of_series(hora__connection *connection, int64_t series, int64_t after,
                           hora__sqlite_row *ret_row)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_ROW_OF_SERIES);
    hora__sqlite_int(connection, statement, 1, series);
    hora__sqlite_int(connection, statement, 2, after);
    return hora__sqlite_read_row(connection, statement, ret_row);
}

/* Cancels all firings of the task to which a row belongs. */
static int cancel_task(edit *change, hora__sqlite_row *row)
{
    int64_t series = row->series;
    if (series == 0)
        return cancel_row(change, row);
    int result = HORA_CANCEL_REMOVED;
    for (int64_t id = 0; next_of_series(change->connection, series, id, row); id = row->id)
        if (cancel_row(change, row) == HORA_CANCEL_RUNNING)
            result = HORA_CANCEL_RUNNING;
    return result;
}

/* ---- dead tasks ---- */

/* Finds a dead task by key or id. Returns its id; 0: there is none. */
static int64_t find_dead(const edit *change, int64_t *ret_series)
{
    hora__connection *connection = change->connection;
    const hora__change *wanted = change->wanted;
    sqlite3_stmt *statement =
        hora__sqlite_use(connection, wanted->key != NULL ? HORA__SQL_DEAD_OF_KEY : HORA__SQL_DEAD_OF_ID);
    if (wanted->key != NULL)
        hora__sqlite_text(connection, statement, 1, wanted->key);
    else
        hora__sqlite_int(connection, statement, 1, wanted->id);
    if (!hora__sqlite_step(connection, statement))
        return 0;
    int64_t id = sqlite3_column_int64(statement, 0);
    *ret_series = sqlite3_column_int64(statement, 1);
    hora__sqlite_reset(statement);
    return id;
}

static int cancel_dead(const edit *change)
{
    int64_t series = 0, id = find_dead(change, &series);
    if (id == 0)
        return HORA_CANCEL_TOO_LATE;
    hora__sqlite_run1(change->connection, HORA__SQL_DELETE_DEAD, id);
    if (series != 0)
        hora__sqlite_run1(change->connection, HORA__SQL_FREE_SERIES, series);
    return HORA_CANCEL_REMOVED;
}

static int revive(edit *change, hora_error *reason)
{
    hora__connection *connection = change->connection;
    int64_t series = 0, id = find_dead(change, &series);
    if (id == 0)
        return HORA_ENOENT;
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_KEY_EXISTS);
    hora__sqlite_int(connection, statement, 1, id);
    if (hora__sqlite_number(connection, statement, 0) != 0)
        return hora__store_refuse(reason, HORA_EEXIST, "key",
                                  "a task with the key of task %lld has been put since that died",
                                  (long long)id);
    int64_t due = change->wanted->due > change->now ? change->wanted->due : change->now;
    hora__sqlite_run2(connection, HORA__SQL_REVIVE, id, due);
    hora__sqlite_run1(connection, HORA__SQL_DELETE_DEAD, id);
    change->wake = due;
    return 0;
}

/* ---- retime, pause, resume ---- */

static int retime(edit *change, hora__sqlite_row *row)
{
    int64_t due = change->wanted->due > change->now ? change->wanted->due : change->now;
    if (row->owner != 0) {
        row->change_due = due;
    } else {
        row->planned = row->due = due;
        row->attempt = 0;
        if (!row->paused)
            change->wake = due;
    }
    hora__sqlite_save_row(change->connection, row);
    return 0;
}

static int set_paused(edit *change, hora__sqlite_row *row, bool paused)
{
    if (row->paused == paused)
        return 0;
    row->paused = paused;
    if (row->owner == 0 && !paused) {
        row->due = row->due > change->now ? row->due : change->now;
        change->wake = row->due;
    }
    hora__sqlite_save_row(change->connection, row);
    return 1;
}

/* Finds the firing that stands for the task: that of the next firing, if the given one was forked. A task
 * that was cancelled while it runs is gone. */
static bool find_living(const edit *change, hora__sqlite_row *ret_row)
{
    hora__connection *connection = change->connection;
    if (!hora__sqlite_find_row(connection, change->wanted->key, change->wanted->id, ret_row))
        return false;
    if (change->wanted->kind == HORA__CHANGE_CANCEL)
        return true;
    if (ret_row->forked) {
        sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_HEAD_OF_SERIES);
        hora__sqlite_int(connection, statement, 1, ret_row->series);
        if (!hora__sqlite_read_row(connection, statement, ret_row))
            return false;
    }
    return !ret_row->change_cancel;
}

static int change_task(edit *change, hora_error *reason)
{
    hora__change_kind kind = change->wanted->kind;
    if (kind == HORA__CHANGE_REVIVE)
        return revive(change, reason);
    if (kind == HORA__CHANGE_STOP)
        return hora__sqlite_stop(change->connection, change->wanted, change->now);
    hora__sqlite_row row;
    if (!find_living(change, &row))
        return kind == HORA__CHANGE_CANCEL ? cancel_dead(change) : HORA_ENOENT;
    if (kind == HORA__CHANGE_CANCEL)
        return cancel_task(change, &row);
    if (kind == HORA__CHANGE_RETIME)
        return retime(change, &row);
    return set_paused(change, &row, kind == HORA__CHANGE_PAUSE);
}

static int refuse_unknown(const hora__change *wanted, hora_error *reason)
{
    const char *what = wanted->kind == HORA__CHANGE_REVIVE ? "dead task" : "task";
    if (wanted->key != NULL)
        return hora__store_refuse(reason, HORA_ENOENT, "key", "there is no %s with the key \"%.200s\"", what,
                                  wanted->key);
    return hora__store_refuse(reason, HORA_ENOENT, "id", "there is no %s with the id %lld", what,
                              (long long)wanted->id);
}

int hora__sqlite_change(hora__backend *backend, const hora__change *wanted, hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection *connection = &store->common;
    pthread_mutex_lock(&store->lock);
    edit change = {.connection = connection, .wanted = wanted, .wake = HORA__NEVER};
    int result = 0, error = hora__sqlite_begin(connection, reason);
    if (error == 0) {
        change.now = hora__sqlite_now(store);
        result = change_task(&change, reason);
        if (result == HORA_ENOENT && connection->failed == SQLITE_OK)
            refuse_unknown(wanted, reason);
        if (change.wake != HORA__NEVER)
            hora__sqlite_run1(connection, HORA__SQL_CHANGED, wanted->kind == HORA__CHANGE_CANCEL);
        /* What a failed statement made of the result does not count. */
        bool refused = result < 0 && connection->failed == SQLITE_OK;
        error = hora__sqlite_end(connection, refused ? result : 0, "change a task", reason);
    }
    pthread_mutex_unlock(&store->lock);
    if (error == 0 && change.wake != HORA__NEVER)
        hora__sqlite_wake_nodes(store, change.wake);
    return error < 0 ? error : result;
}
