/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c - see kinds.h */
#include "kinds.h"

int kinds_values[8] = {0, 1, 2, 3, 4, 5, 6, 7};

static int detached(const void *a, const void *b, void *context)
{
    (void)context;
    int left = *(const int *)a;
    int right = *(const int *)b;
    return (left > right) - (left < right);
}

int kinds_new(enum kind kind, const hora_clock *clock, void (*drop)(void *item), hora_queue **ret_queue)
{
    hora_queue_options options = HORA_INIT(hora_queue_options);
    options.clock = clock;
    options.drop = drop;
    switch (kind) {
    case ARRAY:
        return hora_queue_new_array(1, &options, ret_queue, NULL);
    case LINKED:
        return hora_queue_new_linked(1, &options, ret_queue, NULL);
    case FAIR:
        options.fair = true;
        return hora_queue_new_synchronous(&options, ret_queue, NULL);
    case UNFAIR:
        return hora_queue_new_synchronous(&options, ret_queue, NULL);
    case PRIORITY:
        options.compare = detached;
        return hora_queue_new_priority(1, &options, ret_queue, NULL);
    case DELAY:
    case KINDS:
    default:
        return hora_queue_new_delay(&options, ret_queue, NULL);
    }
}
