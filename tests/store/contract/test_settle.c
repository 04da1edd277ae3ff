/* SPDX-License-Identifier: Apache-2.0 */
/* test_settle.c - the contract of settlements: each kind in each situation, and what it records */
#include "contract.h"

/* ---- each kind in each situation ---- */

enum situation { PLAIN, CHANGE_DUE, CHANGE_CANCEL, PAUSED, SITUATIONS };

static const char *const situation_names[SITUATIONS] = {"plain", "change_due", "change_cancel", "paused"};

/* What becomes of a firing that was planned and due at the base time and claimed once, if it is settled with
 * planned = base + 1 h and due = base + 2 h, and change_due, if any, is base + 4 h. */
struct settle_case {
    hora__settle_kind kind;
    bool recurring;
    const char *result[SITUATIONS];
};

#define CHANGED "waiting planned 4h due 4h attempts 0"

static const struct settle_case settle_cases[] = {
    {HORA__SETTLE_DONE, false, {"gone", CHANGED " firings 1", "gone", "gone"}},
    {HORA__SETTLE_DONE, true, {"gone", CHANGED " firings 1", "gone", "gone"}},
    {HORA__SETTLE_ADVANCE,
     true,
     {"waiting planned 1h due 2h attempts 0 firings 1", CHANGED " firings 1", "gone",
      "paused planned 1h due 2h attempts 0 firings 1"}},
    {HORA__SETTLE_RETRY,
     false,
     {"waiting planned now due 2h attempts 1 firings 0", CHANGED " firings 0", "gone",
      "paused planned now due 2h attempts 1 firings 0"}},
    {HORA__SETTLE_RETRY,
     true,
     {"waiting planned now due 2h attempts 1 firings 0", CHANGED " firings 0", "gone",
      "paused planned now due 2h attempts 1 firings 0"}},
    {HORA__SETTLE_DEAD,
     false,
     {"dead planned now due now attempts 1 firings 0", CHANGED " firings 0", "gone",
      "dead planned now due now attempts 1 firings 0"}},
    {HORA__SETTLE_DEAD,
     true,
     {"dead planned now due now attempts 1 firings 0", CHANGED " firings 0", "gone",
      "dead planned now due now attempts 1 firings 0"}},
    {HORA__SETTLE_RELEASE,
     false,
     {"waiting planned now due now attempts 0 firings 0", CHANGED " firings 0", "gone",
      "paused planned now due now attempts 0 firings 0"}},
    {HORA__SETTLE_RELEASE,
     true,
     {"waiting planned now due now attempts 0 firings 0", CHANGED " firings 0", "gone",
      "paused planned now due now attempts 0 firings 0"}},
    {HORA__SETTLE_START,
     false,
     {"claimed planned now due now attempts 1 firings 1", "claimed planned now due now attempts 1 firings 1",
      "claimed planned now due now attempts 1 firings 0",
      "claimed planned now due now attempts 1 firings 1"}},
    {HORA__SETTLE_START,
     true,
     {"claimed planned 1h due 2h attempts 0 firings 1", "claimed planned now due now attempts 1 firings 1",
      "claimed planned now due now attempts 1 firings 0", "claimed planned 1h due 2h attempts 0 firings 1"}},
    {HORA__SETTLE_FORK,
     true,
     {"claimed planned now due now attempts 1 firings 0", "claimed planned now due now attempts 1 firings 0",
      "claimed planned now due now attempts 1 firings 0",
      "claimed planned now due now attempts 1 firings 0"}},
};

static void describe_time(int64_t time, int64_t base, char text[16])
{
    if (time > base - HOUR / 2 && time < base + HOUR / 2)
        snprintf(text, 16, "now");
    else
        snprintf(text, 16, "%" PRId64 "h", (time - base) / HOUR);
}

