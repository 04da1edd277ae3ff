/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - one node of a store: its lease, and the firings that it starts and ends
 *
 * Start      hora__node_start checks the lease, the time of the store and the rules, in this order. A firing
 *            that has to ask the store first becomes ASKING, and WAITING again with `accepted` when the store
 *            has answered.
 * Outcomes   The settlement of a firing is kept inside of it, so an outcome needs no memory. Only the note of
 *            a run is copied, and left out if there is no memory.
 * Unknown    An exchange whose reply is lost may have had an effect. All settlements are sent again: the
 *            fence makes that harmless. While the lease lasts, no other node can settle a firing of this
 *            node. So a settlement that is sent again and is found stale was accepted the first time.
 *
 * node_exchange.c has the exchanges with the store. */
#include "node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "node_internal.h"
#include "rules.h"
#include "units.h"

enum { FIRST_BUCKETS = 64 };

int hora__node_new(const hora__node_config *config, hora__node **ret_node)
{
    assert(config->held_size >= sizeof(hora__held) && config->max_claimed > 0);
    hora__node *node = malloc(sizeof *node);
    if (node == NULL)
        return HORA_ENOMEM;
    memset(node, 0, offsetof(hora__node, back));
    node->config = *config;
    if (node->config.look_every == 0)
        node->config.look_every = HORA_SECONDS(1);
    hora__definition_init(&node->defaults);
    node->bucket_count = FIRST_BUCKETS;
    node->buckets = calloc(FIRST_BUCKETS, sizeof *node->buckets);
    node->woken_due = HORA__NEVER;
    node->resume_until = INT64_MIN;
    int error = node->buckets != NULL ? 0 : HORA_ENOMEM;
    if (error == 0)
        error = hora__series_cache_new(HORA__NODE_SERIES_LIMIT, &node->series);
    if (error < 0) {
        free(node->buckets);
        free(node);
        return error;
    }
    *ret_node = node;
    return 0;
}

void hora__node_free(hora__node *node)
{
    if (node == NULL)
        return;
    assert(node->in_state[HORA__HELD_RUNNING] == 0);
    while (node->first != NULL)
        hora__held_free(node, node->first);
    hora__series_cache_free(node->series);
    free(node->buckets);
    free(node);
}

/* ---- the lease ---- */

hora_ns hora__node_margin(const hora__node *node)
{
    hora_ns part = node->config.ttl / 20;
    return part > HORA_MS(10) ? part : HORA_MS(10);
}

void hora__node_joined(hora__node *node, const hora__lease *lease, hora_ns sent)
{
    assert(!node->joined && !node->busy);
    node->joined = true;
    node->lease = *lease;
    node->deadline = hora__sum(sent, node->config.ttl) - hora__node_margin(node);
    node->renewed_at = sent;
    for (int lane = 0; lane < HORA__LANES; lane++) {
        node->low[lane] = INT64_MIN;
        node->next_due[lane] = HORA__NEVER;
    }
    node->full_at = sent;
    node->look_at = HORA_FOREVER;
    node->failures = 0;
}

bool hora__node_has_lease(const hora__node *node, hora_ns now)
{
    return node->joined && now < node->deadline;
}

const hora__lease *hora__node_lease(const hora__node *node)
{
    return node->joined ? &node->lease : NULL;
}

/* Marks a firing that waits as one that will not be started. */
static void drop(hora__node *node, hora__held *held)
{
    assert(held->state == HORA__HELD_WAITING && !held->dropped);
    held->dropped = true;
    if (held->parked)
        node->parked--;
    held->parked = false;
    hora__held_append(&node->dropped, held);
}

/* Takes those that ask out of the queue: the store will not answer them. */
static void stop_asking(hora__node *node)
{
    hora__held *at = node->out_first;
    node->out_first = node->out_last = NULL;
    node->out_count = node->asking = 0;
    while (at != NULL) {
        hora__held *next = at->next_out;
        at->next_out = NULL;
        if (at->state == HORA__HELD_ASKING) {
            hora__held_free(node, at);
        } else {
            *(node->out_last != NULL ? &node->out_last->next_out : &node->out_first) = at;
            node->out_last = at;
            node->out_count++;
        }
        at = next;
    }
}

void hora__node_fenced(hora__node *node)
{
    if (node->busy)
        hora__node_send_again(node);
    hora__node_free_settled(node);
    node->joined = false;
    node->resume = false;
    node->resume_until = INT64_MIN;
    stop_asking(node);
    if (!HORA__STORE_FAULT(STALE_CLAIM_STARTS))
        (void)hora__held_take_all(&node->ready);
    for (hora__held *held = node->first; held != NULL; held = held->next) {
        if (held->state == HORA__HELD_WAITING && !held->dropped && !HORA__STORE_FAULT(STALE_CLAIM_STARTS))
            drop(node, held);
        if (held->state == HORA__HELD_RUNNING && !held->lost) {
            held->lost = true;
            if (!held->is_stopping && !HORA__STORE_FAULT(LOST_NOT_TOLD))
                hora__held_append(&node->stopped, held);
            held->is_stopping = true;
        }
    }
}

