/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite.h - the parts of the SQLite backend, and what they share
 *
 *   sqlite.c              opens and closes a store
 *   sqlite_sql.h          the tables and all statements
 *   sqlite_schema.c       creates, checks and upgrades the tables
 *   sqlite_connection.c   connections, statements, transactions, and the order of writers
 *   sqlite_error.c        result codes of SQLite as errors of hora
 *   sqlite_put.c          puts tasks
 *   sqlite_row.c          reads and writes one firing, and ends a claim
 *   sqlite_settle.c       settles
 *   sqlite_node.c         joins, exchanges, reaps and leaves
 *   sqlite_change.c       cancels, retimes, pauses, resumes and revives
 *   sqlite_query.c        lists, reads the history and counts
 *   sqlite_transaction.c  transactions of handlers
 *   sqlite_wake.c         tells nodes of new tasks
 *
 * A store has one connection for calls of any thread, one for its node, and one for each transaction of a
 * handler. SQLite has one writer at a time. Writers of one store take turns in the order in which they came
 * (hora__sqlite_take_turn); writers of different processes wait for SQLite's lock.
 *
 * Locks, in the order in which they are taken: `lock` of the store, the writer's turn, `wake_lock`. */
#ifndef HORA_STORE_SQLITE_H
#define HORA_STORE_SQLITE_H

#include <pthread.h>
#include <sqlite3.h>

#include "backend.h"
#include "sqlite_sql.h"

enum {
    HORA__SQLITE_APPLICATION = 0x686f7261, /* application_id of a database that hora has created: "hora" */
    HORA__SQLITE_IDLE = 4,                 /* connections for transactions that are kept for reuse */
};

typedef struct hora__sqlite hora__sqlite;

/* A connection and its statements. `failed` is the first result code since the last
 * hora__sqlite_start that is not success; while it is set, hora__sqlite_step and _run do nothing, so a
 * sequence of statements needs one check at its end. */
typedef struct hora__connection {
    hora__sqlite *store;
    sqlite3 *db;
    sqlite3_stmt *statements[HORA__SQL_COUNT];
    int failed;
    int failed_errno;              /* of the system, with `failed` */
    char message[160];             /* of SQLite, with `failed` */
    bool reopen;                   /* after an error of the disk, open it again before the next use */
    bool late;                     /* the deadline has passed */
    hora_ns deadline;              /* of the call, by the monotonic clock; 0: none */
    bool may_commit;               /* transaction of a handler: hora itself commits */
    bool has_function;             /* the SQL function of sqlite_node.c exists */
    struct hora__connection *next; /* in a list of the store */
} hora__connection;

/* A writer that waits for its turn. */
typedef struct hora__writer {
    pthread_cond_t turn;
    bool has_turn;
    struct hora__writer *next;
} hora__writer;

/* Memory for claims, which is kept from one exchange to the next. */
typedef struct hora__arena_block {
    struct hora__arena_block *next;
    size_t size, used;
    max_align_t data[];
} hora__arena_block;

struct hora__sqlite {
    hora__backend base;
    char *path; /* absolute */

    pthread_mutex_t lock;    /* protects `common` */
    hora__connection common; /* for calls of any thread */
    hora__connection node;   /* for the node */

    pthread_mutex_t turn_lock; /* protects the turns and the lists of connections for transactions */
    bool writing;              /* a writer has its turn */
    hora__writer *first_writer, **last_writer;
    hora__connection *idle, *busy; /* connections for transactions */
    int idle_count;

    pthread_mutex_t wake_lock; /* protects wake_due and is_signalled */
    int64_t wake_due;          /* earliest due of the changes in this process; HORA__NEVER: none */
    int wake_fd;               /* what the node polls */
    int wake_pipe[2];          /* read by the node, written by this process */
    int wake_watch;            /* inotify, for other processes; -1: none */
    bool is_signalled;         /* a byte is in the pipe */

    /* of the node */
    int64_t seen_changes; /* of hora_meta, at the latest exchange that has looked for new firings */
    int64_t seen_cancels; /* of hora_meta, at the latest exchange */
    const char *const *handlers;
    int handler_count;
    int *handler_order; /* indices of `handlers`, sorted by name */
    hora__arena_block *arena;
    hora__claim *claims;
    size_t claim_space;
    int64_t *cancelled;
    size_t cancelled_space;
};

