/* SPDX-License-Identifier: Apache-2.0 */
/* readings.c - adding up counts and measurements, and finding how long tasks have waited
 *
 * How it works      No thread is stopped: the statistics are read while workers write them. Ended runs are
 *                   read before started runs, and these before submissions. A run is submitted before it
 *                   starts and starts before it ends, so no reading shows more ends than starts, or more
 *                   starts than submissions. Writers publish each count and readers observe it, which
 *                   orders the readings on machines with weak memory order. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/options.h"
#include "observe/measures.h"
#include "sched/timer_queue.h"
#include "sys/alloc.h"

/* ---- statistics ---- */

/* Calls `visit` for the statistics that each worker, past or present, has for a name; NULL: for all names. */
static void each_stats(struct hora__measures *measures, const struct hora__name *name,
                       void (*visit)(const struct hora__task_stats *stats, void *arg), void *arg)
{
    int first = name != NULL ? name->index : 0;
    int last = name != NULL ? name->index : hora__names_room(&measures->names) - 1;
    HORA__ORDER_FAULT(WORKER_STATS_READ_RELAXED, memory_order_relaxed);
    const struct hora__worker_stats *worker_stats = hora__atomic_pointer_load(&measures->first);
    for (; worker_stats != NULL; worker_stats = worker_stats->next) {
        for (int i = first; i <= last; i++) {
            const struct hora__task_stats *stats = hora__atomic_pointer_load(&worker_stats->by_name[i]);
            if (stats != NULL)
                visit(stats, arg);
        }
    }
}

/* The argument of add_times. */
struct wanted {
    hora_metric measure;
    struct hora__distribution *sum;
};

static void add_times(const struct hora__task_stats *stats, void *arg)
{
    const struct wanted *wanted = arg;
    hora__histogram_add(wanted->sum, &stats->times[wanted->measure]);
}

void hora__measures_add(struct hora__measures *measures, const struct hora__name *name, hora_metric measure,
                        struct hora__distribution *sum)
{
    struct wanted wanted = {measure, sum};
    each_stats(measures, name, add_times, &wanted);
}

/* The loads must acquire, so that the later reading of `started` includes these runs. */
static void add_endings(const struct hora__task_stats *stats, void *arg)
{
    hora_counts *counts = arg;
    HORA__ORDER_FAULT(MEASURES_READ_RELAXED, memory_order_relaxed);
    counts->done += hora__counter_observe(&stats->done);
    counts->failed += hora__counter_observe(&stats->failed);
}

static void add_starts(const struct hora__task_stats *stats, void *arg)
{
    hora_counts *counts = arg;
    counts->started += hora__counter_observe(&stats->started);
}

/* Adds the counters of a name. Submissions come last, see the head of this file. Skipped and expired runs
 * may be very many, so their sums saturate. */
static void add_name_counts(const struct hora__name *name, hora_counts *counts)
{
    counts->cancelled += hora__counter_observe(&name->counts[HORA__COUNT_CANCELLED]);
    counts->rejected += hora__counter_observe(&name->counts[HORA__COUNT_REJECTED]);
    counts->expired =
        hora__ns_add(counts->expired, hora__counter_observe(&name->counts[HORA__COUNT_EXPIRED]));
    counts->skipped =
        hora__ns_add(counts->skipped, hora__counter_observe(&name->counts[HORA__COUNT_SKIPPED]));
    counts->overrun += hora__counter_observe(&name->counts[HORA__COUNT_OVERRUN]);
    counts->stuck += hora__counter_observe(&name->counts[HORA__COUNT_STUCK]);
    counts->submitted += hora__counter_read(&name->counts[HORA__COUNT_SUBMITTED]);
}

/* Reads all ends before the first start. For the whole pool it also adds tasks without a name, which are not
 * on the list of names. */
void hora__measures_count(struct hora__measures *measures, const struct hora__name *name,
                          hora_counts *ret_counts)
{
    each_stats(measures, name, add_endings, ret_counts);
    each_stats(measures, name, add_starts, ret_counts);
    if (name != NULL) {
        add_name_counts(name, ret_counts);
        return;
    }
    add_name_counts(&measures->names.none, ret_counts);
    for (name = hora__names_newest(&measures->names); name != NULL; name = name->next)
        add_name_counts(name, ret_counts);
}

struct hora__scale hora__measures_scale(const struct hora__pool_observer *pool_observer)
{
    return pool_observer->base.counts_ticks ? hora__ticker_scale(&pool_observer->base.ticker)
                                            : HORA__SCALE_NS;
}

/* ---- names ---- */

/* Sorts names by text. A Shell sort is short, and fast enough for tens of thousands. */
static void sort(const struct hora__name **names, int count)
{
    assert(count >= 0);
    for (int gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (int i = gap; i < count; i++) {
            const struct hora__name *name = names[i];
            int at = i;
            for (; at >= gap && strcmp(names[at - gap]->text, name->text) > 0; at -= gap)
                names[at] = names[at - gap];
            names[at] = name;
        }
    }
}

