/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - why a task has not run, or how it ended, in words
 *
 * How it works      Several locks guard the facts: the future's, that of its pool's queue, and the pool's.
 *                   Each is taken on its own, and the facts read under it become a clause. Facts that were
 *                   read earlier may be outdated by then, so each clause states only what was true at one
 *                   moment.
 * References        A future with an owner is in the books of that pool as unfinished. While the books have
 *                   unfinished tasks, no thread can free the pool, nor a queue that was given to it. So
 *                   references to both can be taken under the future's lock, and they keep both alive
 *                   afterwards.
 * Memory            None is allocated, so a lack of memory cannot prevent an explanation.
 * Locks             One at a time. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <hora/explain.h>

#include "admit/admission_queue.h"
#include "base/fault.h"
#include "base/ns.h"
#include "base/text.h"
#include "observe/measures.h"
#include "observe/observer.h"
#include "sched/scheduled.h"
#include "sched/scheduler.h"
#include "sched/timer_queue_view.h"
#include "sched/trigger.h"
#include "sync/clock.h"

/* ---- facts ----
 *
 * The facts are copies. Each struct holds what was true while one lock was held. */

/* The facts about a future, read under its lock. */
struct explained_future {
    hora_future *future; /* the caller's; borrowed */
    enum hora__future_state state;
    int failure;         /* its code, if it has failed */
    bool is_listed;      /* a pool that was stopped has handed it back */
    hora_thread *runner; /* a reference; NULL: no thread runs it */
    hora_pool *pool;     /* the pool that will run it; a reference, which keeps its queue too; NULL: none */
    hora_ns now;         /* on the pool's clock, or on the future's clock if it has no pool */
};

/* The facts about a pool and its workers, read under the pool's lock. */
struct pool_view {
    enum hora__run_state state;
    int workers;                          /* without those that were written off */
    int busy;                             /* how many of these run a task */
    int written_off;                      /* workers that were replaced because they are stuck */
    int core_threads;                     /* the pool's setting */
    int thread_failures;                  /* threads that could not be started */
    int thread_error;                     /* why the last of them could not */
    int runner;                           /* number of the worker that runs the future; 0: none */
    bool runner_is_known;                 /* runner_now is set */
    struct hora__run_reading runner_now;  /* what the runner has noted */
    int longest;                          /* number of the worker whose current run began first; 0: unknown */
    struct hora__run_reading longest_now; /* what that worker has noted */
};

/* ---- the future ---- */

static hora_pool *pool_of(struct hora__queue_owner *owner)
{
    return HORA__LIST_ENTRY(owner, struct hora_pool, owner);
}

/* Reads the facts that the future's lock guards, and takes the references that release_future releases. */
static void read_future(struct explained_future *explained, hora_future *future)
{
    *explained = (struct explained_future){.future = future};
    hora__mutex_lock(&future->object.lock);
    explained->state = (enum hora__future_state)hora__atomic_load(&future->state);
    explained->failure = future->failure;
    explained->is_listed = future->listed;
    explained->runner = hora_thread_ref(future->runner);
    if (future->owner != NULL) {
        explained->pool = pool_of(future->owner);
        if (!HORA__FAULT(EXPLAIN_POOL_UNREFERENCED))
            hora__object_ref(&explained->pool->object);
    }
    explained->now =
        hora_clock_now(explained->pool != NULL ? explained->pool->object.clock : future->object.clock);
    hora__mutex_unlock(&future->object.lock);
}

/* Releases the references. */
static void release_future(struct explained_future *explained)
{
    (void)hora_thread_unref(explained->runner);
    if (explained->pool != NULL && !HORA__FAULT(EXPLAIN_POOL_UNREFERENCED))
        hora__object_leave(&explained->pool->object);
}

/* ---- the pool ---- */

/* Adds a worker to the view of its pool. The caller holds the pool's lock. A worker without a record, in a
 * pool without an observer, is counted, but its current run is unknown. */
static void look_at_locked(struct pool_view *pool_view, const struct explained_future *explained,
                           struct hora__worker *worker)
{
    assert(hora__mutex_held(&explained->pool->object.lock));
    struct hora__run_reading now;
    bool is_active = hora__worker_is_active(worker);
    bool is_known = worker->worker_observer != NULL &&
                    hora__worker_record_read(hora__worker_record_of(worker->worker_observer), &now);
    bool is_off = hora__worker_is_written_off(worker);
    pool_view->workers += is_off ? 0 : 1;
    pool_view->busy += is_active && !is_off ? 1 : 0;
    pool_view->written_off += is_off ? 1 : 0;
    if (explained->runner != NULL && worker->thread == explained->runner) {
        pool_view->runner = worker->number;
        pool_view->runner_is_known = is_known;
        if (is_known)
            pool_view->runner_now = now;
    }
    if (is_known && !is_off && (pool_view->longest == 0 || now.began < pool_view->longest_now.began)) {
        pool_view->longest = worker->number;
        pool_view->longest_now = now;
    }
}

