/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer.c - timers in memory of the caller: they run once, in order, and then their memory is free */
#include <stdlib.h>
#include <string.h>

#include "scheduler_support.h"

enum { TIMERS = 5, PLACES = 16 };

/* What timers of the running test write. */
static atomic_int places[PLACES];
static atomic_int placed;

static int note(void *arg)
{
    int at = atomic_fetch_add(&placed, 1);
    if (at < PLACES)
        places[at] = (int)(intptr_t)arg;
    return 0;
}

#define NOTE(number) ((void *)(intptr_t)(number))

static void check_places(const char *file, int line, int count, const int *want)
{
    test_check_int(file, line, "how many have run", placed, count);
    for (int i = 0; i < count; i++)
        test_check_int(file, line, "which", places[i], want[i]);
}

#define CHECK_PLACES(...) \
    check_places(__FILE__, __LINE__, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})

static void open_options(struct rig *r, const hora_scheduler_options *options)
{
    placed = 0;
    scheduler_open(r, false, options);
}

static void open_plain(struct rig *r)
{
    open_options(r, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
}

static void start(struct rig *r, hora_timer *timer, hora_ns delay)
{
    CHECK_INT(hora_timer_start(timer, r->pool, delay), 0);
}

static void move(struct rig *r, hora_timer *timer, hora_ns delay)
{
    CHECK_INT(hora_timer_start(timer, r->pool, delay), 1);
}

/* The same as note, of a task. */
static int note_task(void *arg, void **ret_result)
{
    (void)ret_result;
    return note(arg);
}

/* ---- running ---- */

TEST(timer_runs_once_and_not_before_its_time, "")
{
    struct rig r;
    hora_timer timer = HORA_TIMER_INIT(note, NOTE(1));

    open_plain(&r);
    CHECK(!hora_timer_is_pending(&timer));
    start(&r, &timer, A_WHILE);
    CHECK(hora_timer_is_pending(&timer));
    pass(&r, A_WHILE - 1);
    CHECK_INT(placed, 0);
    pass(&r, 1);
    CHECK_PLACES(1);
    CHECK(!hora_timer_is_pending(&timer));
    CHECK_INT(hora_timer_cancel(&timer), HORA_CANCEL_TOO_LATE);
    pass(&r, 10 * A_WHILE);
    CHECK_PLACES(1);
    CHECK_INT(rig_stats(&r).done, 1);
    rig_close(&r);
}

TEST(timer_without_a_delay_runs_at_once, "")
{
    static const hora_ns delays[] = {0, -1, INT64_MIN};
    struct rig r;
    hora_timer timers[3];

    open_plain(&r);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_timer_init(&timers[i], note, NOTE(i)));
        start(&r, &timers[i], delays[i]);
    }
    settle(&r.f);
    CHECK_PLACES(0, 1, 2);
    rig_close(&r);
}

TEST(timer_beyond_all_time_never_runs, "")
{
    struct rig r;
    hora_timer never = HORA_TIMER_INIT(note, NOTE(1)), soon = HORA_TIMER_INIT(note, NOTE(2));

    open_plain(&r);
    pass(&r, A_WHILE);
    start(&r, &never, HORA_FOREVER);
    start(&r, &soon, A_WHILE);
    pass(&r, HORA_HOURS(10000));
    CHECK_PLACES(2);
    CHECK(hora_timer_is_pending(&never));
    CHECK_INT(hora_timer_cancel(&never), HORA_CANCEL_REMOVED);
    rig_close(&r);
}

/* By whichever path they were inserted: by time, then in the order of their starts. */
TEST(timer_keeps_its_place_among_all_others, "")
{
    struct rig r;
    hora_timer first = HORA_TIMER_INIT(note, NOTE(1)), fourth = HORA_TIMER_INIT(note, NOTE(4)),
               last = HORA_TIMER_INIT(note, NOTE(6)), sooner = HORA_TIMER_INIT(note, NOTE(0));
    hora_future *future, *other;

    open_plain(&r);
    start(&r, &first, 2 * A_WHILE);
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(note_task, NOTE(2)), 2 * A_WHILE, NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(note_task, NOTE(3)), 2 * A_WHILE, &future));
    start(&r, &fourth, 2 * A_WHILE);
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(note_task, NOTE(5)), 2 * A_WHILE, &other));
    start(&r, &last, 2 * A_WHILE);
    start(&r, &sooner, A_WHILE);
    pass_in_steps(&r, A_WHILE, 2);
    CHECK_PLACES(0, 1, 2, 3, 4, 5, 6);
    (void)hora_future_unref(future);
    (void)hora_future_unref(other);
    rig_close(&r);
}

