/* SPDX-License-Identifier: Apache-2.0 */
/* hora/completion.h - take futures in the order in which they are done
 *
 *     hora_completion_service_new(&executor, NULL, &service);
 *     for (...)
 *         hora_completion_service_submit(service, HORA_TASK(fetch, page), NULL);
 *     while (more)
 *         hora_completion_service_take(service, &future);     // whichever is done next
 *
 * Each task that was submitted can be taken exactly once when it is done: also if it was cancelled,
 * rejected or abandoned. What is needed for that is allocated by submit: no outcome is lost because
 * something fails later.
 *
 * Memory: what the task did is visible to whoever has taken its future. */
#ifndef HORA_COMPLETION_H
#define HORA_COMPLETION_H

#include <hora/base.h>
#include <hora/error.h>
#include <hora/executor.h>
#include <hora/future.h>
#include <hora/queue.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

typedef struct hora_completion_service hora_completion_service;

/* hora_completion_service_new - a service that has its tasks executed by `executor`
 *
 * `queue` is where futures go that are done; NULL: a linked one of the service's own. Its elements are
 * hora_future pointers, each with a reference that belongs to whoever takes it. If it has no room when a
 * task ends, or the memory to grow, or is closed, the future stays with the service until the next call
 * that takes.
 *
 * Ownership: the caller owns *ret_service, to be freed with hora_completion_service_free. The executor is
 * copied. A queue of the caller's must live longer than the service, and until each future that was
 * submitted has been taken or given back.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (executor, its execute or ret_service NULL; a synchronous queue), HORA_ENOMEM,
 * HORA_EAGAIN, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_completion_service_new(const hora_executor *executor, hora_queue *queue,
                                                        hora_completion_service **ret_service);

/* hora_completion_service_free - free a service that nobody waits on
 *
 * NULL is allowed. Tasks that are not done go on; their futures, and those that nobody has taken, are
 * given back, or go into the queue if that is the caller's.
 *
 * Ownership: on success the service is gone; on error nothing has changed.
 * Threads: Owner.   Blocks: Never.   Errors: HORA_EBUSY (threads are waiting), HORA_EFORKED. */
HORA_API int hora_completion_service_free(hora_completion_service *service);

/* hora_completion_service_submit - have a task executed; its future can be taken when it is done
 *
 * `ret_future` may be NULL. Else it is the very future that will be taken.
 *
 * Ownership: see hora/task.h; the caller gets one reference to *ret_future.
 * Threads: Any thread.   Blocks: as the executor.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_completion_service_submit(hora_completion_service *service, const hora_task *task,
                                                           hora_future **ret_future);

/* hora_completion_service_take - take the next future that is done, waiting for one
 *
 * A pending interrupt is reported first. A worker of a pool that waits for tasks in that pool's queue runs
 * them itself. If nothing has been submitted, it waits for somebody to do so.
 *
 * Ownership: the caller gets one reference.
 * Threads: Any thread.   Blocks: until a future is done, the thread is interrupted or the queue is closed.
 * Errors: HORA_EINTERRUPTED, HORA_ECLOSED (a queue of the caller's), HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_completion_service_take(hora_completion_service *service, hora_future **ret_future);

/* hora_completion_service_poll - take the next future that is done, if there is one now
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EEMPTY, HORA_ECLOSED, HORA_EINVAL, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_completion_service_poll(hora_completion_service *service, hora_future **ret_future);

/* hora_completion_service_poll_for - as hora_completion_service_take, waiting at most for `timeout` of the
 * executor's clock, or that of the queue if it is the caller's
 *
 * Ownership: the caller gets one reference.
 * Threads: Any thread.   Blocks: until a future is done, the time is over, the thread is interrupted or
 * the queue is closed.
 * Errors: HORA_ETIMEDOUT, and those of hora_completion_service_take. */
HORA_NODISCARD HORA_API int hora_completion_service_poll_for(hora_completion_service *service, hora_ns timeout,
                                                             hora_future **ret_future);

/* hora_completion_service_fd - a descriptor that polls readable while a future can be taken
 *
 * Made at the first call, then always the same one. Do not read from it, write to it or close it; call
 * hora_completion_service_poll when it is readable, and expect that another thread was faster.
 *
 * Ownership: the service's, or that of the caller's queue.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_completion_service_fd(hora_completion_service *service);

HORA_END_DECLS

#endif