/* Reads the facts about the pool and its workers, all under one hold of the pool's lock, so that the numbers
 * of workers agree. */
static void read_pool(const struct explained_future *explained, struct pool_view *ret_pool_view)
{
    assert(explained->pool != NULL);
    hora_pool *pool = explained->pool;
    struct pool_view pool_view = {.workers = 0};
    hora__mutex_lock(&pool->object.lock);
    pool_view.state = hora__state_of(hora__atomic_load(&pool->control));
    pool_view.core_threads = hora__atomic_load(&pool->core_threads);
    pool_view.thread_failures = pool->thread_failures;
    pool_view.thread_error = pool->thread_error;
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next)
        look_at_locked(&pool_view, explained, HORA__LIST_ENTRY(link, struct hora__worker, link));
    hora__mutex_unlock(&pool->object.lock);
    *ret_pool_view = pool_view;
}

/* ---- clauses ---- */

/* Adds "resize (img.c:88)", "a task (img.c:88)", "resize" or "a task". */
static void add_task(struct hora__text *out, const char *name, const char *file, int line)
{
    hora__text_add(out, name != NULL ? name : "a task");
    if (file == NULL)
        return;
    hora__text_add(out, " (");
    hora__text_add(out, file);
    hora__text_add_char(out, ':');
    hora__text_add_int(out, line);
    hora__text_add_char(out, ')');
}

static void add_thread_error(struct hora__text *out, const struct pool_view *pool_view)
{
    hora__text_add(out, hora_strerror(pool_view->thread_error));
}

/* Adds `words` and "worker 3 has been busy with resize (img.c:88) for 9 s", if that is known. The longest run
 * is the likeliest cause of a delay, so it is the one that is named. */
static void add_longest(struct hora__text *out, const char *words, const struct explained_future *explained,
                        const struct pool_view *pool_view)
{
    const struct hora__run_reading *now = &pool_view->longest_now;
    if (pool_view->longest == 0)
        return;
    hora__text_add(out, words);
    hora__text_add(out, "worker ");
    hora__text_add_int(out, pool_view->longest);
    hora__text_add(out, " has been busy with ");
    add_task(out, now->name, now->file, now->line);
    hora__text_add(out, " for ");
    hora__text_add_duration(out, hora__ns_sub(explained->now, now->began));
}

/* Adds a clause that all workers are busy, with the task that runs longest, with the workers that were
 * written off, and with the reason if no more threads could be started. */
static void add_busy(struct hora__text *out, const struct explained_future *explained,
                     const struct pool_view *pool_view)
{
    assert(pool_view->workers > 0 && pool_view->busy == pool_view->workers);
    if (pool_view->workers == 1) {
        hora__text_add(out, "; its pool's only worker is busy");
    } else {
        hora__text_add(out, "; all ");
        hora__text_add_count(out, pool_view->workers, "worker");
        hora__text_add(out, " are busy");
    }
    add_longest(out, ": ", explained, pool_view);
    if (pool_view->written_off > 0) {
        hora__text_add(out, "; ");
        hora__text_add_count(out, pool_view->written_off, "worker");
        hora__text_add(out, pool_view->written_off == 1 ? " is stuck, and does not count"
                                                        : " are stuck, and do not count");
    }
    if (pool_view->thread_failures > 0 && pool_view->workers < pool_view->core_threads) {
        hora__text_add(out, "; no other thread could be started: ");
        add_thread_error(out, pool_view);
    }
}

/* Adds a clause if the pool has been shut down or stopped. */
static void add_state(struct hora__text *out, const struct pool_view *pool_view)
{
    if (pool_view->state >= HORA__STOP)
        hora__text_add(out, "; its pool has been stopped");
    else if (pool_view->state == HORA__SHUTDOWN)
        hora__text_add(out, "; its pool has been shut down and is running the remaining tasks");
}

/* Adds clauses that explain why no worker takes a task that is ready. Distinguishes a pool that is stopped,
 * one that could not start a thread, one whose workers are all busy, and one where a worker is idle: that one
 * has been or will be woken. */
