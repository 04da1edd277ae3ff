/* SPDX-License-Identifier: Apache-2.0 */
/* runner.h - the job runner: its jobs, its runs, and what they go through
 *
 * A job is a recurring task of the store, with the key NAMESPACE/JOB. The durable scheduler of this node calls
 * a handler for each firing; the handler detaches the run and posts it to the loop, which takes it from there:
 *
 *   DELAYED   waits for its random delay (jitter)
 *   WAITING   waits for room: its group is at its limit, or the node is
 *   GUARDED   its guard command runs
 *   RUNNING   its process runs
 *   STOPPING  its process was told to end (SIGTERM), and will be killed
 *   DRAINING  its process has ended; the rest of its output is read
 *
 * and ends in run_finish, which records the outcome: from any state, because a lost lease, a cancel and the end
 * of the runner can come at any time. Retries are further attempts of the same firing, and therefore further
 * runs of the handler.
 *
 * What the store decides: which times are missed, skipped or queued, attempts, pauses, giving up, which node
 * runs what. What the runner decides: whether a failed attempt is worth another and when (exit codes, back-off,
 * the next planned time), groups, and everything about processes.
 *
 * INVARIANTS
 *
 *   R1  All structs here belong to the loop's thread.
 *   R2  Each run that the handler has detached is finished exactly once.
 *   R3  A process is started only in a run whose lease has not been lost, and the process group of a run whose
 *       lease is lost is killed at once.
 *   R4  The number of runs of a group in GUARDED, RUNNING, STOPPING and DRAINING is at most its limit.
 *   R5  A `struct job` lives as long as a job_state or a run refers to the set it comes from. */
#ifndef APP_RUNNER_H
#define APP_RUNNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include <hora/store.h>

#include "jobs/jobs.h"
#include "runner/capture.h"
#include "runner/loop.h"
#include "runner/process.h"

enum { LANES = 4 };            /* priorities; the first is the highest */
enum { METRICS_BUCKETS = 14 }; /* of the histogram of late starts, with that for all others */

enum run_state { RUN_DELAYED, RUN_WAITING, RUN_GUARDED, RUN_RUNNING, RUN_STOPPING, RUN_DRAINING };

/* Why a run was told to end. The first reason counts. */
enum stop_reason {
    STOP_NOT,
    STOP_TIMEOUT,   /* it took longer than `timeout` */
    STOP_CANCELLED, /* hora cancel, or its job was removed with cancel */
    STOP_REPLACED,  /* overlap: replace */
    STOP_LOST,      /* the lease of this node has ended */
    STOP_SHUTDOWN,  /* the runner ends */
};

/* How a run ended. */
enum run_result {
    RESULT_SUCCEEDED,
    RESULT_FAILED,  /* exit status, signal, could not be started, timeout */
    RESULT_SKIPPED, /* guard, grace, on_crash: skip */
    RESULT_STOPPED, /* cancelled or replaced, or stopped with the runner and on_crash: skip */
    RESULT_LOST,    /* the lease was lost, or the runner ended: another run will follow */
};

/* A set of jobs from one reading of the files, counted by its users. */
struct job_set {
    struct jobs *jobs;
    int references;
};

/* A run of a job, or of a command that is told of the end of one (hook): on_success, on_failure, on_give_up.
 * Hooks are tasks of the store, too, so that none is lost; they are in no group, and have no hooks. */
struct run {
    struct run *next, **link; /* list of runner.runs */
    struct runner *runner;
    char *hook;              /* "on_success", ...; NULL: a run of the job itself */
    struct job_state *state; /* NULL: the job was removed from the files meanwhile */
    struct job_set *set;     /* a reference, for `job` */
    const struct job *job;
    uint64_t hash;             /* of the job */
    const hora_run *store_run; /* detached; valid until hora_run_finish */
    char *id;                  /* JOB@20261117T030000Z: see run_id in run.c */
    char *key;                 /* in the store */
    int attempt;
    int64_t fence;
    hora_instant planned, started, ended; /* `started` is 0 before the process was started */
    hora_ns started_at;                   /* monotonic */
    hora_instant last_success;
    bool handed_back;          /* it was in hand before, and a runner that ended has handed it back */
    int failed_attempts;       /* of this firing, before this one */
    int64_t failures_in_a_row; /* of the job, before this run */
    enum run_state run_state;
    enum stop_reason stop;
    bool arrived;  /* in the loop, and in the list of runs */
    bool finished; /* run_finish was called; what follows it may still be on its way to the store */
    bool gives_up; /* the runner cannot wait until what follows it is stored */
    struct group_state *group; /* NULL: none */
    bool has_room;             /* it counts in its group and in runner.running */
    bool is_queued;            /* in a queue of those that wait for room: waiting.c */
    struct run *next_waiting, *previous_waiting;
    bool start_checked; /* its history was read, or does not matter */
    bool by_hand;       /* not a time of the schedule: hora run, or after another job */

