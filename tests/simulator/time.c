/* SPDX-License-Identifier: Apache-2.0 */
/* time.c - the simulated clocks
 *
 * How it works      There is one clock, the monotonic one. The other two timelines are ahead of it by
 *                   distances that only hora__sim_step_wall and hora__sim_suspend change; deadlines on those
 *                   timelines move with them. The clock stands still while a thread can run, so that code
 *                   takes no time, and jumps to the earliest deadline when all threads wait. With
 *                   options.late the scheduler may let it jump although threads can run, and it may jump too
 *                   far, as a sleeper on a loaded machine wakes up late.
 * Invariants        T1 the clock never goes back.
 *                   T2 after a jump no thread waits for a moment that has passed. */
#include "sys/clock.h"

#include "simulator/internal.h"

#define SECOND INT64_C(1000000000)

enum { TIMELINES = 3 };

/* The three clocks start with different times, none of them zero, so that tests find code that mixes them
 * up. */
static const int64_t start_ns = 1000 * SECOND;
static const int64_t start_ahead_ns[] = {
    [HORA__MONOTONIC] = 0,
    [HORA__BOOTTIME] = 500 * SECOND,
    [HORA__WALL] = INT64_C(1767225600) * SECOND, /* 2026-01-01, plus start_ns */
};

void hora__sim_time_begin(void)
{
    hora__sim.now_ns = start_ns;
    for (int i = 0; i < TIMELINES; i++)
        hora__sim.ahead_ns[i] = start_ahead_ns[i];
}

/* Returns a + b, or the nearest representable time. */
static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t hora__sim_earlier(int64_t time_ns, int64_t by_ns)
{
    return time_ns == INT64_MAX ? INT64_MAX : add(time_ns, -by_ns);
}

/* Converts a time on a timeline to the monotonic clock, by the current distance between the two. */
int64_t hora__sim_monotonic(enum hora__timeline timeline, int64_t time_ns)
{
    return hora__sim_earlier(time_ns, hora__sim.ahead_ns[timeline]);
}

int64_t hora__now(enum hora__timeline timeline)
{
    /* Only with `late` can time pass while threads can run. Without it the reading does not depend on which
     * thread runs first, so no schedule point is needed. */
    if (hora__sim.options.late)
        hora__sim_point();
    else
        hora__sim_step();
    return add(hora__sim.now_ns, hora__sim.ahead_ns[timeline]);
}

/* Returns the earliest deadline of all blocked threads; INT64_MAX: there is none. */
static int64_t earliest_deadline(void)
{
    int64_t earliest = INT64_MAX;
    for (uint64_t left = hora__sim.timed; left != 0;) {
        int64_t deadline_ns = sim_take_first(&left)->deadline_ns;
        if (deadline_ns < earliest)
            earliest = deadline_ns;
    }
    return earliest;
}

/* Returns how far the clock jumps beyond the deadline, a decision of the schedule. */
static int64_t lateness(void)
{
    static const int64_t choices[] = {0, 1, SECOND / 1000, SECOND};
    if (!hora__sim.options.late)
        return 0;
    return choices[hora__sim_decide(SIM_LATENESS, sizeof choices / sizeof choices[0], 1)];
}

/* Wakes the threads whose deadline has passed, and makes the timers readable whose deadline has passed. */
static void wake_due(void)
{
    for (uint64_t left = hora__sim.timed; left != 0;) {
        struct sim_thread *thread = sim_take_first(&left);
        if (thread->deadline_ns <= hora__sim.now_ns)
            hora__sim_wake(thread); /* T2 */
    }
    hora__sim_events_time_passed();
}

bool hora__sim_time_pass(void)
{
    if (hora__sim.timed == 0)
        return false;
    int64_t to_ns = add(earliest_deadline(), lateness());
    if (to_ns > hora__sim.now_ns)
        hora__sim.now_ns = to_ns; /* T1 */
    wake_due();
    return true;
}

/* Moves a timeline ahead by by_ns, or back if negative. Deadlines on it come nearer by as much. */
static void move_line(enum hora__timeline timeline, int64_t by_ns)
{
    hora__sim.ahead_ns[timeline] = add(hora__sim.ahead_ns[timeline], by_ns);
    for (uint64_t left = hora__sim.timed; left != 0;) {
        struct sim_thread *thread = sim_take_first(&left);
        if (thread->timeline == timeline)
            thread->deadline_ns = hora__sim_earlier(thread->deadline_ns, by_ns);
    }
    hora__sim_timers_follow(timeline, by_ns);
}

/* Completes a change of the clocks: wakes the threads that became due and those that watch the clocks. */
static void clock_was_set(void)
{
    wake_due();
    hora__sim_events_clock_set();
    hora__sim_after();
}

void hora__sim_step_wall(int64_t by_ns)
{
    hora__sim_point();
    move_line(HORA__WALL, by_ns);
    clock_was_set();
}

void hora__sim_suspend(int64_t by_ns)
{
    hora__sim_point();
    move_line(HORA__BOOTTIME, by_ns);
    move_line(HORA__WALL, by_ns);
    clock_was_set();
}
