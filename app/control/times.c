/* SPDX-License-Identifier: Apache-2.0 */
/* times.c - times in answers, and times for people */
#include "control/times.h"

#include <stdio.h>

#include "figures.h"
#include "jobs/jobs.h"

const char *times_utc(hora_instant time, char text[TIME_TEXT])
{
    if (hora_instant_format(time, NULL, false, text, TIME_TEXT) < 0)
        text[0] = '\0';
    return text;
}

json_t *times_to_json(hora_instant time)
{
    return time.ns == 0 || time.ns >= JOB_PARKED ? json_null() : json_string(UTC(time));
}

bool times_from_json(const json_t *json, hora_instant *ret_time)
{
    return json_is_string(json) &&
           hora_instant_parse(json_string_value(json), NULL, ret_time, NULL, NULL) == 0;
}

const char *times_length(hora_ns duration, char text[TIME_TEXT])
{
    long long seconds = (long long)(duration / HORA_SECONDS(1));
    /* The next unit is used from two of it on: "119 min" says more than "1 h". */
    if (duration < HORA_SECONDS(1))
        (void)snprintf(text, TIME_TEXT, "%lld ms", (long long)(duration / HORA_MS(1)));
    else if (seconds < 120)
        (void)snprintf(text, TIME_TEXT, "%lld s", seconds);
    else if (seconds < 7200)
        (void)snprintf(text, TIME_TEXT, "%lld min", seconds / 60);
    else if (seconds < 172800)
        (void)snprintf(text, TIME_TEXT, "%lld h", seconds / 3600);
    else
        (void)snprintf(text, TIME_TEXT, "%lld d", seconds / 86400);
    return text;
}

const char *times_took(double seconds, char text[TIME_TEXT])
{
    /* Virtual time does not pass while a process runs. */
    (void)snprintf(text, TIME_TEXT, "%s", seconds > 0 ? DURATION((hora_ns)(seconds * 1e9)) : "0 s");
    return text;
}

const char *times_relative(hora_instant time, hora_instant now, char text[TIME_TEXT])
{
    /* The difference of two times may be larger than hora_ns. */
    hora_ns difference;
    if (__builtin_sub_overflow(time.ns, now.ns, &difference))
        difference = time.ns > now.ns ? INT64_MAX : -INT64_MAX;
    if (difference > -HORA_SECONDS(1) && difference < HORA_SECONDS(1))
        (void)snprintf(text, TIME_TEXT, "now");
    else if (difference > 0)
        (void)snprintf(text, TIME_TEXT, "in %s", LENGTH(difference));
    else
        (void)snprintf(text, TIME_TEXT, "%s ago", LENGTH(difference == INT64_MIN ? INT64_MAX : -difference));
    return text;
}

const char *times_local(hora_instant time, const hora_zone *zone, bool with_ms, char text[TIME_TEXT])
{
    hora_local local;
    if (hora_zone_to_local(zone, time, &local) < 0) {
        text[0] = '\0';
        return text;
    }
    int length = snprintf(text, TIME_TEXT, "%04d-%02d-%02d %02d:%02d:%02d", (int)local.year, local.month,
                          local.day, local.hour, local.minute, local.second);
    if (with_ms)
        (void)snprintf(text + length, (size_t)(TIME_TEXT - length), ".%03d",
                       (int)(local.nanosecond / 1000000));
    return text;
}
