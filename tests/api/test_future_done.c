/* SPDX-License-Identifier: Apache-2.0 */
/* test_future_done.c - notification that a future is done: callbacks, descriptor, text */
#include <string.h>

#include "pool_support.h"

/* ---- callbacks ---- */

/* Records the order in which its callbacks are called. */
struct notes {
    int order[8];
    int count;
};

struct note {
    struct notes *notes;
    int number;
};

static void take_note(hora_future *future, void *context)
{
    const struct note *note = context;

    CHECK(hora_future_is_done(future));
    note->notes->order[note->notes->count++] = note->number;
}

/* Callbacks that are registered too late are called at once. */
TEST(future_calls_back_in_the_order_of_registration, "CP-FT8")
{
    struct job job = A_JOB(NULL);
    struct notes notes = {.count = 0};
    struct note each[4];
    hora_future *future;

    CHECK_OK(hora_future_new(JOB(&job), &future));
    for (int i = 0; i < 4; i++) {
        each[i] = (struct note){&notes, i};
        if (i == 3) {
            CHECK_INT(notes.count, 0);
            CHECK_INT(hora_future_run(future), 1);
            CHECK_INT(notes.count, 3);
        }
        CHECK_OK(hora_future_on_done(future, take_note, &each[i], NULL));
    }
    CHECK_INT(notes.count, 4);
    for (int i = 0; i < 4; i++)
        CHECK_INT(notes.order[i], i);
    hora_future_unref(future);
}

TEST(future_needs_a_callback_to_call_back, "")
{
    hora_future *future;

    CHECK_OK(hora_future_new_promise(NULL, &future));
    CHECK_ERROR(hora_future_on_done(future, NULL, NULL, NULL), HORA_EINVAL);
    hora_future_unref(future);
}

/* With each outcome, once. */
TEST(future_calls_back_once_whatever_the_outcome, "CP-FT8")
{
    for (int way = 0; way < 4; way++) {
        struct job job = {.code = way == 1 ? 6 : 0};
        hora_future *future;

        CHECK_OK(hora_future_new(JOB(&job), &future));
        CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
        if (way < 2)
            CHECK_INT(hora_future_run(future), 1);
        else if (way == 2)
            CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_REMOVED);
        else
            CHECK_INT(hora_future_fail(future, HORA_EREJECTED), 1);
        (void)hora_future_cancel(future, false);
        (void)hora_future_run(future);
        CHECK_INT(job.dones, 1);
        hora_future_unref(future);
        CHECK_INT(job.dones, 1);
    }
}

TEST(future_that_is_never_done_never_calls_back, "")
{
    struct job job = A_JOB(NULL);
    hora_future *future;

    CHECK_OK(hora_future_new(JOB(&job), &future));
    CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
    hora_future_unref(future);
    CHECK_INT(job.dones, 0);
    CHECK_JOB(&job, 0);
}

/* A callback that calls everything that it may: all of hora. */
struct reentry {
    struct rig *rig;
    struct job *next;
    hora_future *next_future;
    struct job *later;
    int calls;
};

static void call_everything(hora_future *future, void *context)
{
    struct reentry *reentry = context;
    void *result = NULL;

    CHECK_OK(hora_future_get(future, &result));
    CHECK_OK(hora_future_on_done(future, job_done, reentry->later, NULL));
    CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_TOO_LATE);
    CHECK_INT(hora_future_run(future), 0);
    CHECK_OK(hora_future_take_result(future, &result));
    job_drop_result(result);
    CHECK_OK(hora_pool_submit(reentry->rig->pool, JOB(reentry->next), &reentry->next_future));
    CHECK_INT(hora_pool_remove(reentry->rig->pool, future), 0);
    CHECK(hora_pool_purge(reentry->rig->pool) >= 0);
    reentry->calls++;
}

