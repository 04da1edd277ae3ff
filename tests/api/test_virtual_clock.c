/* SPDX-License-Identifier: Apache-2.0 */
/* test_virtual_clock.c - the clock that a test moves by hand */
#include "support.h"

static const hora_clock_id timelines[] = {HORA_CLOCK_MONOTONIC, HORA_CLOCK_BOOTTIME, HORA_CLOCK_WALL};

static hora_ns now_on(hora_virtual_clock *clock, hora_clock_id timeline)
{
    return hora_clock_now(hora_virtual_clock_view(clock, timeline));
}

static void check_now(const char *file, int line, hora_virtual_clock *clock, hora_ns monotonic, hora_ns boot,
                      hora_ns wall)
{
    test_check_int(file, line, "monotonic", now_on(clock, HORA_CLOCK_MONOTONIC), monotonic);
    test_check_int(file, line, "boot time", now_on(clock, HORA_CLOCK_BOOTTIME), boot);
    test_check_int(file, line, "wall", now_on(clock, HORA_CLOCK_WALL), wall);
}
#define CHECK_NOW(clock, monotonic, boot, wall) \
    check_now(__FILE__, __LINE__, (clock), (monotonic), (boot), (wall))

TEST(virtual_clock_starts_at_zero_by_default, "")
{
    hora_virtual_clock *clock;

    CHECK_OK(hora_virtual_clock_new(NULL, &clock, NULL));
    CHECK_NOW(clock, 0, 0, 0);
    CHECK_OK(hora_virtual_clock_free(clock));
}

TEST(virtual_clock_starts_where_the_options_say, "")
{
    hora_virtual_clock *clock;

    CHECK_OK(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = 5, .wall = {-7}), &clock, NULL));
    CHECK_NOW(clock, 5, 5, -7);
    CHECK_OK(hora_virtual_clock_free(clock));
}

TEST(virtual_clock_refuses_bad_options, "")
{
    struct {
        hora_virtual_clock_options known;
        unsigned char unknown[16];
    } options = {0};
    hora_virtual_clock *clock = (hora_virtual_clock *)untouched;

    CHECK_ERROR(hora_virtual_clock_new(&options.known, &clock, NULL), HORA_EINVAL);
    options.known.struct_size = sizeof(options.known) - 1;
    CHECK_ERROR(hora_virtual_clock_new(&options.known, &clock, NULL), HORA_EINVAL);
    options.known.struct_size = sizeof(options);
    options.unknown[3] = 1;
    CHECK_ERROR(hora_virtual_clock_new(&options.known, &clock, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = -1), &clock, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = INT64_MIN), &clock, NULL),
                HORA_EINVAL);
    CHECK_POINTER(clock, untouched);
}

TEST(virtual_clock_view_shows_its_timeline, "")
{
    struct fixture f;
    hora_instant instant = {0};

    fixture_open(&f);
    for (int i = 0; i < 3; i++)
        CHECK_INT(hora_clock_get_id(hora_virtual_clock_view(f.clock, timelines[i])), timelines[i]);
    CHECK_POINTER(hora_virtual_clock_view(f.clock, (hora_clock_id)4), NULL);
    CHECK_POINTER(hora_virtual_clock_view(f.clock, (hora_clock_id)-1), NULL);
    CHECK_OK(hora_clock_instant(hora_virtual_clock_view(f.clock, HORA_CLOCK_WALL), &instant));
    CHECK_INT(instant.ns, now_on(f.clock, HORA_CLOCK_WALL));
    CHECK_ERROR(hora_clock_instant(f.view, &instant), HORA_EINVAL);
    fixture_close(&f);
}

TEST(virtual_clock_advance_moves_all_lines, "")
{
    hora_virtual_clock *clock;

    CHECK_OK(
        hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = 10, .wall = {100}), &clock, NULL));
    CHECK_OK(hora_virtual_clock_advance(clock, 5));
    CHECK_NOW(clock, 15, 15, 105);
    CHECK_OK(hora_virtual_clock_advance(clock, 0));
    CHECK_ERROR(hora_virtual_clock_advance(clock, -1), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_advance(clock, INT64_MIN), HORA_EINVAL);
    CHECK_NOW(clock, 15, 15, 105);
    CHECK_OK(hora_virtual_clock_free(clock));
}

