/* SPDX-License-Identifier: Apache-2.0 */
/* run_process.c - the process of a run: what it is started with, its output, and its end
 *
 * A process has two pipes, for standard output and standard error, and reads its input from /dev/null or from a
 * file in memory. The loop watches the pipes and the descriptor of the process. The process has ended when that
 * descriptor is readable; its output is complete when both pipes are at their end, which a process in the
 * background can delay. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"
#include "runner/environment.h"
#include "runner/internal.h"
#include "text.h"

enum { READ_SIZE = 1 << 16, REASON_SIZE = 512, KILL_WAIT_MS = 1000 };

const struct job_command *run_command_of(const struct run *run)
{
    if (run->hook == NULL)
        return &run->job->command;
    if (strcmp(run->hook, "on_success") == 0)
        return &run->job->on_success;
    return strcmp(run->hook, "on_give_up") == 0 ? &run->job->on_give_up : &run->job->on_failure;
}

/* ---- output ---- */

static void line_arrived(const struct output_line *line, void *arg)
{
    struct run *run = arg;
    event_output(run->runner, line);
}

static void close_pipe(struct run *run, int stream)
{
    if (run->pipes[stream] < 0)
        return;
    loop_unwatch(&run->pipe_watch[stream]);
    (void)close(run->pipes[stream]);
    run->pipes[stream] = -1;
}

/* Reads once; the loop calls again if there is more. So a job that prints without end does not keep the loop
 * from its other work, and has to wait itself. Returns false at the end. */
