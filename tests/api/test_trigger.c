/* SPDX-License-Identifier: Apache-2.0 */
/* test_trigger.c - triggers of cron expressions, of periods, of moments, and of functions
 *
 * The rows of tests/cron/triggers.tsv say what Spring's triggers answer. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "trigger_support.h"

static char untouched[1];

#define MODE(mode_) HORA_CRON_TRIGGER_OPTIONS(.mode = (mode_))
#define RESUME(mode_, from) \
    HORA_CRON_TRIGGER_OPTIONS(.mode = (mode_), .resumes = true, .resume_from = {moment(from)})

/* ---- Spring's answers ---- */

#define RESUMED "2026-01-15T09:57:30Z"

static hora_trigger *named(const char *name)
{
    static const char *const every_minute = "0 * * * * *";
    if (strcmp(name, "cron-lenient") == 0)
        return a_cron_trigger(every_minute, NULL, NULL);
    if (strcmp(name, "cron-fixed") == 0)
        return a_cron_trigger(every_minute, NULL, MODE(HORA_CRON_MODE_FIXED));
    if (strcmp(name, "cron-resume-lenient") == 0)
        return a_cron_trigger(every_minute, NULL, RESUME(HORA_CRON_MODE_LENIENT, RESUMED));
    if (strcmp(name, "cron-resume-fixed") == 0)
        return a_cron_trigger(every_minute, NULL, RESUME(HORA_CRON_MODE_FIXED, RESUMED));
    if (strcmp(name, "fixed-delay 60s initial 5s") == 0)
        return a_periodic_trigger(HORA_SECONDS(60), false, HORA_SECONDS(5));
    if (strcmp(name, "fixed-rate 60s initial 5s") == 0)
        return a_periodic_trigger(HORA_SECONDS(60), true, HORA_SECONDS(5));
    if (strcmp(name, "fixed-delay 60s") == 0)
        return a_periodic_trigger(HORA_SECONDS(60), false, 0);
    test_fail(__FILE__, __LINE__, "%s: no such trigger", name);
    return NULL;
}

static void check_row(int number, char *row)
{
    enum { COLUMNS = 6 };
    char *columns[COLUMNS] = {0};
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = row;
        row += strcspn(row, "\t\n");
        if (*row != '\0')
            *row++ = '\0';
    }
    hora_trigger_context context = {.struct_size = sizeof(hora_trigger_context),
                                    .clock = HORA_CLOCK_WALL,
                                    .now = moment(columns[1]),
                                    .last_planned = moment(columns[2]),
                                    .last_start = moment(columns[3]),
                                    .last_end = moment(columns[4])};
    context.runs = context.last_end != HORA_NEVER;
    hora_trigger *trigger = named(columns[0]);
    hora_ns next = hora_trigger_next(trigger, &context);
    if (next != moment(columns[5]))
        test_fail(__FILE__, __LINE__, "row %d: %s: not %s", number, columns[0], columns[5]);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_answers_as_spring_does, "")
{
    char row[512];
    int rows = 0;
    FILE *file = fopen(TEST_DATA "/cron/triggers.tsv", "r");
    CHECK(file != NULL);
    while (file != NULL && fgets(row, sizeof(row), file) != NULL)
        if (row[0] != '#')
            check_row(++rows, row);
    if (file != NULL)
        (void)fclose(file);
    CHECK_INT(rows, 26);
}

/* ---- cron ---- */

