/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c - metrics, pings and notifications of the runner on a real loop, without the rest of it
 *
 * Reads commands from standard input and writes replies and events to standard output, each a JSON object in a
 * line: see extras.py, which has a function for each command. The first line has the settings. The functions
 * of the runner that report events, and the one that knows schedules, are replaced by those below. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "command.h"
#include "runner/notify.h"
#include "runner/runner.h"

enum { LINE_MAX_SIZE = 200000, JOBS_MAX = 16 };

struct driver {
    struct runner runner;
    json_t *settings;
    hora_virtual_clock *clock; /* NULL: real time */
    char *texts[4 * JOBS_MAX]; /* see copy_of */
    size_t text_count;
    struct job_set set;
    struct jobs jobs;
    struct job_state *states[JOBS_MAX];
    struct job *job_list[JOBS_MAX];
    struct run runs[JOBS_MAX];
    struct group_state group, *groups[1];
    struct watchdog *watchdog;
    struct loop_fd input;
    char line[LINE_MAX_SIZE];
    size_t length;
};

static int64_t next_calls;

static void print(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    printf("%s\n", text);
    (void)fflush(stdout);
    free(text);
    json_decref(object);
}

/* ---- what the driver replaces ---- */

void event_report(struct runner *runner, enum event_level level, const char *kind, const char *job,
                  json_t *fields, const char *format, ...)
{
    char text[1000];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    json_decref(fields);
    runner->events++;
    print(json_pack("{s:s, s:i, s:s?, s:s}", "event", kind, "level", (int)level, "job", job, "text", text));
}

/* A job has a time at each full minute; one with a delay, a minute after `after`. */
hora_instant job_next_time(const struct job *job, hora_instant after)
{
    next_calls++;
    if (strcmp(job->name, "parked") == 0)
        return (hora_instant){JOB_PARKED};
    if (job->trigger_count > 0)
        return (hora_instant){after.ns + HORA_SECONDS(60)};
    return (hora_instant){(after.ns / HORA_SECONDS(60) + 1) * HORA_SECONDS(60)};
}

/* Jobs of the driver have no triggers but delays. */
bool job_has_delay(const struct job *job)
{
    return job->trigger_count > 0;
}

/* ---- commands ---- */

static const char *text_of(const json_t *command, const char *name)
{
    return json_string_value(json_object_get(command, name));
}

static int64_t number_of(const json_t *command, const char *name)
{
    return json_integer_value(json_object_get(command, name));
}

static struct job_state *state_of(struct driver *driver, const json_t *command)
{
    for (size_t i = 0; i < driver->runner.job_count; i++)
        if (strcmp(driver->states[i]->name, text_of(command, "job")) == 0)
            return driver->states[i];
    abort();
}

/* Sets fields of a job. */
static void set_job(struct job_state *state, const json_t *command)
{
    state->succeeded = number_of(command, "succeeded");
    state->failed = number_of(command, "failed");
    state->skipped = number_of(command, "skipped");
    state->cancelled = number_of(command, "cancelled");
    state->lost = number_of(command, "lost");
    state->retries = number_of(command, "retries");
    state->timeouts = number_of(command, "timeouts");
    state->last_start.ns = number_of(command, "last_start");
    state->last_end.ns = number_of(command, "last_end");
    state->last_success.ns = number_of(command, "last_success");
    state->last_duration = number_of(command, "last_duration");
    state->last_code = (int)number_of(command, "last_code");
    state->has_last = state->last_end.ns != 0;
}

/* Gives the job a run in a state. */
static void add_run(struct driver *driver, const json_t *command)
{
    struct run *run = driver->runs;
    while (run->state != NULL)
        run++;
    run->state = state_of(driver, command);
    run->run_state = (enum run_state)number_of(command, "run_state");
    run->next = driver->runner.runs;
    driver->runner.runs = run;
    run->state->active++;
}

static void send_ping(struct driver *driver, const json_t *command)
{
    const char *address = text_of(command, "address");
    for (size_t i = 0; i < driver->jobs.count; i++) /* as the runner does: the pointer of the job */
        if (driver->job_list[i]->ping != NULL && strcmp(driver->job_list[i]->ping, address) == 0)
            address = driver->job_list[i]->ping;
    const json_t *body = json_object_get(command, "body");
    pinger_send(driver->runner.pinger, address, text_of(command, "path"), text_of(command, "rid"),
                json_string_value(body), json_string_length(body));
}

