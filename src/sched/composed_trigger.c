/* SPDX-License-Identifier: Apache-2.0 */
/* composed_trigger.c - triggers made of others: the first of several, all of several
 *
 * First of          Returns the earliest answer of all triggers.
 * All of            The latest answer is a candidate. The triggers are asked in turn for their first time at
 *                   or after the candidate. An answer after it is the new candidate. The search ends when all
 *                   triggers in a row have returned the same time. It takes as many rounds as there are
 *                   moments that one trigger names and another does not, so the rounds are limited. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/trigger.h"
#include "sys/alloc.h"

/* A trigger made of several others, for "first of" and "all of". */
struct composed_trigger {
    hora_trigger trigger; /* first: they begin at the same address */
    size_t count;
    /* `count` triggers, with a reference to each. */
    hora_trigger *parts[];
};

/* The member `free`: releases the parts. */
static void free_composed(hora_trigger *trigger)
{
    struct composed_trigger *own = (struct composed_trigger *)trigger;
    assert(own->count > 0);
    for (size_t i = 0; i < own->count; i++)
        (void)hora_trigger_unref(own->parts[i]);
    hora__free(own);
}

/* Refreshes all parts, even after an error. Returns 1 if rules have changed, 0 if not, or the first error. */
static int refresh_composed(hora_trigger *trigger)
{
    struct composed_trigger *own = (struct composed_trigger *)trigger;
    int result = 0;
    for (size_t i = 0; i < own->count; i++)
        result = hora__trigger_join(result, hora_trigger_refresh(own->parts[i]));
    return result;
}

/* Appends `what` and the descriptions of all parts. */
static void describe_parts(const hora_trigger *trigger, const char *what, struct hora__text *text)
{
    const struct composed_trigger *own = (const struct composed_trigger *)trigger;
    assert(own->count > 0);
    hora__text_add(text, what);
    for (size_t i = 0; i < own->count; i++) {
        if (i > 0)
            hora__text_add(text, "; ");
        own->parts[i]->kind->describe(own->parts[i], text);
    }
}

/* Makes a trigger of several others and takes a reference to each. It is on the wall clock, needs it or
 * has a zone if any part is or does; it names moments only if all parts do. HORA_ENOMEM. */
static int compose(hora_trigger *const *triggers, size_t count, const struct hora__trigger_kind *kind,
                   hora_trigger **ret_trigger)
{
    assert(count > 0 && kind != NULL);
    /* The size of the allocation would overflow. */
    if (count > (SIZE_MAX - sizeof(struct composed_trigger)) / sizeof(hora_trigger *))
        return HORA_ENOMEM;
    struct composed_trigger *own = hora__alloc(1, sizeof *own + count * sizeof(hora_trigger *));
    if (own == NULL)
        return HORA_ENOMEM;
    hora__trigger_init(&own->trigger, kind);
    own->trigger.names_moments = true;
    for (size_t i = 0; i < count; i++) {
        own->parts[i] = hora_trigger_ref(triggers[i]);
        own->trigger.is_wall |= triggers[i]->is_wall;
        own->trigger.needs_wall |= triggers[i]->needs_wall;
        own->trigger.has_zone |= triggers[i]->has_zone;
        own->trigger.names_moments &= triggers[i]->names_moments;
    }
    own->count = count;
    *ret_trigger = &own->trigger;
    return 0;
}

/* Returns whether there is at least one trigger and none is NULL. */
static bool are_there(hora_trigger *const *triggers, size_t count)
{
    if (triggers == NULL || count == 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (triggers[i] == NULL)
            return false;
    return true;
}

/* ---- the first of several ---- */

/* The member `next` of "first of". Every part sees the same context, whichever part caused the last run. */
static hora_ns next_of_first(const hora_trigger *trigger, const hora_trigger_context *context)
{
    const struct composed_trigger *own = (const struct composed_trigger *)trigger;
    assert(own->count > 0);
    hora_ns first = HORA_FOREVER;
    for (size_t i = 0; i < own->count; i++) {
        hora_ns next = own->parts[i]->kind->next(own->parts[i], context);
        first = next < first ? next : first;
    }
    return first;
}

static void describe_first(const hora_trigger *trigger, struct hora__text *text)
{
    describe_parts(trigger, "the first of: ", text);
}

static const struct hora__trigger_kind first_kind = {
    .next = next_of_first, .free = free_composed, .refresh = refresh_composed, .describe = describe_first};

int hora_trigger_new_first_of(hora_trigger *const *triggers, size_t count, hora_trigger **ret_trigger)
{
    if (!are_there(triggers, count) || ret_trigger == NULL)
        return HORA_EINVAL;
    return compose(triggers, count, &first_kind, ret_trigger);
}

/* ---- all of several ---- */

/* The member `next` of "all of". Gives up with HORA_FOREVER after HORA__TRIGGER_TRIES candidates. */
static hora_ns next_of_all(const hora_trigger *trigger, const hora_trigger_context *context)
{
    const struct composed_trigger *own = (const struct composed_trigger *)trigger;
    assert(own->count > 0 && trigger->names_moments);
    /* No common time can be before the latest of the first answers. */
    hora_ns candidate = own->parts[0]->kind->next(own->parts[0], context);
    for (size_t i = 1; i < own->count; i++) {
        hora_ns next = own->parts[i]->kind->next(own->parts[i], context);
        candidate = next > candidate ? next : candidate;
    }
    /* The number of parts before `at`, in cyclic order, that have just returned the candidate. */
    size_t agree = 0;
    size_t at = 0;
    for (int tries = 0; agree < own->count; at = (at + 1) % own->count) {
        if (candidate == HORA_FOREVER || tries == HORA__TRIGGER_TRIES)
            return HORA_FOREVER;
        /* Every part names moments, so this is the first time at or after the candidate. */
        hora_ns next = hora__trigger_next_from(own->parts[at], context, candidate - 1, candidate);
        assert(next >= candidate);
        tries += next > candidate ? 1 : 0;
        /* A new candidate starts with the agreement of the part that named it. */
        agree = next == candidate ? agree + 1 : 1;
        candidate = next;
    }
    return candidate;
}

static void describe_all(const hora_trigger *trigger, struct hora__text *text)
{
    describe_parts(trigger, "all of: ", text);
}

static const struct hora__trigger_kind all_kind = {
    .next = next_of_all, .free = free_composed, .refresh = refresh_composed, .describe = describe_all};

/* Refuses triggers that cannot be asked for their times after an arbitrary moment, since the search needs
 * that. */
int hora_trigger_new_all_of(hora_trigger *const *triggers, size_t count, hora_trigger **ret_trigger)
{
    if (!are_there(triggers, count) || ret_trigger == NULL)
        return HORA_EINVAL;
    for (size_t i = 0; i < count; i++)
        if (!triggers[i]->names_moments)
            return HORA_EINVAL;
    return compose(triggers, count, &all_kind, ret_trigger);
}
