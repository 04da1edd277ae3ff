/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduled_functions.c - functions that declare themselves are found and scheduled
 *
 * tests/functions sees that they are in programs and libraries, however those are linked. */
#include <string.h>

#include "functions_elsewhere.h"
#include "registrar_support.h"

static atomic_int secondly_runs, once_runs;

HORA_SCHEDULED_FUNCTION(secondly, .cron = "* * * * * *", .zone = "UTC")
{
    return atomic_fetch_add(&secondly_runs, 1) == 1 ? 7 : 0;
}

HORA_SCHEDULED_FUNCTION(renamed, .name = "once", .initial_delay = HORA_SECONDS(2),
                        .schedule = HORA_SCHEDULE(.grace = HORA_HOURS(1)))
{
    atomic_fetch_add(&once_runs, 1);
    return 0;
}

HORA_SCHEDULED_FUNCTION(switched_off, .cron = "${switch:-}")
{
    test_fail(__FILE__, __LINE__, "this is disabled");
    return 0;
}

enum { FUNCTIONS = 4 };

static const char *know_nothing(const char *name, void *context)
{
    (void)name;
    (void)context;
    return NULL;
}

static void open_resolving(struct office *o)
{
    office_open(o, 1);
    CHECK_OK(hora_registrar_free(o->registrar));
    CHECK_OK(hora_registrar_new(HORA_REGISTRAR_OPTIONS(.resolve = know_nothing), &o->registrar, NULL));
    atomic_store(&secondly_runs, 0);
    atomic_store(&once_runs, 0);
    atomic_store(&elsewhere_runs, 0);
}

static void check_words(hora_registrar *registrar, const char *name, const char *words)
{
    char text[128] = "";

    hora_registration *found = hora_registrar_find(registrar, name);
    CHECK(found != NULL);
    if (found != NULL && hora_registration_describe(found, text, sizeof text) >= 0 &&
        strcmp(text, words) != 0)
        test_fail(__FILE__, __LINE__, "it is described as \"%s\", not \"%s\"", text, words);
}

static void check_runs(struct office *o)
{
    stage_pass(&o->s, 3);
    CHECK_INT(secondly_runs, 3);
    CHECK_INT(once_runs, 1);
    CHECK_INT(elsewhere_runs, 2);
    CHECK_OUTCOME(o, hora_registrar_find(o->registrar, "secondly"), HORA_OUTCOME_SUCCESS, 3, 0, 3, 1);
    CHECK_INT(next_of(o, hora_registrar_find(o->registrar, "secondly")), 4);
    CHECK_INT(next_of(o, hora_registrar_find(o->registrar, "elsewhere")), 5);
}

TEST(scheduled_functions_are_found, "")
{
    struct office o;
    hora_error error;

    open_resolving(&o);
    CHECK_INT(hora_registrar_scan(o.registrar, &error), FUNCTIONS);
    CHECK_INT(hora_registrar_count(o.registrar), FUNCTIONS);
    check_words(o.registrar, "once", "once: once, after 2 s");
    check_words(o.registrar, "switched_off", "switched_off: disabled");
    check_words(o.registrar, "elsewhere", "elsewhere: every 2 s, first after 1 s");
    CHECK_POINTER(hora_registrar_find(o.registrar, "renamed"), NULL);
    office_bind(&o);
    check_runs(&o);
    office_close(&o);
}

/* Functions that are added later are scheduled at once, all together. */
TEST(scheduled_functions_are_found_after_binding, "")
{
    struct office o;

    open_resolving(&o);
    office_bind(&o);
    CHECK_INT(hora_registrar_scan(o.registrar, NULL), FUNCTIONS);
    check_runs(&o);
    CHECK_OK(hora_registrar_close(o.registrar));
    hora_error error;
    CHECK_ERROR(hora_registrar_scan(o.registrar, &error), HORA_ECLOSED);
    CHECK_INT(strcmp(error.message, "scheduled functions: the object is closed"), 0);
    office_close(&o);
}

/* ---- lists of functions made by hand ---- */

static int do_nothing(void)
{
    return 0;
}

static hora_ns close_registrar(const hora_trigger_context *context, void *arg)
{
    (void)context;
    CHECK_OK(hora_registrar_close(arg));
    return HORA_NEVER;
}

