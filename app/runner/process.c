/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - start processes, signal them and collect them
 *
 * How a process is started    process_start prepares everything that needs memory (the paths of the program,
 *                             the limits, the arguments of a shell) and calls clone with CLONE_VM and
 *                             CLONE_VFORK: the child runs spawn_child in the memory of the runner, and the
 *                             calling thread waits in the kernel until the child executes its program or
 *                             exits. Nothing is copied, whatever the size of the runner, and no lock of
 *                             another thread can be in the way. Failures come back in the plan.
 * Why clone, not vfork        The child of vfork returns from the function that called it and goes on to use
 *                             its stack frame, which the parent will use again. The child of clone starts in
 *                             its own function, with its own stack. posix_spawn does the same, but knows
 *                             neither limits, users, cgroups nor PR_SET_PDEATHSIG.
 * Signals                     All signals are blocked in the calling thread meanwhile, also those that the C
 *                             library keeps to itself, so that no handler runs in the child.
 * Invariants                  1. The number of a process is valid until process_reap: a process that has
 *                                ended keeps it until its parent collects it.
 *                             2. A start that fails leaves neither a process nor a descriptor. */
#include "runner/process.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "runner/spawn.h"

/* ThreadSanitizer replaces clone by a function that takes every child for one with its own memory, and lets
 * it change what it knows of the threads of this process. The C library also has the original, as __clone. */
