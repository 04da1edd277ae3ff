/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - the library's only way to memory
 *
 * The simulator counts what is live and makes the n-th allocation fail. */
#ifndef HORA_SYS_ALLOC_H
#define HORA_SYS_ALLOC_H

#include <stddef.h>

void hora__free(void *memory);

/* `count` objects of `size` bytes, all zero; NULL if there is no memory or the product overflows. */
__attribute__((warn_unused_result, malloc)) void *hora__alloc(size_t count, size_t size);

#endif
