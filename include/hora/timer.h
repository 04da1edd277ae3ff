/* SPDX-License-Identifier: Apache-2.0 */
/* hora/timer.h - timers in caller-provided memory, for very large numbers of timeouts
 *
 *     struct connection {
 *         hora_timer idle;
 *         int fd;
 *     };
 *
 *     static int hang_up(void *c)
 *     {
 *         return shutdown(((struct connection *)c)->fd, SHUT_RDWR);    // frees nothing
 *     }
 *
 *     hora_timer_init(&c->idle, hang_up, c);                      // a connection opens
 *     hora_timer_start(&c->idle, scheduler, HORA_SECONDS(30));    // a request: wait 30 s for the next one
 *     hora_timer_start(&c->idle, scheduler, HORA_SECONDS(30));    // it has arrived: wait again
 *     hora_timer_stop(&c->idle);                                  // it closes; only the caller uses c now
 *     free(c);
 *
 * Most timeouts never expire: they are started and cancelled, often. A timer is embedded in the object that
 * it belongs to, so hora allocates nothing for it, and starting or cancelling one takes about as long as
 * taking one or two locks. A timer runs its function once, on a thread of the scheduler, in the same position
 * in time order as a task scheduled with hora_scheduler_schedule at that moment. Unlike a future, a timer
 * cannot be waited on, its function has no result, and it has neither a name of its own nor a drop function.
 *
 * States. A timer is pending from its start until a worker of the scheduler takes it because its time has
 * come, or until it is cancelled or stopped. It is running from the moment a worker takes it until its
 * function has returned. This includes the short time before the worker calls the function, and the hooks and
 * listeners of the scheduler that are called for the run. A timer may be pending and running at once: its
 * function, or another thread, may start it again while the function runs. If its time comes again before the
 * function has returned, another worker calls the function concurrently.
 *
 * Memory. The memory belongs to the caller. It must stay in place while the timer is pending or about to run.
 * hora does not access it after calling the function, so the function may start the timer again or free its
 * memory. The owner may free the memory, or initialize the timer again:
 *
 *   - when hora_timer_stop has returned in a thread other than the one that runs the function;
 *   - when hora_timer_cancel has returned HORA_CANCEL_TOO_LATE, or HORA_CANCEL_REMOVED for a timer that was
 *     not running;
 *   - in the function, if the timer is not pending.
 *
 * Threads. Callers serialize calls of hora_timer_init, hora_timer_start and hora_timer_cancel on one timer:
 * if several threads make them, or a thread and the function, they use a lock of their own. Expiry may race
 * with these calls; hora handles that. hora_timer_is_pending may be called at any time. hora_timer_stop may
 * overlap with:
 *
 *   - calls that the timer's function makes for its own timer; see hora_timer_stop;
 *   - other calls of hora_timer_stop. Each of them waits, and the memory must stay in place until all of them
 *     have returned.
 *
 * A thread that calls hora_timer_stop must not hold a lock that the function takes: the call would wait
 * forever.
 *
 * Schedulers. Timers work on every scheduler. A scheduler with hooks (before, after, decorate), a listener or
 * metrics presents each run to them as a task named "timer" without a future: where they expect a future they
 * receive NULL. As with any task, a timer that a before hook refuses fails. The worker calls decorate just
 * before the run, because a timer has no memory for another task; an error that decorate returns is the code
 * of the run. A timer carries no context: install is called with NULL. For admission, a timer is a task
 * without class, key and priority. Starting a timer is cheaper on a scheduler that has none of these
 * features.
 *
 * The end of a scheduler.
 *
 *   - After hora_pool_shutdown, pending timers run at their times, like one-shot tasks. With cancel_delayed,
 *     timers that are not due are cancelled instead. No timer can be started any more. Pending timers can be
 *     cancelled and stopped.
 *   - hora_pool_shutdown_now and hora_pool_free cancel all pending timers and hand nothing back.
 *     hora_pool_free waits for running functions. A timer that a worker has taken, but whose function it has
 *     not called yet, is cancelled as well; until then hora_timer_stop treats it as running.
 *   - A timer that its scheduler has cancelled is no longer pending and may be started on another scheduler.
 *   - After the scheduler has been freed, the timer may still be cancelled, stopped (HORA_CANCEL_TOO_LATE)
 *     and started elsewhere. A scheduler must not be freed while another thread is inside a call for a timer
 *     that was last started on it.
 *
 * In hora_pool_stats timers count as tasks; moving a timer counts as a cancelled task and an accepted one.
 * hora_pool_queue does not show timers.
 *
 * Fork. In the child process, a timer that was pending stays pending forever: each call that would change it
 * returns HORA_EFORKED, and its memory must not be reused before the child has called hora_timer_init. A
 * timer that was not pending is not running either, and may be started on a scheduler of the child. */
#ifndef HORA_TIMER_H
#define HORA_TIMER_H

#include <stdbool.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/scheduler.h>

HORA_BEGIN_DECLS

/* The function of a timer. `arg` is that of hora_timer_init. It returns 0, or a failure code, with which the
 * run counts as a failed task. */
