/* SPDX-License-Identifier: Apache-2.0 */
/* explain_admission.c - why a task that waits for admission does not begin
 *
 * See explain.c for the other reasons and hora/admission.h for the rules. Admission gives the reason, in one
 * visit to the queue. If the reason is a key, the worker that runs the first task of that key is found after
 * the visit, through a reference to the task's future: its lock cannot be taken together with the queue's. */
#include <assert.h>
#include <stddef.h>

#include "admit/admission_queue.h"
#include "base/ns.h"
#include "observe/explain.h"

/* The decision of admission about a task, read under the lock of the queue. */
struct ruling {
    bool waits;                   /* the task waits for admission; if not, the fields below are not set */
    enum hora__why why;           /* the first reason that keeps it from starting */
    struct hora__why_facts facts; /* the numbers behind the reason */
    const char *class_name;       /* lives as long as the pool; NULL: it has no class */
    int rate;                     /* of its class: at most this many starts */
    hora_ns per;                  /* within this time */
    hora_ns now;                  /* on the pool's clock */
    hora_future *first;           /* the running task with its key: a reference; NULL: none runs */
};

/* Fills the ruling for a ticket that waits. The caller holds the lock of the queue. A waiting ticket always
 * has a class; that of a task without one is the plain class of the admission. */
static void ask_locked(struct ruling *ruling, const struct hora__admission *admission,
                       const struct hora__ticket *ticket)
{
    const struct hora__admission_class *class = ticket->class;
    ruling->waits = true;
    ruling->why = hora__admission_why(admission, ticket, ruling->now, &ruling->facts);
    ruling->class_name = class->name;
    ruling->rate = class->rate;
    ruling->per = class->per;
    if (ruling->facts.key_runs)
        ruling->first = hora_future_ref(ruling->facts.first->item);
}

/* Fills the ruling in one visit to the queue. The caller releases ruling->first. */
static void ask(struct ruling *ruling, const struct hora__explained_future *explained)
{
    assert(explained->pool->admission != NULL && explained->queue == explained->pool->queue);
    *ruling = (struct ruling){.now = explained->now};
    hora__mutex_lock(&explained->queue->object.lock);
    const struct hora__ticket *ticket =
        hora__admission_queue_waiting(explained->pool->admission, explained->future);
    if (ticket != NULL)
        ask_locked(ruling, &explained->pool->admission->admission, ticket);
    hora__mutex_unlock(&explained->queue->object.lock);
}

/* ---- words ---- */

/* Returns the number of the worker that runs a future; 0: no worker of this pool does. Looks for the runner
 * of `future` in a second view of the same pool. */
static int worker_of(const struct hora__explained_future *explained, hora_future *future)
{
    struct hora__explained_future other = *explained;
    struct hora__pool_view pool_view;
    hora__mutex_lock(&future->object.lock);
    other.runner = hora_thread_ref(future->runner);
    hora__mutex_unlock(&future->object.lock);
    hora__pool_view_read(&other, &pool_view);
    (void)hora_thread_unref(other.runner);
    return pool_view.runner;
}

/* HORA__WHY_KEY: tasks with the same key are before it, and one of them may be running. */
static void say_key(struct hora__text *out, const struct hora__explained_future *explained,
                    const struct ruling *ruling)
{
    int behind = ruling->facts.behind;
    hora__text_add(out, "waits: ");
    hora__text_add_count(out, behind, "task");
    hora__text_add(out, behind == 1 ? " with its key is ahead of it" : " with its key are ahead of it");
    int number = ruling->first != NULL ? worker_of(explained, ruling->first) : 0;
    if (ruling->first == NULL)
        return;
    hora__text_add(out, behind == 1 ? ", which is running" : ", one of which is running");
    if (number > 0) {
        hora__text_add(out, " on worker ");
        hora__text_add_int(out, number);
    }
}

static void say_class(struct hora__text *out, const struct ruling *ruling)
{
    hora__text_add(out, "waits: its class ");
    hora__text_add(out, ruling->class_name);
}

/* HORA__WHY_LIMIT: its class runs as many tasks as it may. Names the longest running task only if all running
 * tasks belong to that class; otherwise it may be one of another class. */
static void say_limit(struct hora__text *out, const struct hora__explained_future *explained,
                      const struct ruling *ruling, const struct hora__pool_view *pool_view)
{
    const struct hora__why_facts *facts = &ruling->facts;
    say_class(out, ruling);
    hora__text_add(out, " is at its limit of ");
    hora__text_add_int(out, facts->limit);
    if (facts->running == facts->class_running)
        hora__explain_longest(out, "; ", explained, pool_view);
}

/* HORA__WHY_RATE: its class has started as many tasks as its rate allows. */
static void say_rate(struct hora__text *out, const struct ruling *ruling)
{
    say_class(out, ruling);
    hora__text_add(out, " has reached its rate of ");
    hora__text_add_int(out, ruling->rate);
    hora__text_add(out, " in ");
    hora__text_add_duration(out, ruling->per);
    hora__text_add(out, "; the next task may start in ");
    hora__text_add_duration(out, hora__ns_sub(ruling->facts.until, ruling->now));
}

/* HORA__WHY_RESERVED: the threads that are left are reserved for other classes. */
static void say_reserved(struct hora__text *out, const struct ruling *ruling)
{
    hora__text_add(out, "waits: ");
    hora__text_add_count(out, ruling->facts.reserved, "thread");
    hora__text_add(out, ruling->facts.reserved == 1
                            ? " is reserved for other classes, and all others are busy"
                            : " are reserved for other classes, and all others are busy");
}

/* Adds how many tickets are ahead of it, whatever they wait for themselves. */
static void say_before(struct hora__text *out, const struct ruling *ruling)
{
    int before = ruling->facts.before;
    if (before == 0) {
        hora__text_add(out, "is the next to start");
        return;
    }
    hora__text_add(out, "waits: ");
    hora__text_add_count(out, before, "task");
    hora__text_add(out, before == 1 ? " with a higher priority or a longer wait is ahead of it"
                                    : " with a higher priority or a longer wait are ahead of it");
}

/* Adds the clauses for a task that waits. If only its place in the order and busy workers delay it, the
 * workers are described as well. */
static void say_ruling(struct hora__text *out, const struct hora__explained_future *explained,
                       const struct ruling *ruling, const struct hora__pool_view *pool_view)
{
    switch (ruling->why) {
    case HORA__WHY_KEY:
        say_key(out, explained, ruling);
        break;
    case HORA__WHY_LIMIT:
        say_limit(out, explained, ruling, pool_view);
        break;
    case HORA__WHY_RATE:
        say_rate(out, ruling);
        break;
    case HORA__WHY_RESERVED:
        say_reserved(out, ruling);
        break;
    case HORA__WHY_BUSY:
    case HORA__WHY_ORDER:
    case HORA__WHY_NOTHING:
    default:
        say_before(out, ruling);
        hora__explain_not_taken(out, explained, pool_view);
        return;
    }
    hora__explain_state(out, pool_view);
}

/* A task that no longer waits when the queue is visited has been admitted since the future was read. */
void hora__explain_admission(struct hora__text *out, const struct hora__explained_future *explained)
{
    struct ruling ruling;
    struct hora__pool_view pool_view;
    ask(&ruling, explained);
    hora__pool_view_read(explained, &pool_view);
    if (ruling.waits)
        say_ruling(out, explained, &ruling, &pool_view);
    else
        hora__text_add(out, "has been given to a worker, which is about to run it");
    (void)hora_future_unref(ruling.first);
}
