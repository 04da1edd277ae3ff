/* SPDX-License-Identifier: Apache-2.0 */
/* limits_support.c - see limits_support.h */
#include "limits_support.h"

#include <stdio.h>

static void note_expired(hora_pool *pool, const hora_event *event, void *context)
{
    struct seen *seen = context;
    CHECK_POINTER(pool, seen->rig->pool);
    CHECK(event->why != NULL);
    seen->future = event->future;
    atomic_fetch_add(&seen->expired, 1);
}

static void note_stuck(hora_pool *pool, const hora_event *event, void *context)
{
    struct seen *seen = context;
    CHECK_POINTER(pool, seen->rig->pool);
    int number = atomic_load(&seen->stuck);
    if (number < MOST_STUCK) {
        seen->events[number] = *event;
        seen->at[number] = hora_clock_now(seen->rig->f.view);
    }
    (void)snprintf(seen->name, sizeof seen->name, "%s", event->task->name);
    atomic_fetch_add(&seen->stuck, 1);
}

hora_listener limits_listener(struct rig *r, struct seen *seen)
{
    seen->rig = r;
    return (hora_listener){
        .struct_size = sizeof(hora_listener), .expired = note_expired, .stuck = note_stuck, .arg = seen};
}

void limits_open(struct rig *r, struct seen *seen, int threads)
{
    hora_listener listener = limits_listener(r, seen);
    rig_open(r, false, HORA_POOL_OPTIONS(.core_threads = threads, .listener = &listener));
}

void limits_open_scheduler(struct rig *r, struct seen *seen, int threads)
{
    hora_listener listener = limits_listener(r, seen);
    scheduler_open(r, false, HORA_SCHEDULER_OPTIONS(.core_threads = threads, .listener = &listener));
}

hora_future *submit_under(struct rig *r, struct job *job, const hora_task_options *terms)
{
    hora_future *future = NULL;
    CHECK_OK(hora_pool_submit_with(r->pool, JOB(job), terms, &future, NULL));
    return future;
}
