/* SPDX-License-Identifier: Apache-2.0 */
/* tasks_main.c - W9 to W12 for the thread pool of one library, measured each time the caller asks
 *
 * See serve_peer. The amount is a number of tasks, not a time, as in pools_main.c. A process measures W12
 * only once, because the memory that it leaves behind is what is measured. Each workload checks itself: every
 * task runs exactly once. Tasks.java and go/main.go use the same protocol and do the same work; the three
 * must be changed together. */
#include "tasks.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WORKERS = 2,
    MOST_PRODUCERS = 4,
    ROUND = 10000,           /* tasks of W9 that are submitted before the first result is taken */
    BATCH = 1000,            /* tasks of W9.batch */
    STAGES = 4,              /* of W10.pipe */
    CHOICES = 1 << 16,       /* random forms that a producer of W11 uses in turn */
    BACKLOG = 5,             /* W12 queues so many times the amount */
    WARM_UP_TASKS = 20000,   /* of a run that warms up; warming up repeats it */
    LEAST_NS_PER_TASK = 200, /* a run is repeated until it has taken this time per task of the amount */
    CACHE_LINE = 64,
};

static const int64_t MILLISECOND = 1000000;

/* The time that W12 gives a library to return memory, for each task of the amount: a second for a million. */
static const int64_t IDLE_NS_PER_TASK = 1000;

static long least(long a, long b)
{
    return a < b ? a : b;
}

/* Returns memory whose pages exist. */
static void *touched(size_t size)
{
    void *memory = malloc(size);
    MUST(memory != NULL);
    memset(memory, -1, size); /* not 0: the compiler would turn it into calloc */
    return memory;
}

/* ---- counting ---- */

/* `count` is the number of tasks that have run, `expected` how many there will be, `end_ns` when the last one
 * ran. The count is written all the time, so it has its own cache line. */
static _Alignas(CACHE_LINE) struct {
    atomic_long count;
    char apart[CACHE_LINE - sizeof(atomic_long)];
} ran;
static long expected;
static int64_t end_ns;
static sem_t all_ran;

void task_ran(void)
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

/* Repeats a run until it has taken long enough to be measured, or to warm up, and reports the rate. `run`
 * runs that many tasks and returns the time that they took. */
static void repeat(const struct peer_workload *w, long amount, bool warms_up,
                   int64_t (*run)(const struct peer_workload *w, long tasks))
{
    long tasks = warms_up ? WARM_UP_TASKS : amount;
    int64_t least_ns = warms_up ? amount * MILLISECOND : amount * LEAST_NS_PER_TASK;
    int64_t spent_ns = 0;
    long done = 0;
    do {
        spent_ns += run(w, tasks);
        done += tasks;
    } while (spent_ns < least_ns);
    report(w->name, (double)done * 1e9 / (double)spent_ns, "1/s", "higher");
}

/* ---- W9: fan out, fan in ---- */

struct cell *cell_add(struct cell *cell)
{
    cell->value++;
    return cell;
}

static struct cell cells[ROUND];

void cell_check(const struct cell *cell)
{
    if (cell->value != 1)
        bench_fail(__FILE__, __LINE__, "a task has not run exactly once");
}

/* Runs all tasks in rounds, each through `join`. Returns the time without that of checking the cells. */
static int64_t run_rounds(void (*join)(struct cell *cells, long count), long tasks, long most)
{
    int64_t spent_ns = 0;
    for (long left = tasks; left > 0;) {
        long count = least(left, most);
        memset(cells, 0, sizeof(cells));
        int64_t start_ns = now_ns();
        join(cells, count);
        spent_ns += now_ns() - start_ns;
        for (long i = 0; i < count; i++)
            cell_check(&cells[i]);
        left -= count;
    }
    return spent_ns;
}

static int64_t run_order(const struct peer_workload *w, long tasks)
{
    (void)w;
    return run_rounds(tasks_peer.order, tasks, ROUND);
}

static int64_t run_group(const struct peer_workload *w, long tasks)
{
    (void)w;
    return run_rounds(tasks_peer.group, tasks, ROUND);
}

