/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - what the control socket can ask the runner for
 *
 * Most requests concern the store. The loop makes a `struct asked`, a thread of the pool asks the store, and the
 * loop completes the answer with what this node knows. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "runner/internal.h"
#include "text.h"

#define WRITE_TIME HORA_MS(50)

/* A request of which the store knows a part. */
struct asked {
    struct runner *runner;
    reply_fn reply;
    void *arg;
    char *job, *key; /* NULL: all jobs */
    hora_instant at;
    bool pause;
    uid_t by;                  /* who asks for a pause */
    json_t *pauses;            /* a list: pauses_read */
    json_t *resumed;           /* names of jobs that have a note, and are not paused */
    bool is_paused, is_queued; /* a run: the job is paused; it follows the one in progress */
    bool is_given_up;          /* the job, if the error is HORA_ENOENT */
    struct history_question history;
    char *run;
    struct loop_timer timer; /* history: until the outcomes of runs that have just ended are written */
    json_t *result;
    hora_instant next; /* of the job, for a resume */
    int error;
    hora_error reason;
};

static struct asked *asked_new(struct runner *runner, const char *job, reply_fn reply, void *arg)
{
    struct asked *asked = memory(sizeof *asked);
    *asked = (struct asked){.runner = runner, .reply = reply, .arg = arg, .job = text_copy(job)};
    if (job != NULL)
        asked->key = job_key(runner, job);
    return asked;
}

static void asked_free(struct asked *asked)
{
    free(asked->job);
    free(asked->key);
    free(asked->run);
    json_decref(asked->history.jobs);
    json_decref(asked->pauses);
    json_decref(asked->resumed);
    loop_timer_free(&asked->timer);
    free(asked);
}

__attribute__((format(printf, 3, 4))) static void refuse(reply_fn reply, void *arg, const char *format, ...)
{
    char text[600];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    text_make_utf8(text);
    reply(json_pack("{s:b, s:s}", "ok", 0, "error", text), arg);
}

/* Answers with an error of the store. Returns false if there was none. */
static bool failed(struct asked *asked)
{
    if (asked->error >= 0)
        return false;
    json_decref(asked->result);
    if (asked->error == HORA_ENOENT && asked->is_given_up)
        refuse(asked->reply, asked->arg, "job %s has been given up; hora resume %s lets it run", asked->job,
               asked->job);
    else if (asked->error == HORA_ENOENT && asked->job != NULL)
        refuse(asked->reply, asked->arg, "job %s is not in the store; hora reload puts it there", asked->job);
    else
        refuse(asked->reply, asked->arg, "the store: %s", asked->reason.message);
    asked_free(asked);
    return true;
}

static bool is_known(struct runner *runner, const char *job, reply_fn reply, void *arg)
{
    if (runner_find(runner, job) != NULL)
        return true;
    refuse(reply, arg, "there is no job %s", job);
    return false;
}

/* ---- the jobs ---- */

static const char *state_name(const hora_durable_info *info, hora_instant now)
{
    switch (info->state) {
    case HORA_DURABLE_PAUSED:
        return "paused";
    case HORA_DURABLE_DEAD:
        return "given-up";
    case HORA_DURABLE_CLAIMED:
        return info->due.ns <= now.ns ? "running" : "waiting";
    case HORA_DURABLE_WAITING:
    default:
        return info->due.ns <= now.ns ? "due" : "waiting";
    }
}

