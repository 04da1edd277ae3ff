/* SPDX-License-Identifier: Apache-2.0 */
/* test_rules.c - what follows a run, in tables of the rules */
#include <string.h>

#include "harness.h"
#include "rules.h"
#include "units.h"

#define S       INT64_C(1000000)
#define PLANNED (1000 * S)

static hora__definition *make(int line, const hora_durable_task *task)
{
    hora__definition *definition;
    hora_error error;
    if (hora__definition_new(task, &definition, &error) == 0)
        return definition;
    test_fail(__FILE__, line, "%s", error.message);
    return NULL;
}

#define MAKE(...) make(__LINE__, HORA_DURABLE_TASK(.handler = "h", .key = "k", __VA_ARGS__))

static hora__claim claim_of(int64_t planned)
{
    return (hora__claim){
        .id = 7, .planned = planned, .due = planned, .fence = 3, .attempt = 1, .key = "k", .history = true};
}

static hora__before before(const hora__definition *definition, const hora__claim *claim, int64_t now,
                           hora__settle *ret_settle)
{
    memset(ret_settle, 0, sizeof *ret_settle);
    return hora__rules_before(definition, NULL, claim, now, ret_settle);
}

static hora__settle after(const hora__definition *definition, const hora__claim *claim, int code, int64_t now)
{
    hora__settle settle;
    hora__rules_after(definition, NULL, claim, &(hora__run_end){.code = code}, 5, now, 0, &settle);
    return settle;
}

/* ---- missed times ---- */

struct row {
    hora_missed missed;
    int missed_max;
    int64_t missed_after, grace, late; /* period 10 s; in seconds */
    int64_t skipped;                   /* 0: it runs */
};

static const struct row rows[] = {
    /* not missed, only late */
    {HORA_MISSED_ONCE, 0, 1, 0, 0, 0},
    {HORA_MISSED_ONCE, 0, 1, 0, 1, 0},
    {HORA_MISSED_SKIP, 0, 1, 0, 1, 0},
    {HORA_MISSED_SKIP, 0, 60, 0, 55, 0},
    {HORA_MISSED_ONCE, 0, 60, 0, 55, 0},
    {HORA_MISSED_AT_MOST, 1, 60, 0, 55, 0},
    /* one run makes up for all: the latest */
    {HORA_MISSED_ONCE, 0, 1, 0, 2, 0},
    {HORA_MISSED_ONCE, 0, 1, 0, 9, 0},
    {HORA_MISSED_ONCE, 0, 1, 0, 10, 1},
    {HORA_MISSED_ONCE, 0, 1, 0, 59, 5},
    /* each is made up */
    {HORA_MISSED_BURST, 0, 1, 0, 59, 0},
    {HORA_MISSED_BURST, 0, 1, 0, 86400, 0},
    /* none is made up: the first after now */
    {HORA_MISSED_SKIP, 0, 1, 0, 2, 1},
    {HORA_MISSED_SKIP, 0, 1, 0, 9, 1},
    {HORA_MISSED_SKIP, 0, 1, 0, 10, 2},
    {HORA_MISSED_SKIP, 0, 1, 0, 59, 6},
    /* the latest of them */
    {HORA_MISSED_AT_MOST, 1, 1, 0, 59, 5},
    {HORA_MISSED_AT_MOST, 2, 1, 0, 59, 4},
    {HORA_MISSED_AT_MOST, 6, 1, 0, 59, 0},
    {HORA_MISSED_AT_MOST, 9, 1, 0, 59, 0},
    {HORA_MISSED_AT_MOST, 2, 1, 0, 9, 0},
    /* the grace period ends the older ones, whatever the policy */
    {HORA_MISSED_BURST, 0, 1, 20, 20, 0},
    {HORA_MISSED_BURST, 0, 1, 20, 21, 1},
    {HORA_MISSED_BURST, 0, 1, 20, 59, 4},
    {HORA_MISSED_AT_MOST, 4, 1, 20, 59, 4},
    {HORA_MISSED_AT_MOST, 1, 1, 20, 59, 5},
    {HORA_MISSED_ONCE, 0, 1, 3, 59, 6},
    {HORA_MISSED_ONCE, 0, 60, 3, 5, 1},
};

