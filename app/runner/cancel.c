/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c - the request `cancel`: end a run that is in hand, or one that waits between two attempts
 *
 * A run in hand is told to end (run_stop). A run between two attempts is known only to the store, which ends
 * it (hora_store_stop), so any runner of the store can cancel it. A thread of the pool finds the run, the loop
 * finds the next time of its job, because only the loop may look at jobs, and a thread of the pool ends it.
 *
 * A node takes a firing up to a second before it is due. The store cannot end it then. If this node has taken
 * it, the runner remembers its id and ends it when it arrives, before its process is started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "runner/internal.h"
#include "text.h"

enum { MOST_TRIES = 3 };

/* A run that was cancelled and has not arrived yet. */
struct awaited {
    struct awaited *next;
    char *id;
};

/* A request that no run in hand matches. */
struct cancel {
    struct runner *runner;
    reply_fn reply;
    void *arg;
    char *wanted; /* an id, the beginning of one, or the name of a job */
    hora_instant now;
    int tries;

    /* The run that matches. */
    char *id, *other; /* NULL: none; `other` is a second one */
    char *job;
    int64_t task_id, fence, node;
    hora_instant planned, next;
    int attempts;  /* that have ended */
    bool is_taken; /* by `node`, and about to start */
    char *text;    /* how it ends */
    char *note;

    int result; /* of the store */
    hora_error reason;
};

static void refuse(reply_fn reply, void *arg, const char *text)
{
    reply(json_pack("{s:b, s:s}", "ok", 0, "error", text), arg);
}

static void refuse_several(reply_fn reply, void *arg, const char *one, const char *other, const char *wanted)
{
    char text[600];
    (void)snprintf(text, sizeof text, "%s and %s both match %s", one, other, wanted);
    text_make_utf8(text);
    refuse(reply, arg, text);
}

static void cancel_free(struct cancel *cancel)
{
    free(cancel->wanted);
    free(cancel->id);
    free(cancel->other);
    free(cancel->job);
    free(cancel->text);
    free(cancel->note);
    free(cancel);
}

/* ---- between two attempts ---- */

char *stopped_note(const struct runner *runner, const char *reason)
{
    json_t *note = json_pack("{s:s, s:s}", "reason", reason, "host", runner->node_name);
    char *text = note == NULL ? NULL : json_dumps(note, JSON_COMPACT);
    json_decref(note);
    return text;
}

void stopped_report(struct runner *runner, const char *job, hora_instant planned, int attempts,
                    const char *reason)
{
    char *id = run_id(job, planned);
    struct job_state *state = runner_find(runner, job);
    if (state != NULL)
        state->cancelled++;
    event_report(runner, EVENT_WARNING, "end", job,
                 json_pack("{s:s, s:i, s:s, s:f, s:b}", "run", id, "attempt", attempts, "outcome",
                           run_result_name(RESULT_STOPPED), "seconds", 0.0, "final", 1),
                 "%s", reason);
    free(id);
}

int attempts_ended(const hora_durable_info *info, hora_instant now)
{
    bool is_claimed = info->state == HORA_DURABLE_CLAIMED;
    if (info->state == HORA_DURABLE_DEAD || (is_claimed && info->due.ns <= now.ns))
        return 0;
    return info->attempts - is_claimed;
}

/* ---- the store ---- */

/* Remembers the run that a task shows, whose id and job become those of the request. */
static void keep_run(struct cancel *cancel, const hora_durable_info *info, char *id, char *job)
{
    free(cancel->id);
    free(cancel->job);
    cancel->id = id;
    cancel->job = job;
    cancel->task_id = info->id;
    cancel->fence = info->fence;
    cancel->node = info->node;
    cancel->planned = info->planned;
    cancel->attempts = attempts_ended(info, cancel->now);
    cancel->is_taken = info->state == HORA_DURABLE_CLAIMED;
}

/* Receives a task. Returns 1 if it has the id that is wanted. */
static int find_run(const hora_durable_info *info, void *arg)
{
    struct cancel *cancel = arg;
    char *job = attempts_ended(info, cancel->now) > 0 ? job_of_task(cancel->runner, info) : NULL;
    if (job == NULL)
        return 0;
    char *id = run_id(job, info->planned);
    bool is_exact = strcmp(id, cancel->wanted) == 0;
    bool matches =
        strcmp(job, cancel->wanted) == 0 || strncmp(id, cancel->wanted, strlen(cancel->wanted)) == 0;
    if (is_exact)
        text_set(&cancel->other, NULL);
    if (is_exact || (matches && cancel->id == NULL)) {
        keep_run(cancel, info, id, job);
        return is_exact;
    }
    if (matches)
        text_set(&cancel->other, id);
    free(id);
    free(job);
    return 0;
}

/* A thread of the pool. */
static void look_for_run(void *arg)
{
    struct cancel *cancel = arg;
    text_set(&cancel->id, NULL);
    text_set(&cancel->other, NULL);
    cancel->result = hora_store_list(cancel->runner->store, HORA_DURABLE_FILTER(.handler = HANDLER_JOB),
                                     find_run, cancel, &cancel->reason);
}

/* A thread of the pool. */
static void stop_firing(void *arg)
{
    struct cancel *cancel = arg;
    cancel->result =
        hora_store_stop(cancel->runner->store, cancel->task_id, cancel->fence, cancel->next, CODE_CANCELLED,
                        cancel->note, cancel->note == NULL ? 0 : strlen(cancel->note), &cancel->reason);
}

/* ---- the loop ---- */

static void look(struct cancel *cancel);

