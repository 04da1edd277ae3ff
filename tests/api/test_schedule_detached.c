/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_detached.c - scheduled tasks without a future: they end like all others, in the same order
 *
 * A view of the queue shows futures for them. */
#include <pthread.h>
#include <string.h>

#include "scheduler_support.h"

enum { JOBS = 4 };

static void open_plain(struct rig *r)
{
    scheduler_open(r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
}

/* Jobs for which no caller has a future, at intervals, the last of them first. */
static void schedule_jobs(struct rig *r, struct job *jobs)
{
    for (int i = JOBS - 1; i >= 0; i--) {
        jobs[i] = (struct job)A_JOB(r);
        CHECK_OK(hora_scheduler_schedule(r->pool, JOB(&jobs[i]), (i + 1) * A_WHILE, NULL));
    }
}

static void check_jobs(struct job *jobs, int runs)
{
    for (int i = 0; i < JOBS; i++) {
        CHECK_JOB(&jobs[i], runs);
        CHECK_INT(jobs[i].result_drops, runs);
    }
}

/* ---- endings ---- */

TEST(schedule_detached_ends_by_its_code, "")
{
    struct rig r;
    static const int codes[] = {0, 7, HORA_ECANCELED, HORA_EREJECTED, HORA_EABANDONED};
    enum { CODES = sizeof(codes) / sizeof(codes[0]) };
    struct job jobs[2 * CODES];

    open_plain(&r);
    for (int i = 0; i < 2 * CODES; i++) {
        jobs[i] = (struct job){.rig = &r, .code = codes[i / 2]};
        CHECK_OK(i % 2 == 0 ? hora_scheduler_schedule(r.pool, JOB(&jobs[i]), A_WHILE, NULL)
                            : hora_pool_execute(r.pool, JOB(&jobs[i])));
    }
    pass(&r, A_WHILE);
    for (int i = 0; i < 2 * CODES; i++) {
        CHECK_JOB(&jobs[i], 1);
        CHECK_INT(jobs[i].result_drops, 1);
    }
    CHECK_INT(rig_stats(&r).done, 2);
    CHECK_INT(rig_stats(&r).failed, 4);
    CHECK_INT(rig_stats(&r).rejected, 2); /* as with futures: a body may say so */
    CHECK_INT(rig_stats(&r).abandoned, 2);
    CHECK_INT(rig_stats(&r).completed, 2 * CODES);
    rig_close(&r);
}

/* Whatever of a task there is, and whatever is not. */
static atomic_int bare_runs;
static atomic_int bare_drops;
static atomic_int bare_result_drops;

static int run_bare(void *arg, void **ret_result)
{
    *ret_result = arg;
    bare_runs++;
    return 0;
}

static void drop_bare(void *arg)
{
    CHECK_POINTER(arg, &bare_drops);
    bare_drops++;
}

static void drop_bare_result(void *result)
{
    CHECK_POINTER(result, &bare_drops);
    bare_result_drops++;
}

TEST(schedule_detached_keeps_what_a_task_has, "")
{
    enum { FORMS_OF_A_TASK = 8 };
    struct rig r;

    bare_runs = bare_drops = bare_result_drops = 0;
    open_plain(&r);
    for (unsigned i = 0; i < 2 * FORMS_OF_A_TASK; i++) {
        hora_task task = {.run = run_bare, .arg = &bare_drops, .file = __FILE__, .line = (int)i};
        task.drop = i & 1 ? drop_bare : NULL;
        task.drop_result = i & 2 ? drop_bare_result : NULL;
        task.name = i & 4 ? "bare" : NULL;
        CHECK_OK(hora_scheduler_schedule(r.pool, &task, i < FORMS_OF_A_TASK ? A_WHILE : 2 * A_WHILE, NULL));
    }
    pass(&r, A_WHILE); /* one half as they are, the other as futures */
    CHECK_INT(bare_runs, FORMS_OF_A_TASK);
    void *items[FORMS_OF_A_TASK];
    CHECK_INT(hora_queue_snapshot(hora_pool_queue(r.pool), items, FORMS_OF_A_TASK), FORMS_OF_A_TASK);
    for (unsigned i = 0; i < FORMS_OF_A_TASK; i++) {
        const hora_task *task = hora_future_task(items[i]);
        CHECK(task->run == run_bare && task->arg == &bare_drops && strcmp(task->file, __FILE__) == 0);
        CHECK_INT(task->line, (int)(i + FORMS_OF_A_TASK)); /* in the order of their coming */
        CHECK((task->drop != NULL) == ((i & 1) != 0) && (task->drop_result != NULL) == ((i & 2) != 0));
        CHECK((task->name != NULL) == ((i & 4) != 0));
    }
    give_back_futures(items, FORMS_OF_A_TASK);
    pass(&r, A_WHILE);
    CHECK_INT(bare_runs, 2 * FORMS_OF_A_TASK);
    CHECK_INT(bare_drops, FORMS_OF_A_TASK);
    CHECK_INT(bare_result_drops, FORMS_OF_A_TASK);
    rig_close(&r);
}

static int end_thread(void *arg, void **ret_result)
{
    struct job *job = arg;

    (void)ret_result;
    atomic_fetch_add(&job->runs, 1);
    atomic_fetch_add(&job->ends, 1);
    pthread_exit(NULL);
}

TEST_REAL(schedule_detached_that_ends_its_thread_is_abandoned, "")
{
    struct rig r;
    struct job bad = A_JOB(&r), good = A_JOB(&r);

    open_plain(&r);
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(end_thread, &bad, .drop = job_drop), A_WHILE, NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&good), A_WHILE, NULL));
    pass(&r, A_WHILE);
    CHECK_JOB(&bad, 1);
    CHECK_JOB(&good, 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).abandoned, 1);
    CHECK_INT(rig_stats(&r).done, 1);
    rig_close(&r);
}

