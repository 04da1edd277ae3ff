/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the files of the runner use of each other, and other folders do not */
#ifndef APP_RUNNER_INTERNAL_H
#define APP_RUNNER_INTERNAL_H

#include "runner/runner.h"

/* Names of handlers in the store. */
#define HANDLER_JOB  "hora-job"
#define HANDLER_HOOK "hora-hook"

/* A failed run's code in the store: the exit status, or one of these. A code says enough to decide about
 * another attempt; the note says the rest. */
enum {
    CODE_SIGNAL = 256, /* + the signal */
    CODE_TIMEOUT = 1000,
    CODE_NOT_STARTED = 1001,
    CODE_INTERRUPTED = 1002, /* by the end of the runner: not the fault of the job */
    CODE_CRASHED = 1003,     /* on_crash: fail, or interrupted by crashes too often */
    CODE_SKIPPED = 1004,
    CODE_CANCELLED = 1005,
    CODE_NOT_BEGUN = 1006, /* handed back before its process was started; no record has it */
    CODE_NOT_OK = 1007,    /* exit status 0, which is not among ok_codes */
};

/* Crashes of the runner during one firing after which it counts as failed. */
enum { MAX_CRASHES = 10 };

/* What a job file means that does not say. */
#define DEFAULT_NAMESPACE    "hora"
#define DEFAULT_STOP_WITHIN  HORA_SECONDS(30)
#define DEFAULT_KEEP_HISTORY HORA_HOURS(INT64_C(720))
enum { DEFAULT_MAX_RUNNING = 1000 };

/* ---- runner.c ---- */

/* Process 1 collects processes whose parents have ended. */
void runner_reap_orphans(struct runner *runner);

/* ---- firing.c: from the store to the loop ---- */

int firing_job(const hora_run *store_run, void *arg); /* arg: the runner */
int firing_hook(const hora_run *store_run, void *arg);

/* ---- run.c ---- */

/* A firing has arrived: arg is its run, which belongs to the loop from now on. */
void run_arrived(void *arg);
void run_leave_room(struct run *run);
/* The run may start, as far as its past is concerned. */
void run_proceed(struct run *run);
/* The process of a run has ended; its output may not be complete. */
void run_process_ended(struct run *run);
/* Its output is complete, too, or does not become complete in time. */
void run_process_done(struct run *run);

/* ---- past.c ---- */

/* Reads the earlier attempts of a run, which waits meanwhile, and then lets it proceed or ends it. */
void past_ask(struct run *run);

/* ---- overlap.c ---- */

void overlap_init(struct job_state *state);
/* A run has arrived: watches the times of its job after `after`. */
void overlap_watch(struct job_state *state, hora_instant after);
/* The job has changed: watches its new times, if a run is in hand. */
void overlap_watch_again(struct job_state *state);

/* ---- waiting.c ---- */

void waiting_add(struct run *run);
/* If it waits. */
void waiting_remove(struct run *run);
/* The run that starts next; NULL: none waits that has room. */
struct run *waiting_first(struct runner *runner);

/* ---- finish.c ---- */

/* Sends a ping of an attempt of a run. */
void run_ping(const struct run *run, const char *path, const char *body, size_t size);
/* Reports, records and ends a run. From any state. */
void run_finish(struct run *run, enum run_result result);
/* Sets the reason why a run is skipped or has failed without a process. */
__attribute__((format(printf, 2, 3))) void run_explain(struct run *run, const char *format, ...);

/* ---- run_process.c ---- */

/* Starts the guard or the command of a run. Returns false if that is not possible; run->start_error says why. */
bool run_start_process(struct run *run, const struct job_command *command);
/* Reads what the pipes of a process that has ended contain now. A pipe holds less than is read here. */
void run_read_rest(struct run *run);
/* Closes pipes and descriptors, and kills what is left of the process, if anything. */
void run_close_process(struct run *run);
/* Sends a signal to the processes of a run. */
void run_signal(struct run *run, int signal);
/* The command of a run: that of its job, or its hook. */
const struct job_command *run_command_of(const struct run *run);

/* ---- record.c: what is known about a run when it has ended ---- */

/* The id of the run of a job that was planned for an instant; the caller frees it. */
char *run_id(const char *job, hora_instant planned);
/* How a process ended. */
enum run_result run_result_of(const struct run *run);
const char *run_result_name(enum run_result result);
/* True for a run that the end of its runner interrupted: not a failure, but to be repeated. */
bool code_is_of_end(int code);
int run_code(const struct run *run, enum run_result result);
/* A code in a word or two: "ok", "exit 3", "timeout". */
void code_describe(int code, char *text, size_t size);
/* In words: "exit status 3", "signal 9 (Killed)", "no result within 5 s". Like snprintf. */
int run_describe_end(const struct run *run, enum run_result result, char *text, size_t size);
/* The record of a run as JSON: what the note keeps, and what hooks receive. */
json_t *run_note(const struct run *run, enum run_result result);
json_t *run_record(const struct run *run, enum run_result result);
/* A record of the store as JSON. */
json_t *record_to_json(const struct runner *runner, const hora_run_record *record);
/* Whether a failed run gets another attempt, and after which pause. */
bool run_is_retried(const struct run *run, enum run_result result, hora_ns *ret_pause);

