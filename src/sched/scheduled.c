/* SPDX-License-Identifier: Apache-2.0 */
/* scheduled.c - scheduled futures: making and destroying them; queries and changes of their schedule
 *
 * Parts        Each scheduled future contains an entry of the timer queue. A future that may run more than
 *              once, or has its own rules or options, also has a series state, in a separate block.
 * Reference    A future has a reference to its timer queue until it is destroyed. So queries work even after
 *              the scheduler was freed.
 * Offset       Planned times are stored without the offset of the task, because triggers do not know it. Due
 *              times, and the planned times that callers see, include it.
 * Changes      An entry that waits in the timer queue is changed there. If a worker has the task, the change
 *              is noted in the series state. The worker finds the note before the run, if the run has not
 *              begun, else after it. A task that runs once cannot be changed any more once a worker has
 *              it. */
#include "sched/scheduled.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/options.h"
#include "exec/extra.h"
#include "exec/pool.h"
#include "sched/overlap.h"
#include "sched/timer_queue_internal.h"
#include "sched/trigger.h"
#include "sync/clock.h"
#include "sys/alloc.h"

static_assert(offsetof(struct hora__scheduled, future) == 0, "one address for both");
#if defined(HORA__MUTEX_IS_INLINE) && defined(__x86_64__)
static_assert(sizeof(struct hora_future) == 168 && sizeof(struct hora__scheduled) == 232,
              "what a pending timer takes: see docs/internals/scheduler.md");
#endif

const hora_schedule hora__jdk_rules = {
    .struct_size = sizeof(hora_schedule),
    .missed = HORA_MISSED_BURST,
    .failure = HORA_FAILURE_STOP,
};

/* Returns a time as a trigger sees it. Triggers do not know the offset: for them everything happens that much
 * earlier. */
static hora_ns without_offset(const struct hora__series *series, hora_ns time)
{
    assert(series->offset >= 0);
    return time == HORA_NEVER ? time : hora__ns_sub(time, series->offset);
}

/* `now` and last_planned have no offset to begin with. */
hora_trigger_context hora__scheduled_context(const struct hora__scheduled *scheduled, hora_ns now)
{
    assert(scheduled->series != NULL);
    const struct hora__series *series = scheduled->series;
    return (hora_trigger_context){.struct_size = sizeof(hora_trigger_context),
                                  .clock = hora__clock_id_of(hora__scheduled_line(scheduled)),
                                  .now = now,
                                  .last_planned = series->last_planned,
                                  .last_start = without_offset(series, scheduled->run.last.start),
                                  .last_end = without_offset(series, scheduled->run.last.end),
                                  .runs = series->runs};
}

/* ---- making ---- */

/* Frees a series state, except for its overlap and extra; NULL is allowed. */
static void free_series(struct hora__series *series)
{
    if (series != NULL && series->rules == series->own_rules)
        (void)hora_trigger_unref(series->rules->trigger);
    hora__free(series);
}

/* Removes a future that is being destroyed from the timer queue's lists of zones, and releases its reserved
 * slot. No other thread can see this future, but neighbours in the list may be removed at the same time, so
 * the lock is taken; most futures are in no list, and need no lock. */
static void leave_timer_queue(struct hora__scheduled *scheduled)
{
    assert(scheduled->series != NULL);
    hora_queue *queue = scheduled->queue;
    struct hora__series *series = scheduled->series;
    const hora_trigger *trigger = series->rules->trigger;
    bool may_be_linked = trigger != NULL && trigger->has_zone;
    if (!scheduled->entry.kept && !may_be_linked)
        return;
    hora__mutex_lock(&queue->object.lock);
    if (!hora__list_is_empty(&series->zoned))
        hora__list_remove(&series->zoned);
    if (scheduled->entry.kept)
        hora__timer_queue_give_up(queue, &scheduled->entry);
    hora__mutex_unlock(&queue->object.lock);
}

/* Destroys a future with series state, its memory included. Not inlined, since most futures that run once
 * have no series state. */
__attribute__((noinline)) static void destroy_with_series(struct hora__scheduled *scheduled)
{
    assert(scheduled->series != NULL);
    struct hora__series *series = scheduled->series;
    leave_timer_queue(scheduled);
    /* Before the overlap is freed: dropping the future's task uses it. */
    hora__future_destroy(&scheduled->future.object);
    hora__free(series->overlap);
    hora__extra_free(series->extra);
    free_series(series);
}

/* Called when the last reference is gone. The reference to the timer queue is dropped last, because the steps
 * before may still need its lock. */
