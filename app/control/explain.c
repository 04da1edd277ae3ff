/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - the request `explain`: why a job ran, did not run or does not run, in sentences
 *
 * The runner is asked for the state of the job and for its latest runs. The sentences follow in a fixed
 * order: the schedule; what keeps the job from running (disabled, paused, given up, the store); the runs in
 * hand and what they wait for; the next time and why it is that time; the rules for overlapping and missed
 * times; the latest runs; and whether anything is wrong. Times are in UTC; the client may show them in
 * another zone. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "control/fields.h"
#include "control/requests.h"
#include "control/times.h"
#include "figures.h"

enum {
    RECORDS = 5,           /* latest runs that are told */
    EXCLUDED_MOST = 10000, /* times that are looked at to find those that calendars exclude */
    HOLDERS_MOST = 5,      /* runs of a full group that are named */
    TEXT = 2048
};

struct explanation {
    struct request *request;
    struct job_state *state; /* looked up anew after each wait */
    json_t *info;            /* of the job, as the runner has told it */
    json_t *records;
    json_t *sentences;
    hora_instant now;
    bool is_wrong; /* something keeps the job from running, or its last run failed */
};

__attribute__((format(printf, 2, 3))) static void say(struct explanation *explanation, const char *format,
                                                      ...)
{
    char text[TEXT];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    (void)json_array_append_new(explanation->sentences, json_string(text));
}

static bool is_state(const struct explanation *explanation, const char *state)
{
    return field_is(explanation->info, "state", state);
}

/* ---- the schedule ---- */

static void say_schedule(struct explanation *explanation)
{
    static const char *const whens[] = {
        [AFTER_SUCCESS] = "succeeds", [AFTER_FAILURE] = "fails", [AFTER_ALWAYS] = "ends"};
    const struct job *job = explanation->state->job;
    char schedule[TEXT / 2] = "";
    (void)job_describe(job, schedule, sizeof schedule);
    say(explanation, "%s runs %s.", job->name, schedule);
    for (size_t i = 0; i < job->after_count; i++)
        say(explanation, "It runs each time when %s %s.", job->after[i].job, whens[job->after[i].when]);
}

/* ---- what keeps it from running ---- */

/* Returns what happened to a run, for a sentence. */
static const char *outcome_words(const json_t *record)
{
    static const char *const words[][2] = {
        {"lost", "was lost"}, {"skipped", "was skipped"}, {"stopped", "was stopped"}};
    const char *outcome = field_text(record, "outcome");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(outcome, words[i][0]) == 0)
            return words[i][1];
    return field_is_true(record, "retried") ? "failed and was tried again" : outcome;
}

/* Writes how a run ended: "failed (exit status 1)". */
static void describe_end(const json_t *record, char *text, size_t size)
{
    const char *reason = field_text(json_object_get(record, "note"), "reason");
    const char *outcome = outcome_words(record);
    (void)snprintf(text, size, *reason != '\0' ? "%s (%s)" : "%s", outcome, reason);
}

static void say_given_up(struct explanation *explanation)
{
    say(explanation, "It has been given up after %lld failed runs in a row; hora resume %s starts it again.",
        (long long)field_count(explanation->info, "failures_in_a_row"), explanation->state->name);
    const char *tail = field_text(json_object_get(json_array_get(explanation->records, 0), "note"), "tail");
    size_t length = strlen(tail);
    while (length > 0 && tail[length - 1] == '\n')
        length--;
    size_t start = length;
    while (start > 0 && tail[start - 1] != '\n')
        start--;
    if (length > start)
        say(explanation, "The last line of its output: %.*s", (int)(length - start), tail + start);
}

static void say_obstacles(struct explanation *explanation)
{
    const struct runner *runner = explanation->request->runner;
    const struct job *job = explanation->state->job;
    size_t before = json_array_size(explanation->sentences);
    if (!job->enabled)
        say(explanation, "It is disabled at %s:%d: it runs only on request.", job->place.file,
            job->place.line);
    const char *since = field_text(explanation->info, "paused_since");
    const char *by = field_text(explanation->info, "paused_by");
    if (is_state(explanation, "paused") || *since != '\0') /* it may still be running */
        say(explanation, "It is paused%s%s%s%s: its planned times pass without a run until hora resume %s.",
            *since != '\0' ? " since " : "", since, *by != '\0' ? " by " : "", by, explanation->state->name);
    if (is_state(explanation, "given-up"))
        say_given_up(explanation);
    if (is_state(explanation, "unknown"))
        say(explanation, "The store does not know it: it runs after a reload, hora reload.");
    if (runner->stopping)
        say(explanation, "The runner is about to end and starts nothing more.");
    if (!runner->store_is_connected)
        say(explanation, "The store is not reachable%s%s: nothing starts until it is.",
            runner->store_error != NULL ? ", " : "", runner->store_error != NULL ? runner->store_error : "");
    if (json_array_size(explanation->sentences) > before)
        explanation->is_wrong = true;
}

