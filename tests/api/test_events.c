/* SPDX-License-Identifier: Apache-2.0 */
/* test_events.c - listeners of plain pools: which events, in which order, and exactly once */
#include <pthread.h>
#include <string.h>

#include "events_support.h"
#include "pool_support.h"

enum { CODE = 7 };

static void open_told(struct rig *r, struct diary *diary, hora_pool_options options)
{
    memset(diary, 0, sizeof(*diary));
    hora_listener listener = diary_listener(diary);
    options.listener = &listener;
    rig_open(r, false, &options);
}

#define OPEN_TOLD(r, diary, ...) open_told((r), (diary), *HORA_POOL_OPTIONS(__VA_ARGS__))

/* ---- runs ---- */

TEST(events_tell_the_beginning_and_the_end_of_each_run, "")
{
    struct rig r;
    struct diary diary;
    struct job good = A_JOB(&r), bad = {.rig = &r, .code = CODE};

    OPEN_TOLD(&r, &diary, .core_threads = 1);
    hora_future *future = submit_job(&r, &good);
    settle(&r.f);
    CHECK_DIARY(&diary, "SD");
    for (int i = 0; i < 2; i++) {
        const struct note *note = &diary.notes[i];
        CHECK_POINTER(note->event.future, future);
        CHECK(strcmp(note->name, "job") == 0);
        CHECK_INT(note->event.worker, 1);
        CHECK_INT(note->event.code, 0);
        CHECK(!note->future_done); /* those who wait for it go on after the listener */
        CHECK_POINTER(note->inside, r.pool);
    }
    execute_job(&r, &bad); /* has a future, too, since it is shown */
    settle(&r.f);
    CHECK_DIARY(&diary, "SDSF");
    CHECK(diary.notes[2].event.future != NULL);
    CHECK_INT(diary.notes[3].event.code, CODE);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_DIARY(&diary, "SDSF");
}

TEST(events_tell_how_long_a_run_took, "")
{
    struct rig r;
    struct diary diary;
    struct job job = A_WAITING_JOB(&r);

    OPEN_TOLD(&r, &diary, .core_threads = 1);
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_DIARY(&diary, "S");
    advance(&r.f, A_WHILE);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_DIARY(&diary, "SD");
    CHECK_INT(diary.notes[1].event.ran, A_WHILE);
    rig_close(&r);
}

/* The event of the end has the result of the body; the callers that have the future see that it was
 * cancelled. */
TEST(events_tell_the_end_of_a_run_that_was_cancelled, "")
{
    for (int code = 0; code < 2; code++) {
        struct rig r;
        struct diary diary;
        struct job job = {.rig = &r, .waits = true, .deaf = true, .code = code}, queued = A_JOB(&r);

        OPEN_TOLD(&r, &diary, .core_threads = 1);
        hora_future *future = submit_job(&r, &job), *other = submit_job(&r, &queued);
        settle(&r.f);
        CHECK_INT(hora_future_cancel(other, false), HORA_CANCEL_REMOVED); /* never begins: nothing is told */
        CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_RUNNING);
        CHECK_DIARY(&diary, "S");
        rig_open_gate(&r);
        settle(&r.f);
        CHECK_DIARY(&diary, code == 0 ? "SD" : "SF");
        CHECK(diary.notes[1].future_done);
        hora_future_unref(future);
        hora_future_unref(other);
        rig_close(&r);
    }
}

static int end_thread(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    pthread_exit(NULL);
}

TEST_REAL(events_tell_of_a_task_that_ends_its_thread, "")
{
    for (int executed = 0; executed < 2; executed++) {
        struct rig r;
        struct diary diary;
        hora_future *future = NULL;

        OPEN_TOLD(&r, &diary, .core_threads = 1);
        if (executed)
            CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(end_thread, NULL)));
        else
            CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(end_thread, NULL), &future));
        settle(&r.f);
        CHECK_DIARY(&diary, "SF");
        CHECK_INT(diary.notes[1].event.code, HORA_EABANDONED);
        hora_future_unref(future);
        rig_close(&r);
    }
}

static atomic_int hook_ends; /* whose hook ends the thread: 1 before, 2 after */

static int exit_before(hora_pool *pool, const hora_run_info *run, void *context)
{
    (void)pool;
    (void)run;
    (void)context;
    if (atomic_load(&hook_ends) == 1)
        pthread_exit(NULL);
    return 0;
}

static void exit_after(hora_pool *pool, const hora_run_info *run, void *context)
{
    (void)pool;
    (void)context;
    if (run->code == 0 && atomic_load(&hook_ends) == 2)
        pthread_exit(NULL);
}

