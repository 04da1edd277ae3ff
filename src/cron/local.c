/* SPDX-License-Identifier: Apache-2.0 */
/* local.c - instants, local times, offsets and their texts
 *
 * From an instant to a local time is simple: find the span and add its offset.
 *
 * The other direction is harder, because a local time may lie in any span whose offset puts it there. For a
 * given local time, each span is either too early, too late, or shows it. The last span is never too early,
 * and the first is never too late. So if no span shows the time, somewhere a span that is too early is
 * followed by one that is too late: there the clocks were set forward over the time. Offsets lie between -26
 * and 26 hours (S4), so only spans close to the time need to be examined. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/ns.h"
#include "base/reason.h"
#include "base/text.h"
#include "cron/civil.h"
#include "cron/zone.h"

/* Returns the second that contains an instant. */
static int64_t second_of(hora_instant instant)
{
    return hora__floor_div(instant.ns, HORA__SECOND);
}

/* Returns the nanoseconds since the start of that second. */
static int32_t nanosecond_of(hora_instant instant)
{
    int64_t rest = instant.ns % HORA__SECOND;
    return (int32_t)(rest < 0 ? rest + HORA__SECOND : rest);
}

/* Makes an instant; returns false if it is out of range. `nanosecond` is from 0 to 999999999. */
static bool make_instant(int64_t second, int32_t nanosecond, hora_instant *ret_instant)
{
    assert(nanosecond >= 0 && nanosecond < HORA__SECOND);
    /* Only a part of the very first second exists, so it must not be multiplied. */
    int64_t rest = second < 0 ? nanosecond - HORA__SECOND : nanosecond;
    int64_t whole = second < 0 ? second + 1 : second;
    hora_instant made;
    if (__builtin_mul_overflow(whole, HORA__SECOND, &made.ns) ||
        __builtin_add_overflow(made.ns, rest, &made.ns))
        return false;
    *ret_instant = made;
    return true;
}

/* How far, in seconds, local time and UTC can lie apart. */
enum { NEARBY = HORA__OFFSET_MAX };

/* ---- to local time ---- */

/* Returns the day of the year, from 1. `days` is the same date, counted from 1970. */
static int day_of_year(const struct hora__date *date, int64_t days)
{
    assert(date->month >= 1 && date->month <= 12);
    return (int)(days - hora__days_from_date(date->year, 1, 1)) + 1;
}

/* The offset is that of the span. It is a whole number of seconds, so the nanoseconds stay as they are. */
int hora_zone_to_local(const hora_zone *zone, hora_instant instant, hora_local *ret_local)
{
    if (ret_local == NULL)
        return HORA_EINVAL;
    const struct hora__spans *spans = hora__zone_spans(zone);
    int64_t second = second_of(instant);
    const struct hora__span *span = &spans->spans[hora__spans_find(spans, second)];
    int64_t shown = second + span->offset;
    int64_t days = hora__floor_div(shown, HORA__DAY);
    int of_day = (int)(shown - days * HORA__DAY);
    struct hora__date date = hora__date_from_days(days);
    int weekday = hora__weekday(days);
    *ret_local = (hora_local){
        .year = (int32_t)date.year,
        .month = date.month,
        .day = date.day,
        .hour = of_day / 3600,
        .minute = of_day / 60 % 60,
        .second = of_day % 60,
        .nanosecond = nanosecond_of(instant),
        .weekday = weekday == 0 ? 7 : weekday,
        .day_of_year = day_of_year(&date, days),
        .offset = span->offset,
        .is_dst = span->is_dst,
        .short_name = spans->names + span->short_name,
    };
    return 0;
}

/* ---- from local time ---- */

/* Returns whether all fields are in range and the date exists. */
static bool is_date_and_time(const hora_local *l)
{
    return l->month >= 1 && l->month <= 12 && l->day >= 1 && l->day <= hora__month_days(l->year, l->month) &&
           l->hour >= 0 && l->hour <= 23 && l->minute >= 0 && l->minute <= 59 && l->second >= 0 &&
           l->second <= 59 && l->nanosecond >= 0 && l->nanosecond < HORA__SECOND;
}

/* Converts a local time to seconds since 1970-01-01T00:00:00 by the same clock, as if it were UTC. Returns
 * 0, HORA_EINVAL (no such date or time) or HORA_ERANGE (not from 1677 to 2262). */
static int local_second(const hora_local *local, int64_t *ret_second)
{
    if (!is_date_and_time(local))
        return HORA_EINVAL;
    if (local->year < 1677 || local->year > 2262)
        return HORA_ERANGE;
    int64_t days = hora__days_from_date(local->year, local->month, local->day);
    int of_day = local->hour * 3600 + local->minute * 60 + local->second;
    *ret_second = days * HORA__DAY + of_day;
    return 0;
}

