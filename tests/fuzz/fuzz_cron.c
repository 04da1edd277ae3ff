/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cron.c - any text as an expression: it is rejected, or can be printed, read back and searched */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

#include "cron/cron.h"

enum { MOST_BYTES = 256, MOST_TEXT = 2048 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* A zone file of version 2 with one type of local time, and New York's rule for the times that its table does
 * not have. */
#define COUNTS "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
#define BLOCK  "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" COUNTS "\xff\xff\xb9\xb0\0\0EST"
static const char zone_file[] = BLOCK "\0" BLOCK "\0\nEST5EDT,M3.2.0,M11.1.0\n";

static const hora_zone *new_york(void)
{
    static hora_zone *zone;
    if (zone == NULL)
        require(hora_zone_from_data("New York", zone_file, sizeof zone_file - 1, &zone, NULL) == 0);
    return zone;
}

static void check_refusal(const char *text, const hora_error *error)
{
    static const char *const fields[] = {"cron", "second", "minute", "hour", "day", "month", "weekday"};
    int length = (int)strlen(text);
    bool is_field = false;
    require(error->code == HORA_EINVAL && error->field != NULL);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        is_field = is_field || strcmp(error->field, fields[i]) == 0;
    require(is_field);
    require(error->offset >= 0 && error->offset <= length);
    require(error->length >= 0 && error->length <= length - error->offset);
    require(memchr(error->message, '\0', sizeof error->message) != NULL && error->message[0] != '\0');
    for (const char *c = error->message; *c != '\0'; c++)
        require(*c >= ' ' && *c <= '~');
}

static void check_words(const hora_cron *cron)
{
    char words[MOST_TEXT];
    int length = hora_cron_describe(cron, NULL, words, sizeof words);
    require(length > 0 && (size_t)length == strlen(words));
    for (int field = HORA_CRON_FIELD_SECOND; field <= HORA_CRON_FIELD_WEEKDAY; field++) {
        length = hora_cron_describe_field(cron, (hora_cron_field)field, words, sizeof words);
        require(length == HORA_EINVAL || (length > 0 && (size_t)length == strlen(words)));
    }
}

static void check_normal_form(const hora_cron *cron, const hora_cron_options *options)
{
    char normal[MOST_TEXT];
    char again[MOST_TEXT];
    hora_cron *back = NULL;
    int length = hora_cron_format(cron, normal, sizeof normal);
    require(length > 0 && (size_t)length == strlen(normal));
    require(hora_cron_parse(normal, options, &back, NULL) == 0 && hora_cron_equal(cron, back));
    (void)hora_cron_format(back, again, sizeof again);
    require(strcmp(normal, again) == 0);
    hora_cron_unref(back);
}

/* The next time is later, nothing lies between, and the way back leads there as well. */
static void check_times(const hora_cron *cron, const hora_zone *zone, hora_instant from)
{
    hora_instant next;
    hora_instant previous;
    if (hora_cron_next(cron, zone, from, &next) == 1) {
        require(next.ns > from.ns && next.ns % HORA_SECONDS(1) == 0);
        require(hora_cron_matches(cron, zone, next));
        require(hora_cron_previous(cron, zone, next, &previous) == 0 || previous.ns <= from.ns);
    }
    if (hora_cron_previous(cron, zone, from, &previous) == 1) {
        require(previous.ns < from.ns && hora_cron_matches(cron, zone, previous));
        require(hora_cron_next(cron, zone, previous, &next) == 0 || next.ns >= from.ns);
    }
}

/* The short way through an expression, if it leads anywhere, leads to the same as the long one. */
static void check_quick(const char *text, hora_cron_dialect dialect)
{
    hora_cron quick = {.dialect = dialect};
    hora_cron slow = {.dialect = dialect};
    if (!hora__cron_quick(text, &quick))
        return;
    require(hora__cron_read(text, &slow, NULL) == 0);
    require(quick.seconds == slow.seconds && quick.minutes == slow.minutes && quick.hours == slow.hours);
    require(quick.days == slow.days && quick.months == slow.months && quick.weekdays == slow.weekdays);
    require(quick.before_last == slow.before_last && quick.nearest == slow.nearest &&
            quick.last_of == slow.last_of);
    require(memcmp(quick.nth_of, slow.nth_of, sizeof quick.nth_of) == 0);
    require(quick.is_interval == slow.is_interval && quick.is_either_day == slow.is_either_day);
    require(quick.last_working_day == slow.last_working_day && !slow.is_reboot);
}

static void check_expression(const char *text, const hora_cron_options *options, hora_instant from)
{
    hora_cron *cron = NULL;
    hora_error error;
    check_quick(text, options->dialect);
    int result = hora_cron_parse(text, options, &cron, &error);
    if (result < 0) {
        require(result == HORA_EINVAL && cron == NULL);
        check_refusal(text, &error);
        return;
    }
    require(error.code == 0);
    check_normal_form(cron, options);
    check_words(cron);
    check_times(cron, new_york(), from);
    hora_cron_unref(cron);
}

/* The first byte chooses the rule for clock changes and the year to begin with. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[MOST_BYTES];
    if (size == 0 || size > sizeof text)
        return -1;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    hora_cron_options options = HORA_INIT(hora_cron_options);
    options.dst = data[0] % 2 == 0 ? HORA_DST_LITERAL : HORA_DST_ONCE;
    hora_instant from = {HORA_HOURS(365 * 24) * (data[0] / 2 - 20) + HORA_HOURS(5000)};
    check_expression(text, &options, from);
    options.dialect = HORA_CRON_UNIX;
    check_expression(text, &options, from);
    return 0;
}