/* Starts at one reading of the newest name. Names are only added in front of it, so both passes see the same
 * list. */
int hora__measures_names(struct hora__measures *measures, const struct hora__name ***ret_names)
{
    assert(ret_names != NULL);
    const struct hora__name *newest = hora__names_newest(&measures->names);
    int room = 0;
    for (const struct hora__name *name = newest; name != NULL; name = name->next)
        room++;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are meant */
    const struct hora__name **names = hora__alloc((size_t)room, sizeof *names);
    if (names == NULL)
        return HORA_ENOMEM;
    int count = 0;
    for (const struct hora__name *name = newest; name != NULL; name = name->next)
        if (hora__atomic_load(&name->is_seen) != 0)
            names[count++] = name;
    sort(names, count);
    *ret_names = names;
    return count;
}

/* ---- how long waiting tasks have waited ----
 *
 * A plain queue is in order of submission, so its first task has waited longest. Of a queue with another
 * order the first few tasks are examined. A detached task stores the stamp of its submission in its cell.
 * A future stores it under its own lock, which cannot be taken together with the queue's; so references
 * to the first few futures are kept, and their stamps are read afterwards. In a scheduler the first entry
 * of each heap counts. */

/* How many futures are examined. */
enum { FEW = 20 };

struct look {
    int64_t came;              /* earliest submission so far, as a stamp; HORA_FOREVER: none */
    hora_future *futures[FEW]; /* references to the futures whose stamps are yet to be read */
    int count;                 /* number of futures */
};

/* `task` is part of a struct hora__taken, which holds the stamp. */
int64_t hora__measures_cell_came(const hora_task *task)
{
    const char *cell = (const char *)task - offsetof(struct hora__taken, task);
    return ((const struct hora__taken *)(const void *)cell)->came;
}

/* Visitor of the first tasks of a queue, called with its lock held: notes a detached task's stamp, or keeps a
 * reference to a future. Returns whether the visit continues. */
static bool look_at(void *item, const hora_task *task, void *arg)
{
    assert(((struct look *)arg)->count < FEW);
    struct look *look = arg;
    if (task != NULL) {
        look->came = hora__measures_cell_came(task);
        return false; /* the tasks behind it were submitted later */
    }
    look->futures[look->count++] = hora_future_ref(item);
    return look->count < FEW;
}

/* by.came is valid only while the future is NEW and belongs to this pool; the lock guards both. */
int64_t hora__measures_came(const hora_pool *pool, hora_future *future)
{
    hora__mutex_lock(&future->object.lock);
    bool waits = hora__future_state(future) == HORA__FUTURE_NEW && future->owner == &pool->owner;
    int64_t came = waits ? future->by.came : HORA_FOREVER;
    hora__mutex_unlock(&future->object.lock);
    return came;
}

/* Returns the stamp of the task that was submitted first; HORA_FOREVER: no task waits. */
static int64_t first_came(hora_pool *pool)
{
    struct look look = {.came = HORA_FOREVER};
    if (hora__work_visit(pool->queue, look_at, &look) < 0)
        return HORA_FOREVER;
    for (int i = 0; i < look.count; i++) {
        int64_t came = hora__measures_came(pool, look.futures[i]);
        look.came = came < look.came ? came : look.came;
        (void)hora_future_unref(look.futures[i]);
    }
    return look.came;
}

/* Returns by how much the most overdue entry of a timer queue is late; 0: none is due. */
static hora_ns most_overdue(hora_queue *queue)
{
    if (hora__queue_enter(queue) < 0)
        return 0;
    hora_ns overdue = hora__timer_queue_overdue(queue);
    hora__mutex_unlock(&queue->object.lock);
    return overdue;
}

/* Ticks of two processors may differ a little, so a negative age counts as 0. */
hora_ns hora__measures_ago(const hora_pool *pool, int64_t stamp)
{
    assert(hora__pool_get_observer(pool) != NULL);
    int64_t ago = hora__pool_stamp(pool) - stamp;
    struct hora__scale scale = hora__measures_scale(hora__pool_get_observer(pool));
    return hora__rate_to_ns(scale.values, ago > 0 ? ago : 0);
}

/* In a scheduler a task could have begun when it was due, so its lateness is also its waiting time. */
void hora__measures_waiting(hora_pool *pool, hora_ns *ret_oldest, hora_ns *ret_latest)
{
    *ret_oldest = *ret_latest = 0;
    if (pool->kind != NULL) {
        *ret_oldest = *ret_latest = most_overdue(pool->queue);
        return;
    }
    int64_t came = first_came(pool);
    if (came != HORA_FOREVER)
        *ret_oldest = hora__measures_ago(pool, came);
}

/* ---- public calls ---- */

/* The pool and name that a call asks about; name NULL: the whole pool. */
struct subject {
    struct hora__pool_observer *pool_observer;
    const struct hora__name *name;
};

/* Checks the pool and the name of a call and finds their measurements. Returns 0, HORA_ENOTSUP if the pool
 * has no metrics, HORA_ENOENT for an unknown name, or an error of hora__pool_check. */
