/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain.c - hora_future_explain: each sentence about futures, and about tasks of plain pools */
#include <stdio.h>

#include "explain_support.h"
#include "pool_support.h"

static hora_future *submit(struct rig *r, const hora_task *task)
{
    hora_future *future = NULL;
    CHECK_OK(hora_pool_submit(r->pool, task, &future));
    return future;
}

static void end(hora_future *future)
{
    CHECK_POINTER(hora_future_unref(future), NULL);
}

TEST(explain_refuses_nothing_to_explain, "")
{
    char text[8];
    hora_future *promise = NULL;

    CHECK_OK(hora_future_new_promise(NULL, &promise));
    CHECK_ERROR(hora_future_explain(NULL, text, sizeof(text)), HORA_EINVAL);
    CHECK_ERROR(hora_future_explain(promise, NULL, 1), HORA_EINVAL);
    CHECK(hora_future_explain(promise, NULL, 0) > 0);
    end(promise);
}

/* ---- names ---- */

TEST(explain_names_what_has_a_name, "")
{
    static const struct {
        const char *name, *file, *want;
    } cases[] = {
        {"resize", "img.c",
         "resize (img.c:88) is in no queue: it has not been executed, or has been removed"},
        {NULL, "img.c", "a task (img.c:88) is in no queue: it has not been executed, or has been removed"},
        {"resize", NULL, "resize is in no queue: it has not been executed, or has been removed"},
        {NULL, NULL, "a task is in no queue: it has not been executed, or has been removed"},
        {"", "", " (:88) is in no queue: it has not been executed, or has been removed"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hora_future *future = NULL;
        const hora_task task = {.run = job_run, .name = cases[i].name, .file = cases[i].file, .line = 88};
        CHECK_OK(hora_future_new(&task, &future));
        CHECK_SAYS(future, cases[i].want);
        end(future);
    }
}

/* ---- done ---- */

TEST(explain_says_how_it_ended, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job done = A_JOB(&r), failed = {.rig = &r, .code = 5}, cancelled = A_JOB(&r);

    hora_future *future = submit(&r, RESIZE(job_run, &done));
    settle(&r.f);
    CHECK_SAYS(future, "resize (img.c:88) ran and succeeded");
    end(future);

    future = submit(&r, RESIZE(job_run, &failed));
    settle(&r.f);
    CHECK_SAYS(future, "resize (img.c:88) failed with code 5");
    end(future);

    CHECK_OK(hora_future_new(RESIZE(job_run, &cancelled), &future));
    CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_REMOVED);
    CHECK_SAYS(future, "resize (img.c:88) was cancelled");
    end(future);
    rig_close(&r);
}

TEST(explain_says_who_refused_it, "")
{
    struct rig r;
    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_DISCARD_OLDEST));
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);

    hora_future *running = submit(&r, RESIZE(job_run, &blocker));
    hora_future *oldest = submit(&r, RESIZE(job_run, &job));
    hora_future *next = submit(&r, RESIZE(job_run, &job));
    settle(&r.f);
    CHECK_SAYS(
        oldest,
        "resize (img.c:88) was rejected: its pool had neither a thread nor room for it, or had been shut "
        "down");
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK_SAYS(next, "resize (img.c:88) was abandoned: its pool was stopped, or it ended its thread");
    settle(&r.f);
    end(running);
    end(oldest);
    end(next);
    rig_close(&r);
}

TEST(explain_says_what_expired, "")
{
    hora_future *future = NULL;
    CHECK_OK(hora_future_new(RESIZE(job_run, NULL), &future));
    CHECK_INT(hora_future_fail(future, HORA_EEXPIRED), 1);
    CHECK_SAYS(future, "resize (img.c:88) expired: it did not start or finish in time");
    end(future);
}

/* ---- promises, and futures that no pool has ---- */

