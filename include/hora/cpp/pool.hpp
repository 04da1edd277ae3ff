/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/pool.hpp - thread pools, and executors for groups and completion services
 *
 *     hora::pool pool({.core_threads = 4, .name = "images"});             // C++20; by member in C++17
 *     hora::future<image> small = pool.submit([&] { return resize(large); }, "resize");
 *
 * See hora/pool.h for how a pool grows, queues, rejects and ends. */
#ifndef HORA_CPP_POOL_HPP
#define HORA_CPP_POOL_HPP

#include <chrono>
#include <climits>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <hora/admission.h>
#include <hora/context.h>
#include <hora/cpp/error.hpp>
#include <hora/cpp/future.hpp>
#include <hora/cpp/task.hpp>
#include <hora/cpp/time.hpp>
#include <hora/event.h>
#include <hora/executor.h>
#include <hora/explain.h>
#include <hora/metrics.h>
#include <hora/pool.h>

namespace hora {

/* Options of a pool: the fields of hora_pool_options, in the same order, with spans as std::chrono. Functions
 * must not throw: they are called by C. */
struct pool_options {
    int core_threads = 0;
    int max_threads = 0;
    span keep_alive = {};
    bool core_time_out = false;
    hora_queue *queue = nullptr;
    int queue_capacity = 0;
    hora_reject reject = HORA_REJECT_ABORT;
    span reject_timeout = {};
    hora_reject_fn reject_handler = nullptr;
    hora_thread_factory_fn thread_factory = nullptr;
    hora_before_fn before = nullptr;
    hora_after_fn after = nullptr;
    hora_terminated_fn terminated = nullptr;
    void *arg = nullptr;
    const char *name = nullptr;
    std::size_t stack_size = 0;
    const hora_clock *clock = nullptr;
    bool frozen = false;
    bool keep_cancelled = false;
    span spin = {};
    const hora_metrics *metrics = nullptr;
    const hora_admission *admission = nullptr;
    const hora_watchdog *watchdog = nullptr;
    const hora_listener *listener = nullptr;
    const hora_context_hooks *context_hooks = nullptr;
    span grow_after = {};
    hora_write_fn dump = nullptr;
    void *dump_arg = nullptr;
    bool stealing = false;
    /* called for each run that throws; see hora/cpp/task.hpp */
    exception_handler on_exception = {};

    hora_pool_options native() const noexcept
    {
        hora_pool_options made = HORA_INIT(hora_pool_options);
        made.core_threads = core_threads;
        made.max_threads = max_threads;
        made.keep_alive = keep_alive.ns();
        made.core_time_out = core_time_out;
        made.queue = queue;
        made.queue_capacity = queue_capacity;
        made.reject = reject;
        made.reject_timeout = reject_timeout.ns();
        made.reject_handler = reject_handler;
        made.thread_factory = thread_factory;
        made.before = before;
        made.after = after;
        made.terminated = terminated;
        made.arg = arg;
        made.name = name;
        made.stack_size = stack_size;
        made.clock = clock;
        made.frozen = frozen;
        made.keep_cancelled = keep_cancelled;
        made.spin = spin.ns();
        made.metrics = metrics;
        made.admission = admission;
        made.watchdog = watchdog;
        made.listener = listener;
        made.context_hooks = context_hooks;
        made.grow_after = grow_after.ns();
        made.dump = dump;
        made.dump_arg = dump_arg;
        made.stealing = stealing;
        return made;
    }
};

class pool;

/* An executor of C with an exception handler. A pool converts to one. It is a value; what it refers to must
 * live as long as it is used. */
struct executor {
    hora_executor native = {};
    exception_handler on_exception = {};