/* How a zone shows a local time: never, once or twice. */
struct answer {
    hora_local_kind kind;
    /* The span of the only or the earlier moment; for a gap, the span before it. */
    size_t before;
    /* The span of the only or the later moment; for a gap, the span after it. */
    size_t after;
};

/* Finds the spans that show this local second. If none does, finds the two around the gap. */
static struct answer find_local(const struct hora__spans *spans, int64_t shown)
{
    size_t first = hora__spans_find(spans, shown - NEARBY), last = hora__spans_find(spans, shown + NEARBY);
    struct answer answer = {.kind = HORA_LOCAL_GAP};
    /* The time lies after all that the previous span shows. */
    bool was_after = false;
    for (size_t i = first; i <= last; i++) {
        int64_t second = shown - spans->spans[i].offset;
        bool is_before = second < spans->begins[i], is_after = second >= hora__spans_end(spans, i);
        if (!is_before && !is_after) {
            answer.before = answer.kind == HORA_LOCAL_GAP ? i : answer.before;
            answer.after = i;
            answer.kind = answer.kind == HORA_LOCAL_GAP ? HORA_LOCAL_ONCE : HORA_LOCAL_OVERLAP;
        } else if (is_before && was_after && answer.kind == HORA_LOCAL_GAP) {
            answer.before = i - 1;
            answer.after = i;
        }
        was_after = is_after;
    }
    return answer;
}

/* Both moments are set in every case: they are equal unless the clocks show the time twice. */
int hora_zone_to_instant(const hora_zone *zone, const hora_local *local, hora_local_moments *ret_moments)
{
    if (local == NULL || ret_moments == NULL)
        return HORA_EINVAL;
    int64_t shown;
    int error = local_second(local, &shown);
    if (error < 0)
        return error;
    const struct hora__spans *spans = hora__zone_spans(zone);
    struct answer answer = find_local(spans, shown);
    hora_local_moments moments = {
        .kind = answer.kind,
        .offset_before = spans->spans[answer.before].offset,
        .offset_after = spans->spans[answer.after].offset,
    };
    if (moments.kind == HORA_LOCAL_GAP) {
        /* Cannot overflow, because of S2. A gap has one moment: that of the clock change. */
        moments.first.ns = spans->begins[answer.after] * HORA__SECOND;
        moments.second = moments.first;
    } else if (!make_instant(shown - moments.offset_before, local->nanosecond, &moments.first) ||
               !make_instant(shown - moments.offset_after, local->nanosecond, &moments.second)) {
        return HORA_ERANGE;
    }
    *ret_moments = moments;
    return 0;
}

/* ---- transitions ---- */

/* Returns whether the offset changes where this span begins, and how. A span may also begin with a new
 * name or is_dst alone. */
static bool is_transition(const struct hora__spans *spans, size_t index, hora_transition *ret_transition)
{
    assert(index > 0 && index < spans->count);
    int before = spans->spans[index - 1].offset, after = spans->spans[index].offset;
    if (before == after)
        return false;
    *ret_transition = (hora_transition){
        .at.ns = spans->begins[index] * HORA__SECOND, .offset_before = before, .offset_after = after};
    return true;
}

/* Skips spans that change only the name or is_dst. */
int hora_zone_next_transition(const hora_zone *zone, hora_instant after, hora_transition *ret_transition)
{
    if (ret_transition == NULL)
        return HORA_EINVAL;
    const struct hora__spans *spans = hora__zone_spans(zone);
    for (size_t i = hora__spans_find(spans, second_of(after)) + 1; i < spans->count; i++)
        if (is_transition(spans, i, ret_transition))
            return 1;
    return 0;
}

/* The transition must be strictly before `before`, so the search starts in the span one nanosecond
 * earlier. */
int hora_zone_previous_transition(const hora_zone *zone, hora_instant before, hora_transition *ret_transition)
{
    if (ret_transition == NULL)
        return HORA_EINVAL;
    if (before.ns == INT64_MIN)
        return 0;
    const struct hora__spans *spans = hora__zone_spans(zone);
    hora_instant until = {before.ns - 1};
    for (size_t i = hora__spans_find(spans, second_of(until)); i > 0; i--)
        if (is_transition(spans, i, ret_transition))
            return 1;
    return 0;
}

/* ---- fixed offsets as text: "+05:30" ---- */

/* The largest offset that Java's ZoneOffset allows. */
enum { HOURS_MOST = 18 };

