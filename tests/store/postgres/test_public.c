/* SPDX-License-Identifier: Apache-2.0 */
/* test_public.c - what <hora/store.h> offers only with PostgreSQL, and what it reports */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <hora/hora.h>
#include <hora/latch.h>
#include <hora/store.h>

#include "fixture.h"

static hora_store *open_public(const char *schema)
{
    hora_store *store;
    use_schema(schema);
    CHECK_OK(hora_store_open(address_with(""), HORA_STORE_OPTIONS(.schema = schema), &store, &test_error));
    return store;
}

static const hora_ns patience = HORA_SECONDS(20);

/* ---- hora_store_put_postgres ---- */

TEST_REAL(tasks_are_put_with_the_callers_transaction, "")
{
    hora_store *store = open_public("public_put");
    PGconn *caller = admin();
    const hora_durable_task *tasks[] = {HORA_DURABLE_TASK(.handler = "h", .key = "a"),
                                        HORA_DURABLE_TASK(.handler = "h", .key = "b")};
    hora_put_result results[2];
    CHECK_ERROR(hora_store_put_postgres(store, caller, tasks, 2, results, &test_error), HORA_EINVAL);
    sql_on(caller, "CREATE TABLE orders (id int); BEGIN; INSERT INTO orders VALUES (1)");
    CHECK_OK(hora_store_put_postgres(store, caller, tasks, 2, results, &test_error));
    CHECK(results[0].done == HORA_PUT_INSERTED && results[1].id > results[0].id);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
    sql_on(caller, "COMMIT");
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 2);
    sql_on(caller, "BEGIN; INSERT INTO orders VALUES (2)");
    CHECK_ERROR(hora_store_put_postgres(store, caller, tasks, 1, NULL, &test_error), HORA_EEXIST);
    const hora_durable_task *more[] = {HORA_DURABLE_TASK(.handler = "h", .key = "c")};
    CHECK_OK(hora_store_put_postgres(store, caller, more, 1, NULL, &test_error));
    sql_on(caller, "ROLLBACK");
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 2);
    CHECK_INT(sql("SELECT count(*) FROM orders"), 1);
    CHECK_ERROR(hora_store_put_postgres(store, NULL, tasks, 2, results, &test_error), HORA_EINVAL);
    CHECK_ERROR(hora_store_put_postgres(NULL, caller, tasks, 2, results, &test_error), HORA_EINVAL);
    CHECK_ERROR(hora_store_put_postgres(store, caller, NULL, 2, results, &test_error), HORA_EINVAL);
    PQfinish(caller);
    CHECK_OK(hora_store_close(store));
}

static hora_latch *ran;

static int count_down(const hora_run *run, void *arg)
{
    (void)run, (void)arg;
    (void)hora_latch_count_down(ran);
    return 0;
}

/* The commit of the caller wakes the node: it does not wait for its next look. */
TEST_REAL(a_node_is_woken_when_the_caller_commits, "")
{
    hora_store *store = open_public("public_wake");
    hora_durable *durable;
    CHECK_OK(hora_latch_new(1, NULL, &ran, NULL));
    CHECK_OK(hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 1), &durable, &test_error));
    CHECK_OK(hora_durable_add_handler(durable, "h", count_down, NULL, NULL, &test_error));
    CHECK_OK(hora_durable_start(durable, &test_error));
    PGconn *caller = admin();
    sql_on(caller, "BEGIN");
    const hora_durable_task *tasks[] = {HORA_DURABLE_TASK(.handler = "h")};
    CHECK_OK(hora_store_put_postgres(store, caller, tasks, 1, NULL, &test_error));
    CHECK_INT(hora_latch_count(ran), 1);
    sql_on(caller, "COMMIT");
    CHECK_OK(hora_latch_await_for(ran, test_scale(patience)));
    PQfinish(caller);
    CHECK_OK(hora_durable_free(durable));
    CHECK_OK(hora_store_close(store));
    CHECK_OK(hora_latch_free(ran));
}

/* ---- hora_run_begin_postgres ---- */

static atomic_int attempts;

