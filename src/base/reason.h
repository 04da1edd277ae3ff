/* SPDX-License-Identifier: Apache-2.0 */
/* reason.h - report to the caller why a call fails, in its hora_error
 *
 * A public call that takes a hora_error passes it down to its checks. The check that fails writes a sentence
 * and returns the code. The public call starts with hora__reason_begin and returns through hora__reason_end,
 * which writes the general text of the code if no check has written a sentence. All functions accept NULL as
 * `reason`. */
#ifndef HORA_BASE_REASON_H
#define HORA_BASE_REASON_H

#include <stddef.h>
#include <stdint.h>

#include <hora/error.h>

/* Clears the code, so that hora__reason_end can tell whether a check has written a sentence. */
static inline void hora__reason_begin(hora_error *reason)
{
    if (reason != NULL)
        reason->code = 0;
}

/* Writes all fields of *reason, with an empty range. `code` is a negative error, `field` a static string or
 * NULL. A message that does not fit ends with "...". Checks use hora__refuse instead. */
__attribute__((format(printf, 4, 5))) void hora__reason_write(hora_error *reason, int code, const char *field,
                                                              const char *format, ...);

/* Stores which part of the parsed text the error is about. Call it after hora__reason_write. */
void hora__reason_set_range(hora_error *reason, size_t offset, size_t length);

/* hora__refuse(reason, code, field, format, ...) writes a sentence, which should include the offending
 * values, and the field's name, a static string or NULL. Its value is `code`. It is a macro so that static
 * analysis sees the value. */
#define hora__refuse(reason, code, ...) (hora__reason_write((reason), (code), __VA_ARGS__), (code))

/* Like hora__refuse, for `length` bytes at `offset` of a parsed text. */
#define hora__refuse_at(reason, code, offset, length, ...) \
    (hora__reason_write((reason), (code), __VA_ARGS__),    \
     hora__reason_set_range((reason), (offset), (length)), (code))

/* Reports that the struct_size of a struct is wrong. Returns HORA_EINVAL. */
static inline int hora__refuse_size(hora_error *reason, const char *type)
{
    return hora__refuse(reason, HORA_EINVAL, "struct_size", "struct_size is wrong: start from HORA_INIT(%s)",
                        type);
}

/* Checks a time of the options. Returns 0, or HORA_EINVAL if it is negative. */
static inline int hora__refuse_negative(hora_error *reason, int64_t time, const char *field)
{
    return time < 0 ? hora__refuse(reason, HORA_EINVAL, field, "%s is negative", field) : 0;
}

/* Returns `result`, the outcome of the public call, which may also be a success. If it is an error that no
 * check has explained, writes the general text of its code. */
static inline int hora__reason_end(hora_error *reason, int result)
{
    if (result < 0 && reason != NULL && reason->code != result)
        hora__reason_write(reason, result, NULL, "%s", hora_strerror(result));
    return result;
}

#endif
