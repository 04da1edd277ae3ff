/* SPDX-License-Identifier: Apache-2.0 */
/* burst.c - the memory of a burst goes back to the system
 *
 *     hora-burst TASKS
 *
 * What happens    A thread hands TASKS tasks to a pool or a scheduler whose workers are held up, so that all
 *                 of them are queued at once. Then the workers run them. This happens with each kind of call,
 *                 with workers that run tasks while the thread submits others, with a program that keeps a
 *                 few futures of each burst, and with futures that outlive their pool. Of tasks without a
 *                 future there are SMALLER times as many.
 * What must hold  Within a second after the last task has ended, the resident set is at most LEFT_MB larger
 *                 than at the start. The pool exists until then.
 * Output          A row for each: the resident set at its peak and afterwards, both above the start. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hora/hora.h>

#include "bulk.h"

enum {
    WORKERS = 2,
    LEFT_MB = 16,
    SMALLER = 4,  /* so many detached tasks take as much memory as a future */
    KEPT = 10,    /* futures of each burst that a program keeps */
    BURSTS = 3,   /* one after the other */
    SKIPPED = 77, /* the exit status of a test that cannot run here */
    MB = 1 << 20,
};

/* ---- the resident set ---- */

/* Returns the size of the resident set in bytes; -1: the system does not say. */
static int64_t resident(void)
{
    long long size = 0;
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL)
        return -1;
    int count = fscanf(file, "%lld %lld", &size, &pages);
    (void)fclose(file);
    return count == 2 ? (int64_t)pages * sysconf(_SC_PAGESIZE) : -1;
}

static int64_t start; /* the resident set before the first burst */
static int64_t peak;

static void look(void)
{
    int64_t now = resident();
    peak = now > peak ? now : peak;
}

/* Waits until little is left, for at most a second. */
static void check(const char *what)
{
    hora_latch *never;
    double end = seconds_now() + 1;
    MUST(hora_latch_new(1, NULL, &never, NULL) == 0);
    look();
    while (resident() - start > (int64_t)LEFT_MB * MB && seconds_now() < end)
        MUST(hora_latch_await_for(never, HORA_MS(10)) == HORA_ETIMEDOUT);
    MUST(hora_latch_free(never) == 0);
    int64_t left = resident() - start;
    printf("%-34s %8" PRId64 " %8.1f\n", what, (peak - start) / MB, (double)left / MB);
    MUST(left <= (int64_t)LEFT_MB * MB);
    peak = 0;
}

/* ---- tasks ---- */

static hora_latch *gate; /* the workers wait for it; NULL: they do not wait */
static hora_latch *done; /* opens when all tasks have ended */
static int64_t wanted;   /* the number of these tasks */
static atomic_int_fast64_t ended;

static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    if (atomic_fetch_add(&ended, 1) + 1 == wanted)
        hora_latch_count_down(done);
    return 0;
}

static int wait_at_gate(void *arg, void **ret_result)
{
    (void)ret_result;
    return hora_latch_await(arg);
}

/* Makes the workers wait when they come to these tasks. */
static void hold_up(hora_pool *pool)
{
    MUST(gate == NULL && hora_latch_new(1, NULL, &gate, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        MUST(hora_pool_execute(pool, HORA_TASK(wait_at_gate, gate)) == 0);
}

static void expect(int64_t count)
{
    MUST(hora_latch_new(1, NULL, &done, NULL) == 0);
    wanted = count;
    atomic_store(&ended, 0);
}

static void wait_for_all(void)
{
    look();
    if (gate != NULL)
        hora_latch_count_down(gate);
    MUST(hora_latch_await(done) == 0 && hora_latch_free(done) == 0);
    MUST(gate == NULL || hora_latch_free(gate) == 0);
    gate = NULL;
}

/* ---- the kinds of call ---- */

/* Hands a task to a pool, and returns its future, or NULL if it has none. */
typedef hora_future *call(hora_pool *pool);

static hora_future *execute(hora_pool *pool)
{
    MUST(hora_pool_execute(pool, HORA_TASK(run, NULL)) == 0);
    return NULL;
}

static hora_future *submit(hora_pool *pool)
{
    hora_future *future;
    MUST(hora_pool_submit(pool, HORA_TASK(run, NULL), &future) == 0);
    return future;
}

static hora_future *schedule(hora_pool *pool)
{
    hora_future *future;
    MUST(hora_scheduler_schedule(pool, HORA_TASK(run, NULL), HORA_MS(1), &future) == 0);
    return future;
}

static hora_future *schedule_detached(hora_pool *pool)
{
    MUST(hora_scheduler_schedule(pool, HORA_TASK(run, NULL), HORA_MS(1), NULL) == 0);
    return NULL;
}

static hora_pool *new_pool(call *hand)
{
    hora_pool *pool;
    if (hand == schedule || hand == schedule_detached)
        MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = WORKERS), &pool, NULL) == 0);
    else
        MUST(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = WORKERS), &pool, NULL) == 0);
    return pool;
}

