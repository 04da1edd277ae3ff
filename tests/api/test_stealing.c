/* SPDX-License-Identifier: Apache-2.0 */
/* test_stealing.c - pools whose workers have queues of their own, and steal from each other */
#include <poll.h>
#include <string.h>

#include <hora/admission.h>
#include <hora/metrics.h>

#include "pool_support.h"

enum { CHILDREN = 5, MANY = 300 };

/* A task that submits others to its own pool, and then waits at the gate if `waits` is set. */
struct parent {
    struct rig *rig;
    struct job *children;
    int count;
    bool waits;
    hora_future **futures; /* receives the children's futures; NULL: they are executed */
};

static int run_parent(void *arg, void **ret_result)
{
    struct parent *parent = arg;
    (void)ret_result;
    for (int i = 0; i < parent->count; i++) {
        if (parent->futures != NULL)
            CHECK_OK(hora_pool_submit(parent->rig->pool, JOB(&parent->children[i]), &parent->futures[i]));
        else
            CHECK_OK(hora_pool_execute(parent->rig->pool, JOB(&parent->children[i])));
    }
    return parent->waits ? hora_latch_await(parent->rig->gate) : 0;
}

static void execute_parent(struct parent *parent)
{
    CHECK_OK(hora_pool_execute(parent->rig->pool, HORA_TASK(run_parent, parent)));
}

static void open_stealing(struct rig *r, int threads, const hora_pool_options *options)
{
    hora_pool_options own = *options;
    rig_prepare(r, false);
    own.clock = r->f.view;
    own.arg = r;
    CHECK_OK(hora_pool_new_work_stealing(threads, &own, &r->pool, NULL));
}

static void open_plain(struct rig *r, int threads)
{
    hora_pool_options options = HORA_INIT(hora_pool_options);
    open_stealing(r, threads, &options);
}

static void init_jobs(struct rig *r, struct job *jobs, int count)
{
    for (int i = 0; i < count; i++) {
        memset(&jobs[i], 0, sizeof jobs[i]);
        jobs[i].rig = r;
    }
}

static void close_futures(hora_future **futures, int count)
{
    for (int i = 0; i < count; i++)
        hora_future_unref(futures[i]);
}

/* ---- options ---- */

static void check_refused(const hora_pool_options *options, const char *field)
{
    hora_pool *pool;
    hora_error reason;
    CHECK_ERROR(hora_pool_new(options, &pool, &reason), HORA_EINVAL);
    CHECK(strcmp(reason.field, field) == 0);
    CHECK(strstr(reason.message, "stealing") != NULL);
}

TEST(stealing_refuses_what_depends_on_order, "")
{
    hora_queue *queue;
    hora_admission admission = HORA_INIT(hora_admission);
    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    check_refused(HORA_POOL_OPTIONS(.core_threads = 1, .stealing = true, .queue = queue), "queue");
    check_refused(HORA_POOL_OPTIONS(.core_threads = 1, .stealing = true, .queue_capacity = 4),
                  "queue_capacity");
    check_refused(HORA_POOL_OPTIONS(.core_threads = 1, .stealing = true, .queue_capacity = -1),
                  "queue_capacity");
    check_refused(HORA_POOL_OPTIONS(.core_threads = 1, .stealing = true, .admission = &admission),
                  "admission");
    check_refused(
        HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .stealing = true, .grow_after = HORA_MS(10)),
        "grow_after");
    CHECK_OK(hora_queue_free(queue));
}

TEST(stealing_pool_refuses_other_sizes, "")
{
    hora_pool *pool;
    hora_error reason;
    CHECK_ERROR(hora_pool_new_work_stealing(-1, NULL, &pool, &reason), HORA_EINVAL);
    CHECK(strcmp(reason.field, "parallelism") == 0);
    CHECK_ERROR(hora_pool_new_work_stealing(1, HORA_POOL_OPTIONS(.core_threads = 1), &pool, &reason),
                HORA_EINVAL);
    CHECK(strcmp(reason.field, "core_threads") == 0);
}

TEST(stealing_pool_has_a_thread_per_processor, "")
{
    hora_pool *pool;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_new_work_stealing(0, NULL, &pool, NULL));
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK_INT(stats.core_threads, hora_available_processors());
    CHECK_INT(stats.max_threads, hora_available_processors());
    CHECK_OK(hora_pool_free(pool));
}

/* ---- order ---- */

static atomic_int next_place;
static int places[CHILDREN];

static int note_place(void *arg, void **ret_result)
{
    (void)ret_result;
    *(int *)arg = next_place++;
    return 0;
}

static int submit_all(void *arg, void **ret_result)
{
    struct rig *r = arg;
    (void)ret_result;
    for (int i = 0; i < CHILDREN; i++)
        CHECK_OK(hora_pool_execute(r->pool, HORA_TASK(note_place, &places[i])));
    return 0;
}

