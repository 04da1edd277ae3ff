/* SPDX-License-Identifier: Apache-2.0 */
/* steer.h - a plain pool whose tasks are steered, see hora/admission.h: its queue, and what its workers tell that
 *
 * The queue alone decides what begins when. A worker starts with a task only if that is the next of all, or if the queue is full and
 * the task may begin on another thread. */
#ifndef HORA_EXEC_STEER_H
#define HORA_EXEC_STEER_H

#include "exec/pool.h"

/* The pool's queue. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__steer_make_queue(hora_pool *pool, int capacity,
                                                               const hora_queue_options *options, hora_ns ageing);

/* How many threads the pool may use now: its core threads, and those that it has beyond; none, once it is stopped. The context is the pool. */
int hora__steer_threads(const void *context);

/* A worker has run what it has taken. Whether somebody has to settle the queue soon: else that has been done. */
__attribute__((warn_unused_result)) bool hora__steer_ended(hora_pool *pool, hora_future *future);

/* Let a task begin, if it may, before a thread is started for it: a core thread, or, as the queue is full, one beyond these. HORA_EFULL,
 * HORA_ENOMEM. And: no thread could be started. */
__attribute__((warn_unused_result)) int hora__steer_begin(hora_pool *pool, hora_future *future, bool core);
void hora__steer_did_not_begin(hora_pool *pool, hora_future *future);

/* A worker waits for a future: what it may run instead, as take_out of struct hora__pool_kind. *ret_future may be another one, which has to go
 * before it. */
hora_ns hora__steer_take_out(hora_pool *pool, hora_future *future, hora_future **ret_future);

/* Something has left the queue, or has ended: whoever waits for what was behind it by its key may go on. */
void hora__steer_nudge(hora_pool *pool);

/* More may have become possible: see that there are workers for it, up to core_threads. */
void hora__steer_staff(hora_pool *pool);

#endif
