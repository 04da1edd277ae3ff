/* SPDX-License-Identifier: Apache-2.0 */
/* test_declaration.c - what can be declared, in which forms, and the error messages for everything else
 *
 * The rules are those of Spring's @Scheduled; see ScheduledAnnotationBeanPostProcessorTests. Nothing is
 * scheduled here. The description of a handle shows how its declaration was understood. */
#include <stdio.h>
#include <string.h>

#include "support.h"

static atomic_int drops;

static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    test_fail(__FILE__, __LINE__, "nothing is to run");
    return 0;
}

static void drop(void *arg)
{
    (void)arg;
    atomic_fetch_add(&drops, 1);
}

static const hora_task job = {.run = run, .drop = drop, .name = "job", .file = "jobs.c", .line = 12};

/* ---- values of placeholders ---- */

static const char *const values[][2] = {
    {"rate", "5s"},
    {"nothing", ""},
    {"nightly", "0 0 3 * * *"},
    {"off", "-"},
    {"unit", "m"},
    {"key", "rate"},
    {"indirect", "${rate}"},
    {"loop", "${loop}"},
    {"twice", "${rate}${rate}"},
    {"many", "${many2}${many2}${many2}${many2}${many2}${many2}${many2}${many2}"},
    {"many2", "0123456789012345678901234567890123456789${many3}${many3}${many3}${many3}"},
    {"many3", "0123456789012345678901234567890123456789${many4}${many4}${many4}${many4}"},
    {"many4", "0123456789012345678901234567890123456789"},
};

static const char *resolve(const char *name, void *context)
{
    CHECK_POINTER(context, values);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (strcmp(values[i][0], name) == 0)
            return values[i][1];
    return NULL;
}

static hora_registrar *new_registrar(bool resolves)
{
    hora_registrar *registrar = NULL;

    CHECK_OK(hora_registrar_new(
        resolves ? HORA_REGISTRAR_OPTIONS(.resolve = resolve, .arg = (void *)(uintptr_t)values) : NULL,
        &registrar, NULL));
    atomic_store(&drops, 0);
    return registrar;
}

/* ---- checks ---- */

/* It is refused with this error, and the sentence is that, or begins so. */
static void check_refused(int line, bool resolves, const hora_declaration *declaration, int want,
                          const char *sentence)
{
    hora_registrar *registrar = new_registrar(resolves);
    hora_registration *registration = (hora_registration *)untouched;
    hora_error error = {.code = 1};
    char whole[sizeof error.message + 32];

    (void)snprintf(whole, sizeof whole, "job (jobs.c:12): %s", sentence);
    int got = hora_registrar_add(registrar, &job, declaration, &registration, &error);
    test_check_error(__FILE__, line, sentence, got, want);
    test_check_error(__FILE__, line, sentence, error.code, want);
    if (strncmp(error.message, whole, strlen(whole)) != 0)
        test_fail(__FILE__, line, "it says \"%s\", not \"%s\"", error.message, whole);
    test_check_error(__FILE__, line, "without a text",
                     hora_registrar_add(registrar, &job, declaration, NULL, NULL), want);
    test_check_pointer(__FILE__, line, "registration", registration, untouched);
    test_check_int(__FILE__, line, "count", hora_registrar_count(registrar), 0);
    CHECK_OK(hora_registrar_free(registrar));
    test_check_int(__FILE__, line, "drops", drops, 0); /* arg is still the caller's */
}

#define REFUSED(sentence, ...) \
    check_refused(__LINE__, true, HORA_DECLARATION(__VA_ARGS__), HORA_EINVAL, sentence)
#define REFUSED_WITH(want, sentence, ...) \
    check_refused(__LINE__, true, HORA_DECLARATION(__VA_ARGS__), want, sentence)
#define REFUSED_UNRESOLVED(sentence, ...) \
    check_refused(__LINE__, false, HORA_DECLARATION(__VA_ARGS__), HORA_EINVAL, sentence)

