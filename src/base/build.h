/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - how the library is compiled: simple or fast structures, inlining, counting of work */
#ifndef HORA_BASE_BUILD_H
#define HORA_BASE_BUILD_H

#include <limits.h> /* defines __GLIBC__ on glibc */

#ifdef HORA_TOUCHES
#include <stdint.h>
#endif

/* HORA__FAST is 1 if the library uses its fast structures, and 0 if it uses the simple ones they replace.
 *
 * Some structures exist only for speed: an inbox in front of a queue, detached tasks, buffers. None of them
 * may change the behaviour. Building with -DHORA_SIMPLE=ON disables all of them, and that build must pass the
 * same tests. A test that fails only in the normal build therefore points at a fast structure.
 *
 * Write `if (HORA__FAST ...)`, not #if, so that every build compiles both variants. */
#ifdef HORA_SIMPLE
enum { HORA__FAST = 0 };
#else
enum { HORA__FAST = 1 };
#endif

/* For functions of a few instructions that every task passes through. A compiler decides on inlining by the
 * size of everything around a call, so unrelated additions elsewhere could make these functions slower. */
#define HORA__INLINE static inline __attribute__((always_inline))

/* HORA__TOUCH(n) counts n elements that an operation reads, moves or frees. Only one test reads the
 * counts.
 *
 * Measured times cannot show that the work of an operation is bounded: they hide one operation in a million
 * that walks over all elements. hora-bounded-work (tests/long) counts the elements that each single operation
 * touches, with a million elements present.
 *
 * HORA__TOUCH_PREPAID(n) is for operations that may touch many elements because earlier operations paid for
 * them, such as growing an array or skipping holes. Only the sum of these counts must stay proportional to
 * the number of operations. A program that compiles the sources with HORA_TOUCHES also defines the two
 * counters. In every other build both macros do nothing. */
#ifdef HORA_TOUCHES

extern _Thread_local int64_t hora__touches;
extern _Thread_local int64_t hora__touches_prepaid;

#define HORA__TOUCH(n)         ((void)(hora__touches += (n)))
#define HORA__TOUCH_PREPAID(n) ((void)(hora__touches_prepaid += (n)))
#else
#define HORA__TOUCH(n)         ((void)0)
#define HORA__TOUCH_PREPAID(n) ((void)0)
#endif

/* The storage class of a variable of which each thread has a copy.
 *
 * In a shared library the compiler calls a function to find such a variable, unless it knows that the library
 * is loaded when the program starts. With glibc that model also works for a library loaded later, as long as
 * the variables are few and small, as they are here. */
#ifdef __GLIBC__
#define HORA__THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define HORA__THREAD_LOCAL _Thread_local
#endif

#endif
