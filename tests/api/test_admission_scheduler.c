/* SPDX-License-Identifier: Apache-2.0 */
/* test_admission_scheduler.c - classes, keys and priorities of tasks that have a time */
#include <hora/registrar.h>
#include <string.h>

#include "admission_support.h"
#include "scheduler_support.h"

#define S(seconds) HORA_SECONDS(seconds)

static void open_scheduler(struct trial *t, int threads)
{
    hora_error reason;

    trial_prepare(t);
    if (try_scheduler(&t->r, HORA_SCHEDULER_OPTIONS(.core_threads = threads, .admission = HORA_ADMISSION()),
                      &reason) < 0)
        test_fail(__FILE__, __LINE__, "the scheduler is refused: %s", reason.message);
}

/* An act that waits, with a time. */
static struct act *act_in(struct trial *t, hora_ns delay, const hora_task_options *terms)
{
    struct act *act = act_new(t, true);

    CHECK_OK(hora_scheduler_schedule_with(t->r.pool, HORA_TASK(act_run, act),
                                          HORA_SCHEDULE(.initial_delay = delay, .options = terms),
                                          &act->future, NULL));
    return act;
}

static int info_running(hora_future *future)
{
    hora_schedule_info info = HORA_INIT(hora_schedule_info);

    CHECK_OK(hora_future_get_schedule_info(future, &info));
    return info.running;
}

TEST(admission_scheduler_keeps_the_limit_of_a_class, "")
{
    struct trial t;

    open_scheduler(&t, 4);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    (void)act_in(&t, S(1), HORA_TASK_OPTIONS(.task_class = one));
    (void)act_in(&t, S(2), HORA_TASK_OPTIONS(.task_class = one));
    (void)act_in(&t, S(3), NULL);
    time_passes(&t, S(1));
    CHECK_BEGUN(&t, 0);
    time_passes(&t, S(2));
    CHECK_BEGUN(&t, 0, 2);
    CHECK_INT(class_info(one).waiting, 1);
    CHECK_INT(rig_stats(&t.r).queued, 1); /* it still counts as queued */
    CHECK(is_queued(&t.r, t.acts[1].future));
    CHECK_INT(delay_of(t.acts[1].future), -S(1));
    act_let_end(&t.acts[0]);
    CHECK_BEGUN(&t, 0, 2, 1);
    trial_close(&t);
}

TEST(admission_scheduler_keeps_the_order_of_a_key, "")
{
    struct trial t;

    open_scheduler(&t, 4);
    (void)act_in(&t, S(2), HORA_TASK_OPTIONS(.key = 7));
    (void)act_in(&t, S(1), HORA_TASK_OPTIONS(.key = 7)); /* in the order in which they are due */
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 7));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.key = 8));
    CHECK_BEGUN(&t, 2, 3);
    time_passes(&t, S(3));
    CHECK_BEGUN(&t, 2, 3);
    act_let_end(&t.acts[2]);
    CHECK_BEGUN(&t, 2, 3, 1);
    act_let_end(&t.acts[1]);
    CHECK_BEGUN(&t, 2, 3, 1, 0);
    trial_close(&t);
}

TEST(admission_scheduler_prefers_by_priority, "")
{
    struct trial t;

    open_scheduler(&t, 1);
    (void)act_waiting(&t, NULL);
    (void)act_in(&t, HORA_MS(100), HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_LOW));
    (void)act_in(&t, HORA_MS(200), NULL);
    (void)act_in(&t, HORA_MS(300), HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_HIGH));
    (void)act_in(&t, S(5), HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_HIGH)); /* too late to overtake */
    time_passes(&t, S(6));
    for (int i = 0; i < 5; i++)
        act_let_end(&t.acts[t.order[i]]);
    CHECK_BEGUN(&t, 0, 3, 2, 1, 4);
    trial_close(&t);
}

