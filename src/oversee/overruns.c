/* SPDX-License-Identifier: Apache-2.0 */
/* overruns.c - runs that take too long: to interrupt them, and to tell that they are stuck
 *
 * Terms             A run with a limit of its own has a reminder in the watch while it lasts; its worker was promised the room for that
 *                   when it was hired. The interrupt is sent under the lock of the watch, and only while the run is there, which is ended under the
 *                   same lock: so it meets this run or nobody.
 * The pool's rule   costs a run one look at a flag. One reminder goes the rounds: it reads what each worker has noted of itself, and comes again when the
 *                   one that has been quiet for longest may be stuck. When it finds nobody at work it says so (`rests`), comes once more after
 *                   stuck_after, and then not until a worker that begins something finds it resting: so an idle pool does not wake up. That last
 *                   round is there because a worker notes its run without a fence before it looks: what it noted is to be seen by then.
 * Locks             The rounds are made under the pool's lock, told of after it. */
#include "oversee/overruns.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "oversee/events.h"
#include "oversee/watch.h"
#include "sys/alloc.h"

/* ---- telling ---- */

static hora_ns last_sign(const struct hora__now_reading *reading)
{
    return hora__ns_max(reading->began, reading->progress);
}

static void note_task(struct hora__deed *deed, const struct hora__now_reading *reading)
{
    deed->task = (hora_task){.name = reading->name, .file = reading->file, .line = reading->line};
}

static void note_stuck(struct hora__deed *deed, const struct hora__now_reading *reading, int worker, hora_ns began)
{
    note_task(deed, reading);
    deed->event = (hora_event){.struct_size = sizeof deed->event,
                               .worker = worker,
                               .ran = hora__ns_sub(deed->now, began),
                               .quiet = hora__ns_sub(deed->now, last_sign(reading))};
}

static void tell_stuck(struct hora__deed *deed)
{
    struct hora__oversight *oversight = deed->oversight;
    if (deed->replaced_run > 0)
        (void)hora__worker_write_off(oversight->pool, deed->event.worker, deed->replaced_run);
    deed->event.task = &deed->task;
    deed->event.future = deed->future;
    hora__events_stuck(oversight, deed->future, &deed->event);
    (void)hora_future_unref(deed->future);
}

static void tell_overrun(struct hora__deed *deed)
{
    hora__measures_mishap(deed->oversight, deed->task.name, HORA__MISHAP_OVERRUN, 1);
}

/* ---- limits of a run's own ---- */

static hora_ns stuck_after_of(const struct hora__watched_run *run)
{
    hora_ns own = run->terms->stuck_after;
    return own > 0 ? own : run->post->oversight->options.stuck_after;
}

/* When it is to be looked at next, to be told as stuck; HORA_FOREVER: never. */
static hora_ns stuck_at(const struct hora__watched_run *run, const struct hora__now_reading *reading)
{
    hora_ns stuck_after = stuck_after_of(run);
    if (stuck_after == 0)
        return HORA_FOREVER;
    bool after_limit = run->terms->run_limit > 0 && run->terms->stuck_after > 0;
    hora_ns from = after_limit ? hora__ns_add(run->began, run->terms->run_limit) : last_sign(reading);
    return hora__ns_add(hora__ns_max(from, run->told), stuck_after);
}

static hora_ns look_at_run(struct hora__reminder *reminder, hora_ns now, struct hora__deed *deed)
{
    struct hora__watched_run *run = HORA__LIST_ENTRY(reminder, struct hora__watched_run, reminder);
    struct hora__now_reading reading;
    bool runs = hora__post_read(run->post, &reading);
    assert(runs);
    (void)runs;
    if (run->terms->run_limit > 0 && !run->is_interrupted) {
        run->is_interrupted = true;
        (void)hora_thread_interrupt(run->thread);
        note_task(deed, &reading);
        deed->act = tell_overrun;
        return stuck_at(run, &reading);
    }
    hora_ns at = stuck_at(run, &reading);
    if (at > now)
        return at; /* it has made progress */
    run->told = now;
    note_stuck(deed, &reading, run->post->worker->number, run->began);
    deed->future = hora_future_ref(run->future);
    deed->replaced_run = run->terms->replace_stuck ? run->number : 0;
    deed->act = tell_stuck;
    return stuck_at(run, &reading);
}

