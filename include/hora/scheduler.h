/* SPDX-License-Identifier: Apache-2.0 */
/* hora/scheduler.h - tasks that run later, or repeatedly, with the semantics of ScheduledThreadPoolExecutor
 *
 *     hora_scheduler *scheduler;
 *     hora_error error;
 *     if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2), &scheduler, &error) < 0 ||
 *         hora_scheduler_schedule_with(scheduler, HORA_TASK(report, NULL, .name = "report"),
 *                                      HORA_SCHEDULE(.cron = "0 0 3 * * *", .zone = "Europe/Paris"), NULL, &error) < 0)
 *         fprintf(stderr, "%s\n", error.message);
 *     hora_scheduler_schedule_at_fixed_rate(scheduler, HORA_TASK(tick, NULL), 0, HORA_MS(500), NULL);
 *     ...
 *     hora_scheduler_close_for(scheduler, HORA_SECONDS(5));
 *     hora_scheduler_free(scheduler);
 *
 * A scheduler is a pool: every call of hora/pool.h, hora/executor.h, hora/completion.h and hora/group.h
 * takes one: hora_pool_get_stats, hora_pool_await_idle, hora_pool_set_core_threads and so on. A task that
 * is executed or submitted is one with a delay of zero. Its queue is ordered by planned time, then by
 * order of scheduling, and has no bound; so there are never more than core_threads workers (one, if that
 * is 0), and tasks are rejected only after shutdown.
 *
 * Words that this header uses:
 *
 *   planned time   when a run ought to begin, by the clock of the schedule.
 *   series         all runs of one task with fixed_rate, fixed_delay, cron, trigger or next. Its future is
 *   done when
 *                  the series is over.
 *   missed         a planned time that passed without a run, for whatever reason: the run before took too
 *   long, all
 *                  threads were busy, the machine was suspended, the clock was set forward.
 *   skipped        a missed time that is not made up. Skipped times are counted.
 *
 * No task begins before its time, by its clock. A series never overlaps itself, unless `overlap` of its
 * schedule says so. Its runs may be on different threads, and each sees what the one before has done. The
 * future of a series never succeeds, unless count or end let it: then it has the result of the last run.
 * Results of other runs are dropped.
 *
 * To hear of failures see hora/event.h.
 *
 * After hora_scheduler_shutdown:
 *
 *     due or running tasks      run
 *     tasks that run once       run in their time; are cancelled with cancel_delayed
 *     series                    are cancelled, one that is running at its end; go on with continue_periodic
 *     paused tasks              are cancelled
 *
 * and the scheduler terminates when nothing is left. After hora_scheduler_shutdown_now nothing begins.
 * Series that are running are cancelled at the end of their run, and all others are handed back as they
 * are. */
#ifndef HORA_SCHEDULER_H
#define HORA_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/cron.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/pool.h>
#include <hora/task.h>
#include <hora/trigger.h>

HORA_BEGIN_DECLS

/* ---- when a task runs ---- */

/* A scheduler is a pool. */
typedef hora_pool hora_scheduler;

/* What becomes of planned times that were missed; of a rate, of cron, or of `next` and a trigger as far as
 * they answer with times that have passed. */
typedef enum hora_missed {
    /* one run makes up for all of them, then back to the planned times; the others count as skipped */
    HORA_MISSED_ONCE = 0,
    /* each is made up, one after the other, as the JDK does */
    HORA_MISSED_BURST,
    /* none is made up. A run that is late, but begins before the planned time after it, has not been
     * missed */
    HORA_MISSED_SKIP,
    /* the latest missed_max are made up */
    HORA_MISSED_AT_MOST,
} hora_missed;

/* What becomes of planned times that come while the run before is still going. */
typedef enum hora_overlap {
    /* runs follow each other; these times are missed, and the rule for that decides */
    HORA_OVERLAP_NEVER = 0,
    /* one run follows at once, however many times have passed; the rest is skipped */
    HORA_OVERLAP_QUEUE_ONE,
    /* up to overlap_max runs go on at the same time; a time that finds so many is skipped. A cancel
     * answers for the series: HORA_CANCEL_REMOVED even if runs are going, which it interrupts if told so */
    HORA_OVERLAP_ALLOW,
} hora_overlap;

/* What a failed run means for those to come. A series that ends by this fails its future with the last
 * code. */