static bool read_once(struct run *run, int stream)
{
    static char bytes[READ_SIZE]; /* one thread */
    ssize_t count = read(run->pipes[stream], bytes, sizeof bytes);
    if (count > 0)
        capture_feed(run->capture, stream == 0 ? STREAM_OUT : STREAM_ERR, bytes, (size_t)count,
                     loop_wall(run->runner->loop));
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

static void pipe_ready(int fd, uint32_t events, void *arg)
{
    (void)events;
    struct run *run = arg;
    int stream = fd == run->pipes[0] ? 0 : 1;
    assert(fd == run->pipes[stream]);
    if (read_once(run, stream))
        return;
    close_pipe(run, stream);
    if (run->pipes[1 - stream] < 0 && run->run_state == RUN_DRAINING)
        run_process_done(run);
}

void run_read_rest(struct run *run)
{
    for (int stream = 0; stream < 2; stream++)
        for (int i = 0; i < 2 && run->pipes[stream] >= 0 && read_once(run, stream); i++)
            ;
}

static void process_ready(int fd, uint32_t events, void *arg)
{
    (void)fd, (void)events;
    struct run *run = arg;
    if (run->process_ended)
        return;
    loop_unwatch(&run->process_watch);
    /* What a process has left in its group is killed if the run was told to end, or if its job says so. After
     * process_reap the group may belong to others. */
    if (run->stop != STOP_NOT || run->job->kill_background)
        process_signal(&run->process, SIGKILL);
    if (!process_reap(&run->process, &run->end))
        return;
    run->process_ended = true;
    run_process_ended(run);
}

/* ---- starting ---- */

/* What process_start needs, as long as it needs it. */
struct start {
    struct environment environment;
    const char *words[4];
    struct process_spec spec;
    gid_t *groups;
    char *home;
    int input, output[2], error[2];
};

static void set_variables(struct environment *environment, const struct run *run)
{
    const struct job_environment *own = &run->job->environment;
    for (size_t i = 0; i < own->count; i++)
        environment_set(environment, own->variables[i].name, own->variables[i].value);
    char number[32], time[HORA_INSTANT_TEXT] = "";
    environment_set(environment, "HORA_JOB", run->job->name);
    environment_set(environment, "HORA_RUN_ID", run->id);
    (void)hora_instant_format(run->planned, NULL, false, time, sizeof time);
    environment_set(environment, "HORA_SCHEDULED", time);
    (void)snprintf(number, sizeof number, "%d", run->attempt);
    environment_set(environment, "HORA_ATTEMPT", number);
    time[0] = '\0';
    if (run->last_success.ns != 0)
        (void)hora_instant_format(run->last_success, NULL, false, time, sizeof time);
    environment_set(environment, "HORA_LAST_SUCCESS", time);
    (void)snprintf(number, sizeof number, "%" PRId64, run->fence);
    environment_set(environment, "HORA_FENCE", number);
    environment_set(environment, "HORA_RUNNER", run->runner->mark);
}

static bool set_user(struct start *start, const struct run *run, char *reason)
{
    const struct job *job = run->job;
    if (job->user == NULL && job->user_group == NULL)
        return true;
    char own[16];
    (void)snprintf(own, sizeof own, "%u", (unsigned)geteuid());
    start->spec.set_user = true;
    if (process_find_user(job->user != NULL ? job->user : own, job->user_group, &start->spec.user,
                          &start->spec.group, &start->groups, &start->spec.group_count, &start->home, reason,
                          REASON_SIZE) < 0)
        return false;
    if (job->user == NULL) { /* the same user in another group stays where the runner is */
        free(start->home);
        start->home = NULL;
    }
    return true;
}

/* Opens a file in memory with the text for standard input, or /dev/null. */
static int open_input(const struct run *run)
{
    const char *text = run->input != NULL ? run->input : run->hook == NULL ? run->job->input : NULL;
    size_t size = run->input != NULL ? strlen(run->input) : run->job->input_size;
    if (text == NULL || run->is_guard)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("input", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < size;) {
        ssize_t count = write(fd, text + done, size - done);
        if (count < 0 && errno != EINTR) {
            (void)close(fd);
            return -1;
        }
        done += count < 0 ? 0 : (size_t)count;
    }
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

static bool open_descriptors(struct start *start, const struct run *run, char *reason)
{
    start->input = open_input(run);
    bool done = start->input >= 0 && pipe2(start->output, O_CLOEXEC) == 0 &&
                pipe2(start->error, O_CLOEXEC) == 0 && fcntl(start->output[0], F_SETFL, O_NONBLOCK) == 0 &&
                fcntl(start->error[0], F_SETFL, O_NONBLOCK) == 0;
    if (!done)
        (void)snprintf(reason, REASON_SIZE, "its descriptors cannot be opened: %s", strerror(errno));
    return done;
}

static void close_all(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

static void set_words(struct start *start, const struct job *job, const struct job_command *command)
{
    start->words[0] = job->shell;
    start->words[1] = "-c";
    start->words[2] = command->shell;
    start->spec.argv = command->shell != NULL ? start->words : (const char *const *)command->argv;
}

/* Makes a cgroup for a run that wants one. Without permission it runs without. */
static void make_cgroup(struct run *run)
{
    const struct job_limits *limits = &run->job->limits;
    if (limits->cgroup_memory <= 0 && limits->cgroup_cpu <= 0 && limits->cgroup_processes <= 0)
        return;
    char reason[REASON_SIZE];
    run->cgroup = cgroup_make(run->id, limits, reason, sizeof reason);
    if (run->cgroup < 0)
        event_report(run->runner, EVENT_WARNING, "warn", run->job->name, json_pack("{s:s}", "run", run->id),
                     "runs without its cgroup limits: %s", reason);
}

static bool prepare(struct start *start, struct run *run, const struct job_command *command, char *reason)
{
    const struct job *job = run->job;
    if (!set_user(start, run, reason) || !open_descriptors(start, run, reason))
        return false;
    environment_start(&start->environment, job->environment.clean, job->user, start->home, job->shell);
    set_variables(&start->environment, run);
    set_words(start, job, command);
    make_cgroup(run);
    start->spec.environment = (const char *const *)start->environment.texts;
    start->spec.directory = job->directory != NULL ? job->directory : start->home;
    start->spec.umask = job->umask;
    start->spec.nice = job->nice;
    start->spec.groups = start->groups;
    start->spec.limits = &job->limits;
    start->spec.open_files = run->runner->open_files;
    start->spec.input = start->input;
    start->spec.output = start->output[1];
    start->spec.error = start->error[1];
    start->spec.cgroup = run->cgroup;
    return true;
}

/* The process runs: watches its descriptors. */
static bool watch(struct run *run, struct start *start, char *reason)
{
    run->has_process = true;
    run->pipes[0] = start->output[0];
    run->pipes[1] = start->error[0];
    start->output[0] = start->error[0] = -1;
    if (run->capture == NULL)
        run->capture = capture_new(run->job->name, run->id, run->attempt, (size_t)run->job->tail,
                                   run->state == NULL ? NULL : run->state->log, line_arrived, run);
    struct loop *loop = run->runner->loop;
    int error = loop_watch(loop, &run->process_watch, run->process.fd, EPOLLIN, process_ready, run);
    for (int i = 0; i < 2 && error == 0; i++)
        error = loop_watch(loop, &run->pipe_watch[i], run->pipes[i], EPOLLIN, pipe_ready, run);
    if (error < 0)
        (void)snprintf(reason, REASON_SIZE, "its descriptors cannot be watched: %s", strerror(-error));
    return error == 0;
}

bool run_start_process(struct run *run, const struct job_command *command)
{
    run->is_guard = run->run_state == RUN_GUARDED;
    if (run->runner->simulation != NULL)
        return simulated_start(run);
    struct start start = {.input = -1, .output = {-1, -1}, .error = {-1, -1}};
    char reason[REASON_SIZE] = "";
    run->process_ended = false;
    bool done = prepare(&start, run, command, reason) &&
                process_start(&start.spec, &run->process, reason, sizeof reason) == 0 &&
                watch(run, &start, reason);
    close_all((const int[]){start.input, start.output[0], start.output[1], start.error[0], start.error[1]},
              5);
    environment_free(&start.environment);
    free(start.groups);
    free(start.home);
    if (!done)
        text_set(&run->start_error, reason);
    return done;
}

void run_signal(struct run *run, int signal)
{
    if (run->runner->simulation == NULL)
        process_signal(&run->process, signal);
    else if (!run->process_ended && signal != SIGCONT)
        simulated_signal(run, signal);
}

/* Only at the end of the runner, or if a process cannot be watched. One that does not even end after SIGKILL,
 * because it waits for a device, is left to the kernel. */
static void kill_process(struct run *run)
{
    loop_unwatch(&run->process_watch);
    process_signal(&run->process, SIGKILL);
    struct pollfd ended = {.fd = run->process.fd, .events = POLLIN};
    struct process_end end;
    if (poll(&ended, 1, KILL_WAIT_MS) > 0 && process_reap(&run->process, &end))
        return;
    (void)close(run->process.fd);
    run->process.fd = -1;
}

void run_close_process(struct run *run)
{
    if (run->has_process && !run->process_ended && run->runner->simulation == NULL)
        kill_process(run);
    run->has_process = false;
    for (int i = 0; i < 2; i++)
        close_pipe(run, i);
    if (run->capture != NULL)
        capture_end(run->capture, loop_wall(run->runner->loop));
    if (run->cgroup >= 0) {
        cgroup_remove(run->cgroup, run->id);
        run->cgroup = -1;
    }
}