/* Reads two digits. */
static bool read_pair(const char *text, int *ret_number)
{
    if (!hora__is_digit(text[0]) || !hora__is_digit(text[1]))
        return false;
    *ret_number = (text[0] - '0') * 10 + (text[1] - '0');
    return true;
}

/* Reads the digits behind the sign: hours, and minutes and seconds if present. Either all parts are
 * separated by colons, or none is. */
static bool read_parts(const char *text, size_t length, int parts[3])
{
    assert(parts[0] == 0 && parts[1] == 0 && parts[2] == 0);
    if (length == 1 && hora__is_digit(text[0])) {
        parts[0] = text[0] - '0';
        return true;
    }
    /* Parts of two digits each, with or without a colon between them. */
    bool has_colons = length > 2 && text[2] == ':';
    /* The number of parts follows from the length; a length that fits no number of parts is refused. */
    size_t step = has_colons ? 3 : 2, count = (length + step - 2) / step;
    if (count < 1 || count > 3 || length != (count - 1) * step + 2)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!read_pair(text + i * step, &parts[i]))
            return false;
        if (has_colons && i > 0 && text[i * step - 1] != ':')
            return false;
    }
    return true;
}

/* *ret_offset may be written even if the result is false, because the range is checked last. */
bool hora__offset_parse(const char *text, size_t length, int32_t *ret_offset)
{
    int parts[3] = {0, 0, 0};
    if (length < 2 || (text[0] != '+' && text[0] != '-') || !read_parts(text + 1, length - 1, parts))
        return false;
    if (parts[1] > 59 || parts[2] > 59)
        return false;
    int32_t sum = parts[0] * 3600 + parts[1] * 60 + parts[2];
    *ret_offset = text[0] == '-' ? -sum : sum;
    return sum <= HOURS_MOST * 3600;
}

/* Seconds are written only if they are not 0; some historical offsets have them. */
size_t hora__offset_format(int32_t offset, char text[HORA__OFFSET_TEXT])
{
    assert(offset >= -HORA__OFFSET_MAX && offset <= HORA__OFFSET_MAX);
    unsigned rest = (unsigned)(offset < 0 ? -offset : offset);
    if (rest == 0)
        return (size_t)snprintf(text, HORA__OFFSET_TEXT, "Z");
    char sign = offset < 0 ? '-' : '+';
    unsigned hours = rest / 3600 % 100, minutes = rest / 60 % 60, seconds = rest % 60;
    if (seconds == 0)
        return (size_t)snprintf(text, HORA__OFFSET_TEXT, "%c%02u:%02u", sign, hours, minutes);
    return (size_t)snprintf(text, HORA__OFFSET_TEXT, "%c%02u:%02u:%02u", sign, hours, minutes, seconds);
}

/* ---- instants as text: ISO 8601, with the zone's name as in RFC 9557 and Java ----
 *
 * The parser first takes the text apart without any zone. Then the offset decides, else the zone that the
 * text names, else the caller's zone. An offset next to a zone must be the zone's offset at that moment. "Z"
 * next to a zone only says that the time is in UTC. */

/* The longest name of a zone in brackets. */
enum { NAME_MOST = 255 };

/* The parts of a text, before any zone is known. */
struct parts {
    hora_local local; /* year to nanosecond */
    bool has_offset;
    /* The offset was written as "Z". */
    bool is_z;
    int32_t offset;
    bool has_name;
    char name[NAME_MOST + 1];
};

static const char no_instant[] = "this is not an instant: it should look like 2026-03-29T01:30:00+01:00";

/* Skips a character if it comes next. Returns whether it did. */
static bool accept(const char **at, char c)
{
    bool is_there = **at == c;
    *at += is_there ? 1 : 0;
    return is_there;
}

/* Reads exactly `count` digits. */
static bool read_digits(const char **at, int count, int *ret_number)
{
    assert(count > 0 && count <= 9);
    int number = 0;
    for (int i = 0; i < count; i++, ++*at) {
        if (!hora__is_digit(**at))
            return false;
        number = number * 10 + (**at - '0');
    }
    *ret_number = number;
    return true;
}

/* Reads yyyy-mm-dd. local_second checks later whether that date exists. */
static bool read_date(const char **at, hora_local *local)
{
    int year = 0;
    bool is_date = read_digits(at, 4, &year) && accept(at, '-') && read_digits(at, 2, &local->month) &&
                   accept(at, '-') && read_digits(at, 2, &local->day);
    local->year = year;
    return is_date;
}

/* Reads one to nine digits as nanoseconds; missing digits count as 0. */
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

