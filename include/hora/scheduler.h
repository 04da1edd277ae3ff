/* SPDX-License-Identifier: Apache-2.0 */
/* hora/scheduler.h - tasks that run later, or again and again, with the semantics of ScheduledThreadPoolExecutor
 *
 *     hora_scheduler *scheduler;
 *     hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2), &scheduler, NULL);
 *     hora_scheduler_schedule_at_fixed_rate(scheduler, HORA_TASK(tick, NULL), 0, HORA_MS(500), NULL);
 *     ...
 *     hora_pool_close_for(scheduler, HORA_SECONDS(5));
 *     hora_pool_free(scheduler);
 *
 * A scheduler is a pool: every call of hora/pool.h, hora/executor.h, hora/completion.h and hora/group.h takes one. A
 * task that is executed or submitted is one with a delay of zero. Its queue is ordered by planned time, then by order
 * of scheduling, and has no bound; so there are never more than core_threads workers (one, if that is 0), and tasks
 * are rejected only after shutdown.
 *
 * No task begins before its time, by its clock. A series never overlaps itself, unless hora_scheduler_schedule_with says so; its runs may
 * be on different threads, and each sees what the one before has done. The future of a series never succeeds, unless count or
 * end let it: then it has the result of the last run. Results of other runs are dropped.
 *
 * After hora_pool_shutdown:
 *
 *     what is due or running          runs
 *     what runs once, later           runs in its time; is cancelled with cancel_delayed
 *     series                          are cancelled, one that is running at its end; go on with continue_periodic
 *     what is paused                  is cancelled
 *
 * and the scheduler terminates when nothing is left. After hora_pool_shutdown_now nothing begins; series that are running are
 * cancelled at the end of their run, and all others handed back as they are. */
#ifndef HORA_SCHEDULER_H
#define HORA_SCHEDULER_H

#include <hora/schedule.h>

HORA_BEGIN_DECLS

/* The clocks were seen to have parted since the last look. */
typedef struct hora_clock_event {
    hora_ns suspended; /* how long the machine was suspended */
    hora_ns stepped;   /* how far the wall clock was set, besides; < 0: back */
    int overdue;       /* how many tasks have become due by that */
} hora_clock_event;

/* Called by a thread of the scheduler, with no lock of hora held, before tasks that have become due by it begin: none
 * is taken until it returns. If it ends its thread, a replacement goes on. */
typedef void (*hora_clock_event_fn)(hora_scheduler *scheduler, const hora_clock_event *event, void *arg);

/* Called for each task that is executed, submitted or scheduled (not for futures that were made elsewhere), before
 * anything else is done with it: may change it, for example to put a function of its own around run, or refuse it with
 * an error, which the call then returns. Futures made elsewhere are also those of hora_executor_invoke_all and _any, completion
 * services and groups. If the call fails later the caller keeps the task as it gave it, and neither run nor drop of
 * the changed one is called: so what decorate allocates should be found through arg. */
typedef int (*hora_decorate_fn)(hora_scheduler *scheduler, hora_task *task, void *arg);

typedef struct hora_scheduler_options {
    uint32_t struct_size; /* sizeof(hora_scheduler_options), set by HORA_SCHEDULER_OPTIONS */
    int core_threads;     /* 0 and more; with 0 there is one as long as anything is scheduled */
    hora_ns keep_alive;   /* how long a surplus worker stays idle; 0: 10 ms */
    bool core_time_out;   /* core workers, too, end after keep_alive; the last one only if nothing is scheduled */
    hora_reject reject;   /* the rule for tasks after shutdown; not HORA_REJECT_BLOCK, which could have no effect */
    hora_reject_fn reject_handler;         /* HORA_REJECT_CALLBACK */
    hora_thread_factory_fn thread_factory; /* NULL: hora's own threads */
    hora_before_fn before;                 /* hooks, around each run; NULL: none */
    hora_after_fn after;
    hora_terminated_fn terminated;
    hora_decorate_fn decorate;
    hora_failed_fn
        failed; /* told of each run that fails, of tasks made by the hora_scheduler_schedule calls; NULL: nobody */
    hora_clock_event_fn clock_event;
    void *arg;                       /* last argument of all callbacks above */
    const char *name;                /* prefix of thread names, copied; NULL: "pool-N-thread-", N counting pools */
    size_t stack_size;               /* of hora's own threads; 0: the system's default */
    const hora_clock *clock;         /* what delays are measured with; NULL: monotonic */
    bool frozen;                     /* the setters of hora/pool.h and below are refused with HORA_ENOTSUP */
    bool keep_cancelled;             /* cancelled tasks stay until they are due, as the JDK has it by default */
    bool cancel_delayed;             /* shutdown cancels what runs once and is not due */
    bool continue_periodic;          /* series go on after shutdown */
    const hora_oversight *oversight; /* what is seen and steered, see hora/oversight.h; copied. NULL: nothing */
} hora_scheduler_options;

#define HORA_SCHEDULER_OPTIONS(...) \
    (&(hora_scheduler_options){.struct_size = sizeof(hora_scheduler_options), __VA_ARGS__})

/* hora_scheduler_new - make a scheduler; threads start when tasks come
 *
 * Options that cannot work are refused. If `reterr_reason` is not NULL, it is then set to a static sentence that says
 * what is wrong.
 *
 * Ownership: the caller owns *ret_scheduler, to be freed with hora_pool_free. The clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN. */
HORA_NODISCARD HORA_API int hora_scheduler_new(const hora_scheduler_options *options, hora_scheduler **ret_scheduler,
                                               const char **reterr_reason);

