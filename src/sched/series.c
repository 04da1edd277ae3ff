/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - what a worker does with a scheduled task between two waits in the timer queue
 *
 * Stages            OUT         -> WAITS   the task is accepted
 *                   WAITS       -> TAKEN   it is due, and a worker takes it
 *                   TAKEN       -> RUNS    a run begins
 *                   TAKEN       -> WAITS   it is moved: it was paused or re-timed, or its planned time was
 *                                          missed or stale
 *                   RUNS        -> WAITS   it is put back for the next run
 *                   RUNS        -> TAKEN   on the short way: the run did not begin after all
 *                   WAITS       -> OUT     it is cancelled, removed or handed back
 *                   WAITS       -> SWEPT   shutdown removes it; then OUT, before it is cancelled
 *                   TAKEN, RUNS -> OUT     an overlapping series has no planned time left
 *                   A task that ends otherwise stays TAKEN or RUNS.
 * Ownership         While a task is TAKEN or RUNS, only its worker may put it back, and the worker owns the
 *                   entry and its books. Other threads note their wishes (paused, is_retimed) under the timer
 *                   queue's lock, and the worker finds them there. User code (the body, next, the callbacks)
 *                   runs without the lock, so the worker copies what it needs before.
 * Races             Cancel against put_back: the cancel does not find the entry in the timer queue, so the
 *                   worker checks for a cancel again after it has put the entry back. Shutdown against
 *                   put_back: see scheduler.c. After an entry has been put back, another worker may run and
 *                   end the task at once, so a thread that still uses the future needs a reference.
 * The short way     Most series run no user code between two runs except the body: those with a fixed rate or
 *                   delay, of a scheduler without observers. Their worker visits the timer queue twice per
 *                   run, each time with one reading of the clock. It takes the entry and begins the run in
 *                   one visit (hora__series_take_locked). In the other it puts the entry back
 *                   (hora__series_return_locked) and takes the next entry, or goes to sleep. All other cases
 *                   go the general way, with one visit for each step. Each step decides for itself whether it
 *                   can stay on the short way, and changes nothing if it cannot.
 * Invariants        I1 a run begins only if the schedule lets it (hora__series_decide or, on the short way,
 *                      may_begin_locked), and never before its planned time plus offset.
 *                   I2 planned times of a rate are the first one plus multiples of the period, unless the
 *                      series is re-timed. After it has backed off, it continues with such a time.
 *                   I3 an entry that is taken is put back, or its books are closed, exactly once. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "exec/extra.h"
#include "exec/pool_admission.h"
#include "sched/overlap.h"
#include "sched/plan.h"
#include "sched/scheduler.h"
#include "sched/timer_queue_internal.h"
#include "sched/trigger.h"
#include "sys/probe.h"

static void lock(struct hora__scheduled *scheduled)
{
    hora__mutex_lock(&scheduled->queue->object.lock);
}

static void unlock(struct hora__scheduled *scheduled)
{
    hora__mutex_unlock(&scheduled->queue->object.lock);
}

/* Returns the time by the clock of the task's timeline. */
static hora_ns now_of(const struct hora__scheduled *scheduled)
{
    return hora__timer_queue_now(scheduled->queue, hora__scheduled_line(scheduled));
}

/* ---- when it is due, and whether that still holds ---- */

/* A paused task is never due, even if its time is stale: that is handled once it is resumed. */
hora_ns hora__scheduled_due(const struct hora__scheduled *scheduled)
{
    assert(scheduled != NULL);
    const struct hora__series *series = scheduled->series;
    if (scheduled->paused)
        return HORA_FOREVER;
    if (series == NULL)
        return scheduled->planned;
    return series->staleness != HORA__NOT_STALE ? INT64_MIN
                                                : hora__ns_add(scheduled->planned, series->offset);
}

/* A time that is already stale keeps its reason. The count is brought up to date in any case, so each refresh
 * is handled once. */
void hora__scheduled_check_rules(struct hora__scheduled *scheduled)
{
    struct hora__series *series = scheduled->series;
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    if (series == NULL)
        return;
    if (series->refreshes != timer_queue_of(scheduled->queue)->refreshes &&
        hora__scheduled_follows_zone(scheduled) && series->staleness == HORA__NOT_STALE &&
        !HORA__FAULT(ZONES_REFRESH_UNSEEN_BY_RUN))
        series->staleness = HORA__NEW_RULES;
    series->refreshes = timer_queue_of(scheduled->queue)->refreshes;
}

/* Does what hora__scheduled_check_rules does, and also makes the planned time stale if the wall clock was set
 * back. SET_BACK overrides NEW_RULES. */
static void check_clock(struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    struct hora__series *series = scheduled->series;
    if (series == NULL)
        return;
    hora__scheduled_check_rules(scheduled);
    if (series->set_backs != timer_queue_of(scheduled->queue)->set_backs &&
        hora__scheduled_follows_wall(scheduled) && !HORA__FAULT(CLOCK_SET_BACK_UNSEEN_BY_RUN))
        series->staleness = HORA__SET_BACK;
    series->set_backs = timer_queue_of(scheduled->queue)->set_backs;
}

/* The end is an instant of the wall clock. A time of another timeline is translated by its distance from
 * now. */
