/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - tell listeners what happens; and static probes at the same places */
#ifndef HORA_OVERSEE_EVENTS_H
#define HORA_OVERSEE_EVENTS_H

#include "oversee/measures.h"
#include "oversee/oversight.h"

/* By a worker, around a run. */
void hora__events_started(struct hora__post *post, hora_future *future, const hora_task *task,
                          const struct hora__start *start);
void hora__events_ended(struct hora__post *post, hora_future *future, const hora_task *task, int code, hora_ns ran);

/* By anyone; the first four as struct hora__overseer_kind says, and they count it, too. */
void hora__events_rejected(struct hora__overseer *overseer, hora_future *future, const hora_task *task,
                           const char *why);
void hora__events_thread_failed(struct hora__overseer *overseer, int error);
void hora__events_skipped(struct hora__overseer *overseer, hora_future *future, int64_t count);
/* The scheduler has decided what a failure that the calling worker has noted (hora__events_ended) means. */
void hora__events_failed(struct hora__overseer *overseer, hora_future *future, bool ends, int64_t failures_in_a_row);
void hora__events_clock_stepped(struct hora__overseer *overseer, hora_ns suspended, hora_ns stepped, int overdue);
void hora__events_expired(struct hora__oversight *oversight, hora_future *future, int64_t count, const char *why);
void hora__events_stuck(struct hora__oversight *oversight, hora_future *future, const hora_event *event);
void hora__events_resized(struct hora__oversight *oversight, int before, int after, const char *why);

#endif
