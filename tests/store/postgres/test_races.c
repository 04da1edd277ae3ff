/* SPDX-License-Identifier: Apache-2.0 */
/* test_races.c - two transactions at the same time, one of which waits for the other
 *
 * The first holds a row lock, in a connection of the test. The second is a call of the store on a thread,
 * which blocks. When the server shows that it waits, the first commits. */
#include <pthread.h>
#include <stdio.h>

#include "fixture.h"

enum { LOOKS = 12000 }; /* with wait_a_moment(5) between them: a minute */

/* Waits until a connection with this name waits for a lock. */
static bool await_blocked_named(const char *application)
{
    for (int i = 0; i < LOOKS; i++) {
        if (sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s'"
                " AND wait_event_type = 'Lock'",
                application) > 0)
            return true;
        wait_a_moment(5);
    }
    return false;
}

static bool await_blocked(void)
{
    return await_blocked_named("hora");
}

/* The number of deadlocks so far. A process of the server reports what it has counted before it is gone, so
 * the number is exact when no store is open. */
static int64_t count_deadlocks(void)
{
    for (int i = 0; i < LOOKS; i++) {
        if (sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hora'") == 0)
            return sql("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'");
        wait_a_moment(5);
    }
    return -1;
}

/* ---- a settlement meets a change ---- */

struct settling {
    hora__backend *store;
    const hora__lease *lease;
    hora__claim claim;
    hora__settle_kind kind;
    int result;
};

static void *settle_on_a_thread(void *arg)
{
    struct settling *settling = arg;
    settling->result = settle(settling->store, settling->lease, &settling->claim, settling->kind);
    return NULL;
}

/* Claims a task, makes a change that is not committed, settles meanwhile, and commits the change. */
static int settle_during(const char *schema, hora__settle_kind kind, const char *change)
{
    hora__backend *store = open_store(schema);
    hora__lease lease = join_for(store, 60 * SECOND);
    hora__exchange exchange;
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_INT(claim(store, &lease, 1, &exchange), 1);
    struct settling settling = {store, &lease, exchange.ret_claims[0], kind, -1};
    PGconn *other = admin();
    sql_on(other, "BEGIN");
    sql_on(other, "%s", change);
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, settle_on_a_thread, &settling), 0);
    CHECK(await_blocked());
    sql_on(other, "COMMIT");
    pthread_join(thread, NULL);
    PQfinish(other);
    store->ops->close(store);
    return settling.result;
}

/* DONE would delete the row, but it was given a new time. */
TEST_REAL(races_done_and_retime, "")
{
    CHECK_INT(
        settle_during("done_retime", HORA__SETTLE_DONE, "UPDATE @firing SET change_due = 4102444800000000"),
        HORA__SETTLED_OK);
    CHECK_INT(sql("SELECT count(*) FROM @firing WHERE owner = 0 AND due = 4102444800000000 AND attempt = 0"
                  " AND change_due IS NULL"),
              1);
}

/* RETRY would keep the row, but the task was cancelled. */
TEST_REAL(races_retry_and_cancel, "")
{
    CHECK_INT(settle_during("retry_cancel", HORA__SETTLE_RETRY, "UPDATE @firing SET change_cancel = true"),
              HORA__SETTLED_OK);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
}

TEST_REAL(races_done_and_pause, "")
{
    CHECK_INT(settle_during("done_pause", HORA__SETTLE_DONE, "UPDATE @firing SET paused = true"),
              HORA__SETTLED_OK);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
}

/* A release that commits first makes the settlement stale. */
TEST_REAL(races_done_and_release, "")
{
    CHECK_INT(settle_during("done_release", HORA__SETTLE_DONE, "UPDATE @firing SET owner = 0"),
              HORA__SETTLED_STALE);
    CHECK_INT(sql("SELECT count(*) FROM @firing WHERE owner = 0"), 1);
}

TEST_REAL(races_done_and_takeover, "")
{
    CHECK_INT(
        settle_during("done_takeover", HORA__SETTLE_DONE, "UPDATE @firing SET owner = 99, fence = fence + 1"),
        HORA__SETTLED_STALE);
    CHECK_INT(sql("SELECT count(*) FROM @firing WHERE owner = 99"), 1);
}

TEST_REAL(races_retry_and_done_elsewhere, "")
{
    CHECK_INT(settle_during("retry_done", HORA__SETTLE_RETRY, "DELETE FROM @firing"), HORA__SETTLED_STALE);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
}

/* ---- puts of the same key ---- */

struct putting {
    hora__backend *store;
    hora_if_exists if_exists;
    int result;
    hora__put_done done;
};

