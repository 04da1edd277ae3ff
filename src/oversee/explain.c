/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - why a task has not run, or how it ended, in words
 *
 * How it works      Several locks guard the facts: the future's, that of its pool's queue, and the pool's.
 *                   Each is taken by itself, and the facts read under it become a clause. Facts read
 *                   earlier may be outdated by then, so each clause states only what was true at one
 *                   moment.
 * References        A future with an owner is in the owner's books, and until these are even no thread can
 *                   free the pool, nor a queue that was given to it. So references to both are taken under
 *                   the future's lock; afterwards they cannot go away.
 * Memory            None is allocated, so nothing can fail.
 * Locks             one at a time. */
#include "oversee/explain.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "base/ns.h"
#include "oversee/measures.h"
#include "sched/agenda_view.h"
#include "sched/scheduled.h"
#include "sched/scheduler.h"
#include "sched/zones.h"
#include "sync/clock.h"

/* ---- the future ---- */

static hora_pool *pool_of(struct hora__queue_owner *owner)
{
    return HORA__LIST_ENTRY(owner, struct hora_pool, owner);
}

/* Reads the facts that the future's lock guards, and takes the references. */
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

/* Gives the references back. */
static void close_matter(struct hora__matter *matter)
{
    (void)hora_thread_unref(matter->runner);
    if (matter->pool == NULL)
        return;
    if (!HORA__FAULT(EXPLAIN_POOL_UNREFERENCED))
        hora__object_leave(&matter->pool->object); /* this may free it */
    if (!HORA__FAULT(EXPLAIN_QUEUE_UNREFERENCED))
        hora__object_leave(&matter->queue->object);
}

/* ---- the pool ---- */

/* Adds a worker to the view of its pool. */
static void look_at_locked(struct hora__crowd *crowd, const struct hora__matter *matter,
                           struct hora__worker *worker)
{
    assert(hora__mutex_held(&matter->pool->object.lock));
    struct hora__run_reading now;
    bool is_active = hora__worker_is_active(worker);
    bool is_known =
        worker->witness != NULL && hora__worker_record_read(hora__worker_record_of(worker->witness), &now);
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
    assert(matter->pool != NULL);
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

/* ---- clauses ---- */

/* "resize (img.c:88)", "a task (img.c:88)" or "a task". */
static void add_task(struct hora__text *out, const char *name, const char *file, int line)
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

static void add_thread_error(struct hora__text *out, const struct hora__crowd *crowd)
{
    hora__text_add(out, hora_strerror(crowd->thread_error));
}

void hora__say_longest(struct hora__text *out, const char *words, const struct hora__matter *matter,
                       const struct hora__crowd *crowd)
{
    const struct hora__run_reading *now = &crowd->longest_now;
    if (crowd->longest == 0)
        return;
    hora__text_add(out, words);
    hora__text_add(out, "worker ");
    hora__say_number(out, crowd->longest);
    hora__text_add(out, " has been busy with ");
    add_task(out, now->name, now->file, now->line);
    hora__text_add(out, " for ");
    hora__say_duration(out, hora__ns_sub(matter->now, now->began));
}

/* All workers are busy: with what, and whether some do not count. */
static void add_busy(struct hora__text *out, const struct hora__matter *matter,
                     const struct hora__crowd *crowd)
{
    assert(crowd->workers > 0 && crowd->busy == crowd->workers);
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
        hora__text_add(out, crowd->written_off == 1 ? " is stuck, and does not count"
                                                    : " are stuck, and do not count");
    }
    if (crowd->thread_failures > 0 && crowd->workers < crowd->core_threads) {
        hora__text_add(out, "; no other thread could be started: ");
        add_thread_error(out, crowd);
    }
}

void hora__say_state(struct hora__text *out, const struct hora__crowd *crowd)
{
    if (crowd->state >= HORA__STOP)
        hora__text_add(out, "; its pool has been stopped");
    else if (crowd->state == HORA__SHUTDOWN)
        hora__text_add(out, "; its pool has been shut down and is running the remaining tasks");
}

