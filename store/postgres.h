/* SPDX-License-Identifier: Apache-2.0 */
/* postgres.h - the parts of the backend for PostgreSQL
 *
 *   postgres.c              opens and closes a store, and lists the calls
 *   postgres_link.c         one connection: it connects, sends statements in a pipeline, maps errors
 *   postgres_parameters.c   parameters of statements, arrays above all, in PostgreSQL's binary format
 *   postgres_statements.c   the text of every statement
 *   postgres_schema.c       creates the tables, checks their version, adds partitions
 *   postgres_put.c          put and put_joined
 *   postgres_change.c       cancel, retime, pause, resume, revive
 *   postgres_exchange.c     exchange: renew, settle, claim
 *   postgres_node.c         join, reap, leave, read_series, wake-ups
 *   postgres_query.c        list, history, trim, stats
 *   postgres_transaction.c  begin, settle_in, end
 *
 * A call is one transaction. Statements that do not depend on each other's results travel together in one
 * round trip (libpq's pipeline mode).
 *
 * CONNECTIONS. A link is one connection. `node` belongs to the thread of the node; it also listens for
 * wake-ups. `shared` is for all other calls, under `lock`. Transactions have links of their own, of which a
 * few are kept. A link that is lost connects again in the next call that needs it.
 *
 * POOLERS. A pooler such as PgBouncer in transaction mode gives each transaction another server process, so
 * prepared statements, settings and LISTEN do not last. A link recognizes a pooler when it connects: the
 * process number of its handshake is not that of the server. It also does when a prepared statement is gone.
 * It then prepares nothing, makes its settings for each transaction, and does not listen: the node polls.
 *
 * PLANS. Statements are planned once, without looking at their parameters, and sequential scans and joins by
 * hashing or merging are off for the connection. So the size of the tables, and statistics that are out of
 * date, do not change how a statement is executed. tests/store/postgres/plans checks that.
 *
 * Lock order: the node row, then firings, in order of their ids (settlements) or keys (puts). Claims and
 * releases skip rows that are locked. What deadlocks nevertheless is rolled back by PostgreSQL and
 * repeated. */
#ifndef HORA_STORE_POSTGRES_H
#define HORA_STORE_POSTGRES_H

#include <pthread.h>

#include <libpq-fe.h>

#include "backend.h"

/* ---- statements ---- */

typedef enum hora__pg_statement {
    HORA__PG_BEGIN,
    HORA__PG_SETTINGS,
    HORA__PG_COMMIT,
    HORA__PG_NOW,
    HORA__PG_XID,
    HORA__PG_XID_STATUS,
    HORA__PG_NOTIFY,
    HORA__PG_PUT_INSERT,
    HORA__PG_PUT_LOCK,
    HORA__PG_PUT_REPLACE,
    HORA__PG_SERIES_PUT,
    HORA__PG_SERIES_FREE,
    HORA__PG_SERIES_READ,
    HORA__PG_SERIES_SWEEP,
    HORA__PG_FIND_KEY,
    HORA__PG_FIND_ID,
    HORA__PG_FIND_SERIES,
    HORA__PG_CANCEL,
    HORA__PG_CANCEL_DEAD,
    HORA__PG_RETIME,
    HORA__PG_PAUSE,
    HORA__PG_RESUME,
    HORA__PG_REVIVE,
    HORA__PG_TAKE,
    HORA__PG_JOIN,
    HORA__PG_RENEW,
    HORA__PG_CHECK_LEASE,
    HORA__PG_LOCK_FIRINGS,
    HORA__PG_SETTLE_DONE,
    HORA__PG_SETTLE,
    HORA__PG_SETTLE_FULL,
    HORA__PG_FORK,
    HORA__PG_CLAIM,
    HORA__PG_CLAIMED,
    HORA__PG_STATE,
    HORA__PG_TIMELINE,
    HORA__PG_SHORTEN,
    HORA__PG_ENDED_NODES,
    HORA__PG_RELEASE,
    HORA__PG_DELETE_NODES,
    HORA__PG_LIST,
    HORA__PG_LIST_KEY,
    HORA__PG_LIST_DEAD,
    HORA__PG_HISTORY,
    HORA__PG_HISTORY_KEY,
    HORA__PG_STATS,
    HORA__PG_PARTITIONS,
    HORA__PG_TRIM_REST,
    HORA__PG_STATEMENTS,
} hora__pg_statement;

/* The names and the texts of the statements. In a text, @x stands for "SCHEMA".hora_x. */
extern const char *const hora__pg_names[HORA__PG_STATEMENTS];
extern const char *const hora__pg_texts[HORA__PG_STATEMENTS];

/* Replaces each @ of a text. The caller frees the result; NULL: no memory. */
char *hora__pg_expand(const char *text, const char *schema);

/* ---- the backend ---- */

