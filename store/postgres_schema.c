/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_schema.c - the tables
 *
 * A firing is deleted, or moves from one partial index to another, twice in its life, so autovacuum looks
 * after its table often. There are no foreign keys, which would make transactions wait for each other.
 * Records are kept in one partition for each day, which is dropped as a whole when it is old. A node that
 * reaps adds the partitions of today and tomorrow. A record of a day without a partition goes to the default
 * one, so writing a record never fails for that reason.
 *
 * hora_now() and hora_timeline() are the only functions. They are not called by programs, but a test may
 * replace them. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "postgres.h"
#include "reason.h"

enum { SECONDS_PER_DAY = 86400 };

/* An advisory lock that lasts until the end of the transaction keeps processes from creating the tables at
 * the same time. */
static const char lock_text[] = "SELECT pg_advisory_xact_lock(hashtext('hora'), hashtext('@'))";

static const char create_text[] =
    "CREATE TABLE @meta (version int NOT NULL, compatible int NOT NULL, store uuid NOT NULL,"
    " timeline bigint NOT NULL, timeline_since bigint NOT NULL);"
    "CREATE SEQUENCE @id;"
    "CREATE SEQUENCE @node_id;"
    "CREATE SEQUENCE @history_id;"
    "CREATE FUNCTION @now() RETURNS bigint LANGUAGE sql VOLATILE AS"
    " 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint';"
    "CREATE TABLE @node (id bigint PRIMARY KEY, incarnation bytea NOT NULL, name text COLLATE \"C\","
    " ttl bigint NOT NULL, started bigint NOT NULL, lease bigint NOT NULL) WITH (fillfactor = 50,"
    " autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);"
    "CREATE TABLE @firing (id bigint PRIMARY KEY, series bigint NOT NULL DEFAULT 0,"
    " planned bigint NOT NULL, due bigint NOT NULL, owner bigint NOT NULL DEFAULT 0,"
    " fence bigint NOT NULL DEFAULT 0, change_due bigint, ran_planned bigint NOT NULL DEFAULT 0,"
    " firings bigint NOT NULL DEFAULT 0, gave_up bigint NOT NULL DEFAULT 0,"
    " last_end bigint NOT NULL DEFAULT 0, last_success bigint NOT NULL DEFAULT 0,"
    " revision bigint NOT NULL DEFAULT 0, last_code int NOT NULL DEFAULT 0,"
    " attempt int NOT NULL DEFAULT 0, lane int NOT NULL, paused boolean NOT NULL DEFAULT false,"
    " change_cancel boolean NOT NULL DEFAULT false, started boolean NOT NULL DEFAULT false,"
    " forked boolean NOT NULL DEFAULT false, history boolean NOT NULL DEFAULT false,"
    " handler text COLLATE \"C\" NOT NULL, key text COLLATE \"C\", definition text COLLATE \"C\","
    " payload bytea) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,"
    " autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2);"
    "CREATE INDEX hora_firing_due ON @firing (lane, due, id) WHERE owner = 0 AND NOT paused;"
    "CREATE INDEX hora_firing_owner ON @firing (owner) WHERE owner <> 0;"
    "CREATE INDEX hora_firing_cancelled ON @firing (owner) WHERE change_cancel;"
    "CREATE INDEX hora_firing_series ON @firing (series) WHERE series <> 0;"
    "CREATE UNIQUE INDEX hora_firing_key ON @firing (key) WHERE key IS NOT NULL;"
    "CREATE TABLE @series (id bigint PRIMARY KEY, key text COLLATE \"C\", revision bigint NOT NULL,"
    " gave_up bigint NOT NULL DEFAULT 0, last_end bigint NOT NULL DEFAULT 0,"
    " last_code int NOT NULL DEFAULT 0, last_success bigint NOT NULL DEFAULT 0,"
    " told bigint NOT NULL DEFAULT 0, definition text COLLATE \"C\", payload bytea);"
    "CREATE TABLE @dead (id bigint PRIMARY KEY, handler text COLLATE \"C\" NOT NULL, key text COLLATE \"C\","
    " recurring boolean NOT NULL, definition text COLLATE \"C\", payload bytea, lane int NOT NULL,"
    " history boolean NOT NULL, revision bigint NOT NULL, planned bigint NOT NULL, due bigint NOT NULL,"
    " attempt int NOT NULL, fence bigint NOT NULL, firings bigint NOT NULL, gave_up bigint NOT NULL,"
    " last_end bigint NOT NULL, last_code int NOT NULL, last_success bigint NOT NULL);"
    "CREATE INDEX hora_dead_key ON @dead (key, id) WHERE key IS NOT NULL;"
    "CREATE TABLE @history (id bigint NOT NULL DEFAULT nextval('@history_id'), task bigint NOT NULL,"
    " handler text COLLATE \"C\" NOT NULL, key text COLLATE \"C\", outcome int NOT NULL, code int NOT NULL,"
    " planned bigint NOT NULL, started bigint NOT NULL, ended bigint NOT NULL, attempt int NOT NULL,"
    " fence bigint NOT NULL, node bigint NOT NULL, skipped bigint NOT NULL, note bytea)"
    " PARTITION BY RANGE (ended);"
    "CREATE INDEX hora_history_number ON @history (id);"
    "CREATE INDEX hora_history_key ON @history (key, id);"
    "CREATE TABLE @history_other PARTITION OF @history DEFAULT;";