typedef enum hora_failure {
    /* nothing: the series goes on. A task that runs once fails */
    HORA_FAILURE_CONTINUE = 0,
    /* the series ends, as in the JDK */
    HORA_FAILURE_STOP,
    /* the next run begins no earlier than back_off after the end of the failed one; after the next failure
     * back_off times back_off_factor, and so on up to back_off_max, until a run succeeds. A task that runs
     * once is retried like this */
    HORA_FAILURE_BACK_OFF,
} hora_failure;

typedef struct hora_schedule {
    /* sizeof(hora_schedule), set by HORA_SCHEDULE */
    uint32_t struct_size;

    /* The first run: both zero mean at once, or when cron, trigger or `next` says. If one is given together
     * with those, it says when the first run is, and they say when the others are. */

    /* this long from now; negative: as 0 */
    hora_ns initial_delay;
    /* or at this moment of the wall clock */
    hora_instant at;

    /* The runs after it: at most one of these five; none: the task runs once. */

    /* every so often, from planned time to planned time: no drift */
    hora_ns fixed_rate;
    /* this long after the end of each run */
    hora_ns fixed_delay;
    /* when this function says */
    hora_next_fn next;
    void *next_arg;
    /* when this trigger says; a reference is taken */
    hora_trigger *trigger;
    /* at the times of this expression: see hora/cron.h. Which of them that have passed are made up
     * `missed` decides alone */
    const char *cron;

    /* where that is; NULL: where the machine is, "local". See hora_zone_new. A scheduler reads each zone
     * once, and again in hora_scheduler_refresh_zones */
    const char *zone;

    hora_cron_dialect dialect;
    /* what becomes of its times when the clocks of the zone are set */
    hora_dst dst;

    /* which clock it follows; HORA_CLOCK_DEFAULT: the scheduler's own, but with `at`, cron and triggers of
     * the calendar the wall clock. If the wall clock is set back, fixed_rate and next go on with their
     * next time by it; what was given for the first run stays, and so does a fixed_delay */
    hora_clock_id clock;

    /* no run is planned after this moment of the wall clock; 0: no end */
    hora_instant end;
    /* no more runs than this; 0: no limit */
    int64_t count;

    hora_missed missed;
    /* HORA_MISSED_AT_MOST: how many, at least 1 */
    int missed_max;
    /* a run that would begin later than this after its planned time is skipped; 0: never too late */
    hora_ns grace;
    hora_overlap overlap;
    /* HORA_OVERLAP_ALLOW: how many, 2 to 1000 */
    int overlap_max;

    hora_failure failure;
    /* end the series after so many failures in a row; 0: never */
    int stop_after;
    /* HORA_FAILURE_BACK_OFF: the first pause; 0: 1 s */
    hora_ns back_off;
    /* at least 1; 0: 2 */
    double back_off_factor;
    /* the longest pause; 0: 5 min, or back_off if that is longer */
    hora_ns back_off_max;

    /* how much later than planned a run may begin, so that wake-ups can be merged; 0: precise */
    hora_ns slack;
    /* all planned times are put off by an offset below this, which comes from a hash of the name: so tasks
     * with the same times do not run all at once, and each keeps its own; 0: none */
    hora_ns spread;

    /* instead of the task's; lives as that does, see hora/task.h */
    const char *name;
    /* class, key, priority and limits of each run, see hora/task.h; copied. NULL: none */
    const hora_task_options *options;
} hora_schedule;

#define HORA_SCHEDULE(...) HORA__LITERAL(hora_schedule, __VA_ARGS__)

/* hora_schedule_check - whether a schedule is valid, and if not, why
 *
 * hora_scheduler_schedule_with refuses what this refuses. It tries out zone and expression, too.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: While a zone is read.
 * Errors: HORA_EINVAL; with a cron HORA_ENOMEM, and those of hora_zone_new. */
HORA_NODISCARD HORA_API int hora_schedule_check(const hora_schedule *schedule, hora_error *reason);

/* ---- schedulers ---- */

/* Called for each task that is executed, submitted or scheduled (not for futures that were made
 * elsewhere), before anything else is done with it: may change it, for example to put a function of its
 * own around run, or refuse it with an error, which the call then returns. Futures made elsewhere are also
 * those of hora_executor_invoke_all and _any, completion services and groups. If the call fails later the
 * caller keeps the task as it gave it, and neither run nor drop of the changed one is called: so what
 * decorate allocates should be found through arg. */
typedef int (*hora_decorate_fn)(hora_scheduler *scheduler, hora_task *task, void *arg);

