/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer_stop.c - stopping a timer: it is cancelled, its function has ended, and its owner may free it */
#include <pthread.h>
#include <stdlib.h>

#include "scheduler_support.h"

/* A timer whose function can wait at the gate of the rig, and call for itself. */
struct owner {
    hora_timer timer;
    struct rig *rig;
    bool waits;
    void (*acts)(struct owner *owner); /* after that; NULL: it does nothing */
    hora_scheduler *other;
    int answer; /* of what it did */
    atomic_int begun;
    atomic_int ended;
};

static int function(void *arg)
{
    struct owner *owner = arg;
    atomic_fetch_add(&owner->begun, 1);
    while (owner->waits && hora_latch_await(owner->rig->gate) == HORA_EINTERRUPTED) {
    }
    if (owner->acts != NULL)
        owner->acts(owner);
    atomic_fetch_add(&owner->ended, 1);
    return 0;
}

static void open_owner(struct rig *r, struct owner *owner, int threads)
{
    scheduler_open(r, false, HORA_SCHEDULER_OPTIONS(.core_threads = threads));
    *owner = (struct owner){.rig = r};
    CHECK_OK(hora_timer_init(&owner->timer, function, owner));
}

static int run_stop(struct call *call)
{
    return hora_timer_stop(call->object);
}

static void start_stop(struct call *call, struct owner *owner)
{
    *call = (struct call){.run = run_stop, .object = &owner->timer};
    start_call(call, &owner->rig->f);
}

/* ---- results ---- */

TEST(timer_stop_says_what_it_found, "")
{
    struct rig r;
    struct owner owner;

    open_owner(&r, &owner, 1);
    CHECK_ERROR(hora_timer_stop(NULL), HORA_EINVAL);
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_TOO_LATE); /* never started */
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE));
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_REMOVED); /* posted */
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE));
    CHECK_INT(rig_stats(&r).queued, 1);
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_REMOVED); /* in the heap */
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_TOO_LATE);
    CHECK_INT(owner.begun, 0);
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE));
    pass(&r, A_WHILE);
    CHECK_INT(owner.ended, 1);
    CHECK_INT(hora_timer_cancel(&owner.timer), HORA_CANCEL_TOO_LATE); /* has run */
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_TOO_LATE);
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE)); /* as often as wanted */
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_REMOVED);
    CHECK_INT(rig_stats(&r).cancelled, 3);
    rig_close(&r);
}

TEST(timer_stop_waits_for_the_function, "")
{
    struct rig r;
    struct owner owner;
    struct call call;

    open_owner(&r, &owner, 1);
    owner.waits = true;
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    CHECK_INT(owner.begun, 1);
    CHECK_INT(hora_timer_cancel(&owner.timer), HORA_CANCEL_RUNNING);
    start_stop(&call, &owner);
    CHECK_BLOCKED(&call);
    rig_open_gate(&r);
    CHECK_RETURNS(&call, HORA_CANCEL_RUNNING);
    CHECK_INT(owner.ended, 1);
    rig_close(&r);
}

/* Pending and running at once: the one is cancelled, the other waited for. */
TEST(timer_stop_of_one_that_runs_and_is_pending, "")
{
    for (int later = 0; later < 2; later++) {
        struct rig r;
        struct owner owner;
        struct call call;

        open_owner(&r, &owner, 2);
        owner.waits = true;
        CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
        settle(&r.f);
        CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE));
        if (later) {
            pass(&r, A_WHILE); /* two workers run it */
            CHECK_INT(owner.begun, 2);
        }
        start_stop(&call, &owner);
        CHECK_BLOCKED(&call);
        CHECK(!hora_timer_is_pending(&owner.timer));
        rig_open_gate(&r);
        CHECK_RETURNS(&call, HORA_CANCEL_RUNNING);
        CHECK_INT(owner.ended, later ? 2 : 1);
        pass(&r, 2 * A_WHILE);
        CHECK_INT(owner.begun, later ? 2 : 1);
        CHECK_INT(rig_stats(&r).cancelled, later ? 0 : 1);
        rig_close(&r);
    }
}

