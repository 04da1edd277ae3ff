/* SPDX-License-Identifier: Apache-2.0 */
/* hora/trigger.h - when next? Any schedule, as one function
 *
 *     hora_trigger *trigger;
 *     hora_trigger_new_cron(cron, paris, NULL, &trigger, NULL);
 *     hora_scheduler_schedule_with(scheduler, HORA_TASK(report, NULL), HORA_SCHEDULE(.trigger = trigger, .missed = HORA_MISSED_BURST), NULL, NULL);
 *     hora_trigger_unref(trigger);
 *
 * A trigger is asked before the first run and after each one; it is told when the last run was planned,
 * began and ended. It knows no scheduler, never changes, and may serve any number of tasks and threads at
 * once. It is counted: each reference is given back with hora_trigger_unref. What a trigger is made of (an
 * expression, a zone, other triggers, a calendar) it takes a reference to. */
#ifndef HORA_TRIGGER_H
#define HORA_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/cron.h>
#include <hora/error.h>
#include <hora/zone.h>

HORA_BEGIN_DECLS

/* There is no such time: the task has not run yet, or will not run again. */
#define HORA_NEVER INT64_MIN

/* What a trigger is told. Times are readings of the clock of the schedule: of the wall clock they are
 * hora_instant.ns. If the schedule puts them off by a spread, a trigger knows nothing of it: all of them
 * are that much earlier. */
typedef struct hora_trigger_context {
    /* set by HORA_INIT; of what hora hands to a function, that of the library */
    uint32_t struct_size;
    /* which clock that is */
    hora_clock_id clock;
    hora_ns now;
    /* of the latest run: when it was planned, or HORA_NEVER; */
    hora_ns last_planned;
    /* when it really began; */
    hora_ns last_start;
    /* when it ended */
    hora_ns last_end;
    /* so far */
    int64_t runs;
} hora_trigger_context;

/* The planned time of the next run, or HORA_NEVER: there is none, the series is over. A time that has
 * passed is missed. It may be asked more often than there are runs, to find out which times have passed
 * (then last_planned is one that was not run), so it should only compute; an answer that is not later than
 * last_planned ends that search. Called with no lock of hora held: by hora_scheduler_schedule_with, then
 * by the threads that run the task; never by two at once for one task.
 *
 * It must return. If it ends its thread (pthread_exit, or a cancellation point of a thread that is
 * cancelled), hora cannot always tell which task it was asked for: that task may never run again while its
 * future is never done, and then its scheduler never terminates. */
typedef hora_ns (*hora_next_fn)(const hora_trigger_context *context, void *arg);

typedef struct hora_trigger hora_trigger;

/* hora_trigger_new - a trigger from a function
 *
 * Its times are moments of the wall clock, unless the schedule names another. drop(arg), if drop is not
 * NULL, is called when the last reference is given back.
 *
 * Ownership: the caller gets one reference; arg passes if the call succeeds.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new(hora_next_fn next, void *arg, void (*drop)(void *arg),
                                             hora_trigger **ret_trigger);

/* hora_trigger_ref - one more reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_trigger *hora_trigger_ref(hora_trigger *trigger);

/* hora_trigger_unref - give one reference back; the last one frees the trigger
 *
 * Ownership: the reference is gone; NULL is allowed. Returns NULL.   Threads: Any thread.   Blocks: Never.
 * Errors: None. */
HORA_API hora_trigger *hora_trigger_unref(hora_trigger *trigger);

/* hora_trigger_next - ask it; HORA_NEVER: never. Also for NULL, and for a context that was not started
 * with HORA_INIT.
 *
 * To list times, let now, last_planned, last_start and last_end be the answer before: a last_planned far
 * ahead of now is taken for a clock that was set back.
 *
 * Ownership: none passes.   Threads: Any thread, if the functions it was made of allow that.   Blocks:
 * Never.   Errors: None. */
HORA_API hora_ns hora_trigger_next(const hora_trigger *trigger, const hora_trigger_context *context);

/* hora_trigger_is_wall - whether its times are moments of the wall clock: of all but periodic triggers.
 * False for NULL.
 *
 * Of several triggers together: if one of them is.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_trigger_is_wall(const hora_trigger *trigger);

/* hora_trigger_refresh - read the files of all its zones again: 1 if rules have changed, 0 if not
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: While files are read.
 * Errors: HORA_EINVAL (NULL), and those of hora_zone_refresh; all zones are tried, and the first error is
 * returned. */
HORA_API int hora_trigger_refresh(hora_trigger *trigger);

/* hora_trigger_describe - a trigger in words: "at 03:00, Europe/Paris"; "every 5 s"; "the first of: ...; ..."
 *
 * Writes at most `size` bytes with the final NUL, and returns the length that the whole text has.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL; text NULL
 * and size not 0). */
HORA_API int hora_trigger_describe(const hora_trigger *trigger, char *text, size_t size);

/* ---- cron ---- */

/* From where the next time is looked for. */
typedef enum hora_cron_mode {
    /* from the end of the last run: times that pass during a long run are dropped */
    HORA_CRON_MODE_LENIENT = 0,
    /* from the planned time of the last run: every time has its run, late if need be */
    HORA_CRON_MODE_FIXED,
} hora_cron_mode;

