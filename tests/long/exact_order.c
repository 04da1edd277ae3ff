/* SPDX-License-Identifier: Apache-2.0 */
/* exact_order.c - millions of timers from several threads start in exact order, by time and as scheduled
 *
 *     hora-exact-order TIMERS [SEED]
 *
 * What happens    Four threads schedule TIMERS one-shot tasks on a virtual clock that does not move, for
 *                 20000 moments, so that hundreds are due together. They do it in rounds, with a barrier
 *                 between two rounds, so that of two timers of different rounds it is certain which was
 *                 scheduled first. After each round each thread cancels some timers of its neighbour. Then
 *                 time passes. Some tasks schedule another one, possibly for the present moment; some cancel
 *                 another one. All this is done with one worker, then with two.
 * What must hold  Each timer either starts once or was cancelled. It starts exactly at its moment. With one
 *                 worker the starts are in order: by moment; within a moment by round, with those that tasks
 *                 scheduled last; and those that one thread scheduled in that order. With two workers the
 *                 takes are in order, which cannot be observed; but a worker has one task at a time, so when
 *                 a task has started, all but one of those before it have started.
 * How we know     Each start draws a number. At the end the position of each timer is computed by sorting:
 *                 among those of the thread that scheduled it, and among all by (moment, round). Then the
 *                 starts are checked in the order of their numbers. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <hora/hora.h>

#include "bulk.h"

enum {
    SUBMITTERS = 4,
    MOST_WORKERS = 2,
    CHAINS = SUBMITTERS + MOST_WORKERS, /* threads that schedule */
    ROUNDS = 8,
    CELLS = ROUNDS + 1, /* of a moment: the rounds, and what tasks have scheduled */
    MOMENTS = 20000,
    AHEAD = 50,     /* moments, at most, from a task to what it schedules */
    KEPT = 16,      /* one of this number of timers has a future that is kept */
    SCHEDULES = 64, /* one of this number of tasks schedules another */
    CANCELS = 128,  /* one of this number of tasks cancels another */
    MOST_MB = 4096, /* memory */
};

/* ---- the world ---- */

/* The timers of one submitter are together, in the order of scheduling. Those that tasks schedule follow
 * after all others, grouped by worker in the same way. */
struct timer {
    uint16_t moment; /* when it is due */
    uint8_t chain;   /* who scheduled it */
    uint8_t round;
    atomic_uchar started;
    atomic_uchar cancelled;
};

static int64_t timer_count;             /* scheduled by submitters */
static int64_t room;                    /* for all */
static atomic_int_fast64_t total_count; /* with those scheduled by tasks */
static struct timer *timers;
static uint32_t *order; /* which timer started n-th */
static atomic_int_fast64_t start_count;
static hora_future **kept;
static uint64_t seed;
static int workers;
static atomic_int workers_seen;
static _Thread_local int self; /* of a worker: its chain */

static hora_virtual_clock *vclock;
static const hora_clock *view;
static hora_scheduler *scheduler;
static hora_ns origin; /* moment 0 */
static pthread_barrier_t barrier;

static int64_t index_of(const struct timer *timer)
{
    return timer - timers;
}

static uint64_t draw(int64_t index, int what)
{
    return mix(seed * 8 + (uint64_t)what + mix((uint64_t)index));
}

static int run(void *arg, void **ret_result);

static void schedule(struct timer *timer, hora_future **ret_future)
{
    hora_ns delay = origin + HORA_US(timer->moment) - hora_clock_now(view);
    MUST(hora_scheduler_schedule(scheduler, HORA_TASK(run, timer), delay, ret_future) == 0);
}

/* ---- tasks ---- */

static void schedule_another(const struct timer *parent)
{
    int64_t index = atomic_fetch_add(&total_count, 1);
    MUST(index < room);
    int moment = parent->moment + (int)(draw(index, 1) % 3 == 0 ? 0 : draw(index, 2) % AHEAD);
    timers[index] = (struct timer){
        .moment = (uint16_t)(moment < MOMENTS ? moment : MOMENTS), .chain = (uint8_t)self, .round = ROUNDS};
    schedule(&timers[index], NULL);
}

static void cancel_another(int64_t index)
{
    int64_t other = (int64_t)(draw(index, 3) % (uint64_t)(timer_count / KEPT)) * KEPT;
    if (hora_future_cancel(kept[other / KEPT], false) == HORA_CANCEL_REMOVED)
        MUST(atomic_exchange(&timers[other].cancelled, 1) == 0);
}

