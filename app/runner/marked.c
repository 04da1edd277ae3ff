/* SPDX-License-Identifier: Apache-2.0 */
/* marked.c - kill what a runner left behind that was killed itself
 *
 * PR_SET_PDEATHSIG kills the processes of a runner with it, but not their children. All of them inherit
 * HORA_RUNNER, wherever they moved to: other sessions, other groups, other parents. /proc/PID/environ shows
 * the environment with which a program was started.
 *
 * Each pass looks at all processes, kills those that are marked, and waits for their end on pidfds. A process
 * that was forked meanwhile is found by the next pass. A process that is just executing a program shows no
 * environment, so passes end when two have found nothing. Their number is limited, because a process that
 * does not die would be found for ever.
 *
 * What it does not find: processes that the runner may not look at, and those that have overwritten their
 * environment. A cgroup finds those too. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "command.h"
#include "runner/process.h"

enum {
    PASSES_MOST = 20,
    QUIET_PASSES = 2,
    KILLED_MOST = 512,   /* processes that one pass kills; the next pass kills the others */
    END_WITHIN_MS = 250, /* how long a pass waits for the end of what it has killed */
    CHUNK = 32 * 1024,
};

/* The entry to look for: a NUL before it and one after it, so that only the whole variable matches. */
struct pattern {
    char *text;
    size_t size;
};

/* What has been killed: the groups, each once, and the processes of this pass. */
struct killed {
    pid_t groups[KILLED_MOST];
    int group_count;
    struct pollfd ends[KILLED_MOST];
    size_t end_count;
};

static void add_group(struct killed *killed, pid_t group)
{
    for (int i = 0; i < killed->group_count && i < KILLED_MOST; i++)
        if (killed->groups[i] == group)
            return;
    if (killed->group_count < KILLED_MOST)
        killed->groups[killed->group_count] = group;
    killed->group_count++;
}

static struct pattern make_pattern(const char *mark)
{
    static const char name[] = "HORA_RUNNER=";
    struct pattern pattern = {.size = 1 + strlen(name) + strlen(mark) + 1};
    pattern.text = memory(pattern.size);
    pattern.text[0] = '\0';
    (void)snprintf(pattern.text + 1, pattern.size - 1, "%s%s", name, mark);
    return pattern;
}

/* Returns true if a file of NUL-terminated texts contains the mark. */
static bool has_mark(int file, const struct pattern *pattern, char *buffer)
{
    size_t filled = 1;
    buffer[0] = '\0'; /* the first text has none before it */
    for (;;) {
        ssize_t size = read(file, buffer + filled, CHUNK);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return false;
        filled += (size_t)size;
        if (memmem(buffer, filled, pattern->text, pattern->size) != NULL)
            return true;
        size_t keep =
            filled < pattern->size - 1 ? filled : pattern->size - 1; /* the mark may go on in the next */
        memmove(buffer, buffer + filled - keep, keep);
        filled = keep;
    }
}

static bool is_marked(int proc, pid_t pid, const struct pattern *pattern, char *buffer)
{
    char path[32];
    (void)snprintf(path, sizeof path, "%d/environ", (int)pid);
    int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool marked = has_mark(file, pattern, buffer);
    (void)close(file);
    return marked;
}

/* Kills a process, and its group unless that is the runner's own. Returns false if the process has ended, or
 * may not be killed.
 *
 * The pidfd is older than what was read of the process. If it can still be signalled, the number cannot have
 * gone to another process in between, so what was read is true of this one. */
static bool kill_one(struct killed *killed, pid_t pid, int pidfd)
{
    pid_t group = getpgid(pid);
    if (syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0)
        return false;
    if (group > 1 && group != getpgrp() && kill(-group, SIGKILL) == 0)
        add_group(killed, group);
    return syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
}

/* Waits until the processes of this pass have ended, and closes their descriptors. */
static void await_ends(struct killed *killed)
{
    size_t left = killed->end_count;
    while (left > 0 && poll(killed->ends, killed->end_count, END_WITHIN_MS) > 0) {
        for (size_t i = 0; i < killed->end_count; i++) {
            if (killed->ends[i].revents != 0) {
                (void)close(killed->ends[i].fd);
                killed->ends[i].fd = -1; /* poll ignores it */
                left--;
            }
        }
    }
    for (size_t i = 0; i < killed->end_count; i++)
        if (killed->ends[i].fd >= 0)
            (void)close(killed->ends[i].fd);
}

/* Looks at all processes once. Returns false if it has found none to kill. */
static bool kill_pass(DIR *proc, const struct pattern *pattern, char *buffer, struct killed *killed)
{
    const struct dirent *entry;
    killed->end_count = 0;
    rewinddir(proc);
    while (killed->end_count < KILLED_MOST && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || pid == getpid())
            continue;
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (pidfd < 0)
            continue;
        if (is_marked(dirfd(proc), pid, pattern, buffer) && kill_one(killed, pid, pidfd))
            killed->ends[killed->end_count++] = (struct pollfd){.fd = pidfd, .events = POLLIN};
        else
            (void)close(pidfd);
    }
    await_ends(killed);
    return killed->end_count > 0;
}

int process_kill_marked(const char *mark)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return 0;
    struct pattern pattern = make_pattern(mark);
    char *buffer = memory(pattern.size + CHUNK);
    struct killed *killed = memory(sizeof *killed);
    killed->group_count = 0;
    for (int pass = 0, quiet = 0; pass < PASSES_MOST && quiet < QUIET_PASSES; pass++)
        quiet = kill_pass(proc, &pattern, buffer, killed) ? 0 : quiet + 1;
    int count = killed->group_count;
    free(killed);
    free(buffer);
    free(pattern.text);
    (void)closedir(proc);
    return count;
}
