/* SPDX-License-Identifier: Apache-2.0 */
/* tzif.c - zone files in the format of RFC 8536
 *
 *     header, block of version 1            times of 32 bits
 *     header, block                         the same with 64 bits, from version 2 on
 *     line feed, rule, line feed            the footer: the rule behind the last transition
 *
 * From version 2 on hora skips the first block. A file of version 1 has no footer, and its last kind of time
 * holds for ever. A block consists of six counts, then the transition times, their types, the types, names,
 * leap seconds and two lists of flags for users of POSIX rules, which hora ignores.
 *
 * hora trusts nothing in a file. It compares every count with the number of bytes before it allocates
 * anything, and every index with its count. Type 0 holds before the first transition. Without transitions the
 * footer holds for all time. */
#include <assert.h>
#include <string.h>

#include <hora/error.h>

#include "base/text.h"
#include "cron/civil.h"
#include "cron/zone.h"
#include "sys/alloc.h"

/* ---- the footer: a POSIX TZ string with the extensions of RFC 8536 ---- */

enum {
    /* The longest abbreviation that hora accepts. */
    SHORT_NAME_MOST = 63,
    /* Room for the two names of a footer. */
    FOOTER_NAMES = 2 * (SHORT_NAME_MOST + 1),
    /* The maximum number of spans that apply_footer adds. */
    FOOTER_SPANS = 2 * (2264 - 1674),
};

/* A kind of time, standard or daylight-saving. */
struct footer_time {
    /* Points into the footer; no NUL. */
    const char *name;
    size_t name_length;
    /* Seconds ahead of UTC. */
    int32_t offset;
};

/* The forms of a date. */
enum footer_form {
    FOOTER_MONTH,  /* Mm.w.d: the w-th (5: the last) weekday d of month m */
    FOOTER_JULIAN, /* Jn: day n from 1 of a year without February 29 */
    FOOTER_DAY,    /* n: day n from 0 of the year */
};

/* When the clocks change in a year: at `time` seconds after midnight, by the clock before the change. */
struct footer_date {
    enum footer_form form;
    /* Used by FOOTER_MONTH. */
    int month, week, weekday;
    /* Used by the other two forms. */
    int day;
    int32_t time;
};

/* A parsed footer. */
struct footer {
    struct footer_time standard;
    bool has_dst; /* the fields below are set only then */
    struct footer_time dst;
    /* When daylight-saving time starts and ends in each year. */
    struct footer_date start;
    struct footer_date end;
};

/* The grammar:
 *
 *     CET-1CEST,M3.5.0,M10.5.0/3      name offset [name [offset] , date [/time] , date [/time]]
 *
 * Offsets count westward, so the parser negates them. A name has three or more letters, or is <...> around
 * letters, digits and signs. Times may be negative and up to 167 hours; RFC 8536 allows this from version 3
 * on, but it is unambiguous in older files. hora refuses daylight-saving time without dates, since no rule
 * would tell when it holds. */

/* The rest of a footer that is being parsed. The functions below move `at` over what they accept. They
 * return false if the text is wrong; the parser then gives up, so they need not move back. */
struct text_reader {
    const char *at;
    const char *end;
};

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool peek(const struct text_reader *r, char c)
{
    return r->at < r->end && *r->at == c;
}

/* Skips a character if it comes next. Returns whether it did. */
static bool accept(struct text_reader *r, char c)
{
    bool is_there = peek(r, c);
    r->at += is_there ? 1 : 0;
    return is_there;
}

/* Reads one to three digits as a number from low to high. */
static bool read_number(struct text_reader *r, int low, int high, int *ret_number)
{
    assert(low <= high);
    const char *first = r->at;
    int number = 0;
    while (r->at < r->end && hora__is_digit(*r->at) && r->at - first < 3)
        number = number * 10 + (*r->at++ - '0');
    *ret_number = number;
    return r->at > first && number >= low && number <= high;
}

