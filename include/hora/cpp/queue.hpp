/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/queue.hpp - blocking queues of any type: array, linked, synchronous, priority and delay
 *
 *     auto jobs = hora::queue<job>::array(100);
 *     jobs.put(job{...});
 *     job next = jobs.take();
 *
 * The queues of hora hold pointers. queue<T *> puts the pointers themselves into them and does not own what
 * they point to. queue<std::unique_ptr<T>> puts the pointers into them and owns it. Neither allocates for an
 * element. Every other queue<T> allocates memory for each element when it is inserted, and frees it when the
 * element is taken. Null pointers are refused with HORA_EINVAL. */
#ifndef HORA_CPP_QUEUE_HPP
#define HORA_CPP_QUEUE_HPP

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <hora/cpp/error.hpp>
#include <hora/cpp/time.hpp>
#include <hora/queue.h>

namespace hora {
namespace detail {

/* How elements of type T become pointers: pack moves an element into one, unpack moves it out again, drop
 * destroys it, and view shows it to a comparison. */
template <typename T> struct element {
    static void *pack(T &item)
    {
        return new T(std::move(item));
    }

    static T unpack(void *item)
    {
        std::unique_ptr<T> owned(static_cast<T *>(item));
        return std::move(*owned);
    }

    static void drop(void *item) noexcept
    {
        delete static_cast<T *>(item);
    }

    static const T &view(const void *item) noexcept
    {
        return *static_cast<const T *>(item);
    }
};

template <typename T> struct element<T *> {
    static void *pack(T *item) noexcept
    {
        return const_cast<std::remove_cv_t<T> *>(item);
    }

    static T *unpack(void *item) noexcept
    {
        return static_cast<T *>(item);
    }

    static T *view(const void *item) noexcept
    {
        return static_cast<T *>(const_cast<void *>(item));
    }
};

template <typename T> struct element<std::unique_ptr<T>> {
    static void *pack(std::unique_ptr<T> &item) noexcept
    {
        return const_cast<std::remove_cv_t<T> *>(item.release());
    }

    static std::unique_ptr<T> unpack(void *item) noexcept
    {
        return std::unique_ptr<T>(static_cast<T *>(item));
    }

    static void drop(void *item) noexcept
    {
        delete static_cast<T *>(item);
    }

    static const T &view(const void *item) noexcept
    {
        return *static_cast<const T *>(item);
    }
};

} // namespace detail

/* A blocking queue. If an insertion fails, the element is moved back, so the caller still has it. The
 * destructor closes the queue and destroys the elements in it. A pool that uses the queue must be destroyed
 * first.
 *
 * Threads: Any thread may call the same queue, except to destroy it or move it. */
template <typename T> class queue {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>,
                  "elements are moved without exceptions, so that none is lost");
    using element = detail::element<T>;

  public:
    /* A bounded FIFO queue that allocates the memory for its pointers at once.
     *
     * Errors of all constructors: HORA_EINVAL with a reason, std::bad_alloc, HORA_EAGAIN. The clock, which
     * measures timed calls, must outlive the queue; nullptr means monotonic. */
    static queue array(int capacity, const hora_clock *clock = nullptr)
    {
        return queue(clock, [&](const hora_queue_options *options, hora_queue **made, hora_error *reason) {
            return hora_queue_new_array(capacity, options, made, reason);
        });
    }

    /* A FIFO queue that allocates memory per element. */
    static queue linked(int capacity = HORA_UNBOUNDED, const hora_clock *clock = nullptr)
    {
        return queue(clock, [&](const hora_queue_options *options, hora_queue **made, hora_error *reason) {
            return hora_queue_new_linked(capacity, options, made, reason);
        });
    }

    /* A queue without capacity: each put waits for a take. `fair` serves waiting threads in their order. */
    static queue synchronous(bool fair = false, const hora_clock *clock = nullptr)
    {
        return queue(clock, [&](hora_queue_options *options, hora_queue **made, hora_error *reason) {
            options->fair = fair;
            return hora_queue_new_synchronous(options, made, reason);
        });
    }

    /* An unbounded queue whose least element is taken first; equal elements are taken in insertion order.
     *
     * less(a, b) tests whether a comes before b. It gets const T &, U * for T = U *, and const U & for T =
     * std::unique_ptr<U>. It runs under the lock of the queue: it must be quick, call nothing of hora, and
     * not throw. It is stored in one allocation and lives as long as the queue. */
    template <typename Less = std::less<>>
    static queue priority(Less less = {}, const hora_clock *clock = nullptr)
    {
        auto owned = std::make_unique<Less>(std::move(less));
        queue made(clock, [&](hora_queue_options *options, hora_queue **ret_queue, hora_error *reason) {
            options->compare = compare<Less>;
            options->arg = owned.get();
            return hora_queue_new_priority(0, options, ret_queue, reason);
        });
        made.less_ = less_ptr(owned.release(), [](void *held) { delete static_cast<Less *>(held); });
        return made;
    }

    /* An unbounded queue whose elements can be taken once they are due; see put_delayed. */
    static queue delay(const hora_clock *clock = nullptr)
    {
        return queue(clock, [](const hora_queue_options *options, hora_queue **made, hora_error *reason) {
            return hora_queue_new_delay(options, made, reason);
        });
    }

    queue(queue &&other) noexcept
        : less_(std::move(other.less_)), queue_(std::exchange(other.queue_, nullptr))
    {
    }

    queue &operator=(queue &&other) noexcept
    {
        std::swap(queue_, other.queue_);
        std::swap(less_, other.less_);
        return *this;
    }

