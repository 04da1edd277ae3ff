/* SPDX-License-Identifier: Apache-2.0 */
/* test_start.c - the contract of START and FORK: settlements before the run */
#include "contract.h"

/* A fork that plans the next firing an hour after `base`. */
static int fork_claim(const hora__lease *node, hora__claim claim, int64_t base, int overlap_max)
{
    return settle_one(node, SETTLE(claim, *node, FORK, .planned = base + HOUR, .due = base + HOUR,
                                   .overlap_max = overlap_max));
}

/* A fork whose next firing is due at once. */
static int fork_now(const hora__lease *node, hora__claim claim, int overlap_max)
{
    return settle_one(node, SETTLE(claim, *node, FORK, .after_now = true, .overlap_max = overlap_max));
}

/* ---- START ---- */

CONTRACT(start_of_a_one_shot_keeps_it_claimed)
{
    hora__lease node = join(), other = join();
    int64_t id = put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START)), HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_CLAIMED);
    CHECK_INT(must_see(id).info.attempts, 1);
    CHECK_TIME(must_see(id).planned, claim.planned);
    char *before = snapshot();
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START)), HORA__SETTLED_OK);
    CHECK_UNCHANGED(before);
    CHECK_INT(claim_within(&other, 9, HOUR), 0);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_RUNNING);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED, .history = true)),
              HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 0);
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 1);
}

/* At most once: what was started is not started again. */
CONTRACT(start_then_release_ends_a_one_shot)
{
    for (int i = 0; i < 2; i++) {
        hora__lease node = join(), other = join();
        put_one(&PUT(.key = "a"));
        hora__claim claim = claim_one(&node);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, START)), HORA__SETTLED_OK);
        if (i == 0)
            CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
        else
            CHECK_OK(backend->ops->leave(backend, &node, &contract_error));
        CHECK_INT(count_tasks(), 0);
        CHECK_INT(claim_all(&other), 0);
    }
}

/* The time may be set before START or after it. The second run waits for the end of the first. */
CONTRACT(start_and_retime_of_a_one_shot)
{
    hora__lease node = join(), other = join();
    for (int i = 0; i < 4; i++) {
        bool after = i % 2 == 1, ends = i < 2;
        int64_t id = put_one(&PUT(.key = "a")), base = now_us();
        hora__claim claim = claim_one(&node);
        if (!after)
            CHECK_OK(retime_key("a", base));
        CHECK_INT(settle_one(&node, SETTLE(claim, node, START)), HORA__SETTLED_OK);
        if (after)
            CHECK_OK(retime_key("a", base));
        CHECK_INT(claim_within(&other, 9, HOUR), 0);
        hora__settle settle = SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED);
        if (!ends)
            settle = SETTLE(claim, node, RELEASE);
        CHECK_INT(settle_one(&node, settle), HORA__SETTLED_OK);
        CHECK_INT(must_see(id).info.state, HORA_DURABLE_WAITING);
        CHECK_INT(must_see(id).info.firings, 1);
        hora__claim again = claim_one(&other);
        CHECK_INT(again.id, id);
        CHECK(again.fence > claim.fence);
        CHECK_INT(again.attempt, 1);
        CHECK_INT(settle_one(&other, SETTLE(again, other, DONE)), HORA__SETTLED_OK);
        CHECK_INT(count_tasks(), 0);
    }
}

/* The node sends what the task was when it claimed it. */
CONTRACT(start_of_a_one_shot_that_was_replaced_by_a_series)
{
    hora__lease node = join(), other = join();
    int64_t id = put_one(&PUT(.key = "a")), base = now_us();
    hora__claim claim = claim_one(&node);
    put_replace(&RECURRING(.key = "a", AT(base + HOUR)));
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START)), HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_CLAIMED);
    CHECK_TIME(must_see(id).planned, claim.planned);
    CHECK_INT(claim_within(&other, 9, 2 * HOUR), 0);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED)), HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_WAITING);
    CHECK(must_see(id).info.recurring);
    CHECK_TIME(must_see(id).due, base + HOUR);
    CHECK_TIME(must_see(id).planned, base + HOUR);
}

