/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/task.hpp - callables as tasks: labels, options, and what happens to exceptions
 *
 * Every call that takes a task takes a callable without parameters. It may be move-only. hora moves it into
 * one block of memory, which also has room for its result; this is the only memory that the C++ interface
 * allocates for a task. The callable is destroyed exactly once: after it has run, or instead of it if the
 * task is refused, cancelled, rejected, abandoned or handed back. If the call throws, the callable has been
 * destroyed.
 *
 * An exception that leaves the callable is a failure of the task, and never passes through hora. The future
 * keeps it, and get() throws it. Hooks, listeners, statistics and groups see a failure code: that of a
 * hora::error, HORA_ENOMEM for std::bad_alloc, and HORA_EFAILED for every other exception and for a code that
 * means something else in the outcome of a future. A task without a future has nothing that could keep its
 * exception, so a pool may have an exception handler.
 *
 * A task may end its thread with pthread_exit, as in C. Its future then fails with HORA_EABANDONED. */
#ifndef HORA_CPP_TASK_HPP
#define HORA_CPP_TASK_HPP

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <hora/cpp/error.hpp>
#include <hora/cpp/time.hpp>
#include <hora/task.h>

namespace hora {

/* The name of a task and the place where it was submitted, for people and metrics. A text converts to it, and
 * the compiler adds the place: pool.submit(resize, "resize"). The text must remain unchanged until the task
 * has ended. */
struct label {
    const char *name;
    const char *file;
    int line;

    constexpr label(const char *task_name = nullptr, const char *task_file = __builtin_FILE(),
                    int task_line = __builtin_LINE()) noexcept
        : name(task_name), file(task_file), line(task_line)
    {
    }
};

/* Describes a run that threw an exception. Valid during the call of the handler. */
struct failed_run {
    /* the label of the task */
    const label &where;
    /* the failure code that hooks and listeners will see */
    int code;
    /* what() of a std::exception, otherwise nullptr */
    const char *what;
    /* the exception; the handler may keep it */
    std::exception_ptr exception;
};

/* A function that hora calls for each run that throws, on the thread of the run, with no lock held. The
 * future is not done at that time. `arg` must live as long as tasks of the pool do. It may call any function
 * of hora, but it must not free the pool. */
struct exception_handler {
    /* nullptr means none */
    void (*function)(const failed_run &run, void *arg) noexcept = nullptr;
    /* last argument of the function */
    void *arg = nullptr;
};

/* Options for one task, or for each run of one schedule; see hora_task_options. */
struct task_options {
    hora_class *task_class = nullptr;
    uint64_t key = 0;
    hora_priority priority = HORA_PRIORITY_NORMAL;
    span start_within = {};
    span run_limit = {};
    span stuck_after = {};
    bool replace_stuck = false;
    span finish_within = {};
    void *context = nullptr;

