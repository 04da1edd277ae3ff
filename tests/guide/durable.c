/* SPDX-License-Identifier: Apache-2.0 */
/* durable.c - the fragments of docs/guide/durable.md */
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include <hora/hora.h>
#include <hora/store.h>

static int count(const hora_run *run, void *arg)
{
    ++*(int *)arg;
    return 0;
}

static int declare(hora_store *store)
{
    hora_error error = {0};
    /* fragment */
    return error.code;
}

static int order(hora_store *store, sqlite3 *database)
{
    hora_error error = {0};
    /* fragment */
    return error.code;
}

/* fragment */

typedef struct job {
    hora_latch *should_end;
    hora_queue *started;
} job;

/* fragment */

/* Ends the run that start_job has begun, when it is cancelled. */
static int finish_job(hora_store *store, job *own)
{
    void *run;
    if (hora_queue_poll_for(own->started, HORA_SECONDS(10), &run) < 0 ||
        hora_store_cancel(store, "job", 0, NULL) != HORA_CANCEL_RUNNING ||
        hora_latch_await_for(own->should_end, HORA_SECONDS(10)) < 0)
        return HORA_EFAILED;
    return hora_run_finish(run, 0);
}

int main(void)
{
    hora_store *store;
    hora_durable *durable;
    hora_error error;
    sqlite3 *database;
    int confirmed = 0, balance = 0;
    sqlite3_stmt *statement;
    job own;
    if (hora_store_open("sqlite:orders.db", NULL, &store, &error) < 0 ||
        sqlite3_open("orders.db", &database) != SQLITE_OK ||
        sqlite3_exec(database,
                     "CREATE TABLE orders (number INTEGER); CREATE TABLE account (balance INTEGER);"
                     "INSERT INTO account VALUES (12)",
                     NULL, NULL, NULL) != SQLITE_OK ||
        hora_durable_new(store, NULL, &durable, &error) < 0 ||
        hora_durable_add_handler(durable, "confirm", count, &confirmed, NULL, &error) < 0 ||
        hora_durable_add_handler(durable, "book", book, NULL, NULL, &error) < 0 ||
        hora_queue_new_linked(1, NULL, &own.started, &error) < 0 ||
        hora_latch_new(1, NULL, &own.should_end, &error) < 0 ||
        hora_durable_add_handler(durable, "job", start_job, &own, NULL, &error) < 0 ||
        hora_durable_start(durable, &error) < 0)
        return 1;
    if (declare(store) < 0 || declare(store) < 0 || order(store, database) < 0 ||
        hora_store_put(store, HORA_DURABLE_TASK(.handler = "book", .delivery = HORA_EFFECT_ONCE), NULL,
                       &error) < 0 ||
        hora_store_put(store, HORA_DURABLE_TASK(.handler = "job", .key = "job"), NULL, &error) < 0 ||
        finish_job(store, &own) < 0)
        return 2;
    if (hora_durable_await_idle(durable, HORA_SECONDS(10)) < 0 || hora_durable_free(durable) < 0)
        return 3;
    if (sqlite3_prepare_v2(database, "SELECT balance FROM account", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        balance = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    hora_queue_free(own.started);
    hora_latch_free(own.should_end);
    hora_store_close(store);
    unlink("orders.db");
    return confirmed == 1 && balance == 7 ? 0 : 4;
}
