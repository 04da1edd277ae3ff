/* SPDX-License-Identifier: Apache-2.0 */
/* test_durable.c - a durable scheduler whose server crashes, comes back, or does not */
#include <stdatomic.h>

#include <hora/hora.h>
#include <hora/store.h>

#include "fixture.h"

static atomic_int runs;

static int count(const hora_run *run, void *arg)
{
    (void)run, (void)arg;
    atomic_fetch_add(&runs, 1);
    return 0;
}

static hora_durable *start(hora_store *store)
{
    hora_durable *durable;
    atomic_store(&runs, 0);
    CHECK_OK(hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 2, .lease = HORA_SECONDS(1)), &durable,
                              &test_error));
    CHECK_OK(hora_durable_add_handler(durable, "count", count, NULL, NULL, &test_error));
    CHECK_OK(hora_durable_start(durable, &test_error));
    return durable;
}

static hora_store *open_public(const char *schema)
{
    hora_store *store;
    CHECK_OK(hora_store_open(address_with(""),
                             HORA_STORE_OPTIONS(.schema = schema, .statement_timeout = HORA_SECONDS(2)),
                             &store, &test_error));
    return store;
}

static void put(hora_store *store, int tasks, hora_ns delay)
{
    for (int i = 0; i < tasks; i++)
        CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "count", .initial_delay = delay), NULL,
                                &test_error));
}

TEST_REAL(durable_goes_on_after_a_crash_of_the_server, "")
{
    hora_store *store = open_public("durable_crash");
    hora_durable *durable = start(store);
    put(store, 20, 0);
    put(store, 20, HORA_MS(500));
    server_control("restart -m immediate");
    put(store, 20, 0);
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    hora_ns end = hora_clock_now(NULL) + test_scale(HORA_SECONDS(20));
    do {
        wait_a_moment(20);
        CHECK_OK(hora_store_get_stats(store, &stats, &test_error));
    } while ((stats.waiting > 0 || stats.claimed > 0) && hora_clock_now(NULL) < end);
    CHECK_INT(stats.waiting + stats.claimed, 0);
    CHECK(atomic_load(&runs) >= 60); /* at least once: what was not settled before the crash may run again */
    CHECK_OK(hora_durable_free(durable));
    CHECK_OK(hora_store_close(store));
}

TEST_REAL(durable_can_be_freed_when_the_server_is_gone, "")
{
    hora_store *store = open_public("durable_gone");
    hora_durable *durable = start(store);
    put(store, 1, HORA_HOURS(1));
    server_control("stop -m immediate");
    hora_ns before = hora_clock_now(NULL);
    CHECK_ERROR(hora_durable_stop(durable, HORA_SECONDS(1), &test_error), HORA_EIO);
    CHECK_OK(hora_durable_free(durable));
    CHECK(hora_clock_now(NULL) - before < test_scale(HORA_SECONDS(20)));
    server_control("start");
    CHECK_OK(hora_store_close(store));
}
