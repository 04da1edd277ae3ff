/* SPDX-License-Identifier: Apache-2.0 */
/* crontab.c - read crontabs
 *
 * A line is a comment, a setting NAME = value, or an entry: five fields or an @word, in system form a user, and
 * a command. Settings hold for the entries that follow. What cron does is kept: runs may overlap, missed times
 * are lost, clock changes are treated as HORA_DST_ONCE, the environment is clean, and % in a command is a line
 * end, the first of which starts the standard input. What differs gives a warning: hora sends no mail, and a
 * random ~ is a fixed value (cron_slot.c). */
#include "jobs/schema.h"

#include <pwd.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "text.h"

enum { FIELDS = 5, MOST_ENTRIES = 100000, CRON_RUNS = 1000 };

static const char blanks[] = " \t";

/* A crontab that is being read. */
struct crontab {
    struct reader *reader;
    struct place place; /* of the line; the column is set where something is wrong */
    char *line;
    bool has_users;
    const char *owner;
    bool is_shared;                /* an entry points to the variables of `settings` */
    struct crontab_entry settings; /* what an entry takes over from the lines before it */
};

static bool wrong(struct crontab *crontab, const char *at, const char *what)
{
    crontab->place.column = (int)(at - crontab->line) + 1;
    return report_problem(&crontab->reader->report, &crontab->place, "%s", what);
}

/* ---- settings ---- */

/* Returns the text without blanks at its end and without the quotation marks around it. */
static char *unquoted(struct reader *reader, const char *text, size_t length)
{
    while (length > 0 && strchr(blanks, text[length - 1]))
        length--;
    bool is_quoted = length >= 2 && (text[0] == '"' || text[0] == '\'') && text[length - 1] == text[0];
    return is_quoted ? arena_text(reader->arena, text + 1, length - 2)
                     : arena_text(reader->arena, text, length);
}

/* Sets a variable for the entries that follow. Earlier entries share the array, so it is copied. */
static bool set_variable(struct crontab *crontab, char *name, char *value, const char *at)
{
    struct reader *reader = crontab->reader;
    struct crontab_entry *settings = &crontab->settings;
    struct job_environment copy = {.variables = settings->variables, .count = settings->variable_count};
    if (crontab->is_shared) {
        copy = (struct job_environment){0};
        for (size_t i = 0; i < settings->variable_count; i++)
            *arena_add(reader->arena, copy.variables, copy.count) = settings->variables[i];
    }
    crontab->is_shared = false;
    if (!environment_put(reader, &copy, name, value))
        return wrong(crontab, at, "too many variables");
    settings->variables = copy.variables;
    settings->variable_count = copy.count;
    return true;
}

static bool apply_setting(struct crontab *crontab, char *name, char *value, const char *at)
{
    struct crontab_entry *settings = &crontab->settings;
    struct report *report = &crontab->reader->report;
    crontab->place.column = (int)(at - crontab->line) + 1;
    if (strcmp(name, "CRON_TZ") == 0) {
        hora_zone *zone = reader_zone(crontab->reader, value, &crontab->place);
        settings->zone = zone ? zone : settings->zone;
        return zone != NULL;
    }
    if (strcmp(name, "MAILTO") == 0) {
        settings->mail_to = value;
        settings->mail_place = crontab->place;
        return true;
    }
    if (strcmp(name, "SHELL") == 0) {
        if (value[0] != '/')
            return wrong(crontab, at, "SHELL must be the path of a program");
        settings->shell = value;
    } else if (strcmp(name, "HOME") == 0) {
        settings->home = value;
    } else if (strcmp(name, "TZ") == 0) {
        report_warning(report, &crontab->place,
                       "TZ is given to the commands; CRON_TZ is the time zone of the entries");
    } else if (strcmp(name, "RANDOM_DELAY") == 0) {
        report_warning(report, &crontab->place, "RANDOM_DELAY has no effect; use spread in a job file");
    }
    return set_variable(crontab, name, value, at);
}

/* Reads NAME = value, where both may be quoted. Returns 1, 0 if the line is not a setting, or -1 after
 * reporting a problem. */
