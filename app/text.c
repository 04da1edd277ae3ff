/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - texts in memory of their own */
#include "text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { MOST_NEAREST = 64 }; /* bytes of a name for which text_nearest looks for another */

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

/* ---- names ---- */

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter;
}

/* Compares the first bytes of two texts. Upper and lower case are the same. */
static bool are_same(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (lower(a[i]) != lower(b[i]) || a[i] == '\0')
            return a[i] == b[i];
    return true;
}

/* Returns the number of letters to add, remove, change or swap with the next one to get from one word to the
 * other; upper and lower case are the same. Both are at most MOST_NEAREST bytes long. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][MOST_NEAREST + 1]; /* of the usual table: this one, the last, the one before */
    size_t length = strlen(b);
    for (size_t j = 0; j <= length; j++)
        rows[0][j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t *now = rows[i % 3], *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= length; j++) {
            bool same = are_same(a + i - 1, b + j - 1, 1);
            now[j] = least_of(last[j - 1] + !same, least_of(last[j], now[j - 1]) + 1);
            bool swapped =
                i > 1 && j > 1 && are_same(a + i - 1, b + j - 2, 1) && are_same(a + i - 2, b + j - 1, 1);
            if (swapped)
                now[j] = least_of(now[j], before[j - 2] + 1);
        }
    }
    return rows[strlen(a) % 3][length];
}

const char *text_nearest(const char *text, const char *const *first, size_t count, size_t stride)
{
    const char *nearest = NULL;
    size_t length = strlen(text);
    if (length > MOST_NEAREST)
        return NULL;
    size_t best = length <= 3 ? 2 : length <= 6 ? 3 : 4; /* one more than is near enough */
    for (size_t i = 0; i < count; i++) {
        const char *word = *(const char *const *)(const void *)((const char *)first + i * stride);
        size_t other = strlen(word);
        if (!nearest && length >= 3 && are_same(text, word, length))
            nearest = word; /* the start of a word, unless another one is nearer */
        size_t difference = other > length ? other - length : length - other;
        if (difference >= best || other > MOST_NEAREST)
            continue;
        size_t steps = distance(text, word);
        if (steps < best) {
            best = steps;
            nearest = word;
        }
    }
    return nearest;
}
