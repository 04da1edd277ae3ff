/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - a store in the memory of the process, for tests and simulations; see memory.h
 *
 * This file contains the nodes: leases, claims, the release of what dead nodes held, and the descriptor by
 * which clients wake nodes. Several nodes of one process may use the same store. A firing is claimed in the
 * order of lane, due time and id, so equal histories lead to equal claims.
 *
 * A node that has left or was reaped stays in the list, marked as gone, until it calls again: its thread may
 * still read the claims of its latest exchange. */
#include "memory.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "fault.h"
#include "reason.h"
#include "units.h"

/* The longest horizon of a node: half of the longest lease. */
#define NEAR_US (INT64_C(30) * 1000000)

static int memory_now(hora__backend *backend, int64_t *ret_now, hora_error *reason)
{
    hora_instant instant;
    int result = hora_clock_instant(backend->options.clock, &instant);
    if (result < 0)
        return hora__store_refuse(reason, result, NULL, "the clock of the store cannot be read");
    /* Rounded down, so that nothing is due early. */
    *ret_now = instant.ns / 1000 - (instant.ns % 1000 < 0);
    return 0;
}

int hora__memory_now(hora__memory *memory, int64_t *ret_now, hora_error *reason)
{
    return memory_now(&memory->backend, ret_now, reason);
}

/* ---- waking ---- */

void hora__memory_wake(hora__memory *memory, int64_t due)
{
    if (!memory->wake_pending || due < memory->wake_due)
        memory->wake_due = due;
    if (memory->wake_pending)
        return;
    /* The pipe is empty, so the byte fits, and the call does not block. */
    memory->wake_pending = write(memory->wake_write, "", 1) == 1;
}

void hora__memory_wake_for(hora__memory *memory, const hora__row *row, int64_t now)
{
    if (row->owner == 0 && !row->paused && row->due <= hora__sum(now, NEAR_US))
        hora__memory_wake(memory, row->due);
}

static int memory_wake(hora__backend *backend, hora_error *reason)
{
    (void)reason;
    hora__memory *memory = (hora__memory *)backend;
    pthread_mutex_lock(&memory->lock);
    hora__memory_wake(memory, INT64_MIN);
    pthread_mutex_unlock(&memory->lock);
    return 0;
}

static int memory_wake_fd(hora__backend *backend)
{
    return ((hora__memory *)backend)->wake_read;
}

static int64_t memory_wake_drain(hora__backend *backend)
{
    hora__memory *memory = (hora__memory *)backend;
    int64_t due = HORA__NEVER;
    char byte;
    pthread_mutex_lock(&memory->lock);
    if (memory->wake_pending && read(memory->wake_read, &byte, 1) == 1) {
        memory->wake_pending = false;
        due = memory->wake_due;
    }
    pthread_mutex_unlock(&memory->lock);
    return due;
}

/* ---- nodes ---- */

/* Ends the life of what the latest exchange of a node has returned. */
static void drop_results(hora__memory_node *node)
{
    for (size_t i = 0; i < 3 * node->claim_count; i++)
        hora__blob_drop(node->claim_blobs[i]);
    node->claim_count = 0;
    node->cancelled_count = 0;
}

static void free_node(hora__memory_node *node)
{
    drop_results(node);
    free(node->claims);
    free(node->claim_blobs);
    free(node->cancelled);
    free(node);
}

/* Finds the node of a lease, and forgets it if it is gone. NULL: there is none. */
static hora__memory_node *find_node(hora__memory *memory, const hora__lease *lease)
{
    hora__memory_node **place = &memory->nodes, *node;
    for (; (node = *place) != NULL; place = &node->next) {
        if (node->id == lease->node &&
            memcmp(node->incarnation, lease->incarnation, sizeof node->incarnation) == 0)
            break;
    }
    if (node == NULL || !node->gone)
        return node;
    *place = node->next;
    free_node(node);
    return NULL;
}

static int memory_join(hora__backend *backend, const char *name, int64_t ttl_us, hora__lease *ret_lease,
                       hora_error *reason)
{
    (void)name; /* only databases that people look into need it */
    hora__memory *memory = (hora__memory *)backend;
    hora__memory_node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "no memory for a node");
    int64_t now;
    int result = 0;
    if (getentropy(node->incarnation, sizeof node->incarnation) != 0)
        result = hora__store_refuse(reason, HORA_EIO, NULL, "the system gives no random numbers");
    pthread_mutex_lock(&memory->lock);
    if (result == 0)
        result = hora__memory_now(memory, &now, reason);
    if (result == 0) {
        node->id = ++memory->last_node;
        node->lease_end = hora__sum(now, ttl_us);
        node->ttl = ttl_us;
        node->next = memory->nodes;
        memory->nodes = node;
        *ret_lease = (hora__lease){.node = node->id, .ttl_us = ttl_us};
        memcpy(ret_lease->incarnation, node->incarnation, sizeof node->incarnation);
    }
    pthread_mutex_unlock(&memory->lock);
    if (result < 0)
        free(node);
    return result;
}

