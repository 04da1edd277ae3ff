/* SPDX-License-Identifier: Apache-2.0 */
/* oversight.c - the beginning and end of a pool's oversight, and of a worker's post */
#include "oversee/oversight.h"

#include <stddef.h>

#include "base/options.h"
#include "oversee/events.h"
#include "oversee/growth.h"
#include "oversee/limits.h"
#include "oversee/measures.h"
#include "oversee/overruns.h"
#include "oversee/requests.h"
#include "oversee/watch.h"
#include "sched/agenda.h"
#include "sync/clock.h"
#include "sys/alloc.h"

enum { NAMES_DEFAULT = 100, NAMES_MOST = 65536 };

static bool tells_of_tasks(const hora_listener *listener)
{
    return listener->started != NULL || listener->done != NULL || listener->failed != NULL ||
           listener->woke_late != NULL;
}

static bool carries(const hora_context_hooks *hooks)
{
    return hooks->install != NULL || hooks->capture != NULL;
}

static const char *wrong_values(const hora_oversight *own)
{
    if (own->names < 0 || own->names > NAMES_MOST)
        return "oversight: names is negative, or greater than 65536";
    if (own->ageing < 0 || own->stuck_after < 0 || own->late_after < 0 || own->growth.wait_bound < 0)
        return "oversight: ageing, stuck_after, late_after or wait_bound is negative";
    if (!own->steered && own->ageing != 0)
        return "oversight: ageing has no effect if it is not steered";
    if (!own->measured && own->names != 0)
        return "oversight: names has no effect if it is not measured";
    const hora_context_hooks *hooks = &own->hooks;
    if (hooks->install == NULL && (hooks->capture != NULL || hooks->restore != NULL || hooks->release != NULL))
        return "oversight: hooks need an install";
    if (own->dump == NULL && own->dump_arg != NULL)
        return "oversight: dump_context has no effect without dump";
    return NULL;
}

/* A scheduler gives its agenda as the queue, and says so in other ways what does not go with it. */
static const char *wrong_with_steered(const hora_pool_options *options)
{
    if (options->queue != NULL && !hora__queue_is_agenda(options->queue))
        return "oversight: a steered pool has a queue of its own: leave out queue";
    if (options->queue == NULL && options->queue_capacity < 0)
        return "oversight: a steered pool needs a queue that has room: queue_capacity is negative";
    if (options->keep_cancelled)
        return "oversight: keep_cancelled does not go with steered: what is cancelled would take the turn of others";
    if (options->spin > 0)
        return "oversight: spin has no effect in a steered pool";
    return NULL;
}

bool hora__overseer_grows(const hora_pool_options *options)
{
    hora_oversight own;
    return options->oversight != NULL && hora__options_copy(&own, sizeof own, sizeof own, options->oversight) == 0 &&
           own.growth.wait_bound > 0;
}

const char *hora__overseer_wrong(const hora_pool_options *options)
{
    hora_oversight own;
    if (hora__options_copy(&own, sizeof own, sizeof own, options->oversight) < 0)
        return "oversight: struct_size is wrong: start from HORA_OVERSIGHT or HORA_INIT(hora_oversight)";
    const char *wrong = wrong_values(&own);
    if (wrong == NULL && own.steered)
        wrong = wrong_with_steered(options);
    return wrong != NULL ? wrong : hora__growth_wrong(options, &own.growth);
}

static hora_ns ageing_of(const hora_oversight *own)
{
    return own->ageing == 0 ? HORA_SECONDS(1) : own->ageing;
}

bool hora__overseer_steers(const hora_oversight *options, hora_ns *ret_ageing)
{
    hora_oversight own;
    if (hora__options_copy(&own, sizeof own, sizeof own, options) < 0 || !own.steered)
        return false;
    *ret_ageing = ageing_of(&own);
    return true;
}

/* ---- what the pool tells ---- */

static void free_all(struct hora__overseer *overseer)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    hora__watch_free(oversight->watch);
    hora__measures_free(oversight->measures);
    hora__classes_free(oversight->classes);
    hora__free(oversight);
}

/* From here on nobody but the caller uses the pool. */
static void pool_ends(struct hora__overseer *overseer)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    hora__requests_free(oversight->requests);
    oversight->requests = NULL;
    hora__watch_close(oversight->watch);
}

static bool is_me(struct hora__overseer *overseer)
{
    const struct hora__oversight *oversight = hora__oversight_of(overseer);
    return hora__watch_is_me(oversight->watch) || hora__requests_is_me(oversight->requests);
}

static void pool_gone(struct hora__overseer *overseer)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    hora__growth_free(oversight->growth);
    hora__patrol_free(oversight->patrol);
    oversight->growth = NULL;
    oversight->patrol = NULL;
    oversight->pool = NULL;
    hora__overseer_unref(overseer);
}

