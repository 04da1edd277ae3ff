/* SPDX-License-Identifier: Apache-2.0 */
/* held.c - the firings that a node has in hand: their memory, their lists, and how they are found */
#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "node_internal.h"

/* ---- lists ---- */

void hora__held_append(hora__held_list *list, hora__held *held)
{
    held->next_ready = NULL;
    *(list->last != NULL ? &list->last->next_ready : &list->first) = held;
    list->last = held;
}

void hora__held_remove(hora__held_list *list, hora__held *held)
{
    hora__held *before = NULL, *at = list->first;
    while (at != NULL && at != held) {
        before = at;
        at = at->next_ready;
    }
    if (at == NULL)
        return;
    *(before != NULL ? &before->next_ready : &list->first) = held->next_ready;
    if (list->last == held)
        list->last = before;
    held->next_ready = NULL;
}

hora__held *hora__held_take_all(hora__held_list *list)
{
    hora__held *first = list->first;
    *list = (hora__held_list){NULL, NULL};
    return first;
}

/* ---- finding ---- */

static hora__held **bucket_of(const hora__node *node, int64_t id)
{
    return &node->buckets[(uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (node->bucket_count - 1)];
}

/* Without memory for more buckets, the search takes longer. */
static void grow(hora__node *node)
{
    size_t count = node->bucket_count * 4;
    hora__held **buckets = calloc(count, sizeof *buckets);
    if (buckets == NULL)
        return;
    free(node->buckets);
    node->buckets = buckets;
    node->bucket_count = count;
    for (hora__held *held = node->first; held != NULL; held = held->next) {
        hora__held **bucket = bucket_of(node, held->claim.id);
        held->next_in_bucket = *bucket;
        *bucket = held;
    }
}

hora__held *hora__held_find(const hora__node *node, int64_t id, const hora__held *after)
{
    hora__held *at = after != NULL ? after->next_in_bucket : *bucket_of(node, id);
    while (at != NULL && at->claim.id != id)
        at = at->next_in_bucket;
    return at;
}

static bool is_in_hand(const hora__node *node, const hora__claim *claim)
{
    if (HORA__STORE_FAULT(CLAIMED_TWICE))
        return false;
    hora__held *held = hora__held_find(node, claim->id, NULL);
    while (held != NULL && held->claim.fence != claim->fence)
        held = hora__held_find(node, claim->id, held);
    return held != NULL;
}

static void insert(hora__node *node, hora__held *held)
{
    held->next = node->first;
    if (node->first != NULL)
        node->first->previous = held;
    node->first = held;
    hora__held **bucket = bucket_of(node, held->claim.id);
    held->next_in_bucket = *bucket;
    *bucket = held;
    if (++node->held_count > node->bucket_count * 2)
        grow(node);
}

static void extract(hora__node *node, hora__held *held)
{
    *(held->previous != NULL ? &held->previous->next : &node->first) = held->next;
    if (held->next != NULL)
        held->next->previous = held->previous;
    hora__held **at = bucket_of(node, held->claim.id);
    while (*at != held)
        at = &(*at)->next_in_bucket;
    *at = held->next_in_bucket;
    node->held_count--;
}

/* ---- memory ---- */

void hora__held_set_state(hora__node *node, hora__held *held, hora__held_state state)
{
    node->in_state[held->state]--;
    node->in_state[state]++;
    held->state = state;
}

static void release_parts(hora__node *node, hora__held *held)
{
    hora__definition_free(held->own_definition);
    if (held->series != NULL)
        hora__series_cache_release(node->series, held->series);
    free(held->note);
}

void hora__held_free(hora__node *node, hora__held *held)
{
    node->in_state[held->state]--;
    extract(node, held);
    release_parts(node, held);
    free(held);
}

static char *copy(char *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    return to + size;
}

/* Allocates a held firing with copies of the texts behind it. */
static hora__held *allocate(const hora__node *node, const hora__claim *claim)
{
    size_t key = claim->key != NULL ? strlen(claim->key) + 1 : 0;
    size_t payload = claim->payload.data != NULL ? claim->payload.size : 0;
    size_t unit = alignof(max_align_t);
    size_t start = (node->config.held_size + unit - 1) / unit * unit;
    hora__held *held = calloc(1, start + payload + key + 1);
    if (held == NULL)
        return NULL;
    held->claim = *claim;
    held->claim.definition = NULL;
    char *at = (char *)held + start;
    if (claim->payload.data != NULL)
        held->claim.payload.data = at;
    if (payload > 0)
        at = copy(at, claim->payload.data, payload);
    if (key > 0) {
        held->claim.key = at;
        (void)copy(at, claim->key, key);
    }
    return held;
}

/* Finds the series of a claim in the cache, or reads it. */
static int find_series(hora__node *node, hora__held *held)
{
    held->series = hora__series_cache_find(node->series, held->claim.series, held->claim.revision);
    if (held->series == NULL) {
        hora__series row;
        int error = node->config.read_series(held->claim.series, &row, node->config.arg);
        if (error == 0)
            error = hora__series_cache_add(node->series, held->claim.series, &row, &held->series);
        if (error != 0)
            return error;
    }
    held->definition = held->series->definition;
    held->claim.payload = held->series->payload;
    return 0;
}

static int find_definition(hora__node *node, hora__held *held, const char *text)
{
    int error = 0;
    if (held->claim.series != 0)
        error = find_series(node, held);
    else if (text != NULL)
        error = hora__definition_read(text, &held->own_definition, NULL);
    if (error != 0)
        return error;
    if (held->claim.series == 0)
        held->definition = text != NULL ? held->own_definition : &node->defaults;
    if (held->definition->kind != HORA__KIND_TRIGGER)
        return 0;
    held->trigger = node->config.find_trigger(held->definition->trigger_name, node->config.arg);
    return held->trigger != NULL ? 0 : HORA_ENOTSUP;
}

/* Without room even for this, the claim is asked for again with the next exchange. */
static void hand_back(hora__node *node, const hora__claim *claim)
{
    if (node->back_count == HORA__NODE_BATCH) {
        node->resume = true;
        return;
    }
    node->back[node->back_count++] =
        (hora__handed_back){claim->id, claim->fence, node->lease.node, claim->lane};
}

bool hora__held_resume(hora__node *node, const hora__claim *claim)
{
    if (is_in_hand(node, claim))
        return false;
    hand_back(node, claim);
    return true;
}

void hora__held_new(hora__node *node, const hora__claim *claim, hora_ns now)
{
    assert(claim->lane >= 0 && claim->lane < HORA__LANES);
    hora__held *held = node->draining ? NULL : allocate(node, claim);
    if (held == NULL) {
        hand_back(node, claim);
        return;
    }
    if (find_definition(node, held, claim->definition) != 0) {
        hand_back(node, claim);
        release_parts(node, held);
        free(held);
        return;
    }
    held->owner = node->lease.node;
    /* Attempts of a firing that runs at most once have never started: see hora__rules_before. */
    if (held->definition->delivery == HORA_AT_MOST_ONCE)
        held->claim.attempt = 1;
    node->in_state[HORA__HELD_WAITING]++;
    insert(node, held);
    hora_ns due = hora__clock_estimate_node_time(&node->clock, claim->due);
    hora__node_make_ready(node, held, due > now ? due : now);
}
