/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c - write down what a pool is doing, as JSON
 *
 * How it works      All is copied first, under one lock at a time (dump_collect.c), and then written without any: so the function that writes
 *                   may take its time, and call anything of hora.
 * Debuggers         hora_pool_dump_fd is made to be called in a process that was stopped anywhere. So it needs no memory, and does not wait for
 *                   a lock that nobody will ever give back: it looks first, and if one of those that it needs is held, says so instead.
 *                   docs/guide/seeing.md lists the fields. */
#include "oversee/dump.h"

#include <stddef.h>

#include "base/json.h"
#include "base/ns.h"
#include "base/text.h"
#include "sync/clock.h"
#include "sys/file.h"

/* ---- tasks ---- */

static void write_place(struct hora__json *json, const char *name, const char *file, int line)
{
    hora__json_text(json, "name", name);
    hora__json_text(json, "file", file);
    if (file != NULL)
        hora__json_int(json, "line", line);
    else
        hora__json_null(json, "line");
}

static void write_task(struct hora__json *json, const struct hora__dump_task *task)
{
    write_place(json, task->has_name ? task->name : NULL, task->file, task->line);
}

/* The key is a text, since it may be greater than what all readers of JSON take for a number. */
static void write_terms(struct hora__json *json, const struct hora__dump_task *task)
{
    char key[24];
    struct hora__text text = hora__text_begin(key, sizeof key);
    hora__text_add_number(&text, task->key, 1);
    (void)hora__text_end(&text);
    hora__json_text(json, "class", task->class_name);
    hora__json_text(json, "key", task->key != 0 ? key : NULL);
    hora__json_int(json, "priority", task->priority);
}

static void write_head(struct hora__json *json, const struct hora__dump_task *task)
{
    hora__json_open(json, NULL, '{');
    write_task(json, task);
    hora__json_seconds(json, "waited", task->waited);
    if (task->is_steered)
        write_terms(json, task);
    hora__json_close(json, '}');
}

static void write_queue(struct hora__json *json, const struct hora__dump *dump)
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

static void write_firing(struct hora__json *json, const struct hora__dump *dump, const struct hora__dump_task *task)
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

static void write_firings(struct hora__json *json, const struct hora__dump *dump)
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

static void write_class(struct hora__json *json, const struct hora__dump_class *class)
{
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

/* The oldest first; they are kept with the latest first. */
static void write_classes(struct hora__json *json, const struct hora__dump *dump)
{
    if (!dump->is_steered)
        return;
    hora__json_open(json, "classes", '[');
    for (int i = dump->classes - 1; i >= 0; i--)
        write_class(json, &dump->class[i]);
    hora__json_close(json, ']');
    hora__json_int(json, "keys", dump->keys);
}

/* ---- workers ---- */

static void write_progress(struct hora__json *json, const struct hora__now_reading *now)
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

static void write_nothing(struct hora__json *json)
{
    hora__json_null(json, "task");
    hora__json_null(json, "running_for");
    hora__json_null(json, "quiet_for");
    hora__json_null(json, "progress");
}

/* It may have begun since `now` was read. */
static hora_ns since(const struct hora__dump *dump, hora_ns time)
{
    return hora__ns_max(hora__ns_sub(dump->now, time), 0);
}

static void write_what_it_runs(struct hora__json *json, const struct hora__dump *dump,
                               const struct hora__now_reading *now)
{
    hora__json_open(json, "task", '{');
    write_place(json, now->name, now->file, now->line);
    hora__json_close(json, '}');
    hora_ns last = now->progress != HORA_NEVER ? now->progress : now->began;
    hora__json_seconds(json, "running_for", since(dump, now->began));
    hora__json_seconds(json, "quiet_for", since(dump, last));
    write_progress(json, now);
}

static const char *state_name(const struct hora__dump_worker *worker)
{
    if (worker->is_off)
        return "written off";
    return worker->is_busy ? "running" : "idle";
}

static void write_worker(struct hora__json *json, const struct hora__dump *dump, const struct hora__dump_worker *worker)
{
    hora__json_open(json, NULL, '{');
    hora__json_int(json, "number", worker->number);
    hora__json_text(json, "state", state_name(worker));
    if (worker->is_known)
        write_what_it_runs(json, dump, &worker->now);
    else
        write_nothing(json);
    hora__json_int(json, "runs", worker->completed);
    hora__json_close(json, '}');
}

static void write_workers(struct hora__json *json, const struct hora__dump *dump)
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

static void write_oversight(struct hora__json *json, const hora_pool *pool)
{
    const struct hora__oversight *oversight = hora__pool_oversight(pool);
    if (oversight == NULL) {
        hora__json_null(json, "observability");
        return;
    }
    const struct hora__oversight_options *own = &oversight->options;
    hora__json_open(json, "observability", '{');
    hora__json_bool(json, "metrics", own->measured);
    hora__json_bool(json, "admission", own->has_admission);
    hora__json_seconds(json, "ageing", own->ageing);
    hora__json_seconds(json, "stuck_after", own->stuck_after);
    hora__json_seconds(json, "late_after", own->late_after);
    hora__json_seconds(json, "grow_after", own->grow_after);
    hora__json_close(json, '}');
}

static void write_settings(struct hora__json *json, const struct hora__dump *dump)
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
    write_oversight(json, dump->pool);
    hora__json_close(json, '}');
}

static void write_counts(struct hora__json *json, const struct hora__dump *dump)
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
    hora__json_text(json, "thread_error", stats->thread_error != 0 ? hora_strerror(stats->thread_error) : NULL);
    hora__json_close(json, '}');
}

static int write_all(const struct hora__dump *dump, hora_write_fn write, void *context)
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

int hora_pool_dump(hora_pool *pool, hora_write_fn write, void *context)
{
    int error = write == NULL ? HORA_EINVAL : hora__pool_check(pool);
    struct hora__dump dump;
    if (error == 0)
        error = hora__dump_collect(&dump, pool, false);
    if (error < 0)
        return error;
    error = write_all(&dump, write, context);
    hora__dump_release(&dump);
    return error;
}

/* ---- for debuggers ---- */

/* Threads that run give a lock back within so many looks; one that is stopped does not. */
enum { LOOKS = 1000 };

static bool is_busy(hora_pool *pool)
{
    for (int i = 0; i < LOOKS; i++)
        if (hora__mutex_is_free(&pool->object.lock) && hora__queue_is_free(pool->queue))
            return false;
    return true;
}

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

static int write_to(const char *text, size_t length, void *context)
{
    const int *fd = context;
    return hora__file_write(*fd, text, length);
}

int hora_pool_dump_fd(hora_pool *pool, int fd)
{
    struct hora__dump dump;
    int error = fd < 0 ? HORA_EINVAL : hora__pool_check(pool);
    if (error == HORA_EDEADLK || (error == 0 && is_busy(pool))) /* the former: the calling thread itself has a lock */
        return write_busy(pool, write_to, &fd);
    if (error == 0)
        error = hora__dump_collect(&dump, pool, true);
    return error < 0 ? error : write_all(&dump, write_to, &fd);
}
