/* SPDX-License-Identifier: Apache-2.0 */
/* hora/store.h - durable schedules: tasks that are kept in a database and survive the process
 *
 *     static int send_mail(const hora_run *run, void *arg) { ... return 0; }
 *
 *     hora_store *store;
 *     hora_durable *durable;
 *     hora_error error;
 *     hora_store_open("sqlite:///var/lib/mail/queue.db", NULL, &store, &error);
 *     hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 4), &durable, &error);
 *     hora_durable_add_handler(durable, "send-mail", send_mail, NULL, NULL, &error);
 *     hora_durable_start(durable, &error);
 *     hora_store_put(store, HORA_DURABLE_TASK(.handler = "send-mail", .payload = text,
 *                                             .payload_size = size), NULL, &error);
 *
 * A store keeps tasks in a database: SQLite, for one machine, or PostgreSQL, for many. Any number of
 * processes may open the same store. A process that also runs tasks creates a durable scheduler, which is one
 * node of the store. There is no leader: all nodes do the same, and a node that dies is replaced by the
 * others.
 *
 * Terms used in this header:
 *
 *   task       what the store keeps: the name of a handler, a payload, and when to run. It is one-shot or
 *              recurring. A task may have a key, by which programs find it. Keys are unique in a store.
 *   handler    a function that a node has registered under a name. A node runs only tasks whose handler it
 *              has; it leaves the others to nodes that have theirs.
 *   firing     one planned time of a task. A one-shot task has one, a recurring task one after the other.
 *   run        one call of the handler for a firing. A firing that fails or is interrupted may need several
 *              runs, which are its attempts.
 *   lease      the promise of the store to a node that no other node takes its firings before a certain
 *              time. A node renews its lease about once a second. A node whose lease has ended starts
 *              nothing until it has a new one.
 *   fence      a number that grows with every attempt of a firing. The store accepts the outcome of a run
 *              only with the fence of the latest attempt, so the outcome of a run that has lost its lease
 *              changes nothing. A handler can pass the fence to other systems, which then can do the same.
 *   settle     to record the outcome of a run in the store, which ends the firing or plans its next attempt.
 *
 * All times are those of the store: the clock of the PostgreSQL server, or of the machine for SQLite. The
 * clock of a node's own machine may be wrong. Times in the store have a resolution of a microsecond; other
 * times are rounded up.
 *
 * When the clock of the store is set, firings follow it, and nodes report it (HORA_DURABLE_CLOCK_STEPPED).
 * Set forward by more than the lease, it ends the leases of all nodes, as a pause of that length would: runs
 * in progress are lost and repeated. Firings whose time has come start, and `missed` decides about the times
 * that were passed over. Set back, it disturbs no run, and repeats no firing: the next ones wait until the
 * clock shows their times again. Fixed delays, and pauses before another attempt, count from the new time.
 *
 * What hora promises depends on the delivery of the task (hora_delivery). A crash here is the end of a node
 * at any moment, for example by SIGKILL or a power failure:
 *
 *   HORA_AT_LEAST_ONCE   A crash can run a firing again; never lose one, never settle one twice.
 *   HORA_AT_MOST_ONCE    A crash can lose the firing that was starting; never run it twice.
 *   HORA_EFFECT_ONCE     A crash can re-execute code, but only one execution's effects commit.
 *
 * "Never lose one" assumes that the database keeps what it has acknowledged: an honest disk,
 * synchronous_commit = on in PostgreSQL, and synchronous replication if a failover must not lose commits.
 * With an asynchronous standby, a failover loses the last commits: tasks that were put in them are gone, and
 * what had run runs again, whatever its delivery, with a greater fence. */
#ifndef HORA_STORE_H
#define HORA_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/cron.h>
#include <hora/error.h>
#include <hora/scheduler.h>
#include <hora/task.h>
#include <hora/trigger.h>
#include <hora/virtual_clock.h>

HORA_BEGIN_DECLS

struct sqlite3;
struct pg_conn;

/* ---- stores ---- */

/* An open store. All threads may use it at the same time. */
typedef struct hora_store hora_store;

/* Options of hora_store_open. */
typedef struct hora_store_options {
    /* sizeof(hora_store_options), set by HORA_STORE_OPTIONS */
    uint32_t struct_size;
    /* do not create the database file or the tables: a store that is not there, or whose tables are of an
     * older version, is an error */
    bool existing_only;
    /* SQLite: a commit does not wait for the disk. A crash of the process loses nothing, but a power failure
     * may lose the last commits; the file stays intact. By default every commit waits for the disk */
    bool relaxed_sync;
    /* PostgreSQL: the schema that contains the tables; NULL means "hora". 1 to 40 letters, digits and _ */
    const char *schema;
    /* longest time for one statement, after which it counts as failed; 0 means 10 s. 100 ms to 1 h */
    hora_ns statement_timeout;
    /* the largest payload of a task; 0 means 1 MB. At most 256 MB */
    size_t max_payload;
    /* SQLite and memory: a wall clock to use as the clock of the store, for tests. NULL means that of the
     * machine. Must outlive the store */
    const hora_clock *clock;
} hora_store_options;

/* HORA_STORE_OPTIONS(.relaxed_sync = true): an options literal. */
#define HORA_STORE_OPTIONS(...) HORA__LITERAL(hora_store_options, __VA_ARGS__)

