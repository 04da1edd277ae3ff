/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_threads.c - thread factories, threads that cannot be started, and tasks that end theirs */
#define _GNU_SOURCE /* pthread_getname_np */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "pool_support.h"

static void open_with_factory(struct rig *r, bool hooked, int threads, const hora_pool_options *options)
{
    hora_pool_options own = *options;

    rig_prepare(r, hooked);
    r->factory_threads = threads;
    r->factory_error = HORA_EAGAIN;
    own.thread_factory = rig_factory;
    rig_pool(r, &own);
}

ON_BOTH_POOLS(runs_everything_on_the_one_thread_it_gets, "testFailingThreadFactory", "CP-TPE11")
{
    enum { TASKS = 100 };
    struct rig r;
    struct job job = A_JOB(&r);
    int tasks = test_simulated() ? 8 : TASKS;

    open_with_factory(&r, hooked, 1, HORA_POOL_OPTIONS(.core_threads = TASKS));
    for (int i = 0; i < tasks; i++)
        CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(job_run, &job)));
    CHECK_INT(rig_stats(&r).completed, tasks);
    CHECK_INT(job.runs, tasks);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).thread_failures, r.factory_calls - 1);
    CHECK_ERROR(rig_stats(&r).thread_error, HORA_EAGAIN);
    rig_close(&r);
}

/* The factory fails from its fifth thread on. */
TEST(pool_terminates_though_its_factory_fails_later, "jtreg.ThreadPoolExecutor/FlakyThreadFactory CP-TPE11")
{
    struct rig r;
    struct job jobs[8];

    open_with_factory(&r, false, 4, HORA_POOL_OPTIONS(.core_threads = 8));
    execute_jobs(&r, jobs, 8);
    CHECK_INT(rig_stats(&r).threads, 4);
    CHECK_INT(rig_stats(&r).queued, 4);
    rig_close(&r);
    for (int i = 0; i < 8; i++)
        CHECK_JOB(&jobs[i], 1);
}

/* The call reports the error, and the caller owns the task; when threads can be started again, the pool
 * continues. */
static void reports_that_it_has_no_thread(bool hooked, const hora_pool_options *options)
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = (hora_future *)untouched, *own;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    open_with_factory(&r, hooked, 0, options);
    for (int i = 0; i < 3; i++) {
        CHECK_ERROR(hora_pool_execute(r.pool, JOB(&job)), HORA_EAGAIN);
        CHECK_ERROR(hora_pool_submit(r.pool, JOB(&job), &future), HORA_EAGAIN);
    }
    CHECK_POINTER(future, untouched);
    CHECK_OK(hora_future_new(JOB(&job), &own));
    CHECK_ERROR(hora_pool_execute_future(r.pool, own), HORA_EAGAIN);
    CHECK_NOT_DONE(own);
    CHECK_INT(job.drops, 0);
    stats = rig_stats(&r);
    CHECK_INT(stats.queued, 0);
    CHECK_INT(stats.accepted, 0);
    CHECK_INT(stats.rejected, 0);
    CHECK_INT(stats.threads, 0);
    CHECK_INT(stats.largest, 0);
    CHECK_INT(stats.thread_failures, r.factory_calls);
    CHECK_ERROR(stats.thread_error, HORA_EAGAIN);
    CHECK_OK(hora_pool_await_idle_for(r.pool, HORA_FOREVER));
    r.factory_threads = 2; /* threads can be had again */
    CHECK_OK(hora_pool_execute_future(r.pool, own));
    CHECK_OK(hora_future_get(own, NULL));
    CHECK_INT(rig_stats(&r).largest, 1);
    hora_future_unref(own);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

TEST(pool_without_any_thread_says_so, "CP-TPE11")
{
    reports_that_it_has_no_thread(false, HORA_POOL_OPTIONS(.core_threads = 2));
    reports_that_it_has_no_thread(true, HORA_POOL_OPTIONS(.core_threads = 2));
}

TEST(pool_without_core_threads_says_that_it_has_none, "CP-TPE11")
{
    reports_that_it_has_no_thread(false, HORA_POOL_OPTIONS(.core_threads = 0));
    reports_that_it_has_no_thread(true, HORA_POOL_OPTIONS(.core_threads = 0));
}

