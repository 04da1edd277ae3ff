/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/clock.hpp - a clock for tests that advances only when the test says so; see hora/virtual_clock.h
 */
#ifndef HORA_CPP_CLOCK_HPP
#define HORA_CPP_CLOCK_HPP

#include <chrono>
#include <optional>
#include <utility>

#include <hora/cpp/error.hpp>
#include <hora/cpp/time.hpp>
#include <hora/virtual_clock.h>

namespace hora {

/* A virtual clock. It must outlive all objects that use one of its views, and all attached threads.
 * Threads: Any thread may call the same clock, except to destroy it or move it.
 * Errors of all calls: HORA_EINVAL for a negative time, HORA_EFORKED. */
class virtual_clock {
  public:
    explicit virtual_clock(instant wall = {}, span monotonic = {})
    {
        hora_virtual_clock_options options = HORA_INIT(hora_virtual_clock_options);
        hora_error reason;
        options.wall = wall;
        options.monotonic = monotonic.ns();
        detail::check(hora_virtual_clock_new(&options, &clock_, &reason), reason);
    }

    virtual_clock(virtual_clock &&other) noexcept : clock_(std::exchange(other.clock_, nullptr))
    {
    }

    virtual_clock &operator=(virtual_clock &&other) noexcept
    {
        std::swap(clock_, other.clock_);
        return *this;
    }

    ~virtual_clock()
    {
        hora_virtual_clock_free(clock_);
    }

    hora_virtual_clock *native() const noexcept
    {
        return clock_;
    }

    /* One line of the clock, for the options of an object. It belongs to the clock. */
    const hora_clock *view(hora_clock_id id = HORA_CLOCK_MONOTONIC) const noexcept
    {
        return hora_virtual_clock_view(clock_, id);
    }

    /* Advances all lines, and wakes the threads that are then due.   Blocks: Never. */
    void advance(span by) const
    {
        detail::check(hora_virtual_clock_advance(clock_, by.ns()));
    }

    /* Advances to the next time that is waited for, and returns how far; nothing if there is none. */
    std::optional<std::chrono::nanoseconds> advance_to_next() const
    {
        hora_ns by;
        if (!detail::check_unless(hora_virtual_clock_advance_to_next(clock_, &by), HORA_EEMPTY))
            return std::nullopt;
        return std::chrono::nanoseconds(by);
    }

    /* Attaches the calling thread.   Errors: HORA_EBUSY (already attached), std::bad_alloc. */
    void attach() const
    {
        detail::check(hora_virtual_clock_attach(clock_));
    }

    /* Detaches the calling thread. */
    void detach() const
    {
        detail::check(hora_virtual_clock_detach(clock_));
    }

    /* Announces threads that are about to attach. */
    void expect(int threads) const
    {
        detail::check(hora_virtual_clock_expect(clock_, threads));
    }

    /* Waits until all attached threads wait.   Blocks: until nothing can run.   Errors: interrupted_error. */
    void settle() const
    {
        detail::check(hora_virtual_clock_settle(clock_));
    }

    /* Lets time pass, and threads run whenever their time has come.
     *
     * Blocks: until the end is reached and nothing can run.   Errors: interrupted_error, HORA_EBUSY. */
    void run(span by) const
    {
        detail::check(hora_virtual_clock_run(clock_, by.ns()));
    }

    /* Sets the wall line forward or back. */
    void step_wall(span by) const
    {
        detail::check(hora_virtual_clock_step_wall(clock_, by.ns()));
    }

    /* Simulates a suspended machine. */
    void suspend(span by) const
    {
        detail::check(hora_virtual_clock_suspend(clock_, by.ns()));
    }

    /* Wakes every sleeping thread this much late. */
    void set_lateness(span lateness) const
    {
        detail::check(hora_virtual_clock_set_lateness(clock_, lateness.ns()));
    }

  private:
    hora_virtual_clock *clock_ = nullptr;
};

} // namespace hora

#endif