/* In Berlin the clocks are set forward on 2026-03-29 at 01:00Z, and back on 2026-10-25 at 01:00Z. */
TEST(trigger_cron_has_a_zone_in_every_mode, "")
{
    hora_trigger *lenient = a_cron_trigger("0 0 9 * * *", "Europe/Berlin", NULL);
    hora_trigger *fixed = a_cron_trigger("0 0 9 * * *", "Europe/Berlin", MODE(HORA_CRON_MODE_FIXED));
    hora_trigger *lenient_from = a_cron_trigger("0 0 9 * * *", "Europe/Berlin",
                                                RESUME(HORA_CRON_MODE_LENIENT, "2026-03-27T12:00:00Z"));
    hora_trigger *fixed_from =
        a_cron_trigger("0 0 9 * * *", "Europe/Berlin", RESUME(HORA_CRON_MODE_FIXED, "2026-03-27T12:00:00Z"));
    hora_trigger_context first = first_at("2026-03-30T12:00:00Z");

    CHECK_NEXT(lenient, first, "2026-03-31T09:00:00+02:00");
    CHECK_NEXT(fixed, first, "2026-03-31T09:00:00+02:00");
    CHECK_NEXT(lenient_from, first, "2026-03-28T09:00:00+01:00");
    CHECK_NEXT(fixed_from, first, "2026-03-28T09:00:00+01:00");
    hora_trigger_context late = ran_at("2026-03-28T09:00:00+01:00", "2026-03-30T12:00:00Z");
    CHECK_NEXT(lenient, late, "2026-03-31T09:00:00+02:00");
    CHECK_NEXT(fixed, late, "2026-03-29T09:00:00+02:00");
    CHECK_NEXT(lenient_from, late, "2026-03-31T09:00:00+02:00");
    CHECK_NEXT(fixed_from, late, "2026-03-29T09:00:00+02:00");
    CHECK_TIMES(fixed, "2026-10-24T12:00:00+02:00", "2026-10-25T09:00:00+01:00", "2026-10-26T09:00:00+01:00");
    hora_trigger *all[] = {lenient, fixed, lenient_from, fixed_from};
    for (int i = 0; i < 4; i++) {
        CHECK(hora_trigger_is_wall(all[i]));
        CHECK_INT(hora_trigger_refresh(all[i]), 0);
        CHECK_POINTER(hora_trigger_unref(all[i]), NULL);
    }
}

/* While the scheduler determines which times have passed, the planned time is ahead of the last end, or there
 * is no end yet. */
TEST(trigger_cron_can_be_asked_for_times_that_were_not_run, "")
{
    hora_trigger *modes[] = {
        a_cron_trigger("0 0 * * * *", NULL, NULL),
        a_cron_trigger("0 0 * * * *", NULL, MODE(HORA_CRON_MODE_FIXED)),
        a_cron_trigger("0 0 * * * *", NULL, RESUME(HORA_CRON_MODE_LENIENT, "2026-01-01T00:00:00Z"))};
    for (int i = 0; i < 3; i++) {
        hora_trigger_context context = ran_at("2026-05-01T10:00:00Z", "2026-05-01T10:10:00Z");
        context.now = moment("2026-05-01T14:30:00Z");
        context.last_planned = moment("2026-05-01T12:00:00Z");
        CHECK_NEXT(modes[i], context, "2026-05-01T13:00:00Z");
        context.last_end = context.last_start = HORA_NEVER;
        context.runs = 0;
        CHECK_NEXT(modes[i], context, "2026-05-01T13:00:00Z");
        CHECK_POINTER(hora_trigger_unref(modes[i]), NULL);
    }
}

/* If the clock is set back by up to a minute, no time occurs twice; if by more, the task does not pause. */
TEST(trigger_cron_goes_on_when_the_clock_is_set_back, "")
{
    static const struct {
        const char *now;
        const char *next;
    } rows[] = {
        {"2026-05-01T10:00:10Z", "2026-05-01T10:01:00Z"},
        {"2026-05-01T09:59:30Z", "2026-05-01T10:01:00Z"},
        {"2026-05-01T09:59:00Z", "2026-05-01T10:01:00Z"},           /* a minute, and no more */
        {"2026-05-01T09:58:59.999999999Z", "2026-05-01T09:59:00Z"}, /* a nanosecond more */
        {"2026-05-01T09:30:10Z", "2026-05-01T09:31:00Z"},
        {"2026-05-01T09:30:00Z", "2026-05-01T09:30:00Z"}, /* what is now has not been run since */
        {"2025-05-01T09:30:10Z", "2025-05-01T09:31:00Z"},
    };
    hora_trigger *modes[] = {a_cron_trigger("0 * * * * *", NULL, NULL),
                             a_cron_trigger("0 * * * * *", NULL, MODE(HORA_CRON_MODE_FIXED))};
    for (int mode = 0; mode < 2; mode++) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            hora_trigger_context context = ran_at("2026-05-01T10:00:00Z", "2026-05-01T10:00:05Z");
            context.now = moment(rows[i].now);
            CHECK_NEXT(modes[mode], context, rows[i].next);
        }
    }
    /* a run of an hour, whose end lies ahead of the clock, and whose planned time does not */
    hora_trigger_context context = ran_at("2026-05-01T10:00:00Z", "2026-05-01T11:00:30Z");
    context.now = moment("2026-05-01T10:30:10Z");
    CHECK_NEXT(modes[0], context, "2026-05-01T10:31:00Z");
    CHECK_NEXT(modes[1], context, "2026-05-01T10:01:00Z");
    CHECK_POINTER(hora_trigger_unref(modes[0]), NULL);
    CHECK_POINTER(hora_trigger_unref(modes[1]), NULL);
}

