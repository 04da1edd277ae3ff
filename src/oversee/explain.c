/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - why a task has not run, or what became of it, in words
 *
 * How it works      What there is to know is guarded by several locks: the future's, that of its pool's queue, and the pool's. Each is taken by
 *                   itself, and what was read under it becomes a clause of its own. What was read before may be old by then: so a clause says
 *                   only what was true at one moment.
 * References        A future that has an owner is in the owner's books, and until these are even nobody can free the pool, nor a queue that
 *                   was given to it. So references to both are taken under the future's lock; after that they cannot go.
 * Memory            None is needed, so nothing can fail.
 * Locks             one at a time. */
#include "oversee/explain.h"

#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "oversee/measures.h"
#include "sched/scheduler.h"
#include "sync/clock.h"

/* ---- the future ---- */

static hora_pool *pool_of(struct hora__queue_owner *owner)
{
    return HORA__LIST_ENTRY(owner, struct hora_pool, owner);
}

static void open_matter(struct hora__matter *matter, hora_future *future)
{
    *matter = (struct hora__matter){.future = future};
    hora__mutex_lock(&future->object.lock);
    matter->state = (enum hora__future_state)hora__atomic_load(&future->state);
    matter->failure = future->failure;
    matter->is_listed = future->listed;
    matter->runner = hora_thread_ref(future->runner);
    if (future->owner != NULL) {
        matter->pool = pool_of(future->owner);
        matter->queue = matter->pool->queue;
        if (!HORA__FAULT(EXPLAIN_POOL_UNREFERENCED))
            hora__object_ref(&matter->pool->object);
        if (!HORA__FAULT(EXPLAIN_QUEUE_UNREFERENCED))
            hora__object_ref(&matter->queue->object);
    }
    matter->now = hora_clock_now(matter->pool != NULL ? matter->pool->object.clock : future->object.clock);
    hora__mutex_unlock(&future->object.lock);
}

static void close_matter(struct hora__matter *matter)
{
    (void)hora_thread_unref(matter->runner);
    if (matter->pool == NULL)
        return;
    if (!HORA__FAULT(EXPLAIN_POOL_UNREFERENCED))
        hora__object_leave(&matter->pool->object); /* this may be the end of it */
    if (!HORA__FAULT(EXPLAIN_QUEUE_UNREFERENCED))
        hora__object_leave(&matter->queue->object);
}

/* ---- the pool ---- */

static void look_at_locked(struct hora__crowd *crowd, const struct hora__matter *matter, struct hora__worker *worker)
{
    struct hora__now_reading now;
    bool is_active = hora__worker_is_active(worker);
    bool is_known = worker->witness != NULL && hora__post_read(hora__post_of(worker->witness), &now);
    bool is_off = hora__worker_is_written_off(worker);
    crowd->workers += is_off ? 0 : 1;
    crowd->busy += is_active && !is_off ? 1 : 0;
    crowd->written_off += is_off ? 1 : 0;
    if (matter->runner != NULL && worker->thread == matter->runner) {
        crowd->runner = worker->number;
        crowd->runner_is_known = is_known;
        if (is_known)
            crowd->runner_now = now;
    }
    if (is_known && !is_off && (crowd->longest == 0 || now.began < crowd->longest_now.began)) {
        crowd->longest = worker->number;
        crowd->longest_now = now;
    }
}

void hora__crowd_look(const struct hora__matter *matter, struct hora__crowd *ret_crowd)
{
    hora_pool *pool = matter->pool;
    struct hora__crowd crowd = {.workers = 0};
    hora__mutex_lock(&pool->object.lock);
    crowd.state = hora__state_of(hora__atomic_load(&pool->control));
    crowd.core_threads = hora__atomic_load(&pool->core_threads);
    crowd.thread_failures = pool->thread_failures;
    crowd.thread_error = pool->thread_error;
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next)
        look_at_locked(&crowd, matter, HORA__LIST_ENTRY(link, struct hora__worker, link));
    hora__mutex_unlock(&pool->object.lock);
    *ret_crowd = crowd;
}

/* ---- words ---- */

void hora__say_task(struct hora__text *out, const char *name, const char *file, int line)
{
    hora__text_add(out, name != NULL ? name : "a task");
    if (file == NULL)
        return;
    hora__text_add(out, " (");
    hora__text_add(out, file);
    hora__text_add_char(out, ':');
    hora__say_number(out, line);
    hora__text_add_char(out, ')');
}

static void say_thread_error(struct hora__text *out, const struct hora__crowd *crowd)
{
    hora__text_add(out, hora_strerror(crowd->thread_error));
}

void hora__say_longest(struct hora__text *out, const char *words, const struct hora__matter *matter,
                       const struct hora__crowd *crowd)
{
    const struct hora__now_reading *now = &crowd->longest_now;
    if (crowd->longest == 0)
        return;
    hora__text_add(out, words);
    hora__text_add(out, "worker ");
    hora__say_number(out, crowd->longest);
    hora__text_add(out, " has been busy with ");
    hora__say_task(out, now->name, now->file, now->line);
    hora__text_add(out, " for ");
    hora__say_duration(out, hora__ns_sub(matter->now, now->began));
}

