/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain_scheduled.c - hora_future_explain: each sentence about tasks of schedulers
 *
 * A stage is opened at midnight of 1971-01-01, UTC. */
#include <stdio.h>

#include <hora/timer.h>

#include "explain_support.h"
#include "schedule_support.h"
#include "zone_support.h"

static hora_future *schedule(struct stage *s, struct tick *tick, const hora_schedule *spec)
{
    hora_future *future = NULL;
    const hora_task task = {
        .run = tick_run, .arg = tick, .drop = tick_drop, .name = "poll", .file = "feed.c", .line = 12};
    CHECK_OK(hora_scheduler_schedule_with(s->scheduler, &task, spec, &future, NULL));
    return future;
}
#define SCHEDULE(s, tick, ...) schedule((s), (tick), HORA_SCHEDULE(__VA_ARGS__))

/* A task that keeps the worker that runs it. */
static hora_future *block(struct stage *s, struct tick *tick)
{
    hora_future *future = NULL;
    tick->waits = true;
    CHECK_OK(hora_pool_submit(s->scheduler, RESIZE(tick_run, tick), &future));
    stage_settle(s);
    return future;
}

static void end(hora_future *future)
{
    CHECK_POINTER(hora_future_unref(future), NULL);
}

/* ---- not yet ---- */

TEST(explain_says_in_how_long, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = SCHEDULE(&s, &tick, .initial_delay = SEC(312 * 60));
    CHECK_SAYS(future, "poll (feed.c:12) waits for its time: in 5 h 12 min");
    stage_pass(&s, 312 * 60 - 9);
    CHECK_SAYS(future, "poll (feed.c:12) waits for its time: in 9 s");
    stage_pass(&s, 9);
    CHECK_SAYS(future, "poll (feed.c:12) ran and succeeded");
    END(&tick, future);
    stage_close(&s);
}

TEST(explain_says_at_which_moment, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick once = A_TICK(&s), offset = A_TICK(&s);

    hora_future *future = SCHEDULE(&s, &once, .at = stage_instant(&s, 3 * 3600 + 61));
    CHECK_SAYS(future, "poll (feed.c:12) waits for its time: in 3 h 1 min (1971-01-01 03:01:01 UTC)");
    END(&once, future);
    future = SCHEDULE(&s, &offset, .cron = "0 0 3 * * *", .zone = "+05:30");
    CHECK_SAYS(future, "poll (feed.c:12) waits for its time: in 21 h 30 min (1971-01-02 03:00:00 +05:30)");
    END(&offset, future);
    stage_close(&s);
}

TEST_REAL(explain_says_at_which_moment_of_which_zone, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick named = A_TICK(&s), local = A_TICK(&s);

    hora_future *future = SCHEDULE(&s, &named, .cron = "0 0 3 * * *", .zone = "Europe/Zurich");
    CHECK_SAYS(future, "poll (feed.c:12) waits for its time: in 2 h (1971-01-01 03:00:00 Europe/Zurich)");
    END(&named, future);

    /* Where the machine is: what its clocks show is not known here, but that they have a name. */
    hora_zone *here = zone_named("local");
    hora_local shown;
    char want[HORA_EXPLAIN_TEXT];
    CHECK_OK(hora_zone_to_local(here, stage_instant(&s, 1800), &shown));
    future = SCHEDULE(&s, &local, .at = stage_instant(&s, 1800), .cron = "@yearly");
    (void)snprintf(want, sizeof(want),
                   "poll (feed.c:12) waits for its time: in 30 min (%04d-%02d-%02d %02d:%02d:%02d %s)",
                   (int)shown.year, shown.month, shown.day, shown.hour, shown.minute, shown.second,
                   shown.short_name);
    CHECK_SAYS(future, want);
    CHECK_POINTER(hora_zone_unref(here), NULL);
    END(&local, future);
    stage_close(&s);
}

TEST(explain_says_that_it_is_paused, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = SCHEDULE(&s, &tick, .fixed_rate = SEC(5));
    stage_pass(&s, 1);
    CHECK_INT(hora_future_pause(future), 1);
    CHECK_SAYS(future, "poll (feed.c:12) is paused");
    CHECK_INT(hora_future_resume(future), 1);
    CHECK_SAYS(future, "poll (feed.c:12) waits for its time: in 4 s");
    END(&tick, future);
    CHECK_INT(tick.runs, 1);
    stage_close(&s);
}

