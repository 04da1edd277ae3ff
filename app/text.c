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

/* FNV-1a, and the last steps of splitmix64, which spread short texts over all bits. */
uint64_t text_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    return hash ^ (hash >> 31);
}