bool hora__series_is_after_end(const hora_schedule *rules, const hora_queue *queue, enum hora__timeline line,
                               hora_ns planned)
{
    assert(rules != NULL && queue != NULL);
    if (rules->end.ns == 0)
        return false;
    hora_ns distance = hora__ns_sub(planned, hora__timer_queue_now(queue, line));
    return line == HORA__WALL
               ? planned > rules->end.ns
               : hora__ns_add(hora__timer_queue_now(queue, HORA__WALL), distance) > rules->end.ns;
}

/* Returns whether a planned time, which is without the offset, lies after the end of the schedule. */
static bool is_after_end(const struct hora__scheduled *scheduled, hora_ns planned)
{
    assert(scheduled->series != NULL);
    return hora__series_is_after_end(scheduled->series->rules, scheduled->queue,
                                     hora__scheduled_line(scheduled),
                                     hora__ns_add(planned, scheduled->series->offset));
}

/* The name is read under the future's lock, because another thread may drop it at the same time. */
void hora__series_tell_skipped(hora_pool *pool, struct hora__scheduled *scheduled, int64_t count)
{
    assert(count >= 0);
    if (count <= 0)
        return;
    const char *name = hora__future_lock_name(&scheduled->future);
    HORA__PROBE(task_skipped, &scheduled->future, name, count);
    (void)name;
    hora__future_unlock_name(&scheduled->future);
    if (pool->observer != NULL && !HORA__FAULT(EVENTS_SKIP_IN_SILENCE))
        pool->observer->kind->skipped(pool->observer, &scheduled->future, count);
}

/* ---- back into the timer queue ---- */

/* If the task was re-timed while a worker had it, makes the new time its planned time. Returns whether it
 * was. */
static bool take_new_plan_locked(struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    struct hora__series *series = scheduled->series;
    if (!series->is_retimed)
        return false;
    series->is_retimed = false;
    series->is_given = true;
    scheduled->planned = series->planned_next;
    return true;
}

/* Returns whether a future is done and must not stay in the queue: a scheduler may keep cancelled tasks
 * queued. */
static bool is_cancelled_for_good(const hora_pool *pool, const hora_future *future)
{
    return hora_future_is_done(future) && hora__atomic_load(&pool->owner.keeps_cancelled) == 0;
}

static void note_end_and_plan(struct hora__scheduled *scheduled);

/* Puts a task back that its worker has, for its next run or because it has to wait. Returns false if the task
 * may not run any more and has been cancelled instead; then the worker closes its books. The worker checks
 * for that before and after it puts the entry back: a cancel or shutdown that comes before the entry is in
 * the queue again does not find it there. */
bool hora__series_put_back(hora_pool *pool, hora_future *future, bool has_just_ended)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    assert(scheduled != NULL && scheduled->entry.comes_back);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    if (has_just_ended)
        note_end_and_plan(scheduled);
    if (!hora__scheduler_lets_run(pool, future)) {
        (void)hora_future_cancel(future, false);
        return false;
    }
    /* Once the entry is back in the queue, another worker may run the task and drop the entry's reference. */
    (void)hora_future_ref(future);
    lock(scheduled);
    assert(scheduled->entry.stage == HORA__TAKEN || scheduled->entry.stage == HORA__RUNS); /* I3 */
    if (!HORA__FAULT(ADMISSION_SERIES_KEEPS_TICKET))
        (void)hora__timer_queue_end_ticket(scheduled);
    /* The task may have been re-timed after its next time was found. The new time was given, so it does not
     * depend on earlier changes of clocks and zones. */
    if (HORA__FAULT(SERIES_FORGETS_RETIME) || !take_new_plan_locked(scheduled))
        check_clock(scheduled);
    hora__timer_queue_put_back(scheduled->queue, &scheduled->entry, hora__scheduled_due(scheduled));
    hora__queue_serve(scheduled->queue, NULL, &wakes);
    hora__queue_exit(scheduled->queue, &wakes);
    if (pool->admission != NULL)
        hora__pool_nudge_awaited(pool);
    bool must_go = is_cancelled_for_good(pool, future) || !hora__scheduler_lets_run(pool, future);
    /* Only the thread that removes the entry from the queue may end the task: I3. */
    bool ours = must_go && !HORA__FAULT(SERIES_NO_RECHECK) && hora__pool_withdraw(pool, future);
    if (ours)
        (void)hora_future_cancel(future, false);
    else
        (void)hora__scheduler_staff(pool);
    (void)hora_future_unref(future);
    return !ours;
}

/* ---- admitting ---- */

/* The facts for one decision about a task with series state, copied under the lock. Other threads may change
 * the originals while the worker decides; the worker checks for that afterwards. All times are without the
 * offset. */
struct moment {
    /* 0: the decision needs no time. */
    hora_ns now;
    hora_ns planned;
    hora_ns every;
    enum hora__staleness staleness;
    bool has_skipped;
    /* When zones were last refreshed, by the wall clock. */
    hora_ns refreshed_at;
    hora_trigger_context context;
};

/* Copies the facts for a decision about a task that its worker has TAKEN, and resets its staleness: the
 * decision handles it. The caller holds the lock. */