/* The form of the table above. */
static const char *describe(int64_t id, int64_t base)
{
    static const char *const states[] = {"?", "waiting", "claimed", "paused", "dead"};
    static char text[128];
    char planned[16], due[16];
    if (!see(id, &seen))
        return "gone";
    describe_time(seen.planned, base, planned);
    describe_time(seen.due, base, due);
    snprintf(text, sizeof text, "%s planned %s due %s attempts %d firings %" PRId64, states[seen.info.state],
             planned, due, seen.info.attempts, seen.info.firings);
    return text;
}

static hora__settle settle_of_kind(hora__claim claim, hora__lease node, hora__settle_kind kind, int64_t base)
{
    hora__settle settle =
        SETTLE(claim, node, DONE, .planned = base + HOUR, .due = base + 2 * HOUR, .overlap_max = 2);
    settle.kind = kind;
    return settle;
}

static void prepare_situation(enum situation situation, int64_t base)
{
    if (situation == CHANGE_DUE)
        CHECK_OK(retime_key("a", base + 4 * HOUR));
    if (situation == CHANGE_CANCEL)
        CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_RUNNING);
    if (situation == PAUSED)
        CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
}

/* Removes what a case has left, so that the next finds an empty store. */
static void clear_store(const hora__lease *node)
{
    hora__put all = PUT(.key = "a", .if_exists = HORA_IF_EXISTS_REPLACE);
    CHECK(put_result(&all) > 0);
    CHECK_OK(exchange_with(node, (hora__exchange){.resume = true}));
    size_t count = exchanged.ret_claim_count;
    hora__settle settles[8];
    hora__settled settled[8];
    for (size_t i = 0; i < count && i < 8; i++)
        settles[i] = SETTLE(exchanged.ret_claims[i], *node, DONE);
    CHECK_OK(exchange_with(
        node, (hora__exchange){.settles = settles, .settle_count = count, .ret_settled = settled}));
    while (change_key(HORA__CHANGE_CANCEL, "a") != HORA_CANCEL_TOO_LATE)
        continue;
    CHECK_INT(count_tasks(), 0);
    CHECK_INT(count_dead(), 0);
}

CONTRACT(settle_each_kind_in_each_situation)
{
    hora__lease node = join();
    for (size_t i = 0; i < sizeof settle_cases / sizeof settle_cases[0]; i++) {
        const struct settle_case *test = &settle_cases[i];
        for (enum situation situation = 0; situation < SITUATIONS; situation++) {
            int64_t base = now_us();
            put_one(test->recurring ? &RECURRING(.key = "a") : &PUT(.key = "a"));
            hora__claim claim = claim_one(&node);
            prepare_situation(situation, base);
            char what[64];
            snprintf(what, sizeof what, "kind %d, %s, %s", (int)test->kind,
                     test->recurring ? "recurring" : "one-shot", situation_names[situation]);
            contract_check_int(__FILE__, __LINE__, what,
                               settle_one(&node, settle_of_kind(claim, node, test->kind, base)),
                               HORA__SETTLED_OK);
            contract_check_text(__FILE__, __LINE__, what, describe(claim.id, base), test->result[situation]);
            clear_store(&node);
        }
    }
}

/* ---- stale settlements ---- */

static const hora__settle_kind all_kinds[] = {
    HORA__SETTLE_DONE,    HORA__SETTLE_ADVANCE, HORA__SETTLE_RETRY, HORA__SETTLE_DEAD,
    HORA__SETTLE_RELEASE, HORA__SETTLE_START,   HORA__SETTLE_FORK,
};
enum { KINDS = sizeof all_kinds / sizeof all_kinds[0] };

/* A settlement that wants to change and to record as much as it can. */
static hora__settle loud_settle(hora__claim claim, hora__lease node, hora__settle_kind kind)
{
    hora__settle settle = settle_of_kind(claim, node, kind, now_us());
    settle.outcome = HORA_RUN_FAILED;
    settle.history = true;
    settle.code = 5;
    settle.gave_up = 9;
    return settle;
}

static void check_stale(const hora__lease *lease, hora__settle settle)
{
    char *before = snapshot();
    CHECK_INT(settle_one(lease, settle), HORA__SETTLED_STALE);
    CHECK_UNCHANGED(before);
}

