/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - count the forks between the first user of the library and this process
 *
 * Globals      The count belongs to the process, so it can only be a global; nothing but fork itself changes it. */
#include "sys/fork.h"

#include <pthread.h>
#include <stdatomic.h>

#include "sys/posix/forked.h"

static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static int watch_error;
static _Atomic int32_t generation;

static void in_child(void)
{
    atomic_fetch_add(&generation, 1);
    hora__thread_forked();
}

static void watch(void)
{
    watch_error = -pthread_atfork(NULL, NULL, in_child);
}

int hora__fork_watch(void)
{
    (void)pthread_once(&watch_once, watch);
    return watch_error;
}

int32_t hora__fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed); /* changes only where there is one thread */
}
