/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - texts in memory of their own; if there is none, the command prints an error and exits */
#ifndef APP_TEXT_H
#define APP_TEXT_H

#include <stdint.h>

/* Returns a copy, which the caller frees; NULL for NULL. */
char *text_copy(const char *text);

/* Returns a formatted text, which the caller frees. */
__attribute__((format(printf, 1, 2))) char *text_format(const char *format, ...);

/* Replaces *text, which it frees, by a copy of `with`. */
void text_set(char **text, const char *with);

/* Returns a hash of a text, which is the same in every process. */
uint64_t text_hash(const char *text);

#endif
