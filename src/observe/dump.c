/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c - the current state of a pool as JSON; docs/guide/seeing.md lists the fields
 *
 * How it works      Everything is copied first, under one lock at a time, and then written without any
 *                   lock. So the function that writes may be slow, and may call hora.
 * Locks             While copying, one at a time: the pool's, for its workers; that of its queue, for the
 *                   waiting tasks; those of the waiting futures, for their names, which may be freed
 *                   together with their tasks.
 * Debuggers         hora_pool_dump_fd can be called in a process that was stopped at any point. So it
 *                   allocates nothing, and does not wait for a lock that will never be released: it checks
 *                   first, and if a lock that it needs is held, it writes that instead of a dump. */
#include <assert.h>
#include <stddef.h>

#include <hora/explain.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/text.h"
#include "base/writer.h"
#include "observe/measures.h"
#include "observe/observer.h"
#include "sched/detached.h"
#include "sched/scheduler.h"
#include "sched/timer_queue_view.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "sys/file.h"

enum {
    MOST_TASKS = 20,   /* of the queue, and of the next firings */
    MOST_CLASSES = 64, /* a pool has no more */
    NAME_SIZE = 128,   /* bytes of a name, including the final NUL */
};

/* How many workers need no allocation. Few in the simulator, so that its scenarios exceed the number. */
#ifdef HORA_SIM
enum { MOST_WORKERS = 1 };
#else
enum { MOST_WORKERS = 64 };
#endif

/* A copy of a waiting task. A name may be freed together with its task, so it is copied while that cannot
 * happen. */
struct dump_task {
    bool has_name;
    char name[NAME_SIZE]; /* cut to whole characters that fit */
    const char *file;     /* part of the program; NULL: unknown */
    int line;
    /* Its future stores when it was submitted. That is read after the queue's lock has been released,
     * because it needs the future's lock. */
    bool knows_when;
    hora_ns waited;         /* how long it has waited; HORA_NEVER: unknown */
    hora_ns in;             /* of a scheduler: time until it is due; <= 0: it is due */
    bool is_series;         /* it runs repeatedly */
    bool has_admission;     /* the fields below are set */
    const char *class_name; /* lives as long as the pool; NULL: no class */
    uint64_t key;           /* 0: none */
    int priority;           /* a hora_priority */
};

/* A copy of a class; see hora_class_info. */
struct dump_class {
    const char *name; /* lives as long as the pool */
    int limit;
    int reserve;
    int rate;
    hora_ns per;
    int running;
    int waiting;
    int64_t started;
};

/* A copy of the state of a worker. */
struct dump_worker {
    int number;
    bool is_busy;                 /* it runs a task */
    bool is_off;                  /* written off and replaced, because it is stuck */
    bool is_known;                /* `now` is set: the pool has an observer, and the worker runs a task */
    struct hora__run_reading now; /* its current run */
    int64_t completed;            /* number of runs that have ended */
};

/* Everything that is written, copied. It lies on the stack of the caller. */
struct dump {
    hora_pool *pool;
    hora_pool_stats stats;
    hora_ns now;                                  /* on the pool's clock */
    hora_ns wall;                                 /* on the wall clock of the same source */
    int workers;                                  /* number of elements of `worker` in use */
    int workers_left_out;                         /* number of workers for which there was no room */
    int worker_room;                              /* number of elements of `worker` */
    struct dump_worker *worker;                   /* own_workers, or allocated */
    struct dump_worker own_workers[MOST_WORKERS]; /* used unless there are more */
    int queued;                        /* number of tasks in the queue; of a scheduler, due tasks */
    int heads;                         /* number of elements of `head` in use */
    struct dump_task head[MOST_TASKS]; /* the first of the queued tasks */
    /* The futures of `head`, as references while collecting; NULL: detached. */
    hora_future *head_futures[MOST_TASKS];
    bool has_admission;                    /* keys and classes are set */
    int keys;                              /* number of keys in use */
    int classes;                           /* number of elements of `class` in use */
    struct dump_class class[MOST_CLASSES]; /* the newest first */
    bool is_scheduler;                     /* planned and firings are set */
    int planned;                           /* number of tasks that are not due yet */
    int firings;                           /* number of elements of `firing` in use */
    struct dump_task firing[MOST_TASKS];   /* the first of the planned tasks */
};

