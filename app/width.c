/* SPDX-License-Identifier: Apache-2.0 */
/* width.c - how many columns of a terminal a text takes
 *
 * The C library knows the width of a character in a locale with UTF-8. The locale of the process is not
 * changed: these functions switch that of the thread and switch it back. */
#define _XOPEN_SOURCE 700 /* wcwidth */
#include "width.h"

#include <locale.h>
#include <stdint.h>
#include <wchar.h>

/* Decodes the first character. Returns -1 if it is not UTF-8; it is one byte then. */
static int32_t decode(const char *text, size_t *ret_size)
{
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* of a character with so many bytes */
    unsigned char lead = (unsigned char)*text;
    size_t size = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
    int32_t code = size == 1 ? lead : lead & (0x7F >> size);
    *ret_size = 1;
    for (size_t i = 1; i < size; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80)
            return -1;
        code = code << 6 | (text[i] & 0x3F);
    }
    if (size == 0 || code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return -1;
    *ret_size = size;
    return code;
}

int width_of_first(const char *text, size_t *ret_size)
{
    static locale_t utf8;
    int32_t code = decode(text, ret_size);
    if (code < 0x80)
        return code >= ' ' && code < 127 ? 1 : -1;
    if (utf8 == (locale_t)0)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (utf8 == (locale_t)0) /* a C library without it: one column is right for most scripts */
        return code < 0xA0 ? -1 : 1;
    locale_t before = uselocale(utf8);
    int width = wcwidth((wchar_t)code);
    (void)uselocale(before);
    return width;
}

int width_of(const char *text)
{
    int columns = 0;
    size_t size;
    for (; *text != '\0'; text += size) {
        int width = width_of_first(text, &size);
        columns += width < 0 ? 1 : width;
    }
    return columns;
}

size_t width_fitting(const char *text, int columns)
{
    size_t fitting = 0;
    size_t size;
    for (; text[fitting] != '\0'; fitting += size) {
        int width = width_of_first(text + fitting, &size);
        columns -= width < 0 ? 1 : width;
        if (columns < 0)
            break;
    }
    return fitting;
}
