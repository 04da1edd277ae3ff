/* SPDX-License-Identifier: Apache-2.0 */
/* test_locks.c - simulated locks, conditions and parking: right programs pass, wrong ones are caught */
#include "simulator.h"

#include <string.h>

#include "base/fault.h"
#include "sys/alloc.h"
#include "sys/clock.h"
#include "sys/parker.h"

static void lock_high_then_low(void)
{
    init_locks();
    hora__mutex_lock(&high);
    hora__mutex_lock(&low);
}

static void lock_same_rank(void)
{
    hora__mutex second;
    init_locks();
    MUST(hora__mutex_init(&second, HORA__RANK_OBJECT) == 0);
    hora__mutex_lock(&low);
    hora__mutex_lock(&second);
}

static void unlock_in_any_order(void)
{
    init_locks();
    for (int i = 0; i < 2; i++) {
        hora__mutex_lock(&low);
        hora__mutex_lock(&high);
        MUST(hora__mutex_held(&low) && hora__mutex_held(&high));
        hora__mutex_unlock(i == 0 ? &low : &high);
        hora__mutex_unlock(i == 0 ? &high : &low);
        MUST(!hora__mutex_held(&low) && !hora__mutex_held(&high));
    }
    destroy_locks();
}

static void lock_twice(void)
{
    init_locks();
    hora__mutex_lock(&low);
    hora__mutex_lock(&low);
}

static void unlock_free(void)
{
    init_locks();
    hora__mutex_unlock(&low);
}

static void unlock_low(void *arg)
{
    (void)arg;
    hora__mutex_unlock(&low);
}

static void unlock_of_another(void)
{
    init_locks();
    hora__mutex_lock(&low);
    hora__os_thread_join(start(unlock_low, NULL));
}

static void destroy_held(void)
{
    init_locks();
    hora__mutex_lock(&low);
    hora__mutex_destroy(&low);
}

static void lock_destroyed(void)
{
    init_locks();
    destroy_locks();
    hora__mutex_lock(&low);
}

static void lock_uninitialised(void)
{
    hora__mutex *mutex = hora__alloc(1, sizeof *mutex);
    hora__mutex_lock(mutex);
}

static void end_with_lock(void)
{
    init_locks();
    hora__mutex_lock(&low);
}

static void wait_low(void *cond)
{
    hora__mutex_lock(&low);
    hora__cond_wait(cond, &low, INT64_MAX);
    hora__mutex_unlock(&low);
}

static void destroy_waited_on(void)
{
    hora__cond cond;
    init_locks();
    MUST(hora__cond_init(&cond) == 0);
    hora__os_thread waiter = start(wait_low, &cond);
    sleep_until(BEGINNING + SECOND);
    hora__cond_destroy(&cond);
    hora__os_thread_join(waiter);
}

static void wait_without_lock(void)
{
    hora__cond cond;
    init_locks();
    MUST(hora__cond_init(&cond) == 0);
    hora__cond_wait(&cond, &low, INT64_MAX);
}

PROOF(finds_misuse_of_locks)
{
    static void (*const wrong[])(void) = {lock_high_then_low, lock_same_rank,     lock_twice,
                                          unlock_free,        unlock_of_another,  destroy_held,
                                          lock_destroyed,     lock_uninitialised, end_with_lock,
                                          destroy_waited_on,  wait_without_lock};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(RUN(wrong[i], DEFAULT) == HORA__SIM_MISUSE);
    CHECK(RUN(unlock_in_any_order, DEFAULT) == HORA__SIM_PASSED);
}

static void join_with_lock_held(void)
{
    init_locks();
    hora__os_thread other = start(lock_low, NULL);
    hora__mutex_lock(&low);
    hora__os_thread_join(other);
    hora__mutex_unlock(&low);
    destroy_locks();
}