/* It is taken, and described so. */
static void check_taken(int line, const hora_declaration *declaration, const char *words)
{
    hora_registrar *registrar = new_registrar(true);
    hora_registration *registration = NULL;
    hora_error error = {.code = 1};
    char text[256] = "";

    int got = hora_registrar_add(registrar, &job, declaration, &registration, &error);
    if (got < 0) {
        test_fail(__FILE__, line, "%s", error.message);
    } else {
        int length = hora_registration_describe(registration, text, sizeof text);
        test_check_int(__FILE__, line, "length", length, (long long)strlen(text));
        if (strcmp(text, words) != 0)
            test_fail(__FILE__, line, "it is described as \"%s\", not \"%s\"", text, words);
        test_check_pointer(__FILE__, line, "get", hora_registrar_get(registrar, 0), registration);
    }
    CHECK_OK(hora_registrar_free(registrar));
    test_check_int(__FILE__, line, "drops", drops, got == 0);
}

#define TAKEN(words, ...) check_taken(__LINE__, HORA_DECLARATION(__VA_ARGS__), words)

/* ---- the rules ---- */

/* Spring: several of cron, fixedDelay and fixedRate; here a trigger, too. */
TEST(declaration_has_one_schedule, "")
{
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_periodic(1, NULL, &trigger, NULL));
    static const char only_one[] = "only one of cron, fixed rate, fixed delay and trigger can be given";

    REFUSED(only_one, .cron = "@daily", .fixed_rate = 1);
    REFUSED(only_one, .cron = "@daily", .fixed_delay = 1);
    REFUSED(only_one, .cron = "@daily", .trigger = trigger);
    REFUSED(only_one, .cron = "-", .fixed_rate = 1);
    REFUSED(only_one, .fixed_rate = 1, .fixed_delay = 1);
    REFUSED(only_one, .fixed_rate = 1, .trigger = trigger);
    REFUSED(only_one, .fixed_rate_text = "1", .fixed_delay_text = "1");
    REFUSED(only_one, .fixed_delay = 1, .trigger = trigger, .initial_delay = 1);
    hora_trigger_unref(trigger);
}

/* Spring: emptyAnnotation, and fixedRate missing with initialDelay given. */
TEST(declaration_without_schedule_runs_once_after_its_initial_delay, "")
{
    static const char none[] =
        "one of cron, fixed rate, fixed delay, trigger and initial delay must be given";

    check_refused(__LINE__, true, NULL, HORA_EINVAL, none);
    REFUSED(none, .zone = NULL);
    REFUSED(none, .cron = "");
    REFUSED(none, .fixed_rate_text = "", .fixed_delay_text = "", .initial_delay_text = "", .zone = "");
    TAKEN("job: once, after 5 s", .initial_delay = HORA_SECONDS(5));
    TAKEN("job: once, after 5 s", .initial_delay_text = "5000");
    TAKEN("job: once, immediately", .initial_delay_text = "0");
}

/* Spring: an initial delay is not supported for cron triggers. */
TEST(declaration_has_no_initial_delay_with_cron_or_trigger, "")
{
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_periodic(HORA_SECONDS(3), NULL, &trigger, NULL));

    REFUSED("initial delay and cron cannot be combined", .cron = "@daily", .initial_delay = 1);
    REFUSED("initial delay and cron cannot be combined", .cron = "@daily", .initial_delay_text = "0");
    REFUSED("initial delay and cron cannot be combined", .cron = "-", .initial_delay_text = "0");
    REFUSED("initial delay and trigger cannot be combined", .trigger = trigger, .initial_delay = 1);
    TAKEN("job: 3 s after each run", .trigger = trigger);
    hora_trigger_unref(trigger);
}

TEST(declaration_has_value_or_text, "")
{
    REFUSED("fixed rate \"1\": it is given both as a text and as a number", .fixed_rate = 1,
            .fixed_rate_text = "1");
    REFUSED("fixed delay \"1\": it is given both as a text and as a number", .fixed_delay = 1,
            .fixed_delay_text = "1");
    REFUSED("initial delay \"1\": it is given both as a text and as a number", .initial_delay = 1,
            .initial_delay_text = "1");
    TAKEN("job: every 2 s", .fixed_rate = HORA_SECONDS(2), .fixed_rate_text = "");
}

