/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - start by and done by: see hora_task_options. What begins with a run is in overruns.h */
#ifndef HORA_OVERSEE_LIMITS_H
#define HORA_OVERSEE_LIMITS_H

#include "oversee/oversight.h"

/* See exec/extra.h: hora__extra_prepare and hora__extra_accepted are these for a future with an extra. */
void hora__limits_free(struct hora__limits *limits);

/* By a worker that is about to run the body: whether it comes too late for that. If so that is told, and the future is to fail
 * with HORA_EEXPIRED. */
bool hora__limits_refuse(struct hora__post *post, hora_future *future);

/* By a worker: a run has begun. */
void hora__limits_begun(struct hora__limits *limits);

/* A future, or so many runs of a series at once, have expired: count and tell. */
void hora__limits_tell(struct hora__oversight *oversight, hora_future *future, int64_t count, const char *why);

/* See struct hora__overseer_kind. */
void hora__limits_expired(struct hora__overseer *overseer, hora_future *future, int64_t count);

#endif
