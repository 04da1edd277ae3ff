/* SPDX-License-Identifier: Apache-2.0 */
/* find_stuck_worker.c - everything has become slow: which task hangs, and where does it come from?
 *
 * Two threads convert pictures. One picture makes the converter hang, so one thread is lost and the queue
 * grows. Nothing fails, and nothing is logged. With `stuck_after`, an event says which task it is, where it
 * was submitted, and how long it has made no progress. hora_pool_workers, and a dump of a running program
 * (hora_pool_dump_fd in a debugger, hora_pool_request_dump in a signal handler), show all workers with their
 * progress. */
#include <stdio.h>
#include <string.h>

#include <hora/hora.h>

enum { PICTURES = 6, PARTS = 10, HANGS = 2 };

static hora_virtual_clock *time_machine;
static const hora_clock *now;
static hora_latch *never;
static int alarms;

/* Each part takes a second. One of the pictures has a part that never ends. */
static int convert(void *arg, void **ret_result)
{
    const int *number = arg;
    (void)ret_result;
    int parts = *number == 1 ? 8 : PARTS; /* so that the second worker always gets the picture that hangs */
    for (int part = 0; part < parts; part++) {
        hora_progress(part, parts);
        int error =
            *number == HANGS && part == 3 ? hora_latch_await(never) : hora_clock_sleep(now, HORA_SECONDS(1));
        if (error < 0)
            return 1;
    }
    return 0;
}

static void on_stuck(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    const char *file = strrchr(event->task->file, '/');
    alarms++;
    printf("event: worker %d is stuck in %s from %s:%d; it has run for %d s, and been quiet for %d s\n",
           event->worker, event->task->name, file != NULL ? file + 1 : event->task->file, event->task->line,
           (int)(event->ran / HORA_SECONDS(1)), (int)(event->quiet / HORA_SECONDS(1)));
}

static int show_workers(hora_pool *pool)
{
    hora_worker_info workers[2] = {HORA_INIT(hora_worker_info)};
    int count = hora_pool_workers(pool, workers, 2);
    for (int i = 0; i < count && i < 2; i++)
        if (workers[i].running)
            printf("worker %d: %s for %d s, part %d of %d\n", workers[i].number, workers[i].name,
                   (int)(workers[i].running_for / HORA_SECONDS(1)), (int)workers[i].done, (int)workers[i].of);
        else
            printf("worker %d: idle\n", workers[i].number);
    return count != 2;
}

static hora_pool *make_pool(void)
{
    hora_pool *pool = NULL;
    return hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 2, .clock = now,
                                           .watchdog = HORA_WATCHDOG(.stuck_after = HORA_SECONDS(15)),
                                           .listener = HORA_LISTENER(.stuck = on_stuck)),
                         &pool, NULL) == 0
               ? pool
               : NULL;
}

int main(void)
{
    static int numbers[PICTURES];
    if (hora_virtual_clock_new(NULL, &time_machine, NULL) < 0)
        return 1;
    now = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    hora_pool *pool = make_pool();
    if (pool == NULL || hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = now), &never, NULL) < 0)
        return 1;
    int faults = 0;
    for (int i = 0; i < PICTURES; i++) {
        numbers[i] = i;
        const char *name = i == HANGS ? "logo.svg" : "photo.jpg";
        faults += hora_pool_execute(pool, HORA_TASK(convert, &numbers[i], .name = name)) < 0;
    }
    faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(38)) < 0;
    faults += show_workers(pool);
    printf("so: logo.svg hangs in part 3, and takes a thread with it; "
           "a limit (run_limit, replace_stuck) would give the thread back\n");
    faults += hora_latch_count_down(never) < 0;
    faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(60)) < 0;
    faults += hora_pool_close_for(pool, HORA_SECONDS(1)) < 0 || hora_pool_free(pool) != 0 ||
              hora_latch_free(never) < 0;
    return faults != 0 || alarms != 1 || hora_virtual_clock_free(time_machine) < 0;
}
