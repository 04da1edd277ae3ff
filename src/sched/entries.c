/* SPDX-License-Identifier: Apache-2.0 */
/* entries.c - whose an entry of the timer queue is, and chains of entries
 *
 * What is picked out of the timer queue needs memory to be chained with, and must not fail for want of it. What runs once has that where its
 * run is noted later: so it is picked only before that (timer_queue.c, I6). A detached task is picked only to be swept, and has it where its
 * function is. Timers are never picked: see timer_queue_detached.c. */
#include <assert.h>
#include <stddef.h>

#include "sched/detached.h"
#include "sched/scheduled.h"
#include "sched/timer_queue.h"

static_assert(sizeof(struct hora__entry) == 16, "an entry has no padding");

hora_future *hora__entry_future(struct hora__entry *entry)
{
    assert(!entry->is_detached);
    return entry->is_foreign ? hora__foreign_of(entry)->future : &hora__scheduled_of_entry(entry)->future;
}

static struct hora__entry **next_picked(struct hora__entry *entry)
{
    assert(!entry->is_timer); /* its caller may free it at any moment */
    if (entry->is_detached)
        return &hora__detached_of(entry)->next_picked;
    struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    if (scheduled == NULL)
        return &hora__foreign_of(entry)->next_picked;
    return scheduled->series != NULL ? &scheduled->series->next_picked : &scheduled->run.next_picked;
}

#ifndef NDEBUG

/* What runs once and has begun to never waits again: it stays where it RUNS. */
static bool has_run_once(struct hora__entry *entry)
{
    const struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    return scheduled != NULL && scheduled->series == NULL && scheduled->has_begun;
}

#endif

void hora__entries_add(struct hora__entries *entries, struct hora__entry *entry)
{
    assert(!has_run_once(entry)); /* its run is noted where the chain would go */
    if (entries->first == NULL)
        entries->first = entry;
    else
        *next_picked(entries->last) = entry;
    entries->last = entry;
}

struct hora__entry *hora__entries_next(struct hora__entries *entries)
{
    assert(entries != NULL);
    struct hora__entry *first = entries->first;
    if (first != NULL)
        entries->first = first == entries->last ? NULL : *next_picked(first);
    return first;
}
