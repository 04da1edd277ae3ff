/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.h - overlapping runs of a series A future runs once at a time. So with HORA_OVERLAP_ALLOW the
 * future of the series never runs itself. It only keeps the times, and is put back as soon as one has
 * come. Each run is a future of its own, an overlapping run, which the worker that took the series runs at
 * once. */
#ifndef HORA_SCHED_OVERLAP_H
#define HORA_SCHED_OVERLAP_H

#include "exec/future.h"

struct hora_pool;
struct hora__scheduled;
struct hora__ticket;
struct hora__ticket_change;
struct hora__overlap;

/* Give a new series an overlap, which takes over its task. HORA_ENOMEM. hora__overlap_forget gives the
 * task back before the series is forgotten; it does nothing without an overlap. */
__attribute__((warn_unused_result)) int hora__overlap_new(struct hora__scheduled *scheduled);
void hora__overlap_forget(struct hora__scheduled *scheduled);

/* Free the overlap of a series that is gone; NULL is allowed. */
void hora__overlap_free(struct hora__overlap *overlap);

/* A planned time has come: put the series back, and return an overlapping run to run instead, with a
 * reference and in the pool's books; or the series itself, if it is over and to be closed; or NULL. */
hora_future *hora__overlap_admit(struct hora_pool *pool, struct hora__scheduled *scheduled);

/* No planned time is left: complete the series, or leave that to the last overlapping run. Returns whether
 * the caller closes the books of the series. */
__attribute__((warn_unused_result)) bool hora__overlap_close(struct hora__scheduled *scheduled);

/* The series of an overlapping run, borrowed; and the planned time of the run, without the offset. */
hora_future *hora__overlap_series(hora_future *overlapping);
const hora_future *hora__overlap_series_of(const hora_future *overlapping);
hora_ns hora__overlap_planned(hora_future *overlapping);

/* The ticket of an overlapping run, to which that of the series passes; NULL: the scheduler has no
 * admission. */
struct hora__ticket *hora__overlap_ticket(const hora_future *overlapping);

/* The class or level of the series was changed, with the timer queue's lock held: change running tickets,
 * too. */
void hora__overlap_change(struct hora__scheduled *scheduled, const struct hora__ticket_change *change);

/* Run an overlapping run. hora__overlap_abandoned: it was not allowed to run, or has ended the thread that
 * ran it. */
void hora__overlap_run(struct hora_pool *pool, hora_future *future, hora_thread *thread);
void hora__overlap_abandoned(struct hora_pool *pool, hora_future *future, int code);

#endif
