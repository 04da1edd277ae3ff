/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_support.c - see schedule_support.h */
#include "schedule_support.h"

#include <stdio.h>

/* ---- stages ---- */

/* The listener of a stage passes its events on to that of the options. */
#define PASS_ON(name)                                                               \
    static void pass_on_##name(hora_pool *pool, const hora_event *event, void *arg) \
    {                                                                               \
        struct stage *stage = arg;                                                  \
        stage->told.name(pool, event, stage->told.arg);                             \
    }
PASS_ON(started)
PASS_ON(done)
PASS_ON(rejected)
PASS_ON(expired)
PASS_ON(skipped)
PASS_ON(stuck)
PASS_ON(resized)
PASS_ON(thread_failed)
PASS_ON(woke_late)

static void note_step(hora_pool *pool, const hora_event *event, void *arg)
{
    struct stage *stage = arg;
    int n = atomic_fetch_add(&stage->events, 1);

    CHECK_POINTER(hora_pool_current(), pool);
    CHECK_INT(event->struct_size, sizeof(hora_event));
    CHECK(n < MOST_EVENTS);
    if (n < MOST_EVENTS)
        stage->event[n] = *event;
    if (stage->told.clock_stepped != NULL)
        stage->told.clock_stepped(pool, event, stage->told.arg);
}

static void note_failure(hora_pool *pool, const hora_event *event, void *arg)
{
    struct stage *stage = arg;
    int n = atomic_fetch_add(&stage->failures, 1);

    CHECK_POINTER(hora_pool_current(), pool);
    CHECK(n < MOST_FAILURES);
    if (n < MOST_FAILURES)
        stage->failure[n] = (struct stage_failure){event->future,
                                                   event->code,
                                                   event->ends,
                                                   event->failures_in_a_row,
                                                   hora_future_is_done(event->future),
                                                   atomic_fetch_add(&stage->order, 1)};
    if (stage->told.failed != NULL)
        stage->told.failed(pool, event, stage->told.arg);
}

static hora_listener stage_listener(struct stage *stage, const hora_listener *told)
{
    hora_listener own = HORA_INIT(hora_listener);

    own.failed = note_failure;
    own.clock_stepped = note_step;
    own.arg = stage;
    own.started = told->started != NULL ? pass_on_started : NULL;
    own.done = told->done != NULL ? pass_on_done : NULL;
    own.rejected = told->rejected != NULL ? pass_on_rejected : NULL;
    own.expired = told->expired != NULL ? pass_on_expired : NULL;
    own.skipped = told->skipped != NULL ? pass_on_skipped : NULL;
    own.stuck = told->stuck != NULL ? pass_on_stuck : NULL;
    own.resized = told->resized != NULL ? pass_on_resized : NULL;
    own.thread_failed = told->thread_failed != NULL ? pass_on_thread_failed : NULL;
    own.woke_late = told->woke_late != NULL ? pass_on_woke_late : NULL;
    return own;
}

void stage_open_unheard(struct stage *stage, const hora_scheduler_options *options)
{
    hora_scheduler_options own = *options;
    hora_error reason;

    *stage = (struct stage){.order = 0};
    fixture_open(&stage->f);
    for (int i = 0; i < 4; i++)
        stage->zero[i] = hora_clock_now(hora_virtual_clock_view(stage->f.clock, (hora_clock_id)i));
    CHECK_OK(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = stage->f.view), &stage->gate, NULL));
    if (own.clock == NULL)
        own.clock = stage->f.view;
    own.arg = stage;
    if (hora_scheduler_new(&own, &stage->scheduler, &reason) < 0)
        test_fail(__FILE__, __LINE__, "the scheduler is refused: %s", reason.message);
}

void stage_open(struct stage *stage, const hora_scheduler_options *options)
{
    hora_scheduler_options own = *options;
    const hora_listener told =
        options->listener != NULL ? *options->listener : (hora_listener)HORA_INIT(hora_listener);
    const hora_listener listener = stage_listener(stage, &told);

    own.listener = &listener;
    stage_open_unheard(stage, &own);
    stage->told = told;
}

void stage_close(struct stage *stage)
{
    CHECK_OK(hora_latch_count_down(stage->gate));
    CHECK_OK(hora_scheduler_set_cancel_delayed(stage->scheduler, true));
    CHECK_OK(hora_scheduler_set_continue_periodic(stage->scheduler, false));
    CHECK_OK(hora_pool_shutdown(stage->scheduler));
    stage_settle(stage);
    for (int i = 0; i < 1000 && !hora_pool_is_terminated(stage->scheduler); i++)
        stage_pass(stage, 1);
    CHECK_OK(hora_pool_await_termination_for(stage->scheduler, 0));
    CHECK_FREE(stage->scheduler);
    CHECK_OK(hora_latch_free(stage->gate));
    fixture_close(&stage->f);
}