static int find_subject(hora_pool *pool, const char *name, struct subject *ret_subject)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    struct hora__pool_observer *pool_observer = hora__pool_get_observer(pool);
    if (pool_observer == NULL || !pool_observer->options.measured)
        return HORA_ENOTSUP;
    *ret_subject = (struct subject){.pool_observer = pool_observer};
    if (name != NULL)
        ret_subject->name = hora__names_find(&pool_observer->measures->names, name);
    return name != NULL && ret_subject->name == NULL ? HORA_ENOENT : 0;
}

static bool is_measure(hora_metric measure)
{
    return measure == HORA_METRIC_WAIT || measure == HORA_METRIC_LATENESS || measure == HORA_METRIC_RUN;
}

/* Returns the sum of all values in nanoseconds; INT64_MAX if it does not fit. */
static hora_ns sum_of(const struct hora__distribution *values, struct hora__rate rate)
{
    struct hora__seconds sum = hora__distribution_sum(values, rate);
    if (sum.seconds >= (uint64_t)(INT64_MAX / HORA__SECOND))
        return INT64_MAX;
    return (hora_ns)sum.seconds * HORA__SECOND + sum.nanoseconds;
}

static hora_ns quantile_of(const struct hora__distribution *values, double q, struct hora__rate rate)
{
    return hora__rate_to_ns(rate, hora__distribution_quantile(values, q));
}

/* All quantiles come from one reading of the histograms, so they are in order. */
int hora_pool_get_distribution(hora_pool *pool, const char *name, hora_metric measure,
                               hora_distribution *ret_distribution)
{
    struct subject subject = {.pool_observer = NULL};
    size_t size;
    if (HORA__SIZE_GIVEN(hora_distribution, ret_distribution, &size) < 0 || !is_measure(measure))
        return HORA_EINVAL;
    int error = find_subject(pool, name, &subject);
    if (error < 0)
        return error;
    struct hora__distribution values = {.count = 0};
    hora__measures_add(subject.pool_observer->measures, subject.name, measure, &values);
    struct hora__rate rate = hora__measures_scale(subject.pool_observer).values;
    hora_distribution distribution = {
        .struct_size = sizeof distribution,
        .count = values.count,
        .sum = sum_of(&values, rate),
        .max = hora__rate_to_ns(rate, values.max),
        .p50 = quantile_of(&values, 0.5, rate),
        .p90 = quantile_of(&values, 0.9, rate),
        .p99 = quantile_of(&values, 0.99, rate),
        .p999 = quantile_of(&values, 0.999, rate),
    };
    hora__output_write(ret_distribution, size, &distribution, sizeof distribution);
    return 0;
}

/* The negated comparison of q also refuses a NaN. */
int hora_pool_quantile(hora_pool *pool, const char *name, hora_metric measure, double q, hora_ns *ret_value)
{
    struct subject subject = {.pool_observer = NULL};
    bool is_wrong = ret_value == NULL || !is_measure(measure) || !(q >= 0 && q <= 1);
    int error = is_wrong ? HORA_EINVAL : find_subject(pool, name, &subject);
    if (error < 0)
        return error;
    struct hora__distribution values = {.count = 0};
    hora__measures_add(subject.pool_observer->measures, subject.name, measure, &values);
    *ret_value = quantile_of(&values, q, hora__measures_scale(subject.pool_observer).values);
    return 0;
}

/* For the whole pool, submissions come from the pool's books, because those of tasks without a name are
 * counted nowhere else. They are read after the ends and starts. */
int hora_pool_get_counts(hora_pool *pool, const char *name, hora_counts *ret_counts)
{
    struct subject subject = {.pool_observer = NULL};
    size_t size;
    if (HORA__SIZE_GIVEN(hora_counts, ret_counts, &size) < 0)
        return HORA_EINVAL;
    int error = find_subject(pool, name, &subject);
    if (error < 0)
        return error;
    hora_counts counts = {.struct_size = sizeof counts};
    hora__measures_count(subject.pool_observer->measures, subject.name, &counts);
    if (subject.name == NULL) {
        counts.submitted = hora__pool_accepted(pool) + hora__counter_read(&pool->refused);
        hora__measures_waiting(pool, &counts.oldest, &counts.latest);
    }
    hora__output_write(ret_counts, size, &counts, sizeof counts);
    return 0;
}

/* Returns the number of all names, but writes at most `max`. The texts live as long as the pool. */
int hora_pool_task_names(hora_pool *pool, const char **names, int max)
{
    struct subject subject = {.pool_observer = NULL};
    int error = max < 0 || (names == NULL && max > 0) ? HORA_EINVAL : find_subject(pool, NULL, &subject);
    if (error < 0)
        return error;
    const struct hora__name **all;
    int count = hora__measures_names(subject.pool_observer->measures, &all);
    if (count < 0)
        return count;
    for (int i = 0; i < count && i < max; i++)
        names[i] = all[i]->text;
    hora__free(all);
    return count;
}
