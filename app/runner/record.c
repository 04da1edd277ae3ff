/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - what is known about a run when it has ended: its outcome, its record, and whether it is tried again
 *
 * A record has two parts. The store knows job, times, attempt, fence and code. The note, a JSON object that the
 * store keeps without looking at it, has the rest: how the process ended, what it used, and the end of its
 * output. */
#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "command.h"
#include "runner/internal.h"
#include "text.h"

enum { MAX_NOTE = 60000 }; /* the store allows 64 KB */

/* The planned time in UTC without punctuation, so that an id can be a file name and is easy to type. */
char *run_id(const char *job, hora_instant planned)
{
    char time[HORA_INSTANT_TEXT], compact[HORA_INSTANT_TEXT];
    (void)hora_instant_format(planned, NULL, false, time, sizeof time);
    size_t length = 0;
    for (const char *at = time; *at != '\0'; at++)
        if (*at != '-' && *at != ':')
            compact[length++] = *at;
    compact[length] = '\0';
    return text_format("%s@%s", job, compact);
}

/* ---- results ---- */

/* The end of the runner interrupted it: as on_crash says. */
static enum run_result result_of_shutdown(const struct run *run)
{
    if (run->started.ns == 0 || run->job->on_crash == CRASH_RERUN)
        return RESULT_LOST;
    return run->job->on_crash == CRASH_SKIP ? RESULT_STOPPED : RESULT_FAILED;
}

/* The exit statuses that count as success are those of the command, not of hooks. */
static bool has_succeeded(const struct run *run)
{
    if (run->started.ns == 0 || !run->process_ended || !run->end.exited)
        return false;
    return run->hook != NULL ? run->end.code == 0 : run->job->ok_codes[run->end.code & 255];
}

enum run_result run_result_of(const struct run *run)
{
    bool succeeded = has_succeeded(run);
    switch (run->stop) {
    case STOP_TIMEOUT:
        return RESULT_FAILED;
    case STOP_CANCELLED:
    case STOP_REPLACED:
        return RESULT_STOPPED;
    case STOP_LOST:
        return RESULT_LOST;
    case STOP_SHUTDOWN: /* it may have succeeded in time */
        return succeeded ? RESULT_SUCCEEDED : result_of_shutdown(run);
    case STOP_NOT:
    default:
        return succeeded ? RESULT_SUCCEEDED : RESULT_FAILED;
    }
}

const char *run_result_name(enum run_result result)
{
    static const char *const names[] = {"succeeded", "failed", "skipped", "stopped", "lost"};
    return names[result];
}

static int code_of_failure(const struct run *run)
{
    if (run->stop == STOP_TIMEOUT)
        return CODE_TIMEOUT;
    if (run->stop == STOP_SHUTDOWN)
        return CODE_CRASHED;
    if (!run->process_ended)
        return run->start_error != NULL ? CODE_NOT_STARTED : CODE_CRASHED;
    if (run->end.exited)
        return run->end.code != 0 ? run->end.code : CODE_NOT_OK;
    return CODE_SIGNAL + run->end.code;
}

bool code_is_of_end(int code)
{
    return code == CODE_INTERRUPTED;
}

void code_describe(int code, char *text, size_t size)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {
        {CODE_TIMEOUT, "timeout"},     {CODE_NOT_STARTED, "not started"}, {CODE_INTERRUPTED, "interrupted"},
        {CODE_CRASHED, "interrupted"}, {CODE_SKIPPED, "skipped"},         {CODE_CANCELLED, "cancelled"},
        {CODE_NOT_OK, "exit 0"}};
    if (code == 0)
        (void)snprintf(text, size, "ok");
    else if (code < CODE_SIGNAL)
        (void)snprintf(text, size, "exit %d", code);
    else if (code < CODE_TIMEOUT)
        (void)snprintf(text, size, "signal %d", code - CODE_SIGNAL);
    else
        (void)snprintf(text, size, "unknown");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == code)
            (void)snprintf(text, size, "%s", names[i].name);
}

int run_code(const struct run *run, enum run_result result)
{
    switch (result) {
    case RESULT_SUCCEEDED:
        return 0;
    case RESULT_SKIPPED:
        return CODE_SKIPPED;
    case RESULT_STOPPED:
        return CODE_CANCELLED;
    case RESULT_LOST:
        return run->started.ns == 0 ? CODE_NOT_BEGUN : CODE_INTERRUPTED;
    case RESULT_FAILED:
    default:
        return code_of_failure(run);
    }
}

static int describe_failure(const struct run *run, char *text, size_t size)
{
    if (run->reason != NULL)
        return snprintf(text, size, "%s", run->reason);
    if (run->stop == STOP_TIMEOUT && run->job != NULL)
        return snprintf(text, size, "it took longer than its timeout of %.1f s",
                        (double)run->job->timeout / 1e9);
    if (run->stop == STOP_SHUTDOWN)
        return snprintf(text, size, "the runner was stopped");
    if (!run->process_ended)
        return snprintf(text, size, "%s", run->start_error != NULL ? run->start_error : "it did not start");
    if (run->end.exited)
        return snprintf(text, size, "exit status %d", run->end.code);
    return snprintf(text, size, "signal %d (%s)%s", run->end.code, strsignal(run->end.code),
                    run->end.dumped_core ? ", core dumped" : "");
}

