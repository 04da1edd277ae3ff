/* SPDX-License-Identifier: Apache-2.0 */
/* hora/group.h - futures that belong together: wait for all of them, cancel all of them
 *
 *     hora_group_new(NULL, &group, NULL);
 *     for (...)
 *         hora_group_submit(group, &executor, HORA_TASK(index_file, file), NULL);
 *     hora_group_await(group);
 *     if (hora_group_failed(group) > 0) ...
 *
 * A future is pending in a group from when it is added until it is done. A group may be filled again at
 * any time, also by its own tasks, also after it was empty. A future may belong to several groups, or
 * several times to one.
 *
 * Memory: what the tasks did is visible to whoever has seen the group without pending futures. */
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

typedef struct hora_group hora_group;

typedef struct hora_group_options {
    /* sizeof(hora_group_options), set by HORA_GROUP_OPTIONS */
    uint32_t struct_size;
    /* what timed waits are measured with; NULL: the monotonic clock */
    const hora_clock *clock;
    /* the first future that does not succeed cancels, with interrupt, all that are pending */
    bool cancel_on_failure;
} hora_group_options;

#define HORA_GROUP_OPTIONS(...) HORA__LITERAL(hora_group_options, __VA_ARGS__)

/* hora_group_new - an empty group; `options` may be NULL
 *
 * Ownership: the caller owns *ret_group, to be freed with hora_group_free. The clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED (the clock is a virtual one of the parent
 * process). */
HORA_NODISCARD HORA_API int hora_group_new(const hora_group_options *options, hora_group **ret_group,
                                           hora_error *reason);

/* hora_group_free - free a group without pending futures that nobody waits for
 *
 * NULL is allowed. Safe as soon as the caller's own wait has returned.
 *
 * Ownership: on success the group and its descriptor are gone; on error nothing has changed.
 * Threads: Owner.   Blocks: Never.   Errors: HORA_EBUSY (futures are pending, threads are waiting),
 * HORA_EFORKED. */
HORA_API int hora_group_free(hora_group *group);

/* hora_group_add - add a future; if it is done already it only counts among those that have failed, if it has
 *
 * Ownership: the group has a reference of its own while the future is pending.
 * Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_group_add(hora_group *group, hora_future *future);

/* hora_group_submit - have a task executed, and add its future; `ret_future` may be NULL
 *
 * Ownership: see hora/task.h; the caller gets one reference to *ret_future.
 * Threads: Any thread.   Blocks: as the executor.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_group_submit(hora_group *group, const hora_executor *executor, const hora_task *task,
                                              hora_future **ret_future);

/* hora_group_await - wait until no future is pending
 *
 * A pending interrupt is reported first, even if no future is pending. A worker of a pool that waits for
 * tasks in that pool's queue runs them itself.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until no future is pending or the thread is
 * interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_EDEADLK (by a worker: one of the tasks waits for the caller, or is the
 * caller), HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_group_await(hora_group *group);

/* hora_group_await_for - as hora_group_await, at most for `timeout` of the group's clock
 *
 * Precedence: a pending interrupt, then no future pending, then the end of the time.
 *
 * Ownership: none passes.
 * Threads: Any thread.   Blocks: until no future is pending, the time is over or the thread is interrupted.
 * Errors: HORA_ETIMEDOUT, and those of hora_group_await. */
HORA_NODISCARD HORA_API int hora_group_await_for(hora_group *group, hora_ns timeout);

/* hora_group_cancel - cancel all futures that are pending, and return how many this call has cancelled
 *
 * As hora_future_cancel for each, the newest first, so that what is queued does not begin meanwhile. Those
 * that are added during the call are not cancelled.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_group_cancel(hora_group *group, bool interrupt);

/* hora_group_pending - how many futures are pending
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_group_pending(hora_group *group);

/* hora_group_failed - how many have not succeeded since the group was made: failed, cancelled, rejected,
 * abandoned
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_group_failed(hora_group *group);

/* hora_group_fd - a descriptor that polls readable while no future is pending
 *
 * Made at the first call, then always the same one. Do not read from it, write to it or close it.
 *
 * Ownership: the group's; it is closed by hora_group_free.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_group_fd(hora_group *group);

HORA_END_DECLS

#endif