typedef struct hora_scheduler_options {
    /* sizeof(hora_scheduler_options), set by HORA_SCHEDULER_OPTIONS */
    uint32_t struct_size;
    /* 0 and more; with 0 there is one as long as anything is scheduled */
    int core_threads;
    /* how long a surplus worker stays idle; 0: 10 ms */
    hora_ns keep_alive;
    /* core workers, too, end after keep_alive; the last one only if nothing is scheduled */
    bool core_time_out;
    /* the rule for tasks after shutdown; not HORA_REJECT_BLOCK, which could have no effect */
    hora_reject reject;
    /* HORA_REJECT_CALLBACK */
    hora_reject_fn reject_handler;
    /* NULL: hora's own threads */
    hora_thread_factory_fn thread_factory;
    /* hooks, around each run; NULL: none */
    hora_before_fn before;
    hora_after_fn after;
    hora_terminated_fn terminated;
    hora_decorate_fn decorate;
    /* last argument of all callbacks above */
    void *arg;
    /* prefix of thread names, copied; NULL: "pool-N-thread-", N counting pools */
    const char *name;
    /* of hora's own threads, PTHREAD_STACK_MIN to 1 TB; 0: the system's default */
    size_t stack_size;
    /* what delays are measured with; NULL: monotonic */
    const hora_clock *clock;
    /* the setters of hora/pool.h and below are refused with HORA_ENOTSUP */
    bool frozen;
    /* cancelled tasks stay until they are due, as the JDK has it by default */
    bool keep_cancelled;
    /* shutdown cancels what runs once and is not due */
    bool cancel_delayed;
    /* series go on after shutdown */
    bool continue_periodic;

    /* histograms and counters; NULL: off. See hora/metrics.h. This struct and those below are copied */
    const hora_metrics *metrics;

    /* classes, keys and priorities; NULL: off. See hora/admission.h */
    const hora_admission *admission;

    /* a watch over workers that make no progress, and limits of tasks in time; NULL: off. See hora/event.h */
    const hora_watchdog *watchdog;

    /* functions that are told what happens; NULL: none. See hora/event.h */
    const hora_listener *listener;

    /* what travels with tasks; NULL: nothing. See hora/context.h */
    const hora_context_hooks *context_hooks;

    /* how long a task may wait before another thread starts; 0: threads beyond core_threads start only
     * when the queue is full. See below */
    hora_ns grow_after;

    /* where hora_pool_request_dump writes to; takes a thread and a descriptor. NULL: nowhere. See
     * hora/explain.h */
    hora_write_fn dump;
    void *dump_arg;
} hora_scheduler_options;

#define HORA_SCHEDULER_OPTIONS(...) HORA__LITERAL(hora_scheduler_options, __VA_ARGS__)

/* hora_scheduler_new - make a scheduler; threads start when tasks come
 *
 * Options that cannot work are refused.
 *
 * Ownership: the caller owns *ret_scheduler, to be freed with hora_pool_free. The clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN. */
HORA_NODISCARD HORA_API int hora_scheduler_new(const hora_scheduler_options *options, hora_scheduler **ret_scheduler,
                                               hora_error *reason);

/* hora_scheduler_new_single - one thread, and no setter changes that; `options` may add the rest, or be NULL
 *
 * Ownership: as hora_scheduler_new.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_new; HORA_EINVAL also for core_threads other than 0 and 1. */
HORA_NODISCARD HORA_API int hora_scheduler_new_single(const hora_scheduler_options *options,
                                                      hora_scheduler **ret_scheduler, hora_error *reason);

/* hora_scheduler_shutdown - as hora_pool_shutdown
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: as hora_pool_shutdown.   Errors: as
 * hora_pool_shutdown. */
static inline int hora_scheduler_shutdown(hora_scheduler *scheduler)
{
    return hora_pool_shutdown(scheduler);
}

/* hora_scheduler_shutdown_now - as hora_pool_shutdown_now
 *
 * Ownership: as hora_pool_shutdown_now.   Threads: Any thread.   Blocks: Never.   Errors: as
 * hora_pool_shutdown_now. */
static inline int hora_scheduler_shutdown_now(hora_scheduler *scheduler, hora_future_list *ret_list)
{
    return hora_pool_shutdown_now(scheduler, ret_list);
}

/* hora_scheduler_close - as hora_pool_close
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: as hora_pool_close.   Errors: as hora_pool_close. */
static inline int hora_scheduler_close(hora_scheduler *scheduler)
{
    return hora_pool_close(scheduler);
}

