/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - the times of an expression in a zone
 *
 * A zone is a row of spans in which its offset does not change; within one of them it is a plain calendar (calendar.c).
 * So the spans are walked in the order of instants, and in each the local times that it shows are searched. Gaps,
 * overlaps, days that are missing and midnights that come twice are no cases of their own.
 *
 * Clock changes   HORA_DST_LITERAL takes an instant if the clocks then show a time that matches. HORA_DST_ONCE takes, for
 *                 every local time that matches, the first instant at which the clocks show it or a later one. In both a
 *                 span has a least local time that counts: what its clocks show first, or what no clock has shown before
 *                 it. Local times between that and what its clocks show first were skipped, and belong to the instant
 *                 when it begins.
 * Jumps           An answer may be far away, and a span is half a year. What is known about local times holds in all
 *                 spans: from `from` to `match` there is none that matches. Since no offset is beyond OFFSET_MAX, spans
 *                 that end more than this before `match` are passed over, once all their local times are later than
 *                 `from`. Those just after an overlap may show earlier ones, and are looked at.
 * End             Each step either goes to a later span, or finds a later local time that matches; a match that is not the
 *                 answer fell into a gap. So there are at most as many steps as hora_instant has months, and some for
 *                 every span.
 *
 * Invariants, asserted: W1 the answer lies strictly on the side that was asked for. W2 it is a second that hora_instant
 * can count. W3 what is known covers the local time that is asked for in a span. */
#include <assert.h>

#include "base/fault.h"
#include "base/ns.h"
#include "cron/calendar.h"
#include "cron/civil.h"
#include "cron/zone.h"

#define OFFSET_MAX INT64_C(93600)                  /* 26 hours, zone.h S4 */
#define LOCAL_MIN  (HORA__SECOND_MIN - OFFSET_MAX) /* nothing earlier is ever shown */
#define LOCAL_MAX  (HORA__SECOND_MAX + OFFSET_MAX)