CONTRACT(settle_with_another_fence_is_stale)
{
    hora__lease node = join();
    put_one(&PUT(.key = "o"));
    put_one(&RECURRING(.key = "r"));
    CHECK_INT(claim_all(&node), 2);
    hora__claim claims[2] = {exchanged.ret_claims[0], exchanged.ret_claims[1]};
    for (int i = 0; i < 2 * KINDS; i++) {
        hora__settle settle = loud_settle(claims[i % 2], node, all_kinds[i / 2]);
        settle.fence = claims[i % 2].fence + 1;
        check_stale(&node, settle);
        settle.fence = claims[i % 2].fence - 1;
        check_stale(&node, settle);
    }
}

CONTRACT(settle_with_another_owner_is_stale)
{
    hora__lease node = join(), other = join();
    put_one(&PUT(.key = "o"));
    put_one(&RECURRING(.key = "r"));
    CHECK_INT(claim_all(&node), 2);
    hora__claim claims[2] = {exchanged.ret_claims[0], exchanged.ret_claims[1]};
    for (int i = 0; i < 2 * KINDS; i++) {
        hora__settle settle = loud_settle(claims[i % 2], other, all_kinds[i / 2]);
        check_stale(&other, settle);
        check_stale(&node, settle);
    }
}

CONTRACT(settle_of_an_unknown_firing_is_stale)
{
    hora__lease node = join();
    put_one(&PUT());
    hora__claim claim = claim_one(&node);
    claim.id += 1000;
    for (int i = 0; i < KINDS; i++)
        check_stale(&node, loud_settle(claim, node, all_kinds[i]));
}

CONTRACT(settle_of_what_is_not_claimed_is_stale)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim never = {.id = id, .fence = 0, .attempt = 1};
    hora__lease nobody = {.node = 0};
    for (int i = 0; i < KINDS; i++)
        check_stale(&node, loud_settle(never, nobody, all_kinds[i]));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
    for (int i = 0; i < KINDS; i++) {
        check_stale(&node, loud_settle(claim, node, all_kinds[i]));
        check_stale(&node, loud_settle(claim, nobody, all_kinds[i]));
    }
}

CONTRACT(settle_again_changes_nothing)
{
    hora__lease node = join();
    for (int i = 0; i < KINDS; i++) {
        put_one(&RECURRING(.key = "a"));
        hora__claim claim = claim_one(&node);
        hora__settle settle = loud_settle(claim, node, all_kinds[i]);
        CHECK_INT(settle_one(&node, settle), HORA__SETTLED_OK);
        char *before = snapshot();
        bool stays = settle.kind == HORA__SETTLE_START || settle.kind == HORA__SETTLE_FORK;
        CHECK_INT(settle_one(&node, settle), stays ? HORA__SETTLED_OK : HORA__SETTLED_STALE);
        CHECK_UNCHANGED(before);
        clear_store(&node);
    }
}

CONTRACT(settle_of_an_earlier_claim_is_stale)
{
    hora__lease node = join();
    for (int i = 0; i < KINDS; i++) {
        put_one(&RECURRING(.key = "a"));
        hora__claim old = claim_one(&node);
        CHECK_INT(settle_one(&node, SETTLE(old, node, RELEASE)), HORA__SETTLED_OK);
        hora__claim claim = claim_one(&node); /* by the same node */
        check_stale(&node, loud_settle(old, node, all_kinds[i]));
        CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    }
}

