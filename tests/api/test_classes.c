/* SPDX-License-Identifier: Apache-2.0 */
/* test_classes.c - classes of tasks: limit, reserve, rate; how they are made, changed and looked at */
#include <string.h>

#include "admission_support.h"

static int refused(hora_pool *pool, const hora_class_options *options, const char *why)
{
    hora_class *made = (hora_class *)untouched;
    hora_error reason;

    int error = hora_class_new(pool, options, &made, &reason);
    CHECK_POINTER(made, untouched);
    CHECK_REFUSAL(&reason, error, NULL, why);
    return error;
}

TEST(class_that_cannot_work_is_refused_with_a_reason, "")
{
    struct trial t;
    char long_name[65];

    memset(long_name, 'x', 64);
    long_name[64] = '\0';
    trial_open(&t, 3, 0);
    hora_pool *pool = t.r.pool;
    (void)trial_class(&t, HORA_CLASS_OPTIONS(.name = "a", .reserve = 1));
    CHECK_ERROR(refused(NULL, HORA_CLASS_OPTIONS(.name = "b"), "NULL"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, NULL, "struct_size"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, &(hora_class_options){.struct_size = 3, .name = "b"}, "struct_size"),
                HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.limit = 1), "name"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = ""), "name"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = long_name), "63"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "a"), "already"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "b", .limit = -1), "negative"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "b", .reserve = -1), "negative"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "b", .rate = -1), "negative"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "b", .per = -1), "negative"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "b", .rate = 1), "per is 0"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "b", .per = 1), "without a rate"), HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "b", .rate = 65537, .per = 1), "65536"),
                HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "b", .limit = 1, .reserve = 2), "limit"),
                HORA_EINVAL);
    CHECK_ERROR(refused(pool, HORA_CLASS_OPTIONS(.name = "b", .reserve = 2), "reserves of all classes"),
                HORA_EINVAL);
    CHECK_ERROR(hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "b"), NULL, NULL), HORA_EINVAL);
    CHECK_POINTER(hora_pool_find_class(pool, "b"), NULL);
    trial_close(&t);
}

TEST(class_needs_a_pool_with_admission, "")
{
    struct rig r;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_ERROR(refused(r.pool, HORA_CLASS_OPTIONS(.name = "a"), "no admission"), HORA_ENOTSUP);
    CHECK_POINTER(hora_pool_find_class(r.pool, "a"), NULL);
    rig_close(&r);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()));
    CHECK_ERROR(refused(r.pool, HORA_CLASS_OPTIONS(.name = "a"), "no admission"), HORA_ENOTSUP);
    rig_close(&r);
}

TEST(class_is_found_by_its_name_and_shows_what_it_is, "")
{
    struct trial t;
    char name[8] = "slow";

    trial_open(&t, 2, 0);
    hora_class *slow =
        trial_class(&t, HORA_CLASS_OPTIONS(.name = name, .limit = 2, .reserve = 1, .rate = 5, .per = 7));
    name[0] = 'X'; /* it was copied */
    CHECK_POINTER(hora_pool_find_class(t.r.pool, "slow"), slow);
    CHECK_POINTER(hora_pool_find_class(t.r.pool, "slo"), NULL);
    CHECK_POINTER(hora_pool_find_class(t.r.pool, NULL), NULL);
    CHECK_POINTER(hora_pool_find_class(NULL, "slow"), NULL);
    hora_class_info info = class_info(slow);
    CHECK(strcmp(info.name, "slow") == 0);
    CHECK_INT(info.limit, 2);
    CHECK_INT(info.reserve, 1);
    CHECK_INT(info.rate, 5);
    CHECK_INT(info.per, 7);
    CHECK_INT(info.running + info.waiting + info.started, 0);
    CHECK_ERROR(hora_class_get_info(NULL, &info), HORA_EINVAL);
    CHECK_ERROR(hora_class_get_info(slow, NULL), HORA_EINVAL);
    trial_close(&t);
}