/* Reads the name of a kind of time. In brackets it may contain digits and signs. */
static bool read_name(struct text_reader *r, struct footer_time *time)
{
    bool is_quoted = accept(r, '<');
    time->name = r->at;
    while (r->at < r->end &&
           (is_letter(*r->at) || (is_quoted && (hora__is_digit(*r->at) || *r->at == '+' || *r->at == '-'))))
        r->at++;
    time->name_length = (size_t)(r->at - time->name);
    if (is_quoted && !accept(r, '>'))
        return false;
    return time->name_length >= 3 && time->name_length <= SHORT_NAME_MOST;
}

/* Reads [+-]hh[:mm[:ss]] as seconds, with up to most_hours hours. */
static bool read_time(struct text_reader *r, int most_hours, int32_t *ret_seconds)
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

/* Reads the offset of a kind of time. POSIX counts westward, hora eastward. */
static bool read_offset(struct text_reader *r, struct footer_time *time)
{
    if (!read_time(r, 24, &time->offset))
        return false;
    time->offset = -time->offset;
    return true;
}

/* Reads a date in one of the three forms. */
static bool read_day(struct text_reader *r, struct footer_date *date)
{
    if (accept(r, 'M')) {
        date->form = FOOTER_MONTH;
        return read_number(r, 1, 12, &date->month) && accept(r, '.') && read_number(r, 1, 5, &date->week) &&
               accept(r, '.') && read_number(r, 0, 6, &date->weekday);
    }
    if (accept(r, 'J')) {
        date->form = FOOTER_JULIAN;
        return read_number(r, 1, 365, &date->day);
    }
    date->form = FOOTER_DAY;
    return read_number(r, 0, 365, &date->day);
}

/* Reads a comma, a date, and a time of day, which is 02:00 by default. */
static bool read_date(struct text_reader *r, struct footer_date *date)
{
    if (!accept(r, ',') || !read_day(r, date))
        return false;
    date->time = 2 * 3600;
    return !accept(r, '/') || read_time(r, 167, &date->time);
}

/* Parses the footer without its line feeds. Returns false, with a reason, if it is invalid. */
static bool parse_footer(const char *text, size_t length, struct footer *ret_footer, const char **ret_reason)
{
    struct text_reader r = {.at = text, .end = text + length};
    struct footer footer = {.has_dst = false};
    *ret_reason = "the footer of the zone's file is not a rule";
    if (!read_name(&r, &footer.standard) || !read_offset(&r, &footer.standard))
        return false;
    if (r.at < r.end) {
        footer.has_dst = true;
        if (!read_name(&r, &footer.dst))
            return false;
        /* One hour ahead of standard time, unless the footer says otherwise. */
        footer.dst.offset = footer.standard.offset + 3600;
        if (r.at < r.end && !peek(&r, ',') && !read_offset(&r, &footer.dst))
            return false;
        if (!read_date(&r, &footer.start) || !read_date(&r, &footer.end) || r.at < r.end)
            return false;
    }
    *ret_footer = footer;
    return true;
}

/* The years of a footer, written out as spans.
 *
 * Each year has two events: daylight-saving time starts, and it ends. The hemisphere decides which comes
 * first, and so does the sign: in Dublin, winter is called daylight-saving time, with less than the standard
 * offset. Times of up to 167 hours can put an event into the year before or after, so the events of all years
 * are sorted together.
 *
 * A whole year is daylight-saving time if it ends no sooner than the next one starts: "EST5EDT,0/0,J365/25".
 * Its end is no event then. If it ends when it starts, that year has none.
 *
 * The last kind of time of the table holds until the next event of the footer. RFC 8536 requires that both
 * agree where the table ends, but zic does not ensure this: America/Ojinaga, in a slim file, ends with
 * standard time a week before the footer's summer is over. So hora only requires that the table ends with one
 * of the footer's two offsets. If it does not, one half of the file is wrong, and hora refuses the file as
 * damaged. */

enum {
    /* Two years before time begins, so that there is an event before every moment. */
    FIRST_YEAR = 1675,
    LAST_YEAR = 2263,
    MOST_EVENTS = 2 * (LAST_YEAR - FIRST_YEAR + 1),
};