typedef struct hora__postgres hora__postgres;

enum {
    HORA__PG_MAX_SENT = 64, /* statements in one round trip, with as many preparations */
    HORA__PG_MAX_PARAMETERS = 24,
    HORA__PG_MAX_TRIES = 8,  /* of a transaction that deadlocks or meets a change of another one */
    HORA__PG_KEPT_LINKS = 4, /* idle connections for transactions */
};

/* How a link uses its connection. */
typedef enum hora__pg_use {
    HORA__PG_OWN,         /* prepared statements and settings of its own */
    HORA__PG_TRANSACTION, /* for handlers: their statements are planned as usual */
    HORA__PG_JOINED,      /* the connection belongs to the caller, and is left as it is */
} hora__pg_use;

typedef struct hora__pg_link {
    hora__postgres *postgres;
    PGconn *connection; /* NULL: not connected */
    hora__pg_use use;
    bool is_pooled;
    bool loses_statements; /* what it had prepared was gone: treat it as pooled */
    bool listens;
    uint64_t prepared;  /* bit set of statements */
    int process;        /* of the server, for messages and tests */
    hora_ns deadline;   /* of the current round trip */
    bool is_incomplete; /* a statement could not be sent, so none after it is */

    int sent; /* statements since the last hora__pg_receive */
    hora__pg_statement which[HORA__PG_MAX_SENT];
    PGresult *results[HORA__PG_MAX_SENT]; /* of the last round trip */
    int result_count;
    char state[6];              /* SQLSTATE of the last failure */
    int failed;                 /* index of the statement that failed; -1: none */
    struct hora__pg_link *next; /* HORA__PG_TRANSACTION: list of open transactions */
} hora__pg_link;

struct hora__postgres {
    hora__backend base;
    char *address;
    char schema[48];
    bool is_open; /* hora__postgres_open has succeeded */
    char *texts[HORA__PG_STATEMENTS];

    pthread_mutex_t lock; /* protects `shared`, `kept`, `kept_count` and `open` */
    hora__pg_link shared;
    hora__pg_link *open; /* transactions of handlers */
    hora__pg_link *kept[HORA__PG_KEPT_LINKS];
    int kept_count;

    hora__pg_link node; /* the thread of the node */
    int ready_pipe[2];  /* always readable: stands for notifications that libpq has read already */
    bool is_woken;      /* there are such notifications; `woken_due` is the earliest due of them */
    int64_t woken_due;
    PGresult *claimed[HORA__LANES + 1]; /* the last one: what was claimed before */
    hora__claim *claims;
    int64_t *cancelled;
    PGresult *series;
    int64_t sweep_after;     /* id of the last series that was checked */
    int64_t partitioned_day; /* day for which partitions were last added */
};

_Static_assert(HORA__PG_STATEMENTS <= 64, "prepared is a set of 64 bits");

/* ---- parameters ---- */

/* Parameters of one statement. They are collected in one block of memory; `failed` means that there was not
 * enough. */
typedef struct hora__pg_parameters {
    char *data;
    size_t size, capacity;
    bool failed;
    int count;
    size_t offset[HORA__PG_MAX_PARAMETERS];
    int length[HORA__PG_MAX_PARAMETERS]; /* -1: NULL */
} hora__pg_parameters;

typedef int64_t (*hora__pg_integer_fn)(const void *items, size_t index);
typedef hora__bytes (*hora__pg_bytes_fn)(const void *items, size_t index);

void hora__pg_parameters_reset(hora__pg_parameters *parameters);
void hora__pg_parameters_free(hora__pg_parameters *parameters);
void hora__pg_add_integer(hora__pg_parameters *parameters, int64_t value);
void hora__pg_add_text(hora__pg_parameters *parameters, const char *text); /* NULL: NULL */
void hora__pg_add_bytes(hora__pg_parameters *parameters, hora__bytes bytes);
/* Arrays of bigint, text and bytea. The function gives the elements; data NULL means NULL. */
void hora__pg_add_integers(hora__pg_parameters *parameters, size_t count, hora__pg_integer_fn fn,
                           const void *items);
void hora__pg_add_texts(hora__pg_parameters *parameters, size_t count, hora__pg_bytes_fn fn,
                        const void *items);
void hora__pg_add_byteas(hora__pg_parameters *parameters, size_t count, hora__pg_bytes_fn fn,
                         const void *items);
void hora__pg_add_int64s(hora__pg_parameters *parameters, const int64_t *values, size_t count);

/* Values of a result, which are in binary format. NULL in the database yields 0, NULL or no bytes. */
int64_t hora__pg_integer(const PGresult *result, int row, int column);
bool hora__pg_boolean(const PGresult *result, int row, int column);
const char *hora__pg_text(const PGresult *result, int row, int column);
hora__bytes hora__pg_bytes(const PGresult *result, int row, int column);
/* An array of bigint: the number of elements, and each of them. */
int hora__pg_array_count(const PGresult *result, int row, int column);
int64_t hora__pg_array_integer(const PGresult *result, int row, int column, int index);

