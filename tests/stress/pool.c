/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - pools of all kinds: made, used, shut down, stopped and freed; the tasks they hand back */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "stress.h"

/* ---- making ---- */

static int compare_pointers(const void *a, const void *b, void *context)
{
    (void)context;
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static const char *queue_random(hora_pool_options *options, struct object *object)
{
    int capacity = 1 + (int)random_below(8), result = HORA_EINVAL;
    const char *text = NULL;
    switch (random_below(10)) {
    case 0:
        result = hora_queue_new_array(capacity, NULL, &object->queue, NULL);
        text = "own array queue";
        break;
    case 1:
        result = hora_queue_new_linked(one_in(2) ? capacity : HORA_UNBOUNDED, NULL, &object->queue, NULL);
        text = "own linked queue";
        break;
    case 2:
        result = hora_queue_new_synchronous(NULL, &object->queue, NULL);
        text = "own synchronous queue";
        break;
    case 3:
        result =
            hora_queue_new_priority(1, HORA_QUEUE_OPTIONS(.compare = compare_pointers), &object->queue, NULL);
        text = "own priority queue";
        break;
    case 4:
        options->queue_capacity = -1;
        return "synchronous";
    case 5:
    case 6:
    case 7:
        options->queue_capacity = capacity;
        return "bounded";
    default:
        return "unbounded";
    }
    options->queue = result < 0 ? NULL : object->queue;
    return result < 0 ? "unbounded" : text;
}

static void options_random(hora_pool_options *options, struct object *object)
{
    static const hora_ns keep_alives[] = {0, HORA_US(50), HORA_MS(1)};
    const char *queue = queue_random(options, object);
    bool has_room = options->queue == NULL && options->queue_capacity >= 0;
    options->core_threads = (int)random_below(4);
    options->max_threads =
        options->queue_capacity == 0 && has_room ? 0 : options->core_threads + (int)random_below(3);
    if (options->max_threads < options->core_threads ||
        (options->max_threads == 0 && options->core_threads == 0))
        options->max_threads = 0;
    options->keep_alive = keep_alives[random_below(3)];
    options->core_time_out = options->keep_alive > 0 && one_in(2);
    options->reject = (hora_reject)random_below(6);
    if (options->reject == HORA_REJECT_BLOCK && (!has_room || options->queue_capacity == 0))
        options->reject = HORA_REJECT_ABORT;
    if (options->reject == HORA_REJECT_BLOCK)
        options->reject_timeout = 1 + random_ns(HORA_MS(2));
    options->reject_handler = options->reject == HORA_REJECT_CALLBACK ? hook_reject : NULL;
    options->before = one_in(6) ? hook_before : NULL;
    options->after = one_in(3) ? hook_after : NULL;
    options->terminated = one_in(3) ? hook_terminated : NULL;
    options->thread_factory = one_in(6) ? hook_factory : NULL;
    options->frozen = one_in(6);
    options->keep_cancelled = one_in(6);
    options->spin = has_room && one_in(6) ? HORA_US(20) : 0;
    options->stealing = options->queue == NULL && options->queue_capacity == 0 && one_in(2);
    options->arg = object;
    object->refuses = options->before != NULL && one_in(2);
    (void)snprintf(object->text, sizeof object->text, "pool %d (core %d max %d, %s %d, %s%s%s%s%s%s%s)",
                   object->number, options->core_threads, options->max_threads, queue,
                   options->queue_capacity, reject_name(options->reject), options->before ? " before" : "",
                   options->after ? " after" : "", options->thread_factory ? " factory" : "",
                   options->keep_cancelled ? " keep-cancelled" : "", options->spin ? " spin" : "",
                   options->stealing ? " stealing" : "");
}

void pool_make(void)
{
    struct object *object = object_new(OBJECT_POOL);
    if (object == NULL)
        return;
    hora_pool_options options = *HORA_POOL_OPTIONS(.arg = object);
    struct observers observers;
    doing("hora_pool_new");
    options_random(&options, object);
    observers_random(object, &observers);
    OBSERVE(&options, &observers);
    if (observers.has_admission && options.queue == NULL)
        options.spin = 0, options.keep_cancelled = options.stealing = false;
    atomic_store(&object->may_drop, object->refuses || (options.reject != HORA_REJECT_ABORT &&
                                                        options.reject != HORA_REJECT_BLOCK));
    if (hora_pool_new(&options, &object->pool, NULL) < 0) { /* an option set that is refused, or memory */
        object->pool = NULL;
        object_put(object);
        return;
    }
    if (observers.has_admission)
        classes_make(object);
    object_publish(object);
}

/* ---- using ---- */

static void submit_with(struct object *object, struct record *record, const hora_task *task)
{
    hora_task_options terms;
    hora_future *future = NULL;
    terms_random(object, record, &terms);
    if (record_answer(record, hora_pool_submit_with(object->pool, task, &terms, &future, NULL)) >= 0)
        future_keep(future, record);
}

static void submit(struct object *object, struct record *record, const hora_task *task)
{
    hora_future *future = NULL;
    if (record_answer(record, hora_pool_submit(object->pool, task, &future)) < 0)
        return;
    if (one_in(8) && hora_future_get_for(future, random_ns(HORA_US(300)), NULL) == 0 &&
        atomic_load_explicit(&record->runs, memory_order_relaxed) == 0)
        violation(record, "the future has succeeded, but the task never ran");
    future_keep(future, record);
}

/* A future that stands alone, and is executed here, and sometimes on another pool as well. */
static void execute_future(struct object *object, struct record *record, const hora_task *task)
{
    hora_future *future = NULL;
    atomic_store_explicit(&record->excused, 1, memory_order_relaxed);
    if (record_answer(record, hora_future_new(task, &future)) < 0)
        return;
    int result = hora_pool_execute_future(object->pool, future);
    record_tell(record, "executed:", result);
    struct object *other = one_in(2) ? object_get(OBJECT_POOL) : NULL;
    if (other != NULL) {
        result = hora_pool_execute_future(other->pool, future);
        record_tell(record, "executed elsewhere:", result);
        object_put(other);
    }
    future_keep(future, record);
}

void pool_submit_one(struct object *object)
{
    static const char *const calls[] = {"hora_pool_execute", "hora_pool_submit", "hora_pool_submit_with",
                                        "hora_future_new"};
    uint32_t way = one_in(2) ? 0 : random_below(4);
    struct record *record = record_new(KIND_TASK, calls[way], object);
    if (record == NULL)
        return;
    hora_task task = record_task(record);
    doing(calls[way]);
    if (way == 0)
        (void)record_answer(record, hora_pool_execute(object->pool, &task));
    else if (way == 1)
        submit(object, record, &task);
    else if (way == 2)
        submit_with(object, record, &task);
    else
        execute_future(object, record, &task);
    doing("");
}

/* As fast as possible, so that there is a backlog when the pool is shut down. */
static void burst(struct object *object)
{
    doing("hora_pool_execute");
    for (uint32_t count = random_below(48); count > 0; count--) {
        struct record *record = record_new(KIND_TASK, "hora_pool_execute", object);
        if (record == NULL)
            break;
        hora_task task = record_task(record);
        if (record_answer(record, hora_pool_execute(object->pool, &task)) < 0)
            break;
    }
    doing("");
}

static int swallow(const char *text, size_t length, void *context)
{
    (void)text;
    (void)length;
    (void)context;
    return 0;
}

void pool_look(hora_pool *pool)
{
    char text[200];
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    hora_worker_info workers[8] = {HORA_INIT(hora_worker_info)};
    hora_counts counts = HORA_INIT(hora_counts);
    doing("looking at a pool");
    (void)hora_pool_get_stats(pool, &stats);
    (void)hora_pool_describe(pool, text, sizeof text);
    (void)hora_pool_workers(pool, workers, 8);
    if (one_in(4))
        (void)!hora_pool_dump(pool, swallow, NULL);
    if (one_in(4))
        (void)!hora_pool_get_counts(pool, "task-1", &counts);
    if (one_in(8))
        (void)!hora_metrics_write(&pool, 1, (hora_metrics_format)random_below(2), swallow, NULL);
    if (one_in(64))
        (void)hora_pool_queue(pool);
    doing("");
}

static void set_something(struct object *object)
{
    hora_pool *pool = object->pool;
    doing("the setters of a pool");
    switch (random_below(6)) {
    case 0:
        (void)hora_pool_set_core_threads(pool, (int)random_below(4), NULL);
        break;
    case 1:
        (void)hora_pool_set_max_threads(pool, 1 + (int)random_below(5), NULL);
        break;
    case 2:
        (void)hora_pool_set_keep_alive(pool, random_ns(HORA_MS(1)), NULL);
        break;
    case 3:
        (void)hora_pool_set_core_time_out(pool, one_in(2), NULL);
        break;
    case 4:
        atomic_store(&object->may_drop, true);
        (void)hora_pool_set_reject(pool, (hora_reject)random_below(4), NULL, NULL, NULL);
        break;
    default:
        (void)hora_pool_prestart(pool);
        (void)hora_pool_prestart_all(pool);
    }
    hora_class *task_class = object->classes[random_below(2)];
    hora_class_options options = {.struct_size = sizeof options, .limit = (int)random_below(3)};
    if (task_class != NULL && one_in(2))
        (void)hora_class_set(task_class, &options, NULL);
    doing("");
}

/* A future that hora has handed back, not done: run it here, execute it elsewhere, keep it, cancel it, or
 * release it. */
void pool_dispose(hora_future *future)
{
    struct record *record = record_of(future);
    struct object *other = NULL;
    if (record != NULL) {
        atomic_store_explicit(&record->excused, 1, memory_order_relaxed);
        record_tell(record, "handed back", 0);
    }
    switch (random_below(5)) {
    case 0:
        (void)hora_future_run(future);
        break;
    case 1:
    case 2:
        other = object_get(one_in(3) ? OBJECT_SCHEDULER : OBJECT_POOL);
        if (other != NULL) {
            (void)!hora_pool_execute_future(other->pool, future);
            object_put(other);
        }
        break;
    case 3:
        (void)record_cancelled(record, hora_future_cancel(future, false));
        break;
    default:
        break;
    }
    if (record != NULL)
        future_keep(future, record);
    else
        (void)hora_future_unref(future);
}

void pool_stop_and_dispose(struct object *object)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    atomic_store(&object->may_drop, true);
    doing("hora_pool_shutdown_now");
    (void)hora_pool_shutdown_now(object->pool, one_in(4) ? NULL : &list);
    doing("what was handed back");
    for (hora_future *future; (future = hora_future_list_take(&list)) != NULL;) {
        pool_dispose(future);
        if (one_in(8))
            hora_future_list_cancel(&list);
    }
    doing("");
}

