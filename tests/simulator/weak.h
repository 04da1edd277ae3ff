/* SPDX-License-Identifier: Apache-2.0 */
/* weak.h - calls by which sys/atomic.h reports each operation to the simulator; see weak.c
 *
 * Each call follows a schedule point and stands next to the real operation on the word, which always holds
 * the newest value. Call these functions only while hora__sim_weak is set. */
#ifndef HORA_SYS_SIM_WEAK_H
#define HORA_SYS_SIM_WEAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern bool hora__sim_weak; /* the running schedule simulates weak memory */

/* Starts the history of a word with this value, and discards an earlier history. */
void hora__sim_weak_init(const void *word, int64_t value);

/* Reports a read of memory that is not atomic; hora__sim_weak_init reports a write. The write must happen
 * before each read, and all reads before the next write; otherwise the schedule fails. */
void hora__sim_weak_use(const void *place);

/* Discards the history of all words in memory of the caller, which may use the memory for something else
 * without reporting it. */
void hora__sim_weak_forget(const void *start, size_t size);

/* Returns the value that a load returns, which the schedule chooses; `newest` is what the word holds. */
int64_t hora__sim_weak_load(const void *word, int64_t newest, memory_order order);

/* Reports a store; `before` is what the word held. */
void hora__sim_weak_store(const void *word, int64_t before, int64_t value, memory_order order);

/* Report a read-modify-write, and a compare-exchange that found another value than expected. */
void hora__sim_weak_change(const void *word, int64_t before, int64_t value, memory_order order);
void hora__sim_weak_miss(const void *word, int64_t newest, memory_order order);

/* Reports a fence. The library has none; the litmus tests use fences to check the model. */
void hora__sim_weak_fence(memory_order order);

/* Gives the next operation of the calling thread that is not relaxed this order instead of its own. For
 * planted faults. */
void hora__sim_weak_next_order(memory_order order);

#endif