/* A node that has lost its lease joins again and sends its outcomes with the id of the old one. */
CONTRACT(settle_for_an_earlier_node)
{
    hora__lease old = join_shortly(), other = join();
    put_one(&PUT(.key = "a"));
    put_one(&PUT(.key = "b"));
    CHECK_INT(claim_all(&old), 2);
    hora__claim first = exchanged.ret_claims[0], second = exchanged.ret_claims[1];
    pass(SHORT_LEASE);
    CHECK_ERROR(settle_one(&old, SETTLE(first, old, DONE)), HORA_EEXPIRED);
    hora__lease again = join();
    /* no node has released it, so the outcome counts */
    CHECK_INT(settle_one(&again, SETTLE(first, old, DONE)), HORA__SETTLED_OK);
    CHECK(!see(first.id, &seen));
    int64_t released = 0;
    CHECK_OK(backend->ops->reap(backend, &other, 100, &released, &contract_error));
    CHECK_INT(released, 1);
    for (int i = 0; i < KINDS; i++)
        check_stale(&again, loud_settle(second, old, all_kinds[i]));
    hora__claim claim = claim_one(&other);
    CHECK_INT(claim.id, second.id);
    CHECK(claim.fence > second.fence);
    for (int i = 0; i < KINDS; i++) {
        check_stale(&again, loud_settle(second, old, all_kinds[i]));
        check_stale(&again, loud_settle(second, other, all_kinds[i]));
    }
    CHECK_INT(settle_one(&other, SETTLE(claim, other, DONE)), HORA__SETTLED_OK);
}

CONTRACT(settle_several_at_once)
{
    enum { COUNT = 300 };
    static hora__settle settles[COUNT];
    static hora__settled settled[COUNT];
    static hora__put puts[COUNT];
    static hora__put_done done[COUNT];
    static char keys[COUNT][16];
    size_t wrong;
    hora__lease node = join();
    int64_t base = now_us();
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "%d", i);
        puts[i] = RECURRING(.key = keys[i]);
    }
    CHECK_OK(backend->ops->put(backend, puts, COUNT, done, &wrong, &contract_error));
    CHECK_INT(claim_all(&node), COUNT);
    for (int i = 0; i < COUNT; i++) {
        /* not in the order of ids, all kinds, every fifth is stale */
        hora__claim claim = exchanged.ret_claims[i * 7 % COUNT];
        settles[i] = settle_of_kind(claim, node, all_kinds[i % KINDS], base);
        settles[i].fence += i % 5 == 0;
    }
    CHECK_OK(exchange_with(
        &node, (hora__exchange){.settles = settles, .settle_count = COUNT, .ret_settled = settled}));
    int gone = 0, forked = 0;
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(settled[i], i % 5 == 0 ? HORA__SETTLED_STALE : HORA__SETTLED_OK);
        bool counts = i % 5 != 0;
        gone += counts && (settles[i].kind == HORA__SETTLE_DONE || settles[i].kind == HORA__SETTLE_DEAD);
        forked += counts && settles[i].kind == HORA__SETTLE_FORK;
        if (i % 3 != 0) /* looking takes time */
            continue;
        if (settles[i].kind == HORA__SETTLE_ADVANCE && counts)
            CHECK_TEXT(describe(settles[i].id, base), "waiting planned 1h due 2h attempts 0 firings 1");
        if (!counts)
            CHECK_TEXT(describe(settles[i].id, base), "claimed planned now due now attempts 1 firings 0");
    }
    CHECK_INT(count_tasks(), COUNT - gone + forked);
}

CONTRACT(settle_the_same_firing_twice_in_one_exchange)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    int64_t base = now_us();
    hora__settle settles[2] = {SETTLE(claim, node, ADVANCE, .planned = base + HOUR, .due = base + HOUR),
                               SETTLE(claim, node, DONE)};
    hora__settled settled[2];
    CHECK_OK(exchange_with(&node,
                           (hora__exchange){.settles = settles, .settle_count = 2, .ret_settled = settled}));
    /* Which of the two counts is not said, but only one does. */
    CHECK_INT((settled[0] == HORA__SETTLED_OK) + (settled[1] == HORA__SETTLED_OK), 1);
    CHECK_INT((settled[0] == HORA__SETTLED_STALE) + (settled[1] == HORA__SETTLED_STALE), 1);
    CHECK_INT(count_tasks(), settled[0] == HORA__SETTLED_OK ? 1 : 0);
}

/* ---- times ---- */

