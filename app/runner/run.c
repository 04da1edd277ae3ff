/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - the way of a run: from its arrival in the loop to its outcome
 *
 *            arrives
 *               |
 *            DELAYED ----.          each of them: run_stop, or the end of its time (grace)
 *               |        |
 *            WAITING ----+--> run_finish: skipped, or handed back to the store
 *               |
 *            GUARDED -------> its guard failed: skipped
 *               |
 *            RUNNING --.
 *               |      |  timeout, cancel, replace, lost lease, end of the runner
 *               |   STOPPING
 *               |      |
 *            DRAINING <'
 *               |
 *            run_finish: succeeded, failed (with another attempt or not), stopped, lost
 *
 * run_finish is in finish.c, processes are in run_process.c. */
#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "command.h"
#include "runner/internal.h"
#include "text.h"

#define DRAIN_TIME       HORA_SECONDS(2)
#define SHORT_DRAIN_TIME HORA_MS(100) /* while the runner stops */
#define HOOK_TIMEOUT     HORA_MINUTES(10)

static const char *const state_names[] = {"delayed", "waiting", "guarded", "running", "stopping", "draining"};

const char *run_state_name(enum run_state state)
{
    return state_names[state];
}

void run_explain(struct run *run, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    text_set(&run->reason, text);
}

/* A random number from 0 to 1. */
static double random_part(void)
{
    uint32_t bits = 0;
    if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
        return 0.5;
    return bits / 4294967296.0;
}

/* ---- room ---- */

static void take_room(struct run *run)
{
    assert(!run->has_room);
    if (run->hook != NULL)
        return;
    run->has_room = true;
    run->runner->running++;
    if (run->group != NULL)
        run->group->running++;
    assert(run->group == NULL || run->group->running <= run->group->limit || run->runner->stopping); /* R4 */
}

void run_leave_room(struct run *run)
{
    if (!run->has_room)
        return;
    run->has_room = false;
    run->runner->running--;
    if (run->group != NULL)
        run->group->running--;
    assert(run->runner->running >= 0 && (run->group == NULL || run->group->running >= 0));
}

static void begin(struct run *run);

void runs_admit(struct runner *runner)
{
    if (runner->admitting) /* a run ended without a process: the caller goes on */
        return;
    runner->admitting = true;
    for (struct run *run; !runner->stopping && (run = waiting_first(runner)) != NULL;)
        begin(run);
    runner->admitting = false;
}

/* ---- arrival ---- */

static void timer_fired(void *arg);

static void add_to_list(struct run *run)
{
    struct runner *runner = run->runner;
    run->next = runner->runs;
    run->link = &runner->runs;
    if (run->next != NULL)
        run->next->link = &run->next;
    runner->runs = run;
    run->arrived = true;
}

static void wait_for_room(struct run *run)
{
    run->run_state = RUN_WAITING;
    if (run->hook != NULL) {
        begin(run);
        return;
    }
    waiting_add(run);
    runs_admit(run->runner);
    if (run->is_queued && run->group != NULL && run->group->running >= run->group->limit)
        event_report(run->runner, EVENT_INFO, "wait", run->job->name, json_pack("{s:s}", "run", run->id),
                     "waits: group %s is at its limit of %d", run->group->name, run->group->limit);
}

/* The run may start, as far as its past is concerned. */
void run_proceed(struct run *run)
{
    run->start_checked = true;
    if (run->runner->stopping && run->stop == STOP_NOT)
        run->stop = STOP_SHUTDOWN; /* it was on its way when the others were handed back */
    if (run->stop != STOP_NOT) {
        enum stop_reason reason = run->stop;
        run->stop = STOP_NOT;
        run_stop(run, reason);
        return;
    }
    if (run->job->jitter > 0 && run->hook == NULL && run->attempt == 1 && !run->by_hand) {
        run->run_state = RUN_DELAYED;
        loop_timer_start(&run->timer, (hora_ns)((double)run->job->jitter * random_part()));
        return;
    }
    wait_for_room(run);
}

