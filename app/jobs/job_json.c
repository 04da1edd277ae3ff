/* SPDX-License-Identifier: Apache-2.0 */
/* job_json.c - a job as JSON, in the vocabulary of job files
 *
 * Values are written so that a job file could contain them: durations as 1h30m, sizes as 512M, lists of exit
 * statuses with ranges. What a job does not have is null. `schedule_hash` is added, because it also covers the
 * contents of the calendars, of which a job only has the names. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "jobs/arena.h"
#include "jobs/job_text.h"
#include "jobs/jobs.h"
#include "text.h"

/* Sets a member and takes over the value. Without memory, ends the process as memory() does. */
static void set(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) < 0)
        out_of_memory();
}

static void append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        out_of_memory();
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *duration(hora_ns value)
{
    char text[JOB_VALUE_TEXT];
    return json_string(duration_text(value, text));
}

static json_t *size(int64_t value)
{
    char text[JOB_VALUE_TEXT];
    return json_string(size_text(value, text));
}

static json_t *command(const struct job_command *value)
{
    if (value->shell)
        return json_string(value->shell);
    if (!value->argv)
        return json_null();
    json_t *words = json_array();
    for (char **word = value->argv; *word; word++)
        append(words, json_string(*word));
    return words;
}

static json_t *names(char *const *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        append(array, json_string(values[i]));
    return array;
}

/* Adds exit statuses: 3, and "5-7" for ranges. */
static void add_codes(json_t *array, const bool codes[256])
{
    for (int first = 0; first < 256; first++) {
        if (!codes[first])
            continue;
        int last = first;
        while (last < 255 && codes[last + 1])
            last++;
        append(array, last == first ? json_integer(first) : json_sprintf("%d-%d", first, last));
        first = last;
    }
}

/* ---- the schedule ---- */

static json_t *instant(hora_instant value)
{
    char text[HORA_INSTANT_TEXT];
    (void)hora_instant_format(value, NULL, false, text, sizeof text);
    return json_string(text);
}

static json_t *trigger_json(const struct job_trigger *trigger)
{
    json_t *object = json_object();
    switch (trigger->kind) {
    case TRIGGER_CRON:
        set(object, "cron", json_string(trigger->text));
        set(object, "zone", json_string(hora_zone_name(trigger->zone)));
        set(object, "dst", json_string(trigger->dst == HORA_DST_ONCE ? "once" : "literal"));
        set(object, "dialect", json_string(trigger->unix_dialect ? "unix" : "spring"));
        set(object, "days", json_string(trigger->unix_dialect && !trigger->both_days ? "or" : "and"));
        break;
    case TRIGGER_EVERY:
        set(object, "every", duration(trigger->period));
        set(object, "from", instant(trigger->from));
        break;
    case TRIGGER_DELAY:
        set(object, "delay", duration(trigger->period));
        break;
    case TRIGGER_AT:
        set(object, "at", instant(trigger->at));
        break;
    case TRIGGER_AT_START:
        set(object, "at_start", duration(trigger->period));
        break;
    }
    return object;
}

static json_t *triggers_json(const struct job *job)
{
    json_t *array = json_array();
    for (size_t i = 0; i < job->trigger_count; i++)
        append(array, trigger_json(&job->triggers[i]));
    return array;
}

/* The name is part of the schedule if it determines times: with H or ~ in an expression, and with spread. */
void job_schedule_hash(const struct job *job, char ret_hash[17])
{
    json_t *object = json_object();
    set(object, "triggers", triggers_json(job));
    set(object, "calendars", names(job->calendar_texts, job->calendar_count));
    set(object, "spread", duration(job->spread));
    set(object, "name", json_string(job->name));
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        out_of_memory();
    (void)snprintf(ret_hash, 17, "%016" PRIx64, text_hash(text));
    free(text);
    json_decref(object);
}

static void set_schedule(json_t *object, const struct job *job)
{
    static const char *const whens[] = {
        [AFTER_SUCCESS] = "success", [AFTER_FAILURE] = "failure", [AFTER_ALWAYS] = "always"};
    char hash[17];
    json_t *after = json_array();
    for (size_t i = 0; i < job->after_count; i++)
        append(after, json_sprintf("%s:%s", job->after[i].job, whens[job->after[i].when]));
    job_schedule_hash(job, hash);
    set(object, "triggers", triggers_json(job));
    set(object, "after", after);
    set(object, "calendars", names(job->calendar_names, job->calendar_count));
    set(object, "spread", duration(job->spread));
    set(object, "jitter", duration(job->jitter));
    set(object, "schedule_hash", json_string(hash));
}

/* ---- how it runs ---- */

static void set_policies(json_t *object, const struct job *job)
{
    static const char *const crashes[] = {
        [CRASH_RERUN] = "rerun", [CRASH_SKIP] = "skip", [CRASH_FAIL] = "fail"};
    set(object, "overlap",
        job->overlap == OVERLAP_ALLOW   ? json_sprintf("allow %d", job->overlap_max)
        : job->overlap == OVERLAP_QUEUE ? json_sprintf("queue %d", job->overlap_max)
                                        : json_string(job->overlap == OVERLAP_SKIP ? "skip" : "replace"));
    set(object, "missed",
        job->missed == MISSED_ALL ? json_sprintf("all %d", job->missed_max)
                                  : json_string(job->missed == MISSED_SKIP ? "skip" : "once"));
    set(object, "grace", duration(job->grace));
    set(object, "on_crash", json_string(crashes[job->on_crash]));
    set(object, "timeout", job->timeout > 0 ? duration(job->timeout) : json_null());
    set(object, "kill_after", duration(job->kill_after));
    set(object, "give_up_after", json_integer(job->give_up_after));
    json_t *codes = json_array();
    add_codes(codes, job->ok_codes);
    set(object, "ok_codes", codes);
}

