/* SPDX-License-Identifier: Apache-2.0 */
/* test_backlog.c - the bound of an unbounded queue: more elements than an int can count are rejected
 *
 * So many elements need more memory than there is, so the test increases the size directly, and reduces it
 * again before it reads the elements. */
#include "exec/backlog.h"

#include <limits.h>

#include "harness.h"

static int offer_item(hora_queue *source, void *item, struct hora__books *counts)
{
    return hora__work_kind_of(source)->offer(source, &(struct hora__offer){.item = item, .books = counts});
}

static hora_queue *queue;

static void add_to_size(int by)
{
    hora__mutex_lock(&queue->object.lock);
    queue->kind->inbox->collect(queue);
    queue->size += by;
    queue->kind->inbox->collect(queue);
    hora__mutex_unlock(&queue->object.lock);
}

static int nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static int post_task(void)
{
    hora_task task = {.run = nothing};
    hora__atomic gate;
    hora__atomic_init(&gate, 0);
    return hora__work_kind_of(queue)->offer(
        queue, &(struct hora__offer){.task = &task, .control = &gate, .closed = 1});
}

TEST_REAL(backlog_refuses_what_it_cannot_count, "")
{
    int items[5];
    void *item;
    CHECK_OK(hora__backlog_new(HORA_UNBOUNDED, 0, NULL, &queue));
    CHECK_OK(offer_item(queue, &items[0], NULL));
    add_to_size(INT_MAX - 4);
    CHECK_INT(hora__queue_count(queue), INT_MAX - 3);
    CHECK_OK(offer_item(queue, &items[1], NULL));
    CHECK_OK(offer_item(queue, &items[2], NULL));
    for (int i = 0; i < 3; i++) {
        CHECK_ERROR(offer_item(queue, &items[3], NULL), HORA_EFULL);
        CHECK_ERROR(post_task(), HORA_EFULL);
        CHECK_ERROR(hora_queue_offer(queue, &items[3]), HORA_EFULL);
        CHECK_INT(hora__queue_count(queue), INT_MAX - 1);
    }
    hora__mutex_lock(&queue->object.lock);
    queue->size -= INT_MAX - 4; /* as if these had been taken, which the inbox does not know */
    hora__mutex_unlock(&queue->object.lock);
    CHECK_OK(offer_item(queue, &items[3], NULL));
    CHECK_OK(offer_item(queue, &items[4], NULL));
    for (int i = 0; i < 5; i++) {
        CHECK_OK(hora_queue_poll(queue, &item));
        CHECK_POINTER(item, &items[i]);
    }
    CHECK_ERROR(hora_queue_poll(queue, &item), HORA_EEMPTY);
    CHECK_OK(hora_queue_free(queue));
}
