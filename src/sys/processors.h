/* SPDX-License-Identifier: Apache-2.0 */
/* processors.h - how many threads can run at once, and waiting by spinning */
#ifndef HORA_SYS_PROCESSORS_H
#define HORA_SYS_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/clock.h"

/* Returns how many threads can run at once, by affinity and by the quota of the control group; at least 1. */
int hora__processors(void);

/* Returns a number that spreads threads over the parts of a structure: the number of the current processor
 * or, where the system does not report it, the number of the thread. Threads that run at the same time mostly
 * get different numbers. */
int hora__processor(void);

/* Spinning: reading a word again and again because another processor is about to change it.
 *
 * Use it only for changes that will happen soon, and limit the number of reads, because a spinning thread
 * occupies a processor. */

/* Returns true if spinning can help: the process has more than one processor, so the thread that will change
 * the word can run at the same time. Determined once, at the first call. */
bool hora__pause_helps(void);

/* Informs the processor that the thread is spinning; call it between two reads. Does nothing in the
 * simulator, where the read itself lets other threads run. */
static inline void hora__pause(void)
{
#if defined(HORA_SIM)
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
    __asm__("yield"); /* has no outputs, so the compiler keeps it */
#endif
}

/* Spinning for a limited time.
 *
 * The limit is measured on the machine's monotonic clock whatever clock the object has, because it is about
 * processor time. In the simulator time does not pass while a thread can run, so the number of reads is
 * limited instead. */

struct hora__spin {
    int64_t until; /* when to stop, on the monotonic clock; INT64_MIN: spinning does not help */
    int looks;     /* reads so far */
};

/* LOOKS_PER_READING: number of reads of the word between two readings of the clock. DEFAULT: how long a
 * thread spins that the user has not asked to, in nanoseconds; about what it costs to park and to be woken by
 * another processor. In the simulator it does not, because the reads would only multiply the schedules. */

#ifdef HORA_SIM
enum { HORA__SPIN_LOOKS_PER_READING = 2 /* spinning ends after these */, HORA__SPIN_DEFAULT = 0 };
#else
enum { HORA__SPIN_LOOKS_PER_READING = 32, HORA__SPIN_DEFAULT = 30000 };
#endif

/* Starts spinning for at most `ns` nanoseconds. */
void hora__spin_begin(struct hora__spin *spin, int64_t ns);

/* Returns true if there is time left. hora__spin_goes_on calls it once in a while. */
bool hora__spin_has_time(const struct hora__spin *spin);

/* Returns true if the caller should read the word again. Call it after a read that did not find the
 * change. */
static inline bool hora__spin_goes_on(struct hora__spin *spin)
{
    hora__pause();
    return ++spin->looks % HORA__SPIN_LOOKS_PER_READING != 0 || hora__spin_has_time(spin);
}

#endif