TEST(timer_is_stopped_by_two_threads, "")
{
    struct rig r;
    struct owner owner;
    struct call calls[2];

    open_owner(&r, &owner, 1);
    owner.waits = true;
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    for (int i = 0; i < 2; i++)
        start_stop(&calls[i], &owner);
    CHECK_BLOCKED(&calls[0]);
    CHECK_BLOCKED(&calls[1]);
    rig_open_gate(&r);
    for (int i = 0; i < 2; i++)
        CHECK_RETURNS(&calls[i], HORA_CANCEL_RUNNING);
    rig_close(&r);
}

TEST(timer_stop_is_not_interrupted, "")
{
    struct rig r;
    struct owner owner;
    struct call call;

    open_owner(&r, &owner, 1);
    owner.waits = true;
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    start_stop(&call, &owner);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(call.thread)));
    CHECK_BLOCKED(&call);
    rig_open_gate(&r);
    CHECK_INT(RESULT_OF(&call), HORA_CANCEL_RUNNING);
    CHECK(call.interrupted);
    rig_close(&r);
}

/* ---- in the function ---- */

static void stop_self(struct owner *owner)
{
    owner->answer = hora_timer_stop(&owner->timer);
}

static void start_and_stop_self(struct owner *owner)
{
    CHECK_INT(hora_timer_start(&owner->timer, owner->rig->pool, 0), 0);
    owner->answer = hora_timer_stop(&owner->timer);
    CHECK(!hora_timer_is_pending(&owner->timer));
}

TEST(timer_may_stop_itself, "")
{
    for (int starts = 0; starts < 2; starts++) {
        struct rig r;
        struct owner owner;

        open_owner(&r, &owner, 1);
        owner.acts = starts ? start_and_stop_self : stop_self;
        CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
        pass(&r, A_WHILE);
        CHECK_INT(owner.answer, HORA_CANCEL_RUNNING);
        CHECK_INT(owner.begun, 1);
        CHECK_INT(rig_stats(&r).cancelled, starts);
        rig_close(&r);
    }
}

static void start_self(struct owner *owner)
{
    owner->answer = hora_timer_start(&owner->timer, owner->rig->pool, 0);
}

/* The stop was there first: the function cannot start its timer. */
TEST(timer_that_is_being_stopped_is_not_started, "")
{
    struct rig r;
    struct owner owner;
    struct call call;

    open_owner(&r, &owner, 2);
    owner.waits = true;
    owner.acts = start_self;
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    start_stop(&call, &owner);
    CHECK_BLOCKED(&call);
    rig_open_gate(&r);
    CHECK_RETURNS(&call, HORA_CANCEL_RUNNING);
    CHECK_INT(owner.answer, HORA_EBUSY);
    CHECK(!hora_timer_is_pending(&owner.timer));
    pass(&r, A_WHILE);
    CHECK_INT(owner.begun, 1);
    owner.acts = NULL; /* afterwards it can be started again */
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    CHECK_INT(owner.begun, 2);
    rig_close(&r);
}

static int stop_in_task(void *arg, void **ret_result)
{
    struct owner *owner = arg;
    (void)ret_result;
    owner->answer = hora_timer_stop(&owner->timer);
    return 0;
}

static void wait_for_a_task(struct owner *owner)
{
    hora_future *future;
    CHECK_OK(hora_pool_submit(owner->rig->pool, HORA_TASK(stop_in_task, owner), &future));
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
}

/* The task runs on the thread of the function, which waits for it. */
TEST(timer_stop_within_the_function_it_would_wait_for, "")
{
    struct rig r;
    struct owner owner;

    open_owner(&r, &owner, 1);
    owner.acts = wait_for_a_task;
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    CHECK_INT(owner.ended, 1);
    CHECK_INT(owner.answer, HORA_EDEADLK);
    rig_close(&r);
}

static hora_timer *compared;
static int compare_answer;

static int compare(const void *a, const void *b, void *context)
{
    (void)context;
    compare_answer = hora_timer_stop(compared);
    return a < b ? -1 : a > b;
}

