/* SPDX-License-Identifier: Apache-2.0 */
/* observer.c - options, creation and end of a pool's observer, and of the records of its workers */
#include "observe/observer.h"

#include <assert.h>
#include <stddef.h>

#include <hora/admission.h>
#include <hora/metrics.h>

#include "base/options.h"
#include "base/reason.h"
#include "observe/measures.h"
#include "observe/watchdog.h"
#include "sched/timer_queue.h"
#include "sync/clock.h"
#include "sys/alloc.h"

enum { NAMES_DEFAULT = 100, NAMES_MOST = 65536 };

/* Returns whether the listener has a function that is called for every task. Such a pool needs a future and
 * times in nanoseconds for each. */
static bool tells_of_tasks(const hora_listener *listener)
{
    return listener->started != NULL || listener->done != NULL || listener->failed != NULL ||
           listener->woke_late != NULL;
}

/* Returns whether the pool has context hooks, so that each task may carry a context. */
static bool carries(const hora_context_hooks *hooks)
{
    return hooks->install != NULL || hooks->capture != NULL;
}

/* ---- options ---- */

/* The functions check_... and read_... return 0, or HORA_EINVAL with the reason. */

static int check_hooks(const hora_context_hooks *hooks, hora_error *reason)
{
    if (hooks->install == NULL &&
        (hooks->capture != NULL || hooks->restore != NULL || hooks->release != NULL))
        return hora__refuse(reason, HORA_EINVAL, "context_hooks",
                            "context_hooks: install is NULL, and the other hooks need it");
    return 0;
}

/* Checks that no time of the options is negative. */
static int check_spans(const struct hora__observer_options *own, hora_error *reason)
{
    int error = hora__refuse_negative(reason, own->ageing, "ageing");
    if (error == 0)
        error = hora__refuse_negative(reason, own->stuck_after, "stuck_after");
    if (error == 0)
        error = hora__refuse_negative(reason, own->late_after, "late_after");
    return error < 0 ? error : hora__refuse_negative(reason, own->grow_after, "grow_after");
}

/* Copies the metrics that the options point to; NULL: the pool has none. */
static int read_metrics(const hora_metrics *given, struct hora__observer_options *own, hora_error *reason)
{
    hora_metrics metrics;
    if (HORA__TAKE(hora_metrics, &metrics, given) < 0)
        return hora__refuse_size(reason, "hora_metrics");
    own->measured = given != NULL;
    own->names = metrics.max_names;
    if (own->names < 0 || own->names > NAMES_MOST)
        return hora__refuse(reason, HORA_EINVAL, "max_names", "max_names is %d, which is not from 0 to %d",
                            own->names, NAMES_MOST);
    return 0;
}

/* Copies the other structs that the options point to. HORA__TAKE accepts structs of older and newer programs,
 * whose size differs, and reads NULL as all zero. */
static int read_structs(const hora_pool_options *options, struct hora__observer_options *own,
                        hora_error *reason)
{
    hora_admission admission;
    hora_watchdog watchdog;
    if (HORA__TAKE(hora_admission, &admission, options->admission) < 0)
        return hora__refuse_size(reason, "hora_admission");
    if (HORA__TAKE(hora_watchdog, &watchdog, options->watchdog) < 0)
        return hora__refuse_size(reason, "hora_watchdog");
    if (HORA__TAKE(hora_listener, &own->listener, options->listener) < 0)
        return hora__refuse_size(reason, "hora_listener");
    if (HORA__TAKE(hora_context_hooks, &own->hooks, options->context_hooks) < 0)
        return hora__refuse_size(reason, "hora_context_hooks");
    own->has_admission = options->admission != NULL;
    own->ageing = admission.ageing;
    own->stuck_after = watchdog.stuck_after;
    own->late_after = watchdog.late_after;
    return 0;
}

/* Copies and checks the options that concern the observer. Defaults are not filled in yet. `reason` may be
 * NULL. */
static int read_options(const hora_pool_options *options, struct hora__observer_options *own,
                        hora_error *reason)
{
    assert(options != NULL);
    *own = (struct hora__observer_options){
        .grow_after = options->grow_after, .dump = options->dump, .dump_arg = options->dump_arg};
    int error = read_metrics(options->metrics, own, reason);
    if (error == 0)
        error = read_structs(options, own, reason);
    if (error == 0)
        error = check_spans(own, reason);
    if (error == 0)
        error = check_hooks(&own->hooks, reason);
    if (error == 0 && own->dump == NULL && own->dump_arg != NULL)
        error = hora__refuse(reason, HORA_EINVAL, "dump_arg", "dump_arg has no effect without dump");
    return error;
}

/* Checks the options of a pool with admission that admission cannot work with. A scheduler passes its timer
 * queue as the queue; it rejects options that it does not support elsewhere. */
