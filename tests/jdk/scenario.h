/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h - scenarios: timed operations on a scheduler, played by hora and by the JDK
 *
 * A scenario is text. Time is counted in ticks from its start:
 *
 *     scenario NUMBER CORE DELAYED PERIODIC REMOVE   a scheduler with CORE threads and the JDK's three
 *                                                    policies, each 0 or 1:
 *                                                    executeExistingDelayedTasksAfterShutdown,
 *                                                    continueExistingPeriodicTasksAfterShutdown,
 *                                                    removeOnCancel
 *     task ID LENGTH FAILS                           each run takes LENGTH ticks; run number FAILS fails
 *                                                    (0: none)
 *     does ID RUN OPERATION                          what the task does at the beginning of this run
 *     at TICK OPERATION                              what the driver, a thread beside the scheduler, does
 *     end TICK                                       the driver stops the scheduler; two ticks later it
 *                                                    reads the state of everything
 *
 *     schedule ID DELAY      rate ID DELAY PERIOD     gap ID DELAY GAP     submit ID     execute ID
 *     cancel ID INTERRUPT    remove ID                purge                core THREADS
 *     delayed 0|1            periodic 0|1             on_cancel 0|1        shutdown      stop
 *     pool                   future ID                await TICKS          get ID TICKS
 *
 * "await" and "get" wait in a separate thread, a waiter, for half a tick more than they say. DELAY may also
 * be "past" and "forever", the ends of the 64-bit range.
 *
 * The JDK plays in real time, so a scenario must not depend on the order of events within a tick. The driver
 * acts at odd ticks, and everything else happens at even ones. For that the player adds a tick where
 * necessary: to a delay (also of a series that has ended) if the task would be due at an odd tick, to a run
 * if it would end at one. Only what the driver causes at once begins at odd ticks. A run that is interrupted
 * ends at the next even tick, or at once if it is interrupted again.
 *
 * The result of playing is a trace, one event per line:
 *
 *     scenario NUMBER
 *     TICK driver: OPERATION: ANSWER
 *     TICK task ID: begins RUN | OPERATION: ANSWER | interrupted RUN | ends RUN | fails RUN
 *     TICK waiter N: OPERATION: ANSWER
 *     end
 *
 * It is sorted by tick. Within a tick the driver comes first, then the tasks, then the waiters by number. If
 * there never was more than one thread, tasks are in the order of events, which shows the order of tasks that
 * are due at the same time; otherwise they are sorted by number.
 *
 * The number of threads between shutdown and termination, and the largest number of threads, are not shown,
 * because the JDK ends idle threads at arbitrary moments then.
 *
 * A queued task is shown by its number, with a "-" if it is cancelled. Lists of tasks are in the order in
 * which the tasks are due, also those that "stop" hands back. The JDK's lists, which are in the order of its
 * heap, are sorted. */
#ifndef HORA_TESTS_JDK_SCENARIO_H
#define HORA_TESTS_JDK_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MOST_TASKS = 9,
    MOST_THREADS = 3,
    MOST_LINES = 60, /* of one scenario */
    MOST_WORDS = 8,
    LAST_TICK = 1000, /* nothing waits for longer */
};

/* A scenario, read. */
struct line {
    int count;
    char words[MOST_WORDS][12];
};

struct scenario {
    int count;
    struct line lines[MOST_LINES];
};

/* Mistakes that can be made on purpose while hora plays, to show that the comparison finds them. */
enum mutant {
    NO_MUTANT,
    /* no mistake: series are scheduled with hora_scheduler_schedule_with, which must make no difference */
    SPELLED_OUT,
    RATE_FROM_END,   /* a fixed rate counts from the end of the run */
    GAP_FROM_PLAN,   /* a fixed delay counts from the planned time */
    FAILURE_GOES_ON, /* a failure does not end the series */
    MISSED_ONCE,     /* missed runs are made up by one */
    LAST_SPELLED_OUT = MISSED_ONCE,
    LATEST_FIRST,       /* tasks due at the same time run in the wrong order */
    PERIODIC_GOES_ON,   /* series go on after shutdown, whatever was said */
    DELAYED_CANCELLED,  /* what is delayed is cancelled at shutdown, whatever was said */
    CANCELLED_STAYS,    /* cancelled tasks stay in the queue, whatever was said */
    ALWAYS_INTERRUPT,   /* cancel interrupts, whatever was said */
    STOP_AS_SHUTDOWN,   /* stop is only a shutdown */
    SETTERS_DO_NOTHING, /* the policies cannot be changed */
    MUTANTS,
};

const char *mutant_name(enum mutant mutant);

/* Plays a scenario with hora and returns its trace, which the caller frees. Ends the program if that is
 * impossible. */
char *play_scenario(const struct scenario *scenario, enum mutant mutant);

/* Prints `count` scenarios that depend only on the seed. */
void generate_scenarios(uint64_t seed, int count);

#endif
