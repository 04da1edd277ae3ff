/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - the next and the previous time of a cron expression in a zone
 *
 * A zone is a sequence of spans of constant offset. Within one span, local time is a plain calendar. So the
 * search walks the spans in order of time and searches the local times of each. Gaps, overlaps, missing days
 * and midnights that occur twice need no special cases.
 *
 * Clock changes     HORA_DST_LITERAL takes an instant if the clocks then show a time that matches.
 *                   HORA_DST_ONCE takes, for every local time that matches, the first instant at which the
 *                   clocks show that time or a later one. In both cases a span has a smallest local time
 *                   that counts: the first time that its clocks show, or the first time that no clock has
 *                   shown before. Local times between that and the first time its clocks show were
 *                   skipped, and belong to the instant when the span begins.
 * Jumps             The next match may be far away, and a span is half a year. What is known about local
 *                   times holds in all spans: none from `from` to just before `match` matches. No offset
 *                   exceeds HORA__OFFSET_MAX, so the search skips spans that end more than this before
 *                   `match`, once all their local times are later than `from`. Spans just behind an overlap
 *                   may show earlier times, and are searched.
 * Termination       Each step goes to a later span or finds a later local match; a match that is not the
 *                   answer fell into a gap. So there are at most as many steps as hora_instant has months,
 *                   plus some for every span.
 * Invariants        W1 the answer lies strictly on the requested side.
 *                   W2 the answer is a second that hora_instant can count.
 *                   W3 what is known covers the local time asked for in a span. */
#include <assert.h>

#include "base/fault.h"
#include "base/ns.h"
#include "cron/civil.h"
#include "cron/cron.h"
#include "cron/set.h"
#include "cron/zone.h"

/* ---- the days of a month that match ----
 *
 * A month is a word: bit n is day n. Everything that a field can say about days becomes such a word. So a
 * field is a union of words, and the two fields combine by "and" (or "or", in crontab). The weekday of its
 * first day and its length determine a month: there are 28 kinds. */

enum { SUNDAY = 0, FRIDAY = 5, SATURDAY = 6 };

static uint32_t bit(int n)
{
    return UINT32_C(1) << n;
}

/* Returns the set of days 1 to n; n <= 31. */
static uint32_t up_to(int n)
{
    return (uint32_t)((UINT64_C(2) << n) - 2);
}

/* Returns the weekday of a day of the month, 0 for Sunday to 6 for Saturday. */
static int weekday_of(int day, int first_weekday)
{
    assert(day >= 1 && day <= 31);
    return (first_weekday + day - 1) % 7;
}

/* Returns all days that fall on a set of weekdays, as if the month had 31 days: one week, rotated to start
 * with the weekday of the first day, and repeated five times by the multiplication. */
static uint32_t days_of_weekdays(uint32_t weekdays, int first_weekday)
{
    assert(first_weekday >= 0 && first_weekday <= 6);
    uint32_t week = (weekdays >> first_weekday | weekdays << (7 - first_weekday)) & 0x7f;
    uint64_t weeks = week * UINT64_C(0x10204081);
    return (uint32_t)(weeks << 1);
}

/* Returns the day of nW. It never leaves the month: a first that is a Saturday moves to Monday, and a last
 * day that is a Sunday moves to Friday. */
static int nearest_working_day(int day, int first_weekday, int length)
{
    assert(day >= 1 && day <= length);
    switch (weekday_of(day, first_weekday)) {
    case SATURDAY:
        return day > 1 ? day - 1 : day + 2;
    case SUNDAY:
        return day < length || HORA__FAULT(CRON_NEAREST_LEAVES_MONTH) ? day + 1 : day - 2;
    default:
        return day;
    }
}

/* Returns the day of LW: the last Monday to Friday of the month. */
static int last_working_day(int first_weekday, int length)
{
    int weekday = weekday_of(length, first_weekday);
    return weekday == SATURDAY ? length - 1 : weekday == SUNDAY ? length - 2 : length;
}