/* A run that has not begun does not end, and a run that has ended does not end again. */
TEST_REAL(events_do_not_tell_of_a_hook_that_ends_the_thread, "")
{
    for (int which = 1; which <= 2; which++) {
        struct rig r;
        struct diary diary;
        struct job job = A_JOB(&r), last = A_JOB(&r);

        OPEN_TOLD(&r, &diary, .core_threads = 1, .before = exit_before, .after = exit_after);
        hook_ends = which;
        hora_future *future = submit_job(&r, &job);
        settle(&r.f);
        CHECK_DIARY(&diary, which == 1 ? "" : "SD");
        hook_ends = 0;
        execute_job(&r, &last);
        settle(&r.f);
        CHECK_DIARY(&diary, which == 1 ? "SD" : "SDSD");
        hora_future_unref(future);
        rig_close(&r);
    }
}

/* ---- one task in another ---- */

struct outer {
    struct rig *rig;
    struct job *inner;
};

static int run_outer(void *arg, void **ret_result)
{
    const struct outer *outer = arg;
    hora_future *future = submit_job(outer->rig, outer->inner);
    CHECK_OK(hora_future_get(future, ret_result));
    *ret_result = NULL;
    hora_future_unref(future);
    return 0;
}

TEST(events_of_a_task_that_is_run_while_another_waits_for_it_lie_within, "")
{
    struct rig r;
    struct diary diary;
    struct job inner = {.rig = &r, .code = 0};
    struct outer outer = {&r, &inner};

    OPEN_TOLD(&r, &diary, .core_threads = 1);
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(run_outer, &outer, .name = "outer")));
    settle(&r.f);
    CHECK_DIARY(&diary, "SSDD");
    CHECK(strcmp(diary.notes[0].name, "outer") == 0);
    CHECK(strcmp(diary.notes[1].name, "job") == 0);
    CHECK(strcmp(diary.notes[2].name, "job") == 0);
    CHECK(strcmp(diary.notes[3].name, "outer") == 0);
    rig_close(&r);
}

/* ---- refused ---- */

static int take_care(hora_pool *pool, hora_future *future, void *context)
{
    (void)pool;
    (void)future;
    (void)context;
    return 1;
}

/* One worker that waits, one task in the queue, and then one more. */
static void fill_up(struct rig *r, struct diary *diary, hora_reject rule, struct job jobs[2])
{
    OPEN_TOLD(r, diary, .core_threads = 1, .queue_capacity = 1, .reject = rule,
              .reject_handler = rule == HORA_REJECT_CALLBACK ? take_care : NULL,
              .reject_timeout = rule == HORA_REJECT_BLOCK ? A_WHILE : 0);
    jobs[0] = (struct job)A_WAITING_JOB(r);
    jobs[1] = (struct job)A_WAITING_JOB(r);
    execute_job(r, &jobs[0]);
    settle(&r->f);
    execute_job(r, &jobs[1]);
    CHECK_DIARY(diary, "S");
}

TEST(events_tell_of_each_task_that_is_refused_once, "")
{
    static const hora_reject rules[] = {HORA_REJECT_ABORT, HORA_REJECT_CALLER_RUNS, HORA_REJECT_DISCARD,
                                        HORA_REJECT_DISCARD_OLDEST, HORA_REJECT_CALLBACK};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct rig r;
        struct diary diary;
        struct job jobs[2], job = A_JOB(&r);

        fill_up(&r, &diary, rules[i], jobs);
        int error = hora_pool_execute(r.pool, JOB(&job));
        CHECK_ERROR(error, rules[i] == HORA_REJECT_ABORT ? HORA_EREJECTED : 0);
        CHECK_DIARY(&diary, "SR");
        const hora_event *event = &diary.notes[1].event;
        CHECK(event->why != NULL && strncmp(event->why, "no room", strlen("no room")) == 0);
        CHECK_POINTER(diary.notes[1].inside, NULL); /* in the thread that submits */
        CHECK(event->task != NULL && event->future != NULL);
        bool runs = rules[i] == HORA_REJECT_CALLER_RUNS || rules[i] == HORA_REJECT_DISCARD_OLDEST;
        rig_close(&r);
        CHECK_INT(job.runs, runs);
        CHECK_INT(jobs[1].runs, rules[i] != HORA_REJECT_DISCARD_OLDEST);
        CHECK_INT(diary_count(&diary, 'R'), 1);
        CHECK_INT(diary_count(&diary, 'S'), 2); /* the caller's run is none of the pool's */
    }
}

TEST(events_tell_of_a_task_that_waits_for_room_if_it_finds_none, "")
{
    for (int finds = 0; finds < 2; finds++) {
        struct rig r;
        struct diary diary;
        struct job jobs[2], job = A_JOB(&r);
        struct call call;

        fill_up(&r, &diary, HORA_REJECT_BLOCK, jobs);
        start_execute(&call, &r, &job);
        settle(&r.f);
        CHECK_DIARY(&diary, "S");
        if (finds)
            rig_open_gate(&r);
        else
            advance(&r.f, A_WHILE);
        test_thread_join(call.thread);
        CHECK_ERROR(call.result, finds ? 0 : HORA_EREJECTED);
        settle(&r.f);
        CHECK_INT(diary_count(&diary, 'R'), !finds);
        rig_close(&r);
        CHECK_INT(diary_count(&diary, 'S'), 2 + finds);
    }
}