TEST(trigger_cron_that_never_comes_says_so, "")
{
    hora_trigger *trigger = a_cron_trigger("0 0 0 31 2 *", "Europe/Berlin", NULL);
    CHECK_TIMES(trigger, "2026-01-01T00:00:00Z", "never");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_reboot_is_once_and_at_once, "")
{
    hora_cron *cron = NULL;
    CHECK_OK(hora_cron_parse("@reboot", HORA_CRON_OPTIONS(.dialect = HORA_CRON_UNIX), &cron, NULL));
    for (int i = 0; i < 2; i++) {
        hora_trigger *trigger = NULL;
        CHECK_OK(hora_trigger_new_cron(cron, NULL,
                                       i == 0 ? MODE(HORA_CRON_MODE_FIXED)
                                              : RESUME(HORA_CRON_MODE_LENIENT, "2020-01-01T00:00:00Z"),
                                       &trigger, NULL));
        CHECK_TIMES(trigger, "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.5Z", "never");
        hora_trigger_context context = first_at("2026-01-01T00:00:00Z");
        context.last_planned = context.now - 1;
        CHECK_NEXT(trigger, context, "never");
        context = ran_at("2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z");
        context.now = moment("2026-01-01T00:00:00Z"); /* not when the clock is set back either */
        CHECK_NEXT(trigger, context, "never");
        CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    }
    CHECK_POINTER(hora_cron_unref(cron), NULL);
}