/* hora_store_open - open a store, and create or upgrade its tables if necessary
 *
 * The following addresses are accepted:
 *
 *   sqlite:///absolute/path/file.db   a SQLite database; the file is created if it does not exist
 *   sqlite:relative/path/file.db      the same, relative to the working directory
 *   postgres://user@host/database     a PostgreSQL database, in any form that libpq accepts, also with
 *                                     postgresql://; passwords may also come from ~/.pgpass
 *   memory:                           in the memory of the process, for tests; gone after hora_store_close
 *
 * Several versions of hora may use a store at the same time, as long as they know its tables. A store that a
 * newer version has changed beyond that is refused. Messages never contain a password.
 *
 * If the file of a SQLite store is moved, deleted or replaced while the store is open, calls that write
 * return HORA_EIO, and nodes lose their lease. They go on when a store is at the path again.
 *
 * Ownership: the caller owns *ret_store and closes it with hora_store_close. The clock must outlive it.
 * Threads: Any thread.   Blocks: While the database is opened.
 * Errors: HORA_EINVAL (not a valid address or option), HORA_ENOTSUP (hora was built without this database, or
 * a newer version of hora has changed the tables), HORA_ENOENT (existing_only, and there is none),
 * HORA_EACCES (no permission, wrong password, read-only), HORA_EBADMSG (damaged, or not a store),
 * HORA_ENOSPC, HORA_EIO, HORA_ETIMEDOUT, HORA_EBUSY, HORA_ENOMEM, HORA_EMFILE. */
HORA_NODISCARD HORA_API int hora_store_open(const char *address, const hora_store_options *options,
                                            hora_store **ret_store, hora_error *reason);

/* hora_store_close - close a store; NULL is allowed
 *
 * Ownership: on success the store is freed; on error nothing has changed.   Threads: Owner.
 * Blocks: While the database is closed.
 * Errors: HORA_EBUSY (a durable scheduler uses it), HORA_EFORKED. */
HORA_API int hora_store_close(hora_store *store);

/* ---- tasks ---- */

/* What a crash can do to a firing; see above. */
typedef enum hora_delivery {
    /* the store records the outcome after the run: claim, run, settle */
    HORA_AT_LEAST_ONCE = 0,
    /* the store records that the run starts before it does: claim, record, run, settle. After that, no other
     * run of the firing starts, whatever becomes of this one: a failed run is not retried, and a one-shot
     * task whose run is lost is gone */
    HORA_AT_MOST_ONCE,
    /* the handler writes in a transaction of the store's own database (hora_run_begin), and the outcome is
     * recorded in the same transaction. Not in a memory store */
    HORA_EFFECT_ONCE,
} hora_delivery;

/* What hora_store_put does if the store has a task with the same key. */
typedef enum hora_if_exists {
    /* refuse the new task: HORA_EEXIST */
    HORA_IF_EXISTS_REFUSE = 0,
    /* keep the task as it is; its state is reported in the result */
    HORA_IF_EXISTS_KEEP,
    /* replace it. If the old task is running, or a node is about to start it, the run is not interrupted, has
     * no further attempt, and the new one runs afterwards; for `count` it is no firing of the new one. Only
     * runs that may overlap (`overlap`) go on beside the new one. A recurring task whose schedule is the same
     * goes on: it keeps its next planned time, its attempts and its count */
    HORA_IF_EXISTS_REPLACE,
    /* replace it if `revision` is greater than that of the task in the store; otherwise keep it. This is for
     * declarations that every node makes at its start: an old version of the program does not undo those of a
     * new one */
    HORA_IF_EXISTS_UPGRADE,
} hora_if_exists;

/* What happens to planned times of a recurring task that come while a run of it is in progress. It is decided
 * when the run ends. A run that a later attempt follows has not ended the firing: the times that come before
 * the last attempt starts count as missed. */
typedef enum hora_busy {
    /* they count as missed, and `missed` decides */
    HORA_BUSY_MISSED = 0,
    /* they are skipped: the next firing is the first planned time after the end of the run */
    HORA_BUSY_SKIP,
    /* the latest busy_max of them are made up, one after the other, immediately; earlier ones are skipped.
     * Those that still wait when such a run ends count, too, so at most busy_max wait at any time. For
     * `missed`, they are late only from the end of the latest run on; for `grace`, from their planned time */
    HORA_BUSY_QUEUE,
} hora_busy;

/* A task to put into a store. Exactly one of fixed_rate, fixed_delay, cron and trigger makes it recurring;
 * with none of them it is one-shot. Fields with the name of a field of hora_schedule mean the same, unless
 * the comment says otherwise. All texts and the payload are copied. */
