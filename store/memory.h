/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the rows of a store in memory, and the operations on single rows
 *
 * The files memory*.c are the reference for the contract of backend.h: they say in the plainest way what each
 * call does. One lock protects everything. memory_rows.c keeps rows and their indices together, memory_put.c
 * and memory_settle.c change rows for clients and for nodes, memory_query.c looks at them, and memory.c
 * contains the nodes, the clock and the table of operations.
 *
 * A call that can lack memory allocates all it needs before it changes the first row, so it happens as a
 * whole or not at all.
 *
 * All functions of this header require the lock. */
#ifndef HORA_STORE_MEMORY_H
#define HORA_STORE_MEMORY_H

#include <pthread.h>

#include "backend.h"
#include "memory_tree.h"

/* Bytes that several owners share, because a node may look at them after the row has changed. */
typedef struct hora__blob {
    size_t references;
    size_t size;
    char data[]; /* followed by a NUL, which does not count */
} hora__blob;

/* The name of a handler, kept until the store is closed. */
typedef struct hora__memory_handler {
    struct hora__memory_handler *next;
    int index; /* in the handlers of the exchange in progress; -1: not among them */
    char name[];
} hora__memory_handler;

typedef struct hora__row hora__row;

/* What the firings of a recurring task have in common. Exists as long as a row refers to it. */
typedef struct hora__row_series {
    hora__memory_tree_node by_id;
    int64_t id;
    int64_t version; /* grows with every change: `revision` of hora__claim and hora__series */
    hora__blob *key, *definition, *payload;
    hora__row *rows; /* list through series_next: living and dead ones */
} hora__row_series;

/* A firing, or a dead task. */
struct hora__row {
    /* in `firings` or `dead` of the store; with a key in `keys`; waiting in `waiting` of its lane; claimed in
     * `claimed` */
    hora__memory_tree_node by_id, by_key, by_due, by_owner;
    int64_t id;
    const hora__memory_handler *handler;
    hora__blob *key;                  /* NULL: none */
    hora__row_series *series;         /* NULL: one-shot */
    hora__row *series_next;           /* list of the series */
    hora__blob *definition, *payload; /* one-shot; NULL: defaults, none */
    int64_t revision;                 /* of hora__put */
    int lane;
    bool history;
    bool dead;
    bool paused;
    bool started;       /* START was accepted for this claim */
    bool forked;        /* FORK was accepted: another row plans the next firing */
    bool change_cancel; /* see backend.h */
    int64_t change_due;
    int64_t planned, due;
    int64_t ran_planned; /* if started: planned time of the run in progress. Otherwise: see handed_back */
    int64_t owner;       /* id of a node; 0: none */
    int64_t fence;
    int attempt;
    int64_t firings, gave_up;
    int64_t last_end, last_success; /* 0: none */
    int last_code;
};

/* A record of a run. */
typedef struct hora__memory_record {
    size_t references;
    hora_run_record record; /* key and note point into the blobs */
    hora__blob *key, *note;
} hora__memory_record;

typedef struct hora__memory_node {
    struct hora__memory_node *next;
    int64_t id;
    uint8_t incarnation[16];
    int64_t lease_end, ttl;
    bool gone; /* left or reaped; kept because its latest claims may be in use */
    /* results of its latest exchange */
    hora__claim *claims;
    hora__blob **claim_blobs; /* 3 for each claim: key, definition, payload */
    size_t claim_count, claim_capacity;
    int64_t *cancelled;
    size_t cancelled_count, cancelled_capacity;
} hora__memory_node;

typedef struct hora__memory {
    hora__backend backend;
    pthread_mutex_t lock;
    int64_t last_id, last_series, last_node, last_record;
    hora__tree firings, dead;        /* hora__row by id */
    hora__tree keys;                 /* hora__row by key: firings only */
    hora__tree waiting[HORA__LANES]; /* hora__row by due and id: neither claimed nor paused */
    hora__tree claimed;              /* hora__row by owner and id */
    hora__tree series;               /* hora__row_series by id */
    hora__memory_handler *handlers;
    hora__memory_node *nodes;
    hora__memory_record **records; /* by id */
    size_t record_count, record_capacity;
    hora__blob *read_blobs[2]; /* of the latest read_series */
    int wake_read, wake_write; /* a pipe */
    bool wake_pending;         /* a byte is in it */
    int64_t wake_due;
} hora__memory;

/* The row whose field `link` is at `node`. */
#define HORA__ROW_OF(node, link) ((hora__row *)hora__element_of((node), offsetof(hora__row, link)))

/* The element that contains a node at this offset. The tree does not know whether its elements may be
 * changed. */
static inline void *hora__element_of(const hora__memory_tree_node *node, size_t offset)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is a pointer, without its const */
    return (void *)((uintptr_t)node - offset);
}

