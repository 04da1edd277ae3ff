/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - fields of JSON objects that may be missing */
#ifndef APP_CONTROL_FIELDS_H
#define APP_CONTROL_FIELDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

/* The text of a field; "" if it is missing or not a text. */
static inline const char *field_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* The text at a place of a list; "" if it is not a text. */
static inline const char *item_text(const json_t *list, size_t i)
{
    const char *text = json_string_value(json_array_get(list, i));
    return text != NULL ? text : "";
}

/* The number of a field; 0 if it is missing or not a whole number. */
static inline int64_t field_count(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* The number of a field, which may have a fraction; 0 if it is missing or not a number. */
static inline double field_number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static inline bool field_is(const json_t *object, const char *name, const char *text)
{
    return strcmp(field_text(object, name), text) == 0;
}

static inline bool field_is_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

#endif
