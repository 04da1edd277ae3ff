/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer_full.c - a timer that a full scheduler rejects does not change; a watchdog that can hold no more
 * checks is a lack of memory
 *
 * The tests only set the counts; no machine has memory for that many tasks or checks. */
#include <hora/timer.h>

#include "exec/pool.h"
#include "harness.h"
#include "observe/observer.h"

static int do_nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* A scheduler with a hook inserts each timer into its heap at once, and so checks whether there is room. */
static int before(hora_pool *pool, const hora_run_info *run, void *context)
{
    (void)pool;
    (void)run;
    (void)context;
    return 0;
}

static void set_size(hora_scheduler *scheduler, int size)
{
    hora__mutex_lock(&scheduler->queue->object.lock);
    scheduler->queue->size = size;
    hora__mutex_unlock(&scheduler->queue->object.lock);
}

TEST_REAL(timer_refused_by_a_full_scheduler_stays, "")
{
    hora_scheduler *scheduler, *full;
    hora_timer timer = HORA_TIMER_INIT(do_nothing, NULL), fresh = HORA_TIMER_INIT(do_nothing, NULL);

    CHECK_OK(hora_scheduler_new(NULL, &scheduler, NULL));
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.before = before), &full, NULL));
    CHECK_OK(hora_timer_start(&timer, scheduler, HORA_HOURS(1)));
    set_size(full, HORA_UNBOUNDED);
    CHECK_ERROR(hora_timer_start(&fresh, full, HORA_HOURS(1)), HORA_EFULL);
    CHECK(!hora_timer_is_pending(&fresh));
    CHECK_ERROR(hora_timer_start(&timer, full, HORA_HOURS(1)), HORA_EFULL);
    CHECK(hora_timer_is_pending(&timer));
    set_size(full, 0);
    CHECK_INT(hora_timer_start(&timer, scheduler, HORA_HOURS(2)), 1);
    CHECK_INT(hora_timer_start(&timer, full, HORA_HOURS(1)), 1);
    CHECK_INT(hora_timer_stop(&timer), HORA_CANCEL_REMOVED);
    CHECK_OK(hora_pool_free(scheduler));
    CHECK_OK(hora_pool_free(full));
}

/* To move a timer where it is needs no place. */
TEST_REAL(timer_of_a_full_scheduler_is_moved, "")
{
    hora_scheduler *scheduler;
    hora_timer timer = HORA_TIMER_INIT(do_nothing, NULL);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    CHECK_OK(hora_scheduler_new(NULL, &scheduler, NULL));
    CHECK_OK(hora_timer_start(&timer, scheduler, HORA_HOURS(1)));
    CHECK_OK(hora_pool_get_stats(scheduler, &stats)); /* it is in the heap now */
    set_size(scheduler, HORA_UNBOUNDED);
    CHECK_INT(hora_timer_start(&timer, scheduler, HORA_HOURS(2)), 1);
    CHECK(hora_timer_is_pending(&timer));
    hora__mutex_lock(&scheduler->queue->object.lock);
    scheduler->queue->size -=
        HORA_UNBOUNDED - 1; /* less what is not there: the timer, wherever it stands, is counted as ever */
    hora__mutex_unlock(&scheduler->queue->object.lock);
    CHECK_INT(hora_timer_stop(&timer), HORA_CANCEL_REMOVED);
    CHECK_OK(hora_pool_free(scheduler));
}

static void set_checks(hora_pool *pool, int capacity, int reserved)
{
    struct hora__watchdog *watchdog = hora__pool_get_observer(pool)->watchdog;
    hora__mutex_lock(&watchdog->object.lock);
    watchdog->checks.capacity = capacity;
    watchdog->checks.reserved = reserved;
    hora__mutex_unlock(&watchdog->object.lock);
}

static int return_zero(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* Neither the task nor its worker is rejected as if the queue were full. */
TEST_REAL(watchdog_without_room_is_a_lack_of_memory, "")
{
    hora_pool *pool;
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()), &pool, NULL));
    set_checks(pool, HORA__TIMER_HEAP_MOST, HORA__TIMER_HEAP_MOST);
    CHECK_ERROR(hora_pool_execute(pool, HORA_TASK(return_zero, NULL)), HORA_ENOMEM);
    CHECK_ERROR(hora_pool_submit_with(pool, HORA_TASK(return_zero, NULL),
                                      HORA_TASK_OPTIONS(.start_within = HORA_HOURS(1)), NULL, NULL),
                HORA_ENOMEM);
    set_checks(pool, 0, 0);
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(return_zero, NULL)));
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
}
