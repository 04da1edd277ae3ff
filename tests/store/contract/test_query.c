/* SPDX-License-Identifier: Apache-2.0 */
/* test_query.c - the contract of list, history, trim and stats */
#include "contract.h"

/* ---- list ---- */

enum { MAX_LISTED = 3000 };

/* The ids that a listing has shown. */
static struct listing {
    int64_t ids[MAX_LISTED];
    int count;
    int stop_after; /* 0: never */
} listing;

static int note_id(hora_durable_info *info, const char *definition, void *arg)
{
    (void)definition, (void)arg;
    if (listing.count < MAX_LISTED)
        listing.ids[listing.count] = info->id;
    listing.count++;
    return listing.count == listing.stop_after ? 42 : 0;
}

static int list(hora_durable_filter filter)
{
    listing.count = 0;
    filter.struct_size = (uint32_t)sizeof filter;
    CHECK_OK(backend->ops->list(backend, &filter, note_id, NULL, &contract_error));
    return listing.count;
}

CONTRACT(list_nothing)
{
    CHECK_INT(list((hora_durable_filter){0}), 0);
    CHECK_INT(list((hora_durable_filter){.state = HORA_DURABLE_DEAD}), 0);
}

/* A waiting, a claimed, a paused and a dead task, in this order. */
static void make_states(int64_t ids[4])
{
    static const char *const keys[] = {"waiting", "claimed", "paused", "dead"};
    hora__lease node = join();
    for (int i = 0; i < 4; i++)
        ids[i] = put_one(&PUT(.key = keys[i], .lane = i == 1 || i == 3 ? 0 : 1));
    CHECK_OK(exchange_with(&node, (hora__exchange){.claim_limit = {9, 0, 0, 0}}));
    CHECK_INT(exchanged.ret_claim_count, 2);
    hora__claim claim = exchanged.ret_claims[1];
    CHECK_INT(claim.id, ids[3]);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DEAD)), HORA__SETTLED_OK);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "paused"), 1);
}

CONTRACT(list_by_state)
{
    int64_t ids[4];
    make_states(ids);
    for (int state = HORA_DURABLE_WAITING; state <= HORA_DURABLE_DEAD; state++) {
        CHECK_INT(list((hora_durable_filter){.state = (hora_durable_state)state}), 1);
        CHECK_INT(listing.ids[0], ids[state - 1]);
    }
    CHECK_INT(list((hora_durable_filter){0}), 3); /* without the dead */
    for (int i = 0; i < 3; i++)
        CHECK_INT(listing.ids[i], ids[i]);
}

CONTRACT(list_by_key)
{
    int64_t ids[4];
    make_states(ids);
    CHECK_INT(list((hora_durable_filter){.key = "paused"}), 1);
    CHECK_INT(listing.ids[0], ids[2]);
    CHECK_INT(list((hora_durable_filter){.key = "pause"}), 0);
    CHECK_INT(list((hora_durable_filter){.key = "Paused"}), 0);
    CHECK_INT(list((hora_durable_filter){.key = "dead"}), 0);
    CHECK_INT(list((hora_durable_filter){.key = "dead", .state = HORA_DURABLE_DEAD}), 1);
    CHECK_INT(list((hora_durable_filter){.key = "paused", .state = HORA_DURABLE_WAITING}), 0);
}

CONTRACT(list_by_prefix_of_the_key)
{
    static const char *const keys[] = {"a",  "aa",  "aaa", "ab",   "A", "a%", "a%b",
                                       "a_", "a_b", "\\",  "a\\b", "ä", "a'"};
    static const struct {
        const char *prefix;
        int count;
    } cases[] = {{"a", 10}, {"aa", 2}, {"A", 1}, {"a%", 2}, {"a_", 2}, {"\\", 1},   {"a\\", 1},
                 {"ä", 1},  {"a'", 1}, {"b", 0}, {"%", 0},  {"_", 0},  {"aaaa", 0}, {"", 13}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        put_one(&PUT(.key = keys[i]));
    put_one(&PUT()); /* has no key, so none that begins with anything */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int count = list((hora_durable_filter){.key_prefix = cases[i].prefix});
        contract_check_int(__FILE__, __LINE__, cases[i].prefix, count, cases[i].count);
    }
}