static int add_job(const hora_durable_info *info, void *arg)
{
    struct asked *asked = arg;
    const char *name = job_of_key(asked->runner, info->key);
    if (info->state == HORA_DURABLE_WAITING && json_object_get(asked->pauses, name) != NULL)
        json_array_append_new(asked->resumed, json_string(name));
    hora_instant due = info->due.ns > info->planned.ns ? info->due : info->planned;
    bool parked = info->planned.ns >= JOB_PARKED || info->state == HORA_DURABLE_DEAD;
    char last[40] = "";
    if (info->last_end.ns != 0)
        code_describe(info->last_code, last, sizeof last);
    json_t *job = json_pack(
        "{s:s, s:s, s:o, s:o, s:i, s:I, s:o, s:i, s:o, s:I, s:I, s:s}", "job", name, "state",
        state_name(info, asked->at), "next", parked ? json_null() : json_instant(due), "planned",
        parked ? json_null() : json_instant(info->planned), "attempts", info->attempts, "failures_in_a_row",
        (json_int_t)info->failures_in_a_row, "last_end", json_instant(info->last_end), "last_code",
        info->last_code, "last_success", json_instant(info->last_success), "node", (json_int_t)info->node,
        "firings", (json_int_t)info->firings, "last", last);
    json_array_append_new(asked->result, job);
    return 0;
}

static void list_jobs(void *arg)
{
    struct asked *asked = arg;
    char *prefix = text_format("%s/", asked->runner->namespace);
    asked->result = json_array();
    asked->pauses = json_object();
    asked->resumed = json_array();
    /* Before the tasks: a job that has a note by now has been paused. */
    asked->error = pauses_read(asked->runner, asked->job, asked->pauses, &asked->reason);
    if (asked->error == 0)
        asked->error = hora_store_list(asked->runner->store,
                                       HORA_DURABLE_FILTER(.key_prefix = prefix, .key = asked->key), add_job,
                                       asked, &asked->reason);
    if (asked->error == 0)
        asked->error = hora_store_list(
            asked->runner->store,
            HORA_DURABLE_FILTER(.key_prefix = prefix, .key = asked->key, .state = HORA_DURABLE_DEAD), add_job,
            asked, &asked->reason);
    free(prefix);
    for (size_t i = 0; i < json_array_size(asked->resumed); i++) {
        const char *job = json_string_value(json_array_get(asked->resumed, i));
        hora_error reason;
        json_object_del(asked->pauses, job);
        (void)pause_remove(asked->runner, job, &reason); /* the next list tries it again */
    }
}

static json_t *runs_of(const struct runner *runner, const char *job)
{
    json_t *runs = json_array();
    for (const struct run *run = runner->runs; run != NULL; run = run->next)
        if (run->hook == NULL && strcmp(job_of_key(runner, run->key), job) == 0)
            json_array_append_new(runs, run_to_json(run));
    return runs;
}

static const char *overlap_name(const struct job *job)
{
    static const char *const names[] = {"skip", "allow", "queue", "replace"};
    return names[job->overlap];
}

/* Adds what the files and this node know. While a job runs, the store does not know its next time. That of a
 * paused job may have passed, and nothing happens at it. */
static void complete_job(struct runner *runner, json_t *object, const struct job *job)
{
    char schedule[512];
    (void)job_describe(job, schedule, sizeof schedule);
    json_t *tags = json_array(), *runs = runs_of(runner, job->name);
    for (size_t i = 0; i < job->tag_count; i++)
        json_array_append_new(tags, json_string(job->tags[i]));
    const char *state = json_string_value(json_object_get(object, "state"));
    bool is_running = state != NULL && strcmp(state, "running") == 0;
    if (is_running)
        json_object_set_new(object, "next", json_next(job, loop_wall(runner->loop)));
    else if (state != NULL && strcmp(state, "paused") == 0)
        json_object_set_new(object, "next", json_null());
    if (!is_running && !job->enabled && json_array_size(runs) == 0)
        json_object_set_new(object, "state", json_string("disabled"));
    json_object_set_new(object, "schedule", json_string(schedule));
    json_object_set_new(object, "description",
                        job->description == NULL ? json_null() : json_string(job->description));
    json_object_set_new(object, "group", job->group == NULL ? json_null() : json_string(job->group->name));
    json_object_set_new(object, "overlap", json_string(overlap_name(job)));
    json_object_set_new(object, "tags", tags);
    json_object_set_new(object, "runs", runs);
}

/* Adds since when a job is paused, and by whom. That may be so while it runs. A job that was given up then is
 * not paused any more. */