static int fail(void *arg)
{
    return *(const int *)arg;
}

TEST(timer_counts_by_its_code, "")
{
    struct rig r;
    int codes[] = {0, 7, HORA_EREJECTED};
    hora_timer timers[3];

    open_plain(&r);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_timer_init(&timers[i], fail, &codes[i]));
        start(&r, &timers[i], A_WHILE);
    }
    CHECK_INT(rig_stats(&r).queued, 3);
    CHECK_INT(rig_stats(&r).accepted, 3);
    CHECK_ERROR(hora_pool_await_idle_for(r.pool, 0), HORA_ETIMEDOUT);
    pass(&r, A_WHILE);
    CHECK_INT(rig_stats(&r).done, 1);
    CHECK_INT(rig_stats(&r).failed, 1);
    CHECK_INT(rig_stats(&r).rejected, 1);
    CHECK_OK(hora_pool_await_idle_for(r.pool, 0));
    rig_close(&r);
}

/* ---- its memory ---- */

struct again {
    hora_timer timer;
    hora_scheduler *scheduler;
    int runs;
};

static int run_again(void *arg)
{
    struct again *again = arg;
    CHECK(!hora_timer_is_pending(&again->timer));
    CHECK_INT(hora_timer_cancel(&again->timer), HORA_CANCEL_RUNNING);
    if (++again->runs < 4)
        CHECK_OK(hora_timer_start(&again->timer, again->scheduler, A_WHILE));
    return 0;
}

TEST(timer_may_start_itself_again, "")
{
    struct rig r;
    struct again again = {.runs = 0};

    open_plain(&r);
    again.scheduler = r.pool;
    CHECK_OK(hora_timer_init(&again.timer, run_again, &again));
    start(&r, &again.timer, 0);
    settle(&r.f);
    CHECK_INT(again.runs, 1);
    pass_in_steps(&r, A_WHILE, 10);
    CHECK_INT(again.runs, 4);
    CHECK_INT(rig_stats(&r).done, 4);
    rig_close(&r);
}

static int free_self(void *arg)
{
    free(arg);
    atomic_fetch_add(&placed, 1);
    return 0;
}

TEST(timer_may_free_itself, "")
{
    struct rig r;

    open_plain(&r);
    for (int i = 0; i < TIMERS; i++) {
        hora_timer *timer = malloc(sizeof *timer);
        if (timer == NULL)
            continue;
        CHECK_OK(hora_timer_init(timer, free_self, timer));
        start(&r, timer, i * A_WHILE);
    }
    pass_in_steps(&r, A_WHILE, TIMERS);
    CHECK_INT(placed, TIMERS);
    rig_close(&r);
}

/* ---- cancelling ---- */

TEST(timer_that_is_cancelled_does_not_run, "")
{
    struct rig r;
    hora_timer timers[TIMERS];

    open_plain(&r);
    for (int i = 0; i < TIMERS; i++) {
        CHECK_OK(hora_timer_init(&timers[i], note, NOTE(i)));
        start(&r, &timers[i], (TIMERS - i) * A_WHILE);
    }
    CHECK_INT(hora_timer_cancel(&timers[0]), HORA_CANCEL_REMOVED);
    CHECK_INT(rig_stats(&r).queued, TIMERS - 1); /* all are in the timer queue now */
    CHECK_INT(hora_timer_cancel(&timers[2]), HORA_CANCEL_REMOVED);
    CHECK_INT(hora_timer_cancel(&timers[2]), HORA_CANCEL_TOO_LATE);
    CHECK_INT(hora_timer_cancel(&timers[4]), HORA_CANCEL_REMOVED); /* the first of all */
    for (int i = 0; i < TIMERS; i++)
        CHECK_INT(hora_timer_is_pending(&timers[i]), i % 2);
    memset(&timers[0], 0xEE, sizeof timers[0]);
    pass_in_steps(&r, A_WHILE, TIMERS);
    CHECK_PLACES(3, 1);
    CHECK_INT(rig_stats(&r).cancelled, 3);
    CHECK_INT(rig_stats(&r).done, 2);
    rig_close(&r);
}

