/* SPDX-License-Identifier: Apache-2.0 */
/* test_random.c - random operations on the backend and on a store in memory must have the same results
 *
 * Both stores get the same operations: puts, changes, exchanges of three nodes, reaps and leaves. Results,
 * claims and all that list, history and stats show are compared after each. Ids, nodes and series may have
 * different numbers in the two stores, so a firing in hand, a task and a node are pairs.
 *
 * With a virtual clock, times are compared exactly, and leases end. A store with its own clock is compared
 * with one that uses the clock of the machine: all times are now or hours away, and no lease ends. */
#include "contract.h"

#include <stdarg.h>

enum { NODES = 3, MAX_HELD = 60, MAX_TASKS = 400, KEYS = 12, MAX_NODES = 2000 };

/* What both stores have: index 0 is the backend under test, 1 the store in memory. */
struct both_claims {
    hora__claim of[2];
    int64_t owner[2];
};

static struct world {
    uint64_t seed, random;
    bool exact;
    int64_t base;
    hora__backend *stores[2];
    hora__lease leases[NODES][2];
    bool joined[NODES];
    int64_t nodes[2][MAX_NODES]; /* all nodes so far */
    int node_count;
    struct both_claims held[MAX_HELD];
    int held_count;
    int64_t tasks[MAX_TASKS][2]; /* ids of tasks that were put */
    int task_count;
    char trace[200];
} world;

static uint32_t pick(uint32_t below)
{
    return random_below(&world.random, below);
}

static bool chance(uint32_t percent)
{
    return pick(100) < percent;
}

/* Says what is done next. With HORA_TEST_TRACE it is printed. */
__attribute__((format(printf, 1, 2))) static void trace(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world.trace, sizeof world.trace, format, arguments);
    va_end(arguments);
    if (getenv("HORA_TEST_TRACE") != NULL)
        printf("\n    %s", world.trace);
}

static bool same(const char *what, int64_t got, int64_t want)
{
    if (got != want)
        contract_fail(__FILE__, __LINE__,
                      "%s: %s is %" PRId64 ", but %" PRId64 " in memory (seed %" PRIu64 ")", world.trace,
                      what, got, want, world.seed);
    return got == want;
}

static int64_t store_now(int store)
{
    int64_t now = 0;
    CHECK_OK(world.stores[store]->ops->now(world.stores[store], &now, &contract_error));
    return now;
}

/* A time that is not a tie with the present: now, or hours from the base. */
static int64_t pick_time(void)
{
    if (world.exact)
        return store_now(1) + (int64_t)pick(2000000) - 500000;
    return chance(60) ? world.base - HOUR : world.base + HOUR * (1 + pick(9));
}

/* ---- clients ---- */

static char keys[KEYS][8];

static hora__put pick_put(void)
{
    static const char *const definitions[] = {NULL, "rate 1", "rate 2"};
    static const char *const payloads[] = {"", "a", "bc"};
    const char *payload = payloads[pick(3)];
    bool recurring = chance(70);
    int64_t time = pick_time();
    hora__put put = {
        .handler = chance(90)   ? "h"
                   : chance(50) ? "g"
                                : "unknown",
        .if_exists = (hora_if_exists)pick(4),
        .recurring = recurring,
        .definition = definitions[pick(3)],
        .same_time = chance(50),
        .payload = {payload[0] == '\0' ? NULL : payload, strlen(payload)},
        .lane = (int)pick(HORA__LANES),
        .history = chance(50),
        .planned = time,
        .due = time,
    };
    if (recurring || chance(50))
        put.key = keys[pick(KEYS)];
    else
        put.if_exists = HORA_IF_EXISTS_REFUSE;
    if (put.if_exists == HORA_IF_EXISTS_UPGRADE)
        put.revision = 1 + pick(5);
    if (world.exact && chance(30)) {
        put.after_now = true;
        put.planned = put.due = pick(1000000);
    }
    return put;
}