static void destroy(struct hora__object *object)
{
    struct hora__scheduled *scheduled = HORA__LIST_ENTRY(object, struct hora__scheduled, future.object);
    hora_queue *queue = scheduled->queue;
    int lane = scheduled->lane;
    /* If user code must run first, the destructor is called again when that code may run: see conclude.c. */
    if (hora__future_ends_later(&scheduled->future))
        return;
    if (scheduled->series == NULL) {
        hora__future_release(&scheduled->future);
        hora__future_memory_put(HORA__BLOCK_SCHEDULED_FUTURE, scheduled);
    } else {
        destroy_with_series(scheduled);
    }
    hora__timer_queue_unref(queue, lane);
}

/* Returns whether a future with this plan needs a series state. */
static bool needs_series(const struct hora__scheduled_plan *plan)
{
    return plan->copies_rules || plan->trigger != HORA__ONCE || plan->extra != NULL;
}

/* Makes the series state, which takes over plan->extra. NULL: no memory. */
static struct hora__series *new_series(struct hora__scheduled *scheduled,
                                       const struct hora__scheduled_plan *plan)
{
    assert(plan->rules != NULL);
    size_t size = sizeof(struct hora__series) + (plan->copies_rules ? sizeof(hora_schedule) : 0);
    struct hora__series *series = hora__alloc(1, size);
    if (series == NULL)
        return NULL;
    series->scheduled = scheduled;
    series->rules = plan->rules;
    if (plan->copies_rules) {
        series->own_rules[0] = *plan->rules;
        series->rules = series->own_rules;
        series->own_rules[0].options = NULL; /* the caller's memory; `extra` has a copy */
        (void)hora_trigger_ref(series->rules->trigger);
    }
    series->trigger = plan->trigger;
    series->offset = plan->offset;
    series->extra = plan->extra;
    hora__timer_node_init(&series->by_latest);
    series->is_given = plan->is_given;
    hora__list_init(&series->zoned);
    series->every = plan->every;
    series->last_planned = HORA_NEVER;
    return series;
}

/* Initialises what a scheduled future adds to a future, except `series`, which is set before, `lane` and
 * `run`. */
HORA__INLINE void init(struct hora__scheduled *scheduled, hora_queue *queue,
                       const struct hora__scheduled_plan *plan)
{
    assert(plan->rules != NULL && scheduled->future.object.clock != NULL);
    scheduled->future.kind = HORA__FUTURE_SCHEDULED;
    scheduled->future.object.destroy = destroy;
    scheduled->queue = queue;
    scheduled->spot = 0;
    scheduled->planned = plan->planned;
    scheduled->last_code = 0;
    scheduled->paused = plan->paused;
    scheduled->has_begun = false;
    scheduled->is_running = false;
    bool is_plain = plan->rules == &hora__jdk_rules;
    /* A one-shot task that backs off after a failure runs again, so it comes back, too. */
    bool comes_back =
        plan->trigger != HORA__ONCE || (!is_plain && plan->rules->failure == HORA_FAILURE_BACK_OFF);
    bool is_lax = !is_plain && plan->rules->slack > 0;
    assert(scheduled->series != NULL || (!comes_back && !is_lax));
    hora__entry_init(&scheduled->entry, plan->line, is_lax, comes_back);
}

/* On failure the task and plan->extra still belong to the caller. */
int hora__scheduled_new(const hora_task *task, hora_queue *queue, const struct hora__scheduled_plan *plan,
                        struct hora__scheduled **ret_scheduled)
{
    assert(ret_scheduled != NULL && plan->rules != NULL);
    struct hora__scheduled *scheduled =
        hora__future_memory_get(HORA__BLOCK_SCHEDULED_FUTURE, sizeof *scheduled);
    if (scheduled == NULL)
        return HORA_ENOMEM;
    int error = 0;
    scheduled->series = NULL;
    if (needs_series(plan)) {
        scheduled->series = new_series(scheduled, plan);
        error = scheduled->series == NULL ? HORA_ENOMEM : 0;
    }
    if (error == 0)
        error = hora__future_init_beside(&scheduled->future, task, &queue->object);
    if (error < 0) {
        free_series(scheduled->series);
        hora__future_memory_put(HORA__BLOCK_SCHEDULED_FUTURE, scheduled);
        return error;
    }
    init(scheduled, queue, plan);
    scheduled->run.last = (struct hora__last_run){HORA_NEVER, HORA_NEVER};
    scheduled->lane = hora__timer_queue_lane(queue);
    hora__timer_queue_ref(queue, scheduled->lane);
    *ret_scheduled = scheduled;
    return 0;
}

