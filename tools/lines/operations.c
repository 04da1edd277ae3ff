/* SPDX-License-Identifier: Apache-2.0 */
/* operations.c - runs one kind of operation many times while cache lines are recorded
 *
 *     operations NAME THREADS COUNT [turns]
 *
 * THREADS threads together do COUNT operations, after as many that are not recorded. With `turns`, they do
 * one operation each, in turn: then each operation finds the lines of the one before it with another thread,
 * as it would if all threads ran on processors of their own. Prints what recorder_print prints. The
 * operations are those of the benchmark (bench/README.md):
 *
 *   execute   W1: hora_pool_execute on a pool with two workers, until all tasks have run
 *   offer     the same, while the workers are held up
 *   submit    the same with a future, which is released at once
 *   cancel    W3: schedule a task with a future in a minute or later, cancel it and release it, while 1,000
 *             others are pending
 *   timer     W3.reuse: start and cancel a hora_timer, while 1,000 others are pending */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

#include "recorder.h"

enum { WORKERS = 2, PENDING = 1000, THREADS_MOST = 16 };

#define MUST(truth) ((truth) ? (void)0 : abort())

static hora_pool *pool;
static long per_thread;
/* Each has lines of its own. */
static struct {
    _Alignas(128) hora_timer timer;
} timers[THREADS_MOST];
static pthread_barrier_t barrier;
static int turns; /* the number of threads that take turns; 0: they do not */
static atomic_long turn;

static int ignore(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static int never(void *arg)
{
    (void)arg;
    return 0;
}

/* ---- the operations ---- */

static void execute(int thread)
{
    (void)thread;
    MUST(hora_pool_execute(pool, HORA_TASK(ignore, NULL)) == 0);
}

static void submit(int thread)
{
    hora_future *future;
    (void)thread;
    MUST(hora_pool_submit(pool, HORA_TASK(ignore, NULL), &future) == 0);
    hora_future_unref(future);
}

static hora_ns far_delay(void)
{
    static _Thread_local uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return HORA_SECONDS(60) + (hora_ns)(state % (uint64_t)HORA_SECONDS(3540));
}

static void cancel(int thread)
{
    hora_future *future;
    (void)thread;
    MUST(hora_scheduler_schedule(pool, HORA_TASK(ignore, NULL), far_delay(), &future) == 0);
    MUST(hora_future_cancel(future, false) == HORA_CANCEL_REMOVED);
    hora_future_unref(future);
}

static void timer(int thread)
{
    MUST(hora_timer_start(&timers[thread].timer, pool, far_delay()) >= 0);
    MUST(hora_timer_cancel(&timers[thread].timer) >= 0);
}

static const struct {
    const char *name;
    void (*once)(int thread);
    bool is_scheduled; /* on a scheduler, where tasks stay pending */
    bool is_held_up;   /* the workers are held up */
} operations[] = {
    {"execute", execute, false, false}, {"offer", execute, false, true}, {"submit", submit, false, false},
    {"cancel", cancel, true, false},    {"timer", timer, true, false},
};

static int chosen;

/* ---- running ---- */

static void open_pool(void)
{
    if (!operations[chosen].is_scheduled) {
        MUST(hora_pool_new_fixed(WORKERS, NULL, &pool, NULL) == 0);
        return;
    }
    MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = WORKERS), &pool, NULL) == 0);
    for (int i = 0; i < PENDING; i++)
        MUST(hora_scheduler_schedule(pool, HORA_TASK(ignore, NULL), far_delay(), NULL) == 0);
}

static int wait_for_end(void *arg, void **ret_result)
{
    (void)ret_result;
    return hora_latch_await(arg);
}

static void hold_workers_up(void)
{
    hora_latch *end;
    MUST(hora_latch_new(1, NULL, &end, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        MUST(hora_pool_execute(pool, HORA_TASK(wait_for_end, end)) == 0);
}

/* Waits until it is the turn of a thread. */
static void await_turn(int thread)
{
    while (turns > 0 && atomic_load(&turn) % turns != thread)
        (void)sched_yield();
}

static void *run(void *arg)
{
    int thread = (int)(intptr_t)arg;
    MUST(hora_timer_init(&timers[thread].timer, never, NULL) == 0);
    for (int round = 0; round < 2; round++) {
        pthread_barrier_wait(&barrier);
        for (long i = 0; i < per_thread; i++) {
            await_turn(thread);
            operations[chosen].once(thread);
            atomic_fetch_add(&turn, 1);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* Waits for tasks that end. */
static void finish(void)
{
    if (!operations[chosen].is_scheduled && !operations[chosen].is_held_up)
        MUST(hora_pool_await_idle_for(pool, HORA_FOREVER) == 0);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MOST];
    if (argc < 4)
        return 1;
    while (strcmp(operations[chosen].name, argv[1]) != 0)
        chosen++;
    int count = atoi(argv[2]);
    per_thread = atol(argv[3]) / count;
    turns = argc == 5 ? count : 0;
    MUST(count <= THREADS_MOST && pthread_barrier_init(&barrier, NULL, (unsigned)count + 1) == 0);
    open_pool();
    if (operations[chosen].is_held_up)
        hold_workers_up();
    for (int i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i) == 0);
    for (int round = 0; round < 2; round++) {
        recorder_set(round == 1);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        finish();
    }
    recorder_set(false);
    recorder_print();
    _Exit(0); /* the end of the pool is not part of the operation */
}
