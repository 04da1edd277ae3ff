/* SPDX-License-Identifier: Apache-2.0 */
/* requests.c - the requests of the control socket: a table, and those that need no file of their own
 *
 * A request is started by request_start and ends with request_finish or request_fail, at once or when the
 * runner answers. A request that changes something is reported as an event, with the user and the process
 * that asked for it as the kernel knows them. */
#include "control/requests.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hora/version.h>

#include "control/fields.h"
#include "control/times.h"

void request_finish(struct request *request, json_t *reply)
{
    if (field_is_true(reply, "ok"))
        (void)json_object_set_new(reply, "now", times_to_json(loop_wall(request->runner->loop)));
    request_reply(request, reply);
}

/* The runner has answered a request whose answer needs no change. */
static void answered(json_t *reply, void *arg)
{
    request_finish(arg, reply);
}

/* ---- events ---- */

bool event_ends_run(const json_t *event, const char *run)
{
    return field_is_true(event, "final") && field_is(event, "run", run);
}

/* ---- status ---- */

static json_t *runs_to_json(const struct runner *runner)
{
    json_t *runs = json_array();
    for (const struct run *run = runner->runs; run != NULL; run = run->next)
        (void)json_array_append_new(runs, run_to_json(run));
    return runs;
}

/* What the jobs have counted since the runner started, in all. */
static json_t *totals_to_json(const struct runner *runner)
{
    int64_t sums[8] = {0};
    for (size_t i = 0; i < runner->job_count; i++) {
        const struct job_state *job = runner->jobs[i];
        const int64_t counts[8] = {job->runs,      job->succeeded, job->failed,  job->skipped,
                                   job->cancelled, job->lost,      job->retries, job->timeouts};
        for (int j = 0; j < 8; j++)
            sums[j] += counts[j];
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "runs", (json_int_t)sums[0], "succeeded",
                     (json_int_t)sums[1], "failed", (json_int_t)sums[2], "skipped", (json_int_t)sums[3],
                     "cancelled", (json_int_t)sums[4], "lost", (json_int_t)sums[5], "retries",
                     (json_int_t)sums[6], "timeouts", (json_int_t)sums[7]);
}

static json_t *counts_to_json(const struct control *control)
{
    struct control_counts counts;
    control_count(control, &counts);
    return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "clients", counts.clients, "accepted",
                     (json_int_t)counts.accepted, "refused", (json_int_t)counts.refused, "denied",
                     (json_int_t)counts.denied, "dropped", (json_int_t)counts.dropped, "expired",
                     (json_int_t)counts.expired, "requests", (json_int_t)counts.requests, "bad_lines",
                     (json_int_t)counts.bad_lines);
}

static json_t *files_to_json(const struct runner *runner)
{
    json_t *files = json_array();
    for (size_t i = 0; i < runner->options.file_count; i++)
        (void)json_array_append_new(files, json_string(runner->options.files[i]));
    return files;
}

static json_t *runner_to_json(const struct runner *runner)
{
    hora_ns up = loop_wall(runner->loop).ns - runner->started.ns;
    json_t *json = json_pack(
        "{s:s, s:I, s:s?, s:o, s:f, s:s?, s:b, s:s?, s:s?, s:s?, s:b, s:I, s:i, s:i, s:I, s:I, s:I, s:s?, "
        "s:b}",
        "version", hora_version(), "pid", (json_int_t)getpid(), "node", runner->node_name, "started",
        times_to_json(runner->started), "up_seconds", (double)up / 1e9, "store", runner->store_address,
        "store_connected", runner->store_is_connected, "store_error", runner->store_error, "socket",
        runner->socket_path, "log_directory", runner->log_directory, "stopping", runner->stopping, "jobs",
        (json_int_t)runner->job_count, "running", runner->running, "max_running", runner->max_running,
        "events", (json_int_t)runner->events, "reloads", (json_int_t)runner->reloads, "failed_reloads",
        (json_int_t)runner->failed_reloads, "reload_error", runner->reload_error, "virtual_clock",
        loop_clock(runner->loop) != NULL);
    (void)json_object_set_new(json, "files", files_to_json(runner));
    return json;
}

static void status_request(struct request *request)
{
    const struct runner *runner = request->runner;
    request_finish(request, json_pack("{s:b, s:o, s:o, s:o, s:o}", "ok", 1, "runner", runner_to_json(runner),
                                      "totals", totals_to_json(runner), "control",
                                      counts_to_json(request->control), "runs", runs_to_json(runner)));
}

/* ---- jobs ---- */

/* Removes the jobs of an answer that the request does not want. Adds to the others what this runner knows. */
static void listed(json_t *reply, void *arg)
{
    struct request *request = arg;
    json_t *jobs = json_object_get(reply, "jobs");
    for (size_t i = json_array_size(jobs); i-- > 0;) {
        json_t *info = json_array_get(jobs, i);
        const char *name = json_string_value(json_object_get(info, "job"));
        const struct job_state *state = name != NULL ? runner_find(request->runner, name) : NULL;
        if (state == NULL)
            continue;
        if (!request_wants(request, state->job)) {
            (void)json_array_remove(jobs, i);
            continue;
        }
        if (state->job->timeout > 0)
            (void)json_object_set_new(info, "timeout_seconds", json_real((double)state->job->timeout / 1e9));
        if (state->last_duration > 0)
            (void)json_object_set_new(info, "last_seconds", json_real((double)state->last_duration / 1e9));
    }
    request_finish(request, reply);
}

static void list_request(struct request *request)
{
    const char *job = request->question.job;
    if ((job == NULL || request_job(request, job) != NULL) && request_has_tags(request))
        runner_request_jobs(request->runner, job, listed, request);
}