    hora_task_options native() const noexcept
    {
        hora_task_options made = HORA_INIT(hora_task_options);
        made.task_class = task_class;
        made.key = key;
        made.priority = priority;
        made.start_within = start_within.ns();
        made.run_limit = run_limit.ns();
        made.stuck_after = stuck_after.ns();
        made.replace_stuck = replace_stuck;
        made.finish_within = finish_within.ns();
        made.context = context;
        return made;
    }
};

namespace detail {

template <typename F> using result_of = std::invoke_result_t<std::decay_t<F> &>;

/* Returns the failure code of the exception that is being handled. The codes that hora_future_get returns for
 * other outcomes would be mistaken for them. */
inline int current_code() noexcept
{
    try {
        throw;
    } catch (const error &thrown) {
        switch (thrown.code()) {
        case 0:
        case HORA_EREJECTED:
        case HORA_EABANDONED:
        case HORA_EEXPIRED:
            return HORA_EFAILED;
        default:
            return thrown.code();
        }
    } catch (const std::bad_alloc &) {
        return HORA_ENOMEM;
    } catch (...) {
        return HORA_EFAILED;
    }
}

/* Reports the exception that is being handled, and returns its failure code. */
inline int report(const exception_handler &handler, const label &where) noexcept
{
    const int code = current_code();
    if (handler.function == nullptr)
        return code;
    try {
        throw;
    } catch (const std::exception &thrown) {
        handler.function(failed_run{where, code, thrown.what(), std::current_exception()}, handler.arg);
    } catch (...) {
        handler.function(failed_run{where, code, nullptr, std::current_exception()}, handler.arg);
    }
    return code;
}

/* Calls body(), and failed() for an exception. The C library may end a thread with an exception of its own,
 * which must not be caught; std::current_exception does not know it. */
template <typename Body, typename Failed> int guarded(Body &&body, Failed &&failed)
{
    try {
        body();
        return 0;
    } catch (...) {
        if (!std::current_exception())
            throw;
        return failed();
    }
}

/* A reference to an object that counts its references. */
template <typename T> class counted_ptr {
  public:
    counted_ptr() noexcept = default;

    /* Takes over a reference. */
    explicit counted_ptr(T *object) noexcept : object_(object)
    {
    }

    counted_ptr(const counted_ptr &other) noexcept : object_(other.object_)
    {
        if (object_ != nullptr)
            object_->ref();
    }

    counted_ptr(counted_ptr &&other) noexcept : object_(std::exchange(other.object_, nullptr))
    {
    }

    counted_ptr &operator=(counted_ptr other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }

    ~counted_ptr()
    {
        if (object_ != nullptr)
            object_->unref();
    }

    /* Gives the reference away. */
    T *detach() noexcept
    {
        return std::exchange(object_, nullptr);
    }

    T *get() const noexcept
    {
        return object_;
    }

    T *operator->() const noexcept
    {
        return object_;
    }

  private:
    T *object_ = nullptr;
};

/* What a T is kept as. */
template <typename T> struct kept {
    using type = T;
};
template <typename T> struct kept<T &> {
    using type = T *;
};
template <> struct kept<void> {
    struct type {};
};

/* The result or the exception of a task, apart from the state of its future, which hora keeps.
 *
 * A run stores its result before it returns to hora, so a thread that has seen the future done finds it. A
 * future can be done while its task is still running, if it was cancelled or expired; `phase` then keeps
 * readers from a value that is being written. The runs of a series may overlap, and each of them stores its
 * result. They use the lock `guard`. */
template <typename T> class outcome {
  public:
    outcome() = default;
    outcome(const outcome &) = delete;
    outcome &operator=(const outcome &) = delete;
    virtual ~outcome() = default;

    void ref() noexcept
    {
        references_.fetch_add(1, std::memory_order_relaxed);
    }

    void unref() noexcept
    {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    /* Stores the result of function(). */
    template <typename F> void store_result(F &function)
    {
        if constexpr (std::is_void_v<T>) {
            function();
            store(typename kept<void>::type{});
        } else if constexpr (std::is_reference_v<T>) {
            T result = function();
            store(&result);
        } else if (guard_ == nullptr) {
            value_.emplace(function());
            phase_.store(phase::value, std::memory_order_release);
        } else {
            store(T(function()));
        }
    }

    /* Stores a value in place of an earlier one. */
    template <typename Value> void store(Value &&value)
    {
        const auto lock = locked();
        phase_.store(phase::empty, std::memory_order_relaxed);
        value_.emplace(std::forward<Value>(value));
        phase_.store(phase::value, std::memory_order_release);
    }

    void store_exception(std::exception_ptr exception, int code) noexcept
    {
        const auto lock = locked();
        exception_ = std::move(exception);
        code_ = code;
        phase_.store(phase::exception, std::memory_order_release);
    }

    /* Reserves the right to store, for a promise. Returns false if it has been reserved before. */
    bool reserve() noexcept
    {
        return !is_reserved_.exchange(true, std::memory_order_relaxed);
    }

    /* Moves the value out.   Errors: HORA_EEMPTY (it has been taken, or the future was completed in C). */
    T take()
    {
        const auto lock = locked();
        phase expected = phase::value;
        if (!phase_.compare_exchange_strong(expected, phase::taken, std::memory_order_acquire))
            throw_code(HORA_EEMPTY);
        if constexpr (std::is_reference_v<T>)
            return static_cast<T>(**value_);
        else if constexpr (!std::is_void_v<T>)
            return std::move(*value_);
    }

    /* Throws the exception, if it is the one with this failure code. */
    void rethrow(int code)
    {
        std::exception_ptr found;
        {
            const auto lock = locked();
            if (phase_.load(std::memory_order_acquire) == phase::exception && code_ == code)
                found = exception_;
        }
        if (found)
            std::rethrow_exception(found);
    }

  protected:
    void guard_with(std::mutex &guard) noexcept
    {
        guard_ = &guard;
    }

  private:
    enum class phase { empty, value, exception, taken };

    std::unique_lock<std::mutex> locked()
    {
        return guard_ != nullptr ? std::unique_lock<std::mutex>(*guard_) : std::unique_lock<std::mutex>();
    }

    std::atomic<int> references_{1};
    std::atomic<phase> phase_{phase::empty};
    std::atomic<bool> is_reserved_{false};
    int code_ = 0;
    std::mutex *guard_ = nullptr;
    std::exception_ptr exception_;
    std::optional<typename kept<T>::type> value_;
};

/* The outcome of a task that runs several times. */
template <typename T> class series_outcome : public outcome<T> {
  protected:
    series_outcome() noexcept
    {
        this->guard_with(mutex_);
    }

  private:
    std::mutex mutex_;
};

/* The block of memory of a task with a future: the callable and its outcome. hora holds one reference until
 * it drops the task, and the future another one. */
template <typename F, typename Base, typename T> class cell final : public Base {
  public:
    template <typename Given>
    cell(Given &&function, const exception_handler &handler, const label &where)
        : function_(std::forward<Given>(function)), handler_(handler), where_(where)
    {
    }

    hora_task task() noexcept
    {
        outcome<T> *self = this;
        return hora_task{run, self, drop, nullptr, where_.name, where_.file, where_.line};
    }

  private:
    static cell &from(void *arg) noexcept
    {
        return *static_cast<cell *>(static_cast<outcome<T> *>(arg));
    }

    /* The result that C sees is the outcome; invoke_any finds the task that succeeded by it. */
    static int run(void *arg, void **ret_result)
    {
        cell &self = from(arg);
        *ret_result = arg;
        return guarded([&self] { self.store_result(*self.function_); },
                       [&self] {
                           const int code = report(self.handler_, self.where_);
                           self.store_exception(std::current_exception(), code);
                           return code;
                       });
    }

    static void drop(void *arg) noexcept
    {
        cell &self = from(arg);
        self.function_.reset();
        self.unref();
    }

    std::optional<F> function_;
    exception_handler handler_;
    label where_;
};

/* The block of memory of a task without a future. */
template <typename F> class detached_cell {
  public:
    template <typename Given>
    detached_cell(Given &&function, const exception_handler &handler, const label &where)
        : function_(std::forward<Given>(function)), handler_(handler), where_(where)
    {
    }

    hora_task task() noexcept
    {
        return hora_task{run, this, drop, nullptr, where_.name, where_.file, where_.line};
    }

  private:
    static int run(void *arg, void **)
    {
        auto &self = *static_cast<detached_cell *>(arg);
        return guarded([&self] { static_cast<void>(self.function_()); },
                       [&self] { return report(self.handler_, self.where_); });
    }

    static void drop(void *arg) noexcept
    {
        delete static_cast<detached_cell *>(arg);
    }

    F function_;
    exception_handler handler_;
    label where_;
};

/* An outcome in a new block with room for the callable. */
template <typename T, typename Base, typename F>
cell<std::decay_t<F>, Base, T> *new_cell(F &&function, const exception_handler &handler, const label &where)
{
    return new cell<std::decay_t<F>, Base, T>(std::forward<F>(function), handler, where);
}

/* Passes a callable to a C call that keeps no future: call(const hora_task *) returns an error or not. */
template <typename F, typename Call>
void give_detached(F &&function, const exception_handler &handler, const label &where, Call &&call)
{
    using made = detached_cell<std::decay_t<F>>;
    std::unique_ptr<made> block(new made(std::forward<F>(function), handler, where));
    const hora_task task = block->task();
    call(&task);
    static_cast<void>(block.release());
}

} // namespace detail
} // namespace hora

#endif
