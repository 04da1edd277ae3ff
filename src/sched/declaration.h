/* SPDX-License-Identifier: Apache-2.0 */
/* declaration.h - reads a declaration: the result is a schedule, or a sentence that says what is wrong */
#ifndef HORA_SCHED_DECLARATION_H
#define HORA_SCHED_DECLARATION_H

#include <hora/registrar.h>

/* The user's function that looks up the values of placeholders. */
struct hora__resolver {
    hora_resolve_fn resolve; /* NULL: a placeholder is an error */
    void *context;           /* its last argument */
};

/* What a declaration declares, in the order in which a registrar schedules. */
enum hora__declared_kind {
    HORA__DECLARED_TRIGGER,
    HORA__DECLARED_CRON,
    HORA__DECLARED_RATE,
    HORA__DECLARED_DELAY,
    HORA__DECLARED_ONCE,
    HORA__DECLARED_DISABLED,
};

/* A declaration after reading. It owns its references and its copy of the options. */
struct hora__declared {
    enum hora__declared_kind kind;
    /* The caller's text, which the registration copies; NULL: none. */
    const char *name;
    /* The schedule of the task. It has a reference to its trigger, if any, and `terms` as its options. */
    hora_schedule spec;
    /* A copy of the task options, owned; NULL: none. */
    hora_task_options *terms;
    /* A trigger, with a reference, that describes the schedule in words; NULL: the task runs once or is
     * disabled. */
    hora_trigger *in_words;
};

/* Read the declaration of a task. On failure *reason says why, unless it is NULL. Calls user code: the
 * resolver. On success the caller calls hora__declared_clear in the end. */
__attribute__((warn_unused_result)) int hora__declaration_read(const struct hora__resolver *resolver,
                                                               const hora_task *task,
                                                               const hora_declaration *declaration,
                                                               struct hora__declared *ret_declared,
                                                               hora_error *reason);

/* Release what a declaration owns. A trigger that is freed may call user code. */
void hora__declared_clear(struct hora__declared *declared);

/* The parts of a sentence about a task: name (file:line): what "quoted": detail. */
struct hora__refusal {
    /* The field of hora_declaration that is wrong, a static string; NULL: none in particular. */
    const char *field;
    /* What is wrong; never NULL. */
    const char *what;
    /* The user's text; NULL: none. */
    const char *quoted;
    /* Why it is wrong; NULL: no detail. */
    const char *detail;
};

/* Write such a sentence to *reason. Returns `code`. `task`, `name` and `reason` may be NULL. */
int hora__declaration_refuse(hora_error *reason, int code, const hora_task *task, const char *name,
                             const struct hora__refusal *refusal);

#endif
