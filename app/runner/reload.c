/* SPDX-License-Identifier: Apache-2.0 */
/* reload.c - take job files into use, at the start and later
 *
 * The files are read as a whole. If there is any problem with them, nothing changes. Otherwise the states of
 * the jobs are brought up to date, then the store (schedule.c). Runs in progress are left alone: they keep the
 * description that they started with, also if their job is gone. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "command.h"
#include "runner/internal.h"
#include "runner/notify.h"
#include "text.h"

#define SETTLE_TIME HORA_MS(200) /* editors write a file in several steps */

/* ---- sets ---- */

struct job_set *job_set_ref(struct job_set *set)
{
    set->references++;
    return set;
}

void job_set_unref(struct job_set *set)
{
    if (set == NULL || --set->references > 0)
        return;
    jobs_free(set->jobs);
    free(set);
}

/* ---- states ---- */

/* A run in progress keeps the log of its job open, also if the job is gone. */
static void log_failed(const char *path, int error, void *arg)
{
    event_report(arg, EVENT_ERROR, "error", NULL, NULL, "the log %s cannot be written: %s", path,
                 strerror(error));
}

static void open_log(struct job_state *state)
{
    const struct job_log *log = &state->job->log;
    struct job_log_file *old = state->log;
    state->log = log->enabled && state->runner->simulation == NULL
                     ? job_log_open(state->runner->log_directory, state->name, log->max_size, log->max_files,
                                    log_failed, state->runner)
                     : NULL;
    job_log_close(old);
}

static bool has_same_log(const struct job *a, const struct job *b)
{
    return a->log.enabled == b->log.enabled && a->log.max_size == b->log.max_size &&
           a->log.max_files == b->log.max_files;
}

static struct job_state *state_new(struct runner *runner, struct job_set *set, const struct job *job)
{
    struct job_state *state = memory(sizeof *state);
    *state = (struct job_state){.runner = runner,
                                .name = text_copy(job->name),
                                .set = job_set_ref(set),
                                .job = job,
                                .hash = job_hash(job),
                                .key = job_key(runner, job->name)};
    overlap_init(state);
    open_log(state);
    return state;
}

static void state_change(struct job_state *state, struct job_set *set, const struct job *job)
{
    bool same_log = has_same_log(state->job, job);
    struct job_set *old = state->set;
    uint64_t old_hash = state->hash;
    state->set = job_set_ref(set);
    state->job = job;
    state->hash = job_hash(job);
    if (!same_log)
        open_log(state);
    if (state->hash != old_hash)
        overlap_watch_again(state);
    job_set_unref(old);
}

static void state_free(struct job_state *state)
{
    struct runner *runner = state->runner;
    for (struct run *run = runner->runs; run != NULL; run = run->next)
        if (run->state == state)
            run->state = NULL;
    loop_timer_free(&state->next_timer);
    job_log_close(state->log);
    job_set_unref(state->set);
    free(state->name);
    free(state->key);
    free(state);
}

void runner_free_jobs(struct runner *runner)
{
    for (size_t i = 0; i < runner->job_count; i++)
        state_free(runner->jobs[i]);
    free(runner->jobs);
    runner->jobs = NULL;
    runner->job_count = 0;
    for (size_t i = 0; i < runner->group_count; i++) {
        free(runner->groups[i]->name);
        free(runner->groups[i]);
    }
    free(runner->groups);
    job_set_unref(runner->set);
    runner->set = NULL;
}

/* Groups stay as long as the runner, because runs refer to them. */
static void use_groups(struct runner *runner, const struct jobs *jobs)
{
    struct group_state **groups = memory((runner->group_count + jobs->group_count + 1) * sizeof *groups);
    if (runner->group_count > 0)
        memcpy(groups, runner->groups, runner->group_count * sizeof *groups);
    free(runner->groups);
    runner->groups = groups;
    for (size_t i = 0; i < jobs->group_count; i++) {
        struct group_state *group = runner_find_group(runner, jobs->groups[i]->name);
        if (group == NULL) {
            group = memory(sizeof *group);
            *group = (struct group_state){.name = text_copy(jobs->groups[i]->name)};
            groups[runner->group_count++] = group;
        }
        group->limit = jobs->groups[i]->limit;
    }
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL ? b == NULL : b != NULL && strcmp(a, b) == 0;
}

