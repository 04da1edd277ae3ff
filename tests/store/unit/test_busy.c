/* SPDX-License-Identifier: Apache-2.0 */
/* test_busy.c - planned times that come while a run is in progress: the rule `busy`
 *
 * The main test compares whole histories of a task with an oracle. The oracle goes from minute to minute. It
 * keeps the planned times that have come and neither started nor were left out, and knows nothing of
 * settlements: it only asks, at each minute, what has come, what ends and what starts. The rules are driven
 * as a node drives them. Random numbers decide the schedule, how long runs take, and how long threads let a
 * firing wait before they start it. */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "rules.h"
#include "units.h"

enum { HISTORIES = 4000, MINUTES = 600, MAX_STARTS = 1000 };

#define MINUTE INT64_C(60000000)
#define BASE   (INT64_C(1767225600) * 1000000) /* 2026-01-01T00:00:00Z */

/* ---- histories ---- */

typedef struct start {
    int64_t planned, at; /* minutes */
} start;

typedef struct history {
    start starts[MAX_STARTS];
    int count;
    int64_t skipped;
} history;

/* The task of a history, and what happens to it. Times are in minutes; missed_after and grace are half a
 * minute longer than they say, so that it does not matter whether a limit is included. */
typedef struct script {
    hora__kind kind;
    int64_t period, end;
    hora_busy busy;
    int busy_max;
    hora_missed missed;
    int missed_max;
    int64_t missed_after, grace; /* grace -1: none */
    const char *cron;
    int length[MAX_STARTS], delay[MAX_STARTS]; /* of the i-th start */
} script;

static uint64_t random_state;

static int pick(int below)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = random_state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (int)((x ^ x >> 31) % (uint64_t)below);
}

static void make_script(script *own)
{
    static const char *const expressions[] = {"0 */5 * * * *", "0 0-40/7 * * * *", "0 3,4,5,30 * * * *"};
    static const hora__kind kinds[] = {HORA__KIND_RATE, HORA__KIND_CRON, HORA__KIND_TRIGGER};
    *own = (script){.kind = kinds[pick(3)],
                    .period = pick(12) + 1,
                    .end = pick(3) == 0 ? pick(MINUTES) + 60 : INT64_MAX,
                    .busy = (hora_busy)pick(3),
                    .missed = (hora_missed)pick(4),
                    .missed_after = pick(2) == 0 ? 0 : pick(20),
                    .grace = pick(4) == 0 ? pick(30) : -1,
                    .cron = expressions[pick(3)]};
    own->busy_max = own->busy == HORA_BUSY_QUEUE ? pick(5) + 1 : 0;
    own->missed_max = own->missed == HORA_MISSED_AT_MOST ? pick(4) + 1 : 0;
    int longest = pick(2) == 0 ? 4 : 40, slowest = pick(2) == 0 ? 1 : 15;
    for (int i = 0; i < MAX_STARTS; i++) {
        own->length[i] = pick(4) == 0 ? pick(longest) : pick(3);
        own->delay[i] = pick(5) == 0 ? pick(slowest) : 0;
    }
}

/* ---- the oracle ---- */

typedef struct oracle {
    const script *script;
    const hora_cron *cron;
    history *history;
    int64_t pending[MINUTES + 1]; /* planned times that wait, the earliest first */
    int count;
    bool runs, lenient; /* lenient: times have waited since before the run, and not because of a run */
    int64_t run_end, last_end, try_at;
} oracle;

static bool is_planned(const oracle *own, int64_t minute)
{
    if (minute > own->script->end)
        return false;
    if (own->script->kind == HORA__KIND_CRON)
        return hora_cron_matches(own->cron, NULL, (hora_instant){(BASE + minute * MINUTE) * 1000});
    return minute % own->script->period == 0;
}

static void drop(oracle *own, int count)
{
    memmove(own->pending, own->pending + count, (size_t)(own->count - count) * sizeof own->pending[0]);
    own->count -= count;
    own->history->skipped += count;
}

/* Whether a time has waited too long, not counting the wait for a run if that queues. */
static bool is_missed(const oracle *own, int64_t planned, int64_t minute)
{
    int64_t since = planned;
    if (own->script->busy == HORA_BUSY_QUEUE && own->last_end > since)
        since = own->last_end;
    return minute - since > own->script->missed_after;
}

