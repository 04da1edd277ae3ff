/* SPDX-License-Identifier: Apache-2.0 */
/* fake_runner.c - a runner without jobs of its own, for tests of the control socket: see fake.h
 *
 * The run of the job `report` is in hand, and a run of `import` waits for it. A request to run `hello` or
 * `fails` lets a run print two lines and end at once; that of `fails` is tried again once. */
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

/* The jobs, as runner_request_jobs tells them. */
static const char infos[] =
    "[{'job':'backup','description':'\\u6bce\\u65e5\\u306e\\u30d0\\u30c3\\u30af\\u30a2\\u30c3\\u30d7 of all "
    "databases','schedule':'at 03:00, Europe/Paris','state':'waiting','next':'2026-11-18T02:00:00Z',"
    "'attempts':0,'failures_in_a_row':0,'last_end':'2026-11-17T02:04:10Z','last':'ok','last_code':0,"
    "'last_success':'2026-11-17T02:04:10Z','tags':['nightly','db'],'overlap':'skip','runs':[]},"
    "{'job':'closed','schedule':'at 08:00, UTC, not on holidays','state':'waiting',"
    "'next':'2026-11-20T08:00:00Z','tags':[],'overlap':'skip','runs':[]},"
    "{'job':'fails','schedule':'on "
    "request','state':'waiting','next':null,'tags':[],'overlap':'skip','runs':[]},"
    "{'job':'flaky','schedule':'every 5 min','state':'given-up','next':null,'failures_in_a_row':3,"
    "'last_end':'2026-11-17T10:00:01Z','last':'signal "
    "9','last_code':265,'last_success':'2026-11-16T09:00:00Z','tags':[],"
    "'overlap':'skip','runs':[]},"
    "{'job':'hello','schedule':'on "
    "request','state':'waiting','next':null,'tags':[],'overlap':'skip','runs':[]},"
    "{'job':'import','schedule':'every 10 min','state':'running','next':'2026-11-17T12:10:00Z',"
    "'planned':'2026-11-17T11:50:00Z','tags':[],'group':'db','overlap':'replace','runs':[]},"
    "{'job':'nightly','schedule':'at 01:00, UTC','state':'disabled','next':null,'tags':[],'overlap':'skip',"
    "'runs':[]},"
    "{'job':'poll','schedule':'every 5 "
    "min','state':'paused','paused_since':'2026-11-17T09:00:00Z','next':null,"
    "'last_end':'2026-11-17T08:55:01Z','last':'ok','last_code':0,'last_success':'2026-11-17T08:55:01Z','tags'"
    ":[],"
    "'overlap':'skip','runs':[]},"
    "{'job':'report','schedule':'every 20 min','state':'running','next':'2026-11-17T12:20:00Z',"
    "'planned':'2026-11-17T11:40:00Z','tags':[],'group':'db','overlap':'queue','node':1,'runs':[]},"
    "{'job':'spread-out','schedule':'every 1 h','state':'waiting','next':'2026-11-17T12:03:12Z','tags':[],"
    "'overlap':'skip','runs':[]}]";

static const char records[] =
    "[{'id':7,'job':'backup','run':'backup@20261117T020000Z','outcome':'succeeded','code':0,"
    "'planned':'2026-11-17T02:00:00Z','started':'2026-11-17T02:00:00.012Z','ended':'2026-11-17T02:04:10Z',"
    "'seconds':249.988,'attempt':1,'fence':12,'node':1,'skipped':0,"
    "'note':{'exit':0,'tail':'dumping\\ndone\\n','output_lines':2,'host':'here','pid':999}},"
    "{'id':6,'job':'flaky','run':'flaky@20261117T100000Z','outcome':'failed','code':1,"
    "'planned':'2026-11-17T10:00:00Z','started':'2026-11-17T10:00:00Z','ended':'2026-11-17T10:00:01Z',"
    "'seconds':1.0,'attempt':2,'fence':11,'node':1,'skipped':0,'note':{'reason':'exit status "
    "1','exit':1,'tail':'no route\\n'}},"
    "{'id':5,'job':'flaky','run':'flaky@20261117T095500Z','outcome':'failed','retried':true,'code':1000,"
    "'planned':'2026-11-17T09:55:00Z','started':'2026-11-17T09:55:00Z','ended':'2026-11-17T09:56:00Z',"
    "'seconds':60,'attempt':1,'fence':10,'node':1,'skipped':0,'note':{'reason':'timeout'}},"
    "{'id':4,'job':'poll','run':'poll@20261117T085500Z','outcome':'succeeded','code':0,"
    "'planned':'2026-11-17T08:55:00Z','started':'2026-11-17T08:55:00Z','ended':'2026-11-17T08:55:01Z',"
    "'seconds':1,'attempt':1,'fence':9,'node':1,'skipped':0,'note':{'exit':0}},"
    "{'id':3,'job':'backup','run':'backup@20261116T020000Z','outcome':'skipped',"
    "'planned':'2026-11-16T02:00:00Z','attempt':1,'fence':8,'node':1,'skipped':1,"
    "'note':{'reason':'guard: exit status 1'}}]";

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
    struct job_trigger triggers[16];
    struct job_group group;
    struct group_state group_state;
    struct job_state *by_name[16];
    struct group_state *groups[1];
    hora_calendar *calendar;
    hora_calendar *calendars[1];
    char *calendar_names[1];
    struct run runs[2];
    struct log_line *log;
    size_t log_count, log_room;
    char last[256];
    bool keeps, is_stopped;
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

