/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_contents.c - removal from the middle, the ends and across the ring's seam, against a plain list */
#include <string.h>

#include "kinds.h"

enum { CAPACITY = 4, STEPS = 24 };

static hora_queue *queue;
static void *model[CAPACITY];
static int model_size;

static void model_remove(int i)
{
    memmove(&model[i], &model[i + 1], (size_t)(model_size - i - 1) * sizeof model[0]);
    model_size--;
}

static int model_find(const void *item)
{
    for (int i = 0; i < model_size; i++)
        if (model[i] == item)
            return i;
    return -1;
}

static void compare(void)
{
    void *items[CAPACITY + 1];
    CHECK_INT(hora_queue_snapshot(queue, items, CAPACITY + 1), model_size);
    for (int i = 0; i < model_size; i++)
        CHECK_POINTER(items[i], model[i]);
    CHECK_POINTER(items[model_size], NULL);
}

static void random_step(void)
{
    void *item = &kinds_values[test_random(8)];
    int at = model_find(item);
    if (test_random(2) == 0) {
        CHECK_ERROR(hora_queue_offer(queue, item), model_size < CAPACITY ? 0 : HORA_EFULL);
        if (model_size < CAPACITY)
            model[model_size++] = item;
    } else if (test_random(3) == 0) {
        int error = hora_queue_poll(queue, &item);
        CHECK_ERROR(error, model_size > 0 ? 0 : HORA_EEMPTY);
        if (error == 0) {
            CHECK_POINTER(item, model[0]);
            model_remove(0);
        }
    } else {
        CHECK_INT(hora_queue_contains(queue, item), at >= 0);
        CHECK_INT(hora_queue_remove(queue, item), at >= 0);
        if (at >= 0)
            model_remove(at);
    }
    compare();
}

static void follow_model(void)
{
    model_size = 0;
    for (int i = 0; i < STEPS; i++)
        random_step();
    CHECK_OK(hora_queue_free(queue));
}

SCENARIO(array_follows_a_plain_list)
{
    CHECK_OK(hora_queue_new_array(CAPACITY, NULL, &queue, NULL));
    follow_model();
}

SCENARIO(linked_follows_a_plain_list)
{
    CHECK_OK(hora_queue_new_linked(CAPACITY, NULL, &queue, NULL));
    follow_model();
}
