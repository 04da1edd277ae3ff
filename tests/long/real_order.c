/* SPDX-License-Identifier: Apache-2.0 */
/* real_order.c - the order of timers in real time: none early, none before another that was due before
 *
 *     hora-real-order TIMERS [SEED]
 *
 * What happens    Four threads schedule TIMERS tasks, while two workers run those that are due; some are
 *                 cancelled. First they use delays from zero to half a second, then moments of the wall
 *                 clock, hundreds of which are the same.
 * What must hold  1. Each task either starts once or was cancelled.
 *                 2. No task starts before its time, to the nanosecond, which its future reports.
 *                 3. If a worker takes x while y can be taken as well, x precedes y: x is due before y, or
 *                    at the same time and not scheduled after y. The due times of a worker need not
 *                    increase, because a timer may be scheduled late, or its caller preempted in the middle
 *                    of the call. But the rule is exact for timers that are known to have been in the queue.
 * How we know     All events draw numbers from one counter: a task when it starts and when it ends, and a
 *                 scheduling thread before and after the call. A worker takes a task after the end of the
 *                 previous one and before the start of this one. So y was in the queue when x was taken, and
 *                 was left there, if the call for y had returned before the task before x ended, and x
 *                 started before the task before y ended. For each y those x are a range of the starts of
 *                 each worker. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <hora/hora.h>

#include "bulk.h"

enum { SUBMITTERS = 4, WORKERS = 2, LEVELS = 24 };

/* ---- the world ---- */

struct timer {
    hora_future *future;
    int64_t calling;   /* numbers: before it was scheduled, */
    int64_t scheduled; /* after that, */
    int64_t possible;  /* at the end of the task before it in its worker, */
    int64_t started;   /* and at its start; 0: never */
    hora_ns now;       /* at its start */
    hora_ns due;
    bool cancelled;
};

static struct timer *timers; /* those of a submitter stand together, in the order of scheduling */
static int timer_count;
static uint64_t seed;
static bool at_moments;
static const hora_clock *line; /* on which the times are */
static hora_scheduler *scheduler;
static hora_ns origin; /* of the moments */
static atomic_int_fast64_t numbers;

static struct timer **starts[WORKERS]; /* in the order in which the worker started them */
static int start_counts[WORKERS];
static atomic_int workers_seen;
static _Thread_local int self = -1;
static _Thread_local int64_t last_end;

static int64_t number(void)
{
    return atomic_fetch_add(&numbers, 1) + 1;
}

/* Some are slow, so that there are more due than workers. */
static void dawdle(const struct timer *timer)
{
    hora_ns end = hora_clock_now(NULL) + HORA_US(mix(seed + (uint64_t)(timer - timers)) % 64 == 0 ? 50 : 0);
    while (hora_clock_now(NULL) < end) {
    }
}

static int run(void *arg, void **ret_result)
{
    struct timer *timer = arg;
    (void)ret_result;
    MUST(timer->started == 0);
    timer->now = hora_clock_now(line);
    timer->started = number();
    timer->possible = last_end;
    if (self < 0)
        self = atomic_fetch_add(&workers_seen, 1);
    MUST(self < WORKERS);
    starts[self][start_counts[self]++] = timer;
    dawdle(timer);
    last_end = number();
    return 0;
}

/* ---- submitters ---- */

static void schedule(struct timer *timer, uint64_t draw)
{
    hora_ns most = draw % 4 == 0 ? HORA_MS(500) : draw % 4 == 1 ? HORA_MS(20) : HORA_MS(1);
    hora_ns delay = (hora_ns)(mix(draw) % (uint64_t)most);
    int error;
    timer->calling = number();
    if (at_moments) {
        hora_ns moment = (hora_clock_now(line) - origin + delay) / HORA_MS(2) + 1;
        hora_instant at = {origin + moment * HORA_MS(2)};
        error = hora_scheduler_schedule_with(scheduler, HORA_TASK(run, timer), HORA_SCHEDULE(.at = at),
                                             &timer->future, NULL);
    } else {
        error = hora_scheduler_schedule(scheduler, HORA_TASK(run, timer), delay, &timer->future);
    }
    MUST(error == 0);
    timer->scheduled = number();
}

static void *submit(void *arg)
{
    struct timer *first = arg;
    for (int i = 0; i < timer_count / SUBMITTERS; i++) {
        uint64_t draw = mix(seed + (uint64_t)(first + i - timers));
        schedule(&first[i], draw);
        struct timer *other = &first[mix(draw + 1) % (uint64_t)(i + 1)];
        if (draw % 16 == 0 && hora_future_cancel(other->future, false) == HORA_CANCEL_REMOVED)
            other->cancelled = true;
    }
    return NULL;
}

