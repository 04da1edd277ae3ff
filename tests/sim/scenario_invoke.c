/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_invoke.c - completion services, groups and the invoke calls under all schedules and all failures
 *
 * Oracles: each task is dropped exactly once, or the caller still owns it if the call returned an error; each
 * result is taken or dropped once; each future is delivered once; a waiting thread is released exactly when
 * all tasks have ended. */
#include "harness.h"

enum { CODE = 7, MOST = 3, SPAN = 1000 };

struct work {
    int code;
    int runs;
    int drops;
    int result_drops;
};

static struct work works[MOST];

static int work_run(void *arg, void **ret_result)
{
    struct work *work = arg;
    CHECK_INT(work->drops, 0);
    work->runs++;
    *ret_result = work;
    return work->code;
}

static void work_drop(void *arg)
{
    struct work *work = arg;
    work->drops++;
}

static void work_drop_result(void *result)
{
    struct work *work = result;
    work->result_drops++;
}

#define WORK(i) HORA_TASK(work_run, &works[i], .drop = work_drop, .drop_result = work_drop_result)

static void reset(void)
{
    for (int i = 0; i < MOST; i++)
        works[i] = (struct work){0};
}

/* An executor of threads: the n-th future is run by the n-th thread of the test, which is started with it. */
struct threads {
    test_thread *started[MOST];
    int count;
};

static void run_future(void *future)
{
    int ran = hora_future_run(future);
    CHECK(ran == 0 || ran == 1 || ran == HORA_ENOMEM);
    if (ran < 0)
        /* No other thread will run it. */
        (void)hora_future_cancel(future, false);
    (void)hora_future_unref(future);
}

static int execute_on_thread(hora_future *future, void *self)
{
    struct threads *threads = self;
    test_thread *thread = test_thread_start(NULL, run_future, hora_future_ref(future));
    if (thread == NULL) {
        (void)hora_future_unref(future);
        return HORA_EAGAIN;
    }
    threads->started[threads->count++] = thread;
    return 0;
}

static void join_all(struct threads *threads)
{
    for (int i = 0; i < threads->count; i++)
        test_thread_join(threads->started[i]);
    threads->count = 0;
}

static int execute_here(hora_future *future, void *self)
{
    (void)self;
    int ran = hora_future_run(future);
    return ran < 0 ? ran : 0;
}

/* ---- completion services ---- */

/* A task ends while its future is being taken: it is taken, once, and done. */
SCENARIO(completion_meets_take)
{
    reset();
    struct threads threads = {.count = 0};
    hora_executor executor = {.execute = execute_on_thread, .arg = &threads};
    hora_completion_service *service;
    hora_future *future;
    hora_future *taken;
    CHECK_OK(hora_completion_service_new(&executor, NULL, &service));
    CHECK_OK(hora_completion_service_submit(service, WORK(0), &future));
    CHECK_OK(hora_completion_service_take(service, &taken));
    CHECK_POINTER(taken, future);
    CHECK(hora_future_is_done(taken));
    CHECK_OK(hora_completion_service_free(service)); /* the thread may still be inside its delivery */
    (void)hora_future_unref(taken);
    (void)hora_future_unref(future);
    join_all(&threads);
    CHECK_INT(works[0].drops, 1);
    CHECK_INT(works[0].result_drops, 1);
}

/* A service that is freed while a task ends releases the future, whether it was delivered or not. */
SCENARIO(completion_meets_free)
{
    reset();
    struct threads threads = {.count = 0};
    hora_executor executor = {.execute = execute_on_thread, .arg = &threads};
    hora_completion_service *service;
    CHECK_OK(hora_completion_service_new(&executor, NULL, &service));
    CHECK_OK(hora_completion_service_submit(service, WORK(0), NULL));
    CHECK_OK(hora_completion_service_free(service));
    join_all(&threads);
    CHECK_INT(works[0].drops, 1);
    CHECK_INT(works[0].result_drops, 1);
}

static hora_completion_service *shared_service;
static hora_future *promises[2];

static void complete(void *arg)
{
    CHECK_INT(hora_future_complete(arg, NULL), 1);
}

/* Runs nothing: the future is completed by hand. */
static int keep(hora_future *future, void *self)
{
    int *kept = self;
    promises[(*kept)++] = hora_future_ref(future);
    return 0;
}

static void take_one(void *arg)
{
    hora_future *taken;
    (void)arg;
    CHECK_OK(hora_completion_service_take(shared_service, &taken));
    CHECK(hora_future_is_done(taken));
    (void)hora_future_unref(taken);
}