CONTRACT(list_by_handler)
{
    put_one(&PUT(.handler = "a"));
    int64_t id = put_one(&PUT(.handler = "b", .key = "x"));
    put_one(&RECURRING(.handler = "B", .key = "y"));
    CHECK_INT(list((hora_durable_filter){.handler = "b"}), 1);
    CHECK_INT(listing.ids[0], id);
    CHECK_INT(list((hora_durable_filter){.handler = "c"}), 0);
    CHECK_INT(list((hora_durable_filter){.handler = "b", .key_prefix = "x"}), 1);
    CHECK_INT(list((hora_durable_filter){.handler = "b", .key_prefix = "y"}), 0);
}

/* Puts tasks in batches; returns the ids in their order. */
static void put_many(int count, int64_t *ret_ids)
{
    static hora__put puts[MAX_LISTED];
    static hora__put_done done[MAX_LISTED];
    size_t wrong;
    for (int i = 0; i < count; i++)
        puts[i] = PUT(.planned = HOUR, .due = HOUR);
    CHECK_OK(backend->ops->put(backend, puts, (size_t)count, done, &wrong, &contract_error));
    for (int i = 0; i < count; i++)
        ret_ids[i] = done[i].id;
}

CONTRACT(list_in_the_order_of_ids)
{
    static int64_t ids[MAX_LISTED];
    put_many(1700, ids);
    CHECK_INT(list((hora_durable_filter){0}), 1700);
    CHECK(memcmp(listing.ids, ids, 1700 * sizeof ids[0]) == 0);
}

CONTRACT(list_pages)
{
    static int64_t ids[MAX_LISTED];
    put_many(1100, ids);
    static const int64_t limits[] = {1, 64, 500, 501, 1099, 1100, 1101};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        int64_t after = 0;
        int total = 0;
        for (int pages = 0; pages < 1102; pages++) {
            int count = list((hora_durable_filter){.after_id = after, .limit = limits[i]});
            CHECK(count <= limits[i]);
            if (count == 0)
                break;
            CHECK_INT(listing.ids[0], ids[total]);
            after = listing.ids[count - 1];
            total += count;
            if (limits[i] == 1 && total == 20)
                break;
        }
        CHECK_INT(total, limits[i] == 1 ? 20 : 1100);
    }
    CHECK_INT(list((hora_durable_filter){.after_id = ids[1099]}), 0);
    CHECK_INT(list((hora_durable_filter){.after_id = INT64_MAX}), 0);
    CHECK_INT(list((hora_durable_filter){.after_id = -1}), 1100);
}

CONTRACT(list_ends_when_the_function_says_so)
{
    static int64_t ids[MAX_LISTED];
    put_many(700, ids);
    static const int stops[] = {1, 64, 65, 500, 600, 700};
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        listing = (struct listing){.stop_after = stops[i]};
        hora_durable_filter filter = {.struct_size = (uint32_t)sizeof filter};
        CHECK_INT(backend->ops->list(backend, &filter, note_id, NULL, &contract_error), 42);
        CHECK_INT(listing.count, stops[i]);
    }
    listing.stop_after = 0;
}

/* Between the pages, tasks ahead of the listing and behind it are deleted, changed and added. */
CONTRACT(list_pages_while_tasks_change)
{
    static int64_t ids[MAX_LISTED];
    put_many(1000, ids);
    int64_t after = 0;
    int total = 0, deleted = 0;
    for (int page = 0; page < 20; page++) {
        int count = list((hora_durable_filter){.after_id = after, .limit = 100});
        if (count == 0)
            break;
        CHECK(listing.ids[0] > after);
        for (int i = 1; i < count; i++)
            CHECK(listing.ids[i] > listing.ids[i - 1]); /* none twice */
        after = listing.ids[count - 1];
        total += count;
        if (page < 4) {
            CHECK_INT(change_id(HORA__CHANGE_CANCEL, ids[500 + 100 * page]), HORA_CANCEL_REMOVED);
            CHECK_INT(change_id(HORA__CHANGE_CANCEL, ids[50 + 100 * page]), HORA_CANCEL_REMOVED);
            CHECK_INT(change_id(HORA__CHANGE_PAUSE, ids[501 + 100 * page]), 1);
            deleted++;
            put_one(&PUT(.planned = HOUR, .due = HOUR));
        }
    }
    CHECK_INT(deleted, 4);
    CHECK_INT(total, 1000); /* without the 4 that were deleted ahead, with the 4 that were added */
    CHECK_INT(count_tasks(), 1000 - deleted);
}

/* ---- history ---- */

