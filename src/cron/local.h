/* SPDX-License-Identifier: Apache-2.0 */
/* local.h - seconds and nanoseconds of an instant, and local times as seconds */
#ifndef HORA_CRON_LOCAL_H
#define HORA_CRON_LOCAL_H

#include "base/ns.h"
#include "cron/civil.h"
#include "cron/zone.h"

/* The second in which an instant lies. */
static inline int64_t hora__second_of(hora_instant instant)
{
    return hora__floor_div(instant.ns, HORA__SECOND);
}

/* The part of it that has passed. */
static inline int32_t hora__nanosecond_of(hora_instant instant)
{
    int64_t rest = instant.ns % HORA__SECOND;
    return (int32_t)(rest < 0 ? rest + HORA__SECOND : rest);
}

/* Whether hora_instant can count it; `nanosecond` is from 0 to 999999999. */
static inline bool hora__instant_make(int64_t second, int32_t nanosecond, hora_instant *ret_instant)
{
    /* The second in which time begins is only there in part, and must not be multiplied. */
    int64_t rest = second < 0 ? nanosecond - HORA__SECOND : nanosecond;
    int64_t whole = second < 0 ? second + 1 : second;
    hora_instant made;
    if (__builtin_mul_overflow(whole, HORA__SECOND, &made.ns) || __builtin_add_overflow(made.ns, rest, &made.ns))
        return false;
    *ret_instant = made;
    return true;
}

/* A local time as if it were UTC's. HORA_EINVAL (no such date or time), HORA_ERANGE (not from 1677 to 2262). */
__attribute__((warn_unused_result)) int hora__local_second(const hora_local *local, int64_t *ret_second);

#endif
