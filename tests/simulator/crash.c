/* SPDX-License-Identifier: Apache-2.0 */
/* crash.c - crashes, failed assertions and hangs inside a simulation become verdicts
 *
 * Purpose           If an assertion fails, a thread crashes, or a loop never calls the platform, the schedule
 *                   fails like any other: it is printed, and the next one is run.
 * How it works      assert() calls __assert_fail, which this file defines for the whole program. Handlers for
 *                   faults of the processor run on a separate stack, because the fault may be an overflow of
 *                   the thread's stack. They switch to hora__sim_run and never return. A timer of processor
 *                   time checks once a second whether the simulation is still in the same step.
 * Sanitizers        The report of a sanitizer is worth more than further schedules. So the sanitizer reports
 *                   and ends the process; before that a callback prints the schedule. A race that
 *                   ThreadSanitizer reports does not end the process; it fails the schedule in which it was
 *                   seen. */
#undef NDEBUG
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "simulator/internal.h"

#if defined(HORA_SIM_ASAN) || defined(HORA_SIM_TSAN)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum {
    HANDLER_STACK = 128 * 1024, /* bytes */
    PATIENCE_SECONDS = 10       /* processor time that one step may take */
};

static void (*print_on_death)(void); /* see hora__sim_on_death; NULL: none */

void hora__sim_on_death(void (*print)(void))
{
    print_on_death = print;
}

const char *hora__sim_schedule_so_far(void)
{
    return hora__sim_record_text();
}

#if defined(__linux__)

#if defined(__GLIBC__)
typedef unsigned assert_line;
#else
typedef int assert_line; /* musl */
#endif

/* Replaces the function of the C library that every failing assert() calls. */
void __assert_fail(const char *assertion, const char *file, assert_line line, const char *function)
{
    if (hora__sim.running)
        hora__sim_fail("%s:%d: %s: assertion failed: %s", file, (int)line, function, assertion);
    fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, (int)line, function, assertion);
    abort();
}

#endif

/* Handles a fault of the processor: ends the run, or the process if no simulation is running. */
static void on_fault(int number)
{
    if (!hora__sim.running) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
        return;
    }
    hora__sim_fail("thread %d crashed with signal %d", sim_number(hora__sim.current), number);
}

/* Runs once per second of processor time. Ends the run if the same step has been going on for
 * PATIENCE_SECONDS. */
static void on_tick(int number)
{
    static uint64_t seen; /* the step at the last tick */
    static int ticks;     /* ticks since that step was first seen */
    (void)number;
    uint64_t now = hora__sim.run_number * UINT64_C(1000003) + hora__sim.steps;
    ticks = hora__sim.running && now == seen ? ticks + 1 : 0;
    seen = now;
    if (ticks < PATIENCE_SECONDS)
        return;
    ticks = 0;
    hora__sim_end(HORA__SIM_TOO_LONG,
                  "thread %d has been running for %d seconds without any call of the platform",
                  sim_number(hora__sim.current), PATIENCE_SECONDS);
}

/* Starts the timer that calls on_tick. */
static void watch_time(void)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_NODEFER | SA_ONSTACK | SA_RESTART};
    struct itimerval each_second = {{1, 0}, {1, 0}};
    (void)sigaction(SIGVTALRM, &action, NULL);
    (void)setitimer(ITIMER_VIRTUAL, &each_second, NULL);
}

/* Installs on_fault, on a separate stack. */
static void catch_faults(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    static char handler_stack[HANDLER_STACK];
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    (void)sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER | SA_ONSTACK};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        (void)sigaction(faults[i], &action, NULL);
}

#if SANITIZED

void __sanitizer_set_death_callback(void (*callback)(void));

/* Called by a sanitizer before it ends the process. */
static void on_death(void)
{
    if (hora__sim.running && print_on_death != NULL)
        print_on_death();
}

static void catch_death(void)
{
    __sanitizer_set_death_callback(on_death);
}

#else

static void catch_death(void)
{
}

#endif

static bool race_seen; /* ThreadSanitizer has reported a race since the last call of hora__sim_race_seen */

#ifdef HORA_SIM_TSAN

/* ThreadSanitizer calls it with each report. */
void __tsan_on_report(void *report);

void __tsan_on_report(void *report)
{
    (void)report;
    race_seen = true;
}

#endif

bool hora__sim_race_seen(void)
{
    bool seen = race_seen;
    race_seen = false;
    return seen;
}

void hora__sim_catch_crashes(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    if (SANITIZED) {
        catch_death();
        return;
    }
    catch_faults();
    watch_time();
}
