/* SPDX-License-Identifier: Apache-2.0 */
/* libev.c - libev's ev_timer on one loop with a lock, which any thread may use
 *
 * A separate thread runs the loop. libev has no locks of its own, so this follows the example of its manual
 * (THREAD LOCKING EXAMPLE): the loop holds a lock except while it waits, and a thread that starts a timer
 * takes the lock and wakes the loop. libev counts in seconds, as double, from a time that it reads once per
 * iteration, so each start makes it read the time. The function of a repeating timer starts the timer
 * again. */
#include <ev.h>
#include <pthread.h>
#include <stdlib.h>

#include "timers.h"

/* A repeating timer. */
struct series {
    ev_timer timer;
    int number;
    int64_t next_ns; /* when it runs next */
    int64_t period_ns;
};

static struct ev_loop *loop;
static pthread_t loop_thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the loop */
static ev_async wake;                                    /* wakes the loop after a change */
static bool over;                                        /* the loop must end; guarded by lock */
static ev_timer reused[MOST_PRODUCERS];                  /* one per producer */
static ev_timer lagging[MOST_LAG];                       /* timers of timers_reuse that are stopped later */
static ev_timer *lagging_new[MOST_LAG]; /* timers of timers_churn that are stopped later; NULL: none */
static ev_timer **pending;              /* of timers_fill */

static void release_loop(struct ev_loop *unused) EV_NOEXCEPT
{
    (void)unused;
    pthread_mutex_unlock(&lock);
}

static void acquire_loop(struct ev_loop *unused) EV_NOEXCEPT
{
    (void)unused;
    pthread_mutex_lock(&lock);
}

static void on_wake(struct ev_loop *unused, ev_async *async, int events)
{
    (void)unused, (void)async, (void)events;
    if (over)
        ev_break(loop, EVBREAK_ALL);
}

static void on_expired(struct ev_loop *unused, ev_timer *timer, int events)
{
    (void)unused, (void)timer, (void)events;
    timer_expired();
}

static void on_forbidden(struct ev_loop *unused, ev_timer *timer, int events)
{
    (void)unused, (void)timer, (void)events;
    timer_forbidden();
}

/* Frees the timer, which has been allocated. */
static void on_fired(struct ev_loop *unused, ev_timer *timer, int events)
{
    (void)unused, (void)events;
    timer_fired((long)(intptr_t)timer->data);
    free(timer);
}

/* Starts a timer for a time on the monotonic clock. The caller holds the lock. libev counts from the time
 * that it has read last, so it reads the time after the delay has been computed: no timer is early. The
 * nanosecond is more than what double loses. */
static void start_locked(ev_timer *timer, int64_t due_ns)
{
    double delay = (double)(due_ns - now_ns()) * 1e-9;
    ev_now_update(loop);
    ev_timer_set(timer, delay > 0 ? delay + 1e-9 : 0, 0);
    ev_timer_start(loop, timer);
}

static void start(ev_timer *timer, int64_t due_ns)
{
    pthread_mutex_lock(&lock);
    start_locked(timer, due_ns);
    ev_async_send(loop, &wake);
    pthread_mutex_unlock(&lock);
}

static void stop(ev_timer *timer)
{
    pthread_mutex_lock(&lock);
    MUST(ev_is_active(timer));
    ev_timer_stop(loop, timer);
    pthread_mutex_unlock(&lock);
}

static void on_ran(struct ev_loop *unused, ev_timer *timer, int events)
{
    struct series *series = (struct series *)timer; /* its first member */
    (void)unused, (void)events;
    timer_ran(series->number);
    series->next_ns += series->period_ns;
    start_locked(timer, series->next_ns);
}

static void *run_loop(void *arg)
{
    pthread_mutex_lock(&lock);
    ev_run(loop, 0);
    pthread_mutex_unlock(&lock);
    return arg;
}

