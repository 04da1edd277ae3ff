/* SPDX-License-Identifier: Apache-2.0 */
/* delay_queue.c - elements are taken from a delay queue in the order of their due times, never early
 *
 * Ten elements with random delays below half a second are inserted in arbitrary order. Pass a number as the
 * seed for the delays: delay_queue 7 */
#include <stdio.h>
#include <stdlib.h>

#include <hora/hora.h>

enum { ELEMENTS = 10, LONGEST_DELAY_MS = 500 };

struct element {
    int number;
    hora_ns delay;
    hora_ns due;
};

static int put_all(hora_queue *queue, struct element *elements)
{
    for (int i = 0; i < ELEMENTS; i++) {
        struct element *e = &elements[i];
        e->number = i;
        e->delay = HORA_MS(rand() % LONGEST_DELAY_MS);
        e->due = hora_clock_now(NULL) + e->delay;
        if (hora_queue_put_at(queue, e, e->due) < 0)
            return -1;
        printf("put   element %d, due in %3d ms\n", e->number, (int)(e->delay / HORA_MS(1)));
    }
    return 0;
}

/* Takes all elements. Returns how many were taken too early, or after an element that is due later. */
static int take_all(hora_queue *queue)
{
    int faults = 0;
    hora_ns previous_due = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        void *item;
        if (hora_queue_take(queue, &item) < 0)
            return ELEMENTS;
        const struct element *e = item;
        hora_ns late = hora_clock_now(NULL) - e->due;
        int delay_ms = (int)(e->delay / HORA_MS(1));
        printf("taken element %d, delay %3d ms, late by %d us\n", e->number, delay_ms,
               (int)(late / HORA_US(1)));
        faults += late < 0 || e->due < previous_due;
        previous_due = e->due;
    }
    return faults;
}

int main(int argc, char **argv)
{
    struct element elements[ELEMENTS];
    hora_queue *queue;
    srand(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : (unsigned)hora_clock_now(NULL));
    if (hora_queue_new_delay(NULL, &queue, NULL) < 0 || put_all(queue, elements) < 0)
        return 1;
    int faults = take_all(queue);
    printf("%d elements in order of expiry, %d faults\n", ELEMENTS, faults);
    return faults != 0 || hora_queue_free(queue) < 0;
}
