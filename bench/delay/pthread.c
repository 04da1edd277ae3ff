/* SPDX-License-Identifier: Apache-2.0 */
/* pthread.c - the plain delay queue of queues/pthread.c: a binary heap, a mutex and a condition */
#include <stddef.h>

#include "../queues/queues.h"
#include "delay.h"

static void *queue;

void delay_open(void)
{
    queue = pthread_subject.queue_new(DELAY, 0, false);
}

void delay_put(struct item *item)
{
    pthread_subject.put(queue, item);
}

struct item *delay_take(void)
{
    return pthread_subject.take(queue);
}

void delay_close(void)
{
    pthread_subject.queue_free(queue);
}
