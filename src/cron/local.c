/* SPDX-License-Identifier: Apache-2.0 */
/* local.c - from instants to what the clocks show, and back
 *
 * Back is the harder way. A local time may stand in any span whose offset puts it there; asked whether it does, each span
 * says "before me", "in me" or "after me". The first span never says "before", the last never "after"; so if none says "in",
 * somewhere an "after" is followed by a "before": there the clocks were set forward over it. Offsets lie between -26 and 26 hours
 * (S4), so only the spans that close by have to be asked. */
#include "cron/local.h"

#include <stddef.h>

#include "cron/spans.h"

enum { NEARBY = HORA__OFFSET_MAX };

/* ---- to local time ---- */

static int day_of_year(const struct hora__date *date, int64_t days)
{
    return (int)(days - hora__days_from_date(date->year, 1, 1)) + 1;
}

int hora_zone_to_local(const hora_zone *zone, hora_instant instant, hora_local *ret_local)
{
    if (ret_local == NULL)
        return HORA_EINVAL;
    const struct hora__spans *spans = hora__zone_spans(zone);
    int64_t second = hora__second_of(instant);
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
        .nanosecond = hora__nanosecond_of(instant),
        .weekday = weekday == 0 ? 7 : weekday,
        .day_of_year = day_of_year(&date, days),
        .offset = span->offset,
        .is_dst = span->is_dst,
        .short_name = spans->names + span->short_name,
    };
    return 0;
}

/* ---- from local time ---- */

static bool is_date_and_time(const hora_local *l)
{
    return l->month >= 1 && l->month <= 12 && l->day >= 1 && l->day <= hora__month_days(l->year, l->month) &&
           l->hour >= 0 && l->hour <= 23 && l->minute >= 0 && l->minute <= 59 && l->second >= 0 && l->second <= 59 &&
           l->nanosecond >= 0 && l->nanosecond < HORA__SECOND;
}

int hora__local_second(const hora_local *local, int64_t *ret_second)
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

struct answer {
    hora_local_kind kind;
    size_t before; /* the span of the moment; of the earlier one of two; that before a gap */
    size_t after;  /* the span of the later one; that after the gap */
};

/* A local second by the zone's clocks. */
static struct answer ask(const struct hora__spans *spans, int64_t shown)
{
    size_t first = hora__spans_find(spans, shown - NEARBY), last = hora__spans_find(spans, shown + NEARBY);
    struct answer answer = {.kind = HORA_LOCAL_GAP};
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

int hora_zone_to_instant(const hora_zone *zone, const hora_local *local, hora_local_moments *ret_moments)
{
    if (local == NULL || ret_moments == NULL)
        return HORA_EINVAL;
    int64_t shown;
    int error = hora__local_second(local, &shown);
    if (error < 0)
        return error;
    const struct hora__spans *spans = hora__zone_spans(zone);
    struct answer answer = ask(spans, shown);
    hora_local_moments moments = {
        .kind = answer.kind,
        .offset_before = spans->spans[answer.before].offset,
        .offset_after = spans->spans[answer.after].offset,
    };
    if (moments.kind == HORA_LOCAL_GAP) {
        moments.first.ns = spans->begins[answer.after] * HORA__SECOND; /* S2 */
        moments.second = moments.first;
    } else if (!hora__instant_make(shown - moments.offset_before, local->nanosecond, &moments.first) ||
               !hora__instant_make(shown - moments.offset_after, local->nanosecond, &moments.second)) {
        return HORA_ERANGE;
    }
    *ret_moments = moments;
    return 0;
}

/* ---- transitions ---- */

/* Whether the offset changes where this span begins, and then how. */
static bool is_transition(const struct hora__spans *spans, size_t index, hora_transition *ret_transition)
{
    int before = spans->spans[index - 1].offset, after = spans->spans[index].offset;
    if (before == after)
        return false;
    *ret_transition =
        (hora_transition){.at.ns = spans->begins[index] * HORA__SECOND, .offset_before = before, .offset_after = after};
    return true;
}

int hora_zone_next_transition(const hora_zone *zone, hora_instant after, hora_transition *ret_transition)
{
    if (ret_transition == NULL)
        return HORA_EINVAL;
    const struct hora__spans *spans = hora__zone_spans(zone);
    for (size_t i = hora__spans_find(spans, hora__second_of(after)) + 1; i < spans->count; i++)
        if (is_transition(spans, i, ret_transition))
            return 1;
    return 0;
}

int hora_zone_previous_transition(const hora_zone *zone, hora_instant before, hora_transition *ret_transition)
{
    if (ret_transition == NULL)
        return HORA_EINVAL;
    if (before.ns == INT64_MIN)
        return 0;
    const struct hora__spans *spans = hora__zone_spans(zone);
    hora_instant until = {before.ns - 1};
    for (size_t i = hora__spans_find(spans, hora__second_of(until)); i > 0; i--)
        if (is_transition(spans, i, ret_transition))
            return 1;
    return 0;
}
