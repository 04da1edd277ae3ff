/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_clock.c - measures how many moments of virtual time hora_virtual_clock_run passes per second
 *
 * An attached thread waits repeatedly: in hora_clock_sleep, in a timed poll of a queue, or in a take from a
 * delay queue into which it has put an element. `pair` is two threads that sleep until the same moments, so
 * that each has to be woken by the other.
 *
 *     hora-bench-clock [MOMENTS]     prints one line per way of waiting */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <hora/hora.h>

static hora_virtual_clock *vclock;
static const hora_clock *view;     /* the monotonic view of it */
static hora_queue *queue;          /* a delay queue on that clock */
static uint64_t moments = 3000000; /* how often each thread waits */

#define MUST(truth) ((truth) ? (void)0 : fail(__LINE__, #truth))

static _Noreturn void fail(int line, const char *what)
{
    fprintf(stderr, "virtual_clock.c:%d: %s\n", line, what);
    exit(1);
}

/* Returns the time on a clock of the system in seconds. */
static double seconds(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void wait_in_sleep(void)
{
    MUST(hora_clock_sleep(view, HORA_SECONDS(1)) == 0);
}

static void wait_in_poll(void)
{
    void *item;
    MUST(hora_queue_poll_for(queue, HORA_SECONDS(1), &item) == HORA_ETIMEDOUT);
}

static void wait_in_delay(void)
{
    void *item;
    MUST(hora_queue_put_delayed(queue, &queue, HORA_SECONDS(1)) == 0);
    MUST(hora_queue_take(queue, &item) == 0);
}

/* Waits once per moment. The argument points to the function that waits. */
static void *work(void *arg)
{
    void (*const *wait_once)(void) = arg;
    MUST(hora_virtual_clock_attach(vclock) == 0);
    for (uint64_t i = 0; i < moments; i++)
        (*wait_once)();
    return NULL;
}

/* Measures one way of waiting and prints the result. */
static void measure(const char *name, void (*wait_once)(void), int threads, uint64_t count)
{
    pthread_t handles[2];
    moments = count;
    MUST(hora_virtual_clock_new(NULL, &vclock, NULL) == 0);
    view = hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC);
    MUST(hora_queue_new_delay(HORA_QUEUE_OPTIONS(.clock = view), &queue, NULL) == 0);
    MUST(hora_virtual_clock_expect(vclock, threads) == 0);
    for (int i = 0; i < threads; i++)
        MUST(pthread_create(&handles[i], NULL, work, &wait_once) == 0);
    MUST(hora_virtual_clock_settle(vclock) == 0);
    double start = seconds(CLOCK_MONOTONIC);
    double start_work = seconds(CLOCK_PROCESS_CPUTIME_ID);
    MUST(hora_virtual_clock_run(vclock, HORA_SECONDS((hora_ns)count)) == 0);
    double took = seconds(CLOCK_MONOTONIC) - start;
    double worked = seconds(CLOCK_PROCESS_CPUTIME_ID) - start_work;
    for (int i = 0; i < threads; i++)
        (void)pthread_join(handles[i], NULL);
    MUST(hora_queue_free(queue) == 0);
    MUST(hora_virtual_clock_free(vclock) == 0);
    printf("%-8s %10.0f moments per second; %6.1f ns each, %6.1f ns of processor time\n", name,
           (double)count / took, took / (double)count * 1e9, worked / (double)count * 1e9);
}

int main(int count, char **arguments)
{
    uint64_t n = count > 1 ? strtoull(arguments[1], NULL, 10) : moments;
    measure("sleep", wait_in_sleep, 1, n);
    measure("poll", wait_in_poll, 1, n);
    measure("delay", wait_in_delay, 1, n);
    measure("pair", wait_in_sleep, 2, n / 20 + 1);
    return 0;
}
