/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/future.hpp - futures with a typed result, and promises
 *
 *     hora::future<int> words = pool.submit([text = std::move(text)] { return count_words(text); });
 *     int number = words.get();       // the result, or the exception that the task threw
 *
 * A handle that is destroyed neither waits for its task nor cancels it. A result that no thread takes is
 * destroyed when the task has ended and the last handle is gone. See hora/future.h for states, precedence and
 * memory order. */
#ifndef HORA_CPP_FUTURE_HPP
#define HORA_CPP_FUTURE_HPP

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <hora/admission.h>
#include <hora/cpp/error.hpp>
#include <hora/cpp/task.hpp>
#include <hora/cpp/time.hpp>
#include <hora/explain.h>
#include <hora/future.h>
#include <hora/scheduler.h>

namespace hora {

/* A future without the type of its result: everything except the result itself. It may be copied, and each
 * copy holds a reference. An empty handle makes every call throw HORA_EINVAL.
 * Threads: Any thread may call the same handle, except to assign to it or destroy it. */
class any_future {
  public:
    any_future() noexcept = default;

    /* Takes over a reference to a future of the C interface. */
    explicit any_future(hora_future *future) noexcept : future_(future)
    {
    }

    any_future(const any_future &other) noexcept : future_(hora_future_ref(other.future_))
    {
    }

    any_future(any_future &&other) noexcept : future_(std::exchange(other.future_, nullptr))
    {
    }

    any_future &operator=(any_future other) noexcept
    {
        std::swap(future_, other.future_);
        return *this;
    }

    ~any_future()
    {
        hora_future_unref(future_);
    }

    /* The future of C, borrowed; nullptr if the handle is empty. */
    hora_future *native() const noexcept
    {
        return future_;
    }

    explicit operator bool() const noexcept
    {
        return future_ != nullptr;
    }

    /* Waits until the future is done, in whatever way.
     *
     * Blocks: until the future is done.   Errors: interrupted_error, HORA_EDEADLK, std::bad_alloc. */
    void wait() const
    {
        static_cast<void>(wait_for(forever));
    }

    /* Waits for a limited time. Returns whether the future is done.
     *
     * Blocks: until the future is done or the timeout expires.   Errors: as wait(). */
    bool wait_for(span timeout) const
    {
        const int result = timeout.ns() == HORA_FOREVER ? hora_future_get(future_, nullptr)
                                                        : hora_future_get_for(future_, timeout.ns(), nullptr);
        switch (result) {
        case HORA_EFAILED:
        case HORA_ECANCELED:
        case HORA_EREJECTED:
        case HORA_EABANDONED:
        case HORA_EEXPIRED:
            return true;
        default:
            return detail::check_unless(result, HORA_ETIMEDOUT);
        }
    }

    /* Cancels the task: see hora_future_cancel. The callable of a task that had not started is destroyed by
     * this call, that of a running task when it ends.   Blocks: Never.   Errors: HORA_EINVAL. */
    hora_cancel cancel(bool interrupt = true) const
    {
        return static_cast<hora_cancel>(detail::check(hora_future_cancel(future_, interrupt)));
    }

    hora_future_state state() const noexcept
    {
        return hora_future_get_state(future_);
    }

    bool is_done() const noexcept
    {
        return hora_future_is_done(future_);
    }

    bool is_cancelled() const noexcept
    {
        return hora_future_is_cancelled(future_);
    }

    /* The failure code of the task; 0 if it has not failed. */
    int failure() const noexcept
    {
        return hora_future_failure(future_);
    }

    /* Runs the task in the calling thread, unless it is done or running. Returns whether it ran.
     *
     * Blocks: as long as the task runs.   Errors: HORA_EINVAL, std::bad_alloc. */
    bool run() const
    {
        return detail::check(hora_future_run(future_)) > 0;
    }

