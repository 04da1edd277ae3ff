/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/group.hpp - groups of futures, and completion services
 *
 * See hora/group.h and hora/completion.h. */
#ifndef HORA_CPP_GROUP_HPP
#define HORA_CPP_GROUP_HPP

#include <mutex>
#include <optional>
#include <utility>

#include <hora/completion.h>
#include <hora/cpp/error.hpp>
#include <hora/cpp/future.hpp>
#include <hora/cpp/pool.hpp>
#include <hora/cpp/task.hpp>
#include <hora/cpp/time.hpp>
#include <hora/group.h>
#include <hora/thread.h>

namespace hora {

/* Options of a group; see hora_group_options. */
struct group_options {
    const hora_clock *clock = nullptr;
    bool cancel_on_failure = false;
};

/* Futures that belong together. The destructor cancels, with interrupt, those that are pending; it does not
 * wait for bodies that are running.
 * Threads: Any thread may call the same group, except to destroy it or move it. */
class group {
  public:
    /* Errors: std::bad_alloc, HORA_EAGAIN. The clock must outlive the group. */
    explicit group(const group_options &options = {})
    {
        hora_group_options native = HORA_INIT(hora_group_options);
        hora_error reason;
        native.clock = options.clock;
        native.cancel_on_failure = options.cancel_on_failure;
        detail::check(hora_group_new(&native, &group_, &reason), reason);
    }

    group(group &&other) noexcept : group_(std::exchange(other.group_, nullptr))
    {
    }

    group &operator=(group &&other) noexcept
    {
        std::swap(group_, other.group_);
        return *this;
    }

    ~group()
    {
        if (group_ == nullptr)
            return;
        hora_group_cancel(group_, true);
        const bool was_interrupted = await_cancelled();
        hora_group_free(group_);
        hora_thread *self;
        if (was_interrupted && hora_thread_self(&self) == 0) {
            hora_thread_interrupt(self);
            hora_thread_unref(self);
        }
    }

    hora_group *native() const noexcept
    {
        return group_;
    }

    /* Adds a future.   Blocks: Never.   Errors: HORA_EINVAL, std::bad_alloc. */
    void add(const any_future &future) const
    {
        detail::check(hora_group_add(group_, future.native()));
    }

    /* Executes a task and adds its future.   Blocks: as the executor.   Errors: those of the executor. */
    template <typename F>
    auto submit(const executor &on, F &&function, const label &where = {}) const
        -> future<detail::result_of<F>>
    {
        using result = detail::result_of<F>;
        return detail::give<detail::outcome<result>, result>(
            std::forward<F>(function), on.on_exception, where,
            [&](const hora_task *task, hora_future **made) {
                detail::check(hora_group_submit(group_, &on.native, task, made));
            });
    }

    /* Waits until no future is pending, or for `timeout` of the group's clock. Returns whether none is.
     *
     * Blocks: until no future is pending or the timeout expires.
     * Errors: interrupted_error, HORA_EDEADLK. */
    bool await(span timeout = forever) const
    {
        return detail::check_unless(hora_group_await_for(group_, timeout.ns()), HORA_ETIMEDOUT);
    }

    /* Cancels all pending futures, and returns how many this call cancelled.   Blocks: Never. */
    int cancel(bool interrupt = true) const
    {
        return detail::check(hora_group_cancel(group_, interrupt));
    }

    int pending() const
    {
        return detail::check(hora_group_pending(group_));
    }

    /* How many futures have not succeeded since the group was created. */
    int failed() const
    {
        return detail::check(hora_group_failed(group_));
    }

    /* A descriptor that polls readable while no future is pending; it belongs to the group. */
    int fd() const
    {
        return detail::check(hora_group_fd(group_));
    }

  private:
    /* A thread that completes a future may not have counted it yet. Returns whether an interrupt came. */
    bool await_cancelled() noexcept
    {
        bool was_interrupted = false;
        while (hora_group_await(group_) == HORA_EINTERRUPTED)
            was_interrupted = true;
        return was_interrupted;
    }

