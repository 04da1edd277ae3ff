/* SPDX-License-Identifier: Apache-2.0 */
/* invoke_support.c - see invoke_support.h */
#include "invoke_support.h"

int execute_here(hora_future *future, void *self)
{
    int ran = hora_future_run(future);

    (void)self;
    return ran < 0 ? ran : 0;
}

void venue_open_pool(struct venue *v, const hora_pool_options *options)
{
    rig_open(&v->r, false, options);
    v->executor = hora_pool_executor(v->r.pool);
}

void venue_open(struct venue *v, enum place place)
{
    rig_prepare(&v->r, place == HOOKED_POOL || place == DECORATED_SCHEDULER);
    v->executor = (hora_executor){.execute = execute_here, .clock = v->r.f.view};
    if (place == DIRECT)
        return;
    if (place == POOL || place == HOOKED_POOL)
        rig_pool(&v->r, HORA_POOL_OPTIONS(.core_threads = 2, .queue_capacity = 10));
    else
        CHECK_OK(try_scheduler(&v->r, HORA_SCHEDULER_OPTIONS(.core_threads = 2), NULL));
    v->executor = hora_pool_executor(v->r.pool);
}

void venue_close(struct venue *v)
{
    rig_close(&v->r);
}

int venue_all(struct venue *v, const hora_task *const *tasks, int count, hora_future **ret_futures)
{
    if (v->r.pool != NULL)
        return hora_pool_invoke_all(v->r.pool, tasks, count, ret_futures);
    return hora_executor_invoke_all(&v->executor, tasks, count, ret_futures);
}

int venue_all_for(struct venue *v, const hora_task *const *tasks, int count, hora_ns timeout,
                  hora_future **ret_futures)
{
    if (v->r.pool != NULL)
        return hora_pool_invoke_all_for(v->r.pool, tasks, count, timeout, ret_futures);
    return hora_executor_invoke_all_for(&v->executor, tasks, count, timeout, ret_futures);
}

int venue_any(struct venue *v, const hora_task *const *tasks, int count, void **ret_result,
              int *reterr_failure)
{
    if (v->r.pool != NULL)
        return hora_pool_invoke_any(v->r.pool, tasks, count, ret_result, reterr_failure);
    return hora_executor_invoke_any(&v->executor, tasks, count, ret_result, reterr_failure);
}

int venue_any_for(struct venue *v, const hora_task *const *tasks, int count, hora_ns timeout,
                  void **ret_result, int *reterr_failure)
{
    if (v->r.pool != NULL)
        return hora_pool_invoke_any_for(v->r.pool, tasks, count, timeout, ret_result, reterr_failure);
    return hora_executor_invoke_any_for(&v->executor, tasks, count, timeout, ret_result, reterr_failure);
}

/* ---- calls ---- */

static int run_all(struct call *call)
{
    struct invocation *i = call->object;

    if (call->timeout == HORA_FOREVER)
        return venue_all(i->venue, i->tasks, i->count, i->futures);
    return venue_all_for(i->venue, i->tasks, i->count, call->timeout, i->futures);
}

static int run_any(struct call *call)
{
    struct invocation *i = call->object;

    if (call->timeout == HORA_FOREVER)
        return venue_any(i->venue, i->tasks, i->count, &call->item, &i->failure);
    return venue_any_for(i->venue, i->tasks, i->count, call->timeout, &call->item, &i->failure);
}

static void prepare(struct invocation *i, struct venue *v, struct job *jobs, int count)
{
    *i = (struct invocation){.venue = v, .count = count};
    for (int n = 0; n < count; n++) {
        i->made[n] = *JOB(&jobs[n]);
        i->tasks[n] = &i->made[n];
    }
}

void start_invoke_all(struct invocation *i, struct venue *v, struct job *jobs, int count, hora_ns timeout)
{
    prepare(i, v, jobs, count);
    i->call = (struct call){.run = run_all, .object = i, .timeout = timeout};
    start_call(&i->call, &v->r.f);
}

void start_invoke_any(struct invocation *i, struct venue *v, struct job *jobs, int count, hora_ns timeout)
{
    prepare(i, v, jobs, count);
    i->call =
        (struct call){.run = run_any, .object = i, .timeout = timeout, .item = untouched, .takes = true};
    start_call(&i->call, &v->r.f);
}

/* ---- checks ---- */

void release_futures(hora_future **futures, int count)
{
    for (int i = 0; i < count; i++)
        futures[i] = hora_future_unref(futures[i]);
}

hora_future *queued_future(struct rig *r)
{
    void *item = NULL;

    CHECK_INT(hora_queue_size(hora_pool_queue(r->pool)), 1);
    CHECK_OK(hora_queue_peek(hora_pool_queue(r->pool), &item));
    (void)hora_future_unref(item); /* the queue has it */
    return item;
}

void check_failed(const char *file, int line, hora_future *future, int code)
{
    check_done(file, line, future, HORA_EFAILED, NULL);
    test_check_int(file, line, "failure code", hora_future_failure(future), code);
}