/* Starts the metrics anew if their settings have changed. A runner that has not begun has none yet. */
static void use_metrics(struct runner *runner, const struct job_settings *settings)
{
    const struct job_settings *old = runner->set == NULL ? NULL : &runner->set->jobs->settings;
    if (runner->control == NULL || old == NULL ||
        (is_same_text(old->metrics_file, settings->metrics_file) &&
         is_same_text(old->metrics_listen, settings->metrics_listen) &&
         old->metrics_every == settings->metrics_every))
        return;
    metrics_free(runner->metrics);
    runner->metrics = metrics_new(runner, settings);
}

/* Both lists are sorted by name. */
static void use_jobs(struct runner *runner, struct job_set *set)
{
    const struct jobs *jobs = set->jobs;
    struct job_state **states = memory((jobs->count + 1) * sizeof *states);
    size_t old = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        const struct job *job = jobs->jobs[i];
        while (old < runner->job_count && strcmp(runner->jobs[old]->name, job->name) < 0)
            state_free(runner->jobs[old++]);
        if (old < runner->job_count && strcmp(runner->jobs[old]->name, job->name) == 0) {
            states[i] = runner->jobs[old++];
            state_change(states[i], set, job);
        } else {
            states[i] = state_new(runner, set, job);
        }
    }
    while (old < runner->job_count)
        state_free(runner->jobs[old++]);
    free(runner->jobs);
    runner->jobs = states;
    runner->job_count = jobs->count;
}

/* Marks the jobs after which others run. */
static void find_followed(struct runner *runner)
{
    for (size_t i = 0; i < runner->job_count; i++)
        runner->jobs[i]->is_followed = false;
    for (size_t i = 0; i < runner->job_count; i++) {
        const struct job *job = runner->jobs[i]->job;
        for (size_t k = 0; k < job->after_count; k++) {
            struct job_state *followed = runner_find(runner, job->after[k].job);
            if (followed != NULL)
                followed->is_followed = true;
        }
    }
}

void runner_use(struct runner *runner, struct jobs *jobs)
{
    struct job_set *set = memory(sizeof *set);
    *set = (struct job_set){.jobs = jobs, .references = 1};
    runner->max_running = jobs->settings.max_running > 0 ? jobs->settings.max_running : DEFAULT_MAX_RUNNING;
    runner->stop_within = jobs->settings.stop_within > 0 ? jobs->settings.stop_within : DEFAULT_STOP_WITHIN;
    use_groups(runner, jobs);
    use_jobs(runner, set);
    find_followed(runner);
    use_metrics(runner, &jobs->settings);
    job_set_unref(runner->set);
    runner->set = set;
    for (size_t i = 0; i < jobs->warning_count; i++)
        event_report(runner, EVENT_WARNING, "warn", NULL, NULL, "%s", jobs->warnings[i]);
}

/* ---- reloading ---- */

/* A reload on its way to the store. */
struct reload {
    struct runner *runner;
    struct agreement *agreement;
    reply_fn reply;
    void *arg;
    int error;
    hora_error reason;
};

static void reply_error(reply_fn reply, void *arg, const char *text)
{
    if (reply != NULL)
        reply(json_pack("{s:b, s:s}", "ok", 0, "error", text), arg);
}

static void reload_failed(struct runner *runner, const char *text)
{
    runner->failed_reloads++;
    text_set(&runner->reload_error, text);
    event_report(runner, EVENT_ERROR, "reload", NULL, NULL, "%s", text);
    notify_status("%zu jobs; the last reload failed", runner->job_count);
}

static void reload_store(void *arg)
{
    struct reload *reload = arg;
    reload->error = agreement_make(reload->agreement, &reload->reason);
}

static void reload_done(void *arg)
{
    struct reload *reload = arg;
    struct runner *runner = reload->runner;
    if (reload->error < 0) {
        char text[600];
        (void)snprintf(text, sizeof text, "the store could not be changed: %s; reload again",
                       reload->reason.message);
        reload_failed(runner, text);
        reply_error(reload->reply, reload->arg, text);
    } else {
        int put, cancelled;
        agreement_report(reload->agreement, runner);
        agreement_counts(reload->agreement, &put, &cancelled);
        runner->reloads++;
        text_set(&runner->reload_error, NULL);
        event_report(runner, EVENT_INFO, "reload", NULL, NULL,
                     "%zu jobs: %d new or changed, %d removed, the others untouched", runner->job_count, put,
                     cancelled);
        if (reload->reply != NULL)
            reload->reply(json_pack("{s:b, s:I, s:i, s:i}", "ok", 1, "jobs", (json_int_t)runner->job_count,
                                    "changed", put, "removed", cancelled),
                          reload->arg);
    }
    agreement_free(reload->agreement);
    free(reload);
    runner->reloading = false;
    notify_ready();
    runner_watch_files(runner);
}