int run_describe_end(const struct run *run, enum run_result result, char *text, size_t size)
{
    switch (result) {
    case RESULT_SUCCEEDED:
        return snprintf(text, size, "succeeded");
    case RESULT_SKIPPED:
        return snprintf(text, size, "%s", run->reason != NULL ? run->reason : "");
    case RESULT_STOPPED:
        return snprintf(text, size, "%s",
                        run->stop == STOP_REPLACED   ? "replaced by the next run"
                        : run->stop == STOP_SHUTDOWN ? "stopped with the runner"
                                                     : "cancelled");
    case RESULT_LOST:
        return snprintf(text, size, "%s",
                        run->stop == STOP_LOST ? "the lease of this node was lost"
                                               : "stopped with the runner");
    case RESULT_FAILED:
    default:
        return describe_failure(run, text, size);
    }
}

/* ---- another attempt ---- */

static bool is_worth_it(const struct run *run)
{
    const struct job_retry *retry = &run->job->retry;
    if (run->stop == STOP_TIMEOUT)
        return retry->timeouts;
    if (!run->process_ended)
        return run->start_error != NULL && retry->codes[127];
    return run->end.exited ? retry->codes[run->end.code & 255] : retry->signals;
}

static hora_ns pause_before(const struct job_retry *retry, int attempt)
{
    double pause = (double)retry->delay;
    if (retry->back_off == BACK_OFF_LINEAR)
        pause *= attempt;
    for (int i = 1; retry->back_off == BACK_OFF_EXPONENTIAL && i < attempt && pause < (double)retry->max; i++)
        pause *= 2;
    if (pause > (double)retry->max)
        pause = (double)retry->max;
    uint32_t bits = 0;
    if (retry->jitter > 0 && getrandom(&bits, sizeof bits, 0) == sizeof bits)
        pause *= 1 - retry->jitter * (bits / 4294967296.0);
    return (hora_ns)pause;
}

bool run_is_retried(const struct run *run, enum run_result result, hora_ns *ret_pause)
{
    *ret_pause = 0;
    if (result == RESULT_LOST)
        return true;
    if (run->hook != NULL) {
        *ret_pause = HORA_SECONDS(10) * run->attempt;
        return result == RESULT_FAILED && run->attempt < 3;
    }
    const struct job_retry *retry = run->job == NULL ? NULL : &run->job->retry;
    if (retry == NULL || result != RESULT_FAILED || run->failed_attempts >= retry->count || !is_worth_it(run))
        return false;
    if (run->state == NULL || run->state->hash != run->hash)
        return false; /* the job is gone, or another one has taken its place in the store */
    *ret_pause = pause_before(retry, run->failed_attempts + 1);
    hora_instant again = {run->ended.ns + *ret_pause};
    return retry->past_next || again.ns < job_next_time(run->job, run->planned).ns;
}

/* ---- records ---- */

static void add_process(json_t *note, const struct run *run)
{
    if (!run->process_ended)
        return;
    if (run->end.exited)
        json_object_set_new(note, "exit", json_integer(run->end.code));
    else
        json_object_set_new(note, "signal", json_integer(run->end.code));
    json_object_set_new(note, "pid", json_integer(run->process.pid));
    json_object_set_new(note, "user_seconds", json_real((double)run->end.user_time / 1e9));
    json_object_set_new(note, "system_seconds", json_real((double)run->end.system_time / 1e9));
    json_object_set_new(note, "max_memory", json_integer(run->end.max_memory));
}

/* Adds the tail of the output, less of it if the note would become too large. */
static void add_output(json_t *note, const struct run *run)
{
    if (run->capture == NULL)
        return;
    json_object_set_new(note, "output_bytes", json_integer(capture_bytes(run->capture)));
    json_object_set_new(note, "output_lines", json_integer(capture_lines(run->capture)));
    size_t size;
    const char *tail = capture_tail(run->capture, &size);
    while (size > 0) {
        json_object_set_new(note, "tail", json_stringn(tail, size));
        if (json_dumpb(note, NULL, 0, JSON_COMPACT) <= MAX_NOTE)
            return;
        size_t less = size / 2; /* keeps the end, from the start of a line */
        const char *line = memchr(tail + less, '\n', size - less);
        size_t cut = line == NULL ? size : (size_t)(line + 1 - tail);
        tail += cut;
        size -= cut;
    }
    json_object_del(note, "tail");
}

