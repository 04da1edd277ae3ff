/* SPDX-License-Identifier: Apache-2.0 */
/* test_durable.c - tasks of a durable scheduler: when they run, how often, and what the store says of them */
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

STORE_TEST(a_task_without_a_time_runs_at_once)
{
    fixture f;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    CHECK(fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .payload = "hello", .payload_size = 5)) > 0);
    fixture_run(&f, HORA_MS(100));
    CHECK_INT(f.run_count, 1);
    CHECK(strcmp(f.runs[0].payload, "hello") == 0);
    CHECK_INT(f.runs[0].attempt, 1);
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

STORE_TEST(a_task_runs_at_its_time_and_not_before)
{
    fixture f;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "late", .initial_delay = HORA_SECONDS(90)));
    fixture_put(&f,
                HORA_DURABLE_TASK(.handler = "run", .key = "at", .at = {FIXTURE_START + HORA_SECONDS(30)}));
    fixture_run(&f, HORA_SECONDS(29.999));
    CHECK_INT(f.run_count, 0);
    fixture_run(&f, HORA_SECONDS(0.002));
    CHECK_INT(f.run_count, 1);
    CHECK(strcmp(f.runs[0].key, "at") == 0);
    CHECK(f.runs[0].started.ns >= f.runs[0].planned.ns);
    fixture_run(&f, HORA_SECONDS(60));
    CHECK_INT(f.run_count, 2);
    CHECK(fixture_seconds(f.runs[1].started) >= 90 && fixture_seconds(f.runs[1].started) < 90.01);
    fixture_close(&f);
}

STORE_TEST(a_fixed_rate_does_not_drift)
{
    fixture f;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    f.takes = HORA_MS(300);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "rate", .fixed_rate = HORA_SECONDS(1),
                                      .initial_delay = HORA_SECONDS(1), .count = 10));
    fixture_run(&f, HORA_SECONDS(30));
    CHECK_INT(f.run_count, 10);
    for (int i = 0; i < 10; i++)
        CHECK_INT(f.runs[i].planned.ns, f.runs[0].planned.ns + i * HORA_SECONDS(1));
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

STORE_TEST(a_fixed_delay_counts_from_the_end_of_a_run)
{
    fixture f;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    f.takes = HORA_SECONDS(2);
    fixture_put(
        &f, HORA_DURABLE_TASK(.handler = "run", .key = "delay", .fixed_delay = HORA_SECONDS(5), .count = 3));
    fixture_run(&f, HORA_SECONDS(60));
    CHECK_INT(f.run_count, 3);
    for (int i = 1; i < 3; i++) {
        double pause = fixture_seconds(f.runs[i].started) - fixture_seconds(f.runs[i - 1].started) - 2;
        CHECK(pause >= 5 && pause < 5.2);
    }
    fixture_close(&f);
}

STORE_TEST(cron_follows_the_clocks_of_its_zone)
{
    fixture f;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "daily", .cron = "0 1 1 * * *",
                                      .zone = "Europe/Berlin", .count = 1));
    fixture_run(&f, HORA_SECONDS(70));
    CHECK_INT(f.run_count, 1);
    CHECK(fixture_seconds(f.runs[0].planned) == 60); /* 01:01 in Berlin is 00:01 UTC in winter */
    fixture_close(&f);
}

STORE_TEST(a_failed_run_is_tried_again)
{
    fixture f;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    f.fail_first = 3;
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "retry", .max_attempts = 5,
                                      .back_off = HORA_SECONDS(1), .back_off_factor = 3));
    fixture_run(&f, HORA_SECONDS(60));
    CHECK_INT(f.run_count, 4);
    double pauses[] = {1, 3, 9};
    for (int i = 1; i < 4; i++) {
        double pause = fixture_seconds(f.runs[i].started) - fixture_seconds(f.runs[i - 1].started);
        CHECK(pause >= pauses[i - 1] && pause < pauses[i - 1] + 0.2);
        CHECK_INT(f.runs[i].attempt, i + 1);
        CHECK(f.runs[i].fence > f.runs[i - 1].fence);
        CHECK(strcmp(f.runs[i].idempotency_key, f.runs[0].idempotency_key) == 0);
    }
    CHECK_INT(fixture_count(&f, HORA_DURABLE_DEAD), 0);
    fixture_close(&f);
}