CONTRACT(settle_after_now)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    pass(5 * MS);
    int64_t now = now_us();
    CHECK_INT(
        settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true, .planned = HOUR, .due = 2 * HOUR)),
        HORA__SETTLED_OK);
    CHECK_NOW(must_see(id).planned, now + HOUR);
    CHECK_NOW(must_see(id).due, now + 2 * HOUR);

    id = put_one(&PUT());
    claim = claim_one(&node);
    int64_t planned = claim.planned;
    pass(5 * MS);
    now = now_us();
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .after_now = true, .due = HOUR)),
              HORA__SETTLED_OK);
    CHECK_TIME(must_see(id).planned, planned);
    CHECK_NOW(must_see(id).due, now + HOUR);
}

CONTRACT(settle_with_a_due_in_the_past_is_due_now)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    pass(5 * MS);
    int64_t now = now_us();
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .planned = now - HOUR, .due = now - HOUR)),
              HORA__SETTLED_OK);
    CHECK_TIME(must_see(id).planned, now - HOUR);
    CHECK_NOW(must_see(id).due, now);
    claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .due = now - HOUR)), HORA__SETTLED_OK);
    CHECK_NOW(must_see(id).due, now);
    CHECK_INT(claim_all(&node), 1);
}

CONTRACT(settle_release_keeps_a_due_in_the_future)
{
    hora__lease node = join();
    int64_t later = now_us() + HOUR;
    int64_t id = put_one(&PUT(AT(later)));
    CHECK_INT(claim_within(&node, 9, 2 * HOUR), 1);
    CHECK_INT(settle_one(&node, SETTLE(exchanged.ret_claims[0], node, RELEASE)), HORA__SETTLED_OK);
    CHECK_TIME(must_see(id).due, later);
    CHECK_INT(must_see(id).info.attempts, 0);
}

CONTRACT(settle_release_of_what_has_passed_is_due_now)
{
    NEEDS_CLOCK;
    hora__lease node = join();
    int64_t id = put_one(&PUT());
    int64_t planned = now_us();
    hora__claim claim = claim_one(&node);
    pass(SECOND);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
    CHECK_TIME(must_see(id).due, planned + SECOND);
    CHECK_TIME(must_see(id).planned, planned);
}

CONTRACT(settle_change_due_that_has_passed_is_due_now)
{
    NEEDS_CLOCK;
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    int64_t now = now_us();
    CHECK_OK(retime_key("a", now - HOUR)); /* a time in the past means now */
    pass(SECOND);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_TIME(must_see(id).planned, now + SECOND); /* what was planned before has run */
    CHECK_TIME(must_see(id).due, now + SECOND);
    CHECK_INT(claim_one(&node).attempt, 1);
}

CONTRACT(settle_change_due_once)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a")), base = now_us();
    hora__claim claim = claim_one(&node);
    CHECK_OK(retime_key("a", base));
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    claim = claim_one(&node); /* the change is used up */
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .planned = base + HOUR, .due = base + 2 * HOUR)),
              HORA__SETTLED_OK);
    CHECK_TEXT(describe(id, base), "waiting planned 1h due 2h attempts 0 firings 2");
}

CONTRACT(settle_the_latest_change_due_counts)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a")), base = now_us();
    hora__claim claim = claim_one(&node);
    CHECK_OK(retime_key("a", base + 7 * HOUR));
    CHECK_OK(retime_key("a", base + 4 * HOUR));
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_TEXT(describe(id, base), CHANGED " firings 1");
}

CONTRACT(settle_cancel_wins_over_retime)
{
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_OK(retime_key("a", now_us() + HOUR));
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_RUNNING);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .due = now_us() + HOUR)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 0);
}

/* ---- replaced while it runs ---- */

