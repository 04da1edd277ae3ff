/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - from the text of a cron expression to its sets
 *
 * The parser first determines what the whole is: a macro, or a number of fields. Then the dialect reads its
 * fields from left to right, and the parser reports the first mistake with its position. Memory is allocated
 * only after that.
 *
 * Most expressions are correct and written in a common way; quick.c reads these faster. This parser decides
 * about the rest, and its messages are the only ones.
 *
 * The read_ functions return 0 or HORA_EINVAL, with the reason written. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <hora/cron.h>

#include "base/options.h"
#include "base/reason.h"
#include "base/text.h"
#include "cron/cron.h"
#include "cron/set.h"
#include "sys/alloc.h"

/* The field that refuse() gets if a message is about the whole expression. */
#define WHOLE ((hora_cron_field)0)

/* A part of the expression's text, in bytes. Pieces refer to the text instead of copying it, so that
 * messages can name the position of a mistake. */
struct piece {
    size_t begin;
    size_t length;
};

/* The state of the parser. */
struct reading {
    const char *text;
    /* The sets read so far. */
    hora_cron *cron;
    /* May be NULL. */
    hora_error *reason;
};

/* How a dialect reads an ordinary list item: *, a, a-b, with or without a step. */
struct item_rules {
    /* The value at which * with a step starts to count. */
    int star;
    /* a/n is allowed, and means from a to the maximum. */
    bool is_open_step;
};

/* The fields of a dialect and the messages about them. */
struct dialect {
    /* The first of its fields; the last is always the weekday. */
    hora_cron_field first;
    /* The number of fields of the other dialect, and the message for an expression with that many. */
    int other;
    const char *other_why; /* messages for that many, for too few and for too many fields */
    /* The messages for any other number of fields. */
    const char *few;
    const char *many;
    /* @reboot is allowed. */
    bool has_reboot;
    /* Adds the values of one field to the sets. */
    int (*read_field)(const struct reading *reading, hora_cron_field field, struct piece piece);
};

/* The set of all values from min to max, as a constant expression. */
#define ALL(min, max) ((UINT64_C(2) << (max)) - (UINT64_C(1) << (min)))

/* Indexed by field. Sunday may be written as 0 or 7, so the values of the weekday field go up to 7. */
const struct hora__cron_values hora__cron_values[] = {
    [WHOLE] = {"cron", "", 0, 0, 0, NULL},
    [HORA_CRON_FIELD_SECOND] = {"second", "0-59", 0, 59, ALL(0, 59), NULL},
    [HORA_CRON_FIELD_MINUTE] = {"minute", "0-59", 0, 59, ALL(0, 59), NULL},
    [HORA_CRON_FIELD_HOUR] = {"hour", "0-23", 0, 23, ALL(0, 23), NULL},
    [HORA_CRON_FIELD_DAY] = {"day", "1-31", 1, 31, ALL(1, 31), NULL},
    [HORA_CRON_FIELD_MONTH] = {"month", "1-12 or JAN-DEC", 1, 12, ALL(1, 12),
                               "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
    [HORA_CRON_FIELD_WEEKDAY] = {"weekday", "0-7 or MON-SUN", 0, 7, ALL(0, 7), "MONTUEWEDTHUFRISATSUN"},
};

/* ---- error messages ----
 *
 * A message contains the offending piece and the expression around it. Both may be long and hold any bytes,
 * so the message shortens them and writes bytes that are not printable ASCII as \xNN. */

/* How much of the piece and of the expression a message shows, in bytes. */
enum { PIECE_SHOWN = 32, EXPRESSION_SHOWN = 80 };

/* Adds a byte, escaped if it is not printable ASCII. */
static void add_byte(struct hora__text *out, char byte)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char value = (unsigned char)byte;
    if (value >= ' ' && value <= '~') {
        hora__text_add_char(out, byte);
        return;
    }
    hora__text_add(out, "\\x");
    hora__text_add_char(out, digits[value >> 4]);
    hora__text_add_char(out, digits[value & 15]);
}

/* Adds at most `shown` bytes of a piece, with dots for the rest. */
static void add_piece(struct hora__text *out, const char *text, struct piece piece, size_t shown)
{
    assert(shown > 3);
    bool is_cut = piece.length > shown;
    size_t end = piece.begin + (is_cut ? shown - 3 : piece.length);
    for (size_t i = piece.begin; i < end; i++)
        add_byte(out, text[i]);
    if (is_cut)
        hora__text_add(out, "...");
}

