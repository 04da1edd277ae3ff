/* SPDX-License-Identifier: Apache-2.0 */
/* job_trigger.c - the times of a job
 *
 * All triggers of a job are one function. It does not combine triggers of the library, because these count from
 * the last run whatever caused it: a run on request would move the times of `every`. Here each trigger has its
 * times, and the last planned time only says which of them are past.
 *
 * The function works without the spread: it takes it off the times that it is given, and adds it to its answer.
 * `delay` has no spread, because its times depend on the runs.
 *
 * To pass over what a calendar excludes, a trigger of the library finds the first second that it does not
 * exclude: a trigger of every second without the excluded ones. It does not try each second. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "jobs/arena.h"
#include "jobs/jobs.h"
#include "text.h"

enum { MOST_EXCLUDED = 100000 }; /* times of a job in a row that calendars exclude; then there is none */

/* What the function needs of a job. It owns a reference to each object, so the job may be freed. */
struct schedule {
    struct job_trigger *triggers; /* their texts are not used */
    size_t trigger_count;
    hora_calendar **calendars;
    hora_trigger **seconds; /* for each calendar: all seconds that it does not exclude */
    size_t calendar_count;
    hora_ns spread;
};

/* Returns the delay of a job: the same for the same name and the same `spread`. It is a whole number of seconds,
 * or of milliseconds if `spread` is short. */
static hora_ns spread_of(const struct job *job)
{
    hora_ns unit = job->spread >= HORA_MINUTES(1) ? HORA_SECONDS(1) : HORA_MS(1);
    uint64_t values = (uint64_t)(job->spread / unit);
    return values == 0 ? 0 : (hora_ns)(text_hash(job->name) % values) * unit;
}

/* ---- the next time of one trigger ---- */

/* Returns time + span, or JOB_PARKED if that is later. */
static hora_ns later(hora_ns time, hora_ns span)
{
    return time > JOB_PARKED - span ? JOB_PARKED : time + span;
}

/* Returns the first time of the grid at or after `least`. */
static hora_ns next_on_grid(const struct job_trigger *trigger, hora_ns least)
{
    hora_ns phase = trigger->from.ns % trigger->period;
    hora_ns past = (least - phase) % trigger->period; /* in the direction of 0 */
    if (past < 0)
        past += trigger->period;
    return past == 0 ? least : later(least, trigger->period - past);
}

/* Returns the first time of a trigger at or after `least`, which is not far from the present, or JOB_PARKED. */
static hora_ns next_from(const struct job_trigger *trigger, hora_ns least)
{
    hora_instant before = {least - 1}, next;
    switch (trigger->kind) {
    case TRIGGER_CRON:
        return hora_cron_next(trigger->cron, trigger->zone, before, &next) > 0 ? next.ns : JOB_PARKED;
    case TRIGGER_EVERY:
        return next_on_grid(trigger, least);
    case TRIGGER_AT:
        return trigger->at.ns >= least ? trigger->at.ns : JOB_PARKED;
    case TRIGGER_DELAY:    /* see next_after_end */
    case TRIGGER_AT_START: /* the runner knows when it starts */
        break;
    }
    return JOB_PARKED;
}

/* Returns the first second at or after `least` that no calendar excludes, or JOB_PARKED. */
static hora_ns next_not_excluded(const struct schedule *schedule, hora_ns least)
{
    for (bool is_excluded = true; is_excluded && least < JOB_PARKED;) {
        is_excluded = false;
        for (size_t i = 0; i < schedule->calendar_count; i++) {
            hora_instant moment = {least};
            if (!hora_calendar_excludes(schedule->calendars[i], moment))
                continue;
            hora_trigger_context context = HORA_INIT(hora_trigger_context);
            context.clock = HORA_CLOCK_WALL;
            context.now = context.last_planned = context.last_start = context.last_end = least;
            hora_ns next = hora_trigger_next(schedule->seconds[i], &context);
            least = next == HORA_NEVER || next > JOB_PARKED ? JOB_PARKED : next;
            is_excluded = true;
        }
    }
    return least;
}

/* Returns the first time of a trigger at or after `least` that no calendar excludes, or JOB_PARKED. */
static hora_ns next_allowed(const struct schedule *schedule, const struct job_trigger *trigger, hora_ns least)
{
    for (int tries = 0; tries < MOST_EXCLUDED; tries++) {
        hora_ns time = next_from(trigger, least);
        if (time >= JOB_PARKED || schedule->calendar_count == 0)
            return time;
        least = next_not_excluded(schedule, time);
        if (least == time)
            return time;
        if (least >= JOB_PARKED)
            break;
    }
    return JOB_PARKED;
}

/* Returns the time of a `delay` after the end of the last run; of a run that has not ended, after its planned
 * time. Without a run, it is now. */
static hora_ns next_after_end(const struct schedule *schedule, const struct job_trigger *trigger,
                              const hora_trigger_context *context)
{
    hora_ns last = context->last_planned > context->last_end ? context->last_planned : context->last_end;
    hora_ns time = last == HORA_NEVER ? context->now : later(last, trigger->period);
    return next_not_excluded(schedule, time);
}

