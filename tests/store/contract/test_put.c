/* SPDX-License-Identifier: Apache-2.0 */
/* test_put.c - the contract of put: what is inserted, refused, kept and replaced */
#include "contract.h"

CONTRACT(put_inserts_a_firing)
{
    int64_t now = now_us();
    int64_t id = put_one(&PUT(.key = "a", .payload = {"text", 4}, .definition = "attempts 3"));
    struct seen_task task = must_see(id);
    CHECK_INT(task.info.struct_size, sizeof task.info);
    CHECK_TEXT(task.handler, "h");
    CHECK_TEXT(task.key, "a");
    CHECK_TEXT(task.definition, "attempts 3");
    CHECK_INT(task.info.state, HORA_DURABLE_WAITING);
    CHECK(!task.info.recurring);
    CHECK_NOW(task.planned, now);
    CHECK_NOW(task.due, now);
    CHECK_INT(task.info.attempts, 0);
    CHECK_INT(task.info.fence, 0);
    CHECK_INT(task.info.node, 0);
    CHECK_INT(task.info.firings, 0);
    CHECK_INT(task.info.failures_in_a_row, 0);
    CHECK_INT(task.info.last_end.ns, 0);
    CHECK_INT(task.info.last_code, 0);
    CHECK_INT(task.info.last_success.ns, 0);
    CHECK_INT(task.info.revision, 0);
    CHECK_INT(task.info.payload_size, 4);
    CHECK_TEXT(task.payload, "text");
}

CONTRACT(put_without_key_definition_and_payload)
{
    struct seen_task task = must_see(put_one(&PUT()));
    CHECK(!task.has_key);
    CHECK(!task.has_definition);
    CHECK_INT(task.info.payload_size, 0);
    CHECK_INT(put_result(&PUT()), HORA_PUT_INSERTED); /* any number of tasks have no key */
    CHECK_INT(count_tasks(), 2);
}

CONTRACT(put_ids_grow_and_are_not_used_again)
{
    int64_t first = put_one(&PUT(.key = "a"));
    int64_t second = put_one(&PUT());
    CHECK(second > first);
    CHECK_INT(change_id(HORA__CHANGE_CANCEL, second), HORA_CANCEL_REMOVED);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_REMOVED);
    CHECK(put_one(&PUT(.key = "a")) > second);
}

CONTRACT(put_priorities)
{
    static const hora_priority priorities[HORA__LANES] = {HORA_PRIORITY_URGENT, HORA_PRIORITY_HIGH,
                                                          HORA_PRIORITY_NORMAL, HORA_PRIORITY_LOW};
    for (int lane = 0; lane < HORA__LANES; lane++)
        CHECK_INT(must_see(put_one(&PUT(.lane = lane))).info.priority, priorities[lane]);
}

CONTRACT(put_recurring)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a", .payload = {"text", 4}, .history = true));
    struct seen_task task = must_see(id);
    CHECK(task.info.recurring);
    CHECK_TEXT(task.definition, "rate 10000000");
    CHECK_TEXT(task.payload, "text");
    hora__claim claim = claim_one(&node);
    CHECK_INT(claim.id, id);
    CHECK(claim.series > 0);
    CHECK(claim.revision > 0);
    CHECK(claim.history);
    CHECK(claim.definition == NULL);
    CHECK(claim.payload.data == NULL);
    CHECK_TEXT(claim.key, "a");
    hora__series series;
    CHECK_OK(backend->ops->read_series(backend, claim.series, &series, &contract_error));
    CHECK_INT(series.revision, claim.revision);
    CHECK_TEXT(series.definition, "rate 10000000");
    CHECK_INT(series.payload.size, 4);
    CHECK(memcmp(series.payload.data, "text", 4) == 0);
}

CONTRACT(put_recurring_without_definition_and_payload)
{
    hora__lease node = join();
    put_one(&PUT(.key = "a", .recurring = true));
    hora__claim claim = claim_one(&node);
    hora__series series;
    CHECK_OK(backend->ops->read_series(backend, claim.series, &series, &contract_error));
    CHECK(series.definition == NULL);
    CHECK_INT(series.payload.size, 0);
}

/* ---- times ---- */

