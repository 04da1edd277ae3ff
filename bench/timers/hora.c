/* SPDX-License-Identifier: Apache-2.0 */
/* hora.c - hora's scheduler, with a future per timer that may be cancelled
 *
 * With FUTURES, the timers of W4 have futures as well, which the caller releases at once. */
#include <stddef.h>
#include <stdlib.h>

#include <hora/hora.h>
#include <hora/scheduler.h>

#include "timers.h"

static hora_scheduler *scheduler;
static hora_future **pending; /* of timers_fill */
static long pending_count;
static hora_future *lagging[MOST_LAG]; /* timers that are cancelled later; NULL: none */

static int expire(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    timer_expired();
    return 0;
}

static int complain(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    timer_forbidden();
    return 0;
}

static int fire(void *arg, void **ret_result)
{
    (void)ret_result;
    timer_fired((long)(intptr_t)arg);
    return 0;
}

static int run(void *arg, void **ret_result)
{
    (void)ret_result;
    timer_ran((int)(intptr_t)arg);
    return 0;
}

void timers_open(void)
{
    MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = TIMERS_WORKERS), &scheduler, NULL) == 0);
    MUST(hora_pool_prestart_all(scheduler) == TIMERS_WORKERS);
}

void timers_fill(const int64_t *due_ns, long count)
{
    pending = malloc((size_t)count * sizeof(*pending));
    MUST(pending != NULL);
    for (pending_count = 0; pending_count < count; pending_count++)
        MUST(hora_scheduler_schedule(scheduler, HORA_TASK(expire, NULL), due_ns[pending_count] - now_ns(),
                                     &pending[pending_count]) == 0);
}

void timers_leave(const int64_t *due_ns, long count)
{
    for (long i = 0; i < count; i++)
        MUST(hora_scheduler_schedule(scheduler, HORA_TASK(expire, NULL), due_ns[i] - now_ns(), NULL) == 0);
}

void timers_part(void)
{
}

static void cancel(hora_future *future)
{
    MUST(hora_future_cancel(future, false) == HORA_CANCEL_REMOVED);
    hora_future_unref(future);
}

/* Schedules timers that are cancelled `lag` calls later. */
static void churn_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++) {
        hora_future **slot = &lagging[calls++ % lag];
        if (*slot != NULL)
            cancel(*slot);
        MUST(hora_scheduler_schedule(scheduler, HORA_TASK(complain, NULL), delay_ns[i], slot) == 0);
    }
}

void timers_churn(int producer, const int64_t *delay_ns, long count, int lag)
{
    (void)producer;
    if (lag > 0) {
        churn_behind(delay_ns, count, lag);
        return;
    }
    for (long i = 0; i < count; i++) {
        hora_future *future;
        MUST(hora_scheduler_schedule(scheduler, HORA_TASK(complain, NULL), delay_ns[i], &future) == 0);
        cancel(future);
    }
}

void timers_settle(void)
{
}

static void schedule_to_fire(long number, int64_t delay_ns)
{
#ifdef FUTURES
    hora_future *future;
    MUST(hora_scheduler_schedule(scheduler, HORA_TASK(fire, (void *)(intptr_t)number), delay_ns, &future) ==
         0);
    hora_future_unref(future);
#else
    MUST(hora_scheduler_schedule(scheduler, HORA_TASK(fire, (void *)(intptr_t)number), delay_ns, NULL) == 0);
#endif
}

void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count)
{
    for (long i = 0; i < count; i++) {
        due_ns[i] = now_ns() + delay_ns[i];
        schedule_to_fire(i, delay_ns[i]);
    }
}

/* Waits until end_ns, then cancels all series and frees the array. */
static void end_series(hora_future **series, int tasks, int64_t end_ns)
{
    wait_until(end_ns);
    for (int i = 0; i < tasks; i++) {
        MUST(hora_future_cancel(series[i], false) != HORA_CANCEL_TOO_LATE);
        hora_future_unref(series[i]);
    }
    free(series);
}

void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns)
{
    hora_future **series = malloc(((size_t)tasks + 1) * sizeof(*series));
    MUST(series != NULL);
    for (int i = 0; i < tasks; i++)
        MUST(hora_scheduler_schedule_at_fixed_rate(scheduler, HORA_TASK(run, (void *)(intptr_t)i),
                                                   first_ns[i] - now_ns(), period_ns, &series[i]) == 0);
    end_series(series, tasks, end_ns);
}

/* By the JDK's rules for missed times, as in timers_repeat. */
void timers_repeat_lax(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t slack_ns,
                       int64_t end_ns)
{
    hora_future **series = malloc(((size_t)tasks + 1) * sizeof(*series));
    MUST(series != NULL);
    for (int i = 0; i < tasks; i++)
        MUST(hora_scheduler_schedule_with(scheduler, HORA_TASK(run, (void *)(intptr_t)i),
                                          HORA_SCHEDULE(.initial_delay = first_ns[i] - now_ns(),
                                                        .fixed_rate = period_ns, .slack = slack_ns,
                                                        .missed = HORA_MISSED_BURST),
                                          &series[i], NULL) == 0);
    end_series(series, tasks, end_ns);
}

void timers_close(void)
{
    for (long i = 0; i < pending_count; i++)
        hora_future_unref(pending[i]);
    free(pending);
    for (int i = 0; i < MOST_LAG; i++)
        if (lagging[i] != NULL)
            hora_future_unref(lagging[i]);
    MUST(hora_pool_free(scheduler) >= 0); /* returns the number of timers that it has abandoned */
}
