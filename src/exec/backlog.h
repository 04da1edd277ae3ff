/* SPDX-License-Identifier: Apache-2.0 */
/* backlog.h - the default work source of a pool: a fast FIFO, with or without a bound
 *
 * It behaves like a linked queue, but does not allocate a node for each element. Elements are not handed to
 * waiting takers: one taker at a time is woken to search (work_source.c), so that a busy pool makes no system
 * calls. Which of several waiting takers gets an element is unspecified. */
#ifndef HORA_EXEC_BACKLOG_H
#define HORA_EXEC_BACKLOG_H

#include "exec/work_source.h"

/* The greatest number of own queues: each has a branch of the books, and the inbox has one, too. */
enum { HORA__OWN_QUEUES_MOST = HORA__BRANCHES_MOST - 1 };

/* Makes a backlog. A capacity of HORA_UNBOUNDED makes one with an inbox, which accepts detached tasks. Then
 * there may also be own queues for workers, which steal from each other (own_queue.h); 0: none. Returns 0,
 * HORA_EINVAL, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__backlog_new(int capacity, int own_queues,
                                                          const hora_queue_options *options,
                                                          hora_queue **ret_queue);

/* A worker of a stealing pool begins, or ceases, to have an own queue. Tasks that it leaves there are stolen
 * by others. */
void hora__backlog_begin_owning(hora_queue *queue, struct hora__hold *hold);
void hora__backlog_end_owning(hora_queue *queue, struct hora__hold *hold);

/* Makes the count of tasks that the inbox accepts part of the pool's books. For a backlog that no other
 * thread uses yet; the books must not be read after the queue is freed. */
void hora__backlog_open_books(hora_queue *queue, struct hora__books *books);

/* Without the lock: frees a chunk of memory if there are many spare ones. Workers call it, so that no thread
 * holds a lock while the system frees the memory of a burst. */
void hora__backlog_tidy(hora_queue *queue);

/* ---- taking without the lock, from a backlog without a bound; see segment.h ----
 *
 * The caller of all these functions holds the queue's lock. */

/* Offers the tasks of the first segment to all workers that hold it, and makes the caller a holder. Holders
 * claim the tasks one by one, in order, without the lock. Until the offer is recalled, queue->size is too
 * high by the number of claimed tasks. Does nothing if the backlog is empty. */
void hora__backlog_offer(hora_queue *queue, struct hora__hold *hold);

/* If a segment is offered that the caller does not hold, makes the caller a holder of that one instead of the
 * one it holds. Returns whether it did. */
bool hora__backlog_follow(hora_queue *queue, struct hora__hold *hold);

/* Releases the segment that the caller holds, if any. */
void hora__backlog_release(hora_queue *queue, struct hora__hold *hold);

/* Ends the offer, if there is one, and removes the tasks that have been claimed. */
void hora__backlog_recall(hora_queue *queue);

#endif
