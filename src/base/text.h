/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - characters, UTF-8, and texts written into memory of limited size
 *
 *     struct hora__text out = hora__text_begin(text, size);
 *     hora__text_add(&out, "at ");
 *     hora__text_add_number(&out, 5, 2);
 *     return hora__text_end(&out);
 *
 * A text works like snprintf: it cuts off the part that does not fit, always ends with a NUL unless size is
 * 0, and returns the length of the whole text. Nothing here depends on the locale. base/writer.h is for texts
 * of any length. */
#ifndef HORA_BASE_TEXT_H
#define HORA_BASE_TEXT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>

/* ---- characters ---- */

static inline bool hora__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the length in bytes of the UTF-8 character at the start of `text`, 1 to 4, or 0 if the bytes there
 * are not a character: an invalid first byte, an overlong form, half of a UTF-16 surrogate pair, or a value
 * beyond U+10FFFF. The final NUL counts as a character, and the function reads no byte behind it. */
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

/* Copies as many whole characters as fit into `size` bytes with a final NUL. An invalid byte counts as one
 * character. */
static inline void hora__utf8_copy(char *to, size_t size, const char *text)
{
    assert(size > 0);
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

/* ---- texts ---- */

/* A text that is being written. */
struct hora__text {
    char *text;    /* the caller's memory; may be NULL if size is 0 */
    size_t size;   /* of that memory, in bytes */
    size_t length; /* of the whole text so far, whether it fits or not */
};

/* Starts an empty text in `size` bytes of the caller's memory. */
static inline struct hora__text hora__text_begin(char *text, size_t size)
{
    assert(text != NULL || size == 0);
    return (struct hora__text){text, size, 0};
}

/* Adds a character if it fits; there always remains room for the final NUL. */
static inline void hora__text_add_char(struct hora__text *out, char character)
{
    if (out->length + 1 < out->size)
        out->text[out->length] = character;
    out->length++;
}

static inline void hora__text_add(struct hora__text *out, const char *text)
{
    for (; *text != '\0'; text++)
        hora__text_add_char(out, *text);
}

/* Adds a number, with leading zeros if it has fewer than `digits` digits. */
static inline void hora__text_add_number(struct hora__text *out, uint64_t number, int digits)
{
    char reversed[20]; /* UINT64_MAX has 20 digits */
    int count = 0;
    do
        reversed[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    for (int i = count; i < digits; i++)
        hora__text_add_char(out, '0');
    while (count > 0)
        hora__text_add_char(out, reversed[--count]);
}

/* Writes the final NUL and returns the length of the whole text, like snprintf: the text was cut off if this
 * is not less than the size. */
static inline int hora__text_end(struct hora__text *out)
{
    if (out->size > 0)
        out->text[out->length < out->size ? out->length : out->size - 1] = '\0';
    return (int)out->length;
}

/* ---- numbers and times for people to read ---- */

/* Adds a duration rounded down to the precision that people read: "250 us", "3.2 s", "9 s", "14 min", "5 h 12
 * min", "3 d 4 h". A negative duration reads as "0 s". */
void hora__text_add_duration(struct hora__text *out, hora_ns duration);

/* Adds "1st", "2nd", "11th", "413th". The number must not be negative. */
void hora__text_add_ordinal(struct hora__text *out, int64_t number);

/* Adds a number and a noun: "1 task", "412 tasks". */
void hora__text_add_count(struct hora__text *out, int64_t number, const char *noun);

/* Adds a number, which may be negative. */
void hora__text_add_int(struct hora__text *out, int64_t number);

#endif
