/* SPDX-License-Identifier: Apache-2.0 */
/* hora.c - hora's delay queue, with due times that the producer passes to hora_queue_put_at */
#include <hora/hora.h>

#include "delay.h"

static hora_queue *queue;

void delay_open(void)
{
    MUST(hora_queue_new_delay(NULL, &queue, NULL) == 0);
}

void delay_put(struct item *item)
{
    MUST(hora_queue_put_at(queue, item, item->due_ns) == 0);
}

struct item *delay_take(void)
{
    void *item;
    MUST(hora_queue_take(queue, &item) == 0);
    return item;
}

void delay_close(void)
{
    MUST(hora_queue_free(queue) == 0);
}
