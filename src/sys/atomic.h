/* SPDX-License-Identifier: Apache-2.0 */
/* atomic.h - the atomic words of the library
 *
 * An operation without a suffix is sequentially consistent. The weaker operations promise:
 *   _relaxed, peek, counters   coherence only; they order nothing else
 *   publish                    release: a thread that observes the value sees everything done before it.
 *                              For a wide word it is sequentially consistent.
 *   observe                    acquire, for a counter
 * There are no fences, because ThreadSanitizer does not understand them. There is no consume.
 *
 * In the simulated build another thread may run before each operation. The weaker operations are such points
 * only if the schedule simulates weak memory (--weak). Such a schedule also keeps a history of each word, and
 * a load returns any value that C17 allows, except for what the header of tests/simulator/weak.c leaves out.
 * So the simulator does not depend on the stronger order of x86. This is the only difference between the two
 * builds of the code above src/sys. */
#ifndef HORA_SYS_ATOMIC_H
#define HORA_SYS_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/build.h"

/* The hooks of the simulator, which do nothing in other builds:
 *   HORA__ATOMIC_POINT   lets another thread run; HORA__WEAK_POINT does so only with weak memory
 *   HORA__WEAK_...       records an operation in a word's history, or chooses the value that a load returns
 *   HORA__ORDER_FAULT    weakens the next operation if a fault is planted */
#ifdef HORA_SIM
#include "simulator/weak.h"
void hora__sim_point(void);
#define HORA__ATOMIC_POINT()      hora__sim_point()
#define HORA__WEAK_POINT()        (hora__sim_weak ? hora__sim_point() : (void)0)
#define HORA__WEAK_INIT(a, value) (hora__sim_weak ? hora__sim_weak_init((a), (int64_t)(value)) : (void)0)
/* A write and a read of memory that is not atomic, but is handed over through atomic words. The simulator
 * reports a read that is not ordered after the write. FORGET is for memory that is freed or reused. */
#define HORA__WEAK_PLAIN_WRITE(place)  (hora__sim_weak ? hora__sim_weak_init((place), 0) : (void)0)
#define HORA__WEAK_PLAIN_READ(place)   (hora__sim_weak ? hora__sim_weak_use(place) : (void)0)
#define HORA__WEAK_FORGET(start, size) (hora__sim_weak ? hora__sim_weak_forget((start), (size)) : (void)0)
#define HORA__WEAK_LOAD(a, value, order) \
    (hora__sim_weak ? hora__sim_weak_load((a), (int64_t)(value), (order)) : (int64_t)(value))
#define HORA__WEAK_STORE(a, value, order)                                                              \
    (hora__sim_weak                                                                                    \
         ? hora__sim_weak_store((a), (int64_t)atomic_load_explicit(&(a)->value, memory_order_relaxed), \
                                (int64_t)(value), (order))                                             \
         : (void)0)
#define HORA__WEAK_CHANGE(a, before, value, order) \
    (hora__sim_weak ? hora__sim_weak_change((a), (int64_t)(before), (int64_t)(value), (order)) : (void)0)
#define HORA__WEAK_CAS(a, changed, before, value, order)                                        \
    (!hora__sim_weak ? (void)0                                                                  \
     : (changed)     ? hora__sim_weak_change((a), (int64_t)(before), (int64_t)(value), (order)) \
                     : hora__sim_weak_miss((a), (int64_t)(before), (order)))
/* If the fault is planted, the next operation of the calling thread that is not relaxed has only this
 * order. */
#define HORA__ORDER_FAULT(name, order) (HORA__FAULT(name) ? hora__sim_weak_next_order(order) : (void)0)
#else
#define HORA__ATOMIC_POINT()                             ((void)0)
#define HORA__WEAK_POINT()                               ((void)0)
#define HORA__WEAK_INIT(a, value)                        ((void)0)
#define HORA__WEAK_PLAIN_WRITE(place)                    ((void)0)
#define HORA__WEAK_PLAIN_READ(place)                     ((void)0)
#define HORA__WEAK_FORGET(start, size)                   ((void)0)
#define HORA__WEAK_LOAD(a, value, order)                 (value)
#define HORA__WEAK_STORE(a, value, order)                ((void)0)
#define HORA__WEAK_CHANGE(a, before, value, order)       ((void)0)
#define HORA__WEAK_CAS(a, changed, before, value, order) ((void)0)
#define HORA__ORDER_FAULT(name, order)                   ((void)0)
#endif

/* The ordinary atomic word: 32 bits wide, as the futex requires. */
typedef struct hora__atomic {
    _Atomic int32_t value;
} hora__atomic;

static inline void hora__atomic_init(hora__atomic *a, int32_t value)
{
    atomic_init(&a->value, value);
    HORA__WEAK_INIT(a, value);
}

