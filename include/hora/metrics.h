/* SPDX-License-Identifier: Apache-2.0 */
/* hora/metrics.h - what a pool has measured: how long tasks waited, how late they were, how long they ran,
 * and how many there were
 *
 * For pools made with `.metrics = HORA_METRICS()`. Each worker writes down what it does in memory of its
 * own, without a lock; whoever asks adds it up, and stops nobody. Values are kept in buckets, whose bounds
 * lie less than 13 % apart; count, sum and maximum are exact (a sum that does not fit is INT64_MAX).
 *
 * The name of a task decides what it is measured under: tasks without one, or with an empty one, count for
 * the pool alone. `name` NULL in a call means the whole pool. A name that has not been seen, or came after
 * max_names others, is HORA_ENOENT; the latter are "other". */
#ifndef HORA_METRICS_H
#define HORA_METRICS_H

#include <stdint.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/pool.h>

HORA_BEGIN_DECLS

typedef struct hora_metrics {
    /* set by HORA_METRICS */
    uint32_t struct_size;
    /* how many task names are told apart, at most 65536; names that come later count as "other"; 0: 100 */
    int max_names;
} hora_metrics;

#define HORA_METRICS(...) HORA__LITERAL(hora_metrics, __VA_ARGS__)

typedef enum hora_metric {
    /* from when a task could have begun (it came, or its planned time) until it did */
    HORA_METRIC_WAIT = 0,
    /* the same of scheduled tasks alone: after their planned time */
    HORA_METRIC_LATENESS,
    /* from the beginning of a run to its end */
    HORA_METRIC_RUN,
} hora_metric;

/* As it was at one moment; all zero if there are no values. */
typedef struct hora_distribution {
    /* set by hora_pool_get_distribution */
    uint32_t struct_size;
    int64_t count;
    hora_ns sum;
    hora_ns max;
    hora_ns p50;
    hora_ns p90;
    hora_ns p99;
    hora_ns p999;
} hora_distribution;

/* hora_pool_get_distribution - how values of one kind are distributed
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOTSUP (the pool does not measure), HORA_ENOENT (no such name), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_pool_get_distribution(hora_pool *pool, const char *name, hora_metric measure,
                                                       hora_distribution *ret_distribution);

/* hora_pool_quantile - the value below which a share `q` of all lie: 0.5 is the median, 0 the least, 1 the
 * greatest
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_get_distribution;
 * HORA_EINVAL also for a q not in 0 to 1. */
HORA_NODISCARD HORA_API int hora_pool_quantile(hora_pool *pool, const char *name, hora_metric measure, double q,
                                               hora_ns *ret_value);

/* How many tasks, or runs of series, as of about now: what has ended is counted before what has begun, so
 * done + failed is never more than started. */
typedef struct hora_counts {
    /* set by hora_pool_get_counts */
    uint32_t struct_size;
    /* tasks that came, also those that were rejected */
    int64_t submitted;
    /* runs that have begun */
    int64_t started;
    /* of these, succeeded, */
    int64_t done;
    /* or failed */
    int64_t failed;
    /* tasks */
    int64_t cancelled;
    /* tasks that found neither thread nor room, or came after shutdown */
    int64_t rejected;
    /* tasks that had not begun, or were not done, in their time */
    int64_t expired;
    /* planned times that were missed, and not made up */
    int64_t skipped;
    /* runs that went on for longer than their run_for, */
    int64_t overrun;
    /* or were reported as stuck */
    int64_t stuck;

    /* Of the whole pool, 0 for a name: */
    /* how long the task that has waited longest, and could have begun, has waited until now; 0: none
     * waits. Of a queue with an order of its own only the first tasks are looked at */
    hora_ns oldest;

    /* how much the scheduled task that is most overdue is overdue now; 0: none is */
    hora_ns latest;
} hora_counts;

/* hora_pool_get_counts - all counters of a pool, or of a name
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_get_distribution. */
HORA_NODISCARD HORA_API int hora_pool_get_counts(hora_pool *pool, const char *name, hora_counts *ret_counts);

/* hora_pool_task_names - the names that have been seen, in the order of the alphabet, up to `max` of them;
 * returns how many there are
 *
 * Ownership: the texts belong to the pool.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (names NULL and max > 0, max < 0), HORA_ENOTSUP, HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_task_names(hora_pool *pool, const char **names, int max);

/* The text formats, which no text can follow both: OpenMetrics calls the family of a counter x and its
 * sample x_total, the older format of Prometheus calls both x_total. */
typedef enum hora_metrics_format {
    HORA_METRICS_OPENMETRICS = 0, /* application/openmetrics-text; version=1.0.0; charset=utf-8. Ends with "# EOF" */
    HORA_METRICS_PROMETHEUS,      /* text/plain; version=0.0.4; charset=utf-8 */
} hora_metrics_format;

/* hora_metrics_write - write all that pools have measured, and their sizes, for Prometheus and whatever
 * reads the same
 *
 * Times are in seconds. For each pool, by its name, and each name of a task, "" being those that have none:
 *
 *   hora_tasks_total{pool,name,outcome}       done, failed (runs); cancelled, rejected, expired (tasks)
 *   hora_runs_started_total{pool,name}
 *   hora_runs_missed_total{pool,name,outcome} skipped, overrun, stuck
 *   hora_wait_seconds{pool,name}              histograms: see hora_metric
 *   hora_lateness_seconds{pool,name}
 *   hora_run_seconds{pool,name}
 *
 * and for each pool hora_tasks_submitted_total, hora_thread_failures_total, and as of now hora_threads,
 * hora_threads_active, hora_threads_core, hora_threads_max, hora_queued, hora_oldest_waiting_seconds,
 * hora_latest_seconds; for each class of a pool with admission hora_class_running{pool,class},
 * hora_class_waiting, hora_class_limit and hora_class_started_total. Of a pool that does not measure there
 * is what hora_pool_get_stats knows of it. Numbers of different names may be of different moments.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: As `write` does, with no lock of hora held.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED, and what `write` returns. */
HORA_NODISCARD HORA_API int hora_metrics_write(hora_pool *const *pools, int count, hora_metrics_format format,
                                               hora_write_fn write, void *arg);

HORA_END_DECLS

#endif
