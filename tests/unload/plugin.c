/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c - a library that uses hora, and is unloaded again */
#include "plugin.h"

#include <hora/hora.h>

static int work(void *arg, void **ret_result)
{
    *ret_result = arg;
    return 0;
}

/* Makes all calls that leave something with the calling thread: its record, memory for reuse, a descriptor,
 * the key for its end. */
__attribute__((visibility("default"))) int plugin_use(void)
{
    hora_pool *pool;
    int error = hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1), &pool, NULL);
    for (int i = 0; error == 0 && i < 3; i++) {
        hora_future *future;
        void *result = NULL;
        error = hora_pool_submit(pool, HORA_TASK(work, &pool), &future);
        if (error < 0)
            break;
        error = hora_future_get(future, &result);
        if (error == 0 && result != &pool)
            error = HORA_EINVAL;
        (void)hora_future_unref(future);
    }
    if (error == 0 && hora_interrupt_fd() < 0)
        error = HORA_EMFILE;
    int freed = error != HORA_EAGAIN ? hora_pool_free(pool) : 0;
    return error < 0 ? error : freed;
}

static void *use_for_ever(void *pool)
{
    for (;;) {
        hora_future *future;
        if (hora_pool_submit(pool, HORA_TASK(work, pool, .name = "busy"), &future) < 0)
            return NULL;
        int error = hora_future_get_for(future, HORA_SECONDS(1), NULL);
        (void)hora_future_unref(future);
        if (error < 0)
            return NULL;
    }
}

/* Threads of the plugin's own and of a pool go on using hora for as long as the process lives. */
__attribute__((visibility("default"))) int plugin_keep_busy(plugin_start_fn start)
{
    hora_pool *pool;
    int error = hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 2, .metrics = HORA_METRICS()), &pool, NULL);
    for (int i = 0; error == 0 && i < 3; i++)
        error = start(use_for_ever, pool);
    return error == 0 ? plugin_use() : error;
}
