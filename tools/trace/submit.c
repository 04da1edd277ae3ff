/* SPDX-License-Identifier: Apache-2.0 */
/* submit.c - submit, run, get on a fixed pool of one idle thread: writes the trace "submit"
 *
 * The first task is not recorded: it starts the worker and fills the free lists. The second is recorded. Its
 * body sleeps, so that the caller always waits in hora_future_get, which is the longer path. */
#include <hora/hora.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "recorder.h"

enum { BODY_MS = 5, IDLE_MS = 30 };

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = ms * 1000000}, NULL);
}

static int body(void *arg, void **ret_result)
{
    sleep_ms(BODY_MS);
    *ret_result = arg;
    return 0;
}

static int submit_and_get(hora_pool *pool)
{
    hora_future *future;
    void *result;
    int error = hora_pool_submit(pool, HORA_TASK(body, pool), &future);
    if (error < 0)
        return error;
    error = hora_future_get(future, &result);
    hora_future_unref(future);
    return error;
}

int main(int argc, char **argv)
{
    hora_pool *pool;
    if (argc != 2 || hora_pool_new_fixed(1, NULL, &pool, NULL) < 0 || submit_and_get(pool) < 0)
        return 1;
    sleep_ms(IDLE_MS);
    recorder_set(true);
    int error = submit_and_get(pool);
    sleep_ms(IDLE_MS); /* the worker books the task and goes to sleep */
    recorder_set(false);
    bool is_written = recorder_write(argv[1], "submit");
    _Exit(error < 0 || !is_written); /* the end of the pool is not part of the trace */
}
