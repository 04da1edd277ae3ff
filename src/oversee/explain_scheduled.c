/* SPDX-License-Identifier: Apache-2.0 */
/* explain_scheduled.c - why a task of a scheduler has not run: see explain.c
 *
 * All that there is to know of one is read in one visit to its agenda. */
#include <stddef.h>
#include <string.h>

#include "base/ns.h"
#include "oversee/explain.h"
#include "sched/agenda_view.h"
#include "sched/scheduled.h"
#include "sched/zones.h"

/* What was true while the agenda's lock was held. */
struct course {
    enum hora__place place;
    enum hora__timeline line;
    hora_ns now;     /* of its line, as all times here */
    hora_ns due;     /* HORA_FOREVER: never, or while it is paused */
    hora_ns planned; /* without a pause, a doubt and an offset */
    bool is_paused;
    bool is_held_up;   /* somebody is being told that the clocks were set */
    bool is_given;     /* its time */
    bool in_admission; /* it is due, and waits for admission */
    enum hora__doubt doubt;
    int before; /* that are due; of one that is in the agenda */
    bool is_series;
    bool may_overlap;
    int overlap_max;
    int running;
    hora_ns began;  /* the run that is going, or was last; HORA_NEVER: none */
    hora_ns every;  /* of a rate, else 0 */
    bool backs_off; /* by its rules */
    int64_t runs;
    int64_t failures;
    int64_t failures_in_a_row;
};

static void read_course(const struct hora__scheduled *scheduled, struct course *course)
{
    const struct hora__course *own = scheduled->course;
    course->is_given = own->is_given;
    course->doubt = own->doubt;
    course->may_overlap = own->crew != NULL;
    course->overlap_max = own->rules->overlap_max;
    course->running = own->running;
    course->began = scheduled->run.last.start;
    course->every = own->trigger == HORA__RATE ? own->every : 0;
    course->backs_off = own->rules->failure == HORA_FAILURE_BACK_OFF;
    course->runs = own->runs;
    course->failures = own->failures;
    course->failures_in_a_row = own->failures_in_a_row;
}

static void read_schedule(const struct hora__matter *matter, struct course *ret_course)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(matter->future);
    struct hora__agenda_view view;
    struct course course = {.began = HORA_NEVER};
    hora__mutex_lock(&scheduled->queue->object.lock);
    hora__agenda_view_begin(&view, scheduled->queue);
    course.place = (enum hora__place)scheduled->entry.place;
    course.line = hora__scheduled_line(scheduled);
    course.now = view.now[course.line];
    course.due = hora__scheduled_due(scheduled);
    course.planned = scheduled->planned;
    course.is_paused = scheduled->paused;
    course.is_held_up = scheduled->queue->telling;
    course.in_admission = scheduled->entry.in_admission;
    course.is_series = hora__scheduled_is_series(scheduled);
    if (scheduled->course != NULL) {
        read_course(scheduled, &course);
    } else {
        course.running = scheduled->is_running ? 1 : 0;
        course.began = scheduled->has_begun ? scheduled->run.last.start : HORA_NEVER;
    }
    if (course.place == HORA__WAITS && course.due <= course.now)
        course.before = hora__agenda_view_before(&view, &scheduled->entry);
    hora__mutex_unlock(&scheduled->queue->object.lock);
    *ret_course = course;
}

/* ---- words ---- */

static void say_two_digits(struct hora__text *out, char before, int number)
{
    hora__text_add_char(out, before);
    hora__text_add_number(out, (uint64_t)number, 2);
}

/* " (2026-11-16 03:00:00 Europe/Zurich)" */
static void say_moment(struct hora__text *out, const hora_zone *zone, hora_instant instant)
{
    hora_local local;
    if (hora_zone_to_local(zone, instant, &local) < 0)
        return;
    hora__text_add(out, " (");
    hora__text_add_number(out, (uint64_t)local.year, 4);
    say_two_digits(out, '-', local.month);
    say_two_digits(out, '-', local.day);
    say_two_digits(out, ' ', local.hour);
    say_two_digits(out, ':', local.minute);
    say_two_digits(out, ':', local.second);
    hora__text_add_char(out, ' ');
    const char *name = hora_zone_name(zone);
    hora__text_add(out, strcmp(name, "local") == 0 ? local.short_name : name);
    hora__text_add_char(out, ')');
}

static void say_when(struct hora__text *out, const struct hora__matter *matter, const struct course *course)
{
    hora__text_add(out, "in ");
    hora__say_duration(out, hora__ns_sub(course->due, course->now));
    const struct hora__scheduled *scheduled = hora__scheduled_of(matter->future);
    if (course->line == HORA__WALL)
        say_moment(out, hora__zones_of(hora__scheduled_rules(scheduled)->trigger), (hora_instant){course->due});
}

