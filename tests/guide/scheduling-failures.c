/* SPDX-License-Identifier: Apache-2.0 */
/* scheduling-failures.c - around the listener of docs/guide/scheduling.md */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hora/hora.h>

static char line[200];

static void log_line(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
}

static int fail(void *arg, void **ret_result)
{
    (void)arg, (void)ret_result;
    return 7;
}

/* fragment */

int main(void)
{
    hora_scheduler *scheduler;
    hora_error error;
    /* fragment */
    if (hora_pool_execute(scheduler, HORA_TASK(fail, NULL, .name = "upload")) < 0 ||
        hora_scheduler_close_for(scheduler, HORA_SECONDS(10)) < 0 || hora_scheduler_free(scheduler) != 0)
        return 1;
    return strcmp(line, "upload: code 7, will not run again") != 0;
}
