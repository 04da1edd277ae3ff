/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - notice that this process is the child of the one in which an object was made
 *
 * After fork the child has a copy of each lock in whatever state another thread of the parent left it, and none of
 * the threads. Objects therefore note the generation in which they were made, and every call compares. */
#ifndef HORA_SYS_FORK_H
#define HORA_SYS_FORK_H

#include <stdint.h>

/* Start counting, once per process. HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__fork_watch(void);

/* How many forks lie between the process that first called hora__fork_watch and this one. */
int32_t hora__fork_generation(void);

#endif
