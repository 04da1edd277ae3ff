/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - what the runner knows, as text for Prometheus
 *
 * The text is made from the structs of the runner alone, without asking the store, so a request for it is
 * answered even while the store is not. It is in the older of the two text formats, version 0.0.4, which all
 * versions of Prometheus and the node exporter read.
 *
 * All samples of a name stand together, after its help and its type. So each table below lists the names, and
 * for each the jobs are gone through. The times of a job that is not running are computed once and kept until
 * they have passed, because thousands of jobs may have a cron expression.
 *
 * INVARIANTS
 *
 *   M1  A sample whose value is not known is left out; it is never 0 instead. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/version.h>

#include "runner/runner.h"

/* ---- numbers and labels ---- */

/* Appends to the text; metrics_text looks for errors at the end. */
__attribute__((format(printf, 2, 3))) static void put(FILE *text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vfprintf(text, format, values);
    va_end(values);
}

/* Writes a time as seconds, exactly. */
static void put_seconds(FILE *text, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    put(text, "%s%llu", ns < 0 ? "-" : "", (unsigned long long)(size / 1000000000));
    unsigned int rest = (unsigned int)(size % 1000000000);
    if (rest == 0)
        return;
    int digits = 9;
    for (; rest % 10 == 0; rest /= 10)
        digits--;
    put(text, ".%0*u", digits, rest);
}

static void put_escaped(FILE *text, const char *value)
{
    for (; *value != '\0'; value++) {
        if (*value == '\n') {
            put(text, "\\n");
            continue;
        }
        if (*value == '\\' || *value == '"')
            put(text, "\\");
        put(text, "%c", *value);
    }
}

/* The label with the name of a job. Not `job`: Prometheus gives each target that label, and would rename this
 * one to exported_job. kube-state-metrics has the same name for the same reason. */
#define JOB_LABEL "job_name"

/* Begins a sample of a job: all but further labels and the value. */
static void put_job(FILE *text, const char *name, const char *job)
{
    put(text, "hora_%s{" JOB_LABEL "=\"", name);
    put_escaped(text, job);
    put(text, "\"");
}

static void put_sample(FILE *text, const char *name, const char *label, const char *value, int64_t number)
{
    put(text, "hora_%s{%s=\"", name, label);
    put_escaped(text, value);
    put(text, "\"} %lld\n", (long long)number);
}

static void put_head(FILE *text, const char *name, const char *type, const char *help)
{
    put(text, "# HELP hora_%s %s\n# TYPE hora_%s %s\n", name, help, name, type);
}

/* ---- jobs: counters, times, next times ---- */

static void put_runs(FILE *text, const struct runner *runner)
{
    put_head(text, "job_runs_total", "counter", "Runs that have ended since the runner started, by outcome.");
    for (size_t i = 0; i < runner->job_count; i++) {
        const struct job_state *state = runner->jobs[i];
        const struct {
            const char *outcome;
            int64_t count;
        } outcomes[] = {
            {"succeeded", state->succeeded}, {"failed", state->failed}, {"skipped", state->skipped},
            {"cancelled", state->cancelled}, {"lost", state->lost},
        };
        for (size_t k = 0; k < sizeof outcomes / sizeof *outcomes; k++) {
            put_job(text, "job_runs_total", state->name);
            put(text, ",outcome=\"%s\"} %lld\n", outcomes[k].outcome, (long long)outcomes[k].count);
        }
    }
}

static int64_t retries_of(const struct job_state *state)
{
    return state->retries;
}

static int64_t timeouts_of(const struct job_state *state)
{
    return state->timeouts;
}

static int64_t last_code_of(const struct job_state *state)
{
    return state->last_code;
}

static int64_t last_start_of(const struct job_state *state)
{
    return state->last_start.ns;
}

static int64_t last_end_of(const struct job_state *state)
{
    return state->last_end.ns;
}

static int64_t last_success_of(const struct job_state *state)
{
    return state->last_success.ns;
}

static int64_t last_duration_of(const struct job_state *state)
{
    return state->last_duration;
}

