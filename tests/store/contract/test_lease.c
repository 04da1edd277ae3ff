/* SPDX-License-Identifier: Apache-2.0 */
/* test_lease.c - the contract of leases: join, renew, reap, leave, and what happens when a lease has ended */
#include "contract.h"

static int64_t reap(const hora__lease *lease, int limit)
{
    int64_t released = -1;
    CHECK_OK(backend->ops->reap(backend, lease, limit, &released, &contract_error));
    return released;
}

static int64_t count_nodes(void)
{
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    CHECK_OK(backend->ops->stats(backend, &stats, &contract_error));
    return stats.nodes;
}

/* ---- leases ---- */

CONTRACT(lease_ids_are_not_used_again)
{
    int64_t last = 0;
    for (int i = 0; i < 5; i++) {
        hora__lease lease = join();
        CHECK(lease.node > last);
        last = lease.node;
        CHECK_OK(backend->ops->leave(backend, &lease, &contract_error));
    }
    CHECK_INT(count_nodes(), 0);
    if (!backend->ops->shared)
        return;
    reopen();
    CHECK(join().node > last);
}

CONTRACT(lease_time_left)
{
    NEEDS_CLOCK;
    hora__lease node = join_shortly();
    int64_t now = now_us();
    CHECK_OK(exchange_with(&node, (hora__exchange){0}));
    CHECK_INT(exchanged.ret_lease_left, SHORT_LEASE);
    CHECK_TIME(exchanged.ret_now, now);
    pass(100 * MS);
    CHECK_OK(exchange_with(&node, (hora__exchange){0}));
    CHECK_INT(exchanged.ret_lease_left, SHORT_LEASE - 100 * MS);
    CHECK_TIME(exchanged.ret_now, now + 100 * MS);
    CHECK_OK(exchange_with(&node, (hora__exchange){.renew = true}));
    CHECK_INT(exchanged.ret_lease_left, SHORT_LEASE);
    pass(SHORT_LEASE - 1);
    CHECK_OK(exchange_with(&node, (hora__exchange){0}));
    CHECK_INT(exchanged.ret_lease_left, 1);
    pass(1);
    CHECK_ERROR(exchange_with(&node, (hora__exchange){0}), HORA_EEXPIRED);
}

CONTRACT(lease_time_left_of_any_clock)
{
    hora__lease node = join();
    int64_t before = now_us();
    CHECK_OK(exchange_with(&node, (hora__exchange){.renew = true, .reads_clock = true}));
    int64_t after = now_us();
    CHECK(before <= exchanged.ret_begin && exchanged.ret_begin <= exchanged.ret_now);
    CHECK(exchanged.ret_now <= exchanged.ret_now_after && exchanged.ret_now_after <= after);
    CHECK(exchanged.ret_lease_left > 0 && exchanged.ret_lease_left <= 60 * SECOND);
}

CONTRACT(lease_renewed_in_time_goes_on)
{
    NEEDS_CLOCK;
    hora__lease node = join_shortly(), other = join();
    put_one(&PUT());
    hora__claim claim = claim_one(&node);
    for (int i = 0; i < 5; i++) {
        pass(SHORT_LEASE - 1);
        CHECK_OK(exchange_with(&node, (hora__exchange){.renew = true}));
        CHECK_INT(reap(&other, 100), 0);
    }
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
}

CONTRACT(lease_that_has_ended_changes_nothing)
{
    hora__lease node = join_shortly();
    put_one(&RECURRING(.key = "r"));
    hora__claim claim = claim_one(&node);
    put_one(&PUT(.key = "a"));
    pass(SHORT_LEASE);
    char *before = snapshot();
    hora__settle settle = SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED, .history = true);
    hora__settled settled = 0;
    hora__exchange all = {.renew = true,
                          .resume = true,
                          .settles = &settle,
                          .settle_count = 1,
                          .ret_settled = &settled,
                          .claim_limit = {9, 9, 9, 9}};
    CHECK_ERROR(exchange_with(&node, all), HORA_EEXPIRED);
    CHECK_ERROR(exchange_with(&node, (hora__exchange){.renew = true}), HORA_EEXPIRED);
    CHECK_ERROR(claim_all(&node), HORA_EEXPIRED);
    CHECK_INT(contract_error.code, HORA_EEXPIRED);
    CHECK_UNCHANGED(before);
    CHECK_INT(count_nodes(), 0);
}

