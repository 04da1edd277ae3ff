/* SPDX-License-Identifier: Apache-2.0 */
/* hora_timer.c - hora's timers in the caller's memory, for W3 and W6, where that memory counts, too
 *
 * A program embeds a timer in the object that the timer is for. Here each producer has one timer, or `lag` of
 * them. */
#include <stddef.h>
#include <stdlib.h>

#include <hora/hora.h>

#include "timers.h"

static hora_scheduler *scheduler;
static hora_timer *pending;          /* of timers_fill */
static hora_timer lagging[MOST_LAG]; /* timers that are cancelled later */

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
    pending = new_timers(count);
    for (long i = 0; i < count; i++) {
        MUST(hora_timer_init(&pending[i], expire, NULL) == 0);
        MUST(hora_timer_start(&pending[i], scheduler, due_ns[i] - now_ns()) == 0);
    }
}

void timers_part(void)
{
}

/* Starts timers that are cancelled `lag` calls later. */
static void churn_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++, calls++) {
        hora_timer *timer = &lagging[calls % lag];
        if (calls >= lag)
            MUST(hora_timer_cancel(timer) == HORA_CANCEL_REMOVED);
        MUST(hora_timer_start(timer, scheduler, delay_ns[i]) == 0);
    }
}

void timers_churn(int producer, const int64_t *delay_ns, long count, int lag)
{
    if (lag > 0) {
        churn_behind(delay_ns, count, lag);
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
    free(pending);
}
