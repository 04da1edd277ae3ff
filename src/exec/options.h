/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - which option sets a pool accepts */
#ifndef HORA_EXEC_OPTIONS_H
#define HORA_EXEC_OPTIONS_H

#include <hora/pool.h>

/* Read and check options. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__pool_options(hora_pool_options *own,
                                                           const hora_pool_options *given,
                                                           hora_pool **ret_pool, hora_error *reason);

/* Check a rejection rule against its handler and the queue. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__reject_check(hora_reject reject, hora_reject_fn handler,
                                                           bool queue_holds, hora_error *reason);

/* Whether max_threads has no effect of its own, and so follows core_threads: the queue never refuses, and the
 * pool does not grow. */
bool hora__pool_max_follows(const hora_pool_options *options);

#define HORA__TOO_WIDE                                                                                       \
    "max_threads, %d, greater than core_threads, %d, has no effect with an unbounded queue: threads beyond " \
    "core_threads start only when the queue refuses; see grow_after"

/* The largest number of threads that the options mean. */
int hora__pool_max_threads(const hora_pool_options *options);

/* Whether the queue that the options mean can hold tasks: a synchronous one cannot. */
bool hora__pool_queue_holds(const hora_pool_options *options);

/* The prefix of thread names: the given one and a dash, or pool-N-thread-. */
void hora__pool_name(char *name, size_t size, const char *given);

#endif