#if defined(__SANITIZE_THREAD__)
#define BUILT_WITH_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BUILT_WITH_TSAN
#endif
#endif
#ifdef BUILT_WITH_TSAN
extern int __clone(int (*run)(void *arg), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

enum {
    CHILD_STACK = 16 * 1024, /* the child needs a tenth of it */
    BYTES_PER_KB = 1024,
    MEMORY_TOLERANCE = 1024 * 1024, /* by which the kernel's counts of memory may differ */
    SIGNAL_MASK_SIZE = _NSIG / 8,
    CPU_GRACE_SECONDS = 1, /* between SIGXCPU and SIGKILL */
};

/* ---- preparation ---- */

static const char *find_variable(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

/* Lists the paths of a program in the folders of PATH, in one block. An empty folder is the current one. */
static char **list_paths(const char *name, const char *const *environment)
{
    const char *folders = find_variable(environment, "PATH");
    if (strchr(name, '/') != NULL || name[0] == '\0')
        folders = "";
    else if (folders == NULL)
        folders = "/usr/local/bin:/usr/bin:/bin";
    size_t count = 1;
    for (const char *at = folders; *at != '\0'; at++)
        count += *at == ':';
    size_t name_size = strlen(name) + 1;
    char **paths = memory((count + 1) * sizeof *paths + strlen(folders) + count * (name_size + 1));
    char *text = (char *)(paths + count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(folders, ":");
        paths[i] = text;
        memcpy(text, folders, length);
        text += length;
        if (length > 0)
            *text++ = '/';
        memcpy(text, name, name_size);
        text += name_size;
        folders += length + 1;
    }
    paths[count] = NULL;
    return paths;
}

/* Makes the arguments with which the shell runs a script without #!. The path at [1] is not known yet. */
static char **make_shell_argv(const char *const *argv)
{
    static char shell[] = "/bin/sh";
    size_t count = 1;
    while (argv[count] != NULL)
        count++;
    char **shell_argv = memory((count + 2) * sizeof *shell_argv);
    shell_argv[0] = shell;
    shell_argv[1] = NULL;
    memcpy(shell_argv + 2, argv + 1, count * sizeof *argv); /* with the NULL at the end */
    return shell_argv;
}

/* Adds a limit. The hard limit is the same, so that the process cannot raise it. */
static void add_limit(struct spawn_plan *plan, int resource, const char *name, int64_t value)
{
    if (value < 0)
        return;
    struct spawn_limit *limit = &plan->limits[plan->limit_count++];
    limit->resource = resource;
    limit->name = name;
    limit->value.soft = limit->value.hard = (uint64_t)value;
}

/* The limit of processor time. At the soft limit a process gets SIGXCPU, whose name says what happened, and
 * at the hard limit SIGKILL. If both were the same, it would get SIGKILL only. */
static void add_cpu_limit(struct spawn_plan *plan, int64_t seconds)
{
    struct rlimit present;
    add_limit(plan, RLIMIT_CPU, "processor time", seconds);
    if (seconds < 0 || getrlimit(RLIMIT_CPU, &present) < 0)
        return;
    struct spawn_limit *limit = &plan->limits[plan->limit_count - 1];
    if (present.rlim_max == RLIM_INFINITY || present.rlim_max > limit->value.soft)
        limit->value.hard = limit->value.soft + CPU_GRACE_SECONDS;
}

static void add_limits(struct spawn_plan *plan, const struct job_limits *limits)
{
    add_cpu_limit(plan, limits->cpu_seconds);
    add_limit(plan, RLIMIT_AS, "memory", limits->memory);
    add_limit(plan, RLIMIT_NOFILE, "open files", limits->files);
    add_limit(plan, RLIMIT_NPROC, "processes", limits->processes);
    add_limit(plan, RLIMIT_FSIZE, "file size", limits->file_size);
    add_limit(plan, RLIMIT_CORE, "core dumps", limits->core);
    assert(plan->limit_count <= SPAWN_LIMITS);
}

/* The soft limit of open files that the runner was started with: it raises its own. */
static void add_files_limit(struct spawn_plan *plan, const struct process_spec *spec)
{
    struct rlimit present;
    bool is_given = spec->limits != NULL && spec->limits->files >= 0;
    if (is_given || spec->open_files <= 0 || getrlimit(RLIMIT_NOFILE, &present) < 0)
        return;
    add_limit(plan, RLIMIT_NOFILE, "open files", spec->open_files);
    plan->limits[plan->limit_count - 1].value.hard = present.rlim_max;
}

/* A runner without privileges cannot set its groups, but may name the user that it runs as. */
static bool is_own_user(const struct process_spec *spec)
{
    return geteuid() != 0 && spec->user == geteuid() && spec->user == getuid() && spec->group == getegid();
}

static void prepare(const struct process_spec *spec, struct spawn_plan *ret_plan)
{
    *ret_plan = (struct spawn_plan){
        .spec = spec,
        .set_user = spec->set_user && !is_own_user(spec),
        .searched = strchr(spec->argv[0], '/') == NULL,
        .paths = list_paths(spec->argv[0], spec->environment),
        .shell_argv = make_shell_argv(spec->argv),
        .parent = getpid(),
        .pidfd = -1,
    };
    if (spec->limits != NULL)
        add_limits(ret_plan, spec->limits);
    add_files_limit(ret_plan, spec);
}

/* ---- messages ---- */

/* Explains why no program could be executed. "No such file" for a file that exists means its interpreter. */
static void explain_execute(const struct spawn_plan *plan, char *reason, size_t size)
{
    const char *name = plan->spec->argv[0];
    if (plan->error == ENOENT) {
        for (char **path = plan->paths; *path != NULL; path++) {
            if ((*path)[0] == '/' && access(*path, F_OK) == 0) {
                (void)snprintf(reason, size, "%s: the interpreter of this program does not exist", *path);
                return;
            }
        }
    }
    if (plan->error == ENOENT && plan->searched)
        (void)snprintf(reason, size, "%s: not found in PATH", name);
    else
        (void)snprintf(reason, size, "%s: %s", name, strerror(plan->error));
}

static void explain(const struct spawn_plan *plan, char *reason, size_t size)
{
    const char *error = strerror(plan->error);
    switch (plan->step) {
    case STEP_NONE:
        break;
    case STEP_PIDFD:
        (void)snprintf(reason, size,
                       "cannot start a process: this kernel or sandbox has no pidfds; they "
                       "came with Linux 5.3");
        break;
    case STEP_CGROUP:
        (void)snprintf(reason, size, "cannot enter the cgroup of the run: %s", error);
        break;
    case STEP_SESSION:
        (void)snprintf(reason, size, "cannot start a session: %s", error);
        break;
    case STEP_DESCRIPTORS:
        (void)snprintf(reason, size, "cannot connect standard input, output and error: %s", error);
        break;
    case STEP_LIMIT:
        (void)snprintf(reason, size, "cannot set the limit of %s to %llu: %s",
                       plan->limits[plan->failed_limit].name,
                       (unsigned long long)plan->limits[plan->failed_limit].value.soft, error);
        break;
    case STEP_NICE:
        (void)snprintf(reason, size, "cannot change the nice value by %d: %s", plan->spec->nice, error);
        break;
    case STEP_GROUPS:
        (void)snprintf(reason, size, "cannot take the supplementary groups of user %u: %s",
                       (unsigned)plan->spec->user, error);
        break;
    case STEP_GROUP:
        (void)snprintf(reason, size, "cannot change to group %u: %s", (unsigned)plan->spec->group, error);
        break;
    case STEP_USER:
        (void)snprintf(reason, size, "cannot change to user %u: %s", (unsigned)plan->spec->user, error);
        break;
    case STEP_DIRECTORY:
        (void)snprintf(reason, size, "cannot change to directory %s: %s", plan->spec->directory, error);
        break;
    case STEP_PARENT:
        (void)snprintf(reason, size, "cannot bind the process to the runner: %s", error);
        break;
    case STEP_EXECUTE:
        explain_execute(plan, reason, size);
        break;
    }
}

/* ---- start and end ---- */

/* Starts the child and waits until it has executed its program or failed. Returns its number, or -1. */
static pid_t run_child(struct spawn_plan *plan)
{
    _Alignas(64) char stack[CHILD_STACK];
    const uint64_t all[2] = {UINT64_MAX, UINT64_MAX};
    uint64_t before[2];
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, all, before, (size_t)SIGNAL_MASK_SIZE);
    pid_t pid = clone(spawn_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, plan,
                      &plan->pidfd);
    int error = errno;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, (size_t)SIGNAL_MASK_SIZE);
    errno = error;
    return pid;
}