TEST(explain_says_that_it_backs_off, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 100, .code = 3};

    hora_future *future = SCHEDULE(&s, &tick, .failure = HORA_FAILURE_BACK_OFF, .back_off = SEC(2));
    stage_settle(&s);
    CHECK_SAYS(future, "poll (feed.c:12) backs off after failure 1: next attempt in 2 s");
    stage_pass(&s, 2 + 4);
    CHECK_SAYS(future, "poll (feed.c:12) backs off after failure 3, the 3rd in a row: next attempt in 8 s");
    END(&tick, future);
    CHECK_INT(tick.runs, 3);
    stage_close(&s);
}

TEST(explain_says_that_its_time_never_comes, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = SCHEDULE(&s, &tick, .initial_delay = HORA_FOREVER);
    CHECK_SAYS(future, "poll (feed.c:12) waits for a time that never comes");
    END(&tick, future);
    stage_close(&s);
}

/* ---- running ---- */

TEST(explain_says_for_how_long_it_has_been_running, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick once = {.stage = &s, .waits = true};

    hora_future *future = SCHEDULE(&s, &once, .initial_delay = SEC(1));
    stage_pass(&s, 15 * 60 + 1);
    CHECK_SAYS(future, "poll (feed.c:12) is running: worker 1 has been running it for 15 min");
    END(&once, future);
    stage_close(&s);
}

TEST(explain_says_that_the_run_before_goes_on, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .waits = true};

    hora_future *future = SCHEDULE(&s, &tick, .fixed_rate = SEC(600));
    stage_pass(&s, 599);
    CHECK_SAYS(future, "poll (feed.c:12) is running: worker 1 has been running it for 9 min 59 s");
    stage_pass(&s, 241);
    CHECK_SAYS(
        future,
        "poll (feed.c:12) is running: worker 1 has been running it for 14 min; the next run was due 4 min "
        "ago, and waits for the end of this one");
    END(&tick, future);
    stage_close(&s);
}

TEST(explain_counts_runs_that_overlap, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .waits = true};

    hora_future *future =
        SCHEDULE(&s, &tick, .fixed_rate = SEC(10), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2);
    stage_pass(&s, 1);
    CHECK_SAYS(future, "poll (feed.c:12) waits for its time: in 9 s; 1 run of it is in progress");
    stage_pass(&s, 10);
    CHECK_SAYS(future,
               "poll (feed.c:12) waits for its time: in 9 s; 2 runs of it are in progress, the maximum");
    CHECK_INT(hora_future_pause(future), 1);
    CHECK_SAYS(future, "poll (feed.c:12) is paused; 2 runs of it are in progress, the maximum");
    END(&tick, future);
    stage_close(&s);
}

TEST(explain_says_that_there_is_no_other_time, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    struct tick tick = {.stage = &s, .waits = true};

    hora_future *future = SCHEDULE(&s, &tick, .fixed_rate = SEC(10), .count = 1,
                                   .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2);
    stage_pass(&s, 15);
    CHECK_SAYS(future, "poll (feed.c:12) has no further time, and ends when its current runs end");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    CHECK_SAYS(future, "poll (feed.c:12) is over: it has run once");
    end(future);
    stage_close(&s);
}

TEST(explain_says_that_a_series_is_over, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick counted = A_TICK(&s), failing = {.stage = &s, .fails_from = 2, .fails_to = 2, .code = 7};

    hora_future *future = SCHEDULE(&s, &counted, .fixed_rate = SEC(10), .count = 5);
    stage_pass(&s, 50);
    CHECK_SAYS(future, "poll (feed.c:12) is over: it has run 5 times");
    end(future);
    future = SCHEDULE(&s, &failing, .fixed_rate = SEC(10), .failure = HORA_FAILURE_STOP);
    stage_pass(&s, 50);
    CHECK_SAYS(future, "poll (feed.c:12) failed with code 7");
    end(future);
    stage_close(&s);
}

/* ---- due ---- */