static struct moment look_locked(struct hora__scheduled *scheduled, hora_ns now)
{
    assert(scheduled->entry.stage == HORA__TAKEN);
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    struct hora__series *series = scheduled->series;
    check_clock(scheduled);
    struct moment moment = {.now = now,
                            .planned = scheduled->planned,
                            .every = series->every,
                            .staleness = series->staleness,
                            .has_skipped = series->has_skipped,
                            .refreshed_at =
                                hora__ns_sub(timer_queue_of(scheduled->queue)->refreshed_at, series->offset),
                            .context = hora__scheduled_context(scheduled, now)};
    series->staleness = HORA__NOT_STALE;
    return moment;
}

/* Returns whether the time of the first run was given, and not found by the trigger. */
static bool has_given_first(const struct hora__series *series)
{
    assert(series->rules != NULL);
    return series->trigger == HORA__RATE || series->rules->at.ns != 0 || series->rules->initial_delay > 0;
}

/* Decides for a planned time that was found anew. If it has passed already, the rule for missed runs
 * applies. */
static struct hora__decision decision_of_asked(const struct hora__series *series, const struct moment *moment,
                                               hora_ns planned)
{
    if (planned > moment->now)
        return (struct hora__decision){.runs = false, .planned = planned};
    return hora__plan_asked(series->rules, &moment->context, planned);
}

/* The wall clock was set back: finds the next planned time by the clock as it is now. A time that was given
 * for the first run stays. */
static struct hora__decision find_anew(const struct hora__series *series, const struct moment *moment)
{
    assert(moment->staleness == HORA__SET_BACK);
    hora_ns planned = moment->planned;
    bool stays = moment->context.runs == 0 && has_given_first(series);
    if (series->trigger == HORA__ASKED && !stays)
        return decision_of_asked(series, moment, hora__plan_ask(series->rules, &moment->context));
    if (!stays)
        planned = hora__plan_grid(moment->planned, moment->every, moment->now);
    return (struct hora__decision){.runs = planned <= moment->now, .planned = planned};
}

/* Returns whether the trigger can be asked for the times after any moment. Others, and functions, only know
 * the way from one of their own times to the next. */
static bool names_moments(const hora_schedule *rules)
{
    assert(rules->trigger != NULL || rules->next != NULL);
    return rules->trigger != NULL && rules->trigger->names_moments;
}

/* A zone has new rules: finds the first planned time after the last run by these. If there was no run, or
 * times after it were skipped, then the times before the new rules are settled, except the one that the task
 * waits for: the search begins at the refresh, or just before that time if it is earlier. A trigger that
 * cannot be asked for the times after any moment keeps the present planned time in that case, and also if the
 * time has come. */
static struct hora__decision find_by_new_rules(const struct hora__series *series, const struct moment *moment)
{
    assert(series->trigger == HORA__ASKED);
    assert(moment->staleness == HORA__NEW_RULES);
    hora_trigger_context then = moment->context;
    bool is_decided = then.last_planned == HORA_NEVER || moment->has_skipped;
    if (!names_moments(series->rules) && (is_decided || moment->planned <= moment->now))
        return decision_of_asked(series, moment, moment->planned);
    if (is_decided) {
        hora_ns before = hora__ns_sub(moment->planned, 1);
        then.last_planned =
            hora__ns_max(then.last_planned, before < moment->refreshed_at ? before : moment->refreshed_at);
        then.last_end = hora__ns_max(then.last_end, then.last_planned);
    }
    return decision_of_asked(series, moment, hora__plan_ask(series->rules, &then));
}

/* Decides by the schedule alone whether a run begins now, or the task waits for a later time. Asks the
 * trigger, if there is one: that is user code, so the caller holds no lock then. */
static struct hora__decision decision_by_rules(const struct hora__series *series, const struct moment *moment)
{
    const hora_schedule *rules = series->rules;
    if (moment->staleness == HORA__SET_BACK)
        return find_anew(series, moment);
    if (moment->staleness == HORA__NEW_RULES)
        return find_by_new_rules(series, moment);
    if (series->trigger == HORA__ONCE && rules->grace == 0)
        return (struct hora__decision){.runs = true, .planned = moment->planned};
    if (series->trigger == HORA__RATE && moment->now >= moment->planned)
        return hora__plan_rate(rules, moment->every, moment->planned, moment->now);
    if (series->trigger == HORA__ASKED)
        return hora__plan_asked(rules, &moment->context, moment->planned);
    struct hora__decision decision = hora__plan_single(rules, moment->planned, moment->now);
    if (!decision.runs && series->trigger == HORA__GAP)
        decision.planned = hora__ns_add(moment->now, moment->every);
    return decision;
}

/* Returns how late a run may begin by the task's options; 0: any time. */
static hora_ns start_by_of(const struct hora__series *series)
{
    return series->extra != NULL ? series->extra->terms.start_within : 0;
}

/* Changes a decision for a run that is too late by the task's options. Returns how many runs are dropped. */
static int64_t drop_expired(const struct hora__series *series, const struct moment *moment,
                            struct hora__decision *decision)
{
    hora_ns start_by = start_by_of(series);
    assert(start_by >= 0);
    if (!decision->runs || start_by == 0 || HORA__FAULT(LIMIT_BEGINS_LATE))
        return 0;
    return hora__plan_start_by(series->rules, moment->every, &moment->context, start_by, decision);
}

