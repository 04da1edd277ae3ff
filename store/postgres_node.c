/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_node.c - leases: join, reap, leave; series rows; wake-ups */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/clock.h>

#include "postgres.h"
#include "reason.h"
#include "step.h"

enum { MAX_ENDED = 100, /* nodes in one reap, as ENDED_NODES says */ SWEPT = 500 /* as SERIES_SWEEP says */ };

int hora__pg_join(hora__backend *backend, const char *name, int64_t ttl_us, hora__lease *ret_lease,
                  hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    hora__pg_link *link = &postgres->node;
    hora__pg_parameters parameters = {0};
    hora__pg_add_text(&parameters, name);
    hora__pg_add_integer(&parameters, ttl_us);
    int error = hora__pg_connect(link, false, reason);
    if (error == 0) {
        hora__pg_send_begin(link);
        hora__pg_send(link, HORA__PG_JOIN, &parameters);
        hora__pg_send(link, HORA__PG_COMMIT, NULL);
        error = hora__pg_receive(link, reason);
    }
    hora__pg_parameters_free(&parameters);
    if (error < 0)
        return error == HORA_EAGAIN ? HORA_EBUSY : error;
    const PGresult *result = link->results[link->is_pooled ? 2 : 1];
    hora__bytes incarnation = hora__pg_bytes(result, 0, 1);
    assert(incarnation.size == sizeof ret_lease->incarnation);
    *ret_lease = (hora__lease){.node = hora__pg_integer(result, 0, 0), .ttl_us = ttl_us};
    memcpy(ret_lease->incarnation, incarnation.data, incarnation.size);
    return 0;
}

int hora__pg_read_series(hora__backend *backend, int64_t series, hora__series *ret_series, hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    hora__pg_parameters parameters = {0};
    hora__pg_add_integer(&parameters, series);
    int error = hora__pg_connect(&postgres->node, false, reason);
    if (error == 0)
        error = hora__pg_call(&postgres->node, HORA__PG_SERIES_READ, &parameters, reason);
    hora__pg_parameters_free(&parameters);
    if (error < 0)
        return error == HORA_EAGAIN ? HORA_EBUSY : error;
    if (PQntuples(postgres->node.results[0]) == 0)
        return hora__store_refuse(reason, HORA_ENOENT, NULL, "there is no series %lld", (long long)series);
    PQclear(postgres->series);
    postgres->series = hora__pg_take_result(&postgres->node, 0);
    ret_series->revision = hora__pg_integer(postgres->series, 0, 0);
    ret_series->definition = hora__pg_text(postgres->series, 0, 1);
    ret_series->payload = hora__pg_bytes(postgres->series, 0, 2);
    return 0;
}

/* ---- releasing ---- */

static void add_channel(hora__pg_parameters *parameters, const hora__postgres *postgres)
{
    char channel[64];
    (void)snprintf(channel, sizeof channel, "hora.%s", postgres->schema);
    hora__pg_parameters_reset(parameters);
    hora__pg_add_text(parameters, channel);
}

/* Releases firings of these nodes, which are locked, and deletes nodes that have none left. Commits. */
static int release(hora__pg_link *link, const int64_t *nodes, size_t count, int64_t max, bool leaves,
                   int64_t *ret_released, hora_error *reason)
{
    hora__pg_parameters parameters = {0};
    hora__pg_add_int64s(&parameters, nodes, count);
    hora__pg_add_integer(&parameters, max);
    hora__pg_add_integer(&parameters, leaves);
    hora__pg_send(link, HORA__PG_RELEASE, &parameters);
    hora__pg_parameters_reset(&parameters);
    hora__pg_add_int64s(&parameters, nodes, count);
    hora__pg_send(link, HORA__PG_DELETE_NODES, &parameters);
    add_channel(&parameters, link->postgres);
    hora__pg_add_integer(&parameters, INT64_MAX);
    hora__pg_add_integer(&parameters, 0);
    hora__pg_send(link, HORA__PG_NOTIFY, &parameters);
    hora__pg_send(link, HORA__PG_COMMIT, NULL);
    HORA__STEP("postgres: release: before it is sent");
    int error = hora__pg_receive(link, reason);
    HORA__STEP("postgres: release: after the commit");
    hora__pg_parameters_free(&parameters);
    if (error == 0)
        *ret_released = hora__pg_integer(link->results[0], 0, 0);
    return error;
}

static int reap_once(hora__pg_link *link, int max, int64_t *ret_released, hora_error *reason)
{
    int64_t nodes[MAX_ENDED];
    *ret_released = 0;
    hora__pg_send_begin(link);
    int before = link->is_pooled ? 2 : 1;
    hora__pg_send(link, HORA__PG_TIMELINE, NULL);
    hora__pg_send(link, HORA__PG_SHORTEN, NULL);
    hora__pg_send(link, HORA__PG_ENDED_NODES, NULL);
    int error = hora__pg_receive(link, reason);
    if (error < 0)
        return error;
    const PGresult *result = link->results[before + 2];
    int count = PQntuples(result);
    assert(count <= MAX_ENDED);
    for (int i = 0; i < count; i++)
        nodes[i] = hora__pg_integer(result, i, 0);
    if (count > 0)
        return release(link, nodes, (size_t)count, max, false, ret_released, reason);
    return hora__pg_call(link, HORA__PG_COMMIT, NULL, reason);
}

