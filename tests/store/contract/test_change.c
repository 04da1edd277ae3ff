/* SPDX-License-Identifier: Apache-2.0 */
/* test_change.c - the contract of changes by key and by id: cancel, retime, pause, resume, revive, stop */
#include "contract.h"

/* The same change, by key or by id. */
static int change_either(bool by_id, hora__change_kind kind, const char *key, int64_t id)
{
    return by_id ? change_id(kind, id) : change_key(kind, key);
}

/* Makes a dead task with the key "a"; returns its id. */
static int64_t make_dead(const hora__lease *node, bool recurring)
{
    int64_t id = put_one(recurring ? &RECURRING(.key = "a", .payload = {"text", 4})
                                   : &PUT(.key = "a", .payload = {"text", 4}));
    hora__claim claim = claim_one(node);
    CHECK_INT(claim.id, id);
    CHECK_INT(
        settle_one(node, SETTLE(claim, *node, DEAD, .outcome = HORA_RUN_GAVE_UP, .code = 6, .gave_up = 2)),
        HORA__SETTLED_OK);
    return id;
}

/* ---- cancel ---- */

CONTRACT(change_cancel_what_waits)
{
    for (int i = 0; i < 4; i++) {
        int64_t id = put_one(i < 2 ? &PUT(.key = "a") : &RECURRING(.key = "a"));
        CHECK_INT(change_either(i % 2, HORA__CHANGE_CANCEL, "a", id), HORA_CANCEL_REMOVED);
        CHECK_INT(count_tasks(), 0);
        CHECK_INT(change_either(i % 2, HORA__CHANGE_CANCEL, "a", id), HORA_CANCEL_TOO_LATE);
    }
}

CONTRACT(change_cancel_what_is_paused)
{
    put_one(&PUT(.key = "a"));
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    CHECK_INT(count_tasks(), 0);
}

CONTRACT(change_cancel_what_is_claimed)
{
    hora__lease node = join(), other = join();
    for (int i = 0; i < 4; i++) {
        int64_t id = put_one(i < 2 ? &PUT(.key = "a") : &RECURRING(.key = "a"));
        hora__claim claim = claim_one(&node);
        CHECK_OK(exchange_with(&node, (hora__exchange){.renew = true}));
        CHECK_INT(exchanged.ret_cancelled_count, 0);
        CHECK_INT(change_either(i % 2, HORA__CHANGE_CANCEL, "a", id), HORA_CANCEL_RUNNING);
        CHECK_INT(change_either(i % 2, HORA__CHANGE_CANCEL, "a", id), HORA_CANCEL_RUNNING);
        CHECK_INT(must_see(id).info.state, HORA_DURABLE_CLAIMED);
        CHECK_OK(exchange_with(&other, (hora__exchange){.renew = true}));
        CHECK_INT(exchanged.ret_cancelled_count, 0); /* it is not about that node */
        CHECK_OK(exchange_with(&node, (hora__exchange){.renew = true}));
        CHECK_INT(exchanged.ret_cancelled_count, 1);
        CHECK(exchanged.ret_cancelled_count == 1 && exchanged.ret_cancelled[0] == id);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
        CHECK_INT(count_tasks(), 0);
        CHECK_OK(exchange_with(&node, (hora__exchange){.renew = true}));
        CHECK_INT(exchanged.ret_cancelled_count, 0);
    }
}

CONTRACT(change_cancel_what_is_dead)
{
    hora__lease node = join();
    for (int i = 0; i < 4; i++) {
        int64_t id = make_dead(&node, i >= 2);
        CHECK_INT(change_either(i % 2, HORA__CHANGE_CANCEL, "a", id), HORA_CANCEL_REMOVED);
        CHECK_INT(count_dead(), 0);
        CHECK_INT(change_either(i % 2, HORA__CHANGE_CANCEL, "a", id), HORA_CANCEL_TOO_LATE);
    }
}