/* Every row for a rate and for the cron expression and the trigger with the same times. */
static void check_row(const struct row *row, const hora_durable_task *with, const hora_trigger *trigger)
{
    hora_durable_task task = *with;
    task.missed = row->missed;
    task.missed_max = row->missed_max;
    task.missed_after = row->missed == HORA_MISSED_BURST ? 0 : HORA_SECONDS(row->missed_after);
    task.grace = HORA_SECONDS(row->grace);
    hora__definition *definition = make(__LINE__, &task);
    hora__claim claim = claim_of(PLANNED);
    hora__settle settle = {.id = 0};
    hora__before what = hora__rules_before(definition, trigger, &claim, PLANNED + row->late * S, &settle);
    bool ok =
        row->skipped == 0
            ? what == HORA__BEFORE_RUN
            : what == HORA__BEFORE_SKIP && settle.kind == HORA__SETTLE_ADVANCE &&
                  settle.planned == PLANNED + row->skipped * 10 * S && settle.skipped == row->skipped &&
                  settle.due == (row->skipped * 10 > row->late ? settle.planned : PLANNED + row->late * S) &&
                  settle.outcome == HORA_RUN_SKIPPED && settle.id == 7 && settle.fence == 3 &&
                  settle.history && settle.ran_planned == PLANNED && !settle.after_now;
    if (!ok)
        test_fail(__FILE__, __LINE__, "kind %d, row %zu: %d, kind %d, planned %lld, skipped %lld",
                  (int)definition->kind, (size_t)(row - rows), (int)what, (int)settle.kind,
                  (long long)(settle.planned - PLANNED), (long long)settle.skipped);
    hora__definition_free(definition);
}

TEST_REAL(missed_times, "")
{
    hora_trigger *trigger;
    CHECK_OK(hora_trigger_new_periodic(HORA_SECONDS(10), HORA_PERIODIC_TRIGGER_OPTIONS(.fixed_rate = true),
                                       &trigger, NULL));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_row(&rows[i], HORA_DURABLE_TASK(.handler = "h", .key = "k", .fixed_rate = HORA_SECONDS(10)),
                  NULL);
        check_row(&rows[i], HORA_DURABLE_TASK(.handler = "h", .key = "k", .cron = "*/10 * * * * *"), NULL);
        check_row(&rows[i], HORA_DURABLE_TASK(.handler = "h", .key = "k", .trigger = "t"), trigger);
    }
    (void)hora_trigger_unref(trigger);
}

/* More times than are counted: the firing moves on in steps, and arrives. */
TEST_REAL(missed_times_beyond_counting, "")
{
    hora__definition *definition = MAKE(.cron = "* * * * * *");
    hora__claim claim = claim_of(PLANNED);
    hora__settle settle;
    int64_t now = PLANNED + 25000 * S;
    int steps = 0;
    while (steps < 10 && before(definition, &claim, now, &settle) == HORA__BEFORE_SKIP) {
        CHECK_INT(settle.kind, HORA__SETTLE_ADVANCE);
        CHECK(settle.planned > claim.planned);
        claim.planned = settle.planned;
        steps++;
    }
    CHECK_INT(claim.planned, now);
    CHECK_INT(steps, 3);
    hora__definition_free(definition);
}

/* Only a first attempt can be missed, but every attempt can be too late. */
TEST_REAL(missed_attempts, "")
{
    hora__definition *definition = MAKE(.fixed_rate = HORA_SECONDS(10), .missed = HORA_MISSED_SKIP);
    hora__claim claim = claim_of(PLANNED);
    hora__settle settle;
    claim.attempt = 2;
    CHECK_INT(before(definition, &claim, PLANNED + 100 * S, &settle), HORA__BEFORE_RUN);
    hora__definition_free(definition);
    definition = MAKE(.fixed_rate = HORA_SECONDS(10), .grace = HORA_SECONDS(20));
    CHECK_INT(before(definition, &claim, PLANNED + 20 * S, &settle), HORA__BEFORE_RUN);
    CHECK_INT(before(definition, &claim, PLANNED + 21 * S, &settle), HORA__BEFORE_SKIP);
    hora__definition_free(definition);
}

