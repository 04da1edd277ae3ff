/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_change.c - cancel, retime, pause, resume, revive and stop
 *
 * Each finds and locks the rows of the task first. A claimed row is only marked; see `change` in backend.h.
 * A task whose cancellation waits for its run counts as gone. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/future.h>

#include "postgres.h"
#include "reason.h"
#include "step.h"

enum { MAX_ROWS = 1001 }; /* overlap_max, and the row with the key */

/* The rows of a task. */
typedef struct task_rows {
    int count;
    int64_t series;
    int64_t ids[MAX_ROWS];
    int64_t with_key;  /* id of the row that has the key, or of a one-shot task; 0: none */
    bool is_cancelled; /* that row will be deleted when it is settled */
} task_rows;

static int not_found(const hora__change *change, hora_error *reason)
{
    if (change->key != NULL)
        return hora__store_refuse(reason, HORA_ENOENT, "key", "there is no task with the key \"%.100s\"",
                                  change->key);
    return hora__store_refuse(reason, HORA_ENOENT, "id", "there is no task with the id %lld",
                              (long long)change->id);
}

static void read_rows(const PGresult *result, task_rows *rows)
{
    rows->count = 0;
    rows->with_key = 0;
    for (int row = 0; row < PQntuples(result) && row < MAX_ROWS; row++) {
        rows->ids[rows->count++] = hora__pg_integer(result, row, 0);
        rows->series = hora__pg_integer(result, row, 1);
        if (hora__pg_boolean(result, row, 2))
            continue;
        rows->with_key = hora__pg_integer(result, row, 0);
        rows->is_cancelled = hora__pg_boolean(result, row, 3);
    }
}

/* Begins the transaction, and finds and locks all rows of the task. */
static int find(hora__pg_link *link, const hora__change *change, hora__pg_parameters *parameters,
                task_rows *ret_rows, hora_error *reason)
{
    hora__pg_parameters_reset(parameters);
    if (change->key != NULL)
        hora__pg_add_text(parameters, change->key);
    else
        hora__pg_add_integer(parameters, change->id);
    hora__pg_send_begin(link);
    int before = link->is_pooled ? 2 : 1;
    hora__pg_send(link, change->key != NULL ? HORA__PG_FIND_KEY : HORA__PG_FIND_ID, parameters);
    int error = hora__pg_receive(link, reason);
    if (error < 0)
        return error;
    *ret_rows = (task_rows){0};
    read_rows(link->results[before], ret_rows);
    if (ret_rows->count == 0 || ret_rows->series == 0)
        return 0;
    hora__pg_parameters_reset(parameters);
    hora__pg_add_integer(parameters, ret_rows->series);
    error = hora__pg_call(link, HORA__PG_FIND_SERIES, parameters, reason);
    if (error == 0)
        read_rows(link->results[0], ret_rows);
    return error;
}

static int affected(PGresult *result)
{
    return (int)strtol(PQcmdTuples(result), NULL, 10);
}

static void add_dead(hora__pg_parameters *parameters, const hora__change *change)
{
    hora__pg_parameters_reset(parameters);
    hora__pg_add_text(parameters, change->key);
    if (change->key == NULL)
        hora__pg_add_integer(parameters, change->id);
    else
        hora__pg_add_bytes(parameters, (hora__bytes){NULL, 0});
}

static int cancel(hora__pg_link *link, const hora__change *change, const task_rows *rows,
                  hora__pg_parameters *parameters, hora_error *reason)
{
    if (rows->count == 0) {
        add_dead(parameters, change);
        int error = hora__pg_call(link, HORA__PG_CANCEL_DEAD, parameters, reason);
        return error < 0                        ? error
               : affected(link->results[0]) > 0 ? HORA_CANCEL_REMOVED
                                                : HORA_CANCEL_TOO_LATE;
    }
    hora__pg_parameters_reset(parameters);
    hora__pg_add_int64s(parameters, rows->ids, (size_t)rows->count);
    hora__pg_send(link, HORA__PG_CANCEL, parameters);
    hora__pg_parameters_reset(parameters);
    hora__pg_add_int64s(parameters, &rows->series, 1);
    hora__pg_send(link, HORA__PG_SERIES_FREE, parameters);
    int error = hora__pg_receive(link, reason);
    if (error < 0)
        return error;
    return hora__pg_integer(link->results[0], 0, 0) > 0 ? HORA_CANCEL_RUNNING : HORA_CANCEL_REMOVED;
}

/* Retime, pause and resume apply to the row with the key. */
static int apply(hora__pg_link *link, const hora__change *change, const task_rows *rows,
                 hora__pg_parameters *parameters, hora_error *reason)
{
    if (rows->with_key == 0 || rows->is_cancelled)
        return not_found(change, reason);
    hora__pg_parameters_reset(parameters);
    hora__pg_add_integer(parameters, rows->with_key);
    hora__pg_statement statement = HORA__PG_PAUSE;
    if (change->kind == HORA__CHANGE_RETIME) {
        hora__pg_add_integer(parameters, change->due);
        statement = HORA__PG_RETIME;
    } else if (change->kind == HORA__CHANGE_RESUME) {
        statement = HORA__PG_RESUME;
    }
    int error = hora__pg_call(link, statement, parameters, reason);
    if (error < 0)
        return error;
    return change->kind == HORA__CHANGE_RETIME ? 0 : affected(link->results[0]) > 0;
}

