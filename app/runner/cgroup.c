/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - cgroups of runs: limits for all processes of a run together
 *
 * The folder of a run stands below the cgroup of the runner, in the hierarchy of version 2, wherever that is
 * mounted. The kernel has two rules for it:
 *
 *   - A controller (memory, cpu, pids) works in a folder only if the folder above enables it in
 *     cgroup.subtree_control.
 *   - A folder that does so must not contain processes itself, unless it is the root.
 *
 * So, before it enables a controller, the runner moves itself and its children into a folder hora-runner next
 * to those of the runs. It moves no other process: if there are others, as in the session of a login, that is
 * an error. A service of systemd needs Delegate=yes for all this. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "runner/process.h"

enum {
    TEXT_SIZE = 4096,
    EMPTY_WITHIN_MS = 5000, /* how long killed processes may take to end */
    CPU_PERIOD_US = 100000,
    CPU_LEAST_US = 1000,
    PASSES_MOST = 100,
    ANCESTORS_MOST = 100,
};

static const char runner_name[] = "hora-runner";

__attribute__((format(printf, 3, 4))) static int refuse(char *reason, size_t size, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(reason, size, format, values);
    va_end(values);
    return -1;
}

/* ---- small files ---- */

/* Reads a file as a text. Returns false with errno. */
static bool read_text(int folder, const char *name, char *text, size_t size)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t filled = 0;
    ssize_t got = 0;
    while (filled < size - 1 && (got = read(file, text + filled, size - 1 - filled)) > 0)
        filled += (size_t)got;
    text[filled] = '\0';
    int error = errno;
    (void)close(file);
    errno = error;
    return got >= 0;
}

/* Reads the processes of a cgroup, one per line, as many as fit. Returns false if there are none. */
static bool read_processes(int folder, char *text, size_t size)
{
    if (!read_text(folder, "cgroup.procs", text, size))
        return false;
    char *end = strrchr(text, '\n');
    *(end != NULL ? end + 1 : text) = '\0'; /* the last number may be cut off */
    return text[0] != '\0';
}

/* Writes a text to a file in one call, as the kernel expects. Returns false with errno. */
static bool write_text(int folder, const char *name, const char *text)
{
    int file = openat(folder, name, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool written = write(file, text, strlen(text)) >= 0;
    int error = errno;
    (void)close(file);
    errno = error;
    return written;
}

/* Returns true if a list of words contains a word. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (list += strspn(list, " \n"); *list != '\0'; list += strspn(list, " \n")) {
        size_t this = strcspn(list, " \n");
        if (this == length && memcmp(list, word, length) == 0)
            return true;
        list += this;
    }
    return false;
}

/* ---- the cgroup of the runner ---- */

/* Finds where the hierarchy of version 2 is mounted, and which of its folders is mounted there. A line of
 * mountinfo: 31 23 0:27 ROOT MOUNT OPTIONS ... - cgroup2 SOURCE OPTIONS. */
static bool find_mount(char *mount, char *root, size_t size)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (file != NULL && !found && getline(&line, &room, file) > 0) {
        char *save = NULL;
        const char *words[5] = {NULL};
        if (strstr(line, " - cgroup2 ") == NULL)
            continue;
        for (int i = 0; i < 5; i++)
            words[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        found = words[4] != NULL && strlen(words[3]) < size && strlen(words[4]) < size;
        if (found) {
            (void)snprintf(root, size, "%s", words[3]);
            (void)snprintf(mount, size, "%s", words[4]);
        }
    }
    free(line);
    if (file != NULL)
        (void)fclose(file);
    return found;
}

/* Finds the cgroup of the runner from the root of the hierarchy: "/a/b", and "" for the root. */
static bool find_own(char *path, size_t size)
{
    char text[TEXT_SIZE];
    if (!read_text(AT_FDCWD, "/proc/self/cgroup", text, sizeof text))
        return false;
    const char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (line == NULL)
        return false;
    line += *line == '\n' ? 4 : 3;
    size_t length = strcspn(line, "\n");
    if (length >= size)
        return false;
    memcpy(path, line, length);
    path[length] = '\0';
    if (strcmp(path, "/") == 0)
        path[0] = '\0';
    return true;
}

/* Opens the folder in which those of the runs stand. If the runner has moved, it is the one above. */
static int open_base(char *reason, size_t size)
{
    char mount[TEXT_SIZE], root[TEXT_SIZE], own[TEXT_SIZE], path[2 * TEXT_SIZE];
    if (!find_mount(mount, root, sizeof mount))
        return refuse(reason, size, "no cgroup hierarchy of version 2 is mounted");
    if (!find_own(own, sizeof own))
        return refuse(reason, size, "cannot find the cgroup of the runner");
    const char *below = own;
    size_t root_length = strlen(root);
    if (root_length > 1 && strncmp(own, root, root_length) == 0)
        below += root_length;
    (void)snprintf(path, sizeof path, "%s%s", mount, below);
    char *last = strrchr(path, '/');
    if (last != NULL && strcmp(last + 1, runner_name) == 0)
        *last = '\0';
    int base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0)
        return refuse(reason, size, "cannot open cgroup %s: %s", path, strerror(errno));
    return base;
}