/* Returns the most memory that the runner has used so far, in bytes. */
static int64_t own_max_memory(void)
{
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 ? (int64_t)use.ru_maxrss * BYTES_PER_KB : 0;
}

int process_start(const struct process_spec *spec, struct process *ret_process, char *reason,
                  size_t reason_size)
{
    struct spawn_plan plan;
    prepare(spec, &plan);
    int64_t memory_of_runner = own_max_memory();
    pid_t pid = run_child(&plan);
    if (pid < 0 && errno == EINVAL) {
        plan.step = STEP_PIDFD;
        plan.error = ENOSYS;
        explain(&plan, reason, reason_size);
    } else if (pid < 0) {
        plan.error = errno;
        (void)snprintf(reason, reason_size, "cannot start a process: %s", strerror(plan.error));
    } else if (plan.step != STEP_NONE) {
        explain(&plan, reason, reason_size);
        while (wait4(pid, NULL, 0, NULL) < 0 && errno == EINTR)
            ;
        if (plan.pidfd >= 0)
            (void)close(plan.pidfd);
    } else {
        *ret_process = (struct process){.pid = pid, .fd = plan.pidfd, .memory_of_runner = memory_of_runner};
    }
    free(plan.paths);
    free(plan.shell_argv);
    return -plan.error;
}

void process_signal(const struct process *process, int signal)
{
    if (process->fd >= 0 && process->pid > 1) /* kill(0) and kill(-1) would mean others */
        (void)kill(-process->pid, signal);
}

static hora_ns ns_of(const struct timeval *time)
{
    return HORA_SECONDS(time->tv_sec) + HORA_US(time->tv_usec);
}

bool process_reap(struct process *process, struct process_end *ret_end)
{
    int status = 0;
    struct rusage use;
    memset(&use, 0, sizeof use);
    assert(process->fd >= 0);
    pid_t pid = wait4(process->pid, &status, WNOHANG, &use);
    if (pid == 0)
        return false;
    int64_t max_memory = (int64_t)use.ru_maxrss * BYTES_PER_KB;
    (void)close(process->fd);
    process->fd = -1;
    *ret_end = (struct process_end){
        .exited = pid > 0 && WIFEXITED(status),
        .code = pid < 0             ? 0
                : WIFEXITED(status) ? WEXITSTATUS(status)
                                    : WTERMSIG(status),
        .dumped_core = pid > 0 && WIFSIGNALED(status) && WCOREDUMP(status),
        .user_time = ns_of(&use.ru_utime),
        .system_time = ns_of(&use.ru_stime),
        .max_memory = max_memory > process->memory_of_runner + MEMORY_TOLERANCE ? max_memory : 0,
        .blocks_read = use.ru_inblock,
        .blocks_written = use.ru_oublock,
        .major_faults = use.ru_majflt,
        .context_switches = use.ru_nvcsw + use.ru_nivcsw,
    };
    return true;
}

int process_reap_orphans(bool (*is_ours)(pid_t pid, void *arg), void *arg)
{
    int count = 0;
    for (;;) {
        siginfo_t child;
        child.si_pid = 0;
        if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) < 0 || child.si_pid == 0 ||
            is_ours(child.si_pid, arg))
            return count;
        if (waitpid(child.si_pid, NULL, WNOHANG) == child.si_pid)
            count++;
    }
}
