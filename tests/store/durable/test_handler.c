/* SPDX-License-Identifier: Apache-2.0 */
/* test_handler.c - what a handler says of its run: the next attempt, the outcome; triggers that are added
 * late, and planned times that come during a run */
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* What the i-th run says, and what it saw. */
typedef struct says {
    int code;
    hora_ns retry; /* HORA_FOREVER: it does not say */
    hora_run_outcome outcome;
} says;

typedef struct script {
    fixture *f;
    const says *says;
    int count;
    _Atomic int runs;
    double started[16];
    int64_t failures_in_a_row[16];
} script;

static int follow(const hora_run *run, void *arg)
{
    script *own = arg;
    int index = atomic_fetch_add(&own->runs, 1);
    const says *now = &own->says[index < own->count ? index : own->count - 1];
    hora_instant at;
    CHECK_OK(hora_clock_instant(hora_virtual_clock_view(own->f->clock, HORA_CLOCK_WALL), &at));
    if (index < 16) {
        own->started[index] = fixture_seconds(at);
        own->failures_in_a_row[index] = run->failures_in_a_row;
    }
    if (now->retry != HORA_FOREVER)
        CHECK_OK(hora_run_set_retry(run, now->retry));
    if (now->outcome != 0)
        CHECK_OK(hora_run_set_outcome(run, now->outcome));
    CHECK_ERROR(hora_run_set_outcome(run, HORA_RUN_SUCCEEDED), HORA_EINVAL);
    CHECK_ERROR(hora_run_set_outcome(run, HORA_RUN_LOST), HORA_EINVAL);
    CHECK_ERROR(hora_run_set_outcome(NULL, HORA_RUN_STOPPED), HORA_EINVAL);
    CHECK_ERROR(hora_run_set_retry(NULL, 0), HORA_EINVAL);
    CHECK_OK(hora_run_set_note(run, "said", 4));
    return now->code;
}

static void open_script(fixture *f, script *own, const char *address, const says *lines, int count)
{
    fixture_open(f, address, NULL);
    *own = (script){.f = f, .says = lines, .count = count};
    CHECK_OK(hora_durable_add_handler(f->durable, "follow", follow, own, NULL, NULL));
    fixture_start(f);
}

/* Hands the first run back, and lets the others succeed. */
typedef struct hesitation {
    _Atomic int runs;
    int attempts[4];
    bool handed_back[4];
    int64_t fences[4];
} hesitation;

static int hesitate(const hora_run *run, void *arg)
{
    hesitation *own = arg;
    int index = atomic_fetch_add(&own->runs, 1);
    if (index < 4) {
        own->attempts[index] = run->attempt;
        own->handed_back[index] = run->handed_back;
        own->fences[index] = run->fence;
    }
    CHECK_ERROR(hora_run_hand_back(NULL), HORA_EINVAL);
    if (index == 0)
        CHECK_OK(hora_run_hand_back(run));
    return index == 0 ? HORA_EFAILED : 0;
}

static int count_record(const hora_run_record *record, void *arg)
{
    CHECK_INT(record->attempt, 1);
    ++*(int *)arg;
    return 0;
}

STORE_TEST(a_run_that_is_handed_back_does_not_count)
{
    fixture f;
    hesitation own = {.runs = 0};
    hora_durable_status status = HORA_INIT(hora_durable_status);
    int records = 0;
    fixture_open(&f, address, NULL);
    CHECK_OK(hora_durable_add_handler(f.durable, "hesitate", hesitate, &own, NULL, NULL));
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "hesitate", .key = "a", .fixed_rate = HORA_SECONDS(10),
                                      .count = 2, .max_attempts = 1, .history = true));
    fixture_run(&f, HORA_SECONDS(30));
    CHECK_INT(own.runs, 3);
    CHECK_INT(own.attempts[0], 1);
    CHECK_INT(own.attempts[1], 1);
    CHECK(!own.handed_back[0] && own.handed_back[1] && !own.handed_back[2]);
    CHECK(own.fences[1] > own.fences[0]);
    CHECK_OK(hora_store_history(f.store, NULL, count_record, &records, NULL));
    CHECK_INT(records, 2);
    CHECK_OK(hora_durable_get_status(f.durable, &status));
    CHECK_INT(status.succeeded, 2);
    CHECK_INT(status.failed, 0);
    fixture_close(&f);
}

