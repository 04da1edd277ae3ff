/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - a thread pool: when it grows, what happens when it is full, and how to get the outcome of a task
 */
#include <stdio.h>

#include <hora/hora.h>

static int wait_for_gate(void *gate, void **ret_result)
{
    *ret_result = "the gate was opened";
    return hora_latch_await(gate); /* a failure code of the task, if the wait was interrupted */
}

static void show(hora_pool *pool, const char *when)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    if (hora_pool_get_stats(pool, &stats) == 0)
        printf("%-28s %d threads, %d queued\n", when, stats.threads, stats.queued);
}

int main(void)
{
    hora_pool *pool;
    hora_latch *gate;
    hora_future *futures[5];
    hora_error why;
    if (hora_latch_new(1, NULL, &gate, NULL) < 0)
        return 1;
    if (hora_pool_new(
            HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .queue_capacity = 2, .name = "demo"),
            &pool, &why) < 0) {
        puts(why.message);
        return 1;
    }
    static const char *const steps[] = {"1: a core thread", "2: into the queue", "3: into the queue",
                                        "4: the queue is full, grow", "5: no place left"};
    int error = 0;
    for (int i = 0; i < 5; i++) {
        error = hora_pool_submit(pool, HORA_TASK(wait_for_gate, gate, .name = "wait"), &futures[i]);
        show(pool, steps[i]);
    }
    printf("the fifth: %s\n", hora_strerror(error));
    bool as_expected = error == HORA_EREJECTED;

    as_expected &= hora_future_cancel(futures[1], false) == HORA_CANCEL_REMOVED;
    show(pool, "the second is cancelled");
    hora_latch_count_down(gate);
    for (int i = 0; i < 4; i++) {
        void *result = "";
        error = hora_future_get_for(futures[i], HORA_SECONDS(10), &result);
        printf("task %d: %s %s\n", i + 1, hora_strerror(error), error == 0 ? (const char *)result : "");
        as_expected &= error == (i == 1 ? HORA_ECANCELED : 0);
        hora_future_unref(futures[i]);
    }
    as_expected &= hora_pool_close_for(pool, HORA_SECONDS(10)) == 0;
    return !as_expected || hora_pool_free(pool) != 0 || hora_latch_free(gate) < 0;
}
