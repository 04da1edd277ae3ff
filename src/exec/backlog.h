/* SPDX-License-Identifier: Apache-2.0 */
/* backlog.h - the work source that a pool makes for itself: first in first out, with or without a bound, and
 * cheap
 *
 * It is like a linked queue, but without memory of its own for each element. Takers are not handed elements:
 * one at a time is told to look (work_source.c), so that a busy pool makes no system calls. Which of several
 * waiting takers gets an element is open. */
#ifndef HORA_EXEC_BACKLOG_H
#define HORA_EXEC_BACKLOG_H

#include "exec/work_source.h"

/* HORA_EINVAL, HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__backlog_new(int capacity, const hora_queue_options *options,
                                                          hora_queue **ret_queue);

/* Let the books show how many tasks are posted; they are not used once the queue is freed. */
void hora__backlog_open_books(hora_queue *queue, struct hora__books *books);

/* ---- taking without the lock, from a backlog without a bound; all of these with the lock held ---- */

/* Offer the first segment: its holders claim its tasks one by one, in their order. The caller is one of them.
 * Until the offer is recalled, `size` is too high by the number of claimed tasks. */
void hora__backlog_offer(hora_queue *queue, struct hora__hold *hold);

/* Hold the segment that others were offered, if the caller holds another one; whether it does now. */
bool hora__backlog_follow(hora_queue *queue, struct hora__hold *hold);

/* Hold nothing. */
void hora__backlog_let_go(hora_queue *queue, struct hora__hold *hold);

/* End the offer: tasks that have been claimed are gone. */
void hora__backlog_recall(hora_queue *queue);

#endif
