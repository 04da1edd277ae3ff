/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - those who run a series whose runs may overlap
 *
 * A future runs once at a time. So for HORA_OVERLAP_ALLOW the future of the series never runs itself: it only keeps
 * the times, and is put back as soon as one has come. Each run is a future of its own, a member of the crew, which the
 * worker that took the series runs at once. */
#ifndef HORA_SCHED_CREW_H
#define HORA_SCHED_CREW_H

#include "exec/future.h"

struct hora_pool;
struct hora__scheduled;
struct hora__ticket;
struct hora__ticket_change;
struct hora__crew;

/* Give a series that nobody has seen yet a crew, which takes over its task. HORA_ENOMEM. And, before it is forgotten:
 * give the task back. Nothing happens if it has none. */
__attribute__((warn_unused_result)) int hora__crew_new(struct hora__scheduled *series);
void hora__crew_forget(struct hora__scheduled *series);

/* The series is gone; NULL is allowed. */
void hora__crew_free(struct hora__crew *crew);

/* The series' time has come: put it back, and return a member to run in its stead, with a reference and in the pool's books;
 * the series itself, if it is over and to be closed; or NULL. */
hora_future *hora__crew_admit(struct hora_pool *pool, struct hora__scheduled *series);

/* There is no other time: complete the series, or leave that to the last member. Whether the caller is to close its books. */
__attribute__((warn_unused_result)) bool hora__crew_close(struct hora__scheduled *series);

/* The series of a member, borrowed; and the planned time of the member's run, without the offset. */
hora_future *hora__crew_series(hora_future *member);
const hora_future *hora__crew_series_of(const hora_future *member);
hora_ns hora__crew_planned(hora_future *member);

/* The ticket of an overlapping run, to which that of the series passes; NULL: the scheduler has no
 * admission. */
struct hora__ticket *hora__crew_ticket(const hora_future *member);

/* Its class or level has been changed, with the agenda's lock held: so have those of members that run. */
void hora__crew_change(struct hora__scheduled *series, const struct hora__ticket_change *change);

/* Run a member. And: it was not let run, or has ended the thread that ran it. */
void hora__crew_run(struct hora_pool *pool, hora_future *future, hora_thread *thread);
void hora__crew_abandoned(struct hora_pool *pool, hora_future *future, int code);

#endif