/* The numbers of a firing, in the order of HORA__COLUMNS. */
typedef struct hora__sqlite_row {
    int64_t id, series, lane, planned, due, owner, fence, attempt, firings, gave_up;
    int64_t last_end, last_code, last_success;
    bool paused, started, forked;
    int64_t ran_planned;
    int64_t change_due; /* HORA__UNCHANGED: none */
    bool change_cancel, history;
    int64_t revision;
} hora__sqlite_row;

/* ---- sqlite_error.c ---- */

/* Turns a result code of SQLite into an error of hora, and says what failed. */
int hora__sqlite_error(const char *path, int code, int system_errno, const char *message, bool late,
                       const char *what, hora_error *reason);

/* The same for the failure of a connection; 0 if it has not failed. */
int hora__sqlite_result(const hora__connection *connection, const char *what, hora_error *reason);

/* ---- sqlite_connection.c ---- */

/* Opens a connection of the store. The tables need not exist. */
int hora__sqlite_connect(hora__sqlite *store, bool create, hora__connection *connection, hora_error *reason);
void hora__sqlite_disconnect(hora__connection *connection);

/* Begins a call: clears `failed`, sets the deadline, and opens the connection again if necessary. */
int hora__sqlite_start(hora__connection *connection, hora_error *reason);

/* Records a result code, if it is a failure and the first one. Returns true if nothing has failed. */
bool hora__sqlite_check(hora__connection *connection, int code);

/* A prepared statement without parameters, or NULL if something has failed. All functions below accept
 * NULL. */
sqlite3_stmt *hora__sqlite_use(hora__connection *connection, hora__sql sql);
/* Texts and blobs must stay until the statement is reset; NULL is SQL's NULL. */
void hora__sqlite_int(hora__connection *connection, sqlite3_stmt *statement, int index, int64_t value);
void hora__sqlite_text(hora__connection *connection, sqlite3_stmt *statement, int index, const char *text);
void hora__sqlite_blob(hora__connection *connection, sqlite3_stmt *statement, int index, const void *data,
                       size_t size);
/* True if there is a row. If not, the statement has been reset. */
bool hora__sqlite_step(hora__connection *connection, sqlite3_stmt *statement);
void hora__sqlite_reset(sqlite3_stmt *statement);
/* Runs a statement that returns no rows, or whose first row is enough. True if nothing has failed. */
bool hora__sqlite_run(hora__connection *connection, sqlite3_stmt *statement);
/* Runs a statement with up to two numbers as parameters. */
bool hora__sqlite_run1(hora__connection *connection, hora__sql sql, int64_t first);
bool hora__sqlite_run2(hora__connection *connection, hora__sql sql, int64_t first, int64_t second);
/* The first column of the first row; `otherwise` if there is none, or it is NULL. */
int64_t hora__sqlite_number(hora__connection *connection, sqlite3_stmt *statement, int64_t otherwise);
/* Runs SQL without parameters or results. */
bool hora__sqlite_execute(hora__connection *connection, const char *sql);

/* A transaction that writes: waits for the turn and for the lock of the database. */
int hora__sqlite_begin(hora__connection *connection, hora_error *reason);
/* Commits, or rolls back if `error` is negative or a statement has failed, and gives the turn back. Returns
 * `error` if it is negative, or the error of the statements or of the commit, or 0. */
int hora__sqlite_end(hora__connection *connection, int error, const char *what, hora_error *reason);

/* The turn of one writer of this store. HORA_EBUSY: it did not come within the statement timeout. */
int hora__sqlite_take_turn(hora__sqlite *store, hora_error *reason);
void hora__sqlite_give_turn(hora__sqlite *store);

/* The store's clock. */
int64_t hora__sqlite_now(const hora__sqlite *store);

/* ---- sqlite_schema.c ---- */

/* Checks that the database is a store, sets its mode, and creates or upgrades the tables. */
int hora__sqlite_prepare(hora__connection *connection, hora_error *reason);

/* ---- sqlite_row.c ---- */