/* A moment when the clocks change, and to what. */
struct event {
    int64_t at;
    bool is_dst;
};

/* All events of a footer, in order of time. */
struct events {
    size_t count;
    struct event list[MOST_EVENTS];
};

/* Returns the day of a date in a year, counted from 1970-01-01. */
static int64_t day_of(const struct footer_date *date, int64_t year)
{
    int64_t new_year = hora__days_from_date(year, 1, 1);
    if (date->form == FOOTER_DAY)
        return new_year + date->day;
    if (date->form == FOOTER_JULIAN)
        return new_year + date->day - 1 + (date->day > 59 && hora__is_leap(year) ? 1 : 0);
    int64_t first = hora__days_from_date(year, date->month, 1);
    int days = (date->weekday - hora__weekday(first) + 7) % 7 + 7 * (date->week - 1);
    /* Week 5 means the last such weekday, and the month has only four. */
    if (days >= hora__month_days(year, date->month))
        days -= 7;
    return first + days;
}

/* Returns the UTC second at which a clock with this offset shows the date. */
static int64_t second_of(const struct footer_date *date, int64_t year, int32_t offset)
{
    assert(offset >= -HORA__OFFSET_MAX && offset <= HORA__OFFSET_MAX);
    return day_of(date, year) * HORA__DAY + date->time - offset;
}

/* Inserts an event in order of time. Of two events at the same second, that of the later year comes last,
 * and hora__draft_add lets the last one win. The events arrive almost in order, so the loop is short. */
static void insert(struct events *events, struct event event)
{
    assert(events->count < MOST_EVENTS);
    size_t position = events->count++;
    for (; position > 0; position--) {
        const struct event *before = &events->list[position - 1];
        if (before->at <= event.at)
            break;
        events->list[position] = *before;
    }
    events->list[position] = event;
}

/* Adds the two events of a year, or fewer: see above for years without change. */
static void add_year(struct events *events, const struct footer *footer, int64_t year)
{
    assert(footer->has_dst);
    int64_t start = second_of(&footer->start, year, footer->standard.offset);
    int64_t end = second_of(&footer->end, year, footer->dst.offset);
    int64_t length = (hora__is_leap(year) ? 366 : 365) * HORA__DAY;
    if (start != end)
        insert(events, (struct event){.at = start, .is_dst = true});
    if (end - start < length)
        insert(events, (struct event){.at = end, .is_dst = false});
}

/* Returns the span of one of the footer's kinds of time. */
static struct hora__span span_of(struct hora__draft *draft, const struct footer *footer, bool is_dst)
{
    const struct footer_time *time = is_dst ? &footer->dst : &footer->standard;
    return (struct hora__span){.offset = time->offset,
                               .short_name = hora__draft_name(draft, time->name, time->name_length),
                               .is_dst = is_dst};
}

/* Returns whether daylight-saving time holds when time begins. There are events before that. */
static bool begins_with_dst(const struct events *events)
{
    assert(events->count <= MOST_EVENTS);
    bool is_dst = false;
    for (size_t i = 0; i < events->count && events->list[i].at <= HORA__SECOND_FIRST; i++)
        is_dst = events->list[i].is_dst;
    return is_dst;
}

/* Returns whether an offset is one of the footer's two. */
static bool knows_offset(const struct footer *footer, int32_t offset)
{
    return offset == footer->standard.offset || (footer->has_dst && offset == footer->dst.offset);
}

/* Adds a span for each event behind `last`. HORA_EBADMSG: the table ends with an offset that the footer
 * does not have. */
static int add_spans(const struct footer *footer, const struct events *events, struct hora__draft *draft,
                     int64_t last)
{
    /* No table, or a table that ends before time begins: the footer decides what comes first. */
    if (last <= HORA__SECOND_FIRST)
        hora__draft_add(draft, INT64_MIN, span_of(draft, footer, begins_with_dst(events)));
    else if (!knows_offset(footer, draft->spans[draft->count - 1].offset))
        return HORA_EBADMSG;
    for (size_t i = 0; i < events->count; i++)
        if (events->list[i].at > last)
            hora__draft_add(draft, events->list[i].at, span_of(draft, footer, events->list[i].is_dst));
    return 0;
}

