/* SPDX-License-Identifier: Apache-2.0 */
/* iso.c - instants as text, by ISO 8601 and with the zone's name as RFC 9557 and Java add it
 *
 * What is read is first taken apart without a look at any zone; then the offset decides, or else the zone that the text names, or
 * else the one that was given. An offset beside a zone must be that zone's at the moment. "Z" beside a zone claims nothing
 * about the place: it only says that the time is UTC's. */
#include <stdio.h>
#include <string.h>

#include "base/reason.h"
#include "base/text.h"
#include "cron/local.h"

enum { NAME_MOST = 255 };

/* A text taken apart. */
struct parts {
    hora_local local; /* the first seven fields */
    bool has_offset;
    bool is_z;
    int32_t offset;
    bool has_name;
    char name[NAME_MOST + 1];
};

static const char no_instant[] = "this is no instant: it should look like 2026-03-29T01:30:00+01:00";

static bool accept(const char **at, char c)
{
    bool is_there = **at == c;
    *at += is_there ? 1 : 0;
    return is_there;
}

static bool read_digits(const char **at, int count, int *ret_number)
{
    int number = 0;
    for (int i = 0; i < count; i++, ++*at) {
        if (!hora__is_digit(**at))
            return false;
        number = number * 10 + (**at - '0');
    }
    *ret_number = number;
    return true;
}

static bool read_date(const char **at, hora_local *local)
{
    int year = 0;
    bool is_date = read_digits(at, 4, &year) && accept(at, '-') && read_digits(at, 2, &local->month) &&
                   accept(at, '-') && read_digits(at, 2, &local->day);
    local->year = year;
    return is_date;
}

static bool read_fraction(const char **at, hora_local *local)
{
    int digits = 0;
    for (; digits < 9 && hora__is_digit(**at); digits++, ++*at)
        local->nanosecond = local->nanosecond * 10 + (**at - '0');
    bool is_fraction = digits > 0;
    for (; digits < 9; digits++)
        local->nanosecond *= 10;
    return is_fraction;
}

static bool read_time(const char **at, hora_local *local)
{
    if (!read_digits(at, 2, &local->hour) || !accept(at, ':') || !read_digits(at, 2, &local->minute))
        return false;
    if (!accept(at, ':'))
        return true;
    return read_digits(at, 2, &local->second) && (!accept(at, '.') || read_fraction(at, local));
}

/* "Z", or the longest text of signs, digits and colons, which must be an offset with two digits of hours. */
static bool read_offset(const char **at, struct parts *parts)
{
    parts->is_z = **at == 'Z' || **at == 'z';
    parts->has_offset = parts->is_z || **at == '+' || **at == '-';
    if (parts->is_z)
        ++*at;
    else if (parts->has_offset) {
        size_t length = 1 + strspn(*at + 1, "0123456789:");
        if (length < 3 || !hora__offset_parse(*at, length, &parts->offset))
            return false;
        *at += length;
    }
    return true;
}

static bool read_name(const char **at, struct parts *parts)
{
    parts->has_name = accept(at, '[');
    if (!parts->has_name)
        return true;
    size_t length = strcspn(*at, "]");
    if (length == 0 || length > NAME_MOST || (*at)[length] != ']')
        return false;
    memcpy(parts->name, *at, length);
    parts->name[length] = '\0';
    *at += length + 1;
    return true;
}

static bool take_apart(const char *text, struct parts *parts)
{
    memset(parts, 0, sizeof *parts);
    if (!read_date(&text, &parts->local))
        return false;
    if (*text == '\0')
        return true;
    if (!accept(&text, 'T') && !accept(&text, 't') && !accept(&text, ' '))
        return false;
    return read_time(&text, &parts->local) && read_offset(&text, parts) && read_name(&text, parts) &&
           *text == '\0';
}

/* ---- which instant that is ---- */

