/* SPDX-License-Identifier: Apache-2.0 */
/* test_public.c - transactions of programs and of handlers in a store on SQLite, by hora/store.h */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <hora/hora.h>
#include <hora/store.h>

#include "fixture.h"

static hora_error reason;

/* A store with a table of the program, and a connection of the program to it. */
typedef struct program {
    const char *path;
    hora_store *store;
    sqlite3 *db;
    hora_durable *durable;
    atomic_int runs;
} program;

static int write_effect(const hora_run *run, void *arg)
{
    program *own = arg;
    sqlite3 *db = NULL, *again = NULL;
    hora_error error;
    int number = atomic_fetch_add(&own->runs, 1);
    if (strcmp(run->handler, "other") == 0) {
        CHECK_ERROR(hora_run_begin_sqlite(run, &db, &error), HORA_EINVAL);
        return 0;
    }
    CHECK_ERROR(hora_run_begin_sqlite(run, NULL, &error), HORA_EINVAL);
    CHECK_OK(hora_run_begin_sqlite(run, &db, &error));
    CHECK_OK(hora_run_begin_sqlite(run, &again, &error));
    CHECK_POINTER(again, db);
    struct pg_conn *connection;
    CHECK_ERROR(hora_run_begin_postgres(run, &connection, &error), HORA_EINVAL);
    CHECK_INT(fixture_execute(db, "INSERT INTO effect VALUES ('run')"), SQLITE_OK);
    /* A task that the handler puts in the same transaction. */
    const hora_durable_task *task = HORA_DURABLE_TASK(.handler = "nobody");
    CHECK_OK(hora_store_put_sqlite(own->store, db, &task, 1, NULL, &error));
    return number == 0 ? HORA_EFAILED : 0;
}

static void begin(program *own, const char *name)
{
    char address[300];
    *own = (program){.path = fixture_path(name)};
    fixture_remove(own->path);
    (void)snprintf(address, sizeof address, "sqlite://%s", own->path);
    CHECK_OK(hora_store_open(address, NULL, &own->store, &reason));
    own->db = fixture_connect(own->path);
    CHECK_INT(fixture_execute(own->db, "CREATE TABLE effect (what TEXT)"), SQLITE_OK);
    CHECK_OK(hora_durable_new(own->store, HORA_DURABLE_OPTIONS(.threads = 1), &own->durable, &reason));
    CHECK_OK(hora_durable_add_handler(own->durable, "effect", write_effect, own, NULL, &reason));
    CHECK_OK(hora_durable_add_handler(own->durable, "other", write_effect, own, NULL, &reason));
    CHECK_OK(hora_durable_start(own->durable, &reason));
}

static void end(program *own)
{
    CHECK_OK(hora_durable_free(own->durable));
    sqlite3_close(own->db);
    CHECK_OK(hora_store_close(own->store));
}

TEST_REAL(sqlite_tasks_exist_if_and_when_the_program_commits, "")
{
    program own;
    hora_put_result result;
    hora_store *memory;
    const hora_durable_task *task = HORA_DURABLE_TASK(.handler = "other", .key = "k");
    begin(&own, "commits");
    CHECK_ERROR(hora_store_put_sqlite(own.store, NULL, &task, 1, NULL, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_store_put_postgres(own.store, NULL, &task, 1, NULL, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_store_put_sqlite(own.store, own.db, &task, 1, NULL, &reason), HORA_EINVAL);
    CHECK(strstr(reason.message, "transaction") != NULL);
    CHECK_OK(hora_store_open("memory:", NULL, &memory, &reason));
    CHECK_ERROR(hora_store_put_sqlite(memory, own.db, &task, 1, NULL, &reason), HORA_EINVAL);
    CHECK_OK(hora_store_close(memory));
    static const char *const ends[] = {"ROLLBACK", "COMMIT"};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(fixture_execute(own.db, "BEGIN IMMEDIATE; INSERT INTO effect VALUES ('program')"),
                  SQLITE_OK);
        CHECK_OK(hora_store_put_sqlite(own.store, own.db, &task, 1, &result, &reason));
        CHECK_INT(result.done, HORA_PUT_INSERTED);
        CHECK_INT(fixture_execute(own.db, ends[i]), SQLITE_OK);
        CHECK_OK(hora_store_wake(own.store));
        CHECK_OK(hora_durable_await_idle(own.durable, HORA_SECONDS(60)));
        CHECK_INT(own.runs, i);
        CHECK_INT(fixture_number(own.db, "SELECT count(*) FROM effect"), i);
    }
    end(&own);
}

/* The first attempt fails, and leaves nothing; the second one commits its effect with its outcome. */
TEST_REAL(sqlite_effects_of_a_failed_run_are_rolled_back, "")
{
    program own;
    begin(&own, "effects");
    CHECK_OK(hora_store_put(
        own.store,
        HORA_DURABLE_TASK(.handler = "effect", .delivery = HORA_EFFECT_ONCE, .back_off = HORA_MS(1)), NULL,
        &reason));
    while (own.runs < 2)
        CHECK_OK(hora_durable_await_idle(own.durable, HORA_SECONDS(60)));
    CHECK_OK(hora_durable_await_idle(own.durable, HORA_SECONDS(60)));
    CHECK_INT(own.runs, 2);
    CHECK_INT(fixture_number(own.db, "SELECT count(*) FROM effect"), 1);
    CHECK_INT(fixture_number(own.db, "SELECT count(*) FROM hora_firing WHERE handler = 'nobody'"), 1);
    CHECK_INT(fixture_number(own.db, "SELECT count(*) FROM hora_firing WHERE handler = 'effect'"), 0);
    end(&own);
}