/* What the policies leave out when a thread is ready to start the earliest time. */
static int left_out(const oracle *own, int64_t minute)
{
    const script *rules = own->script;
    int count = 0;
    if (is_missed(own, own->pending[0], minute)) {
        if (rules->missed == HORA_MISSED_ONCE)
            count = own->count - 1;
        if (rules->missed == HORA_MISSED_SKIP)
            count = own->count;
        if (rules->missed == HORA_MISSED_AT_MOST && own->count > rules->missed_max)
            count = own->count - rules->missed_max;
    }
    while (rules->grace >= 0 && count < own->count && minute - own->pending[count] > rules->grace)
        count++;
    return count;
}

static void try_start(oracle *own, int64_t minute)
{
    for (int count; own->count > 0 && (count = left_out(own, minute)) > 0;)
        drop(own, count);
    own->try_at = -1;
    if (own->count == 0)
        return;
    own->history->starts[own->history->count] = (start){own->pending[0], minute};
    memmove(own->pending, own->pending + 1, (size_t)--own->count * sizeof own->pending[0]);
    own->runs = true;
    own->run_end = minute + own->script->length[own->history->count];
    own->lenient =
        own->count > 0 && (own->script->busy != HORA_BUSY_QUEUE || is_missed(own, own->pending[0], minute));
    own->history->count++;
}

static void end_run(oracle *own, int64_t minute)
{
    const script *rules = own->script;
    if (rules->busy == HORA_BUSY_QUEUE && !own->lenient && own->count > rules->busy_max)
        drop(own, own->count - rules->busy_max);
    own->runs = false;
    own->last_end = minute;
}

static void run_oracle(const script *rules, const hora_cron *cron, history *ret_history)
{
    static oracle own;
    own = (oracle){.script = rules, .cron = cron, .history = ret_history, .last_end = -1, .try_at = -1};
    ret_history->count = 0;
    ret_history->skipped = 0;
    for (int64_t minute = 0; minute < MINUTES; minute++) {
        if (is_planned(&own, minute) && own.runs && rules->busy == HORA_BUSY_SKIP && !own.lenient)
            ret_history->skipped++;
        else if (is_planned(&own, minute))
            own.pending[own.count++] = minute;
        for (bool again = true; again && ret_history->count < MAX_STARTS;) {
            again = own.runs && own.run_end == minute;
            if (again)
                end_run(&own, minute);
            if (!own.runs && own.count > 0 && own.try_at < 0)
                own.try_at = minute + rules->delay[ret_history->count];
            if (!own.runs && own.try_at == minute) {
                try_start(&own, minute);
                again = own.runs;
            }
        }
    }
}

/* ---- the rules, driven as a node does ---- */

static hora__definition *make_definition(const script *rules)
{
    hora_durable_task task = HORA_INIT(hora_durable_task);
    task.handler = "h";
    task.key = "k";
    task.fixed_rate = rules->kind == HORA__KIND_RATE ? HORA_MINUTES(rules->period) : 0;
    task.cron = rules->kind == HORA__KIND_CRON ? rules->cron : NULL;
    task.trigger = rules->kind == HORA__KIND_TRIGGER ? "t" : NULL;
    if (rules->end != INT64_MAX)
        task.end = (hora_instant){(BASE + rules->end * MINUTE) * 1000};
    task.busy = rules->busy;
    task.busy_max = rules->busy_max;
    task.missed = rules->missed;
    task.missed_max = rules->missed_max;
    if (rules->missed != HORA_MISSED_BURST)
        task.missed_after = HORA_MINUTES(rules->missed_after) + HORA_SECONDS(30);
    if (rules->grace >= 0)
        task.grace = HORA_MINUTES(rules->grace) + HORA_SECONDS(30);
    hora__definition *definition = NULL;
    hora_error error;
    if (hora__definition_new(&task, &definition, &error) < 0)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    if (definition != NULL)
        definition->missed_after_us = rules->missed_after * MINUTE + MINUTE / 2; /* also with a burst */
    return definition;
}

static hora_ns next_period(const hora_trigger_context *context, void *arg)
{
    return context->last_planned + HORA_MINUTES(((const script *)arg)->period);
}

