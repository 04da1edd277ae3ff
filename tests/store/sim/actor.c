/* SPDX-License-Identifier: Apache-2.0 */
/* actor.c - a process of the simulation: it does with its node what durable.c does with threads
 *
 * Its requests travel one at a time. A request or its reply may be lost; the node is then told so after a
 * time-out. A request whose loss the node has noticed may still reach the store later. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static const char *const handlers[] = {"h"};

hora_ns actor_clock(const actor *own, int64_t now)
{
    return own->base + now + now * own->ppm / 1000000;
}

/* The first true time at which the actor's clock shows at least `time`. */
static int64_t true_time(const actor *own, hora_ns time)
{
    if (time == HORA_FOREVER)
        return INT64_MAX;
    int64_t guess = (int64_t)((double)(time - own->base) / (1 + (double)own->ppm / 1e6));
    while (actor_clock(own, guess) < time)
        guess += 1000;
    while (actor_clock(own, guess - 1000) >= time)
        guess -= 1000;
    return guess;
}

static bool in_trouble(const world *in)
{
    return in->now < in->heal_at;
}

/* ---- configuration ---- */

static hora_ns every_half_second(const hora_trigger_context *context, void *arg)
{
    (void)arg;
    return context->last_planned + HORA_MS(500);
}

static hora_trigger *shared_trigger(void)
{
    static hora_trigger *trigger;
    if (trigger == NULL && hora_trigger_new(every_half_second, NULL, NULL, &trigger) < 0)
        abort();
    return trigger;
}

static hora_trigger *find_trigger(const char *name, void *arg)
{
    (void)arg;
    return strcmp(name, "t") == 0 ? shared_trigger() : NULL;
}

static int read_series(int64_t series, hora__series *ret_series, void *arg)
{
    const actor *own = arg;
    world *in = own->world;
    hora_error reason;
    if (in->faults.lost_requests && in_trouble(in) && world_chance(in, 5))
        return HORA_EIO;
    return in->backend->ops->read_series(in->backend, series, ret_series, &reason);
}

static uint64_t some_random(void *arg)
{
    const actor *own = arg;
    return world_random(own->world, UINT64_MAX);
}

void actor_start(actor *own)
{
    if (own->up)
        return;
    const hora__node_config config = {.ttl = own->world->ttl,
                                      .horizon = own->world->ttl / 3,
                                      .flush = HORA_MS(10),
                                      .max_claimed = (int)world_random(own->world, 4) + 1,
                                      .handlers = handlers,
                                      .handler_count = 1,
                                      .find_trigger = find_trigger,
                                      .read_series = read_series,
                                      .random = some_random,
                                      .arg = own,
                                      .held_size = sizeof(firing)};
    if (hora__node_new(&config, &own->node) < 0)
        abort();
    own->up = true;
    own->reap_at = own->world->now + (int64_t)world_random(own->world, (uint64_t)own->world->ttl / 4);
    own->quiet_until = 0;
    world_trace(own->world, "actor %d starts", own->index);
}

/* Ends the runs of a process that ends, and frees its memory. */
static void free_node(actor *own)
{
    world *in = own->world;
    for (size_t i = in->event_count; i-- > 0;) {
        event *one = &in->events[i];
        if (one->actor != own || one->kind != EVENT_END)
            continue;
        one->firing->run->killed = true;
        hora__node_ended(own->node, &one->firing->held, &(hora__run_end){.code = 0}, true, 0);
    }
    world_forget_actor(in, own);
    hora__node_free(own->node);
    message_drop(own->pending);
    own->pending = NULL;
    own->node = NULL;
    own->up = false;
}

void actor_crash(actor *own)
{
    if (!own->up)
        return;
    world_trace(own->world, "actor %d crashes", own->index);
    free_node(own);
    own->paused_until = 0;
}

void actor_free(actor *own)
{
    if (own->up)
        free_node(own);
}

/* ---- requests ---- */

static int64_t some_delay(world *in)
{
    bool slow = in_trouble(in) && in->faults.delays && world_chance(in, 30);
    return (int64_t)world_random(in, slow ? (uint64_t)in->delay_most : 1000000) + 1000;
}

/* Without trouble, most requests take no time, which saves events. */
static void call(actor *own, message *request)
{
    request->references = 3;
    own->pending = request;
    world_arrive(own->world, (event){.kind = EVENT_ARRIVE, .actor = own, .message = request});
    actor_reply(own, request);
}

