/* SPDX-License-Identifier: Apache-2.0 */
/* sleep.c - sleeping that an interrupt can end: a wait that nobody resolves */
#include <hora/thread.h>

#include <stddef.h>

#include "sync/clock.h"
#include "sync/thread.h"
#include "sync/wait.h"

int hora_clock_sleep(const hora_clock *clock, hora_ns duration)
{
    hora_thread *thread;
    clock = hora__clock_or_default(clock);
    int error = hora__clock_check(clock);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error != 0)
        return error;
    hora_ns deadline = duration <= 0 ? INT64_MIN : hora__clock_deadline(clock, duration);
    struct hora__waiter waiter;
    hora__waiter_init(&waiter, thread, deadline);
    enum hora__wake wake = hora__waiter_park(&waiter, clock, deadline);
    if (wake == HORA__WAKE_TIME)
        return 0;
    (void)hora__thread_take_interrupt(thread);
    return HORA_EINTERRUPTED;
}

int hora_sleep(hora_ns duration)
{
    return hora_clock_sleep(NULL, duration);
}
