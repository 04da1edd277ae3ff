/* SPDX-License-Identifier: Apache-2.0 */
/* test_terms.c - task options are checked, and pool options that conflict with admission are rejected */
#include <string.h>

#include "admission_support.h"

static int checked(hora_pool *pool, const hora_task_options *terms, const char *why)
{
    hora_error reason;
    hora_future *future = (hora_future *)untouched;

    int error = hora_task_options_check(pool, terms, &reason);
    CHECK_ERROR(hora_task_options_check(pool, terms, NULL), error);
    CHECK_INT(reason.code, error);
    if (error < 0) { /* hora_pool_submit_with rejects them in the same way */
        CHECK_REFUSAL(&reason, error, NULL, why);
        CHECK_ERROR(hora_pool_submit_with(pool, HORA_TASK(act_run, NULL), terms, &future, &reason), error);
        CHECK_REFUSAL(&reason, error, NULL, why);
        CHECK_POINTER(future, untouched);
    }
    return error;
}

TEST(terms_that_cannot_work_are_refused_with_a_reason, "")
{
    struct trial t;
    struct trial other;

    trial_open(&t, 1, 0);
    trial_open(&other, 1, 0);
    hora_pool *pool = t.r.pool;
    hora_class *elsewhere = trial_class(&other, HORA_CLASS_OPTIONS(.name = "a"));
    CHECK_OK(checked(pool, HORA_TASK_OPTIONS(.key = 1), ""));
    CHECK_ERROR(checked(NULL, HORA_TASK_OPTIONS(.key = 1), "NULL"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, NULL, "struct_size"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, &(hora_task_options){.struct_size = 4}, "struct_size"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, HORA_TASK_OPTIONS(.priority = (hora_priority)-2), "priority"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, HORA_TASK_OPTIONS(.priority = (hora_priority)3), "priority"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, HORA_TASK_OPTIONS(.task_class = elsewhere), "another pool"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, HORA_TASK_OPTIONS(.start_within = -1), "start_within"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, HORA_TASK_OPTIONS(.run_limit = -1), "run_limit"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, HORA_TASK_OPTIONS(.stuck_after = -1), "stuck_after"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, HORA_TASK_OPTIONS(.finish_within = -1), "finish_within"), HORA_EINVAL);
    CHECK_ERROR(checked(pool, HORA_TASK_OPTIONS(.replace_stuck = true), "replace"), HORA_EINVAL);
    CHECK_ERROR(hora_pool_submit_with(pool, NULL, HORA_TASK_OPTIONS(.key = 1), NULL, NULL), HORA_EINVAL);
    trial_close(&other);
    trial_close(&t);
}

TEST(terms_need_a_pool_that_knows_them, "")
{
    struct rig r;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_ERROR(checked(r.pool, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_HIGH), "no admission"),
                HORA_ENOTSUP);
    rig_close(&r);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()));
    CHECK_ERROR(checked(r.pool, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_HIGH), "no admission"),
                HORA_ENOTSUP);
    CHECK_ERROR(checked(r.pool, HORA_TASK_OPTIONS(.key = 1), "no admission"), HORA_ENOTSUP);
    CHECK_OK(checked(r.pool, HORA_TASK_OPTIONS(.context = &r), ""));
    rig_close(&r);
}

TEST(terms_without_a_future_run_the_task, "")
{
    struct trial t;

    trial_open(&t, 1, 0);
    struct act *act = act_new(&t, false);
    CHECK_OK(
        hora_pool_submit_with(t.r.pool, HORA_TASK(act_run, act), HORA_TASK_OPTIONS(.key = 1), NULL, NULL));
    CHECK_BEGUN(&t, 0);
    trial_close(&t);
}

static void refused(const hora_pool_options *options, const char *why)
{
    struct rig r;
    hora_error reason;

    rig_prepare(&r, false);
    CHECK_ERROR(rig_try_pool(&r, options, &reason), HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, NULL, why);
    rig_close(&r);
}

TEST(admission_pool_refuses_what_has_no_effect, "")
{
    hora_queue *queue;

    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    const hora_admission *admission = HORA_ADMISSION();
    refused(HORA_POOL_OPTIONS(.core_threads = 1, .queue = queue, .admission = admission),
            "has its own queue");
    refused(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1, .admission = admission),
            "must hold tasks");
    refused(HORA_POOL_OPTIONS(.core_threads = 1, .keep_cancelled = true, .admission = admission),
            "keep_cancelled");
    refused(HORA_POOL_OPTIONS(.core_threads = 1, .spin = 1000, .admission = admission), "spin");
    refused(HORA_POOL_OPTIONS(.core_threads = 1, .admission = HORA_ADMISSION(.ageing = -1)), "ageing");
    CHECK_OK(hora_queue_free(queue));
}
