/* SPDX-License-Identifier: Apache-2.0 */
/* test_promises.c - promises of hora/store.h that no other test is about: batches, upgrades, priorities,
 * reports, waiting until a node is idle */
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hora/thread.h>

/* ---- putting ---- */

STORE_TEST(put_all_puts_all_tasks_or_none)
{
    fixture f;
    hora_error error;
    hora_put_result results[3];
    fixture_open(&f, address, NULL);
    const hora_durable_task *tasks[] = {
        HORA_DURABLE_TASK(.handler = "run", .key = "a"), HORA_DURABLE_TASK(.handler = "run", .key = "b"),
        HORA_DURABLE_TASK(.handler = "run", .key = "a", .if_exists = HORA_IF_EXISTS_KEEP)};
    CHECK_OK(hora_store_put_all(f.store, tasks, 3, results, &error));
    CHECK(results[0].done == HORA_PUT_INSERTED && results[1].done == HORA_PUT_INSERTED);
    CHECK(results[2].done == HORA_PUT_KEPT && results[2].id == results[0].id && results[0].id > 0);
    /* The second one exists: the reason says so, and the first one is not put. */
    tasks[0] = HORA_DURABLE_TASK(.handler = "run", .key = "c");
    CHECK_ERROR(hora_store_put_all(f.store, tasks, 2, NULL, &error), HORA_EEXIST);
    CHECK(strstr(error.message, "task 1") != NULL && strstr(error.message, "\"b\"") != NULL);
    tasks[1] = HORA_DURABLE_TASK(.handler = "run", .fixed_rate = HORA_SECONDS(1)); /* it has no key */
    CHECK_ERROR(hora_store_put_all(f.store, tasks, 2, NULL, &error), HORA_EINVAL);
    CHECK(strstr(error.message, "task 1") != NULL);
    CHECK_INT(fixture_count(&f, 0), 2);
    CHECK_ERROR(hora_store_put_all(f.store, tasks, 0, NULL, &error), HORA_EINVAL);
    CHECK_ERROR(hora_store_put_all(f.store, NULL, 1, NULL, &error), HORA_EINVAL);
    fixture_close(&f);
}

STORE_TEST(an_old_declaration_does_not_undo_a_new_one)
{
    static const struct {
        int64_t revision;
        hora_put done;
    } puts[] = {{2, HORA_PUT_INSERTED}, {1, HORA_PUT_KEPT}, {2, HORA_PUT_KEPT}, {3, HORA_PUT_REPLACED}};
    fixture f;
    fixture_open(&f, address, NULL);
    for (int i = 0; i < 4; i++) {
        char payload[2] = {(char)('0' + puts[i].revision)};
        hora_put_result result;
        CHECK_OK(hora_store_put(f.store,
                                HORA_DURABLE_TASK(.handler = "run", .key = "k", .payload = payload,
                                                  .payload_size = 1, .if_exists = HORA_IF_EXISTS_UPGRADE,
                                                  .revision = puts[i].revision),
                                &result, NULL));
        CHECK_INT(result.done, puts[i].done);
    }
    CHECK_ERROR(
        hora_store_put(f.store,
                       HORA_DURABLE_TASK(.handler = "run", .key = "k", .if_exists = HORA_IF_EXISTS_UPGRADE),
                       NULL, NULL),
        HORA_EINVAL);
    fixture_start(&f);
    fixture_run(&f, HORA_MS(100));
    CHECK(f.run_count == 1 && strcmp(f.runs[0].payload, "3") == 0);
    fixture_close(&f);
}

/* ---- running ---- */

/* One thread and one claim at a time, so that the node has to choose. */
STORE_TEST(the_highest_priority_comes_first)
{
    static const hora_priority priorities[] = {HORA_PRIORITY_LOW, HORA_PRIORITY_NORMAL, HORA_PRIORITY_URGENT,
                                               HORA_PRIORITY_HIGH};
    static const char *const keys[] = {"low", "normal", "urgent", "high"};
    fixture f;
    fixture_open(&f, address, HORA_DURABLE_OPTIONS(.threads = 1, .max_claimed = 1));
    for (int i = 0; i < 4; i++)
        fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = keys[i], .priority = priorities[i]));
    fixture_start(&f);
    fixture_run(&f, HORA_SECONDS(20));
    CHECK_INT(f.run_count, 4);
    CHECK(strcmp(f.runs[0].key, "urgent") == 0);
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

STORE_TEST(a_run_knows_whether_it_is_the_last_attempt)
{
    fixture f;
    fixture_open(&f, address, NULL);
    f.fail_first = 3;
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "k", .max_attempts = 3));
    fixture_run(&f, HORA_MINUTES(1));
    CHECK_INT(f.run_count, 3);
    for (int i = 0; i < 3; i++) {
        CHECK(f.runs[i].is_last == (i == 2) && f.runs[i].attempt == i + 1);
        CHECK(i == 0 || f.runs[i].fence > f.runs[i - 1].fence);
        CHECK(strcmp(f.runs[i].idempotency_key, f.runs[0].idempotency_key) == 0);
    }
    fixture_close(&f);
}

static void count_drop(void *arg)
{
    ++*(int *)arg;
}

static int do_nothing(const hora_run *run, void *arg)
{
    (void)run, (void)arg;
    return 0;
}

STORE_TEST(handlers_are_dropped_when_the_scheduler_is_freed)
{
    fixture f;
    int dropped = 0;
    fixture_open(&f, address, NULL);
    CHECK_OK(hora_durable_add_handler(f.durable, "x", do_nothing, &dropped, count_drop, NULL));
    CHECK_ERROR(hora_durable_add_handler(f.durable, "x", do_nothing, &dropped, count_drop, NULL),
                HORA_EEXIST);
    CHECK_INT(dropped, 0);
    fixture_close(&f);
    CHECK_INT(dropped, 1);
}