STORE_TEST(a_handler_sets_the_pause_before_the_next_attempt)
{
    static const says lines[] = {{HORA_EFAILED, HORA_SECONDS(5), 0},
                                 {HORA_EFAILED, 0, 0},
                                 {HORA_EFAILED, HORA_FOREVER, 0},
                                 {HORA_EFAILED, -1, 0}};
    fixture f;
    script own;
    open_script(&f, &own, address, lines, 4);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "follow", .key = "k", .max_attempts = 20,
                                      .back_off = HORA_SECONDS(30), .back_off_factor = 1));
    fixture_run(&f, HORA_MINUTES(10));
    CHECK_INT(own.runs, 4);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_DEAD), 1);
    static const double pauses[] = {5, 0, 30};
    for (int i = 1; i < 4; i++) {
        double pause = own.started[i] - own.started[i - 1];
        CHECK(pause >= pauses[i - 1] && pause < pauses[i - 1] + 0.1);
    }
    fixture_close(&f);
}

typedef struct seen {
    hora_run_record records[16];
    int count;
} seen;

static int keep(const hora_run_record *record, void *arg)
{
    seen *all = arg;
    if (all->count < 16)
        all->records[all->count++] = *record;
    CHECK(record->note == NULL || strcmp(record->note, "said") == 0);
    return 0;
}

static int keep_info(const hora_durable_info *info, void *arg)
{
    *(hora_durable_info *)arg = *info;
    return 0;
}

/* Neither a success nor a failure: what the task knows of these stays. */
STORE_TEST(a_handler_skips_and_stops)
{
    static const says lines[] = {{0, HORA_FOREVER, 0},
                                 {7, -1, 0},
                                 {0, HORA_FOREVER, HORA_RUN_SKIPPED},
                                 {9, HORA_FOREVER, HORA_RUN_STOPPED},
                                 {8, -1, 0}};
    static const hora_run_outcome outcomes[] = {HORA_RUN_SUCCEEDED, HORA_RUN_GAVE_UP, HORA_RUN_SKIPPED,
                                                HORA_RUN_STOPPED, HORA_RUN_GAVE_UP};
    static const int64_t failures[] = {0, 0, 1, 1, 1};
    fixture f;
    script own;
    seen all = {.count = 0};
    hora_durable_info info;
    hora_durable_status status = HORA_INIT(hora_durable_status);
    open_script(&f, &own, address, lines, 5);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "follow", .key = "k", .fixed_rate = HORA_SECONDS(10),
                                      .max_attempts = 5, .history = true, .stop_after = 2));
    fixture_run(&f, HORA_SECONDS(35));
    CHECK_OK(hora_store_list(f.store, HORA_DURABLE_FILTER(.key = "k"), keep_info, &info, NULL));
    CHECK(info.failures_in_a_row == 1 && info.last_code == 9 && info.firings == 4);
    CHECK(fixture_seconds(info.last_success) < 1 && fixture_seconds(info.last_end) >= 30);
    fixture_run(&f, HORA_SECONDS(25));
    CHECK_INT(own.runs, 5);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_DEAD), 1); /* two firings in a row gave up */
    CHECK_OK(hora_store_history(f.store, HORA_HISTORY_FILTER(.key = "k"), keep, &all, NULL));
    CHECK_INT(all.count, 5);
    for (int i = 0; i < 5 && all.count == 5; i++) {
        const hora_run_record *record = &all.records[4 - i];
        CHECK_INT(record->outcome, outcomes[i]);
        CHECK_INT(record->code, lines[i].code);
        CHECK(record->started.ns != 0 && record->attempt == 1 && record->fence > 0 && record->note_size == 4);
        CHECK_INT(own.failures_in_a_row[i], failures[i]);
    }
    all.count = 0;
    CHECK_OK(hora_store_history(f.store, HORA_HISTORY_FILTER(.outcome = HORA_RUN_STOPPED), keep, &all, NULL));
    CHECK_INT(all.count, 1);
    all.count = 0;
    CHECK_OK(hora_store_history(f.store, HORA_HISTORY_FILTER(.failed = true), keep, &all, NULL));
    CHECK_INT(all.count, 2);
    CHECK_OK(hora_durable_get_status(f.durable, &status));
    CHECK(status.succeeded == 1 && status.failed == 2 && status.skipped == 1);
    fixture_close(&f);
}

