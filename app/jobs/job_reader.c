/* SPDX-License-Identifier: Apache-2.0 */
/* job_reader.c - read jobs
 *
 * A job is read key by key of the table, in the order of the table: first the keys that triggers need. A key
 * that the job does not have is read from `defaults` of its file. Keys that merge (environment, limits, retries,
 * log) are read from both. A key with the value null is as in the table of built-in defaults, whatever
 * `defaults` says. */
#include "jobs/schema.h"

#include <string.h>

/* MOST_DEFAULTS bounds the values in `defaults` times the jobs that they are read for. */
enum { MOST_JOBS = 100000, MOST_LISTED = 100, MOST_DEFAULTS = 10000000 };

#define LONGEST  (HORA_HOURS(24) * 36500)
#define SHORTEST HORA_MS(1)

/* ---- keys with lists of names ---- */

struct names {
    char **names;
    size_t count;
};

static bool read_one_name(const struct slot *slot, const struct node *node, void *target)
{
    struct names *names = target;
    char *name;
    if (!read_name(slot, node, &name))
        return false;
    if (names->count == MOST_LISTED)
        return report_problem(&slot->reader->report, &node->place, "%s: more than %d", slot->key->name,
                              MOST_LISTED);
    *arena_add(slot->reader->arena, names->names, names->count) = name;
    return true;
}

static bool read_tags(const struct slot *slot, const struct node *node, void *target)
{
    struct job *job = target;
    struct names names = {0};
    bool good = schema_each(slot, node, read_one_name, &names);
    job->tags = names.names;
    job->tag_count = names.count;
    return good;
}

static bool read_one_calendar(const struct slot *slot, const struct node *node, void *target)
{
    struct reader *reader = slot->reader;
    const struct jobs *jobs = reader->jobs;
    struct job *job = target;
    char *name;
    if (!read_name(slot, node, &name))
        return false;
    for (size_t i = 0; i < jobs->calendar_count; i++) {
        const struct job_calendar *calendar = jobs->calendars[i];
        if (strcmp(calendar->name, name) != 0)
            continue;
        if (job->calendar_count == MOST_LISTED)
            return report_problem(&reader->report, &node->place, "more than %d calendars", MOST_LISTED);
        size_t count = job->calendar_count;
        *arena_add(reader->arena, job->calendars, count) = hora_calendar_ref(calendar->calendar);
        count = job->calendar_count;
        *arena_add(reader->arena, job->calendar_texts, count) = calendar->text;
        *arena_add(reader->arena, job->calendar_names, job->calendar_count) = name;
        return true;
    }
    const char **known = arena_alloc(&reader->scratch, (jobs->calendar_count + 1) * sizeof *known);
    for (size_t i = 0; i < jobs->calendar_count; i++)
        known[i] = jobs->calendars[i]->name;
    return reader_unknown(reader, &node->place, "calendar", name, known, jobs->calendar_count, sizeof *known);
}

static bool read_job_calendars(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_one_calendar, target);
}

static bool read_job_group(const struct slot *slot, const struct node *node, void *target)
{
    struct reader *reader = slot->reader;
    const struct jobs *jobs = reader->jobs;
    struct job_group **group = target;
    char *name;
    if (!read_name(slot, node, &name))
        return false;
    const char **known = arena_alloc(&reader->scratch, (jobs->group_count + 1) * sizeof *known);
    for (size_t i = 0; i < jobs->group_count; i++) {
        known[i] = jobs->groups[i]->name;
        if (strcmp(known[i], name) == 0) {
            *group = jobs->groups[i];
            return true;
        }
    }
    return reader_unknown(reader, &node->place, "group", name, known, jobs->group_count, sizeof *known);
}

/* ---- after ---- */