/* Cron in a zone whose clocks change: on 2026-03-29 02:30 does not exist in Paris. */
TEST_REAL(cron_across_clock_changes, "")
{
    static const struct {
        hora_dst dst;
        const char *at, *next;
    } cases[] = {
        {HORA_DST_LITERAL, "2026-03-28T02:30:00+01:00", "2026-03-30T02:30:00+02:00"},
        {HORA_DST_ONCE, "2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00"},
        {HORA_DST_LITERAL, "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"},
        {HORA_DST_ONCE, "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hora_instant at, next;
        CHECK_OK(hora_instant_parse(cases[i].at, NULL, &at, NULL, NULL));
        CHECK_OK(hora_instant_parse(cases[i].next, NULL, &next, NULL, NULL));
        hora__definition *definition =
            MAKE(.cron = "0 30 2 * * *", .zone = "Europe/Paris", .dst = cases[i].dst);
        hora__claim claim = claim_of(at.ns / 1000);
        hora__settle settle = after(definition, &claim, 0, claim.planned + 5);
        CHECK_INT(settle.kind, HORA__SETTLE_ADVANCE);
        CHECK_INT(settle.planned, next.ns / 1000);
        CHECK_INT(settle.due, next.ns / 1000);
        hora__definition_free(definition);
    }
}

/* ---- after a run ---- */

TEST_REAL(after_one_shot, "")
{
    hora__definition *definition = MAKE(.max_attempts = 3);
    hora__claim claim = claim_of(PLANNED);
    hora__settle settle = after(definition, &claim, 0, PLANNED + 1);
    CHECK(settle.kind == HORA__SETTLE_DONE && settle.outcome == HORA_RUN_SUCCEEDED && settle.code == 0 &&
          settle.run_us == 5 && settle.history && settle.attempt == 1 && settle.ran_planned == PLANNED);
    settle = after(definition, &claim, 9, PLANNED + 1);
    CHECK(settle.kind == HORA__SETTLE_RETRY && settle.outcome == HORA_RUN_FAILED && settle.code == 9 &&
          settle.after_now && settle.due == S);
    claim.attempt = 3;
    settle = after(definition, &claim, -9, PLANNED + 1);
    CHECK(settle.kind == HORA__SETTLE_DEAD && settle.outcome == HORA_RUN_GAVE_UP && settle.gave_up == 1);
    /* Crashes have used up the attempts: it does not run again. */
    claim.attempt = 3;
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_RUN);
    claim.attempt = 4;
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_SKIP);
    CHECK(settle.kind == HORA__SETTLE_DEAD && settle.gave_up == 1 && !settle.history);
    hora__definition_free(definition);
}

TEST_REAL(after_series, "")
{
    hora__definition *definition = MAKE(.fixed_rate = HORA_SECONDS(10), .max_attempts = 1, .stop_after = 3);
    hora__claim claim = claim_of(PLANNED);
    claim.gave_up = 1;
    hora__settle settle = after(definition, &claim, 0, PLANNED + 55 * S);
    CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.planned == PLANNED + 10 * S &&
          settle.due == settle.planned && settle.gave_up == 0 && !settle.after_now);
    settle = after(definition, &claim, 1, PLANNED + 1);
    CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.outcome == HORA_RUN_GAVE_UP && settle.gave_up == 2);
    claim.gave_up = 2;
    settle = after(definition, &claim, 1, PLANNED + 1);
    CHECK(settle.kind == HORA__SETTLE_DEAD && settle.gave_up == 3);
    hora__definition_free(definition);

    definition = MAKE(.fixed_delay = HORA_SECONDS(10), .grace = HORA_SECONDS(1), .max_attempts = 1);
    settle = after(definition, &claim, 0, PLANNED + 55 * S);
    CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.after_now && settle.planned == 10 * S &&
          settle.due == 10 * S);
    CHECK_INT(before(definition, &claim, PLANNED + 2 * S, &settle), HORA__BEFORE_SKIP);
    CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.after_now && settle.due == 10 * S &&
          settle.outcome == HORA_RUN_SKIPPED && settle.skipped == 1);
    hora__definition_free(definition);
}

