/* SPDX-License-Identifier: Apache-2.0 */
/* observers.c - random callbacks, observers, classes and task options */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "stress.h"

static void tell(hora_future *future, const char *what, int value)
{
    struct record *record = future == NULL ? NULL : record_of(future);
    if (record != NULL)
        record_tell(record, what, value);
}

int hook_before(hora_pool *pool, const hora_run_info *run, void *context)
{
    hora_future *future = run->future;
    struct object *object = context;
    (void)pool;
    tell(future, "before", 0);
    return object->refuses && one_in(64) ? 9 : 0;
}

void hook_after(hora_pool *pool, const hora_run_info *run, void *context)
{
    hora_future *future = run->future;
    int code = run->code;
    (void)pool;
    (void)context;
    tell(future, "after", code);
}

void hook_terminated(hora_pool *pool, void *context)
{
    (void)context;
    if (hora_pool_is_terminated(pool))
        violation(NULL, "the terminated hook was called after termination");
}

/* Refuse it, run it, fail it, or keep it for others. */
int hook_reject(hora_pool *pool, hora_future *future, void *context)
{
    (void)pool;
    (void)context;
    struct record *record = record_of(future);
    switch (random_below(4)) {
    case 0:
        tell(future, "handler runs it", 0);
        (void)hora_future_run(future);
        return 0;
    case 1:
        tell(future, "handler fails it", 0);
        (void)hora_future_fail(future, 11);
        return 0;
    case 2:
        if (record == NULL)
            return HORA_EREJECTED;
        tell(future, "handler keeps it", 0);
        future_keep(hora_future_ref(future), record);
        return 0;
    default:
        return HORA_EREJECTED;
    }
}

struct start {
    void (*run)(void *arg);
    void *arg;
};

static _Atomic int started;
static struct start starts[1024];

static void *enter(void *arg)
{
    struct start start = *(struct start *)arg;
    start.run(start.arg);
    return NULL;
}

int hook_factory(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    (void)name;
    (void)context;
    if (one_in(64))
        return HORA_EAGAIN;
    struct start *start = &starts[atomic_fetch_add(&started, 1) % 1024];
    *start = (struct start){run, arg};
    pthread_t thread;
    if (pthread_create(&thread, NULL, enter, start) != 0)
        return HORA_EAGAIN;
    (void)pthread_detach(thread);
    return 0;
}

/* ---- observers ---- */

static void *capture(void *context)
{
    struct record *record = record_new(KIND_CONTEXT, "capture", context);
    if (record != NULL)
        (void)record_answer(record, 0);
    return record;
}

static void *install(void *carried, void *context)
{
    struct record *record = carried;
    (void)context;
    if (record != NULL && atomic_load_explicit(&record->drops, memory_order_relaxed) > 0)
        violation(record, "installed after its release");
    return NULL;
}

static void release(void *carried, void *context)
{
    (void)context;
    if (carried != NULL) /* `capture` had no record left */
        record_drop(carried);
}

static void event(hora_pool *pool, const hora_event *told, void *context)
{
    char text[64];
    (void)pool;
    (void)context;
    tell(told->future, "event", told->code);
    if (told->task != NULL && told->task->name != NULL)
        (void)snprintf(text, sizeof text, "%s", told->task->name);
}

static hora_listener listener_random(void)
{
    hora_listener listener = HORA_INIT(hora_listener);
    listener.started = listener.done = listener.failed = listener.rejected = event;
    if (one_in(3))
        listener.expired = listener.skipped = event;
    return listener;
}

void observers_random(struct object *object, struct observers *o)
{
    *o = (struct observers){.metrics = HORA_INIT(hora_metrics),
                            .admission = HORA_INIT(hora_admission),
                            .watchdog = HORA_INIT(hora_watchdog),
                            .listener = listener_random(),
                            .hooks = HORA_INIT(hora_context_hooks)};
    o->hooks.capture = capture;
    o->hooks.install = install;
    o->hooks.release = release;
    o->hooks.arg = object;
    o->watchdog.stuck_after = one_in(4) ? HORA_MS(2) : 0;
    if (one_in(2))
        return;
    o->has_metrics = one_in(2);
    o->has_admission = one_in(2);
    o->has_watchdog = one_in(2);
    o->has_listener = one_in(3);
    o->has_hooks = one_in(3);
    o->grow_after = one_in(4) && !o->has_admission && object->kind == OBJECT_POOL ? HORA_US(100) : 0;
    size_t length = strlen(object->text);
    (void)snprintf(object->text + length, sizeof object->text - length, "%s%s%s%s%s%s",
                   o->has_metrics ? " metrics" : "", o->has_admission ? " admission" : "",
                   o->has_hooks ? " context" : "", o->has_listener ? " listener" : "",
                   o->has_watchdog ? " watchdog" : "", o->grow_after ? " grows" : "");
}

/* Those of a pool without admission are refused. */
void classes_make(struct object *object)
{
    hora_class_options options = {
        .struct_size = sizeof options, .name = "one", .limit = 1 + (int)random_below(2)};
    if (hora_class_new(object->pool, &options, &object->classes[0], NULL) < 0)
        object->classes[0] = NULL;
    options =
        (hora_class_options){.struct_size = sizeof options, .name = "two", .rate = 20, .per = HORA_US(200)};
    if (hora_class_new(object->pool, &options, &object->classes[1], NULL) < 0)
        object->classes[1] = NULL;
}

void terms_random(struct object *object, struct record *record, hora_task_options *ret_terms)
{
    *ret_terms = *HORA_TASK_OPTIONS(.context = NULL);
    if (object->classes[0] != NULL) {
        ret_terms->priority = (hora_priority)((int)random_below(4) - 1);
        ret_terms->task_class = object->classes[random_below(2)];
        ret_terms->key = random_below(4);
    }
    if (!one_in(3))
        return;
    atomic_store_explicit(&record->excused, 1, memory_order_relaxed);
    ret_terms->start_within = one_in(2) ? 1 + random_ns(HORA_US(500)) : 0;
    ret_terms->run_limit = one_in(2) ? 1 + random_ns(HORA_US(100)) : 0;
    ret_terms->finish_within = one_in(3) && record->most == 1 ? 1 + random_ns(HORA_US(500)) : 0;
}

const char *reject_name(hora_reject reject)
{
    static const char *const names[] = {"abort",          "caller-runs", "discard",
                                        "discard-oldest", "block",       "callback"};
    return names[reject];
}
