/* SPDX-License-Identifier: Apache-2.0 */
/* pool_admission.h - a pool with admission control, see hora/admission.h: its queue, and what its workers
 * report
 *
 * The queue alone decides which task begins when. A new worker begins with a task only if that task is next,
 * or if the queue is full and the task may begin on one more thread. Schedulers with admission share
 * everything here except the queue itself: see sched/timer_queue_admission.c. */
#ifndef HORA_EXEC_POOL_ADMISSION_H
#define HORA_EXEC_POOL_ADMISSION_H

#include "admit/admission_queue.h"
#include "exec/pool.h"

/* Make the queue of a plain pool with admission. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__pool_make_admission_queue(hora_pool *pool, int capacity,
                                                                        const hora_queue_options *options,
                                                                        hora_ns ageing);

/* How many threads the pool, which is the context, may use now: its core threads, and those it has beyond
 * them; 0 once it is stopped. */
int hora__pool_admission_threads(const void *context);

/* A worker has ended the run of a task it had taken. True: the caller has to settle the queue soon; false:
 * that was done. */
__attribute__((warn_unused_result)) bool hora__pool_run_ended(hora_pool *pool, hora_future *future);

/* Let a task begin, if it may, before a thread is started for it: a core thread, or, because the queue is
 * full, one beyond these. HORA_EFULL: it may not; HORA_ENOMEM. hora__pool_run_unbegin undoes this, if the
 * thread could not be started. */
__attribute__((warn_unused_result)) int hora__pool_run_begin(hora_pool *pool, hora_future *future, bool core);
void hora__pool_run_unbegin(hora_pool *pool, hora_future *future);

/* For a plain pool with admission: as take_out of struct hora__pool_kind. *ret_future may be another future,
 * which must run before `future`. */
hora_ns hora__pool_take_out_admitted(hora_pool *pool, hora_future *future, hora_future **ret_future);

/* A task has left the queue, or has ended: wake the workers that wait for tasks behind it by their key. */
void hora__pool_nudge_awaited(hora_pool *pool);

/* Start workers, up to core_threads, as long as there are tasks that may begin. */
void hora__pool_staff(hora_pool *pool);

#endif