typedef struct hora_durable_task {
    /* sizeof(hora_durable_task), set by HORA_DURABLE_TASK */
    uint32_t struct_size;
    /* the name of the handler, 1 to 255 bytes of UTF-8; required */
    const char *handler;
    /* the key, 1 to 255 bytes of UTF-8; required for a recurring task. NULL means none */
    const char *key;
    /* what happens if the key exists; requires a key */
    hora_if_exists if_exists;
    /* HORA_IF_EXISTS_UPGRADE: the revision of this declaration, at least 1. Otherwise 0 */
    int64_t revision;
    /* bytes for the handler; NULL means none */
    const void *payload;
    size_t payload_size;

    /* the first run after this delay, by the clock of the store; a negative one counts as 0 */
    hora_ns initial_delay;
    /* or at this time */
    hora_instant at;
    /* period from planned time to planned time; at least 1 ms */
    hora_ns fixed_rate;
    /* pause between the end of a run and the next one; at least 1 ms */
    hora_ns fixed_delay;
    /* the times of this expression, in a zone; the zone "local" is refused, because nodes differ in it. A
     * NULL zone means UTC */
    const char *cron;
    const char *zone;
    hora_cron_dialect dialect;
    hora_dst dst;
    /* the name of a trigger that nodes have registered with hora_durable_add_trigger. A node that does not
     * have it leaves the task to others */
    const char *trigger;
    /* recurring: no run is planned after this time; 0 means no end */
    hora_instant end;
    /* recurring: maximum number of firings; 0 means no limit */
    int64_t count;

    /* recurring, not with fixed_delay: what happens to planned times that passed while no node was up or all
     * were busy, or during a run (but see `busy`). A firing counts as missed when it is more than
     * missed_after late. Those that are not made up count as skipped */
    hora_missed missed;
    int missed_max;
    /* 0 means 1 s */
    hora_ns missed_after;
    /* recurring: a firing that would start later than this after its planned time is skipped; 0 means that it
     * is never too late */
    hora_ns grace;
    /* recurring, not with fixed_delay: HORA_OVERLAP_NEVER or HORA_OVERLAP_ALLOW; not HORA_OVERLAP_QUEUE_ONE.
     * With HORA_OVERLAP_ALLOW up to overlap_max (2 to 1000) firings run at a time, on any nodes */
    hora_overlap overlap;
    int overlap_max;
    /* recurring, not with fixed_delay, with HORA_OVERLAP_NEVER: what happens to planned times that come while
     * a run of the task is in progress. HORA_BUSY_QUEUE needs a busy_max from 1 to 1000. Up to 10000 skipped
     * times of one run are counted */
    hora_busy busy;
    int busy_max;

    /* what a crash can do */
    hora_delivery delivery;
    /* the number of attempts of a firing, including the first, 1 to 30000; 0 means 1 for
     * HORA_AT_MOST_ONCE and 10 otherwise. A run that was interrupted by a crash counts as an attempt. A
     * one-shot task whose attempts are used up is moved to the dead tasks (hora_store_list). A recurring one
     * continues with its next planned time, or is moved there too if `stop_after` says so */
    int max_attempts;
    /* the pause before the second attempt; 0 means 1 s */
    hora_ns back_off;
    /* by which each further pause is longer, 1 to 1e9; 0 means 2 */
    double back_off_factor;
    /* the longest pause; 0 means 5 min, or back_off if that is longer */
    hora_ns back_off_max;
    /* a random part of each pause, 0 to 1, by which it is shortened */
    double back_off_jitter;
    /* recurring: move the task to the dead tasks after this many firings in a row whose attempts were used
     * up; 0 means never */
    int stop_after;

    /* of the firings that are due, a node takes those with the highest priority first; 0 means normal */
    hora_priority priority;
    /* keep a record of each run (hora_store_history) */
    bool history;
} hora_durable_task;

/* HORA_DURABLE_TASK(.handler = "report", .key = "nightly", .cron = "0 0 3 * * *"): a task literal. */
#define HORA_DURABLE_TASK(...) HORA__LITERAL(hora_durable_task, __VA_ARGS__)

/* What hora_store_put did with a task. */
typedef enum hora_put {
    HORA_PUT_INSERTED = 1,
    HORA_PUT_REPLACED,
    HORA_PUT_KEPT,
} hora_put;

/* The result of putting one task. */
typedef struct hora_put_result {
    /* what was done */
    hora_put done;
    /* the number of the task in the store, greater than 0 */
    int64_t id;
} hora_put_result;

/* hora_durable_task_check - check whether a task is valid and, if not, say why
 *
 * hora_store_put refuses the same tasks. Whether the store supports the delivery, and whether the payload is
 * too large for it, is checked only there.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: While a zone is read.
 * Errors: HORA_EINVAL; with cron also HORA_ENOMEM and those of hora_zone_new. */
HORA_NODISCARD HORA_API int hora_durable_task_check(const hora_durable_task *task, hora_error *reason);

/* hora_store_put - put a task into a store; it is durable when the call returns
 *
 * Calls of several threads at the same time share one commit. If the connection is lost before the reply of
 * the commit, the call finds out after it has reconnected whether the task is there; it returns HORA_EIO only
 * if it cannot reconnect within the statement timeout. Then it is not known whether the task was put: put it
 * again with the same key.
 *
 * Ownership: not transferred; ret_result may be NULL.   Threads: Any thread.
 * Blocks: Until the database has committed.
 * Errors: HORA_EINVAL, HORA_EEXIST, HORA_ERANGE (the payload is too large), HORA_ENOTSUP (effect once in a
 * memory store), HORA_EIO, HORA_ETIMEDOUT, HORA_EBUSY, HORA_ENOSPC, HORA_EACCES, HORA_EBADMSG, HORA_ENOMEM,
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_store_put(hora_store *store, const hora_durable_task *task,
                                           hora_put_result *ret_result, hora_error *reason);

/* hora_store_put_all - put several tasks in one commit: all of them, or none
 *
 * ret_results is an array of `count`, or NULL. If a task is refused, `reason` says which one, counted from 0.
 *
 * Ownership: as hora_store_put.   Threads: Any thread.   Blocks: as hora_store_put.
 * Errors: as hora_store_put. */
HORA_NODISCARD HORA_API int hora_store_put_all(hora_store *store, const hora_durable_task *const *tasks,
                                               size_t count, hora_put_result *ret_results,
                                               hora_error *reason);

/* hora_store_put_sqlite - put tasks in a transaction of the caller's own connection to the store's database
 *
 * The tasks exist if and when the caller commits. `connection` is open on the file of the store, inside a
 * transaction that the caller has begun. Nodes notice the tasks within a second of the commit, or at once
 * after hora_store_wake.
 *
 * Ownership: not transferred.   Threads: the caller must not use the connection in another thread meanwhile.
 * Blocks: While the database works.
 * Errors: as hora_store_put; also HORA_EINVAL (not a SQLite store, or no transaction). */
HORA_NODISCARD HORA_API int hora_store_put_sqlite(hora_store *store, struct sqlite3 *connection,
                                                  const hora_durable_task *const *tasks, size_t count,
                                                  hora_put_result *ret_results, hora_error *reason);

/* hora_store_put_postgres - put tasks in a transaction of the caller's own connection to the store's database
 *
 * As hora_store_put_sqlite, with a connection of libpq. Nodes are woken when the caller commits.
 *
 * Ownership: as hora_store_put_sqlite.   Threads: as hora_store_put_sqlite.
 * Blocks: While the database works.   Errors: as hora_store_put_sqlite. */
HORA_NODISCARD HORA_API int hora_store_put_postgres(hora_store *store, struct pg_conn *connection,
                                                    const hora_durable_task *const *tasks, size_t count,
                                                    hora_put_result *ret_results, hora_error *reason);