static int hire(struct hora__overseer *overseer, struct hora__worker *worker, struct hora__witness **ret_witness)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    struct hora__post *post = hora__alloc(1, sizeof *post);
    if (post == NULL)
        return HORA_ENOMEM;
    post->witness.kind = &hora__post_kind;
    post->oversight = oversight;
    post->worker = worker;
    post->witness.owner = &oversight->pool->owner;
    post->witness.has_waited = true;
    hora__counter_set(&post->now.slots[0].began, HORA_NEVER);
    int error = hora__sheets_take(oversight->measures, &post->sheets);
    if (error == 0) {
        error = hora__overruns_hire(post);
        if (error < 0)
            hora__sheets_leave(oversight->measures, post->sheets);
    }
    if (error < 0) {
        hora__free(post);
        return error;
    }
    *ret_witness = &post->witness;
    return 0;
}

static void dismiss(struct hora__overseer *overseer, struct hora__witness *witness)
{
    hora__overruns_dismiss(hora__post_of(witness));
    hora__sheets_leave(hora__oversight_of(overseer)->measures, hora__post_of(witness)->sheets);
    hora__free(hora__post_of(witness));
}

static const struct hora__overseer_kind kind = {
    .pool_gone = pool_gone,
    .free = free_all,
    .hire = hire,
    .dismiss = dismiss,
    .rejected = hora__events_rejected,
    .thread_failed = hora__events_thread_failed,
    .queued = hora__growth_queued,
    .left = hora__growth_left,
    .skipped = hora__events_skipped,
    .clock_stepped = hora__events_clock_stepped,
    .submitted = hora__measures_submitted,
    .cancelled = hora__measures_cancelled,
    .expired = hora__limits_expired,
    .pool_ends = pool_ends,
    .is_me = is_me,
};

static void count_cancelled(struct hora__queue_owner *owner, const hora_future *future)
{
    hora__pool_count_cancelled(HORA__LIST_ENTRY(owner, struct hora_pool, owner), &future->task);
}

/* Ticks are cheaper to read than the clock, but what is told to listeners is in nanoseconds, and so are due times and what is compared with
 * the clock. */
static void init_times(struct hora__oversight *oversight)
{
    const hora_oversight *own = &oversight->options;
    hora_pool *pool = oversight->pool;
    const hora_clock *clock = pool->object.clock;
    struct hora__overseer *base = &oversight->base;
    base->measures = own->measured || tells_of_tasks(&own->listener);
    bool needs_times = pool->kind != NULL || tells_of_tasks(&own->listener) || own->stuck_after > 0;
    base->counts_ticks = !needs_times && clock->source == NULL && clock->timeline == HORA__MONOTONIC;
    if (base->counts_ticks)
        hora__ticker_init(&base->ticker);
    if (own->measured)
        pool->owner.counts_cancelled = count_cancelled;
}

static void init(struct hora__oversight *oversight, hora_pool *pool)
{
    hora_oversight *own = &oversight->options;
    oversight->base.kind = &kind;
    hora__atomic_init(&oversight->base.references, 1);
    oversight->base.needs_extras = carries(&own->hooks) || own->steered;
    oversight->base.needs_futures =
        oversight->base.needs_extras || tells_of_tasks(&own->listener) || own->growth.wait_bound > 0;
    oversight->base.needs_clocks = own->listener.clock_stepped != NULL;
    oversight->pool = pool;
    init_times(oversight);
    own->names = own->names == 0 ? NAMES_DEFAULT : own->names;
    own->ageing = ageing_of(own);
    own->late_after = own->late_after == 0 ? HORA_SECONDS(1) : own->late_after;
}

int hora__overseer_new(hora_pool *pool, const hora_oversight *options, struct hora__overseer **ret_overseer)
{
    struct hora__oversight *oversight = hora__alloc(1, sizeof *oversight);
    if (oversight == NULL)
        return HORA_ENOMEM;
    int error = hora__options_copy(&oversight->options, sizeof oversight->options, sizeof oversight->options, options);
    if (error == 0) {
        init(oversight, pool);
        error = hora__measures_new(oversight, &oversight->measures);
    }
    if (error == 0)
        error = hora__watch_new(oversight, &oversight->watch);
    if (error == 0)
        error = hora__patrol_new(oversight, &oversight->patrol);
    if (error == 0)
        error = hora__growth_new(oversight, &oversight->growth);
    if (error == 0)
        error = hora__requests_new(oversight, &oversight->requests);
    if (error < 0) {
        if (oversight->watch != NULL)
            hora__watch_close(oversight->watch);
        hora__growth_free(oversight->growth);
        hora__patrol_free(oversight->patrol);
        hora__watch_free(oversight->watch);
        hora__measures_free(oversight->measures);
        hora__free(oversight);
        return error;
    }
    *ret_overseer = &oversight->base;
    return 0;
}