void hora__say_why_not_taken(struct hora__text *out, const struct hora__matter *matter,
                             const struct hora__crowd *crowd)
{
    hora__say_state(out, crowd);
    if (crowd->state >= HORA__STOP)
        return;
    if (crowd->workers == 0 && crowd->thread_failures > 0) {
        hora__text_add(out, "; no thread could be started: ");
        add_thread_error(out, crowd);
    } else if (crowd->workers > 0 && crowd->busy == crowd->workers) {
        add_busy(out, matter, crowd);
    } else {
        hora__text_add(out, "; a worker is about to take it");
    }
}

/* ---- a scheduled task ---- */

/* What was true of a scheduled task while the lock of its timer queue was held. */
struct schedule_view {
    enum hora__place place;
    enum hora__timeline line;
    hora_ns now; /* on its timeline, like all times here */
    hora_ns due; /* HORA_FOREVER: never, or while paused */
    bool is_paused;
    bool is_held_up; /* the scheduler is being told that the clocks were set */
    bool is_given;   /* its time was given explicitly */
    bool in_admission; /* it is due, and waits for admission */
    enum hora__doubt doubt;
    int before; /* number of due tasks before it */
    bool may_overlap;
    int overlap_max;
    int running;
    hora_ns began;  /* start of the current or last run; HORA_NEVER: none */
    hora_ns every;  /* of a fixed rate, else 0 */
    bool backs_off; /* its rules back off after failures */
    int64_t runs;
    int64_t failures;
    int64_t failures_in_a_row;
};

/* Reads the state of a series. */
static void read_series(const struct hora__scheduled *scheduled, struct schedule_view *schedule)
{
    assert(scheduled->course != NULL);
    const struct hora__course *own = scheduled->course;
    schedule->is_given = own->is_given;
    schedule->doubt = own->doubt;
    schedule->may_overlap = own->crew != NULL;
    schedule->overlap_max = own->rules->overlap_max;
    schedule->running = own->running;
    schedule->began = scheduled->run.last.start;
    schedule->every = own->trigger == HORA__RATE ? own->every : 0;
    schedule->backs_off = own->rules->failure == HORA_FAILURE_BACK_OFF;
    schedule->runs = own->runs;
    schedule->failures = own->failures;
    schedule->failures_in_a_row = own->failures_in_a_row;
}

/* Reads everything there is to know of a scheduled task in one visit to its timer queue. */
static void read_schedule(const struct hora__matter *matter, struct schedule_view *ret_course)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(matter->future);
    struct hora__agenda_view view;
    struct schedule_view schedule = {.began = HORA_NEVER};
    hora__mutex_lock(&scheduled->queue->object.lock);
    hora__agenda_view_begin(&view, scheduled->queue);
    schedule.place = (enum hora__place)scheduled->entry.place;
    schedule.line = hora__scheduled_line(scheduled);
    schedule.now = view.now[schedule.line];
    schedule.due = hora__scheduled_due(scheduled);
    schedule.is_paused = scheduled->paused;
    schedule.is_held_up = view.is_telling;
    schedule.in_admission = scheduled->entry.in_admission;
    if (scheduled->course != NULL) {
        read_series(scheduled, &schedule);
    } else {
        schedule.running = scheduled->is_running ? 1 : 0;
        schedule.began = scheduled->has_begun ? scheduled->run.last.start : HORA_NEVER;
    }
    if (schedule.place == HORA__WAITS && schedule.due <= schedule.now)
        schedule.before = hora__agenda_view_before(&view, &scheduled->entry);
    hora__mutex_unlock(&scheduled->queue->object.lock);
    *ret_course = schedule;
}

/* ---- words ---- */

static void add_two_digits(struct hora__text *out, char before, int number)
{
    hora__text_add_char(out, before);
    hora__text_add_number(out, (uint64_t)number, 2);
}

/* " (2026-11-16 03:00:00 Europe/Zurich)" */
static void add_moment(struct hora__text *out, const hora_zone *zone, hora_instant instant)
{
    hora_local local;
    if (hora_zone_to_local(zone, instant, &local) < 0)
        return;
    hora__text_add(out, " (");
    hora__text_add_number(out, (uint64_t)local.year, 4);
    add_two_digits(out, '-', local.month);
    add_two_digits(out, '-', local.day);
    add_two_digits(out, ' ', local.hour);
    add_two_digits(out, ':', local.minute);
    add_two_digits(out, ':', local.second);
    hora__text_add_char(out, ' ');
    const char *name = hora_zone_name(zone);
    hora__text_add(out, strcmp(name, "local") == 0 ? local.short_name : name);
    hora__text_add_char(out, ')');
}

