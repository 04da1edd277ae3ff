/* SPDX-License-Identifier: Apache-2.0 */
/* shutdown.c - all threads execute on one pool as fast as they can, until it is shut down or stopped
 *
 * They do nothing else. With a backlog, and with threads that are preempted between two steps of a call, this
 * is where a task could be mistaken for another one, or be lost. */
#include <stddef.h>
#include <stdio.h>

#include "stress.h"

static int run_quickly(void *arg, void **ret_result)
{
    (void)ret_result;
    record_begin(arg);
    record_end(arg, 0);
    return 0;
}

void shutdown_make(void)
{
    static const char *const kinds[] = {"unbounded, after hook", "bounded",   "own linked queue",
                                        "own array queue",       "admission", "metrics"};
    struct object *object = object_new(OBJECT_SHUTDOWN);
    if (object == NULL)
        return;
    uint32_t kind = random_below(6);
    hora_pool_options options = *HORA_POOL_OPTIONS(.core_threads = 1 + (int)random_below(2), .arg = object);
    int result = 0;
    doing("hora_pool_new");
    options.max_threads = options.core_threads;
    options.after = kind == 0 ? hook_after : NULL;
    options.queue_capacity = kind == 1 ? 64 << random_below(6) : 0;
    if (kind == 2)
        result = hora_queue_new_linked(HORA_UNBOUNDED, NULL, &object->queue, NULL);
    else if (kind == 3)
        result = hora_queue_new_array(64 << random_below(6), NULL, &object->queue, NULL);
    options.queue = object->queue;
    options.admission = kind == 4 ? HORA_ADMISSION() : NULL;
    options.metrics = kind == 5 ? HORA_METRICS() : NULL;
    (void)snprintf(object->text, sizeof object->text, "pool %d (%d threads, %s)", object->number,
                   options.core_threads, kinds[kind]);
    if (result < 0 || hora_pool_new(&options, &object->pool, NULL) < 0) {
        object->pool = NULL;
        object_put(object);
    } else {
        object_publish(object);
    }
    doing("");
}

/* 0, or an error of hora_pool_execute. */
static int execute(struct object *object)
{
    struct record *record = record_new(KIND_TASK, "hora_pool_execute", object);
    if (record == NULL)
        return HORA_EFULL;
    return record_answer(
        record, hora_pool_execute(object->pool, HORA_TASK(run_quickly, record, .drop = record_drop)));
}

void shutdown_operate(struct object *object)
{
    static const uint32_t lives[] = {1000, 4000, 12000};
    uint32_t life = lives[object->number % 3];
    doing("hora_pool_execute");
    for (int i = 0; i < 4096 && !round_is_over() && !hora_pool_is_shutdown(object->pool); i++) {
        (void)execute(object);
        if (one_in(life))
            /* The new pool replaces this one, which is then shut down or stopped. */
            shutdown_make();
    }
    doing("");
}
