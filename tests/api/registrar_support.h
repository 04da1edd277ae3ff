/* SPDX-License-Identifier: Apache-2.0 */
/* registrar_support.h - shared by the tests of registrars
 *
 * An office is a stage with a registrar. The tasks are ticks, so all times are seconds since the office was
 * opened. The clock is virtual and starts on a whole second, so cron has exact answers. */
#ifndef HORA_TESTS_API_REGISTRAR_SUPPORT_H
#define HORA_TESTS_API_REGISTRAR_SUPPORT_H

#include <hora/registrar.h>

#include "schedule_support.h"

#define EVERY_2_SECONDS .cron = "*/2 * * * * *", .zone = "UTC"

struct office {
    struct stage s;
    hora_registrar *registrar;
};

void office_open(struct office *o, int threads);
/* Free the registrar, and end the stage. */
void office_close(struct office *o);
/* Bind the scheduler of the stage. */
void office_bind(struct office *o);

/* Declare a tick; NULL only after a failed check. */
hora_registration *declare_tick(const char *file, int line, struct office *o, struct tick *tick,
                                const hora_declaration *declaration);
#define DECLARE(o, tick, ...) declare_tick(__FILE__, __LINE__, (o), (tick), HORA_DECLARATION(__VA_ARGS__))

/* In which second it runs next; -1: there is none. */
int next_of(struct office *o, hora_registration *registration);

/* Its last outcome; start: in which second the run began, -1: none has. */
void check_outcome(const char *file, int line, struct office *o, hora_registration *registration,
                   hora_outcome_state state, int start, int code, int runs, int failures);
#define CHECK_OUTCOME(...)             check_outcome(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK_NOT_RUN(o, registration) CHECK_OUTCOME((o), (registration), HORA_OUTCOME_NONE, -1, 0, 0, 0)

#endif