/* hora_store_wake - tell the nodes of a store that it has new tasks; see hora_store_put_sqlite
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: While the database works.
 * Errors: HORA_EINVAL, HORA_EIO, HORA_ETIMEDOUT, HORA_EFORKED. */
HORA_API int hora_store_wake(hora_store *store);

/* In the calls below, a task is named by its key, and `id` is 0; or, if `key` is NULL, by its id. A key that
 * is not UTF-8 is refused with HORA_EINVAL. */

/* hora_store_cancel - remove a task
 *
 * HORA_CANCEL_REMOVED: the task is removed and will not run. HORA_CANCEL_RUNNING: it is running, or a node is
 * about to start it; it is asked to stop (hora_run_is_cancelled), its outcome is recorded, and no further
 * attempt or firing follows. HORA_CANCEL_TOO_LATE: the store has no such task.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Until the database has committed.
 * Errors: HORA_EINVAL, HORA_EIO, HORA_ETIMEDOUT, HORA_EBUSY, HORA_ENOSPC, HORA_EACCES, HORA_EBADMSG,
 * HORA_ENOMEM, HORA_EFORKED; otherwise a hora_cancel. */
HORA_API int hora_store_cancel(hora_store *store, const char *key, int64_t id, hora_error *reason);

/* hora_store_retime - set the time of the next run of a task
 *
 * A recurring task returns to its own times afterwards. If the task is running, or a node is about to start
 * it, the time applies to the run after that; a one-shot task then runs once more, when the first run has
 * ended. A time in the past means now. A paused task stays paused, and the time applies when it is resumed.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: as hora_store_cancel.
 * Errors: as hora_store_cancel; also HORA_ENOENT. */
HORA_API int hora_store_retime(hora_store *store, const char *key, int64_t id, hora_instant at,
                               hora_error *reason);

/* hora_store_pause - do not start a task until it is resumed; a run in progress is not affected
 *
 * Returns 1, or 0 if the task was paused already.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: as hora_store_cancel.   Errors: as
 * hora_store_retime. */
HORA_API int hora_store_pause(hora_store *store, const char *key, int64_t id, hora_error *reason);

/* hora_store_resume - let a paused task run again
 *
 * Planned times that passed during the pause count as missed. Returns 1, or 0 if the task was not paused.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: as hora_store_cancel.   Errors: as
 * hora_store_retime. */
HORA_API int hora_store_resume(hora_store *store, const char *key, int64_t id, hora_error *reason);

/* hora_store_revive - let a dead task run again, with all its attempts
 *
 * It becomes due at `at`; a time in the past, also 0, means now. A recurring task continues with its own
 * times afterwards.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: as hora_store_cancel.
 * Errors: as hora_store_retime; also HORA_EEXIST (a task with its key has been put since). */
HORA_API int hora_store_revive(hora_store *store, const char *key, int64_t id, hora_instant at,
                               hora_error *reason);

/* hora_store_stop - end a firing that waits for another attempt
 *
 * `id` and `fence` are those that hora_store_list shows for it. The firing ends with HORA_RUN_STOPPED, and no
 * further attempt follows. A recurring task continues at `next`, which is its next planned time: if that has
 * passed, it counts as missed. A one-shot task is removed. A paused task stays paused. Of a task whose runs
 * may overlap, only this firing ends, and `next` has no effect. The record, if the task has records, gets
 * `code` and the note, which may be NULL; it has no start. Returns 1, or 0 if the firing does not wait for
 * another attempt: it has ended, or a node has taken it.
 *
 * Ownership: the note is copied.   Threads: Any thread.   Blocks: as hora_store_cancel.
 * Errors: as hora_store_cancel; also HORA_ERANGE (the note has more than 64 KB). */
HORA_API int hora_store_stop(hora_store *store, int64_t id, int64_t fence, hora_instant next, int code,
                             const char *note, size_t note_size, hora_error *reason);

/* ---- looking ---- */

/* The state of a task in the store. */
typedef enum hora_durable_state {
    /* waits for its time */
    HORA_DURABLE_WAITING = 1,
    /* a node has taken its firing, and runs it now or when it is due */
    HORA_DURABLE_CLAIMED,
    HORA_DURABLE_PAUSED,
    /* its attempts are used up; it waits for hora_store_revive or hora_store_cancel */
    HORA_DURABLE_DEAD,
} hora_durable_state;

/* A task as the store has it. The struct and what it points to are valid during the call. */
typedef struct hora_durable_info {
    /* sizeof(hora_durable_info) of the library */
    uint32_t struct_size;
    int64_t id;
    const char *handler;
    /* NULL means none */
    const char *key;
    hora_durable_state state;
    bool recurring;
    /* the schedule in words, such as "every 5 s"; NULL for a one-shot task */
    const char *schedule;
    int64_t revision;
    /* planned time of the next or current firing, and when it may start: later than planned after a failed
     * attempt */
    hora_instant planned;
    hora_instant due;
    /* attempts of this firing so far, including the current one */
    int attempts;
    /* the fence of the latest attempt */
    int64_t fence;
    /* the node that has claimed it; 0 means none */
    int64_t node;
    /* firings that have ended, and those in a row whose attempts were used up */
    int64_t firings;
    int64_t failures_in_a_row;
    /* end of the latest run and its code, and end of the latest successful run; 0 means none */
    hora_instant last_end;
    int last_code;
    hora_instant last_success;
    hora_priority priority;
    const void *payload;
    size_t payload_size;
} hora_durable_info;

/* Receives one task. Returns 0, or another number, which ends the call and which it returns. It must not call
 * functions for the same store. */
typedef int (*hora_durable_info_fn)(const hora_durable_info *info, void *arg);