/* Returns the days that match the day-of-month field. */
static uint32_t by_day_of_month(const hora_cron *cron, int first_weekday, int length)
{
    uint32_t mask = cron->days;
    for (uint32_t rest = cron->before_last; rest != 0; rest &= rest - 1) {
        int day = length - __builtin_ctz(rest);
        if (day >= 1)
            mask |= bit(day);
    }
    for (uint32_t rest = cron->nearest & up_to(length); rest != 0; rest &= rest - 1)
        mask |= bit(nearest_working_day(__builtin_ctz(rest), first_weekday, length));
    if (cron->last_working_day)
        mask |= bit(last_working_day(first_weekday, length));
    return mask;
}

/* Returns the days of d#n for a weekday d and a set of numbers n, as if the month had 35 days. */
static uint32_t nth_days(uint32_t numbers, int weekday, int first_weekday)
{
    assert(weekday >= 0 && weekday <= 6);
    int first = 1 + (weekday - first_weekday + 7) % 7;
    uint64_t mask = 0;
    for (; numbers != 0; numbers &= numbers - 1)
        mask |= UINT64_C(1) << (first + 7 * (__builtin_ctz(numbers) - 1));
    return (uint32_t)mask;
}

/* Returns the days that match the weekday field. The last weekday of a month lies in its last seven days. */
static uint32_t by_day_of_week(const hora_cron *cron, int first_weekday, int length)
{
    uint32_t mask = days_of_weekdays(cron->weekdays, first_weekday);
    if (cron->last_of != 0)
        mask |= days_of_weekdays(cron->last_of, first_weekday) & ~up_to(length - 7);
    for (int weekday = SUNDAY; weekday <= SATURDAY; weekday++)
        if (cron->nth_of[weekday] != 0)
            mask |= nth_days(cron->nth_of[weekday], weekday, first_weekday);
    return mask;
}

/* Bits beyond the end of the month are cut off last, so the helpers above may set them. */
uint32_t hora__cron_month_mask(const hora_cron *cron, int first_weekday, int length)
{
    assert(first_weekday >= 0 && first_weekday <= 6 && length >= 28 && length <= 31);
    uint32_t by_day = by_day_of_month(cron, first_weekday, length);
    uint32_t by_weekday = by_day_of_week(cron, first_weekday, length);
    return (cron->is_either_day ? by_day | by_weekday : by_day & by_weekday) & up_to(length);
}

/* ---- a plain calendar: no zone, every day has 86,400 seconds ----
 *
 * Local times are seconds since 1970-01-01T00:00:00 of this calendar. Times of day and days are independent.
 * So the search examines the rest of the first day. If there is no match, it takes the next matching day from
 * the masks of the months, and the first time of that day, which exists because no set is empty (C1). */

/* In seconds. NO_TIME: no time of day matches. */
enum { MINUTE = 60, HOUR = 3600, NO_TIME = -1 };

/* Returns whether every day matches, as in most expressions, so that no month needs to be examined. */
static bool is_every_day(const hora_cron *cron)
{
    return cron->days == HORA__ALL_DAYS && cron->weekdays == HORA__ALL_WEEKDAYS &&
           cron->months == HORA__ALL_MONTHS;
}

/* Times of day, in seconds since midnight. */

/* Returns the first matching time of a day. */
static int first_time(const hora_cron *cron)
{
    assert(cron->hours != 0 && cron->minutes != 0 && cron->seconds != 0); /* C1 */
    return hora__set_first(cron->hours) * HOUR + hora__set_first(cron->minutes) * MINUTE +
           hora__set_first(cron->seconds);
}

/* Returns the last matching time of a day. */
static int last_time(const hora_cron *cron)
{
    assert(cron->hours != 0 && cron->minutes != 0 && cron->seconds != 0); /* C1 */
    return hora__set_last(cron->hours) * HOUR + hora__set_last(cron->minutes) * MINUTE +
           hora__set_last(cron->seconds);
}

/* Returns the first matching time of day from `time` on, or NO_TIME: in the same minute, else in the same
 * hour, else in a later hour. */
