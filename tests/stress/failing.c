/* SPDX-License-Identifier: Apache-2.0 */
/* failing.c - allocations and thread starts that fail at random
 *
 * The linker puts these functions in the place of the C library's (--wrap), for the library and for this
 * program, and not for the C library itself; so a sanitizer's own functions are called as before. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "stress.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **ret_memory, size_t alignment, size_t size);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **ret_memory, size_t alignment, size_t size);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);

static _Atomic uint32_t allocation_odds, thread_odds; /* of 2^32 */
static _Atomic int64_t failed;
static _Thread_local int calm;

static uint32_t odds(double probability)
{
    return probability >= 1 ? UINT32_MAX : (uint32_t)(probability * 4294967295.0);
}

void failing_set(double allocations, double threads)
{
    atomic_store(&allocation_odds, odds(allocations));
    atomic_store(&thread_odds, odds(threads));
}

void calm_begin(void)
{
    calm++;
}

void calm_end(void)
{
    calm--;
}

int64_t failing_count(void)
{
    return atomic_load(&failed);
}

static bool fails(_Atomic uint32_t *chance)
{
    uint32_t limit = atomic_load_explicit(chance, memory_order_relaxed);
    if (limit == 0 || calm > 0 || random_below(UINT32_MAX) >= limit)
        return false;
    atomic_fetch_add_explicit(&failed, 1, memory_order_relaxed);
    return true;
}

static bool allocation_fails(void)
{
    if (!fails(&allocation_odds))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return allocation_fails() ? NULL : __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
    return allocation_fails() ? ENOMEM : __real_posix_memalign(ret_memory, alignment, size);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg)
{
    return fails(&thread_odds) ? EAGAIN : __real_pthread_create(thread, attributes, run, arg);
}