/* The first firing of a node with an id after `id`; NULL: none. */
static hora__row *next_claimed(const hora__memory *memory, int64_t owner, int64_t id)
{
    const hora__row probe = {.owner = owner, .id = id};
    hora__memory_tree_node *node = hora__memory_tree_after(&memory->claimed, &probe.by_owner);
    return node != NULL && HORA__ROW_OF(node, by_owner)->owner == owner ? HORA__ROW_OF(node, by_owner) : NULL;
}

static int memory_leave(hora__backend *backend, const hora__lease *lease, hora_error *reason)
{
    hora__memory *memory = (hora__memory *)backend;
    int64_t now;
    pthread_mutex_lock(&memory->lock);
    int result = hora__memory_now(memory, &now, reason);
    hora__memory_node *node = result < 0 ? NULL : find_node(memory, lease);
    if (node != NULL && node->lease_end > now) {
        hora__row *row;
        while ((row = next_claimed(memory, node->id, 0)) != NULL)
            hora__row_release(memory, row, true, now);
        node->gone = true;
        hora__memory_wake(memory, INT64_MIN);
        find_node(memory, lease);
    }
    pthread_mutex_unlock(&memory->lock);
    return result;
}

/* ---- reaping ---- */

/* A firing that is released, and the record of its run. */
typedef struct released {
    hora__row *row;
    hora__memory_record *record; /* NULL: it has not run, or wants no record */
} released;

/* A node does not start a firing before its time. */
static bool may_have_run(const hora__row *row, int64_t now)
{
    return row->started || row->due <= now;
}

static void release_lost(hora__memory *memory, released *lost, int64_t now)
{
    hora__row *row = lost->row;
    if (lost->record != NULL)
        hora__record_add(memory, lost->record, row,
                         (hora_run_record){
                             .outcome = HORA_RUN_LOST,
                             .planned = hora__instant_of_us(row->started ? row->ran_planned : row->planned),
                             .ended = hora__instant_of_us(now),
                             .attempt = row->started ? 1 : row->attempt,
                         });
    hora__row_release(memory, row, !may_have_run(row, now), now);
}

static int compare_released(const void *a, const void *b)
{
    const released *lost = a, *other = b;
    return (lost->row->id > other->row->id) - (lost->row->id < other->row->id);
}

/* Finds all firings of nodes whose lease has ended, in the order of ids. Returns their number; if it exceeds
 * `capacity`, the array has only so many, and not in order. */
static size_t find_lost(const hora__memory *memory, int64_t now, released *ret_lost, size_t capacity)
{
    size_t count = 0;
    for (const hora__memory_node *node = memory->nodes; node != NULL; node = node->next) {
        int64_t early = HORA__STORE_FAULT(STORE_REAPS_LIVING) ? 900000 : 0;
        if (node->gone || node->lease_end > now + early)
            continue;
        hora__row *row = next_claimed(memory, node->id, 0);
        for (; row != NULL; row = next_claimed(memory, node->id, row->id)) {
            if (count < capacity)
                ret_lost[count] = (released){row, NULL};
            count++;
        }
    }
    if (count > 1 && count <= capacity)
        qsort(ret_lost, count, sizeof ret_lost[0], compare_released);
    return count;
}

/* Allocates the records of lost runs. */
static bool make_records(hora__memory *memory, released *lost, size_t count, int64_t now)
{
    for (size_t i = 0; i < count; i++) {
        if (!lost[i].row->history || !may_have_run(lost[i].row, now))
            continue;
        lost[i].record = hora__record_new((hora__bytes){NULL, 0});
        if (lost[i].record == NULL)
            return false;
    }
    return hora__records_reserve(memory, count);
}

static void forget_dead_nodes(hora__memory *memory, int64_t now)
{
    for (hora__memory_node *node = memory->nodes; node != NULL; node = node->next) {
        if (node->lease_end <= now && next_claimed(memory, node->id, 0) == NULL)
            node->gone = true;
    }
}

/* The clock was set back: see hora__backend_ops.reap. */
static void shorten_leases(hora__memory *memory, int64_t now)
{
    for (hora__memory_node *node = memory->nodes; node != NULL; node = node->next)
        if (node->lease_end > hora__sum(now, node->ttl) && !HORA__STORE_FAULT(STORE_KEEPS_LONG_LEASE))
            node->lease_end = hora__sum(now, node->ttl);
}

