/* SPDX-License-Identifier: Apache-2.0 */
/* crontab.c - crontab's five fields
 *
 * A day field is restricted unless its text begins with *: so is 1-31, and that of every second day, which is written
 * with *, is not. If both are restricted one of them is enough. */
#include "cron/parse.h"

static int read_member(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece)
{
    if ((field == HORA_CRON_FIELD_DAY && hora__piece_holds(reading, piece, "?LW#")) ||
        (field == HORA_CRON_FIELD_WEEKDAY &&
         (hora__piece_holds(reading, piece, "?#") || hora__piece_last(reading, piece) == 'L')))
        return hora__cron_refuse(reading, field, piece, "is not in %; ?, L, W and # are the Spring dialect's");
    uint64_t set = 0;
    struct hora__item_rules rules = {hora__cron_values[field].min, false};
    int error = hora__cron_item(reading, field, piece, rules, &set);
    if (error == 0)
        hora__cron_add(reading->cron, field, set);
    return error;
}

static int read_field(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece)
{
    bool is_restricted = reading->text[piece.begin] != '*';
    if (field == HORA_CRON_FIELD_DAY)
        reading->cron->is_either_day = is_restricted;
    if (field == HORA_CRON_FIELD_WEEKDAY && !is_restricted)
        reading->cron->is_either_day = false;
    return hora__cron_list(reading, field, piece, read_member);
}

const struct hora__dialect hora__cron_crontab = {
    .first = HORA_CRON_FIELD_MINUTE,
    .other = 6,
    .other_why = "six fields are the Spring dialect's; five are needed, without second",
    .few = "fields are missing, five are needed: minute hour day month weekday",
    .many = "is too much, five fields are needed: minute hour day month weekday",
    .has_reboot = true,
    .read_field = read_field,
};
