/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_query.c - list, history, trim and stats
 *
 * Lists are read in portions, and no lock is held while the caller's function runs. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "postgres.h"
#include "reason.h"
#include "units.h"

enum { PORTION = 500 };

/* One read-only statement on the shared link, with the settings of the link, in a transaction if a pooler
 * needs that. The caller clears the result. Tries again after a lost connection, because nothing changes. */
static int query(hora__postgres *postgres, hora__pg_statement statement,
                 const hora__pg_parameters *parameters, PGresult **ret_result, hora_error *reason)
{
    hora__pg_link *link = &postgres->shared;
    int error;
    pthread_mutex_lock(&postgres->lock);
    for (int tries = 0;; tries++) {
        error = hora__pg_connect(link, true, reason);
        if (error < 0)
            break;
        hora__pg_send_begin(link);
        hora__pg_send(link, statement, parameters);
        hora__pg_send(link, HORA__PG_COMMIT, NULL);
        error = hora__pg_receive(link, reason);
        bool again = error == HORA_EAGAIN || (error == HORA_EIO && link->connection == NULL);
        if (!again || tries == 2)
            break;
    }
    if (error == 0)
        *ret_result = hora__pg_take_result(link, link->is_pooled ? 2 : 1);
    pthread_mutex_unlock(&postgres->lock);
    return error == HORA_EAGAIN ? HORA_EBUSY : error;
}

static int64_t portion(int64_t limit, int64_t seen)
{
    return limit == 0 || limit - seen > PORTION ? PORTION : limit - seen;
}

/* ---- list ---- */

static void read_info(const PGresult *result, int row, hora_durable_info *ret_info)
{
    static const hora_priority priorities[HORA__LANES] = {HORA_PRIORITY_URGENT, HORA_PRIORITY_HIGH,
                                                          HORA_PRIORITY_NORMAL, HORA_PRIORITY_LOW};
    hora__bytes payload = hora__pg_bytes(result, row, 17);
    int64_t lane = hora__pg_integer(result, row, 16);
    *ret_info = (hora_durable_info){
        .struct_size = sizeof *ret_info,
        .id = hora__pg_integer(result, row, 0),
        .handler = hora__pg_text(result, row, 1),
        .key = hora__pg_text(result, row, 2),
        .state = (hora_durable_state)hora__pg_integer(result, row, 3),
        .recurring = hora__pg_boolean(result, row, 4),
        .revision = hora__pg_integer(result, row, 5),
        .planned = hora__instant_of_us(hora__pg_integer(result, row, 6)),
        .due = hora__instant_of_us(hora__pg_integer(result, row, 7)),
        .attempts = (int)hora__pg_integer(result, row, 8),
        .fence = hora__pg_integer(result, row, 9),
        .node = hora__pg_integer(result, row, 10),
        .firings = hora__pg_integer(result, row, 11),
        .failures_in_a_row = hora__pg_integer(result, row, 12),
        .last_end = hora__instant_of_us(hora__pg_integer(result, row, 13)),
        .last_code = (int)hora__pg_integer(result, row, 14),
        .last_success = hora__instant_of_us(hora__pg_integer(result, row, 15)),
        .priority = priorities[lane >= 0 && lane < HORA__LANES ? lane : 2],
        .payload = payload.data,
        .payload_size = payload.size,
    };
}

static void list_parameters(hora__pg_parameters *parameters, const hora_durable_filter *filter,
                            int64_t after_id, int64_t count)
{
    hora__pg_parameters_reset(parameters);
    hora__pg_add_integer(parameters, after_id);
    hora__pg_add_integer(parameters, count);
    hora__pg_add_text(parameters, filter->key_prefix);
    hora__pg_add_text(parameters, filter->handler);
    hora__pg_add_integer(parameters, filter->state);
    if (filter->key != NULL || filter->state == HORA_DURABLE_DEAD)
        hora__pg_add_text(parameters, filter->key);
}

