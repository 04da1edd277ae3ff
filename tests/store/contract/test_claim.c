/* SPDX-License-Identifier: Apache-2.0 */
/* test_claim.c - the contract of claims: which firings a node gets, in which order, and with what */
#include "contract.h"

CONTRACT(claim_a_firing)
{
    hora__lease node = join();
    int64_t now = now_us();
    int64_t id = put_one(
        &PUT(.key = "a", .payload = {"text", 4}, .definition = "attempts 3", .lane = 1, .history = true));
    hora__claim claim = claim_one(&node);
    CHECK_INT(claim.id, id);
    CHECK_INT(claim.series, 0);
    CHECK_INT(claim.revision, 0);
    CHECK_NOW(claim.planned, now);
    CHECK_NOW(claim.due, now);
    CHECK(claim.fence > 0);
    CHECK_INT(claim.attempt, 1);
    CHECK_INT(claim.firings, 0);
    CHECK_INT(claim.gave_up, 0);
    CHECK_INT(claim.last_end, 0);
    CHECK_INT(claim.last_success, 0);
    CHECK(claim.history);
    CHECK(!claim.forked);
    CHECK_INT(claim.lane, 1);
    CHECK_INT(claim.handler, 0);
    CHECK_TEXT(claim.key, "a");
    CHECK_TEXT(claim.definition, "attempts 3");
    CHECK_INT(claim.payload.size, 4);
    struct seen_task task = must_see(id);
    CHECK_INT(task.info.state, HORA_DURABLE_CLAIMED);
    CHECK_INT(task.info.node, node.node);
    CHECK_INT(task.info.fence, claim.fence);
    CHECK_INT(task.info.attempts, 1);
}

CONTRACT(claim_what_has_no_key_definition_and_payload)
{
    hora__lease node = join();
    put_one(&PUT());
    hora__claim claim = claim_one(&node);
    CHECK(claim.key == NULL);
    CHECK(claim.definition == NULL);
    CHECK_INT(claim.payload.size, 0);
    CHECK(!claim.history);
}

CONTRACT(claim_only_once)
{
    hora__lease node = join(), other = join();
    put_one(&PUT());
    claim_one(&node);
    CHECK_INT(claim_all(&node), 0);
    CHECK_INT(claim_all(&other), 0);
}

CONTRACT(claim_when_due_and_not_before)
{
    NEEDS_CLOCK;
    hora__lease node = join();
    put_one(&PUT(AT(now_us() + 10)));
    CHECK_INT(claim_within(&node, 10, 9), 0);
    CHECK_INT(claim_within(&node, 10, 0), 0);
    pass(9);
    CHECK_INT(claim_within(&node, 10, 0), 0);
    pass(1);
    CHECK_INT(claim_within(&node, 10, 0), 1);
}

CONTRACT(claim_within_the_horizon)
{
    hora__lease node = join();
    int64_t now = now_us();
    int64_t near = put_one(&PUT(AT(now + 1800 * SECOND)));
    put_one(&PUT(AT(now + 2 * HOUR)));
    CHECK_INT(claim_within(&node, 10, 1000 * SECOND), 0);
    CHECK_INT(claim_within(&node, 10, HOUR), 1);
    CHECK_INT(exchanged.ret_claims[0].id, near);
    CHECK_INT(claim_within(&node, 10, HOUR), 0);
}

CONTRACT(claim_in_the_order_of_due)
{
    hora__lease node = join();
    int64_t now = now_us();
    static const int order[] = {5, 1, 9, 3, 7, 2, 8, 4, 6, 0};
    for (int i = 0; i < 10; i++)
        put_one(&PUT(AT(now + HOUR + order[i])));
    CHECK_INT(claim_within(&node, 4, 2 * HOUR), 4);
    for (int i = 0; i < 4; i++)
        CHECK_TIME(exchanged.ret_claims[i].due, now + HOUR + i);
    CHECK_INT(claim_within(&node, 10, 2 * HOUR), 6);
    for (int i = 0; i < 6; i++)
        CHECK_TIME(exchanged.ret_claims[i].due, now + HOUR + 4 + i);
}

CONTRACT(claim_equal_dues_in_the_order_of_ids)
{
    hora__lease node = join();
    int64_t now = now_us(), ids[20];
    for (int i = 0; i < 20; i++)
        ids[i] = put_one(&PUT(AT(now + HOUR)));
    CHECK_INT(claim_within(&node, 7, 2 * HOUR), 7);
    for (int i = 0; i < 7; i++)
        CHECK_INT(exchanged.ret_claims[i].id, ids[i]);
    CHECK_INT(claim_within(&node, 100, 2 * HOUR), 13);
    for (int i = 0; i < 13; i++)
        CHECK_INT(exchanged.ret_claims[i].id, ids[7 + i]);
}

