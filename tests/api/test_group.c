/* SPDX-License-Identifier: Apache-2.0 */
/* test_group.c - futures that are waited for, and cancelled, together */
#include "invoke_support.h"

enum { CODE = 7 };

/* A group on a rig's clock, with a pool of two threads. */
struct team {
    struct venue v;
    hora_group *group;
};

static void team_open_with(struct team *t, const hora_pool_options *options)
{
    venue_open_pool(&t->v, options);
    CHECK_OK(hora_group_new(HORA_GROUP_OPTIONS(.clock = t->v.r.f.view), &t->group, NULL));
}

static void team_open(struct team *t)
{
    team_open_with(t, HORA_POOL_OPTIONS(.core_threads = 2));
}

static void team_close(struct team *t)
{
    CHECK_OK(hora_group_free(t->group));
    venue_close(&t->v);
}

static void submit(struct team *t, struct job *job)
{
    CHECK_OK(hora_group_submit(t->group, &t->v.executor, JOB(job), NULL));
}

static int run_wait(struct call *call)
{
    return hora_group_await(call->object);
}

static int run_wait_for(struct call *call)
{
    return hora_group_await_for(call->object, call->timeout);
}

static void start_wait(struct call *call, struct team *t)
{
    *call = (struct call){.run = run_wait, .object = t->group};
    start_call(call, &t->v.r.f);
}

static void start_wait_for(struct call *call, struct team *t, hora_ns timeout)
{
    *call = (struct call){.run = run_wait_for, .object = t->group, .timeout = timeout};
    start_call(call, &t->v.r.f);
}

