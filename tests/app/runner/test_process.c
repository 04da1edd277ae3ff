/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c - processes: what they are started with, how they end, what is left of them */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "runner/process.h"
#include "started.h"

enum { MB = 1024 * 1024, NOT_STARTED = 125 };

static const struct job_limits no_limits = {-1, -1, -1, -1, -1, -1, 0, 0, 0};

static struct started started;

/* Runs a text of the shell. */
static const char *run_shell(const char *text)
{
    return run_to_end(&started, spec_of(ARGV("/bin/sh", "-c", text)));
}

/* Makes an executable file in a new folder. Returns its path. */
static const char *make_program(const char *text, mode_t mode)
{
    static char path[64];
    (void)snprintf(path, sizeof path, "/tmp/hora-test-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
    CHECK_INT(chmod(path, 0755), 0);
    (void)strcat(path, "/program");
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    CHECK_INT(chmod(path, mode), 0);
    return path;
}

static void remove_program(const char *path)
{
    char folder[64];
    (void)unlink(path);
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    CHECK_INT(rmdir(folder), 0);
}

/* ---- how they end ---- */

TEST_REAL(exit_statuses, "")
{
    static const int codes[] = {0, 1, 42, 126, 127, 128, 255};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "exit %d", codes[i]);
        CHECK_TEXT(run_shell(text), "");
        CHECK(started.end.exited && !started.end.dumped_core);
        CHECK_INT(started.end.code, codes[i]);
    }
}

TEST_REAL(ends_by_signals, "")
{
    static const int signals[] = {SIGTERM, SIGKILL, SIGINT, SIGPIPE, SIGUSR1, SIGHUP, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "kill -%d $$", signals[i]);
        (void)run_shell(text);
        CHECK(!started.end.exited);
        CHECK_INT(started.end.code, signals[i]);
    }
}

TEST_REAL(core_dumps_are_reported, "")
{
    char pattern[256] = "", folder[] = "/tmp/hora-test-XXXXXX", command[64];
    FILE *file = fopen("/proc/sys/kernel/core_pattern", "r");
    CHECK(file != NULL && fgets(pattern, sizeof pattern, file) != NULL);
    if (file != NULL)
        (void)fclose(file);
    if (pattern[0] == '|' || pattern[0] == '/') {
        printf("SKIPPED: core dumps: they do not go to the current directory here\n");
        return;
    }
    CHECK(mkdtemp(folder) != NULL);
    for (int size = 0; size <= 64 * MB; size += 64 * MB) {
        struct job_limits limits = no_limits;
        struct process_spec spec = spec_of(ARGV("/bin/sh", "-c", "kill -ABRT $$"));
        limits.core = size;
        spec.limits = &limits;
        spec.directory = folder;
        (void)run_to_end(&started, spec);
        CHECK(!started.end.exited);
        CHECK_INT(started.end.code, SIGABRT);
        CHECK_INT(started.end.dumped_core, size > 0);
    }
    (void)snprintf(command, sizeof command, "rm %s/*core* && rmdir %s", folder, folder);
    (void)run_shell(command);
    CHECK_INT(started.end.code, 0);
}

TEST_REAL(resource_use_is_reported, "")
{
    (void)run_to_end(&started, spec_of(ARGV(TEST_CHILD, "memory", "400")));
    CHECK(started.end.exited && started.end.code == 0);
    CHECK(started.end.max_memory >= 400 * MB && started.end.max_memory < 420 * MB);
    CHECK(started.end.user_time + started.end.system_time > 0);
    CHECK(started.end.context_switches > 0);
}

/* Linux would say that it has used as much as the runner. */
TEST_REAL(memory_of_the_runner_is_not_that_of_a_process, "")
{
    size_t size = 100 * MB;
    char *block = malloc(size);
    CHECK(block != NULL);
    memset(block, 1, size);
    CHECK_TEXT(run_to_end(&started, spec_of(ARGV("true"))), "");
    CHECK(block[size / 2] == 1);
    CHECK_INT(started.end.max_memory, 0);
    free(block);
}

