/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.h - overlapping runs of a series
 *
 * A future cannot run twice at the same time. So with HORA_OVERLAP_ALLOW the future of the series never runs
 * itself. It only keeps the planned times, and is put back as soon as one of them has come. For each run the
 * worker that took the series makes a separate future, an overlapping run, and runs it at once. */
#ifndef HORA_SCHED_OVERLAP_H
#define HORA_SCHED_OVERLAP_H

#include "exec/future.h"

struct hora_pool;
struct hora__scheduled;
struct hora__ticket;
struct hora__ticket_change;
struct hora__overlap;

/* Gives a new series, which no other thread has seen, an overlap that takes over its task. Returns 0 or
 * HORA_ENOMEM. hora__overlap_forget gives the task back, if the series was not accepted and is forgotten; it
 * does nothing without an overlap. */
__attribute__((warn_unused_result)) int hora__overlap_new(struct hora__scheduled *scheduled);
void hora__overlap_forget(struct hora__scheduled *scheduled);

/* A planned time has come: puts the series back, and returns an overlapping run for the caller to run, with a
 * reference and booked as accepted. Returns the series itself if it is not put back and the caller closes its
 * books, or NULL if there is nothing to do. */
hora_future *hora__overlap_admit(struct hora_pool *pool, struct hora__scheduled *scheduled);

/* No planned time is left: completes the series, or leaves that to the last overlapping run. Returns whether
 * the caller closes the books of the series. */
__attribute__((warn_unused_result)) bool hora__overlap_close(struct hora__scheduled *scheduled);

/* Return the series of an overlapping run, borrowed; and the planned time of the run, without the offset. */
hora_future *hora__overlap_series(const hora_future *overlapping);
hora_ns hora__overlap_planned(const hora_future *overlapping);

/* Returns the ticket of an overlapping run, to which that of the series passes; NULL: the scheduler has no
 * admission. */
struct hora__ticket *hora__overlap_ticket(const hora_future *overlapping);

/* Applies a change of the series' class or level to the running tickets of its overlapping runs. The caller
 * holds the timer queue's lock. */
void hora__overlap_change(struct hora__scheduled *scheduled, const struct hora__ticket_change *change);

/* Runs an overlapping run, and closes it afterwards. hora__overlap_abandoned closes a run that failed
 * otherwise than by its body: a before hook refused it, or it has ended the thread that ran it. Code 0: a
 * hook refused it, but it was cancelled before. */
void hora__overlap_run(struct hora_pool *pool, hora_future *future, hora_thread *thread);
void hora__overlap_abandoned(struct hora_pool *pool, hora_future *future, int code);

#endif