static int run_quiesce(struct call *call)
{
    return hora_pool_await_idle_for(call->object, call->timeout);
}

TEST(timer_is_cancelled_while_a_thread_awaits_idle, "")
{
    struct rig r;
    struct call call;
    hora_timer timer = HORA_TIMER_INIT(note, NULL);

    open_plain(&r);
    start(&r, &timer, A_WHILE);
    start_pool_call(&call, &r, run_quiesce, HORA_FOREVER);
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_timer_cancel(&timer), HORA_CANCEL_REMOVED);
    CHECK_RETURNS(&call, 0);
    rig_close(&r);
}

/* The order is that of the last start. */
TEST(timer_that_is_started_again_is_moved, "")
{
    struct rig r;
    hora_timer moved = HORA_TIMER_INIT(note, NOTE(1)), other = HORA_TIMER_INIT(note, NOTE(2));

    open_plain(&r);
    start(&r, &moved, 2 * A_WHILE);
    start(&r, &other, 2 * A_WHILE);
    move(&r, &moved, 2 * A_WHILE); /* behind the other */
    pass(&r, A_WHILE);
    CHECK_INT(rig_stats(&r).queued, 2);
    move(&r, &moved, 3 * A_WHILE); /* later, */
    pass(&r, A_WHILE);
    CHECK_PLACES(2);
    move(&r, &moved, 1); /* and sooner */
    pass(&r, 1);
    CHECK_PLACES(2, 1);
    pass(&r, 10 * A_WHILE);
    CHECK_PLACES(2, 1);
    CHECK_INT(rig_stats(&r).accepted, 5);
    CHECK_INT(rig_stats(&r).cancelled, 3);
    rig_close(&r);
}

TEST(timer_moves_to_another_scheduler, "")
{
    struct rig r;
    hora_scheduler *other;
    hora_timer timer = HORA_TIMER_INIT(note, NOTE(1));

    open_plain(&r);
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = r.f.view), &other, NULL));
    start(&r, &timer, A_WHILE);
    CHECK_INT(hora_timer_start(&timer, other, 2 * A_WHILE), 1);
    CHECK_INT(rig_stats(&r).cancelled, 1);
    CHECK_INT(rig_stats(&r).queued, 0);
    pass(&r, A_WHILE);
    CHECK_INT(placed, 0);
    pass(&r, A_WHILE);
    CHECK_PLACES(1);
    CHECK_OK(hora_timer_start(&timer, other, A_WHILE));
    CHECK_OK(hora_pool_free(other));
    CHECK(!hora_timer_is_pending(&timer)); /* a scheduler that is gone is not asked any more */
    CHECK_INT(hora_timer_cancel(&timer), HORA_CANCEL_TOO_LATE);
    start(&r, &timer, 0);
    settle(&r.f);
    CHECK_PLACES(1, 1);
    rig_close(&r);
}

/* ---- errors ---- */

