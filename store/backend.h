/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - what a database must do for a store
 *
 * A backend keeps rows and compares numbers; it knows nothing of schedules. Three exist: sqlite.c, postgres.c
 * and memory.c. tests/store/contract runs the same tests on all of them, and this comment is the contract.
 *
 * ROWS. There are five kinds:
 *
 *   meta      the version of the tables, and an id of the store
 *   node      one for each start of a node: its lease. The id is never used again
 *   firing    one for each task that is not dead: its next or current firing. A recurring task whose runs may
 *             overlap has one for the next firing, which has its key, and one for each run in progress
 *   series    one for each recurring task: the definition and the payload, which do not change from firing to
 *             firing. Freed with the last firing of the task
 *   dead      tasks whose attempts are used up
 *   history   a record for each run, of tasks that want that
 *
 * Backends never interpret `definition`, a text that rules.c reads and writes. NULL means all defaults.
 *
 * TIME is in microseconds since 1970, by the clock of the store, read when the call executes: for PostgreSQL
 * clock_timestamp(), not the start of the transaction. A node's own time is never compared with it.
 *
 * A FIRING is in one of these states. Only the transitions named here exist:
 *
 *   waiting   owner is 0. It can be claimed when due <= now + horizon
 *   claimed   owner is a node. `fence` has the value of this claim
 *   paused    owner is 0 and `paused`: it cannot be claimed
 *
 *   claim     waiting -> claimed: owner = node, fence = fence + 1, attempt = attempt + 1
 *   settle    claimed -> waiting or gone, only if owner and fence are those of the claim
 *   release   claimed -> waiting, when the lease of the owner has ended: see `reap`
 *   change    any state: put with replace, cancel, retime, pause, resume
 *   stop      waiting or paused, after an attempt -> the next firing, or gone: see HORA__CHANGE_STOP
 *
 * A change of a claimed firing must not disturb the run in progress. It is recorded in the row and takes
 * effect when the firing is settled or released:
 *
 *   change_due     HORA__UNCHANGED, or when the firing is due after the current run, instead of what the
 *                  settlement says; attempt becomes 0 and `planned` becomes this time. A settlement that
 *                  would delete the row does not delete it
 *   change_cancel  the row is deleted when it is settled or released, whatever the settlement says
 *   paused         the row is paused when it is settled or released
 *
 * DETAILS. A due time in the past is stored as now, whatever call sets it; `planned` stays as given, except
 * that a retime, and change_due when it takes effect, set both to the same time, not before now.
 *
 *   replace   keeps id, fence, `paused` and the latest outcomes. attempt, firings and gave_up become 0,
 *             unless same_time applies: then they and both times stay, and a claimed row gets no change_due.
 *             Everything else is replaced at once, also in a claimed row, which gets change_due
 *   cancel    is about all firings of a task: those that wait are deleted, claimed ones get change_cancel. A
 *             claimed row with change_cancel counts as gone: a put with its key replaces it, whatever
 *             if_exists says, and retime, pause and resume find nothing
 *   key       names the firing that has it, or else the dead task with the greatest id. put does not look at
 *             dead tasks. Changes by the id of a forked row are about the row with the key of its series
 *   revive    keeps id and fence; planned = due = the given time or now, attempt = gave_up = 0
 *   outcome   a run that has ended (hora__settle_has_run) sets last_end and last_code, one that has succeeded
 *             last_success, any outcome gave_up, also in the row with the key if the row was forked. ADVANCE
 *             and DEAD set gave_up without an outcome, too
 *   firings   are counted by ADVANCE, START and FORK, and by a DONE that change_due turns into a waiting row.
 *             In a claimed row without START, a replacement sets HORA__UNCOUNTED, so that the run in progress
 *             does not count for the new task: when it is counted, or the claim ends, it is 0. list shows 0
 *   START     is remembered in the row until the claim ends. Sent again, it changes nothing. It does not end
 *             the claim, so recorded changes stay recorded, and the outcome of the run is settled as always.
 *             If change_cancel is recorded, it changes nothing. If change_due is recorded, planned and due
 *             stay as they are
 *   FORK      is remembered in the row, also for further attempts. Sent again, it makes no second row. A
 *             recorded change_due and `paused` move to the new row; change_cancel: there is no new row. A
 *             forked row is deleted by ADVANCE as by DONE. DEAD deletes it and moves the row with the key to
 *             the dead tasks, unless that is claimed. Its claims and records show the key of the series. If
 *             a one-shot task has replaced the series before the FORK, the row has the contents of that, and
 *             is deleted by every settlement, and when it is released
 *   lost      a claimed row of a dead node has run if START was accepted or its due time has come. Otherwise
 *             the attempt does not count, and there is no record
 *   release   a row with START, of a one-shot task or forked, has no firing that could follow: it is deleted
 *             when it is released, by RELEASE, reap or leave, unless change_due is recorded
 *
 * INVARIANTS, which the contract suite checks:
 *
 *   B1  A firing has at most one owner, and only a claim sets it.
 *   B2  Fences of one firing strictly increase, also after a failover of PostgreSQL that lost commits: the
 *       upper 23 bits of a fence are the timeline of the server (0 elsewhere), the lower 40 bits count.
 *   B3  A settlement with another owner or fence than the row changes nothing and is reported as stale. To
 *       send a settlement again is therefore harmless.
 *   B4  A claim succeeds only while the lease of the node is valid by the clock of the store, in the same
 *       transaction. So does a renewal: a lease that has ended is never extended.
 *   B5  No firing is claimed when due > now + horizon; `paused` ones never.
 *   B6  Every call is one transaction: it happens as a whole or not at all.
 *   B7  A key is on at most one firing.
 *   B8  When a call that writes has returned 0, its effects survive a crash of process, server and
 *   machine. */