CONTRACT(claim_lanes_in_order)
{
    hora__lease node = join();
    for (int i = 0; i < 8; i++)
        put_one(&PUT(.lane = 3 - i % 4));
    CHECK_INT(claim_all(&node), 8);
    for (int i = 0; i < 8; i++)
        CHECK_INT(exchanged.ret_claims[i].lane, i / 2);
}

CONTRACT(claim_limits_of_lanes)
{
    hora__lease node = join();
    for (int i = 0; i < 40; i++)
        put_one(&PUT(.lane = i % 4));
    CHECK_OK(exchange_with(&node, (hora__exchange){.claim_limit = {1, 0, 3, 100}}));
    int counts[HORA__LANES] = {0};
    for (size_t i = 0; i < exchanged.ret_claim_count; i++)
        counts[exchanged.ret_claims[i].lane]++;
    CHECK_INT(counts[0], 1);
    CHECK_INT(counts[1], 0);
    CHECK_INT(counts[2], 3);
    CHECK_INT(counts[3], 10);
    CHECK_INT(claim_all(&node), 26);
}

CONTRACT(claim_many)
{
    enum { COUNT = 2000 };
    static hora__put puts[COUNT];
    static hora__put_done done[COUNT];
    size_t wrong;
    for (int i = 0; i < COUNT; i++)
        puts[i] = PUT(.payload = {"0123456789", (size_t)(i % 11)});
    CHECK_OK(backend->ops->put(backend, puts, COUNT, done, &wrong, &contract_error));
    hora__lease node = join();
    CHECK_INT(claim_within(&node, COUNT, 0), COUNT);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(exchanged.ret_claims[i].id, done[i].id);
        CHECK_INT(exchanged.ret_claims[i].payload.size, i % 11);
    }
}

CONTRACT(claim_with_a_low_bound)
{
    hora__lease node = join();
    int64_t now = now_us();
    for (int i = 0; i < 4; i++)
        put_one(&PUT(AT(now + HOUR + i)));
    CHECK_OK(exchange_with(&node, (hora__exchange){.horizon_us = 2 * HOUR,
                                                   .claim_limit = {9, 9, 9, 9},
                                                   .low = {INT64_MIN, INT64_MIN, now + HOUR + 2, 0}}));
    CHECK_INT(exchanged.ret_claim_count, 2);
    CHECK_TIME(exchanged.ret_claims[0].due, now + HOUR + 2);
    CHECK_TIME(exchanged.ret_claims[1].due, now + HOUR + 3);
    CHECK_INT(claim_within(&node, 9, 2 * HOUR), 2);
}

CONTRACT(claim_low_bounds_are_of_one_lane)
{
    hora__lease node = join();
    int64_t now = now_us();
    put_one(&PUT(.lane = 0, AT(now + HOUR)));
    put_one(&PUT(.lane = 1, AT(now + HOUR)));
    CHECK_OK(exchange_with(&node, (hora__exchange){.horizon_us = 2 * HOUR,
                                                   .claim_limit = {9, 9, 9, 9},
                                                   .low = {now + HOUR + 1, now + HOUR, 0, 0}}));
    CHECK_INT(exchanged.ret_claim_count, 1);
    CHECK_INT(exchanged.ret_claims[0].lane, 1);
}

CONTRACT(claim_only_known_handlers)
{
    static const char *const some[] = {"x", "b"};
    hora__lease node = join();
    put_one(&PUT(.handler = "a"));
    put_one(&PUT(.handler = "b"));
    put_one(&PUT(.handler = "c"));
    put_one(&PUT(.handler = "B"));
    CHECK_OK(exchange_with(
        &node, (hora__exchange){.handlers = some, .handler_count = 2, .claim_limit = {9, 9, 9, 9}}));
    CHECK_INT(exchanged.ret_claim_count, 1);
    CHECK_INT(exchanged.ret_claims[0].handler, 1);
    CHECK_OK(exchange_with(
        &node, (hora__exchange){.handlers = some, .handler_count = 0, .claim_limit = {9, 9, 9, 9}}));
    CHECK_INT(exchanged.ret_claim_count, 0);
}

CONTRACT(claim_behind_firings_of_unknown_handlers)
{
    hora__lease node = join();
    int64_t now = now_us();
    for (int i = 0; i < 50; i++)
        put_one(&PUT(.handler = "unknown", AT(now + HOUR + i)));
    int64_t id = put_one(&PUT(AT(now + HOUR + 100)));
    CHECK_INT(claim_within(&node, 1, 2 * HOUR), 1);
    CHECK_INT(exchanged.ret_claims[0].id, id);
}