static void add_pause(json_t *object, const json_t *note)
{
    const char *state = json_string_value(json_object_get(object, "state"));
    if (note == NULL || state == NULL || strcmp(state, "given-up") == 0)
        return;
    json_object_set(object, "paused_since", json_object_get(note, "since"));
    json_object_set(object, "paused_by", json_object_get(note, "by"));
}

json_t *json_next(const struct job *job, hora_instant now)
{
    hora_instant next = job_next_time(job, now);
    return next.ns >= JOB_PARKED || !job->enabled ? json_null() : json_instant(next);
}

/* Adds a task of the store to an object by the names of jobs. A living task hides a dead one, which comes
 * later. */
static json_t *by_name(json_t *tasks)
{
    json_t *result = json_object(), *task;
    size_t i;
    json_array_foreach(tasks, i, task)
    {
        const char *name = json_string_value(json_object_get(task, "job"));
        if (json_object_get(result, name) == NULL)
            json_object_set(result, name, task);
    }
    return result;
}

static void jobs_listed(void *arg)
{
    struct asked *asked = arg;
    struct runner *runner = asked->runner;
    if (failed(asked))
        return;
    json_t *jobs = json_array(), *tasks = by_name(asked->result);
    for (size_t i = 0; i < runner->job_count; i++) {
        const struct job *job = runner->jobs[i]->job;
        if (asked->job != NULL && strcmp(asked->job, job->name) != 0)
            continue;
        json_t *task = json_object_get(tasks, job->name);
        json_t *object =
            task != NULL ? json_incref(task) : json_pack("{s:s, s:s}", "job", job->name, "state", "unknown");
        complete_job(runner, object, job);
        add_pause(object, json_object_get(asked->pauses, job->name));
        json_array_append_new(jobs, object);
    }
    json_decref(tasks);
    json_decref(asked->result);
    asked->reply(json_pack("{s:b, s:o}", "ok", 1, "jobs", jobs), asked->arg);
    asked_free(asked);
}

void runner_request_jobs(struct runner *runner, const char *job, reply_fn reply, void *arg)
{
    if (job != NULL && !is_known(runner, job, reply, arg))
        return;
    struct asked *asked = asked_new(runner, job, reply, arg);
    asked->at = loop_wall(runner->loop);
    loop_ask(runner->loop, list_jobs, jobs_listed, asked);
}

/* ---- history ---- */

static int add_record(const hora_run_record *record, void *arg)
{
    struct asked *asked = arg;
    const char *job = job_of_key(asked->runner, record->key);
    if (record->key == NULL || job == record->key)
        return 0; /* not a job of this namespace */
    if (asked->history.jobs != NULL && json_object_get(asked->history.jobs, job) == NULL)
        return 0;
    if (asked->history.failed && code_is_of_end(record->code))
        return 0;
    json_t *object = record_to_json(asked->runner, record);
    if (asked->run == NULL || strcmp(json_string_value(json_object_get(object, "run")), asked->run) == 0)
        json_array_append(asked->result, object);
    json_decref(object);
    return asked->history.limit > 0 && json_array_size(asked->result) >= (size_t)asked->history.limit;
}

static void read_history(void *arg)
{
    struct asked *asked = arg;
    asked->result = json_array();
    asked->error = hora_store_history(asked->runner->store,
                                      HORA_HISTORY_FILTER(.key = asked->key, .failed = asked->history.failed,
                                                          .before_id = asked->history.before_id,
                                                          .since = asked->history.since),
                                      add_record, asked, &asked->reason);
}

static void history_read(void *arg)
{
    struct asked *asked = arg;
    if (failed(asked))
        return;
    asked->reply(json_pack("{s:b, s:o}", "ok", 1, "records", asked->result), asked->arg);
    asked_free(asked);
}

static void ask_history(void *arg)
{
    struct asked *asked = arg;
    loop_ask(asked->runner->loop, read_history, history_read, asked);
}

