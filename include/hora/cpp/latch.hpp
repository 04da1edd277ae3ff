/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/latch.hpp - a countdown latch; see hora/latch.h */
#ifndef HORA_CPP_LATCH_HPP
#define HORA_CPP_LATCH_HPP

#include <utility>

#include <hora/cpp/error.hpp>
#include <hora/cpp/time.hpp>
#include <hora/latch.h>

namespace hora {

/* A countdown latch. It must not be destroyed while threads wait for it.
 * Threads: Any thread may call the same latch, except to destroy it or move it. */
class latch {
  public:
    /* Errors: HORA_EINVAL (negative count), std::bad_alloc, HORA_EAGAIN. The clock must outlive the latch. */
    explicit latch(int count, const hora_clock *clock = nullptr)
    {
        hora_latch_options options = HORA_INIT(hora_latch_options);
        hora_error reason;
        options.clock = clock;
        detail::check(hora_latch_new(count, &options, &latch_, &reason), reason);
    }

    latch(latch &&other) noexcept : latch_(std::exchange(other.latch_, nullptr))
    {
    }

    latch &operator=(latch &&other) noexcept
    {
        std::swap(latch_, other.latch_);
        return *this;
    }

    ~latch()
    {
        hora_latch_free(latch_);
    }

    hora_latch *native() const noexcept
    {
        return latch_;
    }

    /* Decrements the count and, if it becomes zero, releases all waiting threads.   Blocks: Never. */
    void count_down() const
    {
        detail::check(hora_latch_count_down(latch_));
    }

    int count() const
    {
        return detail::check(hora_latch_count(latch_));
    }

    /* Waits until the count is zero, or for `timeout` of the latch's clock. Returns whether it is zero.
     *
     * Blocks: until the count is zero or the timeout expires.   Errors: interrupted_error, std::bad_alloc. */
    bool await(span timeout = forever) const
    {
        return detail::check_unless(hora_latch_await_for(latch_, timeout.ns()), HORA_ETIMEDOUT);
    }

  private:
    hora_latch *latch_ = nullptr;
};

} // namespace hora

#endif