/* Finds the job, and what of it matters here. Returns false if it is gone. */
static bool find_job(struct run *run)
{
    struct runner *runner = run->runner;
    struct job_state *state = runner_find(runner, job_of_key(runner, run->key));
    if (state == NULL)
        return false;
    run->state = state;
    run->set = job_set_ref(state->set);
    run->job = state->job;
    run->hash = state->hash;
    state->active++;
    if (run->job->group != NULL && run->hook == NULL)
        run->group = runner_find_group(runner, run->job->group->name);
    return true;
}

/* True if the planned time of a run is not one of the schedule. */
static bool is_by_hand(const struct run *run)
{
    if (job_has_delay(run->job) || run->attempt > 1)
        return false;
    hora_instant before = {run->planned.ns - 1000};
    return job_next_time(run->job, before).ns != run->planned.ns;
}

void run_arrived(void *arg)
{
    struct run *run = arg;
    add_to_list(run);
    loop_timer_init(&run->timer, run->runner->loop, timer_fired, run);
    if (!find_job(run)) {
        run_explain(run, "the job is no longer in the files");
        run_finish(run, RESULT_SKIPPED);
        return;
    }
    run->by_hand = run->hook == NULL && is_by_hand(run);
    if (run->hook == NULL && cancel_awaits(run))
        run->stop = STOP_CANCELLED;
    missed_run_arrived(run);
    if (run->hook == NULL)
        overlap_watch(run->state, run->planned);
    if (run->attempt > 1 && run->hook == NULL)
        past_ask(run);
    else
        run_proceed(run);
}

/* ---- the process ---- */

static bool is_too_late(const struct run *run)
{
    return run->job->grace > 0 && run->hook == NULL && !run->by_hand &&
           loop_wall(run->runner->loop).ns - run->planned.ns > run->job->grace;
}

static void report_start(struct run *run)
{
    json_t *fields = json_pack("{s:s, s:i, s:i, s:o, s:I, s:b}", "run", run->id, "attempt", run->attempt,
                               "pid", (int)run->process.pid, "planned", json_instant(run->planned), "fence",
                               (json_int_t)run->fence, "by_hand", run->by_hand);
    if (run->hook != NULL)
        json_object_set_new(fields, "hook", json_string(run->hook));
    if (run->runner->simulation != NULL)
        event_report(run->runner, EVENT_INFO, "start", run->job->name, fields, "attempt %d", run->attempt);
    else
        event_report(run->runner, EVENT_INFO, "start", run->job->name, fields, "attempt %d, pid %d",
                     run->attempt, (int)run->process.pid);
}

static void started(struct run *run)
{
    struct job_state *state = run->state;
    if (run->job->timeout > 0 && run->hook == NULL)
        loop_timer_start(&run->timer, run->job->timeout);
    else if (run->hook != NULL)
        loop_timer_start(&run->timer, HOOK_TIMEOUT);
    report_start(run);
    if (run->hook != NULL)
        return;
    if (run->job->ping != NULL && run->runner->pinger != NULL)
        run_ping(run, "/start", NULL, 0);
    if (state != NULL) {
        state->runs++;
        state->last_start = run->started;
        metrics_started(state, run->started.ns - run->planned.ns);
    }
}

/* R3: the lease may have ended since the run arrived, and the message about that may still be on its way. */
static bool is_lost(struct run *run)
{
    if (!hora_run_is_lost(run->store_run))
        return false;
    run->stop = STOP_LOST;
    run_finish(run, RESULT_LOST);
    return true;
}

/* Starts the command of a run whose guard, if any, has agreed. */
static void start_command(struct run *run)
{
    if (is_lost(run))
        return;
    run->run_state = RUN_RUNNING;
    run->started = loop_wall(run->runner->loop);
    run->started_at = loop_now(run->runner->loop);
    if (run_start_process(run, run_command_of(run)))
        started(run);
    else
        run_finish(run, RESULT_FAILED);
}

/* There is room for a run. */
static void begin(struct run *run)
{
    waiting_remove(run);
    if (is_too_late(run)) {
        run_explain(run, "it would have started later than its grace allows");
        run_finish(run, RESULT_SKIPPED);
        return;
    }
    if (is_lost(run))
        return;
    take_room(run);
    const struct job_command *guard = &run->job->guard;
    if (run->hook != NULL || (guard->shell == NULL && guard->argv == NULL)) {
        start_command(run);
        return;
    }
    run->run_state = RUN_GUARDED;
    run->started_at = loop_now(run->runner->loop);
    if (!run_start_process(run, guard)) {
        run_explain(run, "the guard cannot be started: %s", run->start_error);
        run_finish(run, RESULT_SKIPPED);
    } else if (run->job->timeout > 0) {
        loop_timer_start(&run->timer, run->job->timeout);
    }
}

