/* SPDX-License-Identifier: Apache-2.0 */
/* post.c - what a worker does, as it is told to those who want to know
 *
 * How it works      `begins` and `ended` stand around each body that the worker runs. Bodies of futures that are none of its pool's, which a task
 *                   may run by itself, do not count. A task that waits for another one of its pool may run that one meanwhile: then
 *                   what it had noted of itself is put aside until that has ended.
 * Reading           `now` is written by the worker alone: into the one of two slots that does not count, which then becomes the one that does. Whoever
 *                   reads does so again if another one counts afterwards: so it never waits for a worker that is held up.
 * Time              One reading for each task, at its end, as long as one without a future follows the other, and no code of the user runs in between;
 *                   else two. */
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "exec/extra.h"
#include "oversee/carry.h"
#include "oversee/events.h"
#include "oversee/limits.h"
#include "oversee/measures.h"
#include "oversee/overruns.h"
#include "oversee/oversight.h"
#include "sync/clock.h"

/* ---- what it runs now ---- */

static struct hora__now_slot *current_slot(struct hora__post *post)
{
    return &post->now.slots[hora__counter_read(&post->now.version) % 2];
}

/* By the worker. Who observes one of the numbers sees the version that was published before it was written. */
static void note(struct hora__post *post, const struct hora__now_reading *reading)
{
    int64_t version = hora__counter_read(&post->now.version) + 1;
    struct hora__now_slot *slot = &post->now.slots[version % 2];
    hora__counter_publish(&slot->name, (int64_t)(intptr_t)reading->name);
    hora__counter_publish(&slot->file, (int64_t)(intptr_t)reading->file);
    hora__counter_publish(&slot->line, reading->line);
    hora__counter_publish(&slot->began, reading->began);
    HORA__ATOMIC_POINT();
    hora__counter_publish(&slot->progress, reading->progress);
    hora__counter_publish(&slot->done, reading->done);
    hora__counter_publish(&slot->of, reading->of);
    hora__counter_publish(&slot->run, reading->run);
    HORA__ORDER_FAULT(POST_NOTED_RELAXED, memory_order_relaxed);
    hora__counter_publish(&post->now.version, version);
}

static const char *text_of(const hora__counter *address)
{
    HORA__ORDER_FAULT(POST_READ_RELAXED, memory_order_relaxed);
    return (const char *)(intptr_t)hora__counter_observe(address); /* NOLINT(performance-no-int-to-ptr): it was one */
}

static struct hora__now_reading read_once(const struct hora__now_slot *slot)
{
    return (struct hora__now_reading){
        .name = text_of(&slot->name),
        .file = text_of(&slot->file),
        .line = (int)hora__counter_observe(&slot->line),
        .began = hora__counter_observe(&slot->began),
        .progress = hora__counter_observe(&slot->progress),
        .done = hora__counter_observe(&slot->done),
        .of = hora__counter_observe(&slot->of),
        .run = hora__counter_observe(&slot->run),
    };
}

/* A stamp as a time of the pool's clock. */
static hora_ns time_of_stamp(const struct hora__oversight *oversight, int64_t stamp)
{
    const hora_clock *clock = oversight->pool->object.clock;
    if (!oversight->base.counts_ticks)
        return stamp;
    int64_t ago = hora__overseer_stamp(&oversight->base, clock) - stamp;
    struct hora__scale scale = hora__ticker_scale(&oversight->base.ticker);
    return hora_clock_now(clock) - hora__rate_to_ns(scale.values, ago > 0 ? ago : 0);
}

bool hora__post_read(const struct hora__post *post, struct hora__now_reading *ret_reading)
{
    int64_t version;
    do {
        HORA__ATOMIC_POINT();
        version = hora__counter_observe(&post->now.version);
        HORA__ATOMIC_POINT();
        *ret_reading = read_once(&post->now.slots[version % 2]);
    } while (hora__counter_read(&post->now.version) != version && !HORA__FAULT(POST_READ_TORN));
    if (ret_reading->began == HORA_NEVER)
        return false;
    ret_reading->began = time_of_stamp(post->oversight, ret_reading->began);
    return true;
}

/* ---- around a body ---- */

/* Whether a future is one that the worker runs for its pool. */
static bool is_own(const struct hora__post *post, const hora_future *future)
{
    return future == NULL || post->worker->current == future;
}

/* Whether the worker is in this task: it is not, if a hook before or after the task has ended the thread. */
static bool is_in(const struct hora__post *post, const hora_future *future)
{
    return post->depth > HORA__FRAMES || HORA__FAULT(EVENTS_END_TWICE) ||
           (post->depth > 0 && post->frames[post->depth - 1].future == future);
}

static int64_t stamp(const struct hora__oversight *oversight)
{
    return hora__overseer_stamp(&oversight->base, oversight->pool->object.clock);
}

/* When a task begins. One that follows another at once begins when that ended: it saves a reading of the clock for each. */
static int64_t beginning(struct hora__post *post, const hora_future *future)
{
    bool is_next = future == NULL && post->ended_just_now && !post->witness.has_waited;
    post->ended_just_now = false;
    post->witness.has_waited = false;
    return is_next ? post->ended_at : stamp(post->oversight);
}

