/* SPDX-License-Identifier: Apache-2.0 */
/* seeing-events.c - around the listener of docs/guide/seeing.md */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hora/hora.h>

static char line[300];

static void log_line(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
}

static int resize(void *arg, void **ret_result)
{
    (void)arg, (void)ret_result;
    return 0;
}

/* fragment */

int main(void)
{
    hora_pool *pool;
    hora_error error;
    /* fragment */
    if (hora_pool_close(pool) < 0 ||
        hora_pool_execute(pool, HORA_TASK(resize, NULL, .name = "resize")) != HORA_EREJECTED)
        return 1;
    return hora_pool_free(pool) != 0 || strstr(line, "was refused") == NULL;
}