/* Reads a row with a statement that selects HORA__COLUMNS and has been bound. */
bool hora__sqlite_read_row(hora__connection *connection, sqlite3_stmt *statement, hora__sqlite_row *ret_row);
bool hora__sqlite_find_row(hora__connection *connection, const char *key, int64_t id,
                           hora__sqlite_row *ret_row);
/* Writes the numbers of a row that can change. */
void hora__sqlite_save_row(hora__connection *connection, const hora__sqlite_row *row);
/* Deletes a row, and its series if it was the last one. */
void hora__sqlite_delete_row(hora__connection *connection, const hora__sqlite_row *row);
/* Ends a claim: applies the changes that are recorded in the row and writes it. If none is recorded, the
 * caller has set what follows, or wants the row deleted if `gone` is true. */
void hora__sqlite_end_claim(hora__connection *connection, hora__sqlite_row *row, bool gone, int64_t now);
/* Hands a claimed row back. A row whose run has started, and which no firing follows, is deleted. */
void hora__sqlite_release_row(hora__connection *connection, hora__sqlite_row *row, int64_t now);
/* Moves a row to the dead tasks. */
void hora__sqlite_bury_row(hora__connection *connection, const hora__sqlite_row *row);
/* A new id. */
int64_t hora__sqlite_take_id(hora__connection *connection);

/* ---- sqlite_settle.c ---- */

hora__settled hora__sqlite_settle(hora__connection *connection, const hora__settle *settle, int64_t now);
/* HORA__CHANGE_STOP. */
int hora__sqlite_stop(hora__connection *connection, const hora__change *change, int64_t now);
/* Writes the record of a run that never ended. */
void hora__sqlite_record_lost(hora__connection *connection, const hora__sqlite_row *row, int64_t now);

/* ---- sqlite_wake.c ---- */

int hora__sqlite_wake_open(hora__sqlite *store, hora_error *reason);
void hora__sqlite_wake_close(hora__sqlite *store);
/* Wakes the nodes of all processes if `due` is near; INT64_MIN: at any rate. */
void hora__sqlite_wake_nodes(hora__sqlite *store, int64_t due);

/* ---- the operations; see backend.h ---- */

int hora__sqlite_put(hora__backend *backend, const hora__put *puts, size_t count, hora__put_done *ret_done,
                     size_t *ret_wrong, hora_error *reason);
int hora__sqlite_put_joined(hora__backend *backend, void *connection, const hora__put *puts, size_t count,
                            hora__put_done *ret_done, size_t *ret_wrong, hora_error *reason);
int hora__sqlite_change(hora__backend *backend, const hora__change *wanted, hora_error *reason);
int hora__sqlite_list(hora__backend *backend, const hora_durable_filter *filter, hora__info_fn fn, void *arg,
                      hora_error *reason);
int hora__sqlite_history(hora__backend *backend, const hora_history_filter *filter, hora_run_record_fn fn,
                         void *arg, hora_error *reason);
int hora__sqlite_trim(hora__backend *backend, int64_t before_us, int64_t *ret_deleted, hora_error *reason);
int hora__sqlite_stats(hora__backend *backend, hora_store_stats *ret_stats, hora_error *reason);
int hora__sqlite_wake(hora__backend *backend, hora_error *reason);
int hora__sqlite_join(hora__backend *backend, const char *name, int64_t ttl_us, hora__lease *ret_lease,
                      hora_error *reason);
int hora__sqlite_exchange(hora__backend *backend, const hora__lease *lease, hora__exchange *exchange,
                          hora_error *reason);
int hora__sqlite_read_series(hora__backend *backend, int64_t series, hora__series *ret_series,
                             hora_error *reason);
int hora__sqlite_reap(hora__backend *backend, const hora__lease *lease, int limit, int64_t *ret_released,
                      hora_error *reason);
int hora__sqlite_leave(hora__backend *backend, const hora__lease *lease, hora_error *reason);
int hora__sqlite_wake_fd(hora__backend *backend);
int64_t hora__sqlite_wake_drain(hora__backend *backend);
int hora__sqlite_transaction_begin(hora__backend *backend, void **ret_connection, hora_error *reason);
int hora__sqlite_transaction_settle(hora__backend *backend, void *db, const hora__lease *lease,
                                    const hora__settle *settle, hora_error *reason);
int hora__sqlite_transaction_end(hora__backend *backend, void *db, bool commit, hora_error *reason);

#endif
