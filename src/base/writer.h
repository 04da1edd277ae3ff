/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - a text of any length, handed piece by piece to a function of the caller
 *
 *     struct hora__writer out;
 *     hora__writer_begin(&out, write, context);
 *     hora__writer_text(&out, "{\"name\":");
 *     hora__writer_json(&out, name);
 *     ...
 *     return hora__writer_end(&out);
 *
 * The writer keeps the first error of that function and does not call it again; callers check for errors
 * once, at the end. Nothing depends on the locale. Strings of the user may hold any bytes. An invalid byte is
 * written as U+FFFD, since JSON and OpenMetrics allow only UTF-8. */
#ifndef HORA_BASE_WRITER_H
#define HORA_BASE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/event.h>

/* The most bytes that one call of the caller's function receives. */
enum { HORA__WRITER_BUFFER = 512 };

struct hora__writer {
    hora_write_fn write; /* the caller's function */
    void *context;       /* passed to `write` */
    int error;           /* returned by `write`; 0: no error so far */
    size_t used;         /* bytes in the buffer */
    char buffer[HORA__WRITER_BUFFER];
};

/* Starts an empty text. */
void hora__writer_begin(struct hora__writer *out, hora_write_fn write, void *context);

/* Hands over the rest. Returns the first error, or 0. */
int hora__writer_end(struct hora__writer *out);

void hora__writer_char(struct hora__writer *out, char character);
void hora__writer_text(struct hora__writer *out, const char *text);
void hora__writer_int(struct hora__writer *out, int64_t number);

/* Write a time in seconds, exactly, with a point and as few decimals as possible, but at least one:
 * 0.000001234, 2.0, -0.5. The second function is for times that do not fit into 64 bits of nanoseconds. */
void hora__writer_seconds(struct hora__writer *out, int64_t ns);
void hora__writer_long_seconds(struct hora__writer *out, uint64_t seconds, uint32_t nanoseconds);

/* Writes a time in seconds in the canonical form that OpenMetrics requires for the value of a label: like %g
 * of C, with .0 added to integers: 1e-06, 2.5e-05, 0.001, 10.0, 1e+06. `ns` must not be negative. */
void hora__writer_canonical_seconds(struct hora__writer *out, int64_t ns);

/* Writes a JSON string in quotes, or null for NULL. */
void hora__writer_json(struct hora__writer *out, const char *string);

/* Writes the value of a label in quotes, or "" for NULL. */
void hora__writer_label(struct hora__writer *out, const char *value);

/* Writes the text of a HELP line. OpenMetrics wants quotes escaped, the older format does not. */
void hora__writer_help(struct hora__writer *out, const char *text, bool escapes_quotes);

/* ---- JSON ---- */

/* One JSON value, written piece by piece through a writer.
 *
 *     struct hora__json json;
 *     hora__json_begin(&json, write, context);
 *     hora__json_open(&json, NULL, '{');
 *     hora__json_int(&json, "count", 5);
 *     hora__json_close(&json, '}');
 *     return hora__json_end(&json);
 *
 * Each function takes a key; pass NULL inside an array and at the top level. The functions insert the commas.
 * Durations are written in seconds. */
struct hora__json {
    struct hora__writer out;
    bool needs_comma; /* a comma must precede the next value of the current object or array */
};

void hora__json_begin(struct hora__json *json, hora_write_fn write, void *context);

/* Ends the line and hands over the rest. Returns the first error, or 0. */
int hora__json_end(struct hora__json *json);

/* Open and close an object or an array. `bracket` is '{' or '[' to open, '}' or ']' to close. */
void hora__json_open(struct hora__json *json, const char *key, char bracket);
void hora__json_close(struct hora__json *json, char bracket);

void hora__json_null(struct hora__json *json, const char *key);
void hora__json_bool(struct hora__json *json, const char *key, bool value);
void hora__json_int(struct hora__json *json, const char *key, int64_t value);

/* Writes a string, or null for NULL. */
void hora__json_text(struct hora__json *json, const char *key, const char *value);

/* Writes a duration in seconds, or null for HORA_FOREVER and HORA_NEVER. */
void hora__json_seconds(struct hora__json *json, const char *key, hora_ns value);

#endif