TEST(pool_with_a_bounded_queue_says_that_it_has_no_thread, "CP-TPE11")
{
    reports_that_it_has_no_thread(false, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 4));
    for (int rule = HORA_REJECT_ABORT; rule < HORA_REJECT_CALLBACK; rule++)
        reports_that_it_has_no_thread(
            true, HORA_POOL_OPTIONS(.core_threads = 0, .queue_capacity = 1, .reject = (hora_reject)rule));
}

TEST(admission_pool_without_any_thread_says_so, "")
{
    reports_that_it_has_no_thread(false, HORA_POOL_OPTIONS(.core_threads = 1, .admission = HORA_ADMISSION()));
    reports_that_it_has_no_thread(false, HORA_POOL_OPTIONS(.core_threads = 0, .admission = HORA_ADMISSION()));
}

TEST(pool_without_any_thread_tells_services_and_groups, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_completion_service *service;
    hora_group *group;
    hora_future *future;

    open_with_factory(&r, false, 0, HORA_POOL_OPTIONS(.core_threads = 1));
    hora_executor executor = hora_pool_executor(r.pool);
    CHECK_OK(hora_completion_service_new(&executor, NULL, &service));
    CHECK_OK(hora_group_new(NULL, &group, NULL));
    CHECK_ERROR(hora_completion_service_submit(service, JOB(&job), NULL), HORA_EAGAIN);
    CHECK_ERROR(hora_completion_service_poll(service, &future), HORA_EEMPTY);
    CHECK_ERROR(hora_group_submit(group, &executor, JOB(&job), NULL), HORA_EAGAIN);
    CHECK_INT(hora_group_pending(group), 0);
    CHECK_ERROR(hora_pool_prestart(r.pool), HORA_EAGAIN);
    CHECK_INT(hora_pool_prestart_all(r.pool), 0);
    CHECK_INT(job.drops, 0);
    CHECK_OK(hora_completion_service_free(service));
    CHECK_OK(hora_group_free(group));
    rig_close(&r);
}

/* No other submit is needed: the thread of the last worker stays, and tries again. */
TEST(pool_runs_what_is_queued_once_there_are_threads_again, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    struct call call;
    hora_future *future = rig_open_stranded(&r, JOB(&job), HORA_POOL_OPTIONS(.name = "stranded"));

    start_get(&call, &r.f, future);
    CHECK_BLOCKED(&call);
    advance(&r.f, HORA_SECONDS(10)); /* attempts fail, and become less and less frequent */
    CHECK_BLOCKED(&call);
    CHECK(rig_stats(&r).thread_failures < 50);
    r.factory_threads = 2;
    advance(&r.f, HORA_SECONDS(1));
    CHECK_RETURNS(&call, 0);
    CHECK_INT(rig_stats(&r).threads, 1);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

TEST(pool_without_workers_can_be_freed, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = rig_open_stranded(&r, JOB(&job), HORA_POOL_OPTIONS(.name = "stranded"));

    CHECK_INT(hora_pool_free(r.pool), 1);
    r.pool = NULL;
    CHECK_DONE(future, HORA_EABANDONED, NULL);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 0);
}

/* Neither a thread nor a place in the queue; why there is no thread can be asked. */
TEST(pool_without_a_queue_rejects_when_its_factory_fails,
     "ThreadPoolExecutorTest.testThreadFactoryReturnsTerminatedThread_shouldThrow "
     "ThreadPoolExecutorTest.testThreadFactoryReturnsStartedThread_shouldThrow CP-TPE11")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = (hora_future *)untouched;

    open_with_factory(&r, false, 0, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1));
    r.factory_error = HORA_ENOMEM;
    CHECK_ERROR(hora_pool_execute(r.pool, JOB(&job)), HORA_EREJECTED);
    CHECK_ERROR(hora_pool_submit(r.pool, JOB(&job), &future), HORA_EREJECTED);
    CHECK_ERROR(rig_stats(&r).thread_error, HORA_ENOMEM);
    CHECK_POINTER(future, untouched);
    CHECK_INT(job.drops, 0);
    CHECK_INT(rig_stats(&r).threads, 0);
    CHECK_INT(rig_stats(&r).accepted, 0);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK(hora_pool_is_terminated(r.pool));
    rig_close(&r);
}

