/* SPDX-License-Identifier: Apache-2.0 */
/* test_node.c - a node whose store is written by the test: each reply is given line by line */
#include <string.h>

#include "clock_estimate.h"
#include "harness.h"
#include "node.h"
#include "node_internal.h"

#define S     INT64_C(1000000)
#define EPOCH (1000000 * S) /* the store's time at the node's time 0 */

static const char *const handlers[] = {"h"};

/* A node, and what the store answers next. */
typedef struct world {
    hora__node *node;
    hora_ns now;
    hora__exchange exchange;
    hora__claim claims[16];
    size_t claim_count;
    int64_t next_due[HORA__LANES];
    int64_t cancelled[4];
    size_t cancelled_count;
    hora__settled answer; /* to every settlement */
    hora__series series;
    int series_reads, series_result;
    int64_t step;
    int64_t set_by;        /* the store's clock is set by this, in each exchange after the renewal */
    int64_t took;          /* us from the look for firings to the end of the transaction */
    hora_trigger *trigger; /* NULL: unknown */
} world;

static hora_trigger *find_trigger(const char *name, void *arg)
{
    (void)name;
    return ((world *)arg)->trigger;
}

static int read_series(int64_t series, hora__series *ret_series, void *arg)
{
    world *own = arg;
    CHECK_INT(series, 5);
    own->series_reads++;
    *ret_series = own->series;
    return own->series_result;
}

static uint64_t no_random(void *arg)
{
    (void)arg;
    return 0;
}

static void begin(world *own, int max_claimed)
{
    *own = (world){.answer = HORA__SETTLED_OK, .series = {.revision = 1, .definition = "rate 1000000"}};
    hora__node_config config = {.ttl = HORA_SECONDS(5),
                                .horizon = HORA_SECONDS(1),
                                .flush = HORA_MS(10),
                                .max_claimed = max_claimed,
                                .handlers = handlers,
                                .handler_count = 1,
                                .find_trigger = find_trigger,
                                .read_series = read_series,
                                .random = no_random,
                                .arg = own,
                                .held_size = sizeof(hora__held) + 8};
    CHECK_OK(hora__node_new(&config, &own->node));
    for (int i = 0; i < HORA__LANES; i++)
        own->next_due[i] = HORA__NEVER;
    CHECK(hora__node_lease(own->node) == NULL && hora__node_next_exchange(own->node, 0) == HORA_FOREVER);
    hora__node_joined(own->node, &(hora__lease){.node = 11, .ttl_us = 5 * S}, own->now);
}

static void end(world *own)
{
    hora__node_free(own->node);
}

static void prepare(world *own)
{
    hora__node_prepare(own->node, own->now, &own->exchange);
    CHECK_INT(hora__node_next_exchange(own->node, own->now), HORA_FOREVER);
}

static int64_t store_time(hora_ns now)
{
    return EPOCH + now / 1000;
}

/* The reply comes `delay` later; the store reads its clock at the end of it. */
static int reply(world *own, hora_ns delay)
{
    hora_ns sent = own->now;
    own->now += delay;
    hora__exchange *exchange = &own->exchange;
    for (size_t i = 0; i < exchange->settle_count; i++)
        exchange->ret_settled[i] = own->answer;
    exchange->ret_claims = own->claims;
    exchange->ret_claim_count = own->claim_count;
    exchange->ret_now = exchange->ret_now_after = store_time(own->now) + own->set_by;
    exchange->ret_begin = exchange->ret_now - own->took;
    exchange->ret_lease_left = 5 * S - own->set_by;
    memcpy(exchange->ret_next_due, own->next_due, sizeof own->next_due);
    exchange->ret_cancelled = own->cancelled;
    exchange->ret_cancelled_count = own->cancelled_count;
    int stale = hora__node_exchanged(own->node, sent, own->now, exchange, &own->step);
    own->claim_count = own->cancelled_count = 0;
    return stale;
}

static int exchange(world *own)
{
    prepare(own);
    return reply(own, HORA_US(100));
}

static hora__claim *add_claim(world *own, int64_t id, int64_t due)
{
    hora__claim *claim = &own->claims[own->claim_count++];
    *claim = (hora__claim){.id = id,
                           .planned = due,
                           .due = due,
                           .fence = id + 100,
                           .attempt = 1,
                           .lane = 2,
                           .key = "key",
                           .payload = {"data", 4}};
    return claim;
}

/* Claims one firing that is due now. */
static hora__held *claim_one(world *own, int64_t id, const char *definition)
{
    add_claim(own, id, store_time(own->now))->definition = definition;
    exchange(own);
    hora__held *held = hora__node_take_ready(own->node);
    CHECK(held != NULL && held->claim.id == id);
    return held;
}

static const hora__run_end success, failure = {.code = 1};

/* ---- the way of a firing ---- */

