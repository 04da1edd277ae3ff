/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - read job files: which files, in which order, and what they make together
 *
 *   1. reader_add_path parses each file, and the files that it includes, into a tree or into crontab entries.
 *   2. reader_finish makes groups and calendars of all trees, then the jobs of all trees, then those of the
 *      crontabs, whose names must differ from the others.
 *   3. The jobs are sorted by name, and checked for what concerns several of them.
 *
 * A file is read once, even if several files include it. */
#include "jobs/reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "jobs/schema.h"
#include "text.h"

enum { MOST_BYTES = 16 << 20, MOST_OTHER_BYTES = 1 << 20, MOST_FILES = 1000, MOST_INCLUDES = 20 };

static const char standard_input[] = "standard input";

/* ---- files ---- */

/* Reports a problem with a file. The place is the value that names the file, or the file itself. */
static void file_problem(struct reader *reader, const struct place *place, const char *path, const char *what)
{
    if (place->line > 0)
        report_problem(&reader->report, place, "%s: %s", path, what);
    else
        report_problem(&reader->report, place, "%s", what);
}

/* Reads a file up to its end. Returns NULL after reporting a problem. */
static char *read_stream(struct reader *reader, FILE *stream, const struct place *place, const char *path,
                         size_t most, size_t *ret_size)
{
    size_t used = 0, size = 1 << 14;
    char *text = memory(size);
    for (size_t count; (count = fread(text + used, 1, size - 1 - used, stream)) > 0;) {
        used += count;
        if (used > most)
            break;
        if (used == size - 1) {
            char *larger = memory(2 * size);
            memcpy(larger, text, used);
            free(text);
            text = larger;
            size *= 2;
        }
    }
    char *copy = NULL;
    if (used > most)
        file_problem(reader, place, path,
                     arena_format(&reader->scratch, "the file has more than %zu MB", most >> 20));
    else if (ferror(stream))
        file_problem(reader, place, path, strerror(errno));
    else
        copy = arena_text(&reader->scratch, text, used);
    free(text);
    *ret_size = used;
    return copy;
}

/* Opens a file for reading. Returns NULL after reporting a problem. A pipe is accepted only if `any_kind`. */
static FILE *open_file(struct reader *reader, const char *path, const struct place *place, bool any_kind,
                       struct stat *ret_status)
{
    if (stat(path, ret_status) < 0) {
        file_problem(reader, place, path, strerror(errno));
        return NULL;
    }
    if (S_ISDIR(ret_status->st_mode) || (!S_ISREG(ret_status->st_mode) && !any_kind)) {
        file_problem(reader, place, path, "not a regular file");
        return NULL;
    }
    FILE *stream = fopen(path, "re");
    if (!stream)
        file_problem(reader, place, path, strerror(errno));
    return stream;
}

/* Adds a path to the list of files, once. Returns the copy in the list. */
static const char *add_file(struct reader *reader, const char *path)
{
    struct jobs *jobs = reader->jobs;
    for (size_t i = 0; i < jobs->file_count; i++)
        if (strcmp(jobs->files[i], path) == 0)
            return jobs->files[i];
    char *copy = arena_text(reader->arena, path, strlen(path));
    *arena_add(reader->arena, jobs->files, jobs->file_count) = copy;
    return copy;
}

char *reader_load(struct reader *reader, const char *path, const struct place *place, size_t *ret_size)
{
    struct stat status;
    FILE *stream = open_file(reader, path, place, false, &status);
    if (!stream)
        return NULL;
    (void)add_file(reader, path);
    char *text = read_stream(reader, stream, place, path, MOST_OTHER_BYTES, ret_size);
    (void)fclose(stream);
    return text;
}

char *reader_path(struct reader *reader, const struct source *source, const char *path)
{
    const char *folder = path[0] == '/' ? "" : source->folder;
    return arena_format(reader->arena, "%s%s", folder, path);
}

/* Returns the part of a path up to the last slash, or "". */
static const char *folder_of(struct reader *reader, const char *path)
{
    const char *slash = strrchr(path, '/');
    return arena_text(reader->arena, path, slash ? (size_t)(slash - path) + 1 : 0);
}

/* ---- zones ---- */