TEST(explain_knows_promises, "")
{
    hora_future *promise = NULL;
    CHECK_OK(hora_future_new_promise(NULL, &promise));
    CHECK_SAYS(promise, "a task is a promise that has not been completed");
    CHECK_INT(hora_future_complete(promise, NULL), 1);
    CHECK_SAYS(promise, "a task was completed");
    end(promise);
}

TEST(explain_says_that_it_was_handed_back, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    execute_job(&r, &blocker);
    hora_future *future = submit(&r, RESIZE(job_run, &job));
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_SAYS(future, "resize (img.c:88) was handed back by a pool that was stopped, and is in no queue");
    rig_finish(&r);
    CHECK_OK(hora_pool_free(r.pool));
    r.pool = NULL;
    CHECK_SAYS(future, "resize (img.c:88) was handed back by a pool that was stopped, and is in no queue");
    CHECK_POINTER(hora_future_list_take(&list), future);
    end(future);
    CHECK_SAYS(future, "resize (img.c:88) is in no queue: it has not been executed, or has been removed");
    end(future);
    rig_close(&r);
}

/* ---- running ---- */

static int explain_itself(void *arg, void **ret_result)
{
    hora_future **self = arg;
    (void)ret_result;
    CHECK_SAYS(*self, "resize (img.c:88) is running: the calling thread runs it");
    return 0;
}

TEST(explain_knows_who_runs_it_by_hand, "")
{
    hora_future *future = NULL;
    CHECK_OK(hora_future_new(RESIZE(explain_itself, &future), &future));
    CHECK_INT(hora_future_run(future), 1);
    end(future);
}

static void run_by_hand(void *future)
{
    CHECK_INT(hora_future_run(future), 1);
}

TEST(explain_knows_that_another_thread_runs_it_by_hand, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job job = A_WAITING_JOB(&r);
    hora_future *future = NULL;

    CHECK_OK(hora_future_new(RESIZE(job_run, &job), &future));
    test_thread *thread = test_thread_start(r.f.clock, run_by_hand, future);
    settle(&r.f);
    CHECK_SAYS(future, "resize (img.c:88) is running: a thread that is not a worker runs it");
    rig_open_gate(&r);
    test_thread_join(thread);
    CHECK_SAYS(future, "resize (img.c:88) ran and succeeded");
    end(future);
    CHECK_OK(hora_pool_free(r.pool));
    r.pool = NULL;
    rig_close(&r);
}

TEST(explain_says_which_worker_runs_it, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2));
    struct job first = A_WAITING_JOB(&r), second = A_WAITING_JOB(&r);

    hora_future *one = submit(&r, RESIZE(job_run, &first));
    hora_future *two = submit(&r, RESIZE(job_run, &second));
    settle(&r.f);
    CHECK_SAYS(one, "resize (img.c:88) is running: worker 1 runs it");
    CHECK_SAYS(two, "resize (img.c:88) is running: worker 2 runs it");
    CHECK_INT(hora_future_cancel(two, false), HORA_CANCEL_RUNNING);
    CHECK_SAYS(two, "resize (img.c:88) was cancelled, but is still running: worker 2 runs it");
    rig_finish(&r);
    end(one);
    end(two);
    rig_close(&r);
}

TEST(explain_says_for_how_long_with_a_watchdog, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2, .watchdog = HORA_WATCHDOG()));
    struct job first = A_WAITING_JOB(&r), second = A_WAITING_JOB(&r);

    hora_future *one = submit(&r, RESIZE(job_run, &first));
    settle(&r.f);
    advance(&r.f, HORA_MS(3200));
    hora_future *two = submit(&r, SCALE(job_run, &second));
    settle(&r.f);
    advance(&r.f, HORA_SECONDS(9));
    CHECK_SAYS(one, "resize (img.c:88) is running: worker 1 has been running it for 12 s");
    CHECK_SAYS(two, "scale (img.c:99) is running: worker 2 has been running it for 9 s");
    rig_finish(&r);
    end(one);
    end(two);
    rig_close(&r);
}

struct step {
    struct job job;
    int64_t done, of;
};