PROOF(finds_a_deadlock)
{
    CHECK(FIRST_FAILURE(join_with_lock_held, 100, .mode = HORA__SIM_DFS) == 1);
    CHECK(result.verdict == HORA__SIM_LOST_WAKEUP);
    CHECK(strstr(result.message, "thread 0 joins thread 1") != NULL);
    CHECK(strstr(result.message, "thread 1 wants the lock of rank 1 that thread 0 holds") != NULL);
}

static int inside;

static void enter_alone(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        hora__mutex_lock(&low);
        MUST(inside++ == 0);
        (void)hora__atomic_load(&word);
        MUST(--inside == 0);
        hora__mutex_unlock(&low);
    }
}

static void three_in_turn(void)
{
    inside = 0;
    init_locks();
    hora__os_thread a = start(enter_alone, NULL);
    hora__os_thread b = start(enter_alone, NULL);
    enter_alone(NULL);
    hora__os_thread_join(a);
    hora__os_thread_join(b);
    destroy_locks();
}

PROOF(a_lock_lets_one_in)
{
    CHECK(FIRST_FAILURE(three_in_turn, 2000, .mode = HORA__SIM_RANDOM) == 0);
    CHECK(FIRST_FAILURE(three_in_turn, 100000, .mode = HORA__SIM_DFS, .bound = 2) == 0);
}

static void wait_for_flag(void *cond)
{
    hora__mutex_lock(&low);
    while (flag.value == 0)
        hora__cond_wait(cond, &low, INT64_MAX);
    hora__mutex_unlock(&low);
}

static void signal_a_waiter(void)
{
    hora__cond cond;
    init_locks();
    hora__atomic_init(&flag, 0);
    MUST(hora__cond_init(&cond) == 0);
    hora__os_thread waiter = start(wait_for_flag, &cond);
    hora__mutex_lock(&low);
    flag.value = 1;
    hora__mutex_unlock(&low);
    hora__cond_signal(&cond);
    hora__os_thread_join(waiter);
    hora__mutex_lock(&low);
    int64_t deadline_ns = hora__now(HORA__MONOTONIC) + SECOND;
    while (hora__now(HORA__MONOTONIC) < deadline_ns)
        hora__cond_wait(&cond, &low, deadline_ns);
    hora__cond_wait(&cond, &low, deadline_ns); /* over already: does not sleep for ever */
    MUST(hora__mutex_held(&low));
    hora__mutex_unlock(&low);
    hora__cond_destroy(&cond);
    destroy_locks();
}

PROOF(a_condition_wakes_and_times_out)
{
    CHECK(FIRST_FAILURE(signal_a_waiter, 100000, .mode = HORA__SIM_DFS, .bound = 3) == 0);
    CHECK(FIRST_FAILURE(signal_a_waiter, 100000, .mode = HORA__SIM_DFS, .bound = 2, .spurious = true,
                        .late = true) == 0);
}

static hora__parker parker;

static void unpark(void *arg)
{
    (void)arg;
    hora__unpark(&parker);
}

static enum hora__timeline park_timeline;

/* Without late wake-ups the permit arrives before the timeout, in every schedule. */
static void park_once(void)
{
    MUST(hora__parker_init(&parker) == 0);
    hora__os_thread other = start(unpark, NULL);
    int64_t before = hora__now(park_timeline);
    hora__park(&parker, park_timeline, before + SECOND);
    MUST(hora__now(park_timeline) == before);
    hora__os_thread_join(other);
    hora__parker_destroy(&parker);
}

PROOF(the_parker_loses_no_permit)
{
    for (int line = HORA__MONOTONIC; line <= HORA__WALL; line++) {
        park_timeline = (enum hora__timeline)line;
        CHECK(FIRST_FAILURE(park_once, 100000, .mode = HORA__SIM_DFS, .bound = 4) == 0);
        hora__fault_planted = HORA__FAULT_PARKER_LOSES_EARLY_PERMIT;
        CHECK(FIRST_FAILURE(park_once, 100000, .mode = HORA__SIM_DFS, .bound = 4) > 0);
        hora__fault_planted = HORA__FAULT_NONE;
    }
}