static void submit_all(void)
{
    pthread_t threads[SUBMITTERS];
    for (int i = 0; i < SUBMITTERS; i++)
        MUST(pthread_create(&threads[i], NULL, submit, &timers[timer_count / SUBMITTERS * i]) == 0);
    for (int i = 0; i < SUBMITTERS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
}

/* ---- checking ---- */

static int early, cancelled;
static int64_t pairs; /* of which the order was known */

/* Checks rules 1 and 2, and records when each timer was due. */
static void check_times(void)
{
    early = cancelled = 0;
    for (int i = 0; i < timer_count; i++) {
        struct timer *timer = &timers[i];
        hora_schedule_info info = HORA_INIT(hora_schedule_info);
        MUST((timer->started != 0) != timer->cancelled);
        MUST(hora_future_get_schedule_info(timer->future, &info) == 0);
        timer->due = info.last_planned;
        cancelled += timer->cancelled;
        early += !timer->cancelled && timer->now < timer->due;
    }
    MUST(early == 0);
}

/* latest[level][i] is the one with the latest due time of 2^level starts from i on. */
static struct timer **latest[LEVELS];

static struct timer *later_of(struct timer *a, struct timer *b)
{
    return a->due < b->due ? b : a;
}

static void build_latest(int worker)
{
    int count = start_counts[worker];
    for (int level = 0; 1 << level <= count; level++) {
        for (int i = 0; i + (1 << level) <= count; i++)
            latest[level][i] =
                level == 0 ? starts[worker][i]
                           : later_of(latest[level - 1][i], latest[level - 1][i + (1 << (level - 1))]);
    }
}

static struct timer *latest_of(int from, int to)
{
    int level = 0;
    while (2 << level <= to - from)
        level++;
    return later_of(latest[level][from], latest[level][to - (1 << level)]);
}

/* Returns how many of the first starts of a worker were possible by `limit`, or started before it. */
static int count_until(int worker, int64_t limit, bool by_possible)
{
    int low = 0, high = start_counts[worker];
    while (low < high) {
        int middle = low + (high - low) / 2;
        const struct timer *timer = starts[worker][middle];
        if (by_possible ? timer->possible <= limit : timer->started < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Checks rule 3 for one timer that was left in the queue, and those that a worker took meanwhile. */
static void check_left(const struct timer *left, int worker)
{
    int from = count_until(worker, left->scheduled, true);
    int to = count_until(worker, left->possible, false);
    if (from >= to)
        return;
    pairs += to - from;
    MUST(latest_of(from, to)->due <= left->due);
    for (int i = to - 1; i >= from && starts[worker][i]->due == left->due; i--)
        MUST(starts[worker][i]->calling < left->scheduled);
}

static void check_order(void)
{
    pairs = 0;
    for (int worker = 0; worker < WORKERS; worker++) {
        build_latest(worker);
        for (int i = 0; i < timer_count; i++)
            if (!timers[i].cancelled)
                check_left(&timers[i], worker);
    }
}

/* ---- the whole test ---- */

static void open_world(bool moments)
{
    at_moments = moments;
    line = hora_clock_system(moments ? HORA_CLOCK_WALL : HORA_CLOCK_MONOTONIC);
    origin = hora_clock_now(line);
    atomic_store(&workers_seen, 0);
    for (int i = 0; i < WORKERS; i++)
        start_counts[i] = 0;
    for (int i = 0; i < timer_count; i++)
        timers[i] = (struct timer){.due = 0};
    MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = WORKERS), &scheduler, NULL) == 0);
}

static void play(const char *what, bool moments)
{
    open_world(moments);
    hora_ns start = hora_clock_now(NULL);
    submit_all();
    MUST(hora_pool_await_idle_for(scheduler, HORA_FOREVER) == 0);
    double took = (double)(hora_clock_now(NULL) - start) / 1e9;
    check_times();
    check_order();
    for (int i = 0; i < timer_count; i++)
        (void)hora_future_unref(timers[i].future);
    MUST(hora_pool_free(scheduler) == 0);
    printf("real order, %s: %d timers of %d threads, %d cancelled, %d early, in %.1f s; %" PRId64
           " pairs of which one was taken first, all in order\n",
           what, timer_count, SUBMITTERS, cancelled, early, took, pairs);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fputs("usage: hora-real-order TIMERS [SEED]\n", stderr);
        return 2;
    }
    timer_count = (atoi(argv[1]) + SUBMITTERS - 1) / SUBMITTERS * SUBMITTERS;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    MUST(timer_count > 0 && timer_count < 1 << (LEVELS - 1));
    timers = calloc((size_t)timer_count, sizeof *timers);
    MUST(timers != NULL);
    for (int i = 0; i < WORKERS; i++)
        MUST((starts[i] = calloc((size_t)timer_count, sizeof(struct timer *))) != NULL);
    for (int i = 0; i < LEVELS && 1 << i <= timer_count; i++)
        MUST((latest[i] = calloc((size_t)timer_count, sizeof(struct timer *))) != NULL);
    play("after delays", false);
    play("at moments", true);
    for (int i = 0; i < LEVELS; i++)
        free(latest[i]);
    for (int i = 0; i < WORKERS; i++)
        free(starts[i]);
    free(timers);
    return 0;
}
