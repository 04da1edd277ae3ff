/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_delay.c - waiting for the first element of a delay queue: never early, never late */
#include "kinds.h"

static hora_queue *queue;
static hora_ns start;

static void begin(void)
{
    CHECK_OK(kinds_new(DELAY, NULL, NULL, &queue));
    start = hora_clock_now(NULL);
}

static void end(void)
{
    CHECK_INT(hora_queue_size(queue), 0);
    CHECK_OK(hora_queue_free(queue));
}

static void put(int value, hora_ns due)
{
    CHECK_OK(hora_queue_put_at(queue, &kinds_values[value], start + due));
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
};

static void take(void *arg)
{
    struct taken *taken = arg;
    CHECK_OK(hora_queue_take(queue, &taken->item));
    taken->when = hora_clock_now(NULL) - start;
}

static void check_time(const struct taken *taken, hora_ns due)
{
    CHECK(taken->when >= due);
    if (test_is_exact())
        CHECK_INT(taken->when, due);
}

/* Two takers, two elements: each element leaves when it is due, in order, also the one for which the second
 * taker must become leader. */
SCENARIO(delay_lead_passes_when_leader_takes)
{
    struct taken other;
    struct taken own;
    begin();
    put(1, 10);
    put(2, 20);
    test_thread *taker = test_thread_start(NULL, take, &other);
    take(&own);
    test_thread_join(taker);
    const struct taken *first = own.item == &kinds_values[1] ? &own : &other;
    const struct taken *second = first == &own ? &other : &own;
    CHECK_POINTER(first->item, &kinds_values[1]);
    CHECK_POINTER(second->item, &kinds_values[2]);
    check_time(first, 10);
    check_time(second, 20);
    end();
}

/* The sleeping leader does not miss an element that is put later but is due sooner. */
SCENARIO(delay_new_first_element_is_seen)
{
    struct taken other;
    begin();
    put(2, 100);
    test_thread *taker = test_thread_start(NULL, take, &other);
    sleep_until(5);
    put(1, 10);
    test_thread_join(taker);
    bool took_first =
        other.item == &kinds_values[1]; /* late wake-ups: the other may be due, and taken, before the put */
    if (test_is_exact())
        CHECK(took_first);
    check_time(&other, took_first ? 10 : 100);
    CHECK_INT(hora_queue_remove(queue, &kinds_values[took_first ? 2 : 1]), 1);
    end();
}

static void take_interrupted(void *arg)
{
    struct taken *taken = arg;
    int error = hora_queue_take(queue, &taken->item);
    CHECK(error == 0 || error == HORA_EINTERRUPTED);
    if (error == HORA_EINTERRUPTED)
        taken->item = NULL;
    (void)hora_interrupted();
}

/* An interrupted leader hands the lead on: the other taker gets the element in time. */
SCENARIO(delay_lead_passes_when_leader_is_interrupted)
{
    struct taken leader = {NULL, 0};
    struct taken follower = {NULL, 0};
    begin();
    put(1, 10);
    test_thread *first = test_thread_start(NULL, take_interrupted, &leader);
    test_thread *second = test_thread_start(NULL, take, &follower);
    sleep_until(5);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(first)));
    put(2, 20);
    test_thread_join(first);
    test_thread_join(second);
    if (leader.item == NULL) {
        CHECK_POINTER(follower.item, &kinds_values[1]);
        check_time(&follower, 10);
        CHECK_INT(hora_queue_remove(queue, &kinds_values[2]), 1);
    }
    end();
}

static void poll_for_ten(void *arg)
{
    struct taken *taken = arg;
    int error = hora_queue_poll_for(queue, 10, &taken->item);
    CHECK(error == 0 || error == HORA_ETIMEDOUT);
}

static void poll_for_hundred(void *arg)
{
    struct taken *taken = arg;
    int error = hora_queue_poll_for(queue, 100, &taken->item);
    CHECK(error == 0 || error == HORA_ETIMEDOUT);
    taken->when = hora_clock_now(NULL) - start;
}

/* A leader whose timeout expires passes the lead on, although there is nothing to take: the element for which
 * it slept was removed, and the next is due long after. */
SCENARIO(delay_lead_passes_when_leader_times_out)
{
    struct taken leader = {NULL, 0};
    struct taken follower = {NULL, 0};
    begin();
    put(1, 10);
    test_thread *first = test_thread_start(NULL, poll_for_ten, &leader);
    sleep_until(2);
    test_thread *second = test_thread_start(NULL, poll_for_hundred, &follower);
    sleep_until(5);
    int removed = hora_queue_remove(queue, &kinds_values[1]);
    put(2, 30);
    test_thread_join(first);
    test_thread_join(second);
    if (test_is_exact()) {
        CHECK_INT(removed, 1);
        CHECK_POINTER(leader.item, NULL);
        CHECK_POINTER(follower.item, &kinds_values[2]);
        check_time(&follower, 30);
    }
    CHECK_INT(removed + (leader.item != NULL) + (follower.item != NULL) + hora_queue_size(queue), 2);
    CHECK_OK(hora_queue_clear(queue));
    end();
}

/* No taker gets an element a nanosecond before it is due, and any taker gets it from then on. */
SCENARIO(delay_is_never_early)
{
    void *item;
    begin();
    put(1, 10);
    sleep_until(9);
    int early = hora_queue_poll(queue, &item);
    bool due = hora_clock_now(NULL) - start >= 10;
    CHECK(early == HORA_EEMPTY || due);
    if (test_is_exact())
        CHECK_ERROR(early, HORA_EEMPTY);
    if (early == HORA_EEMPTY) {
        sleep_until(10);
        CHECK_OK(hora_queue_poll(queue, &item));
    }
    CHECK_POINTER(item, &kinds_values[1]);
    end();
}

/* There is one leader at a time: with three takers, one element costs one wake-up, and closing the queue
 * wakes the other two. */
static void take_or_closed(void *arg)
{
    void *item;
    int error = hora_queue_take(queue, &item);
    CHECK(error == 0 || error == HORA_ECLOSED);
    *(int *)arg = error == 0 ? 1 : 2;
}

SCENARIO(delay_followers_sleep_on)
{
    int outcome[2] = {0, 0};
    begin();
    put(1, 10);
    test_thread *threads[] = {test_thread_start(NULL, take_or_closed, &outcome[0]),
                              test_thread_start(NULL, take_or_closed, &outcome[1])};
    sleep_until(20);
    CHECK_OK(hora_queue_close(queue));
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    if (test_is_exact()) {
        CHECK_INT(outcome[0] + outcome[1], 3);
        /* This thread's sleep; the leader at 10; the other at the close. */
        CHECK(test_wakeups() <= 3);
    }
    CHECK_OK(hora_queue_clear(queue)); /* late wake-ups: the close may come first */
    end();
}
