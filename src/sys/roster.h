/* SPDX-License-Identifier: Apache-2.0 */
/* roster.h - which schedulers exist in this process
 *
 * A timer remembers the scheduler that it was started on last. That scheduler may have been freed since: hora cannot reset the timer, because
 * a timer that has run may be gone as well. So whoever asks a scheduler about a timer that is not pending looks here first whether the
 * scheduler still exists. The child of a fork begins with an empty roster.
 *
 * Only the address of a link is compared; `has` may be asked for a link whose memory is gone. */
#ifndef HORA_SYS_ROSTER_H
#define HORA_SYS_ROSTER_H

#include <stdbool.h>

#include "base/list.h"

void hora__roster_add(struct hora__list *link);
void hora__roster_remove(struct hora__list *link);
bool hora__roster_has(const struct hora__list *link);

#ifdef HORA_SIM
/* A simulated run begins: what an earlier one, which has failed, has left behind is forgotten. */
void hora__roster_clear(void);
#endif

#endif
