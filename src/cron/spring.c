/* SPDX-License-Identifier: Apache-2.0 */
/* spring.c - Spring's six fields, with L, W and #
 *
 * What Spring takes by accident is refused: names glued together (JANFEB), signs (+5), digits of other scripts, a ? in a
 * list, L-31 and more, #6 and more. 7-7 is Sunday, not every day. Leading zeros pass. */
#include <stddef.h>
#include <string.h>

#include "cron/parse.h"

enum { MONDAY = 1, DAYS = 31 };

static struct hora__piece without_last(struct hora__piece piece)
{
    return (struct hora__piece){piece.begin, piece.length - 1};
}

/* L and W are capitals in this field. */
static bool is_exactly(const struct hora__reading *reading, struct hora__piece piece, const char *text)
{
    return piece.length == strlen(text) && memcmp(reading->text + piece.begin, text, piece.length) == 0;
}

/* L, LW, L-n, nW. */
static int read_special_day(const struct hora__reading *reading, struct hora__piece piece)
{
    hora_cron *cron = reading->cron;
    struct hora__piece head;
    struct hora__piece rest = piece;
    bool has_hyphen = hora__piece_cut(reading, &rest, '-', &head);
    int64_t before = has_hyphen && is_exactly(reading, head, "L") ? hora__piece_number(reading, rest) : 0;
    int64_t near = hora__piece_last(reading, piece) == 'W' ? hora__piece_number(reading, without_last(piece)) : 0;
    if (is_exactly(reading, piece, "L"))
        cron->before_last |= 1;
    else if (is_exactly(reading, piece, "LW"))
        cron->last_working_day = true;
    else if (before >= 1 && before <= HORA__MOST_BEFORE_LAST)
        cron->before_last |= UINT32_C(1) << before;
    else if (near >= 1 && near <= DAYS)
        cron->nearest |= UINT32_C(1) << near;
    else
        return hora__cron_refuse(reading, HORA_CRON_FIELD_DAY, piece, "is none of L, L-1 to L-30, LW and 1W to 31W");
    return 0;
}

/* dL, d#n. */
static int read_special_weekday(const struct hora__reading *reading, struct hora__piece piece)
{
    hora_cron *cron = reading->cron;
    struct hora__piece day;
    struct hora__piece nth = piece;
    bool has_nth = hora__piece_cut(reading, &nth, '#', &day);
    if (!has_nth)
        day = without_last(piece);
    if (day.length == 0)
        return hora__cron_refuse(reading, HORA_CRON_FIELD_WEEKDAY, piece,
                                 "lacks the day before it, % (as in FRIL, MON#2)");
    int value;
    if (hora__cron_value(reading, HORA_CRON_FIELD_WEEKDAY, day, &value) < 0)
        return hora__cron_refuse(reading, HORA_CRON_FIELD_WEEKDAY, day, "is no single day: %");
    if (!has_nth) {
        cron->last_of |= (uint8_t)(1 << value % 7);
        return 0;
    }
    int64_t number = hora__piece_number(reading, nth);
    if (nth.length == 0)
        return hora__cron_refuse(reading, HORA_CRON_FIELD_WEEKDAY, nth, "a number is missing after #: 1-5");
    if (number < 1 || number > HORA__MOST_NTH)
        return hora__cron_refuse(reading, HORA_CRON_FIELD_WEEKDAY, nth, "is not in 1-5 (as in MON#2)");
    cron->nth_of[value % 7] |= (uint8_t)(1 << number);
    return 0;
}

static int read_member(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece)
{
    bool is_day_field = field == HORA_CRON_FIELD_DAY || field == HORA_CRON_FIELD_WEEKDAY;
    if (hora__piece_holds(reading, piece, "?"))
        return hora__cron_refuse(reading, field, piece,
                                 is_day_field ? "is refused: ? stands alone in its field"
                                              : "is refused: ? is for the day fields only, here allowed: %");
    if (field == HORA_CRON_FIELD_DAY && hora__piece_holds(reading, piece, "LW"))
        return read_special_day(reading, piece);
    if (field == HORA_CRON_FIELD_DAY && hora__piece_holds(reading, piece, "lw"))
        return hora__cron_refuse(reading, field, piece, "is not in %; L and W are written in capitals here");
    if (field == HORA_CRON_FIELD_WEEKDAY &&
        (hora__piece_holds(reading, piece, "#") || hora__piece_last(reading, piece) == 'L'))
        return read_special_weekday(reading, piece);
    uint64_t set = 0;
    struct hora__item_rules rules = {field == HORA_CRON_FIELD_WEEKDAY ? MONDAY : hora__cron_values[field].min, true};
    int error = hora__cron_item(reading, field, piece, rules, &set);
    if (error == 0)
        hora__cron_add(reading->cron, field, set);
    return error;
}

static int read_field(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece)
{
    bool is_question = hora__piece_is(reading, piece, "?");
    if (is_question && field == HORA_CRON_FIELD_DAY)
        reading->cron->days = HORA__ALL_DAYS;
    else if (is_question && field == HORA_CRON_FIELD_WEEKDAY)
        reading->cron->weekdays = HORA__ALL_WEEKDAYS;
    else
        return hora__cron_list(reading, field, piece, read_member);
    return 0;
}

const struct hora__dialect hora__cron_spring = {
    .first = HORA_CRON_FIELD_SECOND,
    .other = 5,
    .other_why = "five fields are the Unix dialect's; six are needed, the first being second",
    .few = "fields are missing, six are needed: second minute hour day month weekday",
    .many = "is too much, six fields are needed: second minute hour day month weekday",
    .read_field = read_field,
};
