/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - texts in memory of their own */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

char *text_copy(const char *text)
{
    if (text == NULL)
        return NULL;
    size_t size = strlen(text) + 1;
    return memcpy(memory(size), text, size);
}

char *text_format(const char *format, ...)
{
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    int length = vsnprintf(NULL, 0, format, values);
    va_end(values);
    char *text = memory((size_t)length + 1);
    (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void text_set(char **text, const char *with)
{
    char *copy = text_copy(with);
    free(*text);
    *text = copy;
}