/* ---- copying: tasks ---- */

/* Copies a name, which may be NULL, as far as it fits. */
static void copy_name(struct dump_task *to, const char *name)
{
    assert(!to->has_name); /* a name is copied once */
    to->has_name = name != NULL;
    hora__utf8_copy(to->name, sizeof to->name, name != NULL ? name : "");
}

/* Starts the copy of a task with its source location; the name follows later. The location is part of the
 * program, so it needs no lock. */
static void copy_location(struct dump_task *to, const hora_task *task)
{
    *to = (struct dump_task){.file = task->file, .line = task->line, .waited = HORA_NEVER};
}

/* Copies a detached task. It is dropped only after it has been removed from the queue, whose lock the caller
 * holds, so its name is valid. */
static void copy_task(struct dump_task *to, const hora_task *task)
{
    copy_location(to, task);
    copy_name(to, task->name);
}

/* Copies the name of a future under its lock, which guards it, and releases the reference. Called without the
 * queue's lock. If may_wait is false and the lock is held, the name is left out. `future` may be NULL. */
static void name_future(struct dump_task *to, hora_future *future, bool may_wait)
{
    if (future != NULL && (may_wait || hora__mutex_is_free(&future->object.lock))) {
        copy_name(to, hora__future_lock_name(future));
        hora__future_unlock_name(future);
    }
    (void)hora_future_unref(future);
}

/* Copies class, key and priority, if the task has a ticket. The caller holds the lock of the queue, which
 * guards the ticket. */
static void copy_ticket(struct dump_task *to, const struct hora__extra *extra)
{
    assert(!to->has_admission);
    if (extra == NULL || extra->ticket == NULL)
        return;
    const struct hora__ticket *ticket = extra->ticket;
    to->has_admission = true;
    to->class_name = ticket->class != NULL ? ticket->class->name : NULL;
    to->key = ticket->key;
    to->priority = ticket->level - HORA__LEVEL_NORMAL;
}

/* Visitor of the queue, called with its lock held: copies a waiting task, except for the name of a future,
 * which is copied later. Returns whether there is room for more. */
static bool copy_head(void *item, const hora_task *task, void *arg)
{
    assert(((struct dump *)arg)->heads < MOST_TASKS);
    struct dump *dump = arg;
    hora_future *future = item;
    const struct hora__extra *extra = future != NULL ? hora__future_extra_in(dump->pool, future) : NULL;
    bool measures = hora__pool_measures(dump->pool);
    struct dump_task *head = &dump->head[dump->heads];
    if (future != NULL)
        copy_location(head, &future->task);
    else
        copy_task(head, task);
    copy_ticket(head, extra);
    if (extra != NULL)
        head->waited = hora__ns_max(hora__ns_sub(dump->now, extra->came), 0);
    else if (measures && future == NULL)
        head->waited = hora__measures_ago(dump->pool, hora__measures_cell_came(task));
    head->knows_when = measures && future != NULL && extra == NULL;
    dump->head_futures[dump->heads++] = hora_future_ref(future);
    return dump->heads < MOST_TASKS;
}

/* Completes the copied tasks with what the locks of their futures guard: the name and the time of submission.
 * Called without the queue's lock. Releases the references. */
static void complete_heads(struct dump *dump, bool may_wait)
{
    for (int i = 0; i < dump->heads; i++) {
        hora_future *future = dump->head_futures[i];
        bool asks = dump->head[i].knows_when && (may_wait || hora__mutex_is_free(&future->object.lock));
        int64_t came = asks ? hora__measures_came(dump->pool, future) : HORA_FOREVER;
        if (came != HORA_FOREVER)
            dump->head[i].waited = hora__measures_ago(dump->pool, came);
        name_future(&dump->head[i], future, may_wait);
    }
}

/* ---- the entries of a timer queue ---- */

/* Copies an entry of a timer queue, whose lock the caller holds. Returns a reference to the entry's future,
 * whose name is not copied yet; NULL: it has none. A hora_timer has no name of its own, so it is called
 * "timer". */