TEST(timer_stop_in_a_comparison, "")
{
    struct rig r;
    struct owner owner;
    hora_queue *queue;

    open_owner(&r, &owner, 1);
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE));
    compared = &owner.timer;
    CHECK_OK(hora_queue_new_priority(8, HORA_QUEUE_OPTIONS(.compare = compare), &queue, NULL));
    CHECK_OK(hora_queue_put(queue, &r));
    CHECK_OK(hora_queue_put(queue, &owner));
    CHECK_INT(compare_answer, HORA_EDEADLK);
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_REMOVED);
    CHECK_OK(hora_queue_free(queue));
    rig_close(&r);
}

static void end_thread(struct owner *owner)
{
    (void)owner;
    pthread_exit(NULL);
}

TEST_REAL(timer_stop_of_one_that_ends_its_thread, "")
{
    struct rig r;
    struct owner owner;
    struct call call;

    open_owner(&r, &owner, 1);
    owner.waits = true;
    owner.acts = end_thread;
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    start_stop(&call, &owner);
    CHECK_BLOCKED(&call);
    rig_open_gate(&r);
    CHECK_RETURNS(&call, HORA_CANCEL_RUNNING);
    CHECK_INT(hora_timer_cancel(&owner.timer), HORA_CANCEL_TOO_LATE);
    CHECK_INT(rig_stats(&r).abandoned, 1);
    rig_close(&r);
}

/* ---- other schedulers ---- */

static hora_scheduler *another(struct rig *r)
{
    hora_scheduler *scheduler = NULL;
    CHECK_OK(
        hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = r->f.view), &scheduler, NULL));
    return scheduler;
}

static void start_elsewhere(struct owner *owner)
{
    owner->answer = hora_timer_start(&owner->timer, owner->other, 0);
}

TEST(timer_that_runs_does_not_go_to_another_scheduler, "")
{
    struct rig r;
    struct owner owner;

    open_owner(&r, &owner, 1);
    owner.waits = true;
    owner.other = another(&r);
    owner.acts = start_elsewhere;
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    CHECK_ERROR(hora_timer_start(&owner.timer, owner.other, 0), HORA_EBUSY);
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE));
    CHECK_ERROR(hora_timer_start(&owner.timer, owner.other, 0), HORA_EBUSY);
    CHECK(hora_timer_is_pending(&owner.timer));
    CHECK_INT(hora_timer_cancel(&owner.timer), HORA_CANCEL_REMOVED);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(owner.answer, HORA_EBUSY);
    owner.acts = NULL;
    CHECK_OK(hora_timer_start(&owner.timer, owner.other, 0)); /* now it is over */
    settle(&r.f);
    CHECK_INT(owner.ended, 2);
    CHECK_OK(hora_pool_free(owner.other));
    rig_close(&r);
}

/* The timer remembers a scheduler that has been freed, and does not access it. */
TEST(timer_outlives_its_scheduler, "")
{
    struct rig r;
    struct owner owner;

    open_owner(&r, &owner, 1);
    hora_scheduler *first = another(&r);
    CHECK_OK(hora_timer_start(&owner.timer, first, 0));
    settle(&r.f);
    CHECK_INT(owner.ended, 1);
    CHECK_OK(hora_pool_free(first));
    CHECK_INT(hora_timer_cancel(&owner.timer), HORA_CANCEL_TOO_LATE);
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_TOO_LATE);
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    CHECK_INT(owner.ended, 2);
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_TOO_LATE);
    rig_close(&r);
}

static int no_threads(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    (void)run;
    (void)arg;
    (void)name;
    (void)context;
    return HORA_EAGAIN;
}

/* What cannot be moved stays where it is. */
TEST(timer_that_is_refused_elsewhere_stays, "")
{
    struct rig r;
    struct owner owner;
    hora_scheduler *empty;

    open_owner(&r, &owner, 1);
    hora_scheduler *closed = another(&r);
    CHECK_OK(hora_pool_shutdown(closed));
    CHECK_OK(hora_scheduler_new(
        HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = r.f.view, .thread_factory = no_threads), &empty,
        NULL));
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE));
    CHECK_ERROR(hora_timer_start(&owner.timer, closed, 0), HORA_EREJECTED);
    CHECK_ERROR(hora_timer_start(&owner.timer, empty, 0), HORA_EAGAIN);
    CHECK(hora_timer_is_pending(&owner.timer));
    pass(&r, A_WHILE - 1);
    CHECK_INT(owner.begun, 0);
    pass(&r, 1);
    CHECK_INT(owner.begun, 1);
    CHECK_OK(hora_pool_free(closed));
    CHECK_OK(hora_pool_free(empty));
    rig_close(&r);
}