TEST_REAL(a_process_that_runs_is_not_collected, "")
{
    CHECK(start(&started, spec_of(ARGV("cat")), true));
    CHECK(!process_reap(&started.process, &started.end));
    CHECK(started.process.fd >= 0);
    process_signal(&started.process, SIGTERM);
    await_end(&started);
    CHECK(!started.end.exited);
    CHECK_INT(started.end.code, SIGTERM);
    process_signal(&started.process, SIGTERM); /* it is gone */
}

TEST_REAL(signals_reach_the_whole_group, "")
{
    CHECK(start(&started, spec_of(ARGV("/bin/sh", "-c", "exec 3<&0; cat <&3 & cat <&3 & echo started; wait")),
                true));
    read_output(&started, strlen("started\n"));
    process_signal(&started.process, SIGKILL);
    read_output(&started, OUTPUT_MOST); /* ends when all have closed it */
    await_end(&started);
    CHECK_INT(started.end.code, SIGKILL);
}

/* A group can be signalled after its first process has ended, as long as that was not collected. */
TEST_REAL(what_is_left_in_the_background_can_be_killed, "")
{
    CHECK(start(&started, spec_of(ARGV("/bin/sh", "-c", "exec 3<&0; cat <&3 & exit 3")), true));
    CHECK(await_readable(started.process.fd));
    process_signal(&started.process, SIGKILL);
    read_output(&started, OUTPUT_MOST);
    await_end(&started);
    CHECK(started.end.exited);
    CHECK_INT(started.end.code, 3);
}

/* ---- what they are started with ---- */

TEST_REAL(arguments_arrive_unchanged, "")
{
    CHECK_TEXT(run_to_end(&started, spec_of(ARGV(TEST_CHILD, "a b", "", "*", "$HOME", "\xff\n'\""))),
               "[" TEST_CHILD "][a b][][*][$HOME][\xff\n'\"]");
}

TEST_REAL(programs_are_searched_in_path_of_the_environment, "")
{
    const char *program = make_program("#!/bin/sh\necho \"found $0 $1\"", 0755);
    char path[256], want[256];
    (void)snprintf(path, sizeof path, "PATH=/nonexistent::/etc/passwd:%.*s:/bin",
                   (int)(strrchr(program, '/') - program), program);
    (void)snprintf(want, sizeof want, "found %s x\n", program);
    struct process_spec spec = spec_of(ARGV("program", "x"));
    spec.environment = ARGV("A=b", path);
    CHECK_TEXT(run_to_end(&started, spec), want);
    spec.environment = ARGV("PATH=/usr/bin:/bin");
    CHECK(!start(&started, spec, false));
    CHECK_INT(started.error, -ENOENT);
    CHECK_TEXT(started.reason, "program: not found in PATH");
    spec.environment = ARGV("A=b"); /* the usual folders */
    spec.argv = ARGV("echo", "without PATH");
    CHECK_TEXT(run_to_end(&started, spec), "without PATH\n");
    remove_program(program);
}

/* An empty folder in PATH is the current one: that of the process. */
TEST_REAL(an_empty_folder_in_path_is_the_directory_of_the_process, "")
{
    const char *program = make_program("#!/bin/sh\necho here", 0755);
    char folder[64];
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(program, '/') - program), program);
    struct process_spec spec = spec_of(ARGV("program"));
    spec.environment = ARGV("PATH=:/bin");
    spec.directory = folder;
    CHECK_TEXT(run_to_end(&started, spec), "here\n");
    spec.argv = ARGV("./program");
    CHECK_TEXT(run_to_end(&started, spec), "here\n");
    remove_program(program);
}

TEST_REAL(a_script_without_a_first_line_is_run_by_the_shell, "")
{
    const char *program = make_program("echo \"$# $1 $2\"", 0755);
    CHECK_TEXT(run_to_end(&started, spec_of(ARGV(program, "a b", "c"))), "2 a b c\n");
    remove_program(program);
}

