/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_fork.c - in the child of a fork the parent's pools and futures reject every call */
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "pool_support.h"

/* What the parent made. */
struct family {
    struct rig r;
    struct job blocker, job;
    hora_future *future, *done;
    hora_future_storage storage;
    hora_future *stored;
};

static int write_nothing(const char *text, size_t length, void *context)
{
    (void)text;
    (void)length;
    (void)context;
    return 0;
}

static void call_pool(struct family *family)
{
    hora_pool *pool = family->r.pool;
    hora_future *future = NULL;
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    char text[10];

    CHILD_FORKED(hora_pool_execute(pool, JOB(&family->job)));
    CHILD_FORKED(hora_pool_submit(pool, JOB(&family->job), &future));
    CHILD_FORKED(hora_pool_execute_future(pool, family->stored));
    CHILD_FORKED(hora_pool_shutdown(pool));
    CHILD_FORKED(hora_pool_shutdown_now(pool, NULL));
    CHILD_FORKED(hora_pool_shutdown_now(pool, &list));
    CHILD_FORKED(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHILD_FORKED(hora_pool_close_for(pool, HORA_FOREVER));
    CHILD_FORKED(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHILD_FORKED(hora_pool_idle_fd(pool));
    CHILD_FORKED(hora_pool_remove(pool, family->future));
    CHILD_FORKED(hora_pool_purge(pool));
    CHILD_FORKED(hora_pool_prestart(pool));
    CHILD_FORKED(hora_pool_prestart_all(pool));
    CHILD_FORKED(hora_pool_set_core_threads(pool, 1, NULL));
    CHILD_FORKED(hora_pool_set_max_threads(pool, 1, NULL));
    CHILD_FORKED(hora_pool_set_keep_alive(pool, 1, NULL));
    CHILD_FORKED(hora_pool_set_core_time_out(pool, true, NULL));
    CHILD_FORKED(hora_pool_set_thread_factory(pool, rig_factory, NULL));
    CHILD_FORKED(hora_pool_set_reject(pool, HORA_REJECT_DISCARD, NULL, NULL, NULL));
    CHILD_FORKED(hora_pool_get_stats(pool, &stats));
    CHILD_FORKED(hora_pool_describe(pool, text, sizeof(text)));
    CHILD_FORKED(hora_pool_dump(pool, write_nothing, NULL));
    CHILD_FORKED(hora_pool_dump_fd(pool, STDERR_FILENO));
    CHILD_FORKED(hora_pool_free(pool));
    CHILD_CHECK(family->job.drops == 0 && future == NULL);
}

static void do_nothing(hora_future *future, void *context)
{
    (void)future;
    (void)context;
}

static void call_future(struct family *family)
{
    hora_future *futures[3] = {family->future, family->done, family->stored};
    void *result = untouched;
    char text[10];

    for (int i = 0; i < 3; i++) {
        CHILD_FORKED(hora_future_run(futures[i]));
        CHILD_FORKED(hora_future_run_and_reset(futures[i]));
        CHILD_FORKED(hora_future_complete(futures[i], NULL));
        CHILD_FORKED(hora_future_fail(futures[i], 1));
        CHILD_FORKED(hora_future_cancel(futures[i], true));
        CHILD_FORKED(hora_future_get(futures[i], &result));
        CHILD_FORKED(hora_future_get_for(futures[i], 0, &result));
        CHILD_FORKED(hora_future_take_result(futures[i], &result));
        CHILD_FORKED(hora_future_on_done(futures[i], do_nothing, NULL, NULL));
        CHILD_FORKED(hora_future_fd(futures[i]));
        CHILD_FORKED(hora_future_explain(futures[i], text, sizeof(text)));
    }
    CHILD_FORKED(hora_future_reclaim(family->stored));
    CHILD_CHECK(result == untouched);
}

static int succeed(void *arg, void **ret_result)
{
    *ret_result = arg;
    return 0;
}

/* The child's own pools work. */
static void use_new_pool(struct family *family)
{
    hora_pool *pool;
    hora_future *future;
    void *result = NULL;

    CHILD_CHECK(hora_pool_new_fixed(2, NULL, &pool, NULL) == 0);
    CHILD_CHECK(hora_pool_submit(pool, HORA_TASK(succeed, family), &future) == 0);
    CHILD_CHECK(hora_future_get(future, &result) == 0);
    CHILD_CHECK(result == family);
    hora_future_unref(future);
    CHILD_CHECK(hora_pool_free(pool) == 0);
}

static void fork_family(void (*run)(struct family *family))
{
    struct family family = {.blocker = A_WAITING_JOB(&family.r), .job = A_JOB(&family.r)};
    struct job first = A_JOB(&family.r), queued = A_JOB(&family.r), stored = A_JOB(&family.r);

    rig_open(&family.r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    family.done = submit_job(&family.r, &first);
    CHECK_OK(hora_future_get(family.done, NULL));
    execute_job(&family.r, &family.blocker);
    family.future = submit_job(&family.r, &queued);
    CHECK_OK(hora_future_init(&family.storage, JOB(&stored), &family.stored));
    settle(&family.r.f);
    in_child(run, &family);
    CHECK_OK(hora_future_reclaim(family.stored));
    rig_finish(&family.r);
    hora_future_unref(family.done);
    hora_future_unref(family.future);
    CHECK_JOB(&queued, 1);
    rig_close(&family.r);
}

TEST_REAL(pool_refuses_every_call_after_fork, "")
{
    fork_family(call_pool);
}

TEST_REAL(future_refuses_every_call_after_fork, "")
{
    fork_family(call_future);
}

/* ThreadSanitizer does not follow a process with threads into a child that starts more of them. */
TEST_REAL(pool_can_be_made_after_fork, "")
{
    if (!BUILT_WITH_TSAN)
        fork_family(use_new_pool);
}
