/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.c - files, stores, and rows as texts; see fixture.h */
#define _GNU_SOURCE
#include "fixture.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_NAMES = 64, MAX_DRAIN = 1000 };

/* ---- files ---- */

static char folder[64];
static char *names[MAX_NAMES];
static pid_t creator;

static const char *const endings[] = {"", "-wal", "-shm", "-journal"};

static void remove_folder(void)
{
    if (getpid() != creator)
        return;
    for (int i = 0; i < MAX_NAMES && names[i] != NULL; i++) {
        fixture_remove(names[i]);
        rmdir(names[i]); /* a test may have made a folder */
    }
    rmdir(folder);
}

const char *fixture_path(const char *name)
{
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "/tmp/hora-sqlite-XXXXXX");
        if (mkdtemp(folder) == NULL)
            abort();
        creator = getpid();
        chmod(folder, 0777);
        atexit(remove_folder);
    }
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int i = 0;
    while (i < MAX_NAMES - 1 && names[i] != NULL && strcmp(names[i], path) != 0)
        i++;
    if (names[i] == NULL)
        names[i] = strdup(path);
    return names[i];
}

void fixture_remove(const char *path)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        unlink(name);
    }
}

static void copy_file(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return; /* there is no such log */
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    char bytes[65536];
    ssize_t size;
    while ((size = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)size) != size)
            abort();
    close(in);
    close(out);
}

void fixture_copy(const char *from, const char *to)
{
    fixture_remove(to);
    for (size_t i = 0; i < 2; i++) { /* the database and its log */
        char source[512], target[512];
        snprintf(source, sizeof source, "%s%s", from, endings[i]);
        snprintf(target, sizeof target, "%s%s", to, endings[i]);
        copy_file(source, target);
    }
}

void fixture_write(const char *path, const void *data, size_t size, long offset)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || pwrite(fd, data, size, offset) != (ssize_t)size)
        abort();
    close(fd);
}

/* ---- stores ---- */

int fixture_open_with(const char *path, hora_store_options options, hora__backend **ret_backend,
                      hora_error *reason)
{
    if (options.clock == NULL)
        options.clock = hora_clock_system(HORA_CLOCK_WALL);
    if (options.statement_timeout == 0)
        options.statement_timeout = HORA_SECONDS(10);
    options.max_payload = 1 << 20;
    return hora__sqlite_open(path, &options, ret_backend, reason);
}

int fixture_open(const char *path, const hora_clock *clock, hora__backend **ret_backend, hora_error *reason)
{
    return fixture_open_with(path, (hora_store_options){.clock = clock}, ret_backend, reason);
}

void fixture_close(hora__backend *backend)
{
    backend->ops->close(backend);
}

/* ---- connections ---- */

sqlite3 *fixture_connect(const char *path)
{
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix") != SQLITE_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", path, sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, 10000);
    fixture_execute(db, "PRAGMA synchronous = OFF"); /* tests do not lose power */
    return db;
}

int fixture_execute(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int64_t fixture_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    int64_t number = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
    else if (sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/* ---- rows ---- */

static void dump_table(FILE *out, sqlite3 *db, const char *table)
{
    char sql[256];
    sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, "SELECT * FROM \"%s\" ORDER BY 1", table);
    fprintf(out, "%s\n", table);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fprintf(out, "  %s\n", sqlite3_errmsg(db));
        return;
    }
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *name = sqlite3_column_name(statement, i);
            bool is_random = strcmp(name, "incarnation") == 0 || strcmp(name, "store") == 0;
            const unsigned char *text = is_random ? NULL : sqlite3_column_text(statement, i);
            fprintf(out, " %s=%.40s(%d)", name, text != NULL ? (const char *)text : "",
                    sqlite3_column_bytes(statement, i));
        }
        fputc('\n', out);
    }
    sqlite3_finalize(statement);
}

