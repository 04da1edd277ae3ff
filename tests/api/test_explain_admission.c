/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain_admission.c - hora_future_explain: each sentence about tasks of pools with admission */
#include "explain_support.h"
#include "pool_support.h"

static void open_with_admission(struct rig *r, int threads)
{
    rig_open(r, false, HORA_POOL_OPTIONS(.core_threads = threads, .admission = HORA_ADMISSION()));
}

static hora_class *class_of(struct rig *r, const hora_class_options *options)
{
    hora_class *made = NULL;
    CHECK_OK(hora_class_new(r->pool, options, &made, NULL));
    return made;
}

static hora_future *submit(struct rig *r, struct job *job, const hora_task_options *terms)
{
    hora_future *future = NULL;
    CHECK_OK(hora_pool_submit_with(r->pool, RESIZE(job_run, job), terms, &future, NULL));
    settle(&r->f);
    return future;
}
#define SUBMIT(r, job, ...) submit((r), (job), HORA_TASK_OPTIONS(__VA_ARGS__))

static void end_all(struct rig *r, hora_future **futures, int count)
{
    rig_finish(r);
    for (int i = 0; i < count; i++)
        CHECK_POINTER(hora_future_unref(futures[i]), NULL);
    rig_close(r);
}

TEST(explain_says_that_a_class_is_at_its_limit, "")
{
    struct rig r;
    open_with_admission(&r, 4);
    struct job job = A_WAITING_JOB(&r);
    hora_class *slow = class_of(&r, HORA_CLASS_OPTIONS(.name = "slow", .limit = 2));
    hora_future *futures[4];

    futures[0] = SUBMIT(&r, &job, .task_class = slow);
    advance(&r.f, HORA_SECONDS(6));
    futures[1] = SUBMIT(&r, &job, .task_class = slow);
    advance(&r.f, HORA_SECONDS(3));
    futures[2] = SUBMIT(&r, &job, .task_class = slow);
    CHECK_SAYS(futures[0], "resize (img.c:88) is running: worker 1 has been running it for 9 s");
    CHECK_SAYS(futures[2],
               "resize (img.c:88) waits: its class slow is at its limit of 2; worker 1 has been busy with "
               "resize (img.c:88) for 9 s");
    futures[3] = SUBMIT(&r, &job, .priority = HORA_PRIORITY_LOW); /* runs, and is none of the class */
    CHECK_SAYS(futures[2], "resize (img.c:88) waits: its class slow is at its limit of 2");
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_SAYS(futures[2],
               "resize (img.c:88) waits: its class slow is at its limit of 2; its pool has been shut down "
               "and is running the remaining tasks");
    end_all(&r, futures, 4);
}

TEST(explain_says_that_a_rate_is_used_up, "")
{
    struct rig r;
    open_with_admission(&r, 2);
    struct job job = A_JOB(&r);
    hora_class *mail = class_of(&r, HORA_CLASS_OPTIONS(.name = "mail", .rate = 2, .per = HORA_SECONDS(60)));
    hora_future *futures[3];

    for (int i = 0; i < 3; i++)
        futures[i] = SUBMIT(&r, &job, .task_class = mail);
    advance(&r.f, HORA_SECONDS(18));
    CHECK_SAYS(futures[1], "resize (img.c:88) ran and succeeded");
    CHECK_SAYS(futures[2], "resize (img.c:88) waits: its class mail has reached its rate of 2 in 1 min; the "
                           "next task may start in 42 s");
    advance(&r.f, HORA_SECONDS(42));
    settle(&r.f);
    CHECK_SAYS(futures[2], "resize (img.c:88) ran and succeeded");
    end_all(&r, futures, 3);
}

