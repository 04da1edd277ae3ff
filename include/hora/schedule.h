/* SPDX-License-Identifier: Apache-2.0 */
/* hora/schedule.h - when a task runs: one value that answers every question
 *
 *     hora_scheduler_schedule_with(scheduler, HORA_TASK(poll, feed, .name = "poll"),
 *                        HORA_SCHEDULE(.fixed_rate = HORA_MINUTES(5), .missed = HORA_MISSED_SKIP, .spread = HORA_MINUTES(1),
 *                                      .failure = HORA_FAILURE_BACK_OFF, .stop_after = 10),
 *                        &future);
 *
 * What is left out is zero, and zero is the default that each field names. Some words:
 *
 *   planned time   when a run ought to begin, by the clock of the schedule.
 *   series         all runs of one task with rate, gap, cron, trigger or next. Its future is done when the series is over.
 *   missed         a planned time that passed without a run, for whatever reason: the run before took too long, all threads were
 *                  busy, the machine was suspended, the clock was set forward.
 *   skipped        a missed time that is not made up. Skipped times are counted. */
#ifndef HORA_SCHEDULE_H
#define HORA_SCHEDULE_H

#include <stdbool.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/pool.h>
#include <hora/terms.h>
#include <hora/trigger.h>

HORA_BEGIN_DECLS

/* A scheduler is a pool: see hora/scheduler.h. */
typedef hora_pool hora_scheduler;

/* What becomes of planned times that were missed; of a rate, of cron, or of `next` and a trigger as far as they answer with times that
 * have passed. */
typedef enum hora_missed {
    HORA_MISSED_ONCE =
        0, /* one run makes up for all of them, then back to the planned times; the others count as skipped */
    HORA_MISSED_BURST, /* each is made up, one after the other, as the JDK does */
    HORA_MISSED_SKIP, /* none is made up. A run that is late, but begins before the planned time after it, has not been missed */
    HORA_MISSED_AT_MOST, /* the latest missed_max are made up */
} hora_missed;

/* What becomes of planned times that come while the run before is still going. */
typedef enum hora_overlap {
    HORA_OVERLAP_NEVER = 0, /* runs follow each other; these times are missed, and the rule for that decides */
    HORA_OVERLAP_QUEUE_ONE, /* one run follows at once, however many times have passed; the rest is skipped */
    HORA_OVERLAP_ALLOW, /* up to overlap_max runs go on at the same time; a time that finds so many is skipped. A cancel answers for */
                        /* the series: HORA_CANCEL_REMOVED even if runs are going, which it interrupts if told so */
} hora_overlap;

/* What a failed run means for those to come. A series that ends by this fails its future with the last code. */
typedef enum hora_failure {
    HORA_FAILURE_CONTINUE = 0, /* nothing: the series goes on. A task that runs once fails */
    HORA_FAILURE_STOP,         /* the series ends, as in the JDK */
    HORA_FAILURE_BACK_OFF, /* the next run comes not before back_off after the end of the failed one, then back_off * back_off_factor, */
    /* and so on up to back_off_max, until a run succeeds. A task that runs once is tried again like this */
} hora_failure;

/* A run has failed with this code; `ends`: there will be no other. In the thread that ran it, with no lock of hora held. It must
 * return: if it ends its thread, the series ends with HORA_EABANDONED, and with HORA_OVERLAP_ALLOW its counts are wrong from then on.
 * For a timer, see hora/timer.h, the future is NULL. */
typedef void (*hora_failed_fn)(hora_scheduler *scheduler, hora_future *future, int code, bool ends, void *arg);

typedef struct hora_schedule {
    uint32_t struct_size; /* sizeof(hora_schedule), set by HORA_SCHEDULE */

    /* the first run; both zero: at once, or when cron, trigger or `next` says. With those, if given: first then, and after it when */
    /* they say */
    hora_ns initial_delay; /* this long from now; negative: as 0 */
    hora_instant at;       /* or at this moment of the wall clock */

    /* the runs after it; at most one of these, none: the task runs once */
    hora_ns fixed_rate;  /* every so often, from planned time to planned time: no drift */
    hora_ns fixed_delay; /* so long after the end of each run */
    hora_next_fn next;   /* when this function says */
    void *next_arg;
    hora_trigger *trigger; /* when this trigger says; a reference is taken */
    const char *cron; /* at the times of this expression: see hora/cron.h. Which of them that have passed are made up */
                      /* `missed` decides alone */
    const char *
        zone; /* where that is; NULL: where the machine is, "local". See hora_zone_new. A scheduler reads each zone once, */
              /* and again in hora_scheduler_refresh_zones */
    hora_cron_dialect dialect;
    hora_dst dst; /* what becomes of its times when the clocks of the zone are set */

    hora_clock_id
        clock; /* if the wall clock is set back, rate and next go on with their next time by it; what was given for the */
               /* first run stays, and so does a gap */
    hora_instant end; /* no run is planned after this moment of the wall clock; 0: no end */
    int64_t count;    /* no more runs than this; 0: no limit */

    hora_missed missed;
    int missed_max; /* HORA_MISSED_AT_MOST: how many, at least 1 */
    hora_ns grace;  /* a run that would begin later than this after its planned time is skipped; 0: never too late */
    hora_overlap overlap;
    int overlap_max; /* HORA_OVERLAP_ALLOW: how many, 2 to 1000 */

    hora_failure failure;
    int stop_after;         /* end the series after so many failures in a row; 0: never */
    hora_ns back_off;       /* HORA_FAILURE_BACK_OFF: the first pause; 0: 1 s */
    double back_off_factor; /* at least 1; 0: 2 */
    hora_ns back_off_max;   /* the longest pause; 0: 5 min, or back_off if that is longer */
    hora_failed_fn failed;  /* told of failures of this task, before the scheduler's own; NULL: nobody */
    void *failed_context;

    hora_ns slack; /* how much later than planned a run may begin, so that wake-ups can be merged; 0: precise */
    hora_ns
        spread; /* all planned times are put off by an offset below this, which comes from a hash of the name: so tasks with */
                /* the same times do not run all at once, and each keeps its own; 0: none */
    const char *name; /* instead of the task's; lives as that does, see hora/task.h */
    const hora_task_options
        *options; /* class, key, priority and limits of each run, see hora/terms.h; copied. NULL: none */
} hora_schedule;

