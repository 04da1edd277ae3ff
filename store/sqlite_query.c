/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_query.c - a store in SQLite: list tasks, read the history, count
 *
 * Rows are read in portions and copied, and the function of the caller is called between two portions: no
 * lock and no read transaction is held while it runs. A portion ends after PORTION rows, or earlier if their
 * texts and payloads need much memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "reason.h"
#include "sqlite.h"
#include "units.h"

enum { PORTION = 500, PORTION_BYTES = 4 * 1024 * 1024 };

/* A portion of rows: the numbers and texts of each one in the order of the columns. */
typedef struct rows {
    int columns, count;
    bool is_last; /* there are no more rows */
    char *memory; /* of texts and blobs */
    size_t used, size;
    struct cell {
        bool is_null;
        int64_t number;       /* if it is one */
        size_t offset, bytes; /* in `memory`, with a NUL after it */
    } *cells;
} rows;

/* ---- portions ---- */

static void portion_free(rows *portion)
{
    free(portion->memory);
    free(portion->cells);
    *portion = (rows){.count = 0};
}

static bool portion_copy(rows *portion, struct cell *cell, const void *data, size_t bytes)
{
    if (portion->size - portion->used < bytes + 1) {
        size_t size = 2 * portion->size + bytes + 4096;
        char *memory = realloc(portion->memory, size);
        if (memory == NULL)
            return false;
        portion->memory = memory;
        portion->size = size;
    }
    cell->offset = portion->used;
    cell->bytes = bytes;
    if (bytes > 0)
        memcpy(portion->memory + portion->used, data, bytes);
    portion->memory[portion->used + bytes] = '\0';
    portion->used += bytes + 1;
    return true;
}

static struct cell *row_cells(const rows *portion, int row)
{
    return portion->cells + (size_t)row * (size_t)portion->columns;
}

static bool portion_add(rows *portion, sqlite3_stmt *statement)
{
    struct cell *cells = row_cells(portion, portion->count);
    for (int column = 0; column < portion->columns; column++) {
        struct cell *cell = &cells[column];
        int type = sqlite3_column_type(statement, column);
        *cell = (struct cell){.is_null = type == SQLITE_NULL};
        if (type == SQLITE_INTEGER) {
            cell->number = sqlite3_column_int64(statement, column);
        } else if (type != SQLITE_NULL) {
            const void *data = type == SQLITE_BLOB ? sqlite3_column_blob(statement, column)
                                                   : sqlite3_column_text(statement, column);
            size_t bytes = (size_t)sqlite3_column_bytes(statement, column);
            if ((data == NULL && bytes > 0) || !portion_copy(portion, cell, data, bytes))
                return false;
        }
    }
    portion->count++;
    return true;
}

/* Reads the rows of a statement until the portion is full. HORA_ENOMEM, or an error of the database. */
static int portion_read(rows *portion, hora__connection *connection, sqlite3_stmt *statement,
                        const char *what, hora_error *reason)
{
    portion->count = 0;
    portion->used = 0;
    portion->is_last = false;
    bool has_memory = true;
    if (statement != NULL && portion->cells == NULL) {
        portion->columns = sqlite3_column_count(statement);
        portion->cells = calloc((size_t)PORTION * (size_t)portion->columns, sizeof *portion->cells);
        has_memory = portion->cells != NULL;
    }
    while (has_memory && portion->count < PORTION && portion->used < PORTION_BYTES) {
        if (!hora__sqlite_step(connection, statement)) {
            portion->is_last = true;
            break;
        }
        has_memory = portion_add(portion, statement);
    }
    if (statement != NULL)
        hora__sqlite_reset(statement);
    if (!has_memory)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    return hora__sqlite_result(connection, what, reason);
}

static int64_t number(const rows *portion, const struct cell *cells, int column)
{
    assert(column < portion->columns);
    (void)portion;
    return cells[column].number;
}

static const char *text(const rows *portion, const struct cell *cells, int column)
{
    return cells[column].is_null ? NULL : portion->memory + cells[column].offset;
}

static hora_instant instant(const rows *portion, const struct cell *cells, int column)
{
    return hora__instant_of_us(number(portion, cells, column));
}

/* ---- tasks ---- */

