/* SPDX-License-Identifier: Apache-2.0 */
/* steering.c - around the class of docs/guide/steering.md */
#include <hora/hora.h>

static int write_report(void *report, void **ret_result)
{
    *ret_result = report;
    return 0;
}

int main(void)
{
    hora_pool *pool;
    hora_class *reports;
    hora_future *future;
    const char *customer = "ACME";
    static char report[] = "sales";
    void *result;
    /* fragment */
    if (hora_future_get_for(future, HORA_SECONDS(10), &result) < 0 || result != report)
        return 1;
    hora_future_unref(future);
    return hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0;
}
