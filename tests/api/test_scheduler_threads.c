/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_threads.c - how many workers a scheduler has, how they are made, and when they end */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler_support.h"

static int other_factory(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    return rig_factory(run, arg, name, context);
}

ON_BOTH_SCHEDULERS(knows_its_factory, "testGetThreadFactory", "")
{
    struct rig r;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .thread_factory = rig_factory));
    CHECK(rig_stats(&r).thread_factory == rig_factory);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(factory_can_be_set, "testSetThreadFactory", "")
{
    struct rig r;
    struct job job = A_JOB(&r);

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK(rig_stats(&r).thread_factory == NULL);
    CHECK_OK(hora_pool_set_thread_factory(r.pool, other_factory, &r));
    CHECK(rig_stats(&r).thread_factory == other_factory);
    r.factory_threads = 1;
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_JOB(&job, 1);
    CHECK_INT(r.factory_made, 1);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(factory_must_not_be_set_to_null, "testSetThreadFactoryNull", "")
{
    struct rig r;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .thread_factory = rig_factory));
    CHECK_ERROR(hora_pool_set_thread_factory(r.pool, NULL, NULL), HORA_EINVAL);
    CHECK(rig_stats(&r).thread_factory == rig_factory);
    rig_close(&r);
}

/* ---- how many ---- */

/* A worker for each task up to core, even if others are idle; and none before the first task. */
TEST(scheduler_starts_a_worker_for_each_task_up_to_its_core, "CP-STPE1")
{
    struct rig r;
    struct job jobs[5] = {A_JOB(&r), A_JOB(&r), A_JOB(&r), A_JOB(&r), A_JOB(&r)};

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    CHECK_INT(rig_stats(&r).threads, 0);
    CHECK_INT(rig_stats(&r).keep_alive, HORA_MS(10));
    for (int i = 0; i < 5; i++) {
        CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[i]), A_WHILE, NULL));
        CHECK_INT(rig_stats(&r).threads, i < 3 ? i + 1 : 3);
        CHECK_INT(rig_stats(&r).queued, i + 1); /* also the first of a worker is queued, and stays so */
        CHECK_INT(rig_stats(&r).active, 0);
    }
    pass(&r, A_LONG_WHILE);
    CHECK_INT(rig_stats(&r).threads, 3); /* core workers stay */
    CHECK_INT(rig_stats(&r).largest, 3);
    rig_close(&r);
}

TEST(scheduler_core_threads_can_be_changed, "CP-STPE1")
{
    struct rig r;
    struct job jobs[4];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    execute_jobs(&r, jobs, 4);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_OK(hora_pool_set_core_threads(r.pool, 3, NULL));
    CHECK_INT(rig_stats(&r).threads, 3);
    CHECK_INT(rig_stats(&r).active, 3);
    CHECK_INT(rig_stats(&r).core_threads, 3);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_OK(hora_pool_set_core_threads(r.pool, 1, NULL));
    pass(&r, HORA_MS(10)); /* surplus workers end after keep_alive at the latest */
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_ERROR(hora_pool_set_core_threads(r.pool, -1, NULL), HORA_EINVAL);
    rig_close(&r);
    for (int i = 0; i < 4; i++)
        CHECK_JOB(&jobs[i], 1);
}

TEST(scheduler_core_threads_can_be_prestarted, "")
{
    struct rig r;
    struct job job = A_JOB(&r);

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    CHECK_INT(hora_pool_prestart(r.pool), 1);
    CHECK_INT(hora_pool_prestart_all(r.pool), 2);
    CHECK_INT(hora_pool_prestart(r.pool), 0);
    CHECK_INT(rig_stats(&r).threads, 3);
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_JOB(&job, 1);
    CHECK_INT(rig_stats(&r).largest, 3);
    rig_close(&r);
}

/* ---- none at all ---- */

TEST(scheduler_without_core_threads_runs_its_tasks,
     "jtreg.ScheduledThreadPoolExecutor/ZeroCorePoolSize CP-STPE2 CP-STPE9")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 0));
    future = schedule_job(&r, &job, A_WHILE);
    CHECK_OK(hora_pool_shutdown(r.pool));
    pass(&r, A_WHILE - 1);
    CHECK_NOT_DONE(future);
    CHECK(!hora_pool_is_terminated(r.pool));
    pass(&r, 1);
    CHECK_DONE(future, 0, &job);
    CHECK(hora_pool_is_terminated(r.pool));
    CHECK_INT(rig_stats(&r).core_threads, 0);
    CHECK_INT(rig_stats(&r).largest, 1);
    CHECK_INT(rig_stats(&r).completed, 1);
    hora_future_unref(future);
    rig_close(&r);
}