    executor() = default;
    inline executor(const pool &from) noexcept;
    executor(const hora_executor &given, const exception_handler &handler = {}) noexcept
        : native(given), on_exception(handler)
    {
    }
};

namespace detail {

/* Tasks of one type, as the arrays that hora_executor_invoke_all and _any take. */
template <typename T> class task_batch {
  public:
    template <typename Range> task_batch(const executor &on, Range &&functions, const label &where)
    {
        if (on.native.execute == nullptr)
            throw_code(HORA_EINVAL);
        for (auto &function : functions)
            add(std::move(function), on.on_exception, where);
        if (tasks_.size() > INT_MAX)
            throw_code(HORA_EINVAL);
        pointers_.reserve(tasks_.size());
        for (const hora_task &task : tasks_)
            pointers_.push_back(&task);
    }

    task_batch(const task_batch &) = delete;
    task_batch &operator=(const task_batch &) = delete;

    /* hora takes over its references, whatever the call that follows returns: see hora/executor.h. */
    void give() noexcept
    {
        for (auto &reference : theirs_)
            static_cast<void>(reference.detach());
    }

    int count() const noexcept
    {
        return static_cast<int>(tasks_.size());
    }

    const hora_task *const *tasks() const noexcept
    {
        return pointers_.data();
    }

    std::vector<counted_ptr<outcome<T>>> &outcomes() noexcept
    {
        return outcomes_;
    }

  private:
    template <typename F> void add(F &&function, const exception_handler &handler, const label &where)
    {
        auto *block = new_cell<T, outcome<T>>(std::forward<F>(function), handler, where);
        counted_ptr<outcome<T>> ours(block);
        tasks_.push_back(block->task());
        theirs_.push_back(ours);
        outcomes_.push_back(std::move(ours));
    }

    std::vector<hora_task> tasks_;
    std::vector<const hora_task *> pointers_;
    std::vector<counted_ptr<outcome<T>>> theirs_;
    std::vector<counted_ptr<outcome<T>>> outcomes_;
};

template <typename Range> using result_of_range = result_of<decltype(*std::begin(std::declval<Range &>()))>;

} // namespace detail

/* Executes all callables of a range and waits until all are done, or for `timeout`; see
 * hora_executor_invoke_all_for. The callables are moved out of the range, in any case. Returns their futures
 * in the same order, all of them done.
 *
 * Threads: Any thread.   Blocks: until all futures are done or the timeout expires.
 * Errors: interrupted_error, std::bad_alloc, and those of the executor. */
template <typename Range>
auto invoke_all(const executor &on, Range &&functions, span timeout = forever, const label &where = {})
    -> std::vector<future<detail::result_of_range<Range>>>
{
    using result = detail::result_of_range<Range>;
    detail::task_batch<result> batch(on, functions, where);
    std::vector<hora_future *> made(batch.outcomes().size() + 1); // data() is not null
    std::vector<future<result>> futures;
    futures.reserve(batch.outcomes().size());
    batch.give();
    detail::check(timeout.ns() == HORA_FOREVER
                      ? hora_executor_invoke_all(&on.native, batch.tasks(), batch.count(), made.data())
                      : hora_executor_invoke_all_for(&on.native, batch.tasks(), batch.count(), timeout.ns(),
                                                     made.data()));
    for (std::size_t i = 0; i < batch.outcomes().size(); i++)
        futures.push_back(detail::future_access::make<result>(made[i], batch.outcomes()[i]));
    return futures;
}

/* Executes callables of a range until one succeeds, and returns its result; see
 * hora_executor_invoke_any_for. The callables are moved out of the range, in any case.
 *
 * Threads: Any thread.   Blocks: until one has succeeded, all have failed, or the timeout expires.
 * Errors: an exception of a task that failed, if all did; timeout_error, interrupted_error, HORA_EINVAL (an
 * empty range), std::bad_alloc, and those of the executor. */
template <typename Range>
auto invoke_any(const executor &on, Range &&functions, span timeout = forever, const label &where = {})
    -> detail::result_of_range<Range>
{
    using result = detail::result_of_range<Range>;
    detail::task_batch<result> batch(on, functions, where);
    void *winner = nullptr;
    int failure = 0;
    if (batch.count() == 0)
        detail::throw_code(HORA_EINVAL);
    batch.give();
    const int error =
        timeout.ns() == HORA_FOREVER
            ? hora_executor_invoke_any(&on.native, batch.tasks(), batch.count(), &winner, &failure)
            : hora_executor_invoke_any_for(&on.native, batch.tasks(), batch.count(), timeout.ns(), &winner,
                                           &failure);
    if (error == HORA_EFAILED) {
        for (auto &outcome : batch.outcomes())
            outcome->rethrow(failure);
        detail::throw_code(failure);
    }
    detail::check(error);
    return static_cast<detail::outcome<result> *>(winner)->take();
}

/* A thread pool. The destructor closes it: it waits until all accepted tasks have completed, as close() does.
 * A pool must not be destroyed by one of its own tasks. A pool that has been moved from is empty: every call
 * throws HORA_EINVAL.
 *
 * Threads: Any thread may call the same pool, except to destroy it or move it. Calls without further comment
 * never block, and throw HORA_EINVAL or HORA_EFORKED as in C. */
class pool {
  public:
    /* Errors: HORA_EINVAL with a reason, and those of hora_pool_new. */
    explicit pool(const pool_options &options = {}) : on_exception_(options.on_exception)
    {
        const hora_pool_options native = options.native();
        hora_error reason;
        detail::check(hora_pool_new(&native, &pool_, &reason), reason);
    }

