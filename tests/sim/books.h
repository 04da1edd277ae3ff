/* SPDX-License-Identifier: Apache-2.0 */
/* books.h - the end of a pool that may have abandoned tasks */
#ifndef HORA_TESTS_SIM_BOOKS_H
#define HORA_TESTS_SIM_BOOKS_H

#include <hora/pool.h>

#include "harness.h"

/* Frees a pool and checks the number of abandoned tasks that hora_pool_free returns: it is that of the
 * statistics, or more if the pool had not ended yet. Scenarios in which all tasks must have run use
 * CHECK_OK(hora_pool_free(pool)) instead. */
static inline void free_pool(hora_pool *pool)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    int abandoned = hora_pool_free(pool);
    CHECK(abandoned >= stats.abandoned);
    CHECK(stats.state != HORA_POOL_TERMINATED || abandoned == stats.abandoned);
}

#endif