/* A metric with one sample for each job. */
struct job_metric {
    const char *name, *type, *help;
    int64_t (*value)(const struct job_state *state);
    enum {
        IS_COUNT,    /* known from the start */
        IS_OF_LAST,  /* known if a process of the job has ended */
        IS_DURATION, /* likewise, in ns */
        IS_TIME,     /* in ns; not known if 0 */
    } kind;
};

static const struct job_metric job_metrics[] = {
    {"job_retries_total", "counter", "Attempts of jobs after a failed one.", retries_of, IS_COUNT},
    {"job_timeouts_total", "counter", "Runs that were stopped because they took longer than their timeout.",
     timeouts_of, IS_COUNT},
    {"job_last_start_timestamp_seconds", "gauge", "When the latest process of the job was started.",
     last_start_of, IS_TIME},
    {"job_last_end_timestamp_seconds", "gauge", "When the latest process of the job ended.", last_end_of,
     IS_TIME},
    {"job_last_success_timestamp_seconds", "gauge", "When the latest successful run of the job ended.",
     last_success_of, IS_TIME},
    {"job_last_duration_seconds", "gauge", "How long the latest process of the job took.", last_duration_of,
     IS_DURATION},
    {"job_last_exit_code", "gauge",
     "Exit status of the latest process of the job; minus the signal that ended it.", last_code_of,
     IS_OF_LAST},
};

static void put_job_metric(FILE *text, const struct runner *runner, const struct job_metric *metric)
{
    put_head(text, metric->name, metric->type, metric->help);
    for (size_t i = 0; i < runner->job_count; i++) {
        const struct job_state *state = runner->jobs[i];
        int64_t value = metric->value(state);
        if (metric->kind == IS_TIME ? value == 0 : metric->kind != IS_COUNT && !state->has_last)
            continue; /* M1 */
        put_job(text, metric->name, state->name);
        put(text, "} ");
        if (metric->kind == IS_TIME || metric->kind == IS_DURATION)
            put_seconds(text, value);
        else
            put(text, "%lld", (long long)value);
        put(text, "\n");
    }
}

/* Returns the answer of job_next_time, from memory if that is still right: what is planned after `from` is
 * also planned after a later time that comes before it. A delay counts from `from` itself. */
static hora_instant planned_after(struct job_state *state, hora_instant from, bool is_delay)
{
    int64_t reloads = state->runner->reloads + state->runner->failed_reloads;
    bool is_known = state->planned.is_known && state->planned.reloads == reloads &&
                    (state->planned.from.ns == from.ns ||
                     (!is_delay && state->planned.from.ns < from.ns && from.ns < state->planned.time.ns));
    if (!is_known) {
        state->planned.is_known = true;
        state->planned.reloads = reloads;
        state->planned.from = from;
        state->planned.time = job_next_time(state->job, from);
    }
    return state->planned.time;
}

/* Returns the next planned time of a job, or JOB_PARKED if it has none or none is known: a delay counts from
 * the end of a run, and only the store may know that. */
static hora_instant next_of(struct job_state *state, hora_instant now)
{
    if (!state->job->enabled)
        return (hora_instant){JOB_PARKED};
    if (loop_timer_is_pending(&state->next_timer))
        return state->next_time;
    if (!job_has_delay(state->job))
        return planned_after(state, now, false);
    if (state->last_end.ns == 0 || state->active > 0)
        return (hora_instant){JOB_PARKED};
    return planned_after(state, state->last_end, true);
}

static void put_next(FILE *text, const struct runner *runner)
{
    const char *name = "job_next_timestamp_seconds";
    put_head(text, name, "gauge", "The next planned time of the job, as far as its schedule says.");
    hora_instant now = loop_wall(runner->loop);
    for (size_t i = 0; i < runner->job_count; i++) {
        hora_instant next = next_of(runner->jobs[i], now);
        if (next.ns >= JOB_PARKED)
            continue;
        put_job(text, name, runner->jobs[i]->name);
        put(text, "} ");
        put_seconds(text, next.ns);
        put(text, "\n");
    }
}

