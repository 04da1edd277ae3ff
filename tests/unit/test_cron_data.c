/* SPDX-License-Identifier: Apache-2.0 */
/* test_cron_data.c - the expressions and durations of tests/cron: equal, rejected, and their meaning */
#include <stdio.h>
#include <string.h>

#include "cron/cron.h"
#include "harness.h"

static FILE *open_data(const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", HORA_TEST_CRON, name);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    return file;
}

/* The next line that is no comment, without its end. */
static bool next_line(FILE *file, char *line, size_t size)
{
    while (fgets(line, (int)size, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#')
            return true;
    }
    return false;
}

static hora_cron *parse(const char *text, hora_dst dst)
{
    hora_cron *cron = NULL;
    hora_error error;
    if (hora_cron_parse(text, HORA_CRON_OPTIONS(.dst = dst), &cron, &error) < 0)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    return cron;
}

static bool same_sets(const hora_cron *a, const hora_cron *b)
{
    return a->seconds == b->seconds && a->minutes == b->minutes && a->hours == b->hours &&
           a->days == b->days && a->months == b->months && a->weekdays == b->weekdays &&
           a->before_last == b->before_last && a->nearest == b->nearest &&
           a->last_working_day == b->last_working_day && a->last_of == b->last_of &&
           memcmp(a->nth_of, b->nth_of, sizeof a->nth_of) == 0;
}

static void check_pair(const char *left, const char *right)
{
    char one[512];
    char other[512];
    hora_cron *a = parse(left, HORA_DST_LITERAL);
    hora_cron *b = parse(right, HORA_DST_LITERAL);
    if (a == NULL || b == NULL)
        return;
    (void)hora_cron_format(a, one, sizeof one);
    (void)hora_cron_format(b, other, sizeof other);
    if (!same_sets(a, b) || !hora_cron_equal(a, b) || strcmp(one, other) != 0)
        test_fail(__FILE__, __LINE__, "\"%s\" (%s) and \"%s\" (%s) are not the same", left, one, right,
                  other);
    hora_cron_unref(a);
    hora_cron_unref(b);
}

TEST_REAL(spellings_of_the_same_are_equal, "")
{
    char line[512];
    int count = 0;
    FILE *file = open_data("equal.tsv");
    while (file != NULL && next_line(file, line, sizeof line)) {
        char *right = strchr(line, '\t');
        CHECK(right != NULL);
        if (right == NULL)
            continue;
        *right = '\0';
        check_pair(line, right + 1);
        count++;
    }
    CHECK_INT(count, 44);
    if (file != NULL)
        (void)fclose(file);
}

/* The number of a field by its name, from 1 on; 0: the whole expression. */
static int field_of(const char *name)
{
    static const char *const names[] = {"cron", "second", "minute", "hour", "day", "month", "weekday"};
    for (int i = 0; i <= HORA_CRON_FIELD_WEEKDAY; i++)
        if (name != NULL && strcmp(name, names[i]) == 0)
            return i;
    test_fail(__FILE__, __LINE__, "the field \"%s\" is none", name != NULL ? name : "NULL");
    return 0;
}

/* An error message names the field at its offset, and quotes its text. */
static void check_refused(const char *text)
{
    hora_cron *cron = NULL;
    hora_error error;
    CHECK_ERROR(hora_cron_parse(text, NULL, &cron, &error), HORA_EINVAL);
    CHECK_POINTER(cron, NULL);
    CHECK_ERROR(error.code, HORA_EINVAL);
    int end = error.offset + error.length;
    bool is_place = error.offset >= 0 && error.length >= 0 && end <= (int)strlen(text);
    if (!is_place || strstr(error.message, "in \"") == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\": %d+%d %s", text, error.offset, error.length, error.message);
        return;
    }
    int field = 0;
    for (int i = 0; i < error.offset; i++)
        if (text[i] == ' ' && text[i + 1] != ' ')
            field++;
    int named = field_of(error.field);
    if (named != 0 && field + 1 != named && error.length > 0)
        test_fail(__FILE__, __LINE__, "\"%s\": field %d, but the offset is in field %d", text, named,
                  field + 1);
    char piece[64];
    (void)snprintf(piece, sizeof piece, "%.*s", error.length, text + error.offset);
    if (strstr(error.message, piece) == NULL || memchr(piece, ',', (size_t)error.length) != NULL)
        test_fail(__FILE__, __LINE__, "\"%s\": %s", text, error.message);
}

TEST_REAL(invalid_expressions_are_refused, "")
{
    char line[512];
    int count = 0;
    FILE *file = open_data("invalid.txt");
    for (; file != NULL && next_line(file, line, sizeof line); count++)
        check_refused(line);
    CHECK_INT(count, 136);
    check_refused("");
    check_refused("   ");
    check_refused(" \t\n ");
    if (file != NULL)
        (void)fclose(file);
}

/* Spring reads a lone minus as zero; it is refused here. */
static bool differs(const char *text)
{
    return strcmp(text, "-") == 0;
}

static void check_duration(const char *unit, const char *text, const char *want)
{
    hora_ns duration;
    char got[64] = "error";
    hora_error reason;
    int error = hora_duration_parse(text, strcmp(unit, "SECONDS") == 0 ? HORA_SECONDS(1) : HORA_MS(1),
                                    &duration, &reason);
    if (error == 0)
        (void)hora_duration_format(duration, got, sizeof got);
    CHECK_INT(reason.code, error);
    CHECK(error == 0 || strstr(reason.message, "duration \"") == reason.message);
    if (strcmp(got, differs(text) ? "error" : want) != 0)
        test_fail(__FILE__, __LINE__, "%s: %s instead of %s", text, got, want);
}

TEST_REAL(durations_mean_what_they_mean_to_spring, "")
{
    char line[512];
    int count = 0;
    FILE *file = open_data("durations.tsv");
    while (file != NULL && next_line(file, line, sizeof line)) {
        char *text = strchr(line, '\t');
        char *want = text != NULL ? strchr(text + 1, '\t') : NULL;
        CHECK(want != NULL);
        if (want == NULL)
            continue;
        *text = *want = '\0';
        check_duration(line, text + 1, want + 1);
        count++;
    }
    CHECK_INT(count, 43);
    if (file != NULL)
        (void)fclose(file);
}
