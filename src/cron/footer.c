/* SPDX-License-Identifier: Apache-2.0 */
/* footer.c - the years of a footer, written out as spans
 *
 * Each year has two events: daylight-saving time starts, and it ends. Which comes first depends on the hemisphere, and on
 * whether it is a time to be saved at all: in Dublin the winter is called so, with less than the standard offset. Times of up to 167
 * hours let an event fall into the year before or after, so the events of all years are sorted together.
 *
 * A year is daylight-saving time as a whole if it ends not before the next one starts: "EST5EDT,0/0,J365/25". Its end is no event
 * then. If it ends when it starts, there is none in that year.
 *
 * The table's last kind of time holds until the footer's next event. RFC 8536 demands that both agree where the table ends, but zic
 * does not see to it: America/Ojinaga, in a file of the slim kind, ends with standard time a week before the footer's
 * summer is over. So it is enough if the table ends with one of the footer's two offsets; if not, one half of the file is
 * wrong, nobody knows which, and it is refused as damaged. */
#include "cron/footer.h"

#include <assert.h>

#include <hora/error.h>

#include "cron/civil.h"
#include "sys/alloc.h"

enum {
    FIRST_YEAR = 1675, /* two years before time begins: from then on there is an event before any moment */
    LAST_YEAR = 2263,
    MOST_EVENTS = 2 * (LAST_YEAR - FIRST_YEAR + 1),
};

struct event {
    int64_t at;
    bool is_dst;
};

struct events {
    size_t count;
    struct event list[MOST_EVENTS];
};

static int64_t day_of(const struct hora__footer_date *date, int64_t year)
{
    int64_t new_year = hora__days_from_date(year, 1, 1);
    if (date->form == HORA__FOOTER_DAY)
        return new_year + date->day;
    if (date->form == HORA__FOOTER_JULIAN)
        return new_year + date->day - 1 + (date->day > 59 && hora__is_leap(year) ? 1 : 0);
    int64_t first = hora__days_from_date(year, date->month, 1);
    int days = (date->weekday - hora__weekday(first) + 7) % 7 + 7 * (date->week - 1);
    if (days >= hora__month_days(year, date->month)) /* there is no fifth */
        days -= 7;
    return first + days;
}

/* The clock that shows this moment is `offset` ahead of UTC. */
static int64_t second_of(const struct hora__footer_date *date, int64_t year, int32_t offset)
{
    return day_of(date, year) * HORA__DAY + date->time - offset;
}

/* In order. At the same second that of the later year comes last, and so wins. */
static void insert(struct events *events, struct event event)
{
    assert(events->count < MOST_EVENTS);
    size_t place = events->count++;
    for (; place > 0; place--) {
        const struct event *before = &events->list[place - 1];
        if (before->at <= event.at)
            break;
        events->list[place] = *before;
    }
    events->list[place] = event;
}

static void add_year(struct events *events, const struct hora__footer *footer, int64_t year)
{
    int64_t start = second_of(&footer->start, year, footer->standard.offset);
    int64_t end = second_of(&footer->end, year, footer->dst.offset);
    int64_t length = (hora__is_leap(year) ? 366 : 365) * HORA__DAY;
    if (start != end)
        insert(events, (struct event){.at = start, .is_dst = true});
    if (end - start < length)
        insert(events, (struct event){.at = end, .is_dst = false});
}

static struct hora__span span_of(struct hora__draft *draft, const struct hora__footer *footer, bool is_dst)
{
    const struct hora__footer_time *time = is_dst ? &footer->dst : &footer->standard;
    return (struct hora__span){
        .offset = time->offset, .short_name = hora__draft_name(draft, time->name, time->name_length), .is_dst = is_dst};
}

/* What holds when time begins; there are events before. */
static bool begins_with_dst(const struct events *events)
{
    bool is_dst = false;
    for (size_t i = 0; i < events->count && events->list[i].at <= HORA__SECOND_FIRST; i++)
        is_dst = events->list[i].is_dst;
    return is_dst;
}

static bool knows_offset(const struct hora__footer *footer, int32_t offset)
{
    return offset == footer->standard.offset || (footer->has_dst && offset == footer->dst.offset);
}

static int apply(const struct hora__footer *footer, const struct events *events, struct hora__draft *draft,
                 int64_t last)
{
    if (last <= HORA__SECOND_FIRST) /* there is no table, or it ends before time begins */
        hora__draft_add(draft, INT64_MIN, span_of(draft, footer, begins_with_dst(events)));
    else if (!knows_offset(footer, draft->spans[draft->count - 1].offset))
        return HORA_EBADMSG;
    for (size_t i = 0; i < events->count; i++)
        if (events->list[i].at > last)
            hora__draft_add(draft, events->list[i].at, span_of(draft, footer, events->list[i].is_dst));
    return 0;
}

int hora__footer_apply(const struct hora__footer *footer, struct hora__draft *draft, int64_t last,
                       const char **ret_reason)
{
    static_assert((int)MOST_EVENTS + 1 <= (int)HORA__FOOTER_SPANS, "");
    if (last > HORA__SECOND_MAX)
        return 0; /* it holds when nobody can count any more */
    struct events *events = hora__alloc(1, sizeof *events);
    if (events == NULL)
        return HORA_ENOMEM;
    if (footer->has_dst)
        for (int64_t year = FIRST_YEAR; year <= LAST_YEAR; year++)
            add_year(events, footer, year);
    int error = apply(footer, events, draft, last);
    hora__free(events);
    if (error == HORA_EBADMSG)
        *ret_reason = "the footer of the zone's file contradicts its table";
    return error;
}