TEST(group_refuses_null, "")
{
    hora_group *group;
    hora_future *future = (hora_future *)untouched;
    hora_executor here = {.execute = execute_here};
    hora_executor nowhere = hora_pool_executor(NULL);

    CHECK_ERROR(hora_group_new(NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_group_new(&(hora_group_options){.struct_size = 1}, &group, NULL), HORA_EINVAL);
    CHECK_OK(hora_group_free(NULL));
    CHECK_ERROR(hora_group_await(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_group_await_for(NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_group_cancel(NULL, true), HORA_EINVAL);
    CHECK_ERROR(hora_group_pending(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_group_failed(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_group_fd(NULL), HORA_EINVAL);
    CHECK_OK(hora_group_new(NULL, &group, NULL));
    CHECK_ERROR(hora_group_add(group, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_group_add(NULL, future), HORA_EINVAL);
    CHECK_ERROR(hora_group_submit(NULL, &here, HORA_TASK(job_run, item(0)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_group_submit(group, NULL, HORA_TASK(job_run, item(0)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_group_submit(group, &nowhere, HORA_TASK(job_run, item(0)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_group_submit(group, &here, NULL, &future), HORA_EINVAL);
    CHECK_ERROR(hora_group_submit(group, &here, HORA_TASK(NULL, item(0)), &future), HORA_EINVAL);
    CHECK_POINTER(future, untouched);
    CHECK_INT(hora_group_pending(group), 0);
    CHECK_OK(hora_group_free(group));
}

TEST(group_without_futures_is_not_waited_for, "")
{
    struct team t;

    team_open(&t);
    CHECK_OK(hora_group_await(t.group));
    for (int i = 0; i < 5; i++)
        CHECK_OK(hora_group_await_for(t.group, any_timeout[i]));
    CHECK_INT(hora_group_cancel(t.group, true), 0);
    team_close(&t);
}

TEST(group_wait_returns_when_all_are_done, "")
{
    struct team t;
    struct job jobs[3] = {A_JOB(&t.v.r), A_WAITING_JOB(&t.v.r), A_WAITING_JOB(&t.v.r)};
    struct call calls[2];

    team_open(&t);
    for (int i = 0; i < 3; i++)
        submit(&t, &jobs[i]);
    start_wait(&calls[0], &t);
    start_wait_for(&calls[1], &t, A_LONG_WHILE);
    CHECK_BLOCKED(&calls[0]);
    CHECK_BLOCKED(&calls[1]);
    CHECK_INT(hora_group_pending(t.group), 2);
    rig_open_gate(&t.v.r);
    CHECK_RETURNS(&calls[0], 0);
    CHECK_RETURNS(&calls[1], 0);
    CHECK_INT(hora_group_pending(t.group), 0);
    CHECK_INT(hora_group_failed(t.group), 0);
    settle(&t.v.r.f);
    for (int i = 0; i < 3; i++)
        CHECK_JOB(&jobs[i], 1);
    team_close(&t);
}

/* A group is not a latch: it may be filled and waited for again. */
TEST(group_can_be_used_again, "")
{
    struct team t;
    struct call call;

    team_open(&t);
    for (int round = 0; round < 3; round++) {
        hora_future *promise;

        CHECK_OK(hora_future_new_promise(NULL, &promise));
        CHECK_OK(hora_group_add(t.group, promise));
        start_wait(&call, &t);
        CHECK_BLOCKED(&call);
        CHECK_INT(hora_future_complete(promise, NULL), 1);
        CHECK_RETURNS(&call, 0);
        (void)hora_future_unref(promise);
    }
    team_close(&t);
}

TEST(group_counts_what_has_not_succeeded, "")
{
    struct team t;
    struct job jobs[3] = {A_WAITING_JOB(&t.v.r), {.rig = &t.v.r, .code = CODE}, A_JOB(&t.v.r)};
    hora_future *future;
    hora_future *done;

    team_open_with(&t,
                   HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_DISCARD));
    CHECK_OK(hora_group_submit(t.group, &t.v.executor, JOB(&jobs[0]), &future));
    submit(&t, &jobs[1]);
    submit(&t, &jobs[2]); /* discarded */
    CHECK_INT(hora_group_failed(t.group), 1);
    CHECK_INT(hora_group_pending(t.group), 2);
    CHECK(hora_future_cancel(future, true) > 0);
    CHECK(hora_group_failed(t.group) >= 2); /* the next may have failed already */
    settle(&t.v.r.f);
    CHECK_INT(hora_group_failed(t.group), 3);
    CHECK_INT(hora_group_pending(t.group), 0);
    CHECK_OK(hora_future_new_promise(NULL, &done));
    CHECK_INT(hora_future_fail(done, CODE), 1);
    CHECK_OK(hora_group_add(t.group, done)); /* done already: it counts at once */
    CHECK_INT(hora_group_failed(t.group), 4);
    CHECK_INT(hora_group_pending(t.group), 0);
    (void)hora_future_unref(done);
    (void)hora_future_unref(future);
    team_close(&t);
}

TEST(group_holds_a_future_until_it_is_done, "")
{
    struct team t;
    hora_future *promise;

    team_open(&t);
    CHECK_OK(hora_future_new_promise(NULL, &promise));
    CHECK_OK(hora_group_add(t.group, promise));
    CHECK_OK(hora_group_add(t.group, promise)); /* twice counts twice */
    (void)hora_future_unref(promise);
    CHECK_INT(hora_group_pending(t.group), 2);
    CHECK_INT(hora_group_cancel(t.group, false), 1);
    CHECK_INT(hora_group_pending(t.group), 0);
    CHECK_INT(hora_group_failed(t.group), 2);
    team_close(&t);
}

TEST(group_cancel_reaches_all_that_are_pending, "")
{
    struct team t;
    struct job jobs[4] = {A_WAITING_JOB(&t.v.r), A_WAITING_JOB(&t.v.r), A_JOB(&t.v.r), A_JOB(&t.v.r)};
    struct call call;

    team_open(&t);
    for (int i = 0; i < 4; i++)
        submit(&t, &jobs[i]);
    start_wait(&call, &t);
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_group_cancel(t.group, true), 4);
    CHECK_RETURNS(&call, 0);
    CHECK_INT(hora_group_failed(t.group), 4);
    settle(&t.v.r.f);
    for (int i = 0; i < 4; i++) {
        CHECK_JOB(&jobs[i], i < 2);
        CHECK_INT(jobs[i].interrupts, i < 2);
    }
    CHECK_INT(hora_group_cancel(t.group, true), 0);
    team_close(&t);
}

TEST(group_cancel_without_interrupt_lets_bodies_run, "")
{
    struct team t;
    struct job job = A_WAITING_JOB(&t.v.r);

    team_open(&t);
    submit(&t, &job);
    settle(&t.v.r.f);
    CHECK_INT(hora_group_cancel(t.group, false), 1);
    CHECK_OK(hora_group_await(t.group));
    settle(&t.v.r.f);
    CHECK_INT(job.ends, 0);
    rig_open_gate(&t.v.r);
    settle(&t.v.r.f);
    CHECK_INT(job.interrupts, 0);
    CHECK_JOB(&job, 1);
    team_close(&t);
}

/* ---- waits ---- */

TEST(group_wait_reports_an_interrupt_first, "")
{
    struct team t;
    struct job job = A_WAITING_JOB(&t.v.r);
    struct call call;

    team_open(&t);
    CHECK_INTERRUPTED(hora_group_await(t.group), NULL);
    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_group_await_for(t.group, any_timeout[i]), NULL);
    submit(&t, &job);
    start_wait(&call, &t);
    CHECK_INTERRUPTIBLE(&call);
    start_wait_for(&call, &t, A_LONG_WHILE);
    CHECK_INTERRUPTIBLE(&call);
    rig_open_gate(&t.v.r);
    CHECK_OK(hora_group_await(t.group));
    team_close(&t);
}

TEST(group_timed_wait_times_out, "")
{
    struct team t;
    struct job job = A_WAITING_JOB(&t.v.r);
    struct call call;

    team_open(&t);
    submit(&t, &job);
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_group_await_for(t.group, expired[i]), HORA_ETIMEDOUT);
    start_wait_for(&call, &t, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    CHECK_INT(hora_group_pending(t.group), 1);
    rig_open_gate(&t.v.r);
    CHECK_OK(hora_group_await(t.group));
    team_close(&t);
}

struct inner {
    struct team *team;
    struct job jobs[2];
    int result;
    bool is_member;
};

static int wait_inside(void *arg, void **ret_result)
{
    struct inner *inner = arg;

    (void)ret_result;
    if (!inner->is_member)
        for (int i = 0; i < 2; i++)
            submit(inner->team, &inner->jobs[i]);
    inner->result = hora_group_await(inner->team->group);
    return 0;
}

/* The only worker runs the tasks that it waits for. */
TEST(group_wait_inside_a_worker_runs_the_tasks, "")
{
    struct team t;
    struct inner inner = {.team = &t, .jobs = {A_JOB(&t.v.r), A_JOB(&t.v.r)}, .result = 1};

    team_open_with(&t, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(t.v.r.pool, HORA_TASK(wait_inside, &inner)));
    settle(&t.v.r.f);
    CHECK_OK(inner.result);
    CHECK_JOB(&inner.jobs[0], 1);
    CHECK_JOB(&inner.jobs[1], 1);
    team_close(&t);
}

/* A member that waits for the group waits for itself. */
TEST(group_wait_of_a_member_for_its_own_group_is_refused, "")
{
    struct team t;
    struct inner inner = {.team = &t, .result = 1, .is_member = true};
    struct job blocker = A_WAITING_JOB(&t.v.r);

    team_open_with(&t, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(&t.v.r, &blocker); /* so that it is a member before it runs */
    CHECK_OK(hora_group_submit(t.group, &t.v.executor, HORA_TASK(wait_inside, &inner), NULL));
    rig_open_gate(&t.v.r);
    settle(&t.v.r.f);
    CHECK_ERROR(inner.result, HORA_EDEADLK);
    CHECK_INT(hora_group_pending(t.group), 0);
    team_close(&t);
}

static int submit_inside(void *arg, void **ret_result)
{
    struct inner *inner = arg;

    (void)ret_result;
    for (int i = 0; i < 2; i++)
        submit(inner->team, &inner->jobs[i]);
    return 0;
}

/* What the tasks of a group add to it is waited for as well. */
TEST(group_may_be_filled_by_its_own_tasks, "")
{
    struct team t;
    struct inner inner = {.team = &t, .jobs = {A_JOB(&t.v.r), A_JOB(&t.v.r)}};

    team_open(&t);
    CHECK_OK(hora_group_submit(t.group, &t.v.executor, HORA_TASK(submit_inside, &inner), NULL));
    CHECK_OK(hora_group_await(t.group));
    CHECK_INT(inner.jobs[0].runs + inner.jobs[1].runs, 2);
    team_close(&t);
}

/* ---- refusals and the end ---- */

TEST(group_submit_refused_leaves_the_task_to_the_caller, "")
{
    struct team t;
    struct job jobs[2] = {A_WAITING_JOB(&t.v.r), A_JOB(&t.v.r)};
    hora_future *future = (hora_future *)untouched;

    team_open_with(&t, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1));
    submit(&t, &jobs[0]);
    CHECK_ERROR(hora_group_submit(t.group, &t.v.executor, JOB(&jobs[1]), &future), HORA_EREJECTED);
    CHECK_POINTER(future, untouched);
    CHECK_INT(jobs[1].runs + jobs[1].drops, 0);
    CHECK_INT(hora_group_pending(t.group), 1);
    rig_open_gate(&t.v.r);
    CHECK_OK(hora_group_await(t.group));
    CHECK_INT(hora_group_failed(t.group), 0);
    team_close(&t);
}

TEST(group_in_use_cannot_be_freed, "")
{
    struct team t;
    struct job job = A_WAITING_JOB(&t.v.r);
    struct call call;

    team_open(&t);
    submit(&t, &job);
    CHECK_ERROR(hora_group_free(t.group), HORA_EBUSY);
    start_wait(&call, &t);
    CHECK_BLOCKED(&call);
    CHECK_ERROR(hora_group_free(t.group), HORA_EBUSY);
    rig_open_gate(&t.v.r);
    CHECK_RETURNS(&call, 0);
    team_close(&t);
}

static void complete(void *future)
{
    CHECK_INT(hora_future_complete(future, NULL), 1);
}

/* The thread that completed the last task may still be inside its call. */
TEST(group_can_be_freed_as_soon_as_the_wait_returned, "")
{
    hora_group *group;
    hora_future *promises[2];
    test_thread *threads[2];

    CHECK_OK(hora_group_new(NULL, &group, NULL));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_future_new_promise(NULL, &promises[i]));
        CHECK_OK(hora_group_add(group, promises[i]));
    }
    for (int i = 0; i < 2; i++)
        threads[i] = test_thread_start(NULL, complete, promises[i]);
    CHECK_OK(hora_group_await(group));
    CHECK_OK(hora_group_free(group));
    for (int i = 0; i < 2; i++)
        test_thread_join(threads[i]);
    release_futures(promises, 2);
}

TEST_REAL(group_descriptor_is_readable_while_nothing_is_pending, "")
{
    struct team t;
    hora_future *promises[2];
    int fd;

    team_open(&t);
    fd = hora_group_fd(t.group);
    CHECK(fd >= 0);
    CHECK(is_readable(fd));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            CHECK_OK(hora_future_new_promise(NULL, &promises[i]));
            CHECK_OK(hora_group_add(t.group, promises[i]));
            CHECK(!is_readable(fd));
        }
        for (int i = 0; i < 2; i++) {
            CHECK(!is_readable(fd));
            CHECK_INT(hora_future_complete(promises[i], NULL), 1);
        }
        CHECK(is_readable(fd));
        CHECK_INT(hora_group_fd(t.group), fd);
        release_futures(promises, 2);
    }
    team_close(&t);
}

TEST(group_cancels_the_others_when_one_fails, "")
{
    hora_group *group;
    hora_future *promises[3];

    CHECK_OK(hora_group_new(HORA_GROUP_OPTIONS(.cancel_on_failure = true), &group, NULL));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_future_new_promise(NULL, &promises[i]));
        CHECK_OK(hora_group_add(group, promises[i]));
    }
    CHECK_INT(hora_future_complete(promises[0], NULL), 1);
    CHECK_INT(hora_group_pending(group), 2); /* a success cancels none */
    CHECK_INT(hora_future_fail(promises[1], CODE), 1);
    CHECK_INT(hora_group_pending(group), 0);
    CHECK(hora_future_is_cancelled(promises[2]));
    CHECK_INT(hora_group_failed(group), 2);
    release_futures(promises, 3);
    CHECK_OK(hora_group_free(group));
}
