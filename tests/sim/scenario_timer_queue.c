/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_timer_queue.c - waiting for the first entry of a timer queue, which can be moved or paused
 *
 * These scenarios extend scenario_delay.c by what a timer queue adds to a delay queue. There is no pool
 * around the queue, so that every schedule can be tried. */
#include "harness.h"
#include "sched/scheduled.h"

enum { ENTRIES = 2 };

static hora_queue *queue;
static hora_ns start;
static struct hora__scheduled *entries[ENTRIES];

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static void begin(void)
{
    CHECK_OK(hora__timer_queue_new(NULL, &queue));
    start = hora_clock_now(NULL);
}

static void end(void)
{
    CHECK_INT(hora_queue_size(queue), 0);
    for (int i = 0; i < ENTRIES; i++)
        if (entries[i] != NULL)
            (void)hora_future_unref(&entries[i]->future);
    entries[0] = entries[1] = NULL;
    CHECK_OK(hora_queue_free(queue));
}

/* Puts entry i, due at this time since the start, with an optional slack. A series keeps its slot. */
static void put(int i, hora_ns due, hora_ns slack)
{
    hora_schedule rules = HORA_INIT(hora_schedule);
    rules.slack = slack;
    struct hora__scheduled_plan plan = {.rules = &rules,
                                        .copies_rules = true,
                                        .trigger = HORA__RATE,
                                        .line = HORA__MONOTONIC,
                                        .planned = start + due,
                                        .every = 1};
    CHECK_OK(hora__scheduled_new(HORA_TASK(do_nothing, NULL), queue, &plan, &entries[i]));
    CHECK_OK(hora_queue_offer(queue, &entries[i]->future));
}

static void put_back(int i, hora_ns due)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    entries[i]->planned = start + due;
    hora__timer_queue_put_back(queue, &entries[i]->entry, hora__scheduled_due(entries[i]));
    hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
}

static void sleep_until(hora_ns when)
{
    hora_ns left = start + when - hora_clock_now(NULL);
    if (left > 0)
        CHECK_OK(hora_sleep(left));
}

/* What a taker got, and when. */
struct taken {
    void *item;
    hora_ns when;
    hora_ns timeout;
};

static void take(void *arg)
{
    struct taken *taken = arg;
    CHECK_OK(hora_queue_take(queue, &taken->item));
    taken->when = hora_clock_now(NULL) - start;
}

static void take_interrupted(void *arg)
{
    struct taken *taken = arg;
    int error = hora_queue_take(queue, &taken->item);
    CHECK(error == 0 || error == HORA_EINTERRUPTED);
    if (error < 0)
        taken->item = NULL;
    taken->when = hora_clock_now(NULL) - start;
    (void)hora_interrupted();
}

static void poll_for(void *arg)
{
    struct taken *taken = arg;
    int error = hora_queue_poll_for(queue, taken->timeout, &taken->item);
    CHECK(error == 0 || error == HORA_ETIMEDOUT);
    if (error < 0)
        taken->item = NULL;
    taken->when = hora_clock_now(NULL) - start;
}

static void check_time(const struct taken *taken, hora_ns due)
{
    CHECK(taken->when >= due);
    if (test_is_exact())
        CHECK_INT(taken->when, due);
}

static bool is_entry(const struct taken *taken, int i)
{
    return taken->item == &entries[i]->future;
}

/* Served: the other taker leads for the second entry. */
SCENARIO(timer_queue_lead_passes_when_leader_is_served)
{
    struct taken other;
    struct taken own;
    begin();
    put(0, 10, 0);
    put(1, 20, 0);
    test_thread *taker = test_thread_start(NULL, take, &other);
    take(&own);
    test_thread_join(taker);
    const struct taken *first = is_entry(&own, 0) ? &own : &other;
    const struct taken *second = first == &own ? &other : &own;
    CHECK(is_entry(first, 0) && is_entry(second, 1));
    check_time(first, 10);
    check_time(second, 20);
    end();
}

