/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer_end.c - timers at the end of their scheduler, and what queries show of them */
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

/* ---- the end of a scheduler ---- */

TEST(timer_runs_after_shutdown, "")
{
    struct rig r;
    hora_timer timer = HORA_TIMER_INIT(note, NOTE(1)), late = HORA_TIMER_INIT(note, NOTE(2));

    open_plain(&r);
    start(&r, &timer, A_WHILE);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_ERROR(hora_timer_start(&late, r.pool, 0), HORA_EREJECTED);
    CHECK(!hora_timer_is_pending(&late));
    CHECK(hora_timer_is_pending(&timer));
    pass(&r, A_WHILE);
    CHECK_PLACES(1);
    CHECK(hora_pool_is_terminated(r.pool));
    rig_close(&r);
}

TEST(timer_that_cannot_be_moved_stays, "")
{
    struct rig r;
    hora_timer timer = HORA_TIMER_INIT(note, NOTE(1)), other = HORA_TIMER_INIT(note, NOTE(2));

    open_plain(&r);
    start(&r, &timer, A_WHILE);
    start(&r, &other, A_WHILE);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_ERROR(hora_timer_start(&timer, r.pool, 2 * A_WHILE), HORA_EREJECTED);
    CHECK(hora_timer_is_pending(&timer));
    CHECK_INT(hora_timer_cancel(&other), HORA_CANCEL_REMOVED);
    pass(&r, A_WHILE);
    CHECK_PLACES(1); /* at its earlier time; and it was the last: the scheduler ends */
    CHECK(hora_pool_is_terminated(r.pool));
    rig_close(&r);
}

static void start_all(struct rig *r, hora_timer *timers)
{
    for (int i = 0; i < TIMERS; i++) {
        CHECK_OK(hora_timer_init(&timers[i], note, NOTE(i)));
        start(r, &timers[i], (i + 1) * A_WHILE);
    }
}

static void check_none_is_pending(hora_timer *timers)
{
    for (int i = 0; i < TIMERS; i++) {
        CHECK(!hora_timer_is_pending(&timers[i]));
        CHECK_INT(hora_timer_cancel(&timers[i]), HORA_CANCEL_TOO_LATE);
    }
    memset(timers, 0xEE, TIMERS * sizeof *timers);
}

/* By a shutdown with that rule, and by the rule after it. */
TEST(timer_is_cancelled_with_what_is_delayed, "")
{
    for (int later = 0; later < 2; later++) {
        struct rig r;
        hora_timer timers[TIMERS];
        struct job job = A_JOB(&r);
        hora_future *future;

        open_options(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = later == 0));
        start_all(&r, timers);
        CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&job), 2 * A_WHILE, &future));
        pass(&r, A_WHILE);
        CHECK_OK(hora_pool_shutdown(r.pool));
        if (later) {
            CHECK_INT(rig_stats(&r).queued, TIMERS);
            CHECK_OK(hora_scheduler_set_cancel_delayed(r.pool, true));
        }
        check_none_is_pending(timers);
        settle(&r.f);
        CHECK(hora_pool_is_terminated(r.pool));
        CHECK_PLACES(0);
        CHECK_INT(rig_stats(&r).cancelled, TIMERS);
        CHECK(hora_future_is_cancelled(future));
        (void)hora_future_unref(future);
        rig_close(&r);
    }
}

/* A list is given futures only. */
TEST(timer_is_cancelled_by_a_stop, "")
{
    for (int listed = 0; listed < 2; listed++) {
        struct rig r;
        hora_timer timers[TIMERS];
        struct job jobs[2] = {A_JOB(&r), A_JOB(&r)};
        hora_future *future;
        hora_future_list list = HORA_FUTURE_LIST_INIT;

        open_plain(&r);
        start_all(&r, timers);
        CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[0]), 2 * A_WHILE, &future));
        CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[1]), 2 * A_WHILE, NULL));
        CHECK_OK(hora_pool_shutdown_now(r.pool, listed ? &list : NULL));
        check_none_is_pending(timers);
        CHECK_INT(list.count, listed ? 2 : 0);
        CHECK_INT(rig_stats(&r).cancelled, TIMERS);
        CHECK_INT(rig_stats(&r).abandoned, listed ? 0 : 2);
        hora_future_list_cancel(&list);
        (void)hora_future_unref(future);
        rig_close(&r);
        CHECK_INT(placed, 0);
    }
}

TEST(timer_is_cancelled_when_its_scheduler_is_freed, "")
{
    struct rig r;
    hora_timer timers[TIMERS];

    open_plain(&r);
    start_all(&r, timers);
    CHECK_OK(hora_pool_free(r.pool));
    r.pool = NULL;
    check_none_is_pending(timers);
    rig_close(&r);
}

/* ---- queries ---- */

TEST(timer_is_counted_and_not_listed, "")
{
    struct rig r;
    hora_timer timers[TIMERS];
    hora_future *future, *sooner;
    struct job jobs[3] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    void *items[8], *item;

    open_plain(&r);
    start_all(&r, timers);
    hora_queue *queue = hora_pool_queue(r.pool);
    CHECK_INT(hora_queue_size(queue), 0);
    CHECK_ERROR(hora_queue_peek(queue, &item), HORA_EEMPTY);
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[0]), 3 * A_WHILE, &future));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[1]), 2 * A_WHILE, &sooner));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[2]), 4 * A_WHILE, NULL));
    CHECK_INT(hora_queue_size(queue), 3);
    CHECK_INT(rig_stats(&r).queued, TIMERS + 3);
    CHECK_INT(hora_queue_snapshot(queue, items, 8), 3);
    CHECK(items[0] == sooner && items[1] == future && items[3] == NULL);
    give_back_futures(items, 3);
    CHECK_PEEK_FUTURE(r.pool, sooner);
    CHECK_INT(hora_pool_purge(r.pool), 0);
    CHECK_INT(hora_pool_remove(r.pool, sooner), 1);
    pass_in_steps(&r, A_WHILE, TIMERS);
    CHECK_PLACES(0, 1, 2, 3, 4);
    CHECK_JOB(&jobs[0], 1);
    CHECK_JOB(&jobs[2], 1);
    (void)hora_future_unref(future);
    (void)hora_future_unref(sooner);
    rig_close(&r);
}

struct timers_shown {
    int count;
    size_t matched; /* bytes of the name so far: it may come in two pieces */
};

static int count_timers(const char *text, size_t length, void *context)
{
    static const char name[] = "\"timer\"";
    struct timers_shown *shown = context;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != name[shown->matched])
            shown->matched = 0;
        shown->matched += text[i] == name[shown->matched];
        if (shown->matched == sizeof name - 1) {
            shown->count++;
            shown->matched = 0;
        }
    }
    return 0;
}

TEST(timer_is_seen_in_a_dump, "")
{
    struct rig r;
    struct job job = A_WAITING_JOB(&r);
    hora_timer timers[TIMERS];
    struct timers_shown shown = {0};

    open_plain(&r);
    execute_job(&r, &job);
    start_all(&r, timers);
    pass(&r, A_WHILE); /* one is due, and waits for the thread */
    CHECK_OK(hora_pool_dump(r.pool, count_timers, &shown));
    CHECK_INT(shown.count, TIMERS);
    rig_open_gate(&r);
    pass_in_steps(&r, A_WHILE, TIMERS);
    CHECK_INT(placed, TIMERS);
    rig_close(&r);
}
