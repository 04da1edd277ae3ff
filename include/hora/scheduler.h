/* SPDX-License-Identifier: Apache-2.0 */
/* hora/scheduler.h - delayed and periodic tasks with the semantics of ScheduledThreadPoolExecutor
 *
 *     hora_scheduler *scheduler;
 *     hora_error error;
 *     if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2), &scheduler, &error) < 0 ||
 *         hora_scheduler_schedule_with(scheduler, HORA_TASK(report, NULL, .name = "report"),
 *                                      HORA_SCHEDULE(.cron = "0 0 3 * * *", .zone = "Europe/Paris"),
 *                                      NULL, &error) < 0)
 *         fprintf(stderr, "%s\n", error.message);
 *     hora_scheduler_schedule_at_fixed_rate(scheduler, HORA_TASK(tick, NULL), 0, HORA_MS(500), NULL);
 *     ...
 *     hora_scheduler_close_for(scheduler, HORA_SECONDS(5));
 *     hora_scheduler_free(scheduler);
 *
 * A scheduler is a pool: every call of hora/pool.h, hora/executor.h, hora/completion.h and hora/group.h
 * accepts one, for example hora_pool_get_stats, hora_pool_await_idle and hora_pool_set_core_threads.
 * Executing or submitting a task is the same as scheduling it with a delay of zero. The queue of a scheduler
 * is unbounded and ordered by planned time, then by order of scheduling. Therefore a scheduler never has more
 * than core_threads workers (one, if that is 0), and it rejects tasks only after shutdown.
 *
 * Terms used in this header:
 *
 *   planned time   when a run should start, by the clock of the schedule.
 *   due            a task is due when its planned time has come.
 *   one-shot       a task that is not a series: it runs once, or until it succeeds (HORA_FAILURE_BACK_OFF).
 *   series         all runs of one task with fixed_rate, fixed_delay, cron, trigger or next. Its future is
 *                  done when the series has ended.
 *   missed         a planned time that passed without a run for any reason: the previous run took too long,
 *                  all threads were busy, the machine was suspended, or the clock was set forward.
 *   skipped        a missed time that is not made up. Skipped times are counted.
 *
 * No task starts before its time, by its clock. Runs of a series never overlap, unless `overlap` of its
 * schedule allows it. They may use different threads, and each run sees the effects of the previous one. The
 * future of a series never succeeds, unless the series ends because of count or end: it then has the result
 * of the last run. Results of other runs are dropped.
 *
 * For notification of failures see hora/event.h.
 *
 * After hora_scheduler_shutdown:
 *
 *   due or running tasks      run
 *   one-shot tasks            run at their time; with cancel_delayed they are cancelled
 *   series                    are cancelled, a running one at the end of its run; with continue_periodic
 *                             they continue
 *   paused tasks              are cancelled
 *
 * The scheduler terminates when nothing is left. After hora_scheduler_shutdown_now nothing starts. Series
 * that are running are cancelled at the end of their run, and all other tasks are handed back unchanged. */
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

/* ---- schedules ---- */

/* A scheduler: a pool whose queue is ordered by time. */
typedef hora_pool hora_scheduler;

/* What happens to missed planned times of a rate or of cron, and to those of `next` and of a trigger if they
 * return times that have passed. A fixed delay misses no times. */
typedef enum hora_missed {
    /* one run makes up for all of them, then the series returns to its planned times; the others count as
     * skipped */
    HORA_MISSED_ONCE = 0,
    /* each is made up, one after the other, as in the JDK */
    HORA_MISSED_BURST,
    /* none is made up: if several times have passed, the next run is at the first planned time after now. A
     * single late run that starts before the following planned time does not count as missed */
    HORA_MISSED_SKIP,
    /* the latest missed_max of them are made up */
    HORA_MISSED_AT_MOST,
} hora_missed;

/* What happens to planned times that come while the previous run is still in progress. */
typedef enum hora_overlap {
    /* runs are sequential; these times are missed, and hora_missed decides */
    HORA_OVERLAP_NEVER = 0,
    /* one run follows immediately, however many times have passed; the rest are skipped */
    HORA_OVERLAP_QUEUE_ONE,
    /* up to overlap_max runs are in progress at the same time; a time that finds that many is skipped. A
     * cancel applies to the series: it returns HORA_CANCEL_REMOVED even if runs are in progress, and
     * interrupts them if requested */
    HORA_OVERLAP_ALLOW,
} hora_overlap;