TEST(admission_scheduler_keeps_the_rate_of_a_class, "")
{
    struct trial t;

    open_scheduler(&t, 2);
    hora_class *polite = trial_class(&t, HORA_CLASS_OPTIONS(.name = "polite", .rate = 1, .per = S(10)));
    for (int i = 0; i < 3; i++) {
        struct act *act = act_new(&t, false);
        CHECK_OK(hora_scheduler_schedule_with(
            t.r.pool, HORA_TASK(act_run, act),
            HORA_SCHEDULE(.initial_delay = S(1), .options = HORA_TASK_OPTIONS(.task_class = polite)), NULL,
            NULL));
    }
    (void)act_in(&t, S(12), NULL);
    time_passes(&t, S(1));
    CHECK_BEGUN(&t, 0);
    time_passes(&t, S(10) - 1);
    CHECK_BEGUN(&t, 0);
    time_passes(&t, 1);
    CHECK_BEGUN(&t, 0, 1);
    time_passes(&t, S(1));
    CHECK_BEGUN(&t, 0, 1, 3);
    time_passes(&t, S(9));
    CHECK_BEGUN(&t, 0, 1, 3, 2);
    trial_close(&t);
}

/* A series waits for admission each time, and gives its ticket back each time. */
TEST(admission_series_waits_for_admission, "")
{
    struct trial t;

    open_scheduler(&t, 2);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    struct beat beat = A_BEAT(&t.r, 0);
    hora_future *series;
    CHECK_OK(hora_scheduler_schedule_with(t.r.pool, BEAT(&beat),
                                          HORA_SCHEDULE(.initial_delay = S(1), .fixed_rate = S(1),
                                                        .options = HORA_TASK_OPTIONS(.task_class = one)),
                                          &series, NULL));
    time_passes(&t, S(1));
    time_passes(&t, S(1));
    struct act *act = act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one));
    time_passes(&t, S(1));
    time_passes(&t, HORA_MS(500));
    CHECK_BEATS(&beat, S(1), S(2)); /* that of 3 s waits */
    CHECK_INT(class_info(one).waiting, 1);
    act_let_end(act);
    CHECK_BEATS(&beat, S(1), S(2), HORA_MS(3500));
    time_passes(&t, HORA_MS(500));
    CHECK_BEATS(&beat, S(1), S(2), HORA_MS(3500), S(4)); /* planned times do not move by it */
    CHECK_INT(class_info(one).running, 0);
    CHECK_INT(class_info(one).started, 5);
    CHECK(hora_future_cancel(series, false) == HORA_CANCEL_REMOVED);
    (void)hora_future_unref(series);
    trial_close(&t);
}

TEST(admission_series_can_be_paused_moved_and_cancelled_while_it_waits_for_admission, "")
{
    struct trial t;

    open_scheduler(&t, 2);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    struct act *busy = act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one));
    struct act *acts[3];
    for (int i = 0; i < 3; i++)
        acts[i] = act_in(&t, S(1), HORA_TASK_OPTIONS(.task_class = one));
    time_passes(&t, S(2));
    CHECK_BEGUN(&t, 0);
    CHECK_INT(class_info(one).waiting, 3);
    CHECK_INT(hora_future_pause(acts[0]->future), 1);
    CHECK_OK(hora_future_reschedule(acts[1]->future, S(5), 0));
    CHECK_INT(hora_future_cancel(acts[2]->future, false), HORA_CANCEL_REMOVED);
    CHECK_INT(class_info(one).waiting, 0);
    act_let_end(busy);
    CHECK_BEGUN(&t, 0);
    CHECK_INT(hora_future_resume(acts[0]->future), 1);
    CHECK_BEGUN(&t, 0, 1);
    act_let_end(acts[0]);
    time_passes(&t, S(5));
    CHECK_BEGUN(&t, 0, 1, 2);
    trial_close(&t);
}

/* A run of a series that is not admitted in time is dropped; the series continues. */
TEST(admission_series_drops_a_run_that_waits_too_long_for_admission, "")
{
    struct trial t;

    open_scheduler(&t, 2);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    struct act *busy = act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one));
    struct beat beat = A_BEAT(&t.r, 0);
    hora_future *series;
    CHECK_OK(hora_scheduler_schedule_with(
        t.r.pool, BEAT(&beat),
        HORA_SCHEDULE(.initial_delay = S(10), .fixed_rate = S(10),
                      .options = HORA_TASK_OPTIONS(.task_class = one, .start_within = S(1))),
        &series, NULL));
    time_passes(&t, S(10));
    time_passes(&t, S(5));
    CHECK_INT(beat.runs, 0);
    act_let_end(busy);
    CHECK_INT(beat.runs, 0); /* too late for that one */
    CHECK_INT(class_info(one).running, 0);
    time_passes(&t, S(5));
    CHECK_BEATS(&beat, S(20));
    CHECK(hora_future_cancel(series, false) == HORA_CANCEL_REMOVED);
    (void)hora_future_unref(series);
    trial_close(&t);
}

