/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_execute.c - tasks that are executed, not submitted: they end like all others */
#include <pthread.h>
#include <string.h>

#include "pool_support.h"

enum { JOBS = 3 };

/* One worker, busy with `blocker`, and jobs behind it for which no caller has a future. */
static void open_with_queued(struct rig *r, struct job *blocker, struct job *jobs)
{
    *blocker = (struct job)A_WAITING_JOB(r);
    rig_open(r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(r, blocker);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct job)A_JOB(r);
        execute_job(r, &jobs[i]);
    }
    settle(&r->f);
    CHECK_INT(rig_stats(r).queued, JOBS);
}

/* A hook can see whether a caller may query the task that it runs. */
static atomic_int submitted, executed;

static int count_before(hora_pool *pool, const hora_run_info *run, void *arg)
{
    (void)pool;
    (void)arg;
    CHECK_INT(run->struct_size, sizeof(hora_run_info));
    CHECK(strcmp(run->task->name, "job") == 0);
    CHECK_POINTER(run->task, hora_future_task(run->future));
    CHECK_INT(run->code, 0);
    atomic_fetch_add(run->submitted ? &submitted : &executed, 1);
    return 0;
}

static void check_after(hora_pool *pool, const hora_run_info *run, void *arg)
{
    (void)pool;
    (void)arg;
    CHECK_INT(run->code, run->submitted ? 7 : 0);
}

TEST(pool_hooks_know_whether_a_task_was_submitted, "")
{
    struct rig r;
    struct job jobs[3] = {A_JOB(&r), A_JOB(&r), {.rig = &r, .code = 7}};

    submitted = executed = 0;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .before = count_before, .after = check_after));
    execute_job(&r, &jobs[0]);
    execute_job(&r, &jobs[1]);
    hora_future *future = submit_job(&r, &jobs[2]);
    settle(&r.f);
    CHECK_INT(executed, 2);
    CHECK_INT(submitted, 1);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(pool_executed_task_ends_by_its_code, "")
{
    struct rig r;
    static const int codes[] = {0, 7, HORA_ECANCELED, HORA_EREJECTED, HORA_EABANDONED};
    enum { CODES = sizeof(codes) / sizeof(codes[0]) };
    struct job jobs[1 + CODES] = {A_WAITING_JOB(&r)};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(&r, &jobs[0]);
    for (int i = 1; i <= CODES; i++) {
        jobs[i] = (struct job){.rig = &r, .code = codes[i - 1]};
        execute_job(&r, &jobs[i]);
    }
    rig_open_gate(&r);
    settle(&r.f);
    for (int i = 0; i <= CODES; i++) {
        CHECK_JOB(&jobs[i], 1);
        CHECK_INT(jobs[i].result_drops, 1);
    }
    CHECK_INT(rig_stats(&r).done, 2);
    CHECK_INT(rig_stats(&r).failed, 2);
    CHECK_INT(rig_stats(&r).rejected, 1); /* as with futures: a body may say so */
    CHECK_INT(rig_stats(&r).abandoned, 1);
    CHECK_INT(rig_stats(&r).completed, 1 + CODES);
    rig_close(&r);
}