static int first_time_from(const hora_cron *cron, int time)
{
    assert(time >= 0 && time < HORA__DAY);
    int hour = time / HOUR;
    int minute = time / MINUTE % 60;
    int second = time % MINUTE;
    if (hora__set_has(cron->hours, hour)) {
        uint64_t seconds = hora__set_has(cron->minutes, minute) ? cron->seconds >> second << second : 0;
        if (seconds != 0)
            return time - second + hora__set_first(seconds);
        uint64_t minutes = hora__set_above(cron->minutes, minute);
        if (minutes != 0)
            return hour * HOUR + hora__set_first(minutes) * MINUTE + hora__set_first(cron->seconds);
    }
    uint64_t hours = hora__set_above(cron->hours, hour);
    if (hours != 0)
        return hora__set_first(hours) * HOUR + hora__set_first(cron->minutes) * MINUTE +
               hora__set_first(cron->seconds);
    return NO_TIME;
}

/* Returns the last matching time of day up to `time`, or NO_TIME: first_time_from in the other direction. */
static int last_time_to(const hora_cron *cron, int time)
{
    assert(time >= 0 && time < HORA__DAY);
    int hour = time / HOUR;
    int minute = time / MINUTE % 60;
    int second = time % MINUTE;
    if (hora__set_has(cron->hours, hour)) {
        uint64_t seconds =
            hora__set_has(cron->minutes, minute) ? hora__set_below(cron->seconds, second + 1) : 0;
        if (seconds != 0)
            return time - second + hora__set_last(seconds);
        uint64_t minutes = hora__set_below(cron->minutes, minute);
        if (minutes != 0)
            return hour * HOUR + hora__set_last(minutes) * MINUTE + hora__set_last(cron->seconds);
    }
    uint64_t hours = hora__set_below(cron->hours, hour);
    if (hours != 0)
        return hora__set_last(hours) * HOUR + hora__set_last(cron->minutes) * MINUTE +
               hora__set_last(cron->seconds);
    return NO_TIME;
}

/* Days, since 1970-01-01. */

/* A month and its matching days. */
struct month {
    int64_t year;
    int month;
    /* The day before its first, counted from 1970, so that adding a day of the month gives that day. */
    int64_t before;
    /* Bit n: day n matches. */
    uint32_t days;
};

/* Returns a month with its matching days, which are none if the month itself does not match. */
static struct month month_of(const hora_cron *cron, int64_t year, int number, int64_t before)
{
    assert(number >= 1 && number <= 12);
    struct month month = {.year = year, .month = number, .before = before};
    if (hora__set_has(cron->months, number))
        month.days = hora__cron_month_mask(cron, hora__weekday(before + 1), hora__month_days(year, number));
    return month;
}

/* Returns the next month that matches; the matching days of a month may still be none. */
static struct month month_after(const hora_cron *cron, const struct month *month)
{
    assert(cron->months != 0); /* C1 */
    uint64_t later = hora__set_above(cron->months, month->month);
    int64_t year = later != 0 ? month->year : month->year + 1;
    int number = hora__set_first(later != 0 ? later : cron->months);
    return month_of(cron, year, number, hora__days_from_date(year, number, 1) - 1);
}

/* Returns the previous month that matches. */
static struct month month_before(const hora_cron *cron, const struct month *month)
{
    assert(cron->months != 0); /* C1 */
    uint64_t earlier = hora__set_below(cron->months, month->month);
    int64_t year = earlier != 0 ? month->year : month->year - 1;
    int number = hora__set_last(earlier != 0 ? earlier : cron->months);
    return month_of(cron, year, number, hora__days_from_date(year, number, 1) - 1);
}

/* Finds the first matching day from `from` on. Gives up in the first month that begins after `to`; the
 * result may still be a day after `to`, which the caller checks. Adds the number of months examined to
 * *steps. */
static bool first_day(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_day, int *steps)
{
    struct hora__date date = hora__date_from_days(from);
    struct month month = month_of(cron, date.year, date.month, from - date.day);
    uint64_t days = hora__set_above(month.days, date.day - 1);
    *steps += 1;
    while (days == 0) {
        month = month_after(cron, &month);
        days = month.days;
        *steps += 1;
        if (month.before >= to)
            return false;
    }
    *ret_day = month.before + hora__set_first(days);
    return true;
}

