/* SPDX-License-Identifier: Apache-2.0 */
/* workers.c - what the workers of a pool do now, as numbers and texts */
#include <stddef.h>
#include <stdio.h>

#include <hora/explain.h>

#include "oversee/oversight.h"

static void tell(const struct hora__worker *worker, hora_ns now, hora_worker_info *ret_info)
{
    struct hora__now_reading reading;
    *ret_info = (hora_worker_info){.struct_size = sizeof *ret_info, .number = worker->number};
    ret_info->running = hora__post_read(hora__post_of(worker->witness), &reading);
    ret_info->runs = reading.run;
    if (!ret_info->running)
        return;
    hora_ns sign = reading.progress != HORA_NEVER ? reading.progress : reading.began;
    ret_info->running_for = now > reading.began ? now - reading.began : 0;
    ret_info->quiet_for = now > sign ? now - sign : 0;
    ret_info->done = reading.done;
    ret_info->of = reading.of;
    (void)snprintf(ret_info->name, sizeof ret_info->name, "%s", reading.name != NULL ? reading.name : "");
    if (reading.file != NULL)
        (void)snprintf(ret_info->place, sizeof ret_info->place, "%s:%d", reading.file, reading.line);
}

int hora_pool_workers(hora_pool *pool, hora_worker_info *workers, int max)
{
    int error = hora__pool_check(pool);
    if (error == 0 && (max < 0 || (workers == NULL && max > 0)))
        error = HORA_EINVAL;
    if (error == 0 && pool->overseer == NULL)
        error = HORA_ENOTSUP;
    if (error < 0)
        return error;
    hora_ns now = hora_clock_now(pool->object.clock);
    int count = 0;
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next, count++)
        if (count < max)
            tell(HORA__LIST_ENTRY(link, struct hora__worker, link), now, &workers[count]);
    hora__mutex_unlock(&pool->object.lock);
    return count;
}