/* Two tasks end at the same time, the queue has room for one, and two threads take: nothing is lost, and no
 * thread hangs. */
static void overfill(bool one_taker)
{
    hora_queue *queue;
    int kept = 0;
    hora_executor executor = {.execute = keep, .arg = &kept};
    reset();
    CHECK_OK(hora_queue_new_array(1, NULL, &queue, NULL));
    CHECK_OK(hora_completion_service_new(&executor, queue, &shared_service));
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_completion_service_submit(shared_service, WORK(i), NULL));
    test_thread *taker = one_taker ? NULL : test_thread_start(NULL, take_one, NULL);
    test_thread *other = test_thread_start(NULL, complete, promises[0]);
    complete(promises[1]);
    take_one(NULL);
    if (one_taker)
        take_one(NULL);
    test_thread_join(other);
    test_thread_join(taker);
    CHECK_OK(hora_completion_service_free(shared_service));
    CHECK_OK(hora_queue_free(queue));
    for (int i = 0; i < 2; i++) {
        (void)hora_future_unref(promises[i]);
        CHECK_INT(works[i].drops, 1);
    }
}

SCENARIO(completion_of_two_meets_a_queue_for_one)
{
    overfill(true);
}

LARGE_SCENARIO(completion_of_two_meets_a_queue_for_one_and_two_takers)
{
    overfill(false);
}

/* ---- groups ---- */

static hora_group *shared_group;

/* The last one is done while the group is waited for; then it is freed at once. */
SCENARIO(group_wait_meets_completion)
{
    CHECK_OK(hora_group_new(NULL, &shared_group, NULL));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_future_new_promise(NULL, &promises[i]));
        CHECK_OK(hora_group_add(shared_group, promises[i]));
    }
    test_thread *other = test_thread_start(NULL, complete, promises[0]);
    complete(promises[1]);
    CHECK_OK(hora_group_await(shared_group));
    CHECK(hora_future_is_done(promises[0]));
    CHECK_INT(hora_group_pending(shared_group), 0);
    CHECK_INT(hora_group_failed(shared_group), 0);
    CHECK_OK(hora_group_free(shared_group));
    test_thread_join(other);
    for (int i = 0; i < 2; i++)
        (void)hora_future_unref(promises[i]);
}

static void wait_for_group(void *arg)
{
    (void)arg;
    CHECK_OK(hora_group_await(shared_group));
}

/* Cancelling all and completing one: one of them wins, and the waiter is released. */
SCENARIO(group_cancel_meets_completion)
{
    CHECK_OK(hora_group_new(NULL, &shared_group, NULL));
    CHECK_OK(hora_future_new_promise(NULL, &promises[0]));
    CHECK_OK(hora_group_add(shared_group, promises[0]));
    test_thread *canceller = test_thread_start(NULL, wait_for_group, NULL);
    int cancelled = hora_group_cancel(shared_group, true);
    CHECK_INT(cancelled + hora_future_complete(promises[0], NULL), 1);
    test_thread_join(canceller);
    CHECK_INT(hora_group_failed(shared_group), cancelled);
    CHECK_OK(hora_group_free(shared_group));
    (void)hora_future_unref(promises[0]);
}

static void cancel_group(void *arg)
{
    int *cancelled = arg;
    *cancelled = hora_group_cancel(shared_group, false);
}

SCENARIO(group_cancel_of_two_threads_counts_each_once)
{
    int cancelled[2] = {0};
    CHECK_OK(hora_group_new(NULL, &shared_group, NULL));
    CHECK_OK(hora_future_new_promise(NULL, &promises[0]));
    CHECK_OK(hora_group_add(shared_group, promises[0]));
    test_thread *other = test_thread_start(NULL, cancel_group, &cancelled[0]);
    cancel_group(&cancelled[1]);
    test_thread_join(other);
    CHECK_INT(cancelled[0] + cancelled[1], 1);
    CHECK_INT(hora_group_failed(shared_group), 1);
    CHECK_OK(hora_group_free(shared_group));
    (void)hora_future_unref(promises[0]);
}

/* ---- invoke ---- */

/* One task fails and one succeeds, each on its own thread: the result is that of the second, and nothing is
 * left of the first. */
