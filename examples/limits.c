/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - start_within, run_limit, finish_within; and a task that ignores interrupts
 *
 * There is one thread, on a virtual clock. A report hangs, is interrupted after 10 s, and ignores it; 5 s
 * later its worker is written off. Of the tasks that wait behind it, one has to start within 8 s, one has to
 * finish within 12 s, and one has no limit. */
#include <stdio.h>

#include <hora/hora.h>

static hora_virtual_clock *time_machine;
static const hora_clock *now;
static hora_ns zero;

static int seconds(void)
{
    return (int)((hora_clock_now(now) - zero) / HORA_SECONDS(1));
}

static void on_expired(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    printf("%2d s: %s has expired: %s\n", seconds(), event->task->name, event->why);
}

static void on_stuck(hora_pool *pool, const hora_event *event, void *arg)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    (void)arg;
    if (hora_pool_get_stats(pool, &stats) == 0)
        printf("%2d s: %s is stuck on worker %d; %d written off\n", seconds(), event->task->name,
               event->worker, stats.written_off);
}

/* Runs for 38 s and ignores interrupts. */
static int hang(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    hora_ns end = hora_clock_now(now) + HORA_SECONDS(38);
    for (hora_ns time; (time = hora_clock_now(now)) < end;)
        if (hora_clock_sleep(now, end - time) == HORA_EINTERRUPTED)
            printf("%2d s: the report is told to stop, and does not\n", seconds());
    printf("%2d s: the report is done at last\n", seconds());
    return 0;
}

/* Takes a second. */
static int say(void *arg, void **ret_result)
{
    (void)ret_result;
    if (hora_clock_sleep(now, HORA_SECONDS(1)) < 0)
        return 1;
    printf("%2d s: %s is done\n", seconds(), (const char *)arg);
    return 0;
}

static hora_pool *make_pool(void)
{
    hora_pool *pool = NULL;
    return hora_pool_new(
               HORA_POOL_OPTIONS(.core_threads = 1, .clock = now,
                                 .listener = HORA_LISTENER(.expired = on_expired, .stuck = on_stuck)),
               &pool, NULL) == 0
               ? pool
               : NULL;
}

int main(void)
{
    hora_future *futures[2];
    if (hora_virtual_clock_new(NULL, &time_machine, NULL) < 0)
        return 1;
    now = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    zero = hora_clock_now(now);
    hora_pool *pool = make_pool();
    if (pool == NULL)
        return 1;
    int faults = 0;
    faults += hora_pool_submit_with(pool, HORA_TASK(hang, NULL, .name = "report"),
                                    HORA_TASK_OPTIONS(.run_limit = HORA_SECONDS(10),
                                                      .stuck_after = HORA_SECONDS(5), .replace_stuck = true),
                                    NULL, NULL) < 0;
    faults +=
        hora_pool_submit_with(pool, HORA_TASK(say, "heartbeat", .name = "heartbeat"),
                              HORA_TASK_OPTIONS(.start_within = HORA_SECONDS(8)), &futures[0], NULL) < 0;
    faults +=
        hora_pool_submit_with(pool, HORA_TASK(say, "answer", .name = "answer"),
                              HORA_TASK_OPTIONS(.finish_within = HORA_SECONDS(12)), &futures[1], NULL) < 0;
    faults += hora_pool_execute(pool, HORA_TASK(say, "backup")) < 0;
    faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(18)) < 0;
    for (int i = 0; i < 2; i++) {
        int outcome = hora_future_get(futures[i], NULL);
        printf("%s: %s\n", hora_future_task(futures[i])->name, hora_strerror(outcome));
        faults += outcome != HORA_EEXPIRED;
        (void)hora_future_unref(futures[i]);
    }
    faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(42)) < 0;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    faults += hora_pool_close_for(pool, HORA_SECONDS(1)) < 0 || hora_pool_get_stats(pool, &stats) < 0;
    printf("done %d, expired %d\n", (int)stats.done, (int)stats.expired);
    faults += hora_pool_free(pool) != 0 || stats.done != 2 || stats.expired != 2;
    return faults != 0 || hora_virtual_clock_free(time_machine) < 0;
}