/* The fast way for the most frequent call. The memory comes from the pool's free list. The future needs no
 * lock, since no other thread sees it yet, and has two references from the start: the caller's and that of
 * the entry. `run` needs no value before the run begins. */
int hora__scheduled_new_once(const hora_task *task, hora_pool *pool, hora_ns planned,
                             struct hora__scheduled **ret_scheduled)
{
    assert(ret_scheduled != NULL);
    hora_queue *queue = pool->queue;
    struct hora__scheduled *scheduled =
        hora__shared_free_list_get(&pool->shared_free_list, HORA__BLOCK_SCHEDULED_FUTURE, sizeof *scheduled);
    if (scheduled == NULL)
        return HORA_ENOMEM;
    /* Functions are called before or after the writes to the new object: see hora__object_prepare_beside. */
    uint8_t lane = hora__timer_queue_lane(queue);
    int error = hora__object_prepare_beside(&scheduled->future.object, &queue->object, destroy);
    if (error < 0) {
        hora__future_memory_put(HORA__BLOCK_SCHEDULED_FUTURE, scheduled);
        return error;
    }
    hora__future_init_rest(&scheduled->future, task, false);
    scheduled->series = NULL;
    struct hora__scheduled_plan plan = {.rules = &hora__jdk_rules,
                                        .trigger = HORA__ONCE,
                                        .line = queue->object.clock->timeline,
                                        .planned = planned};
    init(scheduled, queue, &plan);
    scheduled->lane = lane;
    hora__future_enqueued_fresh(&scheduled->future, &pool->owner, 2);
    hora__clock_acquire(scheduled->future.object.clock);
    *ret_scheduled = scheduled;
    return 0;
}

/* ---- asking ---- */

/* All checks come before the lock, which must not be taken in a forked process. */
int hora__scheduled_enter(hora_future *future, struct hora__scheduled **ret_scheduled)
{
    assert(ret_scheduled != NULL);
    int error = future == NULL ? HORA_EINVAL : hora__object_check(&future->object);
    if (error == 0 && hora__scheduled_of(future) == NULL)
        error = HORA_EINVAL;
    if (error < 0)
        return error;
    *ret_scheduled = hora__scheduled_of(future);
    hora_queue *queue = (*ret_scheduled)->queue;
    hora__mutex_lock(&queue->object.lock);
    hora__timer_queue_absorb(queue); /* the entry may still be in a lane; callers expect it in a heap */
    return 0;
}

void hora__scheduled_leave(struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    hora__mutex_unlock(&scheduled->queue->object.lock);
}

/* The observer uses this for time limits that count from the planned time. */
hora_ns hora__scheduled_lateness(struct hora__scheduled *scheduled)
{
    hora__mutex_lock(&scheduled->queue->object.lock);
    hora_ns planned = hora__ns_add(scheduled->planned, hora__scheduled_offset(scheduled));
    hora__mutex_unlock(&scheduled->queue->object.lock);
    if (planned == HORA_FOREVER)
        return HORA_NEVER;
    return hora__ns_sub(hora__timer_queue_now(scheduled->queue, hora__scheduled_line(scheduled)), planned);
}

/* Returns how far off the due time is now, by the clock of the task's timeline. The caller holds the lock. */
static hora_ns distance(const struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    return hora__ns_sub(hora__scheduled_due(scheduled),
                        hora__timer_queue_now(scheduled->queue, hora__scheduled_line(scheduled)));
}

/* The result is negative if the task is late. */
int hora_future_delay(hora_future *future, hora_ns *ret_delay)
{
    struct hora__scheduled *scheduled;
    int error = ret_delay == NULL ? HORA_EINVAL : hora__scheduled_enter(future, &scheduled);
    if (error < 0)
        return error;
    *ret_delay = distance(scheduled);
    hora__scheduled_leave(scheduled);
    return 0;
}

/* Returns -1, 0 or 1: the order in which two tasks of one timer queue are due. Times of different timelines
 * are compared by how far off they are. */
static int compare_locked(const struct hora__scheduled *a, const struct hora__scheduled *b)
{
    assert(a->queue == b->queue && hora__mutex_held(&a->queue->object.lock));
    bool same_line = a->entry.line == b->entry.line;
    hora_ns time_a = same_line ? hora__scheduled_due(a) : distance(a);
    hora_ns time_b = same_line ? hora__scheduled_due(b) : distance(b);
    if (time_a != time_b)
        return time_a < time_b ? -1 : 1;
    return (a->entry.by_due.sequence > b->entry.by_due.sequence) -
           (a->entry.by_due.sequence < b->entry.by_due.sequence);
}