static void add_not_taken(struct hora__text *out, const struct explained_future *explained,
                          const struct pool_view *pool_view)
{
    add_state(out, pool_view);
    if (pool_view->state >= HORA__STOP)
        return;
    if (pool_view->workers == 0 && pool_view->thread_failures > 0) {
        hora__text_add(out, "; no thread could be started: ");
        add_thread_error(out, pool_view);
    } else if (pool_view->workers > 0 && pool_view->busy == pool_view->workers) {
        add_busy(out, explained, pool_view);
    } else {
        hora__text_add(out, "; a worker is about to take it");
    }
}

/* ---- a task that waits for admission ----
 *
 * See hora/admission.h for the rules. Admission gives the reason, in one visit to the queue. If the reason is
 * a key, the worker that runs the first task of that key is found after the visit, through a reference to the
 * task's future: its lock cannot be taken together with the queue's. */

/* The decision of admission about a task, read under the lock of the queue. */
struct ruling {
    bool waits;                   /* the task waits for admission; if not, the fields below are not set */
    enum hora__why why;           /* the first reason that keeps it from starting */
    struct hora__why_facts facts; /* the numbers behind the reason */
    const char *class_name;       /* lives as long as the pool; NULL: it has no class */
    int rate;                     /* of its class: at most this many starts */
    hora_ns per;                  /* within this time */
    hora_ns now;                  /* on the pool's clock */
    hora_future *first;           /* the running task with its key: a reference; NULL: none runs */
};

/* Fills the ruling for a ticket that waits. The caller holds the lock of the queue. A waiting ticket always
 * has a class; that of a task without one is the plain class of the admission. */
static void ask_locked(struct ruling *ruling, const struct hora__admission *admission,
                       const struct hora__ticket *ticket)
{
    const struct hora__admission_class *class = ticket->class;
    ruling->waits = true;
    ruling->why = hora__admission_why(admission, ticket, ruling->now, &ruling->facts);
    ruling->class_name = class->name;
    ruling->rate = class->rate;
    ruling->per = class->per;
    if (ruling->facts.key_runs)
        ruling->first = hora_future_ref(ruling->facts.first->item);
}

/* Fills the ruling in one visit to the queue. The caller releases ruling->first. */
static void ask(struct ruling *ruling, const struct explained_future *explained)
{
    assert(explained->pool->admission != NULL);
    *ruling = (struct ruling){.now = explained->now};
    hora__mutex_lock(&explained->pool->queue->object.lock);
    const struct hora__ticket *ticket =
        hora__admission_queue_waiting(explained->pool->admission, explained->future);
    if (ticket != NULL)
        ask_locked(ruling, &explained->pool->admission->admission, ticket);
    hora__mutex_unlock(&explained->pool->queue->object.lock);
}

/* Returns the number of the worker that runs a future; 0: no worker of this pool does. Looks for the runner
 * of `future` in a second view of the same pool. */
static int worker_of(const struct explained_future *explained, hora_future *future)
{
    struct explained_future other = *explained;
    struct pool_view pool_view;
    hora__mutex_lock(&future->object.lock);
    other.runner = hora_thread_ref(future->runner);
    hora__mutex_unlock(&future->object.lock);
    read_pool(&other, &pool_view);
    (void)hora_thread_unref(other.runner);
    return pool_view.runner;
}

/* HORA__WHY_KEY: tasks with the same key are before it, and one of them may be running. */
static void add_key(struct hora__text *out, const struct explained_future *explained,
                    const struct ruling *ruling)
{
    int behind = ruling->facts.behind;
    hora__text_add(out, "waits: ");
    hora__text_add_count(out, behind, "task");
    hora__text_add(out, behind == 1 ? " with its key is ahead of it" : " with its key are ahead of it");
    int number = ruling->first != NULL ? worker_of(explained, ruling->first) : 0;
    if (ruling->first == NULL)
        return;
    hora__text_add(out, behind == 1 ? ", which is running" : ", one of which is running");
    if (number > 0) {
        hora__text_add(out, " on worker ");
        hora__text_add_int(out, number);
    }
}

static void add_class(struct hora__text *out, const struct ruling *ruling)
{
    hora__text_add(out, "waits: its class ");
    hora__text_add(out, ruling->class_name);
}

/* HORA__WHY_LIMIT: its class runs as many tasks as it may. Names the longest running task only if all running
 * tasks belong to that class; otherwise it may be one of another class. */
