/* SPDX-License-Identifier: Apache-2.0 */
/* streams.c - requests that send events: `events`, and `run` with "wait"
 *
 * `events` sends what a follower of the runner receives, until the client ends the stream.
 *
 * `run` with "wait" sends the events of the run it has started, and with "output" its output as well, until
 * the run ends. The run may start before the runner has told its id. So the request follows the job first and
 * keeps the events until the id is known. If a run of the job is in progress, the new one follows it and
 * gets its id when it starts. */
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
    json_t *early;  /* events before the id was known; NULL: it is known */
    json_t *others; /* ids of the runs of the job that were in hand when a further one was asked for */
    char *run;      /* NULL: not known yet */
    bool answered;  /* the runner has answered */
    bool stopped;   /* the client wants no more events */
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
static json_t *end_to_json(const struct request *request, const json_t *event)
{
    const struct wait *wait = request->state;
    const struct run *run = request->runner->runs; /* the run is in hand until its end has been reported */
    bool is_good = field_is(event, "level", "info");
    const char *outcome = field_is(event, "kind", "end")      ? (is_good ? "succeeded" : "failed")
                          : field_is(event, "kind", "skip")   ? "skipped"
                          : field_is(event, "kind", "cancel") ? "cancelled"
                                                              : "lost";
    json_t *reply =
        json_pack("{s:b, s:s, s:s, s:s, s:I}", "ok", 1, "run", wait->run, "outcome", outcome, "text",
                  field_text(event, "text"), "attempt", (json_int_t)field_count(event, "attempt"));
    while (run != NULL && strcmp(run->id, wait->run) != 0)
        run = run->next;
    if (run != NULL && run->process_ended && !run->is_guard)
        (void)json_object_set_new(reply, run->end.exited ? "exit" : "signal", json_integer(run->end.code));
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
    finish_wait(request, end_to_json(request, event));
    return true;
}

/* The id of the run is known: tells it, and sends the events that came before. */
static void run_is_known(struct request *request, const char *run)
{
    struct wait *wait = request->state;
    wait->run = text_copy(run);
    json_t *first = json_pack("{s:s, s:o, s:s?, s:s}", "kind", "accepted", "time",
                              times_to_json(loop_wall(request->runner->loop)), "job", request->question.job,
                              "run", wait->run);
    request_event(request, first);
    json_decref(first);
    json_t *early = wait->early;
    wait->early = NULL;
    for (size_t i = 0; i < json_array_size(early); i++)
        if (pass_on(request, json_array_get(early, i)))
            break;
    json_decref(early);
}

/* Returns true if a run was in hand when a further one was asked for. */
static bool is_other(const struct wait *wait, const char *run)
{
    for (size_t i = 0; i < json_array_size(wait->others); i++)
        if (strcmp(json_string_value(json_array_get(wait->others, i)), run) == 0)
            return true;
    return false;
}

static void run_event(const json_t *event, void *arg)
{
    struct request *request = arg;
    struct wait *wait = request->state;
    const char *run = field_text(event, "run");
    if (wait->run == NULL && wait->others != NULL && field_is(event, "kind", "start") && !is_other(wait, run))
        run_is_known(request, run); /* the one that follows the run in progress */
    if (wait->run != NULL)
        (void)pass_on(request, event);
    else if (wait->others == NULL && json_array_size(wait->early) < EARLY_MOST)
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
    if (wait->stopped || !field_is_true(reply, "ok")) {
        finish_wait(request, reply);
        return;
    }
    if (*field_text(reply, "run") != '\0') {
        run_is_known(request, field_text(reply, "run"));
    } else { /* it follows the one in progress, and has no id yet */
        wait->others = json_array();
        for (const struct run *run = request->runner->runs; run != NULL; run = run->next)
            (void)json_array_append_new(wait->others, json_string(run->id));
    }
    json_decref(reply);
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