/* ---- triggers ---- */

static hora_ns every_ten_seconds(const hora_trigger_context *context, void *arg)
{
    (void)arg;
    return context->last_planned + HORA_SECONDS(10);
}

typedef struct adding {
    fixture *f;
    hora_trigger *trigger;
} adding;

static void add_late(void *arg)
{
    const adding *own = arg;
    hora_error error;
    CHECK_OK(hora_durable_add_trigger(own->f->durable, "late", own->trigger, &error));
    CHECK_ERROR(hora_durable_add_trigger(own->f->durable, "late", own->trigger, &error), HORA_EEXIST);
    CHECK(strstr(error.message, "late") != NULL);
}

STORE_TEST(a_trigger_that_is_added_late_is_followed_at_once)
{
    fixture f;
    adding own = {.f = &f};
    fixture_open(&f, address, NULL);
    CHECK_OK(hora_trigger_new(every_ten_seconds, NULL, NULL, &own.trigger));
    CHECK_OK(hora_durable_add_trigger(f.durable, "early", own.trigger, NULL));
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "a", .trigger = "late", .count = 1,
                                      .missed = HORA_MISSED_BURST));
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = "b", .trigger = "early", .count = 1));
    for (int i = 0; i < 20; i++) { /* at all points of the cycle in which the node looks for it */
        fixture_run(&f, HORA_MS(70));
        CHECK_INT(f.run_count, 1 + i);
        char name[16], key[16];
        snprintf(name, sizeof name, "late%d", i);
        snprintf(key, sizeof key, "k%d", i);
        fixture_put(&f, HORA_DURABLE_TASK(.handler = "run", .key = key, .trigger = name, .count = 1));
        fixture_run(&f, HORA_MS(100 + 83 * i));
        CHECK_INT(f.run_count, 1 + i);
        CHECK_OK(hora_durable_add_trigger(f.durable, name, own.trigger, NULL));
        CHECK_OK(hora_virtual_clock_settle(f.clock));
        fixture_run(&f, HORA_MS(20));
        CHECK_INT(f.run_count, 2 + i);
        CHECK(strcmp(f.runs[1 + i].key, key) == 0);
    }
    test_thread_join(test_thread_start(NULL, add_late, &own));
    fixture_run(&f, HORA_MS(20));
    CHECK_INT(f.run_count, 22);
    CHECK(strcmp(f.runs[21].key, "a") == 0);
    CHECK_INT(hora_durable_stop(f.durable, HORA_SECONDS(1), NULL), 0);
    CHECK_OK(hora_durable_add_trigger(f.durable, "too late", own.trigger, NULL));
    (void)hora_trigger_unref(own.trigger);
    fixture_close(&f);
}

/* ---- times that come during a run ---- */

