/* SPDX-License-Identifier: Apache-2.0 */
/* timers.h - what is measured of timers, in the terms that all libraries have in common: W3 to W7
 *
 * Each library is a program of its own: timers_main.c, which drives, and one file that defines the functions timers_*, in
 * whatever language the library is for. Timers.java has the JDK's and Netty's.
 *
 * All times are readings of the monotonic clock. A timer may never run early; a library that counts in larger units than
 * nanoseconds is given the next larger one.
 *
 * Some libraries (hora, the JDK, APR, Asio, Go, tokio) have threads that run what is due; they get TIMERS_WORKERS of them, but for
 * Go, which knows itself. libevent is a loop that
 * other threads may use; it has a thread from the start. Others (libuv, GLib) are a loop that belongs to one thread. There the thread that calls these
 * functions is that of the loop, and lets it turn once after LOOP_CALLS calls. After timers_part the loop has a thread of its own, and others
 * reach it in the way that the library has for it. */
#ifndef HORA_BENCH_TIMERS_H
#define HORA_BENCH_TIMERS_H

#include "../measure.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIMERS_WORKERS = 2,
    MOST_PRODUCERS = 2,
    MOST_LAG = 1024,
    LOOP_CALLS = 64,
};

/* ---- what a library does ---- */

/* Once, before everything else. Threads that wait for timers have been started when it returns. */
void timers_open(void);

/* Let so many timers wait; those that fall due meanwhile call timer_expired. They can be cancelled: what one has to keep for
 * that is kept. At most once. */
void timers_fill(const int64_t *due_ns, long count);

/* The same of timers that nobody will cancel; a library for which that makes no difference need not define it. */
void timers_leave(const int64_t *due_ns, long count);

/* From now on other threads than this one schedule, or none. At most once. */
void timers_part(void);

/* Schedule a timer that would call timer_forbidden, and cancel it, for each of these delays. By one thread, or after
 * timers_part by MOST_PRODUCERS at once, each with its own number. With a lag, which only one thread has, always the same, a timer
 * is cancelled when so many others have been scheduled after it, and the last ones stay. */
void timers_churn(int producer, const int64_t *delay_ns, long count, int lag);

/* Wait until nothing is left of what was cancelled, if that takes other threads. */
void timers_settle(void);

/* Schedule so many timers, one after the other, which call timer_fired with their number. For each write down when it is due,
 * delay_ns[number] from when its turn comes. May return before they have fired. */
void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count);

/* Let so many tasks call timer_ran with their number every period_ns, beginning at first_ns[number]. Returns at end_ns, when
 * they have been stopped, but for runs that have begun. */
void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns);

void timers_close(void);

/* ---- what they call ---- */

void timer_expired(void);
void timer_forbidden(void);
void timer_fired(long number);
void timer_ran(int number);

#ifdef __cplusplus
}
#endif

#endif
