/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - the clock of the server is set, forward and back, by a second and by an hour
 *
 * The store reads its clock with the function hora_now(). The test replaces it by one that adds an offset, so
 * that the clock of the machine stays as it is. tests/store/crash/run does the same under load. */
#include <stdatomic.h>
#include <stdlib.h>

#include <hora/latch.h>
#include <hora/store.h>

#include "fixture.h"

#define HOUR (3600 * (int64_t)SECOND)

static void set_clock(int64_t offset_us)
{
    sql("CREATE OR REPLACE FUNCTION @now() RETURNS bigint LANGUAGE sql VOLATILE AS"
        " 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + (%lld)'",
        (long long)offset_us);
}

static void set_timeline(int timeline)
{
    sql("CREATE OR REPLACE FUNCTION @timeline() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT %d::bigint'",
        timeline);
}

/* ---- leases ---- */

static int64_t reap(hora__backend *store, const hora__lease *lease)
{
    int64_t released = -1;
    CHECK_OK(store->ops->reap(store, lease, 100, &released, &test_error));
    return released;
}

/* A dead node keeps its firings for the rest of its lease, not for the hour by which the clock was set
 * back. */
TEST_REAL(clock_set_back_while_a_node_is_dead, "")
{
    hora__backend *store = open_store("clock_dead");
    hora__lease dead = join_for(store, SECOND / 2), living = join_for(store, 60 * SECOND);
    hora__exchange exchange;
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_INT(claim(store, &dead, 1, &exchange), 1);
    set_clock(-HOUR);
    exchange = (hora__exchange){.renew = true};
    CHECK_OK(store->ops->exchange(store, &living, &exchange, &test_error));
    CHECK(exchange.ret_reap);
    CHECK(exchange.ret_lease_left <= 60 * SECOND);
    CHECK_INT(reap(store, &living), 0);
    CHECK_INT(sql("SELECT count(*) FROM @node WHERE lease > @now() + ttl"), 0);
    CHECK_INT(sql("SELECT count(*) FROM @node"), 2);
    int64_t released = 0;
    for (int i = 0; i < 3000 && released == 0; i++) {
        wait_a_moment(20);
        released = reap(store, &living);
    }
    CHECK_INT(released, 1);
    store->ops->close(store);
}

/* The exchange of a living node may be in progress: reap does not wait for it. */
TEST_REAL(clock_set_back_during_an_exchange, "")
{
    hora__backend *store = open_store("clock_exchange");
    hora__lease busy = join_for(store, 60 * SECOND), living = join_for(store, 60 * SECOND);
    PGconn *exchange = admin();
    set_clock(-HOUR);
    sql_on(exchange, "BEGIN");
    sql_on(exchange, "UPDATE @node SET lease = @now() + ttl WHERE id = %lld", (long long)busy.node);
    CHECK_INT(reap(store, &living), 0);
    CHECK_INT(sql("SELECT count(*) FROM @node WHERE lease > @now() + ttl"), 1); /* not committed yet */
    sql_on(exchange, "COMMIT");
    CHECK_INT(sql("SELECT count(*) FROM @node WHERE lease > @now() + ttl"), 0);
    PQfinish(exchange);
    store->ops->close(store);
}

/* After a failover, nodes have the time of a lease to renew, also by a clock that is behind. */
TEST_REAL(clock_of_the_new_primary_is_behind, "")
{
    hora__backend *store = open_store("clock_failover");
    hora__lease dead = join_for(store, SECOND / 2), living = join_for(store, 60 * SECOND);
    hora__exchange exchange;
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_INT(claim(store, &dead, 1, &exchange), 1);
    set_timeline(2);
    CHECK_INT(reap(store, &living), 0);
    set_clock(-HOUR);
    CHECK_INT(reap(store, &living), 0);
    CHECK_INT(sql("SELECT count(*) FROM @meta WHERE timeline_since > @now()"), 0);
    int64_t released = 0;
    for (int i = 0; i < 3000 && released == 0; i++) {
        wait_a_moment(20);
        released = reap(store, &living);
    }
    CHECK_INT(released, 1);
    store->ops->close(store);
}

/* ---- durable schedulers ---- */

/* What a node reports, and the test waits for. */
typedef struct reports {
    _Atomic(hora_latch *) stepped, took_over;
    _Atomic int64_t step;
    atomic_int fenced;
} reports;

static void count_down(hora_latch *latch)
{
    if (latch != NULL)
        (void)hora_latch_count_down(latch);
}

static void on_report(hora_durable *durable, hora_durable_event event, int64_t amount,
                      const hora_error *error, void *arg)
{
    (void)durable, (void)error;
    reports *seen = arg;
    if (event == HORA_DURABLE_CLOCK_STEPPED) {
        atomic_store(&seen->step, amount);
        count_down(atomic_load(&seen->stepped));
    }
    if (event == HORA_DURABLE_TOOK_OVER)
        count_down(atomic_load(&seen->took_over));
    if (event == HORA_DURABLE_FENCED)
        atomic_fetch_add(&seen->fenced, 1);
}

static hora_latch *new_latch(void)
{
    hora_latch *latch = NULL;
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    return latch;
}

