/* SPDX-License-Identifier: Apache-2.0 */
/* extras.c - creation and end of the extra of a task: its options, context and ticket, see exec/extra.h */
#include <assert.h>
#include <stddef.h>

#include "observe/observer.h"
#include "sched/overlap.h"
#include "sched/scheduled.h"
#include "sys/alloc.h"

/* The extra of a task in a pool with admission: one allocation for both parts. `base` is first, so that a
 * pointer to either is the same address. */
struct admitted_extra {
    struct hora__extra base;
    struct hora__ticket ticket;
};

/* Initialises the ticket of an extra from the task's options; NULL: no class, no key, normal priority. The
 * memory is a struct admitted_extra. */
static void add_ticket(struct hora__extra *extra, const hora_task_options *terms)
{
    struct hora__ticket *ticket = &((struct admitted_extra *)extra)->ticket;
    if (terms == NULL)
        hora__ticket_init(ticket, NULL, 0, HORA__LEVEL_NORMAL);
    else
        hora__ticket_init(ticket, terms->task_class != NULL ? &terms->task_class->admission_class : NULL,
                          terms->key, HORA__LEVEL_NORMAL + terms->priority);
    extra->ticket = ticket;
}

/* Captures the context now, because the hook must run in the thread that submits. A context that the task
 * options give explicitly takes precedence over the hook. The reference keeps the observer, and with it the
 * hooks and classes, alive until the extra is freed. */
int hora__extra_new(hora_pool *pool, const hora_task_options *terms, struct hora__extra **ret_extra)
{
    assert(ret_extra != NULL);
    struct hora__pool_observer *pool_observer = hora__pool_get_observer(pool);
    struct hora__extra *extra =
        hora__alloc(1, pool->admission != NULL ? sizeof(struct admitted_extra) : sizeof *extra);
    if (extra == NULL)
        return HORA_ENOMEM;
    if (pool->admission != NULL)
        add_ticket(extra, terms);
    if (terms != NULL) {
        extra->terms = *terms;
        extra->carried = terms->context;
    }
    extra->came = hora_clock_now(pool->object.clock);
    if (pool_observer != NULL) {
        (void)hora__atomic_add(&pool_observer->base.references, 1);
        extra->observer = &pool_observer->base;
        const hora_context_hooks *hooks = &pool_observer->options.hooks;
        extra->is_captured = extra->carried == NULL && hooks->capture != NULL;
        if (extra->is_captured)
            extra->carried = hooks->capture(hooks->arg);
    }
    *ret_extra = extra;
    return 0;
}

/* Calls the release hook only for a context that the capture hook made; one that the task options gave
 * belongs to the user. */
void hora__extra_free(struct hora__extra *extra)
{
    if (extra == NULL)
        return;
    hora__limits_free(extra->limits);
    if (extra->is_captured) {
        const hora_context_hooks *hooks = &hora__pool_observer_of(extra->observer)->options.hooks;
        if (hooks->release != NULL)
            hooks->release(extra->carried, hooks->arg);
    }
    hora__observer_unref(extra->observer);
    hora__free(extra);
}

/* Each kind of future keeps its extra elsewhere. The overlapping runs of a series share the extra of the
 * series. */
struct hora__extra *hora__future_extra(const hora_future *future)
{
    if (future->kind == HORA__FUTURE_BOUND)
        return ((const struct hora__bound *)future)->extra;
    const hora_future *whole =
        future->kind == HORA__FUTURE_OVERLAPPING ? hora__overlap_series(future) : future;
    if (whole->kind != HORA__FUTURE_SCHEDULED)
        return NULL;
    const struct hora__scheduled *scheduled = (const struct hora__scheduled *)whole;
    return scheduled->series != NULL ? scheduled->series->extra : NULL;
}

struct hora__extra *hora__future_extra_in(const hora_pool *pool, const hora_future *future)
{
    struct hora__extra *extra = hora__future_extra(future);
    return extra != NULL && extra->observer == pool->observer ? extra : NULL;
}
