/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_lanes.c - tasks that enter a timer queue, and leave it, without its lock
 *
 * First the timer queue alone, so that every schedule can be tried; then with the scheduler around it. */
#include <string.h>

#include "harness.h"
#include "jobs.h"
#include "sched/scheduled.h"

enum { POSTS = 3, FAR = 1000, SOON = 5 };

static hora_queue *queue;
static hora_virtual_clock *vclock;
static hora__atomic gate;
static struct hora__scheduled *posts[POSTS];

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static const hora_clock *view(void)
{
    return vclock != NULL ? hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC) : NULL;
}

static hora_ns now(void)
{
    return hora_clock_now(view());
}

static void make(int i, hora_ns due)
{
    struct hora__scheduled_plan plan = {
        .rules = &hora__jdk_rules, .trigger = HORA__ONCE, .line = HORA__MONOTONIC, .planned = due};
    CHECK_OK(hora__scheduled_new(HORA_TASK(do_nothing, NULL), queue, &plan, &posts[i]));
}

static void put(int i, hora_ns due)
{
    make(i, due);
    CHECK_OK(hora_queue_offer(queue, &posts[i]->future));
}

/* By the short way, if that is open. */
static void post(int i, hora_ns due)
{
    struct hora__offer offer = {.control = &gate, .closed = 1};
    make(i, due);
    if (!hora__timer_queue_insert_future(queue, posts[i], now(), &offer))
        CHECK_OK(hora_queue_offer(queue, &posts[i]->future));
}

/* As a worker does. */
static void *take_now(void)
{
    void *item = NULL;
    int error = hora_queue_poll_for(queue, 0, &item);
    CHECK(error == 0 || error == HORA_ETIMEDOUT);
    return item;
}

/* Puts and takes one element, which makes room for those that are posted later. Clears posts, because a
 * failed schedule leaves its elements behind. */
static void begin(hora_virtual_clock *clock)
{
    vclock = clock;
    memset(posts, 0, sizeof posts);
    hora__atomic_init(&gate, 0);
    CHECK_OK(hora__timer_queue_new(view(), &queue));
    put(0, now());
    CHECK(take_now() == &posts[0]->future);
    (void)hora_future_unref(&posts[0]->future);
    posts[0] = NULL;
}

static void end(void)
{
    CHECK_INT(hora_queue_size(queue), 0);
    for (int i = 0; i < POSTS; i++)
        if (posts[i] != NULL)
            (void)hora_future_unref(&posts[i]->future);
    CHECK_OK(hora_queue_free(queue));
}

/* ---- the timer queue ---- */

static void take_two(void *arg)
{
    hora_ns start = *(const hora_ns *)arg;
    for (int i = 0; i < 2; i++) {
        void *item;
        CHECK_OK(hora_queue_take(queue, &item));
        const struct hora__scheduled *taken = hora__scheduled_of(item);
        CHECK(now() >= taken->planned);
        if (test_is_exact()) {
            CHECK(taken == posts[i]);
            CHECK_INT(now() - start, taken->planned - start);
        }
    }
}

/* A worker that sleeps for a later task, or is about to, is woken. */
SCENARIO(lanes_post_meets_sleeper)
{
    begin(NULL);
    hora_ns start = now();
    put(1, start + FAR);
    test_thread *taker = test_thread_start(NULL, take_two, &start);
    post(0, start + SOON);
    test_thread_join(taker);
    end();
}

SCENARIO(lanes_post_meets_first_sleeper)
{
    begin(NULL);
    hora_ns start = now();
    test_thread *taker = test_thread_start(NULL, take_two, &start);
    post(0, start + SOON);
    post(1, start + FAR);
    test_thread_join(taker);
    end();
}

static bool always(const void *context)
{
    (void)context;
    return true;
}

/* Out by the short way, or the long one. */
static bool take_out(int i)
{
    return hora__timer_queue_cancel_in_lane(posts[i], always, NULL) ||
           hora_queue_remove(queue, &posts[i]->future) == 1;
}

static void take_one(void *arg)
{
    void *item;
    if (hora_queue_poll_for(queue, FAR, &item) == 0)
        *(void **)arg = item;
}

/* It is taken or cancelled, not both. */
SCENARIO(lanes_cancel_meets_taker)
{
    void *taken = NULL;
    begin(NULL);
    post(0, now() + SOON);
    test_thread *taker = test_thread_start(NULL, take_one, &taken);
    if (test_is_exact())
        CHECK_OK(hora_sleep(SOON));
    bool cancelled = take_out(0);
    test_thread_join(taker);
    CHECK(cancelled != (taken == &posts[0]->future));
    end();
}