TEST_REAL(the_end_of_a_series, "")
{
    hora__definition *definition = MAKE(.fixed_rate = HORA_SECONDS(10), .count = 3);
    hora__claim claim = claim_of(PLANNED);
    hora__settle settle;
    claim.firings = 1;
    CHECK_INT(after(definition, &claim, 0, PLANNED).kind, HORA__SETTLE_ADVANCE);
    claim.firings = 2;
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_RUN);
    CHECK_INT(after(definition, &claim, 0, PLANNED).kind, HORA__SETTLE_DONE);
    claim.firings = 3;
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_SKIP);
    CHECK_INT(settle.kind, HORA__SETTLE_DONE);
    hora__definition_free(definition);

    definition = MAKE(.fixed_rate = HORA_SECONDS(10), .end = {(PLANNED + 10 * S) * 1000});
    claim = claim_of(PLANNED);
    CHECK_INT(after(definition, &claim, 0, PLANNED).kind, HORA__SETTLE_ADVANCE);
    claim.planned = PLANNED + 1;
    CHECK_INT(after(definition, &claim, 0, PLANNED).kind, HORA__SETTLE_DONE);
    claim.planned = PLANNED + 10 * S + 1;
    CHECK_INT(before(definition, &claim, claim.planned, &settle), HORA__BEFORE_SKIP);
    CHECK_INT(settle.kind, HORA__SETTLE_DONE);
    hora__definition_free(definition);

    definition = MAKE(.fixed_rate = INT64_MAX);
    claim = claim_of(INT64_MAX - 5);
    CHECK_INT(after(definition, &claim, 0, PLANNED).kind, HORA__SETTLE_DONE);
    hora__definition_free(definition);
}

/* ---- delivery and overlap ---- */

TEST_REAL(at_most_once, "")
{
    hora__settle settle;
    hora__claim claim = claim_of(PLANNED);
    hora__definition *definition = MAKE(.delivery = HORA_AT_MOST_ONCE);
    claim.attempt = 5; /* claims that were lost before START */
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_ASK);
    CHECK_INT(settle.kind, HORA__SETTLE_START);
    CHECK(!hora__rules_asks_again(definition, NULL, &claim, HORA__SETTLE_START, PLANNED, &settle));
    CHECK_INT(after(definition, &claim, 0, PLANNED).kind, HORA__SETTLE_DONE);
    CHECK_INT(after(definition, &claim, 1, PLANNED).kind, HORA__SETTLE_DEAD); /* no other attempt */
    hora__definition_free(definition);

    definition = MAKE(.delivery = HORA_AT_MOST_ONCE, .fixed_rate = HORA_SECONDS(10), .count = 2);
    claim = claim_of(PLANNED);
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_ASK);
    CHECK(settle.kind == HORA__SETTLE_START && settle.planned == PLANNED + 10 * S &&
          settle.due == settle.planned);
    settle = after(definition, &claim, 1, PLANNED + 1);
    CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.outcome == HORA_RUN_GAVE_UP &&
          settle.planned == PLANNED + 10 * S);
    /* The last firing: the node that finds it planned for never ends the series. */
    claim.firings = 1;
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_ASK);
    CHECK(settle.kind == HORA__SETTLE_START && settle.planned == HORA__NEVER && settle.due == PLANNED);
    claim.planned = HORA__NEVER;
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_SKIP);
    CHECK_INT(settle.kind, HORA__SETTLE_DONE);
    hora__definition_free(definition);
}