/* Finds the last matching day up to `to`. Gives up once no earlier month can reach `from`; the result may
 * still be a day before `from`, which the caller checks. */
static bool last_day(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_day, int *steps)
{
    struct hora__date date = hora__date_from_days(to);
    struct month month = month_of(cron, date.year, date.month, to - date.day);
    uint64_t days = hora__set_below(month.days, date.day + 1);
    *steps += 1;
    while (days == 0) {
        if (month.before < from)
            return false;
        month = month_before(cron, &month);
        days = month.days;
        *steps += 1;
    }
    *ret_day = month.before + hora__set_last(days);
    return true;
}

/* Finds the first matching local time from `from` to `to`, both included. */
static bool first_match(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_local, int *steps)
{
    int64_t today = hora__floor_div(from, HORA__DAY);
    int time = first_time_from(cron, (int)(from - today * HORA__DAY));
    int64_t day = time != NO_TIME ? today : today + 1;
    if (!is_every_day(cron) && !first_day(cron, day, hora__floor_div(to, HORA__DAY), &day, steps))
        return false;
    int64_t local = day * HORA__DAY + (day == today ? time : first_time(cron));
    assert(local >= from);
    if (local > to)
        return false;
    *ret_local = local;
    return true;
}

/* Finds the last matching local time from `from` to `to`, both included. */
static bool last_match(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_local, int *steps)
{
    int64_t today = hora__floor_div(to, HORA__DAY);
    int time = last_time_to(cron, (int)(to - today * HORA__DAY));
    int64_t day = time != NO_TIME ? today : today - 1;
    if (!is_every_day(cron) && !last_day(cron, hora__floor_div(from, HORA__DAY), day, &day, steps))
        return false;
    int64_t local = day * HORA__DAY + (day == today ? time : last_time(cron));
    assert(local <= to);
    if (local < from)
        return false;
    *ret_local = local;
    return true;
}

/* ---- the spans of a zone ---- */

/* The earliest and the latest local time that a clock ever shows. */
#define LOCAL_MIN (HORA__SECOND_MIN - HORA__OFFSET_MAX)
#define LOCAL_MAX (HORA__SECOND_MAX + HORA__OFFSET_MAX)