CONTRACT(change_cancel_by_key_prefers_the_living)
{
    hora__lease node = join();
    int64_t dead = make_dead(&node, false), later = make_dead(&node, false);
    put_one(&PUT(.key = "a"));
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    CHECK_INT(count_tasks(), 0);
    CHECK_INT(count_dead(), 2);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    CHECK(!see(later, &seen)); /* the latest of the dead */
    CHECK(see(dead, &seen));
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_TOO_LATE);
}

CONTRACT(change_cancel_unknown)
{
    put_one(&PUT(.key = "a"));
    char *before = snapshot();
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "b"), HORA_CANCEL_TOO_LATE);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "A"), HORA_CANCEL_TOO_LATE);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a "), HORA_CANCEL_TOO_LATE);
    CHECK_INT(change_id(HORA__CHANGE_CANCEL, 123456), HORA_CANCEL_TOO_LATE);
    CHECK_INT(change_id(HORA__CHANGE_CANCEL, 0), HORA_CANCEL_TOO_LATE);
    CHECK_INT(change_id(HORA__CHANGE_CANCEL, -1), HORA_CANCEL_TOO_LATE);
    CHECK_UNCHANGED(before);
}

CONTRACT(change_cancelled_counts_as_gone)
{
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    claim_one(&node);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_RUNNING);
    CHECK_ERROR(retime_key("a", now_us()), HORA_ENOENT);
    CHECK_ERROR(change_key(HORA__CHANGE_PAUSE, "a"), HORA_ENOENT);
    CHECK_ERROR(change_key(HORA__CHANGE_RESUME, "a"), HORA_ENOENT);
}

/* A new task takes the place of a cancelled run, and runs after it. */
CONTRACT(change_cancelled_can_be_put_again)
{
    static const hora_if_exists all[] = {HORA_IF_EXISTS_REFUSE, HORA_IF_EXISTS_KEEP, HORA_IF_EXISTS_REPLACE,
                                         HORA_IF_EXISTS_UPGRADE};
    hora__lease node = join();
    for (int i = 0; i < 4; i++) {
        int64_t id = put_one(&RECURRING(.key = "a", .if_exists = HORA_IF_EXISTS_UPGRADE, .revision = 9));
        hora__claim claim = claim_one(&node);
        CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_RUNNING);
        int64_t later = now_us() + HOUR;
        CHECK_INT(put_result(&RECURRING(.key = "a", .if_exists = all[i], .revision = i == 3 ? 2 : 0,
                                        .same_time = true, .payload = {"new", 3}, AT(later))),
                  HORA_PUT_REPLACED);
        CHECK_INT(claim_all(&node), 0);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
        CHECK_INT(must_see(id).info.state, HORA_DURABLE_WAITING);
        CHECK_TIME(must_see(id).due, later);
        CHECK_TEXT(must_see(id).payload, "new");
        CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    }
}

/* ---- retime ---- */

CONTRACT(change_retime_what_waits)
{
    int64_t now = now_us();
    for (int i = 0; i < 2; i++) {
        int64_t id = put_one(i == 0 ? &PUT(.key = "a") : &RECURRING(.key = "b"));
        hora__change change = {.kind = HORA__CHANGE_RETIME, .id = id, .due = now + HOUR};
        CHECK_OK(backend->ops->change(backend, &change, &contract_error));
        CHECK_TIME(must_see(id).due, now + HOUR);
        CHECK_TIME(must_see(id).planned, now + HOUR);
        CHECK_OK(retime_key(i == 0 ? "a" : "b", now - HOUR));
        CHECK_NOW(must_see(id).due, now);
        CHECK_TIME(must_see(id).planned, must_see(id).due);
    }
}

CONTRACT(change_retime_begins_with_the_first_attempt)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .due = now_us() + HOUR)), HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.attempts, 1);
    CHECK_OK(retime_key("a", now_us()));
    CHECK_INT(must_see(id).info.attempts, 0);
    CHECK_INT(claim_one(&node).attempt, 1);
}

