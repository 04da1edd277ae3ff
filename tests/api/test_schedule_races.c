/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_races.c - cancel, re-time, pause and fire at the same moment: one final state
 *
 * A racer becomes due while another thread changes it. The result of that call must be true: unless a run has
 * begun, which hora_future_get_schedule_info shows, none begins by the old plan from then on. The simulator
 * tries every order of the steps; on real threads the race is repeated many times. */
#include <stdio.h>

#include "schedule_support.h"

enum act { CANCEL, RETIME, PAUSE, ACTS };

struct racer {
    struct stage *stage;
    atomic_bool held; /* a call has returned that forbids runs from now on */
    atomic_int runs;
    atomic_int stale; /* runs that began all the same */
    atomic_int drops;
};

static int race_run(void *arg, void **ret_result)
{
    struct racer *racer = arg;
    (void)ret_result;
    if (racer->held)
        atomic_fetch_add(&racer->stale, 1);
    atomic_fetch_add(&racer->runs, 1);
    return 0;
}

static void race_drop(void *arg)
{
    struct racer *racer = arg;
    atomic_fetch_add(&racer->drops, 1);
}

/* True if no run may begin now. */
static bool act_on(hora_future *future, enum act act)
{
    if (act == CANCEL)
        return hora_future_cancel(future, false) == HORA_CANCEL_REMOVED;
    int result = act == RETIME ? hora_future_reschedule(future, HORA_HOURS(1), 0) : hora_future_pause(future);
    CHECK(result == HORA_EBUSY || result == (act == RETIME ? 0 : 1));
    return result >= 0;
}

static void race(struct stage *s, enum act act, const hora_schedule *spec)
{
    struct racer racer = {.stage = s};
    hora_future *future = NULL;

    CHECK_OK(hora_scheduler_schedule_with(s->scheduler, HORA_TASK(race_run, &racer, .drop = race_drop), spec,
                                          &future, NULL));
    stage_settle(s);
    CHECK_OK(hora_virtual_clock_advance(s->f.clock, SEC(1))); /* the task is due, and may not have run yet */
    bool held = act_on(future, act) && info_of(future).runs == 0; /* else a run is going, or has been */
    racer.held = held;
    stage_settle(s);
    CHECK(racer.runs <= 1);
    CHECK_INT(racer.stale, 0);
    if (held)
        CHECK_INT(racer.runs, 0);
    if (!held && act != CANCEL)
        CHECK_INT(racer.runs, 1);
    (void)hora_future_cancel(future, false);
    stage_settle(s);
    CHECK_INT(racer.drops, 1);
    CHECK(hora_future_is_done(future));
    CHECK_POINTER(hora_future_unref(future), NULL);
}

static void race_once(enum act act)
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    race(&s, act, HORA_SCHEDULE(.initial_delay = SEC(1)));
    stage_close(&s);
}

TEST(cancel_races_with_the_time_of_a_task, "")
{
    race_once(CANCEL);
}

TEST(retime_races_with_the_time_of_a_task, "")
{
    race_once(RETIME);
}

TEST(pause_races_with_the_time_of_a_task, "")
{
    race_once(PAUSE);
}

static void race_series(enum act act)
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    race(&s, act, HORA_SCHEDULE(.initial_delay = SEC(1), .fixed_rate = HORA_HOURS(2)));
    stage_close(&s);
}

TEST(cancel_races_with_the_time_of_a_series, "")
{
    race_series(CANCEL);
}

TEST(retime_races_with_the_time_of_a_series, "")
{
    race_series(RETIME);
}

TEST(pause_races_with_the_time_of_a_series, "")
{
    race_series(PAUSE);
}

/* A series with overlap that is cancelled at the very moment of a planned time. */
TEST(cancel_races_with_the_time_of_a_series_with_overlap, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    race(&s, CANCEL,
         HORA_SCHEDULE(.initial_delay = SEC(1), .fixed_rate = HORA_HOURS(2), .overlap = HORA_OVERLAP_ALLOW,
                       .overlap_max = 2));
    stage_close(&s);
}

/* Two threads that change it at once, and the time of the task: one final state. */
struct helper {
    hora_future *future;
    enum act act;
};

static void help(void *arg)
{
    const struct helper *helper = arg;
    (void)act_on(helper->future, helper->act);
}

