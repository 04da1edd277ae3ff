/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - the arithmetic of schedules
 *
 * Rates        Planned times are planned + k * every. When the task is looked at, those with k = 0 .. last have passed. Of these
 *              the first ones may be beyond the grace period; of the rest the rule for missed runs takes one to begin with, and
 *              whatever comes before that one is skipped. What comes after it will be looked at again after the run.
 * Functions    The same, but the times are only known one by one: so the function is asked for the next until it
 *              answers with one that lies ahead. An answer that does not move on ends the search.
 * Saturation   A sum that would overflow is HORA_FOREVER, which never comes. */
#include "sched/plan.h"

#include <assert.h>
#include <stddef.h>

#include "base/ns.h"

/* The least k >= 0 for which `now` is not more than grace after planned + k * every. */
static int64_t first_in_grace(const hora_schedule_spec *spec, hora_ns every, hora_ns planned, hora_ns now)
{
    hora_ns late = hora__ns_sub(now, planned);
    if (spec->grace == 0 || late <= spec->grace)
        return 0;
    return (late - spec->grace - 1) / every + 1;
}

static hora_ns at(hora_ns planned, hora_ns every, int64_t k)
{
    int64_t distance;
    hora_ns time; /* a distance of INT64_MAX may well end at a time that can be counted: so this is no hora__ns_add */
    if (__builtin_mul_overflow(every, k, &distance) || __builtin_add_overflow(planned, distance, &time))
        return HORA_FOREVER;
    return time;
}

int64_t hora__plan_passed(hora_ns planned, hora_ns every, hora_ns now)
{
    assert(every > 0);
    return now < planned ? 0 : hora__ns_add(hora__ns_sub(now, planned) / every, 1); /* neither distance nor sum wraps */
}

hora_ns hora__plan_grid(hora_ns planned, hora_ns every, hora_ns from)
{
    if (from <= planned) {
        hora_ns back = hora__ns_sub(planned, from) / every * every;
        return planned - back;
    }
    return at(planned, every, (hora__ns_sub(from, planned) - 1) / every + 1);
}

struct hora__chance hora__plan_rate(const hora_schedule_spec *spec, hora_ns every, hora_ns planned, hora_ns now)
{
    int64_t last = hora__plan_passed(planned, every, now) - 1;
    int64_t first = first_in_grace(spec, every, planned, now);
    assert(last >= 0);
    int64_t k = first;
    if (spec->missed == HORA_MISSED_ONCE && last > first)
        k = last;
    if (spec->missed == HORA_MISSED_SKIP && last > 0)
        k = last + 1;
    if (spec->missed == HORA_MISSED_AT_MOST && last - spec->missed_max + 1 > first)
        k = last - spec->missed_max + 1;
    return (struct hora__chance){.runs = k <= last, .planned = at(planned, every, k), .skipped = k};
}

static hora_ns ask(const hora_schedule_spec *spec, const hora_trigger_context *context, hora_ns planned)
{
    hora_trigger_context then = *context;
    then.last_planned = planned;
    return spec->next(&then, spec->next_arg);
}

/* How many times after `planned` have passed as well. */
static int64_t count_asked(const hora_schedule_spec *spec, const hora_trigger_context *context, hora_ns planned)
{
    int64_t passed = 0;
    for (;;) {
        hora_ns next = ask(spec, context, planned);
        if (next > context->now || next <= planned)
            return passed;
        planned = next;
        passed++;
    }
}

static bool is_too_late(const hora_schedule_spec *spec, hora_ns planned, hora_ns now)
{
    return spec->grace > 0 && hora__ns_sub(now, planned) > spec->grace;
}

struct hora__chance hora__plan_asked(const hora_schedule_spec *spec, const hora_trigger_context *context,
                                     hora_ns planned)
{
    int64_t last = spec->missed == HORA_MISSED_BURST ? 0 : count_asked(spec, context, planned);
    int64_t k = 0;
    int64_t aim = 0;
    if (spec->missed == HORA_MISSED_ONCE)
        aim = last;
    if (spec->missed == HORA_MISSED_SKIP && last > 0)
        aim = last + 1;
    if (spec->missed == HORA_MISSED_AT_MOST && last >= spec->missed_max)
        aim = last - spec->missed_max + 1;
    while (planned <= context->now && (k < aim || is_too_late(spec, planned, context->now))) {
        hora_ns next = ask(spec, context, planned);
        if (next <= planned)
            break;
        planned = next;
        k++;
    }
    return (struct hora__chance){.runs = planned <= context->now, .planned = planned, .skipped = k};
}

struct hora__chance hora__plan_single(const hora_schedule_spec *spec, hora_ns planned, hora_ns now)
{
    if (is_too_late(spec, planned, now))
        return (struct hora__chance){.runs = false, .planned = HORA_FOREVER, .skipped = 1};
    return (struct hora__chance){.runs = true, .planned = planned, .skipped = 0};
}

enum { BACK_OFF_S = 1, BACK_OFF_MAX_S = 300 };

hora_ns hora__plan_pause(const hora_schedule_spec *spec, int64_t failures)
{
    hora_ns first = spec->back_off > 0 ? spec->back_off : HORA_SECONDS(BACK_OFF_S);
    hora_ns most = spec->back_off_max > 0 ? spec->back_off_max : HORA_SECONDS(BACK_OFF_MAX_S);
    double factor = spec->back_off_factor > 0 ? spec->back_off_factor : 2;
    if (most < first)
        most = first;
    double pause = (double)first;
    for (int64_t i = 1; i < failures && pause < (double)most && factor > 1; i++)
        pause *= factor;
    return pause < (double)most ? (hora_ns)pause : most;
}

/* FNV-1a, 64 bits. */
static uint64_t hash(const char *text)
{
    uint64_t value = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        value = (value ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return value;
}

/* The hash's upper bits are well mixed only after one more round: names often differ in their last character alone. */
static uint64_t mix(uint64_t value)
{
    value ^= value >> 33;
    value *= UINT64_C(0xff51afd7ed558ccd);
    return value ^ value >> 33;
}

hora_ns hora__plan_offset(const char *name, hora_ns spread)
{
    return spread <= 0 ? 0 : (hora_ns)(mix(hash(name)) % (uint64_t)spread);
}
