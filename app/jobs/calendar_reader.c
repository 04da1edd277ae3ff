/* SPDX-License-Identifier: Apache-2.0 */
/* calendar_reader.c - read exclusion calendars: dates, weekdays, parts of days, and files of dates */
#include "jobs/schema.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "text.h"

enum { MOST_CALENDARS = 1000 };

/* A calendar under construction. */
struct calendar_draft {
    hora_zone *zone; /* borrowed */
    hora_date *dates;
    size_t date_count;
    hora_calendar_window *windows;
    size_t window_count;
    unsigned weekdays;
    uint64_t hash; /* of everything above, in the order in which it was read */
};

static void note(struct reader *reader, struct calendar_draft *draft, const char *what)
{
    draft->hash = text_hash(arena_format(&reader->scratch, "%016" PRIx64 " %s", draft->hash, what));
}

/* ---- dates ---- */

/* Parses "2026-12-25", or "12-25" for every year. */
static bool parse_date(const char *text, hora_date *ret_date)
{
    int parts[3] = {0}, count = 0, digits = 0;
    for (const char *byte = text;; byte++) {
        if (*byte >= '0' && *byte <= '9' && digits < 4) {
            parts[count] = parts[count] * 10 + (*byte - '0');
            digits++;
        } else if ((*byte == '-' || *byte == '\0') && digits > 0) {
            digits = 0;
            count++;
            if (*byte == '\0')
                break;
            if (count == 3)
                return false;
        } else {
            return false;
        }
    }
    if (count < 2)
        return false;
    *ret_date = count == 3 ? (hora_date){parts[0], parts[1], parts[2]} : (hora_date){0, parts[0], parts[1]};
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = ret_date->year % 4 == 0 && (ret_date->year % 100 != 0 || ret_date->year % 400 == 0);
    bool is_month = ret_date->month >= 1 && ret_date->month <= 12;
    bool is_day = is_month && ret_date->day >= 1 && ret_date->day <= days[ret_date->month - 1];
    return is_day && (ret_date->month != 2 || ret_date->day < 29 || is_leap) &&
           (count == 2 || parts[0] >= 1970);
}

static void add_date(struct reader *reader, struct calendar_draft *draft, hora_date date)
{
    *arena_add(&reader->scratch, draft->dates, draft->date_count) = date;
    note(reader, draft, arena_format(&reader->scratch, "%d-%d-%d", (int)date.year, date.month, date.day));
}

static const char date_expected[] = "a date such as 2026-12-25, or 12-25 for every year";

static bool read_date(const struct slot *slot, const struct node *node, void *target)
{
    hora_date date;
    if (!schema_is_scalar(slot, node, date_expected))
        return false;
    if (!parse_date(node->text, &date))
        return schema_refuse(slot, node, date_expected);
    add_date(slot->reader, target, date);
    return true;
}

static bool read_dates(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_date, target);
}

/* Reads a file with one date per line. */
static bool read_date_file(const struct slot *slot, const struct node *node, void *target)
{
    struct reader *reader = slot->reader;
    char *path = NULL;
    size_t size;
    if (!read_path(slot, node, &path))
        return false;
    char *text = reader_load(reader, path, &node->place, &size);
    bool good = text != NULL;
    struct place place = {path, 0, 1};
    for (char *next = text; next;) {
        char *line = next;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        place.line++;
        line[strcspn(line, "#\r")] = '\0';
        size_t blanks = strspn(line, " \t");
        char *word = line + blanks;
        size_t length = strcspn(word, " \t");
        bool is_rest_blank = word[length + strspn(word + length, " \t")] == '\0';
        word[length] = '\0';
        place.column = (int)blanks + 1;
        hora_date date;
        if (length == 0)
            continue;
        if (is_rest_blank && parse_date(word, &date))
            add_date(reader, target, date);
        else
            good = report_problem(&reader->report, &place, "not %s", date_expected);
    }
    return good;
}

/* ---- weekdays ---- */

static const char weekday_expected[] = "a weekday such as sat, or a range such as mon-fri";

/* Returns 1 (Monday) to 7 (Sunday), or 0. */
static int weekday_number(const char *text, size_t length)
{
    static const char *const names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    for (int i = 0; i < 7; i++)
        if (length == 3 && strncasecmp(text, names[i], 3) == 0)
            return i + 1;
    return 0;
}

/* Reads a weekday or a range of them into bits. A range may go past Sunday: sat-mon. */
static bool read_weekday(const struct slot *slot, const struct node *node, void *target)
{
    unsigned *weekdays = target;
    if (!schema_is_scalar(slot, node, weekday_expected))
        return false;
    const char *minus = strchr(node->text, '-');
    size_t length = minus ? (size_t)(minus - node->text) : strlen(node->text);
    int first = weekday_number(node->text, length);
    int last = minus ? weekday_number(minus + 1, strlen(minus + 1)) : first;
    if (first == 0 || last == 0)
        return schema_refuse(slot, node, weekday_expected);
    for (int day = first;; day = day % 7 + 1) {
        *weekdays |= 1u << day;
        if (day == last)
            return true;
    }
}

