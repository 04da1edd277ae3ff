/* SPDX-License-Identifier: Apache-2.0 */
/* atomic.h - the atomic words of the library
 *
 * An operation without a suffix is sequentially consistent. The weaker forms say what they promise:
 *   _relaxed, peek, counters   coherence only: nothing else is ordered by them
 *   publish                    release: a thread that observes the value sees all that was done before. Of a wide word it is
 *                              sequentially consistent
 *   observe                    acquire, of a counter
 * There are no fences: ThreadSanitizer does not understand them. There is no consume.
 *
 * In the simulated build each operation is first a point where another thread may run. There the weaker forms are points only
 * if the schedule simulates weak memory (--weak). Such a schedule also keeps a history of each word, and a
 * load returns any value that C17 allows it to return, but for what src/sys/sim/weak.c says it leaves out. So what the simulator
 * shows does not depend on the order that x86 gives. That is the only difference between the two builds of the code above src/sys. */
#ifndef HORA_SYS_ATOMIC_H
#define HORA_SYS_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/inline.h"

#ifdef HORA_SIM
#include "sys/sim/weak.h"
void hora__sim_point(void);
#define HORA__ATOMIC_POINT()      hora__sim_point()
#define HORA__WEAK_POINT()        (hora__sim_weak ? hora__sim_point() : (void)0)
#define HORA__WEAK_INIT(a, value) (hora__sim_weak ? hora__sim_weak_init((a), (int64_t)(value)) : (void)0)
/* Memory that is not atomic, but handed over by atomic words: it is written, or read. */
#define HORA__WEAK_PLAIN_WRITE(place)  (hora__sim_weak ? hora__sim_weak_init((place), 0) : (void)0)
#define HORA__WEAK_PLAIN_READ(place)   (hora__sim_weak ? hora__sim_weak_use(place) : (void)0)
#define HORA__WEAK_FORGET(start, size) (hora__sim_weak ? hora__sim_weak_forget((start), (size)) : (void)0)
#define HORA__WEAK_LOAD(a, value, order) \
    (hora__sim_weak ? hora__sim_weak_load((a), (int64_t)(value), (order)) : (int64_t)(value))
#define HORA__WEAK_STORE(a, value, order)                                                                         \
    (hora__sim_weak ? hora__sim_weak_store((a), (int64_t)atomic_load_explicit(&(a)->value, memory_order_relaxed), \
                                           (int64_t)(value), (order))                                             \
                    : (void)0)
#define HORA__WEAK_CHANGE(a, before, value, order) \
    (hora__sim_weak ? hora__sim_weak_change((a), (int64_t)(before), (int64_t)(value), (order)) : (void)0)
#define HORA__WEAK_CAS(a, changed, before, value, order)                                        \
    (!hora__sim_weak ? (void)0                                                                  \
     : (changed)     ? hora__sim_weak_change((a), (int64_t)(before), (int64_t)(value), (order)) \
                     : hora__sim_weak_miss((a), (int64_t)(before), (order)))
/* If the fault is planted, the next operation of the calling thread that is not relaxed has this order only. */
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

/* 32 bits wide and signed, as the futex wants it. */
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

/* The same by whoever holds a lock, and looks at nothing that others write without it before it has let that go: to unlock orders the two, so the
 * store itself need not, which would cost as much again. Who sees the value sees all that was done before it. */
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

/* Whether the word was `expected` and is `desired` now. */
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
    return (int32_t)HORA__WEAK_LOAD(a, atomic_load_explicit(&a->value, memory_order_relaxed), memory_order_relaxed);
}

static inline void hora__atomic_store_relaxed(hora__atomic *a, int32_t value)
{
    HORA__WEAK_POINT();
    HORA__WEAK_STORE(a, value, memory_order_relaxed);
    atomic_store_explicit(&a->value, value, memory_order_relaxed);
}

/* A wide word that is written under a lock, and read under it or without. Who holds the lock peeks: nobody can write
 * meanwhile, so that is no point for the simulator; nor is the store, since taking the lock was one. */
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

