/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer_shown.c - timers on schedulers with hooks and observers
 *
 * They work, and are shown as tasks named "timer". */
#include <stdlib.h>
#include <string.h>

#include "events_support.h"
#include "measure_support.h"

static int bump(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static int fail(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return 7;
}

static int wait_at_gate(void *arg)
{
    struct rig *r = arg;
    while (hora_latch_await(r->gate) == HORA_EINTERRUPTED) {
    }
    return 0;
}

/* ---- hooks ---- */

struct seen {
    atomic_int before;
    atomic_int after;
    atomic_int failed;
    atomic_int decorated;
    atomic_int wrapped;
    atomic_int drops;
    int refuses; /* what before returns */
    int decorate_error;
    int last_code;
    bool wraps;
    bool had_future;
    bool wrong_name;
    hora_timer *stopped; /* by before and after: in them a stop does not wait */
    int stop_answers[2];
};

static int before(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct seen *seen = context;
    (void)pool;
    seen->had_future |= run->future != NULL || run->submitted;
    seen->wrong_name |= strcmp(run->task->name, "timer") != 0;
    atomic_fetch_add(&seen->before, 1);
    if (seen->stopped != NULL)
        seen->stop_answers[0] = hora_timer_stop(seen->stopped);
    return seen->refuses;
}

static void after(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct seen *seen = context;
    (void)pool;
    seen->had_future |= run->future != NULL;
    seen->last_code = run->code;
    atomic_fetch_add(&seen->after, 1);
    if (seen->stopped != NULL)
        seen->stop_answers[1] = hora_timer_stop(seen->stopped);
}

static void failed(hora_pool *scheduler, const hora_event *event, void *context)
{
    struct seen *seen = context;
    (void)scheduler;
    seen->had_future |= event->future != NULL;
    seen->last_code = event->code;
    atomic_fetch_add(&seen->failed, 1);
}

struct wrapper {
    struct seen *seen;
    hora_task inner;
};

static int run_wrapped(void *arg, void **ret_result)
{
    const struct wrapper *wrapper = arg;
    atomic_fetch_add(&wrapper->seen->wrapped, 1);
    return wrapper->inner.run(wrapper->inner.arg, ret_result);
}

static void drop_wrapper(void *arg)
{
    struct wrapper *wrapper = arg;
    atomic_fetch_add(&wrapper->seen->drops, 1);
    free(wrapper);
}

static int decorate(hora_scheduler *scheduler, hora_task *task, void *context)
{
    struct seen *seen = context;
    (void)scheduler;
    seen->wrong_name |= task->name == NULL || strcmp(task->name, "timer") != 0;
    atomic_fetch_add(&seen->decorated, 1);
    if (seen->decorate_error < 0)
        return seen->decorate_error;
    struct wrapper *wrapper = seen->wraps ? malloc(sizeof *wrapper) : NULL;
    if (wrapper == NULL)
        return 0;
    *wrapper = (struct wrapper){seen, *task};
    task->run = run_wrapped;
    task->arg = wrapper;
    task->drop = drop_wrapper;
    return 0;
}

static void open_with(struct rig *r, const hora_scheduler_options *options)
{
    rig_prepare(r, false);
    hora_scheduler_options own = *options;
    own.clock = r->f.view;
    CHECK_OK(hora_scheduler_new(&own, &r->pool, NULL));
}

TEST(timer_is_seen_by_hooks, "")
{
    struct rig r;
    struct seen seen = {.wraps = true};
    atomic_int runs = 0, fails = 0;
    hora_timer good = HORA_TIMER_INIT(bump, &runs), bad = HORA_TIMER_INIT(fail, &fails);

    open_with(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .before = before, .after = after,
                                         .decorate = decorate, .arg = &seen,
                                         .listener = HORA_LISTENER(.failed = failed, .arg = &seen)));
    CHECK_INT(hora_timer_start(&good, r.pool, A_WHILE), 0);
    CHECK_INT(hora_timer_start(&good, r.pool, 2 * A_WHILE), 1);
    CHECK_INT(hora_timer_start(&bad, r.pool, A_WHILE), 0);
    CHECK_INT(rig_stats(&r).cancelled, 1);
    pass(&r, A_WHILE);
    CHECK_INT(fails, 1);
    CHECK_INT(seen.failed, 1);
    CHECK_INT(seen.last_code, 7);
    pass(&r, A_WHILE);
    CHECK_INT(runs, 1);
    CHECK_INT(seen.last_code, 0);
    CHECK_INT(seen.before, 2);
    CHECK_INT(seen.after, 2);
    CHECK_INT(seen.decorated, 2);
    CHECK_INT(seen.wrapped, 2);
    CHECK_INT(seen.drops, 2);
    CHECK(!seen.had_future && !seen.wrong_name);
    CHECK_INT(rig_stats(&r).done, 1);
    CHECK_INT(rig_stats(&r).failed, 1);
    CHECK_INT(hora_timer_start(&good, r.pool, A_WHILE), 0);
    CHECK_INT(hora_timer_cancel(&good), HORA_CANCEL_REMOVED);
    CHECK_INT(hora_timer_start(&good, r.pool, A_WHILE), 0);
    CHECK_INT(hora_timer_stop(&good), HORA_CANCEL_REMOVED);
    CHECK_INT(seen.before, 2);
    rig_close(&r);
}