/* What the worker does with the task: run it, put it back, or end it. */
enum step_kind { RUN, MOVE, END };

struct next_step {
    enum step_kind kind;
    /* How many runs were dropped because of the task's options. */
    int64_t expired;
};

/* Notes the decision in the task, and returns the next step. Wishes that other threads have noted while
 * the worker decided have precedence: a task that was paused or re-timed is put back. The caller holds the
 * lock. */
static struct next_step note_decision_locked(struct hora__scheduled *scheduled, const struct moment *moment,
                                             const struct hora__decision *decision, int64_t expired)
{
    assert(expired >= 0);
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    struct hora__series *series = scheduled->series;
    assert(scheduled->entry.stage == HORA__TAKEN);
    bool is_new = take_new_plan_locked(scheduled);
    bool waits = is_new || scheduled->paused;
    if (!is_new && scheduled->paused) {
        if (series->staleness < moment->staleness)
            series->staleness = moment->staleness; /* it is handled once the task is resumed */
    } else if (!is_new) {
        hora__series_skips(series, decision->skipped);
        series->is_given &= scheduled->planned == decision->planned;
        series->has_skipped |= decision->skipped > 0 || expired > 0;
        scheduled->planned = decision->planned;
    }
    enum step_kind kind = waits || !decision->runs ? MOVE : RUN;
    /* No planned time is left, or the next one is after the end of the schedule. */
    if (kind == MOVE && !waits &&
        (scheduled->planned == HORA_FOREVER || is_after_end(scheduled, scheduled->planned)))
        kind = END;
    series->is_over |= kind == END;
    return (struct next_step){kind, waits ? 0 : expired};
}

/* Decides what the worker does with a task with series state. This takes one visit to the timer queue, or two
 * with a trigger that has to be asked without the lock. Notifies the observer of skipped and expired runs. */
static struct next_step decide(hora_pool *pool, struct hora__scheduled *scheduled)
{
    const struct hora__series *series = scheduled->series;
    assert(series != NULL);
    bool needs_time = series->trigger != HORA__ONCE || series->rules->grace > 0 || start_by_of(series) > 0;
    hora_ns now = needs_time ? hora__ns_sub(now_of(scheduled), series->offset) : 0;
    bool asks = series->trigger == HORA__ASKED;
    lock(scheduled);
    struct moment moment = look_locked(scheduled, now);
    int64_t skipped = series->skipped; /* only the worker that has the entry writes it */
    if (asks)
        unlock(scheduled);
    struct hora__decision decision = decision_by_rules(series, &moment);
    int64_t expired = drop_expired(series, &moment, &decision);
    if (asks)
        lock(scheduled);
    struct next_step step = note_decision_locked(scheduled, &moment, &decision, expired);
    skipped = series->skipped - skipped;
    unlock(scheduled);
    hora__series_tell_skipped(pool, scheduled, skipped);
    if (step.expired > 0 && hora__scheduled_is_series(scheduled))
        pool->observer->kind->expired(pool->observer, &scheduled->future, step.expired);
    return step;
}

/* Ends a task that has no time left: a series has reached its end and succeeds; a single task is too late,
 * and has expired or is cancelled. */
static void end_without_run(hora_pool *pool, struct hora__scheduled *scheduled, bool expired)
{
    if (hora__scheduled_is_series(scheduled))
        (void)hora_future_complete(&scheduled->future, NULL);
    else if (expired && hora__future_abort(&scheduled->future, HORA_EEXPIRED))
        pool->observer->kind->expired(pool->observer, &scheduled->future, 1);
    else
        (void)hora_future_cancel(&scheduled->future, false);
}

/* A task without series state runs in any case: once a worker has taken it, it cannot be changed any more.
 * See admit of struct hora__pool_kind. */
hora_future *hora__series_decide(hora_pool *pool, hora_future *future)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    if (scheduled == NULL || scheduled->series == NULL || hora_future_is_done(future))
        return future;
    struct next_step step = decide(pool, scheduled);
    switch (step.kind) {
    case RUN:
        return scheduled->series->overlap != NULL ? hora__overlap_admit(pool, scheduled) : future;
    case END:
        if (scheduled->series->overlap != NULL)
            return hora__overlap_close(scheduled) ? future : NULL;
        end_without_run(pool, scheduled, step.expired > 0);
        return future;
    case MOVE:
    default:
        return hora__series_put_back(pool, future, false) ? NULL : future;
    }
}

/* ---- the next time ---- */

/* Returns the next planned time of a rate, not before `not_before` unless that is HORA_NEVER, and counts
 * skipped times. The caller holds the lock. `now` is without the offset. */