/* How a failed run affects later runs. A series that ends because of a failure fails its future with the last
 * code. */
typedef enum hora_failure {
    /* not at all: the series continues. A one-shot task fails */
    HORA_FAILURE_CONTINUE = 0,
    /* the series ends, as in the JDK */
    HORA_FAILURE_STOP,
    /* the next run starts no earlier than back_off after the end of the failed one. Each further failure
     * multiplies back_off by back_off_factor, up to back_off_max, until a run succeeds. A one-shot task is
     * retried in the same way */
    HORA_FAILURE_BACK_OFF,
} hora_failure;

/* When and how a task runs. A schedule that cannot work, or of which a part would have no effect, is refused;
 * see hora_schedule_check. */
typedef struct hora_schedule {
    /* sizeof(hora_schedule), set by HORA_SCHEDULE */
    uint32_t struct_size;

    /* The first run. If both fields are zero it is immediate, or at the time that cron, trigger or `next`
     * yields. If one of them is given together with cron, trigger or `next`, it determines the first run, and
     * they determine the others. */

    /* after this delay; a negative one counts as 0 */
    hora_ns initial_delay;
    /* or at this time of the wall clock */
    hora_instant at;

    /* Further runs. At most one of these five; with none, the task runs once. */

    /* period from planned time to planned time, without drift */
    hora_ns fixed_rate;
    /* pause between the end of a run and the next one */
    hora_ns fixed_delay;
    /* function that returns the next time; see hora/trigger.h */
    hora_next_fn next;
    /* last argument of next */
    void *next_arg;
    /* trigger that returns the next time; the scheduler takes a reference */
    hora_trigger *trigger;
    /* the times of this expression; see hora/cron.h. `missed` alone decides which times that have passed are
     * made up. The text is not needed after the call */
    const char *cron;

    /* the zone of cron; NULL means the zone of the machine, "local". See hora_zone_new. A scheduler reads
     * each zone once, and again in hora_scheduler_refresh_zones. The text is not needed after the call */
    const char *zone;

    /* the syntax of cron; 0 means Spring's six fields */
    hora_cron_dialect dialect;
    /* how the times of cron behave when the clocks of the zone change; 0 means literal */
    hora_dst dst;

    /* the clock of the schedule; HORA_CLOCK_DEFAULT means the scheduler's own clock, but the wall clock for
     * `at`, cron and calendar triggers. If the wall clock is set back, fixed_rate and next continue with
     * their next time by the new clock. A time given for the first run stays, and so does a fixed_delay */
    hora_clock_id clock;

    /* series: no run is planned after this time of the wall clock; 0 means no end */
    hora_instant end;
    /* series: maximum number of runs; 0 means no limit */
    int64_t count;

    /* what happens to missed times; requires fixed_rate, next, trigger or cron */
    hora_missed missed;
    /* HORA_MISSED_AT_MOST: the maximum, at least 1. Otherwise 0 */
    int missed_max;
    /* a run that would start later than this after its planned time is skipped; 0 means that it is never too
     * late */
    hora_ns grace;
    /* what happens to times that come during a run. HORA_OVERLAP_QUEUE_ONE requires fixed_rate.
     * HORA_OVERLAP_ALLOW requires fixed_rate, next, trigger or cron, and excludes HORA_FAILURE_BACK_OFF */
    hora_overlap overlap;
    /* HORA_OVERLAP_ALLOW: the maximum, 2 to 1000. Otherwise 0 */
    int overlap_max;

    /* how a failed run affects later runs */
    hora_failure failure;
    /* end the series after this many consecutive failures; 0 means never. Not with HORA_FAILURE_STOP */
    int stop_after;
    /* HORA_FAILURE_BACK_OFF: the first pause; 0 means 1 s */
    hora_ns back_off;
    /* HORA_FAILURE_BACK_OFF: 1 to 1e9; 0 means 2 */
    double back_off_factor;
    /* HORA_FAILURE_BACK_OFF: the longest pause; 0 means 5 min, or back_off if that is longer */
    hora_ns back_off_max;

    /* how much later than planned a run may start, so that wake-ups can be merged; 0 means precise */
    hora_ns slack;
    /* delays all planned times by a fixed offset below this value, so that tasks with the same times do not
     * all run at once. The offset is computed from a hash of the name, which is required, and is the same in
     * every process. At most fixed_rate, if that is given; 0 means none */
    hora_ns spread;

    /* replaces the name of the task; must live as long as that name, see hora/task.h */
    const char *name;
    /* class, key, priority and time limits of each run, see hora/task.h; copied. NULL means none */
    const hora_task_options *options;
} hora_schedule;

