/* SPDX-License-Identifier: Apache-2.0 */
/* test_virtual_clock_run.c - hora_virtual_clock_run: time passes together with everything that is due */
#include <sched.h>

#include "support.h"

/* When things happened, seen from the opening of the fixture. */
enum { ENTRIES = 64 };
struct log {
    hora_ns start;
    int count;
    hora_ns times[ENTRIES];
};

static void note(struct log *log, const hora_clock *clock)
{
    if (log->count < ENTRIES)
        log->times[log->count] = hora_clock_now(clock) - log->start;
    log->count++;
}

static void check_log(const char *file, int line, const struct log *log, int count, hora_ns first,
                      hora_ns period)
{
    test_check_int(file, line, "count", log->count, count);
    for (int i = 0; i < log->count && i < ENTRIES; i++)
        test_check_int(file, line, "time", log->times[i], first + i * period);
}
#define CHECK_LOG(log, count, first, period) check_log(__FILE__, __LINE__, (log), (count), (first), (period))

static hora_ns passed(struct fixture *f)
{
    return hora_clock_now(f->view) - HORA_SECONDS(1); /* where fixtures begin */
}

/* A thread that sleeps again and again, item: its log, timeout: how long, until it is interrupted. */
static int run_sleeper(struct call *call)
{
    for (;;) {
        int error = hora_clock_sleep(call->clock, call->timeout);
        if (error < 0)
            return error;
        note(call->item, call->clock);
    }
}

static void start_sleeper(struct call *call, struct fixture *f, const hora_clock *clock, hora_ns period,
                          struct log *log)
{
    *log = (struct log){.start = hora_clock_now(clock)};
    *call = (struct call){.run = run_sleeper, .clock = clock, .timeout = period, .item = log};
    start_call(call, f);
}

TEST(virtual_clock_run_refuses_bad_arguments, "")
{
    struct fixture f;

    fixture_open(&f);
    CHECK_ERROR(hora_virtual_clock_run(f.clock, -1), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_run(f.clock, INT64_MIN), HORA_EINVAL);
    CHECK_INTERRUPTED(hora_virtual_clock_run(f.clock, 1), NULL);
    CHECK_INT(passed(&f), 0);
    fixture_close(&f);
}

/* Without attached threads it only moves the clock, and does not wrap around. */
TEST(virtual_clock_run_moves_all_lines, "")
{
    hora_virtual_clock *clock;

    CHECK_OK(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = 5, .wall = {-7}), &clock, NULL));
    CHECK_OK(hora_virtual_clock_run(clock, 0));
    CHECK_OK(hora_virtual_clock_run(clock, 10));
    CHECK_INT(hora_clock_now(hora_virtual_clock_view(clock, HORA_CLOCK_MONOTONIC)), 15);
    CHECK_INT(hora_clock_now(hora_virtual_clock_view(clock, HORA_CLOCK_BOOTTIME)), 15);
    CHECK_INT(hora_clock_now(hora_virtual_clock_view(clock, HORA_CLOCK_WALL)), 3);
    CHECK_OK(hora_virtual_clock_run(clock, HORA_FOREVER - 1));
    CHECK_OK(hora_virtual_clock_run(clock, HORA_FOREVER));
    CHECK_INT(hora_clock_now(hora_virtual_clock_view(clock, HORA_CLOCK_MONOTONIC)), HORA_FOREVER - 1);
    CHECK_OK(hora_virtual_clock_free(clock));
}

TEST(virtual_clock_run_stops_at_each_moment, "")
{
    struct fixture f;
    struct call call;
    struct log log;

    fixture_open(&f);
    start_sleeper(&call, &f, f.view, 10, &log);
    CHECK_OK(hora_virtual_clock_run(f.clock, 35));
    CHECK_LOG(&log, 3, 10, 10);
    CHECK_INT(passed(&f), 35);
    CHECK_OK(hora_virtual_clock_run(f.clock, 4)); /* one too little */
    CHECK_LOG(&log, 3, 10, 10);
    CHECK_OK(hora_virtual_clock_run(f.clock, 1)); /* the end belongs to it */
    CHECK_LOG(&log, 4, 10, 10);
    CHECK_OK(hora_virtual_clock_run(f.clock, 0));
    CHECK_LOG(&log, 4, 10, 10);
    CHECK_INT(passed(&f), 40);
    CHECK_INTERRUPTIBLE(&call);
    fixture_close(&f);
}

