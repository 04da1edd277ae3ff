/* SPDX-License-Identifier: Apache-2.0 */
/* executors.c - the usual pools by name */
#include <limits.h>
#include <stddef.h>

#include "base/options.h"
#include "exec/pool.h"
#include "sys/processors.h"

enum { CACHED_KEEP_ALIVE_S = 60 };

int hora_available_processors(void)
{
    return hora__processors();
}

/* The caller's options, which must not say anything about size and queue: that is what the name stands for. */
static int take_options(hora_pool_options *own, const hora_pool_options *given)
{
    int error = hora__options_copy(own, sizeof *own, sizeof *own, given);
    if (error < 0)
        return error;
    bool contradicts =
        own->core_threads != 0 || own->max_threads != 0 || own->queue != NULL || own->queue_capacity != 0;
    own->struct_size = sizeof *own;
    return contradicts ? HORA_EINVAL : 0;
}

int hora_pool_new_fixed(int threads, const hora_pool_options *options, hora_pool **ret_pool)
{
    hora_pool_options own;
    int error = take_options(&own, options);
    if (error < 0 || threads < 1)
        return HORA_EINVAL;
    own.core_threads = threads;
    return hora_pool_new(&own, ret_pool, NULL);
}

int hora_pool_new_single(const hora_pool_options *options, hora_pool **ret_pool)
{
    hora_pool_options own;
    int error = take_options(&own, options);
    if (error < 0)
        return error;
    own.core_threads = 1;
    own.frozen = true;
    return hora_pool_new(&own, ret_pool, NULL);
}

int hora_pool_new_cached(const hora_pool_options *options, hora_pool **ret_pool)
{
    hora_pool_options own;
    int error = take_options(&own, options);
    if (error < 0)
        return error;
    own.max_threads = INT_MAX;
    own.queue_capacity = -1;
    if (own.keep_alive == 0)
        own.keep_alive = HORA_SECONDS(CACHED_KEEP_ALIVE_S);
    return hora_pool_new(&own, ret_pool, NULL);
}
