/* SPDX-License-Identifier: Apache-2.0 */
/* finish.c - the end of a run: its report, what follows it, and its outcome in the store
 *
 * What follows a run (hooks, and jobs that run after it) is put into the store before the run is finished
 * there. If the store cannot be reached, that is tried again until it can, also if the lease is lost meanwhile:
 * as long as no other node has taken the run, its outcome counts. If the runner has to end before, the run counts
 * as interrupted, because a success without what follows it would never be made up. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "runner/internal.h"
#include "text.h"

#define PUT_AGAIN HORA_SECONDS(1)

enum { NOT_FOUND = 127 }; /* the exit status of a shell whose command cannot be started */

/* A run that has ended, on its way to the store. */
struct ending {
    struct run *run;
    enum run_result result;
    int code;
    bool is_final, is_given_up;
    hora_ns pause;  /* before the next attempt, if it is not final */
    json_t *record; /* for hooks; NULL: there are none */
    hora_store *store;
    char *hooks[2]; /* names of the hooks to run */
    int hook_count;
    char **after; /* keys of the jobs to run */
    size_t after_count;
    char *hook_prefix; /* of the keys of hooks */
    int error;
    hora_error reason;
};

/* ---- what follows ---- */

static bool has_command(const struct job_command *command)
{
    return command->shell != NULL || command->argv != NULL;
}

static void add_hook(struct ending *ending, const struct job_command *command, const char *name)
{
    if (has_command(command))
        ending->hooks[ending->hook_count++] = text_copy(name);
}

static bool follows(const struct job *job, const char *name, enum run_result result)
{
    for (size_t i = 0; i < job->after_count; i++)
        if (strcmp(job->after[i].job, name) == 0 &&
            (job->after[i].when == AFTER_ALWAYS ||
             (job->after[i].when == AFTER_SUCCESS) == (result == RESULT_SUCCEEDED)))
            return true;
    return false;
}

/* Finds the jobs that run after this one; those that are not enabled run on request only. */
static void find_followers(struct ending *ending)
{
    struct run *run = ending->run;
    struct runner *runner = run->runner;
    if (run->state == NULL || !run->state->is_followed)
        return;
    ending->after = memory((runner->job_count + 1) * sizeof *ending->after);
    for (size_t i = 0; i < runner->job_count; i++)
        if (runner->jobs[i]->job->enabled && follows(runner->jobs[i]->job, run->job->name, ending->result))
            ending->after[ending->after_count++] = text_copy(runner->jobs[i]->key);
}

static void find_what_follows(struct ending *ending)
{
    struct run *run = ending->run;
    bool ran = ending->result == RESULT_SUCCEEDED || ending->result == RESULT_FAILED;
    if (run->hook != NULL || run->job == NULL || !ending->is_final || !ran)
        return;
    if (ending->result == RESULT_SUCCEEDED)
        add_hook(ending, &run->job->on_success, "on_success");
    else
        add_hook(ending, &run->job->on_failure, "on_failure");
    if (ending->is_given_up)
        add_hook(ending, &run->job->on_give_up, "on_give_up");
    if (ending->hook_count > 0) {
        ending->hook_prefix = text_format("%s!%s+", run->runner->namespace, run->id);
        ending->record = run_record(run, ending->result);
    }
    find_followers(ending);
}

static int put_hook(struct ending *ending, const char *name)
{
    json_t *payload = json_pack("{s:s, s:O}", "hook", name, "record", ending->record);
    char *text = payload == NULL ? NULL : json_dumps(payload, JSON_COMPACT);
    json_decref(payload);
    if (text == NULL)
        return HORA_ENOMEM;
    char *key = text_format("%s%s", ending->hook_prefix, name);
    int error = hora_store_put(ending->store,
                               HORA_DURABLE_TASK(.handler = HANDLER_HOOK, .key = key,
                                                 .if_exists = HORA_IF_EXISTS_KEEP, .payload = text,
                                                 .payload_size = strlen(text), .max_attempts = 3),
                               NULL, &ending->reason);
    free(key);
    free(text);
    return error;
}

/* A thread of the pool: puts what follows. */
static void put_what_follows(void *arg)
{
    struct ending *ending = arg;
    ending->error = 0;
    for (int i = 0; i < ending->hook_count && ending->error >= 0; i++)
        ending->error = put_hook(ending, ending->hooks[i]);
    for (size_t i = 0; i < ending->after_count && ending->error >= 0; i++) {
        int error = hora_store_retime(ending->store, ending->after[i], 0, (hora_instant){1}, &ending->reason);
        ending->error = error == HORA_ENOENT ? 0 : error; /* it was removed meanwhile */
    }
}

/* ---- the store ---- */