/* ---- order ---- */

static int order[3 * JOBS];
static atomic_int ordered;

static int note_order(void *arg, void **ret_result)
{
    (void)ret_result;
    order[ordered++] = (int)(intptr_t)arg;
    return 0;
}

/* Of the tasks that are due together the first that was scheduled runs first, with or without a future, also
 * if it has been turned into one. */
static void check_order(bool looks)
{
    struct rig r;
    hora_future *futures[JOBS];

    ordered = 0;
    open_plain(&r);
    for (int i = 0; i < JOBS; i++) {
        hora_ns delay = i < JOBS / 2 ? 2 * A_WHILE : A_WHILE;
        int first = i < JOBS / 2 ? 3 * (JOBS / 2 + i) : 3 * (i - JOBS / 2);
        CHECK_OK(
            hora_scheduler_schedule(r.pool, HORA_TASK(note_order, (void *)(intptr_t)first), delay, NULL));
        CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(note_order, (void *)(intptr_t)(first + 1)), delay,
                                         &futures[i]));
        CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(note_order, (void *)(intptr_t)(first + 2)), delay,
                                         NULL));
    }
    if (looks)
        CHECK_INT(hora_queue_size(hora_pool_queue(r.pool)), 3 * JOBS);
    pass(&r, A_WHILE);
    CHECK_INT(ordered, 3 * JOBS / 2);
    pass(&r, A_WHILE);
    CHECK_INT(ordered, 3 * JOBS);
    for (int i = 0; i < 3 * JOBS; i++)
        CHECK_INT(order[i], i);
    for (int i = 0; i < JOBS; i++)
        hora_future_unref(futures[i]);
    rig_close(&r);
}

TEST(schedule_detached_keeps_the_order, "")
{
    check_order(false);
}

TEST(schedule_detached_keeps_the_order_when_shown, "")
{
    check_order(true);
}

enum { VERY_MANY = 12000, COMERS = 5 }; /* more than stand in the heap */

static intptr_t last_step;
static int steps;

static int note_step(void *arg, void **ret_result)
{
    (void)ret_result;
    CHECK((intptr_t)arg >= last_step);
    last_step = (intptr_t)arg;
    steps++;
    return 0;
}

static int schedule_very_many(struct rig *r)
{
    int count = test_simulated() ? 64 : VERY_MANY;
    last_step = 0;
    steps = 0;
    open_plain(r);
    for (int i = 0; i < count; i++) {
        int step = 1 + (int)(7919 * (int64_t)i % (count / 2));
        CHECK_OK(hora_scheduler_schedule(r->pool, HORA_TASK(note_step, (void *)(intptr_t)step),
                                         step * HORA_US(1), NULL));
    }
    return count;
}

