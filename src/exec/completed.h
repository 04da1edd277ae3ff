/* SPDX-License-Identifier: Apache-2.0 */
/* completed.h - the queue that a completion service makes for the futures that are done */
#ifndef HORA_EXEC_COMPLETED_H
#define HORA_EXEC_COMPLETED_H

#include "queue/queue.h"

/* Makes an unbounded queue whose elements are seats of futures that are done, see struct hora__seat. A put
 * needs no memory and always succeeds. HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__completed_queue_new(const hora_clock *clock,
                                                                  hora_queue **ret_queue);

struct hora__seat;

/* Puts a seat into such a queue, which gets the reference of its future. The queue exists until this has
 * returned. */
void hora__completed_put(hora_queue *queue, struct hora__seat *seat);

/* Takes the first seat without waiting. NULL: the caller takes with hora_queue_poll, which may find one. */
struct hora__seat *hora__completed_take(hora_queue *queue);

#endif