TEST_REAL(a_firing_runs_and_is_settled, "")
{
    world own;
    begin(&own, 10);
    CHECK_INT(hora__node_store_time(own.node, 0), INT64_MIN);
    CHECK_INT(hora__node_next_exchange(own.node, 0), 0);
    prepare(&own);
    CHECK(!own.exchange.renew && !own.exchange.resume && own.exchange.settle_count == 0);
    CHECK(own.exchange.low[0] == INT64_MIN && own.exchange.horizon_us == S &&
          own.exchange.handlers == handlers);
    add_claim(&own, 1, store_time(HORA_MS(500)));
    reply(&own, HORA_US(100));
    CHECK(!hora__node_is_empty(own.node) && hora__node_is_idle(own.node, own.now));
    hora__held *held = hora__node_take_ready(own.node);
    CHECK(held != NULL && held->next_ready == NULL && hora__node_take_ready(own.node) == NULL);
    CHECK(strcmp(held->claim.key, "key") == 0 && memcmp(held->claim.payload.data, "data", 4) == 0);
    CHECK_INT(held->start_at, HORA_MS(500));
    CHECK_INT(hora__node_start(own.node, held, HORA_MS(500) - 1), HORA__START_WAIT); /* early */
    CHECK_POINTER(hora__node_take_ready(own.node), held);
    own.now = HORA_MS(500);
    CHECK(!hora__node_is_idle(own.node, own.now));
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_RUN);
    CHECK_INT(hora__node_get_counts(own.node).running, 1);
    own.now = HORA_MS(600);
    hora__node_ended(own.node, held, &success, false, own.now);
    CHECK_INT(hora__node_next_exchange(own.node, own.now), HORA_MS(610));
    own.now = HORA_MS(610);
    prepare(&own);
    CHECK_INT(own.exchange.settle_count, 1);
    const hora__settle *settle = own.exchange.settles;
    CHECK(settle->id == 1 && settle->fence == 101 && settle->owner == 11 &&
          settle->kind == HORA__SETTLE_DONE && settle->outcome == HORA_RUN_SUCCEEDED &&
          settle->run_us == 100000);
    CHECK_INT(reply(&own, HORA_US(100)), 0);
    CHECK(hora__node_is_empty(own.node) && hora__node_is_idle(own.node, own.now));
    hora__node_counts counts = hora__node_get_counts(own.node);
    CHECK(counts.succeeded == 1 && counts.failed == 0 && counts.stale == 0 && counts.exchanges == 2);
    end(&own);
}

TEST_REAL(an_idle_node_makes_one_exchange_a_second, "")
{
    world own;
    begin(&own, 10);
    int exchanges = 0;
    while (own.now < HORA_SECONDS(100)) {
        own.now = hora__node_next_exchange(own.node, own.now);
        exchange(&own);
        CHECK(hora__node_has_lease(own.node, own.now));
        exchanges++;
    }
    CHECK(exchanges <= 102);
    end(&own);
}

/* After an exchange that took long, the node does not know the store's clock exactly. What was put meanwhile
 * is due, and a node that holds it is not idle, although it may not start it yet. */
TEST_REAL(a_node_is_not_idle_as_long_as_something_may_be_due, "")
{
    world own;
    begin(&own, 10);
    prepare(&own);
    add_claim(&own, 1, store_time(HORA_MS(160)));
    reply(&own, HORA_MS(100)); /* the clock may have been read at its beginning, and show 200 ms now */
    hora__held *held = hora__node_take_ready(own.node);
    CHECK(held->start_at > own.now);
    CHECK(!hora__node_is_idle(own.node, own.now));
    hora__node_drain(own.node);
    hora__node_forget(own.node, hora__node_take_dropped(own.node));
    end(&own);
}

/* The store's clock is set while it renews the lease. Forward, the renewed lease has ended; back, it goes
 * on. */
TEST_REAL(the_clock_is_set_during_a_renewal, "")
{
    for (int64_t set_by = -3600 * S; set_by <= 3600 * S; set_by += 7200 * S) {
        world own;
        begin(&own, 10);
        exchange(&own);
        CHECK_INT(own.step, 0);
        own.now = HORA_SECONDS(2);
        prepare(&own);
        CHECK(own.exchange.renew);
        own.set_by = set_by;
        reply(&own, HORA_US(100));
        CHECK(own.step > set_by - S / 2 && own.step < set_by + S / 2);
        CHECK_INT(hora__node_has_lease(own.node, own.now), set_by < 0);
        end(&own);
    }
}

/* When the store's clock was set back and forward again, what waits would start at a time that does not fit:
 * it goes back to the store, and comes again if it is due. What runs goes on. */