CONTRACT(lease_of_another_incarnation)
{
    hora__lease node = join();
    put_one(&PUT());
    hora__claim claim = claim_one(&node);
    put_one(&PUT());
    char *before = snapshot();
    hora__lease other = node;
    other.incarnation[7] ^= 1;
    CHECK_ERROR(claim_all(&other), HORA_EEXPIRED);
    CHECK_ERROR(exchange_with(&other, (hora__exchange){.renew = true}), HORA_EEXPIRED);
    CHECK_ERROR(settle_one(&other, SETTLE(claim, node, DONE)), HORA_EEXPIRED);
    CHECK_OK(backend->ops->leave(backend, &other, &contract_error));
    other = node;
    other.node += 1000;
    CHECK_ERROR(claim_all(&other), HORA_EEXPIRED);
    CHECK_OK(backend->ops->leave(backend, &other, &contract_error));
    CHECK_UNCHANGED(before);
    CHECK_INT(claim_all(&node), 1);
}

/* ---- reap ---- */

CONTRACT(reap_releases_what_a_dead_node_held)
{
    hora__lease dead = join_shortly(), living = join();
    int64_t one = put_one(&PUT(.key = "o")), many = put_one(&RECURRING(.key = "r"));
    CHECK_INT(claim_all(&dead), 2);
    hora__claim claims[2] = {exchanged.ret_claims[0], exchanged.ret_claims[1]};
    int64_t mine = put_one(&PUT(.key = "mine"));
    hora__claim own = claim_one(&living);
    CHECK_INT(reap(&living, 100), 0);
    pass(SHORT_LEASE);
    int64_t now = now_us();
    CHECK_INT(reap(&living, 100), 2);
    CHECK_INT(must_see(one).info.state, HORA_DURABLE_WAITING);
    CHECK_INT(must_see(one).info.node, 0);
    CHECK_INT(must_see(one).info.attempts, 1); /* the lost run counts */
    CHECK_INT(must_see(one).info.fence, claims[0].fence);
    CHECK_NOW(must_see(one).due, now);
    CHECK_TIME(must_see(one).planned, claims[0].planned);
    CHECK_INT(must_see(many).info.state, HORA_DURABLE_WAITING);
    CHECK_INT(must_see(many).info.firings, 0);
    CHECK_INT(must_see(mine).info.state, HORA_DURABLE_CLAIMED); /* the living keep theirs */
    CHECK_INT(must_see(mine).info.node, living.node);
    CHECK_INT(reap(&living, 100), 0);
    CHECK_INT(claim_all(&living), 2);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(exchanged.ret_claims[i].attempt, 2);
        CHECK(exchanged.ret_claims[i].fence > claims[i].fence);
    }
    CHECK_INT(settle_one(&living, SETTLE(own, living, DONE)), HORA__SETTLED_OK);
    CHECK_ERROR(exchange_with(&dead, (hora__exchange){.renew = true}), HORA_EEXPIRED);
}

CONTRACT(reap_exactly_when_the_lease_has_ended)
{
    NEEDS_CLOCK;
    hora__lease dead = join_shortly(), living = join();
    put_one(&PUT());
    claim_one(&dead);
    pass(SHORT_LEASE - 1);
    CHECK_INT(reap(&living, 100), 0);
    pass(1);
    CHECK_INT(reap(&living, 100), 1);
}

CONTRACT(reap_is_worth_a_call)
{
    hora__lease living = join(), dead = join_shortly();
    CHECK_OK(exchange_with(&dead, (hora__exchange){.renew = true}));
    CHECK(!exchanged.ret_reap);
    put_one(&PUT());
    put_one(&PUT());
    CHECK_INT(claim_all(&dead), 2);
    CHECK_OK(exchange_with(&living, (hora__exchange){.renew = true}));
    CHECK(!exchanged.ret_reap);
    pass(SHORT_LEASE);
    CHECK_OK(exchange_with(&living, (hora__exchange){.renew = true}));
    CHECK(exchanged.ret_reap);
    CHECK_INT(reap(&living, 1), 1);
    CHECK_OK(exchange_with(&living, (hora__exchange){.renew = true}));
    CHECK(exchanged.ret_reap); /* it still holds one */
    CHECK_INT(reap(&living, 9), 1);
    CHECK_OK(exchange_with(&living, (hora__exchange){.renew = true}));
    CHECK(!exchanged.ret_reap);
}

CONTRACT(reap_up_to_a_limit)
{
    hora__lease dead = join_shortly(), living = join();
    int64_t ids[10];
    for (int i = 0; i < 10; i++)
        ids[i] = put_one(&PUT());
    CHECK_INT(claim_all(&dead), 10);
    pass(SHORT_LEASE);
    CHECK_INT(reap(&living, 4), 4);
    CHECK_INT(claim_all(&living), 4);
    for (int i = 0; i < 4; i++)
        CHECK_INT(exchanged.ret_claims[i].id, ids[i]);
    CHECK_INT(reap(&living, 4), 4);
    CHECK_INT(reap(&living, 4), 2);
    CHECK_INT(reap(&living, 4), 0);
    CHECK_INT(claim_all(&living), 6);
}

