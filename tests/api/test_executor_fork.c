/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor_fork.c - in the child of a fork groups and completion services reject every call */
#include "child.h"
#include "invoke_support.h"

struct family {
    struct venue v;
    hora_completion_service *service;
    hora_group *group;
};

static void call_all(struct family *family)
{
    struct venue *v = &family->v;
    struct job jobs[2] = {A_JOB(&v->r), A_JOB(&v->r)};
    hora_future *future;

    CHILD_FORKED(hora_executor_submit(&v->executor, JOB(&jobs[0]), &future));
    CHILD_FORKED(hora_completion_service_submit(family->service, JOB(&jobs[0]), &future));
    CHILD_FORKED(hora_completion_service_take(family->service, &future));
    CHILD_FORKED(hora_completion_service_poll(family->service, &future));
    CHILD_FORKED(hora_completion_service_free(family->service));
    CHILD_FORKED(hora_group_submit(family->group, &v->executor, JOB(&jobs[0]), &future));
    CHILD_FORKED(hora_group_await(family->group));
    CHILD_FORKED(hora_group_cancel(family->group, true));
    CHILD_FORKED(hora_group_pending(family->group));
    CHILD_FORKED(hora_group_failed(family->group));
    CHILD_FORKED(hora_group_fd(family->group));
    CHILD_FORKED(hora_group_free(family->group));
    CHILD_CHECK(jobs[0].drops == 0);
    CHILD_FORKED(hora_pool_invoke_all(v->r.pool, (const hora_task *[]){JOB(&jobs[0])}, 1, &future));
    CHILD_FORKED(hora_pool_invoke_any(v->r.pool, (const hora_task *[]){JOB(&jobs[1])}, 1, NULL, NULL));
    CHILD_CHECK(jobs[0].drops == 1 && jobs[1].drops == 1); /* these take the tasks in any case */
}

TEST_REAL(executor_calls_are_refused_in_a_child, "")
{
    struct family family;

    venue_open(&family.v, POOL);
    CHECK_OK(hora_completion_service_new(&family.v.executor, NULL, &family.service));
    CHECK_OK(hora_group_new(NULL, &family.group, NULL));
    in_child(call_all, &family);
    CHECK_OK(hora_group_free(family.group));
    CHECK_OK(hora_completion_service_free(family.service));
    venue_close(&family.v);
}