TEST(all_race_for_one_final_state, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    struct racer racer = {.stage = &s};
    struct helper helpers[2] = {{.act = RETIME}, {.act = CANCEL}};
    test_thread *threads[2];
    hora_future *future = NULL;

    CHECK_OK(hora_scheduler_schedule_with(s.scheduler, HORA_TASK(race_run, &racer, .drop = race_drop),
                                          HORA_SCHEDULE(.initial_delay = SEC(1)), &future, NULL));
    stage_settle(&s);
    for (int i = 0; i < 2; i++) {
        helpers[i].future = future;
        threads[i] = test_thread_start(s.f.clock, help, &helpers[i]);
    }
    CHECK_OK(hora_virtual_clock_advance(s.f.clock, SEC(1)));
    for (int i = 0; i < 2; i++)
        test_thread_join(threads[i]);
    stage_settle(&s);
    CHECK(hora_future_is_done(future));
    CHECK_INT(racer.drops, 1);
    CHECK(racer.runs <= 1);
    hora_future_state state = hora_future_get_state(future);
    CHECK(state == HORA_FUTURE_SUCCEEDED || state == HORA_FUTURE_CANCELLED);
    CHECK(state != HORA_FUTURE_SUCCEEDED || racer.runs == 1);
    stage_leap(&s, HORA_HOURS(2));
    CHECK_INT(hora_future_get_state(future), state);
    CHECK(racer.runs <= 1);
    CHECK_POINTER(hora_future_unref(future), NULL);
    stage_close(&s);
}

/* ---- the same on real threads and the machine's clock, a hundred thousand times ---- */

enum { ROUNDS = 100000, AT_ONCE = 64 };

struct shot {
    atomic_bool held;
    atomic_int runs;
    atomic_int stale;
    atomic_int drops;
    hora_ns not_before;
    hora_future *future;
    bool removed;
};

static int shot_run(void *arg, void **ret_result)
{
    struct shot *shot = arg;
    (void)ret_result;
    if (shot->held || hora_clock_now(NULL) < shot->not_before)
        atomic_fetch_add(&shot->stale, 1);
    atomic_fetch_add(&shot->runs, 1);
    return 0;
}

static void shot_drop(void *arg)
{
    struct shot *shot = arg;
    atomic_fetch_add(&shot->drops, 1);
}

static void start_shot(hora_scheduler *scheduler, struct shot *shot)
{
    hora_ns delay =
        (hora_ns)test_random(20000); /* up to 20 us: about as long as it takes to change all of them */
    *shot = (struct shot){.not_before = hora_clock_now(NULL) + delay};
    CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(shot_run, shot, .drop = shot_drop), delay,
                                     &shot->future));
}

static void change_shot(struct shot *shot, enum act act)
{
    if (!act_on(shot->future, act))
        return;
    shot->held = act != RETIME; /* a re-timed one may run after its hour, which this test does not wait for */
    shot->removed = act == CANCEL;
    if (act == RETIME)
        shot->not_before = INT64_MAX;
}

/* Everything is at rest: whatever happened has ended. */
static void check_shot(struct shot *shot)
{
    CHECK(hora_future_is_done(shot->future));
    CHECK_INT(shot->stale, 0);
    CHECK(shot->runs <= 1);
    CHECK_INT(shot->drops, 1);
    if (shot->removed)
        CHECK_INT(shot->runs, 0);
    if (!hora_future_is_cancelled(shot->future))
        CHECK_INT(shot->runs, 1);
    CHECK_POINTER(hora_future_unref(shot->future), NULL);
}

TEST_REAL(schedule_races_on_real_threads, "")
{
    hora_scheduler *scheduler;
    struct shot shots[AT_ONCE];
    int rounds = BUILT_WITH_TSAN || BUILT_WITH_ASAN ? ROUNDS / 10 : ROUNDS;
    int64_t dropped = 0, ran = 0;

    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2), &scheduler, NULL));
    for (int done = 0; done < rounds; done += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++)
            start_shot(scheduler, &shots[i]);
        for (int i = 0; i < AT_ONCE; i++)
            change_shot(&shots[i], (enum act)test_random(ACTS));
        for (int i = 0; i < AT_ONCE; i++)
            (void)hora_future_cancel(shots[i].future, false);
        CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
        for (int i = 0; i < AT_ONCE; i++) {
            check_shot(&shots[i]);
            dropped += shots[i].drops;
            ran += shots[i].runs;
        }
    }
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(scheduler, &stats));
    CHECK_INT(stats.queued, 0);
    CHECK_INT(stats.accepted, dropped);
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    CHECK_OK(hora_pool_free(scheduler));
    printf("%lld tasks raced, of which %lld ran\n", (long long)dropped, (long long)ran);
}
