/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_spin.c - pools whose threads poll before they sleep: everything else is the same */
#include <string.h>

#include "pool_support.h"

enum { SPIN = 20000, ROUNDS = 5 };

static void check_refused(int line, const hora_pool_options *options)
{
    hora_error reason;
    hora_pool *pool = (hora_pool *)untouched;

    test_check_error(__FILE__, line, "hora_pool_new", hora_pool_new(options, &pool, &reason), HORA_EINVAL);
    check_refusal(__FILE__, line, &reason, HORA_EINVAL, "spin", "spin");
}

TEST(pool_spin_is_bounded_and_needs_a_queue_of_its_own, "")
{
    struct fixture f;
    hora_pool *pool;

    fixture_open_queue(&f, LINKED, 10);
    check_refused(__LINE__, HORA_POOL_OPTIONS(.core_threads = 1, .spin = -1));
    check_refused(__LINE__, HORA_POOL_OPTIONS(.core_threads = 1, .spin = HORA_SPIN_MAX + 1));
    check_refused(__LINE__, HORA_POOL_OPTIONS(.core_threads = 1, .spin = 1, .queue = f.queue));
    check_refused(__LINE__,
                  HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .spin = 1, .queue_capacity = -1));
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .spin = HORA_SPIN_MAX), &pool, NULL));
    CHECK_OK(hora_pool_free(pool));
    fixture_close(&f);
}

/* One task after the other, each waited for, by a thread that polls or by one that sleeps. */
static void submit_and_get(const hora_pool_options *options)
{
    hora_pool *pool;
    struct job jobs[ROUNDS];

    CHECK_OK(hora_pool_new(options, &pool, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        hora_future *future;
        jobs[i] = (struct job)A_JOB(NULL);
        CHECK_OK(hora_pool_submit(pool, JOB(&jobs[i]), &future));
        CHECK_OK(hora_future_get(future, NULL));
        hora_future_unref(future);
    }
    CHECK_OK(hora_pool_free(pool));
    for (int i = 0; i < ROUNDS; i++)
        CHECK_JOB(&jobs[i], 1);
}

TEST(pool_that_spins_runs_what_is_submitted, "")
{
    submit_and_get(HORA_POOL_OPTIONS(.core_threads = 1, .spin = SPIN));
    submit_and_get(HORA_POOL_OPTIONS(.core_threads = 2, .spin = SPIN));
    submit_and_get(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 2, .spin = SPIN));
}

/* More than one worker can be at, and no worker left asleep: all are needed at the same time. */
TEST(pool_that_spins_wakes_all_that_are_needed, "")
{
    struct rig r;
    struct job waiting[3] = {A_WAITING_JOB(&r), A_WAITING_JOB(&r), A_WAITING_JOB(&r)};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 3, .spin = SPIN));
    CHECK_INT(hora_pool_prestart_all(r.pool), 3);
    for (int i = 0; i < 3; i++)
        execute_job(&r, &waiting[i]);
    settle(&r.f);
    CHECK_INT(rig_stats(&r).active, 3);
    rig_open_gate(&r);
    settle(&r.f);
    for (int i = 0; i < 3; i++)
        CHECK_JOB(&waiting[i], 1);
    rig_close(&r);
}

TEST(pool_that_spins_can_be_shut_down, "")
{
    struct rig r;
    struct job job = A_JOB(&r);

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2, .spin = HORA_SPIN_MAX));
    execute_job(&r, &job);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_JOB(&job, 1);
    rig_close(&r);
}

TEST(pool_that_spins_times_out_and_is_interrupted_as_others, "")
{
    struct rig r;
    struct job waiting = A_WAITING_JOB(&r);
    hora_future *future;
    hora_thread *self;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .spin = SPIN));
    CHECK_OK(hora_pool_submit(r.pool, JOB(&waiting), &future));
    CHECK_ERROR(hora_future_get_for(future, 0, NULL), HORA_ETIMEDOUT);
    CHECK_OK(hora_thread_self(&self));
    CHECK_OK(hora_thread_interrupt(self));
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EINTERRUPTED);
    hora_thread_unref(self);
    rig_open_gate(&r);
    CHECK_OK(hora_future_get(future, NULL));
    hora_future_unref(future);
    rig_close(&r);
}
