/* SPDX-License-Identifier: Apache-2.0 */
/* node_exchange.c - what a node says to the store and when, and what it makes of the answers
 *
 * Claims     The node may hold max_claimed firings; what is left of that is its credit. The highest lane that
 *            has something to claim may use all of it, and each lower one an eighth, so that a flood of
 *            urgent tasks does not stop the others.
 * Looking    Up to `low` of a lane everything was claimed. Most requests look only beyond it. About once a
 *            second, and when told to, the node looks at everything: firings that were released, or committed
 *            late, may be due earlier.
 * Handing    Claims that the node cannot read are handed back. The same request claims nothing in their lane,
 *   back     so that other nodes can have them.
 * Unknown    After a failure the node asks for claims whose reply was lost, and again with each renewal for
 *            two TTLs: the database may commit a transaction after the node has given up waiting for it.
 * Idle       With nothing to claim, the only exchange is the renewal, about once a second. */
#include <assert.h>
#include <string.h>

#include "fault.h"
#include "node_internal.h"
#include "rules.h"
#include "units.h"

#define POLL_LEAST  HORA_MS(10)
#define RETRY_FIRST HORA_MS(10)
enum { RETRY_DOUBLINGS = 6 }; /* up to 640 ms */

/* A wake-up names the store's time when it was sent, which is later than when its firings were written. */
enum { WAKE_SLACK_US = 1000000 };

static hora_ns least(hora_ns a, hora_ns b)
{
    return a < b ? a : b;
}

static int64_t horizon_us(const hora__node *node)
{
    return hora__us_of_ns(node->config.horizon);
}

/* ---- when ---- */

static hora_ns renew_at(const hora__node *node)
{
    return hora__sum(node->renewed_at, least(node->config.ttl / 3, node->config.look_every));
}

/* How many firings of a request, which frees `freed`, may be claimed. */
static int64_t credit_of(const hora__node *node, size_t freed)
{
    int64_t held = (int64_t)node->held_count - (int64_t)freed;
    return node->draining || held >= node->config.max_claimed ? 0 : node->config.max_claimed - held;
}

/* The node's time at which a firing comes within the horizon. */
static hora_ns in_sight_at(const hora__node *node, int64_t due)
{
    if (due == HORA__NEVER)
        return HORA_FOREVER;
    if (due == INT64_MIN || !node->clock.known)
        return INT64_MIN;
    return hora__clock_estimate_node_time(&node->clock, hora__sum(due, -horizon_us(node)));
}

static hora_ns settle_at(const hora__node *node)
{
    if (node->back_count > 0 || node->asking > 0 || node->out_count >= HORA__NODE_BATCH)
        return INT64_MIN;
    if (node->draining && node->out_count > 0)
        return INT64_MIN; /* a caller waits in hora_durable_stop */
    return node->out_count > 0 ? hora__sum(node->out_since, node->config.flush) : HORA_FOREVER;
}

static hora_ns claim_at(const hora__node *node)
{
    if (credit_of(node, 0) == 0)
        return HORA_FOREVER;
    hora_ns at = least(node->full_at, node->look_at);
    at = least(at, in_sight_at(node, node->woken_due));
    for (int lane = 0; lane < HORA__LANES; lane++)
        at = least(at, in_sight_at(node, node->next_due[lane]));
    return at;
}

hora_ns hora__node_next_exchange(const hora__node *node, hora_ns now)
{
    if (node->busy || !node->joined)
        return HORA_FOREVER;
    hora_ns at = least(renew_at(node), least(settle_at(node), claim_at(node)));
    if (node->resume)
        at = now;
    if (node->failures > 0 && at < node->retry_at)
        at = node->retry_at;
    return at > now ? at : now;
}

void hora__node_woken(hora__node *node, int64_t due, hora_ns now)
{
    if (due == INT64_MIN)
        node->full_at = least(node->full_at, now);
    if (due < node->woken_due)
        node->woken_due = due;
}

void hora__node_learned(hora__node *node, hora_ns now)
{
    /* The request that hands claims back does not look into their lanes, so another one follows it. */
    node->learned = node->back_count > 0;
    hora__node_woken(node, INT64_MIN, now);
}

/* ---- the request ---- */

/* A firing that is planned again by this request may be due before `low`. */
static void lower(hora__node *node, const hora__settle *settle, int lane, int64_t store_now)
{
    int64_t due = settle->after_now || settle->kind == HORA__SETTLE_RELEASE ? store_now : settle->due;
    if (settle->kind == HORA__SETTLE_DONE || settle->kind == HORA__SETTLE_DEAD)
        return;
    if (due < store_now)
        due = store_now;
    if (due < node->low[lane] && !HORA__STORE_FAULT(LOW_SKIPS_RELEASED))
        node->low[lane] = due;
}

