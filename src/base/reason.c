/* SPDX-License-Identifier: Apache-2.0 */
/* reason.c - say why a call refuses, in the caller's hora_error */
#include "base/reason.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char cut[] = "...";

static int to_int(size_t number)
{
    return number > INT_MAX ? INT_MAX : (int)number;
}

void hora__reason_write(hora_error *reason, int code, const char *field, const char *format, ...)
{
    if (reason == NULL)
        return;
    *reason = (hora_error){.code = code, .offset = -1, .length = 0, .field = field};
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(reason->message, sizeof reason->message, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof reason->message)
        memcpy(reason->message + sizeof reason->message - sizeof cut, cut, sizeof cut);
}

void hora__reason_set_place(hora_error *reason, size_t offset, size_t length)
{
    if (reason == NULL)
        return;
    reason->offset = to_int(offset);
    reason->length = to_int(length);
}