static struct job *add_job(const char *name, hora_ns every)
{
    struct fake *f = &fake;
    size_t i = f->runner.job_count++;
    struct job *job = &f->jobs[i];
    *job = (struct job){.name = text_copy(name), .enabled = true, .place = {"jobs.yaml", 10 * (int)i + 1, 3}};
    if (every > 0) {
        f->triggers[i] = (struct job_trigger){.kind = TRIGGER_EVERY, .period = every};
        job->triggers = &f->triggers[i];
        job->trigger_count = 1;
    }
    f->states[i] = (struct job_state){.runner = &f->runner, .name = job->name, .job = job};
    f->by_name[i] = &f->states[i];
    return job;
}

static void add_jobs(void)
{
    static hora_date dates[] = {{2026, 11, 18}, {2026, 11, 19}};
    struct fake *f = &fake;
    struct job *backup = add_job("backup", 0);
    hora_error reason;
    f->triggers[0] = (struct job_trigger){.kind = TRIGGER_CRON};
    backup->triggers = &f->triggers[0];
    backup->trigger_count = 1;
    int error = hora_cron_parse("0 0 3 * * *", NULL, &f->triggers[0].cron, &reason);
    error = error < 0 ? error : hora_zone_new("Europe/Paris", NULL, &f->triggers[0].zone, &reason);
    error = error < 0 ? error
                      : hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.dates = dates, .date_count = 2),
                                          &f->calendars[0], &reason);
    assert(error == 0);
    (void)error;
    struct job *closed = add_job("closed", HORA_HOURS(24));
    closed->triggers[0].from = at("2026-11-01T08:00:00Z");
    f->calendar_names[0] = text_copy("holidays");
    closed->calendars = f->calendars;
    closed->calendar_names = f->calendar_names;
    closed->calendar_count = 1;
    (void)add_job("fails", 0);
    (void)add_job("flaky", HORA_MINUTES(5));
    struct job_after *after = memory(sizeof *after);
    *after = (struct job_after){.job = text_copy("backup"), .when = AFTER_SUCCESS};
    struct job *hello = add_job("hello", 0);
    hello->after = after;
    hello->after_count = 1;
    struct job *import = add_job("import", HORA_MINUTES(10));
    add_job("nightly", HORA_HOURS(24))->enabled = false;
    (void)add_job("poll", HORA_MINUTES(5));
    struct job *report = add_job("report", HORA_MINUTES(20));
    f->group = (struct job_group){.name = text_copy("db"), .limit = 1};
    f->group_state = (struct group_state){.name = f->group.name, .limit = 1, .running = 1};
    import->group = report->group = &f->group;
    import->overlap = OVERLAP_REPLACE;
    report->overlap = OVERLAP_QUEUE;
    report->overlap_max = 3;
    report->timeout = HORA_MINUTES(30);
    struct job *spread = add_job("spread-out", HORA_HOURS(1));
    spread->spread = HORA_MINUTES(10);
    spread->missed = MISSED_ONCE;
    f->states[0].last_duration = HORA_SECONDS(250);
}