static void add_handed_back(hora__node *node)
{
    for (size_t i = 0; i < node->back_count; i++) {
        const hora__handed_back *back = &node->back[i];
        node->sent[i] = NULL;
        node->settles[i] = (hora__settle){
            .id = back->id, .fence = back->fence, .owner = back->owner, .kind = HORA__SETTLE_RELEASE};
    }
    node->sent_back = node->sent_count = node->back_count;
}

/* Moves settlements from the queue into the request. Returns how many of them end a firing. */
static size_t add_settles(hora__node *node, hora_ns now)
{
    int64_t store_now = hora__node_store_time(node, now);
    size_t ends = 0;
    while (node->out_first != NULL && node->sent_count < HORA__NODE_BATCH) {
        hora__held *held = node->out_first;
        bool asks = held->state == HORA__HELD_ASKING;
        node->out_first = held->next_out;
        node->out_count--;
        node->asking -= asks;
        ends += !asks;
        lower(node, &held->settle, held->claim.lane, store_now);
        node->sent[node->sent_count] = held;
        node->settles[node->sent_count++] = held->settle;
    }
    if (node->out_first == NULL)
        node->out_last = NULL;
    return ends;
}

static bool hands_back(const hora__node *node, int lane)
{
    for (size_t i = 0; i < node->back_count; i++)
        if (node->back[i].lane == lane)
            return true;
    return false;
}

/* `all`: look also into lanes that are not known to have something. */
static void set_limits(const hora__node *node, int64_t credit, bool all, hora_ns now,
                       int limits[static HORA__LANES])
{
    bool used = false;
    int64_t part = credit / 8 > 0 ? credit / 8 : 1;
    for (int lane = 0; lane < HORA__LANES; lane++) {
        bool known = in_sight_at(node, node->next_due[lane]) <= now;
        limits[lane] = 0;
        if (credit == 0 || hands_back(node, lane) || !(known || all))
            continue;
        limits[lane] = (int)(known && !used ? credit : part);
        used |= known;
    }
    /* Without knowledge, the highest lane may use all. */
    if (!used && limits[0] > 0)
        limits[0] = (int)credit;
}

/* Whether the request is about firings, whose times need a precise estimate of the store's clock. */
static bool is_about_firings(const hora__node *node, hora_ns now)
{
    bool is_about = node->sent_count > 0 || in_sight_at(node, node->woken_due) <= now;
    for (int lane = 0; lane < HORA__LANES; lane++)
        is_about |= in_sight_at(node, node->next_due[lane]) <= now;
    return is_about;
}

void hora__node_prepare(hora__node *node, hora_ns now, hora__exchange *exchange)
{
    assert(node->joined && !node->busy);
    bool renew = now >= renew_at(node);
    *exchange = (hora__exchange){.renew = renew,
                                 .resume = node->resume || (renew && now < node->resume_until),
                                 .settles = node->settles,
                                 .ret_settled = node->settled,
                                 .handlers = node->config.handlers,
                                 .handler_count = node->config.handler_count,
                                 .horizon_us = horizon_us(node)};
    /* A renewal that is about to be followed by a full look is one. */
    bool full = now >= node->full_at - (exchange->renew ? node->config.look_every / 4 : 0);
    if (full && HORA__STORE_FAULT(LOW_SKIPS_RELEASED) && node->clock.known) {
        node->full_at = hora__sum(now, node->config.look_every);
        full = false;
    }
    bool woken = in_sight_at(node, node->woken_due) <= now;
    int64_t woken_low = hora__sum(node->woken_due, -WAKE_SLACK_US);
    add_handed_back(node);
    size_t ends = add_settles(node, now);
    exchange->settle_count = node->sent_count;
    exchange->reads_clock = is_about_firings(node, now);
    /* Claims of a request that resumes would be among those that are handed back. */
    if (!exchange->resume)
        set_limits(node, credit_of(node, ends), full || woken, now, exchange->claim_limit);
    for (int lane = 0; lane < HORA__LANES; lane++) {
        if (full)
            node->low[lane] = INT64_MIN;
        else if (woken_low < node->low[lane])
            node->low[lane] = woken_low;
        exchange->low[lane] = node->low[lane];
    }
    node->woken_due = HORA__NEVER;
    node->busy = true;
}

/* ---- the reply ---- */