static hora_ns next_of_rate(struct hora__scheduled *scheduled, hora_ns now, hora_ns not_before)
{
    assert(scheduled->series->every > 0);
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    struct hora__series *series = scheduled->series;
    hora_ns next = hora__ns_add(scheduled->planned, series->every);
    /* The clock was set back during the run. The thread that handled that did not find the entry. */
    if (now < scheduled->planned)
        next = hora__plan_grid(next, series->every, now);
    /* After a failure the series backs off. It continues with the first time of its rate that is late
     * enough. */
    if (not_before != HORA_NEVER && next < not_before) {
        int64_t passed = hora__plan_passed(next, series->every, not_before - 1);
        hora__series_skips(series, series->is_retimed ? 0 : passed);
        return hora__plan_grid(next, series->every, not_before);
    }
    if (series->rules->overlap != HORA_OVERLAP_QUEUE_ONE)
        return next;
    /* At most one of the times that have passed during the run is made up for. */
    int64_t passed = hora__plan_passed(next, series->every, now);
    if (passed > 1) {
        hora__series_skips(series, passed - 1);
        next += (passed - 1) * series->every;
    }
    return next;
}

/* Returns the next planned time, not before `not_before`, of a task whose trigger is no user code. The caller
 * holds the lock. `now` is without the offset. */
static hora_ns next_by_trigger(struct hora__scheduled *scheduled, hora_ns now, hora_ns not_before)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    switch (scheduled->series->trigger) {
    case HORA__RATE:
        return next_of_rate(scheduled, now, not_before);
    case HORA__GAP:
        return hora__ns_max(hora__ns_add(now, scheduled->series->every), not_before);
    case HORA__ONCE:
    case HORA__ASKED:
    default:
        return not_before;
    }
}

/* Asks the trigger for the next planned time, not before `not_before`. Called with the lock held; releases it
 * while the trigger, which is user code, runs. */
static hora_ns next_by_asking(struct hora__scheduled *scheduled, hora_ns now, hora_ns not_before)
{
    assert(scheduled->series->trigger == HORA__ASKED);
    hora_trigger_context context = hora__scheduled_context(scheduled, now);
    /* With overlap the present planned time may have been skipped; then it is not that of the last run. */
    context.last_planned = scheduled->planned;
    unlock(scheduled);
    hora_ns next = hora__plan_ask(scheduled->series->rules, &context);
    lock(scheduled);
    return next == HORA_FOREVER ? next : hora__ns_max(next, not_before);
}

/* Plans the run after one that has ended with this code. Returns its planned time, or HORA_NEVER if there is
 * none. The caller holds the lock, which is released while a trigger is asked. `now` includes the offset. */
static hora_ns next_locked(struct hora__scheduled *scheduled, int code, hora_ns now)
{
    struct hora__series *series = scheduled->series;
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    now = hora__ns_sub(now, series->offset);
    bool backs_off = code != 0 && series->rules->failure == HORA_FAILURE_BACK_OFF;
    hora_ns not_before = backs_off
                             ? hora__ns_add(now, hora__plan_pause(series->rules, series->failures_in_a_row))
                             : HORA_NEVER;
    hora_ns next = series->trigger == HORA__ASKED ? next_by_asking(scheduled, now, not_before)
                                                  : next_by_trigger(scheduled, now, not_before);
    /* A new time that was given during the run replaces the one that was found. */
    if (series->is_retimed)
        next = series->planned_next;
    series->is_given = series->is_retimed || backs_off;
    /* An overlapping series may have had no run for the present planned time. */
    series->has_skipped = scheduled->planned != series->last_planned;
    series->is_retimed = false;
    bool over = (series->trigger == HORA__ASKED && next == HORA_FOREVER) ||
                (series->rules->end.ns != 0 && is_after_end(scheduled, next));
    if (!over)
        scheduled->planned = next;
    series->is_over |= over;
    return over ? HORA_NEVER : next;
}

/* An overlapping series plans its next run when a run begins, not when it ends, and does not back off. */
hora_ns hora__series_next(hora_pool *pool, struct hora__scheduled *scheduled)
{
    assert(scheduled->series != NULL);
    hora_ns now = now_of(scheduled);
    lock(scheduled);
    int64_t skipped = scheduled->series->skipped;
    hora_ns next = next_locked(scheduled, 0, now);
    skipped = scheduled->series->skipped - skipped;
    unlock(scheduled);
    hora__series_tell_skipped(pool, scheduled, skipped);
    return next;
}

/* ---- running ---- */

/* Notes that a run begins for a planned time. The caller holds the lock. */
void hora__series_begins_locked(struct hora__scheduled *scheduled, hora_ns planned, hora_ns now)
{
    struct hora__series *series = scheduled->series;
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    assert(now >= hora__ns_add(planned, hora__scheduled_offset(scheduled)) ||
           scheduled->entry.line == HORA__WALL); /* I1; the wall clock may have been set back */
    scheduled->run.last.start = now;
    if (series != NULL) {
        series->running++;
        series->runs++;
        series->last_planned = planned;
    } else {
        scheduled->run.last.end = HORA_NEVER;
        scheduled->has_begun = true;
        scheduled->is_running = true;
    }
}

/* Undoes hora__series_begins_locked for an overlapping run that was cancelled before its body was called. */
void hora__series_did_not_begin(struct hora__scheduled *scheduled)
{
    lock(scheduled);
    assert(scheduled->series->running > 0 && scheduled->series->runs > 0);
    scheduled->series->running--;
    scheduled->series->runs--;
    unlock(scheduled);
}