/* HORA_SCHEDULE(.fixed_rate = HORA_SECONDS(5), .count = 10): a schedule literal. In C++ before C++20, start
 * with HORA_INIT(hora_schedule) and assign the fields. */
#define HORA_SCHEDULE(...) HORA__LITERAL(hora_schedule, __VA_ARGS__)

/* hora_schedule_check - check whether a schedule is valid and, if not, say why
 *
 * hora_scheduler_schedule_with refuses the same schedules. The check includes the zone and the cron
 * expression. It does not include `options`, which depend on the scheduler: see hora_task_options_check.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: While a zone is read.
 * Errors: HORA_EINVAL; with cron also HORA_ENOMEM and those of hora_zone_new. */
HORA_NODISCARD HORA_API int hora_schedule_check(const hora_schedule *schedule, hora_error *reason);

/* ---- schedulers ---- */

/* Called for each task that is executed, submitted or scheduled, before anything else is done with it. It may
 * change the task, for example to wrap run in a function of its own, and returns 0. Or it returns a negative
 * error code, which refuses the task and which the call returns. It is not called for futures that were
 * created elsewhere; these include futures of hora_executor_invoke_all and _any, completion services and
 * groups. If the call fails later, the caller keeps the original task, and neither run nor drop of the
 * changed task is called. Memory that decorate allocates should therefore be reachable through arg. For
 * timers see hora/timer.h. */
typedef int (*hora_decorate_fn)(hora_scheduler *scheduler, hora_task *task, void *arg);

/* Options of hora_scheduler_new. Those with the name of a field of hora_pool_options mean the same. */
typedef struct hora_scheduler_options {
    /* sizeof(hora_scheduler_options), set by HORA_SCHEDULER_OPTIONS */
    uint32_t struct_size;
    /* maximum number of threads; 0 or more. With 0 there is one thread as long as anything is scheduled */
    int core_threads;
    /* how long a surplus worker may stay idle; 0 means 10 ms */
    hora_ns keep_alive;
    /* core workers also end after keep_alive; the last one only if nothing is scheduled */
    bool core_time_out;
    /* the rejection policy after shutdown; not HORA_REJECT_BLOCK, which would have no effect */
    hora_reject reject;
    /* HORA_REJECT_CALLBACK: the handler. Otherwise NULL */
    hora_reject_fn reject_handler;
    /* starts threads for the scheduler; NULL means that hora creates them */
    hora_thread_factory_fn thread_factory;
    /* hooks around each run; NULL means none */
    hora_before_fn before;
    hora_after_fn after;
    /* called once, before the scheduler is TERMINATED; NULL means none */
    hora_terminated_fn terminated;
    /* called for each new task; NULL means none */
    hora_decorate_fn decorate;
    /* last argument of all callbacks above */
    void *arg;
    /* name of the scheduler, copied, and truncated if it is longer than 30 bytes. The threads are called
     * "name-1", "name-2" and so on. NULL means "pool-N-thread", where N counts pools */
    const char *name;
    /* stack size of threads that hora creates, PTHREAD_STACK_MIN to 1 TB; 0 means the system default. Must be
     * 0 if thread_factory is set */
    size_t stack_size;
    /* the clock that measures delays; NULL means monotonic */
    const hora_clock *clock;
    /* the settings cannot change: the setters of hora/pool.h and below return HORA_ENOTSUP */
    bool frozen;
    /* cancelled tasks stay in the queue until they are due, as in the JDK by default */
    bool keep_cancelled;
    /* shutdown cancels one-shot tasks that are not due */
    bool cancel_delayed;
    /* series continue after shutdown */
    bool continue_periodic;

    /* histograms and counters; NULL means off. See hora/metrics.h. This struct and those below are copied */
    const hora_metrics *metrics;

    /* classes, keys and priorities; NULL means off. See hora/admission.h */
    const hora_admission *admission;

    /* reports workers that make no progress and enforces time limits of tasks; NULL means off. See
     * hora/event.h */
    const hora_watchdog *watchdog;

    /* functions to notify of events; NULL means none. See hora/event.h */
    const hora_listener *listener;

    /* carries a context with each task; NULL means off. See hora/context.h */
    const hora_context_hooks *context_hooks;

    /* must be 0: a scheduler does not grow (see hora/pool.h) */
    hora_ns grow_after;

    /* receives the dumps of hora_pool_request_dump; requires a thread and a descriptor. NULL means none. See
     * hora/explain.h */
    hora_write_fn dump;
    /* last argument of dump; must be NULL if dump is NULL */
    void *dump_arg;
} hora_scheduler_options;