hora_zone *reader_zone(struct reader *reader, const char *name, const struct place *place)
{
    hora_zone *zone;
    hora_error error;
    for (size_t i = 0; i < reader->zone_count; i++)
        if (strcmp(hora_zone_name(reader->zones[i]), name) == 0)
            return reader->zones[i];
    if (hora_zone_new(name, NULL, &zone, &error) < 0) {
        report_problem(&reader->report, place, "%s", error.message);
        return NULL;
    }
    *arena_add(&reader->scratch, reader->zones, reader->zone_count) = zone;
    return zone;
}

bool reader_unknown(struct reader *reader, const struct place *place, const char *what, const char *name,
                    const char *const *known, size_t count, size_t stride)
{
    if (report_is_full(&reader->report))
        return false;
    const char *nearest = text_nearest(name, known, count, stride);
    const char *quoted = report_quote(&reader->report, name);
    if (nearest)
        return report_problem(&reader->report, place, "unknown %s %s; did you mean \"%s\"?", what, quoted,
                              nearest);
    return report_problem(&reader->report, place, "unknown %s %s", what, quoted);
}

/* ---- YAML files ---- */

static bool read_include(const struct slot *slot, const struct node *node, void *target)
{
    char *path = NULL;
    (void)target;
    if (!read_path(slot, node, &path))
        return false;
    reader_add_path(slot->reader, path, node);
    return true;
}

/* Reads the keys that concern the file itself. */
static void read_own_keys(struct reader *reader, struct source *source)
{
    static const struct key keys[] = {
        {"zone", read_zone, 0, 0, 0, NULL, 0},
        {"dst", read_choice, 0, 0, 0, dst_words, 0},
        {"defaults", NULL, 0, 0, 0, NULL, 0},
        {"include", read_include, 0, 0, 0, NULL, 0},
    };
    const struct node *values[KEY_COUNT(keys)] = {NULL};
    int dst = HORA_DST_LITERAL;
    for (size_t i = 0; i < KEY_COUNT(keys); i++)
        values[i] = node_get(source->root, keys[i].name);
    if (values[0])
        (void)read_zone(&(struct slot){reader, source, &keys[0]}, values[0], &source->zone);
    if (values[1] && read_choice(&(struct slot){reader, source, &keys[1]}, values[1], &dst))
        source->dst = (hora_dst)dst;
    if (values[2] && values[2]->kind == NODE_MAPPING)
        source->defaults = values[2];
    else if (values[2])
        schema_refuse(&(struct slot){reader, source, &keys[2]}, values[2], "a mapping of keys of jobs");
    source->is_open = true;
    if (values[3])
        (void)schema_each(&(struct slot){reader, source, &keys[3]}, values[3], read_include, NULL);
    source->is_open = false;
}

/* Parses a YAML text into a source. */
static void add_yaml(struct reader *reader, struct source *source, const char *text, size_t size)
{
    struct place place = {source->file, 0, 0};
    size_t problems = reader->report.problem_count;
    const char *zone = reader->options && reader->options->zone ? reader->options->zone : "local";
    source->zone = reader_zone(reader, zone, &place);
    struct node *root =
        node_parse(&reader->scratch, reader->arena, &reader->report, source->file, text, size);
    *arena_add(&reader->scratch, reader->sources, reader->source_count) = source;
    bool is_empty = !root || (root->kind == NODE_SCALAR && root->plain && root->text[0] == '\0');
    if (is_empty) {
        if (reader->report.problem_count == problems)
            report_problem(&reader->report, &place, "the file is empty; it needs at least jobs: {}");
        return;
    }
    if (root->kind != NODE_MAPPING) {
        report_problem(&reader->report, &root->place,
                       "a job file must be a mapping that starts with a key such "
                       "as jobs:");
        return;
    }
    source->root = root;
    read_own_keys(reader, source);
}

void reader_add_yaml(struct reader *reader, const char *name, const char *text, size_t size)
{
    struct source *source = arena_alloc(&reader->scratch, sizeof *source);
    source->file = arena_text(reader->arena, name, strlen(name));
    source->folder = "";
    add_yaml(reader, source, text, size);
}

/* ---- paths ---- */

static bool has_ending(const char *path, const char *ending)
{
    size_t length = strlen(path), size = strlen(ending);
    return length > size && strcmp(path + length - size, ending) == 0;
}

static bool is_yaml(const char *path)
{
    return has_ending(path, ".yaml") || has_ending(path, ".yml");
}

