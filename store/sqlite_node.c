/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_node.c - a store in SQLite: join, exchange, reap and leave
 *
 * One thread at a time calls these functions. What an exchange returns is kept in memory of the store until
 * the next one. The lease is compared with the clock after the transaction has the lock of the database, so
 * no other process can act on an older clock in between. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <sys/random.h>

#include "reason.h"
#include "sqlite.h"
#include "units.h"

enum {
    ARENA_BLOCK = 64 * 1024,
    RECENT_US = 500000, /* what was put for now, and committed in this time, is due after that */
};

/* ---- memory of the results ---- */

/* Forgets all, and keeps one block. */
static void arena_clear(hora__sqlite *store)
{
    while (store->arena != NULL && (store->arena->next != NULL || store->arena->size > ARENA_BLOCK)) {
        hora__arena_block *block = store->arena;
        store->arena = block->next;
        free(block);
    }
    if (store->arena != NULL)
        store->arena->used = 0;
}

/* Copies bytes and appends a NUL. NULL: no memory. */
static void *arena_copy(hora__sqlite *store, const void *data, size_t size)
{
    hora__arena_block *block = store->arena;
    if (block == NULL || block->size - block->used < size + 1) {
        size_t space = size + 1 > ARENA_BLOCK ? size + 1 : ARENA_BLOCK;
        block = malloc(sizeof *block + space);
        if (block == NULL)
            return NULL;
        *block = (hora__arena_block){.next = store->arena, .size = space};
        store->arena = block;
    }
    char *copy = (char *)block->data + block->used;
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    block->used += size + 1;
    return copy;
}

/* Copies a column. False: no memory. */
static bool copy_text(hora__sqlite *store, sqlite3_stmt *statement, int column, const char **ret_text)
{
    *ret_text = NULL;
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return true;
    const void *text = sqlite3_column_text(statement, column);
    if (text != NULL)
        *ret_text = arena_copy(store, text, (size_t)sqlite3_column_bytes(statement, column));
    return *ret_text != NULL;
}

static bool copy_bytes(hora__sqlite *store, sqlite3_stmt *statement, int column, hora__bytes *ret_bytes)
{
    *ret_bytes = (hora__bytes){NULL, 0};
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return true;
    const void *data = sqlite3_column_blob(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);
    ret_bytes->data = data != NULL || size == 0 ? arena_copy(store, data, size) : NULL;
    ret_bytes->size = size;
    return ret_bytes->data != NULL;
}

/* Makes room for one more element. */
static bool grow(void **array, size_t count, size_t *space, size_t size)
{
    if (count < *space)
        return true;
    size_t more = *space > 0 ? 2 * *space : 64;
    void *larger = realloc(*array, more * size);
    if (larger == NULL)
        return false;
    *array = larger;
    *space = more;
    return true;
}

/* ---- handlers ---- */

static const char *name_at(const hora__sqlite *store, int place)
{
    return store->handlers[store->handler_order[place]];
}

/* Sorts the names by insertion: mostly they are those of the exchange before, and sorted. */
static void sort_names(hora__sqlite *store)
{
    int *order = store->handler_order;
    for (int i = 1; i < store->handler_count; i++)
        for (int j = i; j > 0 && strcmp(name_at(store, j - 1), name_at(store, j)) > 0; j--) {
            int swapped = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swapped;
        }
}

/* Prepares find_handler. False: no memory. */
static bool set_handlers(hora__sqlite *store, const hora__exchange *exchange)
{
    if (store->handler_order == NULL || store->handler_count != exchange->handler_count) {
        store->handler_count = 0;
        size_t size = ((size_t)exchange->handler_count + 1) * sizeof *store->handler_order;
        int *order = realloc(store->handler_order, size);
        if (order == NULL)
            return false;
        for (int i = 0; i < exchange->handler_count; i++)
            order[i] = i;
        store->handler_order = order;
        store->handler_count = exchange->handler_count;
    }
    store->handlers = exchange->handlers;
    sort_names(store);
    return true;
}