static void add_runs(void)
{
    struct fake *f = &fake;
    struct run *report = &f->runs[0];
    *report = (struct run){.runner = &f->runner,
                           .job = runner_find(&f->runner, "report")->job,
                           .id = text_copy("report@20261117T114000Z"),
                           .attempt = 2,
                           .fence = 13,
                           .planned = at("2026-11-17T11:40:00Z"),
                           .started = at("2026-11-17T11:46:00Z"),
                           .run_state = RUN_RUNNING,
                           .group = &f->group_state,
                           .has_room = true,
                           .process = {.pid = 4711}};
    struct run *import = &f->runs[1];
    *import = (struct run){.runner = &f->runner,
                           .job = runner_find(&f->runner, "import")->job,
                           .id = text_copy("import@20261117T115000Z"),
                           .attempt = 1,
                           .planned = at("2026-11-17T11:50:00Z"),
                           .group = &f->group_state,
                           .run_state = RUN_WAITING};
    f->runner.runs = import;
    import->next = report;
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
                                  .stop_within = HORA_SECONDS(30),
                                  .group_count = 1}};
    f->runner.jobs = f->by_name;
    f->runner.groups = f->groups;
    f->groups[0] = &f->group_state;
    f->runner.log_directory = text_copy("/nonexistent");
    add_jobs();
    add_runs();
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
    struct job *hello = &f->jobs[4];
    free(hello->after->job);
    free(hello->after);
    free(f->log);
    free(f->runs[0].id);
    free(f->runs[1].id);
    free(f->group.name);
    free(f->calendar_names[0]);
    hora_calendar_unref(f->calendars[0]);
    hora_cron_unref(f->triggers[0].cron);
    hora_zone_unref(f->triggers[0].zone);
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
    return json_pack(
        "{s:s, s:s, s:s, s:i, s:o, s:o, s:f, s:I, s:I, s:s?}", "run", run->id, "job", run->job->name, "state",
        run->run_state == RUN_RUNNING ? "running" : "waiting", "attempt", run->attempt, "planned",
        times_to_json(run->planned), "started", times_to_json(run->started), "seconds",
        run->started.ns != 0 ? (double)(loop_wall(run->runner->loop).ns - run->started.ns) / 1e9 : 0.0, "pid",
        (json_int_t)run->process.pid, "fence", (json_int_t)run->fence, "waiting_for",
        run->run_state == RUN_WAITING ? "group db" : NULL);
}

json_t *job_to_json(const struct job *job, bool with_secrets)
{
    return json_pack("{s:s, s:s}", "name", job->name, "environment", with_secrets ? "secret" : "***");
}

int job_describe(const struct job *job, char *text, size_t size)
{
    if (job->trigger_count == 0)
        return snprintf(text, size, "on request");
    if (job->triggers[0].kind == TRIGGER_CRON)
        return snprintf(text, size, "at 03:00, Europe/Paris");
    return snprintf(text, size, "every %lld s", (long long)(job->triggers[0].period / HORA_SECONDS(1)));
}

hora_instant job_next_time(const struct job *job, hora_instant after)
{
    hora_instant next = {JOB_PARKED};
    if (job->trigger_count > 0 && job->triggers[0].kind == TRIGGER_EVERY)
        next.ns = after.ns + job->triggers[0].period -
                  (after.ns - job->triggers[0].from.ns) % job->triggers[0].period;
    else if (job->trigger_count > 0 &&
             hora_cron_next(job->triggers[0].cron, job->triggers[0].zone, after, &next) <= 0)
        next.ns = JOB_PARKED;
    return next;
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

bool fake_runner_is_stopped(void)
{
    return fake.is_stopped;
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

void runner_request_pause(struct runner *runner, const char *job, bool pause, reply_fn reply, void *arg)
{
    (void)runner;
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
    fake.is_stopped = true;
    answer(json_pack("{s:b}", "ok", 1), reply, arg);
}

void runner_request_jobs(struct runner *runner, const char *job, reply_fn reply, void *arg)
{
    (void)runner;
    json_t *all = parse(infos);
    for (size_t i = json_array_size(all); job != NULL && i-- > 0;)
        if (strcmp(json_string_value(json_object_get(json_array_get(all, i), "job")), job) != 0)
            (void)json_array_remove(all, i);
    answer(json_pack("{s:b, s:o}", "ok", 1, "jobs", all), reply, arg);
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
