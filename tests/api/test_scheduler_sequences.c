/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_sequences.c - series at a fixed rate and with a fixed delay, to the nanosecond */
#include "scheduler_support.h"

enum { CYCLES = 8, CODE = 7 };

static hora_future *schedule_beat(struct rig *r, enum form form, struct beat *beat, hora_ns delay,
                                  hora_ns period)
{
    hora_future *future = NULL;

    CHECK_OK(schedule_form(r, form, BEAT(beat), delay, period, &future));
    return future;
}

static void cancel_and_release(hora_future *future)
{
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    hora_future_unref(future);
}

/* However long a run takes, if it ends in time, the next one begins when it was planned. */
ON_BOTH_SCHEDULERS(keeps_a_fixed_rate, "testFixedRateSequence", "CP-STPE6")
{
    const hora_ns period = HORA_MS(9);

    for (int lasts = 0; lasts <= 4; lasts += 2) {
        struct rig r;
        struct beat beat;
        hora_future *future;

        scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
        beat = (struct beat)A_BEAT(&r, HORA_MS(lasts));
        future = schedule_beat(&r, RATE, &beat, 0, period);
        pass_in_steps(&r, HORA_MS(1), 7 * 9 + lasts);
        CHECK_INT(beat.runs, CYCLES);
        for (int i = 0; i < CYCLES; i++)
            CHECK_INT(beat.starts[i], i * period);
        CHECK_INT(rig_stats(&r).completed, CYCLES); /* each run, as in the JDK */
        CHECK_INT(rig_stats(&r).accepted, 1);
        cancel_and_release(future);
        rig_close(&r);
        CHECK_INT(beat.drops, 1);
    }
}

ON_BOTH_SCHEDULERS(keeps_a_fixed_delay, "testFixedDelaySequence", "CP-STPE6")
{
    const hora_ns gap = HORA_MS(9);

    for (int lasts = 0; lasts <= 4; lasts += 2) {
        struct rig r;
        struct beat beat;
        hora_future *future;

        scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
        beat = (struct beat)A_BEAT(&r, HORA_MS(lasts));
        future = schedule_beat(&r, GAP, &beat, 0, gap);
        pass_in_steps(&r, HORA_MS(1), 7 * (9 + lasts) + lasts);
        CHECK_INT(beat.runs, CYCLES);
        for (int i = 0; i < CYCLES; i++)
            CHECK_INT(beat.starts[i], i * (gap + HORA_MS(lasts)));
        cancel_and_release(future);
        rig_close(&r);
        CHECK_INT(beat.drops, 1);
    }
}

/* Three and a half periods long: three times are made up at once, then the rhythm is the old one. */
TEST(scheduler_fixed_rate_makes_up_for_what_an_overlong_run_missed, "CP-STPE6")
{
    struct rig r;
    struct beat beat;
    hora_future *future;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    beat = (struct beat)A_BEAT(&r, HORA_MS(35));
    future = schedule_beat(&r, RATE, &beat, HORA_MS(10), HORA_MS(10));
    pass(&r, HORA_MS(10));
    beat.lasts = 0; /* from the second run on */
    pass(&r, HORA_MS(34));
    CHECK_BEATS(&beat, HORA_MS(10));
    pass(&r, HORA_MS(1));
    CHECK_BEATS(&beat, HORA_MS(10), HORA_MS(45), HORA_MS(45), HORA_MS(45));
    pass(&r, HORA_MS(4));
    CHECK_INT(beat.runs, 4);
    pass_in_steps(&r, HORA_MS(1), 11);
    CHECK_BEATS(&beat, HORA_MS(10), HORA_MS(45), HORA_MS(45), HORA_MS(45), HORA_MS(50), HORA_MS(60));
    cancel_and_release(future);
    rig_close(&r);
}

/* While the rate is behind, it says since when it is due. */
TEST(scheduler_fixed_rate_that_is_behind_is_overdue, "CP-STPE6 CP-STPE16")
{
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    hora_future *future;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    future = schedule_series(&r, RATE, &job, 0, A_WHILE);
    settle(&r.f);
    CHECK_INT(job.runs, 1);
    execute_job(&r, &blocker);
    pass(&r, 4 * A_WHILE);
    CHECK_INT(job.runs, 1);
    CHECK_INT(delay_of(future), -3 * A_WHILE);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(job.runs, 5);
    CHECK_INT(delay_of(future), A_WHILE);
    hora_future_unref(future);
    rig_close(&r);
}

