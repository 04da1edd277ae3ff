/* SPDX-License-Identifier: Apache-2.0 */
/* dump_collect.c - copy what a pool is doing: see dump.h
 *
 * Locks      one at a time: the pool's, for its workers; that of its queue, for what waits; those of the futures that
 *            wait, for their names, which may be dropped with their tasks.
 * Memory     for more workers than are expected; all else is bounded. */
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/utf8.h"
#include "oversee/dump.h"
#include "oversee/measures.h"
#include "sched/agenda_view.h"
#include "sched/errand.h"
#include "sched/scheduler.h"
#include "sync/clock.h"
#include "sys/alloc.h"

/* ---- tasks ---- */

static void copy_name(struct hora__dump_task *to, const char *name)
{
    to->has_name = name != NULL;
    hora__utf8_copy(to->name, sizeof to->name, name != NULL ? name : "");
}

static void copy_place(struct hora__dump_task *to, const hora_task *task)
{
    *to = (struct hora__dump_task){.file = task->file, .line = task->line, .waited = HORA_NEVER};
}

/* Of a task without a future: it is dropped after it has left the queue, so its name is there. */
static void copy_task(struct hora__dump_task *to, const hora_task *task)
{
    copy_place(to, task);
    copy_name(to, task->name);
}

/* Without the queue's lock: names of futures are read under those of the futures. Gives the reference back. */
static void name_future(struct hora__dump_task *to, hora_future *future, bool may_wait)
{
    if (future != NULL && (may_wait || hora__mutex_is_free(&future->object.lock))) {
        copy_name(to, hora__future_lock_name(future));
        hora__future_unlock_name(future);
    }
    (void)hora_future_unref(future);
}

/* With the lock of the queue. */
static void copy_terms(struct hora__dump_task *to, const struct hora__extra *extra)
{
    if (extra == NULL || extra->ticket == NULL)
        return;
    const struct hora__ticket *ticket = extra->ticket;
    to->is_steered = true;
    to->class_name = ticket->class != NULL ? ticket->class->name : NULL;
    to->key = ticket->key;
    to->priority = ticket->level - HORA__LEVEL_NORMAL;
}

static hora_ns at_least_zero(hora_ns time)
{
    return time > 0 ? time : 0;
}

static bool copy_head(void *item, const hora_task *task, void *arg)
{
    struct hora__dump *dump = arg;
    hora_future *future = item;
    const struct hora__extra *extra = future != NULL ? hora__future_extra_in(dump->pool, future) : NULL;
    bool measures = hora__pool_measures(dump->pool);
    struct hora__dump_task *head = &dump->head[dump->heads];
    if (future != NULL)
        copy_place(head, &future->task);
    else
        copy_task(head, task);
    copy_terms(head, extra);
    if (extra != NULL)
        head->waited = at_least_zero(hora__ns_sub(dump->now, extra->came));
    else if (measures && future == NULL)
        head->waited = hora__measures_ago(dump->pool, hora__measures_cell_came(task));
    head->knows_when = measures && future != NULL && extra == NULL;
    dump->asked[dump->heads++] = hora_future_ref(future);
    return dump->heads < HORA__DUMP_TASKS;
}

/* Without the queue's lock. */
static void ask_heads(struct hora__dump *dump, bool may_wait)
{
    for (int i = 0; i < dump->heads; i++) {
        hora_future *future = dump->asked[i];
        bool asks = dump->head[i].knows_when && (may_wait || hora__mutex_is_free(&future->object.lock));
        int64_t came = asks ? hora__measures_came(dump->pool, future) : HORA_FOREVER;
        if (came != HORA_FOREVER)
            dump->head[i].waited = hora__measures_ago(dump->pool, came);
        name_future(&dump->head[i], future, may_wait);
    }
}

/* ---- what stands in an agenda ---- */

/* A reference to its future, whose name is not copied yet; NULL: it has none. */
static hora_future *copy_entry(struct hora__dump_task *to, const struct hora__agenda_view *view,
                               struct hora__entry *entry)
{
    bool has_future = !entry->is_errand && !entry->is_timer;
    hora_task task = {.name = "timer"};
    if (entry->is_errand)
        task = hora__errand_task(hora__errand_of(entry));
    if (has_future)
        copy_place(to, &hora__entry_future(entry)->task);
    else
        copy_task(to, &task);
    const struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    to->is_series = scheduled != NULL && hora__scheduled_is_series(scheduled);
    to->in = hora__agenda_view_off(view, entry);
    if (has_future)
        copy_terms(to, hora__future_extra(hora__entry_future(entry)));
    to->waited = to->in > 0 || to->in == INT64_MIN ? HORA_NEVER : -to->in;
    return has_future ? hora_future_ref(hora__entry_future(entry)) : NULL;
}