/* Returns the parent of a process; 0 if there is none. */
static pid_t parent_of(pid_t pid)
{
    char path[64], text[TEXT_SIZE];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_text(AT_FDCWD, path, text, sizeof text))
        return 0;
    const char *after_name = strrchr(text, ')'); /* the name may contain anything; then: ") S PARENT" */
    return after_name != NULL && strlen(after_name) > 4 ? (pid_t)strtol(after_name + 4, NULL, 10) : 0;
}

/* Returns true for the runner and its descendants. */
static bool is_own_process(pid_t pid)
{
    for (int i = 0; i < ANCESTORS_MOST && pid > 0; i++, pid = parent_of(pid))
        if (pid == getpid())
            return true;
    return false;
}

/* Moves the runner and its children out of the base. A child may be forked meanwhile, so this repeats until
 * the base is empty. */
static int move_runner(int base, char *reason, size_t size)
{
    if (mkdirat(base, runner_name, 0755) < 0 && errno != EEXIST)
        return refuse(reason, size, "cannot make cgroup %s: %s", runner_name, strerror(errno));
    int leaf = openat(base, runner_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (leaf < 0)
        return refuse(reason, size, "cannot open cgroup %s: %s", runner_name, strerror(errno));
    int result = 0;
    for (int pass = 0; pass < PASSES_MOST && result == 0; pass++) {
        char text[TEXT_SIZE], *save = NULL;
        if (!read_processes(base, text, sizeof text))
            break;
        for (char *word = strtok_r(text, "\n", &save); word != NULL && result == 0;
             word = strtok_r(NULL, "\n", &save)) {
            pid_t pid = (pid_t)strtol(word, NULL, 10);
            if (!is_own_process(pid) && kill(pid, 0) == 0)
                result = refuse(reason, size,
                                "process %s is in the cgroup of the runner; run it as a service of its own, "
                                "with Delegate=yes",
                                word);
            else if (!write_text(leaf, "cgroup.procs", word) && errno != ESRCH)
                result = refuse(reason, size, "cannot move process %s to cgroup %s: %s", word, runner_name,
                                strerror(errno));
        }
    }
    (void)close(leaf);
    return result;
}

/* Makes a controller work in the folders of the runs. */
static int enable(int base, const char *controller, char *reason, size_t size)
{
    char text[TEXT_SIZE], command[64];
    if (read_text(base, "cgroup.subtree_control", text, sizeof text) && has_word(text, controller))
        return 0;
    if (!read_text(base, "cgroup.controllers", text, sizeof text) || !has_word(text, controller))
        return refuse(reason, size, "the cgroup controller %s is not available here", controller);
    (void)snprintf(command, sizeof command, "+%s", controller);
    if (write_text(base, "cgroup.subtree_control", command))
        return 0;
    if (errno == EBUSY) {
        if (move_runner(base, reason, size) < 0)
            return -1;
        if (write_text(base, "cgroup.subtree_control", command))
            return 0;
    }
    return refuse(reason, size, "cannot enable the cgroup controller %s: %s", controller, strerror(errno));
}

/* ---- folders of runs ---- */

/* Sets one limit. */
static int set_limit(int folder, const char *file, const char *value, char *reason, size_t size)
{
    if (write_text(folder, file, value))
        return 0;
    return refuse(reason, size, "cannot set %s to %s: %s", file, value, strerror(errno));
}

static int set_limits(int folder, const struct job_limits *limits, char *reason, size_t size)
{
    char value[64];
    if (limits->cgroup_memory > 0) {
        (void)snprintf(value, sizeof value, "%lld", (long long)limits->cgroup_memory);
        if (set_limit(folder, "memory.max", value, reason, size) < 0)
            return -1;
    }
    if (limits->cgroup_cpu > 0) {
        long long quota = (long long)(limits->cgroup_cpu * (double)CPU_PERIOD_US + 0.5);
        (void)snprintf(value, sizeof value, "%lld %d", quota < CPU_LEAST_US ? CPU_LEAST_US : quota,
                       CPU_PERIOD_US);
        if (set_limit(folder, "cpu.max", value, reason, size) < 0)
            return -1;
    }
    if (limits->cgroup_processes > 0) {
        (void)snprintf(value, sizeof value, "%lld", (long long)limits->cgroup_processes);
        if (set_limit(folder, "pids.max", value, reason, size) < 0)
            return -1;
    }
    return 0;
}

static int enable_all(int base, const struct job_limits *limits, char *reason, size_t size)
{
    if (limits->cgroup_memory > 0 && enable(base, "memory", reason, size) < 0)
        return -1;
    if (limits->cgroup_cpu > 0 && enable(base, "cpu", reason, size) < 0)
        return -1;
    return limits->cgroup_processes > 0 ? enable(base, "pids", reason, size) : 0;
}

/* Makes the folder of a run in the base. */
static int make_folder(int base, const char *name, const struct job_limits *limits, char *reason, size_t size)
{
    if (enable_all(base, limits, reason, size) < 0)
        return -1;
    if (mkdirat(base, name, 0755) < 0)
        return refuse(reason, size, "cannot make cgroup %s: %s", name, strerror(errno));
    int folder = openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || set_limits(folder, limits, reason, size) < 0) {
        if (folder < 0)
            (void)refuse(reason, size, "cannot open cgroup %s: %s", name, strerror(errno));
        else
            (void)close(folder);
        (void)unlinkat(base, name, AT_REMOVEDIR);
        return -1;
    }
    return folder;
}

