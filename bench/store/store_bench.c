/* SPDX-License-Identifier: Apache-2.0 */
/* store_bench.c - measure a store: how many tasks, how late, how long until another node starts
 *
 * store-bench ADDRESS insert COUNT BATCH THREADS
 *     put tasks; prints tasks per second
 * store-bench ADDRESS drain COUNT [NODES]
 *     run tasks that are all due; prints tasks per second
 * store-bench ADDRESS timed RATE SECONDS [NODES]
 *     run tasks at their times; prints how late they start
 * store-bench ADDRESS wake COUNT
 *     put tasks that another process runs; prints how long it takes until each starts
 * store-bench ADDRESS recover
 *     kill a node; prints how long it takes until another one runs what it had
 * store-bench ADDRESS idle SECONDS
 *     a node with nothing to do; prints exchanges per second
 *
 * Each prints lines "name<TAB>value<TAB>unit". Nodes besides the first are other processes, made with fork
 * before the store is opened. */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hora/hora.h>
#include <hora/store.h>

enum { MAX_BATCH = 1000, MAX_NODES = 8, MAX_SAMPLES = 4 << 20 };

/* What all processes of one measurement share. */
typedef struct shared {
    _Atomic int64_t runs;
    _Atomic int64_t expected;
    _Atomic int ready, stop;
    _Atomic int64_t first_run_ns;
    _Atomic int64_t sample_count;
    int64_t samples[MAX_SAMPLES]; /* ns */
} shared;

static shared *common;

static int fail(const char *what, const hora_error *error)
{
    fprintf(stderr, "store-bench: %s: %s\n", what, error->message);
    exit(1);
}

static int64_t wall_ns(void)
{
    hora_instant now;
    if (hora_clock_instant(hora_clock_system(HORA_CLOCK_WALL), &now) < 0)
        exit(1);
    return now.ns;
}

static void print(const char *name, double value, const char *unit)
{
    printf("%s\t%.6g\t%s\n", name, value, unit);
    fflush(stdout);
}

static hora_store *open_store(const char *address)
{
    hora_store *store;
    hora_error error;
    if (hora_store_open(address, NULL, &store, &error) < 0)
        fail("open", &error);
    return store;
}

/* ---- samples ---- */

static void add_sample(int64_t ns)
{
    int64_t index = atomic_fetch_add(&common->sample_count, 1);
    if (index < MAX_SAMPLES)
        common->samples[index] = ns;
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void print_samples(const char *name)
{
    size_t count = (size_t)common->sample_count;
    if (count > MAX_SAMPLES)
        count = MAX_SAMPLES;
    if (count == 0)
        return;
    qsort(common->samples, count, sizeof common->samples[0], compare);
    static const struct {
        const char *name;
        double share;
    } points[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        size_t index = (size_t)(points[i].share * (double)(count - 1));
        char text[64];
        snprintf(text, sizeof text, "%s.%s", name, points[i].name);
        print(text, (double)common->samples[index] / 1e3, "us");
    }
}

/* ---- putting ---- */

typedef struct putting {
    hora_store *store;
    long count, batch;
    int64_t first_ns, step_ns; /* planned times; 0: at once */
} putting;

static void *put_tasks(void *arg)
{
    const putting *work = arg;
    static _Thread_local hora_durable_task tasks[MAX_BATCH];
    const hora_durable_task *pointers[MAX_BATCH];
    hora_error error;
    int64_t planned = work->first_ns;
    for (long done = 0; done < work->count; done += work->batch) {
        long some = work->count - done < work->batch ? work->count - done : work->batch;
        for (long i = 0; i < some; i++) {
            tasks[i] = (hora_durable_task)HORA_INIT(hora_durable_task);
            tasks[i].handler = "bench";
            tasks[i].payload = "12345678";
            tasks[i].payload_size = 8;
            tasks[i].at.ns = planned;
            planned += work->step_ns;
            pointers[i] = &tasks[i];
        }
        if (hora_store_put_all(work->store, pointers, (size_t)some, NULL, &error) < 0)
            fail("put", &error);
    }
    return NULL;
}

static void insert(const char *address, long count, long batch, int threads)
{
    hora_store *store = open_store(address);
    pthread_t workers[64];
    putting work = {.store = store, .count = count / threads, .batch = batch};
    hora_ns start = hora_clock_now(NULL);
    for (int i = 0; i < threads; i++)
        pthread_create(&workers[i], NULL, put_tasks, &work);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i], NULL);
    double seconds = (double)(hora_clock_now(NULL) - start) / 1e9;
    print("insert", (double)(work.count * threads) / seconds, "tasks/s");
    hora_store_close(store);
}