TEST_REAL(the_environment_is_what_was_given, "")
{
    struct process_spec spec = spec_of(ARGV("/usr/bin/env"));
    spec.environment = ARGV("A=b", "C=d e");
    CHECK_TEXT(run_to_end(&started, spec), "A=b\nC=d e\n");
}

TEST_REAL(directory_umask_nice_and_session, "")
{
    struct process_spec spec = spec_of(ARGV("/bin/sh", "-c", "pwd; exec \"$0\" ids", TEST_CHILD));
    spec.directory = "/usr";
    spec.umask = 027;
    spec.nice = 3;
    char nice[32];
    (void)snprintf(nice, sizeof nice, "nice %d", getpriority(PRIO_PROCESS, 0) + 3);
    const char *text = run_to_end(&started, spec);
    CHECK_FOUND(text, "/usr\n");
    CHECK_FOUND(text, "leader 1 1 umask 0027");
    CHECK_FOUND(text, nice);
    CHECK_INT(getsid(started.process.pid), -1);
    spec.umask = 0;
    CHECK_FOUND(run_to_end(&started, spec), "umask 0000");
}

/* Checks a line of /proc/self/limits: its name, then the soft and the hard limit. */
static void check_limit(const char *text, const char *name, long long soft, long long hard)
{
    long long got_soft = -1, got_hard = -1;
    const char *line = strstr(text, name);
    CHECK(line != NULL && sscanf(line + strlen(name), "%lld %lld", &got_soft, &got_hard) == 2);
    CHECK_INT(got_soft, soft);
    CHECK_INT(got_hard, hard);
}

TEST_REAL(each_limit_is_set, "")
{
    struct job_limits limits = {.cpu_seconds = 100,
                                .memory = 300 * MB,
                                .files = 123,
                                .processes = 4567,
                                .file_size = 7 * MB,
                                .core = 0};
    struct process_spec spec = spec_of(ARGV("cat", "/proc/self/limits"));
    spec.limits = &limits;
    const char *text = run_to_end(&started, spec);
    check_limit(text, "Max cpu time", 100, 101);
    check_limit(text, "Max address space", 300 * MB, 300 * MB);
    check_limit(text, "Max open files", 123, 123);
    check_limit(text, "Max processes", 4567, 4567);
    check_limit(text, "Max file size", 7 * MB, 7 * MB);
    check_limit(text, "Max core file size", 0, 0);
}

TEST_REAL(limits_hold, "")
{
    struct job_limits limits = no_limits;
    struct process_spec spec = spec_of(ARGV(TEST_CHILD, "memory", "64"));
    limits.memory = 32 * MB;
    spec.limits = &limits;
    (void)run_to_end(&started, spec);
    CHECK(started.end.exited && started.end.code == 1);
    limits = no_limits;
    limits.cpu_seconds = 1;
    spec.argv = ARGV(TEST_CHILD, "spin");
    (void)run_to_end(&started, spec);
    CHECK(!started.end.exited);
    CHECK_INT(started.end.code, SIGXCPU);
    limits = no_limits;
    limits.files = 0; /* the standard ones are open already */
    spec.argv = ARGV(TEST_CHILD, "fds");
    (void)run_to_end(&started, spec);
    CHECK_INT(started.end.code, 127); /* the program starts, and cannot open its libraries */
}

/* ---- descriptors and signals ---- */

TEST_REAL(only_standard_descriptors_are_passed_on, "")
{
    int many[200];
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
        CHECK((many[i] = dup(STDOUT_FILENO)) >= 0);
    CHECK_TEXT(run_to_end(&started, spec_of(ARGV(TEST_CHILD, "fds"))), "0 1 2 ");
    CHECK_TEXT(run_to_end(&started, spec_of(ARGV(TEST_STARTER, TEST_CHILD, "fds"))), "0 1 2 ");
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
        (void)close(many[i]);
}

