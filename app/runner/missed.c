/* SPDX-License-Identifier: Apache-2.0 */
/* missed.c - planned times that passed without a run: one event for each job and catch-up
 *
 * The store decides what becomes of them (`missed`, `grace`, `overlap: allow`). It tells the times that it
 * skips, and what it makes up arrives as late runs. A catch-up begins with either of them. It is reported,
 * with all its times, as soon as it is known how it goes on. `reported` of the job remembers the last of the
 * times, so that the late runs that follow are not reported again.
 *
 * The store skips at most 10000 times at once, so a long catch-up has several parts: they are added up. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "figures.h"
#include "runner/internal.h"
#include "text.h"

/* A report of the durable scheduler on its way to the loop. */
struct skip_message {
    struct runner *runner;
    char *key;
    hora_skipped skipped;
};

/* How many runs the rule of a job makes up at most. */
static int64_t most_runs(const struct job *job)
{
    return job->missed == MISSED_SKIP ? 0 : job->missed == MISSED_ONCE ? 1 : job->missed_max;
}

static char *rule_text(const struct job *job, bool is_late)
{
    char *rule = job->missed == MISSED_ALL
                     ? text_format("missed: all %d", job->missed_max)
                     : text_copy(job->missed == MISSED_SKIP ? "missed: skip" : "missed: once");
    if (!is_late)
        return rule;
    char *longer = text_format("%s, grace: %s", rule, DURATION(job->grace));
    free(rule);
    return longer;
}

static char *what_follows(int64_t skipped, int64_t runs)
{
    const char *many = skipped + runs == 1 ? "it" : "them";
    if (runs == 0)
        return text_format("%s skipped", skipped == 1 ? "it is" : "all are");
    char *made =
        runs == 1 ? text_copy("one run makes up for") : text_format("%lld runs make up for", (long long)runs);
    char *text = skipped == 0 || runs == 1 ? text_format("%s %s", made, many)
                                           : text_format("%s the latest, %lld %s skipped", made,
                                                         (long long)skipped, skipped == 1 ? "is" : "are");
    free(made);
    return text;
}

/* Reports a catch-up: what was skipped, and the runs that follow. */
static void report(struct job_state *state, int64_t runs, hora_instant last)
{
    struct runner *runner = state->runner;
    struct missed_times *missed = &state->missed;
    int64_t count = missed->skipped + runs;
    char from[HORA_INSTANT_TEXT], to[HORA_INSTANT_TEXT];
    (void)hora_instant_format(missed->first, runner->local_zone, false, from, sizeof from);
    (void)hora_instant_format(last, runner->local_zone, false, to, sizeof to);
    char *rule = rule_text(state->job, missed->is_late), *follows = what_follows(missed->skipped, runs);
    json_t *fields = json_pack("{s:I, s:o, s:o, s:I, s:I, s:s}", "count", (json_int_t)count, "from",
                               json_instant(missed->first), "to", json_instant(last), "skipped",
                               (json_int_t)missed->skipped, "runs", (json_int_t)runs, "rule", rule);
    if (count == 1)
        event_report(runner, EVENT_WARNING, "missed", state->name, fields, "%s was missed: %s (%s)", from,
                     follows, rule);
    else
        event_report(runner, EVENT_WARNING, "missed", state->name, fields,
                     "%lld times were missed, from %s to %s: %s (%s)", (long long)count, from, to, follows,
                     rule);
    free(rule);
    free(follows);
    *missed = (struct missed_times){.reported = last};
}

/* ---- times that are skipped ---- */

static void report_overlap(struct job_state *state, const hora_skipped *skipped)
{
    char time[HORA_INSTANT_TEXT];
    (void)hora_instant_format(skipped->first, state->runner->local_zone, false, time, sizeof time);
    event_report(state->runner, EVENT_WARNING, "skip", state->name,
                 json_pack("{s:o}", "planned", json_instant(skipped->first)),
                 "%s is skipped: %d runs are in progress, and no more may overlap (overlap: allow %d)", time,
                 state->job->overlap_max, state->job->overlap_max);
}