TEST(pool_has_at_most_64_classes, "")
{
    struct trial t;
    char name[] = "class 00";

    trial_open(&t, 1, 0);
    for (int i = 0; i < 64; i++) {
        name[6] = (char)('0' + i / 10);
        name[7] = (char)('0' + i % 10);
        (void)trial_class(&t, HORA_CLASS_OPTIONS(.name = name));
    }
    CHECK_ERROR(refused(t.r.pool, HORA_CLASS_OPTIONS(.name = "one more"), "64"), HORA_EINVAL);
    trial_close(&t);
}

TEST(class_runs_no_more_than_its_limit, "")
{
    struct trial t;
    struct act *acts[3];

    trial_open(&t, 4, 0);
    hora_class *slow = trial_class(&t, HORA_CLASS_OPTIONS(.name = "slow", .limit = 2));
    for (int i = 0; i < 3; i++)
        acts[i] = act_waiting(&t, HORA_TASK_OPTIONS(.task_class = slow));
    (void)act_waiting(&t, NULL);
    settle(&t.r.f);
    CHECK_INT(acts[2]->begun, 0);
    CHECK_INT(t.acts[3].begun, 1); /* others overtake */
    CHECK_INT(class_info(slow).running, 2);
    CHECK_INT(class_info(slow).waiting, 1);
    CHECK_INT(class_info(slow).started, 2);
    CHECK_INT(rig_stats(&t.r).queued, 1);
    act_let_end(acts[1]);
    CHECK_INT(acts[2]->begun, 1);
    CHECK_INT(class_info(slow).running, 2);
    CHECK_INT(class_info(slow).waiting, 0);
    act_let_end(acts[0]);
    act_let_end(acts[2]);
    CHECK_INT(class_info(slow).running, 0);
    CHECK_INT(class_info(slow).started, 3);
    trial_close(&t);
}

TEST(class_with_a_reserve_finds_a_thread, "")
{
    struct trial t;

    trial_open(&t, 3, 0);
    hora_class *quick = trial_class(&t, HORA_CLASS_OPTIONS(.name = "quick", .reserve = 1));
    for (int i = 0; i < 3; i++)
        (void)act_waiting(&t, NULL);
    CHECK_BEGUN(&t, 0, 1); /* one thread is kept */
    struct act *first = act_waiting(&t, HORA_TASK_OPTIONS(.task_class = quick));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.task_class = quick));
    CHECK_BEGUN(&t, 0, 1, 3);
    act_let_end(first);
    CHECK_BEGUN(&t, 0, 1, 3, 4); /* its thread is kept for its class */
    act_let_end(&t.acts[0]);
    CHECK_BEGUN(&t, 0, 1, 3, 4, 2);
    trial_close(&t);
}

TEST(class_begins_no_more_than_its_rate, "")
{
    struct trial t;
    enum { N = 7 };

    trial_open(&t, 4, 0);
    hora_class *polite =
        trial_class(&t, HORA_CLASS_OPTIONS(.name = "polite", .rate = 3, .per = HORA_SECONDS(1)));
    for (int i = 0; i < N; i++)
        (void)act_quick(&t, HORA_TASK_OPTIONS(.task_class = polite));
    settle(&t.r.f);
    CHECK_INT(t.begun, 3);
    time_passes(&t, HORA_SECONDS(1) - 1);
    CHECK_INT(t.begun, 3);
    time_passes(&t, 1); /* exactly in time */
    CHECK_INT(t.begun, 6);
    time_passes(&t, HORA_SECONDS(1));
    CHECK_INT(t.begun, N);
    CHECK_INT(class_info(polite).started, N);
    trial_close(&t);
}

