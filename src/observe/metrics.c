/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - the measurements of pools as text for Prometheus and compatible collectors
 *
 * How it works      The formats require that all samples of a family are adjacent, so for each family the
 *                   code goes through all pools and their names. Tasks without a name are written under
 *                   the name "", so the numbers of all names of a pool add up to those of the pool. Workers
 *                   are not stopped, and no lock is held while the user's function runs. So numbers of
 *                   different families may belong to different moments. */
#include <assert.h>
#include <hora/admission.h>
#include <hora/metrics.h>
#include <stddef.h>
#include <string.h>

#include "base/metrics.h"
#include "observe/measures.h"
#include "sys/alloc.h"

/* A pool, and what was read of it before the first sample is written. */
struct source {
    hora_pool *pool;                           /* the caller's */
    char name[sizeof((hora_pool *)0)->name];   /* name of the pool, without the suffix for its threads */
    struct hora__pool_observer *pool_observer; /* NULL: the pool has no metrics */
    hora_pool_stats stats;                     /* numbers that were read together */
    hora_ns oldest;                            /* see hora__measures_waiting */
    hora_ns latest;
    const struct hora__name **names; /* sorted; allocated; NULL: the pool has no metrics */
    int name_count;
};

/* The state of one call of hora_metrics_write. */
struct writing {
    struct hora__metrics out;
    struct source *sources; /* allocated */
    int count;              /* number of sources that have been opened */
};

/* ---- families ---- */

static const struct hora__metric_family tasks = {HORA__COUNTER, "hora_tasks", NULL,
                                                 "Outcomes of tasks and of runs of series."};
static const struct hora__metric_family submitted = {HORA__COUNTER, "hora_tasks_submitted", NULL,
                                                     "Submitted tasks, including rejected ones."};
static const struct hora__metric_family started = {HORA__COUNTER, "hora_runs_started", NULL, "Started runs."};
static const struct hora__metric_family missed = {
    HORA__COUNTER, "hora_runs_missed", NULL,
    "Runs that were skipped, exceeded their limit, or were reported as stuck."};
static const struct hora__metric_family thread_failures = {HORA__COUNTER, "hora_thread_failures", NULL,
                                                           "Threads that could not be started."};
static const struct hora__metric_family times[] = {
    [HORA_METRIC_WAIT] = {HORA__HISTOGRAM, "hora_wait_seconds", "seconds",
                          "Time from when tasks could start until they did."},
    [HORA_METRIC_LATENESS] = {HORA__HISTOGRAM, "hora_lateness_seconds", "seconds",
                              "Delay of scheduled tasks after their planned times."},
    [HORA_METRIC_RUN] = {HORA__HISTOGRAM, "hora_run_seconds", "seconds", "Duration of runs."},
};

enum gauge { THREADS, ACTIVE, QUEUED, CORE_THREADS, MAX_THREADS, GAUGES };
static const struct hora__metric_family gauges[GAUGES] = {
    [THREADS] = {HORA__GAUGE, "hora_threads", NULL, "Threads of the pool."},
    [ACTIVE] = {HORA__GAUGE, "hora_threads_active", NULL, "Threads that are running a task."},
    [QUEUED] = {HORA__GAUGE, "hora_queued", NULL, "Tasks in the queue."},
    [CORE_THREADS] = {HORA__GAUGE, "hora_threads_core", NULL, "Number of core threads."},
    [MAX_THREADS] = {HORA__GAUGE, "hora_threads_max", NULL, "Maximum number of threads."},
};
static const struct hora__metric_family oldest = {HORA__GAUGE, "hora_oldest_waiting_seconds", "seconds",
                                                  "How long the longest-waiting task has waited."};
static const struct hora__metric_family latest = {HORA__GAUGE, "hora_latest_seconds", "seconds",
                                                  "Delay of the most overdue scheduled task."};