/* Interrupted: the other taker leads. */
SCENARIO(timer_queue_lead_passes_when_leader_is_interrupted)
{
    struct taken leader = {NULL, 0, 0};
    struct taken follower = {NULL, 0, 0};
    begin();
    put(0, 10, 0);
    test_thread *first = test_thread_start(NULL, take_interrupted, &leader);
    test_thread *second = test_thread_start(NULL, take_interrupted, &follower);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(first)));
    test_thread_join(first);
    if (leader.item != NULL)
        CHECK_OK(hora_thread_interrupt(test_thread_handle(second)));
    test_thread_join(second);
    CHECK_INT((leader.item != NULL) + (follower.item != NULL), 1);
    check_time(leader.item != NULL ? &leader : &follower, 10);
    end();
}

/* The timeout of the leader expires: its entry was moved, and the new time is after the timeout. */
SCENARIO(timer_queue_lead_passes_when_leader_times_out)
{
    struct taken leader = {NULL, 0, 10};
    struct taken follower = {NULL, 0, 100};
    begin();
    put(0, 10, 0);
    test_thread *first = test_thread_start(NULL, poll_for, &leader);
    sleep_until(2);
    test_thread *second = test_thread_start(NULL, poll_for, &follower);
    sleep_until(5);
    int moved = hora_future_reschedule(&entries[0]->future, 25, 0);
    CHECK(moved == 0 || !test_is_exact());
    test_thread_join(first);
    test_thread_join(second);
    if (test_is_exact()) {
        CHECK(leader.item == NULL && is_entry(&follower, 0));
        check_time(&follower, 30);
    }
    CHECK_INT((leader.item != NULL) + (follower.item != NULL) + hora_queue_size(queue), 1);
    CHECK(hora_queue_remove(queue, &entries[0]->future) >= 0);
    end();
}

/* A new first entry is inserted while the leader goes to sleep, or while it sleeps. */
SCENARIO(timer_queue_new_head_meets_the_leader)
{
    struct taken other;
    begin();
    put(0, 100, 0);
    test_thread *taker = test_thread_start(NULL, take, &other);
    put(1, 10, 0);
    test_thread_join(taker);
    if (test_is_exact())
        CHECK(is_entry(&other, 1));
    check_time(&other, is_entry(&other, 1) ? 10 : 100);
    CHECK_INT(hora_queue_remove(queue, &entries[is_entry(&other, 1) ? 0 : 1]->future), 1);
    end();
}

/* The entry that the leader sleeps for is itself moved ahead. */
SCENARIO(timer_queue_head_is_moved_ahead)
{
    struct taken other;
    begin();
    put(0, 100, 0);
    test_thread *taker = test_thread_start(NULL, take, &other);
    hora_ns before = hora_clock_now(NULL) - start;
    int moved = hora_future_reschedule(&entries[0]->future, 10, 0);
    CHECK(moved == 0 || !test_is_exact());
    test_thread_join(taker);
    CHECK(is_entry(&other, 0));
    check_time(&other, moved == 0 && !entries[0]->series->is_retimed ? before + 10
                                                                     : 100); /* else it had been taken */
    end();
}

/* Moved back: it is not given at its old time. */
SCENARIO(timer_queue_head_is_moved_back)
{
    struct taken other;
    begin();
    put(0, 10, 0);
    test_thread *taker = test_thread_start(NULL, take, &other);
    int moved = hora_future_reschedule(&entries[0]->future, 50, 0);
    CHECK(moved == 0 || !test_is_exact());
    test_thread_join(taker);
    CHECK(is_entry(&other, 0));
    bool by_old_plan = entries[0]->series->is_retimed; /* it had been taken: for the worker to find */
    check_time(&other, by_old_plan ? 10 : 50);
    CHECK(!by_old_plan || !test_is_exact());
    end();
}

/* An entry is paused while the leader sleeps for it, and resumed: it is given then, at once if its time has
 * come. */
