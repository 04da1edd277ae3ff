/* SPDX-License-Identifier: Apache-2.0 */
/* hora/trigger.h - triggers: any schedule, expressed as a function that returns the next time
 *
 *     hora_trigger *trigger;
 *     hora_trigger_new_cron(cron, paris, NULL, &trigger, NULL);
 *     hora_scheduler_schedule_with(scheduler, HORA_TASK(report, NULL),
 *                                  HORA_SCHEDULE(.trigger = trigger, .missed = HORA_MISSED_BURST),
 *                                  NULL, NULL);
 *     hora_trigger_unref(trigger);
 *
 * The scheduler asks a trigger for the next time before the first run and after each run, and passes it when
 * the last run was planned, started and ended. A trigger is independent of schedulers, immutable, and may
 * serve any number of tasks and threads at once. It is reference-counted: each reference is released with
 * hora_trigger_unref. A trigger takes references to the objects it is created from (an expression, a zone,
 * other triggers, a calendar). Triggers and calendars are not tied to a process and remain usable in the
 * child of a fork. */
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

/* No time: the task has not run yet, or will not run again. */
#define HORA_NEVER INT64_MIN

/* The input of a trigger. Times are readings of the clock of the schedule; for the wall clock they are
 * hora_instant.ns. A trigger does not see the spread of a schedule: all times it receives are that much
 * earlier. */
typedef struct hora_trigger_context {
    /* sizeof(hora_trigger_context), set by HORA_INIT; in a context that hora passes to a function, that of
     * the library */
    uint32_t struct_size;
    /* the clock of the schedule, never HORA_CLOCK_DEFAULT */
    hora_clock_id clock;
    /* the current time */
    hora_ns now;
    /* planned time of the latest run, or HORA_NEVER if there was none */
    hora_ns last_planned;
    /* actual start of the latest run, or HORA_NEVER */
    hora_ns last_start;
    /* end of the latest run that has ended, or HORA_NEVER */
    hora_ns last_end;
    /* number of runs that have started so far */
    int64_t runs;
} hora_trigger_context;

/* Returns the planned time of the next run, or HORA_NEVER if no further run follows. A time in the past
 * counts as missed. The function may be called more often than there are runs, to find out which times have
 * passed; last_planned is then a time without a run. The function should therefore only compute. A result
 * that is not later than last_planned ends that search. It is called with no hora lock held, first by
 * hora_scheduler_schedule_with, then by the threads that run the task, and never concurrently for the same
 * task. `arg` is the argument that was passed together with the function.
 *
 * The function must return. If it ends its thread (with pthread_exit, or at a cancellation point of a thread
 * that is cancelled), hora cannot always tell which task it was called for: that task may never run again
 * while its future is never done, and its scheduler then never terminates. */
typedef hora_ns (*hora_next_fn)(const hora_trigger_context *context, void *arg);

/* A trigger of any kind. */
typedef struct hora_trigger hora_trigger;

/* hora_trigger_new - create a trigger from a function
 *
 * Its times refer to the wall clock, unless the schedule names another clock. drop(arg), if drop is not NULL,
 * is called when the last reference is released.
 *
 * Ownership: the caller receives one reference; arg is transferred if the call succeeds.
 * Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new(hora_next_fn next, void *arg, void (*drop)(void *arg),
                                             hora_trigger **ret_trigger);

/* hora_trigger_ref - add a reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_trigger *hora_trigger_ref(hora_trigger *trigger);

/* hora_trigger_unref - release a reference; the last one frees the trigger
 *
 * Ownership: the caller's reference is released; NULL is allowed. Returns NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_trigger *hora_trigger_unref(hora_trigger *trigger);

/* hora_trigger_next - ask a trigger for its next time; HORA_NEVER if there is none
 *
 * Also returns HORA_NEVER for NULL and for a context that was not initialized with HORA_INIT. Set the last_
 * fields to HORA_NEVER to ask for the first time: HORA_INIT sets them to 0, which is a time. To list times,
 * set now, last_planned, last_start and last_end to the previous result. A last_planned more than a minute
 * ahead of now means to a cron or periodic trigger that the clock was set back.
 *
 * Ownership: not transferred.   Threads: Any thread, if the functions it was created from allow that.
 * Blocks: Never.   Errors: None. */
HORA_API hora_ns hora_trigger_next(const hora_trigger *trigger, const hora_trigger_context *context);