static void *put_on_a_thread(void *arg)
{
    struct putting *putting = arg;
    hora_error error;
    size_t wrong;
    hora__put put = {
        .handler = "new", .key = "a", .if_exists = putting->if_exists, .lane = 2, .after_now = true};
    putting->result = putting->store->ops->put(putting->store, &put, 1, &putting->done, &wrong, &error);
    return NULL;
}

/* Puts a key while another transaction has done something with it; then that one commits or rolls back. */
static struct putting put_during(const char *schema, hora_if_exists if_exists, bool exists,
                                 const char *change, const char *end)
{
    hora__backend *store = open_store(schema);
    struct putting putting = {.store = store, .if_exists = if_exists};
    if (exists)
        CHECK_OK(put_task(store, "a", 0, NULL));
    PGconn *other = admin();
    sql_on(other, "BEGIN");
    sql_on(other, "%s", change);
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, put_on_a_thread, &putting), 0);
    CHECK(await_blocked());
    sql_on(other, "%s", end);
    pthread_join(thread, NULL);
    PQfinish(other);
    CHECK_INT(sql("SELECT count(*) FROM @firing WHERE key = 'a'"), 1); /* B7 */
    store->ops->close(store);
    return putting;
}

static const char insert_a[] =
    "INSERT INTO @firing (id, handler, key, lane, planned, due) VALUES (nextval('@id'), 'old', 'a', 2, 0, 0)";

TEST_REAL(races_put_refuse_and_insert, "")
{
    CHECK_ERROR(put_during("put_1", HORA_IF_EXISTS_REFUSE, false, insert_a, "COMMIT").result, HORA_EEXIST);
    struct putting putting = put_during("put_2", HORA_IF_EXISTS_REFUSE, false, insert_a, "ROLLBACK");
    CHECK_OK(putting.result);
    CHECK_INT(putting.done.done, HORA_PUT_INSERTED);
}

TEST_REAL(races_put_replace_and_insert, "")
{
    struct putting putting = put_during("put_3", HORA_IF_EXISTS_REPLACE, false, insert_a, "COMMIT");
    CHECK_OK(putting.result);
    CHECK_INT(putting.done.done, HORA_PUT_REPLACED);
    CHECK_INT(sql("SELECT count(*) FROM @firing WHERE handler = 'new'"), 1);
}

TEST_REAL(races_put_keep_and_delete, "")
{
    struct putting putting = put_during("put_4", HORA_IF_EXISTS_KEEP, true, "DELETE FROM @firing", "COMMIT");
    CHECK_OK(putting.result);
    CHECK_INT(putting.done.done, HORA_PUT_INSERTED);
}

TEST_REAL(races_put_replace_and_claim, "")
{
    struct putting putting = put_during("put_5", HORA_IF_EXISTS_REPLACE, true,
                                        "UPDATE @firing SET owner = 77, fence = fence + 1", "COMMIT");
    CHECK_OK(putting.result);
    CHECK_INT(putting.done.done, HORA_PUT_REPLACED);
    CHECK_INT(sql("SELECT count(*) FROM @firing WHERE owner = 77 AND change_due IS NOT NULL"), 1);
}

/* ---- leases ---- */

/* A node whose exchange is in progress is not reaped, although its lease has ended meanwhile: otherwise its
 * claims could belong to a node that is gone. */
TEST_REAL(races_reap_and_exchange, "")
{
    hora__backend *store = open_store("reap_exchange");
    hora__lease lease = join_for(store, 60 * SECOND), other = join_for(store, 60 * SECOND);
    PGconn *exchange = admin();
    int64_t released;
    sql_on(exchange, "BEGIN");
    sql_on(exchange, "SELECT 1 FROM @node WHERE id = %lld FOR KEY SHARE", (long long)lease.node);
    CHECK_INT(
        sql_on(exchange, "UPDATE @node SET lease = 1 WHERE id = %lld RETURNING 1", (long long)lease.node), 1);
    sql_on(exchange, "ROLLBACK");
    sql("UPDATE @node SET lease = 1 WHERE id = %lld", (long long)lease.node);
    sql_on(exchange, "BEGIN");
    sql_on(exchange, "SELECT 1 FROM @node WHERE id = %lld FOR KEY SHARE", (long long)lease.node);
    CHECK_OK(store->ops->reap(store, &other, 10, &released, &test_error));
    CHECK_INT(sql("SELECT count(*) FROM @node"), 2);
    sql_on(exchange, "COMMIT");
    CHECK_OK(store->ops->reap(store, &other, 10, &released, &test_error));
    CHECK_INT(sql("SELECT count(*) FROM @node"), 1);
    PQfinish(exchange);
    store->ops->close(store);
}