CONTRACT(start_of_a_series_that_was_replaced_by_a_one_shot)
{
    hora__lease node = join(), other = join();
    for (int i = 0; i < 3; i++) {
        int64_t id = put_one(&RECURRING(.key = "a")), base = now_us();
        hora__claim claim = claim_one(&node);
        put_replace(&PUT(.key = "a", AT(base + HOUR)));
        CHECK_INT(
            settle_one(&node, SETTLE(claim, node, START, .planned = base + 3 * HOUR, .due = base + 3 * HOUR)),
            HORA__SETTLED_OK);
        CHECK_INT(claim_within(&other, 9, 9 * HOUR), 0);
        hora__settle settle =
            SETTLE(claim, node, ADVANCE, .planned = base + 4 * HOUR, .due = base + 4 * HOUR);
        if (i == 1)
            settle = SETTLE(claim, node, DONE);
        if (i == 2)
            settle = SETTLE(claim, node, RELEASE);
        CHECK_INT(settle_one(&node, settle), HORA__SETTLED_OK);
        CHECK_INT(must_see(id).info.state, HORA_DURABLE_WAITING);
        CHECK(!must_see(id).info.recurring);
        CHECK_TIME(must_see(id).due, base + HOUR);
        CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    }
}

CONTRACT(start_of_a_series_keeps_it_claimed)
{
    hora__lease node = join(), other = join();
    int64_t id = put_one(&RECURRING(.key = "a")), base = now_us();
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START, .planned = base + HOUR, .due = base + 2 * HOUR)),
              HORA__SETTLED_OK);
    struct seen_task task = must_see(id);
    CHECK_INT(task.info.state, HORA_DURABLE_CLAIMED);
    CHECK_INT(task.info.node, node.node);
    CHECK_INT(task.info.fence, claim.fence);
    CHECK_INT(task.info.attempts, 0);
    CHECK_INT(task.info.firings, 1);
    CHECK_TIME(task.planned, base + HOUR);
    CHECK_TIME(task.due, base + 2 * HOUR);
    CHECK_INT(claim_within(&other, 9, 3 * HOUR), 0); /* the series does not overlap */
}

CONTRACT(start_then_advance_counts_once)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a")), base = now_us();
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START, .planned = base + HOUR, .due = base + HOUR)),
              HORA__SETTLED_OK);
    CHECK_INT(
        settle_one(&node, SETTLE(claim, node, ADVANCE, .planned = base + 2 * HOUR, .due = base + 3 * HOUR,
                                 .outcome = HORA_RUN_GAVE_UP, .code = 4, .gave_up = 1, .history = true)),
        HORA__SETTLED_OK);
    struct seen_task task = must_see(id);
    CHECK_INT(task.info.state, HORA_DURABLE_WAITING);
    CHECK_INT(task.info.firings, 1);
    CHECK_INT(task.info.attempts, 0);
    CHECK_INT(task.info.failures_in_a_row, 1);
    CHECK_INT(task.info.last_code, 4);
    CHECK_TIME(task.planned, base + 2 * HOUR);
    CHECK_TIME(task.due, base + 3 * HOUR);
    CHECK_INT(read_history((hora_history_filter){0}), 1);
    CHECK_TIME(records[0].planned, claim.planned);
    CHECK_INT(records[0].record.attempt, 1);
    /* the next claim begins anew */
    CHECK_INT(claim_within(&node, 9, 4 * HOUR), 1);
    claim = exchanged.ret_claims[0];
    CHECK_INT(claim.attempt, 1);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .planned = base + HOUR, .due = base + HOUR)),
              HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.firings, 2);
}

CONTRACT(start_then_done_ends_the_series)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START, .after_now = true)), HORA__SETTLED_OK);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 0);
}

CONTRACT(start_then_release_leaves_the_next_firing)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a")), base = now_us();
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START, .planned = base + HOUR, .due = base + HOUR)),
              HORA__SETTLED_OK);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_WAITING);
    CHECK_INT(must_see(id).info.attempts, 0);
    CHECK_INT(must_see(id).info.firings, 1);
    CHECK_TIME(must_see(id).due, base + HOUR);
}

CONTRACT(start_then_cancel)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START, .after_now = true)), HORA__SETTLED_OK);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_RUNNING);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 0);
}

CONTRACT(start_then_retime)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a")), base = now_us();
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START, .planned = base + HOUR, .due = base + HOUR)),
              HORA__SETTLED_OK);
    CHECK_OK(retime_key("a", base + 5 * HOUR));
    CHECK_INT(
        settle_one(&node, SETTLE(claim, node, ADVANCE, .planned = base + 2 * HOUR, .due = base + 2 * HOUR)),
        HORA__SETTLED_OK);
    CHECK_TIME(must_see(id).due, base + 5 * HOUR);
    CHECK_TIME(must_see(id).planned, base + 5 * HOUR);
    CHECK_INT(must_see(id).info.firings, 1);
}

