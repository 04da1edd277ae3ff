/* SPDX-License-Identifier: Apache-2.0 */
/* started.c - a process of a test, with its output */
#include "started.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"

enum { STUCK_MS = 60000 };

struct process_spec spec_of(const char *const *argv)
{
    return (struct process_spec){
        .argv = argv,
        .environment = (const char *const *)environ,
        .umask = -1,
        .input = -1,
        .output = -1,
        .error = -1,
        .cgroup = -1,
    };
}

bool start(struct started *started, struct process_spec spec, bool with_input)
{
    int in[2] = {-1, -1}, out[2];
    memset(started, 0, sizeof *started);
    if (with_input)
        CHECK_INT(pipe2(in, O_CLOEXEC), 0);
    else
        in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK_INT(pipe2(out, O_CLOEXEC), 0);
    spec.input = in[0];
    spec.output = spec.error = out[1];
    started->error = process_start(&spec, &started->process, started->reason, sizeof started->reason);
    (void)close(in[0]);
    (void)close(out[1]);
    started->input = in[1];
    started->output = out[0];
    if (started->error == 0)
        return true;
    (void)close(out[0]);
    if (in[1] >= 0)
        (void)close(in[1]);
    return false;
}

void read_output(struct started *started, size_t size)
{
    while (started->size < size && started->size < OUTPUT_MOST - 1) {
        ssize_t got = read(started->output, started->text + started->size, OUTPUT_MOST - 1 - started->size);
        if (got == 0)
            break;
        if (got > 0)
            started->size += (size_t)got;
        else
            CHECK_INT(errno, EINTR);
    }
}

bool await_readable(int descriptor)
{
    struct pollfd ready = {.fd = descriptor, .events = POLLIN};
    int count;
    do
        count = poll(&ready, 1, STUCK_MS);
    while (count < 0 && errno == EINTR);
    return count == 1;
}

void await_end(struct started *started)
{
    CHECK(await_readable(started->process.fd));
    CHECK(process_reap(&started->process, &started->end));
    CHECK_INT(started->process.fd, -1);
    (void)close(started->output);
    if (started->input >= 0)
        (void)close(started->input);
}

const char *run_to_end(struct started *started, struct process_spec spec)
{
    if (!start(started, spec, false)) {
        test_fail(__FILE__, __LINE__, "%s: %s", spec.argv[0], started->reason);
        return "";
    }
    read_output(started, OUTPUT_MOST);
    await_end(started);
    return started->text;
}

void check_killed_with_runner(struct started *started)
{
    read_output(started, 2);
    pid_t pid = (pid_t)strtol(started->text, NULL, 10);
    int child = (int)syscall(SYS_pidfd_open, pid, 0);
    CHECK(pid > 0 && child >= 0);
    CHECK_INT(kill(started->process.pid, SIGKILL), 0); /* the starter only, not its group */
    CHECK(await_readable(child));
    (void)close(child);
    await_end(started);
}

int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

void check_text(const char *file, int line, const char *what, const char *got, const char *want)
{
    if (strcmp(got, want) != 0)
        test_fail(file, line, "%s is \"%s\" instead of \"%s\"", what, got, want);
}

void check_found(const char *file, int line, const char *what, const char *got, const char *want)
{
    if (strstr(got, want) == NULL)
        test_fail(file, line, "%s is \"%s\", without \"%s\"", what, got, want);
}