/* What hooks refuse fails without a run. */
TEST(timer_is_refused_by_hooks, "")
{
    struct rig r;
    struct seen seen = {.refuses = 5};
    atomic_int runs = 0;
    hora_timer timer = HORA_TIMER_INIT(bump, &runs);

    open_with(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .before = before, .after = after,
                                         .decorate = decorate, .arg = &seen,
                                         .listener = HORA_LISTENER(.failed = failed, .arg = &seen)));
    CHECK_OK(hora_timer_start(&timer, r.pool, 0));
    settle(&r.f);
    CHECK_INT(seen.before, 1);
    CHECK_INT(seen.failed, 0); /* as of any task: a run that never begins is not told */
    CHECK_INT(rig_stats(&r).failed, 1);
    CHECK_INT(seen.after, 0);
    CHECK_INT(hora_timer_stop(&timer), HORA_CANCEL_TOO_LATE);
    seen.refuses = 0;
    seen.decorate_error = HORA_ENOENT;
    CHECK_OK(hora_timer_start(&timer, r.pool, 0));
    settle(&r.f);
    CHECK_INT(seen.last_code, HORA_ENOENT);
    CHECK_INT(seen.after, 1);
    CHECK_INT(runs, 0);
    CHECK_INT(rig_stats(&r).failed, 2);
    rig_close(&r);
}

TEST(timer_may_be_stopped_by_hooks, "")
{
    struct rig r;
    struct seen seen = {.refuses = 0};
    atomic_int runs = 0;
    hora_timer timer = HORA_TIMER_INIT(bump, &runs);

    open_with(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .before = before, .after = after, .arg = &seen));
    seen.stopped = &timer;
    CHECK_OK(hora_timer_start(&timer, r.pool, 0));
    settle(&r.f);
    CHECK_INT(seen.stop_answers[0], HORA_CANCEL_RUNNING);
    CHECK_INT(seen.stop_answers[1], HORA_CANCEL_RUNNING);
    CHECK_INT(runs, 1);
    rig_close(&r);
}

/* ---- listeners and metrics ---- */

TEST(timer_is_told_to_listeners, "")
{
    struct rig r;
    struct diary diary = {.count = 0};
    atomic_int runs = 0;
    hora_timer good = HORA_TIMER_INIT(bump, &runs), bad = HORA_TIMER_INIT(fail, &runs);

    hora_listener listener = diary_listener(&diary);
    open_with(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .listener = &listener));
    CHECK_OK(hora_timer_start(&good, r.pool, A_WHILE));
    CHECK_OK(hora_timer_start(&bad, r.pool, 2 * A_WHILE));
    pass(&r, A_WHILE);
    CHECK_DIARY(&diary, "SD");
    pass(&r, A_WHILE);
    CHECK_DIARY(&diary, "SDSF");
    CHECK_INT(diary.notes[3].event.code, 7);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_ERROR(hora_timer_start(&good, r.pool, 0), HORA_EREJECTED);
    CHECK_DIARY(&diary, "SDSFR");
    for (int i = 0; i < diary.count; i++) {
        CHECK(diary.notes[i].event.task != NULL && diary.notes[i].event.future == NULL);
        CHECK(diary.notes[i].name != NULL && strcmp(diary.notes[i].name, "timer") == 0);
    }
    rig_close(&r);
}