void runner_request_history(struct runner *runner, const struct history_question *question, reply_fn reply,
                            void *arg)
{
    struct asked *asked = asked_new(runner, question->job, reply, arg);
    asked->history = *question;
    asked->run = text_copy(question->run);
    /* The outcome of a run is written a moment after its end. */
    hora_ns since = loop_now(runner->loop) - runner->last_finish;
    if (runner->last_finish == 0 || since >= WRITE_TIME || loop_clock(runner->loop) != NULL) {
        loop_ask(runner->loop, read_history, history_read, asked);
        return;
    }
    loop_timer_init(&asked->timer, runner->loop, ask_history, asked);
    loop_timer_start(&asked->timer, WRITE_TIME - since);
}

/* ---- run, pause, resume ---- */

/* What the store says of the next run of a job. Of several rows, one that no node has taken counts. */
struct row {
    bool is_there;
    hora_durable_state state;
    hora_instant planned, due;
};

static int find_row(const hora_durable_info *info, void *arg)
{
    struct row *row = arg;
    if (!row->is_there || row->state == HORA_DURABLE_CLAIMED)
        *row = (struct row){true, info->state, info->planned, info->due};
    return 0;
}

static int find_dead(const hora_durable_info *info, void *arg)
{
    (void)info;
    *(bool *)arg = true;
    return 0;
}

/* The store has no task of the job that can run: finds out whether the job was given up. */
static void look_among_dead(struct asked *asked)
{
    hora_error reason;
    if (asked->error == HORA_ENOENT)
        (void)hora_store_list(asked->runner->store,
                              HORA_DURABLE_FILTER(.key = asked->key, .state = HORA_DURABLE_DEAD), find_dead,
                              &asked->is_given_up, &reason);
}

static struct row look(struct asked *asked)
{
    struct row row = {.is_there = false};
    asked->error = hora_store_list(asked->runner->store, HORA_DURABLE_FILTER(.key = asked->key), find_row,
                                   &row, &asked->reason);
    if (asked->error == 0 && !row.is_there)
        asked->error = HORA_ENOENT;
    look_among_dead(asked);
    return row;
}

/* A run that starts in a moment is the one that is asked for. Otherwise the job gets a new time, unless a run is
 * in progress: then it runs once more afterwards. That is so if a node still has the same firing. */
static void ask_to_run(void *arg)
{
    struct asked *asked = arg;
    struct row before = look(asked);
    asked->is_paused = before.state == HORA_DURABLE_PAUSED;
    if (asked->error < 0 || asked->is_paused)
        return;
    if (before.state == HORA_DURABLE_WAITING && before.due.ns <= asked->at.ns) {
        asked->at = before.planned;
        return;
    }
    asked->error = job_run_at(asked->runner, asked->key, asked->at, &asked->reason);
    if (asked->error < 0)
        return;
    struct row after = look(asked);
    asked->is_queued = after.state == HORA_DURABLE_CLAIMED && after.planned.ns == before.planned.ns;
    asked->at = after.planned;
}

static void run_was_asked(void *arg)
{
    struct asked *asked = arg;
    if (failed(asked))
        return;
    if (asked->is_paused) {
        refuse(asked->reply, asked->arg, "job %s is paused; hora resume %s lets it run", asked->job,
               asked->job);
        asked_free(asked);
        return;
    }
    bool queued = asked->is_queued;
    char *id = run_id(asked->job, asked->at);
    asked->reply(json_pack("{s:b, s:s, s:o, s:b}", "ok", 1, "job", asked->job, "run",
                           queued ? json_null() : json_string(id), "queued", queued),
                 asked->arg);
    free(id);
    asked_free(asked);
}

void runner_request_run(struct runner *runner, const char *job, reply_fn reply, void *arg)
{
    if (!is_known(runner, job, reply, arg))
        return;
    struct asked *asked = asked_new(runner, job, reply, arg);
    hora_durable_status status = HORA_INIT(hora_durable_status);
    hora_ns offset = hora_durable_get_status(runner->durable, &status) == 0 ? status.clock_offset : 0;
    /* The store takes a time in the past for now, and then the id of the run would not be known. */
    hora_ns soon = loop_wall(runner->loop).ns + offset + HORA_MS(5);
    asked->at = (hora_instant){soon - soon % 1000};
    loop_ask(runner->loop, ask_to_run, run_was_asked, asked);
}