static void ending_free(struct ending *ending)
{
    json_decref(ending->record);
    for (int i = 0; i < ending->hook_count; i++)
        free(ending->hooks[i]);
    for (size_t i = 0; i < ending->after_count; i++)
        free(ending->after[i]);
    free(ending->after);
    free(ending->hook_prefix);
    free(ending);
}

/* The last message about a run: see firing.c. */
static void run_free(void *arg)
{
    struct run *run = arg;
    loop_timer_free(&run->timer);
    loop_timer_free(&run->pretended);
    job_set_unref(run->set);
    free(run->id);
    free(run->key);
    free(run->hook);
    free(run->input);
    free(run->start_error);
    free(run->reason);
    free(run);
}

static void set_outcome(struct ending *ending)
{
    const hora_run *store_run = ending->run->store_run;
    json_t *note = run_note(ending->run, ending->result);
    char *text = note == NULL ? NULL : json_dumps(note, JSON_COMPACT);
    json_decref(note);
    if (text != NULL)
        (void)hora_run_set_note(store_run, text, strlen(text));
    free(text);
    if (ending->result == RESULT_SKIPPED)
        (void)hora_run_set_outcome(store_run, HORA_RUN_SKIPPED);
    else if (ending->result == RESULT_STOPPED)
        (void)hora_run_set_outcome(store_run, HORA_RUN_STOPPED);
    else if (ending->code == CODE_NOT_BEGUN)
        (void)hora_run_hand_back(store_run);
    else if (ending->result != RESULT_SUCCEEDED)
        (void)hora_run_set_retry(store_run, ending->is_final ? -1 : ending->pause);
}

/* Everything that follows is in the store: the run ends there, too. */
static void finish_in_store(struct ending *ending)
{
    struct run *run = ending->run;
    struct runner *runner = run->runner;
    set_outcome(ending);
    capture_free(run->capture);
    run->capture = NULL;
    *run->link = run->next;
    if (run->next != NULL)
        run->next->link = run->link;
    if (run->state != NULL)
        run->state->active--;
    runner->last_finish = loop_now(runner->loop);
    int error = hora_run_finish(run->store_run, ending->code);
    assert(error == 0); /* R2 */
    (void)error;
    ending_free(ending);
    loop_post(runner->loop, run_free, run);
    runner_run_ended(runner);
}

static void put_is_done(void *arg);

static void put_again(void *arg)
{
    struct ending *ending = arg;
    loop_ask(ending->run->runner->loop, put_what_follows, put_is_done, ending);
}

static void put_is_done(void *arg)
{
    struct ending *ending = arg;
    struct run *run = ending->run;
    if (ending->error >= 0) {
        finish_in_store(ending);
    } else if (run->gives_up) {
        event_report(run->runner, EVENT_ERROR, "error", run->job->name, json_pack("{s:s}", "run", run->id),
                     "what follows this run could not be stored: %s; it counts as interrupted",
                     ending->reason.message);
        ending->result = RESULT_LOST;
        ending->code = CODE_INTERRUPTED;
        ending->is_final = false;
        ending->pause = 0;
        finish_in_store(ending);
    } else {
        event_report(run->runner, EVENT_WARNING, "store", run->job->name, json_pack("{s:s}", "run", run->id),
                     "what follows this run cannot be stored yet: %s", ending->reason.message);
        loop_timer_free(&run->timer);
        loop_timer_init(&run->timer, run->runner->loop, put_again, ending);
        loop_timer_start(&run->timer, PUT_AGAIN);
    }
}

/* ---- the report ---- */

/* What programs want to know about the end of a run; the text is for people. */
static json_t *end_fields(const struct ending *ending, double seconds)
{
    const struct run *run = ending->run;
    json_t *fields =
        json_pack("{s:s, s:i, s:s, s:f, s:b}", "run", run->id, "attempt", run->attempt, "outcome",
                  run_result_name(ending->result), "seconds", seconds, "final", ending->is_final);
    if (run->started.ns != 0 && run->process_ended)
        json_object_set_new(fields, run->end.exited ? "exit" : "signal", json_integer(run->end.code));
    if (run->hook != NULL)
        json_object_set_new(fields, "hook", json_string(run->hook));
    return fields;
}

