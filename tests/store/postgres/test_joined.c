/* SPDX-License-Identifier: Apache-2.0 */
/* test_joined.c - transactions that hora shares with its caller: puts, and the effects of handlers */
#include <string.h>

#include "fixture.h"

static int put_joined(hora__backend *store, PGconn *connection, const char *first, const char *second)
{
    hora__put puts[] = {{.handler = "h", .key = first, .lane = 2, .after_now = true},
                        {.handler = "h", .key = second, .lane = 2, .after_now = true}};
    hora__put_done done[2];
    size_t wrong = 0;
    int error =
        store->ops->put_joined(store, connection, puts, second == NULL ? 1 : 2, done, &wrong, &test_error);
    return error == HORA_EEXIST ? (int)wrong + 100 : error;
}

TEST_REAL(joined_put_commits_with_the_caller, "")
{
    hora__backend *store = open_store("joined");
    PGconn *caller = admin();
    sql_on(caller, "CREATE TABLE orders (id int)");
    sql_on(caller, "BEGIN; INSERT INTO orders VALUES (1)");
    CHECK_OK(put_joined(store, caller, "a", "b"));
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
    sql_on(caller, "COMMIT");
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 2);
    sql_on(caller, "BEGIN; INSERT INTO orders VALUES (2)");
    CHECK_OK(put_joined(store, caller, "c", NULL));
    sql_on(caller, "ROLLBACK");
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 2);
    PQfinish(caller);
    store->ops->close(store);
}

/* A refused task leaves nothing, and the transaction of the caller goes on. */
TEST_REAL(joined_put_that_is_refused, "")
{
    hora__backend *store = open_store("joined_refused");
    PGconn *caller = admin();
    CHECK_OK(put_task(store, "b", 0, NULL));
    sql_on(caller, "BEGIN");
    CHECK_INT(put_joined(store, caller, "a", "b"), 101);
    CHECK_INT(PQtransactionStatus(caller), PQTRANS_INTRANS);
    CHECK_OK(put_joined(store, caller, "c", NULL));
    sql_on(caller, "COMMIT");
    CHECK_INT(sql("SELECT count(*) FROM @firing WHERE key IN ('a')"), 0);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 2);
    CHECK_ERROR(put_joined(store, caller, "d", NULL), HORA_EINVAL);
    CHECK(strcmp(test_error.field, "connection") == 0);
    PQfinish(caller);
    store->ops->close(store);
}

/* ---- effects ---- */

static hora__claim claim_a(hora__backend *store, const hora__lease *lease)
{
    hora__exchange exchange;
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_INT(claim(store, lease, 1, &exchange), 1);
    hora__claim held = exchange.ret_claims[0];
    held.key = NULL;
    return held;
}

TEST_REAL(joined_effect_and_settlement_commit_together, "")
{
    hora__backend *store = open_store("effect");
    hora__lease lease = join_for(store, 60 * SECOND);
    hora__claim held = claim_a(store, &lease);
    hora__settle done = settle_of(&lease, &held, HORA__SETTLE_DONE);
    void *connection;
    sql("CREATE TABLE effects (id int)");
    CHECK_OK(store->ops->begin(store, &connection, &test_error));
    sql_on(connection, "INSERT INTO effects VALUES (1)");
    CHECK_INT(store->ops->settle_in(store, connection, &lease, &done, &test_error), 1);
    CHECK_INT(sql("SELECT count(*) FROM effects"), 0);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 1);
    CHECK_OK(store->ops->end(store, connection, true, &test_error));
    CHECK_INT(sql("SELECT count(*) FROM effects"), 1);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);

    /* the same settlement again is stale, so this effect does not count */
    CHECK_OK(store->ops->begin(store, &connection, &test_error));
    sql_on(connection, "INSERT INTO effects VALUES (2)");
    CHECK_INT(store->ops->settle_in(store, connection, &lease, &done, &test_error), 0);
    CHECK_OK(store->ops->end(store, connection, false, &test_error));
    CHECK_INT(sql("SELECT count(*) FROM effects"), 1);
    store->ops->close(store);
}

TEST_REAL(joined_effect_of_a_failed_statement, "")
{
    hora__backend *store = open_store("effect_failed");
    hora__lease lease = join_for(store, 60 * SECOND);
    hora__claim held = claim_a(store, &lease);
    hora__settle done = settle_of(&lease, &held, HORA__SETTLE_DONE);
    void *connection;
    CHECK_OK(store->ops->begin(store, &connection, &test_error));
    PQclear(PQexec(connection, "SELECT 1 / 0"));
    CHECK_ERROR(store->ops->settle_in(store, connection, &lease, &done, &test_error), HORA_EINVAL);
    CHECK_ERROR(store->ops->end(store, connection, true, &test_error), HORA_EINVAL);
    CHECK_INT(sql("SELECT count(*) FROM @firing WHERE owner <> 0"), 1);

    /* a handler that ends the transaction itself is told so */
    CHECK_OK(store->ops->begin(store, &connection, &test_error));
    sql_on(connection, "COMMIT");
    CHECK_ERROR(store->ops->end(store, connection, true, &test_error), HORA_EINVAL);
    store->ops->close(store);
}

/* Connections are used again; one that the server has closed meanwhile is replaced. */
TEST_REAL(joined_connections_are_kept, "")
{
    hora__backend *store = open_store("effect_kept");
    void *connections[6];
    for (int i = 0; i < 6; i++)
        CHECK_OK(store->ops->begin(store, &connections[i], &test_error));
    for (int i = 0; i < 6; i++)
        CHECK_OK(store->ops->end(store, connections[i], true, &test_error));
    void *connection;
    CHECK_OK(store->ops->begin(store, &connection, &test_error));
    int64_t process = PQbackendPID(connection);
    CHECK_OK(store->ops->end(store, connection, true, &test_error));
    sql("SELECT pg_terminate_backend(%lld)", (long long)process);
    CHECK_OK(store->ops->begin(store, &connection, &test_error));
    CHECK_INT(sql_on(connection, "SELECT 7"), 7);
    CHECK_OK(store->ops->end(store, connection, false, &test_error));
    store->ops->close(store);
}

/* A row that a handler is settling is skipped by the reaper, and its node stays until then. */
TEST_REAL(joined_settlement_is_not_reaped, "")
{
    hora__backend *store = open_store("effect_reap"), *other = open_store("effect_reap");
    hora__lease lease = join_for(store, 60 * SECOND), reaper = join_for(other, 60 * SECOND);
    hora__claim held = claim_a(store, &lease);
    hora__settle done = settle_of(&lease, &held, HORA__SETTLE_DONE);
    void *connection;
    int64_t released = -1;
    CHECK_OK(store->ops->begin(store, &connection, &test_error));
    CHECK_INT(store->ops->settle_in(store, connection, &lease, &done, &test_error), 1);
    sql("UPDATE @node SET lease = 1 WHERE id = %lld", (long long)lease.node);
    CHECK_OK(other->ops->reap(other, &reaper, 10, &released, &test_error));
    CHECK_INT(released, 0);
    CHECK_INT(sql("SELECT count(*) FROM @node"), 2);
    CHECK_OK(store->ops->end(store, connection, true, &test_error));
    CHECK_OK(other->ops->reap(other, &reaper, 10, &released, &test_error));
    CHECK_INT(released, 0);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
    CHECK_INT(sql("SELECT count(*) FROM @node"), 1);
    other->ops->close(other);
    store->ops->close(store);
}