SCENARIO(invoke_any_with_a_failure_and_a_success)
{
    reset();
    struct threads threads = {.count = 0};
    hora_executor executor = {.execute = execute_on_thread, .arg = &threads};
    void *result = NULL;
    works[0].code = CODE;
    CHECK_OK(hora_executor_invoke_any(&executor, (const hora_task *[]){WORK(0), WORK(1)}, 2, &result, NULL));
    CHECK_POINTER(result, &works[1]);
    join_all(&threads);
    CHECK_INT(works[1].runs, 1);
    CHECK_INT(works[1].result_drops, 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(works[i].drops, 1);
}

/* Both may succeed: one result is the caller's, the other, if there is one, is dropped. */
SCENARIO(invoke_any_with_two_successes)
{
    reset();
    struct threads threads = {.count = 0};
    hora_executor executor = {.execute = execute_on_thread, .arg = &threads};
    void *result = NULL;
    CHECK_OK(hora_executor_invoke_any(&executor, (const hora_task *[]){WORK(0), WORK(1)}, 2, &result, NULL));
    join_all(&threads);
    struct work *winner = result;
    CHECK(winner == &works[0] || winner == &works[1]);
    CHECK_INT(winner->result_drops, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(works[i].drops, 1);
        CHECK_INT(works[i].result_drops, &works[i] == winner ? 0 : works[i].runs);
    }
}

/* The tasks end while the call waits for them, or while their time ends. */
SCENARIO(invoke_all_meets_the_end_of_its_time)
{
    reset();
    struct threads threads = {.count = 0};
    hora_executor executor = {.execute = execute_on_thread, .arg = &threads};
    hora_future *future;
    CHECK_OK(hora_executor_invoke_all_for(&executor, (const hora_task *[]){WORK(0)}, 1, 1, &future));
    CHECK(hora_future_is_done(future));
    int outcome = hora_future_get(future, NULL);
    CHECK(outcome == 0 || outcome == HORA_ECANCELED);
    (void)hora_future_unref(future);
    join_all(&threads);
    CHECK_INT(works[0].drops, 1);
    CHECK_INT(works[0].result_drops, works[0].runs);
}

/* ---- every failure ---- */

static bool refused(int error)
{
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    return error < 0;
}

/* A task that was not accepted is still the caller's. */
static void check_accepted(int i, bool accepted)
{
    CHECK_INT(works[i].drops, accepted ? 1 : 0);
    CHECK_INT(works[i].result_drops, works[i].runs);
}

SWEEP(submit_survives)
{
    reset();
    struct threads threads = {.count = 0};
    hora_executor executor = {.execute = execute_on_thread, .arg = &threads};
    hora_future *future = NULL;
    bool accepted = !refused(hora_executor_submit(&executor, WORK(0), &future));
    join_all(&threads);
    (void)hora_future_unref(future);
    check_accepted(0, accepted);
}

/* All tasks are hora's, whatever the call returns. */
static void sweep_all(const hora_executor *executor, struct threads *threads)
{
    reset();
    works[1].code = CODE;
    hora_future *futures[MOST] = {NULL, NULL, NULL};
    bool failed = refused(
        hora_executor_invoke_all(executor, (const hora_task *[]){WORK(0), WORK(1), WORK(2)}, MOST, futures));
    join_all(threads);
    for (int i = 0; i < MOST; i++) {
        CHECK_INT(futures[i] == NULL, failed);
        (void)hora_future_unref(futures[i]);
        check_accepted(i, true);
    }
}

SWEEP(invoke_all_survives)
{
    struct threads threads = {.count = 0};
    sweep_all(&(hora_executor){.execute = execute_here}, &threads);
    sweep_all(&(hora_executor){.execute = execute_on_thread, .arg = &threads}, &threads);
}

static void sweep_any(const hora_executor *executor, struct threads *threads)
{
    reset();
    works[0].code = CODE;
    void *result = NULL;
    int failure = 0;
    int error = hora_executor_invoke_any(executor, (const hora_task *[]){WORK(0), WORK(1), WORK(2)}, MOST,
                                         &result, &failure);
    CHECK(error == HORA_EFAILED || refused(error) || result != NULL);
    if (error == HORA_EFAILED) /* a thread had no memory to run its task, and cancelled it */
        CHECK(failure == HORA_ECANCELED || failure == CODE);
    join_all(threads);
    for (int i = 0; i < MOST; i++) {
        CHECK_INT(works[i].drops, 1);
        CHECK_INT(works[i].result_drops, result == &works[i] ? 0 : works[i].runs);
    }
}

SWEEP(invoke_any_survives)
{
    struct threads threads = {.count = 0};
    sweep_any(&(hora_executor){.execute = execute_here}, &threads);
    sweep_any(&(hora_executor){.execute = execute_on_thread, .arg = &threads}, &threads);
}

SWEEP(pool_invoke_survives)
{
    hora_pool *pool;
    hora_future *futures[MOST];
    void *result = NULL;
    if (refused(hora_pool_new_fixed(1, NULL, &pool, NULL)))
        return;
    reset();
    /* A pool whose thread could not be started lets its tasks wait: so there is a limit. */
    int error = hora_pool_invoke_all_for(pool, (const hora_task *[]){WORK(0), WORK(1)}, 2, SPAN, futures);
    for (int i = 0; i < 2 && !refused(error); i++)
        (void)hora_future_unref(futures[i]);
    error = hora_pool_invoke_any_for(pool, (const hora_task *[]){WORK(2)}, 1, SPAN, &result, NULL);
    CHECK(error == HORA_EFAILED || error == HORA_ETIMEDOUT || refused(error) || result == &works[2]);
    while ((error = hora_pool_free(pool)) == HORA_ENOMEM)
        continue;
    CHECK_OK(error);
    for (int i = 0; i < MOST; i++)
        CHECK_INT(works[i].drops, 1);
}

/* Fill a service whose queue must grow, then take all. */
static void use_service(hora_completion_service *service)
{
    bool accepted[MOST];
    int left = 0;
    reset();
    for (int i = 0; i < MOST; i++) {
        accepted[i] = !refused(hora_completion_service_submit(service, WORK(i), NULL));
        left += accepted[i] ? 1 : 0;
    }
    hora_future *taken;
    for (; left > 0; left--) { /* however they were delivered, they can be taken */
        if (!CHECK_OK(hora_completion_service_poll(service, &taken)))
            break;
        (void)hora_future_unref(taken);
    }
    CHECK_ERROR(hora_completion_service_poll(service, &taken), HORA_EEMPTY);
    for (int i = 0; i < MOST; i++)
        check_accepted(i, accepted[i]);
}

static int compare(const void *a, const void *b, void *context)
{
    (void)context;
    return (a > b) - (a < b);
}

SWEEP(completion_survives)
{
    hora_executor here = {.execute = execute_here};
    hora_completion_service *service;
    hora_queue *queue = NULL;
    if (!refused(hora_completion_service_new(&here, NULL, &service))) {
        use_service(service);
        CHECK_OK(hora_completion_service_free(service));
    }
    if (refused(hora_queue_new_priority(1, HORA_QUEUE_OPTIONS(.compare = compare), &queue, NULL)))
        return;
    if (!refused(hora_completion_service_new(&here, queue, &service))) {
        use_service(service);
        CHECK_OK(hora_completion_service_free(service));
    }
    CHECK_OK(hora_queue_free(queue));
}

SWEEP(completion_take_survives)
{
    struct threads threads = {.count = 0};
    hora_executor executor = {.execute = execute_on_thread, .arg = &threads};
    hora_completion_service *service;
    hora_future *taken;
    reset();
    if (refused(hora_completion_service_new(&executor, NULL, &service)))
        return;
    bool accepted = !refused(hora_completion_service_submit(service, WORK(0), NULL));
    if (accepted && !refused(hora_completion_service_take(service, &taken)))
        (void)hora_future_unref(taken);
    CHECK_OK(hora_completion_service_free(service));
    join_all(&threads);
    check_accepted(0, accepted);
}

SWEEP(group_survives)
{
    struct threads threads = {.count = 0};
    hora_executor executor = {.execute = execute_on_thread, .arg = &threads};
    bool accepted[2];
    hora_group *group;
    hora_future *promise;
    reset();
    if (refused(hora_group_new(NULL, &group, NULL)))
        return;
    for (int i = 0; i < 2; i++)
        accepted[i] = !refused(hora_group_submit(group, &executor, WORK(i), NULL));
    if (!refused(hora_future_new_promise(NULL, &promise))) {
        (void)refused(hora_group_add(group, promise));
        CHECK_INT(hora_future_complete(promise, NULL), 1);
        (void)hora_future_unref(promise);
    }
    int fd = hora_group_fd(group);
    CHECK(fd >= 0 || fd == HORA_ENOMEM);
    (void)refused(hora_group_await(group));
    join_all(&threads);
    CHECK_INT(hora_group_pending(group), 0);
    CHECK_OK(hora_group_free(group));
    for (int i = 0; i < 2; i++)
        check_accepted(i, accepted[i]);
}
