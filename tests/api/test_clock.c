/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - the machine's clocks, real or simulated; and, for real, that no wait on them is too short */
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "support.h"

static const hora_clock_id timelines[] = {HORA_CLOCK_MONOTONIC, HORA_CLOCK_BOOTTIME, HORA_CLOCK_WALL};

TEST(system_clock_is_one_constant_per_timeline, "")
{
    for (int i = 0; i < 3; i++) {
        const hora_clock *clock = hora_clock_system(timelines[i]);
        CHECK(clock != NULL);
        CHECK_POINTER(hora_clock_system(timelines[i]), clock);
        CHECK_INT(hora_clock_get_id(clock), timelines[i]);
    }
    CHECK(hora_clock_system(HORA_CLOCK_MONOTONIC) != hora_clock_system(HORA_CLOCK_WALL));
}

TEST(system_clock_of_no_timeline_is_null, "")
{
    CHECK_POINTER(hora_clock_system((hora_clock_id)4), NULL);
    CHECK_POINTER(hora_clock_system((hora_clock_id)-1), NULL);
    CHECK_POINTER(hora_clock_system((hora_clock_id)INT_MAX), NULL);
}

/* Where a clock is asked for. */
TEST(null_clock_is_the_monotonic_one, "")
{
    hora_ns before = hora_clock_now(hora_clock_system(HORA_CLOCK_MONOTONIC));
    hora_ns now = hora_clock_now(NULL);
    hora_ns after = hora_clock_now(hora_clock_system(HORA_CLOCK_MONOTONIC));

    CHECK(before <= now && now <= after);
    CHECK_INT(hora_clock_get_id(NULL), HORA_CLOCK_MONOTONIC);
}

TEST(system_clock_never_goes_back, "")
{
    hora_ns last[2] = {INT64_MIN, INT64_MIN};

    for (int turn = 0; turn < 100; turn++) {
        for (int i = 0; i < 2; i++) {
            hora_ns now = hora_clock_now(hora_clock_system(timelines[i]));
            CHECK(now >= last[i]);
            CHECK(now >= 0);
            last[i] = now;
        }
    }
}

TEST(wall_clock_shows_an_instant, "")
{
    const hora_clock *wall = hora_clock_system(HORA_CLOCK_WALL);
    hora_instant first = {-1}, second = {-1};

    CHECK_OK(hora_clock_instant(wall, &first));
    CHECK_OK(hora_clock_instant(wall, &second));
    CHECK(first.ns > 0);
    CHECK(second.ns >= first.ns - HORA_SECONDS(60)); /* it may be set, but hardly just now */
}

/* It is the calendar of the system. */
TEST_REAL(wall_clock_agrees_with_the_system, "")
{
    struct timespec now;
    hora_instant instant = {0};

    CHECK_OK(hora_clock_instant(hora_clock_system(HORA_CLOCK_WALL), &instant));
    clock_gettime(CLOCK_REALTIME, &now);
    hora_ns difference = HORA_SECONDS(now.tv_sec) + now.tv_nsec - instant.ns;
    CHECK(difference >= -HORA_SECONDS(60) && difference <= HORA_SECONDS(60));
}

TEST(clock_instant_needs_a_wall_clock_and_an_output, "")
{
    hora_instant instant = {7};

    CHECK_ERROR(hora_clock_instant(hora_clock_system(HORA_CLOCK_MONOTONIC), &instant), HORA_EINVAL);
    CHECK_ERROR(hora_clock_instant(hora_clock_system(HORA_CLOCK_BOOTTIME), &instant), HORA_EINVAL);
    CHECK_ERROR(hora_clock_instant(NULL, &instant), HORA_EINVAL);
    CHECK_ERROR(hora_clock_instant(hora_clock_system(HORA_CLOCK_WALL), NULL), HORA_EINVAL);
    CHECK_INT(instant.ns, 7);
}

/* ---- waits on the machine's clocks ---- */

#define A_SHORT_WHILE HORA_MS(3)