/* Which tasks hora_store_list shows. All zero means all tasks that are not dead. */
typedef struct hora_durable_filter {
    /* sizeof(hora_durable_filter), set by HORA_DURABLE_FILTER */
    uint32_t struct_size;
    /* the task with this key; NULL means any */
    const char *key;
    /* tasks whose key begins with this; NULL means any */
    const char *key_prefix;
    /* tasks with this handler; NULL means any */
    const char *handler;
    /* tasks in this state; 0 means all except dead ones */
    hora_durable_state state;
    /* tasks with a greater id, to continue a listing */
    int64_t after_id;
    /* at most this many; 0 means no limit */
    int64_t limit;
} hora_durable_filter;

/* HORA_DURABLE_FILTER(.handler = "send-mail"): a filter literal. */
#define HORA_DURABLE_FILTER(...) HORA__LITERAL(hora_durable_filter, __VA_ARGS__)

/* hora_store_list - call a function for each task that a filter selects, in the order of their ids
 *
 * NULL instead of a filter means all tasks that are not dead. The call reads in portions; a task that is
 * changed meanwhile is shown as it was before or after, and no task is shown twice.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: While the database works.
 * Errors: HORA_EINVAL, HORA_EIO, HORA_ETIMEDOUT, HORA_EBUSY, HORA_EACCES, HORA_EBADMSG, HORA_ENOMEM,
 * HORA_EFORKED, and what the function returns. */
HORA_API int hora_store_list(hora_store *store, const hora_durable_filter *filter, hora_durable_info_fn fn,
                             void *arg, hora_error *reason);

/* How a run ended. */
typedef enum hora_run_outcome {
    HORA_RUN_SUCCEEDED = 1,
    /* it failed, and another attempt follows */
    HORA_RUN_FAILED,
    /* it failed, and its attempts are used up */
    HORA_RUN_GAVE_UP,
    /* it never ended: the node crashed or lost its lease */
    HORA_RUN_LOST,
    /* the planned time was missed and not made up, or the firing was too late or found overlap_max others, or
     * the handler said so (hora_run_set_outcome) */
    HORA_RUN_SKIPPED,
    /* the handler ended the run early on purpose (hora_run_set_outcome): neither a success nor a failure */
    HORA_RUN_STOPPED,
} hora_run_outcome;

/* Why planned times were skipped without a run. */
typedef enum hora_skip_reason {
    /* they had passed, and `missed` does not make them up */
    HORA_SKIP_MISSED = 1,
    /* they would have started later than `grace` allows */
    HORA_SKIP_LATE,
    /* overlap_max other firings were running */
    HORA_SKIP_OVERLAP,
} hora_skip_reason;

/* The record of one run. The struct and what it points to are valid during the call. */
typedef struct hora_run_record {
    /* sizeof(hora_run_record) of the library */
    uint32_t struct_size;
    /* the number of the record, which grows with time */
    int64_t id;
    /* the task, its handler and its key; NULL means no key */
    int64_t task_id;
    const char *handler;
    const char *key;
    hora_run_outcome outcome;
    /* what the handler returned; a hora_skip_reason for a firing that was skipped without a run */
    int code;
    hora_instant planned;
    /* 0 for a firing that was skipped without a run, and for one that was lost */
    hora_instant started;
    hora_instant ended;
    int attempt;
    int64_t fence;
    int64_t node;
    /* what the handler left with hora_run_set_note; NULL means none */
    const char *note;
    size_t note_size;
    /* how many planned times were left out: by `missed` and `grace` if the firing was skipped without a run,
     * or by `busy` because they came during this run */
    int64_t skipped;
} hora_run_record;

/* Receives one record; as hora_durable_info_fn. */
typedef int (*hora_run_record_fn)(const hora_run_record *record, void *arg);

/* Which records hora_store_history shows. All zero means all. */
typedef struct hora_history_filter {
    /* sizeof(hora_history_filter), set by HORA_HISTORY_FILTER */
    uint32_t struct_size;
    /* records of the task with this key; NULL means any */
    const char *key;
    /* records with this outcome; 0 means any */
    hora_run_outcome outcome;
    /* records of runs that failed or were lost: not those that succeeded, or were skipped or stopped */
    bool failed;
    /* records with a smaller id, to continue a listing; 0 means from the latest */
    int64_t before_id;
    /* runs that ended at or after this time; 0 means any */
    hora_instant since;
    /* at most this many; 0 means no limit */
    int64_t limit;
} hora_history_filter;

/* HORA_HISTORY_FILTER(.failed = true): a filter literal. */
#define HORA_HISTORY_FILTER(...) HORA__LITERAL(hora_history_filter, __VA_ARGS__)

/* hora_store_history - call a function for each record of a run that a filter selects, the latest first
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: While the database works.
 * Errors: as hora_store_list. */
HORA_API int hora_store_history(hora_store *store, const hora_history_filter *filter, hora_run_record_fn fn,
                                void *arg, hora_error *reason);

/* hora_store_trim_history - delete the records of runs that ended before an instant
 *
 * Returns the number of records that were deleted, at most INT_MAX. PostgreSQL keeps the records of each day
 * in a partition, which is dropped as a whole: records of the day of `before` may stay.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Until the database has committed.
 * Errors: as hora_store_cancel. */
HORA_API int hora_store_trim_history(hora_store *store, hora_instant before, hora_error *reason);

/* Numbers of a store. */
typedef struct hora_store_stats {
    /* sizeof(hora_store_stats), set by HORA_INIT */
    uint32_t struct_size;
    /* the time of the store's clock */
    hora_instant now;
    /* number of tasks in each state */
    int64_t waiting;
    int64_t claimed;
    int64_t paused;
    int64_t dead;
    /* number of waiting tasks that are due */
    int64_t overdue;
    /* when the earliest waiting task is due; 0 means that there is none */
    hora_instant next_due;
    /* number of nodes with a lease */
    int64_t nodes;
} hora_store_stats;

/* hora_store_get_stats - count the tasks of a store
 *
 * Counting takes time in proportion to the number of tasks.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: While the database works.
 * Errors: as hora_store_list. */