TEST(declaration_has_a_zone_with_cron_only, "")
{
    REFUSED("zone has no effect without cron", .fixed_rate = 1, .zone = "UTC");
    REFUSED("zone has no effect without cron", .initial_delay = 1, .zone = "UTC");
    REFUSED("dialect and dst have no effect without cron", .fixed_delay = 1, .dialect = HORA_CRON_UNIX);
    REFUSED("dialect and dst have no effect without cron", .fixed_delay = 1, .dst = HORA_DST_ONCE);
    TAKEN("job: every 2 s", .fixed_rate = HORA_SECONDS(2), .zone = "");
}

TEST(declaration_has_periods_that_pass, "")
{
    REFUSED("fixed rate: it must be greater than 0", .fixed_rate = -1);
    REFUSED("fixed rate: it must be greater than 0", .fixed_rate = INT64_MIN);
    REFUSED("fixed delay: it must be greater than 0", .fixed_delay = -1);
    REFUSED("fixed rate \"0\": it must be greater than 0", .fixed_rate_text = "0");
    REFUSED("fixed delay \"-5s\": it must be greater than 0", .fixed_delay_text = "-5s");
    REFUSED("initial delay: it must not be negative", .initial_delay = -1);
    REFUSED("initial delay \"-5s\": it must not be negative", .fixed_rate = 1, .initial_delay_text = "-5s");
    REFUSED("unit is negative", .fixed_rate_text = "1", .unit = -1);
}

/* Spring: cronTaskWithInvalidZone, invalid expressions, and those without any time. */
TEST(declaration_has_an_expression_and_a_zone_that_exist, "")
{
    REFUSED("cron: hour: 24 ", .cron = "* * 24 * * *");
    REFUSED("cron: ", .cron = "abc");
    REFUSED("cron: ", .cron = "0 0 3 * * *", .dialect = HORA_CRON_UNIX);
    REFUSED("cron: ", .cron = "@daily", .dialect = (hora_cron_dialect)77);
    REFUSED("cron \"0 0 0 31 6 *\": there is no such time", .cron = "0 0 0 31 6 *", .zone = "UTC");
    REFUSED_WITH(HORA_ENOENT, "zone \"Europe/Entenhausen\": ", .cron = "@daily",
                 .zone = "Europe/Entenhausen");
    REFUSED("zone \"/etc/passwd\": ", .cron = "@daily", .zone = "/etc/passwd");
}

/* ---- accepted declarations ---- */

TEST(declaration_of_cron, "")
{
    TAKEN("job: at 03:00 every day, Europe/Paris", .cron = "0 0 3 * * *", .zone = "Europe/Paris");
    TAKEN("job: at 03:00 every day, +02:00", .cron = "0 3 * * *", .zone = "+02:00", .dialect = HORA_CRON_UNIX,
          .dst = HORA_DST_ONCE);
    TAKEN("job: at 03:00 every day, UTC", .cron = "${nightly}", .zone = "${nothing}UTC");
}

/* Spring: the texts of fixedDelayString, fixedRateString and initialDelayString; Duration as ISO 8601 and
 * simple. */
TEST(declaration_of_rate_and_delay, "")
{
    TAKEN("job: every 3 s", .fixed_rate = HORA_SECONDS(3));
    TAKEN("job: every 3 s", .fixed_rate_text = "3000");
    TAKEN("job: every 3 s", .fixed_rate_text = "PT3S");
    TAKEN("job: every 90 min", .fixed_rate_text = "1h30m");
    TAKEN("job: every 3 min", .fixed_rate_text = "3", .unit = HORA_MINUTES(1));
    TAKEN("job: every 3 s", .fixed_rate_text = "3s",
          .unit = HORA_MINUTES(1)); /* a text that names its unit */
    TAKEN("job: every 3 s, first after 1 s", .fixed_rate_text = "3s", .initial_delay_text = "PT1S");
    TAKEN("job: 3 s after each run", .fixed_delay = HORA_SECONDS(3));
    TAKEN("job: 250 ms after each run, first after 10 ms", .fixed_delay_text = "250",
          .initial_delay = HORA_MS(10));
    REFUSED("fixed rate: duration \"5 parsecs\": ", .fixed_rate_text = "5 parsecs");
    REFUSED("fixed delay: duration \"-\": ", .fixed_delay_text = "-");
    REFUSED_WITH(HORA_ERANGE, "initial delay: duration \"999999999999d\": ", .fixed_rate = 1,
                 .initial_delay_text = "999999999999d");
}

