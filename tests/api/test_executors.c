/* SPDX-License-Identifier: Apache-2.0 */
/* test_executors.c - the usual pools by name: fixed, single, cached */
#define _GNU_SOURCE /* pthread_getname_np */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <limits.h>

#include "pool_support.h"

enum named { FIXED, SINGLE, CACHED, FROZEN };
enum { CODE = 7 };

static int make_pool(struct rig *r, enum named named, const hora_pool_options *options)
{
    hora_pool_options own = *options;

    own.clock = r->f.view;
    own.arg = r;
    switch (named) {
    case FIXED:
        return hora_pool_new_fixed(2, &own, &r->pool, NULL);
    case SINGLE:
        return hora_pool_new_single(&own, &r->pool, NULL);
    case CACHED:
        return hora_pool_new_cached(&own, &r->pool, NULL);
    case FROZEN:
        own.frozen = true;
        return hora_pool_new_fixed(2, &own, &r->pool, NULL);
    }
    return HORA_EINVAL;
}

static void open_named(struct rig *r, enum named named, const hora_pool_options *options)
{
    rig_prepare(r, false);
    r->factory_threads = MOST_FACTORY_THREADS;
    CHECK_OK(make_pool(r, named, options));
}

static void runs_three(enum named named, const hora_pool_options *options)
{
    struct rig r;
    struct job jobs[3] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};

    open_named(&r, named, options);
    for (int i = 0; i < 3; i++)
        execute_job(&r, &jobs[i]);
    settle(&r.f);
    for (int i = 0; i < 3; i++)
        CHECK_JOB(&jobs[i], 1);
    if (options->thread_factory != NULL)
        CHECK(r.factory_made >= 1);
    else
        CHECK_INT(r.factory_made, 0);
    rig_close(&r);
}

static void runs_three_plain(enum named named)
{
    hora_pool_options options = HORA_INIT(hora_pool_options);

    runs_three(named, &options);
}

static void runs_three_with_factory(enum named named)
{
    runs_three(named, HORA_POOL_OPTIONS(.thread_factory = rig_factory));
}

/* Without a factory the threads are hora's: that is what NULL means. */
TEST(cached_pool_runs_tasks, "ExecutorsTest.testNewCachedThreadPool1 ExecutorsTest.testNewCachedThreadPool3")
{
    runs_three_plain(CACHED);
}

TEST(cached_pool_runs_tasks_on_threads_of_a_factory, "ExecutorsTest.testNewCachedThreadPool2")
{
    runs_three_with_factory(CACHED);
}

TEST(single_pool_runs_tasks,
     "ExecutorsTest.testNewSingleThreadExecutor1 ExecutorsTest.testNewSingleThreadExecutor3")
{
    runs_three_plain(SINGLE);
}

TEST(single_pool_runs_tasks_on_threads_of_a_factory, "ExecutorsTest.testNewSingleThreadExecutor2")
{
    runs_three_with_factory(SINGLE);
}

TEST(fixed_pool_runs_tasks, "ExecutorsTest.testNewFixedThreadPool1 ExecutorsTest.testNewFixedThreadPool3")
{
    runs_three_plain(FIXED);
}

TEST(fixed_pool_runs_tasks_on_threads_of_a_factory, "ExecutorsTest.testNewFixedThreadPool2")
{
    runs_three_with_factory(FIXED);
}

TEST(frozen_pool_runs_tasks, "ExecutorsTest.testUnconfigurableExecutorService")
{
    runs_three_plain(FROZEN);
}