static void add_when(struct hora__text *out, const struct hora__matter *matter,
                     const struct schedule_view *schedule)
{
    hora__text_add(out, "in ");
    hora__say_duration(out, hora__ns_sub(schedule->due, schedule->now));
    const struct hora__scheduled *scheduled = hora__scheduled_of(matter->future);
    if (schedule->line == HORA__WALL)
        add_moment(out, hora__zones_of(hora__scheduled_rules(scheduled)->trigger),
                   (hora_instant){schedule->due});
}

/* Runs that go on at the same time. */
static void add_others(struct hora__text *out, const struct schedule_view *schedule)
{
    if (!schedule->may_overlap || schedule->running == 0)
        return;
    hora__text_add(out, "; ");
    hora__say_count(out, schedule->running, "run");
    hora__text_add(out, schedule->running == 1 ? " of it is in progress" : " of it are in progress");
    if (schedule->running == schedule->overlap_max)
        hora__text_add(out, ", the maximum");
}

/* Its time has not come. */
static void add_not_yet(struct hora__text *out, const struct hora__matter *matter,
                        const struct schedule_view *schedule)
{
    assert(schedule->due > schedule->now);
    if (schedule->due == HORA_FOREVER) {
        hora__text_add(out, "waits for a time that never comes");
        return;
    }
    if (schedule->backs_off && schedule->is_given && schedule->failures_in_a_row > 0) {
        hora__text_add(out, "backs off after failure ");
        hora__say_number(out, schedule->failures);
        if (schedule->failures_in_a_row > 1) {
            hora__text_add(out, ", the ");
            hora__say_ordinal(out, schedule->failures_in_a_row);
            hora__text_add(out, " in a row");
        }
        hora__text_add(out, ": next attempt ");
    } else {
        hora__text_add(out, "waits for its time: ");
    }
    add_when(out, matter, schedule);
}

/* Its time has come, but no worker has taken it. */
static void add_due(struct hora__text *out, const struct hora__matter *matter,
                    const struct schedule_view *schedule)
{
    assert(schedule->due <= schedule->now);
    if (schedule->doubt == HORA__NEW_RULES) {
        hora__text_add(out, "must recompute its next time, because zones were refreshed");
    } else if (schedule->doubt == HORA__SET_BACK) {
        hora__text_add(out, "must recompute its next time, because the clock was set back");
    } else if (schedule->due == schedule->now) {
        hora__text_add(out, "is due now");
    } else {
        hora__text_add(out, "has been due for ");
        hora__say_duration(out, hora__ns_sub(schedule->now, schedule->due));
    }
    if (schedule->in_admission) {
        hora__text_add(out, ", and ");
        hora__explain_admission(out, matter);
        return;
    }
    if (schedule->before > 0) {
        hora__text_add(out, "; ");
        hora__say_count(out, schedule->before, "task");
        hora__text_add(out,
                       schedule->before == 1 ? " that is due is ahead of it" : " that are due are ahead of it");
    }
    if (schedule->is_held_up) {
        hora__text_add(
            out, "; its scheduler is processing a clock change and starts nothing meanwhile");
        return;
    }
    struct hora__crowd crowd;
    hora__crowd_look(matter, &crowd);
    hora__say_why_not_taken(out, matter, &crowd);
}

static void add_waits(struct hora__text *out, const struct hora__matter *matter,
                      const struct schedule_view *schedule)
{
    if (schedule->is_paused)
        hora__text_add(out, "is paused");
    else if (schedule->due > schedule->now)
        add_not_yet(out, matter, schedule);
    else
        add_due(out, matter, schedule);
    add_others(out, schedule);
}

/* A scheduled task that is neither done nor running. */
static void add_scheduled(struct hora__text *out, const struct hora__matter *matter)
{
    struct schedule_view schedule;
    read_schedule(matter, &schedule);
    switch (schedule.place) {
    case HORA__WAITS:
        add_waits(out, matter, &schedule);
        return;
    case HORA__TAKEN:
    case HORA__RUNS:
        hora__text_add(out, "has been taken by a worker, which is about to run it or to put it back");
        return;
    case HORA__SWEPT:
        hora__text_add(out, "is being removed, because its scheduler was shut down or stopped");
        return;
    case HORA__OUT:
    default:
        hora__text_add(out, schedule.running > 0
                                ? "has no further time, and is over when its current runs end"
                                : "is being added to or removed from its scheduler");
    }
}