/* The index of a handler; -1: the node does not have it. */
static int find_handler(const hora__sqlite *store, const char *name)
{
    int low = 0, high = store->handler_count;
    while (name != NULL && low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(name, name_at(store, middle));
        if (order == 0)
            return store->handler_order[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* The SQL function hora_handler(name). */
static void on_handler(sqlite3_context *context, int count, sqlite3_value **values)
{
    assert(count == 1);
    (void)count;
    const hora__sqlite *store = sqlite3_user_data(context);
    sqlite3_result_int(context, find_handler(store, (const char *)sqlite3_value_text(values[0])));
}

static bool add_function(hora__connection *connection)
{
    if (!connection->has_function)
        connection->has_function = hora__sqlite_check(
            connection, sqlite3_create_function_v2(connection->db, "hora_handler", 1, SQLITE_UTF8,
                                                   connection->store, on_handler, NULL, NULL, NULL));
    return connection->has_function;
}

/* ---- leases ---- */

int hora__sqlite_join(hora__backend *backend, const char *name, int64_t ttl_us, hora__lease *ret_lease,
                      hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection *connection = &store->node;
    hora__lease lease = {.ttl_us = ttl_us};
    if (getentropy(lease.incarnation, sizeof lease.incarnation) != 0)
        return hora__store_refuse(reason, HORA_EIO, NULL, "the system gives no random numbers");
    int error = hora__sqlite_begin(connection, reason);
    if (error < 0)
        return error;
    int64_t now = hora__sqlite_now(store);
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_JOIN);
    hora__sqlite_blob(connection, statement, 1, lease.incarnation, sizeof lease.incarnation);
    hora__sqlite_text(connection, statement, 2, name != NULL ? name : "");
    hora__sqlite_int(connection, statement, 3, ttl_us);
    hora__sqlite_int(connection, statement, 4, now);
    hora__sqlite_int(connection, statement, 5, hora__sum(now, ttl_us));
    if (hora__sqlite_run(connection, statement))
        lease.node = sqlite3_last_insert_rowid(connection->db);
    error = hora__sqlite_end(connection, 0, "join the store", reason);
    if (error == 0)
        *ret_lease = lease;
    return error;
}

/* The end of a lease; INT64_MIN: the store does not know the node. */
static int64_t read_lease(hora__connection *connection, const hora__lease *lease)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_LEASE);
    hora__sqlite_int(connection, statement, 1, lease->node);
    hora__sqlite_blob(connection, statement, 2, lease->incarnation, sizeof lease->incarnation);
    return hora__sqlite_number(connection, statement, INT64_MIN);
}

/* Whether there is a node whose lease has ended, or ends later than it can. */
static bool has_ended(hora__connection *connection, int64_t now)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_ENDED);
    hora__sqlite_int(connection, statement, 1, now);
    return hora__sqlite_number(connection, statement, 0) != 0;
}

/* ---- exchange ---- */

/* Fills a claim from a row of DUE or CLAIMED. False: no memory. */
static bool read_claim(hora__sqlite *store, sqlite3_stmt *statement, hora__claim *ret_claim)
{
    int column = 0;
    hora__claim *claim = ret_claim;
    claim->id = sqlite3_column_int64(statement, column++);
    claim->series = sqlite3_column_int64(statement, column++);
    claim->revision = sqlite3_column_int64(statement, column++);
    claim->planned = sqlite3_column_int64(statement, column++);
    claim->due = sqlite3_column_int64(statement, column++);
    claim->fence = sqlite3_column_int64(statement, column++);
    claim->attempt = (int)sqlite3_column_int64(statement, column++);
    claim->firings = sqlite3_column_int64(statement, column++);
    claim->gave_up = sqlite3_column_int64(statement, column++);
    claim->last_end = sqlite3_column_int64(statement, column++);
    claim->last_success = sqlite3_column_int64(statement, column++);
    claim->history = sqlite3_column_int64(statement, column++) != 0;
    claim->lane = (int)sqlite3_column_int64(statement, column++);
    claim->forked = sqlite3_column_int64(statement, column++) != 0;
    claim->handed_back = sqlite3_column_int64(statement, column++) != 0;
    claim->handler = find_handler(store, (const char *)sqlite3_column_text(statement, column++));
    return copy_text(store, statement, column, &claim->key) &&
           copy_text(store, statement, column + 1, &claim->definition) &&
           copy_bytes(store, statement, column + 2, &claim->payload);
}