char *fixture_dump(const char *path)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    sqlite3 *db = fixture_connect(path);
    sqlite3_stmt *statement;
    const char *sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                      " ORDER BY name";
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK)
        while (sqlite3_step(statement) == SQLITE_ROW)
            dump_table(out, db, (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    fclose(out);
    return text;
}

/* Numbers that must be 0, by the rules of store/backend.h and of the tables. */
static const struct rule {
    const char *what, *sql;
} rules[] = {
    {"a key on two firings (B7)",
     "SELECT count(*) - count(DISTINCT key) FROM hora_firing WHERE key IS NOT NULL"},
    {"an owner that is no node (B1)",
     "SELECT count(*) FROM hora_firing WHERE owner <> 0 AND owner NOT IN (SELECT id FROM hora_node)"},
    {"a claim without a fence (B2)", "SELECT count(*) FROM hora_firing WHERE owner <> 0 AND fence = 0"},
    {"a firing without its series",
     "SELECT count(*) FROM hora_firing WHERE series <> 0 AND series NOT IN (SELECT id FROM hora_series)"},
    {"a series without a task",
     "SELECT count(*) FROM hora_series WHERE id NOT IN (SELECT series FROM hora_firing)"
     " AND id NOT IN (SELECT series FROM hora_dead)"},
    {"a task that is alive and dead",
     "SELECT count(*) FROM hora_firing WHERE id IN (SELECT id FROM hora_dead)"},
    {"a change of a firing that is not claimed",
     "SELECT count(*) FROM hora_firing WHERE owner = 0 AND (change_due IS NOT NULL OR change_cancel"
     " OR started)"},
    {"an id that would be used again",
     "SELECT (SELECT count(*) FROM hora_firing WHERE id >= next_id)"
     " + (SELECT count(*) FROM hora_dead WHERE id >= next_id)"
     " + (SELECT count(*) FROM hora_series WHERE id >= next_series) FROM hora_meta"},
};

bool fixture_check(const char *path, const char *what)
{
    sqlite3 *db = fixture_connect(path);
    sqlite3_stmt *statement;
    const char *found = "cannot be checked";
    sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL);
    if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW)
        found = (const char *)sqlite3_column_text(statement, 0);
    bool good = strcmp(found, "ok") == 0;
    if (!good)
        test_fail(__FILE__, __LINE__, "%s: the database is damaged: %s", what, found);
    sqlite3_finalize(statement);
    for (size_t i = 0; good && i < sizeof rules / sizeof *rules; i++)
        if (fixture_number(db, rules[i].sql) != 0) {
            test_fail(__FILE__, __LINE__, "%s: the store has %s", what, rules[i].what);
            good = false;
        }
    sqlite3_close(db);
    return good;
}

/* ---- calls ---- */

int fixture_put(hora__backend *backend, const hora__put *put, hora_error *reason)
{
    hora__put_done done;
    size_t wrong;
    return backend->ops->put(backend, put, 1, &done, &wrong, reason);
}

int fixture_exchange(hora__backend *backend, const hora__lease *lease, const hora__settle *settles,
                     size_t count, hora__settled *ret_settled, int limit, hora__exchange *ret_exchange,
                     hora_error *reason)
{
    static const char *const handlers[] = {"h", "other"};
    *ret_exchange = (hora__exchange){.renew = true,
                                     .settles = settles,
                                     .settle_count = count,
                                     .ret_settled = ret_settled,
                                     .handlers = handlers,
                                     .handler_count = 2,
                                     .claim_limit = {limit, limit, limit, limit},
                                     .low = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}};
    return backend->ops->exchange(backend, lease, ret_exchange, reason);
}

int fixture_drain(hora__backend *backend, hora_error *reason)
{
    hora__lease lease;
    hora__exchange exchange;
    int drained = 0, error = backend->ops->join(backend, "drain", 5000000, &lease, reason);
    hora__settle settles[MAX_DRAIN];
    hora__settled settled[MAX_DRAIN];
    size_t count = 0;
    do {
        if (error == 0)
            error =
                fixture_exchange(backend, &lease, settles, count, settled, MAX_DRAIN / 4, &exchange, reason);
        count = error == 0 ? exchange.ret_claim_count : 0;
        for (size_t i = 0; i < count; i++)
            settles[i] = (hora__settle){.id = exchange.ret_claims[i].id,
                                        .fence = exchange.ret_claims[i].fence,
                                        .owner = lease.node,
                                        .kind = HORA__SETTLE_DONE,
                                        .outcome = HORA_RUN_SUCCEEDED};
        drained += (int)count;
    } while (count > 0);
    if (error == 0)
        error = backend->ops->leave(backend, &lease, reason);
    return error < 0 ? error : drained;
}
