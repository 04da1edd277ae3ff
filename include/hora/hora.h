/* SPDX-License-Identifier: Apache-2.0 */
/* hora/hora.h - all of libhora */
#ifndef HORA_HORA_H
#define HORA_HORA_H

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/completion.h>
#include <hora/cron.h>
#include <hora/duration.h>
#include <hora/error.h>
#include <hora/executor.h>
#include <hora/explain.h>
#include <hora/future.h>
#include <hora/group.h>
#include <hora/latch.h>
#include <hora/measure.h>
#include <hora/oversight.h>
#include <hora/pool.h>
#include <hora/queue.h>
#include <hora/registrar.h>
#include <hora/schedule.h>
#include <hora/scheduler.h>
#include <hora/task.h>
#include <hora/terms.h>
#include <hora/thread.h>
#include <hora/timer.h>
#include <hora/trigger.h>
#include <hora/version.h>
#include <hora/zone.h>

#endif
