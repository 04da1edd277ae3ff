/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.c - what a new process does before its program runs
 *
 * The functions of this file run in the child, in the memory of the runner, while the thread that started it
 * waits in the kernel and the other threads go on. Therefore:
 *
 *   1. They make system calls through syscall() only. Wrappers of the C library may take locks that another
 *      thread holds, and change state that the runner shares. setuid, setgid and setgroups are the worst:
 *      they send a signal to all threads of the runner, and change their user too. Sanitizers replace further
 *      wrappers, such as close, and would record that the runner has closed its descriptors.
 *   2. They allocate nothing and write nothing but the plan and their own stack. errno is that of the waiting
 *      thread, which does not use it.
 *   3. They are not instrumented by sanitizers, which would see calls that never return.
 *   4. All signals are blocked until all of them have their default action. Otherwise a handler of the runner
 *      could run in the child.
 *
 * The order of the steps matters. The child enters its cgroup, takes its limits and its priority as the user
 * of the runner, which may have privileges for that. It changes the directory as the new user, because that
 * user must be permitted to enter it. A change of user clears the signal for the death of the parent, so that
 * comes after it. */
#include "runner/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_attribute)
#if __has_attribute(disable_sanitizer_instrumentation)
#define IN_CHILD __attribute__((disable_sanitizer_instrumentation))
#endif
#endif
#ifndef IN_CHILD
#define IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

/* Systems with 32 bits have calls for 16-bit numbers of users under the plain names. */
#ifdef SYS_setresuid32
enum { CALL_SETGROUPS = SYS_setgroups32, CALL_SETGID = SYS_setresgid32, CALL_SETUID = SYS_setresuid32 };
#else
enum { CALL_SETGROUPS = SYS_setgroups, CALL_SETGID = SYS_setresgid, CALL_SETUID = SYS_setresuid };
#endif

enum {
    SIGNAL_MASK_SIZE = _NSIG / 8, /* in bytes, as the kernel counts */
    NICE_RESULT = 20,             /* the system call getpriority returns this minus the nice value */
    MODE_MASK = 0777,
};

/* An entry of a folder, as getdents64 returns it. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* Reports the failure of a step and ends the child. */
IN_CHILD static void fail(struct spawn_plan *plan, enum spawn_step step)
{
    plan->error = errno;
    plan->step = step;
    for (;;)
        (void)syscall(SYS_exit_group, 127);
}

/* Gives all signals their default action. A struct of zeros means SIG_DFL on every processor. */
IN_CHILD static void reset_signals(void)
{
    static const uint64_t zeros[8];
    for (int number = 1; number < _NSIG; number++)
        (void)syscall(SYS_rt_sigaction, number, zeros, NULL, (size_t)SIGNAL_MASK_SIZE);
}

IN_CHILD static void unblock_signals(void)
{
    static const uint64_t none[SIGNAL_MASK_SIZE / 8];
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, (size_t)SIGNAL_MASK_SIZE);
}

/* "0" stands for the process that writes. CLONE_INTO_CGROUP would do the same without this step, but only
 * clone3 has it, which no function of the C library offers with a stack for the child. */
IN_CHILD static void enter_cgroup(struct spawn_plan *plan)
{
    if (plan->spec->cgroup < 0)
        return;
    long file = syscall(SYS_openat, plan->spec->cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC, 0);
    if (file < 0 || syscall(SYS_write, (int)file, "0", (size_t)1) != 1)
        fail(plan, STEP_CGROUP);
}

/* Reads the number of a descriptor. Returns -1 for the entries "." and "..". */
IN_CHILD static int number_of(const char *name)
{
    int number = 0;
    for (; *name != '\0'; name++) {
        if (*name < '0' || *name > '9')
            return -1;
        number = number * 10 + (*name - '0');
    }
    return number;
}

/* Closes what /proc lists, for kernels without close_range. The list may change while it is read, so it is
 * read from the start until nothing is left. Returns false if there is no /proc. */
IN_CHILD static bool close_listed(void)
{
    _Alignas(struct entry) char buffer[2048];
    long folder = syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0)
        return false;
    for (bool closed = true; closed;) {
        closed = false;
        (void)syscall(SYS_lseek, (int)folder, (off_t)0, SEEK_SET);
        long size;
        while ((size = syscall(SYS_getdents64, (int)folder, buffer, sizeof buffer)) > 0) {
            for (long at = 0; at < size;) {
                const struct entry *entry = (const void *)(buffer + at);
                int number = number_of(entry->name);
                if (number > STDERR_FILENO && number != folder)
                    closed |= syscall(SYS_close, number) == 0;
                at += entry->size;
            }
        }
    }
    (void)syscall(SYS_close, (int)folder);
    return true;
}