enum of_class { CLASS_RUNNING, CLASS_WAITING, CLASS_LIMIT, CLASS_STARTED, CLASS_FAMILIES };
static const struct hora__metric_family class_families[CLASS_FAMILIES] = {
    [CLASS_RUNNING] = {HORA__GAUGE, "hora_class_running", NULL, "Running tasks of the class."},
    [CLASS_WAITING] = {HORA__GAUGE, "hora_class_waiting", NULL, "Waiting tasks of the class."},
    [CLASS_LIMIT] = {HORA__GAUGE, "hora_class_limit", NULL,
                     "Maximum number of running tasks of the class; 0 means no limit."},
    [CLASS_STARTED] = {HORA__COUNTER, "hora_class_started", NULL, "Started tasks of the class."},
};

/* ---- samples ---- */

/* An outcome of tasks, and how many had it. */
struct outcome {
    const char *text; /* value of the label */
    int64_t count;
};

/* Writes one sample per outcome, with the outcome as a label. */
static void write_outcomes(struct writing *writing, const struct source *source, const char *name,
                           const struct outcome *outcomes, int count)
{
    assert(count > 0);
    for (int i = 0; i < count; i++) {
        struct hora__metric_label labels[] = {
            {"pool", source->name}, {"name", name}, {"outcome", outcomes[i].text}};
        hora__metrics_int(&writing->out, labels, 3, outcomes[i].count);
    }
}

/* Returns the counts of a name; NULL: of the whole pool. */
static hora_counts count_of(const struct source *source, const struct hora__name *name)
{
    assert(source->pool_observer != NULL);
    hora_counts counts = {.struct_size = sizeof counts};
    hora__measures_count(source->pool_observer->measures, name, &counts);
    return counts;
}

/* Calls `each` for each name of each pool that has metrics, and for tasks without a name. The families
 * write_tasks, write_missed, write_started and write_histogram are written in this way. */
static void each_name(struct writing *writing,
                      void (*each)(struct writing *writing, const struct source *source,
                                   const struct hora__name *name, const char *text))
{
    for (int i = 0; i < writing->count; i++) {
        const struct source *source = &writing->sources[i];
        if (source->pool_observer == NULL)
            continue;
        each(writing, source, &source->pool_observer->measures->names.none, "");
        for (int at = 0; at < source->name_count; at++)
            each(writing, source, source->names[at], source->names[at]->text);
    }
}

static void write_tasks(struct writing *writing, const struct source *source, const struct hora__name *name,
                        const char *text)
{
    hora_counts counts = count_of(source, name);
    const struct outcome outcomes[] = {{"done", counts.done},
                                       {"failed", counts.failed},
                                       {"cancelled", counts.cancelled},
                                       {"rejected", counts.rejected},
                                       {"expired", counts.expired}};
    write_outcomes(writing, source, text, outcomes, sizeof outcomes / sizeof outcomes[0]);
}

static void write_missed(struct writing *writing, const struct source *source, const struct hora__name *name,
                         const char *text)
{
    hora_counts counts = count_of(source, name);
    const struct outcome outcomes[] = {
        {"skipped", counts.skipped}, {"overrun", counts.overrun}, {"stuck", counts.stuck}};
    write_outcomes(writing, source, text, outcomes, sizeof outcomes / sizeof outcomes[0]);
}

static void write_started(struct writing *writing, const struct source *source, const struct hora__name *name,
                          const char *text)
{
    struct hora__metric_label labels[] = {{"pool", source->name}, {"name", text}};
    hora__metrics_int(&writing->out, labels, 2, count_of(source, name).started);
}

/* Writes the outcomes of pools without metrics, from their statistics. These have no names. */
static void write_unmeasured_tasks(struct writing *writing)
{
    for (int i = 0; i < writing->count; i++) {
        const struct source *source = &writing->sources[i];
        const hora_pool_stats *stats = &source->stats;
        if (source->pool_observer != NULL)
            continue;
        const struct outcome outcomes[] = {{"done", stats->done},
                                           {"failed", stats->failed + stats->abandoned},
                                           {"cancelled", stats->cancelled},
                                           {"rejected", stats->rejected}};
        write_outcomes(writing, source, "", outcomes, sizeof outcomes / sizeof outcomes[0]);
    }
}

