/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_claims.c - workers take tasks without the lock of the pool's queue
 *
 * Each element is taken or removed once, in order, whatever other threads do; src/exec/segment.h explains
 * how. */
#include <string.h>

#include "exec/backlog.h"
#include "harness.h"

static int offer_item(hora_queue *source, void *item, struct hora__books *counts)
{
    return hora__work_kind_of(source)->offer(source, &(struct hora__offer){.item = item, .books = counts});
}

enum { SLOTS = 128, VALUES = 3 + 2 * SLOTS, CLAIMED = 4 };

static hora_queue *queue;
static struct hora__books books;
static hora__atomic gate;
static int values[VALUES];

static void begin(void)
{
    memset(&books, 0, sizeof books);
    hora__atomic_init(&gate, 0);
    CHECK_OK(hora__backlog_new(HORA_UNBOUNDED, 0, NULL, &queue));
    hora__backlog_open_books(queue, &books);
}

static void end(void)
{
    CHECK_INT(hora_queue_size(queue), 0);
    CHECK_OK(hora_queue_free(queue));
}

static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* The task's argument stands for it. */
static int post_task(void *value)
{
    hora_task task = {.run = run, .arg = value};
    return hora__work_kind_of(queue)->offer(
        queue, &(struct hora__offer){.task = &task, .control = &gate, .closed = 1});
}

static void *next_of(struct hora__hold *hold)
{
    struct hora__taken cell = {.now = HORA_NEVER};
    void *item = hora__work_next(queue, hold, &cell, &books);
    if (item != NULL)
        hold->finished++;
    return item == &cell ? cell.task.arg : item;
}

static int taken_by[CLAIMED]; /* which taker has it, from 1 on */

/* As a worker does: until nothing is left. Each gets them in their order. */
static void take_all(void *arg)
{
    struct hora__hold own = {.segment = NULL};
    int last = -1;
    const int *value;
    while ((value = next_of(&own)) != NULL) {
        int number = (int)(value - values);
        CHECK(number > last);
        CHECK_INT(taken_by[number], 0);
        taken_by[number] = *(const int *)arg;
        last = number;
    }
    hora__work_leave(queue, &own, &books);
}

static void post_to_claim(int count)
{
    begin();
    memset(taken_by, 0, sizeof taken_by);
    for (int i = 0; i < count; i++)
        CHECK_OK(i % 2 == 0 ? post_task(&values[i]) : offer_item(queue, &values[i], &books));
}

static void check_claimed(int count)
{
    for (int i = 0; i < count; i++)
        CHECK(taken_by[i] != 0);
    CHECK_INT(hora__counter_read(&books.finished), count);
    end();
}

/* Each element is taken once, by the faster taker, and none is left. */
SCENARIO(backlog_two_take_all)
{
    static int names[] = {1, 2};
    post_to_claim(CLAIMED);
    test_thread *other = test_thread_start(NULL, take_all, &names[1]);
    take_all(&names[0]);
    test_thread_join(other);
    check_claimed(CLAIMED);
}

/* The same while more elements are posted: they follow those that are offered, also in the same segment. */
LARGE_SCENARIO(backlog_two_take_all_while_more_come)
{
    static int names[] = {1, 2, 3};
    post_to_claim(2);
    test_thread *other = test_thread_start(NULL, take_all, &names[1]);
    CHECK_OK(hora_queue_offer(queue, &values[2])); /* behind those that may be offered just now */
    CHECK_OK(post_task(&values[3]));
    take_all(&names[0]);
    test_thread_join(other);
    take_all(&names[2]);
    check_claimed(CLAIMED);
}

/* An element that a thread removes is not taken, and one that is taken is not removed. The size is exact. */
LARGE_SCENARIO(backlog_remove_meets_a_claim)
{
    static int names[] = {1, 2};
    post_to_claim(3);
    test_thread *other = test_thread_start(NULL, take_all, &names[0]);
    int size = hora_queue_size(queue);
    bool removed = hora_queue_remove(queue, &values[1]) == 1;
    test_thread_join(other);
    CHECK(size >= 0 && size <= 3);
    CHECK(!removed || size > 0);
    CHECK_INT(taken_by[1] == 0, removed);
    CHECK(taken_by[0] != 0 && taken_by[2] != 0);
    CHECK_INT(hora_queue_size(queue), 0);
    end();
}

static void take_the_rest(void *arg)
{
    struct hora__hold own = {.segment = NULL};
    (void)arg;
    CHECK_POINTER(next_of(&own), &values[1]);
    CHECK_POINTER(next_of(&own), &values[2]);
    CHECK_POINTER(next_of(&own), NULL);
    hora__work_leave(queue, &own, &books);
}

/* A segment that a worker holds must not be reused. A worker that has held a segment for long, while others
 * emptied it, finds the elements that were added later, in order. */
SCENARIO(backlog_holder_comes_back_late)
{
    struct hora__hold late = {.segment = NULL};
    begin();
    for (int i = 0; i < 3; i++)
        CHECK_OK(post_task(&values[i]));
    CHECK_POINTER(next_of(&late), &values[0]); /* holds the segment */
    test_thread *other = test_thread_start(NULL, take_the_rest, NULL);
    test_thread_join(other);
    for (int i = 3; i < 3 + 2 * SLOTS; i++) /* they fill what is to be had of segments */
        CHECK_OK(post_task(&values[i]));
    for (int i = 3; i < 3 + 2 * SLOTS; i++)
        CHECK_POINTER(next_of(&late), &values[i]);
    CHECK_POINTER(next_of(&late), NULL);
    hora__work_leave(queue, &late, &books);
    CHECK_INT(hora__counter_read(&books.finished), 3 + 2 * SLOTS);
    end();
}