static void add_limit(struct hora__text *out, const struct explained_future *explained,
                      const struct ruling *ruling, const struct pool_view *pool_view)
{
    const struct hora__why_facts *facts = &ruling->facts;
    add_class(out, ruling);
    hora__text_add(out, " is at its limit of ");
    hora__text_add_int(out, facts->limit);
    if (facts->running == facts->class_running)
        add_longest(out, "; ", explained, pool_view);
}

/* HORA__WHY_RATE: its class has started as many tasks as its rate allows. */
static void add_rate(struct hora__text *out, const struct ruling *ruling)
{
    add_class(out, ruling);
    hora__text_add(out, " has reached its rate of ");
    hora__text_add_int(out, ruling->rate);
    hora__text_add(out, " in ");
    hora__text_add_duration(out, ruling->per);
    hora__text_add(out, "; the next task may start in ");
    hora__text_add_duration(out, hora__ns_sub(ruling->facts.until, ruling->now));
}

/* HORA__WHY_RESERVED: the threads that are left are reserved for other classes. */
static void add_reserved(struct hora__text *out, const struct ruling *ruling)
{
    hora__text_add(out, "waits: ");
    hora__text_add_count(out, ruling->facts.reserved, "thread");
    hora__text_add(out, ruling->facts.reserved == 1
                            ? " is reserved for other classes, and all others are busy"
                            : " are reserved for other classes, and all others are busy");
}

/* Adds how many tickets are ahead of it, whatever they wait for themselves. */
static void add_before(struct hora__text *out, const struct ruling *ruling)
{
    int before = ruling->facts.before;
    if (before == 0) {
        hora__text_add(out, "is the next to start");
        return;
    }
    hora__text_add(out, "waits: ");
    hora__text_add_count(out, before, "task");
    hora__text_add(out, before == 1 ? " with a higher priority or a longer wait is ahead of it"
                                    : " with a higher priority or a longer wait are ahead of it");
}

/* Adds the clauses for a task that waits. If only its place in the order and busy workers delay it, the
 * workers are described as well. */
static void add_ruling(struct hora__text *out, const struct explained_future *explained,
                       const struct ruling *ruling, const struct pool_view *pool_view)
{
    switch (ruling->why) {
    case HORA__WHY_KEY:
        add_key(out, explained, ruling);
        break;
    case HORA__WHY_LIMIT:
        add_limit(out, explained, ruling, pool_view);
        break;
    case HORA__WHY_RATE:
        add_rate(out, ruling);
        break;
    case HORA__WHY_RESERVED:
        add_reserved(out, ruling);
        break;
    case HORA__WHY_BUSY:
    case HORA__WHY_ORDER:
    case HORA__WHY_NOTHING:
    default:
        add_before(out, ruling);
        add_not_taken(out, explained, pool_view);
        return;
    }
    add_state(out, pool_view);
}

/* Adds clauses that explain why a task of a pool with admission does not begin. The task is not done, and no
 * worker runs it; in a scheduler it is due. If it no longer waits when the queue is visited, it has been
 * admitted since the future was read. */
static void add_admission(struct hora__text *out, const struct explained_future *explained)
{
    struct ruling ruling;
    struct pool_view pool_view;
    ask(&ruling, explained);
    read_pool(explained, &pool_view);
    if (ruling.waits)
        add_ruling(out, explained, &ruling, &pool_view);
    else
        hora__text_add(out, "has been given to a worker, which is about to run it");
    (void)hora_future_unref(ruling.first);
}

/* ---- a scheduled task ---- */

/* The facts about a scheduled task, read under the lock of its timer queue. The fields that concern a series
 * are 0 for a task that runs once. */
struct schedule_view {
    enum hora__stage stage;         /* where its entry is: in the timer queue, taken, removed */
    enum hora__timeline line;       /* the timeline that its due time refers to */
    hora_ns now;                    /* on its timeline, like all times here */
    hora_ns due;                    /* HORA_FOREVER: never, or while paused */
    bool is_paused;                 /* the user has paused it */
    bool is_held_up;                /* a worker is reporting that the clocks were set; no task starts */
    bool is_given;                  /* its next time was given explicitly, not by its trigger */
    bool in_admission;              /* it is due, and waits for admission */
    enum hora__staleness staleness; /* why its next time must be computed again, if it must */
    int before;                     /* number of due tasks before it */
    bool may_overlap;               /* runs of the series may overlap */
    int overlap_max;                /* maximum number of its runs at the same time */
    int running;                    /* number of its runs now */
    hora_ns began;                  /* start of the current or last run; HORA_NEVER: none */
    hora_ns every;                  /* period of a fixed rate, else 0 */
    bool backs_off;                 /* the rules of the series back off after failures */
    int64_t runs;                   /* number of runs so far */
    int64_t failures;               /* number of failed runs so far */
    int64_t failures_in_a_row;      /* number of failed runs since the last success */
};