TEST(admission_runs_that_overlap_count_one_by_one, "")
{
    struct trial t;

    open_scheduler(&t, 4);
    hora_class *two = trial_class(&t, HORA_CLASS_OPTIONS(.name = "two", .limit = 2));
    hora_class *other = trial_class(&t, HORA_CLASS_OPTIONS(.name = "other"));
    struct act *act = act_new(&t, true);
    CHECK_OK(hora_scheduler_schedule_with(t.r.pool, HORA_TASK(act_run, act),
                                          HORA_SCHEDULE(.initial_delay = S(1), .fixed_rate = S(1),
                                                        .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3,
                                                        .options = HORA_TASK_OPTIONS(.task_class = two)),
                                          &act->future, NULL));
    for (int i = 0; i < 3; i++)
        time_passes(&t, S(1));
    CHECK_BEGUN(&t, 0, 0);
    CHECK_INT(class_info(two).running, 2);
    CHECK_INT(class_info(two).waiting, 1); /* the series, for its third run */
    CHECK_INT(info_running(act->future), 2);
    CHECK_OK(hora_future_set_class(act->future, other)); /* and those that run */
    CHECK_BEGUN(&t, 0, 0, 0);
    CHECK_INT(class_info(two).running, 0);
    CHECK_INT(class_info(other).running, 3);
    act_let_end(act);
    CHECK_INT(class_info(other).running, 0);
    CHECK_INT(hora_future_cancel(act->future, true), HORA_CANCEL_REMOVED);
    trial_close(&t);
}

TEST(admission_runs_of_a_key_do_not_overlap, "")
{
    struct trial t;

    open_scheduler(&t, 4);
    struct act *act = act_new(&t, true);
    CHECK_OK(hora_scheduler_schedule_with(t.r.pool, HORA_TASK(act_run, act),
                                          HORA_SCHEDULE(.initial_delay = S(1), .fixed_rate = S(1),
                                                        .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3,
                                                        .options = HORA_TASK_OPTIONS(.key = 9)),
                                          &act->future, NULL));
    for (int i = 0; i < 3; i++)
        time_passes(&t, S(1));
    CHECK_BEGUN(&t, 0);
    CHECK(hora_future_cancel(act->future, true) != HORA_CANCEL_TOO_LATE);
    trial_close(&t);
}

TEST(admission_series_that_runs_is_moved_to_another_class, "")
{
    struct trial t;

    open_scheduler(&t, 2);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    struct act *series = act_new(&t, true);
    CHECK_OK(hora_scheduler_schedule_with(t.r.pool, HORA_TASK(act_run, series),
                                          HORA_SCHEDULE(.initial_delay = S(1), .fixed_delay = S(1)),
                                          &series->future, NULL));
    CHECK_OK(hora_future_set_class(series->future, one)); /* before it is due */
    CHECK_OK(hora_future_set_class(series->future, NULL));
    time_passes(&t, S(1));
    CHECK_BEGUN(&t, 0);
    CHECK_OK(hora_future_set_class(series->future, one));
    CHECK_OK(hora_future_set_priority(series->future, HORA_PRIORITY_HIGH));
    CHECK_INT(class_info(one).running, 1);
    struct act *single = act_in(&t, 0, HORA_TASK_OPTIONS(.task_class = one));
    CHECK_BEGUN(&t, 0);
    CHECK_OK(hora_future_set_class(single->future, NULL));
    CHECK_BEGUN(&t, 0, 1);
    CHECK_ERROR(hora_future_set_class(single->future, one), HORA_EBUSY); /* it runs once, and has begun */
    CHECK(hora_future_cancel(series->future, true) != HORA_CANCEL_TOO_LATE);
    settle(&t.r.f);
    CHECK_ERROR(hora_future_set_class(series->future, one), HORA_EBUSY); /* it is over */
    trial_close(&t);
}