/* Runs a task `count` times, with the outcomes in turn. */
static void make_history(const hora__lease *node, const char *key, int count,
                         const hora_run_outcome *outcomes, int outcome_count)
{
    put_one(&RECURRING(.key = key));
    for (int i = 0; i < count; i++) {
        hora__claim claim = claim_one(node);
        CHECK_INT(settle_one(node, SETTLE(claim, *node, ADVANCE, .after_now = true, .history = true,
                                          .code = i, .outcome = outcomes[i % outcome_count])),
                  HORA__SETTLED_OK);
    }
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, key), HORA_CANCEL_REMOVED);
}

static const hora_run_outcome some_outcomes[] = {HORA_RUN_SUCCEEDED, HORA_RUN_FAILED, HORA_RUN_GAVE_UP,
                                                 HORA_RUN_SKIPPED,   HORA_RUN_LOST,   HORA_RUN_STOPPED};

CONTRACT(history_nothing)
{
    CHECK_INT(read_history((hora_history_filter){0}), 0);
}

CONTRACT(history_filters)
{
    hora__lease node = join();
    make_history(&node, "a", 12, some_outcomes, 6);
    make_history(&node, "b", 6, some_outcomes, 6);
    CHECK_INT(read_history((hora_history_filter){0}), 18);
    for (int i = 1; i < 18; i++)
        CHECK(records[i].record.id < records[i - 1].record.id); /* the latest first */
    CHECK_TEXT(records[0].key, "b");
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 12);
    CHECK_INT(records[0].record.code, 11);
    CHECK_INT(read_history((hora_history_filter){.key = "A"}), 0);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(read_history((hora_history_filter){.outcome = some_outcomes[i]}), 3);
        CHECK_INT(read_history((hora_history_filter){.key = "b", .outcome = some_outcomes[i]}), 1);
    }
    CHECK_INT(read_history((hora_history_filter){.failed = true}), 9);
    CHECK_INT(read_history((hora_history_filter){.failed = true, .key = "b"}), 3);
    CHECK_INT(read_history((hora_history_filter){.failed = true, .outcome = HORA_RUN_SUCCEEDED}), 0);
    CHECK_INT(read_history((hora_history_filter){.failed = true, .outcome = HORA_RUN_LOST}), 3);
}

CONTRACT(history_pages)
{
    hora__lease node = join();
    make_history(&node, "a", 70, some_outcomes, 2);
    int64_t before = 0;
    int total = 0;
    for (int pages = 0; pages < 100; pages++) {
        int count = read_history((hora_history_filter){.before_id = before, .limit = 7});
        if (count == 0)
            break;
        CHECK(count == 7 || total + count == 70);
        for (int i = 0; i < count; i++)
            CHECK_INT(records[i].record.code, 69 - total - i);
        before = records[count - 1].record.id;
        total += count;
    }
    CHECK_INT(total, 70);
    CHECK_INT(read_history((hora_history_filter){.limit = 40, .outcome = HORA_RUN_FAILED}), 35);
    CHECK_INT(read_history((hora_history_filter){.limit = 3, .outcome = HORA_RUN_FAILED}), 3);
}

CONTRACT(history_since)
{
    NEEDS_CLOCK;
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    int64_t start = now_us();
    for (int i = 0; i < 5; i++) {
        hora__claim claim = claim_one(&node);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true, .history = true,
                                           .outcome = HORA_RUN_SUCCEEDED)),
                  HORA__SETTLED_OK);
        pass(SECOND);
    }
    for (int i = 0; i < 5; i++) {
        hora_instant since = {(start + i * SECOND) * 1000};
        CHECK_INT(read_history((hora_history_filter){.since = since}), 5 - i);
        since.ns++;
        CHECK_INT(read_history((hora_history_filter){.since = since}), 4 - i);
    }
}

static int stop_at_third(const hora_run_record *record, void *arg)
{
    (void)record;
    return ++*(int *)arg == 3 ? 17 : 0;
}

CONTRACT(history_ends_when_the_function_says_so)
{
    hora__lease node = join();
    make_history(&node, "a", 5, some_outcomes, 1);
    int count = 0;
    hora_history_filter filter = {.struct_size = (uint32_t)sizeof filter};
    CHECK_INT(backend->ops->history(backend, &filter, stop_at_third, &count, &contract_error), 17);
    CHECK_INT(count, 3);
}

CONTRACT(history_survives_the_task)
{
    hora__lease node = join();
    int64_t id = put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE, .history = true, .outcome = HORA_RUN_SUCCEEDED)),
              HORA__SETTLED_OK);
    CHECK_INT(count_tasks(), 0);
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 1);
    CHECK_INT(records[0].record.task_id, id);
    CHECK_TEXT(records[0].handler, "h");
}