static int compare_keys(const void *a, const void *b)
{
    const hora__put *put = a, *other = b;
    return strcmp(put->key == NULL ? "" : put->key, other->key == NULL ? "" : other->key);
}

static void random_put(void)
{
    enum { MOST = 6 };
    hora__put puts[MOST];
    hora__put_done done[2][MOST] = {{{0, 0}}};
    size_t wrong[2] = {99, 99};
    int results[2];
    /* Without a virtual clock, tasks of one put may become due at different readings of the clock. */
    size_t count = world.exact ? 1 + pick(MOST) : 1;
    for (size_t i = 0; i < count; i++)
        puts[i] = pick_put();
    /* A backend may give out ids in the order of keys. */
    qsort(puts, count, sizeof puts[0], compare_keys);
    trace("put of %zu, the first with %s, if_exists %d, recurring %d", count,
          puts[0].key == NULL ? "no key" : puts[0].key, (int)puts[0].if_exists, puts[0].recurring);
    for (int store = 0; store < 2; store++)
        results[store] = world.stores[store]->ops->put(world.stores[store], puts, count, done[store],
                                                       &wrong[store], &contract_error);
    same("the result", results[0], results[1]);
    if (results[1] < 0) /* which of several wrong tasks is named is not defined */
        return;
    for (size_t i = 0; i < count; i++) {
        same("what was done", done[0][i].done, done[1][i].done);
        int at = world.task_count < MAX_TASKS ? world.task_count++ : (int)pick(MAX_TASKS);
        world.tasks[at][0] = done[0][i].id;
        world.tasks[at][1] = done[1][i].id;
    }
}

static void random_change(void)
{
    hora__change change = {.kind = (hora__change_kind)(1 + pick(5)), .due = pick_time()};
    int task = world.task_count > 0 ? (int)pick((uint32_t)world.task_count) : -1;
    int results[2];
    if (task < 0 || chance(60))
        change.key = keys[pick(KEYS)];
    trace("change %d of %s", (int)change.kind, change.key != NULL ? change.key : "an id");
    for (int store = 0; store < 2; store++) {
        change.id = change.key != NULL ? 0 : world.tasks[task][store];
        results[store] = world.stores[store]->ops->change(world.stores[store], &change, &contract_error);
    }
    same("the result", results[0], results[1]);
}

/* ---- nodes ---- */

static void random_join(int node)
{
    int64_t ttl = world.exact ? 300000 + (int64_t)pick(1000000) : 3600 * SECOND;
    trace("join");
    for (int store = 0; store < 2; store++)
        CHECK_OK(world.stores[store]->ops->join(world.stores[store], "a node", ttl,
                                                &world.leases[node][store], &contract_error));
    world.joined[node] = true;
    if (world.node_count == MAX_NODES)
        contract_abort();
    for (int store = 0; store < 2; store++)
        world.nodes[store][world.node_count] = world.leases[node][store].node;
    world.node_count++;
}

static hora__settle pick_settle(const struct both_claims *held, int store, hora__settle_kind kind,
                                hora_run_outcome outcome, int64_t time, uint32_t luck)
{
    return (hora__settle){
        .id = held->of[store].id,
        .fence = held->of[store].fence + (luck % 20 == 0),
        .owner = held->owner[store],
        .kind = kind,
        .planned = time,
        .due = time,
        .overlap_max = 1 + (int)(luck % 3),
        .outcome = outcome,
        .code = 3 * (int)outcome,
        .run_us = outcome == HORA_RUN_SKIPPED && luck % 2 == 0 ? HORA__NO_RUN : 5,
        .skipped = luck % 4,
        .gave_up = outcome == HORA_RUN_GAVE_UP ? held->of[1].gave_up + 1 : 0,
        .history = held->of[store].history,
        .attempt = held->of[store].attempt,
        .ran_planned = held->of[store].planned,
        .note = {outcome == HORA_RUN_FAILED ? "note" : NULL, outcome == HORA_RUN_FAILED ? 4 : 0},
    };
}