/* Adds the spans that hold behind the last span of the draft, which begins at `last`; without a table, for
 * all time. Returns 0, HORA_EBADMSG (the footer contradicts the last span) or HORA_ENOMEM. */
static int apply_footer(const struct footer *footer, struct hora__draft *draft, int64_t last,
                        const char **ret_reason)
{
    static_assert((int)MOST_EVENTS + 1 <= (int)FOOTER_SPANS, "");
    /* The footer would hold only beyond the end of time. */
    if (last > HORA__SECOND_MAX)
        return 0;
    struct events *events = hora__alloc(1, sizeof *events);
    if (events == NULL)
        return HORA_ENOMEM;
    if (footer->has_dst)
        for (int64_t year = FIRST_YEAR; year <= LAST_YEAR; year++)
            add_year(events, footer, year);
    int error = add_spans(footer, events, draft, last);
    hora__free(events);
    if (error == HORA_EBADMSG)
        *ret_reason = "the footer of the zone's file contradicts its table";
    return error;
}

/* ---- the file ---- */

enum {
    HEADER_SIZE = 44,
    /* The longest real tables have 250. */
    MOST_TRANSITIONS = 20000,
    /* The index of a type is one byte. */
    MOST_TYPES = 256,
};

/* The rest of a file that is being read. */
struct reader {
    const unsigned char *at;
    size_t left;
};

/* The header of a block: the version of the file, and the counts in the order of the file. */
struct header {
    char version;
    uint32_t utc_flags, standard_flags, leaps, transitions, types, characters;
};

/* A block of a file. read_block has checked that all parts lie within the file. */
struct block {
    struct header counts;
    /* The transition times, of 4 or 8 bytes each. */
    const unsigned char *times;
    /* For each transition, the index of its type in one byte. */
    const unsigned char *indices;
    /* The types, of 6 bytes each: offset, is_dst, position of the name. */
    const unsigned char *types;
    /* The names, each with a terminating NUL. */
    const char *characters;
};

/* A type of the file, that is, a kind of time. Before name_types, span.short_name is a position in the
 * file. */
struct type {
    struct hora__span span;
    size_t name_length;
};

/* Takes the next `size` bytes; NULL if there are not that many left. */
static const unsigned char *take(struct reader *r, uint64_t size)
{
    if (size > r->left)
        return NULL;
    const unsigned char *taken = r->at;
    r->at += size;
    r->left -= (size_t)size;
    return taken;
}