/* The last two runs of a series that overlap end at the same time: the row of the series does not stay. */
TEST_REAL(races_both_ends_of_a_series, "")
{
    hora__backend *store = open_store("ends");
    hora__lease lease = join_for(store, 60 * SECOND);
    int64_t released;
    sql("INSERT INTO @series (id, key, revision) VALUES (7, 'k', 1)");
    CHECK_INT(sql("SELECT count(*) FROM @series"), 1);
    CHECK_OK(store->ops->reap(store, &lease, 10, &released, &test_error));
    CHECK_INT(sql("SELECT count(*) FROM @series"), 0);
    store->ops->close(store);
}

/* Two batches with the same keys in different orders do not deadlock, because keys are sorted. */
struct batching {
    hora__backend *store;
    bool backwards;
    int failed;
};

static void *put_batches(void *arg)
{
    enum { KEYS = 20 };
    struct batching *batching = arg;
    char keys[KEYS][8];
    hora__put puts[KEYS];
    hora__put_done done[KEYS];
    hora_error error;
    size_t wrong;
    for (int i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "k%02d", batching->backwards ? KEYS - i : i + 1);
        puts[i] = (hora__put){.handler = "h", .key = keys[i], .if_exists = HORA_IF_EXISTS_REPLACE, .lane = 2};
    }
    for (int round = 0; round < 30; round++)
        batching->failed += batching->store->ops->put(batching->store, puts, KEYS, done, &wrong, &error) < 0;
    return NULL;
}

TEST_REAL(races_batches_in_different_orders, "")
{
    int64_t before = count_deadlocks();
    hora__backend *a = open_store("orders"), *b = open_store("orders");
    struct batching batching[] = {{a, false, 0}, {b, true, 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, put_batches, &batching[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(batching[i].failed, 0);
    }
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 20);
    a->ops->close(a);
    b->ops->close(b);
    CHECK(before >= 0);
    CHECK_INT(count_deadlocks(), before);
}

static void *put_a_b_and_c(void *arg)
{
    struct batching *batching = arg;
    hora__put puts[] = {{.handler = "h", .key = "a", .if_exists = HORA_IF_EXISTS_REPLACE, .lane = 2},
                        {.handler = "h", .key = "b", .if_exists = HORA_IF_EXISTS_REPLACE, .lane = 2},
                        {.handler = "h", .key = "c", .if_exists = HORA_IF_EXISTS_REPLACE, .lane = 2}};
    hora__put_done done[3];
    hora_error error;
    size_t wrong;
    batching->failed = batching->store->ops->put(batching->store, puts, 3, done, &wrong, &error);
    return NULL;
}

/* A transaction that PostgreSQL ends because of a deadlock is repeated, once.
 *
 * A process looks for a deadlock once, a while after it has begun to wait. So the wait that closes the circle
 * must be hora's, and come last: hora stops at `b`, which `gate` has locked, until `other` waits for it; only
 * then it goes on to `c`, which `other` has. `other` waits for the lock on the table: it gets that at the
 * moment when hora's transaction ends. A row that was free again could be taken by the repetition, which
 * would make a second deadlock. */
TEST_REAL(races_deadlock_is_repeated, "")
{
    int64_t before = count_deadlocks();
    hora__backend *store = open_store("deadlock");
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_OK(put_task(store, "b", 0, NULL));
    CHECK_OK(put_task(store, "c", 0, NULL));
    PGconn *gate = admin(), *other = admin();
    sql_on(gate, "BEGIN");
    sql_on(gate, "SELECT 1 FROM @firing WHERE key = 'b' FOR UPDATE");
    sql_on(other, "SET application_name = 'other'; SET deadlock_timeout = '1h'");
    sql_on(other, "BEGIN");
    sql_on(other, "SELECT 1 FROM @firing WHERE key = 'c' FOR UPDATE");
    struct batching batching = {.store = store};
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, put_a_b_and_c, &batching), 0);
    CHECK(await_blocked());
    CHECK_INT(PQsendQuery(other, "LOCK TABLE deadlock.hora_firing IN ACCESS EXCLUSIVE MODE"), 1);
    CHECK(await_blocked_named("other"));
    sql_on(gate, "COMMIT");
    PGresult *locked = PQgetResult(other); /* hora's transaction has been ended */
    CHECK_INT(PQresultStatus(locked), PGRES_COMMAND_OK);
    PQclear(locked);
    CHECK(PQgetResult(other) == NULL);
    CHECK(await_blocked()); /* the repetition */
    sql_on(other, "COMMIT");
    pthread_join(thread, NULL);
    CHECK_OK(batching.failed);
    PQfinish(gate);
    PQfinish(other);
    store->ops->close(store);
    CHECK(before >= 0);
    CHECK_INT(count_deadlocks(), before + 1);
}