static void report_late_attempt(struct job_state *state, const hora_skipped *skipped)
{
    char *id = run_id(state->name, skipped->first);
    event_report(state->runner, EVENT_WARNING, "skip", state->name,
                 json_pack("{s:s, s:i, s:s, s:b}", "run", id, "attempt", skipped->attempt, "outcome",
                           run_result_name(RESULT_SKIPPED), "final", 1),
                 "skipped: attempt %d would have started later than its grace of %s allows", skipped->attempt,
                 DURATION(state->job->grace));
    free(id);
}

static void add_missed(struct job_state *state, const hora_skipped *skipped)
{
    const struct job *job = state->job;
    struct missed_times *missed = &state->missed;
    hora_instant now = loop_wall(state->runner->loop);
    if (missed->skipped == 0)
        missed->first = skipped->first;
    missed->skipped += skipped->count;
    missed->is_late |= skipped->reason == HORA_SKIP_LATE;
    struct job_times left = {.last = skipped->last};
    if (skipped->next.ns != 0 && skipped->next.ns <= now.ns)
        left = job_times_until(job, skipped->next, now, most_runs(job) + 1);
    bool is_complete = left.count <= most_runs(job) &&
                       (left.count == 0 || job->grace == 0 || now.ns - skipped->next.ns <= job->grace);
    if (is_complete)
        report(state, left.count, left.last);
}

static void skip_arrived(void *arg)
{
    struct skip_message *message = arg;
    const hora_skipped *skipped = &message->skipped;
    struct job_state *state = runner_find(message->runner, job_of_key(message->runner, message->key));
    if (state != NULL) {
        state->skipped += skipped->count;
        if (skipped->reason == HORA_SKIP_OVERLAP)
            report_overlap(state, skipped);
        else if (skipped->attempt > 1)
            report_late_attempt(state, skipped);
        else
            add_missed(state, skipped);
    }
    free(message->key);
    free(message);
}

void missed_skipped(hora_durable *durable, const hora_skipped *skipped, void *arg)
{
    (void)durable;
    struct skip_message *message = memory(sizeof *message);
    *message = (struct skip_message){.runner = arg, .key = text_copy(skipped->key), .skipped = *skipped};
    loop_post(message->runner->loop, skip_arrived, message);
}

/* ---- times that are made up ---- */

/* A time in a queue is late only from the end of the run before it on. */
static hora_instant late_since(const struct run *run)
{
    const struct job_state *state = run->state;
    bool queues = run->job->overlap == OVERLAP_QUEUE || run->job->overlap == OVERLAP_REPLACE;
    return queues && state->last_end.ns > run->planned.ns ? state->last_end : run->planned;
}

void missed_run_arrived(const struct run *run)
{
    struct job_state *state = run->state;
    hora_instant now = loop_wall(run->runner->loop);
    if (run->hook != NULL || run->attempt > 1 || run->by_hand || run->handed_back ||
        run->job->trigger_count == 0 || run->planned.ns <= state->missed.reported.ns ||
        now.ns - late_since(run).ns <= job_lateness(run->job, now))
        return;
    if (state->missed.skipped == 0)
        state->missed.first = run->planned;
    int64_t most = most_runs(run->job);
    struct job_times times = job_times_until(run->job, run->planned, now, most > 1 ? most : 1);
    report(state, times.count, times.last);
}

/* ---- records ---- */

char *skip_reason_text(const hora_run_record *record)
{
    long long count = (long long)record->skipped;
    switch ((hora_skip_reason)record->code) {
    case HORA_SKIP_MISSED:
        return count <= 1 ? text_copy("its time was missed")
                          : text_format("%lld times from this one on were missed", count);
    case HORA_SKIP_LATE:
        return count <= 1 ? text_copy("it was too late for its grace")
                          : text_format("%lld times from this one on were too late for its grace", count);
    case HORA_SKIP_OVERLAP:
        return text_copy("as many runs as may overlap were in progress");
    }
    return NULL;
}