/* Reads the state of a series. The caller holds the lock of its timer queue. */
static void read_series(const struct hora__scheduled *scheduled, struct schedule_view *schedule)
{
    assert(scheduled->series != NULL && hora__mutex_held(&scheduled->queue->object.lock));
    const struct hora__series *own = scheduled->series;
    schedule->is_given = own->is_given;
    schedule->staleness = own->staleness;
    schedule->may_overlap = own->overlap != NULL;
    schedule->overlap_max = own->rules->overlap_max;
    schedule->running = own->running;
    schedule->began = scheduled->run.last.start;
    schedule->every = own->trigger == HORA__RATE ? own->every : 0;
    schedule->backs_off = own->rules->failure == HORA_FAILURE_BACK_OFF;
    schedule->runs = own->runs;
    schedule->failures = own->failures;
    schedule->failures_in_a_row = own->failures_in_a_row;
}

/* Reads all facts about a scheduled task in one visit to its timer queue, so that they belong together. */
static void read_schedule(const struct explained_future *explained, struct schedule_view *ret_series)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(explained->future);
    struct hora__timer_queue_view view;
    struct schedule_view schedule = {.began = HORA_NEVER};
    hora__mutex_lock(&scheduled->queue->object.lock);
    hora__timer_queue_view_begin(&view, scheduled->queue);
    schedule.stage = (enum hora__stage)scheduled->entry.stage;
    schedule.line = hora__scheduled_line(scheduled);
    schedule.now = view.now[schedule.line];
    schedule.due = hora__scheduled_due(scheduled);
    schedule.is_paused = scheduled->paused;
    schedule.is_held_up = view.is_notifying;
    schedule.in_admission = scheduled->entry.in_admission;
    if (scheduled->series != NULL) {
        read_series(scheduled, &schedule);
    } else {
        schedule.running = scheduled->is_running ? 1 : 0;
        schedule.began = scheduled->has_begun ? scheduled->run.last.start : HORA_NEVER;
    }
    /* The number of tasks before it matters only if it is due. */
    if (schedule.stage == HORA__WAITS && schedule.due <= schedule.now)
        schedule.before = hora__timer_queue_view_before(&view, &scheduled->entry);
    hora__mutex_unlock(&scheduled->queue->object.lock);
    *ret_series = schedule;
}

/* ---- words ---- */

static void add_two_digits(struct hora__text *out, char before, int number)
{
    hora__text_add_char(out, before);
    hora__text_add_number(out, (uint64_t)number, 2);
}

/* Adds " (2026-11-16 03:00:00 Europe/Zurich)". The local zone has no name of its own, so the abbreviation
 * that applies at that time is used for it. */
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

/* Adds how long it is until the next run, and, for a task on the wall clock, the calendar time in its
 * zone. */
static void add_when(struct hora__text *out, const struct explained_future *explained,
                     const struct schedule_view *schedule)
{
    hora__text_add(out, "in ");
    hora__text_add_duration(out, hora__ns_sub(schedule->due, schedule->now));
    const struct hora__scheduled *scheduled = hora__scheduled_of(explained->future);
    if (schedule->line == HORA__WALL)
        add_moment(out, hora__cron_trigger_zone(hora__scheduled_rules(scheduled)->trigger),
                   (hora_instant){schedule->due});
}

/* Adds the number of runs in progress of a series whose runs may overlap. */
static void add_others(struct hora__text *out, const struct schedule_view *schedule)
{
    if (!schedule->may_overlap || schedule->running == 0)
        return;
    hora__text_add(out, "; ");
    hora__text_add_count(out, schedule->running, "run");
    hora__text_add(out, schedule->running == 1 ? " of it is in progress" : " of it are in progress");
    if (schedule->running == schedule->overlap_max)
        hora__text_add(out, ", the maximum");
}

/* Explains a task that is not due yet: it waits for its time, or for the next attempt after a failure. */
static void add_not_yet(struct hora__text *out, const struct explained_future *explained,
                        const struct schedule_view *schedule)
{
    assert(schedule->due > schedule->now);
    if (schedule->due == HORA_FOREVER) {
        hora__text_add(out, "waits for a time that never comes");
        return;
    }
    if (schedule->backs_off && schedule->is_given && schedule->failures_in_a_row > 0) {
        hora__text_add(out, "backs off after failure ");
        hora__text_add_int(out, schedule->failures);
        if (schedule->failures_in_a_row > 1) {
            hora__text_add(out, ", the ");
            hora__text_add_ordinal(out, schedule->failures_in_a_row);
            hora__text_add(out, " in a row");
        }
        hora__text_add(out, ": next attempt ");
    } else {
        hora__text_add(out, "waits for its time: ");
    }
    add_when(out, explained, schedule);
}