STORE_TEST(a_task_that_always_fails_is_dead_until_it_is_revived)
{
    fixture f;
    hora_error error;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    f.fail_first = 3;
    fixture_put(
        &f, HORA_DURABLE_TASK(.handler = "run", .key = "poison", .max_attempts = 3, .back_off = HORA_MS(10)));
    fixture_run(&f, HORA_SECONDS(5));
    CHECK_INT(f.run_count, 3);
    CHECK(f.runs[2].is_last && !f.runs[1].is_last);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_DEAD), 1);
    CHECK_INT(fixture_count(&f, 0), 0);
    CHECK_OK(hora_store_revive(f.store, "poison", 0, (hora_instant){0}, &error));
    fixture_run(&f, HORA_SECONDS(2));
    CHECK_INT(f.run_count, 4);
    CHECK_INT(f.runs[3].attempt, 1);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_DEAD), 0);
    fixture_close(&f);
}

STORE_TEST(runs_of_a_series_overlap_only_if_allowed)
{
    for (int allowed = 0; allowed < 2; allowed++) {
        fixture f;
        fixture_open(&f, address, NULL);
        fixture_start(&f);
        f.takes = HORA_SECONDS(3);
        hora_durable_task task = HORA_INIT(hora_durable_task);
        task.handler = "run";
        task.key = allowed ? "overlapping" : "serial";
        task.fixed_rate = HORA_SECONDS(1);
        task.count = 8;
        task.missed = HORA_MISSED_BURST;
        task.overlap = allowed ? HORA_OVERLAP_ALLOW : HORA_OVERLAP_NEVER;
        task.overlap_max = allowed ? 2 : 0;
        fixture_put(&f, &task);
        fixture_run(&f, HORA_SECONDS(40));
        CHECK_INT(f.most_in_progress, allowed ? 2 : 1);
        if (!allowed)
            CHECK_INT(f.run_count, 8);
        else
            CHECK(f.run_count > 2 && f.run_count < 8); /* some found two others and were skipped */
        CHECK_INT(fixture_count(&f, 0), 0);
        fixture_close(&f);
    }
}

STORE_TEST(missed_firings_are_made_up_once_all_or_not_at_all)
{
    static const struct {
        hora_missed missed;
        int max, runs;
    } cases[] = {{HORA_MISSED_ONCE, 0, 1},
                 {HORA_MISSED_BURST, 0, 5},
                 {HORA_MISSED_SKIP, 0, 0},
                 {HORA_MISSED_AT_MOST, 2, 2}};
    for (int i = 0; i < 4; i++) {
        fixture f;
        fixture_open(&f, address, NULL);
        hora_durable_task task = HORA_INIT(hora_durable_task);
        task.handler = "run";
        task.key = "tenths";
        task.initial_delay = HORA_SECONDS(10);
        task.fixed_rate = HORA_SECONDS(10);
        task.missed = cases[i].missed;
        task.missed_max = cases[i].max;
        fixture_put(&f, &task);
        CHECK_OK(hora_virtual_clock_advance(f.clock, HORA_SECONDS(55))); /* no node is up */
        fixture_start(&f);
        fixture_run(&f, HORA_SECONDS(4));
        CHECK_INT(f.run_count, cases[i].runs);
        fixture_run(&f, HORA_SECONDS(5)); /* at 60 s */
        CHECK_INT(f.run_count, cases[i].runs + 1);
        CHECK(fixture_seconds(f.runs[cases[i].runs].planned) == 60);
        CHECK_INT(hora_store_cancel(f.store, "tenths", 0, NULL), HORA_CANCEL_REMOVED);
        fixture_close(&f);
    }
}

/* The latest report of skipped times, and how many there were. */
typedef struct skip_report {
    hora_skipped last;
    char key[64];
    _Atomic int count;
} skip_report;

static void note_skipped(hora_durable *durable, const hora_skipped *skipped, void *arg)
{
    skip_report *report = arg;
    CHECK(durable != NULL && strcmp(skipped->handler, "run") == 0);
    report->last = *skipped;
    snprintf(report->key, sizeof report->key, "%s", skipped->key);
    atomic_fetch_add(&report->count, 1);
}

static int read_code(const hora_run_record *record, void *arg)
{
    *(int *)arg = record->outcome == HORA_RUN_SKIPPED ? record->code : -1;
    return 1;
}

