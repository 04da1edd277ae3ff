/* SPDX-License-Identifier: Apache-2.0 */
/* pool_support.c - see pool_support.h */
#include "pool_support.h"

#include <stdlib.h>
#include <string.h>

/* ---- rigs ---- */

static int before_hook(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;

    CHECK_POINTER(hora_pool_current(), pool);
    CHECK_INT(run->struct_size, sizeof(hora_run_info));
    CHECK(run->future != NULL);
    CHECK_POINTER(run->task, hora_future_task(run->future));
    CHECK_INT(run->code, 0);
    atomic_fetch_add(&r->before, 1);
    return 0;
}

static void after_hook(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;

    CHECK_POINTER(hora_pool_current(), pool);
    CHECK(hora_future_is_done(run->future));
    CHECK_POINTER(run->task, hora_future_task(run->future));
    atomic_fetch_add(&r->after, 1);
    atomic_store(&r->last_code, run->code);
}

static void terminated_hook(hora_pool *pool, void *context)
{
    struct rig *r = context;

    CHECK(hora_pool_is_terminating(pool));
    CHECK(!hora_pool_is_terminated(pool));
    atomic_fetch_add(&r->terminated, 1);
}

void rig_prepare(struct rig *r, bool hooked)
{
    memset(r, 0, sizeof(*r));
    r->hooked = hooked;
    fixture_open(&r->f);
    CHECK_OK(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = r->f.view), &r->gate, NULL));
}

bool rigs_have_admission(void)
{
    return getenv("HORA_TEST_ADMISSION") != NULL;
}

static bool goes_with_admission(const hora_pool_options *options)
{
    return options->admission == NULL && options->queue == NULL && options->queue_capacity >= 0 &&
           !options->keep_cancelled && options->spin == 0;
}

int rig_try_pool(struct rig *r, const hora_pool_options *options, hora_error *reason)
{
    hora_pool_options own = *options;
    const hora_admission admission = HORA_INIT(hora_admission);

    own.clock = r->f.view;
    own.arg = r;
    if (rigs_have_admission() && goes_with_admission(&own))
        own.admission = &admission;
    if (r->hooked) {
        own.before = before_hook;
        own.after = after_hook;
        own.terminated = terminated_hook;
    }
    return hora_pool_new(&own, &r->pool, reason);
}

void rig_pool(struct rig *r, const hora_pool_options *options)
{
    hora_error reason;

    if (rig_try_pool(r, options, &reason) < 0)
        test_fail(__FILE__, __LINE__, "the pool is refused: %s", reason.message);
}

void rig_open(struct rig *r, bool hooked, const hora_pool_options *options)
{
    rig_prepare(r, hooked);
    rig_pool(r, options);
}

static int occupy(void *rig, void **ret_result)
{
    struct rig *r = rig;

    (void)ret_result;
    while (hora_latch_await(r->gate) == HORA_EINTERRUPTED) {
    }
    return 0;
}

void rig_open_occupied(struct rig *r)
{
    rig_open(r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r->pool, HORA_TASK(occupy, r)));
}

/* Refuses the first task, after the gate was opened, and so ends the worker. */
static int end_worker(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;

    (void)pool;
    (void)run;
    if (atomic_fetch_add(&r->before, 1) > 0)
        return 0;
    CHECK_OK(hora_latch_await(r->gate));
    return HORA_EINVAL;
}

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

hora_future *rig_open_stranded(struct rig *r, const hora_task *task, const hora_pool_options *options)
{
    hora_pool_options own = *options;
    hora_future *future = NULL;

    rig_prepare(r, false);
    r->factory_threads = 1;
    r->factory_error = HORA_EAGAIN;
    own.core_threads = 1;
    own.thread_factory = rig_factory;
    own.before = end_worker;
    rig_pool(r, &own);
    CHECK_OK(hora_pool_execute(r->pool, HORA_TASK(do_nothing, NULL)));
    CHECK_OK(hora_pool_submit(r->pool, task, &future));
    rig_open_gate(r);
    CHECK_INT(rig_stats(r).threads, 0);
    CHECK_INT(rig_stats(r).queued, 1);
    return future;
}

