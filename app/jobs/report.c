/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - the problems and warnings that a reader finds, each with its place */
#include "jobs/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "text.h"

enum { MOST_LINES = 100, MOST_QUOTED = 60 };

/* Replaces what would break the line or control the terminal. */
static void make_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
}

static bool has_line(const struct report_line *lines, size_t count, const struct place *place,
                     const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (lines[i].place.line == place->line && lines[i].place.column == place->column &&
            strcmp(lines[i].place.file, place->file) == 0 && strcmp(lines[i].text, text) == 0)
            return true;
    return false;
}

/* Formats a line that is not there yet. Returns NULL if there is none to add. */
static const char *new_line(struct report *report, const struct report_line *lines, size_t count,
                            const struct place *place, const char *format, va_list values)
{
    char text[1024]; /* quoted texts are cut, so that everything fits */
    if (count >= MOST_LINES)
        return NULL;
    (void)vsnprintf(text, sizeof text, format, values);
    make_plain(text);
    size_t valid = text_valid_utf8(text, strlen(text));
    text[valid] = '\0';
    return has_line(lines, count, place, text) ? NULL : arena_text(report->arena, text, valid);
}

bool report_is_full(const struct report *report)
{
    return report->problem_count >= MOST_LINES;
}

bool report_problem(struct report *report, const struct place *place, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *text = new_line(report, report->problems, report->problem_count, place, format, values);
    va_end(values);
    if (text)
        *arena_add(report->arena, report->problems, report->problem_count) =
            (struct report_line){*place, text};
    return false;
}

void report_warning(struct report *report, const struct place *place, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *text = new_line(report, report->warnings, report->warning_count, place, format, values);
    va_end(values);
    if (text)
        *arena_add(report->arena, report->warnings, report->warning_count) =
            (struct report_line){*place, text};
}

const char *report_quote(struct report *report, const char *text)
{
    size_t length = strlen(text);
    if (length <= MOST_QUOTED)
        return arena_format(report->arena, "\"%s\"", text);
    size_t cut = MOST_QUOTED;
    while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--;
    return arena_format(report->arena, "\"%.*s...\"", (int)cut, text);
}

static int compare(const void *left, const void *right)
{
    const struct report_line *a = *(const struct report_line *const *)left;
    const struct report_line *b = *(const struct report_line *const *)right;
    int order = strcmp(a->place.file, b->place.file);
    if (order == 0)
        order = (a->place.line > b->place.line) - (a->place.line < b->place.line);
    if (order == 0)
        order = (a->place.column > b->place.column) - (a->place.column < b->place.column);
    return order != 0 ? order : (a > b) - (a < b); /* then in the order in which they were found */
}

static char *line_text(const struct report_line *line)
{
    const struct place *place = &line->place;
    size_t size = strlen(place->file) + strlen(line->text) + 32;
    char *text = memory(size);
    if (place->line > 0)
        (void)snprintf(text, size, "%s:%d:%d: %s", place->file, place->line, place->column, line->text);
    else
        (void)snprintf(text, size, "%s: %s", place->file, line->text);
    make_plain(text);
    return text;
}

char **report_lines(const struct report *report, bool problems, size_t *ret_count)
{
    const struct report_line *lines = problems ? report->problems : report->warnings;
    size_t count = problems ? report->problem_count : report->warning_count;
    const struct report_line **sorted = memory((count + 1) * sizeof *sorted);
    char **texts = memory((count + 1) * sizeof *texts);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &lines[i];
    qsort(sorted, count, sizeof(*sorted), compare);
    for (size_t i = 0; i < count; i++)
        texts[i] = line_text(sorted[i]);
    texts[count] = NULL;
    free(sorted);
    *ret_count = count;
    return texts;
}