CONTRACT(settle_what_was_replaced)
{
    hora__lease node = join();
    int64_t base = now_us();
    for (int i = 0; i < 4; i++) {
        int64_t id = put_one(&PUT(.key = "a", .payload = {"old", 3}));
        hora__claim claim = claim_one(&node);
        CHECK_INT(put_replace(&PUT(.key = "a", .handler = "g", .payload = {"new", 3}, AT(base + 4 * HOUR))),
                  id);
        CHECK_INT(must_see(id).info.state, HORA_DURABLE_CLAIMED);
        CHECK(claim.payload.size == 3 && memcmp(claim.payload.data, "old", 3) == 0);
        static const hora__settle_kind kinds[] = {HORA__SETTLE_DONE, HORA__SETTLE_RETRY, HORA__SETTLE_DEAD,
                                                  HORA__SETTLE_RELEASE};
        CHECK_INT(settle_one(&node, settle_of_kind(claim, node, kinds[i], base)), HORA__SETTLED_OK);
        CHECK_TEXT(describe(id, base), CHANGED " firings 0"); /* of the new task */
        CHECK_TEXT(must_see(id).payload, "new");
        CHECK_TEXT(must_see(id).handler, "g");
        CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    }
}

CONTRACT(settle_one_shot_replaced_by_recurring)
{
    hora__lease node = join();
    int64_t base = now_us();
    int64_t id = put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    put_replace(&RECURRING(.key = "a", .payload = {"new", 3}, AT(base + 4 * HOUR)));
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK(must_see(id).info.recurring);
    CHECK_TIME(must_see(id).due, base + 4 * HOUR);
}

CONTRACT(settle_recurring_replaced_with_an_equal_definition)
{
    hora__lease node = join();
    int64_t base = now_us();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    put_replace(&RECURRING(.key = "a", .same_time = true, AT(base + 4 * HOUR)));
    CHECK_INT(settle_one(&node, settle_of_kind(claim, node, HORA__SETTLE_ADVANCE, base)), HORA__SETTLED_OK);
    CHECK_TEXT(describe(id, base), "waiting planned 1h due 2h attempts 0 firings 1");
    claim = (claim_within(&node, 1, 3 * HOUR), exchanged.ret_claims[0]);
    hora__put other = RECURRING(.key = "a", .same_time = true, AT(base + 4 * HOUR));
    other.definition = "rate 5";
    put_replace(&other);
    CHECK_INT(settle_one(&node, settle_of_kind(claim, node, HORA__SETTLE_ADVANCE, base)), HORA__SETTLED_OK);
    CHECK_TEXT(describe(id, base), CHANGED " firings 0");
}

/* ---- the run ---- */

CONTRACT(settle_writes_the_outcome_into_the_row)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    static const struct {
        hora_run_outcome outcome;
        bool ran;
    } cases[] = {{HORA_RUN_SUCCEEDED, true}, {HORA_RUN_FAILED, true},     {HORA_RUN_GAVE_UP, true},
                 {HORA_RUN_SKIPPED, false},  {HORA_RUN_SKIPPED, true},    {HORA_RUN_LOST, false},
                 {HORA_RUN_STOPPED, true},   {(hora_run_outcome)0, false}};
    int64_t success = 0, end = 0;
    int code = 0;
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        hora__claim claim = claim_one(&node);
        CHECK_INT(claim.last_end * 1000, end);
        pass(2 * MS);
        int64_t now = now_us();
        CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true,
                                           .outcome = cases[i].outcome, .code = 10 + i, .gave_up = i,
                                           .run_us = cases[i].outcome == HORA_RUN_SKIPPED && !cases[i].ran
                                                         ? HORA__NO_RUN
                                                         : 1 * MS)),
                  HORA__SETTLED_OK);
        struct seen_task task = must_see(id);
        if (cases[i].ran) {
            CHECK_NOW(task.info.last_end.ns / 1000, now);
            end = task.info.last_end.ns;
            code = 10 + i;
        }
        if (i == 0) {
            CHECK_NOW(task.info.last_success.ns / 1000, now);
            success = task.info.last_success.ns;
        }
        CHECK_INT(task.info.last_end.ns, end);
        CHECK_INT(task.info.last_code, code);
        CHECK_INT(task.info.last_success.ns, success);
        CHECK_INT(task.info.failures_in_a_row, i);
        CHECK_INT(task.info.firings, i + 1);
    }
}

