/* SPDX-License-Identifier: Apache-2.0 */
/* json_support.h - a JSON reader, for the tests of hora's JSON output */
#ifndef HORA_TESTS_API_JSON_SUPPORT_H
#define HORA_TESTS_API_JSON_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>

/* True if a text is exactly one JSON value by RFC 8259, in UTF-8, with no duplicate keys in an object, and
 * followed only by white space. */
bool json_is_valid(const char *text);

/* Returns the value at a path such as "workers/0/task/name" in a valid text: a string without its quotes and
 * escapes, "{" for an object, "[" for an array, otherwise the text of the value. NULL: not found. Valid until
 * the next call. */
const char *json_at(const char *text, const char *path);

/* How many values an array, or members an object, at a path has; -1: there is none. */
int json_count(const char *text, const char *path);

void check_json(const char *file, int line, const char *text, const char *path, const char *want);
#define CHECK_JSON(text, path, want) check_json(__FILE__, __LINE__, (text), (path), (want))

#endif
