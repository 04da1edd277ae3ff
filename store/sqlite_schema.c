/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_schema.c - create, check and upgrade the tables of a store in SQLite
 *
 * A database with the table hora_meta is a store. A database without it becomes one, unless it belongs to
 * another application: it then has an application_id of its own. A database without an application_id may
 * have tables of a program that keeps its tasks beside its data. hora leaves user_version to that program.
 *
 * The tables are created or upgraded in one transaction, which looks at the version again after it has the
 * lock, so any number of processes may open the file at the same moment. The mode of the file (the
 * write-ahead log) is set before, and is harmless without the tables. */
#include <assert.h>
#include <string.h>
#include <time.h>

#include <sys/random.h>

#include "reason.h"
#include "sqlite.h"

enum { MODE_PAUSE_NS = 1000000 };

/* Step i makes version i + 1 of version i; version 0 is a database without tables. */
static const char *const steps[] = {HORA__TABLES_1};
_Static_assert(sizeof steps / sizeof *steps == HORA__SCHEMA_VERSION, "one step for each version");

typedef struct versions {
    int64_t version, compatible; /* 0: there are no tables */
    int64_t application;
    bool is_empty; /* the database has no tables at all */
} versions;

static int64_t number_of(hora__connection *connection, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (connection->failed == SQLITE_OK)
        hora__sqlite_check(connection, sqlite3_prepare_v2(connection->db, sql, -1, &statement, NULL));
    int64_t number = hora__sqlite_number(connection, statement, 0);
    sqlite3_finalize(statement);
    return number;
}