json_t *run_note(const struct run *run, enum run_result result)
{
    json_t *note = json_object();
    char reason[600];
    (void)run_describe_end(run, result, reason, sizeof reason);
    text_make_utf8(reason);
    if (result != RESULT_SUCCEEDED)
        json_object_set_new(note, "reason", json_string(reason));
    if (run->stop == STOP_TIMEOUT)
        json_object_set_new(note, "timeout", json_true());
    if (run->by_hand)
        json_object_set_new(note, "by_hand", json_true());
    if (run->skipped_during > 0)
        json_object_set_new(note, "skipped_during", json_integer(run->skipped_during));
    json_object_set_new(note, "host", json_string(run->runner->node_name));
    add_process(note, run);
    add_output(note, run);
    return note;
}

json_t *run_record(const struct run *run, enum run_result result)
{
    const char *job = run->job == NULL ? job_of_key(run->runner, run->key) : run->job->name;
    double seconds = run->started.ns == 0 ? 0 : (double)(run->ended.ns - run->started.ns) / 1e9;
    return json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:f, s:i, s:I, s:o}", "job", job, "run", run->id,
                     "outcome", run_result_name(result), "code", run_code(run, result), "planned",
                     json_instant(run->planned), "started", json_instant(run->started), "ended",
                     json_instant(run->ended), "seconds", seconds, "attempt", run->attempt, "fence",
                     (json_int_t)run->fence, "note", run_note(run, result));
}

static json_t *waiting_for(const struct run *run)
{
    const struct runner *runner = run->runner;
    if (run->run_state == RUN_DELAYED)
        return json_string("its random delay");
    if (run->run_state != RUN_WAITING)
        return json_null();
    if (run->group != NULL && run->group->running >= run->group->limit)
        return json_sprintf("group %s, which is at its limit of %d", run->group->name, run->group->limit);
    if (runner->running >= runner->max_running)
        return json_sprintf("the node, which is at its limit of %d runs", runner->max_running);
    return json_string("the store");
}

json_t *run_to_json(const struct run *run)
{
    static const char *const stops[] = {[STOP_NOT] = NULL,
                                        [STOP_TIMEOUT] = "timeout",
                                        [STOP_CANCELLED] = "cancelled",
                                        [STOP_REPLACED] = "replaced",
                                        [STOP_LOST] = "lost lease",
                                        [STOP_SHUTDOWN] = "end of the runner"};
    const char *job = job_of_key(run->runner, run->key);
    bool has_started = run->started.ns != 0;
    double seconds = has_started ? (double)(loop_now(run->runner->loop) - run->started_at) / 1e9 : 0;
    return json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:f, s:o, s:I, s:o, s:s?, s:b}", "run", run->id, "job",
                     job, "state", run_state_name(run->run_state), "attempt", run->attempt, "planned",
                     json_instant(run->planned), "started", json_instant(run->started), "seconds", seconds,
                     "pid", run->has_process ? json_integer(run->process.pid) : json_null(), "fence",
                     (json_int_t)run->fence, "waiting_for", waiting_for(run), "stop", stops[run->stop],
                     "by_hand", run->by_hand);
}

static const char *outcome_name(const hora_run_record *record)
{
    if (code_is_of_end(record->code))
        return "lost";
    switch (record->outcome) {
    case HORA_RUN_SUCCEEDED:
        return "succeeded";
    case HORA_RUN_FAILED:
    case HORA_RUN_GAVE_UP: /* the difference is "retried" */
        return "failed";
    case HORA_RUN_LOST:
        return "lost";
    case HORA_RUN_SKIPPED:
        return "skipped";
    case HORA_RUN_STOPPED:
        return "stopped";
    default:
        return "unknown";
    }
}

/* The note of a record. A time that was skipped without a run has none, but a reason. */
static json_t *note_to_json(const hora_run_record *record)
{
    if (record->note_size > 0)
        return json_loadb(record->note, record->note_size, 0, NULL);
    bool has_run = record->outcome != HORA_RUN_SKIPPED || record->started.ns != 0;
    char *reason = has_run ? NULL : skip_reason_text(record);
    json_t *note = reason == NULL ? NULL : json_pack("{s:s}", "reason", reason);
    free(reason);
    return note;
}

json_t *record_to_json(const struct runner *runner, const hora_run_record *record)
{
    const char *job = job_of_key(runner, record->key);
    char *id = run_id(job, record->planned);
    json_t *note = note_to_json(record);
    double seconds = record->started.ns == 0 ? 0 : (double)(record->ended.ns - record->started.ns) / 1e9;
    json_t *result =
        json_pack("{s:I, s:s, s:s, s:s, s:b, s:i, s:o, s:o, s:o, s:f, s:i, s:I, s:I, s:I, s:o}", "id",
                  (json_int_t)record->id, "job", job, "run", id, "outcome", outcome_name(record), "retried",
                  record->outcome == HORA_RUN_FAILED && !code_is_of_end(record->code), "code", record->code,
                  "planned", json_instant(record->planned), "started", json_instant(record->started), "ended",
                  json_instant(record->ended), "seconds", seconds, "attempt", record->attempt, "fence",
                  (json_int_t)record->fence, "node", (json_int_t)record->node, "skipped",
                  (json_int_t)record->skipped, "note", note != NULL ? note : json_null());
    free(id);
    return result;
}
