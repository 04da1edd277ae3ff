/* SPDX-License-Identifier: Apache-2.0 */
/* runner.c - the start and the end of a runner, and how to find its parts
 *
 * The order at the start: files, loop, store, control socket, processes that an earlier runner left behind, tasks
 * in the store, durable scheduler, jobs with at_start. A runner that does not get the control socket has changed
 * nothing. The first run can start only when everything else is ready. What fails before that ends the runner
 * with a message. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "runner/console.h"
#include "runner/internal.h"
#include "runner/notify.h"
#include "runner/simulate.h"
#include "runner/start.h"
#include "terminal.h"
#include "text.h"

#define TRIM_EVERY    HORA_HOURS(1)
#define LONGEST_LEASE HORA_SECONDS(60)

enum { MAX_CLAIMED = 20000, PING_WAIT_SECONDS = 5 };

/* ---- finding ---- */

static int compare_state(const void *name, const void *state)
{
    return strcmp(name, (*(struct job_state *const *)state)->name);
}

struct job_state *runner_find(const struct runner *runner, const char *name)
{
    if (name == NULL || runner->job_count == 0)
        return NULL;
    struct job_state **found =
        bsearch(name, runner->jobs, runner->job_count, sizeof *runner->jobs, compare_state);
    return found == NULL ? NULL : *found;
}

struct group_state *runner_find_group(const struct runner *runner, const char *name)
{
    for (size_t i = 0; i < runner->group_count; i++)
        if (strcmp(runner->groups[i]->name, name) == 0)
            return runner->groups[i];
    return NULL;
}

struct run *runner_find_run(const struct runner *runner, const char *id, const struct run *ret_several[2])
{
    struct run *found = NULL;
    size_t length = strlen(id);
    ret_several[0] = ret_several[1] = NULL;
    for (struct run *run = runner->runs; run != NULL; run = run->next) {
        bool is_job = run->hook == NULL && run->job != NULL && strcmp(run->job->name, id) == 0;
        if (run->finished || (strncmp(run->id, id, length) != 0 && !is_job))
            continue;
        if (strcmp(run->id, id) == 0) {
            ret_several[0] = ret_several[1] = NULL;
            return run;
        }
        ret_several[1] = run;
        if (found != NULL)
            ret_several[0] = found;
        found = run;
    }
    if (ret_several[0] != NULL)
        return NULL;
    ret_several[1] = NULL;
    return found;
}

/* ---- reports of the durable scheduler ---- */

struct store_report {
    struct runner *runner;
    hora_durable_event event;
    int64_t count;
    char *text;
};

static void report_arrived(void *arg)
{
    struct store_report *report = arg;
    struct runner *runner = report->runner;
    switch (report->event) {
    case HORA_DURABLE_DISCONNECTED:
        runner->store_is_connected = false;
        text_set(&runner->store_error, report->text);
        event_report(runner, EVENT_ERROR, "store", NULL, NULL, "the store cannot be reached: %s",
                     report->text == NULL ? "" : report->text);
        break;
    case HORA_DURABLE_CONNECTED:
        runner->store_is_connected = true;
        text_set(&runner->store_error, NULL);
        event_report(runner, EVENT_INFO, "store", NULL, NULL, "the store can be reached again");
        break;
    case HORA_DURABLE_FENCED:
        event_report(runner, EVENT_ERROR, "store", NULL, NULL,
                     "the lease of this node has ended; its runs are killed, and may run elsewhere");
        break;
    case HORA_DURABLE_TOOK_OVER:
        event_report(runner, EVENT_WARNING, "store", NULL, NULL,
                     "%" PRId64 " runs of a dead node were taken over", report->count);
        break;
    case HORA_DURABLE_STALE:
        event_report(runner, EVENT_WARNING, "store", NULL, NULL,
                     "the outcomes of %" PRId64 " runs do not count: their leases had ended", report->count);
        break;
    case HORA_DURABLE_CLOCK_STEPPED:
        event_report(runner, EVENT_WARNING, "clock", NULL, NULL, "the clock of the store was set by %.3f s",
                     (double)report->count / 1e6);
        break;
    case HORA_DURABLE_FAILED:
    default:
        event_report(runner, EVENT_ERROR, "store", NULL, NULL, "the store failed: %s",
                     report->text == NULL ? "" : report->text);
        break;
    }
    free(report->text);
    free(report);
}

