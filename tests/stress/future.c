/* SPDX-License-Identifier: Apache-2.0 */
/* future.c - promises, futures in memory of the program, results, groups, completion services */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "stress.h"

enum { MANY = 5 };

static void excuse(struct record *record)
{
    if (record != NULL)
        atomic_store_explicit(&record->excused, 1, memory_order_relaxed);
}

/* ---- single futures ---- */

static void promise_make(void)
{
    struct record *record = record_new(KIND_PROMISE, "hora_future_new_promise", NULL);
    hora_future *future;
    if (record != NULL && record_answer(record, hora_future_new_promise(record_drop_result, &future)) >= 0)
        future_keep(future, record);
}

static void promise_complete(struct kept kept)
{
    if (kept.record == NULL || kept.record->kind != KIND_PROMISE)
        return;
    if (one_in(4)) {
        record_tell(kept.record, "fail answered", hora_future_fail(kept.future, 13));
        return;
    }
    atomic_fetch_add_explicit(&kept.record->results, 1, memory_order_relaxed);
    int result = hora_future_complete(kept.future, kept.record);
    record_tell(kept.record, "complete answered", result);
    if (result != 1)
        atomic_fetch_sub_explicit(&kept.record->results, 1, memory_order_relaxed);
}

static void take_result(struct kept kept)
{
    void *result = NULL;
    if (hora_future_take_result(kept.future, &result) == 0 && result != NULL) {
        record_tell(result, "result taken", 1);
        record_drop_result(result);
    }
}

static void call_back(struct kept kept)
{
    if (kept.record == NULL)
        return;
    atomic_fetch_add_explicit(&kept.record->callbacks, 1, memory_order_relaxed);
    int result = hora_future_on_done(kept.future, record_done, kept.record, NULL);
    if (result < 0)
        atomic_fetch_sub_explicit(&kept.record->callbacks, 1, memory_order_relaxed);
}

static void look(hora_future *future)
{
    char text[HORA_EXPLAIN_TEXT];
    (void)hora_future_get_state(future);
    (void)hora_future_is_cancelled(future);
    (void)hora_future_describe(future, text, sizeof text);
    if (one_in(4))
        (void)hora_future_explain(future, text, sizeof text);
    if (one_in(64))
        (void)!hora_future_fd(future);
}

static void operate_on_one(void)
{
    struct kept kept = future_borrow();
    if (kept.future == NULL)
        return;
    switch (random_below(8)) {
    case 0:
        doing("hora_future_cancel");
        excuse(kept.record);
        (void)record_cancelled(kept.record, hora_future_cancel(kept.future, one_in(2)));
        break;
    case 1:
        doing("hora_future_get_for");
        (void)!hora_future_get_for(kept.future, random_ns(HORA_US(200)), NULL);
        break;
    case 2:
        doing("hora_future_complete");
        promise_complete(kept);
        break;
    case 3:
        doing("hora_future_take_result");
        take_result(kept);
        break;
    case 4:
        doing("hora_future_on_done");
        call_back(kept);
        break;
    case 5:
        doing("hora_future_fail");
        if (one_in(8) && kept.record != NULL && kept.record->kind == KIND_TASK) {
            excuse(kept.record);
            record_tell(kept.record, "fail answered", hora_future_fail(kept.future, 17));
        }
        break;
    default:
        doing("looking at a future");
        look(kept.future);
    }
    future_judge(kept);
    (void)hora_future_unref(kept.future);
}

/* In memory of the program, which is overwritten as soon as hora has given it back. */
static void in_own_memory(void)
{
    hora_future_storage storage;
    hora_future *future;
    struct object *pool = object_get(OBJECT_POOL);
    struct record *record = record_new(KIND_TASK, "hora_future_init", pool);
    if (record != NULL) {
        hora_task task = record_task(record);
        doing("hora_future_init");
        excuse(record);
        if (record_answer(record, hora_future_init(&storage, &task, &future)) >= 0) {
            int result =
                pool == NULL ? hora_future_run(future) : hora_pool_execute_future(pool->pool, future);
            record_tell(record, "executed:", result);
            if (pool != NULL && one_in(4))
                (void)!hora_pool_execute_future(pool->pool, future);
            if (one_in(2))
                (void)record_cancelled(record, hora_future_cancel(future, one_in(2)));
            doing("hora_future_reclaim");
            while ((result = hora_future_reclaim(future)) == HORA_ENOMEM)
                record_tell(record, "reclaim answered", result);
            if (result < 0)
                violation(record, "hora_future_reclaim returned %s", hora_errname(result));
            memset(&storage, 0xdb, sizeof storage);
            if (atomic_load_explicit(&record->drops, memory_order_relaxed) != 1)
                violation(record, "reclaimed, and not dropped");
        }
    }
    if (pool != NULL)
        object_put(pool);
}

static void again_and_again(void)
{
    struct record *record = record_new(KIND_TASK, "hora_future_new", NULL);
    hora_future *future;
    if (record == NULL)
        return;
    hora_task task = record_task(record);
    record->most = 0;
    doing("hora_future_run_and_reset");
    if (record_answer(record, hora_future_new(&task, &future)) < 0)
        return;
    for (int i = 0; i < 3; i++)
        (void)hora_future_run_and_reset(future);
    if (one_in(2))
        (void)hora_future_run(future);
    future_keep(future, record);
}

/* ---- many tasks at once ---- */

