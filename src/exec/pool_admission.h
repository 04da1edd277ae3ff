/* SPDX-License-Identifier: Apache-2.0 */
/* pool_admission.h - a pool with admission control (hora/admission.h): its queue, and what its workers report
 *
 * The queue alone decides which task begins when. A new worker starts with a task only if that task is next;
 * or if the queue is full, and the task may begin on one more thread. Schedulers with admission share
 * everything here except the queue itself: see sched/timer_queue_admission.c. */
#ifndef HORA_EXEC_POOL_ADMISSION_H
#define HORA_EXEC_POOL_ADMISSION_H

#include "admit/admission_queue.h"
#include "exec/pool.h"

/* Makes the queue of a plain pool with admission, and stores it in the pool. `ageing` is the waiting time
 * that is worth one level of priority. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__pool_make_admission_queue(hora_pool *pool, int capacity,
                                                                        const hora_queue_options *options,
                                                                        hora_ns ageing);

/* Returns how many threads the pool, which is the context, may use now: core_threads, or its workers if there
 * are more, and the workers that were written off; 0 once it is stopped. */
int hora__pool_admission_threads(const void *context);

/* Ends the ticket of a task that a worker has run or given up. Returns true if the caller must serve the
 * queue soon, false if that was done. */
__attribute__((warn_unused_result)) bool hora__pool_run_ended(hora_pool *pool, hora_future *future);

/* Gives a task a running ticket, before a thread is started for it: a core thread, or, because the queue is
 * full, one beyond these. Returns 0, HORA_EFULL if the task may not begin now, or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__pool_run_begin(hora_pool *pool, hora_future *future, bool core);

/* Undoes hora__pool_run_begin, if the thread could not be started. */
void hora__pool_run_unbegin(hora_pool *pool, hora_future *future);

/* For a plain pool with admission: as take_out of struct hora__pool_kind. *ret_future may be another future,
 * which must run before `future`. */
hora_ns hora__pool_take_out_admitted(hora_pool *pool, hora_future *future, hora_future **ret_future);

/* Called after a task was removed from the queue or has ended: wakes the workers that wait for a task which
 * can run now that its key is free. */
void hora__pool_nudge_awaited(hora_pool *pool);

/* Starts workers, up to core_threads, as long as there are tasks that may begin. */
void hora__pool_staff(hora_pool *pool);

#endif