HORA_NODISCARD HORA_API int hora_store_get_stats(hora_store *store, hora_store_stats *ret_stats,
                                                 hora_error *reason);

/* ---- durable schedulers ---- */

/* A durable scheduler: one node of a store, which runs tasks. */
typedef struct hora_durable hora_durable;

/* One run of a handler. The struct and what it points to are valid until the handler returns, or until
 * hora_run_finish if it has called hora_run_detach. */
typedef struct hora_run {
    /* sizeof(hora_run) of the library */
    uint32_t struct_size;
    /* the task: its number, handler and key; NULL means no key */
    int64_t task_id;
    const char *handler;
    const char *key;
    const void *payload;
    size_t payload_size;
    /* the planned time of the firing, by the clock of the store */
    hora_instant planned;
    /* 1 for the first attempt of the firing */
    int attempt;
    /* whether another attempt follows if this one fails */
    bool is_last_attempt;
    /* the same for all attempts of a firing, and different for different firings; for systems that drop
     * requests that they have seen */
    const char *idempotency_key;
    /* greater than that of every earlier attempt of the firing */
    int64_t fence;
    /* end of the latest successful run of the task; 0 means none */
    hora_instant last_success;
    /* the durable scheduler that runs it */
    hora_durable *durable;
    /* firings of the task in a row, before this one, whose attempts were used up */
    int64_t failures_in_a_row;
    /* an earlier run for the planned time was handed back (hora_run_hand_back) */
    bool handed_back;
} hora_run;

/* A handler. `arg` is that of hora_durable_add_handler. It returns 0, or a failure code, which is kept as is.
 * It runs on a thread of the scheduler. If the lease of the node is lost during the run, or the task is
 * cancelled, the thread is interrupted (hora/thread.h) and the calls below tell why. The run then should end
 * soon: after a lost lease, another node may run the same firing. A run that does not need the thread until
 * its end can go on without it: hora_run_detach. */
typedef int (*hora_handler_fn)(const hora_run *run, void *arg);

/* hora_run_is_lost - test whether the lease of a run has ended, so that its outcome may not count
 *
 * That is also so for a run that hora_durable_stop has handed back.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_run_is_lost(const hora_run *run);

/* hora_run_is_cancelled - test whether the task of a run was cancelled, or its durable scheduler is stopping
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_run_is_cancelled(const hora_run *run);

/* hora_run_set_note - leave a text for the record of this run; see hora_store_history
 *
 * A later call replaces the text. At most 64 KB.
 *
 * Ownership: the text is copied.   Threads: the thread of the handler; after hora_run_detach any thread, one
 * at a time.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ERANGE (too long), HORA_ENOMEM. */
HORA_API int hora_run_set_note(const hora_run *run, const char *text, size_t size);

/* hora_run_set_retry - set when the next attempt starts, if this one fails
 *
 * If attempts are left, the next one starts `pause` after the end of this one, instead of after the back-off
 * of the task. A negative pause means that no further attempt follows: the firing gives up. A later call
 * replaces the pause. Without a failure, and with HORA_AT_MOST_ONCE, it has no effect.
 *
 * Ownership: not transferred.   Threads: as hora_run_set_note.   Blocks: Never.   Errors: HORA_EINVAL. */
HORA_API int hora_run_set_retry(const hora_run *run, hora_ns pause);

/* hora_run_set_outcome - end the firing with HORA_RUN_SKIPPED or HORA_RUN_STOPPED, whatever the run returns
 *
 * There is no further attempt, and a recurring task continues with its next planned time. The code is
 * recorded. The end of the latest successful run and the number of failures in a row do not change. A later
 * call replaces the outcome. With HORA_EFFECT_ONCE, what the handler has written is committed if it returns
 * 0; if the commit fails, the run has failed.
 *
 * Ownership: not transferred.   Threads: as hora_run_set_note.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or another outcome). */
HORA_API int hora_run_set_outcome(const hora_run *run, hora_run_outcome outcome);

/* hora_run_hand_back - say that the run has not begun: it does not count, whatever it returns
 *
 * The firing is due again at once, on any node, with the same number of the attempt. There is no record of the
 * run, and what its handler has written with HORA_EFFECT_ONCE is rolled back. The next run counts as in time:
 * `missed` does not apply to it, but `grace` does. A program calls this for runs that wait for something when it
 * has to end. With HORA_AT_MOST_ONCE it has no effect, because the firing has ended before the run.
 *
 * Ownership: not transferred.   Threads: as hora_run_set_note.   Blocks: Never.   Errors: HORA_EINVAL. */
HORA_API int hora_run_hand_back(const hora_run *run);

/* Asks a detached run to end. It may call hora_run_is_lost and hora_run_is_cancelled to learn why, and
 * hora_run_finish. It must return soon: the node does not renew its lease meanwhile. */
typedef void (*hora_run_stop_fn)(const hora_run *run, void *arg);

/* hora_run_detach - let a run outlive its handler
 *
 * The handler calls it, once. Its return value is then ignored, and the run continues until hora_run_finish,
 * which another thread may call even before the handler has returned. So a program can have more runs in
 * progress than threads: at most max_claimed of hora_durable_options.
 *
 * Instead of interrupting a thread, the durable scheduler calls stop(run, arg): when the lease is lost, when
 * the task is cancelled, and when hora_durable_stop has waited for its timeout; at most once for each of
 * these reasons. If there was a reason before, the function is called soon after this call, maybe before the
 * handler returns. It runs on a thread of the durable scheduler, and no lock is held. It is called once at a
 * time for a run, and not after hora_run_finish of the run has returned.
 *
 * Ownership: not transferred; arg must be valid until hora_run_finish has returned.
 * Threads: the thread of the handler.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, detached already, not called by the handler, or a transaction was begun with
 * hora_run_begin_sqlite or hora_run_begin_postgres). */
HORA_NODISCARD HORA_API int hora_run_detach(const hora_run *run, hora_run_stop_fn stop, void *arg);