static void report_request(struct runner *runner, const char *job, const char *id)
{
    event_report(runner, EVENT_INFO, "cancel", job, json_pack("{s:s}", "run", id), "a cancel was asked for");
}

static void reply_done(struct cancel *cancel)
{
    cancel->reply(json_pack("{s:b, s:s, s:s}", "ok", 1, "run", cancel->id, "was", "between attempts"),
                  cancel->arg);
    cancel_free(cancel);
}

/* The store has answered: it has ended the firing, or that does not wait any more, and may be in hand. */
static void firing_stopped(void *arg)
{
    struct cancel *cancel = arg;
    if (cancel->result == 0 && ++cancel->tries < MOST_TRIES) {
        look(cancel);
        return;
    }
    if (cancel->result <= 0) {
        refuse(cancel->reply, cancel->arg,
               cancel->result < 0 ? cancel->reason.message : "the run is starting; try again");
        cancel_free(cancel);
        return;
    }
    report_request(cancel->runner, cancel->job, cancel->id);
    stopped_report(cancel->runner, cancel->job, cancel->planned, cancel->attempts, cancel->text);
    reply_done(cancel);
}

/* A delay counts from the end of a run, so from now. Times that have passed since the planned one count as
 * missed. */
static hora_instant time_after(const struct cancel *cancel, const struct job *job)
{
    hora_instant after = job_has_delay(job) ? cancel->now : cancel->planned;
    return job->enabled ? job_next_time(job, after) : (hora_instant){JOB_PARKED};
}

/* Remembers a run that arrives in a moment. */
static void await_run(struct cancel *cancel)
{
    struct runner *runner = cancel->runner;
    hora_durable_status status = HORA_INIT(hora_durable_status);
    if (hora_durable_get_status(runner->durable, &status) < 0 || status.node != cancel->node) {
        char text[300];
        (void)snprintf(text, sizeof text, "run %s is about to start on another node", cancel->id);
        refuse(cancel->reply, cancel->arg, text);
        cancel_free(cancel);
        return;
    }
    struct awaited *awaited = memory(sizeof *awaited);
    *awaited = (struct awaited){.next = runner->awaited, .id = text_copy(cancel->id)};
    runner->awaited = awaited;
    report_request(runner, cancel->job, cancel->id);
    reply_done(cancel);
}

/* No run matches, or several do. */
static void refuse_unclear(struct cancel *cancel)
{
    char text[600];
    if (cancel->result < 0)
        (void)snprintf(text, sizeof text, "the store: %s", cancel->reason.message);
    else
        (void)snprintf(text, sizeof text, "there is no run %s in progress on this node", cancel->wanted);
    text_make_utf8(text);
    if (cancel->result >= 0 && cancel->other != NULL)
        refuse_several(cancel->reply, cancel->arg, cancel->id, cancel->other, cancel->wanted);
    else
        refuse(cancel->reply, cancel->arg, text);
    cancel_free(cancel);
}

static void run_found(void *arg)
{
    struct cancel *cancel = arg;
    struct job_state *state = cancel->id == NULL ? NULL : runner_find(cancel->runner, cancel->job);
    if (cancel->result < 0 || state == NULL || cancel->other != NULL) {
        refuse_unclear(cancel);
        return;
    }
    if (cancel->is_taken) {
        await_run(cancel);
        return;
    }
    free(cancel->text);
    free(cancel->note);
    cancel->text = text_format("cancelled before attempt %d", cancel->attempts + 1);
    cancel->note = stopped_note(cancel->runner, cancel->text);
    cancel->next = time_after(cancel, state->job);
    loop_ask(cancel->runner->loop, stop_firing, firing_stopped, cancel);
}

/* Cancels a run in hand, or refuses that if several match. Returns false if none matches. */
static bool cancel_in_hand(struct runner *runner, const char *wanted, reply_fn reply, void *arg)
{
    const struct run *several[2];
    struct run *run = runner_find_run(runner, wanted, several);
    if (several[0] != NULL)
        refuse_several(reply, arg, several[0]->id, several[1]->id, wanted);
    if (run == NULL)
        return several[0] != NULL;
    json_t *answer =
        json_pack("{s:b, s:s, s:s}", "ok", 1, "run", run->id, "was", run_state_name(run->run_state));
    report_request(runner, run->job->name, run->id);
    run_stop(run, STOP_CANCELLED);
    reply(answer, arg);
    return true;
}

static void look(struct cancel *cancel)
{
    if (cancel_in_hand(cancel->runner, cancel->wanted, cancel->reply, cancel->arg)) {
        cancel_free(cancel);
        return;
    }
    cancel->now = loop_wall(cancel->runner->loop);
    loop_ask(cancel->runner->loop, look_for_run, run_found, cancel);
}

void runner_request_cancel(struct runner *runner, const char *id, reply_fn reply, void *arg)
{
    struct cancel *cancel = memory(sizeof *cancel);
    *cancel = (struct cancel){.runner = runner, .reply = reply, .arg = arg, .wanted = text_copy(id)};
    look(cancel);
}

/* ---- runs that were cancelled before they arrived ---- */

static void awaited_remove(struct awaited **place)
{
    struct awaited *awaited = *place;
    *place = awaited->next;
    free(awaited->id);
    free(awaited);
}

bool cancel_awaits(const struct run *run)
{
    struct awaited **place = &run->runner->awaited;
    while (*place != NULL && strcmp((*place)->id, run->id) != 0)
        place = &(*place)->next;
    if (*place == NULL)
        return false;
    awaited_remove(place);
    return true;
}

void cancel_free_awaited(struct runner *runner)
{
    while (runner->awaited != NULL)
        awaited_remove(&runner->awaited);
}
