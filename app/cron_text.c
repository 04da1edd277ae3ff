/* SPDX-License-Identifier: Apache-2.0 */
/* cron_text.c - texts about expressions and times, of any length
 *
 * The library writes into a buffer and says how long the whole text is: so it is asked twice. */
#include "cron_text.h"

#include <stddef.h>
#include <string.h>

#include "command.h"
#include "output.h"

/* Room for a text of this length; an error is an empty text. */
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

/* Whether a byte goes on with a character of UTF-8, and so takes no column of its own. */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* A byte as it may stand on a terminal. */
static char shown(char byte)
{
    bool is_control = (unsigned char)byte < ' ' || byte == 127;
    if (is_control && byte != '\t')
        return '?';
    return byte;
}

char *cron_mark(const char *expression, const hora_cron_error *error)
{
    static const char indent[] = "    ";
    size_t length = strlen(expression);
    size_t first = error->position < length ? error->position : length;
    size_t last = error->length < length - first ? first + error->length : length; /* one after the mistake */
    char *text = memory(2 * (sizeof indent + length + 3));
    char *to = text;
    to = (char *)memcpy(to, indent, sizeof indent - 1) + sizeof indent - 1;
    for (size_t i = 0; i < length; i++)
        *to++ = shown(expression[i]);
    *to++ = '\n';
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

const char *weekday_name(const hora_local *local)
{
    static const char *const names[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    return names[local->weekday - 1];
}