int hora__pg_list(hora__backend *backend, const hora_durable_filter *filter, hora__info_fn fn, void *arg,
                  hora_error *reason)
{
    hora__pg_statement statement = filter->state == HORA_DURABLE_DEAD ? HORA__PG_LIST_DEAD
                                   : filter->key != NULL              ? HORA__PG_LIST_KEY
                                                                      : HORA__PG_LIST;
    hora__pg_parameters parameters = {0};
    int64_t after_id = filter->after_id, seen = 0;
    int error = 0, rows = PORTION;
    while (error == 0 && rows == PORTION && (filter->limit == 0 || seen < filter->limit)) {
        PGresult *result = NULL;
        list_parameters(&parameters, filter, after_id, portion(filter->limit, seen));
        error = query(hora__pg_of(backend), statement, &parameters, &result, reason);
        rows = error == 0 ? PQntuples(result) : 0;
        for (int row = 0; error == 0 && row < rows; row++, seen++) {
            hora_durable_info info;
            read_info(result, row, &info);
            after_id = info.id;
            error = fn(&info, hora__pg_text(result, row, 18), arg);
        }
        PQclear(result);
    }
    hora__pg_parameters_free(&parameters);
    return error;
}

/* ---- history ---- */

static void read_record(const PGresult *result, int row, hora_run_record *ret_record)
{
    hora__bytes note = hora__pg_bytes(result, row, 12);
    *ret_record = (hora_run_record){
        .struct_size = sizeof *ret_record,
        .id = hora__pg_integer(result, row, 0),
        .task_id = hora__pg_integer(result, row, 1),
        .handler = hora__pg_text(result, row, 2),
        .key = hora__pg_text(result, row, 3),
        .outcome = (hora_run_outcome)hora__pg_integer(result, row, 4),
        .code = (int)hora__pg_integer(result, row, 5),
        .planned = hora__instant_of_us(hora__pg_integer(result, row, 6)),
        .started = hora__instant_of_us(hora__pg_integer(result, row, 7)),
        .ended = hora__instant_of_us(hora__pg_integer(result, row, 8)),
        .attempt = (int)hora__pg_integer(result, row, 9),
        .fence = hora__pg_integer(result, row, 10),
        .node = hora__pg_integer(result, row, 11),
        .note = note.data,
        .note_size = note.size,
        .skipped = hora__pg_integer(result, row, 13),
    };
}

static void history_parameters(hora__pg_parameters *parameters, const hora_history_filter *filter,
                               int64_t before_id, int64_t count)
{
    hora__pg_parameters_reset(parameters);
    hora__pg_add_integer(parameters, before_id);
    hora__pg_add_integer(parameters, count);
    hora__pg_add_integer(parameters, filter->outcome);
    hora__pg_add_integer(parameters, filter->failed);
    hora__pg_add_integer(parameters, filter->since.ns == 0 ? INT64_MIN : hora__us_ceil(filter->since));
    hora__pg_add_text(parameters, filter->key);
}

int hora__pg_history(hora__backend *backend, const hora_history_filter *filter, hora_run_record_fn fn,
                     void *arg, hora_error *reason)
{
    hora__pg_statement statement = filter->key != NULL ? HORA__PG_HISTORY_KEY : HORA__PG_HISTORY;
    hora__pg_parameters parameters = {0};
    int64_t before_id = filter->before_id == 0 ? INT64_MAX : filter->before_id, seen = 0;
    int error = 0, rows = PORTION;
    while (error == 0 && rows == PORTION && (filter->limit == 0 || seen < filter->limit)) {
        PGresult *result = NULL;
        history_parameters(&parameters, filter, before_id, portion(filter->limit, seen));
        error = query(hora__pg_of(backend), statement, &parameters, &result, reason);
        rows = error == 0 ? PQntuples(result) : 0;
        for (int row = 0; error == 0 && row < rows; row++, seen++) {
            hora_run_record record;
            read_record(result, row, &record);
            before_id = record.id;
            error = fn(&record, arg);
        }
        PQclear(result);
    }
    hora__pg_parameters_free(&parameters);
    return error;
}

/* ---- trim ---- */