/* Notes that a run has ended with this code. The caller holds the lock. */
static void note_end_locked(struct hora__scheduled *scheduled, int code, hora_ns now)
{
    struct hora__series *series = scheduled->series;
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    assert(series != NULL ? series->running > 0 : scheduled->is_running);
    scheduled->run.last.end = now;
    scheduled->last_code = code;
    if (series != NULL) {
        series->running--;
        series->failures += code != 0 ? 1 : 0;
        series->failures_in_a_row = code != 0 ? series->failures_in_a_row + 1 : 0;
    } else {
        scheduled->is_running = false;
    }
}

/* Returns the number of failures in a row, for a run that has failed. The caller holds the lock. */
static int64_t in_a_row_locked(const struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    return scheduled->series != NULL ? scheduled->series->failures_in_a_row : 1;
}

/* Returns whether the rule for failures lets the task go on after this code. A task that runs once goes on
 * only if it has failed and backs off; its success ends it (has_run_enough). */
static bool survives_locked(const struct hora__series *series, int code)
{
    if (code == 0 || series == NULL)
        return code == 0;
    const hora_schedule *rules = series->rules;
    if (rules->stop_after > 0 && series->failures_in_a_row >= rules->stop_after)
        return false;
    if (series->trigger == HORA__ONCE)
        return rules->failure == HORA_FAILURE_BACK_OFF;
    return rules->failure != HORA_FAILURE_STOP;
}

/* Returns whether the task needs no further run: a one-shot task has succeeded, or a series has reached its
 * count. Only the worker that has the entry changes the count. */
static bool has_run_enough(const struct hora__scheduled *scheduled, int code)
{
    if (!hora__scheduled_is_series(scheduled))
        return code == 0;
    const struct hora__series *series = scheduled->series;
    int64_t more = HORA__FAULT(SERIES_RUNS_ONCE_MORE) ? 1 : 0;
    return series->rules->count > 0 && series->runs >= series->rules->count + more;
}

/* Notes the end of an overlapping run. Its series plans the next run elsewhere: see hora__series_next. */
bool hora__series_survives(struct hora__scheduled *scheduled, int code, int64_t *ret_in_a_row)
{
    assert(scheduled->series != NULL && ret_in_a_row != NULL);
    hora_ns now = now_of(scheduled);
    lock(scheduled);
    note_end_locked(scheduled, code, now);
    *ret_in_a_row = in_a_row_locked(scheduled);
    bool survives = survives_locked(scheduled->series, code);
    scheduled->series->is_over |= !survives;
    unlock(scheduled);
    return survives;
}

/* Notifies the observer of a failed run. `in_a_row` was read when the run ended: another run may have ended
 * since then. `over`: the series ends. */
void hora__series_tell(hora_pool *pool, struct hora__scheduled *scheduled, int code, bool over,
                       int64_t in_a_row)
{
    if (code == 0 || pool->observer == NULL)
        return;
    pool->observer->kind->failed(pool->observer, &scheduled->future, over, in_a_row);
}

/* ---- the short way: see above ---- */

/* Returns whether the run of a task that was just taken can begin at once: nothing prevents it, and no time
 * was missed. `moment` is the time without the offset. The general way handles missed runs and a wall clock
 * that was set back, and notifies the observer of them. The caller holds the lock. */
static bool may_begin_locked(const struct hora__scheduled *scheduled, hora_ns moment)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    const struct hora__series *series = scheduled->series;
    /* A rate that is late by a period or more has missed a run. */
    hora_ns late = hora__ns_sub(moment, scheduled->planned);
    bool is_simple = (series->trigger == HORA__RATE ? late < series->every : series->trigger == HORA__GAP) &&
                     series->overlap == NULL && series->extra == NULL;
    bool in_time = late >= 0 && (series->rules->grace == 0 || late <= series->rules->grace);
    return is_simple && in_time && series->staleness == HORA__NOT_STALE && !series->is_retimed &&
           !scheduled->paused && hora__future_state(&scheduled->future) == HORA__FUTURE_NEW;
}

/* The note keeps the values that beginning overwrites: see take_beginning_back. */
void hora__series_take_locked(struct hora__series_run *run, struct hora__scheduled *scheduled, hora_ns now)
{
    struct hora__series *series = scheduled->series;
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    assert(scheduled->entry.stage == HORA__TAKEN && run->begun == NULL && run->ended == NULL);
    if (!may_begin_locked(scheduled, hora__ns_sub(now, series->offset)))
        return;
    run->begun = &scheduled->future;
    run->start_before = scheduled->run.last.start;
    run->planned_before = series->last_planned;
    hora__series_begins_locked(scheduled, scheduled->planned, now);
    scheduled->entry.stage = HORA__RUNS;
}

/* Undoes hora__series_take_locked for a run that did not begin: since the visit, the future was cancelled or
 * the scheduler stopped. */
static void take_beginning_back(struct hora__scheduled *scheduled, const struct hora__series_run *run)
{
    assert(scheduled != NULL);
    struct hora__series *series = scheduled->series;
    if (HORA__FAULT(SERIES_COUNTS_UNBEGUN))
        return;
    lock(scheduled);
    assert(series->running == 1 && scheduled->entry.stage == HORA__RUNS);
    series->running--;
    series->runs--;
    series->last_planned = run->planned_before;
    scheduled->run.last.start = run->start_before;
    scheduled->entry.stage = HORA__TAKEN;
    unlock(scheduled);
}