STORE_TEST(skipped_times_are_reported_once_they_are_recorded)
{
    static const struct {
        hora_missed missed;
        hora_ns grace;
        hora_skip_reason reason;
        int64_t count;
        double last, next;
    } cases[] = {{HORA_MISSED_SKIP, 0, HORA_SKIP_MISSED, 5, 50, 60},
                 {HORA_MISSED_ONCE, 0, HORA_SKIP_MISSED, 4, 40, 50},
                 {HORA_MISSED_ONCE, HORA_SECONDS(2), HORA_SKIP_LATE, 5, 50, 60},
                 {HORA_MISSED_BURST, HORA_SECONDS(20), HORA_SKIP_LATE, 3, 30, 40},
                 {HORA_MISSED_BURST, 0, HORA_SKIP_MISSED, 0, 0, 0}};
    for (int i = 0; i < 10; i++) {
        fixture f;
        skip_report report = {.count = 0};
        int k = i / 2, code = 0;
        fixture_open(&f, address, HORA_DURABLE_OPTIONS(.skipped = note_skipped, .notify_arg = &report));
        hora_durable_task task = HORA_INIT(hora_durable_task);
        task.handler = "run";
        task.key = "tenths";
        task.at = (hora_instant){FIXTURE_START + HORA_SECONDS(10)};
        task.fixed_rate = i % 2 == 0 ? HORA_SECONDS(10) : 0;
        task.cron = i % 2 == 0 ? NULL : "*/10 * * * * *";
        task.missed = cases[k].missed;
        task.grace = cases[k].grace;
        task.history = true;
        fixture_put(&f, &task);
        CHECK_OK(hora_virtual_clock_advance(f.clock, HORA_SECONDS(55))); /* no node is up */
        fixture_start(&f);
        fixture_run(&f, HORA_SECONDS(2));
        CHECK_INT(report.count, cases[k].count > 0);
        if (cases[k].count > 0) {
            CHECK(strcmp(report.key, "tenths") == 0);
            CHECK_INT(report.last.reason, cases[k].reason);
            CHECK_INT(report.last.count, cases[k].count);
            CHECK_INT(report.last.attempt, 1);
            CHECK(fixture_seconds(report.last.first) == 10);
            CHECK(fixture_seconds(report.last.last) == cases[k].last);
            CHECK(fixture_seconds(report.last.next) == cases[k].next);
            CHECK_INT(hora_store_history(f.store, HORA_HISTORY_FILTER(.outcome = HORA_RUN_SKIPPED), read_code,
                                         &code, NULL),
                      1);
            CHECK_INT(code, cases[k].reason);
        }
        CHECK_INT(hora_store_cancel(f.store, "tenths", 0, NULL), HORA_CANCEL_REMOVED);
        fixture_close(&f);
    }
}

STORE_TEST(a_time_that_finds_too_many_others_is_reported)
{
    fixture f;
    skip_report report = {.count = 0};
    fixture_open(&f, address, HORA_DURABLE_OPTIONS(.skipped = note_skipped, .notify_arg = &report));
    fixture_start(&f);
    f.takes = HORA_SECONDS(25);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "tenths", .fixed_rate = HORA_SECONDS(10),
                                      .count = 3, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2));
    fixture_run(&f, HORA_SECONDS(60));
    CHECK_INT(f.run_count, 2);
    CHECK_INT(report.count, 1);
    CHECK_INT(report.last.reason, HORA_SKIP_OVERLAP);
    CHECK_INT(report.last.count, 1);
    CHECK(fixture_seconds(report.last.first) == 20 && fixture_seconds(report.last.last) == 20);
    fixture_close(&f);
}

