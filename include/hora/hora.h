/* SPDX-License-Identifier: Apache-2.0 */
/* hora/hora.h - includes all public headers of libhora
 *
 * A program may include this header, or only those that it needs: each header includes what it depends on.
 * hora/base.h explains the conventions of all of them. */
#ifndef HORA_HORA_H
#define HORA_HORA_H

#include <hora/admission.h>
#include <hora/base.h>
#include <hora/clock.h>
#include <hora/completion.h>
#include <hora/context.h>
#include <hora/cron.h>
#include <hora/error.h>
#include <hora/event.h>
#include <hora/executor.h>
#include <hora/explain.h>
#include <hora/future.h>
#include <hora/group.h>
#include <hora/latch.h>
#include <hora/metrics.h>
#include <hora/pool.h>
#include <hora/queue.h>
#include <hora/registrar.h>
#include <hora/scheduler.h>
#include <hora/task.h>
#include <hora/thread.h>
#include <hora/timer.h>
#include <hora/trigger.h>
#include <hora/version.h>
#include <hora/virtual_clock.h>
#include <hora/zone.h>

#endif
