/* SPDX-License-Identifier: Apache-2.0 */
/* delay.c - the delay queue, whose elements can be taken once they are due
 *
 * There are two kinds. If the caller gives the due time when it puts an element, timed.c implements the
 * queue. If the options have a `remaining` callback, this file does. It asks an element for its delay when
 * the element is inserted, but uses the answer only for the order; and not even for that if there is a
 * `compare` callback. To decide whether the first element is due, it asks that element again. serve.c and
 * transfer.c let threads wait for the first element. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/reason.h"
#include "queue/heaped.h"
#include "queue/timed.h"
#include "sync/clock.h"

/* Orders entries by the due time that was computed at their insertion. */
static int compare_due(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context)
{
    (void)context;
    return (a->due > b->due) - (a->due < b->due);
}

/* Returns when an element is due, by its present answer, which is written to *ret_remaining. Reads the clock
 * first: time that passes before the element answers makes the sum too early, and a thread that sleeps until
 * then asks again. In the other order the sum would be too late. */
static hora_ns due_by_asking(hora_queue *queue, const void *item, hora_ns *ret_remaining)
{
    const struct hora__heaped_queue *heaped = hora__heaped_of(queue);
    hora_ns now = hora_clock_now(queue->object.clock);
    *ret_remaining = heaped->remaining(item, heaped->context);
    return hora__ns_add(now, *ret_remaining);
}

/* INT64_MIN: the first element is due now. */
static hora_ns next_due(hora_queue *queue, uint64_t *ret_element)
{
    assert(queue->size > 0);
    const struct hora__heap_entry *first = &hora__heaped_of(queue)->heap.entries[0];
    *ret_element = first->sequence;
    hora_ns remaining;
    hora_ns due = due_by_asking(queue, first->item, &remaining);
    return remaining <= 0 ? INT64_MIN : due;
}

/* Asks the first element whether it is due now. The due time from its insertion does not count: the answer of
 * an element may change. */
static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    struct hora__heaped_queue *heaped = hora__heaped_of(queue);
    hora_ns slack = HORA__FAULT(DELAY_GIVES_EARLY) ? 1 : 0;
    if (heaped->heap.size == 0 || heaped->remaining(heaped->heap.entries[0].item, heaped->context) > slack)
        return NULL;
    void *item = hora__heap_pop(&heaped->heap);
    queue->size = heaped->heap.size;
    return item;
}

/* Inserts an element under the due time that it gives now, which decides its place in the order. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->item != NULL);
    hora_ns remaining;
    put->due = due_by_asking(queue, put->item, &remaining);
    return hora__heaped_push(queue, put, wakes);
}

static const struct hora__queue_kind asked_kind = {
    .push = push,
    .pop = pop,
    .peek = hora__heaped_peek,
    .drain = hora__heaped_drain,
    .find = hora__heaped_find,
    .copy = hora__heaped_copy,
    .next_due = next_due,
    .destroy = hora__heaped_destroy,
    .inserts_always = true,
};

int hora_queue_new_delay(const hora_queue_options *options, hora_queue **ret_queue, hora_error *reason)
{
    hora_queue_options own;
    int error =
        hora__queue_options(&own, options, HORA__ALLOW_COMPARE | HORA__ALLOW_REMAINING, ret_queue, reason);
    if (error < 0)
        return error;
    if (own.compare != NULL && own.remaining == NULL)
        return hora__refuse(reason, HORA_EINVAL, "compare", "compare has no effect without remaining");
    error = own.remaining == NULL
                ? hora__timed_new(&own, ret_queue)
                : hora__heaped_new(&asked_kind, HORA__DEFAULT_CAPACITY, &own,
                                   own.compare != NULL ? hora__heaped_compare_items : compare_due, ret_queue);
    return hora__reason_end(reason, error);
}
