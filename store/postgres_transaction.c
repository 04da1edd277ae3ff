/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_transaction.c - HORA_EFFECT_ONCE: a transaction that the handler and the settlement share
 *
 * The handler gets a connection of libpq inside a transaction. A few connections are kept for the next
 * transactions. The pointer that the caller has is that of the PGconn; its link is found by it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "postgres.h"
#include "reason.h"
#include "step.h"

static hora__pg_link *take_kept(hora__postgres *postgres)
{
    pthread_mutex_lock(&postgres->lock);
    hora__pg_link *link = postgres->kept_count > 0 ? postgres->kept[--postgres->kept_count] : NULL;
    pthread_mutex_unlock(&postgres->lock);
    return link;
}

static void free_link(hora__pg_link *link)
{
    hora__pg_disconnect(link);
    free(link);
}

/* Keeps the connection for the next transaction, if it is in order and there is room. */
static void give_back(hora__postgres *postgres, hora__pg_link *link)
{
    bool in_order =
        PQstatus(link->connection) == CONNECTION_OK && PQtransactionStatus(link->connection) == PQTRANS_IDLE;
    hora__pg_clear_results(link);
    pthread_mutex_lock(&postgres->lock);
    if (in_order && postgres->kept_count < HORA__PG_KEPT_LINKS) {
        postgres->kept[postgres->kept_count++] = link;
        link = NULL;
    }
    pthread_mutex_unlock(&postgres->lock);
    if (link != NULL)
        free_link(link);
}

/* A connection that was kept may have been lost meanwhile: BEGIN finds that out. */
static hora__pg_link *begin_kept(hora__postgres *postgres)
{
    hora__pg_link *link;
    hora_error ignored;
    while ((link = take_kept(postgres)) != NULL) {
        if (hora__pg_execute(link, "BEGIN", &ignored) == 0)
            return link;
        free_link(link);
    }
    return NULL;
}

int hora__pg_begin(hora__backend *backend, void **ret_connection, hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    hora__pg_link *link = begin_kept(postgres);
    if (link == NULL) {
        link = calloc(1, sizeof *link);
        if (link == NULL)
            return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory");
        *link = (hora__pg_link){.postgres = postgres, .use = HORA__PG_TRANSACTION};
        int error = hora__pg_connect(link, true, reason);
        if (error == 0)
            error = hora__pg_execute(link, "BEGIN", reason);
        if (error < 0) {
            free_link(link);
            return error;
        }
    }
    pthread_mutex_lock(&postgres->lock);
    link->next = postgres->open;
    postgres->open = link;
    pthread_mutex_unlock(&postgres->lock);
    *ret_connection = link->connection;
    return 0;
}

/* Finds the link of a connection; with `remove`, takes it out of the list. */
static hora__pg_link *find_link(hora__postgres *postgres, const PGconn *connection, bool remove)
{
    pthread_mutex_lock(&postgres->lock);
    hora__pg_link **place = &postgres->open;
    while (*place != NULL && (*place)->connection != connection)
        place = &(*place)->next;
    hora__pg_link *link = *place;
    if (link != NULL && remove)
        *place = link->next;
    pthread_mutex_unlock(&postgres->lock);
    assert(link != NULL);
    return link;
}

/* The row is locked first, so that no change can come between; see postgres_statements.c. */
int hora__pg_settle_in(hora__backend *backend, void *connection, const hora__lease *lease,
                       const hora__settle *settle, hora_error *reason)
{
    (void)lease; /* owner and fence decide */
    hora__pg_link *link = find_link(hora__pg_of(backend), connection, false);
    if (PQtransactionStatus(connection) != PQTRANS_INTRANS)
        return hora__store_refuse(reason, HORA_EINVAL, NULL,
                                  "a statement of the handler has failed, or it has ended the transaction");
    hora__pg_parameters parameters = {0};
    hora__pg_add_int64s(&parameters, &settle->id, 1);
    hora__pg_send(link, HORA__PG_LOCK_FIRINGS, &parameters);
    hora__pg_settle_parameters(&parameters, &settle, 1);
    hora__pg_send(link, HORA__PG_SETTLE_FULL, &parameters);
    int error = hora__pg_receive(link, reason);
    HORA__STEP("postgres: settle_in: settled");
    hora__pg_parameters_free(&parameters);
    if (error < 0)
        return error == HORA_EAGAIN ? HORA_EBUSY : error;
    return hora__pg_array_count(link->results[1], 0, 0) == 1;
}

static int commit_transaction(hora__pg_link *link, hora_error *reason)
{
    PGTransactionStatusType status = PQtransactionStatus(link->connection);
    if (status == PQTRANS_IDLE || status == PQTRANS_INERROR)
        return hora__store_refuse(reason, HORA_EINVAL, NULL,
                                  "a statement of the handler has failed, or it has ended the transaction");
    HORA__STEP("postgres: end: before the commit");
    int error = hora__pg_execute(link, "COMMIT", reason);
    HORA__STEP("postgres: end: after the commit");
    return error == HORA_EAGAIN ? HORA_EBUSY : error;
}

int hora__pg_end(hora__backend *backend, void *connection, bool commit, hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    hora__pg_link *link = find_link(postgres, connection, true);
    int error = commit ? commit_transaction(link, reason) : 0;
    if (PQtransactionStatus(link->connection) != PQTRANS_IDLE)
        hora__pg_rollback(link);
    if (link->connection == NULL)
        free_link(link);
    else
        give_back(postgres, link);
    return error;
}
