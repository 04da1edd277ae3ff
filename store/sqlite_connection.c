/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_connection.c - connections, statements, transactions, and the order of writers
 *
 * A statement that runs longer than the statement timeout is interrupted by the progress handler, and one
 * that waits longer for the lock of another process gives up (the busy handler).
 *
 * After an error of the disk a connection is closed and opened again before its next use: the error may have
 * left it with a state of the file that is no longer true. So it is if the file has left its path: what
 * is written into a deleted file is lost, and another process that opens the path has another store. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reason.h"
#include "sqlite.h"
#include "step.h"

enum {
    PROGRESS_STEPS = 20000, /* instructions of SQLite between two looks at the clock: about a millisecond */
    BUSY_NS = 100 * 1000,   /* first pause while another process writes */
    BUSY_MAX_NS = 5000000,  /* longest pause */
    BUSY_SHIFTS = 6,        /* how often the pause doubles */
    MAX_WAL = 64 * 1024 * 1024,
};

static const char *const texts[HORA__SQL_COUNT] = {
#define TEXT(name, text) [HORA__SQL_##name] = (text),
    HORA__SQL_TABLE(TEXT)
#undef TEXT
};

int64_t hora__sqlite_now(const hora__sqlite *store)
{
    hora_instant instant;
    int error = hora_clock_instant(store->base.options.clock, &instant);
    assert(error == 0); /* hora_store_open has checked that it is a wall clock */
    (void)error;
    return instant.ns / 1000 - (instant.ns % 1000 < 0);
}

/* ---- opening ---- */

static bool is_late(hora__connection *connection)
{
    if (connection->deadline != 0 && hora_clock_now(NULL) >= connection->deadline)
        connection->late = true;
    return connection->late;
}

static int on_progress(void *arg)
{
    return is_late(arg);
}

static int on_busy(void *arg, int count)
{
    if (is_late(arg))
        return 0;
    long pause = count < BUSY_SHIFTS ? (long)BUSY_NS << count : BUSY_MAX_NS;
    nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    return 1;
}

static void set_deadline(hora__connection *connection)
{
    connection->deadline = hora_clock_now(NULL) + connection->store->base.options.statement_timeout;
    connection->late = false;
}

static bool configure(hora__connection *connection)
{
    const hora__sqlite *store = connection->store;
    sqlite3_extended_result_codes(connection->db, 1);
    sqlite3_busy_handler(connection->db, on_busy, connection);
    sqlite3_progress_handler(connection->db, PROGRESS_STEPS, on_progress, connection);
    char limit[64];
    (void)snprintf(limit, sizeof limit, "PRAGMA journal_size_limit = %d", MAX_WAL);
    /* A commit syncs the write-ahead log with FULL, and only a checkpoint does with NORMAL. */
    return hora__sqlite_execute(connection, store->base.options.relaxed_sync ? "PRAGMA synchronous = NORMAL"
                                                                             : "PRAGMA synchronous = FULL") &&
           hora__sqlite_execute(connection, "PRAGMA cell_size_check = ON") &&
           hora__sqlite_execute(connection, "PRAGMA cache_size = -16000") &&
           hora__sqlite_execute(connection, limit);
}

/* If a file cannot be created, SQLite tries to open it for reading, and says that it does not exist. */
static bool folder_exists(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : NULL;
    bool exists = folder != NULL && access(folder, F_OK) == 0;
    free(folder);
    return exists;
}

