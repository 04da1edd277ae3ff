/* SPDX-License-Identifier: Apache-2.0 */
/* test_completion_reject.c - completion services of a pool that has no room */
#include <hora/completion.h>

#include "pool_support.h"

static int drop_in_silence(hora_pool *pool, hora_future *future, void *context)
{
    (void)pool;
    (void)future;
    (void)context;
    return 0;
}

static void open_without_room(struct rig *r, hora_reject rule, hora_completion_service **ret_service)
{
    rig_open(r, false,
             HORA_POOL_OPTIONS(.core_threads = 1,
                               .queue_capacity = rule == HORA_REJECT_DISCARD_OLDEST ? 1 : -1, .reject = rule,
                               .reject_handler = rule == HORA_REJECT_CALLBACK ? drop_in_silence : NULL));
    hora_executor executor = hora_pool_executor(r->pool);
    CHECK_OK(hora_completion_service_new(&executor, NULL, ret_service));
}

/* Whatever the policy does with the task, it is delivered as rejected, and nothing is left behind. */
TEST(completion_delivers_what_a_rule_has_dropped, "")
{
    const hora_reject rules[] = {HORA_REJECT_DISCARD, HORA_REJECT_DISCARD_OLDEST, HORA_REJECT_CALLBACK};

    for (int i = 0; i < 3; i++) {
        struct rig r;
        struct job blocker = A_WAITING_JOB(&r), first = A_JOB(&r), second = A_JOB(&r);
        hora_completion_service *service;
        hora_future *future;

        open_without_room(&r, rules[i], &service);
        execute_job(&r, &blocker);
        CHECK_OK(hora_completion_service_submit(service, JOB(&first), NULL));
        CHECK_OK(hora_completion_service_submit(service, JOB(&second), NULL));
        CHECK_OK(hora_completion_service_take(service, &future));
        CHECK_DONE(future, HORA_EREJECTED, NULL);
        hora_future_unref(future);
        CHECK_JOB(&first, 0);
        rig_open_gate(&r);
        CHECK_OK(hora_completion_service_take(service, &future));
        hora_future_unref(future);
        CHECK_OK(hora_completion_service_free(service));
        rig_close(&r);
        CHECK_JOB(&second, rules[i] == HORA_REJECT_DISCARD_OLDEST ? 1 : 0);
    }
}

/* The caller has the future, too, and may still run it. If it does not, everything is freed with the last
 * reference, before or after the service. */
TEST(completion_releases_tasks_that_will_not_run, "")
{
    for (int way = 0; way < 3; way++) {
        struct rig r;
        struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
        hora_completion_service *service;
        hora_future *future;

        open_without_room(&r, HORA_REJECT_CALLBACK, &service);
        execute_job(&r, &blocker);
        CHECK_OK(hora_completion_service_submit(service, JOB(&job), &future));
        CHECK_NOT_DONE(future);
        if (way == 0)
            hora_future_unref(future);
        CHECK_OK(hora_completion_service_free(service));
        if (way == 1)
            CHECK_INT(hora_future_run(future), 1);
        if (way != 0)
            hora_future_unref(future);
        CHECK_JOB(&job, way == 1 ? 1 : 0);
        rig_close(&r);
    }
}
