/* SPDX-License-Identifier: Apache-2.0 */
/* selection.h - the first few of many, in order, without memory of its own
 *
 * The items are a heap of the first `max` seen so far, the last of them on top. */
#ifndef HORA_SCHED_SELECTION_H
#define HORA_SCHED_SELECTION_H

#include <stdbool.h>

struct hora__selection {
    bool (*is_before)(const void *a, const void *b, void *context);
    void *context;
    void **items;
    int max; /* at least 1 */
    int count;
};

/* Here is one more. */
void hora__selection_add(struct hora__selection *selection, void *item);

/* There are no more: bring those that were selected into their order. How many they are. */
int hora__selection_sort(struct hora__selection *selection);

#endif