TEST(timer_refuses_what_cannot_be, "")
{
    struct rig r;
    hora_timer timer = HORA_TIMER_INIT(note, NULL), empty = HORA_TIMER_INIT(NULL, NULL);
    hora_pool *pool;

    open_plain(&r);
    CHECK_ERROR(hora_timer_init(NULL, note, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_timer_init(&timer, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_timer_start(&timer, NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_timer_start(NULL, r.pool, 0), HORA_EINVAL);
    CHECK_ERROR(hora_timer_start(&empty, r.pool, 0), HORA_EINVAL);
    CHECK_ERROR(hora_timer_cancel(NULL), HORA_EINVAL);
    CHECK(!hora_timer_is_pending(NULL));
    CHECK_INT(hora_timer_cancel(&timer), HORA_CANCEL_TOO_LATE);
    CHECK_OK(hora_pool_new_fixed(1, NULL, &pool, NULL));
    CHECK_ERROR(hora_timer_start(&timer, pool, 0), HORA_EINVAL);
    CHECK_OK(hora_pool_free(pool));
    CHECK(!hora_timer_is_pending(&timer));
    rig_close(&r);
}

/* Also with keep_cancelled a cancelled timer leaves the queue at once. */
TEST(timer_goes_at_once_also_if_cancelled_tasks_are_kept, "")
{
    struct rig r;
    hora_timer timer = HORA_TIMER_INIT(note, NULL);

    open_options(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .keep_cancelled = true));
    start(&r, &timer, A_WHILE);
    CHECK_INT(hora_timer_cancel(&timer), HORA_CANCEL_REMOVED);
    CHECK_INT(rig_stats(&r).queued, 0);
    rig_close(&r);
}

static int no_threads(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    (void)run;
    (void)arg;
    (void)name;
    (void)context;
    return HORA_EAGAIN;
}

TEST(timer_without_a_thread_is_refused, "")
{
    struct rig r;
    hora_timer timer = HORA_TIMER_INIT(note, NULL);

    open_options(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .thread_factory = no_threads));
    CHECK_ERROR(hora_timer_start(&timer, r.pool, A_WHILE), HORA_EAGAIN);
    CHECK(!hora_timer_is_pending(&timer));
    CHECK_INT(rig_stats(&r).queued, 0);
    CHECK_INT(rig_stats(&r).accepted, 0);
    rig_close(&r);
}

/* ---- many ---- */

/* All that the lanes and the heap can do with many of them. */
TEST(timer_of_many, "")
{
    enum { MANY = 3000 };
    static hora_timer timers[MANY];
    struct rig r;
    int many = test_simulated() ? 40 : MANY, cancelled = 0;

    open_plain(&r);
    for (int i = 0; i < many; i++) {
        CHECK_OK(hora_timer_init(&timers[i], note, NULL));
        start(&r, &timers[i], (hora_ns)(1 + test_random(9)) * A_WHILE);
        if (i % 3 == 2 && hora_timer_cancel(&timers[test_random((uint32_t)i)]) == HORA_CANCEL_REMOVED)
            cancelled++;
    }
    for (int i = 0; i < many; i += 7)
        if (hora_timer_is_pending(&timers[i])) {
            move(&r, &timers[i], (hora_ns)(1 + test_random(9)) * A_WHILE);
            cancelled++;
        }
    CHECK_INT(rig_stats(&r).cancelled, cancelled);
    pass_in_steps(&r, A_WHILE, 9);
    CHECK_INT(placed, rig_stats(&r).accepted - cancelled);
    CHECK_INT(rig_stats(&r).queued, 0);
    rig_close(&r);
}

enum { THREADS = 4, ROUNDS = 3000, EACH = 50 };

struct storm {
    hora_scheduler *scheduler;
    hora_timer timers[EACH];
    atomic_int runs[EACH];
    int starts[EACH];
    int cancelled[EACH];
};

static int count_run(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static void storm(void *arg)
{
    struct storm *own = arg;
    for (int i = 0; i < EACH; i++)
        CHECK_OK(hora_timer_init(&own->timers[i], count_run, &own->runs[i]));
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t i = (uint32_t)round * 7919U % EACH;
        if (round % 5 != 0) {
            if (hora_timer_cancel(&own->timers[i]) == HORA_CANCEL_REMOVED)
                own->cancelled[i]++;
            CHECK_OK(
                hora_timer_start(&own->timers[i], own->scheduler, round % 3 == 0 ? 0 : HORA_US(round % 200)));
            own->starts[i]++;
        } else if (hora_timer_cancel(&own->timers[i]) == HORA_CANCEL_REMOVED) {
            own->cancelled[i]++;
        }
    }
}

/* Real time: whatever was not cancelled has run, once for each start. */
TEST_REAL(timer_storm_of_many_threads, "")
{
    static struct storm storms[THREADS];
    test_thread *threads[THREADS];
    hora_scheduler *scheduler;

    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2), &scheduler, NULL));
    for (int i = 0; i < THREADS; i++) {
        storms[i].scheduler = scheduler;
        threads[i] = test_thread_start(NULL, storm, &storms[i]);
    }
    for (int i = 0; i < THREADS; i++)
        test_thread_join(threads[i]);
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < EACH; j++)
            CHECK_INT(storms[i].runs[j] + storms[i].cancelled[j], storms[i].starts[j]);
    CHECK_OK(hora_pool_free(scheduler));
}
