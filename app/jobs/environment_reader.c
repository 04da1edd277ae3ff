/* SPDX-License-Identifier: Apache-2.0 */
/* environment_reader.c - read `environment`, and files with environment variables
 *
 * The mapping has two forms. If it has one of the keys clean, file and variables, it is the long form, and has
 * no other keys. Otherwise each key is a variable.
 *
 * A file has lines NAME=value, with `export ` before them or not. Lines that start with # are comments. A value
 * in single quotes is taken as it is; in double quotes, a backslash makes the next character an ordinary one,
 * and \n is a line end; otherwise the value ends with the line, without blanks at its end. */
#include "jobs/schema.h"

#include <string.h>

#include "text.h"

enum { MOST_VARIABLES = 1000 };

static const char too_many[] = "more than 1000 variables";

bool is_variable_name(const char *text, size_t length)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return length > 0 && strspn(text, allowed) >= length && (text[0] < '0' || text[0] > '9');
}

bool environment_put(struct reader *reader, struct job_environment *environment, char *name, char *value)
{
    for (size_t i = 0; i < environment->count; i++) {
        if (strcmp(environment->variables[i].name, name) == 0) {
            environment->variables[i].value = value;
            return true;
        }
    }
    if (environment->count == MOST_VARIABLES)
        return false;
    struct job_variable variable = {name, value};
    *arena_add(reader->arena, environment->variables, environment->count) = variable;
    return true;
}

/* ---- files ---- */

/* A line of a file of variables that is being parsed. */
struct env_line {
    struct reader *reader;
    struct place place;
    const char *start; /* of the line */
};

static bool wrong_line(struct env_line *line, const char *at, const char *what)
{
    line->place.column = (int)(at - line->start) + 1;
    return report_problem(&line->reader->report, &line->place, "%s", what);
}

/* Parses a value in quotes, and checks that nothing but a comment follows. */
static bool parse_quoted(struct env_line *line, const char *from, char *value)
{
    char quote = *from;
    const char *at = from + 1;
    size_t length = 0;
    for (; *at != quote; at++) {
        if (quote == '"' && *at == '\\' && at[1] != '\0') {
            at++;
            value[length++] = (char)(*at == 'n' ? '\n' : *at);
        } else if (*at == '\0') {
            return wrong_line(line, from, "the closing quotation mark is missing");
        } else {
            value[length++] = *at;
        }
    }
    value[length] = '\0';
    at += 1 + strspn(at + 1, " \t");
    return *at == '\0' || *at == '#' || wrong_line(line, at, "text after the closing quotation mark");
}

/* Parses one line, which the caller has cut off at its end. */
static bool parse_line(struct env_line *line, char *text, struct job_environment *environment)
{
    line->start = text;
    char *name = text + strspn(text, " \t");
    if (*name == '\0' || *name == '#')
        return true;
    if (strncmp(name, "export", 6) == 0 && (name[6] == ' ' || name[6] == '\t'))
        name += 6 + strspn(name + 6, " \t");
    char *equals = strchr(name, '=');
    if (!equals || !is_variable_name(name, (size_t)(equals - name)))
        return wrong_line(line, name, "not NAME=value");
    *equals = '\0';
    char *value = equals + 1;
    if (*value == '"' || *value == '\'') {
        char *unquoted = arena_alloc(line->reader->arena, strlen(value) + 1);
        if (!parse_quoted(line, value, unquoted))
            return false;
        value = unquoted;
    } else {
        size_t length = strlen(value);
        while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
            length--;
        value = arena_text(line->reader->arena, value, length);
    }
    name = arena_text(line->reader->arena, name, strlen(name));
    return environment_put(line->reader, environment, name, value) || wrong_line(line, text, too_many);
}

/* Returns true if the text has neither NUL bytes nor bytes that are not UTF-8. */
static bool is_clean_text(struct reader *reader, const char *file, const char *text, size_t size)
{
    size_t valid = text_valid_utf8(text, size);
    const char *nul = memchr(text, '\0', size);
    size_t wrong = nul && (size_t)(nul - text) < valid ? (size_t)(nul - text) : valid;
    if (wrong == size)
        return true;
    struct place place = {file, 1, 1};
    for (size_t i = 0; i < wrong; i++) {
        place.column = text[i] == '\n' ? 1 : place.column + 1;
        place.line += text[i] == '\n';
    }
    return report_problem(&reader->report, &place, "the byte 0x%02x is not text", (unsigned char)text[wrong]);
}

