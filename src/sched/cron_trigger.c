/* SPDX-License-Identifier: Apache-2.0 */
/* cron_trigger.c - the times of a cron expression in a zone
 *
 * The only decision is where the search for the next time starts. Spring's four modes are lenient and fixed,
 * each with or without a moment to resume from.
 *
 * First run         If no run took place or was planned, the search starts at the moment to resume from, or
 *                   now.
 * Later runs        In fixed mode the search starts at the planned time of the last run, in lenient mode at
 *                   its end. While missed times are searched, the planned time runs ahead of the end of the
 *                   last run. So in lenient mode the later of the two counts.
 * Clock set back    A time more than a minute ahead of now is from before the clock was set back. It counts
 *                   as if it were just before now. */
#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "base/options.h"
#include "base/reason.h"
#include "sched/trigger.h"
#include "sys/alloc.h"

/* A trigger that returns the times of a cron expression in a zone. */
struct cron_trigger {
    hora_trigger trigger; /* first: they begin at the same address */
    /* A reference. */
    hora_cron *cron;
    /* A reference; NULL: UTC. */
    hora_zone *zone;
    hora_cron_trigger_options options;
};

/* Returns `time`, or the nanosecond before now if `time` is from before the clock was set back. */
static hora_ns not_ahead(const hora_trigger_context *context, hora_ns time)
{
    assert(context != NULL);
    return hora__trigger_is_set_back(context, time) ? hora__ns_sub(context->now, 1) : time;
}

/* Returns the time after which the next one is searched. HORA_NEVER is the least number, so the maximum in
 * lenient mode ignores a time that does not exist. */
static hora_ns base_of(const struct cron_trigger *own, const hora_trigger_context *context)
{
    hora_ns planned = not_ahead(context, context->last_planned);
    hora_ns end = not_ahead(context, context->last_end);
    if (planned == HORA_NEVER && end == HORA_NEVER)
        return own->options.resumes ? own->options.resume_from.ns : context->now;
    return planned == HORA_NEVER || own->options.mode == HORA_CRON_MODE_LENIENT ? hora__ns_max(planned, end)
                                                                                : planned;
}

/* The member `next`. @reboot has one time: now, when the trigger is asked for the first time. */
static hora_ns next_of_cron(const hora_trigger *trigger, const hora_trigger_context *context)
{
    const struct cron_trigger *own = (const struct cron_trigger *)trigger;
    assert(own->cron != NULL);
    if (hora_cron_is_reboot(own->cron))
        return context->last_planned == HORA_NEVER && context->last_end == HORA_NEVER ? context->now
                                                                                      : HORA_FOREVER;
    hora_instant next;
    int found = hora_cron_next(own->cron, own->zone, (hora_instant){base_of(own, context)}, &next);
    return found > 0 ? next.ns : HORA_FOREVER;
}

/* The member `free`: releases expression and zone. */
static void free_cron(hora_trigger *trigger)
{
    struct cron_trigger *own = (struct cron_trigger *)trigger;
    assert(own->cron != NULL);
    (void)hora_cron_unref(own->cron);
    (void)hora_zone_unref(own->zone);
    hora__free(own);
}

/* The member `refresh`. The zone may be shared with other triggers, which then see the new rules as well. */
static int refresh_cron(hora_trigger *trigger)
{
    assert(trigger->has_zone || ((struct cron_trigger *)trigger)->zone == NULL);
    struct cron_trigger *own = (struct cron_trigger *)trigger;
    return own->zone != NULL ? hora_zone_refresh(own->zone) : 0;
}

/* The member `describe`. hora_cron_describe writes, like snprintf, to the unused part of the buffer. It may
 * fail and return a negative code; nothing is appended then. */
static void describe_cron(const hora_trigger *trigger, struct hora__text *text)
{
    const struct cron_trigger *own = (const struct cron_trigger *)trigger;
    assert(own->cron != NULL);
    size_t size = text->length < text->size ? text->size - text->length : 0;
    char *rest = size > 0 ? text->text + text->length : NULL;
    int length = hora_cron_describe(own->cron, own->zone, rest, size);
    text->length += length > 0 ? (size_t)length : 0;
}

/* Also identifies a cron trigger, for hora__cron_trigger_zone. */
static const struct hora__trigger_kind cron_kind = {
    .next = next_of_cron, .free = free_cron, .refresh = refresh_cron, .describe = describe_cron};

const hora_zone *hora__cron_trigger_zone(const hora_trigger *trigger)
{
    return trigger != NULL && trigger->kind == &cron_kind ? ((const struct cron_trigger *)trigger)->zone
                                                          : NULL;
}

/* Takes its own references to expression and zone, so the caller may release them at once. */
int hora_trigger_new_cron(hora_cron *cron, hora_zone *zone, const hora_cron_trigger_options *options,
                          hora_trigger **ret_trigger, hora_error *reason)
{
    hora_cron_trigger_options given;
    hora__reason_begin(reason);
    if (cron == NULL || ret_trigger == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "cron or ret_trigger is NULL");
    if (HORA__TAKE(hora_cron_trigger_options, &given, options) < 0)
        return hora__refuse_size(reason, "hora_cron_trigger_options");
    if ((int)given.mode < 0 || given.mode > HORA_CRON_MODE_FIXED)
        return hora__refuse(reason, HORA_EINVAL, "mode", "mode is %d, which is not a HORA_CRON_MODE_ value",
                            (int)given.mode);
    if (!given.resumes && given.resume_from.ns != 0)
        return hora__refuse(reason, HORA_EINVAL, "resume_from", "resume_from has no effect without resumes");
    struct cron_trigger *own = hora__alloc(1, sizeof *own);
    if (own == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    hora__trigger_init(&own->trigger, &cron_kind);
    own->trigger.is_wall = true;
    own->trigger.needs_wall = true;
    own->trigger.has_zone = zone != NULL;
    /* The time of @reboot depends on when the trigger is asked. */
    own->trigger.names_moments = !hora_cron_is_reboot(cron);
    own->cron = hora_cron_ref(cron);
    own->zone = hora_zone_ref(zone);
    own->options = given;
    *ret_trigger = &own->trigger;
    return 0;
}