static void ask_to_pause(void *arg)
{
    struct asked *asked = arg;
    hora_store *store = asked->runner->store;
    if (asked->pause) {
        asked->error = hora_store_pause(store, asked->key, 0, &asked->reason);
        hora_error reason;
        if (asked->error > 0) /* it was not paused before */
            (void)pause_put(asked->runner, asked->job, asked->at, asked->by, &reason);
        look_among_dead(asked);
        return;
    }
    asked->error = pause_remove(asked->runner, asked->job, &asked->reason);
    if (asked->error == 0)
        asked->error = hora_store_resume(store, asked->key, 0, &asked->reason);
    if (asked->error != HORA_ENOENT)
        return;
    /* A job that was given up continues with its next time, not now. */
    asked->error = hora_store_revive(store, asked->key, 0, asked->next, &asked->reason);
    if (asked->error >= 0)
        asked->error = 1;
}

static void was_paused(void *arg)
{
    struct asked *asked = arg;
    if (failed(asked))
        return;
    const char *kind = asked->pause ? "pause" : "resume";
    bool changed = asked->error > 0;
    if (changed)
        event_report(asked->runner, EVENT_INFO, kind, asked->job, NULL, asked->pause ? "paused" : "resumed");
    asked->reply(json_pack("{s:b, s:s, s:b}", "ok", 1, "job", asked->job, "changed", changed), asked->arg);
    asked_free(asked);
}

void runner_request_pause(struct runner *runner, const char *job, bool pause, uid_t by, reply_fn reply,
                          void *arg)
{
    if (!is_known(runner, job, reply, arg))
        return;
    struct asked *asked = asked_new(runner, job, reply, arg);
    asked->pause = pause;
    asked->by = by;
    asked->at = loop_wall(runner->loop);
    asked->next = job_next_time(runner_find(runner, job)->job, loop_wall(runner->loop));
    loop_ask(runner->loop, ask_to_pause, was_paused, asked);
}

/* ---- stop ---- */

void runner_request_stop(struct runner *runner, hora_ns within, reply_fn reply, void *arg)
{
    int running = runner->running;
    runner_stop(runner, within < 0 ? runner->stop_within : within);
    reply(json_pack("{s:b, s:i}", "ok", 1, "running", running), arg);
}

/* ---- the virtual clock ---- */

/* A request to let time pass. */
struct passing {
    struct runner *runner;
    reply_fn reply;
    void *arg;
    bool settle;
};

/* With `settle`, time stands still while a process runs, and until its end is in the store. A run that waits
 * before it tries the store again needs time. */
static bool is_running(void *arg)
{
    const struct passing *passing = arg;
    for (const struct run *run = passing->runner->runs; run != NULL; run = run->next)
        if (run->has_process || (run->finished && !loop_timer_is_pending(&run->timer)))
            return passing->settle;
    return false;
}

static void passed(void *arg)
{
    struct passing *passing = arg;
    passing->reply(json_pack("{s:b, s:o}", "ok", 1, "now", json_instant(loop_wall(passing->runner->loop))),
                   passing->arg);
    free(passing);
}

void runner_request_clock(struct runner *runner, hora_ns by, bool settle, reply_fn reply, void *arg)
{
    if (loop_clock(runner->loop) == NULL || by < 0) {
        refuse(reply, arg, by < 0 ? "time cannot go back" : "this runner has no virtual clock");
        return;
    }
    struct passing *passing = memory(sizeof *passing);
    *passing = (struct passing){.runner = runner, .reply = reply, .arg = arg, .settle = settle};
    if (loop_pass(runner->loop, by, is_running, passed, passing))
        return;
    free(passing);
    refuse(reply, arg, "time is passing already");
}