TEST_REAL(the_clock_is_set_while_firings_wait, "")
{
    world own;
    begin(&own, 10);
    hora__held *running = claim_one(&own, 1, NULL);
    own.now = HORA_MS(1);
    CHECK_INT(hora__node_start(own.node, running, own.now), HORA__START_RUN);
    add_claim(&own, 2, store_time(HORA_MS(500)));
    exchange(&own);
    hora__held *waiting = hora__node_take_ready(own.node);
    own.set_by = -3600 * S;
    add_claim(&own, 3, store_time(HORA_MS(500))); /* claimed right before the clock was set */
    exchange(&own);
    CHECK(own.step < -3599 * S);
    hora__node_hand_back(own.node);
    CHECK_POINTER(hora__node_take_ready(own.node), NULL);
    hora__held *dropped = hora__node_take_dropped(own.node);
    CHECK(dropped != NULL && dropped->next_ready != NULL && dropped->next_ready->next_ready == NULL);
    CHECK(dropped == waiting || dropped->next_ready == waiting);
    CHECK_INT(hora__node_start(own.node, waiting, own.now), HORA__START_GONE); /* its timer was quicker */
    for (hora__held *next; dropped != NULL; dropped = next) {
        next = dropped->next_ready;
        hora__node_forget(own.node, dropped);
    }
    CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now);
    prepare(&own);
    CHECK_INT(own.exchange.settle_count, 2);
    for (size_t i = 0; i < own.exchange.settle_count; i++)
        CHECK_INT(own.exchange.settles[i].kind, HORA__SETTLE_RELEASE);
    CHECK_INT(own.exchange.low[2], INT64_MIN);
    reply(&own, HORA_US(100));
    CHECK_INT(own.step, 0);
    CHECK_INT(hora__node_get_counts(own.node).claimed, 0);
    hora__node_ended(own.node, running, &success, false, own.now);
    exchange(&own);
    CHECK(hora__node_is_empty(own.node));
    end(&own);
}

TEST_REAL(a_wake_up_is_followed_at_once, "")
{
    world own;
    begin(&own, 10);
    exchange(&own);
    hora__node_woken(own.node, store_time(HORA_SECONDS(5)), own.now);
    CHECK_INT(hora__node_next_exchange(own.node, own.now), HORA_SECONDS(1)); /* the renewal is first */
    hora__node_woken(own.node, store_time(HORA_MS(3)), own.now);
    CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now);
    CHECK(!hora__node_is_idle(own.node, HORA_MS(3)));
    prepare(&own);
    CHECK(!hora__node_is_idle(own.node, HORA_MS(3))); /* the reply may bring what was put */
    CHECK(own.exchange.low[2] < store_time(HORA_MS(3)) && own.exchange.claim_limit[2] > 0);
    hora__node_woken(own.node, INT64_MIN, own.now); /* during the exchange */
    reply(&own, 0);
    CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now);
    prepare(&own);
    CHECK_INT(own.exchange.low[2], INT64_MIN);
    reply(&own, 0);
    end(&own);
}

/* ---- what is claimed ---- */

TEST_REAL(lanes_share_the_credit, "")
{
    world own;
    begin(&own, 80);
    prepare(&own);
    CHECK_INT(own.exchange.claim_limit[0], 80);
    for (int lane = 1; lane < HORA__LANES; lane++)
        CHECK_INT(own.exchange.claim_limit[lane], 10);
    own.next_due[1] = own.next_due[3] = store_time(0);
    for (int i = 0; i < 10; i++)
        add_claim(&own, i + 1, store_time(0))->lane = 1;
    reply(&own, HORA_US(10));
    CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now); /* lane 1 has more */
    prepare(&own);
    CHECK_INT(own.exchange.claim_limit[0], 0);
    CHECK_INT(own.exchange.claim_limit[1], 70);
    CHECK_INT(own.exchange.claim_limit[2], 0);
    CHECK_INT(own.exchange.low[1], store_time(0));
    reply(&own, HORA_US(10));
    end(&own);
}

TEST_REAL(no_more_is_claimed_than_allowed, "")
{
    world own;
    begin(&own, 1);
    own.next_due[2] = store_time(0);
    hora__held *held = claim_one(&own, 1, NULL);
    CHECK_INT(hora__node_next_exchange(own.node, own.now), HORA_SECONDS(1)); /* only the renewal */
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_RUN);
    prepare(&own);
    for (int lane = 0; lane < HORA__LANES; lane++)
        CHECK_INT(own.exchange.claim_limit[lane], 0);
    reply(&own, 0);
    hora__node_ended(own.node, held, &success, false, own.now);
    prepare(&own); /* the outcome makes room in the same transaction */
    CHECK_INT(own.exchange.claim_limit[2], 1);
    reply(&own, 0);
    end(&own);
}