/* The starter has many descriptors, and its kernel no close_range. */
TEST_REAL(only_standard_descriptors_are_passed_on_by_old_kernels, "")
{
    static const char text[] = "i=10; while [ $i -lt 100 ]; do eval \"exec $i>&1\" 2>/dev/null || exit 9; "
                               "i=$((i+1)); done; exec \"$0\" --without close_range \"$1\" fds";
    struct process_spec spec = spec_of(ARGV("/bin/bash", "-c", text, TEST_STARTER, TEST_CHILD));
    if (access("/bin/bash", X_OK) < 0) {
        printf("SKIPPED: descriptors on old kernels: there is no bash\n");
        return;
    }
    CHECK_TEXT(run_to_end(&started, spec), "0 1 2 ");
    CHECK_INT(started.end.code, 0);
}

TEST_REAL(without_pidfds_a_start_fails_with_a_message, "")
{
    const char *text = run_to_end(&started, spec_of(ARGV(TEST_STARTER, "--without", "pidfd", "true")));
    CHECK_FOUND(text, "has no pidfds");
    CHECK_INT(started.end.code, NOT_STARTED);
}

/* The descriptors for the child stand at 0, 1 and 2 already, in every order. Each says which it was. */
TEST_REAL(descriptors_may_overlap_the_standard_ones, "")
{
    static const char *const orders[] = {"0 1 2", "0 2 1", "1 0 2", "1 2 0",
                                         "2 0 1", "2 1 0", "2 2 0", "1 1 1"};
    int saved[3], pipes[3][2];
    for (int i = 0; i < 3; i++) {
        CHECK((saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10)) >= 0);
        CHECK_INT(pipe2(pipes[i], O_CLOEXEC), 0);
    }
    (void)fflush(stdout);
    for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
        int from[3], seen[3] = {0, 0, 0};
        struct process process = {.fd = -1};
        struct process_end end;
        char reason[REASON_SIZE] = "";
        struct process_spec spec = spec_of(ARGV("/bin/sh", "-c", "printf a >&0; printf b >&1; printf c >&2"));
        CHECK_INT(sscanf(orders[o], "%d %d %d", &from[0], &from[1], &from[2]), 3);
        for (int i = 0; i < 3; i++)
            CHECK_INT(dup3(pipes[i][1], i, o % 2 == 0 ? O_CLOEXEC : 0) < 0 ? errno : 0, 0);
        spec.input = from[0];
        spec.output = from[1];
        spec.error = from[2];
        int error = process_start(&spec, &process, reason, sizeof reason);
        bool ended = error == 0 && await_readable(process.fd) && process_reap(&process, &end);
        for (int i = 0; i < 3; i++)
            (void)dup2(saved[i], i);
        CHECK_INT(error, 0);
        CHECK(ended && end.exited && end.code == 0);
        for (int i = 0; i < 3; i++) {
            char bytes[4] = "";
            CHECK_INT(fcntl(pipes[i][0], F_SETFL, O_NONBLOCK), 0);
            ssize_t size = read(pipes[i][0], bytes, sizeof bytes);
            for (ssize_t b = 0; b < size; b++)
                seen[bytes[b] - 'a'] = i;
        }
        for (int i = 0; i < 3; i++)
            CHECK_INT(seen[i], from[i]);
    }
    for (int i = 0; i < 3; i++) {
        (void)close(saved[i]);
        (void)close(pipes[i][0]);
        (void)close(pipes[i][1]);
    }
}

static void ignore_signal(int number)
{
    (void)number;
}