TEST(explain_counts_what_is_due_before_it, "")
{
    struct stage s;
    stage_open_unheard(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = A_TICK(&s), ticks[4] = {A_TICK(&s), A_TICK(&s), A_TICK(&s), A_TICK(&s)};
    hora_future *futures[4];

    hora_future *blocking = block(&s, &blocker);
    for (int i = 0; i < 3; i++)
        futures[i] = SCHEDULE(&s, &ticks[i], .initial_delay = SEC(1 + i));
    futures[3] = SCHEDULE(&s, &ticks[3],
                          .at = stage_instant(&s, 2)); /* by another clock, and later than the one of 2 s */
    CHECK_OK(hora_scheduler_schedule(s.scheduler, RESIZE(tick_run, &ticks[0]), SEC(100), NULL)); /* not due */
    stage_pass(&s, 3);
    CHECK_SAYS(futures[0], "poll (feed.c:12) has been due for 2 s; its pool's only worker is busy");
    CHECK_SAYS(
        futures[1],
        "poll (feed.c:12) has been due for 1 s; 1 task that is due is ahead of it; its pool's only worker "
        "is busy");
    CHECK_SAYS(futures[3],
               "poll (feed.c:12) has been due for 1 s; 2 tasks that are due are ahead of it; its pool's only "
               "worker is busy");
    CHECK_SAYS(futures[2],
               "poll (feed.c:12) is due now; 3 tasks that are due are ahead of it; its pool's only worker is "
               "busy");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    for (int i = 0; i < 4; i++)
        end(futures[i]);
    end(blocking);
    stage_close(&s);
}

TEST(explain_says_who_is_busy_in_a_scheduler, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()));
    struct tick blocker = A_TICK(&s), tick = A_TICK(&s);

    hora_future *blocking = block(&s, &blocker);
    hora_future *future = SCHEDULE(&s, &tick, .initial_delay = SEC(1));
    stage_pass(&s, 9);
    CHECK_SAYS(
        future,
        "poll (feed.c:12) has been due for 8 s; its pool's only worker is busy: worker 1 has been busy with "
        "resize (img.c:88) for 9 s");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    end(future);
    end(blocking);
    stage_close(&s);
}

static int do_nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* Tasks without a future and timers stand in the same queue, and are no futures. */
TEST(explain_says_that_a_foreign_future_is_among_others, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = A_TICK(&s), tick = A_TICK(&s), other = A_TICK(&s);
    hora_future *foreign = NULL;
    hora_timer timer;

    CHECK_OK(hora_pool_free(s.scheduler)); /* it has a hook, for which each task has a future */
    CHECK_OK(
        hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = s.f.view), &s.scheduler, NULL));
    hora_future *blocking = block(&s, &blocker);
    CHECK_OK(hora_scheduler_schedule(s.scheduler, RESIZE(tick_run, &other), SEC(1), NULL));
    CHECK_OK(hora_timer_init(&timer, do_nothing, NULL));
    CHECK_OK(hora_timer_start(&timer, s.scheduler, SEC(2)));
    CHECK_OK(hora_future_new(RESIZE(tick_run, &tick), &foreign));
    CHECK_OK(hora_pool_execute_future(s.scheduler, foreign));
    CHECK_SAYS(
        foreign,
        "resize (img.c:88) is one of 3 tasks in a queue with its own order; its pool's only worker is busy");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_pass(&s, 3);
    end(foreign);
    end(blocking);
    stage_close(&s);
}