TEST_REAL(most_requests_look_beyond_what_was_claimed, "")
{
    world own;
    begin(&own, 100);
    hora__held *held = claim_one(&own, 1, NULL);
    int64_t sight = store_time(own.now) + S;
    own.next_due[2] = sight + 5;
    own.now += HORA_MS(1);
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_RUN);
    prepare(&own);
    CHECK_INT(own.exchange.low[2], sight);
    reply(&own, 0);
    /* A retry may be due before that. */
    hora__node_ended(own.node, held, &failure, false, own.now);
    own.now += HORA_MS(10);
    prepare(&own);
    CHECK(own.exchange.settles[0].kind == HORA__SETTLE_RETRY && own.exchange.low[2] <= store_time(own.now));
    reply(&own, 0);
    own.now += HORA_SECONDS(1);
    prepare(&own);
    CHECK_INT(own.exchange.low[2], INT64_MIN);
    reply(&own, 0);
    end(&own);
}

/* What other nodes have to run must not keep this one busy. */
/* A firing that comes within the horizon between the look for firings and the end of the transaction was not
 * claimed. It is claimed by the next exchange, and not only by the next full look. */
TEST_REAL(nothing_is_passed_over_while_an_exchange_takes_time, "")
{
    world own;
    begin(&own, 100);
    exchange(&own);
    own.now = HORA_MS(100);
    add_claim(&own, 1, store_time(HORA_MS(600)));
    own.next_due[2] = store_time(HORA_MS(1100)) + 200; /* the store looks at 100 ms */
    own.took = 50000;
    hora__node_woken(own.node, store_time(HORA_MS(600)), own.now);
    prepare(&own);
    CHECK(own.exchange.claim_limit[2] > 0 && own.exchange.reads_clock);
    reply(&own, HORA_MS(50));
    CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now);
    prepare(&own);
    CHECK(own.exchange.claim_limit[2] > 0 && own.exchange.low[2] <= own.next_due[2]);
    own.next_due[2] = HORA__NEVER;
    reply(&own, HORA_US(100));
    hora__held *held = hora__node_take_ready(own.node);
    CHECK(held != NULL && held->claim.id == 1);
    hora__node_drain(own.node);
    hora__node_forget(own.node, hora__node_take_dropped(own.node));
    end(&own);
}

/* The clock is read after the commit only for firings: an idle node should cost as little as possible. */
TEST_REAL(an_idle_node_reads_the_clock_once, "")
{
    world own;
    begin(&own, 10);
    exchange(&own);
    for (int i = 0; i < 5; i++) {
        own.now = hora__node_next_exchange(own.node, own.now);
        exchange(&own);
        CHECK(!own.exchange.reads_clock);
    }
    hora__held *held = claim_one(&own, 1, NULL);
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_RUN);
    hora__node_ended(own.node, held, &success, false, own.now);
    own.now = hora__node_next_exchange(own.node, own.now);
    exchange(&own);
    CHECK(own.exchange.settle_count == 1 && own.exchange.reads_clock);
    end(&own);
}

TEST_REAL(firings_of_others_cost_little, "")
{
    world own;
    begin(&own, 10);
    int exchanges = 0;
    own.next_due[1] = EPOCH - 5;
    while (own.now < HORA_SECONDS(10)) {
        own.now = hora__node_next_exchange(own.node, own.now);
        exchange(&own);
        exchanges++;
    }
    CHECK(exchanges <= 32);
    CHECK(hora__node_is_idle(own.node, own.now));
    end(&own);
}

TEST_REAL(claims_that_cannot_be_read_are_handed_back, "")
{
    world own;
    begin(&own, 10);
    add_claim(&own, 1, store_time(0))->definition = "colour blue";
    add_claim(&own, 2, store_time(0))->definition = "trigger \"unknown\"";
    add_claim(&own, 3, store_time(0))->series = 5;
    own.series_result = HORA_EIO;
    exchange(&own);
    CHECK(hora__node_take_ready(own.node) == NULL);
    CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now);
    prepare(&own);
    CHECK_INT(own.exchange.settle_count, 3);
    for (int i = 0; i < 3; i++)
        CHECK(own.exchange.settles[i].kind == HORA__SETTLE_RELEASE && own.exchange.settles[i].id == i + 1 &&
              own.exchange.settles[i].fence == i + 101 && own.exchange.settles[i].owner == 11);
    CHECK_INT(own.exchange.claim_limit[2], 0); /* it would get them again */
    own.next_due[2] = store_time(own.now);
    reply(&own, HORA_US(1));
    CHECK(hora__node_is_empty(own.node));
    CHECK(hora__node_next_exchange(own.node, own.now) >= own.now + HORA_MS(10));
    end(&own);
}

