/* SPDX-License-Identifier: Apache-2.0 */
/* memory_use.h - how much memory a program uses, from malloc and as pages of its own; only with glibc */
#ifndef HORA_TESTS_MEMORY_USE_H
#define HORA_TESTS_MEMORY_USE_H

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

/* Returns the bytes of private memory, without those that malloc has and that are not in use. This includes
 * the stacks of threads. Only differences between two results are meaningful. Always 0 under valgrind, which
 * replaces malloc, and takes memory for itself; and with other C libraries, which do not tell. */
static inline size_t memory_in_use(void)
{
#ifdef __GLIBC__
    struct mallinfo2 info = mallinfo2();
    if (info.arena == 0)
        return 0;
    long data_pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL) {
        if (fscanf(file, "%*d %*d %*d %*d %*d %ld", &data_pages) != 1)
            data_pages = 0;
        (void)fclose(file);
    }
    return (size_t)data_pages * (size_t)sysconf(_SC_PAGESIZE) - info.arena + info.uordblks;
#else
    return 0;
#endif
}

#endif