    /* A pool with a fixed number of threads and an unbounded queue. */
    static pool fixed(int threads, const pool_options &options = {})
    {
        return made_by(options,
                       [threads](const hora_pool_options *native, hora_pool **made, hora_error *reason) {
                           return hora_pool_new_fixed(threads, native, made, reason);
                       });
    }

    /* A pool with one thread and an unbounded queue, which no setter can change. */
    static pool single(const pool_options &options = {})
    {
        return made_by(options, hora_pool_new_single);
    }

    /* A pool with as many threads as tasks; idle threads end after 60 s. */
    static pool cached(const pool_options &options = {})
    {
        return made_by(options, hora_pool_new_cached);
    }

    /* A pool for tasks that submit tasks: each worker has its own queue, and others steal from it. A
     * parallelism of 0 means hora_available_processors. */
    static pool work_stealing(int parallelism = 0, const pool_options &options = {})
    {
        return made_by(options,
                       [parallelism](const hora_pool_options *native, hora_pool **made, hora_error *reason) {
                           return hora_pool_new_work_stealing(parallelism, native, made, reason);
                       });
    }

    pool(pool &&other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), on_exception_(other.on_exception_)
    {
    }

    pool &operator=(pool &&other) noexcept
    {
        if (this != &other) {
            end();
            pool_ = std::exchange(other.pool_, nullptr);
            on_exception_ = other.on_exception_;
        }
        return *this;
    }

    /* Blocks: until all accepted tasks have completed. */
    ~pool()
    {
        end();
    }

    /* The pool of C, borrowed. */
    hora_pool *native() const noexcept
    {
        return pool_;
    }

    const exception_handler &on_exception() const noexcept
    {
        return on_exception_;
    }

    /* Queues a task without a future. Its result is destroyed.
     *
     * Blocks: as hora_pool_execute.   Errors: rejected_error, std::bad_alloc, HORA_EAGAIN, and those of
     * hora_pool_execute. */
    template <typename F> void execute(F &&function, const label &where = {}) const
    {
        detail::give_detached(std::forward<F>(function), on_exception_, where, [this](const hora_task *task) {
            detail::check(hora_pool_execute(pool_, task));
        });
    }

    /* The same with task options.   Errors: also those of hora_task_options_check. */
    template <typename F>
    void execute(F &&function, const task_options &options, const label &where = {}) const
    {
        detail::give_detached(std::forward<F>(function), on_exception_, where,
                              [&](const hora_task *task) { submit_with(task, options, nullptr); });
    }

    /* Queues a task and returns its future.   Blocks: as execute().   Errors: as execute(). */
    template <typename F>
    [[nodiscard]] auto submit(F &&function, const label &where = {}) const -> future<detail::result_of<F>>
    {
        using result = detail::result_of<F>;
        return detail::give<detail::outcome<result>, result>(
            std::forward<F>(function), on_exception_, where,
            [this](const hora_task *task, hora_future **made) {
                detail::check(hora_pool_submit(pool_, task, made));
            });
    }