/* ---- runs in hand ---- */

static bool has_process_slot(const struct run *run)
{
    return run->run_state != RUN_DELAYED && run->run_state != RUN_WAITING;
}

static int compare_states(const void *a, const void *b)
{
    const struct job_state *first = *(const struct job_state *const *)a;
    const struct job_state *second = *(const struct job_state *const *)b;
    return (first > second) - (first < second);
}

/* Returns the job of each run that is not waiting, sorted by address; NULL without memory. */
static const struct job_state **running_jobs(const struct runner *runner, size_t *ret_count)
{
    size_t count = 0;
    for (const struct run *run = runner->runs; run != NULL; run = run->next)
        count += run->state != NULL && has_process_slot(run);
    const struct job_state **states = malloc((count + 1) * sizeof *states);
    if (states == NULL)
        return NULL;
    *ret_count = 0;
    for (const struct run *run = runner->runs; run != NULL; run = run->next)
        if (run->state != NULL && has_process_slot(run))
            states[(*ret_count)++] = run->state;
    qsort(states, count, sizeof *states, compare_states);
    return states;
}

static void put_running(FILE *text, const struct runner *runner)
{
    size_t count;
    const struct job_state **states = running_jobs(runner, &count);
    if (states == NULL)
        return;
    put_head(text, "job_running", "gauge",
             "Runs of the job in progress on this node, without those that wait.");
    for (size_t i = 0; i < runner->job_count; i++) {
        const struct job_state *state = runner->jobs[i];
        const struct job_state **found = bsearch(&state, states, count, sizeof *states, compare_states);
        int64_t running = 0;
        if (found != NULL) {
            while (found > states && found[-1] == state)
                found--;
            for (; found < states + count && *found == state; found++)
                running++;
        }
        put_sample(text, "job_running", JOB_LABEL, state->name, running);
    }
    free(states);
}

/* ---- late starts ---- */

/* The bounds of the buckets, in ns and as text; the last bucket has none. */
static const struct {
    hora_ns ns;
    const char *text;
} bounds[METRICS_BUCKETS - 1] = {
    {HORA_MS(1), "0.001"},        {HORA_MS(5), "0.005"},      {HORA_MS(10), "0.01"},
    {HORA_MS(50), "0.05"},        {HORA_MS(100), "0.1"},      {HORA_MS(500), "0.5"},
    {HORA_SECONDS(1), "1"},       {HORA_SECONDS(5), "5"},     {HORA_SECONDS(15), "15"},
    {HORA_SECONDS(60), "60"},     {HORA_SECONDS(300), "300"}, {HORA_SECONDS(1800), "1800"},
    {HORA_SECONDS(7200), "7200"},
};

void metrics_started(struct job_state *state, hora_ns lateness)
{
    if (lateness < 0)
        lateness = 0;
    int bucket = 0;
    while (bucket < METRICS_BUCKETS - 1 && lateness > bounds[bucket].ns)
        bucket++;
    state->late[bucket]++;
    state->late_sum = lateness > HORA_FOREVER - state->late_sum ? HORA_FOREVER : state->late_sum + lateness;
}

static void put_lateness_of(FILE *text, const struct job_state *state)
{
    long long count = 0;
    for (int i = 0; i < METRICS_BUCKETS; i++) {
        count += state->late[i];
        put_job(text, "job_start_lateness_seconds_bucket", state->name);
        put(text, ",le=\"%s\"} %lld\n", i < METRICS_BUCKETS - 1 ? bounds[i].text : "+Inf", count);
    }
    put_job(text, "job_start_lateness_seconds_sum", state->name);
    put(text, "} ");
    put_seconds(text, state->late_sum);
    put(text, "\n");
    put_sample(text, "job_start_lateness_seconds_count", JOB_LABEL, state->name, count);
}

static void put_lateness(FILE *text, const struct runner *runner)
{
    put_head(text, "job_start_lateness_seconds", "histogram",
             "How long after their planned times processes were started.");
    for (size_t i = 0; i < runner->job_count; i++)
        put_lateness_of(text, runner->jobs[i]);
}