/* Any time of `per`, not only those that begin with a start. */
TEST(class_with_a_rate_counts_each_start, "")
{
    struct trial t;

    trial_open(&t, 2, 0);
    hora_class *polite = trial_class(&t, HORA_CLASS_OPTIONS(.name = "polite", .rate = 2, .per = 100));
    (void)act_quick(&t, HORA_TASK_OPTIONS(.task_class = polite));
    settle(&t.r.f);
    time_passes(&t, 90);
    for (int i = 0; i < 3; i++)
        (void)act_quick(&t, HORA_TASK_OPTIONS(.task_class = polite));
    CHECK_BEGUN(&t, 0, 1);
    time_passes(&t, 9);
    CHECK_BEGUN(&t, 0, 1);
    time_passes(&t, 1); /* 100 after the first */
    CHECK_BEGUN(&t, 0, 1, 2);
    time_passes(&t, 89);
    CHECK_BEGUN(&t, 0, 1, 2);
    time_passes(&t, 1); /* 100 after the second */
    CHECK_BEGUN(&t, 0, 1, 2, 3);
    trial_close(&t);
}

TEST(class_that_is_changed_lets_begin_what_may, "")
{
    struct trial t;
    hora_error reason;

    trial_open(&t, 4, 0);
    hora_class *slow = trial_class(&t, HORA_CLASS_OPTIONS(.name = "slow", .limit = 1));
    for (int i = 0; i < 4; i++)
        (void)act_waiting(&t, HORA_TASK_OPTIONS(.task_class = slow));
    CHECK_BEGUN(&t, 0);
    CHECK_OK(hora_class_set(slow, HORA_CLASS_OPTIONS(.limit = 3), NULL));
    settle(&t.r.f);
    CHECK_INT(t.begun, 3);
    CHECK_OK(
        hora_class_set(slow, HORA_CLASS_OPTIONS(.name = "slow", .limit = 1), NULL)); /* what runs goes on */
    act_let_end(&t.acts[0]);
    CHECK_INT(t.begun, 3);
    CHECK_OK(hora_class_set(slow, HORA_CLASS_OPTIONS(.rate = 1, .per = HORA_SECONDS(1)), NULL));
    settle(&t.r.f);
    CHECK_INT(t.begun, 4); /* a new rate starts anew */
    (void)act_quick(&t, HORA_TASK_OPTIONS(.task_class = slow));
    settle(&t.r.f);
    CHECK_INT(t.begun, 4);
    CHECK_OK(hora_class_set(slow, HORA_CLASS_OPTIONS(.name = NULL), NULL));
    act_let_end(&t.acts[1]);
    settle(&t.r.f);
    CHECK_INT(t.begun, 5);
    CHECK_ERROR(hora_class_set(slow, HORA_CLASS_OPTIONS(.name = "fast"), &reason), HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, NULL, "name");
    CHECK_ERROR(hora_class_set(slow, HORA_CLASS_OPTIONS(.reserve = 4), &reason), HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, NULL, "reserves");
    CHECK_ERROR(hora_class_set(slow, HORA_CLASS_OPTIONS(.limit = -1), &reason), HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, "limit", "limit is -1, which is negative");
    CHECK_ERROR(hora_class_set(NULL, HORA_CLASS_OPTIONS(.limit = 1), &reason), HORA_EINVAL);
    CHECK_OK(hora_class_set(slow, HORA_CLASS_OPTIONS(.reserve = 3), &reason));
    CHECK_INT(reason.code, 0);
    trial_close(&t);
}

TEST(task_is_moved_to_another_class, "")
{
    struct trial t;

    trial_open(&t, 4, 0);
    hora_class *slow = trial_class(&t, HORA_CLASS_OPTIONS(.name = "slow", .limit = 1));
    struct act *first = act_waiting(&t, HORA_TASK_OPTIONS(.task_class = slow));
    struct act *second = act_waiting(&t, HORA_TASK_OPTIONS(.task_class = slow));
    struct act *third = act_waiting(&t, HORA_TASK_OPTIONS(.task_class = slow));
    CHECK_BEGUN(&t, 0);
    CHECK_ERROR(hora_future_set_class(first->future, NULL), HORA_EBUSY); /* it has begun */
    CHECK_OK(hora_future_set_class(third->future, NULL));
    CHECK_BEGUN(&t, 0, 2); /* at once */
    CHECK_INT(class_info(slow).waiting, 1);
    struct act *fourth = act_waiting(&t, NULL);
    CHECK_BEGUN(&t, 0, 2, 3);
    CHECK_ERROR(hora_future_set_class(fourth->future, slow), HORA_EBUSY);
    act_let_end(first);
    CHECK_BEGUN(&t, 0, 2, 3, 1);
    CHECK_ERROR(hora_future_set_class(first->future, slow), HORA_EBUSY); /* it is over */
    CHECK_ERROR(hora_future_set_class(NULL, slow), HORA_EINVAL);
    CHECK_INT(hora_future_cancel(second->future, true), HORA_CANCEL_INTERRUPTED);
    trial_close(&t);
}

