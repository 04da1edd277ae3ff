/* SPDX-License-Identifier: Apache-2.0 */
/* long_time.c - years of scheduled tasks in virtual time: each run exactly at its time, no drift
 *
 *     hora-long-time DAYS MIXED_DAYS [SEED]
 *
 * First a task at a fixed rate of a second runs for DAYS, then ten thousand tasks of all kinds for
 * MIXED_DAYS: by rate, with a gap, once, and by a function. A run that does not begin at its planned time
 * ends the program. The mix is run three times: twice with one worker and the same seed, which must give the
 * same trace, step by step; and with four workers, which must give the same runs, with those of the same
 * moment in any order. Each line of the output says how many runs there were, and how many per second. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <hora/hora.h>

#include "bulk.h"

enum { TASKS = 10000, DAY_S = 86400 };

/* ---- the world ---- */

static hora_virtual_clock *vclock;
static const hora_clock *view;
static hora_scheduler *scheduler;

static void open_world(int threads)
{
    hora_error error;
    MUST(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = HORA_SECONDS(1000)), &vclock, NULL) ==
         0);
    view = hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC);
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = threads, .clock = view), &scheduler,
                           &error) < 0)
        fail(__FILE__, __LINE__, error.message);
}

static void close_world(void)
{
    MUST(hora_pool_shutdown(scheduler) == 0);
    MUST(hora_pool_close_for(scheduler, HORA_FOREVER) == 0);
    MUST(hora_pool_free(scheduler) == 0);
    MUST(hora_virtual_clock_free(vclock) == 0);
}

/* The calling thread, which waits, is not attached to the clock, so it does not count as running. Returns the
 * seconds that it took. */
static double live_for(int64_t seconds)
{
    double start = seconds_now();
    MUST(hora_virtual_clock_run(vclock, HORA_SECONDS(seconds)) == 0);
    return seconds_now() - start;
}

static void report(const char *what, double days, int64_t runs, double took)
{
    printf("%-28s %8.1f days %12" PRId64 " runs in %7.2f s: %9.0f a second\n", what, days, runs, took,
           (double)runs / took);
    (void)fflush(stdout);
}

/* ---- one task, for years ---- */

static int64_t beats;
static hora_ns first_beat;

static int beat(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    MUST(hora_clock_now(view) == first_beat + HORA_SECONDS(beats));
    beats++;
    return 0;
}

static void live_with_one(int days)
{
    hora_future *future;
    open_world(1);
    beats = 0;
    first_beat = hora_clock_now(view) + HORA_SECONDS(1);
    MUST(hora_scheduler_schedule_at_fixed_rate(scheduler, HORA_TASK(beat, NULL), HORA_SECONDS(1),
                                               HORA_SECONDS(1), &future) == 0);
    double took = live_for((int64_t)days * DAY_S);
    MUST(beats == (int64_t)days * DAY_S);
    report("a rate of 1 s", days, beats, took);
    MUST(hora_future_cancel(future, false) == HORA_CANCEL_REMOVED);
    (void)hora_future_unref(future);
    close_world();
}

/* ---- many tasks ---- */

enum kind { RATE, GAP, ONCE, NEXT, KINDS };

struct task {
    enum kind kind;
    int id;
    uint64_t seed;
    hora_ns first;
    hora_ns every;
    hora_ns last; /* planned time of the latest run, as this program reckons */
    int64_t runs;
};

static struct task tasks[TASKS];
static uint64_t trace;            /* depends on the order; one worker only */
static _Atomic uint64_t multiset; /* does not */
static atomic_int_fast64_t mixed_runs;

/* From one moment to the next, by a function: from a second to six hours. */
static hora_ns step_of(const struct task *task, int64_t run)
{
    return HORA_SECONDS(1) + (hora_ns)(mix(task->seed + (uint64_t)run) % (uint64_t)HORA_HOURS(6));
}

static hora_ns next_of(const hora_trigger_context *context, void *arg)
{
    const struct task *task = arg;
    return context->last_planned == HORA_NEVER ? task->first
                                               : context->last_planned + step_of(task, context->runs);
}

