/* SPDX-License-Identifier: Apache-2.0 */
/* queues_main.c - one workload for one subject, measured each time the caller asks
 *
 *     bench-queues --list                  prints the names of all workloads
 *     bench-queues SUBJECT WORKLOAD        reads commands from standard input: "warm MS", "run MS"
 *
 * The answer to "run" is lines "METRIC VALUE UNIT BETTER" and a line ".", the answer to "warm" only the line
 * ".". The script `run` keeps one such process per subject and runs them in turn, so that other load on the
 * machine affects all subjects alike. Queues.java uses the same protocol and does the same work; the two must
 * be changed together. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queues.h"

enum {
    MOST_THREADS = 8,
    HELD_ITEMS = 1000,    /* elements in the queue during hold */
    LATE_ITEMS = 100,     /* elements of lateness */
    LATCHES = 256,        /* pairs of latches that await_and_count_down makes at a time */
    CALLS_PER_LOOK = 256, /* calls between two readings of the clock */
    ROUNDS_PER_LOOK = 16, /* rounds of two threads between two readings of the clock */
};

struct workload {
    const char *name;
    void (*run)(const struct workload *workload, const struct subject *subject, int64_t window_ns);
    enum queue_kind kind;
    int threads; /* number of producers and of consumers, or of threads that are both */
    int capacity;
    bool fair;
};

/* The data that the threads of one run share. */
struct run {
    const struct subject *subject;
    void *queue;
    int64_t end_ns; /* when threads of hold stop */
    pthread_barrier_t start;
    atomic_bool stop; /* producers stop */
    atomic_long done; /* elements, or pairs of operations, that all threads have completed */
};

static struct item any_item;
static struct item last_item;       /* an element after which a consumer ends */
static atomic_bool was_interrupted; /* stores a result, so that the compiler cannot leave out the calls */

static void report_rate(const char *metric, long count, int64_t spent_ns)
{
    report(metric, (double)count * 1e9 / (double)spent_ns, "1/s", "higher");
}

static void report_cost(const char *metric, long count, int64_t spent_ns)
{
    report(metric, (double)spent_ns / (double)count, "ns", "lower");
}

static void start_threads(struct run *run, pthread_t *threads, int count, void *(*body)(void *))
{
    for (int i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, body, run) == 0);
}

