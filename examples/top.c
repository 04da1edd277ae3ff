/* SPDX-License-Identifier: Apache-2.0 */
/* top.c - the state of a pool, redrawn in the terminal
 *
 * It shows the workers and their tasks, the waiting tasks, and why one of them waits.
 *
 *     top 20        run for 20 seconds; the default is 1
 *
 * In a debugger, stop it anywhere and "call hora_pool_dump_fd(pool, 2)". */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hora/hora.h>

enum { THREADS = 4, STEPS = 50, WORKERS_MOST = 16 };

static hora_scheduler *pool;

/* ---- the load ---- */

static int convert(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    for (int i = 1; i <= STEPS; i++) {
        if (hora_clock_sleep(NULL, HORA_MS(20)) < 0)
            return 1; /* the pool is being shut down */
        hora_progress(i, STEPS);
    }
    return 0;
}

static int poll_feed(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    (void)hora_clock_sleep(NULL, HORA_MS(30));
    return 0;
}

static int begin_load(hora_future **ret_nightly)
{
    int error = 0;
    for (int i = 0; error == 0 && i < THREADS - 1; i++)
        error = hora_scheduler_schedule_with_fixed_delay(pool, HORA_TASK(convert, NULL, .name = "convert"),
                                                         HORA_MS(300 * i), HORA_MS(500), NULL);
    if (error == 0)
        error = hora_scheduler_schedule_at_fixed_rate(pool, HORA_TASK(poll_feed, NULL, .name = "poll feed"),
                                                      0, HORA_MS(100), NULL);
    if (error == 0)
        error = hora_scheduler_schedule_with(pool, HORA_TASK(poll_feed, NULL, .name = "nightly"),
                                             HORA_SCHEDULE(.cron = "0 0 3 * * *"), ret_nightly, NULL);
    return error;
}

/* ---- the display ---- */

static double seconds(hora_ns time)
{
    return (double)time / 1e9;
}

static void draw_worker(const hora_worker_info *worker)
{
    printf("%6d  ", worker->number);
    if (!worker->running) {
        printf("%-12s\n", "idle");
        return;
    }
    printf("%-12.12s %6.1f s  quiet %5.1f s", worker->name, seconds(worker->running_for),
           seconds(worker->quiet_for));
    if (worker->of > 0)
        printf("  %3d %%", (int)(100 * worker->done / worker->of));
    printf("  %s\n", worker->place);
}

static int draw(hora_future *task)
{
    hora_worker_info workers[WORKERS_MOST] = {HORA_INIT(hora_worker_info)};
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    hora_distribution late = HORA_INIT(hora_distribution);
    char why[HORA_EXPLAIN_TEXT];
    int count = hora_pool_workers(pool, workers, WORKERS_MOST);
    if (count < 0 || hora_pool_get_stats(pool, &stats) < 0 ||
        hora_future_explain(task, why, sizeof why) < 0 ||
        hora_pool_get_distribution(pool, NULL, HORA_METRIC_LATENESS, &late) < 0)
        return -1;
    if (isatty(STDOUT_FILENO))
        printf("\033[H\033[J"); /* cursor to the top, and clear the screen */
    printf("%d of %d threads active, %d tasks wait, %lld runs done\n", stats.active, stats.threads,
           stats.queued, (long long)stats.completed);
    printf("late    half of them %.3f ms, 99 %% %.3f ms, none more than %.3f ms\n\nworker  runs\n",
           1e3 * seconds(late.p50), 1e3 * seconds(late.p99), 1e3 * seconds(late.max));
    for (int i = 0; i < count && i < WORKERS_MOST; i++)
        draw_worker(&workers[i]);
    printf("\n%s\n", why);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    hora_ns end = hora_clock_now(NULL) + HORA_SECONDS(argc > 1 ? strtol(argv[1], NULL, 10) : 1);
    hora_future *nightly = NULL;
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = THREADS, .metrics = HORA_METRICS()), &pool,
                           NULL) < 0)
        return 1;
    int error = begin_load(&nightly);
    while (error == 0 && hora_clock_now(NULL) < end) {
        error = draw(nightly);
        if (error == 0)
            error = hora_clock_sleep(NULL, HORA_MS(200));
    }
    hora_future_unref(nightly);
    if (hora_scheduler_close(pool) < 0) /* series end with the run in progress */
        error = -1;
    return hora_scheduler_free(pool) != 0 || error < 0;
}