CONTRACT(change_retime_what_is_paused)
{
    hora__lease node = join();
    int64_t now = now_us();
    int64_t id = put_one(&PUT(.key = "a"));
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    CHECK_OK(retime_key("a", now + HOUR));
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_PAUSED);
    CHECK_TIME(must_see(id).due, now + HOUR);
    CHECK_INT(claim_within(&node, 9, 2 * HOUR), 0);
    CHECK_INT(change_key(HORA__CHANGE_RESUME, "a"), 1);
    CHECK_TIME(must_see(id).due, now + HOUR);
    CHECK_INT(claim_within(&node, 9, 2 * HOUR), 1);
}

CONTRACT(change_retime_does_not_disturb_a_run)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    char *before = snapshot();
    CHECK_OK(retime_key("a", now_us() + HOUR));
    CHECK_UNCHANGED(before);
    CHECK_INT(claim_within(&node, 9, 2 * HOUR), 0);
    CHECK_INT(must_see(id).info.fence, claim.fence);
}

CONTRACT(change_unknown)
{
    hora__lease node = join();
    int64_t dead = make_dead(&node, false);
    int64_t id = put_one(&PUT(.key = "living"));
    char *before = snapshot();
    CHECK_ERROR(retime_key("b", now_us()), HORA_ENOENT);
    CHECK(contract_error.code == HORA_ENOENT && contract_error.message[0] != '\0');
    CHECK_ERROR(change_key(HORA__CHANGE_PAUSE, "b"), HORA_ENOENT);
    CHECK_ERROR(change_key(HORA__CHANGE_RESUME, "b"), HORA_ENOENT);
    CHECK_ERROR(change_key(HORA__CHANGE_REVIVE, "b"), HORA_ENOENT);
    static const hora__change_kind kinds[] = {HORA__CHANGE_RETIME, HORA__CHANGE_PAUSE, HORA__CHANGE_RESUME};
    for (int i = 0; i < 3; i++) {
        CHECK_ERROR(change_id(kinds[i], dead), HORA_ENOENT);
        CHECK_ERROR(change_key(kinds[i], "a"), HORA_ENOENT);
        CHECK_ERROR(change_id(kinds[i], 123456), HORA_ENOENT);
    }
    CHECK_ERROR(change_id(HORA__CHANGE_REVIVE, id), HORA_ENOENT);
    CHECK_ERROR(change_key(HORA__CHANGE_REVIVE, "living"), HORA_ENOENT);
    CHECK_ERROR(change_id(HORA__CHANGE_REVIVE, 123456), HORA_ENOENT);
    CHECK_UNCHANGED(before);
}

/* ---- pause and resume ---- */

CONTRACT(change_pause_and_resume)
{
    hora__lease node = join();
    for (int i = 0; i < 4; i++) {
        int64_t later = now_us() + HOUR;
        int64_t id = put_one(i < 2 ? &PUT(.key = "a", AT(later)) : &RECURRING(.key = "a", AT(later)));
        CHECK_INT(change_either(i % 2, HORA__CHANGE_RESUME, "a", id), 0);
        CHECK_INT(change_either(i % 2, HORA__CHANGE_PAUSE, "a", id), 1);
        CHECK_INT(change_either(i % 2, HORA__CHANGE_PAUSE, "a", id), 0);
        CHECK_INT(must_see(id).info.state, HORA_DURABLE_PAUSED);
        CHECK_INT(claim_within(&node, 9, 2 * HOUR), 0);
        CHECK_INT(change_either(i % 2, HORA__CHANGE_RESUME, "a", id), 1);
        CHECK_INT(change_either(i % 2, HORA__CHANGE_RESUME, "a", id), 0);
        CHECK_INT(must_see(id).info.state, HORA_DURABLE_WAITING);
        CHECK_TIME(must_see(id).due, later);
        CHECK_INT(claim_within(&node, 9, 2 * HOUR), 1);
        hora__claim claim = exchanged.ret_claims[0];
        CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    }
}