TEST(task_is_moved_only_within_its_pool, "")
{
    struct trial t;
    struct rig plain;
    struct trial other;
    struct job job = A_WAITING_JOB(&plain);

    trial_open(&t, 1, 0);
    trial_open(&other, 1, 0);
    rig_open(&plain, false, HORA_POOL_OPTIONS(.core_threads = 1));
    hora_class *slow = trial_class(&t, HORA_CLASS_OPTIONS(.name = "slow"));
    (void)act_waiting(&other, NULL);
    struct act *queued = act_waiting(&other, NULL);
    CHECK_ERROR(hora_future_set_class(queued->future, slow), HORA_EINVAL);
    CHECK_OK(hora_future_set_priority(queued->future, HORA_PRIORITY_HIGH));
    hora_future *future = submit_job(&plain, &job);
    CHECK_ERROR(hora_future_set_class(future, slow), HORA_ENOTSUP);
    CHECK_ERROR(hora_future_set_priority(future, HORA_PRIORITY_HIGH), HORA_ENOTSUP);
    rig_finish(&plain);
    hora_future_unref(future);
    rig_close(&plain);
    trial_close(&other);
    trial_close(&t);
}

/* The task still counts in its class, and keeps its key; but another thread has replaced the one that runs
 * it. */
TEST(worker_that_is_written_off_leaves_its_place_to_others, "")
{
    struct trial t;

    trial_open(&t, 1, 0);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    (void)act_waiting(
        &t, HORA_TASK_OPTIONS(.task_class = one, .stuck_after = HORA_SECONDS(1), .replace_stuck = true));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one));
    (void)act_waiting(&t, NULL);
    CHECK_BEGUN(&t, 0);
    time_passes(&t, HORA_SECONDS(2));
    CHECK_BEGUN(&t, 0, 2);
    CHECK_INT(class_info(one).running, 1);
    act_let_end(&t.acts[0]);
    CHECK_BEGUN(&t, 0, 2); /* its thread ends */
    act_let_end(&t.acts[2]);
    CHECK_BEGUN(&t, 0, 2, 1);
    trial_close(&t);
}

/* A task that has no thread to run on, with its own options: the queue is full. */
TEST(full_admission_queue_starts_a_thread_only_for_what_may_begin, "")
{
    struct trial t;
    hora_future *future = NULL;

    trial_open_with(&t, HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .queue_capacity = 1), 0);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one));
    (void)act_waiting(&t, NULL);
    CHECK_BEGUN(&t, 0);
    struct act *no = act_new(&t, false);
    CHECK_ERROR(hora_pool_submit_with(t.r.pool, HORA_TASK(act_run, no), HORA_TASK_OPTIONS(.task_class = one),
                                      &future, NULL),
                HORA_EREJECTED);
    CHECK_INT(class_info(one).running, 1);
    CHECK_INT(class_info(one).waiting, 0);
    (void)act_waiting(&t, NULL);
    CHECK_BEGUN(&t, 0, 3); /* it brings a thread along */
    CHECK_ERROR(hora_pool_submit(t.r.pool, HORA_TASK(act_run, no), &future), HORA_EREJECTED);
    act_let_end(&t.acts[3]);
    CHECK_BEGUN(&t, 0, 3, 1);
    CHECK_INT(rig_stats(&t.r).largest, 2);
    trial_close(&t);
}