static void durable_reports(hora_durable *durable, hora_durable_event event, int64_t count,
                            const hora_error *error, void *arg)
{
    (void)durable;
    struct store_report *report = memory(sizeof *report);
    *report = (struct store_report){.runner = arg,
                                    .event = event,
                                    .count = count,
                                    .text = error == NULL ? NULL : text_copy(error->message)};
    loop_post(report->runner->loop, report_arrived, report);
}

/* ---- signals ---- */

static bool is_ours(pid_t pid, void *arg)
{
    const struct runner *runner = arg;
    for (const struct run *run = runner->runs; run != NULL; run = run->next)
        if (run->has_process && !run->process_ended && run->process.pid == pid)
            return true;
    return false;
}

void runner_reap_orphans(struct runner *runner)
{
    if (getpid() == 1)
        (void)process_reap_orphans(is_ours, runner);
}

static void signal_arrived(int fd, uint32_t events, void *arg)
{
    (void)events;
    struct runner *runner = arg;
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGHUP)
        runner_request_reload(runner, NULL, NULL);
    else if (info.ssi_signo == SIGCHLD)
        runner_reap_orphans(runner);
    else
        runner_stop(runner, runner->stop_within);
}

/* Blocks the signals before the first thread is made: all threads inherit that. */
static int block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGHUP);
    if (getpid() == 1)
        sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a log file at the limit of its size is an error of write */
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- parts ---- */

/* Returns a text that is the same whenever this runner is started, and no other runner has: the control
 * socket belongs to one runner at a time. A relative path means different sockets in different folders. */
static char *make_mark(const struct runner *runner)
{
    char folder[PATH_MAX] = "";
    if (runner->socket_path[0] != '/' && getcwd(folder, sizeof folder) == NULL)
        folder[0] = '\0';
    char *text = text_format("%s %s %s %s %u", folder, runner->socket_path, runner->store_address,
                             runner->namespace, (unsigned)getuid());
    uint64_t hash = text_hash(text);
    free(text);
    return text_format("%016" PRIx64, hash);
}

static bool open_store(struct runner *runner, const char *address)
{
    hora_error reason;
    hora_virtual_clock *clock = loop_clock(runner->loop);
    const hora_clock *wall = clock == NULL ? NULL : hora_virtual_clock_view(clock, HORA_CLOCK_WALL);
    int error = hora_store_open(address, HORA_STORE_OPTIONS(.clock = wall), &runner->store, &reason);
    if (error == 0)
        error = hora_durable_new(
            runner->store,
            HORA_DURABLE_OPTIONS(.threads = 2, .max_claimed = MAX_CLAIMED, .lease = runner->options.lease,
                                 .name = runner->node_name, .notify = durable_reports, .notify_arg = runner,
                                 .skipped = missed_skipped, .clock = clock),
            &runner->durable, &reason);
    if (error == 0)
        error = hora_durable_add_handler(runner->durable, HANDLER_JOB, firing_job, runner, NULL, &reason);
    if (error == 0)
        error = hora_durable_add_handler(runner->durable, HANDLER_HOOK, firing_hook, runner, NULL, &reason);
    if (error < 0)
        complain("store %s: %s", runner->store_address, reason.message);
    runner->store_is_connected = error == 0;
    return error == 0;
}

static bool agree(struct runner *runner)
{
    hora_error reason;
    struct agreement *agreement = agreement_new(runner);
    int error = agreement_make(agreement, &reason);
    agreement_report(agreement, runner);
    agreement_free(agreement);
    if (error < 0)
        complain("store %s: %s", runner->store_address, reason.message);
    return error == 0;
}

/* Returns after which delay a job wants to run after the start; -1 if it does not. */
static hora_ns start_delay(const struct job *job)
{
    for (size_t i = 0; i < job->trigger_count && job->enabled; i++)
        if (job->triggers[i].kind == TRIGGER_AT_START)
            return job->triggers[i].period;
    return -1;
}

/* Runs the jobs with at_start. A job that was given up stays so. */
static void run_at_start(struct runner *runner)
{
    hora_instant now = loop_wall(runner->loop);
    for (size_t i = 0; i < runner->job_count; i++) {
        struct job_state *state = runner->jobs[i];
        hora_ns delay = start_delay(state->job);
        hora_error reason;
        int error = delay < 0 ? 0 : job_run_at(runner, state->key, (hora_instant){now.ns + delay}, &reason);
        if (error < 0 && error != HORA_ENOENT)
            event_report(runner, EVENT_ERROR, "store", state->name, NULL, "does not run at the start: %s",
                         reason.message);
    }
}