static hora_future *copy_entry(struct dump_task *to, const struct hora__timer_queue_view *view,
                               struct hora__entry *entry)
{
    assert(hora__mutex_held(&view->queue->object.lock));
    bool has_future = !entry->is_detached;
    hora_task task = {.name = "timer"};
    if (entry->is_detached && !entry->is_timer)
        task = hora__detached_task(hora__detached_of(entry));
    if (has_future)
        copy_location(to, &hora__entry_future(entry)->task);
    else
        copy_task(to, &task);
    const struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    to->is_series = scheduled != NULL && hora__scheduled_is_series(scheduled);
    to->in = hora__timer_queue_view_off(view, entry);
    if (has_future)
        copy_ticket(to, hora__future_extra(hora__entry_future(entry)));
    to->waited = to->in > 0 || to->in == INT64_MIN ? HORA_NEVER : -to->in;
    return has_future ? hora_future_ref(hora__entry_future(entry)) : NULL;
}

/* Copies the first due and the next planned entries of a scheduler, in one visit to its timer queue. */
static void collect_timer_queue(struct dump *dump, bool may_wait)
{
    hora_queue *queue = dump->pool->queue;
    hora_future *firing[MOST_TASKS] = {NULL};
    struct hora__timer_queue_view view;
    struct hora__entry *entries[MOST_TASKS];
    hora__mutex_lock(&queue->object.lock);
    hora__timer_queue_view_begin(&view, queue);
    dump->heads = hora__timer_queue_view_first(&view, true, entries, MOST_TASKS, &dump->queued);
    for (int i = 0; i < dump->heads; i++)
        dump->head_futures[i] = copy_entry(&dump->head[i], &view, entries[i]);
    dump->firings = hora__timer_queue_view_first(&view, false, entries, MOST_TASKS, &dump->planned);
    for (int i = 0; i < dump->firings; i++)
        firing[i] = copy_entry(&dump->firing[i], &view, entries[i]);
    hora__mutex_unlock(&queue->object.lock);
    for (int i = 0; i < dump->heads; i++)
        name_future(&dump->head[i], dump->head_futures[i], may_wait);
    for (int i = 0; i < dump->firings; i++)
        name_future(&dump->firing[i], firing[i], may_wait);
}

/* Copies the first tasks of the queue. Returns 0, or an error of hora__work_visit. */
static int collect_queue(struct dump *dump, bool may_wait)
{
    dump->is_scheduler = hora__scheduler_of(dump->pool) != NULL;
    if (dump->is_scheduler) {
        collect_timer_queue(dump, may_wait);
        return 0;
    }
    int size = hora__work_visit(dump->pool->queue, copy_head, dump);
    complete_heads(dump, may_wait);
    dump->queued = size;
    return size < 0 ? size : 0;
}

/* ---- classes and keys ---- */

/* Copies a class. The caller holds the lock of the queue. */
static void copy_class_locked(struct dump_class *to, const hora_class *from)
{
    assert(hora__mutex_held(&from->pool_observer->pool->queue->object.lock));
    const struct hora__admission_class *admission_class = &from->admission_class;
    *to = (struct dump_class){.name = from->name,
                              .limit = admission_class->limit,
                              .reserve = admission_class->reserve,
                              .rate = admission_class->rate,
                              .per = admission_class->per,
                              .running = admission_class->running,
                              .waiting = admission_class->waiting,
                              .started = admission_class->started};
}

/* Copies the classes of a pool with admission, and counts its keys. */
static void collect_classes(struct dump *dump)
{
    const struct hora__pool_observer *pool_observer = hora__pool_get_observer(dump->pool);
    dump->has_admission = dump->pool->admission != NULL;
    if (!dump->has_admission)
        return;
    hora__mutex_lock(&dump->pool->queue->object.lock);
    const struct hora__admission *admission = &dump->pool->admission->admission;
    for (const hora_class *at = pool_observer->classes; at != NULL && dump->classes < MOST_CLASSES;
         at = at->next)
        copy_class_locked(&dump->class[dump->classes++], at);
    for (const struct hora__ticket *at = hora__admission_first_key(admission); at != NULL;
         at = hora__admission_after_key(at))
        dump->keys++;
    hora__mutex_unlock(&dump->pool->queue->object.lock);
}

/* ---- workers ---- */