static bool is_system_crontab(const struct reader *reader, const char *path)
{
    static const char folder[] = "/etc/cron.d/";
    enum crontab_form form = reader->options ? reader->options->crontab : CRONTAB_AUTO;
    if (form != CRONTAB_AUTO)
        return form == CRONTAB_SYSTEM;
    return strcmp(path, "/etc/crontab") == 0 || strncmp(path, folder, sizeof folder - 1) == 0;
}

/* Returns true if the file has been read before. If that is a circle, reports it at `place`. */
static bool is_known(struct reader *reader, const struct stat *status, const char *path,
                     const struct place *place)
{
    for (size_t i = 0; i < reader->source_count; i++) {
        const struct source *source = reader->sources[i];
        if (source->inode != (int64_t)status->st_ino || source->device != (int64_t)status->st_dev ||
            !S_ISREG(status->st_mode))
            continue;
        if (source->is_open)
            file_problem(reader, place, path, "the file includes itself");
        return true;
    }
    return false;
}

/* Returns how many files are being read, each of which includes the next. */
static int open_sources(const struct reader *reader)
{
    int count = 0;
    for (size_t i = 0; i < reader->source_count; i++)
        count += reader->sources[i]->is_open;
    return count;
}

static void add_one_file(struct reader *reader, const char *path, const struct place *place, bool is_included)
{
    struct stat status;
    size_t size = 0;
    if (reader->source_count >= MOST_FILES || open_sources(reader) > MOST_INCLUDES) {
        file_problem(reader, place, path, "too many files, or too many that include each other");
        return;
    }
    FILE *stream = open_file(reader, path, place, !is_included, &status);
    if (!stream)
        return;
    char *text = NULL;
    if (!is_known(reader, &status, path, place))
        text = read_stream(reader, stream, place, path, MOST_BYTES, &size);
    (void)fclose(stream);
    if (!text)
        return;
    const char *file = add_file(reader, path);
    if (!is_yaml(path)) {
        crontab_read(reader, file, text, size, is_system_crontab(reader, path), NULL);
        return;
    }
    struct source *source = arena_alloc(&reader->scratch, sizeof *source);
    source->file = file;
    source->folder = folder_of(reader, path);
    source->device = (int64_t)status.st_dev;
    source->inode = (int64_t)status.st_ino;
    add_yaml(reader, source, text, size);
}

static int wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && is_yaml(entry->d_name);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_folder(struct reader *reader, const char *path, const struct place *place)
{
    struct dirent **entries;
    int count = scandir(path, &entries, wanted, by_bytes);
    if (count < 0) {
        file_problem(reader, place, path, strerror(errno));
        return;
    }
    if (count == 0)
        file_problem(reader, place, path, "the folder has no files *.yaml or *.yml");
    for (int i = 0; i < count; i++) {
        const char *slash = has_ending(path, "/") ? "" : "/";
        char *file = arena_format(reader->arena, "%s%s%s", path, slash, entries[i]->d_name);
        struct place whole = {file, 0, 0};
        add_one_file(reader, file, place->line > 0 ? place : &whole, false);
        free(entries[i]);
    }
    free(entries);
}

void reader_add_path(struct reader *reader, const char *path, const struct node *from)
{
    struct stat status;
    struct place whole = {arena_text(reader->arena, path, strlen(path)), 0, 0};
    const struct place *place = from ? &from->place : &whole;
    size_t size;
    if (!from && strcmp(path, "-") == 0) {
        whole.file = standard_input;
        char *text = read_stream(reader, stdin, place, standard_input, MOST_BYTES, &size);
        if (text)
            reader_add_yaml(reader, standard_input, text, size);
    } else if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        add_folder(reader, path, place);
    } else {
        add_one_file(reader, path, place, from != NULL);
    }
}

char *reader_read_any(struct reader *reader, const char *path, size_t *ret_size)
{
    struct stat status;
    struct place place = {arena_text(reader->arena, path, strlen(path)), 0, 0};
    if (strcmp(path, "-") == 0) {
        place.file = standard_input;
        return read_stream(reader, stdin, &place, standard_input, MOST_BYTES, ret_size);
    }
    FILE *stream = open_file(reader, path, &place, true, &status);
    if (!stream)
        return NULL;
    char *text = read_stream(reader, stream, &place, path, MOST_BYTES, ret_size);
    (void)fclose(stream);
    return text;
}

/* ---- jobs of all files ---- */