/* ---- runs in hand ---- */

/* Tells which runs keep a group, or the node, at its limit. */
static void say_holders(struct explanation *explanation, const struct group_state *group)
{
    char text[TEXT / 2] = "";
    size_t length = 0;
    int count = 0;
    for (const struct run *run = explanation->request->runner->runs; run != NULL; run = run->next) {
        if (!run->has_room || (group != NULL && run->group != group) || ++count > HOLDERS_MOST)
            continue;
        int more = snprintf(text + length, sizeof text - length, "%s%s", count > 1 ? ", " : "", run->id);
        length += more > 0 && (size_t)more < sizeof text - length ? (size_t)more : 0;
    }
    if (count > HOLDERS_MOST)
        say(explanation, "These are running: %s and %d more.", text, count - HOLDERS_MOST);
    else if (count > 0)
        say(explanation, "%s running: %s.", count == 1 ? "This one is" : "These are", text);
}

static void say_waiting(struct explanation *explanation, const struct run *run)
{
    const struct runner *runner = explanation->request->runner;
    const struct group_state *group = run->group;
    if (group != NULL && group->running >= group->limit) {
        say(explanation, "The run %s waits for its group %s, which has %d of %d runs.", run->id, group->name,
            group->running, group->limit);
        say_holders(explanation, group);
    } else if (runner->running >= runner->max_running) {
        say(explanation, "The run %s waits because the node has %d of %d runs.", run->id, runner->running,
            runner->max_running);
        say_holders(explanation, NULL);
    } else {
        say(explanation, "The run %s is about to start.", run->id);
    }
}

static void say_run(struct explanation *explanation, const struct run *run)
{
    static const char *const stops[] = {[STOP_NOT] = "",
                                        [STOP_TIMEOUT] = " because of its timeout",
                                        [STOP_CANCELLED] = " because it was cancelled",
                                        [STOP_REPLACED] = " because a newer run replaces it",
                                        [STOP_LOST] = " because this node has lost its lease",
                                        [STOP_SHUTDOWN] = " because the runner ends"};
    switch (run->run_state) {
    case RUN_DELAYED:
        say(explanation, "The run %s waits for its random delay of up to %s.", run->id,
            DURATION(run->job->jitter));
        return;
    case RUN_WAITING:
        say_waiting(explanation, run);
        return;
    case RUN_GUARDED:
        say(explanation, "The guard command of the run %s is running.", run->id);
        return;
    case RUN_RUNNING:
        say(explanation, "The run %s is in progress since %s (%s): attempt %d, pid %ld.", run->id,
            UTC(run->started), RELATIVE(run->started, explanation->now), run->attempt,
            (long)run->process.pid);
        return;
    case RUN_STOPPING:
        say(explanation, "The run %s is being stopped%s.", run->id, stops[run->stop]);
        return;
    case RUN_DRAINING:
        say(explanation, "The process of the run %s has ended; the rest of its output is read.", run->id);
        return;
    }
}

/* Tells what happens to a planned time while a run is in progress. */
static void say_overlap(struct explanation *explanation)
{
    const struct job *job = explanation->state->job;
    switch (job->overlap) {
    case OVERLAP_SKIP:
        say(explanation, "A planned time that comes while a run is in progress is skipped (overlap: skip).");
        return;
    case OVERLAP_ALLOW:
        say(explanation,
            "Up to %d runs may be in progress; further planned times are skipped (overlap: allow).",
            job->overlap_max);
        return;
    case OVERLAP_QUEUE:
        say(explanation,
            "Planned times that come while a run is in progress are run afterwards, the latest %d "
            "of them (overlap: queue).",
            job->overlap_max);
        return;
    case OVERLAP_REPLACE:
        say(explanation, "A planned time that comes while a run is in progress stops that run (overlap: "
                         "replace).");
        return;
    }
}

/* Tells the runs in hand. Returns how many there are. */
static int say_runs(struct explanation *explanation)
{
    int count = 0;
    for (const struct run *run = explanation->request->runner->runs; run != NULL; run = run->next) {
        if (run->hook == NULL && run->job != NULL && strcmp(run->job->name, explanation->state->name) == 0) {
            say_run(explanation, run);
            count++;
        }
    }
    if (count == 0 && is_state(explanation, "running")) {
        say(explanation, "A run is in progress on another node (%lld in the store).",
            (long long)field_count(explanation->info, "node"));
        count++;
    } else if (count == 0 && is_state(explanation, "due")) {
        say(explanation, "It is due since %s and about to start.", field_text(explanation->info, "next"));
    }
    if (count > 0)
        say_overlap(explanation);
    return count;
}