static bool is_recurring(const struct both_claims *held)
{
    return held->of[1].series != 0;
}

static hora__settle_kind pick_kind(const struct both_claims *held)
{
    static const hora__settle_kind recurring[] = {
        HORA__SETTLE_DONE,    HORA__SETTLE_ADVANCE, HORA__SETTLE_ADVANCE, HORA__SETTLE_RETRY,
        HORA__SETTLE_RELEASE, HORA__SETTLE_START,   HORA__SETTLE_FORK,    HORA__SETTLE_FORK,
        HORA__SETTLE_FORK,    HORA__SETTLE_DEAD,
    };
    static const hora__settle_kind once[] = {HORA__SETTLE_DONE, HORA__SETTLE_RETRY, HORA__SETTLE_DEAD,
                                             HORA__SETTLE_RELEASE, HORA__SETTLE_START};
    return is_recurring(held) ? recurring[pick(10)] : once[pick(5)];
}

static void compare_claims(const hora__claim *got, const hora__claim *want)
{
    same("handler", got->handler, want->handler);
    same("lane", got->lane, want->lane);
    same("attempt", got->attempt, want->attempt);
    same("firings", got->firings, want->firings);
    if (!want->forked) /* of a forked row, it may be that of its series */
        same("gave_up", got->gave_up, want->gave_up);
    same("history", got->history, want->history);
    same("forked", got->forked, want->forked);
    same("recurring", got->series != 0, want->series != 0);
    same("payload", (int64_t)got->payload.size, (int64_t)want->payload.size);
    if (world.exact) {
        same("planned", got->planned, want->planned);
        same("due", got->due, want->due);
        if (!want->forked)
            same("last_success", got->last_success, want->last_success);
        if (!want->forked)
            same("last_end", got->last_end, want->last_end);
        same("fence", got->fence, want->fence);
        same("revision", got->revision, want->revision);
    }
    CHECK_TEXT(got->key, want->key);
    CHECK_TEXT(got->definition, want->definition);
    if (got->payload.size == want->payload.size && got->payload.size > 0)
        CHECK(memcmp(got->payload.data, want->payload.data, got->payload.size) == 0);
}

static void compare_series(int64_t got_id, int64_t want_id)
{
    hora__series got, want;
    int result = world.stores[0]->ops->read_series(world.stores[0], got_id, &got, &contract_error);
    if (!same("read_series", result,
              world.stores[1]->ops->read_series(world.stores[1], want_id, &want, &contract_error)) ||
        result < 0)
        return;
    CHECK_TEXT(got.definition, want.definition);
    same("payload of the series", (int64_t)got.payload.size, (int64_t)want.payload.size);
}

/* Keeps the claims of both stores, which are the same firings in the same order. */
static void hold_claims(int node, const hora__exchange exchanges[2])
{
    size_t count = exchanges[1].ret_claim_count;
    if (!same("the number of claims", (int64_t)exchanges[0].ret_claim_count, (int64_t)count))
        return;
    for (size_t i = 0; i < count; i++) {
        struct both_claims claims;
        for (int store = 0; store < 2; store++) {
            claims.of[store] = exchanges[store].ret_claims[i];
            claims.owner[store] = world.leases[node][store].node;
        }
        compare_claims(&claims.of[0], &claims.of[1]);
        /* texts and payload are only valid until the next exchange */
        int at = world.held_count < MAX_HELD ? world.held_count++ : (int)pick(MAX_HELD);
        world.held[at] = claims;
    }
    for (size_t i = 0; i < count; i++)
        compare_series(exchanges[0].ret_claims[i].series, exchanges[1].ret_claims[i].series);
}

