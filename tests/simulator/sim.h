/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - runs a piece of code with all its threads on one schedule, which can be repeated
 *
 * See sim.c for how it works. Not thread-safe: one simulation at a time per process. */
#ifndef HORA_SYS_SIM_H
#define HORA_SYS_SIM_H

#include <stdbool.h>
#include <stdint.h>

enum hora__sim_mode {
    HORA__SIM_RANDOM, /* each decision is drawn at random */
    HORA__SIM_PCT,    /* random priorities, lowered at `depth` - 1 random steps (Burckhardt et al.) */
    HORA__SIM_DFS,    /* all schedules with at most `bound` preemptions, one after the other */
    HORA__SIM_REPLAY, /* the decisions of the text `schedule` */
};

struct hora__sim_options {
    enum hora__sim_mode mode;
    uint64_t seed;          /* of the decisions in modes RANDOM and PCT, and of hora__sim_random */
    int depth;              /* PCT: one more than the number of changes of priority */
    int bound;              /* DFS: preemptions, late and spurious wake-ups, stale loads count as one each */
    bool spurious;          /* park, futex and condition waits may return without a reason */
    bool late;              /* time may pass although threads can run */
    bool recycles;          /* the library keeps memory for reuse, as it does outside of the simulator */
    bool weak;              /* loads may return older values, as far as C17 allows: see weak.c */
    const char *schedule;   /* REPLAY: the text of a schedule */
    uint64_t max_steps;     /* platform calls after which the run ends as TOO_LONG; 0: a default */
    long fail_allocation;   /* the n-th allocation fails, from 1; 0: none */
    long fail_thread_start; /* the n-th thread start fails, from 1; 0: none */
    bool fail_from_then_on; /* all later ones fail, too */
};

enum hora__sim_verdict {
    HORA__SIM_PASSED,
    HORA__SIM_FAILED,      /* a call of hora__sim_fail, a failed assertion, a crash, or a data race */
    HORA__SIM_LOST_WAKEUP, /* all threads wait, none with a deadline */
    HORA__SIM_TOO_LONG,    /* max_steps: probably a busy loop; or seconds without any call of the platform */
    HORA__SIM_LEAK,        /* allocations or descriptors are left */
    /* Lock rank, unlock by another thread, destroying an object in use, thread not joined, bad free, or a
     * program that does not repeat itself. */
    HORA__SIM_MISUSE,
};

struct hora__sim_result {
    enum hora__sim_verdict verdict;
    char message[512];    /* why the schedule failed; "": it passed */
    const char *schedule; /* the text for REPLAY; valid until the next run */
    uint64_t steps;       /* platform calls */
    uint64_t switches;    /* changes from one thread to another */
    uint64_t wakeups;     /* returns of threads that really slept: on a futex, a condition or an event */
    long allocations;     /* attempted; mutexes, conditions, descriptors and thread pointers count, too */
    long thread_starts;   /* attempted */
    int64_t time_ns;      /* the simulated monotonic clock at the end */
};

/* Runs body in simulated thread 0 until it returns or the schedule fails. Returns the verdict, which is also
 * in *ret_result. */
enum hora__sim_verdict hora__sim_run(const struct hora__sim_options *options, void (*body)(void),
                                     struct hora__sim_result *ret_result);

/* For DFS: hora__sim_dfs_next prepares the next schedule, and returns false when all have been run.
 * hora__sim_dfs_reset starts again with the first. It also forgets how long the runs were, which PCT learns:
 * call it before another body is run. */
void hora__sim_dfs_reset(void);
bool hora__sim_dfs_next(void);

const char *hora__sim_verdict_name(enum hora__sim_verdict verdict);

/* The functions below are for code inside a simulation. */

/* Ends the run as FAILED with this message. */
__attribute__((noreturn, format(printf, 1, 2))) void hora__sim_fail(const char *format, ...);

/* Returns a random number that depends on the seed. It is no decision, so it is not part of the schedule. */
uint64_t hora__sim_random(void);

/* Returns the number of wake-ups so far: see hora__sim_result. */
uint64_t hora__sim_wakeups(void);

/* Set the wall clock forward or back; or suspend the machine, so that only the monotonic clock stands
 * still. */
void hora__sim_step_wall(int64_t by_ns);
void hora__sim_suspend(int64_t by_ns);

/* Sets whether threads seem to use processor time from now on: always, or not at all as at the start of a
 * run. */
void hora__sim_compute(bool computing);

/* Ends the calling thread as pthread_exit does. */
__attribute__((noreturn)) void hora__sim_exit_thread(void);

/* await waits until another thread has called announce for the flag. They order threads of a test outside of
 * the code that is tested, so they are no schedule points. */
void hora__sim_await(const bool *flag);
void hora__sim_announce(bool *flag);

/* Sets a function that prints information when the process dies in the middle of a schedule; NULL: none. */
void hora__sim_on_death(void (*print)(void));

/* Returns the text of the decisions made so far in this run. */
const char *hora__sim_schedule_so_far(void);

#endif