typedef int (*hora_timer_fn)(void *arg);

/* A timer. Its contents are private. The layout is frozen: 64 bytes where pointers have 8. */
typedef struct hora_timer {
    hora_timer_fn run_;
    void *arg_;
    void *scheduler_;
    uint32_t words_[10];
} hora_timer;

/* HORA_TIMER_INIT(run, arg): static initializer for a timer that is not pending, as after hora_timer_init. */
#define HORA_TIMER_INIT(run, arg) {(run), (arg), 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}

/* hora_timer_init - initialize a timer that is neither pending nor running
 *
 * Call it once before any other call, and again only while the timer is neither pending nor running.
 *
 * Ownership: not transferred, not even that of arg.   Threads: Owner.   Blocks: Never.
 * Errors: HORA_EINVAL (timer or run is NULL). */
HORA_API int hora_timer_init(hora_timer *timer, hora_timer_fn run, void *arg);

/* hora_timer_start - run a timer's function once, after a delay; a pending timer is moved
 *
 * Returns 1 if the timer was pending; it then does not run for its earlier start. Returns 0 if it was not. A
 * delay of zero or less means immediately. Sums saturate. Moving a timer within one scheduler needs no
 * memory. Starting one needs memory only if the scheduler has more pending work than ever before.
 *
 * A timer may move from one scheduler to another, but not while it is running.
 *
 * On error nothing has changed: a timer that was pending still is, at its earlier time. There is one
 * exception. A timer that is pending on another scheduler is removed from it after the new scheduler has
 * reserved room for the timer and made sure that it has a thread. If, between the two, the new scheduler is
 * shut down, or loses its last thread and cannot start another, the call returns HORA_EREJECTED, HORA_EAGAIN
 * or HORA_ENOMEM, and the timer is not pending.
 *
 * Ownership: not transferred; the memory of the timer must stay in place while it is pending or about to run.
 * Threads: see above.   Blocks: Never.
 * Errors: HORA_EREJECTED (the scheduler is shut down, whatever its rejection policy), HORA_EINVAL (also: not
 * a scheduler, a timer without a function), HORA_EBUSY (the timer is running on another scheduler; or the
 * caller is its function, and another thread is stopping it), HORA_ENOMEM, HORA_EAGAIN (there is no thread,
 * and none can be started), HORA_EFULL (2147483647 tasks are pending), HORA_EFORKED, HORA_EDEADLK. */
HORA_API int hora_timer_start(hora_timer *timer, hora_scheduler *scheduler, hora_ns delay);

/* hora_timer_cancel - cancel a pending timer without waiting
 *
 * HORA_CANCEL_REMOVED: the timer was pending and will not run for its last start. A run for an earlier start
 * may still be in progress; hora_timer_stop would wait for it. HORA_CANCEL_RUNNING: the timer was not
 * pending; its function is running or about to run. HORA_CANCEL_TOO_LATE: neither; its function has returned,
 * or it was cancelled or never started. In every case the timer is not pending when the call returns.
 *
 * Ownership: not transferred.   Threads: see above.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED, HORA_EDEADLK; otherwise a hora_cancel. */
HORA_API int hora_timer_cancel(hora_timer *timer);

/* hora_timer_stop - cancel a timer and wait until its function is not running, so that it can be freed
 *
 * When the call has returned, the timer is neither pending nor running, and its function is not called again
 * unless hora_timer_start is called later. HORA_CANCEL_RUNNING: the function was running or about to run, and
 * the call has waited until it returned. HORA_CANCEL_REMOVED: the timer was pending and not running.
 * HORA_CANCEL_TOO_LATE: neither.
 *
 * The stop prevails over the function. If the function starts the timer before it sees the stop, the stop
 * cancels that start; otherwise hora_timer_start returns HORA_EBUSY to the function. The call waits for
 * functions that are already running.
 *
 * In the function itself, and in hooks and listeners that are called for its run, the call does not wait: it
 * cancels the timer if the function has started it again, and returns HORA_CANCEL_RUNNING. The function is
 * then not called again, but it is still running. In a task that the function waits for and that runs on the
 * function's thread meanwhile, the call returns HORA_EDEADLK.
 *
 * Interrupts do not end the wait: the interrupt flag of the thread is set again when the call returns.
 *
 * Ownership: not transferred; the memory must stay in place until the call has returned.
 * Threads: see above.   Blocks: Until the function has returned.
 * Errors: HORA_EINVAL, HORA_EFORKED, HORA_EDEADLK (also in a callback that runs under a hora lock),
 * HORA_ENOMEM and HORA_EAGAIN (in a thread that calls hora for the first time); on error nothing has changed.
 * Otherwise a hora_cancel. */
HORA_API int hora_timer_stop(hora_timer *timer);

/* hora_timer_is_pending - test whether a timer is started and neither taken by a worker nor cancelled
 *
 * False for NULL. A result of true may be outdated immediately.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_timer_is_pending(const hora_timer *timer);

HORA_END_DECLS

#endif