/* hora_trigger_is_wall - test whether the times of a trigger refer to the wall clock
 *
 * This is true for all triggers except periodic ones. A combination of triggers refers to the wall clock if
 * one of them does. False for NULL.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_trigger_is_wall(const hora_trigger *trigger);

/* hora_trigger_refresh - re-read the files of all zones of a trigger
 *
 * Returns 1 if rules have changed, 0 if not.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: While files are read.
 * Errors: HORA_EINVAL (NULL), and those of hora_zone_refresh; all zones are tried, and the first error is
 * returned. */
HORA_API int hora_trigger_refresh(hora_trigger *trigger);

/* hora_trigger_describe - describe a trigger in words
 *
 * For example "at 03:00, Europe/Paris", "every 5 s" or "the first of: ...; ...". Like snprintf, it writes as
 * much as fits, always with a terminating NUL if size > 0, and returns the length of the complete text. The
 * wording may change in any release.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; text is NULL and size is not 0). */
HORA_API int hora_trigger_describe(const hora_trigger *trigger, char *text, size_t size);

/* ---- cron ---- */

/* Where a cron trigger starts its search for the next time. */
typedef enum hora_cron_mode {
    /* at the end of the last run: times that pass during a long run are dropped */
    HORA_CRON_MODE_LENIENT = 0,
    /* at the planned time of the last run: every time gets its run, late if necessary */
    HORA_CRON_MODE_FIXED,
} hora_cron_mode;

/* Options of hora_trigger_new_cron. */
typedef struct hora_cron_trigger_options {
    /* sizeof(hora_cron_trigger_options), set by HORA_CRON_TRIGGER_OPTIONS */
    uint32_t struct_size;
    /* 0 means lenient */
    hora_cron_mode mode;
    /* the search for the first time starts at `resume_from` instead of now: times missed since then are made
     * up, once in lenient mode, each of them in fixed mode */
    bool resumes;

    /* the moment to resume from, usually the last run before a restart; zero without `resumes` */
    hora_instant resume_from;
} hora_cron_trigger_options;

/* HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_FIXED): an options literal. */
#define HORA_CRON_TRIGGER_OPTIONS(...) HORA__LITERAL(hora_cron_trigger_options, __VA_ARGS__)

/* hora_trigger_new_cron - create a trigger from a cron expression in a zone; a NULL zone means UTC
 *
 * `options` may be NULL for the defaults. In lenient mode, if a run ended before its planned time because the
 * clock was set back a little, the time is not repeated: the search for the next time starts at the planned
 * time. If the clock was set back to more than a minute before the planned time, times that have already run
 * occur again. @reboot means now when the trigger is asked for the first time, and never again.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (no expression, bad options), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_cron(hora_cron *cron, hora_zone *zone,
                                                  const hora_cron_trigger_options *options,
                                                  hora_trigger **ret_trigger, hora_error *reason);

/* ---- periods and instants ---- */

/* Options of hora_trigger_new_periodic. */
typedef struct hora_periodic_trigger_options {
    /* sizeof(hora_periodic_trigger_options), set by HORA_PERIODIC_TRIGGER_OPTIONS */
    uint32_t struct_size;
    /* count from planned time to planned time; otherwise from the end of a run */
    bool fixed_rate;
    /* delay before the first run; 0 or more */
    hora_ns initial_delay;
} hora_periodic_trigger_options;

/* HORA_PERIODIC_TRIGGER_OPTIONS(.fixed_rate = true): an options literal. */
#define HORA_PERIODIC_TRIGGER_OPTIONS(...) HORA__LITERAL(hora_periodic_trigger_options, __VA_ARGS__)

/* hora_trigger_new_periodic - create a trigger with a fixed period, on the clock of the schedule
 *
 * `options` may be NULL for the defaults: a delay of `period` between the end of a run and the next one. If
 * the wall clock has been set back to more than a minute before the last run, a rate continues with its own
 * times by the new clock, and a delay starts over.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative period or delay, bad options), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_periodic(hora_ns period,
                                                      const hora_periodic_trigger_options *options,
                                                      hora_trigger **ret_trigger, hora_error *reason);

/* hora_trigger_new_instants - create a trigger from a set of instants, given in any order
 *
 * An instant that is given several times counts once.
 *
 * The first run is at the first instant that is not before now. Each further run is at the first instant
 * after the last planned one, even if the clock has been set back, so each instant occurs once.
 *
 * Ownership: the caller receives one reference; the instants are copied.   Threads: Any thread.
 * Blocks: Never.   Errors: HORA_EINVAL (NULL, count 0), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_instants(const hora_instant *instants, size_t count,
                                                      hora_trigger **ret_trigger);

/* ---- combinations ---- */