/* START or FORK was accepted. */
static void accepted(hora__node *node, hora__held *held, hora_ns now)
{
    held->asked = (int)held->settle.kind;
    if (hora__rules_asks_again(held->definition, held->trigger, &held->claim, held->asked,
                               hora__node_store_time(node, now), &held->settle)) {
        hora__node_send(node, held, now);
        return;
    }
    held->accepted = true;
    hora__held_set_state(node, held, HORA__HELD_WAITING);
    hora__node_make_ready(node, held, now);
}

/* True if a settlement that is stale was accepted when it was sent before: the firing is this node's as long
 * as the lease lasts, and only its own settlement can have ended that. */
static bool was_accepted(const hora__node *node, const hora__held *held)
{
    return held->sent_before && held->owner == node->lease.node;
}

static void answered_ask(hora__node *node, hora__held *held, hora__settled settled, hora_ns now)
{
    if (settled == HORA__SETTLED_OK || HORA__STORE_FAULT(FULL_RUNS)) {
        accepted(node, held, now);
    } else if (settled == HORA__SETTLED_FULL) {
        hora__rules_skip(held->definition, held->trigger, &held->claim, hora__node_store_time(node, now),
                         &held->settle);
        node->counts.skipped++;
        hora__node_send(node, held, now);
    } else {
        hora__held_free(node, held);
    }
}

/* Returns whether an outcome did not count. */
static bool answered_end(hora__node *node, hora__held *held, hora__settled settled)
{
    bool ran = hora__settle_has_run(&held->settle);
    bool counts = settled == HORA__SETTLED_OK || was_accepted(node, held);
    if (counts && held->settle.outcome == HORA_RUN_SKIPPED && held->settle.run_us == HORA__NO_RUN &&
        node->config.skipped != NULL)
        node->config.skipped(held, node->config.arg);
    bool stale = settled == HORA__SETTLED_STALE && ran && !was_accepted(node, held);
    hora__held_free(node, held);
    return stale;
}

static int take_answers(hora__node *node, const hora__exchange *exchange, hora_ns now)
{
    int stale = 0;
    for (size_t i = node->sent_back; i < node->sent_count; i++) {
        hora__held *held = node->sent[i];
        if (held->state == HORA__HELD_ASKING)
            answered_ask(node, held, exchange->ret_settled[i], now);
        else
            stale += answered_end(node, held, exchange->ret_settled[i]);
    }
    node->counts.stale += stale;
    return stale;
}

/* Forgets the claims that were handed back. */
static void forget_handed_back(hora__node *node)
{
    assert(node->sent_back <= node->back_count);
    node->back_count -= node->sent_back;
    memmove(node->back, node->back + node->sent_back, node->back_count * sizeof *node->back);
    node->sent_back = 0;
}

/* Parked firings come again. */
static void unpark(hora__node *node, hora_ns now)
{
    for (hora__held *held = node->first; held != NULL && node->parked > 0; held = held->next)
        if (held->parked) {
            held->parked = false;
            node->parked--;
            hora__node_make_ready(node, held, now);
        }
}

/* A lease that ends earlier than the node thinks shows that the store's clock was set forward. If that was
 * during this exchange, after the renewal, it may have ended already. */
static void extend_lease(hora__node *node, hora_ns sent, hora_ns received, const hora__exchange *exchange,
                         int64_t step_us)
{
    hora_ns margin = hora__node_margin(node);
    hora_ns latest = hora__sum(received, hora__ns_of_us(exchange->ret_lease_left)) - margin;
    if (exchange->renew) {
        if (HORA__STORE_FAULT(DEADLINE_AFTER_REPLY))
            sent = received + margin;
        node->deadline = hora__sum(sent, node->config.ttl) - margin;
        node->renewed_at = sent;
        unpark(node, received);
    }
    if ((!exchange->renew || step_us > 0) && latest < node->deadline)
        node->deadline = latest;
}

/* Counts the claims of each lane, and finds the latest due of them. */
static void count_claims(const hora__exchange *exchange, int counts[static HORA__LANES],
                         int64_t latest[static HORA__LANES])
{
    for (int lane = 0; lane < HORA__LANES; lane++) {
        counts[lane] = 0;
        latest[lane] = INT64_MIN;
    }
    for (size_t i = 0; i < exchange->ret_claim_count; i++) {
        const hora__claim *claim = &exchange->ret_claims[i];
        counts[claim->lane]++;
        if (claim->due > latest[claim->lane])
            latest[claim->lane] = claim->due;
    }
}

