/* SPDX-License-Identifier: Apache-2.0 */
/* timers.h - the functions that a library with timers must implement for W3 to W7
 *
 * Each library is a separate program: timers_main.c, the driver, and one file that defines the functions
 * timers_*, in the language of the library. Timers.java measures the JDK and Netty.
 *
 * All times are readings of the monotonic clock. A timer must never run early. For a library that counts in
 * larger units than nanoseconds, times are rounded up.
 *
 * Threads     Some libraries (hora, the JDK, APR, Asio, Go, tokio) have threads that run the timers that are
 *             due. They get TIMERS_WORKERS threads, except Go, which decides for itself. libevent, libev and
 *             GLib are loops that other threads may use; they have a separate thread from the start. libuv is
 *             a loop that belongs to one thread. There the thread that calls these functions also runs the
 *             loop, one iteration after each LOOP_CALLS calls. After timers_part the loop has a separate
 *             thread, and others reach it in the way that the library provides. */
#ifndef HORA_BENCH_TIMERS_H
#define HORA_BENCH_TIMERS_H

#include "../measure.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIMERS_WORKERS = 2, /* threads that run timers */
    MOST_PRODUCERS = 2, /* threads that schedule timers */
    MOST_LAG = 1024,    /* the largest lag of timers_churn and timers_reuse */
    LOOP_CALLS = 64,    /* calls between two iterations of a loop */
};

/* ---- functions of the library ---- */

/* Initialises the library. Called once, before everything else. When it returns, the threads that wait for
 * timers have been started. */
void timers_open(void);

/* Schedules `count` timers that stay pending; those that become due call timer_expired. The library keeps all
 * that is needed to cancel them. Called at most once. */
void timers_fill(const int64_t *due_ns, long count);

/* Like timers_fill, for timers that are never cancelled. A library for which that makes no difference need
 * not define it. */
void timers_leave(const int64_t *due_ns, long count);

/* Like timers_fill, with all timers in one array. A library whose timers are not in memory of the caller does
 * not define it. */
void timers_embed(const int64_t *due_ns, long count);

/* Announces that from now on other threads schedule timers, or none. Called at most once. */
void timers_part(void);

/* For each delay, makes a new timer that would call timer_forbidden, schedules it, cancels it and frees it.
 * Called by one thread or, after timers_part, by MOST_PRODUCERS at once, each with its own number. With a
 * lag, a timer is cancelled when `lag` others have been scheduled after it, and the last ones stay pending.
 * Only one thread uses a lag, and always the same one. */
void timers_churn(int producer, const int64_t *delay_ns, long count, int lag);

/* Like timers_churn, with timers that are made once and used again: one for each producer, or `lag` of them.
 * A library whose timers cannot be used again does not define it. A process calls only one of the two. */
void timers_reuse(int producer, const int64_t *delay_ns, long count, int lag);

/* Waits until other threads have carried out all cancellations, if the library needs other threads for
 * that. */
void timers_settle(void);

/* Schedules `count` timers, one after the other, which call timer_fired with their number. Stores in due_ns
 * when each is due: delay_ns[number] after the moment at which it is scheduled. May return before they have
 * fired. */
void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count);

/* Runs tasks that call timer_ran with their number every period_ns, beginning at first_ns[number]. Stops them
 * at end_ns and returns; runs that have begun may still go on. */
void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns);

/* Like timers_repeat, but each run may start up to slack_ns later than planned, so that wake-ups can be
 * merged. A library that has no such setting does not define it. */
void timers_repeat_lax(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t slack_ns,
                       int64_t end_ns);

/* Frees everything. Called once, at the end. */
void timers_close(void);

/* ---- functions of the driver, which timers call ---- */

/* Tells that timers_fire has spent this time on running timers instead of scheduling them. */
void timers_aside(int64_t spent_ns);

void timer_expired(void);
void timer_forbidden(void); /* ends the program: a cancelled timer ran */
void timer_fired(long number);
void timer_ran(int number);

#ifdef __cplusplus
}
#endif

#endif