static void notify(struct driver *driver, const char *what)
{
    if (strcmp(what, "ready") == 0)
        notify_ready();
    else if (strcmp(what, "reloading") == 0)
        notify_reloading();
    else if (strcmp(what, "stopping") == 0)
        notify_stopping();
    else if (strcmp(what, "watchdog") == 0)
        driver->watchdog = watchdog_new(driver->runner.loop);
    else
        notify_status("%s", what);
}

static json_t *counts_of(const struct runner *runner)
{
    struct ping_counts counts = pinger_counts(runner->pinger);
    return json_pack("{s:I, s:I, s:I, s:I, s:i}", "delivered", (json_int_t)counts.delivered, "failed",
                     (json_int_t)counts.failed, "dropped", (json_int_t)counts.dropped, "retried",
                     (json_int_t)counts.retried, "pending", counts.pending);
}

static void passed(void *arg)
{
    (void)arg;
    print(json_pack("{s:b}", "reply", 1));
}

static void end(struct driver *driver, hora_ns timeout)
{
    hora_ns start = hora_clock_now(NULL);
    pinger_free(driver->runner.pinger, timeout);
    driver->runner.pinger = NULL;
    hora_ns took = hora_clock_now(NULL) - start;
    metrics_free(driver->runner.metrics);
    watchdog_free(driver->watchdog);
    loop_unwatch(&driver->input);
    loop_stop(driver->runner.loop);
    print(json_pack("{s:I}", "reply", (json_int_t)took));
}

static json_t *obey(struct driver *driver, const char *what, const json_t *command)
{
    struct runner *runner = &driver->runner;
    if (strcmp(what, "text") == 0) {
        char *text = metrics_text(runner);
        json_t *reply = json_string(text);
        free(text);
        return reply;
    }
    if (strcmp(what, "counts") == 0)
        return counts_of(runner);
    if (strcmp(what, "next_calls") == 0)
        return json_integer(next_calls);
    if (strcmp(what, "send") == 0)
        send_ping(driver, command);
    else if (strcmp(what, "started") == 0)
        metrics_started(state_of(driver, command), number_of(command, "lateness"));
    else if (strcmp(what, "job") == 0)
        set_job(state_of(driver, command), command);
    else if (strcmp(what, "run") == 0)
        add_run(driver, command);
    else if (strcmp(what, "store") == 0)
        runner->store_is_connected = json_is_true(json_object_get(command, "connected"));
    else if (strcmp(what, "reload") == 0)
        runner->reloads++;
    else if (strcmp(what, "notify") == 0)
        notify(driver, text_of(command, "what"));
    else
        abort();
    return json_true();
}

static void handle_line(struct driver *driver, const char *line)
{
    json_t *command = json_loads(line, 0, NULL);
    const char *what = text_of(command, "do");
    if (strcmp(what, "pass") == 0)
        (void)loop_pass(driver->runner.loop, number_of(command, "ns"), NULL, passed, NULL);
    else if (strcmp(what, "end") == 0)
        end(driver, number_of(command, "timeout"));
    else
        print(json_pack("{s:o}", "reply", obey(driver, what, command)));
    json_decref(command);
}

static void input_ready(int fd, uint32_t events, void *arg)
{
    (void)events;
    struct driver *driver = arg;
    ssize_t size = read(fd, driver->line + driver->length, LINE_MAX_SIZE - 1 - driver->length);
    if (size <= 0) {
        end(driver, 0);
        return;
    }
    driver->length += (size_t)size;
    driver->line[driver->length] = '\0';
    for (char *line_end; (line_end = strchr(driver->line, '\n')) != NULL;) {
        *line_end = '\0';
        handle_line(driver, driver->line);
        driver->length -= (size_t)(line_end + 1 - driver->line);
        memmove(driver->line, line_end + 1, driver->length + 1);
    }
}

/* ---- the settings ---- */