static void remove_one(struct object *object)
{
    struct kept kept = future_borrow();
    if (kept.future == NULL)
        return;
    doing("hora_pool_remove");
    if (kept.record != NULL)
        atomic_store_explicit(&kept.record->excused, 1, memory_order_relaxed);
    if (hora_pool_remove(object->pool, kept.future) == 1)
        pool_dispose(kept.future);
    else
        (void)hora_future_unref(kept.future);
    doing("");
}

/* In some rounds pools live for a hundred calls, in others for some thousand. In the latter, a thread that is
 * preempted in the middle of a call misses the end of the task that it has given to the pool. */
static void end_somehow(struct object *object)
{
    static const uint32_t lives[] = {1, 8, 32};
    if (!one_in(lives[ledger_round() % 3]))
        return;
    switch (random_below(4)) {
    case 0:
        pool_stop_and_dispose(object);
        break;
    case 1:
        doing("hora_pool_close_for");
        atomic_store(&object->may_drop, true);
        (void)hora_pool_close_for(object->pool, random_ns(HORA_MS(1)));
        break;
    default:
        doing("hora_pool_shutdown");
        (void)hora_pool_shutdown(object->pool);
    }
    doing("");
}

void pool_operate(struct object *object)
{
    hora_pool *pool = object->pool;
    uint32_t action = random_below(256);
    if (action < 60) {
        burst(object);
    } else if (action < 200) {
        pool_submit_one(object);
    } else if (action < 204) {
        end_somehow(object);
    } else if (action < 212) {
        set_something(object);
    } else if (action < 222) {
        remove_one(object);
    } else if (action < 226) {
        (void)hora_pool_purge(pool);
    } else if (action < 234) {
        pool_look(pool);
    } else if (action < 238) {
        doing("hora_pool_await_idle_for");
        (void)!hora_pool_await_idle_for(pool, random_ns(HORA_US(200)));
    } else if (action < 242) {
        doing("hora_pool_await_termination_for");
        (void)!hora_pool_await_termination_for(pool, random_ns(HORA_US(200)));
    } else if (action < 244) {
        interrupt_one();
    } else if (hora_pool_is_shutdown(pool) && object->kind == OBJECT_POOL) {
        pool_make();
    }
    doing("");
}

