/* SPDX-License-Identifier: Apache-2.0 */
/* peer_main.c - one workload for the thread pool of one library, measured each time the caller asks
 *
 *     PROGRAM --list                 the names of all workloads
 *     PROGRAM WORKLOAD               then, on standard input: "warm MILLISECONDS", "run TASKS"
 *
 * The answers are those of bench_main.c. But a run is so many tasks, not so much time: how far the producers get ahead of
 * the workers, and with that the cost of memory, depends on their number, so it must be the same for all. Pools.java
 * speaks the same language and does the same work; the two must be changed together. */
#include "peer.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_PRODUCERS = 4,
    WARM_UP_TASKS = 2000,
    TASKS_PER_WAIT = 100, /* waiting takes so much longer that a run waits for one task in so many only */
};

struct workload {
    const char *name;
    void (*run)(const struct workload *workload, long tasks, bool quiet);
    int producers;
};

struct producer {
    pthread_t thread;
    pthread_barrier_t *start;
    long tasks;
};

/* Tasks that have run, how many there will be, and when the last one ran. */
static atomic_long ran;
static long expected;
static int64_t end_ns;
static sem_t all_ran;

__attribute__((noreturn)) void peer_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void peer_ran(void)
{
    if (atomic_fetch_add(&ran, 1) + 1 != expected)
        return;
    end_ns = now_ns();
    sem_post(&all_ran);
}

static void expect(long tasks)
{
    atomic_store(&ran, 0);
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
    peer.execute(producer->tasks);
    return NULL;
}

/* From the start of the producers to the end of the last task. */
static void execute(const struct workload *w, long tasks, bool quiet)
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
    if (!quiet)
        printf("%s %.6g 1/s higher\n", w->name, (double)expected * 1e9 / (double)(end_ns - start_ns));
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void report_latency(const char *name, const char *which, int64_t ns)
{
    printf("%s.%s %.6g us lower\n", name, which, (double)ns / 1e3);
}

/* One thread that waits for each task before it hands over the next one. */
static void submit(const struct workload *w, long tasks, bool quiet)
{
    long rounds = tasks / TASKS_PER_WAIT > 0 ? tasks / TASKS_PER_WAIT : 1;
    int64_t *taken_ns = malloc((size_t)rounds * sizeof(*taken_ns));
    MUST(taken_ns != NULL);
    expect(rounds);
    for (long i = 0; i < rounds; i++) {
        int64_t start_ns = now_ns();
        peer.submit();
        taken_ns[i] = now_ns() - start_ns;
    }
    await_all();
    qsort(taken_ns, (size_t)rounds, sizeof(taken_ns[0]), by_size);
    if (!quiet) {
        report_latency(w->name, "p50", taken_ns[rounds / 2]);
        report_latency(w->name, "p99", taken_ns[rounds * 99 / 100]);
    }
    free(taken_ns);
}

static const struct workload workloads[] = {
    {"pool.execute.1p", execute, 1},
    {"pool.execute.4p", execute, 4},
    {"pool.submit", submit, 1},
};

enum { WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

static const struct workload *find_workload(const char *name)
{
    for (int i = 0; i < WORKLOADS; i++)
        if (strcmp(name, workloads[i].name) == 0)
            return &workloads[i];
    return NULL;
}

static int serve(const struct workload *workload)
{
    char command[8];
    long amount;
    MUST(sem_init(&all_ran, 0, 0) == 0);
    peer.open();
    while (scanf("%7s %ld", command, &amount) == 2) {
        bool warms_up = strcmp(command, "warm") == 0; /* once is enough: all threads have started then */
        workload->run(workload, warms_up ? WARM_UP_TASKS : amount, warms_up);
        puts(".");
        fflush(stdout);
    }
    peer.close();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < WORKLOADS; i++)
            puts(workloads[i].name);
        return 0;
    }
    const struct workload *workload = argc == 2 ? find_workload(argv[1]) : NULL;
    if (workload != NULL)
        return serve(workload);
    fprintf(stderr, "usage: %s --list | %s WORKLOAD\n", argv[0], argv[0]);
    return 2;
}