static void compare_exchanges(int node, const hora__exchange exchanges[2])
{
    for (size_t i = 0; i < exchanges[1].settle_count; i++)
        same("a settlement", exchanges[0].ret_settled[i], exchanges[1].ret_settled[i]);
    for (int lane = 0; lane < HORA__LANES; lane++) {
        int64_t got = exchanges[0].ret_next_due[lane], want = exchanges[1].ret_next_due[lane];
        if (exchanges[1].claim_limit[lane] == 0)
            continue;
        if (world.exact)
            same("next_due", got, want);
        else
            same("next_due", got == HORA__NEVER, want == HORA__NEVER);
    }
    if (world.exact) {
        same("now", exchanges[0].ret_now, exchanges[1].ret_now);
        same("lease_left", exchanges[0].ret_lease_left, exchanges[1].ret_lease_left);
    }
    if (exchanges[1].renew)
        same("the number of cancelled runs", (int64_t)exchanges[0].ret_cancelled_count,
             (int64_t)exchanges[1].ret_cancelled_count);
    hold_claims(node, exchanges);
}

enum { MAX_SETTLES = 4 };

/* True if a firing, or one of its series, is among those that are settled already: the order of settlements
 * in one exchange is not defined. */
static bool depends(const struct both_claims *held, const struct both_claims *others, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (held->of[1].id == others[i].of[1].id ||
            (is_recurring(held) && held->of[1].series == others[i].of[1].series))
            return true;
    }
    return false;
}

/* Settles some of what is in hand, perhaps not for the first time. Returns how many. */
static size_t pick_settles(hora__settle settles[2][MAX_SETTLES])
{
    struct both_claims chosen[MAX_SETTLES];
    size_t count = 0;
    /* Without a virtual clock, it is not known which of several firings is due first afterwards. */
    size_t most = world.exact ? MAX_SETTLES : 1;
    while (world.held_count > 0 && count < most && chance(70)) {
        int at = (int)pick((uint32_t)world.held_count);
        struct both_claims held = world.held[at];
        if (depends(&held, chosen, count))
            continue;
        static const hora_run_outcome outcomes[] = {HORA_RUN_SUCCEEDED, HORA_RUN_FAILED,  HORA_RUN_GAVE_UP,
                                                    HORA_RUN_SKIPPED,   HORA_RUN_STOPPED, HORA_RUN_LOST};
        hora__settle_kind kind = pick_kind(&held);
        bool stays = kind == HORA__SETTLE_START || kind == HORA__SETTLE_FORK;
        hora_run_outcome outcome = stays || kind == HORA__SETTLE_RELEASE ? 0 : outcomes[pick(6)];
        int64_t time = pick_time();
        uint32_t luck = pick(60);
        for (int store = 0; store < 2; store++)
            settles[store][count] = pick_settle(&held, store, kind, outcome, time, luck);
        chosen[count++] = held;
        if (!stays && chance(80))
            world.held[at] = world.held[--world.held_count];
    }
    return count;
}

static hora__exchange pick_exchange(void)
{
    static const char *const handlers[] = {"h", "g"};
    hora__exchange exchange = {.renew = chance(50),
                               .handlers = handlers,
                               .handler_count = 1 + (int)pick(2),
                               .horizon_us = world.exact ? pick(1000000) : 0};
    int64_t low = world.exact && chance(20) ? store_now(1) : INT64_MIN;
    for (int lane = 0; lane < HORA__LANES; lane++) {
        exchange.claim_limit[lane] = (int)pick(4);
        exchange.low[lane] = low;
    }
    return exchange;
}

static void random_exchange(int node)
{
    hora__settle settles[2][MAX_SETTLES];
    hora__settled settled[2][MAX_SETTLES] = {{0}};
    hora__exchange exchanges[2] = {pick_exchange()};
    exchanges[0].settle_count = pick_settles(settles);
    exchanges[1] = exchanges[0];
    int results[2];
    trace("exchange of node %d with %zu settlements, the first of kind %d", node, exchanges[0].settle_count,
          exchanges[0].settle_count > 0 ? (int)settles[1][0].kind : 0);
    for (int store = 0; store < 2; store++) {
        exchanges[store].settles = settles[store];
        exchanges[store].ret_settled = settled[store];
        results[store] = world.stores[store]->ops->exchange(world.stores[store], &world.leases[node][store],
                                                            &exchanges[store], &contract_error);
    }
    same("the result", results[0], results[1]);
    if (results[1] == HORA_EEXPIRED)
        world.joined[node] = false;
    else if (results[0] == results[1])
        compare_exchanges(node, exchanges);
}