/* Copies the state of a worker. The caller holds the pool's lock, which keeps the worker's record alive. */
static void copy_worker_locked(struct dump_worker *to, struct hora__worker *worker)
{
    to->number = worker->number;
    to->is_busy = hora__worker_is_active(worker);
    to->is_off = hora__worker_is_written_off(worker);
    to->completed = hora__counter_read(&worker->completed);
    to->is_known = worker->worker_observer != NULL &&
                   hora__worker_record_read(hora__worker_record_of(worker->worker_observer), &to->now);
}

/* Copies as many workers as there is room for, and counts the others. Takes the pool's lock. */
static void collect_workers(struct dump *dump)
{
    assert(dump->worker_room > 0);
    hora_pool *pool = dump->pool;
    dump->workers = dump->workers_left_out = 0;
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        if (dump->workers < dump->worker_room)
            copy_worker_locked(&dump->worker[dump->workers++],
                               HORA__LIST_ENTRY(link, struct hora__worker, link));
        else
            dump->workers_left_out++;
    }
    hora__mutex_unlock(&pool->object.lock);
}

/* Frees the array of workers, if it was allocated. */
static void release_workers(struct dump *dump)
{
    if (dump->worker != dump->own_workers)
        hora__free(dump->worker);
    dump->worker = dump->own_workers;
}

/* If some workers were left out, allocates room for all and collects them again. The memory is allocated
 * without the pool's lock, so workers may be added in between; then it repeats that until all fit. Returns 0
 * or HORA_ENOMEM. */
static int collect_more_workers(struct dump *dump)
{
    while (dump->workers_left_out > 0) {
        int room = dump->workers + dump->workers_left_out;
        release_workers(dump);
        dump->worker = hora__alloc((size_t)room, sizeof *dump->worker);
        if (dump->worker == NULL)
            return HORA_ENOMEM;
        dump->worker_room = room;
        collect_workers(dump);
        if (HORA__FAULT(DUMP_COUNTS_WORKERS_ONCE))
            break;
    }
    return 0;
}

/* ---- all parts ---- */

/* Copies everything. If for_debugger is true, it allocates nothing and leaves out what it cannot read
 * without waiting for the lock of a future. Initialises the fields of *dump that it uses. Returns 0 or an
 * error; on error nothing has to be released. */
static int collect(struct dump *dump, hora_pool *pool, bool for_debugger)
{
    dump->pool = pool;
    dump->worker = dump->own_workers;
    dump->worker_room = MOST_WORKERS;
    dump->heads = dump->firings = dump->planned = dump->classes = dump->keys = 0;
    dump->now = hora_clock_now(pool->object.clock);
    dump->wall = hora_clock_now(hora__clock_line(pool->object.clock, HORA__WALL));
    dump->stats.struct_size = sizeof dump->stats;
    int error = hora_pool_get_stats(pool, &dump->stats);
    if (error == 0)
        error = collect_queue(dump, !for_debugger);
    if (error < 0)
        return error;
    collect_classes(dump);
    collect_workers(dump);
    error = for_debugger ? 0 : collect_more_workers(dump);
    if (error < 0)
        release_workers(dump);
    return error;
}

/* ---- writing: tasks ---- */

/* Writes the fields name, file and line; null for those that are unknown. */
static void write_location(struct hora__json *json, const char *name, const char *file, int line)
{
    hora__json_text(json, "name", name);
    hora__json_text(json, "file", file);
    if (file != NULL)
        hora__json_int(json, "line", line);
    else
        hora__json_null(json, "line");
}

static void write_task(struct hora__json *json, const struct dump_task *task)
{
    write_location(json, task->has_name ? task->name : NULL, task->file, task->line);
}

/* Writes class, key and priority. The key is written as a string, since it may exceed the numbers that all
 * readers of JSON accept. */
static void write_terms(struct hora__json *json, const struct dump_task *task)
{
    char key[24];
    struct hora__text text = hora__text_begin(key, sizeof key);
    hora__text_add_number(&text, task->key, 1);
    (void)hora__text_end(&text);
    hora__json_text(json, "class", task->class_name);
    hora__json_text(json, "key", task->key != 0 ? key : NULL);
    hora__json_int(json, "priority", task->priority);
}

/* Writes a queued task. */
static void write_head(struct hora__json *json, const struct dump_task *task)
{
    hora__json_open(json, NULL, '{');
    write_task(json, task);
    hora__json_seconds(json, "waited", task->waited);
    if (task->has_admission)
        write_terms(json, task);
    hora__json_close(json, '}');
}

