/* SPDX-License-Identifier: Apache-2.0 */
/* durable_detach.c - runs that outlive their handler
 *
 * hora_run_detach makes a run independent of the call of its handler: `detached` of the call tells the thread
 * of the handler not to touch the firing any more, because hora_run_finish may give its memory to the node at
 * any moment. The two calls of functions of the program that may be in progress for a run, that of the
 * handler and that of the stop function, are structs on the stacks of their threads. hora_run_finish clears
 * the pointers from them to the firing.
 *
 * The node's thread calls stop functions, after each of its steps. When it has left the store, the threads of
 * handlers that return do.
 *
 * INVARIANTS
 *
 *   D1  A stop function is called only for a firing that is in `running`, and hora_run_finish takes the
 *       firing out of it under the lock. If a call is in progress on another thread, it waits for the end of
 *       that call before: so no call is in progress on another thread when it returns, and none begins
 *       afterwards.
 *   D2  At most one call of the stop function of a run is in progress. A reason that arises meanwhile is
 *       noted, and the thread of the call looks for it afterwards.
 *   D3  Each reason is told at most once, and every reason that arises while the run is detached is told,
 *       unless the run ends before.
 *   D4  Neither detaching, nor stopping, nor finishing needs memory. */
#include <assert.h>
#include <stdlib.h>

#include "durable.h"
#include "step.h"

int hora_run_detach(const hora_run *run, hora_run_stop_fn stop, void *arg)
{
    if (run == NULL || stop == NULL)
        return HORA_EINVAL;
    hora__firing *firing = hora__firing_of(run);
    hora_durable *durable = firing->durable;
    pthread_mutex_lock(&durable->lock);
    hora__call *call = firing->call;
    if (firing->detached || firing->transaction != NULL || call == NULL ||
        !pthread_equal(call->thread, pthread_self())) {
        pthread_mutex_unlock(&durable->lock);
        return HORA_EINVAL;
    }
    call->detached = true;
    firing->detached = true;
    firing->stop = stop;
    firing->stop_arg = arg;
    firing->thread = hora_thread_unref(firing->thread);
    unsigned reasons = (firing->held.lost ? HORA__STOP_LOST : 0U) |
                       (firing->held.cancelled ? HORA__STOP_CANCELLED : 0U) |
                       (durable->stop_all ? HORA__STOP_SCHEDULER : 0U);
    hora__firing_stop(firing, reasons);
    if (reasons != 0)
        hora__durable_wake(durable);
    pthread_mutex_unlock(&durable->lock);
    HORA__STEP("run: detached");
    return 0;
}

/* Takes a firing out of the list of those to stop. Requires the lock. */
static void leave_stops(hora__firing *firing)
{
    if (firing->link_stop == NULL)
        return;
    *firing->link_stop = firing->next_stop;
    if (firing->next_stop != NULL)
        firing->next_stop->link_stop = firing->link_stop;
    firing->link_stop = NULL;
}

int hora_run_finish(const hora_run *run, int code)
{
    if (run == NULL)
        return HORA_EINVAL;
    hora__firing *firing = hora__firing_of(run);
    hora_durable *durable = firing->durable;
    pthread_mutex_lock(&durable->lock);
    if (!firing->detached) {
        pthread_mutex_unlock(&durable->lock);
        return HORA_EINVAL;
    }
    while (firing->stop_call != NULL && !pthread_equal(firing->stop_call->thread, pthread_self()))
        pthread_cond_wait(&durable->stop_returned, &durable->lock);
    if (firing->stop_call != NULL)
        firing->stop_call->firing = NULL; /* the stop function has called this function */
    leave_stops(firing);
    char *note = hora__firing_settle(firing, code, false);
    pthread_mutex_unlock(&durable->lock);
    HORA__STEP("run: finished");
    free(note);
    return 0;
}

/* Calls the stop function of the first firing in the list. Requires the lock, which it releases meanwhile. */
static void call_stop(hora_durable *durable)
{
    hora__firing *firing = durable->to_stop;
    hora__call call;
    leave_stops(firing);
    firing->stop_told |= firing->stop_reasons;
    firing->stop_reasons = 0;
    hora__call_begin(&call, firing);
    call.is_stop = true;
    firing->stop_call = &call;
    pthread_mutex_unlock(&durable->lock);
    firing->stop(&firing->run, firing->stop_arg);
    pthread_mutex_lock(&durable->lock);
    if (call.firing != NULL) { /* the stop function has not ended the run */
        firing->stop_call = NULL;
        hora__firing_stop(firing, firing->stop_reasons);
        pthread_cond_broadcast(&durable->stop_returned);
    }
    hora__call_end(durable, &call);
}

void hora__durable_call_stops(hora_durable *durable)
{
    pthread_mutex_lock(&durable->lock);
    while (durable->to_stop != NULL)
        call_stop(durable);
    pthread_mutex_unlock(&durable->lock);
}

void hora__firing_returned(hora_durable *durable, hora__call *call)
{
    pthread_mutex_lock(&durable->lock);
    if (call->firing != NULL)
        call->firing->call = NULL;
    while (durable->phase == HORA__DURABLE_STOPPED && durable->to_stop != NULL)
        call_stop(durable);
    hora__call_end(durable, call);
    pthread_mutex_unlock(&durable->lock);
}