/* Time each kind of wait; none may be over too soon by the clock that it obeys. */
static void check_waits_on(hora_clock_id timeline)
{
    const hora_clock *clock = hora_clock_system(timeline);
    hora_latch *latch;
    hora_queue *queue;
    void *got = untouched;
    hora_ns start;

    CHECK_OK(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = clock), &latch, NULL));
    CHECK_OK(hora_queue_new_array(1, HORA_QUEUE_OPTIONS(.clock = clock), &queue, NULL));

    start = hora_clock_now(clock);
    CHECK_ERROR(hora_latch_await_for(latch, A_SHORT_WHILE), HORA_ETIMEDOUT);
    CHECK(hora_clock_now(clock) - start >= A_SHORT_WHILE);

    start = hora_clock_now(clock);
    CHECK_ERROR(hora_queue_poll_for(queue, A_SHORT_WHILE, &got), HORA_ETIMEDOUT);
    CHECK(hora_clock_now(clock) - start >= A_SHORT_WHILE);

    CHECK_OK(hora_queue_offer(queue, item(0)));
    start = hora_clock_now(clock);
    CHECK_ERROR(hora_queue_offer_for(queue, item(1), A_SHORT_WHILE), HORA_ETIMEDOUT);
    CHECK(hora_clock_now(clock) - start >= A_SHORT_WHILE);

    start = hora_clock_now(clock);
    CHECK_OK(hora_clock_sleep(clock, A_SHORT_WHILE));
    CHECK(hora_clock_now(clock) - start >= A_SHORT_WHILE);

    CHECK_OK(hora_queue_free(queue));
    CHECK_OK(hora_latch_free(latch));
}

TEST(waits_on_the_monotonic_clock_are_never_too_short, "")
{
    check_waits_on(HORA_CLOCK_MONOTONIC);
}

TEST(waits_on_the_boot_time_clock_are_never_too_short, "")
{
    check_waits_on(HORA_CLOCK_BOOTTIME);
}

TEST(waits_on_the_wall_clock_are_never_too_short, "")
{
    check_waits_on(HORA_CLOCK_WALL);
}

static void do_nothing(int signal)
{
    (void)signal;
}

/* Signal handlers run while the thread waits; the wait continues. */
TEST_REAL(waits_are_not_shortened_by_signals, "")
{
    const struct sigaction action = {.sa_handler =
                                         do_nothing}; /* stays: valgrind may deliver a last one late */
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};

    CHECK_INT(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_INT(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (int i = 0; i < 3; i++)
        check_waits_on(timelines[i]);
    CHECK_INT(setitimer(ITIMER_REAL, &never, NULL), 0);
}

/* A delay queue's element is not given out before its time. */
static void check_delay_on(hora_clock_id timeline)
{
    const hora_clock *clock = hora_clock_system(timeline);
    hora_queue *queue;
    void *got = untouched;
    hora_ns due;

    CHECK_OK(hora_queue_new_delay(HORA_QUEUE_OPTIONS(.clock = clock), &queue, NULL));
    due = hora_clock_now(clock) + A_SHORT_WHILE;
    CHECK_OK(hora_queue_put_at(queue, item(0), due));
    CHECK_OK(hora_queue_take(queue, &got));
    CHECK(hora_clock_now(clock) >= due);
    CHECK_POINTER(got, item(0));
    CHECK_OK(hora_queue_free(queue));
}

TEST(delays_on_every_system_clock_are_never_too_short, "")
{
    for (int i = 0; i < 3; i++)
        check_delay_on(timelines[i]);
}

static void count_down(void *latch)
{
    CHECK_OK(hora_latch_count_down(latch));
}

/* True if hours may pass before a thread that can run does so. */
static bool may_be_late(void)
{
    return test_simulated() && !test_is_exact();
}

/* A timed wait on a system clock ends when the awaited event happens: the sleep of each clock can be
 * ended. */
TEST(waits_on_every_system_clock_can_be_woken, "")
{
    for (int i = 0; i < 3; i++) {
        hora_latch *latch;
        CHECK_OK(
            hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = hora_clock_system(timelines[i])), &latch, NULL));
        test_thread *thread = test_thread_start(NULL, count_down, latch);
        int error = hora_latch_await_for(latch, HORA_HOURS(1));
        CHECK(error == 0 || (error == HORA_ETIMEDOUT && may_be_late()));
        test_thread_join(thread);
        CHECK_OK(hora_latch_free(latch));
    }
}

static void interrupt_target(void *target)
{
    CHECK_OK(hora_thread_interrupt(target));
}

TEST(sleeps_on_every_system_clock_can_be_interrupted, "")
{
    hora_thread *self = NULL;

    CHECK_OK(hora_thread_self(&self));
    for (int i = 0; i < 3; i++) {
        test_thread *thread = test_thread_start(NULL, interrupt_target, self);
        int error = hora_clock_sleep(hora_clock_system(timelines[i]), HORA_HOURS(1));
        CHECK(error == HORA_EINTERRUPTED || (error == 0 && may_be_late()));
        test_thread_join(thread);
        CHECK_INT(hora_interrupted(), error == 0);
    }
    hora_thread_unref(self);
}