STORE_TEST(cancel_pause_resume_and_retime)
{
    fixture f;
    hora_error error;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "a", .initial_delay = HORA_SECONDS(10)));
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "b", .initial_delay = HORA_SECONDS(10)));
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "c", .initial_delay = HORA_SECONDS(10)));
    CHECK_INT(hora_store_cancel(f.store, "a", 0, &error), HORA_CANCEL_REMOVED);
    CHECK_INT(hora_store_cancel(f.store, "a", 0, &error), HORA_CANCEL_TOO_LATE);
    CHECK_INT(hora_store_pause(f.store, "b", 0, &error), 1);
    CHECK_INT(hora_store_pause(f.store, "b", 0, &error), 0);
    CHECK_OK(hora_store_retime(f.store, "c", 0, (hora_instant){FIXTURE_START + HORA_SECONDS(3)}, &error));
    fixture_run(&f, HORA_SECONDS(20));
    CHECK_INT(f.run_count, 1);
    CHECK(strcmp(f.runs[0].key, "c") == 0);
    CHECK(fixture_seconds(f.runs[0].started) >= 3 && fixture_seconds(f.runs[0].started) < 3.1);
    CHECK_INT(hora_store_resume(f.store, "b", 0, &error), 1);
    fixture_run(&f, HORA_SECONDS(2));
    CHECK_INT(f.run_count, 2);
    CHECK_ERROR(hora_store_retime(f.store, "nobody", 0, (hora_instant){0}, &error), HORA_ENOENT);
    CHECK(strstr(error.message, "nobody") != NULL);
    fixture_close(&f);
}

STORE_TEST(put_keeps_replaces_or_refuses)
{
    fixture f;
    hora_error error;
    hora_put_result result;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    const hora_durable_task *first =
        HORA_DURABLE_TASK(.handler = "run", .key = "k", .initial_delay = HORA_HOURS(1), .payload = "1",
                          .payload_size = 1);
    fixture_put(&f, first);
    CHECK_ERROR(hora_store_put(f.store, first, NULL, &error), HORA_EEXIST);
    CHECK_OK(hora_store_put(f.store,
                            HORA_DURABLE_TASK(.handler = "run", .key = "k", .if_exists = HORA_IF_EXISTS_KEEP),
                            &result, &error));
    CHECK_INT(result.done, HORA_PUT_KEPT);
    CHECK_OK(
        hora_store_put(f.store,
                       HORA_DURABLE_TASK(.handler = "run", .key = "k", .if_exists = HORA_IF_EXISTS_REPLACE,
                                         .payload = "2", .payload_size = 1),
                       &result, &error));
    CHECK_INT(result.done, HORA_PUT_REPLACED);
    fixture_run(&f, HORA_SECONDS(2));
    CHECK_INT(f.run_count, 1);
    CHECK(strcmp(f.runs[0].payload, "2") == 0);
    fixture_close(&f);
}

STORE_TEST(a_handler_that_nobody_has_is_left_in_the_store)
{
    fixture f;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "elsewhere"));
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run"));
    fixture_run(&f, HORA_MINUTES(1));
    CHECK_INT(f.run_count, 1);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_WAITING), 1);
    fixture_close(&f);
}

STORE_TEST(what_is_claimed_and_not_started_goes_back_at_the_stop)
{
    fixture f;
    hora_error error;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .initial_delay = HORA_MS(800)));
    fixture_run(&f, HORA_MS(300)); /* it is within the horizon */
    CHECK_INT(fixture_count(&f, HORA_DURABLE_CLAIMED), 1);
    CHECK_INT(hora_durable_stop(f.durable, HORA_SECONDS(1), &error), 0);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_WAITING), 1);
    CHECK_INT(f.run_count, 0);
    fixture_close(&f);
}

static int64_t last_outcome;

static int note_record(const hora_run_record *record, void *count)
{
    last_outcome = record->outcome;
    CHECK(record->note != NULL && strcmp(record->note, "a note") == 0);
    ++*(int *)count;
    return 0;
}

static int leave_note(const hora_run *run, void *arg)
{
    (void)arg;
    CHECK_OK(hora_run_set_note(run, "a note", 6));
    CHECK(!hora_run_is_lost(run) && !hora_run_is_cancelled(run));
    return 0;
}

STORE_TEST(a_run_leaves_a_record_with_its_note)
{
    fixture f;
    hora_error error;
    int count = 0;
    fixture_open(&f, address, NULL);
    CHECK_OK(hora_durable_add_handler(f.durable, "note", leave_note, NULL, NULL, &error));
    CHECK_ERROR(hora_durable_add_handler(f.durable, "note", leave_note, NULL, NULL, &error), HORA_EEXIST);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "note", .key = "k", .history = true));
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_OK(hora_store_history(f.store, HORA_HISTORY_FILTER(.key = "k"), note_record, &count, &error));
    CHECK_INT(count, 1);
    CHECK_INT(last_outcome, HORA_RUN_SUCCEEDED);
    CHECK_INT(hora_store_trim_history(f.store, (hora_instant){FIXTURE_START + HORA_HOURS(48)}, &error), 1);
    fixture_close(&f);
}

