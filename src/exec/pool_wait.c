/* SPDX-License-Identifier: Apache-2.0 */
/* pool_wait.c - waiting for a pool: until it is quiet, until it has terminated
 *
 * A thread that waits while tasks are queued and no worker is there tries to start one from time to time; see
 * worker_add.c. */
#include <stddef.h>

#include "exec/pool.h"
#include "sync/clock.h"

static bool is_terminated_locked(hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control)) == HORA__TERMINATED;
}

static bool is_quiet_locked(hora_pool *pool)
{
    return hora__books_are_even(&pool->books);
}

/* What a thread waits for, and where it is told of it. */
struct condition {
    bool (*is_so_locked)(hora_pool *pool);
    struct hora__list *list;
    bool tries;          /* no worker is there, and the thread tries to start one from time to time */
    uint32_t strandings; /* of the pool, before the thread looked for that */
};

/* Wait once, until the time `until`. Precedence: the condition, the end of the time, interrupts. HORA_EAGAIN:
 * look again. */
static int wait_once(hora_pool *pool, const struct condition *condition, hora_thread *thread, hora_ns timeout,
                     hora_ns until)
{
    int error = 0;
    hora__mutex_lock(&pool->object.lock);
    if (!condition->is_so_locked(pool)) {
        if (timeout <= 0)
            error = HORA_ETIMEDOUT;
        else if (timeout == HORA_FOREVER && hora__pool_needs_caller(pool))
            error = HORA_EDEADLK;
        else if (pool->strandings != condition->strandings && !condition->tries)
            error = HORA_EAGAIN;
        else
            return hora__object_wait_locked(&pool->object, condition->list, thread, until);
    }
    hora__mutex_unlock(&pool->object.lock);
    return error;
}

static uint32_t read_strandings(hora_pool *pool)
{
    hora__mutex_lock(&pool->object.lock);
    uint32_t strandings = pool->strandings;
    hora__mutex_unlock(&pool->object.lock);
    return strandings;
}

/* As wait_once, until the deadline. While no worker is there to run what is queued, try to start one from
 * time to time. */
static int wait_for(hora_pool *pool, struct condition *condition, hora_ns timeout)
{
    hora_thread *thread;
    hora_ns deadline = timeout > 0 ? hora__clock_deadline(pool->object.clock, timeout) : 0;
    hora_ns pause = 0;
    int error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    for (;;) {
        hora_ns until = deadline;
        condition->strandings = read_strandings(pool);
        condition->tries = timeout > 0 && hora__pool_is_stranded(pool) && hora__pool_rescue(pool);
        if (condition->tries) {
            pause = hora__rescue_pause(pause);
            hora_ns again = hora__clock_deadline(pool->object.clock, pause);
            until = again < deadline ? again : deadline;
        }
        error = wait_once(pool, condition, thread, timeout, until);
        bool looks_again = error == HORA_EAGAIN || (error == HORA_ETIMEDOUT && until < deadline);
        if (!looks_again)
            return error;
    }
}

int hora_pool_await_termination_for(hora_pool *pool, hora_ns timeout)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    struct condition condition = {.is_so_locked = is_terminated_locked, .list = &pool->terminations};
    return wait_for(pool, &condition, timeout);
}

int hora_pool_await_idle_for(hora_pool *pool, hora_ns timeout)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    struct condition condition = {.is_so_locked = is_quiet_locked, .list = &pool->quiescers};
    hora__pool_watch(pool, 1);
    error = wait_for(pool, &condition, timeout);
    hora__pool_watch(pool, -1);
    return error;
}

int hora_pool_await_termination(hora_pool *pool)
{
    return hora_pool_await_termination_for(pool, HORA_FOREVER);
}

int hora_pool_await_idle(hora_pool *pool)
{
    return hora_pool_await_idle_for(pool, HORA_FOREVER);
}
