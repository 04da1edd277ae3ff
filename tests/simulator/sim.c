/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - the simulator: one run, from its first thread to its verdict
 *
 * Purpose           The library above src/sys runs here unchanged, but all its threads share one thread of
 *                   the process and run one at a time, in the order of a schedule. The schedule comes from a
 *                   seed, from a search or from a text. So a fault that was found once can be repeated. The
 *                   clocks are simulated and no thread really sleeps, so tens of thousands of schedules run
 *                   per second.
 * How it works      Every call of the platform may continue another simulated thread (schedule.c) by
 *                   switching stacks (context.c). A thread that has to wait is not chosen until it can go on
 *                   (thread.c, lock.c, futex.c, event.c). When no thread can go on, the clock jumps to the
 *                   earliest deadline (time.c); if there is none, a wake-up was lost. Allocations are counted
 *                   and can be made to fail (memory.c). The decisions are recorded and can be repeated
 *                   (record.c). Crashes are verdicts, too (crash.c). The run ends when the body returns or
 *                   any thread calls hora__sim_end. Control then returns to hora__sim_run, which frees
 *                   everything that was left.
 * Coverage          The simulator explores interleavings of platform calls: sequentially consistent ones or,
 *                   with options.weak, all that C17 allows (weak.c). ThreadSanitizer finds data races between
 *                   those calls: see context.c. With -fsanitize=thread, the files of this folder must be
 *                   compiled without it and with HORA_SIM_TSAN.
 * Invariants        D1 the first verdict of a run stays.
 *                   D2 after hora__sim_run no simulated thread, block or descriptor exists, whatever the
 *                   verdict. */
#include "simulator/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "simulator/internal.h"
#include "sys/process.h"

enum { MOST_STEPS = 20000 }; /* the default of options.max_steps */

struct sim hora__sim;
enum hora__fault hora__fault_planted;

/* Returns the next number of a SplitMix64 sequence. */
uint64_t hora__sim_mix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15)); /* SplitMix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t hora__sim_random(void)
{
    return hora__sim_mix(&hora__sim.random);
}

uint64_t hora__sim_wakeups(void)
{
    return hora__sim.result->wakeups;
}

const char *hora__sim_verdict_name(enum hora__sim_verdict verdict)
{
    switch (verdict) {
    case HORA__SIM_PASSED:
        return "passed";
    case HORA__SIM_FAILED:
        return "failed";
    case HORA__SIM_LOST_WAKEUP:
        return "lost wake-up";
    case HORA__SIM_TOO_LONG:
        return "too long";
    case HORA__SIM_LEAK:
        return "leak";
    case HORA__SIM_MISUSE:
        return "misuse";
    }
    return "?";
}

/* Ends the run with a verdict: switches to hora__sim_run and never returns. Outside of a run it ends the
 * process. */
static void end_with(enum hora__sim_verdict verdict, const char *format, va_list arguments)
{
    struct hora__sim_result *result = hora__sim.result;
    if (!hora__sim.running) {
        fprintf(stderr, "simulator: outside of a simulation: ");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
        abort();
    }
    hora__sim.running = false; /* D1 */
    result->verdict = verdict;
    (void)vsnprintf(result->message, sizeof result->message, format, arguments);
    struct sim_context *own = &hora__sim.current->context;
    if (hora__sim.current->state == SIM_ENDED)
        hora__sim_context_leave(own, &hora__sim.root);
    hora__sim_context_switch(own, &hora__sim.root);
    abort(); /* no context switches back */
}

void hora__sim_end(enum hora__sim_verdict verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_with(verdict, format, arguments);
    va_end(arguments);
    abort();
}

void hora__sim_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_with(HORA__SIM_FAILED, format, arguments);
    va_end(arguments);
    abort();
}

void hora__sim_step(void)
{
    if (!hora__sim.running)
        hora__sim_end(HORA__SIM_MISUSE, "a call of the platform");
    if (++hora__sim.steps > hora__sim.options.max_steps)
        hora__sim_end(HORA__SIM_TOO_LONG, "more than %llu steps",
                      (unsigned long long)hora__sim.options.max_steps);
}

/* Checks what must hold when the body has returned and thread 0 has ended, and ends the run. */
void hora__sim_body_ended(void)
{
    uint64_t others = hora__sim.used & ~UINT64_C(1);
    if (others != 0)
        hora__sim_end(HORA__SIM_MISUSE, "thread %d was not joined", sim_number(sim_take_first(&others)));
    hora__sim_memory_check();
    hora__sim_events_check();
    if (hora__sim.options.mode == HORA__SIM_DFS && !hora__sim_record_is_used_up())
        hora__sim_end(HORA__SIM_MISUSE, "the program does not repeat itself: it ends before its schedule");
    hora__sim_end(HORA__SIM_PASSED, "%s", "");
}

/* The function of thread 0. */
static void run_body(void *body)
{
    (void)body; /* a function does not fit through an object pointer */
    hora__sim.body();
}

/* Initialises the state of a run. Returns false if the text of a schedule to replay is malformed. */
static bool begin(const struct hora__sim_options *options, struct hora__sim_result *result)
{
    *result = (struct hora__sim_result){.verdict = HORA__SIM_PASSED};
    hora__sim.options = *options;
    if (options->max_steps == 0)
        hora__sim.options.max_steps = MOST_STEPS;
    hora__sim.result = result;
    hora__sim.run_number++;
    hora__sim.steps = 0;
    hora__sim.computing = false;
    hora__sim.used_ns = 0;
    hora__sim.random = options->seed;
    hora__sim_time_begin();
    bool sensible = options->mode != HORA__SIM_REPLAY || hora__sim_record_parse(options->schedule);
    hora__sim_schedule_begin();
    hora__sim_weak_begin();
    return sensible;
}

/* Starts thread 0 and returns when the run has ended. */
static void run_threads(void)
{
    hora__sim_context_adopt(&hora__sim.root);
    hora__sim.current = hora__sim_thread_new(run_body, NULL, NULL);
    if (hora__sim.current == NULL) {
        fprintf(stderr, "simulator: no memory for a stack\n");
        abort();
    }
    hora__sim.running = true;
    hora__sim_context_switch(&hora__sim.root, &hora__sim.current->context);
}

/* Frees everything that the run left, and completes the result. */
static void end(struct hora__sim_result *result)
{
    hora__sim_weak_end();
    hora__sim_threads_end();
    hora__sim_memory_end();
    hora__sim_events_end(); /* D2 */
    hora__roster_clear();
    hora__sim_schedule_learn();
    if (hora__sim_race_seen() && result->verdict == HORA__SIM_PASSED) {
        result->verdict = HORA__SIM_FAILED;
        (void)snprintf(result->message, sizeof result->message, "ThreadSanitizer reported a race, see above");
    }
    result->schedule = hora__sim_record_text();
    result->steps = hora__sim.steps;
    result->time_ns = hora__sim.now_ns;
    hora__sim.result = NULL;
    hora__sim.current = NULL;
}

enum hora__sim_verdict hora__sim_run(const struct hora__sim_options *options, void (*body)(void),
                                     struct hora__sim_result *ret_result)
{
    hora__sim_catch_crashes();
    hora__sim.body = body;
    if (begin(options, ret_result)) {
        run_threads();
    } else {
        ret_result->verdict = HORA__SIM_MISUSE;
        (void)snprintf(ret_result->message, sizeof ret_result->message, "this is not the text of a schedule");
    }
    end(ret_result);
    return ret_result->verdict;
}
