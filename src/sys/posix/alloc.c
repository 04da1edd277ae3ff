/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - memory from the C library */
#include "sys/alloc.h"

#include <stdlib.h>

#ifdef HORA__ASAN
#include <malloc.h>
#endif

void *hora__alloc(size_t count, size_t size)
{
    return calloc(count, size);
}

void *hora__alloc_dirty(size_t size)
{
    return malloc(size);
}

/* aligned_alloc requires a size that is a multiple of the alignment. */
void *hora__alloc_lines(size_t size)
{
    return aligned_alloc(HORA__CACHE_LINE,
                         (size + HORA__CACHE_LINE - 1) / HORA__CACHE_LINE * HORA__CACHE_LINE);
}

void hora__free(void *memory)
{
    free(memory);
}

#ifdef HORA__ASAN

size_t hora__memory_size(void *block)
{
    return malloc_usable_size(block); /* exact under AddressSanitizer */
}

#endif
