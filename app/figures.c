/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - numbers and durations as short texts for people */
#include "figures.h"

#include <stdio.h>

/* Writes a duration of at least a minute with its two largest units. */
static void write_long(hora_ns time, char *text)
{
    long long seconds = (long long)(time / HORA_SECONDS(1));
    if (seconds < 3600)
        (void)snprintf(text, FIGURE_TEXT, "%lld min %lld s", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        (void)snprintf(text, FIGURE_TEXT, "%lld h %lld min", seconds / 3600, seconds / 60 % 60);
    else
        (void)snprintf(text, FIGURE_TEXT, "%lld d %lld h", seconds / 86400, seconds / 3600 % 24);
}

const char *figures_duration(hora_ns time, char *text)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    if (time >= HORA_SECONDS(60)) {
        write_long(time, text);
        return text;
    }
    double value = (double)time;
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && (value >= 999.5 || value <= -999.5)) {
        value /= 1000;
        unit++;
    }
    (void)snprintf(text, FIGURE_TEXT, "%.*f %s", unit > 0 && value < 9.95 && value > -9.95 ? 1 : 0, value,
                   units[unit]);
    return text;
}

const char *figures_count(int64_t number, char *text)
{
    char digits[FIGURE_TEXT];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)number);
    int first = number < 0 ? 1 : 0; /* the sign belongs to no group */
    char *end = text;
    for (int i = 0; i < length; i++) {
        if (i > first && (length - i) % 3 == 0)
            *end++ = ',';
        *end++ = digits[i];
    }
    *end = '\0';
    return text;
}