    /* The same with task options.   Errors: also those of hora_task_options_check. */
    template <typename F>
    [[nodiscard]] auto submit(F &&function, const task_options &options, const label &where = {}) const
        -> future<detail::result_of<F>>
    {
        using result = detail::result_of<F>;
        return detail::give<detail::outcome<result>, result>(
            std::forward<F>(function), on_exception_, where,
            [&](const hora_task *task, hora_future **made) { submit_with(task, options, made); });
    }

    /* Accepts no more tasks; queued and running tasks complete. */
    void shutdown() const
    {
        detail::check(hora_pool_shutdown(pool_));
    }

    /* Accepts no more tasks, interrupts running tasks, and hands back queued ones. They are not done; the
     * caller runs or cancels them. */
    std::vector<any_future> shutdown_now() const
    {
        hora_future_list list = HORA_FUTURE_LIST_INIT;
        const int error = hora_pool_shutdown_now(pool_, &list);
        std::vector<any_future> futures;
        try {
            detail::check(error);
            futures.reserve(static_cast<std::size_t>(list.count));
        } catch (...) {
            hora_future_list_cancel(&list);
            throw;
        }
        while (hora_future *future = hora_future_list_take(&list))
            futures.emplace_back(future);
        return futures;
    }

    /* The same, but queued tasks are abandoned: their futures fail with HORA_EABANDONED. */
    void abandon() const
    {
        detail::check(hora_pool_shutdown_now(pool_, nullptr));
    }

    /* Shuts down and waits until all accepted tasks have completed. Returns false if the calling thread was
     * interrupted: the pool has then stopped, and the interrupt stays pending.
     *
     * Blocks: until terminated.   Errors: HORA_EDEADLK, std::bad_alloc. */
    bool close() const
    {
        return detail::check_unless(hora_pool_close(pool_), HORA_ETIMEDOUT);
    }

    /* The same with a timeout, at which the pool stops as abandon() does. Returns whether all tasks have
     * completed. */
    bool close_for(span timeout) const
    {
        return detail::check_unless(hora_pool_close_for(pool_, timeout.ns()), HORA_ETIMEDOUT);
    }

    /* Waits until the pool has terminated, or for `timeout`. Returns whether it has.
     *
     * Blocks: until terminated or the timeout expires.   Errors: interrupted_error, HORA_EDEADLK. */
    bool await_termination(span timeout = forever) const
    {
        return detail::check_unless(hora_pool_await_termination_for(pool_, timeout.ns()), HORA_ETIMEDOUT);
    }

    /* Waits until nothing is queued or running, or for `timeout`. Returns whether the pool is idle.
     *
     * Blocks: until idle or the timeout expires.   Errors: interrupted_error, HORA_EDEADLK. */
    bool await_idle(span timeout = forever) const
    {
        return detail::check_unless(hora_pool_await_idle_for(pool_, timeout.ns()), HORA_ETIMEDOUT);
    }

    bool is_shutdown() const noexcept
    {
        return hora_pool_is_shutdown(pool_);
    }

    bool is_terminated() const noexcept
    {
        return hora_pool_is_terminated(pool_);
    }

    /* A descriptor that polls readable while the pool is idle; it belongs to the pool. */
    int idle_fd() const
    {
        return detail::check(hora_pool_idle_fd(pool_));
    }

    /* Removes a future from the queue. Returns whether it was there. */
    bool remove(const any_future &future) const
    {
        return detail::check(hora_pool_remove(pool_, future.native())) > 0;
    }

    int purge() const
    {
        return detail::check(hora_pool_purge(pool_));
    }

    int prestart_all() const
    {
        return detail::check(hora_pool_prestart_all(pool_));
    }

    void set_core_threads(int threads) const
    {
        hora_error reason;
        detail::check(hora_pool_set_core_threads(pool_, threads, &reason), reason);
    }

    void set_max_threads(int threads) const
    {
        hora_error reason;
        detail::check(hora_pool_set_max_threads(pool_, threads, &reason), reason);
    }

    void set_keep_alive(span keep_alive) const
    {
        hora_error reason;
        detail::check(hora_pool_set_keep_alive(pool_, keep_alive.ns(), &reason), reason);
    }