/* Writes the histogram of a name. The family that is being written, an element of `times`, gives the
 * metric. */
static void write_histogram(struct writing *writing, const struct source *source,
                            const struct hora__name *name, const char *text)
{
    assert(source->pool_observer != NULL);
    struct hora__distribution values = {.count = 0};
    hora_metric measure = (hora_metric)(writing->out.family - times);
    hora__measures_add(source->pool_observer->measures, name, measure, &values);
    struct hora__scale scale = hora__measures_scale(source->pool_observer);
    struct hora__metric_label labels[] = {{"pool", source->name}, {"name", text}};
    hora__metrics_histogram(&writing->out, labels, 2, &values, &scale);
}

/* ---- samples of a pool ---- */

/* Returns the value of a gauge. */
static int64_t gauge_of(const hora_pool_stats *stats, enum gauge gauge)
{
    switch (gauge) {
    case THREADS:
        return stats->threads;
    case ACTIVE:
        return stats->active;
    case QUEUED:
        return stats->queued;
    case CORE_THREADS:
        return stats->core_threads;
    case MAX_THREADS:
    case GAUGES:
    default:
        return stats->max_threads;
    }
}

/* Writes the gauges that all pools have. */
static void write_gauges(struct writing *writing)
{
    for (int gauge = 0; gauge < GAUGES; gauge++) {
        hora__metrics_family(&writing->out, &gauges[gauge]);
        for (int i = 0; i < writing->count; i++) {
            struct hora__metric_label label = {"pool", writing->sources[i].name};
            hora__metrics_int(&writing->out, &label, 1,
                              gauge_of(&writing->sources[i].stats, (enum gauge)gauge));
        }
    }
}

/* Writes `oldest` or `latest` for the pools that have metrics. */
static void write_waiting(struct writing *writing, const struct hora__metric_family *family)
{
    hora__metrics_family(&writing->out, family);
    for (int i = 0; i < writing->count; i++) {
        const struct source *source = &writing->sources[i];
        struct hora__metric_label label = {"pool", source->name};
        if (source->pool_observer != NULL)
            hora__metrics_seconds(&writing->out, &label, 1,
                                  family == &oldest ? source->oldest : source->latest);
    }
}

/* Writes the counters that all pools have. Submissions are read now, after the outcomes were written, so
 * they are not fewer than these. */
static void write_pool_counters(struct writing *writing)
{
    hora__metrics_family(&writing->out, &submitted);
    for (int i = 0; i < writing->count; i++) {
        const hora_pool *pool = writing->sources[i].pool;
        struct hora__metric_label label = {"pool", writing->sources[i].name};
        hora__metrics_int(&writing->out, &label, 1,
                          hora__pool_accepted(pool) + hora__counter_read(&pool->refused));
    }
    hora__metrics_family(&writing->out, &thread_failures);
    for (int i = 0; i < writing->count; i++) {
        struct hora__metric_label label = {"pool", writing->sources[i].name};
        hora__metrics_int(&writing->out, &label, 1, writing->sources[i].stats.thread_failures);
    }
}

/* Returns the number of a class that a family shows. */
static int64_t class_number(const hora_class_info *info, enum of_class family)
{
    switch (family) {
    case CLASS_RUNNING:
        return info->running;
    case CLASS_WAITING:
        return info->waiting;
    case CLASS_LIMIT:
        return info->limit;
    case CLASS_STARTED:
    case CLASS_FAMILIES:
    default:
        return info->started;
    }
}

/* Returns the newest class of a pool; NULL: it has none. Classes live as long as the pool and the list grows
 * only at its front, so the caller may follow it without the lock. */
static hora_class *first_class(hora_pool *pool)
{
    const struct hora__pool_observer *pool_observer = hora__pool_get_observer(pool);
    if (pool_observer == NULL)
        return NULL;
    hora__mutex_lock(&pool->queue->object.lock);
    hora_class *first = pool_observer->classes;
    hora__mutex_unlock(&pool->queue->object.lock);
    return first;
}

