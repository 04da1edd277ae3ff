/* SPDX-License-Identifier: Apache-2.0 */
/* test_lost.c - lost connections, restarts and failovers: nothing is lost, and nothing is put twice */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <hora/clock.h>

#include "fixture.h"
#include "postgres.h"

static int terminate_all(void)
{
    return (int)sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE application_name = 'hora'");
}

TEST_REAL(lost_put_connects_again, "")
{
    hora__backend *store = open_store("lost_put");
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK(terminate_all() > 0);
    CHECK_OK(put_task(store, "b", 0, NULL));
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 2);
    store->ops->close(store);
}

TEST_REAL(lost_queries_connect_again, "")
{
    hora__backend *store = open_store("lost_query");
    hora_store_stats stats;
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK(terminate_all() > 0);
    CHECK_OK(store->ops->stats(store, &stats, &test_error));
    CHECK_INT(stats.waiting, 1);
    store->ops->close(store);
}

/* The outcome of an exchange whose connection is lost is not known; the next one connects again. */
TEST_REAL(lost_exchange_is_unknown_and_the_next_one_works, "")
{
    hora__backend *store = open_store("lost_exchange");
    hora__lease lease = join_for(store, 60 * SECOND);
    hora__exchange exchange;
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_INT(claim(store, &lease, 10, &exchange), 1);
    hora__claim held = exchange.ret_claims[0];
    CHECK(terminate_all() > 0);
    CHECK_ERROR(settle(store, &lease, &held, HORA__SETTLE_DONE), HORA_EIO);
    CHECK_INT(settle(store, &lease, &held, HORA__SETTLE_DONE), HORA__SETTLED_OK);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
    store->ops->close(store);
}

/* Something between hora and the server that forgets prepared statements, and is not recognized otherwise. */
TEST_REAL(lost_prepared_statements, "")
{
    hora__backend *store = open_store("lost_statements");
    hora__postgres *postgres = (hora__postgres *)store;
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK(postgres->shared.prepared != 0);
    CHECK_OK(hora__pg_execute(&postgres->shared, "DEALLOCATE ALL", &test_error));
    CHECK_OK(put_task(store, "b", 0, NULL));
    CHECK(postgres->shared.is_pooled && postgres->shared.prepared == 0);
    CHECK_OK(put_task(store, "c", 0, NULL));
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 3);
    store->ops->close(store);
}

/* ---- puts while connections are lost at random ---- */

static atomic_bool stopping;
static atomic_int terminated;

static void *terminate_often(void *arg)
{
    (void)arg;
    PGconn *connection = admin();
    while (!atomic_load(&stopping))
        atomic_fetch_add(&terminated,
                         (int)sql_on(connection,
                                     "SELECT count(pg_terminate_backend(pid)) FROM pg_sleep(0.003),"
                                     " pg_stat_activity WHERE application_name = 'hora'"));
    PQfinish(connection);
    return NULL;
}

/* A task without a key shows whether a put was repeated although it had been committed. */
TEST_REAL(lost_connections_during_puts, "")
{
    hora__backend *store = open_store("lost_often");
    pthread_t thread;
    atomic_store(&stopping, false);
    CHECK_INT(pthread_create(&thread, NULL, terminate_often, NULL), 0);
    int put = 0, unknown = 0;
    hora_ns end = hora_clock_now(NULL) + HORA_SECONDS(getenv("HORA_SOAK") != NULL ? 60 : 1.5);
    while (hora_clock_now(NULL) < end) {
        int error = put_task(store, NULL, 3600 * (int64_t)SECOND, NULL);
        put += error == 0;
        unknown += error == HORA_EIO;
        if (error < 0 && error != HORA_EIO && error != HORA_EBUSY)
            CHECK_OK(error);
    }
    atomic_store(&stopping, true);
    pthread_join(thread, NULL);
    int64_t rows = sql("SELECT count(*) FROM @firing");
    CHECK(rows >= put && rows <= put + unknown);
    CHECK(put > 0 && atomic_load(&terminated) > 0);
    store->ops->close(store);
}

/* ---- a crash of the server ---- */

static void *restart_server(void *arg)
{
    (void)arg;
    server_control("restart -m immediate");
    atomic_store(&stopping, true);
    return NULL;
}

