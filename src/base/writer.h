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
 * The writer keeps the first error of that function and does not call it again. Nothing depends on the
 * locale. Strings of the user may hold any bytes. An invalid byte is written as U+FFFD, since JSON and
 * OpenMetrics allow only UTF-8. */
#ifndef HORA_BASE_WRITER_H
#define HORA_BASE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/event.h>

enum { HORA__WRITER_BUFFER = 512 };

struct hora__writer {
    hora_write_fn write;
    void *context;
    int error; /* returned by `write`; 0: no error so far */
    size_t used;
    char buffer[HORA__WRITER_BUFFER];
};

void hora__writer_begin(struct hora__writer *out, hora_write_fn write, void *context);

/* Hands over the rest. Returns the first error, or 0. */
int hora__writer_end(struct hora__writer *out);

void hora__writer_char(struct hora__writer *out, char character);
void hora__writer_text(struct hora__writer *out, const char *text);
void hora__writer_int(struct hora__writer *out, int64_t number);

/* Seconds, exact, with a point and as few decimals as possible, but at least one: 0.000001234, 2.0, -0.5 */
void hora__writer_seconds(struct hora__writer *out, int64_t ns);
void hora__writer_long_seconds(struct hora__writer *out, uint64_t seconds, uint32_t nanoseconds);

/* Seconds as the value of a label, in the canonical form that OpenMetrics requires there: like %g of C, with
 * .0 added to integers: 1e-06, 2.5e-05, 0.001, 10.0, 1e+06. `ns` must not be negative. */
void hora__writer_canonical_seconds(struct hora__writer *out, int64_t ns);

/* A string in quotes; NULL is written as null. */
void hora__writer_json(struct hora__writer *out, const char *string);

/* The value of a label in quotes; NULL is written as "". */
void hora__writer_label(struct hora__writer *out, const char *value);

/* The text of a HELP line. OpenMetrics wants quotes escaped, the older format does not. */
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
    bool needs_comma; /* before the next value */
};

void hora__json_begin(struct hora__json *json, hora_write_fn write, void *context);

/* Ends the line, then like hora__writer_end. */
int hora__json_end(struct hora__json *json);

/* bracket: '{' or '[' to open, '}' or ']' to close. */
void hora__json_open(struct hora__json *json, const char *key, char bracket);
void hora__json_close(struct hora__json *json, char bracket);

void hora__json_null(struct hora__json *json, const char *key);
void hora__json_bool(struct hora__json *json, const char *key, bool value);
void hora__json_int(struct hora__json *json, const char *key, int64_t value);

/* NULL is written as null. */
void hora__json_text(struct hora__json *json, const char *key, const char *value);

/* HORA_FOREVER and HORA_NEVER are written as null. */
void hora__json_seconds(struct hora__json *json, const char *key, hora_ns value);

#endif
