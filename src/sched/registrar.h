/* SPDX-License-Identifier: Apache-2.0 */
/* registrar.h - the registrar's state, and what its files know of each other: registrar.c, registration.c, scheduled_functions.c */
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
    hora_scheduler *scheduler; /* BOUND: on which */
    hora_scheduler *own;       /* the same if it was made here; freed with the registrar */
    hora_registration **registrations;
    int count;
    int capacity;
};

/* Where a declared task stands. */
enum hora__registration_state {
    HORA__DECLARED,  /* the registration owns its arg */
    HORA__SCHEDULED, /* its future does */
    HORA__ENDED,     /* it was never scheduled and never will be: arg is dropped, or is about to be */
};

/* What came of the attempt to schedule it, before that counts. */
enum hora__attempt { HORA__NOT_TRIED, HORA__HELD, HORA__NEVER_DUE };

struct hora__tie;

struct hora_registration {
    hora__atomic references;   /* the registrar's, and one of each future that was made for it */
    hora_registrar *registrar; /* immutable, as are these; not to be followed once the registrar is gone */
    hora_task task;            /* as it was given, but with a name of its own */
    struct hora__declared declared;

    /* guarded by the registrar's lock */
    enum hora__registration_state state;
    hora_future *future; /* SCHEDULED */

    /* of the one thread that is about to schedule it */
    enum hora__attempt attempt;
    hora_future *held;
    struct hora__tie *tie;
    bool owes_drop;

    char name[]; /* immutable */
};

/* Understand a declaration. User code is called. The error is written on failure. */
__attribute__((warn_unused_result)) int hora__registration_new(hora_registrar *registrar,
                                                               const hora_task *task,
                                                               const hora_declaration *declaration,
                                                               hora_registration **ret_registration,
                                                               hora_error *reason);

/* It was never declared, after all: arg stays the caller's. */
void hora__registration_forget(hora_registration *registration);

/* The registrar is at its end, and lets go of it. */
void hora__registration_release(hora_registration *registration);

/* ---- scheduling it: hold, then either commit and begin, or let go ---- */

/* Put it on a scheduler, but so that it does not begin. */
__attribute__((warn_unused_result)) int hora__registration_hold(hora_registration *registration,
                                                                hora_scheduler *scheduler,
                                                                hora_error *reason);

/* With the registrar's lock: what is held counts, unless it was cancelled meanwhile. Then, without: let it begin. */
void hora__registration_commit_locked(hora_registration *registration);
void hora__registration_begin(hora_registration *registration);

/* Take it off again; the registration is as before. */
void hora__registration_let_go(hora_registration *registration);

/* See that it does not run again: whether it would have. */
bool hora__registration_end(hora_registration *registration, bool interrupt);

/* ---- registrar.c ---- */

/* Declare all or none. On success those that are disabled are dropped. HORA_ECLOSED, HORA_ENOMEM, and errors of scheduling. */
__attribute__((warn_unused_result)) int hora__registrar_enlist(hora_registrar *registrar,
                                                               hora_registration **batch, int count,
                                                               hora_error *reason);

/* NULL, and a registrar of the parent process. */
__attribute__((warn_unused_result)) int hora__registrar_check(const hora_registrar *registrar);

#endif