/* Sums saturate: time never runs backwards, whatever is added. */
TEST(virtual_clock_does_not_wrap, "")
{
    hora_virtual_clock *clock;
    hora_ns last;

    CHECK_OK(
        hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = 10, .wall = {100}), &clock, NULL));
    CHECK_OK(hora_virtual_clock_advance(clock, INT64_MAX));
    last = now_on(clock, HORA_CLOCK_MONOTONIC);
    CHECK(last >= INT64_MAX - 1);
    CHECK_OK(hora_virtual_clock_advance(clock, INT64_MAX));
    CHECK_OK(hora_virtual_clock_suspend(clock, INT64_MAX));
    CHECK_OK(hora_virtual_clock_step_wall(clock, INT64_MAX));
    for (int i = 0; i < 3; i++)
        CHECK_INT(now_on(clock, timelines[i]), last);
    CHECK_OK(hora_virtual_clock_step_wall(clock, INT64_MIN));
    CHECK_OK(hora_virtual_clock_step_wall(clock, INT64_MIN));
    CHECK_INT(now_on(clock, HORA_CLOCK_WALL), INT64_MIN);
    CHECK_OK(hora_virtual_clock_free(clock));
}

TEST(virtual_clock_step_moves_the_wall_only, "")
{
    hora_virtual_clock *clock;

    CHECK_OK(
        hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = 10, .wall = {100}), &clock, NULL));
    CHECK_OK(hora_virtual_clock_step_wall(clock, 50));
    CHECK_NOW(clock, 10, 10, 150);
    CHECK_OK(hora_virtual_clock_step_wall(clock, -200));
    CHECK_NOW(clock, 10, 10, -50);
    CHECK_OK(hora_virtual_clock_free(clock));
}

TEST(virtual_clock_suspend_stops_the_monotonic_line_only, "")
{
    hora_virtual_clock *clock;

    CHECK_OK(
        hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = 10, .wall = {100}), &clock, NULL));
    CHECK_OK(hora_virtual_clock_suspend(clock, 5));
    CHECK_NOW(clock, 10, 15, 105);
    CHECK_OK(hora_virtual_clock_suspend(clock, 0));
    CHECK_ERROR(hora_virtual_clock_suspend(clock, INT64_MIN), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_suspend(clock, -1), HORA_EINVAL);
    CHECK_NOW(clock, 10, 15, 105);
    CHECK_OK(hora_virtual_clock_free(clock));
}

/* ---- sleepers ---- */

TEST(virtual_clock_advances_to_the_next_sleeper, "")
{
    struct fixture f;
    struct call calls[3];
    hora_ns by = -7;

    fixture_open(&f);
    CHECK_ERROR(hora_virtual_clock_advance_to_next(f.clock, &by), HORA_EEMPTY);
    CHECK_INT(by, -7);
    start_sleep(&calls[0], &f, f.view, 30);
    start_sleep(&calls[1], &f, f.view, 10);
    start_sleep(&calls[2], &f, f.view, HORA_FOREVER);
    settle(&f);
    CHECK_OK(hora_virtual_clock_advance_to_next(f.clock, &by));
    CHECK_INT(by, 10);
    CHECK_RETURNS(&calls[1], 0);
    CHECK_BLOCKED(&calls[0]);
    CHECK_OK(hora_virtual_clock_advance_to_next(f.clock, NULL));
    CHECK_RETURNS(&calls[0], 0);
    CHECK_INT(hora_clock_now(f.view), HORA_SECONDS(1) + 30);
    CHECK_ERROR(hora_virtual_clock_advance_to_next(f.clock, &by), HORA_EEMPTY);
    CHECK_INTERRUPTIBLE(&calls[2]);
    fixture_close(&f);
}

/* The three lines move together, so the nearest moment counts, on whatever line it is waited for. */
TEST(virtual_clock_advances_to_the_next_on_any_line, "")
{
    struct fixture f;
    struct call calls[3];
    static const hora_ns durations[] = {30, 20, 10};
    hora_ns by = 0;

    fixture_open(&f);
    for (int i = 0; i < 3; i++)
        start_sleep(&calls[i], &f, hora_virtual_clock_view(f.clock, timelines[i]), durations[i]);
    settle(&f);
    for (int i = 2; i >= 0; i--) {
        CHECK_OK(hora_virtual_clock_advance_to_next(f.clock, &by));
        CHECK_INT(by, 10);
        CHECK_RETURNS(&calls[i], 0);
    }
    fixture_close(&f);
}

