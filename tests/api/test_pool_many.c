/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_many.c - many pools at once, made, used and freed in any order */
#include <string.h>

#include "pool_support.h"

enum { OPEN = 4, TASKS = 4, MAKERS = 4 };

/* One thread has up to OPEN pools, and frees one of them at random before it makes the next. */
struct maker {
    int pools;
    struct job jobs[OPEN][TASKS];
    hora_future *futures[OPEN];
    hora_pool *open[OPEN];
};

static void check_counted(struct job *job)
{
    CHECK_INT(job->drops, 1);
    CHECK(job->runs <= 1);
    CHECK_INT(job->result_drops, job->runs);
}

static void free_pool(struct maker *maker, int i)
{
    if (maker->open[i] == NULL)
        return;
    switch (test_random(3)) {
    case 0:
        CHECK_OK(hora_pool_close_for(maker->open[i], HORA_FOREVER));
        break;
    case 1:
        CHECK_OK(hora_pool_await_idle_for(maker->open[i], HORA_FOREVER));
        break;
    default:
        break; /* with whatever is queued or running */
    }
    int abandoned = hora_pool_free(maker->open[i]);
    CHECK(abandoned >= 0 && abandoned <= TASKS + 1);
    maker->open[i] = NULL;
    CHECK(hora_future_is_done(maker->futures[i]));
    hora_future_unref(maker->futures[i]);
    for (int j = 0; j < TASKS; j++)
        check_counted(&maker->jobs[i][j]);
}

static void make_pool(struct maker *maker, int i)
{
    hora_pool *pool = NULL;

    switch (test_random(3)) {
    case 0:
        CHECK_OK(hora_pool_new_single(NULL, &pool, NULL));
        break;
    case 1:
        CHECK_OK(hora_pool_new_fixed(2, NULL, &pool, NULL));
        break;
    default:
        CHECK_OK(hora_pool_new_cached(NULL, &pool, NULL));
        break;
    }
    maker->open[i] = pool;
    for (int j = 0; j < TASKS; j++) {
        maker->jobs[i][j] = (struct job)A_JOB(NULL);
        if (j == 0)
            CHECK_OK(hora_pool_submit(pool, JOB(&maker->jobs[i][j]), &maker->futures[i]));
        else
            CHECK_OK(hora_pool_execute(pool, JOB(&maker->jobs[i][j])));
    }
}

static void make_pools(void *arg)
{
    struct maker *maker = arg;

    for (int n = 0; n < maker->pools; n++) {
        int i = (int)test_random(OPEN);

        free_pool(maker, i);
        make_pool(maker, i);
    }
    for (int i = 0; i < OPEN; i++)
        free_pool(maker, i);
}

TEST(pools_come_and_go_in_any_order, "")
{
    static struct maker makers[MAKERS];
    test_thread *threads[MAKERS];
    int count = test_simulated() ? 2 : MAKERS;

    memset(makers, 0, sizeof(makers));
    for (int i = 0; i < count; i++) {
        makers[i].pools = test_simulated() ? 3 : 25;
        threads[i] = test_thread_start(NULL, make_pools, &makers[i]);
    }
    for (int i = 0; i < count; i++)
        test_thread_join(threads[i]);
}

/* A hundred of them, all alive at the same time, freed in another order than they were made in. */
TEST_REAL(hundred_pools_live_side_by_side, "")
{
    enum { POOLS = 100 };
    static hora_pool *pools[POOLS];
    static struct job jobs[POOLS];
    int order[POOLS];

    for (int i = 0; i < POOLS; i++) {
        int j = (int)test_random((uint32_t)i + 1);

        order[i] = order[j];
        order[j] = i;
        jobs[i] = (struct job)A_JOB(NULL);
        CHECK_OK(hora_pool_new_fixed(2, NULL, &pools[i], NULL));
        CHECK_OK(hora_pool_execute(pools[i], JOB(&jobs[i])));
    }
    for (int i = 0; i < POOLS; i++)
        CHECK_OK(hora_pool_free(pools[order[i]]));
    for (int i = 0; i < POOLS; i++)
        check_counted(&jobs[i]);
}

/* Tasks of one pool use another and free it. */
static int use_and_free(void *arg, void **ret_result)
{
    struct job *job = arg;
    hora_pool *pool;

    (void)ret_result;
    CHECK_OK(hora_pool_new_single(NULL, &pool, NULL));
    CHECK_OK(hora_pool_execute(pool, JOB(job)));
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    return 0;
}

TEST(pool_may_be_freed_by_a_task_of_another, "")
{
    struct job jobs[3] = {A_JOB(NULL), A_JOB(NULL), A_JOB(NULL)};
    hora_pool *pool;

    CHECK_OK(hora_pool_new_fixed(2, NULL, &pool, NULL));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(use_and_free, &jobs[i])));
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    for (int i = 0; i < 3; i++)
        CHECK_JOB(&jobs[i], 1);
}