STORE_TEST(a_call_waits_until_the_node_is_idle)
{
    fixture f;
    hora_thread *self;
    fixture_open(&f, address, NULL);
    CHECK_ERROR(hora_durable_await_idle(f.durable, 0), HORA_ECLOSED); /* not started yet */
    f.takes = HORA_SECONDS(5);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run"));
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .initial_delay = HORA_HOURS(1)));
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "elsewhere"));
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_ERROR(hora_durable_await_idle(f.durable, 0), HORA_ETIMEDOUT);
    CHECK_OK(hora_thread_self(&self));
    CHECK_OK(hora_thread_interrupt(self));
    CHECK_ERROR(hora_durable_await_idle(f.durable, HORA_FOREVER), HORA_EINTERRUPTED);
    (void)hora_thread_unref(self);
    fixture_run(&f, HORA_SECONDS(6));
    CHECK_OK(hora_durable_await_idle(f.durable, 0)); /* what others can run, or runs later, does not count */
    CHECK_INT(f.run_count, 1);
    CHECK_INT(hora_durable_stop(f.durable, 0, NULL), 0);
    CHECK_ERROR(hora_durable_await_idle(f.durable, 0), HORA_ECLOSED);
    fixture_close(&f);
}

/* ---- reports ---- */

typedef struct reports {
    _Atomic int64_t count[HORA_DURABLE_FAILED + 1], sum[HORA_DURABLE_FAILED + 1];
    fixture *f;
    _Atomic int runs;
} reports;

static void note(hora_durable *durable, hora_durable_event event, int64_t count, const hora_error *error,
                 void *arg)
{
    reports *own = arg;
    (void)durable;
    atomic_fetch_add(&own->count[event], 1);
    atomic_fetch_add(&own->sum[event], count);
    CHECK((error != NULL && error->code < 0) ==
          (event == HORA_DURABLE_DISCONNECTED || event == HORA_DURABLE_FAILED));
}

/* Takes 10 s, also if it is interrupted. */
static int take_ten_seconds(const hora_run *run, void *arg)
{
    reports *own = arg;
    (void)run;
    const hora_clock *clock = hora_virtual_clock_view(own->f->clock, HORA_CLOCK_MONOTONIC);
    hora_ns end = hora_clock_now(clock) + HORA_SECONDS(10);
    atomic_fetch_add(&own->runs, 1);
    while (hora_clock_now(clock) < end)
        (void)hora_clock_sleep(clock, end - hora_clock_now(clock));
    return 0;
}

/* The clock of the store is set forward by more than the lease, which ends all leases. */
STORE_TEST(a_lost_run_is_repeated_and_its_outcome_does_not_count)
{
    fixture f;
    reports own = {.f = &f};
    hora_durable_status status = HORA_INIT(hora_durable_status);
    fixture_open(&f, address, HORA_DURABLE_OPTIONS(.notify = note, .notify_arg = &own));
    CHECK_OK(hora_durable_add_handler(f.durable, "ten", take_ten_seconds, &own, NULL, NULL));
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "ten"));
    fixture_run(&f, HORA_SECONDS(2));
    CHECK_INT(own.runs, 1);
    CHECK_OK(hora_virtual_clock_step_wall(f.clock, HORA_HOURS(1)));
    fixture_run(&f, HORA_SECONDS(60));
    CHECK_INT(own.runs, 2);
    CHECK_INT(own.count[HORA_DURABLE_FENCED], 1);
    CHECK_INT(own.sum[HORA_DURABLE_TOOK_OVER], 1);
    CHECK_INT(own.sum[HORA_DURABLE_STALE], 1);
    CHECK_OK(hora_durable_get_status(f.durable, &status));
    CHECK(status.stale == 1 && status.taken_over == 1 && status.has_lease);
    /* The node knows the time of the store only as well as messages tell it, and errs on the early side. */
    CHECK(status.clock_offset <= 0 && status.clock_offset > -HORA_MS(100));
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

/* A database that cannot be reached, and comes back: the file of a SQLite store is renamed for a while. */
STORE_TEST(a_node_reports_that_its_database_is_gone_and_comes_back)
{
    fixture f;
    reports own = {.f = &f};
    hora_durable_status status = HORA_INIT(hora_durable_status);
    char moved[128];
    const char *path = strstr(address, "//");
    if (path == NULL)
        return; /* a store in memory is always there */
    path += 2;
    (void)snprintf(moved, sizeof moved, "%s-moved", path);
    fixture_open(&f, address, HORA_DURABLE_OPTIONS(.notify = note, .notify_arg = &own));
    fixture_start(&f);
    fixture_run(&f, HORA_SECONDS(2));
    CHECK(rename(path, moved) == 0);
    fixture_run(&f, HORA_SECONDS(20));
    CHECK(own.count[HORA_DURABLE_DISCONNECTED] == 1 && own.count[HORA_DURABLE_FENCED] == 1);
    CHECK_OK(hora_durable_get_status(f.durable, &status));
    CHECK(!status.connected && !status.has_lease);
    CHECK(rename(moved, path) == 0);
    fixture_run(&f, HORA_SECONDS(5));
    CHECK_INT(own.count[HORA_DURABLE_CONNECTED], 1);
    CHECK_OK(hora_durable_get_status(f.durable, &status));
    CHECK(status.connected && status.has_lease);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run"));
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_INT(f.run_count, 1);
    fixture_close(&f);
}