TEST(admission_scheduler_hands_back_what_waits_for_admission, "")
{
    struct trial t;
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    open_scheduler(&t, 2);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one));
    (void)act_in(&t, S(9), HORA_TASK_OPTIONS(.task_class = one));
    (void)act_in(&t, S(1), HORA_TASK_OPTIONS(.task_class = one));
    (void)act_in(&t, S(2), HORA_TASK_OPTIONS(.task_class = one, .key = 4));
    (void)act_in(&t, S(3), HORA_TASK_OPTIONS(.key = 4));
    time_passes(&t, S(4));
    CHECK_BEGUN(&t, 0);
    CHECK_OK(hora_pool_shutdown_now(t.r.pool, &list));
    CHECK_INT(list.count, 4);
    static const int order[] = {2, 3, 4, 1};
    for (int i = 0; i < 4; i++) {
        hora_future *future = hora_future_list_take(&list);
        CHECK_POINTER(future, t.acts[order[i]].future);
        (void)hora_future_unref(future);
    }
    CHECK_INT(class_info(one).waiting, 0);
    trial_close(&t);
}

TEST(admission_scheduler_that_is_shut_down_runs_what_is_due, "")
{
    struct trial t;

    open_scheduler(&t, 2);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    CHECK_OK(hora_scheduler_set_cancel_delayed(t.r.pool, true));
    CHECK_ERROR(hora_scheduler_set_keep_cancelled(t.r.pool, true), HORA_ENOTSUP);
    CHECK_OK(hora_scheduler_set_keep_cancelled(t.r.pool, false));
    (void)act_waiting(&t, HORA_TASK_OPTIONS(.task_class = one));
    (void)act_in(&t, S(1), HORA_TASK_OPTIONS(.task_class = one));
    (void)act_in(&t, S(9), HORA_TASK_OPTIONS(.task_class = one));
    time_passes(&t, S(2));
    CHECK_OK(hora_pool_shutdown(t.r.pool));
    settle(&t.r.f);
    CHECK(hora_future_is_cancelled(t.acts[2].future));
    CHECK_NOT_DONE(t.acts[1].future);
    act_let_end(&t.acts[0]);
    CHECK_BEGUN(&t, 0, 1);
    trial_close(&t);
}

struct awaits {
    hora_future *future;
    int result;
};

static int await(void *arg, void **ret_result)
{
    struct awaits *awaits = arg;

    (void)ret_result;
    awaits->result = hora_future_get(awaits->future, NULL);
    return 0;
}

/* The only worker waits for a task: when that is due it runs it, after those of its key. */
TEST(admission_scheduler_runs_what_is_awaited_in_its_time, "")
{
    struct trial t;
    struct awaits awaits = {.result = 1};
    hora_future *outer;

    open_scheduler(&t, 1);
    hora_class *one = trial_class(&t, HORA_CLASS_OPTIONS(.name = "one", .limit = 1));
    for (int i = 0; i < 2; i++) {
        struct act *act = act_new(&t, false);
        CHECK_OK(hora_scheduler_schedule_with(
            t.r.pool, HORA_TASK(act_run, act),
            HORA_SCHEDULE(.initial_delay = S(1 + i),
                          .options = HORA_TASK_OPTIONS(.task_class = one, .key = 6)),
            &act->future, NULL));
    }
    awaits.future = t.acts[1].future;
    CHECK_OK(hora_pool_submit_with(t.r.pool, HORA_TASK(await, &awaits), HORA_TASK_OPTIONS(.task_class = one),
                                   &outer, NULL));
    time_passes(&t, S(2) - 1);
    CHECK_INT(t.begun, 0); /* it waits for the second, and is too early for that */
    time_passes(&t, 1);
    CHECK_BEGUN(&t, 0, 1);
    CHECK_INT(awaits.result, 0);
    CHECK_OK(hora_future_get(outer, NULL));
    CHECK_INT(class_info(one).running, 0);
    (void)hora_future_unref(outer);
    trial_close(&t);
}