static bool read_one_after(const struct slot *slot, const struct node *node, void *target)
{
    static const char *const whens[] = {
        [AFTER_SUCCESS] = "success", [AFTER_FAILURE] = "failure", [AFTER_ALWAYS] = "always"};
    static const char expected[] = "a job, such as backup, backup:failure or backup:always";
    struct job *job = target;
    struct arena *arena = slot->reader->arena;
    if (!schema_is_scalar(slot, node, expected))
        return false;
    size_t length = strcspn(node->text, ":");
    struct job_after after = {arena_text(arena, node->text, length), AFTER_SUCCESS, node->place};
    int when = node->text[length] == ':' ? -1 : AFTER_SUCCESS;
    for (int i = 0; i < 3 && when < 0; i++)
        if (strcmp(node->text + length + 1, whens[i]) == 0)
            when = i;
    if (when < 0 || !is_name(after.job))
        return schema_refuse(slot, node, expected);
    if (job->after_count == MOST_LISTED)
        return report_problem(&slot->reader->report, &node->place, "after: more than %d jobs", MOST_LISTED);
    after.when = (enum job_after_when)when;
    *arena_add(arena, job->after, job->after_count) = after;
    return true;
}

static bool read_after(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_one_after, target);
}

/* ---- others ---- */

static bool read_ok_codes(const struct slot *slot, const struct node *node, void *target)
{
    memset(target, false, sizeof((struct job *)0)->ok_codes);
    return schema_each(slot, node, read_codes, target);
}

static bool read_input(const struct slot *slot, const struct node *node, void *target)
{
    struct job *job = target;
    if (node->kind != NODE_SCALAR || (node->plain && node->text[0] == '\0'))
        return schema_refuse(slot, node, "a text");
    job->input_size = strlen(node->text);
    job->input = node->text;
    return true;
}

static bool read_shell(const struct slot *slot, const struct node *node, void *target)
{
    static const char expected[] = "the path of a program, such as /bin/bash";
    if (!schema_is_scalar(slot, node, expected))
        return false;
    return node->text[0] == '/' ? read_text(slot, node, target) : schema_refuse(slot, node, expected);
}

static bool read_background(const struct slot *slot, const struct node *node, void *target)
{
    static const char *const words[] = {"keep", "kill", NULL};
    struct key key = {.name = slot->key->name, .words = words};
    struct slot inner = {slot->reader, slot->source, &key};
    int choice = 0;
    bool good = read_choice(&inner, node, &choice);
    *(bool *)target = choice == 1;
    return good;
}

static bool read_priority(const struct slot *slot, const struct node *node, void *target)
{
    static const char *const words[] = {"low", "normal", "high", "urgent", NULL};
    struct key key = {.name = slot->key->name, .words = words};
    struct slot inner = {slot->reader, slot->source, &key};
    int choice = 1;
    bool good = read_choice(&inner, node, &choice);
    *(int *)target = choice - 1; /* HORA_PRIORITY_LOW is -1 */
    return good;
}

/* ---- the table ---- */

static const char *const crash_words[] = {
    [CRASH_RERUN] = "rerun", [CRASH_SKIP] = "skip", [CRASH_FAIL] = "fail", NULL};

#define FIELD(member) offsetof(struct draft, member)
#define ONLY_JOBS     KEY_NOT_IN_DEFAULTS

