/* SPDX-License-Identifier: Apache-2.0 */
/* cycle.c - a fixed-rate task on a scheduler with two threads: writes the traces "timer" and "cycle"
 *
 * "timer" starts with the call that schedules the task, while both threads sleep, and ends after its first
 * run. "cycle" is one period in steady state: it starts while all threads sleep, contains one run, and ends
 * when all threads sleep again. */
#include <hora/hora.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "recorder.h"

enum { PERIOD_MS = 60, WARM_UP_RUNS = 5 };

static atomic_int runs;

static int body(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    atomic_fetch_add(&runs, 1);
    return 0;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = ms * 1000000}, NULL);
}

/* Returns in the middle of the period that follows the n-th run. */
static void wait_for_run(int n)
{
    while (atomic_load(&runs) < n)
        sleep_ms(1);
    sleep_ms(PERIOD_MS / 2);
}

int main(int argc, char **argv)
{
    hora_scheduler *scheduler;
    hora_scheduler_options options = HORA_INIT(hora_scheduler_options);
    options.core_threads = 2;
    if (argc != 2 || hora_scheduler_new(&options, &scheduler, NULL) < 0)
        return 1;
    hora_future *future;
    hora_ns period = HORA_MS(PERIOD_MS);
    if (hora_pool_prestart_all(scheduler) < 0)
        return 1;
    sleep_ms(PERIOD_MS); /* both threads wait for work */
    recorder_set(true);
    if (hora_scheduler_schedule_at_fixed_rate(scheduler, HORA_TASK(body, NULL), period, period, &future) < 0)
        return 1;
    wait_for_run(1);
    recorder_set(false);
    bool is_written = recorder_write(argv[1], "timer");

    wait_for_run(WARM_UP_RUNS);
    int before = atomic_load(&runs);
    recorder_set(true);
    wait_for_run(before + 1);
    recorder_set(false);
    if (atomic_load(&runs) != before + 1) {
        fprintf(stderr, "cycle: %d runs, not one; the machine is too busy\n", atomic_load(&runs) - before);
        return 2; /* trace-path runs the program again */
    }
    is_written = is_written && recorder_write(argv[1], "cycle");
    _Exit(!is_written); /* the end of the scheduler is not part of the trace */
}