/* ---- the end ---- */

/* Threads that wait for room have a reference. */
void pool_retire(struct object *object)
{
    if (one_in(4))
        pool_stop_and_dispose(object);
    else
        (void)hora_pool_shutdown(object->pool);
}

static void check_books(struct object *object)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    if (hora_pool_get_stats(object->pool, &stats) < 0 || !hora_pool_is_terminated(object->pool))
        return;
    int64_t ended = stats.done + stats.failed + stats.cancelled + stats.rejected + stats.abandoned +
                    stats.handed_back + stats.expired;
    if (stats.accepted != ended)
        violation(NULL, "%s has accepted %lld tasks and ended %lld", object->text, (long long)stats.accepted,
                  (long long)ended);
}

void pool_reap(struct object *object)
{
    if (object->pool != NULL) {
        doing("the end of a pool");
        if (one_in(8))
            pool_stop_and_dispose(object);
        if (hora_pool_shutdown(object->pool) < 0 ||
            hora_pool_await_termination_for(object->pool, random_ns(HORA_MS(20))) < 0)
            atomic_store(&object->may_drop, true);
        check_books(object);
        doing("hora_pool_free");
        int result = hora_pool_free(object->pool);
        calm_begin();
        if (result == HORA_ENOMEM)
            result = hora_pool_free(object->pool);
        calm_end();
        if (result < 0)
            violation(NULL, "hora_pool_free of %s returned %s", object->text, hora_errname(result));
    }
    if (object->queue != NULL && hora_queue_free(object->queue) < 0)
        violation(NULL, "the queue of %s could not be freed", object->text);
    doing("");
}
