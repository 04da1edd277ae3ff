/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - the request `logs`: the output of a run, from its log files and as it comes
 *
 * A thread of the pool reads the log files and writes the lines of the run, as events, to a file without a
 * name (the spool). Then the loop sends the spool, a piece at a time, whenever the client has read the piece
 * before. So a large log takes neither memory of the runner nor a thread while the client is slow, and what
 * is sent is what the files had at one moment.
 *
 * A request with "follow" becomes a follower first. The lines that come while the files are read and the
 * spool is sent are kept (`pending`) and sent afterwards. Such a line may be in the files as well. Only lines
 * that the files have with a time from the start of the request on can be both; they are not spooled but kept
 * (`recent`). The longest end of `recent` that is also the beginning of `pending` is sent once.
 *
 * A job without log files has the end of its output in the run record; that is sent instead. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"
#include "control/fields.h"
#include "control/requests.h"
#include "control/times.h"
#include "text.h"

enum {
    PIECE = 1 << 16,     /* bytes of the spool that are sent at a time */
    PIECES_IN_A_ROW = 4, /* that one call sends */
    RECENT_MOST = 1000,  /* lines */
    EVENT_OVERHEAD = 200 /* bytes of an event besides its text, about */
};

struct logs {
    struct request *request;
    char *directory; /* NULL: the runner keeps no log files */
    char *job, *run; /* run is NULL if the job has not run yet */
    bool is_job;     /* the client has named a job: later runs are followed, too */
    json_t *record;  /* of the run; NULL: it is in hand */
    hora_instant start;

    /* The thread of the pool uses these while `reading`. */
    int spool;
    int error; /* errno */
    int64_t lines;
    off_t *tail; /* where the latest lines begin: a ring of question.tail elements; NULL: all are wanted */
    off_t size;  /* of the spool */
    json_t *recent;

    bool reading, stopped;
    off_t sent;
    bool live; /* the spool has been sent: events are passed on as they come */
    struct follower *follower;
    json_t *pending;
    size_t pending_size;
    bool ended; /* the run has */
};

/* Ends the request. The reference to the answer is taken. */
static void finish(struct logs *logs, json_t *reply)
{
    struct request *request = logs->request;
    if (logs->follower != NULL)
        follower_remove(request->runner, logs->follower);
    if (logs->spool >= 0)
        (void)close(logs->spool);
    json_decref(logs->record);
    json_decref(logs->recent);
    json_decref(logs->pending);
    free(logs->tail);
    free(logs->directory);
    free(logs->job);
    free(logs->run);
    free(logs);
    request->drained = NULL;
    request_finish(request, reply);
}

static void finish_well(struct logs *logs)
{
    finish(logs, json_pack("{s:b, s:s, s:s?, s:I}", "ok", 1, "job", logs->job, "run", logs->run, "lines",
                           (json_int_t)logs->lines));
}

/* ---- reading: a thread of the pool ---- */

static json_t *line_to_json(const struct output_line *line)
{
    json_t *event =
        json_pack("{s:s, s:o, s:s, s:s, s:i, s:s, s:o}", "kind", "output", "time", times_to_json(line->time),
                  "job", line->job, "run", line->run, "attempt", line->attempt, "stream",
                  line->stream == STREAM_OUT ? "out" : "err", "text", json_stringn(line->text, line->size));
    if (line->continued)
        (void)json_object_set_new(event, "continued", json_true());
    return event;
}

/* Writes an event to the spool. Returns 0 or an errno. */
static int spool_event(struct logs *logs, const json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT);
    if (text == NULL)
        return ENOMEM;
    if (logs->tail != NULL)
        logs->tail[logs->lines % logs->request->question.tail] = logs->size;
    int length = dprintf(logs->spool, "{\"event\":%s}\n", text);
    int error = length < 0 ? errno : 0;
    free(text);
    if (error == 0) {
        logs->size += length;
        logs->lines++;
    }
    return error;
}

/* Called for each line of the run. Returns 0 to go on. */
static int spool_line(const struct output_line *line, void *arg)
{
    struct logs *logs = arg;
    json_t *event = line_to_json(line);
    if (event == NULL)
        return 0; /* not UTF-8: capture.c has written UTF-8, so the file was changed by other means */
    int error = 0;
    if (logs->follower != NULL && line->time.ns >= logs->start.ns) {
        if (json_array_size(logs->recent) >= RECENT_MOST) {
            error = spool_event(logs, json_array_get(logs->recent, 0));
            (void)json_array_remove(logs->recent, 0);
        }
        (void)json_array_append(logs->recent, event);
    } else {
        error = spool_event(logs, event);
    }
    json_decref(event);
    return error;
}

