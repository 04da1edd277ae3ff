/* SPDX-License-Identifier: Apache-2.0 */
/* apr.c - APR-util's apr_thread_pool_schedule, in microseconds of the wall clock
 *
 * APR keeps a list sorted by time and compares a new task with all tasks before it, from the first one on. So
 * timers_fill begins with the last. Tasks are cancelled by their owner, a pointer, for which APR searches all
 * tasks. There are no repeating timers: a task schedules itself again. */
#include <apr_general.h>
#include <apr_thread_pool.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "timers.h"

/* The owners of tasks, by which they are cancelled. */
static char churners[MOST_PRODUCERS];
static char lagging[MOST_LAG];
static char filler;
static char firer;
static char repeater;

static apr_pool_t *memory;
static apr_thread_pool_t *pool;
/* The arguments of timers_repeat, for tasks that schedule themselves again. */
static const int64_t *firsts_ns;
static int64_t each_ns;
static atomic_long *runs; /* of each task so far */
static atomic_bool over;  /* tasks must not schedule themselves again */

/* Converts a delay to microseconds, rounded up, and adds one more because APR counts from a time that has
 * been rounded down. */
static apr_interval_time_t microseconds(int64_t ns)
{
    return ns > 0 ? (ns + 999) / 1000 + 1 : 0;
}

static void schedule(apr_thread_start_t function, long number, void *owner, int64_t delay_ns)
{
    MUST(apr_thread_pool_schedule(pool, function, (void *)(intptr_t)number, microseconds(delay_ns), owner) ==
         APR_SUCCESS);
}

static void *APR_THREAD_FUNC expire(apr_thread_t *thread, void *arg)
{
    (void)thread;
    (void)arg;
    timer_expired();
    return NULL;
}

static void *APR_THREAD_FUNC complain(apr_thread_t *thread, void *arg)
{
    (void)thread;
    (void)arg;
    timer_forbidden();
    return NULL;
}

static void *APR_THREAD_FUNC fire(apr_thread_t *thread, void *arg)
{
    (void)thread;
    timer_fired((long)(intptr_t)arg);
    return NULL;
}

static void *APR_THREAD_FUNC run(apr_thread_t *thread, void *arg)
{
    long number = (long)(intptr_t)arg;
    (void)thread;
    timer_ran((int)number);
    long next = atomic_fetch_add(&runs[number], 1) + 1;
    if (!atomic_load(&over))
        schedule(run, number, &repeater, firsts_ns[number] + next * each_ns - now_ns());
    return NULL;
}

void timers_open(void)
{
    MUST(apr_initialize() == APR_SUCCESS && apr_pool_create(&memory, NULL) == APR_SUCCESS);
    MUST(apr_thread_pool_create(&pool, TIMERS_WORKERS, TIMERS_WORKERS, memory) == APR_SUCCESS);
}

void timers_fill(const int64_t *due_ns, long count)
{
    int64_t *sorted = malloc((size_t)count * sizeof(*sorted));
    MUST(sorted != NULL);
    memcpy(sorted, due_ns, (size_t)count * sizeof(*sorted));
    sort_ns(sorted, count);
    for (long i = count - 1; i >= 0; i--)
        schedule(expire, i, &filler, sorted[i] - now_ns());
    free(sorted);
}

void timers_part(void)
{
}

/* Schedules tasks that are cancelled `lag` calls later. */
static void churn_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++) {
        char *owner = &lagging[calls++ % lag];
        MUST(apr_thread_pool_tasks_cancel(pool, owner) == APR_SUCCESS);
        schedule(complain, i, owner, delay_ns[i]);
    }
}

void timers_churn(int producer, const int64_t *delay_ns, long count, int lag)
{
    if (lag > 0) {
        churn_behind(delay_ns, count, lag);
        return;
    }
    for (long i = 0; i < count; i++) {
        schedule(complain, i, &churners[producer], delay_ns[i]);
        MUST(apr_thread_pool_tasks_cancel(pool, &churners[producer]) == APR_SUCCESS);
    }
}

void timers_settle(void)
{
}

void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count)
{
    for (long i = 0; i < count; i++) {
        due_ns[i] = now_ns() + delay_ns[i];
        schedule(fire, i, &firer, delay_ns[i]);
    }
}

void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns)
{
    firsts_ns = first_ns;
    each_ns = period_ns;
    runs = calloc((size_t)tasks + 1, sizeof(*runs));
    MUST(runs != NULL);
    atomic_store(&over, false);
    for (int i = 0; i < tasks; i++)
        schedule(run, i, &repeater, first_ns[i] - now_ns());
    wait_until(end_ns);
    atomic_store(&over, true);
    MUST(apr_thread_pool_tasks_cancel(pool, &repeater) == APR_SUCCESS); /* also waits for tasks that run */
    free(runs);
}

void timers_close(void)
{
    MUST(apr_thread_pool_destroy(pool) == APR_SUCCESS);
    apr_pool_destroy(memory);
    apr_terminate();
}
