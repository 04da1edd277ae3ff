/* SPDX-License-Identifier: Apache-2.0 */
/* test_registration.c - the handle of a declared task; after Spring's ScheduledTaskTests */
#include <string.h>

#include "registrar_support.h"

/* ---- handles ---- */

/* Spring: nextExecutionShouldReturn... : the next moment, nothing when it is cancelled or due. */
TEST(registration_says_when_it_runs_next, "")
{
    struct office o;
    struct tick ticks[3] = {{.runs = 0}, {.runs = 0}, {.waits = true}};
    hora_registration *r[3];

    office_open(&o, 1);
    r[0] = DECLARE(&o, &ticks[0], EVERY_2_SECONDS);
    r[1] = DECLARE(&o, &ticks[1], .fixed_rate = SEC(3), .initial_delay = SEC(5));
    r[2] = DECLARE(&o, &ticks[2], .initial_delay = SEC(7));
    office_bind(&o);
    CHECK_INT(next_of(&o, r[0]), 2);
    CHECK_INT(next_of(&o, r[1]), 5);
    CHECK_INT(next_of(&o, r[2]), 7);
    stage_pass(&o.s, 5);
    CHECK_INT(next_of(&o, r[0]), 6);
    CHECK_INT(next_of(&o, r[1]), 8);
    CHECK_OK(
        hora_virtual_clock_step_wall(o.s.f.clock, SEC(100))); /* the calendar jumps, other clocks do not */
    stage_settle(&o.s);
    CHECK_INT(next_of(&o, r[0]), 106);
    CHECK_INT(next_of(&o, r[1]), 108);
    CHECK_INT(hora_registration_cancel(r[1], false), 1);
    CHECK_INT(next_of(&o, r[1]), -1);
    stage_pass(&o.s, 2); /* the last one runs, and keeps the only thread: the first is due */
    CHECK_INT(next_of(&o, r[2]), -1);
    stage_pass(&o.s, 3);
    CHECK_INT(next_of(&o, r[0]), -1);
    hora_future *future = hora_registration_future(r[0]);
    CHECK_INT(hora_future_pause(future), 1);
    CHECK_INT(next_of(&o, r[0]), -1);
    hora_future_unref(future);
    office_close(&o);
}

/* Spring: TaskExecutionOutcomeTests: none, started, success, error; and again. */
TEST(registration_keeps_its_last_outcome, "")
{
    struct office o;
    struct tick tick = {.lasts = 1, .fails_from = 2, .fails_to = 2, .code = 5};

    office_open(&o, 1);
    hora_registration *registration = DECLARE(&o, &tick, .fixed_rate = SEC(3), .initial_delay = SEC(1));
    CHECK_NOT_RUN(&o, registration);
    office_bind(&o);
    CHECK_NOT_RUN(&o, registration);
    stage_pass(&o.s, 1);
    CHECK_OUTCOME(&o, registration, HORA_OUTCOME_STARTED, 1, 0, 1, 0);
    stage_pass(&o.s, 1);
    CHECK_OUTCOME(&o, registration, HORA_OUTCOME_SUCCESS, 1, 0, 1, 0);
    stage_pass(&o.s, 2);
    CHECK_OUTCOME(&o, registration, HORA_OUTCOME_STARTED, 4, 0, 2, 0);
    stage_pass(&o.s, 1);
    CHECK_OUTCOME(&o, registration, HORA_OUTCOME_ERROR, 4, 5, 2, 1);
    stage_pass(&o.s, 3);
    CHECK_OUTCOME(&o, registration, HORA_OUTCOME_SUCCESS, 7, 0, 3, 1);
    CHECK_OK(hora_registrar_close(o.registrar));
    CHECK_OUTCOME(&o, registration, HORA_OUTCOME_SUCCESS, 7, 0, 3, 1);
    office_close(&o);
}

TEST(registration_cancelled_before_it_is_bound_never_runs, "")
{
    struct office o;
    struct tick ticks[2] = {{.runs = 0}};

    office_open(&o, 1);
    hora_registration *registration = DECLARE(&o, &ticks[0], .fixed_rate = SEC(1));
    DECLARE(&o, &ticks[1], .fixed_rate = SEC(1));
    CHECK_INT(hora_registration_cancel(registration, true), 1);
    CHECK_INT(ticks[0].drops, 1);
    CHECK_INT(hora_registration_cancel(registration, true), 0);
    office_bind(&o);
    CHECK_INT(hora_registration_cancel(registration, true), 0);
    stage_pass(&o.s, 2);
    CHECK_NO_START(&ticks[0]);
    CHECK_STARTS(&ticks[1], 0, 1, 2);
    CHECK_POINTER(hora_registration_future(registration), NULL);
    office_close(&o);
    CHECK_INT(ticks[0].drops, 1);
    CHECK_INT(ticks[1].drops, 1);
}

/* Spring: cancel(mayInterruptIfRunning). */
static void cancel_running(bool interrupt)
{
    struct office o;
    struct tick tick = {.waits = true};

    office_open(&o, 1);
    hora_registration *registration = DECLARE(&o, &tick, .fixed_rate = SEC(1));
    office_bind(&o);
    stage_pass(&o.s, 2);
    CHECK_INT(tick.going, 1);
    CHECK_INT(hora_registration_cancel(registration, interrupt), 1);
    CHECK_INT(hora_registration_cancel(registration, interrupt), 0);
    stage_settle(&o.s);
    CHECK_INT(tick.interrupts, interrupt);
    CHECK_INT(tick.drops, interrupt); /* not before the run has ended */
    CHECK_OK(hora_latch_count_down(o.s.gate));
    stage_pass(&o.s, 3);
    CHECK_INT(tick.runs, 1);
    CHECK_INT(tick.drops, 1);
    office_close(&o);
}

TEST(registration_cancelled_while_it_runs_goes_on_to_its_end, "")
{
    cancel_running(false);
}

TEST(registration_cancelled_while_it_runs_can_be_interrupted, "")
{
    cancel_running(true);
}

TEST(registration_can_be_changed_by_its_future, "")
{
    struct office o;
    struct tick tick = {.runs = 0};

    office_open(&o, 1);
    hora_registration *registration = DECLARE(&o, &tick, .fixed_rate = SEC(10), .initial_delay = SEC(10));
    office_bind(&o);
    hora_future *future = hora_registration_future(registration);
    CHECK(hora_future_is_periodic(future));
    CHECK_INT(strcmp(hora_future_task(future)->name, "tick"), 0);
    CHECK_OK(hora_future_reschedule(future, SEC(1), SEC(2)));
    stage_pass(&o.s, 3);
    CHECK_STARTS(&tick, 1, 3);
    CHECK_OK(hora_registrar_free(o.registrar));
    CHECK(hora_future_is_cancelled(future)); /* it outlives the registrar */
    CHECK_INT(tick.drops, 1);
    hora_future_unref(future);
    stage_close(&o.s);
}
