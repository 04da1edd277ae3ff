/* SPDX-License-Identifier: Apache-2.0 */
/* timers_room.c - memory for timers: more when there is need, less when there is little left */
#include <hora/error.h>

#include "sched/timers.h"
#include "sys/alloc.h"

static int resize(struct hora__timers *timers, int capacity)
{
    if (capacity == timers->capacity)
        return HORA_EFULL;
    struct hora__timer_slot *memory = hora__alloc((size_t)capacity, sizeof *memory);
    if (memory == NULL)
        return HORA_ENOMEM;
    hora__free(hora__timers_move(timers, memory, capacity));
    return 0;
}

int hora__timers_make_room(struct hora__timers *timers)
{
    return hora__timers_is_full(timers) ? resize(timers, hora__timers_larger(timers->capacity)) : 0;
}

void hora__timers_save_room(struct hora__timers *timers)
{
    int smaller = hora__timers_smaller(timers->size + timers->reserved, timers->capacity);
    if (smaller != timers->capacity)
        (void)resize(timers, smaller);
}