CONTRACT(claim_nothing_paused)
{
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    put_one(&RECURRING(.key = "r"));
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "r"), 1);
    CHECK_INT(claim_all(&node), 0);
    CHECK_INT(exchanged.ret_next_due[2], HORA__NEVER);
    CHECK_INT(change_key(HORA__CHANGE_RESUME, "a"), 1);
    CHECK_TEXT(claim_one(&node).key, "a");
}

CONTRACT(claim_fences_increase)
{
    hora__lease node = join(), other = join();
    put_one(&PUT());
    int64_t fence = 0;
    for (int i = 0; i < 10; i++) {
        const hora__lease *lease = i % 3 == 0 ? &other : &node;
        hora__claim claim = claim_one(lease);
        CHECK(claim.fence > fence);
        fence = claim.fence;
        CHECK_INT(claim.attempt, i + 1);
        CHECK_INT(settle_one(lease, SETTLE(claim, *lease, RETRY, .after_now = true)), HORA__SETTLED_OK);
    }
}

CONTRACT(claim_next_due)
{
    hora__lease node = join();
    int64_t now = now_us();
    CHECK_INT(claim_all(&node), 0);
    for (int lane = 0; lane < HORA__LANES; lane++)
        CHECK_INT(exchanged.ret_next_due[lane], HORA__NEVER);
    put_one(&PUT(.lane = 0, AT(now + 3 * HOUR)));
    put_one(&PUT(.lane = 0, AT(now + 2 * HOUR), .handler = "unknown"));
    put_one(&PUT(.lane = 3, AT(now + HOUR)));
    put_one(&PUT(.lane = 2, AT(now + 4 * HOUR)));
    CHECK_INT(claim_all(&node), 0);
    CHECK_TIME(exchanged.ret_next_due[0], now + 2 * HOUR);
    CHECK_TIME(exchanged.ret_next_due[1], HORA__NEVER);
    CHECK_TIME(exchanged.ret_next_due[2], now + 4 * HOUR);
    CHECK_TIME(exchanged.ret_next_due[3], now + HOUR);
}

CONTRACT(claim_next_due_is_after_the_claims)
{
    hora__lease node = join();
    int64_t now = now_us();
    for (int i = 0; i < 3; i++)
        put_one(&PUT(AT(now + HOUR + i)));
    CHECK_INT(claim_within(&node, 2, 2 * HOUR), 2);
    CHECK_TIME(exchanged.ret_next_due[2], now + HOUR + 2);
    CHECK_INT(claim_within(&node, 2, 2 * HOUR), 1);
    CHECK_TIME(exchanged.ret_next_due[2], HORA__NEVER);
}

CONTRACT(claim_next_due_from_the_low_bound)
{
    hora__lease node = join();
    int64_t now = now_us();
    put_one(&PUT(.handler = "unknown", AT(now + HOUR)));
    put_one(&PUT(AT(now + 3 * HOUR)));
    CHECK_OK(exchange_with(&node, (hora__exchange){.claim_limit = {9, 9, 9, 9},
                                                   .low = {INT64_MIN, INT64_MIN, now + 2 * HOUR, 0}}));
    CHECK_TIME(exchanged.ret_next_due[2], now + 3 * HOUR);
}

CONTRACT(claim_what_the_same_exchange_settles)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    hora__settle settle = SETTLE(claim, node, ADVANCE, .after_now = true);
    hora__settled settled;
    CHECK_OK(exchange_with(&node, (hora__exchange){.settles = &settle,
                                                   .settle_count = 1,
                                                   .ret_settled = &settled,
                                                   .horizon_us = 1 * SECOND,
                                                   .claim_limit = {9, 9, 9, 9}}));
    CHECK_INT(settled, HORA__SETTLED_OK);
    CHECK_INT(exchanged.ret_claim_count, 1);
    CHECK_INT(exchanged.ret_claims[0].id, claim.id);
    CHECK(exchanged.ret_claims[0].fence > claim.fence);
    CHECK_INT(exchanged.ret_claims[0].firings, 1);
}

CONTRACT(claim_by_two_nodes)
{
    hora__lease node = join(), other = join();
    CHECK(node.node != other.node);
    CHECK(memcmp(node.incarnation, other.incarnation, sizeof node.incarnation) != 0);
    for (int i = 0; i < 10; i++)
        put_one(&PUT());
    CHECK_INT(claim_within(&node, 4, 0), 4);
    CHECK_INT(claim_within(&other, 100, 0), 6);
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    CHECK_OK(backend->ops->stats(backend, &stats, &contract_error));
    CHECK_INT(stats.claimed, 10);
    CHECK_INT(stats.nodes, 2);
}

