/* SPDX-License-Identifier: Apache-2.0 */
/* registrar.h - the registrar's state, shared by registrar.c and registration.c */
#ifndef HORA_SCHED_REGISTRAR_H
#define HORA_SCHED_REGISTRAR_H

#include <hora/registrar.h>

#include "sched/declaration.h"
#include "sync/object.h"

enum hora__registrar_state {
    HORA__UNBOUND,
    HORA__BINDING, /* a thread schedules what is declared, without the lock */
    HORA__BOUND,
    HORA__CLOSED,
};

struct hora_registrar {
    struct hora__object object;
    struct hora__resolver resolver; /* immutable */

    /* guarded by object.lock */
    enum hora__registrar_state state;
    hora_scheduler *scheduler;         /* BOUND: the scheduler of its tasks */
    hora_scheduler *own;               /* the same if the registrar made it; freed with the registrar */
    hora_registration **registrations; /* in the order of declaration */
    int count;
    int capacity;
};

/* The state of a declared task. */
enum hora__registration_state {
    HORA__DECLARED,  /* the registration owns its arg */
    HORA__SCHEDULED, /* its future does */
    HORA__ENDED,     /* it was never scheduled and never will be: arg is dropped, or is about to be */
};

/* The result of the attempt to schedule it, before that counts. */
enum hora__attempt { HORA__NOT_TRIED, HORA__HELD, HORA__NEVER_DUE };

struct hora__tie;

struct hora_registration {
    hora__atomic references;   /* of the registrar, and of each future that was made for it */
    hora_registrar *registrar; /* immutable, as the next two; may be gone before the registration */
    hora_task task;            /* as given, but with a name of its own */
    struct hora__declared declared;

    /* guarded by the registrar's lock */
    enum hora__registration_state state;
    hora_future *future; /* SCHEDULED; has a reference */

    /* used only by the thread that schedules it */
    enum hora__attempt attempt;
    hora_future *held;     /* the paused future */
    struct hora__tie *tie; /* see registration.c */
    bool owes_drop;        /* arg is dropped without the lock */

    char name[]; /* immutable */
};

/* Read a declaration. Calls user code. Writes *reason on failure. */
__attribute__((warn_unused_result)) int hora__registration_new(hora_registrar *registrar,
                                                               const hora_task *task,
                                                               const hora_declaration *declaration,
                                                               hora_registration **ret_registration,
                                                               hora_error *reason);

/* Forget a registration that was not declared after all: arg stays the caller's. */
void hora__registration_forget(hora_registration *registration);

/* The registrar ends: give up its reference. */
void hora__registration_release(hora_registration *registration);

/* ---- scheduling it: hold, then either commit and begin, or let go ---- */

/* Schedule it, paused. */
__attribute__((warn_unused_result)) int hora__registration_hold(hora_registration *registration,
                                                                hora_scheduler *scheduler,
                                                                hora_error *reason);

/* With the registrar's lock: the held task counts, unless it was cancelled meanwhile. Then, without the
 * lock, let it begin. */
void hora__registration_commit_locked(hora_registration *registration);
void hora__registration_begin(hora_registration *registration);

/* Unschedule a held task; the registration is as before. */
void hora__registration_let_go(hora_registration *registration);

/* Make sure that it does not run again. Returns whether it would have. */
bool hora__registration_end(hora_registration *registration, bool interrupt);

/* ---- registrar.c ---- */

/* Declare all or none. On success, disabled ones are dropped. HORA_ECLOSED, HORA_ENOMEM, errors of
 * scheduling. */
__attribute__((warn_unused_result)) int hora__registrar_enlist(hora_registrar *registrar,
                                                               hora_registration **batch, int count,
                                                               hora_error *reason);

/* Refuses NULL, and a registrar of the parent process. */
__attribute__((warn_unused_result)) int hora__registrar_check(const hora_registrar *registrar);

#endif