/* Parses a file of variables. */
static bool parse_file(struct reader *reader, const char *path, char *text, struct job_environment *variables)
{
    struct env_line line = {.reader = reader, .place = {path, 0, 1}};
    bool good = true;
    for (char *next = text; next;) {
        char *this = next;
        next = strchr(this, '\n');
        if (next)
            *next++ = '\0';
        size_t length = strlen(this);
        if (length > 0 && this[length - 1] == '\r')
            this[length - 1] = '\0';
        line.place.line++;
        good = parse_line(&line, this, variables) && good;
    }
    return good;
}

/* Returns a file of variables, which is read if it has not been read before. */
static const struct env_file *env_file(struct reader *reader, const char *path, const struct place *place)
{
    for (size_t i = 0; i < reader->env_file_count; i++)
        if (strcmp(reader->env_files[i].path, path) == 0)
            return &reader->env_files[i];
    size_t size = 0;
    struct env_file file = {.path = path};
    char *text = reader_load(reader, path, place, &size);
    file.is_good =
        text && is_clean_text(reader, path, text, size) && parse_file(reader, path, text, &file.variables);
    struct env_file *entry = arena_add(&reader->scratch, reader->env_files, reader->env_file_count);
    *entry = file;
    return entry;
}

static bool read_env_file(const struct slot *slot, const struct node *node, void *target)
{
    char *path = NULL;
    if (!read_path(slot, node, &path))
        return false;
    const struct env_file *file = env_file(slot->reader, path, &node->place);
    bool good = file->is_good;
    for (size_t i = 0; i < file->variables.count && good; i++)
        good = environment_put(slot->reader, target, file->variables.variables[i].name,
                               file->variables.variables[i].value) ||
               report_problem(&slot->reader->report, &node->place, "%s", too_many);
    return good;
}

/* ---- the mapping ---- */

static bool read_variables(const struct slot *slot, const struct node *node, void *target)
{
    struct reader *reader = slot->reader;
    bool good = true;
    if (node->kind != NODE_MAPPING)
        return schema_refuse(slot, node, "a mapping of names and values");
    for (size_t i = 0; i < node->count; i++) {
        const struct node *name = node->keys[i], *value = node->items[i];
        struct key key = {.name = name->text};
        struct slot inner = {reader, slot->source, &key};
        if (!is_variable_name(name->text, strlen(name->text)))
            good =
                report_problem(&reader->report, &name->place, "%s is not a name of an environment variable",
                               report_quote(&reader->report, name->text));
        else if (value->kind != NODE_SCALAR || (value->plain && value->text[0] == '\0') ||
                 node_is_null(value))
            good = schema_refuse(&inner, value, "a text (\"\" if it is empty)");
        else if (!environment_put(reader, target, name->text, value->text))
            return report_problem(&reader->report, &name->place, "%s", too_many);
    }
    return good;
}

static bool read_env_files(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_env_file, target);
}

bool read_environment(const struct slot *slot, const struct node *node, void *target)
{
    /* The order matters: variables replace those of files. */
    static const struct key table[] = {
        {"clean", read_boolean, offsetof(struct job_environment, clean), 0, 0, NULL, 0},
        {"file", read_env_files, 0, 0, 0, NULL, 0},
        {"variables", read_variables, 0, 0, 0, NULL, 0},
    };
    bool is_long = false;
    if (node->kind != NODE_MAPPING)
        return schema_refuse(slot, node, "a mapping of names and values, or of clean, file and variables");
    for (size_t i = 0; i < KEY_COUNT(table); i++)
        is_long = is_long || node_get(node, table[i].name);
    if (!is_long)
        return read_variables(slot, node, target);
    bool good = true;
    for (size_t i = 0; i < node->count; i++) {
        const char *key = node->keys[i]->text;
        bool is_known = false;
        for (size_t j = 0; j < KEY_COUNT(table); j++)
            is_known = is_known || strcmp(key, table[j].name) == 0;
        if (!is_known)
            good = report_problem(&slot->reader->report, &node->keys[i]->place,
                                  "unknown key %s; next to clean, file and variables, names of variables "
                                  "belong below variables",
                                  report_quote(&slot->reader->report, key));
    }
    for (size_t i = 0; i < KEY_COUNT(table); i++) {
        const struct node *value = node_get(node, table[i].name);
        struct slot inner = {slot->reader, slot->source, &table[i]};
        if (value)
            good = table[i].read(&inner, value, (char *)target + table[i].offset) && good;
    }
    return good;
}