CONTRACT(start_keeps_a_recorded_retime)
{
    hora__lease node = join(), other = join();
    int64_t id = put_one(&RECURRING(.key = "a")), base = now_us();
    hora__claim claim = claim_one(&node);
    CHECK_OK(retime_key("a", base + 5 * HOUR));
    CHECK_INT(settle_one(&node, SETTLE(claim, node, START, .planned = base + HOUR, .due = base + HOUR)),
              HORA__SETTLED_OK);
    CHECK_INT(claim_within(&other, 9, 9 * HOUR), 0); /* the series does not overlap */
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .planned = base + HOUR, .due = base + HOUR)),
              HORA__SETTLED_OK);
    CHECK_TIME(must_see(id).due, base + 5 * HOUR);
    CHECK_INT(must_see(id).info.firings, 1);
}

/* ---- FORK ---- */

CONTRACT(fork_makes_a_row_for_the_next_firing)
{
    hora__lease node = join();
    int64_t base = now_us();
    int64_t id = put_one(&RECURRING(.key = "a", .payload = {"text", 4}, .lane = 1, .history = true));
    hora__claim claim = claim_one(&node);
    CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
    struct seen_task task = must_see(id);
    CHECK_INT(task.info.state, HORA_DURABLE_CLAIMED);
    CHECK(!task.has_key);
    CHECK_INT(task.info.node, node.node);
    CHECK_INT(task.info.fence, claim.fence);
    CHECK_INT(task.info.attempts, 1);
    struct seen_task next;
    if (!see_key("a", &next)) {
        contract_fail(__FILE__, __LINE__, "the key is gone");
        return;
    }
    CHECK(next.info.id > id);
    CHECK_INT(next.info.state, HORA_DURABLE_WAITING);
    CHECK(next.info.recurring);
    CHECK_TEXT(next.handler, "h");
    CHECK_TEXT(next.payload, "text");
    CHECK_TEXT(next.definition, "rate 10000000");
    CHECK_INT(next.info.priority, HORA_PRIORITY_HIGH);
    CHECK_INT(next.info.firings, 1);
    CHECK_INT(next.info.attempts, 0);
    CHECK_TIME(next.planned, base + HOUR);
    CHECK_TIME(next.due, base + HOUR);
    CHECK_INT(claim_within(&node, 9, 2 * HOUR), 1);
    CHECK_INT(exchanged.ret_claims[0].id, next.info.id);
    CHECK_INT(exchanged.ret_claims[0].series, claim.series);
    CHECK(exchanged.ret_claims[0].history);
    CHECK(!exchanged.ret_claims[0].forked);
}

CONTRACT(fork_then_done_deletes_the_run_only)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(fork_claim(&node, claim, now_us(), 2), HORA__SETTLED_OK);
    int64_t now = now_us();
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED, .code = 0,
                                       .history = true)),
              HORA__SETTLED_OK);
    CHECK(!see(id, &seen));
    CHECK(see_key("a", &seen));
    /* the next firing knows of the run */
    CHECK_NOW(seen.info.last_success.ns / 1000, now);
    CHECK_NOW(seen.info.last_end.ns / 1000, now);
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 1);
    CHECK_INT(records[0].record.task_id, id);
}

CONTRACT(fork_up_to_overlap_max)
{
    hora__lease node = join(), other = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim runs[3];
    for (int i = 0; i < 3; i++) {
        const hora__lease *lease = i == 1 ? &other : &node;
        runs[i] = claim_one(lease);
        CHECK_INT(fork_now(lease, runs[i], 3), HORA__SETTLED_OK);
    }
    hora__claim fourth = claim_one(&other);
    char *before = snapshot();
    CHECK_INT(fork_now(&other, fourth, 3), HORA__SETTLED_FULL);
    CHECK_UNCHANGED(before);
    CHECK_INT(settle_one(&other, SETTLE(runs[1], other, DONE)), HORA__SETTLED_OK);
    CHECK_INT(fork_now(&other, fourth, 3), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 4); /* three runs and the next firing */
}