/* One span, as far as hora_instant counts. */
struct stretch {
    int64_t begin;
    int64_t end; /* the first second after it */
    int64_t offset;
    int64_t least; /* the least local time that counts */
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The first local time that no clock has shown before span `index` began. */
static int64_t never_shown(const struct hora__spans *spans, size_t index)
{
    int64_t shown = spans->begins[index] + spans->spans[index - 1].offset;
    for (size_t i = index - 1; i > 0 && spans->begins[i] + OFFSET_MAX > shown; i--)
        shown = hora__ns_max(shown, spans->begins[i] + spans->spans[i - 1].offset);
    return shown;
}

static struct stretch stretch_at(const hora_cron *cron, const struct hora__spans *spans, size_t index)
{
    struct stretch stretch = {
        .begin = hora__ns_max(spans->begins[index], HORA__SECOND_MIN),
        .end = min64(hora__spans_end(spans, index), HORA__SECOND_MAX + 1),
        .offset = spans->spans[index].offset,
    };
    assert(stretch.offset >= -OFFSET_MAX && stretch.offset <= OFFSET_MAX);
    int64_t shown = stretch.begin + stretch.offset;
    bool is_first = spans->begins[index] < HORA__SECOND_MIN;
    bool is_once = cron->dst == HORA_DST_ONCE && !cron->is_interval;
    stretch.least = is_once && !is_first ? never_shown(spans, index) : shown;
    if (HORA__FAULT(CRON_SKIPPED_TIMES_LOST) && stretch.least < shown)
        stretch.least = shown;
    if (HORA__FAULT(CRON_REPEATED_TIMES_COUNT) && stretch.least > shown)
        stretch.least = shown;
    return stretch;
}

/* The instant that a local time means in a stretch: if it was skipped, the one when the clocks were set. */
static int64_t instant_of(const struct stretch *stretch, int64_t local)
{
    return hora__ns_max(local - stretch->offset, stretch->begin);
}

/* ---- forwards ---- */

/* Of the local times from `from` on, `match` is the first; if it is beyond LOCAL_MAX there is none. */
struct ahead {
    int64_t from;
    int64_t match;
};

/* Only what is not known yet is searched. */
static void look_ahead(const hora_cron *cron, struct ahead *ahead, int64_t from, int *steps)
{
    if (from < ahead->from && HORA__FAULT(CRON_OVERLAP_UNSEEN))
        return;
    if (from < ahead->from)
        (void)hora__cron_first(cron, from, min64(ahead->from - 1, LOCAL_MAX), &ahead->match, steps);
    else if (from > ahead->match && !hora__cron_first(cron, from, LOCAL_MAX, &ahead->match, steps))
        ahead->match = LOCAL_MAX + 1;
    ahead->from = from;
    assert(ahead->match >= from || from > LOCAL_MAX);
}

bool hora__cron_search(const hora_cron *cron, const hora_zone *zone, int64_t after, int64_t *ret_next, int *ret_steps)
{
    *ret_steps = 0;
    if (cron->is_reboot || after >= HORA__SECOND_MAX)
        return false;
    const struct hora__spans *spans = hora__zone_spans(zone);
    int64_t second = hora__ns_max(after + 1, HORA__SECOND_MIN);
    struct ahead ahead = {.from = LOCAL_MIN, .match = LOCAL_MIN - 1};
    for (size_t index = hora__spans_find(spans, second);; index++) {
        *ret_steps += 1;
        struct stretch stretch = stretch_at(cron, spans, index);
        int64_t local = hora__ns_max(stretch.least, second + stretch.offset);
        look_ahead(cron, &ahead, second == stretch.begin ? stretch.least : local, ret_steps);
        if (ahead.match < stretch.end + stretch.offset + (HORA__FAULT(CRON_SPAN_ENDS_LATE) ? 1 : 0)) {
            *ret_next = instant_of(&stretch, ahead.match);
            assert(*ret_next > after && *ret_next >= HORA__SECOND_MIN && *ret_next <= HORA__SECOND_MAX);
            return true;
        }
        second = stretch.end;
        int64_t earliest =
            ahead.match - (HORA__FAULT(CRON_JUMPS_TOO_FAR) ? 0 : OFFSET_MAX); /* when a clock may show it */
        if (second - OFFSET_MAX >= ahead.from && earliest > second) {
            if (earliest > HORA__SECOND_MAX)
                return false;
            index = hora__spans_find(spans, earliest) - 1;
            second = spans->begins[index + 1];
        }
        if (second > HORA__SECOND_MAX)
            return false;
    }
}

/* ---- backwards ---- */

/* Of the local times up to `to`, `match` is the last; if it is before LOCAL_MIN there is none. */
struct behind {
    int64_t to;
    int64_t match;
};

static void look_behind(const hora_cron *cron, struct behind *behind, int64_t to, int *steps)
{
    if (to > behind->to && HORA__FAULT(CRON_OVERLAP_UNSEEN))
        return;
    if (to > behind->to)
        (void)hora__cron_last(cron, hora__ns_max(behind->to + 1, LOCAL_MIN), to, &behind->match, steps);
    else if (to < behind->match && !hora__cron_last(cron, LOCAL_MIN, to, &behind->match, steps))
        behind->match = LOCAL_MIN - 1;
    behind->to = to;
    assert(behind->match <= to);
}

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
        struct stretch stretch = stretch_at(cron, spans, index);
        look_behind(cron, &behind, second + stretch.offset, ret_steps);
        if (behind.match >= stretch.least) {
            *ret_previous = instant_of(&stretch, behind.match);
            assert(*ret_previous < before && *ret_previous >= HORA__SECOND_MIN && *ret_previous <= HORA__SECOND_MAX);
            return true;
        }
        second = stretch.begin - 1;
        int64_t latest = behind.match + (HORA__FAULT(CRON_JUMPS_TOO_FAR_BACK) ? 0 : OFFSET_MAX);
        if (second + OFFSET_MAX <= behind.to && latest < second) {
            second = latest;
            if (second >= HORA__SECOND_MIN)
                index = hora__spans_find(spans, second) + 1;
        }
        if (second < HORA__SECOND_MIN)
            return false;
    }
}

/* ---- what programs call ---- */

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

int hora_cron_previous(const hora_cron *cron, const hora_zone *zone, hora_instant before, hora_instant *ret_previous)
{
    int64_t previous;
    int steps;
    if (cron == NULL || ret_previous == NULL)
        return HORA_EINVAL;
    int64_t second = -hora__floor_div(-hora__ns_max(before.ns, -INT64_MAX), HORA__SECOND); /* rounded up */
    if (!search_back(cron, zone, second, &previous, &steps))
        return 0;
    ret_previous->ns = previous * HORA__SECOND;
    return 1;
}

int hora_cron_next_n(const hora_cron *cron, const hora_zone *zone, hora_instant after, hora_instant *ret_times,
                     int count)
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

bool hora_cron_matches(const hora_cron *cron, const hora_zone *zone, hora_instant instant)
{
    if (cron == NULL || cron->is_reboot || instant.ns % HORA__SECOND != 0)
        return false;
    const struct hora__spans *spans = hora__zone_spans(zone);
    int64_t second = instant.ns / HORA__SECOND;
    struct stretch stretch = stretch_at(cron, spans, hora__spans_find(spans, second));
    int64_t local = second + stretch.offset;
    int64_t from = second == stretch.begin ? stretch.least : hora__ns_max(stretch.least, local);
    int64_t match;
    int steps = 0;
    return from <= local && hora__cron_first(cron, from, local, &match, &steps);
}
