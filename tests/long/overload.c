/* SPDX-License-Identifier: Apache-2.0 */
/* overload.c - more work than two workers can do: nothing is lost, and memory and waiting are bounded
 *
 *     hora-overload TASKS
 *
 * What happens    Four threads offer TASKS tasks as fast as they can. Two workers need longer for a task than
 *                 a thread needs to offer the next. The tasks go to a pool with a bounded queue and each
 *                 rejection policy, to one without a bound, and to a scheduler.
 * What must hold  1. Each task runs once, or is rejected, which the call reports, or is dropped, if the
 *                 policy says so.
 *                    drop(arg) is called once for each task that was not rejected. The pool's counts agree.
 *                 2. With a bound, memory does not grow with the number of tasks. Without one it grows with
 *                    the number of waiting tasks, and is given back when there is little to do again.
 *                 3. With a bound of n, from the return of the call until its worker is free to take the
 *                    task, at most n other tasks start, and those that workers had already taken.
 * Output          A row of the table of docs/guide/overload.md for each. */
#define _GNU_SOURCE /* mallinfo2 */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <hora/hora.h>

#include "bulk.h"

enum {
    PRODUCERS = 4,
    WORKERS = 2,
    CAPACITY = 1000,
    WORK_NS = 3000,          /* of each task */
    SAMPLE = 256,            /* tasks of a producer, from one look at the memory to the next */
    CALM = 100000,           /* tasks one by one, after which memory must have been given back */
    LEFT_BYTES = 2 << 20,    /* may be kept */
    BOUNDED_BYTES = 1 << 20, /* may be used with a bound */
    WAITING_BYTES = 512,     /* by a task that waits, where there is no bound */
};

/* ---- tasks ---- */

struct work {
    hora_ns offered;
    hora_ns started;
    int64_t starts_before; /* how many had started when its worker was free to take it */
    int64_t starts_known;  /* when the call that offered it returned */
    hora_ns call;          /* how long that took */
    atomic_int runs;
    atomic_int drops;
    bool by_caller;
    bool refused;
};

static struct work *works;
static int work_count;
static atomic_int_fast64_t start_count; /* by workers */
static _Thread_local bool is_producer;
static _Thread_local int64_t starts_when_free; /* of a worker: when its last task ended */

static int run(void *arg, void **ret_result)
{
    struct work *work = arg;
    (void)ret_result;
    work->started = hora_clock_now(NULL);
    work->starts_before = starts_when_free;
    (void)atomic_fetch_add(&start_count, is_producer ? 0 : 1);
    work->by_caller = is_producer;
    (void)atomic_fetch_add(&work->runs, 1);
    while (hora_clock_now(NULL) - work->started < WORK_NS) {
    }
    starts_when_free = atomic_load(&start_count);
    return 0;
}

static void drop(void *arg)
{
    struct work *work = arg;
    (void)atomic_fetch_add(&work->drops, 1);
}

static int nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* ---- memory ---- */

static size_t memory_before;
static atomic_size_t memory_most;
static atomic_int queued_most;

static atomic_size_t mapped; /* bytes of the pages that hora has from the system */

/* The linker lets hora call these instead of mmap and munmap. */
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t size);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *address, size_t size);

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *pages = __real_mmap(address, size, protection, flags, fd, offset);
    (void)atomic_fetch_add(&mapped, pages != MAP_FAILED ? size : 0);
    return pages;
}

int __wrap_munmap(void *address, size_t size)
{
    int result = __real_munmap(address, size);
    (void)atomic_fetch_sub(&mapped, result == 0 ? size : 0);
    return result;
}

static size_t memory_now(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd + atomic_load(&mapped);
}

static size_t memory_above(size_t now)
{
    return now > memory_before ? now - memory_before : 0;
}

static void look_at_memory(hora_pool *pool)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    size_t now = memory_above(memory_now());
    MUST(hora_pool_get_stats(pool, &stats) == 0);
    size_t most = atomic_load(&memory_most);
    while (now > most && !atomic_compare_exchange_weak(&memory_most, &most, now)) {
    }
    int queued = atomic_load(&queued_most);
    while (stats.queued > queued && !atomic_compare_exchange_weak(&queued_most, &queued, stats.queued)) {
    }
}