/* Returns a blob with one reference; NULL if there is no memory. */
hora__blob *hora__blob_new(const void *data, size_t size);
/* Adds a reference; NULL is allowed. */
hora__blob *hora__blob_share(hora__blob *blob);
/* Takes a reference away; NULL is allowed. */
void hora__blob_drop(hora__blob *blob);
/* The text, or NULL. */
const char *hora__blob_text(const hora__blob *blob);

/* Finds or adds the name of a handler; NULL: no memory. */
hora__memory_handler *hora__memory_intern(hora__memory *memory, const char *name);

void hora__rows_init(hora__memory *memory);
void hora__rows_free(hora__memory *memory);

/* A row that is in no index. It has no references to blobs or series. NULL: no memory. */
hora__row *hora__row_new(void);
/* Frees a row that is in no index, with its references. */
void hora__row_free(hora__memory *memory, hora__row *row);
/* Puts a row into the indices that its fields name. A row whose id is 0 gets one. */
void hora__row_link(hora__memory *memory, hora__row *row);
/* Takes a row out of all indices, before fields change by which it is sorted. */
void hora__row_unlink(hora__memory *memory, hora__row *row);
/* Adds a row to a series, which it leaves in hora__row_free or hora__row_leave_series. */
void hora__row_join_series(hora__row *row, hora__row_series *series);
/* Removes a row from its series, if it has one; frees the series with its last row. */
void hora__row_leave_series(hora__memory *memory, hora__row *row);

hora__row *hora__row_by_id(const hora__tree *tree, int64_t id);
hora__row *hora__row_by_key(const hora__memory *memory, const char *key);
/* The dead task with this key that has the greatest id. */
hora__row *hora__row_dead_by_key(const hora__memory *memory, const char *key);
hora__row_series *hora__series_by_id(const hora__memory *memory, int64_t id);
/* The firing of a series that plans the next one: it has the key. NULL: none. */
hora__row *hora__series_head(const hora__row_series *series);

/* The time of the store's clock. */
int hora__memory_now(hora__memory *memory, int64_t *ret_now, hora_error *reason);
/* Makes the descriptor readable: a firing is due at `due`; INT64_MIN: not known. */
void hora__memory_wake(hora__memory *memory, int64_t due);
/* The same if that is within the longest horizon, and the row neither claimed nor paused. */
void hora__memory_wake_for(hora__memory *memory, const hora__row *row, int64_t now);

/* Ends the claim of a row: it waits, paused or not, for `due`, or until now if that has passed. */
void hora__row_wait(hora__memory *memory, hora__row *row, int64_t due, int64_t now);
/* Removes a row, living or dead, from the store and frees it. */
void hora__row_delete(hora__memory *memory, hora__row *row);
/* Hands a claimed row back: changes that are recorded in it take effect. If `uncount`, the attempt does not
 * count. A row whose run has started, and which no firing follows, is deleted. */
void hora__row_release(hora__memory *memory, hora__row *row, bool uncount, int64_t now);

/* A record without contents; NULL: no memory. */
hora__memory_record *hora__record_new(hora__bytes note);
void hora__record_drop(hora__memory_record *record);
/* Makes room for records, so that hora__record_add cannot fail. */
bool hora__records_reserve(hora__memory *memory, size_t count);
/* Completes and adds a record of a run of `row`; the record takes its reference over. */
void hora__record_add(hora__memory *memory, hora__memory_record *record, const hora__row *row,
                      hora_run_record contents);

/* memory_put.c */
int hora__memory_put(hora__backend *backend, const hora__put *puts, size_t count, hora__put_done *ret_done,
                     size_t *ret_wrong, hora_error *reason);
int hora__memory_change(hora__backend *backend, const hora__change *change, hora_error *reason);

/* memory_settle.c: settles all, or returns HORA_ENOMEM and has changed nothing. Requires the lock. */
int hora__memory_settle(hora__memory *memory, const hora__settle *settles, size_t count, int64_t now,
                        hora__settled *ret_settled, hora_error *reason);
/* HORA__CHANGE_STOP. Requires the lock. */
int hora__memory_stop(hora__memory *memory, const hora__change *change, int64_t now, hora_error *reason);

/* memory_query.c */
int hora__memory_list(hora__backend *backend, const hora_durable_filter *filter, hora__info_fn fn, void *arg,
                      hora_error *reason);
int hora__memory_history(hora__backend *backend, const hora_history_filter *filter, hora_run_record_fn fn,
                         void *arg, hora_error *reason);
int hora__memory_trim(hora__backend *backend, int64_t before_us, int64_t *ret_deleted, hora_error *reason);
int hora__memory_stats(hora__backend *backend, hora_store_stats *ret_stats, hora_error *reason);

#endif
