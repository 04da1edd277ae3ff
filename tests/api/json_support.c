/* SPDX-License-Identifier: Apache-2.0 */
/* json_support.c - see json_support.h */
#include "json_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { VALUE_MOST = 4096, DEPTH_MOST = 32 };

/* Each of these reads a value at `at`, and returns the position after it; NULL: there is no such value. */
static const char *read_value(const char *at, int depth);

static const char *skip_white(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* One character of UTF-8 that is more than one byte. */
static const char *read_wide(const char *at)
{
    unsigned char c = (unsigned char)*at;
    int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    unsigned long value = c & (0x3FU >> more);

    if (c < 0xC2 || c > 0xF4)
        return NULL;
    for (at++; more > 0; more--, at++) {
        if (((unsigned char)*at & 0xC0) != 0x80)
            return NULL;
        value = value << 6 | ((unsigned char)*at & 0x3FU);
    }
    bool is_short = (c >= 0xF0 && value < 0x10000) || (c >= 0xE0 && c < 0xF0 && value < 0x800);
    return is_short || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000) ? NULL : at;
}

static const char *read_string(const char *at)
{
    if (at == NULL || *at++ != '"')
        return NULL;
    while (at != NULL && *at != '"') {
        if ((unsigned char)*at < ' ')
            return NULL;
        if ((unsigned char)*at >= 0x80) {
            at = read_wide(at);
        } else if (*at != '\\') {
            at++;
        } else if (at[1] == 'u') {
            for (int i = 2; i < 6; i++)
                if (!is_hex(at[i]))
                    return NULL;
            at += 6;
        } else if (at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) != NULL) {
            at += 2;
        } else {
            return NULL;
        }
    }
    return at == NULL ? NULL : at + 1;
}

static const char *read_digits(const char *at)
{
    size_t count = at == NULL ? 0 : strspn(at, "0123456789");
    return count == 0 ? NULL : at + count;
}

static const char *read_number(const char *at)
{
    at += *at == '-' ? 1 : 0;
    bool has_zero = *at == '0';
    const char *end = read_digits(at);
    if (end == NULL || (has_zero && end != at + 1))
        return NULL;
    if (*end == '.')
        end = read_digits(end + 1);
    if (end != NULL && (*end == 'e' || *end == 'E')) {
        end++;
        end = read_digits(end + (*end == '+' || *end == '-' ? 1 : 0));
    }
    return end;
}

/* True if the key that ends here also occurs between `begin` and its start, on the same level. */
static bool is_twice(const char *begin, const char *key, const char *end)
{
    const char *at = begin;
    while (at < key) {
        const char *behind = read_string(at);
        if (behind - at == end - key && memcmp(at, key, (size_t)(end - key)) == 0)
            return true;
        at = skip_white(read_value(skip_white(skip_white(behind) + 1), 0));
        at = skip_white(at + (*at == ',' ? 1 : 0));
    }
    return false;
}

static const char *read_member(const char *begin, const char *at, int depth)
{
    const char *end = read_string(at);
    if (end == NULL || is_twice(begin, at, end))
        return NULL;
    end = skip_white(end);
    return *end == ':' ? read_value(skip_white(end + 1), depth) : NULL;
}

/* An object, or an array. */
static const char *read_many(const char *at, char close, int depth)
{
    const char *begin = skip_white(at + 1);
    if (*begin == close)
        return begin + 1;
    for (at = begin;; at = skip_white(at + 1)) {
        at = close == '}' ? read_member(begin, at, depth) : read_value(at, depth);
        if (at == NULL)
            return NULL;
        at = skip_white(at);
        if (*at != ',')
            return *at == close ? at + 1 : NULL;
    }
}

static const char *read_value(const char *at, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    if (depth > DEPTH_MOST)
        return NULL;
    if (*at == '{' || *at == '[')
        return read_many(at, *at == '{' ? '}' : ']', depth + 1);
    if (*at == '"')
        return read_string(at);
    for (int i = 0; i < 3; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    return read_number(at);
}

bool json_is_valid(const char *text)
{
    const char *end = read_value(skip_white(text), 0);
    return end != NULL && *skip_white(end) == '\0';
}

/* ---- finding ---- */

/* The member of an object with this key, or the value of an array with this index; NULL: not found. Without a
 * key: counts them. */
static const char *step(const char *at, const char *key, size_t length, int *ret_count)
{
    bool is_object = *at == '{';
    int index = 0;
    *ret_count = *at == '{' || *at == '[' ? 0 : -1;
    if (*ret_count < 0)
        return NULL;
    at = skip_white(at + 1);
    while (*at != '}' && *at != ']') {
        bool is_it = false;
        if (is_object) {
            const char *end = read_string(at);
            is_it = key != NULL && (size_t)(end - at) == length + 2 && strncmp(at + 1, key, length) == 0;
            at = skip_white(skip_white(end) + 1);
        } else {
            is_it = key != NULL && strtol(key, NULL, 10) == index;
        }
        if (is_it)
            return at;
        index++;
        at = skip_white(read_value(at, 0));
        at = skip_white(at + (*at == ',' ? 1 : 0));
    }
    *ret_count = index;
    return NULL;
}

static const char *find(const char *text, const char *path)
{
    const char *at = skip_white(text);
    int count;
    while (at != NULL && *path != '\0') {
        size_t length = strcspn(path, "/");
        at = step(at, path, length, &count);
        path += length + (path[length] == '/' ? 1 : 0);
    }
    return at;
}

/* The character that an escape stands for, in UTF-8. */
static size_t unescape(const char *at, char *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (*at != 'u') {
        to[0] = into[strchr(from, *at) - from];
        return 1;
    }
    char digits[5] = {at[1], at[2], at[3], at[4], '\0'};
    to[0] = (char)strtol(digits, NULL, 16); /* hora writes none beyond ASCII */
    return 1;
}

const char *json_at(const char *text, const char *path)
{
    static char value[VALUE_MOST];
    const char *at = find(text, path);
    size_t length = 0;
    if (at == NULL)
        return NULL;
    const char *end = read_value(at, 0);
    if (*at == '{' || *at == '[') {
        value[length++] = *at;
    } else if (*at != '"') {
        for (; at < end && length + 1 < sizeof(value); at++)
            value[length++] = *at;
    } else {
        for (at++; at < end - 1 && length + 1 < sizeof(value); at++) {
            if (*at != '\\') {
                value[length++] = *at;
                continue;
            }
            length += unescape(at + 1, value + length);
            at += at[1] == 'u' ? 5 : 1;
        }
    }
    value[length] = '\0';
    return value;
}

int json_count(const char *text, const char *path)
{
    const char *at = find(text, path);
    int count = -1;
    if (at != NULL)
        (void)step(at, NULL, 0, &count);
    return count;
}

void check_json(const char *file, int line, const char *text, const char *path, const char *want)
{
    const char *got = json_at(text, path);
    if (got == NULL || want == NULL ? (got == NULL) != (want == NULL) : strcmp(got, want) != 0)
        test_fail(file, line, "%s is %s instead of %s in %s", path, got == NULL ? "missing" : got,
                  want == NULL ? "missing" : want, text);
}
