/* SPDX-License-Identifier: Apache-2.0 */
/* cron_explain.c - hora cron explain */
#include <stdlib.h>
#include <string.h>

#include <hora/cron.h>
#include <hora/error.h>

#include "command.h"
#include "cron.h"
#include "cron_changes.h"
#include "cron_request.h"
#include "cron_text.h"
#include "output.h"

#define TIMES       10            /* next times that are printed */
#define MOST_FIELDS 6             /* of an expression */
#define BLANKS      " \t\n\v\f\r" /* separate fields */

static const char help[] =
    "Usage: hora cron explain EXPR [OPTION]...\n"
    "\n"
    "Explain a cron expression: in words, field by field, its next ten times, and the coming clock\n"
    "changes that skip or repeat one of its times. It lists the changes up to the tenth time, but of at\n"
    "least two and at most twenty years.\n"
    "\n"
    "  --zone Z            time zone: Europe/Paris, UTC, +05:30, UTC+02:00, local (the default)\n"
    "  --from T            start time: 2026-03-29T01:30:00+01:00, 2026-03-29T01:30[Europe/Paris],\n"
    "                      2026-03-29; default: now\n" DST_HELP
    "  --dialect spring|unix   six fields that must all match (the default), or the five of crontab\n"
    "  -h, --help          print this help\n"
    "\n"
    "Exit status: 0, also if the expression never matches; 2 on errors.\n";

/* The texts of an expression's fields, in the order of hora_cron_field. */
struct fields {
    char *copy; /* the memory that the texts point into */
    const char *texts[MOST_FIELDS];
    int count; /* 0 for @reboot, which has no fields */
};

/* Splits an expression into its fields. A macro such as @daily has no fields, so its normal form is split
 * instead. The caller frees the copy. */
static struct fields split(const char *expression, const hora_cron *cron)
{
    struct fields fields = {.copy = NULL};
    char *normal = cron_normal_form(cron);
    const char *text = expression + strspn(expression, BLANKS);
    text = *text == '@' ? normal : text;
    fields.copy = memory(strlen(text) + 1);
    memcpy(fields.copy, text, strlen(text) + 1);
    free(normal);
    if (hora_cron_is_reboot(cron))
        return fields;
    for (char *rest = fields.copy; fields.count < MOST_FIELDS;) {
        rest += strspn(rest, BLANKS);
        if (*rest == '\0')
            break;
        fields.texts[fields.count++] = rest;
        rest += strcspn(rest, BLANKS);
        if (*rest != '\0')
            *rest++ = '\0';
    }
    return fields;
}

/* Prints one line per field: its name, its text and its meaning in words. */
static void print_fields(const struct fields *fields, const hora_cron *cron)
{
    static const char *const names[] = {"",      "second",     "minute", "hour", "day of month",
                                        "month", "day of week"};
    int first = HORA_CRON_FIELD_WEEKDAY - fields->count + 1; /* crontab has no second field */
    int width = 0;                                           /* of the column of texts */
    for (int i = 0; i < fields->count; i++)
        width = (int)strlen(fields->texts[i]) > width ? (int)strlen(fields->texts[i]) : width;
    width = width > 30 ? 30 : width;
    for (int i = 0; i < fields->count; i++) {
        char *words = cron_field_words(cron, (hora_cron_field)(first + i));
        output_format("  %-12s  ", names[first + i]);
        output_text(fields->texts[i]);
        output_format("%*s  ",
                      width > (int)strlen(fields->texts[i]) ? width - (int)strlen(fields->texts[i]) : 0, "");
        output_text(words);
        output_text("\n");
        free(words);
    }
}

/* Returns true if the expression counts time instead of naming times of day: if a field before the last
 * three, that is second, minute or hour, has a wildcard, a range or a step. Clock changes then do not move
 * its times. */
static bool counts_time(const struct fields *fields)
{
    for (int i = 0; i < fields->count - 3; i++)
        if (strpbrk(fields->texts[i], "*-/"))
            return true;
    return false;
}