/* Returns whether any of the pools has classes. If not, the families of classes are left out. */
static bool has_classes(const struct writing *writing)
{
    for (int i = 0; i < writing->count; i++)
        if (first_class(writing->sources[i].pool) != NULL)
            return true;
    return false;
}

/* Writes one family for all classes of all pools. */
static void write_classes(struct writing *writing, enum of_class family)
{
    hora__metrics_family(&writing->out, &class_families[family]);
    for (int i = 0; i < writing->count; i++) {
        for (hora_class *at = first_class(writing->sources[i].pool); at != NULL; at = at->next) {
            hora_class_info info = HORA_INIT(hora_class_info);
            struct hora__metric_label labels[] = {{"pool", writing->sources[i].name}, {"class", at->name}};
            if (hora_class_get_info(at, &info) == 0)
                hora__metrics_int(&writing->out, labels, 2, class_number(&info, family));
        }
    }
}

/* Writes all families, in a fixed order. */
static void write_all(struct writing *writing)
{
    hora__metrics_family(&writing->out, &tasks);
    write_unmeasured_tasks(writing);
    each_name(writing, write_tasks);
    write_pool_counters(writing);
    hora__metrics_family(&writing->out, &started);
    each_name(writing, write_started);
    hora__metrics_family(&writing->out, &missed);
    each_name(writing, write_missed);
    for (int i = HORA_METRIC_WAIT; i <= HORA_METRIC_RUN; i++) {
        hora__metrics_family(&writing->out, &times[i]);
        each_name(writing, write_histogram);
    }
    write_gauges(writing);
    write_waiting(writing, &oldest);
    write_waiting(writing, &latest);
    for (int family = 0; family < CLASS_FAMILIES && has_classes(writing); family++)
        write_classes(writing, (enum of_class)family);
}

/* ---- the public call ---- */

/* Reads the numbers of a pool that belong together, and its names. Returns 0 or an error. A pool with names
 * needs memory for them, which hora_metrics_write frees. */
static int open_source(hora_pool *pool, struct source *source)
{
    source->stats.struct_size = sizeof source->stats;
    int error = hora_pool_get_stats(pool, &source->stats);
    if (error < 0)
        return error;
    source->pool = pool;
    memcpy(source->name, pool->name, sizeof source->name);
    /* The name of a pool is a prefix for those of its threads: "io-" becomes "io". */
    size_t length = strlen(source->name);
    if (length > 0 && source->name[length - 1] == '-')
        source->name[length - 1] = '\0';
    struct hora__pool_observer *pool_observer = hora__pool_get_observer(pool);
    if (pool_observer == NULL || !pool_observer->options.measured)
        return 0;
    source->name_count = hora__measures_names(pool_observer->measures, &source->names);
    if (source->name_count < 0)
        return source->name_count;
    source->pool_observer = pool_observer;
    hora__measures_waiting(pool, &source->oldest, &source->latest);
    return 0;
}

/* Opens all pools before it writes, so that an error of a pool leaves no incomplete text behind. */
int hora_metrics_write(hora_pool *const *pools, int count, hora_metrics_format format, hora_write_fn write,
                       void *context)
{
    bool is_format = format == HORA_METRICS_OPENMETRICS || format == HORA_METRICS_PROMETHEUS;
    if (count < 0 || (pools == NULL && count > 0) || !is_format || write == NULL)
        return HORA_EINVAL;
    struct writing writing = {.sources = hora__alloc(count > 0 ? (size_t)count : 1, sizeof *writing.sources)};
    int error = writing.sources == NULL ? HORA_ENOMEM : 0;
    for (; error == 0 && writing.count < count; writing.count += error == 0 ? 1 : 0)
        error = open_source(pools[writing.count], &writing.sources[writing.count]);
    if (error == 0) {
        hora__metrics_begin(&writing.out,
                            format == HORA_METRICS_OPENMETRICS ? HORA__OPENMETRICS : HORA__PROMETHEUS, write,
                            context);
        write_all(&writing);
        error = hora__metrics_end(&writing.out);
    }
    for (int i = 0; i < writing.count; i++)
        hora__free(writing.sources[i].names);
    hora__free(writing.sources);
    return error;
}
