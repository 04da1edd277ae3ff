/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/scheduler.hpp - delayed and periodic tasks
 *
 *     hora::scheduler scheduler({.core_threads = 2});                     // C++20; by member in C++17
 *     scheduler.schedule_at_fixed_rate(tick, 0s, 500ms);
 *     scheduler.schedule(report, hora::schedule{.cron = "0 0 3 * * *", .zone = "Europe/Paris"}, "report");
 *
 * See hora/scheduler.h for what is missed, skipped, made up and cancelled. */
#ifndef HORA_CPP_SCHEDULER_HPP
#define HORA_CPP_SCHEDULER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <hora/cpp/error.hpp>
#include <hora/cpp/future.hpp>
#include <hora/cpp/pool.hpp>
#include <hora/cpp/task.hpp>
#include <hora/cpp/time.hpp>
#include <hora/cpp/trigger.hpp>
#include <hora/scheduler.h>

namespace hora {

/* When and how a task runs: the fields of hora_schedule, in the same order, with spans as std::chrono. The
 * name is that of the task's label. */
struct schedule {
    /* the first run */
    span initial_delay = {};
    instant at = {};

    /* further runs: at most one of these */
    span fixed_rate = {};
    span fixed_delay = {};
    hora_next_fn next = nullptr;
    void *next_arg = nullptr;
    /* native() of a hora::trigger, which need not outlive the call */
    hora_trigger *trigger = nullptr;
    const char *cron = nullptr;
    const char *zone = nullptr;
    hora_cron_dialect dialect = HORA_CRON_SPRING;
    hora_dst dst = HORA_DST_LITERAL;

    hora_clock_id clock = HORA_CLOCK_DEFAULT;
    instant end = {};
    int64_t count = 0;

    hora_missed missed = HORA_MISSED_ONCE;
    int missed_max = 0;
    span grace = {};
    hora_overlap overlap = HORA_OVERLAP_NEVER;
    int overlap_max = 0;

    hora_failure failure = HORA_FAILURE_CONTINUE;
    int stop_after = 0;
    span back_off = {};
    double back_off_factor = 0;
    span back_off_max = {};

    span slack = {};
    span spread = {};
    std::optional<task_options> options = {};

    /* Without `options`, which needs memory of its own. */
    hora_schedule native() const noexcept
    {
        hora_schedule made = HORA_INIT(hora_schedule);
        made.initial_delay = initial_delay.ns();
        made.at = at;
        made.fixed_rate = fixed_rate.ns();
        made.fixed_delay = fixed_delay.ns();
        made.next = next;
        made.next_arg = next_arg;
        made.trigger = trigger;
        made.cron = cron;
        made.zone = zone;
        made.dialect = dialect;
        made.dst = dst;
        made.clock = clock;
        made.end = end;
        made.count = count;
        made.missed = missed;
        made.missed_max = missed_max;
        made.grace = grace.ns();
        made.overlap = overlap;
        made.overlap_max = overlap_max;
        made.failure = failure;
        made.stop_after = stop_after;
        made.back_off = back_off.ns();
        made.back_off_factor = back_off_factor;
        made.back_off_max = back_off_max.ns();
        made.slack = slack.ns();
        made.spread = spread.ns();
        return made;
    }

    /* Checks whether the schedule is valid, apart from `options`.
     *
     * Blocks: While a zone is read.   Errors: HORA_EINVAL with a reason, and those of hora_zone_new. */
    void check() const
    {
        const hora_schedule made = native();
        hora_error reason;
        detail::check(hora_schedule_check(&made, &reason), reason);
    }
};

/* Options of a scheduler: the fields of hora_scheduler_options, in the same order, with spans as std::chrono.
 * Functions must not throw: they are called by C. */
struct scheduler_options {
    int core_threads = 0;
    span keep_alive = {};
    bool core_time_out = false;
    hora_reject reject = HORA_REJECT_ABORT;
    hora_reject_fn reject_handler = nullptr;
    hora_thread_factory_fn thread_factory = nullptr;
    hora_before_fn before = nullptr;
    hora_after_fn after = nullptr;
    hora_terminated_fn terminated = nullptr;
    hora_decorate_fn decorate = nullptr;
    void *arg = nullptr;
    const char *name = nullptr;
    std::size_t stack_size = 0;
    const hora_clock *clock = nullptr;
    bool frozen = false;
    bool keep_cancelled = false;
    bool cancel_delayed = false;
    bool continue_periodic = false;
    const hora_metrics *metrics = nullptr;
    const hora_admission *admission = nullptr;
    const hora_watchdog *watchdog = nullptr;
    const hora_listener *listener = nullptr;
    const hora_context_hooks *context_hooks = nullptr;
    hora_write_fn dump = nullptr;
    void *dump_arg = nullptr;
    /* called for each run that throws; see hora/cpp/task.hpp */
    exception_handler on_exception = {};