CONTRACT(claim_resume_returns_what_is_claimed)
{
    hora__lease node = join(), other = join();
    put_one(&PUT(.key = "mine", .payload = {"text", 4}));
    put_one(&RECURRING(.key = "series"));
    CHECK_INT(claim_all(&node), 2);
    int64_t fences[2] = {exchanged.ret_claims[0].fence, exchanged.ret_claims[1].fence};
    put_one(&PUT(.key = "other"));
    claim_one(&other);
    put_one(&PUT(.key = "new"));
    CHECK_OK(exchange_with(&node, (hora__exchange){.resume = true, .claim_limit = {0, 0, 1, 0}}));
    CHECK_INT(exchanged.ret_claim_count, 3);
    bool found[3] = {false, false, false};
    for (size_t i = 0; i < exchanged.ret_claim_count; i++) {
        hora__claim claim = exchanged.ret_claims[i];
        CHECK_INT(claim.attempt, 1);
        if (strcmp(claim.key, "mine") == 0) {
            found[0] = true;
            CHECK_INT(claim.fence, fences[0]);
            CHECK_INT(claim.payload.size, 4);
        } else if (strcmp(claim.key, "series") == 0) {
            found[1] = true;
            CHECK_INT(claim.fence, fences[1]);
            CHECK(claim.series > 0);
        } else {
            found[2] = strcmp(claim.key, "new") == 0;
        }
    }
    CHECK(found[0] && found[1] && found[2]);
    CHECK_OK(exchange_with(&node, (hora__exchange){.resume = true}));
    CHECK_INT(exchanged.ret_claim_count, 3);
}

CONTRACT(claim_resume_without_what_the_exchange_settles)
{
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    put_one(&PUT(.key = "b"));
    CHECK_INT(claim_all(&node), 2);
    hora__settle settle = SETTLE(exchanged.ret_claims[0], node, DONE);
    hora__settled settled;
    CHECK_OK(exchange_with(
        &node,
        (hora__exchange){.resume = true, .settles = &settle, .settle_count = 1, .ret_settled = &settled}));
    CHECK_INT(settled, HORA__SETTLED_OK);
    CHECK_INT(exchanged.ret_claim_count, 1);
    CHECK_TEXT(exchanged.ret_claims[0].key, "b");
}

CONTRACT(claim_counts_what_a_series_knows)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    int64_t now = now_us();
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true, .gave_up = 0,
                                       .outcome = HORA_RUN_SUCCEEDED)),
              HORA__SETTLED_OK);
    claim = claim_one(&node);
    CHECK_INT(claim.firings, 1);
    CHECK_INT(claim.attempt, 1);
    CHECK_NOW(claim.last_success, now);
    CHECK_TIME(claim.last_end, claim.last_success);
    int64_t success = claim.last_success;
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true, .gave_up = 3,
                                       .outcome = HORA_RUN_GAVE_UP)),
              HORA__SETTLED_OK);
    claim = claim_one(&node);
    CHECK_INT(claim.firings, 2);
    CHECK_INT(claim.gave_up, 3);
    CHECK_INT(claim.last_success, success);
    CHECK(claim.last_end >= success);
    int64_t end = claim.last_end;
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true, .gave_up = 3,
                                       .outcome = HORA_RUN_SKIPPED, .run_us = HORA__NO_RUN)),
              HORA__SETTLED_OK);
    CHECK_INT(claim_one(&node).last_end, end);
}

CONTRACT(claim_survives_closing)
{
    NEEDS_SHARED;
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    char *before = snapshot();
    reopen();
    CHECK_UNCHANGED(before);
    hora__lease other = join();
    CHECK(other.node > node.node);
    CHECK_INT(claim_all(&other), 0);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 0);
}

CONTRACT(claim_by_two_openings_of_a_store)
{
    NEEDS_SHARED;
    hora__backend *first = backend, *second = open_another(true);
    hora__lease node = join();
    for (int i = 0; i < 4; i++)
        put_one(&PUT());
    backend = second;
    hora__lease other = join();
    CHECK(other.node != node.node);
    CHECK_INT(claim_within(&other, 3, 0), 3);
    backend = first;
    CHECK_INT(claim_within(&node, 3, 0), 1);
    hora__claim claim = exchanged.ret_claims[0];
    backend = second; /* any opening may settle what a node of another has claimed */
    CHECK_INT(settle_one(&other, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    backend = first;
    CHECK_INT(count_tasks(), 3);
    second->ops->close(second);
}
