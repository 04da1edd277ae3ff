/* SPDX-License-Identifier: Apache-2.0 */
/* durable_run.c - run the handler of a firing, on a thread of the scheduler
 *
 * A run with HORA_EFFECT_ONCE whose handler has begun a transaction is settled in that transaction. If it is
 * not known whether the commit has happened, the run is reported as failed: if the commit has happened, the
 * fence makes that report stale; if not, the effects are rolled back and the firing is tried again. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable.h"
#include "reason.h"
#include "step.h"
#include "units.h"

/* ---- the run ---- */

/* The same for all attempts: the task, and the planned time that may occur more than once in its life. */
static void write_idempotency_key(hora__firing *firing)
{
    const hora__claim *claim = &firing->held.claim;
    int64_t task = claim->series != 0 ? claim->series : claim->id;
    int length = snprintf(firing->idempotency_key, sizeof firing->idempotency_key, "%s%" PRId64 ":%" PRId64,
                          claim->series != 0 ? "s" : "t", task, claim->planned);
    assert(length > 0 && (size_t)length < sizeof firing->idempotency_key);
    (void)length;
}

static void fill_run(hora__firing *firing)
{
    const hora__claim *claim = &firing->held.claim;
    write_idempotency_key(firing);
    firing->run = (hora_run){
        .struct_size = sizeof firing->run,
        .task_id = claim->id,
        .handler = firing->durable->handler_names[claim->handler],
        .key = claim->key,
        .payload = claim->payload.data,
        .payload_size = claim->payload.size,
        .planned = hora__instant_of_us(claim->planned),
        .attempt = claim->attempt,
        .is_last_attempt = claim->attempt >= firing->held.definition->max_attempts,
        .idempotency_key = firing->idempotency_key,
        .fence = claim->fence,
        .last_success = hora__instant_of_us(claim->last_success),
        .durable = firing->durable,
        .failures_in_a_row = claim->gave_up,
        .handed_back = claim->handed_back,
    };
}

void hora__call_begin(hora__call *call, hora__firing *firing)
{
    hora_durable *durable = firing->durable;
    *call = (hora__call){.firing = firing, .thread = pthread_self()};
    call->next = durable->calls;
    if (call->next != NULL)
        call->next->link = &call->next;
    call->link = &durable->calls;
    durable->calls = call;
}

void hora__call_end(hora_durable *durable, hora__call *call)
{
    *call->link = call->next;
    if (call->next != NULL)
        call->next->link = call->link;
    hora__durable_changed(durable);
}

/* Requires the lock. */
static void begin_run(hora__firing *firing, hora__call *call)
{
    hora_durable *durable = firing->durable;
    fill_run(firing);
    hora__call_begin(call, firing);
    firing->call = call;
    if (hora_thread_self(&firing->thread) < 0)
        firing->thread = NULL; /* it cannot be interrupted, and learns of a stop only by asking */
    firing->next_running = durable->running;
    if (firing->next_running != NULL)
        firing->next_running->link_running = &firing->next_running;
    firing->link_running = &durable->running;
    durable->running = firing;
}

/* What the handler said. */
static hora__run_end end_of(const hora__firing *firing, int code)
{
    hora__run_end end = firing->end;
    end.code = code;
    end.note = (hora__bytes){firing->note, firing->note_size};
    return end;
}

/* Wakes the node's thread, unless it will look at the node anyway before the next exchange is due: many
 * firings end between two exchanges. Requires the lock. */
static void wake_for_exchange(hora_durable *durable, hora_ns now)
{
    bool stopping = durable->phase != HORA__DURABLE_STARTED; /* the thread waits for the last run */
    if (stopping || hora__node_next_exchange(durable->node, now) < durable->sleeps_until)
        hora__durable_wake(durable);
}

char *hora__firing_settle(hora__firing *firing, int code, bool settled)
{
    hora_durable *durable = firing->durable;
    hora_ns now = hora__durable_now(durable);
    const hora__run_end end = end_of(firing, code);
    char *note = firing->note;
    *firing->link_running = firing->next_running;
    if (firing->next_running != NULL)
        firing->next_running->link_running = firing->link_running;
    firing->thread = hora_thread_unref(firing->thread);
    if (firing->call != NULL)
        firing->call->firing = NULL;
    hora__node_ended(durable->node, &firing->held, &end, settled, now);
    hora__durable_changed(durable);
    wake_for_exchange(durable, now);
    return note;
}