/* ---- hooks that refuse ---- */

struct refusal {
    struct rig *rig;
    int before_code;
    struct job job;
};

static int refuse(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;
    const struct refusal *refusal = run->task->arg;

    (void)pool;
    atomic_fetch_add(&r->before, 1);
    return refusal->before_code;
}

static void count_after(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;

    (void)pool;
    CHECK(run->submitted);
    CHECK_INT(run->code, hora_future_failure(run->future));
    atomic_fetch_add(&r->after, 1);
    atomic_store(&r->last_code, run->code);
}

static void look_at_the_end(hora_pool *pool, void *context)
{
    struct rig *r = context;

    CHECK(hora_pool_is_terminating(pool) && !hora_pool_is_terminated(pool));
    CHECK_ERROR(hora_pool_await_termination_for(pool, 0), HORA_ETIMEDOUT);
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_shutdown_now(pool, NULL));
    CHECK_INT(rig_stats_now(r).threads, 0);
    CHECK_INT(rig_stats_now(r).state, HORA_POOL_TIDYING);
    atomic_fetch_add(&r->terminated, 1);
}

static int run_refusal(void *arg, void **ret_result)
{
    struct refusal *refusal = arg;

    return job_run(&refusal->job, ret_result);
}

/* 25 tasks: before fails or not, the body fails or not. */
TEST(pool_survives_failing_tasks_and_hooks,
     "jtreg.ThreadPoolExecutor/ThrowingTasks CP-TPE6 CP-TPE15 CP-TPE16 CP-TPE28")
{
    struct rig r;
    struct refusal refusals[25];
    hora_future *futures[25];

    rig_prepare(&r, false);
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 3, .before = refuse, .after = count_after,
                                   .terminated = look_at_the_end));
    for (int i = 0; i < 25; i++) {
        refusals[i] = (struct refusal){.rig = &r, .before_code = i / 5, .job = {.rig = &r, .code = i % 5}};
        CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(run_refusal, &refusals[i]), &futures[i]));
    }
    CHECK_INT(rig_stats(&r).completed, 25);
    CHECK_INT(r.before, 25);
    CHECK_INT(r.after, 5);
    CHECK_INT(rig_stats(&r).threads, 3);
    CHECK_INT(rig_stats(&r).done, 1);
    CHECK_INT(rig_stats(&r).failed, 24);
    for (int i = 0; i < 25; i++) {
        CHECK_INT(refusals[i].job.runs, i / 5 == 0 ? 1 : 0);
        CHECK_INT(hora_future_failure(futures[i]), i / 5 != 0 ? i / 5 : i % 5);
        hora_future_unref(futures[i]);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_pool_shutdown(r.pool));
        CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    }
    rig_close(&r);
    CHECK_INT(r.terminated, 1);
}

/* ---- names ---- */

static int read_name(void *arg, void **ret_result)
{
    (void)ret_result;
    return pthread_getname_np(pthread_self(), arg, 32);
}

static void get_thread_name(hora_pool *pool, char name[32])
{
    hora_future *future;

    CHECK_OK(hora_pool_submit(pool, HORA_TASK(read_name, name), &future));
    CHECK_OK(hora_future_get(future, NULL));
    hora_future_unref(future);
}

TEST_REAL(pool_threads_are_named_after_pool_and_thread, "")
{
    hora_pool *pools[2];
    char name[32];
    int first = 0, second = 0, thread = 0;

    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_new_fixed(1, NULL, &pools[i], NULL));
    get_thread_name(pools[0], name);
    CHECK_INT(sscanf(name, "pool-%d-thread-%d", &first, &thread) >= 1, 1);
    if (strlen(name) < 15) /* the system cuts names of more than 15 characters */
        CHECK_INT(thread, 1);
    get_thread_name(pools[1], name);
    CHECK_INT(sscanf(name, "pool-%d-thread-", &second), 1);
    CHECK_INT(second, first + 1);
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_free(pools[i]));
}

TEST_REAL(pool_threads_are_named_as_wished, "")
{
    hora_pool *pool;
    char wish[] = "mill", name[32];

    CHECK_OK(hora_pool_new_fixed(2, HORA_POOL_OPTIONS(.name = wish), &pool, NULL));
    wish[0] = '?'; /* it was copied */
    get_thread_name(pool, name);
    CHECK(strcmp(name, "mill-1") == 0);
    get_thread_name(pool, name);
    CHECK(strcmp(name, "mill-2") == 0);
    CHECK_OK(hora_pool_free(pool));
}

