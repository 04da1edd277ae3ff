/* SPDX-License-Identifier: Apache-2.0 */
/* name.h - names of handlers, keys and triggers: 1 to 255 bytes of UTF-8 */
#ifndef HORA_STORE_NAME_H
#define HORA_STORE_NAME_H

#include <hora/error.h>

enum { HORA__NAME_MAX = 255 };

/* Checks a name. `field` is what the messages call it. HORA_EINVAL: it is NULL, empty, too long or not
 * UTF-8. */
int hora__name_check(const char *name, const char *field, hora_error *reason);

/* Checks a text that is compared with names, which may be of any length; NULL is allowed. HORA_EINVAL: it is
 * not UTF-8. */
int hora__text_check(const char *text, const char *field, hora_error *reason);

#endif
