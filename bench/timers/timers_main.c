/* SPDX-License-Identifier: Apache-2.0 */
/* timers_main.c - W3 to W7 for the timers of one library, measured each time the caller asks
 *
 * See serve_peer. The amount is milliseconds for W3, W5 and W7; the number of timers of W4 and W6 is part of
 * their names. A process measures W6 only once, because it does not return freed memory to the system. Each
 * workload checks itself: a timer runs exactly once, never early, and not at all after it was cancelled.
 * Timers.java uses the same protocol and does the same work; the two must be changed together. */
#include "timers.h"

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DELAYS = 4096,         /* random delays that a producer uses in turn */
    MOST_AT_ONCE = 256,    /* calls of W3 between two readings of the clock */
    WARM_UP_TIMERS = 2000, /* of W4 */
    FIRE_RATE = 500000,    /* timers of W4 that are due per second */
    LEAST_FIRED = 100000,  /* W4 with fewer timers repeats until it has fired this many */
    TASKS = 1000,          /* of W5 */
};

static const int64_t SECOND = 1000000000;
static const int64_t MILLISECOND = 1000000;
static const int64_t PERIOD_NS = 10000000;  /* of the tasks of W5 */
static const int64_t NOT_FIRED = INT64_MIN; /* a value of late_ns */

/* The delays of timers that will not run. They are not shorter, because timers that become due in one subject
 * would disturb the others. */
static const int64_t FAR_NS = 60000000000;
static const int64_t FARTHEST_NS = 3600000000000;

static uint64_t random_state;

/* Returns a random time from least to most - 1. */
static int64_t random_between(int64_t least, int64_t most)
{
    return least + (int64_t)(next_random(&random_state) % (uint64_t)(most - least));
}

/* Allocates an array of times. */
static int64_t *new_times(long count)
{
    int64_t *times = malloc((size_t)count * sizeof(*times));
    MUST(times != NULL);
    memset(times, 0, (size_t)count * sizeof(*times)); /* so that its pages exist before memory is measured */
    return times;
}

/* ---- W3: schedule and cancel timers while others are pending ---- */

typedef void (*churn_fn)(int producer, const int64_t *delay_ns, long count, int lag);

/* For libraries that do not define it. */
__attribute__((weak)) void timers_reuse(int producer, const int64_t *delay_ns, long count, int lag)
{
    (void)producer, (void)delay_ns, (void)count, (void)lag;
    bench_fail(__FILE__, __LINE__, "this library has no timers that can be used again");
}

struct producer {
    pthread_t thread;
    int number;
    int lag;
    int64_t window_ns; /* how long to run */
    int64_t delay_ns[DELAYS];
    long pairs; /* result: timers scheduled and cancelled */
};

static struct producer producers[MOST_PRODUCERS];
static pthread_barrier_t start;
static churn_fn churn_timers; /* timers_churn or timers_reuse */

void timer_expired(void)
{
}

void timer_forbidden(void)
{
    bench_fail(__FILE__, __LINE__, "a cancelled timer ran");
}

/* Schedules and cancels timers for window_ns. Reads the clock after few calls if they are slow, and after
 * many if they are fast. */
static void churn(struct producer *producer)
{
    long at_once = 1;
    long position = 0;
    int64_t now = now_ns();
    int64_t end_ns = now + producer->window_ns;
    producer->pairs = 0;
    do {
        if (position + at_once > DELAYS)
            position = 0;
        churn_timers(producer->number, &producer->delay_ns[position], at_once, producer->lag);
        position += at_once;
        producer->pairs += at_once;
        int64_t spent_ns = now_ns() - now;
        now += spent_ns;
        if (at_once < MOST_AT_ONCE && spent_ns < MILLISECOND / 10)
            at_once *= 2;
    } while (now < end_ns);
}

static void *produce(void *arg)
{
    struct producer *producer = arg;
    pthread_barrier_wait(&start);
    churn(producer);
    return NULL;
}