CONTRACT(fork_that_is_full_can_be_skipped)
{
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&RECURRING(.key = "a"));
    hora__claim first = claim_one(&node);
    CHECK_INT(fork_now(&node, first, 2), HORA__SETTLED_OK);
    hora__claim second = claim_one(&node);
    CHECK_INT(fork_now(&node, second, 1), HORA__SETTLED_FULL);
    CHECK_INT(settle_one(&node, SETTLE(second, node, ADVANCE, .planned = base + HOUR, .due = base + HOUR,
                                       .outcome = HORA_RUN_SKIPPED, .history = true)),
              HORA__SETTLED_OK);
    CHECK(see_key("a", &seen));
    CHECK_INT(seen.info.id, second.id);
    CHECK_INT(seen.info.firings, 2);
    CHECK_INT(read_history((hora_history_filter){.outcome = HORA_RUN_SKIPPED}), 1);
}

CONTRACT(fork_again_changes_nothing)
{
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
    char *before = snapshot();
    CHECK_INT(fork_claim(&node, claim, base + HOUR, 2), HORA__SETTLED_OK);
    CHECK_INT(fork_claim(&node, claim, base + HOUR, 2), HORA__SETTLED_OK);
    CHECK_UNCHANGED(before);
}

CONTRACT(fork_then_retry_is_still_forked)
{
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .after_now = true, .outcome = HORA_RUN_FAILED,
                                       .history = true)),
              HORA__SETTLED_OK);
    hora__claim again = claim_one(&node);
    CHECK_INT(again.id, claim.id);
    CHECK(again.forked);
    CHECK_INT(again.attempt, 2);
    CHECK(again.fence > claim.fence);
    CHECK_TEXT(again.key, "a"); /* for the handler; the row has none */
    CHECK_INT(again.series, claim.series);
    int count = count_tasks();
    CHECK_INT(fork_claim(&node, again, base, 2), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), count); /* no second series */
    CHECK_INT(settle_one(&node, SETTLE(again, node, DONE, .outcome = HORA_RUN_SUCCEEDED, .history = true)),
              HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 1);
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 2);
}

/* A run that waits for another attempt keeps its place, because it does not ask again. */
CONTRACT(fork_counts_runs_that_wait_for_another_attempt)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim first = claim_one(&node);
    CHECK_INT(fork_now(&node, first, 2), HORA__SETTLED_OK);
    CHECK_INT(settle_one(&node, SETTLE(first, node, RETRY, .due = now_us() + HOUR)), HORA__SETTLED_OK);
    hora__claim second = claim_one(&node);
    CHECK_INT(fork_now(&node, second, 2), HORA__SETTLED_OK);
    hora__claim third = claim_one(&node);
    char *before = snapshot();
    CHECK_INT(fork_now(&node, third, 2), HORA__SETTLED_FULL);
    CHECK_UNCHANGED(before);
    CHECK_INT(claim_within(&node, 9, 2 * HOUR), 1);
    hora__claim again = exchanged.ret_claims[0];
    CHECK_INT(again.id, first.id);
    CHECK_INT(settle_one(&node, SETTLE(again, node, DONE)), HORA__SETTLED_OK);
    CHECK_INT(fork_now(&node, third, 2), HORA__SETTLED_OK);
}

CONTRACT(fork_then_start_keeps_the_run)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim first = claim_one(&node);
    CHECK_INT(fork_now(&node, first, 1), HORA__SETTLED_OK);
    CHECK_INT(settle_one(&node, SETTLE(first, node, START, .planned = HORA__NEVER)), HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_CLAIMED);
    CHECK_TIME(must_see(id).planned, first.planned);
    /* it counts */
    hora__claim second = claim_one(&node);
    CHECK_INT(fork_now(&node, second, 1), HORA__SETTLED_FULL);
    CHECK_INT(settle_one(&node, SETTLE(first, node, RELEASE)), HORA__SETTLED_OK);
    CHECK(!see(id, &seen));
    CHECK_INT(fork_now(&node, second, 1), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 2);
}

CONTRACT(fork_then_advance_deletes_the_run)
{
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&RECURRING(.key = "a"));
    for (int i = 0; i < 2; i++) {
        CHECK_INT(claim_within(&node, 1, 9 * HOUR), 1);
        hora__claim claim = exchanged.ret_claims[0];
        CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
        if (i == 1)
            CHECK_INT(settle_one(&node, SETTLE(claim, node, START)), HORA__SETTLED_OK);
        hora__settle settle = SETTLE(claim, node, ADVANCE, .planned = base + HOUR, .due = base + HOUR);
        CHECK_INT(settle_one(&node, settle), HORA__SETTLED_OK);
        CHECK(!see(claim.id, &seen));
        CHECK_INT(count_tasks(), 1);
        CHECK(see_key("a", &seen));
        CHECK_INT(seen.info.state, HORA_DURABLE_WAITING);
    }
}