/* HORA_SCHEDULER_OPTIONS(.core_threads = 2): an options literal. In C++ before C++20, start with
 * HORA_INIT(hora_scheduler_options) and assign the fields. */
#define HORA_SCHEDULER_OPTIONS(...) HORA__LITERAL(hora_scheduler_options, __VA_ARGS__)

/* hora_scheduler_new - create a scheduler; threads start when tasks are scheduled
 *
 * Options that cannot work, or that would have no effect, are refused. `reason` says which option and why.
 * NULL options mean the defaults: no core threads, which still gives one thread while anything is scheduled.
 *
 * Ownership: the caller owns *ret_scheduler and frees it with hora_scheduler_free. The clock must outlive the
 * scheduler.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN; HORA_EMFILE and HORA_ENFILE (dump); HORA_EFORKED (the clock
 * is a virtual clock of the parent process). */
HORA_NODISCARD HORA_API int hora_scheduler_new(const hora_scheduler_options *options,
                                               hora_scheduler **ret_scheduler, hora_error *reason);

/* hora_scheduler_new_single - create a scheduler with one thread, which no setter can change
 *
 * `options` may set everything else, or be NULL. The scheduler is frozen.
 *
 * Ownership: as hora_scheduler_new.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_new; also HORA_EINVAL for core_threads other than 0 and 1. */
HORA_NODISCARD HORA_API int hora_scheduler_new_single(const hora_scheduler_options *options,
                                                      hora_scheduler **ret_scheduler, hora_error *reason);

/* hora_scheduler_shutdown - accept no more tasks; the table above says what becomes of the others
 *
 * As hora_pool_shutdown.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: as hora_pool_shutdown.
 * Errors: as hora_pool_shutdown. */
static inline int hora_scheduler_shutdown(hora_scheduler *scheduler)
{
    return hora_pool_shutdown(scheduler);
}

/* hora_scheduler_shutdown_now - accept no more tasks, interrupt running ones, and hand back all others
 *
 * As hora_pool_shutdown_now.
 *
 * Ownership: as hora_pool_shutdown_now.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_pool_shutdown_now. */
static inline int hora_scheduler_shutdown_now(hora_scheduler *scheduler, hora_future_list *ret_list)
{
    return hora_pool_shutdown_now(scheduler, ret_list);
}

/* hora_scheduler_close - shut down and wait until the scheduler has terminated
 *
 * As hora_pool_close.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: as hora_pool_close.
 * Errors: as hora_pool_close. */
static inline int hora_scheduler_close(hora_scheduler *scheduler)
{
    return hora_pool_close(scheduler);
}

/* hora_scheduler_close_for - shut down, wait at most for `timeout`, then stop
 *
 * As hora_pool_close_for.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: as hora_pool_close_for.
 * Errors: as hora_pool_close_for. */
static inline int hora_scheduler_close_for(hora_scheduler *scheduler, hora_ns timeout)
{
    return hora_pool_close_for(scheduler, timeout);
}

/* hora_scheduler_free - stop the scheduler, wait for its threads to end, and free it
 *
 * As hora_pool_free.
 *
 * Ownership: as hora_pool_free.   Threads: Owner.   Blocks: as hora_pool_free.   Errors: as
 * hora_pool_free. */
static inline int hora_scheduler_free(hora_scheduler *scheduler)
{
    return hora_pool_free(scheduler);
}

