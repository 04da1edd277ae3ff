/* SPDX-License-Identifier: Apache-2.0 */
/* backlog.h - the queue that a pool makes for itself: first in first out, with or without a bound, and cheap
 *
 * As a linked queue, but without memory of its own for each element; and takers are not handed elements but told, one
 * at a time, to look for themselves (settle.c), so that a busy pool makes no system calls. Which of several waiting
 * takers gets an element is open. */
#ifndef HORA_QUEUE_BACKLOG_H
#define HORA_QUEUE_BACKLOG_H

#include "queue/queue.h"

/* HORA_EINVAL, HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__backlog_new(int capacity, const hora_queue_options *options,
                                                          hora_queue **ret_queue);

/* Let the books show what is posted; they are not used once the queue is freed. */
void hora__backlog_open_books(hora_queue *queue, struct hora__books *books);

#endif
