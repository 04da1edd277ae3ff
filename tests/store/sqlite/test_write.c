/* SPDX-License-Identifier: Apache-2.0 */
/* test_write.c - writers of a store on SQLite: locks, time limits, transactions of programs and handlers */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"

static hora_error reason;

/* A new store with a table of the program. */
static hora__backend *new_store(const char *path, hora_ns timeout)
{
    hora__backend *backend = NULL;
    fixture_remove(path);
    CHECK_OK(fixture_open_with(path, (hora_store_options){.statement_timeout = timeout}, &backend, &reason));
    sqlite3 *db = fixture_connect(path);
    CHECK_INT(fixture_execute(db, "CREATE TABLE effect (what TEXT)"), SQLITE_OK);
    sqlite3_close(db);
    return backend;
}

static int64_t number_in(const char *path, const char *sql)
{
    sqlite3 *db = fixture_connect(path);
    int64_t number = fixture_number(db, sql);
    sqlite3_close(db);
    return number;
}

static int put_key(hora__backend *backend, const char *key)
{
    hora_error ignored;
    return fixture_put(backend, &(hora__put){.handler = "h", .key = key, .after_now = true}, &ignored);
}

/* ---- locks ---- */

TEST_REAL(sqlite_gives_up_when_another_process_writes_for_too_long, "")
{
    const char *path = fixture_path("busy");
    hora__backend *backend = new_store(path, HORA_MS(200));
    sqlite3 *other = fixture_connect(path);
    hora__lease lease;
    int64_t released;
    CHECK_INT(fixture_execute(other, "BEGIN IMMEDIATE"), SQLITE_OK);
    hora_ns before = hora_clock_now(NULL);
    CHECK_ERROR(fixture_put(backend, &(hora__put){.handler = "h", .key = "a"}, &reason), HORA_EBUSY);
    CHECK(hora_clock_now(NULL) - before >= HORA_MS(200));
    CHECK(strstr(reason.message, path) != NULL);
    CHECK_ERROR(backend->ops->join(backend, "n", 5000000, &lease, &reason), HORA_EBUSY);
    CHECK_OK(backend->ops->reap(backend, NULL, 10, &released, &reason)); /* reading does not wait */
    CHECK_INT(fixture_execute(other, "COMMIT"), SQLITE_OK);
    CHECK_OK(put_key(backend, "a"));
    CHECK_INT(fixture_drain(backend, &reason), 1);
    sqlite3_close(other);
    fixture_close(backend);
}

/* ---- files that are not at their path any more ---- */

/* The file is deleted, is another one that is no store, and comes back. */
TEST_REAL(sqlite_does_not_write_into_a_file_that_was_moved, "")
{
    const char *path = fixture_path("moved"), *copy = fixture_path("moved-copy");
    hora__backend *backend = new_store(path, HORA_SECONDS(1));
    hora__lease lease;
    hora__exchange exchange;
    CHECK_OK(put_key(backend, "a"));
    CHECK_OK(backend->ops->join(backend, "n", 60000000, &lease, &reason));
    fixture_remove(copy);
    sqlite3 *db = fixture_connect(path);
    char sql[300];
    (void)snprintf(sql, sizeof sql, "VACUUM INTO '%s'", copy);
    CHECK_INT(fixture_execute(db, sql), SQLITE_OK);
    sqlite3_close(db);
    fixture_remove(path);
    for (int i = 0; i < 2; i++) {
        CHECK_ERROR(fixture_put(backend, &(hora__put){.handler = "h", .key = "b"}, &reason), HORA_EIO);
        CHECK(strstr(reason.message, "moved") != NULL);
        CHECK_ERROR(fixture_exchange(backend, &lease, NULL, 0, NULL, 10, &exchange, &reason), HORA_EIO);
    }
    fixture_write(path, "this is no database, whatever its name says", 43, 0);
    CHECK_ERROR(put_key(backend, "b"), HORA_EBADMSG);
    CHECK(rename(copy, path) == 0);
    CHECK_OK(put_key(backend, "c"));
    CHECK_INT(number_in(path, "SELECT count(*) FROM hora_firing"), 2);
    CHECK_OK(fixture_exchange(backend, &lease, NULL, 0, NULL, 10, &exchange, &reason));
    CHECK_INT(exchange.ret_claim_count, 2);
    fixture_close(backend);
    fixture_remove(path);
}

/* Gives the other thread time to wait; if it has not begun by then, it need not wait. */
static void *commit_soon(void *arg)
{
    for (int i = 0; i < 10000; i++)
        sched_yield();
    CHECK_INT(fixture_execute(arg, "COMMIT"), SQLITE_OK);
    return NULL;
}