static void say_busy(struct hora__text *out, const struct hora__matter *matter, const struct hora__crowd *crowd)
{
    if (crowd->workers == 1) {
        hora__text_add(out, "; its pool's only worker is busy");
    } else {
        hora__text_add(out, "; all ");
        hora__say_count(out, crowd->workers, "worker");
        hora__text_add(out, " are busy");
    }
    hora__say_longest(out, ": ", matter, crowd);
    if (crowd->written_off > 0) {
        hora__text_add(out, "; ");
        hora__say_count(out, crowd->written_off, "worker");
        hora__text_add(out, crowd->written_off == 1 ? " is stuck, and does not count" : " are stuck, and do not count");
    }
    if (crowd->thread_failures > 0 && crowd->workers < crowd->core_threads) {
        hora__text_add(out, "; no other thread could be started: ");
        say_thread_error(out, crowd);
    }
}

void hora__say_state(struct hora__text *out, const struct hora__crowd *crowd)
{
    if (crowd->state >= HORA__STOP)
        hora__text_add(out, "; its pool has been stopped");
    else if (crowd->state == HORA__SHUTDOWN)
        hora__text_add(out, "; its pool has been shut down, and runs what is left");
}

void hora__say_why_not_taken(struct hora__text *out, const struct hora__matter *matter, const struct hora__crowd *crowd)
{
    hora__say_state(out, crowd);
    if (crowd->state >= HORA__STOP)
        return;
    if (crowd->workers == 0 && crowd->thread_failures > 0) {
        hora__text_add(out, "; no thread could be started: ");
        say_thread_error(out, crowd);
    } else if (crowd->workers > 0 && crowd->busy == crowd->workers) {
        say_busy(out, matter, crowd);
    } else {
        hora__text_add(out, "; a worker is about to take it");
    }
}

/* ---- it runs ---- */

/* Whether a worker has noted this task, and not one that it runs meanwhile. */
static bool is_noted(const struct hora__matter *matter, const struct hora__crowd *crowd)
{
    const hora_task *task = &matter->future->task;
    return crowd->runner_is_known && crowd->runner_now.file == task->file && crowd->runner_now.line == task->line;
}

static void say_progress(struct hora__text *out, const struct hora__matter *matter, const struct hora__now_reading *now)
{
    if (now->progress == HORA_NEVER)
        return;
    if (now->of > 0) {
        hora__text_add(out, "; it has done ");
        hora__say_number(out, now->done);
        hora__text_add(out, " of ");
        hora__say_number(out, now->of);
        hora__text_add(out, ", and said so ");
    } else {
        hora__text_add(out, "; it made progress ");
    }
    hora__say_duration(out, hora__ns_sub(matter->now, now->progress));
    hora__text_add(out, " ago");
}

void hora__say_runner(struct hora__text *out, const struct hora__matter *matter, const struct hora__crowd *crowd,
                      hora_ns ran)
{
    if (crowd->runner > 0) {
        hora__text_add(out, "worker ");
        hora__say_number(out, crowd->runner);
    } else {
        hora__text_add(out,
                       matter->runner == hora__thread_existing() ? "the calling thread" : "a thread that is no worker");
    }
    bool noted = is_noted(matter, crowd);
    if (noted && ran < 0)
        ran = hora__ns_sub(matter->now, crowd->runner_now.began);
    if (ran < 0) {
        hora__text_add(out, " runs it");
        return;
    }
    hora__text_add(out, " has been running it for ");
    hora__say_duration(out, ran);
    if (noted)
        say_progress(out, matter, &crowd->runner_now);
}

static void say_running(struct hora__text *out, const struct hora__matter *matter)
{
    struct hora__crowd crowd = {.workers = 0};
    if (matter->pool != NULL)
        hora__crowd_look(matter, &crowd);
    bool is_scheduled = hora__scheduled_of(matter->future) != NULL;
    hora__say_runner(out, matter, &crowd, is_scheduled ? hora__explain_run(matter) : -1);
    if (is_scheduled && matter->state == HORA__FUTURE_NEW)
        hora__explain_next_run(out, matter);
}

/* ---- it is done ---- */

static void say_expired(struct hora__text *out, const struct hora__matter *matter)
{
    const struct hora__extra *extra = hora__future_extra(matter->future);
    bool may_start = extra != NULL && extra->terms.start_within > 0;
    bool may_end = extra != NULL && extra->terms.finish_within > 0;
    hora__text_add(out, "expired: it ");
    if (may_start == may_end)
        hora__text_add(out, "had not begun, or was not done, in its time");
    else
        hora__text_add(out, may_start ? "had not begun in its time" : "was not done in its time");
}

static void say_failed(struct hora__text *out, const struct hora__matter *matter)
{
    switch (matter->failure) {
    case HORA_EREJECTED:
        hora__text_add(out, "was rejected: its pool had neither a thread nor room for it, or had been shut down");
        return;
    case HORA_EABANDONED:
        hora__text_add(out, "was abandoned: its pool was stopped, or it has ended the thread that ran it");
        return;
    case HORA_EEXPIRED:
        say_expired(out, matter);
        return;
    default:
        hora__text_add(out, "failed with code ");
        hora__say_number(out, matter->failure);
    }
}