TEST(virtual_clock_run_obeys_lateness, "")
{
    struct fixture f;
    struct call call;
    struct log log;

    fixture_open(&f);
    CHECK_OK(hora_virtual_clock_set_lateness(f.clock, 3));
    start_sleeper(&call, &f, f.view, 10, &log);
    CHECK_OK(hora_virtual_clock_run(f.clock, 12));
    CHECK_LOG(&log, 0, 0, 0);
    CHECK_OK(hora_virtual_clock_run(f.clock, 14));
    CHECK_LOG(&log, 2, 13, 13);
    CHECK_INTERRUPTIBLE(&call);
    fixture_close(&f);
}

/* Several, on all lines, some at the same moments. */
TEST(virtual_clock_run_wakes_all_that_are_due, "")
{
    enum { SLEEPERS = 20 };
    struct fixture f;
    struct call calls[SLEEPERS];
    struct log logs[SLEEPERS];

    fixture_open(&f);
    for (int i = 0; i < SLEEPERS; i++)
        start_sleeper(&calls[i], &f, hora_virtual_clock_view(f.clock, (hora_clock_id)(i % 3 + 1)), 10 + i % 2,
                      &logs[i]);
    CHECK_OK(hora_virtual_clock_run(f.clock, 40));
    for (int i = 0; i < SLEEPERS; i++)
        CHECK_LOG(&logs[i], i % 2 == 0 ? 4 : 3, 10 + i % 2, 10 + i % 2);
    for (int i = 0; i < SLEEPERS; i++)
        CHECK_INTERRUPTIBLE(&calls[i]);
    fixture_close(&f);
}

/* A thread that is woken at a moment wakes others at that moment: one thread sleeps and puts, another
 * takes. */
static int run_putter(struct call *call)
{
    for (int i = 0; i < 3; i++) {
        int error = hora_clock_sleep(call->clock, call->timeout);
        if (error == 0)
            error = hora_queue_put(call->object, call);
        if (error < 0)
            return error;
    }
    return 0;
}

static int run_taker(struct call *call)
{
    for (int i = 0; i < 3; i++) {
        void *got;
        int error = hora_queue_take(call->object, &got);
        if (error < 0)
            return error;
        note(call->item, call->clock);
    }
    return 0;
}

TEST(virtual_clock_run_waits_for_what_follows, "")
{
    struct fixture f;
    struct log log = {.start = HORA_SECONDS(1)};

    fixture_open_queue(&f, LINKED_UNBOUNDED, 0);
    struct call put = {.run = run_putter, .object = f.queue, .clock = f.view, .timeout = 10};
    struct call take = {.run = run_taker, .object = f.queue, .clock = f.view, .item = &log};
    start_call(&take, &f);
    start_call(&put, &f);
    CHECK_OK(hora_virtual_clock_run(f.clock, 100));
    CHECK_LOG(&log, 3, 10, 10);
    CHECK_RETURNS(&put, 0);
    CHECK_RETURNS(&take, 0);
    fixture_close(&f);
}

TEST(virtual_clock_run_does_not_count_its_caller, "")
{
    struct fixture f;
    struct call call;
    struct log log;

    fixture_open(&f);
    CHECK_OK(hora_virtual_clock_attach(f.clock));
    CHECK_OK(hora_virtual_clock_run(f.clock, 5));
    start_sleeper(&call, &f, f.view, 10, &log);
    CHECK_OK(hora_virtual_clock_run(f.clock, 20));
    CHECK_LOG(&log, 2, 10, 10);
    CHECK_INT(passed(&f), 25);
    CHECK_OK(hora_virtual_clock_detach(f.clock));
    CHECK_INTERRUPTIBLE(&call);
    fixture_close(&f);
}

/* ---- a run of another thread ---- */

static int run_run(struct call *call)
{
    return hora_virtual_clock_run(call->object, call->timeout);
}

