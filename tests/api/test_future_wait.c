/* SPDX-License-Identifier: Apache-2.0 */
/* test_future_wait.c - waiting inside a task: the worker runs the awaited task, or gets HORA_EDEADLK */
#include "pool_support.h"

/* A task that submits another one to its own pool and waits for it, `depth` times. */
struct nest {
    struct rig *rig;
    int depth;
    hora_ns timeout;
    atomic_int runs;
};

static int run_nest(void *arg, void **ret_result)
{
    struct nest *nest = arg, inner = {.rig = nest->rig, .depth = nest->depth - 1, .timeout = nest->timeout};
    hora_future *future;
    void *result = NULL;
    int error;

    atomic_fetch_add(&nest->runs, 1);
    *ret_result = nest;
    if (nest->depth == 0)
        return 0;
    error = hora_pool_submit(nest->rig->pool, HORA_TASK(run_nest, &inner), &future);
    if (error < 0)
        return error;
    error = hora_future_get_for(future, nest->timeout, &result);
    CHECK_POINTER(result, &inner);
    CHECK_INT(inner.runs, 1);
    hora_future_unref(future);
    return error;
}

/* Timed and not. */
TEST(future_waited_for_by_the_only_worker_is_run_by_it, "")
{
    for (int timed = 0; timed < 2; timed++) {
        struct rig r;
        struct nest nest = {.rig = &r, .depth = 5, .timeout = timed ? A_WHILE : HORA_FOREVER};
        hora_future *future;

        rig_open(&r, true, HORA_POOL_OPTIONS(.core_threads = 1));
        CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(run_nest, &nest), &future));
        CHECK_OK(hora_future_get(future, NULL));
        CHECK_INT(rig_stats(&r).completed, 6);
        CHECK_INT(rig_stats(&r).done, 6);
        CHECK_INT(r.before, 6);
        CHECK_INT(r.after, 6);
        CHECK_INT(rig_stats(&r).threads, 1);
        hora_future_unref(future);
        rig_close(&r);
    }
}

TEST(future_waited_for_by_all_workers_is_run_by_them, "")
{
    struct rig r;
    struct nest nests[3];
    hora_future *futures[3];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2));
    for (int i = 0; i < 3; i++) {
        nests[i] = (struct nest){.rig = &r, .depth = 3, .timeout = HORA_FOREVER};
        CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(run_nest, &nests[i]), &futures[i]));
    }
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_future_get(futures[i], NULL));
        hora_future_unref(futures[i]);
    }
    CHECK_INT(rig_stats(&r).completed, 12);
    rig_close(&r);
}

/* Without time there is no help: the wait only looks. */
static int look_at_queued(void *arg, void **ret_result)
{
    struct job *job = arg;
    hora_future *future = submit_job(job->rig, job);

    (void)ret_result;
    CHECK_ERROR(hora_future_get_for(future, 0, NULL), HORA_ETIMEDOUT);
    CHECK_INT(job->runs, 0);
    hora_future_unref(future);
    return 0;
}

TEST(future_that_is_only_looked_at_is_not_run, "")
{
    struct rig r;
    struct job job = A_JOB(&r);

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(look_at_queued, &job)));
    settle(&r.f);
    CHECK_JOB(&job, 1);
    rig_close(&r);
}

/* Its interrupt is for itself, not for the task that waits for it on the same thread. */
struct helped {
    struct rig *rig;
    hora_future *inner;
};

static int cancel_self(void *arg, void **ret_result)
{
    const struct helped *helped = arg;

    (void)ret_result;
    CHECK_INT(hora_future_cancel(helped->inner, true), HORA_CANCEL_INTERRUPTED);
    return 0;
}

static int wait_for_inner(void *arg, void **ret_result)
{
    struct helped *helped = arg;

    (void)ret_result;
    CHECK_OK(hora_future_new(HORA_TASK(cancel_self, helped), &helped->inner));
    CHECK_OK(hora_pool_execute_future(helped->rig->pool, helped->inner));
    CHECK_ERROR(hora_future_get(helped->inner, NULL), HORA_ECANCELED);
    CHECK(!hora_interrupted());
    hora_future_unref(helped->inner);
    return 0;
}

