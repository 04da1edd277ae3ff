/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - an expression in words */
#include <stddef.h>

#include <hora/cron.h>

#include "cron/parse.h"
#include "cron/words.h"

void hora__words_next(struct hora__text *out, struct hora__enumeration *enumeration)
{
    if (enumeration->begun > 0)
        hora__text_add(out, enumeration->begun + 1 < enumeration->count ? ", " : enumeration->last);
    enumeration->begun++;
}

void hora__words_ordinal(struct hora__text *out, int number)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    bool is_teen = number % 100 / 10 == 1;
    hora__text_add_number(out, (uint64_t)number, 1);
    hora__text_add(out, endings[is_teen || number % 10 > 3 ? 0 : number % 10]);
}

int hora_cron_describe(const hora_cron *cron, const hora_zone *zone, char *text, size_t size)
{
    if (cron == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    struct hora__text out = hora__text_begin(text, size);
    if (cron->is_reboot) {
        hora__text_add(&out, "once, at the start");
        return hora__text_end(&out);
    }
    hora_cron normal = hora__cron_normal(cron);
    bool names_times = hora__words_times(&out, &normal);
    hora__words_dates(&out, &normal, names_times);
    if (zone != NULL) {
        hora__text_add(&out, ", ");
        hora__text_add(&out, hora_zone_name(zone));
    }
    return hora__text_end(&out);
}

int hora_cron_describe_field(const hora_cron *cron, hora_cron_field field, char *text, size_t size)
{
    if (cron == NULL || (text == NULL && size > 0) || cron->is_reboot)
        return HORA_EINVAL;
    struct hora__text out = hora__text_begin(text, size);
    hora_cron normal = hora__cron_normal(cron);
    switch (field) {
    case HORA_CRON_FIELD_SECOND:
        if (cron->dialect == HORA_CRON_UNIX)
            return HORA_EINVAL;
        hora__words_time_field(&out, field, cron->seconds);
        break;
    case HORA_CRON_FIELD_MINUTE:
        hora__words_time_field(&out, field, cron->minutes);
        break;
    case HORA_CRON_FIELD_HOUR:
        hora__words_time_field(&out, field, cron->hours);
        break;
    case HORA_CRON_FIELD_DAY:
        hora__words_days(&out, &normal);
        break;
    case HORA_CRON_FIELD_MONTH:
        hora__words_months(&out, &normal);
        break;
    case HORA_CRON_FIELD_WEEKDAY:
        hora__words_weekdays(&out, &normal);
        break;
    default:
        return HORA_EINVAL;
    }
    return hora__text_end(&out);
}
