/* SPDX-License-Identifier: Apache-2.0 */
/* overruns.c - runs that take too long: interrupting them, and reporting that they are stuck
 *
 * Own limits        A run whose task options have limits has a check in the watchdog while it lasts; the
 *                   room was reserved when the worker was made. The watchdog interrupts the run under its
 *                   lock and only while the check is set, and the worker cancels the check under the same
 *                   lock when the run ends. So the interrupt reaches this run or none.
 * The pool's rule   costs a run one read of a flag. One check serves all workers: in each round the
 *                   watchdog reads what every worker has noted, and it sets the next round for the time at
 *                   which the first of them may be stuck. If no worker runs a task, it sets `is_idle`, makes
 *                   one more round after stuck_after, and then none until a worker that begins a task finds
 *                   `is_idle` set. So an idle pool causes no wake-ups. The additional round is needed because
 *                   a worker notes its run without a fence before it reads `is_idle`; by the time of that
 *                   round the note is visible.
 * Locks             A round holds the pool's lock; reports are made after it is released. */
#include "observe/observer.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "observe/measures.h"
#include "observe/watchdog.h"
#include "sys/alloc.h"

/* ---- reporting ---- */

/* Returns when the run began or last reported progress, on the pool's clock. HORA_NEVER is less than any
 * time. */
static hora_ns last_sign(const struct hora__run_reading *reading)
{
    return hora__ns_max(reading->began, reading->progress);
}

/* Copies name and location of the task into the action: the run may end before the action is carried out. */
static void note_task(struct hora__watchdog_action *action, const struct hora__run_reading *reading)
{
    action->task = (hora_task){.name = reading->name, .file = reading->file, .line = reading->line};
}

/* Fills the event of a stuck run. */
static void note_stuck(struct hora__watchdog_action *action, const struct hora__run_reading *reading,
                       int worker, hora_ns began)
{
    note_task(action, reading);
    action->event = (hora_event){.struct_size = sizeof action->event,
                                 .worker = worker,
                                 .ran = hora__ns_sub(action->now, began),
                                 .quiet = hora__ns_sub(action->now, last_sign(reading))};
}

/* The action for a stuck run: replaces its worker if the task asks for that, and reports the run. Releases
 * the action's reference to the future. */
static void report_stuck(struct hora__watchdog_action *action)
{
    assert(action->pool_observer->pool != NULL);
    struct hora__pool_observer *pool_observer = action->pool_observer;
    if (action->replaced_run > 0)
        (void)hora__worker_write_off(pool_observer->pool, action->event.worker, action->replaced_run);
    action->event.task = &action->task;
    action->event.future = action->future;
    hora__events_stuck(pool_observer, action->future, &action->event);
    (void)hora_future_unref(action->future);
}

/* The action for a run that was interrupted: counts it. No listener function exists for this event. */
static void count_overrun(struct hora__watchdog_action *action)
{
    hora__measures_count_event(action->pool_observer, action->task.name, HORA__COUNT_OVERRUN, 1);
}

/* ---- limits of a run ---- */

/* Returns stuck_after of the task, or else of the pool; 0: none. */
static hora_ns stuck_after_of(const struct hora__watched_run *run)
{
    hora_ns own = run->terms->stuck_after;
    return own > 0 ? own : run->record->pool_observer->options.stuck_after;
}

/* Returns the time at which the run counts as stuck, or is reported again; HORA_FOREVER: never. A task with
 * both limits is first interrupted, so its stuck_after counts from the end of run_limit. */
static hora_ns stuck_at(const struct hora__watched_run *run, const struct hora__run_reading *reading)
{
    assert(run->terms != NULL);
    hora_ns stuck_after = stuck_after_of(run);
    if (stuck_after == 0)
        return HORA_FOREVER;
    bool after_limit = run->terms->run_limit > 0 && run->terms->stuck_after > 0;
    hora_ns from = after_limit ? hora__ns_add(run->began, run->terms->run_limit) : last_sign(reading);
    return hora__ns_add(hora__ns_max(from, run->reported_at), stuck_after);
}