/* Adds the expression, so that the reader sees the context of a mistake; of a long one, the part around
 * `position`. */
static void add_expression(struct hora__text *out, const char *text, size_t position)
{
    struct piece shown = {0, strlen(text)};
    hora__text_add(out, ", in \"");
    if (shown.length > EXPRESSION_SHOWN && position > EXPRESSION_SHOWN / 2) {
        size_t skipped = position - EXPRESSION_SHOWN / 2;
        shown = (struct piece){skipped, shown.length - skipped};
        hora__text_add(out, "...");
    }
    add_piece(out, text, shown, EXPRESSION_SHOWN);
    hora__text_add(out, "\"");
}

/* Adds `why`, with `allowed` in place of %. */
static void add_reason(struct hora__text *out, const char *why, const char *allowed)
{
    for (; *why != '\0'; why++)
        if (*why == '%')
            hora__text_add(out, allowed);
        else
            hora__text_add_char(out, *why);
}

/* Writes the reason "FIELD: PIECE WHY, in "EXPRESSION"". A % in `why` stands for the values of the field.
 * Returns HORA_EINVAL. */
static int refuse(const struct reading *reading, hora_cron_field field, struct piece piece, const char *why)
{
    assert(why != NULL);
    hora_error *reason = reading->reason;
    if (reason == NULL)
        return HORA_EINVAL;
    const struct hora__cron_values *values = &hora__cron_values[field];
    /* Sets code, field and position; the message is written piece by piece below. */
    (void)hora__refuse_at(reason, HORA_EINVAL, piece.begin, piece.length, values->name, "%s", "");
    struct hora__text out = hora__text_begin(reason->message, sizeof reason->message);
    if (field != WHOLE) {
        hora__text_add(&out, values->name);
        hora__text_add(&out, ": ");
    }
    if (piece.length > 0) {
        add_piece(&out, reading->text, piece, PIECE_SHOWN);
        hora__text_add(&out, " ");
    }
    add_reason(&out, why, values->allowed);
    add_expression(&out, reading->text, piece.begin);
    (void)hora__text_end(&out);
    return HORA_EINVAL;
}

/* ---- pieces and items: values, ranges and steps ---- */

/* SUNDAY is 7 while a field is read; add_values turns it into 0. DAYS: the longest month. */
enum { MONDAY = 1, SUNDAY = 7, DAYS = 31 };
#define LARGEST_STEP INT64_C(0x7fffffff)

static char capital(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char)(c - 'a' + 'A');
    return c;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns whether two texts of this length are equal, ignoring case. */
static bool is_word(const char *text, const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (capital(text[i]) != capital(word[i]))
            return false;
    return true;
}

/* Returns whether a piece is this text, ignoring case. */
static bool piece_is(const struct reading *reading, struct piece piece, const char *text)
{
    return piece.length == strlen(text) && is_word(reading->text + piece.begin, text, piece.length);
}

/* Returns whether a piece contains one of these bytes. */
static bool piece_has_any(const struct reading *reading, struct piece piece, const char *any_of)
{
    for (size_t i = 0; i < piece.length; i++)
        if (strchr(any_of, reading->text[piece.begin + i]) != NULL)
            return true;
    return false;
}

/* Returns the last byte of a piece in upper case; NUL if the piece is empty. */
static char piece_last(const struct reading *reading, struct piece piece)
{
    if (piece.length == 0)
        return '\0';
    return capital(reading->text[piece.begin + piece.length - 1]);
}

/* Returns a piece without blanks at its ends. */
static struct piece piece_trim(const struct reading *reading, struct piece piece)
{
    while (piece.length > 0 && is_blank(reading->text[piece.begin])) {
        piece.begin++;
        piece.length--;
    }
    while (piece.length > 0 && is_blank(reading->text[piece.begin + piece.length - 1]))
        piece.length--;
    return piece;
}

/* Splits *rest at the first `separator`: *ret_head is the part before it, *rest the part behind it.
 * Without a separator, everything is head, and the result is false. ' ' stands for any blank. */
static bool piece_cut(const struct reading *reading, struct piece *rest, char separator,
                      struct piece *ret_head)
{
    const char *text = reading->text + rest->begin;
    size_t length = 0;
    while (length < rest->length && (separator == ' ' ? !is_blank(text[length]) : text[length] != separator))
        length++;
    bool found = length < rest->length;
    *ret_head = (struct piece){rest->begin, length};
    size_t gone = length + (found ? 1 : 0);
    *rest = (struct piece){rest->begin + gone, rest->length - gone};
    return found;
}