static void report_end(const struct ending *ending)
{
    const struct run *run = ending->run;
    struct runner *runner = run->runner;
    const char *job = run->job == NULL ? NULL : run->job->name;
    char how[600];
    (void)run_describe_end(run, ending->result, how, sizeof how);
    double seconds = run->started.ns == 0 ? 0 : (double)(loop_now(runner->loop) - run->started_at) / 1e9;
    json_t *fields = end_fields(ending, seconds);
    switch (ending->result) {
    case RESULT_SUCCEEDED:
        event_report(runner, EVENT_INFO, "end", job, fields, "succeeded after %.3f s", seconds);
        break;
    case RESULT_FAILED:
        if (ending->is_final)
            event_report(runner, EVENT_ERROR, "end", job, fields, "failed after %.3f s: %s", seconds, how);
        else
            event_report(runner, EVENT_WARNING, "retry", job, fields,
                         "failed after %.3f s: %s; attempt %d follows in %.1f s", seconds, how,
                         run->attempt + 1, (double)ending->pause / 1e9);
        break;
    case RESULT_SKIPPED:
        event_report(runner, EVENT_WARNING, "skip", job, fields, "skipped: %s", how);
        break;
    case RESULT_STOPPED:
        event_report(runner, EVENT_WARNING, "end", job, fields, "%s after %.3f s", how, seconds);
        break;
    case RESULT_LOST:
    default:
        if (ending->code == CODE_NOT_BEGUN)
            event_report(runner, EVENT_INFO, "lost", job, fields, "%s before it began: it is handed back",
                         how);
        else
            event_report(runner, EVENT_WARNING, "lost", job, fields, "%s after %.3f s: it will be repeated",
                         how, seconds);
        break;
    }
    if (ending->is_given_up)
        event_report(runner, EVENT_ERROR, "give-up", job, json_pack("{s:s}", "run", run->id),
                     "given up after %lld failed runs in a row; hora resume %s lets it run again",
                     (long long)run->failures_in_a_row + 1, job);
}

static void count_end(const struct ending *ending)
{
    const struct run *run = ending->run;
    struct job_state *state = run->state;
    if (state == NULL || run->hook != NULL)
        return;
    loop_timer_cancel(&state->next_timer); /* of overlap.c */
    if (ending->code == CODE_NOT_BEGUN)
        return; /* it has not ended: it will come again */
    int64_t *const counters[] = {[RESULT_SUCCEEDED] = &state->succeeded,
                                 [RESULT_FAILED] = ending->is_final ? &state->failed : &state->retries,
                                 [RESULT_SKIPPED] = &state->skipped,
                                 [RESULT_STOPPED] = &state->cancelled,
                                 [RESULT_LOST] = &state->lost};
    ++*counters[ending->result];
    if (run->stop == STOP_TIMEOUT)
        state->timeouts++;
    if (run->started.ns == 0)
        return;
    state->has_last = true;
    state->last_end = run->ended;
    state->last_duration = loop_now(run->runner->loop) - run->started_at;
    state->last_code = run->start_error != NULL ? NOT_FOUND
                       : run->end.exited        ? run->end.code
                                                : -run->end.code;
    if (ending->result == RESULT_SUCCEEDED)
        state->last_success = run->ended;
    if (state->log != NULL)
        job_log_flush(state->log);
}

void run_ping(const struct run *run, const char *path, const char *body, size_t size)
{
    char *attempt = text_format("%s#%d", run->id, run->attempt); /* each attempt has a start and an end */
    pinger_send(run->runner->pinger, run->job->ping, path, attempt, body, size);
    free(attempt);
}

static void ping_end(const struct ending *ending)
{
    struct run *run = ending->run;
    if (run->job == NULL || run->job->ping == NULL || run->runner->pinger == NULL || run->hook != NULL ||
        run->started.ns == 0 || ending->result == RESULT_LOST)
        return;
    char path[16] = "/fail";
    if (run->end.exited && ending->result != RESULT_STOPPED && run->stop != STOP_TIMEOUT)
        (void)snprintf(path, sizeof path, "/%d", ending->result == RESULT_SUCCEEDED ? 0 : run->end.code);
    size_t size = 0;
    const char *tail = run->capture == NULL ? NULL : capture_tail(run->capture, &size);
    run_ping(run, path, tail, size);
}

void run_finish(struct run *run, enum run_result result)
{
    struct runner *runner = run->runner;
    assert(!run->finished); /* R2 */
    run->finished = true;
    waiting_remove(run);
    loop_timer_cancel(&run->timer);
    run_close_process(run);
    run_leave_room(run);
    run->ended = loop_wall(runner->loop);
    if (runner->stopping && result == RESULT_LOST)
        runner->handed_back++;
    struct ending *ending = memory(sizeof *ending);
    *ending =
        (struct ending){.run = run, .result = result, .code = run_code(run, result), .store = runner->store};
    ending->is_final = !run_is_retried(run, result, &ending->pause);
    ending->is_given_up = result == RESULT_FAILED && ending->is_final && run->hook == NULL &&
                          run->job->give_up_after > 0 &&
                          run->failures_in_a_row + 1 >= run->job->give_up_after;
    report_end(ending);
    count_end(ending);
    ping_end(ending);
    find_what_follows(ending);
    if (ending->hook_count > 0 || ending->after_count > 0)
        put_again(ending);
    else
        finish_in_store(ending);
    runs_admit(runner);
}