static inline int32_t hora__atomic_load(const hora__atomic *a)
{
    HORA__ATOMIC_POINT();
    return (int32_t)HORA__WEAK_LOAD(a, atomic_load(&a->value), memory_order_seq_cst);
}

static inline void hora__atomic_store(hora__atomic *a, int32_t value)
{
    HORA__ATOMIC_POINT();
    HORA__WEAK_STORE(a, value, memory_order_seq_cst);
    atomic_store(&a->value, value);
}

/* A cheaper store for a thread that holds a lock and reads nothing that others write without the lock before
 * it unlocks. Unlocking orders the store, so the store itself need not. A thread that sees the value sees
 * everything done before it. */
static inline void hora__atomic_publish(hora__atomic *a, int32_t value)
{
    HORA__ATOMIC_POINT();
    HORA__WEAK_STORE(a, value, memory_order_release);
    atomic_store_explicit(&a->value, value, memory_order_release);
}

static inline int32_t hora__atomic_exchange(hora__atomic *a, int32_t value)
{
    HORA__ATOMIC_POINT();
    int32_t before = atomic_exchange(&a->value, value);
    HORA__WEAK_CHANGE(a, before, value, memory_order_seq_cst);
    return before;
}

/* Returns the value before the addition. */
static inline int32_t hora__atomic_add(hora__atomic *a, int32_t value)
{
    HORA__ATOMIC_POINT();
    int32_t before = atomic_fetch_add(&a->value, value);
    HORA__WEAK_CHANGE(a, before, (int32_t)((uint32_t)before + (uint32_t)value), memory_order_seq_cst);
    return before;
}

/* Returns whether the word was `expected` and is now `desired`. */
static inline bool hora__atomic_cas(hora__atomic *a, int32_t expected, int32_t desired)
{
    HORA__ATOMIC_POINT();
    bool changed = atomic_compare_exchange_strong(&a->value, &expected, desired);
    HORA__WEAK_CAS(a, changed, expected, desired, memory_order_seq_cst);
    return changed;
}

static inline int32_t hora__atomic_load_relaxed(const hora__atomic *a)
{
    HORA__WEAK_POINT();
    return (int32_t)HORA__WEAK_LOAD(a, atomic_load_explicit(&a->value, memory_order_relaxed),
                                    memory_order_relaxed);
}

static inline void hora__atomic_store_relaxed(hora__atomic *a, int32_t value)
{
    HORA__WEAK_POINT();
    HORA__WEAK_STORE(a, value, memory_order_relaxed);
    atomic_store_explicit(&a->value, value, memory_order_relaxed);
}

/* A wide word that is written under a lock and read with or without it. The holder of the lock peeks: no
 * other thread can write while it holds the lock, so a peek is no point where the simulator switches threads.
 * The store is no such point either, since taking the lock was one. */
typedef struct hora__atomic64 {
    _Atomic int64_t value;
} hora__atomic64;

static inline int64_t hora__atomic64_load(const hora__atomic64 *a)
{
    HORA__ATOMIC_POINT();
    return HORA__WEAK_LOAD(a, atomic_load(&a->value), memory_order_seq_cst);
}

static inline int64_t hora__atomic64_peek(const hora__atomic64 *a)
{
    HORA__WEAK_POINT();
    return HORA__WEAK_LOAD(a, atomic_load_explicit(&a->value, memory_order_relaxed), memory_order_relaxed);
}

static inline void hora__atomic64_store(hora__atomic64 *a, int64_t value)
{
    HORA__WEAK_POINT();
    HORA__WEAK_STORE(a, value, memory_order_seq_cst);
    atomic_store(&a->value, value);
}

/* A store whose order relative to the thread's other operations matters to readers without the lock. So,
 * unlike hora__atomic64_store, it is a point where the simulator switches threads. */
static inline void hora__atomic64_publish(hora__atomic64 *a, int64_t value)
{
    HORA__ATOMIC_POINT();
    HORA__WEAK_STORE(a, value, memory_order_seq_cst);
    atomic_store(&a->value, value);
}

/* Returns the value before the addition. */
static inline int64_t hora__atomic64_add(hora__atomic64 *a, int64_t value)
{
    HORA__ATOMIC_POINT();
    int64_t before = atomic_fetch_add(&a->value, value);
    HORA__WEAK_CHANGE(a, before, (int64_t)((uint64_t)before + (uint64_t)value), memory_order_seq_cst);
    return before;
}

/* An atomic pointer, for lists and caches that threads read without a lock. */
typedef struct hora__atomic_pointer {
    _Atomic(void *) value;
} hora__atomic_pointer;

static inline void hora__atomic_pointer_init(hora__atomic_pointer *a, void *value)
{
    atomic_init(&a->value, value);
    HORA__WEAK_INIT(a, (intptr_t)value);
}