/* Runs several producers at the same time. Returns when they started. */
static int64_t churn_beside_each_other(int count)
{
    MUST(pthread_barrier_init(&start, NULL, (unsigned)count + 1) == 0);
    for (int i = 0; i < count; i++)
        MUST(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0);
    int64_t start_ns = now_ns();
    pthread_barrier_wait(&start);
    for (int i = 0; i < count; i++)
        pthread_join(producers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    return start_ns;
}

/* Gives each producer random delays. */
static void choose_delays(int64_t least, int64_t most)
{
    for (int i = 0; i < MOST_PRODUCERS; i++) {
        producers[i].number = i;
        for (int j = 0; j < DELAYS; j++)
            producers[i].delay_ns[j] = random_between(least, most);
    }
}

/* Schedules the timers that stay pending during the measurement. */
static void fill(long count)
{
    int64_t *due_ns = new_times(count);
    int64_t now = now_ns();
    for (long i = 0; i < count; i++)
        due_ns[i] = now + random_between(FAR_NS, FARTHEST_NS);
    timers_fill(due_ns, count);
    free(due_ns);
}

/* Tests that cancelled timers do not run: waits until their times have passed. */
static void test_cancelling(void)
{
    choose_delays(500 * MILLISECOND, 550 * MILLISECOND);
    int64_t end_ns = now_ns() + 600 * MILLISECOND;
    churn_timers(0, producers[0].delay_ns, DELAYS, 0);
    timers_settle();
    timers_repeat(NULL, 0, PERIOD_NS, end_ns);
}

/* Measures W3. The warm-up schedules the pending timers. */
static void cancel_with(churn_fn function, const struct peer_workload *w, long amount, bool warms_up)
{
    churn_timers = function;
    if (warms_up) {
        fill(w->pending);
        if (w->producers > 1)
            timers_part();
        else if (w->pending <= DELAYS && w->lag == 0)
            test_cancelling();
        choose_delays(FAR_NS, FARTHEST_NS);
        amount = 1;
    }
    for (int i = 0; i < w->producers; i++) {
        producers[i].window_ns = amount * MILLISECOND;
        producers[i].lag = w->lag;
    }
    int64_t start_ns = now_ns();
    if (w->producers == 1)
        churn(&producers[0]);
    else
        start_ns = churn_beside_each_other(w->producers);
    timers_settle();
    int64_t spent_ns = now_ns() - start_ns;
    long pairs = 0;
    for (int i = 0; i < w->producers; i++)
        pairs += producers[i].pairs;
    report(w->name, (double)pairs * 1e9 / (double)spent_ns, "1/s", "higher");
}

static void cancel(const struct peer_workload *w, long amount, bool warms_up)
{
    cancel_with(timers_churn, w, amount, warms_up);
}

static void cancel_reused(const struct peer_workload *w, long amount, bool warms_up)
{
    cancel_with(timers_reuse, w, amount, warms_up);
}

/* ---- W4.fire: schedule many timers with random delays and let them run ---- */

static int64_t *due_ns; /* when each timer of the round is due */
/* How late each timer of the round was; NOT_FIRED: not yet. Also the samples of W5. */
static int64_t *late_ns;
static atomic_long fired;  /* timers of the round that have fired */
static long expected;      /* timers of the round */
static int64_t end_cpu_ns; /* processor time when the last one had fired */
static int64_t aside_ns;   /* time of the round in timers_fire that was not spent on scheduling */
static sem_t all_fired;

void timers_aside(int64_t spent_ns)
{
    aside_ns += spent_ns;
}

void timer_fired(long number)
{
    MUST(number >= 0 && number < expected && late_ns[number] == NOT_FIRED);
    late_ns[number] = now_ns() - due_ns[number];
    MUST(late_ns[number] >= 0);
    long last = expected; /* read before the timer is counted: afterwards the next round may write it */
    if (atomic_fetch_add(&fired, 1) + 1 != last)
        return;
    end_cpu_ns = cpu_ns();
    sem_post(&all_fired);
}

/* Sums over all rounds. */
struct fire_costs {
    int64_t cpu_ns;    /* processor time */
    int64_t insert_ns; /* time until all timers were scheduled */
};

/* Runs one round. */
static void fire_once(long count, struct fire_costs *costs)
{
    int64_t *delay_ns = new_times(count);
    for (long i = 0; i < count; i++) {
        delay_ns[i] = random_between(0, count * (SECOND / FIRE_RATE));
        late_ns[i] = NOT_FIRED;
    }
    atomic_store(&fired, 0);
    expected = count;
    aside_ns = 0;
    int64_t start_cpu_ns = cpu_ns();
    int64_t start_ns = now_ns();
    timers_fire(delay_ns, due_ns, count);
    while (sem_wait(&all_fired) != 0) {
    }
    costs->cpu_ns += end_cpu_ns - start_cpu_ns;
    /* Until the last one was scheduled. */
    costs->insert_ns += due_ns[count - 1] - delay_ns[count - 1] - start_ns - aside_ns;
    free(delay_ns);
}

static void fire(const struct peer_workload *w, long amount, bool warms_up)
{
    long count = warms_up && w->pending > WARM_UP_TIMERS ? WARM_UP_TIMERS : w->pending;
    long rounds = warms_up || count >= LEAST_FIRED ? 1 : LEAST_FIRED / count;
    int64_t *all_late_ns = new_times(count * rounds);
    struct fire_costs costs = {0, 0};
    (void)amount;
    due_ns = new_times(count);
    for (long i = 0; i < rounds; i++) {
        late_ns = all_late_ns + i * count;
        fire_once(count, &costs);
    }
    wait_until(now_ns() + 20 * MILLISECOND);
    MUST(atomic_load(&fired) == count);
    report_part(w->name, "cpu", (double)costs.cpu_ns / (double)(count * rounds), "ns", "lower");
    report_part(w->name, "insert", (double)(count * rounds) * 1e9 / (double)costs.insert_ns, "1/s", "higher");
    report_lateness(w->name, all_late_ns, count * rounds);
    free(due_ns);
    free(all_late_ns);
}

/* ---- W5: tasks that run periodically, each with its own phase or all in phase ---- */

struct task {
    atomic_long runs;    /* runs so far */
    atomic_bool running; /* to check that runs do not overlap */
    char padding[48];    /* keeps tasks in different cache lines */
};

static struct task tasks[TASKS];
static int64_t first_ns[TASKS]; /* planned time of each first run */
static atomic_long samples;     /* elements of late_ns in use */
static long most_samples;       /* size of late_ns */
static int64_t last_ns;         /* end of the measured time */

/* Compares the k-th run of a task with the k-th planned time. So a library that drifts or skips runs is late
 * from then on. */
void timer_ran(int number)
{
    struct task *task = &tasks[number];
    int64_t now = now_ns();
    MUST(!atomic_exchange(&task->running, true));
    int64_t late = now - (first_ns[number] + atomic_load(&task->runs) * PERIOD_NS);
    MUST(late >= 0);
    if (now < last_ns) {
        atomic_fetch_add(&task->runs, 1);
        long sample = atomic_fetch_add(&samples, 1);
        MUST(sample < most_samples);
        late_ns[sample] = late;
    }
    atomic_store(&task->running, false);
}

/* For libraries that do not define it. */
__attribute__((weak)) void timers_repeat_lax(const int64_t *first, int count, int64_t period_ns,
                                             int64_t slack_ns, int64_t end_ns)
{
    (void)first, (void)count, (void)period_ns, (void)slack_ns, (void)end_ns;
    bench_fail(__FILE__, __LINE__, "this library has no slack");
}

/* Measures W5; the first runs are spread over phases_ns. A workload for slack has its value in its name. */
static void repeat(const struct peer_workload *w, long amount, bool warms_up, int64_t phases_ns)
{
    int64_t window_ns = (warms_up ? 50 : amount) * MILLISECOND;
    most_samples = TASKS * (window_ns / PERIOD_NS + 1);
    late_ns = new_times(most_samples);
    int64_t start_ns = now_ns() + 5 * MILLISECOND; /* by then all tasks are scheduled */
    last_ns = start_ns + window_ns;
    for (int i = 0; i < TASKS; i++) {
        first_ns[i] = start_ns + random_between(0, phases_ns);
        atomic_store(&tasks[i].runs, 0);
    }
    atomic_store(&samples, 0);
    int64_t start_cpu_ns = cpu_ns();
    if (strncmp(w->name, "W5.slack.", 9) == 0)
        timers_repeat_lax(first_ns, TASKS, PERIOD_NS, w->slack_us * (MILLISECOND / 1000), last_ns);
    else
        timers_repeat(first_ns, TASKS, PERIOD_NS, last_ns);
    double share = (double)(cpu_ns() - start_cpu_ns) / (double)(now_ns() - start_ns);
    wait_until(now_ns() + 20 * MILLISECOND); /* until runs that had begun have ended */
    long missed = 0;
    for (int i = 0; i < TASKS; i++) {
        /* Without the last period, whose runs may be late. */
        long planned = (last_ns - PERIOD_NS - first_ns[i]) / PERIOD_NS + 1;
        long runs = atomic_load(&tasks[i].runs);
        missed += runs < planned ? planned - runs : 0;
    }
    MUST(warms_up || atomic_load(&samples) > 0);
    report_lateness(w->name, late_ns, atomic_load(&samples));
    report_part(w->name, "cpu", 100 * share, "%", "lower");
    report_part(w->name, "missed", (double)missed, "runs", "lower");
    free(late_ns);
}

static void repeat_spread(const struct peer_workload *w, long amount, bool warms_up)
{
    repeat(w, amount, warms_up, PERIOD_NS);
}

static void repeat_in_phase(const struct peer_workload *w, long amount, bool warms_up)
{
    repeat(w, amount, warms_up, 1);
}

/* ---- W6: the memory of a pending timer, with what is needed to cancel it, without, and in an array ---- */

/* For libraries that do not define them. */
__attribute__((weak)) void timers_leave(const int64_t *due, long count)
{
    timers_fill(due, count);
}

__attribute__((weak)) void timers_embed(const int64_t *due, long count)
{
    (void)due, (void)count;
    bench_fail(__FILE__, __LINE__, "this library has no timers in memory of the caller");
}

/* Returns the memory of this process in bytes. */
static double resident_bytes(void)
{
    long pages;
    FILE *file = fopen("/proc/self/statm", "r");
    MUST(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Measures how much the process grows per timer; wait_for_all schedules the timers. */
static void measure_memory(const struct peer_workload *w, bool warms_up,
                           void (*wait_for_all)(const int64_t *due_ns, long count))
{
    if (warms_up)
        return;
    long amount = w->pending;
    int64_t *due = new_times(amount);
    for (long i = 0; i < amount; i++)
        due[i] = now_ns() + random_between(FAR_NS, FARTHEST_NS);
    double before = resident_bytes();
    wait_for_all(due, amount);
    report(w->name, (resident_bytes() - before) / (double)amount, "B", "lower");
    free(due);
}

static void remember(const struct peer_workload *w, long amount, bool warms_up)
{
    (void)amount;
    measure_memory(w, warms_up, timers_fill);
}

static void remember_plain(const struct peer_workload *w, long amount, bool warms_up)
{
    (void)amount;
    measure_memory(w, warms_up, timers_leave);
}

static void remember_array(const struct peer_workload *w, long amount, bool warms_up)
{
    (void)amount;
    measure_memory(w, warms_up, timers_embed);
}

/* ---- W7.idle: how often threads wake up when there is nothing to do ---- */

/* Returns how often a thread of this process has gone to sleep. */
static long voluntary_switches(const char *task)
{
    char path[300];
    char line[256];
    long switches = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
    FILE *file = fopen(path, "r");
    if (file == NULL) /* it has ended */
        return 0;
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &switches) == 1)
            break;
    fclose(file);
    return switches;
}

/* Returns how often all threads except the calling one have gone to sleep. */
static long all_switches(void)
{
    char self[32];
    long sum = 0;
    snprintf(self, sizeof(self), "%d", (int)gettid());
    DIR *folder = opendir("/proc/self/task");
    MUST(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, self) != 0)
            sum += voluntary_switches(entry->d_name);
    closedir(folder);
    return sum;
}