#ifndef HORA_STORE_BACKEND_H
#define HORA_STORE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/error.h>
#include <hora/store.h>

enum {
    HORA__LANES = 4,             /* priorities: lane 0 is HORA_PRIORITY_URGENT, 3 is HORA_PRIORITY_LOW */
    HORA__SCHEMA_VERSION = 1,    /* of the tables that this version of hora creates */
    HORA__SCHEMA_COMPATIBLE = 1, /* the oldest version of hora's tables whose nodes can work with them */
    HORA__MAX_NOTE = 65536,      /* bytes of the note of a record */
};

/* No change is recorded in a firing; see change_due above. */
#define HORA__UNCHANGED INT64_MIN
/* `firings` of a claimed row that was replaced: the run in progress is not a firing of the new task. */
#define HORA__UNCOUNTED INT64_C(-1)
/* A time that never comes. */
#define HORA__NEVER INT64_MAX

/* A database that cannot be reached, and a lease that has ended, are not errors of the caller. Backends
 * return these besides the codes of hora/error.h:
 *
 *   HORA_EIO       the connection is lost, or the disk fails. Whether the call has had an effect is not known
 *   HORA_EEXPIRED  the lease has ended: the node must drop its claims and join again
 *   HORA_ETIMEDOUT, HORA_EBUSY    the statement took too long, or waited too long for a lock; no effect
 *   HORA_ENOSPC    no effect
 *   HORA_EBADMSG   the database is damaged
 */

typedef struct hora__lease {
    int64_t node;            /* id of the node, from a sequence: never a host name or a pid */
    uint8_t incarnation[16]; /* random; also compared, because a failover may forget that an id was given */
    int64_t ttl_us;
} hora__lease;

typedef struct hora__bytes {
    const void *data; /* NULL means none */
    size_t size;
} hora__bytes;

/* A firing as it is put. */
typedef struct hora__put {
    const char *handler;
    const char *key; /* NULL means none */
    hora_if_exists if_exists;
    int64_t revision;       /* for HORA_IF_EXISTS_UPGRADE */
    bool recurring;         /* gets a series row with definition, revision and payload */
    const char *definition; /* NULL means all defaults */
    bool same_time;         /* replace: keep planned and due of the old row if its definition is equal */
    hora__bytes payload;
    int lane;
    bool history;
    bool after_now;       /* planned and due count from the store's now; otherwise since 1970 */
    int64_t planned, due; /* a due in the past is stored as now, so that claims need not look far back */
} hora__put;

typedef struct hora__put_done {
    hora_put done;
    int64_t id;
} hora__put_done;

/* A firing as a node receives it. The memory belongs to the backend until the next exchange. */
typedef struct hora__claim {
    int64_t id;
    int64_t series;   /* id of the series row; 0 for a one-shot task */
    int64_t revision; /* of the series row, which grows with every change of it; 0 for a one-shot task */
    int64_t planned, due;
    int64_t fence;
    int attempt;          /* 1 for the first */
    int64_t firings;      /* of the task that have ended */
    int64_t gave_up;      /* firings in a row that gave up */
    int64_t last_end;     /* end of the latest run; 0 means none */
    int64_t last_success; /* end of the latest successful run; 0 means none */
    bool history;
    int lane;
    int handler;            /* index into `handlers` of the exchange */
    const char *key;        /* NULL means none */
    bool forked;            /* FORK was accepted for it, in an earlier attempt */
    bool handed_back;       /* a handler has had it in time, and handed it back: see HORA__SETTLE_RELEASE */
    const char *definition; /* one-shot tasks; NULL means all defaults, and for recurring tasks */
    hora__bytes payload;    /* one-shot tasks */
} hora__claim;

