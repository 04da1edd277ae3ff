/* SPDX-License-Identifier: Apache-2.0 */
/* starter.c - a small runner for the tests of processes
 *
 *     runner_starter [--without close_range|pidfd] [--user NAME] PROGRAM ARGUMENT...
 *
 * Starts the program with its own descriptors and environment, and waits for its end. --without lets a system
 * call fail, as old kernels and sandboxes do. --user starts the program as that user. Prints why the program
 * could not be started. Its exit status is that of the program, or 125. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/process.h"

enum { NOT_STARTED = 125 };

/* Lets close_range fail with ENOSYS, or clone with CLONE_PIDFD with EINVAL. */
static int forbid(const char *what)
{
    struct sock_filter without_close_range[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter without_pidfd[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_PIDFD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof without_pidfd / sizeof without_pidfd[0], without_pidfd};
    if (strcmp(what, "close_range") == 0)
        program = (struct sock_fprog){sizeof without_close_range / sizeof without_close_range[0],
                                      without_close_range};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("seccomp");
        return NOT_STARTED;
    }
    return 0;
}

int main(int count, char **arguments)
{
    int first = 1;
    char reason[256];
    struct process process;
    struct process_end end;
    if (count > 2 && strcmp(arguments[1], "--without") == 0) {
        if (forbid(arguments[2]) != 0)
            return NOT_STARTED;
        first = 3;
    }
    const char *user = NULL;
    if (count > first + 1 && strcmp(arguments[first], "--user") == 0) {
        user = arguments[first + 1];
        first += 2;
    }
    struct process_spec spec = {
        .argv = (const char *const *)arguments + first,
        .environment = (const char *const *)environ,
        .umask = -1,
        .input = STDIN_FILENO,
        .output = STDOUT_FILENO,
        .error = STDERR_FILENO,
        .cgroup = -1,
    };
    gid_t *groups = NULL;
    char *home = NULL;
    if (user != NULL) {
        spec.set_user = true;
        if (process_find_user(user, NULL, &spec.user, &spec.group, &groups, &spec.group_count, &home, reason,
                              sizeof reason) < 0) {
            printf("%s", reason);
            return NOT_STARTED;
        }
        spec.groups = groups;
    }
    if (process_start(&spec, &process, reason, sizeof reason) < 0) {
        printf("%s", reason);
        return NOT_STARTED;
    }
    struct pollfd ended = {.fd = process.fd, .events = POLLIN};
    while (poll(&ended, 1, -1) < 0)
        ;
    free(groups);
    free(home);
    return process_reap(&process, &end) && end.exited ? end.code : NOT_STARTED;
}