TEST(explain_says_that_a_foreign_future_is_about_to_run, "")
{
    struct stage s;
    stage_open_unheard(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = A_TICK(&s), tick = A_TICK(&s);
    hora_future *foreign = NULL;

    hora_future *blocking = block(&s, &blocker);
    CHECK_OK(hora_future_new(RESIZE(tick_run, &tick), &foreign));
    CHECK_OK(hora_pool_execute_future(s.scheduler, foreign));
    CHECK_SAYS(
        foreign,
        "resize (img.c:88) is one of 1 task in a queue with its own order; its pool's only worker is busy");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    CHECK_SAYS(foreign, "resize (img.c:88) ran and succeeded");
    end(foreign);
    end(blocking);
    stage_close(&s);
}

/* A foreign future may have another clock. For how long workers have been busy is measured on the pool's
 * clock. */
TEST(explain_says_to_a_foreign_future_who_is_busy, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()));
    struct tick blocker = A_TICK(&s), tick = A_TICK(&s);
    hora_future *foreign = NULL;

    hora_future *blocking = block(&s, &blocker);
    CHECK_OK(hora_future_new(RESIZE(tick_run, &tick), &foreign));
    CHECK_OK(hora_pool_execute_future(s.scheduler, foreign));
    stage_pass(&s, 7);
    CHECK_SAYS(foreign, "resize (img.c:88) is one of 1 task in a queue with its own order; its pool's only "
                        "worker is busy: worker 1 has been busy with resize (img.c:88) for 7 s");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    end(foreign);
    end(blocking);
    stage_close(&s);
}

/* A hook that explains the task for which it is called. */
static int explain_before(hora_pool *pool, const hora_run_info *run, void *context)
{
    int *calls = context;
    (void)pool;
    ++*calls;
    CHECK_SAYS(run->future,
               "poll (feed.c:12) has been taken by a worker, which is about to run it or to put it back");
    return 0;
}

TEST(explain_says_that_a_worker_has_taken_it, "")
{
    struct stage s = {.order = 0}; /* as far as a tick needs it */
    struct tick tick = A_TICK(&s);
    int calls = 0;

    fixture_open(&s.f);
    CHECK_OK(hora_scheduler_new(
        HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = s.f.view, .arg = &calls, .before = explain_before),
        &s.scheduler, NULL));
    hora_future *future = SCHEDULE(&s, &tick, .fixed_rate = SEC(1));
    stage_pass(&s, 1);
    CHECK_INT(calls, 2);
    END(&tick, future);
    CHECK_OK(hora_pool_free(s.scheduler));
    fixture_close(&s.f);
}

TEST(explain_says_why_what_is_due_is_held, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3, .admission = HORA_ADMISSION()));
    struct tick blocker = {.stage = &s, .waits = true}, ticks[2] = {A_TICK(&s), A_TICK(&s)};
    hora_class *slow = NULL;
    CHECK_OK(hora_class_new(s.scheduler, HORA_CLASS_OPTIONS(.name = "slow", .limit = 1), &slow, NULL));

    hora_future *running = SCHEDULE(&s, &blocker, .fixed_rate = SEC(100),
                                    .options = HORA_TASK_OPTIONS(.task_class = slow, .key = 7));
    stage_settle(&s);
    hora_future *limited =
        SCHEDULE(&s, &ticks[0], .initial_delay = SEC(1), .options = HORA_TASK_OPTIONS(.task_class = slow));
    hora_future *behind = SCHEDULE(&s, &ticks[1], .fixed_rate = SEC(10), .initial_delay = SEC(2),
                                   .options = HORA_TASK_OPTIONS(.key = 7));
    stage_pass(&s, 9);
    CHECK_SAYS(
        limited,
        "poll (feed.c:12) has been due for 8 s, and waits: its class slow is at its limit of 1; worker 1 "
        "has been busy with poll (feed.c:12) for 9 s");
    CHECK_SAYS(
        behind,
        "poll (feed.c:12) has been due for 7 s, and waits: 1 task with its key is ahead of it, which is "
        "running on worker 1");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    CHECK_SAYS(limited, "poll (feed.c:12) ran and succeeded");
    CHECK_SAYS(behind, "poll (feed.c:12) waits for its time: in 3 s");
    END(&blocker, running);
    END(&ticks[0], limited);
    END(&ticks[1], behind);
    stage_close(&s);
}

/* ---- clocks and zones ---- */