/* Expression and zone live as long as the trigger does. */
TEST(trigger_keeps_what_it_is_made_of, "")
{
    hora_trigger *trigger = a_cron_trigger("0 0 9 * * *", "Asia/Kathmandu", NULL);
    CHECK_POINTER(hora_trigger_ref(trigger), trigger);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    CHECK_TIMES(trigger, "2026-01-01T00:00:00Z", "2026-01-01T09:00:00+05:45");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_cron_refuses_bad_input, "")
{
    hora_cron *cron = a_cron("0 0 9 * * *");
    hora_trigger *trigger = (hora_trigger *)untouched;
    hora_cron_trigger_options wrong = HORA_INIT(hora_cron_trigger_options);

    CHECK_ERROR(hora_trigger_new_cron(NULL, NULL, NULL, &trigger, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_cron(cron, NULL, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_cron(cron, NULL, MODE((hora_cron_mode)2), &trigger, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_cron(cron, NULL, MODE((hora_cron_mode)-1), &trigger, NULL), HORA_EINVAL);
    CHECK_ERROR(
        hora_trigger_new_cron(cron, NULL, HORA_CRON_TRIGGER_OPTIONS(.resume_from = {1}), &trigger, NULL),
        HORA_EINVAL); /* it would have no effect */
    wrong.struct_size = 0;
    CHECK_ERROR(hora_trigger_new_cron(cron, NULL, &wrong, &trigger, NULL), HORA_EINVAL);
    CHECK_POINTER(trigger, untouched);
    CHECK_POINTER(hora_cron_unref(cron), NULL);
}

/* ---- periods ---- */

TEST(trigger_periodic_is_on_any_clock, "")
{
    hora_trigger *rate = a_periodic_trigger(10, true, 3);
    hora_trigger *gap = a_periodic_trigger(10, false, 3);
    hora_trigger_context context = {.struct_size = sizeof(hora_trigger_context),
                                    .clock = HORA_CLOCK_MONOTONIC,
                                    .now = 100,
                                    .last_planned = HORA_NEVER,
                                    .last_start = HORA_NEVER,
                                    .last_end = HORA_NEVER};

    CHECK(!hora_trigger_is_wall(rate) && !hora_trigger_is_wall(gap));
    CHECK_INT(hora_trigger_next(rate, &context), 103);
    CHECK_INT(hora_trigger_next(gap, &context), 103);
    context =
        (hora_trigger_context){sizeof(hora_trigger_context), HORA_CLOCK_MONOTONIC, 150, 103, 104, 130, 1};
    CHECK_INT(hora_trigger_next(rate, &context), 113);
    CHECK_INT(hora_trigger_next(gap, &context), 140);
    context.last_planned = 113; /* which was not run */
    CHECK_INT(hora_trigger_next(rate, &context), 123);
    CHECK_INT(hora_trigger_next(gap, &context), 140);
    context = (hora_trigger_context){sizeof(hora_trigger_context),
                                     HORA_CLOCK_MONOTONIC,
                                     150,
                                     103,
                                     104,
                                     HORA_NEVER,
                                     1}; /* the first is still going */
    CHECK_INT(hora_trigger_next(rate, &context), 113);
    CHECK_INT(hora_trigger_next(gap, &context), 113);
    context.runs = 0; /* the first was not run at all: a gap has no other */
    CHECK_INT(hora_trigger_next(rate, &context), 113);
    CHECK_INT(hora_trigger_next(gap, &context), 103);
    CHECK_INT(hora_trigger_refresh(rate), 0);
    CHECK_POINTER(hora_trigger_unref(rate), NULL);
    CHECK_POINTER(hora_trigger_unref(gap), NULL);
}

TEST(trigger_periodic_goes_on_when_the_clock_is_set_back, "")
{
    hora_trigger *rate = a_periodic_trigger(HORA_MINUTES(10), true, 0);
    hora_trigger *gap = a_periodic_trigger(HORA_MINUTES(10), false, 0);
    hora_trigger_context context = ran_at("2026-05-01T10:03:00Z", "2026-05-01T10:03:20Z");

    context.now = moment("2026-05-01T10:02:10Z");
    CHECK_NEXT(rate, context, "2026-05-01T10:13:00Z");
    context.now = moment("2026-05-01T08:00:00Z");
    CHECK_NEXT(rate, context, "2026-05-01T08:03:00Z"); /* its own times */
    CHECK_NEXT(gap, context, "2026-05-01T08:10:00Z");
    CHECK_POINTER(hora_trigger_unref(rate), NULL);
    CHECK_POINTER(hora_trigger_unref(gap), NULL);
}

TEST(trigger_periodic_takes_any_period, "")
{
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_periodic(0, NULL, &trigger, NULL));
    hora_trigger_context context = {sizeof(hora_trigger_context), HORA_CLOCK_WALL, 20, 10, 11, 12, 1};
    CHECK_INT(hora_trigger_next(trigger, &context), 12);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    trigger = a_periodic_trigger(HORA_FOREVER, true, HORA_FOREVER);
    CHECK_INT(hora_trigger_next(trigger, &context), HORA_NEVER);
    context.last_planned = HORA_NEVER;
    CHECK_INT(hora_trigger_next(trigger, &context), HORA_NEVER);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);

    trigger = (hora_trigger *)untouched;
    CHECK_ERROR(hora_trigger_new_periodic(-1, NULL, &trigger, NULL), HORA_EINVAL);
    CHECK_ERROR(
        hora_trigger_new_periodic(1, HORA_PERIODIC_TRIGGER_OPTIONS(.initial_delay = -1), &trigger, NULL),
        HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_periodic(1, &(hora_periodic_trigger_options){0}, &trigger, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_periodic(1, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_POINTER(trigger, untouched);
}

/* ---- moments ---- */

TEST(trigger_instants_come_in_their_order_and_once, "")
{
    hora_trigger *trigger =
        an_instants_trigger("2026-03-01T00:00:00Z,2026-01-01T00:00:00Z,2026-02-01T00:00:00.25Z,"
                            "2026-01-01T00:00:00Z,2025-12-31T00:00:00Z");
    CHECK(hora_trigger_is_wall(trigger));
    CHECK_TIMES(trigger, "2020-01-01T00:00:00Z", "2025-12-31T00:00:00Z", "2026-01-01T00:00:00Z",
                "2026-02-01T00:00:00.25Z", "2026-03-01T00:00:00Z", "never");
    CHECK_TIMES(trigger, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00.25Z");
    CHECK_TIMES(trigger, "2026-01-01T00:00:00.000000001Z", "2026-02-01T00:00:00.25Z");
    CHECK_TIMES(trigger, "2026-03-01T00:00:01Z", "never");
    hora_trigger_context context = ran_at("2026-01-01T00:00:00Z", "2026-02-20T00:00:00Z");
    CHECK_NEXT(trigger, context, "2026-02-01T00:00:00.25Z"); /* missed */
    context.now = moment("2025-01-01T00:00:00Z"); /* set back: what has been run does not come again */
    CHECK_NEXT(trigger, context, "2026-02-01T00:00:00.25Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_instants_are_sorted_whatever_their_order, "")
{
    enum { COUNT = 300 };
    hora_instant instants[COUNT];
    hora_trigger *trigger = NULL;
    for (int i = 0; i < COUNT; i++)
        instants[i].ns = i;
    for (int i = COUNT - 1; i > 0; i--) {
        int j = (int)test_random((uint32_t)i + 1);
        hora_instant instant = instants[i];
        instants[i] = instants[j];
        instants[j] = instant;
    }
    CHECK_OK(hora_trigger_new_instants(instants, COUNT, &trigger));
    hora_trigger_context context = {
        sizeof(hora_trigger_context), HORA_CLOCK_WALL, -5, HORA_NEVER, HORA_NEVER, HORA_NEVER, 0};
    for (int i = 0; i < COUNT; i++) {
        hora_ns next = hora_trigger_next(trigger, &context);
        if (next != i)
            CHECK_INT(next, i);
        context.last_planned = next;
    }
    CHECK_INT(hora_trigger_next(trigger, &context), HORA_NEVER);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_instants_refuse_bad_input, "")
{
    hora_trigger *trigger = (hora_trigger *)untouched;
    hora_instant one = {1};
    CHECK_ERROR(hora_trigger_new_instants(NULL, 1, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_instants(&one, 0, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_instants(&one, 1, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_instants(&one, SIZE_MAX / 4, &trigger), HORA_ENOMEM);
    CHECK_ERROR(hora_trigger_new_instants(&one, SIZE_MAX, &trigger), HORA_ENOMEM);
    CHECK_POINTER(trigger, untouched);
}

/* ---- functions ---- */

struct answer {
    atomic_int calls;
    atomic_int drops;
    hora_trigger_context context;
};

static hora_ns answer_next(const hora_trigger_context *context, void *arg)
{
    struct answer *answer = arg;
    atomic_fetch_add(&answer->calls, 1);
    answer->context = *context;
    return 4711;
}

static void drop_answer(void *arg)
{
    struct answer *answer = arg;
    atomic_fetch_add(&answer->drops, 1);
}

TEST(trigger_of_a_function_asks_it, "")
{
    struct answer answer = {0};
    hora_trigger *trigger = NULL;
    hora_trigger_context context = {sizeof(hora_trigger_context), HORA_CLOCK_BOOTTIME, 1, 2, 3, 4, 5};

    CHECK_OK(hora_trigger_new(answer_next, &answer, drop_answer, &trigger));
    CHECK(hora_trigger_is_wall(trigger));
    CHECK_INT(hora_trigger_next(trigger, &context), 4711);
    CHECK_INT(answer.context.clock, HORA_CLOCK_BOOTTIME);
    CHECK_INT(answer.context.now, 1);
    CHECK_INT(answer.context.last_planned, 2);
    CHECK_INT(answer.context.last_start, 3);
    CHECK_INT(answer.context.last_end, 4);
    CHECK_INT(answer.context.runs, 5);
    CHECK_INT(hora_trigger_refresh(trigger), 0);
    CHECK_POINTER(hora_trigger_ref(trigger), trigger);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    CHECK_INT(answer.drops, 0);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    CHECK_INT(answer.drops, 1);
    CHECK_INT(answer.calls, 1);
    CHECK_OK(hora_trigger_new(answer_next, &answer, NULL, &trigger));
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    CHECK_INT(answer.drops, 1);
}

TEST(trigger_functions_take_nothing, "")
{
    hora_trigger *trigger = (hora_trigger *)untouched;
    hora_trigger_context context = first_at("2026-01-01T00:00:00Z");
    char text[8] = "before";

    CHECK_ERROR(hora_trigger_new(NULL, NULL, NULL, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new(answer_next, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_POINTER(trigger, untouched);
    CHECK_POINTER(hora_trigger_ref(NULL), NULL);
    CHECK_POINTER(hora_trigger_unref(NULL), NULL);
    CHECK_INT(hora_trigger_next(NULL, &context), HORA_NEVER);
    CHECK(!hora_trigger_is_wall(NULL));
    CHECK_ERROR(hora_trigger_refresh(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_describe(NULL, text, sizeof(text)), HORA_EINVAL);
    trigger = a_periodic_trigger(1, true, 0);
    CHECK_INT(hora_trigger_next(trigger, NULL), HORA_NEVER);
    context.struct_size = 0;
    CHECK_INT(hora_trigger_next(trigger, &context), HORA_NEVER);
    CHECK_ERROR(hora_trigger_describe(trigger, NULL, 1), HORA_EINVAL);
    CHECK_INT(strcmp(text, "before"), 0);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

/* ---- in words ---- */

TEST(trigger_says_in_words_what_it_is, "")
{
    struct answer answer = {0};
    static const struct {
        hora_ns period;
        bool at_fixed_rate;
        hora_ns initial_delay;
        const char *text;
    } periods[] = {
        {HORA_SECONDS(5), true, 0, "every 5 s"},
        {HORA_SECONDS(90), true, HORA_MS(1500), "every 90 s, first after 1500 ms"},
        {HORA_HOURS(48), true, 0, "every 2 d"},
        {HORA_HOURS(5), false, HORA_MINUTES(1), "5 h after each run, first after 1 min"},
        {7, false, 0, "7 ns after each run"},
        {HORA_US(3), true, 0, "every 3 us"},
        {0, true, 0, "every 0 s"},
    };
    for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
        hora_trigger *trigger =
            a_periodic_trigger(periods[i].period, periods[i].at_fixed_rate, periods[i].initial_delay);
        CHECK_TEXT(trigger, periods[i].text);
        CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    }
    hora_trigger *trigger = an_instants_trigger("2026-02-01T00:00:00.25Z");
    CHECK_TEXT(trigger, "at 2026-02-01T00:00:00.250Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    trigger = an_instants_trigger("2026-02-01T00:00:00Z,2026-01-01T00:00:00Z");
    CHECK_TEXT(trigger, "at 2 moments, the first at 2026-01-01T00:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    CHECK_OK(hora_trigger_new(answer_next, &answer, NULL, &trigger));
    CHECK_TEXT(trigger, "at times given by a function");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_of_cron_says_what_the_expression_says, "")
{
    hora_cron *cron = a_cron("0 0 3 * * *");
    hora_zone *paris = a_zone("Europe/Paris");
    hora_trigger *trigger = NULL;
    char text[128];
    CHECK(hora_cron_describe(cron, paris, text, sizeof(text)) > 0);
    CHECK_OK(hora_trigger_new_cron(cron, paris, NULL, &trigger, NULL));
    CHECK_TEXT(trigger, text);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    CHECK_POINTER(hora_zone_unref(paris), NULL);
    CHECK_POINTER(hora_cron_unref(cron), NULL);
}