int cgroup_make(const char *name, const struct job_limits *limits, char *reason, size_t reason_size)
{
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL || strcmp(name, runner_name) == 0)
        return refuse(reason, reason_size, "\"%s\" cannot be the name of a cgroup", name);
    int base = open_base(reason, reason_size);
    if (base < 0)
        return -1;
    int folder = make_folder(base, name, limits, reason, reason_size);
    (void)close(base);
    return folder;
}

/* Kills all processes of a folder, on kernels without cgroup.kill (before 5.14). */
static void kill_listed(int folder)
{
    for (int pass = 0; pass < PASSES_MOST; pass++) {
        char text[TEXT_SIZE], *save = NULL;
        if (!read_processes(folder, text, sizeof text))
            return;
        for (char *word = strtok_r(text, "\n", &save); word != NULL; word = strtok_r(NULL, "\n", &save)) {
            pid_t pid = (pid_t)strtol(word, NULL, 10);
            if (pid > 0) /* 0: a process of another namespace */
                (void)kill(pid, SIGKILL);
        }
    }
}

/* Waits until a folder contains no process. The kernel announces changes of cgroup.events by POLLPRI. */
static void await_empty(int folder)
{
    struct pollfd events = {.fd = openat(folder, "cgroup.events", O_RDONLY | O_CLOEXEC), .events = POLLPRI};
    char text[TEXT_SIZE];
    while (events.fd >= 0) {
        ssize_t size = pread(events.fd, text, sizeof text - 1, 0);
        if (size <= 0)
            break;
        text[size] = '\0';
        if (strstr(text, "populated 0") != NULL || poll(&events, 1, EMPTY_WITHIN_MS) <= 0)
            break;
    }
    if (events.fd >= 0)
        (void)close(events.fd);
}

void cgroup_remove(int cgroup, const char *name)
{
    if (cgroup < 0)
        return;
    if (!write_text(cgroup, "cgroup.kill", "1"))
        kill_listed(cgroup);
    await_empty(cgroup);
    int base = openat(cgroup, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base >= 0) {
        (void)unlinkat(base, name, AT_REMOVEDIR);
        (void)close(base);
    }
    (void)close(cgroup);
}