/* The same moment for several: all wake. */
TEST(virtual_clock_wakes_all_that_are_due, "")
{
    enum { SLEEPERS = 20 };
    struct fixture f;
    struct call calls[SLEEPERS];

    fixture_open(&f);
    for (int i = 0; i < SLEEPERS; i++)
        start_sleep(&calls[i], &f, f.view, 10 + i % 2);
    settle(&f);
    advance(&f, 11);
    for (int i = 0; i < SLEEPERS; i++)
        CHECK_RETURNS(&calls[i], 0);
    fixture_close(&f);
}

TEST(virtual_clock_wakes_late_on_request, "")
{
    struct fixture f;
    struct call call;

    fixture_open(&f);
    CHECK_OK(hora_virtual_clock_set_lateness(f.clock, 5));
    start_sleep(&call, &f, f.view, 10);
    CHECK_WAITS_FOR(&call, 15, 0);

    start_sleep(&call, &f, f.view, 10);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_virtual_clock_set_lateness(f.clock, 0));
    CHECK_WAITS_FOR(&call, 10, 0);

    CHECK_ERROR(hora_virtual_clock_set_lateness(f.clock, -1), HORA_EINVAL);
    start_sleep(&call, &f, f.view, 10);
    CHECK_WAITS_FOR(&call, 10, 0);
    fixture_close(&f);
}

/* Threads that already sleep are delayed, too; removing the delay wakes those whose time has come. */
TEST(virtual_clock_lateness_holds_for_sleepers_at_once, "")
{
    struct fixture f;
    struct call call;

    fixture_open(&f);
    start_sleep(&call, &f, f.view, 10);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_virtual_clock_set_lateness(f.clock, 5));
    advance(&f, 12);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_virtual_clock_set_lateness(f.clock, 0));
    CHECK_RETURNS(&call, 0);
    fixture_close(&f);
}

/* A late timeout is still a timeout, and an element that was due in between is found. */
TEST(virtual_clock_late_waits_keep_their_results, "")
{
    struct fixture f;
    struct call poll, take;

    fixture_open_queue(&f, DELAY, 0);
    CHECK_OK(hora_virtual_clock_set_lateness(f.clock, 5));
    start_poll_for(&poll, &f, 10);
    CHECK_WAITS_FOR(&poll, 15, HORA_ETIMEDOUT);
    CHECK_OK(hora_queue_put_delayed(f.queue, item(0), 10));
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    advance(&f, 14);
    CHECK_BLOCKED(&take);
    advance(&f, 1);
    CHECK_TAKES(&take, item(0));
    fixture_close(&f);
}

/* ---- attached threads ---- */

TEST(virtual_clock_counts_a_thread_once, "")
{
    struct fixture f, other;

    fixture_open(&f);
    fixture_open(&other);
    CHECK_ERROR(hora_virtual_clock_detach(f.clock), HORA_EINVAL);
    CHECK_OK(hora_virtual_clock_attach(f.clock));
    CHECK_ERROR(hora_virtual_clock_attach(f.clock), HORA_EBUSY);
    CHECK_ERROR(hora_virtual_clock_attach(other.clock), HORA_EBUSY);
    CHECK_ERROR(hora_virtual_clock_detach(other.clock), HORA_EINVAL);
    CHECK_OK(hora_virtual_clock_detach(f.clock));
    CHECK_ERROR(hora_virtual_clock_detach(f.clock), HORA_EINVAL);
    CHECK_OK(hora_virtual_clock_attach(other.clock));
    CHECK_OK(hora_virtual_clock_detach(other.clock));
    fixture_close(&other);
    fixture_close(&f);
}

TEST(virtual_clock_settle_does_not_count_its_caller, "")
{
    struct fixture f;

    fixture_open(&f);
    settle(&f);
    CHECK_OK(hora_virtual_clock_attach(f.clock));
    settle(&f);
    CHECK_OK(hora_virtual_clock_detach(f.clock));
    settle(&f);
    fixture_close(&f);
}

static int run_settle(struct call *call)
{
    return hora_virtual_clock_settle(call->object);
}

/* A thread settles the fixture's clock; it is watched by another clock. */
static void start_settler(struct call *call, struct fixture *f, struct fixture *watch)
{
    *call = (struct call){.run = run_settle, .object = f->clock};
    start_call(call, watch);
}