/* The registrar is closed while functions are scheduled, and the scheduler refuses one of them. The code and
 * the message both say that the registrar is closed. */
TEST(scheduled_functions_that_meet_a_close_are_told_of_it, "")
{
    struct office o;
    hora_trigger *trigger = NULL;
    hora_error error;
    office_open(&o, 1);
    office_bind(&o);
    CHECK_OK(hora_trigger_new(close_registrar, o.registrar, NULL, &trigger));
    const hora_scheduled_function closing = {
        do_nothing, "closing", "here.c", 1, {.struct_size = sizeof(hora_declaration), .trigger = trigger}};
    const hora_scheduled_function refused = {
        do_nothing,
        "refused",
        "here.c",
        2,
        {.struct_size = sizeof(hora_declaration),
         .fixed_rate = HORA_SECONDS(1),
         .schedule = HORA_SCHEDULE(.options = HORA_TASK_OPTIONS(.key = 7))}};
    const hora_scheduled_function *functions[] = {&closing, &refused};
    CHECK_ERROR(hora_registrar_add_functions(o.registrar,
                                             &(hora_scheduled_functions){functions, functions + 2}, &error),
                HORA_ECLOSED);
    CHECK_INT(error.code, HORA_ECLOSED);
    CHECK_INT(strcmp(error.message, "scheduled functions: the object is closed"), 0);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    office_close(&o);
}

static const hora_scheduled_function good = {
    do_nothing,
    "good",
    "here.c",
    5,
    {.struct_size = sizeof(hora_declaration), .fixed_rate = HORA_SECONDS(1)}};
static const hora_scheduled_function bad = {
    do_nothing,
    "bad",
    "here.c",
    7,
    {.struct_size = sizeof(hora_declaration), .cron = "@daily", .initial_delay = 1}};
static const hora_scheduled_function empty = {
    NULL, "empty", "here.c", 9, {.struct_size = sizeof(hora_declaration), .fixed_rate = 1}};

static int add(hora_registrar *registrar, const hora_scheduled_function *const *functions, int count,
               hora_error *error)
{
    return hora_registrar_add_functions(registrar, &(hora_scheduled_functions){functions, functions + count},
                                        error);
}

TEST(scheduled_functions_are_declared_all_or_none, "")
{
    const hora_scheduled_function *functions[] = {&good, NULL, &good, &bad, &empty};
    hora_registrar *registrar;
    hora_error error;

    CHECK_OK(hora_registrar_new(NULL, &registrar, NULL));
    CHECK_ERROR(add(registrar, functions, 4, &error), HORA_EINVAL);
    CHECK_INT(strcmp(error.message, "bad (here.c:7): initial delay and cron cannot be combined"), 0);
    CHECK_ERROR(add(registrar, &functions[4], 1, &error), HORA_EINVAL);
    CHECK_INT(strcmp(error.message, "empty (here.c:9): there is no function to run"), 0);
    CHECK_INT(hora_registrar_count(registrar), 0);
    CHECK_INT(add(registrar, functions, 3, NULL), 2); /* a gap is nothing */
    CHECK_INT(hora_registrar_count(registrar), 2);
    CHECK_OK(hora_registrar_free(registrar));
}

TEST(scheduled_functions_refuse_bad_input, "")
{
    const hora_scheduled_function *functions[] = {&good, &good};
    const hora_scheduled_functions none = {NULL, NULL}, backwards = {functions + 1, functions};
    hora_registrar *registrar;
    hora_error error;

    CHECK_OK(hora_registrar_new(NULL, &registrar, NULL));
    CHECK_INT(hora_registrar_add_functions(registrar, &none, NULL), 0); /* so it is where there are none */
    CHECK_ERROR(hora_registrar_add_functions(registrar, NULL, &error), HORA_EINVAL);
    CHECK_INT(strcmp(error.message, "scheduled functions: invalid argument"), 0);
    CHECK_ERROR(hora_registrar_add_functions(registrar, &backwards, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_registrar_add_functions(NULL, &none, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_registrar_scan_library(registrar, NULL, &error), HORA_EINVAL);
    CHECK_ERROR(hora_registrar_scan_library(NULL, registrar, &error), HORA_EINVAL);
    CHECK_INT(hora_registrar_count(registrar), 0);
    CHECK_OK(hora_registrar_free(registrar));
}
