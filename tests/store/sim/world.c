/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - time, events and messages of the simulation */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/virtual_clock.h>

#include "sim.h"

/* A schedule has about a hundred events. */
enum { MOST_EVENTS = 20000 };

/* The clock of the store. It is shared by all schedules, and set back at the start of each. */
static hora_virtual_clock *clock_of_store;

static void give_up(const char *what)
{
    fprintf(stderr, "store-sim: %s\n", what);
    exit(2);
}

void world_prepare(void)
{
    if (hora_virtual_clock_new(NULL, &clock_of_store, NULL) < 0)
        give_up("no memory for a clock");
}

/* ---- chance: splitmix64 ---- */

static uint64_t next_random(world *own)
{
    uint64_t value = own->random += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

uint64_t world_random(world *own, uint64_t below)
{
    return next_random(own) % below;
}

bool world_chance(world *own, int percent)
{
    return (int)world_random(own, 100) < percent;
}

/* ---- the store's clock ---- */

int64_t world_store_us(const world *own)
{
    return EPOCH_US + own->now / 1000 + own->steps_us;
}

/* Makes the clock that the store reads show the time of the schedule. */
static void show_time(const world *own)
{
    hora_instant shown;
    if (hora_clock_instant(hora_virtual_clock_view(clock_of_store, HORA_CLOCK_WALL), &shown) < 0 ||
        hora_virtual_clock_step_wall(clock_of_store, world_store_us(own) * 1000 - shown.ns) < 0)
        give_up("the clock cannot be set");
}

/* ---- events ---- */

void message_drop(message *dropped)
{
    if (dropped != NULL && --dropped->references == 0)
        free(dropped);
}

void world_add(world *own, event added)
{
    if (own->event_count == MAX_EVENTS)
        give_up("too many events");
    added.order = own->order++;
    own->events[own->event_count++] = added;
}

static void remove_event(world *own, size_t index)
{
    own->events[index] = own->events[--own->event_count];
}

void world_forget_actor(world *own, const actor *gone)
{
    for (size_t i = own->event_count; i-- > 0;) {
        event *one = &own->events[i];
        if (one->actor != gone)
            continue;
        if (one->kind == EVENT_ARRIVE) {
            one->actor = NULL;
        } else if (one->kind != EVENT_CRASH && one->kind != EVENT_RESTART && one->kind != EVENT_PAUSE) {
            message_drop(one->message);
            remove_event(own, i);
        }
    }
}

void world_forget_firing(world *own, const firing *gone)
{
    for (size_t i = own->event_count; i-- > 0;)
        if (own->events[i].firing == gone)
            remove_event(own, i);
}

event *world_find_end(world *own, const firing *of)
{
    for (size_t i = 0; i < own->event_count; i++)
        if (own->events[i].firing == of && own->events[i].kind == EVENT_END)
            return &own->events[i];
    return NULL;
}

/* ---- messages ---- */

static void carry_out_exchange(world *own, message *request, hora_error *reason)
{
    hora__backend *backend = own->backend;
    int64_t node = request->lease.node;
    request->result = backend->ops->exchange(backend, &request->lease, &request->exchange, reason);
    if (request->result == 0 && node < MAX_LEASES && own->lease_end[node] <= world_store_us(own) &&
        !own->stepped)
        world_violation(own, "B4", "the store accepts an exchange of node %lld, whose lease has ended",
                        (long long)node);
    if (request->result == 0 && node < MAX_LEASES)
        own->lease_end[request->lease.node] = world_store_us(own) + request->exchange.ret_lease_left;
}

/* A request that arrives after the node has given it up must not disturb the memory of the reply that the
 * node waits for: it comes a little later then. */
static bool must_wait(const event *one)
{
    return one->message->lost && one->actor != NULL && one->actor->pending != NULL &&
           one->actor->pending != one->message && one->actor->pending->done;
}

void world_arrive(world *own, event one)
{
    message *request = one.message;
    hora_error reason;
    if (must_wait(&one)) {
        one.at = own->now + HORA_MS(1);
        world_add(own, one);
        return;
    }
    show_time(own);
    hora__backend *backend = own->backend;
    switch (request->kind) {
    case MESSAGE_JOIN:
        request->result = backend->ops->join(backend, "sim", request->lease.ttl_us, &request->lease, &reason);
        if (request->result == 0 && request->lease.node < MAX_LEASES)
            own->lease_end[request->lease.node] = world_store_us(own) + request->lease.ttl_us;
        break;
    case MESSAGE_EXCHANGE:
        carry_out_exchange(own, request, &reason);
        break;
    case MESSAGE_REAP:
        request->result = backend->ops->reap(backend, &request->lease, 100, &request->released, &reason);
        break;
    }
    world_trace(own, "store: %s of node %lld: %s",
                (const char *[]){"join", "exchange", "reap"}[request->kind], (long long)request->lease.node,
                hora_errname(request->result));
    for (size_t i = 0; request->kind == MESSAGE_EXCHANGE && own->trace && i < request->exchange.settle_count;
         i++)
        world_trace(own, "       settlement of id %lld, fence %lld, kind %d: %d",
                    (long long)request->settles[i].id, (long long)request->settles[i].fence,
                    (int)request->settles[i].kind, (int)request->settled[i]);
    request->done = true;
    message_drop(request);
}

/* ---- the schedule ---- */

static void tell_nodes(world *own)
{
    int64_t due = own->backend->ops->wake_drain(own->backend);
    for (int i = 0; i < own->actor_count && due != HORA__NEVER; i++)
        if (!own->faults.lost_replies || own->now > own->heal_at || !world_chance(own, 20))
            world_add(own, (event){.at = own->now + (int64_t)world_random(own, 1000000),
                                   .kind = EVENT_WOKEN,
                                   .actor = &own->actors[i],
                                   .number = due});
}

static void pause_actor(world *own, actor *paused)
{
    paused->paused_until = own->now + (int64_t)world_random(own, (uint64_t)own->ttl * 2);
    if (paused->paused_until > own->heal_at)
        paused->paused_until = own->heal_at;
    world_trace(own, "actor %d pauses for %lld ms", paused->index,
                (long long)(paused->paused_until - own->now) / 1000000);
}

static void step_clock(world *own)
{
    /* By up to two seconds, or by an hour: then every lease has ended, or would seem to last for an hour. */
    static const int64_t hour = INT64_C(3600000000);
    int64_t size = world_chance(own, 30) ? (world_chance(own, 50) ? hour : -hour)
                                         : (int64_t)world_random(own, 4000000) - 2000000;
    own->steps_us += size;
    own->stepped = true;
    world_trace(own, "the store's clock is set by %lld us", (long long)size);
}

/* Dispatches an event whose actor is up and not paused. */
static void dispatch(world *own, const event *one)
{
    switch (one->kind) {
    case EVENT_ARRIVE:
        world_arrive(own, *one);
        break;
    case EVENT_REPLY:
        actor_reply(one->actor, one->message);
        break;
    case EVENT_TIMER:
        actor_timer(one->actor, one->firing);
        break;
    case EVENT_END:
        actor_end(one->actor, one->firing);
        break;
    case EVENT_WOKEN:
        actor_woken(one->actor, one->number);
        break;
    case EVENT_CLIENT:
        show_time(own);
        tasks_change(own, one->number);
        tell_nodes(own);
        break;
    case EVENT_CRASH:
        actor_crash(one->actor);
        break;
    case EVENT_RESTART:
        actor_start(one->actor);
        break;
    case EVENT_PAUSE:
        pause_actor(own, one->actor);
        break;
    case EVENT_STEP:
        step_clock(own);
        break;
    }
}

/* When an event takes place: a paused process does nothing. */
static int64_t time_of(const event *one)
{
    bool outside = one->kind == EVENT_ARRIVE || one->kind == EVENT_CRASH || one->actor == NULL;
    return outside || one->at > one->actor->paused_until ? one->at : one->actor->paused_until;
}

/* Finds the earliest event. *ret_actor: an actor that acts before it; NULL: none. */
static size_t find_next(world *own, int64_t *ret_at, actor **ret_actor)
{
    size_t found = own->event_count;
    *ret_at = INT64_MAX;
    *ret_actor = NULL;
    for (size_t i = 0; i < own->event_count; i++) {
        int64_t at = time_of(&own->events[i]);
        if (at < *ret_at || (at == *ret_at && own->events[i].order < own->events[found].order)) {
            *ret_at = at;
            found = i;
        }
    }
    for (int i = 0; i < own->actor_count; i++) {
        int64_t at = actor_next(&own->actors[i]);
        if (at < *ret_at) {
            *ret_at = at;
            *ret_actor = &own->actors[i];
        }
    }
    return found;
}

/* True if nothing is left to do. Asked only now and then, because it takes time. */
static bool is_over(world *own)
{
    hora_store_stats stats;
    hora_error reason;
    if (own->event_total % 16 != 0 || own->backend->ops->stats(own->backend, &stats, &reason) < 0 ||
        stats.waiting + stats.claimed > 0)
        return false;
    for (size_t i = 0; i < own->event_count; i++)
        if (own->events[i].kind == EVENT_CLIENT || own->events[i].firing != NULL)
            return false;
    return true;
}

static void go_on(world *own)
{
    int64_t at;
    actor *acting;
    size_t found = find_next(own, &at, &acting);
    if (at > own->end_at || is_over(own)) {
        own->now = own->end_at + 1;
        return;
    }
    if (at > own->now)
        own->now = at;
    own->event_total++;
    if (acting != NULL) {
        actor_act(acting);
        return;
    }
    event one = own->events[found];
    remove_event(own, found);
    dispatch(own, &one);
}

static void choose_faults(world *own)
{
    uint64_t bits = world_random(own, 1 << 11);
    own->faults = (faults){.delays = bits & 1,
                           .lost_requests = bits & 2,
                           .lost_replies = bits & 4,
                           .late_effects = (bits & 8) != 0 && (bits & 16) != 0,
                           .pauses = bits & 32,
                           .crashes = bits & 64,
                           .rates = (bits & 128) != 0 && (bits & 256) != 0,
                           .steps = world_chance(own, 10),
                           .changes = bits & 256,
                           .failing = bits & 512,
                           .slow = bits & 1024};
    own->ttl = HORA_SECONDS((int64_t)world_random(own, 3) + 1);
    own->delay_most = own->faults.delays ? own->ttl / 3 : HORA_MS(2);
    own->heal_at = HORA_SECONDS(1) + (int64_t)world_random(own, 4000000000);
    own->end_at = own->heal_at + 2 * own->ttl + HORA_SECONDS(4);
}

static int64_t some_time(world *own)
{
    return (int64_t)world_random(own, (uint64_t)own->heal_at);
}

static void plan_faults(world *own)
{
    for (int i = 0; i < own->actor_count; i++) {
        actor *one = &own->actors[i];
        for (uint64_t k = own->faults.crashes ? world_random(own, 3) : 0; k > 0; k--) {
            int64_t at = some_time(own);
            world_add(own, (event){.at = at, .kind = EVENT_CRASH, .actor = one});
            int64_t back = at + (int64_t)world_random(own, (uint64_t)(own->heal_at - at) + 1);
            world_add(own, (event){.at = back, .kind = EVENT_RESTART, .actor = one});
        }
        for (uint64_t k = own->faults.pauses ? world_random(own, 3) : 0; k > 0; k--)
            world_add(own, (event){.at = some_time(own), .kind = EVENT_PAUSE, .actor = one});
    }
    for (int i = 0; own->faults.steps && i < 2; i++)
        world_add(own, (event){.at = some_time(own), .kind = EVENT_STEP});
    for (uint64_t k = own->faults.changes ? world_random(own, 4) : 0; k > 0; k--)
        world_add(own, (event){.at = some_time(own), .kind = EVENT_CLIENT, .number = -1});
    for (int i = 0; i < own->task_count; i++)
        world_add(own, (event){.at = i == 0 ? 0 : some_time(own), .kind = EVENT_CLIENT, .number = i});
}

static void begin(world *own)
{
    choose_faults(own);
    const hora_store_options options = {.struct_size = sizeof options,
                                        .max_payload = 1000,
                                        .statement_timeout = HORA_SECONDS(1),
                                        .clock = hora_virtual_clock_view(clock_of_store, HORA_CLOCK_WALL)};
    hora_error reason;
    show_time(own);
    if (hora__memory_open(&options, &own->backend, &reason) < 0)
        give_up(reason.message);
    own->actor_count = (int)world_random(own, MAX_ACTORS - 1) + 1;
    for (int i = 0; i < own->actor_count; i++) {
        own->actors[i] = (actor){.world = own, .index = i, .base = (hora_ns)world_random(own, 1000000000)};
        if (own->faults.rates)
            own->actors[i].ppm = (int64_t)world_random(own, 20001) - 10000;
        actor_start(&own->actors[i]);
    }
    tasks_make(own);
    plan_faults(own);
}

static void finish(world *own)
{
    for (int i = 0; i < own->actor_count; i++)
        actor_free(&own->actors[i]);
    for (size_t i = 0; i < own->event_count; i++)
        message_drop(own->events[i].message);
    own->event_count = 0;
    tasks_free(own);
    own->backend->ops->close(own->backend);
}

bool world_run(world *own, uint64_t seed, bool trace)
{
    memset(own, 0, offsetof(world, events));
    own->event_count = 0;
    own->order = 0;
    own->task_count = own->run_count = own->actor_count = 0;
    own->event_total = 0;
    memset(own->lease_end, 0, sizeof own->lease_end);
    own->seed = own->random = seed;
    own->trace = trace;
    begin(own);
    while (own->violation == NULL && own->now <= own->end_at) {
        go_on(own);
        if (own->event_total > MOST_EVENTS)
            world_violation(own, "busy", "a node does not come to rest: %d events", MOST_EVENTS);
    }
    if (own->violation == NULL)
        judge_finish(own);
    finish(own);
    return own->violation == NULL;
}

/* ---- reports ---- */

void world_trace(const world *own, const char *format, ...)
{
    if (!own->trace)
        return;
    va_list arguments;
    va_start(arguments, format);
    printf("%10.6f  ", (double)own->now / 1e9);
    (void)vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

void world_violation(world *own, const char *what, const char *format, ...)
{
    if (own->violation != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(own->detail, sizeof own->detail, format, arguments);
    va_end(arguments);
    own->violation = what;
    world_trace(own, "VIOLATION %s: %s", what, own->detail);
}
