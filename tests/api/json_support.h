/* SPDX-License-Identifier: Apache-2.0 */
/* json_support.h - reading JSON, for the tests of what hora writes */
#ifndef HORA_TESTS_API_JSON_SUPPORT_H
#define HORA_TESTS_API_JSON_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a text is one JSON value, strictly: RFC 8259, in UTF-8, no key twice in an object, and nothing behind it but white space. */
bool json_is_valid(const char *text);

/* The value at a path such as "workers/0/task/name" in a valid text: a string without its quotes and escapes, "{" for an object, "[" for
 * an array, else as it stands there. NULL: there is none. Valid until the next call. */
const char *json_at(const char *text, const char *path);

/* How many values an array, or members an object, at a path has; -1: there is none. */
int json_count(const char *text, const char *path);

void check_json(const char *file, int line, const char *text, const char *path, const char *want);
#define CHECK_JSON(text, path, want) check_json(__FILE__, __LINE__, (text), (path), (want))

#endif