/* hora_scheduler_close_for - as hora_pool_close_for
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: as hora_pool_close_for.   Errors: as
 * hora_pool_close_for. */
static inline int hora_scheduler_close_for(hora_scheduler *scheduler, hora_ns timeout)
{
    return hora_pool_close_for(scheduler, timeout);
}

/* hora_scheduler_free - as hora_pool_free
 *
 * Ownership: as hora_pool_free.   Threads: Owner.   Blocks: as hora_pool_free.   Errors: as hora_pool_free. */
static inline int hora_scheduler_free(hora_scheduler *scheduler)
{
    return hora_pool_free(scheduler);
}

/* hora_scheduler_schedule - run a task once, after a delay
 *
 * A delay of zero or less: at once. Sums saturate: a delay beyond what time can count never ends, and
 * disturbs no other. `ret_future` may be NULL. The task takes
 * a quarter of the memory then, unless the scheduler has a before or after hook, or a caller has
 * looked at its queue. For what is to be cancelled as a rule, like a timeout, hora/timer.h costs less
 * still.
 *
 * Ownership: see hora/task.h; the caller gets one reference to *ret_future.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EREJECTED, HORA_EINVAL (also: not a scheduler), HORA_ENOMEM, HORA_EAGAIN (there is no
 * thread, and none can be started), HORA_EFORKED, and what a rejection handler or decorate returns. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule(hora_scheduler *scheduler, const hora_task *task, hora_ns delay,
                                                    hora_future **ret_future);

/* hora_scheduler_schedule_at_fixed_rate - run a task after a delay, and then every `period`, counted from
 * planned time to planned time
 *
 * What was missed is made up, one run after the other. A run that fails ends the series, and its future
 * fails.
 *
 * Ownership: as hora_scheduler_schedule.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_schedule; HORA_EINVAL also for period <= 0. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule_at_fixed_rate(hora_scheduler *scheduler, const hora_task *task,
                                                                  hora_ns initial_delay, hora_ns period,
                                                                  hora_future **ret_future);

/* hora_scheduler_schedule_with_fixed_delay - run a task after a delay, and then again `delay` after the
 * end of each run
 *
 * A run that fails ends the series, and its future fails.
 *
 * Ownership: as hora_scheduler_schedule.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_schedule; HORA_EINVAL also for delay <= 0. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule_with_fixed_delay(hora_scheduler *scheduler, const hora_task *task,
                                                                     hora_ns initial_delay, hora_ns delay,
                                                                     hora_future **ret_future);

/* hora_scheduler_schedule_with - run a task as a schedule says; see hora_schedule
 *
 * NULL instead of a schedule: all defaults, once and at once.
 *
 * Ownership: as hora_scheduler_schedule; the schedule is copied.   Threads: Any thread.   Blocks: While a
 * zone is read.
 * Errors: as hora_scheduler_schedule; HORA_EINVAL also for what hora_schedule_check refuses, for a spread
 * without a name, for a first run after the end, and for a cron, trigger or `next` that says never at
 * once; with a zone those of hora_zone_new. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule_with(hora_scheduler *scheduler, const hora_task *task,
                                                         const hora_schedule *schedule, hora_future **ret_future,
                                                         hora_error *reason);

/* hora_scheduler_refresh_zones - read the files of all zones that its tasks use again: 1 if rules have
 * changed, 0 if not
 *
 * Every waiting task whose trigger has a zone finds its next time anew, also if somebody else has
 * refreshed that zone; one that runs does after the run. A time that has passed by the new rules since its
 * last run was missed. A next run that was given (`at`, `delay`, hora_future_reschedule) or comes after a
 * pause for a failure stays. To be called when the database has been updated, or now and then.
 *
 * Refresh before new rules come into force. A refresh after that changes the local time of runs that have
 * been: the new rules place the planned time of the last run at another local time, and the next run is
 * the first one after that moment by the new rules. So if the new rules set the clocks back, a daily task
 * that has run today by the old rules may run again today, at its right local time. If they set the clocks
 * forward, the run of the next day comes sooner than after 24 hours. A task that must not run twice in a
 * local day notes the day of its last run itself.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: While files are read.
 * Errors: HORA_EINVAL (NULL, not a scheduler), HORA_ENOMEM, HORA_EFORKED, and those of hora_zone_refresh:
 * then all other zones have been refreshed. */
HORA_API int hora_scheduler_refresh_zones(hora_scheduler *scheduler);