TEST_REAL(lost_server_during_puts_and_exchanges, "")
{
    hora__backend *store = open_store("lost_server");
    hora__lease lease = join_for(store, 60 * SECOND);
    pthread_t thread;
    atomic_store(&stopping, false);
    CHECK_INT(pthread_create(&thread, NULL, restart_server, NULL), 0);
    int put = 0, unknown = 0, renewed = 0;
    for (int after = 0; after < 20;) {
        hora__exchange exchange = {.renew = true};
        after += atomic_load(&stopping);
        int error = put_task(store, NULL, 3600 * (int64_t)SECOND, NULL);
        put += error == 0;
        unknown += error < 0;
        renewed = store->ops->exchange(store, &lease, &exchange, &test_error) == 0;
    }
    pthread_join(thread, NULL);
    CHECK(renewed); /* the lease has survived the crash */
    int64_t rows = sql("SELECT count(*) FROM @firing");
    CHECK(rows >= put && rows <= put + unknown);
    store->ops->close(store);
}

/* ---- failover ---- */

static void set_timeline(int timeline)
{
    sql("CREATE OR REPLACE FUNCTION @timeline() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT %d::bigint'",
        timeline);
}

/* After a failover that has lost a claim, the same counter comes again, but not the same fence. */
TEST_REAL(lost_claims_of_a_failover_have_smaller_fences, "")
{
    hora__backend *store = open_store("lost_claim");
    hora__lease lease = join_for(store, 60 * SECOND);
    hora__exchange exchange;
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_INT(claim(store, &lease, 1, &exchange), 1);
    hora__claim first = exchange.ret_claims[0];
    CHECK_INT(first.fence >> 40, 1);
    sql("UPDATE @firing SET owner = 0, fence = 0, attempt = 0"); /* the standby has not seen the claim */
    set_timeline(2);
    CHECK_INT(claim(store, &lease, 1, &exchange), 1);
    CHECK(exchange.ret_claims[0].fence > first.fence);
    CHECK_INT(exchange.ret_claims[0].fence >> 40, 2);
    hora__claim second = exchange.ret_claims[0];
    CHECK_INT(settle(store, &lease, &first, HORA__SETTLE_DONE), HORA__SETTLED_STALE);
    CHECK_INT(settle(store, &lease, &second, HORA__SETTLE_DONE), HORA__SETTLED_OK);
    store->ops->close(store);
}

TEST_REAL(lost_primary_nobody_is_reaped_for_one_lease, "")
{
    hora__backend *store = open_store("lost_primary");
    hora__lease dead = join_for(store, SECOND / 2), lease = join_for(store, 60 * SECOND);
    hora__exchange exchange;
    int64_t released = -1;
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_INT(claim(store, &dead, 1, &exchange), 1);
    sql("UPDATE @node SET lease = lease - 10000000 WHERE id = %lld", (long long)dead.node);
    set_timeline(2);
    CHECK_OK(store->ops->reap(store, &lease, 100, &released, &test_error));
    CHECK_INT(released, 0);
    CHECK_INT(sql("SELECT count(*) FROM @firing WHERE owner <> 0"), 1);
    sql("UPDATE @meta SET timeline_since = timeline_since - 500000"); /* that much time passes */
    CHECK_OK(store->ops->reap(store, &lease, 100, &released, &test_error));
    CHECK_INT(released, 1);
    store->ops->close(store);
}

static void set_read_only(bool on)
{
    sql("BEGIN READ WRITE; ALTER DATABASE postgres SET default_transaction_read_only = %s; COMMIT",
        on ? "on" : "off");
}

/* Until the standby is promoted, the address leads to a server that refuses to write. */
TEST_REAL(lost_primary_and_a_standby_that_is_not_promoted_yet, "")
{
    hora__backend *store;
    hora_store_options options = options_for("lost_standby");
    options.statement_timeout = HORA_MS(500);
    use_schema("lost_standby");
    CHECK_OK(hora__postgres_open(address_with(""), &options, &store, &test_error));
    hora__lease lease = join_for(store, 60 * SECOND);
    set_read_only(true);
    CHECK(terminate_all() > 0);
    hora__exchange exchange = {.renew = true};
    CHECK_ERROR(store->ops->exchange(store, &lease, &exchange, &test_error), HORA_EIO); /* it is terminated */
    CHECK_ERROR(store->ops->exchange(store, &lease, &exchange, &test_error), HORA_EIO);
    CHECK(strstr(test_error.message, "read-only") != NULL);
    CHECK_ERROR(put_task(store, "a", 0, NULL), HORA_EIO);
    hora__backend *another;
    CHECK_ERROR(hora__postgres_open(address_with(""), &options, &another, &test_error), HORA_EACCES);
    set_read_only(false);
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_OK(store->ops->exchange(store, &lease, &exchange, &test_error));
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 1);
    store->ops->close(store);
}

