/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_support.h - shared by the tests of triggers: moments, zones and expressions from valid texts */
#ifndef HORA_TESTS_API_TRIGGER_SUPPORT_H
#define HORA_TESTS_API_TRIGGER_SUPPORT_H

#include <hora/trigger.h>

#include "harness.h"

/* ISO 8601 with an offset; "-": HORA_NEVER; "never": HORA_FOREVER. */
hora_ns moment(const char *text);

hora_zone *a_zone(const char *name);
hora_cron *a_cron(const char *text);

/* Of an expression with six fields; zone NULL: UTC. */
hora_trigger *a_cron_trigger(const char *text, const char *zone, const hora_cron_trigger_options *options);
hora_trigger *a_periodic_trigger(hora_ns period, bool at_fixed_rate, hora_ns initial_delay);
/* Moments with a comma between them. */
hora_trigger *an_instants_trigger(const char *moments);

/* Nothing has been run. */
hora_trigger_context first_at(const char *now);
/* A run was planned at that time, and has ended by now. */
hora_trigger_context ran_at(const char *planned, const char *now);

void check_moment(const char *file, int line, const char *what, hora_ns got, const char *want);
#define CHECK_NEXT(trigger, context, want) \
    check_moment(__FILE__, __LINE__, #trigger, hora_trigger_next((trigger), &(context)), (want))

/* Ask for one time after the other, each of which is run at once: "a, b, c". */
void check_times(const char *file, int line, const hora_trigger *trigger, const char *from,
                 const char *const *want);
#define CHECK_TIMES(trigger, from, ...) \
    check_times(__FILE__, __LINE__, (trigger), (from), (const char *const[]){__VA_ARGS__, NULL})

void check_text(const char *file, int line, const hora_trigger *trigger, const char *want);
#define CHECK_TEXT(trigger, want) check_text(__FILE__, __LINE__, (trigger), (want))

#endif