/* Sends a request: decides its fate now. */
static void send(actor *own, message *request)
{
    world *in = own->world;
    bool trouble = in_trouble(in);
    if (!trouble && in->now % 4 != 0) {
        call(own, request);
        return;
    }
    int64_t there = in->now + some_delay(in), back = there + some_delay(in);
    int64_t time_out = in->now + in->ttl / 4;
    bool is_lost = trouble && in->faults.lost_requests && world_chance(in, 10);
    bool is_late = trouble && in->faults.late_effects && world_chance(in, 10);
    request->lost = is_lost || is_late || (trouble && in->faults.lost_replies && world_chance(in, 10));
    if (is_late)
        there = time_out + (int64_t)world_random(in, (uint64_t)in->ttl);
    if (request->lost && back < time_out)
        back = time_out;
    request->references = 1;
    own->pending = request;
    if (!is_lost) {
        request->references++;
        world_add(in, (event){.at = there, .kind = EVENT_ARRIVE, .actor = own, .message = request});
    }
    request->references++;
    world_add(in, (event){.at = back, .kind = EVENT_REPLY, .actor = own, .message = request});
}

static message *new_message(actor *own, message_kind kind)
{
    message *request = malloc(sizeof *request);
    if (request == NULL)
        abort();
    memset(request, 0, offsetof(message, settles));
    request->kind = kind;
    request->sent = actor_clock(own, own->world->now);
    return request;
}

static void send_join(actor *own)
{
    message *request = new_message(own, MESSAGE_JOIN);
    request->lease.ttl_us = own->world->ttl / 1000;
    send(own, request);
}

static void send_exchange(actor *own)
{
    message *request = new_message(own, MESSAGE_EXCHANGE);
    request->lease = *hora__node_lease(own->node);
    hora__node_prepare(own->node, request->sent, &request->exchange);
    size_t count = request->exchange.settle_count;
    if (count > MAX_SENT)
        abort();
    memcpy(request->settles, request->exchange.settles, count * sizeof *request->settles);
    request->exchange.settles = request->settles;
    request->exchange.ret_settled = request->settled;
    if (count > 0)
        world_trace(own->world, "actor %d sends %zu settlements", own->index, count);
    send(own, request);
}

static void send_reap(actor *own)
{
    message *request = new_message(own, MESSAGE_REAP);
    request->lease = *hora__node_lease(own->node);
    own->reap_at = own->world->now + own->world->ttl / 2;
    send(own, request);
}

/* ---- firings ---- */

static void hand_over(actor *own)
{
    world *in = own->world;
    hora__held *next;
    for (hora__held *held = hora__node_take_ready(own->node); held != NULL; held = next) {
        next = held->next_ready;
        int64_t at = true_time(own, held->start_at);
        if (at < in->now)
            at = in->now;
        if (in_trouble(in) && in->faults.slow && world_chance(in, 20)) /* all threads are busy */
            at += (int64_t)world_random(in, (uint64_t)in->ttl);
        world_add(in, (event){.at = at, .kind = EVENT_TIMER, .actor = own, .firing = (firing *)held});
    }
    for (hora__held *held = hora__node_take_stopped(own->node); held != NULL; held = next) {
        next = held->next_ready;
        event *end = world_find_end(in, (firing *)held);
        ((firing *)held)->run->told = true;
        if (end != NULL && end->at > in->now + HORA_MS(100) && world_chance(in, 50))
            end->at = in->now + HORA_MS(100); /* the handler notices it */
    }
    for (hora__held *held = hora__node_take_dropped(own->node); held != NULL; held = next) {
        next = held->next_ready;
        world_forget_firing(in, (firing *)held);
        hora__node_forget(own->node, held);
    }
    judge_told(own);
}

static void fence(actor *own)
{
    world_trace(own->world, "actor %d has lost its lease", own->index);
    hora__node_fenced(own->node);
    hand_over(own);
}

static void start_run(actor *own, firing *started)
{
    world *in = own->world;
    started->run = judge_start(own, &started->held);
    int64_t length = (int64_t)world_random(in, 100000000);
    if (in_trouble(in) && in->faults.slow && world_chance(in, 30))
        length = (int64_t)world_random(in, (uint64_t)in->ttl * 2);
    world_add(in, (event){.at = in->now + length, .kind = EVENT_END, .actor = own, .firing = started});
}