void hora__node_hand_back(hora__node *node)
{
    if (HORA__STORE_FAULT(STEP_KEEPS_WAITING) && !node->draining)
        return;
    hora__held *ready = hora__held_take_all(&node->ready);
    while (ready != NULL) {
        hora__held *next = ready->next_ready;
        if (ready->accepted)
            hora__held_append(&node->ready, ready);
        ready = next;
    }
    for (hora__held *held = node->first; held != NULL; held = held->next)
        if (held->state == HORA__HELD_WAITING && !held->accepted && !held->dropped)
            drop(node, held);
}

void hora__node_drain(hora__node *node)
{
    node->draining = true;
    hora__node_hand_back(node);
}

/* ---- lists for the shell ---- */

hora__held *hora__node_take_ready(hora__node *node)
{
    return hora__held_take_all(&node->ready);
}

hora__held *hora__node_take_stopped(hora__node *node)
{
    for (hora__held *held = node->stopped.first; held != NULL; held = held->next_ready)
        held->is_stopping = false;
    return hora__held_take_all(&node->stopped);
}

hora__held *hora__node_take_dropped(hora__node *node)
{
    return hora__held_take_all(&node->dropped);
}

void hora__node_make_ready(hora__node *node, hora__held *held, hora_ns start_at)
{
    assert(held->state == HORA__HELD_WAITING && !held->dropped);
    held->start_at = start_at;
    hora__held_append(&node->ready, held);
}

/* ---- settlements ---- */

void hora__node_send(hora__node *node, hora__held *held, hora_ns now)
{
    bool asks = held->settle.kind == HORA__SETTLE_START || held->settle.kind == HORA__SETTLE_FORK;
    assert(held->settle.kind != 0);
    held->settle.owner = held->owner;
    held->sent_before = false;
    hora__held_set_state(node, held, asks ? HORA__HELD_ASKING : HORA__HELD_SETTLING);
    if (node->out_count == 0)
        node->out_since = now;
    held->next_out = NULL;
    *(node->out_last != NULL ? &node->out_last->next_out : &node->out_first) = held;
    node->out_last = held;
    node->out_count++;
    node->asking += asks;
}

void hora__node_send_again(hora__node *node)
{
    assert(node->busy);
    node->busy = false;
    for (size_t i = node->sent_count; i-- > node->sent_back;) {
        hora__held *held = node->sent[i];
        if (HORA__STORE_FAULT(OUTCOME_DROPPED) && held->state == HORA__HELD_SETTLING) {
            hora__held_free(node, held);
            continue;
        }
        held->sent_before = true;
        held->next_out = node->out_first;
        node->out_first = held;
        if (node->out_last == NULL)
            node->out_last = held;
        node->out_count++;
        node->asking += held->state == HORA__HELD_ASKING;
    }
    node->out_since = INT64_MIN;
}

/* Hands a firing that was not started back to the store. */
static void send_release(hora__node *node, hora__held *held, hora_ns now)
{
    held->settle = (hora__settle){.id = held->claim.id,
                                  .fence = held->claim.fence,
                                  .kind = HORA__SETTLE_RELEASE,
                                  .gave_up = held->claim.gave_up};
    hora__node_send(node, held, now);
}

/* A firing that was dropped by hora__node_hand_back is; one of a lost lease is not this node's. */
void hora__node_forget(hora__node *node, hora__held *held)
{
    assert(held->dropped && held->state == HORA__HELD_WAITING);
    hora__held_remove(&node->dropped, held);
    if (node->joined && held->owner == node->lease.node)
        send_release(node, held, INT64_MIN);
    else
        hora__held_free(node, held);
}

/* ---- runs ---- */

static hora__start run(hora__node *node, hora__held *held, hora_ns now)
{
    hora__held_set_state(node, held, HORA__HELD_RUNNING);
    held->started_at = now;
    if (held->cancelled && !held->is_stopping) { /* after START or FORK, which cannot be undone */
        hora__held_append(&node->stopped, held);
        held->is_stopping = true;
    }
    return HORA__START_RUN;
}

/* Comes back with the renewal of the lease. */
static hora__start park(hora__node *node, hora__held *held)
{
    node->parked += !held->parked;
    held->parked = true;
    return HORA__START_WAIT;
}

/* Applies the rules to a firing whose time has come. */
static hora__start decide(hora__node *node, hora__held *held, int64_t store_now, hora_ns now)
{
    switch (hora__rules_before(held->definition, held->trigger, &held->claim, store_now, &held->settle)) {
    case HORA__BEFORE_ASK:
        hora__node_send(node, held, now);
        return HORA__START_WAIT;
    case HORA__BEFORE_SKIP:
        node->counts.skipped += held->settle.outcome == HORA_RUN_SKIPPED ? held->settle.skipped : 0;
        hora__node_send(node, held, now);
        return HORA__START_GONE;
    case HORA__BEFORE_RUN:
    default:
        return run(node, held, now);
    }
}

