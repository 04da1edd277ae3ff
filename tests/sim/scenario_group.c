/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_group.c - groups that submit to a pool: seats, reserved seats, walks and the end of the group
 *
 * A row has two seats in the simulator, so two or three tasks fill one. Oracles: a wait returns exactly
 * when all members are done, and then their effects are visible; the group may be freed at once; each task
 * that was accepted is dropped once and, unless it was cancelled, runs once; the counts are exact. */
#include "books.h"
#include "harness.h"
#include "sys/atomic.h"

enum { CODE = 7, MOST = 4 };

static hora_pool *pool;
static hora_group *group;
static hora_executor executor;

static struct work {
    hora__counter ran; /* relaxed: only the end of the membership hands it over */
    int code;
    int drops;
    int submits; /* how many tasks its body submits to the same group */
} works[MOST];

static int work_run(void *arg, void **ret_result);

static void work_drop(void *arg)
{
    struct work *work = arg;
    work->drops++;
}

#define WORK(i) HORA_TASK(work_run, &works[i], .drop = work_drop)

static int submit(int i)
{
    return hora_group_submit(group, &executor, WORK(i), NULL);
}

static int work_run(void *arg, void **ret_result)
{
    struct work *work = arg;
    (void)ret_result;
    CHECK_INT(work->drops, 0);
    hora__counter_set(&work->ran, 1);
    for (int i = 0; i < work->submits; i++)
        CHECK_OK(submit((int)(work - works) + 1 + i));
    return work->code;
}

/* `threads` workers that wait already, so that their start hands nothing over. */
static void begin_with(int threads, const hora_group_options *options)
{
    for (int i = 0; i < MOST; i++) {
        works[i] = (struct work){.code = 0};
        hora__counter_set(&works[i].ran, 0);
    }
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = threads), &pool, NULL));
    CHECK_INT(hora_pool_prestart_all(pool), threads);
    executor = hora_pool_executor(pool);
    CHECK_OK(hora_group_new(options, &group, NULL));
}

static void begin(int threads)
{
    begin_with(threads, NULL);
}

static int count_runs(int tasks)
{
    int runs = 0;
    for (int i = 0; i < tasks; i++)
        runs += (int)hora__counter_read(&works[i].ran);
    return runs;
}

/* The group has been seen empty: it can be freed while a thread still ends the last task. */
static void end(int tasks)
{
    CHECK_INT(hora_group_pending(group), 0);
    CHECK_OK(hora_group_free(group));
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    for (int i = 0; i < tasks; i++)
        CHECK_INT(works[i].drops, 1);
}

/* Waits, and checks that everything is visible. */
static void await_all(int tasks)
{
    CHECK_OK(hora_group_await(group));
    CHECK_INT(count_runs(tasks), tasks);
    CHECK_INT(hora_group_failed(group), 0);
}

/* ---- the end of the last member ---- */

/* One task: a reserved seat is left beside it. */
SCENARIO(group_of_a_pool_ends_with_one)
{
    begin(1);
    CHECK_OK(submit(0));
    await_all(1);
    end(1);
}

/* Two tasks fill a row, and two workers leave it at the same time. */
MEDIUM_SCENARIO(group_of_a_pool_ends_with_a_full_row)
{
    begin(2);
    CHECK_OK(submit(0));
    CHECK_OK(submit(1));
    await_all(2);
    end(2);
}

/* Three tasks: one row is full, and the next has a reserved seat. */
LARGE_SCENARIO(group_of_a_pool_ends_with_two_rows)
{
    begin(2);
    for (int i = 0; i < 3; i++)
        CHECK_OK(submit(i));
    await_all(3);
    end(3);
}

/* The group is used again: its row is begun anew. */
MEDIUM_SCENARIO(group_of_a_pool_is_used_again)
{
    begin(1);
    CHECK_OK(submit(0));
    await_all(1);
    CHECK_OK(submit(1));
    CHECK_OK(submit(2));
    await_all(3);
    end(3);
}

/* A task submits two more while a thread waits: no seat is reserved then. */
MEDIUM_SCENARIO(group_of_a_pool_grows_while_it_is_awaited)
{
    begin(1);
    works[0].submits = 2;
    CHECK_OK(submit(0));
    await_all(3);
    end(3);
}

