/* SPDX-License-Identifier: Apache-2.0 */
/* test_definition.c - tasks that are refused, and definitions as texts */
#include <locale.h>
#include <math.h>
#include <string.h>

#include "definition.h"
#include "harness.h"
#include "name.h"

enum { SIZE = 1000 };

/* ---- refusals ---- */

static void check_refused(int line, const hora_durable_task *task, const char *field, const char *message)
{
    hora__definition *definition;
    hora_error error;
    int result = hora__definition_new(task, &definition, &error);
    if (result == 0) {
        hora__definition_free(definition);
        test_fail(__FILE__, line, "accepted, but should be refused: %s", message);
    } else if (result != HORA_EINVAL || error.code != HORA_EINVAL || strcmp(error.message, message) != 0) {
        test_fail(__FILE__, line, "%s: \"%s\", but should be \"%s\"", hora_errname(result), error.message,
                  message);
    } else if ((field == NULL) != (error.field == NULL) ||
               (field != NULL && strcmp(error.field, field) != 0)) {
        test_fail(__FILE__, line, "field %s for \"%s\"", error.field, message);
    }
}

#define REFUSED(field, message, ...) \
    check_refused(__LINE__, HORA_DURABLE_TASK(.handler = "h", __VA_ARGS__), field, message)
#define RATE .key = "k", .fixed_rate = HORA_SECONDS(5)