/* The simulator keeps values of all types as int64_t, so the pointer that it chooses is converted from an
 * integer. */
static inline void *hora__atomic_pointer_load(const hora__atomic_pointer *a)
{
    HORA__ATOMIC_POINT();
    void *value = atomic_load(&a->value);
#ifdef HORA_SIM
    intptr_t seen = (intptr_t)HORA__WEAK_LOAD(a, (intptr_t)value, memory_order_seq_cst);
    memcpy(&value, &seen, sizeof value);
#endif
    return value;
}

/* Returns whether the pointer was `expected` and is now `desired`. */
static inline bool hora__atomic_pointer_cas(hora__atomic_pointer *a, void *expected, void *desired)
{
    HORA__ATOMIC_POINT();
    bool changed = atomic_compare_exchange_strong(&a->value, &expected, desired);
    HORA__WEAK_CAS(a, changed, (intptr_t)expected, (intptr_t)desired, memory_order_seq_cst);
    return changed;
}

/* A number that orders nothing else. Its operations are relaxed and no points for the simulator, unless it
 * simulates weak memory. */
typedef struct hora__counter {
    _Atomic int64_t value;
} hora__counter;

/* Stores a value. No two threads may write the counter at the same time. */
HORA__INLINE void hora__counter_set(hora__counter *counter, int64_t value)
{
    HORA__WEAK_POINT();
    HORA__WEAK_STORE(counter, value, memory_order_relaxed);
    atomic_store_explicit(&counter->value, value, memory_order_relaxed);
}

HORA__INLINE int64_t hora__counter_read(const hora__counter *counter)
{
    HORA__WEAK_POINT();
    return HORA__WEAK_LOAD(counter, atomic_load_explicit(&counter->value, memory_order_relaxed),
                           memory_order_relaxed);
}

HORA__INLINE void hora__counter_add(hora__counter *counter, int64_t value)
{
    HORA__WEAK_POINT();
    int64_t before = atomic_fetch_add_explicit(&counter->value, value, memory_order_relaxed);
    HORA__WEAK_CHANGE(counter, before, before + value, memory_order_relaxed);
    (void)before;
}

/* Adds to a counter that no two threads change at the same time, without a read-modify-write operation. */
HORA__INLINE void hora__counter_add_alone(hora__counter *counter, int64_t value)
{
    hora__counter_set(counter, hora__counter_read(counter) + value);
}

/* Raises the counter to `value` if that is greater. No two threads may raise it at the same time. */
HORA__INLINE void hora__counter_raise_alone(hora__counter *counter, int64_t value)
{
    if (__builtin_expect(value > hora__counter_read(counter), 0))
        hora__counter_set(counter, value);
}

/* Adds one and returns the new value, which no other call on this counter returns. */
HORA__INLINE int64_t hora__counter_next(hora__counter *counter)
{
    HORA__WEAK_POINT();
    int64_t before = atomic_fetch_add_explicit(&counter->value, 1, memory_order_relaxed);
    HORA__WEAK_CHANGE(counter, before, before + 1, memory_order_relaxed);
    return before + 1;
}

/* For numbers that are read together without a lock: a thread that observes a published value sees
 * everything that was written before it. They are points only with weak memory; callers add points where
 * they need them. */
HORA__INLINE void hora__counter_publish(hora__counter *counter, int64_t value)
{
    HORA__WEAK_POINT();
    HORA__WEAK_STORE(counter, value, memory_order_release);
    atomic_store_explicit(&counter->value, value, memory_order_release);
}

HORA__INLINE int64_t hora__counter_observe(const hora__counter *counter)
{
    HORA__WEAK_POINT();
    return HORA__WEAK_LOAD(counter, atomic_load_explicit(&counter->value, memory_order_acquire),
                           memory_order_acquire);
}

/* Like hora__counter_add and hora__counter_add_alone, but a thread that observes the new value sees
 * everything done before it. */
HORA__INLINE void hora__counter_add_publish(hora__counter *counter, int64_t value)
{
    HORA__WEAK_POINT();
    int64_t before = atomic_fetch_add_explicit(&counter->value, value, memory_order_release);
    HORA__WEAK_CHANGE(counter, before, before + value, memory_order_release);
    (void)before;
}

HORA__INLINE void hora__counter_add_alone_publish(hora__counter *counter, int64_t value)
{
    hora__counter_publish(counter, hora__counter_read(counter) + value);
}

/* The part of a pool's books that an inbox keeps for the tasks inserted there, so that threads of different
 * inboxes do not write to a common cache line. Written under the inbox's lock. The books are the sum of all
 * parts. */
struct hora__branch {
    hora__counter accepted;  /* tasks accepted by this inbox */
    hora__counter cancelled; /* of these, removed because they were cancelled: they count as finished, too */
};

#endif