STORE_TEST(times_during_a_run_are_missed_skipped_or_queued)
{
    static const struct {
        hora_busy busy;
        int max, runs;     /* what is skipped without a run counts as a firing, too */
        double planned[5]; /* of the runs, which take 25 s, 0 s, ... */
        int64_t skipped;
    } cases[] = {{HORA_BUSY_MISSED, 0, 4, {0, 20, 30, 40}, 0}, /* made up once */
                 {HORA_BUSY_SKIP, 0, 5, {0, 30, 40, 50, 60}, 2},
                 {HORA_BUSY_QUEUE, 1, 5, {0, 20, 30, 40, 50}, 1},
                 {HORA_BUSY_QUEUE, 3, 5, {0, 10, 20, 30, 40}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        seen all = {.count = 0};
        fixture_open(&f, address, NULL);
        fixture_start(&f);
        f.takes = HORA_SECONDS(25);
        char key[16];
        snprintf(key, sizeof key, "k%zu", i);
        hora_durable_task task = HORA_INIT(hora_durable_task);
        task.handler = "run";
        task.key = key;
        task.fixed_rate = HORA_SECONDS(10);
        task.busy = cases[i].busy;
        task.busy_max = cases[i].max;
        task.count = 5;
        task.history = true;
        fixture_put(&f, &task);
        fixture_run(&f, HORA_SECONDS(24));
        f.takes = 0;
        fixture_run(&f, HORA_SECONDS(60));
        CHECK_INT(f.run_count, cases[i].runs);
        for (int k = 0; k < cases[i].runs; k++)
            CHECK(fixture_seconds(f.runs[k].planned) - fixture_seconds(f.runs[0].planned) ==
                  cases[i].planned[k]);
        if (cases[i].max > 1)
            CHECK(f.runs[2].started.ns - f.runs[1].started.ns < HORA_MS(100));
        CHECK_OK(hora_store_history(f.store, HORA_HISTORY_FILTER(.key = key), keep, &all, NULL));
        CHECK_INT(all.records[all.count - 1].outcome, HORA_RUN_SUCCEEDED);
        CHECK_INT(all.records[all.count - 1].skipped, cases[i].skipped);
        if (cases[i].busy == HORA_BUSY_MISSED) {
            CHECK_INT(all.records[all.count - 2].outcome, HORA_RUN_SKIPPED);
            CHECK_INT(all.records[all.count - 2].skipped, 1);
            CHECK_INT(all.records[all.count - 2].started.ns, 0);
        }
        fixture_close(&f);
    }
}

TEST_REAL(rules_for_busy_times_are_checked, "")
{
    static const struct {
        hora_ns rate, delay;
        hora_overlap overlap;
        int busy, busy_max;
        const char *field;
    } cases[] = {{0, 0, HORA_OVERLAP_NEVER, HORA_BUSY_SKIP, 0, "busy"},
                 {0, HORA_SECONDS(1), HORA_OVERLAP_NEVER, HORA_BUSY_SKIP, 0, "busy"},
                 {HORA_SECONDS(1), 0, HORA_OVERLAP_ALLOW, HORA_BUSY_SKIP, 0, "busy"},
                 {HORA_SECONDS(1), 0, HORA_OVERLAP_NEVER, 3, 0, "busy"},
                 {HORA_SECONDS(1), 0, HORA_OVERLAP_NEVER, -1, 0, "busy"},
                 {HORA_SECONDS(1), 0, HORA_OVERLAP_NEVER, HORA_BUSY_QUEUE, 0, "busy_max"},
                 {HORA_SECONDS(1), 0, HORA_OVERLAP_NEVER, HORA_BUSY_QUEUE, 1001, "busy_max"},
                 {HORA_SECONDS(1), 0, HORA_OVERLAP_NEVER, HORA_BUSY_SKIP, 1, "busy_max"},
                 {HORA_SECONDS(1), 0, HORA_OVERLAP_NEVER, HORA_BUSY_MISSED, 1, "busy_max"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hora_error error;
        hora_durable_task task = HORA_INIT(hora_durable_task);
        task.handler = "h";
        task.key = "k";
        task.fixed_rate = cases[i].rate;
        task.fixed_delay = cases[i].delay;
        task.overlap = cases[i].overlap;
        task.overlap_max = cases[i].overlap == HORA_OVERLAP_ALLOW ? 2 : 0;
        task.busy = (hora_busy)cases[i].busy;
        task.busy_max = cases[i].busy_max;
        CHECK_ERROR(hora_durable_task_check(&task, &error), HORA_EINVAL);
        if (error.field == NULL || strcmp(error.field, cases[i].field) != 0)
            test_fail(__FILE__, __LINE__, "case %zu: %s", i, error.message);
    }
}