/* ---- running or over ---- */

/* How long the current run of a scheduled task has taken; < 0: unknown. */
static hora_ns running_for(const struct hora__matter *matter)
{
    struct schedule_view schedule;
    read_schedule(matter, &schedule);
    bool is_known = schedule.running > 0 && schedule.began != HORA_NEVER && schedule.began <= schedule.now;
    return is_known ? hora__ns_sub(schedule.now, schedule.began) : -1;
}

/* What the current run means for the next one: a clause, or nothing. */
static void add_next_run(struct hora__text *out, const struct hora__matter *matter)
{
    struct schedule_view schedule;
    read_schedule(matter, &schedule);
    hora_ns next = hora__ns_add(schedule.due, schedule.every);
    if (schedule.running == 0 || schedule.every == 0 || schedule.is_paused || next > schedule.now)
        return;
    hora__text_add(out, "; the next run was due ");
    hora__say_duration(out, hora__ns_sub(schedule.now, next));
    hora__text_add(out, " ago, and waits for the end of this one");
}

/* How a series has come to its end. */
static void add_end_of_series(struct hora__text *out, const struct hora__matter *matter)
{
    struct schedule_view schedule;
    read_schedule(matter, &schedule);
    hora__text_add(out, "is over: it has run ");
    if (schedule.runs == 1)
        hora__text_add(out, "once");
    else
        hora__say_count(out, schedule.runs, "time");
}

/* ---- it runs ---- */

/* Whether the worker's note is about this task, and not about one that the task runs while it waits. */
static bool is_noted(const struct hora__matter *matter, const struct hora__crowd *crowd)
{
    const hora_task *task = &matter->future->task;
    return crowd->runner_is_known && crowd->runner_now.file == task->file &&
           crowd->runner_now.line == task->line;
}

static void add_progress(struct hora__text *out, const struct hora__matter *matter,
                         const struct hora__run_reading *now)
{
    assert(now != NULL);
    if (now->progress == HORA_NEVER)
        return;
    if (now->of > 0) {
        hora__text_add(out, "; it has done ");
        hora__say_number(out, now->done);
        hora__text_add(out, " of ");
        hora__say_number(out, now->of);
        hora__text_add(out, ", as reported ");
    } else {
        hora__text_add(out, "; it made progress ");
    }
    hora__say_duration(out, hora__ns_sub(matter->now, now->progress));
    hora__text_add(out, " ago");
}