int rig_factory(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    struct rig *r = context;
    int number;

    CHECK(name != NULL);
    atomic_fetch_add(&r->factory_calls, 1);
    number = atomic_fetch_add(&r->factory_made, 1);
    if (number >= r->factory_threads || number >= MOST_FACTORY_THREADS) {
        atomic_fetch_sub(&r->factory_made, 1);
        return r->factory_error;
    }
    r->made[number] = test_thread_start(NULL, run, arg);
    return 0;
}

void rig_open_gate(struct rig *r)
{
    CHECK_OK(hora_latch_count_down(r->gate));
}

void rig_finish(struct rig *r)
{
    rig_open_gate(r);
    CHECK_OK(hora_pool_shutdown(r->pool));
    if (rig_stats(r).threads == 0)
        CHECK_OK(
            hora_pool_shutdown_now(r->pool, NULL)); /* a pool without threads never gets through its queue */
    CHECK_OK(hora_pool_await_termination_for(r->pool, HORA_FOREVER));
    CHECK_BOOKS(r->pool);
}

void rig_close(struct rig *r)
{
    if (r->pool != NULL) {
        rig_finish(r);
        CHECK_FREE(r->pool);
        if (r->hooked)
            CHECK_INT(r->terminated, 1);
    }
    for (int i = 0; i < MOST_FACTORY_THREADS; i++)
        test_thread_join(r->made[i]);
    CHECK_OK(hora_latch_free(r->gate));
    fixture_close(&r->f);
}

hora_pool_stats rig_stats_now(struct rig *r)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    CHECK_OK(hora_pool_get_stats(r->pool, &stats));
    return stats;
}

hora_pool_stats rig_stats(struct rig *r)
{
    settle(&r->f);
    return rig_stats_now(r);
}

void check_books(const char *file, int line, hora_pool *pool)
{
    hora_pool_stats s = HORA_INIT(hora_pool_stats);

    test_check_error(file, line, "stats", hora_pool_get_stats(pool, &s), 0);
    test_check_int(file, line, "sum of all ends",
                   s.done + s.failed + s.cancelled + s.rejected + s.abandoned + s.handed_back + s.expired,
                   s.accepted);
}

/* ---- jobs ---- */

int job_run(void *arg, void **ret_result)
{
    struct job *job = arg;
    int error = 0;

    CHECK_INT(job->drops, 0);
    atomic_fetch_add(&job->runs, 1);
    if (job->waits) {
        while ((error = hora_latch_await(job->rig->gate)) == HORA_EINTERRUPTED) {
            atomic_fetch_add(&job->interrupts, 1);
            if (!job->deaf)
                break;
        }
    }
    *ret_result = job;
    atomic_fetch_add(&job->ends, 1);
    return job->code;
}

void job_drop(void *arg)
{
    struct job *job = arg;

    CHECK_INT(job->runs, job->ends);
    atomic_fetch_add(&job->drops, 1);
}

void job_drop_result(void *arg)
{
    struct job *job = arg;

    atomic_fetch_add(&job->result_drops, 1);
}

void job_done(hora_future *future, void *arg)
{
    struct job *job = arg;

    CHECK(hora_future_is_done(future));
    atomic_fetch_add(&job->dones, 1);
}

hora_future *submit_job(struct rig *r, struct job *job)
{
    hora_future *future = NULL;

    CHECK_OK(hora_pool_submit(r->pool, JOB(job), &future));
    return future;
}

void execute_job(struct rig *r, struct job *job)
{
    CHECK_OK(hora_pool_execute(r->pool, JOB(job)));
}

void execute_jobs(struct rig *r, struct job *jobs, int n)
{
    for (int i = 0; i < n; i++) {
        jobs[i] = (struct job)A_WAITING_JOB(r);
        execute_job(r, &jobs[i]);
    }
}

hora_future *loose_future(struct rig *r, struct job *job)
{
    hora_future *future = submit_job(r, job);

    CHECK_INT(hora_pool_remove(r->pool, future), 1);
    return future;
}

