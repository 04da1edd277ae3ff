/* SPDX-License-Identifier: Apache-2.0 */
/* streams.c - requests that send events: `events`, and `run` with "wait"
 *
 * `events` sends what a follower of the runner receives, until the client ends the stream.
 *
 * `run` with "wait" sends the events of the run it has started, and with "output" its output as well, until
 * the run ends. The run may start before the runner has told its id. So the request follows the job first and
 * keeps the events until the runner has answered. If a run of the job is in progress, the new one follows it and
 * gets its id when it starts. If the same is asked for again before the run starts, by another client or by a job
 * that it runs after, there is one run for both, with the id of the later one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "control/fields.h"
#include "control/requests.h"
#include "control/times.h"
#include "text.h"

enum { EARLY_MOST = 1000 }; /* events that are kept until the id of the run is known */

/* ---- events ---- */

static void send_event(const json_t *event, void *arg)
{
    struct request *request = arg;
    if (json_array_size(request->question.tags) > 0) {
        const struct job_state *state = runner_find(request->runner, field_text(event, "job"));
        if (state == NULL || !request_wants(request, state->job))
            return;
    }
    request_event(request, event);
}

static void stop_events(struct request *request)
{
    follower_remove(request->runner, request->state);
    request_finish(request, json_pack("{s:b}", "ok", 1));
}

void events_request(struct request *request)
{
    const struct question *question = &request->question;
    const struct runner *runner = request->runner;
    if ((question->job != NULL && request_job(request, question->job) == NULL) || !request_has_tags(request))
        return;
    /* The first event tells that the stream has begun. */
    json_t *first = json_pack("{s:s, s:o, s:I, s:s?}", "kind", "connected", "time",
                              times_to_json(loop_wall(runner->loop)), "pid", (json_int_t)getpid(), "node",
                              runner->node_name);
    request->stop = stop_events;
    request->is_endless = true;
    request->state =
        follower_add(request->runner, question->job, question->run, question->output, send_event, request);
    request_event(request, first);
    json_decref(first);
}

/* ---- run ---- */

struct wait {
    struct follower *follower;
    json_t *early;    /* events before the runner has answered */
    json_t *others;   /* ids of the runs that were in hand before */
    char *run;        /* NULL: not known yet */
    bool has_started; /* the run, so that its id does not change any more */
    bool answered;    /* the runner has answered */
    bool stopped;     /* the client wants no more events */
};

/* Ends a request that waits for its run. The reference to the answer is taken. */
static void finish_wait(struct request *request, json_t *reply)
{
    struct wait *wait = request->state;
    follower_remove(request->runner, wait->follower);
    json_decref(wait->early);
    json_decref(wait->others);
    free(wait->run);
    free(wait);
    request_finish(request, reply);
}

/* Makes the last line of the answer from the last event of a run. */
static json_t *end_to_json(const struct wait *wait, const json_t *event)
{
    static const char *const names[] = {"outcome", "text", "attempt", "seconds", "exit", "signal"};
    json_t *reply = json_pack("{s:b, s:s}", "ok", 1, "run", wait->run);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_object_get(event, names[i]) != NULL)
            (void)json_object_set(reply, names[i], json_object_get(event, names[i]));
    return reply;
}

/* Sends an event of the run. Returns true if it was the last one and has ended the request. */
static bool pass_on(struct request *request, const json_t *event)
{
    const struct wait *wait = request->state;
    if (!field_is(event, "run", wait->run))
        return false;
    request_event(request, event);
    if (!event_ends_run(event, wait->run))
        return false;
    finish_wait(request, end_to_json(wait, event));
    return true;
}

/* The id of the run is known: tells it. */
static void set_run(struct request *request, const char *run)
{
    struct wait *wait = request->state;
    text_set(&wait->run, run);
    json_t *first = json_pack("{s:s, s:o, s:s?, s:s}", "kind", "accepted", "time",
                              times_to_json(loop_wall(request->runner->loop)), "job", request->question.job,
                              "run", wait->run);
    request_event(request, first);
    json_decref(first);
}

/* Returns true if an event is the first of a run that can be the one that was asked for. */
static bool is_start(const struct wait *wait, const json_t *event)
{
    const char *run = field_text(event, "run");
    bool begins = field_is(event, "kind", "start") || field_is_true(event, "final"); /* it may be skipped */
    if (wait->has_started || !begins || json_object_get(event, "hook") != NULL)
        return false;
    for (size_t i = 0; i < json_array_size(wait->others); i++)
        if (strcmp(json_string_value(json_array_get(wait->others, i)), run) == 0)
            return false;
    return wait->run == NULL || strcmp(wait->run, run) == 0 || field_is_true(event, "by_hand");
}

/* Finds out the run, and sends the event if it is one of it. Returns true if that has ended the request. */
static bool consider(struct request *request, const json_t *event)
{
    struct wait *wait = request->state;
    if (is_start(wait, event)) {
        wait->has_started = true;
        if (wait->run == NULL || !field_is(event, "run", wait->run))
            set_run(request, field_text(event, "run"));
    }
    return wait->run != NULL && pass_on(request, event);
}

static void run_event(const json_t *event, void *arg)
{
    struct request *request = arg;
    struct wait *wait = request->state;
    if (wait->answered)
        (void)consider(request, event);
    else if (json_array_size(wait->early) < EARLY_MOST)
        (void)json_array_append_new(wait->early, json_deep_copy(event));
}

static void stop_wait(struct request *request)
{
    struct wait *wait = request->state;
    wait->stopped = true;
    if (wait->answered)
        finish_wait(request, json_pack("{s:b, s:s?, s:b}", "ok", 1, "run", wait->run, "stopped", 1));
}

/* The runner has answered a request to run a job. */
static void run_answered(json_t *reply, void *arg)
{
    struct request *request = arg;
    struct wait *wait = request->state;
    wait->answered = true;
    request_report_run(request, reply);
    if (wait->stopped || !field_is_true(reply, "ok")) {
        finish_wait(request, reply);
        return;
    }
    if (*field_text(reply, "run") != '\0')
        set_run(request, field_text(reply, "run"));
    json_decref(reply);
    json_t *early = json_incref(wait->early);
    for (size_t i = 0; i < json_array_size(early); i++)
        if (consider(request, json_array_get(early, i)))
            break;
    json_decref(early);
}

static void run_accepted(json_t *reply, void *arg)
{
    request_report_run(arg, reply);
    request_finish(arg, reply);
}

void run_request(struct request *request)
{
    const char *job = request->question.job;
    if (!request->question.wait) {
        runner_request_run(request->runner, job, run_accepted, request);
        return;
    }
    struct wait *wait = memory(sizeof *wait);
    *wait = (struct wait){.early = json_array(), .others = json_array()};
    for (const struct run *run = request->runner->runs; run != NULL; run = run->next)
        (void)json_array_append_new(wait->others, json_string(run->id));
    request->state = wait;
    request->stop = stop_wait;
    wait->follower = follower_add(request->runner, job, NULL, request->question.output, run_event, request);
    runner_request_run(request->runner, job, run_answered, request);
}