/* ---- groups, the runner ---- */

static void put_groups(FILE *text, const struct runner *runner)
{
    put_head(text, "group_running", "gauge", "Runs of the group in progress on this node.");
    for (size_t i = 0; i < runner->group_count; i++)
        put_sample(text, "group_running", "group", runner->groups[i]->name, runner->groups[i]->running);
    put_head(text, "group_limit", "gauge", "How many runs of the group may be in progress at a time.");
    for (size_t i = 0; i < runner->group_count; i++)
        put_sample(text, "group_limit", "group", runner->groups[i]->name, runner->groups[i]->limit);
}

static void put_number(FILE *text, const char *name, const char *type, const char *help, int64_t number)
{
    put_head(text, name, type, help);
    put(text, "hora_%s %lld\n", name, (long long)number);
}

static void put_pings(FILE *text, const struct runner *runner)
{
    if (runner->pinger == NULL)
        return;
    struct ping_counts counts = pinger_counts(runner->pinger);
    put_head(text, "runner_pings_total", "counter", "Pings by outcome: dropped ones were never sent.");
    put_sample(text, "runner_pings_total", "outcome", "delivered", counts.delivered);
    put_sample(text, "runner_pings_total", "outcome", "failed", counts.failed);
    put_sample(text, "runner_pings_total", "outcome", "dropped", counts.dropped);
    put_number(text, "runner_ping_retries_total", "counter", "Further attempts to send pings.",
               counts.retried);
    put_number(text, "runner_pings_pending", "gauge", "Pings that are being sent or wait for it.",
               counts.pending);
}

static void put_runner(FILE *text, const struct runner *runner)
{
    put_head(text, "runner_info", "gauge", "Always 1; the version and the node are in the labels.");
    put(text, "hora_runner_info{version=\"%s\",node=\"", HORA_VERSION_STRING);
    put_escaped(text, runner->node_name != NULL ? runner->node_name : "");
    put(text, "\"} 1\n");
    put_head(text, "runner_start_time_seconds", "gauge", "When the runner started.");
    put(text, "hora_runner_start_time_seconds ");
    put_seconds(text, runner->started.ns);
    put(text, "\n");
    int64_t waiting = 0;
    for (const struct run *run = runner->runs; run != NULL; run = run->next)
        waiting += !has_process_slot(run);
    put_number(text, "runner_jobs", "gauge", "Jobs of the runner.", (int64_t)runner->job_count);
    put_number(text, "runner_running", "gauge", "Runs in progress on this node.", runner->running);
    put_number(text, "runner_waiting", "gauge", "Runs that wait for a random delay or for room.", waiting);
    put_number(text, "runner_max_running", "gauge", "How many runs may be in progress at a time.",
               runner->max_running);
    put_number(text, "runner_reloads_total", "counter", "Times the job files were read again.",
               runner->reloads);
    put_number(text, "runner_failed_reloads_total", "counter",
               "Times the job files were read again and had a problem.", runner->failed_reloads);
    put_number(text, "runner_store_connected", "gauge", "1 if the latest call of the store succeeded.",
               runner->store_is_connected);
    put_number(text, "runner_stopping", "gauge", "1 if the runner is about to end and starts nothing more.",
               runner->stopping);
    put_number(text, "runner_events_total", "counter", "Events that the runner has reported.",
               runner->events);
}

char *metrics_text(const struct runner *runner)
{
    char *result = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&result, &size);
    if (text == NULL)
        return NULL;
    put_runs(text, runner);
    put_running(text, runner);
    for (size_t i = 0; i < sizeof job_metrics / sizeof *job_metrics; i++)
        put_job_metric(text, runner, &job_metrics[i]);
    put_next(text, runner);
    put_lateness(text, runner);
    put_groups(text, runner);
    put_pings(text, runner);
    put_runner(text, runner);
    bool failed = ferror(text) != 0;
    if (fclose(text) == 0 && !failed)
        return result;
    free(result);
    return NULL;
}