/* hora_run_finish - end a detached run
 *
 * `code` is what a handler would return: 0, or a failure code. The outcome is written soon, by the node. Call
 * it exactly once; `run` is not valid afterwards. The handler of the run must not use `run` if it has not
 * returned yet.
 *
 * If the stop function of the run is being called on another thread, the call waits until it has returned. So
 * do not hold a lock that the stop function waits for. The stop function itself may call hora_run_finish.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until the stop function of the run has returned, if it is being called; never on the database.
 * Errors: HORA_EINVAL (NULL, or the run is not detached). */
HORA_API int hora_run_finish(const hora_run *run, int code);

/* hora_run_begin_sqlite - begin the transaction of a run with HORA_EFFECT_ONCE
 *
 * What the handler writes with the connection is committed together with the outcome of the run if the
 * handler returns 0 and the lease was not lost; otherwise it is rolled back. The handler must not commit or
 * roll back itself. A handler that does not call this function writes nothing.
 *
 * The transaction holds the write lock of the database: other writers, also other nodes, wait for it. Begin
 * it when everything is ready to be written. The handler itself must not write to the store by other calls:
 * they would wait for the transaction until the statement timeout. It puts tasks with hora_store_put_sqlite.
 *
 * Ownership: the connection belongs to hora and is valid until the handler returns.
 * Threads: the thread of the handler.   Blocks: While others write.
 * Errors: HORA_EINVAL (not a SQLite store, or another delivery), HORA_EBUSY, HORA_EIO, HORA_ENOMEM,
 * HORA_EMFILE. */
HORA_NODISCARD HORA_API int hora_run_begin_sqlite(const hora_run *run, struct sqlite3 **ret_connection,
                                                  hora_error *reason);

/* hora_run_begin_postgres - begin the transaction of a run with HORA_EFFECT_ONCE
 *
 * As hora_run_begin_sqlite, with a connection of libpq. Other writers do not wait for it.
 *
 * Ownership: as hora_run_begin_sqlite.   Threads: the thread of the handler.   Blocks: While a connection
 * is made. Errors: as hora_run_begin_sqlite; also HORA_ETIMEDOUT. */
HORA_NODISCARD HORA_API int hora_run_begin_postgres(const hora_run *run, struct pg_conn **ret_connection,
                                                    hora_error *reason);

/* What a durable scheduler reports; see `notify` of hora_durable_options. */
typedef enum hora_durable_event {
    /* the connection to the database was lost; the node tries to reconnect */
    HORA_DURABLE_DISCONNECTED = 1,
    HORA_DURABLE_CONNECTED,
    /* the lease has ended: runs in progress are lost, and a new lease will be requested */
    HORA_DURABLE_FENCED,
    /* firings of a dead node were released; `count` says how many */
    HORA_DURABLE_TOOK_OVER,
    /* the outcomes of `count` runs did not count, because their leases had ended */
    HORA_DURABLE_STALE,
    /* the clock of the store was set; `count` says by how many microseconds */
    HORA_DURABLE_CLOCK_STEPPED,
    /* the database failed in another way; `error` says how */
    HORA_DURABLE_FAILED,
} hora_durable_event;

/* Receives reports. It runs on the thread of the node, which continues when it returns; so it must return
 * soon. */
typedef void (*hora_durable_notify_fn)(hora_durable *durable, hora_durable_event event, int64_t count,
                                       const hora_error *error, void *arg);

/* Planned times of a recurring task that were skipped without a run. The struct and what it points to are
 * valid during the call. */
typedef struct hora_skipped {
    /* sizeof(hora_skipped) of the library */
    uint32_t struct_size;
    /* the task, its handler and its key */
    int64_t task_id;
    const char *handler;
    const char *key;
    hora_skip_reason reason;
    /* how many times, the first and the last of them */
    int64_t count;
    hora_instant first;
    hora_instant last;
    /* the planned time with which the task goes on; it may have passed, too. 0 means none, or that
     * it counts from now (fixed_delay) */
    hora_instant next;
    /* 1, or more if earlier attempts of the firing have run */
    int attempt;
} hora_skipped;

/* Receives what was skipped, after the store has recorded it. It runs on the thread of the node, before that
 * starts the next firing of the task, and under a lock of the durable scheduler: it must return soon, and must
 * not call functions for the durable scheduler. Of more than 10000 times, each call names a part. */
typedef void (*hora_durable_skipped_fn)(hora_durable *durable, const hora_skipped *skipped, void *arg);

/* Options of hora_durable_new. */
typedef struct hora_durable_options {
    /* sizeof(hora_durable_options), set by HORA_DURABLE_OPTIONS */
    uint32_t struct_size;
    /* the scheduler whose threads run the handlers; it must outlive the durable scheduler. NULL means one of
     * its own, with `threads` threads */
    hora_scheduler *scheduler;
    /* number of threads of its own scheduler, 1 to 10000; 0 means the number of processors. Must be 0 if
     * `scheduler` is given */
    int threads;
    /* how many firings are in hand at a time, running or claimed ahead; 0 means 64 for each thread, at least
     * 1024. 1 to 1000000 */
    int max_claimed;
    /* the length of the lease; 0 means 5 s. 1 s to 60 s. A crash delays firings by at most this time and a
     * second */
    hora_ns lease;
    /* how far ahead of their time firings are claimed; 0 means 1 s, or half of the lease if that is shorter.
     * 1 ms to half of the lease */
    hora_ns horizon;
    /* for how long outcomes are collected before they are written; 0 means 10 ms. At most a tenth of the
     * lease. A crash repeats at most the runs of this time */
    hora_ns flush;
    /* the name of the node for people, at most 255 bytes; NULL means the name of the host */
    const char *name;
    /* receives reports; NULL means none */
    hora_durable_notify_fn notify;
    void *notify_arg;
    /* a virtual clock for tests: its boot-time line measures leases and delays. NULL means the clocks of the
     * machine. With `scheduler`, that must use the monotonic line of the same clock */
    hora_virtual_clock *clock;
    /* receives planned times that were skipped, with notify_arg; NULL means none */
    hora_durable_skipped_fn skipped;
} hora_durable_options;