/* The timeline of the server changes with each failover; see B2 in backend.h. A service may forbid to look at
 * the log; then fences do not protect from a failover that has lost commits. */
static const char timeline_text[] =
    "CREATE FUNCTION @timeline() RETURNS bigint LANGUAGE sql VOLATILE AS"
    " 'SELECT (''x'' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint'";
static const char no_timeline_text[] =
    "CREATE FUNCTION @timeline() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT 0::bigint'";

static int execute(hora__pg_link *link, const char *text, hora_error *reason)
{
    char *expanded = hora__pg_expand(text, link->postgres->schema);
    if (expanded == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory");
    int error = hora__pg_execute(link, expanded, reason);
    free(expanded);
    return error;
}

/* Reads the version. Returns 1 if the tables exist, 0 if not. */
static int read_version(hora__pg_link *link, hora_error *reason)
{
    hora__postgres *postgres = link->postgres;
    char text[200];
    (void)snprintf(text, sizeof text, "SELECT 1 / (to_regclass('\"%s\".hora_meta') IS NOT NULL)::int",
                   postgres->schema);
    int error = hora__pg_execute(link, text, reason);
    if (error < 0)
        return strcmp(link->state, "22012") == 0 ? 0 : error;
    (void)snprintf(text, sizeof text, "SELECT 1 / (max(compatible) <= %d)::int FROM @meta",
                   HORA__SCHEMA_VERSION);
    error = execute(link, text, reason);
    if (error < 0 && strcmp(link->state, "22012") == 0)
        return hora__store_refuse(reason, HORA_ENOTSUP, NULL,
                                  "the tables in schema %s were made by a newer version of hora",
                                  postgres->schema);
    return error < 0 ? error : 1;
}

static int create_schema(hora__pg_link *link, hora_error *reason)
{
    char text[400];
    const char *schema = link->postgres->schema;
    (void)snprintf(text, sizeof text, "SELECT 1 / (to_regnamespace('\"%s\"') IS NOT NULL)::int", schema);
    hora_error ignored;
    if (hora__pg_execute(link, "SAVEPOINT hora", reason) < 0)
        return reason->code;
    if (hora__pg_execute(link, text, &ignored) == 0)
        return 0;
    (void)snprintf(text, sizeof text, "ROLLBACK TO hora; CREATE SCHEMA \"%s\"", schema);
    return hora__pg_execute(link, text, reason);
}

static int create_timeline(hora__pg_link *link, hora_error *reason)
{
    hora_error ignored;
    int error = hora__pg_execute(link, "SAVEPOINT hora", reason);
    if (error == 0)
        error = execute(link, timeline_text, reason);
    if (error < 0 || execute(link, "SELECT @timeline()", &ignored) == 0)
        return error;
    error = hora__pg_execute(link, "ROLLBACK TO hora", reason);
    return error < 0 ? error : execute(link, no_timeline_text, reason);
}

static int create_tables(hora__pg_link *link, hora_error *reason)
{
    char text[300];
    int error = create_schema(link, reason);
    if (error == 0)
        error = execute(link, create_text, reason);
    if (error == 0)
        error = create_timeline(link, reason);
    if (error < 0)
        return error;
    (void)snprintf(text, sizeof text, "INSERT INTO @meta SELECT %d, %d, gen_random_uuid(), @timeline(), 0",
                   HORA__SCHEMA_VERSION, HORA__SCHEMA_COMPATIBLE);
    return execute(link, text, reason);
}

static int create(hora__pg_link *link, hora_error *reason)
{
    int error = hora__pg_execute(link, "BEGIN", reason);
    if (error == 0)
        error = execute(link, lock_text, reason);
    if (error == 0)
        error = read_version(link, reason);
    if (error < 0 || error == 1) {
        hora__pg_rollback(link);
        return error;
    }
    /* read_version has failed on purpose, which has ended the transaction: begin again with the lock */
    hora__pg_rollback(link);
    error = hora__pg_execute(link, "BEGIN", reason);
    if (error == 0)
        error = execute(link, lock_text, reason);
    if (error == 0)
        error = create_tables(link, reason);
    if (error == 0)
        error = hora__pg_execute(link, "COMMIT", reason);
    hora__pg_rollback(link);
    return error;
}

int hora__pg_schema_open(hora__postgres *postgres, hora_error *reason)
{
    hora__pg_link *link = &postgres->shared;
    int error = hora__pg_connect(link, false, reason);
    if (error == 0)
        error = read_version(link, reason);
    if (error == 0 && postgres->base.options.existing_only)
        return hora__store_refuse(reason, HORA_ENOENT, NULL, "the database has no store in schema %s",
                                  postgres->schema);
    for (int i = 0; error == 0 && i < 3; i++) {
        error = create(link, reason);
        /* another process was faster */
        if (error == HORA_EEXIST || strcmp(link->state, "42P07") == 0 || strcmp(link->state, "42P06") == 0)
            error = 0;
        if (error == 0)
            error = read_version(link, reason);
    }
    if (error == 0)
        return hora__store_refuse(reason, HORA_EBADMSG, NULL, "the tables could not be created");
    return error < 0 ? error : 0;
}

/* ---- partitions ---- */

static void add_partition(hora__pg_link *link, int64_t day)
{
    time_t seconds = (time_t)(day * SECONDS_PER_DAY);
    struct tm date;
    if (gmtime_r(&seconds, &date) == NULL)
        return;
    char text[400];
    int64_t start = day * SECONDS_PER_DAY * 1000000, end = start + INT64_C(1000000) * SECONDS_PER_DAY;
    (void)snprintf(text, sizeof text,
                   "CREATE TABLE IF NOT EXISTS @history_%04d%02d%02d PARTITION OF @history"
                   " FOR VALUES FROM (%lld) TO (%lld)",
                   date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, (long long)start, (long long)end);
    hora_error ignored;
    if (hora__pg_execute(link, "BEGIN; SET LOCAL lock_timeout = 1000", &ignored) == 0 &&
        execute(link, lock_text, &ignored) == 0 && execute(link, text, &ignored) == 0)
        (void)hora__pg_execute(link, "COMMIT", &ignored);
    hora__pg_rollback(link);
}

void hora__pg_add_partitions(hora__pg_link *link, int64_t now_us)
{
    assert(link->use == HORA__PG_OWN);
    int64_t day = now_us / 1000000 / SECONDS_PER_DAY;
    if (link->postgres->partitioned_day == day)
        return;
    add_partition(link, day);
    if (link->connection != NULL)
        add_partition(link, day + 1);
    link->postgres->partitioned_day = day;
}