/* Two futures are comparable if they are of one scheduler: then one lock guards both. */
int hora_future_compare_due(hora_future *a, hora_future *b, int *ret_order)
{
    struct hora__scheduled *first;
    if (b == NULL || hora__scheduled_of(b) == NULL || ret_order == NULL)
        return HORA_EINVAL;
    int error = hora__scheduled_enter(a, &first);
    if (error < 0)
        return error;
    const struct hora__scheduled *second = hora__scheduled_of(b);
    bool is_comparable = first->queue == second->queue;
    if (is_comparable)
        *ret_order = compare_locked(first, second);
    hora__scheduled_leave(first);
    return is_comparable ? 0 : HORA_EINVAL;
}

bool hora_future_is_periodic(const hora_future *future)
{
    return future != NULL && future->kind == HORA__FUTURE_SCHEDULED &&
           hora__scheduled_is_series((const struct hora__scheduled *)future);
}

/* Returns whether the planned time has to be found anew. The caller holds the lock. */
static bool is_stale(const struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    return scheduled->series != NULL && scheduled->series->staleness != HORA__NOT_STALE;
}

/* Returns the time of the next run, for hora_schedule_info; HORA_NEVER: there is none, or it is not known.
 * The caller holds the lock. */
static hora_ns next_of(const struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    bool waits = scheduled->entry.stage == HORA__WAITS || scheduled->entry.stage == HORA__TAKEN;
    if (!waits || scheduled->paused || is_stale(scheduled) || hora_future_is_done(&scheduled->future))
        return HORA_NEVER;
    return hora__scheduled_due(scheduled);
}

/* Fills in the information about a task without series state. The caller holds the lock. */
static void tell_single(const struct hora__scheduled *scheduled, hora_schedule_info *info)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    bool has_begun = scheduled->has_begun;
    info->running = scheduled->is_running ? 1 : 0;
    info->last_planned = has_begun ? scheduled->planned : HORA_NEVER;
    info->last_start = has_begun ? scheduled->run.last.start : HORA_NEVER;
    info->last_end = has_begun ? scheduled->run.last.end : HORA_NEVER;
    info->runs = has_begun ? 1 : 0;
    info->failures = scheduled->last_code != 0 ? 1 : 0;
    info->failures_in_a_row = info->failures;
}

/* Fills in the information about a task with series state. The caller holds the lock. */
static void tell_series(const struct hora__scheduled *scheduled, hora_schedule_info *info)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    const struct hora__series *series = scheduled->series;
    assert(series->running >= 0 && series->failures <= series->runs);
    info->running = series->running;
    info->last_planned = series->runs == 0 ? HORA_NEVER : hora__ns_add(series->last_planned, series->offset);
    info->last_start = scheduled->run.last.start;
    info->last_end = scheduled->run.last.end;
    info->runs = series->runs;
    info->failures = series->failures;
    info->failures_in_a_row = series->failures_in_a_row;
    info->skipped = series->skipped;
}

/* Everything is read under one lock, so the information describes one moment. */
int hora_future_get_schedule_info(hora_future *future, hora_schedule_info *ret_info)
{
    struct hora__scheduled *scheduled;
    size_t size;
    if (HORA__SIZE_GIVEN(hora_schedule_info, ret_info, &size) < 0)
        return HORA_EINVAL;
    int error = hora__scheduled_enter(future, &scheduled);
    if (error < 0)
        return error;
    hora_schedule_info info = {
        .struct_size = sizeof info,
        .clock = hora__clock_id_of(hora__scheduled_line(scheduled)),
        .paused = scheduled->paused,
        .next = next_of(scheduled),
        .last_code = scheduled->last_code,
    };
    if (scheduled->series == NULL)
        tell_single(scheduled, &info);
    else
        tell_series(scheduled, &info);
    hora__scheduled_leave(scheduled);
    hora__output_write(ret_info, size, &info, sizeof info);
    return 0;
}

/* ---- re-timing, pausing and resuming ---- */

/* Returns whether no run can follow although the future is not done yet, so that a change would have no
 * effect. The caller holds the lock. */