CONTRACT(reap_several_nodes)
{
    hora__lease dead[3], living = join();
    for (int i = 0; i < 3; i++) {
        dead[i] = join_shortly();
        put_one(&PUT());
        claim_one(&dead[i]);
    }
    pass(SHORT_LEASE);
    CHECK_INT(reap(&living, 100), 3);
    CHECK_INT(claim_all(&living), 3);
}

CONTRACT(reap_records_lost_runs)
{
    hora__lease dead = join_shortly(), living = join();
    int64_t id = put_one(&PUT(.key = "a", .history = true));
    put_one(&PUT(.key = "b"));
    CHECK_INT(claim_all(&dead), 2);
    hora__claim claim = exchanged.ret_claims[0];
    CHECK_INT(claim.id, id);
    pass(SHORT_LEASE);
    int64_t now = now_us();
    CHECK_INT(reap(&living, 100), 2);
    if (!CHECK_INT(read_history((hora_history_filter){0}), 1))
        return;
    CHECK_INT(records[0].record.outcome, HORA_RUN_LOST);
    CHECK_INT(records[0].record.task_id, id);
    CHECK_TEXT(records[0].key, "a");
    CHECK_TEXT(records[0].handler, "h");
    CHECK_INT(records[0].record.attempt, 1);
    CHECK_INT(records[0].record.fence, claim.fence);
    CHECK_INT(records[0].record.node, dead.node);
    CHECK_INT(records[0].record.code, 0);
    CHECK_TIME(records[0].planned, claim.planned);
    CHECK_INT(records[0].record.started.ns, 0);
    CHECK_NOW(records[0].ended, now);
    CHECK(!records[0].has_note);
}

CONTRACT(reap_what_cannot_have_run)
{
    hora__lease dead = join_shortly(), living = join();
    int64_t later = now_us() + HOUR;
    int64_t id = put_one(&PUT(.key = "a", .history = true, AT(later)));
    CHECK_INT(claim_within(&dead, 9, 2 * HOUR), 1);
    pass(SHORT_LEASE);
    CHECK_INT(reap(&living, 100), 1);
    CHECK_INT(must_see(id).info.attempts, 0);
    CHECK_TIME(must_see(id).due, later);
    CHECK_INT(read_history((hora_history_filter){0}), 0);
}

CONTRACT(reap_carries_changes_out)
{
    hora__lease dead = join_shortly(), living = join();
    int64_t base = now_us();
    int64_t retimed = put_one(&PUT(.key = "retimed"));
    put_one(&PUT(.key = "cancelled", .history = true));
    int64_t paused = put_one(&PUT(.key = "paused"));
    int64_t replaced = put_one(&PUT(.key = "replaced"));
    CHECK_INT(claim_all(&dead), 4);
    CHECK_OK(retime_key("retimed", base + HOUR));
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "cancelled"), HORA_CANCEL_RUNNING);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "paused"), 1);
    put_replace(&RECURRING(.key = "replaced", AT(base + 2 * HOUR)));
    pass(SHORT_LEASE);
    CHECK_INT(reap(&living, 100), 4);
    CHECK_TIME(must_see(retimed).due, base + HOUR);
    CHECK_TIME(must_see(retimed).planned, base + HOUR);
    CHECK_INT(must_see(retimed).info.attempts, 0);
    CHECK(!see_key("cancelled", &seen));
    CHECK_INT(read_history((hora_history_filter){.key = "cancelled", .outcome = HORA_RUN_LOST}), 1);
    CHECK_INT(must_see(paused).info.state, HORA_DURABLE_PAUSED);
    CHECK_TIME(must_see(replaced).due, base + 2 * HOUR);
    CHECK(must_see(replaced).info.recurring);
    CHECK_INT(claim_all(&living), 0);
}