void check_job(const char *file, int line, struct job *job, int runs)
{
    test_check_int(file, line, "runs of the job", job->runs, runs);
    test_check_int(file, line, "drops of the job", job->drops, 1);
}

/* ---- calls ---- */

static int run_get(struct call *call)
{
    return hora_future_get(call->object, &call->item);
}

static int run_get_for(struct call *call)
{
    return hora_future_get_for(call->object, call->timeout, &call->item);
}

static int run_execute(struct call *call)
{
    return hora_pool_execute(call->object, JOB(call->item));
}

void start_get(struct call *call, struct fixture *f, hora_future *future)
{
    *call = (struct call){.run = run_get, .object = future, .item = untouched, .takes = true};
    start_call(call, f);
}

void start_get_for(struct call *call, struct fixture *f, hora_future *future, hora_ns timeout)
{
    *call = (struct call){
        .run = run_get_for, .object = future, .timeout = timeout, .item = untouched, .takes = true};
    start_call(call, f);
}

void start_execute(struct call *call, struct rig *r, struct job *job)
{
    *call = (struct call){.run = run_execute, .object = r->pool, .item = job};
    start_call(call, &r->f);
}

void start_pool_call(struct call *call, struct rig *r, int (*run)(struct call *call), hora_ns timeout)
{
    *call = (struct call){.run = run, .object = r->pool, .timeout = timeout};
    start_call(call, &r->f);
}

/* ---- futures ---- */

/* Everything that a caller might try in order to change the outcome. */
static void try_to_confuse(const char *file, int line, hora_future *future)
{
    const hora_task *task = hora_future_task(future);

    test_check_int(file, line, "complete", hora_future_complete(future, untouched), 0);
    test_check_int(file, line, "fail", hora_future_fail(future, 7), 0);
    test_check_int(file, line, "cancel", hora_future_cancel(future, false), HORA_CANCEL_TOO_LATE);
    test_check_int(file, line, "cancel", hora_future_cancel(future, true), HORA_CANCEL_TOO_LATE);
    if (task->run != NULL) {
        test_check_int(file, line, "run", hora_future_run(future), 0);
        test_check_int(file, line, "run and reset", hora_future_run_and_reset(future), 0);
    }
}

static void check_answers(const char *file, int line, hora_future *future, int outcome, const void *result)
{
    for (int i = 0; i < 6; i++) {
        void *got = untouched;
        int error = i < 5 ? hora_future_get_for(future, any_timeout[i], &got) : hora_future_get(future, &got);

        test_check_error(file, line, "outcome", error, outcome);
        test_check_pointer(file, line, "result", got, outcome == 0 ? result : untouched);
    }
}

void check_done(const char *file, int line, hora_future *future, int outcome, const void *result)
{
    int failure = hora_future_failure(future);

    test_check_int(file, line, "done", hora_future_is_done(future), true);
    test_check_int(file, line, "cancelled", hora_future_is_cancelled(future), outcome == HORA_ECANCELED);
    test_check_int(file, line, "has failed", failure != 0, outcome != 0 && outcome != HORA_ECANCELED);
    check_answers(file, line, future, outcome, result);
    try_to_confuse(file, line, future);
    check_answers(file, line, future, outcome, result);
    test_check_int(file, line, "failure", hora_future_failure(future), failure);
}

void check_not_done(const char *file, int line, hora_future *future)
{
    void *got = untouched;

    test_check_int(file, line, "done", hora_future_is_done(future), false);
    test_check_int(file, line, "cancelled", hora_future_is_cancelled(future), false);
    test_check_int(file, line, "state", hora_future_get_state(future), HORA_FUTURE_PENDING);
    test_check_int(file, line, "failure", hora_future_failure(future), 0);
    test_check_error(file, line, "take", hora_future_take_result(future, &got), HORA_EAGAIN);
    for (int i = 0; i < 3; i++)
        test_check_error(file, line, "get without time", hora_future_get_for(future, expired[i], &got),
                         HORA_ETIMEDOUT);
    test_check_pointer(file, line, "result", got, untouched);
}