/* Explains a task that is due, but that no worker has taken. Reads the pool only at the end, since admission
 * and a clock change explain enough. */
static void add_due(struct hora__text *out, const struct explained_future *explained,
                    const struct schedule_view *schedule)
{
    assert(schedule->due <= schedule->now);
    if (schedule->staleness == HORA__NEW_RULES) {
        hora__text_add(out, "must recompute its next time, because zones were refreshed");
    } else if (schedule->staleness == HORA__SET_BACK) {
        hora__text_add(out, "must recompute its next time, because the clock was set back");
    } else if (schedule->due == schedule->now) {
        hora__text_add(out, "is due now");
    } else {
        hora__text_add(out, "has been due for ");
        hora__text_add_duration(out, hora__ns_sub(schedule->now, schedule->due));
    }
    if (schedule->in_admission) {
        hora__text_add(out, ", and ");
        add_admission(out, explained);
        return;
    }
    if (schedule->before > 0) {
        hora__text_add(out, "; ");
        hora__text_add_count(out, schedule->before, "task");
        hora__text_add(out, schedule->before == 1 ? " that is due is ahead of it"
                                                  : " that are due are ahead of it");
    }
    if (schedule->is_held_up) {
        hora__text_add(out, "; its scheduler is processing a clock change and starts nothing meanwhile");
        return;
    }
    struct pool_view pool_view;
    read_pool(explained, &pool_view);
    add_not_taken(out, explained, &pool_view);
}

/* Explains a scheduled task that is in the timer queue. */
static void add_waits(struct hora__text *out, const struct explained_future *explained,
                      const struct schedule_view *schedule)
{
    if (schedule->is_paused)
        hora__text_add(out, "is paused");
    else if (schedule->due > schedule->now)
        add_not_yet(out, explained, schedule);
    else
        add_due(out, explained, schedule);
    add_others(out, schedule);
}

/* Explains a scheduled task that is neither done nor running, by the stage of its entry. */
static void add_scheduled(struct hora__text *out, const struct explained_future *explained)
{
    struct schedule_view schedule;
    read_schedule(explained, &schedule);
    switch (schedule.stage) {
    case HORA__WAITS:
        add_waits(out, explained, &schedule);
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
        hora__text_add(out, schedule.running > 0 ? "has no further time, and ends when its current runs end"
                                                 : "is being added to or removed from its scheduler");
    }
}

/* ---- running or over ---- */

/* Returns how long the current run of a scheduled task has taken so far; < 0: unknown. */
static hora_ns running_for(const struct explained_future *explained)
{
    struct schedule_view schedule;
    read_schedule(explained, &schedule);
    bool is_known = schedule.running > 0 && schedule.began != HORA_NEVER && schedule.began <= schedule.now;
    return is_known ? hora__ns_sub(schedule.now, schedule.began) : -1;
}

/* Adds a clause if the current run of a fixed-rate series delays the next one. */
static void add_next_run(struct hora__text *out, const struct explained_future *explained)
{
    struct schedule_view schedule;
    read_schedule(explained, &schedule);
    hora_ns next = hora__ns_add(schedule.due, schedule.every);
    if (schedule.running == 0 || schedule.every == 0 || schedule.is_paused || next > schedule.now)
        return;
    hora__text_add(out, "; the next run was due ");
    hora__text_add_duration(out, hora__ns_sub(schedule.now, next));
    hora__text_add(out, " ago, and waits for the end of this one");
}

/* Explains a series that has ended. */
static void add_end_of_series(struct hora__text *out, const struct explained_future *explained)
{
    struct schedule_view schedule;
    read_schedule(explained, &schedule);
    hora__text_add(out, "is over: it has run ");
    if (schedule.runs == 1)
        hora__text_add(out, "once");
    else
        hora__text_add_count(out, schedule.runs, "time");
}

/* ---- it runs ---- */

/* Returns whether the worker's note is about this task, and not about one that the task runs while it waits
 * for it. Compares the source locations, the only part of the note that identifies the task. */
static bool is_noted(const struct explained_future *explained, const struct pool_view *pool_view)
{
    const hora_task *task = &explained->future->task;
    return pool_view->runner_is_known && pool_view->runner_now.file == task->file &&
           pool_view->runner_now.line == task->line;
}