/* A span, limited to the time that hora_instant counts. */
struct span {
    /* The first second of it. */
    int64_t begin;
    /* The first second behind it. */
    int64_t end;
    /* Seconds ahead of UTC. */
    int64_t offset;
    /* The smallest local time that counts; see "Clock changes". */
    int64_t least;
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the first local time that no clock had shown when span `index` began. Earlier spans matter, too,
 * if they ended with a later local time; HORA__OFFSET_MAX limits how far back that is possible. */
static int64_t never_shown(const struct hora__spans *spans, size_t index)
{
    assert(index > 0);
    int64_t shown = spans->begins[index] + spans->spans[index - 1].offset;
    for (size_t i = index - 1; i > 0 && spans->begins[i] + HORA__OFFSET_MAX > shown; i--)
        shown = hora__ns_max(shown, spans->begins[i] + spans->spans[i - 1].offset);
    return shown;
}

/* Limits a span to the range of hora_instant and applies the rule for clock changes. */
static struct span span_at(const hora_cron *cron, const struct hora__spans *spans, size_t index)
{
    struct span span = {
        .begin = hora__ns_max(spans->begins[index], HORA__SECOND_MIN),
        .end = min64(hora__spans_end(spans, index), HORA__SECOND_MAX + 1),
        .offset = spans->spans[index].offset,
    };
    assert(span.offset >= -HORA__OFFSET_MAX && span.offset <= HORA__OFFSET_MAX);
    int64_t shown = span.begin + span.offset;
    bool is_first = spans->begins[index] < HORA__SECOND_MIN;
    bool is_once = cron->dst == HORA_DST_ONCE && !cron->is_interval;
    span.least = is_once && !is_first ? never_shown(spans, index) : shown;
    if (HORA__FAULT(CRON_SKIPPED_TIMES_LOST) && span.least < shown)
        span.least = shown;
    if (HORA__FAULT(CRON_REPEATED_TIMES_COUNT) && span.least > shown)
        span.least = shown;
    return span;
}

/* Returns the instant of a local time in a span. For a time that was skipped, that is the instant of the
 * clock change. */
static int64_t instant_of(const struct span *span, int64_t local)
{
    return hora__ns_max(local - span->offset, span->begin);
}

/* ---- forward ---- */

/* What the forward search knows: `match` is the first matching local time from `from` on. Beyond
 * LOCAL_MAX: there is none. */
struct ahead {
    int64_t from;
    int64_t match;
};

/* Extends *ahead to local times from `from` on, and searches only the part that is not known yet. An
 * earlier `from` occurs after a step back of the clocks. */
static void look_ahead(const hora_cron *cron, struct ahead *ahead, int64_t from, int *steps)
{
    if (from < ahead->from && HORA__FAULT(CRON_OVERLAP_UNSEEN))
        return;
    if (from < ahead->from)
        (void)first_match(cron, from, min64(ahead->from - 1, LOCAL_MAX), &ahead->match, steps);
    else if (from > ahead->match && !first_match(cron, from, LOCAL_MAX, &ahead->match, steps))
        ahead->match = LOCAL_MAX + 1;
    ahead->from = from;
    assert(ahead->match >= from || from > LOCAL_MAX);
}

/* `second` is the first second that may be the answer. Each round searches one span, from `second` on. */
bool hora__cron_search(const hora_cron *cron, const hora_zone *zone, int64_t after, int64_t *ret_next,
                       int *ret_steps)
{
    *ret_steps = 0;
    if (cron->is_reboot || after >= HORA__SECOND_MAX)
        return false;
    const struct hora__spans *spans = hora__zone_spans(zone);
    int64_t second = hora__ns_max(after + 1, HORA__SECOND_MIN);
    /* Nothing is known yet. */
    struct ahead ahead = {.from = LOCAL_MIN, .match = LOCAL_MIN - 1};
    for (size_t index = hora__spans_find(spans, second);; index++) {
        *ret_steps += 1;
        struct span span = span_at(cron, spans, index);
        int64_t local = hora__ns_max(span.least, second + span.offset);
        /* Where a span begins, skipped times count as well: the search starts at `least`, even if the clocks
         * show a later time. */
        look_ahead(cron, &ahead, second == span.begin ? span.least : local, ret_steps);
        if (ahead.match < span.end + span.offset + (HORA__FAULT(CRON_SPAN_ENDS_LATE) ? 1 : 0)) {
            *ret_next = instant_of(&span, ahead.match);
            assert(*ret_next > after && *ret_next >= HORA__SECOND_MIN && *ret_next <= HORA__SECOND_MAX);
            return true;
        }
        second = span.end;
        /* The first second at which a clock may show the match. */
        int64_t earliest = ahead.match - (HORA__FAULT(CRON_JUMPS_TOO_FAR) ? 0 : HORA__OFFSET_MAX);
        /* No span between here and `earliest` can show a match. Jump to the span that contains `earliest`;
         * the loop increments the index. */
        if (second - HORA__OFFSET_MAX >= ahead.from && earliest > second) {
            if (earliest > HORA__SECOND_MAX)
                return false;
            index = hora__spans_find(spans, earliest) - 1;
            second = spans->begins[index + 1];
        }
        if (second > HORA__SECOND_MAX)
            return false;
    }
}

/* ---- backward ---- */

/* What the backward search knows: `match` is the last matching local time up to `to`. Before LOCAL_MIN:
 * there is none. */
struct behind {
    int64_t to;
    int64_t match;
};

/* Extends *behind to local times up to `to`, and searches only the part that is not known yet. */
static void look_behind(const hora_cron *cron, struct behind *behind, int64_t to, int *steps)
{
    if (to > behind->to && HORA__FAULT(CRON_OVERLAP_UNSEEN))
        return;
    if (to > behind->to)
        (void)last_match(cron, hora__ns_max(behind->to + 1, LOCAL_MIN), to, &behind->match, steps);
    else if (to < behind->match && !last_match(cron, LOCAL_MIN, to, &behind->match, steps))
        behind->match = LOCAL_MIN - 1;
    behind->to = to;
    assert(behind->match <= to);
}

/* Does what hora__cron_search does, towards the past. */
static bool search_back(const hora_cron *cron, const hora_zone *zone, int64_t before, int64_t *ret_previous,
                        int *ret_steps)
{
    *ret_steps = 0;
    if (cron->is_reboot || before <= HORA__SECOND_MIN)
        return false;
    const struct hora__spans *spans = hora__zone_spans(zone);
    int64_t second = min64(before - 1, HORA__SECOND_MAX);
    struct behind behind = {.to = LOCAL_MAX, .match = LOCAL_MAX + 1};
    for (size_t index = hora__spans_find(spans, second);; index--) {
        *ret_steps += 1;
        struct span span = span_at(cron, spans, index);
        look_behind(cron, &behind, second + span.offset, ret_steps);
        if (behind.match >= span.least) {
            *ret_previous = instant_of(&span, behind.match);
            assert(*ret_previous < before && *ret_previous >= HORA__SECOND_MIN &&
                   *ret_previous <= HORA__SECOND_MAX);
            return true;
        }
        second = span.begin - 1;
        /* The last second at which a clock may show the match. */
        int64_t latest = behind.match + (HORA__FAULT(CRON_JUMPS_TOO_FAR_BACK) ? 0 : HORA__OFFSET_MAX);
        if (second + HORA__OFFSET_MAX <= behind.to && latest < second) {
            second = latest;
            if (second >= HORA__SECOND_MIN)
                index = hora__spans_find(spans, second) + 1;
        }
        if (second < HORA__SECOND_MIN)
            return false;
    }
}

/* ---- the public calls ---- */

/* Rounding `after` down is right: the answer is a whole second, so it is later than `after` exactly if it
 * is later than the second that contains `after`. */
int hora_cron_next(const hora_cron *cron, const hora_zone *zone, hora_instant after, hora_instant *ret_next)
{
    int64_t next;
    int steps;
    if (cron == NULL || ret_next == NULL)
        return HORA_EINVAL;
    if (!hora__cron_search(cron, zone, hora__floor_div(after.ns, HORA__SECOND), &next, &steps))
        return 0;
    ret_next->ns = next * HORA__SECOND;
    return 1;
}

int hora_cron_previous(const hora_cron *cron, const hora_zone *zone, hora_instant before,
                       hora_instant *ret_previous)
{
    int64_t previous;
    int steps;
    if (cron == NULL || ret_previous == NULL)
        return HORA_EINVAL;
    /* Rounded up, so that the second that contains `before` counts if `before` is not at its start. The
     * limit avoids the overflow of -INT64_MIN. */
    int64_t second = -hora__floor_div(-hora__ns_max(before.ns, -INT64_MAX), HORA__SECOND);
    if (!search_back(cron, zone, second, &previous, &steps))
        return 0;
    ret_previous->ns = previous * HORA__SECOND;
    return 1;
}

/* Each search continues from the previous answer. Returns how many were found. */
int hora_cron_next_n(const hora_cron *cron, const hora_zone *zone, hora_instant after,
                     hora_instant *ret_times, int count)
{
    if (cron == NULL || ret_times == NULL || count < 0)
        return HORA_EINVAL;
    for (int i = 0; i < count; i++) {
        if (hora_cron_next(cron, zone, after, &ret_times[i]) == 0)
            return i;
        after = ret_times[i];
    }
    return count;
}

/* The search is limited to the one local time that the clocks show, or, where a span begins, to the times
 * that were skipped as well. */
bool hora_cron_matches(const hora_cron *cron, const hora_zone *zone, hora_instant instant)
{
    if (cron == NULL || cron->is_reboot || instant.ns % HORA__SECOND != 0)
        return false;
    const struct hora__spans *spans = hora__zone_spans(zone);
    int64_t second = instant.ns / HORA__SECOND;
    struct span span = span_at(cron, spans, hora__spans_find(spans, second));
    int64_t local = second + span.offset;
    int64_t from = second == span.begin ? span.least : hora__ns_max(span.least, local);
    int64_t match;
    int steps = 0;
    return from <= local && first_match(cron, from, local, &match, &steps);
}