/* hora_scheduler_new_single - one thread, and no setter changes that; `options` may add the rest, or be NULL
 *
 * Ownership: as hora_scheduler_new.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_new; HORA_EINVAL also for core_threads other than 0 and 1. */
HORA_NODISCARD HORA_API int hora_scheduler_new_single(const hora_scheduler_options *options,
                                                      hora_scheduler **ret_scheduler);

/* hora_scheduler_schedule - run a task once, after a delay
 *
 * A delay of zero or less: at once. Sums saturate: a delay beyond what time can count never ends, and disturbs no other.
 * `ret_future` may be NULL: then nobody asks, and the task runs all the same. It takes a quarter of the memory then, unless the
 * scheduler has a before, after or failed hook, or somebody has looked at its queue. For what is to be cancelled as a rule, like a
 * timeout, hora/timer.h costs less still.
 *
 * Ownership: see hora/task.h; the caller gets one reference to *ret_future.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EREJECTED, HORA_EINVAL (also: not a scheduler), HORA_ENOMEM, HORA_EAGAIN (there is no thread, and none
 * can be started), HORA_EFORKED, and what a rejection handler or decorate returns. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule(hora_scheduler *scheduler, const hora_task *task, hora_ns delay,
                                                    hora_future **ret_future);

/* hora_scheduler_schedule_at_fixed_rate - run a task after a delay, and then every `period`, counted from planned time to planned time
 *
 * What was missed is made up, one run after the other. A run that fails ends the series, and its future fails.
 *
 * Ownership: as hora_scheduler_schedule.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_schedule; HORA_EINVAL also for period <= 0. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule_at_fixed_rate(hora_scheduler *scheduler, const hora_task *task,
                                                                  hora_ns initial_delay, hora_ns period,
                                                                  hora_future **ret_future);

/* hora_scheduler_schedule_with_fixed_delay - run a task after a delay, and then again `delay` after the end of each run
 *
 * A run that fails ends the series, and its future fails.
 *
 * Ownership: as hora_scheduler_schedule.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_schedule; HORA_EINVAL also for delay <= 0. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule_with_fixed_delay(hora_scheduler *scheduler, const hora_task *task,
                                                                     hora_ns initial_delay, hora_ns delay,
                                                                     hora_future **ret_future);

/* hora_scheduler_schedule_with - run a task as a schedule says; see hora/schedule.h
 *
 * NULL instead of a schedule: all defaults, once and at once.
 *
 * Ownership: as hora_scheduler_schedule; the schedule is copied.   Threads: Any thread.   Blocks: While a zone is read.
 * Errors: as hora_scheduler_schedule; HORA_EINVAL also for what hora_schedule_check refuses, for a spread without a name, for a
 * first run after the end, and for a cron, trigger or `next` that says never at once; with a zone those of hora_zone_new. */
HORA_NODISCARD HORA_API int hora_scheduler_schedule_with(hora_scheduler *scheduler, const hora_task *task,
                                                         const hora_schedule *spec, hora_future **ret_future);

/* hora_schedule_with_trigger - run a task whenever a trigger says, as Spring's TaskScheduler does
 *
 * A time that has passed is run at once, whichever it is; a run that fails does not end the series. The same as hora_scheduler_schedule_with
 * with a trigger and HORA_MISSED_BURST.
 *
 * Ownership: as hora_scheduler_schedule; a reference to the trigger is taken.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_schedule; HORA_EINVAL also for NULL instead of a trigger, and for one that says never at once. */
HORA_NODISCARD HORA_API int hora_schedule_with_trigger(hora_scheduler *scheduler, const hora_task *task,
                                                       hora_trigger *trigger, hora_future **ret_future);

/* hora_scheduler_refresh_zones - read the files of all zones that its tasks use again: 1 if rules have changed, 0 if not
 *
 * Every waiting task whose trigger has a zone finds its next time anew, also if somebody else has refreshed that zone; one
 * that runs does after the run. A time that has passed by the new rules since its last run was missed. A next run that
 * was given (`at`, `delay`, hora_future_reschedule) or comes after a pause for a failure stays. To be called when the database has
 * been updated, or now and then.
 *
 * Refresh before new rules come into force. A refresh after that changes the local time of runs that have been: the new rules place the
 * planned time of the last run at another local time, and the next run is the first one after that moment by the new rules. So if the
 * new rules set the clocks back, a daily task that has run today by the old rules may run again today, at its right local time.
 * If they set the clocks forward, the run of the next day comes sooner than after 24 hours. A task that must not run twice in a local
 * day notes the day of its last run itself.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: While files are read.
 * Errors: HORA_EINVAL (NULL, not a scheduler), HORA_ENOMEM, HORA_EFORKED, and those of hora_zone_refresh: then all other zones have
 * been refreshed. */
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

/* hora_scheduler_set_keep_cancelled - whether cancelled tasks stay in the queue until they are due; looked at when a
 * task is cancelled
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_scheduler_set_cancel_delayed; HORA_ENOTSUP also for a scheduler that is steered, which keeps none. */
HORA_API int hora_scheduler_set_keep_cancelled(hora_scheduler *scheduler, bool keep_cancelled);

/* hora_scheduler_cancels_delayed - as last set; false for NULL and for what is no scheduler
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_scheduler_cancels_delayed(const hora_scheduler *scheduler);

/* hora_scheduler_continues_periodic - as last set; false for NULL and for what is no scheduler
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_scheduler_continues_periodic(const hora_scheduler *scheduler);

/* hora_scheduler_keeps_cancelled - as last set; false for NULL and for what is no scheduler
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_scheduler_keeps_cancelled(const hora_scheduler *scheduler);

HORA_END_DECLS

#endif
