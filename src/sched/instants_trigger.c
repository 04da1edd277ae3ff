/* SPDX-License-Identifier: Apache-2.0 */
/* instants_trigger.c - a trigger of given moments, each of which occurs once, even if the clock is set back
 *
 * Invariants        I1 the moments are in strictly rising order. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/trigger.h"
#include "sys/alloc.h"

/* A trigger that returns given moments of the wall clock, one after the other. */
struct instants_trigger {
    hora_trigger trigger; /* first: they begin at the same address */
    size_t count;
    /* `count` moments, at least one, in the order of I1. */
    hora_ns moments[];
};

/* Returns the first moment after `time`; HORA_FOREVER if there is none. Binary search: all moments below
 * `low` are not after `time`, all from `high` on are. */
static hora_ns first_after(const struct instants_trigger *own, hora_ns time)
{
    assert(own->count > 0);
    size_t low = 0, high = own->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (own->moments[middle] > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low < own->count ? own->moments[low] : HORA_FOREVER;
}

/* The member `next`. The first run may be at a moment that equals now. After that only the last planned
 * time counts and not the clock, so a clock that is set back does not repeat a moment. */
static hora_ns next_of_instants(const hora_trigger *trigger, const hora_trigger_context *context)
{
    assert(context != NULL);
    const struct instants_trigger *own = (const struct instants_trigger *)trigger;
    return first_after(own, context->last_planned != HORA_NEVER ? context->last_planned
                                                                : hora__ns_sub(context->now, 1));
}

static void free_instants(hora_trigger *trigger)
{
    hora__free(trigger);
}

/* The member `describe`: names the only moment, or the first one and the number of all. */
static void describe_instants(const hora_trigger *trigger, struct hora__text *text)
{
    const struct instants_trigger *own = (const struct instants_trigger *)trigger;
    assert(own->count > 0);
    char moment[HORA_INSTANT_TEXT];
    hora_instant_format((hora_instant){own->moments[0]}, NULL, false, moment, sizeof moment);
    hora__text_add(text, "at ");
    if (own->count > 1) {
        hora__text_add_number(text, own->count, 1);
        hora__text_add(text, " moments, the first at ");
    }
    hora__text_add(text, moment);
}

static const struct hora__trigger_kind instants_kind = {
    .next = next_of_instants, .free = free_instants, .describe = describe_instants};

/* ---- sorting: heapsort, which needs no memory and has no bad case ---- */

/* Restores the heap, whose root is the latest moment, after the moment at `at` has changed. */
static void sift_down(hora_ns *moments, size_t at, size_t count)
{
    assert(at < count);
    for (;;) {
        size_t latest = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (moments[child] > moments[latest])
                latest = child;
        if (latest == at)
            return;
        hora_ns moment = moments[at];
        moments[at] = moments[latest];
        moments[latest] = moment;
        at = latest;
    }
}

/* Sorts the moments in rising order. */
static void sort(hora_ns *moments, size_t count)
{
    /* Make a heap of all moments. */
    for (size_t i = count / 2; i > 0; i--)
        sift_down(moments, i - 1, count);
    /* Move the latest of the remaining moments to the end. */
    for (size_t left = count; left > 1; left--) {
        hora_ns moment = moments[0];
        moments[0] = moments[left - 1];
        moments[left - 1] = moment;
        sift_down(moments, 0, left - 1);
    }
}

/* Removes duplicates from sorted moments. Returns how many moments are left. */
static size_t drop_twins(hora_ns *moments, size_t count)
{
    assert(count > 0);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (moments[i] != moments[kept - 1])
            moments[kept++] = moments[i];
    return kept;
}

/* Copies, sorts and removes duplicates, so that the caller may give the instants in any order. */
int hora_trigger_new_instants(const hora_instant *instants, size_t count, hora_trigger **ret_trigger)
{
    if (instants == NULL || count == 0 || ret_trigger == NULL)
        return HORA_EINVAL;
    /* The size of the allocation would overflow. */
    if (count > (SIZE_MAX - sizeof(struct instants_trigger)) / sizeof(hora_ns))
        return HORA_ENOMEM;
    struct instants_trigger *own = hora__alloc(1, sizeof *own + count * sizeof(hora_ns));
    if (own == NULL)
        return HORA_ENOMEM;
    hora__trigger_init(&own->trigger, &instants_kind);
    own->trigger.is_wall = true;
    own->trigger.needs_wall = true;
    own->trigger.names_moments = true;
    for (size_t i = 0; i < count; i++)
        own->moments[i] = instants[i].ns;
    sort(own->moments, count);
    own->count = drop_twins(own->moments, count); /* I1 */
    assert(own->count > 0 && own->count <= count);
    *ret_trigger = &own->trigger;
    return 0;
}