/* Returns a copy of a text, which lives as long as the driver. */
static char *copy_of(struct driver *driver, const char *text)
{
    char *copy = text == NULL ? NULL : strdup(text);
    driver->texts[driver->text_count++] = copy;
    return copy;
}

static void add_job(struct driver *driver, const json_t *settings)
{
    static struct job_trigger delay = {.kind = TRIGGER_DELAY, .period = HORA_SECONDS(60)};
    struct job *job = memory(sizeof *job);
    struct job_state *state = memory(sizeof *state);
    memset(job, 0, sizeof *job);
    memset(state, 0, sizeof *state);
    job->name = copy_of(driver, text_of(settings, "name"));
    job->ping = copy_of(driver, text_of(settings, "ping"));
    job->enabled = !json_is_true(json_object_get(settings, "disabled"));
    if (json_is_true(json_object_get(settings, "delay"))) {
        job->triggers = &delay;
        job->trigger_count = 1;
    }
    state->runner = &driver->runner;
    state->name = job->name;
    state->job = job;
    driver->job_list[driver->jobs.count++] = job;
    driver->states[driver->runner.job_count++] = state;
}

static void set_up(struct driver *driver, const json_t *settings)
{
    struct runner *runner = &driver->runner;
    if (json_is_true(json_object_get(settings, "virtual")) &&
        hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.wall = {HORA_SECONDS(1800000030)}), &driver->clock,
                               NULL) < 0)
        abort();
    runner->loop = loop_new(driver->clock);
    runner->jobs = driver->states;
    runner->node_name = copy_of(driver, text_of(settings, "node"));
    runner->started = (hora_instant){1800000000500000000};
    runner->store_is_connected = true;
    runner->max_running = 1000;
    runner->set = &driver->set;
    driver->set.jobs = &driver->jobs;
    driver->jobs.jobs = driver->job_list;
    driver->group = (struct group_state){.name = "disk", .limit = 3, .running = 2};
    driver->groups[0] = &driver->group;
    runner->groups = driver->groups;
    runner->group_count = 1;
    size_t index;
    json_t *job;
    json_array_foreach(json_object_get(settings, "jobs"), index, job) add_job(driver, job);
}

/* Starts what the settings ask for. Returns false after an error. */
static bool start(struct driver *driver, const json_t *settings)
{
    char reason[500];
    const struct job_settings job_settings = {
        .metrics_file = copy_of(driver, text_of(settings, "metrics_file")),
        .metrics_listen = copy_of(driver, text_of(settings, "metrics_listen")),
        .metrics_every = number_of(settings, "metrics_every"),
    };
    if (!pinger_accepts(&driver->jobs, reason, sizeof reason)) {
        event_report(&driver->runner, EVENT_ERROR, "error", NULL, NULL, "%s", reason);
        return false;
    }
    driver->runner.pinger = pinger_new(&driver->runner);
    driver->runner.metrics = metrics_new(&driver->runner, &job_settings);
    return driver->runner.metrics != NULL;
}

static void tear_down(struct driver *driver)
{
    hora_virtual_clock_free(driver->clock);
    json_decref(driver->settings);
    for (size_t i = 0; i < driver->text_count; i++)
        free(driver->texts[i]);
    for (size_t i = 0; i < driver->jobs.count; i++) {
        free(driver->states[i]);
        free(driver->job_list[i]);
    }
}

int main(void)
{
    static struct driver driver;
    (void)signal(SIGPIPE, SIG_IGN);
    char *line = NULL;
    size_t size = 0;
    setvbuf(stdin, NULL, _IONBF, 0);
    if (getline(&line, &size, stdin) < 0)
        return 2;
    driver.settings = json_loads(line, 0, NULL);
    set_up(&driver, driver.settings);
    if (!start(&driver, driver.settings))
        return 1;
    if (loop_watch(driver.runner.loop, &driver.input, STDIN_FILENO, EPOLLIN, input_ready, &driver) < 0)
        return 2;
    print(json_pack("{s:b}", "reply", 1));
    loop_run(driver.runner.loop);
    loop_free(driver.runner.loop);
    free(line);
    tear_down(&driver);
    return 0;
}