/* ---- history ---- */

struct trim {
    struct runner *runner;
    hora_instant before;
    int result;
    hora_error reason;
};

static void trim_work(void *arg)
{
    struct trim *trim = arg;
    trim->result = hora_store_trim_history(trim->runner->store, trim->before, &trim->reason);
}

static void trim_done(void *arg)
{
    struct trim *trim = arg;
    if (trim->result < 0)
        event_report(trim->runner, EVENT_WARNING, "store", NULL, NULL, "old records could not be deleted: %s",
                     trim->reason.message);
    free(trim);
}

static void trim_history(void *arg)
{
    struct runner *runner = arg;
    hora_ns keep = runner->set->jobs->settings.keep_history;
    struct trim *trim = memory(sizeof *trim);
    *trim = (struct trim){.runner = runner,
                          .before = {loop_wall(runner->loop).ns - (keep > 0 ? keep : DEFAULT_KEEP_HISTORY)}};
    loop_ask(runner->loop, trim_work, trim_done, trim);
    loop_timer_start(&runner->trim_timer, TRIM_EVERY);
}

/* ---- start and end ---- */

static bool make_loop(struct runner *runner)
{
    hora_virtual_clock *clock = NULL;
    hora_error reason;
    if (runner->options.virtual_clock &&
        hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.wall = runner->options.virtual_start), &clock,
                               &reason) < 0) {
        complain("the virtual clock: %s", reason.message);
        return false;
    }
    runner->loop = loop_new(clock);
    return runner->loop != NULL;
}

static bool start_services(struct runner *runner)
{
    const struct jobs *jobs = runner->set->jobs;
    char reason[512];
    if (!pinger_accepts(jobs, reason, sizeof reason)) {
        complain("%s", reason);
        return false;
    }
    runner->pinger = pinger_new(runner);
    runner->metrics = metrics_new(runner, &jobs->settings);
    if (runner->metrics == NULL)
        return false;
    runner->control = control_new(runner);
    return runner->control != NULL;
}

static void report_ready(struct runner *runner)
{
    event_report(runner, EVENT_INFO, "ready", NULL, NULL, "%zu job%s, store %s, control socket %s",
                 runner->job_count, runner->job_count == 1 ? "" : "s", runner->store_address,
                 runner->socket_path);
    notify_ready();
    notify_status("%zu jobs", runner->job_count);
}

/* The control socket is ours, so no living runner has processes with this mark. */
static void kill_what_was_left(struct runner *runner)
{
    int left = process_kill_marked(runner->mark);
    if (left > 0)
        event_report(runner, EVENT_WARNING, "kill", NULL, NULL,
                     "killed %d process groups that an earlier runner had left behind", left);
}

static bool start_running(struct runner *runner)
{
    hora_error reason;
    if (runner->signals_fd < 0 || loop_watch(runner->loop, &runner->signals_watch, runner->signals_fd,
                                             EPOLLIN, signal_arrived, runner) < 0) {
        complain("signals cannot be received: %s", strerror(errno));
        return false;
    }
    if (!start_services(runner))
        return false;
    kill_what_was_left(runner);
    if (!agree(runner))
        return false;
    if (hora_durable_start(runner->durable, &reason) < 0) {
        complain("store %s: %s", runner->store_address, reason.message);
        return false;
    }
    report_ready(runner);
    run_at_start(runner); /* from here on nothing is fatal: runs may be in hand */
    runner->watchdog = watchdog_new(runner->loop);
    zones_watch(runner);
    loop_timer_init(&runner->trim_timer, runner->loop, trim_history, runner);
    loop_timer_start(&runner->trim_timer, HORA_SECONDS(10));
    return true;
}

/* As start_running, without all that other programs can see. */
static bool start_simulation(struct runner *runner)
{
    hora_error reason;
    if (!agree(runner))
        return false;
    if (hora_durable_start(runner->durable, &reason) < 0) {
        complain("%s", reason.message);
        return false;
    }
    run_at_start(runner);
    simulation_begin(runner);
    return true;
}