TEST(schedule_detached_keeps_the_order_of_very_many, "")
{
    struct rig r;
    int count = schedule_very_many(&r);
    pass(&r, count / 8 * HORA_US(1));
    CHECK_INT(steps, count / 8 * 2);
    for (int i = 1; i <= COMERS; i++) /* while others come */
        CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(note_step, (void *)(intptr_t)(count / 8 + i)),
                                         i * HORA_US(1), NULL));
    pass(&r, count / 8 * HORA_US(1));
    CHECK_INT(hora_queue_size(hora_pool_queue(r.pool)),
              count - count / 8 * 4); /* from now on there are futures */
    pass_in_steps(&r, count / 8 * HORA_US(1), 2);
    CHECK_INT(steps, count + COMERS);
    rig_close(&r);
}

TEST(schedule_detached_of_very_many_is_abandoned_by_stop, "")
{
    struct rig r;
    int count = schedule_very_many(&r);
    pass(&r, count / 8 * HORA_US(1));
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK_INT(steps, count / 8 * 2);
    rig_close(&r);
}

TEST(schedule_detached_is_never_early, "")
{
    struct rig r;
    struct beat beat = {.rig = NULL};

    open_plain(&r);
    beat = (struct beat)A_BEAT(&r, 0);
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(beat_run, &beat), 3 * A_WHILE, NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(beat_run, &beat), -1, NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(beat_run, &beat), HORA_FOREVER, NULL));
    settle(&r.f);
    pass_in_steps(&r, A_WHILE / 4, 20);
    CHECK_BEATS(&beat, 0, 3 * A_WHILE);
    CHECK_INT(rig_stats(&r).queued, 1);
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL)); /* its time would never come */
    rig_close(&r);
}

/* ---- the end of the scheduler ---- */

TEST(schedule_detached_runs_after_shutdown, "")
{
    struct rig r;
    struct job jobs[JOBS], late = A_JOB(&r);

    open_plain(&r);
    schedule_jobs(&r, jobs);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_ERROR(hora_scheduler_schedule(r.pool, JOB(&late), 0, NULL), HORA_EREJECTED);
    CHECK_INT(late.runs + late.drops, 0);
    CHECK(!hora_pool_is_terminated(r.pool));
    pass_in_steps(&r, A_WHILE, JOBS);
    check_jobs(jobs, 1);
    CHECK(hora_pool_is_terminated(r.pool));
    rig_close(&r);
}

TEST(schedule_detached_is_cancelled_by_the_rule_for_delayed_tasks, "")
{
    for (int later = 0; later < 2; later++) {
        struct rig r;
        struct job jobs[JOBS], blocker = A_WAITING_JOB(&r), due = A_JOB(&r);

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = later == 0));
        execute_job(&r, &blocker);
        execute_job(&r, &due);
        settle(&r.f);
        schedule_jobs(&r, jobs);
        CHECK_OK(hora_pool_shutdown(r.pool));
        if (later)
            CHECK_OK(hora_scheduler_set_cancel_delayed(r.pool, true));
        check_jobs(jobs, 0);
        CHECK_INT(rig_stats(&r).cancelled, JOBS);
        CHECK_INT(rig_stats(&r).queued, 1); /* what is due runs */
        rig_open_gate(&r);
        settle(&r.f);
        CHECK_JOB(&due, 1);
        CHECK(hora_pool_is_terminated(r.pool));
        rig_close(&r);
    }
}

TEST(schedule_detached_is_handed_back_by_stop_as_futures, "")
{
    struct rig r;
    struct job jobs[JOBS];
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    open_plain(&r);
    schedule_jobs(&r, jobs);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_INT(list.count, JOBS);
    CHECK_INT(rig_stats(&r).handed_back, JOBS);
    for (int i = 0; i < JOBS; i++) {
        hora_future *future = hora_future_list_take(&list);
        CHECK_POINTER(hora_future_task(future)->arg, &jobs[i]); /* in the order of their times */
        CHECK_INT(delay_of(future), (i + 1) * A_WHILE);
        if (i % 2 == 0)
            CHECK_INT(hora_future_run(future), 1);
        hora_future_unref(future);
        CHECK_JOB(&jobs[i], i % 2 == 0);
    }
    rig_close(&r);
}

