/* SPDX-License-Identifier: Apache-2.0 */
/* test_measure_counts.c - names of tasks and counters, of pools that measure */
#include <string.h>

#include "measure_support.h"

/* ---- names ---- */

TEST(measures_know_names_by_their_texts, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1);
    struct work quick = {&r, 0, 0};
    char text[16] = "beta", copy[16] = "alpha";
    const char *names[4];

    CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, text)));
    CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, "alpha")));
    CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, copy)));
    settle(&r.f);
    strcpy(text, "gamma"); /* the same address is another name now */
    CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, text)));
    settle(&r.f);
    CHECK_INT(counted(&r, "alpha").done, 2);
    CHECK_INT(counted(&r, "alpha").submitted, 2);
    CHECK_INT(counted(&r, "beta").done, 1);
    CHECK_INT(counted(&r, "gamma").done, 1);
    CHECK_INT(hora_pool_task_names(r.pool, names, 4), 3);
    CHECK(strcmp(names[0], "alpha") == 0 && strcmp(names[1], "beta") == 0 && strcmp(names[2], "gamma") == 0);
    CHECK_INT(hora_pool_task_names(r.pool, NULL, 0), 3);
    CHECK_INT(hora_pool_task_names(r.pool, names, 1), 3);
    rig_close(&r);
}

TEST(measures_call_names_beyond_the_bound_other, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2, .metrics = HORA_METRICS(.max_names = 2)));
    struct work quick = {&r, 0, 0};
    hora_counts counts = HORA_INIT(hora_counts);
    const char *names[4];

    CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, "one")));
    CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, "two")));
    settle(&r.f);
    CHECK_INT(hora_pool_task_names(r.pool, names, 4), 2);
    CHECK_INT(hora_pool_get_counts(r.pool, "other", &counts), HORA_ENOENT);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, "three")));
        CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, "four")));
    }
    settle(&r.f);
    CHECK_INT(hora_pool_get_counts(r.pool, "three", &counts), HORA_ENOENT);
    CHECK_INT(counted(&r, "other").done, 4);
    CHECK_INT(counted(&r, "other").submitted, 4);
    CHECK_INT(counted(&r, NULL).done, 6);
    CHECK_INT(hora_pool_task_names(r.pool, names, 4), 3);
    CHECK(strcmp(names[0], "one") == 0 && strcmp(names[1], "other") == 0 && strcmp(names[2], "two") == 0);
    rig_close(&r);
}

/* ---- workers that start and end ---- */

TEST(measures_keep_what_a_worker_has_measured, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1, .core_time_out = true, .keep_alive = HORA_MS(1));
    struct work quick = {&r, HORA_MS(2), 0};

    for (int i = 1; i <= 4; i++) {
        CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, i % 2 == 0 ? "even" : NULL)));
        settle(&r.f);
        pass(&r, HORA_MS(2));
        pass(&r, HORA_MS(2)); /* the worker leaves */
        CHECK_INT(rig_stats(&r).threads, 0);
        CHECK_MEASURE(&r, NULL, RUN, i, i * HORA_MS(2), HORA_MS(2));
        CHECK_INT(counted(&r, NULL).done, i);
    }
    CHECK_MEASURE(&r, "even", RUN, 2, HORA_MS(4), HORA_MS(2));
    rig_close(&r);
}

TEST(measures_add_up_several_workers, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 3);
    struct work works[3];

    for (int i = 0; i < 3; i++) {
        works[i] = (struct work){&r, HORA_MS(1 + i), 0};
        CHECK_OK(hora_pool_execute(r.pool, WORK(&works[i], "all")));
    }
    settle(&r.f);
    pass_in_steps(&r, HORA_MS(1), 3);
    CHECK_MEASURE(&r, "all", RUN, 3, HORA_MS(6), HORA_MS(3));
    CHECK_MEASURE(&r, NULL, RUN, 3, HORA_MS(6), HORA_MS(3));
    rig_close(&r);
}

/* ---- counters ---- */

TEST(measures_count_what_is_rejected, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1, .max_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_ABORT);
    struct work slow = {&r, HORA_MS(5), 0};

    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, "a")));
    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, "a")));
    CHECK_INT(hora_pool_execute(r.pool, WORK(&slow, "b")), HORA_EREJECTED);
    CHECK_INT(hora_pool_execute(r.pool, WORK(&slow, NULL)), HORA_EREJECTED);
    CHECK_INT(counted(&r, "a").rejected, 0);
    CHECK_INT(counted(&r, "b").rejected, 1);
    CHECK_INT(counted(&r, "b").submitted, 1);
    CHECK_INT(counted(&r, NULL).rejected, 2);
    CHECK_INT(counted(&r, NULL).submitted, 4);
    pass_in_steps(&r, HORA_MS(5), 2);
    rig_close(&r);
}

