/* SPDX-License-Identifier: Apache-2.0 */
/* bounded_work.c - how many of up to a million elements each operation touches: the maximum, not the average
 *
 *     hora-bounded-work ELEMENTS [SEED]
 *
 * How it works    The library is built with the counts of base/build.h. Histories of calls, by the public
 *                 interface alone, fill a scheduler, a delay queue and pools, with times of several kinds.
 *                 The number of elements that one call touches is compared with a bound: a multiple of log2
 *                 of the number of elements, or a constant. Finding an element of a pool's queue to cancel it
 *                 is the only operation that may touch all. The work of workers is counted from the start of
 *                 one task to that of the next. Work that earlier calls have paid for (an array that grows)
 *                 is bounded as a sum, after each history.
 * Output          A line for each kind of call: how many there were, the largest and the mean number of
 *                 elements, and the bound. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

#include "base/build.h"
#include "bulk.h"

static uint64_t state;

static uint64_t random_below(uint64_t below)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return (value ^ value >> 31) % below;
}

/* ---- counting ---- */

_Thread_local int64_t hora__touches;
_Thread_local int64_t hora__touches_prepaid;

/* How many elements one call may touch, with n elements in all. */
enum bound {
    CONSTANT, /* 320: of the segments of a queue that are kept an eighth may be freed at once, which is 256 */
    /* 4 log2(n) + 16 on average: a slot and its four neighbours on each level of a heap. A single call may
     * touch: */
    BY_LANES,   /* POSTED * (log2(n) / 2 + 2) more: what came without a lock is put in order */
    BY_BATCHES, /* BATCHES more: what came without a lock is taken in, and one far batch put in order */
    LINEAR,     /* 2n + 320: elements, and as many holes between them */
};

/* Calls of one kind. Workers count their own calls, and the program waits for them before it reads the
 * counts. */
struct tally {
    const char *what;
    enum bound bound;
    int64_t calls;
    int64_t sum;
    int64_t most;
    int64_t prepaid;
    int64_t most_prepaid;
};

enum {
    PREPAID = 4,                        /* the most per call, on average, of what was paid for before */
    BATCHES = 10 * 256 + 128 * 32,      /* see timer/far.h and queue/timed.c */
    POSTED = HORA__FAST ? 16 * 128 : 0, /* timers that may wait unordered: see timer/lanes.h */
};

static int elements; /* in all, at most */
static int64_t checked_calls;
static _Thread_local int64_t mark;
static _Thread_local int64_t mark_prepaid;

static int64_t log2_of_all(void)
{
    int64_t log2 = 0;
    for (int64_t n = elements; n > 0; n /= 2)
        log2++;
    return log2;
}

static int64_t allowed_on_average(enum bound bound)
{
    return bound == CONSTANT ? 320 : bound == LINEAR ? 2 * (int64_t)elements + 320 : 4 * log2_of_all() + 16;
}

static int64_t allowed(enum bound bound)
{
    int64_t at_once = bound == BY_LANES     ? POSTED * (log2_of_all() / 2 + 2)
                      : bound == BY_BATCHES ? BATCHES
                                            : 0;
    return allowed_on_average(bound) + at_once;
}

static void begin(void)
{
    mark = hora__touches;
    mark_prepaid = hora__touches_prepaid;
}

static void end(struct tally *tally)
{
    int64_t touched = hora__touches - mark, prepaid = hora__touches_prepaid - mark_prepaid;
    tally->calls++;
    tally->sum += touched;
    tally->prepaid += prepaid;
    if (touched > tally->most)
        tally->most = touched;
    if (prepaid > tally->most_prepaid)
        tally->most_prepaid = prepaid;
    begin();
}

static void report(const char *history, struct tally *tallies)
{
    int64_t calls = 0, prepaid = 0, sum = 0;
    for (struct tally *tally = tallies; tally->what != NULL; tally++) {
        if (tally->calls == 0)
            continue;
        printf("%-30s %-9s %8" PRId64 " calls, the most %7" PRId64 " of %7" PRId64
               " allowed, mean %6.1f; prepaid: the most %7" PRId64 ", sum %8" PRId64 "\n",
               history, tally->what, tally->calls, tally->most, allowed(tally->bound),
               (double)tally->sum / (double)tally->calls, tally->most_prepaid, tally->prepaid);
        calls += tally->calls;
        sum += tally->sum;
        prepaid += tally->prepaid;
        MUST(tally->most <= allowed(tally->bound) &&
             tally->sum <= tally->calls * allowed_on_average(tally->bound));
    }
    (void)fflush(stdout);
    MUST(prepaid <= PREPAID * calls);
    MUST(sum > 0); /* otherwise an operation does not count its work */
    checked_calls += calls;
}

