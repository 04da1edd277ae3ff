/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - start by, run for, done by: see hora_terms */
#ifndef HORA_OVERSEE_LIMITS_H
#define HORA_OVERSEE_LIMITS_H

#include "oversee/oversight.h"

/* A future with terms is about to be placed: see that it expires in its time. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__limits_submitted(struct hora__oversight *oversight, hora_future *future);

/* By a worker, around a run. */
void hora__limits_begins(struct hora__post *post, struct hora__frame *frame, hora_future *future, hora_ns now);
void hora__limits_ended(struct hora__post *post, struct hora__frame *frame, hora_future *future);

#endif