/* Each knows its place, in whatever order they go. */
SCENARIO(lanes_cancel_moves_others)
{
    begin(NULL);
    hora_ns due = now() + FAR;
    post(0, due);
    post(1, due);
    CHECK(take_out(0));
    post(2, due);
    CHECK(take_out(1));
    CHECK(take_out(2));
    CHECK(!take_out(1));
    end();
}

static void look(void *arg)
{
    (void)arg;
    int size = hora_queue_size(queue);
    CHECK(size >= 0 && size <= 1);
}

SCENARIO(lanes_cancel_meets_looker)
{
    begin(NULL);
    post(0, now() + FAR);
    test_thread *looker = test_thread_start(NULL, look, NULL);
    CHECK(take_out(0));
    test_thread_join(looker);
    end();
}

static void post_now(void *arg)
{
    (void)arg;
    post(0, now());
}

/* A scheduled task is never overtaken by one that is due after it, also if it is posted while a worker is
 * taking due tasks. */
SCENARIO(lanes_post_is_not_overtaken)
{
    hora_virtual_clock *clock;
    CHECK_OK(hora_virtual_clock_new(NULL, &clock, NULL));
    begin(clock);
    CHECK_OK(hora_virtual_clock_advance(vclock, 1)); /* beyond what was taken */
    hora_ns start = now();
    put(1, start);
    put(2, start + 1);
    test_thread *poster = test_thread_start(NULL, post_now, NULL);
    CHECK_OK(hora_virtual_clock_advance(vclock, 2));
    hora_future *first = take_now();
    CHECK(first == &posts[1]->future);
    test_thread_join(poster);
    hora_future *second = take_now();
    hora_future *third = take_now();
    bool is_early = posts[0]->planned == start;
    CHECK(second == &posts[is_early ? 0 : 2]->future);
    CHECK(third == &posts[is_early ? 2 : 0]->future);
    end();
    CHECK_OK(hora_virtual_clock_free(vclock));
}

/* ---- the scheduler ---- */

/* All workers are there, and the short way is open: a task has been put before. */
static void begin_jobs(hora_scheduler_options *options)
{
    options->core_threads = 1;
    jobs_begin(options);
    CHECK_INT(hora_pool_prestart_all(scheduler), 1);
    jobs_unref(jobs_once(3, FAR));
}

static void schedule_soon(void *arg)
{
    jobs_unref(jobs_once((int)(intptr_t)arg, SOON));
}

SCENARIO(lanes_schedule_meets_schedule)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    jobs[0].punctual = jobs[1].punctual = true;
    test_thread *other = test_thread_start(NULL, schedule_soon, (void *)(intptr_t)1);
    schedule_soon((void *)(intptr_t)0);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_end();
    for (int i = 0; i < 2; i++)
        jobs_check(i, 1);
}

/* More than the lanes have room for. */
SCENARIO(lanes_are_full)
{
    hora_future *futures[3];
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    for (int i = 0; i < 3; i++)
        futures[i] = jobs_once(i, SOON + i);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_future_get(futures[i], NULL));
        jobs_unref(futures[i]);
    }
    jobs_end();
    for (int i = 0; i < 3; i++)
        jobs_check(i, 1);
}

/* The task enters before the end, or is rejected. If the books did not balance, jobs_end would not return. */
SCENARIO(lanes_schedule_meets_stop)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    test_thread *stopper = test_thread_start(NULL, jobs_stop, NULL);
    jobs_unref(jobs_once(0, FAR));
    test_thread_join(stopper);
    jobs_end();
    CHECK(jobs[0].runs == 0 || !test_is_exact());
}

SCENARIO(lanes_schedule_meets_shutdown)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.cancel_delayed = true));
    test_thread *closer = test_thread_start(NULL, jobs_shut_down, NULL);
    hora_future *future = jobs_once(0, FAR);
    test_thread_join(closer);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(future == NULL || hora_future_is_cancelled(future) || !test_is_exact());
    jobs_unref(future);
    jobs_end();
    CHECK(jobs[0].runs == 0 || !test_is_exact());
}

static void cancel_and_unref(void *arg)
{
    struct jobs_target *target = arg;
    jobs_cancel(target);
    jobs_unref(target->future);
}

