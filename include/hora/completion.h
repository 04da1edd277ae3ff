/* SPDX-License-Identifier: Apache-2.0 */
/* hora/completion.h - take futures in the order in which they complete
 *
 *     hora_completion_service_new(&executor, NULL, &service);
 *     for (...)
 *         hora_completion_service_submit(service, HORA_TASK(fetch, page), NULL);
 *     while (more)
 *         hora_completion_service_take(service, &future);     // the one that completes next
 *
 * The service has the semantics of ExecutorCompletionService. Each submitted task can be taken exactly once
 * when it is done, including tasks that were cancelled, rejected or abandoned. hora_completion_service_submit
 * allocates everything that this requires, so no later failure can lose an outcome.
 *
 * Memory: the effects of a task are visible to the thread that takes its future. */
#ifndef HORA_COMPLETION_H
#define HORA_COMPLETION_H

#include <hora/base.h>
#include <hora/error.h>
#include <hora/executor.h>
#include <hora/future.h>
#include <hora/queue.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* A completion service: an executor together with a queue of the futures that it has completed. */
typedef struct hora_completion_service hora_completion_service;

/* hora_completion_service_new - create a service that runs its tasks on `executor`
 *
 * Completed futures go into `queue`; NULL means a linked queue owned by the service. Its elements are
 * hora_future pointers, each with a reference that belongs to the thread that takes it. If the queue is full,
 * cannot grow for lack of memory, or is closed when a task completes, the service keeps the future until the
 * next call that takes one.
 *
 * Ownership: the caller owns *ret_service and frees it with hora_completion_service_free. The executor is
 * copied; its clock must outlive the service. A queue supplied by the caller must outlive the service, and
 * must live until each submitted future has been taken or released.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (executor, its execute or ret_service is NULL; a synchronous queue), HORA_ENOMEM,
 * HORA_EAGAIN, HORA_EFORKED (the queue, or a virtual clock, belongs to the parent process). */
HORA_NODISCARD HORA_API int hora_completion_service_new(const hora_executor *executor, hora_queue *queue,
                                                        hora_completion_service **ret_service);

/* hora_completion_service_free - free a service that no thread is waiting on
 *
 * NULL is allowed. Tasks that are not done continue. The service releases their futures and those that were
 * not taken. If the caller supplied the queue, the futures are put into that queue instead when they are
 * done.
 *
 * Ownership: on success the service is freed; on error nothing has changed.   Threads: Owner.
 * Blocks: Never.   Errors: HORA_EBUSY (threads are waiting), HORA_EFORKED. */
HORA_API int hora_completion_service_free(hora_completion_service *service);

/* hora_completion_service_submit - submit a task whose future can be taken when it is done
 *
 * `ret_future` may be NULL. Otherwise it receives the same future that will later be taken. If `ret_future`
 * is NULL and the executor returns without running the future and without keeping a reference to it, the
 * future is completed with HORA_EREJECTED: nothing could run it any more.
 *
 * Ownership: see hora/task.h; the caller receives one reference to *ret_future.   Threads: Any thread.
 * Blocks: as the executor does.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_completion_service_submit(hora_completion_service *service,
                                                           const hora_task *task, hora_future **ret_future);

/* hora_completion_service_take - take the next completed future, waiting if necessary
 *
 * A pending interrupt is reported first, even if a future could be taken. If the caller is a worker of a pool
 * and waits for tasks that are still in that pool's queue, it runs them itself. If nothing has been
 * submitted, the call waits until a task is submitted and completes.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.
 * Blocks: until a future is done, the thread is interrupted or the queue is closed.
 * Errors: HORA_EINTERRUPTED, HORA_ECLOSED (only for a queue supplied by the caller), HORA_EINVAL,
 * HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_completion_service_take(hora_completion_service *service,
                                                         hora_future **ret_future);

/* hora_completion_service_poll - take the next completed future if there is one
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EEMPTY (no future is done), HORA_ECLOSED (the same, and the caller's queue is closed),
 * HORA_EINVAL, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_completion_service_poll(hora_completion_service *service,
                                                         hora_future **ret_future);

/* hora_completion_service_poll_for - take the next completed future, waiting for a limited time
 *
 * As hora_completion_service_take, but waits at most for `timeout`. The timeout is measured by the executor's
 * clock, or by the clock of the queue if the caller supplied one.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.
 * Blocks: until a future is done, the timeout expires, the thread is interrupted or the queue is closed.
 * Errors: HORA_ETIMEDOUT, and those of hora_completion_service_take. */
HORA_NODISCARD HORA_API int hora_completion_service_poll_for(hora_completion_service *service,
                                                             hora_ns timeout, hora_future **ret_future);

/* hora_completion_service_fd - return a descriptor that polls readable while a future can be taken
 *
 * The first call creates it; later calls return the same one. Do not read from it, write to it or close it.
 * When it is readable, call hora_completion_service_poll and be prepared for another thread having been
 * faster.
 *
 * Ownership: the descriptor belongs to the service, or to the caller's queue.   Threads: Any thread.
 * Blocks: Never.
 * Errors: as hora_queue_fd; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_completion_service_fd(hora_completion_service *service);

HORA_END_DECLS

#endif