/* Fails in its first attempt, after it has written. */
static int write_effect(const hora_run *run, void *arg)
{
    (void)arg;
    PGconn *connection = NULL, *again = NULL;
    hora_error error;
    struct sqlite3 *wrong = NULL;
    CHECK_ERROR(hora_run_begin_sqlite(run, &wrong, &error), HORA_EINVAL);
    CHECK_ERROR(hora_run_begin_postgres(run, NULL, &error), HORA_EINVAL);
    CHECK_OK(hora_run_begin_postgres(run, &connection, &error));
    CHECK_OK(hora_run_begin_postgres(run, &again, &error)); /* the same transaction */
    CHECK(again == connection);
    sql_on(connection, "INSERT INTO public_effects VALUES (%d)", run->attempt);
    if (atomic_fetch_add(&attempts, 1) == 0)
        return 7;
    (void)hora_latch_count_down(ran);
    return 0;
}

static int refuse_begin(const hora_run *run, void *arg)
{
    (void)arg;
    PGconn *connection = NULL;
    hora_error error;
    CHECK_ERROR(hora_run_begin_postgres(run, &connection, &error), HORA_EINVAL);
    CHECK(connection == NULL && error.message[0] != '\0');
    return 0;
}

TEST_REAL(an_effect_is_committed_with_the_outcome, "")
{
    hora_store *store = open_public("public_effect");
    hora_durable *durable;
    CHECK_OK(hora_latch_new(1, NULL, &ran, NULL));
    sql("CREATE TABLE public_effects (attempt int)");
    CHECK_OK(hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 2), &durable, &test_error));
    CHECK_OK(hora_durable_add_handler(durable, "effect", write_effect, NULL, NULL, &test_error));
    CHECK_OK(hora_durable_add_handler(durable, "plain", refuse_begin, NULL, NULL, &test_error));
    CHECK_OK(hora_durable_start(durable, &test_error));
    CHECK_OK(hora_store_put(store,
                            HORA_DURABLE_TASK(.handler = "effect", .delivery = HORA_EFFECT_ONCE,
                                              .max_attempts = 3, .back_off = HORA_MS(1)),
                            NULL, &test_error));
    CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "plain"), NULL, &test_error));
    CHECK_OK(hora_latch_await_for(ran, test_scale(patience)));
    CHECK_OK(hora_durable_await_idle(durable, test_scale(patience)));
    CHECK_INT(atomic_load(&attempts), 2);
    CHECK_INT(sql("SELECT count(*) FROM public_effects"), 1); /* that of the first attempt was rolled back */
    CHECK_INT(sql("SELECT attempt FROM public_effects"), 2);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
    CHECK_OK(hora_durable_free(durable));
    CHECK_OK(hora_store_close(store));
    CHECK_OK(hora_latch_free(ran));
}

/* ---- HORA_DURABLE_FAILED ---- */

/* What was reported. */
typedef struct reports {
    hora_latch *failed;
    char message[sizeof((hora_error){0}.message)];
    int code;
} reports;

static void note_report(hora_durable *durable, hora_durable_event event, int64_t count,
                        const hora_error *error, void *arg)
{
    (void)durable, (void)count;
    reports *own = arg;
    if (event != HORA_DURABLE_FAILED || hora_latch_count(own->failed) == 0)
        return;
    own->code = error->code;
    (void)snprintf(own->message, sizeof own->message, "%s", error->message);
    (void)hora_latch_count_down(own->failed);
}

/* A table is gone, as in the middle of a clumsy repair. The node says so, and goes on when it is back. */
TEST_REAL(a_failure_that_is_no_lost_connection_is_reported, "")
{
    hora_store *store = open_public("public_failed");
    hora_durable *durable;
    reports own = {.code = 0};
    CHECK_OK(hora_latch_new(1, NULL, &own.failed, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &ran, NULL));
    CHECK_OK(hora_durable_new(store,
                              HORA_DURABLE_OPTIONS(.threads = 1, .notify = note_report, .notify_arg = &own),
                              &durable, &test_error));
    CHECK_OK(hora_durable_add_handler(durable, "h", count_down, NULL, NULL, &test_error));
    CHECK_OK(hora_durable_start(durable, &test_error));
    sql("ALTER TABLE @firing RENAME TO hora_hidden");
    CHECK_OK(hora_latch_await_for(own.failed, test_scale(patience)));
    CHECK_INT(own.code, HORA_EBADMSG);
    CHECK(strstr(own.message, "hora_firing") != NULL);
    sql("ALTER TABLE \"public_failed\".hora_hidden RENAME TO hora_firing");
    CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "h"), NULL, &test_error));
    CHECK_OK(hora_latch_await_for(ran, test_scale(patience)));
    CHECK_OK(hora_durable_free(durable));
    CHECK_OK(hora_store_close(store));
    CHECK_OK(hora_latch_free(ran));
    CHECK_OK(hora_latch_free(own.failed));
}