/* ---- links ---- */

/* Connects, if necessary. With `patient`, tries again for as long as the statement timeout. */
int hora__pg_connect(hora__pg_link *link, bool patient, hora_error *reason);
void hora__pg_disconnect(hora__pg_link *link);

/* Adds a statement to the round trip. parameters may be NULL. Errors are reported by hora__pg_receive. */
void hora__pg_send(hora__pg_link *link, hora__pg_statement statement, const hora__pg_parameters *parameters);
/* Begins a transaction. */
void hora__pg_send_begin(hora__pg_link *link);
/* Sends what was added, and waits for the results, which are in link->results until the next call. On error
 * the transaction is rolled back. HORA_EAGAIN: it was a deadlock or the like; the whole transaction must be
 * repeated. HORA_EIO: the connection is lost. */
int hora__pg_receive(hora__pg_link *link, hora_error *reason);
/* Both, for a single statement. */
int hora__pg_call(hora__pg_link *link, hora__pg_statement statement, const hora__pg_parameters *parameters,
                  hora_error *reason);
/* Executes a text without parameters, which may have several statements. */
int hora__pg_execute(hora__pg_link *link, const char *text, hora_error *reason);
/* Executes a text that yields one number. */
int hora__pg_count(hora__pg_link *link, const char *text, int64_t *ret_count, hora_error *reason);
void hora__pg_rollback(hora__pg_link *link);
/* Takes the notifications that libpq has read; the node's link only. */
void hora__pg_take_notifications(hora__pg_link *link);
void hora__pg_clear_results(hora__pg_link *link);

/* Takes the result of a statement out of the link; the caller clears it. */
PGresult *hora__pg_take_result(hora__pg_link *link, int index);

/* ---- the calls ---- */

int hora__pg_schema_open(hora__postgres *postgres, hora_error *reason);
/* Adds the partitions of today and tomorrow, if they are not there. Never fails: records without a partition
 * go to the default one. */
void hora__pg_add_partitions(hora__pg_link *link, int64_t now_us);

/* Adds the parameters of HORA__PG_SETTLE and HORA__PG_SETTLE_FULL. The settlements must be in order of
 * ids. */
void hora__pg_settle_parameters(hora__pg_parameters *parameters, const hora__settle *const *settles,
                                size_t count);

int hora__pg_now(hora__backend *backend, int64_t *ret_now, hora_error *reason);
int hora__pg_put(hora__backend *backend, const hora__put *puts, size_t count, hora__put_done *ret_done,
                 size_t *ret_wrong, hora_error *reason);
int hora__pg_put_joined(hora__backend *backend, void *connection, const hora__put *puts, size_t count,
                        hora__put_done *ret_done, size_t *ret_wrong, hora_error *reason);
int hora__pg_change(hora__backend *backend, const hora__change *change, hora_error *reason);
int hora__pg_list(hora__backend *backend, const hora_durable_filter *filter, hora__info_fn fn, void *arg,
                  hora_error *reason);
int hora__pg_history(hora__backend *backend, const hora_history_filter *filter, hora_run_record_fn fn,
                     void *arg, hora_error *reason);
int hora__pg_trim(hora__backend *backend, int64_t before_us, int64_t *ret_deleted, hora_error *reason);
int hora__pg_stats(hora__backend *backend, hora_store_stats *ret_stats, hora_error *reason);
int hora__pg_wake(hora__backend *backend, hora_error *reason);
int hora__pg_join(hora__backend *backend, const char *name, int64_t ttl_us, hora__lease *ret_lease,
                  hora_error *reason);
int hora__pg_exchange(hora__backend *backend, const hora__lease *lease, hora__exchange *exchange,
                      hora_error *reason);
int hora__pg_read_series(hora__backend *backend, int64_t series, hora__series *ret_series,
                         hora_error *reason);
int hora__pg_reap(hora__backend *backend, const hora__lease *lease, int limit, int64_t *ret_released,
                  hora_error *reason);
int hora__pg_leave(hora__backend *backend, const hora__lease *lease, hora_error *reason);
int hora__pg_wake_fd(hora__backend *backend);
int64_t hora__pg_wake_drain(hora__backend *backend);
int hora__pg_begin(hora__backend *backend, void **ret_connection, hora_error *reason);
int hora__pg_settle_in(hora__backend *backend, void *connection, const hora__lease *lease,
                       const hora__settle *settle, hora_error *reason);
int hora__pg_end(hora__backend *backend, void *connection, bool commit, hora_error *reason);

static inline hora__postgres *hora__pg_of(hora__backend *backend)
{
    return (hora__postgres *)backend;
}

#endif