CONTRACT(put_at_a_time)
{
    int64_t later = now_us() + HOUR;
    struct seen_task task = must_see(put_one(&PUT(AT(later))));
    CHECK_TIME(task.planned, later);
    CHECK_TIME(task.due, later);
}

CONTRACT(put_with_different_planned_and_due)
{
    int64_t now = now_us();
    struct seen_task task =
        must_see(put_one(&PUT(.after_now = false, .planned = now + HOUR, .due = now + 2 * HOUR)));
    CHECK_TIME(task.planned, now + HOUR);
    CHECK_TIME(task.due, now + 2 * HOUR);
}

CONTRACT(put_after_now)
{
    pass(3 * MS);
    int64_t now = now_us();
    struct seen_task task = must_see(put_one(&PUT(.planned = HOUR, .due = 2 * HOUR)));
    CHECK_NOW(task.planned, now + HOUR);
    CHECK_NOW(task.due, now + 2 * HOUR);
}

CONTRACT(put_in_the_past_is_due_now_but_planned_in_the_past)
{
    int64_t now = now_us();
    struct seen_task task = must_see(put_one(&PUT(AT(now - HOUR))));
    CHECK_TIME(task.planned, now - HOUR);
    CHECK_NOW(task.due, now);
    task = must_see(put_one(&PUT(AT(1))));
    CHECK_TIME(task.planned, 1);
    CHECK_NOW(task.due, now);
}

CONTRACT(put_at_the_limits_of_time)
{
    int64_t far = INT64_MAX / 1000 - 1;
    struct seen_task task = must_see(put_one(&PUT(AT(far))));
    CHECK_TIME(task.due, far);
    hora__lease node = join();
    CHECK_INT(claim_within(&node, 10, 30 * SECOND), 0);
    put_one(&PUT(.planned = INT64_MAX, .due = INT64_MAX)); /* after now, which cannot be added */
    CHECK_INT(claim_within(&node, 10, 30 * SECOND), 0);
    CHECK_INT(count_tasks(), 2);
}

/* ---- contents ---- */

static void check_payload(size_t size)
{
    unsigned char *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    hora__lease node = join();
    put_one(&PUT(.payload = {bytes, size}));
    hora__claim claim = claim_one(&node);
    CHECK_INT(claim.payload.size, size);
    CHECK(size == 0 || memcmp(claim.payload.data, bytes, size) == 0);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);

    put_one(&RECURRING(.key = "r", .payload = {bytes, size}));
    claim = claim_one(&node);
    hora__series series;
    CHECK_OK(backend->ops->read_series(backend, claim.series, &series, &contract_error));
    CHECK_INT(series.payload.size, size);
    CHECK(size == 0 || memcmp(series.payload.data, bytes, size) == 0);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    free(bytes);
}

CONTRACT(put_payload_of_any_size)
{
    check_payload(0);
    check_payload(1);
    check_payload(256);
    check_payload(1 << 20);
}

static const char *const hostile_texts[] = {
    "'",
    "''",
    "\"",
    "\\",
    "\\'",
    "a'b\"c",
    "'; DROP TABLE hora_firing; --",
    "\"; DROP TABLE hora_firing; --",
    "$1",
    "?1",
    ":a",
    "%s%n",
    "%",
    "_",
    "{a,b}",
    "NULL",
    "null",
    " ",
    " a ",
    "a\nb\tc\r",
    "\x01\x1f",
    "Ärger",
    "ärger",
    "日本語のキー",
    "\xf0\x9f\x95\x90",
    "a\xcc\x88", /* two code points; */
    "\xc3\xa4",  /* the same letter as one: another key */
    "0x00",
    "{1,2}",
    "A",
    "a",
};