TEST(admission_scheduler_takes_futures_from_elsewhere, "")
{
    struct trial t;

    open_scheduler(&t, 1);
    struct act *first = act_waiting(&t, NULL);
    struct act *act = act_new(&t, true);
    CHECK_OK(hora_future_new(HORA_TASK(act_run, act), &act->future));
    CHECK_OK(hora_pool_execute_future(t.r.pool, act->future));
    CHECK_OK(hora_pool_execute_future(t.r.pool, act->future)); /* and once more */
    settle(&t.r.f);
    CHECK_INT(rig_stats(&t.r).queued, 2);
    CHECK_ERROR(hora_future_set_priority(act->future, HORA_PRIORITY_HIGH), HORA_ENOTSUP);
    CHECK_INT(hora_pool_remove(t.r.pool, act->future), 1);
    act_let_end(first);
    CHECK_BEGUN(&t, 0, 1);
    trial_close(&t);
}

TEST(schedule_with_terms_that_cannot_work_is_refused, "")
{
    struct trial t;
    struct rig plain;
    hora_error reason;
    hora_future *future = (hora_future *)untouched;

    open_scheduler(&t, 1);
    hora_pool *pool = t.r.pool;
    CHECK_ERROR(
        hora_schedule_check(HORA_SCHEDULE(.fixed_rate = 1, .options = HORA_TASK_OPTIONS(.finish_within = 1)),
                            &reason),
        HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, "finish_within", "finish_within");
    CHECK_ERROR(
        hora_schedule_check(
            HORA_SCHEDULE(.initial_delay = 1, .options = &(hora_task_options){.struct_size = 1}), &reason),
        HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, "options", "struct_size");
    CHECK_OK(hora_schedule_check(
        HORA_SCHEDULE(.initial_delay = 1, .options = HORA_TASK_OPTIONS(.finish_within = 1)), &reason));
    CHECK_ERROR(hora_scheduler_schedule_with(
                    pool, HORA_TASK(act_run, NULL),
                    HORA_SCHEDULE(.fixed_rate = 1, .options = HORA_TASK_OPTIONS(.finish_within = 1)), &future,
                    NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(
                    pool, HORA_TASK(act_run, NULL),
                    HORA_SCHEDULE(.fixed_rate = 1, .options = HORA_TASK_OPTIONS(.run_limit = -1)), &future,
                    NULL),
                HORA_EINVAL);
    rig_prepare(&plain, false);
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = plain.f.view), &plain.pool,
                                NULL));
    CHECK_ERROR(hora_scheduler_schedule_with(
                    plain.pool, HORA_TASK(act_run, NULL),
                    HORA_SCHEDULE(.fixed_rate = 1, .options = HORA_TASK_OPTIONS(.key = 1)), &future, NULL),
                HORA_ENOTSUP);
    CHECK_POINTER(future, untouched);
    rig_close(&plain);
    trial_close(&t);
}

/* The terms of a declaration are copied. */
TEST(registrar_schedules_with_terms, "")
{
    struct trial t;
    hora_registrar *registrar;
    hora_registration *registration;

    open_scheduler(&t, 2);
    CHECK_OK(hora_registrar_new(NULL, &registrar, NULL));
    struct act *acts[2] = {act_new(&t, true), act_new(&t, true)};
    for (int i = 0; i < 2; i++) {
        hora_task_options terms = HORA_INIT(hora_task_options);
        terms.key = 5;
        CHECK_OK(hora_registrar_add(registrar, HORA_TASK(act_run, acts[i]),
                                    HORA_DECLARATION(.name = i == 0 ? "a" : "b", .initial_delay = S(1),
                                                     .schedule = HORA_SCHEDULE(.options = &terms)),
                                    &registration, NULL));
        terms.key = 99;
    }
    CHECK_OK(hora_registrar_bind(registrar, t.r.pool, NULL));
    time_passes(&t, S(2));
    CHECK_BEGUN(&t, 0);
    act_let_end(acts[0]);
    CHECK_BEGUN(&t, 0, 1);
    act_let_end(acts[1]);
    CHECK_OK(hora_registrar_free(registrar));
    trial_close(&t);
}
