/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - hora-stress: 8 to 16 threads make random calls, and each task has a ledger
 *
 *     hora-stress [--seconds N] [--seed S] [--threads 8..16] [--fail-allocations P] [--fail-threads P]
 *                 [AREA]...
 *
 * AREA is pool, scheduler, queue, future, timer or shutdown; none: all of them. P is a probability, 0 to 1.
 * Every other round is without failures, whatever P is. Exit status 0: no violation; 1: a violation, or the
 * program is stuck; 2: wrong use.
 *
 * Runs on real threads do not repeat: the same seed gives the same choices, not the same run. To repeat a
 * failure, run it again, for longer. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stress.h"

enum { STUCK_SECONDS = 120, BATCH_MOST = 32 };

struct settings settings = {.seconds = 10, .seed = 1, .threads = 12};
static const char *const area_names[AREAS] = {"pool", "scheduler", "queue", "future", "timer", "shutdown"};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* on the monotonic clock */
    int round;              /* the round that the threads may be in; -1: they end */
    int idle;               /* threads that have left it */
    int64_t beats;          /* of the main thread, for the watchdog */
} control = {.lock = PTHREAD_MUTEX_INITIALIZER, .round = 0};
static _Atomic bool over; /* the round ends */

static struct self selves[THREADS_MOST + 1];
static hora_thread *handles[THREADS_MOST];
static _Thread_local struct self *own;
static _Thread_local struct self others; /* of a thread of hora */
static _Atomic uint64_t next_state;

/* ---- random numbers ---- */

struct self *self(void)
{
    if (own == NULL) {
        own = &others;
        others.state = atomic_fetch_add(&next_state, UINT64_C(0x9e3779b97f4a7c15)) | 1;
    }
    return own;
}

uint32_t random_below(uint32_t bound)
{
    struct self *me = self();
    uint64_t x = me->state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    me->state = x;
    return (uint32_t)(((x >> 32) * bound) >> 32);
}

bool one_in(uint32_t count)
{
    return random_below(count) == 0;
}

hora_ns random_ns(hora_ns bound)
{
    return random_below((uint32_t)bound);
}

int64_t now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void doing(const char *call)
{
    atomic_store_explicit(&self()->doing, call, memory_order_relaxed);
}

/* ---- the threads ---- */

bool round_is_over(void)
{
    return atomic_load_explicit(&over, memory_order_relaxed);
}

void round_end(void)
{
    atomic_store_explicit(&over, true, memory_order_relaxed);
}

void interrupt_one(void)
{
    if (self()->number > 0) /* the handles were there before the first round */
        (void)hora_thread_interrupt(handles[random_below((uint32_t)settings.threads)]);
}

static void operate_on(enum object_kind kind, void make(void), void operate(struct object *))
{
    struct object *object = object_get(kind);
    if (object == NULL) {
        make();
        return;
    }
    for (uint32_t count = 1 + random_below(BATCH_MOST); count > 0 && !round_is_over(); count--) {
        operate(object);
        atomic_fetch_add_explicit(&self()->operations, 1, memory_order_relaxed);
    }
    object_put(object);
}

static void operate(enum area area)
{
    switch (area) {
    case AREA_POOL:
        operate_on(OBJECT_POOL, pool_make, pool_operate);
        break;
    case AREA_SCHEDULER:
        operate_on(OBJECT_SCHEDULER, scheduler_make, scheduler_operate);
        break;
    case AREA_QUEUE:
        operate_on(OBJECT_QUEUE, queue_make, queue_operate);
        break;
    case AREA_FUTURE:
        future_operate();
        break;
    case AREA_SHUTDOWN:
        operate_on(OBJECT_SHUTDOWN, shutdown_make, shutdown_operate);
        break;
    default:
        timer_operate();
    }
    atomic_fetch_add_explicit(&self()->operations, 1, memory_order_relaxed);
}

/* Executing as fast as possible leaves nothing to the other areas: it has each fourth round to itself. */
static bool takes_part(enum area area, int round)
{
    int rest = 0;
    for (int i = 0; i < AREAS; i++)
        rest += i != AREA_SHUTDOWN && settings.areas[i];
    if (!settings.areas[AREA_SHUTDOWN] || rest == 0)
        return settings.areas[area];
    return settings.areas[area] && (area == AREA_SHUTDOWN) == (round % 4 == 3);
}

/* Leave a round, and wait for the next one; false: there is none. */
static bool next_round(int *round)
{
    (void)pthread_mutex_lock(&control.lock);
    control.idle++;
    (void)pthread_cond_broadcast(&control.changed);
    while (control.round == *round)
        (void)pthread_cond_wait(&control.changed, &control.lock);
    *round = control.round;
    (void)pthread_mutex_unlock(&control.lock);
    (void)hora_interrupted(); /* one that came after the end of the round */
    return *round >= 0;
}

static void *thread_run(void *arg)
{
    own = arg;
    calm_begin();
    if (hora_thread_self(&handles[own->number - 1]) < 0)
        violation(NULL, "hora_thread_self failed");
    calm_end();
    for (int round = 0; next_round(&round);) {
        while (!round_is_over()) {
            enum area area = (enum area)random_below(AREAS);
            if (takes_part(area, round))
                operate(area);
            if (one_in(4))
                (void)objects_reap();
        }
    }
    return NULL;
}

/* ---- rounds ---- */

static struct timespec in(int64_t ns)
{
    int64_t at = now_ns() + ns;
    return (struct timespec){.tv_sec = (time_t)(at / 1000000000), .tv_nsec = (long)(at % 1000000000)};
}

