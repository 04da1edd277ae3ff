/* SPDX-License-Identifier: Apache-2.0 */
/* pools.h - the functions that a library with a thread pool must implement for W1 and W2
 *
 * Each library is a separate program: pools_main.c, the driver, and one file that defines `pool_peer`. So
 * threads and memory of one library do not affect another. Pools.java measures the JDK, go/main.go Go. */
#ifndef HORA_BENCH_POOLS_H
#define HORA_BENCH_POOLS_H

#include "../measure.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pool_peer {
    /* Makes a pool of `workers` threads. Called once, before everything else. */
    void (*open)(int workers);

    /* Submits `tasks` tasks, each of which calls pool_ran. May return before they have run. Called by one
     * thread or by several at once. NULL: the subject cannot do this. */
    void (*execute)(long tasks);

    /* Submits one task, which calls pool_ran, and waits until it has run, in the way that the library
     * provides, or with a lock and a condition. Called by one thread. */
    void (*submit)(void);

    void (*close)(void);
};

extern const struct pool_peer pool_peer;

/* Counts a task that has run. Every task calls it and does nothing else. */
void pool_ran(void);

#ifdef __cplusplus
}
#endif

#endif