/* Writes the size of the queue and its first tasks. */
static void write_queue(struct hora__json *json, const struct dump *dump)
{
    hora__json_open(json, "queue", '{');
    hora__json_int(json, "size", dump->queued);
    hora__json_seconds(json, "oldest", dump->heads > 0 ? dump->head[0].waited : HORA_NEVER);
    hora__json_open(json, "heads", '[');
    for (int i = 0; i < dump->heads; i++)
        write_head(json, &dump->head[i]);
    hora__json_close(json, ']');
    hora__json_close(json, '}');
}

/* Writes a planned task. The calendar time follows from the wall clock and the time until the task is due,
 * whatever timeline the task follows. */
static void write_firing(struct hora__json *json, const struct dump *dump, const struct dump_task *task)
{
    char at[HORA_INSTANT_TEXT];
    hora_instant instant = {hora__ns_add(dump->wall, task->in)};
    hora__json_open(json, NULL, '{');
    write_task(json, task);
    (void)hora_instant_format(instant, NULL, false, at, sizeof at);
    hora__json_text(json, "at", at);
    hora__json_seconds(json, "in", task->in);
    hora__json_bool(json, "series", task->is_series);
    hora__json_close(json, '}');
}

/* Writes the planned tasks of a scheduler. */
static void write_firings(struct hora__json *json, const struct dump *dump)
{
    if (!dump->is_scheduler)
        return;
    hora__json_int(json, "planned", dump->planned);
    hora__json_open(json, "next_firings", '[');
    for (int i = 0; i < dump->firings; i++)
        write_firing(json, dump, &dump->firing[i]);
    hora__json_close(json, ']');
}

/* ---- classes ---- */

static void write_class(struct hora__json *json, const struct dump_class *class)
{
    assert(class->running >= 0 && class->waiting >= 0);
    hora__json_open(json, NULL, '{');
    hora__json_text(json, "name", class->name);
    hora__json_int(json, "limit", class->limit);
    hora__json_int(json, "reserve", class->reserve);
    hora__json_int(json, "rate", class->rate);
    hora__json_seconds(json, "per", class->per);
    hora__json_int(json, "running", class->running);
    hora__json_int(json, "waiting", class->waiting);
    hora__json_int(json, "started", class->started);
    hora__json_close(json, '}');
}

/* Writes the classes in the order of their creation; the list has the newest first. */
static void write_classes(struct hora__json *json, const struct dump *dump)
{
    if (!dump->has_admission)
        return;
    hora__json_open(json, "classes", '[');
    for (int i = dump->classes - 1; i >= 0; i--)
        write_class(json, &dump->class[i]);
    hora__json_close(json, ']');
    hora__json_int(json, "keys", dump->keys);
}

/* ---- workers ---- */

/* Writes the arguments of the last hora_progress; null if the task has not called it or does not know its
 * total. */
static void write_progress(struct hora__json *json, const struct hora__run_reading *now)
{
    if (now->of <= 0) {
        hora__json_null(json, "progress");
        return;
    }
    hora__json_open(json, "progress", '{');
    hora__json_int(json, "done", now->done);
    hora__json_int(json, "of", now->of);
    hora__json_close(json, '}');
}

/* Writes null for the fields of write_what_it_runs. */
static void write_nothing(struct hora__json *json)
{
    hora__json_null(json, "task");
    hora__json_null(json, "running_for");
    hora__json_null(json, "quiet_for");
    hora__json_null(json, "progress");
}

/* Returns the time from `time` to the moment of the dump. The task may have begun after `now` was read; a
 * negative time counts as 0. */
static hora_ns since(const struct dump *dump, hora_ns time)
{
    return hora__ns_max(hora__ns_sub(dump->now, time), 0);
}

/* Writes the current run of a busy worker. */
static void write_what_it_runs(struct hora__json *json, const struct dump *dump,
                               const struct hora__run_reading *now)
{
    hora__json_open(json, "task", '{');
    write_location(json, now->name, now->file, now->line);
    hora__json_close(json, '}');
    hora_ns last = now->progress != HORA_NEVER ? now->progress : now->began;
    hora__json_seconds(json, "running_for", since(dump, now->began));
    hora__json_seconds(json, "quiet_for", since(dump, last));
    write_progress(json, now);
}