/* ---- nodes ---- */

static int run_counted(const hora_run *run, void *arg)
{
    (void)run, (void)arg;
    atomic_fetch_add(&common->runs, 1);
    return 0;
}

static int run_timed(const hora_run *run, void *arg)
{
    (void)arg;
    add_sample(wall_ns() - run->planned.ns);
    atomic_fetch_add(&common->runs, 1);
    return 0;
}

static hora_durable *start_node(hora_store *store, hora_handler_fn handler, int claimed)
{
    hora_durable *durable;
    hora_error error;
    if (hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 2, .max_claimed = claimed), &durable,
                         &error) < 0 ||
        hora_durable_add_handler(durable, "bench", handler, NULL, NULL, &error) < 0 ||
        hora_durable_start(durable, &error) < 0)
        fail("node", &error);
    return durable;
}

static void await_runs(int64_t count)
{
    while (atomic_load(&common->runs) < count)
        (void)hora_sleep(HORA_MS(1));
}

/* A child that runs a node until it is told to stop. */
static pid_t fork_node(const char *address, hora_handler_fn handler, int claimed)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    hora_store *store = open_store(address);
    hora_durable *durable = start_node(store, handler, claimed);
    atomic_fetch_add(&common->ready, 1);
    while (!atomic_load(&common->stop))
        (void)hora_sleep(HORA_MS(5));
    hora_durable_free(durable);
    hora_store_close(store);
    _exit(0);
}

static void await_ready(int nodes)
{
    while (atomic_load(&common->ready) < nodes)
        (void)hora_sleep(HORA_MS(1));
}

/* ---- measurements ---- */

/* Lets nodes run until they have run `count` tasks and settled them. */
static void run_nodes(const char *address, hora_handler_fn handler, int claimed, int nodes, long count)
{
    pid_t children[MAX_NODES];
    for (int i = 0; i < nodes; i++)
        children[i] = fork_node(address, handler, claimed);
    await_ready(nodes);
    await_runs(count);
    atomic_store(&common->stop, 1);
    for (int i = 0; i < nodes; i++)
        waitpid(children[i], NULL, 0);
}

/* Checks that all tasks are settled. */
static void check_empty(const char *address)
{
    hora_store *store = open_store(address);
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    hora_error error;
    if (hora_store_get_stats(store, &stats, &error) < 0)
        fail("stats", &error);
    if (stats.waiting != 0 || stats.claimed != 0) {
        fprintf(stderr, "store-bench: tasks are left\n");
        exit(1);
    }
    hora_store_close(store);
}

static void drain(const char *address, long count, int nodes)
{
    hora_store *store = open_store(address);
    putting work = {.store = store, .count = count, .batch = 500};
    put_tasks(&work);
    hora_store_close(store);
    hora_ns start = hora_clock_now(NULL);
    run_nodes(address, run_counted, 4096, nodes, count);
    double seconds = (double)(hora_clock_now(NULL) - start) / 1e9;
    check_empty(address);
    print("drain", (double)count / seconds, "tasks/s");
}

static void timed(const char *address, long rate, long seconds, int nodes)
{
    hora_store *prepared = open_store(address); /* creates the tables before the children need them */
    long count = rate * seconds;
    putting work = {.store = prepared, .count = count, .batch = 500};
    int64_t lead = HORA_SECONDS(2) + count * 20000; /* time to put them: 50,000 tasks per second */
    work.first_ns = wall_ns() + lead;
    work.step_ns = HORA_SECONDS(1) / rate;
    put_tasks(&work);
    hora_store_close(prepared);
    if (wall_ns() > work.first_ns - HORA_SECONDS(1))
        fprintf(stderr, "store-bench: putting the tasks took too long\n");
    run_nodes(address, run_timed, 100000, nodes, count);
    print("timed.rate", (double)rate, "tasks/s");
    print_samples("timed.late");
}

