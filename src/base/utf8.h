/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - which bytes are a character */
#ifndef HORA_BASE_UTF8_H
#define HORA_BASE_UTF8_H

#include <stddef.h>

/* How many bytes the character at the beginning of this text has, 1 to 4; 0 if it is none: a byte that cannot stand there, a form that is
 * longer than needed, half of a pair of UTF-16, or beyond U+10FFFF. The final NUL is a character; what is behind it is not read. */
static inline int hora__utf8_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80)
        return 1;
    int length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    unsigned char least = at[0] == 0xE0 ? 0xA0 : at[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char most = at[0] == 0xED ? 0x9F : at[0] == 0xF4 ? 0x8F : 0xBF;
    if (at[0] < 0xC2 || at[0] > 0xF4 || at[1] < least || at[1] > most)
        return 0;
    for (int i = 2; i < length; i++) {
        if (at[i] < 0x80 || at[i] > 0xBF)
            return 0;
    }
    return length;
}

/* Copies as much of a text as fits into `size` bytes with a final NUL, in whole characters. A byte that is no character counts as one. */
static inline void hora__utf8_copy(char *to, size_t size, const char *text)
{
    size_t length = 0;
    while (text[length] != '\0') {
        int more = hora__utf8_length(text + length);
        size_t next = length + (size_t)(more > 0 ? more : 1);
        if (next >= size)
            break;
        for (; length < next; length++)
            to[length] = text[length];
    }
    to[length] = '\0';
}

#endif
