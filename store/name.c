/* SPDX-License-Identifier: Apache-2.0 */
/* name.c - names of handlers, keys and triggers
 *
 * PostgreSQL refuses texts that are not UTF-8, so all databases do. Overlong forms, surrogates and numbers
 * above U+10FFFF are not UTF-8. */
#include "name.h"

#include <assert.h>
#include <string.h>

#include "reason.h"

/* A character of `length` bytes starts with a byte from first to last; the second byte is limited, too. */
struct form {
    unsigned char first, last, second_low, second_high;
    int length;
};

static const struct form forms[] = {
    {0x01, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Returns the length of the character at `text`, or 0 if there is none. The terminating NUL is no
 * continuation byte, so nothing behind it is read. */
static int character_length(const unsigned char *text)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *form = &forms[i];
        if (text[0] < form->first || text[0] > form->last)
            continue;
        if (form->length > 1 && (text[1] < form->second_low || text[1] > form->second_high))
            return 0;
        for (int k = 2; k < form->length; k++)
            if (text[k] < 0x80 || text[k] > 0xbf)
                return 0;
        return form->length;
    }
    return 0;
}

int hora__text_check(const char *text, const char *field, hora_error *reason)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; text != NULL && bytes[i] != '\0';) {
        int length = character_length(bytes + i);
        if (length == 0)
            return hora__store_refuse(reason, HORA_EINVAL, field, "%s is not UTF-8 at byte %zu", field, i);
        i += (size_t)length;
    }
    return 0;
}

int hora__name_check(const char *name, const char *field, hora_error *reason)
{
    assert(field != NULL);
    if (name == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, field, "%s is NULL", field);
    size_t size = strlen(name);
    if (size == 0)
        return hora__store_refuse(reason, HORA_EINVAL, field, "%s is empty", field);
    if (size > HORA__NAME_MAX)
        return hora__store_refuse(reason, HORA_EINVAL, field, "%s has %zu bytes, which is more than %d",
                                  field, size, HORA__NAME_MAX);
    return hora__text_check(name, field, reason);
}