TEST_REAL(sqlite_waits_for_another_writer, "")
{
    const char *path = fixture_path("waits");
    hora__backend *backend = new_store(path, HORA_SECONDS(60));
    sqlite3 *other = fixture_connect(path);
    pthread_t thread;
    CHECK_INT(fixture_execute(other, "BEGIN IMMEDIATE; INSERT INTO effect VALUES ('first')"), SQLITE_OK);
    CHECK(pthread_create(&thread, NULL, commit_soon, other) == 0);
    CHECK_OK(put_key(backend, "a"));
    pthread_join(thread, NULL);
    sqlite3_close(other);
    fixture_close(backend);
}

TEST_REAL(sqlite_writes_while_another_reads, "")
{
    const char *path = fixture_path("reads");
    hora__backend *backend = new_store(path, HORA_MS(200));
    sqlite3 *other = fixture_connect(path);
    CHECK_INT(fixture_execute(other, "BEGIN; SELECT * FROM hora_meta"), SQLITE_OK);
    for (int i = 0; i < 20; i++)
        CHECK_OK(put_key(backend, NULL));
    CHECK_INT(fixture_number(other, "SELECT count(*) FROM hora_firing"), 0);
    CHECK_INT(fixture_execute(other, "COMMIT"), SQLITE_OK);
    CHECK_INT(fixture_number(other, "SELECT count(*) FROM hora_firing"), 20);
    sqlite3_close(other);
    fixture_close(backend);
}

TEST_REAL(sqlite_ends_a_statement_that_takes_too_long, "")
{
    const char *path = fixture_path("slow");
    hora__backend *backend = new_store(path, HORA_MS(100));
    sqlite3 *other = fixture_connect(path);
    CHECK_INT(fixture_execute(other, "CREATE TRIGGER slow AFTER INSERT ON hora_firing BEGIN SELECT count(*)"
                                     " FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
                                     " SELECT x FROM n); END"),
              SQLITE_OK);
    CHECK_ERROR(fixture_put(backend, &(hora__put){.handler = "h"}, &reason), HORA_ETIMEDOUT);
    CHECK_INT(fixture_execute(other, "DROP TRIGGER slow"), SQLITE_OK);
    CHECK_INT(fixture_number(other, "SELECT count(*) FROM hora_firing"), 0);
    CHECK_OK(put_key(backend, "a"));
    sqlite3_close(other);
    fixture_close(backend);
}

/* ---- many threads ---- */

enum { THREADS = 4, PUTS = 25 };

static hora__backend *shared;
static atomic_int successes;

static void *put_many(void *arg)
{
    for (int i = 0; i < PUTS; i++) {
        char key[32];
        snprintf(key, sizeof key, "%d %d", *(const int *)arg, i);
        atomic_fetch_add(&successes, put_key(shared, key) == 0);
    }
    return NULL;
}

/* Writes in transactions of handlers, which take their turn with all other writers. */
static void *write_effects(void *arg)
{
    (void)arg;
    for (int i = 0; i < PUTS; i++) {
        hora_error why;
        void *connection;
        if (shared->ops->begin(shared, &connection, &why) < 0)
            continue;
        bool commit = i % 2 == 0;
        CHECK_INT(fixture_execute(connection, "INSERT INTO effect VALUES ('x')"), SQLITE_OK);
        CHECK_OK(shared->ops->end(shared, connection, commit, &why));
        atomic_fetch_add(&successes, 1);
    }
    return NULL;
}

TEST_REAL(sqlite_serves_many_threads, "")
{
    const char *path = fixture_path("threads");
    pthread_t threads[2 * THREADS];
    int numbers[THREADS], drained = 0;
    shared = new_store(path, HORA_SECONDS(60));
    atomic_store(&successes, 0);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[2 * i], NULL, put_many, &numbers[i]) == 0);
        CHECK(pthread_create(&threads[2 * i + 1], NULL, write_effects, NULL) == 0);
    }
    while (atomic_load(&successes) < THREADS * PUTS)
        drained += fixture_drain(shared, &reason);
    for (int i = 0; i < 2 * THREADS; i++)
        pthread_join(threads[i], NULL);
    drained += fixture_drain(shared, &reason);
    CHECK_INT(atomic_load(&successes), 2 * THREADS * PUTS);
    CHECK_INT(drained, THREADS * PUTS);
    CHECK_INT(number_in(path, "SELECT count(*) FROM effect"), THREADS * ((PUTS + 1) / 2));
    fixture_close(shared);
    fixture_check(path, "threads");
}

/* ---- transactions of a program ---- */

static int put_joined(hora__backend *backend, sqlite3 *db, const hora__put *puts, size_t count)
{
    hora__put_done done[4];
    size_t wrong;
    return backend->ops->put_joined(backend, db, puts, count, done, &wrong, &reason);
}