/* The node looks for the tasks of a trigger at once when it learns of it, whatever it is doing. */
TEST_REAL(a_new_trigger_is_followed_at_once, "")
{
    enum { BEFORE_THE_RELEASE, DURING_THE_RELEASE, AFTER_THE_RELEASE, WHENS };
    hora_trigger *trigger;
    CHECK_OK(hora_trigger_new_periodic(HORA_SECONDS(1), NULL, &trigger, NULL));
    for (int when = 0; when < WHENS; when++) {
        world own;
        begin(&own, 10);
        add_claim(&own, 1, store_time(0))->definition = "trigger \"t\"";
        exchange(&own);
        for (int step = 0; step < WHENS; step++) {
            if (step == DURING_THE_RELEASE)
                prepare(&own);
            if (step == AFTER_THE_RELEASE) {
                CHECK_INT(own.exchange.claim_limit[2], 0);
                reply(&own, HORA_US(100));
            }
            if (step == when) {
                own.trigger = trigger;
                hora__node_learned(own.node, own.now);
            }
        }
        CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now);
        add_claim(&own, 1, store_time(0))->definition = "trigger \"t\"";
        prepare(&own);
        CHECK(own.exchange.claim_limit[2] > 0 && own.exchange.low[2] == INT64_MIN);
        reply(&own, HORA_US(100));
        CHECK(hora__node_take_ready(own.node) != NULL);
        CHECK(hora__node_next_exchange(own.node, own.now) > own.now);
        end(&own);
    }
    (void)hora_trigger_unref(trigger);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_REAL(claims_without_memory_are_handed_back, "")
{
    world own;
    begin(&own, 1000);
    own.node->config.held_size = PTRDIFF_MAX - 1000;
    add_claim(&own, 1, store_time(0));
    exchange(&own);
    prepare(&own);
    CHECK(own.exchange.settle_count == 1 && own.exchange.settles[0].kind == HORA__SETTLE_RELEASE);
    /* Without room even for that, they are asked for again. */
    reply(&own, 0);
    for (int i = 0; i < 600; i += 10) {
        for (int k = 0; k < 10; k++)
            add_claim(&own, i + k + 1, store_time(0));
        for (size_t k = 0; k < own.claim_count; k++)
            hora__held_new(own.node, &own.claims[k], own.now);
        own.claim_count = 0;
    }
    prepare(&own);
    CHECK(own.exchange.resume && own.exchange.settle_count == HORA__NODE_BATCH);
    reply(&own, 0);
    end(&own);
}
#endif

/* ---- the lease ---- */

TEST_REAL(nothing_starts_without_a_lease, "")
{
    world own;
    begin(&own, 10);
    hora__held *held = claim_one(&own, 1, NULL);
    hora_ns deadline = HORA_SECONDS(5) - HORA_MS(250);
    CHECK(hora__node_has_lease(own.node, deadline - 1) && !hora__node_has_lease(own.node, deadline));
    CHECK_INT(hora__node_start(own.node, held, deadline), HORA__START_WAIT);
    CHECK(hora__node_take_ready(own.node) == NULL);
    own.now = deadline;
    prepare(&own);
    CHECK(own.exchange.renew);
    reply(&own, HORA_SECONDS(1));
    /* The new lease counts from before the request was sent. */
    CHECK(hora__node_has_lease(own.node, deadline + deadline - 1));
    CHECK(!hora__node_has_lease(own.node, deadline + deadline));
    CHECK_POINTER(hora__node_take_ready(own.node), held);
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_RUN);
    hora__node_ended(own.node, held, &success, true, own.now);
    CHECK(hora__node_is_empty(own.node));
    end(&own);
}

TEST_REAL(a_lost_lease, "")
{
    world own;
    begin(&own, 10);
    hora__held *running = claim_one(&own, 1, NULL);
    CHECK_INT(hora__node_start(own.node, running, own.now), HORA__START_RUN);
    hora__held *ended = claim_one(&own, 2, NULL);
    CHECK_INT(hora__node_start(own.node, ended, own.now), HORA__START_RUN);
    hora__held *asking = claim_one(&own, 3, "at-most-once");
    CHECK_INT(hora__node_start(own.node, asking, own.now), HORA__START_WAIT);
    add_claim(&own, 4, store_time(own.now));
    exchange(&own); /* START of the third is accepted, and the fourth waits */
    CHECK_POINTER(hora__node_take_ready(own.node), asking);
    hora__node_ended(own.node, ended, &success, false, own.now);
    prepare(&own);
    CHECK_INT(own.exchange.settle_count, 1);
    hora__node_fenced(own.node); /* HORA_EEXPIRED */
    CHECK(hora__node_lease(own.node) == NULL && hora__node_next_exchange(own.node, own.now) == HORA_FOREVER);
    CHECK(hora__node_take_ready(own.node) == NULL);
    CHECK(hora__node_take_stopped(own.node) == running && running->lost);
    int dropped = 0;
    for (hora__held *at = hora__node_take_dropped(own.node), *next; at != NULL; at = next) {
        next = at->next_ready;
        CHECK_INT(hora__node_start(own.node, at, own.now), HORA__START_GONE);
        hora__node_forget(own.node, at);
        dropped++;
    }
    CHECK_INT(dropped, 2);
    hora__node_joined(own.node, &(hora__lease){.node = 12, .ttl_us = 5 * S}, own.now);
    hora__node_ended(own.node, running, &success, false, own.now);
    own.answer = HORA__SETTLED_STALE;
    prepare(&own);
    CHECK(own.exchange.settle_count == 2 && own.exchange.settles[0].id == 2 &&
          own.exchange.settles[1].id == 1);
    CHECK(own.exchange.settles[0].owner == 11 && own.exchange.settles[1].owner == 11);
    CHECK_INT(reply(&own, 0), 2);
    CHECK(hora__node_is_empty(own.node));
    CHECK_INT(hora__node_get_counts(own.node).stale, 2);
    end(&own);
}