CONTRACT(put_hostile_names_are_ordinary)
{
    int count = (int)(sizeof hostile_texts / sizeof hostile_texts[0]);
    hora__lease node = join();
    for (int i = 0; i < count; i++) {
        const char *text = hostile_texts[i];
        int64_t id =
            put_one(&PUT(.key = text, .handler = text, .definition = text, .payload = {text, strlen(text)}));
        CHECK_INT(put_result(&PUT(.key = text, .handler = text)), HORA_EEXIST);
        struct seen_task task;
        CHECK(see_key(text, &task));
        CHECK_INT(task.info.id, id);
        CHECK_TEXT(task.handler, text);
        CHECK_TEXT(task.key, text);
        CHECK_TEXT(task.definition, text);
        CHECK_INT(
            exchange_with(
                &node, (hora__exchange){.handlers = &text, .handler_count = 1, .claim_limit = {0, 0, 9, 0}}),
            0);
        if (!CHECK_INT(exchanged.ret_claim_count, 1))
            continue;
        hora__claim claim = exchanged.ret_claims[0];
        CHECK_TEXT(claim.key, text);
        CHECK_TEXT(claim.definition, text);
        CHECK_INT(claim.payload.size, strlen(text));
        CHECK_INT(
            settle_one(&node, SETTLE(claim, node, RETRY, .due = now_us() + HOUR, .outcome = HORA_RUN_FAILED,
                                     .history = true, .note = {text, strlen(text)})),
            HORA__SETTLED_OK);
        CHECK_INT(read_history((hora_history_filter){.key = text}), 1);
        CHECK_TEXT(records[0].note, text);
        CHECK_TEXT(records[0].handler, text);
    }
    CHECK_INT(count_tasks(), count);
    for (int i = 0; i < count; i++)
        CHECK_INT(change_key(HORA__CHANGE_CANCEL, hostile_texts[i]), HORA_CANCEL_REMOVED);
    CHECK_INT(count_tasks(), 0);
}

CONTRACT(put_names_of_255_bytes)
{
    char name[256], other[256];
    memset(name, 'x', 255);
    name[255] = '\0';
    memcpy(other, name, 256);
    other[254] = 'y';
    put_one(&PUT(.key = name, .handler = name));
    put_one(&PUT(.key = other, .handler = other));
    struct seen_task task;
    CHECK(see_key(other, &task));
    CHECK_TEXT(task.key, other);
    CHECK_TEXT(task.handler, other);
}

CONTRACT(put_long_definition)
{
    char definition[4000];
    memset(definition, 'd', sizeof definition - 1);
    definition[sizeof definition - 1] = '\0';
    hora__lease node = join();
    put_one(&PUT(.definition = definition));
    CHECK_TEXT(claim_one(&node).definition, definition);
}

/* ---- keys ---- */

CONTRACT(put_refuse_a_key_that_exists)
{
    put_one(&PUT(.key = "a", .payload = {"old", 3}));
    char *before = snapshot();
    CHECK_ERROR(put_result(&PUT(.key = "a", .payload = {"new", 3})), HORA_EEXIST);
    CHECK(strstr(contract_error.message, "a") != NULL);
    CHECK_INT(contract_error.code, HORA_EEXIST);
    CHECK_UNCHANGED(before);
}

CONTRACT(put_keep_a_key_that_exists)
{
    hora__put put = PUT(.key = "a", .payload = {"old", 3}, .if_exists = HORA_IF_EXISTS_KEEP);
    int64_t id = put_one(&put);
    char *before = snapshot();
    hora__put_done done;
    size_t wrong;
    put.payload = (hora__bytes){"new", 3};
    CHECK_OK(backend->ops->put(backend, &put, 1, &done, &wrong, &contract_error));
    CHECK_INT(done.done, HORA_PUT_KEPT);
    CHECK_INT(done.id, id);
    CHECK_UNCHANGED(before);
}

CONTRACT(put_replace_a_waiting_task)
{
    int64_t now = now_us();
    int64_t id = put_one(&PUT(.key = "a", .payload = {"old", 3}, AT(now + HOUR)));
    CHECK_INT(put_replace(&PUT(.key = "a", .handler = "g", .payload = {"newer", 5}, .lane = 0,
                               .definition = "attempts 5", AT(now + 2 * HOUR))),
              id);
    struct seen_task task = must_see(id);
    CHECK_TEXT(task.handler, "g");
    CHECK_TEXT(task.payload, "newer");
    CHECK_TEXT(task.definition, "attempts 5");
    CHECK_INT(task.info.priority, HORA_PRIORITY_URGENT);
    CHECK_TIME(task.due, now + 2 * HOUR);
    CHECK_TIME(task.planned, now + 2 * HOUR);
    CHECK_INT(count_tasks(), 1);
    CHECK_INT(put_result(&PUT(.key = "b", .if_exists = HORA_IF_EXISTS_REPLACE)), HORA_PUT_INSERTED);
}

