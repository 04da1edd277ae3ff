/* SPDX-License-Identifier: Apache-2.0 */
/* overruns.h - runs that take too long: run_for and stuck_after of a task's terms, and stuck_after of the pool */
#ifndef HORA_OVERSEE_OVERRUNS_H
#define HORA_OVERSEE_OVERRUNS_H

#include "oversee/oversight.h"

/* NULL: there is no rule for all. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__patrol_new(struct hora__oversight *oversight,
                                                         struct hora__patrol **ret_patrol);
void hora__patrol_free(struct hora__patrol *patrol);

/* A post is made: see that its runs can be watched. HORA_ENOMEM. And: it is not, any more. */
__attribute__((warn_unused_result)) int hora__overruns_hire(struct hora__post *post);
void hora__overruns_dismiss(struct hora__post *post);

/* By a worker, around a run. */
void hora__overruns_begins(struct hora__post *post, struct hora__frame *frame, hora_future *future, hora_ns now);
void hora__overruns_ended(struct hora__post *post, struct hora__frame *frame, hora_future *future);

#endif
