/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_transaction.c - a store in SQLite: transactions of handlers with HORA_EFFECT_ONCE
 *
 * Each transaction has a connection of its own, and the writer's turn from begin to end. A few connections
 * are kept for reuse, unless the handler has left statements behind.
 *
 * The commit hook refuses every commit that is not hora's own. So a handler that commits, or goes on to write
 * after an error has rolled its transaction back, changes nothing in the database. */
#include <assert.h>
#include <stdlib.h>

#include "reason.h"
#include "sqlite.h"

static int on_commit(void *arg)
{
    const hora__connection *connection = arg;
    return !connection->may_commit;
}

/* Takes an idle connection, or opens one. It is put into the list of busy ones. */
static int get_connection(hora__sqlite *store, hora__connection **ret_connection, hora_error *reason)
{
    pthread_mutex_lock(&store->turn_lock);
    hora__connection *connection = store->idle;
    if (connection != NULL) {
        store->idle = connection->next;
        store->idle_count--;
    }
    pthread_mutex_unlock(&store->turn_lock);
    if (connection == NULL) {
        connection = calloc(1, sizeof *connection);
        if (connection == NULL)
            return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
        int error = hora__sqlite_connect(store, false, connection, reason);
        if (error < 0) {
            free(connection);
            return error;
        }
    }
    pthread_mutex_lock(&store->turn_lock);
    connection->next = store->busy;
    store->busy = connection;
    pthread_mutex_unlock(&store->turn_lock);
    *ret_connection = connection;
    return 0;
}

/* Whether all statements of the connection are hora's own. */
static bool is_clean(const hora__connection *connection)
{
    int own = 0, all = 0;
    for (int sql = 0; sql < HORA__SQL_COUNT; sql++)
        own += connection->statements[sql] != NULL;
    for (sqlite3_stmt *statement = NULL; (statement = sqlite3_next_stmt(connection->db, statement)) != NULL;)
        all++;
    return own == all;
}

static void put_connection_back(hora__sqlite *store, hora__connection *connection)
{
    bool is_good = !connection->reopen && is_clean(connection);
    pthread_mutex_lock(&store->turn_lock);
    hora__connection **link = &store->busy;
    while (*link != connection)
        link = &(*link)->next;
    *link = connection->next;
    bool keep = is_good && store->idle_count < HORA__SQLITE_IDLE;
    if (keep) {
        connection->next = store->idle;
        store->idle = connection;
        store->idle_count++;
    }
    pthread_mutex_unlock(&store->turn_lock);
    if (!keep) {
        hora__sqlite_disconnect(connection);
        free(connection);
    }
}

static hora__connection *find_connection(hora__sqlite *store, const sqlite3 *db)
{
    pthread_mutex_lock(&store->turn_lock);
    hora__connection *connection = store->busy;
    while (connection != NULL && connection->db != db)
        connection = connection->next;
    pthread_mutex_unlock(&store->turn_lock);
    return connection;
}

int hora__sqlite_transaction_begin(hora__backend *backend, void **ret_connection, hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection *connection;
    int error = get_connection(store, &connection, reason);
    if (error < 0)
        return error;
    connection->may_commit = true; /* of statements that change nothing, such as those that begin */
    error = hora__sqlite_begin(connection, reason);
    if (error < 0) {
        put_connection_back(store, connection);
        return error;
    }
    connection->may_commit = false;
    connection->deadline = 0; /* the statements of the handler take as long as they take */
    sqlite3_commit_hook(connection->db, on_commit, connection);
    *ret_connection = connection->db;
    return 0;
}

int hora__sqlite_transaction_settle(hora__backend *backend, void *db, const hora__lease *lease,
                                    const hora__settle *settle, hora_error *reason)
{
    (void)lease; /* owner and fence of the settlement decide */
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection *connection = find_connection(store, db);
    if (connection == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, "connection", "it is not one of the store");
    if (sqlite3_get_autocommit(connection->db))
        return hora__store_refuse(reason, HORA_ECANCELED, "connection",
                                  "the transaction has ended: the handler or an error has rolled it back");
    hora__settled settled = hora__sqlite_settle(connection, settle, hora__sqlite_now(store));
    int error = hora__sqlite_result(connection, "settle a run", reason);
    return error < 0 ? error : settled == HORA__SETTLED_OK;
}

int hora__sqlite_transaction_end(hora__backend *backend, void *db, bool commit, hora_error *reason)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    hora__connection *connection = find_connection(store, db);
    if (connection == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, "connection", "it is not one of the store");
    /* Statements that the handler has not finished would keep the transaction open. */
    for (sqlite3_stmt *statement = NULL; (statement = sqlite3_next_stmt(connection->db, statement)) != NULL;)
        sqlite3_reset(statement);
    int error = 0;
    if (commit && sqlite3_get_autocommit(connection->db))
        error = hora__store_refuse(reason, HORA_ECANCELED, "connection",
                                   "the transaction has ended: the handler or an error has rolled it back");
    connection->may_commit = commit && error == 0;
    int ended =
        hora__sqlite_end(connection, commit ? error : HORA_ECANCELED, "commit the transaction", reason);
    sqlite3_commit_hook(connection->db, NULL, NULL);
    put_connection_back(store, connection);
    return commit ? ended : 0;
}
