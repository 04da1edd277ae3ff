/* SPDX-License-Identifier: Apache-2.0 */
/* worker_record.c - a worker's record: what the worker runs, and the calls around each task
 *
 * How it works      The worker calls `begins` and `ended` around each body that it runs. Bodies of futures
 *                   that a task runs directly, outside of the pool's queue, do not count. A task that waits
 *                   for another task of its pool may run that one in the meantime; its own note is put aside
 *                   until the inner task has ended.
 * Reading           Only the worker writes `now`: it fills the slot that is not current and then makes it
 *                   current. A reader that finds another slot current afterwards reads again. So no reader
 *                   waits for a worker that the system does not run.
 * Time              A task costs one reading of the clock, at its end, as long as one detached task follows
 *                   the other and no other code of the user runs in between; otherwise two.
 * Short path        Detached tasks are many and short, so each instruction counts there. In a pool whose
 *                   stamps are ticks such a task has no limits, no listener and no context. Its begin and its
 *                   end are separate functions, and write only what a task before it may have changed. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hora/explain.h>

#include "base/fault.h"
#include "base/options.h"
#include "exec/extra.h"
#include "observe/measures.h"
#include "observe/observer.h"
#include "sync/clock.h"

/* ---- the current run ---- */

/* Returns the slot of a version. */
HORA__INLINE struct hora__run_slot *slot_of(struct hora__worker_record *record, int64_t version)
{
    return &record->now.slots[version & 1];
}

/* Returns the slot that readers use now. Only the worker calls it. */
HORA__INLINE struct hora__run_slot *current_slot(struct hora__worker_record *record)
{
    return slot_of(record, hora__counter_read(&record->now.version));
}

/* Makes *reading the worker's current note. Only the worker calls it. Each number is published: a reader that
 * observes a number of this note also sees the version that was published before it, so it notices that the
 * slot it has read was reused, and reads again. The version is published last, when the slot is complete. */
static void note(struct hora__worker_record *record, const struct hora__run_reading *reading)
{
    assert(reading->began != HORA_NEVER && reading->run > 0);
    int64_t version = hora__counter_read(&record->now.version) + 1;
    struct hora__run_slot *slot = slot_of(record, version);
    record->uncleared = 2;
    hora__counter_publish(&slot->name, (int64_t)(intptr_t)reading->name);
    hora__counter_publish(&slot->file, (int64_t)(intptr_t)reading->file);
    hora__counter_publish(&slot->line, reading->line);
    hora__counter_publish(&slot->began, reading->began);
    HORA__ATOMIC_POINT();
    hora__counter_publish(&slot->progress, reading->progress);
    hora__counter_publish(&slot->done, reading->done);
    hora__counter_publish(&slot->of, reading->of);
    hora__counter_publish(&slot->run, reading->run);
    HORA__ORDER_FAULT(WORKER_RECORD_NOTED_RELAXED, memory_order_relaxed);
    hora__counter_publish(&record->now.version, version);
}

/* The same for a task that begins alone. Two such notes in a row have cleared the progress in both slots; the
 * next ones need not do it again. */
HORA__INLINE void note_alone(struct hora__worker_record *record, const char *name, const hora_task *task,
                             int64_t began)
{
    assert(record->depth == 1 && began != HORA_NEVER);
    int64_t version = hora__counter_read(&record->now.version) + 1;
    int64_t run = ++record->last_run;
    struct hora__run_slot *slot = slot_of(record, version);
    if (__builtin_expect(record->uncleared > 0, false)) {
        record->uncleared--;
        hora__counter_publish(&slot->progress, HORA_NEVER);
        hora__counter_publish(&slot->done, 0);
        hora__counter_publish(&slot->of, 0);
    }
    hora__counter_publish(&slot->name, (int64_t)(intptr_t)name);
    hora__counter_publish(&slot->file, (int64_t)(intptr_t)task->file);
    hora__counter_publish(&slot->line, task->line);
    hora__counter_publish(&slot->began, began);
    HORA__ATOMIC_POINT();
    hora__counter_publish(&slot->run, run);
    HORA__ORDER_FAULT(WORKER_RECORD_NOTED_RELAXED, memory_order_relaxed);
    hora__counter_publish(&record->now.version, version);
}

