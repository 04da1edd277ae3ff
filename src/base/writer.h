/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - a text of any length, handed to a function of the user piece by piece
 *
 *     struct hora__writer out;
 *     hora__writer_begin(&out, write, context);
 *     hora__writer_text(&out, "{\"name\":");
 *     hora__writer_json(&out, name);
 *     ...
 *     return hora__writer_end(&out);
 *
 * The first error of that function is kept, and it is not called again. Nothing depends on the locale. Strings of the user may
 * be any bytes: what is not UTF-8 becomes U+FFFD, byte by byte, since neither JSON nor OpenMetrics may hold anything else. */
#ifndef HORA_BASE_WRITER_H
#define HORA_BASE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/event.h>

enum { HORA__WRITER_BUFFER = 512 };

struct hora__writer {
    hora_write_fn write;
    void *context;
    int error; /* what `write` returned; 0: so far all is well */
    size_t used;
    char buffer[HORA__WRITER_BUFFER];
};

void hora__writer_begin(struct hora__writer *out, hora_write_fn write, void *context);

/* Hand over what is left; returns the error, or 0. */
int hora__writer_end(struct hora__writer *out);

void hora__writer_char(struct hora__writer *out, char character);
void hora__writer_text(struct hora__writer *out, const char *text);
void hora__writer_int(struct hora__writer *out, int64_t number);

/* Seconds, exactly, with a point and as few digits after it as that takes, at least one: 0.000001234, 2.0, -0.5 */
void hora__writer_seconds(struct hora__writer *out, int64_t ns);
void hora__writer_long_seconds(struct hora__writer *out, uint64_t seconds, uint32_t nanoseconds);

/* The same as the value of a label, in the one form that OpenMetrics wants a number to have there: as %g of C, with .0 if it would look
 * like an integer. Not negative. 1e-06, 2.5e-05, 0.001, 10.0, 1e+06 */
void hora__writer_canonical_seconds(struct hora__writer *out, int64_t ns);

/* A string with its quotes; null for NULL. */
void hora__writer_json(struct hora__writer *out, const char *string);

/* The value of a label with its quotes; "" for NULL. */
void hora__writer_label(struct hora__writer *out, const char *value);

/* The text of a HELP line. OpenMetrics wants quotes escaped, the older format does not know that. */
void hora__writer_help(struct hora__writer *out, const char *text, bool escapes_quotes);

#endif
