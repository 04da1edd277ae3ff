/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - run a piece of code with all its threads on one seeded, replayable schedule
 *
 * See sim.c for how it works. Not thread-safe: one simulation at a time per process. */
#ifndef HORA_SYS_SIM_H
#define HORA_SYS_SIM_H

#include <stdbool.h>
#include <stdint.h>

enum hora__sim_mode {
    HORA__SIM_RANDOM, /* each decision drawn at random */
    HORA__SIM_PCT,    /* random priorities, lowered at `depth` - 1 random steps (Burckhardt et al.) */
    HORA__SIM_DFS,    /* all schedules with at most `bound` preemptions, one after the other */
    HORA__SIM_REPLAY, /* the decisions of `schedule` */
};

struct hora__sim_options {
    enum hora__sim_mode mode;
    uint64_t seed;
    int depth;              /* PCT */
    int bound;              /* DFS: preemptions, late and spurious wake-ups, stale loads count as one each */
    bool spurious;          /* park, futex and condition waits may return for no reason */
    bool late;              /* time may pass although threads can run */
    bool recycles;          /* memory is kept to be used again, as it is outside of the simulator */
    bool weak;              /* loads may return older values, as far as C17 allows: see weak.c */
    const char *schedule;   /* REPLAY */
    uint64_t max_steps;     /* 0: a default */
    long fail_allocation;   /* the n-th allocation fails, from 1; 0: none */
    long fail_thread_start; /* the n-th thread start fails, from 1; 0: none */
    bool fail_from_then_on; /* ... and all later ones */
};

enum hora__sim_verdict {
    HORA__SIM_PASSED,
    HORA__SIM_FAILED, /* hora__sim_fail was called, an assertion failed, a thread crashed, or a race was seen */
    HORA__SIM_LOST_WAKEUP, /* all threads wait, none with a deadline */
    HORA__SIM_TOO_LONG, /* max_steps: most likely a busy loop; or seconds without any call of the platform */
    HORA__SIM_LEAK,     /* allocations or descriptors are left */
    HORA__SIM_MISUSE, /* lock rank, unlock by a stranger, destroying what is in use, thread not joined, bad free,
                            * or a program that does not repeat itself */
};

struct hora__sim_result {
    enum hora__sim_verdict verdict;
    char message[512];
    const char *schedule; /* what REPLAY takes; valid until the next run */
    uint64_t steps;
    uint64_t switches;
    uint64_t wakeups;   /* returns of threads that really slept: on a futex, a condition or an event */
    long allocations;   /* tried; mutexes, conditions, descriptors and thread pointers count as well */
    long thread_starts; /* tried */
    int64_t time_ns;    /* the simulated monotonic clock at the end */
};

/* Run body in simulated thread 0 until it returns or the schedule fails. */
enum hora__sim_verdict hora__sim_run(const struct hora__sim_options *options, void (*body)(void),
                                     struct hora__sim_result *ret_result);

/* DFS: prepare the next schedule; false when all have been run. hora__sim_dfs_reset starts anew, and also forgets how
 * long the runs were, which PCT learns: call it before another body is run. */
void hora__sim_dfs_reset(void);
bool hora__sim_dfs_next(void);

const char *hora__sim_verdict_name(enum hora__sim_verdict verdict);

/* For code inside a simulation. */
__attribute__((noreturn, format(printf, 1, 2))) void hora__sim_fail(const char *format, ...);
uint64_t hora__sim_random(void); /* from the seed, not part of the schedule */
uint64_t hora__sim_wakeups(void);

/* Set the wall clock forward or back; or suspend the machine, so that only the monotonic clock stands still. */
void hora__sim_step_wall(int64_t by_ns);
void hora__sim_suspend(int64_t by_ns);

/* From now on all threads seem to compute all the time; at first they seem to use no processor at all. */
void hora__sim_compute(bool computing);

/* End the calling thread as pthread_exit does. */
__attribute__((noreturn)) void hora__sim_exit_thread(void);

/* Wait until another thread has announced the flag. For the test itself, not for what is tested: no schedule points. */
void hora__sim_await(const bool *flag);
void hora__sim_announce(bool *flag);

/* What to print when the process dies in the middle of a schedule; NULL: nothing. */
void hora__sim_on_death(void (*print)(void));
const char *hora__sim_schedule_so_far(void);

#endif