static void join_threads(const pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void *produce(void *arg)
{
    struct run *run = arg;
    pthread_barrier_wait(&run->start);
    while (!atomic_load_explicit(&run->stop, memory_order_relaxed))
        run->subject->put(run->queue, &any_item);
    return NULL;
}

static void *consume(void *arg)
{
    struct run *run = arg;
    long taken = 0;
    pthread_barrier_wait(&run->start);
    while (run->subject->take(run->queue) != &last_item)
        taken++;
    atomic_fetch_add(&run->done, taken);
    return NULL;
}

/* Measures how many elements producers and consumers hand over as fast as they can. */
static void hand_over(const struct workload *w, const struct subject *subject, int64_t window_ns)
{
    struct run run = {.subject = subject, .queue = subject->queue_new(w->kind, w->capacity, w->fair)};
    pthread_t producers[MOST_THREADS];
    pthread_t consumers[MOST_THREADS];
    MUST(pthread_barrier_init(&run.start, NULL, 2 * (unsigned)w->threads + 1) == 0);
    start_threads(&run, consumers, w->threads, consume);
    start_threads(&run, producers, w->threads, produce);
    pthread_barrier_wait(&run.start);
    int64_t start_ns = now_ns();
    wait_until(start_ns + window_ns);
    atomic_store(&run.stop, true);
    join_threads(producers, w->threads);
    for (int i = 0; i < w->threads; i++)
        subject->put(run.queue, &last_item);
    join_threads(consumers, w->threads);
    report_rate(w->name, atomic_load(&run.done), now_ns() - start_ns);
    pthread_barrier_destroy(&run.start);
    subject->queue_free(run.queue);
}

/* Measures offer and poll in a single thread. */
static void offer_and_poll(const struct workload *w, const struct subject *subject, int64_t window_ns)
{
    void *queue = subject->queue_new(w->kind, w->capacity, w->fair);
    int64_t start_ns = now_ns();
    int64_t spent_ns;
    long pairs = 0;
    do {
        for (int i = 0; i < CALLS_PER_LOOK; i++) {
            MUST(subject->offer(queue, &any_item));
            MUST(subject->poll(queue) == &any_item);
        }
        pairs += CALLS_PER_LOOK;
        spent_ns = now_ns() - start_ns;
    } while (spent_ns < window_ns);
    report_cost(w->name, pairs, spent_ns);
    subject->queue_free(queue);
}

/* Moves an element back by a small random distance. As a due time it stays in the first seconds of the clock,
 * which have passed long ago. */
static void move_back(struct item *item, uint64_t *random)
{
    item->priority += next_random(random) >> 44;
    item->due_ns = (int64_t)item->priority;
}

static void *take_and_put_back(void *arg)
{
    struct run *run = arg;
    uint64_t random = (uint64_t)now_ns() | 1;
    long pairs = 0;
    pthread_barrier_wait(&run->start);
    do {
        for (int i = 0; i < CALLS_PER_LOOK; i++) {
            struct item *item = run->subject->take(run->queue);
            move_back(item, &random);
            run->subject->put(run->queue, item);
        }
        pairs += CALLS_PER_LOOK;
    } while (now_ns() < run->end_ns);
    atomic_fetch_add(&run->done, pairs);
    return NULL;
}

/* Measures take and put on a queue that holds HELD_ITEMS elements: each thread takes the first element and
 * puts it back at a random position. */
static void hold(const struct workload *w, const struct subject *subject, int64_t window_ns)
{
    struct item items[HELD_ITEMS] = {0};
    uint64_t random = (uint64_t)now_ns() | 1;
    struct run run = {.subject = subject, .queue = subject->queue_new(w->kind, w->capacity, w->fair)};
    pthread_t threads[MOST_THREADS];
    for (int i = 0; i < HELD_ITEMS; i++) {
        move_back(&items[i], &random);
        subject->put(run.queue, &items[i]);
    }
    MUST(pthread_barrier_init(&run.start, NULL, (unsigned)w->threads + 1) == 0);
    start_threads(&run, threads, w->threads, take_and_put_back);
    int64_t start_ns = now_ns();
    run.end_ns = start_ns + window_ns;
    pthread_barrier_wait(&run.start);
    join_threads(threads, w->threads);
    report_rate(w->name, atomic_load(&run.done), now_ns() - start_ns);
    for (int i = 0; i < HELD_ITEMS; i++)
        subject->take(run.queue);
    pthread_barrier_destroy(&run.start);
    subject->queue_free(run.queue);
}

/* Measures how late elements are taken that are due at random times within a tenth of a second. */
static void lateness(const struct workload *w, const struct subject *subject, int64_t window_ns)
{
    struct item items[LATE_ITEMS];
    int64_t late_ns[LATE_ITEMS];
    uint64_t random = (uint64_t)now_ns() | 1;
    void *queue = subject->queue_new(w->kind, w->capacity, w->fair);
    int64_t start_ns = now_ns();
    (void)window_ns;
    for (int i = 0; i < LATE_ITEMS; i++) {
        items[i].due_ns = start_ns + 1000000 + (int64_t)(next_random(&random) % 100000000);
        subject->put(queue, &items[i]);
    }
    for (int i = 0; i < LATE_ITEMS; i++) {
        const struct item *item = subject->take(queue);
        late_ns[i] = now_ns() - item->due_ns;
        MUST(late_ns[i] >= 0);
    }
    sort_ns(late_ns, LATE_ITEMS);
    report("queue.delay.late.p50", (double)late_ns[LATE_ITEMS / 2] / 1e3, "us", "lower");
    report("queue.delay.late.p90", (double)late_ns[LATE_ITEMS * 9 / 10] / 1e3, "us", "lower");
    subject->queue_free(queue);
}

/* A turn that two threads give each other. */
struct ball {
    const struct subject *subject;
    void *parkers[2]; /* of the two threads */
    atomic_int side;  /* the thread whose turn it is, 0 or 1; 2: the end */
};

/* The function of thread 1. */
static void *return_ball(void *arg)
{
    struct ball *ball = arg;
    for (;;) {
        int side = atomic_load(&ball->side);
        if (side == 0) {
            ball->subject->park(ball->parkers[1]);
        } else if (side == 1) {
            atomic_store(&ball->side, 0);
            ball->subject->unpark(ball->parkers[0]);
        } else {
            return NULL;
        }
    }
}

/* Measures a round in which two threads wake each other. */
static void park_and_unpark(const struct workload *w, const struct subject *subject, int64_t window_ns)
{
    struct ball ball = {.subject = subject, .parkers = {subject->parker_new(), subject->parker_new()}};
    pthread_t other;
    MUST(pthread_create(&other, NULL, return_ball, &ball) == 0);
    int64_t start_ns = now_ns();
    int64_t spent_ns;
    long rounds = 0;
    do {
        for (int i = 0; i < ROUNDS_PER_LOOK; i++) {
            atomic_store(&ball.side, 1);
            subject->unpark(ball.parkers[1]);
            while (atomic_load(&ball.side) != 0)
                subject->park(ball.parkers[0]);
        }
        rounds += ROUNDS_PER_LOOK;
        spent_ns = now_ns() - start_ns;
    } while (spent_ns < window_ns);
    atomic_store(&ball.side, 2);
    subject->unpark(ball.parkers[1]);
    pthread_join(other, NULL);
    report_cost(w->name, rounds, spent_ns);
    subject->parker_free(ball.parkers[0]);
    subject->parker_free(ball.parkers[1]);
}

/* Measures the test for an interrupt. */
static void test_interrupts(const struct workload *w, const struct subject *subject, int64_t window_ns)
{
    int64_t start_ns = now_ns();
    int64_t spent_ns;
    long tests = 0;
    bool interrupted = false;
    do {
        for (int i = 0; i < CALLS_PER_LOOK; i++)
            interrupted |= subject->interrupted();
        tests += CALLS_PER_LOOK;
        spent_ns = now_ns() - start_ns;
    } while (spent_ns < window_ns);
    atomic_store(&was_interrupted, interrupted);
    report_cost(w->name, tests, spent_ns);
}

/* Measures the whole life of a latch in one thread. */
static void open_latches(const struct workload *w, const struct subject *subject, int64_t window_ns)
{
    int64_t start_ns = now_ns();
    int64_t spent_ns;
    long latches = 0;
    do {
        for (int i = 0; i < CALLS_PER_LOOK; i++) {
            void *latch = subject->latch_new(1);
            subject->count_down(latch);
            subject->await(latch);
            subject->latch_free(latch);
        }
        latches += CALLS_PER_LOOK;
        spent_ns = now_ns() - start_ns;
    } while (spent_ns < window_ns);
    report_cost(w->name, latches, spent_ns);
}

/* Latches by which two threads release each other. */
struct relay {
    const struct subject *subject;
    void *there[LATCHES]; /* release the other thread */
    void *back[LATCHES];  /* release the measuring thread */
};

/* The function of the other thread. */
static void *answer_latches(void *arg)
{
    struct relay *relay = arg;
    for (int i = 0; i < LATCHES; i++) {
        relay->subject->await(relay->there[i]);
        relay->subject->count_down(relay->back[i]);
    }
    return NULL;
}

/* Uses each pair of latches once. Returns the time without making and freeing them. */
static int64_t relay_once(const struct subject *subject)
{
    struct relay relay = {.subject = subject};
    pthread_t other;
    for (int i = 0; i < LATCHES; i++) {
        relay.there[i] = subject->latch_new(1);
        relay.back[i] = subject->latch_new(1);
    }
    MUST(pthread_create(&other, NULL, answer_latches, &relay) == 0);
    int64_t start_ns = now_ns();
    for (int i = 0; i < LATCHES; i++) {
        subject->count_down(relay.there[i]);
        subject->await(relay.back[i]);
    }
    int64_t spent_ns = now_ns() - start_ns;
    pthread_join(other, NULL);
    for (int i = 0; i < LATCHES; i++) {
        subject->latch_free(relay.there[i]);
        subject->latch_free(relay.back[i]);
    }
    return spent_ns;
}

/* Measures a round in which two threads release each other, each time with a new latch. */
static void await_and_count_down(const struct workload *w, const struct subject *subject, int64_t window_ns)
{
    int64_t spent_ns = 0;
    long rounds = 0;
    for (; spent_ns < window_ns; rounds += LATCHES)
        spent_ns += relay_once(subject);
    report_cost(w->name, rounds, spent_ns);
}

static const struct workload workloads[] = {
    {"queue.array.1p1c.1024", hand_over, ARRAY, 1, 1024, false},
    {"queue.array.4p4c.1024", hand_over, ARRAY, 4, 1024, false},
    {"queue.array.1p1c.1", hand_over, ARRAY, 1, 1, false},
    {"queue.array.4p4c.1", hand_over, ARRAY, 4, 1, false},
    {"queue.array.alone", offer_and_poll, ARRAY, 1, 1024, false},
    {"queue.linked.1p1c.1024", hand_over, LINKED, 1, 1024, false},
    {"queue.linked.4p4c.1024", hand_over, LINKED, 4, 1024, false},
    {"queue.linked.1p1c.1", hand_over, LINKED, 1, 1, false},
    {"queue.linked.4p4c.1", hand_over, LINKED, 4, 1, false},
    {"queue.linked.alone", offer_and_poll, LINKED, 1, 1024, false},
    {"queue.synchronous.1p1c.fair", hand_over, SYNCHRONOUS, 1, 0, true},
    {"queue.synchronous.1p1c.unfair", hand_over, SYNCHRONOUS, 1, 0, false},
    {"queue.synchronous.4p4c.fair", hand_over, SYNCHRONOUS, 4, 0, true},
    {"queue.synchronous.4p4c.unfair", hand_over, SYNCHRONOUS, 4, 0, false},
    {"queue.priority.alone", offer_and_poll, PRIORITY, 1, 0, false},
    {"queue.priority.hold.1t", hold, PRIORITY, 1, 0, false},
    {"queue.priority.hold.4t", hold, PRIORITY, 4, 0, false},
    {"queue.delay.alone", offer_and_poll, DELAY, 1, 0, false},
    {"queue.delay.hold.1t", hold, DELAY, 1, 0, false},
    {"queue.delay.hold.4t", hold, DELAY, 4, 0, false},
    {"queue.delay.late", lateness, DELAY, 1, 0, false},
    {"parker.pingpong", park_and_unpark, ARRAY, 2, 0, false},
    {"latch.pingpong", await_and_count_down, ARRAY, 2, 0, false},
    {"latch.alone", open_latches, ARRAY, 1, 0, false},
    {"interrupt.test", test_interrupts, ARRAY, 1, 0, false},
};

enum { WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

static const struct workload *find_workload(const char *name)
{
    for (int i = 0; i < WORKLOADS; i++)
        if (strcmp(name, workloads[i].name) == 0)
            return &workloads[i];
    return NULL;
}

/* Executes the commands on standard input. */
static int serve(const struct workload *workload, const struct subject *subject)
{
    char command[8];
    long window_ms;
    while (scanf("%7s %ld", command, &window_ms) == 2) {
        if (strcmp(command, "run") == 0)
            workload->run(workload, subject, window_ms * 1000000);
        puts(".");
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < WORKLOADS; i++)
            puts(workloads[i].name);
        return 0;
    }
    const struct workload *workload = argc == 3 ? find_workload(argv[2]) : NULL;
    if (workload != NULL && strcmp(argv[1], hora_subject.name) == 0)
        return serve(workload, &hora_subject);
    if (workload != NULL && strcmp(argv[1], pthread_subject.name) == 0)
        return serve(workload, &pthread_subject);
    fputs("usage: bench-queues --list | bench-queues hora|pthread WORKLOAD\n", stderr);
    return 2;
}
