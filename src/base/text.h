/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - write a text into memory of limited size, and count what it would need
 *
 *     struct hora__text out = hora__text_begin(text, size);
 *     hora__text_add(&out, "at ");
 *     hora__text_add_number(&out, 5, 2);
 *     return hora__text_end(&out);
 *
 * As snprintf: what does not fit is cut off, the final NUL always fits unless size is 0, and the length is that of the
 * whole. */
#ifndef HORA_BASE_TEXT_H
#define HORA_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct hora__text {
    char *text;
    size_t size;
    size_t length; /* of the whole */
};

static inline struct hora__text hora__text_begin(char *text, size_t size)
{
    return (struct hora__text){text, size, 0};
}

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

/* With leading zeros, if it has less than `digits`. */
static inline void hora__text_add_number(struct hora__text *out, uint64_t number, int digits)
{
    char reversed[20];
    int count = 0;
    do
        reversed[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    for (int i = count; i < digits; i++)
        hora__text_add_char(out, '0');
    while (count > 0)
        hora__text_add_char(out, reversed[--count]);
}

static inline int hora__text_end(struct hora__text *out)
{
    if (out->size > 0)
        out->text[out->length < out->size ? out->length : out->size - 1] = '\0';
    return (int)out->length;
}

#endif
