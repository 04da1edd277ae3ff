/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - start a process of a job, and end it
 *
 * The process is started with vfork semantics: the child shares the memory of the runner until it calls
 * execve, and only the calling thread waits for that. So the runner may have any number of threads, and its
 * size does not matter. Between the two, the child makes system calls only: it takes no lock, allocates
 * nothing, and does not call functions of the C library that talk to other threads (setuid and its like).
 *
 * The child has its own session and process group, no descriptors but its standard ones, no blocked or
 * ignored signals, and is killed by the kernel when the thread that started it ends (PR_SET_PDEATHSIG), which
 * is the main thread of the runner: so it must be started there.
 *
 * SIGCHLD must not be ignored, because the kernel then forgets how children ended. */
#ifndef APP_PROCESS_H
#define APP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <hora/base.h>

#include "jobs/job.h"

/* What a process is started with. Everything is prepared before, because the child must not allocate. */
struct process_spec {
    const char *const *argv; /* argv[0] is looked up in PATH of `environment` unless it has a slash */
    const char *const *environment;
    const char *directory; /* NULL: stay */
    int umask;             /* -1: as it is */
    int nice;              /* added */
    bool set_user;         /* change user, group and supplementary groups */
    uid_t user;
    gid_t group;
    const gid_t *groups;
    size_t group_count;
    const struct job_limits *limits; /* NULL: none */
    int64_t open_files;       /* soft limit of open files, unless `limits` has one; 0: that of the runner */
    int input, output, error; /* become 0, 1 and 2; they stay open in the parent */
    int cgroup;               /* descriptor of a cgroup v2 folder to start in; -1: none */
};

struct process {
    pid_t pid;
    int fd;                   /* readable when the process has ended; -1 after process_reap */
    int64_t memory_of_runner; /* see max_memory */
};

/* What became of a process. */
struct process_end {
    bool exited; /* by itself, with `code`; otherwise by signal `code`, where 0 means that it is not known */
    int code;
    bool dumped_core;
    hora_ns user_time, system_time;
    /* The most memory that one process among it and the children it waited for has used, in bytes. 0: not
     * known, because it was not more than the runner itself had used when it started the process. Linux
     * counts that as memory of the process. */
    int64_t max_memory;
    int64_t blocks_read, blocks_written, major_faults, context_switches;
};

/* Starts a process. Returns 0, or a negative errno with a text that says which step failed: "/nonexistent: No
 * such file or directory", "cannot change to directory /x: Permission denied". Then nothing is left of it. */
int process_start(const struct process_spec *spec, struct process *ret_process, char *reason,
                  size_t reason_size);

/* Sends a signal to the process group. A group that is gone is not an error. After process_reap it does
 * nothing, because the number of the group may belong to others then. So what a process has left in the
 * background is killed between its end and process_reap. */
void process_signal(const struct process *process, int signal);

/* Collects a process whose fd is readable, and closes fd. Returns false if it has not ended. */
bool process_reap(struct process *process, struct process_end *ret_end);

/* Pid 1, or a subreaper: collects orphans, which are children that process_start has not started. Returns how
 * many. `is_ours` tells which children belong to runs. Stops at a child of a run that has ended, so it is
 * called again after process_reap. */
int process_reap_orphans(bool (*is_ours)(pid_t pid, void *arg), void *arg);

/* Kills all processes whose environment has HORA_RUNNER=`mark`: those that a runner left behind that was
 * killed; with their process groups, but never the caller or its group. Waits until they have ended, for a
 * few seconds at most. Returns how many process groups were killed. */
int process_kill_marked(const char *mark);

/* Finds the numbers of a user and its groups for process_spec; group_name may be NULL. Both may be numbers,
 * also ones that the user database does not know; then the group must be given. *ret_groups and *ret_home are
 * allocated. Returns 0, or -1 with a text ("there is no user x"). */
int process_find_user(const char *user_name, const char *group_name, uid_t *ret_user, gid_t *ret_group,
                      gid_t **ret_groups, size_t *ret_group_count, char **ret_home, char *reason,
                      size_t reason_size);

/* ---- cgroups (cgroup.c) ---- */

/* Makes a cgroup v2 folder for a run, with its limits, below the cgroup of the runner. Returns a descriptor
 * of the folder; -1 with a text if that is not permitted or not possible, which is not fatal: the caller logs
 * it once. */
int cgroup_make(const char *name, const struct job_limits *limits, char *reason, size_t reason_size);
/* Kills what is left in it (cgroup.kill), removes the folder and closes the descriptor. */
void cgroup_remove(int cgroup, const char *name);

#endif
