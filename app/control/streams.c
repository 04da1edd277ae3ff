/* SPDX-License-Identifier: Apache-2.0 */
/* streams.c - requests that send events: `events`, and `run` with "wait"
 *
 * `events` sends what a follower of the runner receives, until the client ends the stream.
 *
 * `run` with "wait" sends the events of the run it has started, and with "output" its output as well, until
 * the run ends. The run may start before the runner has told its id. So the request follows the job first and
 * keeps the events until the id is known. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "control/fields.h"
#include "control/requests.h"
#include "control/times.h"

enum { EARLY_MOST = 1000 }; /* events that are kept until the id of the run is known */

/* ---- events ---- */

static void send_event(const json_t *event, void *arg)
{
    request_event(arg, event);
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
    if (question->job != NULL && request_job(request, question->job) == NULL)
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
    json_t *early; /* events before the id was known */
    char *run;     /* NULL: not known yet */
    bool answered; /* the runner has answered */
    bool stopped;  /* the client wants no more events */
};

/* Ends a request that waits for its run. The reference to the answer is taken. */
static void finish_wait(struct request *request, json_t *reply)
{
    struct wait *wait = request->state;
    follower_remove(request->runner, wait->follower);
    json_decref(wait->early);
    free(wait->run);
    free(wait);
    request_finish(request, reply);
}

/* Sends an event of the run. Returns true if it was the last one and has ended the request. */
static bool pass_on(struct request *request, const json_t *event)
{
    const struct wait *wait = request->state;
    const char *run = json_string_value(json_object_get(event, "run"));
    if (run == NULL || strcmp(run, wait->run) != 0)
        return false;
    request_event(request, event);
    if (!event_ends_run(event, wait->run))
        return false;
    json_t *reply = json_pack("{s:b, s:s}", "ok", 1, "run", wait->run);
    static const char *const names[] = {"kind", "outcome", "exit", "signal", "attempt", "text"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get(event, names[i]);
        if (value != NULL)
            (void)json_object_set(reply, names[i], value);
    }
    finish_wait(request, reply);
    return true;
}

static void run_event(const json_t *event, void *arg)
{
    struct request *request = arg;
    struct wait *wait = request->state;
    if (wait->run != NULL)
        (void)pass_on(request, event);
    else if (json_array_size(wait->early) < EARLY_MOST)
        (void)json_array_append_new(wait->early, json_deep_copy(event));
}

static void stop_wait(struct request *request)
{
    struct wait *wait = request->state;
    wait->stopped = true;
    if (wait->answered)
        finish_wait(request, json_pack("{s:b, s:s, s:b}", "ok", 1, "run", wait->run, "stopped", 1));
}

/* The runner has answered a request to run a job. */
static void run_answered(json_t *reply, void *arg)
{
    struct request *request = arg;
    struct wait *wait = request->state;
    const char *run = json_string_value(json_object_get(reply, "run"));
    wait->answered = true;
    if (wait->stopped || run == NULL || !field_is_true(reply, "ok")) {
        finish_wait(request, reply);
        return;
    }
    size_t size = strlen(run) + 1;
    wait->run = memcpy(memory(size), run, size);
    json_decref(reply);
    json_t *first = json_pack("{s:s, s:o, s:s?, s:s}", "kind", "accepted", "time",
                              times_to_json(loop_wall(request->runner->loop)), "job", request->question.job,
                              "run", wait->run);
    request_event(request, first);
    json_decref(first);
    json_t *early = wait->early;
    wait->early = NULL;
    size_t i;
    json_t *event;
    json_array_foreach(early, i, event) if (pass_on(request, event)) break;
    json_decref(early);
}

static void run_accepted(json_t *reply, void *arg)
{
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
    *wait = (struct wait){.early = json_array()};
    request->state = wait;
    request->stop = stop_wait;
    wait->follower = follower_add(request->runner, job, NULL, request->question.output, run_event, request);
    runner_request_run(request->runner, job, run_answered, request);
}
