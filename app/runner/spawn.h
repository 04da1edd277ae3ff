/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.h - what a new process does before its program runs
 *
 * process.c prepares a plan and starts the process, which runs spawn_child in the memory of the runner. Both
 * sides see the same plan: the child reports a failure by writing `step` and `error`. */
#ifndef APP_SPAWN_H
#define APP_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runner/process.h"

/* What a start can fail at. */
enum spawn_step {
    STEP_NONE, /* nothing has failed */
    STEP_PIDFD,
    STEP_CGROUP,
    STEP_SESSION,
    STEP_DESCRIPTORS,
    STEP_LIMIT,
    STEP_NICE,
    STEP_GROUPS,
    STEP_GROUP,
    STEP_USER,
    STEP_DIRECTORY,
    STEP_PARENT,
    STEP_EXECUTE,
};

enum { SPAWN_LIMITS = 6 };

/* A limit as the system call expects it. */
struct spawn_limit {
    int resource;
    const char *name; /* for messages */
    struct {
        uint64_t soft, hard;
    } value;
};

struct spawn_plan {
    const struct process_spec *spec;
    bool set_user;
    struct spawn_limit limits[SPAWN_LIMITS];
    size_t limit_count;
    bool searched;     /* the program is looked for in PATH */
    char **paths;      /* of the program, in the order of PATH; ends with NULL */
    char **shell_argv; /* for a script without #!; the child fills in the path at [1] */
    pid_t parent;
    int pidfd; /* the kernel writes it before the child runs */

    enum spawn_step step; /* that failed */
    int error;            /* errno of it */
    size_t failed_limit;  /* STEP_LIMIT: its index */
};

/* The function of the new process; `arg` is the plan. It does not return: it executes the program, or reports
 * and exits. */
int spawn_child(void *arg);

#endif
