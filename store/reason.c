/* SPDX-License-Identifier: Apache-2.0 */
/* reason.c - write down why a call fails */
#include "reason.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hora__store_reason(hora_error *reason, int code, const char *field, const char *format, ...)
{
    assert(code < 0);
    if (reason == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(reason->message, sizeof reason->message, format, arguments);
    va_end(arguments);
    if (length < 0)
        reason->message[0] = '\0';
    else if ((size_t)length >= sizeof reason->message)
        memcpy(reason->message + sizeof reason->message - 4, "...", 4);
    reason->code = code;
    reason->offset = -1;
    reason->length = 0;
    reason->field = field;
}

void hora__store_success(hora_error *reason)
{
    if (reason != NULL)
        reason->code = 0;
}
