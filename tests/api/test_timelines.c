/* SPDX-License-Identifier: Apache-2.0 */
/* test_timelines.c - every timed call obeys the timeline of its object: monotonic, boot time or wall */
#include "support.h"

/* What may happen to time, and on which lines it then passes. */
static int let_time_pass(struct fixture *f, hora_ns by)
{
    return hora_virtual_clock_advance(f->clock, by);
}

static int sleep_machine(struct fixture *f, hora_ns by)
{
    return hora_virtual_clock_suspend(f->clock, by);
}

static int set_wall(struct fixture *f, hora_ns by)
{
    return hora_virtual_clock_step_wall(f->clock, by);
}

struct passing {
    int (*pass)(struct fixture *f, hora_ns by);
    bool moves[4]; /* by hora_clock_id */
};

static const struct passing passings[] = {
    {let_time_pass, {true, true, true, true}},
    {sleep_machine, {false, false, true, true}},
    {set_wall, {false, false, false, true}},
};

/* A call with a timeout of 10 has just been started: the passing of time must end it only on the right
 * timelines. */
static void check_obeys(struct fixture *f, struct call *call, const struct passing *passing,
                        hora_clock_id timeline, int want)
{
    CHECK_BLOCKED(call);
    CHECK_OK(passing->pass(f, 9));
    CHECK_BLOCKED(call);
    CHECK_OK(passing->pass(f, 1));
    if (!passing->moves[timeline]) {
        CHECK_BLOCKED(call);
        advance(f, 9);
        CHECK_BLOCKED(call);
        advance(f, 1);
    }
    CHECK_RETURNS(call, want);
}

static void sleeps_obey(hora_clock_id timeline)
{
    struct fixture f;
    struct call call;

    fixture_open(&f);
    for (int i = 0; i < 3; i++) {
        start_sleep(&call, &f, hora_virtual_clock_view(f.clock, timeline), 10);
        check_obeys(&f, &call, &passings[i], timeline, 0);
    }
    fixture_close(&f);
}

static void latches_obey(hora_clock_id timeline)
{
    struct fixture f;
    struct call call;
    hora_latch *latch;

    fixture_open(&f);
    CHECK_OK(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = hora_virtual_clock_view(f.clock, timeline)),
                            &latch, NULL));
    for (int i = 0; i < 3; i++) {
        start_await_for(&call, &f, latch, 10);
        check_obeys(&f, &call, &passings[i], timeline, HORA_ETIMEDOUT);
    }
    CHECK_OK(hora_latch_free(latch));
    fixture_close(&f);
}

static void queues_obey(hora_clock_id timeline)
{
    struct fixture f;
    struct call call;

    fixture_open(&f);
    CHECK_OK(make_queue(&f, ARRAY, 1, NULL, hora_virtual_clock_view(f.clock, timeline), &f.queue));
    for (int i = 0; i < 3; i++) {
        start_poll_for(&call, &f, 10);
        check_obeys(&f, &call, &passings[i], timeline, HORA_ETIMEDOUT);
    }
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    for (int i = 0; i < 3; i++) {
        start_offer_for(&call, &f, item(1), 10);
        check_obeys(&f, &call, &passings[i], timeline, HORA_ETIMEDOUT);
    }
    fixture_close(&f);
}

static void delay_queues_obey(hora_clock_id timeline)
{
    struct fixture f;
    struct call call;

    fixture_open(&f);
    CHECK_OK(make_queue(&f, DELAY, 0, NULL, hora_virtual_clock_view(f.clock, timeline), &f.queue));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_queue_put_delayed(f.queue, item(i), 10));
        start_take(&call, &f);
        check_obeys(&f, &call, &passings[i], timeline, 0);
        CHECK_POINTER(call.item, item(i));
    }
    fixture_close(&f);
}

#define EVERY_TIMELINE(promise)                            \
    ONE_TIMELINE(promise, monotonic, HORA_CLOCK_MONOTONIC) \
    ONE_TIMELINE(promise, boot_time, HORA_CLOCK_BOOTTIME)  \
    ONE_TIMELINE(promise, wall, HORA_CLOCK_WALL)

#define ONE_TIMELINE(promise, suffix, timeline) \
    TEST(promise##_##suffix, "")                \
    {                                           \
        promise(timeline);                      \
    }

EVERY_TIMELINE(sleeps_obey)
EVERY_TIMELINE(latches_obey)
EVERY_TIMELINE(queues_obey)
EVERY_TIMELINE(delay_queues_obey)

/* "Until the clock shows now + duration": setting the wall back prolongs the wait. */
TEST(wall_set_back_prolongs_a_wait, "")
{
    struct fixture f;
    struct call call;
    const hora_clock *wall;

    fixture_open(&f);
    wall = hora_virtual_clock_view(f.clock, HORA_CLOCK_WALL);
    start_sleep(&call, &f, wall, 10);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_virtual_clock_step_wall(f.clock, -5));
    advance(&f, 14);
    CHECK_BLOCKED(&call);
    advance(&f, 1);
    CHECK_RETURNS(&call, 0);
    fixture_close(&f);
}

/* A due element is not due any more when the wall clock is set back; polls and the descriptor follow. */
TEST(wall_set_back_makes_elements_wait_again, "")
{
    struct fixture f;
    int fd;

    fixture_open(&f);
    CHECK_OK(make_queue(&f, DELAY, 0, NULL, hora_virtual_clock_view(f.clock, HORA_CLOCK_WALL), &f.queue));
    fd = hora_queue_fd(f.queue);
    CHECK_OK(hora_queue_put_delayed(f.queue, item(0), 10));
    CHECK_OK(hora_virtual_clock_step_wall(f.clock, 10));
    CHECK(is_readable(fd));
    CHECK_OK(hora_virtual_clock_step_wall(f.clock, -1));
    CHECK(!is_readable(fd));
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    advance(&f, 1);
    CHECK(is_readable(fd));
    CHECK_POLL(f.queue, item(0));
    fixture_close(&f);
}

/* An instant of the calendar is a reading of the wall clock. */
TEST(wall_due_times_are_instants, "")
{
    struct fixture f;
    struct call call;
    hora_instant now = {0};
    const hora_clock *wall;

    fixture_open(&f);
    wall = hora_virtual_clock_view(f.clock, HORA_CLOCK_WALL);
    CHECK_OK(make_queue(&f, DELAY, 0, NULL, wall, &f.queue));
    CHECK_OK(hora_clock_instant(wall, &now));
    CHECK_OK(hora_queue_put_at(f.queue, item(0), now.ns + HORA_HOURS(24)));
    start_take(&call, &f);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_virtual_clock_step_wall(f.clock, HORA_HOURS(23)));
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_virtual_clock_suspend(f.clock, HORA_HOURS(1)));
    CHECK_TAKES(&call, item(0));
    fixture_close(&f);
}

/* The descriptor of a delay queue on boot time becomes readable when the machine wakes up. */
TEST(boot_time_descriptor_notices_suspend, "")
{
    struct fixture f;
    int fd;

    fixture_open(&f);
    CHECK_OK(make_queue(&f, DELAY, 0, NULL, hora_virtual_clock_view(f.clock, HORA_CLOCK_BOOTTIME), &f.queue));
    fd = hora_queue_fd(f.queue);
    CHECK_OK(hora_queue_put_delayed(f.queue, item(0), 10));
    CHECK_OK(hora_virtual_clock_suspend(f.clock, 9));
    CHECK(!is_readable(fd));
    CHECK_OK(hora_virtual_clock_suspend(f.clock, 1));
    CHECK(is_readable(fd));
    fixture_close(&f);
}