TEST(virtual_clock_settle_waits_for_expected_threads, "")
{
    struct fixture f, watch;
    struct call call;

    fixture_open(&f);
    fixture_open(&watch);
    CHECK_OK(hora_virtual_clock_expect(f.clock, 2));
    start_settler(&call, &f, &watch);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_virtual_clock_expect(f.clock, -1));
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_virtual_clock_attach(f.clock));
    CHECK_BLOCKED(&call); /* this thread has come, and runs */
    CHECK_OK(hora_virtual_clock_detach(f.clock));
    CHECK_RETURNS(&call, 0);

    CHECK_OK(hora_virtual_clock_expect(f.clock, 1));
    start_settler(&call, &f, &watch);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_virtual_clock_expect(f.clock, -1));
    CHECK_RETURNS(&call, 0);
    fixture_close(&watch);
    fixture_close(&f);
}

TEST(virtual_clock_settle_is_interruptible, "")
{
    struct fixture f, watch;
    struct call call;

    fixture_open(&f);
    fixture_open(&watch);
    CHECK_INTERRUPTED(hora_virtual_clock_settle(f.clock), NULL);
    CHECK_OK(hora_virtual_clock_expect(f.clock, 1));
    start_settler(&call, &f, &watch);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_OK(hora_virtual_clock_expect(f.clock, -1));
    settle(&f);
    fixture_close(&watch);
    fixture_close(&f);
}

TEST(virtual_clock_expect_refuses_impossible_numbers, "")
{
    struct fixture f;

    fixture_open(&f);
    CHECK_ERROR(hora_virtual_clock_expect(f.clock, -1), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_expect(f.clock, INT_MIN), HORA_EINVAL);
    CHECK_OK(hora_virtual_clock_expect(f.clock, 0));
    CHECK_OK(hora_virtual_clock_expect(f.clock, 2));
    CHECK_ERROR(hora_virtual_clock_expect(f.clock, -3), HORA_EINVAL);
    CHECK_OK(hora_virtual_clock_expect(f.clock, INT32_MAX - 2));
    CHECK_ERROR(hora_virtual_clock_expect(f.clock, 1), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_expect(f.clock, INT_MAX), HORA_EINVAL);
    if (CHECK_OK(hora_virtual_clock_expect(f.clock, -INT32_MAX)))
        settle(&f);
    fixture_close(&f);
}

static int pass_on(struct call *call)
{
    void *got;

    for (int i = 0; i < 3; i++) {
        int error = hora_queue_take(call->object, &got);
        if (error < 0)
            return error;
        hora_ns delay = *(hora_ns *)call->item;
        error = hora_clock_sleep(call->fixture->view, delay);
        if (error < 0)
            return error;
    }
    return 0;
}

/* From wake-up to next wait nothing is missed: after settle the thread has done all it could. */
TEST(virtual_clock_settle_waits_for_woken_threads, "")
{
    struct fixture f;
    hora_ns delay = 10;
    struct call call = {.run = pass_on, .item = &delay};

    fixture_open_queue(&f, LINKED_UNBOUNDED, 0);
    call.object = f.queue;
    start_call(&call, &f);
    for (int i = 0; i < 3; i++) {
        CHECK_BLOCKED(&call);
        CHECK_OK(hora_queue_put(f.queue, item(i)));
        CHECK_BLOCKED(&call);
        CHECK_INT(hora_queue_size(f.queue), 0);
        advance(&f, 10);
    }
    CHECK_RETURNS(&call, 0);
    fixture_close(&f);
}

/* ---- freeing ---- */

TEST(virtual_clock_in_use_cannot_be_freed, "")
{
    struct fixture f;
    hora_latch *latch;
    hora_queue *queue;
    struct call call;

    fixture_open(&f);
    CHECK_OK(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = f.view), &latch, NULL));
    CHECK_ERROR(hora_virtual_clock_free(f.clock), HORA_EBUSY);
    CHECK_OK(hora_latch_free(latch));
    CHECK_OK(hora_queue_new_array(
        1, HORA_QUEUE_OPTIONS(.clock = hora_virtual_clock_view(f.clock, HORA_CLOCK_WALL)), &queue, NULL));
    CHECK_ERROR(hora_virtual_clock_free(f.clock), HORA_EBUSY);
    CHECK_OK(hora_queue_free(queue));
    CHECK_OK(hora_virtual_clock_attach(f.clock));
    CHECK_ERROR(hora_virtual_clock_free(f.clock), HORA_EBUSY);
    CHECK_OK(hora_virtual_clock_detach(f.clock));
    start_sleep(&call, &f, f.view, 10);
    CHECK_BLOCKED(&call);
    CHECK_ERROR(hora_virtual_clock_free(f.clock), HORA_EBUSY);
    CHECK_WAITS_FOR(&call, 10, 0);
    fixture_close(&f);
}
