/* SPDX-License-Identifier: Apache-2.0 */
/* fake_runner.c - a runner without jobs of its own, for tests of the control socket: see fake.h
 *
 * A run of the job `report` is in hand. A request to run `hello` or `fails` lets a run print two lines and end at
 * once; that of `fails` is tried again once. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/version.h>

#include "command.h"
#include "control/times.h"
#include "fake.h"
#include "text.h"

enum { KEPT_MOST = 16 };

/* The record of a run that has no log. */
static const char records[] =
    "[{'id':7,'job':'backup','run':'backup@20261117T020000Z','outcome':'succeeded','code':0,"
    "'planned':'2026-11-17T02:00:00Z','attempt':1,'note':{'tail':'dumping\\ndone\\n'}}]";

struct follower {
    struct follower *next;
    char *job, *run;
    bool wants_output;
    follower_fn receive;
    void *arg;
};

/* A line of the log of a run. */
struct log_line {
    char *run, *text;
    hora_instant time;
};

static struct fake {
    struct runner runner;
    struct job_state states[16];
    struct job jobs[16];
    struct job_state *by_name[16];
    struct run runs[1];
    struct log_line *log;
    size_t log_count, log_room;
    char last[256];
    bool keeps;
    struct {
        reply_fn reply;
        json_t *json;
        void *arg;
    } kept[KEPT_MOST];
    int kept_count;
} fake;

static json_t *parse(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(memory(size), text, size);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    json_t *json = json_loads(copy, 0, NULL);
    assert(json != NULL);
    free(copy);
    return json;
}

static hora_instant at(const char *text)
{
    hora_instant time = {0};
    int error = hora_instant_parse(text, NULL, &time, NULL, NULL);
    assert(error == 0);
    (void)error;
    return time;
}

/* ---- jobs ---- */

static void add_jobs(void)
{
    static const char *const names[] = {"backup", "fails", "hello", "nightly", "report"};
    struct fake *f = &fake;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        f->jobs[i] = (struct job){.name = text_copy(names[i]), .enabled = true, .place = {"jobs.yaml", 1, 1}};
        f->states[i] = (struct job_state){.runner = &f->runner, .name = f->jobs[i].name, .job = &f->jobs[i]};
        f->by_name[i] = &f->states[i];
        f->runner.job_count++;
    }
}

static void add_run(void)
{
    struct fake *f = &fake;
    f->runs[0] = (struct run){.runner = &f->runner,
                              .job = runner_find(&f->runner, "report")->job,
                              .id = text_copy("report@20261117T114000Z"),
                              .attempt = 2,
                              .planned = at("2026-11-17T11:40:00Z"),
                              .started = at("2026-11-17T11:46:00Z"),
                              .run_state = RUN_RUNNING,
                              .process = {.pid = 4711}};
    f->runner.runs = &f->runs[0];
}

struct runner *fake_runner_new(const char *socket_path, const struct control_limits *limits)
{
    struct fake *f = &fake;
    *f = (struct fake){.runner = {.node_name = text_copy("here"),
                                  .loop = loop_new(NULL),
                                  .socket_path = text_copy(socket_path),
                                  .store_address = text_copy("sqlite:/var/lib/hora/store.db"),
                                  .store_is_connected = true,
                                  .started = at("2026-11-17T00:00:00Z"),
                                  .running = 1,
                                  .max_running = 1000,
                                  .stop_within = HORA_SECONDS(30)}};
    f->runner.jobs = f->by_name;
    f->runner.log_directory = text_copy("/nonexistent");
    add_jobs();
    add_run();
    f->runner.control = control_new_limited(&f->runner, limits);
    if (f->runner.control == NULL) {
        fake_runner_free(&f->runner);
        return NULL;
    }
    return &f->runner;
}

void fake_runner_free(struct runner *runner)
{
    struct fake *f = &fake;
    control_free(runner->control);
    fake_runner_answer();
    loop_free(runner->loop);
    for (size_t i = 0; i < runner->job_count; i++)
        free(f->jobs[i].name);
    for (size_t i = 0; i < f->log_count; i++) {
        free(f->log[i].run);
        free(f->log[i].text);
    }
    free(f->log);
    free(f->runs[0].id);
    free(runner->node_name);
    free(runner->socket_path);
    free(runner->store_address);
    free(runner->log_directory);
    assert(runner->followers == NULL);
}

struct job_state *runner_find(const struct runner *runner, const char *name)
{
    for (size_t i = 0; i < runner->job_count; i++)
        if (strcmp(runner->jobs[i]->name, name) == 0)
            return runner->jobs[i];
    return NULL;
}

struct run *runner_find_run(const struct runner *runner, const char *id, const struct run *ret_several[2])
{
    ret_several[0] = ret_several[1] = NULL;
    for (struct run *run = runner->runs; run != NULL; run = run->next)
        if (strncmp(run->id, id, strlen(id)) == 0)
            return run;
    return NULL;
}

json_t *run_to_json(const struct run *run)
{
    return json_pack("{s:s, s:s, s:s}", "run", run->id, "job", run->job->name, "state", "running");
}