void timers_open(void)
{
    loop = ev_loop_new(EVFLAG_AUTO);
    MUST(loop != NULL);
    ev_async_init(&wake, on_wake);
    ev_async_start(loop, &wake);
    ev_set_loop_release_cb(loop, release_loop, acquire_loop);
    for (int i = 0; i < MOST_PRODUCERS; i++)
        ev_timer_init(&reused[i], on_forbidden, 0, 0);
    for (int i = 0; i < MOST_LAG; i++)
        ev_timer_init(&lagging[i], on_forbidden, 0, 0);
    MUST(pthread_create(&loop_thread, NULL, run_loop, NULL) == 0);
}

static ev_timer *new_timers(long count)
{
    ev_timer *timers = malloc((size_t)count * sizeof(*timers));
    MUST(timers != NULL);
    return timers;
}

static ev_timer *start_new(void (*function)(struct ev_loop *, ev_timer *, int), int64_t due_ns)
{
    ev_timer *timer = new_timers(1);
    ev_timer_init(timer, function, 0, 0);
    start(timer, due_ns);
    return timer;
}

void timers_fill(const int64_t *due_ns, long count)
{
    pending = malloc((size_t)count * sizeof(*pending)); /* lives as long as the process */
    MUST(pending != NULL);
    for (long i = 0; i < count; i++)
        pending[i] = start_new(on_expired, due_ns[i]);
}

void timers_embed(const int64_t *due_ns, long count)
{
    ev_timer *timers = new_timers(count); /* live as long as the process */
    for (long i = 0; i < count; i++) {
        ev_timer_init(&timers[i], on_expired, 0, 0);
        start(&timers[i], due_ns[i]);
    }
}

void timers_part(void)
{
}

static void stop_and_free(ev_timer *timer)
{
    stop(timer);
    free(timer);
}

/* Starts new timers that are stopped `lag` calls later. */
static void churn_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++) {
        ev_timer **slot = &lagging_new[calls++ % lag];
        if (*slot != NULL)
            stop_and_free(*slot);
        *slot = start_new(on_forbidden, now_ns() + delay_ns[i]);
    }
}

void timers_churn(int producer, const int64_t *delay_ns, long count, int lag)
{
    (void)producer;
    if (lag > 0) {
        churn_behind(delay_ns, count, lag);
        return;
    }
    for (long i = 0; i < count; i++)
        stop_and_free(start_new(on_forbidden, now_ns() + delay_ns[i]));
}

/* Starts timers that are stopped `lag` calls later. */
static void reuse_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++, calls++) {
        ev_timer *timer = &lagging[calls % lag];
        if (calls >= lag)
            stop(timer);
        start(timer, now_ns() + delay_ns[i]);
    }
}

void timers_reuse(int producer, const int64_t *delay_ns, long count, int lag)
{
    if (lag > 0) {
        reuse_behind(delay_ns, count, lag);
        return;
    }
    for (long i = 0; i < count; i++) {
        start(&reused[producer], now_ns() + delay_ns[i]);
        stop(&reused[producer]);
    }
}

void timers_settle(void)
{
}

void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count)
{
    for (long i = 0; i < count; i++) {
        ev_timer *timer = new_timers(1);
        ev_timer_init(timer, on_fired, 0, 0);
        timer->data = (void *)(intptr_t)i;
        due_ns[i] = now_ns() + delay_ns[i];
        start(timer, due_ns[i]);
    }
}

void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns)
{
    struct series *all = calloc((size_t)tasks + 1, sizeof(*all));
    MUST(all != NULL);
    for (int i = 0; i < tasks; i++) {
        all[i].number = i;
        all[i].next_ns = first_ns[i];
        all[i].period_ns = period_ns;
        ev_timer_init(&all[i].timer, on_ran, 0, 0);
        start(&all[i].timer, first_ns[i]);
    }
    wait_until(end_ns);
    pthread_mutex_lock(&lock); /* no function runs meanwhile */
    for (int i = 0; i < tasks; i++)
        ev_timer_stop(loop, &all[i].timer);
    pthread_mutex_unlock(&lock);
    free(all);
}

void timers_close(void)
{
    pthread_mutex_lock(&lock);
    over = true;
    ev_async_send(loop, &wake);
    pthread_mutex_unlock(&lock);
    pthread_join(loop_thread, NULL);
}