/* ---- times ---- */

enum times { RANDOM, EQUAL, RISING, FALLING, SAW, TIMES };

static const char *const names_of_times[TIMES] = {"random times", "equal times", "rising times",
                                                  "falling times", "times like a saw"};

/* From 1 ms to 1 ms and `elements` us. */
static hora_ns delay_of(enum times times, int i)
{
    switch (times) {
    case RANDOM:
        return HORA_MS(1) + HORA_US((hora_ns)random_below((uint64_t)elements));
    case EQUAL:
        return HORA_MS(1);
    case RISING:
        return HORA_MS(1) + HORA_US(i);
    case FALLING:
        return HORA_MS(1) + HORA_US(elements - i);
    case SAW:
    default:
        return HORA_MS(1) + HORA_US((i & 1) != 0 ? i : elements - i);
    }
}

/* ---- a scheduler: schedule, cancel, and what a worker does for each task that starts ---- */

enum { SCHEDULE, CANCEL, START };

static struct tally scheduler_tallies[4];
static hora_future **futures;
static int64_t starts; /* by the only worker */

static int start(void *arg, void **ret_result)
{
    (void)ret_result;
    end(arg);
    starts++;
    return 0;
}

static int from_now_on(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    begin();
    return 0;
}

static hora_virtual_clock *vclock;

static void schedule(hora_scheduler *scheduler, hora_ns delay, int i)
{
    struct tally *tallies = scheduler_tallies;
    begin();
    MUST(hora_scheduler_schedule(scheduler, HORA_TASK(start, &tallies[START]), delay, &futures[i]) == 0);
    end(&tallies[SCHEDULE]);
}

static void cancel(int i)
{
    begin();
    int outcome = hora_future_cancel(futures[i], false);
    if (outcome == HORA_CANCEL_REMOVED)
        end(&scheduler_tallies[CANCEL]);
}

/* Lets time pass. The count starts anew before that: until now the worker was called for each timer that
 * became the first, and that is not the work of a start. */
static void pass(hora_scheduler *scheduler, hora_ns time)
{
    MUST(hora_pool_execute(scheduler, HORA_TASK(from_now_on, NULL)) == 0);
    MUST(hora_virtual_clock_settle(vclock) == 0);
    MUST(hora_virtual_clock_run(vclock, time) == 0);
}

/* Fills it, exchanges as many at random, lets a part become due, cancels a quarter of the rest, and lets the
 * others become due. */
static void history_of_a_scheduler(enum times times)
{
    char name[64];
    hora_scheduler *scheduler;
    struct tally tallies[] = {{.what = "schedule", .bound = BY_LANES},
                              {.what = "cancel", .bound = BY_LANES},
                              {.what = "start", .bound = BY_LANES},
                              {.what = NULL}};
    memcpy(scheduler_tallies, tallies, sizeof tallies);
    MUST(hora_virtual_clock_new(NULL, &vclock, NULL) == 0);
    const hora_clock *view = hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC);
    MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = view), &scheduler, NULL) == 0);
    for (int i = 0; i < elements; i++)
        schedule(scheduler, delay_of(times, i), i);
    for (int i = 0; i < elements; i++) {
        int at = (int)random_below((uint64_t)elements);
        cancel(at);
        (void)hora_future_unref(futures[at]);
        schedule(scheduler, delay_of(times, i), at);
    }
    pass(scheduler, HORA_MS(1) + HORA_US(elements / 3));
    for (int i = 0; i < elements / 4; i++)
        cancel((int)random_below((uint64_t)elements));
    pass(scheduler, HORA_MS(1) + HORA_US(elements));
    const struct tally *all = scheduler_tallies;
    MUST(all[SCHEDULE].calls == 2 * (int64_t)elements &&
         all[START].calls == all[SCHEDULE].calls - all[CANCEL].calls);
    for (int i = 0; i < elements; i++)
        (void)hora_future_unref(futures[i]);
    MUST(hora_pool_free(scheduler) == 0 && hora_virtual_clock_free(vclock) == 0);
    (void)snprintf(name, sizeof name, "scheduler, %s", names_of_times[times]);
    report(name, scheduler_tallies);
}

/* ---- a delay queue ---- */