/* One worker, for everything, and as long as anything is queued; not longer. */
TEST(scheduler_without_core_threads_has_one_worker_while_it_needs_one, "CP-STPE2")
{
    struct rig r;
    struct job jobs[4];
    hora_future *futures[4];

    rig_prepare(&r, false);
    r.factory_threads = MOST_FACTORY_THREADS;
    CHECK_OK(
        try_scheduler(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 0, .thread_factory = rig_factory), NULL));
    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct job)A_JOB(&r);
        futures[i] = schedule_job(&r, &jobs[i], HORA_HOURS(i + 1));
        CHECK_INT(rig_stats(&r).threads, 1);
    }
    for (int i = 0; i < 4; i++) {
        pass(&r, HORA_HOURS(1));
        CHECK_DONE(futures[i], 0, &jobs[i]);
        hora_future_unref(futures[i]);
    }
    CHECK_INT(r.factory_made, 1); /* it was always the same */
    pass(&r, HORA_MS(10));
    CHECK_INT(rig_stats(&r).threads, 0);
    jobs[0] = (struct job)A_JOB(&r);
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[0]), A_WHILE, NULL));
    CHECK_INT(rig_stats(&r).threads, 1);
    pass(&r, A_WHILE);
    CHECK_JOB(&jobs[0], 1);
    CHECK_INT(r.factory_made, 2);
    rig_close(&r);
}

TEST(scheduler_without_core_threads_runs_series, "CP-STPE2")
{
    struct rig r;
    struct beat beat;
    hora_future *future;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 0));
    beat = (struct beat)A_BEAT(&r, 0);
    CHECK_OK(hora_scheduler_schedule_at_fixed_rate(r.pool, BEAT(&beat), A_WHILE, A_WHILE, &future));
    pass_in_steps(&r, A_WHILE, 5);
    CHECK_BEATS(&beat, A_WHILE, 2 * A_WHILE, 3 * A_WHILE, 4 * A_WHILE, 5 * A_WHILE);
    CHECK_INT(rig_stats(&r).largest, 1);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    pass(&r, HORA_MS(10));
    CHECK_INT(rig_stats(&r).threads, 0);
    hora_future_unref(future);
    rig_close(&r);
}

/* ---- time-out ---- */

static void one_thread_for_a_far_task(bool core_time_out)
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;

    rig_prepare(&r, false);
    r.factory_threads = MOST_FACTORY_THREADS;
    CHECK_OK(
        try_scheduler(&r,
                      HORA_SCHEDULER_OPTIONS(.core_threads = 10, .keep_alive = HORA_MS(1),
                                             .core_time_out = core_time_out, .thread_factory = rig_factory),
                      NULL));
    future = schedule_job(&r, &job, HORA_HOURS(1));
    pass_in_steps(&r, HORA_MS(1), 30);
    CHECK_INT(r.factory_made, 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    pass(&r, HORA_HOURS(1));
    CHECK_DONE(future, 0, &job);
    CHECK_INT(r.factory_made, 1);
    pass(&r, HORA_MS(1));
    CHECK_INT(rig_stats(&r).threads, core_time_out ? 0 : 1);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(scheduler_makes_one_thread_for_one_far_task, "jtreg.ThreadPoolExecutor/ThreadRestarts CP-STPE1 CP-STPE2")
{
    one_thread_for_a_far_task(false);
    one_thread_for_a_far_task(true);
}

/* Three workers have run; two of them time out, the last one keeps watch over the far task. */
TEST(scheduler_core_time_out_leaves_one_while_anything_is_scheduled, "CP-STPE2")
{
    struct rig r;
    struct job jobs[3], far = A_JOB(&r);
    hora_future *future;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 3, .core_time_out = true));
    CHECK_INT(rig_stats(&r).keep_alive, HORA_MS(10));
    execute_jobs(&r, jobs, 3);
    rig_open_gate(&r);
    settle(&r.f);
    future = schedule_job(&r, &far, HORA_HOURS(1));
    CHECK_INT(rig_stats(&r).threads, 3);
    pass(&r, HORA_MS(10));
    CHECK_INT(rig_stats(&r).threads, 1);
    pass(&r, HORA_MINUTES(10));
    CHECK_INT(rig_stats(&r).threads, 1);
    pass(&r, HORA_HOURS(1));
    CHECK_DONE(future, 0, &far);
    pass(&r, HORA_MS(10));
    CHECK_INT(rig_stats(&r).threads, 0);
    hora_future_unref(future);
    rig_close(&r);
}

