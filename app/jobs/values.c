/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - read values of job files: texts, numbers, durations, sizes, commands */
#include "jobs/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_name(const char *text)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t length = strlen(text);
    return length >= 1 && length <= 100 && strspn(text, allowed) == length && text[0] != '.' &&
           text[0] != '-';
}

bool read_text(const struct slot *slot, const struct node *node, void *target)
{
    char **text = target;
    if (!schema_is_scalar(slot, node, "a text"))
        return false;
    *text = node->text;
    return true;
}

bool read_name(const struct slot *slot, const struct node *node, void *target)
{
    if (!schema_is_scalar(slot, node, "a name"))
        return false;
    if (is_name(node->text))
        return read_text(slot, node, target);
    return report_problem(
        &slot->reader->report, &node->place,
        "%s: %s is not a valid name: 1 to 100 letters, digits, _, - and ., not first - or .", slot->key->name,
        report_quote(&slot->reader->report, node->text));
}

bool read_path(const struct slot *slot, const struct node *node, void *target)
{
    char **path = target;
    if (!schema_is_scalar(slot, node, "a path"))
        return false;
    if (node->text[0] == '~')
        return report_problem(&slot->reader->report, &node->place,
                              "%s: ~ is not expanded; write the whole path", slot->key->name);
    *path = reader_path(slot->reader, slot->source, node->text);
    return true;
}

bool read_url(const struct slot *slot, const struct node *node, void *target)
{
    static const char expected[] = "an address that starts with http:// or https://";
    if (!schema_is_scalar(slot, node, expected))
        return false;
    size_t prefix = strncmp(node->text, "http://", 7) == 0    ? 7
                    : strncmp(node->text, "https://", 8) == 0 ? 8
                                                              : 0;
    bool has_host = prefix > 0 && node->text[prefix] != '\0' && node->text[prefix] != '/';
    for (const char *byte = node->text; *byte && has_host; byte++)
        has_host = *byte > ' ' && *byte != 127;
    return has_host ? read_text(slot, node, target) : schema_refuse(slot, node, expected);
}

bool read_boolean(const struct slot *slot, const struct node *node, void *target)
{
    bool *value = target;
    bool is_word = node->kind == NODE_SCALAR && node->plain;
    if (is_word && strcmp(node->text, "true") == 0)
        *value = true;
    else if (is_word && strcmp(node->text, "false") == 0)
        *value = false;
    else
        return schema_refuse(slot, node, "true or false");
    return true;
}