/* Adds what the task last reported with hora_progress, if it did. */
static void add_progress(struct hora__text *out, const struct explained_future *explained,
                         const struct hora__run_reading *now)
{
    assert(now->began != HORA_NEVER);
    if (now->progress == HORA_NEVER)
        return;
    if (now->of > 0) {
        hora__text_add(out, "; it has done ");
        hora__text_add_int(out, now->done);
        hora__text_add(out, " of ");
        hora__text_add_int(out, now->of);
        hora__text_add(out, ", as reported ");
    } else {
        hora__text_add(out, "; it made progress ");
    }
    hora__text_add_duration(out, hora__ns_sub(explained->now, now->progress));
    hora__text_add(out, " ago");
}

/* Adds which thread runs the task, and for how long. `ran` < 0: the caller does not know for how long; the
 * note of the worker may. */
static void add_runner(struct hora__text *out, const struct explained_future *explained,
                       const struct pool_view *pool_view, hora_ns ran)
{
    if (pool_view->runner > 0) {
        hora__text_add(out, "worker ");
        hora__text_add_int(out, pool_view->runner);
    } else {
        hora__text_add(out, explained->runner == hora__thread_existing() ? "the calling thread"
                                                                         : "a thread that is not a worker");
    }
    bool noted = is_noted(explained, pool_view);
    if (noted && ran < 0)
        ran = hora__ns_sub(explained->now, pool_view->runner_now.began);
    if (ran < 0) {
        hora__text_add(out, " runs it");
        return;
    }
    hora__text_add(out, " has been running it for ");
    hora__text_add_duration(out, ran);
    if (noted)
        add_progress(out, explained, &pool_view->runner_now);
}

/* Explains a task that a thread runs. */
static void add_running(struct hora__text *out, const struct explained_future *explained)
{
    struct pool_view pool_view = {.workers = 0};
    if (explained->pool != NULL)
        read_pool(explained, &pool_view);
    bool is_scheduled = hora__scheduled_of(explained->future) != NULL;
    add_runner(out, explained, &pool_view, is_scheduled ? running_for(explained) : -1);
    if (is_scheduled && explained->state == HORA__FUTURE_NEW)
        add_next_run(out, explained);
}

/* ---- it is done ---- */

/* Explains a task that has expired. The future does not store which limit it was, so a task with both limits
 * is described by both. */
static void add_expired(struct hora__text *out, const struct explained_future *explained)
{
    const struct hora__extra *extra = hora__future_extra(explained->future);
    bool may_start = extra != NULL && extra->terms.start_within > 0;
    bool may_end = extra != NULL && extra->terms.finish_within > 0;
    hora__text_add(out, "expired: it ");
    if (may_start == may_end)
        hora__text_add(out, "did not start or finish in time");
    else
        hora__text_add(out, may_start ? "did not start in time" : "did not finish in time");
}

/* Explains a future that has failed, by its code. */
static void add_failed(struct hora__text *out, const struct explained_future *explained)
{
    switch (explained->failure) {
    case HORA_EREJECTED:
        hora__text_add(out,
                       "was rejected: its pool had neither a thread nor room for it, or had been shut down");
        return;
    case HORA_EABANDONED:
        hora__text_add(out, "was abandoned: its pool was stopped, or it ended its thread");
        return;
    case HORA_EEXPIRED:
        add_expired(out, explained);
        return;
    default:
        hora__text_add(out, "failed with code ");
        hora__text_add_int(out, explained->failure);
    }
}

/* Explains a future that is done. The body of a cancelled one may still be running. */
static void add_done(struct hora__text *out, const struct explained_future *explained)
{
    assert(explained->state != HORA__FUTURE_NEW);
    switch (explained->state) {
    case HORA__FUTURE_NORMAL:
        if (explained->future->task.run == NULL)
            hora__text_add(out, "was completed");
        else if (hora_future_is_periodic(explained->future))
            add_end_of_series(out, explained);
        else
            hora__text_add(out, "ran and succeeded");
        return;
    case HORA__FUTURE_EXCEPTIONAL:
        add_failed(out, explained);
        return;
    default:
        hora__text_add(out, "was cancelled");
        if (explained->runner != NULL) {
            hora__text_add(out, ", but is still running: ");
            add_running(out, explained);
        }
    }
}

/* ---- it waits in a queue in order of submission ---- */