static int check_admission(const hora_pool_options *options, hora_error *reason)
{
    if (options->queue != NULL && !hora__queue_is_timer_queue(options->queue))
        return hora__refuse(
            reason, HORA_EINVAL, "queue",
            "queue cannot be combined with admission: a pool with admission has its own queue");
    if (options->queue == NULL && options->queue_capacity < 0)
        return hora__refuse(
            reason, HORA_EINVAL, "queue_capacity",
            "a negative queue_capacity cannot be combined with admission: the queue must hold tasks");
    if (options->keep_cancelled)
        return hora__refuse(reason, HORA_EINVAL, "keep_cancelled",
                            "keep_cancelled cannot be combined with admission: cancelled tasks would be "
                            "admitted before others");
    if (options->spin > 0)
        return hora__refuse(reason, HORA_EINVAL, "spin", "spin has no effect in a pool with admission");
    return 0;
}

int hora__observer_check(const hora_pool_options *options, hora_error *reason)
{
    struct hora__observer_options own;
    int error = read_options(options, &own, reason);
    if (error == 0 && own.has_admission)
        error = check_admission(options, reason);
    return error < 0 ? error : hora__growth_check(options, reason);
}

/* Returns the ageing of the options, or its default. */
static hora_ns ageing_of(const struct hora__observer_options *own)
{
    return own->ageing == 0 ? HORA_SECONDS(1) : own->ageing;
}

bool hora__observer_admits(const hora_pool_options *options, hora_ns *ret_ageing)
{
    struct hora__observer_options own;
    if (options->admission == NULL || read_options(options, &own, NULL) < 0)
        return false;
    *ret_ageing = ageing_of(&own);
    return true;
}

/* Returns whether the options ask for anything that this folder does. */
static bool needs_observer(const hora_pool_options *options)
{
    return options->metrics != NULL || options->admission != NULL || options->watchdog != NULL ||
           options->listener != NULL || options->context_hooks != NULL || options->grow_after != 0 ||
           options->dump != NULL;
}

/* ---- called by the pool ---- */

/* Frees the observer, because its last reference is gone. pool_ends and pool_gone have been called, so its
 * threads have ended and growth and rounds are freed. */
static void free_all(struct hora__observer *observer)
{
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    hora__watchdog_free(pool_observer->watchdog);
    hora__measures_free(pool_observer->measures);
    hora__classes_free(pool_observer->classes);
    hora__free(pool_observer);
}

/* Ends the threads of the observer, because the pool is about to be freed. After this only the caller uses
 * the pool. The threads still use it until they have ended, so this comes before pool_gone. */
static void pool_ends(struct hora__observer *observer)
{
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    hora__dump_requests_free(pool_observer->requests);
    pool_observer->requests = NULL;
    hora__watchdog_close(pool_observer->watchdog);
}

/* Returns whether the calling thread is one of the observer's threads, which must not free the pool: it would
 * wait for itself. */
static bool is_own_thread(struct hora__observer *observer)
{
    const struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    return hora__watchdog_is_own_thread(pool_observer->watchdog) ||
           hora__dump_requests_is_own_thread(pool_observer->requests);
}

/* Frees everything that needs the pool, which is being freed, and releases the pool's reference. Extras of
 * futures that outlive the pool may keep the rest of the observer alive. */
static void pool_gone(struct hora__observer *observer)
{
    assert(hora__pool_observer_of(observer)->pool != NULL);
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    hora__growth_free(pool_observer->growth);
    hora__stuck_rounds_free(pool_observer->rounds);
    pool_observer->growth = NULL;
    pool_observer->rounds = NULL;
    pool_observer->pool = NULL;
    hora__observer_unref(observer);
}

/* Makes the record of a new worker, before its thread starts, so that nothing can fail in the thread. Returns
 * 0 or HORA_ENOMEM. */
static int make_record(struct hora__observer *observer, struct hora__worker *worker,
                       struct hora__worker_observer **ret_worker_observer)
{
    assert(worker != NULL && ret_worker_observer != NULL);
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    struct hora__worker_record *record = hora__alloc(1, sizeof *record);
    if (record == NULL)
        return HORA_ENOMEM;
    record->worker_observer.kind = &hora__worker_record_kind;
    record->pool_observer = pool_observer;
    record->worker = worker;
    record->worker_observer.owner = &pool_observer->pool->owner;
    record->uncleared = 2;
    hora__counter_set(&record->now.slots[0].began, HORA_NEVER);
    int error = hora__worker_stats_take(pool_observer->measures, &record->worker_stats);
    if (error == 0) {
        error = hora__overruns_prepare(record);
        if (error < 0)
            hora__worker_stats_leave(pool_observer->measures, record->worker_stats);
    }
    if (error < 0) {
        hora__free(record);
        return error;
    }
    *ret_worker_observer = &record->worker_observer;
    return 0;
}