/* The beginning by the pool's clock, if that may be needed: in a pool that counts ticks only what has terms has a limit. */
static hora_ns time_for_limits(const struct hora__post *post, hora_future *future, int64_t now)
{
    if (!post->oversight->base.counts_ticks)
        return now;
    bool has_terms = future != NULL && hora__future_extra(future) != NULL;
    return has_terms ? hora_clock_now(post->oversight->pool->object.clock) : 0;
}

/* What the run has taken; 0 if nobody wants to know. */
static int64_t take_time(struct hora__post *post, const struct hora__frame *frame, const hora_task *task)
{
    if (!post->oversight->base.measures)
        return 0;
    post->ended_at = stamp(post->oversight);
    post->ended_just_now = frame->future == NULL && task->drop == NULL && task->drop_result == NULL;
    return post->ended_at > frame->began ? post->ended_at - frame->began : 0;
}

/* Of a task without a future, which nobody listens to: there are many of these. It has no limits, carries nothing, and is never within another
 * one. */
static void begins_alone(struct hora__post *post, const hora_task *task)
{
    struct hora__frame *frame = &post->frames[0];
    post->depth = 1;
    frame->future = NULL;
    frame->sheet = NULL;
    frame->carried = NULL;
    frame->run = NULL;
    frame->is_installed = false;
    frame->began = beginning(post, NULL);
    const char *name = hora__measures_begins_alone(post, frame, task, frame->began);
    note(post, &(struct hora__now_reading){.name = name,
                                           .file = task->file,
                                           .line = task->line,
                                           .began = frame->began,
                                           .progress = HORA_NEVER,
                                           .run = hora__counter_read(&current_slot(post)->run) + 1});
}

static void ended_alone(struct hora__post *post, const hora_task *task, int code)
{
    post->depth = 0;
    int64_t ran = take_time(post, &post->frames[0], task);
    if (post->frames[0].sheet != NULL)
        hora__measures_ended(&post->frames[0], code, ran);
    hora__counter_publish(&current_slot(post)->began, HORA_NEVER);
}

static int begins(struct hora__witness *witness, hora_future *future, const hora_task *task)
{
    struct hora__post *post = hora__post_of(witness);
    if (future == NULL && post->oversight->base.counts_ticks && post->depth == 0) {
        begins_alone(post, task);
        return 0;
    }
    if (!is_own(post, future))
        return 0;
    if (hora__limits_refuse(post, future))
        return HORA_EEXPIRED;
    if (post->depth++ >= HORA__FRAMES)
        return 0;
    struct hora__frame *frame = &post->frames[post->depth - 1];
    frame->future = future;
    frame->sheet = NULL;
    frame->carried = frame->before = NULL;
    frame->is_installed = false;
    frame->run = NULL;
    if (post->depth > 1)
        post->frames[post->depth - 2].noted = read_once(current_slot(post));
    int64_t now = beginning(post, future);
    struct hora__start start = hora__measures_begins(post, frame, future, task, now);
    note(post, &(struct hora__now_reading){.name = start.name,
                                           .file = task->file,
                                           .line = task->line,
                                           .began = now,
                                           .progress = HORA_NEVER,
                                           .run = hora__counter_read(&current_slot(post)->run) + 1});
    frame->began = now;
    hora__events_started(post, future, task, &start);
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    if (extra != NULL)
        hora__limits_begun(extra->limits);
    hora__overruns_begins(post, frame, future, time_for_limits(post, future, now));
    hora__carry_install(post, frame, future);
    return 0;
}

/* It waits for nothing any more: the outer one goes on, or there is none. */
static void note_end(struct hora__post *post)
{
    if (post->depth == 0) {
        hora__counter_publish(&current_slot(post)->began,
                              HORA_NEVER); /* alone it needs no version: who reads it looks at nothing else */
        return;
    }
    struct hora__now_reading outer = post->frames[post->depth - 1].noted;
    outer.run = hora__counter_read(&current_slot(post)->run);
    note(post, &outer);
}

static void ended(struct hora__witness *witness, hora_future *future, const hora_task *task, int code)
{
    struct hora__post *post = hora__post_of(witness);
    if (future == NULL && post->oversight->base.counts_ticks && post->depth == 1 && post->frames[0].future == NULL) {
        ended_alone(post, task, code);
        return;
    }
    if (!is_own(post, future) || !is_in(post, future) || --post->depth >= HORA__FRAMES)
        return;
    struct hora__frame *frame = &post->frames[post->depth];
    hora__carry_restore(post, frame);
    hora__overruns_ended(post, frame, future);
    int64_t ran = take_time(post, frame, task);
    if (frame->sheet != NULL)
        hora__measures_ended(frame, code, ran);
    note_end(post);
    hora__events_ended(post, future, task, code, ran);
}

const struct hora__witness_kind hora__post_kind = {begins, ended};

struct hora__frame *hora__post_current(struct hora__post **ret_post)
{
    const hora_thread *thread = hora__thread_existing();
    if (thread == NULL || thread->witness == NULL)
        return NULL;
    struct hora__post *post = hora__post_of(thread->witness);
    *ret_post = post;
    return post->depth > 0 && post->depth <= HORA__FRAMES ? &post->frames[post->depth - 1] : NULL;
}

void hora_progress(int64_t done, int64_t of)
{
    struct hora__post *post;
    if (hora__post_current(&post) == NULL)
        return;
    struct hora__now_reading reading = read_once(current_slot(post)); /* nobody else writes */
    reading.progress = hora_clock_now(post->oversight->pool->object.clock);
    reading.done = done;
    reading.of = of;
    note(post, &reading);
}
