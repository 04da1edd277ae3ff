/* SPDX-License-Identifier: Apache-2.0 */
/* hora/virtual_clock.h - a clock for tests that advances only when the test says so
 *
 * A virtual clock makes tests of timed code exact and instant. Objects are created with one of its views as
 * their clock. The threads under test attach themselves to it, so that it knows when all of them are waiting
 * and nothing can run:
 *
 *     hora_virtual_clock_expect(vc, 1);                 // one thread will attach
 *     pthread_create(&t, NULL, worker, vc);             // worker: hora_virtual_clock_attach(vc); ...
 *     hora_virtual_clock_settle(vc);                    // until the worker waits in some call of hora
 *     hora_virtual_clock_advance(vc, HORA_HOURS(24));   // wakes threads whose time has come
 *     hora_virtual_clock_settle(vc);                    // until it has done its work and waits again */
#ifndef HORA_VIRTUAL_CLOCK_H
#define HORA_VIRTUAL_CLOCK_H

#include <stdint.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

/* A virtual clock: three timelines, monotonic, boot time and wall, that a test advances by hand. */
typedef struct hora_virtual_clock hora_virtual_clock;

/* Options of hora_virtual_clock_new. */
typedef struct hora_virtual_clock_options {
    /* sizeof(hora_virtual_clock_options), set by HORA_VIRTUAL_CLOCK_OPTIONS */
    uint32_t struct_size;
    /* initial reading of the monotonic and boot-time lines; must not be negative */
    hora_ns monotonic;
    /* initial reading of the wall line */
    hora_instant wall;
} hora_virtual_clock_options;

/* HORA_VIRTUAL_CLOCK_OPTIONS(.wall = {ns}): an options literal. */
#define HORA_VIRTUAL_CLOCK_OPTIONS(...) HORA__LITERAL(hora_virtual_clock_options, __VA_ARGS__)

/* hora_virtual_clock_new - create a virtual clock; NULL options mean that all lines start at 0
 *
 * Ownership: the caller owns *ret_clock and frees it with hora_virtual_clock_free.   Threads: Any thread.
 * Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN. */
HORA_NODISCARD HORA_API int hora_virtual_clock_new(const hora_virtual_clock_options *options,
                                                   hora_virtual_clock **ret_clock, hora_error *reason);

/* hora_virtual_clock_free - free a virtual clock that is no longer in use
 *
 * NULL is allowed. All objects created with one of its views must have been freed, and all threads detached.
 *
 * Ownership: on success the clock and its views are freed; on error nothing has changed.   Threads: Owner.
 * Blocks: Never.
 * Errors: HORA_EBUSY (an object that uses it exists; a thread is attached, or is sleeping on it, settling or
 * running it), HORA_EFORKED. */
HORA_API int hora_virtual_clock_free(hora_virtual_clock *clock);

/* hora_virtual_clock_view - return one line of a virtual clock as a clock to pass to objects
 *
 * HORA_CLOCK_DEFAULT means the monotonic line.
 *
 * Ownership: the view belongs to the virtual clock and is freed with it; NULL if an argument is invalid.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const hora_clock *hora_virtual_clock_view(hora_virtual_clock *clock, hora_clock_id id);

/* hora_virtual_clock_advance - advance all three lines and wake the threads that are then due
 *
 * Returns as soon as the sleeping threads have been woken; hora_virtual_clock_settle waits for what they do.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative), HORA_EFORKED. */
HORA_API int hora_virtual_clock_advance(hora_virtual_clock *clock, hora_ns by);

/* hora_virtual_clock_advance_to_next - advance to the next time that a thread or descriptor is waiting for
 *
 * It considers threads in a timed call that have not been woken yet, and descriptors of delay queues that are
 * not readable yet. If a lateness is set, the time is when they will be woken. Writes how far time has moved;
 * `ret_by` may be NULL.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EEMPTY (nothing waits for a time), HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_virtual_clock_advance_to_next(hora_virtual_clock *clock, hora_ns *ret_by);

/* hora_virtual_clock_attach - attach the calling thread to the clock
 *
 * From now on the clock considers this thread runnable whenever it is not waiting in a call of hora that has
 * no timeout or a timeout on this clock. A thread is attached to at most one clock. If
 * hora_virtual_clock_expect announced threads, this thread is one of them. When the thread ends, it is
 * detached.
 *
 * Ownership: not transferred; the clock must not be freed before the thread is detached.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EBUSY (already attached), HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_virtual_clock_attach(hora_virtual_clock *clock);

/* hora_virtual_clock_detach - detach the calling thread from the clock
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (not attached to this clock), HORA_EFORKED. */
HORA_API int hora_virtual_clock_detach(hora_virtual_clock *clock);

/* hora_virtual_clock_expect - announce threads that are about to attach
 *
 * Each of them counts as runnable until it has attached itself, so that hora_virtual_clock_settle cannot
 * return before a thread that was just started is running. A negative number withdraws announcements, for a
 * thread that could not be started.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (fewer than 0 or more than INT_MAX would be expected), HORA_EFORKED. */
HORA_API int hora_virtual_clock_expect(hora_virtual_clock *clock, int threads);

/* hora_virtual_clock_settle - wait until all expected threads have attached and all attached threads wait
 *
 * The calling thread does not count, even if it is attached. A thread counts as runnable from the moment it
 * is woken, not only once the system runs it.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: until nothing can run, or interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_virtual_clock_settle(hora_virtual_clock *clock);

/* hora_virtual_clock_run - let time pass, and let threads run whenever their time has come
 *
 * Advances from each time that is waited for to the next, as hora_virtual_clock_advance_to_next does, and at
 * each lets everything run that can run, as hora_virtual_clock_settle does, up to and including the time `by`
 * from now. Afterwards the lines show that time and nothing can run. The calling thread does not count, even
 * if it is attached. The call is fast: the last attached thread that begins to wait advances the clock
 * itself, and simply continues if its own time has come.
 *
 * Threads that are not attached, and threads that poll a descriptor, are woken at their time, but the call
 * does not wait for them. The end is a time on the monotonic line. If another thread advances the clock
 * during the call, that counts towards the end, and the clock is not set back if it is beyond the end. If
 * another thread steps the wall line or suspends, the end does not change, but the times on those lines come
 * nearer. Threads in hora_virtual_clock_settle return at one of the times. If the caller is interrupted, the
 * clock stays at the time it has reached.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until the end is reached and nothing can run, or interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_EBUSY (another thread is in this call), HORA_EINVAL (negative),
 * HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_virtual_clock_run(hora_virtual_clock *clock, hora_ns by);

/* hora_virtual_clock_step_wall - set the wall line forward or back; the other lines do not change
 *
 * A negative `by` sets it back. Threads whose time on the wall line has come are woken.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_virtual_clock_step_wall(hora_virtual_clock *clock, hora_ns by);

/* hora_virtual_clock_suspend - simulate a suspended machine: boot time and wall advance, monotonic does not
 *
 * Threads whose time on one of these two lines has come are woken.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative), HORA_EFORKED. */
HORA_API int hora_virtual_clock_suspend(hora_virtual_clock *clock, hora_ns by);

/* hora_virtual_clock_set_lateness - wake every sleeping thread this much late, as a loaded machine does
 *
 * Applies from now on, also to threads that are already sleeping. The initial value 0 means exactly on time.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative), HORA_EFORKED. */
HORA_API int hora_virtual_clock_set_lateness(hora_virtual_clock *clock, hora_ns lateness);

HORA_END_DECLS

#endif