static const char *state_name(const struct dump_worker *worker)
{
    if (worker->is_off)
        return "written off";
    return worker->is_busy ? "running" : "idle";
}

/* Writes a worker. All fields are always present, so that readers need not distinguish cases. */
static void write_worker(struct hora__json *json, const struct dump *dump, const struct dump_worker *worker)
{
    hora__json_open(json, NULL, '{');
    hora__json_int(json, "number", worker->number);
    hora__json_text(json, "state", state_name(worker));
    if (worker->is_known)
        write_what_it_runs(json, dump, &worker->now);
    else
        write_nothing(json);
    hora__json_int(json, "completed", worker->completed);
    hora__json_close(json, '}');
}

/* Writes all workers that were copied. Only hora_pool_dump_fd, which does not allocate, leaves some out. */
static void write_workers(struct hora__json *json, const struct dump *dump)
{
    hora__json_open(json, "workers", '[');
    for (int i = 0; i < dump->workers; i++)
        write_worker(json, dump, &dump->worker[i]);
    hora__json_close(json, ']');
    if (dump->workers_left_out > 0)
        hora__json_int(json, "workers_left_out", dump->workers_left_out);
}

/* ---- the pool ---- */

static const char *reject_name(hora_reject reject)
{
    switch (reject) {
    case HORA_REJECT_ABORT:
        return "abort";
    case HORA_REJECT_CALLER_RUNS:
        return "caller runs";
    case HORA_REJECT_DISCARD:
        return "discard";
    case HORA_REJECT_DISCARD_OLDEST:
        return "discard oldest";
    case HORA_REJECT_BLOCK:
        return "block";
    case HORA_REJECT_CALLBACK:
    default:
        return "callback";
    }
}

static const char *clock_name(const hora_clock *clock)
{
    static const char *const names[][3] = {{"monotonic", "boottime", "wall"},
                                           {"virtual monotonic", "virtual boottime", "virtual wall"}};
    return names[clock->source != NULL ? 1 : 0][hora__clock_timeline(clock)];
}

/* Writes the capacity of the queue: 0 if it hands tasks over without holding them, null if it is
 * unbounded. */
static void write_capacity(struct hora__json *json, const hora_pool *pool)
{
    const hora_queue *queue = pool->queue;
    if (!pool->queue_holds)
        hora__json_int(json, "queue_capacity", 0);
    else if (queue->kind->inserts_always || queue->capacity == HORA_UNBOUNDED)
        hora__json_null(json, "queue_capacity");
    else
        hora__json_int(json, "queue_capacity", queue->capacity);
}

/* Writes the options of the observer, with defaults filled in; null if the pool has none. They are
 * immutable, so this needs no lock. */
static void write_observer(struct hora__json *json, const hora_pool *pool)
{
    const struct hora__pool_observer *pool_observer = hora__pool_get_observer(pool);
    if (pool_observer == NULL) {
        hora__json_null(json, "observability");
        return;
    }
    const struct hora__observer_options *own = &pool_observer->options;
    hora__json_open(json, "observability", '{');
    hora__json_bool(json, "metrics", own->measured);
    hora__json_bool(json, "admission", own->has_admission);
    hora__json_seconds(json, "ageing", own->ageing);
    hora__json_seconds(json, "stuck_after", own->stuck_after);
    hora__json_seconds(json, "late_after", own->late_after);
    hora__json_seconds(json, "grow_after", own->grow_after);
    hora__json_close(json, '}');
}

/* Writes the settings of the pool. Those that can change come from the statistics that were read together;
 * the others are immutable. */
static void write_settings(struct hora__json *json, const struct dump *dump)
{
    const hora_pool_stats *stats = &dump->stats;
    hora__json_open(json, "settings", '{');
    hora__json_int(json, "core_threads", stats->core_threads);
    hora__json_int(json, "max_threads", stats->max_threads);
    hora__json_seconds(json, "keep_alive", stats->keep_alive);
    hora__json_bool(json, "core_time_out", stats->core_time_out);
    hora__json_text(json, "reject", reject_name(stats->reject));
    write_capacity(json, dump->pool);
    hora__json_text(json, "clock", clock_name(dump->pool->object.clock));
    write_observer(json, dump->pool);
    hora__json_close(json, '}');
}