CONTRACT(fork_then_dead_takes_the_task_with_it)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a", .payload = {"text", 4}));
    hora__claim claim = claim_one(&node);
    CHECK_INT(fork_claim(&node, claim, now_us(), 2), HORA__SETTLED_OK);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DEAD, .outcome = HORA_RUN_GAVE_UP, .gave_up = 3)),
              HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 0);
    CHECK_INT(count_dead(), 1);
    CHECK(see_key("a", &seen));
    CHECK_TEXT(seen.payload, "text");
    CHECK_INT(seen.info.failures_in_a_row, 3);
    CHECK_OK(change_key(HORA__CHANGE_REVIVE, "a"));
    CHECK_TEXT(claim_one(&node).key, "a");
}

CONTRACT(fork_then_dead_while_the_next_firing_is_claimed)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(fork_now(&node, claim, 2), HORA__SETTLED_OK);
    hora__claim next = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DEAD, .outcome = HORA_RUN_GAVE_UP, .gave_up = 3)),
              HORA__SETTLED_OK);
    CHECK_INT(count_dead(), 0);
    CHECK_INT(must_see(next.id).info.state, HORA_DURABLE_CLAIMED);
    CHECK_INT(must_see(next.id).info.failures_in_a_row, 3);
}

CONTRACT(fork_takes_changes_along)
{
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_OK(retime_key("a", base + 4 * HOUR));
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
    CHECK(see_key("a", &seen));
    CHECK_INT(seen.info.state, HORA_DURABLE_PAUSED);
    CHECK_TIME(seen.due, base + 4 * HOUR);
    CHECK_TIME(seen.planned, base + 4 * HOUR);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 1); /* the change is not about the run */
}

CONTRACT(fork_of_what_was_cancelled_makes_no_next_firing)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_RUNNING);
    CHECK_INT(fork_claim(&node, claim, now_us(), 2), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 1);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 0);
}

CONTRACT(fork_of_a_replaced_task_uses_the_new_one)
{
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&RECURRING(.key = "a", .payload = {"old", 3}));
    hora__claim claim = claim_one(&node);
    put_replace(&RECURRING(.key = "a", .payload = {"new", 3}, .handler = "g", AT(base + 4 * HOUR)));
    CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
    CHECK(see_key("a", &seen));
    CHECK_TIME(seen.due, base + 4 * HOUR);
    CHECK_TEXT(seen.payload, "new");
    CHECK_TEXT(seen.handler, "g");
}

CONTRACT(fork_of_what_was_replaced_by_a_one_shot)
{
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&RECURRING(.key = "a", .payload = {"old", 3}));
    hora__claim claim = claim_one(&node);
    put_replace(&PUT(.key = "a", .payload = {"new", 3}, .definition = "attempts 3", AT(base + 4 * HOUR)));
    CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
    CHECK(see_key("a", &seen));
    CHECK(!seen.info.recurring);
    CHECK_TIME(seen.due, base + 4 * HOUR);
    CHECK_TEXT(seen.payload, "new");
    CHECK_TEXT(seen.definition, "attempts 3");
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 1);
}

/* The run has the contents of the task that has replaced its own, which must not run twice. */
CONTRACT(fork_of_a_replaced_task_has_no_further_attempt)
{
    hora__lease node = join();
    for (int i = 0; i < 3; i++) {
        int64_t base = now_us(), id = put_one(&RECURRING(.key = "a"));
        hora__claim claim = claim_one(&node);
        put_replace(&PUT(.key = "a", AT(base + 4 * HOUR)));
        CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
        hora__settle settle = SETTLE(claim, node, RETRY, .after_now = true, .outcome = HORA_RUN_FAILED);
        if (i == 1)
            settle = SETTLE(claim, node, RELEASE);
        if (i < 2) {
            CHECK_INT(settle_one(&node, settle), HORA__SETTLED_OK);
        } else {
            CHECK_OK(backend->ops->leave(backend, &node, &contract_error));
            node = join();
        }
        CHECK(!see(id, &seen));
        CHECK_INT(count_tasks(), 1);
        CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    }
}