TEST(future_callback_may_call_everything, "")
{
    struct rig r;
    struct job job = A_WAITING_JOB(&r), next = A_JOB(&r), later = A_JOB(&r);
    struct reentry reentry = {.rig = &r, .next = &next, .later = &later};
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    future = submit_job(&r, &job);
    CHECK_OK(hora_future_on_done(future, call_everything, &reentry, NULL));
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(reentry.calls, 1);
    CHECK_INT(later.dones, 1);
    CHECK_OK(hora_future_get(reentry.next_future, NULL));
    CHECK_INT(job.result_drops, 1);
    hora_future_unref(reentry.next_future);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_INT(job.result_drops, 1);
}

static void give_back(hora_future *future, void *context)
{
    atomic_fetch_add(&((struct job *)context)->dones, 1);
    hora_future_unref(future);
}

/* The callback gives back the last reference of the caller. */
TEST(future_may_lose_its_last_reference_in_its_callback, "")
{
    struct rig r;
    struct job job = A_WAITING_JOB(&r), other = A_JOB(&r);
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    future = submit_job(&r, &job);
    CHECK_OK(hora_future_on_done(future, give_back, &job, NULL));
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(job.dones, 1);
    CHECK_JOB(&job, 1);
    CHECK_OK(hora_future_new(JOB(&other), &future));
    CHECK_OK(hora_future_on_done(future, give_back, &other, NULL));
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    CHECK_JOB(&other, 0);
    rig_close(&r);
}

/* The callback is called by the thread that completes the future: here the cancelling one, while the body
 * still runs. */
static void note_pool(hora_future *future, void *context)
{
    (void)future;
    *(hora_pool **)context = hora_pool_current();
}

TEST(future_calls_back_on_the_thread_that_ends_it, "CP-FT7")
{
    struct rig r;
    struct job jobs[2] = {A_WAITING_JOB(&r), A_WAITING_JOB(&r)};
    hora_future *futures[2];
    hora_pool *where[2] = {(hora_pool *)untouched, (hora_pool *)untouched};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2));
    for (int i = 0; i < 2; i++) {
        futures[i] = submit_job(&r, &jobs[i]);
        CHECK_OK(hora_future_on_done(futures[i], note_pool, &where[i], NULL));
    }
    settle(&r.f);
    CHECK_INT(hora_future_cancel(futures[0], false), HORA_CANCEL_RUNNING);
    CHECK_POINTER(where[0], NULL);
    CHECK_POINTER(where[1], untouched);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_POINTER(where[1], r.pool);
    for (int i = 0; i < 2; i++)
        hora_future_unref(futures[i]);
    rig_close(&r);
}

static void complete_it(void *future)
{
    CHECK_INT(hora_future_complete(future, NULL), 1);
}

/* Registering and completing at the same time: it is called once all the same. */
TEST(future_callback_is_not_lost_when_both_come_together, "")
{
    struct job job = A_JOB(NULL);
    hora_future *promise;
    test_thread *thread;

    CHECK_OK(hora_future_new_promise(NULL, &promise));
    thread = test_thread_start(NULL, complete_it, promise);
    CHECK_OK(hora_future_on_done(promise, job_done, &job, NULL));
    test_thread_join(thread);
    CHECK_INT(job.dones, 1);
    hora_future_unref(promise);
}

/* ---- descriptor ---- */

TEST_REAL(future_descriptor_is_readable_once_it_is_done, "")
{
    struct rig r;
    struct job job = A_WAITING_JOB(&r);
    hora_future *future;
    int fd;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    future = submit_job(&r, &job);
    fd = hora_future_fd(future);
    CHECK(fd >= 0);
    CHECK(!is_readable(fd));
    CHECK_INT(hora_future_fd(future), fd);
    rig_open_gate(&r);
    CHECK_OK(hora_future_get(future, NULL));
    CHECK(is_readable(fd));
    CHECK(is_readable(fd)); /* and stays so */
    hora_future_unref(future);
    rig_close(&r);
}

