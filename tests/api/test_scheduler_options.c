/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_options.c - how schedulers are made and changed, and which options are rejected */
#include <limits.h>
#include <string.h>

#include "scheduler_support.h"

static int some_handler(hora_pool *pool, hora_future *future, void *context)
{
    (void)pool;
    (void)future;
    (void)context;
    return HORA_EREJECTED;
}

/* Checks that the options are rejected, with a sentence that names the mistake, and that nothing is made. */
static void check_refused(int line, const hora_scheduler_options *options, const char *word)
{
    hora_error reason;
    hora_scheduler *scheduler = (hora_scheduler *)untouched;

    test_check_error(__FILE__, line, "hora_scheduler_new", hora_scheduler_new(options, &scheduler, &reason),
                     HORA_EINVAL);
    test_check_pointer(__FILE__, line, "scheduler", scheduler, untouched);
    check_refusal(__FILE__, line, &reason, HORA_EINVAL, NULL, word);
    if (reason.field == NULL)
        test_fail(__FILE__, line, "no field is named: %s", reason.message);
    test_check_error(__FILE__, line, "hora_scheduler_new", hora_scheduler_new(options, &scheduler, NULL),
                     HORA_EINVAL);
}
#define CHECK_REFUSED(word, ...) check_refused(__LINE__, HORA_SCHEDULER_OPTIONS(__VA_ARGS__), (word))

TEST(scheduler_refuses_options_that_cannot_work, "")
{
    CHECK_REFUSED("core_threads", .core_threads = -1);
    CHECK_REFUSED("core_threads", .core_threads = INT_MIN);
    CHECK_REFUSED("keep_alive", .core_threads = 1, .keep_alive = -1);
    CHECK_REFUSED("keep_alive", .core_threads = 1, .keep_alive = INT64_MIN);
    CHECK_REFUSED("HORA_REJECT_BLOCK", .core_threads = 1, .reject = HORA_REJECT_BLOCK);
    CHECK_REFUSED("reject", .core_threads = 1, .reject = (hora_reject)(HORA_REJECT_CALLBACK + 1));
    CHECK_REFUSED("reject_handler", .core_threads = 1, .reject = HORA_REJECT_CALLBACK);
    CHECK_REFUSED("reject_handler", .core_threads = 1, .reject_handler = some_handler);
    CHECK_REFUSED("stack_size", .core_threads = 1, .stack_size = 1 << 20, .thread_factory = rig_factory);
}

TEST(scheduler_refuses_options_of_the_wrong_size, "")
{
    struct {
        hora_scheduler_options known;
        int new_wish;
    } options = {.known = HORA_INIT(hora_scheduler_options), .new_wish = 1};
    hora_error reason;

    options.known.struct_size = 0;
    check_refused(__LINE__, &options.known, "struct_size");
    options.known.struct_size = sizeof(options.known) - 1;
    check_refused(__LINE__, &options.known, "struct_size");
    options.known.struct_size = sizeof(options);
    check_refused(__LINE__, &options.known, "struct_size");
    CHECK_ERROR(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), NULL, &reason), HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, NULL, "ret_");
}

/* A program compiled with a later release may not use its new fields. */
TEST(scheduler_accepts_unknown_options_that_are_not_set, "")
{
    struct {
        hora_scheduler_options known;
        unsigned char unknown[16];
    } options = {.known = {.struct_size = sizeof(options), .core_threads = 1}};
    hora_scheduler *scheduler;

    CHECK_OK(hora_scheduler_new(&options.known, &scheduler, NULL));
    CHECK_OK(hora_pool_free(scheduler));
}

/* All zero, by the macro, and NULL: a scheduler without core threads. */
TEST(scheduler_options_of_all_zero_work, "CP-STPE2")
{
    hora_scheduler_options init = HORA_INIT(hora_scheduler_options);
    const hora_scheduler_options *options[2] = {&init, NULL};

    for (int i = 0; i < 2; i++) {
        hora_scheduler *scheduler;
        hora_future *future;
        struct job job = A_JOB(NULL);

        CHECK_OK(hora_scheduler_new(options[i], &scheduler, NULL));
        CHECK_OK(hora_scheduler_schedule(scheduler, JOB(&job), 1000, &future));
        CHECK_OK(hora_future_get(future, NULL));
        hora_future_unref(future);
        CHECK_OK(hora_pool_free(scheduler));
        CHECK_JOB(&job, 1);
    }
}