    struct process process;
    bool has_process, process_ended;
    bool is_guard; /* the process is the guard */
    struct process_end end;
    char *start_error; /* the process could not be started */
    int pipes[2];      /* standard output and error of the process; -1: closed */
    struct loop_fd pipe_watch[2], process_watch;
    char *input; /* for standard input, instead of that of the job; NULL: none */
    int cgroup;  /* -1: none */
    struct capture *capture;
    struct loop_timer timer;     /* DELAYED, GUARDED and RUNNING (timeout), STOPPING (kill), DRAINING */
    struct loop_timer pretended; /* simulate.c: the end of its process */
    char *reason;                /* why it was skipped or failed without a process */
    int64_t skipped_during;      /* planned times that were skipped while it ran */
    hora_instant queue_first;    /* overlap.c; 0: nothing is queued */
};

/* Planned times of a job that passed without a run, and have not been reported yet: missed.c. */
struct missed_times {
    int64_t skipped; /* 0: there are none */
    hora_instant first;
    bool is_late;          /* `grace` has skipped some of them */
    hora_instant reported; /* the last one that was reported */
};

/* A job, from the first reading of a file that has it until a reading of a file that does not. */
struct job_state {
    struct runner *runner;
    char *name;
    struct job_set *set; /* a reference, for `job` */
    const struct job *job;
    uint64_t hash;      /* of all that it says: job_hash */
    char *key;          /* in the store */
    char *trigger_name; /* JOB:HASH */
    hora_trigger *trigger;
    struct job_log_file *log;     /* NULL: none */
    struct loop_timer next_timer; /* while a run is in hand: its next planned time */
    hora_instant next_time;       /* the time that next_timer waits for */
    struct missed_times missed;
    int active;              /* runs in hand, in any state */
    bool is_followed;        /* there are jobs that run after it */
    bool times_have_changed; /* the rules of its zone have: its next time is to be computed anew */

    /* since the runner started, for metrics */
    int64_t runs, succeeded, failed, skipped, cancelled, lost, retries, timeouts;
    hora_instant last_start, last_end, last_success;
    hora_ns last_duration;
    int last_code; /* exit status, or -signal */
    bool has_last;
    int64_t late[METRICS_BUCKETS]; /* metrics_started */
    hora_ns late_sum;
    struct { /* the latest answer of job_next_time, for metrics.c */
        bool is_known;
        int64_t reloads; /* of the runner, with failed ones, at that time */
        hora_instant from, time;
    } planned;
};

/* Runs that wait for room, by planned time. */
struct run_queue {
    struct run *first, *last;
};

struct group_state {
    char *name;
    int limit, running;
    struct run_queue waiting[LANES];
};

struct runner_options {
    const char *const *files;
    size_t file_count;
    struct jobs_options reading;
    const char *store;  /* NULL: from the files, or the default */
    const char *socket; /* NULL: from the files, or the default */
    const char *log_directory;
    const char *node_name; /* NULL: the name of the host */
    bool quiet;            /* print errors and warnings only */
    bool json;             /* print events as JSON */
    bool no_output;        /* do not print the output of jobs */
    bool watch;            /* reload when a file changes */
    bool virtual_clock;
    hora_instant virtual_start;
    hora_ns lease; /* 0: that of the store */
};

