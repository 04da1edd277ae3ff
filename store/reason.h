/* SPDX-License-Identifier: Apache-2.0 */
/* reason.h - write down why a call fails, in the caller's hora_error */
#ifndef HORA_STORE_REASON_H
#define HORA_STORE_REASON_H

#include <hora/error.h>

/* Fills *reason, which may be NULL. `field` is a static text or NULL. A message that does not fit ends with
 * "...". */
__attribute__((format(printf, 4, 5))) void hora__store_reason(hora_error *reason, int code, const char *field,
                                                              const char *format, ...);

/* hora__store_refuse(reason, code, field, format, ...) writes a sentence; its value is `code`. */
#define hora__store_refuse(reason, code, ...) (hora__store_reason((reason), (code), __VA_ARGS__), (code))

/* Sets *reason, which may be NULL, to success, as every successful call does. */
void hora__store_success(hora_error *reason);

#endif
