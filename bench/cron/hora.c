/* SPDX-License-Identifier: Apache-2.0 */
/* hora.c - hora's cron expressions, in Spring's dialect */
#include <hora/cron.h>

#include "../measure.h"
#include "cron.h"

#define NS INT64_C(1000000000)

const int cron_column = 1;

static hora_zone *zone;

void cron_open(void)
{
}

void cron_zone(const char *name)
{
    hora_zone_unref(zone);
    MUST(hora_zone_new(name, NULL, &zone, NULL) == 0);
}

void *cron_parse(const char *text)
{
    hora_cron *cron;
    return hora_cron_parse(text, NULL, &cron, NULL) == 0 ? cron : NULL;
}

void cron_free(void *expression)
{
    hora_cron_unref(expression);
}

int64_t cron_next(const void *expression, int64_t after)
{
    hora_instant next;
    return hora_cron_next(expression, zone, (hora_instant){after * NS}, &next) == 1 ? next.ns / NS : 0;
}
