/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - queues of all five kinds: each element is taken exactly once or dropped exactly once */
#include <stddef.h>
#include <stdio.h>

#include "stress.h"

static int compare_numbers(const void *a, const void *b, void *context)
{
    const struct record *left = a, *right = b;
    (void)context;
    return (left->number > right->number) - (left->number < right->number);
}

static hora_ns remaining(const void *item, void *context)
{
    const struct record *record = item;
    (void)context;
    return record->made_at + record->number % 64 * 4000 - now_ns();
}

void queue_make(void)
{
    static const char *const kinds[] = {"array",    "linked", "synchronous", "fair synchronous",
                                        "priority", "delay",  "asked delay"};
    struct object *object = object_new(OBJECT_QUEUE);
    if (object == NULL)
        return;
    uint32_t kind = random_below(7);
    int capacity = 1 + (int)random_below(6), result = 0;
    hora_queue_options options = *HORA_QUEUE_OPTIONS(.drop = record_drop_element);
    (void)snprintf(object->text, sizeof object->text, "queue %d (%s, %d)", object->number, kinds[kind],
                   capacity);
    doing("making a queue");
    switch (kind) {
    case 0:
        result = hora_queue_new_array(capacity, &options, &object->queue, NULL);
        break;
    case 1:
        result = hora_queue_new_linked(one_in(2) ? capacity : HORA_UNBOUNDED, &options, &object->queue, NULL);
        break;
    case 2:
    case 3:
        options.fair = kind == 3;
        result = hora_queue_new_synchronous(&options, &object->queue, NULL);
        break;
    case 4:
        options.compare = compare_numbers;
        result = hora_queue_new_priority(capacity, &options, &object->queue, NULL);
        break;
    default:
        object->is_delay = kind == 5;
        options.remaining = kind == 6 ? remaining : NULL;
        result = hora_queue_new_delay(&options, &object->queue, NULL);
    }
    if (result < 0) {
        object->queue = NULL;
        object_put(object);
    } else {
        object_publish(object);
    }
}

static void insert(struct object *object)
{
    static const char *const calls[] = {"hora_queue_offer", "hora_queue_put", "hora_queue_offer_for",
                                        "hora_queue_put_delayed"};
    uint32_t way = random_below(object->is_delay ? 4 : 3);
    struct record *record = record_new(KIND_ELEMENT, calls[way], object);
    if (record == NULL)
        return;
    doing(calls[way]);
    int result = way == 0   ? hora_queue_offer(object->queue, record)
                 : way == 1 ? hora_queue_put(object->queue, record)
                 : way == 2 ? hora_queue_offer_for(object->queue, record, random_ns(HORA_US(100)))
                            : hora_queue_put_delayed(object->queue, record, random_ns(HORA_US(200)));
    (void)record_answer(record, result);
    if (result == 0 && one_in(16) && hora_queue_remove(object->queue, record) == 1)
        record_take_element(record);
    doing("");
}

static void extract(struct object *object)
{
    void *item = NULL, *items[8];
    uint32_t way = random_below(8);
    int result;
    doing(way == 0 ? "hora_queue_take" : way == 1 ? "hora_queue_drain" : "hora_queue_poll");
    if (way == 1) {
        result = hora_queue_drain(object->queue, items, 1 + (int)random_below(8));
        for (int i = 0; i < result; i++)
            record_take_element(items[i]);
        return;
    }
    result = way == 0  ? hora_queue_take(object->queue, &item)
             : way < 5 ? hora_queue_poll(object->queue, &item)
                       : hora_queue_poll_for(object->queue, random_ns(HORA_US(100)), &item);
    if (result == 0)
        record_take_element(item);
    else if (item != NULL)
        violation(item, "an element was written, and %s returned", hora_errname(result));
    doing("");
}

static int visit(void *item, void *context)
{
    (void)context;
    return item == NULL;
}

static void look(hora_queue *queue)
{
    void *items[8] = {NULL};
    doing("looking at a queue");
    (void)hora_queue_size(queue);
    (void)hora_queue_remaining_capacity(queue);
    (void)!hora_queue_peek(queue, items);
    (void)!hora_queue_snapshot(queue, items, 8);
    (void)!hora_queue_contains(queue, items[0]);
    (void)hora_queue_for_each(queue, visit, NULL);
    if (one_in(16))
        (void)!hora_queue_fd(queue);
}

void queue_operate(struct object *object)
{
    uint32_t action = random_below(256);
    if (action < 110) {
        insert(object);
    } else if (action < 230) {
        extract(object);
    } else if (action < 240) {
        look(object->queue);
    } else if (action < 242) {
        doing("hora_queue_clear");
        (void)hora_queue_clear(object->queue);
    } else if (action < 250) {
        interrupt_one();
    } else if (action < 251) {
        queue_retire(object);
    } else {
        queue_make();
    }
    doing("");
}

void queue_retire(struct object *object)
{
    (void)hora_queue_close(object->queue);
}

void queue_reap(struct object *object)
{
    void *item = NULL;
    if (object->queue == NULL)
        return;
    doing("the end of a queue");
    while (one_in(2) && hora_queue_poll(object->queue, &item) == 0)
        record_take_element(item);
    int result = hora_queue_free(object->queue);
    if (result < 0)
        violation(NULL, "hora_queue_free of %s returned %s", object->text, hora_errname(result));
    doing("");
}