TEST(scheduler_settings_are_those_of_its_options, "CP-STPE1")
{
    struct rig r;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    rig_prepare(&r, false);
    CHECK_OK(try_scheduler(&r,
                           HORA_SCHEDULER_OPTIONS(.core_threads = 3, .keep_alive = HORA_MS(70),
                                                  .core_time_out = true, .reject = HORA_REJECT_CALLBACK,
                                                  .reject_handler = some_handler,
                                                  .thread_factory = rig_factory, .cancel_delayed = true,
                                                  .continue_periodic = true, .keep_cancelled = true),
                           NULL));
    stats = rig_stats(&r);
    CHECK_INT(stats.core_threads, 3);
    CHECK(stats.max_threads >= 3);
    CHECK_INT(stats.keep_alive, HORA_MS(70));
    CHECK(stats.core_time_out);
    CHECK_INT(stats.reject, HORA_REJECT_CALLBACK);
    CHECK(stats.reject_handler == some_handler);
    CHECK(stats.thread_factory == rig_factory);
    CHECK_INT(stats.state, HORA_POOL_RUNNING);
    CHECK_INT(stats.threads + stats.active + stats.largest + stats.queued + stats.thread_failures, 0);
    CHECK_INT(stats.accepted + stats.done + stats.completed + stats.tasks, 0);
    CHECK(rig_stats_now(&r).cancel_delayed);
    CHECK(rig_stats_now(&r).continue_periodic);
    CHECK(rig_stats_now(&r).keep_cancelled);
    rig_close(&r);
}

