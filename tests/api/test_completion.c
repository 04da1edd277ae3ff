/* SPDX-License-Identifier: Apache-2.0 */
/* test_completion.c - futures in the order in which they are done */
#include "invoke_support.h"

enum { CODE = 7 };

/* A service over a pool with the rig's gate. */
struct desk {
    struct venue v;
    hora_completion_service *service;
};

static void desk_open_with(struct desk *d, const hora_pool_options *options, hora_queue *queue)
{
    venue_open_pool(&d->v, options);
    CHECK_OK(hora_completion_service_new(&d->v.executor, queue, &d->service));
}

static void desk_open(struct desk *d)
{
    desk_open_with(d, HORA_POOL_OPTIONS(.core_threads = 2), NULL);
}

static void desk_close(struct desk *d)
{
    CHECK_OK(hora_completion_service_free(d->service));
    venue_close(&d->v);
}

static hora_future *submit(struct desk *d, struct job *job)
{
    hora_future *future = NULL;

    CHECK_OK(hora_completion_service_submit(d->service, JOB(job), &future));
    return future;
}

static int run_service_take(struct call *call)
{
    return hora_completion_service_take(call->object, (hora_future **)&call->item);
}

static int run_service_poll_for(struct call *call)
{
    return hora_completion_service_poll_for(call->object, call->timeout, (hora_future **)&call->item);
}

static void start_service_take(struct call *call, struct desk *d)
{
    *call = (struct call){.run = run_service_take, .object = d->service, .item = untouched, .takes = true};
    start_call(call, &d->v.r.f);
}

static void start_service_poll_for(struct call *call, struct desk *d, hora_ns timeout)
{
    *call = (struct call){.run = run_service_poll_for,
                          .object = d->service,
                          .timeout = timeout,
                          .item = untouched,
                          .takes = true};
    start_call(call, &d->v.r.f);
}

static void check_polls(const char *file, int line, struct desk *d, hora_future *want)
{
    hora_future *got = (hora_future *)untouched;

    test_check_error(file, line, "poll", hora_completion_service_poll(d->service, &got), 0);
    test_check_pointer(file, line, "future polled", got, want);
    if (got != (hora_future *)untouched)
        (void)hora_future_unref(got);
}
#define CHECK_POLLS(d, want) check_polls(__FILE__, __LINE__, (d), (want))

/* Nothing can be taken, by every way that does not wait. */
static void check_polls_nothing(const char *file, int line, struct desk *d)
{
    hora_future *got = (hora_future *)untouched;

    test_check_error(file, line, "poll", hora_completion_service_poll(d->service, &got), HORA_EEMPTY);
    for (int i = 0; i < 3; i++)
        test_check_error(file, line, "poll_for",
                         hora_completion_service_poll_for(d->service, expired[i], &got), HORA_ETIMEDOUT);
    test_check_pointer(file, line, "output", got, untouched);
}
#define CHECK_POLLS_NOTHING(d) check_polls_nothing(__FILE__, __LINE__, (d))

TEST(completion_needs_an_executor, "ExecutorCompletionServiceTest.testConstructorNPE")
{
    hora_executor nowhere = hora_pool_executor(NULL);
    hora_executor here = {.execute = execute_here};
    hora_completion_service *service = (hora_completion_service *)untouched;

    CHECK_ERROR(hora_completion_service_new(NULL, NULL, &service), HORA_EINVAL);
    CHECK_ERROR(hora_completion_service_new(&nowhere, NULL, &service), HORA_EINVAL);
    CHECK_ERROR(hora_completion_service_new(&here, NULL, NULL), HORA_EINVAL);
    CHECK_POINTER(service, untouched);
    CHECK_OK(hora_completion_service_free(NULL));
}