/* A node that looks only beyond the time up to which it has claimed must see it. */
CONTRACT(change_resume_of_what_has_passed_is_due_now)
{
    NEEDS_CLOCK;
    int64_t planned = now_us() + SECOND;
    int64_t id = put_one(&RECURRING(.key = "a", AT(planned)));
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    pass(HOUR);
    CHECK_INT(change_key(HORA__CHANGE_RESUME, "a"), 1);
    CHECK_TIME(must_see(id).due, now_us());
    CHECK_TIME(must_see(id).planned, planned);
}

CONTRACT(change_pause_what_is_claimed)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 0);
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_CLAIMED);
    CHECK_INT(change_key(HORA__CHANGE_RESUME, "a"), 1);
    CHECK_INT(change_key(HORA__CHANGE_RESUME, "a"), 0);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true)), HORA__SETTLED_OK);
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_PAUSED);
    CHECK_INT(claim_all(&node), 0);
    CHECK_INT(change_key(HORA__CHANGE_RESUME, "a"), 1);
    CHECK_INT(claim_all(&node), 1);
}

/* ---- revive ---- */

CONTRACT(change_revive)
{
    hora__lease node = join();
    for (int i = 0; i < 4; i++) {
        int64_t id = make_dead(&node, i >= 2);
        struct seen_task dead = must_see(id);
        CHECK_INT(dead.info.state, HORA_DURABLE_DEAD);
        CHECK_INT(dead.info.attempts, 1);
        CHECK_INT(dead.info.failures_in_a_row, 2);
        CHECK_INT(dead.info.last_code, 6);
        CHECK_INT(dead.info.node, 0);
        CHECK_INT(dead.info.recurring, i >= 2);
        CHECK_TEXT(dead.payload, "text");
        CHECK_INT(claim_all(&node), 0);
        pass(2 * MS);
        int64_t now = now_us();
        CHECK_OK(change_either(i % 2, HORA__CHANGE_REVIVE, "a", id));
        struct seen_task task = must_see(id);
        CHECK_INT(task.info.state, HORA_DURABLE_WAITING);
        CHECK_NOW(task.due, now);
        CHECK_TIME(task.planned, task.due);
        CHECK_INT(task.info.attempts, 0);
        CHECK_INT(task.info.failures_in_a_row, 0);
        CHECK_TEXT(task.payload, "text");
        CHECK_INT(count_dead(), 0);
        CHECK_ERROR(change_either(i % 2, HORA__CHANGE_REVIVE, "a", id), HORA_ENOENT);
        hora__claim claim = claim_one(&node);
        CHECK_INT(claim.attempt, 1);
        CHECK(claim.fence > dead.info.fence);
        CHECK_INT(claim.series != 0, i >= 2);
        if (claim.series != 0) {
            hora__series series;
            CHECK_OK(backend->ops->read_series(backend, claim.series, &series, &contract_error));
            CHECK_INT(series.payload.size, 4);
        }
        CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    }
}

/* With a time of its own, a task is never due before it. */
CONTRACT(change_revive_at)
{
    hora__lease node = join();
    for (int i = 0; i < 2; i++) {
        int64_t id = make_dead(&node, i == 1);
        int64_t due = now_us() + 60 * SECOND;
        CHECK_OK(revive_key("a", due));
        struct seen_task task = must_see(id);
        CHECK_INT(task.info.state, HORA_DURABLE_WAITING);
        CHECK_TIME(task.due, due);
        CHECK_TIME(task.planned, due);
        CHECK_INT(task.info.failures_in_a_row, 0);
        CHECK_INT(claim_all(&node), 0);
        CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    }
}