/* Wait until all threads have left the round, at most for so long. */
static bool wait_for_idle(int64_t ns)
{
    struct timespec until = in(ns);
    (void)pthread_mutex_lock(&control.lock);
    while (control.idle < settings.threads)
        if (pthread_cond_timedwait(&control.changed, &control.lock, &until) != 0)
            break;
    bool idle = control.idle == settings.threads;
    (void)pthread_mutex_unlock(&control.lock);
    return idle;
}

static void beat(int round)
{
    (void)pthread_mutex_lock(&control.lock);
    control.beats++;
    if (round != 0) {
        control.round = round;
        control.idle = 0;
    }
    (void)pthread_cond_broadcast(&control.changed);
    (void)pthread_mutex_unlock(&control.lock);
}

/* Until nothing is left: threads of the program may wait for objects that only this frees. */
static void clear(void)
{
    bool idle = false;
    while (!idle || objects_live() > 0) {
        for (int kind = 0; kind < OBJECT_KINDS; kind++)
            objects_retire((enum object_kind)kind);
        while (objects_reap())
            ;
        timers_clear();
        futures_clear();
        idle = wait_for_idle(HORA_MS(1));
    }
    futures_clear();
}

static void play_round(int round)
{
    bool failing = round % 2 == 0;
    failing_set(failing ? settings.fail_allocations : 0, failing ? settings.fail_threads : 0);
    atomic_store(&over, false);
    beat(round);
    (void)wait_for_idle(HORA_MS(400));
    round_end();
    failing_set(0, 0); /* what could not be done for want of a thread is done now */
    clear();
    ledger_check_round();
    ledger_next_round();
    objects_next_round();
}

/* ---- the watchdog ---- */

static void report_stuck(void)
{
    printf("stress: violation: the program is stuck (seed %" PRIu64 ")\n  round %d, %d objects\n",
           settings.seed, ledger_round(), objects_live());
    for (int i = 0; i <= settings.threads; i++) {
        const char *call = atomic_load(&selves[i].doing);
        printf("  thread %2d: %s\n", i, call == NULL ? "" : call);
    }
    ledger_print_open(20);
    (void)fflush(stdout);
    abort(); /* with a core, if the system keeps one */
}

static void *watch(void *arg)
{
    (void)arg;
    (void)pthread_mutex_lock(&control.lock);
    for (int64_t beats = -1; control.round >= 0;) {
        if (beats == control.beats)
            report_stuck();
        beats = control.beats;
        struct timespec until = in(HORA_SECONDS(STUCK_SECONDS));
        while (control.round >= 0 && pthread_cond_timedwait(&control.changed, &control.lock, &until) == 0)
            ;
    }
    (void)pthread_mutex_unlock(&control.lock);
    return NULL;
}

/* ---- the program ---- */

static int usage(void)
{
    (void)fputs("Usage: hora-stress [--seconds N] [--seed S] [--threads 8..16] [--fail-allocations P] "
                "[--fail-threads P]"
                " [pool|scheduler|queue|future|timer|shutdown]...\n",
                stderr);
    return 2;
}

static bool read_option(const char *name, const char *value)
{
    if (strcmp(name, "--seconds") == 0)
        settings.seconds = strtod(value, NULL);
    else if (strcmp(name, "--seed") == 0)
        settings.seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--threads") == 0)
        settings.threads = (int)strtol(value, NULL, 10);
    else if (strcmp(name, "--fail-allocations") == 0)
        settings.fail_allocations = strtod(value, NULL);
    else if (strcmp(name, "--fail-threads") == 0)
        settings.fail_threads = strtod(value, NULL);
    else
        return false;
    return settings.threads >= 1 && settings.threads <= THREADS_MOST;
}

static bool read_area(const char *name)
{
    for (int area = 0; area < AREAS; area++) {
        if (strcmp(name, area_names[area]) == 0) {
            settings.areas[area] = true;
            return true;
        }
    }
    return false;
}

static bool read_arguments(int argc, char **argv)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            if (i + 1 >= argc || !read_option(argv[i], argv[i + 1]))
                return false;
            i++;
        } else {
            if (!read_area(argv[i]))
                return false;
            any = true;
        }
    }
    for (int area = 0; area < AREAS && !any; area++)
        settings.areas[area] = true;
    return true;
}

static void threads_start(pthread_t *threads, pthread_t *watchdog)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&control.changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    for (int i = 0; i <= settings.threads; i++) {
        uint64_t state = settings.seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(i + 1);
        state = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        selves[i] = (struct self){.number = i, .state = state | 1};
    }
    own = &selves[0];
    atomic_store(&next_state, settings.seed * UINT64_C(0x94d049bb133111eb));
    for (int i = 0; i < settings.threads; i++) {
        if (pthread_create(&threads[i], NULL, thread_run, &selves[i + 1]) != 0)
            exit(2);
    }
    if (pthread_create(watchdog, NULL, watch, NULL) != 0)
        exit(2);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MOST], watchdog;
    int64_t operations = 0, start = now_ns();
    if (!read_arguments(argc, argv))
        return usage();
    threads_start(threads, &watchdog);
    while (!wait_for_idle(HORA_SECONDS(1)))
        ;
    int rounds = 0;
    do
        play_round(++rounds);
    while ((double)(now_ns() - start) < settings.seconds * 1e9);
    failing_set(0, 0);
    beat(-1);
    for (int i = 0; i < settings.threads; i++) {
        (void)pthread_join(threads[i], NULL);
        (void)hora_thread_unref(handles[i]);
        operations += atomic_load(&selves[i + 1].operations);
    }
    (void)pthread_join(watchdog, NULL);
    printf("stress: %" PRId64 " operations, %" PRId64 " tasks, %" PRId64 " objects, %d rounds, %" PRId64
           " failures made, 0 violations\n",
           operations, ledger_records(), objects_total(), rounds, failing_count());
    return 0;
}
