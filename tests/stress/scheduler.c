/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.c - schedulers: one-shot tasks, series of every kind, and all operations on their futures */
#include <stddef.h>
#include <stdio.h>

#include "stress.h"

/* ---- making ---- */

void scheduler_make(void)
{
    struct object *object = object_new(OBJECT_SCHEDULER);
    if (object == NULL)
        return;
    hora_scheduler_options options = *HORA_SCHEDULER_OPTIONS(.arg = object);
    struct observers observers;
    doing("hora_scheduler_new");
    options.core_threads = (int)random_below(4);
    options.core_time_out = one_in(3);
    options.keep_alive = one_in(2) ? HORA_US(50) : 0;
    options.reject = (hora_reject)random_below(4);
    options.before = one_in(6) ? hook_before : NULL;
    options.after = one_in(6) ? hook_after : NULL;
    options.terminated = one_in(6) ? hook_terminated : NULL;
    options.thread_factory = one_in(6) ? hook_factory : NULL;
    options.frozen = one_in(6);
    options.keep_cancelled = one_in(4);
    options.cancel_delayed = one_in(2);
    options.continue_periodic = one_in(4);
    object->refuses = options.before != NULL && one_in(2);
    (void)snprintf(object->text, sizeof object->text, "scheduler %d (core %d, %s%s%s%s%s%s%s)",
                   object->number, options.core_threads, reject_name(options.reject),
                   options.before ? " before" : "", options.after ? " after" : "",
                   options.thread_factory ? " factory" : "", options.keep_cancelled ? " keep-cancelled" : "",
                   options.cancel_delayed ? " cancel-delayed" : "",
                   options.continue_periodic ? " continue-periodic" : "");
    observers_random(object, &observers);
    OBSERVE(&options, &observers);
    if (observers.has_admission)
        options.keep_cancelled = false;
    atomic_store(&object->may_drop,
                 object->refuses || options.cancel_delayed || options.reject != HORA_REJECT_ABORT);
    if (hora_scheduler_new(&options, &object->pool, NULL) < 0) {
        object->pool = NULL;
        object_put(object);
        return;
    }
    if (observers.has_admission)
        classes_make(object);
    object_publish(object);
}

/* ---- scheduling ---- */

/* Mostly soon; sometimes so late that it is never due. */
static hora_ns delay_random(void)
{
    return one_in(32) ? HORA_SECONDS(100) : one_in(4) ? 0 : random_ns(HORA_US(500));
}

static hora_ns next_time(const hora_trigger_context *context, void *arg)
{
    (void)arg;
    return context->runs >= 5 ? HORA_NEVER : context->now + 1000 * (context->runs + 1);
}

static void spec_when(hora_schedule *spec, struct record *record, hora_trigger *trigger)
{
    switch (random_below(6)) {
    case 0:
        spec->fixed_rate = 1 + random_ns(HORA_US(300));
        spec->overlap = (hora_overlap)random_below(3);
        spec->overlap_max = spec->overlap == HORA_OVERLAP_ALLOW ? 3 : 0;
        record->plain_is_checked = spec->overlap != HORA_OVERLAP_ALLOW;
        break;
    case 1:
        spec->fixed_delay = 1 + random_ns(HORA_US(300));
        break;
    case 2:
        spec->next = next_time;
        spec->clock = HORA_CLOCK_MONOTONIC;
        break;
    case 3:
        spec->cron = "* * * * * *";
        spec->zone = "UTC";
        break;
    case 4:
        spec->trigger = trigger;
        break;
    default:
        record->most = 1; /* once */
        spec->initial_delay = delay_random();
        return;
    }
    record->most = 0;
    if (one_in(2))
        record->most = (int)(spec->count = 1 + random_below(6));
}

static int schedule_with(struct object *object, struct record *record, const hora_task *task,
                         hora_future **ret_future)
{
    hora_schedule spec = *HORA_SCHEDULE(.missed = (hora_missed)random_below(3));
    hora_trigger *trigger = NULL;
    hora_task_options terms;
    if (hora_trigger_new_periodic(1 + random_ns(HORA_US(200)), NULL, &trigger, NULL) < 0)
        trigger = NULL;
    spec_when(&spec, record, trigger);
    atomic_store_explicit(&record->excused, 1, memory_order_relaxed);
    if (one_in(4)) {
        terms_random(object, record, &terms);
        terms.finish_within = 0;
        spec.options = &terms;
    }
    spec.failure = (hora_failure)random_below(record->most == 1 && spec.count == 0 ? 2 : 3);
    spec.back_off = spec.failure == HORA_FAILURE_BACK_OFF ? HORA_US(50) : 0;
    spec.stop_after = record->most != 1 && one_in(4) ? 2 : 0;
    spec.slack = one_in(8) ? HORA_US(50) : 0;
    int result = hora_scheduler_schedule_with(object->pool, task, &spec, ret_future, NULL);
    (void)hora_trigger_unref(trigger);
    return result;
}