/* Returns the value of a piece of digits, at most LARGEST_STEP + 1, so that long numbers do not overflow;
 * -1 if the piece is not a number. */
static int64_t piece_number(const struct reading *reading, struct piece piece)
{
    int64_t number = piece.length > 0 ? 0 : -1;
    for (size_t i = 0; i < piece.length; i++) {
        char c = reading->text[piece.begin + i];
        if (c < '0' || c > '9')
            return -1;
        number = number * 10 + (c - '0');
        if (number > LARGEST_STEP)
            number = LARGEST_STEP + 1;
    }
    return number;
}

/* Returns the position of a three-letter name in a list, from 1; 0 if it is not in it. `names` may be
 * NULL. */
static int number_of_name(const struct reading *reading, const char *names, struct piece piece)
{
    if (piece.length != 3)
        return 0;
    int number = 1;
    for (const char *name = names; name != NULL && *name != '\0'; name += 3, number++)
        if (is_word(reading->text + piece.begin, name, 3))
            return number;
    return 0;
}

/* Reads one value of a field: a number or a name. Sunday may be 0 or 7. */
static int read_value(const struct reading *reading, hora_cron_field field, struct piece piece,
                      int *ret_value)
{
    const struct hora__cron_values *values = &hora__cron_values[field];
    if (piece.length == 0)
        return refuse(reading, field, piece, "a value is missing: %");
    /* Only months and weekdays have names. */
    int64_t number = number_of_name(reading, values->names, piece);
    if (number == 0)
        number = piece_number(reading, piece);
    if (number < values->min || number > values->max)
        return refuse(reading, field, piece, "is not in %");
    *ret_value = (int)number;
    return 0;
}

/* Reads the number behind a slash. */
static int read_step(const struct reading *reading, hora_cron_field field, struct piece piece, int *ret_step)
{
    int64_t step = piece_number(reading, piece);
    if (piece.length == 0)
        return refuse(reading, field, piece, "a step is missing: 1 to 2147483647");
    if (step < 1 || step > LARGEST_STEP)
        return refuse(reading, field, piece, "is not a step: 1 to 2147483647");
    *ret_step = (int)step;
    return 0;
}

/* The values of an item before its step: first to last. */
struct range {
    int first;
    int last;
    /* Written as one value, without a hyphen. */
    bool is_single;
};

/* Reads a-b or a. A range of weekdays that starts with 7 and ends earlier starts with 0, since both are
 * Sunday. */
static int read_range(const struct reading *reading, hora_cron_field field, struct piece piece,
                      struct range *ret_range)
{
    assert(ret_range != NULL);
    struct piece first;
    struct piece last = piece;
    /* A negative number, not a range without a start. */
    if (piece.length > 0 && reading->text[piece.begin] == '-')
        return refuse(reading, field, piece, "is not in %");
    bool is_single = !piece_cut(reading, &last, '-', &first);
    int error = read_value(reading, field, first, &ret_range->first);
    ret_range->last = ret_range->first;
    ret_range->is_single = is_single;
    if (error < 0 || is_single)
        return error;
    error = read_value(reading, field, last, &ret_range->last);
    if (error < 0)
        return error;
    if (field == HORA_CRON_FIELD_WEEKDAY && ret_range->first == SUNDAY && ret_range->last < SUNDAY)
        ret_range->first = 0;
    if (ret_range->first > ret_range->last)
        return refuse(reading, field, piece, "runs backwards: a range ends with its largest value");
    return 0;
}

/* Notes that an item of a time field has *, a range or a step: it counts time instead of naming times of
 * day. */
static void note_interval(const struct reading *reading, hora_cron_field field)
{
    if (field <= HORA_CRON_FIELD_HOUR)
        reading->cron->is_interval = true;
}

