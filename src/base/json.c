/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - JSON values, see json.h */
#include "base/json.h"

#include <assert.h>
#include <hora/clock.h>
#include <hora/trigger.h>
#include <stddef.h>

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

/* Writes the comma and the key in front of a value. */
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