/* With one worker, its own tasks run in reverse order, before those of the shared queue. */
TEST(stealing_worker_runs_its_newest_task_first, "")
{
    struct rig r;
    int last = -1;
    struct job job = A_WAITING_JOB(&r);
    open_plain(&r, 1);
    next_place = 0;
    execute_job(&r, &job);
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(submit_all, &r)));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(note_place, &last)));
    rig_open_gate(&r);
    settle(&r.f);
    for (int i = 0; i < CHILDREN; i++)
        CHECK_INT(places[i], CHILDREN - 1 - i);
    CHECK_INT(last, CHILDREN);
    rig_close(&r);
}

/* Tasks that a busy worker has submitted are run by the other one. */
TEST(stealing_idle_worker_takes_the_tasks_of_a_busy_one, "")
{
    struct rig r;
    struct job jobs[CHILDREN];
    struct parent parent = {.rig = &r, .children = jobs, .count = CHILDREN, .waits = true};
    open_plain(&r, 2);
    init_jobs(&r, jobs, CHILDREN);
    CHECK_INT(hora_pool_prestart_all(r.pool), 2);
    execute_parent(&parent);
    settle(&r.f);
    for (int i = 0; i < CHILDREN; i++)
        CHECK_JOB(&jobs[i], 1);
    rig_close(&r);
}

/* ---- more tasks than an own queue holds ---- */

static void many(bool submitted)
{
    static struct job jobs[MANY];
    static hora_future *futures[MANY];
    struct rig r;
    struct parent parent = {
        .rig = &r, .children = jobs, .count = MANY, .futures = submitted ? futures : NULL};
    open_plain(&r, 2);
    init_jobs(&r, jobs, MANY);
    execute_parent(&parent);
    settle(&r.f);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(jobs[i].runs, 1);
    CHECK_INT(rig_stats(&r).done, MANY + 1);
    if (submitted)
        close_futures(futures, MANY);
    rig_close(&r);
}

TEST(stealing_worker_executes_more_than_its_queue_holds, "")
{
    many(false);
}

TEST(stealing_worker_submits_more_than_its_queue_holds, "")
{
    many(true);
}

/* ---- what other calls see ---- */

/* The tasks of the own queue are in the queue of the pool, and can be removed and cancelled there. */
TEST(stealing_queue_shows_the_tasks_of_workers, "")
{
    struct rig r;
    struct job jobs[CHILDREN];
    hora_future *futures[CHILDREN];
    struct parent parent = {
        .rig = &r, .children = jobs, .count = CHILDREN, .waits = true, .futures = futures};
    open_plain(&r, 1);
    init_jobs(&r, jobs, CHILDREN);
    execute_parent(&parent);
    settle(&r.f);
    CHECK_INT(rig_stats(&r).queued, CHILDREN);
    CHECK_INT(hora_queue_size(hora_pool_queue(r.pool)), CHILDREN);
    for (int i = 0; i < CHILDREN; i++)
        CHECK_INT(hora_queue_contains(hora_pool_queue(r.pool), futures[i]), 1);
    CHECK_INT(hora_pool_remove(r.pool, futures[0]), 1);
    CHECK_INT(hora_future_cancel(futures[2], false), 1);
    CHECK_INT(rig_stats(&r).queued, CHILDREN - 2);
    CHECK_NOT_DONE(futures[0]);
    rig_open_gate(&r);
    settle(&r.f);
    for (int i = 0; i < CHILDREN; i++)
        CHECK_INT(jobs[i].runs, i == 0 || i == 2 ? 0 : 1);
    hora_pool_stats stats = rig_stats(&r);
    CHECK_INT(stats.handed_back, 1);
    CHECK_INT(stats.cancelled, 1);
    CHECK_INT(hora_future_cancel(futures[0], false), 1);
    close_futures(futures, CHILDREN);
    rig_close(&r);
}

static void stops(bool submitted)
{
    struct rig r;
    struct job jobs[CHILDREN];
    hora_future *futures[CHILDREN];
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    struct parent parent = {
        .rig = &r, .children = jobs, .count = CHILDREN, .waits = true, .futures = submitted ? futures : NULL};
    open_plain(&r, 1);
    init_jobs(&r, jobs, CHILDREN);
    execute_parent(&parent);
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_INT(list.count, CHILDREN);
    hora_future_list_cancel(&list);
    for (int i = 0; i < CHILDREN; i++)
        CHECK_JOB(&jobs[i], 0);
    if (submitted)
        close_futures(futures, CHILDREN);
    rig_close(&r);
}

TEST(stealing_stop_hands_back_submitted_tasks_of_workers, "")
{
    stops(true);
}