/* Spring: a cron text of "-" registers nothing. Here there is a handle that says so, and arg is dropped at
 * once. */
TEST(declaration_can_be_disabled, "")
{
    hora_registrar *registrar = new_registrar(true);
    hora_registration *registration = NULL;
    hora_instant next = {-7};
    hora_outcome outcome = {.struct_size = sizeof(hora_outcome), .state = HORA_OUTCOME_ERROR};

    TAKEN("job: disabled", .cron = "-");
    TAKEN("job: disabled", .cron = "${off}", .zone = "No/Where");
    TAKEN("job: disabled", .cron = "-", .schedule = HORA_SCHEDULE(.missed = HORA_MISSED_SKIP));
    atomic_store(&drops, 0);
    CHECK_OK(hora_registrar_add(registrar, &job, HORA_DECLARATION(.cron = "-"), &registration, NULL));
    CHECK_INT(drops, 1);
    CHECK_INT(hora_registration_next(registration, &next), 0);
    CHECK_INT(next.ns, -7);
    CHECK_OK(hora_registration_get_outcome(registration, &outcome));
    CHECK_INT(outcome.state, HORA_OUTCOME_NONE);
    CHECK_INT(outcome.start.ns, 0);
    CHECK_POINTER(hora_registration_future(registration), NULL);
    CHECK_INT(hora_registration_cancel(registration, true), 0);
    CHECK_INT(hora_registrar_count(registrar), 1);
    CHECK_OK(hora_registrar_free(registrar));
    CHECK_INT(drops, 1);
}

/* ---- placeholders ---- */

/* Spring: cronTaskWithPlaceholder, fixedDelayWithPlaceholder, and so on. */
TEST(declaration_with_placeholders, "")
{
    TAKEN("job: every 5 s", .fixed_rate_text = "${rate}");
    TAKEN("job: every 5 s", .fixed_rate_text = "${unknown:5s}");
    TAKEN("job: every 5 s", .fixed_rate_text = "${rate:77s}");
    TAKEN("job: every 15 s", .fixed_rate_text = "1${rate}");
    TAKEN("job: every 5 min", .fixed_rate_text = "5${unit}");
    TAKEN("job: every 5 s", .fixed_rate_text = "${indirect}");
    TAKEN("job: every 5 s", .fixed_rate_text = "${${key}}");
    TAKEN("job: every 5 s", .fixed_rate_text = "${unknown:${other:${rate}}}");
    TAKEN("job: every 7 s", .fixed_rate_text = "${unknown:${other:7}s}");
    TAKEN("job: every 3 s, first after 5 s", .fixed_rate_text = "${unknown:PT3S}",
          .initial_delay_text = "${rate}");
    TAKEN("job: 5 s after each run", .fixed_delay_text = "${rate}");
    TAKEN("job: at 03:00 every day, UTC", .cron = "${nightly}", .zone = "${zone:UTC}");
    TAKEN("job: at 03:00 every day, UTC", .cron = "0 0 ${hour:3} * * *", .zone = "UTC");
}

/* Spring: a value that resolves to the empty text counts as absent. */
TEST(declaration_with_placeholders_that_come_to_nothing, "")
{
    TAKEN("job: every 5 s", .fixed_rate_text = "${rate}", .fixed_delay_text = "${nothing}",
          .cron = "${unknown:}");
    TAKEN("job: once, after 5 s", .fixed_rate_text = "${nothing}", .initial_delay_text = "${rate}");
    REFUSED("one of cron, fixed rate, fixed delay, trigger and initial delay must be given",
            .cron = "${nothing}");
    REFUSED("only one of cron, fixed rate", .fixed_rate_text = "${rate}", .fixed_delay_text = "${rate}");
}