/* ---- pauses.c: since when jobs are paused; each call waits for the store ---- */

/* Notes that a job is paused. Returns 0 or more, or an error. */
int pause_put(const struct runner *runner, const char *job, hora_instant since, uid_t by, hora_error *reason);
/* Removes the note, if there is one. Returns 0 or an error. */
int pause_remove(const struct runner *runner, const char *job, hora_error *reason);
/* Adds the notes of all jobs, or of one, to an object: {JOB: {"since": TIME, "by": USER}}. Returns 0 or an
 * error. */
int pauses_read(const struct runner *runner, const char *job, json_t *ret_notes, hora_error *reason);

/* ---- schedule.c: jobs and the store ---- */

/* The key of a job in the store, and back; the caller frees the key. */
char *job_key(const struct runner *runner, const char *job);
const char *job_of_key(const struct runner *runner, const char *key);
/* The job of a task, also of a run that overlaps, which has no key. NULL if it is not one of this namespace.
 * The caller frees it. */
char *job_of_task(const struct runner *runner, const hora_durable_info *info);

/* The hash of all that a job says. */
uint64_t job_hash(const struct job *job);

/* Makes the store agree with the jobs: puts what is new or has changed, cancels what is gone. Waits for the
 * store. Returns 0, or an error with a text. */
struct agreement;
struct agreement *agreement_new(struct runner *runner);
int agreement_make(struct agreement *agreement, hora_error *reason); /* in any thread */
void agreement_free(struct agreement *agreement);
/* What it did: tasks put and cancelled. */
void agreement_counts(const struct agreement *agreement, int *ret_put, int *ret_cancelled);
/* Reports the runs that waited between two attempts and have ended, because their jobs have changed. */
void agreement_report(const struct agreement *agreement, struct runner *runner);

/* Runs the jobs with at_start, and those after which a run was to start, now. */
int job_run_at(struct runner *runner, const char *key, hora_instant at, hora_error *reason);

/* How late a firing may be before it counts as missed. */
hora_ns job_lateness(const struct job *job, hora_instant now);

/* ---- missed.c ---- */

/* The durable scheduler tells of times that were skipped; arg is the runner. In any thread. */
void missed_skipped(hora_durable *durable, const hora_skipped *skipped, void *arg);
/* A run has arrived, which may make up for a missed time. */
void missed_run_arrived(const struct run *run);
/* Why a time was skipped without a run; the caller frees it. NULL: the record does not say. */
char *skip_reason_text(const hora_run_record *record);

/* ---- cancel.c ---- */

/* How many attempts of a firing have ended, if it waits for another one; otherwise 0. */
int attempts_ended(const hora_durable_info *info, hora_instant now);
/* The note of the record of a run that ends between two attempts; the caller frees it. */
char *stopped_note(const struct runner *runner, const char *reason);
/* Reports such an end, and counts it. */
void stopped_report(struct runner *runner, const char *job, hora_instant planned, int attempts,
                    const char *reason);
/* True, once, if a run was cancelled before it arrived. */
bool cancel_awaits(const struct run *run);
void cancel_free_awaited(struct runner *runner);

/* ---- reload.c ---- */

/* Takes a set of jobs into use: makes, changes and removes job states, groups and settings. */
void runner_use(struct runner *runner, struct jobs *jobs);
/* Makes the store agree with the jobs, in the background, and then replies; reply may be NULL. */
void runner_agree(struct runner *runner, reply_fn reply, void *arg);
/* Frees all states; there must be no runs. */
void runner_free_jobs(struct runner *runner);
/* Watches the files for changes, if the options say so. */
void runner_watch_files(struct runner *runner);
void runner_unwatch_files(struct runner *runner);
void job_set_unref(struct job_set *set);
struct job_set *job_set_ref(struct job_set *set);

/* ---- zones.c ---- */

void zones_watch(struct runner *runner);

/* ---- simulate.c ---- */

/* Pretends to start the process of a run, which ends after its assumed time. */
bool simulated_start(struct run *run);
/* Pretends that a signal ends it. */
void simulated_signal(struct run *run, int signal);
/* Whether events of a job are printed; without a simulation, all are. NULL: of no job. */
bool simulation_shows(const struct runner *runner, const char *job);
/* The runner is ready: lets the time of the simulation pass. */
void simulation_begin(struct runner *runner);

/* ---- stop.c ---- */

void runner_stop(struct runner *runner, hora_ns within);
/* A run has ended: it may be the last one of a runner that is to end. */
void runner_run_ended(struct runner *runner);

/* ---- events.c ---- */

/* An instant as JSON: ISO 8601 in UTC; null for 0. */
json_t *json_instant(hora_instant instant);

/* ---- commands.c ---- */

/* The next time of a job after `now`; null if it has none. */
json_t *json_next(const struct job *job, hora_instant now);

#endif