CONTRACT(settle_release_keeps_what_the_row_knows)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true, .outcome = HORA_RUN_GAVE_UP,
                                       .code = 3, .gave_up = 2)),
              HORA__SETTLED_OK);
    claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.failures_in_a_row, 2);
    CHECK_INT(must_see(id).info.last_code, 3);
}

CONTRACT(settle_records_the_run)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    pass(5 * MS);
    int64_t now = now_us();
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED, .history = true,
                                       .run_us = 3 * MS, .note = {"well done", 9})),
              HORA__SETTLED_OK);
    if (!CHECK_INT(read_history((hora_history_filter){0}), 1))
        return;
    CHECK_INT(records[0].record.struct_size, sizeof(hora_run_record));
    CHECK(records[0].record.id > 0);
    CHECK_INT(records[0].record.task_id, id);
    CHECK_TEXT(records[0].handler, "h");
    CHECK_TEXT(records[0].key, "a");
    CHECK_INT(records[0].record.outcome, HORA_RUN_SUCCEEDED);
    CHECK_INT(records[0].record.code, 0);
    CHECK_TIME(records[0].planned, claim.planned);
    CHECK_NOW(records[0].ended, now);
    CHECK_TIME(records[0].started, records[0].ended - 3 * MS);
    CHECK_INT(records[0].record.attempt, 1);
    CHECK_INT(records[0].record.fence, claim.fence);
    CHECK_INT(records[0].record.node, node.node);
    CHECK_INT(records[0].record.note_size, 9);
    CHECK(memcmp(records[0].note, "well done", 9) == 0);
}

/* A firing that the handler skipped has a record like any run; one that was skipped without a run has no
 * start. */
CONTRACT(settle_records_each_kind_and_outcome)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    static const struct {
        hora__settle_kind kind;
        hora_run_outcome outcome;
        int64_t run_us;
    } cases[] = {{HORA__SETTLE_RETRY, HORA_RUN_FAILED, 1},
                 {HORA__SETTLE_ADVANCE, HORA_RUN_SUCCEEDED, 1},
                 {HORA__SETTLE_ADVANCE, HORA_RUN_SKIPPED, HORA__NO_RUN},
                 {HORA__SETTLE_ADVANCE, HORA_RUN_SKIPPED, 0},
                 {HORA__SETTLE_ADVANCE, HORA_RUN_STOPPED, 1},
                 {HORA__SETTLE_DEAD, HORA_RUN_GAVE_UP, 1}};
    enum { COUNT = sizeof cases / sizeof *cases };
    int64_t fences[COUNT];
    for (int i = 0; i < COUNT; i++) {
        hora__claim claim = claim_one(&node);
        hora__settle settle = SETTLE(claim, node, DONE, .after_now = true, .outcome = cases[i].outcome,
                                     .code = -i, .history = true, .run_us = cases[i].run_us, .skipped = i);
        settle.kind = cases[i].kind;
        if (i == 3)
            settle.note = (hora__bytes){"holiday", 7};
        fences[i] = claim.fence;
        CHECK_INT(settle_one(&node, settle), HORA__SETTLED_OK);
    }
    CHECK_INT(read_history((hora_history_filter){0}), COUNT);
    for (int i = 0; i < COUNT; i++) {
        const struct seen_record *record = &records[COUNT - 1 - i]; /* the latest is first */
        CHECK_INT(record->record.outcome, cases[i].outcome);
        CHECK_INT(record->record.code, -i);
        CHECK_INT(record->record.skipped, i);
        CHECK_INT(record->record.attempt, i == 1 ? 2 : 1);
        CHECK_INT(record->record.fence, fences[i]);
        CHECK_INT(record->record.started.ns == 0, cases[i].run_us < 0);
        CHECK_INT(record->has_note, i == 3);
        if (i > 0)
            CHECK(record->record.id > records[COUNT - i].record.id);
    }
}