int hora__overruns_hire(struct hora__post *post)
{
    for (int i = 0; i < HORA__FRAMES; i++) {
        post->runs[i].post = post;
        hora__reminder_init(&post->runs[i].reminder, look_at_run, NULL);
    }
    return hora__watch_keep(post->oversight->watch, HORA__FRAMES);
}

void hora__overruns_dismiss(struct hora__post *post)
{
    hora__watch_give_back(post->oversight->watch, HORA__FRAMES);
}

/* The numbers of runs that have a limit. */
static int next_number(struct hora__post *post)
{
    post->numbers = post->numbers == INT32_MAX ? 1 : post->numbers + 1;
    return post->numbers;
}

/* In which run of the worker it can be written off: of those that it is in, the innermost that has terms. */
static void note_innermost(struct hora__post *post, const struct hora__watched_run *run)
{
    hora__counter_set(&post->has_own_limit, run != NULL ? 1 : 0);
    hora__worker_can_be_written_off(post->worker, run != NULL && run->terms->replace_stuck ? run->number : 0);
}

static bool has_own_limit(const hora_task_options *terms)
{
    return terms->run_limit > 0 || terms->stuck_after > 0 || terms->replace_stuck;
}

static void watch_run(struct hora__post *post, struct hora__frame *frame, hora_future *future, hora_ns now)
{
    struct hora__watched_run *run = &post->runs[post->depth - 1];
    run->terms = &hora__future_extra(future)->terms;
    run->future = future;
    run->thread = post->worker->thread;
    run->began = now;
    run->told = HORA_NEVER;
    run->is_interrupted = false;
    hora__future_note_interrupt(future, false); /* of a series: that was another run */
    run->number = next_number(post);
    struct hora__now_reading reading = {.began = now, .progress = HORA_NEVER};
    hora_ns first = run->terms->run_limit > 0 ? hora__ns_add(now, run->terms->run_limit) : stuck_at(run, &reading);
    if (first == HORA_FOREVER)
        return;
    frame->run = run;
    note_innermost(post, run);
    (void)hora__watch_set(post->oversight->watch, &run->reminder, first);
}

static void rouse(struct hora__oversight *oversight, hora_ns now);

void hora__overruns_begins(struct hora__post *post, struct hora__frame *frame, hora_future *future, hora_ns now)
{
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    rouse(post->oversight, now);
    if (extra != NULL && has_own_limit(&extra->terms))
        watch_run(post, frame, future, now);
}

void hora__overruns_ended(struct hora__post *post, struct hora__frame *frame, hora_future *future)
{
    struct hora__watched_run *run = frame->run;
    if (run == NULL)
        return;
    if (!HORA__FAULT(OVERRUN_MEETS_NEXT))
        (void)hora__watch_unset(post->oversight->watch, &run->reminder);
    if (run->is_interrupted)
        hora__future_note_interrupt(future, true);
    frame->run = NULL;
    struct hora__watched_run *outer = NULL;
    for (int i = post->depth - 1; i >= 0 && outer == NULL; i--)
        outer = post->frames[i].run;
    note_innermost(post, outer);
}

/* ---- the rounds ---- */

enum { TOLD_AT_ONCE = 16 };

struct hora__patrol {
    struct hora__oversight *oversight; /* immutable */
    struct hora__reminder reminder;
    hora__atomic rests; /* it found nobody at work, and will not come again unless somebody says that there is */
};

struct round {
    hora_ns next;
    int found;
    struct hora__deed deeds[TOLD_AT_ONCE];
};