/* The thread that runs the task, and for how long, if that is known: `ran` < 0 if it is not. */
static void add_runner(struct hora__text *out, const struct hora__matter *matter,
                       const struct hora__crowd *crowd, hora_ns ran)
{
    if (crowd->runner > 0) {
        hora__text_add(out, "worker ");
        hora__say_number(out, crowd->runner);
    } else {
        hora__text_add(out, matter->runner == hora__thread_existing() ? "the calling thread"
                                                                      : "a thread that is not a worker");
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
        add_progress(out, matter, &crowd->runner_now);
}

static void add_running(struct hora__text *out, const struct hora__matter *matter)
{
    struct hora__crowd crowd = {.workers = 0};
    if (matter->pool != NULL)
        hora__crowd_look(matter, &crowd);
    bool is_scheduled = hora__scheduled_of(matter->future) != NULL;
    add_runner(out, matter, &crowd, is_scheduled ? running_for(matter) : -1);
    if (is_scheduled && matter->state == HORA__FUTURE_NEW)
        add_next_run(out, matter);
}

/* ---- it is done ---- */

static void add_expired(struct hora__text *out, const struct hora__matter *matter)
{
    const struct hora__extra *extra = hora__future_extra(matter->future);
    bool may_start = extra != NULL && extra->terms.start_within > 0;
    bool may_end = extra != NULL && extra->terms.finish_within > 0;
    hora__text_add(out, "expired: it ");
    if (may_start == may_end)
        hora__text_add(out, "did not start or finish in time");
    else
        hora__text_add(out, may_start ? "did not start in time" : "did not finish in time");
}

static void add_failed(struct hora__text *out, const struct hora__matter *matter)
{
    switch (matter->failure) {
    case HORA_EREJECTED:
        hora__text_add(out,
                       "was rejected: its pool had neither a thread nor room for it, or had been shut down");
        return;
    case HORA_EABANDONED:
        hora__text_add(out, "was abandoned: its pool was stopped, or it ended its thread");
        return;
    case HORA_EEXPIRED:
        add_expired(out, matter);
        return;
    default:
        hora__text_add(out, "failed with code ");
        hora__say_number(out, matter->failure);
    }
}

static void add_done(struct hora__text *out, const struct hora__matter *matter)
{
    assert(matter->state != HORA__FUTURE_NEW);
    switch (matter->state) {
    case HORA__FUTURE_NORMAL:
        if (matter->future->task.run == NULL)
            hora__text_add(out, "was completed");
        else if (hora_future_is_periodic(matter->future))
            add_end_of_series(out, matter);
        else
            hora__text_add(out, "ran and succeeded");
        return;
    case HORA__FUTURE_EXCEPTIONAL:
        add_failed(out, matter);
        return;
    default:
        hora__text_add(out, "was cancelled");
        if (matter->runner != NULL) {
            hora__text_add(out, ", but is still running: ");
            add_running(out, matter);
        }
    }
}

/* ---- it waits in a queue in order of submission ---- */

struct search {
    const hora_future *future;
    bool is_found;
    int before;
    hora_ns oldest; /* how long the first one has waited; HORA_NEVER: unknown */
    hora_ns now;
};

/* Visits the queue up to the task, and counts the tasks before it. */
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

static void add_position(struct hora__text *out, const struct search *search)
{
    assert(search->is_found && search->before >= 0);
    if (search->before == 0) {
        hora__text_add(out, "is the first in the queue");
        return;
    }
    hora__text_add(out, "is the ");
    hora__say_ordinal(out, (int64_t)search->before + 1);
    hora__text_add(out, " in the queue: ");
    hora__say_count(out, search->before, "task");
    hora__text_add(out, search->before == 1 ? " is ahead of it" : " are ahead of it");
    if (search->oldest != HORA_NEVER) {
        hora__text_add(out, search->before == 1 ? ", and has waited for " : ", the oldest has waited for ");
        hora__say_duration(out, search->oldest);
    }
}

/* For a queue with an order of its own. */
static void add_somewhere(struct hora__text *out, int size)
{
    hora__text_add(out, "is one of ");
    hora__say_count(out, size, "task");
    hora__text_add(out, " in a queue with an order of its own");
}

/* A task that waits in the queue of a pool without admission. */
static void add_queued(struct hora__text *out, const struct hora__matter *matter)
{
    assert(matter->pool != NULL && matter->queue != NULL);
    hora_queue *queue = matter->queue;
    struct hora__crowd crowd;
    struct search search = {.future = matter->future, .oldest = HORA_NEVER, .now = matter->now};
    bool is_ordered = hora__work_is_ordered(queue);
    /* Only a queue that knows its order has positions. A scheduler's queue also holds entries that are not
     * futures. */
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
        add_position(out, &search);
    else
        add_somewhere(out, size);
    hora__say_why_not_taken(out, matter, &crowd);
}

/* A task that is neither done nor running. */
static void add_waiting(struct hora__text *out, const struct hora__matter *matter)
{
    assert(matter->runner == NULL);
    if (matter->future->task.run == NULL)
        hora__text_add(out, "is a promise that has not been completed");
    else if (matter->is_listed)
        hora__text_add(out, "was handed back by a pool that was stopped, and is in no queue");
    else if (matter->pool == NULL)
        hora__text_add(out, "is in no queue: it has not been executed, or has been removed");
    else if (hora__scheduled_of(matter->future) != NULL)
        add_scheduled(out, matter);
    else if (matter->pool->admission != NULL && matter->pool->kind == NULL)
        hora__explain_admission(out, matter);
    else
        add_queued(out, matter);
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
    add_task(&out, name, task->file, task->line);
    hora__future_unlock_name(future);
    hora__text_add_char(&out, ' ');
    if (matter.state != HORA__FUTURE_NEW) {
        add_done(&out, &matter);
    } else if (matter.runner != NULL) {
        hora__text_add(&out, "is running: ");
        add_running(&out, &matter);
    } else {
        add_waiting(&out, &matter);
    }
    close_matter(&matter);
    return hora__text_end(&out);
}