/* No queue is the default, one that holds nothing is refused. */
TEST(completion_makes_its_own_queue, "ExecutorCompletionServiceTest.testConstructorNPE2")
{
    hora_executor here = {.execute = execute_here};
    hora_completion_service *service;
    hora_queue *synchronous;
    hora_future *future;
    hora_future *taken;
    struct job job = {.rig = NULL};

    CHECK_OK(hora_completion_service_new(&here, NULL, &service));
    CHECK_OK(hora_completion_service_submit(service, JOB(&job), &future));
    CHECK_OK(hora_completion_service_take(service, &taken));
    CHECK_POINTER(taken, future);
    (void)hora_future_unref(future);
    (void)hora_future_unref(taken);
    CHECK_OK(hora_completion_service_free(service));
    CHECK_OK(hora_queue_new_synchronous(NULL, &synchronous, NULL));
    CHECK_ERROR(hora_completion_service_new(&here, synchronous, &service), HORA_EINVAL);
    CHECK_OK(hora_queue_free(synchronous));
}

TEST(completion_submit_refuses_null, "ExecutorCompletionServiceTest.testSubmitNullCallable "
                                     "ExecutorCompletionServiceTest.testSubmitNullRunnable")
{
    struct desk d;
    hora_future *future = (hora_future *)untouched;

    desk_open(&d);
    CHECK_ERROR(hora_completion_service_submit(d.service, NULL, &future), HORA_EINVAL);
    CHECK_ERROR(hora_completion_service_submit(d.service, HORA_TASK(NULL, item(1)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_completion_service_submit(NULL, HORA_TASK(job_run, item(1)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_completion_service_take(NULL, &future), HORA_EINVAL);
    CHECK_ERROR(hora_completion_service_take(d.service, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_completion_service_poll(NULL, &future), HORA_EINVAL);
    CHECK_ERROR(hora_completion_service_poll(d.service, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_completion_service_poll_for(d.service, 1, NULL), HORA_EINVAL);
    CHECK_POINTER(future, untouched);
    CHECK_POLLS_NOTHING(&d);
    desk_close(&d);
}

TEST(completion_take_gives_the_very_future_when_it_is_done,
     "ExecutorCompletionServiceTest.testTake ExecutorCompletionServiceTest.testTake2")
{
    struct desk d;
    struct job job = A_WAITING_JOB(&d.v.r);
    struct call call;
    hora_future *future;

    desk_open(&d);
    future = submit(&d, &job);
    start_service_take(&call, &d);
    CHECK_BLOCKED(&call);
    rig_open_gate(&d.v.r);
    CHECK_TAKES(&call, future);
    CHECK_DONE(future, 0, &job);
    (void)hora_future_unref(call.item);
    (void)hora_future_unref(future);
    settle(&d.v.r.f);
    CHECK_JOB(&job, 1);
    desk_close(&d);
}

TEST(completion_poll_gives_what_is_done, "ExecutorCompletionServiceTest.testPoll1")
{
    struct desk d;
    struct job job = A_JOB(&d.v.r);
    hora_future *future;

    desk_open(&d);
    CHECK_POLLS_NOTHING(&d);
    future = submit(&d, &job);
    settle(&d.v.r.f);
    CHECK_POLLS(&d, future);
    CHECK_POLLS_NOTHING(&d);
    CHECK_DONE(future, 0, &job);
    (void)hora_future_unref(future);
    desk_close(&d);
}

TEST(completion_timed_poll_waits_for_its_time, "ExecutorCompletionServiceTest.testPoll2")
{
    struct desk d;
    struct job job = A_JOB(&d.v.r);
    struct call call;
    hora_future *future;

    desk_open(&d);
    start_service_poll_for(&call, &d, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    start_service_poll_for(&call, &d, A_WHILE);
    CHECK_BLOCKED(&call);
    future = submit(&d, &job);
    CHECK_TAKES(&call, future);
    CHECK_DONE(future, 0, &job);
    (void)hora_future_unref(call.item);
    (void)hora_future_unref(future);
    desk_close(&d);
}

TEST(completion_gives_nothing_before_it_is_done,
     "ExecutorCompletionServiceTest.testPollReturnsNullBeforeCompletion")
{
    struct desk d;
    struct job job = A_WAITING_JOB(&d.v.r);
    struct call call;
    hora_future *future;

    desk_open(&d);
    future = submit(&d, &job);
    settle(&d.v.r.f);
    CHECK_POLLS_NOTHING(&d);
    start_service_poll_for(&call, &d, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    CHECK_NOT_DONE(future);
    rig_open_gate(&d.v.r);
    settle(&d.v.r.f);
    CHECK_POLLS(&d, future);
    CHECK_DONE(future, 0, &job);
    (void)hora_future_unref(future);
    desk_close(&d);
}

TEST(completion_gives_failures_as_well, "ExecutorCompletionServiceTest.testTaskAssortment")
{
    struct desk d;
    struct job jobs[6];
    int normal = 0;
    int failed = 0;

    desk_open(&d);
    for (int i = 0; i < 6; i++) {
        jobs[i] = (struct job){.rig = &d.v.r, .code = i % 3 == 0 ? 0 : CODE};
        CHECK_OK(hora_completion_service_submit(d.service, JOB(&jobs[i]), NULL));
    }
    for (int i = 0; i < 6; i++) {
        hora_future *future;
        int outcome;

        CHECK_OK(hora_completion_service_take(d.service, &future));
        outcome = hora_future_get_for(future, 0, NULL);
        if (outcome == 0) {
            normal++;
        } else {
            CHECK_FAILED(future, CODE);
            failed++;
        }
        (void)hora_future_unref(future);
    }
    CHECK_INT(normal, 2);
    CHECK_INT(failed, 4);
    CHECK_POLLS_NOTHING(&d);
    desk_close(&d);
}

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* The future that submit returned is the one that is taken, and its callback has been called. */
TEST(completion_takes_a_future_with_a_callback, "ExecutorCompletionServiceTest.testNewTaskForCallable "
                                                "ExecutorCompletionServiceTest.testNewTaskForRunnable")
{
    for (int with_result = 0; with_result < 2; with_result++) {
        struct desk d;
        struct job job = A_WAITING_JOB(&d.v.r);
        struct job blocker = A_WAITING_JOB(&d.v.r);
        hora_future *future;

        desk_open_with(&d, HORA_POOL_OPTIONS(.core_threads = 1), NULL);
        execute_job(&d.v.r, &blocker);
        CHECK_OK(hora_completion_service_submit(
            d.service, with_result ? JOB(&job) : HORA_TASK(do_nothing, &job, .drop = job_drop), &future));
        CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
        CHECK_INT(job.dones, 0);
        rig_open_gate(&d.v.r);
        settle(&d.v.r.f);
        CHECK_POLLS(&d, future);
        CHECK_INT(job.dones, 1);
        CHECK_DONE(future, 0, with_result ? &job : NULL);
        (void)hora_future_unref(future);
        desk_close(&d);
    }
}

static int give_arg(void *arg, void **ret_result)
{
    *ret_result = arg;
    return 0;
}

TEST(completion_collects_all_results, "ExecutorCompletionService9Test.testSolveAll")
{
    struct desk d;
    int results = 0;
    int sum = 0;

    desk_open(&d);
    for (int i = 0; i < 5; i++)
        CHECK_OK(hora_completion_service_submit(d.service, HORA_TASK(give_arg, i % 4 == 0 ? NULL : item(i)),
                                                NULL));
    for (int i = 0; i < 5; i++) {
        hora_future *future;
        void *result;

        CHECK_OK(hora_completion_service_take(d.service, &future));
        CHECK_OK(hora_future_get(future, &result));
        if (result != NULL) {
            results++;
            sum += ((struct element *)result)->value;
        }
        (void)hora_future_unref(future);
    }
    CHECK_INT(results, 3);
    CHECK_INT(sum, 1 + 2 + 3);
    desk_close(&d);
}

TEST(completion_finds_the_first_result, "ExecutorCompletionService9Test.testSolveAny")
{
    struct desk d;
    struct job failing = {.rig = &d.v.r, .code = CODE};
    hora_future *futures[4];
    void *result = NULL;

    desk_open(&d);
    CHECK_OK(hora_completion_service_submit(d.service, JOB(&failing), &futures[0]));
    for (int i = 1; i < 4; i++)
        CHECK_OK(hora_completion_service_submit(d.service, HORA_TASK(give_arg, i == 1 ? NULL : item(i)),
                                                &futures[i]));
    for (int i = 0; i < 4 && result == NULL; i++) {
        hora_future *future;

        CHECK_OK(hora_completion_service_take(d.service, &future));
        if (hora_future_get(future, &result) < 0)
            result = NULL;
        (void)hora_future_unref(future);
    }
    CHECK(result == item(2) || result == item(3));
    for (int i = 0; i < 4; i++)
        CHECK(hora_future_cancel(futures[i], true) >= 0);
    release_futures(futures, 4);
    desk_close(&d);
}

/* ---- however it ends ---- */

TEST(completion_gives_a_cancelled_future_at_once, "CP-ECS1")
{
    struct desk d;
    struct job jobs[2] = {A_DEAF_JOB(&d.v.r), A_JOB(&d.v.r)};
    struct call call;
    hora_future *futures[2];

    desk_open_with(&d, HORA_POOL_OPTIONS(.core_threads = 1), NULL);
    for (int i = 0; i < 2; i++)
        futures[i] = submit(&d, &jobs[i]);
    start_service_take(&call, &d);
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_future_cancel(futures[1], false), HORA_CANCEL_REMOVED); /* still queued */
    CHECK_TAKES(&call, futures[1]);
    (void)hora_future_unref(call.item);
    CHECK_INT(hora_future_cancel(futures[0], true), HORA_CANCEL_INTERRUPTED); /* still running */
    CHECK_POLLS(&d, futures[0]);
    rig_open_gate(&d.v.r);
    settle(&d.v.r.f);
    CHECK_POLLS_NOTHING(&d);
    CHECK_JOB(&jobs[0], 1);
    CHECK_JOB(&jobs[1], 0);
    release_futures(futures, 2);
    desk_close(&d);
}

TEST(completion_gives_discarded_and_abandoned_futures, "CP-ECS1")
{
    struct desk d;
    struct job jobs[3] = {A_WAITING_JOB(&d.v.r), A_JOB(&d.v.r), A_JOB(&d.v.r)};
    hora_future *futures[3];

    desk_open_with(
        &d, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_DISCARD), NULL);
    for (int i = 0; i < 3; i++)
        futures[i] = submit(&d, &jobs[i]);
    settle(&d.v.r.f);
    CHECK_POLLS(&d, futures[2]);
    CHECK_DONE(futures[2], HORA_EREJECTED, NULL);
    CHECK_OK(hora_pool_shutdown_now(d.v.r.pool, NULL));
    settle(&d.v.r.f);
    for (int i = 0; i < 2; i++) {
        hora_future *future;

        CHECK_OK(hora_completion_service_poll(d.service, &future));
        CHECK(future == futures[0] || future == futures[1]);
        (void)hora_future_unref(future);
    }
    CHECK_DONE(futures[1], HORA_EABANDONED, NULL);
    release_futures(futures, 3);
    desk_close(&d);
}

TEST(completion_submit_refused_leaves_the_task_to_the_caller, "")
{
    struct desk d;
    struct job jobs[2] = {A_WAITING_JOB(&d.v.r), A_JOB(&d.v.r)};
    hora_future *future = (hora_future *)untouched;

    desk_open_with(&d, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1), NULL);
    (void)hora_future_unref(submit(&d, &jobs[0]));
    CHECK_ERROR(hora_completion_service_submit(d.service, JOB(&jobs[1]), &future), HORA_EREJECTED);
    CHECK_POINTER(future, untouched);
    CHECK_INT(jobs[1].runs + jobs[1].drops, 0);
    CHECK_POLLS_NOTHING(&d);
    desk_close(&d);
    CHECK_JOB(&jobs[0], 1);
}

/* ---- waiting ---- */

TEST(completion_take_reports_an_interrupt_first, "")
{
    struct desk d;
    struct job job = A_JOB(&d.v.r);
    struct call call;
    hora_future *output = (hora_future *)untouched;
    hora_future *future;

    desk_open(&d);
    future = submit(&d, &job);
    settle(&d.v.r.f);
    CHECK_INTERRUPTED(hora_completion_service_take(d.service, &output), (void **)&output);
    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_completion_service_poll_for(d.service, any_timeout[i], &output),
                          (void **)&output);
    CHECK_POLLS(&d, future);
    start_service_take(&call, &d);
    CHECK_INTERRUPTIBLE(&call);
    start_service_poll_for(&call, &d, A_WHILE);
    CHECK_INTERRUPTIBLE(&call);
    (void)hora_future_unref(future);
    desk_close(&d);
}

struct inner {
    struct desk *desk;
    struct job jobs[2];
    int taken;
};

static int take_inside(void *arg, void **ret_result)
{
    struct inner *inner = arg;

    (void)ret_result;
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_completion_service_submit(inner->desk->service, JOB(&inner->jobs[i]), NULL));
    for (int i = 0; i < 2; i++) {
        hora_future *future;

        if (hora_completion_service_take(inner->desk->service, &future) == 0) {
            inner->taken++;
            (void)hora_future_unref(future);
        }
    }
    return 0;
}

/* The only worker runs the task that it waits for. */
TEST(completion_take_inside_a_worker_runs_the_tasks, "")
{
    struct desk d;
    struct inner inner = {.desk = &d, .jobs = {A_JOB(&d.v.r), A_JOB(&d.v.r)}};

    desk_open_with(&d, HORA_POOL_OPTIONS(.core_threads = 1), NULL);
    CHECK_OK(hora_pool_execute(d.v.r.pool, HORA_TASK(take_inside, &inner)));
    settle(&d.v.r.f);
    CHECK_INT(inner.taken, 2);
    desk_close(&d);
}

/* ---- queues of the caller ---- */

/* Futures for which a small queue has no room are not lost, and are delivered in the order in which they
 * ended. */
TEST(completion_loses_nothing_to_a_full_queue, "CP-ECS1")
{
    struct desk d;
    struct job jobs[4];
    hora_future *futures[4];
    hora_queue *queue;

    rig_prepare(&d.v.r, false);
    d.v.executor = (hora_executor){.execute = execute_here, .clock = d.v.r.f.view};
    CHECK_OK(hora_queue_new_array(1, HORA_QUEUE_OPTIONS(.clock = d.v.r.f.view), &queue, NULL));
    CHECK_OK(hora_completion_service_new(&d.v.executor, queue, &d.service));
    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct job)A_JOB(&d.v.r);
        futures[i] = submit(&d, &jobs[i]);
    }
    CHECK_INT(hora_queue_size(queue), 1);
    for (int i = 0; i < 4; i++)
        CHECK_POLLS(&d, futures[i]);
    CHECK_POLLS_NOTHING(&d);
    release_futures(futures, 4);
    CHECK_OK(hora_completion_service_free(d.service));
    CHECK_OK(hora_queue_free(queue));
    venue_close(&d.v);
}

TEST(completion_delivers_to_a_queue_of_the_caller, "")
{
    struct desk d;
    struct job jobs[2] = {A_JOB(&d.v.r), A_WAITING_JOB(&d.v.r)};
    hora_future *futures[2];
    hora_queue *queue;
    void *got;

    rig_prepare(&d.v.r, false);
    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, HORA_QUEUE_OPTIONS(.clock = d.v.r.f.view), &queue, NULL));
    rig_pool(&d.v.r, HORA_POOL_OPTIONS(.core_threads = 2));
    d.v.executor = hora_pool_executor(d.v.r.pool);
    CHECK_OK(hora_completion_service_new(&d.v.executor, queue, &d.service));
    for (int i = 0; i < 2; i++)
        futures[i] = submit(&d, &jobs[i]);
    CHECK_OK(hora_queue_take(queue, &got));
    CHECK_POINTER(got, futures[0]);
    (void)hora_future_unref(got);
    CHECK_OK(hora_completion_service_free(d.service)); /* the other is still delivered */
    rig_open_gate(&d.v.r);
    CHECK_OK(hora_queue_take(queue, &got));
    CHECK_POINTER(got, futures[1]);
    (void)hora_future_unref(got);
    CHECK_OK(hora_queue_free(queue));
    release_futures(futures, 2);
    venue_close(&d.v);
}