CONTRACT(put_replace_changes_what_is_claimed_next)
{
    hora__lease node = join();
    put_one(&PUT(.key = "a", .payload = {"old", 3}, .history = true, .planned = HOUR, .due = HOUR));
    put_replace(&PUT(.key = "a", .handler = "g", .payload = {"new", 3}, .lane = 1));
    hora__claim claim = claim_one(&node);
    CHECK_INT(claim.handler, 1);
    CHECK_INT(claim.lane, 1);
    CHECK(!claim.history);
    CHECK(claim.payload.size == 3 && memcmp(claim.payload.data, "new", 3) == 0);
    CHECK_INT(claim.attempt, 1);
}

CONTRACT(put_replace_in_the_past_is_due_now)
{
    int64_t now = now_us();
    int64_t id = put_one(&PUT(.key = "a", AT(now + HOUR)));
    put_replace(&PUT(.key = "a", AT(now - HOUR)));
    CHECK_NOW(must_see(id).due, now);
    CHECK_TIME(must_see(id).planned, now - HOUR);
}

CONTRACT(put_replace_begins_anew_but_keeps_fence_and_past)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RETRY, .due = now_us() + HOUR, .gave_up = 2, .code = 7,
                                       .outcome = HORA_RUN_FAILED)),
              HORA__SETTLED_OK);
    struct seen_task before = must_see(id);
    CHECK_INT(before.info.attempts, 1);
    put_replace(&PUT(.key = "a"));
    struct seen_task task = must_see(id);
    CHECK_INT(task.info.attempts, 0);
    CHECK_INT(task.info.firings, 0);
    CHECK_INT(task.info.failures_in_a_row, 0);
    CHECK_INT(task.info.fence, claim.fence);
    CHECK_INT(task.info.last_code, 7);
    CHECK_INT(task.info.last_end.ns, before.info.last_end.ns);
    CHECK(claim_one(&node).fence > claim.fence);
}

CONTRACT(put_replace_keeps_paused)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a"));
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    put_replace(&PUT(.key = "a"));
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_PAUSED);
    CHECK_INT(claim_all(&node), 0);
}

CONTRACT(put_replace_one_shot_by_recurring_and_back)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a", .payload = {"one", 3}));
    CHECK_INT(put_replace(&RECURRING(.key = "a", .payload = {"many", 4}, .planned = HOUR, .due = HOUR)), id);
    CHECK(must_see(id).info.recurring);
    CHECK_TEXT(must_see(id).payload, "many");
    CHECK_TEXT(must_see(id).definition, "rate 10000000");
    CHECK_INT(put_replace(&PUT(.key = "a", .payload = {"one", 3})), id);
    CHECK(!must_see(id).info.recurring);
    CHECK(!must_see(id).has_definition);
    hora__claim claim = claim_one(&node);
    CHECK_INT(claim.series, 0);
    CHECK_INT(claim.revision, 0);
    CHECK(claim.payload.size == 3 && memcmp(claim.payload.data, "one", 3) == 0);
}

CONTRACT(put_replace_of_another_kind_keeps_fence_and_past)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true, .due = HOUR,
                                       .outcome = HORA_RUN_SUCCEEDED, .code = 7)),
              HORA__SETTLED_OK);
    struct seen_task before = must_see(id);
    CHECK(before.info.last_success.ns != 0);
    for (int i = 0; i < 2; i++) {
        put_replace(i == 0 ? &PUT(.key = "a") : &RECURRING(.key = "a"));
        struct seen_task task = must_see(id);
        CHECK_INT(task.info.last_code, 7);
        CHECK_INT(task.info.last_end.ns, before.info.last_end.ns);
        CHECK_INT(task.info.last_success.ns, before.info.last_success.ns);
        CHECK_INT(task.info.fence, claim.fence);
        CHECK_INT(task.info.firings, 0);
    }
}

