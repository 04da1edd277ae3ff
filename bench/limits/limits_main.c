/* SPDX-License-Identifier: Apache-2.0 */
/* limits_main.c - measures the best that this machine can do, without any library, for comparison with the
 * subjects
 *
 * See serve_peer; the amount is milliseconds. The round trip of two threads that sleep is not measured here
 * but in W2, as the subject `futex`. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../measure.h"

enum {
    CALLS_PER_LOOK = 1024, /* calls between two readings of the clock */
    MOST_THREADS = 2,
    RING_SLOTS = 1024,      /* a power of two */
    LINE = 64,              /* bytes of a cache line */
    PAYLOAD = 64,           /* bytes of an allocation */
    PAUSE_NS = 200000,      /* time for the other thread to fall asleep */
    SLEEP_NS = 1000000,     /* of limit.sleep.exact and limit.sleep.usual */
    NAP_NS = 100000,        /* of limit.sleep.cpu */
    USUAL_SLACK_NS = 50000, /* the default timer slack of Linux */
};

static const int64_t MILLISECOND = 1000000;

/* ---- one or two threads that repeat the same operation ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static alignas(LINE) atomic_long shared; /* the counter of limit.atomic and limit.ring.count */
static atomic_uint nobody_waits;         /* a futex word on which no thread waits */

static void read_clock(void)
{
    now_ns();
}

