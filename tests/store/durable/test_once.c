/* SPDX-License-Identifier: Apache-2.0 */
/* test_once.c - runs that happen at most once: what clients do while they are in progress */
#include "fixture.h"

#include <string.h>

typedef struct seen {
    hora_run_record last;
    int count;
} seen;

static int keep(const hora_run_record *record, void *arg)
{
    seen *all = arg;
    if (all->count++ == 0)
        all->last = *record;
    return 0;
}

static seen history(fixture *f)
{
    seen all = {.count = 0};
    CHECK_OK(hora_store_history(f->store, NULL, keep, &all, NULL));
    return all;
}

/* Opens a store in which a one-shot task "k" runs for 10 s, of which one has passed. */
static void open_running(fixture *f, const char *address)
{
    fixture_open(f, address, NULL);
    f->takes = HORA_SECONDS(10);
    fixture_start(f);
    fixture_put(
        f, HORA_DURABLE_TASK(.handler = "run", .key = "k", .delivery = HORA_AT_MOST_ONCE, .history = true));
    fixture_run(f, HORA_SECONDS(1));
    CHECK_INT(f->in_progress, 1);
}

STORE_TEST(a_run_has_a_record)
{
    fixture f;
    open_running(&f, address);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_CLAIMED), 1);
    CHECK_INT(history(&f).count, 0);
    fixture_run(&f, HORA_SECONDS(20));
    CHECK_INT(f.run_count, 1);
    CHECK_INT(fixture_count(&f, 0), 0);
    seen all = history(&f);
    CHECK(all.count == 1 && all.last.outcome == HORA_RUN_SUCCEEDED && all.last.started.ns != 0);
    fixture_close(&f);
}

STORE_TEST(a_run_that_fails_is_not_retried_and_its_task_is_dead)
{
    fixture f;
    fixture_open(&f, address, NULL);
    f.fail_first = 1;
    fixture_start(&f);
    fixture_put(
        &f, HORA_DURABLE_TASK(.handler = "run", .key = "k", .delivery = HORA_AT_MOST_ONCE, .history = true));
    fixture_run(&f, HORA_MINUTES(10));
    CHECK_INT(f.run_count, 1);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_DEAD), 1);
    CHECK_INT(history(&f).last.outcome, HORA_RUN_GAVE_UP);
    CHECK_OK(hora_store_revive(f.store, "k", 0, (hora_instant){0}, NULL));
    fixture_run(&f, HORA_MINUTES(10));
    CHECK_INT(f.run_count, 2);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_DEAD), 0);
    fixture_close(&f);
}

STORE_TEST(a_run_in_progress_can_be_cancelled)
{
    fixture f;
    open_running(&f, address);
    CHECK_INT(hora_store_cancel(f.store, "k", 0, NULL), HORA_CANCEL_RUNNING);
    fixture_run(&f, HORA_SECONDS(3));
    CHECK_INT(f.in_progress, 0); /* it was interrupted */
    CHECK_INT(fixture_count(&f, 0), 0);
    CHECK_INT(history(&f).last.code, HORA_EINTERRUPTED);
    fixture_close(&f);
}

STORE_TEST(another_time_is_for_the_run_after_this_one)
{
    fixture f;
    open_running(&f, address);
    CHECK_OK(hora_store_retime(f.store, "k", 0, (hora_instant){0}, NULL));
    fixture_run(&f, HORA_SECONDS(30));
    CHECK_INT(f.run_count, 2);
    CHECK_INT(f.most_in_progress, 1);
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

STORE_TEST(a_new_task_runs_after_this_one)
{
    fixture f;
    open_running(&f, address);
    CHECK_ERROR(hora_store_put(f.store, HORA_DURABLE_TASK(.handler = "run", .key = "k"), NULL, NULL),
                HORA_EEXIST);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "k", .if_exists = HORA_IF_EXISTS_REPLACE,
                                      .fixed_rate = HORA_SECONDS(20), .count = 3, .payload = "new",
                                      .payload_size = 3));
    fixture_run(&f, HORA_MINUTES(2));
    CHECK_INT(f.run_count, 4);
    CHECK_INT(f.most_in_progress, 1);
    CHECK(strcmp(f.runs[0].payload, "") == 0 && strcmp(f.runs[1].payload, "new") == 0);
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

/* Claimed and not started: the claim of the node says what the task was. */
STORE_TEST(a_new_task_comes_between_the_claim_and_the_start)
{
    fixture f;
    fixture_open(&f, address, NULL);
    f.takes = HORA_SECONDS(10);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "k", .initial_delay = HORA_MS(500),
                                      .delivery = HORA_AT_MOST_ONCE));
    fixture_run(&f, HORA_MS(100));
    CHECK_INT(fixture_count(&f, HORA_DURABLE_CLAIMED), 1);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "k", .if_exists = HORA_IF_EXISTS_REPLACE,
                                      .fixed_rate = HORA_SECONDS(20), .count = 3));
    fixture_run(&f, HORA_MINUTES(2));
    CHECK_INT(f.run_count, 4); /* the old task once, and the new one three times */
    CHECK_INT(f.most_in_progress, 1);
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

STORE_TEST(runs_that_overlap_are_counted)
{
    fixture f;
    fixture_open(&f, address, NULL);
    f.takes = HORA_SECONDS(10);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "k", .fixed_rate = HORA_SECONDS(1),
                                      .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2, .count = 30,
                                      .delivery = HORA_AT_MOST_ONCE, .history = true));
    fixture_run(&f, HORA_MINUTES(1));
    CHECK_INT(f.most_in_progress, 2);
    CHECK(f.run_count >= 4 && f.run_count <= 6);
    CHECK_INT(history(&f).count, 30);
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}