CONTRACT(put_replace_keeps_the_time_of_an_equal_definition)
{
    int64_t now = now_us();
    int64_t id = put_one(&RECURRING(.key = "a", .payload = {"old", 3}, AT(now + HOUR)));
    put_replace(&RECURRING(.key = "a", .payload = {"new", 3}, .same_time = true, AT(now + 2 * HOUR)));
    CHECK_TIME(must_see(id).planned, now + HOUR);
    CHECK_TIME(must_see(id).due, now + HOUR);
    CHECK_TEXT(must_see(id).payload, "new");
    put_replace(&RECURRING(.key = "a", AT(now + 3 * HOUR))); /* without same_time */
    CHECK_TIME(must_see(id).due, now + 3 * HOUR);
    hora__put other = RECURRING(.key = "a", .same_time = true, AT(now + 4 * HOUR));
    other.definition = "rate 20000000";
    put_replace(&other);
    CHECK_TIME(must_see(id).due, now + 4 * HOUR);
    put_replace(&PUT(.key = "a", .same_time = true, AT(now + 5 * HOUR))); /* not recurring */
    CHECK_TIME(must_see(id).due, now + 5 * HOUR);
}

CONTRACT(put_replace_keeps_the_state_of_an_equal_definition)
{
    hora__lease node = join();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .planned = 0, .due = 0, .after_now = true,
                                       .outcome = HORA_RUN_GAVE_UP, .gave_up = 4)),
              HORA__SETTLED_OK);
    claim = claim_one(&node);
    int64_t later = now_us() + HOUR;
    CHECK_INT(
        settle_one(&node, SETTLE(claim, node, RETRY, .due = later, .gave_up = 4, .outcome = HORA_RUN_FAILED)),
        HORA__SETTLED_OK);
    put_replace(&RECURRING(.key = "a", .same_time = true, AT(later + HOUR)));
    struct seen_task task = must_see(id);
    CHECK_TIME(task.due, later);
    CHECK_INT(task.info.attempts, 1);
    CHECK_INT(task.info.firings, 1);
    CHECK_INT(task.info.failures_in_a_row, 4);
}

/* The run in progress is the last of the old task, and not the first of the new one. */
CONTRACT(put_replace_of_a_claimed_firing_counts_from_0)
{
    static const hora__settle_kind kinds[] = {HORA__SETTLE_DONE, HORA__SETTLE_ADVANCE, HORA__SETTLE_RETRY,
                                              HORA__SETTLE_DEAD, HORA__SETTLE_RELEASE, HORA__SETTLE_START,
                                              HORA__SETTLE_FORK};
    hora__lease node = join(), other = join();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int64_t base = now_us();
        put_one(&RECURRING(.key = "a"));
        hora__claim claim = claim_one(&node);
        put_replace(&RECURRING(.key = "a", .definition = "rate 20000000", AT(base + HOUR)));
        CHECK(see_key("a", &seen));
        CHECK_INT(seen.info.firings, 0);
        hora__settle settle =
            SETTLE(claim, node, DONE, .planned = base + HOUR, .due = base + HOUR, .overlap_max = 2);
        settle.kind = kinds[i];
        CHECK_INT(settle_one(&node, settle), HORA__SETTLED_OK);
        if (settle.kind == HORA__SETTLE_START || settle.kind == HORA__SETTLE_FORK)
            CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
        CHECK_INT(claim_within(&other, 9, 2 * HOUR), 1);
        CHECK_INT(exchanged.ret_claims[0].firings, 0);
        CHECK_INT(settle_one(&other, SETTLE(exchanged.ret_claims[0], other, DONE)), HORA__SETTLED_OK);
        CHECK_INT(count_tasks(), 0);
    }
    /* taken from a node that has left */
    put_one(&RECURRING(.key = "a"));
    (void)claim_one(&node);
    put_replace(&RECURRING(.key = "a", .definition = "rate 20000000"));
    CHECK_OK(backend->ops->leave(backend, &node, &contract_error));
    CHECK_INT(claim_one(&other).firings, 0);
}

