/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - what the parts of the reader of job files share
 *
 * reader.c reads the files into trees (node.h) and crontab entries. Then it makes groups and calendars, and then
 * jobs, which may refer to them wherever they stand. The tables of keys (schema.h) say which function reads
 * which value. Each function reports what is wrong and goes on, so that all problems are found at once. */
#ifndef APP_READER_H
#define APP_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "jobs/arena.h"
#include "jobs/job.h"
#include "jobs/jobs.h"
#include "jobs/node.h"
#include "jobs/report.h"

/* A YAML file that was read. */
struct source {
    const char *file;
    const char *folder;          /* relative paths in the file start here; "" for the working directory */
    struct node *root;           /* a mapping, or NULL if the file has problems */
    const struct node *defaults; /* NULL: none */
    hora_zone *zone;             /* for cron in this file; belongs to the reader */
    hora_dst dst;
    int64_t device, inode; /* to notice a file that is read again; 0 for standard input */
    bool is_open;          /* its include list is being read */
};

/* An entry of a crontab, before it has a name. */
struct crontab_entry {
    struct place place;
    const char *schedule; /* the five fields with single blanks between them, or the @word */
    const char *user;     /* NULL in user form */
    const char *command;  /* up to the first % */
    const char *input;    /* NULL: none */
    const char *base;     /* name of the program, as far as it can be a job name */
    const char *shell;
    const char *home;               /* HOME that the crontab sets, or NULL */
    const char *mail_to;            /* NULL: not set */
    struct place mail_place;        /* of that setting */
    hora_zone *zone;                /* belongs to the reader */
    struct job_variable *variables; /* shared by the entries between two settings */
    size_t variable_count;
};

/* A file of environment variables that was read. */
struct env_file {
    const char *path;
    struct job_environment variables;
    bool is_good;
};

/* jobs_read returns &owner->jobs; so jobs_free finds the arena. */
struct jobs_owner {
    struct jobs jobs;
    struct arena arena;
};

struct reader {
    struct jobs_owner *owner;
    struct jobs *jobs;    /* of the owner, under construction */
    struct arena *arena;  /* of the owner: for what jobs point to */
    struct arena scratch; /* for trees and messages */
    const struct jobs_options *options;
    struct report report;
    struct source **sources;
    size_t source_count;
    struct crontab_entry *entries;
    size_t entry_count;
    hora_zone **zones; /* each name once */
    size_t zone_count;
    struct env_file *env_files; /* each path once */
    size_t env_file_count;
    struct place *setting_places; /* of the settings that a file has given, by their number in the table */
};

/* ---- reader.c ---- */

/* Read a file or a folder, and a text that is in memory. `from` is the place of the `include`, or NULL for a
 * path of the command line. */
void reader_add_path(struct reader *reader, const char *path, const struct node *from);
void reader_add_yaml(struct reader *reader, const char *name, const char *text, size_t size);

void reader_start(struct reader *reader, const struct jobs_options *options);
/* Makes the jobs. Returns NULL if there is a problem. Frees the reader. */
struct jobs *reader_finish(struct reader *reader, struct problems *ret_problems);

/* Reads the whole of a regular file that the job file names, of up to 1 MB, and adds it to the list of files. The
 * text ends with NUL. Returns NULL after reporting a problem at `place`. */
char *reader_load(struct reader *reader, const char *path, const struct place *place, size_t *ret_size);

/* Reads a file of any kind, or standard input for "-". Returns NULL after reporting a problem. */
char *reader_read_any(struct reader *reader, const char *path, size_t *ret_size);

/* Returns a path of a job file relative to the folder of the file. */
char *reader_path(struct reader *reader, const struct source *source, const char *path);

/* Returns a zone, which belongs to the reader. Returns NULL after reporting a problem. */
hora_zone *reader_zone(struct reader *reader, const char *name, const struct place *place);

/* Reports that there is no such thing, with the nearest of the known names (see text_nearest). Returns
 * false. */
bool reader_unknown(struct reader *reader, const struct place *place, const char *what, const char *name,
                    const char *const *known, size_t count, size_t stride);

/* ---- crontab.c ---- */

/* Adds the entries of a crontab. `owner` is the user that all of them run as, or NULL. */
void crontab_read(struct reader *reader, const char *file, const char *text, size_t size, bool has_users,
                  const char *owner);
/* Gives the entries names, and makes jobs of them. */
void crontab_make_jobs(struct reader *reader);

/* ---- crontab_name.c ---- */

/* Returns a name for the program of a command. It is a valid name of a job. */
const char *crontab_base(struct reader *reader, const char *command);
/* Returns a name for each entry, which differ from each other and from the jobs so far. */
const char **crontab_names(struct reader *reader);

/* ---- job_reader.c ---- */

/* Makes jobs, the calendars and the groups of a file. */
void read_jobs(struct reader *reader, const struct source *source);
void read_defaults(struct reader *reader, const struct source *source);
struct job *reader_add_job(struct reader *reader);
/* Sets everything to what it is if no file says otherwise. */
void job_set_defaults(struct reader *reader, struct job *job);
/* Returns true if a text is valid as the name of a job, and of other things. */
bool is_name(const char *text);

/* ---- calendar_reader.c, settings_reader.c ---- */

void read_calendars(struct reader *reader, const struct source *source);
void read_groups(struct reader *reader, const struct source *source);
void read_settings(struct reader *reader, const struct source *source);

/* ---- after_reader.c ---- */

/* Checks that the targets of `after` exist and that there are no circles. The jobs are sorted. */
void check_after(struct reader *reader);

#endif