/* All are hora's whatever the call returns, but for HORA_EINVAL, which does not happen here. */
static int many_make(struct object *object, const char *call, hora_task *tasks, const hora_task **pointers)
{
    int count = 0;
    for (; count < MANY; count++) {
        struct record *record = record_new(KIND_TASK, call, object);
        if (record == NULL)
            break;
        excuse(record);
        tasks[count] = record_task(record);
        pointers[count] = &tasks[count];
        (void)record_answer(record, 0);
    }
    return count;
}

static void invoke_all(struct object *object)
{
    hora_task tasks[MANY];
    const hora_task *pointers[MANY];
    hora_future *futures[MANY];
    int count = many_make(object, "hora_pool_invoke_all_for", tasks, pointers);
    doing("hora_pool_invoke_all_for");
    if (hora_pool_invoke_all_for(object->pool, pointers, count, random_ns(HORA_MS(2)), futures) < 0)
        return;
    for (int i = 0; i < count; i++) {
        if (!hora_future_is_done(futures[i]))
            violation(tasks[i].arg, "a future of hora_pool_invoke_all_for is not done");
        future_keep(futures[i], tasks[i].arg);
    }
}

static void invoke_any(struct object *object)
{
    hora_task tasks[MANY];
    const hora_task *pointers[MANY];
    void *result = NULL;
    int count = many_make(object, "hora_pool_invoke_any_for", tasks, pointers);
    doing("hora_pool_invoke_any_for");
    if (count > 0 &&
        hora_pool_invoke_any_for(object->pool, pointers, count, random_ns(HORA_MS(2)), &result, NULL) == 0 &&
        result != NULL)
        record_drop_result(result);
}

static void complete_in_order(struct object *object)
{
    hora_executor executor = hora_pool_executor(object->pool);
    hora_completion_service *service;
    hora_future *future = NULL;
    doing("a completion service");
    if (hora_completion_service_new(&executor, NULL, &service) < 0)
        return;
    for (int i = 0; i < MANY; i++) {
        struct record *record = record_new(KIND_TASK, "hora_completion_service_submit", object);
        if (record == NULL)
            break;
        hora_task task = record_task(record);
        excuse(record);
        if (record_answer(record,
                          hora_completion_service_submit(service, &task, one_in(2) ? &future : NULL)) >= 0 &&
            future)
            future_keep(future, record);
        future = NULL;
    }
    while (!one_in(4) && hora_completion_service_poll_for(service, random_ns(HORA_US(200)), &future) == 0) {
        if (!hora_future_is_done(future))
            violation(record_of(future), "a completion service gave a future that is not done");
        (void)hora_future_unref(future);
    }
    int result = hora_completion_service_free(service);
    if (result < 0)
        violation(NULL, "hora_completion_service_free returned %s", hora_errname(result));
}

/* ---- groups ---- */

void group_make(void)
{
    struct object *object = object_new(OBJECT_GROUP);
    if (object == NULL)
        return;
    (void)snprintf(object->text, sizeof object->text, "group %d", object->number);
    if (hora_group_new(NULL, &object->group, NULL) < 0) {
        object->group = NULL;
        object_put(object);
        return;
    }
    object_publish(object);
}

static void group_submit(struct object *group, struct object *pool)
{
    hora_executor executor = hora_pool_executor(pool->pool);
    hora_future *future = NULL;
    struct record *record = record_new(KIND_TASK, "hora_group_submit", pool);
    if (record == NULL)
        return;
    hora_task task = record_task(record);
    excuse(record); /* by hora_group_cancel */
    doing("hora_group_submit");
    if (record_answer(record,
                      hora_group_submit(group->group, &executor, &task, one_in(2) ? &future : NULL)) >= 0 &&
        future)
        future_keep(future, record);
}

static void group_operate(struct object *pool)
{
    struct object *object = object_get(OBJECT_GROUP);
    if (object == NULL || one_in(64)) {
        group_make();
    } else if (!one_in(4)) {
        group_submit(object, pool);
    } else if (one_in(2)) {
        doing("hora_group_await_for");
        (void)!hora_group_await_for(object->group, random_ns(HORA_US(200)));
        (void)hora_group_pending(object->group);
        (void)hora_group_failed(object->group);
    } else if (one_in(4)) {
        doing("hora_group_cancel");
        (void)hora_group_cancel(object->group, one_in(2));
    } else {
        struct kept kept = future_borrow();
        doing("hora_group_add");
        excuse(kept.record);
        if (kept.future != NULL)
            (void)!hora_group_add(object->group, kept.future);
        (void)hora_future_unref(kept.future);
    }
    if (object != NULL)
        object_put(object);
}

void group_reap(struct object *object)
{
    if (object->group == NULL)
        return;
    doing("the end of a group");
    calm_begin();
    while (hora_group_free(object->group) == HORA_EBUSY) {
        (void)hora_group_cancel(object->group, true);
        (void)!hora_group_await_for(object->group, HORA_MS(1));
    }
    calm_end();
    doing("");
}

void future_operate(void)
{
    struct object *pool = object_get(one_in(4) ? OBJECT_SCHEDULER : OBJECT_POOL);
    uint32_t action = random_below(64);
    if (action < 4)
        promise_make();
    else if (action < 8)
        in_own_memory();
    else if (action < 10)
        again_and_again();
    else if (action < 40)
        operate_on_one();
    else if (pool == NULL)
        pool_make();
    else if (action < 43)
        invoke_all(pool);
    else if (action < 46)
        invoke_any(pool);
    else if (action < 48)
        complete_in_order(pool);
    else if (action < 58)
        group_operate(pool);
    else
        pool_submit_one(pool);
    if (pool != NULL)
        object_put(pool);
    doing("");
}