static void lock_and_unlock(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void add(void)
{
    atomic_fetch_add(&shared, 1);
}

static void allocate_and_free(void)
{
    void *volatile memory =
        malloc(PAYLOAD); /* volatile, so that the compiler does not leave out both calls */
    free(memory);
}

static void wake_none(void)
{
    syscall(SYS_futex, &nobody_waits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* A thread that repeats an operation. */
struct repetition {
    pthread_t thread;
    pthread_barrier_t *start;
    void (*call)(void); /* the operation */
    int64_t window_ns;  /* how long to repeat it */
    long calls;         /* result: how often it was called */
};

static void *repeat(void *arg)
{
    struct repetition *repetition = arg;
    pthread_barrier_wait(repetition->start);
    int64_t end_ns = now_ns() + repetition->window_ns;
    do {
        for (int i = 0; i < CALLS_PER_LOOK; i++)
            repetition->call();
        repetition->calls += CALLS_PER_LOOK;
    } while (now_ns() < end_ns);
    return NULL;
}

/* Repeats an operation in w->producers threads and reports the nanoseconds per call of all threads
 * together. */
static void report_calls(const struct peer_workload *w, long window_ms, void (*call)(void))
{
    struct repetition threads[MOST_THREADS];
    pthread_barrier_t start;
    long calls = 0;
    MUST(w->producers <= MOST_THREADS && pthread_barrier_init(&start, NULL, (unsigned)w->producers + 1) == 0);
    for (int i = 0; i < w->producers; i++) {
        threads[i] = (struct repetition){.start = &start, .call = call, .window_ns = window_ms * MILLISECOND};
        MUST(pthread_create(&threads[i].thread, NULL, repeat, &threads[i]) == 0);
    }
    int64_t start_ns = now_ns();
    pthread_barrier_wait(&start);
    for (int i = 0; i < w->producers; i++) {
        pthread_join(threads[i].thread, NULL);
        calls += threads[i].calls;
    }
    report(w->name, (double)(now_ns() - start_ns) / (double)calls, "ns", "lower");
    pthread_barrier_destroy(&start);
}

static void limit_clock(const struct peer_workload *w, long amount, bool warms_up)
{
    report_calls(w, warms_up ? 1 : amount, read_clock);
}

static void limit_mutex(const struct peer_workload *w, long amount, bool warms_up)
{
    report_calls(w, warms_up ? 1 : amount, lock_and_unlock);
}

static void limit_atomic(const struct peer_workload *w, long amount, bool warms_up)
{
    report_calls(w, warms_up ? 1 : amount, add);
}

static void limit_malloc(const struct peer_workload *w, long amount, bool warms_up)
{
    report_calls(w, warms_up ? 1 : amount, allocate_and_free);
}

static void limit_wake_none(const struct peer_workload *w, long amount, bool warms_up)
{
    report_calls(w, warms_up ? 1 : amount, wake_none);
}

/* ---- one thread hands elements over to another one, through a ring that only the two use ---- */

struct ring {
    void *slots[RING_SLOTS];
    alignas(LINE) atomic_ulong put;   /* elements put so far; only the producer writes it */
    alignas(LINE) atomic_ulong taken; /* elements taken so far; only the consumer writes it */
    alignas(LINE) bool allocates;     /* elements are allocated by the producer and freed by the consumer */
    bool counts;                      /* the consumer increments a shared counter per element */
    long done;                        /* result: elements taken */
};

static char last; /* an element after which the consumer ends */

/* ring_put and ring_take wait while the ring is full or empty. *seen is the last value that the thread has
 * read of the other one's index, so that it reads that index only when necessary. */
static void ring_put(struct ring *ring, unsigned long *seen, void *item)
{
    unsigned long put = atomic_load_explicit(&ring->put, memory_order_relaxed);
    while (put - *seen == RING_SLOTS)
        *seen = atomic_load_explicit(&ring->taken, memory_order_acquire);
    ring->slots[put % RING_SLOTS] = item;
    atomic_store_explicit(&ring->put, put + 1, memory_order_release);
}

static void *ring_take(struct ring *ring, unsigned long *seen)
{
    unsigned long taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    while (taken == *seen)
        *seen = atomic_load_explicit(&ring->put, memory_order_acquire);
    void *item = ring->slots[taken % RING_SLOTS];
    atomic_store_explicit(&ring->taken, taken + 1, memory_order_release);
    return item;
}

/* The function of the consumer. */
static void *take_all(void *arg)
{
    struct ring *ring = arg;
    unsigned long seen = 0;
    long done = 0;
    for (void *item; (item = ring_take(ring, &seen)) != &last; done++) {
        if (ring->allocates)
            free(item);
        if (ring->counts)
            add();
    }
    ring->done = done;
    return NULL;
}

/* Hands over elements for window_ns and reports the rate. */
static void hand_over(const struct peer_workload *w, int64_t window_ns, bool allocates, bool counts)
{
    struct ring *ring = aligned_alloc(LINE, sizeof(*ring));
    pthread_t consumer;
    unsigned long seen = 0;
    MUST(ring != NULL);
    *ring = (struct ring){.allocates = allocates, .counts = counts};
    int64_t start_ns = now_ns();
    MUST(pthread_create(&consumer, NULL, take_all, ring) == 0);
    do {
        for (int i = 0; i < CALLS_PER_LOOK; i++)
            ring_put(ring, &seen, allocates ? malloc(PAYLOAD) : ring);
    } while (now_ns() - start_ns < window_ns);
    ring_put(ring, &seen, &last);
    pthread_join(consumer, NULL);
    report(w->name, (double)ring->done * 1e9 / (double)(now_ns() - start_ns), "1/s", "higher");
    free(ring);
}

static void limit_ring(const struct peer_workload *w, long amount, bool warms_up)
{
    hand_over(w, (warms_up ? 1 : amount) * MILLISECOND, false, false);
}

static void limit_ring_and_count(const struct peer_workload *w, long amount, bool warms_up)
{
    hand_over(w, (warms_up ? 1 : amount) * MILLISECOND, false, true);
}

static void limit_ring_and_malloc(const struct peer_workload *w, long amount, bool warms_up)
{
    hand_over(w, (warms_up ? 1 : amount) * MILLISECOND, true, false);
}

/* ---- waking ---- */

enum turn { MINE, YOURS, OVER }; /* as the measuring thread sees them */

struct waking {
    atomic_uint turn; /* which thread may act */
    bool spins;       /* the threads spin instead of sleeping on a futex */
    int64_t woken_ns; /* when the other thread woke up */
};

/* The function of the other thread: waits for its turn, notes the time, and gives the turn back. */
static void *wake_up(void *arg)
{
    struct waking *waking = arg;
    for (;;) {
        while (atomic_load(&waking->turn) == MINE)
            if (!waking->spins)
                syscall(SYS_futex, &waking->turn, FUTEX_WAIT_PRIVATE, MINE, NULL, NULL, 0);
        if (atomic_load(&waking->turn) == OVER)
            return NULL;
        waking->woken_ns = now_ns();
        atomic_store(&waking->turn, MINE);
    }
}

/* Gives the turn to the other thread. */
static void pass(struct waking *waking, unsigned turn)
{
    atomic_store(&waking->turn, turn);
    if (!waking->spins)
        syscall(SYS_futex, &waking->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Measures the time from before the call that wakes a sleeping thread until that thread runs. */
static void limit_wake(const struct peer_workload *w, long amount, bool warms_up)
{
    long count = (warms_up ? 1 : amount) * MILLISECOND / PAUSE_NS;
    int64_t *taken_ns = calloc((size_t)count, sizeof(*taken_ns));
    struct waking waking = {.turn = MINE};
    pthread_t other;
    MUST(taken_ns != NULL && pthread_create(&other, NULL, wake_up, &waking) == 0);
    for (long i = 0; i < count; i++) {
        wait_until(now_ns() + PAUSE_NS);
        int64_t start_ns = now_ns();
        pass(&waking, YOURS);
        while (atomic_load(&waking.turn) != MINE)
            wait_until(now_ns() + PAUSE_NS / 10);
        taken_ns[i] = waking.woken_ns - start_ns;
    }
    pass(&waking, OVER);
    pthread_join(other, NULL);
    report_percentiles(w->name, taken_ns, count);
    free(taken_ns);
}

/* Measures a round trip between two threads that never sleep. */
static void limit_spin(const struct peer_workload *w, long amount, bool warms_up)
{
    struct waking waking = {.turn = MINE, .spins = true};
    pthread_t other;
    long rounds = 0;
    MUST(pthread_create(&other, NULL, wake_up, &waking) == 0);
    int64_t start_ns = now_ns();
    int64_t end_ns = start_ns + (warms_up ? 1 : amount) * MILLISECOND;
    int64_t now;
    do {
        pass(&waking, YOURS);
        while (atomic_load(&waking.turn) != MINE) {
        }
        rounds++;
        now = now_ns();
    } while (now < end_ns);
    pass(&waking, OVER);
    pthread_join(other, NULL);
    report(w->name, (double)(now - start_ns) / (double)rounds, "ns", "lower");
}

/* ---- sleeping: how late a thread wakes up after a millisecond, and the cost ---- */

/* Sleeps for window_ms milliseconds in all, with this timer slack, and reports the lateness. */
static void report_sleep(const struct peer_workload *w, long window_ms, unsigned long slack_ns)
{
    int64_t *late_ns = calloc((size_t)window_ms, sizeof(*late_ns));
    MUST(late_ns != NULL && prctl(PR_SET_TIMERSLACK, slack_ns) == 0);
    for (long i = 0; i < window_ms; i++) {
        int64_t due_ns = now_ns() + SLEEP_NS;
        wait_until(due_ns);
        late_ns[i] = now_ns() - due_ns;
    }
    report_percentiles(w->name, late_ns, window_ms);
    free(late_ns);
}

static void limit_sleep_exact(const struct peer_workload *w, long amount, bool warms_up)
{
    report_sleep(w, warms_up ? 1 : amount, 1);
}

static void limit_sleep_usual(const struct peer_workload *w, long amount, bool warms_up)
{
    report_sleep(w, warms_up ? 1 : amount, USUAL_SLACK_NS);
}

static int64_t thread_cpu_ns(void)
{
    struct timespec time;
    MUST(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
    return time.tv_sec * 1000 * MILLISECOND + time.tv_nsec;
}

/* Measures the processor time that a thread uses for a short sleep on a futex. This bounds how often it can
 * wake up for a given share of a processor. */
static void limit_sleep_cpu(const struct peer_workload *w, long amount, bool warms_up)
{
    long count = (warms_up ? 1 : amount) * MILLISECOND / NAP_NS;
    int64_t start_ns = thread_cpu_ns();
    for (long i = 0; i < count; i++) {
        int64_t due_ns = now_ns() + NAP_NS;
        struct timespec due = {due_ns / (1000 * MILLISECOND), due_ns % (1000 * MILLISECOND)};
        syscall(SYS_futex, &nobody_waits, FUTEX_WAIT_BITSET_PRIVATE, 0, &due, NULL, FUTEX_BITSET_MATCH_ANY);
    }
    report(w->name, (double)(thread_cpu_ns() - start_ns) / 1e3 / (double)count, "us", "lower");
}

static const struct peer_workload workloads[] = {
    {"limit.clock", limit_clock, .producers = 1},
    {"limit.mutex.1t", limit_mutex, .producers = 1},
    {"limit.mutex.2t", limit_mutex, .producers = 2},
    {"limit.atomic.1t", limit_atomic, .producers = 1},
    {"limit.atomic.2t", limit_atomic, .producers = 2},
    {"limit.malloc", limit_malloc, .producers = 1},
    {"limit.ring", limit_ring, .producers = 1},
    {"limit.ring.count", limit_ring_and_count, .producers = 1},
    {"limit.ring.malloc", limit_ring_and_malloc, .producers = 1},
    {"limit.spin", limit_spin, .producers = 1},
    {"limit.wake", limit_wake, .producers = 1},
    {"limit.wake.none", limit_wake_none, .producers = 1},
    {"limit.sleep.exact", limit_sleep_exact, .producers = 1},
    {"limit.sleep.usual", limit_sleep_usual, .producers = 1},
    {"limit.sleep.cpu", limit_sleep_cpu, .producers = 1},
};

static void open_nothing(const struct peer_workload *workload)
{
    (void)workload;
}

static void close_nothing(void)
{
}

int main(int argc, char **argv)
{
    return serve_peer(argc, argv, workloads, sizeof(workloads) / sizeof(workloads[0]), open_nothing,
                      close_nothing);
}
