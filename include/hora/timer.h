/* SPDX-License-Identifier: Apache-2.0 */
/* hora/timer.h - timers in memory of the caller: timeouts by the million
 *
 *     struct connection {
 *         hora_timer idle;
 *         int fd;
 *     };
 *
 *     static int hang_up(void *c) { return shutdown(((struct connection *)c)->fd, SHUT_RDWR); }    frees nothing
 *
 *     hora_timer_init(&c->idle, hang_up, c);                       a connection opens
 *     hora_timer_start(&c->idle, scheduler, HORA_SECONDS(30));     a request: wait 30 s for the next one
 *     hora_timer_start(&c->idle, scheduler, HORA_SECONDS(30));     that has come: wait again
 *     hora_timer_stop(&c->idle);                                   it closes: from here on only the caller uses c
 *     free(c);
 *
 * Most timeouts never happen: they are started and cancelled, often. A timer is a part of the object that
 * it is about, so hora allocates nothing for it, and starting or cancelling one takes about as long as
 * taking a lock or two. A timer runs its function once, on a thread of the scheduler, at the same place in
 * the order of times as a task that hora_scheduler_schedule had scheduled at that moment. Unlike a future,
 * a timer cannot be waited for, its function has no result, and it has neither a name of its own nor a
 * drop function.
 *
 * States. A timer is pending from its start until a worker of the scheduler takes it because its time has
 * come, or until it is cancelled or stopped. From the moment in which a worker takes it until its function
 * has returned, the timer is running; this includes the short time in which the worker is about to call
 * the function, and the hooks and listeners of the scheduler that are called for the run. A timer may be
 * pending and running at once: its function, or another thread, may start it again while the function
 * runs. If its time comes again before the function has returned, another worker calls the function at the
 * same time.
 *
 * Memory. It belongs to the caller. It must stay where it is while the timer is pending or about to run.
 * hora does not touch it after it has called the function; so the function may start the timer again, or
 * free its memory. The owner may free the memory, or initialise the timer again, - when hora_timer_stop
 * has returned in a thread other than the one that runs the function; - when hora_timer_cancel has
 * returned HORA_CANCEL_TOO_LATE, or HORA_CANCEL_REMOVED for a timer that was not running; - in the
 * function, if the timer is not pending.
 *
 * Threads. Calls of hora_timer_init, hora_timer_start and hora_timer_cancel for one timer must not
 * overlap: if several threads make them, or one thread and the function, these use a lock of their own.
 * Expiry may come at any time; hora takes care of that. hora_timer_is_pending may be called at any time.
 * hora_timer_stop may overlap with - calls that the timer's function makes for its own timer: see
 * hora_timer_stop; - other calls of hora_timer_stop: each of them waits. The memory must stay until all of
 * them have returned. A thread that calls hora_timer_stop must not hold a lock that the function takes:
 * the call would wait for ever.
 *
 * Schedulers. Timers work on every scheduler. A scheduler with hooks (before, after, decorate), a
 * listener or metrics shows each run to them as a task named "timer", without a future: where they expect
 * a future they get NULL. Like the task of a future, a timer that a before hook refuses fails. decorate is
 * called by the worker, just before the run, since a timer has no memory for another task; what it returns
 * as an error is the code of the run. A timer carries no context: install is called with NULL. For
 * classes, keys and priorities a timer is a task without any of them. Starting a timer on a scheduler
 * without any of this costs less.
 *
 * The end of a scheduler.
 * - After hora_pool_shutdown pending timers run at their times, as tasks that run once do; with the rule
 *   cancel_delayed, those that are not due are cancelled instead. No timer can be started any more; timers
 *   that
 *   are pending can be cancelled and stopped.
 * - hora_pool_shutdown_now and hora_pool_free cancel all pending timers and hand nothing back.
 * hora_pool_free waits for
 *   functions that are running. A timer that a worker has taken, and whose function it has not called yet, is
 *   cancelled as well; to hora_timer_stop it is running until then.
 * - A timer that its scheduler has cancelled is not pending any more. It may be started on another
 * scheduler. - After the scheduler has been freed the timer may still be cancelled, stopped
 * (HORA_CANCEL_TOO_LATE) and started
 *   elsewhere. A scheduler must not be freed while another thread is in a call for a timer that was started
 *   on it last.
 * In hora_pool_stats timers count as tasks, and a move counts as a cancelled task and an accepted one;
 * hora_pool_queue does not show timers.
 *
 * Fork. In the child process a timer that was pending is pending for ever: each call that would change it
 * returns HORA_EFORKED, and its memory must not be used again before the child has called hora_timer_init.
 * A timer that was not pending is not running either: it may be started on a scheduler of the child. */
#ifndef HORA_TIMER_H
#define HORA_TIMER_H

#include <stdbool.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/scheduler.h>

HORA_BEGIN_DECLS