    hora_group *group_ = nullptr;
};

namespace detail {

/* An outcome that a completion service lists until its future is taken. The list holds a reference, because
 * hora may drop the task before the future is taken. */
template <typename T> class listed_outcome : public outcome<T> {
  public:
    listed_outcome *before = nullptr;
    listed_outcome *after = nullptr;
};

} // namespace detail

/* Takes futures with a result of type T in the order in which they complete.
 *
 * Tasks that are not done when the service is destroyed continue. No thread may wait then.
 * Threads: Any thread may call the same service, except to destroy it. */
template <typename T> class completion_service {
  public:
    /* Errors: HORA_EINVAL, std::bad_alloc, HORA_EAGAIN. The executor must outlive the service. */
    explicit completion_service(const executor &on) : on_exception_(on.on_exception)
    {
        detail::check(hora_completion_service_new(&on.native, nullptr, &service_));
    }

    completion_service(const completion_service &) = delete;
    completion_service &operator=(const completion_service &) = delete;

    ~completion_service()
    {
        hora_completion_service_free(service_);
        while (first_ != nullptr)
            remove(*first_);
    }

    hora_completion_service *native() const noexcept
    {
        return service_;
    }

    /* Executes a task; its future can be taken when it is done. Its result converts to T.
     *
     * Blocks: as the executor.   Errors: those of the executor. */
    template <typename F> void submit(F &&function, const label &where = {})
    {
        using base = detail::listed_outcome<T>;
        auto *block = detail::new_cell<T, base>(std::forward<F>(function), on_exception_, where);
        detail::counted_ptr<detail::outcome<T>> theirs(block);
        const hora_task task = block->task();
        insert(*block);
        const int error = hora_completion_service_submit(service_, &task, nullptr);
        if (error < 0)
            remove(*block);
        detail::check(error);
        static_cast<void>(theirs.detach());
    }

    /* Takes the next completed future.   Blocks: until one is done.   Errors: interrupted_error. */
    future<T> take()
    {
        hora_future *made;
        detail::check(hora_completion_service_take(service_, &made));
        return taken(made);
    }

    /* Takes the next completed future if there is one.   Blocks: Never. */
    std::optional<future<T>> poll()
    {
        hora_future *made;
        if (!detail::check_unless(hora_completion_service_poll(service_, &made), HORA_EEMPTY))
            return std::nullopt;
        return taken(made);
    }

    /* The same, waiting for a limited time.   Errors: interrupted_error. */
    std::optional<future<T>> poll_for(span timeout)
    {
        hora_future *made;
        const int result = hora_completion_service_poll_for(service_, timeout.ns(), &made);
        if (!detail::check_unless(result, HORA_ETIMEDOUT))
            return std::nullopt;
        return taken(made);
    }

    /* A descriptor that polls readable while a future can be taken; it belongs to the service. */
    int fd() const
    {
        return detail::check(hora_completion_service_fd(service_));
    }

  private:
    using listed = detail::listed_outcome<T>;

    /* Lists an outcome, with a reference of its own. */
    void insert(listed &outcome)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        outcome.ref();
        outcome.after = first_;
        if (first_ != nullptr)
            first_->before = &outcome;
        first_ = &outcome;
    }

    /* Takes an outcome off the list, and returns the reference. */
    detail::counted_ptr<detail::outcome<T>> remove(listed &outcome)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        (outcome.before != nullptr ? outcome.before->after : first_) = outcome.after;
        if (outcome.after != nullptr)
            outcome.after->before = outcome.before;
        return detail::counted_ptr<detail::outcome<T>>(&outcome);
    }

    future<T> taken(hora_future *made)
    {
        auto *outcome = static_cast<detail::outcome<T> *>(hora_future_task(made)->arg);
        return detail::future_access::make<T>(made, remove(static_cast<listed &>(*outcome)));
    }

    hora_completion_service *service_ = nullptr;
    exception_handler on_exception_;
    std::mutex mutex_;
    listed *first_ = nullptr;
};

} // namespace hora

#endif