/* What becomes of a claimed firing. */
typedef enum hora__settle_kind {
    /* delete the row: a one-shot task that has ended, or a series that has */
    HORA__SETTLE_DONE = 1,
    /* plan the next firing of a series: planned, due; attempt = 0, firings + 1 */
    HORA__SETTLE_ADVANCE,
    /* another attempt: due; owner = 0 */
    HORA__SETTLE_RETRY,
    /* move the row to the dead tasks */
    HORA__SETTLE_DEAD,
    /* it was not started: owner = 0, attempt - 1, due unchanged or now if that has passed. If ran_planned is
     * given, the next claims of this planned time are `handed_back` */
    HORA__SETTLE_RELEASE,
    /* before the run of HORA_AT_MOST_ONCE: firings + 1, and no other claim runs this firing. The row keeps
     * owner and fence, so that runs of the task do not overlap. A row of a series, unless it is forked, gets
     * planned, due and attempt = 0. A later ADVANCE of that claim sets only planned, due and owner */
    HORA__SETTLE_START,
    /* before a run that may overlap: a new row for planned, due takes over the key, and this row, without it,
     * stays claimed until DONE. Refused with HORA__SETTLED_FULL if more than overlap_max rows of the series
     * would be forked, this one included; rows that wait for another attempt count */
    HORA__SETTLE_FORK,
} hora__settle_kind;

typedef struct hora__settle {
    int64_t id, fence;
    int64_t owner; /* the node that claimed it: that of the lease, or an earlier one of the same process */
    hora__settle_kind kind;
    int64_t planned, due; /* ADVANCE, RETRY (due), START, FORK */
    bool after_now;       /* planned and due count from the store's now: fixed delays and back-off */
    int overlap_max;      /* FORK */
    int64_t skipped;      /* planned times that ADVANCE or DONE leaves out, for the record */
    int64_t last_skipped; /* the last of them, if there was no run; not stored */

    /* the run, for the row and for the record; outcome 0 means that there was no run, and no record */
    hora_run_outcome outcome;
    int code;        /* of the handler, or a hora_skip_reason */
    int64_t run_us;  /* how long the run took: its record ends now, and starts that long ago; HORA__NO_RUN */
    int64_t gave_up; /* new number of firings in a row that gave up */
    bool history;    /* write a record */
    int attempt;     /* for the record, with `ran_planned` */
    int64_t ran_planned;
    hora__bytes note;
} hora__settle;

/* The owner of a row during HORA__CHANGE_STOP, inside of the transaction. */
#define HORA__NO_NODE INT64_C(-1)

/* `run_us` of a firing that is skipped without a run: its record has no start. */
#define HORA__NO_RUN INT64_C(-1)

/* True if the handler has run and ended. Crashes that use up the attempts are settled with HORA_RUN_LOST. */
static inline bool hora__settle_has_run(const hora__settle *settle)
{
    return settle->outcome != (hora_run_outcome)0 && settle->outcome != HORA_RUN_LOST && settle->run_us >= 0;
}

/* Whether a row that is released is deleted, if no change_due is recorded; see `release` and FORK. */
static inline bool hora__release_deletes(bool started, bool forked, bool has_series)
{
    return (started && (forked || !has_series)) || (forked && !has_series);
}

typedef enum hora__settled {
    HORA__SETTLED_OK = 1,
    HORA__SETTLED_STALE, /* owner or fence differ: nothing was changed */
    HORA__SETTLED_FULL,  /* FORK: too many run already; nothing was changed */
} hora__settled;