static int run_step(void *arg, void **ret_result)
{
    struct step *step = arg;
    hora_progress(step->done, step->of);
    return job_run(&step->job, ret_result);
}

TEST(explain_says_how_far_it_is, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2, .watchdog = HORA_WATCHDOG()));
    struct step counted = {A_WAITING_JOB(&r), 40, 100}, uncounted = {A_WAITING_JOB(&r), 0, 0};

    hora_future *one = submit(&r, RESIZE(run_step, &counted));
    hora_future *two = submit(&r, SCALE(run_step, &uncounted));
    settle(&r.f);
    advance(&r.f, HORA_SECONDS(2));
    CHECK_SAYS(
        one, "resize (img.c:88) is running: worker 1 has been running it for 2 s; it has done 40 of 100, as "
             "reported 2 s ago");
    CHECK_SAYS(two,
               "scale (img.c:99) is running: worker 2 has been running it for 2 s; it made progress 2 s ago");
    rig_finish(&r);
    end(one);
    end(two);
    rig_close(&r);
}

/* ---- queued ---- */

TEST(explain_counts_what_is_before_it, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job blocker = A_WAITING_JOB(&r), jobs[5] = {A_JOB(&r), A_JOB(&r), A_JOB(&r), A_JOB(&r), A_JOB(&r)};

    execute_job(&r, &blocker);
    settle(&r.f);
    hora_future *first = submit(&r, RESIZE(job_run, &jobs[0]));
    hora_future *second = submit(&r, RESIZE(job_run, &jobs[1]));
    execute_job(&r, &jobs[2]); /* these two stand in the queue detached */
    execute_job(&r, &jobs[4]);
    hora_future *last = submit(&r, RESIZE(job_run, &jobs[3]));
    CHECK_SAYS(first, "resize (img.c:88) is the first in the queue; its pool's only worker is busy");
    CHECK_SAYS(
        second,
        "resize (img.c:88) is the 2nd in the queue: 1 task is ahead of it; its pool's only worker is busy");
    CHECK_SAYS(
        last,
        "resize (img.c:88) is the 5th in the queue: 4 tasks are ahead of it; its pool's only worker is busy");
    CHECK_INT(hora_future_cancel(second, false), HORA_CANCEL_REMOVED);
    CHECK_SAYS(
        last,
        "resize (img.c:88) is the 4th in the queue: 3 tasks are ahead of it; its pool's only worker is busy");
    rig_finish(&r);
    end(first);
    end(second);
    end(last);
    rig_close(&r);
}

TEST(explain_says_who_is_busy_for_longest, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 3, .watchdog = HORA_WATCHDOG()));
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);

    CHECK_OK(hora_pool_execute(r.pool, RESIZE(job_run, &blocker)));
    settle(&r.f);
    advance(&r.f, HORA_SECONDS(6));
    CHECK_OK(hora_pool_execute(r.pool, SCALE(job_run, &blocker)));
    CHECK_OK(hora_pool_execute(r.pool, SCALE(job_run, &blocker)));
    settle(&r.f);
    hora_future *future = submit(&r, RESIZE(job_run, &job));
    advance(&r.f, HORA_SECONDS(3));
    CHECK_SAYS(
        future,
        "resize (img.c:88) is the first in the queue; all 3 workers are busy: worker 1 has been busy with "
        "resize (img.c:88) for 9 s");
    rig_finish(&r);
    end(future);
    rig_close(&r);
}