static int by_name(const void *left, const void *right)
{
    const struct job *a = *(struct job *const *)left, *b = *(struct job *const *)right;
    int order = strcmp(a->name, b->name);
    if (order == 0)
        order = strcmp(a->place.file, b->place.file);
    return order != 0 ? order : a->place.line - b->place.line;
}

/* Sorts the jobs, and reports those with the same name. */
static void sort_jobs(struct reader *reader)
{
    struct jobs *jobs = reader->jobs;
    if (jobs->count > 0)
        qsort(jobs->jobs, jobs->count, sizeof(*jobs->jobs), by_name);
    for (size_t i = 1; i < jobs->count; i++) {
        const struct job *job = jobs->jobs[i], *other = jobs->jobs[i - 1];
        if (strcmp(job->name, other->name) == 0)
            report_problem(&reader->report, &job->place, "the job %s is already in %s:%d", job->name,
                           other->place.file, other->place.line);
    }
}

static void make_all(struct reader *reader)
{
    for (size_t i = 0; i < reader->source_count; i++) {
        const struct source *source = reader->sources[i];
        if (!source->root || !source->zone)
            continue;
        read_settings(reader, source);
        read_groups(reader, source);
        read_calendars(reader, source);
    }
    for (size_t i = 0; i < reader->source_count; i++) {
        const struct source *source = reader->sources[i];
        if (!source->root || !source->zone)
            continue;
        read_defaults(reader, source);
        read_jobs(reader, source);
    }
    crontab_make_jobs(reader);
    sort_jobs(reader);
    check_after(reader);
    if (reader->jobs->count == 0 && reader->jobs->file_count > 0) {
        struct place place = {reader->jobs->files[0], 0, 0};
        report_warning(&reader->report, &place, "there are no jobs");
    }
}

void reader_start(struct reader *reader, const struct jobs_options *options)
{
    *reader = (struct reader){.options = options};
    reader->owner = memory(sizeof *reader->owner);
    *reader->owner = (struct jobs_owner){0};
    reader->jobs = &reader->owner->jobs;
    reader->arena = &reader->owner->arena;
    reader->report.arena = &reader->scratch;
}

struct jobs *reader_finish(struct reader *reader, struct problems *ret_problems)
{
    struct jobs *jobs = reader->jobs;
    make_all(reader);
    *ret_problems = (struct problems){0};
    ret_problems->lines = report_lines(&reader->report, true, &ret_problems->count);
    jobs->warnings = report_lines(&reader->report, false, &jobs->warning_count);
    for (size_t i = 0; i < reader->zone_count; i++)
        hora_zone_unref(reader->zones[i]);
    arena_free(&reader->scratch);
    if (ret_problems->count == 0)
        return jobs;
    jobs_free(jobs);
    return NULL;
}

struct jobs *jobs_read(const char *const *paths, size_t count, const struct jobs_options *options,
                       struct problems *ret_problems)
{
    struct reader reader;
    reader_start(&reader, options);
    for (size_t i = 0; i < count; i++)
        reader_add_path(&reader, paths[i], NULL);
    return reader_finish(&reader, ret_problems);
}

void jobs_free(struct jobs *jobs)
{
    if (!jobs)
        return;
    for (size_t i = 0; i < jobs->count; i++) {
        struct job *job = jobs->jobs[i];
        for (size_t j = 0; j < job->trigger_count; j++) {
            hora_cron_unref(job->triggers[j].cron);
            hora_zone_unref(job->triggers[j].zone);
        }
        for (size_t j = 0; j < job->calendar_count; j++)
            hora_calendar_unref(job->calendars[j]);
    }
    for (size_t i = 0; i < jobs->calendar_count; i++)
        hora_calendar_unref(jobs->calendars[i]->calendar);
    for (size_t i = 0; i < jobs->warning_count; i++)
        free(jobs->warnings[i]);
    free(jobs->warnings);
    struct jobs_owner *owner = (struct jobs_owner *)(void *)jobs;
    arena_free(&owner->arena);
    free(owner);
}

void problems_free(struct problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        free(problems->lines[i]);
    free(problems->lines);
    *problems = (struct problems){0};
}

static int compare_name(const void *key, const void *element)
{
    return strcmp(key, (*(struct job *const *)element)->name);
}

struct job *jobs_find(const struct jobs *jobs, const char *name)
{
    if (jobs->count == 0)
        return NULL;
    struct job **found = bsearch(name, jobs->jobs, jobs->count, sizeof(*jobs->jobs), compare_name);
    return found ? *found : NULL;
}
