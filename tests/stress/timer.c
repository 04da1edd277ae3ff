/* SPDX-License-Identifier: Apache-2.0 */
/* timer.c - timers in memory of the program: started, moved, cancelled, started again by their function
 *
 * Each has a lock, as hora/timer.h demands, and keeps a reference to the scheduler that it was started on
 * last: so that is not freed while a call on the timer is going on. */
#include <pthread.h>
#include <stddef.h>

#include "stress.h"

enum { TIMERS = 64, PRIVATE = 4 };

static struct cell {
    pthread_mutex_t lock;
    hora_timer timer;
    struct record *record;    /* of the timer as it is now; NULL: never started in this round */
    struct object *scheduler; /* where it was started last */
} cells[TIMERS];

static int fire(void *arg);

/* All calls on the timer of a cell are under its lock. */
static int start(struct cell *cell, struct object *scheduler, hora_ns delay)
{
    struct record *record = cell->record;
    atomic_fetch_add_explicit(&record->starts, 1, memory_order_relaxed);
    int result = hora_timer_start(&cell->timer, scheduler->pool, delay);
    record_tell(record, "start answered", result);
    if (result < 0)
        atomic_fetch_sub_explicit(&record->starts, 1, memory_order_relaxed);
    return result;
}

/* Cancels the timer or, with `waits`, stops it: then its function is not running any more when this returns.
 * Takes the lock of the cell only if that is free. */
static int cancel(struct cell *cell, bool waits)
{
    if (cell->record == NULL)
        return HORA_CANCEL_TOO_LATE;
    atomic_store_explicit(&cell->record->excused, 1, memory_order_relaxed);
    int answer = waits ? hora_timer_stop(&cell->timer) : hora_timer_cancel(&cell->timer);
    record_tell(cell->record, waits ? "stop answered" : "cancel answered", answer);
    if (answer == HORA_CANCEL_REMOVED)
        atomic_fetch_sub_explicit(&cell->record->starts, 1, memory_order_relaxed);
    return answer;
}

static int fire(void *arg)
{
    struct record *record = arg;
    record_begin(record);
    struct cell *cell = &cells[(uint32_t)record->number % TIMERS];
    if (one_in(8) && pthread_mutex_trylock(&cell->lock) == 0) {
        if (cell->record == record && cell->scheduler != NULL) {
            atomic_store_explicit(&record->excused, 1, memory_order_relaxed);
            (void)start(cell, cell->scheduler, random_ns(HORA_US(100)));
        }
        (void)pthread_mutex_unlock(&cell->lock);
    }
    record_end(record, 0);
    return 0;
}

/* A new record for a timer that is not pending. */
static bool renew(struct cell **ret_taken, struct object *scheduler)
{
    struct record *record = record_new(KIND_TIMER, "hora_timer_start", scheduler);
    if (record == NULL)
        return false;
    struct cell *cell = &cells[(uint32_t)record->number % TIMERS];
    (void)pthread_mutex_lock(&cell->lock);
    (void)record_answer(record, 0);
    (void)cancel(cell, true);
    (void)hora_timer_init(&cell->timer, fire, record);
    cell->record = record;
    *ret_taken = cell;
    return true;
}

static void start_one(struct object *scheduler)
{
    struct cell *cell;
    if (!renew(&cell, scheduler))
        return;
    struct object *before = cell->scheduler;
    doing("hora_timer_start");
    if (start(cell, scheduler, one_in(16) ? HORA_SECONDS(100) : random_ns(HORA_US(300))) < 0)
        atomic_store_explicit(&cell->record->excused, 1, memory_order_relaxed);
    cell->scheduler = scheduler;
    atomic_fetch_add(&scheduler->refs, 1);
    (void)pthread_mutex_unlock(&cell->lock);
    if (before != NULL)
        object_put(before);
}

/* Move it, also to another scheduler, or cancel it. */
static void change_one(struct object *scheduler)
{
    struct cell *cell = &cells[random_below(TIMERS)];
    struct object *before = NULL;
    (void)pthread_mutex_lock(&cell->lock);
    doing("a timer");
    if (cell->record != NULL && one_in(2)) {
        atomic_store_explicit(&cell->record->excused, 1, memory_order_relaxed);
        if (start(cell, scheduler, random_ns(HORA_US(300))) < 0)
            (void)cancel(cell, false); /* it is still pending where it was */
        before = cell->scheduler;
        cell->scheduler = scheduler;
        atomic_fetch_add(&scheduler->refs, 1);
    } else {
        (void)cancel(cell, one_in(2));
        before = cell->scheduler;
        cell->scheduler = NULL;
    }
    (void)hora_timer_is_pending(&cell->timer);
    (void)pthread_mutex_unlock(&cell->lock);
    if (before != NULL)
        object_put(before);
}

static int fire_private(void *arg)
{
    record_begin(arg);
    record_end(arg, 0);
    return 0;
}

/* A scheduler of the thread's own, freed while timers are pending: none runs afterwards. */
static void with_own_scheduler(void)
{
    hora_timer timers[PRIVATE];
    struct record *records[PRIVATE] = {NULL};
    hora_scheduler *scheduler;
    doing("timers of a scheduler that is freed");
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL) < 0)
        return;
    for (int i = 0; i < PRIVATE; i++) {
        records[i] = record_new(KIND_TIMER, "hora_timer_start", NULL);
        if (records[i] == NULL)
            break;
        (void)record_answer(records[i], 0);
        atomic_store_explicit(&records[i]->starts, 1, memory_order_relaxed);
        (void)hora_timer_init(&timers[i], fire_private, records[i]);
        if (hora_timer_start(&timers[i], scheduler, random_ns(HORA_US(100))) < 0)
            atomic_store_explicit(&records[i]->starts, 0, memory_order_relaxed);
    }
    calm_begin();
    int result = hora_pool_free(scheduler);
    calm_end();
    if (result < 0)
        violation(NULL, "hora_pool_free of a scheduler returned %s", hora_errname(result));
    for (int i = 0; i < PRIVATE && records[i] != NULL; i++) {
        if (hora_timer_is_pending(&timers[i]))
            violation(records[i], "a timer is pending, and its scheduler was freed");
        atomic_store_explicit(&records[i]->closed, 1, memory_order_relaxed);
    }
}

void timer_operate(void)
{
    if (one_in(64)) {
        with_own_scheduler();
        doing("");
        return;
    }
    struct object *scheduler = object_get(OBJECT_SCHEDULER);
    if (scheduler == NULL || one_in(512)) {
        scheduler_make();
    } else if (one_in(2)) {
        start_one(scheduler);
    } else {
        change_one(scheduler);
    }
    if (scheduler != NULL)
        object_put(scheduler);
    doing("");
}

void timers_clear(void)
{
    for (int i = 0; i < TIMERS; i++) {
        struct cell *cell = &cells[i];
        (void)pthread_mutex_lock(&cell->lock);
        (void)cancel(cell, true);
        struct object *before = cell->scheduler;
        cell->scheduler = NULL;
        cell->record = NULL;
        (void)pthread_mutex_unlock(&cell->lock);
        if (before != NULL)
            object_put(before);
    }
}