TEST_REAL(overlap, "")
{
    hora__settle settle;
    hora__claim claim = claim_of(PLANNED);
    hora__definition *definition = MAKE(.fixed_rate = HORA_SECONDS(10), .overlap = HORA_OVERLAP_ALLOW,
                                        .overlap_max = 4, .max_attempts = 2);
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_ASK);
    CHECK(settle.kind == HORA__SETTLE_FORK && settle.overlap_max == 4 && settle.planned == PLANNED + 10 * S);
    CHECK(!hora__rules_asks_again(definition, NULL, &claim, HORA__SETTLE_FORK, PLANNED, &settle));
    /* A forked row is deleted; one whose FORK was lost in a failover goes on with the next time. */
    settle = after(definition, &claim, 0, PLANNED);
    CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.planned == PLANNED + 10 * S);
    CHECK_INT(after(definition, &claim, 1, PLANNED).kind, HORA__SETTLE_RETRY);
    hora__rules_skip(definition, NULL, &claim, PLANNED, &settle);
    CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.outcome == HORA_RUN_SKIPPED && settle.skipped == 1 &&
          settle.planned == PLANNED + 10 * S);
    /* Its second attempt does not make room again. */
    claim.forked = true;
    claim.attempt = 2;
    CHECK_INT(before(definition, &claim, PLANNED + 60 * S, &settle), HORA__BEFORE_RUN);
    CHECK_INT(after(definition, &claim, 0, PLANNED).kind, HORA__SETTLE_ADVANCE);
    CHECK_INT(after(definition, &claim, 1, PLANNED).kind, HORA__SETTLE_ADVANCE);
    hora__definition_free(definition);

    definition = MAKE(.fixed_rate = HORA_SECONDS(10), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2,
                      .delivery = HORA_AT_MOST_ONCE);
    claim = claim_of(PLANNED);
    CHECK_INT(before(definition, &claim, PLANNED, &settle), HORA__BEFORE_ASK);
    CHECK_INT(settle.kind, HORA__SETTLE_FORK);
    CHECK(hora__rules_asks_again(definition, NULL, &claim, HORA__SETTLE_FORK, PLANNED, &settle));
    CHECK_INT(settle.kind, HORA__SETTLE_START);
    CHECK_INT(after(definition, &claim, 0, PLANNED).kind, HORA__SETTLE_ADVANCE);
    hora__definition_free(definition);
}

/* ---- back-off ---- */

static int64_t pause_of(const hora__definition *definition, int attempt, uint64_t random)
{
    hora__claim claim = claim_of(PLANNED);
    hora__settle settle;
    claim.attempt = attempt;
    hora__rules_after(definition, NULL, &claim, &(hora__run_end){.code = 1}, 0, PLANNED, random, &settle);
    CHECK(settle.kind == HORA__SETTLE_RETRY && settle.after_now);
    return settle.due;
}

TEST_REAL(back_off, "")
{
    hora__definition *definition = MAKE(.max_attempts = 30000);
    static const int64_t pauses[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};
    for (int i = 0; i < (int)(sizeof pauses / sizeof *pauses); i++)
        CHECK_INT(pause_of(definition, i + 1, UINT64_MAX), pauses[i] * S);
    CHECK_INT(pause_of(definition, 29999, UINT64_MAX), 300 * S);
    hora__definition_free(definition);
    definition = MAKE(.max_attempts = 100, .back_off = HORA_SECONDS(2), .back_off_factor = 1);
    CHECK_INT(pause_of(definition, 99, 0), 2 * S);
    hora__definition_free(definition);
    definition = MAKE(.back_off = HORA_SECONDS(8), .back_off_jitter = 0.5);
    CHECK_INT(pause_of(definition, 1, 0), 8 * S);
    CHECK_INT(pause_of(definition, 1, UINT64_C(1) << 63), 6 * S);
    CHECK(pause_of(definition, 1, UINT64_MAX) >= 4 * S && pause_of(definition, 1, UINT64_MAX) <= 4 * S + 1);
    hora__definition_free(definition);
    definition = MAKE(.back_off = INT64_MAX, .back_off_factor = 1e9);
    CHECK_INT(pause_of(definition, 9, 0), definition->back_off_max_us);
    hora__definition_free(definition);
}