/* ---- wake-ups ---- */

static bool is_readable(int descriptor, int milliseconds)
{
    struct pollfd pollfd = {.fd = descriptor, .events = POLLIN};
    return poll(&pollfd, 1, milliseconds) == 1;
}

TEST_REAL(lost_nothing_a_put_wakes_the_node, "")
{
    hora__backend *store = open_store("wake");
    hora__lease lease = join_for(store, 60 * SECOND);
    hora__exchange exchange;
    int64_t now;
    while (is_readable(store->ops->wake_fd(store), 0))
        store->ops->wake_drain(store);
    CHECK_OK(store->ops->now(store, &now, &test_error));
    CHECK_OK(put_task(store, "far", 3600 * (int64_t)SECOND, NULL));
    CHECK(!is_readable(store->ops->wake_fd(store), 50));
    CHECK_OK(put_task(store, "near", SECOND / 2, NULL));
    CHECK(is_readable(store->ops->wake_fd(store), 5000));
    int64_t due = store->ops->wake_drain(store);
    CHECK(due >= now + SECOND / 2 && due < now + 60 * (int64_t)SECOND);
    CHECK(!is_readable(store->ops->wake_fd(store), 0));

    /* one that arrives during an exchange is not lost either */
    CHECK_OK(put_task(store, "now", 0, NULL));
    CHECK(is_readable(store->ops->wake_fd(store), 5000));
    CHECK_INT(claim(store, &lease, 10, &exchange), 1);
    CHECK(is_readable(store->ops->wake_fd(store), 0));
    CHECK(store->ops->wake_drain(store) >= now);

    /* nor one that libpq reads while it executes a text, after which the socket does not show it */
    CHECK_OK(put_task(store, "then", 0, NULL));
    CHECK(is_readable(store->ops->wake_fd(store), 5000));
    CHECK_OK(hora__pg_execute(&((hora__postgres *)store)->node, "SELECT 1", &test_error));
    CHECK(is_readable(store->ops->wake_fd(store), 0));
    CHECK(store->ops->wake_drain(store) >= now);

    CHECK_OK(store->ops->wake(store, &test_error));
    CHECK(is_readable(store->ops->wake_fd(store), 5000));
    CHECK(store->ops->wake_drain(store) == INT64_MIN);

    /* a connection that the server closes makes it readable, too; then there is nothing to wait for */
    CHECK(terminate_all() > 0);
    for (int i = 0; i < 10 && store->ops->wake_fd(store) >= 0; i++) {
        CHECK(is_readable(store->ops->wake_fd(store), 5000));
        CHECK(store->ops->wake_drain(store) == HORA__NEVER);
    }
    CHECK_INT(store->ops->wake_fd(store), -1);
    store->ops->close(store);
}

/* ---- partitions ---- */

TEST_REAL(lost_records_none_partitions_come_and_go, "")
{
    hora__backend *store = open_store("partitions");
    hora__lease lease = join_for(store, 60 * SECOND);
    int64_t released, deleted, now;
    CHECK_OK(store->ops->reap(store, &lease, 100, &released, &test_error));
    CHECK_INT(sql("SELECT count(*) FROM pg_inherits WHERE inhparent = '@history'::regclass"), 3);
    CHECK_OK(store->ops->now(store, &now, &test_error));
    sql("CREATE TABLE @history_20200102 PARTITION OF @history FOR VALUES FROM (1577923200000000)"
        " TO (1578009600000000)");
    const int64_t ends[] = {1577923200000000, 1578009599999999, 1500000000000000, now};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sql("INSERT INTO @history (task, handler, outcome, code, planned, started, ended, attempt, fence,"
            " node, skipped) VALUES (1, 'h', 1, 0, 0, 0, %lld, 1, 1, 1, 0)",
            (long long)ends[i]);
    CHECK_INT(sql("SELECT count(*) FROM @history"), 4);
    CHECK_OK(store->ops->trim(store, now - SECOND, &deleted, &test_error));
    CHECK_INT(deleted, 3);
    CHECK_INT(sql("SELECT count(*) FROM @history"), 1);
    CHECK_INT(sql("SELECT count(*) FROM pg_inherits WHERE inhparent = '@history'::regclass"), 3);
    CHECK_OK(store->ops->trim(store, now + SECOND, &deleted, &test_error));
    CHECK_INT(deleted, 1);
    store->ops->close(store);
}