static void run_rules(const script *rules, const hora__definition *definition, const hora_trigger *trigger,
                      int64_t first, history *ret_history)
{
    hora__claim claim = {.id = 7, .planned = first, .due = first, .attempt = 1};
    int64_t now = BASE;
    ret_history->count = 0;
    ret_history->skipped = 0;
    while (ret_history->count < MAX_STARTS) {
        hora__settle settle = {.id = 0};
        int index = ret_history->count;
        now = claim.due + rules->delay[index] * MINUTE;
        hora__before what;
        while ((what = hora__rules_before(definition, trigger, &claim, now, &settle)) == HORA__BEFORE_SKIP &&
               settle.kind == HORA__SETTLE_ADVANCE && now < BASE + MINUTES * MINUTE) {
            ret_history->skipped += settle.skipped;
            claim.planned = settle.planned;
            claim.due = settle.due > now ? settle.due : now;
            if (claim.due > now)
                now = claim.due + rules->delay[index] * MINUTE;
        }
        if (what == HORA__BEFORE_SKIP) {
            ret_history->skipped += settle.skipped;
            return;
        }
        ret_history->starts[ret_history->count++] =
            (start){(claim.planned - BASE) / MINUTE, (now - BASE) / MINUTE};
        int64_t length = rules->length[index] * MINUTE;
        now += length;
        if (now >= BASE + MINUTES * MINUTE)
            return;
        hora__rules_after(definition, trigger, &claim, &(hora__run_end){.code = 0}, length, now, 0, &settle);
        ret_history->skipped += settle.skipped;
        if (settle.kind != HORA__SETTLE_ADVANCE)
            return;
        claim.planned = settle.planned;
        claim.due = settle.due > now ? settle.due : now;
        claim.last_end = now;
        claim.firings++;
    }
}

/* ---- the comparison ---- */

/* Histories are compared up to the first start after the end of the oracle's time. Returns false if they
 * differ. What is skipped is compared only if the task has ended before, because the rules look ahead. */
static bool compare(const script *rules, const history *got, const history *want)
{
    int count = 0;
    while (count < got->count && got->starts[count].at < MINUTES)
        count++;
    if (count != want->count) {
        test_fail(__FILE__, __LINE__, "%d starts, not %d", count, want->count);
        return false;
    }
    for (int i = 0; i < count; i++)
        if (got->starts[i].planned != want->starts[i].planned || got->starts[i].at != want->starts[i].at) {
            test_fail(__FILE__, __LINE__, "start %d: %lld at %lld, not %lld at %lld", i,
                      (long long)got->starts[i].planned, (long long)got->starts[i].at,
                      (long long)want->starts[i].planned, (long long)want->starts[i].at);
            return false;
        }
    if (rules->end < MINUTES - 200 && got->skipped != want->skipped) {
        test_fail(__FILE__, __LINE__, "%lld skipped, not %lld", (long long)got->skipped,
                  (long long)want->skipped);
        return false;
    }
    return true;
}

static int64_t first_time(const script *rules, const hora__definition *definition)
{
    hora_instant next = {BASE * 1000};
    if (rules->kind == HORA__KIND_CRON)
        CHECK_INT(hora_cron_next(definition->cron, NULL, (hora_instant){BASE * 1000 - 1}, &next), 1);
    return next.ns / 1000;
}

TEST_REAL(histories_are_those_of_the_oracle, "")
{
    static script rules;
    static history got, want;
    int64_t starts = 0, skipped = 0;
    for (int i = 0; i < HISTORIES; i++) {
        random_state = (uint64_t)i * 1000;
        make_script(&rules);
        hora__definition *definition = make_definition(&rules);
        hora_trigger *trigger;
        CHECK_OK(hora_trigger_new(next_period, &rules, NULL, &trigger));
        run_oracle(&rules, definition->cron, &want);
        run_rules(&rules, definition, trigger, first_time(&rules, definition), &got);
        bool same = compare(&rules, &got, &want);
        (void)hora_trigger_unref(trigger);
        hora__definition_free(definition);
        if (!same) {
            printf("history %d: kind %d, period %lld, end %lld, busy %d %d, missed %d %d after %lld, grace "
                   "%lld\n",
                   i, (int)rules.kind, (long long)rules.period, (long long)rules.end, (int)rules.busy,
                   rules.busy_max, (int)rules.missed, rules.missed_max, (long long)rules.missed_after,
                   (long long)rules.grace);
            return;
        }
        starts += want.count;
        skipped += want.skipped;
    }
    CHECK(starts > 100 * HISTORIES / 10 && skipped > HISTORIES);
}

/* ---- single cases ---- */