/* hora_scheduler_schedule - run a task once, after a delay
 *
 * A delay of zero or less means immediately. Sums saturate: a task whose delay exceeds the range of time
 * never runs and does not disturb others. `ret_future` may be NULL, here and in the calls below. The task
 * then takes a quarter of the memory, unless the scheduler has a before or after hook or another feature that
 * needs futures, or hora_pool_queue has been called for it. For operations that are usually cancelled, such
 * as timeouts, hora/timer.h is cheaper still.
 *
 * Ownership: see hora/task.h; the caller receives one reference to *ret_future.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EREJECTED, HORA_EINVAL (also if it is not a scheduler), HORA_ENOMEM, HORA_EAGAIN (there is no
 * thread, and none can be started), HORA_EFORKED, and what a rejection handler or decorate returns. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule(hora_scheduler *scheduler, const hora_task *task,
                                                    hora_ns delay, hora_future **ret_future);

/* hora_scheduler_schedule_at_fixed_rate - run a task after a delay, and then every `period`
 *
 * The period counts from planned time to planned time, so the rate does not drift. A negative initial delay
 * counts as 0. Missed runs are made up, one after the other. A failed run ends the series and fails its
 * future.
 *
 * Ownership: as hora_scheduler_schedule.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_schedule; also HORA_EINVAL for period <= 0. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule_at_fixed_rate(hora_scheduler *scheduler,
                                                                  const hora_task *task,
                                                                  hora_ns initial_delay, hora_ns period,
                                                                  hora_future **ret_future);

/* hora_scheduler_schedule_with_fixed_delay - run a task after a delay, and then `delay` after each run ends
 *
 * A negative initial delay counts as 0. A failed run ends the series and fails its future.
 *
 * Ownership: as hora_scheduler_schedule.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_schedule; also HORA_EINVAL for delay <= 0. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule_with_fixed_delay(hora_scheduler *scheduler,
                                                                     const hora_task *task,
                                                                     hora_ns initial_delay, hora_ns delay,
                                                                     hora_future **ret_future);

/* hora_scheduler_schedule_with - run a task according to a schedule; see hora_schedule
 *
 * NULL instead of a schedule means all defaults: once and immediately.
 *
 * Ownership: as hora_scheduler_schedule; the schedule is copied.   Threads: Any thread.
 * Blocks: While a zone is read.
 * Errors: as hora_scheduler_schedule; also HORA_EINVAL for what hora_schedule_check refuses, for a spread
 * without a name, for a first run after the end, and for a cron, trigger or `next` that has no first time;
 * with a zone also those of hora_zone_new; with `options` also those of hora_task_options_check and
 * HORA_EAGAIN (the task has a time limit, and the watchdog thread cannot be started). */
HORA_NODISCARD HORA_API int hora_scheduler_schedule_with(hora_scheduler *scheduler, const hora_task *task,
                                                         const hora_schedule *schedule,
                                                         hora_future **ret_future, hora_error *reason);

/* hora_scheduler_refresh_zones - re-read the files of all zones that the scheduler's tasks use
 *
 * Returns 1 if rules have changed, 0 if not. Every waiting task whose trigger has a zone recomputes its next
 * time, also if other code has refreshed that zone; a running task does so after its run. A time that, by the
 * new rules, has passed since the last run counts as missed. A next run that was set explicitly (`at`,
 * `initial_delay`, hora_future_reschedule), or that follows a back-off pause, is kept. Call this when the
 * zone database has been updated, or periodically.
 *
 * Refresh before new rules take effect. A later refresh changes the local time of past runs: the new rules
 * place the planned time of the last run at a different local time, and the next run is the first one after
 * that moment by the new rules. If the new rules set the clocks back, a daily task that has run today by the
 * old rules may therefore run again today, at its correct local time. If they set the clocks forward, the run
 * of the next day comes after less than 24 hours. A task that must not run twice in a local day must record
 * the day of its last run itself.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: While files are read.
 * Errors: HORA_EINVAL (NULL, not a scheduler), HORA_ENOMEM, HORA_EFORKED, and those of hora_zone_refresh: in
 * that case all other zones have been refreshed. */
HORA_API int hora_scheduler_refresh_zones(hora_scheduler *scheduler);

/* hora_scheduler_set_cancel_delayed - set whether shutdown cancels one-shot tasks that are not due
 *
 * After shutdown, `true` cancels them immediately; `false` brings nothing back.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, not a scheduler), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_scheduler_set_cancel_delayed(hora_scheduler *scheduler, bool cancel_delayed);

/* hora_scheduler_set_continue_periodic - set whether series continue after shutdown
 *
 * After shutdown, `false` cancels them immediately; `true` brings nothing back.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_set_cancel_delayed. */
HORA_API int hora_scheduler_set_continue_periodic(hora_scheduler *scheduler, bool continue_periodic);