TEST(explain_says_that_zones_were_refreshed, "")
{
    struct stage s;
    stage_open_unheard(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = A_TICK(&s), tick = A_TICK(&s);

    hora_future *blocking = block(&s, &blocker);
    hora_future *future = SCHEDULE(&s, &tick, .cron = "0 0 3 * * *", .zone = "+01:00");
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    CHECK_SAYS(
        future,
        "poll (feed.c:12) must recompute its next time, because zones were refreshed; its pool's only worker "
        "is busy");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    CHECK_SAYS(future, "poll (feed.c:12) waits for its time: in 2 h (1971-01-01 03:00:00 +01:00)");
    END(&tick, future);
    end(blocking);
    stage_close(&s);
}

/* A scheduler whose listener is notified of a set clock, and explains a task in that call. */
struct told {
    hora_future *future;
    const char *want;
    int calls;
};

static void explain_in_hook(hora_pool *pool, const hora_event *event, void *arg)
{
    struct told *told = arg;
    (void)pool;
    (void)event;
    told->calls++;
    CHECK_SAYS(told->future, told->want);
}

/* Checks the explanation of a task while the clock has been set by this, and after that. */
static void check_told(const hora_schedule *spec, hora_ns by, const char *meanwhile, const char *afterwards)
{
    struct stage s = {.order = 0}; /* as far as a tick needs it */
    struct tick tick = A_TICK(&s);
    struct told told = {.want = meanwhile};

    fixture_open(&s.f);
    CHECK_OK(hora_scheduler_new(
        HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = s.f.view,
                               .listener = HORA_LISTENER(.clock_stepped = explain_in_hook, .arg = &told)),
        &s.scheduler, NULL));
    told.future = schedule(&s, &tick, spec);
    settle(&s.f);
    CHECK_OK(hora_virtual_clock_step_wall(s.f.clock, by));
    settle(&s.f);
    CHECK_INT(told.calls, 1);
    CHECK_SAYS(told.future, afterwards);
    bool is_done = hora_future_is_done(told.future);
    end(told.future);
    CHECK_INT(hora_pool_free(s.scheduler), is_done ? 0 : 1);
    fixture_close(&s.f);
}

TEST(explain_says_that_the_clocks_are_being_told, "")
{
    check_told(HORA_SCHEDULE(.at = {HORA_HOURS(24 * 365 + 1)}), HORA_HOURS(2),
               "poll (feed.c:12) has been due for 1 h; its scheduler is processing a clock change and starts "
               "nothing "
               "meanwhile",
               "poll (feed.c:12) ran and succeeded");
}

TEST(explain_says_that_the_clock_was_set_back, "")
{
    check_told(
        HORA_SCHEDULE(.cron = "0 0 3 * * *", .zone = "UTC"), -HORA_HOURS(1),
        "poll (feed.c:12) must recompute its next time, because the clock was set back; its scheduler is "
        "processing a clock change and starts nothing meanwhile",
        "poll (feed.c:12) waits for its time: in 4 h (1971-01-01 03:00:00 UTC)");
}

/* ---- the end of the scheduler ---- */

static void explain_neighbour(void *arg)
{
    hora_future **neighbour = arg;
    CHECK_SAYS(*neighbour,
               "poll (feed.c:12) is being removed, because its scheduler was shut down or stopped");
}

TEST(explain_says_that_it_is_swept, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    hora_future *first = NULL, *second = NULL;

    const hora_task task = {.run = tick_run, .arg = &second, .drop = explain_neighbour};
    CHECK_OK(hora_scheduler_schedule_with(
        s.scheduler, &task, HORA_SCHEDULE(.fixed_rate = SEC(5), .initial_delay = SEC(5)), &first, NULL));
    second = SCHEDULE(&s, &tick, .fixed_rate = SEC(6), .initial_delay = SEC(6));
    CHECK_OK(hora_pool_shutdown(s.scheduler));
    CHECK_SAYS(second, "poll (feed.c:12) was cancelled");
    end(first);
    end(second);
    stage_close(&s);
}

TEST(explain_says_that_the_scheduler_has_been_shut_down, "")
{
    struct stage s;
    stage_open_unheard(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = A_TICK(&s), tick = A_TICK(&s);

    hora_future *blocking = block(&s, &blocker);
    hora_future *future = SCHEDULE(&s, &tick, .initial_delay = SEC(1));
    CHECK_OK(hora_pool_shutdown(s.scheduler));
    stage_pass(&s, 2);
    CHECK_SAYS(future, "poll (feed.c:12) has been due for 1 s; its pool has been shut down and is running "
                       "the remaining tasks; its "
                       "pool's only worker is busy");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    end(future);
    end(blocking);
    stage_close(&s);
}
