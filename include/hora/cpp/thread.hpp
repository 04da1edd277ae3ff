/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/thread.hpp - interrupts: a request to a thread to stop what it is doing
 *
 * A blocking call of hora that is interrupted throws hora::interrupted_error. See hora/thread.h. */
#ifndef HORA_CPP_THREAD_HPP
#define HORA_CPP_THREAD_HPP

#include <utility>

#include <hora/cpp/error.hpp>
#include <hora/cpp/time.hpp>
#include <hora/thread.h>

namespace hora {

/* A handle to a thread. It may be copied, and remains valid after the thread has ended.
 * Threads: Any thread may call the same handle. */
class thread_handle {
  public:
    /* Returns a handle to the calling thread.   Blocks: Never.   Errors: std::bad_alloc, HORA_EAGAIN. */
    static thread_handle self()
    {
        hora_thread *thread;
        detail::check(hora_thread_self(&thread));
        return thread_handle(thread);
    }

    thread_handle(const thread_handle &other) noexcept : thread_(hora_thread_ref(other.thread_))
    {
    }

    thread_handle(thread_handle &&other) noexcept : thread_(std::exchange(other.thread_, nullptr))
    {
    }

    thread_handle &operator=(thread_handle other) noexcept
    {
        std::swap(thread_, other.thread_);
        return *this;
    }

    ~thread_handle()
    {
        hora_thread_unref(thread_);
    }

    /* Sets the interrupt flag of the thread, and wakes it from any blocking call of hora.   Blocks: Never. */
    void interrupt() const
    {
        detail::check(hora_thread_interrupt(thread_));
    }

    /* Tests whether the flag is set, without clearing it.   Blocks: Never. */
    bool is_interrupted() const noexcept
    {
        return hora_thread_is_interrupted(thread_);
    }

    /* The handle of C, borrowed. */
    hora_thread *native() const noexcept
    {
        return thread_;
    }

  private:
    explicit thread_handle(hora_thread *thread) noexcept : thread_(thread)
    {
    }

    hora_thread *thread_;
};

/* Tests whether the calling thread's flag is set, and clears it.   Threads: Any thread.   Blocks: Never. */
inline bool interrupted() noexcept
{
    return hora_interrupted();
}

/* Sleeps for a time of `clock`; nullptr means the monotonic clock.
 *
 * Threads: Any thread.   Blocks: until the time has passed.   Errors: interrupted_error, std::bad_alloc. */
inline void sleep_for(span duration, const hora_clock *clock = nullptr)
{
    detail::check(hora_clock_sleep(clock, duration.ns()));
}

} // namespace hora

#endif