/* Nothing was claimed in a lane because firings of it were handed back. They are due now, and stay for other
 * nodes until the next full look. */
static void leave_lane(hora__node *node, int lane, int64_t store_now)
{
    if (node->low[lane] <= store_now)
        node->low[lane] = hora__sum(store_now, 1);
    if (node->next_due[lane] <= store_now)
        node->next_due[lane] = HORA__NEVER;
}

/* Remembers up to where all was claimed, and what the store has beyond that. */
static void note_lanes(hora__node *node, const hora__exchange *exchange, hora_ns received,
                       const int counts[static HORA__LANES], const int64_t latest[static HORA__LANES])
{
    int64_t sight = hora__sum(exchange->ret_begin, exchange->horizon_us);
    hora_ns poll = node->config.horizon / 2;
    poll = least(poll > POLL_LEAST ? poll : POLL_LEAST, node->config.look_every);
    node->look_at = HORA_FOREVER;
    for (int lane = 0; lane < HORA__LANES; lane++) {
        int limit = exchange->claim_limit[lane];
        /* Claims that are resumed say nothing about what is left. */
        bool all = counts[lane] < limit && !exchange->resume;
        node->next_due[lane] = exchange->ret_next_due[lane];
        if (limit > 0 && !exchange->resume)
            node->low[lane] = all ? sight : latest[lane];
        else if (hands_back(node, lane))
            leave_lane(node, lane, exchange->ret_now);
        if (all && node->next_due[lane] <= sight) {
            /* It waits for other nodes, and hides what comes after it. */
            node->next_due[lane] = HORA__NEVER;
            node->look_at = hora__sum(received, poll);
        }
    }
}

static void note_cancelled(hora__node *node, const hora__exchange *exchange)
{
    for (size_t i = 0; i < exchange->ret_cancelled_count; i++) {
        hora__held *held = hora__held_find(node, exchange->ret_cancelled[i], NULL);
        for (; held != NULL; held = hora__held_find(node, exchange->ret_cancelled[i], held)) {
            if (held->cancelled || held->owner != node->lease.node)
                continue;
            held->cancelled = true;
            if (held->state == HORA__HELD_RUNNING && !held->is_stopping &&
                !HORA__STORE_FAULT(CANCELLED_NOT_TOLD)) {
                hora__held_append(&node->stopped, held);
                held->is_stopping = true;
            }
        }
    }
}

int hora__node_exchanged(hora__node *node, hora_ns sent, hora_ns received, const hora__exchange *exchange,
                         int64_t *ret_step_us)
{
    assert(node->busy && node->joined);
    int counts[HORA__LANES];
    int64_t latest[HORA__LANES];
    bool looked = false, was_full = false;
    for (int lane = 0; lane < HORA__LANES; lane++) {
        looked |= exchange->claim_limit[lane] > 0;
        was_full |= exchange->low[lane] == INT64_MIN;
    }
    node->busy = false;
    node->failures = 0;
    node->counts.exchanges++;
    if (exchange->resume)
        node->resume = false;
    int64_t step =
        hora__clock_estimate_add(&node->clock, sent, received, exchange->ret_begin, exchange->ret_now_after);
    extend_lease(node, sent, received, exchange, step);
    int stale = take_answers(node, exchange, received);
    count_claims(exchange, counts, latest);
    note_lanes(node, exchange, received, counts, latest);
    forget_handed_back(node);
    if (node->learned)
        hora__node_woken(node, INT64_MIN, received);
    node->learned = false;
    for (size_t i = 0; i < exchange->ret_claim_count; i++) {
        if (exchange->resume)
            node->learned |= hora__held_resume(node, &exchange->ret_claims[i]);
        else
            hora__held_new(node, &exchange->ret_claims[i], received);
    }
    hora__node_free_settled(node);
    note_cancelled(node, exchange);
    if (looked && was_full)
        node->full_at = hora__sum(received, node->config.look_every);
    if (step != 0)
        node->full_at = received;
    *ret_step_us = step;
    return stale;
}

void hora__node_failed(hora__node *node, hora_ns now)
{
    hora__node_send_again(node);
    hora__node_free_settled(node);
    node->resume = !HORA__STORE_FAULT(CLAIMS_FORGOTTEN);
    node->resume_until = node->resume ? hora__sum(now, 2 * node->config.ttl) : INT64_MIN;
    node->full_at = least(node->full_at, now);
    int doublings = node->failures < RETRY_DOUBLINGS ? node->failures : RETRY_DOUBLINGS;
    node->retry_at = hora__sum(now, RETRY_FIRST << doublings);
    node->failures++;
}