static int reap_locked(hora__memory *memory, size_t limit, int64_t *ret_released, hora_error *reason)
{
    int64_t now;
    int result = hora__memory_now(memory, &now, reason);
    if (result < 0)
        return result;
    shorten_leases(memory, now);
    size_t all = find_lost(memory, now, NULL, 0), count = all < limit ? all : limit;
    released *lost = calloc(all + 1, sizeof *lost);
    if (lost != NULL)
        find_lost(memory, now, lost, all);
    if (lost == NULL || !make_records(memory, lost, count, now)) {
        for (size_t i = 0; lost != NULL && i < count; i++)
            hora__record_drop(lost[i].record);
        free(lost);
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "no memory for the records of lost runs");
    }
    for (size_t i = 0; i < count; i++)
        release_lost(memory, &lost[i], now);
    free(lost);
    forget_dead_nodes(memory, now);
    if (count > 0)
        hora__memory_wake(memory, INT64_MIN);
    *ret_released = (int64_t)count;
    return 0;
}

static int memory_reap(hora__backend *backend, const hora__lease *lease, int limit, int64_t *ret_released,
                       hora_error *reason)
{
    (void)lease;
    hora__memory *memory = (hora__memory *)backend;
    pthread_mutex_lock(&memory->lock);
    int result = reap_locked(memory, limit < 0 ? 0 : (size_t)limit, ret_released, reason);
    pthread_mutex_unlock(&memory->lock);
    return result;
}

/* ---- exchange ---- */

/* Makes room for one more element of an array. */
static bool grow(void **array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t more = 2 * *capacity + 16;
    void *larger = realloc(*array, more * size);
    if (larger == NULL)
        return false;
    *array = larger;
    *capacity = more;
    return true;
}

/* Makes room for `count` claims in all. */
static bool reserve_claims(hora__memory_node *node, size_t count)
{
    if (count <= node->claim_capacity)
        return true;
    size_t capacity = 2 * node->claim_capacity + count;
    hora__claim *claims = realloc(node->claims, capacity * sizeof(claims[0]));
    if (claims == NULL)
        return false;
    node->claims = claims;
    hora__blob **blobs = realloc(node->claim_blobs, 3 * capacity * sizeof(blobs[0]));
    if (blobs == NULL)
        return false;
    node->claim_blobs = blobs;
    node->claim_capacity = capacity;
    return true;
}

/* Adds a claimed row to the results of its node. There is room for it. */
static void show_claim(hora__memory_node *node, const hora__row *row)
{
    assert(row->owner == node->id);
    const hora__row_series *series = row->series;
    hora__blob **blobs = &node->claim_blobs[3 * node->claim_count];
    blobs[0] = hora__blob_share(row->key == NULL && series != NULL ? series->key : row->key);
    blobs[1] = hora__blob_share(series == NULL ? row->definition : NULL);
    blobs[2] = hora__blob_share(series == NULL ? row->payload : NULL);
    node->claims[node->claim_count++] = (hora__claim){
        .id = row->id,
        .series = series == NULL ? 0 : series->id,
        .revision = series == NULL ? 0 : series->version,
        .planned = row->planned,
        .due = row->due,
        .fence = row->fence,
        .attempt = row->attempt,
        .firings = row->firings,
        .gave_up = row->gave_up,
        .last_end = row->last_end,
        .last_success = row->last_success,
        .history = row->history,
        .lane = row->lane,
        .handler = row->handler->index,
        .key = hora__blob_text(blobs[0]),
        .forked = row->forked,
        .handed_back = row->ran_planned == row->planned,
        .definition = hora__blob_text(blobs[1]),
        .payload = {hora__blob_text(blobs[2]), blobs[2] == NULL ? 0 : blobs[2]->size},
    };
}

/* waiting -> claimed */
static void claim_row(hora__memory *memory, hora__memory_node *node, hora__row *row)
{
    assert(row->owner == 0 && !row->paused && !row->dead);
    hora__row_unlink(memory, row);
    row->owner = node->id;
    row->fence += !HORA__STORE_FAULT(STORE_KEEPS_FENCE);
    row->attempt++;
    hora__row_link(memory, row);
    show_claim(node, row);
}

/* `resume`: shows what the node has claimed already. */
static void show_claimed(hora__memory *memory, hora__memory_node *node)
{
    hora__row *row = next_claimed(memory, node->id, 0);
    for (; row != NULL; row = next_claimed(memory, node->id, row->id))
        show_claim(node, row);
}