/* Reads hh:mm, and optionally seconds and a fraction. */
static bool read_time(const char **at, hora_local *local)
{
    if (!read_digits(at, 2, &local->hour) || !accept(at, ':') || !read_digits(at, 2, &local->minute))
        return false;
    if (!accept(at, ':'))
        return true;
    return read_digits(at, 2, &local->second) && (!accept(at, '.') || read_fraction(at, local));
}

/* Reads an optional offset: "Z", or the longest run of a sign, digits and colons, which must be an offset
 * with two-digit hours. */
static bool read_offset(const char **at, struct parts *parts)
{
    parts->is_z = **at == 'Z' || **at == 'z';
    parts->has_offset = parts->is_z || **at == '+' || **at == '-';
    if (parts->is_z)
        ++*at;
    else if (parts->has_offset) {
        size_t length = 1 + strspn(*at + 1, "0123456789:");
        /* hora__offset_parse accepts one-digit hours, ISO 8601 does not. */
        if (length < 3 || !hora__offset_parse(*at, length, &parts->offset))
            return false;
        *at += length;
    }
    return true;
}

/* Reads the optional name of a zone in brackets. */
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

/* Splits a text into its parts. Returns false if it has the wrong form. A date alone means midnight. */
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

/* ---- from parts to an instant ---- */

/* Computes the instant of a local time with an offset, which must be that of the named zone, if any.
 * HORA_EINVAL, HORA_ERANGE. */
static int by_offset(const struct parts *parts, const hora_zone *named, hora_instant *ret_instant,
                     hora_error *reason)
{
    assert(parts->has_offset);
    int64_t shown;
    int error = local_second(&parts->local, &shown);
    if (error < 0)
        return error;
    int64_t second = shown - parts->offset;
    hora_instant instant;
    if (!make_instant(second, parts->local.nanosecond, &instant))
        return HORA_ERANGE;
    /* "Z" only says that the time is in UTC, so it need not be the zone's offset. */
    if (named != NULL && !parts->is_z) {
        const struct hora__spans *spans = hora__zone_spans(named);
        if (spans->spans[hora__spans_find(spans, second)].offset != parts->offset)
            return hora__refuse(reason, HORA_EINVAL, "offset",
                                "the zone does not have this offset at that time");
    }
    *ret_instant = instant;
    return 0;
}

/* Computes the instant of a local time in a zone; the earlier one if the clocks show it twice. HORA_EINVAL
 * (also if they never show it), HORA_ERANGE. */
static int by_zone(const struct parts *parts, const hora_zone *zone, hora_instant *ret_instant,
                   hora_error *reason)
{
    assert(!parts->has_offset);
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

/* Parses an instant. If ret_named is not NULL, it receives the zone that the text names, with a reference,
 * or NULL. On error the reason is written, unless the code says enough. */
static int parse(const char *text, const hora_zone *zone, hora_instant *ret_instant, hora_zone **ret_named,
                 hora_error *reason)
{
    struct parts parts;
    if (!take_apart(text, &parts))
        return hora__refuse_at(reason, HORA_EINVAL, 0, strlen(text), NULL, "%s", no_instant);
    /* The zone in brackets is needed in both cases: to check the offset, or to find it. */
    hora_zone *named = NULL;
    if (parts.has_name) {
        int error = hora_zone_new(parts.name, NULL, &named, reason);
        if (error < 0)
            return error;
    }
    int error = parts.has_offset ? by_offset(&parts, named, ret_instant, reason)
                                 : by_zone(&parts, named != NULL ? named : zone, ret_instant, reason);
    if (error == HORA_ERANGE)
        (void)hora__refuse(reason, error, NULL, "an instant must be between the years 1677 and 2262");
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
        return hora__refuse(reason, HORA_EINVAL, NULL, "text or ret_instant is NULL");
    return hora__reason_end(reason, parse(text, zone, ret_instant, ret_zone, reason));
}

/* ---- from an instant to text ---- */

/* Writes ".nnn", ".nnnnnn" or ".nnnnnnnnn": as many groups of three digits as needed, and nothing for 0. */
static void format_fraction(int32_t nanosecond, char text[11])
{
    assert(nanosecond >= 0 && nanosecond < HORA__SECOND);
    text[0] = '\0';
    if (nanosecond == 0)
        return;
    (void)snprintf(text, 11, ".%09u", (unsigned)nanosecond % 1000000000u);
    for (size_t end = 10; end > 4 && strncmp(text + end - 3, "000", 3) == 0; end -= 3)
        text[end - 3] = '\0';
}

/* An instant can always be converted, so the result of hora_zone_to_local needs no check. */
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