static void await(hora_latch *latch)
{
    CHECK_OK(hora_latch_await_for(latch, test_scale(HORA_SECONDS(20))));
}

static hora_store *open_public(const char *schema)
{
    hora_store *store;
    use_schema(schema);
    CHECK_OK(hora_store_open(address_with(""), HORA_STORE_OPTIONS(.schema = schema), &store, &test_error));
    return store;
}

static hora_durable *start(hora_store *store, hora_handler_fn handler, void *arg, reports *seen)
{
    hora_durable *durable;
    CHECK_OK(hora_durable_new(
        store,
        HORA_DURABLE_OPTIONS(.threads = 2, .lease = HORA_SECONDS(5), .notify = on_report, .notify_arg = seen),
        &durable, &test_error));
    CHECK_OK(hora_durable_add_handler(durable, "h", handler, arg, NULL, &test_error));
    CHECK_OK(hora_durable_start(durable, &test_error));
    return durable;
}

static int count_run(const hora_run *run, void *arg)
{
    (void)run;
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

/* Each step is reported with its size, and a task that is put afterwards runs at once. */
TEST_REAL(clock_steps_are_reported, "")
{
    static const int64_t steps[] = {SECOND, -SECOND, HOUR, -HOUR, -HOUR, HOUR};
    hora_store *store = open_public("clock_steps");
    reports seen = {0};
    atomic_int runs = 0;
    hora_durable *durable = start(store, count_run, &runs, &seen);
    int64_t offset = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        hora_latch *stepped = new_latch();
        CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "h"), NULL, &test_error));
        CHECK_OK(hora_durable_await_idle(durable, test_scale(HORA_SECONDS(20))));
        atomic_store(&seen.stepped, stepped);
        set_clock(offset += steps[i]);
        await(stepped);
        atomic_store(&seen.stepped, NULL);
        CHECK(llabs(atomic_load(&seen.step) - steps[i]) < SECOND / 2);
        CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "h"), NULL, &test_error));
        CHECK_OK(hora_durable_await_idle(durable, test_scale(HORA_SECONDS(20))));
        CHECK(atomic_load(&runs) >= 2 * (int)(i + 1));
        hora_latch_free(stepped);
    }
    CHECK_OK(hora_durable_free(durable)); /* writes the last outcomes */
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
    CHECK_OK(hora_store_close(store));
}

/* A run that has begun when the clock is set. */
typedef struct long_run {
    hora_latch *started, *may_end;
    atomic_int attempts, lost;
} long_run;

static int stay(const hora_run *run, void *arg)
{
    long_run *own = arg;
    atomic_fetch_add(&own->attempts, 1);
    if (run->attempt > 1)
        return 0;
    (void)hora_latch_count_down(own->started);
    while (hora_latch_await(own->may_end) == HORA_EINTERRUPTED)
        ;
    atomic_fetch_add(&own->lost, hora_run_is_lost(run));
    return 0;
}

/* Forward by more than the lease is like a pause of all nodes: the run in progress is lost and repeated, and
 * its outcome does not count. */
TEST_REAL(clock_set_forward_during_a_run, "")
{
    hora_store *store = open_public("clock_forward");
    reports seen = {0};
    long_run own = {.started = new_latch(), .may_end = new_latch()};
    hora_latch *took_over = new_latch();
    hora_durable *durable = start(store, stay, &own, &seen);
    CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "h", .key = "k", .back_off = HORA_MS(1)),
                            NULL, &test_error));
    await(own.started);
    atomic_store(&seen.took_over, took_over);
    set_clock(HOUR);
    await(took_over);
    CHECK_OK(hora_latch_count_down(own.may_end));
    CHECK_OK(hora_durable_await_idle(durable, test_scale(HORA_SECONDS(20))));
    CHECK_OK(hora_durable_free(durable));
    CHECK_INT(atomic_load(&own.attempts), 2);
    CHECK_INT(atomic_load(&own.lost), 1);
    CHECK(atomic_load(&seen.fenced) > 0);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
    CHECK_OK(hora_store_close(store));
    hora_latch_free(own.started);
    hora_latch_free(own.may_end);
    hora_latch_free(took_over);
}

/* Back does not end a lease, and does not disturb a run. */
TEST_REAL(clock_set_back_during_a_run, "")
{
    hora_store *store = open_public("clock_back");
    reports seen = {0};
    long_run own = {.started = new_latch(), .may_end = new_latch()};
    hora_latch *stepped = new_latch();
    hora_durable *durable = start(store, stay, &own, &seen);
    CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "h", .key = "k"), NULL, &test_error));
    await(own.started);
    atomic_store(&seen.stepped, stepped);
    set_clock(-HOUR);
    await(stepped);
    CHECK_OK(hora_latch_count_down(own.may_end));
    CHECK_OK(hora_durable_await_idle(durable, test_scale(HORA_SECONDS(20))));
    CHECK_OK(hora_durable_free(durable));
    CHECK_INT(atomic_load(&own.attempts), 1);
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 0);
    CHECK_OK(hora_store_close(store));
    hora_latch_free(own.started);
    hora_latch_free(own.may_end);
    hora_latch_free(stepped);
}