/* A thread that waits until all tasks have ended is woken when the last one is cancelled. */
SCENARIO(lanes_cancel_meets_quiesce)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    struct jobs_target target = {.future = jobs_once(0, 2 * FAR)};
    test_thread *canceller = test_thread_start(NULL, cancel_and_unref, &target);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    test_thread_join(canceller);
    if (test_is_exact()) {
        CHECK_INT(target.answer, HORA_CANCEL_REMOVED);
        CHECK_INT(jobs_now(), FAR);
    }
    jobs_end();
    jobs_check(0, test_is_exact() ? 0 : jobs[0].runs);
}

/* The scheduler ends, and its memory goes, while a future of it is being cancelled. */
SCENARIO(lanes_cancel_meets_free)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    struct jobs_target target = {.future = jobs_once(0, FAR)};
    test_thread *canceller = test_thread_start(NULL, cancel_and_unref, &target);
    jobs_end();
    test_thread_join(canceller);
    jobs_check(0, test_is_exact() ? 0 : jobs[0].runs);
}

/* Two threads post and cancel at the same time. */
SCENARIO(lanes_cancel_meets_cancel)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    struct jobs_target targets[2] = {{.future = jobs_once(0, FAR)}, {.future = jobs_once(1, FAR), .job = 1}};
    test_thread *canceller = test_thread_start(NULL, cancel_and_unref, &targets[0]);
    cancel_and_unref(&targets[1]);
    test_thread_join(canceller);
    jobs_end();
    for (int i = 0; i < 2 && test_is_exact(); i++) {
        CHECK_INT(targets[i].answer, HORA_CANCEL_REMOVED);
        jobs_check(i, 0);
    }
}

/* ---- a task whose cancellation needs no callback: it has no drop ---- */

static hora_future *schedule_bare(hora_ns delay)
{
    hora_future *future;
    CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(do_nothing, NULL), delay, &future));
    return future;
}

static void cancel_bare(void *arg)
{
    int answer = hora_future_cancel(arg, false);
    CHECK(answer == HORA_CANCEL_REMOVED || !test_is_exact());
}

/* It may be too late. */
static void give_up_bare(void *arg)
{
    (void)hora_future_cancel(arg, false);
    (void)hora_future_unref(arg);
}

SCENARIO(lanes_bare_cancel_meets_free)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    test_thread *canceller = test_thread_start(NULL, give_up_bare, schedule_bare(2 * FAR));
    jobs_end();
    test_thread_join(canceller);
}

/* A future can be asked as long as it lives. */
SCENARIO(lanes_bare_future_outlives_scheduler)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    hora_future *futures[2] = {schedule_bare(FAR), schedule_bare(FAR)};
    cancel_bare(futures[0]);
    jobs_end();
    for (int i = 0; i < 2; i++) {
        hora_ns delay;
        CHECK(hora_future_is_done(futures[i]));
        CHECK_OK(hora_future_delay(futures[i], &delay));
        (void)hora_future_unref(futures[i]);
    }
}

static void get_cancelled(void *arg)
{
    int outcome = hora_future_get(arg, NULL);
    CHECK(outcome == HORA_ECANCELED || !test_is_exact());
}

SCENARIO(lanes_bare_cancel_meets_get)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    hora_future *future = schedule_bare(FAR);
    test_thread *waiter = test_thread_start(NULL, get_cancelled, future);
    cancel_bare(future);
    test_thread_join(waiter);
    (void)hora_future_unref(future);
    jobs_end();
}

/* When the scheduler is idle, the cancelled task is done, too. */
SCENARIO(lanes_bare_cancel_meets_quiesce)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    hora_future *future = schedule_bare(FAR);
    test_thread *canceller = test_thread_start(NULL, cancel_bare, future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    CHECK(hora_future_is_done(future));
    test_thread_join(canceller);
    (void)hora_future_unref(future);
    jobs_end();
}

/* The answer of the cancel agrees with the outcome: the task is cancelled, or the cancel was too late. */
SCENARIO(lanes_bare_cancel_meets_run)
{
    begin_jobs(HORA_SCHEDULER_OPTIONS(.name = "posted"));
    hora_future *future = schedule_bare(SOON);
    if (test_is_exact())
        CHECK_OK(hora_sleep(SOON));
    int answer = hora_future_cancel(future, false);
    int outcome = hora_future_get(future, NULL);
    CHECK_INT(outcome, answer == HORA_CANCEL_TOO_LATE ? 0 : HORA_ECANCELED);
    (void)hora_future_unref(future);
    jobs_end();
}