static void schedule_one(struct object *object)
{
    static const char *const calls[] = {"hora_scheduler_schedule", "hora_scheduler_schedule_at_fixed_rate",
                                        "hora_scheduler_schedule_with_fixed_delay",
                                        "hora_scheduler_schedule_with"};
    uint32_t way = one_in(2) ? 0 : random_below(4);
    struct record *record = record_new(KIND_TASK, calls[way], object);
    if (record == NULL)
        return;
    hora_task task = record_task(record);
    hora_future *future = NULL, **wanted = one_in(3) ? NULL : &future;
    hora_pool *scheduler = object->pool;
    int result;
    doing(calls[way]);
    if (way == 0) {
        result = hora_scheduler_schedule(scheduler, &task, delay_random(), wanted);
    } else if (way == 3) {
        result = schedule_with(object, record, &task, wanted);
    } else {
        record->most = 0;
        hora_ns period = 1 + random_ns(HORA_US(400));
        result =
            way == 1
                ? hora_scheduler_schedule_at_fixed_rate(scheduler, &task, delay_random(), period, wanted)
                : hora_scheduler_schedule_with_fixed_delay(scheduler, &task, delay_random(), period, wanted);
    }
    if (record_answer(record, result) >= 0 && future != NULL)
        future_keep(future, record);
    doing("");
}

/* ---- futures of schedulers ---- */

static void change_one(struct object *object)
{
    struct kept kept = future_borrow(), other = future_borrow();
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    int order;
    hora_ns delay;
    if (kept.future == NULL || kept.record == NULL) {
        (void)hora_future_unref(kept.future);
        (void)hora_future_unref(other.future);
        return;
    }
    doing("a scheduled future");
    atomic_store_explicit(&kept.record->excused, 1, memory_order_relaxed);
    switch (random_below(6)) {
    case 0:
        record_tell(kept.record, "retime answered", hora_future_reschedule(kept.future, delay_random(), 0));
        break;
    case 1:
        record_tell(kept.record, "retime answered",
                    hora_future_reschedule(kept.future, delay_random(), 1 + random_ns(HORA_US(400))));
        break;
    case 2:
        record_tell(kept.record, "pause answered", hora_future_pause(kept.future));
        break;
    case 3:
        record_tell(kept.record, "resume answered", hora_future_resume(kept.future));
        break;
    case 4:
        (void)record_cancelled(kept.record, hora_future_cancel(kept.future, one_in(2)));
        break;
    default:
        (void)!hora_future_get_schedule_info(kept.future, &info);
        (void)!hora_future_delay(kept.future, &delay);
        (void)!hora_future_compare_due(kept.future, other.future, &order);
        (void)hora_future_is_periodic(kept.future);
        if (object->classes[0] != NULL)
            (void)hora_future_set_class(kept.future, object->classes[random_below(2)]);
        (void)hora_future_set_priority(kept.future, HORA_PRIORITY_HIGH);
    }
    (void)hora_future_unref(other.future);
    (void)hora_future_unref(kept.future);
    doing("");
}

static void set_something(struct object *object)
{
    doing("the setters of a scheduler");
    switch (random_below(4)) {
    case 0:
        atomic_store(&object->may_drop, true);
        (void)hora_scheduler_set_cancel_delayed(object->pool, one_in(2));
        break;
    case 1:
        (void)hora_scheduler_set_continue_periodic(object->pool, one_in(2));
        break;
    case 2:
        (void)hora_scheduler_set_keep_cancelled(object->pool, one_in(2));
        break;
    default:
        (void)hora_scheduler_refresh_zones(object->pool);
    }
    doing("");
}

void scheduler_operate(struct object *object)
{
    uint32_t action = random_below(128);
    if (action < 70)
        schedule_one(object);
    else if (action < 100)
        change_one(object);
    else if (action < 104)
        set_something(object);
    else if (action < 106 && hora_pool_is_shutdown(object->pool))
        scheduler_make();
    else
        pool_operate(object);
}