/* At most once: the run is over whatever happened to it, and the series goes on. */
CONTRACT(reap_what_was_started)
{
    hora__lease dead = join_shortly(), living = join();
    int64_t base = now_us();
    int64_t id = put_one(&RECURRING(.key = "a", .history = true));
    int64_t once = put_one(&PUT(.key = "o", .history = true));
    CHECK_INT(claim_all(&dead), 2);
    hora__settle settles[2];
    hora__settled settled[2];
    int64_t planned = exchanged.ret_claims[0].planned;
    for (int i = 0; i < 2; i++)
        settles[i] = SETTLE(exchanged.ret_claims[i], dead, START, .planned = base + HOUR, .due = base + HOUR);
    CHECK_OK(exchange_with(&dead,
                           (hora__exchange){.settles = settles, .settle_count = 2, .ret_settled = settled}));
    pass(SHORT_LEASE);
    CHECK_INT(reap(&living, 100), 2);
    CHECK(!see(once, &seen));
    CHECK_INT(read_history((hora_history_filter){.key = "o"}), 1);
    CHECK_INT(records[0].record.outcome, HORA_RUN_LOST);
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_WAITING);
    CHECK_INT(must_see(id).info.firings, 1);
    CHECK_INT(must_see(id).info.attempts, 0);
    CHECK_TIME(must_see(id).due, base + HOUR);
    CHECK_INT(claim_all(&living), 0);
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 1);
    CHECK_INT(records[0].record.outcome, HORA_RUN_LOST);
    CHECK_TIME(records[0].planned, planned);
    CHECK_INT(records[0].record.attempt, 1);
    /* what was started once can be started again */
    CHECK_INT(claim_within(&living, 9, 2 * HOUR), 1);
    hora__claim claim = exchanged.ret_claims[0];
    CHECK_INT(
        settle_one(&living, SETTLE(claim, living, START, .planned = base + 2 * HOUR, .due = base + 2 * HOUR)),
        HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.firings, 2);
}

CONTRACT(reap_what_was_forked)
{
    hora__lease dead = join_shortly(), living = join();
    int64_t base = now_us();
    int64_t id = put_one(&RECURRING(.key = "a", .history = true));
    hora__claim claim = claim_one(&dead);
    CHECK_INT(settle_one(&dead, SETTLE(claim, dead, FORK, .planned = base + HOUR, .due = base + HOUR,
                                       .overlap_max = 2)),
              HORA__SETTLED_OK);
    pass(SHORT_LEASE);
    CHECK_INT(reap(&living, 100), 1);
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 1);
    CHECK_INT(records[0].record.outcome, HORA_RUN_LOST);
    hora__claim again = claim_one(&living);
    CHECK_INT(again.id, id);
    CHECK(again.forked);
    CHECK_INT(again.attempt, 2);
    CHECK_INT(settle_one(&living, SETTLE(again, living, DONE)), HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 1);
}

CONTRACT(reap_again_after_a_second_death)
{
    hora__lease living = join();
    int64_t id = put_one(&PUT(.history = true));
    int64_t fence = 0;
    for (int i = 1; i <= 3; i++) {
        hora__lease dead = join_shortly();
        hora__claim claim = claim_one(&dead);
        CHECK(claim.fence > fence);
        fence = claim.fence;
        CHECK_INT(claim.attempt, i);
        pass(SHORT_LEASE);
        CHECK_INT(reap(&living, 100), 1);
    }
    CHECK_INT(must_see(id).info.attempts, 3);
    CHECK_INT(read_history((hora_history_filter){.outcome = HORA_RUN_LOST}), 3);
    CHECK_INT(records[0].record.attempt, 3);
}

CONTRACT(reap_survives_closing)
{
    NEEDS_SHARED;
    hora__lease dead = join_shortly();
    put_one(&PUT(.key = "a", .history = true));
    claim_one(&dead);
    reopen();
    hora__lease living = join();
    pass(SHORT_LEASE);
    CHECK_INT(reap(&living, 100), 1);
    char *before = snapshot();
    reopen();
    CHECK_UNCHANGED(before);
}

/* ---- leave ---- */

CONTRACT(leave_releases_all_without_counting)
{
    hora__lease node = join(), other = join();
    int64_t later = now_us() + HOUR;
    int64_t one = put_one(&PUT(.history = true)), ahead = put_one(&RECURRING(.key = "r", AT(later)));
    CHECK_INT(claim_within(&node, 9, 2 * HOUR), 2);
    int64_t theirs = put_one(&PUT());
    claim_one(&other);
    int64_t now = now_us();
    CHECK_OK(backend->ops->leave(backend, &node, &contract_error));
    CHECK_INT(must_see(one).info.state, HORA_DURABLE_WAITING);
    CHECK_INT(must_see(one).info.attempts, 0);
    CHECK_NOW(must_see(one).due, now);
    CHECK_TIME(must_see(ahead).due, later);
    CHECK_INT(must_see(ahead).info.attempts, 0);
    CHECK_INT(must_see(theirs).info.state, HORA_DURABLE_CLAIMED);
    CHECK_INT(read_history((hora_history_filter){0}), 0);
    CHECK_INT(count_nodes(), 1);
    CHECK_ERROR(claim_all(&node), HORA_EEXPIRED);
    CHECK_OK(backend->ops->leave(backend, &node, &contract_error));
    CHECK_INT(claim_one(&other).attempt, 1);
}

