/* SPDX-License-Identifier: Apache-2.0 */
/* delay_main.c - W8 for the delay queue of one library, measured each time the caller asks
 *
 * See serve_peer; the amount is the number of elements. They have random delays of 0 to 50 ms; one thread
 * puts them and another takes them. W8.delay puts them as fast as possible; their lateness then shows how
 * long the queue has become. W8.paced puts 200,000 per second, and the producer spins between two of them:
 * its time is part of `cpu`. Delay.java uses the same protocol and does the same work; the two must be
 * changed together. */
#include "delay.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM_UP_ELEMENTS = 2000,
    MOST_DELAY_NS = 50000000,
    PACE_NS = 5000, /* between two elements of W8.paced */
};

/* The work of the producer. */
struct production {
    struct item *items;
    long count;
    int64_t pace_ns;  /* time between two elements; 0: as fast as possible */
    int64_t spent_ns; /* result: the time that all puts took */
};

/* The function of the producer. */
static void *produce(void *arg)
{
    struct production *production = arg;
    uint64_t random = (uint64_t)now_ns() | 1;
    int64_t start_ns = now_ns();
    int64_t turn_ns = start_ns;
    for (long i = 0; i < production->count; i++) {
        int64_t now = now_ns();
        while (now < turn_ns)
            now = now_ns();
        production->items[i].due_ns = now + (int64_t)(next_random(&random) % MOST_DELAY_NS);
        delay_put(&production->items[i]);
        turn_ns += production->pace_ns;
    }
    production->spent_ns = now_ns() - start_ns;
    return NULL;
}

/* Takes all elements and stores how late each is. No element may be early. */
static void consume(int64_t *late_ns, long count)
{
    for (long i = 0; i < count; i++) {
        const struct item *item = delay_take();
        late_ns[i] = now_ns() - item->due_ns;
        MUST(late_ns[i] >= 0);
    }
}

/* Returns memory whose pages the system has already provided: page faults are no work of the queue. In Java
 * the memory has been used before, too. */
static void *touched(long count, size_t size)
{
    void *memory = malloc((size_t)count * size);
    MUST(memory != NULL);
    memset(memory, -1, (size_t)count * size); /* not 0: the compiler would turn it into calloc */
    return memory;
}

/* Runs all elements through the queue once and reports the metrics. */
static void flow(const struct peer_workload *w, long count, int64_t pace_ns)
{
    struct production production = {
        .items = touched(count, sizeof(struct item)), .count = count, .pace_ns = pace_ns};
    int64_t *late_ns = touched(count, sizeof(*late_ns));
    pthread_t producer;
    int64_t start_cpu_ns = cpu_ns();
    int64_t start_ns = now_ns();
    MUST(pthread_create(&producer, NULL, produce, &production) == 0);
    consume(late_ns, count);
    int64_t spent_ns = now_ns() - start_ns;
    int64_t spent_cpu_ns = cpu_ns() - start_cpu_ns;
    pthread_join(producer, NULL);
    if (pace_ns == 0) {
        report_part(w->name, "rate", (double)count * 1e9 / (double)spent_ns, "1/s", "higher");
        report_part(w->name, "put", (double)count * 1e9 / (double)production.spent_ns, "1/s", "higher");
    }
    report_part(w->name, "cpu", (double)spent_cpu_ns / (double)count, "ns", "lower");
    report_lateness(w->name, late_ns, count);
    free(late_ns);
    free(production.items);
}

static void flow_freely(const struct peer_workload *w, long amount, bool warms_up)
{
    flow(w, warms_up ? WARM_UP_ELEMENTS : amount, 0);
}

static void flow_paced(const struct peer_workload *w, long amount, bool warms_up)
{
    flow(w, warms_up ? WARM_UP_ELEMENTS : amount, PACE_NS);
}

static const struct peer_workload workloads[] = {
    {"W8.delay", flow_freely, .producers = 1},
    {"W8.paced", flow_paced, .producers = 1},
};

static void open_queue(const struct peer_workload *workload)
{
    (void)workload;
    delay_open();
}

int main(int argc, char **argv)
{
    return serve_peer(argc, argv, workloads, sizeof(workloads) / sizeof(workloads[0]), open_queue,
                      delay_close);
}