/* Reads an ordinary item and adds its values to *set, with Sunday as 0 or 7. */
static int read_item(const struct reading *reading, hora_cron_field field, struct piece piece,
                     struct item_rules rules, uint64_t *set)
{
    assert(field >= HORA_CRON_FIELD_SECOND && field <= HORA_CRON_FIELD_WEEKDAY);
    const struct hora__cron_values *values = &hora__cron_values[field];
    struct piece span;
    struct piece rest = piece;
    /* The part before the slash first, then the step. */
    bool has_step = piece_cut(reading, &rest, '/', &span);
    bool is_star = piece_is(reading, span, "*");
    struct range range = {rules.star, values->max, false};
    int step = 1;
    int error = is_star ? 0 : read_range(reading, field, span, &range);
    if (error < 0)
        return error;
    if (has_step) {
        error = read_step(reading, field, rest, &step);
        if (error < 0)
            return error;
        if (range.is_single && !rules.is_open_step)
            return refuse(reading, field, piece, "has no end: a step must follow * or a range");
        if (range.is_single)
            range.last = values->max;
    }
    if (is_star || has_step || !range.is_single)
        note_interval(reading, field);
    *set |= hora__set_every(range.first, range.last, step);
    return 0;
}

/* Adds values to the set of a field; Sunday becomes 0. */
static void add_values(hora_cron *cron, hora_cron_field field, uint64_t values)
{
    switch (field) {
    case HORA_CRON_FIELD_SECOND:
        cron->seconds |= values;
        break;
    case HORA_CRON_FIELD_MINUTE:
        cron->minutes |= values;
        break;
    case HORA_CRON_FIELD_HOUR:
        cron->hours |= (uint32_t)values;
        break;
    case HORA_CRON_FIELD_DAY:
        cron->days |= (uint32_t)values;
        break;
    case HORA_CRON_FIELD_MONTH:
        cron->months |= (uint32_t)values;
        break;
    case HORA_CRON_FIELD_WEEKDAY:
        cron->weekdays |= (uint8_t)((values | values >> SUNDAY) & 0x7f);
        break;
    default:
        assert(false);
    }
}

/* Reads the items of a list one by one with read_member. */
static int read_list(const struct reading *reading, hora_cron_field field, struct piece list,
                     int (*read_member)(const struct reading *reading, hora_cron_field field,
                                        struct piece piece))
{
    struct piece member;
    bool more;
    do {
        more = piece_cut(reading, &list, ',', &member);
        int error = read_member(reading, field, member);
        if (error < 0)
            return error;
    } while (more);
    return 0;
}

/* ---- Spring's six fields, with L, W and # ----
 *
 * hora refuses what Spring accepts by accident: names glued together (JANFEB), signs (+5), digits of other
 * scripts, a ? in a list, L-31 and more, #6 and more. 7-7 is Sunday, not every day. Leading zeros are
 * allowed. */

/* Returns a piece without its last byte. */
static struct piece without_last(struct piece piece)
{
    assert(piece.length > 0);
    return (struct piece){piece.begin, piece.length - 1};
}

/* Returns whether a piece is this text, in the same case: in the day field L and W must be upper case. */
static bool is_exactly(const struct reading *reading, struct piece piece, const char *text)
{
    return piece.length == strlen(text) && memcmp(reading->text + piece.begin, text, piece.length) == 0;
}

/* Reads an item of the day field with L or W: L, LW, L-n or nW. */
static int read_special_day(const struct reading *reading, struct piece piece)
{
    hora_cron *cron = reading->cron;
    struct piece head;
    struct piece rest = piece;
    bool has_hyphen = piece_cut(reading, &rest, '-', &head);
    int64_t before = has_hyphen && is_exactly(reading, head, "L") ? piece_number(reading, rest) : 0;
    /* -1 for a piece that is no number, which none of the cases below accepts. */
    int64_t near = piece_last(reading, piece) == 'W' ? piece_number(reading, without_last(piece)) : 0;
    if (is_exactly(reading, piece, "L"))
        cron->before_last |= 1;
    else if (is_exactly(reading, piece, "LW"))
        cron->last_working_day = true;
    else if (before >= 1 && before <= HORA__MOST_BEFORE_LAST)
        cron->before_last |= UINT32_C(1) << before;
    else if (near >= 1 && near <= DAYS)
        cron->nearest |= UINT32_C(1) << near;
    else
        return refuse(reading, HORA_CRON_FIELD_DAY, piece, "is none of L, L-1 to L-30, LW and 1W to 31W");
    return 0;
}