TEST(timer_is_measured, "")
{
    struct rig r;
    atomic_int runs = 0;
    hora_timer good = HORA_TIMER_INIT(bump, &runs), bad = HORA_TIMER_INIT(fail, &runs),
               gone = HORA_TIMER_INIT(bump, &runs);

    open_with(&r,
              HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true, .metrics = HORA_METRICS()));
    CHECK_OK(hora_timer_start(&good, r.pool, A_WHILE));
    CHECK_OK(hora_timer_start(&bad, r.pool, A_WHILE));
    CHECK_INT(hora_timer_start(&bad, r.pool, A_WHILE), 1); /* 1 cancelled */
    pass(&r, A_WHILE);
    CHECK_OK(hora_timer_start(&gone, r.pool, A_WHILE));
    CHECK_INT(hora_timer_cancel(&gone), HORA_CANCEL_REMOVED); /* 2 */
    CHECK_OK(hora_timer_start(&gone, r.pool, A_WHILE));
    CHECK_INT(hora_timer_stop(&gone), HORA_CANCEL_REMOVED); /* 3 */
    CHECK_OK(hora_timer_start(&gone, r.pool, A_WHILE));
    CHECK_OK(hora_pool_shutdown(r.pool)); /* 4 */
    CHECK_ERROR(hora_timer_start(&good, r.pool, 0), HORA_EREJECTED);
    settle(&r.f);
    hora_counts counts = counted(&r, "timer");
    CHECK_INT(counts.submitted, 7);
    CHECK_INT(counts.started, 2);
    CHECK_INT(counts.done, 1);
    CHECK_INT(counts.failed, 1);
    CHECK_INT(counts.cancelled, 4);
    CHECK_INT(counts.rejected, 1);
    CHECK_MEASURE(&r, "timer", LATENESS, 2, 0, 0);
    rig_close(&r);
}

TEST(timer_that_is_stuck_is_told, "")
{
    struct rig r;
    struct diary diary = {.count = 0};
    hora_timer timer = HORA_TIMER_INIT(wait_at_gate, &r);

    hora_listener listener = diary_listener_for(&diary, "U");
    open_with(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG(.stuck_after = A_WHILE),
                                         .listener = &listener));
    CHECK_OK(hora_timer_start(&timer, r.pool, 0));
    pass_in_steps(&r, A_WHILE, 2);
    CHECK(diary_count(&diary, 'U') >= 1);
    CHECK(diary.notes[0].name != NULL && strcmp(diary.notes[0].name, "timer") == 0);
    CHECK_INT(hora_timer_cancel(&timer), HORA_CANCEL_RUNNING);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(hora_timer_stop(&timer), HORA_CANCEL_TOO_LATE);
    rig_close(&r);
}

static atomic_int installs, restores, captures;

static void *capture(void *context)
{
    (void)context;
    atomic_fetch_add(&captures, 1);
    return &captures;
}

static void *install(void *carried, void *context)
{
    (void)context;
    CHECK(carried == NULL);
    atomic_fetch_add(&installs, 1);
    return NULL;
}

static void restore(void *earlier, void *context)
{
    (void)earlier;
    (void)context;
    atomic_fetch_add(&restores, 1);
}

static int ask_context(void *arg)
{
    CHECK(hora_context_current() == NULL);
    return bump(arg);
}

TEST(timer_carries_nothing, "")
{
    struct rig r;
    atomic_int runs = 0;
    hora_timer timer = HORA_TIMER_INIT(ask_context, &runs);

    installs = restores = captures = 0;
    open_with(
        &r, HORA_SCHEDULER_OPTIONS(.core_threads = 1,
                                   .context_hooks = HORA_CONTEXT_HOOKS(.capture = capture, .install = install,
                                                                       .restore = restore)));
    CHECK_OK(hora_timer_start(&timer, r.pool, 0));
    settle(&r.f);
    CHECK_INT(runs, 1);
    CHECK_INT(installs, 1);
    CHECK_INT(restores, 1);
    CHECK_INT(captures, 0);
    rig_close(&r);
}

/* ---- classes and priorities ---- */

static atomic_int order[8];
static atomic_int ordered;

static int note(void *arg)
{
    order[atomic_fetch_add(&ordered, 1)] = (int)(intptr_t)arg;
    return 0;
}

static int note_task(void *arg, void **ret_result)
{
    (void)ret_result;
    return note(arg);
}

#define NUMBER(n) ((void *)(intptr_t)(n))

static void open_with_admission(struct rig *r, int threads)
{
    ordered = 0;
    open_with(r, HORA_SCHEDULER_OPTIONS(.core_threads = threads, .admission = HORA_ADMISSION()));
}

