/* SPDX-License-Identifier: Apache-2.0 */
/* body.c - the bodies of tasks: most do nothing, others make some of the calls that tasks may make */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include "stress.h"

enum { DEPTH_MOST = 3 };

static void submit_another(void)
{
    struct object *object = object_get(one_in(2) ? OBJECT_POOL : OBJECT_SCHEDULER);
    if (object == NULL)
        return;
    pool_submit_one(object);
    object_put(object);
}

static void wait_for_another(void)
{
    struct kept other = future_borrow();
    if (other.future == NULL)
        return;
    (void)!hora_future_get_for(other.future, random_ns(HORA_US(100)), NULL);
    (void)hora_future_unref(other.future);
}

static void compute(void)
{
    for (uint32_t i = random_below(500); i > 0; i--)
        atomic_signal_fence(memory_order_seq_cst);
}

/* True if the task may end its thread: the thread is not one of the program's, and nothing below it on the
 * stack must continue. */
static bool may_exit(const struct record *record)
{
    return self()->number == 0 && self()->depth == 1 && record->most == 1 && hora_pool_current() != NULL;
}

static int act(struct record *record)
{
    switch (random_below(64)) {
    case 0:
        submit_another();
        return 0;
    case 1:
        wait_for_another();
        return 0;
    case 2:
        (void)hora_sleep(random_ns(HORA_US(100)));
        return 0;
    case 3:
        (void)hora_interrupted();
        hora_progress(1, 2);
        (void)hora_context_current();
        return 0;
    case 4:
        return BODY_FAILURE;
    case 5:
    case 6:
        (void)sched_yield();
        return 0;
    case 7:
        if (one_in(16) && may_exit(record)) {
            self()->depth--;
            record_tell(record, "ends its thread", 0);
            record_end(record, HORA_EABANDONED);
            pthread_exit(NULL);
        }
        return 0;
    default:
        if (one_in(4))
            compute();
        return 0;
    }
}

int record_run(void *arg, void **ret_result)
{
    struct record *record = arg;
    record_begin(record);
    int code = 0;
    if (self()->depth < DEPTH_MOST) {
        self()->depth++;
        code = act(record);
        self()->depth--;
    }
    if (one_in(8)) {
        atomic_fetch_add_explicit(&record->results, 1, memory_order_relaxed);
        *ret_result = record;
    }
    record_end(record, code);
    return code;
}

hora_task record_task(struct record *record)
{
    hora_task task = *HORA_TASK(record_run, record, .drop = record_drop, .drop_result = record_drop_result);
    if (one_in(2))
        task.name = record->name;
    return task;
}