TEST(explain_knows_how_long_the_oldest_has_waited, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()));
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    hora_future *oldest = NULL;

    CHECK_OK(hora_pool_execute(r.pool, SCALE(job_run, &blocker)));
    CHECK_OK(hora_pool_submit_with(r.pool, RESIZE(job_run, &job),
                                   HORA_TASK_OPTIONS(.start_within = HORA_MINUTES(10)), &oldest, NULL));
    settle(&r.f);
    advance(&r.f, HORA_MS(2200));
    hora_future *second = submit(&r, RESIZE(job_run, &job));
    hora_future *third = submit(&r, RESIZE(job_run, &job));
    advance(&r.f, HORA_SECONDS(1));
    CHECK_SAYS(
        second,
        "resize (img.c:88) is the 2nd in the queue: 1 task is ahead of it, and has waited for 3.2 s; its "
        "pool's only worker is busy: worker 1 has been busy with scale (img.c:99) for 3.2 s");
    CHECK_SAYS(third,
               "resize (img.c:88) is the 3rd in the queue: 2 tasks are ahead of it, the oldest has waited "
               "for 3.2 s; "
               "its pool's only worker is busy: worker 1 has been busy with scale (img.c:99) for 3.2 s");
    rig_finish(&r);
    end(oldest);
    end(second);
    end(third);
    rig_close(&r);
}

TEST(explain_knows_how_long_the_oldest_has_waited_if_it_is_measured, "")
{
    for (int detached = 0; detached < 2; detached++) {
        struct rig r;
        rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()));
        struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
        hora_future *oldest = NULL;

        CHECK_OK(hora_pool_execute(r.pool, SCALE(job_run, &blocker)));
        settle(&r.f);
        if (detached)
            CHECK_OK(hora_pool_execute(r.pool, RESIZE(job_run, &job)));
        else
            oldest = submit(&r, RESIZE(job_run, &job));
        advance(&r.f, HORA_MS(3200));
        hora_future *second = submit(&r, RESIZE(job_run, &job));
        CHECK_SAYS(
            second,
            "resize (img.c:88) is the 2nd in the queue: 1 task is ahead of it, and has waited for 3.2 s; its "
            "pool's only worker is busy: worker 1 has been busy with scale (img.c:99) for 3.2 s");
        rig_finish(&r);
        end(oldest);
        end(second);
        rig_close(&r);
    }
}

TEST(explain_says_that_no_thread_could_be_started, "")
{
    struct rig r;
    struct job job = A_JOB(&r);

    hora_future *future = rig_open_stranded(&r, RESIZE(job_run, &job), HORA_POOL_OPTIONS(.name = "stranded"));
    char want[HORA_EXPLAIN_TEXT];
    (void)snprintf(want, sizeof(want),
                   "resize (img.c:88) is the first in the queue; no thread could be started: %s",
                   hora_strerror(HORA_EAGAIN));
    CHECK_SAYS(future, want);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    end(future);
    rig_close(&r);
}

TEST(explain_says_that_no_other_thread_could_be_started, "")
{
    struct rig r;
    rig_prepare(&r, false);
    r.factory_threads = 1;
    r.factory_error = HORA_EAGAIN;
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 2, .thread_factory = rig_factory));
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);

    execute_job(&r, &blocker);
    hora_future *future = submit(&r, RESIZE(job_run, &job));
    settle(&r.f);
    char want[HORA_EXPLAIN_TEXT];
    (void)snprintf(want, sizeof(want),
                   "resize (img.c:88) is the first in the queue; its pool's only worker is busy; no other "
                   "thread could be "
                   "started: %s",
                   hora_strerror(HORA_EAGAIN));
    CHECK_SAYS(future, want);
    rig_finish(&r);
    end(future);
    rig_close(&r);
}

TEST(explain_says_that_the_pool_has_been_shut_down, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);

    execute_job(&r, &blocker);
    hora_future *future = submit(&r, RESIZE(job_run, &job));
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_SAYS(future, "resize (img.c:88) is the first in the queue; its pool has been shut down and is "
                       "running the remaining tasks; "
                       "its pool's only worker is busy");
    rig_finish(&r);
    end(future);
    rig_close(&r);
}

/* While a pool is being stopped, the destructors of the queued tasks are called, one after the other. */
static void explain_neighbour(void *arg)
{
    hora_future **neighbour = arg;
    CHECK_SAYS(*neighbour, "resize (img.c:88) is the first in the queue; its pool has been stopped");
}

