/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_row.c - one firing in SQLite: read, write, end its claim
 *
 * All functions are called inside a transaction. A failure of a statement is in `failed` of the connection,
 * and the transaction is rolled back. */
#include <assert.h>
#include <string.h>

#include "sqlite.h"

static void take_columns(sqlite3_stmt *statement, hora__sqlite_row *row)
{
    int column = 0;
    row->id = sqlite3_column_int64(statement, column++);
    row->series = sqlite3_column_int64(statement, column++);
    row->lane = sqlite3_column_int64(statement, column++);
    row->planned = sqlite3_column_int64(statement, column++);
    row->due = sqlite3_column_int64(statement, column++);
    row->owner = sqlite3_column_int64(statement, column++);
    row->fence = sqlite3_column_int64(statement, column++);
    row->attempt = sqlite3_column_int64(statement, column++);
    row->firings = sqlite3_column_int64(statement, column++);
    row->gave_up = sqlite3_column_int64(statement, column++);
    row->last_end = sqlite3_column_int64(statement, column++);
    row->last_code = sqlite3_column_int64(statement, column++);
    row->last_success = sqlite3_column_int64(statement, column++);
    row->paused = sqlite3_column_int64(statement, column++) != 0;
    row->started = sqlite3_column_int64(statement, column++) != 0;
    row->forked = sqlite3_column_int64(statement, column++) != 0;
    row->ran_planned = sqlite3_column_int64(statement, column++);
    bool changed = sqlite3_column_type(statement, column) != SQLITE_NULL;
    row->change_due = changed ? sqlite3_column_int64(statement, column) : HORA__UNCHANGED;
    column++;
    row->change_cancel = sqlite3_column_int64(statement, column++) != 0;
    row->history = sqlite3_column_int64(statement, column++) != 0;
    row->revision = sqlite3_column_int64(statement, column++);
    assert(column == sqlite3_column_count(statement));
}

bool hora__sqlite_read_row(hora__connection *connection, sqlite3_stmt *statement, hora__sqlite_row *ret_row)
{
    if (!hora__sqlite_step(connection, statement))
        return false;
    take_columns(statement, ret_row);
    hora__sqlite_reset(statement);
    return true;
}

bool hora__sqlite_find_row(hora__connection *connection, const char *key, int64_t id,
                           hora__sqlite_row *ret_row)
{
    sqlite3_stmt *statement =
        hora__sqlite_use(connection, key != NULL ? HORA__SQL_ROW_OF_KEY : HORA__SQL_ROW);
    if (key != NULL)
        hora__sqlite_text(connection, statement, 1, key);
    else
        hora__sqlite_int(connection, statement, 1, id);
    return hora__sqlite_read_row(connection, statement, ret_row);
}

void hora__sqlite_save_row(hora__connection *connection, const hora__sqlite_row *row)
{
    const int64_t numbers[] = {
        row->id,      row->planned, row->due,      row->owner,       row->attempt,
        row->firings, row->gave_up, row->last_end, row->last_code,   row->last_success,
        row->paused,  row->started, row->forked,   row->ran_planned,
    };
    enum { COUNT = sizeof numbers / sizeof *numbers };
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_SAVE);
    for (int i = 0; i < COUNT; i++)
        hora__sqlite_int(connection, statement, i + 1, numbers[i]);
    if (row->change_due == HORA__UNCHANGED)
        hora__sqlite_blob(connection, statement, COUNT + 1, NULL, 0);
    else
        hora__sqlite_int(connection, statement, COUNT + 1, row->change_due);
    hora__sqlite_int(connection, statement, COUNT + 2, row->change_cancel);
    hora__sqlite_run(connection, statement);
}

void hora__sqlite_delete_row(hora__connection *connection, const hora__sqlite_row *row)
{
    hora__sqlite_run1(connection, HORA__SQL_DELETE, row->id);
    if (row->series != 0)
        hora__sqlite_run1(connection, HORA__SQL_FREE_SERIES, row->series);
}

void hora__sqlite_end_claim(hora__connection *connection, hora__sqlite_row *row, bool gone, int64_t now)
{
    assert(row->owner != 0);
    if (row->change_cancel || (gone && row->change_due == HORA__UNCHANGED)) {
        hora__sqlite_delete_row(connection, row);
        return;
    }
    if (row->change_due != HORA__UNCHANGED) {
        /* Not before now: the times after it would be those that have run. */
        row->planned = row->due = row->change_due > now ? row->change_due : now;
        row->attempt = 0;
        row->change_due = HORA__UNCHANGED;
    }
    /* A claim need not look far back for rows that are late. */
    if (row->due < now)
        row->due = now;
    row->owner = 0;
    row->started = false;
    row->firings = row->firings > 0 ? row->firings : 0;
    hora__sqlite_save_row(connection, row);
}

void hora__sqlite_release_row(hora__connection *connection, hora__sqlite_row *row, int64_t now)
{
    bool ends = hora__release_deletes(row->started, row->forked, row->series != 0);
    hora__sqlite_end_claim(connection, row, ends, now);
}

void hora__sqlite_bury_row(hora__connection *connection, const hora__sqlite_row *row)
{
    hora__sqlite_save_row(connection, row);
    hora__sqlite_run1(connection, HORA__SQL_BURY, row->id);
    hora__sqlite_delete_row(connection, row);
}

int64_t hora__sqlite_take_id(hora__connection *connection)
{
    return hora__sqlite_number(connection, hora__sqlite_use(connection, HORA__SQL_TAKE_ID), 0);
}
