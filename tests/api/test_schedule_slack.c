/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_slack.c - runs that may begin later, so that wake-ups are merged
 *
 * A wake-up is a moment at which the clock stops because a thread waits for it.
 * hora_virtual_clock_advance_to_next counts them. */
#include "schedule_support.h"

/* Let time pass moment by moment, to the end; how many moments there were. */
static int count_moments(struct stage *s, hora_ns time)
{
    hora_ns end = stage_now(s, HORA_CLOCK_MONOTONIC) + time;
    int moments = 0;

    stage_settle(s);
    while (stage_now(s, HORA_CLOCK_MONOTONIC) < end) {
        hora_ns by;
        CHECK_OK(hora_virtual_clock_advance_to_next(s->f.clock, &by));
        stage_settle(s);
        moments += stage_now(s, HORA_CLOCK_MONOTONIC) <= end;
    }
    return moments;
}

/* A far task that keeps the clock from running out of moments. */
static hora_future *start_bound(struct stage *s, struct tick *tick, hora_ns at)
{
    *tick = (struct tick)A_TICK(s);
    return START(s, tick, .initial_delay = at);
}

TEST(schedule_without_slack_wakes_for_each_time, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick ticks[8], bound;
    hora_future *futures[8];

    for (int i = 0; i < 8; i++) {
        ticks[i] = (struct tick)A_TICK(&s);
        futures[i] = START(&s, &ticks[i], .initial_delay = SEC(10 + i));
    }
    hora_future *last = start_bound(&s, &bound, SEC(30));
    CHECK_INT(count_moments(&s, SEC(30)), 8 + 1);
    for (int i = 0; i < 8; i++) {
        CHECK_STARTS(&ticks[i], 10 + i);
        END(&ticks[i], futures[i]);
    }
    END(&bound, last);
    stage_close(&s);
}

/* Eight tasks at 10 s to 17 s that may be 8 s late: all of them run at 18 s, when the first of them must
 * run. */
TEST(schedule_with_slack_merges_wake_ups, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick ticks[8], bound;
    hora_future *futures[8];

    for (int i = 0; i < 8; i++) {
        ticks[i] = (struct tick)A_TICK(&s);
        futures[i] = START(&s, &ticks[i], .initial_delay = SEC(10 + i), .slack = SEC(8));
    }
    hora_future *last = start_bound(&s, &bound, SEC(30));
    CHECK_INT(count_moments(&s, SEC(30)), 1 + 1);
    for (int i = 0; i < 8; i++) {
        CHECK_STARTS(&ticks[i], 18);
        END(&ticks[i], futures[i]);
    }
    END(&bound, last);
    stage_close(&s);
}

/* A precise task is in time, and takes with it what may run: never what may not. */
TEST(schedule_with_slack_joins_a_precise_task_and_does_not_delay_it, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick precise = A_TICK(&s), before = A_TICK(&s), at = A_TICK(&s), after = A_TICK(&s), bound;

    hora_future *first = START(&s, &before, .initial_delay = SEC(9), .slack = SEC(10));
    hora_future *second = START(&s, &at, .initial_delay = SEC(12), .slack = SEC(10));
    hora_future *third = START(&s, &after, .initial_delay = SEC(12) + 1, .slack = SEC(10) - 1);
    hora_future *fourth = START(&s, &precise, .initial_delay = SEC(12));
    hora_future *last = start_bound(&s, &bound, SEC(30));
    CHECK_INT(count_moments(&s, SEC(30)), 2 + 1);
    CHECK_STARTS(&precise, 12);
    CHECK_STARTS(&before, 12);
    CHECK_STARTS(&at, 12);
    CHECK_STARTS(&after, 22); /* never early, not by a nanosecond */
    END(&before, first);
    END(&at, second);
    END(&after, third);
    END(&precise, fourth);
    END(&bound, last);
    stage_close(&s);
}

enum { IN_ORDER = 6 };

/* Notes the numbers of tasks in the order in which they run. Only one worker writes. */
struct order {
    int numbers[IN_ORDER];
    atomic_int count;
};

struct numbered {
    struct order *order;
    int number;
};

static int note_number(void *arg, void **ret_result)
{
    (void)ret_result;
    const struct numbered *numbered = arg;
    int count = numbered->order->count++;
    if (count < IN_ORDER)
        numbered->order->numbers[count] = numbered->number;
    return 0;
}

