/* SPDX-License-Identifier: Apache-2.0 */
/* registrar.c - tasks are declared first, and scheduled once there is a scheduler
 *
 * Mechanism         Scheduling calls user code and takes locks of the scheduler. So it is done without the
 *                   registrar's lock, in two steps. First, every task is scheduled, paused
 *                   (hora__registration_hold). Then, if nothing prevents it, all are committed at one moment
 *                   under the lock, and after that resumed in order.
 * Add against bind  Tasks may be declared while a thread binds. Before it commits, that thread looks for new
 *                   tasks under the lock, until it holds all of them. A task that is declared after that
 *                   finds the registrar bound, and its own thread schedules it.
 * Close             Once the state is CLOSED, nothing is committed. A thread that was about to commit
 *                   unschedules what it holds.
 * Functions         HORA_SCHEDULED_FUNCTION puts a pointer to each function into a section of the program or
 *                   library. The linker defines symbols for the start and end of the section. So no code runs
 *                   before main, and there is no list that could change.
 * Invariants        I1 BOUND: no registration is DECLARED.
 *                   I2 the list only grows; registrations live as long as the registrar.
 *                   I3 only one thread is between UNBOUND and BOUND.
 * Lock              object.lock (rank OBJECT), never together with the lock of another object. */
#include "sched/registrar.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "base/options.h"
#include "base/reason.h"
#include "sched/scheduler.h"
#include "sync/thread.h"
#include "sys/alloc.h"
#include "sys/process.h"

enum { FIRST_CAPACITY = 8 };

/* ---- beginning ---- */

/* The object's destructor, called when no thread uses the registrar any more. */
static void destroy(struct hora__object *object)
{
    hora_registrar *registrar = HORA__LIST_ENTRY(object, struct hora_registrar, object);
    hora__free(registrar->registrations);
    hora__free(registrar);
}

