/* SPDX-License-Identifier: Apache-2.0 */
/* ascii.h - kinds of characters, whatever the locale */
#ifndef HORA_BASE_ASCII_H
#define HORA_BASE_ASCII_H

#include <stdbool.h>

static inline bool hora__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

#endif
