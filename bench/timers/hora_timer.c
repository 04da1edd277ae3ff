/* SPDX-License-Identifier: Apache-2.0 */
/* hora_timer.c - hora's timers in the caller's memory, for W3 and W6, where that memory counts, too
 *
 * A program embeds a timer in the object that the timer is for. timers_churn and timers_fill allocate each
 * timer on its own, as if it were such an object. */
#include <stddef.h>
#include <stdlib.h>

#include <hora/hora.h>

#include "timers.h"

static hora_scheduler *scheduler;
static hora_timer **pending;              /* of timers_fill */
static long pending_count;                /* timers of timers_fill */
static hora_timer *embedded;              /* of timers_embed */
static hora_timer lagging[MOST_LAG];      /* timers of timers_reuse that are cancelled later */
static hora_timer *lagging_new[MOST_LAG]; /* timers of timers_churn that are cancelled later; NULL: none */

/* The timer of each producer, apart, so that two threads do not write to the same cache line. */
static struct own {
    _Alignas(128) hora_timer timer;
} own[MOST_PRODUCERS];

static int expire(void *arg)
{
    (void)arg;
    timer_expired();
    return 0;
}

static int complain(void *arg)
{
    (void)arg;
    timer_forbidden();
    return 0;
}

static int fire(void *arg)
{
    timer_fired((long)(intptr_t)arg);
    return 0;
}

void timers_open(void)
{
    MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = TIMERS_WORKERS), &scheduler, NULL) == 0);
    MUST(hora_pool_prestart_all(scheduler) == TIMERS_WORKERS);
    for (int i = 0; i < MOST_PRODUCERS; i++)
        MUST(hora_timer_init(&own[i].timer, complain, NULL) == 0);
    for (int i = 0; i < MOST_LAG; i++)
        MUST(hora_timer_init(&lagging[i], complain, NULL) == 0);
}

static hora_timer *new_timers(long count)
{
    hora_timer *timers = malloc((size_t)count * sizeof(*timers));
    MUST(timers != NULL);
    return timers;
}

void timers_fill(const int64_t *due_ns, long count)
{
    pending = malloc((size_t)count * sizeof(*pending));
    MUST(pending != NULL);
    for (pending_count = 0; pending_count < count; pending_count++) {
        hora_timer *timer = pending[pending_count] = new_timers(1);
        MUST(hora_timer_init(timer, expire, NULL) == 0);
        MUST(hora_timer_start(timer, scheduler, due_ns[pending_count] - now_ns()) == 0);
    }
}

void timers_embed(const int64_t *due_ns, long count)
{
    embedded = new_timers(count);
    for (long i = 0; i < count; i++) {
        MUST(hora_timer_init(&embedded[i], expire, NULL) == 0);
        MUST(hora_timer_start(&embedded[i], scheduler, due_ns[i] - now_ns()) == 0);
    }
}

void timers_part(void)
{
}

static hora_timer *start_new(int64_t delay_ns)
{
    hora_timer *timer = new_timers(1);
    MUST(hora_timer_init(timer, complain, NULL) == 0);
    MUST(hora_timer_start(timer, scheduler, delay_ns) == 0);
    return timer;
}

static void cancel_and_free(hora_timer *timer)
{
    MUST(hora_timer_cancel(timer) == HORA_CANCEL_REMOVED);
    free(timer);
}

/* Starts new timers that are cancelled `lag` calls later. */
static void churn_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++, calls++) {
        hora_timer **slot = &lagging_new[calls % lag];
        if (*slot != NULL)
            cancel_and_free(*slot);
        *slot = start_new(delay_ns[i]);
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
        cancel_and_free(start_new(delay_ns[i]));
}

/* Starts timers that are cancelled `lag` calls later. */
static void reuse_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++, calls++) {
        hora_timer *timer = &lagging[calls % lag];
        if (calls >= lag)
            MUST(hora_timer_cancel(timer) == HORA_CANCEL_REMOVED);
        MUST(hora_timer_start(timer, scheduler, delay_ns[i]) == 0);
    }
}

void timers_reuse(int producer, const int64_t *delay_ns, long count, int lag)
{
    if (lag > 0) {
        reuse_behind(delay_ns, count, lag);
        return;
    }
    hora_timer *timer = &own[producer].timer;
    for (long i = 0; i < count; i++) {
        MUST(hora_timer_start(timer, scheduler, delay_ns[i]) == 0);
        MUST(hora_timer_cancel(timer) == HORA_CANCEL_REMOVED);
    }
}

void timers_settle(void)
{
}

/* The timers are never freed: this file does not know when the last one has fired. */
void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count)
{
    hora_timer *timers = new_timers(count);
    for (long i = 0; i < count; i++) {
        due_ns[i] = now_ns() + delay_ns[i];
        MUST(hora_timer_init(&timers[i], fire, (void *)(intptr_t)i) == 0);
        MUST(hora_timer_start(&timers[i], scheduler, delay_ns[i]) == 0);
    }
}

/* Only waits: a series needs a future, see hora.c. Called without tasks only. */
void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns)
{
    (void)first_ns;
    (void)period_ns;
    MUST(tasks == 0);
    wait_until(end_ns);
}

void timers_close(void)
{
    MUST(hora_pool_free(scheduler) >= 0); /* returns the number of timers that it has abandoned */
    for (long i = 0; i < pending_count; i++)
        free(pending[i]);
    free(pending);
    for (int i = 0; i < MOST_LAG; i++)
        free(lagging_new[i]);
    free(embedded);
}