TEST(explain_says_that_the_pool_has_been_stopped, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    hora_future *future = NULL;

    execute_job(&r, &blocker);
    settle(&r.f);
    const hora_task first = {.run = job_run, .arg = &future, .drop = explain_neighbour};
    CHECK_OK(hora_pool_execute(r.pool, &first));
    CHECK_OK(hora_pool_submit(r.pool, RESIZE(job_run, &job), &future));
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK_SAYS(future, "resize (img.c:88) was abandoned: its pool was stopped, or it ended its thread");
    rig_finish(&r);
    end(future);
    rig_close(&r);
}

/* ---- between queue and run ---- */

/* A factory whose threads begin later. */
struct late {
    struct rig rig; /* first: it is the context of the pool */
    void (*run)(void *arg);
    void *arg;
};

static int late_factory(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    struct late *late = context;
    (void)name;
    late->run = run;
    late->arg = arg;
    return 0;
}

static void late_begin(struct late *late)
{
    late->rig.made[0] = test_thread_start(NULL, late->run, late->arg);
    settle(&late->rig.f);
}

TEST(explain_says_that_a_worker_is_about_to_take_it, "")
{
    struct late late;
    rig_open(&late.rig, false, HORA_POOL_OPTIONS(.core_threads = 1, .thread_factory = late_factory));
    struct job job = A_JOB(&late.rig);

    CHECK_INT(hora_pool_prestart(late.rig.pool), 1);
    hora_future *future = submit(&late.rig, RESIZE(job_run, &job));
    CHECK_SAYS(future, "resize (img.c:88) is the first in the queue; a worker is about to take it");
    late_begin(&late);
    CHECK_SAYS(future, "resize (img.c:88) ran and succeeded");
    end(future);
    rig_close(&late.rig);
}

TEST(explain_says_that_a_worker_begins_with_it, "")
{
    struct late late;
    rig_open(&late.rig, false, HORA_POOL_OPTIONS(.core_threads = 1, .thread_factory = late_factory));
    struct job job = A_JOB(&late.rig);

    hora_future *future = submit(&late.rig, RESIZE(job_run, &job));
    CHECK_SAYS(future, "resize (img.c:88) has been given to a worker, which is about to run it");
    late_begin(&late);
    end(future);
    rig_close(&late.rig);
}

/* ---- other queues ---- */

static int by_address(const void *a, const void *b, void *context)
{
    (void)context;
    return (a > b) - (a < b);
}

TEST(explain_knows_queues_of_the_user, "")
{
    for (int i = 0; i < 3; i++) {
        struct rig r;
        hora_queue *queue = NULL;
        rig_prepare(&r, false);
        if (i == 0)
            CHECK_OK(hora_queue_new_array(4, HORA_QUEUE_OPTIONS(.clock = r.f.view), &queue, NULL));
        else if (i == 1)
            CHECK_OK(
                hora_queue_new_linked(HORA_UNBOUNDED, HORA_QUEUE_OPTIONS(.clock = r.f.view), &queue, NULL));
        else
            CHECK_OK(hora_queue_new_priority(4, HORA_QUEUE_OPTIONS(.clock = r.f.view, .compare = by_address),
                                             &queue, NULL));
        rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .queue = queue));
        struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
        execute_job(&r, &blocker);
        settle(&r.f);
        hora_future *first = submit(&r, RESIZE(job_run, &job));
        hora_future *second = submit(&r, RESIZE(job_run, &job));
        CHECK_SAYS(
            second,
            i < 2
                ? "resize (img.c:88) is the 2nd in the queue: 1 task is ahead of it; its pool's only worker "
                  "is busy"
                : "resize (img.c:88) is one of 2 tasks in a queue with its own order; its pool's only worker "
                  "is busy");
        rig_finish(&r);
        CHECK_OK(hora_pool_free(r.pool));
        r.pool = NULL;
        CHECK_OK(hora_queue_free(queue));
        CHECK_SAYS(second, "resize (img.c:88) ran and succeeded");
        end(first);
        end(second);
        rig_close(&r);
    }
}
