/* SPDX-License-Identifier: Apache-2.0 */
/* weak.h - what sys/atomic.h tells the simulator about each operation; see weak.c
 *
 * Each call follows a schedule point, and comes next to the real operation on the word, which always holds the newest value.
 * To be called only while hora__sim_weak is set. */
#ifndef HORA_SYS_SIM_WEAK_H
#define HORA_SYS_SIM_WEAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern bool hora__sim_weak; /* the running schedule simulates weak memory */

/* The word begins anew with this value: its history is forgotten. */
void hora__sim_weak_init(const void *word, int64_t value);

/* For memory that is not atomic: it is written by hora__sim_weak_init, and read by this. Each read must come after the write, and each
 * write after all reads, in the order of happens-before; else the schedule fails. */
void hora__sim_weak_use(const void *place);

/* Forget the history of all words of memory that belongs to the user, who need not tell when it is used for something else. */
void hora__sim_weak_forget(const void *start, size_t size);

/* The value that the load returns; `newest` is what the word holds. */
int64_t hora__sim_weak_load(const void *word, int64_t newest, memory_order order);

void hora__sim_weak_store(const void *word, int64_t before, int64_t value, memory_order order);

/* A read-modify-write; and a compare-exchange that found another value than expected. */
void hora__sim_weak_change(const void *word, int64_t before, int64_t value, memory_order order);
void hora__sim_weak_miss(const void *word, int64_t newest, memory_order order);

/* The library has no fences. The litmus tests show that the model would know them. */
void hora__sim_weak_fence(memory_order order);

/* The next operation of the calling thread that is not relaxed has this order, whatever the code says: for planted faults. */
void hora__sim_weak_next_order(memory_order order);

#endif
