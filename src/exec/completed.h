/* SPDX-License-Identifier: Apache-2.0 */
/* completed.h - the queue that a completion service makes for the futures that are done */
#ifndef HORA_EXEC_COMPLETED_H
#define HORA_EXEC_COMPLETED_H

#include "queue/queue.h"

/* Makes an unbounded queue whose elements are seats of futures that are done, see struct hora__seat. A put
 * needs no memory and always succeeds. HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__completed_queue_new(const hora_clock *clock,
                                                                  hora_queue **ret_queue);

#endif
