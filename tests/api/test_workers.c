/* SPDX-License-Identifier: Apache-2.0 */
/* test_workers.c - hora_pool_workers: what each worker is doing */
#include <string.h>

#include <hora/metrics.h>

#include "explain_support.h"
#include "pool_support.h"

TEST(workers_refuse_what_is_not_there, "")
{
    struct rig r;
    hora_worker_info info = HORA_INIT(hora_worker_info);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()));
    CHECK_ERROR(hora_pool_workers(NULL, &info, 1), HORA_EINVAL);
    CHECK_ERROR(hora_pool_workers(r.pool, NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_pool_workers(r.pool, &info, -1), HORA_EINVAL);
    CHECK_INT(hora_pool_workers(r.pool, NULL, 0), 0);
    rig_close(&r);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_ERROR(hora_pool_workers(r.pool, &info, 1), HORA_ENOTSUP);
    rig_close(&r);
}

static int run_step(void *job, void **ret_result)
{
    hora_progress(40, 100);
    return job_run(job, ret_result);
}

TEST(workers_show_what_they_run, "")
{
    struct rig r;
    hora_worker_info info[2] = {HORA_INIT(hora_worker_info)};
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 3, .watchdog = HORA_WATCHDOG()));
    struct job job = A_WAITING_JOB(&r), quick = A_JOB(&r);

    CHECK_OK(hora_pool_execute(r.pool, RESIZE(run_step, &job)));
    execute_job(&r, &quick);
    CHECK_INT(hora_pool_prestart(r.pool), 1);
    settle(&r.f);
    advance(&r.f, HORA_SECONDS(9));
    CHECK_INT(hora_pool_workers(r.pool, info, 2), 3);
    CHECK_INT(info[0].number, 1);
    CHECK(info[0].running);
    CHECK(strcmp(info[0].name, "resize") == 0 && strcmp(info[0].place, "img.c:88") == 0);
    CHECK_INT(info[0].running_for, HORA_SECONDS(9));
    CHECK_INT(info[0].quiet_for, HORA_SECONDS(9));
    CHECK_INT(info[0].done, 40);
    CHECK_INT(info[0].of, 100);
    CHECK_INT(info[0].runs, 1);
    CHECK_INT(info[1].number, 2);
    CHECK(!info[1].running && info[1].name[0] == '\0' && info[1].running_for == 0);
    CHECK_INT(info[1].runs, 1);
    rig_close(&r);
}

static hora_pool *watched; /* of look_at_progress */

static int submit_and_forget(hora_pool *pool, const hora_task *task)
{
    hora_future *future;
    int error = hora_pool_submit(pool, task, &future);
    if (error == 0)
        hora_future_unref(future);
    return error;
}

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* A task that reports progress if it is told to. Before that it must not have any. */
static int look_at_progress(void *reports, void **ret_result)
{
    (void)ret_result;
    hora_worker_info info = HORA_INIT(hora_worker_info);
    CHECK_INT(hora_pool_workers(watched, &info, 1), 1);
    CHECK(info.running && info.done == 0 && info.of == 0);
    if (reports == NULL)
        return 0;
    hora_progress(40, 100);
    CHECK_INT(hora_pool_workers(watched, &info, 1), 1);
    CHECK(info.running && info.done == 40 && info.of == 100);
    return 0;
}

/* The pool has the default clock: detached tasks take the short path of its observer. Futures do not. */
TEST(workers_forget_the_progress_of_earlier_tasks, "")
{
    static bool yes;
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()), &watched, NULL));
    for (int i = 0; i < 16; i++) {
        void *reports = (i & 3) == 0 ? &yes : NULL;
        const hora_task *task = HORA_TASK(look_at_progress, reports, .name = (i & 4) == 0 ? NULL : "look");
        CHECK_OK((i & 8) == 0 ? hora_pool_execute(watched, task) : submit_and_forget(watched, task));
    }
    CHECK_OK(hora_pool_close_for(watched, HORA_FOREVER));
    CHECK_INT(hora_pool_free(watched), 0);
}

/* Tasks follow each other as fast as possible, and a description never mixes two of them. */
TEST_REAL(workers_are_read_as_a_whole, "")
{
    hora_pool *pool = NULL;
    hora_worker_info info = HORA_INIT(hora_worker_info);
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()), &pool, NULL));
    for (int i = 0; i < 20000; i++) {
        CHECK_OK(hora_pool_execute(pool, i % 2 == 0 ? RESIZE(do_nothing, NULL) : SCALE(do_nothing, NULL)));
        if (hora_pool_workers(pool, &info, 1) < 1 || !info.running)
            continue;
        bool is_resize = strcmp(info.name, "resize") == 0;
        CHECK(is_resize || strcmp(info.name, "scale") == 0);
        CHECK(strcmp(info.place, is_resize ? "img.c:88" : "img.c:99") == 0);
        CHECK_INT(info.runs % 2, is_resize ? 1 : 0);
    }
    CHECK(hora_pool_free(pool) >= 0); /* with whatever is queued */
}
