/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - names and texts of the error codes, made from the table in hora/error.h; the version */
#include <hora/error.h>
#include <hora/version.h>

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