static int by_offset(const struct parts *parts, const hora_zone *named, hora_instant *ret_instant,
                     hora_error *reason)
{
    int64_t shown;
    int error = hora__local_second(&parts->local, &shown);
    if (error < 0)
        return error;
    int64_t second = shown - parts->offset;
    hora_instant instant;
    if (!hora__instant_make(second, parts->local.nanosecond, &instant))
        return HORA_ERANGE;
    if (named != NULL && !parts->is_z) {
        const struct hora__spans *spans = hora__zone_spans(named);
        if (spans->spans[hora__spans_find(spans, second)].offset != parts->offset)
            return hora__refuse(reason, HORA_EINVAL, "offset", "the zone does not have this offset then");
    }
    *ret_instant = instant;
    return 0;
}

static int by_zone(const struct parts *parts, const hora_zone *zone, hora_instant *ret_instant,
                   hora_error *reason)
{
    hora_local_moments moments;
    int error = hora_zone_to_instant(zone, &parts->local, &moments);
    if (error < 0)
        return error;
    if (moments.kind == HORA_LOCAL_GAP)
        return hora__refuse(reason, HORA_EINVAL, "time",
                            "this time does not exist: the clocks are set forward over it");
    *ret_instant = moments.first;
    return 0;
}

static int parse(const char *text, const hora_zone *zone, hora_instant *ret_instant, hora_zone **ret_named,
                 hora_error *reason)
{
    struct parts parts;
    if (!take_apart(text, &parts))
        return hora__refuse_at(reason, HORA_EINVAL, 0, strlen(text), NULL, "%s", no_instant);
    hora_zone *named = NULL;
    if (parts.has_name) {
        int error = hora_zone_new(parts.name, NULL, &named, reason);
        if (error < 0)
            return error;
    }
    int error = parts.has_offset ? by_offset(&parts, named, ret_instant, reason)
                                 : by_zone(&parts, named != NULL ? named : zone, ret_instant, reason);
    if (error == HORA_ERANGE)
        (void)hora__refuse(reason, error, NULL, "an instant lies between the years 1677 and 2262");
    else if (error == HORA_EINVAL && reason != NULL && reason->code == 0)
        (void)hora__refuse(reason, error, NULL, "there is no such date or time");
    if (error < 0 || ret_named == NULL)
        named = hora_zone_unref(named);
    if (error == 0 && ret_named != NULL)
        *ret_named = named;
    return error;
}

int hora_instant_parse(const char *text, const hora_zone *zone, hora_instant *ret_instant,
                       hora_zone **ret_zone, hora_error *reason)
{
    hora__reason_begin(reason);
    if (text == NULL || ret_instant == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "there is no text, or no place for the result");
    return hora__reason_end(reason, parse(text, zone, ret_instant, ret_zone, reason));
}

/* ---- to text ---- */

/* As many digits as are needed, in threes. */
static void format_fraction(int32_t nanosecond, char text[11])
{
    text[0] = '\0';
    if (nanosecond == 0)
        return;
    (void)snprintf(text, 11, ".%09u", (unsigned)nanosecond % 1000000000u);
    for (size_t end = 10; end > 4 && strncmp(text + end - 3, "000", 3) == 0; end -= 3)
        text[end - 3] = '\0';
}

int hora_instant_format(hora_instant instant, const hora_zone *zone, bool with_name, char *text, size_t size)
{
    if (text == NULL && size != 0)
        return HORA_EINVAL;
    hora_local local;
    (void)hora_zone_to_local(zone, instant, &local);
    char fraction[11], offset[HORA__OFFSET_TEXT];
    format_fraction(local.nanosecond, fraction);
    (void)hora__offset_format(local.offset, offset);
    bool has_name = with_name && zone != NULL && !zone->is_offset;
    return snprintf(text, size, "%04d-%02d-%02dT%02d:%02d:%02d%s%s%s%s%s", (int)local.year, local.month,
                    local.day, local.hour, local.minute, local.second, fraction, offset, has_name ? "[" : "",
                    has_name ? zone->name : "", has_name ? "]" : "");
}
