/* SPDX-License-Identifier: Apache-2.0 */
/* cron_text.c - texts of any length about expressions and times
 *
 * The library writes into a buffer and returns the length of the complete text, so these functions call it
 * twice. */
#include "cron_text.h"

#include <stddef.h>
#include <string.h>

#include "command.h"
#include "output.h"

/* Allocates room for a text of this length. The text is empty, and stays so if the length is an error. */
static char *room_for(int length)
{
    char *text = memory((size_t)(length < 0 ? 0 : length) + 1);
    text[0] = '\0';
    return text;
}

char *cron_words(const hora_cron *cron, const hora_zone *zone)
{
    int length = hora_cron_describe(cron, zone, NULL, 0);
    char *text = room_for(length);
    if (length >= 0)
        hora_cron_describe(cron, zone, text, (size_t)length + 1);
    return text;
}

char *cron_normal_form(const hora_cron *cron)
{
    int length = hora_cron_format(cron, NULL, 0);
    char *text = room_for(length);
    if (length >= 0)
        hora_cron_format(cron, text, (size_t)length + 1);
    return text;
}

char *cron_field_words(const hora_cron *cron, hora_cron_field field)
{
    int length = hora_cron_describe_field(cron, field, NULL, 0);
    char *text = room_for(length);
    if (length >= 0)
        hora_cron_describe_field(cron, field, text, (size_t)length + 1);
    return text;
}

/* Returns true if a byte continues a UTF-8 character and therefore takes no column on the screen. */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Returns a byte as it can be printed on a terminal: control characters other than tabs become "?". */
static char shown(char byte)
{
    bool is_control = (unsigned char)byte < ' ' || byte == 127;
    if (is_control && byte != '\t')
        return '?';
    return byte;
}

char *cron_mark(const char *expression, const hora_error *error)
{
    static const char indent[] = "    ";
    size_t length = strlen(expression);
    size_t first = (size_t)error->offset < length ? (size_t)error->offset : length;
    size_t wrong = (size_t)error->length;
    size_t last = wrong < length - first ? first + wrong : length; /* one past the mistake */
    /* Two lines, each with the indent, at most one byte per byte of the expression, "^", "\n" and NUL. */
    char *text = memory(2 * (sizeof indent + length + 3));
    char *to = text;
    to = (char *)memcpy(to, indent, sizeof indent - 1) + sizeof indent - 1;
    for (size_t i = 0; i < length; i++)
        *to++ = shown(expression[i]);
    *to++ = '\n';
    *to = '\0';
    if (error->offset < 0)
        return text;
    to = (char *)memcpy(to, indent, sizeof indent - 1) + sizeof indent - 1;
    for (size_t i = 0; i < first; i++)
        if (!is_continuation(expression[i]))
            *to++ = expression[i] == '\t' ? '\t' : ' '; /* a tab is as wide as the one above it */
    *to++ = '^';
    for (size_t i = first + 1; i < last; i++)
        if (!is_continuation(expression[i]))
            *to++ = '^';
    *to++ = '\n';
    *to = '\0';
    return text;
}

void output_time(hora_instant instant, const hora_zone *zone, bool with_name)
{
    char text[HORA_INSTANT_TEXT + 256]; /* names of the database are shorter */
    int length = hora_instant_format(instant, zone, with_name, text, sizeof text);
    if (length > 0)
        output_text(text);
}

/* Returns true if the expression has a time in the last hundred years of the range. Its times then continue
 * beyond the range: no expression pauses for forty years, unless clock changes of a zone have ended it. */
static bool goes_on(const hora_cron *cron, const hora_zone *zone, hora_instant end, bool backwards)
{
    static const int64_t century = INT64_C(36525) * 86400 * 1000000000;
    hora_instant time;
    if (backwards)
        return hora_cron_next(cron, zone, end, &time) > 0 && time.ns < end.ns + century;
    return hora_cron_previous(cron, zone, end, &time) > 0 && time.ns > end.ns - century;
}

void output_no_time(const hora_cron *cron, const hora_zone *zone, bool with_name, bool backwards)
{
    static const int64_t second = 1000000000;
    hora_instant end = {(backwards ? INT64_MIN : INT64_MAX) / second * second};
    if (goes_on(cron, zone, end, backwards)) {
        output_text(backwards ? "not after " : "not before ");
        output_time(end, zone, with_name);
    } else {
        output_text("never");
    }
    output_text("\n");
}

const char *weekday_name(const hora_local *local)
{
    static const char *const names[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    return names[local->weekday - 1];
}
