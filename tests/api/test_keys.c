/* SPDX-License-Identifier: Apache-2.0 */
/* test_keys.c - tasks of one key run one at a time, in order */
#include <string.h>

#include "admission_support.h"

TEST(key_of_a_text_tells_texts_apart, "")
{
    CHECK_INT(hora_key_of(NULL), 0);
    CHECK(hora_key_of("") != 0);
    CHECK(hora_key_of("a") != hora_key_of("b"));
    CHECK(hora_key_of("ab") != hora_key_of("ba"));
    CHECK(hora_key_of("user 1") == hora_key_of("user 1"));
    char text[] = "user 0000";
    uint64_t seen[1000];
    for (int i = 0; i < 1000; i++) {
        text[6] = (char)('0' + i / 100);
        text[7] = (char)('0' + i / 10 % 10);
        text[8] = (char)('0' + i % 10);
        seen[i] = hora_key_of(text);
        for (int k = 0; k < i; k++)
            CHECK(seen[k] != seen[i]);
    }
}

TEST(key_lets_one_task_run_at_a_time_in_order, "")
{
    struct trial t;

    trial_open(&t, 4, 0);
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 7));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 7, .priority = HORA_PRIORITY_LOW));
    (void)act_waiting(
        &t, HORA_TASK_OPTIONS(.key = 7, .priority = HORA_PRIORITY_URGENT)); /* not before the one before it */
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 8));
    CHECK_BEGUN(&t, 0, 3);
    act_let_end(&t.acts[3]);
    CHECK_BEGUN(&t, 0, 3);
    act_let_end(&t.acts[0]);
    CHECK_BEGUN(&t, 0, 3, 1);
    act_let_end(&t.acts[1]);
    CHECK_BEGUN(&t, 0, 3, 1, 2);
    trial_close(&t);
}

TEST(key_is_free_however_its_task_ends, "")
{
    struct trial t;

    trial_open(&t, 2, 0);
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 7));
    t.acts[0].code = 5; /* fails */
    for (int i = 1; i < 5; i++)
        (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 7));
    CHECK_BEGUN(&t, 0);
    CHECK_INT(hora_future_cancel(t.acts[1].future, true), HORA_CANCEL_REMOVED); /* from the middle */
    act_let_end(&t.acts[0]);
    CHECK_BEGUN(&t, 0, 2);
    CHECK_INT(hora_future_cancel(t.acts[2].future, true), HORA_CANCEL_INTERRUPTED);
    CHECK_BEGUN(&t, 0, 2, 3);
    CHECK_INT(hora_pool_remove(t.r.pool, t.acts[4].future), 1);
    act_let_end(&t.acts[3]);
    CHECK_BEGUN(&t, 0, 2, 3);
    (void)act_quick(&t, HORA_TASK_OPTIONS(.key = 7));
    CHECK_BEGUN(&t, 0, 2, 3, 5);
    trial_close(&t);
}

/* What does not begin in its time leaves its place to the next. */
TEST(task_that_expires_while_it_waits_for_its_turn_leaves, "")
{
    struct trial t;

    trial_open(&t, 2, 0);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one, .key = 7));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 7, .start_within = HORA_SECONDS(1)));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one, .start_within = HORA_SECONDS(1)));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one, .key = 7));
    time_passes(&t, HORA_SECONDS(2));
    CHECK_BEGUN(&t, 0);
    CHECK_ERROR(hora_future_get_for(t.acts[1].future, 0, NULL), HORA_EEXPIRED);
    CHECK_ERROR(hora_future_get_for(t.acts[2].future, 0, NULL), HORA_EEXPIRED);
    CHECK_INT(class_info(one).waiting, 1);
    CHECK_INT(rig_stats(&t.r).queued, 1);
    act_let_end(&t.acts[0]);
    CHECK_BEGUN(&t, 0, 3);
    trial_close(&t);
}

struct waits {
    struct trial *t;
    hora_future *future;
    int result;
};

static int wait_for(void *arg, void **ret_result)
{
    struct waits *waits = arg;

    waits->result = hora_future_get(waits->future, NULL);
    (void)ret_result;
    return 0;
}

/* The only worker waits for a task of its own pool, and runs it beyond the limit, because otherwise neither
 * would ever end. */
TEST(task_that_is_awaited_by_its_own_pool_does_not_count, "")
{
    struct trial t;

    trial_open(&t, 1, 0);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    struct waits waits = {.t = &t};
    struct act *gate = act_waiting(&t, NULL);
    hora_future *outer;
    CHECK_OK(hora_pool_submit_with(t.r.pool, HORA_TASK(wait_for, &waits),
                                   HORA_TASK_OPTIONS(.task_class = one), &outer, NULL));
    struct act *inner = act_quick(&t, HORA_TASK_OPTIONS(.task_class = one, .key = 3));
    waits.future = inner->future;
    act_let_end(gate);
    CHECK_OK(hora_future_get(outer, NULL));
    CHECK_INT(waits.result, 0);
    CHECK_INT(class_info(one).running, 0);
    CHECK_INT(class_info(one).started, 2);
    (void)hora_future_unref(outer);
    trial_close(&t);
}

