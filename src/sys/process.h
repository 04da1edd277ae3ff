/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - state that belongs to the process: forks, serial numbers, existing schedulers, libraries */
#ifndef HORA_SYS_PROCESS_H
#define HORA_SYS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

/* Forks.
 *
 * After fork the child has a copy of each lock, in whatever state a thread of the parent left it, and none of
 * the parent's other threads. So no object of the parent can be used in the child. Each object stores the
 * generation of the process that made it, and each call compares it with the current one. */

/* Starts counting forks, once per process. Returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__fork_watch(void);

/* Returns the number of forks between the process that first called hora__fork_watch and this one. */
int32_t hora__fork_generation(void);

/* Returns 1, 2, 3, ... for the default names of pools. Counts through the life of the process. */
int hora__serial_next(void);

/* The roster: the schedulers that exist in this process.
 *
 * A timer remembers the scheduler that it was last started on. That scheduler may have been freed since. A
 * scheduler that is freed cannot reset its timers, because the caller may already have reused their memory.
 * So a call on a timer that is not pending first checks here whether the scheduler still exists. The child of
 * a fork starts with an empty roster.
 *
 * The roster compares only the addresses of links, so hora__roster_has accepts a link whose memory has been
 * freed. */

void hora__roster_add(struct hora__list *link);
void hora__roster_remove(struct hora__list *link);
bool hora__roster_has(const struct hora__list *link);

#ifdef HORA_SIM
/* Called at the start of a simulated run: forgets the schedulers that an earlier, failed run left behind. */
void hora__roster_clear(void);
#endif

/* Returns the address of an object by its name. Only objects that the library itself exports are found, not
 * those of the libraries it depends on. NULL: not found. `library` is a handle of dlopen. */
const void *hora__library_find(void *library, const char *name);

#endif