TEST_REAL(future_descriptor_made_late_is_readable_at_once, "")
{
    hora_future *futures[2];

    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_future_new_promise(NULL, &futures[i]));
    CHECK_INT(hora_future_complete(futures[0], NULL), 1);
    CHECK_INT(hora_future_cancel(futures[1], false), HORA_CANCEL_REMOVED);
    for (int i = 0; i < 2; i++) {
        CHECK(is_readable(hora_future_fd(futures[i])));
        hora_future_unref(futures[i]);
    }
}

TEST_REAL(pool_descriptor_is_readable_while_it_is_idle, "")
{
    struct rig r;
    struct job jobs[2];
    int fd;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    fd = hora_pool_idle_fd(r.pool);
    CHECK(fd >= 0);
    CHECK(is_readable(fd));
    CHECK_INT(hora_pool_idle_fd(r.pool), fd);
    execute_jobs(&r, jobs, 2);
    CHECK(!is_readable(fd));
    settle(&r.f);
    CHECK(!is_readable(fd));
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_idle_for(r.pool, HORA_FOREVER));
    CHECK(is_readable(fd));
    rig_close(&r);
}

TEST_REAL(pool_descriptor_made_while_busy_is_not_readable, "")
{
    struct rig r;
    struct job job;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_jobs(&r, &job, 1);
    CHECK(!is_readable(hora_pool_idle_fd(r.pool)));
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_idle_for(r.pool, HORA_FOREVER));
    CHECK(is_readable(hora_pool_idle_fd(r.pool)));
    rig_close(&r);
}

/* ---- text ---- */

static void check_text(int line, hora_future *future, const char *words)
{
    char text[200], start[8];
    int length = hora_future_describe(future, text, sizeof(text));

    test_check_int(__FILE__, line, "length", length, (long long)strlen(text));
    if (strstr(text, words) == NULL || strstr(text, "job") == NULL || strstr(text, "pool_support") == NULL)
        test_fail(__FILE__, line, "the text is: %s", text);
    test_check_int(__FILE__, line, "length", hora_future_describe(future, start, sizeof(start)), length);
    test_check_int(__FILE__, line, "length of the start", (long long)strlen(start), sizeof(start) - 1);
    test_check_int(__FILE__, line, "length", hora_future_describe(future, NULL, 0), length);
    test_check_error(__FILE__, line, "no room", hora_future_describe(future, NULL, 1), HORA_EINVAL);
}

TEST(future_describes_its_state, "FutureTaskTest.testToString_incomplete FutureTaskTest.testToString_normal "
                                 "FutureTaskTest.testToString_exception "
                                 "FutureTaskTest.testToString_cancelled")
{
    struct rig r;
    struct job jobs[4] = {A_JOB(&r), {.rig = &r, .code = 4711}, A_JOB(&r), A_JOB(&r)};
    hora_future *futures[4];

    rig_open_occupied(&r);
    for (int i = 0; i < 4; i++) {
        futures[i] = loose_future(&r, &jobs[i]);
        check_text(__LINE__, futures[i], "Not completed");
    }
    for (int i = 0; i < 2; i++)
        CHECK_INT(hora_future_run(futures[i]), 1);
    check_text(__LINE__, futures[0], "Completed normally");
    check_text(__LINE__, futures[1], "Completed exceptionally: 4711");
    for (int i = 2; i < 4; i++) {
        CHECK_INT(hora_future_cancel(futures[i], i == 2), HORA_CANCEL_REMOVED);
        check_text(__LINE__, futures[i], "Cancelled");
    }
    for (int i = 0; i < 4; i++)
        hora_future_unref(futures[i]);
    rig_close(&r);
}

TEST(future_describes_why_it_was_dropped, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;

    rig_open_occupied(&r);
    future = submit_job(&r, &job);
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    check_text(__LINE__, future, "Completed exceptionally");
    check_text(__LINE__, future, hora_strerror(HORA_EABANDONED));
    hora_future_unref(future);
    rig_close(&r);
}
