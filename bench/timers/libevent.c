/* SPDX-License-Identifier: Apache-2.0 */
/* libevent.c - libevent's timer events of one base with locks, which any thread may add and delete
 *
 * A separate thread runs the loop of the base. The base is configured to use the exact clock, and to read it
 * whenever it needs the time: its default clock is some milliseconds behind, and timers would run early. The
 * function of a repeating timer adds the timer again. timers_embed uses the definition of the struct, as
 * programs do that embed an event. */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "timers.h"

/* A repeating timer. */
struct series {
    struct event *event;
    int number;
    int64_t next_ns; /* when it runs next */
    int64_t period_ns;
};

static struct event_base *base;
static pthread_t loop_thread;
static struct event *reused[MOST_PRODUCERS]; /* one per producer */
static struct event *lagging[MOST_LAG];      /* timers that are deleted later; NULL: none */
static struct event **pending;               /* of timers_fill */
static long pending_count;
static struct event *embedded; /* of timers_embed */
static atomic_bool over;       /* series must not continue */

/* Adds a timer. Rounds the delay up to microseconds, and adds one more because libevent counts from a time
 * that has been rounded down. */
static void add(struct event *event, int64_t delay_ns)
{
    int64_t us = delay_ns > 0 ? (delay_ns + 999) / 1000 + 1 : 0;
    struct timeval delay = {us / 1000000, us % 1000000};
    MUST(event_add(event, &delay) == 0);
}

static struct event *new_timer(event_callback_fn function, void *arg)
{
    struct event *event = evtimer_new(base, function, arg);
    MUST(event != NULL);
    return event;
}

static void on_expired(evutil_socket_t none, short what, void *arg)
{
    (void)none, (void)what, (void)arg;
    timer_expired();
}

static void on_forbidden(evutil_socket_t none, short what, void *arg)
{
    (void)none, (void)what, (void)arg;
    timer_forbidden();
}

static void on_fired(evutil_socket_t none, short what, void *arg)
{
    (void)none, (void)what;
    timer_fired((long)(intptr_t)arg);
}

static void on_ran(evutil_socket_t none, short what, void *arg)
{
    struct series *series = arg;
    (void)none, (void)what;
    if (atomic_load(&over))
        return;
    timer_ran(series->number);
    series->next_ns += series->period_ns;
    add(series->event, series->next_ns - now_ns());
}

static void *run_loop(void *arg)
{
    MUST(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
    return arg;
}

void timers_open(void)
{
    struct event_config *config = event_config_new();
    MUST(config != NULL && evthread_use_pthreads() == 0);
    MUST(event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_NO_CACHE_TIME) == 0);
    base = event_base_new_with_config(config);
    MUST(base != NULL);
    event_config_free(config);
    for (int i = 0; i < MOST_PRODUCERS; i++)
        reused[i] = new_timer(on_forbidden, NULL);
    MUST(pthread_create(&loop_thread, NULL, run_loop, NULL) == 0);
}

void timers_fill(const int64_t *due_ns, long count)
{
    pending = malloc((size_t)count * sizeof(*pending));
    MUST(pending != NULL);
    for (pending_count = 0; pending_count < count; pending_count++) {
        pending[pending_count] = new_timer(on_expired, NULL);
        add(pending[pending_count], due_ns[pending_count] - now_ns());
    }
}

void timers_embed(const int64_t *due_ns, long count)
{
    embedded = malloc((size_t)count * sizeof(*embedded));
    MUST(embedded != NULL);
    for (long i = 0; i < count; i++) {
        MUST(evtimer_assign(&embedded[i], base, on_expired, NULL) == 0);
        add(&embedded[i], due_ns[i] - now_ns());
    }
}

void timers_part(void)
{
}

static struct event *add_new(int64_t delay_ns)
{
    struct event *event = new_timer(on_forbidden, NULL);
    add(event, delay_ns);
    return event;
}

/* Adds new timers that are deleted `lag` calls later. */
static void churn_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++) {
        struct event **slot = &lagging[calls++ % lag];
        if (*slot != NULL)
            event_free(*slot); /* also deletes it */
        *slot = add_new(delay_ns[i]);
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
        event_free(add_new(delay_ns[i]));
}

/* Adds timers that are deleted `lag` calls later. */
static void reuse_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++) {
        struct event **slot = &lagging[calls++ % lag];
        if (*slot == NULL)
            *slot = new_timer(on_forbidden, NULL);
        else
            MUST(event_del(*slot) == 0);
        add(*slot, delay_ns[i]);
    }
}

void timers_reuse(int producer, const int64_t *delay_ns, long count, int lag)
{
    if (lag > 0) {
        reuse_behind(delay_ns, count, lag);
        return;
    }
    struct event *event = reused[producer];
    for (long i = 0; i < count; i++) {
        add(event, delay_ns[i]);
        MUST(event_del(event) == 0);
    }
}

void timers_settle(void)
{
}

void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count)
{
    for (long i = 0; i < count; i++) {
        int64_t us = (delay_ns[i] + 999) / 1000 + 1;
        struct timeval delay = {us / 1000000, us % 1000000};
        due_ns[i] = now_ns() + delay_ns[i];
        MUST(event_base_once(base, -1, EV_TIMEOUT, on_fired, (void *)(intptr_t)i, &delay) == 0);
    }
}

void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns)
{
    struct series *all = calloc((size_t)tasks + 1, sizeof(*all));
    MUST(all != NULL);
    atomic_store(&over, false);
    for (int i = 0; i < tasks; i++) {
        all[i] = (struct series){new_timer(on_ran, &all[i]), i, first_ns[i], period_ns};
        add(all[i].event, first_ns[i] - now_ns());
    }
    wait_until(end_ns);
    atomic_store(&over, true);
    for (int i = 0; i < tasks; i++)
        event_free(all[i].event); /* waits for its function */
    free(all);
}

void timers_close(void)
{
    event_base_loopbreak(base);
    pthread_join(loop_thread, NULL);
    for (long i = 0; i < pending_count; i++)
        event_free(pending[i]);
    free(pending);
    for (int i = 0; i < MOST_PRODUCERS; i++)
        event_free(reused[i]);
    for (int i = 0; i < MOST_LAG; i++)
        if (lagging[i] != NULL)
            event_free(lagging[i]);
    event_base_free(base); /* forgets the events of timers_embed */
    free(embedded);
}