TEST_REAL(no_signal_is_blocked_or_ignored, "")
{
    sigset_t all, before;
    struct sigaction handle = {.sa_handler = ignore_signal}, old_handle;
    (void)sigfillset(&all);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGRTMIN + 3, SIG_IGN);
    (void)sigaction(SIGTERM, &handle, &old_handle);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    CHECK_TEXT(run_to_end(&started, spec_of(ARGV(TEST_CHILD, "signals"))),
               "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    sigset_t now;
    (void)sigprocmask(SIG_SETMASK, &before, &now);
    CHECK_INT(sigismember(&now, SIGUSR2), 1); /* the caller's mask is as it was */
    CHECK_TEXT(run_to_end(&started, spec_of(ARGV("true"))), "");
    (void)sigprocmask(SIG_SETMASK, &before, &now);
    CHECK_INT(sigismember(&now, SIGUSR2), 0);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    (void)signal(SIGRTMIN + 3, SIG_DFL);
    (void)sigaction(SIGTERM, &old_handle, NULL);
}

TEST_REAL(a_process_is_killed_with_its_runner, "")
{
    CHECK(start(&started, spec_of(ARGV(TEST_STARTER, "/bin/sh", "-c", "echo $$; cat")), true));
    check_killed_with_runner(&started);
}

/* ---- starts that fail ---- */