    ~queue()
    {
        if (queue_ == nullptr)
            return;
        hora_queue_close(queue_);
        hora_queue_free(queue_);
    }

    /* The queue of C, borrowed. Its elements are those that detail::element describes. */
    hora_queue *native() const noexcept
    {
        return queue_;
    }

    /* Inserts an element, waiting for room if necessary.
     *
     * Blocks: while the queue is full.   Errors: interrupted_error, closed_error, HORA_EINVAL (a null
     * pointer), std::bad_alloc. */
    void put(T &&item) const
    {
        insert(item, [this](void *packed) { return hora_queue_put(queue_, packed); });
    }

    void put(const T &item) const
    {
        put(T(item));
    }

    /* Inserts an element if this is possible immediately. If not, it returns false and leaves the element
     * with the caller.   Blocks: Never.   Errors: closed_error, HORA_EINVAL, std::bad_alloc. */
    bool offer(T &&item) const
    {
        return insert(item, [this](void *packed) { return hora_queue_offer(queue_, packed); });
    }

    bool offer(const T &item) const
    {
        return offer(T(item));
    }

    /* As offer(), but waits at most for `timeout`.   Errors: also interrupted_error. */
    bool offer_for(T &&item, span timeout) const
    {
        return insert(item, [&](void *packed) { return hora_queue_offer_for(queue_, packed, timeout.ns()); });
    }

    bool offer_for(const T &item, span timeout) const
    {
        return offer_for(T(item), timeout);
    }

    /* Delay queues: inserts an element that is due after `delay`.   Blocks: Never.   Errors: as put(). */
    void put_delayed(T &&item, span delay) const
    {
        insert(item, [&](void *packed) { return hora_queue_put_delayed(queue_, packed, delay.ns()); });
    }

    void put_delayed(const T &item, span delay) const
    {
        put_delayed(T(item), delay);
    }

    /* Removes the first element, waiting for one if necessary.
     *
     * Blocks: while nothing can be taken.   Errors: interrupted_error, closed_error, std::bad_alloc. */
    T take() const
    {
        void *item;
        detail::check(hora_queue_take(queue_, &item));
        return element::unpack(item);
    }

    /* Removes the first element if this is possible immediately.   Blocks: Never.   Errors: closed_error. */
    std::optional<T> poll() const
    {
        void *item;
        return taken(hora_queue_poll(queue_, &item), HORA_EEMPTY, item);
    }

    /* Removes the first element, waiting for one at most for `timeout`.   Errors: as take(). */
    std::optional<T> poll_for(span timeout) const
    {
        void *item;
        return taken(hora_queue_poll_for(queue_, timeout.ns(), &item), HORA_ETIMEDOUT, item);
    }

    /* Removes up to `max` elements at once.   Blocks: Never.   Errors: HORA_EINVAL, std::bad_alloc. */
    std::vector<T> drain(int max) const
    {
        std::vector<T> items;
        const int there = detail::check(hora_queue_size(queue_));
        std::vector<void *> packed(static_cast<std::size_t>(max < there ? (max > 0 ? max : 0) : there) + 1);
        items.reserve(packed.size());
        const int count =
            detail::check(hora_queue_drain(queue_, packed.data(), static_cast<int>(packed.size()) - 1));
        for (int i = 0; i < count; i++)
            items.push_back(element::unpack(packed[static_cast<std::size_t>(i)]));
        return items;
    }

    int size() const
    {
        return detail::check(hora_queue_size(queue_));
    }

    int remaining_capacity() const
    {
        return detail::check(hora_queue_remaining_capacity(queue_));
    }

    /* Removes all elements and destroys them.   Errors: std::bad_alloc (nothing has changed). */
    void clear() const
    {
        detail::check(hora_queue_clear(queue_));
    }

    /* Refuses further elements, and wakes all waiting threads with closed_error. */
    void close() const
    {
        detail::check(hora_queue_close(queue_));
    }

    bool is_closed() const noexcept
    {
        return hora_queue_is_closed(queue_);
    }

    /* A descriptor that polls readable while an element can be taken; it belongs to the queue. */
    int fd() const
    {
        return detail::check(hora_queue_fd(queue_));
    }

  private:
    using less_ptr = std::unique_ptr<void, void (*)(void *)>;

    template <typename New> queue(const hora_clock *clock, New &&create) : less_(nullptr, nullptr)
    {
        hora_queue_options options = HORA_INIT(hora_queue_options);
        hora_error reason;
        options.clock = clock;
        if constexpr (!std::is_pointer_v<T>)
            options.drop = element::drop;
        detail::check(create(&options, &queue_, &reason), reason);
    }

    template <typename Less> static int compare(const void *a, const void *b, void *arg) noexcept
    {
        const Less &less = *static_cast<const Less *>(arg);
        return less(element::view(a), element::view(b))   ? -1
               : less(element::view(b), element::view(a)) ? 1
                                                          : 0;
    }

    /* Inserts an element, or moves it back. */
    template <typename Insert> static bool insert(T &item, Insert &&call)
    {
        void *packed = element::pack(item);
        const int result = call(packed);
        if (result < 0 && packed != nullptr)
            item = element::unpack(packed);
        return result != HORA_EFULL && detail::check_unless(result, HORA_ETIMEDOUT);
    }

    static std::optional<T> taken(int result, int nothing, void *&item)
    {
        if (!detail::check_unless(result, nothing))
            return std::nullopt;
        return element::unpack(item);
    }

    less_ptr less_; // outlives the queue
    hora_queue *queue_ = nullptr;
};

} // namespace hora

#endif