TEST(pool_queue_shows_executed_tasks_as_futures, "")
{
    struct rig r;
    struct job blocker, jobs[JOBS], later = A_JOB(&r);
    void *items[JOBS + 1];

    open_with_queued(&r, &blocker, jobs);
    hora_queue *queue = hora_pool_queue(r.pool);
    execute_job(&r, &later);
    CHECK_INT(hora_queue_snapshot(queue, items, JOBS + 1), JOBS + 1);
    for (int i = 0; i <= JOBS; i++) {
        const hora_task *task = hora_future_task(items[i]);
        CHECK_POINTER(task->arg, i < JOBS ? &jobs[i] : &later); /* in the order of their coming */
        CHECK(strcmp(task->name, "job") == 0 && task->file != NULL && task->line > 0);
        CHECK_NOT_DONE(items[i]);
    }
    CHECK_POINTER(hora_pool_queue(r.pool), queue); /* a second look finds the same ones */
    CHECK_INT(hora_queue_contains(queue, items[1]), 1);
    CHECK_INT(hora_future_cancel(items[0], false), HORA_CANCEL_REMOVED);
    CHECK_JOB(&jobs[0], 0);
    CHECK_INT(hora_pool_remove(r.pool, items[1]), 1);
    CHECK_INT(jobs[1].drops, 0); /* the snapshot has given a reference to each */
    give_back_futures(items, JOBS + 1);
    CHECK_INT(jobs[1].drops, 1); /* no other thread had a future */
    rig_finish(&r);
    CHECK_JOB(&jobs[1], 0);
    CHECK_JOB(&jobs[2], 1);
    CHECK_JOB(&later, 1);
    rig_close(&r);
}

TEST(pool_stop_hands_back_executed_tasks_as_futures, "")
{
    struct rig r;
    struct job blocker, jobs[JOBS];
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    open_with_queued(&r, &blocker, jobs);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_INT(list.count, JOBS);
    hora_future *future = hora_future_list_take(&list);
    CHECK_INT(hora_future_run(future), 1);
    CHECK_DONE(future, 0, &jobs[0]);
    hora_future_unref(future);
    CHECK_INT(jobs[1].drops, 0);
    hora_future_list_cancel(&list);
    for (int i = 0; i < JOBS; i++)
        CHECK_JOB(&jobs[i], i == 0);
    CHECK_INT(rig_stats(&r).handed_back, JOBS);
    rig_close(&r);
}

TEST(pool_stop_without_list_drops_executed_tasks, "")
{
    struct rig r;
    struct job blocker, jobs[JOBS];

    open_with_queued(&r, &blocker, jobs);
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    for (int i = 0; i < JOBS; i++)
        CHECK_JOB(&jobs[i], 0);
    CHECK_INT(rig_stats(&r).abandoned, JOBS);
    rig_close(&r);
}

TEST(pool_purge_leaves_executed_tasks_alone, "")
{
    struct rig r;
    struct job blocker, jobs[JOBS];

    open_with_queued(&r, &blocker, jobs);
    CHECK_INT(hora_pool_purge(r.pool), 0);
    CHECK_INT(rig_stats(&r).queued, JOBS);
    rig_close(&r);
    for (int i = 0; i < JOBS; i++)
        CHECK_JOB(&jobs[i], 1);
}

TEST(pool_executed_task_that_runs_is_interrupted_by_stop, "")
{
    struct rig r;
    struct job first = A_JOB(&r), running = A_WAITING_JOB(&r);

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(&r, &first);
    settle(&r.f);
    execute_job(&r, &running); /* not its thread's first task: it comes by way of the queue */
    settle(&r.f);
    CHECK_INT(rig_stats(&r).active, 1);
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    settle(&r.f);
    CHECK_INT(running.interrupts, 1);
    CHECK_JOB(&running, 1);
    rig_close(&r);
}

static int end_thread(void *arg, void **ret_result)
{
    struct job *job = arg;

    (void)ret_result;
    atomic_fetch_add(&job->runs, 1);
    atomic_fetch_add(&job->ends, 1);
    pthread_exit(NULL);
}

TEST_REAL(pool_executed_task_that_ends_its_thread_is_abandoned, "")
{
    struct rig r;
    struct job first = A_JOB(&r), bad = A_JOB(&r), good = A_JOB(&r);

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(&r, &first);
    settle(&r.f);
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(end_thread, &bad, .drop = job_drop)));
    execute_job(&r, &good);
    settle(&r.f);
    CHECK_JOB(&bad, 1);
    CHECK_JOB(&good, 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).abandoned, 1);
    CHECK_INT(rig_stats(&r).done, 2);
    rig_close(&r);
}