/* All problems of the files in one text. */
static char *problems_text(const struct problems *problems)
{
    char *text = text_copy("nothing was changed, because of problems in the files:");
    for (size_t i = 0; i < problems->count; i++) {
        char *longer = text_format("%s\n%s", text, problems->lines[i]);
        free(text);
        text = longer;
    }
    return text;
}

void runner_agree(struct runner *runner, reply_fn reply, void *arg)
{
    runner->reloading = true;
    struct reload *reload = memory(sizeof *reload);
    *reload =
        (struct reload){.runner = runner, .agreement = agreement_new(runner), .reply = reply, .arg = arg};
    loop_ask(runner->loop, reload_store, reload_done, reload);
}

/* Reads the files. Returns NULL if there is any problem, with a text that the caller frees. */
static struct jobs *read_again(const struct runner *runner, char **ret_text)
{
    struct problems problems = {0};
    char reason[512];
    struct jobs *jobs =
        jobs_read(runner->options.files, runner->options.file_count, &runner->options.reading, &problems);
    if (jobs == NULL) {
        *ret_text = problems_text(&problems);
    } else if (!pinger_accepts(jobs, reason, sizeof reason)) {
        *ret_text = text_format("nothing was changed, because of a problem in the files: %s", reason);
        jobs_free(jobs);
        jobs = NULL;
    }
    problems_free(&problems); /* without lines it still has an array for them */
    return jobs;
}

/* Says which settings have changed that only the start of a runner uses. */
static void report_settings(struct runner *runner, const struct job_settings *old,
                            const struct job_settings *new)
{
    const struct {
        const char *name, *old, *new;
    } texts[] = {{"namespace", old->namespace, new->namespace},
                 {"store", old->store, new->store},
                 {"socket", old->socket, new->socket},
                 {"log_directory", old->log_directory, new->log_directory}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (is_same_text(texts[i].old, texts[i].new))
            continue;
        event_report(runner, EVENT_WARNING, "warn", NULL, NULL,
                     "%s has changed, which takes effect when the runner is started again", texts[i].name);
    }
}

void runner_request_reload(struct runner *runner, reply_fn reply, void *arg)
{
    char *text = NULL;
    if (runner->reloading || runner->stopping) {
        reply_error(reply, arg, runner->stopping ? "the runner is stopping" : "a reload is in progress");
        return;
    }
    struct jobs *jobs = read_again(runner, &text);
    if (jobs == NULL) {
        reload_failed(runner, text);
        reply_error(reply, arg, text);
        free(text);
        return;
    }
    report_settings(runner, &runner->set->jobs->settings, &jobs->settings);
    notify_reloading();
    runner_use(runner, jobs);
    runs_admit(runner); /* a limit may be higher now */
    runner_agree(runner, reply, arg);
}

/* ---- watching the files ---- */

static void files_settled(void *arg)
{
    runner_request_reload(arg, NULL, NULL);
}

static void files_changed(int fd, uint32_t events, void *arg)
{
    (void)events;
    struct runner *runner = arg;
    char bytes[4096];
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
    loop_timer_start(&runner->files_timer, SETTLE_TIME);
}

/* Watches the folder of a file, because editors replace files. */
static void watch_file(struct runner *runner, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? text_copy(".")
                   : slash == path ? text_copy("/")
                                   : text_format("%.*s", (int)(slash - path), path);
    if (inotify_add_watch(runner->files_fd, folder,
                          IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR) < 0)
        event_report(runner, EVENT_WARNING, "warn", NULL, NULL, "%s cannot be watched: %s", folder,
                     strerror(errno));
    free(folder);
}

void runner_watch_files(struct runner *runner)
{
    if (!runner->options.watch)
        return;
    if (runner->files_fd < 0) {
        runner->files_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (runner->files_fd < 0 || loop_watch(runner->loop, &runner->files_watch, runner->files_fd, EPOLLIN,
                                               files_changed, runner) < 0) {
            event_report(runner, EVENT_WARNING, "warn", NULL, NULL, "the files cannot be watched: %s",
                         strerror(errno));
            return;
        }
        loop_timer_init(&runner->files_timer, runner->loop, files_settled, runner);
    }
    const struct jobs *jobs = runner->set->jobs;
    for (size_t i = 0; i < jobs->file_count; i++)
        watch_file(runner, jobs->files[i]);
}

void runner_unwatch_files(struct runner *runner)
{
    loop_timer_free(&runner->files_timer);
    loop_unwatch(&runner->files_watch);
    if (runner->files_fd >= 0)
        (void)close(runner->files_fd);
    runner->files_fd = -1;
}