void actor_timer(actor *own, firing *due)
{
    hora_ns now = actor_clock(own, own->world->now);
    if (hora__node_start(own->node, &due->held, now) == HORA__START_RUN)
        start_run(own, due);
    hand_over(own);
}

/* What a handler says at its end. The pauses that it sets are longer than those of the task. */
static hora__run_end some_end(world *in, const task *of)
{
    hora__run_end end = {.code = world_chance(in, of->fail_percent) ? 1 : 0};
    if (world_chance(in, of->outcome_percent))
        end.outcome = world_chance(in, 50) ? HORA_RUN_SKIPPED : HORA_RUN_STOPPED;
    end.sets_retry = world_chance(in, of->retry_percent);
    if (end.sets_retry)
        end.retry_us = world_chance(in, 30) ? -1 : (int64_t)world_random(in, 500000) + 1100000;
    return end;
}

void actor_end(actor *own, firing *ended)
{
    world *in = own->world;
    run *of = ended->run;
    of->ended = true;
    of->ended_us = world_store_us(in);
    of->end = some_end(in, &in->tasks[of->task]);
    world_trace(in, "actor %d: run of %s with fence %lld ends with %d, outcome %d, retry %lld%s", own->index,
                in->tasks[of->task].key, (long long)of->fence, of->end.code, (int)of->end.outcome,
                of->end.sets_retry ? (long long)of->end.retry_us : 0, ended->held.lost ? ", lost" : "");
    hora__node_ended(own->node, &ended->held, &of->end, false, actor_clock(own, in->now));
    hand_over(own);
}

void actor_woken(actor *own, int64_t due)
{
    if (own->up)
        hora__node_woken(own->node, due, actor_clock(own, own->world->now));
}

/* ---- replies ---- */

static void exchanged(actor *own, message *reply, hora_ns now)
{
    int64_t step;
    if (!reply->lost && reply->result == 0) {
        (void)hora__node_exchanged(own->node, reply->sent, now, &reply->exchange, &step);
        if (step != 0)
            hora__node_hand_back(own->node);
        return;
    }
    hora__node_failed(own->node, now);
    own->quiet_until = own->world->now + HORA_MS(20);
    if (!reply->lost && reply->result == HORA_EEXPIRED)
        fence(own);
}

void actor_reply(actor *own, message *reply)
{
    assert(own->pending == reply && (reply->done || reply->lost));
    hora_ns now = actor_clock(own, own->world->now);
    world_trace(own->world, "actor %d: reply%s", own->index, reply->lost ? " is lost" : "");
    bool arrived = !reply->lost && reply->result == 0;
    if (reply->kind == MESSAGE_EXCHANGE)
        exchanged(own, reply, now);
    else if (reply->kind == MESSAGE_JOIN && arrived)
        hora__node_joined(own->node, &reply->lease, reply->sent);
    else if (reply->kind == MESSAGE_REAP && arrived && reply->released > 0)
        hora__node_woken(own->node, INT64_MIN, now);
    message_drop(own->pending);
    own->pending = NULL;
    message_drop(reply);
    hand_over(own);
}

/* ---- what to do next ---- */

/* The true time at which the actor does something of its own accord. */
int64_t actor_next(const actor *own)
{
    if (!own->up || own->pending != NULL)
        return INT64_MAX;
    int64_t now = own->world->now, at;
    const hora__lease *lease = hora__node_lease(own->node);
    hora_ns clock = actor_clock(own, now);
    if (lease == NULL || !hora__node_has_lease(own->node, clock)) {
        at = now;
    } else {
        at = true_time(own, hora__node_next_exchange(own->node, clock));
        if (own->reap_at < at)
            at = own->reap_at;
    }
    if (at < own->quiet_until)
        at = own->quiet_until;
    if (at < own->paused_until)
        at = own->paused_until;
    return at > now ? at : now;
}

void actor_act(actor *own)
{
    hora_ns now = actor_clock(own, own->world->now);
    if (hora__node_lease(own->node) == NULL)
        send_join(own);
    else if (!hora__node_has_lease(own->node, now))
        fence(own);
    else if (hora__node_next_exchange(own->node, now) <= now)
        send_exchange(own);
    else
        send_reap(own);
}