TEST_REAL(an_unknown_outcome_is_sent_again, "")
{
    world own;
    begin(&own, 10);
    hora__held *held = claim_one(&own, 1, NULL);
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_RUN);
    hora__node_ended(own.node, held, &success, false, own.now);
    prepare(&own);
    hora__node_failed(own.node, own.now);
    hora_ns again = hora__node_next_exchange(own.node, own.now);
    CHECK(again > own.now && again <= own.now + HORA_SECONDS(1));
    own.now = again;
    prepare(&own);
    CHECK(own.exchange.settle_count == 1 && own.exchange.settles[0].id == 1 && own.exchange.resume);
    /* The store accepted it the first time: it counts. */
    own.answer = HORA__SETTLED_STALE;
    CHECK_INT(reply(&own, 0), 0);
    CHECK(hora__node_is_empty(own.node));
    prepare(&own);
    CHECK(!own.exchange.resume && own.exchange.low[0] == INT64_MIN);
    reply(&own, 0);
    /* The database may commit late: the node asks again with its renewals for a while. */
    own.now += HORA_SECONDS(1);
    prepare(&own);
    CHECK(own.exchange.renew && own.exchange.resume);
    reply(&own, 0);
    for (int i = 0; i < 10; i++) {
        own.now += HORA_SECONDS(1);
        prepare(&own);
        CHECK(own.exchange.renew);
        if (i < 9)
            reply(&own, 0);
    }
    CHECK(!own.exchange.resume);
    reply(&own, 0);
    end(&own);
}

/* What the store shows as claimed and the node does not have is handed back, and comes again with another
 * fence: the node may have run it, and a failover have lost that. */
TEST_REAL(claims_of_a_lost_reply_come_again, "")
{
    world own;
    begin(&own, 10);
    hora__held *held = claim_one(&own, 1, NULL);
    prepare(&own);
    hora__node_failed(own.node, own.now);
    add_claim(&own, 1, store_time(0)); /* in hand */
    add_claim(&own, 2, store_time(0)); /* the reply was lost, or the settlement */
    prepare(&own);
    CHECK(own.exchange.resume && own.exchange.claim_limit[2] == 0);
    reply(&own, HORA_US(100));
    CHECK_POINTER(hora__node_take_ready(own.node), NULL);
    CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now);
    prepare(&own);
    CHECK(own.exchange.settle_count == 1 && own.exchange.settles[0].kind == HORA__SETTLE_RELEASE &&
          own.exchange.settles[0].id == 2 && own.exchange.settles[0].fence == 102);
    reply(&own, HORA_US(100));
    CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now);
    add_claim(&own, 2, store_time(0))->fence = 103;
    prepare(&own);
    CHECK(!own.exchange.resume && own.exchange.claim_limit[2] > 0 && own.exchange.low[2] == INT64_MIN);
    reply(&own, HORA_US(100));
    hora__held *ready = hora__node_take_ready(own.node);
    CHECK(ready != NULL && ready->claim.id == 2 && ready->claim.fence == 103 && ready->next_ready == NULL);
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_RUN);
    hora__node_ended(own.node, held, &success, true, own.now);
    end(&own);
}

/* ---- asking ---- */