/* Others of its key go before it, also then. */
TEST(task_that_is_awaited_keeps_the_order_of_its_key, "")
{
    struct trial t;

    trial_open(&t, 1, 0);
    struct waits waits = {.t = &t};
    struct act *gate = act_waiting(&t, NULL);
    hora_future *outer;
    CHECK_OK(hora_pool_submit(t.r.pool, HORA_TASK(wait_for, &waits), &outer));
    for (int i = 1; i < 4; i++)
        (void)act_quick(&t, HORA_TASK_OPTIONS(.key = 3));
    waits.future = t.acts[3].future;
    act_let_end(gate);
    CHECK_OK(hora_future_get(outer, NULL));
    CHECK_BEGUN(&t, 0, 1, 2, 3);
    (void)hora_future_unref(outer);
    trial_close(&t);
}

/* The key of the task is in use on another worker. When that one ends, the waiting worker is woken, because
 * no other worker may run the task. */
TEST(task_that_is_awaited_waits_for_its_key, "")
{
    struct trial t;

    trial_open(&t, 2, 0);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    struct waits waits = {.t = &t};
    struct act *busy = act_waiting(&t, HORA_TASK_OPTIONS(.key = 3));
    struct act *gate = act_waiting(&t, NULL);
    hora_future *outer;
    CHECK_OK(hora_pool_submit_with(t.r.pool, HORA_TASK(wait_for, &waits),
                                   HORA_TASK_OPTIONS(.task_class = one), &outer, NULL));
    struct act *inner = act_quick(&t, HORA_TASK_OPTIONS(.task_class = one, .key = 3));
    waits.future = inner->future;
    act_let_end(gate);
    CHECK_INT(inner->begun, 0);
    act_let_end(busy);
    CHECK_OK(hora_future_get(outer, NULL));
    CHECK_BEGUN(&t, 0, 1, 2);
    (void)hora_future_unref(outer);
    trial_close(&t);
}

/* A future that is executed twice has its key twice. */
TEST(future_that_is_executed_again_keeps_its_terms, "")
{
    struct trial t;
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    trial_open(&t, 1, 0);
    (void)act_waiting(&t, NULL);
    struct act *act = act_waiting(&t, HORA_TASK_OPTIONS(.key = 5));
    CHECK_OK(hora_pool_execute_future(t.r.pool, act->future));
    CHECK_INT(rig_stats(&t.r).queued, 2);
    CHECK_INT(hora_pool_remove(t.r.pool, act->future), 1);
    CHECK_INT(hora_pool_remove(t.r.pool, act->future), 1);
    CHECK_INT(hora_pool_remove(t.r.pool, act->future), 0);
    CHECK_OK(hora_pool_execute_future(t.r.pool, act->future));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 5));
    CHECK_OK(hora_pool_shutdown_now(t.r.pool, &list));
    CHECK_INT(list.count, 2);
    CHECK_POINTER(hora_future_list_take(&list), t.acts[1].future); /* in the order of their coming */
    (void)hora_future_unref(t.acts[1].future);
    /* no pool has it */
    CHECK_ERROR(hora_future_set_priority(t.acts[1].future, HORA_PRIORITY_HIGH), HORA_ENOTSUP);
    hora_future_list_cancel(&list);
    trial_close(&t);
}

TEST(admission_queue_shows_what_waits_in_order, "")
{
    struct trial t;
    void *items[5];

    trial_open(&t, 1, 0);
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 1));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 1));
    (void)act_waiting(&t, NULL);
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_HIGH));
    settle(&t.r.f);
    hora_queue *queue = hora_pool_queue(t.r.pool);
    CHECK_INT(hora_queue_snapshot(queue, items, 5), 3);
    CHECK_POINTER(items[0], t.acts[3].future);
    CHECK_POINTER(items[1], t.acts[2].future);
    CHECK_POINTER(items[2], t.acts[1].future); /* behind its key */
    give_back_futures(items, 3);
    CHECK_PEEK_FUTURE(t.r.pool, t.acts[3].future);
    CHECK_INT(hora_queue_contains(queue, t.acts[1].future), 1);
    CHECK_INT(hora_queue_contains(queue, t.acts[0].future), 0);
    CHECK_POLL_FAILS(queue, HORA_EEMPTY); /* nothing may begin */
    CHECK_INT(hora_future_cancel(t.acts[2].future, false), HORA_CANCEL_REMOVED);
    CHECK_INT(hora_queue_size(queue), 2);
    CHECK_INT(hora_pool_purge(t.r.pool), 0);
    trial_close(&t);
}
