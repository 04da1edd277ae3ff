/* SPDX-License-Identifier: Apache-2.0 */
/* test_durable.c - a durable scheduler whose server crashes, comes back, or does not; runs that outlive their
 * handler */
#include <stdatomic.h>

#include <hora/hora.h>
#include <hora/latch.h>
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

/* ---- detached runs ---- */

/* A detached run, and what its stop function saw. */
typedef struct job {
    const hora_run *run;
    hora_latch *detached, *stopped;
    bool lost, cancelled, finish_in_stop;
} job;

static void stop_job(const hora_run *run, void *arg)
{
    job *own = arg;
    own->lost = hora_run_is_lost(run);
    own->cancelled = hora_run_is_cancelled(run);
    if (own->finish_in_stop)
        CHECK_OK(hora_run_finish(run, HORA_EINTERRUPTED));
    (void)hora_latch_count_down(own->stopped);
}

static int detach_job(const hora_run *run, void *arg)
{
    job *own = arg;
    own->run = run;
    CHECK_OK(hora_run_detach(run, stop_job, own));
    (void)hora_latch_count_down(own->detached);
    return 0;
}

static hora_durable *start_job(hora_store *store, job *own, const hora_durable_task *task)
{
    hora_durable *durable;
    *own = (job){.run = NULL};
    CHECK_OK(hora_latch_new(1, NULL, &own->detached, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &own->stopped, NULL));
    CHECK_OK(hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 2, .lease = HORA_SECONDS(1)), &durable,
                              &test_error));
    CHECK_OK(hora_durable_add_handler(durable, "job", detach_job, own, NULL, &test_error));
    CHECK_OK(hora_durable_start(durable, &test_error));
    CHECK_OK(hora_store_put(store, task, NULL, &test_error));
    CHECK_OK(hora_latch_await_for(own->detached, test_scale(HORA_SECONDS(20))));
    return durable;
}

static void end_job(hora_store *store, hora_durable *durable, job *own)
{
    CHECK_OK(hora_durable_free(durable));
    CHECK_OK(hora_store_close(store));
    CHECK_OK(hora_latch_free(own->detached));
    CHECK_OK(hora_latch_free(own->stopped));
}

static hora_run_record last_record;

static int keep_record(const hora_run_record *record, void *count)
{
    last_record = *record;
    ++*(int *)count;
    return 0;
}

TEST_REAL(a_detached_run_is_told_that_its_task_is_cancelled, "")
{
    hora_store *store = open_public("detach_cancel");
    job own;
    hora_durable *durable =
        start_job(store, &own, HORA_DURABLE_TASK(.handler = "job", .key = "k", .history = true));
    own.finish_in_stop = true;
    CHECK_INT(hora_store_cancel(store, "k", 0, &test_error), HORA_CANCEL_RUNNING);
    CHECK_OK(hora_latch_await_for(own.stopped, test_scale(HORA_SECONDS(20))));
    CHECK(own.cancelled && !own.lost);
    CHECK_OK(hora_durable_await_idle(durable, test_scale(HORA_SECONDS(20))));
    int count = 0;
    CHECK_OK(hora_store_history(store, HORA_HISTORY_FILTER(.key = "k"), keep_record, &count, &test_error));
    CHECK(count == 1 && last_record.outcome == HORA_RUN_FAILED && last_record.code == HORA_EINTERRUPTED);
    end_job(store, durable, &own);
}

TEST_REAL(a_detached_run_is_told_that_its_lease_is_lost, "")
{
    hora_store *store = open_public("detach_lost");
    job own;
    hora_durable *durable = start_job(store, &own, HORA_DURABLE_TASK(.handler = "job", .key = "k"));
    server_control("stop -m immediate");
    CHECK_OK(hora_latch_await_for(own.stopped, test_scale(HORA_SECONDS(20))));
    CHECK(own.lost && !own.cancelled);
    hora_ns before = hora_clock_now(NULL);
    CHECK_OK(hora_run_finish(own.run, 0)); /* does not wait for the database */
    CHECK(hora_clock_now(NULL) - before < test_scale(HORA_SECONDS(1)));
    server_control("start");
    end_job(store, durable, &own);
}

static int skip(const hora_run *run, void *arg)
{
    (void)arg;
    CHECK_OK(hora_run_set_outcome(run, HORA_RUN_SKIPPED));
    CHECK_OK(hora_run_set_note(run, "holiday", 7));
    return 3;
}

TEST_REAL(a_run_that_the_handler_skips_has_a_record, "")
{
    hora_store *store = open_public("handler_skips");
    hora_durable *durable;
    CHECK_OK(hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 2), &durable, &test_error));
    CHECK_OK(hora_durable_add_handler(durable, "skip", skip, NULL, NULL, &test_error));
    CHECK_OK(hora_durable_start(durable, &test_error));
    CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "skip", .key = "k", .history = true), NULL,
                            &test_error));
    CHECK_OK(hora_durable_await_idle(durable, test_scale(HORA_SECONDS(20))));
    int count = 0;
    CHECK_OK(hora_store_history(store, HORA_HISTORY_FILTER(.key = "k"), keep_record, &count, &test_error));
    CHECK(count == 1 && last_record.outcome == HORA_RUN_SKIPPED && last_record.code == 3);
    CHECK(last_record.started.ns != 0 && last_record.note_size == 7 && last_record.attempt == 1 &&
          last_record.fence > 0 && last_record.skipped == 0);
    CHECK_OK(hora_durable_free(durable));
    CHECK_OK(hora_store_close(store));
}