static void idle(const struct peer_workload *w, long amount, bool warms_up)
{
    if (warms_up) {
        int64_t far_ns = now_ns() + FARTHEST_NS;
        timers_fill(&far_ns, 1);
        timers_part();
        wait_until(now_ns() + amount * MILLISECOND);
        return;
    }
    int64_t start_ns = now_ns();
    long before = all_switches();
    int64_t start_cpu_ns = cpu_ns();
    wait_until(start_ns + amount * MILLISECOND);
    double spent_s = (double)(now_ns() - start_ns) / 1e9;
    int64_t spent_cpu_ns = cpu_ns() - start_cpu_ns;
    report_part(w->name, "wakeups", (double)(all_switches() - before) / spent_s, "1/s", "lower");
    report_part(w->name, "cpu", (double)spent_cpu_ns / 1e3 / spent_s, "us/s", "lower");
}

static const struct peer_workload workloads[] = {
    {"W3.cancel.1k.1t", cancel, .producers = 1, .pending = 1000},
    {"W3.cancel.1k.2t", cancel, .producers = 2, .pending = 1000},
    {"W3.cancel.10k.1t", cancel, .producers = 1, .pending = 10000},
    {"W3.cancel.100k.1t", cancel, .producers = 1, .pending = 100000},
    {"W3.cancel.100k.2t", cancel, .producers = 2, .pending = 100000},
    {"W3.cancel.1M.1t", cancel, .producers = 1, .pending = 1000000},
    {"W3.cancel.1M.2t", cancel, .producers = 2, .pending = 1000000},
    {"W3.cancel.4M.1t", cancel, .producers = 1, .pending = 4000000},
    {"W3.window.100k.1t", cancel, .producers = 1, .pending = 100000, .lag = MOST_LAG},
    {"W3.reuse.1k.1t", cancel_reused, .producers = 1, .pending = 1000},
    {"W3.reuse.1k.2t", cancel_reused, .producers = 2, .pending = 1000},
    {"W3.reuse.1M.1t", cancel_reused, .producers = 1, .pending = 1000000},
    {"W3.reuse.1M.2t", cancel_reused, .producers = 2, .pending = 1000000},
    {"W3.reuse.window.100k.1t", cancel_reused, .producers = 1, .pending = 100000, .lag = MOST_LAG},
    {"W4.fire.1k", fire, .producers = 1, .pending = 1000},
    {"W4.fire.10k", fire, .producers = 1, .pending = 10000},
    {"W4.fire.100k", fire, .producers = 1, .pending = 100000},
    {"W4.fire.1M", fire, .producers = 1, .pending = 1000000},
    {"W4.fire.4M", fire, .producers = 1, .pending = 4000000},
    {"W5.spread", repeat_spread, .producers = 1},
    {"W5.phase", repeat_in_phase, .producers = 1},
    {"W5.slack.0us", repeat_spread, .producers = 1, .slack_us = 0},
    {"W5.slack.50us", repeat_spread, .producers = 1, .slack_us = 50},
    {"W5.slack.100us", repeat_spread, .producers = 1, .slack_us = 100},
    {"W5.slack.200us", repeat_spread, .producers = 1, .slack_us = 200},
    {"W5.slack.500us", repeat_spread, .producers = 1, .slack_us = 500},
    {"W5.slack.1000us", repeat_spread, .producers = 1, .slack_us = 1000},
    {"W5.slack.2000us", repeat_spread, .producers = 1, .slack_us = 2000},
    {"W5.slack.5000us", repeat_spread, .producers = 1, .slack_us = 5000},
    {"W6.memory.1k", remember, .producers = 1, .pending = 1000},
    {"W6.memory.10k", remember, .producers = 1, .pending = 10000},
    {"W6.memory.100k", remember, .producers = 1, .pending = 100000},
    {"W6.memory.1M", remember, .producers = 1, .pending = 1000000},
    {"W6.memory.4M", remember, .producers = 1, .pending = 4000000},
    {"W6.plain.1M", remember_plain, .producers = 1, .pending = 1000000},
    {"W6.array.1M", remember_array, .producers = 1, .pending = 1000000},
    {"W7.idle", idle, .producers = 0},
};

static void open_timers(const struct peer_workload *workload)
{
    (void)workload;
    random_state = (uint64_t)now_ns() | 1;
    MUST(sem_init(&all_fired, 0, 0) == 0);
    timers_open();
}

int main(int argc, char **argv)
{
    return serve_peer(argc, argv, workloads, sizeof(workloads) / sizeof(workloads[0]), open_timers,
                      timers_close);
}