CONTRACT(change_revive_what_was_put_again)
{
    hora__lease node = join();
    int64_t id = make_dead(&node, false);
    put_one(&PUT(.key = "a"));
    char *before = snapshot();
    CHECK_ERROR(change_id(HORA__CHANGE_REVIVE, id), HORA_EEXIST);
    CHECK_ERROR(change_key(HORA__CHANGE_REVIVE, "a"), HORA_EEXIST);
    CHECK_UNCHANGED(before);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    CHECK_OK(change_id(HORA__CHANGE_REVIVE, id));
}

CONTRACT(change_revive_without_key)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT());
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DEAD)), HORA__SETTLED_OK);
    CHECK_OK(change_id(HORA__CHANGE_REVIVE, id));
    CHECK_INT(claim_one(&node).id, id);
}

CONTRACT(change_revive_the_latest_of_a_key)
{
    hora__lease node = join();
    int64_t first = make_dead(&node, false), second = make_dead(&node, true);
    CHECK_OK(change_key(HORA__CHANGE_REVIVE, "a"));
    CHECK_INT(must_see(second).info.state, HORA_DURABLE_WAITING);
    CHECK_INT(must_see(first).info.state, HORA_DURABLE_DEAD);
}

/* ---- stop ---- */

/* A claim whose run has failed, and which waits for another attempt in an hour. */
static hora__claim make_retried(const hora__lease *node, const hora__put *put)
{
    put_one(put);
    hora__claim claim = claim_one(node);
    CHECK_INT(settle_one(node, SETTLE(claim, *node, RETRY, .due = now_us() + HOUR, .outcome = HORA_RUN_FAILED,
                                      .code = 3, .gave_up = 2, .history = true)),
              HORA__SETTLED_OK);
    return claim;
}

CONTRACT(change_stop_a_series)
{
    hora__lease node = join();
    hora__claim claim = make_retried(&node, &RECURRING(.key = "a", .history = true));
    int64_t next = now_us() + 2 * HOUR;
    CHECK_INT(stop_firing(claim.id, claim.fence, next), 1);
    struct seen_task task = must_see(claim.id);
    CHECK_INT(task.info.state, HORA_DURABLE_WAITING);
    CHECK_TIME(task.planned, next);
    CHECK_TIME(task.due, next);
    CHECK_INT(task.info.attempts, 0);
    CHECK_INT(task.info.firings, 1);
    CHECK_INT(task.info.failures_in_a_row, 2);
    CHECK_INT(task.info.last_code, 3);
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 2);
    const struct seen_record *record = &records[0];
    CHECK_INT(record->record.outcome, HORA_RUN_STOPPED);
    CHECK_INT(record->record.code, 9);
    CHECK_INT(record->record.attempt, 1);
    CHECK_INT(record->record.node, 0);
    CHECK_TIME(record->planned, claim.planned);
    CHECK_TIME(record->started, 0);
    CHECK_NOW(record->ended, now_us());
    CHECK_TEXT(record->note, "why");
    char *before = snapshot();
    CHECK_INT(stop_firing(claim.id, claim.fence, next), 0); /* it has ended */
    CHECK_UNCHANGED(before);
    CHECK_INT(claim_within(&node, 10, 3 * HOUR), 1);
    CHECK_INT(exchanged.ret_claims[0].attempt, 1);
}

CONTRACT(change_stop_a_one_shot_task)
{
    hora__lease node = join();
    hora__claim claim = make_retried(&node, &PUT(.key = "a", .history = true));
    CHECK_INT(stop_firing(claim.id, claim.fence, now_us() + HOUR), 1);
    CHECK_INT(count_tasks(), 0);
    CHECK_INT(read_history((hora_history_filter){.outcome = HORA_RUN_STOPPED}), 1);
    claim = make_retried(&node, &PUT(.key = "b"));
    CHECK_INT(stop_firing(claim.id, claim.fence, now_us() + HOUR), 1);
    CHECK_INT(read_history((hora_history_filter){.outcome = HORA_RUN_STOPPED}), 1); /* it has no records */
}

