/* SPDX-License-Identifier: Apache-2.0 */
/* timed.h - the delay queue whose elements get their due time when they are put */
#ifndef HORA_QUEUE_TIMED_H
#define HORA_QUEUE_TIMED_H

#include "queue/queue.h"

/* Makes such a queue; the options have been checked. HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__timed_new(const hora_queue_options *options,
                                                        hora_queue **ret_queue);

#endif