static bool read_weekdays(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_weekday, target);
}

/* ---- parts of days ---- */

/* Reads "22:00" or "22:00:30" into seconds since midnight. */
static bool read_day_time(const struct slot *slot, const struct node *node, void *target)
{
    static const char expected[] = "a time of day such as \"22:00\"";
    int32_t *seconds = target;
    if (!schema_is_scalar(slot, node, expected))
        return false;
    const char *text = node->text;
    size_t length = strlen(text);
    static const char pattern[] = "00:00:00"; /* 0 stands for any digit */
    bool good = length == 5 || length == 8;
    for (size_t i = 0; i < length && good; i++)
        good = pattern[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == ':';
    if (!good)
        return schema_refuse(slot, node, expected);
    int hour = (text[0] - '0') * 10 + (text[1] - '0');
    int minute = (text[3] - '0') * 10 + (text[4] - '0');
    int second = length == 8 ? (text[6] - '0') * 10 + (text[7] - '0') : 0;
    int32_t total = hour * 3600 + minute * 60 + second;
    if (minute > 59 || second > 59 || total > slot->key->most)
        return schema_refuse(slot, node, expected);
    *seconds = total;
    return true;
}

static bool read_window(const struct slot *slot, const struct node *node, void *target)
{
    static const struct key table[] = {
        {"from", read_day_time, offsetof(hora_calendar_window, from), 0, 86399, NULL, 0},
        {"to", read_day_time, offsetof(hora_calendar_window, to), 0, 86400, NULL, 0},
        {"weekdays", read_weekdays, offsetof(hora_calendar_window, weekdays), 0, 0, NULL, 0},
    };
    struct calendar_draft *draft = target;
    hora_calendar_window window = {0};
    if (node->kind != NODE_MAPPING)
        return schema_refuse(slot, node, "a list of mappings such as {from: \"22:00\", to: \"06:00\"}");
    if (!schema_read(slot, table, KEY_COUNT(table), node, &window))
        return false;
    if (!node_get(node, "from") || !node_get(node, "to"))
        return report_problem(&slot->reader->report, &node->place, "windows: from or to is missing");
    *arena_add(&slot->reader->scratch, draft->windows, draft->window_count) = window;
    note(slot->reader, draft,
         arena_format(&slot->reader->scratch, "%d-%d/%x", (int)window.from, (int)window.to, window.weekdays));
    return true;
}

static bool read_windows(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_window, target);
}

/* ---- calendars ---- */

static void read_calendar(struct reader *reader, const struct source *source, const struct node *name,
                          const struct node *node)
{
    static const struct key table[] = {
        {"zone", read_zone, offsetof(struct calendar_draft, zone), 0, 0, NULL, 0},
        {"dates", read_dates, 0, 0, 0, NULL, 0},
        {"weekdays", read_weekdays, offsetof(struct calendar_draft, weekdays), 0, 0, NULL, 0},
        {"windows", read_windows, 0, 0, 0, NULL, 0},
        {"file", read_date_file, 0, 0, 0, NULL, 0},
    };
    struct calendar_draft draft = {.zone = source->zone};
    const struct key key = {.name = arena_format(&reader->scratch, "the calendar %s", name->text)};
    struct slot slot = {reader, source, &key};
    if (node->kind != NODE_MAPPING) {
        schema_refuse(&slot, node, "a mapping with dates, weekdays, windows or file");
        return;
    }
    bool good = schema_read(&slot, table, KEY_COUNT(table), node, &draft);
    note(reader, &draft, arena_format(&reader->scratch, "%x %s", draft.weekdays, hora_zone_name(draft.zone)));
    struct job_calendar *calendar = arena_alloc(reader->arena, sizeof *calendar);
    hora_calendar_options options = HORA_INIT(hora_calendar_options);
    options.dates = draft.dates;
    options.date_count = draft.date_count;
    options.weekdays = draft.weekdays;
    options.windows = draft.windows;
    options.window_count = draft.window_count;
    hora_error error;
    if (good && hora_calendar_new(draft.zone, &options, &calendar->calendar, &error) < 0)
        report_problem(&reader->report, &name->place, "%s: %s", name->text, error.message);
    calendar->name = arena_text(reader->arena, name->text, strlen(name->text));
    calendar->text = arena_format(reader->arena, "%016" PRIx64, draft.hash);
    calendar->place = name->place;
    struct jobs *jobs = reader->jobs;
    for (size_t i = 0; i < jobs->calendar_count; i++)
        if (strcmp(jobs->calendars[i]->name, calendar->name) == 0)
            report_problem(&reader->report, &name->place, "the calendar %s is already in %s:%d",
                           report_quote(&reader->report, calendar->name), jobs->calendars[i]->place.file,
                           jobs->calendars[i]->place.line);
    *arena_add(reader->arena, jobs->calendars, jobs->calendar_count) = calendar;
}

void read_calendars(struct reader *reader, const struct source *source)
{
    schema_read_named(reader, source, "calendars", "a mapping of names and calendars", MOST_CALENDARS,
                      read_calendar);
}