void stage_settle(struct stage *stage)
{
    settle(&stage->f);
}

void stage_pass(struct stage *stage, int seconds)
{
    CHECK_OK(hora_virtual_clock_run(stage->f.clock, SEC(seconds)));
}

void stage_leap(struct stage *stage, hora_ns by)
{
    settle(&stage->f);
    advance(&stage->f, by);
    settle(&stage->f);
}

hora_ns stage_now(const struct stage *stage, hora_clock_id line)
{
    return hora_clock_now(hora_virtual_clock_view(stage->f.clock, line)) - stage->zero[line];
}

hora_instant stage_instant(const struct stage *stage, int seconds)
{
    return (hora_instant){stage->zero[HORA_CLOCK_WALL] + SEC(seconds)};
}

/* ---- ticks ---- */

static void note_going(struct tick *tick, int going)
{
    int most = tick->most_going;
    while (going > most && !atomic_compare_exchange_weak(&tick->most_going, &most, going))
        continue;
}

static void take_time(struct tick *tick, int run)
{
    int lasts = run == 1 && tick->lasts_first > 0 ? tick->lasts_first : tick->lasts;
    int error = 0;

    if (lasts > 0)
        error = hora_clock_sleep(tick->stage->f.view, SEC(lasts));
    if (error == 0 && tick->waits)
        error = hora_latch_await(tick->stage->gate);
    if (error == HORA_EINTERRUPTED)
        atomic_fetch_add(&tick->interrupts, 1);
}

int tick_run(void *arg, void **ret_result)
{
    struct tick *tick = arg;
    int run = atomic_fetch_add(&tick->runs, 1) + 1;

    CHECK_INT(tick->drops, 0);
    note_going(tick, atomic_fetch_add(&tick->going, 1) + 1);
    if (run <= MOST_STARTS)
        tick->starts[run - 1] = stage_now(tick->stage, tick->line);
    take_time(tick, run);
    atomic_fetch_sub(&tick->going, 1);
    if (run >= tick->fails_from && run <= tick->fails_to)
        return tick->code + (tick->counts ? run : 0);
    *ret_result = tick;
    return 0;
}

void tick_drop(void *arg)
{
    struct tick *tick = arg;

    CHECK_INT(tick->going, 0);
    atomic_fetch_add(&tick->drops, 1);
}

void tick_drop_result(void *arg)
{
    struct tick *tick = arg;

    atomic_fetch_add(&tick->result_drops, 1);
}

hora_future *start_tick(const char *file, int line, struct stage *stage, struct tick *tick,
                        const hora_schedule *spec)
{
    hora_future *future = NULL;
    hora_error reason;

    if (hora_scheduler_schedule_with(stage->scheduler, TICK(tick), spec, &future, &reason) < 0)
        test_fail(file, line, "the schedule is refused: %s, %s", hora_strerror(reason.code), reason.message);
    return future;
}

void end_tick(const char *file, int line, struct tick *tick, hora_future *future)
{
    (void)hora_future_cancel(future, true);
    stage_settle(tick->stage);
    test_check_int(file, line, "drops", tick->drops, 1);
    test_check_int(file, line, "going", tick->going, 0);
    test_check_pointer(file, line, "unref", hora_future_unref(future), NULL);
}

void check_starts(const char *file, int line, struct tick *tick, int runs, const int *starts)
{
    char what[32];

    test_check_int(file, line, "runs", tick->runs, runs);
    for (int i = 0; i < runs && i < tick->runs && i < MOST_STARTS; i++) {
        (void)snprintf(what, sizeof(what), "start of run %d", i + 1);
        test_check_int(file, line, what, tick->starts[i], SEC(starts[i]));
    }
}

hora_schedule_info info_of(hora_future *future)
{
    hora_schedule_info info = HORA_INIT(hora_schedule_info);

    CHECK_OK(hora_future_get_schedule_info(future, &info));
    CHECK_INT(info.struct_size, sizeof(info));
    return info;
}

hora_ns since_zero(const struct stage *stage, const hora_schedule_info *info, hora_ns time)
{
    return time == HORA_NEVER ? time : time - stage->zero[info->clock];
}

hora_ns timetable_next(const hora_trigger_context *context, void *arg)
{
    struct timetable *table = arg;
    hora_ns zero = table->stage->zero[table->line];
    const int *second = table->seconds;

    CHECK_INT(atomic_fetch_add(&table->going, 1), 0);
    atomic_fetch_add(&table->calls, 1);
    CHECK_INT(context->clock, table->line == HORA_CLOCK_DEFAULT ? HORA_CLOCK_MONOTONIC : table->line);
    table->last = *context;
    while (*second >= 0 && context->last_planned != HORA_NEVER &&
           zero + SEC(*second) <= context->last_planned)
        second++;
    atomic_fetch_sub(&table->going, 1);
    return *second < 0 ? HORA_NEVER : zero + SEC(*second);
}
