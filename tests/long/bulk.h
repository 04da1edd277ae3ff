/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.h - shared by the programs of this folder */
#ifndef HORA_TESTS_LONG_BULK_H
#define HORA_TESTS_LONG_BULK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ends the program if it is not so. */
#define MUST(truth) ((truth) ? (void)0 : fail(__FILE__, __LINE__, #truth))

static inline _Noreturn void fail(const char *file, int line, const char *what)
{
    printf("%s:%d: %s\n", file, line, what);
    exit(1);
}

static inline double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A number that looks random, always the same for the same. */
static inline uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

#endif
