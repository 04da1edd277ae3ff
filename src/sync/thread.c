/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - thread records, handles and interrupts
 *
 * Purpose           Other threads must be able to find a thread to wake or interrupt it, even one that
 *                   hora did not start, and its handle must outlive it. So each thread that makes a
 *                   blocking call or asks for its handle gets a counted record on the heap. The thread
 *                   itself has one reference, which it releases when it ends.
 * How it works      The interrupt flag is an atomic word, so reading it is cheap. It changes under the
 *                   lock, together with the descriptor that shows it. Only the thread itself clears it.
 *                   A thread that hora did not start registers its record with the system, which calls
 *                   end_of_thread at its end. A thread of hora adopts a record that was prepared for it,
 *                   and disowns it as its last step.
 * Invariants        I1 interrupt_fd, if open, is readable exactly while the flag is set.
 *                   I2 the flag of a thread that has ended is clear and stays clear.
 *                   I3 a wake follows every setting of the flag, so a thread that reads the flag before
 *                   each sleep never sleeps through an interrupt.
 * Locks             thread->lock (rank THREAD). Held only across calls of descriptors and of the clock's
 *                   count.
 * Fork              In a child, a thread that no longer exists may hold the lock of the remaining thread's
 *                   record for ever. The child abandons that record and makes a new one. */
#include "sync/thread.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "sys/process.h"
#include "sys/thread.h"

/* Called when a thread with a record ends: releases what the record holds for the thread, and the thread's
 * own reference. Also called when the library is unloaded, then by the thread that unloads it. */
static void end_of_thread(void *pointer)
{
    hora_thread *thread = pointer;
    /* A record of the parent process is abandoned: a thread that does not exist here may hold its lock. */
    if (thread->generation != hora__fork_generation())
        return;
    hora__virtual_clock_thread_ends(thread);
    for (int i = 0; i < HORA__BLOCK_KINDS; i++)
        hora__blocks_free(&thread->free_blocks[i]);
    hora__mutex_lock(&thread->lock);
    thread->ended = true;
    hora__atomic_store(&thread->interrupted, 0); /* I2 */
    hora__event_set(&thread->interrupt_fd, false);
    hora__mutex_unlock(&thread->lock);
    (void)hora_thread_unref(thread);
}

/* Makes a record with one reference, the thread's own. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
static int thread_new(hora_thread **ret_thread)
{
    hora_thread *thread = hora__alloc(1, sizeof *thread);
    if (thread == NULL)
        return HORA_ENOMEM;
    hora__atomic_init(&thread->references, 1);
    hora__atomic_init(&thread->interrupted, 0);
    hora__atomic_init(&thread->attached, 0);
    thread->generation = hora__fork_generation();
    thread->interrupt_fd = HORA__EVENT_NONE;
    hora__list_init(&thread->pending);
    int error = hora__mutex_init(&thread->lock, HORA__RANK_THREAD);
    if (error < 0)
        goto no_lock;
    error = hora__parker_init(&thread->parker);
    if (error < 0)
        goto no_parker;
    *ret_thread = thread;
    return 0;
no_parker:
    hora__mutex_destroy(&thread->lock);
no_lock:
    hora__free(thread);
    return error;
}

/* Frees a record that has no references. Its thread has ended, or never had it. */
static void thread_free(hora_thread *thread)
{
    assert(thread->clock == NULL);
    hora__event_destroy(&thread->interrupt_fd);
    hora__parker_destroy(&thread->parker);
    hora__mutex_destroy(&thread->lock);
    hora__free(thread);
}

/* After a fork, the one thread of the child still carries a record of the parent. It counts as none. */
hora_thread *hora__thread_existing(void)
{
    hora_thread *thread = hora__thread_pointer();
    return thread != NULL && thread->generation == hora__fork_generation() ? thread : NULL;
}

/* Most calls find the record. A new one is registered with the system, so that end_of_thread is called when
 * the thread ends. A record that the thread has inherited from the parent process is not freed. */
int hora__thread_current(hora_thread **ret_thread)
{
    hora_thread *thread = hora__thread_existing();
    if (thread == NULL) {
        int error = hora__fork_watch();
        if (error == 0)
            error = thread_new(&thread);
        if (error < 0)
            return error;
        error = hora__thread_set_pointer(thread, end_of_thread);
        if (error < 0) {
            thread_free(thread);
            return error;
        }
    }
    *ret_thread = thread;
    return 0;
}

int hora__thread_prepare(hora_thread **ret_thread)
{
    int error = hora__fork_watch();
    return error < 0 ? error : thread_new(ret_thread);
}

/* Carries the record without registering it, which cannot fail; hora__thread_disown ends its use. */
bool hora__thread_adopt(hora_thread *prepared)
{
    assert(prepared != NULL);
    bool adopts = hora__thread_existing() == NULL;
    if (adopts)
        hora__thread_carry(prepared);
    else
        (void)hora_thread_unref(prepared);
    return adopts;
}

void hora__thread_disown(hora_thread *thread)
{
    assert(thread != NULL);
    assert(hora__thread_existing() == thread);
    hora__thread_carry(NULL);
    end_of_thread(thread);
}

