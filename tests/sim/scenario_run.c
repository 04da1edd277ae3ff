/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_run.c - a run of the virtual clock: all moments in order, none skipped */
#include "harness.h"

enum { MOST = 8 };

static hora_virtual_clock *vclock;
static hora_queue *queue;

static const hora_clock *view(void)
{
    return hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC);
}

/* A thread that sleeps `steps` times and notes the time after each; then, or when interrupted, it ends. */
static struct sleeper {
    hora_ns period;
    int steps;
    int done;
    hora_ns seen[MOST];
} sleepers[2];

static void sleep_and_note(void *arg)
{
    struct sleeper *sleeper = arg;
    while (sleeper->done < sleeper->steps) {
        int error = hora_clock_sleep(view(), sleeper->period);
        if (error == HORA_EINTERRUPTED)
            return;
        CHECK_OK(error);
        sleeper->seen[sleeper->done] = hora_clock_now(view());
        sleeper->done++;
    }
}

static test_thread *start_sleeper(int i, hora_ns period, int steps)
{
    sleepers[i] = (struct sleeper){.period = period, .steps = steps};
    return test_thread_start(vclock, sleep_and_note, &sleepers[i]);
}

static void check_sleeper(int i, int done)
{
    CHECK_INT(sleepers[i].done, done);
    for (int k = 0; k < done; k++)
        CHECK_INT(sleepers[i].seen[k], (k + 1) * sleepers[i].period);
}

/* Two sleepers, apart and together; the end is a moment of both. */
SCENARIO(run_goes_from_moment_to_moment)
{
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *threads[] = {start_sleeper(0, 10, 2), start_sleeper(1, 20, 1)};
    CHECK_OK(hora_virtual_clock_run(vclock, 20));
    CHECK_INT(hora_clock_now(view()), 20);
    check_sleeper(0, 2);
    check_sleeper(1, 1);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

/* Two threads are due at the same moment. The one that continues to its next moment does not get there before
 * the other has been woken, too. */
SCENARIO(run_does_not_outrun_the_second_sleeper)
{
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *threads[] = {start_sleeper(0, 10, 2), start_sleeper(1, 10, 2)};
    CHECK_OK(hora_virtual_clock_run(vclock, 15));
    CHECK_INT(hora_clock_now(view()), 15);
    check_sleeper(0, 1);
    check_sleeper(1, 1);
    CHECK_OK(hora_virtual_clock_run(vclock, 100));
    check_sleeper(0, 2);
    check_sleeper(1, 2);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

static void run_once(void *arg)
{
    int *error = arg;
    *error = hora_virtual_clock_run(vclock, 30);
    CHECK(*error == 0 || *error == HORA_EINTERRUPTED);
    if (*error == 0)
        CHECK_ERROR(hora_sleep(HORA_FOREVER), HORA_EINTERRUPTED);
    CHECK(!hora_interrupted());
}

/* An interrupt stops the clock where it is, at a moment of the run; from then on it stands. */
SCENARIO(run_can_be_interrupted)
{
    int error = 1;
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *sleeper = start_sleeper(0, 10, 2);
    test_thread *runner = test_thread_start(NULL, run_once, &error);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(runner)));
    test_thread_join(runner);
    hora_ns now = hora_clock_now(view());
    CHECK(error == 0 ? now == 30 : now == 0 || now == 10 || now == 20);
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK_INT(hora_clock_now(view()), now);
    check_sleeper(0, now / 10 < 2 ? (int)(now / 10) : 2);
    CHECK_OK(hora_virtual_clock_run(vclock, 30));
    check_sleeper(0, 2);
    test_thread_join(sleeper);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

static void take_and_note(void *arg)
{
    struct sleeper *taker = arg;
    void *item;
    while (hora_queue_take(queue, &item) == 0)
        taker->seen[taker->done++] = hora_clock_now(view());
}

static void sleep_and_put(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_clock_sleep(view(), 10));
        CHECK_OK(hora_queue_put(queue, &queue));
    }
}

/* What a moment sets in motion belongs to it: the taker, too, sees each at its time. */
SCENARIO(run_waits_for_consequences)
{
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    sleepers[0] = (struct sleeper){.period = 10};
    test_thread *taker = test_thread_start(vclock, take_and_note, &sleepers[0]);
    test_thread *putter = test_thread_start(vclock, sleep_and_put, NULL);
    CHECK_OK(hora_virtual_clock_run(vclock, 20));
    check_sleeper(0, 2);
    CHECK_OK(hora_queue_close(queue));
    test_thread_join(taker);
    test_thread_join(putter);
    CHECK_OK(hora_queue_free(queue));
    CHECK_OK(hora_virtual_clock_free(vclock));
}

static void advance(void *arg)
{
    (void)arg;
    CHECK_OK(hora_virtual_clock_advance(vclock, 5));
}

static void settle(void *arg)
{
    (void)arg;
    CHECK_OK(hora_virtual_clock_settle(vclock));
}

/* Other threads may move the clock or settle during the run: the end of the run stays the same, no thread is
 * woken early, and none waits for ever. */
SCENARIO(run_meets_advance)
{
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *sleeper = start_sleeper(0, 10, 1);
    test_thread *other = test_thread_start(NULL, advance, NULL);
    CHECK_OK(hora_virtual_clock_run(vclock, 20));
    hora_ns now = hora_clock_now(view());
    CHECK(now >= 20 && now <= 25);
    test_thread_join(other);
    CHECK(hora_clock_now(view()) == 20 || hora_clock_now(view()) == 25);
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK_INT(sleepers[0].done, 1);
    CHECK(sleepers[0].seen[0] >= 10 && sleepers[0].seen[0] <= 20);
    test_thread_join(sleeper);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

SCENARIO(run_meets_settle)
{
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *sleeper = start_sleeper(0, 10, 2);
    test_thread *other = test_thread_start(vclock, settle, NULL);
    CHECK_OK(hora_virtual_clock_run(vclock, 20));
    check_sleeper(0, 2);
    test_thread_join(sleeper);
    test_thread_join(other);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

static void run_if_free(void *arg)
{
    int *error = arg;
    *error = hora_virtual_clock_run(vclock, 30);
}

/* Only one at a time. */
SCENARIO(run_meets_run)
{
    int error = 1;
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *sleeper = start_sleeper(0, 10, 1);
    test_thread *runner = test_thread_start(NULL, run_if_free, &error);
    int own = hora_virtual_clock_run(vclock, 30);
    test_thread_join(runner);
    CHECK(own == 0 || own == HORA_EBUSY);
    CHECK(error == 0 || error == HORA_EBUSY);
    CHECK(own == 0 || error == 0);
    CHECK_INT(hora_clock_now(view()), own == error ? 60 : 30);
    check_sleeper(0, 1);
    test_thread_join(sleeper);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

/* However many threads or however much memory there is. */
SWEEP(run_survives)
{
    if (hora_virtual_clock_new(NULL, &vclock, NULL) < 0)
        return;
    test_thread *thread = start_sleeper(0, 10, 2);
    int error = hora_virtual_clock_run(vclock, 20);
    CHECK(error == 0 || error == HORA_ENOMEM);
    if (error == 0 && thread != NULL)
        check_sleeper(0, 2);
    else if (thread != NULL)
        CHECK_OK(hora_thread_interrupt(test_thread_handle(thread)));
    test_thread_join(thread);
    CHECK_OK(hora_virtual_clock_free(vclock));
}
