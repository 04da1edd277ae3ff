/* SPDX-License-Identifier: Apache-2.0 */
/* offset.c - fixed offsets as text: "+05:30" */
#include <stdio.h>

#include "base/text.h"
#include "cron/zone.h"

enum { HOURS_MOST = 18 };

static bool read_pair(const char *text, int *ret_number)
{
    if (!hora__is_digit(text[0]) || !hora__is_digit(text[1]))
        return false;
    *ret_number = (text[0] - '0') * 10 + (text[1] - '0');
    return true;
}

/* The digits after the sign: hours, minutes, seconds, as many as there are. */
static bool read_parts(const char *text, size_t length, int parts[3])
{
    if (length == 1 && hora__is_digit(text[0])) {
        parts[0] = text[0] - '0';
        return true;
    }
    bool has_colons = length > 2 && text[2] == ':';
    size_t step = has_colons ? 3 : 2, count = (length + step - 2) / step;
    if (count < 1 || count > 3 || length != (count - 1) * step + 2)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!read_pair(text + i * step, &parts[i]))
            return false;
        if (has_colons && i > 0 && text[i * step - 1] != ':')
            return false;
    }
    return true;
}

bool hora__offset_parse(const char *text, size_t length, int32_t *ret_offset)
{
    int parts[3] = {0, 0, 0};
    if (length < 2 || (text[0] != '+' && text[0] != '-') || !read_parts(text + 1, length - 1, parts))
        return false;
    if (parts[1] > 59 || parts[2] > 59)
        return false;
    int32_t sum = parts[0] * 3600 + parts[1] * 60 + parts[2];
    *ret_offset = text[0] == '-' ? -sum : sum;
    return sum <= HOURS_MOST * 3600;
}

size_t hora__offset_format(int32_t offset, char text[HORA__OFFSET_TEXT])
{
    unsigned rest = (unsigned)(offset < 0 ? -offset : offset);
    if (rest == 0)
        return (size_t)snprintf(text, HORA__OFFSET_TEXT, "Z");
    char sign = offset < 0 ? '-' : '+';
    unsigned hours = rest / 3600 % 100, minutes = rest / 60 % 60, seconds = rest % 60;
    if (seconds == 0)
        return (size_t)snprintf(text, HORA__OFFSET_TEXT, "%c%02u:%02u", sign, hours, minutes);
    return (size_t)snprintf(text, HORA__OFFSET_TEXT, "%c%02u:%02u:%02u", sign, hours, minutes, seconds);
}
