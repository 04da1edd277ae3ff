/* SPDX-License-Identifier: Apache-2.0 */
/* declaration.h - reads a declaration: the result is a schedule, or a sentence that says what is wrong */
#ifndef HORA_SCHED_DECLARATION_H
#define HORA_SCHED_DECLARATION_H

#include <hora/registrar.h>

/* Looks up the values of placeholders. */
struct hora__resolver {
    hora_resolve_fn resolve; /* NULL: a placeholder is an error */
    void *context;
};

/* In the order in which a registrar schedules. */
enum hora__declared_kind {
    HORA__DECLARED_TRIGGER,
    HORA__DECLARED_CRON,
    HORA__DECLARED_RATE,
    HORA__DECLARED_DELAY,
    HORA__DECLARED_ONCE,
    HORA__DECLARED_DISABLED,
};

/* A declaration that was read. */
struct hora__declared {
    enum hora__declared_kind kind;
    const char *name;         /* as it was given; NULL: none */
    hora_schedule spec;       /* what it is scheduled with; has a reference to its trigger */
    hora_task_options *terms; /* those of the schedule; its own. NULL: none */
    hora_trigger *in_words;   /* the same for people, a reference; NULL: it runs once, or never */
};

/* Read a declaration of a task; the error is written on failure, and may be NULL. Calls user code. */
__attribute__((warn_unused_result)) int hora__declaration_read(const struct hora__resolver *resolver,
                                                               const hora_task *task,
                                                               const hora_declaration *declaration,
                                                               struct hora__declared *ret_declared,
                                                               hora_error *reason);

/* Release its references. May call user code. */
void hora__declared_clear(struct hora__declared *declared);

/* Write a sentence about a task: name (file:line): what "quoted": detail. All but `what` may be NULL, and
 * so may the reason. */
struct hora__complaint {
    const char *field;  /* static; NULL: none */
    const char *what;   /* is wrong */
    const char *quoted; /* a text of the caller; NULL: none */
    const char *detail; /* NULL: none */
};

int hora__declaration_complain(hora_error *reason, int code, const hora_task *task, const char *name,
                               const struct hora__complaint *complaint);

#endif
