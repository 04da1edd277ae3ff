/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - one JSON value, written piece by piece through a writer, see writer.h
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
#ifndef HORA_BASE_JSON_H
#define HORA_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/writer.h"

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