/* Reads an item of the weekday field with L or #: dL or d#n. */
static int read_special_weekday(const struct reading *reading, struct piece piece)
{
    hora_cron *cron = reading->cron;
    struct piece day;
    struct piece nth = piece;
    bool has_nth = piece_cut(reading, &nth, '#', &day);
    if (!has_nth)
        day = without_last(piece);
    if (day.length == 0)
        return refuse(reading, HORA_CRON_FIELD_WEEKDAY, piece,
                      "needs a day before it: % (as in FRIL, MON#2)");
    int value;
    /* Replaces the message of read_value by one that fits a special day. */
    if (read_value(reading, HORA_CRON_FIELD_WEEKDAY, day, &value) < 0)
        return refuse(reading, HORA_CRON_FIELD_WEEKDAY, day, "is not a single day: %");
    assert(value >= 0 && value <= 7);
    if (!has_nth) {
        cron->last_of |= (uint8_t)(1 << value % 7);
        return 0;
    }
    int64_t number = piece_number(reading, nth);
    if (nth.length == 0)
        return refuse(reading, HORA_CRON_FIELD_WEEKDAY, nth, "a number is missing after #: 1-5");
    if (number < 1 || number > HORA__MOST_NTH)
        return refuse(reading, HORA_CRON_FIELD_WEEKDAY, nth, "is not in 1-5 (as in MON#2)");
    cron->nth_of[value % 7] |= (uint8_t)(1 << number);
    return 0;
}

/* Reads one list item of the Spring dialect. * with a step counts weekdays from Monday, as in Spring. */
static int read_spring_member(const struct reading *reading, hora_cron_field field, struct piece piece)
{
    bool is_day_field = field == HORA_CRON_FIELD_DAY || field == HORA_CRON_FIELD_WEEKDAY;
    if (piece_has_any(reading, piece, "?"))
        return refuse(reading, field, piece,
                      is_day_field ? "is not allowed: ? must be alone in its field"
                                   : "is not allowed: ? is for the day fields only; allowed here: %");
    if (field == HORA_CRON_FIELD_DAY && piece_has_any(reading, piece, "LW"))
        return read_special_day(reading, piece);
    if (field == HORA_CRON_FIELD_DAY && piece_has_any(reading, piece, "lw"))
        return refuse(reading, field, piece, "is not in %; L and W must be capital letters");
    if (field == HORA_CRON_FIELD_WEEKDAY &&
        (piece_has_any(reading, piece, "#") || piece_last(reading, piece) == 'L'))
        return read_special_weekday(reading, piece);
    uint64_t set = 0;
    struct item_rules rules = {field == HORA_CRON_FIELD_WEEKDAY ? MONDAY : hora__cron_values[field].min,
                               true};
    int error = read_item(reading, field, piece, rules, &set);
    if (error == 0)
        add_values(reading->cron, field, set);
    return error;
}

/* Reads one field of the Spring dialect. ? is allowed for an entire day field, and means all days. */
static int read_spring_field(const struct reading *reading, hora_cron_field field, struct piece piece)
{
    bool is_question = piece_is(reading, piece, "?");
    if (is_question && field == HORA_CRON_FIELD_DAY)
        reading->cron->days = HORA__ALL_DAYS;
    else if (is_question && field == HORA_CRON_FIELD_WEEKDAY)
        reading->cron->weekdays = HORA__ALL_WEEKDAYS;
    else
        return read_list(reading, field, piece, read_spring_member);
    return 0;
}

static const struct dialect spring = {
    .first = HORA_CRON_FIELD_SECOND,
    .other = 5,
    .other_why = "five fields are for the Unix dialect; six are needed, starting with second",
    .few = "fields are missing; six are needed: second minute hour day month weekday",
    .many = "is too much; six fields are needed: second minute hour day month weekday",
    .read_field = read_spring_field,
};

/* ---- crontab's five fields ----
 *
 * A day field is restricted unless its text starts with *. So 1-31 is restricted, and every second day
 * written as a step of * is not. If both fields are restricted, one match is enough. */

/* Reads one list item of a crontab, which has no special days. */
static int read_unix_member(const struct reading *reading, hora_cron_field field, struct piece piece)
{
    if ((field == HORA_CRON_FIELD_DAY && piece_has_any(reading, piece, "?LW#")) ||
        (field == HORA_CRON_FIELD_WEEKDAY &&
         (piece_has_any(reading, piece, "?#") || piece_last(reading, piece) == 'L')))
        return refuse(reading, field, piece, "is not in %; ?, L, W and # are for the Spring dialect");
    uint64_t set = 0;
    struct item_rules rules = {hora__cron_values[field].min, false};
    int error = read_item(reading, field, piece, rules, &set);
    if (error == 0)
        add_values(reading->cron, field, set);
    return error;
}