static bool is_ending(const struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    const struct hora__series *series = scheduled->series;
    if (series == NULL || HORA__FAULT(RESCHEDULE_AFTER_THE_END))
        return false;
    bool is_last = scheduled->entry.stage == HORA__RUNS && series->rules->count > 0 &&
                   series->runs >= series->rules->count;
    return series->is_over || is_last;
}

/* Checks that the task can be changed, and locks its timer queue. Returns 0 with the lock held, or an error
 * of hora__scheduled_enter, or HORA_EBUSY: the task cannot be changed any more. */
static int enter_to_change(hora_future *future, struct hora__scheduled **ret_scheduled)
{
    assert(ret_scheduled != NULL);
    int error = hora__scheduled_enter(future, ret_scheduled);
    if (error < 0)
        return error;
    const struct hora__scheduled *scheduled = *ret_scheduled;
    bool waits = scheduled->entry.stage == HORA__WAITS;
    bool is_out = scheduled->entry.stage == HORA__OUT || scheduled->entry.stage == HORA__SWEPT;
    bool comes_back = scheduled->entry.comes_back && !is_out;
    if (!hora_future_is_done(future) && (waits || comes_back) && !is_ending(scheduled))
        return 0;
    hora__scheduled_leave(*ret_scheduled);
    return HORA_EBUSY;
}

/* Moves the entry to its due time, which may have changed, unlocks, and wakes a worker if the first due time
 * is earlier now. */
static void leave_changed(struct hora__scheduled *scheduled)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    if (scheduled->entry.stage == HORA__WAITS) {
        hora__timer_queue_move(scheduled->queue, &scheduled->entry, hora__scheduled_due(scheduled));
        if (!HORA__FAULT(RESCHEDULE_WAKES_NO_LEADER))
            hora__queue_serve(scheduled->queue, NULL, &wakes);
    }
    hora__queue_exit(scheduled->queue, &wakes);
    hora__future_nudge(&scheduled->future); /* a worker that waits for the task may run it when it is due */
}

/* Returns whether the series has a period or a delay that can be changed. */
static bool has_every(const struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    enum hora__trigger trigger = hora__scheduled_trigger(scheduled);
    return trigger == HORA__RATE || trigger == HORA__GAP;
}

/* Notes a new due time, and a new period unless it is 0: for the entry if it waits in the queue, else for the
 * next run, as a wish that the worker finds (is_retimed). The caller holds the lock. */
static void retime_series(struct hora__scheduled *scheduled, hora_ns due, hora_ns every)
{
    assert(scheduled->series != NULL);
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    struct hora__series *series = scheduled->series;
    hora_ns planned = hora__ns_sub(due, series->offset);
    if (every > 0)
        series->every = every;
    series->staleness =
        HORA__NOT_STALE; /* the new time was given, so it does not depend on clocks or zones */
    series->is_retimed = scheduled->entry.stage != HORA__WAITS;
    if (series->is_retimed)
        series->planned_next = planned;
    else
        scheduled->planned = planned;
    series->is_given |= !series->is_retimed;
}

/* A task without series state is only changed while it waits in the queue, so its planned time is changed at
 * once. */
int hora_future_reschedule(hora_future *future, hora_ns delay, hora_ns every)
{
    struct hora__scheduled *scheduled;
    int error = every < 0 ? HORA_EINVAL : enter_to_change(future, &scheduled);
    if (error < 0)
        return error;
    /* Nothing has changed yet, so the entry need not be moved. */
    if (every > 0 && !has_every(scheduled)) {
        hora__scheduled_leave(scheduled);
        return HORA_EINVAL;
    }
    hora_ns now = hora__timer_queue_now(scheduled->queue, hora__scheduled_line(scheduled));
    hora_ns due = hora__ns_add(now, delay > 0 ? delay : 0);
    if (scheduled->series == NULL)
        scheduled->planned = due;
    else
        retime_series(scheduled, due, every);
    leave_changed(scheduled);
    hora__extra_rescheduled(future);
    return 0;
}

/* Pauses or resumes a task. Returns 1 if that changes anything, 0 if not, or an error. A paused entry stays
 * in the timer queue, and is never due. */
static int set_paused(hora_future *future, bool paused)
{
    struct hora__scheduled *scheduled;
    int error = enter_to_change(future, &scheduled);
    if (error < 0)
        return error;
    bool changes = scheduled->paused != paused;
    scheduled->paused = paused;
    leave_changed(scheduled);
    return changes ? 1 : 0;
}

int hora_future_pause(hora_future *future)
{
    return set_paused(future, true);
}

int hora_future_resume(hora_future *future)
{
    return set_paused(future, false);
}
