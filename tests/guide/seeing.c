/* SPDX-License-Identifier: Apache-2.0 */
/* seeing.c - around the measurements and the explanation of docs/guide/seeing.md */
#include <stdio.h>

#include <hora/hora.h>

static int resize(void *arg, void **ret_result)
{
    (void)arg, (void)ret_result;
    return 0;
}

int main(void)
{
    hora_pool *pool;
    hora_future *future;
    if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()), &pool, NULL) < 0 ||
        hora_pool_submit(pool, HORA_TASK(resize, NULL, .name = "resize"), &future) < 0 ||
        hora_future_get(future, NULL) < 0)
        return 1;
    /* fragment */
    if (wait.count != 1 || counts.started != 1)
        return 1;
    /* fragment */
    hora_future_unref(future);
    return why[0] == '\0' || hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0;
}