bool parse_number(const char *text, int64_t most, int64_t *ret_number)
{
    int64_t number = 0;
    if (*text == '\0')
        return false;
    for (; *text; text++) {
        int digit = *text - '0';
        if (digit < 0 || digit > 9 || number > (most - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}

bool read_number(const struct slot *slot, const struct node *node, void *target)
{
    int64_t number = 0;
    const struct key *key = slot->key;
    const char *expected =
        arena_format(&slot->reader->scratch, "a number from %" PRId64 " to %" PRId64, key->least, key->most);
    if (!schema_is_scalar(slot, node, expected))
        return false;
    bool is_negative = node->text[0] == '-';
    bool good = parse_number(node->text + is_negative, INT64_MAX / 16, &number);
    number = is_negative ? -number : number;
    if (!good || number < key->least || number > key->most)
        return schema_refuse(slot, node, expected);
    *(int64_t *)target = number;
    return true;
}

bool read_int(const struct slot *slot, const struct node *node, void *target)
{
    int64_t number = 0;
    if (!read_number(slot, node, &number))
        return false;
    *(int *)target = (int)number;
    return true;
}

/* Digits, and digits after a point: no exponents, and the same in every locale. */
bool read_fraction(const struct slot *slot, const struct node *node, void *target)
{
    const char *expected =
        arena_format(&slot->reader->scratch, "a number from %" PRId64 " to %" PRId64 ", such as 0.2",
                     slot->key->least, slot->key->most);
    if (!schema_is_scalar(slot, node, expected))
        return false;
    double value = 0, digit = 1;
    bool after_point = false;
    size_t length = strlen(node->text);
    bool good = length <= 12 && node->text[0] != '.' && node->text[length - 1] != '.';
    for (const char *byte = node->text; *byte && good; byte++) {
        if (*byte == '.' && !after_point) {
            after_point = true;
            continue;
        }
        good = *byte >= '0' && *byte <= '9';
        digit = after_point ? digit / 10 : 1;
        value = after_point ? value + digit * (*byte - '0') : value * 10 + (*byte - '0');
    }
    if (!good || value < (double)slot->key->least || value > (double)slot->key->most)
        return schema_refuse(slot, node, expected);
    *(double *)target = value;
    return true;
}

/* Returns the factor that a unit of size stands for, or 0. */
static int64_t size_unit(const char *unit)
{
    static const char letters[] = "kmg";
    if (*unit == '\0')
        return 1;
    const char *letter = unit[1] == '\0' ? strchr(letters, unit[0] | 0x20) : NULL;
    return letter ? INT64_C(1) << (10 * (letter - letters + 1)) : 0;
}

bool read_size(const struct slot *slot, const struct node *node, void *target)
{
    static const char expected[] = "a size such as 4096, 64K, 512M or 2G";
    if (!schema_is_scalar(slot, node, expected))
        return false;
    size_t digits = strspn(node->text, "0123456789");
    int64_t unit = digits > 0 ? size_unit(node->text + digits) : 0;
    int64_t number = 0;
    char *text = arena_text(&slot->reader->scratch, node->text, digits);
    if (unit == 0 || !parse_number(text, INT64_MAX / 16 / unit, &number))
        return schema_refuse(slot, node, expected);
    number *= unit;
    if (number < slot->key->least)
        return report_problem(&slot->reader->report, &node->place, "%s must be at least %" PRId64 " bytes",
                              slot->key->name, slot->key->least);
    if (number > slot->key->most)
        return report_problem(&slot->reader->report, &node->place, "%s must be at most %" PRId64 " bytes",
                              slot->key->name, slot->key->most);
    *(int64_t *)target = number;
    return true;
}

bool read_duration(const struct slot *slot, const struct node *node, void *target)
{
    static const char expected[] = "a duration such as 30s, 5m or 1h30m";
    struct report *report = &slot->reader->report;
    const char *name = slot->key->name;
    if (!schema_is_scalar(slot, node, expected))
        return false;
    const char *digits = node->text + (node->text[0] == '-' || node->text[0] == '+');
    if (*digits && strspn(digits, "0123456789") == strlen(digits))
        return report_problem(report, &node->place, "%s: %s has no unit; write %ss or %sm", name,
                              report_quote(report, node->text), node->text, node->text);
    hora_ns duration;
    hora_error error;
    int result = hora_duration_parse(node->text, 0, &duration, &error);
    if (result == HORA_EINVAL)
        return schema_refuse(slot, node, expected);
    if (result < 0 || duration > slot->key->most)
        return report_problem(report, &node->place, "%s: %s is too long", name,
                              report_quote(report, node->text));
    if (duration < slot->key->least) {
        hora_ns least = slot->key->least;
        const char *text = least == 0                ? "not be negative"
                           : least < HORA_SECONDS(1) ? "be more than 0"
                                                     : "be at least 1s";
        return report_problem(report, &node->place, "%s must %s", name, text);
    }
    *(hora_ns *)target = duration;
    return true;
}

/* Returns the words in quotation marks: "a", "b" or "c". */
static const char *list_words(struct arena *arena, const char *const *words)
{
    const char *list = arena_format(arena, "\"%s\"", words[0]);
    for (size_t i = 1; words[i]; i++)
        list = arena_format(arena, "%s%s\"%s\"", list, words[i + 1] ? ", " : " or ", words[i]);
    return list;
}

bool read_choice(const struct slot *slot, const struct node *node, void *target)
{
    const char *const *words = slot->key->words;
    for (int i = 0; words[i] && node->kind == NODE_SCALAR; i++) {
        if (strcmp(node->text, words[i]) == 0) {
            *(int *)target = i;
            return true;
        }
    }
    return schema_refuse(slot, node, list_words(&slot->reader->scratch, words));
}

bool read_zone(const struct slot *slot, const struct node *node, void *target)
{
    if (!schema_is_scalar(slot, node, "the name of a time zone"))
        return false;
    hora_zone *zone = reader_zone(slot->reader, node->text, &node->place);
    if (zone)
        *(hora_zone **)target = zone;
    return zone != NULL;
}

bool read_command(const struct slot *slot, const struct node *node, void *target)
{
    static const char expected[] = "a text for the shell, or a list of a program and its arguments";
    struct arena *arena = slot->reader->arena;
    struct job_command command = {0};
    if (node->kind != NODE_LIST) {
        if (!schema_is_scalar(slot, node, expected))
            return false;
        command.shell = node->text;
    } else {
        if (node->count == 0)
            return report_problem(&slot->reader->report, &node->place, "%s is an empty list; it must be %s",
                                  slot->key->name, expected);
        command.argv = arena_alloc(arena, (node->count + 1) * sizeof *command.argv);
        for (size_t i = 0; i < node->count; i++) {
            const struct node *word = node->items[i];
            bool is_text = word->kind == NODE_SCALAR && !(word->plain && word->text[0] == '\0');
            if (!is_text || (i == 0 && word->text[0] == '\0'))
                return schema_refuse(slot, word, i == 0 ? "the name of a program" : "a list of texts");
            command.argv[i] = word->text;
        }
    }
    *(struct job_command *)target = command;
    return true;
}

bool read_codes(const struct slot *slot, const struct node *node, void *target)
{
    static const char expected[] = "an exit status from 0 to 255, or a range such as 2-10";
    bool *codes = target;
    if (!schema_is_scalar(slot, node, expected))
        return false;
    const char *minus = strchr(node->text, '-');
    size_t length = minus ? (size_t)(minus - node->text) : strlen(node->text);
    int64_t first = 0, last = 0;
    bool good = parse_number(arena_text(&slot->reader->scratch, node->text, length), 255, &first);
    last = first;
    if (good && minus)
        good = parse_number(minus + 1, 255, &last) && last >= first;
    if (!good)
        return schema_refuse(slot, node, expected);
    for (int64_t code = first; code <= last; code++)
        codes[code] = true;
    return true;
}