/* hora_trigger_new_first_of - create a trigger with the times of each of several triggers
 *
 * Its next time is the earliest one that any of them returns. Each trigger receives the times of the last
 * run, even if another trigger caused it, so a periodic trigger counts from there.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, count 0), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_first_of(hora_trigger *const *triggers, size_t count,
                                                      hora_trigger **ret_trigger);

/* hora_trigger_new_all_of - create a trigger with the times that several triggers have in common
 *
 * The triggers must refer to the wall clock: cron, instants, and combinations of these. The search for a
 * common time stops after a hundred thousand times that they do not have in common; the result is then
 * HORA_NEVER.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, count 0, a periodic trigger, a function or @reboot), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_all_of(hora_trigger *const *triggers, size_t count,
                                                    hora_trigger **ret_trigger);

/* A calendar day. */
typedef struct hora_date {
    /* 0 means every year */
    int32_t year;
    /* 1 to 12 */
    int month;
    /* 1 to 31; the date must exist, for every year at least in leap years */
    int day;
} hora_date;

/* A part of the day, in seconds of local time since midnight; `to` is exclusive. If to <= from, the window
 * extends past midnight into the next day. */
typedef struct hora_calendar_window {
    /* first second that is excluded, 0 to 86399 */
    int32_t from;
    /* first second that is not excluded any more, 0 to 86400 */
    int32_t to;
    /* weekdays on which it starts, as bits 1 (Monday) to 7 (Sunday); 0 means every day */
    unsigned weekdays;
} hora_calendar_window;

/* Times at which nothing runs. A calendar excludes a time if one of the dates, weekdays or windows does. */
typedef struct hora_calendar_options {
    /* sizeof(hora_calendar_options), set by HORA_CALENDAR_OPTIONS */
    uint32_t struct_size;
    /* whole days; copied. NULL if date_count is 0 */
    const hora_date *dates;
    /* number of dates */
    size_t date_count;
    /* whole days of each week, as bits 1 (Monday) to 7 (Sunday) */
    unsigned weekdays;
    /* parts of days; copied. NULL if window_count is 0 */
    const hora_calendar_window *windows;
    /* number of windows */
    size_t window_count;
} hora_calendar_options;

/* HORA_CALENDAR_OPTIONS(.weekdays = 1 << 6 | 1 << 7): an options literal, here without Saturdays and
 * Sundays. */
#define HORA_CALENDAR_OPTIONS(...) HORA__LITERAL(hora_calendar_options, __VA_ARGS__)

/* An exclusion calendar: immutable, reference-counted, and usable by all threads at the same time. */
typedef struct hora_calendar hora_calendar;

/* hora_calendar_new - create an exclusion calendar in a zone; a NULL zone means UTC
 *
 * NULL options mean a calendar that excludes nothing.
 *
 * Ownership: the caller receives one reference; the arrays are copied, and the calendar takes a reference to
 * the zone.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (an invalid date, window or weekday; options that exclude every day), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_calendar_new(hora_zone *zone, const hora_calendar_options *options,
                                              hora_calendar **ret_calendar, hora_error *reason);

/* hora_calendar_ref - add a reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_calendar *hora_calendar_ref(hora_calendar *calendar);

/* hora_calendar_unref - release a reference; the last one frees the calendar
 *
 * Ownership: the caller's reference is released; NULL is allowed. Returns NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_calendar *hora_calendar_unref(hora_calendar *calendar);

/* hora_calendar_excludes - test whether a calendar excludes an instant; false for NULL
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_calendar_excludes(const hora_calendar *calendar, hora_instant instant);

/* hora_trigger_new_excluding - create a trigger without the times that a calendar excludes
 *
 * It refers to the wall clock, even if the given trigger does not. If that trigger is a function, which has
 * to be asked for one time after another, the result is HORA_NEVER after a hundred thousand excluded times in
 * a row.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_trigger_new_excluding(hora_trigger *trigger, hora_calendar *calendar,
                                                       hora_trigger **ret_trigger);

HORA_END_DECLS

#endif
