/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - the arithmetic of schedules
 *
 * Rates        Planned times are planned + k * every. When a worker takes the task, those with k = 0 .. last
 *              have passed. The first ones may be later than the grace period allows. Of the rest, the rule
 *              for missed runs selects one to begin with, and all before it are skipped. The times after it
 *              are considered again after the run.
 * Triggers     Work in the same way, but their times are only known one by one: the trigger is asked for the
 *              next one until its answer is later than now. An answer that is not later than the time before
 *              it ends the search. If too many times have passed, for example because a clock that started
 *              in 1970 was set, the search goes backwards from now in growing steps.
 * Saturation   A sum that would overflow is HORA_FOREVER, which never comes. */
#include "sched/plan.h"

#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "sched/trigger.h"

/* How many passed times of a trigger or function are visited one by one. It bounds the time that a worker
 * spends in the search, at the price of an inexact count of skipped times beyond it. */
enum { COUNTED = 100000 };

/* Returns how late a run may begin by the schedule. A grace of 0 means that there is no limit. */
static hora_ns most_late(const hora_schedule *spec)
{
    assert(spec->grace >= 0);
    return spec->grace > 0 ? spec->grace : HORA_FOREVER;
}

/* Returns the least k >= 0 for which `now` is at most `most` later than planned + k * every. */
static int64_t first_in_grace(hora_ns most, hora_ns every, hora_ns planned, hora_ns now)
{
    assert(every > 0 && most >= 0);
    hora_ns late = hora__ns_sub(now, planned);
    return late <= most ? 0 : (late - most - 1) / every + 1;
}

/* Returns planned + k * every, or HORA_FOREVER if that overflows. */
static hora_ns at(hora_ns planned, hora_ns every, int64_t k)
{
    assert(every > 0 && k >= 0);
    int64_t distance;
    hora_ns time;
    /* hora__ns_add would saturate too early: a distance of INT64_MAX from a negative time is still a valid
     * time. */
    if (__builtin_mul_overflow(every, k, &distance) || __builtin_add_overflow(planned, distance, &time))
        return HORA_FOREVER;
    return time;
}

/* Both the distance and the sum saturate, so neither wraps for times at opposite ends of the range. */
int64_t hora__plan_passed(hora_ns planned, hora_ns every, hora_ns now)
{
    assert(every > 0);
    return now < planned ? 0 : hora__ns_add(hora__ns_sub(now, planned) / every, 1);
}

/* Rounds up to a multiple of `every` in both directions: backwards by cutting off the remainder of the
 * distance, forwards by adding a period unless the distance is exact. */
hora_ns hora__plan_grid(hora_ns planned, hora_ns every, hora_ns from)
{
    assert(every > 0);
    if (from <= planned) {
        hora_ns back = hora__ns_sub(planned, from) / every * every;
        return planned - back;
    }
    return at(planned, every, (hora__ns_sub(from, planned) - 1) / every + 1);
}

/* k is the index of the time that is run. The grace period gives the least k that may run, and each rule
 * but HORA_MISSED_BURST moves k on: ONCE to the latest passed time; SKIP beyond all passed times, unless
 * only one has passed, which is just late; AT_MOST so far that missed_max passed times remain. `most` is how
 * late a run may begin. */
static struct hora__decision decide_rate(const hora_schedule *spec, hora_ns most, hora_ns every,
                                         hora_ns planned, hora_ns now)
{
    int64_t last = hora__plan_passed(planned, every, now) - 1;
    int64_t first = first_in_grace(most, every, planned, now);
    assert(last >= 0);
    int64_t k = first;
    if (spec->missed == HORA_MISSED_ONCE && last > first)
        k = last;
    if (spec->missed == HORA_MISSED_SKIP && last > 0)
        k = last + 1;
    if (spec->missed == HORA_MISSED_AT_MOST && last - spec->missed_max + 1 > first)
        k = last - spec->missed_max + 1;
    return (struct hora__decision){.runs = k <= last, .planned = at(planned, every, k), .skipped = k};
}

struct hora__decision hora__plan_rate(const hora_schedule *spec, hora_ns every, hora_ns planned, hora_ns now)
{
    return decide_rate(spec, most_late(spec), every, planned, now);
}

hora_ns hora__plan_ask(const hora_schedule *spec, const hora_trigger_context *context)
{
    assert(spec->trigger != NULL || spec->next != NULL);
    return spec->trigger != NULL ? spec->trigger->kind->next(spec->trigger, context)
                                 : hora__next_of(spec->next, context, spec->next_arg);
}

/* Asks for the time after `planned`, whatever the last run was. */
static hora_ns ask(const hora_schedule *spec, const hora_trigger_context *context, hora_ns planned)
{
    hora_trigger_context then = *context;
    then.last_planned = planned;
    return hora__plan_ask(spec, &then);
}

/* Returns how many of the times after `planned` have passed, but at most `most`. */
static int64_t count_asked(const hora_schedule *spec, const hora_trigger_context *context, hora_ns planned,
                           int64_t most)
{
    assert(most > 0);
    for (int64_t passed = 0; passed < most; passed++) {
        hora_ns next = ask(spec, context, planned);
        if (next > context->now || next <= planned)
            return passed;
        planned = next;
    }
    return most;
}

/* Used when too many times have passed to count them: returns a passed time after which at least `wanted`
 * more have passed, and not many more than that. The distance from now doubles with each attempt. Returns
 * `planned` if no such time is found in the later half of the interval. */