/* Closes all descriptors but the standard ones. */
IN_CHILD static void close_others(void)
{
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0 || close_listed())
        return;
    struct {
        uint64_t soft, hard;
    } limit = {0, 0};
    (void)syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    for (uint64_t number = STDERR_FILENO + 1; number < limit.soft; number++)
        (void)syscall(SYS_close, (int)number);
}

/* Puts the three descriptors at 0, 1 and 2. One that stands where another belongs is moved away first. */
IN_CHILD static void place_descriptors(struct spawn_plan *plan)
{
    long from[3] = {plan->spec->input, plan->spec->output, plan->spec->error};
    for (int i = 0; i < 3; i++)
        if (from[i] != i && from[i] <= STDERR_FILENO &&
            (from[i] = syscall(SYS_fcntl, (int)from[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) < 0)
            fail(plan, STEP_DESCRIPTORS);
    for (int i = 0; i < 3; i++) {
        long result =
            from[i] == i ? syscall(SYS_fcntl, i, F_SETFD, 0) : syscall(SYS_dup3, (int)from[i], i, 0);
        if (result < 0)
            fail(plan, STEP_DESCRIPTORS);
    }
    close_others();
}

IN_CHILD static void set_limits(struct spawn_plan *plan)
{
    for (size_t i = 0; i < plan->limit_count; i++) {
        if (syscall(SYS_prlimit64, 0, plan->limits[i].resource, &plan->limits[i].value, NULL) < 0) {
            plan->failed_limit = i;
            fail(plan, STEP_LIMIT);
        }
    }
    if (plan->spec->nice != 0) {
        long now = NICE_RESULT - syscall(SYS_getpriority, PRIO_PROCESS, 0);
        if (syscall(SYS_setpriority, PRIO_PROCESS, 0, (int)now + plan->spec->nice) < 0)
            fail(plan, STEP_NICE);
    }
    if (plan->spec->umask >= 0)
        (void)syscall(SYS_umask, plan->spec->umask & MODE_MASK);
}

IN_CHILD static void set_user(struct spawn_plan *plan)
{
    const struct process_spec *spec = plan->spec;
    if (!plan->set_user)
        return;
    if (syscall(CALL_SETGROUPS, spec->group_count, spec->groups) < 0)
        fail(plan, STEP_GROUPS);
    if (syscall(CALL_SETGID, spec->group, spec->group, spec->group) < 0)
        fail(plan, STEP_GROUP);
    if (syscall(CALL_SETUID, spec->user, spec->user, spec->user) < 0)
        fail(plan, STEP_USER);
}

/* Asks for SIGKILL when the runner ends. If it has ended before, the child has another parent by now. */
IN_CHILD static void bind_to_parent(struct spawn_plan *plan)
{
    if (syscall(SYS_prctl, PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L) < 0)
        fail(plan, STEP_PARENT);
    if (syscall(SYS_getppid) != plan->parent) {
        errno = ESRCH;
        fail(plan, STEP_PARENT);
    }
}

/* Executes the first program that can be, as execvp does: one that is not permitted is passed over, but if no
 * other follows, that is the error. A file of an unknown format is a script for the shell. Unlike execvp, it
 * does not call a program forbidden because a folder of PATH is: PATH of the runner may name folders that the
 * user of the job may not enter. */
IN_CHILD static void execute(struct spawn_plan *plan)
{
    int error = ENOENT;
    for (char **path = plan->paths; *path != NULL; path++) {
        (void)syscall(SYS_execve, *path, plan->spec->argv, plan->spec->environment);
        if (errno == ENOEXEC) {
            plan->shell_argv[1] = *path;
            (void)syscall(SYS_execve, plan->shell_argv[0], plan->shell_argv, plan->spec->environment);
        }
        if (errno == EACCES) {
            if (!plan->searched || syscall(SYS_faccessat, AT_FDCWD, *path, F_OK) == 0)
                error = EACCES;
        } else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV &&
                   errno != ETIMEDOUT) {
            fail(plan, STEP_EXECUTE);
        }
    }
    errno = error;
    fail(plan, STEP_EXECUTE);
}

IN_CHILD int spawn_child(void *arg)
{
    struct spawn_plan *plan = arg;
    reset_signals();
    if (plan->pidfd < 0) { /* an old kernel has ignored the flag */
        errno = ENOSYS;
        fail(plan, STEP_PIDFD);
    }
    enter_cgroup(plan);
    if (syscall(SYS_setsid) < 0)
        fail(plan, STEP_SESSION);
    place_descriptors(plan);
    set_limits(plan);
    set_user(plan);
    if (plan->spec->directory != NULL && syscall(SYS_chdir, plan->spec->directory) < 0)
        fail(plan, STEP_DIRECTORY);
    bind_to_parent(plan);
    unblock_signals();
    execute(plan);
    return 127;
}