int hora_registrar_new(const hora_registrar_options *options, hora_registrar **ret_registrar,
                       hora_error *reason)
{
    hora_registrar_options own;
    hora_thread *thread;
    hora__reason_begin(reason);
    if (HORA__TAKE(hora_registrar_options, &own, options) < 0)
        return hora__refuse_size(reason, "hora_registrar_options");
    if (ret_registrar == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_registrar is NULL");
    if (own.resolve == NULL && own.arg != NULL)
        return hora__refuse(reason, HORA_EINVAL, "arg", "arg has no effect without resolve");
    /* Make the calling thread's record now: hora_registrar_close needs one to wait, and might lack the
     * memory. */
    int error = hora__thread_current(&thread);
    if (error < 0)
        return hora__reason_end(reason, error);
    hora_registrar *registrar = hora__alloc(1, sizeof *registrar);
    if (registrar == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    /* No thread waits on a registrar, so it does not matter which clock it has. */
    error = hora__object_init(&registrar->object, NULL, destroy);
    if (error < 0) {
        hora__free(registrar);
        return hora__reason_end(reason, error);
    }
    registrar->resolver = (struct hora__resolver){own.resolve, own.arg};
    *ret_registrar = registrar;
    return 0;
}

int hora__registrar_check(const hora_registrar *registrar)
{
    return registrar == NULL ? HORA_EINVAL : hora__object_check(&registrar->object);
}

static void lock(hora_registrar *registrar)
{
    hora__mutex_lock(&registrar->object.lock);
}

static void unlock(hora_registrar *registrar)
{
    hora__mutex_unlock(&registrar->object.lock);
}

/* Returns the registration with this index; NULL if there is none. Needs no reference, because of I2. */
static hora_registration *at(hora_registrar *registrar, int index)
{
    assert(registrar != NULL);
    lock(registrar);
    bool exists = index >= 0 && index < registrar->count;
    hora_registration *registration = exists ? registrar->registrations[index] : NULL;
    unlock(registrar);
    return registration;
}

/* ---- declaring ---- */

/* Make room for `more` registrations in the list, so that appending them cannot fail. HORA_ENOMEM. The
 * limit keeps the doubling of the capacity within an int. */
static int reserve_locked(hora_registrar *registrar, int more)
{
    assert(more >= 0 && registrar->count <= registrar->capacity);
    assert(hora__mutex_held(&registrar->object.lock));
    if (more > INT_MAX / 2 - registrar->count)
        return HORA_ENOMEM;
    int needed = registrar->count + more;
    if (needed <= registrar->capacity)
        return 0;
    int capacity = registrar->capacity > 0 ? registrar->capacity : FIRST_CAPACITY;
    while (capacity < needed)
        capacity *= 2;
    hora_registration **grown = hora__alloc((size_t)capacity, sizeof(hora_registration *));
    if (grown == NULL)
        return HORA_ENOMEM;
    if (registrar->count > 0)
        memcpy(grown, registrar->registrations, (size_t)registrar->count * sizeof(hora_registration *));
    hora__free(registrar->registrations);
    registrar->registrations = grown;
    registrar->capacity = capacity;
    return 0;
}

static bool is_disabled(const hora_registration *registration)
{
    return registration->declared.kind == HORA__DECLARED_DISABLED;
}

/* Append a registration to the list, which has room, and commit it if its thread holds it. A disabled one
 * may be DECLARED in a bound registrar, against I1, until enlist ends it. */
static void append_locked(hora_registrar *registrar, hora_registration *registration)
{
    assert(registrar->count < registrar->capacity);
    assert(hora__mutex_held(&registrar->object.lock));
    registrar->registrations[registrar->count++] = registration;
    if (registration->attempt != HORA__NOT_TRIED)
        hora__registration_commit_locked(registration);
    assert(registrar->state != HORA__BOUND || registration->state != HORA__DECLARED ||
           is_disabled(registration)); /* I1 */
}

/* Append a batch. Returns 0 if that was done. Returns 1 if the registrar is bound and the batch is not
 * held yet (`are_held`): the caller must hold it first, on *ret_scheduler, which has a reference because
 * the registrar may be closed and its scheduler freed in the meantime. HORA_ECLOSED, HORA_ENOMEM. */
static int try_append(hora_registrar *registrar, hora_registration **batch, int count, bool are_held,
                      hora_scheduler **ret_scheduler)
{
    assert(count >= 0);
    lock(registrar);
    int result = registrar->state == HORA__CLOSED ? HORA_ECLOSED : reserve_locked(registrar, count);
    if (result == 0 && registrar->state == HORA__BOUND && !are_held) {
        *ret_scheduler = registrar->scheduler;
        hora__object_ref(&registrar->scheduler->object);
        result = 1;
    }
    for (int i = 0; i < count && result == 0; i++)
        append_locked(registrar, batch[i]);
    unlock(registrar);
    return result;
}

/* Reads the state under the lock. */
static bool is_closed(hora_registrar *registrar)
{
    lock(registrar);
    bool closed = registrar->state == HORA__CLOSED;
    unlock(registrar);
    return closed;
}

/* Hold all tasks of a batch that are not disabled. On error, some are held; the caller lets them go. If
 * the registrar was closed, its own scheduler refused the task for that reason, and the caller should see
 * HORA_ECLOSED. */
static int hold_batch(hora_registrar *registrar, hora_registration **batch, int count,
                      hora_scheduler *scheduler, hora_error *reason)
{
    assert(scheduler != NULL);
    int error = 0;
    for (int i = 0; i < count && error == 0; i++)
        if (!is_disabled(batch[i]))
            error = hora__registration_hold(batch[i], scheduler, reason);
    if (error < 0 && is_closed(registrar))
        return HORA_ECLOSED;
    return error;
}

/* Declare all tasks of a batch, or none. If the registrar is bound, they are scheduled as well. On success,
 * disabled tasks are ended at once. On error the caller forgets the registrations. HORA_ECLOSED,
 * HORA_ENOMEM, errors of scheduling. Disabled tasks are ended and held ones resumed without the lock, because
 * both may call user code. */
static int enlist(hora_registrar *registrar, hora_registration **batch, int count, hora_error *reason)
{
    assert(batch != NULL && count >= 0);
    hora_scheduler *scheduler = NULL;
    /* An unbound registrar only appends. A bound one needs the batch to be held first, without the lock;
     * then the state is checked again. */
    int result = try_append(registrar, batch, count, false, &scheduler);
    if (result == 1) {
        result = hold_batch(registrar, batch, count, scheduler, reason);
        if (result == 0)
            result = try_append(registrar, batch, count, true, &scheduler);
        /* Nothing of the batch was appended, so all of it can be undone. */
        for (int i = 0; i < count && result < 0; i++)
            hora__registration_let_go(batch[i]);
        hora__object_leave(&scheduler->object);
    }
    for (int i = 0; i < count && result == 0; i++) {
        if (is_disabled(batch[i]))
            (void)hora__registration_end(batch[i], false);
        else if (scheduler != NULL)
            hora__registration_begin(batch[i]);
    }
    return result;
}

/* Errors of enlisting have no name of a task in them, so they are collected in `held` and completed here. The
 * message in `held` has another code if the scheduler refused the task and then the registrar was found to be
 * closed. */
int hora_registrar_add(hora_registrar *registrar, const hora_task *task, const hora_declaration *declaration,
                       hora_registration **ret_registration, hora_error *reason)
{
    hora_registration *registration = NULL;
    hora_error held;
    hora__reason_begin(&held);
    hora__reason_begin(reason);
    int error = hora__registrar_check(registrar);
    if (error == 0) {
        error = hora__registration_new(registrar, task, declaration, &registration, reason);
        if (error < 0)
            return error;
        error = enlist(registrar, &registration, 1, &held);
    }
    if (error < 0) {
        const struct hora__refusal refusal = {.what =
                                                  held.code == error ? held.message : hora_strerror(error)};
        (void)hora__declaration_refuse(reason, error, task,
                                       registration != NULL ? registration->declared.name : NULL, &refusal);
        if (registration != NULL)
            hora__registration_forget(registration);
    } else if (ret_registration != NULL) {
        *ret_registration = registration;
    }
    return error;
}

/* ---- binding ---- */

/* The order in which tasks are scheduled and resumed, that of Spring's registrar. Disabled tasks are not
 * in it. */
static const enum hora__declared_kind order[] = {HORA__DECLARED_TRIGGER, HORA__DECLARED_CRON,
                                                 HORA__DECLARED_RATE, HORA__DECLARED_DELAY,
                                                 HORA__DECLARED_ONCE};
enum { KINDS = sizeof order / sizeof order[0] };

/* Start to bind: from UNBOUND to BINDING, by at most one thread (I3). HORA_EBUSY, HORA_ECLOSED. */
static int begin_binding(hora_registrar *registrar)
{
    lock(registrar);
    int error = registrar->state == HORA__CLOSED    ? HORA_ECLOSED
                : registrar->state == HORA__UNBOUND ? 0
                                                    : HORA_EBUSY;
    if (error == 0)
        registrar->state = HORA__BINDING; /* I3 */
    unlock(registrar);
    return error;
}

/* Returns the first task of this kind, from *index on, that has to be scheduled and is not held yet, and
 * moves *index behind it; NULL if there is none. */
static hora_registration *next_to_hold(hora_registrar *registrar, enum hora__declared_kind kind, int *index)
{
    assert(*index >= 0);
    hora_registration *found = NULL;
    lock(registrar);
    /* A task that was cancelled in the meantime is ENDED, and is left out. */
    for (; *index < registrar->count && found == NULL; (*index)++) {
        hora_registration *registration = registrar->registrations[*index];
        if (registration->declared.kind == kind && registration->state == HORA__DECLARED &&
            registration->attempt == HORA__NOT_TRIED)
            found = registration;
    }
    unlock(registrar);
    return found;
}

/* Hold all tasks that are declared, in order. On error, some are held. */
static int hold_all(hora_registrar *registrar, hora_scheduler *scheduler, hora_error *reason)
{
    assert(scheduler != NULL);
    int error = 0;
    for (int i = 0; i < KINDS && error == 0; i++) {
        int index = 0;
        hora_registration *registration;
        while (error == 0 && (registration = next_to_hold(registrar, order[i], &index)) != NULL)
            error = hora__registration_hold(registration, scheduler, reason);
    }
    return error;
}

/* Returns whether no task was declared since hold_all. */
static bool all_are_held_locked(const hora_registrar *registrar)
{
    assert(hora__mutex_held(&registrar->object.lock));
    for (int i = 0; i < registrar->count; i++) {
        const hora_registration *registration = registrar->registrations[i];
        if (registration->state == HORA__DECLARED && !is_disabled(registration) &&
            registration->attempt == HORA__NOT_TRIED)
            return false;
    }
    return true;
}

/* Bind the registrar and commit all tasks. Returns 0, and in *ret_count the number of registrations to
 * begin; or 1 if tasks were declared since hold_all, and the caller must hold these first; or
 * HORA_ECLOSED. */
static int commit(hora_registrar *registrar, hora_scheduler *scheduler, hora_scheduler *own, int *ret_count)
{
    assert(scheduler != NULL && (own == NULL || own == scheduler));
    lock(registrar);
    /* close changes the state from BINDING to CLOSED. */
    int result = registrar->state != HORA__BINDING && !HORA__FAULT(REGISTRAR_BINDS_AFTER_CLOSE) ? HORA_ECLOSED
                 : all_are_held_locked(registrar) || HORA__FAULT(REGISTRAR_MISSES_LATECOMER)    ? 0
                                                                                                : 1;
    if (result == 0) {
        /* State and tasks change together under the lock, so every thread that sees BOUND finds no task
         * that is only DECLARED (I1). */
        registrar->state = HORA__BOUND;
        registrar->scheduler = scheduler;
        registrar->own = own;
        *ret_count = registrar->count;
        for (int i = 0; i < registrar->count; i++)
            if (registrar->registrations[i]->attempt != HORA__NOT_TRIED)
                hora__registration_commit_locked(registrar->registrations[i]);
    }
    unlock(registrar);
    return result;
}

/* Resume the committed tasks, kind by kind. Tasks that were added after the commit are beyond `count`, and
 * their own threads begin them. */
static void begin_all(hora_registrar *registrar, int count)
{
    assert(count >= 0);
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < count; j++) {
            hora_registration *registration = at(registrar, j);
            if (registration->declared.kind == order[i])
                hora__registration_begin(registration);
        }
}

/* Binding has failed: unschedule all held tasks and make the registrar UNBOUND again. Returns `error`, or
 * HORA_ECLOSED if the registrar was closed in the meantime, which is then the real reason. */
static int take_back(hora_registrar *registrar, int error)
{
    assert(error < 0);
    hora_registration *registration;
    for (int i = 0; (registration = at(registrar, i)) != NULL; i++)
        hora__registration_let_go(registration);
    lock(registrar);
    if (registrar->state == HORA__BINDING)
        registrar->state = HORA__UNBOUND;
    else
        error = HORA_ECLOSED;
    unlock(registrar);
    return error;
}

/* Schedule all tasks on this scheduler, or none. `own` is the same scheduler if the registrar created it. */
static int bind_to(hora_registrar *registrar, hora_scheduler *scheduler, hora_scheduler *own,
                   hora_error *reason)
{
    assert(scheduler != NULL);
    int result, count = 0;
    do {
        /* commit returns 1 if tasks were declared in the meantime. They are held in the next round; those
         * that are held already are not tried again. */
        result = hold_all(registrar, scheduler, reason);
        if (result == 0)
            result = commit(registrar, scheduler, own, &count);
    } while (result > 0);
    if (result < 0)
        return take_back(registrar, result);
    begin_all(registrar, count);
    return 0;
}

/* Check the arguments, create a scheduler if none is given, and bind. A scheduler that was created is
 * freed again on failure. */
static int bind_registrar(hora_registrar *registrar, hora_scheduler *scheduler, hora_error *reason)
{
    hora_scheduler *own = NULL;
    int error = hora__registrar_check(registrar);
    if (error == 0 && scheduler != NULL && hora__scheduler_of(scheduler) == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "this is a pool, not a scheduler");
    if (error == 0 && scheduler != NULL)
        error = hora__pool_check(scheduler);
    if (error == 0)
        error = begin_binding(registrar);
    if (error == HORA_EBUSY)
        return hora__refuse(reason, error, NULL,
                            "the registrar already has a scheduler, or is being given one");
    if (error < 0)
        return error;
    if (scheduler == NULL)
        error = hora_scheduler_new_single(NULL, &own, reason);
    /* take_back also ends the BINDING state if no scheduler could be created. */
    error = error < 0 ? take_back(registrar, error)
                      : bind_to(registrar, scheduler != NULL ? scheduler : own, own, reason);
    if (error < 0)
        (void)hora_pool_free(own);
    return error;
}

int hora_registrar_bind(hora_registrar *registrar, hora_scheduler *scheduler, hora_error *reason)
{
    hora__reason_begin(reason);
    return hora__reason_end(reason, bind_registrar(registrar, scheduler, reason));
}

/* ---- end ---- */

/* Close the registrar. *ret_own is the scheduler that it created, with a reference, or NULL. Fails, with
 * nothing changed, if the caller would have to wait for that scheduler and cannot: HORA_EDEADLK if it is
 * one of its workers; `no_thread`, the error of hora__thread_current, if it has no thread record. */
static int close_locked(hora_registrar *registrar, int no_thread, hora_scheduler **ret_own)
{
    assert(hora__mutex_held(&registrar->object.lock));
    hora_scheduler *own = registrar->own;
    if (own != NULL && hora_pool_current() == own)
        return HORA_EDEADLK;
    if (own != NULL && no_thread < 0)
        return no_thread;
    if (own != NULL)
        hora__object_ref(&own->object);
    registrar->state = HORA__CLOSED;
    *ret_own = own;
    return 0;
}

/* Shut the scheduler down and wait until it has terminated. An interrupt does not end the wait; it is set
 * again afterwards, so that the caller can see it. */
static void end_scheduler(hora_scheduler *own, hora_thread *thread)
{
    assert(own != NULL);
    bool interrupted = false;
    (void)hora_pool_shutdown(own);
    while (hora_pool_await_termination_for(own, HORA_FOREVER) == HORA_EINTERRUPTED)
        interrupted = true;
    if (interrupted)
        (void)hora_thread_interrupt(thread);
}

/* After the state is CLOSED the list does not grow, so the loop reaches every registration. */
int hora_registrar_close(hora_registrar *registrar)
{
    hora_scheduler *own = NULL;
    hora_thread *thread = NULL;
    int error = hora__registrar_check(registrar);
    if (error < 0)
        return error;
    int no_thread = hora__thread_current(&thread);
    lock(registrar);
    error = close_locked(registrar, no_thread, &own);
    unlock(registrar);
    if (error < 0)
        return error;
    hora_registration *registration;
    for (int i = 0; (registration = at(registrar, i)) != NULL; i++)
        (void)hora__registration_end(registration, false);
    if (own != NULL) {
        /* The tasks are cancelled, so only runs that are under way are waited for. */
        end_scheduler(own, thread);
        hora__object_leave(&own->object);
    }
    return 0;
}

/* No other thread may use the registrar any more, so the fields are read without the lock. */
int hora_registrar_free(hora_registrar *registrar)
{
    if (registrar == NULL)
        return 0;
    int error = hora_registrar_close(registrar);
    if (error < 0)
        return error;
    /* May fail and leave the registrar closed, so that the caller can try again; NULL is allowed. */
    error = hora_pool_free(registrar->own);
    if (error < 0)
        return error;
    assert(registrar->state == HORA__CLOSED);
    for (int i = 0; i < registrar->count; i++)
        hora__registration_release(registrar->registrations[i]);
    hora__object_leave(&registrar->object);
    return 0;
}

/* ---- queries ---- */

int hora_registrar_count(hora_registrar *registrar)
{
    if (hora__registrar_check(registrar) < 0)
        return 0;
    lock(registrar);
    int count = registrar->count;
    unlock(registrar);
    return count;
}

hora_registration *hora_registrar_get(hora_registrar *registrar, int index)
{
    return hora__registrar_check(registrar) < 0 ? NULL : at(registrar, index);
}

/* Names need not be unique; the first task with this name is returned. A task without a name has the empty
 * one. */
hora_registration *hora_registrar_find(hora_registrar *registrar, const char *name)
{
    hora_registration *found = NULL;
    if (name == NULL || hora__registrar_check(registrar) < 0)
        return NULL;
    lock(registrar);
    for (int i = 0; i < registrar->count && found == NULL; i++)
        if (strcmp(registrar->registrations[i]->name, name) == 0)
            found = registrar->registrations[i];
    unlock(registrar);
    return found;
}

/* ---- scheduled functions ---- */

/* The task of every scheduled function: calls the function that `arg` describes. It has no result. */
static int call(void *arg, void **ret_result)
{
    assert(arg != NULL);
    const hora_scheduled_function *function = arg;
    (void)ret_result;
    return function->run();
}

/* Returns the task of a scheduled function. A missing function becomes a missing `run`, which reading the
 * declaration refuses with a message that names the place. */
static hora_task task_of(const hora_scheduled_function *function)
{
    assert(function != NULL);
    /* The description is const, but arg is not. It is never written through and never dropped; memcpy
     * removes the qualifier without a cast that compilers warn about. */
    void *arg;
    memcpy(&arg, &function, sizeof arg);
    return (hora_task){
        .run = function->run != NULL ? call : NULL,
        .arg = arg,
        .name = function->name,
        .file = function->file,
        .line = function->line,
    };
}

/* Read all declarations into `batch`. *ret_count is the number of registrations made, also on error. */
static int read_all(hora_registrar *registrar, const hora_scheduled_functions *functions,
                    hora_registration **batch, hora_error *reason, int *ret_count)
{
    assert(functions->first <= functions->end && ret_count != NULL);
    int error = 0;
    for (const hora_scheduled_function *const *each = functions->first; each < functions->end && error == 0;
         each++) {
        if (*each == NULL)
            continue; /* the linker may leave gaps */
        hora_task task = task_of(*each);
        error = hora__registration_new(registrar, &task, &(*each)->declaration, &batch[*ret_count], reason);
        if (error == 0)
            (*ret_count)++;
    }
    return error;
}

/* Write the general text of an error that concerns no particular function. Returns `code`. */
static int refuse_all(hora_error *reason, int code)
{
    assert(code < 0);
    const struct hora__refusal refusal = {.what = hora_strerror(code)};
    return hora__declaration_refuse(reason, code, NULL, "scheduled functions", &refusal);
}

/* Declare all functions or none. `batch` has room for all of them. Returns their number or an error. */
static int add_all(hora_registrar *registrar, const hora_scheduled_functions *functions,
                   hora_registration **batch, hora_error *reason)
{
    assert(batch != NULL);
    int count = 0;
    int error = read_all(registrar, functions, batch, reason, &count);
    if (error == 0) {
        error = enlist(registrar, batch, count, reason);
        /* Another code: a refusal by the scheduler, and then the registrar was found to be closed. */
        if (error < 0 && reason != NULL && reason->code != error)
            (void)refuse_all(reason, error);
    }
    for (int i = 0; i < count && error < 0; i++)
        hora__registration_forget(batch[i]);
    return error < 0 ? error : count;
}

/* The extra element of the batch avoids an allocation of 0 bytes. */
int hora_registrar_add_functions(hora_registrar *registrar, const hora_scheduled_functions *functions,
                                 hora_error *reason)
{
    hora__reason_begin(reason);
    int error = functions == NULL || functions->first > functions->end ? HORA_EINVAL
                                                                       : hora__registrar_check(registrar);
    if (error < 0)
        return refuse_all(reason, error);
    size_t most = (size_t)(functions->end - functions->first);
    hora_registration **batch = hora__alloc(most + 1, sizeof(hora_registration *));
    if (batch == NULL)
        return refuse_all(reason, HORA_ENOMEM);
    int result = add_all(registrar, functions, batch, reason);
    hora__free(batch);
    return result;
}

/* HORA_ENOENT: the library exports no scheduled functions. */
int hora_registrar_scan_library(hora_registrar *registrar, void *library, hora_error *reason)
{
    int error = library == NULL ? HORA_EINVAL : hora__registrar_check(registrar);
    if (error < 0)
        return refuse_all(reason, error);
    /* The library exports this symbol with the bounds of its section. */
    const hora_scheduled_functions *functions = hora__library_find(library, "hora_scheduled_exported");
    if (functions == NULL)
        return refuse_all(reason, HORA_ENOENT);
    return hora_registrar_add_functions(registrar, functions, reason);
}
