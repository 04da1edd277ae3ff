/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - memory from the C library, and pages from the system */
#include "sys/alloc.h"

#include <stdlib.h>

#ifndef HORA__ASAN
#include <sys/mman.h>
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

/* From malloc, so that LeakSanitizer reports pages that are lost. */
void *hora__pages_alloc(size_t size)
{
    return hora__alloc_lines(size);
}

void hora__pages_free(void *pages, size_t size)
{
    (void)size;
    free(pages);
}

#else

void *hora__pages_alloc(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages != MAP_FAILED ? pages : NULL;
}

/* munmap fails if the process would have too many mappings. Then the memory goes back, and only the addresses
 * are lost. */
void hora__pages_free(void *pages, size_t size)
{
    if (munmap(pages, size) < 0)
        (void)madvise(pages, size, MADV_DONTNEED);
}

#endif