/* A run whose task has become a one-shot task belongs to no series, in particular not to other one-shots. */
CONTRACT(fork_of_a_replaced_task_is_alone)
{
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&PUT(.key = "other", AT(base + 5 * HOUR)));
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    put_replace(&PUT(.key = "a", AT(base + 4 * HOUR)));
    CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
    char *before = snapshot();
    CHECK_ERROR(change_id(HORA__CHANGE_RETIME, id), HORA_ENOENT);
    CHECK_ERROR(change_id(HORA__CHANGE_PAUSE, id), HORA_ENOENT);
    CHECK_ERROR(change_id(HORA__CHANGE_RESUME, id), HORA_ENOENT);
    CHECK_UNCHANGED(before);
    CHECK_INT(change_id(HORA__CHANGE_CANCEL, id), HORA_CANCEL_RUNNING);
    CHECK_INT(count_tasks(), 3);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DEAD, .outcome = HORA_RUN_GAVE_UP)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 2);
    CHECK_INT(count_dead(), 0);
}

CONTRACT(fork_outcomes_stay_with_a_task_that_is_replaced)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(fork_claim(&node, claim, now_us(), 2), HORA__SETTLED_OK);
    int64_t now = now_us();
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED)), HORA__SETTLED_OK);
    put_replace(&PUT(.key = "a"));
    CHECK(see_key("a", &seen));
    CHECK_NOW(seen.info.last_success.ns / 1000, now);
    CHECK_NOW(seen.info.last_end.ns / 1000, now);
    CHECK_NOW(claim_one(&node).last_success, now);
}

CONTRACT(fork_cancel_is_about_all_runs)
{
    hora__lease node = join();
    for (int i = 0; i < 3; i++) {
        int64_t id = put_one(&RECURRING(.key = "a"));
        hora__claim claim = claim_one(&node);
        CHECK_INT(fork_claim(&node, claim, now_us(), 2), HORA__SETTLED_OK);
        CHECK(see_key("a", &seen));
        int result = i == 0 ? change_key(HORA__CHANGE_CANCEL, "a")
                            : change_id(HORA__CHANGE_CANCEL, i == 1 ? id : seen.info.id);
        CHECK_INT(result, HORA_CANCEL_RUNNING);
        CHECK(!see_key("a", &seen)); /* the next firing is gone */
        CHECK_INT(count_tasks(), 1);
        CHECK_OK(exchange_with(&node, (hora__exchange){.renew = true}));
        CHECK_INT(exchanged.ret_cancelled_count, 1);
        CHECK(exchanged.ret_cancelled_count == 1 && exchanged.ret_cancelled[0] == id);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .after_now = true)), HORA__SETTLED_OK);
        CHECK_INT(count_tasks(), 0);
    }
}

CONTRACT(fork_changes_by_id_of_a_run_are_about_the_next_firing)
{
    hora__lease node = join();
    int64_t base = now_us();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(fork_claim(&node, claim, base, 2), HORA__SETTLED_OK);
    hora__change change = {.kind = HORA__CHANGE_RETIME, .id = id, .due = base + 5 * HOUR};
    CHECK_OK(backend->ops->change(backend, &change, &contract_error));
    CHECK_INT(change_id(HORA__CHANGE_PAUSE, id), 1);
    CHECK(see_key("a", &seen));
    CHECK_TIME(seen.due, base + 5 * HOUR);
    CHECK_INT(seen.info.state, HORA_DURABLE_PAUSED);
    CHECK_INT(change_id(HORA__CHANGE_RESUME, id), 1);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 1);
}

CONTRACT(fork_of_a_last_firing)
{
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(
        settle_one(&node, SETTLE(claim, node, FORK, .planned = HORA__NEVER, .due = base, .overlap_max = 2)),
        HORA__SETTLED_OK);
    hora__claim last = claim_one(&node);
    CHECK_INT(last.planned, HORA__NEVER);
    CHECK_INT(settle_one(&node, SETTLE(last, node, DONE)), HORA__SETTLED_OK);
    CHECK_INT(change_id(HORA__CHANGE_PAUSE, claim.id), HORA_ENOENT); /* no firing follows */
    hora__series series;
    CHECK_OK(backend->ops->read_series(backend, claim.series, &series, &contract_error));
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_ERROR(backend->ops->read_series(backend, claim.series, &series, &contract_error), HORA_ENOENT);
}
