/* SPDX-License-Identifier: Apache-2.0 */
/* timer.c - timers in memory of the caller: start and cancel
 *
 * How it works      A timer is put into the agenda as what runs once is, by a shard if possible, and counts as an accepted task; but it has neither
 *                   future nor reference, so there is nothing else to do. A worker copies it as it takes it, and runs the copy as
 *                   src/exec/by_value.c says. agenda_timers.c says whose the memory is when.
 * After start       has let go of the lock by which a timer comes in, its body may have run, started it again, or freed it: it is not touched
 *                   any more.
 * After shutdown    The state is looked at under that lock, and whoever changes the state sweeps the agenda afterwards. So what was let in is
 *                   seen, and never looked at again. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "sched/scheduler.h"
#include "sched/timeout.h"

bool hora__scheduler_takes_timers(const struct hora__scheduler *scheduler)
{
    const hora_pool *pool = &scheduler->pool;
    return pool->before == NULL && pool->after == NULL && scheduler->failed == NULL && scheduler->decorate == NULL &&
           pool->turns == NULL && !hora__pool_needs_futures(pool);
}

int hora_timer_init(hora_timer *timer, hora_run_fn run, void *arg)
{
    if (timer == NULL || run == NULL)
        return HORA_EINVAL;
    HORA__WEAK_FORGET(timer, sizeof *timer);
    *timer = (hora_timer)HORA_TIMER_INIT(run, arg);
    return 0;
}

bool hora_timer_is_pending(const hora_timer *timer)
{
    return timer != NULL && hora__atomic_load(&((const struct hora__timeout *)(const void *)timer)->pending) != 0;
}

/* ---- cancelling ---- */

/* One that was pending a moment ago. Whether it still was. */
static inline bool cancel(struct hora__timeout *timeout)
{
    hora_pool *pool = timeout->pool;
    enum hora__timer_cancel what = hora__agenda_cancel_timer(timeout);
    if (what == HORA__TIMER_REMOVED) {
        hora__pool_cancelled(pool);
        hora__pool_try_terminate(pool);
    }
    return what != HORA__TIMER_NOT_THERE;
}

int hora_timer_cancel(hora_timer *timer)
{
    if (timer == NULL)
        return HORA_EINVAL;
    struct hora__timeout *timeout = hora__timeout_of_timer(timer);
    if (hora__atomic_load(&timeout->pending) == 0)
        return HORA_CANCEL_TOO_LATE;
    int error = hora__pool_check(timeout->pool);
    if (error < 0)
        return error;
    return cancel(timeout) ? HORA_CANCEL_REMOVED : HORA_CANCEL_TOO_LATE;
}

/* ---- starting ---- */

/* There is no worker, and none can be started: take it back. If it is not there any more, somebody has dealt with it. */
static int take_back(hora_pool *pool, const struct hora__timeout *timeout, uint64_t number, int error)
{
    if (HORA__FAULT(TIMER_STAYS_UNSTAFFED))
        return error;
    if (!hora__agenda_withdraw_timer(pool->queue, timeout, number))
        return 0;
    hora__pool_relieve(pool);
    hora__pool_unaccept(pool);
    hora__pool_try_terminate(pool);
    return error;
}

__attribute__((noinline)) static int staff(hora_pool *pool, const struct hora__timeout *timeout, uint64_t number)
{
    int error = hora__scheduler_staff(pool);
    if (error < 0 && error != HORA_ESHUTDOWN) /* that one: it has been swept, or dropped, already */
        return take_back(pool, timeout, number, error);
    return 0;
}

static inline int post(hora_pool *pool, struct hora__timeout *timeout, hora_ns delay)
{
    hora_ns now = hora_clock_now(pool->object.clock);
    uint64_t number;
    timeout->pool = pool;
    int error = hora__agenda_post_timer(timeout, now, hora__ns_add(now, delay > 0 ? delay : 0), &number);
    if (error < 0)
        return error;
    hora__pool_work_came(pool);
    return hora__scheduler_is_staffed(pool) ? 0 : staff(pool, timeout, number);
}

static int check(hora_pool *pool, const struct hora__timeout *timeout)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    const struct hora__scheduler *scheduler = hora__scheduler_look_at(pool);
    if (scheduler == NULL || timeout == NULL || timeout->run == NULL)
        return HORA_EINVAL;
    return scheduler->takes_timers ? 0 : HORA_ENOTSUP;
}

static int refuse(hora_pool *pool)
{
    hora__counter_add(&pool->refused, 1);
    return HORA_EREJECTED;
}

int hora_timer_start(hora_scheduler *scheduler, hora_timer *timer, hora_ns delay)
{
    struct hora__timeout *timeout = hora__timeout_of_timer(timer);
    int error = check(scheduler, timeout);
    if (error < 0)
        return error;
    if (hora__atomic_load(&timeout->pending) != 0 && !HORA__FAULT(TIMER_MOVES_TWICE)) {
        error = hora__pool_check(timeout->pool);
        if (error < 0)
            return error;
        (void)cancel(timeout);
    }
    error = post(scheduler, timeout, delay);
    return error == HORA_ENOTSUP ? refuse(scheduler) : error;
}
