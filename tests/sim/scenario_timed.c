/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_timed.c - the inbox of a delay queue: elements are not overtaken, and no taker sleeps too long
 *
 * scenario_delay.c is about leaders. Here one thread puts while another takes, looks, sleeps, closes or
 * frees. */
#include <poll.h>

#include "kinds.h"
#include "sys/atomic.h"

enum { MANY = 600 };

static hora_queue *queue;
static hora_ns start;
static hora__atomic has_put; /* the other thread's put has returned */

static void begin(void)
{
    CHECK_OK(kinds_new(DELAY, NULL, NULL, &queue));
    start = hora_clock_now(NULL);
    hora__atomic_init(&has_put, 0);
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

static void poll_one(int value)
{
    void *item = NULL;
    CHECK_OK(hora_queue_poll(queue, &item));
    CHECK_POINTER(item, &kinds_values[value]);
}

/* Elements that a thread has looked at are in the container. Then some are put into the inbox, and one that
 * is due by the last clock reading of the queue. All leave in order. */
SCENARIO(timed_inbox_is_not_overtaken)
{
    begin();
    put(1, 10);
    put(4, 14);
    CHECK_INT(hora_queue_size(queue), 2);
    put(0, 5);
    put(2, 10);
    put(5, 30);
    sleep_until(20);
    poll_one(0);
    poll_one(1);
    put(3, 12);
    poll_one(2);
    poll_one(3);
    poll_one(4);
    sleep_until(30);
    poll_one(5);
    end();
}

static void put_soonest(void *arg)
{
    (void)arg;
    put(0, 5);
    hora__atomic_store(&has_put, 1);
}

/* Three elements are due, and the first of them is put while the others are taken: once it has been put, it
 * is taken next. */
SCENARIO(timed_put_meets_polls)
{
    void *item;
    bool taken = false;
    begin();
    put(1, 10);
    put(2, 15);
    put(3, 16);
    CHECK_INT(hora_queue_size(queue), 3);
    sleep_until(20);
    test_thread *other = test_thread_start(NULL, put_soonest, NULL);
    for (int i = 0; i < 3; i++) {
        bool must_be_next = !taken && hora__atomic_load(&has_put) != 0;
        CHECK_OK(hora_queue_poll(queue, &item));
        taken = taken || item == &kinds_values[0];
        CHECK(!must_be_next || taken);
    }
    test_thread_join(other);
    CHECK_OK(hora_queue_poll(queue, &item));
    CHECK(taken != (item == &kinds_values[0]));
    end();
}

static void put_two(void *arg)
{
    (void)arg;
    put(0, 5);
    put(1, 3);
}

/* Takers sleep, or are about to, for nothing, for each other, for a later element: all leave in time. */
static void meets_takers(bool has_later)
{
    void *got[2] = {NULL, NULL};
    begin();
    if (has_later)
        put(2, 40);
    test_thread *other = test_thread_start(NULL, put_two, NULL);
    CHECK_OK(hora_queue_take(queue, &got[0]));
    CHECK_OK(hora_queue_take(queue, &got[1]));
    hora_ns when = hora_clock_now(NULL) - start;
    test_thread_join(other);
    CHECK(got[0] != got[1]);
    if (test_is_exact()) {
        CHECK_POINTER(got[0], &kinds_values[1]);
        CHECK_POINTER(got[1], &kinds_values[0]);
        CHECK_INT(when, 5);
    }
    CHECK_OK(hora_queue_clear(queue));
    end();
}

SCENARIO(timed_puts_meet_a_taker)
{
    meets_takers(false);
}

SCENARIO(timed_puts_meet_a_taker_that_waits_for_a_later_one)
{
    meets_takers(true);
}

static void take_one(void *arg)
{
    CHECK_OK(hora_queue_take(queue, arg));
}

/* Two threads put and two take. */
LARGE_SCENARIO(timed_puts_meet_two_takers)
{
    void *got[2] = {NULL, NULL};
    begin();
    test_thread *takers[] = {test_thread_start(NULL, take_one, &got[0]),
                             test_thread_start(NULL, take_one, &got[1])};
    test_thread *other = test_thread_start(NULL, put_soonest, NULL);
    put(1, 3);
    test_thread_join(other);
    test_thread_join(takers[0]);
    test_thread_join(takers[1]);
    CHECK(got[0] != got[1] && got[0] != NULL && got[1] != NULL);
    if (test_is_exact())
        CHECK_INT(hora_clock_now(NULL) - start, 5);
    end();
}

/* The taker of the last element may free the queue, so the thread that put it does not touch the queue any
 * more. */
SCENARIO(timed_free_right_after_take)
{
    void *item;
    begin();
    test_thread *other = test_thread_start(NULL, put_soonest, NULL);
    CHECK_OK(hora_queue_take(queue, &item));
    CHECK_OK(hora_queue_free(queue));
    test_thread_join(other);
}

/* A thread that looks sees all elements that have been put. */
SCENARIO(timed_put_meets_a_look)
{
    begin();
    test_thread *other = test_thread_start(NULL, put_soonest, NULL);
    bool must_be_there = hora__atomic_load(&has_put) != 0;
    int size = hora_queue_size(queue);
    CHECK(size == 1 || !must_be_there);
    int removed = hora_queue_remove(queue, &kinds_values[0]);
    CHECK(removed >= size);
    test_thread_join(other);
    CHECK_INT(hora_queue_remove(queue, &kinds_values[0]), 1 - removed);
    end();
}

static void put_or_find_it_closed(void *arg)
{
    int error = hora_queue_put_at(queue, &kinds_values[0], start + 5);
    CHECK(error == 0 || error == HORA_ECLOSED);
    *(bool *)arg = error == 0;
}

/* An element that is put before the queue is closed is in it, and none is accepted later. */
SCENARIO(timed_put_meets_close)
{
    bool was_put = false;
    void *item;
    begin();
    test_thread *other = test_thread_start(NULL, put_or_find_it_closed, &was_put);
    CHECK_OK(hora_queue_close(queue));
    int size = hora_queue_size(queue);
    test_thread_join(other);
    CHECK_INT(size, was_put);
    CHECK_ERROR(hora_queue_put_at(queue, &kinds_values[1], start), HORA_ECLOSED);
    sleep_until(5);
    CHECK_ERROR(hora_queue_poll(queue, &item), was_put ? 0 : HORA_ECLOSED);
    end();
}

static bool is_readable(int fd)
{
    struct pollfd looked_at = {.fd = fd, .events = POLLIN};
    return poll(&looked_at, 1, 0) == 1;
}

/* The descriptor, made while a thread puts an element, shows the element as soon as it has been put. */
SCENARIO(timed_put_meets_the_descriptor)
{
    void *item;
    hora_virtual_clock *clock;
    CHECK_OK(hora_virtual_clock_new(NULL, &clock, NULL));
    CHECK_OK(kinds_new(DELAY, hora_virtual_clock_view(clock, HORA_CLOCK_MONOTONIC), NULL, &queue));
    start = hora_clock_now(hora_virtual_clock_view(clock, HORA_CLOCK_MONOTONIC)) - 5;
    hora__atomic_init(&has_put, 0);
    test_thread *other = test_thread_start(NULL, put_soonest, NULL);
    int fd = hora_queue_fd(queue);
    CHECK(fd >= 0);
    bool must_be_readable = hora__atomic_load(&has_put) != 0;
    CHECK(is_readable(fd) || !must_be_readable);
    test_thread_join(other);
    CHECK(is_readable(fd));
    CHECK_OK(hora_queue_poll(queue, &item));
    CHECK(!is_readable(fd));
    end();
    CHECK_OK(hora_virtual_clock_free(clock));
}

/* Whichever allocation fails, the accepted elements leave the queue in order. */
SWEEP(timed_without_memory)
{
    static int values[MANY];
    int in = 0;
    if (kinds_new(DELAY, NULL, NULL, &queue) < 0)
        return;
    start = hora_clock_now(NULL);
    for (int i = 0; i < MANY; i++) {
        values[i] = (i * 7) % 50;
        int error = hora_queue_put_at(queue, &values[i], start - 100 + values[i]);
        CHECK(error == 0 || error == HORA_ENOMEM);
        in += error == 0;
        if (i % 97 == 0) /* some come one by one */
            CHECK_INT(hora_queue_size(queue), in);
    }
    const int *last = NULL;
    void *item;
    for (; hora_queue_poll(queue, &item) == 0; in--) {
        const int *value = item;
        CHECK(last == NULL || *last < *value || (*last == *value && last < value));
        last = value;
    }
    CHECK_INT(in, 0);
    end();
}
