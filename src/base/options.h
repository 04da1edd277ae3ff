/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - structs that a program of another release may have been compiled with: take over options, fill outputs */
#ifndef HORA_BASE_OPTIONS_H
#define HORA_BASE_OPTIONS_H

#include <stddef.h>

/* The size of a struct that ends with this field. */
#define HORA__SIZE_UP_TO(type, last) \
    ((offsetof(type, last) + sizeof(((type *)0)->last) + _Alignof(type) - 1) / _Alignof(type) * _Alignof(type))

/* Copy *given into *own, which has `size` bytes of which the first release had `first_size`. NULL gives all zero. HORA_EINVAL if
 * struct_size is smaller than ever, or if the caller's struct is larger than ours and says something there. */
__attribute__((warn_unused_result)) int hora__options_copy(void *own, size_t size, size_t first_size,
                                                           const void *given);

/* The size that the caller of an output struct knows, and so its stride in an array. HORA_EINVAL: NULL, or a size that cannot be: the
 * struct was not started with HORA_INIT. */
__attribute__((warn_unused_result)) int hora__output_size(const void *given, size_t first_size, size_t *ret_size);

/* Write *own, of `size` bytes, into the caller's struct of given_size bytes: as much as both know, and zero after that. The caller's
 * struct_size stays. */
void hora__output_write(void *given, size_t given_size, const void *own, size_t size);

#endif