    /* Calls done(any_future) once when the future is done, on the thread that completes it, or now.
     *
     * There is no caller that could receive an exception, so the callable must be noexcept. It is destroyed
     * after the call, or without one if the future is never done. It takes one allocation.
     *
     * Blocks: Never.   Errors: HORA_EINVAL, std::bad_alloc. */
    template <typename F> void on_done(F &&done) const
    {
        using function = std::decay_t<F>;
        static_assert(std::is_nothrow_invocable_v<function &, any_future>, "a callback is noexcept");
        auto owned = std::make_unique<function>(std::forward<F>(done));
        detail::check(hora_future_on_done(
            future_,
            [](hora_future *future, void *arg) {
                (*static_cast<function *>(arg))(any_future(hora_future_ref(future)));
            },
            owned.get(), [](void *arg) { delete static_cast<function *>(arg); }));
        static_cast<void>(owned.release());
    }

    /* A descriptor that polls readable once the future is done; it belongs to the future. */
    int fd() const
    {
        return detail::check(hora_future_fd(future_));
    }

    /* One line for people: name, place, state, failure. */
    std::string describe() const
    {
        return detail::text_of(
            [this](char *text, std::size_t size) { return hora_future_describe(future_, text, size); });
    }

    /* Explains why the task has not run, or what became of it. */
    std::string explain() const
    {
        return detail::text_of(
            [this](char *text, std::size_t size) { return hora_future_explain(future_, text, size); });
    }

    /* The following calls are for scheduled tasks, and throw HORA_EINVAL for others; see hora/scheduler.h. */

    std::chrono::nanoseconds delay() const
    {
        hora_ns delay;
        detail::check(hora_future_delay(future_, &delay));
        return std::chrono::nanoseconds(delay);
    }

    bool is_periodic() const noexcept
    {
        return hora_future_is_periodic(future_);
    }

    hora_schedule_info schedule_info() const
    {
        hora_schedule_info info = HORA_INIT(hora_schedule_info);
        detail::check(hora_future_get_schedule_info(future_, &info));
        return info;
    }

    /* Also throws HORA_EBUSY if the task cannot be changed any more, as pause and resume do. */
    void reschedule(span delay, span every = {}) const
    {
        detail::check(hora_future_reschedule(future_, delay.ns(), every.ns()));
    }

    /* Returns false if the task is already paused. */
    bool pause() const
    {
        return detail::check(hora_future_pause(future_)) > 0;
    }

    /* Returns false if the task is not paused. */
    bool resume() const
    {
        return detail::check(hora_future_resume(future_)) > 0;
    }

    /* The following calls are for tasks of pools with admission; see hora/admission.h. */

    void set_class(hora_class *task_class) const
    {
        detail::check(hora_future_set_class(future_, task_class));
    }

    void set_priority(hora_priority priority) const
    {
        detail::check(hora_future_set_priority(future_, priority));
    }

