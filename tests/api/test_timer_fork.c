/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer_fork.c - in the child of a fork the parent's timers reject every call */
#include "child.h"
#include "support.h"

static int do_nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* Runs until the test releases it. */
static atomic_bool is_running, may_return;

static int run_on(void *arg)
{
    (void)arg;
    atomic_store(&is_running, true);
    while (!atomic_load(&may_return))
        (void)hora_sleep(HORA_MS(1));
    return 0;
}

struct family {
    hora_scheduler *scheduler;
    hora_timer timer;   /* pending */
    hora_timer other;   /* never started */
    hora_timer running; /* its function runs, but not in the child */
    hora_timer past;    /* has run */
};

static void call_timers(struct family *family)
{
    CHILD_FORKED(hora_timer_start(&family->timer, family->scheduler, 0));
    CHILD_FORKED(hora_timer_start(&family->other, family->scheduler, 0));
    CHILD_FORKED(hora_timer_cancel(&family->timer));
    CHILD_FORKED(hora_timer_stop(&family->timer));
    CHILD_CHECK(hora_timer_is_pending(&family->timer));
    CHILD_CHECK(hora_timer_cancel(&family->other) == HORA_CANCEL_TOO_LATE);
    CHILD_CHECK(hora_timer_stop(&family->other) == HORA_CANCEL_TOO_LATE);
    CHILD_CHECK(hora_timer_cancel(&family->running) == HORA_CANCEL_TOO_LATE);
    CHILD_CHECK(hora_timer_stop(&family->running) == HORA_CANCEL_TOO_LATE);
    CHILD_CHECK(hora_timer_stop(&family->past) == HORA_CANCEL_TOO_LATE);
}

/* A timer that was not pending can be started on a scheduler of the child. */
static void start_in_child(struct family *family)
{
    hora_scheduler *own;
    CHILD_CHECK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &own, NULL) == 0);
    CHILD_FORKED(hora_timer_start(&family->timer, own, 0));
    CHILD_CHECK(hora_timer_start(&family->past, own, HORA_HOURS(1)) == 0);
    CHILD_CHECK(hora_timer_stop(&family->past) == HORA_CANCEL_REMOVED);
    CHILD_CHECK(hora_timer_start(&family->past, own, 0) == 0);
    CHILD_CHECK(hora_pool_close_for(own, HORA_FOREVER) == 0);
    CHILD_CHECK(hora_timer_stop(&family->past) == HORA_CANCEL_TOO_LATE);
    CHILD_CHECK(hora_pool_free(own) == 0);
    CHILD_CHECK(hora_timer_stop(&family->past) == HORA_CANCEL_TOO_LATE);
}

TEST_REAL(timer_of_the_parent_is_refused_in_a_child, "")
{
    struct family family = {NULL, HORA_TIMER_INIT(do_nothing, NULL), HORA_TIMER_INIT(do_nothing, NULL),
                            HORA_TIMER_INIT(run_on, NULL), HORA_TIMER_INIT(do_nothing, NULL)};

    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &family.scheduler, NULL));
    CHECK_OK(hora_timer_start(&family.past, family.scheduler, 0));
    CHECK_OK(hora_pool_await_idle_for(family.scheduler, HORA_FOREVER));
    CHECK_OK(hora_timer_start(&family.timer, family.scheduler, HORA_HOURS(1)));
    CHECK_OK(hora_timer_start(&family.running, family.scheduler, 0));
    while (!atomic_load(&is_running))
        (void)hora_sleep(HORA_MS(1));
    in_child(call_timers, &family);
    if (!BUILT_WITH_TSAN) /* which knows no threads in a child */
        in_child(start_in_child, &family);
    CHECK_INT(hora_timer_cancel(&family.running), HORA_CANCEL_RUNNING);
    atomic_store(&may_return, true);
    CHECK(hora_timer_stop(&family.running) != HORA_CANCEL_REMOVED);
    CHECK_INT(hora_timer_cancel(&family.timer), HORA_CANCEL_REMOVED);
    CHECK_OK(hora_pool_free(family.scheduler));
}