/* A fixed delay has nothing to make up. */
TEST(scheduler_fixed_delay_begins_anew_after_an_overlong_run, "CP-STPE6")
{
    struct rig r;
    struct beat beat;
    hora_future *future;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    beat = (struct beat)A_BEAT(&r, HORA_MS(35));
    future = schedule_beat(&r, GAP, &beat, 0, HORA_MS(10));
    settle(&r.f);
    beat.lasts = 0;
    pass(&r, HORA_MS(35));
    pass_in_steps(&r, HORA_MS(1), 20);
    CHECK_BEATS(&beat, 0, HORA_MS(45), HORA_MS(55));
    cancel_and_release(future);
    rig_close(&r);
}

static void series_that_fails(enum form form, int fails_at)
{
    struct rig r;
    struct beat beat;
    struct call call;
    hora_future *future;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    beat = (struct beat)A_BEAT(&r, 0);
    beat.fails_at = fails_at;
    beat.code = CODE;
    future = schedule_beat(&r, form, &beat, 0, A_WHILE);
    start_get(&call, &r.f, future);
    for (int i = 1; i < fails_at; i++) {
        CHECK_BLOCKED(&call);
        CHECK_NOT_DONE(future);
        pass(&r, A_WHILE);
    }
    CHECK_RETURNS(&call, HORA_EFAILED);
    CHECK_INT(hora_future_failure(future), CODE);
    CHECK_DONE(future, HORA_EFAILED, NULL);
    CHECK_INT(beat.drops, 1);
    CHECK_INT(rig_stats(&r).queued, 0);
    CHECK_INT(rig_stats(&r).threads, 1); /* a failure costs no thread */
    CHECK_INT(rig_stats(&r).failed, 1);
    CHECK_INT(rig_stats(&r).completed, fails_at);
    pass_in_steps(&r, A_WHILE, 3);
    CHECK_INT(beat.runs, fails_at);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(scheduler_series_that_fails_is_over, "CP-STPE7")
{
    series_that_fails(RATE, 1);
    series_that_fails(RATE, 4);
    series_that_fails(GAP, 1);
    series_that_fails(GAP, 4);
}

/* Not by succeeding a hundred times. */
TEST(scheduler_future_of_a_series_never_succeeds, "CP-STPE7")
{
    for (int form = RATE; form <= GAP; form++) {
        struct rig r;
        struct job job = A_JOB(&r);
        struct call call;
        hora_future *future;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        future = schedule_series(&r, (enum form)form, &job, 0, 1);
        start_get(&call, &r.f, future);
        pass_in_steps(&r, 1, 20);
        CHECK_INT(job.runs, 21);
        CHECK_INT(job.result_drops, 21);
        CHECK_BLOCKED(&call);
        CHECK_NOT_DONE(future);
        CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
        CHECK_RETURNS(&call, HORA_ECANCELED);
        hora_future_unref(future);
        rig_close(&r);
        CHECK_JOB(&job, 21);
    }
}

/* A series that is cancelled while it runs does not run again. */
TEST(scheduler_series_cancelled_while_it_runs_is_over, "CP-STPE7")
{
    for (int form = RATE; form <= GAP; form++) {
        for (int interrupt = 0; interrupt < 2; interrupt++) {
            struct rig r;
            struct job job = A_WAITING_JOB(&r);
            hora_future *future;

            scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
            future = schedule_series(&r, (enum form)form, &job, 0, A_WHILE);
            settle(&r.f);
            CHECK_INT(hora_future_cancel(future, interrupt),
                      interrupt ? HORA_CANCEL_INTERRUPTED : HORA_CANCEL_RUNNING);
            CHECK_DONE(future, HORA_ECANCELED, NULL);
            settle(&r.f);
            CHECK_INT(job.interrupts, interrupt);
            CHECK_INT(job.drops, interrupt); /* not before the body has ended */
            rig_open_gate(&r);
            pass_in_steps(&r, A_WHILE, 3);
            CHECK_JOB(&job, 1);
            CHECK_INT(rig_stats(&r).queued, 0);
            CHECK_INT(rig_stats(&r).cancelled, 1);
            hora_future_unref(future);
            rig_close(&r);
        }
    }
}

struct own {
    hora_future *future;
    int runs;
};

static int cancel_own_series(void *arg, void **ret_result)
{
    struct own *own = arg;

    (void)ret_result;
    if (++own->runs == 3)
        CHECK_INT(hora_future_cancel(own->future, true), HORA_CANCEL_INTERRUPTED);
    return 0;
}

/* A series may end itself. */
TEST(scheduler_series_may_cancel_itself, "CP-STPE7")
{
    struct rig r;
    struct own own = {.runs = 0};

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_scheduler_schedule_at_fixed_rate(r.pool, HORA_TASK(cancel_own_series, &own), A_WHILE,
                                                   A_WHILE, &own.future));
    pass_in_steps(&r, A_WHILE, 6);
    CHECK_INT(own.runs, 3);
    CHECK_DONE(own.future, HORA_ECANCELED, NULL);
    hora_future_unref(own.future);
    rig_close(&r);
}