/* The check of a run with limits: interrupts a run that exceeds its run_limit, or reports it as stuck.
 * Called with the watchdog's lock held. Since the check was set, the run has not ended, so the worker's note
 * is about this run or one inside it. Returns the time of the next check. */
static hora_ns look_at_run(struct hora__watchdog_check *check, hora_ns now,
                           struct hora__watchdog_action *action)
{
    struct hora__watched_run *run = HORA__LIST_ENTRY(check, struct hora__watched_run, check);
    struct hora__run_reading reading;
    bool runs = hora__worker_record_read(run->record, &reading);
    assert(runs);
    (void)runs;
    if (run->terms->run_limit > 0 && !run->is_interrupted) {
        run->is_interrupted = true;
        (void)hora_thread_interrupt(run->thread);
        note_task(action, &reading);
        action->act = count_overrun;
        return stuck_at(run, &reading);
    }
    hora_ns at = stuck_at(run, &reading);
    if (at > now)
        return at; /* it has made progress */
    run->reported_at = now;
    note_stuck(action, &reading, run->record->worker->number, run->began);
    action->future = hora_future_ref(run->future);
    action->replaced_run = run->terms->replace_stuck ? run->number : 0;
    action->act = report_stuck;
    return stuck_at(run, &reading);
}

/* Reserves one check per frame, so that registering a run cannot fail. */
int hora__overruns_prepare(struct hora__worker_record *record)
{
    for (int i = 0; i < HORA__FRAMES; i++) {
        record->runs[i].record = record;
        hora__watchdog_check_init(&record->runs[i].check, look_at_run, NULL);
    }
    return hora__watchdog_reserve(record->pool_observer->watchdog, HORA__FRAMES);
}

void hora__overruns_release(struct hora__worker_record *record)
{
    hora__watchdog_unreserve(record->pool_observer->watchdog, HORA__FRAMES);
}

/* Returns the number of a new run with limits, > 0: 0 means none. */
static int next_number(struct hora__worker_record *record)
{
    record->last_number = record->last_number == INT32_MAX ? 1 : record->last_number + 1;
    return record->last_number;
}

/* Makes `run`, the innermost run with limits, the one in which the worker may be replaced; NULL: the worker
 * is in none. */
static void note_innermost(struct hora__worker_record *record, const struct hora__watched_run *run)
{
    assert(run == NULL || run->number > 0);
    hora__counter_set(&record->has_own_limit, run != NULL ? 1 : 0);
    hora__worker_can_be_written_off(record->worker,
                                    run != NULL && run->terms->replace_stuck ? run->number : 0);
}

/* Returns whether the task options ask for the watchdog during a run. */
static bool has_own_limit(const hora_task_options *terms)
{
    return terms->run_limit > 0 || terms->stuck_after > 0 || terms->replace_stuck;
}

/* Fills the watched run of the innermost frame and sets its check. The watchdog does not use the struct
 * before the check is set, so this needs no lock. */
static void register_run(struct hora__worker_record *record, struct hora__frame *frame, hora_future *future,
                         hora_ns now)
{
    assert(record->depth >= 1 && record->depth <= HORA__FRAMES && future != NULL);
    struct hora__watched_run *run = &record->runs[record->depth - 1];
    run->terms = &hora__future_extra(future)->terms;
    run->future = future;
    run->thread = record->worker->thread;
    run->began = now;
    run->reported_at = HORA_NEVER;
    run->is_interrupted = false;
    hora__future_note_interrupt(future, false); /* the flag of a series may be left from another run */
    run->number = next_number(record);
    struct hora__run_reading reading = {.began = now, .progress = HORA_NEVER};
    hora_ns first =
        run->terms->run_limit > 0 ? hora__ns_add(now, run->terms->run_limit) : stuck_at(run, &reading);
    if (first == HORA_FOREVER)
        return;
    frame->run = run;
    note_innermost(record, run);
    (void)hora__watchdog_set(record->pool_observer->watchdog, &run->check, first);
}