STORE_TEST(an_idle_node_talks_to_the_store_once_a_second)
{
    fixture f;
    hora_durable_status before = HORA_INIT(hora_durable_status), after = HORA_INIT(hora_durable_status);
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .initial_delay = HORA_HOURS(5)));
    fixture_run(&f, HORA_SECONDS(10));
    CHECK_OK(hora_durable_get_status(f.durable, &before));
    fixture_run(&f, HORA_SECONDS(30));
    CHECK_OK(hora_durable_get_status(f.durable, &after));
    CHECK(after.exchanges - before.exchanges <= 31);
    CHECK(after.has_lease && after.connected);
    fixture_close(&f);
}

STORE_TEST(a_store_has_one_durable_scheduler_and_no_child_may_use_it)
{
    fixture f;
    hora_error error;
    hora_durable *second;
    fixture_open(&f, address, NULL);
    CHECK_ERROR(hora_durable_new(f.store, NULL, &second, &error), HORA_EBUSY);
    CHECK_ERROR(hora_store_close(f.store), HORA_EBUSY);
    CHECK_ERROR(hora_durable_start(NULL, &error), HORA_EINVAL);
    fixture_start(&f);
    CHECK_ERROR(hora_durable_start(f.durable, &error), HORA_EBUSY);
    fixture_close(&f);
}

TEST_REAL(wrong_addresses_and_options_are_refused_with_a_reason, "")
{
    static const struct {
        const char *address, *message;
    } cases[] = {
        {"", "an address starts with sqlite:, postgres:// or postgresql://, or is memory:"},
        {"mysql://host/db", "an address starts with sqlite:, postgres:// or postgresql://, or is memory:"},
        {"sqlite:", "the address names no file"},
        {"sqlite:///tmp/", "the address names no file"},
        {"sqlite://host/file.db", "a SQLite address is sqlite:///absolute/path or sqlite:relative/path"},
        {"sqlite::memory:", "a store in memory has the address memory:, not sqlite::memory:"},
    };
    hora_store *store;
    hora_error error;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_ERROR(hora_store_open(cases[i].address, NULL, &store, &error), HORA_EINVAL);
        if (strcmp(error.message, cases[i].message) != 0)
            test_fail(__FILE__, __LINE__, "%s: %s", cases[i].address, error.message);
    }
    CHECK_ERROR(hora_store_open(NULL, NULL, &store, &error), HORA_EINVAL);
    CHECK_ERROR(hora_store_open("memory:", HORA_STORE_OPTIONS(.statement_timeout = 1), &store, &error),
                HORA_EINVAL);
    CHECK_ERROR(hora_store_open("memory:", HORA_STORE_OPTIONS(.schema = "a\"b"), &store, &error),
                HORA_EINVAL);
    CHECK_ERROR(hora_store_open("memory:", HORA_STORE_OPTIONS(.max_payload = SIZE_MAX), &store, &error),
                HORA_EINVAL);
    CHECK_OK(hora_store_open("memory:", NULL, &store, &error));
    hora_durable *durable;
    CHECK_ERROR(hora_durable_new(store, HORA_DURABLE_OPTIONS(.lease = HORA_MS(1)), &durable, &error),
                HORA_EINVAL);
    CHECK(strcmp(error.field, "lease") == 0);
    CHECK_ERROR(hora_durable_new(store, HORA_DURABLE_OPTIONS(.horizon = HORA_SECONDS(4)), &durable, &error),
                HORA_EINVAL);
    CHECK_ERROR(hora_durable_new(store, HORA_DURABLE_OPTIONS(.max_claimed = -1), &durable, &error),
                HORA_EINVAL);
    CHECK_ERROR(hora_store_put(store, HORA_DURABLE_TASK(.key = "no handler"), NULL, &error), HORA_EINVAL);
    CHECK_ERROR(
        hora_store_put(store, HORA_DURABLE_TASK(.handler = "h", .delivery = HORA_EFFECT_ONCE), NULL, &error),
        HORA_ENOTSUP);
    CHECK_ERROR(hora_store_put(store,
                               HORA_DURABLE_TASK(.handler = "h", .payload = "", .payload_size = 1 << 30),
                               NULL, &error),
                HORA_ERANGE);
    CHECK_OK(hora_store_close(store));
}