/* A timer has its turn since its time came, as a task without a class has. */
TEST(timer_waits_for_its_turn, "")
{
    struct rig r;
    struct job job = A_WAITING_JOB(&r);
    hora_timer second = HORA_TIMER_INIT(note, NUMBER(2)), fourth = HORA_TIMER_INIT(note, NUMBER(4)),
               first = HORA_TIMER_INIT(note, NUMBER(1)), gone = HORA_TIMER_INIT(note, NUMBER(9)),
               last = HORA_TIMER_INIT(note, NUMBER(5));

    open_with_admission(&r, 1);
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&job), 0, NULL));
    settle(&r.f);
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(note_task, NUMBER(3)), 3 * A_WHILE, NULL));
    CHECK_OK(hora_timer_start(&fourth, r.pool, 4 * A_WHILE));
    CHECK_OK(hora_timer_start(&second, r.pool, 2 * A_WHILE));
    CHECK_OK(hora_timer_start(&gone, r.pool, A_WHILE / 2));
    CHECK_OK(hora_timer_start(&first, r.pool, A_WHILE));
    CHECK_OK(hora_timer_start(&last, r.pool, 10 * A_WHILE));
    CHECK_OK(hora_scheduler_schedule_with(
        r.pool, HORA_TASK(note_task, NUMBER(0)),
        HORA_SCHEDULE(.initial_delay = 5 * A_WHILE, .options = HORA_TASK_OPTIONS(.priority = 2)), NULL,
        NULL));
    pass_in_steps(&r, A_WHILE, 6); /* all but the last are due, and wait for the thread */
    CHECK_INT(hora_timer_stop(&gone), HORA_CANCEL_REMOVED);
    CHECK_INT(rig_stats(&r).queued, 6);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(ordered, 5);
    for (int i = 0; i < ordered; i++)
        CHECK_INT(order[i], i);
    CHECK_INT(hora_timer_start(&last, r.pool, A_WHILE), 1);
    pass(&r, A_WHILE);
    CHECK_INT(ordered, 6);
    CHECK_INT(order[5], 5);
    rig_close(&r);
}

/* Threads that are reserved for a class are not for timers. */
TEST(timer_leaves_reserved_threads_alone, "")
{
    struct rig r;
    hora_class *reserved;
    atomic_int runs = 0;
    hora_timer waits = HORA_TIMER_INIT(wait_at_gate, &r), behind = HORA_TIMER_INIT(bump, &runs);

    open_with_admission(&r, 2);
    CHECK_OK(hora_class_new(r.pool, HORA_CLASS_OPTIONS(.name = "vip", .reserve = 1), &reserved, NULL));
    CHECK_OK(hora_timer_start(&waits, r.pool, 0));
    settle(&r.f);
    CHECK_OK(hora_timer_start(&behind, r.pool, 0));
    settle(&r.f);
    CHECK_INT(runs, 0); /* one thread is left, and kept */
    CHECK_OK(hora_scheduler_schedule_with(
        r.pool, HORA_TASK(note_task, NUMBER(1)),
        HORA_SCHEDULE(.initial_delay = 0, .options = HORA_TASK_OPTIONS(.task_class = reserved)), NULL, NULL));
    settle(&r.f);
    CHECK_INT(ordered, 1);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(runs, 1); /* the run that has ended counts no more */
    CHECK_OK(hora_timer_start(&behind, r.pool, A_WHILE));
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK(!hora_timer_is_pending(&behind));
    rig_close(&r);
}

static int count_timers(const char *text, size_t length, void *context)
{
    static const char name[] = "\"timer\"";
    for (size_t i = 0; i + sizeof name - 1 <= length; i++)
        if (memcmp(text + i, name, sizeof name - 1) == 0)
            ++*(int *)context;
    return 0;
}

TEST(timer_of_a_scheduler_with_admission_is_seen_in_a_dump, "")
{
    struct rig r;
    int seen = 0;
    atomic_int runs = 0;
    hora_timer runs_now = HORA_TIMER_INIT(wait_at_gate, &r), due = HORA_TIMER_INIT(bump, &runs),
               pending = HORA_TIMER_INIT(bump, &runs);

    open_with_admission(&r, 1);
    CHECK_OK(hora_timer_start(&runs_now, r.pool, 0));
    settle(&r.f);
    CHECK_OK(hora_timer_start(&due, r.pool, 0));
    CHECK_OK(hora_timer_start(&pending, r.pool, A_WHILE));
    settle(&r.f);
    CHECK_OK(hora_pool_dump(r.pool, count_timers, &seen));
    CHECK_INT(seen, 3);
    rig_open_gate(&r);
    pass(&r, A_WHILE);
    CHECK_INT(runs, 2);
    rig_close(&r);
}
