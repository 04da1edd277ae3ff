/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_support.c - see trigger_support.h */
#include "trigger_support.h"

#include <string.h>

hora_ns moment(const char *text)
{
    hora_instant instant = {0};
    hora_error reason;
    if (strcmp(text, "-") == 0 || strcmp(text, "never") == 0)
        return HORA_NEVER;
    if (hora_instant_parse(text, NULL, &instant, NULL, &reason) < 0)
        test_fail(__FILE__, __LINE__, "%s: %s", text, reason.message);
    return instant.ns;
}

hora_zone *a_zone(const char *name)
{
    hora_zone *zone = NULL;
    hora_error reason;
    if (hora_zone_new(name, NULL, &zone, &reason) < 0)
        test_fail(__FILE__, __LINE__, "%s: %s", name, reason.message);
    return zone;
}

hora_cron *a_cron(const char *text)
{
    hora_cron *cron = NULL;
    hora_error error;
    if (hora_cron_parse(text, NULL, &cron, &error) < 0)
        test_fail(__FILE__, __LINE__, "%s: %s", text, error.message);
    return cron;
}

hora_trigger *a_cron_trigger(const char *text, const char *zone, const hora_cron_trigger_options *options)
{
    hora_trigger *trigger = NULL;
    hora_cron *cron = a_cron(text);
    hora_zone *place = zone != NULL ? a_zone(zone) : NULL;
    CHECK_OK(hora_trigger_new_cron(cron, place, options, &trigger, NULL));
    CHECK_POINTER(hora_cron_unref(cron), NULL);
    CHECK_POINTER(hora_zone_unref(place), NULL);
    return trigger;
}

hora_trigger *a_periodic_trigger(hora_ns period, bool at_fixed_rate, hora_ns initial_delay)
{
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_periodic(
        period, HORA_PERIODIC_TRIGGER_OPTIONS(.fixed_rate = at_fixed_rate, .initial_delay = initial_delay),
        &trigger, NULL));
    return trigger;
}

hora_trigger *an_instants_trigger(const char *moments)
{
    hora_instant instants[16];
    size_t count = 0;
    char copy[512];
    CHECK(strlen(moments) < sizeof(copy));
    strncpy(copy, moments, sizeof(copy) - 1);
    copy[sizeof(copy) - 1] = '\0';
    for (char *rest = copy; rest != NULL && count < 16;) {
        char *end = strchr(rest, ',');
        if (end != NULL)
            *end++ = '\0';
        instants[count++].ns = moment(rest);
        rest = end;
    }
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_instants(instants, count, &trigger));
    return trigger;
}

hora_trigger_context first_at(const char *now)
{
    return (hora_trigger_context){.struct_size = sizeof(hora_trigger_context),
                                  .clock = HORA_CLOCK_WALL,
                                  .now = moment(now),
                                  .last_planned = HORA_NEVER,
                                  .last_start = HORA_NEVER,
                                  .last_end = HORA_NEVER};
}

hora_trigger_context ran_at(const char *planned, const char *now)
{
    return (hora_trigger_context){.struct_size = sizeof(hora_trigger_context),
                                  .clock = HORA_CLOCK_WALL,
                                  .now = moment(now),
                                  .last_planned = moment(planned),
                                  .last_start = moment(planned),
                                  .last_end = moment(now),
                                  .runs = 1};
}

void check_moment(const char *file, int line, const char *what, hora_ns got, const char *want)
{
    char text[HORA_INSTANT_TEXT] = "never";
    if (got == moment(want))
        return;
    if (got != HORA_NEVER)
        hora_instant_format((hora_instant){got}, NULL, false, text, sizeof(text));
    test_fail(file, line, "%s: %s, not %s", what, text, want);
}

void check_times(const char *file, int line, const hora_trigger *trigger, const char *from,
                 const char *const *want)
{
    hora_trigger_context context = first_at(from);
    for (; *want != NULL; want++) {
        hora_ns next = hora_trigger_next(trigger, &context);
        check_moment(file, line, "the next time", next, *want);
        if (next == HORA_NEVER)
            return;
        context.now = context.last_planned = context.last_start = context.last_end = next;
        context.runs++;
    }
}

void check_text(const char *file, int line, const hora_trigger *trigger, const char *want)
{
    char text[256];
    int length = hora_trigger_describe(trigger, text, sizeof(text));
    test_check_int(file, line, "its length", length, (int)strlen(want));
    if (strcmp(text, want) != 0)
        test_fail(file, line, "\"%s\", not \"%s\"", text, want);
    char part[8];
    test_check_int(file, line, "the length of the whole", hora_trigger_describe(trigger, part, sizeof(part)),
                   length);
    if (strncmp(part, want, sizeof(part) - 1) != 0 || strlen(part) > sizeof(part) - 1)
        test_fail(file, line, "the beginning of it is \"%s\"", part);
    test_check_int(file, line, "the length alone", hora_trigger_describe(trigger, NULL, 0), length);
}