TEST(events_tell_of_what_comes_after_shutdown, "")
{
    static const hora_reject rules[] = {HORA_REJECT_ABORT, HORA_REJECT_CALLER_RUNS, HORA_REJECT_DISCARD,
                                        HORA_REJECT_DISCARD_OLDEST, HORA_REJECT_BLOCK};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct rig r;
        struct diary diary;
        struct job job = A_JOB(&r);
        hora_future *future = NULL;

        OPEN_TOLD(&r, &diary, .core_threads = 1, .reject = rules[i]);
        CHECK_OK(hora_pool_shutdown(r.pool));
        int error = hora_pool_submit(r.pool, JOB(&job), &future);
        CHECK(error == 0 || error == HORA_EREJECTED);
        CHECK_DIARY(&diary, "R");
        CHECK(strncmp(diary.notes[0].event.why, "the pool is shut down", 21) == 0);
        CHECK_ERROR(hora_pool_execute(r.pool, JOB(&job)), error);
        CHECK_DIARY(&diary, "RR");
        hora_future_unref(future);
        rig_close(&r);
    }
}

/* ---- threads ---- */

TEST(events_tell_of_threads_that_cannot_be_started, "")
{
    struct rig r;
    struct diary diary;
    struct job jobs[2] = {A_JOB(&r), A_JOB(&r)};

    OPEN_TOLD(&r, &diary, .core_threads = 2, .thread_factory = rig_factory);
    r.factory_threads = 1;
    r.factory_error = HORA_EAGAIN;
    execute_job(&r, &jobs[0]);
    settle(&r.f);
    CHECK_DIARY(&diary, "SD");
    execute_job(&r, &jobs[1]); /* no second thread: the first one runs it */
    settle(&r.f);
    CHECK_INT(diary_count(&diary, 'T'), rig_stats(&r).thread_failures);
    CHECK(diary_count(&diary, 'T') >= 1);
    for (int i = 0; i < diary.count; i++)
        if (diary.notes[i].what == 'T')
            CHECK_INT(diary.notes[i].event.code, HORA_EAGAIN);
    CHECK_INT(diary_count(&diary, 'D'), 2);
    rig_close(&r);
}

/* ---- calling back ---- */

struct caller {
    struct rig *rig;
    struct job *more;
    atomic_int submitted;
    hora_pool_stats seen;
};

/* Asks the pool, changes it, and once gives it something to do. */
static void call_back(hora_pool *pool, char what, const hora_event *event, void *context)
{
    struct caller *caller = context;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK_OK(hora_pool_set_keep_alive(pool, HORA_SECONDS(1), NULL));
    if (what == 'D' && atomic_fetch_add(&caller->submitted, 1) == 0)
        CHECK_OK(hora_pool_execute(pool, JOB(caller->more)));
    if (event->future != NULL)
        CHECK(hora_future_get_state(event->future) >= HORA_FUTURE_PENDING);
}

TEST(events_may_call_the_pool, "")
{
    struct rig r;
    struct diary diary;
    struct job job = A_JOB(&r), more = A_JOB(&r), late = A_JOB(&r);
    struct caller caller = {.rig = &r, .more = &more};

    OPEN_TOLD(&r, &diary, .core_threads = 1);
    diary.then_context = &caller;
    diary.then = call_back;
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_DIARY(&diary, "SDSD");
    CHECK_JOB(&more, 1);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_ERROR(hora_pool_execute(r.pool, JOB(&late)), HORA_EREJECTED);
    CHECK_DIARY(&diary, "SDSDR");
    rig_close(&r);
}

static void shut_down(hora_pool *pool, char what, const hora_event *event, void *context)
{
    (void)what;
    (void)event;
    (void)context;
    CHECK_OK(hora_pool_shutdown_now(pool, NULL));
}

/* The run in the event continues, and finds itself interrupted. */
TEST(events_may_stop_the_pool, "")
{
    struct rig r;
    struct diary diary;
    struct job job = A_WAITING_JOB(&r);

    OPEN_TOLD(&r, &diary, .core_threads = 1);
    diary.then = shut_down;
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_INT(job.runs, 1);
    CHECK_INT(job.interrupts, 1);
    CHECK_INT(diary_count(&diary, 'S'), 1);
    CHECK(hora_pool_is_terminated(r.pool));
    rig_close(&r);
}

/* A listener gets only the events for which it has functions. A pool whose listener has none for runs needs
 * no futures. */
TEST(events_without_a_listener_are_not_reported, "")
{
    struct rig r;
    struct diary diary;
    struct job good = A_JOB(&r), bad = {.rig = &r, .code = CODE};
    hora_listener listener = diary_listener_for(&diary, "FT");

    memset(&diary, 0, sizeof(diary));
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .listener = &listener));
    execute_job(&r, &good);
    execute_job(&r, &bad);
    settle(&r.f);
    CHECK_DIARY(&diary, "F");
    rig_close(&r);
}