/* Writes the counters of the pool, which were read together. */
static void write_counts(struct hora__json *json, const struct dump *dump)
{
    const hora_pool_stats *stats = &dump->stats;
    hora__json_open(json, "counts", '{');
    hora__json_int(json, "threads", stats->threads);
    hora__json_int(json, "active", stats->active);
    hora__json_int(json, "largest", stats->largest);
    hora__json_int(json, "queued", stats->queued);
    hora__json_int(json, "accepted", stats->accepted);
    hora__json_int(json, "done", stats->done);
    hora__json_int(json, "failed", stats->failed);
    hora__json_int(json, "cancelled", stats->cancelled);
    hora__json_int(json, "rejected", stats->rejected);
    hora__json_int(json, "abandoned", stats->abandoned);
    hora__json_int(json, "handed_back", stats->handed_back);
    hora__json_int(json, "expired", stats->expired);
    hora__json_int(json, "completed", stats->completed);
    hora__json_int(json, "thread_failures", stats->thread_failures);
    hora__json_text(json, "thread_error",
                    stats->thread_error != 0 ? hora_strerror(stats->thread_error) : NULL);
    hora__json_close(json, '}');
}

/* Writes the copied state. Returns 0, or the first error of `write`. */
static int write_all(const struct dump *dump, hora_write_fn write, void *context)
{
    struct hora__json json;
    char at[HORA_INSTANT_TEXT];
    hora__json_begin(&json, write, context);
    hora__json_open(&json, NULL, '{');
    hora__json_text(&json, "name", dump->pool->name);
    hora__json_text(&json, "state", hora__pool_state_name(dump->stats.state));
    (void)hora_instant_format((hora_instant){dump->wall}, NULL, false, at, sizeof at);
    hora__json_text(&json, "at", at);
    write_settings(&json, dump);
    write_counts(&json, dump);
    write_workers(&json, dump);
    write_queue(&json, dump);
    write_firings(&json, dump);
    write_classes(&json, dump);
    hora__json_close(&json, '}');
    return hora__json_end(&json);
}

/* The copy takes about 17 KB of the stack. */
int hora_pool_dump(hora_pool *pool, hora_write_fn write, void *context)
{
    int error = write == NULL ? HORA_EINVAL : hora__pool_check(pool);
    struct dump dump;
    if (error == 0)
        error = collect(&dump, pool, false);
    if (error < 0)
        return error;
    error = write_all(&dump, write, context);
    release_workers(&dump);
    return error;
}

/* ---- for debuggers ---- */

/* How often is_busy checks the locks. A running thread releases a lock in this time; a stopped thread does
 * not. */
enum { LOOKS = 1000 };

/* Returns whether the lock of the pool or of its queue is held and stays held. */
static bool is_busy(hora_pool *pool)
{
    for (int i = 0; i < LOOKS; i++)
        if (hora__mutex_is_free(&pool->object.lock) && hora__queue_is_free(pool->queue))
            return false;
    return true;
}

/* Writes {"name": ..., "busy": true} instead of a dump, because a lock is held. */
static int write_busy(const hora_pool *pool, hora_write_fn write, void *context)
{
    struct hora__json json;
    hora__json_begin(&json, write, context);
    hora__json_open(&json, NULL, '{');
    hora__json_text(&json, "name", pool->name);
    hora__json_bool(&json, "busy", true);
    hora__json_close(&json, '}');
    return hora__json_end(&json);
}

/* A hora_write_fn that writes to the descriptor that `context` points to. */
static int write_to(const char *text, size_t length, void *context)
{
    const int *fd = context;
    return hora__file_write(*fd, text, length);
}

/* The check of the locks and their later use are not atomic. In a stopped process, for which this call is
 * made, no other thread takes a lock in between; in a running one, the holder releases it. */
int hora_pool_dump_fd(hora_pool *pool, int fd)
{
    struct dump dump;
    int error = fd < 0 ? HORA_EINVAL : hora__pool_check(pool);
    /* HORA_EDEADLK: the calling thread itself holds the lock of an object. */
    if (error == HORA_EDEADLK || (error == 0 && is_busy(pool)))
        return write_busy(pool, write_to, &fd);
    if (error == 0)
        error = collect(&dump, pool, true);
    return error < 0 ? error : write_all(&dump, write_to, &fd);
}
