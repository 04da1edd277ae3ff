/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/trigger.hpp - triggers and exclusion calendars; see hora/trigger.h
 *
 * Both are handles that may be copied; each copy holds a reference. They are immutable, and all threads may
 * use the same handle, except to assign to it. No call blocks, unless its comment says so. */
#ifndef HORA_CPP_TRIGGER_HPP
#define HORA_CPP_TRIGGER_HPP

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hora/cpp/cron.hpp>
#include <hora/cpp/error.hpp>
#include <hora/cpp/time.hpp>
#include <hora/trigger.h>

namespace hora {

/* Times at which nothing runs; see hora_calendar_options. */
struct calendar_options {
    std::vector<hora_date> dates = {};
    unsigned weekdays = 0;
    std::vector<hora_calendar_window> windows = {};
};

/* An exclusion calendar. */
class calendar : public detail::handle<hora_calendar, hora_calendar_ref, hora_calendar_unref> {
  public:
    /* Errors: HORA_EINVAL with a reason, std::bad_alloc. */
    explicit calendar(const calendar_options &options, const zone &in = {})
    {
        hora_calendar_options native = HORA_INIT(hora_calendar_options);
        hora_error reason;
        native.dates = options.dates.empty() ? nullptr : options.dates.data();
        native.date_count = options.dates.size();
        native.weekdays = options.weekdays;
        native.windows = options.windows.empty() ? nullptr : options.windows.data();
        native.window_count = options.windows.size();
        detail::check(hora_calendar_new(in.native(), &native, &object_, &reason), reason);
    }

    bool excludes(instant at) const noexcept
    {
        return hora_calendar_excludes(object_, at);
    }
};

/* A trigger: the rule that gives the next time of a series.
 *
 * Errors of all functions that create one: HORA_EINVAL, std::bad_alloc. */
class trigger : public detail::handle<hora_trigger, hora_trigger_ref, hora_trigger_unref> {
  public:
    /* The times of a cron expression in a zone. */
    static trigger cron(const hora::cron &expression, const zone &in = {},
                        hora_cron_mode mode = HORA_CRON_MODE_LENIENT,
                        std::optional<instant> resume_from = std::nullopt)
    {
        hora_cron_trigger_options options = HORA_INIT(hora_cron_trigger_options);
        hora_trigger *made;
        hora_error reason;
        options.mode = mode;
        options.resumes = resume_from.has_value();
        if (resume_from)
            options.resume_from = *resume_from;
        detail::check(hora_trigger_new_cron(expression.native(), in.native(), &options, &made, &reason),
                      reason);
        return trigger(made);
    }

    /* A delay between the end of a run and the next one. */
    static trigger fixed_delay(span delay, span initial_delay = {})
    {
        return periodic(delay, initial_delay, false);
    }

    /* A period from planned time to planned time. */
    static trigger fixed_rate(span period, span initial_delay = {})
    {
        return periodic(period, initial_delay, true);
    }

    /* A set of instants. */
    static trigger instants(const std::vector<instant> &times)
    {
        const std::vector<hora_instant> native(times.begin(), times.end());
        hora_trigger *made;
        detail::check(hora_trigger_new_instants(native.data(), native.size(), &made));
        return trigger(made);
    }

    /* The times of each of several triggers. */
    static trigger first_of(std::initializer_list<trigger> triggers)
    {
        return combined(triggers, hora_trigger_new_first_of);
    }

    /* The times that several triggers have in common. */
    static trigger all_of(std::initializer_list<trigger> triggers)
    {
        return combined(triggers, hora_trigger_new_all_of);
    }

    /* A callable that returns the next time as hora_ns, or HORA_NEVER; see hora_next_fn. It has no caller
     * that could receive an exception, so it must be noexcept. It takes one allocation, and is destroyed with
     * the trigger. */
    template <typename F> static trigger function(F &&next)
    {
        using kind = std::decay_t<F>;
        static_assert(std::is_nothrow_invocable_r_v<hora_ns, kind &, const hora_trigger_context &>,
                      "the function of a trigger takes a hora_trigger_context and is noexcept");
        auto owned = std::make_unique<kind>(std::forward<F>(next));
        hora_trigger *made;
        detail::check(
            hora_trigger_new([](const hora_trigger_context *context,
                                void *arg) -> hora_ns { return (*static_cast<kind *>(arg))(*context); },
                             owned.get(), [](void *arg) { delete static_cast<kind *>(arg); }, &made));
        static_cast<void>(owned.release());
        return trigger(made);
    }

    /* This trigger without the times that a calendar excludes. */
    trigger excluding(const calendar &excluded) const
    {
        hora_trigger *made;
        detail::check(hora_trigger_new_excluding(object_, excluded.native(), &made));
        return trigger(made);
    }

    /* The next time by the clock of the context, or HORA_NEVER. */
    hora_ns next(const hora_trigger_context &context) const noexcept
    {
        return hora_trigger_next(object_, &context);
    }

    /* The first time of a trigger that refers to the wall clock, if it is asked at `now`. */
    std::optional<instant> first(instant now) const noexcept
    {
        hora_trigger_context context = HORA_INIT(hora_trigger_context);
        context.clock = HORA_CLOCK_WALL;
        context.now = now.ns();
        context.last_planned = context.last_start = context.last_end = HORA_NEVER;
        const hora_ns found = next(context);
        if (found == HORA_NEVER)
            return std::nullopt;
        return hora_instant{found};
    }

    bool is_wall() const noexcept
    {
        return hora_trigger_is_wall(object_);
    }

    /* Re-reads the files of all zones. Returns whether rules have changed.
     *
     * Blocks: While files are read.   Errors: those of hora_zone_refresh. */
    bool refresh() const
    {
        return detail::check(hora_trigger_refresh(object_)) > 0;
    }

    /* A description in words. */
    std::string describe() const
    {
        return detail::text_of(
            [this](char *text, std::size_t size) { return hora_trigger_describe(object_, text, size); });
    }

  private:
    explicit trigger(hora_trigger *made) noexcept : handle(made)
    {
    }

    static trigger periodic(span period, span initial_delay, bool fixed_rate)
    {
        hora_periodic_trigger_options options = HORA_INIT(hora_periodic_trigger_options);
        hora_trigger *made;
        hora_error reason;
        options.fixed_rate = fixed_rate;
        options.initial_delay = initial_delay.ns();
        detail::check(hora_trigger_new_periodic(period.ns(), &options, &made, &reason), reason);
        return trigger(made);
    }

    template <typename New> static trigger combined(std::initializer_list<trigger> triggers, New &&create)
    {
        std::vector<hora_trigger *> native;
        native.reserve(triggers.size());
        for (const trigger &each : triggers)
            native.push_back(each.native());
        hora_trigger *made;
        detail::check(create(native.data(), native.size(), &made));
        return trigger(made);
    }
};

} // namespace hora

#endif