/* ---- the end of the scheduler ---- */

TEST(timer_stop_meets_the_end_of_its_scheduler, "")
{
    struct rig r;
    struct owner owner;
    struct call stop;

    open_owner(&r, &owner, 1);
    owner.waits = true;
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, 0));
    settle(&r.f);
    CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE));
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK(!hora_timer_is_pending(&owner.timer));
    CHECK_INT(hora_timer_cancel(&owner.timer), HORA_CANCEL_RUNNING);
    start_stop(&stop, &owner);
    CHECK_BLOCKED(&stop);
    CHECK_OK(hora_latch_count_down(r.gate));
    CHECK_RETURNS(&stop, HORA_CANCEL_RUNNING);
    CHECK_OK(hora_pool_free(r.pool));
    r.pool = NULL;
    CHECK_INT(hora_timer_stop(&owner.timer), HORA_CANCEL_TOO_LATE);
    rig_close(&r);
}

TEST(timer_stop_after_shutdown, "")
{
    for (int cancels = 0; cancels < 2; cancels++) {
        struct rig r;
        struct owner owner;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = cancels != 0));
        owner = (struct owner){.rig = &r};
        CHECK_OK(hora_timer_init(&owner.timer, function, &owner));
        CHECK_OK(hora_timer_start(&owner.timer, r.pool, A_WHILE));
        CHECK_OK(hora_pool_shutdown(r.pool));
        CHECK_INT(hora_timer_stop(&owner.timer), cancels ? HORA_CANCEL_TOO_LATE : HORA_CANCEL_REMOVED);
        settle(&r.f);
        CHECK(hora_pool_is_terminated(r.pool));
        CHECK_INT(owner.begun, 0);
        rig_close(&r);
    }
}

/* ---- owners that go at once ---- */

enum { THREADS = 4, OWNERS = 3000 };

struct fleeting {
    hora_timer timer;
    hora_scheduler *scheduler;
    atomic_int *secret; /* freed with it */
    bool restarts;
};

static int touch(void *arg)
{
    struct fleeting *fleeting = arg;
    ++*fleeting->secret;
    if (fleeting->restarts) {
        int outcome = hora_timer_start(&fleeting->timer, fleeting->scheduler, 0);
        CHECK(outcome == 0 || outcome == HORA_EBUSY);
    }
    ++*fleeting->secret;
    return 0;
}

static void make_and_free(void *arg)
{
    for (int i = 0; i < OWNERS; i++) {
        struct fleeting *fleeting = malloc(sizeof *fleeting);
        *fleeting = (struct fleeting){
            .scheduler = arg, .secret = calloc(1, sizeof(atomic_int)), .restarts = i % 3 == 0};
        CHECK_OK(hora_timer_init(&fleeting->timer, touch, fleeting));
        CHECK_OK(hora_timer_start(&fleeting->timer, arg, HORA_US(i % 7 == 0 ? 0 : i % 40)));
        for (int spin = 0; spin < i % 5; spin++)
            CHECK(hora_timer_cancel(NULL) < 0);
        CHECK(hora_timer_stop(&fleeting->timer) >= 0);
        CHECK_INT(*fleeting->secret % 2, 0); /* no function is half through */
        free(fleeting->secret);
        free(fleeting);
    }
}

/* In real time: the sanitizers detect a worker that uses the memory too late. */
TEST_REAL(timer_owners_are_freed_right_after_stop, "")
{
    for (int shown = 0; shown < 2; shown++) {
        test_thread *threads[THREADS];
        hora_scheduler *scheduler;

        CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 3,
                                                           .metrics = shown ? HORA_METRICS() : NULL,
                                                           .admission = shown ? HORA_ADMISSION() : NULL),
                                    &scheduler, NULL));
        for (int i = 0; i < THREADS; i++)
            threads[i] = test_thread_start(NULL, make_and_free, scheduler);
        for (int i = 0; i < THREADS; i++)
            test_thread_join(threads[i]);
        CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
        CHECK_OK(hora_pool_free(scheduler));
    }
}