static int revive(hora__pg_link *link, const hora__change *change, hora__pg_parameters *parameters,
                  hora_error *reason)
{
    add_dead(parameters, change);
    hora__pg_add_integer(parameters, change->due);
    hora__pg_send_begin(link);
    int before = link->is_pooled ? 2 : 1;
    hora__pg_send(link, HORA__PG_REVIVE, parameters);
    int error = hora__pg_receive(link, reason);
    if (error < 0)
        return error;
    if (hora__pg_integer(link->results[before], 0, 0) == 0)
        return not_found(change, reason);
    if (hora__pg_integer(link->results[before], 0, 1) == 0)
        return hora__store_refuse(reason, HORA_EEXIST, "key", "a task with the key of the dead task exists");
    return 0;
}

/* The row is taken for a moment, by no node, and settled. No other transaction sees that. */
static int stop(hora__pg_link *link, const hora__change *change, hora__pg_parameters *parameters,
                hora_error *reason)
{
    hora__pg_parameters_reset(parameters);
    hora__pg_add_integer(parameters, change->id);
    hora__pg_add_integer(parameters, change->fence);
    hora__pg_add_integer(parameters, HORA__NO_NODE);
    hora__pg_send_begin(link);
    int before = link->is_pooled ? 2 : 1;
    hora__pg_send(link, HORA__PG_TAKE, parameters);
    int error = hora__pg_receive(link, reason);
    if (error < 0)
        return error;
    const PGresult *row = link->results[before];
    if (PQntuples(row) == 0)
        return 0;
    hora__settle settle = hora__change_settlement(change, hora__pg_integer(row, 0, 0) != 0);
    settle.owner = HORA__NO_NODE;
    settle.attempt = (int)hora__pg_integer(row, 0, 1);
    settle.ran_planned = hora__pg_integer(row, 0, 2);
    settle.gave_up = hora__pg_integer(row, 0, 3);
    settle.history = hora__pg_boolean(row, 0, 4);
    const hora__settle *settles = &settle;
    hora__pg_settle_parameters(parameters, &settles, 1);
    error = hora__pg_call(link, HORA__PG_SETTLE_FULL, parameters, reason);
    return error < 0 ? error : 1;
}

/* Tells the nodes, if the task may be due now. */
static void send_notification(hora__pg_link *link, const hora__change *change,
                              hora__pg_parameters *parameters)
{
    if (change->kind == HORA__CHANGE_CANCEL || change->kind == HORA__CHANGE_PAUSE)
        return;
    char channel[64];
    (void)snprintf(channel, sizeof channel, "hora.%s", link->postgres->schema);
    hora__pg_parameters_reset(parameters);
    hora__pg_add_text(parameters, channel);
    bool has_due = change->kind == HORA__CHANGE_RETIME || change->kind == HORA__CHANGE_STOP;
    hora__pg_add_integer(parameters, has_due ? change->due : INT64_MAX);
    hora__pg_add_integer(parameters, has_due ? INT64_C(1) << 60 : 0);
    hora__pg_send(link, HORA__PG_NOTIFY, parameters);
}

static int change_once(hora__pg_link *link, const hora__change *change, hora__pg_parameters *parameters,
                       hora_error *reason)
{
    int result = hora__pg_connect(link, true, reason);
    if (result < 0)
        return result;
    task_rows rows;
    if (change->kind == HORA__CHANGE_REVIVE) {
        result = revive(link, change, parameters, reason);
    } else if (change->kind == HORA__CHANGE_STOP) {
        result = stop(link, change, parameters, reason);
    } else {
        result = find(link, change, parameters, &rows, reason);
        if (result == 0)
            result = change->kind == HORA__CHANGE_CANCEL ? cancel(link, change, &rows, parameters, reason)
                                                         : apply(link, change, &rows, parameters, reason);
    }
    if (result < 0) {
        hora__pg_rollback(link);
        return result;
    }
    send_notification(link, change, parameters);
    hora__pg_send(link, HORA__PG_COMMIT, NULL);
    HORA__STEP("postgres: change: before the commit");
    int error = hora__pg_receive(link, reason);
    HORA__STEP("postgres: change: after the commit");
    return error < 0 ? error : result;
}

int hora__pg_change(hora__backend *backend, const hora__change *change, hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    hora__pg_parameters parameters = {0};
    int result, tries = 0;
    pthread_mutex_lock(&postgres->lock);
    do {
        result = change_once(&postgres->shared, change, &parameters, reason);
    } while (result == HORA_EAGAIN && ++tries < HORA__PG_MAX_TRIES);
    pthread_mutex_unlock(&postgres->lock);
    hora__pg_parameters_free(&parameters);
    if (result == HORA_EAGAIN)
        return hora__store_refuse(reason, HORA_EBUSY, NULL,
                                  "PostgreSQL: transactions conflict again and again");
    return result;
}
