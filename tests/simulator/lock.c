/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - simulated mutexes and conditions, with all the checks that a real lock does not make
 *
 * How it works      mutex->native.owner is the state: 0 is free, n means held by thread n - 1. A thread that
 *                   wants a lock that is held is in state LOCKING. It can be chosen to run only while the
 *                   lock is free, and then takes it. So no schedule is spent on threads that wake up only to
 *                   find the lock held again. A condition has no state: its waiters are the threads WAITING
 *                   on its address.
 * Checks            Rank, locking twice, unlocking by another thread, destroying a lock that is held or
 *                   waited for, use before init or after destroy. Each ends the schedule as MISUSE.
 * Invariants        L1 a LOCKING thread is ready if and only if its lock is free.
 *                   L2 thread->held lists exactly the mutexes whose owner is that thread. */
#include "sys/mutex.h"

#include <hora/error.h>

#include "simulator/internal.h"

enum { DESTROYED = -1 }; /* a value of owner */

/* Returns the value of owner for a lock that the current thread holds. */
static int own_number(void)
{
    return sim_number(hora__sim.current) + 1;
}

/* Ends the run if a lock is not initialised or is destroyed. `what` names the operation. */
static void check_alive(const hora__mutex *mutex, const char *what)
{
    if (mutex->rank < HORA__RANK_OBJECT || mutex->native.owner < 0 || mutex->native.owner > SIM_THREADS)
        hora__sim_end(HORA__SIM_MISUSE, "%s of a lock that was not initialised, or is destroyed", what);
}

/* Ends the run if the current thread holds a lock whose rank is not lower. */
static void check_rank(const hora__mutex *mutex)
{
    const struct sim_thread *self = hora__sim.current;
    for (int i = 0; i < self->held_count; i++)
        if (self->held[i]->rank >= mutex->rank)
            hora__sim_end(HORA__SIM_MISUSE, "thread %d takes a lock of rank %d while it holds one of rank %d",
                          sim_number(self), (int)mutex->rank, (int)self->held[i]->rank);
    if (self->held_count == SIM_HELD)
        hora__sim_end(HORA__SIM_MISUSE, "thread %d holds too many locks", sim_number(self));
}

/* Makes the threads that wait for a lock ready, or not ready, to run; L1. */
static void set_ready(const hora__mutex *mutex, bool ready)
{
    for (uint64_t left = hora__sim.locking; left != 0;) {
        struct sim_thread *thread = sim_take_first(&left);
        if (thread->object == mutex)
            hora__sim.ready = ready ? hora__sim.ready | sim_bit(thread) : hora__sim.ready & ~sim_bit(thread);
    }
}

/* Gives a free lock to the current thread. */
static void take(hora__mutex *mutex)
{
    struct sim_thread *self = hora__sim.current;
    self->state = SIM_READY;
    self->object = NULL;
    self->decided = false; /* taking the lock is visible to others, so the next call is a schedule point */
    hora__sim.locking &= ~sim_bit(self);
    mutex->native.owner = own_number();
    self->held[self->held_count++] = mutex; /* L2 */
    set_ready(mutex, false);                /* L1 */
    SIM_ACQUIRE(mutex);
    hora__sim_weak_acquire(mutex);
}

/* Releases a lock that the current thread holds. */
static void give_back(hora__mutex *mutex)
{
    struct sim_thread *self = hora__sim.current;
    int i = 0;
    while (self->held[i] != mutex)
        i++;
    self->held[i] = self->held[--self->held_count]; /* L2 */
    SIM_RELEASE(mutex);
    hora__sim_weak_release(mutex);
    mutex->native.owner = 0;
    set_ready(mutex, true); /* L1 */
}

int hora__mutex_init(hora__mutex *mutex, enum hora__rank rank)
{
    if (hora__sim_allocation_fails())
        return HORA_ENOMEM;
    mutex->native.owner = 0;
    HORA__WEAK_INIT(mutex, 0);
    mutex->rank = (uint8_t)rank;
    hora__atomic_init(&mutex->owner, 0);
    return 0;
}

void hora__mutex_destroy(hora__mutex *mutex)
{
    check_alive(mutex, "destruction");
    if (mutex->native.owner != 0)
        hora__sim_end(HORA__SIM_MISUSE, "a lock is destroyed while thread %d holds it",
                      mutex->native.owner - 1);
    for (uint64_t left = hora__sim.locking; left != 0;)
        if (sim_take_first(&left)->object == mutex)
            hora__sim_end(HORA__SIM_MISUSE, "a lock is destroyed while a thread waits for it");
    mutex->native.owner = DESTROYED;
}

/* If the lock is free, the call is a schedule point: another thread may take it first. If the lock is held,
 * the thread can only wait, so it blocks without asking who runs next. */
void hora__mutex_lock(hora__mutex *mutex)
{
    hora__sim_step();
    check_alive(mutex, "locking");
    if (mutex->native.owner == own_number())
        hora__sim_end(HORA__SIM_MISUSE, "thread %d locks again what it holds", own_number() - 1);
    check_rank(mutex);
    if (mutex->native.owner == 0)
        hora__sim_point();
    check_alive(mutex, "locking");
    if (mutex->native.owner != 0) {
        hora__sim.locking |= sim_bit(hora__sim.current);
        hora__sim_block(SIM_LOCKING, mutex, INT64_MAX);
    }
    take(mutex);
}

/* Ends the run if the current thread does not hold the lock. */
static void check_owner(const hora__mutex *mutex, const char *what)
{
    check_alive(mutex, what);
    if (mutex->native.owner != own_number())
        hora__sim_end(HORA__SIM_MISUSE, "%s of a lock that thread %d does not hold", what, own_number() - 1);
}

void hora__mutex_unlock(hora__mutex *mutex)
{
    check_owner(mutex, "unlocking");
    give_back(mutex);
    hora__sim_after();
}

bool hora__mutex_is_free(hora__mutex *mutex)
{
    hora__sim_point();
    check_alive(mutex, "looking at the state");
    return mutex->native.owner == 0;
}

bool hora__mutex_held(const hora__mutex *mutex)
{
    return mutex->native.owner == own_number();
}

bool hora__mutex_holds_object(void)
{
    const struct sim_thread *self = hora__sim.current;
    for (int i = 0; i < self->held_count; i++)
        if (self->held[i]->rank == HORA__RANK_OBJECT)
            return true;
    return false;
}

int hora__cond_init(hora__cond *cond)
{
    if (hora__sim_allocation_fails())
        return HORA_ENOMEM;
    cond->native.unused = 0;
    return 0;
}

void hora__cond_destroy(hora__cond *cond)
{
    if (hora__sim_waited_on(SIM_WAITING, cond))
        hora__sim_end(HORA__SIM_MISUSE, "a condition is destroyed while a thread waits on it");
}

void hora__cond_wait(hora__cond *cond, hora__mutex *mutex, int64_t deadline_ns)
{
    hora__sim_point();
    check_owner(mutex, "a wait with the help");
    give_back(mutex);
    check_rank(mutex); /* it will be taken again, with the others still held */
    struct sim_thread *self = hora__sim.current;
    self->relock = mutex;
    hora__sim_sleep(SIM_WAITING, cond, HORA__MONOTONIC, deadline_ns);
    self->relock = NULL;
    take(mutex);
}

void hora__cond_signal(hora__cond *cond)
{
    hora__sim_point();
    struct sim_thread *waiter = hora__sim_waiter(SIM_WAITING, cond);
    if (waiter != NULL)
        hora__sim_wake(waiter);
    hora__sim_after();
}