/* Reads claims, which have been bound to a statement. False: there was no memory for all of them. */
static bool read_claims(hora__sqlite *store, sqlite3_stmt *statement, hora__exchange *exchange)
{
    while (hora__sqlite_step(&store->node, statement)) {
        void *claims = store->claims;
        bool grown = grow(&claims, exchange->ret_claim_count, &store->claim_space, sizeof *store->claims);
        store->claims = claims;
        if (!grown || !read_claim(store, statement, &store->claims[exchange->ret_claim_count])) {
            hora__sqlite_reset(statement);
            return false;
        }
        exchange->ret_claim_count++;
    }
    return true;
}

/* `resume`: what the node has claimed already. */
static bool read_claimed(hora__sqlite *store, const hora__lease *lease, hora__exchange *exchange)
{
    sqlite3_stmt *statement = hora__sqlite_use(&store->node, HORA__SQL_CLAIMED);
    hora__sqlite_int(&store->node, statement, 1, lease->node);
    return read_claims(store, statement, exchange);
}

static sqlite3_stmt *use_for_lane(hora__sqlite *store, hora__sql sql, const hora__exchange *exchange,
                                  int lane, int64_t limit, int64_t now)
{
    hora__connection *connection = &store->node;
    sqlite3_stmt *statement = hora__sqlite_use(connection, sql);
    hora__sqlite_int(connection, statement, 1, lane);
    hora__sqlite_int(connection, statement, 2, exchange->low[lane]);
    hora__sqlite_int(connection, statement, 3, hora__sum(now, exchange->horizon_us));
    hora__sqlite_int(connection, statement, 4, limit);
    return statement;
}

/* Claims what is due in a lane: waiting -> claimed. One statement reads the rows, and one changes the same
 * rows. A lack of memory ends the claims early: a later exchange claims the rest. */
static void claim_lane(hora__sqlite *store, const hora__lease *lease, hora__exchange *exchange, int lane,
                       int64_t now)
{
    hora__connection *connection = &store->node;
    size_t first = exchange->ret_claim_count;
    (void)read_claims(store,
                      use_for_lane(store, HORA__SQL_DUE, exchange, lane, exchange->claim_limit[lane], now),
                      exchange);
    int64_t count = (int64_t)(exchange->ret_claim_count - first);
    if (count == 0)
        return;
    for (size_t i = first; i < exchange->ret_claim_count; i++) {
        assert(store->claims[i].handler >= 0);
        store->claims[i].fence++;
        store->claims[i].attempt++;
    }
    sqlite3_stmt *statement = use_for_lane(store, HORA__SQL_CLAIM, exchange, lane, count, now);
    hora__sqlite_int(connection, statement, 5, lease->node);
    hora__sqlite_run(connection, statement);
    assert(connection->failed != SQLITE_OK || sqlite3_changes64(connection->db) == count);
}

static void claim_all(hora__sqlite *store, const hora__lease *lease, hora__exchange *exchange, int64_t now)
{
    hora__connection *connection = &store->node;
    for (int lane = 0; lane < HORA__LANES; lane++)
        if (exchange->claim_limit[lane] > 0)
            claim_lane(store, lease, exchange, lane, now);
    exchange->ret_claims = store->claims;
    for (int lane = 0; lane < HORA__LANES; lane++) {
        sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_NEXT_DUE);
        hora__sqlite_int(connection, statement, 1, lane);
        hora__sqlite_int(connection, statement, 2, exchange->low[lane]);
        exchange->ret_next_due[lane] = hora__sqlite_number(connection, statement, HORA__NEVER);
    }
}

/* Reads ids into the memory for cancelled firings. A lack of memory shortens the list. */
static size_t read_ids(hora__sqlite *store, sqlite3_stmt *statement)
{
    size_t count = 0;
    while (hora__sqlite_step(&store->node, statement)) {
        void *ids = store->cancelled;
        bool grown = grow(&ids, count, &store->cancelled_space, sizeof *store->cancelled);
        store->cancelled = ids;
        if (!grown) {
            hora__sqlite_reset(statement);
            break;
        }
        store->cancelled[count++] = sqlite3_column_int64(statement, 0);
    }
    return count;
}