#define HORA_SCHEDULE(...) (&(hora_schedule){.struct_size = sizeof(hora_schedule), __VA_ARGS__})

/* hora_schedule_check - whether a schedule is valid, and if not, why
 *
 * hora_scheduler_schedule_with refuses what this refuses. Zone and expression are tried out, too. If `reterr_reason` is not NULL it is
 * set to a static sentence, unless there is no memory.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: While a zone is read.
 * Errors: HORA_EINVAL; with a cron HORA_ENOMEM, and those of hora_zone_new. */
HORA_NODISCARD HORA_API int hora_schedule_check(const hora_schedule *spec, const char **reterr_reason);

/* ---- what can be asked of, and done with, the future of a scheduled task ---- */

/* hora_future_delay - how long until the task is due; zero and less: it is, since that long
 *
 * HORA_FOREVER: it is paused, or was scheduled for later than time can count. While a run is going, what was said for
 * that run; after the end, what was said last.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_delay(hora_future *future, hora_ns *ret_delay);

/* hora_future_compare_due - which of two tasks of one scheduler comes first: < 0 the first, > 0 the second
 *
 * By planned time, then by order of scheduling; a series keeps its place among equals. 0 only for the same task, and
 * for what cannot be compared: NULL, futures of no scheduler or of different ones.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API int hora_future_compare_due(hora_future *a, hora_future *b);

/* hora_future_is_periodic - whether the task belongs to a series; false for all other futures
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_future_is_periodic(const hora_future *future);

/* Everything that is known of a scheduled task, as it was at one moment. Times are readings of the schedule's clock. */
typedef struct hora_schedule_info {
    uint32_t struct_size; /* set by hora_future_get_schedule_info */
    hora_clock_id clock;
    bool paused;
    int running;  /* how many runs are going */
    hora_ns next; /* planned time of the next run; HORA_NEVER: none, paused, or not known before this run ends */
    hora_ns last_planned; /* of the latest run that has begun; HORA_NEVER: none */
    hora_ns last_start;
    hora_ns last_end; /* of the latest that has ended */
    int last_code;    /* and how: 0, or its failure code */
    int64_t runs;     /* that have begun */
    int64_t failures;
    int64_t failures_in_a_row; /* until now */
    int64_t
        skipped; /* planned times that were missed and not made up; of a trigger or `next` about a hundred thousand are counted */
                 /* at once, and no more */
} hora_schedule_info;

/* hora_future_get_schedule_info - look at everything at once
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_get_schedule_info(hora_future *future, hora_schedule_info *ret_info);

/* hora_future_reschedule - let the next run be in `delay`, whenever it was planned before
 *
 * For a series the planned times after it count from there, and `every`, if > 0, replaces its rate or gap. If a run is
 * going the change holds for the one after it. After the call returns no run begins by the old plan. A paused task
 * stays paused, with the new plan. For a task that is queued because it is due, and not yet taken by a thread, this
 * works as well.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, not a future of a scheduler, `every` negative, or > 0 for a task without rate or gap),
 * HORA_EBUSY (it runs only once, and has been taken or is over, or its series is over or is in the last run of its count), HORA_EFORKED. */
HORA_API int hora_future_reschedule(hora_future *future, hora_ns delay, hora_ns every);

/* hora_future_pause - let no run begin until hora_future_resume: 1, or 0 if it is paused already
 *
 * Time goes on meanwhile. Runs that are going are not touched. A paused task is cancelled by hora_pool_shutdown, since
 * it might never come to its end.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EBUSY (it runs only once, and has been taken or is
 * over, or its series is over or is in the last run of its count), HORA_EFORKED. */
HORA_API int hora_future_pause(hora_future *future);

/* hora_future_resume - go on after a pause: 1, or 0 if it is not paused
 *
 * The next run is at its planned time; what has passed meanwhile was missed, and the rule for that decides.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EBUSY (it is over, or is in the last run of its count),
 * HORA_EFORKED. */
HORA_API int hora_future_resume(hora_future *future);

HORA_END_DECLS

#endif
