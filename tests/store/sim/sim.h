/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - nodes of a store on a virtual clock, with a seeded order of events
 *
 * A schedule is one run of the simulation. Its seed decides everything: how many nodes and tasks there are,
 * what the tasks are like, how long messages take, which of them are lost, when nodes crash, pause and
 * restart, how fast their clocks run, and what clients change meanwhile. The nodes are real (store/node.c),
 * and so is the store (store/memory.c). Only time, messages, threads and handlers are simulated.
 *
 * world.c moves time from event to event. actor.c does what durable.c does: it sends requests, starts
 * handlers and takes replies. tasks.c makes tasks and what clients do with them. judge.c checks each start of
 * a handler, and at the end the records of the store, against the promises.
 *
 * Faults happen in the first part of a schedule. After that all nodes are up and the network is quiet, so
 * that the judge can demand that everything due has been done. */
#ifndef HORA_TESTS_STORE_SIM_H
#define HORA_TESTS_STORE_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "definition.h"
#include "node.h"

enum {
    MAX_ACTORS = 4,
    MAX_TASKS = 4,
    MAX_RUNS = 400,
    MAX_EVENTS = 400,
    MAX_LEASES = 200,
    MAX_SENT = 64,
    KEY_SIZE = 16,
};

#define EPOCH_US INT64_C(1700000000000000) /* the store's time at the start of each schedule */

struct world;
struct actor;

/* What may go wrong in a schedule. */
typedef struct faults {
    bool delays, lost_requests, lost_replies, late_effects, pauses, crashes, rates, steps, changes;
    bool failing, slow;
} faults;

typedef enum event_kind {
    EVENT_ARRIVE, /* a request reaches the store */
    EVENT_REPLY,  /* a reply, or the failure of a request, reaches the node */
    EVENT_TIMER,  /* a thread takes up a held firing */
    EVENT_END,    /* a handler returns */
    EVENT_WOKEN,  /* a node is told of new tasks */
    EVENT_CLIENT, /* a client changes something */
    EVENT_CRASH,
    EVENT_RESTART,
    EVENT_PAUSE,
    EVENT_STEP, /* the store's clock is set */
} event_kind;

typedef enum message_kind { MESSAGE_JOIN, MESSAGE_EXCHANGE, MESSAGE_REAP } message_kind;

/* A request on its way. */
typedef struct message {
    message_kind kind;
    int references; /* by events and by its actor */
    hora__lease lease;
    hora__exchange exchange;
    hora_ns sent; /* the node's time */
    bool done;    /* the store has carried it out */
    bool lost;    /* the node gets no reply */
    int result;
    int64_t released;
    hora__settle settles[MAX_SENT];
    hora__settled settled[MAX_SENT];
} message;

typedef struct event {
    int64_t at; /* true time, in ns since the start of the schedule */
    uint64_t order;
    event_kind kind;
    struct actor *actor; /* NULL: none, or it has crashed meanwhile */
    message *message;
    struct firing *firing;
    int64_t number;
} event;

/* One call of a handler. */
typedef struct run {
    int task;
    int64_t id, planned, fence, node;
    int attempt;
    hora__run_end end;            /* what the handler said */
    int64_t started_us, ended_us; /* by the store's clock */
    bool ended, killed;           /* `killed`: its node has crashed */
    bool told;                    /* it was told to stop */
} run;

typedef struct firing {
    hora__held held;
    run *run;
} firing;

/* A process with a node. */
typedef struct actor {
    struct world *world;
    int index;
    bool up;
    hora__node *node;
    hora_ns base; /* its clock at the start of the schedule */
    int64_t ppm;  /* by which its clock is fast */
    int64_t paused_until, reap_at, quiet_until;
    message *pending;
} actor;

typedef struct task {
    char key[KEY_SIZE];
    int64_t id, put_us;
    hora__definition *definition;
    hora__definition *replaced; /* an earlier definition: a run of it may be in progress; NULL: none */
    int fail_percent, outcome_percent, retry_percent; /* how often the handler fails and sets these */
    bool put, cancelled, retimed, paused, was_paused;
    int runs;
} task;

typedef struct world {
    uint64_t seed, random;
    bool trace;
    const char *violation; /* NULL: none so far */
    char detail[300];

    int64_t now, heal_at, end_at;
    int64_t steps_us; /* sum of the steps of the store's clock */
    faults faults;
    bool stepped;
    hora_ns ttl;
    int64_t delay_most;

    hora__backend *backend;
    event events[MAX_EVENTS];
    size_t event_count;
    uint64_t order;
    actor actors[MAX_ACTORS];
    int actor_count;
    task tasks[MAX_TASKS];
    int task_count;
    run runs[MAX_RUNS];
    int run_count;
    int64_t lease_end[MAX_LEASES]; /* by number of the node, in the store's time */
    int64_t event_total;
} world;

/* world.c */
uint64_t world_random(world *own, uint64_t below);
bool world_chance(world *own, int percent);
int64_t world_store_us(const world *own);
void world_add(world *own, event added);
/* Removes the events of an actor; requests on their way stay. */
void world_forget_actor(world *own, const actor *gone);
void world_forget_firing(world *own, const firing *gone);
event *world_find_end(world *own, const firing *of);
void message_drop(message *dropped);
/* A request reaches the store. */
void world_arrive(world *own, event one);
void world_trace(const world *own, const char *format, ...) __attribute__((format(printf, 2, 3)));
__attribute__((format(printf, 3, 4))) void world_violation(world *own, const char *what, const char *format,
                                                           ...);
/* Runs one schedule. Returns true if no promise was broken; otherwise own->violation says which. */
bool world_run(world *own, uint64_t seed, bool trace);
void world_prepare(void);

/* actor.c */
void actor_start(actor *own);
void actor_crash(actor *own);
int64_t actor_next(const actor *own);
void actor_act(actor *own);
void actor_reply(actor *own, message *reply);
void actor_timer(actor *own, firing *due);
void actor_end(actor *own, firing *ended);
void actor_woken(actor *own, int64_t due);
void actor_free(actor *own);
hora_ns actor_clock(const actor *own, int64_t now);

/* tasks.c */
void tasks_make(world *own);
void tasks_change(world *own, int64_t number);
void tasks_free(world *own);
task *task_of(world *own, const char *key);

/* judge.c */
run *judge_start(actor *at, const hora__held *held);
/* What must stop has been told to: runs whose lease is lost or whose task is cancelled. */
void judge_told(actor *at);
void judge_finish(world *own);

#endif