static void collect_agenda(struct hora__dump *dump, bool may_wait)
{
    hora_queue *queue = dump->pool->queue;
    hora_future *firing[HORA__DUMP_TASKS] = {NULL};
    struct hora__agenda_view view;
    struct hora__entry *entries[HORA__DUMP_TASKS];
    hora__mutex_lock(&queue->object.lock);
    hora__agenda_view_begin(&view, queue);
    dump->heads = hora__agenda_view_first(&view, true, entries, HORA__DUMP_TASKS, &dump->queued);
    for (int i = 0; i < dump->heads; i++)
        dump->asked[i] = copy_entry(&dump->head[i], &view, entries[i]);
    dump->firings = hora__agenda_view_first(&view, false, entries, HORA__DUMP_TASKS, &dump->planned);
    for (int i = 0; i < dump->firings; i++)
        firing[i] = copy_entry(&dump->firing[i], &view, entries[i]);
    hora__mutex_unlock(&queue->object.lock);
    for (int i = 0; i < dump->heads; i++)
        name_future(&dump->head[i], dump->asked[i], may_wait);
    for (int i = 0; i < dump->firings; i++)
        name_future(&dump->firing[i], firing[i], may_wait);
}

static int collect_queue(struct hora__dump *dump, bool may_wait)
{
    dump->is_scheduler = hora__scheduler_of(dump->pool) != NULL;
    if (dump->is_scheduler) {
        collect_agenda(dump, may_wait);
        return 0;
    }
    int size = hora__queue_survey(dump->pool->queue, copy_head, dump);
    ask_heads(dump, may_wait);
    dump->queued = size;
    return size < 0 ? size : 0;
}

/* ---- classes and keys ---- */

static void copy_class_locked(struct hora__dump_class *to, const hora_class *from)
{
    const struct hora__admission_class *admission_class = &from->admission_class;
    *to = (struct hora__dump_class){.name = from->name,
                                    .limit = admission_class->limit,
                                    .reserve = admission_class->reserve,
                                    .rate = admission_class->rate,
                                    .per = admission_class->per,
                                    .running = admission_class->running,
                                    .waiting = admission_class->waiting,
                                    .started = admission_class->started};
}

static void collect_classes(struct hora__dump *dump)
{
    const struct hora__oversight *oversight = hora__pool_oversight(dump->pool);
    dump->is_steered = dump->pool->admission != NULL;
    if (!dump->is_steered)
        return;
    hora__mutex_lock(&dump->pool->queue->object.lock);
    const struct hora__admission *admission = &dump->pool->admission->admission;
    for (const hora_class *at = oversight->classes; at != NULL && dump->classes < HORA__DUMP_CLASSES; at = at->next)
        copy_class_locked(&dump->class[dump->classes++], at);
    for (const struct hora__ticket *at = hora__admission_first_key(admission); at != NULL;
         at = hora__admission_after_key(at))
        dump->keys++;
    hora__mutex_unlock(&dump->pool->queue->object.lock);
}

/* ---- workers ---- */

static void copy_worker_locked(struct hora__dump_worker *to, struct hora__worker *worker)
{
    to->number = worker->number;
    to->is_busy = hora__worker_is_active(worker);
    to->is_off = hora__worker_is_written_off(worker);
    to->completed = hora__counter_read(&worker->completed);
    to->is_known = worker->witness != NULL && hora__post_read(hora__post_of(worker->witness), &to->now);
}

static void collect_workers(struct hora__dump *dump)
{
    hora_pool *pool = dump->pool;
    dump->workers = dump->workers_left_out = 0;
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        if (dump->workers < dump->worker_room)
            copy_worker_locked(&dump->worker[dump->workers++], HORA__LIST_ENTRY(link, struct hora__worker, link));
        else
            dump->workers_left_out++;
    }
    hora__mutex_unlock(&pool->object.lock);
}

/* There are more of them than there was room for: get room, and collect them again. HORA_ENOMEM. */
static int collect_more_workers(struct hora__dump *dump)
{
    while (dump->workers_left_out > 0) {
        int room = dump->workers + dump->workers_left_out;
        hora__dump_release(dump);
        dump->worker = hora__alloc((size_t)room, sizeof *dump->worker);
        if (dump->worker == NULL)
            return HORA_ENOMEM;
        dump->worker_room = room;
        collect_workers(dump);
        if (HORA__FAULT(DUMP_COUNTS_WORKERS_ONCE))
            break;
    }
    return 0;
}

/* ---- all ---- */

void hora__dump_release(struct hora__dump *dump)
{
    if (dump->worker != dump->own_workers)
        hora__free(dump->worker);
    dump->worker = dump->own_workers;
}

int hora__dump_collect(struct hora__dump *dump, hora_pool *pool, bool for_debugger)
{
    dump->pool = pool;
    dump->worker = dump->own_workers;
    dump->worker_room = HORA__DUMP_WORKERS;
    dump->heads = dump->firings = dump->planned = dump->classes = dump->keys = 0;
    dump->now = hora_clock_now(pool->object.clock);
    dump->wall = hora_clock_now(hora__clock_line(pool->object.clock, HORA__WALL));
    dump->stats.struct_size = sizeof dump->stats;
    int error = hora_pool_get_stats(pool, &dump->stats);
    if (error == 0)
        error = collect_queue(dump, !for_debugger);
    if (error < 0)
        return error;
    collect_classes(dump);
    collect_workers(dump);
    error = for_debugger ? 0 : collect_more_workers(dump);
    if (error < 0)
        hora__dump_release(dump);
    return error;
}