/* The search for a future in its queue. */
struct search {
    const hora_future *future; /* the one to find */
    bool is_found;
    int before;     /* number of tasks before it; if it is not found, of all tasks */
    hora_ns oldest; /* how long the first task has waited; HORA_NEVER: unknown */
    hora_ns now;    /* on the pool's clock */
};

/* Visitor of the queue, called with its lock held: counts the tasks before the future that is searched for.
 * Stops at that one by returning false. */
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

/* Adds the position of the task in its queue, and how long the first task has waited, if that is known. */
static void add_position(struct hora__text *out, const struct search *search)
{
    assert(search->is_found && search->before >= 0);
    if (search->before == 0) {
        hora__text_add(out, "is the first in the queue");
        return;
    }
    hora__text_add(out, "is the ");
    hora__text_add_ordinal(out, (int64_t)search->before + 1);
    hora__text_add(out, " in the queue: ");
    hora__text_add_count(out, search->before, "task");
    hora__text_add(out, search->before == 1 ? " is ahead of it" : " are ahead of it");
    if (search->oldest != HORA_NEVER) {
        hora__text_add(out, search->before == 1 ? ", and has waited for " : ", the oldest has waited for ");
        hora__text_add_duration(out, search->oldest);
    }
}

/* The counterpart of add_position for a queue that is not in order of submission. */
static void add_somewhere(struct hora__text *out, int size)
{
    hora__text_add(out, "is one of ");
    hora__text_add_count(out, size, "task");
    hora__text_add(out, " in a queue with its own order");
}

/* Explains a task that waits in the queue of a pool without admission. How long the first task has waited is
 * known if it has an extra, or if the pool measures. A worker may have taken the task after the facts about
 * the future were read; then it is not in the queue any more. */
static void add_queued(struct hora__text *out, const struct explained_future *explained)
{
    assert(explained->pool != NULL);
    hora_queue *queue = explained->pool->queue;
    struct pool_view pool_view;
    struct search search = {.future = explained->future, .oldest = HORA_NEVER, .now = explained->now};
    bool is_ordered = hora__work_is_ordered(queue);
    /* Only a queue that knows its order has positions. A scheduler's queue also holds entries that are not
     * futures. */
    int size = is_ordered ? hora__work_visit(queue, seek, &search) : hora__queue_count(queue);
    hora_ns latest; /* of schedulers only */
    if (search.oldest == HORA_NEVER && search.before > 0 && explained->pool->kind == NULL &&
        hora__pool_measures(explained->pool))
        hora__measures_waiting(explained->pool, &search.oldest, &latest);
    bool is_there = is_ordered ? search.is_found : hora_queue_contains(queue, explained->future) > 0;
    if (!is_there) {
        hora__text_add(out, "has been given to a worker, which is about to run it");
        return;
    }
    read_pool(explained, &pool_view);
    if (is_ordered)
        add_position(out, &search);
    else
        add_somewhere(out, size);
    add_not_taken(out, explained, &pool_view);
}

/* Explains a task that is neither done nor running. */
static void add_waiting(struct hora__text *out, const struct explained_future *explained)
{
    assert(explained->runner == NULL);
    if (explained->future->task.run == NULL)
        hora__text_add(out, "is a promise that has not been completed");
    else if (explained->is_listed)
        hora__text_add(out, "was handed back by a pool that was stopped, and is in no queue");
    else if (explained->pool == NULL)
        hora__text_add(out, "is in no queue: it has not been executed, or has been removed");
    else if (hora__scheduled_of(explained->future) != NULL)
        add_scheduled(out, explained);
    else if (explained->pool->admission != NULL && explained->pool->kind == NULL)
        add_admission(out, explained);
    else
        add_queued(out, explained);
}

/* The name of the task may be freed together with the task, so it is read under the future's lock. */
int hora_future_explain(hora_future *future, char *text, size_t size)
{
    if (future == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    int error = hora__object_check(&future->object);
    if (error < 0)
        return error;
    struct explained_future explained;
    struct hora__text out = hora__text_begin(text, size);
    read_future(&explained, future);
    const hora_task *task = &future->task;
    const char *name = hora__future_lock_name(future);
    add_task(&out, name, task->file, task->line);
    hora__future_unlock_name(future);
    hora__text_add_char(&out, ' ');
    if (explained.state != HORA__FUTURE_NEW) {
        add_done(&out, &explained);
    } else if (explained.runner != NULL) {
        hora__text_add(&out, "is running: ");
        add_running(&out, &explained);
    } else {
        add_waiting(&out, &explained);
    }
    release_future(&explained);
    return hora__text_end(&out);
}
