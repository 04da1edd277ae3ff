/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - helping, and noticing that waiting would never end; see future_get.c
 *
 * Locks    one at a time: a future's, then a thread's. Each step holds a reference to what it looks at. */
#include "exec/help.h"

#include <stddef.h>

#include "exec/worker.h"

/* Longer chains than this are not followed: they cost more than they are likely to tell. */
enum { LONGEST_CHAIN = 64 };

hora_ns hora__help(hora_future *future, hora_thread *thread)
{
    struct hora__worker *worker = thread->worker;
    if (worker == NULL)
        return HORA_FOREVER;
    hora__mutex_lock(&future->object.lock);
    future->nudged = false; /* what changes from now on is seen before the worker sleeps */
    bool ours = future->runner == NULL && future->owner != NULL && future->owner == hora__worker_owner(worker);
    hora__mutex_unlock(&future->object.lock);
    return ours ? hora__worker_run_queued(worker, future) : HORA_FOREVER;
}

/* The thread that runs a future, with a reference; NULL: nobody. */
static hora_thread *runner_of(hora_future *future)
{
    hora__mutex_lock(&future->object.lock);
    hora_thread *runner = hora_thread_ref(future->runner);
    hora__mutex_unlock(&future->object.lock);
    return runner;
}

/* What a thread waits for without a limit, with a reference; NULL: nothing. */
static hora_future *awaited_by(hora_thread *thread)
{
    hora__mutex_lock(&thread->lock);
    hora_future *future = hora_future_ref(thread->waiting_for);
    hora__mutex_unlock(&thread->lock);
    return future;
}

static void note(hora_thread *thread, hora_future *future)
{
    hora__mutex_lock(&thread->lock);
    thread->waiting_for = future;
    hora__mutex_unlock(&thread->lock);
}

int hora__begin_waiting(hora_future *future, hora_thread *thread)
{
    note(thread, future);
    hora_future *at = hora_future_ref(future);
    bool ring = false;
    for (int i = 0; at != NULL && !ring && i < LONGEST_CHAIN; i++) {
        hora_thread *runner = runner_of(at);
        (void)hora_future_unref(at);
        ring = runner == thread;
        at = runner != NULL && !ring ? awaited_by(runner) : NULL;
        (void)hora_thread_unref(runner);
    }
    (void)hora_future_unref(at);
    /* What was read along the way may be old; but a ring that is really closed cannot open, and one that is not has let
     * this future be done. */
    return ring && !hora_future_is_done(future) ? HORA_EDEADLK : 0;
}

void hora__end_waiting(hora_thread *thread)
{
    note(thread, NULL);
}