static void wake_rounds(struct hora__pool_observer *pool_observer, hora_ns now);

void hora__overruns_begins(struct hora__worker_record *record, struct hora__frame *frame, hora_future *future,
                           hora_ns now)
{
    assert(record->depth >= 1);
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    wake_rounds(record->pool_observer, now);
    if (extra != NULL && has_own_limit(&extra->terms))
        register_run(record, frame, future, now);
}

/* Cancels the check first. After that the watchdog no longer uses the run, so is_interrupted is final. Then
 * the next outer run with limits, if any, is the one in which the worker may be replaced. */
void hora__overruns_ended(struct hora__worker_record *record, struct hora__frame *frame, hora_future *future)
{
    struct hora__watched_run *run = frame->run;
    if (run == NULL)
        return;
    if (!HORA__FAULT(OVERRUN_MEETS_NEXT))
        (void)hora__watchdog_unset(record->pool_observer->watchdog, &run->check);
    if (run->is_interrupted)
        hora__future_note_interrupt(future, true);
    frame->run = NULL;
    struct hora__watched_run *outer = NULL;
    for (int i = record->depth - 1; i >= 0 && outer == NULL; i--)
        outer = record->frames[i].run;
    note_innermost(record, outer);
}

/* ---- the pool's rule ---- */

/* The maximum number of reports per round; the next round reports the others. */
enum { REPORTS_PER_ROUND = 16 };

struct hora__stuck_rounds {
    struct hora__pool_observer *pool_observer; /* immutable */
    struct hora__watchdog_check check;         /* due at the next round */
    /* 1: the last round found no worker that runs a task. A worker that begins a task then sets the check. */
    hora__atomic is_idle;
};

/* The results of one round. */
struct round {
    hora_ns next; /* when the next worker may be stuck; HORA_FOREVER: no worker runs a task */
    int found;    /* number of actions */
    struct hora__watchdog_action actions[REPORTS_PER_ROUND]; /* the reports to make */
};

/* Checks one worker: adds a report if it is stuck by the pool's rule, and lowers round->next to the time at
 * which it may be stuck, or is reported again. A run with its own limits is left to look_at_run. The caller
 * holds the pool's lock. */
static void look_at_record(struct hora__stuck_rounds *rounds, struct hora__worker_record *record, hora_ns now,
                           struct round *round)
{
    assert(hora__mutex_held(&rounds->pool_observer->pool->object.lock));
    hora_ns stuck_after = rounds->pool_observer->options.stuck_after;
    struct hora__run_reading reading;
    if (!hora__worker_record_read(record, &reading))
        return;
    hora_ns from = last_sign(&reading);
    if (record->reported_run == reading.run)
        from = hora__ns_max(from, record->reported_at);
    if (hora__counter_read(&record->has_own_limit) != 0)
        from = now;
    hora_ns at = hora__ns_add(from, stuck_after);
    if (at <= now && round->found < REPORTS_PER_ROUND) {
        struct hora__watchdog_action *action = &round->actions[round->found++];
        *action = (struct hora__watchdog_action){.pool_observer = rounds->pool_observer, .now = now};
        note_stuck(action, &reading, record->worker->number, reading.began);
        record->reported_run = reading.run;
        record->reported_at = now;
        at = hora__ns_add(now, stuck_after);
    }
    if (at < round->next)
        round->next = at;
}

/* Checks all workers under the pool's lock. */
static void make_round(struct hora__stuck_rounds *rounds, hora_ns now, struct round *round)
{
    hora_pool *pool = rounds->pool_observer->pool;
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        const struct hora__worker *worker = HORA__LIST_ENTRY(link, struct hora__worker, link);
        look_at_record(rounds, hora__worker_record_of(worker->worker_observer), now, round);
    }
    hora__mutex_unlock(&pool->object.lock);
}