/* A thread runs the fixture's clock; it is watched by another clock. */
static void start_runner(struct call *call, struct fixture *f, struct fixture *watch, hora_ns by)
{
    *call = (struct call){.run = run_run, .object = f->clock, .timeout = by};
    start_call(call, watch);
}

TEST(virtual_clock_run_waits_for_expected_threads, "")
{
    struct fixture f, watch;
    struct call runner;

    fixture_open(&f);
    fixture_open(&watch);
    CHECK_OK(hora_virtual_clock_expect(f.clock, 1));
    start_runner(&runner, &f, &watch, 10);
    CHECK_BLOCKED(&runner);
    CHECK_INT(passed(&f), 0);
    CHECK_ERROR(hora_virtual_clock_run(f.clock, 10), HORA_EBUSY);
    CHECK_ERROR(hora_virtual_clock_free(f.clock), HORA_EBUSY);
    CHECK_OK(hora_virtual_clock_expect(f.clock, -1));
    CHECK_RETURNS(&runner, 0);
    CHECK_INT(passed(&f), 10);
    CHECK_OK(hora_virtual_clock_run(f.clock, 10));
    fixture_close(&watch);
    fixture_close(&f);
}

/* At 10 the sleeper announces another thread, which keeps time from passing. */
static int run_holder(struct call *call)
{
    int error = hora_clock_sleep(call->clock, 10);
    if (error == 0)
        error = hora_virtual_clock_expect(call->fixture->clock, 1);
    return error < 0 ? error : hora_latch_count_down(call->object);
}

TEST(virtual_clock_run_is_interruptible, "")
{
    struct fixture f, watch;
    struct call holder = {.run = run_holder}, sleeper, runner;
    struct log log;
    hora_latch *latch;

    fixture_open(&f);
    fixture_open(&watch);
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    holder.object = latch;
    holder.clock = f.view;
    start_call(&holder, &f);
    start_sleeper(&sleeper, &f, f.view, 15, &log);
    start_runner(&runner, &f, &watch, 100);
    CHECK_OK(hora_latch_await(latch));
    CHECK_INTERRUPTIBLE(&runner);
    CHECK_INT(passed(&f), 10);
    CHECK_OK(hora_virtual_clock_expect(f.clock, -1));
    CHECK_RETURNS(&holder, 0);
    CHECK_INT(passed(&f), 10); /* the run has ended: nothing moves the clock any more */
    CHECK_OK(hora_virtual_clock_run(f.clock, 5));
    CHECK_LOG(&log, 1, 15, 15);
    CHECK_INTERRUPTIBLE(&sleeper);
    CHECK_OK(hora_latch_free(latch));
    fixture_close(&watch);
    fixture_close(&f);
}

/* ---- other threads move the clock during the run ---- */

enum { ADVANCE, STEP_WALL, SUSPEND };

static int run_mover(struct call *call)
{
    int error = hora_clock_sleep(call->clock, 10);
    if (error < 0)
        return error;
    if (call->timeout == ADVANCE)
        return hora_virtual_clock_advance(call->fixture->clock, 20);
    if (call->timeout == STEP_WALL)
        return hora_virtual_clock_step_wall(call->fixture->clock, 20);
    return hora_virtual_clock_suspend(call->fixture->clock, 20);
}

static int run_until_25(struct call *call)
{
    int error = hora_clock_sleep(call->clock, 25);
    if (error == 0)
        note(call->item, call->fixture->view);
    return error;
}

/* At 10 the clock is moved by 20. The run of 50 ends at 50 of the monotonic timeline. A thread that waits
 * until 25 on a timeline that was moved is woken at once, otherwise in time. */
static void check_moved(int how, hora_clock_id timeline, hora_ns woken)
{
    struct fixture f;
    struct log log = {.start = HORA_SECONDS(1)};
    struct call mover = {.run = run_mover, .timeout = how};
    struct call sleeper = {.run = run_until_25, .item = &log};

    fixture_open(&f);
    mover.clock = f.view;
    start_call(&mover, &f);
    sleeper.clock = hora_virtual_clock_view(f.clock, timeline);
    start_call(&sleeper, &f);
    CHECK_OK(hora_virtual_clock_run(f.clock, 50));
    CHECK_INT(passed(&f), 50);
    CHECK_LOG(&log, 1, woken, 0);
    CHECK_RETURNS(&mover, 0);
    CHECK_RETURNS(&sleeper, 0);
    fixture_close(&f);
}