/* hora_scheduler_set_cancel_delayed - whether shutdown cancels what runs once and is not due
 *
 * After shutdown, `true` cancels at once; `false` brings nothing back.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, not a scheduler), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_scheduler_set_cancel_delayed(hora_scheduler *scheduler, bool cancel_delayed);

/* hora_scheduler_set_continue_periodic - whether series go on after shutdown
 *
 * After shutdown, `false` cancels them at once; `true` brings nothing back.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_set_cancel_delayed. */
HORA_API int hora_scheduler_set_continue_periodic(hora_scheduler *scheduler, bool continue_periodic);

/* hora_scheduler_set_keep_cancelled - whether cancelled tasks stay in the queue until they are due; looked
 * at when a task is cancelled
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_set_cancel_delayed; HORA_ENOTSUP also for a scheduler with admission, which
 * keeps none. */
HORA_API int hora_scheduler_set_keep_cancelled(hora_scheduler *scheduler, bool keep_cancelled);

/* ---- what can be asked of, and done with, the future of a scheduled task ---- */

/* hora_future_delay - how long until the task is due; zero and less: it is, since that long
 *
 * HORA_FOREVER: it is paused, or was scheduled for later than time can count. While a run is going, what
 * was said for that run; after the end, what was said last.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_delay(hora_future *future, hora_ns *ret_delay);

/* hora_future_compare_due - which of two tasks of one scheduler comes first
 *
 * Writes a number < 0 if the first does, > 0 if the second does, and 0 if both are the same task. By
 * planned time, then by order of scheduling; a series keeps its place among equals.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (they cannot be compared: a NULL, not a future of a scheduler, or of different
 * schedulers), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_compare_due(hora_future *a, hora_future *b, int *ret_order);

/* hora_future_is_periodic - whether the task belongs to a series; false for all other futures
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_future_is_periodic(const hora_future *future);

/* Everything that is known of a scheduled task, as it was at one moment. Times are readings of the
 * schedule's clock. */
typedef struct hora_schedule_info {
    /* set by HORA_INIT */
    uint32_t struct_size;
    hora_clock_id clock;
    bool paused;
    /* how many runs are going */
    int running;
    /* planned time of the next run; HORA_NEVER: none, paused, or not known before this run ends */
    hora_ns next;
    /* of the latest run that has begun; HORA_NEVER: none */
    hora_ns last_planned;
    hora_ns last_start;
    /* of the latest that has ended */
    hora_ns last_end;
    /* and how: 0, or its failure code */
    int last_code;
    /* that have begun */
    int64_t runs;
    int64_t failures;
    /* until now */
    int64_t failures_in_a_row;
    /* planned times that were missed and not made up; of a trigger or `next` about a hundred thousand are
     * counted at once, and no more */
    int64_t skipped;
} hora_schedule_info;

/* hora_future_get_schedule_info - look at everything at once
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_get_schedule_info(hora_future *future, hora_schedule_info *ret_info);

/* hora_future_reschedule - let the next run be in `delay`, whenever it was planned before
 *
 * For a series the planned times after it count from there, and `every`, if > 0, replaces its rate or gap.
 * If a run is going the change holds for the one after it. After the call returns no run begins by the old
 * plan. A paused task stays paused, with the new plan. For a task that is queued because it is due, and
 * not yet taken by a thread, this works as well.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, not a future of a scheduler, `every` negative, or > 0 for a task without rate
 * or gap), HORA_EBUSY (it runs only once, and has been taken or is over, or its series is over or is in
 * the last run of its count), HORA_EFORKED. */
HORA_API int hora_future_reschedule(hora_future *future, hora_ns delay, hora_ns every);

/* hora_future_pause - let no run begin until hora_future_resume: 1, or 0 if it is paused already
 *
 * Time goes on meanwhile. Runs that are going are not touched. A paused task is cancelled by
 * hora_pool_shutdown, since it might never come to its end.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EBUSY (it runs only once, and has been
 * taken or is over, or its series is over or is in the last run of its count), HORA_EFORKED. */
HORA_API int hora_future_pause(hora_future *future);

/* hora_future_resume - go on after a pause: 1, or 0 if it is not paused
 *
 * The next run is at its planned time; what has passed meanwhile was missed, and the rule for that decides.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EBUSY (it is over, or is in the last
 * run of its count), HORA_EFORKED. */
HORA_API int hora_future_resume(hora_future *future);

HORA_END_DECLS

#endif