/* Reads an address that `note` has stored as a number. */
static const char *text_of(const hora__counter *address)
{
    HORA__ORDER_FAULT(WORKER_RECORD_READ_RELAXED, memory_order_relaxed);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
    return (const char *)(intptr_t)hora__counter_observe(address);
}

/* Reads all numbers of a slot. The worker may change them at the same time; hora__worker_record_read checks
 * for that. The worker itself may also call it, for its own slot. */
static struct hora__run_reading read_once(const struct hora__run_slot *slot)
{
    return (struct hora__run_reading){
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

/* Converts a stamp to a time on the pool's clock. A stamp in ticks is converted by its age, because only
 * differences of ticks are meaningful. */
static hora_ns time_of_stamp(const struct hora__pool_observer *pool_observer, int64_t stamp)
{
    const hora_clock *clock = pool_observer->pool->object.clock;
    if (!pool_observer->base.counts_ticks)
        return stamp;
    int64_t ago = hora__observer_stamp(&pool_observer->base, clock) - stamp;
    struct hora__scale scale = hora__ticker_scale(&pool_observer->base.ticker);
    return hora_clock_now(clock) - hora__rate_to_ns(scale.values, ago > 0 ? ago : 0);
}

/* Reads again if the worker has published another version in between: the slot may then mix two runs. */
bool hora__worker_record_read(const struct hora__worker_record *record, struct hora__run_reading *ret_reading)
{
    assert(ret_reading != NULL);
    int64_t version;
    do {
        HORA__ATOMIC_POINT();
        version = hora__counter_observe(&record->now.version);
        HORA__ATOMIC_POINT();
        *ret_reading = read_once(&record->now.slots[version & 1]);
    } while (hora__counter_read(&record->now.version) != version && !HORA__FAULT(WORKER_RECORD_READ_TORN));
    if (ret_reading->began == HORA_NEVER)
        return false;
    ret_reading->began = time_of_stamp(record->pool_observer, ret_reading->began);
    return true;
}

/* ---- around a body ---- */

/* Returns whether the worker runs this future as a task of its pool, and not because the body of a task
 * called hora_future_run. */
static bool is_own(const struct hora__worker_record *record, const hora_future *future)
{
    return future == NULL || record->worker->current == future;
}

/* Returns whether the innermost task of the worker is this one. It is not if a hook before or after the task
 * has ended the thread: `ended` is then called without `begins`, or a second time. Beyond HORA__FRAMES the
 * worker keeps only the depth, so that cannot be checked. */
static bool is_in(const struct hora__worker_record *record, const hora_future *future)
{
    return record->depth > HORA__FRAMES || HORA__FAULT(EVENTS_END_TWICE) ||
           (record->depth > 0 && record->frames[record->depth - 1].future == future);
}

/* Makes the context of the task current, with the user's install hook. A future without an extra carries no
 * context; its run keeps the context of the thread. */
static void install_context(struct hora__worker_record *record, struct hora__frame *frame,
                            hora_future *future)
{
    assert(!frame->is_installed);
    const hora_context_hooks *hooks = &record->pool_observer->options.hooks;
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    if (future != NULL && extra == NULL)
        return;
    /* A detached task has no context, and must not see what another run has left. */
    frame->carried = extra != NULL ? extra->carried : NULL;
    frame->is_installed = hooks->install != NULL;
    if (frame->is_installed)
        frame->before = hooks->install(frame->carried, hooks->arg);
}

/* Undoes install_context. */
static void restore_context(struct hora__worker_record *record, struct hora__frame *frame)
{
    const hora_context_hooks *hooks = &record->pool_observer->options.hooks;
    if (frame->is_installed && hooks->restore != NULL)
        hooks->restore(frame->before, hooks->arg);
    frame->carried = frame->before = NULL;
    frame->is_installed = false;
}

static int64_t stamp(const struct hora__pool_observer *pool_observer)
{
    assert(pool_observer->pool != NULL);
    return hora__observer_stamp(&pool_observer->base, pool_observer->pool->object.clock);
}

/* Returns the stamp of the start of a task. A detached task that directly follows another one starts when
 * that one ended, which saves a reading of the clock. */
static int64_t start_stamp(struct hora__worker_record *record, const hora_future *future)
{
    int64_t ended_at = record->worker_observer.ended_at;
    record->worker_observer.ended_at = 0;
    return future == NULL && ended_at != 0 ? ended_at : stamp(record->pool_observer);
}

/* Returns the start of a run on the pool's clock, for its limits. In a pool whose stamps are ticks only tasks
 * with options have limits; for the others it returns 0, which is not used, and does not read the clock. */
static hora_ns time_for_limits(const struct hora__worker_record *record, hora_future *future, int64_t now)
{
    if (!record->pool_observer->base.counts_ticks)
        return now;
    bool has_terms = future != NULL && hora__future_extra(future) != NULL;
    return has_terms ? hora_clock_now(record->pool_observer->pool->object.clock) : 0;
}

/* Notes the end of a task for the start of the next one. If the task has a drop function, that runs next, and
 * its time must not count as part of the next run. */
HORA__INLINE void note_time(struct hora__worker_record *record, const hora_task *task, int64_t now)
{
    bool goes_on = task->drop == NULL && task->drop_result == NULL;
    record->worker_observer.ended_at = goes_on ? now : 0;
}

/* Returns how long the run has taken, as a stamp; 0 if the pool does not measure. */
static int64_t take_time(struct hora__worker_record *record, const struct hora__frame *frame,
                         const hora_task *task)
{
    assert(frame->began != HORA_NEVER);
    record->worker_observer.ended_at = 0;
    if (!record->pool_observer->base.measures)
        return 0;
    int64_t now = stamp(record->pool_observer);
    if (frame->future == NULL)
        note_time(record, task, now);
    return now > frame->began ? now - frame->began : 0;
}

/* Returns whether a task takes the short path, if `depth` is the number of tasks that the worker is in apart
 * from this one. */
HORA__INLINE bool is_alone(const struct hora__worker_record *record, const hora_future *future, int depth)
{
    return future == NULL && record->pool_observer->base.counts_ticks && record->depth == depth;
}

/* Begins a task on the short path, at the stamp `began`. The end of the task overwrites ended_at, so the
 * begin leaves it alone. `name` may be NULL. */
HORA__INLINE void begins_alone(struct hora__worker_record *record, const hora_task *task,
                               const struct hora__name *name, int64_t began)
{
    struct hora__frame *frame = &record->frames[0];
    assert(frame->future == NULL && frame->carried == NULL && frame->run == NULL && !frame->is_installed);
    record->depth = 1;
    frame->began = began;
    frame->stats = hora__measures_begins_alone(record, name, began);
    note_alone(record, name != NULL ? name->text : NULL, task, began);
}

/* The part of the short path that needs other functions: for tasks with a name, and without a counter of the
 * processor. Not inlined, so that other tasks need not save registers for the calls. */
__attribute__((noinline)) static int begins_named(struct hora__worker_record *record, const hora_task *task)
{
    assert(record->depth == 0);
    int64_t ended_at = record->worker_observer.ended_at;
    int64_t began = ended_at != 0 ? ended_at : hora__ticks(&record->pool_observer->base.ticker);
    const struct hora__name *name =
        task->name != NULL ? hora__names_get(&record->pool_observer->measures->names, task->name) : NULL;
    begins_alone(record, task, name, began);
    return 0;
}

/* Ends a task that began on the short path, at the stamp `now`. Its pool has no listener for tasks, so it
 * measures only if it has metrics. */
HORA__INLINE void ended_alone(struct hora__worker_record *record, const hora_task *task, int code,
                              int64_t now)
{
    const struct hora__frame *frame = &record->frames[0];
    struct hora__task_stats *stats = frame->stats;
    record->depth = 0;
    if (stats != NULL) {
        note_time(record, task, now);
        hora__measures_ended(stats, code, hora__ns_max(now - frame->began, 0));
    }
    hora__counter_publish(&current_slot(record)->began, HORA_NEVER);
}

/* The same without a counter of the processor. */
__attribute__((noinline)) static void ended_slowly(struct hora__worker_record *record, const hora_task *task,
                                                   int code)
{
    assert(record->depth == 1);
    ended_alone(record, task, code, hora__ticks(&record->pool_observer->base.ticker));
}

/* Begins a task that does not take the short path. Returns 0, or HORA_EEXPIRED if the task must not run any
 * more. The note is complete before the listener is called, because code of the user may read it. */
__attribute__((noinline)) static int begins_fully(struct hora__worker_record *record, hora_future *future,
                                                  const hora_task *task)
{
    assert(task != NULL);
    if (!is_own(record, future))
        return 0;
    /* Before the run counts as started: a run that is refused is reported as expired only. */
    if (hora__limits_refuse(record, future))
        return HORA_EEXPIRED;
    if (record->depth++ >= HORA__FRAMES)
        return 0; /* runs, but is not observed; `ended` undoes the count */
    struct hora__frame *frame = &record->frames[record->depth - 1];
    frame->future = future;
    frame->stats = NULL;
    assert(frame->carried == NULL && frame->run == NULL && !frame->is_installed);
    /* Put the note of the outer task aside, including the progress that it has reported. */
    if (record->depth > 1)
        record->frames[record->depth - 2].noted = read_once(current_slot(record));
    int64_t now = start_stamp(record, future);
    struct hora__run_start start = hora__measures_begins(record, frame, future, task, now);
    note(record, &(struct hora__run_reading){.name = start.name,
                                             .file = task->file,
                                             .line = task->line,
                                             .began = now,
                                             .progress = HORA_NEVER,
                                             .run = ++record->last_run});
    frame->began = now;
    hora__events_started(record, future, task, &start);
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    if (extra != NULL)
        hora__limits_begun(extra->limits);
    /* After the note, which the watchdog reads as soon as the check is set. The context is installed last,
     * so that only the body runs under it. */
    hora__overruns_begins(record, frame, future, time_for_limits(record, future, now));
    install_context(record, frame, future);
    return 0;
}

/* Called before a body. */
static int begins(struct hora__worker_observer *worker_observer, hora_future *future, const hora_task *task)
{
    struct hora__worker_record *record = hora__worker_record_of(worker_observer);
    if (!is_alone(record, future, 0))
        return begins_fully(record, future, task);
    int64_t ended_at = worker_observer->ended_at;
    if (task->name != NULL || !record->pool_observer->base.ticker.is_fast)
        return begins_named(record, task);
    begins_alone(record, task, NULL, ended_at != 0 ? ended_at : hora__ticks_of_processor());
    return 0;
}

/* Notes the end of a run: restores the note of the outer task, or, if there is none, notes that the worker
 * runs nothing. The number of the run is not restored, so the outer task continues under the number of the
 * inner one. */
static void note_end(struct hora__worker_record *record)
{
    assert(record->depth < HORA__FRAMES);
    if (record->depth == 0) {
        /* Needs no new version: a reader that finds this value uses nothing else but the number of runs. */
        hora__counter_publish(&current_slot(record)->began, HORA_NEVER);
        return;
    }
    struct hora__run_reading outer = record->frames[record->depth - 1].noted;
    outer.run = record->last_run;
    note(record, &outer);
}

/* Ends a task that did not take the short path. Undoes the steps of begins_fully in reverse order; the
 * listener is called last, when the record says that the run has ended. */
__attribute__((noinline)) static void ended_fully(struct hora__worker_record *record, hora_future *future,
                                                  const hora_task *task, int code)
{
    assert(task != NULL);
    if (!is_own(record, future) || !is_in(record, future) || --record->depth >= HORA__FRAMES)
        return;
    struct hora__frame *frame = &record->frames[record->depth];
    restore_context(record, frame);
    hora__overruns_ended(record, frame, future);
    int64_t ran = take_time(record, frame, task);
    if (frame->stats != NULL)
        hora__measures_ended(frame->stats, code, ran);
    frame->future = NULL;
    note_end(record);
    hora__events_ended(record, future, task, code, ran);
}

/* Called after a body, also if the body has ended the thread. */
static void ended(struct hora__worker_observer *worker_observer, hora_future *future, const hora_task *task,
                  int code)
{
    struct hora__worker_record *record = hora__worker_record_of(worker_observer);
    if (!is_alone(record, future, 1) || record->frames[0].future != NULL)
        ended_fully(record, future, task, code);
    else if (!record->pool_observer->base.ticker.is_fast)
        ended_slowly(record, task, code);
    else
        ended_alone(record, task, code, hora__ticks_of_processor());
}

const struct hora__worker_observer_kind hora__worker_record_kind = {begins, ended};

/* Returns the frame of the task that the calling thread runs, and stores the record of its worker; NULL: it
 * runs no observed task. */
static struct hora__frame *current_frame(struct hora__worker_record **ret_record)
{
    const hora_thread *thread = hora__thread_existing();
    if (thread == NULL || thread->worker_observer == NULL)
        return NULL;
    struct hora__worker_record *record = hora__worker_record_of(thread->worker_observer);
    *ret_record = record;
    return record->depth > 0 && record->depth <= HORA__FRAMES ? &record->frames[record->depth - 1] : NULL;
}

/* Replaces the note of the current run by a copy with the new progress. */
void hora_progress(int64_t done, int64_t of)
{
    struct hora__worker_record *record;
    if (current_frame(&record) == NULL)
        return;
    struct hora__run_reading reading = read_once(current_slot(record)); /* no other thread writes it */
    reading.progress = hora_clock_now(record->pool_observer->pool->object.clock);
    reading.done = done;
    reading.of = of;
    note(record, &reading);
}

void *hora_context_current(void)
{
    struct hora__worker_record *record;
    const struct hora__frame *frame = current_frame(&record);
    return frame != NULL ? frame->carried : NULL;
}

/* ---- the workers of a pool, for the user ---- */

/* Fills the public description of a worker. `now` is the time on the pool's clock. The run may have begun
 * after `now` was read; a negative difference counts as 0. */
static void describe(const struct hora__worker *worker, hora_ns now, hora_worker_info *ret_info)
{
    struct hora__run_reading reading;
    *ret_info = (hora_worker_info){.struct_size = sizeof *ret_info, .number = worker->number};
    ret_info->running = hora__worker_record_read(hora__worker_record_of(worker->worker_observer), &reading);
    ret_info->runs = reading.run;
    if (!ret_info->running)
        return;
    hora_ns sign = reading.progress != HORA_NEVER ? reading.progress : reading.began;
    ret_info->running_for = now > reading.began ? now - reading.began : 0;
    ret_info->quiet_for = now > sign ? now - sign : 0;
    ret_info->done = reading.done;
    ret_info->of = reading.of;
    (void)snprintf(ret_info->name, sizeof ret_info->name, "%s", reading.name != NULL ? reading.name : "");
    if (reading.file != NULL)
        (void)snprintf(ret_info->place, sizeof ret_info->place, "%s:%d", reading.file, reading.line);
}

/* Writes one element of the caller's array. Its elements may be larger or smaller than ours, because the
 * program may be older or newer than the library; the first one holds their size. */
static void write_one(const struct hora__worker *worker, hora_ns now, unsigned char *element, size_t size)
{
    hora_worker_info info;
    uint32_t given = (uint32_t)size;
    describe(worker, now, &info);
    memcpy(element, &given, sizeof given);
    hora__output_write(element, size, &info, sizeof info);
}

/* Counts all workers, but writes at most `max`. The pool's lock keeps the workers and their records on the
 * list. */
int hora_pool_workers(hora_pool *pool, hora_worker_info *workers, int max)
{
    int error = hora__pool_check(pool);
    size_t size = 0;
    if (error == 0 && max < 0)
        error = HORA_EINVAL;
    if (error == 0 && max > 0)
        error = HORA__SIZE_GIVEN(hora_worker_info, workers, &size);
    if (error == 0 && pool->observer == NULL)
        error = HORA_ENOTSUP;
    if (error < 0)
        return error;
    hora_ns now = hora_clock_now(pool->object.clock);
    int count = 0;
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next, count++)
        if (count < max)
            write_one(HORA__LIST_ENTRY(link, struct hora__worker, link), now,
                      (unsigned char *)workers + (size_t)count * size, size);
    hora__mutex_unlock(&pool->object.lock);
    return count;
}