  private:
    hora_future *future_ = nullptr;
};

template <typename T> class promise;
template <typename T> class completion_service;

namespace detail {
struct future_access;
}

/* A future with a result of type T, which may be void, a reference or move-only. It can be moved, not copied;
 * a copy of its any_future part has no result.
 * Threads: Any thread may call the same handle, except to assign to it or destroy it. */
template <typename T> class future : public any_future {
  public:
    future() noexcept = default;
    future(const future &) = delete;
    future(future &&) noexcept = default;
    future &operator=(const future &) = delete;
    future &operator=(future &&) noexcept = default;
    ~future() = default;

    /* Waits for the outcome, and moves the result out. This is possible once; an exception can be thrown any
     * number of times.
     *
     * Blocks: until the future is done.
     * Errors: what the task threw; cancelled_error; rejected_error; HORA_EABANDONED; HORA_EEXPIRED;
     * HORA_EEMPTY (the result has been taken); another code, if the task failed with it without an exception;
     * interrupted_error and HORA_EDEADLK from the wait itself. */
    T get()
    {
        return get_for(forever);
    }

    /* As get(), but waits at most for `timeout`.   Errors: timeout_error, and those of get(). */
    T get_for(span timeout)
    {
        const int result = timeout.ns() == HORA_FOREVER
                               ? hora_future_get(native(), nullptr)
                               : hora_future_get_for(native(), timeout.ns(), nullptr);
        if (result == 0)
            return outcome_->take();
        if (result == HORA_EFAILED) {
            const int code = failure();
            outcome_->rethrow(code);
            detail::throw_code(code);
        }
        detail::throw_code(result);
    }

  private:
    friend struct detail::future_access;

    future(any_future &&made, detail::counted_ptr<detail::outcome<T>> outcome) noexcept
        : any_future(std::move(made)), outcome_(std::move(outcome))
    {
    }

    detail::counted_ptr<detail::outcome<T>> outcome_;
};

namespace detail {

/* Makes futures; takes over the reference to the future of C. */
struct future_access {
    template <typename T> static future<T> make(hora_future *made, counted_ptr<outcome<T>> outcome) noexcept
    {
        return future<T>(any_future(made), std::move(outcome));
    }
};

/* Passes a callable to a C call that returns a future: call(const hora_task *, hora_future **) throws if it
 * fails. The block has two references: that of hora, which only a successful call takes over, and that of the
 * future. */
template <typename Base, typename T, typename F, typename Call>
future<T> give(F &&function, const exception_handler &handler, const label &where, Call &&call)
{
    auto *block = new_cell<T, Base>(std::forward<F>(function), handler, where);
    counted_ptr<outcome<T>> ours(block);
    counted_ptr<outcome<T>> theirs(ours);
    const hora_task task = block->task();
    hora_future *made = nullptr;
    call(&task, &made);
    static_cast<void>(theirs.detach());
    return future_access::make<T>(made, std::move(ours));
}

} // namespace detail

/* A future that a program completes itself. The first outcome decides; later ones return false and have no
 * effect. A promise that is destroyed without an outcome fails its future with HORA_EABANDONED.
 * Threads: Any thread may call the same promise, except to destroy it, move it, or get its future. */
template <typename T> class promise {
  public:
    /* One allocation for the result, besides that of hora.   Errors: std::bad_alloc, HORA_EAGAIN. */
    promise() : outcome_(new detail::outcome<T>())
    {
        hora_future *made;
        detail::check(hora_future_new_promise(nullptr, &made));
        future_ = any_future(made);
    }

    promise(promise &&) noexcept = default;
    promise &operator=(promise &&other) noexcept
    {
        promise old(std::move(*this));
        future_ = std::move(other.future_);
        outcome_ = std::move(other.outcome_);
        return *this;
    }

    ~promise()
    {
        if (future_)
            hora_future_fail(future_.native(), HORA_EABANDONED);
    }

    /* Returns the future. Call it once: only one handle can take the result. */
    future<T> get_future() const
    {
        return detail::future_access::make<T>(hora_future_ref(future_.native()), outcome_);
    }

    /* Completes the future with a value; without an argument for T = void.   Blocks: Never.
     *
     * Errors: what the move or copy of the value throws; the future then fails with that exception. */
    template <typename... Value> bool set_value(Value &&...value)
    {
        static_assert(sizeof...(Value) == (std::is_void_v<T> ? 0 : 1), "one value, and none for void");
        if (!outcome_->reserve())
            return false;
        try {
            if constexpr (std::is_void_v<T>)
                outcome_->store(typename detail::kept<void>::type{});
            else if constexpr (std::is_reference_v<T>)
                outcome_->store(std::addressof(value)...);
            else
                outcome_->store(std::forward<Value>(value)...);
        } catch (...) {
            fail_with(std::current_exception(), detail::current_code());
            throw;
        }
        return hora_future_complete(future_.native(), outcome_.get()) > 0;
    }

    /* Completes the future with an exception.   Blocks: Never.   Errors: HORA_EINVAL (a null pointer). */
    bool set_exception(std::exception_ptr exception)
    {
        if (!exception)
            detail::throw_code(HORA_EINVAL);
        if (!outcome_->reserve())
            return false;
        int code = HORA_EFAILED;
        try {
            std::rethrow_exception(exception);
        } catch (...) {
            code = detail::current_code();
        }
        return fail_with(std::move(exception), code);
    }

    /* Completes the future with a failure code other than 0.   Blocks: Never. */
    bool fail(int code)
    {
        return outcome_->reserve() && detail::check(hora_future_fail(future_.native(), code)) > 0;
    }

  private:
    bool fail_with(std::exception_ptr exception, int code) noexcept
    {
        outcome_->store_exception(std::move(exception), code);
        return hora_future_fail(future_.native(), code) > 0;
    }

    any_future future_;
    detail::counted_ptr<detail::outcome<T>> outcome_;
};

} // namespace hora

#endif