TEST_REAL(a_firing_that_runs_at_most_once_asks_first, "")
{
    world own;
    begin(&own, 10);
    hora__held *held = claim_one(&own, 1, "at-most-once");
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_WAIT);
    CHECK_INT(hora__node_next_exchange(own.node, own.now), own.now);
    prepare(&own);
    CHECK_INT(own.exchange.settles[0].kind, HORA__SETTLE_START);
    hora__node_failed(own.node, own.now);
    exchange(&own); /* sent again, and accepted */
    CHECK_POINTER(hora__node_take_ready(own.node), held);
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_RUN);
    hora__node_ended(own.node, held, &failure, false, own.now);
    prepare(&own);
    CHECK(own.exchange.settle_count == 1 && own.exchange.settles[0].kind == HORA__SETTLE_DEAD &&
          own.exchange.settles[0].outcome == HORA_RUN_GAVE_UP);
    reply(&own, 0);
    CHECK(hora__node_is_empty(own.node));
    /* Stale: another node has it, even if the question was sent before. */
    for (int i = 0; i < 2; i++) {
        own.answer = HORA__SETTLED_OK;
        held = claim_one(&own, 2 + i, "at-most-once");
        CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_WAIT);
        if (i == 1) {
            prepare(&own);
            hora__node_failed(own.node, own.now);
        }
        own.answer = HORA__SETTLED_STALE;
        exchange(&own);
        CHECK(hora__node_take_ready(own.node) == NULL && hora__node_is_empty(own.node));
    }
    end(&own);
}

TEST_REAL(a_firing_that_finds_too_many_is_skipped, "")
{
    world own;
    begin(&own, 10);
    own.series.definition = "rate 1000000 overlap 2";
    hora__claim *claim = add_claim(&own, 1, store_time(0));
    claim->series = 5;
    claim->revision = 1;
    exchange(&own);
    hora__held *held = hora__node_take_ready(own.node);
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_WAIT);
    prepare(&own);
    hora__node_failed(own.node, own.now); /* the first answer is lost */
    own.answer = HORA__SETTLED_FULL;
    exchange(&own);
    own.answer = HORA__SETTLED_OK;
    prepare(&own);
    CHECK(own.exchange.settle_count == 1 && own.exchange.settles[0].kind == HORA__SETTLE_ADVANCE &&
          own.exchange.settles[0].outcome == HORA_RUN_SKIPPED);
    reply(&own, 0);
    CHECK(hora__node_is_empty(own.node) && hora__node_get_counts(own.node).skipped == 1);
    end(&own);
}

/* ---- series, changes, the end ---- */

TEST_REAL(a_series_is_read_again_when_it_has_changed, "")
{
    world own;
    begin(&own, 10);
    own.series.payload = (hora__bytes){"abc", 3};
    for (int i = 1; i <= 4; i++) {
        hora__claim *claim = add_claim(&own, i, store_time(own.now));
        claim->series = 5;
        claim->revision = own.series.revision = i / 3 + 1;
        exchange(&own);
    }
    CHECK_INT(own.series_reads, 2);
    hora__held *held = hora__node_take_ready(own.node);
    CHECK(held->claim.payload.size == 3 && held->definition->period_us == S);
    end(&own);
}

TEST_REAL(a_cancelled_firing, "")
{
    world own;
    begin(&own, 10);
    hora__held *running = claim_one(&own, 1, NULL);
    CHECK_INT(hora__node_start(own.node, running, own.now), HORA__START_RUN);
    hora__held *waiting = claim_one(&own, 2, NULL);
    own.cancelled[0] = 1;
    own.cancelled[1] = 2;
    own.cancelled_count = 2;
    exchange(&own);
    CHECK(hora__node_take_stopped(own.node) == running && running->cancelled && !running->lost);
    CHECK_INT(hora__node_start(own.node, waiting, own.now), HORA__START_GONE);
    hora__node_ended(own.node, running, &success, false, own.now);
    prepare(&own);
    CHECK(own.exchange.settle_count == 2 && own.exchange.settles[0].kind == HORA__SETTLE_RELEASE &&
          own.exchange.settles[1].kind == HORA__SETTLE_DONE);
    reply(&own, 0);
    end(&own);
}

TEST_REAL(a_note_is_copied, "")
{
    world own;
    begin(&own, 10);
    add_claim(&own, 1, store_time(0))->history = true;
    exchange(&own);
    hora__held *held = hora__node_take_ready(own.node);
    CHECK_INT(hora__node_start(own.node, held, own.now), HORA__START_RUN);
    char text[] = "note";
    hora__node_ended(own.node, held, &(hora__run_end){.note = {text, 4}}, false, own.now);
    memset(text, 'x', sizeof text);
    prepare(&own);
    CHECK(own.exchange.settles[0].note.size == 4 &&
          memcmp(own.exchange.settles[0].note.data, "note", 4) == 0);
    reply(&own, 0);
    end(&own);
}

