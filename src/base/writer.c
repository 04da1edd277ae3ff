/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - numbers, strings and JSON as text, collected in a buffer
 *
 * Invariants        W1 between calls, `used` is less than the size of the buffer.
 *                   W2 after an error the writer hands over no more text. */
#include "base/writer.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include <hora/clock.h>
#include <hora/trigger.h>

#include "base/ns.h"
#include "base/text.h"

/* Hands the contents of the buffer over to the caller's function. After an error it only discards them. */
static void flush(struct hora__writer *out)
{
    assert(out->used <= sizeof out->buffer);
    if (out->used > 0 && out->error == 0) /* W2 */
        out->error = out->write(out->buffer, out->used, out->context);
    out->used = 0;
}

void hora__writer_begin(struct hora__writer *out, hora_write_fn write, void *context)
{
    assert(write != NULL);
    out->write = write;
    out->context = context;
    out->error = 0;
    out->used = 0;
}

int hora__writer_end(struct hora__writer *out)
{
    assert(out->used < sizeof out->buffer); /* W1 */
    flush(out);
    return out->error;
}

/* All other functions write through this one, so it alone has to keep W1. */
void hora__writer_char(struct hora__writer *out, char character)
{
    assert(out->used < sizeof out->buffer); /* W1 */
    out->buffer[out->used++] = character;
    if (out->used == sizeof out->buffer)
        flush(out);
}

void hora__writer_text(struct hora__writer *out, const char *text)
{
    assert(text != NULL);
    for (; *text != '\0'; text++)
        hora__writer_char(out, *text);
}

/* ---- numbers ---- */

enum { DIGITS_MAX = 20 }; /* of UINT64_MAX */

/* Writes a number, with leading zeros if it has fewer than `digits` digits. */
static void add_number(struct hora__writer *out, uint64_t number, int digits)
{
    assert(digits <= DIGITS_MAX);
    char text[DIGITS_MAX + 1];
    struct hora__text all = hora__text_begin(text, sizeof text);
    hora__text_add_number(&all, number, digits);
    (void)hora__text_end(&all);
    hora__writer_text(out, text);
}

/* Returns the absolute value, also of INT64_MIN, which has none in int64_t. */
static uint64_t magnitude(int64_t number)
{
    return number < 0 ? -(uint64_t)number : (uint64_t)number;
}

void hora__writer_int(struct hora__writer *out, int64_t number)
{
    if (number < 0)
        hora__writer_char(out, '-');
    add_number(out, magnitude(number), 1);
}

void hora__writer_long_seconds(struct hora__writer *out, uint64_t seconds, uint32_t nanoseconds)
{
    assert(nanoseconds < HORA__SECOND);
    /* Drop trailing zeros, but keep one digit. */
    int digits = 9;
    for (; nanoseconds % 10 == 0 && digits > 1; nanoseconds /= 10)
        digits--;
    add_number(out, seconds, 1);
    hora__writer_char(out, '.');
    add_number(out, nanoseconds, digits);
}

void hora__writer_seconds(struct hora__writer *out, int64_t ns)
{
    uint64_t length = magnitude(ns);
    if (ns < 0)
        hora__writer_char(out, '-');
    hora__writer_long_seconds(out, length / (uint64_t)HORA__SECOND,
                              (uint32_t)(length % (uint64_t)HORA__SECOND));
}

/* Computes the digits with integers: printf would round them and depend on the locale. */
void hora__writer_canonical_seconds(struct hora__writer *out, int64_t ns)
{
    assert(ns >= 0);
    /* Like %g, use an exponent below 1e-4 and from 1e6 on. */
    bool is_small = ns > 0 && ns < HORA__SECOND / 10000;
    if (!is_small && ns / HORA__SECOND < 1000000) {
        hora__writer_seconds(out, ns);
        return;
    }
    int exponent = -9;        /* a digit_value of 1 is a nanosecond */
    uint64_t digit_value = 1; /* value of the first digit, in nanoseconds */
    for (; (uint64_t)ns / digit_value >= 10; digit_value *= 10)
        exponent++;
    uint64_t rest = (uint64_t)ns % digit_value;
    add_number(out, (uint64_t)ns / digit_value, 1);
    if (rest > 0)
        hora__writer_char(out, '.');
    for (; rest > 0; rest %= digit_value) {
        digit_value /= 10;
        hora__writer_char(out, (char)('0' + rest / digit_value));
    }
    hora__writer_char(out, 'e');
    hora__writer_char(out, exponent < 0 ? '-' : '+');
    add_number(out, magnitude(exponent), 2);
}

