/* SPDX-License-Identifier: Apache-2.0 */
/* future_text.c - a future in one line, for people */
#include <stddef.h>
#include <stdio.h>

#include "exec/future.h"

int hora_future_describe(hora_future *future, char *text, size_t size)
{
    if (future == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    const hora_task *task = &future->task;
    const char *name = task->name != NULL ? task->name : "task";
    const char *file = task->file != NULL ? task->file : "?";
    int outcome = hora__future_outcome(future);
    switch (outcome) {
    case 0:
        return snprintf(text, size, "%s (%s:%d) [Completed normally]", name, file, task->line);
    case HORA_EAGAIN:
        return snprintf(text, size, "%s (%s:%d) [Not completed]", name, file, task->line);
    case HORA_ECANCELED:
        return snprintf(text, size, "%s (%s:%d) [Cancelled]", name, file, task->line);
    case HORA_EFAILED:
        return snprintf(text, size, "%s (%s:%d) [Completed exceptionally: %d]", name, file, task->line,
                        hora_future_failure(future));
    default:
        return snprintf(text, size, "%s (%s:%d) [Completed exceptionally: %s]", name, file, task->line,
                        hora_strerror(outcome));
    }
}