/* Unlike hora__thread_current, whose result is borrowed, a handle outlives the thread. */
int hora_thread_self(hora_thread **ret_thread)
{
    if (ret_thread == NULL)
        return HORA_EINVAL;
    hora_thread *thread;
    int error = hora__thread_current(&thread);
    if (error == 0)
        *ret_thread = hora_thread_ref(thread);
    return error;
}

hora_thread *hora_thread_ref(hora_thread *thread)
{
    if (thread != NULL) {
        int32_t before = hora__atomic_add(&thread->references, 1);
        assert(before > 0);
        (void)before;
    }
    return thread;
}

/* The subtraction must acquire and release: the thread that frees the record must see everything that other
 * threads did with it. */
hora_thread *hora_thread_unref(hora_thread *thread)
{
    if (thread != NULL) {
        HORA__ORDER_FAULT(THREAD_LEFT_RELAXED, memory_order_relaxed);
        int32_t before = hora__atomic_add(&thread->references, -1);
        assert(before > 0);
        if (before == 1)
            thread_free(thread);
    }
    return NULL;
}

/* The count of its clock changes under the thread's lock, see I2 in virtual_clock.c. */
void hora__thread_count(hora_thread *thread)
{
    if (!hora__atomic_load(&thread->attached))
        return;
    hora__mutex_lock(&thread->lock);
    if (!HORA__FAULT(CLOCK_SETTLES_EARLY))
        hora__virtual_clock_not_idle_locked(thread);
    hora__mutex_unlock(&thread->lock);
}

/* The atomic word `attached` saves the lock in the common case, a thread without a virtual clock. */
void hora__thread_wake(hora_thread *thread)
{
    if (!hora__atomic_load(&thread->attached)) {
        hora__unpark(&thread->parker);
        return;
    }
    /* The thread counts as running from now on, not only once the system runs it. Count and permit change
     * under one lock, so that become_idle in virtual_clock.c sees both or neither. */
    hora__mutex_lock(&thread->lock);
    if (!HORA__FAULT(CLOCK_SETTLES_EARLY))
        hora__virtual_clock_not_idle_locked(thread);
    hora__unpark(&thread->parker);
    hora__mutex_unlock(&thread->lock);
}

/* Sets the interrupt flag and its descriptor. Returns false if the flag was already set, or if the thread has
 * ended (I2); the caller then need not wake it. */
static bool set_interrupted(hora_thread *thread)
{
    hora__mutex_lock(&thread->lock);
    bool is_new = !thread->ended && !hora__atomic_load(&thread->interrupted);
    if (is_new) {
        /* Must release: the interrupted thread, which reads the flag without the lock, must see what the
         * caller did before. */
        HORA__ORDER_FAULT(INTERRUPT_SET_RELAXED, memory_order_relaxed);
        hora__atomic_store(&thread->interrupted, 1);
        hora__event_set(&thread->interrupt_fd, true); /* I1 */
    }
    hora__mutex_unlock(&thread->lock);
    return is_new;
}

/* Wakes the thread after its lock has been released, because hora__thread_wake takes it again. */
int hora_thread_interrupt(hora_thread *thread)
{
    if (thread == NULL)
        return HORA_EINVAL;
    if (thread->generation != hora__fork_generation())
        return HORA_EFORKED;
    if (set_interrupted(thread) && !HORA__FAULT(INTERRUPT_DOES_NOT_WAKE))
        hora__thread_wake(thread); /* I3 */
    return 0;
}

/* The load must acquire, see set_interrupted. */
bool hora_thread_is_interrupted(const hora_thread *thread)
{
    HORA__ORDER_FAULT(INTERRUPT_READ_RELAXED, memory_order_relaxed);
    return thread != NULL && hora__atomic_load(&thread->interrupted) != 0;
}

/* Needs no lock to find the flag clear, which is the common case. Only this thread clears it, so the flag
 * cannot vanish between the load and the lock. */
bool hora__thread_take_interrupt(hora_thread *thread)
{
    assert(thread == hora__thread_existing());
    if (!hora__atomic_load(&thread->interrupted))
        return false;
    if (HORA__FAULT(INTERRUPT_NOT_CLEARED))
        return true;
    hora__mutex_lock(&thread->lock);
    hora__atomic_store(&thread->interrupted, 0);
    hora__event_set(&thread->interrupt_fd, false); /* I1 */
    hora__mutex_unlock(&thread->lock);
    return true;
}

bool hora_interrupted(void)
{
    hora_thread *thread = hora__thread_existing();
    return thread != NULL && hora__thread_take_interrupt(thread);
}

/* Opens the descriptor on first use, under the lock, so that an interrupt at the same time either finds it
 * open or is found set (I1). */
int hora_interrupt_fd(void)
{
    hora_thread *thread;
    int result = hora__thread_current(&thread);
    if (result < 0)
        return result;
    hora__mutex_lock(&thread->lock);
    if (thread->interrupt_fd.fd < 0) {
        result = hora__event_init(&thread->interrupt_fd);
        if (result == 0)
            hora__event_set(&thread->interrupt_fd, hora__atomic_load(&thread->interrupted) != 0); /* I1 */
    }
    if (result == 0)
        result = thread->interrupt_fd.fd;
    hora__mutex_unlock(&thread->lock);
    return result;
}