TEST_REAL(sqlite_put_in_a_transaction_of_the_program, "")
{
    const char *path = fixture_path("joined");
    hora__backend *backend = new_store(path, HORA_SECONDS(10));
    sqlite3 *db = fixture_connect(path);
    const hora__put put = {.handler = "h", .key = "a", .after_now = true};
    CHECK_INT(fixture_execute(db, "BEGIN; INSERT INTO effect VALUES ('x')"), SQLITE_OK);
    CHECK_OK(put_joined(backend, db, &put, 1));
    CHECK_INT(number_in(path, "SELECT count(*) FROM hora_firing"), 0);
    CHECK_INT(fixture_execute(db, "ROLLBACK"), SQLITE_OK);
    CHECK_INT(number_in(path, "SELECT count(*) FROM hora_firing"), 0);

    CHECK_INT(fixture_execute(db, "BEGIN; INSERT INTO effect VALUES ('x')"), SQLITE_OK);
    CHECK_OK(put_joined(backend, db, &put, 1));
    CHECK_OK(put_joined(backend, db, &(hora__put){.handler = "h", .after_now = true}, 1));
    CHECK_INT(fixture_execute(db, "COMMIT"), SQLITE_OK);
    CHECK_OK(put_key(backend, "b"));
    CHECK_INT(fixture_drain(backend, &reason), 3);
    CHECK_INT(number_in(path, "SELECT count(*) FROM effect"), 1);
    sqlite3_close(db);
    fixture_close(backend);
    fixture_check(path, "joined");
}

TEST_REAL(sqlite_put_that_is_refused_leaves_the_transaction_of_the_program, "")
{
    const char *path = fixture_path("refused");
    hora__backend *backend = new_store(path, HORA_SECONDS(10));
    sqlite3 *db = fixture_connect(path);
    const hora__put puts[] = {{.handler = "h", .key = "new"}, {.handler = "h", .key = "a"}};
    CHECK_OK(put_key(backend, "a"));
    CHECK_INT(fixture_execute(db, "BEGIN; INSERT INTO effect VALUES ('before')"), SQLITE_OK);
    CHECK_ERROR(put_joined(backend, db, puts, 2), HORA_EEXIST);
    CHECK_INT(fixture_execute(db, "INSERT INTO effect VALUES ('after'); COMMIT"), SQLITE_OK);
    CHECK_INT(number_in(path, "SELECT count(*) FROM effect"), 2);
    CHECK_INT(number_in(path, "SELECT count(*) FROM hora_firing"), 1);
    sqlite3_close(db);
    fixture_close(backend);
    fixture_check(path, "refused");
}

TEST_REAL(sqlite_put_with_the_wrong_connection, "")
{
    const char *path = fixture_path("wrong"), *other_path = fixture_path("other");
    hora__backend *backend = new_store(path, HORA_SECONDS(10));
    sqlite3 *db = fixture_connect(path), *other = fixture_connect(other_path), *memory;
    const hora__put put = {.handler = "h"};
    CHECK_ERROR(put_joined(backend, db, &put, 1), HORA_EINVAL); /* no transaction */
    CHECK_INT(fixture_execute(other, "BEGIN"), SQLITE_OK);
    CHECK_ERROR(put_joined(backend, other, &put, 1), HORA_EINVAL);
    CHECK_INT(sqlite3_open(":memory:", &memory), SQLITE_OK);
    CHECK_INT(fixture_execute(memory, "BEGIN"), SQLITE_OK);
    CHECK_ERROR(put_joined(backend, memory, &put, 1), HORA_EINVAL);
    sqlite3_close(memory);
    sqlite3_close(other);
    sqlite3_close(db);
    fixture_close(backend);
}

/* ---- transactions of handlers ---- */

static hora__lease lease;

/* Puts a task and claims it. Returns its settlement. */
static hora__settle claim_one(hora__backend *backend)
{
    hora__exchange exchange;
    CHECK_OK(put_key(backend, NULL));
    CHECK_OK(backend->ops->join(backend, "n", 60000000, &lease, &reason));
    CHECK_OK(fixture_exchange(backend, &lease, NULL, 0, NULL, 1, &exchange, &reason));
    CHECK_INT(exchange.ret_claim_count, 1);
    return (hora__settle){.id = exchange.ret_claims[0].id,
                          .fence = exchange.ret_claims[0].fence,
                          .owner = lease.node,
                          .kind = HORA__SETTLE_DONE,
                          .outcome = HORA_RUN_SUCCEEDED};
}

static void *begin_with_effect(hora__backend *backend)
{
    void *connection = NULL;
    CHECK_OK(backend->ops->begin(backend, &connection, &reason));
    CHECK_INT(fixture_execute(connection, "INSERT INTO effect VALUES ('x')"), SQLITE_OK);
    return connection;
}

