/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_measures.c - threads that read the measurements of a pool, against the workers that write them
 *
 * Sums never decrease, and are never ahead of the counts that they follow from. At the end they are complete.
 * A reader sees a consistent description of what a worker runs. */

#include <string.h>

#include <hora/explain.h>
#include <hora/latch.h>
#include <hora/metrics.h>

#include "harness.h"
#include "observe/names.h"

enum { READINGS = 2 };

static hora_pool *pool;

static int work(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static void open(hora_pool_options options)
{
    options.metrics = HORA_METRICS();
    CHECK_OK(hora_pool_new(&options, &pool, NULL));
}

#define OPEN(...) open(*HORA_POOL_OPTIONS(__VA_ARGS__))

/* All that came has been done, and is measured. */
static void check_end(int tasks, int named)
{
    hora_counts counts = HORA_INIT(hora_counts);
    hora_distribution runs = HORA_INIT(hora_distribution);
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_get_counts(pool, NULL, &counts));
    CHECK_INT(counts.submitted, tasks);
    CHECK_INT(counts.started, tasks);
    CHECK_INT(counts.done, tasks);
    CHECK_OK(hora_pool_get_distribution(pool, NULL, HORA_METRIC_RUN, &runs));
    CHECK_INT(runs.count, tasks);
    CHECK_OK(hora_pool_get_counts(pool, "named", &counts));
    CHECK_INT(counts.submitted, named);
    CHECK_INT(counts.done, named);
    CHECK_OK(hora_pool_free(pool));
}

static void read_again_and_again(void *arg)
{
    hora_counts before = HORA_INIT(hora_counts);
    (void)arg;
    for (int i = 0; i < READINGS; i++) {
        hora_counts now = HORA_INIT(hora_counts);
        hora_distribution runs = HORA_INIT(hora_distribution);
        CHECK_OK(hora_pool_get_distribution(pool, NULL, HORA_METRIC_RUN, &runs));
        CHECK_OK(hora_pool_get_counts(pool, NULL, &now));
        CHECK(runs.count <= now.done + now.failed);
        CHECK(now.done + now.failed <= now.started);
        CHECK(now.started <= now.submitted);
        CHECK(now.submitted >= before.submitted && now.started >= before.started && now.done >= before.done);
        before = now;
    }
}

static void execute_named(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(work, NULL, .name = "named")));
}

SCENARIO(measures_are_read_while_they_are_written)
{
    OPEN(.core_threads = 1);
    test_thread *reader = test_thread_start(NULL, read_again_and_again, NULL);
    execute_named(NULL);
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(work, NULL)));
    test_thread_join(reader);
    check_end(2, 1);
}

static struct hora__names names;

static void get_name(void *arg)
{
    *(struct hora__name **)arg = hora__names_get(&names, "named");
}

/* Both see it for the first time. */
SCENARIO(names_that_two_bring_are_one)
{
    struct hora__name *first, *second;
    memset(&names, 0, sizeof names);
    CHECK_OK(hora__names_init(&names, 1));
    test_thread *other = test_thread_start(NULL, get_name, &second);
    get_name(&first);
    test_thread_join(other);
    CHECK_POINTER(first, second);
    CHECK_POINTER(hora__names_find(&names, "named"), first);
    CHECK_POINTER(hora__names_newest(&names), first);
    CHECK_POINTER(first->next, &names.other);
    CHECK_POINTER(hora__names_get(&names, "one more"), &names.other);
    hora__names_destroy(&names);
}

/* A worker leaves when it has nothing to do, and another one continues with its histograms; or both exist at
 * the same time. */
LARGE_SCENARIO(measures_of_workers_that_come_and_go)
{
    OPEN(.core_threads = 2, .core_time_out = true, .keep_alive = 1);
    execute_named(NULL);
    execute_named(NULL);
    read_again_and_again(NULL);
    check_end(2, 2);
}

static hora_latch *arrived, *gate;

static int stand_at_gate(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    CHECK_OK(hora_latch_count_down(arrived));
    return hora_latch_await(gate);
}

/* Each run has its number as a name, so that a reader that mixes two runs is detected. */
SCENARIO(what_a_worker_runs_is_read_whole)
{
    hora_worker_info info = HORA_INIT(hora_worker_info);
    CHECK_OK(hora_latch_new(1, NULL, &arrived, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &gate, NULL));
    OPEN(.core_threads = 1);
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(stand_at_gate, NULL, .name = "1")));
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(work, NULL, .name = "2")));
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(work, NULL, .name = "3")));
    CHECK_OK(hora_latch_await(arrived));
    CHECK_OK(hora_latch_count_down(gate));
    if (hora_pool_workers(pool, &info, 1) == 1 && info.running)
        CHECK_INT(info.name[0] - '0', info.runs);
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    CHECK_OK(hora_latch_free(arrived));
    CHECK_OK(hora_latch_free(gate));
}