/* Drops one partition, and counts its records. Another process may have dropped it already. */
static int drop_partition(hora__postgres *postgres, const char *name, int64_t *deleted, hora_error *reason)
{
    hora__pg_link *link = &postgres->shared;
    char text[300];
    pthread_mutex_lock(&postgres->lock);
    int error = hora__pg_connect(link, true, reason);
    if (error == 0) {
        (void)snprintf(text, sizeof text,
                       "LOCK TABLE \"%s\".hora_history, \"%s\".%s IN ACCESS EXCLUSIVE MODE", postgres->schema,
                       postgres->schema, name);
        error = hora__pg_execute(link, "BEGIN", reason);
        if (error == 0)
            error = hora__pg_execute(link, text, reason);
    }
    int64_t count = 0;
    if (error == 0) {
        (void)snprintf(text, sizeof text, "SELECT count(*) FROM \"%s\".%s", postgres->schema, name);
        error = hora__pg_count(link, text, &count, reason);
    }
    if (error == 0) {
        (void)snprintf(text, sizeof text, "DROP TABLE \"%s\".%s; COMMIT", postgres->schema, name);
        error = hora__pg_execute(link, text, reason);
    }
    bool gone = error < 0 && strcmp(link->state, "42P01") == 0;
    hora__pg_rollback(link);
    pthread_mutex_unlock(&postgres->lock);
    *deleted += error == 0 ? count : 0;
    return gone ? 0 : error;
}

static int trim_partitions(hora__postgres *postgres, int64_t before_us, int64_t *deleted, hora_error *reason)
{
    time_t seconds = (time_t)(before_us / 1000000);
    struct tm date;
    if (before_us <= 0 || gmtime_r(&seconds, &date) == NULL || date.tm_year > 8000)
        return 0;
    char last[64];
    (void)snprintf(last, sizeof last, "hora_history_%04d%02d%02d", date.tm_year + 1900, date.tm_mon + 1,
                   date.tm_mday);
    hora__pg_parameters parameters = {0};
    PGresult *result = NULL;
    hora__pg_add_text(&parameters, last);
    int error = query(postgres, HORA__PG_PARTITIONS, &parameters, &result, reason);
    for (int row = 0; error == 0 && row < PQntuples(result); row++)
        error = drop_partition(postgres, hora__pg_text(result, row, 0), deleted, reason);
    PQclear(result);
    hora__pg_parameters_free(&parameters);
    return error;
}

/* Partitions of earlier days are dropped; of the day of `before` and in the default partition, records are
 * deleted one by one. */
int hora__pg_trim(hora__backend *backend, int64_t before_us, int64_t *ret_deleted, hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    int64_t deleted = 0;
    int error = trim_partitions(postgres, before_us, &deleted, reason);
    hora__pg_parameters parameters = {0};
    PGresult *result = NULL;
    hora__pg_add_integer(&parameters, before_us);
    if (error == 0)
        error = query(postgres, HORA__PG_TRIM_REST, &parameters, &result, reason);
    if (error == 0)
        *ret_deleted = deleted + strtoll(PQcmdTuples(result), NULL, 10);
    PQclear(result);
    hora__pg_parameters_free(&parameters);
    return error;
}

/* ---- stats ---- */

int hora__pg_stats(hora__backend *backend, hora_store_stats *ret_stats, hora_error *reason)
{
    PGresult *result = NULL;
    int error = query(hora__pg_of(backend), HORA__PG_STATS, NULL, &result, reason);
    if (error < 0)
        return error;
    *ret_stats = (hora_store_stats){
        .struct_size = sizeof *ret_stats,
        .now = hora__instant_of_us(hora__pg_integer(result, 0, 0)),
        .waiting = hora__pg_integer(result, 0, 1),
        .claimed = hora__pg_integer(result, 0, 2),
        .paused = hora__pg_integer(result, 0, 3),
        .dead = hora__pg_integer(result, 0, 4),
        .overdue = hora__pg_integer(result, 0, 5),
        .next_due = hora__instant_of_us(hora__pg_integer(result, 0, 6)),
        .nodes = hora__pg_integer(result, 0, 7),
    };
    PQclear(result);
    return 0;
}