CONTRACT(leave_carries_changes_out)
{
    hora__lease node = join();
    int64_t base = now_us();
    int64_t retimed = put_one(&PUT(.key = "retimed"));
    put_one(&PUT(.key = "cancelled"));
    int64_t paused = put_one(&PUT(.key = "paused"));
    CHECK_INT(claim_all(&node), 3);
    CHECK_OK(retime_key("retimed", base + HOUR));
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "cancelled"), HORA_CANCEL_RUNNING);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "paused"), 1);
    CHECK_OK(backend->ops->leave(backend, &node, &contract_error));
    CHECK_TIME(must_see(retimed).due, base + HOUR);
    CHECK(!see_key("cancelled", &seen));
    CHECK_INT(must_see(paused).info.state, HORA_DURABLE_PAUSED);
}

CONTRACT(leave_after_the_lease_has_ended_changes_nothing)
{
    hora__lease node = join_shortly(), other = join();
    int64_t id = put_one(&PUT());
    claim_one(&node);
    pass(SHORT_LEASE);
    char *before = snapshot();
    CHECK_OK(backend->ops->leave(backend, &node, &contract_error));
    CHECK_UNCHANGED(before);
    CHECK_INT(reap(&other, 100), 1);
    CHECK_INT(must_see(id).info.attempts, 1); /* it may have run */
}

/* ---- the clock of the store is set ---- */

CONTRACT(clock_set_forward)
{
    NEEDS_CLOCK;
    hora__lease node = join(), other = join();
    int64_t due = now_us() + HOUR;
    put_one(&PUT(AT(due)));
    CHECK_INT(claim_all(&node), 0);
    step(2 * HOUR);
    CHECK_ERROR(claim_all(&node), HORA_EEXPIRED);
    hora__lease again = join();
    CHECK_INT(claim_all(&again), 1);
    CHECK_TIME(exchanged.ret_now, due + HOUR);
    CHECK_INT(reap(&other, 100), 0);
}

/* The lease of a dead node does not become longer by the time by which the clock was set back. Living nodes
 * renew theirs as usual. */
CONTRACT(clock_set_back_while_a_node_is_dead)
{
    NEEDS_CLOCK;
    hora__lease dead = join_shortly(), living = join(), slow = join_shortly();
    put_one(&PUT(.key = "a"));
    put_one(&PUT(.key = "b"));
    CHECK_INT(claim_within(&dead, 1, 0), 1);
    CHECK_INT(claim_within(&slow, 1, 0), 1);
    hora__claim kept = exchanged.ret_claims[0];
    step(-HOUR);
    CHECK_OK(exchange_with(&living, (hora__exchange){.renew = true}));
    CHECK(exchanged.ret_reap);
    CHECK_INT(reap(&living, 100), 0);
    CHECK_INT(count_nodes(), 3);
    CHECK_OK(exchange_with(&living, (hora__exchange){.renew = true}));
    CHECK(!exchanged.ret_reap);
    pass(SHORT_LEASE - 1);
    CHECK_INT(reap(&living, 100), 0);
    CHECK_OK(exchange_with(&slow, (hora__exchange){.renew = true}));
    pass(1);
    CHECK_INT(reap(&living, 100), 1);
    CHECK_INT(count_nodes(), 2);
    CHECK_INT(settle_one(&slow, SETTLE(kept, slow, DONE)), HORA__SETTLED_OK);
}

CONTRACT(clock_set_back)
{
    NEEDS_CLOCK;
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    int64_t before = now_us();
    step(-HOUR);
    CHECK_INT(claim_all(&node), 0); /* its time has not come any more */
    CHECK_TIME(exchanged.ret_next_due[2], before);
    CHECK_TIME(exchanged.ret_now, before - HOUR);
    put_one(&PUT(.key = "b"));
    hora__claim claim = claim_one(&node);
    CHECK_TEXT(claim.key, "b");
    CHECK_TIME(claim.due, before - HOUR);
    CHECK_OK(exchange_with(&node, (hora__exchange){.renew = true}));
    CHECK_INT(exchanged.ret_lease_left, 60 * SECOND);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .after_now = true, .due = SECOND)),
              HORA__SETTLED_OK);
    CHECK(see_key("b", &seen));
    CHECK_TIME(seen.due, before - HOUR + SECOND);
}