/* Reads one field of a crontab. The day field is read before the weekday field, so is_either_day is final
 * after the latter. */
static int read_unix_field(const struct reading *reading, hora_cron_field field, struct piece piece)
{
    bool is_restricted = reading->text[piece.begin] != '*';
    if (field == HORA_CRON_FIELD_DAY)
        reading->cron->is_either_day = is_restricted;
    if (field == HORA_CRON_FIELD_WEEKDAY && !is_restricted)
        reading->cron->is_either_day = false;
    return read_list(reading, field, piece, read_unix_member);
}

static const struct dialect crontab = {
    .first = HORA_CRON_FIELD_MINUTE,
    .other = 6,
    .other_why = "six fields are for the Spring dialect; five are needed, without second",
    .few = "fields are missing; five are needed: minute hour day month weekday",
    .many = "is too much; five fields are needed: minute hour day month weekday",
    .has_reboot = true,
    .read_field = read_unix_field,
};

/* ---- the whole expression ---- */

static int read_fields(const struct reading *reading, const struct dialect *dialect, struct piece whole);

/* A macro stands for an expression of six fields. For crontab, the first one is left out. @reboot has no
 * fields, so read_macro handles it. */
static const struct {
    const char *name;
    const char *six_fields;
} macros[] = {
    {"@yearly", "0 0 0 1 1 *"}, {"@annually", "0 0 0 1 1 *"}, {"@monthly", "0 0 0 1 * *"},
    {"@weekly", "0 0 0 * * 0"}, {"@daily", "0 0 0 * * *"},    {"@midnight", "0 0 0 * * *"},
    {"@hourly", "0 0 * * * *"},
};

/* Returns the six fields of a macro; NULL if there is no such macro. */
static const char *fields_of_macro(const struct reading *reading, struct piece name)
{
    for (size_t i = 0; i < sizeof macros / sizeof macros[0]; i++)
        if (piece_is(reading, name, macros[i].name))
            return macros[i].six_fields;
    return NULL;
}

/* Reads an expression that starts with @: parses the fields that the macro stands for. These are correct,
 * so a message never refers to their text. */
static int read_macro(const struct reading *reading, const struct dialect *dialect, struct piece whole)
{
    assert(reading->text[whole.begin] == '@');
    struct piece name;
    struct piece rest = whole;
    bool is_alone = !piece_cut(reading, &rest, ' ', &name);
    bool is_reboot = piece_is(reading, name, "@reboot");
    const char *fields = fields_of_macro(reading, name);
    if (fields == NULL && !is_reboot)
        return refuse(reading, WHOLE, name,
                      "is none of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly");
    if (is_reboot && !dialect->has_reboot)
        return refuse(reading, WHOLE, name, "is for the Unix dialect only");
    if (!is_alone)
        return refuse(reading, WHOLE, piece_trim(reading, rest), "is too much: a macro must be alone");
    reading->cron->is_reboot = is_reboot;
    if (is_reboot)
        return 0;
    /* Two bytes: the field for seconds and the blank behind it. */
    fields += dialect->first == HORA_CRON_FIELD_SECOND ? 0 : 2;
    struct reading macro = {fields, reading->cron, reading->reason};
    return read_fields(&macro, dialect, (struct piece){0, strlen(fields)});
}

/* Cuts the next field off *rest, together with the blanks behind it. */
static struct piece next_field(const struct reading *reading, struct piece *rest)
{
    assert(rest->length > 0);
    struct piece field;
    (void)piece_cut(reading, rest, ' ', &field);
    *rest = piece_trim(reading, *rest);
    return field;
}

/* Checks the number of fields. If there are too many, the error covers the text from the first surplus
 * field on. An expression of the other dialect gets a message of its own. */
static int check_count(const struct reading *reading, const struct dialect *dialect, struct piece whole)
{
    int needed = HORA_CRON_FIELD_WEEKDAY - (int)dialect->first + 1;
    int count = 0;
    struct piece rest = whole;
    /* The place of the error: the end of the text if fields are missing, else the first surplus field. */
    struct piece extra = {whole.begin + whole.length, 0};
    for (; rest.length > 0; count++) {
        if (count == needed)
            extra = rest;
        (void)next_field(reading, &rest);
    }
    if (count == needed)
        return 0;
    /* The position of the error is the start, where the first field is missing or surplus. */
    if (count == dialect->other)
        return refuse(reading, WHOLE, (struct piece){whole.begin, 0}, dialect->other_why);
    return refuse(reading, WHOLE, extra, count > needed ? dialect->many : dialect->few);
}

