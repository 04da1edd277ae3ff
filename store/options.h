/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - read structs that a program of another version may have filled; see hora/base.h */
#ifndef HORA_STORE_OPTIONS_H
#define HORA_STORE_OPTIONS_H

#include <stddef.h>

#include <hora/error.h>

/* Copies a struct that starts with struct_size. `least` is its size in the first release, `size` its size
 * now. NULL instead of `from` yields all zero. HORA_EINVAL: struct_size is wrong, or a field that this
 * library does not know is set. `what` is the name of the struct. */
int hora__store_read_options(void *to, size_t size, size_t least, const void *from, const char *what,
                             hora_error *reason);

/* Copies a result into the caller's struct, which may be older or newer: as much as both know, and zero
 * for the rest. HORA_EINVAL: NULL, or struct_size is wrong. */
int hora__store_write_result(void *to, size_t least, const void *from, size_t size, const char *what,
                             hora_error *reason);

#endif