/* ---- the next time of all ---- */

static hora_ns next_time(const hora_trigger_context *context, void *arg)
{
    const struct schedule *schedule = arg;
    bool has_run = context->last_planned != HORA_NEVER;
    hora_ns least = (has_run ? context->last_planned + 1 : context->now) - schedule->spread;
    hora_ns next = JOB_PARKED;
    if (has_run && context->last_planned >= JOB_PARKED)
        return JOB_PARKED;
    for (size_t i = 0; i < schedule->trigger_count; i++) {
        const struct job_trigger *trigger = &schedule->triggers[i];
        hora_ns time = trigger->kind == TRIGGER_DELAY
                           ? next_after_end(schedule, trigger, context)
                           : next_allowed(schedule, trigger, least) + schedule->spread;
        next = time < next ? time : next;
    }
    return next;
}

static void free_schedule(void *arg)
{
    struct schedule *schedule = arg;
    for (size_t i = 0; i < schedule->trigger_count; i++) {
        hora_cron_unref(schedule->triggers[i].cron);
        hora_zone_unref(schedule->triggers[i].zone);
    }
    for (size_t i = 0; i < schedule->calendar_count; i++) {
        hora_calendar_unref(schedule->calendars[i]);
        hora_trigger_unref(schedule->seconds[i]);
    }
    free(schedule->triggers);
    free(schedule->calendars);
    free(schedule->seconds);
    free(schedule);
}

/* Makes the trigger of all seconds that a calendar does not exclude. */
static int new_seconds(hora_calendar *calendar, hora_trigger **ret_trigger)
{
    hora_cron *cron = NULL;
    hora_trigger *every_second = NULL;
    int result = hora_cron_parse("* * * * * *", NULL, &cron, NULL);
    if (result >= 0)
        result = hora_trigger_new_cron(cron, NULL, NULL, &every_second, NULL);
    if (result >= 0)
        result = hora_trigger_new_excluding(every_second, calendar, ret_trigger);
    hora_trigger_unref(every_second);
    hora_cron_unref(cron);
    return result;
}

int job_trigger_new(const struct job *job, hora_trigger **ret_trigger)
{
    struct schedule *schedule = memory(sizeof *schedule);
    *schedule = (struct schedule){.spread = spread_of(job)};
    schedule->triggers = memory((job->trigger_count + 1) * sizeof *schedule->triggers);
    schedule->calendars = memory((job->calendar_count + 1) * sizeof *schedule->calendars);
    schedule->seconds = memory((job->calendar_count + 1) * sizeof(*schedule->seconds));
    for (; schedule->trigger_count < job->trigger_count; schedule->trigger_count++) {
        struct job_trigger *copy = &schedule->triggers[schedule->trigger_count];
        *copy = job->triggers[schedule->trigger_count];
        copy->text = NULL;
        hora_cron_ref(copy->cron);
        hora_zone_ref(copy->zone);
    }
    int result = 0;
    for (; schedule->calendar_count < job->calendar_count && result >= 0; schedule->calendar_count++) {
        size_t i = schedule->calendar_count;
        schedule->calendars[i] = hora_calendar_ref(job->calendars[i]);
        schedule->seconds[i] = NULL;
        result = new_seconds(job->calendars[i], &schedule->seconds[i]);
    }
    if (result >= 0)
        result = hora_trigger_new(next_time, schedule, free_schedule, ret_trigger);
    if (result < 0)
        free_schedule(schedule);
    return result < 0 ? result : 0;
}

bool job_has_delay(const struct job *job)
{
    for (size_t i = 0; i < job->trigger_count; i++)
        if (job->triggers[i].kind == TRIGGER_DELAY)
            return true;
    return false;
}

/* Asks the trigger of a job once. Only a lack of memory leaves no trigger. */
static hora_instant ask(const struct job *job, const hora_trigger_context *context)
{
    hora_trigger *trigger;
    int result = job_trigger_new(job, &trigger);
    if (result < 0) {
        complain("%s", hora_strerror(result));
        exit(STATUS_TROUBLE);
    }
    hora_instant next = {hora_trigger_next(trigger, context)};
    hora_trigger_unref(trigger);
    return next;
}

hora_instant job_first_time(const struct job *job, hora_instant now)
{
    hora_trigger_context context = HORA_INIT(hora_trigger_context);
    context.clock = HORA_CLOCK_WALL;
    context.now = now.ns;
    context.last_planned = context.last_start = context.last_end = HORA_NEVER;
    return ask(job, &context);
}

hora_instant job_next_time(const struct job *job, hora_instant after)
{
    hora_trigger_context context = HORA_INIT(hora_trigger_context);
    context.clock = HORA_CLOCK_WALL;
    context.now = context.last_planned = context.last_start = context.last_end = after.ns;
    context.runs = 1;
    return ask(job, &context);
}

struct job_times job_times_until(const struct job *job, hora_instant first, hora_instant until, int64_t most)
{
    struct job_times times = {.last = first};
    for (hora_instant time = first; time.ns <= until.ns && times.count < most; times.count++) {
        times.last = time;
        time = job_next_time(job, time);
    }
    return times;
}