static int run(void *arg, void **ret_result)
{
    struct timer *timer = arg;
    (void)ret_result;
    order[atomic_fetch_add(&start_count, 1)] = (uint32_t)index_of(timer);
    if (self == 0)
        self = SUBMITTERS + atomic_fetch_add(&workers_seen, 1);
    MUST(hora_clock_now(view) == origin + HORA_US(timer->moment));
    MUST(atomic_exchange(&timer->started, 1) == 0);
    int64_t index = index_of(timer);
    if (index < timer_count && draw(index, 4) % SCHEDULES == 0)
        schedule_another(timer);
    if (index < timer_count && draw(index, 5) % CANCELS == 0)
        cancel_another(index);
    return 0;
}

/* ---- submitters ---- */

static int64_t first_of(int submitter)
{
    return timer_count / SUBMITTERS * submitter;
}

static int64_t round_begin(int submitter, int round)
{
    return first_of(submitter) + timer_count / SUBMITTERS / ROUNDS * round;
}

static void cancel_some(int64_t from, int64_t to)
{
    for (int64_t i = (from + KEPT - 1) / KEPT * KEPT; i < to; i += KEPT) {
        if (draw(i, 6) % 3 != 0)
            continue;
        MUST(hora_future_cancel(kept[i / KEPT], false) == HORA_CANCEL_REMOVED);
        MUST(atomic_exchange(&timers[i].cancelled, 1) == 0);
    }
}

static void *submit(void *arg)
{
    int chain = *(int *)arg;
    for (int round = 0; round < ROUNDS; round++) {
        for (int64_t i = round_begin(chain, round); i < round_begin(chain, round + 1); i++) {
            timers[i] = (struct timer){.moment = (uint16_t)(1 + draw(i, 7) % MOMENTS),
                                       .chain = (uint8_t)chain,
                                       .round = (uint8_t)round};
            schedule(&timers[i], i % KEPT == 0 ? &kept[i / KEPT] : NULL);
        }
        (void)pthread_barrier_wait(&barrier);
        int neighbour = (chain + 1) % SUBMITTERS;
        cancel_some(round_begin(neighbour, round), round_begin(neighbour, round + 1));
        (void)pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void submit_all(void)
{
    pthread_t threads[SUBMITTERS];
    int chains[SUBMITTERS];
    MUST(pthread_barrier_init(&barrier, NULL, SUBMITTERS) == 0);
    for (int i = 0; i < SUBMITTERS; i++) {
        chains[i] = i;
        MUST(pthread_create(&threads[i], NULL, submit, &chains[i]) == 0);
    }
    for (int i = 0; i < SUBMITTERS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    MUST(pthread_barrier_destroy(&barrier) == 0);
}

/* ---- checking ---- */

static int64_t cancelled_count;
static uint32_t *rank; /* of each timer that was not cancelled: how many of its chain come before it */
static uint32_t
    in_chain[CHAINS]
            [MOMENTS +
             2]; /* how many of a chain are due before that moment; then also those that have their rank */
static uint32_t before_cell[(MOMENTS + 1) * CELLS + 1]; /* how many of all are due in an earlier cell */

static int cell_of(const struct timer *timer)
{
    return timer->moment * CELLS + timer->round;
}

/* Every timer has started or was cancelled. */
static void count_timers(void)
{
    int64_t count = atomic_load(&total_count);
    cancelled_count = 0;
    memset(in_chain, 0, sizeof in_chain);
    memset(before_cell, 0, sizeof before_cell);
    for (int64_t i = 0; i < count; i++) {
        struct timer *timer = &timers[i];
        MUST(atomic_load(&timer->started) + atomic_load(&timer->cancelled) == 1);
        if (atomic_load(&timer->cancelled)) {
            cancelled_count++;
        } else {
            in_chain[timer->chain][timer->moment + 1]++;
            before_cell[cell_of(timer) + 1]++;
        }
    }
    MUST(atomic_load(&start_count) == count - cancelled_count);
}

static void rank_timers(void)
{
    int64_t count = atomic_load(&total_count);
    for (int chain = 0; chain < CHAINS; chain++)
        for (int moment = 0; moment <= MOMENTS; moment++)
            in_chain[chain][moment + 1] += in_chain[chain][moment];
    for (int cell = 0; cell < (MOMENTS + 1) * CELLS; cell++)
        before_cell[cell + 1] += before_cell[cell];
    for (int64_t i = 0; i < count; i++)
        if (!atomic_load(&timers[i].cancelled))
            rank[i] = in_chain[timers[i].chain][timers[i].moment]++;
}

/* A timer that comes before the last started one, and has not started, has been taken by one of the other
 * workers. */
static void check_order(void)
{
    int64_t chain_end[CHAINS] = {0}, chain_started[CHAINS] = {0};
    int last_cell = -1;
    int64_t in_last_cell = 0;
    for (int64_t started = 0; started < atomic_load(&start_count); started++) {
        const struct timer *timer = &timers[order[started]];
        int64_t *end = &chain_end[timer->chain];
        if (*end <= rank[order[started]])
            *end = (int64_t)rank[order[started]] + 1;
        chain_started[timer->chain]++;
        MUST(*end - chain_started[timer->chain] < workers);
        if (cell_of(timer) > last_cell) {
            last_cell = cell_of(timer);
            in_last_cell = 0;
        }
        in_last_cell += cell_of(timer) == last_cell;
        int64_t missing = before_cell[last_cell] - (started + 1 - in_last_cell);
        MUST(missing >= 0 && missing < workers);
    }
}

/* ---- the whole test ---- */

static void open_world(int threads)
{
    workers = threads;
    atomic_store(&workers_seen, 0);
    atomic_store(&start_count, 0);
    atomic_store(&total_count, timer_count);
    MUST(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = HORA_SECONDS(1000)), &vclock, NULL) ==
         0);
    view = hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC);
    origin = hora_clock_now(view);
    MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = threads, .clock = view), &scheduler,
                            NULL) == 0);
}