CONTRACT(settle_without_history_or_outcome_records_nothing)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a", .history = true));
    hora__claim claim = claim_one(&node);
    CHECK_INT(
        settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true, .outcome = HORA_RUN_SUCCEEDED)),
        HORA__SETTLED_OK);
    claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE, .history = true)), HORA__SETTLED_OK);
    CHECK_INT(read_history((hora_history_filter){0}), 0);
}

CONTRACT(settle_of_a_cancelled_firing_records_its_run)
{
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_RUNNING);
    CHECK_INT(
        settle_one(&node, SETTLE(claim, node, RETRY, .outcome = HORA_RUN_FAILED, .code = 5, .history = true)),
        HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 0);
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 1);
    CHECK_INT(records[0].record.code, 5);
}

CONTRACT(settle_note_of_64_kb)
{
    static char note[65536];
    memset(note, 'n', sizeof note);
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED, .history = true,
                                       .note = {note, sizeof note})),
              HORA__SETTLED_OK);
    CHECK_INT(read_history((hora_history_filter){0}), 1);
    CHECK_INT(records[0].record.note_size, sizeof note);
}

CONTRACT(settle_survives_closing)
{
    NEEDS_SHARED;
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    put_one(&PUT(.key = "b"));
    put_one(&RECURRING(.key = "r"));
    CHECK_INT(claim_all(&node), 3);
    hora__claim claims[3];
    memcpy(claims, exchanged.ret_claims, sizeof claims);
    CHECK_INT(
        settle_one(&node, SETTLE(claims[0], node, DONE, .outcome = HORA_RUN_SUCCEEDED, .history = true)),
        HORA__SETTLED_OK);
    CHECK_INT(settle_one(&node, SETTLE(claims[1], node, DEAD, .outcome = HORA_RUN_GAVE_UP, .history = true)),
              HORA__SETTLED_OK);
    CHECK_INT(settle_one(&node, SETTLE(claims[2], node, ADVANCE, .after_now = true, .due = HOUR)),
              HORA__SETTLED_OK);
    char *before = snapshot();
    reopen();
    CHECK_UNCHANGED(before);
}

/* ---- handing back ---- */

/* What a handler hands back has not used an attempt, and the next claim of the planned time says so. */
CONTRACT(settle_release_by_a_handler)
{
    hora__lease node = join();
    for (int i = 0; i < 2; i++) {
        put_one(i == 0 ? &PUT(.key = "a", .history = true) : &RECURRING(.key = "a", .history = true));
        hora__claim claim = claim_one(&node);
        CHECK(!claim.handed_back);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE, .ran_planned = 0)), HORA__SETTLED_OK);
        claim = claim_one(&node);
        CHECK_INT(claim.attempt, 1);
        CHECK(!claim.handed_back); /* by the node itself */
        int64_t planned = claim.planned, fence = claim.fence;
        CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
        for (int k = 0; k < 2; k++) {
            claim = claim_one(&node);
            CHECK_INT(claim.attempt, 1);
            CHECK(claim.handed_back);
            CHECK_TIME(claim.planned, planned);
            CHECK(claim.fence > fence);
            CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE, .ran_planned = 0)), HORA__SETTLED_OK);
        }
        CHECK_INT(read_history((hora_history_filter){.key = "a"}), 0);
        claim = claim_one(&node);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .due = now_us())), HORA__SETTLED_OK);
        claim = claim_one(&node);
        CHECK_INT(claim.attempt, 2);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
        claim = claim_one(&node);
        CHECK_INT(claim.attempt, 2); /* the first one had begun */
        CHECK_INT(settle_one(&node, i == 0 ? SETTLE(claim, node, DONE)
                                           : SETTLE(claim, node, ADVANCE, .planned = planned + SECOND,
                                                    .due = planned + SECOND)),
                  HORA__SETTLED_OK);
    }
    CHECK_INT(claim_within(&node, 10, HOUR), 1);
    CHECK(!exchanged.ret_claims[0].handed_back); /* another planned time */
}

CONTRACT(settle_handed_back_survives_closing)
{
    NEEDS_SHARED;
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
    reopen();
    CHECK(claim_one(&node).handed_back);
}