TEST(explain_says_that_others_with_its_key_are_before_it, "")
{
    struct rig r;
    open_with_admission(&r, 3);
    struct job job = A_WAITING_JOB(&r);
    hora_future *futures[4];

    futures[0] = SUBMIT(&r, &job, .key = 1);
    for (int i = 1; i < 4; i++)
        futures[i] = SUBMIT(&r, &job, .key = 7);
    CHECK_SAYS(futures[1], "resize (img.c:88) is running: worker 2 has been running it for 0 s");
    CHECK_SAYS(futures[2],
               "resize (img.c:88) waits: 1 task with its key is ahead of it, which is running on worker 2");
    CHECK_SAYS(futures[3],
               "resize (img.c:88) waits: 2 tasks with its key are ahead of it, one of which is running on "
               "worker 2");
    end_all(&r, futures, 4);
}

TEST(explain_says_that_the_first_with_its_key_waits_itself, "")
{
    struct rig r;
    open_with_admission(&r, 1);
    struct job job = A_WAITING_JOB(&r);
    hora_future *futures[3];

    futures[0] = SUBMIT(&r, &job, .key = 0);
    futures[1] = SUBMIT(&r, &job, .key = 7);
    futures[2] = SUBMIT(&r, &job, .key = 7);
    CHECK_SAYS(
        futures[1],
        "resize (img.c:88) is the next to start; its pool's only worker is busy: worker 1 has been busy "
        "with resize (img.c:88) for 0 s");
    CHECK_SAYS(futures[2], "resize (img.c:88) waits: 1 task with its key is ahead of it");
    end_all(&r, futures, 3);
}

TEST(explain_says_that_threads_are_reserved, "")
{
    struct rig r;
    open_with_admission(&r, 3);
    struct job job = A_WAITING_JOB(&r);
    hora_class *urgent = class_of(&r, HORA_CLASS_OPTIONS(.name = "urgent", .reserve = 2));
    hora_future *futures[4];

    futures[0] = SUBMIT(&r, &job, .key = 0);
    futures[1] = SUBMIT(&r, &job, .key = 0);
    CHECK_SAYS(futures[1],
               "resize (img.c:88) waits: 2 threads are reserved for other classes, and all others are busy");
    futures[2] = SUBMIT(&r, &job, .task_class = urgent);
    CHECK_SAYS(futures[2], "resize (img.c:88) is running: worker 2 has been running it for 0 s");
    CHECK_SAYS(futures[1],
               "resize (img.c:88) waits: 1 thread is reserved for other classes, and all others are busy");
    futures[3] = SUBMIT(&r, &job, .task_class = urgent);
    CHECK_SAYS(futures[1],
               "resize (img.c:88) is the next to start; all 3 workers are busy: worker 1 has been busy with "
               "resize (img.c:88) for 0 s");
    end_all(&r, futures, 4);
}

TEST(explain_says_that_others_are_more_urgent, "")
{
    struct rig r;
    open_with_admission(&r, 1);
    struct job job = A_WAITING_JOB(&r);
    hora_future *futures[4];

    futures[0] = SUBMIT(&r, &job, .key = 0);
    futures[1] = SUBMIT(&r, &job, .priority = HORA_PRIORITY_LOW);
    futures[2] = SUBMIT(&r, &job, .priority = HORA_PRIORITY_HIGH);
    CHECK_SAYS(futures[1],
               "resize (img.c:88) waits: 1 task with a higher priority or a longer wait is ahead of it; its "
               "pool's only worker is busy: worker 1 has been busy with resize (img.c:88) for 0 s");
    futures[3] = SUBMIT(&r, &job, .priority = HORA_PRIORITY_URGENT);
    CHECK_SAYS(futures[1],
               "resize (img.c:88) waits: 2 tasks with a higher priority or a longer wait are ahead of it; "
               "its pool's only worker is busy: worker 1 has been busy with resize (img.c:88) for 0 s");
    CHECK_SAYS(
        futures[3],
        "resize (img.c:88) is the next to start; its pool's only worker is busy: worker 1 has been busy "
        "with resize (img.c:88) for 0 s");
    end_all(&r, futures, 4);
}
