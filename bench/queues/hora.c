/* SPDX-License-Identifier: Apache-2.0 */
/* hora.c - hora's queues, latch and parker */
#include <stdlib.h>

#include <hora/hora.h>

#include "queues.h"
#include "sys/parker.h"

static int compare_priorities(const void *a, const void *b, void *context)
{
    const struct item *x = a;
    const struct item *y = b;
    (void)context;
    return (x->priority > y->priority) - (x->priority < y->priority);
}

static hora_ns remaining_delay(const void *item, void *context)
{
    const struct item *i = item;
    (void)context;
    return i->due_ns - hora_clock_now(NULL);
}

static int compare_due_times(const void *a, const void *b, void *context)
{
    const struct item *x = a;
    const struct item *y = b;
    (void)context;
    return (x->due_ns > y->due_ns) - (x->due_ns < y->due_ns);
}

static void *queue_new(enum queue_kind kind, int capacity, bool fair)
{
    hora_queue *queue = NULL;
    int made = HORA_EINVAL;
    switch (kind) {
    case ARRAY:
        made = hora_queue_new_array(capacity, NULL, &queue, NULL);
        break;
    case LINKED:
        made = hora_queue_new_linked(capacity, NULL, &queue, NULL);
        break;
    case SYNCHRONOUS:
        made = hora_queue_new_synchronous(HORA_QUEUE_OPTIONS(.fair = fair), &queue, NULL);
        break;
    case PRIORITY:
        made = hora_queue_new_priority(0, HORA_QUEUE_OPTIONS(.compare = compare_priorities), &queue, NULL);
        break;
    case DELAY: /* with callbacks for the delay, as in the JDK */
        made = hora_queue_new_delay(
            HORA_QUEUE_OPTIONS(.remaining = remaining_delay, .compare = compare_due_times), &queue, NULL);
        break;
    }
    MUST(made == 0);
    return queue;
}

static void queue_free(void *queue)
{
    MUST(hora_queue_free(queue) == 0);
}

static void put(void *queue, struct item *item)
{
    MUST(hora_queue_put(queue, item) == 0);
}

static struct item *take(void *queue)
{
    void *item;
    MUST(hora_queue_take(queue, &item) == 0);
    return item;
}

static bool offer(void *queue, struct item *item)
{
    return hora_queue_offer(queue, item) == 0;
}

static struct item *poll(void *queue)
{
    void *item;
    return hora_queue_poll(queue, &item) == 0 ? item : NULL;
}

static void *latch_new(int count)
{
    hora_latch *latch;
    MUST(hora_latch_new(count, NULL, &latch, NULL) == 0);
    return latch;
}

static void latch_free(void *latch)
{
    MUST(hora_latch_free(latch) == 0);
}

static void count_down(void *latch)
{
    MUST(hora_latch_count_down(latch) == 0);
}

static void await(void *latch)
{
    MUST(hora_latch_await(latch) == 0);
}

static void *parker_new(void)
{
    hora__parker *parker = malloc(sizeof(*parker));
    MUST(parker != NULL && hora__parker_init(parker) == 0);
    return parker;
}

static void parker_free(void *parker)
{
    hora__parker_destroy(parker);
    free(parker);
}

static void park(void *parker)
{
    hora__park(parker, HORA__MONOTONIC, INT64_MAX);
}

static void unpark(void *parker)
{
    hora__unpark(parker);
}

const struct subject hora_subject = {
    .name = "hora",
    .queue_new = queue_new,
    .queue_free = queue_free,
    .put = put,
    .take = take,
    .offer = offer,
    .poll = poll,
    .latch_new = latch_new,
    .latch_free = latch_free,
    .count_down = count_down,
    .await = await,
    .parker_new = parker_new,
    .parker_free = parker_free,
    .park = park,
    .unpark = unpark,
    .interrupted = hora_interrupted,
};
