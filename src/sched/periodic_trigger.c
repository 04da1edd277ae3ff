/* SPDX-License-Identifier: Apache-2.0 */
/* periodic_trigger.c - a fixed rate, or a fixed delay after each run
 *
 * A rate depends only on the last planned time, a delay on the end of the last run. A delay that is asked
 * before the first run has begun has no other time than the one already planned. If the end of the last run
 * is not known, a delay counts from its planned time. If the clock was set back, a rate continues with its
 * own times by the new clock, and a delay starts anew. */
#include <assert.h>
#include <stddef.h>

#include "base/options.h"
#include "base/reason.h"
#include "sched/plan.h"
#include "sched/trigger.h"
#include "sys/alloc.h"

/* A trigger with a period, in nanoseconds. Its times depend on the runs, so it does not name moments, and
 * it uses the clock of the schedule. */
struct periodic_trigger {
    hora_trigger trigger; /* first: they begin at the same address */
    /* At least 0. */
    hora_ns period;
    /* From the moment when the trigger is first asked to the first run; at least 0. */
    hora_ns initial_delay;
    /* True: the period counts from planned time to planned time. False: from the end of each run. */
    bool at_fixed_rate;
};

/* Returns the time one period after the last planned one. If the clock was set back, that would be far
 * ahead; then the first time on the same grid from now on. */
static hora_ns next_of_rate(const struct periodic_trigger *own, const hora_trigger_context *context)
{
    assert(own->at_fixed_rate && own->period >= 0);
    if (own->period > 0 && hora__trigger_is_set_back(context, context->last_planned))
        return hora__plan_grid(context->last_planned, own->period, context->now);
    return hora__ns_add(context->last_planned, own->period);
}

/* Returns the time one delay after the end of the last run. */
static hora_ns next_of_gap(const struct periodic_trigger *own, const hora_trigger_context *context)
{
    assert(!own->at_fixed_rate && own->period >= 0);
    /* No run has begun: the trigger is asked which times have passed, and there is only the planned one. */
    if (context->last_end == HORA_NEVER && context->runs == 0)
        return context->last_planned;
    hora_ns end = context->last_end != HORA_NEVER ? context->last_end : context->last_planned;
    return hora__ns_add(hora__trigger_is_set_back(context, end) ? context->now : end, own->period);
}

/* The member `next`. */
static hora_ns next_of_period(const hora_trigger *trigger, const hora_trigger_context *context)
{
    const struct periodic_trigger *own = (const struct periodic_trigger *)trigger;
    if (context->last_planned == HORA_NEVER)
        return hora__ns_add(context->now, own->initial_delay);
    return own->at_fixed_rate ? next_of_rate(own, context) : next_of_gap(own, context);
}

/* The member next_from: continues on the grid of the answer, without visiting each time. With a period of
 * 0 every time is one of the trigger's. */
static hora_ns next_from(const hora_trigger *trigger, hora_ns answer, hora_ns from)
{
    assert(answer < from);
    const struct periodic_trigger *own = (const struct periodic_trigger *)trigger;
    return own->period > 0 ? hora__plan_grid(answer, own->period, from) : from;
}

static void free_periodic(hora_trigger *trigger)
{
    hora__free(trigger);
}

/* The last unit, 1 ns, divides every span, so the search ends. 0 is written in seconds. */
void hora__text_add_span(struct hora__text *text, hora_ns span)
{
    assert(span >= 0);
    static const struct {
        hora_ns size;
        const char *name;
    } units[] = {{HORA_HOURS(24), " d"},
                 {HORA_HOURS(1), " h"},
                 {HORA_MINUTES(1), " min"},
                 {HORA_SECONDS(1), " s"},
                 {HORA_MS(1), " ms"},
                 {HORA_US(1), " us"},
                 {1, " ns"}};
    size_t i = 0;
    while (span % units[i].size != 0)
        i++;
    if (span == 0)
        i = 3;
    hora__text_add_int(text, span / units[i].size);
    hora__text_add(text, units[i].name);
}

/* The member `describe`, for example "every 5 s, first after 1 min" or "5 s after each run". */
static void describe_periodic(const hora_trigger *trigger, struct hora__text *text)
{
    const struct periodic_trigger *own = (const struct periodic_trigger *)trigger;
    assert(own->period >= 0 && own->initial_delay >= 0);
    if (own->at_fixed_rate)
        hora__text_add(text, "every ");
    hora__text_add_span(text, own->period);
    if (!own->at_fixed_rate)
        hora__text_add(text, " after each run");
    if (own->initial_delay > 0) {
        hora__text_add(text, ", first after ");
        hora__text_add_span(text, own->initial_delay);
    }
}

static const struct hora__trigger_kind periodic_kind = {
    .next = next_of_period, .next_from = next_from, .free = free_periodic, .describe = describe_periodic};

/* All flags stay false: the times follow the clock of the schedule and depend on the runs. */
int hora_trigger_new_periodic(hora_ns period, const hora_periodic_trigger_options *options,
                              hora_trigger **ret_trigger, hora_error *reason)
{
    hora_periodic_trigger_options given;
    hora__reason_begin(reason);
    if (ret_trigger == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_trigger is NULL");
    if (period < 0)
        return hora__refuse(reason, HORA_EINVAL, "period", "the period is negative");
    if (HORA__TAKE(hora_periodic_trigger_options, &given, options) < 0)
        return hora__refuse_size(reason, "hora_periodic_trigger_options");
    if (given.initial_delay < 0)
        return hora__refuse(reason, HORA_EINVAL, "initial_delay", "initial_delay is negative");
    struct periodic_trigger *own = hora__alloc(1, sizeof *own);
    if (own == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    hora__trigger_init(&own->trigger, &periodic_kind);
    own->period = period;
    own->initial_delay = given.initial_delay;
    own->at_fixed_rate = given.fixed_rate;
    *ret_trigger = &own->trigger;
    return 0;
}