/* What can run together runs in the order of the planned times, with slack or without. */
TEST(schedule_with_slack_keeps_the_order, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct order order = {.count = 0};
    struct numbered all[IN_ORDER];
    hora_future *futures[IN_ORDER];

    for (int i = 0; i < IN_ORDER; i++) {
        all[i] = (struct numbered){&order, i};
        CHECK_OK(
            hora_scheduler_schedule_with(s.scheduler, HORA_TASK(note_number, &all[i]),
                                         HORA_SCHEDULE(.initial_delay = SEC(10 + i), .fixed_rate = SEC(60),
                                                       .slack = i % 2 == 0 ? SEC(20) : 0),
                                         &futures[i], NULL));
    }
    stage_leap(&s, SEC(40));
    stage_settle(&s);
    CHECK_INT(order.count, IN_ORDER);
    for (int i = 0; i < IN_ORDER; i++) {
        CHECK_INT(order.numbers[i], i);
        CHECK(hora_future_cancel(futures[i], false) >= 0);
        hora_future_unref(futures[i]);
    }
    stage_close(&s);
}

/* Alone it runs when its slack is used up, and counts on from its planned times: no drift. */
TEST(schedule_with_slack_does_not_drift, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .initial_delay = SEC(10), .fixed_rate = SEC(10), .slack = SEC(3));
    stage_pass(&s, 50);
    CHECK_STARTS(&tick, 13, 23, 33, 43);
    hora_schedule_info info = info_of(future);
    CHECK_INT(since_zero(&s, &info, info.last_planned), SEC(40));
    CHECK_INT(since_zero(&s, &info, info.last_start), SEC(43));
    CHECK_INT(since_zero(&s, &info, info.next), SEC(50));
    CHECK_INT(info.skipped, 0);
    END(&tick, future);
    stage_close(&s);
}

/* A hundred tasks, each every minute, at random: with 5 s of slack each minute has at most 12 moments. */
TEST(schedule_with_slack_saves_most_wake_ups, "")
{
    enum { TASKS = 40 };
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick ticks[TASKS];
    hora_future *futures[TASKS];
    hora_ns delays[TASKS];

    for (int i = 0; i < TASKS; i++) {
        delays[i] = HORA_MS((hora_ns)test_random(60000));
        ticks[i] = (struct tick)A_TICK(&s);
        futures[i] = START(&s, &ticks[i], .initial_delay = delays[i], .fixed_rate = SEC(60), .slack = SEC(5));
    }
    CHECK(count_moments(&s, SEC(180)) <= 36);
    for (int i = 0; i < TASKS; i++) {
        CHECK(ticks[i].runs >= 2);
        for (int run = 0; run < ticks[i].runs; run++) {
            hora_ns late = ticks[i].starts[run] - delays[i] - SEC(60) * run;
            CHECK(late >= 0 && late <= SEC(5));
        }
        END(&ticks[i], futures[i]);
    }
    stage_close(&s);
}

/* Slack on another clock than the scheduler's own. */
TEST(schedule_with_slack_on_other_clocks, "")
{
    for (int i = 0; i < 3; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .line = (hora_clock_id)(i + 1)};
        hora_future *future =
            START(&s, &tick, .initial_delay = SEC(10), .slack = SEC(5), .clock = (hora_clock_id)(i + 1));
        stage_pass(&s, 14);
        CHECK_NO_START(&tick);
        stage_pass(&s, 1);
        CHECK_STARTS(&tick, 15);
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(schedule_with_endless_slack_waits_for_another, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick lax = A_TICK(&s), precise = A_TICK(&s);

    hora_future *first = START(&s, &lax, .initial_delay = SEC(1), .slack = INT64_MAX);
    hora_future *second = START(&s, &precise, .initial_delay = SEC(500));
    stage_pass(&s, 499);
    CHECK_NO_START(&lax);
    stage_pass(&s, 1);
    CHECK_STARTS(&lax, 500);
    CHECK_STARTS(&precise, 500);
    END(&lax, first);
    END(&precise, second);
    stage_close(&s);
}

/* Re-timed and cancelled like any other; both its places in the queue go. */
TEST(schedule_with_slack_can_be_changed, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s), gone = A_TICK(&s);

    hora_future *future = START(&s, &tick, .initial_delay = SEC(100), .slack = SEC(5));
    hora_future *other = START(&s, &gone, .initial_delay = SEC(1), .slack = SEC(5));
    CHECK_OK(hora_future_reschedule(future, SEC(10), 0));
    CHECK_INT(hora_future_cancel(other, false), HORA_CANCEL_REMOVED);
    stage_pass(&s, 14);
    CHECK_NO_START(&tick);
    stage_pass(&s, 1);
    CHECK_STARTS(&tick, 15);
    CHECK_NO_START(&gone);
    END(&tick, future);
    END(&gone, other);
    stage_close(&s);
}