int hora__sqlite_connect(hora__sqlite *store, bool create, hora__connection *connection, hora_error *reason)
{
    *connection = (hora__connection){.store = store};
    set_deadline(connection);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    int code = sqlite3_open_v2(store->path, &connection->db, flags, NULL);
    if (connection->db == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    sqlite3_extended_result_codes(connection->db, 1);
    if (hora__sqlite_check(connection, code == SQLITE_OK ? code : sqlite3_extended_errcode(connection->db)) &&
        configure(connection)) {
        connection->deadline = 0;
        return 0;
    }
    int error = hora__sqlite_result(connection, "open the database", reason);
    if (error == HORA_ENOENT && create && folder_exists(store->path))
        error = hora__store_refuse(reason, HORA_EACCES, NULL, "%.120s: no permission to create the file",
                                   store->path);
    hora__sqlite_disconnect(connection);
    return error;
}

void hora__sqlite_disconnect(hora__connection *connection)
{
    for (int sql = 0; sql < HORA__SQL_COUNT; sql++)
        sqlite3_finalize(connection->statements[sql]);
    /* A handler may have left statements behind; then the connection lives until they are finalized. */
    sqlite3_close_v2(connection->db);
    hora__sqlite *store = connection->store;
    *connection = (hora__connection){.store = store, .reopen = true};
}

static int refuse_moved(const hora__connection *connection, hora_error *reason)
{
    return hora__store_refuse(reason, HORA_EIO, NULL, "%.120s: the file was moved, deleted or replaced",
                              connection->store->path);
}

/* SQLite itself looks only when it opens a file. */
static bool has_moved(const hora__connection *connection)
{
    int moved = 0;
    return sqlite3_file_control(connection->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved != 0;
}

int hora__sqlite_start(hora__connection *connection, hora_error *reason)
{
    if (connection->reopen) {
        hora__connection opened;
        int error = hora__sqlite_connect(connection->store, false, &opened, reason);
        if (error == HORA_ENOENT)
            return refuse_moved(connection, reason);
        if (error < 0)
            return error;
        hora__sqlite_disconnect(connection);
        *connection = opened;
        sqlite3_busy_handler(connection->db, on_busy, connection);
        sqlite3_progress_handler(connection->db, PROGRESS_STEPS, on_progress, connection);
    }
    connection->failed = SQLITE_OK;
    set_deadline(connection);
    return 0;
}

/* ---- statements ---- */

bool hora__sqlite_check(hora__connection *connection, int code)
{
    if (connection->failed != SQLITE_OK)
        return false;
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE)
        return true;
    connection->failed = code;
    connection->failed_errno = sqlite3_system_errno(connection->db);
    (void)snprintf(connection->message, sizeof connection->message, "%s", sqlite3_errmsg(connection->db));
    switch (code & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        connection->reopen = true;
        break;
    default:
        break;
    }
    return false;
}

sqlite3_stmt *hora__sqlite_use(hora__connection *connection, hora__sql sql)
{
    assert(sql < HORA__SQL_COUNT);
    if (connection->failed != SQLITE_OK)
        return NULL;
    sqlite3_stmt **statement = &connection->statements[sql];
    if (*statement == NULL)
        hora__sqlite_check(connection, sqlite3_prepare_v3(connection->db, texts[sql], -1,
                                                          SQLITE_PREPARE_PERSISTENT, statement, NULL));
    return *statement;
}

void hora__sqlite_int(hora__connection *connection, sqlite3_stmt *statement, int index, int64_t value)
{
    if (statement != NULL)
        hora__sqlite_check(connection, sqlite3_bind_int64(statement, index, value));
}

void hora__sqlite_text(hora__connection *connection, sqlite3_stmt *statement, int index, const char *text)
{
    if (statement != NULL)
        hora__sqlite_check(connection, sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC));
}

void hora__sqlite_blob(hora__connection *connection, sqlite3_stmt *statement, int index, const void *data,
                       size_t size)
{
    if (statement == NULL)
        return;
    int code = data == NULL ? sqlite3_bind_null(statement, index)
                            : sqlite3_bind_blob64(statement, index, data, size, SQLITE_STATIC);
    hora__sqlite_check(connection, code);
}

void hora__sqlite_reset(sqlite3_stmt *statement)
{
    sqlite3_reset(statement); /* what it returns has been seen by sqlite3_step */
}

bool hora__sqlite_step(hora__connection *connection, sqlite3_stmt *statement)
{
    if (statement == NULL)
        return false;
    int code = connection->failed == SQLITE_OK ? sqlite3_step(statement) : SQLITE_DONE;
    if (code == SQLITE_ROW)
        return true;
    hora__sqlite_check(connection, code);
    hora__sqlite_reset(statement);
    return false;
}

bool hora__sqlite_run(hora__connection *connection, sqlite3_stmt *statement)
{
    if (hora__sqlite_step(connection, statement))
        hora__sqlite_reset(statement);
    HORA__STEP("sqlite: after a statement");
    return connection->failed == SQLITE_OK;
}

bool hora__sqlite_run1(hora__connection *connection, hora__sql sql, int64_t first)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, sql);
    hora__sqlite_int(connection, statement, 1, first);
    return hora__sqlite_run(connection, statement);
}

bool hora__sqlite_run2(hora__connection *connection, hora__sql sql, int64_t first, int64_t second)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, sql);
    hora__sqlite_int(connection, statement, 1, first);
    hora__sqlite_int(connection, statement, 2, second);
    return hora__sqlite_run(connection, statement);
}

int64_t hora__sqlite_number(hora__connection *connection, sqlite3_stmt *statement, int64_t otherwise)
{
    if (!hora__sqlite_step(connection, statement))
        return otherwise;
    if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
        otherwise = sqlite3_column_int64(statement, 0);
    hora__sqlite_reset(statement);
    return otherwise;
}

bool hora__sqlite_execute(hora__connection *connection, const char *sql)
{
    if (connection->failed == SQLITE_OK)
        hora__sqlite_check(connection, sqlite3_exec(connection->db, sql, NULL, NULL, NULL));
    return connection->failed == SQLITE_OK;
}

/* ---- turns ---- */