/* HORA_DURABLE_OPTIONS(.threads = 4): an options literal. */
#define HORA_DURABLE_OPTIONS(...) HORA__LITERAL(hora_durable_options, __VA_ARGS__)

/* hora_durable_new - create a durable scheduler; it does nothing before hora_durable_start
 *
 * Ownership: the caller owns *ret_durable and frees it with hora_durable_free. The store and the scheduler
 * must outlive it.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EBUSY (the store has one already: open it once more for another), HORA_ENOMEM,
 * HORA_EAGAIN, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_durable_new(hora_store *store, const hora_durable_options *options,
                                             hora_durable **ret_durable, hora_error *reason);

/* hora_durable_add_handler - register a handler under a name, 1 to 255 bytes of UTF-8
 *
 * drop(arg), if drop is not NULL, is called when the durable scheduler is freed.
 *
 * Ownership: arg is transferred if the call succeeds; the name is copied.   Threads: Owner; only before
 * hora_durable_start.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EEXIST, HORA_EBUSY (already started), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_durable_add_handler(hora_durable *durable, const char *name,
                                                     hora_handler_fn handler, void *arg,
                                                     void (*drop)(void *arg), hora_error *reason);

/* hora_durable_add_trigger - register a trigger under a name; see `trigger` of hora_durable_task
 *
 * The times of the trigger refer to the wall clock, which is that of the store. After hora_durable_start,
 * tasks that wait for the trigger are taken at once. A trigger cannot be removed. The node asks it for times
 * under a lock of the durable scheduler, so it must not call functions for the durable scheduler.
 *
 * Ownership: the durable scheduler takes a reference until it is freed; the name is copied.
 * Threads: Any thread, except in a trigger; before and after hora_durable_start.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EEXIST, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_durable_add_trigger(hora_durable *durable, const char *name,
                                                     hora_trigger *trigger, hora_error *reason);

/* hora_durable_start - join the store and begin to run tasks
 *
 * Ownership: not transferred.   Threads: Owner.   Blocks: Until the node has its lease.
 * Errors: HORA_EBUSY (already started), HORA_EAGAIN, HORA_ENOMEM, HORA_EIO, HORA_ETIMEDOUT, HORA_ENOSPC,
 * HORA_EACCES, HORA_EBADMSG, HORA_EMFILE, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_durable_start(hora_durable *durable, hora_error *reason);

/* hora_durable_stop - take no more firings, wait for runs in progress, and leave the store
 *
 * Firings that have not started are handed back to the store at once. Runs that are still in progress after
 * `timeout` are interrupted, or their stop function is called (hora_run_detach), and the call waits for
 * `timeout` again, but at least a second; runs that do not end even then are handed back, too, and will be
 * repeated elsewhere. Returns the number of runs that were handed back. A second call returns 0.
 *
 * Ownership: not transferred.   Threads: Any thread, except in a handler, a stop function or `notify`.
 * Blocks: until all runs have ended and their outcomes are in the database, or twice the timeout. An
 * interrupt of the calling thread does not end the wait; its flag is set afterwards.
 * Errors: HORA_EINVAL, HORA_EDEADLK (called by a handler, a stop function or `notify`; nothing has changed),
 * HORA_EIO (the database could not be reached: the lease ends by itself), HORA_EFORKED. */
HORA_API int hora_durable_stop(hora_durable *durable, hora_ns timeout, hora_error *reason);

/* hora_durable_free - stop a durable scheduler, and free it; NULL is allowed
 *
 * Waits for runs in progress, however long they take: for handlers to return, and for hora_run_finish. Call
 * hora_durable_stop first to limit that. If the database cannot be reached, it waits for the rest of the
 * lease.
 *
 * Ownership: on success it is freed, and its handlers are dropped.   Threads: Owner.
 * Blocks: until all runs have ended, as hora_durable_stop.
 * Errors: HORA_EDEADLK (called by a handler, a stop function or `notify`), HORA_EFORKED. */
HORA_API int hora_durable_free(hora_durable *durable);

/* The state of a durable scheduler at one moment. */
typedef struct hora_durable_status {
    /* sizeof(hora_durable_status), set by HORA_INIT */
    uint32_t struct_size;
    /* the number of the node in the store; 0 means that it has not joined */
    int64_t node;
    /* it has a lease */
    bool has_lease;
    /* it is connected to the database */
    bool connected;
    /* firings claimed and not started, and runs in progress, also detached ones */
    int64_t claimed;
    int64_t running;
    /* runs since the start: succeeded, failed, and those whose outcome did not count. A run that ends with
     * HORA_RUN_STOPPED is neither of the first two */
    int64_t succeeded;
    int64_t failed;
    int64_t stale;
    /* firings that were skipped */
    int64_t skipped;
    /* exchanges with the database, and firings of dead nodes that this one has released */
    int64_t exchanges;
    int64_t taken_over;
    /* how far the clock of the store is ahead of this machine's wall clock */
    hora_ns clock_offset;
} hora_durable_status;

/* hora_durable_get_status - get the state of a durable scheduler
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_durable_get_status(hora_durable *durable, hora_durable_status *ret_status);

/* hora_durable_await_idle - wait until the store has no task that is due now or earlier and could run here
 *
 * For tests and for programs that drain a queue.
 *
 * Ownership: not transferred.   Threads: Any thread, except in a handler, a stop function or `notify`.
 * Blocks: until then, or for `timeout`.
 * Errors: HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_ECLOSED (stopped meanwhile), HORA_EINVAL, HORA_EDEADLK,
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_durable_await_idle(hora_durable *durable, hora_ns timeout);

HORA_END_DECLS

#endif