/* What the handler says of the next attempt counts, if attempts are left. */
TEST_REAL(retries_that_the_handler_sets, "")
{
    static const struct {
        int64_t retry_us;
        int attempt;
        hora__settle_kind kind;
    } cases[] = {{0, 1, HORA__SETTLE_RETRY},
                 {7 * S, 2, HORA__SETTLE_RETRY},
                 {7 * S, 3, HORA__SETTLE_ADVANCE},
                 {-1, 1, HORA__SETTLE_ADVANCE}};
    hora__definition *definition =
        MAKE(.fixed_rate = HORA_SECONDS(10), .max_attempts = 3, .back_off_jitter = 0.5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hora__claim claim = claim_of(PLANNED);
        hora__settle settle;
        claim.attempt = cases[i].attempt;
        hora__run_end end = {.code = 4, .sets_retry = true, .retry_us = cases[i].retry_us};
        hora__rules_after(definition, NULL, &claim, &end, 5, PLANNED + 5, UINT64_MAX, &settle);
        CHECK_INT(settle.kind, cases[i].kind);
        CHECK_INT(settle.code, 4);
        if (settle.kind == HORA__SETTLE_RETRY)
            CHECK(settle.after_now && settle.due == cases[i].retry_us && settle.outcome == HORA_RUN_FAILED);
        else
            CHECK(settle.outcome == HORA_RUN_GAVE_UP && settle.gave_up == 1);
        end.code = 0;
        hora__rules_after(definition, NULL, &claim, &end, 5, PLANNED + 5, 0, &settle);
        CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.outcome == HORA_RUN_SUCCEEDED);
    }
    hora__definition_free(definition);
    definition = MAKE(.max_attempts = 3);
    hora__claim claim = claim_of(PLANNED);
    hora__settle settle;
    hora__rules_after(definition, NULL, &claim,
                      &(hora__run_end){.code = 1, .sets_retry = true, .retry_us = -1}, 5, PLANNED, 0,
                      &settle);
    CHECK(settle.kind == HORA__SETTLE_DEAD && settle.outcome == HORA_RUN_GAVE_UP);
    hora__definition_free(definition);
}

TEST_REAL(outcomes_that_the_handler_sets, "")
{
    static const hora_run_outcome outcomes[] = {HORA_RUN_SKIPPED, HORA_RUN_STOPPED};
    hora__definition *series = MAKE(.fixed_rate = HORA_SECONDS(10), .max_attempts = 3, .stop_after = 3);
    hora__definition *once = MAKE(.max_attempts = 3);
    for (int i = 0; i < 4; i++) {
        hora__claim claim = claim_of(PLANNED);
        claim.gave_up = 2;
        hora__run_end end = {.code = i / 2, .outcome = outcomes[i % 2], .sets_retry = true, .retry_us = 1};
        hora__settle settle;
        hora__rules_after(series, NULL, &claim, &end, 5, PLANNED + 5, 0, &settle);
        CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.planned == PLANNED + 10 * S);
        CHECK(settle.outcome == outcomes[i % 2] && settle.code == i / 2 && settle.gave_up == 2);
        CHECK(settle.run_us == 5 && settle.history && settle.attempt == 1);
        hora__rules_after(once, NULL, &claim, &end, 5, PLANNED + 5, 0, &settle);
        CHECK(settle.kind == HORA__SETTLE_DONE && settle.outcome == outcomes[i % 2]);
    }
    hora__definition_free(series);
    hora__definition_free(once);
}

/* ---- the first time ---- */