CONTRACT(change_stop_what_is_paused)
{
    hora__lease node = join();
    hora__claim claim = make_retried(&node, &RECURRING(.key = "a"));
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    CHECK_INT(stop_firing(claim.id, claim.fence, now_us()), 1);
    CHECK_INT(must_see(claim.id).info.state, HORA_DURABLE_PAUSED);
    CHECK_INT(must_see(claim.id).info.attempts, 0);
    CHECK_INT(claim_all(&node), 0);
    CHECK_INT(change_key(HORA__CHANGE_RESUME, "a"), 1);
    CHECK_INT(claim_one(&node).attempt, 1);
}

/* Only what waits for another attempt can be stopped, and only after the attempt that the caller has seen. */
CONTRACT(change_stop_too_late)
{
    hora__lease node = join();
    int64_t fresh = put_one(&RECURRING(.key = "fresh", AT(now_us() + HOUR)));
    hora__claim claim = make_retried(&node, &RECURRING(.key = "a"));
    char *before = snapshot();
    CHECK_INT(stop_firing(fresh, 0, now_us()), 0);
    CHECK_INT(stop_firing(claim.id, claim.fence + 1, now_us()), 0);
    CHECK_INT(stop_firing(claim.id, claim.fence - 1, now_us()), 0);
    CHECK_INT(stop_firing(123456, 1, now_us()), 0);
    CHECK_UNCHANGED(before);
    CHECK_OK(retime_key("fresh", now_us() + 5 * HOUR));
    CHECK_INT(claim_within(&node, 10, 2 * HOUR), 1);
    claim = exchanged.ret_claims[0];
    CHECK_INT(claim.attempt, 2);
    before = snapshot();
    CHECK_INT(stop_firing(claim.id, claim.fence, now_us()), 0);
    CHECK_INT(stop_firing(claim.id, claim.fence - 1, now_us()), 0);
    CHECK_UNCHANGED(before);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
}

/* A run that may overlap ends alone. */
CONTRACT(change_stop_what_was_forked)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a", .history = true)), later = now_us() + 5 * HOUR;
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, FORK, .planned = later, .due = later, .overlap_max = 2)),
              HORA__SETTLED_OK);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .due = now_us() + HOUR, .outcome = HORA_RUN_FAILED,
                                       .history = true)),
              HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 2);
    CHECK_INT(stop_firing(id, claim.fence, now_us() + 2 * HOUR), 1);
    CHECK_INT(count_tasks(), 1);
    CHECK(see_key("a", &seen));
    CHECK_TIME(seen.planned, later);
    CHECK_INT(read_history((hora_history_filter){.outcome = HORA_RUN_STOPPED}), 1);
    CHECK_TEXT(records[0].key, "a");
    CHECK_TIME(records[0].planned, claim.planned);
}

CONTRACT(change_survives_closing)
{
    NEEDS_SHARED;
    hora__lease node = join();
    int64_t base = now_us();
    put_one(&PUT(.key = "retimed"));
    put_one(&PUT(.key = "cancelled"));
    put_one(&PUT(.key = "paused"));
    CHECK_INT(claim_all(&node), 3);
    hora__claim claims[3];
    memcpy(claims, exchanged.ret_claims, sizeof claims);
    CHECK_OK(retime_key("retimed", base + HOUR));
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "cancelled"), HORA_CANCEL_RUNNING);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "paused"), 1);
    reopen();
    for (int i = 0; i < 3; i++)
        CHECK_INT(settle_one(&node, SETTLE(claims[i], node, RETRY, .due = base + 2 * HOUR)),
                  HORA__SETTLED_OK);
    CHECK(see_key("retimed", &seen));
    CHECK_TIME(seen.due, base + HOUR);
    CHECK(!see_key("cancelled", &seen));
    CHECK(see_key("paused", &seen));
    CHECK_INT(seen.info.state, HORA_DURABLE_PAUSED);
}