/* Opens a file without a name: in the folder of the logs if that can be done, otherwise in memory. */
static int open_spool(const char *directory)
{
    int fd = directory != NULL ? open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    return fd >= 0 ? fd : memfd_create("hora-logs", MFD_CLOEXEC);
}

static void read_files(void *arg)
{
    struct logs *logs = arg;
    logs->spool = open_spool(logs->directory);
    if (logs->spool < 0) {
        logs->error = errno;
        return;
    }
    if (logs->run == NULL || logs->directory == NULL)
        return;
    int result = job_log_read(logs->directory, logs->job, logs->run, (int)logs->request->question.attempt,
                              spool_line, logs);
    if (result != 0 && result != -ENOENT)
        logs->error = result < 0 ? -result : result;
}

/* ---- sending: the loop ---- */

static bool is_same_line(const json_t *a, const json_t *b)
{
    static const char *const names[] = {"kind", "attempt", "stream", "text"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!json_equal(json_object_get(a, names[i]), json_object_get(b, names[i])))
            return false;
    return true;
}

/* Returns how many lines at the end of `recent` are also the first ones of `pending`. */
static size_t overlap(const json_t *recent, const json_t *pending)
{
    size_t size = json_array_size(recent);
    size_t count = json_array_size(pending) < size ? json_array_size(pending) : size;
    for (; count > 0; count--) {
        size_t i = 0;
        while (i < count &&
               is_same_line(json_array_get(recent, size - count + i), json_array_get(pending, i)))
            i++;
        if (i == count)
            return count;
    }
    return 0;
}

/* Sends the lines of the run record, if the files had none. */
static void send_record(struct logs *logs)
{
    const char *tail = json_string_value(json_object_get(json_object_get(logs->record, "note"), "tail"));
    int64_t attempt = field_count(logs->record, "attempt");
    while (tail != NULL && *tail != '\0') {
        size_t length = strcspn(tail, "\n");
        json_t *event =
            json_pack("{s:s, s:s, s:s?, s:I, s:s, s:o}", "kind", "output", "job", logs->job, "run", logs->run,
                      "attempt", (json_int_t)attempt, "stream", "out", "text", json_stringn(tail, length));
        if (event != NULL)
            request_event(logs->request, event);
        json_decref(event);
        logs->lines++;
        tail += length + (tail[length] == '\n' ? 1 : 0);
    }
}

/* The spool has been sent: sends what came meanwhile. */
static void send_pending(struct logs *logs)
{
    struct request *request = logs->request;
    if (logs->lines == 0 && json_array_size(logs->recent) == 0)
        send_record(logs);
    for (size_t i = 0; i < json_array_size(logs->recent); i++)
        request_event(request, json_array_get(logs->recent, i));
    logs->lines += (int64_t)json_array_size(logs->recent);
    size_t known = overlap(logs->recent, logs->pending);
    for (size_t i = known; i < json_array_size(logs->pending); i++)
        request_event(request, json_array_get(logs->pending, i));
    logs->live = true;
    request->drained = NULL;
    if (!request->question.follow || logs->ended)
        finish_well(logs);
}

/* Sends pieces of the spool, as long as the client reads. */
static void send_pieces(struct request *request)
{
    static char piece[PIECE];
    struct logs *logs = request->state;
    for (int i = 0; i < PIECES_IN_A_ROW && request_unread(request) == 0; i++) {
        ssize_t count = pread(logs->spool, piece, sizeof piece, logs->sent);
        if (count <= 0) {
            send_pending(logs);
            return;
        }
        logs->sent += count;
        request_lines(request, piece, (size_t)count);
    }
}

static void stop(struct request *request)
{
    struct logs *logs = request->state;
    logs->stopped = true;
    if (!logs->reading)
        finish_well(logs);
}

static void files_read(void *arg)
{
    struct logs *logs = arg;
    struct request *request = logs->request;
    logs->reading = false;
    if (logs->stopped) {
        finish_well(logs);
        return;
    }
    if (logs->error != 0) {
        json_t *reply =
            json_pack("{s:b, s:o}", "ok", 0, "error",
                      json_sprintf("the log of %s cannot be read: %s",
                                   logs->run != NULL ? logs->run : logs->job, strerror(logs->error)));
        finish(logs, reply);
        return;
    }
    if (logs->tail != NULL && logs->lines > request->question.tail)
        logs->sent = logs->tail[logs->lines % request->question.tail];
    request->drained = send_pieces;
    send_pieces(request);
}