/* ---- strings ---- */

/* Writes one character, or U+FFFD for an invalid byte. Returns the position behind it. */
static const char *add_character(struct hora__writer *out, const char *at)
{
    int length = hora__utf8_length(at);
    if (length == 0) {
        hora__writer_text(out, "\xEF\xBF\xBD");
        return at + 1;
    }
    for (int i = 0; i < length; i++)
        hora__writer_char(out, at[i]);
    return at + length;
}

/* Returns the letter that follows the backslash in JSON's short escapes, or 0 if the character has none. */
static char json_letter(char character)
{
    /* `letter` corresponds to `character` by position in these two strings. */
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char to[] = "\"\\bfnrt";
    const char *found = strchr(from, character);
    char letter = '\0';
    if (found != NULL)
        letter = to[found - from];
    return letter;
}

/* Escapes quotes, backslashes and control characters, and replaces invalid bytes. Other characters are
 * copied. */
void hora__writer_json(struct hora__writer *out, const char *string)
{
    static const char hex[] = "0123456789abcdef";
    if (string == NULL) {
        hora__writer_text(out, "null");
        return;
    }
    hora__writer_char(out, '"');
    while (*string != '\0') {
        unsigned char byte = (unsigned char)*string;
        char letter = json_letter(*string);
        if (letter == '\0' && byte >= ' ') {
            string = add_character(out, string);
            continue;
        }
        /* A control character without a short escape becomes \u00 and two hexadecimal digits. */
        hora__writer_text(out, letter != '\0' ? "\\" : "\\u00");
        if (letter == '\0') {
            hora__writer_char(out, hex[byte / 16]);
            letter = hex[byte % 16];
        }
        hora__writer_char(out, letter);
        string++;
    }
    hora__writer_char(out, '"');
}

/* Writes a text with a backslash before each backslash and line feed, and before each quote if
 * escapes_quotes: these are the characters that the metrics formats escape. */
static void add_escaped(struct hora__writer *out, const char *text, bool escapes_quotes)
{
    while (*text != '\0') {
        if (*text != '\\' && *text != '\n' && (*text != '"' || !escapes_quotes)) {
            text = add_character(out, text);
            continue;
        }
        hora__writer_char(out, '\\');
        char letter = *text;
        if (letter == '\n')
            letter = 'n';
        hora__writer_char(out, letter);
        text++;
    }
}

void hora__writer_label(struct hora__writer *out, const char *value)
{
    hora__writer_char(out, '"');
    add_escaped(out, value == NULL ? "" : value, true);
    hora__writer_char(out, '"');
}

void hora__writer_help(struct hora__writer *out, const char *text, bool escapes_quotes)
{
    assert(text != NULL);
    add_escaped(out, text, escapes_quotes);
}

/* ---- JSON ---- */

void hora__json_begin(struct hora__json *json, hora_write_fn write, void *context)
{
    hora__writer_begin(&json->out, write, context);
    json->needs_comma = false;
}

int hora__json_end(struct hora__json *json)
{
    hora__writer_char(&json->out, '\n');
    return hora__writer_end(&json->out);
}

/* Writes the comma and the key that precede a value. A key of NULL means that the value has none. */
static void begin_value(struct hora__json *json, const char *key)
{
    if (json->needs_comma)
        hora__writer_char(&json->out, ',');
    json->needs_comma = true;
    if (key == NULL)
        return;
    hora__writer_json(&json->out, key);
    hora__writer_char(&json->out, ':');
}

void hora__json_open(struct hora__json *json, const char *key, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    begin_value(json, key);
    hora__writer_char(&json->out, bracket);
    json->needs_comma = false;
}

void hora__json_close(struct hora__json *json, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    hora__writer_char(&json->out, bracket);
    json->needs_comma = true;
}

void hora__json_null(struct hora__json *json, const char *key)
{
    begin_value(json, key);
    hora__writer_text(&json->out, "null");
}

void hora__json_bool(struct hora__json *json, const char *key, bool value)
{
    begin_value(json, key);
    hora__writer_text(&json->out, value ? "true" : "false");
}

void hora__json_int(struct hora__json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    hora__writer_int(&json->out, value);
}

void hora__json_text(struct hora__json *json, const char *key, const char *value)
{
    begin_value(json, key);
    hora__writer_json(&json->out, value);
}

void hora__json_seconds(struct hora__json *json, const char *key, hora_ns value)
{
    if (value == HORA_FOREVER || value == HORA_NEVER) {
        hora__json_null(json, key);
        return;
    }
    begin_value(json, key);
    hora__writer_seconds(&json->out, value);
}