static bool read_versions(hora__connection *connection, versions *ret_versions)
{
    *ret_versions = (versions){.version = 0};
    ret_versions->application = number_of(connection, "PRAGMA application_id");
    ret_versions->is_empty = number_of(connection, "SELECT count(*) FROM sqlite_schema") == 0;
    if (number_of(connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'hora_meta'") != 0) {
        ret_versions->version = number_of(connection, "SELECT version FROM hora_meta");
        ret_versions->compatible = number_of(connection, "SELECT compatible FROM hora_meta");
        if (connection->failed == SQLITE_OK && ret_versions->version <= 0)
            hora__sqlite_check(connection, SQLITE_CORRUPT);
    }
    return connection->failed == SQLITE_OK;
}

/* Refuses what is not a store, or not one for this version of hora. */
static int check_versions(const hora__connection *connection, const versions *found, hora_error *reason)
{
    const char *path = connection->store->path;
    if (found->version == 0 && found->application != 0 && found->application != HORA__SQLITE_APPLICATION)
        return hora__store_refuse(reason, HORA_EBADMSG, "address",
                                  "%.120s is not a store: the database belongs to another application "
                                  "(application_id %lld)",
                                  path, (long long)found->application);
    if (found->version > HORA__SCHEMA_VERSION && found->compatible > HORA__SCHEMA_VERSION)
        return hora__store_refuse(reason, HORA_ENOTSUP, "address",
                                  "%.120s: a newer version of hora has changed the tables: they are of "
                                  "version %lld, and this one knows version %d",
                                  path, (long long)found->version, HORA__SCHEMA_VERSION);
    if (connection->store->base.options.existing_only && found->version == 0)
        return hora__store_refuse(reason, HORA_ENOENT, "existing_only",
                                  "%.120s is not a store: it has no tables of hora, and existing_only is set",
                                  path);
    if (connection->store->base.options.existing_only && found->version < HORA__SCHEMA_VERSION)
        return hora__store_refuse(reason, HORA_ENOENT, "existing_only",
                                  "%.120s: the tables are of version %lld, not %d, and existing_only is set",
                                  path, (long long)found->version, HORA__SCHEMA_VERSION);
    return 0;
}

static int read_and_check(hora__connection *connection, versions *ret_versions, hora_error *reason)
{
    if (!read_versions(connection, ret_versions))
        return hora__sqlite_result(connection, "read the database", reason);
    return check_versions(connection, ret_versions, reason);
}

/* The write-ahead log lets others read while one writes. SQLite does not wait for the lock that the change
 * needs if another process changes the mode as well, so this loop does. */
static int set_mode(hora__connection *connection, hora_error *reason)
{
    const hora__sqlite *store = connection->store;
    hora_ns deadline = hora_clock_now(NULL) + store->base.options.statement_timeout;
    for (;;) {
        sqlite3_stmt *statement = NULL;
        int code = sqlite3_prepare_v2(connection->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(statement);
        const char *mode = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        bool set = mode != NULL && strcmp(mode, "wal") == 0;
        if (code == SQLITE_ROW && !set) {
            sqlite3_finalize(statement);
            return hora__store_refuse(reason, HORA_ENOTSUP, "address",
                                      "%.120s: the file system does not support a write-ahead log",
                                      store->path);
        }
        bool busy = (code & 0xff) == SQLITE_BUSY && hora_clock_now(NULL) < deadline;
        if (!set && !busy)
            hora__sqlite_check(connection, code);
        sqlite3_finalize(statement);
        if (!busy)
            return set ? 0 : hora__sqlite_result(connection, "set the mode of the database", reason);
        nanosleep(&(struct timespec){.tv_nsec = MODE_PAUSE_NS}, NULL);
    }
}

static bool write_meta(hora__connection *connection, const versions *found)
{
    sqlite3_stmt *statement = NULL;
    unsigned char id[16];
    if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
        sqlite3_randomness(sizeof id, id);
    const char *sql = found->version == 0
                          ? "INSERT INTO hora_meta VALUES (1, ?1, ?2, ?3, 1, 1, 0, 0)"
                          : "UPDATE hora_meta SET version = ?1, compatible = max(compatible, ?2)";
    if (connection->failed == SQLITE_OK)
        hora__sqlite_check(connection, sqlite3_prepare_v2(connection->db, sql, -1, &statement, NULL));
    hora__sqlite_int(connection, statement, 1, HORA__SCHEMA_VERSION);
    hora__sqlite_int(connection, statement, 2, HORA__SCHEMA_COMPATIBLE);
    if (found->version == 0)
        hora__sqlite_blob(connection, statement, 3, id, sizeof id);
    bool written = hora__sqlite_run(connection, statement);
    sqlite3_finalize(statement);
    return written;
}

static int upgrade(hora__connection *connection, hora_error *reason)
{
    int error = hora__sqlite_begin(connection, reason);
    if (error < 0)
        return error;
    versions found;
    error = read_and_check(connection, &found, reason); /* another process may have been first */
    if (error == 0 && found.version < HORA__SCHEMA_VERSION) {
        for (int64_t version = found.version; version < HORA__SCHEMA_VERSION; version++)
            hora__sqlite_execute(connection, steps[version]);
        if (found.is_empty)
            hora__sqlite_execute(connection, "PRAGMA application_id = 0x686f7261");
        write_meta(connection, &found);
    }
    return hora__sqlite_end(connection, error, "create the tables", reason);
}

int hora__sqlite_prepare(hora__connection *connection, hora_error *reason)
{
    _Static_assert(HORA__SQLITE_APPLICATION == 0x686f7261, "upgrade writes the same number");
    if (sqlite3_db_readonly(connection->db, "main") != 0)
        return hora__store_refuse(reason, HORA_EACCES, "address", "%.120s: the file is read-only",
                                  connection->store->path);
    int error = hora__sqlite_start(connection, reason);
    versions found = {.version = 0};
    if (error == 0)
        error = read_and_check(connection, &found, reason);
    if (error == 0)
        error = set_mode(connection, reason);
    if (error == 0 && found.version < HORA__SCHEMA_VERSION)
        error = upgrade(connection, reason);
    return error;
}
