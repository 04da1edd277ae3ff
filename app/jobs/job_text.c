/* SPDX-License-Identifier: Apache-2.0 */
/* job_text.c - a job as text: its schedule in words, and its values as in job files */
#include "jobs/job_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "jobs/jobs.h"

const char *duration_text(hora_ns duration, char text[JOB_VALUE_TEXT])
{
    static const struct {
        hora_ns ns;
        const char *name;
    } units[] = {{HORA_HOURS(24), "d"},
                 {HORA_HOURS(1), "h"},
                 {HORA_MINUTES(1), "m"},
                 {HORA_SECONDS(1), "s"},
                 {HORA_MS(1), "ms"},
                 {1000, "us"},
                 {1, "ns"}};
    size_t length = 0;
    (void)snprintf(text, JOB_VALUE_TEXT, "0s");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        hora_ns count = duration / units[i].ns;
        duration %= units[i].ns;
        if (count > 0)
            length += (size_t)snprintf(text + length, JOB_VALUE_TEXT - length, "%" PRId64 "%s", count,
                                       units[i].name);
    }
    return text;
}

const char *size_text(int64_t size, char text[JOB_VALUE_TEXT])
{
    static const char units[][2] = {"", "K", "M", "G"};
    int unit = 0;
    while (unit < 3 && size > 0 && size % 1024 == 0) {
        size /= 1024;
        unit++;
    }
    (void)snprintf(text, JOB_VALUE_TEXT, "%" PRId64 "%s", size, units[unit]);
    return text;
}

/* ---- the schedule in words ---- */

/* A text that grows as long as there is room; `length` is what it would have. */
struct words {
    char *text;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    bool has_room = words->length < words->size;
    int count = vsnprintf(has_room ? words->text + words->length : NULL,
                          has_room ? words->size - words->length : 0, format, values);
    va_end(values);
    words->length += count > 0 ? (size_t)count : 0;
}

static void add_cron(struct words *words, const struct job_trigger *trigger)
{
    int length = hora_cron_describe(trigger->cron, trigger->zone, NULL, 0);
    char *text = memory((size_t)(length < 0 ? 0 : length) + 1);
    if (length >= 0)
        (void)hora_cron_describe(trigger->cron, trigger->zone, text, (size_t)length + 1);
    add(words, "%s", length < 0 ? trigger->text : text);
    free(text);
}

static void add_trigger(struct words *words, const struct job_trigger *trigger)
{
    char text[JOB_VALUE_TEXT], time[HORA_INSTANT_TEXT];
    switch (trigger->kind) {
    case TRIGGER_CRON:
        add_cron(words, trigger);
        break;
    case TRIGGER_EVERY:
        add(words, "every %s", duration_text(trigger->period, text));
        break;
    case TRIGGER_DELAY:
        add(words, "%s after the end of each run", duration_text(trigger->period, text));
        break;
    case TRIGGER_AT:
        (void)hora_instant_format(trigger->at, trigger->zone, false, time, sizeof time);
        add(words, "at %s, %s", time, hora_zone_name(trigger->zone));
        break;
    case TRIGGER_AT_START:
        if (trigger->period > 0)
            add(words, "%s after the start", duration_text(trigger->period, text));
        else
            add(words, "at the start");
        break;
    }
}

int job_describe(const struct job *job, char *text, size_t size)
{
    static const char *const whens[] = {
        [AFTER_SUCCESS] = "success", [AFTER_FAILURE] = "failure", [AFTER_ALWAYS] = "each run"};
    struct words words = {text, size, 0};
    char value[JOB_VALUE_TEXT];
    if (size > 0)
        text[0] = '\0';
    for (size_t i = 0; i < job->trigger_count; i++) {
        add(&words, "%s", i > 0 ? "; " : "");
        add_trigger(&words, &job->triggers[i]);
    }
    for (size_t i = 0; i < job->after_count; i++)
        add(&words, "%safter %s of %s", words.length > 0 ? "; " : "", whens[job->after[i].when],
            job->after[i].job);
    if (words.length == 0)
        add(&words, "on request");
    for (size_t i = 0; i < job->calendar_count; i++)
        add(&words, "%s%s", i > 0 ? ", " : "; except ", job->calendar_names[i]);
    if (job->spread > 0)
        add(&words, "; up to %s later", duration_text(job->spread, value));
    if (!job->enabled)
        add(&words, "; disabled");
    return (int)words.length;
}