/* Frees the record of a worker that has ended. Its statistics stay, for the next worker. */
static void free_record(struct hora__observer *observer, struct hora__worker_observer *worker_observer)
{
    hora__overruns_release(hora__worker_record_of(worker_observer));
    hora__worker_stats_leave(hora__pool_observer_of(observer)->measures,
                             hora__worker_record_of(worker_observer)->worker_stats);
    hora__free(hora__worker_record_of(worker_observer));
}

static const struct hora__observer_kind kind = {
    .pool_gone = pool_gone,
    .free = free_all,
    .add_worker = make_record,
    .remove_worker = free_record,
    .rejected = hora__events_rejected,
    .thread_failed = hora__events_thread_failed,
    .queued = hora__growth_queued,
    .left = hora__growth_left,
    .skipped = hora__events_skipped,
    .failed = hora__events_failed,
    .clock_stepped = hora__events_clock_stepped,
    .submitted = hora__measures_submitted,
    .cancelled = hora__measures_cancelled,
    .expired = hora__limits_expired,
    .pool_ends = pool_ends,
    .is_own_thread = is_own_thread,
};

/* Counts a cancelled future under its name. Set as counts_cancelled of the pool's queue owner. */
static void count_cancelled(struct hora__queue_owner *owner, const hora_future *future)
{
    hora__pool_count_cancelled(HORA__LIST_ENTRY(owner, struct hora_pool, owner), &future->task);
}

/* Decides whether the pool measures, and whether its stamps are ticks or nanoseconds. Ticks are cheaper to
 * read than the clock. But listeners are given nanoseconds, and the due times of a scheduler and the pool's
 * stuck_after are compared with the clock, so a pool with any of these uses nanoseconds. Ticks advance like
 * the monotonic clock of the machine only, so a pool with another clock uses nanoseconds as well. */
static void init_times(struct hora__pool_observer *pool_observer)
{
    assert(pool_observer->pool != NULL);
    const struct hora__observer_options *own = &pool_observer->options;
    hora_pool *pool = pool_observer->pool;
    const hora_clock *clock = pool->object.clock;
    struct hora__observer *base = &pool_observer->base;
    base->measures = own->measured || tells_of_tasks(&own->listener);
    bool needs_times = pool->kind != NULL || tells_of_tasks(&own->listener) || own->stuck_after > 0;
    base->counts_ticks = !needs_times && clock->source == NULL && clock->timeline == HORA__MONOTONIC;
    if (base->counts_ticks)
        hora__ticker_init(&base->ticker);
    if (own->measured)
        pool->owner.counts_cancelled = count_cancelled;
}

/* Initialises the observer from its options: what it needs from the pool, and the defaults. */
static void init(struct hora__pool_observer *pool_observer, hora_pool *pool)
{
    struct hora__observer_options *own = &pool_observer->options;
    pool_observer->base.kind = &kind;
    hora__atomic_init(&pool_observer->base.references, 1);
    pool_observer->base.needs_extras = carries(&own->hooks) || own->has_admission;
    pool_observer->base.needs_futures =
        pool_observer->base.needs_extras || tells_of_tasks(&own->listener) || own->grow_after > 0;
    pool_observer->base.needs_clocks = own->listener.clock_stepped != NULL;
    pool_observer->pool = pool;
    init_times(pool_observer);
    own->names = own->names == 0 ? NAMES_DEFAULT : own->names;
    own->ageing = ageing_of(own);
    own->late_after = own->late_after == 0 ? HORA_SECONDS(1) : own->late_after;
}

/* hora__observer_check has accepted the options, so no reason is passed on here. The parts are made in the
 * order in which they depend on each other; growth and rounds need the watchdog. The dump requests come
 * last, because their thread starts at once, so the error path need not end it. */
int hora__observer_new(hora_pool *pool, const hora_pool_options *options,
                       struct hora__observer **ret_observer)
{
    if (!needs_observer(options))
        return 0;
    struct hora__pool_observer *pool_observer = hora__alloc(1, sizeof *pool_observer);
    if (pool_observer == NULL)
        return HORA_ENOMEM;
    int error = read_options(options, &pool_observer->options, NULL);
    if (error == 0) {
        init(pool_observer, pool);
        error = hora__measures_new(pool_observer, &pool_observer->measures);
    }
    if (error == 0)
        error = hora__watchdog_new(pool_observer, &pool_observer->watchdog);
    if (error == 0)
        error = hora__stuck_rounds_new(pool_observer, &pool_observer->rounds);
    if (error == 0)
        error = hora__growth_new(pool_observer, &pool_observer->growth);
    if (error == 0)
        error = hora__dump_requests_new(pool_observer, &pool_observer->requests);
    if (error < 0) {
        if (pool_observer->watchdog != NULL)
            hora__watchdog_close(pool_observer->watchdog);
        hora__growth_free(pool_observer->growth);
        hora__stuck_rounds_free(pool_observer->rounds);
        hora__watchdog_free(pool_observer->watchdog);
        hora__measures_free(pool_observer->measures);
        hora__free(pool_observer);
        return error;
    }
    *ret_observer = &pool_observer->base;
    return 0;
}
