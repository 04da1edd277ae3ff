/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/timer.hpp - a timeout as a member of the object that it belongs to; see hora/timer.h
 *
 *     class connection {
 *         hora::timer<hang_up> idle_;
 *     };
 *
 * A timer contains its callable, so starting and cancelling it allocate nothing. */
#ifndef HORA_CPP_TIMER_HPP
#define HORA_CPP_TIMER_HPP

#include <type_traits>
#include <utility>

#include <hora/cpp/error.hpp>
#include <hora/cpp/scheduler.hpp>
#include <hora/cpp/task.hpp>
#include <hora/cpp/time.hpp>
#include <hora/timer.h>

namespace hora {

/* A timer that runs a callable of type F once, after it was started. It cannot be moved, because the
 * scheduler knows its address. An exception fails the run, as in a task; the exception handler is that of the
 * timer.
 *
 * Threads: Calls of start and cancel on one timer are serialized by the program; see hora/timer.h. The
 * callable must not destroy its own timer. */
template <typename F> class timer {
    static_assert(std::is_invocable_v<F &>, "a timer runs a callable without parameters");

  public:
    explicit timer(F function, const exception_handler &handler = {}, const label &where = {"timer"})
        : function_(std::move(function)), handler_(handler), where_(where)
    {
        hora_timer_init(&timer_, run, this);
    }

    timer(const timer &) = delete;
    timer &operator=(const timer &) = delete;

    /* Stops the timer.   Blocks: until the callable is not running. */
    ~timer()
    {
        hora_timer_stop(&timer_);
    }

    /* Runs the callable after a delay; a pending timer is moved. Returns whether it was pending.
     *
     * Blocks: Never.   Errors: rejected_error, HORA_EBUSY, std::bad_alloc, and those of hora_timer_start. */
    bool start(const scheduler &on, span delay)
    {
        return detail::check(hora_timer_start(&timer_, on.native(), delay.ns())) > 0;
    }

    /* Cancels a pending timer without waiting.   Blocks: Never. */
    hora_cancel cancel()
    {
        return static_cast<hora_cancel>(detail::check(hora_timer_cancel(&timer_)));
    }

    /* Cancels the timer and waits until the callable is not running. In the callable it does not wait.
     *
     * Blocks: until the callable has returned.   Errors: HORA_EDEADLK, std::bad_alloc. */
    hora_cancel stop()
    {
        return static_cast<hora_cancel>(detail::check(hora_timer_stop(&timer_)));
    }

    bool is_pending() const noexcept
    {
        return hora_timer_is_pending(&timer_);
    }

  private:
    static int run(void *arg)
    {
        auto &self = *static_cast<timer *>(arg);
        return detail::guarded([&self] { static_cast<void>(self.function_()); },
                               [&self] { return detail::report(self.handler_, self.where_); });
    }

    F function_;
    exception_handler handler_;
    label where_;
    hora_timer timer_;
};

} // namespace hora

#endif
