/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - what happens in the runner: printed, and sent to those who follow
 *
 * An event is a JSON object with a time, a kind and a text for people. Lines of output are events of the kind
 * "output". On the console an event is one line, in one of two forms:
 *
 *     2026-11-17 03:00:00.004 backup@20261117T030000Z#1 start: pid 4711
 *     {"time": "2026-11-17T03:00:00.004117Z", "kind": "start", "job": "backup", ...}
 *
 * The first form shows local time. A line of output has the name of its stream instead of the kind. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "runner/console.h"
#include "runner/internal.h"
#include "text.h"

struct follower {
    struct follower *next, **link;
    char *job, *run; /* NULL: all */
    bool wants_output;
    follower_fn receive;
    void *arg;
};

struct follower *follower_add(struct runner *runner, const char *job, const char *run, bool wants_output,
                              follower_fn receive, void *arg)
{
    struct follower *follower = memory(sizeof *follower);
    *follower = (struct follower){.next = runner->followers,
                                  .link = &runner->followers,
                                  .job = text_copy(job),
                                  .run = text_copy(run),
                                  .wants_output = wants_output,
                                  .receive = receive,
                                  .arg = arg};
    if (follower->next != NULL)
        follower->next->link = &follower->next;
    runner->followers = follower;
    return follower;
}

void follower_remove(struct runner *runner, struct follower *follower)
{
    (void)runner;
    *follower->link = follower->next;
    if (follower->next != NULL)
        follower->next->link = follower->link;
    free(follower->job);
    free(follower->run);
    free(follower);
}

static bool is_wanted(const char *filter, const char *value)
{
    return filter == NULL || (value != NULL && strcmp(filter, value) == 0);
}

static void send(struct runner *runner, json_t *event, bool is_output)
{
    const char *job = json_string_value(json_object_get(event, "job"));
    const char *run = json_string_value(json_object_get(event, "run"));
    for (struct follower *follower = runner->followers, *next; follower != NULL; follower = next) {
        next = follower->next; /* a follower may remove itself */
        if (is_wanted(follower->job, job) && is_wanted(follower->run, run) &&
            (follower->wants_output || !is_output))
            follower->receive(event, follower->arg);
    }
}

static void print_json(struct runner *runner, const json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (text == NULL)
        return;
    console_line(runner->console, text, strlen(text));
    free(text);
}

static const char *colour_of(const struct runner *runner, enum event_level level)
{
    static const char *const colours[] = {"", "\033[33m", "\033[31m"};
    return runner->has_colour ? colours[level] : "";
}

static void print_text(struct runner *runner, enum event_level level, const char *kind, const char *who,
                       const char *text)
{
    char time[40];
    console_time(runner->console, loop_wall(runner->loop), time, sizeof time);
    const char *colour = colour_of(runner, level);
    char *line = text_format("%s %s%s%s%s: %s%s", time, colour, who, who[0] == '\0' ? "" : " ", kind, text,
                             colour[0] == '\0' ? "" : "\033[0m");
    console_line(runner->console, line, strlen(line));
    free(line);
}

json_t *json_instant(hora_instant instant)
{
    char text[64];
    if (instant.ns == 0 || hora_instant_format(instant, NULL, false, text, sizeof text) < 0)
        return json_null();
    return json_string(text);
}

/* The event as a JSON object, whose reference the caller gets. Takes that of `fields`. */
static json_t *make_event(struct runner *runner, enum event_level level, const char *kind, const char *job,
                          json_t *fields, const char *text)
{
    static const char *const levels[] = {"info", "warning", "error"};
    json_t *event = json_pack("{s:o, s:s, s:s, s:s}", "time", json_instant(loop_wall(runner->loop)), "kind",
                              kind, "level", levels[level], "text", text);
    if (job != NULL)
        json_object_set_new(event, "job", json_string(job));
    if (fields != NULL)
        json_object_update(event, fields);
    json_decref(fields);
    return event;
}

void event_report(struct runner *runner, enum event_level level, const char *kind, const char *job,
                  json_t *fields, const char *format, ...)
{
    char text[2048];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    text_make_utf8(text); /* it may have been cut */
    runner->events++;
    bool prints =
        (level > EVENT_INFO || !runner->options.quiet) && !runner->is_silent && simulation_shows(runner, job);
    if (prints && !runner->options.json) {
        const char *run = json_string_value(json_object_get(fields, "run"));
        print_text(runner, level, kind, run != NULL ? run : job != NULL ? job : "", text);
    }
    if (runner->followers == NULL && !(prints && runner->options.json)) {
        json_decref(fields); /* an object would have no reader */
        return;
    }
    json_t *event = make_event(runner, level, kind, job, fields, text);
    if (prints && runner->options.json)
        print_json(runner, event);
    send(runner, event, false);
    json_decref(event);
}

static json_t *output_event(const struct output_line *line)
{
    return json_pack("{s:o, s:s, s:s, s:s, s:i, s:s, s:b, s:o}", "time", json_instant(line->time), "kind",
                     "output", "job", line->job, "run", line->run, "attempt", line->attempt, "stream",
                     line->stream == STREAM_OUT ? "out" : "err", "continued", line->continued, "text",
                     json_stringn_nocheck(line->text, line->size));
}

void event_output(struct runner *runner, const struct output_line *line)
{
    bool prints = !runner->options.quiet && !runner->options.no_output;
    if (prints && console_skips_output(runner->console))
        prints = false;
    if (runner->followers == NULL && !prints)
        return;
    if (runner->followers != NULL || runner->options.json) {
        json_t *event = output_event(line);
        if (event != NULL && prints && runner->options.json)
            print_json(runner, event);
        if (event != NULL)
            send(runner, event, true);
        json_decref(event);
    }
    if (!prints || runner->options.json)
        return;
    char time[40];
    console_time(runner->console, line->time, time, sizeof time);
    char *text = text_format("%s %s#%d %s%s | %.*s", time, line->run, line->attempt,
                             line->stream == STREAM_OUT ? "out" : "err", line->continued ? "+" : "",
                             (int)line->size, line->text);
    console_line(runner->console, text, strlen(text));
    free(text);
}