/* ---- trim ---- */

static int64_t trim(int64_t before)
{
    int64_t deleted = -1;
    CHECK_OK(backend->ops->trim(backend, before, &deleted, &contract_error));
    return deleted;
}

CONTRACT(trim_exactly)
{
    NEEDS_CLOCK;
    hora__lease node = join();
    put_one(&RECURRING(.key = "a"));
    int64_t start = now_us();
    for (int i = 0; i < 5; i++) {
        hora__claim claim = claim_one(&node);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true, .history = true,
                                           .code = i, .outcome = HORA_RUN_SUCCEEDED)),
                  HORA__SETTLED_OK);
        pass(SECOND);
    }
    CHECK_INT(trim(start), 0);
    CHECK_INT(trim(start + 1), 1);
    CHECK_INT(trim(start + 2 * SECOND), 1);
    CHECK_INT(read_history((hora_history_filter){0}), 3);
    CHECK_INT(records[2].record.code, 2);
    CHECK_INT(trim(start + HOUR), 3);
    CHECK_INT(trim(start + HOUR), 0);
    CHECK_INT(read_history((hora_history_filter){0}), 0);
    CHECK_INT(count_tasks(), 1);
}

/* PostgreSQL may keep the records of the day of `before`. */
CONTRACT(trim_by_the_day)
{
    hora__lease node = join();
    make_history(&node, "a", 20, some_outcomes, 5);
    int64_t now = now_us();
    CHECK_INT(trim(now - HOUR), 0);
    CHECK_INT(trim(INT64_MIN), 0);
    CHECK_INT(read_history((hora_history_filter){0}), 20);
    int64_t last = records[0].record.id;
    CHECK_INT(trim(now + 50 * HOUR), 20);
    CHECK_INT(read_history((hora_history_filter){0}), 0);
    make_history(&node, "a", 1, some_outcomes, 1);
    CHECK_INT(read_history((hora_history_filter){0}), 1);
    CHECK(records[0].record.id > last); /* ids go on */
}

/* ---- stats ---- */

static hora_store_stats get_stats(void)
{
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    CHECK_OK(backend->ops->stats(backend, &stats, &contract_error));
    CHECK_INT(stats.struct_size, sizeof stats);
    return stats;
}

CONTRACT(stats_of_nothing)
{
    int64_t now = now_us();
    hora_store_stats stats = get_stats();
    CHECK_NOW(stats.now.ns / 1000, now);
    CHECK_INT(stats.waiting, 0);
    CHECK_INT(stats.claimed, 0);
    CHECK_INT(stats.paused, 0);
    CHECK_INT(stats.dead, 0);
    CHECK_INT(stats.overdue, 0);
    CHECK_INT(stats.next_due.ns, 0);
    CHECK_INT(stats.nodes, 0);
}

CONTRACT(stats_count_states)
{
    int64_t ids[4];
    make_states(ids);
    int64_t later = now_us() + HOUR;
    put_one(&PUT(AT(later)));
    pass(1 * MS);
    hora_store_stats stats = get_stats();
    CHECK_INT(stats.waiting, 2);
    CHECK_INT(stats.claimed, 1);
    CHECK_INT(stats.paused, 1);
    CHECK_INT(stats.dead, 1);
    CHECK_INT(stats.overdue, 1);
    CHECK_INT(stats.next_due.ns / 1000, must_see(ids[0]).due);
    CHECK_INT(stats.nodes, 1);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "waiting"), HORA_CANCEL_REMOVED);
    stats = get_stats();
    CHECK_INT(stats.overdue, 0);
    CHECK_INT(stats.next_due.ns / 1000, later);
}

CONTRACT(stats_overdue_exactly)
{
    NEEDS_CLOCK;
    put_one(&PUT(AT(now_us() + 10)));
    CHECK_INT(get_stats().overdue, 0);
    pass(9);
    CHECK_INT(get_stats().overdue, 0);
    pass(1);
    CHECK_INT(get_stats().overdue, 1);
}

CONTRACT(stats_count_nodes_with_a_lease)
{
    hora__lease node = join();
    join_shortly();
    CHECK_INT(get_stats().nodes, 2);
    pass(SHORT_LEASE);
    CHECK_INT(get_stats().nodes, 1);
    CHECK_OK(backend->ops->leave(backend, &node, &contract_error));
    CHECK_INT(get_stats().nodes, 0);
}
