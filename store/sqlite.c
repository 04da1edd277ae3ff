/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite.c - a store in a SQLite database: open, close, and the table of its operations; see sqlite.h */
#include "sqlite.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reason.h"

static int sqlite_now(hora__backend *backend, int64_t *ret_now, hora_error *reason)
{
    (void)reason;
    *ret_now = hora__sqlite_now((const hora__sqlite *)backend);
    return 0;
}

/* ---- close ---- */

static void sqlite_close(hora__backend *backend)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    assert(store->busy == NULL && !store->writing);
    while (store->idle != NULL) {
        hora__connection *connection = store->idle;
        store->idle = connection->next;
        hora__sqlite_disconnect(connection);
        free(connection);
    }
    hora__sqlite_disconnect(&store->node);
    hora__sqlite_disconnect(&store->common);
    hora__sqlite_wake_close(store);
    while (store->arena != NULL) {
        hora__arena_block *block = store->arena;
        store->arena = block->next;
        free(block);
    }
    pthread_mutex_destroy(&store->wake_lock);
    pthread_mutex_destroy(&store->turn_lock);
    pthread_mutex_destroy(&store->lock);
    free(store->handler_order);
    free(store->claims);
    free(store->cancelled);
    free(store->path);
    free(store);
}

static const hora__backend_ops operations = {
    .name = "sqlite",
    .shared = true,
    .transactions = true,
    .close = sqlite_close,
    .now = sqlite_now,
    .put = hora__sqlite_put,
    .put_joined = hora__sqlite_put_joined,
    .change = hora__sqlite_change,
    .list = hora__sqlite_list,
    .history = hora__sqlite_history,
    .trim = hora__sqlite_trim,
    .stats = hora__sqlite_stats,
    .wake = hora__sqlite_wake,
    .join = hora__sqlite_join,
    .exchange = hora__sqlite_exchange,
    .read_series = hora__sqlite_read_series,
    .reap = hora__sqlite_reap,
    .leave = hora__sqlite_leave,
    .wake_fd = hora__sqlite_wake_fd,
    .wake_drain = hora__sqlite_wake_drain,
    .begin = hora__sqlite_transaction_begin,
    .settle_in = hora__sqlite_transaction_settle,
    .end = hora__sqlite_transaction_end,
};

/* ---- open ---- */

/* A relative path begins with "./", so that SQLite takes neither ":memory:" nor "file:..." for something
 * else. */
static char *copy_path(const char *path)
{
    size_t size = strlen(path) + sizeof "./";
    char *copy = malloc(size);
    if (copy != NULL)
        (void)snprintf(copy, size, "%s%s", path[0] == '/' ? "" : "./", path);
    return copy;
}

/* From here on the path is the one that SQLite has found: absolute, without symbolic links. */
static int keep_path(hora__sqlite *store)
{
    const char *found = sqlite3_db_filename(store->common.db, "main");
    char *path = found != NULL ? strdup(found) : NULL;
    if (path == NULL)
        return HORA_ENOMEM;
    free(store->path);
    store->path = path;
    return 0;
}

static int open_all(hora__sqlite *store, hora_error *reason)
{
    int error = hora__sqlite_connect(store, !store->base.options.existing_only, &store->common, reason);
    if (error == 0 && keep_path(store) < 0)
        error = hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    if (error == 0)
        error = hora__sqlite_prepare(&store->common, reason);
    if (error == 0)
        error = hora__sqlite_connect(store, false, &store->node, reason);
    if (error == 0)
        error = hora__sqlite_wake_open(store, reason);
    return error;
}

int hora__sqlite_open(const char *path, const hora_store_options *options, hora__backend **ret_backend,
                      hora_error *reason)
{
    assert(options->clock != NULL && options->statement_timeout > 0);
    if (sqlite3_threadsafe() == 0)
        return hora__store_refuse(reason, HORA_ENOTSUP, NULL, "SQLite was built without threads");
    hora__sqlite *store = calloc(1, sizeof *store);
    char *copy = copy_path(path);
    if (store == NULL || copy == NULL) {
        free(store);
        free(copy);
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    }
    store->base = (hora__backend){&operations, *options};
    store->path = copy;
    store->last_writer = &store->first_writer;
    store->common.store = store->node.store = store;
    store->wake_fd = store->wake_watch = store->wake_pipe[0] = store->wake_pipe[1] = -1;
    /* With default attributes, these cannot fail. */
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->turn_lock, NULL);
    pthread_mutex_init(&store->wake_lock, NULL);
    int error = open_all(store, reason);
    if (error < 0) {
        sqlite_close(&store->base);
        return error;
    }
    *ret_backend = &store->base;
    return 0;
}
