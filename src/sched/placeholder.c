/* SPDX-License-Identifier: Apache-2.0 */
/* placeholder.c - replace ${name} and ${name:default}
 *
 * How it works      The result grows in one block of fixed size. A name, which may itself have placeholders, is put together at the end
 *                   of the result, asked for, and taken away again; then its value, or its default, is put there in the same way.
 * Bounds            A text that names itself would never end: so there is a limit to the depth; and, since a text can name others many
 *                   times over, one to the length. */
#include "sched/placeholder.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "sys/alloc.h"

enum { LONGEST = 4096, DEEPEST = 16 };

struct replacement {
    const struct hora__resolver *resolver;
    const char *reason; /* why it failed */
    size_t length;
    char text[LONGEST + 1];
};

/* A part of a text. */
struct span {
    const char *first;
    const char *end;
};

static struct span whole(const char *text)
{
    return (struct span){text, text + strlen(text)};
}

static bool starts_placeholder(const char *at, const char *end)
{
    assert(at <= end);
    return end - at >= 2 && at[0] == '$' && at[1] == '{';
}

static int fail(struct replacement *replacement, const char *reason)
{
    replacement->reason = reason;
    return HORA_EINVAL;
}

static int append(struct replacement *replacement, char c)
{
    assert(replacement->length <= LONGEST);
    if (replacement->length == LONGEST)
        return fail(replacement, "with its placeholders replaced it is longer than 4096 bytes");
    replacement->text[replacement->length++] = c;
    return 0;
}

/* The first of `stop` and "}" that belongs to no placeholder inside; NULL: there is none. */
static const char *find(struct span span, char stop)
{
    assert(span.first <= span.end);
    int inside = 0;
    for (const char *at = span.first; at < span.end; at++) {
        if (starts_placeholder(at, span.end)) {
            inside++;
            at++;
        } else if (inside == 0 && (*at == stop || *at == '}')) {
            return at;
        } else if (*at == '}') {
            inside--;
        }
    }
    return NULL;
}

static int replace(struct replacement *replacement, struct span span, int depth);

/* The value of a name; NULL: there is none. */
static int look_up(struct replacement *replacement, struct span name, int depth, const char **ret_value)
{
    assert(replacement->resolver->resolve != NULL);
    size_t before = replacement->length;
    int error = replace(replacement, name, depth + 1);
    if (error == 0)
        error = append(replacement, '\0');
    if (error == 0)
        *ret_value =
            replacement->resolver->resolve(replacement->text + before, replacement->resolver->context);
    replacement->length = before;
    return error;
}

/* One placeholder, without its braces. */
static int replace_one(struct replacement *replacement, struct span inner, int depth)
{
    const char *colon = find(inner, ':');
    const char *value = NULL;
    struct span name = {inner.first, colon != NULL ? colon : inner.end};
    int error = look_up(replacement, name, depth, &value);
    if (error < 0)
        return error;
    if (value != NULL)
        return replace(replacement, whole(value), depth + 1);
    if (colon == NULL)
        return fail(replacement, "a placeholder has no value and no default");
    return replace(replacement, (struct span){colon + 1, inner.end}, depth + 1);
}

static int replace(struct replacement *replacement, struct span span, int depth)
{
    assert(span.first <= span.end && depth >= 0);
    if (depth > DEEPEST)
        return fail(replacement, "its placeholders name each other, more than 16 deep");
    int error = 0;
    for (const char *at = span.first; at < span.end && error == 0; at++) {
        if (!starts_placeholder(at, span.end)) {
            error = append(replacement, *at);
            continue;
        }
        struct span inner = {at + 2, find((struct span){at + 2, span.end}, '}')};
        if (inner.end == NULL)
            return fail(replacement, "a placeholder has no \"}\"");
        error = replace_one(replacement, inner, depth);
        at = inner.end;
    }
    return error;
}

int hora__placeholders_replace(const struct hora__resolver *resolver, const char *text, char **ret_text,
                               const char **reterr_reason)
{
    assert(text != NULL && ret_text != NULL && reterr_reason != NULL);
    *ret_text = NULL;
    if (strstr(text, "${") == NULL)
        return 0;
    if (resolver->resolve == NULL) {
        *reterr_reason = "it has a placeholder, and nobody knows its value";
        return HORA_EINVAL;
    }
    struct replacement *replacement = hora__alloc_dirty(sizeof *replacement);
    if (replacement == NULL)
        return HORA_ENOMEM;
    *replacement = (struct replacement){.resolver = resolver};
    int error = replace(replacement, whole(text), 0);
    if (error == 0) {
        replacement->text[replacement->length] = '\0';
        char *result = hora__alloc_dirty(replacement->length + 1);
        if (result != NULL)
            memcpy(result, replacement->text, replacement->length + 1);
        error = result != NULL ? 0 : HORA_ENOMEM;
        *ret_text = result;
    } else {
        *reterr_reason = replacement->reason;
    }
    hora__free(replacement);
    return error;
}