static hora_ns reckon(const struct task *task)
{
    if (task->runs == 0)
        return task->first;
    return task->last + (task->kind == NEXT ? step_of(task, task->runs) : task->every);
}

static int run_mixed(void *arg, void **ret_result)
{
    struct task *task = arg;
    hora_ns now = hora_clock_now(view);
    (void)ret_result;
    MUST(now == reckon(task));
    MUST(task->kind != ONCE || task->runs == 0);
    task->last = now;
    task->runs++;
    uint64_t event = mix((uint64_t)now ^ mix((uint64_t)task->id));
    (void)atomic_fetch_add(&multiset, event);
    (void)atomic_fetch_add(&mixed_runs, 1);
    return 0;
}

static int run_traced(void *arg, void **ret_result)
{
    const struct task *task = arg;
    trace = mix(trace ^ mix((uint64_t)hora_clock_now(view)) ^ (uint64_t)task->id);
    return run_mixed(arg, ret_result);
}

static void start_mixed(struct task *task, int threads, int64_t seconds)
{
    hora_schedule spec = HORA_INIT(hora_schedule);
    hora_ns delay =
        (hora_ns)(mix(task->seed + 1) % (uint64_t)(task->kind == ONCE ? seconds : DAY_S)) * HORA_SECONDS(1);
    task->first = hora_clock_now(view) + delay;
    task->every = HORA_MINUTES(5) + (hora_ns)(mix(task->seed + 2) % (uint64_t)HORA_HOURS(6));
    spec.fixed_rate = task->kind == RATE ? task->every : 0;
    spec.fixed_delay = task->kind == GAP ? task->every : 0;
    spec.next = task->kind == NEXT ? next_of : NULL;
    spec.next_arg = task->kind == NEXT ? task : NULL;
    spec.initial_delay = task->kind == NEXT ? 0 : delay;
    MUST(hora_scheduler_schedule_with(scheduler, HORA_TASK(threads == 1 ? run_traced : run_mixed, task),
                                      &spec, NULL, NULL) == 0);
}

/* How often it must have run by now. */
static int64_t runs_until(const struct task *task, hora_ns now)
{
    int64_t runs = 0;
    if (task->kind == ONCE)
        return task->first <= now;
    if (task->kind != NEXT)
        return now < task->first ? 0 : (now - task->first) / task->every + 1;
    for (hora_ns at = task->first; at <= now; at += step_of(task, runs))
        runs++;
    return runs;
}

static void live_with_many(const char *what, int threads, int days, uint64_t seed)
{
    int64_t seconds = (int64_t)days * DAY_S;
    open_world(threads);
    trace = 0;
    atomic_store(&multiset, 0);
    atomic_store(&mixed_runs, 0);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] =
            (struct task){.kind = (enum kind)(i % KINDS), .id = i, .seed = mix(seed + (uint64_t)i * KINDS)};
        start_mixed(&tasks[i], threads, seconds);
    }
    double took = live_for(seconds);
    for (int i = 0; i < TASKS; i++)
        MUST(tasks[i].runs == runs_until(&tasks[i], hora_clock_now(view)));
    report(what, days, atomic_load(&mixed_runs), took);
    close_world();
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        (void)fputs("usage: hora-long-time DAYS MIXED_DAYS [SEED]\n", stderr);
        return 2;
    }
    int days = atoi(argv[1]), mixed_days = atoi(argv[2]);
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (days > 0)
        live_with_one(days);
    if (mixed_days <= 0)
        return 0;
    live_with_many("10000 tasks", 1, mixed_days, seed);
    uint64_t first_trace = trace, first_set = atomic_load(&multiset);
    live_with_many("10000 tasks, again", 1, mixed_days, seed);
    MUST(trace == first_trace && atomic_load(&multiset) == first_set);
    int fewer =
        mixed_days < 10 ? mixed_days : mixed_days / 10; /* each moment is handed from thread to thread */
    live_with_many("10000 tasks", 1, fewer, seed);
    first_set = atomic_load(&multiset);
    live_with_many("10000 tasks, 4 workers", 4, fewer, seed);
    MUST(atomic_load(&multiset) == first_set);
    printf("seed %" PRIu64 ": trace %016" PRIx64 ", the same each time\n", seed, first_trace);
    return 0;
}