/* Runs that go on beside what is said. */
static void say_others(struct hora__text *out, const struct course *course)
{
    if (!course->may_overlap || course->running == 0)
        return;
    hora__text_add(out, "; ");
    hora__say_count(out, course->running, "run");
    hora__text_add(out, course->running == 1 ? " of it is going" : " of it are going");
    if (course->running == course->overlap_max)
        hora__text_add(out, ", as many as may");
}

static void say_not_yet(struct hora__text *out, const struct hora__matter *matter, const struct course *course)
{
    if (course->due == HORA_FOREVER) {
        hora__text_add(out, "waits for a time that never comes");
        return;
    }
    if (course->backs_off && course->is_given && course->failures_in_a_row > 0) {
        hora__text_add(out, "backs off after failure ");
        hora__say_number(out, course->failures);
        if (course->failures_in_a_row > 1) {
            hora__text_add(out, ", the ");
            hora__say_ordinal(out, course->failures_in_a_row);
            hora__text_add(out, " in a row");
        }
        hora__text_add(out, ": it is tried again ");
    } else {
        hora__text_add(out, "waits for its time: ");
    }
    say_when(out, matter, course);
}

static void say_due(struct hora__text *out, const struct hora__matter *matter, const struct course *course)
{
    if (course->doubt == HORA__NEW_RULES) {
        hora__text_add(out, "is to find its next time anew, since zones were refreshed");
    } else if (course->doubt == HORA__SET_BACK) {
        hora__text_add(out, "is to find its next time anew, since the clock was set back");
    } else if (course->due == course->now) {
        hora__text_add(out, "is due now");
    } else {
        hora__text_add(out, "has been due for ");
        hora__say_duration(out, hora__ns_sub(course->now, course->due));
    }
    if (course->in_admission) {
        hora__text_add(out, ", and ");
        hora__explain_admission(out, matter);
        return;
    }
    if (course->before > 0) {
        hora__text_add(out, "; ");
        hora__say_count(out, course->before, "task");
        hora__text_add(out, course->before == 1 ? " that is due is before it" : " that are due are before it");
    }
    if (course->is_held_up) {
        hora__text_add(out, "; its scheduler is being told that the clocks were set, and lets nothing begin meanwhile");
        return;
    }
    struct hora__crowd crowd;
    hora__crowd_look(matter, &crowd);
    hora__say_why_not_taken(out, matter, &crowd);
}

static void say_waits(struct hora__text *out, const struct hora__matter *matter, const struct course *course)
{
    if (course->is_paused)
        hora__text_add(out, "is paused");
    else if (course->due > course->now)
        say_not_yet(out, matter, course);
    else
        say_due(out, matter, course);
    say_others(out, course);
}

void hora__explain_scheduled(struct hora__text *out, const struct hora__matter *matter)
{
    struct course course;
    read_schedule(matter, &course);
    switch (course.place) {
    case HORA__WAITS:
        say_waits(out, matter, &course);
        return;
    case HORA__TAKEN:
    case HORA__RUNS:
        hora__text_add(out, "has been taken by a worker, which is about to run it or to put it back");
        return;
    case HORA__SWEPT:
        hora__text_add(out, "is being taken out, since its scheduler was shut down or stopped");
        return;
    case HORA__OUT:
    default:
        hora__text_add(out, course.running > 0 ? "has no other time, and is over when what runs of it has ended"
                                               : "is on its way into its scheduler, or out of it");
    }
}

/* ---- of one that runs, or is over ---- */

hora_ns hora__explain_run(const struct hora__matter *matter)
{
    struct course course;
    read_schedule(matter, &course);
    bool is_known = course.running > 0 && course.began != HORA_NEVER && course.began <= course.now;
    return is_known ? hora__ns_sub(course.now, course.began) : -1;
}

void hora__explain_next_run(struct hora__text *out, const struct hora__matter *matter)
{
    struct course course;
    read_schedule(matter, &course);
    hora_ns next = hora__ns_add(course.due, course.every);
    if (course.running == 0 || course.every == 0 || course.is_paused || next > course.now)
        return;
    hora__text_add(out, "; the next run was due ");
    hora__say_duration(out, hora__ns_sub(course.now, next));
    hora__text_add(out, " ago, and waits for the end of this one");
}

void hora__explain_end(struct hora__text *out, const struct hora__matter *matter)
{
    struct course course;
    read_schedule(matter, &course);
    hora__text_add(out, "is over: it has run ");
    if (course.runs == 1)
        hora__text_add(out, "once");
    else
        hora__say_count(out, course.runs, "time");
}