    hora_scheduler_options native() const noexcept
    {
        hora_scheduler_options made = HORA_INIT(hora_scheduler_options);
        made.core_threads = core_threads;
        made.keep_alive = keep_alive.ns();
        made.core_time_out = core_time_out;
        made.reject = reject;
        made.reject_handler = reject_handler;
        made.thread_factory = thread_factory;
        made.before = before;
        made.after = after;
        made.terminated = terminated;
        made.decorate = decorate;
        made.arg = arg;
        made.name = name;
        made.stack_size = stack_size;
        made.clock = clock;
        made.frozen = frozen;
        made.keep_cancelled = keep_cancelled;
        made.cancel_delayed = cancel_delayed;
        made.continue_periodic = continue_periodic;
        made.metrics = metrics;
        made.admission = admission;
        made.watchdog = watchdog;
        made.listener = listener;
        made.context_hooks = context_hooks;
        made.dump = dump;
        made.dump_arg = dump_arg;
        return made;
    }
};

/* A scheduler. It is a pool: every call of hora::pool accepts one. The destructor closes it: series are
 * cancelled, and tasks that run once are awaited, unless cancel_delayed is set.
 *
 * The future of a series is done when the series has ended. It has the result of the run that ended last, or
 * the exception of the run that ended the series.
 *
 * Errors of all calls that schedule: rejected_error, std::bad_alloc, HORA_EAGAIN, HORA_EINVAL, and what
 * decorate returns. They never block, unless the comment says so. */
class scheduler : public pool {
  public:
    /* Errors: HORA_EINVAL with a reason, and those of hora_scheduler_new. */
    explicit scheduler(const scheduler_options &options = {})
        : pool(made_by(options, hora_scheduler_new), options.on_exception)
    {
    }

    /* A scheduler with one thread, which no setter can change. */
    static scheduler single(const scheduler_options &options = {})
    {
        return scheduler(made_by(options, hora_scheduler_new_single), options.on_exception);
    }

    /* Runs a task once, after a delay. */
    template <typename F>
    auto schedule(F &&function, span delay, const label &where = {}) const -> future<detail::result_of<F>>
    {
        using result = detail::result_of<F>;
        return detail::give<detail::outcome<result>, result>(
            std::forward<F>(function), on_exception(), where, [&](const hora_task *task, hora_future **made) {
                detail::check(hora_scheduler_schedule(native(), task, delay.ns(), made));
            });
    }

    /* Runs a task according to a schedule.   Blocks: While a zone is read.
     *
     * Errors: also those of hora_scheduler_schedule_with, with a reason. */
    template <typename F>
    auto schedule(F &&function, const hora::schedule &when, const label &where = {}) const
        -> future<detail::result_of<F>>
    {
        return series(std::forward<F>(function), where,
                      [&](const hora_task *task, hora_future **made) { schedule_with(task, when, made); });
    }

    /* Runs a task without a future, once and after a delay. It takes a quarter of the memory. */
    template <typename F> void execute_after(F &&function, span delay, const label &where = {}) const
    {
        detail::give_detached(std::forward<F>(function), on_exception(), where, [&](const hora_task *task) {
            detail::check(hora_scheduler_schedule(native(), task, delay.ns(), nullptr));
        });
    }

    /* Runs a task after a delay, and then every `period`, counted from planned time to planned time. A run
     * that throws ends the series. */
    template <typename F>
    auto schedule_at_fixed_rate(F &&function, span initial_delay, span period, const label &where = {}) const
        -> future<detail::result_of<F>>
    {
        return series(std::forward<F>(function), where, [&](const hora_task *task, hora_future **made) {
            detail::check(
                hora_scheduler_schedule_at_fixed_rate(native(), task, initial_delay.ns(), period.ns(), made));
        });
    }

    /* Runs a task after a delay, and then `delay` after the end of each run. A run that throws ends the
     * series. */
    template <typename F>
    auto schedule_with_fixed_delay(F &&function, span initial_delay, span delay,
                                   const label &where = {}) const -> future<detail::result_of<F>>
    {
        return series(std::forward<F>(function), where, [&](const hora_task *task, hora_future **made) {
            detail::check(hora_scheduler_schedule_with_fixed_delay(native(), task, initial_delay.ns(),
                                                                   delay.ns(), made));
        });
    }

    /* Re-reads the files of all zones. Returns whether rules have changed.
     *
     * Blocks: While files are read.   Errors: those of hora_scheduler_refresh_zones. */
    bool refresh_zones() const
    {
        return detail::check(hora_scheduler_refresh_zones(native())) > 0;
    }

    void set_cancel_delayed(bool cancel_delayed) const
    {
        detail::check(hora_scheduler_set_cancel_delayed(native(), cancel_delayed));
    }

    void set_continue_periodic(bool continue_periodic) const
    {
        detail::check(hora_scheduler_set_continue_periodic(native(), continue_periodic));
    }

    void set_keep_cancelled(bool keep_cancelled) const
    {
        detail::check(hora_scheduler_set_keep_cancelled(native(), keep_cancelled));
    }

  private:
    scheduler(hora_scheduler *made, const exception_handler &handler) noexcept : pool(made, handler)
    {
    }

    template <typename New> static hora_scheduler *made_by(const scheduler_options &options, New &&create)
    {
        const hora_scheduler_options native = options.native();
        hora_scheduler *made;
        hora_error reason;
        detail::check(create(&native, &made, &reason), reason);
        return made;
    }

    template <typename F, typename Call>
    auto series(F &&function, const label &where, Call &&call) const -> future<detail::result_of<F>>
    {
        using result = detail::result_of<F>;
        return detail::give<detail::series_outcome<result>, result>(std::forward<F>(function), on_exception(),
                                                                    where, std::forward<Call>(call));
    }

    void schedule_with(const hora_task *task, const hora::schedule &when, hora_future **made) const
    {
        hora_schedule converted = when.native();
        const hora_task_options options = when.options.value_or(task_options{}).native();
        hora_error reason;
        if (when.options)
            converted.options = &options;
        detail::check(hora_scheduler_schedule_with(native(), task, &converted, made, &reason), reason);
    }
};

} // namespace hora

#endif