/* All that a node says and hears in one transaction. The order inside is: renew, settle, claim. */
typedef struct hora__exchange {
    bool renew; /* extend the lease to now + ttl */
    /* Also return, beyond the limits, the firings that the node has claimed already, as they are. Without it,
     * those of a commit whose reply was lost, and those whose settlement a failover has lost, would stay
     * claimed as long as the node lives */
    bool resume;
    /* Read the clock once more after the commit, which may wait for the disk: see clock_estimate.h */
    bool reads_clock;
    const hora__settle *settles;
    size_t settle_count;
    hora__settled *ret_settled; /* array of settle_count, provided by the caller */

    const char *const *handlers; /* claim only firings with these; the array does not change */
    int handler_count;
    int64_t horizon_us;
    /* For each lane: claim at most this many (0: do not look), and only due >= low. A node looks at
     * everything (low = INT64_MIN) about once a second and when told to, and otherwise only beyond the
     * time up to which it has claimed all. So dead rows that PostgreSQL cannot remove yet cost once a
     * second, not every time */
    int claim_limit[HORA__LANES];
    int64_t low[HORA__LANES];

    const hora__claim *ret_claims; /* by lane, due and id */
    size_t ret_claim_count;
    /* the store's clock before it looked for firings to claim. If a limit is not exhausted, all firings of
     * its lane that are due up to ret_begin + horizon_us are claimed, unless they wait for other nodes */
    int64_t ret_begin;
    int64_t ret_now;        /* the store's clock, as late as possible in the transaction */
    int64_t ret_now_after;  /* reads_clock: the same after the commit; otherwise it may be ret_now */
    int64_t ret_lease_left; /* us until the lease ends */
    /* earliest due, from `low` on, of a firing of any handler that still waits; HORA__NEVER: none */
    int64_t ret_next_due[HORA__LANES];
    /* firings of this node with change_cancel, that is runs to stop: ids, valid until the next exchange.
     * Backends may report them only when they renew */
    const int64_t *ret_cancelled;
    size_t ret_cancelled_count;
    /* the lease of another node has ended, or ends later than it can: reap is worth a call. May be set only
     * with renew */
    bool ret_reap;
} hora__exchange;

/* The series row of a claim. Valid until the next call of read_series or exchange. */
typedef struct hora__series {
    int64_t revision;
    const char *definition;
    hora__bytes payload;
} hora__series;

typedef enum hora__change_kind {
    HORA__CHANGE_CANCEL = 1, /* result: a hora_cancel. Dead tasks are removed, too: HORA_CANCEL_REMOVED */
    HORA__CHANGE_RETIME,     /* result: 0 */
    HORA__CHANGE_PAUSE,      /* result: 1, or 0 if it was paused */
    HORA__CHANGE_RESUME,     /* result: 1, or 0 if it was not paused */
    HORA__CHANGE_REVIVE,     /* result: 0; a dead task */
    /* ends the firing with an id and a fence, which has had an attempt and waits, paused or not, for another:
     * as a settlement with HORA_RUN_STOPPED, ADVANCE for a row of a series and DONE for a one-shot row. It is
     * about the row with that id, also if it was forked. The record has node 0. Result: 1, or 0 if there is
     * no such firing that waits */
    HORA__CHANGE_STOP,
} hora__change_kind;

typedef struct hora__change {
    hora__change_kind kind;
    const char *key; /* or */
    int64_t id;
    int64_t due;      /* RETIME and REVIVE; a time in the past means now. STOP: the next planned time */
    int64_t fence;    /* STOP */
    int code;         /* STOP, for the record */
    hora__bytes note; /* STOP, for the record */
} hora__change;

/* The settlement of HORA__CHANGE_STOP. The backend adds what the row knows: attempt, ran_planned, gave_up and
 * history. */
static inline hora__settle hora__change_settlement(const hora__change *change, bool recurring)
{
    return (hora__settle){.id = change->id,
                          .fence = change->fence,
                          .kind = recurring ? HORA__SETTLE_ADVANCE : HORA__SETTLE_DONE,
                          .planned = change->due,
                          .due = change->due,
                          .outcome = HORA_RUN_STOPPED,
                          .code = change->code,
                          .run_us = HORA__NO_RUN,
                          .note = change->note};
}

typedef struct hora__backend_ops hora__backend_ops;

/* The common part of all backends; each has more after it. */
typedef struct hora__backend {
    const hora__backend_ops *ops;
    hora_store_options options; /* complete: no field means "default" any more */
} hora__backend;

/* Callbacks of list and history get complete public structs, with `schedule` of the former NULL and
 * `definition` beside it. */
typedef int (*hora__info_fn)(hora_durable_info *info, const char *definition, void *arg);

/* The calls. `reason` is never NULL. now, put, change, list, history, trim, stats, put_joined and wake may be
 * called by any thread at any time; the backend has a connection of its own for them, and a lock around it.
 * join, exchange, read_series, reap, leave and wait are called by one thread at a time, with their own
 * connection. transactions may run on any thread, each with a connection of its own. */
struct hora__backend_ops {
    const char *name;  /* "memory", "sqlite" or "postgres" */
    bool shared;       /* several processes can open it */
    bool transactions; /* begin, settle_in and end exist */