TEST(completion_over_a_closed_queue_still_gives_what_is_done, "")
{
    struct desk d;
    struct job job = A_JOB(&d.v.r);
    hora_future *future;
    hora_future *got = (hora_future *)untouched;
    hora_queue *queue;

    rig_prepare(&d.v.r, false);
    d.v.executor = (hora_executor){.execute = execute_here, .clock = d.v.r.f.view};
    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    CHECK_OK(hora_completion_service_new(&d.v.executor, queue, &d.service));
    CHECK_OK(hora_queue_close(queue));
    CHECK_ERROR(hora_completion_service_take(d.service, &got), HORA_ECLOSED);
    future = submit(&d, &job);
    CHECK_OK(hora_completion_service_take(d.service, &got));
    CHECK_POINTER(got, future);
    (void)hora_future_unref(got);
    CHECK_ERROR(hora_completion_service_poll(d.service, &got), HORA_ECLOSED);
    (void)hora_future_unref(future);
    CHECK_OK(hora_completion_service_free(d.service));
    CHECK_OK(hora_queue_free(queue));
    venue_close(&d.v);
}

/* ---- the end ---- */

TEST(completion_cannot_be_freed_while_waited_on, "")
{
    struct desk d;
    struct call call;

    desk_open(&d);
    start_service_take(&call, &d);
    CHECK_BLOCKED(&call);
    CHECK_ERROR(hora_completion_service_free(d.service), HORA_EBUSY);
    CHECK_INTERRUPTIBLE(&call);
    desk_close(&d);
}