static hora_ns jump(const hora_schedule *spec, const hora_trigger_context *context, hora_ns planned,
                    int64_t wanted)
{
    assert(wanted > 0 && planned <= context->now);
    hora_ns whole = hora__ns_sub(context->now, planned);
    for (hora_ns reach = HORA_SECONDS(1); reach < whole / 2; reach *= 2) {
        hora_ns from = ask(spec, context, context->now - reach);
        if (from > planned && from <= context->now && count_asked(spec, context, from, wanted) >= wanted)
            return from;
    }
    return planned;
}

/* Returns whether a run for a planned time would begin more than `most` late. */
static bool is_too_late(hora_ns most, hora_ns planned, hora_ns now)
{
    assert(most >= 0);
    return hora__ns_sub(now, planned) > most;
}

/* Returns how many times the rule for missed runs skips, if `last` more times have passed after the first
 * one. */
static int64_t aim_of(const hora_schedule *spec, int64_t last)
{
    assert(last >= 0);
    if (spec->missed == HORA_MISSED_ONCE)
        return last;
    if (spec->missed == HORA_MISSED_SKIP && last > 0)
        return last + 1;
    if (spec->missed == HORA_MISSED_AT_MOST && last >= spec->missed_max)
        return last - spec->missed_max + 1;
    return 0;
}

/* `most` is how late a run may begin. With HORA_MISSED_BURST no time is skipped by rule, so none is
 * counted. */
static struct hora__decision decide_asked(const hora_schedule *spec, hora_ns most,
                                          const hora_trigger_context *context, hora_ns planned)
{
    int64_t limit = spec->missed_max < COUNTED ? COUNTED : (int64_t)spec->missed_max + 1;
    int64_t last = spec->missed == HORA_MISSED_BURST ? 0 : count_asked(spec, context, planned, limit);
    int64_t skipped = 0;
    /* Too many to count. The exact number of skipped times is not known then; `limit` is a lower bound. */
    if (last == limit) {
        skipped = limit;
        planned = jump(spec, context, planned, spec->missed == HORA_MISSED_AT_MOST ? spec->missed_max : 1);
        last = count_asked(spec, context, planned, limit);
    }
    int64_t aim = aim_of(spec, last);
    /* Walk from time to time past those that the rule skips and those whose grace period has ended. */
    for (int64_t k = 0; planned <= context->now && (k < aim || is_too_late(most, planned, context->now));
         k++) {
        hora_ns next = ask(spec, context, planned);
        /* All that is left to skip is too late: jump to the first time within the grace period. */
        if (k == COUNTED && k >= aim)
            next = ask(spec, context, context->now - most - 1); /* those are too late as well */
        /* The trigger does not move on. */
        if (next <= planned)
            break;
        planned = next;
        skipped++;
    }
    return (struct hora__decision){.runs = planned <= context->now, .planned = planned, .skipped = skipped};
}

struct hora__decision hora__plan_asked(const hora_schedule *spec, const hora_trigger_context *context,
                                       hora_ns planned)
{
    return decide_asked(spec, most_late(spec), context, planned);
}

/* Decides for a single planned time. `most` is how late its run may begin. */
static struct hora__decision decide_single(hora_ns most, hora_ns planned, hora_ns now)
{
    if (is_too_late(most, planned, now))
        return (struct hora__decision){.runs = false, .planned = HORA_FOREVER, .skipped = 1};
    return (struct hora__decision){.runs = true, .planned = planned, .skipped = 0};
}

struct hora__decision hora__plan_single(const hora_schedule *spec, hora_ns planned, hora_ns now)
{
    return decide_single(most_late(spec), planned, now);
}

/* A run that is late by start_by is too late. HORA_MISSED_BURST lets that limit alone decide. */
int64_t hora__plan_start_by(const hora_schedule *spec, hora_ns every, const hora_trigger_context *context,
                            hora_ns start_by, struct hora__decision *decision)
{
    assert(decision->runs && start_by > 0);
    hora_schedule rules = *spec;
    rules.missed = HORA_MISSED_BURST;
    hora_ns most = start_by - 1;
    struct hora__decision late;
    if (spec->fixed_rate > 0)
        late = decide_rate(&rules, most, every, decision->planned, context->now);
    else if (spec->next != NULL || spec->trigger != NULL)
        late = decide_asked(&rules, most, context, decision->planned);
    else
        late = decide_single(most, decision->planned, context->now);
    /* A delay has no further planned times to continue with; it starts anew from now. */
    if (spec->fixed_delay > 0 && !late.runs)
        late.planned = hora__ns_add(context->now, every);
    decision->runs = late.runs;
    decision->planned = late.planned;
    return late.skipped;
}

/* The defaults of back_off and back_off_max, in seconds. */
enum { BACK_OFF_S = 1, BACK_OFF_MAX_S = 300 };

/* In floating point, because the factor is, and so that large exponents do not overflow: the loop ends as
 * soon as the limit is reached. A factor of 1 would never reach it, and needs no loop. */
hora_ns hora__plan_pause(const hora_schedule *spec, int64_t failures)
{
    assert(failures > 0);
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

/* Returns the FNV-1a hash of a string, 64 bits. */
static uint64_t hash(const char *text)
{
    assert(text != NULL);
    uint64_t value = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        value = (value ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return value;
}

/* Mixes the bits of a hash once more. Names often differ in their last character alone, and FNV-1a spreads
 * that difference to few of the upper bits. */
static uint64_t mix(uint64_t value)
{
    value ^= value >> 33;
    value *= UINT64_C(0xff51afd7ed558ccd);
    return value ^ value >> 33;
}

hora_ns hora__plan_offset(const char *name, hora_ns spread)
{
    assert(spread <= 0 || name != NULL);
    return spread <= 0 ? 0 : (hora_ns)(mix(hash(name)) % (uint64_t)spread);
}
