/* SPDX-License-Identifier: Apache-2.0 */
/* post.c - what a worker does, as it is told to those who want to know
 *
 * How it works      `begins` and `ended` stand around each body that the worker runs. Bodies of futures that are none of its pool's, which a task
 *                   may run by itself, do not count. A task that waits for another one of its pool may run that one meanwhile: then
 *                   what it had noted of itself is put aside until that has ended.
 * Reading           `now` is written by the worker alone, with `version` odd meanwhile; whoever reads it does so until version was even and
 *                   the same before and after. There is no lock and no fence: the order is that of the values themselves. */
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "oversee/carry.h"
#include "oversee/events.h"
#include "oversee/limits.h"
#include "oversee/measures.h"
#include "oversee/overruns.h"
#include "oversee/oversight.h"
#include "sync/clock.h"

/* ---- what it runs now ---- */

/* The version is odd before the first value is written, and even after the last. Each value is published: so whoever has seen one sees that
 * the version has changed. */
static void note(struct hora__now *now, const struct hora__now_reading *reading)
{
    int64_t version = hora__counter_read(&now->version);
    hora__counter_set(&now->version, version + 1);
    hora__counter_publish(&now->name, (int64_t)(intptr_t)reading->name);
    hora__counter_publish(&now->file, (int64_t)(intptr_t)reading->file);
    hora__counter_publish(&now->line, reading->line);
    hora__counter_publish(&now->began, reading->began);
    hora__counter_publish(&now->progress, reading->progress);
    hora__counter_publish(&now->done, reading->done);
    hora__counter_publish(&now->of, reading->of);
    hora__counter_publish(&now->run, reading->run);
    hora__counter_publish(&now->version, version + 2);
}

static struct hora__now_reading read_once(const struct hora__now *now)
{
    return (struct hora__now_reading){
        .name = (const char *)(intptr_t)hora__counter_observe(&now->name),
        .file = (const char *)(intptr_t)hora__counter_observe(&now->file),
        .line = (int)hora__counter_observe(&now->line),
        .began = hora__counter_observe(&now->began),
        .progress = hora__counter_observe(&now->progress),
        .done = hora__counter_observe(&now->done),
        .of = hora__counter_observe(&now->of),
        .run = hora__counter_observe(&now->run),
    };
}

/* A worker that is in the middle of writing is through with it long before; but if a debugger has stopped it there, it never is. Then some
 * values may be of the task before. */
enum { TRIES = 10000 };

bool hora__post_read(const struct hora__post *post, struct hora__now_reading *ret_reading)
{
    int64_t before;
    int tries = 0;
    do {
        before = hora__counter_observe(&post->now.version);
        *ret_reading = read_once(&post->now);
    } while ((before % 2 != 0 || hora__counter_read(&post->now.version) != before) && ++tries < TRIES);
    return ret_reading->began != HORA_NEVER;
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

static int begins(struct hora__witness *witness, hora_future *future, const hora_task *task)
{
    struct hora__post *post = hora__post_of(witness);
    if (!is_own(post, future))
        return 0;
    if (hora__limits_refuse(post, future))
        return HORA_EEXPIRED;
    if (post->depth++ >= HORA__FRAMES)
        return 0;
    struct hora__frame *frame = &post->frames[post->depth - 1];
    *frame = (struct hora__frame){.future = future};
    struct hora__now_reading reading = read_once(&post->now);
    if (post->depth > 1)
        post->frames[post->depth - 2].noted = reading;
    hora_ns now = hora_clock_now(post->oversight->pool->object.clock);
    struct hora__start start = hora__measures_begins(post, frame, future, task, now);
    note(&post->now, &(struct hora__now_reading){.name = start.name,
                                                 .file = task->file,
                                                 .line = task->line,
                                                 .began = now,
                                                 .progress = HORA_NEVER,
                                                 .run = reading.run + 1});
    hora__events_started(post, future, task, &start);
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    if (extra != NULL)
        hora__limits_begun(extra->limits);
    hora__overruns_begins(post, frame, future, now);
    hora__carry_install(post, frame, future);
    return 0;
}

static void ended(struct hora__witness *witness, hora_future *future, const hora_task *task, int code)
{
    struct hora__post *post = hora__post_of(witness);
    if (!is_own(post, future) || !is_in(post, future) || --post->depth >= HORA__FRAMES)
        return;
    struct hora__frame *frame = &post->frames[post->depth];
    hora__carry_restore(post, frame);
    hora__overruns_ended(post, frame, future);
    hora_ns began = hora__counter_read(&post->now.began);
    hora_ns now = hora_clock_now(post->oversight->pool->object.clock);
    hora__measures_ended(post, frame, future, code, now - began);
    struct hora__now_reading nothing = {.began = HORA_NEVER, .run = hora__counter_read(&post->now.run)};
    struct hora__now_reading outer = post->depth > 0 ? post->frames[post->depth - 1].noted : nothing;
    outer.run = nothing.run;
    note(&post->now, &outer);
    hora__events_ended(post, future, task, code, now - began);
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
    struct hora__now_reading reading = read_once(&post->now);
    reading.progress = hora_clock_now(post->oversight->pool->object.clock);
    reading.done = done;
    reading.of = of;
    note(&post->now, &reading);
}