/* Return a big-endian number. */
static uint32_t number32(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

static int64_t number64(const unsigned char *b)
{
    return (int64_t)((uint64_t)number32(b) << 32 | number32(b + 4));
}

/* Reads a header. Returns false if the file is too short, has another format or an invalid version. */
static bool read_header(struct reader *r, struct header *header)
{
    const unsigned char *b = take(r, HEADER_SIZE);
    if (b == NULL || memcmp(b, "TZif", 4) != 0)
        return false;
    *header = (struct header){
        .version = (char)b[4],
        .utc_flags = number32(b + 20),
        .standard_flags = number32(b + 24),
        .leaps = number32(b + 28),
        .transitions = number32(b + 32),
        .types = number32(b + 36),
        .characters = number32(b + 40),
    };
    return header->version == '\0' || header->version >= '2';
}

/* Skips a block of version 1, with times of 4 bytes. */
static bool skip_block(struct reader *r, const struct header *header)
{
    uint64_t size = (uint64_t)header->transitions * (4 + 1) + (uint64_t)header->types * 6 +
                    header->characters + (uint64_t)header->leaps * (4 + 4) + header->standard_flags +
                    header->utc_flags;
    return take(r, size) != NULL;
}

/* Takes the parts of a block and checks its counts. The caller has checked that there are no leap seconds. */
static bool read_block(struct reader *r, const struct header *header, size_t time_size, struct block *block)
{
    if (header->types == 0 || header->types > MOST_TYPES || header->transitions > MOST_TRANSITIONS ||
        header->characters == 0)
        return false;
    if (header->standard_flags != 0 && header->standard_flags != header->types)
        return false;
    if (header->utc_flags != 0 && header->utc_flags != header->types)
        return false;
    block->counts = *header;
    block->times = take(r, (uint64_t)header->transitions * time_size);
    block->indices = take(r, header->transitions);
    block->types = take(r, (uint64_t)header->types * 6);
    block->characters = (const char *)take(r, header->characters);
    return block->times != NULL && block->indices != NULL && block->types != NULL &&
           block->characters != NULL && take(r, (uint64_t)header->standard_flags + header->utc_flags) != NULL;
}

/* Returns the length of the name that starts there; 0 if it is missing, too long or not printable. */
static size_t name_length(const struct block *block, size_t start)
{
    assert(start <= UINT8_MAX);
    size_t length = 0;
    for (size_t i = start; i < block->counts.characters; i++, length++) {
        if (block->characters[i] == '\0')
            return length <= SHORT_NAME_MOST ? length : 0;
        if (block->characters[i] < ' ' || block->characters[i] > '~')
            return 0;
    }
    return 0;
}

/* Reads all types, with the positions of their names in the file. *ret_names_size is the room that the
 * names need, including the NUL of each. Returns false if a type is invalid. */
static bool read_types(const struct block *block, struct type types[MOST_TYPES], size_t *ret_names_size)
{
    *ret_names_size = 0;
    for (size_t i = 0; i < block->counts.types; i++) {
        const unsigned char *b = block->types + i * 6;
        int64_t offset = (int64_t)(int32_t)number32(b);
        if (offset < -HORA__OFFSET_MAX || offset > HORA__OFFSET_MAX || b[4] > 1)
            return false;
        types[i].span =
            (struct hora__span){.offset = (int32_t)offset, .short_name = b[5], .is_dst = b[4] == 1};
        types[i].name_length = name_length(block, b[5]);
        if (types[i].name_length == 0)
            return false;
        *ret_names_size += types[i].name_length + 1;
    }
    return true;
}

/* Returns the time of a transition. */
static int64_t time_at(const struct block *block, size_t i, size_t time_size)
{
    assert(i < block->counts.transitions && (time_size == 4 || time_size == 8));
    if (time_size == 8)
        return number64(block->times + i * 8);
    return (int64_t)(int32_t)number32(block->times + i * 4);
}

/* Returns whether the times rise strictly and every type exists. */
static bool has_sound_transitions(const struct block *block, size_t time_size)
{
    for (size_t i = 0; i < block->counts.transitions; i++) {
        if (block->indices[i] >= block->counts.types)
            return false;
        if (i > 0 && time_at(block, i, time_size) <= time_at(block, i - 1, time_size))
            return false;
    }
    return true;
}

/* Copies the names of the types from the file into the draft. */
static void name_types(const struct block *block, struct hora__draft *draft, struct type *types)
{
    for (size_t i = 0; i < block->counts.types; i++) {
        const char *name = block->characters + types[i].span.short_name;
        types[i].span.short_name = hora__draft_name(draft, name, types[i].name_length);
    }
}

/* Adds the transitions of the file and then the spans of the footer, if there is one. Type 0 holds before
 * the first transition. */
static int fill(const struct block *block, size_t time_size, struct type *types, const struct footer *footer,
                struct hora__draft *draft, const char **ret_reason)
{
    name_types(block, draft, types);
    size_t count = block->counts.transitions;
    hora__draft_add(draft, INT64_MIN, types[0].span);
    for (size_t i = 0; i < count; i++)
        hora__draft_add(draft, time_at(block, i, time_size), types[block->indices[i]].span);
    if (footer == NULL)
        return 0;
    return apply_footer(footer, draft, count > 0 ? time_at(block, count - 1, time_size) : INT64_MIN,
                        ret_reason);
}

/* Makes the table of a block whose counts are checked. `footer` is NULL if the file has none. */
static int make_spans(const struct block *block, size_t time_size, const struct footer *footer,
                      struct hora__spans **ret_spans, const char **ret_reason)
{
    struct type types[MOST_TYPES] = {{.name_length = 0}};
    size_t names_size;
    if (!read_types(block, types, &names_size) || !has_sound_transitions(block, time_size)) {
        *ret_reason = "the zone's file is damaged";
        return HORA_EBADMSG;
    }
    struct hora__draft draft;
    size_t most = block->counts.transitions + 1 + (footer != NULL ? FOOTER_SPANS : 0);
    int error = hora__draft_init(&draft, most, names_size + FOOTER_NAMES);
    if (error < 0)
        return error;
    error = fill(block, time_size, types, footer, &draft, ret_reason);
    if (error == 0)
        error = hora__draft_finish(&draft, ret_spans);
    hora__draft_destroy(&draft);
    return error;
}

/* Takes the text between the two line feeds. Returns false if one of them is missing. */
static bool take_footer(struct reader *r, const char **ret_text, size_t *ret_length)
{
    const unsigned char *first = take(r, 1);
    if (first == NULL || *first != '\n')
        return false;
    const unsigned char *end = memchr(r->at, '\n', r->left);
    if (end == NULL)
        return false;
    *ret_text = (const char *)r->at;
    *ret_length = (size_t)(end - r->at);
    return true;
}

/* Returns whether the footer's offsets satisfy S4. */
static bool has_offsets_in_range(const struct footer *footer)
{
    int32_t least = footer->standard.offset, most = least;
    if (footer->has_dst && footer->dst.offset < least)
        least = footer->dst.offset;
    if (footer->has_dst && footer->dst.offset > most)
        most = footer->dst.offset;
    return least >= -HORA__OFFSET_MAX && most <= HORA__OFFSET_MAX;
}

/* Reads the second block and the footer of a file of version 2 or later. */
static int read_new(struct reader *r, struct hora__spans **ret_spans, const char **ret_reason)
{
    struct header header;
    struct block block;
    const char *text;
    size_t length;
    if (!read_header(r, &header) || header.version == '\0')
        return HORA_EBADMSG;
    if (header.leaps > 0)
        return HORA_ENOTSUP;
    if (!read_block(r, &header, 8, &block) || !take_footer(r, &text, &length))
        return HORA_EBADMSG;
    if (length == 0)
        return make_spans(&block, 8, NULL, ret_spans, ret_reason);
    struct footer footer;
    if (!parse_footer(text, length, &footer, ret_reason) || !has_offsets_in_range(&footer))
        return HORA_EBADMSG;
    return make_spans(&block, 8, &footer, ret_spans, ret_reason);
}

/* Reads the block of a file of version 1, which has 32-bit times and no footer. */
static int read_old(struct reader *r, const struct header *header, struct hora__spans **ret_spans,
                    const char **ret_reason)
{
    struct block block;
    if (header->leaps > 0)
        return HORA_ENOTSUP;
    if (!read_block(r, header, 4, &block))
        return HORA_EBADMSG;
    return make_spans(&block, 4, NULL, ret_spans, ret_reason);
}

/* The reasons are set before each step that may fail, and overwritten by a more precise one if there is
 * one. */
int hora__tzif_read(const void *data, size_t size, struct hora__spans **ret_spans, const char **ret_reason)
{
    assert(data != NULL || size == 0);
    struct reader r = {.at = data, .left = size};
    struct header header;
    *ret_reason = "the zone's file is not a TZif file";
    if (size > HORA__TZIF_MOST || !read_header(&r, &header))
        return HORA_EBADMSG;
    *ret_reason = "the zone's file is damaged";
    int error;
    if (header.version == '\0')
        error = read_old(&r, &header, ret_spans, ret_reason);
    else
        error = skip_block(&r, &header) ? read_new(&r, ret_spans, ret_reason) : HORA_EBADMSG;
    if (error == HORA_ENOTSUP)
        *ret_reason = "the zone's file counts leap seconds";
    else if (error == HORA_ENOMEM)
        *ret_reason = hora_strerror(error);
    return error;
}