/* Checks the number of fields and reads each of them. */
static int read_fields(const struct reading *reading, const struct dialect *dialect, struct piece whole)
{
    assert(dialect->read_field != NULL);
    int error = check_count(reading, dialect, whole);
    for (hora_cron_field field = dialect->first; error == 0 && field <= HORA_CRON_FIELD_WEEKDAY; field++)
        error = dialect->read_field(reading, field, next_field(reading, &whole));
    return error;
}

/* Reads the whole text, without blanks at its ends. */
static int read_expression(const struct reading *reading, const struct dialect *dialect)
{
    struct piece whole = piece_trim(reading, (struct piece){0, strlen(reading->text)});
    if (whole.length == 0)
        return refuse(reading, WHOLE, whole, dialect->few);
    if (reading->text[whole.begin] == '@')
        return read_macro(reading, dialect, whole);
    return read_fields(reading, dialect, whole);
}

/* A crontab has no seconds; its times are at second 0. */
int hora__cron_read(const char *text, hora_cron *draft, hora_error *reason)
{
    assert(text != NULL && draft->minutes == 0);
    const struct reading reading = {text, draft, reason};
    bool is_unix = draft->dialect == HORA_CRON_UNIX;
    draft->seconds = is_unix ? 1 : 0;
    return read_expression(&reading, is_unix ? &crontab : &spring);
}

/* Asserts C1 of cron.h, and that no set has bits outside its range. */
static void check_sets(const hora_cron *cron)
{
    assert(cron->is_reboot ||
           (cron->seconds != 0 && cron->minutes != 0 && cron->hours != 0 && cron->months != 0));
    assert(cron->seconds >> 60 == 0 && cron->minutes >> 60 == 0 && cron->hours >> 24 == 0 &&
           cron->months >> 13 == 0);
    assert(((cron->days | cron->months | cron->nearest) & 1) == 0 &&
           (cron->weekdays | cron->last_of) <= 0x7f);
    (void)cron;
}

/* Reads into a draft on the stack, so that an invalid expression allocates nothing. */
int hora_cron_parse(const char *text, const hora_cron_options *options, hora_cron **ret_cron,
                    hora_error *reason)
{
    hora_cron_options own = {0};
    hora_cron draft = {0};
    hora__reason_begin(reason);
    /* refuse() needs a text to show, even if the caller gave none. */
    const struct reading reading = {text != NULL ? text : "", &draft, reason};
    const struct piece nothing = {0, 0};
    if (text == NULL || ret_cron == NULL)
        return refuse(&reading, WHOLE, nothing, "text or ret_cron is NULL");
    if ((options != NULL && HORA__TAKE(hora_cron_options, &own, options) < 0) ||
        own.dialect > HORA_CRON_UNIX || own.dst > HORA_DST_ONCE)
        return refuse(&reading, WHOLE, nothing, "struct_size, dialect or dst of the options is wrong");
    draft.dialect = own.dialect;
    draft.dst = own.dst;
    /* The quick parser may have changed the draft before it gave up, so start anew. */
    if (!hora__cron_quick(text, &draft)) {
        draft = (hora_cron){.dialect = own.dialect, .dst = own.dst};
        int error = hora__cron_read(text, &draft, reason);
        if (error < 0)
            return error;
    }
    check_sets(&draft);
    hora_cron *cron = hora__alloc_dirty(sizeof *cron);
    if (cron == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    *cron = draft;
    hora__atomic_init(&cron->refs, 1);
    *ret_cron = cron;
    return 0;
}

hora_cron *hora_cron_ref(hora_cron *cron)
{
    if (cron != NULL)
        (void)hora__atomic_add(&cron->refs, 1);
    return cron;
}

/* With one reference left, no other thread can add one, so the load alone decides and saves the addition. */
hora_cron *hora_cron_unref(hora_cron *cron)
{
    if (cron != NULL && (hora__atomic_load(&cron->refs) == 1 || hora__atomic_add(&cron->refs, -1) == 1))
        hora__free(cron);
    return NULL;
}

bool hora_cron_is_reboot(const hora_cron *cron)
{
    return cron != NULL && cron->is_reboot;
}