hora__start hora__node_start(hora__node *node, hora__held *held, hora_ns now)
{
    if (held->dropped)
        return HORA__START_GONE;
    assert(held->state == HORA__HELD_WAITING);
    /* NOLINTNEXTLINE(misc-redundant-expression): the planted faults differ, if there are any */
    if (!hora__node_has_lease(node, now) && !HORA__STORE_FAULT(NO_LEASE_CHECK) &&
        !HORA__STORE_FAULT(STALE_CLAIM_STARTS))
        return park(node, held);
    if (held->accepted)
        return run(node, held, now);
    if (held->cancelled) {
        send_release(node, held, now);
        return HORA__START_GONE;
    }
    int64_t store_now = hora__node_store_time(node, now);
    if (store_now < held->claim.due) {
        hora_ns due = hora__clock_estimate_node_time(&node->clock, held->claim.due);
        hora__node_make_ready(node, held, due > now ? due : now + 1);
        return HORA__START_WAIT;
    }
    return decide(node, held, store_now, now);
}

void hora__node_outcome(hora__node *node, hora__held *held, const hora__run_end *end, hora_ns now,
                        hora__settle *ret_settle)
{
    assert(held->state == HORA__HELD_RUNNING);
    hora__rules_after(held->definition, held->trigger, &held->claim, end, (now - held->started_at) / 1000,
                      hora__node_store_time(node, now), node->config.random(node->config.arg), ret_settle);
    ret_settle->owner = held->owner;
    ret_settle->note = end->note;
}

/* Copies the note, which only records need. */
static void keep_note(hora__held *held)
{
    hora__bytes note = held->settle.note;
    held->settle.note = (hora__bytes){NULL, 0};
    if (note.data == NULL || !held->settle.history)
        return;
    held->note = malloc(note.size + 1);
    if (held->note == NULL)
        return;
    if (note.size > 0)
        memcpy(held->note, note.data, note.size);
    held->settle.note = (hora__bytes){held->note, note.size};
}

/* A run that was stopped is neither a success nor a failure. */
static void count_end(hora__node *node, const hora__held *held, const hora__run_end *end)
{
    if (end->hands_back)
        return;
    if (end->outcome == HORA_RUN_SKIPPED)
        node->counts.skipped++;
    else if (end->outcome == (hora_run_outcome)0 && end->code == 0)
        node->counts.succeeded++;
    else if (end->outcome == (hora_run_outcome)0)
        node->counts.failed++;
    node->counts.skipped += held->settle.skipped;
}

void hora__node_ended(hora__node *node, hora__held *held, const hora__run_end *end, bool settled, hora_ns now)
{
    assert(held->state == HORA__HELD_RUNNING);
    if (held->is_stopping)
        hora__held_remove(&node->stopped, held);
    held->is_stopping = false;
    if (!settled)
        hora__node_outcome(node, held, end, now, &held->settle);
    count_end(node, held, end);
    if (settled && node->busy) {
        /* The exchange in progress may have read the claim before it was settled. */
        hora__held_set_state(node, held, HORA__HELD_SETTLING);
        held->settled = true;
        node->settled_count++;
        return;
    }
    if (settled || (HORA__STORE_FAULT(START_IS_THE_END) && held->asked == HORA__SETTLE_START)) {
        hora__held_free(node, held);
        return;
    }
    keep_note(held);
    hora__node_send(node, held, now);
}

void hora__node_free_settled(hora__node *node)
{
    assert(!node->busy);
    for (hora__held *held = node->first, *next; held != NULL && node->settled_count > 0; held = next) {
        next = held->next;
        if (held->settled) {
            node->settled_count--;
            hora__held_free(node, held);
        }
    }
}

/* ---- queries ---- */

bool hora__node_is_empty(const hora__node *node)
{
    return node->held_count == 0 && node->back_count == 0;
}

bool hora__node_is_idle(const hora__node *node, hora_ns now)
{
    /* A firing that was put just now is due, although the store's clock, as far as the node can tell, may not
     * have reached its time. */
    int64_t store_now = hora__clock_estimate_latest_us(&node->clock, now);
    if (store_now == INT64_MAX || !node->joined || node->resume || node->woken_due <= store_now)
        return false;
    if (node->busy) /* the request in progress may find something */
        return false;
    for (int lane = 0; lane < HORA__LANES; lane++)
        if (node->next_due[lane] <= store_now || node->low[lane] == INT64_MIN)
            return false;
    for (const hora__held *held = node->first; held != NULL; held = held->next)
        if (held->state != HORA__HELD_WAITING || held->claim.due <= store_now)
            return false;
    return true;
}

int64_t hora__node_store_time(const hora__node *node, hora_ns now)
{
    return hora__clock_estimate_store_us(&node->clock, now);
}

hora__node_counts hora__node_get_counts(const hora__node *node)
{
    hora__node_counts counts = node->counts;
    counts.claimed = node->in_state[HORA__HELD_WAITING] + node->in_state[HORA__HELD_ASKING];
    counts.running = node->in_state[HORA__HELD_RUNNING];
    return counts;
}
