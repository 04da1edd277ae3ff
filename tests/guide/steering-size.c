/* SPDX-License-Identifier: Apache-2.0 */
/* steering-size.c - around the growing pool of docs/guide/steering.md */
#include <hora/hora.h>

static void on_resized(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool, (void)event, (void)arg;
}

int main(void)
{
    hora_pool *pool;
    hora_error error;
    /* fragment */
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    if (hora_pool_get_stats(pool, &stats) < 0 || stats.max_threads != 64)
        return 1;
    return hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0;
}