static void random_reap(int node)
{
    int64_t released[2] = {0, 0};
    trace("reap");
    for (int store = 0; store < 2; store++)
        CHECK_OK(world.stores[store]->ops->reap(world.stores[store], &world.leases[node][store], 100,
                                                &released[store], &contract_error));
    same("the number of released firings", released[0], released[1]);
}

static void random_leave(int node)
{
    trace("leave");
    for (int store = 0; store < 2; store++)
        CHECK_OK(world.stores[store]->ops->leave(world.stores[store], &world.leases[node][store],
                                                 &contract_error));
    world.joined[node] = false;
}

static void random_trim(void)
{
    int64_t deleted[2], before = store_now(1) - (int64_t)pick(2000000);
    if (!world.exact)
        return;
    trace("trim");
    for (int store = 0; store < 2; store++)
        CHECK_OK(
            world.stores[store]->ops->trim(world.stores[store], before, &deleted[store], &contract_error));
    same("the number of deleted records", deleted[0], deleted[1]);
}

static void random_operation(void)
{
    int node = (int)pick(NODES);
    uint32_t kind = pick(100);
    if (!world.joined[node])
        random_join(node);
    if (kind < 30)
        random_put();
    else if (kind < 50)
        random_change();
    else if (kind < 93)
        random_exchange(node);
    else if (kind < 96)
        random_reap(node);
    else if (kind < 98)
        random_leave(node);
    else
        random_trim();
    if (world.exact && chance(50))
        pass(pick(200000));
}

/* Compares all that the two stores show. */
static bool compare_stores(void)
{
    char *dumps[2];
    for (int store = 0; store < 2; store++)
        dumps[store] =
            dump_store(world.stores[store], world.base, world.exact, world.nodes[store], world.node_count);
    bool equal = strcmp(dumps[0], dumps[1]) == 0;
    if (!equal) {
        size_t at = 0;
        for (size_t i = 0; dumps[0][i] == dumps[1][i]; i++)
            at = dumps[0][i] == '\n' ? i + 1 : at;
        const char *got = dumps[0] + at, *want = dumps[1] + at;
        contract_fail(__FILE__, __LINE__,
                      "after %s (seed %" PRIu64 "), the first difference is\n%.*s\nbut in memory\n%.*s",
                      world.trace, world.seed, (int)strcspn(got, "\n"), got, (int)strcspn(want, "\n"), want);
    }
    free(dumps[0]);
    free(dumps[1]);
    return equal;
}

static void run_random(uint64_t seed, int operations)
{
    hora_store_options options = backend->options;
    memset(&world, 0, sizeof world);
    world.seed = world.random = seed;
    world.exact = contract_clock != NULL;
    world.stores[0] = open_another(false);
    CHECK_OK(hora__memory_open(&options, &world.stores[1], &contract_error));
    world.base = store_now(1);
    for (int i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof keys[i], "key%d", i);
    for (int i = 0; i < operations; i++) {
        random_operation();
        if (!compare_stores())
            break;
    }
    for (int store = 0; store < 2; store++)
        world.stores[store]->ops->close(world.stores[store]);
}

CONTRACT(random_operations_have_the_results_of_memory)
{
    int runs = contract_clock != NULL ? 10 : 3;
    if (getenv("HORA_SOAK") != NULL)
        runs *= 100;
    for (int run = 0; run < runs; run++)
        run_random(contract_seed * 1000000 + (uint64_t)run, 300);
}
