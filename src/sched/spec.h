/* SPDX-License-Identifier: Apache-2.0 */
/* spec.h - a schedule as it was given, checked and made ready */
#ifndef HORA_SCHED_SPEC_H
#define HORA_SCHED_SPEC_H

#include <hora/queue.h>
#include <hora/scheduler.h>

/* Check a schedule and copy it. A zone that it names is the timer queue's; without one it is only tried out. In the copy an expression has become a trigger, and `trigger`, if not NULL, is a reference of the
 * caller's. HORA_EINVAL, HORA_ENOMEM, those of hora_zone_new. */
__attribute__((warn_unused_result)) int hora__spec_read(const hora_schedule *spec, hora_queue *queue,
                                                        hora_schedule *ret_own, hora_error *reason);

#endif
