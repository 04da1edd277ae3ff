/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_command.c - hora simulate: what would job files do in a period? */
#include "simulate_command.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "help.h"
#include "jobs/tags.h"
#include "options.h"
#include "output.h"
#include "read_jobs.h"
#include "runner/simulate.h"
#include "text.h"

static const char help[] =
    "Usage: hora simulate [--from TIME] --to TIME [OPTION]... FILE...\n"
    "\n"
    "Print what the runner would do with job files in a period: each start and end, what is skipped,\n"
    "queued, replaced and tried again, and what clock changes do. Nothing is executed. The code is the\n"
    "one that runs jobs; time is virtual, so a month takes a few seconds.\n"
    "\n"
    "Options:\n"
    "  --from TIME             such as 2026-03-28, or 2026-03-28T12:00:00+01:00; default: now\n"
    "  --to TIME               the end of the period\n"
    "  --zone NAME             the zone of TIME and of what is printed; default: that of the machine\n"
    "  --duration [JOB=]TIME   how long a run takes; default: 0s\n"
    "  --exit [JOB=]STATUS     the exit status of a run; default: 0\n"
    "  --crontab user|system   whether entries of crontabs have a user; default: system for\n"
    "                          /etc/crontab and files in /etc/cron.d, user for others\n"
    "  --tag TAG               print only what happens to jobs that have this tag; repeated: that have\n"
    "                          all of them. The others are simulated, too\n"
    "  --json                  print events as JSON, one object on each line\n"
    "  -h, --help              print this help\n"
    "\n"
    "Examples:\n"
    "  hora simulate --from 2026-03-28 --to 2026-03-30 --zone Europe/Paris jobs.yaml\n"
    "  hora simulate --to 2026-12-01 --duration backup=3h --exit sync=1 jobs.yaml\n"
    "\n"
    "Exit status: 0 on success, 1 if the files are not valid, 2 on other errors.\n";

enum option_id {
    OPTION_FROM = 1,
    OPTION_TO,
    OPTION_ZONE,
    OPTION_DURATION,
    OPTION_EXIT,
    OPTION_CRONTAB,
    OPTION_TAG,
    OPTION_JSON,
    OPTION_HELP,
};

static const struct option table[] = {
    {"--from", 0, true, OPTION_FROM},  {"--to", 0, true, OPTION_TO},
    {"--zone", 0, true, OPTION_ZONE},  {"--duration", 0, true, OPTION_DURATION},
    {"--exit", 0, true, OPTION_EXIT},  {"--crontab", 0, true, OPTION_CRONTAB},
    {"--json", 0, false, OPTION_JSON}, {"--help", 'h', false, OPTION_HELP},
    {"--tag", 0, true, OPTION_TAG},
};

/* The parsed command line. */
struct wish {
    const char *from, *to, *zone;
    struct jobs_options reading;
    const char **files, **tags;
    size_t file_count;
    struct assumption *assumptions; /* for each, `job` is a text to free */
    size_t assumption_count;
    struct simulation simulation;
};

/* Splits [JOB=]VALUE, and returns the assumption about that job. */
static struct assumption *assumption_for(struct wish *wish, const char *text, const char **ret_value)
{
    const char *equals = strchr(text, '=');
    char *job = equals == NULL ? NULL : text_format("%.*s", (int)(equals - text), text);
    *ret_value = equals == NULL ? text : equals + 1;
    for (size_t i = 0; i < wish->assumption_count; i++) {
        const char *other = wish->assumptions[i].job;
        if (job == NULL ? other == NULL : other != NULL && strcmp(job, other) == 0) {
            free(job);
            return &wish->assumptions[i];
        }
    }
    struct assumption *added = &wish->assumptions[wish->assumption_count++];
    *added = (struct assumption){.job = job};
    return added;
}

static bool read_duration(struct wish *wish, const char *text)
{
    const char *value;
    struct assumption *assumption = assumption_for(wish, text, &value);
    hora_error reason;
    if (hora_duration_parse(value, HORA_SECONDS(1), &assumption->duration, &reason) < 0) {
        complain("--duration %s: %s", text, reason.message);
        return false;
    }
    if (assumption->duration < 0)
        complain("--duration %s: it is negative", text);
    return assumption->duration >= 0;
}

static bool read_exit(struct wish *wish, const char *text)
{
    const char *value;
    struct assumption *assumption = assumption_for(wish, text, &value);
    return option_number("--exit", value, 0, 255, &assumption->code);
}

