/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - error codes as text, the reasons that calls give for an error, and the version */
#include "base/reason.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hora/error.h>
#include <hora/version.h>

/* HORA_ERROR_TABLE in hora/error.h generates the cases below, so that constants, names and texts always
 * agree. */
const char *hora_strerror(int error)
{
    switch (error) {
    case 0:
        return "success";
#define TEXT(name, value, text) \
    case name:                  \
        return text;
        HORA_ERROR_TABLE(TEXT)
#undef TEXT
    default:
        return "unknown error";
    }
}

const char *hora_errname(int error)
{
    switch (error) {
    case 0:
        return "0";
#define NAME(name, value, text) \
    case name:                  \
        return #name;
        HORA_ERROR_TABLE(NAME)
#undef NAME
    default:
        return "HORA_E?";
    }
}

const char *hora_version(void)
{
    return HORA_VERSION_STRING;
}

/* Replaces the end of a message that did not fit. */
static const char cut[] = "...";

/* Converts an offset or a length to int, the type that hora_error has for them. Larger values become
 * INT_MAX. */
static int to_int(size_t number)
{
    return number > INT_MAX ? INT_MAX : (int)number;
}

/* Does nothing if reason is NULL, so that callers need not check whether the user wants the text. */
void hora__reason_write(hora_error *reason, int code, const char *field, const char *format, ...)
{
    assert(code < 0);
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

void hora__reason_set_range(hora_error *reason, size_t offset, size_t length)
{
    assert(reason == NULL || reason->code < 0);
    if (reason == NULL)
        return;
    reason->offset = to_int(offset);
    reason->length = to_int(length);
}