TEST(pool_describes_itself, "")
{
    hora_pool *pool;
    struct job job = A_JOB(NULL);
    char text[200], start[10];
    int length;

    CHECK_OK(hora_pool_new_fixed(2, HORA_POOL_OPTIONS(.name = "mill"), &pool, NULL));
    CHECK_OK(hora_pool_execute(pool, JOB(&job)));
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    length = hora_pool_describe(pool, text, sizeof(text));
    CHECK_INT(length, (int)strlen(text));
    CHECK(strstr(text, "mill") != NULL);
    CHECK(strstr(text, "Running, pool size = 1, active threads = 0, queued tasks = 0, completed tasks = 1") !=
          NULL);
    CHECK_INT(hora_pool_describe(pool, start, sizeof(start)), length);
    CHECK_INT(strlen(start), sizeof(start) - 1);
    CHECK_INT(hora_pool_describe(pool, NULL, 0), length);
    CHECK_ERROR(hora_pool_describe(pool, NULL, 1), HORA_EINVAL);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    hora_pool_describe(pool, text, sizeof(text));
    CHECK(strstr(text, "Terminated, pool size = 0") != NULL);
    CHECK_OK(hora_pool_free(pool));
}

/* ---- tasks that end their thread ---- */

static int end_thread(void *arg, void **ret_result)
{
    struct job *job = arg;

    (void)ret_result;
    atomic_fetch_add(&job->runs, 1);
    atomic_fetch_add(&job->ends, 1);
    pthread_exit(NULL);
}

TEST_REAL(pool_task_that_ends_its_thread_is_abandoned_and_the_thread_replaced, "CP-TPE15 CP-TPE17")
{
    struct rig r;
    struct job bad = A_JOB(&r), good = A_JOB(&r);
    hora_future *future;

    rig_open(&r, true, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(end_thread, &bad, .drop = job_drop), &future));
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EABANDONED);
    CHECK_DONE(future, HORA_EABANDONED, NULL);
    settle(&r.f);
    CHECK_JOB(&bad, 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).abandoned, 1);
    CHECK_INT(rig_stats(&r).completed, 1);
    CHECK_INT(r.after, 1);
    CHECK_INT(r.last_code, HORA_EABANDONED);
    execute_job(&r, &good);
    settle(&r.f);
    CHECK_JOB(&good, 1);
    hora_future_unref(future);
    rig_close(&r);
}

struct pair {
    struct rig *rig;
    struct job *inner;
};

static hora_future *inner_future; /* here, since what a thread holds that ends so is lost */

/* Waits for a task of its own pool. This thread then runs the task itself, and the task ends the thread. */
static int wait_for_the_end_of_both(void *arg, void **ret_result)
{
    const struct pair *pair = arg;

    (void)ret_result;
    CHECK_OK(hora_pool_submit(pair->rig->pool, HORA_TASK(end_thread, pair->inner, .drop = job_drop),
                              &inner_future));
    CHECK(hora_future_get(inner_future, NULL) < 0);
    CHECK(false); /* never reached */
    return 0;
}

/* Both tasks are lost with the thread; neither is forgotten. */
TEST_REAL(pool_helper_that_loses_its_thread_closes_both_books, "CP-TPE17")
{
    struct rig r;
    struct job inner = A_JOB(&r);
    struct pair pair = {&r, &inner};
    hora_future *outer;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(wait_for_the_end_of_both, &pair), &outer));
    settle(&r.f);
    CHECK_DONE(outer, HORA_EABANDONED, NULL);
    CHECK_DONE(inner_future, HORA_EABANDONED, NULL);
    CHECK_INT(rig_stats(&r).abandoned, 2);
    CHECK_INT(rig_stats(&r).threads, 1);
    hora_future_unref(outer);
    hora_future_unref(inner_future);
    rig_close(&r);
    CHECK_JOB(&inner, 1);
}

TEST(pool_default_threads_are_at_least_one, "")
{
    CHECK(hora_available_processors() >= 1);
}
