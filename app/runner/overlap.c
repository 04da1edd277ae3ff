/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - the times of a job that come while a run of it is in hand: it waits, or is in progress
 *
 * The store applies the rule `overlap` when the run ends. This file watches the times meanwhile, says what
 * becomes of each when it comes, and stops the run for `replace`. For `allow` there is nothing to watch: each
 * time is a firing of its own, and missed.c hears of those that find too many others.
 *
 * The queue of `queue` and `replace` holds the latest times that have come after the planned time of the run.
 * The store makes it up when the run ends; here, `queue_first` of the run is the earliest of them. */
#include <stdarg.h>
#include <stdio.h>

#include "runner/internal.h"

/* Waits for the next time after `after`. A delay counts from the end of the run, so its times do not come
 * meanwhile. */
void overlap_watch(struct job_state *state, hora_instant after)
{
    const struct job *job = state->job;
    hora_instant now = loop_wall(state->runner->loop);
    if (job->overlap == OVERLAP_ALLOW || job_has_delay(job) || !job->enabled)
        return;
    hora_instant from = after.ns > now.ns ? after : now;
    state->next_time = job_next_time(job, from);
    if (state->next_time.ns < JOB_PARKED)
        loop_timer_start(&state->next_timer, state->next_time.ns - now.ns);
}

/* The run that blocks a job whose runs do not overlap. */
static struct run *run_in_hand(const struct job_state *state)
{
    for (struct run *run = state->runner->runs; run != NULL; run = run->next)
        if (run->state == state && run->hook == NULL && !run->finished)
            return run;
    return NULL;
}

static bool has_begun(const struct run *run)
{
    return run->run_state >= RUN_GUARDED;
}

/* How long a run has been in progress, in seconds. */
static double age_of(const struct run *run)
{
    return (double)(loop_now(run->runner->loop) - run->started_at) / 1e9;
}

/* Writes what blocks a time: "run job@... has been in progress for 600.0 s". */
static void describe(const struct run *run, char *text, size_t size)
{
    if (has_begun(run))
        (void)snprintf(text, size, "run %s has been in progress for %.1f s", run->id, age_of(run));
    else
        (void)snprintf(text, size, "run %s waits to start", run->id);
}

static void format(const struct runner *runner, hora_instant time, char text[static HORA_INSTANT_TEXT])
{
    (void)hora_instant_format(time, runner->local_zone, false, text, HORA_INSTANT_TEXT);
}

/* Reports a time that is skipped because of a run. */
__attribute__((format(printf, 3, 4))) static void skip(struct run *run, hora_instant time, const char *why,
                                                       ...)
{
    struct job_state *state = run->state;
    char at[HORA_INSTANT_TEXT], text[300];
    va_list values;
    va_start(values, why);
    (void)vsnprintf(text, sizeof text, why, values);
    va_end(values);
    format(state->runner, time, at);
    run->skipped_during++;
    state->skipped++;
    event_report(state->runner, EVENT_WARNING, "skip", state->name,
                 json_pack("{s:s, s:o}", "blocked_by", run->id, "planned", json_instant(time)),
                 "%s is skipped: %s", at, text);
}

/* Drops the earliest times of a queue that has room for the latest `most`. */
static void limit_queue(struct run *run, hora_instant latest, int most)
{
    const struct job *job = run->state->job;
    char by[HORA_INSTANT_TEXT];
    format(run->runner, latest, by);
    if (run->queue_first.ns == 0)
        run->queue_first = job_next_time(job, run->planned);
    while (job_times_until(job, run->queue_first, latest, most + 1).count > most) {
        if (job->overlap == OVERLAP_REPLACE)
            skip(run, run->queue_first, "run %s has not ended, and %s has come", run->id, by);
        else
            skip(run, run->queue_first, "%s takes its place in the queue of %d", by, most);
        run->queue_first = job_next_time(job, run->queue_first);
    }
}

/* A time has come: applies the rule of the job. A run that waits is not replaced: the new one would wait
 * behind others, and might never start. */
static void apply_rule(struct job_state *state, struct run *run)
{
    struct runner *runner = state->runner;
    const struct job *job = state->job;
    bool replaces = job->overlap == OVERLAP_REPLACE;
    char time[HORA_INSTANT_TEXT], blocked[300];
    format(runner, state->next_time, time);
    describe(run, blocked, sizeof blocked);
    if (job->overlap != OVERLAP_QUEUE && !replaces) {
        skip(run, state->next_time, "%s", blocked);
        return;
    }
    if (!replaces || !has_begun(run))
        event_report(runner, EVENT_INFO, "queue", state->name, json_pack("{s:s}", "blocked_by", run->id),
                     "%s is queued: %s", time, blocked);
    else if (run->stop == STOP_NOT)
        event_report(runner, EVENT_INFO, "replace", state->name, json_pack("{s:s}", "run", run->id),
                     "%s has come, and this run has been in progress for %.1f s: it is stopped", time,
                     age_of(run));
    limit_queue(run, state->next_time, replaces ? 1 : job->overlap_max);
    if (replaces && has_begun(run))
        run_stop(run, STOP_REPLACED);
}

static void time_came(void *arg)
{
    struct job_state *state = arg;
    struct run *run = run_in_hand(state);
    if (run == NULL)
        return;
    hora_instant now = loop_wall(state->runner->loop);
    if (now.ns < state->next_time.ns) { /* the clock was set back, or the timer is not exact */
        loop_timer_start(&state->next_timer, state->next_time.ns - now.ns);
        return;
    }
    apply_rule(state, run);
    if (run_in_hand(state) != NULL) /* it may have ended at once */
        overlap_watch(state, state->next_time);
}

void overlap_init(struct job_state *state)
{
    loop_timer_init(&state->next_timer, state->runner->loop, time_came, state);
}

void overlap_watch_again(struct job_state *state)
{
    loop_timer_cancel(&state->next_timer);
    if (run_in_hand(state) != NULL)
        overlap_watch(state, loop_wall(state->runner->loop));
}