    void set_core_time_out(bool core_time_out) const
    {
        hora_error reason;
        detail::check(hora_pool_set_core_time_out(pool_, core_time_out, &reason), reason);
    }

    /* Creates a class of tasks in a pool with admission; it belongs to the pool. See hora/admission.h. */
    hora_class *new_class(const hora_class_options &options) const
    {
        hora_class *made;
        hora_error reason;
        detail::check(hora_class_new(pool_, &options, &made, &reason), reason);
        return made;
    }

    /* Returns nullptr if there is no class of this name. */
    hora_class *find_class(const char *name) const noexcept
    {
        return hora_pool_find_class(pool_, name);
    }

    hora_pool_stats stats() const
    {
        hora_pool_stats stats = HORA_INIT(hora_pool_stats);
        detail::check(hora_pool_get_stats(pool_, &stats));
        return stats;
    }

    /* One line for people: name, state and counts. */
    std::string describe() const
    {
        return detail::text_of(
            [this](char *text, std::size_t size) { return hora_pool_describe(pool_, text, size); });
    }

    /* The state of the pool as JSON; see hora_pool_dump. */
    std::string dump() const
    {
        std::string text;
        detail::check(hora_pool_dump(pool_, detail::append_to_string, &text));
        return text;
    }

    /* The state of each worker.   Errors: HORA_ENOTSUP, as hora_pool_workers. */
    std::vector<hora_worker_info> workers() const
    {
        std::vector<hora_worker_info> workers(
            static_cast<std::size_t>(detail::check(hora_pool_workers(pool_, nullptr, 0))),
            HORA_INIT(hora_worker_info));
        if (workers.empty())
            return workers;
        const int there =
            detail::check(hora_pool_workers(pool_, workers.data(), static_cast<int>(workers.size())));
        if (static_cast<std::size_t>(there) < workers.size())
            workers.resize(static_cast<std::size_t>(there));
        return workers;
    }

    /* The distribution of a metric, for a task name or, with nullptr, for the whole pool.
     *
     * Errors: HORA_ENOTSUP (the pool has no metrics), HORA_ENOENT (unknown name). */
    hora_distribution distribution(hora_metric metric, const char *name = nullptr) const
    {
        hora_distribution found = HORA_INIT(hora_distribution);
        detail::check(hora_pool_get_distribution(pool_, name, metric, &found));
        return found;
    }

    /* All counters of the pool or of a task name.   Errors: as distribution(). */
    hora_counts counts(const char *name = nullptr) const
    {
        hora_counts found = HORA_INIT(hora_counts);
        detail::check(hora_pool_get_counts(pool_, name, &found));
        return found;
    }

    /* The metrics of this pool as text for Prometheus; see hora_metrics_write. */
    std::string metrics_text(hora_metrics_format format = HORA_METRICS_OPENMETRICS) const
    {
        std::string text;
        detail::check(hora_metrics_write(&pool_, 1, format, detail::append_to_string, &text));
        return text;
    }

  protected:
    /* Takes over a pool of C. */
    pool(hora_pool *made, const exception_handler &handler) noexcept : pool_(made), on_exception_(handler)
    {
    }

  private:
    template <typename New> static pool made_by(const pool_options &options, New &&create)
    {
        const hora_pool_options native = options.native();
        hora_pool *made;
        hora_error reason;
        detail::check(create(&native, &made, &reason), reason);
        return pool(made, options.on_exception);
    }

    void submit_with(const hora_task *task, const task_options &options, hora_future **made) const
    {
        const hora_task_options native = options.native();
        hora_error reason;
        detail::check(hora_pool_submit_with(pool_, task, &native, made, &reason), reason);
    }

    void end() noexcept
    {
        if (pool_ == nullptr)
            return;
        hora_pool_close(pool_);
        hora_pool_free(pool_);
        pool_ = nullptr;
    }

    hora_pool *pool_ = nullptr;
    exception_handler on_exception_;
};

inline executor::executor(const pool &from) noexcept
    : native(hora_pool_executor(from.native())), on_exception(from.on_exception())
{
}

} // namespace hora

#endif
