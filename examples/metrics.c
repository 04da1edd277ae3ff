/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - how long tasks waited and ran, by name, and in the format of Prometheus
 *
 * It uses a virtual clock, so each run measures the same. A server would call hora_metrics_write for a
 * request of /metrics, with a function that writes to the connection. */
#include <stdio.h>

#include <hora/hora.h>

static hora_virtual_clock *virtual_clock;

/* A task that takes as many milliseconds as its argument says. */
static int work(void *arg, void **ret_result)
{
    (void)ret_result;
    return hora_clock_sleep(hora_virtual_clock_view(virtual_clock, HORA_CLOCK_MONOTONIC),
                            HORA_MS(*(const int *)arg));
}

static int print(const char *text, size_t length, void *arg)
{
    (void)arg;
    return fwrite(text, 1, length, stdout) == length ? 0 : HORA_EFAILED;
}

static void show(hora_pool *pool, const char *name)
{
    hora_distribution wait = HORA_INIT(hora_distribution), run = HORA_INIT(hora_distribution);
    if (hora_pool_get_distribution(pool, name, HORA_METRIC_WAIT, &wait) < 0 ||
        hora_pool_get_distribution(pool, name, HORA_METRIC_RUN, &run) < 0)
        return;
    printf("%-7s %2lld runs, waited up to %3lld ms, ran up to %2lld ms, %3lld ms in all\n",
           name != NULL ? name : "all", (long long)run.count, (long long)(wait.max / HORA_MS(1)),
           (long long)(run.max / HORA_MS(1)), (long long)(run.sum / HORA_MS(1)));
}

int main(void)
{
    static int resize = 5, thumb = 1;
    hora_pool *pool;
    if (hora_virtual_clock_new(NULL, &virtual_clock, NULL) < 0)
        return 1;
    const hora_clock *clock = hora_virtual_clock_view(virtual_clock, HORA_CLOCK_MONOTONIC);
    if (hora_pool_new(
            HORA_POOL_OPTIONS(.core_threads = 1, .name = "images", .clock = clock, .metrics = HORA_METRICS()),
            &pool, NULL) < 0)
        return 1;

    for (int i = 0; i < 10; i++)
        if (hora_pool_execute(pool, HORA_TASK(work, &resize, .name = "resize")) < 0 ||
            hora_pool_execute(pool, HORA_TASK(work, &thumb, .name = "thumb")) < 0)
            return 1;
    if (hora_virtual_clock_run(virtual_clock, HORA_MS(100)) < 0)
        return 1;
    if (hora_pool_close(pool) < 0)
        return 1;

    const char *names[8];
    int count = hora_pool_task_names(pool, names, 8);
    for (int i = 0; i < count; i++)
        show(pool, names[i]);
    show(pool, NULL);
    putchar('\n');
    if (hora_metrics_write(&pool, 1, HORA_METRICS_PROMETHEUS, print, NULL) < 0)
        return 1;
    return hora_pool_free(pool) != 0 || hora_virtual_clock_free(virtual_clock) < 0 || count != 2;
}