SCENARIO(timer_queue_head_is_paused)
{
    struct taken other;
    begin();
    put(0, 10, 0);
    test_thread *taker = test_thread_start(NULL, take, &other);
    CHECK_INT(hora_future_pause(&entries[0]->future), 1);
    CHECK_INT(hora_future_pause(&entries[0]->future), 0);
    bool was_taken = entries[0]->entry.stage == HORA__TAKEN;
    sleep_until(20);
    hora_ns before = hora_clock_now(NULL) - start;
    CHECK_INT(hora_future_resume(&entries[0]->future), 1);
    test_thread_join(taker);
    CHECK(is_entry(&other, 0));
    check_time(&other, was_taken ? 10 : before);
    end();
}

/* An entry is paused and resumed before its time. */
SCENARIO(timer_queue_head_is_paused_for_a_moment)
{
    struct taken other;
    begin();
    put(0, 10, 0);
    test_thread *taker = test_thread_start(NULL, take, &other);
    CHECK_INT(hora_future_pause(&entries[0]->future), 1);
    CHECK_INT(hora_future_resume(&entries[0]->future), 1);
    test_thread_join(taker);
    CHECK(is_entry(&other, 0));
    check_time(&other, 10);
    end();
}

/* An entry is put back before the one for which the leader sleeps. */
SCENARIO(timer_queue_entry_comes_back_as_head)
{
    struct taken other;
    struct taken own;
    begin();
    put(0, 0, 0);
    take(&own);
    CHECK(is_entry(&own, 0));
    put(1, 100, 0);
    test_thread *taker = test_thread_start(NULL, take, &other);
    put_back(0, 10);
    test_thread_join(taker);
    if (test_is_exact())
        CHECK(is_entry(&other, 0));
    check_time(&other, is_entry(&other, 0) ? 10 : 100);
    CHECK_INT(hora_queue_remove(queue, &entries[is_entry(&other, 0) ? 1 : 0]->future), 1);
    end();
}

/* No worker wakes up for an entry with slack before it must be taken, but a worker that is awake takes it. */
SCENARIO(timer_queue_slack_saves_a_wake_up)
{
    struct taken first;
    struct taken second;
    begin();
    put(0, 10, 90);
    put(1, 50, 0);
    uint64_t before = test_wakeups();
    take(&first);
    take(&second);
    CHECK(is_entry(&first, 0) && is_entry(&second, 1)); /* in the order of their times */
    check_time(&first, 50);
    check_time(&second, 50);
    if (test_is_exact())
        CHECK_INT(test_wakeups() - before, 1);
    end();
}

/* If no other worker is awake, the entry is taken at the last moment, also if it was moved. */
SCENARIO(timer_queue_slack_ends)
{
    struct taken other;
    begin();
    put(0, 100, 20);
    test_thread *taker = test_thread_start(NULL, take, &other);
    int moved = hora_future_reschedule(&entries[0]->future, 10, 0);
    hora_ns upper = hora_clock_now(NULL) - start + 30;
    CHECK(moved == 0 || !test_is_exact());
    test_thread_join(taker);
    if (test_is_exact())
        CHECK(other.when == upper);
    CHECK(other.when >= 10);
    end();
}

/* Takers whom nothing concerns sleep on. */
SCENARIO(timer_queue_followers_sleep_on)
{
    struct taken outcome[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    begin();
    put(0, 10, 0);
    test_thread *threads[] = {test_thread_start(NULL, take_interrupted, &outcome[0]),
                              test_thread_start(NULL, take_interrupted, &outcome[1])};
    sleep_until(20);
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_thread_interrupt(test_thread_handle(threads[i])));
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    if (test_is_exact()) {
        CHECK_INT((outcome[0].item != NULL) + (outcome[1].item != NULL), 1);
        CHECK(test_wakeups() <= 3); /* this thread, the leader, and the other at its interrupt */
    }
    CHECK(hora_queue_remove(queue, &entries[0]->future) >= 0);
    end();
}
