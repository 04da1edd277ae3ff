/* SPDX-License-Identifier: Apache-2.0 */
/* hora/timer.h - timers in memory of the caller: timeouts by the million
 *
 *     struct connection {
 *         hora_timer idle;
 *         ...
 *     };
 *
 *     hora_timer_init(&connection->idle, close_idle, connection);
 *     hora_timer_start(scheduler, &connection->idle, HORA_SECONDS(30));     a request: wait 30 s for the next one
 *     hora_timer_start(scheduler, &connection->idle, HORA_SECONDS(30));     that has come: wait again
 *     hora_timer_cancel(&connection->idle);
 *
 * Most timeouts never happen: they are started and cancelled, often. A timer is a part of what it is about, so nothing is allocated for
 * it, and to start and to cancel one takes a few locks' time. It runs a function of a task's type once, on a thread of the
 * scheduler, at the same exact place in the order of times as a task that hora_scheduler_schedule had scheduled at that moment. What it
 * has not is what a future is for: nobody waits for it, a result is ignored, and it has neither name nor drop.
 *
 * Whose the memory is: the caller's, and it must stay where it is while the timer is pending. It is not pending any more, and
 * hora does not touch it, when hora_timer_cancel has returned, when its function is called, which may start it again or free it, and when its
 * scheduler has stopped it.
 *
 * Threads: the calls on one timer must follow each other; so if one thread starts it and another cancels it, or its function starts it
 * again, that is under a lock of theirs. That its time comes meanwhile is hora's business. A scheduler must not be freed while another
 * thread is in a call on a timer that is pending there.
 *
 * In the end: after hora_pool_shutdown a timer runs as what runs once does, or is cancelled with cancel_delayed; hora_pool_shutdown_now and
 * hora_pool_free cancel all that are pending, and hand nothing back. A timer that its scheduler cancels is not pending any more. In
 * hora_pool_stats timers count as tasks; hora_pool_queue does not show them. */
#ifndef HORA_TIMER_H
#define HORA_TIMER_H

#include <stdbool.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/scheduler.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* Its contents are hora's. 48 bytes where a pointer has 8. */
typedef struct hora_timer {
    hora_run_fn run_;
    void *arg_;
    void *scheduler_;
    uint32_t words_[6];
} hora_timer;

/* HORA_TIMER_INIT(run, arg): a timer that is not pending, for a definition. */
#define HORA_TIMER_INIT(run, arg) {(run), (arg), 0, {0, 0, 0, 0, 0, 0}}

/* hora_timer_init - make a timer that is not pending; to be called once, or again while it is not
 *
 * Ownership: none passes, not even that of arg.   Threads: Owner.   Blocks: Never.
 * Errors: HORA_EINVAL (timer or run NULL). */
HORA_API int hora_timer_init(hora_timer *timer, hora_run_fn run, void *arg);

/* hora_timer_start - run a timer's function once, after a delay
 *
 * A delay of zero or less: at once. Sums saturate. A timer that is pending, here or on another scheduler, is cancelled first: so it is moved, and
 * with HORA_EREJECTED, HORA_ENOMEM and HORA_EAGAIN it is not pending; with any other error nothing has changed. Memory is
 * needed only if the scheduler has more to do than ever before.
 *
 * A code other than 0 that the function returns counts as a failed task.
 *
 * Ownership: none passes; the memory of the timer must stay while it is pending.   Threads: see above.   Blocks: Never.
 * Errors: HORA_EREJECTED (the scheduler is shut down, whatever its rule for tasks), HORA_EINVAL (also: not a scheduler, a timer without a
 * function), HORA_ENOMEM, HORA_EAGAIN (there is no thread, and none can be started), HORA_EFULL (2147483647 are pending), HORA_EFORKED, HORA_EDEADLK.
 * HORA_ENOTSUP: this scheduler shows each task as a future, by a before, after, failed or decorate hook or its oversight, or is steered. */
HORA_API int hora_timer_start(hora_scheduler *scheduler, hora_timer *timer, hora_ns delay);

/* hora_timer_cancel - see that a timer does not run
 *
 * HORA_CANCEL_REMOVED: it was pending, and will not run. HORA_CANCEL_TOO_LATE: it was not: its function runs, or is about to, or has, or it was
 * cancelled, or never started. In either case it is not pending now.
 *
 * Ownership: none passes.   Threads: see above.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED, HORA_EDEADLK; otherwise a hora_cancel. */
HORA_API int hora_timer_cancel(hora_timer *timer);

/* hora_timer_is_pending - whether it is started and neither its function called nor it cancelled; false for NULL
 *
 * True may be over at once.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_timer_is_pending(const hora_timer *timer);

HORA_END_DECLS

#endif