static void say_done(struct hora__text *out, const struct hora__matter *matter)
{
    switch (matter->state) {
    case HORA__FUTURE_NORMAL:
        if (matter->future->task.run == NULL)
            hora__text_add(out, "was completed");
        else if (hora_future_is_periodic(matter->future))
            hora__explain_end(out, matter);
        else
            hora__text_add(out, "ran and succeeded");
        return;
    case HORA__FUTURE_EXCEPTIONAL:
        say_failed(out, matter);
        return;
    default:
        hora__text_add(out, "was cancelled");
        if (matter->runner != NULL) {
            hora__text_add(out, ", but its run goes on: ");
            say_running(out, matter);
        }
    }
}

/* ---- it waits in a queue, in the order of its coming ---- */

struct search {
    const hora_future *future;
    bool is_found;
    int before;
    hora_ns oldest; /* for how long the first one has waited; HORA_NEVER: not known */
    hora_ns now;
};

static bool seek(void *item, const hora_task *task, void *arg)
{
    (void)task;
    struct search *search = arg;
    search->is_found = item == search->future;
    if (search->is_found)
        return false;
    const struct hora__extra *extra = search->before == 0 && item != NULL ? hora__future_extra(item) : NULL;
    if (extra != NULL)
        search->oldest = hora__ns_sub(search->now, extra->came);
    search->before++;
    return true;
}

static void say_place(struct hora__text *out, const struct search *search)
{
    if (search->before == 0) {
        hora__text_add(out, "is the first in the queue");
        return;
    }
    hora__text_add(out, "is the ");
    hora__say_ordinal(out, (int64_t)search->before + 1);
    hora__text_add(out, " in the queue: ");
    hora__say_count(out, search->before, "task");
    hora__text_add(out, search->before == 1 ? " is before it" : " are before it");
    if (search->oldest != HORA_NEVER) {
        hora__text_add(out, search->before == 1 ? ", and has waited for " : ", the oldest has waited for ");
        hora__say_duration(out, search->oldest);
    }
}

/* Of a queue that has an order of its own. */
static void say_somewhere(struct hora__text *out, int size)
{
    hora__text_add(out, "is one of ");
    hora__say_count(out, size, "task");
    hora__text_add(out, " in a queue that has an order of its own");
}

static void say_queued(struct hora__text *out, const struct hora__matter *matter)
{
    hora_queue *queue = matter->queue;
    struct hora__crowd crowd;
    struct search search = {.future = matter->future, .oldest = HORA_NEVER, .now = matter->now};
    bool is_ordered = queue->kind->each != NULL;
    /* Only in a queue that knows its order there is a place to look for. A scheduler's holds entries that are no futures, too. */
    int size = is_ordered ? hora__queue_survey(queue, seek, &search) : hora__queue_count(queue);
    hora_ns latest;
    if (search.oldest == HORA_NEVER && search.before > 0 && matter->pool->kind == NULL &&
        hora__pool_measures(matter->pool))
        hora__measures_waiting(matter->pool, &search.oldest, &latest);
    bool is_there = is_ordered ? search.is_found : hora_queue_contains(queue, matter->future) > 0;
    hora__crowd_look(matter, &crowd);
    if (!is_there) {
        hora__text_add(out, "has been given to a worker, which is about to run it");
        return;
    }
    if (is_ordered)
        say_place(out, &search);
    else
        say_somewhere(out, size);
    hora__say_why_not_taken(out, matter, &crowd);
}

static void say_waiting(struct hora__text *out, const struct hora__matter *matter)
{
    if (matter->future->task.run == NULL)
        hora__text_add(out, "is a promise that nobody has completed");
    else if (matter->is_listed)
        hora__text_add(out, "was handed back by a pool that was stopped, and is in nobody's queue");
    else if (matter->pool == NULL)
        hora__text_add(out, "is in nobody's queue: it has not been executed, or was taken out again");
    else if (hora__scheduled_of(matter->future) != NULL)
        hora__explain_scheduled(out, matter);
    else if (matter->pool->admission != NULL && matter->pool->kind == NULL)
        hora__explain_admission(out, matter);
    else
        say_queued(out, matter);
}

int hora_future_explain(hora_future *future, char *text, size_t size)
{
    if (future == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    int error = hora__object_check(&future->object);
    if (error < 0)
        return error;
    struct hora__matter matter;
    struct hora__text out = hora__text_begin(text, size);
    open_matter(&matter, future);
    const hora_task *task = &future->task;
    const char *name = hora__future_lock_name(future);
    hora__say_task(&out, name, task->file, task->line);
    hora__future_unlock_name(future);
    hora__text_add_char(&out, ' ');
    if (matter.state != HORA__FUTURE_NEW) {
        say_done(&out, &matter);
    } else if (matter.runner != NULL) {
        hora__text_add(&out, "is running: ");
        say_running(&out, &matter);
    } else {
        say_waiting(&out, &matter);
    }
    close_matter(&matter);
    return hora__text_end(&out);
}