/* The same, if what comes before it in the thread matters to those who read without the lock: then it is a point. */
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

typedef struct hora__atomic_pointer {
    _Atomic(void *) value;
} hora__atomic_pointer;

static inline void hora__atomic_pointer_init(hora__atomic_pointer *a, void *value)
{
    atomic_init(&a->value, value);
    HORA__WEAK_INIT(a, (intptr_t)value);
}

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

/* Whether the pointer was `expected` and is `desired` now. */
static inline bool hora__atomic_pointer_cas(hora__atomic_pointer *a, void *expected, void *desired)
{
    HORA__ATOMIC_POINT();
    bool changed = atomic_compare_exchange_strong(&a->value, &expected, desired);
    HORA__WEAK_CAS(a, changed, (intptr_t)expected, (intptr_t)desired, memory_order_seq_cst);
    return changed;
}

/* A number that is only counted: nothing else is ordered by it, so it is relaxed, and no point for the simulator. */
typedef struct hora__counter {
    _Atomic int64_t value;
} hora__counter;

/* By the only thread that writes it. */
HORA__INLINE void hora__counter_set(hora__counter *counter, int64_t value)
{
    HORA__WEAK_POINT();
    HORA__WEAK_STORE(counter, value, memory_order_relaxed);
    atomic_store_explicit(&counter->value, value, memory_order_relaxed);
}

HORA__INLINE int64_t hora__counter_read(const hora__counter *counter)
{
    HORA__WEAK_POINT();
    return HORA__WEAK_LOAD(counter, atomic_load_explicit(&counter->value, memory_order_relaxed), memory_order_relaxed);
}

HORA__INLINE void hora__counter_add(hora__counter *counter, int64_t value)
{
    HORA__WEAK_POINT();
    int64_t before = atomic_fetch_add_explicit(&counter->value, value, memory_order_relaxed);
    HORA__WEAK_CHANGE(counter, before, before + value, memory_order_relaxed);
    (void)before;
}

/* The same, where no two threads add at the same time. */
HORA__INLINE void hora__counter_add_alone(hora__counter *counter, int64_t value)
{
    hora__counter_set(counter, hora__counter_read(counter) + value);
}

/* The greatest value of all, where no two threads raise it at the same time. */
HORA__INLINE void hora__counter_raise_alone(hora__counter *counter, int64_t value)
{
    if (__builtin_expect(value > hora__counter_read(counter), 0))
        hora__counter_set(counter, value);
}

/* Counts by one and returns the new value: a number that nobody else gets, and that rises from one call to the next. */
HORA__INLINE int64_t hora__counter_next(hora__counter *counter)
{
    HORA__WEAK_POINT();
    int64_t before = atomic_fetch_add_explicit(&counter->value, 1, memory_order_relaxed);
    HORA__WEAK_CHANGE(counter, before, before + 1, memory_order_relaxed);
    return before + 1;
}

/* The same two, for numbers that are read together without a lock: who observes what was published sees all that was written before it. A
 * point for the simulator with weak memory only: who uses them says where one is. */
HORA__INLINE void hora__counter_publish(hora__counter *counter, int64_t value)
{
    HORA__WEAK_POINT();
    HORA__WEAK_STORE(counter, value, memory_order_release);
    atomic_store_explicit(&counter->value, value, memory_order_release);
}

HORA__INLINE int64_t hora__counter_observe(const hora__counter *counter)
{
    HORA__WEAK_POINT();
    return HORA__WEAK_LOAD(counter, atomic_load_explicit(&counter->value, memory_order_acquire), memory_order_acquire);
}

/* hora__counter_add and hora__counter_add_alone that publish. */
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

/* Counts of what came in by a place that has a lock of its own, and is written under that lock: a part of a pool's books, which are
 * the sum of all such places. */
struct hora__branch {
    hora__counter posted;    /* accepted there */
    hora__counter cancelled; /* of these, removed because they were cancelled: they count as finished, too */
};

#endif
