/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - texts in memory of their own */
#include "text.h"

#include <stdarg.h>
#include <stdbool.h>
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

/* Returns the length of the UTF-8 character that starts here, or 0 if none does. */
static size_t character_length(const unsigned char *bytes, size_t rest)
{
    size_t length = bytes[0] < 0x80 ? 1 : bytes[0] >> 5 == 6 ? 2 : bytes[0] >> 4 == 14 ? 3 : 4;
    if (length == 4 && bytes[0] >> 3 != 30)
        return 0;
    if (length > rest)
        return 0;
    unsigned long code = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool is_valid = code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return is_valid ? length : 0;
}

size_t text_valid_utf8(const char *text, size_t length)
{
    size_t at = 0;
    for (size_t step; at < length; at += step) {
        step = character_length((const unsigned char *)text + at, length - at);
        if (step == 0)
            break;
    }
    return at;
}

void text_make_utf8(char *text)
{
    size_t length = strlen(text);
    for (size_t at = 0; (at += text_valid_utf8(text + at, length - at)) < length; at++)
        text[at] = '?';
}

int text_distance(const char *a, const char *b)
{
    enum { MOST = 100 };
    int row[MOST + 1];
    size_t width = strlen(b);
    if (width > MOST)
        return INT16_MAX;
    for (size_t j = 0; j <= width; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < width; j++) {
            int best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j + 1] = diagonal + 1 < best ? diagonal + 1 : best;
        }
    }
    return row[width];
}