TEST(declaration_with_placeholders_that_cannot_be_replaced, "")
{
    REFUSED("fixed rate \"${unknown}\": a placeholder has no value and no default",
            .fixed_rate_text = "${unknown}");
    REFUSED("cron \"0 0 ${hour} * * *\": a placeholder has no value and no default",
            .cron = "0 0 ${hour} * * *");
    REFUSED("zone \"${}\": a placeholder has no value and no default", .cron = "@daily", .zone = "${}");
    REFUSED("fixed rate \"${rate\": a placeholder has no closing \"}\"", .fixed_rate_text = "${rate");
    REFUSED("fixed rate \"${a:${rate}\": a placeholder has no closing \"}\"",
            .fixed_rate_text = "${a:${rate}");
    REFUSED("fixed rate \"${loop}\": its placeholders are nested more than 16 deep",
            .fixed_rate_text = "${loop}");
    REFUSED("fixed rate \"${many}\": with its placeholders replaced it is longer than 4096 bytes",
            .fixed_rate_text = "${many}");
    REFUSED("fixed rate: duration \"5s5s\": ", .fixed_rate_text = "${twice}");
    REFUSED("fixed rate: duration \"{rate}\": ", .fixed_rate_text = "{rate}");
    REFUSED("fixed rate: duration \"$\": ", .fixed_rate_text = "$");
    REFUSED_UNRESOLVED("fixed rate \"${rate:5s}\": it has a placeholder, but there is no resolver",
                       .fixed_rate_text = "${rate:5s}");
}

/* ---- rules beside the times ---- */

TEST(declaration_with_rules, "")
{
    TAKEN("job: every 1 s", .fixed_rate = HORA_SECONDS(1),
          .schedule = HORA_SCHEDULE(.missed = HORA_MISSED_SKIP, .count = 3));
    TAKEN("job: at 03:00 every day, UTC", .cron = "0 0 3 * * *", .zone = "UTC",
          .schedule =
              HORA_SCHEDULE(.missed = HORA_MISSED_AT_MOST, .missed_max = 2, .spread = HORA_SECONDS(1)));
    REFUSED("schedule: missed_max has no effect without HORA_MISSED_AT_MOST", .fixed_rate = 1,
            .schedule = HORA_SCHEDULE(.missed_max = 2));
    REFUSED("schedule: count and end have no effect on a task that runs once", .initial_delay = 1,
            .schedule = HORA_SCHEDULE(.count = 2));
    static const char say_when[] = "schedule: it must not say when to run, because the declaration does";
    REFUSED(say_when, .fixed_rate = 1, .schedule = HORA_SCHEDULE(.fixed_rate = 1));
    REFUSED(say_when, .fixed_rate = 1, .schedule = HORA_SCHEDULE(.initial_delay = 1));
    REFUSED(say_when, .fixed_rate = 1, .schedule = HORA_SCHEDULE(.at = {1}));
    REFUSED(say_when, .fixed_rate = 1, .schedule = HORA_SCHEDULE(.fixed_delay = 1));
    REFUSED(say_when, .fixed_rate = 1, .schedule = HORA_SCHEDULE(.cron = "@daily"));
    REFUSED(say_when, .fixed_rate = 1, .schedule = HORA_SCHEDULE(.zone = "UTC"));
    REFUSED(say_when, .fixed_rate = 1, .schedule = HORA_SCHEDULE(.dst = HORA_DST_ONCE));
    hora_schedule wrong = {.struct_size = 3};
    REFUSED("schedule: struct_size is wrong", .fixed_rate = 1, .schedule = &wrong);
}

/* ---- names and places ---- */

static void check_text(int line, const hora_task *task, const hora_declaration *declaration, const char *want)
{
    hora_registrar *registrar = new_registrar(false);
    hora_error error = {.code = 1};

    test_check_error(__FILE__, line, want, hora_registrar_add(registrar, task, declaration, NULL, &error),
                     HORA_EINVAL);
    if (strcmp(error.message, want) != 0)
        test_fail(__FILE__, line, "it says \"%s\", not \"%s\"", error.message, want);
    CHECK_OK(hora_registrar_free(registrar));
}

