/* SPDX-License-Identifier: Apache-2.0 */
/* futex.c - the lower bound of W2: a thread that sleeps in the kernel is woken, and wakes the one that waits
 * for it
 *
 * There is no queue, no future and no lock: one word tells whose turn it is. No pool in which both sides
 * sleep can be faster. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pools.h"

enum turn { CALLER, WORKER, OVER };

static pthread_t worker;
static atomic_uint turn = CALLER;

static void wait_while(unsigned value)
{
    while (atomic_load(&turn) == value)
        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void pass_to(unsigned next)
{
    atomic_store(&turn, next);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *work(void *arg)
{
    for (;;) {
        wait_while(CALLER);
        if (atomic_load(&turn) == OVER)
            return arg;
        pool_ran();
        pass_to(CALLER);
    }
}

static void open_pool(int workers)
{
    (void)workers; /* one thread is enough */
    MUST(pthread_create(&worker, NULL, work, NULL) == 0);
}

static void submit(void)
{
    pass_to(WORKER);
    wait_while(WORKER);
}

static void close_pool(void)
{
    pass_to(OVER);
    pthread_join(worker, NULL);
}

const struct pool_peer pool_peer = {open_pool, NULL, submit, close_pool};
