/* SPDX-License-Identifier: Apache-2.0 */
/* pools_main.c - W1 and W2 for the thread pool of one library, measured each time the caller asks
 *
 * See serve_peer. The amount is a number of tasks, not a time: how far the producers get ahead of the
 * workers, and with that the cost of memory, depends on the number of tasks, so it must be the same for all.
 * Pools.java and go/main.go use the same protocol and do the same work; the three must be changed
 * together. */
#include "pools.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    MOST_PRODUCERS = 8,
    USUAL_WORKERS = 2,
    WARM_UP_TASKS = 2000,
    LEAST_NS_PER_TASK = 200, /* a run is repeated until it has taken this time per task of the amount */
    TASKS_PER_WAIT = 100, /* W2 waits for each task, which is slower, so it runs a hundredth of the amount, */
    TASKS_PER_PAUSE = 5,  /* and with pauses a fifth of that */
    PAUSE_NS = 200000,
};

struct producer {
    pthread_t thread;
    pthread_barrier_t *start;
    long tasks; /* that it submits */
};

/* `ran` is the number of tasks that have run, `expected` how many there will be, `end_ns` when the last one
 * ran. The count is written all the time, so it has its own cache line. Otherwise it would depend on the
 * layout of each program whether producers read something beside it. */
enum { CACHE_LINE = 64 };
static _Alignas(CACHE_LINE) struct {
    atomic_long count;
    char apart[CACHE_LINE - sizeof(atomic_long)];
} ran;
static long expected;
static int64_t end_ns;
static sem_t all_ran;

void pool_ran(void)
{
    long last = expected; /* read before the task is counted: afterwards the next run may write it */
    if (atomic_fetch_add(&ran.count, 1) + 1 != last)
        return;
    end_ns = now_ns();
    sem_post(&all_ran);
}

/* Sets the number of tasks to wait for. */
static void expect(long tasks)
{
    atomic_store(&ran.count, 0);
    expected = tasks;
}

static void await_all(void)
{
    while (sem_wait(&all_ran) != 0) {
    }
}

static void *produce(void *arg)
{
    struct producer *producer = arg;
    pthread_barrier_wait(producer->start);
    pool_peer.execute(producer->tasks);
    return NULL;
}

/* Runs all tasks once. Returns the time from the start of the producers to the end of the last task. */
static int64_t execute_all(const struct peer_workload *w, long tasks)
{
    struct producer producers[MOST_PRODUCERS];
    pthread_barrier_t start;
    long each = tasks / w->producers;
    MUST(each > 0 && pthread_barrier_init(&start, NULL, (unsigned)w->producers + 1) == 0);
    expect(each * w->producers);
    for (int i = 0; i < w->producers; i++) {
        producers[i].start = &start;
        producers[i].tasks = each;
        MUST(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0);
    }
    int64_t start_ns = now_ns();
    pthread_barrier_wait(&start);
    await_all();
    for (int i = 0; i < w->producers; i++)
        pthread_join(producers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    return end_ns - start_ns;
}

/* Measures W1. Repeats the run if it is so fast that one would be too short to measure. */
static void execute(const struct peer_workload *w, long amount, bool warms_up)
{
    long tasks = warms_up ? WARM_UP_TASKS : amount; /* one short run starts all threads */
    int64_t spent_ns = 0;
    long done = 0;
    do {
        spent_ns += execute_all(w, tasks);
        done += expected;
    } while (!warms_up && spent_ns < amount * LEAST_NS_PER_TASK);
    report(w->name, (double)done * 1e9 / (double)spent_ns, "1/s", "higher");
}

/* Submits one task after the other, with a pause before each, and reports how long each took. */
static void submit_each(const struct peer_workload *w, long rounds, int64_t pause_ns)
{
    int64_t *taken_ns = malloc((size_t)rounds * sizeof(*taken_ns));
    MUST(taken_ns != NULL);
    expect(rounds);
    for (long i = 0; i < rounds; i++) {
        if (pause_ns > 0)
            wait_until(now_ns() + pause_ns);
        int64_t start_ns = now_ns();
        pool_peer.submit();
        taken_ns[i] = now_ns() - start_ns;
    }
    await_all();
    report_percentiles(w->name, taken_ns, rounds);
    free(taken_ns);
}

static long rounds_of(long tasks, long tasks_per_round)
{
    return tasks / tasks_per_round > 0 ? tasks / tasks_per_round : 1;
}

/* Measures W2.submit: one thread waits for each task before it submits the next one. */
static void submit(const struct peer_workload *w, long amount, bool warms_up)
{
    submit_each(w, rounds_of(warms_up ? WARM_UP_TASKS : amount, TASKS_PER_WAIT), 0);
}

/* Measures W2.idle: like W2.submit, with a pause before each task in which all threads fall asleep. */
static void submit_to_idle(const struct peer_workload *w, long amount, bool warms_up)
{
    submit_each(w, rounds_of(warms_up ? WARM_UP_TASKS : amount, TASKS_PER_WAIT * TASKS_PER_PAUSE), PAUSE_NS);
}

static const struct peer_workload workloads[] = {
    {"W1.execute.1p", execute, .producers = 1, .workers = USUAL_WORKERS},
    {"W1.execute.2p", execute, .producers = 2, .workers = USUAL_WORKERS},
    {"W1.execute.4p", execute, .producers = 4, .workers = USUAL_WORKERS},
    {"W1.execute.8p", execute, .producers = 8, .workers = USUAL_WORKERS},
    {"W1.execute.4p.1w", execute, .producers = 4, .workers = 1},
    {"W1.execute.4p.4w", execute, .producers = 4, .workers = 4},
    {"W1.execute.4p.8w", execute, .producers = 4, .workers = 8},
    {"W2.submit", submit, .producers = 1, .workers = USUAL_WORKERS},
    {"W2.idle", submit_to_idle, .producers = 1, .workers = USUAL_WORKERS},
};

static void open_pool(const struct peer_workload *workload)
{
    MUST(workload->run != execute || pool_peer.execute != NULL);
    MUST(sem_init(&all_ran, 0, 0) == 0);
    pool_peer.open(workload->workers);
}

int main(int argc, char **argv)
{
    return serve_peer(argc, argv, workloads, sizeof(workloads) / sizeof(workloads[0]), open_pool,
                      pool_peer.close);
}
