/* SPDX-License-Identifier: Apache-2.0 */
/* hora/metrics.h - pool metrics: how long tasks waited and ran, how late they were, how many there were
 *
 *     hora_distribution wait = HORA_INIT(hora_distribution);
 *     hora_pool_get_distribution(pool, "resize", HORA_METRIC_WAIT, &wait);
 *
 * For pools created with `.metrics = HORA_METRICS()`. Each worker records its measurements in its own memory
 * without a lock. A reader adds them up without stopping the workers. Values are kept in histogram buckets
 * whose bounds are less than 13 % apart. Count, sum and maximum are exact (a sum that overflows is
 * INT64_MAX).
 *
 * Tasks are grouped by name. Tasks without a name, or with an empty one, count only for the pool as a whole.
 * In calls, a NULL `name` means the whole pool. A name that has not been seen yields HORA_ENOENT. So does one
 * that appeared after max_names others: such names are counted together under "other". */
#ifndef HORA_METRICS_H
#define HORA_METRICS_H

#include <stdint.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/pool.h>

HORA_BEGIN_DECLS

/* The option `metrics` of pools and schedulers. */
typedef struct hora_metrics {
    /* sizeof(hora_metrics), set by HORA_METRICS */
    uint32_t struct_size;
    /* maximum number of distinct task names, at most 65536; later names count as "other". 0 means 100 */
    int max_names;
} hora_metrics;

/* HORA_METRICS() or HORA_METRICS(.max_names = n): an options literal. */
#define HORA_METRICS(...) HORA__LITERAL(hora_metrics, __VA_ARGS__)

/* What is measured. */
typedef enum hora_metric {
    /* from the time a task could have started (its submission or its planned time) until it started */
    HORA_METRIC_WAIT = 0,
    /* the same for scheduled tasks only: from the planned time until the start */
    HORA_METRIC_LATENESS,
    /* from the start of a run to its end */
    HORA_METRIC_RUN,
} hora_metric;

/* The distribution of a metric at one moment. All values are zero if nothing has been measured. */
typedef struct hora_distribution {
    /* sizeof(hora_distribution), set by HORA_INIT */
    uint32_t struct_size;
    /* number of measured values */
    int64_t count;
    /* sum of all values; INT64_MAX if it overflows */
    hora_ns sum;
    /* the largest value */
    hora_ns max;
    /* the median, accurate to 13 %, like the three values below */
    hora_ns p50;
    /* the value that 90 % of all values do not exceed */
    hora_ns p90;
    /* the same for 99 % */
    hora_ns p99;
    /* the same for 99.9 % */
    hora_ns p999;
} hora_distribution;

/* hora_pool_get_distribution - get the distribution of one metric
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also if *ret_distribution was not initialized with HORA_INIT), HORA_ENOTSUP (the pool
 * has no metrics), HORA_ENOENT (unknown name), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_pool_get_distribution(hora_pool *pool, const char *name, hora_metric measure,
                                                       hora_distribution *ret_distribution);

/* hora_pool_quantile - return the value below which a fraction `q` of all values lie
 *
 * 0.5 yields the median, 0 the minimum and 1 the maximum. The value is 0 if nothing has been measured.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_pool_get_distribution; also HORA_EINVAL if q is not between 0 and 1. */
HORA_NODISCARD HORA_API int hora_pool_quantile(hora_pool *pool, const char *name, hora_metric measure,
                                               double q, hora_ns *ret_value);

/* Numbers of tasks, or of runs of series, since the pool was created. They are read while the workers
 * continue, so they may be of slightly different moments. Completed runs are read before started runs, so
 * done + failed never exceeds started. */
typedef struct hora_counts {
    /* sizeof(hora_counts), set by HORA_INIT */
    uint32_t struct_size;
    /* submitted tasks, including rejected ones */
    int64_t submitted;
    /* started runs */
    int64_t started;
    /* successful runs */
    int64_t done;
    /* failed runs */
    int64_t failed;
    /* cancelled tasks */
    int64_t cancelled;
    /* tasks that found neither a thread nor room, or were submitted after shutdown */
    int64_t rejected;
    /* tasks that did not start or finish within their time limits */
    int64_t expired;
    /* planned times that were missed and not made up */
    int64_t skipped;
    /* runs that exceeded their run_limit */
    int64_t overrun;
    /* runs that were reported as stuck */
    int64_t stuck;

    /* The following two fields describe the whole pool and are 0 for a name. */

    /* how long the longest-waiting task that could start has waited so far; 0 if none is waiting. In a queue
     * with its own order, only the first tasks are examined */
    hora_ns oldest;

    /* how late the most overdue scheduled task is at this moment; 0 if none is overdue, and in a pool that is
     * not a scheduler */
    hora_ns latest;
} hora_counts;

/* hora_pool_get_counts - get all counters of a pool or of a task name
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_pool_get_distribution. */
HORA_NODISCARD HORA_API int hora_pool_get_counts(hora_pool *pool, const char *name, hora_counts *ret_counts);

/* hora_pool_task_names - list up to `max` known task names in alphabetical order
 *
 * Returns how many there are, which may be more than `max`. If `max` is 0, the call only counts them, and
 * `names` may be NULL.
 *
 * Ownership: the texts belong to the pool.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (names is NULL and max > 0; max < 0), HORA_ENOTSUP, HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_task_names(hora_pool *pool, const char **names, int max);

/* Text formats. The two are incompatible: OpenMetrics names a counter family x and its sample x_total,
 * whereas the older Prometheus format names both x_total. */
typedef enum hora_metrics_format {
    /* application/openmetrics-text; version=1.0.0; charset=utf-8. Ends with "# EOF" */
    HORA_METRICS_OPENMETRICS = 0,
    /* text/plain; version=0.0.4; charset=utf-8 */
    HORA_METRICS_PROMETHEUS,
} hora_metrics_format;

/* hora_metrics_write - write the metrics and sizes of pools for Prometheus and compatible readers
 *
 * Times are in seconds. For each pool, by its name, and for each task name ("" for tasks without a name):
 *
 *   hora_tasks_total{pool,name,outcome}        done, failed (runs); cancelled, rejected, expired (tasks)
 *   hora_runs_started_total{pool,name}
 *   hora_runs_missed_total{pool,name,outcome}  skipped, overrun, stuck
 *   hora_wait_seconds{pool,name}               histograms: see hora_metric
 *   hora_lateness_seconds{pool,name}
 *   hora_run_seconds{pool,name}
 *
 * For each pool: hora_tasks_submitted_total, hora_thread_failures_total, and the current values hora_threads,
 * hora_threads_active, hora_threads_core, hora_threads_max, hora_queued, hora_oldest_waiting_seconds and
 * hora_latest_seconds. For each class of a pool with admission: hora_class_running{pool,class},
 * hora_class_waiting, hora_class_limit and hora_class_started_total. For a pool without metrics, the output
 * contains what hora_pool_get_stats provides. Numbers of different names may be of different moments.
 * docs/guide/seeing.md shows useful queries.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: As `write` does, with no hora lock held.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED, and what `write` returns. */
HORA_NODISCARD HORA_API int hora_metrics_write(hora_pool *const *pools, int count, hora_metrics_format format,
                                               hora_write_fn write, void *arg);

HORA_END_DECLS

#endif