/* An event of the run, or of its job. */
static void follow(const json_t *event, void *arg)
{
    struct logs *logs = arg;
    struct request *request = logs->request;
    bool is_end = !logs->is_job && logs->run != NULL && event_ends_run(event, logs->run);
    logs->ended = logs->ended || is_end;
    if (logs->live) {
        request_event(request, event);
        if (is_end)
            finish_well(logs);
        return;
    }
    (void)json_array_append_new(logs->pending, json_deep_copy(event));
    logs->pending_size += EVENT_OVERHEAD + json_string_length(json_object_get(event, "text"));
    if (logs->pending_size > request_stream_size(request))
        request_drop(request);
}

/* ---- start ---- */

/* Starts to read the files of a run and, if wanted, to follow it. */
static void start_reading(struct logs *logs)
{
    struct request *request = logs->request;
    struct runner *runner = request->runner;
    const struct question *question = &request->question;
    const struct job_state *state = runner_find(runner, logs->job);
    logs->start = loop_wall(runner->loop);
    logs->start.ns -= logs->start.ns % HORA_US(1); /* files have microseconds */
    logs->directory = text_copy(runner->log_directory);
    logs->recent = json_array();
    logs->pending = json_array();
    if (question->tail > 0)
        logs->tail = memory((size_t)question->tail * sizeof *logs->tail);
    if (state != NULL && state->log != NULL)
        job_log_flush(state->log);
    bool is_in_hand = logs->record == NULL;
    if (question->follow && (is_in_hand || logs->is_job))
        logs->follower = follower_add(runner, logs->job, logs->is_job ? NULL : logs->run, true, follow, logs);
    else
        logs->ended = true;
    request->state = logs;
    request->stop = stop;
    request->is_endless = logs->follower != NULL;
    logs->reading = true;
    loop_ask(runner->loop, read_files, files_read, logs);
}

static struct logs *logs_new(struct request *request, const char *job, const char *run)
{
    struct logs *logs = memory(sizeof *logs);
    *logs = (struct logs){.request = request, .spool = -1, .job = text_copy(job), .run = text_copy(run)};
    return logs;
}

/* The runner has told the record of a run that is not in hand. */
static void recorded(json_t *reply, void *arg)
{
    struct request *request = arg;
    const char *name = request->question.run;
    bool is_job = runner_find(request->runner, name) != NULL;
    json_t *record = json_array_get(json_object_get(reply, "records"), 0);
    const char *job = json_string_value(json_object_get(record, "job"));
    const char *run = json_string_value(json_object_get(record, "run"));
    if (!field_is_true(reply, "ok")) {
        request_finish(request, reply);
        return;
    }
    if (job != NULL && run != NULL) {
        struct logs *logs = logs_new(request, job, run);
        logs->record = json_incref(record);
        logs->is_job = is_job;
        start_reading(logs);
    } else if (is_job && request->question.follow) {
        struct logs *logs = logs_new(request, name, NULL);
        logs->is_job = true;
        start_reading(logs);
    } else {
        request_fail(request, is_job ? "the job %s has not run yet" : "there is no job and no run %s", name);
    }
    json_decref(reply);
}

/* Returns the latest run in hand of a job, or the run with an id, or NULL. */
static const struct run *find_run(const struct runner *runner, const char *name, bool is_job)
{
    const struct run *several[2];
    if (!is_job)
        return runner_find_run(runner, name, several);
    for (const struct run *run = runner->runs; run != NULL; run = run->next)
        if (run->hook == NULL && run->job != NULL && strcmp(run->job->name, name) == 0)
            return run;
    return NULL;
}

/* Returns the name of the job in an id of a run: backup in backup@20261117T030000Z. The caller frees it. */
static char *job_part(const char *id)
{
    return text_format("%.*s", (int)strcspn(id, "@"), id);
}

void logs_request(struct request *request)
{
    const char *name = request->question.run;
    bool is_job = runner_find(request->runner, name) != NULL;
    const struct run *run = find_run(request->runner, name, is_job);
    if (run != NULL) {
        char *job = job_part(run->id);
        struct logs *logs = logs_new(request, job, run->id);
        free(job);
        logs->is_job = is_job;
        start_reading(logs);
        return;
    }
    char *job = job_part(name);
    struct history_question question = {.limit = 1, .job = job, .run = is_job ? NULL : name};
    runner_request_history(request->runner, &question, recorded, request);
    free(job);
}
