/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - jobs as the job files describe them: complete, checked and immutable
 *
 * jobs_read (jobs.h) makes a `struct jobs` from files. It has filled in all defaults, so no field of a job
 * means "default". Everything that a struct points to belongs to the `struct jobs` and is freed with it.
 * hora-jobs(5) describes the same from the point of view of the user. */
#ifndef APP_JOB_H
#define APP_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/clock.h>
#include <hora/cron.h>
#include <hora/trigger.h>
#include <hora/zone.h>

/* Where something stands in a file, for messages. */
struct place {
    const char *file; /* as the user named it; the path of the file inside a directory */
    int line;         /* 1 for the first line; 0: the file as a whole */
    int column;       /* 1 for the first character */
};

enum trigger_kind {
    TRIGGER_CRON,     /* cron: the times of an expression in a zone */
    TRIGGER_EVERY,    /* every: from + k * period, whatever the runs do */
    TRIGGER_DELAY,    /* delay: period after the end of the last run; at once if there was none */
    TRIGGER_AT,       /* at: once */
    TRIGGER_AT_START, /* at_start: once after each start of the runner, after `period` */
};

struct job_trigger {
    enum trigger_kind kind;
    char *text;        /* as written: the expression, the duration or the time */
    hora_cron *cron;   /* CRON */
    hora_zone *zone;   /* of CRON; the others are shown in it */
    bool unix_dialect; /* CRON: five fields, and either day field is enough */
    bool both_days;    /* CRON: five fields, but both day fields must match (`days: and`) */
    hora_dst dst;      /* CRON */
    hora_ns period;    /* EVERY and DELAY: at least 1 s. AT_START: the delay, 0 or more */
    hora_instant from; /* EVERY: a time of the grid; 1970-01-01T00:00:00Z unless given */
    hora_instant at;   /* AT */
    struct place place;
};

/* What happens to a time that comes while a run of the job is in progress. */
enum job_overlap {
    OVERLAP_SKIP,    /* it is skipped */
    OVERLAP_ALLOW,   /* up to overlap_max runs at a time; a further one is skipped */
    OVERLAP_QUEUE,   /* the latest overlap_max times are run afterwards, one after the other */
    OVERLAP_REPLACE, /* the run in progress is stopped, and a new one starts */
};

/* What happens to times that passed while no runner was up. */
enum job_missed {
    MISSED_SKIP, /* nothing */
    MISSED_ONCE, /* one run for all of them */
    MISSED_ALL,  /* a run for each of the latest missed_max */
};

/* What happens to a run that a crash of the runner interrupted. */
enum job_on_crash { CRASH_RERUN, CRASH_SKIP, CRASH_FAIL };

enum job_back_off { BACK_OFF_CONSTANT, BACK_OFF_LINEAR, BACK_OFF_EXPONENTIAL };

/* When to try a failed run again. */
struct job_retry {
    int count; /* further attempts after the first, 0 to 1000 */
    enum job_back_off back_off;
    hora_ns delay;          /* before the second attempt */
    hora_ns max;            /* the longest pause */
    double jitter;          /* 0 to 1: a random part of each pause, by which it is shortened */
    bool codes[256];        /* exit statuses that are worth another attempt */
    bool signals, timeouts; /* so are ends by a signal, and timeouts */
    bool past_next;         /* try again although the next planned time would have come */
};

/* Each limit is a setrlimit limit, or -1: as the runner has it. Sizes in bytes. */
struct job_limits {
    int64_t cpu_seconds, memory, files, processes, file_size, core;
    /* cgroup v2, where permitted; 0: none. The run gets a group of its own */
    int64_t cgroup_memory;    /* memory.max, in bytes */
    double cgroup_cpu;        /* cpu.max, in processors */
    int64_t cgroup_processes; /* pids.max */
};

struct job_variable {
    char *name, *value;
};

struct job_environment {
    /* start with PATH, HOME, SHELL, USER, LOGNAME and LANG only; otherwise with the runner's own */
    bool clean;
    struct job_variable *variables; /* added in this order: files first, then those of the job */
    size_t count;
};

/* A command: a text for the shell, or the words of a program. */
struct job_command {
    char *shell; /* the text; NULL: argv */
    char **argv; /* ends with NULL */
};