static void history_of_a_delay_queue(enum times times)
{
    char name[64];
    hora_queue *queue;
    void *item;
    struct tally tallies[] = {
        {.what = "put", .bound = BY_BATCHES}, {.what = "poll", .bound = BY_BATCHES}, {.what = NULL}};
    MUST(hora_virtual_clock_new(NULL, &vclock, NULL) == 0);
    const hora_clock *view = hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC);
    MUST(hora_queue_new_delay(HORA_QUEUE_OPTIONS(.clock = view), &queue, NULL) == 0);
    for (int round = 0; round < 2; round++) {
        for (int i = hora_queue_size(queue); i < elements; i++) {
            begin();
            MUST(hora_queue_put_delayed(queue, &futures[i], delay_of(times, i)) == 0);
            end(&tallies[0]);
        }
        MUST(hora_virtual_clock_advance(vclock, HORA_MS(1) + HORA_US(round == 0 ? elements / 2 : elements)) ==
             0);
        begin();
        for (int error; (error = hora_queue_poll(queue, &item)) != HORA_EEMPTY; end(&tallies[1]))
            MUST(error == 0);
    }
    MUST(hora_queue_size(queue) == 0 && tallies[0].calls == tallies[1].calls);
    MUST(hora_queue_free(queue) == 0 && hora_virtual_clock_free(vclock) == 0);
    (void)snprintf(name, sizeof name, "delay queue, %s", names_of_times[times]);
    report(name, tallies);
}

/* ---- a pool: execute or submit, cancel, and what a worker does for each task ---- */

static hora_latch *arrived;
static hora_latch *gate;

static int hold(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    MUST(hora_latch_count_down(arrived) == 0);
    return hora_latch_await(gate);
}

/* While the only worker is blocked, fills the pool and cancels some tasks, so that there are holes; then lets
 * it run. Twice. */
static void history_of_a_pool(const char *name, int capacity, bool submits)
{
    enum { PUT, CANCELLED, RUN, FEW = 100 };
    hora_pool *pool;
    struct tally tallies[] = {{.what = submits ? "submit" : "execute", .bound = CONSTANT},
                              {.what = "cancel", .bound = LINEAR},
                              {.what = "start", .bound = CONSTANT},
                              {.what = NULL}};
    MUST(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = capacity), &pool, NULL) == 0);
    for (int round = 0; round < 2; round++) {
        MUST(hora_latch_new(1, NULL, &gate, NULL) == 0 && hora_latch_new(1, NULL, &arrived, NULL) == 0);
        MUST(hora_pool_execute(pool, HORA_TASK(hold, NULL)) == 0);
        MUST(hora_latch_await(arrived) == 0); /* else the queue has room for one less */
        MUST(hora_pool_execute(pool, HORA_TASK(from_now_on, NULL)) == 0);
        for (int i = 1; i < elements; i++) {
            begin();
            int error = submits ? hora_pool_submit(pool, HORA_TASK(start, &tallies[RUN]), &futures[i])
                                : hora_pool_execute(pool, HORA_TASK(start, &tallies[RUN]));
            end(&tallies[PUT]);
            MUST(error == 0);
        }
        for (int i = 0; submits && i < FEW && elements > FEW; i++) {
            int at = 1 + (i % 2 == 0 ? i : (int)random_below((uint64_t)elements - 1));
            begin();
            if (hora_future_cancel(futures[at], false) == HORA_CANCEL_REMOVED)
                end(&tallies[CANCELLED]);
        }
        MUST(hora_latch_count_down(gate) == 0);
        MUST(hora_pool_await_idle_for(pool, HORA_FOREVER) == 0);
        for (int i = 1; submits && i < elements; i++)
            (void)hora_future_unref(futures[i]);
        MUST(hora_latch_free(gate) == 0 && hora_latch_free(arrived) == 0);
    }
    MUST(tallies[RUN].calls == tallies[PUT].calls - tallies[CANCELLED].calls);
    MUST(hora_pool_free(pool) == 0);
    report(name, tallies);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fputs("usage: hora-bounded-work ELEMENTS [SEED]\n", stderr);
        return 2;
    }
    elements = atoi(argv[1]);
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    futures = calloc((size_t)elements, sizeof(hora_future *));
    MUST(elements > 0 && futures != NULL);
    for (int times = 0; times < TIMES; times++)
        history_of_a_scheduler((enum times)times);
    for (int times = 0; times < TIMES; times++)
        history_of_a_delay_queue((enum times)times);
    history_of_a_pool("pool, unbounded, execute", 0, false);
    history_of_a_pool("pool, unbounded, submit", 0, true);
    history_of_a_pool("pool, bounded, execute", elements, false);
    history_of_a_pool("pool, bounded, submit", elements, true);
    free(futures);
    printf("bounded work: %" PRId64 " calls with up to %d elements passed, each within its bound\n",
           checked_calls, elements);
    return 0;
}