static void end_pool(hora_pool *pool)
{
    MUST(hora_pool_close_for(pool, HORA_FOREVER) == 0 && hora_pool_free(pool) == 0);
}

/* ---- bursts ---- */

static int64_t tasks;
static hora_future *kept[BURSTS * KEPT]; /* by the program; NULL: none */

/* Hands over the tasks of a burst. Every `every`-th future goes to kept[], from an index on; 0: none. */
static void hand_over(call *hand, hora_pool *pool, int64_t every, int index)
{
    for (int64_t i = 0; i < tasks; i++) {
        hora_future *future = hand(pool);
        if (every > 0 && i % every == 0 && index < BURSTS * KEPT)
            kept[index++] = future;
        else
            (void)hora_future_unref(future);
    }
}

/* All tasks are queued before the first ends. */
static void all_at_once(const char *what, call *hand)
{
    hora_pool *pool = new_pool(hand);
    expect(tasks);
    hold_up(pool);
    hand_over(hand, pool, 0, 0);
    wait_for_all();
    check(what);
    end_pool(pool);
}

/* The workers run tasks meanwhile, so that memory is used again and becomes mixed. */
static void while_running(const char *what, call *hand)
{
    hora_pool *pool = new_pool(hand);
    expect(BURSTS * tasks);
    for (int i = 0; i < BURSTS; i++) {
        hand_over(hand, pool, 0, 0);
        if (i == 0)
            hold_up(pool);
    }
    wait_for_all();
    check(what);
    end_pool(pool);
}

static void forget_kept(void)
{
    for (int i = 0; i < BURSTS * KEPT; i++)
        kept[i] = hora_future_unref(kept[i]);
}

/* The program keeps some futures of each burst, from its whole length. The next burst reuses the memory
 * around them. */
static void with_kept_futures(const char *what, call *hand)
{
    hora_pool *pool = new_pool(hand);
    for (int i = 0; i < BURSTS; i++) {
        expect(tasks);
        hold_up(pool);
        hand_over(hand, pool, tasks / KEPT, i * KEPT);
        wait_for_all();
        check(what);
    }
    forget_kept();
    end_pool(pool);
}

/* The futures are released after their pool is gone. */
static void after_the_pool(const char *what, call *hand)
{
    hora_pool *pool = new_pool(hand);
    hora_future **futures = malloc((size_t)tasks * sizeof *futures);
    MUST(futures != NULL);
    expect(tasks);
    for (int64_t i = 0; i < tasks; i++)
        futures[i] = hand(pool);
    wait_for_all();
    end_pool(pool);
    look();
    for (int64_t i = 0; i < tasks; i++)
        (void)hora_future_unref(futures[i]);
    free(futures);
    check(what);
}

int main(int argc, char **argv)
{
    int64_t count = argc == 2 ? atoll(argv[1]) : 0;
    MUST(count >= KEPT);
    start = resident();
    if (start < 0) {
        printf("the system does not tell the size of the resident set\n");
        return SKIPPED;
    }
    printf("%-34s %8s %8s\n", "tasks", "peak MB", "left MB");
    tasks = SMALLER * count;
    all_at_once("executed", execute);
    all_at_once("scheduled, detached", schedule_detached);
    while_running("executed while others run", execute);
    tasks = count;
    all_at_once("submitted", submit);
    all_at_once("scheduled", schedule);
    while_running("submitted while others run", submit);
    while_running("scheduled while others run", schedule);
    with_kept_futures("submitted, some futures kept", submit);
    with_kept_futures("scheduled, some futures kept", schedule);
    after_the_pool("submitted, released after the pool", submit);
    after_the_pool("scheduled, released after the pool", schedule);
    return 0;
}
