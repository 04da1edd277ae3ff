/* SPDX-License-Identifier: Apache-2.0 */
/* reason.h - say why a call refuses, in the caller's hora_error
 *
 * A public call that takes a hora_error passes it down to its checks. The check that refuses writes the sentence and returns the
 * code. The public call itself begins with hora__reason_begin and returns through hora__reason_end, which adds the general
 * sentence of the code if no check has written one. All of them accept NULL. */
#ifndef HORA_BASE_REASON_H
#define HORA_BASE_REASON_H

#include <stddef.h>

#include <hora/error.h>

static inline void hora__reason_begin(hora_error *reason)
{
    if (reason != NULL)
        reason->code = 0;
}

__attribute__((format(printf, 4, 5))) void hora__reason_write(hora_error *reason, int code, const char *field,
                                                              const char *format, ...);

/* Where in the text that was parsed. */
void hora__reason_set_place(hora_error *reason, size_t offset, size_t length);

/* hora__refuse(reason, code, field, format, ...): write the sentence, which should hold the values, and the field, a static text or NULL.
 * Gives `code`: a macro, so that static analysis sees that. */
#define hora__refuse(reason, code, ...) (hora__reason_write((reason), (code), __VA_ARGS__), (code))

/* The same about bytes of a text that was parsed. */
#define hora__refuse_at(reason, code, offset, length, ...) \
    (hora__reason_write((reason), (code), __VA_ARGS__), hora__reason_set_place((reason), (offset), (length)), (code))

/* HORA_EINVAL: the struct_size of this struct is wrong. */
static inline int hora__refuse_size(hora_error *reason, const char *type)
{
    return hora__refuse(reason, HORA_EINVAL, "struct_size", "struct_size is wrong: start from HORA_INIT(%s)", type);
}

/* Returns `result`, which may also be a success. */
static inline int hora__reason_end(hora_error *reason, int result)
{
    if (result < 0 && reason != NULL && reason->code != result)
        hora__reason_write(reason, result, NULL, "%s", hora_strerror(result));
    return result;
}

#endif
