/* SPDX-License-Identifier: Apache-2.0 */
/* pools.h - what is measured of thread pools, in the terms that all libraries have in common: W1 and W2
 *
 * Each library is a program of its own: pools_main.c, which drives, and one file that defines `pool_peer`. So no library
 * has another one's threads or memory beside it. Pools.java has the JDK's, go/main.go Go's. */
#ifndef HORA_BENCH_POOLS_H
#define HORA_BENCH_POOLS_H

#include "../measure.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pool_peer {
    /* Once, before everything else: a pool of so many threads. */
    void (*open)(int workers);

    /* By one thread or by several at once: hand so many tasks to the pool, each of which calls pool_ran. May return before
     * they have run. NULL: the subject has no such thing. */
    void (*execute)(long tasks);

    /* By one thread: hand one task, which calls pool_ran, to the pool, and wait until it has run, in the way that the library has
     * for it, or with a lock and a condition of its own. */
    void (*submit)(void);

    void (*close)(void);
};

extern const struct pool_peer pool_peer;

/* What every task does: count. */
void pool_ran(void);

#ifdef __cplusplus
}
#endif

#endif