static void wait_for_group(void *arg)
{
    (void)arg;
    CHECK_OK(hora_group_await(group));
}

/* A thread begins to wait while another submits: it waits for the first task at least. */
LARGE_SCENARIO(group_of_a_pool_is_awaited_while_it_grows)
{
    begin(1);
    CHECK_OK(submit(0));
    test_thread *other = test_thread_start(NULL, wait_for_group, NULL);
    CHECK_OK(submit(1));
    CHECK_OK(submit(2));
    test_thread_join(other);
    CHECK(hora__counter_read(&works[0].ran) == 1);
    await_all(3);
    end(3);
}

static void submit_second(void *arg)
{
    (void)arg;
    CHECK_OK(submit(1));
}

/* Two threads submit at the same time. */
LARGE_SCENARIO(group_of_a_pool_with_two_submitters)
{
    begin(1);
    test_thread *other = test_thread_start(NULL, submit_second, NULL);
    CHECK_OK(submit(0));
    test_thread_join(other);
    CHECK(hora_group_pending(group) <= 2);
    await_all(2);
    end(2);
}

/* The number of pending members never counts reserved seats, and only falls. */
MEDIUM_SCENARIO(group_of_a_pool_counts_its_members)
{
    begin(1);
    CHECK_OK(submit(0));
    CHECK(hora_group_pending(group) <= 1);
    CHECK_OK(submit(1));
    int first = hora_group_pending(group);
    int second = hora_group_pending(group);
    CHECK(first <= 2 && second <= first);
    if (second == 0)
        CHECK_INT(count_runs(2), 2);
    await_all(2);
    end(2);
}

/* The descriptor forbids reserved seats, too. */
MEDIUM_SCENARIO(group_of_a_pool_with_a_descriptor)
{
    begin(1);
    CHECK_OK(submit(0));
    CHECK(hora_group_fd(group) >= 0);
    CHECK_OK(submit(1));
    await_all(2);
    end(2);
}

/* ---- walks ---- */

static int cancelled;

static void cancel_group(void *arg)
{
    (void)arg;
    cancelled = hora_group_cancel(group, false);
}

/* Each member runs or is cancelled, and a member that was added before the call is not missed. */
static void check_cancelled(int tasks)
{
    CHECK_OK(hora_group_await(group));
    CHECK_INT(hora_group_failed(group), cancelled);
    CHECK(count_runs(tasks) + cancelled >= tasks); /* one that was running counts twice */
    end(tasks);
}

/* Cancelling meets the end of the members. */
MEDIUM_SCENARIO(group_of_a_pool_cancel_meets_the_end)
{
    begin(1);
    CHECK_OK(submit(0));
    CHECK_OK(submit(1));
    cancel_group(NULL);
    check_cancelled(2);
}

/* The seat beside it is reserved, so the only member can leave without the lock. */
SCENARIO(group_of_a_pool_cancel_meets_the_end_of_one)
{
    begin(1);
    CHECK_OK(submit(0));
    cancel_group(NULL);
    check_cancelled(1);
}

/* Cancelling meets a submission: the walk must not touch a future that is not placed yet. */
LARGE_SCENARIO(group_of_a_pool_cancel_meets_submit)
{
    begin(1);
    test_thread *other = test_thread_start(NULL, cancel_group, NULL);
    CHECK_OK(submit(0));
    CHECK_OK(submit(1));
    test_thread_join(other);
    check_cancelled(2);
}

/* With members of both kinds: the newest is cancelled first, whatever its kind. */
SCENARIO(group_cancel_visits_members_of_both_kinds)
{
    hora_future *promises[2];
    begin(1);
    CHECK_OK(hora_future_new_promise(NULL, &promises[0]));
    CHECK_OK(hora_group_add(group, promises[0]));
    CHECK_OK(submit(0));
    CHECK_OK(hora_future_new_promise(NULL, &promises[1]));
    CHECK_OK(hora_group_add(group, promises[1]));
    CHECK_OK(submit(1));
    cancel_group(NULL);
    CHECK(cancelled >= 2);
    for (int i = 0; i < 2; i++) {
        CHECK(hora_future_is_cancelled(promises[i]));
        (void)hora_future_unref(promises[i]);
    }
    check_cancelled(2);
}