static void close_world(void)
{
    for (int64_t i = 0; i < timer_count / KEPT; i++)
        (void)hora_future_unref(kept[i]);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    MUST(hora_pool_get_stats(scheduler, &stats) == 0);
    MUST(stats.accepted == atomic_load(&total_count) && stats.done == atomic_load(&start_count));
    MUST(stats.cancelled == cancelled_count && stats.queued == 0);
    MUST(hora_pool_free(scheduler) == 0 && hora_virtual_clock_free(vclock) == 0);
}

static void play(int threads)
{
    struct rusage usage;
    open_world(threads);
    double start = seconds_now();
    submit_all();
    double scheduled = seconds_now();
    MUST(hora_virtual_clock_run(vclock, HORA_US(MOMENTS + 1)) == 0);
    double over = seconds_now();
    count_timers();
    rank_timers();
    check_order();
    close_world();
    MUST(getrusage(RUSAGE_SELF, &usage) == 0);
    long megabytes = usage.ru_maxrss / 1024;
    printf("exact order, %d worker%s: %" PRId64 " timers of %d threads and %" PRId64 " of tasks, %" PRId64
           " cancelled, %" PRId64 " started; scheduled in %.1f s, run in %.1f s, checked in %.1f s; %ld MB\n",
           threads, threads == 1 ? "" : "s", timer_count, SUBMITTERS, atomic_load(&total_count) - timer_count,
           cancelled_count, atomic_load(&start_count), scheduled - start, over - scheduled,
           seconds_now() - over, megabytes);
    (void)fflush(stdout);
    MUST(megabytes < MOST_MB);
}

int main(int argc, char **argv)
{
    double start = seconds_now();
    if (argc < 2) {
        (void)fputs("usage: hora-exact-order TIMERS [SEED]\n", stderr);
        return 2;
    }
    int64_t unit = (int64_t)KEPT * ROUNDS * SUBMITTERS; /* so that everything divides */
    timer_count = (strtoll(argv[1], NULL, 10) + unit - 1) / unit * unit;
    room = timer_count + timer_count / SCHEDULES * 2 + 1000;
    MUST(timer_count > 0 && room < UINT32_MAX);
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    timers = calloc((size_t)room, sizeof *timers);
    order = calloc((size_t)room, sizeof *order);
    rank = calloc((size_t)room, sizeof *rank);
    kept = calloc((size_t)(timer_count / KEPT), sizeof(hora_future *));
    MUST(timers != NULL && order != NULL && rank != NULL && kept != NULL);
    play(1);
    play(MOST_WORKERS);
    free(timers);
    free(order);
    free(rank);
    free(kept);
    printf("exact order: %" PRId64 " timers passed twice, in %.1f s\n", timer_count, seconds_now() - start);
    return 0;
}