struct runner {
    struct runner_options options;
    struct loop *loop;
    struct job_set *set;
    struct job_state **jobs; /* by name */
    size_t job_count;
    struct group_state **groups; /* by name; kept while runs refer to them */
    size_t group_count;
    struct run *runs;                /* all runs in hand, the latest first */
    int running;                     /* those that count against max_running */
    hora_ns last_finish;             /* when the latest run was finished, monotonic; 0: none was */
    bool admitting;                  /* runs_admit is in progress */
    struct run_queue waiting[LANES]; /* those without a group */
    int max_running;
    char *namespace;     /* of the keys in the store */
    char *store_address; /* without a password */
    char *socket_path;
    char *log_directory;
    char *mark; /* HORA_RUNNER of its processes */
    char *node_name;
    hora_store *store;
    hora_durable *durable;
    hora_instant started;
    bool stopping;           /* starts nothing more */
    bool durable_is_stopped; /* the runner ends when no run is in hand */
    int signals;             /* that asked it to end */
    hora_ns stop_within;
    int handed_back;     /* runs that were to end with it, and did not get their turn */
    hora_ns kill_within; /* while it stops: the longest kill_after that there is time for */
    bool store_is_connected;
    char *store_error; /* the latest one, while it is not connected */
    int64_t events, reloads, failed_reloads;
    char *reload_error;      /* of the latest reload; NULL: it succeeded */
    struct control *control; /* control/server.c */
    struct metrics *metrics;
    struct pinger *pinger;
    struct follower *followers; /* events.c */
    struct awaited *awaited;    /* cancel.c */
    struct console *console;
    hora_zone *local_zone; /* for the console */
    bool has_colour;
    const struct simulation *simulation; /* processes are pretended: simulate.c; NULL: they are not */
    struct change_event *simulated_changes;
    bool is_silent; /* the simulated period is over: what still happens is not reported */
    bool reloading;
    int files_fd; /* inotify; -1: the files are not watched */
    struct loop_fd files_watch;
    struct loop_timer files_timer;
    int64_t open_files; /* soft limit of open files that the runner was started with */
    int signals_fd;
    struct loop_fd signals_watch;
    struct loop_timer trim_timer;  /* deletes old records */
    struct loop_timer zones_timer; /* zones.c */
    struct watchdog *watchdog;     /* notify.c */
    int exit_status;
};

/* ---- runner.c ---- */

struct job_state *runner_find(const struct runner *runner, const char *name);
struct group_state *runner_find_group(const struct runner *runner, const char *name);
/* The run in hand with an id or with a unique beginning of one; also the name of a job, if it has one run in
 * hand. Returns NULL if none matches, or if several do: then ret_several has two of them, otherwise NULL. */
struct run *runner_find_run(const struct runner *runner, const char *id, const struct run *ret_several[2]);

/* ---- run.c ---- */

/* Tells a run to end: SIGTERM, and SIGKILL after `kill_after` of the job; at once for STOP_LOST. A run that is
 * told a second time because of STOP_LOST or STOP_SHUTDOWN is killed. */
void run_stop(struct run *run, enum stop_reason reason);
const char *run_state_name(enum run_state state);
/* The run as JSON: id, job, state, attempt, planned, started, seconds, pid, node, fence, waiting_for. */
json_t *run_to_json(const struct run *run);
/* Starts runs that wait for room, as far as there is any. */
void runs_admit(struct runner *runner);

/* ---- events.c ---- */

/* Reports an event: prints it and sends it to followers. `fields` is an object with further fields, whose
 * reference is taken; NULL: none. Text is what people read. Kinds: start, end, skip, missed, retry, give-up,
 * pause, resume, cancel, reload, store, clock, metrics, ping, warn, error, ready, stop. */
enum event_level { EVENT_INFO, EVENT_WARNING, EVENT_ERROR };
__attribute__((format(printf, 6, 7))) void event_report(struct runner *runner, enum event_level level,
                                                        const char *kind, const char *job, json_t *fields,
                                                        const char *format, ...);
/* Reports a line of output. */
void event_output(struct runner *runner, const struct output_line *line);

/* A follower receives events and lines as JSON objects: {"kind", "time", "job", "run", "text", ...}; lines of
 * output have kind "output" with "stream" and "attempt". The filters are NULL for all. `receive` gets a
 * borrowed reference and must not block; it may call follower_remove for itself. */