static void runner_free(struct runner *runner)
{
    runner->stopping = true;
    if (runner->durable != NULL)
        hora_durable_free(runner->durable);
    control_free(runner->control);
    metrics_free(runner->metrics);
    pinger_free(runner->pinger, HORA_SECONDS(PING_WAIT_SECONDS));
    watchdog_free(runner->watchdog);
    if (runner->files_fd >= 0)
        runner_unwatch_files(runner);
    loop_timer_free(&runner->trim_timer);
    loop_timer_free(&runner->zones_timer);
    loop_unwatch(&runner->signals_watch);
    if (runner->store != NULL)
        (void)hora_store_close(runner->store);
    runner_free_jobs(runner);
    cancel_free_awaited(runner);
    console_free(runner->console);
    hora_virtual_clock *clock = runner->loop == NULL ? NULL : loop_clock(runner->loop);
    loop_free(runner->loop);
    (void)hora_virtual_clock_free(clock);
    hora_zone_unref(runner->local_zone);
    free(runner->namespace);
    free(runner->store_address);
    free(runner->socket_path);
    free(runner->log_directory);
    free(runner->mark);
    free(runner->node_name);
    free(runner->store_error);
    free(runner->reload_error);
}

/* Fills in what does not depend on the loop. */
static void init(struct runner *runner, const struct jobs *jobs, const struct runner_places *places)
{
    const char *namespace = jobs->settings.namespace;
    runner->files_fd = -1;
    runner->exit_status = STATUS_TROUBLE;
    runner->node_name = text_copy(places->node_name);
    runner->store_address = text_copy(places->shown_store);
    runner->socket_path = text_copy(places->socket);
    runner->log_directory = text_copy(places->log_directory);
    runner->namespace = text_copy(namespace != NULL ? namespace : DEFAULT_NAMESPACE);
    runner->mark = make_mark(runner);
    runner->has_colour = isatty(STDOUT_FILENO) && terminal_has_colour() && !runner->options.json;
    if (runner->simulation != NULL && runner->simulation->zone != NULL)
        runner->local_zone = hora_zone_ref(runner->simulation->zone);
    else if (hora_zone_new("local", NULL, &runner->local_zone, NULL) < 0)
        runner->local_zone = NULL; /* UTC */
}

/* Takes the jobs into use, and runs them until the loop ends. */
static void run(struct runner *runner, struct jobs *jobs, const char *store)
{
    runner->console = console_new(runner->loop, runner->local_zone, runner->options.json);
    runner->started = loop_wall(runner->loop);
    runner_use(runner, jobs);
    runner_watch_files(runner); /* first: the files may change while the store is opened */
    if (!open_store(runner, store))
        return;
    bool is_ready = runner->simulation != NULL ? start_simulation(runner) : start_running(runner);
    if (!is_ready)
        return;
    loop_run(runner->loop);
    runner->exit_status = STATUS_OK;
}

static int run_jobs(struct runner *runner, struct jobs *jobs, const struct runner_places *places)
{
    init(runner, jobs, places);
    if (make_loop(runner))
        run(runner, jobs, places->store);
    else
        jobs_free(jobs);
    int status = runner->exit_status;
    runner_free(runner);
    return status;
}

/* Raises the limit of open files as far as is allowed, because each run needs four. Returns the soft limit that
 * it was: processes of jobs get that. */
static int64_t raise_open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    int64_t before = (int64_t)limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return before;
}

int runner_main(const struct runner_options *options, struct jobs *jobs, const struct runner_places *places)
{
    struct runner runner = {
        .options = *options, .signals_fd = block_signals(), .open_files = raise_open_files()};
    int status = run_jobs(&runner, jobs, places);
    if (runner.signals_fd >= 0)
        (void)close(runner.signals_fd);
    return status;
}

int simulate(const struct simulation *simulation, struct jobs *jobs)
{
    struct runner runner = {.options = {.virtual_clock = true,
                                        .virtual_start = simulation->from,
                                        .json = simulation->json,
                                        .lease = LONGEST_LEASE}, /* fewer renewals: nothing can be lost */
                            .signals_fd = -1,
                            .simulation = simulation};
    const struct runner_places places = {.store = "memory:",
                                         .shown_store = "memory:",
                                         .socket = "",
                                         .log_directory = "",
                                         .node_name = "simulation"};
    return run_jobs(&runner, jobs, &places);
}