static int64_t run_completion(const struct peer_workload *w, long tasks)
{
    (void)w;
    return run_rounds(tasks_peer.completion, tasks, ROUND);
}

static int64_t run_batch(const struct peer_workload *w, long tasks)
{
    (void)w;
    return run_rounds(tasks_peer.batch, tasks, BATCH);
}

static int64_t run_latch(const struct peer_workload *w, long tasks)
{
    (void)w;
    return run_rounds(tasks_peer.latch, tasks, ROUND);
}

static void order(const struct peer_workload *w, long amount, bool warms_up)
{
    repeat(w, amount, warms_up, run_order);
}

static void group(const struct peer_workload *w, long amount, bool warms_up)
{
    repeat(w, amount, warms_up, run_group);
}

static void completion(const struct peer_workload *w, long amount, bool warms_up)
{
    repeat(w, amount, warms_up, run_completion);
}

static void batch(const struct peer_workload *w, long amount, bool warms_up)
{
    repeat(w, amount, warms_up, run_batch);
}

static void latch(const struct peer_workload *w, long amount, bool warms_up)
{
    repeat(w, amount, warms_up, run_latch);
}

/* ---- W10: tasks that submit tasks ---- */

/* Task n of the tree submits the tasks 2n and 2n + 1. The first has the number 1, the last one is
 * `expected`. */
void tree_ran(long number)
{
    for (long child = 2 * number; child <= 2 * number + 1 && child <= expected; child++)
        tasks_peer.tree(child);
    task_ran();
}

static int64_t run_tree(const struct peer_workload *w, long tasks)
{
    (void)w;
    expect(tasks);
    int64_t start_ns = now_ns();
    tasks_peer.tree(1);
    await_all();
    return end_ns - start_ns;
}

static void tree(const struct peer_workload *w, long amount, bool warms_up)
{
    repeat(w, amount, warms_up, run_tree);
}

static struct cell *items; /* of W10.pipe: how many stages each has passed */

/* The number of a task is that of its item, times STAGES, plus the number of the stage. */
void pipe_ran(long number)
{
    struct cell *item = &items[number / STAGES];
    long stage = number % STAGES;
    if (item->value++ != stage)
        bench_fail(__FILE__, __LINE__, "a stage ran twice, or too early");
    if (stage < STAGES - 1)
        tasks_peer.pipe(number + 1);
    task_ran();
}

static int64_t run_pipe(const struct peer_workload *w, long tasks)
{
    (void)w;
    long count = tasks / STAGES;
    items = touched((size_t)count * sizeof(*items));
    memset(items, 0, (size_t)count * sizeof(*items));
    expect(count * STAGES);
    int64_t start_ns = now_ns();
    for (long i = 0; i < count; i++)
        tasks_peer.pipe(i * STAGES);
    await_all();
    free(items);
    return end_ns - start_ns;
}

static void pipe_items(const struct peer_workload *w, long amount, bool warms_up)
{
    repeat(w, amount / STAGES * STAGES, warms_up, run_pipe);
}

/* ---- W11: tasks of different forms, in a random order ---- */

struct producer {
    pthread_t thread;
    pthread_barrier_t *start;
    long tasks; /* that it executes */
    short forms[CHOICES];
};

static struct producer producers[MOST_PRODUCERS];

static void *produce(void *arg)
{
    struct producer *producer = arg;
    pthread_barrier_wait(producer->start);
    for (long left = producer->tasks; left > 0; left -= CHOICES)
        tasks_peer.forms(producer->forms, least(left, CHOICES));
    return NULL;
}