/* When the last two firings of a series end at the same moment in two transactions, neither sees that it is
 * the last one, and the series row is left over. A portion of the series is checked each time. */
static void sweep_series(hora__pg_link *link)
{
    hora__postgres *postgres = link->postgres;
    hora__pg_parameters parameters = {0};
    hora_error ignored;
    hora__pg_add_integer(&parameters, postgres->sweep_after);
    hora__pg_send_begin(link);
    hora__pg_send(link, HORA__PG_SERIES_SWEEP, &parameters);
    hora__pg_send(link, HORA__PG_COMMIT, NULL);
    int error = hora__pg_receive(link, &ignored);
    hora__pg_parameters_free(&parameters);
    if (error < 0)
        return; /* it is repeated */
    const PGresult *result = link->results[link->is_pooled ? 2 : 1];
    bool complete = hora__pg_integer(result, 0, 1) < SWEPT;
    postgres->sweep_after = complete ? 0 : hora__pg_integer(result, 0, 0);
}

int hora__pg_reap(hora__backend *backend, const hora__lease *lease, int limit, int64_t *ret_released,
                  hora_error *reason)
{
    (void)lease;
    hora__postgres *postgres = hora__pg_of(backend);
    int64_t released = 0;
    int error, tries = 0;
    do {
        error = hora__pg_connect(&postgres->node, false, reason);
        if (error == 0)
            error = reap_once(&postgres->node, limit, &released, reason);
    } while (error == HORA_EAGAIN && ++tries < HORA__PG_MAX_TRIES);
    if (error < 0)
        return error == HORA_EAGAIN ? HORA_EBUSY : error;
    *ret_released = released;
    sweep_series(&postgres->node);
    hora_error ignored;
    if (postgres->node.connection != NULL &&
        hora__pg_call(&postgres->node, HORA__PG_NOW, NULL, &ignored) == 0)
        hora__pg_add_partitions(&postgres->node, hora__pg_integer(postgres->node.results[0], 0, 0));
    return 0;
}

int hora__pg_leave(hora__backend *backend, const hora__lease *lease, hora_error *reason)
{
    hora__pg_link *link = &hora__pg_of(backend)->node;
    hora__pg_parameters parameters = {0};
    int error = hora__pg_connect(link, false, reason);
    if (error < 0)
        return error;
    hora__pg_add_integer(&parameters, lease->node);
    hora__pg_add_bytes(&parameters, (hora__bytes){lease->incarnation, 16});
    hora__pg_send_begin(link);
    hora__pg_send(link, HORA__PG_CHECK_LEASE, &parameters);
    error = hora__pg_receive(link, reason);
    hora__pg_parameters_free(&parameters);
    if (error < 0) /* the lease has ended: others release its firings */
        return strcmp(link->state, "22012") == 0 ? 0 : error == HORA_EAGAIN ? HORA_EBUSY : error;
    int64_t released;
    error = release(link, &lease->node, 1, INT64_MAX, true, &released, reason);
    return error == HORA_EAGAIN ? HORA_EBUSY : error;
}

/* ---- wake-ups ---- */

int hora__pg_wake(hora__backend *backend, hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    hora__pg_parameters parameters = {0};
    add_channel(&parameters, postgres);
    hora__pg_add_integer(&parameters, INT64_MIN);
    hora__pg_add_integer(&parameters, 0);
    pthread_mutex_lock(&postgres->lock);
    int error = hora__pg_connect(&postgres->shared, true, reason);
    if (error == 0)
        error = hora__pg_call(&postgres->shared, HORA__PG_NOTIFY, &parameters, reason);
    pthread_mutex_unlock(&postgres->lock);
    hora__pg_parameters_free(&parameters);
    return error == HORA_EAGAIN ? HORA_EBUSY : error;
}

int hora__pg_wake_fd(hora__backend *backend)
{
    hora__postgres *postgres = hora__pg_of(backend);
    if (postgres->is_woken)
        return postgres->ready_pipe[0];
    if (postgres->node.connection == NULL || postgres->node.is_pooled)
        return -1;
    return PQsocket(postgres->node.connection);
}

int64_t hora__pg_wake_drain(hora__backend *backend)
{
    hora__postgres *postgres = hora__pg_of(backend);
    hora__pg_link *link = &postgres->node;
    if (link->connection != NULL) {
        if (PQconsumeInput(link->connection))
            hora__pg_take_notifications(link);
        else
            hora__pg_disconnect(link); /* the server has closed it */
    }
    int64_t due = postgres->is_woken ? postgres->woken_due : HORA__NEVER;
    postgres->is_woken = false;
    return due;
}