/* Returns whether the end of a run may be noted later, in the visit that puts the entry back. The run has
 * succeeded, and it is certain that the series goes on. There is no drop_result: user code must not see the
 * series before the end is noted. The worker reads, without the lock, only what it alone writes while it has
 * the entry. */
static bool may_end_later(const struct hora__scheduled *scheduled, int code)
{
    assert(scheduled->series != NULL);
    const struct hora__series *series = scheduled->series;
    const hora_schedule *rules = series->rules;
    const hora_future *future = &scheduled->future;
    return code == 0 && future->task.drop_result == NULL && rules->end.ns == 0 &&
           rules->overlap != HORA_OVERLAP_QUEUE_ONE &&
           (rules->count == 0 || !has_run_enough(scheduled, code)) &&
           hora__future_state(future) == HORA__FUTURE_NEW;
}

/* Returns whether the entry can be put back under the lock, which the caller holds, without a check
 * afterwards. Cancel and shutdown change a word before they take the lock to look for the entry. So either
 * the caller sees the word, or they find the entry. If a worker is missing, the general way starts one. */
static bool may_return_locked(const hora_pool *pool, const hora_future *future)
{
    int32_t control = hora__atomic_load(&pool->control);
    bool is_new = hora__future_state(future) == HORA__FUTURE_NEW || HORA__FAULT(SERIES_RETURNS_CANCELLED);
    bool is_running = hora__state_of(control) == HORA__RUNNING || HORA__FAULT(SERIES_RETURNS_AFTER_SHUTDOWN);
    bool is_staffed = hora__count_of(control) >= hora__atomic_load(&pool->core_threads);
    return is_new && is_running && is_staffed;
}

/* Called with the lock held by the worker that has run the task, before it takes its next entry. */
bool hora__series_return_locked(struct hora__series_run *run, hora_ns now)
{
    assert(run->ended != NULL);
    hora_future *future = run->ended;
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    assert(scheduled->entry.stage == HORA__RUNS && scheduled->series->running == 1);
    if (!may_return_locked(run->pool, future))
        return false;
    run->ended = NULL;
    note_end_locked(scheduled, 0, now);
    hora_ns next = next_locked(scheduled, 0, now);
    assert(next != HORA_NEVER); /* see may_end_later */
    (void)next;
    check_clock(scheduled);
    hora__timer_queue_put_back(scheduled->queue, &scheduled->entry, hora__scheduled_due(scheduled));
    hora__counter_add_alone(run->completed, 1);
    return true;
}

/* Notes the end of a run, and plans the next one, if hora__series_return_locked could not. */
static void note_end_and_plan(struct hora__scheduled *scheduled)
{
    assert(scheduled->series != NULL);
    hora_ns now = now_of(scheduled);
    lock(scheduled);
    note_end_locked(scheduled, 0, now);
    hora_ns next = next_locked(scheduled, 0, now);
    assert(next != HORA_NEVER);
    (void)next;
    unlock(scheduled);
}

/* ---- a run ---- */

/* The context of the callbacks below. */
struct run {
    hora_pool *pool;
    struct hora__scheduled *scheduled;
    bool is_called;  /* on the short way: the body is about to be called, or has been */
    bool ends_later; /* on the short way: the visit that puts the entry back notes the end */
};

/* Begins a run: `begins` of struct hora__run_callbacks. Returns false if the task was paused or re-timed
 * since the worker decided to run it; this is the last moment for that. The stage of a task that runs once
 * may be OUT here: a worker that waits for the task has removed it from the queue. */
static bool begins(hora_future *future, void *context)
{
    (void)future;
    struct run *run = context;
    struct hora__scheduled *scheduled = run->scheduled;
    hora_ns now = now_of(scheduled);
    lock(scheduled);
    assert(scheduled->entry.stage != HORA__RUNS);
    bool is_retimed = scheduled->series != NULL && scheduled->series->is_retimed;
    bool begins = (!scheduled->paused && !is_retimed) || HORA__FAULT(SERIES_BEGINS_PAUSED);
    if (begins) {
        hora__series_begins_locked(scheduled, scheduled->planned, now);
        scheduled->entry.stage = HORA__RUNS;
    }
    unlock(scheduled);
    return begins;
}

/* Ends a run: `ends` of struct hora__run_callbacks. Notes the end, applies the rule for failures and plans
 * the next run, with one reading of the clock and, unless a trigger has to be asked, in one visit to the
 * timer queue. */
static enum hora__run_end ends(hora_future *future, int code, void *context)
{
    struct run *run = context;
    struct hora__scheduled *scheduled = run->scheduled;
    hora_ns now = now_of(scheduled);
    lock(scheduled);
    note_end_locked(scheduled, code, now);
    int64_t in_a_row = in_a_row_locked(scheduled);
    bool goes_on = survives_locked(scheduled->series, code) && !has_run_enough(scheduled, code);
    int64_t skipped = 0;
    if (goes_on &&
        !hora_future_is_done(future)) { /* if it was cancelled during the run, nothing is planned */
        skipped = scheduled->series->skipped;
        goes_on = next_locked(scheduled, code, now) != HORA_NEVER;
        skipped = scheduled->series->skipped - skipped;
    }
    if (!goes_on && scheduled->series != NULL)
        scheduled->series->is_over = true;
    unlock(scheduled);
    hora__series_tell_skipped(run->pool, scheduled, skipped);
    hora__series_tell(run->pool, scheduled, code, !goes_on || hora_future_is_done(future), in_a_row);
    if (goes_on)
        return HORA__GOES_ON;
    return code == 0 ? HORA__SUCCEEDS : HORA__FAILS;
}