static size_t count_claimed(hora__memory *memory, const hora__memory_node *node)
{
    size_t count = 0;
    hora__row *row = next_claimed(memory, node->id, 0);
    for (; row != NULL; row = next_claimed(memory, node->id, row->id))
        count++;
    return count;
}

/* The first waiting firing of a lane that is due at or after `low`; NULL: none. */
static hora__row *first_waiting(const hora__memory *memory, int lane, int64_t low)
{
    const hora__row probe = {.due = low, .id = 0};
    hora__memory_tree_node *node = hora__memory_tree_from(&memory->waiting[lane], &probe.by_due);
    return node == NULL ? NULL : HORA__ROW_OF(node, by_due);
}

/* A lack of memory ends the claims early: the rest is claimed by a later exchange. */
static void claim_lane(hora__memory *memory, hora__memory_node *node, hora__exchange *exchange, int lane,
                       int64_t now)
{
    int64_t high = hora__sum(now, exchange->horizon_us);
    int left = exchange->claim_limit[lane];
    hora__row *row = left > 0 ? first_waiting(memory, lane, exchange->low[lane]) : NULL;
    while (row != NULL && row->due <= high && left > 0) {
        hora__memory_tree_node *next = hora__memory_tree_after(&memory->waiting[lane], &row->by_due);
        if (row->handler->index >= 0) {
            if (!reserve_claims(node, node->claim_count + 1))
                break;
            claim_row(memory, node, row);
            left--;
        }
        row = next == NULL ? NULL : HORA__ROW_OF(next, by_due);
    }
    row = first_waiting(memory, lane, exchange->low[lane]);
    exchange->ret_next_due[lane] = row == NULL ? HORA__NEVER : row->due;
}

/* Notes for each handler its index in the exchange. */
static void mark_handlers(hora__memory *memory, const hora__exchange *exchange)
{
    for (hora__memory_handler *handler = memory->handlers; handler != NULL; handler = handler->next) {
        handler->index = -1;
        for (int i = 0; i < exchange->handler_count && handler->index < 0; i++) {
            if (strcmp(handler->name, exchange->handlers[i]) == 0)
                handler->index = i;
        }
    }
}

static void collect_cancelled(hora__memory *memory, hora__memory_node *node)
{
    hora__row *row = next_claimed(memory, node->id, 0);
    for (; row != NULL; row = next_claimed(memory, node->id, row->id)) {
        void *ids = node->cancelled;
        if (!row->change_cancel)
            continue;
        if (!grow(&ids, node->cancelled_count, &node->cancelled_capacity, sizeof(node->cancelled[0])))
            return; /* they are reported again */
        node->cancelled = ids;
        node->cancelled[node->cancelled_count++] = row->id;
    }
}

/* Another node whose lease has ended has not been forgotten yet. */
static bool others_have_ended(const hora__memory *memory, const hora__memory_node *self, int64_t now)
{
    for (const hora__memory_node *node = memory->nodes; node != NULL; node = node->next) {
        bool ended = node->lease_end <= now || node->lease_end > hora__sum(now, node->ttl);
        if (node != self && !node->gone && ended)
            return true;
    }
    return false;
}

static int exchange_locked(hora__memory *memory, const hora__lease *lease, hora__exchange *exchange,
                           hora_error *reason)
{
    int64_t now;
    int result = hora__memory_now(memory, &now, reason);
    if (result < 0)
        return result;
    hora__memory_node *node = find_node(memory, lease);
    if (node != NULL)
        drop_results(node);
    if (node == NULL || (node->lease_end <= now && !HORA__STORE_FAULT(STORE_RENEWS_ENDED)))
        return hora__store_refuse(reason, HORA_EEXPIRED, NULL, "the lease of node %lld has ended",
                                  (long long)lease->node);
    if (exchange->resume && !reserve_claims(node, count_claimed(memory, node)))
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "no memory for the claims of a node");
    result = hora__memory_settle(memory, exchange->settles, exchange->settle_count, now,
                                 exchange->ret_settled, reason);
    if (result < 0)
        return result;
    if (exchange->renew)
        node->lease_end = hora__sum(now, lease->ttl_us);
    mark_handlers(memory, exchange);
    if (exchange->resume)
        show_claimed(memory, node);
    for (int lane = 0; lane < HORA__LANES; lane++)
        claim_lane(memory, node, exchange, lane, now);
    collect_cancelled(memory, node);
    exchange->ret_claims = node->claims;
    exchange->ret_claim_count = node->claim_count;
    exchange->ret_cancelled = node->cancelled;
    exchange->ret_cancelled_count = node->cancelled_count;
    exchange->ret_begin = exchange->ret_now = exchange->ret_now_after = now;
    exchange->ret_lease_left = node->lease_end - now;
    exchange->ret_reap = others_have_ended(memory, node, now);
    return 0;
}

