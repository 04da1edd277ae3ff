/* SPDX-License-Identifier: Apache-2.0 */
/* limits-stuck.c - around the watchdog and the progress of docs/guide/limits.md */
#include <hora/hora.h>

enum { FILES = 3 };
struct file {
    int is_converted;
};

static void convert(struct file *file)
{
    file->is_converted = 1;
}

static void on_stuck(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool, (void)event, (void)arg;
}

static int convert_all(void *arg, void **ret_result)
{
    struct file *files = arg;
    int count = FILES;
    hora_pool *pool;
    hora_error error;
    (void)ret_result;
    /* fragment */
    if (hora_pool_free(pool) != 0)
        return 1;
    /* fragment */
    return 0;
}

int main(void)
{
    struct file files[FILES] = {0};
    hora_pool *pool;
    hora_future *future;
    if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()), &pool, NULL) < 0 ||
        hora_pool_submit(pool, HORA_TASK(convert_all, files), &future) < 0 ||
        hora_future_get(future, NULL) < 0)
        return 1;
    hora_future_unref(future);
    return files[FILES - 1].is_converted != 1 || hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0;
}
