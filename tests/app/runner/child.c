/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - what the tests of processes start: a program that says what it was given
 *
 *     runner_child fds          prints the open descriptors
 *     runner_child ids          prints user, groups, session, mask of modes and nice value
 *     runner_child signals      prints the blocked and the ignored signals
 *     runner_child arguments... prints each argument in brackets
 *     runner_child memory MB    uses that much memory
 *     runner_child spin         uses the processor until it is killed
 *     runner_child orphan       leaves a child that ends with standard input, and prints its number
 *     runner_child scatter N    leaves 2 * N processes, each in its own session, that hold standard output */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 4096, GROUPS = 64, MB = 1024 * 1024, PAGE = 4096 };

static void print_descriptors(void)
{
    for (int i = 0; i < DESCRIPTORS; i++)
        if (fcntl(i, F_GETFD) >= 0)
            printf("%d ", i);
}

static void print_ids(void)
{
    gid_t groups[GROUPS];
    uid_t user, effective, saved;
    gid_t group, effective_group, saved_group;
    mode_t mask = umask(0);
    (void)getresuid(&user, &effective, &saved);
    (void)getresgid(&group, &effective_group, &saved_group);
    printf("users %u %u %u groups %u %u %u:", user, effective, saved, group, effective_group, saved_group);
    int count = getgroups(GROUPS, groups);
    for (int i = 0; i < count; i++)
        printf(" %u", groups[i]);
    printf(" leader %d %d umask %04o nice %d", getsid(0) == getpid(), getpgrp() == getpid(), (unsigned)mask,
           getpriority(PRIO_PROCESS, 0));
}

static void print_signals(void)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
            fputs(line, stdout);
    if (file != NULL)
        (void)fclose(file);
}

static int use_memory(size_t size)
{
    char *block = malloc(size);
    if (block == NULL)
        return 1;
    for (size_t i = 0; i < size; i += PAGE)
        block[i] = (char)i;
    return block[size / 2] == 'x' ? 1 : 0;
}

static void leave_orphan(void)
{
    pid_t pid = fork();
    char byte;
    if (pid == 0) {
        while (read(STDIN_FILENO, &byte, 1) > 0)
            ;
        _exit(0);
    }
    printf("%d", (int)pid);
}

/* Each process writes a byte when it is in its own session. */
static void enter_session(void)
{
    (void)setsid();
    (void)!write(STDOUT_FILENO, ".", 1);
}

static void scatter(int count)
{
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            enter_session();
            if (fork() == 0)
                enter_session();
            for (;;)
                (void)pause();
        }
    }
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "fds") == 0)
        print_descriptors();
    else if (strcmp(what, "ids") == 0)
        print_ids();
    else if (strcmp(what, "signals") == 0)
        print_signals();
    else if (strcmp(what, "memory") == 0)
        return use_memory((size_t)strtol(arguments[2], NULL, 10) * MB);
    else if (strcmp(what, "orphan") == 0)
        leave_orphan();
    else if (strcmp(what, "scatter") == 0)
        scatter((int)strtol(arguments[2], NULL, 10));
    else if (strcmp(what, "spin") == 0)
        for (volatile unsigned i = 0;; i++)
            ;
    else
        for (int i = 0; i < count; i++)
            printf("[%s]", arguments[i]);
    return 0;
}
