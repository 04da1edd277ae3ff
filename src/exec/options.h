/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - which option sets a pool accepts */
#ifndef HORA_EXEC_OPTIONS_H
#define HORA_EXEC_OPTIONS_H

#include <hora/pool.h>

/* Read and check options: NULL, or a static sentence that says what is wrong. */
const char *hora__pool_options(hora_pool_options *own, const hora_pool_options *given, hora_pool **ret_pool);

/* The largest number of threads that the options mean. */
int hora__pool_max_threads(const hora_pool_options *options);

/* Whether the queue that the options mean can hold tasks: a synchronous one cannot. */
bool hora__pool_queue_holds(const hora_pool_options *options);

/* The prefix of thread names: the given one and a dash, or pool-N-thread-. */
void hora__pool_name(char *name, size_t size, const char *given);

#endif
