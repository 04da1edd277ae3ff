/* SPDX-License-Identifier: Apache-2.0 */
/* limits-context.c - around the context hooks of docs/guide/limits.md */
#include <stdatomic.h>

#include <hora/hora.h>

struct trace {
    atomic_int references;
};

static _Thread_local struct trace *current;

static struct trace *trace_current(void)
{
    return current;
}

static struct trace *trace_ref(struct trace *trace)
{
    trace->references++;
    return trace;
}

static void trace_unref(struct trace *trace)
{
    trace->references--;
}

static struct trace *trace_swap(struct trace *trace)
{
    struct trace *before = current;
    current = trace;
    return before;
}

/* fragment */

static int look(void *arg, void **ret_result)
{
    (void)ret_result;
    return trace_current() == arg ? 0 : 1;
}

int main(void)
{
    static struct trace trace;
    hora_pool *pool;
    hora_error error;
    hora_future *future;
    /* fragment */
    current = &trace;
    if (hora_pool_submit(pool, HORA_TASK(look, &trace), &future) < 0 || hora_future_get(future, NULL) < 0)
        return 1;
    hora_future_unref(future);
    return hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0 || trace.references != 0;
}