/* The store has told the state of a job, or has failed: then its description is still known. */
static void shown(json_t *reply, void *arg)
{
    static const char *const names[] = {"paused_since", "paused_by"};
    struct request *request = arg;
    const struct job_state *state = request_job(request, request->question.job);
    if (state != NULL) {
        const struct place *place = &state->job->place;
        const json_t *info = json_array_get(json_object_get(reply, "jobs"), 0);
        json_t *job = job_to_json(state->job, false);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (json_object_get(info, names[i]) != NULL)
                (void)json_object_set(job, names[i], json_object_get(info, names[i]));
        request_finish(request, json_pack("{s:b, s:o, s:s?, s:i}", "ok", 1, "job", job, "file", place->file,
                                          "line", place->line));
    }
    json_decref(reply);
}

static void show_request(struct request *request)
{
    if (request_job(request, request->question.job) != NULL)
        runner_request_jobs(request->runner, request->question.job, shown, request);
}

static void metrics_request(struct request *request)
{
    char *text = metrics_text(request->runner);
    request_finish(request, json_pack("{s:b, s:s?}", "ok", 1, "text", text));
    free(text);
}

/* ---- history ---- */

/* Removes the output from the records of an answer, unless the client wants it: it is the largest part. */
static void recorded(json_t *reply, void *arg)
{
    struct request *request = arg;
    const json_t *records = json_object_get(reply, "records");
    for (size_t i = 0; i < json_array_size(records) && !request->question.output; i++)
        (void)json_object_del(json_object_get(json_array_get(records, i), "note"), "tail");
    request_finish(request, reply);
}

/* Returns the names of the jobs that have the tags of a request, as keys of an object; NULL: all jobs. */
static json_t *wanted_names(const struct request *request)
{
    if (json_array_size(request->question.tags) == 0)
        return NULL;
    json_t *names = json_object();
    for (size_t i = 0; i < request->runner->job_count; i++)
        if (request_wants(request, request->runner->jobs[i]->job))
            (void)json_object_set_new(names, request->runner->jobs[i]->name, json_true());
    return names;
}

static void history_request(struct request *request)
{
    const struct question *question = &request->question;
    if (!request_has_tags(request))
        return;
    struct history_question asked = {.job = question->job,
                                     .failed = question->failed,
                                     .limit = question->limit,
                                     .before_id = question->before,
                                     .since = question->since,
                                     .run = question->run,
                                     .jobs = wanted_names(request)};
    if (question->since_is_ago)
        asked.since.ns = loop_wall(request->runner->loop).ns - question->ago;
    /* A job that is not in the files any more still has records, so its name is not looked up. */
    runner_request_history(request->runner, &asked, recorded, request);
}

/* ---- changes ---- */

/* Reports who asked for a change. `what` is the name of a job or a run, or NULL; `more` follows. */
static void report_with(const struct request *request, const char *job, const char *what, const char *more)
{
    const char *name = question_name(request->question.kind);
    json_t *fields = json_pack("{s:s, s:I, s:I}", "request", name, "uid", (json_int_t)request->uid, "pid",
                               (json_int_t)request->pid);
    event_report(request->runner, EVENT_INFO, "request", job, fields, "%s%s%s, by uid %ld pid %ld%s", name,
                 what != NULL ? " " : "", what != NULL ? what : "", (long)request->uid, (long)request->pid,
                 more);
}

static void report(const struct request *request, const char *job, const char *what)
{
    report_with(request, job, what, "");
}

void request_report_run(const struct request *request, const json_t *reply)
{
    const char *job = request->question.job;
    const char *more = !field_is_true(reply, "ok")      ? ", which is refused"
                       : field_is_true(reply, "queued") ? "; it follows the one in progress"
                                                        : "";
    report_with(request, job, job, more);
}

static void pause_request(struct request *request)
{
    const char *job = request->question.job;
    if (request_job(request, job) == NULL)
        return;
    report(request, job, job);
    runner_request_pause(request->runner, job, request->question.kind == QUESTION_PAUSE, request->uid,
                         answered, request);
}

static void cancel_request(struct request *request)
{
    report(request, NULL, request->question.run);
    runner_request_cancel(request->runner, request->question.run, answered, request);
}

static void reload_request(struct request *request)
{
    report(request, NULL, NULL);
    runner_request_reload(request->runner, answered, request);
}

static void stop_request(struct request *request)
{
    report(request, NULL, NULL);
    runner_request_stop(request->runner, request->question.within, answered, request);
}

static void clock_request(struct request *request)
{
    if (loop_clock(request->runner->loop) == NULL) {
        request_fail(request, "the clock of the runner is real and passes by itself");
        return;
    }
    runner_request_clock(request->runner, request->question.by, request->question.settle, answered, request);
}

static void started_request(struct request *request)
{
    const char *job = request->question.job;
    if (request_job(request, job) != NULL)
        run_request(request);
}

/* ---- the table ---- */

void request_start(struct request *request)
{
    static void (*const starts[QUESTION_KINDS])(struct request *) = {
        [QUESTION_STATUS] = status_request,   [QUESTION_LIST] = list_request,
        [QUESTION_NEXT] = next_request,       [QUESTION_RUN] = started_request,
        [QUESTION_PAUSE] = pause_request,     [QUESTION_RESUME] = pause_request,
        [QUESTION_CANCEL] = cancel_request,   [QUESTION_HISTORY] = history_request,
        [QUESTION_LOGS] = logs_request,       [QUESTION_EXPLAIN] = explain_request,
        [QUESTION_RELOAD] = reload_request,   [QUESTION_STOP] = stop_request,
        [QUESTION_EVENTS] = events_request,   [QUESTION_SHOW] = show_request,
        [QUESTION_METRICS] = metrics_request, [QUESTION_CLOCK] = clock_request,
    };
    starts[request->question.kind](request);
}