static int run_woken(const hora_run *run, void *arg)
{
    (void)arg;
    int64_t sent;
    memcpy(&sent, run->payload, sizeof sent);
    add_sample(hora_clock_now(NULL) - sent);
    atomic_fetch_add(&common->runs, 1);
    return 0;
}

static void wake(const char *address, long count)
{
    hora_store_close(open_store(address));
    pid_t child = fork_node(address, run_woken, 1024);
    await_ready(1);
    hora_store *store = open_store(address);
    hora_error error;
    for (long i = 0; i < count; i++) {
        int64_t now = hora_clock_now(NULL);
        if (hora_store_put(store,
                           HORA_DURABLE_TASK(.handler = "bench", .payload = &now, .payload_size = sizeof now),
                           NULL, &error) < 0)
            fail("put", &error);
        await_runs(i + 1);
        (void)hora_sleep(HORA_MS(5));
    }
    atomic_store(&common->stop, 1);
    waitpid(child, NULL, 0);
    print_samples("wake");
    hora_store_close(store);
}

static int run_forever(const hora_run *run, void *arg)
{
    (void)arg;
    atomic_fetch_add(&common->runs, 1);
    while (!hora_run_is_cancelled(run))
        if (hora_sleep(HORA_SECONDS(100)) < 0)
            break;
    return 0;
}

static void recover(const char *address)
{
    hora_store *store = open_store(address);
    hora_error error;
    pid_t victim = fork_node(address, run_forever, 1024);
    await_ready(1);
    if (hora_store_put(store, HORA_DURABLE_TASK(.handler = "bench"), NULL, &error) < 0)
        fail("put", &error);
    await_runs(1);
    hora_durable *durable = start_node(store, run_counted, 1024);
    hora_ns killed = hora_clock_now(NULL);
    kill(victim, SIGKILL);
    waitpid(victim, NULL, 0);
    await_runs(2);
    print("recover", (double)(hora_clock_now(NULL) - killed) / 1e9, "s");
    hora_durable_free(durable);
    hora_store_close(store);
}

static void idle(const char *address, long seconds)
{
    hora_store *store = open_store(address);
    hora_durable *durable = start_node(store, run_counted, 1024);
    hora_durable_status before = HORA_INIT(hora_durable_status), after = HORA_INIT(hora_durable_status);
    (void)hora_sleep(HORA_SECONDS(2));
    if (hora_durable_get_status(durable, &before) < 0)
        exit(1);
    (void)hora_sleep(HORA_SECONDS(seconds));
    if (hora_durable_get_status(durable, &after) < 0)
        exit(1);
    print("idle", (double)(after.exchanges - before.exchanges) / (double)seconds, "exchanges/s");
    hora_durable_free(durable);
    hora_store_close(store);
}

static int nodes_of(int argc, char **argv, int index)
{
    int nodes = argc > index ? (int)atol(argv[index]) : 1;
    return nodes < 1 ? 1 : nodes > MAX_NODES ? MAX_NODES : nodes;
}

int main(int argc, char **argv)
{
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (common == MAP_FAILED)
        return 1;
    const char *address = argc > 2 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
    if (strcmp(what, "insert") == 0 && argc == 6)
        insert(address, atol(argv[3]), atol(argv[4]), (int)atol(argv[5]));
    else if (strcmp(what, "drain") == 0 && argc >= 4)
        drain(address, atol(argv[3]), nodes_of(argc, argv, 4));
    else if (strcmp(what, "timed") == 0 && argc >= 5)
        timed(address, atol(argv[3]), atol(argv[4]), nodes_of(argc, argv, 5));
    else if (strcmp(what, "wake") == 0 && argc == 4)
        wake(address, atol(argv[3]));
    else if (strcmp(what, "recover") == 0)
        recover(address);
    else if (strcmp(what, "idle") == 0 && argc == 4)
        idle(address, atol(argv[3]));
    else {
        fputs("usage: see the comment of store_bench.c\n", stderr);
        return 2;
    }
    return 0;
}