/* Prints the first lines: expression, normal form, meaning in words and zone. */
static void print_heads(const struct cron_request *request, const struct cron_question *question)
{
    char *normal = cron_normal_form(question->cron);
    char *words = cron_words(question->cron, question->zone_is_named ? question->zone : NULL);
    const char *heads[][2] = {{"Expression", request->expression},
                              {"Normal form", normal},
                              {"In words", words},
                              {"Zone", hora_zone_name(question->zone)}};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        output_format("%-13s", heads[i][0]);
        output_plain(heads[i][1]);
        output_text("\n");
    }
    free(normal);
    free(words);
}

/* Prints the next times. *ret_last is the last of them, or the start of the search. Returns 0 or an error
 * code of hora. */
static int print_times(const struct cron_question *question, hora_instant *ret_last)
{
    hora_instant times[TIMES];
    int count = hora_cron_next_n(question->cron, question->zone, question->from, times, TIMES);
    if (count < 0)
        return count;
    output_text("\nNext times after ");
    output_time(question->from, question->zone, false);
    output_text(count == 0 ? "\n  " : "\n");
    if (count == 0)
        output_no_time(question->cron, question->zone, false, false);
    *ret_last = count > 0 ? times[count - 1] : question->from;
    for (int i = 0; i < count; i++) {
        hora_local local;
        hora_zone_to_local(question->zone, times[i], &local);
        output_format("  %2d  %s ", i + 1, weekday_name(&local));
        output_time(times[i], question->zone, false);
        output_text("\n");
    }
    return 0;
}

/* Returns the same local date and time some years later. February 29 becomes February 28. Returns the end of
 * the supported range if the result is beyond it. */
static hora_instant later(hora_instant instant, const hora_zone *zone, int years)
{
    hora_local local;
    hora_local_moments moments;
    hora_zone_to_local(zone, instant, &local);
    local.year += years;
    if (local.month == 2 && local.day == 29)
        local.day = 28;
    if (hora_zone_to_instant(zone, &local, &moments) < 0)
        return (hora_instant){INT64_MAX};
    return moments.first;
}

/* Prints the whole explanation. Returns an exit status. */
static int explain(const struct cron_request *request, const struct cron_question *question)
{
    struct fields fields = split(request->expression, question->cron);
    hora_instant until;
    print_heads(request, question);
    if (fields.count > 0)
        output_text("\nFields\n");
    print_fields(&fields, question->cron);
    bool keeps_times = request->options.dst == HORA_DST_ONCE && !counts_time(&fields);
    free(fields.copy);
    int result = print_times(question, &until);
    if (result < 0)
        return complain("%s", hora_strerror(result));

    /* List clock changes up to the last time printed, but at least two and at most twenty years. */
    hora_instant least = later(question->from, question->zone, 2);
    hora_instant most = later(question->from, question->zone, 20);
    until = until.ns < least.ns ? least : until.ns > most.ns ? most : until;
    hora_local end;
    hora_zone_to_local(question->zone, until, &end);
    output_format("\nClock changes that affect it, until %04d-%02d-%02d\n", (int)end.year, end.month,
                  end.day);
    result = print_changes(question->cron, question->zone, question->from, until, keeps_times);
    return result < 0 ? complain("%s", hora_strerror(result)) : STATUS_OK;
}

int cron_explain_command(int argc, char **argv)
{
    struct cron_request request;
    struct cron_question question;
    int status = request_read(&request, OPTIONS_OF_EXPLAIN, help, argc, argv);
    if (status != REQUEST_GO)
        return status;
    status = question_open(&request, &question);
    if (status != REQUEST_GO)
        return status;
    if (!request.from) /* now: times of cron are whole seconds, so the fraction says nothing */
        question.from.ns -= question.from.ns % HORA_SECONDS(1);
    status = explain(&request, &question);
    question_close(&question);
    return status;
}