/* ---- the next time ---- */

/* Returns the first time of a trigger after `after`, without calendars and spread; INT64_MAX: none. */
static int64_t trigger_next(const struct job_trigger *trigger, int64_t after)
{
    hora_instant time;
    switch (trigger->kind) {
    case TRIGGER_CRON:
        return hora_cron_next(trigger->cron, trigger->zone, (hora_instant){after}, &time) > 0 ? time.ns
                                                                                              : INT64_MAX;
    case TRIGGER_EVERY: {
        int64_t steps = (after - trigger->from.ns) / trigger->period;
        int64_t at = trigger->from.ns + steps * trigger->period;
        while (at <= after && at < INT64_MAX - trigger->period)
            at += trigger->period;
        return at;
    }
    case TRIGGER_AT:
        return trigger->at.ns > after ? trigger->at.ns : INT64_MAX;
    case TRIGGER_DELAY:
    case TRIGGER_AT_START:
        break;
    }
    return INT64_MAX;
}

/* Returns the name of the calendar that excludes a time, or NULL. */
static const char *excluding(const struct job *job, int64_t time)
{
    for (size_t i = 0; i < job->calendar_count; i++)
        if (hora_calendar_excludes(job->calendars[i], (hora_instant){time}))
            return job->calendar_names[i];
    return NULL;
}

/* Tells how many times before the next one calendars exclude. */
static void say_excluded(struct explanation *explanation, hora_instant next)
{
    const struct job *job = explanation->state->job;
    int64_t first = 0;
    const char *name = NULL;
    int count = 0;
    int looked_at = 0;
    for (size_t i = 0; job->calendar_count > 0 && i < job->trigger_count; i++) {
        int64_t time = explanation->now.ns;
        while (looked_at++ < EXCLUDED_MOST && (time = trigger_next(&job->triggers[i], time)) < next.ns) {
            const char *by = excluding(job, time);
            if (by == NULL)
                continue;
            count++;
            if (name == NULL || time < first) {
                first = time;
                name = by;
            }
        }
    }
    if (count == 1)
        say(explanation, "The planned time %s before it is excluded by the calendar %s.",
            UTC((hora_instant){first}), name);
    else if (count > 1)
        say(explanation, "Before it, %s%d planned times are excluded by calendars; the first is %s, by %s.",
            looked_at > EXCLUDED_MOST ? "at least " : "", count, UTC((hora_instant){first}), name);
}

/* Tells by how much its spread moves a job: the next time is a time of a trigger, moved by less than it. */
static void say_spread(struct explanation *explanation, hora_instant next)
{
    const struct job *job = explanation->state->job;
    int64_t base = INT64_MAX;
    for (size_t i = 0; job->spread > 0 && i < job->trigger_count; i++) {
        int64_t time = trigger_next(&job->triggers[i], next.ns - job->spread);
        base = time < base ? time : base;
    }
    if (base <= next.ns)
        say(explanation, "Its spread of %s moves it by %s, which follows from its name.",
            DURATION(job->spread), DURATION(next.ns - base));
}

static void say_next(struct explanation *explanation)
{
    hora_instant next;
    const struct job *job = explanation->state->job;
    if (!job->enabled || is_state(explanation, "paused") || is_state(explanation, "given-up"))
        return;
    if (!times_from_json(json_object_get(explanation->info, "next"), &next)) {
        if (job->trigger_count > 0 && !is_state(explanation, "running") && !is_state(explanation, "due"))
            say(explanation, "It has no further planned time.");
        return;
    }
    if (is_state(explanation, "due"))
        return; /* its time has come; say_runs has told so */
    int64_t failures = field_count(explanation->info, "attempts");
    if (failures > 0 && is_state(explanation, "waiting"))
        say(explanation, "Its last attempt failed; attempt %lld starts at %s (%s).", (long long)failures + 1,
            UTC(next), RELATIVE(next, explanation->now));
    else
        say(explanation, "It runs next at %s (%s).", UTC(next), RELATIVE(next, explanation->now));
    say_excluded(explanation, next);
    say_spread(explanation, next);
    if (job->jitter > 0)
        say(explanation, "Each run is delayed by a random time of up to %s.", DURATION(job->jitter));
}

static void say_missed(struct explanation *explanation)
{
    const struct job *job = explanation->state->job;
    if (job->trigger_count == 0)
        return;
    if (job->missed == MISSED_SKIP)
        say(explanation, "Times that pass while no runner is up are skipped (missed: skip).");
    else if (job->missed == MISSED_ONCE)
        say(explanation, "Times that pass while no runner is up lead to one run (missed: once).");
    else
        say(explanation,
            "Times that pass while no runner is up are run later, the latest %d of them (missed: all).",
            job->missed_max);
}

