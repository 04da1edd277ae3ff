/* SPDX-License-Identifier: Apache-2.0 */
/* hora/virtual_clock.h - a clock for tests, which moves only when the test says so
 *
 * A virtual clock makes a test of timed code exact and instant. The threads under test attach themselves
 * to it. So it knows when all of them wait and nothing can run any more:
 *
 *     hora_virtual_clock_expect(vc, 1);                 // one thread will attach
 *     pthread_create(&t, NULL, worker, vc);             // worker: hora_virtual_clock_attach(vc); ...
 *     hora_virtual_clock_settle(vc);                    // until the worker waits in some call of hora
 *     hora_virtual_clock_advance(vc, HORA_HOURS(24));   // what is due now wakes
 *     hora_virtual_clock_settle(vc);                    // until it has done its work and waits again
 */
#ifndef HORA_VIRTUAL_CLOCK_H
#define HORA_VIRTUAL_CLOCK_H

#include <stdint.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

/* A virtual clock: three timelines that a test moves by hand. */
typedef struct hora_virtual_clock hora_virtual_clock;

typedef struct hora_virtual_clock_options {
    /* sizeof(hora_virtual_clock_options), set by HORA_VIRTUAL_CLOCK_OPTIONS */
    uint32_t struct_size;
    /* first reading of the monotonic and boot-time lines; must not be negative */
    hora_ns monotonic;
    /* first reading of the wall line */
    hora_instant wall;
} hora_virtual_clock_options;

#define HORA_VIRTUAL_CLOCK_OPTIONS(...) HORA__LITERAL(hora_virtual_clock_options, __VA_ARGS__)

/* hora_virtual_clock_new - make a virtual clock; NULL options: all lines start at 0
 *
 * Ownership: the caller owns *ret_clock, to be freed with hora_virtual_clock_free.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN. */
HORA_NODISCARD HORA_API int hora_virtual_clock_new(const hora_virtual_clock_options *options,
                                                   hora_virtual_clock **ret_clock, hora_error *reason);

/* hora_virtual_clock_free - free a virtual clock that nothing uses any more
 *
 * NULL is allowed. All objects made with one of its views must have been freed and all threads detached.
 *
 * Ownership: on success the clock and its views are gone; on error nothing has changed.
 * Threads: Owner.   Blocks: Never.
 * Errors: HORA_EBUSY (an object was made with it, a thread sleeps on it or is attached), HORA_EFORKED. */
HORA_API int hora_virtual_clock_free(hora_virtual_clock *clock);

/* hora_virtual_clock_view - the clock to give to objects: one line of a virtual clock
 *
 * Ownership: belongs to the virtual clock and ends with it; NULL if an argument is invalid.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const hora_clock *hora_virtual_clock_view(hora_virtual_clock *clock, hora_clock_id id);

/* hora_virtual_clock_advance - let time pass on all three lines; what is then due wakes up
 *
 * Returns as soon as the sleepers have been woken; hora_virtual_clock_settle waits for what they do.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative), HORA_EFORKED. */
HORA_API int hora_virtual_clock_advance(hora_virtual_clock *clock, hora_ns by);

/* hora_virtual_clock_advance_to_next - let time pass until the next moment for which somebody waits
 *
 * Somebody is a thread in a timed call that has not been woken yet, or a descriptor of a delay queue that
 * is not readable yet; with a lateness, the moment is the one when they will be woken. Writes how far time
 * has moved. `ret_by` may be NULL.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EEMPTY (nobody waits for a time), HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_virtual_clock_advance_to_next(hora_virtual_clock *clock, hora_ns *ret_by);

/* hora_virtual_clock_attach - tell the clock that the calling thread is one of those it is tested with
 *
 * From now on the clock counts this thread as able to run whenever it is not waiting in a call of hora
 * without a time limit or with one on this clock. A thread is attached to at most one clock. If
 * hora_virtual_clock_expect announced threads, this is one of them. The end of the thread detaches it.
 *
 * Ownership: none passes; the clock must not be freed before the thread is detached.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EBUSY (attached already), HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_virtual_clock_attach(hora_virtual_clock *clock);

/* hora_virtual_clock_detach - the calling thread no longer counts
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (not attached to this clock), HORA_EFORKED. */
HORA_API int hora_virtual_clock_detach(hora_virtual_clock *clock);

/* hora_virtual_clock_expect - announce threads that are about to attach
 *
 * Each counts as able to run until it has attached itself, so that hora_virtual_clock_settle cannot
 * return before a thread that was just started has got going. A negative number takes announcements
 * back, for a thread that could not be started.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (fewer than 0 or more than INT_MAX would be expected), HORA_EFORKED. */
HORA_API int hora_virtual_clock_expect(hora_virtual_clock *clock, int threads);

/* hora_virtual_clock_settle - wait until nothing can run: all expected threads have come, all attached
 * ones wait
 *
 * The calling thread does not count, even if it is attached. A thread counts as able to run from the
 * moment it is woken, not only once the system lets it run.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until nothing can run, or interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_virtual_clock_settle(hora_virtual_clock *clock);

/* hora_virtual_clock_run - let time pass together with all that happens meanwhile
 *
 * Goes from each moment for which somebody waits to the next, as hora_virtual_clock_advance_to_next does,
 * and at each lets run what can run, as hora_virtual_clock_settle does; up to and including the moment
 * that lies `by` ahead. Then the lines show that moment and nothing can run. The calling thread does not
 * count, even if it is attached. It is fast: the last of the attached threads that waits moves the clock
 * itself, and just goes on if it is its own turn.
 *
 * Threads that are not attached, and those who poll a descriptor, are woken at their moment but not waited
 * for. The end is a moment of the monotonic line: if another thread advances the clock meanwhile, that
 * counts, and beyond the end it is not set back; if another sets the wall or suspends, the end is where it
 * was, but what waits on those lines comes nearer. Those who settle meanwhile are released at one of the
 * moments. When the caller is interrupted, time stays at the moment reached.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until the end is reached and nothing can run,
 * or interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_EBUSY (another thread is in this call), HORA_EINVAL (negative),
 * HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_virtual_clock_run(hora_virtual_clock *clock, hora_ns by);

/* hora_virtual_clock_step_wall - set the wall line forward or back; the others stay
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_virtual_clock_step_wall(hora_virtual_clock *clock, hora_ns by);

/* hora_virtual_clock_suspend - let the machine sleep: boot time and the wall go on, monotonic stands still
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative), HORA_EFORKED. */
HORA_API int hora_virtual_clock_suspend(hora_virtual_clock *clock, hora_ns by);

/* hora_virtual_clock_set_lateness - wake every sleeper this much after its time, as a loaded machine does
 *
 * Holds from now on, also for those who sleep already. 0, the start value: exactly in time.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative), HORA_EFORKED. */
HORA_API int hora_virtual_clock_set_lateness(hora_virtual_clock *clock, hora_ns lateness);

HORA_END_DECLS

#endif
