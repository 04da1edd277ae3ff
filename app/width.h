/* SPDX-License-Identifier: Apache-2.0 */
/* width.h - how many columns of a terminal a text takes */
#ifndef APP_WIDTH_H
#define APP_WIDTH_H

#include <stddef.h>

/* Returns how many columns the first character of a text in UTF-8 takes: 1, 2 for wide characters, 0 for
 * marks that combine with the character before them; -1 for a control character and for a byte that is not
 * UTF-8, which should be shown as "?". Stores the size of the character in bytes, at least 1. The text is not
 * empty. */
int width_of_first(const char *text, size_t *ret_size);

/* Returns how many columns a text takes, if each character without a width is shown as "?". */
int width_of(const char *text);

/* Returns how many bytes of a text fit into `columns` columns. */
size_t width_fitting(const char *text, int columns);

#endif