/* Without tasks the workers end, and new ones start with the next task. */
TEST(scheduler_core_time_out_ends_idle_workers, "")
{
    struct rig r;
    struct job jobs[3], job = A_JOB(&r);

    scheduler_open(
        &r, false,
        HORA_SCHEDULER_OPTIONS(.core_threads = 3, .core_time_out = true, .keep_alive = HORA_MS(50)));
    execute_jobs(&r, jobs, 3);
    rig_open_gate(&r);
    settle(&r.f);
    pass(&r, HORA_MS(50) - 1);
    CHECK_INT(rig_stats(&r).threads, 3);
    pass(&r, 1);
    CHECK_INT(rig_stats(&r).threads, 0);
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_JOB(&job, 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    rig_close(&r);
}

/* ---- threads that cannot be had ---- */

/* There is no thread, and none can be started. No thread would run the task, so it is rejected and the caller
 * keeps it. */
TEST(scheduler_without_a_thread_refuses_tasks, "")
{
    struct rig r;
    struct job jobs[FORMS] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *future = (hora_future *)untouched;

    rig_prepare(&r, false);
    r.factory_error = HORA_EAGAIN;
    CHECK_OK(
        try_scheduler(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .thread_factory = rig_factory), NULL));
    for (int form = ONCE; form < FORMS; form++) {
        CHECK_ERROR(schedule_form(&r, (enum form)form, JOB(&jobs[form]), A_WHILE, A_WHILE, &future),
                    HORA_EAGAIN);
        CHECK_POINTER(future, untouched);
        CHECK_INT(jobs[form].drops, 0);
    }
    CHECK_INT(rig_stats(&r).queued, 0);
    CHECK_INT(rig_stats(&r).accepted, 0);
    CHECK_INT(rig_stats(&r).thread_failures, FORMS);
    CHECK_INT(rig_stats(&r).thread_error, HORA_EAGAIN);
    r.factory_threads = 1; /* later it can */
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[ONCE]), A_WHILE, NULL));
    pass(&r, A_WHILE);
    CHECK_JOB(&jobs[ONCE], 1);
    CHECK_INT(jobs[RATE].runs + jobs[GAP].runs, 0);
    rig_close(&r);
}

/* One thread is enough, even if core_threads says more. */
TEST(scheduler_with_fewer_threads_than_it_wants_works, "")
{
    struct rig r;
    struct job jobs[3] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};

    rig_prepare(&r, false);
    r.factory_error = HORA_EAGAIN;
    r.factory_threads = 1;
    CHECK_OK(
        try_scheduler(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 3, .thread_factory = rig_factory), NULL));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[i]), A_WHILE, NULL));
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).thread_failures, 2);
    pass(&r, A_WHILE);
    for (int i = 0; i < 3; i++)
        CHECK_JOB(&jobs[i], 1);
    rig_close(&r);
}

/* ---- rest ---- */

/* The threads of this process. */
enum { MOST_THREADS = 64 };

struct threads {
    long ids[MOST_THREADS];
    int count;
};

static void list_threads(struct threads *threads)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;

    threads->count = 0;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL)
        if (entry->d_name[0] != '.' && threads->count < MOST_THREADS)
            threads->ids[threads->count++] = strtol(entry->d_name, NULL, 10);
    CHECK(tasks != NULL && closedir(tasks) == 0);
}

/* Returns how often a thread has gone to sleep. */
static long switches_of(long id)
{
    char path[64], line[128];
    long switches = 0;
    FILE *status;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%ld/status", id);
    status = fopen(path, "r");
    if (status == NULL)
        return 0; /* it has ended */
    while (fgets(line, sizeof(line), status) != NULL)
        if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
            switches = strtol(line + 24, NULL, 10);
    (void)fclose(status);
    return switches;
}