TEST(stealing_stop_hands_back_executed_tasks_of_workers, "")
{
    stops(false);
}

TEST(stealing_shutdown_runs_the_tasks_of_workers, "")
{
    struct rig r;
    struct job jobs[CHILDREN];
    struct parent parent = {.rig = &r, .children = jobs, .count = CHILDREN, .waits = true};
    open_plain(&r, 1);
    init_jobs(&r, jobs, CHILDREN);
    execute_parent(&parent);
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK(hora_pool_is_terminating(r.pool));
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_termination(r.pool));
    for (int i = 0; i < CHILDREN; i++)
        CHECK_JOB(&jobs[i], 1);
    rig_close(&r);
}

/* A pool that measures counts and stamps the tasks of own queues, too. */
TEST(stealing_pool_measures, "")
{
    struct rig r;
    struct job jobs[CHILDREN];
    struct parent parent = {.rig = &r, .children = jobs, .count = CHILDREN};
    hora_metrics metrics = HORA_INIT(hora_metrics);
    open_stealing(&r, 2, HORA_POOL_OPTIONS(.metrics = &metrics));
    init_jobs(&r, jobs, CHILDREN);
    execute_parent(&parent);
    settle(&r.f);
    for (int i = 0; i < CHILDREN; i++)
        CHECK_JOB(&jobs[i], 1);
    CHECK_INT(rig_stats(&r).done, CHILDREN + 1);
    rig_close(&r);
}

/* With hooks, each task has a future. */
TEST(stealing_pool_with_hooks, "")
{
    struct rig r;
    struct job jobs[CHILDREN];
    struct parent parent = {.rig = &r, .children = jobs, .count = CHILDREN};
    rig_open(&r, true, HORA_POOL_OPTIONS(.core_threads = 2, .stealing = true));
    init_jobs(&r, jobs, CHILDREN);
    execute_parent(&parent);
    settle(&r.f);
    CHECK_INT(r.before, CHILDREN + 1);
    CHECK_INT(r.after, CHILDREN + 1);
    rig_close(&r);
}

/* Once the queue has a descriptor, that shows each task, also one that a worker submits. */
TEST_REAL(stealing_queue_with_a_descriptor, "")
{
    struct rig r;
    struct job jobs[CHILDREN];
    struct parent parent = {.rig = &r, .children = jobs, .count = CHILDREN, .waits = true};
    open_plain(&r, 1);
    init_jobs(&r, jobs, CHILDREN);
    int fd = hora_queue_fd(hora_pool_queue(r.pool));
    CHECK(fd >= 0);
    execute_parent(&parent);
    settle(&r.f);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    CHECK_INT(poll(&poll_fd, 1, 0), 1);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(poll(&poll_fd, 1, 0), 0);
    rig_close(&r);
}

/* Closing the queue lets the tasks of workers run, and then ends the pool. */
TEST(stealing_queue_is_closed, "")
{
    struct rig r;
    struct job jobs[CHILDREN];
    struct parent parent = {.rig = &r, .children = jobs, .count = CHILDREN, .waits = true};
    open_plain(&r, 1);
    init_jobs(&r, jobs, CHILDREN);
    execute_parent(&parent);
    settle(&r.f);
    CHECK_OK(hora_queue_close(hora_pool_queue(r.pool)));
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_termination(r.pool));
    for (int i = 0; i < CHILDREN; i++)
        CHECK_JOB(&jobs[i], 1);
    rig_close(&r);
}

/* ---- a worker that waits for a task of its own pool ---- */

static struct rig *fib_rig;

/* Submits one half, computes the other, and waits, as in the examples of fork and join. */
static int fib(void *arg, void **ret_result)
{
    intptr_t number = (intptr_t)arg;
    hora_future *future;
    void *left, *right;
    if (number < 2) {
        *ret_result = arg;
        return 0;
    }
    CHECK_OK(hora_pool_submit(fib_rig->pool, HORA_TASK(fib, (void *)(number - 1)), &future));
    CHECK_OK(fib((void *)(number - 2), &right));
    CHECK_OK(hora_future_get(future, &left));
    hora_future_unref(future);
    *ret_result = (void *)((intptr_t)left + (intptr_t)right);
    return 0;
}

static void fork_and_join(int threads)
{
    struct rig r;
    hora_future *future;
    void *result;
    open_plain(&r, threads);
    fib_rig = &r;
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(fib, (void *)(intptr_t)10), &future));
    CHECK_OK(hora_future_get(future, &result));
    CHECK_INT((intptr_t)result, 55);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(stealing_fork_and_join_by_one, "")
{
    fork_and_join(1);
}

TEST(stealing_fork_and_join_by_three, "")
{
    fork_and_join(3);
}
