/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - what is measured of thread pools, in the terms that all libraries have in common
 *
 * Each library is a program of its own: peer_main.c, which drives, and one file that defines `peer`. So no library has
 * another one's threads or memory beside it. Pools.java has the JDK's. */
#ifndef HORA_BENCH_PEER_H
#define HORA_BENCH_PEER_H

#include "../measure.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PEER_WORKERS = 2 };

struct peer {
    /* Once, before everything else: a pool of PEER_WORKERS threads. */
    void (*open)(void);

    /* By one thread or by several at once: hand so many tasks to the pool, each of which calls peer_ran. May return before
     * they have run. */
    void (*execute)(long tasks);

    /* By one thread: hand one task, which calls peer_ran, to the pool, and wait until it has run, in the way that the library has
     * for it, or with a lock and a condition of its own. */
    void (*submit)(void);

    void (*close)(void);
};

extern const struct peer peer;

/* What every task does: count. */
void peer_ran(void);

#ifdef __cplusplus
}
#endif

#endif