static const struct key job_keys[] = {
    /* Triggers need these. */
    {"zone", read_zone, FIELD(zone), 0, 0, NULL, 0},
    {"dst", read_choice, FIELD(dst), 0, 0, dst_words, 0},
    {"dialect", read_choice, FIELD(dialect), 0, 0, dialect_words, 0},
    {"days", read_choice, FIELD(days), 0, 0, days_words, 0},
    {"cron", read_cron, 0, 0, 0, NULL, ONLY_JOBS},
    {"every", read_every, 0, 0, 0, NULL, ONLY_JOBS},
    {"delay", read_delay, 0, 0, 0, NULL, ONLY_JOBS},
    {"at", read_at, 0, 0, 0, NULL, ONLY_JOBS},
    {"at_start", read_at_start, 0, 0, 0, NULL, ONLY_JOBS},
    {"triggers", read_triggers, 0, 0, 0, NULL, ONLY_JOBS},
    {"after", read_after, FIELD(job), 0, 0, NULL, ONLY_JOBS},
    {"description", read_text, FIELD(job.description), 0, 0, NULL, ONLY_JOBS},
    {"command", read_command, FIELD(job.command), 0, 0, NULL, ONLY_JOBS},
    {"shell", read_shell, FIELD(job.shell), 0, 0, NULL, 0},
    {"enabled", read_boolean, FIELD(job.enabled), 0, 0, NULL, 0},
    {"calendars", read_job_calendars, FIELD(job), 0, 0, NULL, 0},
    {"spread", read_duration, FIELD(job.spread), 0, LONGEST, NULL, 0},
    {"jitter", read_duration, FIELD(job.jitter), 0, LONGEST, NULL, 0},
    {"overlap", read_overlap, FIELD(job), 0, 0, NULL, 0},
    {"missed", read_missed, FIELD(job), 0, 0, NULL, 0},
    {"grace", read_duration, FIELD(job.grace), 0, LONGEST, NULL, 0},
    {"on_crash", read_choice, FIELD(job.on_crash), 0, 0, crash_words, 0},
    {"timeout", read_duration, FIELD(job.timeout), SHORTEST, LONGEST, NULL, 0},
    {"kill_after", read_duration, FIELD(job.kill_after), 0, LONGEST, NULL, 0},
    {"retries", read_retries, FIELD(job.retry), 0, 0, NULL, KEY_MERGES},
    {"give_up_after", read_int, FIELD(job.give_up_after), 0, 1000000, NULL, 0},
    {"ok_codes", read_ok_codes, FIELD(job.ok_codes), 0, 0, NULL, 0},
    {"user", read_text, FIELD(job.user), 0, 0, NULL, 0},
    {"user_group", read_text, FIELD(job.user_group), 0, 0, NULL, 0},
    {"directory", read_path, FIELD(job.directory), 0, 0, NULL, 0},
    {"umask", read_umask, FIELD(job.umask), 0, 0, NULL, 0},
    {"nice", read_int, FIELD(job.nice), -20, 19, NULL, 0},
    {"limits", read_limits, FIELD(job.limits), 0, 0, NULL, KEY_MERGES},
    {"environment", read_environment, FIELD(job.environment), 0, 0, NULL, KEY_MERGES},
    {"input", read_input, FIELD(job), 0, 0, NULL, 0},
    {"background", read_background, FIELD(job.kill_background), 0, 0, NULL, 0},
    {"group", read_job_group, FIELD(job.group), 0, 0, NULL, 0},
    {"priority", read_priority, FIELD(job.priority), 0, 0, NULL, 0},
    {"tags", read_tags, FIELD(job), 0, 0, NULL, 0},
    {"guard", read_command, FIELD(job.guard), 0, 0, NULL, 0},
    {"on_success", read_command, FIELD(job.on_success), 0, 0, NULL, 0},
    {"on_failure", read_command, FIELD(job.on_failure), 0, 0, NULL, 0},
    {"on_give_up", read_command, FIELD(job.on_give_up), 0, 0, NULL, 0},
    {"ping", read_url, FIELD(job.ping), 0, 0, NULL, 0},
    {"log", read_log, FIELD(job.log), 0, 0, NULL, KEY_MERGES},
    {"tail", read_size, FIELD(job.tail), 0, 48 << 10, NULL, 0},
};

void job_set_defaults(struct reader *reader, struct job *job)
{
    job->shell = arena_text(reader->arena, "/bin/sh", 7);
    job->enabled = true;
    job->kill_after = HORA_SECONDS(10);
    job->retry.back_off = BACK_OFF_EXPONENTIAL;
    job->retry.delay = HORA_SECONDS(1);
    job->retry.max = HORA_MINUTES(5);
    memset(job->retry.codes, true, sizeof job->retry.codes);
    job->retry.signals = job->retry.timeouts = true;
    job->ok_codes[0] = true;
    job->umask = -1;
    job->limits.cpu_seconds = job->limits.memory = job->limits.files = job->limits.processes =
        job->limits.file_size = job->limits.core = -1;
    job->log = (struct job_log){.enabled = true, .max_size = 10 << 20, .max_files = 5};
    job->tail = 8 << 10;
}

/* ---- jobs ---- */

struct job *reader_add_job(struct reader *reader)
{
    struct job *job = arena_alloc(reader->arena, sizeof *job);
    *arena_add(reader->arena, reader->jobs->jobs, reader->jobs->count) = job;
    return job;
}