TEST(fixed_pool_needs_a_thread, "ExecutorsTest.testNewFixedThreadPool4")
{
    hora_pool *pool = (hora_pool *)untouched;

    CHECK_ERROR(hora_pool_new_fixed(0, NULL, &pool, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_new_fixed(-1, NULL, &pool, NULL), HORA_EINVAL);
    CHECK_POINTER(pool, untouched);
}

TEST(named_pools_need_a_place, "ExecutorsTest.testUnconfigurableExecutorServiceNPE")
{
    CHECK_ERROR(hora_pool_new_fixed(2, HORA_POOL_OPTIONS(.frozen = true), NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_new_single(NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_new_cached(NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_core_threads(NULL, 1, NULL), HORA_EINVAL);
}

/* What the name stands for cannot be said otherwise. */
TEST(named_pools_refuse_options_that_contradict, "")
{
    hora_pool *pool = (hora_pool *)untouched;

    CHECK_ERROR(hora_pool_new_fixed(2, HORA_POOL_OPTIONS(.core_threads = 2), &pool, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_new_fixed(2, HORA_POOL_OPTIONS(.max_threads = 3), &pool, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_new_single(HORA_POOL_OPTIONS(.queue_capacity = 3), &pool, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_new_cached(HORA_POOL_OPTIONS(.queue_capacity = -1), &pool, NULL), HORA_EINVAL);
    CHECK_POINTER(pool, untouched);
}

static int no_factory(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    (void)run;
    (void)arg;
    (void)name;
    (void)context;
    return HORA_EAGAIN;
}

static void check_frozen(enum named named)
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_pool_options options = HORA_INIT(hora_pool_options);
    hora_pool_stats before, after;

    open_named(&r, named, &options);
    before = rig_stats(&r);
    CHECK_ERROR(hora_pool_set_core_threads(r.pool, 1, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_max_threads(r.pool, 9, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_keep_alive(r.pool, A_WHILE, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_core_time_out(r.pool, true, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_thread_factory(r.pool, no_factory, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_reject(r.pool, HORA_REJECT_DISCARD, NULL, NULL, NULL), HORA_ENOTSUP);
    after = rig_stats(&r);
    CHECK_INT(after.core_threads, before.core_threads);
    CHECK_INT(after.max_threads, before.max_threads);
    CHECK_INT(after.keep_alive, before.keep_alive);
    CHECK_INT(after.core_time_out, before.core_time_out);
    CHECK(after.thread_factory == before.thread_factory);
    CHECK_INT(after.reject, before.reject);
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_JOB(&job, 1);
    rig_close(&r);
}

TEST(single_pool_cannot_be_changed, "ExecutorsTest.testCastNewSingleThreadExecutor CP-EX2")
{
    check_frozen(SINGLE);
}

TEST(frozen_pool_cannot_be_changed, "CP-EX2")
{
    check_frozen(FROZEN);
}

static int refuse_once(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;

    (void)pool;
    (void)run;
    return atomic_fetch_add(&r->before, 1) == 0 ? CODE : 0;
}

/* A worker that the before hook has ended is replaced, in a frozen pool too. */
TEST(single_pool_replaces_its_thread, "CP-EX2")
{
    struct rig r;
    struct job jobs[3] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};

    open_named(&r, SINGLE, HORA_POOL_OPTIONS(.before = refuse_once));
    for (int i = 0; i < 3; i++)
        execute_job(&r, &jobs[i]);
    settle(&r.f);
    CHECK_JOB(&jobs[0], 0);
    CHECK_JOB(&jobs[1], 1);
    CHECK_JOB(&jobs[2], 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).largest, 1);
    rig_close(&r);
}

/* ---- their options ---- */

TEST(fixed_pool_is_all_core_with_an_unbounded_queue, "CP-EX1")
{
    struct rig r;
    struct job jobs[4];
    hora_pool_options options = HORA_INIT(hora_pool_options);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    open_named(&r, FIXED, &options);
    stats = rig_stats(&r);
    CHECK_INT(stats.core_threads, 2);
    CHECK_INT(stats.max_threads, 2);
    CHECK_INT(stats.keep_alive, 0);
    CHECK_INT(hora_queue_remaining_capacity(hora_pool_queue(r.pool)), HORA_UNBOUNDED);
    hora_error reason;
    CHECK_ERROR(hora_pool_set_max_threads(r.pool, 3, &reason), HORA_EINVAL); /* it would have no effect */
    CHECK_REFUSAL(&reason, HORA_EINVAL, "max_threads", "unbounded");
    execute_jobs(&r, jobs, 4);
    stats = rig_stats(&r);
    CHECK_INT(stats.threads, 2);
    CHECK_INT(stats.queued, 2);
    rig_close(&r);
}

TEST(single_pool_is_one_core_thread_with_an_unbounded_queue, "CP-EX1")
{
    struct rig r;
    struct job jobs[3];
    hora_pool_options options = HORA_INIT(hora_pool_options);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    open_named(&r, SINGLE, &options);
    CHECK_INT(hora_queue_remaining_capacity(hora_pool_queue(r.pool)), HORA_UNBOUNDED);
    execute_jobs(&r, jobs, 3);
    stats = rig_stats(&r);
    CHECK_INT(stats.core_threads, 1);
    CHECK_INT(stats.max_threads, 1);
    CHECK_INT(stats.keep_alive, 0);
    CHECK_INT(stats.threads, 1);
    CHECK_INT(stats.queued, 2);
    rig_close(&r);
}

/* A thread per task, and none is left after a minute without work. */
TEST(cached_pool_grows_with_its_tasks_and_shrinks_to_nothing, "CP-EX1")
{
    struct rig r;
    struct job jobs[3];
    struct job later = A_JOB(&r);
    hora_pool_options options = HORA_INIT(hora_pool_options);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    open_named(&r, CACHED, &options);
    execute_jobs(&r, jobs, 3);
    stats = rig_stats(&r);
    CHECK_INT(stats.core_threads, 0);
    CHECK_INT(stats.max_threads, INT_MAX);
    CHECK_INT(stats.keep_alive, HORA_SECONDS(60));
    CHECK_INT(stats.threads, 3);
    CHECK_INT(stats.queued, 0);
    CHECK_INT(hora_queue_remaining_capacity(hora_pool_queue(r.pool)), 0);
    rig_open_gate(&r);
    settle(&r.f);
    execute_job(&r, &later); /* by one that is idle */
    CHECK_INT(rig_stats(&r).largest, 3);
    CHECK_JOB(&later, 1);
    advance(&r.f, HORA_SECONDS(60) - 1);
    CHECK_INT(rig_stats(&r).threads, 3);
    advance(&r.f, 1);
    CHECK_INT(rig_stats(&r).threads, 0);
    rig_close(&r);
}

TEST(named_pools_time_out_waits_for_a_task_that_blocks, "ExecutorsTest.testTimedCallable")
{
    for (int named = FIXED; named <= CACHED; named++) {
        struct rig r;
        struct job job = A_WAITING_JOB(&r);
        struct call call;
        hora_pool_options options = HORA_INIT(hora_pool_options);
        hora_future *future;

        open_named(&r, (enum named)named, &options);
        future = submit_job(&r, &job);
        start_get_for(&call, &r.f, future, A_WHILE);
        CHECK_TIMES_OUT(&call, A_WHILE);
        CHECK_NOT_DONE(future);
        (void)hora_future_unref(future);
        rig_close(&r);
    }
}

/* ---- names ---- */

static char names[4][64];
static int name_count;

static int note_name(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    CHECK(name_count < 4);
    (void)snprintf(names[name_count++], sizeof names[0], "%s", name);
    return rig_factory(run, arg, name, context);
}

/* pool-N-thread-M: N counts pools, M the threads of a pool. */
TEST(pool_names_count_pools_and_threads, "CP-EX3")
{
    int pool[2] = {0};

    name_count = 0;
    for (int p = 0; p < 2; p++) {
        struct rig r;
        struct job jobs[2];
        int thread;

        open_named(&r, FIXED, HORA_POOL_OPTIONS(.thread_factory = note_name));
        execute_jobs(&r, jobs, 2);
        for (int t = 0; t < 2; t++) {
            CHECK_INT(sscanf(names[2 * p + t], "pool-%d-thread-%d", &pool[p], &thread), 2);
            CHECK_INT(thread, t + 1);
        }
        rig_close(&r);
    }
    CHECK(pool[0] >= 1);
    if (!test_simulated()) /* where each pool is the first: schedules must not depend on what was before */
        CHECK_INT(pool[1], pool[0] + 1);
}

/* A name that is too long for the system is no reason not to run. */
TEST(pool_name_may_be_long, "CP-EX3")
{
    runs_three(
        FIXED,
        HORA_POOL_OPTIONS(.name = "a name that is much longer than any system would ever allow it to be"));
}

struct thread_look {
    char name[32];
    sigset_t blocked;
};

static int look_at_thread(void *arg, void **ret_result)
{
    struct thread_look *look = arg;

    (void)ret_result;
    CHECK_INT(pthread_getname_np(pthread_self(), look->name, sizeof look->name), 0);
    CHECK_INT(pthread_sigmask(SIG_BLOCK, NULL, &look->blocked), 0);
    return 0;
}

/* hora's own threads have the name, cut if need be, and leave signals to the program's. */
TEST_REAL(pool_threads_have_names_and_block_signals, "ExecutorsTest.testDefaultThreadFactory CP-EX3")
{
    struct rig r;
    struct thread_look look = {.name = ""};
    hora_pool_options options = HORA_INIT(hora_pool_options);
    int number = 0;

    open_named(&r, SINGLE, &options);
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(look_at_thread, &look)));
    settle(&r.f);
    CHECK_INT(sscanf(look.name, "pool-%d-th", &number), 1);
    CHECK(number >= 1);
    if (number < 10)
        CHECK(strstr(look.name, "thread-1") != NULL);
    CHECK_INT(sigismember(&look.blocked, SIGINT), 1);
    CHECK_INT(sigismember(&look.blocked, SIGTERM), 1);
    CHECK_INT(sigismember(&look.blocked, SIGSEGV), 0);
    rig_close(&r);
}

/* ---- a task is a callable already ---- */

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static int give_arg(void *arg, void **ret_result)
{
    *ret_result = arg;
    return 0;
}

TEST(task_without_a_result_gives_null, "ExecutorsTest.testCallable1")
{
    hora_future *future;

    CHECK_OK(hora_future_new(HORA_TASK(do_nothing, item(1)), &future));
    CHECK_INT(hora_future_run(future), 1);
    CHECK_DONE(future, 0, NULL);
    (void)hora_future_unref(future);
}

TEST(task_with_a_result_gives_it, "ExecutorsTest.testCallable2")
{
    hora_future *future;

    CHECK_OK(hora_future_new(HORA_TASK(give_arg, item(1)), &future));
    CHECK_INT(hora_future_run(future), 1);
    CHECK_DONE(future, 0, item(1));
    (void)hora_future_unref(future);
}

TEST(task_needs_a_function, "ExecutorsTest.testCallableNPE1 ExecutorsTest.testCallableNPE2")
{
    struct rig r;
    hora_pool_options options = HORA_INIT(hora_pool_options);
    hora_future *future = (hora_future *)untouched;

    open_named(&r, SINGLE, &options);
    CHECK_ERROR(hora_future_new(HORA_TASK(NULL, NULL), &future), HORA_EINVAL);
    CHECK_ERROR(hora_future_new(HORA_TASK(NULL, item(1)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_pool_submit(r.pool, HORA_TASK(NULL, item(1)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_pool_execute(r.pool, HORA_TASK(NULL, item(1))), HORA_EINVAL);
    CHECK_POINTER(future, untouched);
    rig_close(&r);
}