TEST_REAL(a_drained_node_hands_all_back, "")
{
    world own;
    begin(&own, 10);
    hora__held *running = claim_one(&own, 1, NULL);
    CHECK_INT(hora__node_start(own.node, running, own.now), HORA__START_RUN);
    (void)claim_one(&own, 2, NULL);
    prepare(&own);
    hora__node_drain(own.node);
    add_claim(&own, 3, store_time(0)); /* the request was on its way */
    reply(&own, 0);
    CHECK(hora__node_take_ready(own.node) == NULL);
    hora__held *dropped = hora__node_take_dropped(own.node);
    CHECK(dropped != NULL && dropped->claim.id == 2 && dropped->next_ready == NULL);
    hora__node_forget(own.node, dropped);
    prepare(&own);
    CHECK_INT(own.exchange.settle_count, 2);
    for (int i = 0; i < 2; i++)
        CHECK_INT(own.exchange.settles[i].kind, HORA__SETTLE_RELEASE);
    for (int lane = 0; lane < HORA__LANES; lane++)
        CHECK_INT(own.exchange.claim_limit[lane], 0);
    reply(&own, 0);
    CHECK(!hora__node_is_empty(own.node));
    hora__node_ended(own.node, running, &success, false, own.now);
    exchange(&own);
    CHECK(hora__node_is_empty(own.node));
    end(&own);
}

/* ---- the store's clock ---- */

TEST_REAL(the_estimate_is_never_ahead, "")
{
    hora__clock_estimate clock = {.known = false};
    hora_ns now = 0;
    for (int i = 0; i < 1000; i++) {
        hora_ns to = test_random(20000000), back = test_random(20000000);
        int64_t read = store_time(now + to);
        CHECK_INT(hora__clock_estimate_add(&clock, now, now + to + back, read, read), 0);
        now += to + back;
        int64_t estimate = hora__clock_estimate_store_us(&clock, now);
        CHECK(estimate <= store_time(now));
        if (i > 100) /* quick exchanges have made it precise */
            CHECK(estimate >= store_time(now) - 10000);
        hora_ns at = hora__clock_estimate_node_time(&clock, estimate + 1000);
        CHECK(hora__clock_estimate_store_us(&clock, at) == estimate + 1000);
        now += test_random(1000000000);
    }
}

/* The commit takes long. The reading after it makes the estimate precise. */
TEST_REAL(the_last_reading_makes_the_estimate_precise, "")
{
    hora__clock_estimate clock = {.known = false};
    hora_ns back = HORA_US(30), received = HORA_MS(10);
    int64_t first = store_time(HORA_US(50)), last = store_time(received - back);
    CHECK_INT(hora__clock_estimate_add(&clock, 0, received, first, last), 0);
    CHECK_INT(hora__clock_estimate_store_us(&clock, received), store_time(received - back));
    CHECK(hora__clock_estimate_latest_us(&clock, received) <= store_time(received) + 53);
    /* It was set between the two readings, forwards or backwards. */
    static const int64_t steps[] = {3600 * S, -3600 * S};
    for (int i = 0; i < 2; i++) {
        clock.known = false;
        CHECK_INT(hora__clock_estimate_add(&clock, 0, received, first, last + steps[i]), 0);
        CHECK_INT(hora__clock_estimate_store_us(&clock, received), last + steps[i]);
        CHECK(hora__clock_estimate_latest_us(&clock, received) >= last + steps[i]);
        clock.known = false;
        CHECK_INT(hora__clock_estimate_add(&clock, 0, received, first, last), 0);
        int64_t seen = hora__clock_estimate_add(&clock, 0, received, first, last + steps[i]);
        CHECK(seen > steps[i] - 10000 && seen < steps[i] + 10000);
    }
}

TEST_REAL(a_step_of_the_stores_clock_is_seen, "")
{
    static const int64_t steps[] = {300000, -300000, 3600 * S, -3600 * S, 200000, -200000};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        hora__clock_estimate clock = {.known = false};
        CHECK_INT(hora__clock_estimate_add(&clock, 0, HORA_MS(1), EPOCH, EPOCH), 0);
        CHECK_INT(hora__clock_estimate_add(&clock, HORA_SECONDS(1), HORA_SECONDS(1) + HORA_MS(1), EPOCH + S,
                                           EPOCH + S),
                  0);
        int64_t seen = hora__clock_estimate_add(&clock, HORA_SECONDS(2), HORA_SECONDS(2) + HORA_MS(1),
                                                EPOCH + 2 * S + steps[i], EPOCH + 2 * S + steps[i]);
        int64_t size = steps[i] < 0 ? -steps[i] : steps[i];
        if (size < 250000)
            CHECK_INT(seen, 0);
        else
            CHECK(seen > steps[i] - 1500 && seen < steps[i] + 1500);
        CHECK(hora__clock_estimate_store_us(&clock, HORA_SECONDS(2) + HORA_MS(1)) <=
              EPOCH + 2 * S + 1000 + steps[i]);
    }
    /* A slow exchange is not a step. */
    hora__clock_estimate clock = {.known = false};
    CHECK_INT(hora__clock_estimate_add(&clock, 0, HORA_SECONDS(3), EPOCH, EPOCH), 0);
    CHECK_INT(hora__clock_estimate_add(&clock, HORA_SECONDS(4), HORA_SECONDS(4) + 1000, EPOCH + 3 * S,
                                       EPOCH + 3 * S),
              0);
}