/* The oldest task had been accepted: it is rejected later, but counts as submitted once. */
TEST(measures_count_each_task_once_that_is_dropped_for_another, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1, .max_threads = 1, .queue_capacity = 1,
                  .reject = HORA_REJECT_DISCARD_OLDEST);
    struct work slow = {&r, HORA_MS(5), 0};

    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, "a")));
    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, "b")));
    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, "c")));
    CHECK_INT(counted(&r, NULL).submitted, 3);
    CHECK_INT(counted(&r, NULL).rejected, 1);
    CHECK_INT(counted(&r, "b").rejected, 1);
    CHECK_INT(counted(&r, "c").rejected, 0);
    CHECK_INT(counted(&r, "c").submitted, 1);
    pass_in_steps(&r, HORA_MS(5), 2);
    rig_close(&r);
}

TEST(measures_count_what_is_cancelled, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1);
    struct job first = A_WAITING_JOB(&r), second = A_JOB(&r);
    hora_future *runs = submit_job(&r, &first), *waits = submit_job(&r, &second);

    settle(&r.f);
    CHECK_INT(hora_future_cancel(waits, false), HORA_CANCEL_REMOVED);
    CHECK_INT(counted(&r, "job").cancelled, 1);
    CHECK_INT(hora_future_cancel(runs, true), HORA_CANCEL_INTERRUPTED);
    CHECK_INT(hora_future_cancel(runs, true), HORA_CANCEL_TOO_LATE);
    CHECK_INT(counted(&r, "job").cancelled, 2);
    CHECK_INT(counted(&r, NULL).cancelled, 2);
    settle(&r.f);
    CHECK_INT(counted(&r, NULL).started, 1);
    hora_future_unref(runs);
    hora_future_unref(waits);
    rig_close(&r);
}

TEST(measures_count_scheduled_tasks_that_shutdown_cancels, "")
{
    for (int detached = 0; detached < 2; detached++) {
        struct rig r;
        hora_future *future = NULL;
        scheduler_open(
            &r, false,
            HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true, .metrics = HORA_METRICS()));
        struct work quick = {&r, 0, 0};
        CHECK_OK(hora_scheduler_schedule(r.pool, WORK(&quick, "never"), HORA_SECONDS(1),
                                         detached ? NULL : &future));
        settle(&r.f);
        CHECK_OK(hora_pool_shutdown(r.pool));
        settle(&r.f);
        CHECK_INT(counted(&r, "never").cancelled, 1);
        CHECK_INT(counted(&r, NULL).cancelled, 1);
        CHECK_INT(counted(&r, NULL).started, 0);
        hora_future_unref(future);
        rig_close(&r);
    }
}

static void check_oldest(int (*give)(hora_pool *pool, const hora_task *task), int capacity)
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1, .max_threads = 1, .queue_capacity = capacity);
    struct work slow = {&r, HORA_MS(10), 0};

    CHECK_INT(counted(&r, NULL).oldest, 0);
    CHECK_OK(give(r.pool, WORK(&slow, NULL)));
    settle(&r.f);
    CHECK_INT(counted(&r, NULL).oldest, 0);
    pass(&r, HORA_MS(1));
    CHECK_OK(give(r.pool, WORK(&slow, NULL)));
    pass(&r, HORA_MS(2));
    CHECK_OK(give(r.pool, WORK(&slow, NULL)));
    CHECK_INT(counted(&r, NULL).oldest, HORA_MS(2));
    pass(&r, HORA_MS(7));
    CHECK_INT(counted(&r, NULL).oldest, HORA_MS(7)); /* the first one has begun */
    CHECK_INT(counted(&r, NULL).latest, 0);
    pass_in_steps(&r, HORA_MS(10), 2);
    CHECK_INT(counted(&r, NULL).oldest, 0);
    rig_close(&r);
}

TEST(measures_know_the_oldest_that_waits, "")
{
    check_oldest(hora_pool_execute, 0);
    check_oldest(submit_unseen, 0);
    check_oldest(submit_unseen, 5);
}

/* ---- errors ---- */