static void deadline_of(hora_ns timeout, struct timespec *ret_time)
{
    clock_gettime(CLOCK_MONOTONIC, ret_time);
    hora_ns nsec = ret_time->tv_nsec + timeout;
    ret_time->tv_sec += (time_t)(nsec / HORA_SECONDS(1));
    ret_time->tv_nsec = (long)(nsec % HORA_SECONDS(1));
}

static int new_writer(hora__writer *writer)
{
    *writer = (hora__writer){.has_turn = false};
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return HORA_EAGAIN;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int error = pthread_cond_init(&writer->turn, &attributes);
    pthread_condattr_destroy(&attributes);
    return error == 0 ? 0 : HORA_EAGAIN;
}

/* Takes a writer that has given up out of the queue. Requires turn_lock. */
static void forget_writer(hora__sqlite *store, const hora__writer *writer)
{
    hora__writer **link = &store->first_writer;
    while (*link != writer)
        link = &(*link)->next;
    *link = writer->next;
    if (store->last_writer == &writer->next)
        store->last_writer = link;
}

/* Waits until the writer before this one has passed the turn on. Requires turn_lock. */
static int wait_for_turn(hora__sqlite *store, hora__writer *writer)
{
    struct timespec until;
    deadline_of(store->base.options.statement_timeout, &until);
    *store->last_writer = writer;
    store->last_writer = &writer->next;
    int error = 0;
    while (!writer->has_turn && error == 0)
        error = pthread_cond_timedwait(&writer->turn, &store->turn_lock, &until);
    if (writer->has_turn)
        return 0;
    forget_writer(store, writer);
    return HORA_EBUSY;
}

int hora__sqlite_take_turn(hora__sqlite *store, hora_error *reason)
{
    int error = 0;
    pthread_mutex_lock(&store->turn_lock);
    if (!store->writing) {
        store->writing = true;
    } else {
        hora__writer writer;
        error = new_writer(&writer);
        if (error == 0) {
            error = wait_for_turn(store, &writer);
            pthread_cond_destroy(&writer.turn);
        }
    }
    pthread_mutex_unlock(&store->turn_lock);
    if (error < 0)
        return hora__store_refuse(reason, error, NULL, "%.120s: cannot write: %s", store->path,
                                  error == HORA_EBUSY ? "another thread has written for too long"
                                                      : "a system limit was reached");
    return 0;
}

void hora__sqlite_give_turn(hora__sqlite *store)
{
    pthread_mutex_lock(&store->turn_lock);
    assert(store->writing);
    hora__writer *writer = store->first_writer;
    if (writer != NULL) {
        store->first_writer = writer->next;
        if (store->first_writer == NULL)
            store->last_writer = &store->first_writer;
        writer->has_turn = true;
        pthread_cond_signal(&writer->turn);
    } else {
        store->writing = false;
    }
    pthread_mutex_unlock(&store->turn_lock);
}

/* ---- transactions ---- */

int hora__sqlite_begin(hora__connection *connection, hora_error *reason)
{
    int error = hora__sqlite_take_turn(connection->store, reason);
    if (error < 0)
        return error;
    HORA__STEP("sqlite: before begin");
    error = hora__sqlite_start(connection, reason);
    if (error == 0 && has_moved(connection)) {
        connection->reopen = true;
        error = refuse_moved(connection, reason);
    }
    if (error == 0 && !hora__sqlite_run(connection, hora__sqlite_use(connection, HORA__SQL_BEGIN)))
        error = hora__sqlite_result(connection, "begin a transaction", reason);
    if (error < 0)
        hora__sqlite_give_turn(connection->store);
    return error;
}

/* Leaves the transaction, whatever has happened in it. SQLite itself has left it after some errors. */
static void roll_back(hora__connection *connection)
{
    if (sqlite3_get_autocommit(connection->db))
        return;
    sqlite3_stmt *statement = connection->statements[HORA__SQL_ROLLBACK];
    int code = statement != NULL ? sqlite3_step(statement)
                                 : sqlite3_exec(connection->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_reset(statement);
    if ((code != SQLITE_OK && code != SQLITE_DONE) || !sqlite3_get_autocommit(connection->db))
        connection->reopen = true;
}

int hora__sqlite_end(hora__connection *connection, int error, const char *what, hora_error *reason)
{
    HORA__STEP("sqlite: before commit");
    if (error >= 0) {
        /* The work is done: from here on, the disk decides how long it takes, and the commit either happens
         * or not. */
        connection->deadline = 0;
        if (connection->failed == SQLITE_OK)
            hora__sqlite_run(connection, hora__sqlite_use(connection, HORA__SQL_COMMIT));
        if (connection->failed != SQLITE_OK)
            error = hora__sqlite_result(connection, what, reason);
    }
    HORA__STEP("sqlite: after commit");
    if (error < 0)
        roll_back(connection);
    connection->deadline = 0;
    hora__sqlite_give_turn(connection->store);
    return error < 0 ? error : 0;
}