/* ---- producers ---- */

struct trial {
    const char *name;
    hora_reject reject;
    int capacity; /* 0: none */
    enum { EXECUTE, SUBMIT, SCHEDULE } how;
};

static const struct trial *trial;
static hora_pool *pool;

static int offer(const hora_task *task)
{
    hora_future *future;
    if (trial->how == EXECUTE)
        return hora_pool_execute(pool, task);
    if (trial->how == SCHEDULE)
        return hora_scheduler_schedule(pool, task, HORA_US(10), NULL);
    int error = hora_pool_submit(pool, task, &future);
    if (error == 0)
        (void)hora_future_unref(future);
    return error;
}

static void *produce(void *arg)
{
    struct work *first = arg;
    is_producer = true;
    for (int i = 0; i < work_count / PRODUCERS; i++) {
        struct work *work = &first[i];
        work->offered = hora_clock_now(NULL);
        int error = offer(HORA_TASK(run, work, .drop = drop));
        work->starts_known = atomic_load(&start_count);
        work->call = hora_clock_now(NULL) - work->offered;
        MUST(error == 0 || error == HORA_EREJECTED);
        work->refused = error != 0;
        if (i % SAMPLE == 0)
            look_at_memory(pool);
    }
    look_at_memory(pool);
    return NULL;
}

static void produce_all(void)
{
    pthread_t threads[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++)
        MUST(pthread_create(&threads[i], NULL, produce, &works[work_count / PRODUCERS * i]) == 0);
    for (int i = 0; i < PRODUCERS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
}

/* ---- checking ---- */

struct sums {
    int64_t by_workers, by_callers, refused, dropped;
    int64_t
        overtaken; /* the most that started from the return of a call until a worker was free for its task */
};

/* Rule 1, task by task. */
static struct sums add_up(void)
{
    struct sums sums = {0};
    for (int i = 0; i < work_count; i++) {
        const struct work *work = &works[i];
        int runs = atomic_load(&work->runs), drops = atomic_load(&work->drops);
        MUST(runs <= 1 && drops == !work->refused && (runs == 0 || !work->refused));
        sums.by_workers += runs == 1 && !work->by_caller;
        sums.by_callers += runs == 1 && work->by_caller;
        sums.refused += work->refused;
        sums.dropped += runs == 0 && !work->refused;
        int64_t between = work->starts_before - work->starts_known;
        if (runs == 1 && !work->by_caller && between > sums.overtaken)
            sums.overtaken = between;
    }
    return sums;
}

/* Rule 1, as the pool counts, and by rule of rejection what cannot have happened. */
static void check_counts(const struct sums *sums)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    MUST(hora_pool_get_stats(pool, &stats) == 0);
    MUST(stats.queued == 0 && stats.active == 0);
    MUST(stats.accepted ==
         stats.done + stats.failed + stats.cancelled + stats.rejected + stats.abandoned + stats.handed_back);
    MUST(stats.done == sums->by_workers && stats.failed == 0 && stats.cancelled == 0 && stats.abandoned == 0);
    MUST(stats.rejected == (trial->reject == HORA_REJECT_DISCARD_OLDEST ? sums->dropped : 0));
    MUST(trial->reject == HORA_REJECT_ABORT || sums->refused == 0);
    MUST(trial->reject == HORA_REJECT_CALLER_RUNS || sums->by_callers == 0);
    MUST(trial->reject == HORA_REJECT_DISCARD || trial->reject == HORA_REJECT_DISCARD_OLDEST ||
         sums->dropped == 0);
    MUST(trial->capacity > 0 || sums->by_workers == work_count);
}

/* Rule 2. Memory is given back bit by bit, whenever a worker finds nothing to do. */
static size_t check_memory(void)
{
    size_t left = memory_above(memory_now()), most = atomic_load(&memory_most);
    for (int i = 0; i < CALM && left > LEFT_BYTES; i++) {
        MUST(hora_pool_execute(pool, HORA_TASK(nothing, NULL)) == 0 &&
             hora_pool_await_idle_for(pool, HORA_FOREVER) == 0);
        left = memory_above(memory_now());
    }
    MUST(left <= LEFT_BYTES);
    MUST(most <=
         BOUNDED_BYTES + (trial->capacity > 0 ? 0 : (size_t)atomic_load(&queued_most) * WAITING_BYTES));
    return left;
}

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
    hora_ns x = *(const hora_ns *)a, y = *(const hora_ns *)b;
    return (x > y) - (x < y);
}

