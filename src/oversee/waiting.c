/* SPDX-License-Identifier: Apache-2.0 */
/* waiting.c - how long the tasks that wait now have waited
 *
 * How it works      A queue is in the order of coming, so its first task has waited longest; of a queue with another order the first few are looked at. A
 *                   task without a future says there when it came. A future says it to those who have its lock, which cannot be
 *                   taken with the queue's: so the first few are kept by references, and asked afterwards. In a scheduler what
 *                   counts is the first of each heap. */
#include <stddef.h>

#include "base/ns.h"
#include "oversee/measures.h"
#include "sched/agenda.h"

enum { FEW = 20 };

struct look {
    int64_t came; /* the earliest so far; HORA_FOREVER: none */
    hora_future *futures[FEW];
    int count;
};

int64_t hora__measures_cell_came(const hora_task *task)
{
    const char *cell = (const char *)task - offsetof(struct hora__cell, task);
    return ((const struct hora__cell *)(const void *)cell)->came;
}

static bool look_at(void *item, const hora_task *task, void *arg)
{
    struct look *look = arg;
    if (task != NULL) {
        look->came = hora__measures_cell_came(task);
        return false; /* and those after it came later */
    }
    look->futures[look->count++] = hora_future_ref(item);
    return look->count < FEW;
}

int64_t hora__measures_came(const hora_pool *pool, hora_future *future)
{
    hora__mutex_lock(&future->object.lock);
    bool waits = hora__future_state(future) == HORA__FUTURE_NEW && future->owner == &pool->owner;
    int64_t came = waits ? future->by.came : HORA_FOREVER;
    hora__mutex_unlock(&future->object.lock);
    return came;
}

static int64_t first_came(hora_pool *pool)
{
    struct look look = {.came = HORA_FOREVER};
    if (hora__queue_survey(pool->queue, look_at, &look) < 0)
        return HORA_FOREVER;
    for (int i = 0; i < look.count; i++) {
        int64_t came = hora__measures_came(pool, look.futures[i]);
        look.came = came < look.came ? came : look.came;
        (void)hora_future_unref(look.futures[i]);
    }
    return look.came;
}

static hora_ns most_overdue(hora_queue *queue)
{
    if (hora__queue_enter(queue) < 0)
        return 0;
    hora_ns overdue = hora__agenda_overdue(queue);
    hora__mutex_unlock(&queue->object.lock);
    return overdue;
}

hora_ns hora__measures_ago(const hora_pool *pool, int64_t stamp)
{
    int64_t ago = hora__pool_stamp(pool) - stamp;
    struct hora__scale scale = hora__measures_scale(hora__pool_oversight(pool));
    return hora__rate_to_ns(scale.values, ago > 0 ? ago : 0);
}

void hora__measures_waiting(hora_pool *pool, hora_ns *ret_oldest, hora_ns *ret_latest)
{
    *ret_oldest = *ret_latest = 0;
    if (pool->kind != NULL) {
        *ret_oldest = *ret_latest = most_overdue(pool->queue);
        return;
    }
    int64_t came = first_came(pool);
    if (came != HORA_FOREVER)
        *ret_oldest = hora__measures_ago(pool, came);
}
