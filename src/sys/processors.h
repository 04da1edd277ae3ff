/* SPDX-License-Identifier: Apache-2.0 */
/* processors.h - how many threads can run at once, and waiting by spinning */
#ifndef HORA_SYS_PROCESSORS_H
#define HORA_SYS_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/clock.h"

/* Returns how many threads can run at once, by affinity and by the quota of the control group; at least 1. */
int hora__processors(void);

/* Returns a small number that threads running at the same time mostly do not share: the number of the current
 * processor, or else one of the thread. */
int hora__processor(void);

/* Spinning: reading a word again and again because another processor is about to change it.
 *
 * Only for changes that come soon, and at most a fixed number of times, because a spinning thread occupies a
 * processor. */

/* Whether spinning can help at all: the process has more than one processor, so the thread that is to change
 * the word can run meanwhile. Determined once, at the first call. */
bool hora__pause_helps(void);

/* Goes between two reads and tells the processor that the thread is spinning. Does nothing in the simulator,
 * where the read itself lets other threads run. */
static inline void hora__pause(void)
{
#if defined(HORA_SIM)
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
    __asm__("yield"); /* has no outputs, so the compiler keeps it */
#endif
}

/* Spinning for a limited time, for callers that the user has asked to spin.
 *
 * The limit is measured on the machine's monotonic clock whatever clock the object has, because it is about
 * processor time. In the simulator time does not pass while a thread can run, so the number of reads is
 * limited instead. */

struct hora__spin {
    int64_t until; /* on the monotonic clock */
    /* reads so far */
    int looks;
};

#ifdef HORA_SIM
enum { HORA__SPIN_LOOKS_PER_READING = 2 }; /* the limit itself */
#else
enum { HORA__SPIN_LOOKS_PER_READING = 32 };
#endif

/* Starts spinning for at most `ns` nanoseconds. */
void hora__spin_begin(struct hora__spin *spin, int64_t ns);

/* Called once in a while: whether there is time left. Yields to threads that wait for this processor, since
 * one of them may be the thread that is to change the word. */
bool hora__spin_has_time(const struct hora__spin *spin);

/* Called after a read that did not find the change: whether to read again. */
static inline bool hora__spin_goes_on(struct hora__spin *spin)
{
    hora__pause();
    return ++spin->looks % HORA__SPIN_LOOKS_PER_READING != 0 || hora__spin_has_time(spin);
}

#endif
