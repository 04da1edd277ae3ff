/* SPDX-License-Identifier: Apache-2.0 */
/* pools.c - runs tasks in real pools, and writes their metrics in the requested format: see check */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

static int run(void *arg, void **ret_result)
{
    (void)ret_result;
    return arg == NULL ? 0 : 1;
}

static int print(const char *text, size_t length, void *context)
{
    (void)context;
    return fwrite(text, 1, length, stdout) == length ? 0 : HORA_EFAILED;
}

static void must(int error)
{
    if (error >= 0)
        return;
    fprintf(stderr, "pools: %s\n", hora_strerror(error));
    exit(2);
}

static hora_pool *measured_pool(void)
{
    static const char *const names[] = {NULL,
                                        "resize",
                                        "a \"quoted\" name",
                                        "back\\slash",
                                        "new\nline",
                                        "Z\xc3\xbcrich",
                                        "not \xff UTF-8",
                                        "",
                                        "{name=\"x\"} 1"};
    hora_pool *pool;
    must(hora_pool_new(
        HORA_POOL_OPTIONS(.core_threads = 2, .name = "C:\\x \"y\"\n", .metrics = HORA_METRICS()), &pool,
        NULL));
    for (int i = 0; i < 90; i++)
        must(hora_pool_execute(pool, HORA_TASK(run, i % 10 == 0 ? &pool : NULL, .name = names[i % 9])));
    return pool;
}

static hora_pool *measured_scheduler(void)
{
    hora_scheduler *scheduler;
    hora_class *class;
    must(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .name = "timers",
                                                   .metrics = HORA_METRICS(), .admission = HORA_ADMISSION()),
                            &scheduler, NULL));
    must(hora_class_new(scheduler, HORA_CLASS_OPTIONS(.name = "slow \"one\"", .limit = 1), &class, NULL));
    for (int i = 0; i < 10; i++)
        must(hora_scheduler_schedule_with(
            scheduler, HORA_TASK(run, NULL, .name = "tick"),
            HORA_SCHEDULE(.initial_delay = HORA_MS(i), .options = HORA_TASK_OPTIONS(.task_class = class)),
            NULL, NULL));
    return scheduler;
}

int main(int argc, char **argv)
{
    bool is_older = argc == 2 && strcmp(argv[1], "prometheus") == 0;
    hora_pool *plain;
    must(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .name = "plain"), &plain, NULL));
    must(hora_pool_execute(plain, HORA_TASK(run, NULL)));
    hora_pool *pools[] = {measured_pool(), measured_scheduler(), plain};
    for (int i = 0; i < 3; i++) {
        must(hora_pool_shutdown(pools[i]));
        must(hora_pool_await_termination_for(pools[i], HORA_FOREVER));
    }
    must(hora_metrics_write(pools, 3, is_older ? HORA_METRICS_PROMETHEUS : HORA_METRICS_OPENMETRICS, print,
                            NULL));
    for (int i = 0; i < 3; i++)
        must(hora_pool_free(pools[i]));
    return 0;
}