/* ---- the latest runs ---- */

/* Tells how many planned times were skipped because they came during a run. */
static void say_skipped(struct explanation *explanation, const json_t *record)
{
    long long count = (long long)field_count(json_object_get(record, "note"), "skipped_during");
    if (count > 0)
        say(explanation, "%lld planned time%s came during it and %s skipped.", count, count == 1 ? "" : "s",
            count == 1 ? "was" : "were");
}

static void say_records(struct explanation *explanation)
{
    if (json_array_size(explanation->records) == 0) {
        say(explanation, "It has not run yet.");
        return;
    }
    for (size_t i = 0; i < json_array_size(explanation->records); i++) {
        const json_t *record = json_array_get(explanation->records, i);
        char end[TEXT / 2];
        describe_end(record, end, sizeof end);
        const char *started = field_text(record, "started");
        const json_t *seconds = json_object_get(record, "seconds");
        if (*started == '\0')
            started = field_text(record, "planned");
        if (json_is_number(seconds) && !json_is_null(json_object_get(record, "started")))
            say(explanation, "The run at %s %s after %s (attempt %lld).", started, end,
                TOOK(json_number_value(seconds)), (long long)field_count(record, "attempt"));
        else
            say(explanation, "The run at %s %s.", started, end);
        say_skipped(explanation, record);
    }
    const json_t *last = json_array_get(explanation->records, 0);
    if (field_is(last, "outcome", "failed") || field_is(last, "outcome", "lost"))
        explanation->is_wrong = true;
}

static void say_verdict(struct explanation *explanation, int runs)
{
    hora_instant next;
    if (explanation->is_wrong)
        return;
    if (runs > 0)
        say(explanation, "Nothing is wrong: it is running.");
    else if (times_from_json(json_object_get(explanation->info, "next"), &next) &&
             !is_state(explanation, "due"))
        say(explanation, "Nothing is wrong: it runs next at %s.", UTC(next));
    else
        say(explanation, "Nothing is wrong.");
}

/* ---- the request ---- */

/* Ends the request with the sentences. */
static void finish(struct explanation *explanation)
{
    struct request *request = explanation->request;
    explanation->sentences = json_array();
    explanation->now = loop_wall(request->runner->loop);
    say_schedule(explanation);
    say_obstacles(explanation);
    int runs = say_runs(explanation);
    say_next(explanation);
    say_missed(explanation);
    say_records(explanation);
    say_verdict(explanation, runs);
    json_t *reply = json_pack("{s:b, s:s, s:s, s:b, s:o}", "ok", 1, "job", explanation->state->name, "state",
                              field_text(explanation->info, "state"), "wrong", explanation->is_wrong,
                              "sentences", explanation->sentences);
    json_decref(explanation->info);
    json_decref(explanation->records);
    free(explanation);
    request_finish(request, reply);
}

/* Takes an array out of an answer of the runner. Ends the request and returns NULL if it is an error, or if
 * the job has been removed meanwhile. */
static json_t *take(struct explanation *explanation, json_t *reply, const char *name)
{
    struct request *request = explanation->request;
    json_t *array = json_incref(json_object_get(reply, name));
    if (array != NULL && field_is_true(reply, "ok")) {
        json_decref(reply);
        explanation->state = request_job(request, request->question.job);
        if (explanation->state != NULL)
            return array;
        json_decref(array);
    } else {
        json_decref(array);
        request_finish(request, reply);
    }
    json_decref(explanation->info);
    free(explanation);
    return NULL;
}

static void recorded(json_t *reply, void *arg)
{
    struct explanation *explanation = arg;
    json_t *records = take(explanation, reply, "records");
    if (records == NULL)
        return;
    explanation->records = records;
    finish(explanation);
}

static void listed(json_t *reply, void *arg)
{
    struct explanation *explanation = arg;
    json_t *jobs = take(explanation, reply, "jobs");
    if (jobs == NULL)
        return;
    explanation->info = json_incref(json_array_get(jobs, 0));
    json_decref(jobs);
    struct request *request = explanation->request;
    struct history_question question = {.job = request->question.job, .limit = RECORDS};
    runner_request_history(request->runner, &question, recorded, explanation);
}

void explain_request(struct request *request)
{
    const char *job = request->question.job;
    if (request_job(request, job) == NULL)
        return;
    struct explanation *explanation = memory(sizeof *explanation);
    *explanation = (struct explanation){.request = request};
    runner_request_jobs(request->runner, job, listed, explanation);
}