/* Reads one key: from the defaults, from the job, or from both. */
static void read_key(struct reader *reader, const struct source *source, const struct key *key,
                     const struct node *node, struct draft *draft)
{
    struct slot slot = {reader, source, key};
    void *target = (char *)draft + key->offset;
    const struct node *value = node_get(node, key->name);
    const struct node *otherwise =
        key->flags & KEY_NOT_IN_DEFAULTS ? NULL : node_get(source->defaults, key->name);
    if (value && node_is_null(value))
        return;
    if (otherwise && !node_is_null(otherwise) && (!value || (key->flags & KEY_MERGES)))
        (void)key->read(&slot, otherwise, target);
    if (value)
        (void)key->read(&slot, value, target);
}

static struct draft start_draft(struct reader *reader, const struct source *source, const char *name,
                                const struct place *place)
{
    struct draft draft = {.zone = source->zone, .dst = (int)source->dst, .dialect = -1, .days = -1};
    job_set_defaults(reader, &draft.job);
    draft.job.name = arena_text(reader->arena, name, strlen(name));
    draft.job.place = *place;
    return draft;
}

/* Checks what concerns several keys. */
static void check_job(struct reader *reader, const struct job *job)
{
    if (!job->command.shell && !job->command.argv)
        report_problem(&reader->report, &job->place, "the job %s has no command", job->name);
    for (size_t i = 0; i < job->trigger_count; i++) {
        bool can_overlap = job->overlap == OVERLAP_ALLOW || job->overlap == OVERLAP_QUEUE;
        if (job->triggers[i].kind == TRIGGER_DELAY && can_overlap)
            report_problem(&reader->report, &job->triggers[i].place,
                           "delay counts from the end of a run, so overlap cannot be %s",
                           job->overlap == OVERLAP_ALLOW ? "allow" : "queue");
    }
    if (job->spread > 0 && job->trigger_count == 0)
        report_warning(&reader->report, &job->place, "the job %s has spread, but no times", job->name);
}

static void read_job(struct reader *reader, const struct source *source, const struct node *name,
                     const struct node *node)
{
    const struct key key = {.name = arena_format(&reader->scratch, "the job %s", name->text)};
    struct slot slot = {reader, source, &key};
    if (node->kind != NODE_MAPPING) {
        schema_refuse(&slot, node, "a mapping with command and other keys");
        return;
    }
    if (source->defaults &&
        source->defaults->weight * node_get(source->root, "jobs")->count > MOST_DEFAULTS) {
        report_problem(&reader->report, &source->defaults->place,
                       "too many values in defaults for so many jobs");
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        (void)schema_find(reader, job_keys, KEY_COUNT(job_keys), node->keys[i]);
    size_t problems = reader->report.problem_count;
    struct draft draft = start_draft(reader, source, name->text, &name->place);
    for (size_t i = 0; i < KEY_COUNT(job_keys); i++)
        read_key(reader, source, &job_keys[i], node, &draft);
    if (reader->report.problem_count == problems ||
        (!draft.job.command.shell && !draft.job.command.argv && !node_get(node, "command")))
        check_job(reader, &draft.job);
    *reader_add_job(reader) = draft.job;
}

void read_jobs(struct reader *reader, const struct source *source)
{
    schema_read_named(reader, source, "jobs", "a mapping of names and jobs", MOST_JOBS, read_job);
}

/* Checks the defaults, even if the file has no job that uses them. */
void read_defaults(struct reader *reader, const struct source *source)
{
    const struct node *node = source->defaults;
    if (!node)
        return;
    struct draft draft = start_draft(reader, source, "defaults", &node->place);
    for (size_t i = 0; i < node->count; i++) {
        const struct key *key = schema_find(reader, job_keys, KEY_COUNT(job_keys), node->keys[i]);
        if (key && (key->flags & KEY_NOT_IN_DEFAULTS))
            report_problem(&reader->report, &node->keys[i]->place, "%s cannot be a default", key->name);
        else if (key)
            read_key(reader, source, key, node, &draft);
    }
    for (size_t i = 0; i < draft.job.calendar_count; i++)
        hora_calendar_unref(draft.job.calendars[i]);
}