static bool is_one_of(const struct threads *threads, long id)
{
    for (int i = 0; i < threads->count; i++)
        if (threads->ids[i] == id)
            return true;
    return false;
}

/* All threads together, but for those that were there before. */
static long switches_of_others(const struct threads *before)
{
    struct threads now;
    long sum = 0;

    list_threads(&now);
    for (int i = 0; i < now.count; i++)
        if (!is_one_of(before, now.ids[i]))
            sum += switches_of(now.ids[i]);
    return sum;
}

/* True if no thread has run in this time. */
static bool is_still(const struct threads *others, hora_ns time)
{
    long before = switches_of_others(others);

    (void)hora_clock_sleep(NULL, time);
    return before > 0 && switches_of_others(others) == before; /* 0: they are not counted */
}

static int threads_of(hora_scheduler *scheduler)
{
    hora_pool_stats stats = {.struct_size = sizeof(hora_pool_stats), .threads = -1};

    CHECK_OK(hora_pool_get_stats(scheduler, &stats));
    return stats.threads;
}

/* True if at some time there is this number of threads and none runs for a second. When that is depends on
 * the machine: a thread that does not run may be about to. A thread that polls wakes up in every second. */
static bool comes_to_rest(hora_scheduler *scheduler, const struct threads *others, int threads)
{
    hora_ns end = hora_clock_now(NULL) + test_scale(HORA_SECONDS(15));

    while (hora_clock_now(NULL) < end)
        if (is_still(others, HORA_MS(100)) && threads_of(scheduler) == threads &&
            is_still(others, HORA_SECONDS(1)))
            return threads_of(scheduler) == threads;
    return false;
}

static void check_sleeps(const hora_scheduler_options *options, int threads)
{
    hora_scheduler *scheduler;
    struct job job = A_JOB(NULL);
    struct threads others;

    list_threads(&others);
    CHECK_OK(hora_scheduler_new(options, &scheduler, NULL));
    (void)hora_pool_prestart_all(scheduler);
    CHECK_OK(hora_scheduler_schedule(scheduler, JOB(&job), HORA_HOURS(1), NULL));
    if (!comes_to_rest(scheduler, &others, threads))
        test_fail(__FILE__, __LINE__, "%d workers, which should be %d, never come to rest",
                  threads_of(scheduler), threads);
    CHECK_INT(hora_pool_free(scheduler), 1);
    CHECK_JOB(&job, 0);
}

/* With one task that is far away, no thread wakes up to check whether it has come nearer. */
TEST_REAL(scheduler_with_a_far_task_sleeps, "CP-STPE2")
{
    check_sleeps(HORA_SCHEDULER_OPTIONS(.core_threads = 2), 2);
    check_sleeps(HORA_SCHEDULER_OPTIONS(.core_threads = 0), 1);
    check_sleeps(HORA_SCHEDULER_OPTIONS(.core_threads = 2, .core_time_out = true, .keep_alive = HORA_MS(1)),
                 1);
}

/* ---- real time ---- */

struct real_task {
    hora_ns asked, delay;
    atomic_int runs;
    hora_latch *all;
};

static int check_not_early(void *arg, void **ret_result)
{
    struct real_task *task = arg;
    hora_ns now = hora_clock_now(NULL);

    (void)ret_result;
    if (now - task->asked < task->delay)
        test_fail(__FILE__, __LINE__, "early by %lld ns", (long long)(task->delay - (now - task->asked)));
    atomic_fetch_add(&task->runs, 1);
    return hora_latch_count_down(task->all);
}

TEST_REAL(scheduler_real_tasks_are_never_early, "CP-STPE3")
{
    enum { TASKS = 500 };
    static struct real_task tasks[TASKS];
    hora_scheduler *scheduler;
    hora_latch *all;

    CHECK_OK(hora_latch_new(TASKS, NULL, &all, NULL));
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 3), &scheduler, NULL));
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (struct real_task){
            .delay = (hora_ns)test_random(30000000), .asked = hora_clock_now(NULL), .all = all};
        CHECK_OK(
            hora_scheduler_schedule(scheduler, HORA_TASK(check_not_early, &tasks[i]), tasks[i].delay, NULL));
    }
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER)); /* waits for all of them */
    for (int i = 0; i < TASKS; i++)
        CHECK_INT(tasks[i].runs, 1);
    CHECK_OK(hora_pool_free(scheduler));
    CHECK_OK(hora_latch_free(all));
}