/* The columns of HORA__SELECT_FIRINGS and HORA__SELECT_DEAD. */
static hora_durable_info info_of(const rows *portion, const struct cell *cells)
{
    return (hora_durable_info){
        .struct_size = (uint32_t)sizeof(hora_durable_info),
        .id = number(portion, cells, 0),
        .handler = text(portion, cells, 1),
        .key = text(portion, cells, 2),
        .state = (hora_durable_state)number(portion, cells, 3),
        .recurring = number(portion, cells, 4) != 0,
        .revision = number(portion, cells, 5),
        .planned = instant(portion, cells, 6),
        .due = instant(portion, cells, 7),
        .attempts = (int)number(portion, cells, 8),
        .fence = number(portion, cells, 9),
        .node = number(portion, cells, 10),
        .firings = number(portion, cells, 11) > 0 ? number(portion, cells, 11) : 0,
        .failures_in_a_row = number(portion, cells, 12),
        .last_end = instant(portion, cells, 13),
        .last_code = (int)number(portion, cells, 14),
        .last_success = instant(portion, cells, 15),
        .priority = (hora_priority)(HORA_PRIORITY_URGENT - number(portion, cells, 16)),
        .payload = text(portion, cells, 18),
        .payload_size = cells[18].bytes,
    };
}

static void bind_filter(hora__connection *connection, sqlite3_stmt *statement,
                        const hora_durable_filter *filter, int64_t after_id, int64_t limit)
{
    size_t prefix = filter->key_prefix != NULL ? strlen(filter->key_prefix) : 0;
    hora__sqlite_text(connection, statement, 1, filter->key);
    if (filter->key_prefix != NULL)
        hora__sqlite_int(connection, statement, 2, (int64_t)prefix);
    else
        hora__sqlite_blob(connection, statement, 2, NULL, 0);
    hora__sqlite_blob(connection, statement, 3, filter->key_prefix, prefix);
    hora__sqlite_text(connection, statement, 4, filter->handler);
    hora__sqlite_int(connection, statement, 5, filter->state);
    hora__sqlite_int(connection, statement, 6, after_id);
    hora__sqlite_int(connection, statement, 7, limit);
}

static int read_tasks(hora__sqlite *store, const hora_durable_filter *filter, int64_t after_id, int64_t limit,
                      rows *portion, hora_error *reason)
{
    hora__connection *connection = &store->common;
    hora__sql sql = filter->state == HORA_DURABLE_DEAD ? HORA__SQL_LIST_DEAD
                    : filter->key != NULL              ? HORA__SQL_LIST_KEY
                                                       : HORA__SQL_LIST;
    pthread_mutex_lock(&store->lock);
    int error = hora__sqlite_start(connection, reason);
    if (error == 0) {
        sqlite3_stmt *statement = hora__sqlite_use(connection, sql);
        bind_filter(connection, statement, filter, after_id, limit);
        error = portion_read(portion, connection, statement, "list the tasks", reason);
    }
    pthread_mutex_unlock(&store->lock);
    return error;
}

int hora__sqlite_list(hora__backend *backend, const hora_durable_filter *filter, hora__info_fn fn, void *arg,
                      hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    rows portion = {.count = 0};
    int64_t after_id = filter->after_id, left = filter->limit > 0 ? filter->limit : INT64_MAX;
    int result = 0;
    for (bool more = true; more && left > 0 && result == 0;) {
        result = read_tasks(store, filter, after_id, left, &portion, reason);
        more = result == 0 && !portion.is_last;
        for (int i = 0; i < portion.count && result == 0; i++) {
            const struct cell *cells = row_cells(&portion, i);
            hora_durable_info info = info_of(&portion, cells);
            after_id = info.id;
            left--;
            result = fn(&info, text(&portion, cells, 17), arg);
        }
    }
    portion_free(&portion);
    return result;
}

/* ---- history ---- */

/* The columns of HORA__SELECT_RECORDS. */
static hora_run_record record_of(const rows *portion, const struct cell *cells)
{
    return (hora_run_record){
        .struct_size = (uint32_t)sizeof(hora_run_record),
        .id = number(portion, cells, 0),
        .task_id = number(portion, cells, 1),
        .handler = text(portion, cells, 2),
        .key = text(portion, cells, 3),
        .outcome = (hora_run_outcome)number(portion, cells, 4),
        .code = (int)number(portion, cells, 5),
        .planned = instant(portion, cells, 6),
        .started = instant(portion, cells, 7),
        .ended = instant(portion, cells, 8),
        .attempt = (int)number(portion, cells, 9),
        .fence = number(portion, cells, 10),
        .node = number(portion, cells, 11),
        .note = text(portion, cells, 12),
        .note_size = cells[12].bytes,
        .skipped = number(portion, cells, 13),
    };
}