/* Requires the lock. Interrupts the thread that runs the handler. */
static void interrupt(hora__firing *firing)
{
    assert(firing->call != NULL);
    if (firing->thread == NULL || firing->call->interrupted)
        return;
    firing->call->interrupted = true;
    (void)hora_thread_interrupt(firing->thread);
}

void hora__firing_stop(hora__firing *firing, unsigned reasons)
{
    assert(firing->held.state == HORA__HELD_RUNNING);
    hora_durable *durable = firing->durable;
    if (!firing->detached) {
        interrupt(firing);
        return;
    }
    firing->stop_reasons |= reasons & ~firing->stop_told;
    /* The thread that calls the function now looks again afterwards. */
    if (firing->stop_reasons == 0 || firing->link_stop != NULL || firing->stop_call != NULL)
        return;
    firing->next_stop = durable->to_stop;
    if (firing->next_stop != NULL)
        firing->next_stop->link_stop = &firing->next_stop;
    firing->link_stop = &durable->to_stop;
    durable->to_stop = firing;
}

/* Commits the transaction of a run together with its outcome. Returns the code that the run ends with, and
 * whether its outcome is in the store. */
static int commit(hora__firing *firing, int code, bool *ret_settled)
{
    hora_durable *durable = firing->durable;
    hora__backend *backend = durable->store->backend;
    hora_error reason;
    hora__settle settle;
    int counts = 0;
    if (code == 0 && !firing->end.hands_back) {
        pthread_mutex_lock(&durable->lock);
        const hora__run_end end = end_of(firing, code);
        hora__node_outcome(durable->node, &firing->held, &end, hora__durable_now(durable),
                           &firing->held.settle);
        settle = firing->held.settle;
        const hora__lease lease = {.node = settle.owner};
        pthread_mutex_unlock(&durable->lock);
        counts = backend->ops->settle_in(backend, firing->transaction, &lease, &settle, &reason);
        HORA__STEP("run: settled in transaction");
    }
    int error = backend->ops->end(backend, firing->transaction, counts > 0, &reason);
    *ret_settled = counts > 0 && error == 0;
    if (code != 0)
        return code;
    if (counts < 0)
        return counts;
    return error;
}

static int call_handler(hora__firing *firing)
{
    const hora__handler *handler = &firing->durable->handlers[firing->held.claim.handler];
    return handler->run(&firing->run, handler->arg);
}

/* The outcome of a run whose handler has returned. */
static void note_outcome(hora__firing *firing, hora__call *call, int code)
{
    hora_durable *durable = firing->durable;
    bool settled = false;
    if (firing->transaction != NULL) {
        int committed = commit(firing, code, &settled);
        if (committed != code)
            firing->end = (hora__run_end){.code = 0}; /* the run has failed, whatever the handler said */
        code = committed;
    }
    pthread_mutex_lock(&durable->lock);
    char *text = hora__firing_settle(firing, code, settled);
    hora__call_end(durable, call);
    pthread_mutex_unlock(&durable->lock);
    HORA__STEP("run: outcome noted");
    free(text);
}

/* The memory of the durable scheduler may be gone when the last call of a handler has ended and the lock is
 * released. */
int hora__firing_run(void *arg)
{
    hora__firing *firing = arg;
    hora_durable *durable = firing->durable;
    hora__call call;
    HORA__STEP("run: before start");
    pthread_mutex_lock(&durable->lock);
    hora__start start = hora__node_start(durable->node, &firing->held, hora__durable_now(durable));
    if (start == HORA__START_RUN)
        begin_run(firing, &call);
    if (start != HORA__START_RUN || firing->held.cancelled)
        hora__durable_wake(durable); /* a settlement may wait to be sent, or a run to be stopped */
    pthread_mutex_unlock(&durable->lock);
    if (start != HORA__START_RUN)
        return 0;
    HORA__STEP("run: before handler");
    int code = call_handler(firing);
    HORA__STEP("run: after handler");
    if (call.detached)
        hora__firing_returned(durable, &call); /* the memory of the firing may be gone */
    else
        note_outcome(firing, &call, code);
    if (call.interrupted)
        (void)hora_interrupted(); /* the interrupt was for this run, not for the next task of the thread */
    return call.detached ? 0 : code;
}