static json_t *retries_json(const struct job_retry *retry)
{
    static const char *const back_offs[] = {[BACK_OFF_CONSTANT] = "constant",
                                            [BACK_OFF_LINEAR] = "linear",
                                            [BACK_OFF_EXPONENTIAL] = "exponential"};
    bool is_all = retry->signals && retry->timeouts;
    for (int i = 0; i < 256; i++)
        is_all = is_all && retry->codes[i];
    json_t *on = json_array();
    if (is_all) {
        append(on, json_string("failure"));
    } else {
        add_codes(on, retry->codes);
        if (retry->signals)
            append(on, json_string("signal"));
        if (retry->timeouts)
            append(on, json_string("timeout"));
    }
    json_t *object = json_object();
    set(object, "count", json_integer(retry->count));
    set(object, "back_off", json_string(back_offs[retry->back_off]));
    set(object, "delay", duration(retry->delay));
    set(object, "max", duration(retry->max));
    set(object, "jitter", json_real(retry->jitter));
    set(object, "on", on);
    set(object, "past_next", json_boolean(retry->past_next));
    return object;
}

/* ---- the process ---- */

static json_t *limits_json(const struct job_limits *limits)
{
    json_t *object = json_object(), *cgroup = json_object();
    set(cgroup, "memory", limits->cgroup_memory > 0 ? size(limits->cgroup_memory) : json_null());
    set(cgroup, "cpu", limits->cgroup_cpu > 0 ? json_real(limits->cgroup_cpu) : json_null());
    set(cgroup, "processes",
        limits->cgroup_processes > 0 ? json_integer(limits->cgroup_processes) : json_null());
    set(object, "cpu",
        limits->cpu_seconds < 0 ? json_null() : duration(limits->cpu_seconds * HORA_SECONDS(1)));
    set(object, "memory", limits->memory < 0 ? json_null() : size(limits->memory));
    set(object, "files", limits->files < 0 ? json_null() : json_integer(limits->files));
    set(object, "processes", limits->processes < 0 ? json_null() : json_integer(limits->processes));
    set(object, "file_size", limits->file_size < 0 ? json_null() : size(limits->file_size));
    set(object, "core", limits->core < 0 ? json_null() : size(limits->core));
    set(object, "cgroup", cgroup);
    return object;
}

static json_t *environment_json(const struct job_environment *environment, bool with_secrets)
{
    json_t *object = json_object(), *variables = json_object();
    for (size_t i = 0; i < environment->count; i++)
        set(variables, environment->variables[i].name,
            json_string(with_secrets ? environment->variables[i].value : "***"));
    set(object, "clean", json_boolean(environment->clean));
    set(object, "variables", variables);
    return object;
}

static void set_process(json_t *object, const struct job *job, bool with_secrets)
{
    set(object, "user", text_or_null(job->user));
    set(object, "user_group", text_or_null(job->user_group));
    set(object, "directory", text_or_null(job->directory));
    set(object, "umask", job->umask < 0 ? json_null() : json_sprintf("%03o", (unsigned)job->umask));
    set(object, "nice", json_integer(job->nice));
    set(object, "limits", limits_json(&job->limits));
    set(object, "environment", environment_json(&job->environment, with_secrets));
    set(object, "input", text_or_null(job->input));
    set(object, "background", json_string(job->kill_background ? "kill" : "keep"));
}

static json_t *log_json(const struct job_log *log)
{
    if (!log->enabled)
        return json_false();
    json_t *object = json_object();
    set(object, "max_size", size(log->max_size));
    set(object, "max_files", json_integer(log->max_files));
    return object;
}

/* The path of an address for pings is a secret: its owner can report success. */
static json_t *ping_json(const char *address, bool with_secrets)
{
    if (address == NULL || with_secrets)
        return text_or_null(address);
    const char *host = strstr(address, "://");
    return json_sprintf("%.*s://***", host == NULL ? 0 : (int)(host - address), address);
}

json_t *job_to_json(const struct job *job, bool with_secrets)
{
    static const char *const priorities[] = {"low", "normal", "high", "urgent"};
    json_t *object = json_object();
    set(object, "name", json_string(job->name));
    set(object, "description", text_or_null(job->description));
    set(object, "command", command(&job->command));
    set(object, "shell", json_string(job->shell));
    set(object, "enabled", json_boolean(job->enabled));
    set_schedule(object, job);
    set_policies(object, job);
    set(object, "retries", retries_json(&job->retry));
    set_process(object, job, with_secrets);
    set(object, "group", text_or_null(job->group ? job->group->name : NULL));
    set(object, "priority", json_string(priorities[job->priority + 1]));
    set(object, "tags", names(job->tags, job->tag_count));
    set(object, "guard", command(&job->guard));
    set(object, "on_success", command(&job->on_success));
    set(object, "on_failure", command(&job->on_failure));
    set(object, "on_give_up", command(&job->on_give_up));
    set(object, "ping", ping_json(job->ping, with_secrets));
    set(object, "log", log_json(&job->log));
    set(object, "tail", size(job->tail));
    return object;
}