/* Returns the time of the next round; HORA_FOREVER: none until a worker begins a task. */
static hora_ns next_round(struct hora__stuck_rounds *rounds, hora_ns now, const struct round *round)
{
    assert(rounds->pool_observer->options.stuck_after > 0);
    if (round->next != HORA_FOREVER) {
        hora__atomic_store(&rounds->is_idle, 0);
        return round->next;
    }
    bool was_idle = hora__atomic_load(&rounds->is_idle) != 0;
    hora__atomic_store(&rounds->is_idle, 1);
    return was_idle ? HORA_FOREVER : hora__ns_add(now, rounds->pool_observer->options.stuck_after);
}

/* The action of the rounds: makes a round, sets the next one and reports. It takes the pool's lock, which
 * cannot be taken under the watchdog's. */
static void act_on_round(struct hora__watchdog_action *action)
{
    assert(!hora__mutex_holds_object());
    struct hora__stuck_rounds *rounds = HORA__LIST_ENTRY(action->check, struct hora__stuck_rounds, check);
    struct round round = {.next = HORA_FOREVER};
    make_round(rounds, action->now, &round);
    hora_ns next = next_round(rounds, action->now, &round);
    if (next != HORA_FOREVER)
        (void)hora__watchdog_set(action->pool_observer->watchdog, &rounds->check, next);
    for (int i = 0; i < round.found; i++)
        report_stuck(&round.actions[i]);
}

/* The check of the rounds: leaves everything to the action, which sets the check again. */
static hora_ns look_around(struct hora__watchdog_check *check, hora_ns now,
                           struct hora__watchdog_action *action)
{
    (void)now;
    action->act = act_on_round;
    action->check = check;
    return HORA_FOREVER;
}

/* Sets the next round if the rounds are idle. Called by a worker that has begun a task and noted it. Of
 * several workers, the one whose compare-and-swap succeeds sets the check. */
static void wake_rounds(struct hora__pool_observer *pool_observer, hora_ns now)
{
    assert(pool_observer->pool != NULL);
    struct hora__stuck_rounds *rounds = pool_observer->rounds;
    if (rounds == NULL || hora__atomic_load(&rounds->is_idle) == 0 || HORA__FAULT(STUCK_ROUNDS_STAY_IDLE))
        return;
    if (hora__atomic_cas(&rounds->is_idle, 1, 0))
        (void)hora__watchdog_set(pool_observer->watchdog, &rounds->check,
                                 hora__ns_add(now, pool_observer->options.stuck_after));
}

/* Starts the watchdog's thread now, because a worker that begins a task could not handle an error. The rounds
 * are idle until the first task begins. */
int hora__stuck_rounds_new(struct hora__pool_observer *pool_observer, struct hora__stuck_rounds **ret_rounds)
{
    *ret_rounds = NULL;
    if (pool_observer->options.stuck_after == 0)
        return 0;
    struct hora__stuck_rounds *rounds = hora__alloc(1, sizeof *rounds);
    if (rounds == NULL)
        return HORA_ENOMEM;
    rounds->pool_observer = pool_observer;
    hora__watchdog_check_init(&rounds->check, look_around, NULL);
    hora__atomic_init(&rounds->is_idle, 1);
    int error = hora__watchdog_reserve(pool_observer->watchdog, 1);
    if (error < 0) {
        hora__free(rounds);
        return error;
    }
    error = hora__watchdog_start(pool_observer->watchdog);
    if (error < 0) {
        hora__stuck_rounds_free(rounds);
        return error;
    }
    *ret_rounds = rounds;
    return 0;
}

void hora__stuck_rounds_free(struct hora__stuck_rounds *rounds)
{
    if (rounds != NULL)
        hora__watchdog_unreserve(rounds->pool_observer->watchdog, 1);
    hora__free(rounds);
}
