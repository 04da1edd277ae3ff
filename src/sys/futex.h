/* SPDX-License-Identifier: Apache-2.0 */
/* futex.h - sleep on a word of memory (Linux, and the simulator) */
#ifndef HORA_SYS_FUTEX_H
#define HORA_SYS_FUTEX_H

#include "sys/atomic.h"
#include "sys/clock.h"

/* Sleep while *word == expected, until woken or until the clock (monotonic or wall) shows deadline_ns; INT64_MAX: no
 * deadline. Returns at once if *word != expected. May return for no reason. */
void hora__futex_wait(hora__atomic *word, int32_t expected, enum hora__timeline timeline, int64_t deadline_ns);

/* Wake one thread that sleeps on the word. The word's memory may be gone by then: it is not touched. */
void hora__futex_wake(hora__atomic *word);

#endif