CONTRACT(put_upgrade_by_revision)
{
    hora__put put = PUT(.key = "a", .if_exists = HORA_IF_EXISTS_UPGRADE, .revision = 5, .payload = {"5", 1});
    int64_t id = put_one(&put);
    CHECK_INT(must_see(id).info.revision, 5);
    char *before = snapshot();
    put.payload = (hora__bytes){"x", 1};
    CHECK_INT(put_result(&put), HORA_PUT_KEPT);
    put.revision = 4;
    CHECK_INT(put_result(&put), HORA_PUT_KEPT);
    CHECK_UNCHANGED(before);
    put.revision = INT64_MAX;
    put.payload = (hora__bytes){"6", 1};
    CHECK_INT(put_result(&put), HORA_PUT_REPLACED);
    CHECK_INT(must_see(id).info.revision, INT64_MAX);
    CHECK_TEXT(must_see(id).payload, "6");
}

CONTRACT(put_upgrade_of_a_recurring_task)
{
    hora__put put = RECURRING(.key = "a", .if_exists = HORA_IF_EXISTS_UPGRADE, .revision = 1);
    int64_t id = put_one(&put);
    CHECK_INT(put_result(&put), HORA_PUT_KEPT);
    put.revision = 2;
    CHECK_INT(put_result(&put), HORA_PUT_REPLACED);
    CHECK_INT(must_see(id).info.revision, 2);
    CHECK_INT(put_replace(&RECURRING(.key = "a")), id); /* the caller does not matter */
    CHECK_INT(must_see(id).info.revision, 0);
    put.revision = 1;
    CHECK_INT(put_result(&put), HORA_PUT_REPLACED);
}

CONTRACT(put_keys_are_of_one_store)
{
    put_one(&PUT(.key = "a"));
    hora__backend *mine = backend;
    backend = open_another(false);
    CHECK_INT(count_tasks(), 0);
    put_one(&PUT(.key = "a"));
    backend->ops->close(backend);
    backend = mine;
    CHECK_INT(count_tasks(), 1);
}

/* ---- batches ---- */

CONTRACT(put_batch_inserts_all)
{
    enum { COUNT = 600 };
    static hora__put puts[COUNT];
    static hora__put_done done[COUNT];
    static char keys[COUNT][16];
    size_t wrong;
    int64_t now = now_us();
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "key %d", i);
        puts[i] = i % 2 == 0 ? PUT(.key = keys[i], AT(now + HOUR + i)) : PUT(AT(now + HOUR + i));
        if (i % 10 == 0)
            puts[i] = RECURRING(.key = keys[i], AT(now + HOUR + i));
    }
    CHECK_OK(backend->ops->put(backend, puts, COUNT, done, &wrong, &contract_error));
    CHECK_INT(count_tasks(), COUNT);
    for (int i = 0; i < COUNT; i += 7) {
        struct seen_task task = must_see(done[i].id);
        CHECK_INT(done[i].done, HORA_PUT_INSERTED);
        CHECK_TIME(task.due, now + HOUR + i);
        CHECK_INT(task.has_key, i % 2 == 0);
        CHECK_INT(task.info.recurring, i % 10 == 0);
        if (i % 2 == 0)
            CHECK_TEXT(task.key, keys[i]);
    }
}

CONTRACT(put_batch_of_none)
{
    size_t wrong = 99;
    CHECK_OK(backend->ops->put(backend, NULL, 0, NULL, &wrong, &contract_error));
    CHECK_INT(count_tasks(), 0);
}

CONTRACT(put_batch_all_or_none)
{
    put_one(&PUT(.key = "b"));
    char *before = snapshot();
    hora__put puts[] = {PUT(.key = "a"), PUT(), PUT(.key = "b"), RECURRING(.key = "c")};
    hora__put_done done[4];
    size_t wrong = 99;
    CHECK_ERROR(backend->ops->put(backend, puts, 4, done, &wrong, &contract_error), HORA_EEXIST);
    CHECK_INT(wrong, 2);
    CHECK_UNCHANGED(before);
}

