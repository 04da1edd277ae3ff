/* SPDX-License-Identifier: Apache-2.0 */
/* atomic.h - the atomic words of the library
 *
 * Every operation is sequentially consistent: the simulator explores exactly those orders, so what it
 * proves holds on the machine. There are no fences: ThreadSanitizer does not understand them. The two relaxed forms
 * are for words of which a thread only asks whether it wrote them itself (the owner of a lock), and for those that change
 * only under a lock, by whoever has it. To publish is to store with a lock held that is let go afterwards.
 *
 * In the simulated build each operation is first a point where another thread may run. That is the
 * only difference between the two builds of the code above src/sys. */
#ifndef HORA_SYS_ATOMIC_H
#define HORA_SYS_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/inline.h"

#ifdef HORA_SIM
void hora__sim_point(void);
#define HORA__ATOMIC_POINT() hora__sim_point()
#else
#define HORA__ATOMIC_POINT() ((void)0)
#endif

/* 32 bits wide and signed, as the futex wants it. */
typedef struct hora__atomic {
    _Atomic int32_t value;
} hora__atomic;

static inline void hora__atomic_init(hora__atomic *a, int32_t value)
{
    atomic_init(&a->value, value);
}

static inline int32_t hora__atomic_load(const hora__atomic *a)
{
    HORA__ATOMIC_POINT();
    return atomic_load(&a->value);
}

static inline void hora__atomic_store(hora__atomic *a, int32_t value)
{
    HORA__ATOMIC_POINT();
    atomic_store(&a->value, value);
}

/* The same by whoever holds a lock, and looks at nothing that others write without it before it has let that go: to unlock orders the two, so the
 * store itself need not, which would cost as much again. Who sees the value sees all that was done before it. */
static inline void hora__atomic_publish(hora__atomic *a, int32_t value)
{
    HORA__ATOMIC_POINT();
    atomic_store_explicit(&a->value, value, memory_order_release);
}

static inline int32_t hora__atomic_exchange(hora__atomic *a, int32_t value)
{
    HORA__ATOMIC_POINT();
    return atomic_exchange(&a->value, value);
}

/* Returns the value before the addition. */
static inline int32_t hora__atomic_add(hora__atomic *a, int32_t value)
{
    HORA__ATOMIC_POINT();
    return atomic_fetch_add(&a->value, value);
}

/* Whether the word was `expected` and is `desired` now. */
static inline bool hora__atomic_cas(hora__atomic *a, int32_t expected, int32_t desired)
{
    HORA__ATOMIC_POINT();
    return atomic_compare_exchange_strong(&a->value, &expected, desired);
}

static inline int32_t hora__atomic_load_relaxed(const hora__atomic *a)
{
    return atomic_load_explicit(&a->value, memory_order_relaxed);
}

static inline void hora__atomic_store_relaxed(hora__atomic *a, int32_t value)
{
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
    return atomic_load(&a->value);
}

static inline int64_t hora__atomic64_peek(const hora__atomic64 *a)
{
    return atomic_load_explicit(&a->value, memory_order_relaxed);
}

static inline void hora__atomic64_store(hora__atomic64 *a, int64_t value)
{
    atomic_store(&a->value, value);
}

/* The same, if what comes before it in the thread matters to those who read without the lock: then it is a point. */
static inline void hora__atomic64_publish(hora__atomic64 *a, int64_t value)
{
    HORA__ATOMIC_POINT();
    atomic_store(&a->value, value);
}

/* Returns the value before the addition. */
static inline int64_t hora__atomic64_add(hora__atomic64 *a, int64_t value)
{
    HORA__ATOMIC_POINT();
    return atomic_fetch_add(&a->value, value);
}

typedef struct hora__atomic_pointer {
    _Atomic(void *) value;
} hora__atomic_pointer;

static inline void hora__atomic_pointer_init(hora__atomic_pointer *a, void *value)
{
    atomic_init(&a->value, value);
}

static inline void *hora__atomic_pointer_load(const hora__atomic_pointer *a)
{
    HORA__ATOMIC_POINT();
    return atomic_load(&a->value);
}

/* Whether the pointer was `expected` and is `desired` now. */
static inline bool hora__atomic_pointer_cas(hora__atomic_pointer *a, void *expected, void *desired)
{
    HORA__ATOMIC_POINT();
    return atomic_compare_exchange_strong(&a->value, &expected, desired);
}

/* A number that is only counted: nothing else is ordered by it, so it is relaxed, and no point for the simulator. */
typedef struct hora__counter {
    _Atomic int64_t value;
} hora__counter;

HORA__INLINE void hora__counter_add(hora__counter *counter, int64_t value)
{
    atomic_fetch_add_explicit(&counter->value, value, memory_order_relaxed);
}

/* The same, where no two threads add at the same time. */
HORA__INLINE void hora__counter_add_alone(hora__counter *counter, int64_t value)
{
    int64_t before = atomic_load_explicit(&counter->value, memory_order_relaxed);
    atomic_store_explicit(&counter->value, before + value, memory_order_relaxed);
}

/* The greatest value of all, where no two threads raise it at the same time. */
HORA__INLINE void hora__counter_raise_alone(hora__counter *counter, int64_t value)
{
    if (__builtin_expect(value > atomic_load_explicit(&counter->value, memory_order_relaxed), 0))
        atomic_store_explicit(&counter->value, value, memory_order_relaxed);
}

/* Counts by one and returns the new value: a number that nobody else gets, and that rises from one call to the next. */
HORA__INLINE int64_t hora__counter_next(hora__counter *counter)
{
    return atomic_fetch_add_explicit(&counter->value, 1, memory_order_relaxed) + 1;
}

/* By the only thread that writes it. */
HORA__INLINE void hora__counter_set(hora__counter *counter, int64_t value)
{
    atomic_store_explicit(&counter->value, value, memory_order_relaxed);
}

HORA__INLINE int64_t hora__counter_read(const hora__counter *counter)
{
    return atomic_load_explicit(&counter->value, memory_order_relaxed);
}

/* The same two, for numbers that are read together without a lock: who observes what was published sees all that was written before it. No
 * point for the simulator: who uses them says where one is. */
HORA__INLINE void hora__counter_publish(hora__counter *counter, int64_t value)
{
    atomic_store_explicit(&counter->value, value, memory_order_release);
}

HORA__INLINE int64_t hora__counter_observe(const hora__counter *counter)
{
    return atomic_load_explicit(&counter->value, memory_order_acquire);
}

#endif