typedef struct hora_cron_trigger_options {
    /* sizeof(hora_cron_trigger_options), set by HORA_CRON_TRIGGER_OPTIONS */
    uint32_t struct_size;
    hora_cron_mode mode;
    /* the first time is looked for from `resume_from` instead of from now: what has been missed since then
     * is made up, with lenient once, with fixed every time */
    bool resumes;

    hora_instant resume_from;
} hora_cron_trigger_options;

#define HORA_CRON_TRIGGER_OPTIONS(...) HORA__LITERAL(hora_cron_trigger_options, __VA_ARGS__)

/* hora_trigger_new_cron - the times of a cron expression in a zone, NULL: UTC
 *
 * Lenient, a run that ended before its planned time (the clock was set back a little) does not come again:
 * the next time is looked for from its planned time. If the clock has been set back by more than a minute
 * before it, times that have been run come again. @reboot means now when it is asked for the first time,
 * and never again.
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (no expression, bad options), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_cron(hora_cron *cron, hora_zone *zone,
                                                  const hora_cron_trigger_options *options, hora_trigger **ret_trigger,
                                                  hora_error *reason);

/* ---- periods and instants ---- */

typedef struct hora_periodic_trigger_options {
    /* sizeof(hora_periodic_trigger_options), set by HORA_PERIODIC_TRIGGER_OPTIONS */
    uint32_t struct_size;
    /* from planned time to planned time; else from the end of a run */
    bool fixed_rate;
    /* before the first run */
    hora_ns initial_delay;
} hora_periodic_trigger_options;

#define HORA_PERIODIC_TRIGGER_OPTIONS(...) HORA__LITERAL(hora_periodic_trigger_options, __VA_ARGS__)

/* hora_trigger_new_periodic - again and again, on whichever clock the schedule follows
 *
 * If the wall clock has been set back by more than a minute before the last run, a rate goes on with its
 * own times by the new clock, and a gap begins anew.
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (period or delay negative, bad options), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_periodic(hora_ns period, const hora_periodic_trigger_options *options,
                                                      hora_trigger **ret_trigger, hora_error *reason);

/* hora_trigger_new_instants - at these moments of the wall clock, in their order, whichever order they are
 * given in
 *
 * The first run is at the first of them that is not before now; after it each that is later than the last
 * planned one, also if the clock has been set back: each comes once.
 *
 * Ownership: the caller gets one reference; the moments are copied.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, count 0), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_instants(const hora_instant *instants, size_t count,
                                                      hora_trigger **ret_trigger);

/* ---- several together ---- */

/* hora_trigger_new_first_of - whenever one of several triggers says so
 *
 * Each is told of the last run, whoever said that: so a periodic one counts from there.
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, count 0), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_first_of(hora_trigger *const *triggers, size_t count,
                                                      hora_trigger **ret_trigger);

/* hora_trigger_new_all_of - whenever all of several triggers agree on a moment
 *
 * They must name moments of the wall clock: cron, instants, and what is made of those. The search for a
 * moment that all have in common is given up, and the answer is never, after a hundred thousand moments
 * that they have not.
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, count 0, one that is periodic, a function or @reboot), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_all_of(hora_trigger *const *triggers, size_t count,
                                                    hora_trigger **ret_trigger);

/* A day of the calendar. */
typedef struct hora_date {
    /* 0: every year */
    int32_t year;
    int month;
    int day;
} hora_date;

/* A part of the day, in seconds from midnight by the clocks on the wall; `to` itself is outside. to <=
 * from: over midnight, to the next day. */
typedef struct hora_calendar_window {
    int32_t from;
    int32_t to;
    /* bits 1 Monday to 7 Sunday on which it begins; 0: every day */
    unsigned weekdays;
} hora_calendar_window;

/* Times at which nothing runs. */
typedef struct hora_calendar_options {
    /* sizeof(hora_calendar_options), set by HORA_CALENDAR_OPTIONS */
    uint32_t struct_size;
    const hora_date *dates;
    size_t date_count;
    /* bits 1 Monday to 7 Sunday */
    unsigned weekdays;
    const hora_calendar_window *windows;
    size_t window_count;
} hora_calendar_options;

#define HORA_CALENDAR_OPTIONS(...) HORA__LITERAL(hora_calendar_options, __VA_ARGS__)

typedef struct hora_calendar hora_calendar;

/* hora_calendar_new - an exclusion calendar, read in a zone, NULL: UTC
 *
 * Ownership: the caller gets one reference; the arrays are copied.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (no such date, window or weekday; options that exclude every day), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_calendar_new(hora_zone *zone, const hora_calendar_options *options,
                                              hora_calendar **ret_calendar, hora_error *reason);

/* hora_calendar_ref - one more reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_calendar *hora_calendar_ref(hora_calendar *calendar);

/* hora_calendar_unref - give one reference back; the last one frees the calendar
 *
 * Ownership: the reference is gone; NULL is allowed. Returns NULL.   Threads: Any thread.   Blocks: Never.
 * Errors: None. */
HORA_API hora_calendar *hora_calendar_unref(hora_calendar *calendar);

/* hora_calendar_excludes - whether nothing runs at this moment; false for NULL
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_calendar_excludes(const hora_calendar *calendar, hora_instant instant);

/* hora_trigger_new_excluding - the times of a trigger, but those that a calendar excludes
 *
 * It is on the wall clock, whatever the trigger is. Of a function that is asked for one time after the
 * other the answer is never after a hundred thousand excluded times in a row.
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_excluding(hora_trigger *trigger, hora_calendar *calendar,
                                                       hora_trigger **ret_trigger);

HORA_END_DECLS

#endif