CONTRACT(put_batch_undoes_a_replacement)
{
    put_one(&PUT(.key = "a", .payload = {"old", 3}));
    put_one(&RECURRING(.key = "r", .payload = {"old", 3}));
    put_one(&PUT(.key = "b"));
    char *before = snapshot();
    hora__put puts[] = {PUT(.key = "a", .payload = {"new", 3}, .if_exists = HORA_IF_EXISTS_REPLACE),
                        RECURRING(.key = "r", .payload = {"new", 3}, .if_exists = HORA_IF_EXISTS_REPLACE),
                        PUT(.key = "b")};
    hora__put_done done[3];
    size_t wrong = 99;
    CHECK_ERROR(backend->ops->put(backend, puts, 3, done, &wrong, &contract_error), HORA_EEXIST);
    CHECK_INT(wrong, 2);
    CHECK_UNCHANGED(before);
}

CONTRACT(put_batch_with_a_key_twice)
{
    char *before = snapshot();
    hora__put puts[] = {PUT(.key = "a"), PUT(.key = "b"), PUT(.key = "a")};
    hora__put_done done[3];
    size_t wrong = 99;
    CHECK_ERROR(backend->ops->put(backend, puts, 3, done, &wrong, &contract_error), HORA_EEXIST);
    CHECK_INT(wrong, 2);
    CHECK_UNCHANGED(before);

    puts[2] = PUT(.key = "a", .payload = {"2", 1}, .if_exists = HORA_IF_EXISTS_REPLACE);
    CHECK_OK(backend->ops->put(backend, puts, 3, done, &wrong, &contract_error));
    CHECK_INT(done[0].done, HORA_PUT_INSERTED);
    CHECK_INT(done[2].done, HORA_PUT_REPLACED);
    CHECK_INT(done[2].id, done[0].id);
    CHECK_TEXT(must_see(done[0].id).payload, "2");
    CHECK_INT(count_tasks(), 2);
}

CONTRACT(put_batch_keep_and_upgrade_of_its_own_keys)
{
    hora__put puts[] = {
        PUT(.key = "a", .payload = {"0", 1}, .if_exists = HORA_IF_EXISTS_KEEP),
        PUT(.key = "a", .payload = {"1", 1}, .if_exists = HORA_IF_EXISTS_KEEP),
        PUT(.key = "b", .payload = {"2", 1}, .if_exists = HORA_IF_EXISTS_UPGRADE, .revision = 2),
        PUT(.key = "b", .payload = {"3", 1}, .if_exists = HORA_IF_EXISTS_UPGRADE, .revision = 3),
        PUT(.key = "b", .payload = {"4", 1}, .if_exists = HORA_IF_EXISTS_UPGRADE, .revision = 1),
    };
    static const hora_put want[] = {HORA_PUT_INSERTED, HORA_PUT_KEPT, HORA_PUT_INSERTED, HORA_PUT_REPLACED,
                                    HORA_PUT_KEPT};
    hora__put_done done[5];
    size_t wrong;
    CHECK_OK(backend->ops->put(backend, puts, 5, done, &wrong, &contract_error));
    for (int i = 0; i < 5; i++)
        CHECK_INT(done[i].done, want[i]);
    CHECK_INT(done[1].id, done[0].id);
    CHECK_INT(done[4].id, done[2].id);
    CHECK_TEXT(must_see(done[0].id).payload, "0");
    CHECK_TEXT(must_see(done[2].id).payload, "3");
    CHECK_INT(must_see(done[2].id).info.revision, 3);
}

CONTRACT(put_after_a_dead_task_with_its_key)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DEAD, .outcome = HORA_RUN_GAVE_UP)), HORA__SETTLED_OK);
    int64_t other = put_one(&PUT(.key = "a"));
    CHECK(other > id);
    CHECK_INT(count_tasks(), 1);
    CHECK_INT(count_dead(), 1);
}

/* ---- the calls of a store that is shared ---- */

CONTRACT(put_survives_closing)
{
    NEEDS_SHARED;
    int64_t id = put_one(&PUT(.key = "a", .payload = {"text", 4}, .planned = HOUR, .due = HOUR));
    int64_t series = put_one(&RECURRING(.key = "r", .payload = {"many", 4}, .planned = HOUR, .due = HOUR));
    char *before = snapshot();
    reopen();
    CHECK_UNCHANGED(before);
    CHECK_TEXT(must_see(id).payload, "text");
    CHECK_TEXT(must_see(series).payload, "many");
    CHECK(put_one(&PUT()) > series);
}