/* The first failure cancels the others. The group may be freed as soon as it is empty. */
MEDIUM_SCENARIO(group_of_a_pool_cancels_on_failure)
{
    begin_with(1, HORA_GROUP_OPTIONS(.cancel_on_failure = true));
    works[0].code = CODE;
    CHECK_OK(submit(0));
    CHECK_OK(submit(1));
    CHECK_OK(hora_group_await(group));
    int failed = hora_group_failed(group);
    CHECK(failed == 1 || failed == 2);
    CHECK_INT(count_runs(1), 1);
    CHECK(failed == 2 || hora__counter_read(&works[1].ran) == 1);
    end(2);
}

/* ---- the pool ends ---- */

static void shut_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(pool));
}

/* A task that the pool refuses is the caller's, and leaves no trace in the group. */
LARGE_SCENARIO(group_submit_meets_shutdown)
{
    begin(1);
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    int accepted = 0;
    for (int i = 0; i < 2; i++) {
        int error = submit(i);
        CHECK(error == 0 || error == HORA_EREJECTED);
        accepted += error == 0;
    }
    test_thread_join(other);
    CHECK_OK(hora_group_await(group));
    CHECK_INT(count_runs(2), accepted);
    CHECK_INT(hora_group_failed(group), 0);
    end(accepted);
    CHECK_INT(works[0].drops + works[1].drops, accepted);
}

/* The pool stops, and hands back its tasks: they stay pending in the group until they are done. */
LARGE_SCENARIO(group_submit_meets_stop)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin(1);
    int accepted = 0;
    for (int i = 0; i < 2; i++)
        accepted += submit(i) == 0;
    CHECK_OK(hora_pool_shutdown_now(pool, &list));
    CHECK_INT(accepted, 2);
    hora_future *future = hora_future_list_take(&list);
    if (future != NULL) {
        CHECK(hora_group_pending(group) >= 1);
        CHECK_INT(hora_future_run(future), 1);
        (void)hora_future_unref(future);
    }
    int left = list.count;
    hora_future_list_cancel(&list);
    CHECK_OK(hora_group_await(group));
    CHECK_INT(hora_group_failed(group), left);
    CHECK_INT(count_runs(2), 2 - left);
    end(2);
}

/* The discarded task becomes a member that has failed; the rejection rule runs after it has left its seat. */
SCENARIO(group_submit_meets_a_full_pool)
{
    begin(1);
    CHECK_OK(hora_pool_set_reject(pool, HORA_REJECT_DISCARD, NULL, NULL, NULL));
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(submit(0));
    CHECK_INT(hora_group_pending(group), 0);
    CHECK_INT(hora_group_failed(group), 1);
    CHECK_OK(hora_group_await(group));
    end(1);
    CHECK_INT(count_runs(1), 0);
}

/* ---- every failure ---- */

SWEEP(group_of_a_pool_survives)
{
    for (int i = 0; i < MOST; i++) {
        works[i] = (struct work){.code = 0};
        hora__counter_set(&works[i].ran, 0);
    }
    if (hora_pool_new_fixed(1, NULL, &pool, NULL) < 0)
        return;
    executor = hora_pool_executor(pool);
    bool accepted[MOST] = {false};
    int error = hora_group_new(NULL, &group, NULL);
    if (error == 0) {
        for (int i = 0; i < 3; i++) {
            error = submit(i);
            CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
            accepted[i] = error == 0;
        }
        (void)hora_group_cancel(group, true); /* a pool without a thread would let its tasks wait */
        while ((error = hora_group_await(group)) == HORA_ENOMEM)
            continue;
        CHECK_OK(error);
        CHECK_INT(hora_group_pending(group), 0);
        CHECK_OK(hora_group_free(group));
    }
    while ((error = hora_pool_free(pool)) == HORA_ENOMEM)
        continue;
    CHECK_OK(error);
    for (int i = 0; i < 3; i++)
        CHECK_INT(works[i].drops, accepted[i] ? 1 : 0);
}