static int read_setting(struct crontab *crontab, const char *at)
{
    const char *end = at;
    const char *name = at;
    size_t length;
    if (*at == '"' || *at == '\'') {
        end = strchr(at + 1, *at);
        if (!end)
            return 0;
        name = at + 1;
        length = (size_t)(end - name);
        end++;
    } else {
        end = at + strcspn(at, " \t=");
        length = (size_t)(end - at);
    }
    const char *equals = end + strspn(end, blanks);
    if (*equals != '=' || !is_variable_name(name, length))
        return 0;
    const char *value = equals + 1 + strspn(equals + 1, blanks);
    char *text = unquoted(crontab->reader, value, strlen(value));
    return apply_setting(crontab, arena_text(crontab->reader->arena, name, length), text, value) ? 1 : -1;
}

/* ---- entries ---- */

/* Splits a command at its %. The first one that is not escaped ends the command; all others are line ends of
 * the input. \% is a %. */
static void split_command(struct reader *reader, const char *text, struct crontab_entry *entry)
{
    char *command = arena_alloc(reader->arena, strlen(text) + 1);
    char *input = arena_alloc(reader->arena, strlen(text) + 2);
    char *to = command;
    bool has_input = false;
    for (; *text; text++) {
        if (*text == '\\' && text[1] != '\0') {
            if (text[1] != '%')
                *to++ = *text;
            *to++ = *++text;
        } else if (*text != '%') {
            *to++ = *text;
        } else if (!has_input) {
            has_input = true;
            to = input;
        } else {
            *to++ = '\n';
        }
    }
    if (has_input && to > input && to[-1] != '\n')
        *to = '\n'; /* cron ends the last line */
    entry->command = command;
    entry->input = has_input ? input : NULL;
}

/* Reads the fields of an entry into `schedule`. Returns what follows them, or NULL after reporting a
 * problem. */
static const char *read_schedule(struct crontab *crontab, const char *at, struct crontab_entry *entry)
{
    struct reader *reader = crontab->reader;
    int fields = *at == '@' ? 1 : FIELDS;
    const char *schedule = "";
    if (*at == '-') {
        wrong(crontab, at,
              "- before the minute, which keeps an entry out of syslog on some systems, is not supported");
        return NULL;
    }
    for (int i = 0; i < fields; i++) {
        size_t length = strcspn(at, blanks);
        schedule = arena_format(reader->arena, "%s%s%.*s", schedule, i > 0 ? " " : "", (int)length, at);
        at += length;
        if (*at == '\0') {
            wrong(crontab, at, "not an entry: it needs five fields or an @word, and a command");
            return NULL;
        }
        at += strspn(at, blanks);
    }
    entry->schedule = schedule;
    return at;
}

static void read_entry(struct crontab *crontab, const char *at)
{
    struct reader *reader = crontab->reader;
    struct crontab_entry entry = crontab->settings;
    entry.place = crontab->place;
    entry.place.column = (int)(at - crontab->line) + 1;
    entry.user = crontab->owner;
    at = read_schedule(crontab, at, &entry);
    if (!at)
        return;
    if (crontab->has_users) {
        size_t length = strcspn(at, blanks);
        entry.user = arena_text(reader->arena, at, length);
        const char *after = at + length + strspn(at + length, blanks);
        if (*after == '\0') {
            wrong(crontab, at, "the command is missing after the user; in system form, an entry has a user");
            return;
        }
        at = after;
    }
    split_command(reader, at, &entry);
    if (entry.command[strspn(entry.command, blanks)] == '\0') {
        wrong(crontab, at, "the command is missing");
        return;
    }
    entry.base = crontab_base(reader, entry.command);
    crontab->is_shared = true;
    if (reader->entry_count >= MOST_ENTRIES)
        wrong(crontab, crontab->line, "too many entries");
    else
        *arena_add(&reader->scratch, reader->entries, reader->entry_count) = entry;
}