TEST(declaration_errors_say_which_task_and_where, "")
{
    hora_error error = {.code = 1};
    static char name[2 * sizeof error.message];
    hora_registrar *registrar = new_registrar(false);
    const hora_declaration *bad = HORA_DECLARATION(.unit = -1);

    check_text(__LINE__, &job, bad, "job (jobs.c:12): unit is negative");
    check_text(__LINE__, &job, HORA_DECLARATION(.name = "other", .unit = -1),
               "other (jobs.c:12): unit is negative");
    check_text(__LINE__, &(hora_task){.run = run, .name = "job"}, bad, "job: unit is negative");
    check_text(__LINE__, &(hora_task){.run = run, .file = "jobs.c", .line = 3}, bad,
               "a task without a name (jobs.c:3): unit is negative");
    check_text(__LINE__, &(hora_task){.run = run}, bad, "a task without a name: unit is negative");
    check_text(__LINE__, &(hora_task){.name = "job"}, bad, "job: there is no function to run");
    check_text(__LINE__, NULL, bad, "a task without a name: there is no function to run");
    check_text(__LINE__, &(hora_task){.run = run},
               HORA_DECLARATION(.fixed_rate = 1, .schedule = HORA_SCHEDULE(.spread = 1)),
               "a task without a name: schedule: spread needs a name");
    hora_declaration wrong = {.struct_size = 3};
    check_text(__LINE__, &job, &wrong,
               "job (jobs.c:12): struct_size is wrong: start from HORA_INIT(hora_declaration)");

    memset(name, 'n', sizeof name - 1); /* of a name only so much is shown that there is room for the rest */
    CHECK_ERROR(hora_registrar_add(registrar, &(hora_task){.run = run, .name = name}, bad, NULL, &error),
                HORA_EINVAL);
    CHECK(strlen(error.message) < sizeof error.message);
    CHECK_INT(strncmp(error.message, name, 40), 0);
    CHECK_INT(strcmp(error.message + 40, ": unit is negative"), 0);
    CHECK_OK(hora_registrar_free(registrar));
}

/* The declaration's name, then that of its rules, then the task's; copied, as all texts are. */
TEST(declaration_gives_a_task_its_name, "")
{
    char name[] = "mine", text[64], rate[] = "2s";
    hora_registrar *registrar = new_registrar(false);
    const hora_schedule *rules = HORA_SCHEDULE(.name = "of the rules");
    hora_registration *r[5];

    CHECK_OK(hora_registrar_add(registrar, &job, HORA_DECLARATION(.fixed_rate_text = rate, .name = name),
                                &r[0], NULL));
    memset(name, 'x', sizeof name - 1);
    memset(rate, 'x', sizeof rate - 1);
    CHECK_OK(hora_registrar_add(registrar, &job, HORA_DECLARATION(.fixed_rate = 1, .schedule = rules), &r[1],
                                NULL));
    CHECK_OK(hora_registrar_add(
        registrar, &job, HORA_DECLARATION(.fixed_rate = 1, .schedule = rules, .name = "mine"), &r[2], NULL));
    CHECK_OK(hora_registrar_add(registrar, &job, HORA_DECLARATION(.fixed_rate = 1, .name = ""), &r[3], NULL));
    CHECK_OK(
        hora_registrar_add(registrar, HORA_TASK(run, NULL), HORA_DECLARATION(.fixed_rate = 1), &r[4], NULL));
    static const char *const names[] = {"mine", "of the rules", "mine", "job", ""};
    for (int i = 0; i < 5; i++)
        CHECK_INT(strcmp(hora_registration_name(r[i]), names[i]), 0);
    CHECK_POINTER(hora_registrar_find(registrar, "mine"), r[0]);
    CHECK_POINTER(hora_registrar_find(registrar, "job"), r[3]);
    CHECK_POINTER(hora_registrar_find(registrar, ""), r[4]);
    CHECK_POINTER(hora_registrar_find(registrar, "min"), NULL);

    CHECK_INT(hora_registration_describe(r[0], text, sizeof text), 15);
    CHECK_INT(strcmp(text, "mine: every 2 s"), 0);
    CHECK_INT(hora_registration_describe(r[4], text, sizeof text), 10);
    CHECK_INT(strcmp(text, "every 1 ns"), 0);
    for (size_t size = 0; size < 20; size++) { /* as snprintf */
        memset(text, '#', sizeof text);
        CHECK_INT(hora_registration_describe(r[0], size > 0 ? text : NULL, size), 15);
        CHECK_INT(size == 0 ? 0 : strlen(text), size == 0 ? 0 : size <= 15 ? size - 1 : 15);
        CHECK_INT(text[size], '#');
    }
    CHECK_OK(hora_registrar_free(registrar));
}