/* Checks that a start fails with a text, and leaves neither a process nor a descriptor. */
static void check_failure(struct process_spec spec, int error, const char *reason)
{
    int before = count_descriptors();
    CHECK(!start(&started, spec, false));
    CHECK_INT(started.error, -error);
    CHECK_TEXT(started.reason, reason);
    CHECK_INT(count_descriptors(), before);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

TEST_REAL(programs_that_cannot_be_executed, "")
{
    char reason[REASON_SIZE];
    check_failure(spec_of(ARGV("/nonexistent")), ENOENT, "/nonexistent: No such file or directory");
    check_failure(spec_of(ARGV("nonexistent-program")), ENOENT, "nonexistent-program: not found in PATH");
    check_failure(spec_of(ARGV("")), ENOENT, ": not found in PATH");
    check_failure(spec_of(ARGV("/etc/passwd/x")), ENOENT, "/etc/passwd/x: No such file or directory");
    check_failure(spec_of(ARGV("/usr")), EACCES, "/usr: Permission denied");
    const char *program = make_program("#!/bin/sh\n", 0644);
    (void)snprintf(reason, sizeof reason, "%s: Permission denied", program);
    check_failure(spec_of(ARGV(program)), EACCES, reason);
    remove_program(program);
    program = make_program("#!/nonexistent/shell\n", 0755);
    (void)snprintf(reason, sizeof reason, "%s: the interpreter of this program does not exist", program);
    check_failure(spec_of(ARGV(program)), ENOENT, reason);
    remove_program(program);
    program = make_program("#!/bin/sh\n", 0755);
    int writer = open(program, O_WRONLY | O_CLOEXEC);
    (void)snprintf(reason, sizeof reason, "%s: Text file busy", program);
    check_failure(spec_of(ARGV(program)), ETXTBSY, reason);
    (void)close(writer);
    remove_program(program);
}

TEST_REAL(other_steps_that_fail, "")
{
    struct process_spec spec = spec_of(ARGV("true"));
    spec.directory = "/nonexistent";
    check_failure(spec, ENOENT, "cannot change to directory /nonexistent: No such file or directory");
    spec.directory = "/etc/passwd";
    check_failure(spec, ENOTDIR, "cannot change to directory /etc/passwd: Not a directory");
    spec.directory = NULL;
    spec.cgroup = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check_failure(spec, ENOENT, "cannot enter the cgroup of the run: No such file or directory");
    (void)close(spec.cgroup);
}

TEST_REAL(a_bad_descriptor_is_reported, "")
{
    char reason[REASON_SIZE];
    struct process process;
    struct process_spec spec = spec_of(ARGV("true"));
    spec.input = spec.output = spec.error = 9999;
    CHECK_INT(process_start(&spec, &process, reason, sizeof reason), -EBADF);
    CHECK_TEXT(reason, "cannot connect standard input, output and error: Bad file descriptor");
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* ---- pid 1, and runners that were killed ---- */

static bool is_started(pid_t pid, void *arg)
{
    return pid == ((const struct started *)arg)->process.pid;
}

TEST_REAL(orphans_are_collected_and_runs_are_not, "")
{
    static struct started ours;
    CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    CHECK(start(&started, spec_of(ARGV(TEST_CHILD, "orphan")), true));
    int hold = fcntl(started.output, F_DUPFD_CLOEXEC, 3);
    int input = fcntl(started.input, F_DUPFD_CLOEXEC, 3);
    read_output(&started, 1);
    await_end(&started);
    pid_t pid = (pid_t)strtol(started.text, NULL, 10);
    int orphan = (int)syscall(SYS_pidfd_open, pid, 0);
    CHECK(pid > 0 && orphan >= 0);
    CHECK(start(&ours, spec_of(ARGV("/bin/sh", "-c", "exit 5")), false));
    CHECK_INT(process_reap_orphans(is_started, &ours), 0);
    CHECK(await_readable(ours.process.fd));
    CHECK_INT(process_reap_orphans(is_started, &ours), 0);
    await_end(&ours);
    CHECK_INT(ours.end.code, 5);
    (void)close(input);
    CHECK(await_readable(orphan));
    CHECK_INT(process_reap_orphans(is_started, &ours), 1);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    CHECK_INT(process_reap_orphans(is_started, &ours), 0);
    (void)close(orphan);
    (void)close(hold);
    CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

/* The marked processes are in sessions of their own, and their parent has ended. The others only have marks
 * that are similar. */
TEST_REAL(marked_processes_are_killed_wherever_they_are, "")
{
    static struct started others[2];
    char mark[64], variables[3][96];
    (void)snprintf(mark, sizeof mark, "test-%d", (int)getpid());
    (void)snprintf(variables[0], sizeof variables[0], "HORA_RUNNER=%s", mark);
    (void)snprintf(variables[1], sizeof variables[1], "HORA_RUNNER=%s0", mark);
    (void)snprintf(variables[2], sizeof variables[2], "XHORA_RUNNER=%s", mark);
    for (int i = 0; i < 2; i++) {
        struct process_spec spec = spec_of(ARGV("cat"));
        spec.environment = ARGV("PATH=/bin:/usr/bin", variables[1 + i]);
        CHECK(start(&others[i], spec, true));
    }
    struct process_spec spec = spec_of(ARGV(TEST_CHILD, "scatter", "3"));
    spec.environment = ARGV("A=b", variables[0], "C=d");
    CHECK(start(&started, spec, false));
    read_output(&started, strlen("......"));
    CHECK(await_readable(started.process.fd));
    CHECK_INT(process_kill_marked("another"), 0);
    CHECK_INT(process_kill_marked(mark), 6);
    read_output(&started, OUTPUT_MOST); /* ends when all have been killed */
    await_end(&started);
    CHECK_INT(process_kill_marked(mark), 0);
    for (int i = 0; i < 2; i++) {
        CHECK(!process_reap(&others[i].process, &others[i].end));
        process_signal(&others[i].process, SIGKILL);
        await_end(&others[i]);
    }
}

/* The environment is longer than what is read of it at once. The mark is at many places around the cut. */
TEST_REAL(marks_are_found_in_large_environments, "")
{
    enum { AT_ONCE = 32 * 1024 };
    static char filler[AT_ONCE];
    char mark[64], variable[96];
    (void)snprintf(mark, sizeof mark, "test-large-%d", (int)getpid());
    (void)snprintf(variable, sizeof variable, "HORA_RUNNER=%s", mark);
    for (size_t before = 0; before <= strlen(variable) + 2; before += 3) {
        memset(filler, 'f', sizeof filler);
        filler[1] = '=';
        filler[AT_ONCE - 1 - before] = '\0';
        struct process_spec spec = spec_of(ARGV("/bin/sh", "-c", "echo; cat"));
        spec.environment = ARGV(filler, variable, "PATH=/usr/bin:/bin");
        CHECK(start(&started, spec, true));
        read_output(&started, 1);
        CHECK_INT(process_kill_marked(mark), 1);
        await_end(&started);
        CHECK_INT(started.end.code, SIGKILL);
    }
}