typedef void (*follower_fn)(const json_t *event, void *arg);
struct follower *follower_add(struct runner *runner, const char *job, const char *run, bool wants_output,
                              follower_fn receive, void *arg);
void follower_remove(struct runner *runner, struct follower *follower);

/* ---- commands.c: what the control socket can ask for ---- */

/* The result of a request: an object that is sent to the client, {"ok": true, ...} or {"ok": false, "error":
 * text}. Called by the loop, later or at once. The reference is taken. */
typedef void (*reply_fn)(json_t *reply, void *arg);

void runner_request_run(struct runner *runner, const char *job, reply_fn reply,
                        void *arg); /* has "run": its id */
void runner_request_pause(struct runner *runner, const char *job, bool pause, uid_t by, reply_fn reply,
                          void *arg); /* `by` asks for it */
void runner_request_cancel(struct runner *runner, const char *id, reply_fn reply, void *arg); /* of a run */
void runner_request_reload(struct runner *runner, reply_fn reply, void *arg);
void runner_request_stop(struct runner *runner, hora_ns within, reply_fn reply, void *arg);
/* The tasks of all jobs as the store has them: an array of objects, see job_info in commands.c. One job only
 * if `job` is not NULL. Reply: {"ok": true, "jobs": [...]}. */
void runner_request_jobs(struct runner *runner, const char *job, reply_fn reply, void *arg);
/* Run records, the latest first. Reply: {"ok": true, "records": [...]}. */
struct history_question {
    const char *job; /* NULL: all */
    bool failed;
    int64_t limit, before_id;
    hora_instant since;
    const char *run; /* only this run; NULL: all */
    json_t *jobs;    /* an object whose keys are the names of jobs; NULL: all. The reference is taken */
};
void runner_request_history(struct runner *runner, const struct history_question *question, reply_fn reply,
                            void *arg);
/* Virtual clock only: lets time pass. With `settle`, time stands still while a process runs, and the reply comes
 * when none does. A run that waits for a later time does not count. */
void runner_request_clock(struct runner *runner, hora_ns by, bool settle, reply_fn reply, void *arg);

/* ---- control/server.c ---- */

/* Listens on runner->socket_path. Returns NULL after reporting an error. */
struct control *control_new(struct runner *runner);
void control_free(struct control *control);

/* ---- metrics.c ---- */

/* The metrics as text for Prometheus; the caller frees it. NULL: there is no memory for it. */
char *metrics_text(const struct runner *runner);
/* Counts a process of a job that was started `lateness` after its planned time. */
void metrics_started(struct job_state *state, hora_ns lateness);

/* ---- metrics_output.c ---- */

/* Starts what the settings ask for: a file that is written every so often, and a port. Returns NULL after
 * reporting an error. */
struct metrics *metrics_new(struct runner *runner, const struct job_settings *settings);
/* Also writes the file once more. */
void metrics_free(struct metrics *metrics);

/* ---- ping.c ---- */

/* Returns true if pings can be sent for all of the jobs; otherwise says in `reason` which job has an address
 * that is not one, or that this command was built without libcurl. For the start and for each reload. */
bool pinger_accepts(const struct jobs *jobs, char *reason, size_t reason_size);
/* Sends pings in the background: with retries and timeouts, never delaying a job. NULL: this command was built
 * without libcurl. */
struct pinger *pinger_new(struct runner *runner);
/* Lets pings in progress end for at most `timeout` of real time, and frees it. */
void pinger_free(struct pinger *pinger, hora_ns timeout);
/* `path` is "/start", "/0" (an exit status) or "/fail". `rid` is any text that is the same for the pings of one
 * run and no other, such as its id and its attempt: the UUID of the run is made from it. Pings with equal
 * address and rid arrive in the order of the calls. body may be NULL; the last 10 KB of it are sent. All texts
 * are copied. */
void pinger_send(struct pinger *pinger, const char *address, const char *path, const char *rid,
                 const char *body, size_t body_size);

struct ping_counts {
    int64_t delivered, failed, dropped, retried;
    int pending; /* neither of the first three yet */
};
struct ping_counts pinger_counts(const struct pinger *pinger);

#endif