enum job_after_when { AFTER_SUCCESS, AFTER_FAILURE, AFTER_ALWAYS };

struct job_after {
    char *job;
    enum job_after_when when;
    struct place place;
};

/* A named exclusion calendar. */
struct job_calendar {
    char *name;
    hora_calendar *calendar;
    char *text; /* what it excludes, in a form of its own: equal if that is the same */
    struct place place;
};

/* Jobs that share a limit. Among runs that wait, the highest priority goes first, then the oldest. */
struct job_group {
    char *name;
    int limit; /* runs at a time on one node, 1 to 100000 */
    struct place place;
};

struct job_log {
    bool enabled;     /* keep the output in files; otherwise only the tail in the run record */
    int64_t max_size; /* of a file, in bytes, before it is rotated */
    int max_files;    /* rotated files to keep, 0 to 1000 */
};

struct job {
    char *name;        /* 1 to 100 of A-Z a-z 0-9 _ - . and not first . or - */
    char *description; /* NULL: none */
    struct place place;
    struct job_command command;
    char *shell;  /* the program for command.shell: /bin/sh unless given */
    bool enabled; /* false: it is known, and runs only on request */

    struct job_trigger *triggers;
    size_t trigger_count;
    struct job_after *after;
    size_t after_count;
    hora_calendar **calendars; /* times that one of them excludes are no times of the job */
    char **calendar_names;
    char **calendar_texts; /* job_calendar.text of each */
    size_t calendar_count;
    hora_ns spread; /* a fixed delay below this, from the name; 0: none */
    hora_ns jitter; /* a random delay below this for each run; 0: none */

    enum job_overlap overlap;
    int overlap_max; /* ALLOW: 2 to 1000, QUEUE: 1 to 1000 */
    enum job_missed missed;
    int missed_max; /* ALL: 1 to 1000 */
    hora_ns grace;  /* a run that would start later than this after its time is skipped; 0: never too late */
    enum job_on_crash on_crash;

    hora_ns timeout;    /* of one attempt, and of its guard; 0: none */
    hora_ns kill_after; /* between SIGTERM and SIGKILL */
    struct job_retry retry;
    int give_up_after;  /* failed runs in a row; 0: never */
    bool ok_codes[256]; /* exit statuses that count as success: 0 unless given */

    char *user;       /* NULL: that of the runner */
    char *user_group; /* NULL: that of the user */
    char *directory;  /* NULL: HOME of the user if `user` is given, otherwise that of the runner */
    int umask;        /* -1: as the runner */
    int nice;         /* 0: as the runner */
    struct job_limits limits;
    struct job_environment environment;
    char *input; /* text for standard input; NULL: /dev/null */
    size_t input_size;
    bool kill_background; /* when the command ends, kill what it left in its process group */

    struct job_group *group; /* NULL: none */
    int priority;            /* hora_priority: URGENT 2, HIGH 1, NORMAL 0, LOW -1 */
    char **tags;
    size_t tag_count;

    struct job_command guard; /* runs first; if it fails, the run is skipped. shell and argv NULL: none */
    struct job_command on_success, on_failure, on_give_up; /* likewise */
    char *ping;                                            /* address for pings; NULL: none */
    struct job_log log;
    int64_t tail; /* bytes of output to keep in the run record, 0 to 48 KB */
};

/* Settings of the runner that a file may contain; each may be NULL or 0: not given. */
struct job_settings {
    char *store;     /* address of the store */
    char *namespace; /* distinguishes job files that share a store; "hora" unless given */
    char *socket;    /* path of the control socket */
    char *log_directory;
    char *metrics_file; /* written every metrics_every */
    hora_ns metrics_every;
    char *metrics_listen; /* "127.0.0.1:9464" */
    int max_running;      /* runs at a time on this node; 1000 unless given */
    hora_ns keep_history; /* 30 d unless given */
    hora_ns stop_within;  /* 30 s unless given */
};

/* All jobs of all files. */
struct jobs {
    struct job **jobs; /* by name; each is allocated on its own */
    size_t count;
    struct job_group **groups;
    size_t group_count;
    struct job_calendar **calendars;
    size_t calendar_count;
    struct job_settings settings;
    char **files; /* that were read: to watch */
    size_t file_count;
    char **warnings; /* "file:line:column: text" */
    size_t warning_count;
};

#endif