static int64_t run_forms(const struct peer_workload *w, long tasks)
{
    pthread_barrier_t start;
    MUST(pthread_barrier_init(&start, NULL, (unsigned)w->producers + 1) == 0);
    expect(tasks);
    for (int i = 0; i < w->producers; i++) {
        producers[i].start = &start;
        producers[i].tasks = tasks / w->producers;
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

/* Gives each producer random forms. The sequence is the same in each run. */
static void choose_forms(const struct peer_workload *w)
{
    uint64_t random = 1;
    for (int i = 0; i < w->producers; i++)
        for (int j = 0; j < CHOICES; j++)
            producers[i].forms[j] = (short)(next_random(&random) % (uint64_t)w->pending);
}

static void forms(const struct peer_workload *w, long amount, bool warms_up)
{
    choose_forms(w);
    repeat(w, amount, warms_up, run_forms); /* the number of tasks is a multiple of MOST_PRODUCERS */
}

/* ---- W12: memory that stays after a long queue has been drained ---- */

static sem_t released;

void worker_block(void)
{
    while (sem_wait(&released) != 0) {
    }
    sem_post(&released); /* the others, too */
}

void workers_release(void)
{
    sem_post(&released);
}

/* Returns the memory of this process in megabytes. */
static double resident_mb(void)
{
    char line[256];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    MUST(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "VmRSS: %ld kB", &kb) == 1)
            break;
    fclose(file);
    MUST(kb > 0);
    return (double)kb / 1024;
}

/* Blocks all workers and resets what worker_block waits for. */
static void block_workers(void)
{
    while (sem_trywait(&released) == 0) {
    }
    for (int i = 0; i < WORKERS; i++)
        tasks_peer.block();
}

static void execute_behind(void **futures, long tasks)
{
    (void)futures;
    tasks_peer.execute(tasks);
    workers_release();
}

/* Queues the tasks behind blocked workers with `queue`, which also releases these. Returns when all have
 * run. */
static void drain(long tasks, void **futures, void (*queue)(void **futures, long count))
{
    block_workers();
    expect(tasks);
    queue(futures, tasks);
    await_all();
}

/* The first, small round starts the threads. It is the same in a run and in a warm-up. */
static void stay(const struct peer_workload *w, long amount, bool warms_up,
                 void (*queue)(void **futures, long count))
{
    long tasks = warms_up ? 0 : amount * BACKLOG;
    void **futures = touched((size_t)(tasks + 1000) * sizeof(*futures));
    drain(1000, futures, queue);
    if (!warms_up) {
        double before = resident_mb();
        drain(tasks, futures, queue);
        wait_until(now_ns() + amount * IDLE_NS_PER_TASK);
        report(w->name, resident_mb() - before, "MB", "lower");
    }
    free(futures);
}

static void stay_executed(const struct peer_workload *w, long amount, bool warms_up)
{
    stay(w, amount, warms_up, execute_behind);
}

static void stay_submitted(const struct peer_workload *w, long amount, bool warms_up)
{
    stay(w, amount, warms_up, tasks_peer.submit);
}

/* `pending` is the number of forms. */
static const struct peer_workload workloads[] = {
    {"W9.order", order, .producers = 1},
    {"W9.group", group, .producers = 1},
    {"W9.completion", completion, .producers = 1},
    {"W9.batch", batch, .producers = 1},
    {"W9.latch", latch, .producers = 1},
    {"W10.tree", tree, .producers = 1},
    {"W10.pipe", pipe_items, .producers = 1},
    {"W11.forms1.p1", forms, .producers = 1, .pending = 1},
    {"W11.forms17.p1", forms, .producers = 1, .pending = 17},
    {"W11.forms64.p1", forms, .producers = 1, .pending = 64},
    {"W11.forms1000.p1", forms, .producers = 1, .pending = TASK_FORMS},
    {"W11.forms1.p4", forms, .producers = MOST_PRODUCERS, .pending = 1},
    {"W11.forms17.p4", forms, .producers = MOST_PRODUCERS, .pending = 17},
    {"W11.forms64.p4", forms, .producers = MOST_PRODUCERS, .pending = 64},
    {"W11.forms1000.p4", forms, .producers = MOST_PRODUCERS, .pending = TASK_FORMS},
    {"W12.execute", stay_executed, .producers = 1},
    {"W12.submit", stay_submitted, .producers = 1},
};

static void open_pool(const struct peer_workload *workload)
{
    (void)workload;
    MUST(sem_init(&all_ran, 0, 0) == 0 && sem_init(&released, 0, 0) == 0);
    tasks_peer.open(WORKERS);
}

int main(int argc, char **argv)
{
    return serve_peer(argc, argv, workloads, sizeof(workloads) / sizeof(workloads[0]), open_pool,
                      tasks_peer.close);
}