TEST(scheduler_setters_of_pools_work, "")
{
    struct rig r;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_set_keep_alive(r.pool, HORA_MS(20), NULL));
    CHECK_OK(hora_pool_set_core_time_out(r.pool, true, NULL));
    CHECK_OK(hora_pool_set_core_threads(r.pool, 5, NULL));
    CHECK_INT(rig_stats(&r).keep_alive, HORA_MS(20));
    CHECK(rig_stats(&r).core_time_out);
    CHECK_INT(rig_stats(&r).core_threads, 5);
    CHECK_ERROR(hora_pool_set_keep_alive(r.pool, -1, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_keep_alive(r.pool, 0, NULL), HORA_EINVAL); /* with core time-out */
    CHECK_ERROR(hora_pool_set_reject(r.pool, HORA_REJECT_BLOCK, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_reject(r.pool, HORA_REJECT_CALLBACK, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_INT(rig_stats(&r).reject, HORA_REJECT_ABORT);
    CHECK_INT(rig_stats(&r).keep_alive, HORA_MS(20));
    rig_close(&r);
}

TEST(scheduler_that_is_frozen_cannot_be_changed, "CP-EX2")
{
    struct rig r;
    hora_pool_stats before, after;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 2, .frozen = true));
    before = rig_stats(&r);
    CHECK_ERROR(hora_pool_set_core_threads(r.pool, 1, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_max_threads(r.pool, 9, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_keep_alive(r.pool, A_WHILE, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_core_time_out(r.pool, true, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_thread_factory(r.pool, rig_factory, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_reject(r.pool, HORA_REJECT_DISCARD, NULL, NULL, NULL), HORA_ENOTSUP);
    after = rig_stats(&r);
    CHECK_INT(after.core_threads, before.core_threads);
    CHECK_INT(after.max_threads, before.max_threads);
    CHECK_INT(after.keep_alive, before.keep_alive);
    CHECK_INT(after.core_time_out, before.core_time_out);
    CHECK(after.thread_factory == before.thread_factory);
    CHECK_INT(after.reject, before.reject);
    rig_close(&r);
}

/* ---- arguments ---- */

ON_BOTH_SCHEDULERS(takes_no_null_task, "testNullTaskSubmission", "CP-STPE3")
{
    struct rig r;
    hora_future *future = (hora_future *)untouched;
    const hora_task *bad[2] = {NULL, HORA_TASK(NULL, NULL)};

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 2; i++) {
        CHECK_ERROR(hora_pool_execute(r.pool, bad[i]), HORA_EINVAL);
        CHECK_ERROR(hora_pool_submit(r.pool, bad[i], &future), HORA_EINVAL);
        for (int t = 0; t < 5; t++)
            for (int form = ONCE; form < FORMS; form++)
                CHECK_ERROR(schedule_form(&r, (enum form)form, bad[i], any_timeout[t], A_WHILE, &future),
                            HORA_EINVAL);
        CHECK_ERROR(hora_scheduler_schedule_with(r.pool, bad[i], NULL, &future, NULL), HORA_EINVAL);
        CHECK_ERROR(
            hora_scheduler_schedule_with(r.pool, bad[i], HORA_SCHEDULE(.fixed_rate = A_WHILE), &future, NULL),
            HORA_EINVAL);
    }
    CHECK_ERROR(hora_pool_execute_future(r.pool, NULL), HORA_EINVAL);
    CHECK_POINTER(future, untouched);
    CHECK_INT(rig_stats(&r).accepted, 0);
    CHECK_INT(r.decorated, 0); /* decorate is not called for it */
    rig_close(&r);
}

TEST(scheduler_takes_no_period_of_zero_or_less, "CP-STPE3")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = (hora_future *)untouched;

    scheduler_open(&r, true, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 3; i++) {
        CHECK_ERROR(hora_scheduler_schedule_at_fixed_rate(r.pool, JOB(&job), 0, expired[i], &future),
                    HORA_EINVAL);
        CHECK_ERROR(hora_scheduler_schedule_with_fixed_delay(r.pool, JOB(&job), 0, expired[i], &future),
                    HORA_EINVAL);
    }
    CHECK_POINTER(future, untouched);
    CHECK_INT(job.runs + job.drops, 0);
    CHECK_INT(rig_stats(&r).accepted, 0);
    CHECK_INT(r.decorated, 0);
    CHECK_OK(hora_pool_shutdown(r.pool)); /* wrong is wrong, also after shutdown */
    CHECK_ERROR(hora_scheduler_schedule_at_fixed_rate(r.pool, JOB(&job), 0, 0, &future), HORA_EINVAL);
    rig_close(&r);
}

/* A pool that is no scheduler has no idea of time. */
TEST(scheduler_calls_refuse_a_plain_pool, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = (hora_future *)untouched, *plain;
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    hora_ns delay = -7;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    for (int form = ONCE; form < FORMS; form++)
        CHECK_ERROR(schedule_form(&r, (enum form)form, JOB(&job), 0, A_WHILE, &future), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(r.pool, JOB(&job), NULL, &future, NULL), HORA_EINVAL);
    CHECK_POINTER(future, untouched);
    CHECK_INT(job.runs + job.drops, 0);
    CHECK_ERROR(hora_scheduler_set_cancel_delayed(r.pool, true), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_set_continue_periodic(r.pool, true), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_set_keep_cancelled(r.pool, true), HORA_EINVAL);
    CHECK(!rig_stats_now(&r).cancel_delayed && !rig_stats_now(&r).continue_periodic);
    CHECK(!rig_stats_now(&r).keep_cancelled);
    plain = submit_job(&r, &job);
    CHECK_ERROR(hora_future_delay(plain, &delay), HORA_EINVAL);
    CHECK_ERROR(hora_future_get_schedule_info(plain, &info), HORA_EINVAL);
    CHECK_ERROR(hora_future_reschedule(plain, 0, 0), HORA_EINVAL);
    CHECK_ERROR(hora_future_pause(plain), HORA_EINVAL);
    CHECK_ERROR(hora_future_resume(plain), HORA_EINVAL);
    CHECK_NO_ORDER(plain, plain);
    CHECK(!hora_future_is_periodic(plain));
    CHECK_INT(delay, -7);
    hora_future_unref(plain);
    rig_close(&r);
}

/* keep_cancelled is a word of both, and means the same: but a plain pool has no call that changes it. */
TEST(scheduler_questions_to_a_plain_pool_are_answered, "")
{
    struct rig r;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .keep_cancelled = true));
    CHECK(rig_stats_now(&r).keep_cancelled);
    CHECK(!rig_stats_now(&r).cancel_delayed && !rig_stats_now(&r).continue_periodic);
    CHECK_ERROR(hora_scheduler_set_keep_cancelled(r.pool, false), HORA_EINVAL);
    CHECK(rig_stats_now(&r).keep_cancelled);
    rig_close(&r);
}

TEST(scheduler_calls_refuse_null, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = (hora_future *)untouched, *scheduled;
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    hora_ns delay = -7;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_ERROR(hora_scheduler_schedule(NULL, JOB(&job), 0, &future), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_at_fixed_rate(NULL, JOB(&job), 0, 1, &future), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with_fixed_delay(NULL, JOB(&job), 0, 1, &future), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(NULL, JOB(&job), NULL, &future, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_set_cancel_delayed(NULL, true), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_set_continue_periodic(NULL, true), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_set_keep_cancelled(NULL, true), HORA_EINVAL);
    CHECK_POINTER(future, untouched);
    scheduled = schedule_job(&r, &job, A_WHILE);
    CHECK_ERROR(hora_future_delay(scheduled, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_delay(NULL, &delay), HORA_EINVAL);
    CHECK_ERROR(hora_future_get_schedule_info(scheduled, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_get_schedule_info(NULL, &info), HORA_EINVAL);
    CHECK_ERROR(hora_future_reschedule(NULL, 0, 0), HORA_EINVAL);
    CHECK_ERROR(hora_future_pause(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_resume(NULL), HORA_EINVAL);
    CHECK_NO_ORDER(NULL, NULL);
    CHECK_NO_ORDER(scheduled, NULL);
    CHECK_NO_ORDER(NULL, scheduled);
    CHECK(!hora_future_is_periodic(NULL));
    CHECK_INT(delay, -7);
    pass(&r, A_WHILE);
    CHECK_DONE(scheduled, 0, &job);
    hora_future_unref(scheduled);
    rig_close(&r);
}

/* A schedule of an unknown size, and one that contradicts itself. */
TEST(scheduler_refuses_schedules_that_cannot_be, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = (hora_future *)untouched;
    hora_schedule small = HORA_INIT(hora_schedule);
    const hora_schedule *bad[] = {
        HORA_SCHEDULE(.fixed_rate = -1),
        HORA_SCHEDULE(.fixed_delay = -1),
        HORA_SCHEDULE(.fixed_rate = 1, .fixed_delay = 1),
        HORA_SCHEDULE(.count = -1),
        HORA_SCHEDULE(.grace = -1),
        HORA_SCHEDULE(.fixed_rate = 1, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 1),
        HORA_SCHEDULE(.fixed_rate = 1, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 1001),
        HORA_SCHEDULE(.fixed_rate = 1, .missed = HORA_MISSED_AT_MOST),
        HORA_SCHEDULE(.fixed_rate = 1, .missed = (hora_missed)77),
        HORA_SCHEDULE(.clock = (hora_clock_id)77),
        &small,
    };

    small.struct_size = 3;
    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hora_error reason, again;

        CHECK_ERROR(hora_schedule_check(bad[i], &reason), HORA_EINVAL);
        CHECK_REFUSAL(&reason, HORA_EINVAL, NULL, "");
        CHECK_ERROR(hora_scheduler_schedule_with(r.pool, JOB(&job), bad[i], &future, &again), HORA_EINVAL);
        CHECK_REFUSAL(&again, HORA_EINVAL, reason.field, reason.message);
    }
    CHECK_POINTER(future, untouched);
    CHECK_INT(job.runs + job.drops, 0);
    rig_close(&r);
}

/* ---- counts ---- */

TEST(scheduler_stats_count_every_end, "")
{
    struct rig r;
    struct job ok = A_JOB(&r), bad = {.rig = &r, .code = 7}, series = A_JOB(&r), far = A_JOB(&r),
               removed = A_JOB(&r);
    hora_future *future;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&ok), A_WHILE, NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&bad), A_WHILE, NULL));
    CHECK_OK(hora_scheduler_schedule_at_fixed_rate(r.pool, JOB(&series), A_WHILE, A_WHILE, NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&far), A_LONG_WHILE, NULL));
    future = schedule_job(&r, &removed, A_LONG_WHILE);
    stats = rig_stats(&r);
    CHECK_INT(stats.queued, 5);
    CHECK_INT(stats.accepted, 5);
    CHECK_INT(stats.tasks, 5);
    CHECK_INT(hora_pool_remove(r.pool, future), 1);
    pass_in_steps(&r, A_WHILE, 3);
    stats = rig_stats(&r);
    CHECK_INT(stats.queued, 2);
    CHECK_INT(stats.done, 1);
    CHECK_INT(stats.failed, 1);
    CHECK_INT(stats.handed_back, 1);
    CHECK_INT(stats.completed, 5); /* two that ran once, and three runs of the series */
    CHECK_INT(stats.tasks, 7);
    CHECK_INT(stats.accepted, 5);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_INT(rig_stats(&r).cancelled, 1);
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK_INT(rig_stats(&r).abandoned, 1);
    CHECK_BOOKS(r.pool);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&series, 3);
    CHECK_JOB(&far, 0);
}

TEST(scheduler_describes_itself, "")
{
    struct rig r;
    char text[200];

    rig_prepare(&r, false);
    CHECK_OK(try_scheduler(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .name = "ticker-"), NULL));
    CHECK(hora_pool_describe(r.pool, text, sizeof(text)) > 0);
    CHECK(strstr(text, "ticker") != NULL);
    CHECK(strstr(text, "Running") != NULL);
    rig_close(&r);
}