TEST(virtual_clock_run_bears_other_movements, "")
{
    check_moved(ADVANCE, HORA_CLOCK_MONOTONIC, 30);
    check_moved(STEP_WALL, HORA_CLOCK_MONOTONIC, 25);
    check_moved(STEP_WALL, HORA_CLOCK_WALL, 10);
    check_moved(SUSPEND, HORA_CLOCK_BOOTTIME, 10);
    check_moved(SUSPEND, HORA_CLOCK_WALL, 10);
    check_moved(SUSPEND, HORA_CLOCK_MONOTONIC, 25);
}

/* A clock beyond the end is not set back. */
TEST(virtual_clock_run_ends_where_others_led, "")
{
    struct fixture f;
    struct call mover = {.run = run_mover, .timeout = ADVANCE};

    fixture_open(&f);
    mover.clock = f.view;
    start_call(&mover, &f);
    CHECK_OK(hora_virtual_clock_run(f.clock, 15));
    CHECK_INT(passed(&f), 30);
    CHECK_RETURNS(&mover, 0);
    fixture_close(&f);
}

/* A descriptor becomes readable at its moment, and the run does not wait for the thread that handles it. */
TEST(virtual_clock_run_makes_descriptors_readable, "")
{
    struct fixture f;

    fixture_open_queue(&f, DELAY, 0);
    int fd = hora_queue_fd(f.queue);
    CHECK(fd >= 0);
    CHECK_OK(hora_queue_put_delayed(f.queue, item(0), 10));
    CHECK_OK(hora_virtual_clock_run(f.clock, 9));
    CHECK(!is_readable(fd));
    CHECK_OK(hora_virtual_clock_run(f.clock, 100));
    CHECK(is_readable(fd));
    CHECK_INT(passed(&f), 109);
    CHECK_POLL(f.queue, item(0));
    fixture_close(&f);
}

/* ---- at length ---- */

static int run_steps(struct call *call)
{
    for (hora_ns i = 0; i < call->timeout; i++) {
        int error = hora_clock_sleep(call->clock, HORA_SECONDS(1));
        if (error < 0)
            return error;
    }
    return 0;
}

/* Most of a day, second by second; less in the simulator. If each moment cost a wake-up of another thread,
 * the test would be much slower. */
TEST(virtual_clock_run_covers_a_long_time, "")
{
    struct fixture f;
    struct call call = {.run = run_steps, .timeout = test_simulated() ? 50 : 50000};

    fixture_open(&f);
    call.clock = f.view;
    start_call(&call, &f);
    settle(&f);
    uint64_t before = test_wakeups();
    CHECK_OK(hora_virtual_clock_run(f.clock, HORA_SECONDS(call.timeout + 1)));
    if (test_is_exact())
        CHECK(test_wakeups() - before <= 3); /* its first sleep, and this thread */
    CHECK_INT(passed(&f), HORA_SECONDS(call.timeout + 1));
    CHECK_RETURNS(&call, 0);
    fixture_close(&f);
}

/* At full speed the caller still gets a word in. */
TEST_REAL(virtual_clock_run_at_speed_is_interruptible, "")
{
    struct fixture f, watch;
    struct call sleeper, runner;
    struct log log;

    fixture_open(&f);
    fixture_open(&watch);
    start_sleeper(&sleeper, &f, f.view, 1, &log);
    settle(&f);
    start_runner(&runner, &f, &watch, HORA_HOURS(1));
    while (passed(&f) == 0) /* until it is on */
        (void)sched_yield();
    CHECK_OK(hora_thread_interrupt(test_thread_handle(runner.thread)));
    CHECK_RETURNS(&runner, HORA_EINTERRUPTED);
    settle(&f);
    CHECK_INT(passed(&f), log.count);
    CHECK_INTERRUPTIBLE(&sleeper);
    fixture_close(&watch);
    fixture_close(&f);
}
