/* SPDX-License-Identifier: Apache-2.0 */
/* workers.c - what the workers of a pool do now, as numbers and texts */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <hora/explain.h>

#include "base/options.h"
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

/* The caller's array may have larger or smaller elements than ours; the first one says how large. */
static void write_one(const struct hora__worker *worker, hora_ns now, unsigned char *place, size_t size)
{
    hora_worker_info info;
    uint32_t given = (uint32_t)size;
    tell(worker, now, &info);
    memcpy(place, &given, sizeof given);
    hora__output_write(place, size, &info, sizeof info);
}

int hora_pool_workers(hora_pool *pool, hora_worker_info *workers, int max)
{
    int error = hora__pool_check(pool);
    size_t size = 0;
    if (error == 0 && max < 0)
        error = HORA_EINVAL;
    if (error == 0 && max > 0)
        error = HORA__SIZE_GIVEN(hora_worker_info, workers, &size);
    if (error == 0 && pool->overseer == NULL)
        error = HORA_ENOTSUP;
    if (error < 0)
        return error;
    hora_ns now = hora_clock_now(pool->object.clock);
    int count = 0;
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next, count++)
        if (count < max)
            write_one(HORA__LIST_ENTRY(link, struct hora__worker, link), now,
                      (unsigned char *)workers + (size_t)count * size, size);
    hora__mutex_unlock(&pool->object.lock);
    return count;
}