static void look_at_post(struct hora__patrol *patrol, struct hora__post *post, hora_ns now, struct round *round)
{
    hora_ns stuck_after = patrol->oversight->options.stuck_after;
    struct hora__now_reading reading;
    if (!hora__post_read(post, &reading))
        return;
    hora_ns from = last_sign(&reading);
    if (post->told_run == reading.run)
        from = hora__ns_max(from, post->told);
    if (hora__counter_read(&post->has_own_limit) != 0)
        from = now;
    hora_ns at = hora__ns_add(from, stuck_after);
    if (at <= now && round->found < TOLD_AT_ONCE) {
        struct hora__deed *deed = &round->deeds[round->found++];
        *deed = (struct hora__deed){.oversight = patrol->oversight, .now = now};
        note_stuck(deed, &reading, post->worker->number, reading.began);
        post->told_run = reading.run;
        post->told = now;
        at = hora__ns_add(now, stuck_after);
    }
    if (at < round->next)
        round->next = at;
}

static void go_round(struct hora__patrol *patrol, hora_ns now, struct round *round)
{
    hora_pool *pool = patrol->oversight->pool;
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        const struct hora__worker *worker = HORA__LIST_ENTRY(link, struct hora__worker, link);
        look_at_post(patrol, hora__post_of(worker->witness), now, round);
    }
    hora__mutex_unlock(&pool->object.lock);
}

/* When to come next, after a round that has found this. */
static hora_ns next_round(struct hora__patrol *patrol, hora_ns now, const struct round *round)
{
    if (round->next != HORA_FOREVER) {
        hora__atomic_store(&patrol->rests, 0);
        return round->next;
    }
    bool rested = hora__atomic_load(&patrol->rests) != 0;
    hora__atomic_store(&patrol->rests, 1);
    return rested ? HORA_FOREVER : hora__ns_add(now, patrol->oversight->options.stuck_after);
}

static void act_on_round(struct hora__deed *deed)
{
    struct hora__patrol *patrol = HORA__LIST_ENTRY(deed->reminder, struct hora__patrol, reminder);
    struct round round = {.next = HORA_FOREVER};
    go_round(patrol, deed->now, &round);
    hora_ns next = next_round(patrol, deed->now, &round);
    if (next != HORA_FOREVER)
        (void)hora__watch_set(deed->oversight->watch, &patrol->reminder, next);
    for (int i = 0; i < round.found; i++)
        tell_stuck(&round.deeds[i]);
}

static hora_ns look_around(struct hora__reminder *reminder, hora_ns now, struct hora__deed *deed)
{
    (void)now;
    deed->act = act_on_round;
    deed->reminder = reminder;
    return HORA_FOREVER;
}

/* By a worker that has begun something, and noted it. */
static void rouse(struct hora__oversight *oversight, hora_ns now)
{
    struct hora__patrol *patrol = oversight->patrol;
    if (patrol == NULL || hora__atomic_load(&patrol->rests) == 0 || HORA__FAULT(PATROL_RESTS_FOR_EVER))
        return;
    if (hora__atomic_cas(&patrol->rests, 1, 0))
        (void)hora__watch_set(oversight->watch, &patrol->reminder, hora__ns_add(now, oversight->options.stuck_after));
}

int hora__patrol_new(struct hora__oversight *oversight, struct hora__patrol **ret_patrol)
{
    *ret_patrol = NULL;
    if (oversight->options.stuck_after == 0)
        return 0;
    struct hora__patrol *patrol = hora__alloc(1, sizeof *patrol);
    if (patrol == NULL)
        return HORA_ENOMEM;
    patrol->oversight = oversight;
    hora__reminder_init(&patrol->reminder, look_around, NULL);
    hora__atomic_init(&patrol->rests, 1);
    int error = hora__watch_keep(oversight->watch, 1);
    if (error < 0) {
        hora__free(patrol);
        return error;
    }
    error = hora__watch_begin(oversight->watch);
    if (error < 0) {
        hora__patrol_free(patrol);
        return error;
    }
    *ret_patrol = patrol;
    return 0;
}

void hora__patrol_free(struct hora__patrol *patrol)
{
    if (patrol != NULL)
        hora__watch_give_back(patrol->oversight->watch, 1);
    hora__free(patrol);
}
