/* SPDX-License-Identifier: Apache-2.0 */
/* registrar.h - the registrar's state, shared by registrar.c and registration.c
 *
 * A registrar collects declared tasks and schedules them when it is bound to a scheduler. A registration is
 * one declared task and the handle that the user gets for it. */
#ifndef HORA_SCHED_REGISTRAR_H
#define HORA_SCHED_REGISTRAR_H

#include <hora/registrar.h>

#include "sched/declaration.h"
#include "sync/object.h"

/* States of a registrar. Binding that fails returns from BINDING to UNBOUND; CLOSED is final. */
enum hora__registrar_state {
    HORA__UNBOUND, /* no scheduler yet: tasks are only declared */
    HORA__BINDING, /* one thread schedules the declared tasks, without the lock */
    HORA__BOUND,   /* new tasks are scheduled at once */
    HORA__CLOSED,  /* all tasks are cancelled, and none can be declared */
};

/* A registrar. It owns its registrations. */
struct hora_registrar {
    struct hora__object object;
    /* The user's function for placeholders. Immutable. */
    struct hora__resolver resolver;

    /* guarded by object.lock */
    enum hora__registrar_state state;
    /* The scheduler of its tasks once it is BOUND, else NULL. Not owned. */
    hora_scheduler *scheduler;
    /* The same scheduler if the registrar created it, else NULL. Freed with the registrar. */
    hora_scheduler *own;
    /* In the order of declaration; `count` of `capacity` elements are used. */
    hora_registration **registrations;
    int count;
    int capacity;
};

/* The states of a registration. They determine the owner of its task's arg. */
enum hora__registration_state {
    HORA__DECLARED,  /* not scheduled yet; the registration owns arg */
    HORA__SCHEDULED, /* its future owns arg */
    HORA__ENDED,     /* it was never scheduled and never will be: arg is dropped, or is about to be */
};

/* The result of trying to schedule a task, before the registrar has decided whether it counts. NOT_TRIED:
 * no attempt is under way. HELD: scheduled, but paused. NEVER_DUE: not scheduled, because its schedule has
 * no time. */
enum hora__attempt { HORA__NOT_TRIED, HORA__HELD, HORA__NEVER_DUE };

struct hora__tie;

/* A declared task. */
struct hora_registration {
    /* One of the registrar, and one of each tie, that is, of each future that was made for it. */
    hora__atomic references;
    /* Immutable, as the next two. A future may keep the registration alive when the registrar is already
     * freed; only the registrar itself and user calls on the handle, which require it, follow this
     * pointer. */
    hora_registrar *registrar;
    /* As it was declared, except that its name is the copy below, or NULL. */
    hora_task task;
    /* The declaration in its final form. Its name is the copy below, or NULL. */
    struct hora__declared declared;

    /* guarded by the registrar's lock */
    enum hora__registration_state state;
    /* A reference, from SCHEDULED on until the registrar is freed; NULL: it was never scheduled. */
    hora_future *future;

    /* These are used by the one thread that schedules it: the thread that binds the registrar, or the one
     * that declares the task if the registrar is bound already. */
    enum hora__attempt attempt;
    /* The paused future, with a reference, while `attempt` is HELD; else NULL. */
    hora_future *held;
    /* The tie to `held`, until the decision whether it counts; see registration.c. */
    struct hora__tie *tie;
    /* The decision made this thread responsible for dropping arg, which it does after it has released the
     * lock. */
    bool owes_drop;

    /* A copy of the name; empty: none. Immutable. */
    char name[];
};

/* Read a declaration and make a registration of it, which is DECLARED but not yet in the registrar's list.
 * Calls user code, so the caller must hold no lock. Writes *reason on failure. The registration owns arg
 * only once it is enlisted. */
__attribute__((warn_unused_result)) int hora__registration_new(hora_registrar *registrar,
                                                               const hora_task *task,
                                                               const hora_declaration *declaration,
                                                               hora_registration **ret_registration,
                                                               hora_error *reason);

/* Free a registration that could not be enlisted. arg still belongs to the caller. */
void hora__registration_forget(hora_registration *registration);

/* Release the registrar's reference; the registrar is about to be freed. */
void hora__registration_release(hora_registration *registration);

/* ---- scheduling: first hold, then either commit and begin, or let go ---- */

/* Schedule the task, paused, so that it can be undone. Success includes a schedule that has no time;
 * `attempt` tells which. Calls user code, so the caller must hold no lock. */
__attribute__((warn_unused_result)) int hora__registration_hold(hora_registration *registration,
                                                                hora_scheduler *scheduler,
                                                                hora_error *reason);

/* With the registrar's lock: the held task is SCHEDULED from now on, or ENDED if it has no time. Does
 * nothing if it was cancelled in the meantime. hora__registration_begin must follow, without the lock. */
void hora__registration_commit_locked(hora_registration *registration);
/* Resume a task after its commit, or undo holding it if it was cancelled before the commit. */
void hora__registration_begin(hora_registration *registration);

/* Unschedule a held task that was not committed. The registration is as it was before it was held. */
void hora__registration_let_go(hora_registration *registration);

/* Make sure that the task does not run again: drop arg of one that is only declared, cancel the future of
 * one that is scheduled. Returns whether it would have run again. Takes the registrar's lock. */
bool hora__registration_end(hora_registration *registration, bool interrupt);

/* ---- registrar.c ---- */

/* Returns HORA_EINVAL for NULL, else the result of hora__object_check. */
__attribute__((warn_unused_result)) int hora__registrar_check(const hora_registrar *registrar);

#endif