/* Reads which firings of the node are cancelled, if that can have changed, and whenever it renews its lease:
 * a reply may have been lost. */
static void read_cancelled(hora__sqlite *store, const hora__lease *lease, hora__exchange *exchange)
{
    sqlite3_stmt *statement = hora__sqlite_use(&store->node, HORA__SQL_CANCELLED);
    hora__sqlite_int(&store->node, statement, 1, lease->node);
    exchange->ret_cancelled_count = read_ids(store, statement);
    exchange->ret_cancelled = store->cancelled;
}

/* Whether an exchange finds what was put recently: it looks into all lanes, and not only beyond what it has
 * seen before. */
static bool finds_changes(const hora__exchange *exchange, int64_t now)
{
    for (int lane = 0; lane < HORA__LANES; lane++)
        if (exchange->claim_limit[lane] == 0 || exchange->low[lane] > now - RECENT_US)
            return false;
    return true;
}

/* Notes up to which change the node has seen the store. Returns whether firings were cancelled meanwhile. */
static bool read_changes(hora__sqlite *store, bool finds)
{
    hora__connection *connection = &store->node;
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_CHANGES);
    if (!hora__sqlite_step(connection, statement))
        return false;
    int64_t cancels = sqlite3_column_int64(statement, 1);
    bool cancelled = cancels != store->seen_cancels;
    if (finds)
        store->seen_changes = sqlite3_column_int64(statement, 0);
    store->seen_cancels = cancels;
    hora__sqlite_reset(statement);
    return cancelled;
}

static int exchange_all(hora__sqlite *store, const hora__lease *lease, hora__exchange *exchange,
                        hora_error *reason)
{
    hora__connection *connection = &store->node;
    if (!add_function(connection))
        return 0;
    int64_t now = hora__sqlite_now(store), end = read_lease(connection, lease);
    if (connection->failed == SQLITE_OK && end <= now)
        return hora__store_refuse(reason, HORA_EEXPIRED, NULL, "the lease of node %lld has ended",
                                  (long long)lease->node);
    if (exchange->renew) {
        end = hora__sum(now, lease->ttl_us);
        hora__sqlite_run2(connection, HORA__SQL_RENEW, lease->node, end);
    }
    for (size_t i = 0; i < exchange->settle_count; i++)
        exchange->ret_settled[i] = hora__sqlite_settle(connection, &exchange->settles[i], now);
    if (exchange->resume && !read_claimed(store, lease, exchange))
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "no memory for the claims of a node");
    claim_all(store, lease, exchange, now);
    if (read_changes(store, finds_changes(exchange, now)) || exchange->renew)
        read_cancelled(store, lease, exchange);
    exchange->ret_reap = exchange->renew && has_ended(connection, now);
    exchange->ret_begin = now;
    exchange->ret_now = hora__sqlite_now(store);
    exchange->ret_lease_left = end - exchange->ret_now;
    return 0;
}

int hora__sqlite_exchange(hora__backend *backend, const hora__lease *lease, hora__exchange *exchange,
                          hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    arena_clear(store);
    exchange->ret_claim_count = exchange->ret_cancelled_count = 0;
    if (!set_handlers(store, exchange))
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    int error = hora__sqlite_begin(&store->node, reason);
    if (error < 0)
        return error;
    error = exchange_all(store, lease, exchange, reason);
    error = hora__sqlite_end(&store->node, error, "exchange with the store", reason);
    exchange->ret_now_after = hora__sqlite_now(store);
    return error;
}

int hora__sqlite_read_series(hora__backend *backend, int64_t series, hora__series *ret_series,
                             hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection *connection = &store->node;
    int error = hora__sqlite_start(connection, reason);
    if (error < 0)
        return error;
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_SERIES);
    hora__sqlite_int(connection, statement, 1, series);
    if (!hora__sqlite_step(connection, statement)) {
        error = hora__sqlite_result(connection, "read a task", reason);
        return error < 0 ? error
                         : hora__store_refuse(reason, HORA_ENOENT, NULL, "there is no series %lld",
                                              (long long)series);
    }
    hora__series found = {.revision = sqlite3_column_int64(statement, 0)};
    bool copied =
        copy_text(store, statement, 1, &found.definition) && copy_bytes(store, statement, 2, &found.payload);
    hora__sqlite_reset(statement);
    if (!copied)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    *ret_series = found;
    return 0;
}