static hora__settle settle_of(const hora_durable_task *task, int64_t start_s, int64_t end_s)
{
    hora__definition *definition;
    hora_error error;
    hora__settle settle = {.id = 0};
    if (hora__definition_new(task, &definition, &error) < 0) {
        test_fail(__FILE__, __LINE__, "%s", error.message);
        return settle;
    }
    hora__claim claim = {.id = 7, .planned = BASE, .due = BASE, .attempt = 1, .gave_up = 1};
    int64_t second = 1000000;
    hora__rules_after(definition, NULL, &claim, &(hora__run_end){.code = 0}, (end_s - start_s) * second,
                      BASE + end_s * second, 0, &settle);
    settle.planned = (settle.planned - BASE) / second;
    hora__definition_free(definition);
    return settle;
}

#define RATE(...) HORA_DURABLE_TASK(.handler = "h", .key = "k", .fixed_rate = HORA_SECONDS(10), __VA_ARGS__)
#define CRON(...) HORA_DURABLE_TASK(.handler = "h", .key = "k", .cron = "* * * * * *", __VA_ARGS__)

static void check_case(int line, const hora_durable_task *task, int64_t start_s, int64_t end_s,
                       int64_t planned, int64_t skipped)
{
    hora__settle settle = settle_of(task, start_s, end_s);
    if (settle.kind != HORA__SETTLE_ADVANCE || settle.planned != planned || settle.skipped != skipped)
        test_fail(__FILE__, line, "kind %d, planned %lld, skipped %lld", (int)settle.kind,
                  (long long)settle.planned, (long long)settle.skipped);
}

#define CASE(...) check_case(__LINE__, __VA_ARGS__)

TEST_REAL(limits_of_the_run, "")
{
    CASE(RATE(.busy = HORA_BUSY_SKIP), 0, 9, 10, 0);
    CASE(RATE(.busy = HORA_BUSY_SKIP), 0, 10, 20, 1);
    CASE(RATE(.busy = HORA_BUSY_SKIP), 9, 10, 20, 1);
    CASE(RATE(.busy = HORA_BUSY_SKIP), 10, 11, 10, 0); /* it came before the run */
    CASE(RATE(.busy = HORA_BUSY_SKIP), 10, 55, 10, 0);
    CASE(RATE(.busy = HORA_BUSY_SKIP), 0, 55, 60, 5);
    CASE(RATE(.busy = HORA_BUSY_MISSED), 0, 55, 10, 0);
    CASE(RATE(.busy = HORA_BUSY_QUEUE, .busy_max = 1), 0, 9, 10, 0);
    CASE(RATE(.busy = HORA_BUSY_QUEUE, .busy_max = 1), 0, 10, 10, 0);
    CASE(RATE(.busy = HORA_BUSY_QUEUE, .busy_max = 1), 0, 55, 50, 4);
    CASE(RATE(.busy = HORA_BUSY_QUEUE, .busy_max = 3), 0, 55, 30, 2);
    CASE(RATE(.busy = HORA_BUSY_QUEUE, .busy_max = 5), 0, 55, 10, 0);
    CASE(RATE(.busy = HORA_BUSY_QUEUE, .busy_max = 1000), 0, 55, 10, 0);
    CASE(RATE(.busy = HORA_BUSY_QUEUE, .busy_max = 1), 10, 55, 50, 4); /* it was not missed when it started */
    CASE(RATE(.busy = HORA_BUSY_QUEUE, .busy_max = 1), 12, 55, 10, 0); /* it was */
}

/* More times than are counted: the next time is right all the same. */
TEST_REAL(more_times_than_are_counted, "")
{
    CASE(CRON(.busy = HORA_BUSY_SKIP), 0, 25000, 25001, 10000);
    CASE(CRON(.busy = HORA_BUSY_QUEUE, .busy_max = 3), 0, 25000, 24998, 9997);
    CASE(CRON(.busy = HORA_BUSY_QUEUE, .busy_max = 1000), 0, 25000, 24001, 9000);
    CASE(CRON(.busy = HORA_BUSY_QUEUE, .busy_max = 1000), 0, 1000, 1, 0);
}

TEST_REAL(the_series_ends_during_the_run, "")
{
    hora_instant end = {(BASE + INT64_C(30000000)) * 1000};
    hora__settle settle = settle_of(RATE(.busy = HORA_BUSY_SKIP, .end = end), 0, 55);
    CHECK(settle.kind == HORA__SETTLE_DONE && settle.skipped == 3 && settle.outcome == HORA_RUN_SUCCEEDED);
    CASE(RATE(.busy = HORA_BUSY_QUEUE, .busy_max = 2, .end = end), 0, 55, 20, 1);
}