/* ---- what a handler can ask ---- */

hora__firing *hora__firing_of(const hora_run *run)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is a pointer, without its const */
    return (hora__firing *)(uintptr_t)((const char *)run - offsetof(hora__firing, run));
}

bool hora_run_is_lost(const hora_run *run)
{
    if (run == NULL)
        return false;
    hora__firing *firing = hora__firing_of(run);
    hora_durable *durable = firing->durable;
    pthread_mutex_lock(&durable->lock);
    /* A run that is in progress when the node has left was handed back. */
    bool lost = firing->held.lost || durable->phase == HORA__DURABLE_STOPPED ||
                !hora__node_has_lease(durable->node, hora__durable_now(durable));
    pthread_mutex_unlock(&durable->lock);
    return lost;
}

bool hora_run_is_cancelled(const hora_run *run)
{
    if (run == NULL)
        return false;
    hora__firing *firing = hora__firing_of(run);
    pthread_mutex_lock(&firing->durable->lock);
    bool cancelled = firing->held.cancelled || firing->durable->phase >= HORA__DURABLE_STOPPING;
    pthread_mutex_unlock(&firing->durable->lock);
    return cancelled;
}

int hora_run_set_note(const hora_run *run, const char *text, size_t size)
{
    if (run == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    if (size > HORA__MAX_NOTE)
        return HORA_ERANGE;
    hora__firing *firing = hora__firing_of(run);
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return HORA_ENOMEM;
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    free(firing->note);
    firing->note = copy;
    firing->note_size = size;
    return 0;
}

int hora_run_set_retry(const hora_run *run, hora_ns pause)
{
    if (run == NULL)
        return HORA_EINVAL;
    hora__firing *firing = hora__firing_of(run);
    firing->end.sets_retry = true;
    firing->end.retry_us = pause < 0 ? -1 : hora__us_of_ns(pause);
    return 0;
}

int hora_run_set_outcome(const hora_run *run, hora_run_outcome outcome)
{
    if (run == NULL || (outcome != HORA_RUN_SKIPPED && outcome != HORA_RUN_STOPPED))
        return HORA_EINVAL;
    hora__firing_of(run)->end.outcome = outcome;
    return 0;
}

int hora_run_hand_back(const hora_run *run)
{
    if (run == NULL)
        return HORA_EINVAL;
    hora__firing_of(run)->end.hands_back = true;
    return 0;
}

static int begin(const hora_run *run, const char *database, void **ret_connection, hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    if (run == NULL || ret_connection == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, NULL, "%s is NULL",
                                  run == NULL ? "run" : "ret_connection");
    hora__firing *firing = hora__firing_of(run);
    hora__backend *backend = firing->durable->store->backend;
    if (strcmp(backend->ops->name, database) != 0)
        return hora__store_refuse(reason, HORA_EINVAL, NULL, "this is a %s store", backend->ops->name);
    if (firing->held.definition->delivery != HORA_EFFECT_ONCE)
        return hora__store_refuse(reason, HORA_EINVAL, NULL, "delivery of the task is not HORA_EFFECT_ONCE");
    if (firing->detached)
        return hora__store_refuse(reason, HORA_EINVAL, NULL, "the run has outlived its handler");
    if (firing->transaction == NULL) {
        int error = backend->ops->begin(backend, &firing->transaction, reason);
        if (error < 0)
            return error;
    }
    *ret_connection = firing->transaction;
    hora__store_success(reason);
    return 0;
}

int hora_run_begin_sqlite(const hora_run *run, struct sqlite3 **ret_connection, hora_error *reason)
{
    void *connection;
    int error = begin(run, "sqlite", ret_connection == NULL ? NULL : &connection, reason);
    if (error == 0)
        *ret_connection = connection;
    return error;
}

int hora_run_begin_postgres(const hora_run *run, struct pg_conn **ret_connection, hora_error *reason)
{
    void *connection;
    int error = begin(run, "postgres", ret_connection == NULL ? NULL : &connection, reason);
    if (error == 0)
        *ret_connection = connection;
    return error;
}