static bool take_option(struct wish *wish, int id, const char *value)
{
    switch (id) {
    case OPTION_FROM:
        wish->from = value;
        return true;
    case OPTION_TO:
        wish->to = value;
        return true;
    case OPTION_ZONE:
        wish->zone = value;
        return true;
    case OPTION_JSON:
        return wish->simulation.json = true;
    case OPTION_DURATION:
        return read_duration(wish, value);
    case OPTION_EXIT:
        return read_exit(wish, value);
    case OPTION_TAG:
        wish->tags[wish->simulation.tag_count++] = value;
        return true;
    case OPTION_CRONTAB:
        return crontab_form_read(value, &wish->reading.crontab);
    default:
        return false;
    }
}

static bool read_time(const char *option, const char *text, const hora_zone *zone, hora_instant *ret_time)
{
    hora_error reason;
    if (hora_instant_parse(text, zone, ret_time, NULL, &reason) == 0)
        return true;
    complain("%s %s: %s", option, text, reason.message);
    return false;
}

static bool read_period(struct wish *wish)
{
    struct simulation *simulation = &wish->simulation;
    hora_error reason;
    if (hora_zone_new(wish->zone != NULL ? wish->zone : "local", NULL, &simulation->zone, &reason) < 0) {
        complain("--zone %s: %s", wish->zone != NULL ? wish->zone : "local", reason.message);
        return false;
    }
    if (wish->to == NULL) {
        complain_use("--to is missing");
        return false;
    }
    if (wish->from == NULL)
        (void)!hora_clock_instant(hora_clock_system(HORA_CLOCK_WALL), &simulation->from);
    else if (!read_time("--from", wish->from, simulation->zone, &simulation->from))
        return false;
    if (!read_time("--to", wish->to, simulation->zone, &simulation->to))
        return false;
    if (simulation->to.ns <= simulation->from.ns)
        complain("the period ends before it begins");
    return simulation->to.ns > simulation->from.ns;
}

static bool check_assumptions(const struct wish *wish, const struct jobs *jobs)
{
    for (size_t i = 0; i < wish->assumption_count; i++) {
        const char *job = wish->assumptions[i].job;
        if (job == NULL || jobs_find(jobs, job) != NULL)
            continue;
        complain("there is no job %s", job);
        return false;
    }
    return true;
}

static bool check_tags(const struct wish *wish, const struct jobs *jobs)
{
    char reason[TAGS_REASON];
    if (tags_check((const struct job *const *)jobs->jobs, jobs->count, wish->tags, wish->simulation.tag_count,
                   reason))
        return true;
    complain("%s", reason);
    return false;
}

static int run_wish(struct wish *wish)
{
    if (wish->file_count == 0)
        return complain_use("no file is given");
    if (!read_period(wish))
        return STATUS_TROUBLE;
    if (wish->reading.zone == NULL)
        wish->reading.zone = wish->zone;
    struct jobs *jobs = jobs_read_or_complain(wish->files, wish->file_count, &wish->reading);
    if (jobs == NULL)
        return STATUS_NO;
    wish->simulation.tags = wish->tags;
    if (!check_assumptions(wish, jobs) || !check_tags(wish, jobs)) {
        jobs_free(jobs);
        return STATUS_TROUBLE;
    }
    wish->simulation.assumptions = wish->assumptions;
    wish->simulation.assumption_count = wish->assumption_count;
    (void)output_flush();
    return simulate(&wish->simulation, jobs);
}

int simulate_command(int argc, char **argv)
{
    struct wish wish = {.files = memory((size_t)argc * sizeof *wish.files),
                        .tags = memory((size_t)argc * sizeof *wish.tags),
                        .assumptions = memory((size_t)argc * sizeof *wish.assumptions)};
    struct options words = {
        .table = table, .count = sizeof table / sizeof table[0], .argc = argc, .argv = argv, .at = 1};
    int word, status = -1;
    while (status < 0 && (word = options_next(&words)) != WORD_END) {
        if (word == OPTION_HELP) {
            help_print(help);
            status = STATUS_OK;
        } else if (word == WORD_OPERAND) {
            wish.files[wish.file_count++] = words.value;
        } else if (word == WORD_WRONG || !take_option(&wish, word, words.value)) {
            status = STATUS_TROUBLE;
        }
    }
    if (status < 0)
        status = run_wish(&wish);
    for (size_t i = 0; i < wish.assumption_count; i++)
        free(wish.assumptions[i].job);
    free(wish.assumptions);
    free(wish.files);
    free(wish.tags);
    hora_zone_unref(wish.simulation.zone);
    return status;
}