/* Outstanding tasks continue; futures that no caller took are released. */
TEST(completion_freed_early_lets_its_tasks_go_on, "")
{
    struct desk d;
    struct job jobs[3] = {A_JOB(&d.v.r), A_WAITING_JOB(&d.v.r), A_WAITING_JOB(&d.v.r)};
    hora_future *future;

    desk_open(&d);
    CHECK_OK(hora_completion_service_submit(d.service, JOB(&jobs[0]), NULL));
    CHECK_OK(hora_completion_service_submit(d.service, JOB(&jobs[1]), NULL));
    future = submit(&d, &jobs[2]);
    settle(&d.v.r.f);
    CHECK_OK(hora_completion_service_free(d.service));
    CHECK_NOT_DONE(future);
    rig_open_gate(&d.v.r);
    settle(&d.v.r.f);
    CHECK_DONE(future, 0, &jobs[2]);
    (void)hora_future_unref(future);
    for (int i = 0; i < 3; i++) {
        CHECK_JOB(&jobs[i], 1);
        CHECK_INT(jobs[i].result_drops, 1);
    }
    venue_close(&d.v);
}

TEST_REAL(completion_descriptor_is_readable_while_a_future_can_be_taken, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_completion_service *service;
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    hora_executor executor = hora_pool_executor(r.pool);
    CHECK_OK(hora_completion_service_new(&executor, NULL, &service));
    int fd = hora_completion_service_fd(service);
    CHECK(fd >= 0);
    CHECK(!is_readable(fd));
    CHECK_OK(hora_completion_service_submit(service, JOB(&job), NULL));
    settle(&r.f);
    CHECK(is_readable(fd));
    CHECK_INT(hora_completion_service_fd(service), fd);
    CHECK_OK(hora_completion_service_poll(service, &future));
    CHECK(!is_readable(fd));
    (void)hora_future_unref(future);
    CHECK_ERROR(hora_completion_service_fd(NULL), HORA_EINVAL);
    CHECK_OK(hora_completion_service_free(service));
    rig_close(&r);
}