static int memory_exchange(hora__backend *backend, const hora__lease *lease, hora__exchange *exchange,
                           hora_error *reason)
{
    hora__memory *memory = (hora__memory *)backend;
    pthread_mutex_lock(&memory->lock);
    int result = exchange_locked(memory, lease, exchange, reason);
    pthread_mutex_unlock(&memory->lock);
    return result;
}

static int memory_read_series(hora__backend *backend, int64_t id, hora__series *ret_series,
                              hora_error *reason)
{
    hora__memory *memory = (hora__memory *)backend;
    pthread_mutex_lock(&memory->lock);
    const hora__row_series *series = hora__series_by_id(memory, id);
    if (series != NULL) {
        hora__blob_drop(memory->read_blobs[0]);
        hora__blob_drop(memory->read_blobs[1]);
        hora__blob *definition = memory->read_blobs[0] = hora__blob_share(series->definition);
        hora__blob *payload = memory->read_blobs[1] = hora__blob_share(series->payload);
        *ret_series =
            (hora__series){.revision = series->version,
                           .definition = hora__blob_text(definition),
                           .payload = {hora__blob_text(payload), payload == NULL ? 0 : payload->size}};
    }
    pthread_mutex_unlock(&memory->lock);
    return series != NULL
               ? 0
               : hora__store_refuse(reason, HORA_ENOENT, NULL, "there is no series %lld", (long long)id);
}

/* ---- the store ---- */

static int memory_put_joined(hora__backend *backend, void *connection, const hora__put *puts, size_t count,
                             hora__put_done *ret_done, size_t *ret_wrong, hora_error *reason)
{
    (void)backend, (void)connection, (void)puts, (void)ret_done;
    *ret_wrong = count;
    return hora__store_refuse(reason, HORA_EINVAL, NULL, "a store in memory has no connections");
}

static void memory_close(hora__backend *backend)
{
    hora__memory *memory = (hora__memory *)backend;
    while (memory->nodes != NULL) {
        hora__memory_node *node = memory->nodes;
        memory->nodes = node->next;
        free_node(node);
    }
    hora__blob_drop(memory->read_blobs[0]);
    hora__blob_drop(memory->read_blobs[1]);
    hora__rows_free(memory);
    close(memory->wake_read);
    close(memory->wake_write);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

static const hora__backend_ops memory_ops = {
    .name = "memory",
    .shared = false,
    .transactions = false,
    .close = memory_close,
    .now = memory_now,
    .put = hora__memory_put,
    .put_joined = memory_put_joined,
    .change = hora__memory_change,
    .list = hora__memory_list,
    .history = hora__memory_history,
    .trim = hora__memory_trim,
    .stats = hora__memory_stats,
    .wake = memory_wake,
    .join = memory_join,
    .exchange = memory_exchange,
    .read_series = memory_read_series,
    .reap = memory_reap,
    .leave = memory_leave,
    .wake_fd = memory_wake_fd,
    .wake_drain = memory_wake_drain,
};

/* Neither end blocks, and programs that the process starts do not inherit them. */
static int open_pipe(hora__memory *memory, hora_error *reason)
{
    int ends[2];
    if (pipe(ends) != 0)
        return hora__store_refuse(reason, errno == ENFILE ? HORA_ENFILE : HORA_EMFILE, NULL,
                                  "no descriptors for a pipe");
    for (int i = 0; i < 2; i++) {
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    }
    memory->wake_read = ends[0];
    memory->wake_write = ends[1];
    return 0;
}

int hora__memory_open(const hora_store_options *options, hora__backend **ret_backend, hora_error *reason)
{
    hora__memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "no memory for a store");
    int result = open_pipe(memory, reason);
    if (result == 0 && pthread_mutex_init(&memory->lock, NULL) != 0) {
        close(memory->wake_read);
        close(memory->wake_write);
        result = hora__store_refuse(reason, HORA_EAGAIN, NULL, "no lock for a store");
    }
    if (result < 0) {
        free(memory);
        return result;
    }
    memory->backend.ops = &memory_ops;
    memory->backend.options = *options;
    if (memory->backend.options.clock == NULL)
        memory->backend.options.clock = hora_clock_system(HORA_CLOCK_WALL);
    hora__rows_init(memory);
    *ret_backend = &memory->backend;
    return 0;
}