/* hora_scheduler_set_keep_cancelled - set whether cancelled tasks stay in the queue until they are due
 *
 * The setting takes effect when a task is cancelled.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_set_cancel_delayed; also HORA_ENOTSUP for a scheduler with admission, which keeps
 * none. */
HORA_API int hora_scheduler_set_keep_cancelled(hora_scheduler *scheduler, bool keep_cancelled);

/* ---- futures of scheduled tasks ---- */

/* hora_future_delay - return how long until a task is due; zero or less means that it is already due
 *
 * HORA_FOREVER means that the task is paused, or was scheduled beyond the range of time. While a run is in
 * progress, the value is that of the current run; after the end of the task, it is that of the last run.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_delay(hora_future *future, hora_ns *ret_delay);

/* hora_future_compare_due - compare two tasks of one scheduler by the order in which they run
 *
 * Writes a number < 0 if the first task comes first, > 0 if the second does, and 0 if both are the same task.
 * The order is by planned time, then by order of scheduling; a series keeps its position among tasks with
 * equal times.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (not comparable: NULL, not a future of a scheduler, or of different schedulers),
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_compare_due(hora_future *a, hora_future *b, int *ret_order);

/* hora_future_is_periodic - test whether a task is a series; false for all other futures
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_future_is_periodic(const hora_future *future);

/* The complete state of a scheduled task at one moment. Times are readings of the schedule's clock. */
typedef struct hora_schedule_info {
    /* sizeof(hora_schedule_info), set by HORA_INIT */
    uint32_t struct_size;
    /* the clock of the schedule, never HORA_CLOCK_DEFAULT */
    hora_clock_id clock;
    /* hora_future_pause was called, and hora_future_resume was not */
    bool paused;
    /* number of runs in progress */
    int running;
    /* planned time of the next run; HORA_NEVER if there is none, if the task is paused, or if it is not known
     * before the current run ends */
    hora_ns next;
    /* planned time of the latest run that has started; HORA_NEVER if there is none */
    hora_ns last_planned;
    /* actual start of that run; HORA_NEVER if there is none */
    hora_ns last_start;
    /* end of the latest run that has ended; HORA_NEVER if there is none */
    hora_ns last_end;
    /* the outcome of that run: 0, or its failure code */
    int last_code;
    /* number of started runs */
    int64_t runs;
    /* number of failed runs */
    int64_t failures;
    /* current number of consecutive failures */
    int64_t failures_in_a_row;
    /* planned times that were missed and not made up. For a trigger or `next`, at most about a hundred
     * thousand are counted at once */
    int64_t skipped;
} hora_schedule_info;

/* hora_future_get_schedule_info - get the complete state of a scheduled task
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_get_schedule_info(hora_future *future, hora_schedule_info *ret_info);

/* hora_future_reschedule - run a task next after `delay`, whenever its next run was planned before
 *
 * The delay is measured by the clock of the schedule; zero or less means immediately. For a series, later
 * planned times count from there, and `every`, if > 0, replaces its rate or delay. If a run is in progress,
 * the change applies to the run after it. After the call returns, no run starts according to the old plan. A
 * paused task stays paused, with the new plan. A task that is due but not yet taken by a thread can be
 * rescheduled as well.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; not a future of a scheduler; `every` negative, or > 0 for a task without rate or
 * delay), HORA_EBUSY (a worker has taken a one-shot task, or it is done; the series has ended or is in the
 * last run of its count), HORA_EFORKED. */
HORA_API int hora_future_reschedule(hora_future *future, hora_ns delay, hora_ns every);

/* hora_future_pause - prevent runs from starting until hora_future_resume
 *
 * Returns 1, or 0 if the task is already paused. Planned times keep passing. Runs in progress are not
 * affected. hora_pool_shutdown cancels a paused task, because it might never complete.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EBUSY (as hora_future_reschedule),
 * HORA_EFORKED. */
HORA_API int hora_future_pause(hora_future *future);

/* hora_future_resume - continue after a pause: returns 1, or 0 if the task is not paused
 *
 * The next run is at its planned time. Times that have passed in the meantime count as missed, and `missed`
 * of the schedule decides about them.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a future of a scheduler), HORA_EBUSY (as hora_future_reschedule),
 * HORA_EFORKED. */
HORA_API int hora_future_resume(hora_future *future);

HORA_END_DECLS

#endif