    void (*close)(hora__backend *backend);

    /* Reads the clock of the store. */
    int (*now)(hora__backend *backend, int64_t *ret_now, hora_error *reason);

    /* Inserts or changes firings; all or none. On error, *ret_wrong is the index of the task that was
     * refused, or `count`. Returns HORA_EEXIST, or an error of the database. After an unknown outcome
     * (HORA_EIO) the backend itself reconnects, finds out and repeats, within the statement timeout. Wakes
     * nodes if a due time is near. */
    int (*put)(hora__backend *backend, const hora__put *puts, size_t count, hora__put_done *ret_done,
               size_t *ret_wrong, hora_error *reason);

    /* The same in a transaction of the caller, with its sqlite3 or PGconn. */
    int (*put_joined)(hora__backend *backend, void *connection, const hora__put *puts, size_t count,
                      hora__put_done *ret_done, size_t *ret_wrong, hora_error *reason);

    /* Returns what hora__change_kind says; HORA_ENOENT except for CANCEL, whose result is
     * HORA_CANCEL_TOO_LATE. */
    int (*change)(hora__backend *backend, const hora__change *change, hora_error *reason);

    int (*list)(hora__backend *backend, const hora_durable_filter *filter, hora__info_fn fn, void *arg,
                hora_error *reason);
    int (*history)(hora__backend *backend, const hora_history_filter *filter, hora_run_record_fn fn,
                   void *arg, hora_error *reason);
    int (*trim)(hora__backend *backend, int64_t before_us, int64_t *ret_deleted, hora_error *reason);
    int (*stats)(hora__backend *backend, hora_store_stats *ret_stats, hora_error *reason);
    int (*wake)(hora__backend *backend, hora_error *reason);

    /* Makes a new node with a lease until now + ttl_us. */
    int (*join)(hora__backend *backend, const char *name, int64_t ttl_us, hora__lease *ret_lease,
                hora_error *reason);

    /* One transaction; see hora__exchange. Reconnects first if the connection is lost. HORA_EEXPIRED: the
     * lease has ended, and nothing was changed. */
    int (*exchange)(hora__backend *backend, const hora__lease *lease, hora__exchange *exchange,
                    hora_error *reason);

    int (*read_series)(hora__backend *backend, int64_t series, hora__series *ret_series, hora_error *reason);

    /* Releases the firings of nodes whose lease has ended, at most `limit`, and deletes such nodes when they
     * have none left. A released firing is due now, if its time has passed. Its lost run gets a record.
     * A lease that ends later than now + ttl was given before the clock was set back: it is shortened to
     * that, so that a dead node does not keep its firings for as long as the clock was set back.
     * After a failover of PostgreSQL it does nothing until every living node has had the time to renew. */
    int (*reap)(hora__backend *backend, const hora__lease *lease, int limit, int64_t *ret_released,
                hora_error *reason);

    /* Releases all firings of the node, without counting an attempt, and deletes it. If its lease has ended,
     * nothing is changed. */
    int (*leave)(hora__backend *backend, const hora__lease *lease, hora_error *reason);

    /* A descriptor that is readable when the store may have changed; -1: there is none, so poll. drain makes
     * it unreadable and returns the earliest due of the changes, or INT64_MIN if it is not known. The
     * descriptor may change after a call that has reconnected. */
    int (*wake_fd)(hora__backend *backend);
    int64_t (*wake_drain)(hora__backend *backend);

    /* HORA_EFFECT_ONCE. begin opens a transaction in a connection of its own. settle_in settles in it: 1
     * if it counts, 0 if it is stale. end commits or rolls back, and takes the connection back. */
    int (*begin)(hora__backend *backend, void **ret_connection, hora_error *reason);
    int (*settle_in)(hora__backend *backend, void *connection, const hora__lease *lease,
                     const hora__settle *settle, hora_error *reason);
    int (*end)(hora__backend *backend, void *connection, bool commit, hora_error *reason);
};

/* Each opens its database, creates or upgrades the tables, and checks their version. `address` is the part of
 * the address after the scheme for sqlite (a path) and the whole address for postgres. */
int hora__sqlite_open(const char *path, const hora_store_options *options, hora__backend **ret_backend,
                      hora_error *reason);
int hora__postgres_open(const char *address, const hora_store_options *options, hora__backend **ret_backend,
                        hora_error *reason);
int hora__memory_open(const hora_store_options *options, hora__backend **ret_backend, hora_error *reason);

#endif
