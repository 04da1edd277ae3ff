/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - see child.h */
#include "child.h"

#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { HANGS_AFTER_S = 20 };

static int report_fd;

void child_check(bool ok, int line)
{
    if (ok)
        return;
    if (write(report_fd, &line, sizeof(line)) < 0)
        _exit(2);
    _exit(1);
}

void run_in_child(const char *file, void (*run)(struct family *family), struct family *family)
{
    int ends[2], line = 0, status = -1;
    pid_t child;

    CHECK_INT(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        alarm((unsigned)(test_scale(HORA_SECONDS(HANGS_AFTER_S)) / HORA_SECONDS(1)));
        report_fd = ends[1];
        run(family);
        _exit(0);
    }
    CHECK(child > 0);
    close(ends[1]);
    if (read(ends[0], &line, sizeof(line)) > 0)
        test_fail(file, line, "not so in the child");
    close(ends[0]);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
}
