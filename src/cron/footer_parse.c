/* SPDX-License-Identifier: Apache-2.0 */
/* footer_parse.c - the grammar of a footer
 *
 *     CET-1CEST,M3.5.0,M10.5.0/3      name offset [name [offset] , date [/time] , date [/time]]
 *
 * Offsets count westwards, so their sign is turned. A name is three or more letters, or <...> around letters, digits and signs.
 * Times may be negative and up to 167 hours; RFC 8536 allows that in files of version 3, but it cannot be mistaken for
 * anything else in older ones. Daylight-saving time without dates is refused: no rule would say when it is. */
#include "cron/footer.h"

#include "base/text.h"
#include "cron/civil.h"

struct reader {
    const char *at;
    const char *end;
};

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool peek(const struct reader *r, char c)
{
    return r->at < r->end && *r->at == c;
}

static bool accept(struct reader *r, char c)
{
    bool is_there = peek(r, c);
    r->at += is_there ? 1 : 0;
    return is_there;
}

/* One to three digits, from low to high. */
static bool read_number(struct reader *r, int low, int high, int *ret_number)
{
    const char *first = r->at;
    int number = 0;
    while (r->at < r->end && hora__is_digit(*r->at) && r->at - first < 3)
        number = number * 10 + (*r->at++ - '0');
    *ret_number = number;
    return r->at > first && number >= low && number <= high;
}

static bool read_name(struct reader *r, struct hora__footer_time *time)
{
    bool is_quoted = accept(r, '<');
    time->name = r->at;
    while (r->at < r->end &&
           (is_letter(*r->at) || (is_quoted && (hora__is_digit(*r->at) || *r->at == '+' || *r->at == '-'))))
        r->at++;
    time->name_length = (size_t)(r->at - time->name);
    if (is_quoted && !accept(r, '>'))
        return false;
    return time->name_length >= 3 && time->name_length <= HORA__SHORT_NAME_MOST;
}

/* [+-]hh[:mm[:ss]] as seconds. */
static bool read_time(struct reader *r, int most_hours, int32_t *ret_seconds)
{
    bool is_negative = peek(r, '-');
    if (!accept(r, '-'))
        (void)accept(r, '+');
    int hours, minutes = 0, seconds = 0;
    if (!read_number(r, 0, most_hours, &hours))
        return false;
    if (accept(r, ':')) {
        if (!read_number(r, 0, 59, &minutes))
            return false;
        if (accept(r, ':') && !read_number(r, 0, 59, &seconds))
            return false;
    }
    int32_t sum = hours * 3600 + minutes * 60 + seconds;
    *ret_seconds = is_negative ? -sum : sum;
    return true;
}

static bool read_offset(struct reader *r, struct hora__footer_time *time)
{
    if (!read_time(r, 24, &time->offset))
        return false;
    time->offset = -time->offset;
    return true;
}

static bool read_day(struct reader *r, struct hora__footer_date *date)
{
    if (accept(r, 'M')) {
        date->form = HORA__FOOTER_MONTH;
        return read_number(r, 1, 12, &date->month) && accept(r, '.') && read_number(r, 1, 5, &date->week) &&
               accept(r, '.') && read_number(r, 0, 6, &date->weekday);
    }
    if (accept(r, 'J')) {
        date->form = HORA__FOOTER_JULIAN;
        return read_number(r, 1, 365, &date->day);
    }
    date->form = HORA__FOOTER_DAY;
    return read_number(r, 0, 365, &date->day);
}

static bool read_date(struct reader *r, struct hora__footer_date *date)
{
    if (!accept(r, ',') || !read_day(r, date))
        return false;
    date->time = 2 * 3600;
    return !accept(r, '/') || read_time(r, 167, &date->time);
}

bool hora__footer_parse(const char *text, size_t length, struct hora__footer *ret_footer,
                        const char **ret_reason)
{
    struct reader r = {.at = text, .end = text + length};
    struct hora__footer footer = {.has_dst = false};
    *ret_reason = "the footer of the zone's file is no rule";
    if (!read_name(&r, &footer.standard) || !read_offset(&r, &footer.standard))
        return false;
    if (r.at < r.end) {
        footer.has_dst = true;
        if (!read_name(&r, &footer.dst))
            return false;
        footer.dst.offset = footer.standard.offset + 3600;
        if (r.at < r.end && !peek(&r, ',') && !read_offset(&r, &footer.dst))
            return false;
        if (!read_date(&r, &footer.start) || !read_date(&r, &footer.end) || r.at < r.end)
            return false;
    }
    *ret_footer = footer;
    return true;
}