static void check_first(int line, const hora_durable_task *task, int64_t now, int want, int64_t due,
                        bool after_now)
{
    hora__definition *definition = make(line, task);
    int64_t got_due = -1;
    bool got_after = false;
    hora_error error;
    int result = hora__rules_first(definition, task, now, &got_due, &got_after, &error);
    if (result != want || (want == 0 && (got_due != due || got_after != after_now)))
        test_fail(__FILE__, line, "%s, due %lld, %d", hora_errname(result), (long long)got_due, got_after);
    if (result < 0)
        CHECK(strcmp(error.message, "the task has no run: its first time would be after its end, or never") ==
              0);
    hora__definition_free(definition);
}

#define FIRST(now, want, due, after_now, ...)                                                         \
    check_first(__LINE__, HORA_DURABLE_TASK(.handler = "h", .key = "k", __VA_ARGS__), now, want, due, \
                after_now)

TEST_REAL(first_times, "")
{
    FIRST(INT64_MIN, 0, 0, true, .payload = NULL);
    FIRST(INT64_MIN, 0, 2, true, .initial_delay = 1001);
    FIRST(INT64_MIN, 0, 0, true, .initial_delay = -5);
    FIRST(INT64_MIN, 0, 8, false, .at = {7001});
    FIRST(INT64_MIN, 0, 0, true, .fixed_rate = HORA_SECONDS(1));
    FIRST(INT64_MIN, 0, 0, true, .trigger = "t");
    FIRST(PLANNED + 1, 0, PLANNED + 10 * S, false, .cron = "*/10 * * * * *");
    FIRST(INT64_MIN, 0, 3, true, .cron = "*/10 * * * * *", .initial_delay = 3000);
    FIRST(INT64_MIN, 0, 3, false, .cron = "*/10 * * * * *", .at = {3000});
    FIRST(PLANNED + 1, HORA_EINVAL, 0, false, .cron = "0 0 0 30 2 *");
    FIRST(PLANNED + 1, HORA_EINVAL, 0, false, .cron = "*/10 * * * * *", .end = {(PLANNED + 9 * S) * 1000});
    FIRST(INT64_MIN, HORA_EINVAL, 0, false, .fixed_rate = HORA_SECONDS(1), .at = {8000}, .end = {7000});
    FIRST(PLANNED, HORA_EINVAL, 0, false, .fixed_rate = HORA_SECONDS(1), .initial_delay = HORA_SECONDS(2),
          .end = {(PLANNED + S) * 1000});
}

/* A trigger that does not move on must not give two firings the same time. */
static hora_ns always_same(const hora_trigger_context *context, void *arg)
{
    (void)context;
    (void)arg;
    return HORA_SECONDS(5);
}

static hora_ns never(const hora_trigger_context *context, void *arg)
{
    *(hora_trigger_context *)arg = *context;
    return HORA_NEVER;
}

TEST_REAL(triggers, "")
{
    hora__definition *definition = MAKE(.trigger = "t");
    hora__claim claim = claim_of(5 * S);
    hora__settle settle;
    hora_trigger *trigger;
    hora_trigger_context seen;
    CHECK_OK(hora_trigger_new(always_same, NULL, NULL, &trigger));
    hora__rules_after(definition, trigger, &claim, &(hora__run_end){.code = 0}, 0, 6 * S, 0, &settle);
    CHECK(settle.kind == HORA__SETTLE_ADVANCE && settle.planned == 5 * S + 1);
    (void)hora_trigger_unref(trigger);
    CHECK_OK(hora_trigger_new(never, &seen, NULL, &trigger));
    claim.firings = 4;
    hora__rules_after(definition, trigger, &claim, &(hora__run_end){.code = 0}, S, 8 * S, 0, &settle);
    CHECK_INT(settle.kind, HORA__SETTLE_DONE);
    CHECK(seen.clock == HORA_CLOCK_WALL && seen.now == HORA_SECONDS(8) &&
          seen.last_planned == HORA_SECONDS(5) && seen.last_start == HORA_SECONDS(7) &&
          seen.last_end == HORA_SECONDS(8) && seen.runs == 5);
    (void)hora_trigger_unref(trigger);
    hora__definition_free(definition);
}