TEST(measures_refuse_what_makes_no_sense, "")
{
    struct rig r;
    hora_distribution distribution = HORA_INIT(hora_distribution);
    hora_counts counts = HORA_INIT(hora_counts);
    hora_ns value;
    const char *names[1];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()));
    CHECK_INT(hora_pool_get_distribution(r.pool, NULL, HORA_METRIC_WAIT, &distribution), HORA_ENOTSUP);
    CHECK_INT(hora_pool_get_counts(r.pool, NULL, &counts), HORA_ENOTSUP);
    CHECK_INT(hora_pool_task_names(r.pool, names, 1), HORA_ENOTSUP);
    rig_close(&r);
    OPEN_MEASURED(&r, .core_threads = 1);
    CHECK_INT(hora_pool_get_distribution(NULL, NULL, HORA_METRIC_WAIT, &distribution), HORA_EINVAL);
    CHECK_INT(hora_pool_get_distribution(r.pool, NULL, HORA_METRIC_WAIT, NULL), HORA_EINVAL);
    CHECK_INT(hora_pool_get_distribution(r.pool, NULL, (hora_metric)3, &distribution), HORA_EINVAL);
    CHECK_INT(hora_pool_get_distribution(r.pool, "unknown", HORA_METRIC_WAIT, &distribution), HORA_ENOENT);
    CHECK_INT(hora_pool_quantile(r.pool, NULL, HORA_METRIC_RUN, -0.1, &value), HORA_EINVAL);
    CHECK_INT(hora_pool_quantile(r.pool, NULL, HORA_METRIC_RUN, 1.1, &value), HORA_EINVAL);
    CHECK_INT(hora_pool_quantile(r.pool, NULL, HORA_METRIC_RUN, 0.5, NULL), HORA_EINVAL);
    CHECK_INT(hora_pool_quantile(r.pool, "unknown", HORA_METRIC_RUN, 0.5, &value), HORA_ENOENT);
    CHECK_INT(hora_pool_get_counts(r.pool, NULL, NULL), HORA_EINVAL);
    CHECK_INT(hora_pool_get_counts(r.pool, "unknown", &counts), HORA_ENOENT);
    CHECK_INT(hora_pool_task_names(r.pool, names, -1), HORA_EINVAL);
    CHECK_INT(hora_pool_task_names(r.pool, NULL, 1), HORA_EINVAL);
    CHECK_INT(hora_pool_task_names(r.pool, names, 1), 0);
    rig_close(&r);
}

TEST(measures_give_quantiles, "")
{
    struct rig r;
    hora_ns least, median, most;
    OPEN_MEASURED(&r, .core_threads = 1);
    struct work works[10];

    for (int i = 0; i < 10; i++) {
        works[i] = (struct work){&r, HORA_MS(1 + i), 0};
        CHECK_OK(hora_pool_execute(r.pool, WORK(&works[i], NULL)));
        settle(&r.f);
        pass(&r, HORA_MS(1 + i));
    }
    CHECK_OK(hora_pool_quantile(r.pool, NULL, HORA_METRIC_RUN, 0, &least));
    CHECK_OK(hora_pool_quantile(r.pool, NULL, HORA_METRIC_RUN, 0.5, &median));
    CHECK_OK(hora_pool_quantile(r.pool, NULL, HORA_METRIC_RUN, 1, &most));
    CHECK(least > HORA_US(870) && least < HORA_US(1130));
    CHECK(median > HORA_US(4350) && median < HORA_US(5650));
    CHECK_INT(most, HORA_MS(10));
    hora_distribution runs = measured(&r, NULL, HORA_METRIC_RUN);
    CHECK_INT(runs.p50, median);
    CHECK(runs.p90 >= runs.p50 && runs.p99 >= runs.p90 && runs.p999 >= runs.p99 && runs.max >= runs.p999);
    rig_close(&r);
}

struct page {
    char text[32768];
    size_t length;
    int calls_left; /* then it fails */
};

static int write_page(const char *text, size_t length, void *context)
{
    struct page *page = context;
    if (page->calls_left-- <= 0 || page->length + length >= sizeof page->text)
        return HORA_EFULL;
    memcpy(page->text + page->length, text, length);
    page->length += length;
    page->text[page->length] = '\0';
    return 0;
}

/* Without memory for a name or its sheet, it counts for the pool all the same. */
SWEEP(measures_survive)
{
    hora_pool *pool;
    hora_counts counts = HORA_INIT(hora_counts);
    const char *names[2];
    const hora_pool_options *options =
        HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 1, .metrics = HORA_METRICS());
    if (hora_pool_new(options, &pool, NULL) < 0)
        return;
    int accepted = 0;
    struct work quick = {NULL, 0, 0};
    for (int i = 0; i < 3; i++)
        accepted += hora_pool_execute(pool, WORK(&quick, i == 1 ? NULL : "named")) == 0 ? 1 : 0;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    bool has_thread = stats.threads > 0; /* otherwise no thread will ever run the queued tasks */
    CHECK_OK(has_thread ? hora_pool_shutdown(pool) : hora_pool_shutdown_now(pool, NULL));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_get_counts(pool, NULL, &counts));
    CHECK_INT(counts.done, has_thread ? accepted : 0);
    CHECK_INT(counts.started, counts.done);
    CHECK_INT(counts.submitted, accepted);
    int named = hora_pool_task_names(pool, names, 2);
    CHECK(named == 0 || named == 1 || named == HORA_ENOMEM);
    struct page page = {.calls_left = INT32_MAX};
    int written = hora_metrics_write(&pool, 1, HORA_METRICS_OPENMETRICS, write_page, &page);
    CHECK(written == 0 || (written == HORA_ENOMEM && page.length == 0));
    CHECK_INT(hora_pool_free(pool), has_thread ? 0 : accepted);
}

