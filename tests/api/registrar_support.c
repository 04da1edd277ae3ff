/* SPDX-License-Identifier: Apache-2.0 */
/* registrar_support.c - see registrar_support.h */
#include "registrar_support.h"

void office_open(struct office *o, int threads)
{
    stage_open(&o->s, HORA_SCHEDULER_OPTIONS(.core_threads = threads));
    CHECK_OK(hora_registrar_new(NULL, &o->registrar, NULL));
}

void office_close(struct office *o)
{
    CHECK_OK(hora_registrar_free(o->registrar));
    stage_close(&o->s);
}

void office_bind(struct office *o)
{
    CHECK_OK(hora_registrar_bind(o->registrar, o->s.scheduler, NULL));
}

hora_registration *declare_tick(const char *file, int line, struct office *o, struct tick *tick,
                                const hora_declaration *declaration)
{
    hora_registration *registration = NULL;
    hora_error error;

    tick->stage = &o->s;
    if (hora_registrar_add(o->registrar, TICK(tick), declaration, &registration, &error) < 0)
        test_fail(file, line, "%s", error.message);
    return registration;
}

int next_of(struct office *o, hora_registration *registration)
{
    hora_instant next = {-7};
    int found = hora_registration_next(registration, &next);

    CHECK(found == 0 || found == 1);
    CHECK_INT(next.ns == -7, found == 0);
    return found == 0 ? -1 : (int)((next.ns - o->s.zero[HORA_CLOCK_WALL]) / SEC(1));
}

void check_outcome(const char *file, int line, struct office *o, hora_registration *registration,
                   hora_outcome_state state, int start, int code, int runs, int failures)
{
    hora_outcome outcome = HORA_INIT(hora_outcome);

    CHECK_OK(hora_registration_get_outcome(registration, &outcome));
    test_check_int(file, line, "state", outcome.state, state);
    test_check_int(file, line, "start", outcome.start.ns,
                   start < 0 ? 0 : o->s.zero[HORA_CLOCK_WALL] + SEC(start));
    test_check_int(file, line, "code", outcome.code, code);
    test_check_int(file, line, "runs", outcome.runs, runs);
    test_check_int(file, line, "failures", outcome.failures, failures);
}
