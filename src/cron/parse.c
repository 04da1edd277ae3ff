/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - from the text of an expression to its sets
 *
 * First what the whole is: a macro, or a number of fields. Then the fields, from left to right, by their dialect; the
 * first thing that is wrong is told. Only then is memory needed.
 *
 * That is the long way, which can say of every mistake where it is. Most expressions are right, and take the short way:
 * quick.c. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <hora/cron.h>

#include "base/options.h"
#include "base/reason.h"
#include "cron/cron.h"
#include "cron/parse.h"
#include "sys/alloc.h"

static int read_fields(const struct hora__reading *reading, const struct hora__dialect *dialect,
                       struct hora__piece whole);

/* Macros mean an expression of six fields; crontab's lacks the first. */
static const struct {
    const char *name;
    const char *six_fields;
} macros[] = {
    {"@yearly", "0 0 0 1 1 *"}, {"@annually", "0 0 0 1 1 *"}, {"@monthly", "0 0 0 1 * *"},
    {"@weekly", "0 0 0 * * 0"}, {"@daily", "0 0 0 * * *"},    {"@midnight", "0 0 0 * * *"},
    {"@hourly", "0 0 * * * *"},
};

static const char *fields_of_macro(const struct hora__reading *reading, struct hora__piece name)
{
    for (size_t i = 0; i < sizeof macros / sizeof macros[0]; i++)
        if (hora__piece_is(reading, name, macros[i].name))
            return macros[i].six_fields;
    return NULL;
}

static int read_macro(const struct hora__reading *reading, const struct hora__dialect *dialect,
                      struct hora__piece whole)
{
    struct hora__piece name;
    struct hora__piece rest = whole;
    bool is_alone = !hora__piece_cut(reading, &rest, ' ', &name);
    bool is_reboot = hora__piece_is(reading, name, "@reboot");
    const char *fields = fields_of_macro(reading, name);
    if (fields == NULL && !is_reboot)
        return hora__cron_refuse(
            reading, HORA__CRON_WHOLE, name,
            "is none of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly");
    if (is_reboot && !dialect->has_reboot)
        return hora__cron_refuse(reading, HORA__CRON_WHOLE, name, "is for the Unix dialect only");
    if (!is_alone)
        return hora__cron_refuse(reading, HORA__CRON_WHOLE, hora__piece_trim(reading, rest),
                                 "is too much: a macro stands alone");
    reading->cron->is_reboot = is_reboot;
    if (is_reboot)
        return 0;
    fields += dialect->first == HORA_CRON_FIELD_SECOND ? 0 : 2;
    struct hora__reading macro = {fields, reading->cron, reading->reason};
    return read_fields(&macro, dialect, (struct hora__piece){0, strlen(fields)});
}

static struct hora__piece next_field(const struct hora__reading *reading, struct hora__piece *rest)
{
    struct hora__piece field;
    (void)hora__piece_cut(reading, rest, ' ', &field);
    *rest = hora__piece_trim(reading, *rest);
    return field;
}

/* There must be as many fields as the dialect has; too many are offensive from the first that is too much on. */
static int check_count(const struct hora__reading *reading, const struct hora__dialect *dialect,
                       struct hora__piece whole)
{
    int needed = HORA_CRON_FIELD_WEEKDAY - (int)dialect->first + 1;
    int count = 0;
    struct hora__piece rest = whole;
    struct hora__piece extra = {whole.begin + whole.length, 0};
    for (; rest.length > 0; count++) {
        if (count == needed)
            extra = rest;
        (void)next_field(reading, &rest);
    }
    if (count == needed)
        return 0;
    if (count == dialect->other) /* what is missing, or too much, is the first field */
        return hora__cron_refuse(reading, HORA__CRON_WHOLE, (struct hora__piece){whole.begin, 0},
                                 dialect->other_why);
    return hora__cron_refuse(reading, HORA__CRON_WHOLE, extra, count > needed ? dialect->many : dialect->few);
}

static int read_fields(const struct hora__reading *reading, const struct hora__dialect *dialect,
                       struct hora__piece whole)
{
    int error = check_count(reading, dialect, whole);
    for (hora_cron_field field = dialect->first; error == 0 && field <= HORA_CRON_FIELD_WEEKDAY; field++)
        error = dialect->read_field(reading, field, next_field(reading, &whole));
    return error;
}

static int read_expression(const struct hora__reading *reading, const struct hora__dialect *dialect)
{
    struct hora__piece whole = hora__piece_trim(reading, (struct hora__piece){0, strlen(reading->text)});
    if (whole.length == 0)
        return hora__cron_refuse(reading, HORA__CRON_WHOLE, whole, dialect->few);
    if (reading->text[whole.begin] == '@')
        return read_macro(reading, dialect, whole);
    return read_fields(reading, dialect, whole);
}

int hora__cron_read(const char *text, hora_cron *draft, hora_error *reason)
{
    const struct hora__reading reading = {text, draft, reason};
    bool is_unix = draft->dialect == HORA_CRON_UNIX;
    draft->seconds = is_unix ? 1 : 0;
    return read_expression(&reading, is_unix ? &hora__cron_crontab : &hora__cron_spring);
}

/* Invariants C1 and C2 of cron.h. */
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

int hora_cron_parse(const char *text, const hora_cron_options *options, hora_cron **ret_cron,
                    hora_error *reason)
{
    hora_cron_options own = {0};
    hora_cron draft = {0};
    hora__reason_begin(reason);
    const struct hora__reading reading = {text != NULL ? text : "", &draft, reason};
    const struct hora__piece nothing = {0, 0};
    if (text == NULL || ret_cron == NULL)
        return hora__cron_refuse(&reading, HORA__CRON_WHOLE, nothing,
                                 "there is no expression, or no place for it");
    if ((options != NULL && HORA__TAKE(hora_cron_options, &own, options) < 0) ||
        own.dialect > HORA_CRON_UNIX || own.dst > HORA_DST_ONCE)
        return hora__cron_refuse(&reading, HORA__CRON_WHOLE, nothing, "the options are none that hora knows");
    draft.dialect = own.dialect;
    draft.dst = own.dst;
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

hora_cron *hora_cron_unref(hora_cron *cron)
{
    if (cron != NULL && (hora__atomic_load(&cron->refs) == 1 || hora__atomic_add(&cron->refs, -1) == 1))
        hora__free(cron); /* if there is only one, nobody can be adding another */
    return NULL;
}

bool hora_cron_is_reboot(const hora_cron *cron)
{
    return cron != NULL && cron->is_reboot;
}
