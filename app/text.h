/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - texts in memory of their own; if there is none, the command prints an error and exits */
#ifndef APP_TEXT_H
#define APP_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Returns a copy, which the caller frees; NULL for NULL. */
char *text_copy(const char *text);

/* Returns a formatted text, which the caller frees. */
__attribute__((format(printf, 1, 2))) char *text_format(const char *format, ...);

/* Replaces *text, which it frees, by a copy of `with`. */
void text_set(char **text, const char *with);

/* Returns a hash of a text, which is the same in every process. */
uint64_t text_hash(const char *text);

/* Returns the length of the text up to the first byte that is not part of valid UTF-8. */
size_t text_valid_utf8(const char *text, size_t length);

/* Replaces what is not UTF-8 by question marks: in texts that were cut somewhere, or that contain file names. */
void text_make_utf8(char *text);

/* Returns the one of `count` words that is nearest to a text, or that starts with it; or NULL if none is near
 * enough to be a slip of the fingers. `stride` is the distance of the pointers to the words in bytes. */
const char *text_nearest(const char *text, const char *const *first, size_t count, size_t stride);

#endif
