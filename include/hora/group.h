/* SPDX-License-Identifier: Apache-2.0 */
/* hora/group.h - futures that belong together: wait for all of them, cancel all of them
 *
 *     hora_group_new(NULL, &group, NULL);
 *     for (...)
 *         hora_group_submit(group, &executor, HORA_TASK(index_file, file), NULL);
 *     hora_group_await(group);
 *     if (hora_group_failed(group) > 0) ...
 *
 * A future is pending in a group from the time it is added until it is done. Futures can be added at any
 * time, also by tasks of the group, and also after the group has become empty. A future may belong to several
 * groups, or several times to the same group.
 *
 * Memory: the effects of the tasks are visible to every thread that has seen the group without pending
 * futures. */
#ifndef HORA_GROUP_H
#define HORA_GROUP_H

#include <stdbool.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/executor.h>
#include <hora/future.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* A group of futures. */
typedef struct hora_group hora_group;

/* Options of hora_group_new. */
typedef struct hora_group_options {
    /* sizeof(hora_group_options), set by HORA_GROUP_OPTIONS */
    uint32_t struct_size;
    /* the clock that measures timed waits; NULL means monotonic */
    const hora_clock *clock;
    /* the first future that does not succeed cancels all pending futures, with interrupt */
    bool cancel_on_failure;
} hora_group_options;

/* HORA_GROUP_OPTIONS(.cancel_on_failure = true): an options literal. */
#define HORA_GROUP_OPTIONS(...) HORA__LITERAL(hora_group_options, __VA_ARGS__)

/* hora_group_new - create an empty group; `options` may be NULL
 *
 * Ownership: the caller owns *ret_group and frees it with hora_group_free. The clock must outlive the group.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED (the clock is a virtual clock of the parent
 * process). */
HORA_NODISCARD HORA_API int hora_group_new(const hora_group_options *options, hora_group **ret_group,
                                           hora_error *reason);

/* hora_group_free - free a group that has no pending futures and no waiting threads
 *
 * NULL is allowed. It is safe to call as soon as the caller's own wait has returned 0, even if the thread
 * that completed the last future is still inside that call.
 *
 * Ownership: on success the group and its descriptor are freed; on error nothing has changed.
 * Threads: Owner.   Blocks: Never.
 * Errors: HORA_EBUSY (futures are pending or threads are waiting), HORA_EFORKED. */
HORA_API int hora_group_free(hora_group *group);

/* hora_group_add - add a future to a group
 *
 * If the future is already done, it does not become pending; if it has not succeeded, hora_group_failed
 * counts it, and cancel_on_failure takes effect.
 *
 * Ownership: the group holds its own reference while the future is pending.   Threads: Any thread.
 * Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_group_add(hora_group *group, hora_future *future);

/* hora_group_submit - execute a task and add its future to a group; `ret_future` may be NULL
 *
 * Ownership: see hora/task.h; the caller receives one reference to *ret_future.   Threads: Any thread.
 * Blocks: as the executor does.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_group_submit(hora_group *group, const hora_executor *executor,
                                              const hora_task *task, hora_future **ret_future);

/* hora_group_await - wait until no future is pending
 *
 * A pending interrupt is reported first, even if no future is pending. A worker of a pool that waits for
 * tasks in that pool's queue runs them itself.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until no future is pending or the thread is interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_EDEADLK (in a worker: one of the tasks waits for the caller, or is the
 * caller; see hora_future_get), HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_group_await(hora_group *group);

/* hora_group_await_for - wait until no future is pending, at most for `timeout` of the group's clock
 *
 * Precedence: a pending interrupt, then no pending future, then the timeout. Deadlocks are not detected
 * unless the timeout is HORA_FOREVER.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until no future is pending, the timeout expires or the thread is interrupted.
 * Errors: HORA_ETIMEDOUT, and those of hora_group_await. */
HORA_NODISCARD HORA_API int hora_group_await_for(hora_group *group, hora_ns timeout);

/* hora_group_cancel - cancel all pending futures and return how many this call cancelled
 *
 * Calls hora_future_cancel with `interrupt` for each, newest first, so that queued tasks do not start in the
 * meantime. Futures that are added during the call are not cancelled.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_group_cancel(hora_group *group, bool interrupt);

/* hora_group_pending - return the number of pending futures
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_group_pending(hora_group *group);

/* hora_group_failed - return how many futures have not succeeded since the group was created
 *
 * These are futures that failed or were cancelled, rejected, abandoned or expired.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_group_failed(hora_group *group);

/* hora_group_fd - return a descriptor that polls readable while no future is pending
 *
 * The first call creates it; later calls return the same one. Do not read from it, write to it or close it.
 *
 * Ownership: the descriptor belongs to the group and is closed by hora_group_free.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED; otherwise the descriptor,
 * >= 0. */
HORA_NODISCARD HORA_API int hora_group_fd(hora_group *group);

HORA_END_DECLS

#endif
