/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer_fork.c - in the child of a fork the parent's timers refuse every call */
#include "child.h"
#include "support.h"

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

struct family {
    hora_scheduler *scheduler;
    hora_timer timer;
    hora_timer other;
};

static void call_timers(struct family *family)
{
    CHILD_FORKED(hora_timer_start(family->scheduler, &family->timer, 0));
    CHILD_FORKED(hora_timer_start(family->scheduler, &family->other, 0));
    CHILD_FORKED(hora_timer_cancel(&family->timer));
    CHILD_CHECK(hora_timer_cancel(&family->other) == HORA_CANCEL_TOO_LATE);
}

TEST_REAL(timer_of_the_parent_is_refused_in_a_child, "")
{
    struct family family = {NULL, HORA_TIMER_INIT(do_nothing, NULL), HORA_TIMER_INIT(do_nothing, NULL)};

    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &family.scheduler, NULL));
    CHECK_OK(hora_timer_start(family.scheduler, &family.timer, HORA_HOURS(1)));
    in_child(call_timers, &family);
    CHECK_INT(hora_timer_cancel(&family.timer), HORA_CANCEL_REMOVED);
    CHECK_OK(hora_pool_free(family.scheduler));
}
