/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_detached.c - tasks of a scheduler that nobody has a handle of
 *
 * What for          A task that runs once, by the rules of the JDK's calls, and whose future nobody asked for, cannot be cancelled, waited
 *                   for or steered. It needs its time, its body and its argument: a quarter of what a future takes.
 * How it works      If no hook is shown futures, such a task is put into the timer queue detached (detached.h). A worker copies it
 *                   when it is due, and runs it as src/exec/detached_mode.c says. Whoever is about to look has all of them made
 *                   futures first (hora__pool_show), and from then on each gets one when it comes.
 * After shutdown    The state is looked at under the lock by which a task is let in, in the same step; and whoever changes the
 *                   state sweeps the timer queue afterwards. So what was let in is seen, and unlike a future is never looked at again. */
#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "sched/scheduler.h"

bool hora__scheduler_needs_no_futures(const struct hora__scheduler *scheduler)
{
    const hora_pool *pool = &scheduler->pool;
    return HORA__FAST && pool->before == NULL && pool->after == NULL && !hora__pool_needs_futures(pool);
}

/* No worker exists, and none can be started: take the task or timer back. If it is not there any more, another thread has dealt with it. */
static int take_back(hora_pool *pool, bool is_timer, uint64_t number, int error)
{
    assert(error < 0);
    if (is_timer ? HORA__FAULT(TIMER_STAYS_UNSTAFFED) : HORA__FAULT(TIMER_QUEUE_KEEPS_UNSTAFFED))
        return error;
    if (!hora__timer_queue_withdraw(pool->queue, is_timer, number))
        return 0;
    hora__pool_relieve(pool);
    hora__pool_unaccept(pool);
    hora__pool_try_terminate(pool);
    return error;
}

__attribute__((noinline)) int hora__scheduler_staff_detached(hora_pool *pool, bool is_timer, uint64_t number)
{
    assert(number != 0);
    int error = hora__scheduler_staff(pool);
    if (error < 0 && error != HORA_ESHUTDOWN) /* with that one, a sweep has removed it already */
        return take_back(pool, is_timer, number, error);
    return 0;
}

int hora__scheduler_insert(hora_pool *pool, const hora_task *task, hora_ns now, hora_ns due)
{
    assert(task != NULL && task->run != NULL);
    if (!hora__atomic_load(&pool->detached_mode))
        return HORA_ENOTSUP;
    struct hora__offer offer = {
        .task = task,
        .control = &pool->control,
        .closed = hora__control(HORA__SHUTDOWN, 0),
        .books = &pool->books,
    };
    uint64_t number;
    int error = hora__timer_queue_insert_task(pool->queue, &offer, now, due, &number);
    if (error < 0)
        return error;
    hora__pool_work_came(pool);
    return hora__scheduler_is_staffed(pool) ? 0 : hora__scheduler_staff_detached(pool, false, number);
}

/* ---- becoming futures ---- */

static int make_future(void *context, const hora_task *task, hora_ns due,
                       struct hora__scheduled **ret_scheduled)
{
    assert(context != NULL && ret_scheduled != NULL);
    hora_pool *pool = context;
    struct hora__scheduled_plan plan = {.rules = &hora__jdk_rules,
                                        .trigger = HORA__ONCE,
                                        .line = hora__clock_timeline(pool->object.clock),
                                        .planned = due};
    int error = hora__scheduled_new(task, pool->queue, &plan, ret_scheduled);
    if (error == 0)
        hora__future_born_enqueued(&(*ret_scheduled)->future, &pool->owner, 1);
    return error;
}

int hora__scheduler_show(hora_pool *pool)
{
    return hora__timer_queue_show(pool->queue, &(struct hora__timer_queue_maker){make_future, pool});
}

/* ---- the sweep ---- */

void hora__scheduler_dismiss(hora_pool *pool, struct hora__entry *entry)
{
    assert(entry->is_detached && !entry->is_timer);
    hora_task task = hora__timer_queue_dismiss(pool->queue, entry);
    hora__pool_end_detached(pool, &task, HORA__CANCELLED);
    hora__pool_try_terminate(pool);
}