/* Its place among equals is that of its scheduling, not of its last run. */
struct turn {
    char *text;
    int *length;
    char name;
};

static int take_turn(void *arg, void **ret_result)
{
    struct turn *turn = arg;

    (void)ret_result;
    if (*turn->length < 40)
        turn->text[(*turn->length)++] = turn->name;
    return 0;
}

static void check_text(const char *got, const char *want, int line)
{
    for (int i = 0; i < 40; i++) {
        if (got[i] == want[i] && got[i] != 0)
            continue;
        if (got[i] != want[i])
            test_fail(__FILE__, line, "ran in the order %s, not %s", got, want);
        return;
    }
}

/* All are due at the same moments; a is the oldest, then b, c, d. */
TEST(scheduler_series_keeps_its_place_among_equals, "CP-STPE5")
{
    struct rig r;
    char text[41] = "";
    int length = 0;
    struct turn a = {text, &length, 'a'}, b = {text, &length, 'b'}, c = {text, &length, 'c'},
                d = {text, &length, 'd'};

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_scheduler_schedule_at_fixed_rate(r.pool, HORA_TASK(take_turn, &a), A_WHILE, A_WHILE, NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(take_turn, &b), 3 * A_WHILE, NULL));
    CHECK_OK(hora_scheduler_schedule_with_fixed_delay(r.pool, HORA_TASK(take_turn, &c), 2 * A_WHILE, A_WHILE,
                                                      NULL));
    CHECK_OK(
        hora_scheduler_schedule_at_fixed_rate(r.pool, HORA_TASK(take_turn, &d), A_WHILE, 2 * A_WHILE, NULL));
    pass_in_steps(&r, A_WHILE, 4);
    check_text(text, "adacabcdac", __LINE__);
    rig_close(&r);
}

/* Many threads, one after the other in the same run: what a run did is there for the next. */
TEST(scheduler_series_may_change_its_thread_and_sees_what_it_did, "CP-STPE17")
{
    struct rig r;
    struct beat beats[3];
    hora_future *futures[3];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    for (int i = 0; i < 3; i++) {
        beats[i] = (struct beat)A_BEAT(&r, HORA_MS(1));
        futures[i] = schedule_beat(&r, i == 1 ? GAP : RATE, &beats[i], 0, HORA_MS(1));
    }
    pass_in_steps(&r, HORA_MS(1), 12);
    CHECK_INT(beats[0].runs, 13);
    CHECK_INT(beats[1].runs, 7);
    CHECK_INT(beats[2].runs, 13);
    CHECK_OK(hora_pool_shutdown(r.pool));
    pass(&r, HORA_MS(1));
    CHECK(hora_pool_is_terminated(r.pool));
    for (int i = 0; i < 3; i++) {
        CHECK_DONE(futures[i], HORA_ECANCELED, NULL);
        CHECK_INT(beats[i].drops, 1);
        hora_future_unref(futures[i]);
    }
    rig_close(&r);
}

/* On real time, and several workers: no run before its planned time, never two at once. */
struct real_beat {
    hora_ns zero, period;
    int runs;
    atomic_int going;
    hora_latch *enough;
};

static int real_beat_run(void *arg, void **ret_result)
{
    struct real_beat *beat = arg;
    hora_ns now = hora_clock_now(NULL);

    (void)ret_result;
    CHECK_INT(atomic_fetch_add(&beat->going, 1), 0);
    CHECK(now - beat->zero >= beat->runs * beat->period);
    beat->runs++;
    CHECK_OK(hora_latch_count_down(beat->enough));
    atomic_fetch_sub(&beat->going, 1);
    return 0;
}

TEST_REAL(scheduler_real_series_is_never_early, "CP-STPE6 CP-STPE17")
{
    hora_scheduler *scheduler;
    struct real_beat beats[2] = {{.period = HORA_US(700)}, {.period = HORA_US(900)}};

    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 3), &scheduler, NULL));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_latch_new(50, NULL, &beats[i].enough, NULL));
        beats[i].zero = hora_clock_now(NULL);
        CHECK_OK((i == 0 ? hora_scheduler_schedule_at_fixed_rate : hora_scheduler_schedule_with_fixed_delay)(
            scheduler, HORA_TASK(real_beat_run, &beats[i]), 0, beats[i].period, NULL));
    }
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_latch_await(beats[i].enough));
    int abandoned = hora_pool_free(scheduler); /* a series that is running is cancelled instead */
    CHECK(abandoned >= 0 && abandoned <= 2);
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_latch_free(beats[i].enough));
}