/* The guard of a run has ended. */
static void guard_ended(struct run *run)
{
    bool agrees = run->end.exited && run->end.code == 0 && run->stop == STOP_NOT;
    char text[100];
    (void)run_describe_end(run, RESULT_FAILED, text, sizeof text);
    run_read_rest(run);
    run_close_process(run);
    if (run->stop != STOP_NOT) {
        run_finish(run, run_result_of(run));
    } else if (agrees) {
        start_command(run);
    } else {
        run_explain(run, "its guard ended with %s", text);
        run_finish(run, RESULT_SKIPPED);
    }
}

void run_process_ended(struct run *run)
{
    loop_timer_cancel(&run->timer);
    runner_reap_orphans(run->runner);
    if (run->is_guard) {
        guard_ended(run);
        return;
    }
    run->run_state = RUN_DRAINING;
    if (run->pipes[0] < 0 && run->pipes[1] < 0)
        run_process_done(run);
    else
        /* A process in the background may keep the pipes open. */
        loop_timer_start(&run->timer, run->runner->stopping ? SHORT_DRAIN_TIME : DRAIN_TIME);
}

void run_process_done(struct run *run)
{
    loop_timer_cancel(&run->timer);
    run_finish(run, run_result_of(run));
}

/* ---- ending early ---- */

/* The time between SIGTERM and SIGKILL. */
static hora_ns kill_delay(const struct run *run)
{
    hora_ns delay = run->job->kill_after;
    return run->runner->stopping && delay > run->runner->kill_within ? run->runner->kill_within : delay;
}

static void timer_fired(void *arg)
{
    struct run *run = arg;
    switch (run->run_state) {
    case RUN_DELAYED:
        wait_for_room(run);
        break;
    case RUN_GUARDED:
    case RUN_RUNNING:
        run_stop(run, STOP_TIMEOUT);
        break;
    case RUN_STOPPING:
        event_report(run->runner, EVENT_WARNING, "kill", run->job->name, json_pack("{s:s}", "run", run->id),
                     "did not end within %.1f s after SIGTERM and is killed", (double)kill_delay(run) / 1e9);
        run_signal(run, SIGKILL);
        break;
    case RUN_DRAINING:
        run_process_done(run);
        break;
    case RUN_WAITING:
        if (!run->start_checked)
            past_ask(run);
        break;
    default:
        break;
    }
}

static void end_process(struct run *run, bool at_once)
{
    run->run_state = RUN_STOPPING;
    run_signal(run, at_once ? SIGKILL : SIGTERM);
    if (at_once)
        return;
    run_signal(run, SIGCONT); /* a stopped process does not see SIGTERM */
    loop_timer_start(&run->timer, kill_delay(run));
}

void run_stop(struct run *run, enum stop_reason reason)
{
    if (run->finished) {
        run->gives_up |= reason == STOP_SHUTDOWN;
        return;
    }
    if (run->run_state == RUN_DRAINING && reason != STOP_LOST) {
        run_process_done(run); /* the process has ended already, and its end counts */
        return;
    }
    bool again = run->stop != STOP_NOT;
    if (!again || reason == STOP_LOST)
        run->stop = reason;
    if (!run->arrived || !run->start_checked)
        return; /* `run_proceed` comes, and sees it */
    switch (run->run_state) {
    case RUN_DELAYED:
    case RUN_WAITING:
        run_finish(run, run_result_of(run));
        break;
    case RUN_GUARDED:
    case RUN_RUNNING:
        end_process(run, reason == STOP_LOST);
        break;
    case RUN_STOPPING:
        if (again && (reason == STOP_LOST || reason == STOP_SHUTDOWN))
            run_signal(run, SIGKILL);
        break;
    case RUN_DRAINING:
        run_process_done(run);
        break;
    default:
        break;
    }
}
