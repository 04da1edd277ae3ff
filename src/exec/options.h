/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - checking the options of a pool
 *
 * An option that would have no effect is refused, so that a program does not rely on it. */
#ifndef HORA_EXEC_OPTIONS_H
#define HORA_EXEC_OPTIONS_H

#include <hora/pool.h>

/* Copies the given options, NULL meaning the defaults, to *own and checks them. Returns 0 or HORA_EINVAL,
 * with the reason in *reason unless that is NULL. */
__attribute__((warn_unused_result)) int hora__pool_options(hora_pool_options *own,
                                                           const hora_pool_options *given,
                                                           hora_pool **ret_pool, hora_error *reason);

/* Checks a rejection rule against its handler and the queue. Returns 0 or HORA_EINVAL, with a reason. */
__attribute__((warn_unused_result)) int hora__reject_check(hora_reject reject, hora_reject_fn handler,
                                                           bool queue_holds, hora_error *reason);

/* Returns whether max_threads has no effect and therefore follows core_threads: the queue never refuses a
 * task, and the pool does not grow for other reasons (grow_after). */
bool hora__pool_max_follows(const hora_pool_options *options);

/* The reason for a max_threads without effect; a format for max_threads and core_threads. */
#define HORA__TOO_WIDE                                                                                       \
    "max_threads, %d, greater than core_threads, %d, has no effect with an unbounded queue: threads beyond " \
    "core_threads start only when the queue refuses; see grow_after"

/* Returns the greatest number of threads that the options allow; a max_threads of 0 means core_threads, at
 * least 1. */
int hora__pool_max_threads(const hora_pool_options *options);

/* Returns whether the queue of these options can hold tasks. A synchronous queue cannot. */
bool hora__pool_queue_holds(const hora_pool_options *options);

/* Writes the prefix of thread names: the given name and a dash, or pool-N-thread- if it is NULL. */
void hora__pool_name(char *name, size_t size, const char *given);

#endif