/* Returns whether no thread can ask about the run, so that it need not be noted: the task runs once, the
 * worker has the only reference, and no hook or observer sees it. */
static bool is_unseen(const hora_pool *pool, const struct hora__scheduled *scheduled)
{
    return scheduled->series == NULL && pool->before == NULL && pool->after == NULL &&
           !hora__pool_needs_futures(pool) && hora__atomic_load(&scheduled->future.object.references) == 1;
}

/* Runs a scheduled future. Returns whether it is put back afterwards. */
static bool run_scheduled(hora_pool *pool, struct hora__scheduled *scheduled, hora_thread *thread)
{
    assert(thread != NULL);
    if (is_unseen(pool, scheduled)) {
        (void)hora__future_run(&scheduled->future, thread, NULL);
        return false;
    }
    struct run run = {.pool = pool, .scheduled = scheduled};
    struct hora__run_callbacks callbacks = {begins, ends, NULL, &run};
    return hora__future_run_scheduled(&scheduled->future, thread, &callbacks);
}

/* Overlapping runs and foreign futures run once; only a scheduled future may be put back. See run of struct
 * hora__pool_kind. */
bool hora__series_run(hora_pool *pool, hora_future *future, hora_thread *thread)
{
    assert(future != NULL && thread != NULL);
    if (future->kind == HORA__FUTURE_OVERLAPPING) {
        hora__overlap_run(pool, future, thread);
        return false;
    }
    if (!HORA__FAULT(SERIES_RUNS_AFTER_STOP) && !hora__scheduler_lets_run(pool, future)) {
        (void)hora_future_cancel(future, false);
        return false;
    }
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    if (scheduled != NULL)
        return run_scheduled(pool, scheduled, thread);
    (void)hora__future_run(future, thread, NULL);
    return false;
}

/* `begins` on the short way: the run began when the entry was taken. */
static bool begins_shortly(hora_future *future, void *context)
{
    (void)future;
    struct run *run = context;
    run->is_called = true;
    return true;
}

/* `ends` on the short way: leaves the end to the next visit if possible, else ends the run in the general
 * way. */
static enum hora__run_end ends_shortly(hora_future *future, int code, void *context)
{
    assert(context != NULL);
    struct run *run = context;
    run->ends_later = may_end_later(run->scheduled, code);
    return run->ends_later ? HORA__GOES_ON : ends(future, code, context);
}

/* cannot_go_on of struct hora__run_callbacks: the future was cancelled after ends_shortly returned GOES_ON.
 * The entry is not put back, so the end is noted here. */
static void cannot_go_on(void *context)
{
    const struct run *run = context;
    if (!run->ends_later)
        return;
    hora_ns now = now_of(run->scheduled);
    lock(run->scheduled);
    note_end_locked(run->scheduled, 0, now);
    unlock(run->scheduled);
}

/* See run_begun of struct hora__pool_kind. If the pool is not running any more, the rules after shutdown
 * decide. */
bool hora__series_run_begun(hora_pool *pool, struct hora__series_run *note, hora_thread *thread)
{
    assert(note->begun != NULL && note->ended == NULL);
    hora_future *future = note->begun;
    struct run run = {.pool = pool, .scheduled = hora__scheduled_of(future)};
    bool is_running = hora__state_of(hora__atomic_load(&pool->control)) == HORA__RUNNING;
    note->begun = NULL;
    if (!is_running && !HORA__FAULT(SERIES_RUNS_AFTER_STOP) && !hora__scheduler_lets_run(pool, future)) {
        take_beginning_back(run.scheduled, note);
        (void)hora_future_cancel(future, false);
        return false;
    }
    struct hora__run_callbacks callbacks = {begins_shortly, ends_shortly, cannot_go_on, &run};
    bool stays = hora__future_run_scheduled(future, thread, &callbacks);
    if (!run.is_called)
        take_beginning_back(run.scheduled, note);
    else if (run.ends_later && stays)
        note->ended = future;
    return stays;
}

/* The body has not returned, so the end of the run is noted here, if the run has begun. Code 0: see
 * struct hora__pool_kind. */
void hora__series_abandoned(hora_pool *pool, hora_future *future, int code)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    if (future->kind == HORA__FUTURE_OVERLAPPING) {
        hora__overlap_abandoned(pool, future, code);
    } else if (scheduled != NULL) {
        hora_ns now = now_of(scheduled);
        lock(scheduled);
        if (scheduled->series != NULL ? scheduled->series->running > 0 : scheduled->is_running)
            note_end_locked(scheduled, code, now);
        int64_t in_a_row = in_a_row_locked(scheduled);
        unlock(scheduled);
        hora__series_tell(pool, scheduled, code, true, in_a_row);
    }
}