json_t *job_to_json(const struct job *job, bool with_secrets)
{
    (void)with_secrets;
    return json_pack("{s:s}", "name", job->name);
}

int job_describe(const struct job *job, char *text, size_t size)
{
    (void)job;
    return snprintf(text, size, "on request");
}

hora_instant job_next_time(const struct job *job, hora_instant after)
{
    (void)job, (void)after;
    return (hora_instant){JOB_PARKED};
}

char *metrics_text(const struct runner *runner)
{
    (void)runner;
    return text_copy("# TYPE hora_jobs gauge\nhora_jobs 10\n");
}

/* ---- logs ---- */

void job_log_flush(struct job_log_file *log)
{
    (void)log;
}

int job_log_read(const char *directory, const char *job, const char *run, int attempt,
                 int (*line)(const struct output_line *line, void *arg), void *arg)
{
    (void)directory;
    (void)attempt;
    for (size_t i = 0; i < fake.log_count; i++) {
        if (strcmp(fake.log[i].run, run) != 0)
            continue;
        struct output_line output = {.run = run,
                                     .job = job,
                                     .attempt = 2,
                                     .time = fake.log[i].time,
                                     .text = fake.log[i].text,
                                     .size = strlen(fake.log[i].text)};
        int result = line(&output, arg);
        if (result != 0)
            return result;
    }
    return 0;
}

/* ---- events ---- */

struct follower *follower_add(struct runner *runner, const char *job, const char *run, bool wants_output,
                              follower_fn receive, void *arg)
{
    struct follower *follower = memory(sizeof *follower);
    *follower =
        (struct follower){runner->followers, text_copy(job), text_copy(run), wants_output, receive, arg};
    runner->followers = follower;
    return follower;
}

void follower_remove(struct runner *runner, struct follower *follower)
{
    struct follower **link = &runner->followers;
    while (*link != follower)
        link = &(*link)->next;
    *link = follower->next;
    free(follower->job);
    free(follower->run);
    free(follower);
}

/* Sends an event to the followers that want it. The reference is taken. */
static void publish(struct runner *runner, json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "kind"));
    const char *job = json_string_value(json_object_get(event, "job"));
    const char *run = json_string_value(json_object_get(event, "run"));
    struct follower *next;
    for (struct follower *follower = runner->followers; follower != NULL; follower = next) {
        next = follower->next;
        if ((follower->job != NULL && (job == NULL || strcmp(job, follower->job) != 0)) ||
            (follower->run != NULL && (run == NULL || strcmp(run, follower->run) != 0)) ||
            (!follower->wants_output && strcmp(kind, "output") == 0))
            continue;
        follower->receive(event, follower->arg);
    }
    json_decref(event);
}

void event_report(struct runner *runner, enum event_level level, const char *kind, const char *job,
                  json_t *fields, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (level == EVENT_ERROR)
        (void)fprintf(stderr, "%s\n", text);
    json_t *event = fields != NULL ? fields : json_object();
    (void)json_object_set_new(event, "kind", json_string(kind));
    (void)json_object_set_new(event, "time", json_string("2026-11-17T12:00:00Z"));
    (void)json_object_set_new(event, "text", json_string(text));
    if (job != NULL)
        (void)json_object_set_new(event, "job", json_string(job));
    publish(runner, event);
}

static void put_output(struct runner *runner, const char *job, const char *run, const char *text)
{
    struct fake *f = &fake;
    if (f->log_count == f->log_room) {
        f->log_room = f->log_room > 0 ? 2 * f->log_room : 64;
        struct log_line *more = memory(f->log_room * sizeof *more);
        if (f->log_count > 0)
            memcpy(more, f->log, f->log_count * sizeof *more);
        free(f->log);
        f->log = more;
    }
    /* What is printed while no client follows is older. */
    hora_instant time =
        runner->followers != NULL ? loop_wall(runner->loop) : at("2026-11-17T11:50:00.123456Z");
    f->log[f->log_count++] = (struct log_line){text_copy(run), text_copy(text), time};
    publish(runner,
            json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s}", "kind", "output", "time", "2026-11-17T12:00:00Z",
                      "job", job, "run", run, "attempt", 2, "stream", "out", "text", text));
}

void fake_runner_output(struct runner *runner, const char *text)
{
    put_output(runner, "report", fake.runs[0].id, text);
}

static void put_end(struct runner *runner, const char *job, const char *run, int status, bool retry)
{
    publish(runner,
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:s}", "kind", retry ? "retry" : "end",
                      "time", "2026-11-17T12:00:00Z", "job", job, "run", run, "outcome",
                      status == 0 ? "succeeded" : "failed", "exit", status, "attempt", retry ? 1 : 2, "final",
                      !retry, "text", status == 0 ? "succeeded" : "failed: exit status 3"));
}

void fake_runner_end(struct runner *runner, int status, bool retry)
{
    put_end(runner, "report", fake.runs[0].id, status, retry);
}

/* ---- requests ---- */

