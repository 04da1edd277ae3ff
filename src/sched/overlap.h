/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.h - those who run a series whose runs may overlap
 *
 * A future runs once at a time. So for HORA_OVERLAP_ALLOW the future of the series never runs itself: it only keeps
 * the times, and is put back as soon as one has come. Each run is a future of its own, a member of the overlap, which the
 * worker that took the series runs at once. */
#ifndef HORA_SCHED_OVERLAP_H
#define HORA_SCHED_OVERLAP_H

#include "exec/future.h"

struct hora_pool;
struct hora__scheduled;
struct hora__ticket;
struct hora__ticket_change;
struct hora__overlap;

/* Give a series that only the caller has seen an overlap, which takes over its task. HORA_ENOMEM. The other, before
 * the series is forgotten: give the task back. Does nothing if there is no overlap. */
__attribute__((warn_unused_result)) int hora__overlap_new(struct hora__scheduled *scheduled);
void hora__overlap_forget(struct hora__scheduled *scheduled);

/* The series is gone; NULL is allowed. */
void hora__overlap_free(struct hora__overlap *overlap);

/* The series' time has come: put it back, and return a member to run in its stead, with a reference and in the pool's books;
 * the series itself, if it is over and to be closed; or NULL. */
hora_future *hora__overlap_admit(struct hora_pool *pool, struct hora__scheduled *scheduled);

/* There is no other time: complete the series, or leave that to the last member. Whether the caller is to close its books. */
__attribute__((warn_unused_result)) bool hora__overlap_close(struct hora__scheduled *scheduled);

/* The series of a member, borrowed; and the planned time of the member's run, without the offset. */
hora_future *hora__overlap_series(hora_future *overlapping);
const hora_future *hora__overlap_series_of(const hora_future *overlapping);
hora_ns hora__overlap_planned(hora_future *overlapping);

/* The ticket of an overlapping run, to which that of the series passes; NULL: the scheduler has no
 * admission. */
struct hora__ticket *hora__overlap_ticket(const hora_future *overlapping);

/* Its class or level has been changed, with the timer queue's lock held: so have those of members that run. */
void hora__overlap_change(struct hora__scheduled *scheduled, const struct hora__ticket_change *change);

/* Run a member. And: it was not let run, or has ended the thread that ran it. */
void hora__overlap_run(struct hora_pool *pool, hora_future *future, hora_thread *thread);
void hora__overlap_abandoned(struct hora_pool *pool, hora_future *future, int code);

#endif
