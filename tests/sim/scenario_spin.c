/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_spin.c - takers that poll for a while before they sleep: a sleeping taker is woken nevertheless */
#include <string.h>

#include "exec/backlog.h"
#include "harness.h"

static int offer_item(hora_queue *source, void *item, struct hora__books *counts)
{
    return hora__work_kind_of(source)->offer(source, &(struct hora__offer){.item = item, .books = counts});
}

enum { TIME = 1000, VALUES = 3 };

static hora_queue *queue;
static struct hora__books books;
static int values[VALUES];

static void begin(int capacity)
{
    memset(&books, 0, sizeof books);
    CHECK_OK(hora__backlog_new(capacity, 0, NULL, &queue));
    hora__backlog_open_books(queue, &books);
    hora__work_source_of(queue)->books = &books;
    hora__work_source_of(queue)->spin = TIME;
}

static void end(void)
{
    CHECK_INT(hora_queue_size(queue), 0);
    CHECK_OK(hora_queue_free(queue));
}

static void post(int number)
{
    CHECK_OK(offer_item(queue, &values[number], &books));
}

static void take_one(void *arg)
{
    void *item = NULL;
    CHECK_OK(hora_queue_take(queue, &item));
    *(void **)arg = item;
}

static void meets_a_taker(int capacity)
{
    void *got = NULL;
    begin(capacity);
    test_thread *taker = test_thread_start(NULL, take_one, &got);
    post(0);
    test_thread_join(taker);
    CHECK_POINTER(got, &values[0]);
    end();
}

SCENARIO(spin_post_meets_a_taker)
{
    meets_a_taker(HORA_UNBOUNDED);
}

SCENARIO(spin_offer_meets_a_taker)
{
    meets_a_taker(1);
}

/* One of them looks, the other sleeps or looks after it. */
static void serves_both_takers(int capacity)
{
    void *got[2] = {NULL, NULL};
    begin(capacity);
    test_thread *takers[] = {test_thread_start(NULL, take_one, &got[0]),
                             test_thread_start(NULL, take_one, &got[1])};
    post(0);
    post(1);
    test_thread_join(takers[0]);
    test_thread_join(takers[1]);
    CHECK(got[0] != got[1] && got[0] != NULL && got[1] != NULL);
    end();
}

LARGE_SCENARIO(spin_posts_reach_both_takers)
{
    serves_both_takers(HORA_UNBOUNDED);
}

LARGE_SCENARIO(spin_offers_reach_both_takers)
{
    serves_both_takers(2);
}

static void take_or_be_interrupted(void *arg)
{
    void *item = NULL;
    int error = hora_queue_take(queue, &item);
    CHECK(error == 0 || error == HORA_EINTERRUPTED);
    *(void **)arg = item;
}

/* An interrupt ends the polling; an element that was posted meanwhile is not lost for the sleeping taker. */
LARGE_SCENARIO(spin_is_interrupted)
{
    void *got[2] = {NULL, NULL};
    begin(HORA_UNBOUNDED);
    test_thread *patient = test_thread_start(NULL, take_one, &got[0]);
    test_thread *other = test_thread_start(NULL, take_or_be_interrupted, &got[1]);
    post(0);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(other)));
    test_thread_join(other);
    if (got[1] != NULL)
        post(1);
    test_thread_join(patient);
    CHECK(got[0] != NULL && got[0] != got[1]);
    end();
}

/* Closing the queue also ends the wait of a polling taker. */
static void take_until_closed(void *arg)
{
    void *item = NULL;
    CHECK_ERROR(hora_queue_take(queue, &item), HORA_ECLOSED);
    (void)arg;
}

SCENARIO(spin_meets_close)
{
    begin(HORA_UNBOUNDED);
    test_thread *taker = test_thread_start(NULL, take_until_closed, NULL);
    CHECK_OK(hora_queue_close(queue));
    test_thread_join(taker);
    end();
}
