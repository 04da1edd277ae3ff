/* SPDX-License-Identifier: Apache-2.0 */
/* trigger.c - operations that all triggers share, and the trigger that calls a function
 *
 * A trigger is immutable and reference-counted, so the operations need no lock. Each kind of trigger is a
 * struct that begins with a hora_trigger and has a table of functions, struct hora__trigger_kind; see
 * cron_trigger.c, periodic_trigger.c, instants_trigger.c, composed_trigger.c and calendar.c. */
#include "sched/trigger.h"

#include <assert.h>
#include <stddef.h>

#include "base/options.h"
#include "sys/alloc.h"

void hora__trigger_init(hora_trigger *trigger, const struct hora__trigger_kind *kind)
{
    assert(kind->next != NULL && kind->free != NULL && kind->describe != NULL);
    hora__atomic_init(&trigger->refs, 1);
    trigger->kind = kind;
}

/* The assertion finds a caller that uses a trigger without owning a reference. */
hora_trigger *hora_trigger_ref(hora_trigger *trigger)
{
    if (trigger != NULL) {
        int32_t before = hora__atomic_add(&trigger->refs, 1);
        assert(before > 0);
        (void)before;
    }
    return trigger;
}

/* The count is atomic, so exactly one thread sees the last reference go and frees the trigger. */
hora_trigger *hora_trigger_unref(hora_trigger *trigger)
{
    if (trigger != NULL) {
        int32_t before = hora__atomic_add(&trigger->refs, -1);
        assert(before > 0);
        if (before == 1)
            trigger->kind->free(trigger);
    }
    return NULL;
}

/* Copies the context first, because the caller's may be of an older, smaller version of the struct. */
hora_ns hora_trigger_next(const hora_trigger *trigger, const hora_trigger_context *context)
{
    hora_trigger_context own;
    if (trigger == NULL || context == NULL || HORA__TAKE(hora_trigger_context, &own, context) < 0)
        return HORA_NEVER;
    hora_ns next = trigger->kind->next(trigger, &own);
    return next == HORA_FOREVER ? HORA_NEVER : next;
}

/* Users return HORA_NEVER, the least number, for no time. The library uses HORA_FOREVER, the greatest. */
hora_ns hora__next_of(hora_next_fn next, const hora_trigger_context *context, void *arg)
{
    assert(next != NULL);
    hora_ns answer = next(context, arg);
    return answer == HORA_NEVER ? HORA_FOREVER : answer;
}

/* Returns a context as if all times before `from` had been run, so that the next answer is at or after
 * `from`. */
static hora_trigger_context context_from(const hora_trigger_context *context, hora_ns from)
{
    hora_ns before = hora__ns_sub(from, 1);
    return (hora_trigger_context){.struct_size = sizeof(hora_trigger_context),
                                  .clock = context->clock,
                                  .now = before,
                                  .last_planned = before,
                                  .last_start = before,
                                  .last_end = before,
                                  .runs = context->runs};
}

/* Asking from `answer + 1` makes a trigger that depends on the runs move on by just one time. */
hora_ns hora__trigger_next_from(const hora_trigger *trigger, const hora_trigger_context *context,
                                hora_ns answer, hora_ns from)
{
    assert(answer < from);
    if (trigger->kind->next_from != NULL)
        return trigger->kind->next_from(trigger, answer, from);
    hora_trigger_context then = context_from(context, trigger->names_moments ? from : answer + 1);
    return trigger->kind->next(trigger, &then);
}

/* The assertions check the two invariants of trigger.h. */
bool hora_trigger_is_wall(const hora_trigger *trigger)
{
    assert(trigger == NULL || trigger->is_wall || !trigger->needs_wall);       /* T1 */
    assert(trigger == NULL || trigger->needs_wall || !trigger->names_moments); /* T2 */
    return trigger != NULL && trigger->is_wall;
}

int hora_trigger_refresh(hora_trigger *trigger)
{
    if (trigger == NULL)
        return HORA_EINVAL;
    return trigger->kind->refresh != NULL ? trigger->kind->refresh(trigger) : 0;
}

/* ---- in words ---- */

/* Returns the length of the whole text, even if the buffer was too small for it. */
int hora_trigger_describe(const hora_trigger *trigger, char *text, size_t size)
{
    if (trigger == NULL || (text == NULL && size != 0))
        return HORA_EINVAL;
    struct hora__text whole = hora__text_begin(text, size);
    trigger->kind->describe(trigger, &whole);
    return hora__text_end(&whole);
}

/* ---- a function ---- */

/* A trigger that calls a function of the user. */
struct function_trigger {
    hora_trigger trigger; /* first: they begin at the same address */
    hora_next_fn next;
    void *arg;
    /* Called with `arg` when the trigger is freed; NULL: nothing to do. */
    void (*drop)(void *arg);
};

/* The member `next` of a function trigger. */
static hora_ns next_of_function(const hora_trigger *trigger, const hora_trigger_context *context)
{
    assert(context != NULL);
    const struct function_trigger *own = (const struct function_trigger *)trigger;
    return hora__next_of(own->next, context, own->arg);
}

/* The member `free`: gives the argument back to the user's drop function. */
static void free_function(hora_trigger *trigger)
{
    struct function_trigger *own = (struct function_trigger *)trigger;
    if (own->drop != NULL)
        own->drop(own->arg);
    hora__free(own);
}

/* The member `describe`. The library knows nothing about the function. */
static void describe_function(const hora_trigger *trigger, struct hora__text *text)
{
    (void)trigger;
    hora__text_add(text, "at times given by a function");
}

static const struct hora__trigger_kind function_kind = {
    .next = next_of_function, .free = free_function, .describe = describe_function};

/* It has no zone as far as the library knows, and may depend on the runs, so only is_wall is set. */
int hora_trigger_new(hora_next_fn next, void *arg, void (*drop)(void *arg), hora_trigger **ret_trigger)
{
    if (next == NULL || ret_trigger == NULL)
        return HORA_EINVAL;
    struct function_trigger *own = hora__alloc(1, sizeof *own);
    if (own == NULL)
        return HORA_ENOMEM;
    hora__trigger_init(&own->trigger, &function_kind);
    own->trigger.is_wall = true;
    own->next = next;
    own->arg = arg;
    own->drop = drop;
    *ret_trigger = &own->trigger;
    return 0;
}
