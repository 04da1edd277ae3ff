/* SPDX-License-Identifier: Apache-2.0 */
/* test_latch.c - the countdown latch */
#include "support.h"

static hora_latch *open_latch(struct fixture *f, int count)
{
    hora_latch *latch = NULL;

    fixture_open(f);
    CHECK_OK(hora_latch_new(count, HORA_LATCH_OPTIONS(.clock = f->view), &latch, NULL));
    return latch;
}

static void close_latch(struct fixture *f, hora_latch *latch)
{
    CHECK_OK(hora_latch_free(latch));
    fixture_close(f);
}

TEST(latch_count_must_not_be_negative, "CountDownLatchTest.testConstructor")
{
    hora_latch *latch = (hora_latch *)untouched;

    CHECK_ERROR(hora_latch_new(-1, NULL, &latch, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_latch_new(INT_MIN, NULL, &latch, NULL), HORA_EINVAL);
    CHECK_POINTER(latch, untouched);
    CHECK_OK(hora_latch_new(0, NULL, &latch, NULL));
    CHECK_INT(hora_latch_count(latch), 0);
    CHECK_OK(hora_latch_await(latch));
    CHECK_OK(hora_latch_free(latch));
}

/* The count can be read at any time, which stands in for the JDK's text form of a latch. */
TEST(latch_count_shows_what_is_left, "CountDownLatchTest.testGetCount CountDownLatchTest.testToString")
{
    struct fixture f;
    hora_latch *latch = open_latch(&f, 2);

    CHECK_INT(hora_latch_count(latch), 2);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_INT(hora_latch_count(latch), 1);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_INT(hora_latch_count(latch), 0);
    close_latch(&f, latch);
}

TEST(latch_count_never_falls_below_zero, "CountDownLatchTest.testCountDown")
{
    struct fixture f;
    hora_latch *latch = open_latch(&f, 1);

    CHECK_INT(hora_latch_count(latch), 1);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_latch_count_down(latch));
        CHECK_INT(hora_latch_count(latch), 0);
    }
    CHECK_OK(hora_latch_await(latch));
    close_latch(&f, latch);
}

TEST(latch_count_may_be_as_large_as_an_int, "")
{
    struct fixture f;
    hora_latch *latch = open_latch(&f, INT_MAX);

    CHECK_INT(hora_latch_count(latch), INT_MAX);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_INT(hora_latch_count(latch), INT_MAX - 1);
    close_latch(&f, latch);
}

TEST(latch_releases_when_the_count_is_zero, "CountDownLatchTest.testAwait")
{
    struct fixture f;
    struct call call;
    hora_latch *latch = open_latch(&f, 2);

    start_await(&call, &f, latch);
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_latch_count(latch), 2);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_latch_count(latch), 1);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_RETURNS(&call, 0);
    CHECK_INT(hora_latch_count(latch), 0);
    close_latch(&f, latch);
}

TEST(latch_releases_timed_waits_when_the_count_is_zero, "CountDownLatchTest.testTimedAwait")
{
    struct fixture f;
    struct call call;
    hora_latch *latch = open_latch(&f, 2);

    start_await_for(&call, &f, latch, A_LONG_WHILE);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_latch_count(latch), 1);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_RETURNS(&call, 0);
    CHECK_INT(hora_latch_count(latch), 0);
    close_latch(&f, latch);
}

TEST(latch_wait_is_interruptible, "CountDownLatchTest.testAwait_Interruptible")
{
    struct fixture f;
    struct call call;
    hora_latch *latch = open_latch(&f, 1);

    CHECK_INTERRUPTED(hora_latch_await(latch), NULL);
    start_await(&call, &f, latch);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_INT(hora_latch_count(latch), 1);
    close_latch(&f, latch);
}

/* Also when the timeout has expired: the interrupt has priority. */
TEST(latch_timed_wait_is_interruptible, "CountDownLatchTest.testTimedAwait_Interruptible")
{
    struct fixture f;
    struct call call;
    hora_latch *latch = open_latch(&f, 1);

    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_latch_await_for(latch, any_timeout[i]), NULL);
    start_await_for(&call, &f, latch, 2 * A_LONG_WHILE);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_INT(hora_latch_count(latch), 1);
    close_latch(&f, latch);
}

TEST(latch_timed_wait_times_out, "CountDownLatchTest.testAwaitTimeout")
{
    struct fixture f;
    struct call call;
    hora_latch *latch = open_latch(&f, 1);

    start_await_for(&call, &f, latch, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    CHECK_INT(hora_latch_count(latch), 1);
    close_latch(&f, latch);
}

TEST(latch_open_or_not_a_pending_interrupt_comes_first, "CP-CL1")
{
    struct fixture f;
    hora_latch *latch = open_latch(&f, 0);

    CHECK_INTERRUPTED(hora_latch_await(latch), NULL);
    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_latch_await_for(latch, any_timeout[i]), NULL);
    CHECK_OK(hora_latch_await(latch));
    close_latch(&f, latch);
}

