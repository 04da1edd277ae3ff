/* SPDX-License-Identifier: Apache-2.0 */
/* task_options.c - tasks with options (hora_task_options): checking the options, submitting the task, making
 * keys from texts; and creation and end of the extra, which holds the options of a task, its context and its
 * ticket, see exec/extra.h
 *
 * Inside the library the options of a task are called its terms, to distinguish them from those of the
 * pool. */
#include <assert.h>
#include <stddef.h>

#include "base/options.h"
#include "base/reason.h"
#include "observe/observer.h"
#include "sched/overlap.h"
#include "sched/scheduled.h"
#include "sched/scheduler.h"
#include "sys/alloc.h"

/* ---- checking ---- */

/* The functions check_... return 0, or HORA_EINVAL with the reason. */

/* Checks that no time limit is negative. */
static int check_times(const hora_task_options *own, hora_error *reason)
{
    int error = hora__refuse_negative(reason, own->start_within, "start_within");
    if (error == 0)
        error = hora__refuse_negative(reason, own->run_limit, "run_limit");
    if (error == 0)
        error = hora__refuse_negative(reason, own->stuck_after, "stuck_after");
    return error < 0 ? error : hora__refuse_negative(reason, own->finish_within, "finish_within");
}

/* Checks the options of a task for a pool that has an observer. */
static int check_options(const struct hora__pool_observer *pool_observer, const hora_task_options *own,
                         hora_error *reason)
{
    if ((int)own->priority < HORA_PRIORITY_LOW || own->priority > HORA_PRIORITY_URGENT)
        return hora__refuse(reason, HORA_EINVAL, "priority",
                            "priority is %d, which is not a HORA_PRIORITY_ value", (int)own->priority);
    if (own->task_class != NULL && own->task_class->pool_observer != pool_observer)
        return hora__refuse(reason, HORA_EINVAL, "task_class", "task_class, %s, is a class of another pool",
                            own->task_class->name);
    if (own->replace_stuck && own->stuck_after == 0 && pool_observer->options.stuck_after == 0)
        return hora__refuse(reason, HORA_EINVAL, "replace_stuck",
                            "replace_stuck has no effect: neither the task options nor the pool's watchdog "
                            "have a stuck_after");
    return check_times(own, reason);
}

/* Returns whether one of the options has an effect only in a pool with admission. */
static bool wants_admission(const hora_task_options *own)
{
    return own->task_class != NULL || own->key != 0 || own->priority != HORA_PRIORITY_NORMAL;
}

/* Refuses options that would have no effect in this pool, rather than ignoring them: the caller relies on
 * them. */
int hora_task_options_check(hora_pool *pool, const hora_task_options *options, hora_error *reason)
{
    hora_task_options own;
    hora__reason_begin(reason);
    int error = hora__pool_check(pool);
    if (error < 0)
        return hora__refuse(reason, error, NULL, "the pool is NULL or belongs to the parent process");
    if (options == NULL || HORA__TAKE(hora_task_options, &own, options) < 0)
        return hora__refuse_size(reason, "hora_task_options");
    const struct hora__pool_observer *pool_observer = hora__pool_get_observer(pool);
    if (pool->admission == NULL && wants_admission(&own))
        return hora__refuse(
            reason, HORA_ENOTSUP,
            own.task_class != NULL ? "task_class"
            : own.key != 0         ? "key"
                                   : "priority",
            "task_class, key and priority have no effect: the pool has no admission, see hora_pool_options");
    if (pool_observer == NULL)
        return hora__refuse(reason, HORA_ENOTSUP, NULL,
                            "task options have no effect: the pool has no watchdog, see hora_pool_options");
    return check_options(pool_observer, &own, reason);
}

/* ---- keys ---- */

/* FNV-1a, followed by the mixer of SplitMix64, so that similar texts have keys that differ in many bits. The
 * result for a text is never 0, which means no key. */
uint64_t hora_key_of(const char *text)
{
    if (text == NULL)
        return 0;
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        key = (key ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    key ^= key >> 31;
    return key != 0 ? key : 1;
}

/* ---- the extra ---- */

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
    assert(extra->ticket == NULL);
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
    assert(!extra->is_captured || extra->observer != NULL);
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

/* ---- submitting ---- */

/* Submits a task to a plain pool. The limits of the task are prepared before it is queued, because that may
 * fail, and set afterwards, when it has been accepted; see limits.c. On error the task is the caller's
 * again. */
static int submit(hora_pool *pool, const hora_task *task, const hora_task_options *terms,
                  hora_future **ret_future)
{
    hora_future *future;
    int error = hora__pool_make_bound(pool, task, terms, &future);
    if (error < 0)
        return error;
    error = hora__extra_prepare(future);
    if (error == 0 && (error = hora__pool_place_fresh(pool, future)) < 0)
        error = hora__pool_refuse_fresh(pool, future, error);
    if (error < 0) {
        hora__future_discard(future);
        return error;
    }
    hora__extra_accepted(future);
    if (ret_future != NULL)
        *ret_future = future;
    else
        (void)hora_future_unref(future);
    return 0;
}

/* A scheduler runs the task once, without a delay. */
int hora_pool_submit_with(hora_pool *pool, const hora_task *task, const hora_task_options *options,
                          hora_future **ret_future, hora_error *reason)
{
    int error = hora_task_options_check(pool, options, reason);
    if (error < 0)
        return error;
    if (task == NULL || task->run == NULL)
        return hora__refuse(reason, HORA_EINVAL, "task", "there is no function to run");
    if (hora__scheduler_of(pool) != NULL)
        return hora_scheduler_schedule_with(pool, task, HORA_SCHEDULE(.options = options), ret_future,
                                            reason);
    return hora__reason_end(reason, submit(pool, task, options, ret_future));
}