TEST(future_run_by_its_waiter_leaves_no_interrupt_behind, "CP-FT5 CP-TPE18")
{
    struct rig r;
    struct helped helped = {.rig = &r};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(wait_for_inner, &helped)));
    CHECK_INT(rig_stats(&r).done, 1);
    CHECK_INT(rig_stats(&r).cancelled, 1);
    rig_close(&r);
}

/* ---- waits that never end ---- */

/* Tasks that wait for each other in a ring. */
struct ring {
    struct rig *rig;
    hora_future *next;
    int error;
};

static int wait_for_next(void *arg, void **ret_result)
{
    struct ring *ring = arg;

    (void)ret_result;
    CHECK_OK(hora_latch_await(ring->rig->gate));
    ring->error = hora_future_get(ring->next, NULL);
    return 0;
}

static void ring_is_broken(int size, int threads)
{
    struct rig r;
    struct ring rings[4];
    hora_future *futures[4];
    int told = 0;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = threads));
    for (int i = 0; i < size; i++) {
        rings[i] = (struct ring){.rig = &r};
        CHECK_OK(hora_future_new(HORA_TASK(wait_for_next, &rings[i]), &futures[i]));
    }
    for (int i = 0; i < size; i++)
        rings[i].next = futures[(i + 1) % size];
    for (int i = 0; i < size; i++)
        CHECK_OK(hora_pool_execute_future(r.pool, futures[i]));
    rig_open_gate(&r);
    for (int i = 0; i < size; i++)
        CHECK_OK(hora_future_get(futures[i], NULL));
    for (int i = 0; i < size; i++) {
        CHECK(rings[i].error == 0 || rings[i].error == HORA_EDEADLK);
        told += rings[i].error == HORA_EDEADLK;
        hora_future_unref(futures[i]);
    }
    CHECK(told >= 1);
    rig_close(&r);
}

TEST(future_that_waits_for_itself_is_told, "")
{
    ring_is_broken(1, 1);
}

TEST(future_ring_of_two_is_broken, "")
{
    ring_is_broken(2, 2);
}

/* On one thread the ring is closed by helping. */
TEST(future_ring_on_one_thread_is_broken, "")
{
    ring_is_broken(3, 1);
}

TEST(future_ring_of_four_is_broken, "")
{
    ring_is_broken(4, 4);
}

/* A chain is not a ring. */
TEST(future_chain_is_waited_for, "")
{
    struct rig r;
    struct ring rings[3];
    struct job last = A_WAITING_JOB(&r);
    hora_future *futures[4];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 4));
    CHECK_OK(hora_future_new(JOB(&last), &futures[3]));
    for (int i = 2; i >= 0; i--) {
        rings[i] = (struct ring){.rig = &r, .next = futures[i + 1]};
        CHECK_OK(hora_future_new(HORA_TASK(wait_for_next, &rings[i]), &futures[i]));
    }
    for (int i = 0; i < 4; i++)
        CHECK_OK(hora_pool_execute_future(r.pool, futures[i]));
    rig_open_gate(&r);
    for (int i = 0; i < 4; i++)
        CHECK_OK(hora_future_get(futures[i], NULL));
    for (int i = 0; i < 4; i++) {
        CHECK_INT(i < 3 ? rings[i].error : 0, 0);
        hora_future_unref(futures[i]);
    }
    rig_close(&r);
}

/* A future of another pool is only waited for. */
TEST(future_of_another_pool_is_waited_for, "")
{
    struct rig a, b;
    struct ring ring = {.rig = &a};
    struct job job = A_JOB(&b);
    hora_future *outer;

    rig_open(&a, false, HORA_POOL_OPTIONS(.core_threads = 1));
    rig_open(&b, false, HORA_POOL_OPTIONS(.core_threads = 1));
    ring.next = submit_job(&b, &job);
    CHECK_OK(hora_pool_submit(a.pool, HORA_TASK(wait_for_next, &ring), &outer));
    rig_open_gate(&a);
    CHECK_OK(hora_future_get(outer, NULL));
    CHECK_INT(ring.error, 0);
    CHECK_INT(rig_stats(&a).completed, 1);
    CHECK_INT(rig_stats(&b).completed, 1);
    hora_future_unref(outer);
    hora_future_unref(ring.next);
    rig_close(&a);
    rig_close(&b);
}