/* ---- reap and leave ---- */

static bool next_of_owner(hora__connection *connection, int64_t owner, hora__sqlite_row *ret_row)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_ROW_OF_OWNER);
    hora__sqlite_int(connection, statement, 1, owner);
    return hora__sqlite_read_row(connection, statement, ret_row);
}

/* Releases a firing whose run may have been lost. A node does not start a firing before its time. */
static void release_lost(hora__connection *connection, hora__sqlite_row *row, int64_t now)
{
    bool may_have_run = row->started || row->due <= now;
    if (may_have_run && row->history)
        hora__sqlite_record_lost(connection, row, now);
    if (!may_have_run && row->attempt > 0)
        row->attempt--;
    hora__sqlite_release_row(connection, row, now);
}

/* Finds firings of nodes whose lease has ended. Their ids are in the memory for cancelled firings, which
 * is free between two exchanges. A lack of memory shortens the list. */
static size_t find_lost(hora__sqlite *store, int limit, int64_t now)
{
    hora__connection *connection = &store->node;
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_LOST);
    hora__sqlite_int(connection, statement, 1, now);
    hora__sqlite_int(connection, statement, 2, limit > 0 ? limit : 0);
    return read_ids(store, statement);
}

/* Returns the number of released firings. */
static int64_t reap_all(hora__sqlite *store, int limit, int64_t now)
{
    hora__connection *connection = &store->node;
    hora__sqlite_run1(connection, HORA__SQL_SHORTEN, now);
    size_t count = find_lost(store, limit, now);
    for (size_t i = 0; i < count; i++) {
        hora__sqlite_row row;
        if (hora__sqlite_find_row(connection, NULL, store->cancelled[i], &row))
            release_lost(connection, &row, now);
    }
    hora__sqlite_run1(connection, HORA__SQL_DELETE_ENDED, now);
    if (count > 0)
        hora__sqlite_run1(connection, HORA__SQL_CHANGED, 0);
    return (int64_t)count;
}

int hora__sqlite_reap(hora__backend *backend, const hora__lease *lease, int limit, int64_t *ret_released,
                      hora_error *reason)
{
    (void)lease;
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection *connection = &store->node;
    /* Mostly there is nothing to do, and reading takes no lock. */
    int error = hora__sqlite_start(connection, reason);
    if (error < 0)
        return error;
    bool none = !has_ended(connection, hora__sqlite_now(store));
    error = hora__sqlite_result(connection, "look for dead nodes", reason);
    int64_t released = 0;
    if (error == 0 && !none) {
        error = hora__sqlite_begin(connection, reason);
        if (error == 0) {
            released = reap_all(store, limit, hora__sqlite_now(store));
            error = hora__sqlite_end(connection, 0, "release the firings of dead nodes", reason);
        }
    }
    if (error < 0)
        return error;
    if (released > 0)
        hora__sqlite_wake_nodes(store, INT64_MIN);
    *ret_released = released;
    return 0;
}

int hora__sqlite_leave(hora__backend *backend, const hora__lease *lease, hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection *connection = &store->node;
    int error = hora__sqlite_begin(connection, reason);
    if (error < 0)
        return error;
    int64_t now = hora__sqlite_now(store);
    if (read_lease(connection, lease) > now) {
        hora__sqlite_row row;
        while (next_of_owner(connection, lease->node, &row)) {
            row.attempt -= row.attempt > 0;
            hora__sqlite_release_row(connection, &row, now);
        }
        hora__sqlite_run1(connection, HORA__SQL_DELETE_NODE, lease->node);
        hora__sqlite_run1(connection, HORA__SQL_CHANGED, 0);
    }
    error = hora__sqlite_end(connection, 0, "leave the store", reason);
    if (error == 0)
        hora__sqlite_wake_nodes(store, INT64_MIN);
    return error;
}
