/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - around the three limits of docs/guide/limits.md */
#include <hora/hora.h>

static int fetch(void *url, void **ret_result)
{
    *ret_result = url;
    return 0;
}

int main(void)
{
    hora_pool *pool;
    hora_future *future;
    void *result, *url = "http://localhost/";
    if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()), &pool, NULL) < 0)
        return 1;
    /* fragment */
    if (hora_future_get_for(future, HORA_SECONDS(10), &result) < 0 || result != url)
        return 1;
    hora_future_unref(future);
    return hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0;
}