/* ---- metrics ---- */

TEST(metrics_are_written_of_pools, "")
{
    struct rig r;
    struct page page = {.calls_left = INT32_MAX};
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .name = "io", .metrics = HORA_METRICS()));
    struct work quick = {&r, HORA_MS(2), 0};

    CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, "resize")));
    CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, "resize")));
    settle(&r.f);
    pass(&r, HORA_MS(1));
    CHECK_OK(hora_metrics_write(&r.pool, 1, HORA_METRICS_OPENMETRICS, write_page, &page));
    CHECK(strstr(page.text, "hora_tasks_total{pool=\"io\",name=\"resize\",outcome=\"done\"} 0\n") != NULL);
    CHECK(strstr(page.text, "hora_runs_started_total{pool=\"io\",name=\"resize\"} 1\n") != NULL);
    CHECK(strstr(page.text, "hora_tasks_submitted_total{pool=\"io\"} 2\n") != NULL);
    CHECK(strstr(page.text, "hora_queued{pool=\"io\"} 1\n") != NULL);
    CHECK(strstr(page.text, "hora_oldest_waiting_seconds{pool=\"io\"} 0.001\n") != NULL);
    CHECK(strcmp(page.text + page.length - 6, "# EOF\n") == 0);
    pass(&r, HORA_MS(1));
    pass(&r, HORA_MS(2));
    page.length = 0;
    CHECK_OK(hora_metrics_write(&r.pool, 1, HORA_METRICS_PROMETHEUS, write_page, &page));
    CHECK(strstr(page.text, "# TYPE hora_tasks_total counter\n") != NULL);
    CHECK(strstr(page.text, "hora_tasks_total{pool=\"io\",name=\"resize\",outcome=\"done\"} 2\n") != NULL);
    CHECK(strstr(page.text, "hora_run_seconds_bucket{pool=\"io\",name=\"resize\",le=\"0.001\"} 0\n") != NULL);
    CHECK(strstr(page.text, "hora_run_seconds_bucket{pool=\"io\",name=\"resize\",le=\"0.005\"} 2\n") != NULL);
    CHECK(strstr(page.text, "hora_run_seconds_sum{pool=\"io\",name=\"resize\"} 0.004\n") != NULL);
    CHECK(strstr(page.text, "hora_wait_seconds_sum{pool=\"io\",name=\"resize\"} 0.002\n") != NULL);
    CHECK(strstr(page.text, "# EOF") == NULL);
    rig_close(&r);
}

TEST(metrics_refuse_what_makes_no_sense, "")
{
    struct rig r;
    struct page page = {.calls_left = 1};
    OPEN_MEASURED(&r, .core_threads = 1);
    hora_pool *none = NULL;

    CHECK_INT(hora_metrics_write(NULL, 1, HORA_METRICS_OPENMETRICS, write_page, &page), HORA_EINVAL);
    CHECK_INT(hora_metrics_write(&none, 1, HORA_METRICS_OPENMETRICS, write_page, &page), HORA_EINVAL);
    CHECK_INT(hora_metrics_write(&r.pool, -1, HORA_METRICS_OPENMETRICS, write_page, &page), HORA_EINVAL);
    CHECK_INT(hora_metrics_write(&r.pool, 1, (hora_metrics_format)2, write_page, &page), HORA_EINVAL);
    CHECK_INT(hora_metrics_write(&r.pool, 1, HORA_METRICS_OPENMETRICS, NULL, &page), HORA_EINVAL);
    CHECK_INT(page.length, 0);
    CHECK_INT(hora_metrics_write(&r.pool, 1, HORA_METRICS_OPENMETRICS, write_page, &page), HORA_EFULL);
    CHECK_INT(page.calls_left, -1); /* it was not called again */
    page = (struct page){.calls_left = INT32_MAX};
    CHECK_OK(hora_metrics_write(NULL, 0, HORA_METRICS_PROMETHEUS, write_page,
                                &page)); /* families without samples */
    rig_close(&r);
}