/* What a timer does. 0, or a code with which its run counts as a failed task. */
typedef int (*hora_timer_fn)(void *arg);

/* Its contents are hora's. The layout is frozen: 64 bytes where a pointer has 8. */
typedef struct hora_timer {
    hora_timer_fn run_;
    void *arg_;
    void *scheduler_;
    uint32_t words_[10];
} hora_timer;

/* HORA_TIMER_INIT(run, arg): a timer that is not pending, for a definition. */
#define HORA_TIMER_INIT(run, arg) {(run), (arg), 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}

/* hora_timer_init - make a timer that is neither pending nor running
 *
 * To be called once, or again while the timer is neither pending nor running.
 *
 * Ownership: none passes, not even that of arg.   Threads: Owner.   Blocks: Never.
 * Errors: HORA_EINVAL (timer or run NULL). */
HORA_API int hora_timer_init(hora_timer *timer, hora_timer_fn run, void *arg);

/* hora_timer_start - run a timer's function once, after a delay; a pending timer is moved
 *
 * Returns 1 if the timer was pending: it does not run for its earlier start. Returns 0 if it was not. A
 * delay of zero or less means at once. Sums saturate. Moving a timer within one scheduler needs no memory;
 * starting it needs memory only if the scheduler has more to do than ever before.
 *
 * A timer may move from one scheduler to another, but not while it is running.
 *
 * With an error nothing has changed: a timer that was pending still is, at its earlier time. There is one
 * exception. A timer that is pending on another scheduler leaves that after this scheduler has promised a
 * place and a thread. If this scheduler is shut down, or loses its last thread and cannot start another
 * one, between the two, the call returns HORA_EREJECTED, HORA_EAGAIN or HORA_ENOMEM, and the timer is not
 * pending.
 *
 * Ownership: none passes; the memory of the timer must stay while it is pending.   Threads: see above.
 * Blocks: Never.
 * Errors: HORA_EREJECTED (the scheduler is shut down, whatever its rule for tasks), HORA_EINVAL (also: not
 * a scheduler, a timer without a function), HORA_EBUSY (the timer is running on another scheduler; or this
 * is its function, and another thread is stopping it), HORA_ENOMEM, HORA_EAGAIN (there is no thread, and
 * none can be started), HORA_EFULL (2147483647 tasks are pending), HORA_EFORKED, HORA_EDEADLK. */
HORA_API int hora_timer_start(hora_timer *timer, hora_scheduler *scheduler, hora_ns delay);

/* hora_timer_cancel - see that a pending timer does not run; do not wait
 *
 * HORA_CANCEL_REMOVED: the timer was pending, and will not run for its last start. A run for an earlier
 * start may still be going; hora_timer_stop would wait for it. HORA_CANCEL_RUNNING: the timer was not
 * pending; its function runs, or is about to. HORA_CANCEL_TOO_LATE: neither: its function has returned, or
 * it was cancelled, or never started. In each case the timer is not pending when the call returns.
 *
 * Ownership: none passes.   Threads: see above.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED, HORA_EDEADLK; otherwise a hora_cancel. */
HORA_API int hora_timer_cancel(hora_timer *timer);

/* hora_timer_stop - cancel a timer, and wait until its function does not run; then the owner may free it
 *
 * When the call has returned the timer is neither pending nor running, and its function is not called
 * again unless hora_timer_start is called later. HORA_CANCEL_RUNNING: the function was running, or about
 * to; the call has waited until it had returned. HORA_CANCEL_REMOVED: the timer was pending, and was not
 * running. HORA_CANCEL_TOO_LATE: neither.
 *
 * The stop wins over its function. If the function starts the timer before it sees the stop, the stop
 * cancels that start; otherwise hora_timer_start returns HORA_EBUSY to the function. Functions that run
 * already are waited for.
 *
 * In the function itself, and in hooks and listeners that are called for its run, the call does not wait:
 * it cancels the timer if the function has started it again, and returns HORA_CANCEL_RUNNING. Then the
 * function is not called again, but it still runs. In a task that the function waits for, and that runs on
 * the function's thread meanwhile, it returns HORA_EDEADLK.
 *
 * A thread that waits here is not disturbed by interrupts: its flag is set again when the call returns.
 *
 * Ownership: none passes; the memory must stay until the call has returned.   Threads: see above.
 * Blocks: Until the function has returned.
 * Errors: HORA_EINVAL, HORA_EFORKED, HORA_EDEADLK (also: in a callback that runs under a lock of hora),
 * HORA_ENOMEM and HORA_EAGAIN (in a thread that calls hora for the first time); with an error nothing has
 * changed. Otherwise a hora_cancel. */
HORA_API int hora_timer_stop(hora_timer *timer);

/* hora_timer_is_pending - whether a timer is started, and neither taken by a worker nor cancelled; false
 * for NULL
 *
 * True may be over at once.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_timer_is_pending(const hora_timer *timer);

HORA_END_DECLS

#endif