/* With no time left the wait says at once how things stand. */
TEST(latch_wait_for_no_time_gives_the_verdict, "CP-CL1")
{
    struct fixture f;
    hora_latch *latch = open_latch(&f, 1);

    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_latch_await_for(latch, expired[i]), HORA_ETIMEDOUT);
    CHECK_OK(hora_latch_count_down(latch));
    for (int i = 0; i < 5; i++)
        CHECK_OK(hora_latch_await_for(latch, any_timeout[i]));
    close_latch(&f, latch);
}

/* All of them, timed or not; one that gave up before is not missed. */
TEST(latch_releases_all_waiters, "")
{
    struct fixture f;
    struct call calls[4];
    hora_latch *latch = open_latch(&f, 1);

    for (int i = 0; i < 4; i++) {
        if (i % 2)
            start_await_for(&calls[i], &f, latch, HORA_FOREVER);
        else
            start_await(&calls[i], &f, latch);
    }
    CHECK_INTERRUPTIBLE(&calls[1]);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_RETURNS(&calls[0], 0);
    CHECK_RETURNS(&calls[2], 0);
    CHECK_RETURNS(&calls[3], 0);
    close_latch(&f, latch);
}

/* However many there are. */
TEST(latch_releases_a_crowd, "")
{
    enum { CROWD = 40 };
    struct fixture f;
    struct call calls[CROWD];
    hora_latch *latch = open_latch(&f, 1);

    for (int i = 0; i < CROWD; i++)
        start_await(&calls[i], &f, latch);
    settle(&f);
    CHECK_OK(hora_latch_count_down(latch));
    for (int i = 0; i < CROWD; i++)
        CHECK_RETURNS(&calls[i], 0);
    close_latch(&f, latch);
}

TEST(latch_wait_forever_never_times_out, "")
{
    struct fixture f;
    struct call call;
    hora_latch *latch = open_latch(&f, 1);

    start_await_for(&call, &f, latch, HORA_FOREVER);
    CHECK_BLOCKED(&call);
    advance(&f, HORA_FOREVER);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_RETURNS(&call, 0);
    close_latch(&f, latch);
}

/* The last count-down and the end of the time coincide: the waiter may report either, but not hang. */
TEST(latch_opening_as_the_time_ends_gives_one_of_the_two, "")
{
    struct fixture f;
    struct call call;
    hora_latch *latch = open_latch(&f, 1);
    int result;

    start_await_for(&call, &f, latch, A_WHILE);
    CHECK_BLOCKED(&call);
    advance(&f, A_WHILE);
    CHECK_OK(hora_latch_count_down(latch));
    result = RESULT_OF(&call);
    CHECK(result == 0 || result == HORA_ETIMEDOUT);
    close_latch(&f, latch);
}

TEST(latch_with_waiters_cannot_be_freed, "")
{
    struct fixture f;
    struct call call;
    hora_latch *latch = open_latch(&f, 1);

    start_await(&call, &f, latch);
    CHECK_BLOCKED(&call);
    CHECK_ERROR(hora_latch_free(latch), HORA_EBUSY);
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_latch_count(latch), 1);
    CHECK_OK(hora_latch_count_down(latch));
    CHECK_RETURNS(&call, 0);
    close_latch(&f, latch);
}

static void count_down(void *latch)
{
    CHECK_OK(hora_latch_count_down(latch));
}

/* The last one to count down may still be inside its call. */
TEST(latch_can_be_freed_as_soon_as_the_wait_returned, "")
{
    hora_latch *latch;
    test_thread *threads[2];

    CHECK_OK(hora_latch_new(2, NULL, &latch, NULL));
    for (int i = 0; i < 2; i++)
        threads[i] = test_thread_start(NULL, count_down, latch);
    CHECK_OK(hora_latch_await(latch));
    CHECK_OK(hora_latch_free(latch));
    for (int i = 0; i < 2; i++)
        test_thread_join(threads[i]);
}

static hora_latch *published_latch;
static int published;

static void publish(void *arg)
{
    (void)arg;
    published = 42;
    CHECK_OK(hora_latch_count_down(published_latch));
}

/* Actions before count_down are visible after the wait; otherwise ThreadSanitizer would report a race. */
TEST(latch_publishes_what_was_done_before, "")
{
    test_thread *thread;

    published = 0;
    CHECK_OK(hora_latch_new(1, NULL, &published_latch, NULL));
    thread = test_thread_start(NULL, publish, NULL);
    CHECK_OK(hora_latch_await(published_latch));
    CHECK_INT(published, 42);
    test_thread_join(thread);
    CHECK_OK(hora_latch_free(published_latch));
}