TEST_REAL(sqlite_effect_and_outcome_are_one_commit, "")
{
    const char *path = fixture_path("effect");
    hora__backend *backend = new_store(path, HORA_SECONDS(10));
    hora__settle settle = claim_one(backend);

    void *connection = begin_with_effect(backend);
    CHECK_INT(backend->ops->settle_in(backend, connection, &lease, &settle, &reason), 1);
    CHECK_OK(backend->ops->end(backend, connection, false, &reason));
    CHECK_INT(number_in(path, "SELECT count(*) FROM effect"), 0);
    CHECK_INT(number_in(path, "SELECT count(*) FROM hora_firing WHERE owner <> 0"), 1);

    connection = begin_with_effect(backend);
    CHECK_INT(backend->ops->settle_in(backend, connection, &lease, &settle, &reason), 1);
    CHECK_OK(backend->ops->end(backend, connection, true, &reason));
    CHECK_INT(number_in(path, "SELECT count(*) FROM effect"), 1);
    CHECK_INT(number_in(path, "SELECT count(*) FROM hora_firing"), 0);

    connection = begin_with_effect(backend); /* the outcome is in the store already */
    CHECK_INT(backend->ops->settle_in(backend, connection, &lease, &settle, &reason), 0);
    CHECK_OK(backend->ops->end(backend, connection, false, &reason));
    CHECK_INT(number_in(path, "SELECT count(*) FROM effect"), 1);
    fixture_close(backend);
}

TEST_REAL(sqlite_handler_that_commits_changes_nothing, "")
{
    const char *path = fixture_path("commits");
    hora__backend *backend = new_store(path, HORA_SECONDS(10));
    hora__settle settle = claim_one(backend);
    void *connection = begin_with_effect(backend);
    CHECK(fixture_execute(connection, "COMMIT") != SQLITE_OK);
    CHECK(fixture_execute(connection, "INSERT INTO effect VALUES ('y')") != SQLITE_OK);
    CHECK_ERROR(backend->ops->settle_in(backend, connection, &lease, &settle, &reason), HORA_ECANCELED);
    CHECK_ERROR(backend->ops->end(backend, connection, true, &reason), HORA_ECANCELED);
    CHECK_INT(number_in(path, "SELECT count(*) FROM effect"), 0);
    CHECK_INT(number_in(path, "SELECT count(*) FROM hora_firing WHERE owner <> 0"), 1);

    connection = begin_with_effect(backend);
    CHECK_INT(fixture_execute(connection, "ROLLBACK"), SQLITE_OK);
    CHECK_ERROR(backend->ops->end(backend, connection, true, &reason), HORA_ECANCELED);
    CHECK_OK(put_key(backend, "the turn was given back"));
    fixture_close(backend);
}

TEST_REAL(sqlite_handler_that_leaves_statements_behind, "")
{
    const char *path = fixture_path("leaves");
    hora__backend *backend = new_store(path, HORA_SECONDS(10));
    void *connection = begin_with_effect(backend);
    sqlite3_stmt *statement;
    CHECK_INT(sqlite3_prepare_v2(connection, "SELECT * FROM effect", -1, &statement, NULL), SQLITE_OK);
    CHECK_INT(sqlite3_step(statement), SQLITE_ROW);
    CHECK_OK(backend->ops->end(backend, connection, true, &reason));
    CHECK_INT(number_in(path, "SELECT count(*) FROM effect"), 1);
    CHECK_INT(sqlite3_finalize(statement), SQLITE_OK);
    void *kept = begin_with_effect(backend);
    CHECK_OK(backend->ops->end(backend, kept, true, &reason));
    connection = begin_with_effect(backend);
    CHECK_POINTER(connection, kept); /* a clean connection is used again */
    CHECK_OK(backend->ops->end(backend, connection, true, &reason));
    CHECK_INT(number_in(path, "SELECT count(*) FROM effect"), 3);
    fixture_close(backend);
}

TEST_REAL(sqlite_transaction_keeps_other_writers_waiting, "")
{
    const char *path = fixture_path("turn");
    hora__backend *backend = new_store(path, HORA_MS(200));
    void *connection = begin_with_effect(backend), *second;
    CHECK_ERROR(fixture_put(backend, &(hora__put){.handler = "h"}, &reason), HORA_EBUSY);
    CHECK_ERROR(backend->ops->begin(backend, &second, &reason), HORA_EBUSY);
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    CHECK_OK(backend->ops->stats(backend, &stats, &reason)); /* reading does not wait */
    CHECK_OK(backend->ops->end(backend, connection, true, &reason));
    CHECK_OK(put_key(backend, "a"));
    fixture_close(backend);
}
