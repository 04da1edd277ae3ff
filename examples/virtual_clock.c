/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_clock.c - test a day in a millisecond: waiting code runs on a clock that only the test advances
 *
 * The watchman makes a round every hour. The test advances the clock hour by hour, waits each time until the
 * watchman has finished his round and sleeps again, and knows exactly how many rounds there must have been.
 */
#include <pthread.h>
#include <stdio.h>

#include <hora/hora.h>

enum { HOURS = 24 };

static hora_virtual_clock *clock_of_test;
static int rounds; /* written by the watchman while he is awake, read by the test while he sleeps */

static void *watchman(void *unused)
{
    const hora_clock *clock = hora_virtual_clock_view(clock_of_test, HORA_CLOCK_MONOTONIC);
    if (hora_virtual_clock_attach(clock_of_test) < 0)
        return unused;
    while (rounds < HOURS && hora_clock_sleep(clock, HORA_HOURS(1)) == 0)
        rounds++;
    return unused; /* the thread is detached when it ends */
}

/* Returns how often the number of rounds was wrong. */
static int live_through_a_day(void)
{
    int faults = hora_virtual_clock_settle(clock_of_test) < 0;
    for (int hour = 1; hour <= HOURS; hour++) {
        /* One nanosecond before the full hour, nothing may have happened. */
        faults += hora_virtual_clock_advance(clock_of_test, HORA_HOURS(1) - 1) < 0;
        faults += hora_virtual_clock_settle(clock_of_test) < 0 || rounds != hour - 1;
        faults += hora_virtual_clock_advance(clock_of_test, 1) < 0;
        faults += hora_virtual_clock_settle(clock_of_test) < 0 || rounds != hour;
    }
    return faults;
}

int main(void)
{
    pthread_t thread;
    if (hora_virtual_clock_new(NULL, &clock_of_test, NULL) < 0 ||
        hora_virtual_clock_expect(clock_of_test, 1) < 0 || pthread_create(&thread, NULL, watchman, NULL) != 0)
        return 1;
    hora_ns start = hora_clock_now(NULL);
    int faults = live_through_a_day();
    hora_ns spent = hora_clock_now(NULL) - start;
    pthread_join(thread, NULL);
    printf("%d rounds in %d hours, which took %.3f ms; %d faults\n", rounds, HOURS, (double)spent / 1e6,
           faults);
    return faults != 0 || rounds != HOURS || hora_virtual_clock_free(clock_of_test) < 0;
}