static int read_records(hora__sqlite *store, const hora_history_filter *filter, int64_t before_id,
                        int64_t limit, rows *portion, hora_error *reason)
{
    hora__connection *connection = &store->common;
    int64_t since = filter->since.ns == 0 ? INT64_MIN : hora__us_ceil(filter->since);
    pthread_mutex_lock(&store->lock);
    int error = hora__sqlite_start(connection, reason);
    if (error == 0) {
        sqlite3_stmt *statement =
            hora__sqlite_use(connection, filter->key != NULL ? HORA__SQL_RECORDS_KEY : HORA__SQL_RECORDS);
        hora__sqlite_text(connection, statement, 1, filter->key);
        hora__sqlite_int(connection, statement, 2, filter->outcome);
        hora__sqlite_int(connection, statement, 3, filter->failed);
        hora__sqlite_int(connection, statement, 4, since);
        hora__sqlite_int(connection, statement, 5, before_id);
        hora__sqlite_int(connection, statement, 6, limit);
        error = portion_read(portion, connection, statement, "read the history", reason);
    }
    pthread_mutex_unlock(&store->lock);
    return error;
}

int hora__sqlite_history(hora__backend *backend, const hora_history_filter *filter, hora_run_record_fn fn,
                         void *arg, hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    rows portion = {.count = 0};
    int64_t before_id = filter->before_id != 0 ? filter->before_id : INT64_MAX;
    int64_t left = filter->limit > 0 ? filter->limit : INT64_MAX;
    int result = 0;
    for (bool more = true; more && left > 0 && result == 0;) {
        result = read_records(store, filter, before_id, left, &portion, reason);
        more = result == 0 && !portion.is_last;
        for (int i = 0; i < portion.count && result == 0; i++) {
            hora_run_record record = record_of(&portion, row_cells(&portion, i));
            before_id = record.id;
            left--;
            result = fn(&record, arg);
        }
    }
    portion_free(&portion);
    return result;
}

int hora__sqlite_trim(hora__backend *backend, int64_t before_us, int64_t *ret_deleted, hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection *connection = &store->common;
    int64_t deleted = 0;
    pthread_mutex_lock(&store->lock);
    int error = hora__sqlite_begin(connection, reason);
    if (error == 0) {
        if (hora__sqlite_run1(connection, HORA__SQL_TRIM, before_us))
            deleted = sqlite3_changes64(connection->db);
        error = hora__sqlite_end(connection, 0, "delete records", reason);
    }
    pthread_mutex_unlock(&store->lock);
    if (error == 0)
        *ret_deleted = deleted;
    return error;
}

/* ---- numbers ---- */

static int64_t count(hora__connection *connection, hora__sql sql)
{
    return hora__sqlite_number(connection, hora__sqlite_use(connection, sql), 0);
}

static int64_t count_until(hora__connection *connection, hora__sql sql, int64_t time)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, sql);
    hora__sqlite_int(connection, statement, 1, time);
    return hora__sqlite_number(connection, statement, 0);
}

static int64_t next_due(hora__connection *connection)
{
    int64_t earliest = HORA__NEVER;
    for (int lane = 0; lane < HORA__LANES; lane++) {
        sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_NEXT_DUE);
        hora__sqlite_int(connection, statement, 1, lane);
        hora__sqlite_int(connection, statement, 2, INT64_MIN);
        int64_t due = hora__sqlite_number(connection, statement, HORA__NEVER);
        earliest = due < earliest ? due : earliest;
    }
    return earliest;
}

/* All numbers are of one moment: the statements are in one read transaction. */
static int count_all(hora__sqlite *store, hora_store_stats *stats, hora_error *reason)
{
    hora__connection *connection = &store->common;
    int error = hora__sqlite_start(connection, reason);
    if (error < 0)
        return error;
    hora__sqlite_execute(connection, "BEGIN");
    int64_t now = hora__sqlite_now(store);
    stats->now = hora__instant_of_us(now);
    stats->waiting = count(connection, HORA__SQL_COUNT_WAITING);
    stats->claimed = count(connection, HORA__SQL_COUNT_CLAIMED);
    stats->paused = count(connection, HORA__SQL_COUNT_PAUSED);
    stats->dead = count(connection, HORA__SQL_COUNT_DEAD);
    stats->overdue = count_until(connection, HORA__SQL_COUNT_OVERDUE, now);
    stats->nodes = count_until(connection, HORA__SQL_COUNT_NODES, now);
    stats->next_due = stats->waiting > 0 ? hora__instant_of_us(next_due(connection)) : (hora_instant){0};
    hora__sqlite_execute(connection, "COMMIT");
    if (!sqlite3_get_autocommit(connection->db))
        sqlite3_exec(connection->db, "ROLLBACK", NULL, NULL, NULL);
    return hora__sqlite_result(connection, "count the tasks", reason);
}

int hora__sqlite_stats(hora__backend *backend, hora_store_stats *ret_stats, hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    pthread_mutex_lock(&store->lock);
    int error = count_all(store, &stats, reason);
    pthread_mutex_unlock(&store->lock);
    if (error == 0)
        *ret_stats = stats;
    return error;
}