TEST_REAL(task_names, "")
{
    char longest[257], too_long[258];
    memset(longest, 'x', sizeof longest);
    memset(too_long, 'x', sizeof too_long);
    longest[255] = too_long[256] = '\0';
    check_refused(__LINE__, NULL, NULL, "task is NULL");
    check_refused(__LINE__, HORA_DURABLE_TASK(.handler = NULL), "handler", "handler is NULL");
    check_refused(__LINE__, HORA_DURABLE_TASK(.handler = ""), "handler", "handler is empty");
    check_refused(__LINE__, HORA_DURABLE_TASK(.handler = too_long), "handler",
                  "handler has 256 bytes, which is more than 255");
    REFUSED("key", "key is empty", .key = "");
    REFUSED("key", "key is not UTF-8 at byte 2", .key = "ab\xff");
    REFUSED("key", "a recurring task needs a key", .fixed_rate = HORA_SECONDS(1));
    REFUSED("trigger", "trigger is empty", .key = "k", .trigger = "");
    hora_error error;
    CHECK_OK(hora__name_check(longest, "name", &error));
    CHECK_OK(hora__name_check("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "name", &error));
    static const char *const wrong[] = {"\x80",     "\xc0\xaf",     "\xc1\xbf",         "\xe0\x9f\xbf",
                                        "\xe2\x82", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                                        "\xf5",     "\xe2\x28\xa1", "\xf0\x9f\x98",     "\xc3"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_ERROR(hora__name_check(wrong[i], "name", &error), HORA_EINVAL);
}

TEST_REAL(task_keys, "")
{
    REFUSED("if_exists", "if_exists is 9, which is not a HORA_IF_EXISTS_ value", .key = "k",
            .if_exists = (hora_if_exists)9);
    REFUSED("if_exists", "if_exists has no effect without key", .if_exists = HORA_IF_EXISTS_KEEP);
    REFUSED("revision", "HORA_IF_EXISTS_UPGRADE needs a revision of at least 1", .key = "k",
            .if_exists = HORA_IF_EXISTS_UPGRADE);
    REFUSED("revision", "revision has no effect without HORA_IF_EXISTS_UPGRADE", .key = "k", .revision = 2);
    REFUSED("payload", "payload is NULL, but payload_size is 3", .payload_size = 3);
    REFUSED("priority", "priority is 3, which is not a HORA_PRIORITY_ value", .priority = (hora_priority)3);
    REFUSED("priority", "priority is -2, which is not a HORA_PRIORITY_ value", .priority = (hora_priority)-2);
    REFUSED("delivery",
            "delivery is 3, which is none of HORA_AT_LEAST_ONCE, HORA_AT_MOST_ONCE and HORA_EFFECT_ONCE",
            .delivery = (hora_delivery)3);
}

TEST_REAL(task_times, "")
{
    REFUSED("fixed_rate", "fixed_rate is -1, which is negative", .key = "k", .fixed_rate = -1);
    REFUSED("fixed_rate", "fixed_rate is 999999, which is less than 1 ms", .key = "k", .fixed_rate = 999999);
    REFUSED("fixed_delay", "fixed_delay is 1, which is less than 1 ms", .key = "k", .fixed_delay = 1);
    REFUSED(NULL, "only one of fixed_rate, fixed_delay, cron and trigger can be given", RATE,
            .cron = "@daily");
    REFUSED("at", "only one of initial_delay and at can be given", .initial_delay = 1, .at = {1});
    REFUSED("count", "count is -1, which is negative", RATE, .count = -1);
    REFUSED("count", "count has no effect on a task that runs once", .count = 1);
    REFUSED("end", "end has no effect on a task that runs once", .end = {1});
    REFUSED("zone", "zone has no effect without cron", .zone = "UTC");
    REFUSED("dialect", "dialect has no effect without cron", .dialect = HORA_CRON_UNIX);
    REFUSED("dialect", "dialect is 2, which is not a HORA_CRON_ value", .dialect = (hora_cron_dialect)2);
    REFUSED("dst", "dst has no effect without cron", .dst = HORA_DST_ONCE);
    REFUSED("dst", "dst is 2, which is not a HORA_DST_ value", .key = "k", .cron = "@daily",
            .dst = (hora_dst)2);
    REFUSED("zone", "zone is \"local\", which may differ from node to node: name a zone", .key = "k",
            .cron = "@daily", .zone = "local");
    REFUSED("cron", "@reboot has no times in a store", .key = "k", .cron = "@reboot",
            .dialect = HORA_CRON_UNIX);
}

TEST_REAL(task_rules, "")
{
    REFUSED("missed", "missed is 4, which is not a HORA_MISSED_ value", RATE, .missed = (hora_missed)4);
    REFUSED("missed_max", "HORA_MISSED_AT_MOST needs a missed_max of at least 1", RATE,
            .missed = HORA_MISSED_AT_MOST);
    REFUSED("missed_max", "missed_max has no effect without HORA_MISSED_AT_MOST", RATE, .missed_max = 1);
    REFUSED("missed", "missed has no effect without fixed_rate, cron or trigger", .missed = HORA_MISSED_SKIP);
    REFUSED("missed", "missed has no effect without fixed_rate, cron or trigger", .key = "k",
            .fixed_delay = HORA_SECONDS(1), .missed = HORA_MISSED_SKIP);
    REFUSED("missed_after", "missed_after is -1, which is negative", RATE, .missed_after = -1);
    REFUSED("missed_after",
            "missed_after has no effect without fixed_rate, cron or trigger, and none with HORA_MISSED_BURST",
            .missed_after = 1);
    REFUSED("grace", "grace is -1, which is negative", RATE, .grace = -1);
    REFUSED("grace", "grace has no effect on a task that runs once", .grace = 1);
    REFUSED("overlap", "HORA_OVERLAP_QUEUE_ONE is not possible in a store", RATE,
            .overlap = HORA_OVERLAP_QUEUE_ONE);
    REFUSED("overlap", "overlap is 3, which is not a HORA_OVERLAP_ value", RATE, .overlap = (hora_overlap)3);
    REFUSED("overlap", "HORA_OVERLAP_ALLOW has no effect without fixed_rate, cron or trigger", .key = "k",
            .fixed_delay = HORA_SECONDS(1), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2);
    REFUSED("overlap_max", "overlap_max is 1, and HORA_OVERLAP_ALLOW needs one from 2 to 1000", RATE,
            .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 1);
    REFUSED("overlap_max", "overlap_max is 1001, and HORA_OVERLAP_ALLOW needs one from 2 to 1000", RATE,
            .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 1001);
    REFUSED("overlap_max", "overlap_max has no effect without HORA_OVERLAP_ALLOW", RATE, .overlap_max = 2);
    REFUSED("busy", "busy is 3, which is not a HORA_BUSY_ value", RATE, .busy = (hora_busy)3);
    REFUSED("busy",
            "busy has no effect without fixed_rate, cron or trigger, and none with HORA_OVERLAP_ALLOW",
            .key = "k", .fixed_delay = HORA_SECONDS(1), .busy = HORA_BUSY_SKIP);
    REFUSED("busy_max", "busy_max is 0, and HORA_BUSY_QUEUE needs one from 1 to 1000", RATE,
            .busy = HORA_BUSY_QUEUE);
    REFUSED("busy_max", "busy_max has no effect without HORA_BUSY_QUEUE", RATE, .busy = HORA_BUSY_SKIP,
            .busy_max = 1);
}

TEST_REAL(task_attempts, "")
{
    REFUSED("max_attempts", "max_attempts is -1, which is not between 0 and 30000", .max_attempts = -1);
    REFUSED("max_attempts", "max_attempts is 30001, which is not between 0 and 30000", .max_attempts = 30001);
    REFUSED("max_attempts", "max_attempts is 2, but HORA_AT_MOST_ONCE allows one attempt", .max_attempts = 2,
            .delivery = HORA_AT_MOST_ONCE);
    REFUSED("stop_after", "stop_after is -1, which is negative", RATE, .stop_after = -1);
    REFUSED("stop_after", "stop_after has no effect on a task that runs once", .stop_after = 1);
    REFUSED("back_off",
            "back_off, back_off_factor, back_off_max and back_off_jitter have no effect with one attempt",
            .max_attempts = 1, .back_off = 1);
    REFUSED("back_off",
            "back_off, back_off_factor, back_off_max and back_off_jitter have no effect with one attempt",
            .delivery = HORA_AT_MOST_ONCE, .back_off_jitter = 0.5);
    REFUSED("back_off", "back_off is -1, which is negative", .back_off = -1);
    REFUSED("back_off_max", "back_off_max is -1, which is negative", .back_off_max = -1);
    REFUSED("back_off_max", "back_off_max is less than back_off", .back_off = 2, .back_off_max = 1);
    REFUSED("back_off_factor", "back_off_factor is not between 1 and 1e9", .back_off_factor = 0.5);
    REFUSED("back_off_factor", "back_off_factor is not between 1 and 1e9", .back_off_factor = NAN);
    REFUSED("back_off_jitter", "back_off_jitter is not between 0 and 1", .back_off_jitter = 1.5);
    REFUSED("back_off_jitter", "back_off_jitter is not between 0 and 1", .back_off_jitter = NAN);
    hora_durable_task small = {.struct_size = 8, .handler = "h"};
    check_refused(__LINE__, &small, "struct_size",
                  "struct_size of hora_durable_task is 8, which no version of hora uses: it was not "
                  "initialized");
}

/* ---- texts ---- */

static void check_equal(int line, const hora__definition *a, const hora__definition *b)
{
    bool same = a->kind == b->kind && a->period_us == b->period_us && hora_cron_equal(a->cron, b->cron) &&
                a->dialect == b->dialect && a->dst == b->dst &&
                strcmp(hora_zone_name(a->zone), hora_zone_name(b->zone)) == 0 && a->end_us == b->end_us &&
                a->count == b->count && a->missed == b->missed && a->missed_max == b->missed_max &&
                a->missed_after_us == b->missed_after_us && a->grace_us == b->grace_us &&
                a->overlap == b->overlap && a->overlap_max == b->overlap_max && a->busy == b->busy &&
                a->busy_max == b->busy_max && a->delivery == b->delivery &&
                a->max_attempts == b->max_attempts && a->back_off_us == b->back_off_us &&
                a->back_off_factor == b->back_off_factor && a->back_off_max_us == b->back_off_max_us &&
                a->back_off_jitter == b->back_off_jitter && a->stop_after == b->stop_after &&
                (a->trigger_name == NULL) == (b->trigger_name == NULL) &&
                (a->trigger_name == NULL || strcmp(a->trigger_name, b->trigger_name) == 0);
    if (!same)
        test_fail(__FILE__, line, "a definition differs after it was written and read");
}

/* Writes, reads and writes again. */
static void check_text(int line, const hora_durable_task *task, const char *want, const char *words)
{
    hora__definition *first, *second;
    hora_error error;
    char text[SIZE], again[SIZE], described[SIZE];
    if (hora__definition_new(task, &first, &error) < 0) {
        test_fail(__FILE__, line, "refused: %s", error.message);
        return;
    }
    int length = hora__definition_write(first, text, sizeof text);
    if (strcmp(text, want) != 0 || length != (int)strlen(want))
        test_fail(__FILE__, line, "\"%s\" (%d), but should be \"%s\"", text, length, want);
    CHECK_INT(hora__definition_write(first, NULL, 0), length);
    if (length > 0) {
        CHECK_INT(hora__definition_write(first, again, 2), length);
        CHECK(again[0] == text[0] && again[1] == '\0');
    }
    if (hora__definition_read(length > 0 ? text : NULL, &second, &error) < 0) {
        test_fail(__FILE__, line, "cannot be read: %s", error.message);
    } else {
        (void)hora__definition_write(second, again, sizeof again);
        if (strcmp(text, again) != 0)
            test_fail(__FILE__, line, "\"%s\" became \"%s\"", text, again);
        check_equal(line, first, second);
        hora__definition_free(second);
    }
    (void)hora__definition_describe(first, described, sizeof described);
    if (strcmp(described, words) != 0)
        test_fail(__FILE__, line, "\"%s\", but should be \"%s\"", described, words);
    hora__definition_free(first);
}

#define TEXT(want, words, ...) \
    check_text(__LINE__, HORA_DURABLE_TASK(.handler = "h", .key = "k", __VA_ARGS__), want, words)

TEST_REAL(texts_of_kinds, "")
{
    TEXT("", "", .payload = "x", .payload_size = 1);
    TEXT("rate 5000000", "every 5 s", .fixed_rate = HORA_SECONDS(5));
    TEXT("rate 1001", "every 1001 us", .fixed_rate = 1000001);
    TEXT("delay 90000000", "90 s after the end of the last run", .fixed_delay = HORA_SECONDS(90));
    TEXT("delay 7200000000", "2 h after the end of the last run", .fixed_delay = HORA_HOURS(2));
    TEXT("cron unix once \"30 2 * * *\" Europe/Paris", "at 02:30 every day, Europe/Paris",
         .cron = "30 2 * * *", .zone = "Europe/Paris", .dialect = HORA_CRON_UNIX, .dst = HORA_DST_ONCE);
    TEXT("cron spring literal \"0 0 0 * * *\" UTC", "at 00:00 every day", .cron = "@daily");
    TEXT("trigger \"moon \\x22\\x5c\\x0a \xc3\xa9\"", "trigger moon \"\\\n \xc3\xa9",
         .trigger = "moon \"\\\n \xc3\xa9");
}

TEST_REAL(texts_of_rules, "")
{
    TEXT("rate 1000 end 1 count 3 missed burst", "every 1 ms", .fixed_rate = HORA_MS(1), .end = {1999},
         .count = 3, .missed = HORA_MISSED_BURST);
    TEXT("rate 1000 busy skip", "every 1 ms", .fixed_rate = HORA_MS(1), .busy = HORA_BUSY_SKIP);
    TEXT("rate 1000 grace 4 busy queue 3", "every 1 ms", .fixed_rate = HORA_MS(1), .grace = 4000,
         .busy = HORA_BUSY_QUEUE, .busy_max = 3);
    TEXT("rate 1000 missed at-most 7 missed-after 2 grace 4 overlap 9", "every 1 ms",
         .fixed_rate = HORA_MS(1), .missed = HORA_MISSED_AT_MOST, .missed_max = 7, .missed_after = 1001,
         .grace = 4000, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 9);
    TEXT("rate 1000 end -2 missed skip stop-after 3", "every 1 ms", .fixed_rate = HORA_MS(1), .end = {-1001},
         .missed = HORA_MISSED_SKIP, .stop_after = 3);
    TEXT("at-most-once", "", .delivery = HORA_AT_MOST_ONCE);
    TEXT("at-most-once", "", .delivery = HORA_AT_MOST_ONCE, .max_attempts = 1);
    TEXT("effect-once attempts 30000", "", .delivery = HORA_EFFECT_ONCE, .max_attempts = 30000);
    TEXT("attempts 1", "", .max_attempts = 1);
    TEXT("", "", .max_attempts = 10, .back_off = HORA_SECONDS(1), .back_off_factor = 2,
         .back_off_max = HORA_MINUTES(5));
    TEXT("back-off 1000000 1.5 300000000", "", .back_off_factor = 1.5);
    TEXT("back-off 600000000 2 600000000", "", .back_off = HORA_MINUTES(10));
    TEXT("back-off 1 1000000000 2 jitter 0.25", "", .back_off = 1, .back_off_factor = 1e9,
         .back_off_max = 1001, .back_off_jitter = 0.25);
    TEXT("jitter 0.333333", "", .back_off_jitter = 1.0 / 3);
    TEXT("jitter 1", "", .back_off_jitter = 1);
}

/* A decimal comma must not change the texts. */
TEST_REAL(texts_without_locale, "")
{
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL)
        (void)setlocale(LC_NUMERIC, "fr_FR.UTF-8");
    TEXT("back-off 1000000 1.000001 300000000 jitter 0.1", "", .back_off_factor = 1.000001,
         .back_off_jitter = 0.1);
    (void)setlocale(LC_NUMERIC, "C");
}

static void check_unreadable(int line, const char *text, int want, const char *message)
{
    hora__definition *definition;
    hora_error error;
    int result = hora__definition_read(text, &definition, &error);
    if (result == 0)
        hora__definition_free(definition);
    if (result != want || strcmp(error.message, message) != 0)
        test_fail(__FILE__, line, "%s: \"%s\", but should be \"%s\"", hora_errname(result),
                  result < 0 ? error.message : "", message);
}

#define UNREADABLE(text, want, message) check_unreadable(__LINE__, text, want, message)

TEST_REAL(texts_that_are_refused, "")
{
    UNREADABLE("rate 1000 colour blue", HORA_ENOTSUP,
               "the definition has a word \"colour\" that this version of hora does not know");
    UNREADABLE("rate 1000 missed twice", HORA_ENOTSUP,
               "the definition has a value \"twice\" that this version of hora does not know");
    UNREADABLE("cron quartz once \"x\" UTC", HORA_ENOTSUP,
               "the definition has a value \"quartz\" that this version of hora does not know");
    UNREADABLE("cron unix once \"a b\" UTC", HORA_ENOTSUP,
               "the definition has a cron expression or zone that this version of hora does not know: "
               "\"a b\" UTC");
    UNREADABLE("rate", HORA_EBADMSG, "a value is missing in the definition at \"\"");
    UNREADABLE("rate 0", HORA_EBADMSG, "a wrong number in the definition at \"0\"");
    UNREADABLE("rate 5x", HORA_EBADMSG, "a wrong number in the definition at \"5x\"");
    UNREADABLE("rate 99999999999999999999", HORA_EBADMSG,
               "a wrong number in the definition at \"99999999999999999999\"");
    UNREADABLE("rate  5", HORA_EBADMSG, "a value is missing in the definition at \" 5\"");
    UNREADABLE("rate 5 delay 5", HORA_EBADMSG, "a second kind in the definition at \"5\"");
    UNREADABLE("rate 5 count 1 count 2", HORA_EBADMSG, "a repeated word in the definition at \"count 2\"");
    UNREADABLE("trigger x", HORA_EBADMSG, "a wrong quoted value in the definition at \"x\"");
    UNREADABLE("trigger \"x", HORA_EBADMSG, "a wrong quoted value in the definition at \"\"x\"");
    UNREADABLE("trigger \"\"", HORA_EBADMSG, "a wrong quoted value in the definition at \"\"\"\"");
    UNREADABLE("trigger \"\\q\"", HORA_EBADMSG, "a wrong quoted value in the definition at \"\"\\q\"\"");
    UNREADABLE("jitter 1.5", HORA_EBADMSG, "a wrong fraction in the definition at \"1.5\"");
    UNREADABLE("jitter 2000000000", HORA_EBADMSG, "a wrong fraction in the definition at \"2000000000\"");
    UNREADABLE("jitter 0,5", HORA_EBADMSG, "a wrong fraction in the definition at \"0,5\"");
    UNREADABLE("back-off 10 2 9", HORA_EBADMSG, "a wrong number in the definition at \"9\"");
    UNREADABLE("busy wait", HORA_ENOTSUP,
               "the definition has a value \"wait\" that this version of hora does not know");
    UNREADABLE("busy queue 1001", HORA_EBADMSG, "a wrong number in the definition at \"1001\"");
    UNREADABLE("overlap 1", HORA_EBADMSG, "a wrong number in the definition at \"1\"");
}