const char *fake_runner_last(void)
{
    return fake.last;
}

void fake_runner_keep(bool keep)
{
    fake.keeps = keep;
}

void fake_runner_answer(void)
{
    for (int i = 0; i < fake.kept_count; i++)
        fake.kept[i].reply(fake.kept[i].json, fake.kept[i].arg);
    fake.kept_count = 0;
}

/* Answers at once, or later if the test wants so. */
static void answer(json_t *json, reply_fn reply, void *arg)
{
    if (!fake.keeps) {
        reply(json, arg);
        return;
    }
    assert(fake.kept_count < KEPT_MOST);
    fake.kept[fake.kept_count].reply = reply;
    fake.kept[fake.kept_count].json = json;
    fake.kept[fake.kept_count++].arg = arg;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(fake.last, sizeof fake.last, format, values);
    va_end(values);
}

/* A run that prints two lines and ends. */
static void run_now(void *arg)
{
    struct runner *runner = &fake.runner;
    const char *job = arg;
    char run[64];
    (void)snprintf(run, sizeof run, "%s@20261117T120000Z", job);
    bool fails = strcmp(job, "fails") == 0;
    put_output(runner, job, run, "hello");
    if (fails)
        put_end(runner, job, run, 3, true);
    put_output(runner, job, run, "\xe4\xb8\x96\xe7\x95\x8c");
    put_end(runner, job, run, fails ? 3 : 0, false);
}

void runner_request_run(struct runner *runner, const char *job, reply_fn reply, void *arg)
{
    note("run %s", job);
    const struct job_state *state = runner_find(runner, job);
    if (strcmp(job, "hello") == 0)
        run_now(state->name); /* the run is faster than the answer */
    else
        loop_post(runner->loop, run_now, state->name);
    answer(json_pack("{s:b, s:o}", "ok", 1, "run", json_sprintf("%s@20261117T120000Z", job)), reply, arg);
}

void runner_request_pause(struct runner *runner, const char *job, bool pause, uid_t by, reply_fn reply,
                          void *arg)
{
    (void)runner, (void)by;
    note("%s %s", pause ? "pause" : "resume", job);
    answer(json_pack("{s:b}", "ok", 1), reply, arg);
}

void runner_request_cancel(struct runner *runner, const char *run, reply_fn reply, void *arg)
{
    const struct run *several[2];
    note("cancel %s", run);
    if (runner_find_run(runner, run, several) == NULL)
        answer(json_pack("{s:b, s:o}", "ok", 0, "error", json_sprintf("there is no run %s", run)), reply,
               arg);
    else
        answer(json_pack("{s:b, s:s}", "ok", 1, "run", run), reply, arg);
}

void runner_request_reload(struct runner *runner, reply_fn reply, void *arg)
{
    (void)runner;
    note("reload");
    answer(json_pack("{s:b, s:i, s:i, s:i}", "ok", 1, "jobs", 10, "changed", 2, "removed", 0), reply, arg);
}

void runner_request_stop(struct runner *runner, hora_ns within, reply_fn reply, void *arg)
{
    (void)runner;
    note("stop %lld", (long long)(within < 0 ? -1 : within / HORA_SECONDS(1)));
    answer(json_pack("{s:b}", "ok", 1), reply, arg);
}

void runner_request_jobs(struct runner *runner, const char *job, reply_fn reply, void *arg)
{
    (void)runner, (void)job;
    answer(json_pack("{s:b, s:[]}", "ok", 1, "jobs"), reply, arg);
}

/* Returns true if a record is what a question asks for. */
static bool is_asked_for(const json_t *record, const struct history_question *question)
{
    const char *outcome = json_string_value(json_object_get(record, "outcome"));
    hora_instant ended;
    bool has_ended = times_from_json(json_object_get(record, "ended"), &ended);
    return (question->job == NULL ||
            strcmp(json_string_value(json_object_get(record, "job")), question->job) == 0) &&
           (question->run == NULL ||
            strcmp(json_string_value(json_object_get(record, "run")), question->run) == 0) &&
           (!question->failed || strcmp(outcome, "failed") == 0) &&
           (question->since.ns == 0 || (has_ended && ended.ns >= question->since.ns));
}

void runner_request_history(struct runner *runner, const struct history_question *question, reply_fn reply,
                            void *arg)
{
    (void)runner;
    json_t *all = parse(records);
    for (size_t i = json_array_size(all); i-- > 0;)
        if (!is_asked_for(json_array_get(all, i), question))
            (void)json_array_remove(all, i);
    json_decref(question->jobs);
    while ((int64_t)json_array_size(all) > question->limit)
        (void)json_array_remove(all, json_array_size(all) - 1);
    answer(json_pack("{s:b, s:o}", "ok", 1, "records", all), reply, arg);
}

void runner_request_clock(struct runner *runner, hora_ns by, bool settle, reply_fn reply, void *arg)
{
    (void)runner;
    note("clock %lld %d", (long long)by, settle);
    answer(json_pack("{s:b}", "ok", 1), reply, arg);
}