TEST(schedule_detached_is_abandoned_by_stop_without_a_list, "")
{
    struct rig r;
    struct job jobs[JOBS];

    open_plain(&r);
    schedule_jobs(&r, jobs);
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    check_jobs(jobs, 0);
    CHECK_INT(rig_stats(&r).abandoned, JOBS);
    rig_close(&r);
}

/* ---- looking ---- */

TEST(schedule_detached_is_shown_as_futures, "")
{
    struct rig r;
    struct job jobs[JOBS], later = A_JOB(&r);
    void *items[JOBS + 1];

    open_plain(&r);
    schedule_jobs(&r, jobs);
    hora_queue *queue = hora_pool_queue(r.pool);
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&later), A_WHILE / 2, NULL));
    CHECK_INT(hora_queue_snapshot(queue, items, JOBS + 1), JOBS + 1);
    CHECK_POINTER(hora_future_task(items[0])->arg, &later);
    for (int i = 0; i < JOBS; i++) {
        hora_future *future = items[i + 1];
        CHECK_NOT_DONE(future);
        CHECK(!hora_future_is_periodic(future));
        CHECK_POINTER(hora_future_task(future)->arg, &jobs[i]);
        CHECK_INT(delay_of(future), (i + 1) * A_WHILE);
        CHECK_INT(hora_queue_contains(queue, future), 1);
    }
    CHECK_INT(hora_future_cancel(items[1], false), HORA_CANCEL_REMOVED);
    CHECK_JOB(&jobs[0], 0);
    CHECK_INT(hora_pool_remove(r.pool, items[2]), 1);
    CHECK_INT(jobs[1].drops, 0); /* this one is ours now */
    give_back_futures(items, JOBS + 1);
    CHECK_JOB(&jobs[1], 0);
    pass_in_steps(&r, A_WHILE / 2, 2 * JOBS);
    CHECK_JOB(&later, 1);
    CHECK_JOB(&jobs[2], 1);
    CHECK_JOB(&jobs[3], 1);
    rig_close(&r);
}

TEST(schedule_detached_survives_a_purge, "")
{
    struct rig r;
    struct job jobs[JOBS];

    open_plain(&r);
    schedule_jobs(&r, jobs);
    CHECK_INT(hora_pool_purge(r.pool), 0);
    CHECK_INT(rig_stats(&r).queued, JOBS);
    pass_in_steps(&r, A_WHILE, JOBS);
    check_jobs(jobs, 1);
    rig_close(&r);
}

TEST(schedule_detached_counts_as_unfinished, "")
{
    struct rig r;
    struct job jobs[JOBS];

    open_plain(&r);
    schedule_jobs(&r, jobs);
    CHECK_INT(rig_stats(&r).accepted, JOBS);
    CHECK_INT(rig_stats(&r).queued, JOBS);
    CHECK_ERROR(hora_pool_await_idle_for(r.pool, 0), HORA_ETIMEDOUT);
    pass_in_steps(&r, A_WHILE, JOBS);
    CHECK_OK(hora_pool_await_idle_for(r.pool, 0));
    check_jobs(jobs, 1);
    rig_close(&r);
}

/* ---- many ---- */

static int count_run(void *arg, void **ret_result)
{
    (void)ret_result;
    (*(atomic_int *)arg)++;
    return 0;
}

static void count_drop(void *arg)
{
    (*(atomic_int *)arg)++;
}

/* Enough tasks to need many blocks of each size. Half of them run, and so make room, before the others are
 * scheduled. */
TEST_REAL(schedule_detached_of_many, "")
{
    enum { MANY = 20000 };
    struct rig r;
    atomic_int runs = 0;

    open_plain(&r);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            hora_task task = {.run = count_run, .arg = &runs, .name = i % 3 == 0 ? "one of many" : NULL};
            task.drop = i % 5 == 0 ? count_drop : NULL;
            CHECK_OK(hora_scheduler_schedule(r.pool, &task, (i % 2 == 0 ? 1 : 2) * A_WHILE, NULL));
        }
        pass(&r, A_WHILE);
    }
    CHECK_INT(runs, 5 * (MANY / 2) + 5 * (MANY / 10));
    CHECK_INT(rig_stats(&r).queued, MANY / 2);
    CHECK_INT(hora_queue_size(hora_pool_queue(r.pool)), MANY / 2);
    pass(&r, A_WHILE);
    CHECK_INT(runs, 3 * MANY + 3 * (MANY / 5));
    rig_close(&r);
}