/* Reads a line, which has no line end. */
static void read_line(struct crontab *crontab)
{
    const char *at = crontab->line + strspn(crontab->line, blanks);
    size_t length = strlen(at);
    if (*at == '\0' || *at == '#')
        return;
    size_t valid = text_valid_utf8(at, length);
    if (valid < length)
        wrong(crontab, at + valid, "this is not UTF-8");
    else if (read_setting(crontab, at) == 0)
        read_entry(crontab, at);
}

void crontab_read(struct reader *reader, const char *file, const char *text, size_t size, bool has_users,
                  const char *owner)
{
    static const char *const initial[][2] = {{"SHELL", "/bin/sh"}, {"PATH", "/usr/bin:/bin"}};
    struct crontab crontab = {
        .reader = reader, .place = {file, 0, 1}, .has_users = has_users, .owner = owner};
    const char *zone = reader->options && reader->options->zone ? reader->options->zone : "local";
    crontab.settings.zone = reader_zone(reader, zone, &crontab.place);
    crontab.settings.shell = "/bin/sh";
    if (!crontab.settings.zone)
        return;
    for (size_t i = 0; i < sizeof initial / sizeof initial[0]; i++) {
        char *name = arena_text(reader->arena, initial[i][0], strlen(initial[i][0]));
        (void)set_variable(&crontab, name, arena_text(reader->arena, initial[i][1], strlen(initial[i][1])),
                           "");
    }
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        crontab.place.line++;
        crontab.place.column = 1;
        crontab.line = arena_text(&reader->scratch, text + at, length);
        const char *nul = memchr(text + at, '\0', length);
        if (length > 0 && crontab.line[length - 1] == '\r')
            crontab.line[length - 1] = '\0';
        if (nul)
            wrong(&crontab, crontab.line + (nul - (text + at)), "a NUL byte");
        else
            read_line(&crontab);
        at += length + 1;
    }
}

/* ---- jobs ---- */

/* Returns the directory in which cron starts the commands of the user that runs this. */
static const char *own_home(void)
{
    const struct passwd *entry = getpwuid(geteuid());
    return entry ? entry->pw_dir : NULL;
}

static void make_job(struct reader *reader, const struct crontab_entry *entry, const char *name,
                     const char *home)
{
    struct arena *arena = reader->arena;
    struct draft draft = {.zone = entry->zone, .dst = HORA_DST_ONCE, .dialect = HORA_CRON_UNIX, .days = -1};
    struct job *job = &draft.job;
    job_set_defaults(reader, job);
    job->name = arena_text(arena, name, strlen(name));
    job->place = entry->place;
    job->command.shell = arena_text(arena, entry->command, strlen(entry->command));
    job->shell = arena_text(arena, entry->shell, strlen(entry->shell));
    job->overlap = OVERLAP_ALLOW;
    job->overlap_max = CRON_RUNS;
    job->environment.clean = true;
    job->environment.variables = entry->variables;
    job->environment.count = entry->variable_count;
    job->user = entry->user ? arena_text(arena, entry->user, strlen(entry->user)) : NULL;
    const char *directory = entry->home ? entry->home : entry->user ? NULL : home;
    job->directory = directory ? arena_text(arena, directory, strlen(directory)) : NULL;
    job->input_size = entry->input ? strlen(entry->input) : 0;
    job->input = entry->input ? arena_text(arena, entry->input, job->input_size) : NULL;
    (void)draft_add_cron(reader, &draft, entry->schedule, &entry->place, 0);
    *reader_add_job(reader) = draft.job;
    if (entry->mail_to && entry->mail_to[0] != '\0')
        /* Once for each setting, if it has an entry: the report keeps equal lines once. */
        report_warning(&reader->report, &entry->mail_place,
                       "output is not mailed to %s: hora sends no mail; use on_failure",
                       report_quote(&reader->report, entry->mail_to));
    if (strchr(entry->schedule, '~'))
        report_warning(&reader->report, &entry->place,
                       "the random time of %s is a fixed one, which its name determines", name);
}

void crontab_make_jobs(struct reader *reader)
{
    const char *home = own_home();
    const char **names = crontab_names(reader);
    for (size_t i = 0; i < reader->entry_count; i++)
        make_job(reader, &reader->entries[i], names[i], home);
}