/* The 50th and 99th of a hundred, in microseconds. */
static void percentiles(hora_ns *values, int count, double ret_us[2])
{
    qsort(values, (size_t)count, sizeof *values, compare);
    ret_us[0] = count > 0 ? (double)values[count / 2] / 1e3 : 0;
    ret_us[1] = count > 0 ? (double)values[(int)((int64_t)count * 99 / 100)] / 1e3 : 0;
}

static void report(const struct sums *sums, size_t left)
{
    double waits[2], calls[2];
    hora_ns *values = calloc((size_t)work_count, sizeof *values);
    MUST(values != NULL);
    int count = 0;
    for (int i = 0; i < work_count; i++)
        if (atomic_load(&works[i].runs) == 1 && !works[i].by_caller)
            values[count++] = works[i].started - works[i].offered;
    percentiles(values, count, waits);
    for (int i = 0; i < work_count; i++)
        values[i] = works[i].call;
    percentiles(values, work_count, calls);
    free(values);
    printf("| %s | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64
           " | %.0f, %.0f | %.1f, %.1f | %d | %zu | %zu |\n",
           trial->name, sums->by_workers, sums->by_callers, sums->refused, sums->dropped, waits[0], waits[1],
           calls[0], calls[1], atomic_load(&queued_most), atomic_load(&memory_most) / 1024, left / 1024);
    (void)fflush(stdout);
}

/* ---- the whole test ---- */

static void open_pool(void)
{
    if (trial->how == SCHEDULE)
        MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = WORKERS), &pool, NULL) == 0);
    else
        MUST(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = WORKERS, .queue_capacity = trial->capacity,
                                             .reject = trial->reject),
                           &pool, NULL) == 0);
}

static void play(const struct trial *next)
{
    trial = next;
    for (int i = 0; i < work_count; i++)
        works[i] = (struct work){.offered = 0};
    atomic_store(&start_count, 0);
    atomic_store(&memory_most, 0);
    atomic_store(&queued_most, 0);
    memory_before = memory_now();
    open_pool();
    produce_all();
    MUST(hora_pool_await_idle_for(pool, HORA_FOREVER) == 0);
    struct sums sums = add_up();
    check_counts(&sums);
    if (trial->capacity > 0)
        MUST(sums.overtaken <= trial->capacity + WORKERS); /* rule 3 */
    size_t left = check_memory();
    report(&sums, left);
    MUST(hora_pool_free(pool) == 0);
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {"1000, abort", HORA_REJECT_ABORT, CAPACITY, EXECUTE},
        {"1000, caller runs", HORA_REJECT_CALLER_RUNS, CAPACITY, EXECUTE},
        {"1000, discard", HORA_REJECT_DISCARD, CAPACITY, EXECUTE},
        {"1000, discard oldest", HORA_REJECT_DISCARD_OLDEST, CAPACITY, EXECUTE},
        {"1000, block", HORA_REJECT_BLOCK, CAPACITY, EXECUTE},
        {"1000, block, submitted", HORA_REJECT_BLOCK, CAPACITY, SUBMIT},
        {"no bound, executed", HORA_REJECT_ABORT, 0, EXECUTE},
        {"no bound, submitted", HORA_REJECT_ABORT, 0, SUBMIT},
        {"scheduler, in 10 us", HORA_REJECT_ABORT, 0, SCHEDULE},
    };
    if (argc < 2) {
        (void)fputs("usage: hora-overload TASKS\n", stderr);
        return 2;
    }
    work_count = (atoi(argv[1]) + PRODUCERS - 1) / PRODUCERS * PRODUCERS;
    works = calloc((size_t)work_count, sizeof *works);
    MUST(work_count > 0 && works != NULL);
    printf("| queue, rule | run by workers | by callers | refused | dropped | waited, us: p50, p99 | call, "
           "us: p50, p99 | "
           "waiting at most | KB at most | KB left |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        play(&trials[i]);
    free(works);
    return 0;
}
