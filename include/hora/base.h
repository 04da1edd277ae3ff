/* SPDX-License-Identifier: Apache-2.0 */
/* hora/base.h - the conventions of all headers: labels, structs, callbacks, linkage and the time types
 *
 * Every function comment uses these labels, always with the same meaning:
 *
 *   Ownership:  who must free what, and when that responsibility moves. "not transferred" means that the
 *               call does not change who owns any of its arguments.
 *   Threads:    "Any thread": any number of threads may call it on the same object at once.
 *               "Owner": no other thread may be inside a call on this object.
 *   Blocks:     "Never", or what the call may sleep on. Internal locks that are held for a few instructions
 *               do not count.
 *   Errors:     every code that the call can return, or "None". The next list explains the codes that mean
 *               the same in every call.
 *
 * Errors that mean the same everywhere:
 *
 *   HORA_EINVAL   Without further explanation: a required pointer is NULL, a value is not one of its enum,
 *                 or a struct_size is wrong.
 *   HORA_EFORKED  The object was created before a fork, and this process is the child. The child must not
 *                 use objects of the parent; it creates its own.
 *   HORA_EDEADLK  The call was made inside a callback that runs while hora holds a lock: compare, remaining
 *                 and ref of a queue. Calls on latches, queues, futures, timers, pools, schedulers, groups,
 *                 completion services and registrars return it there, even if their comments do not list it.
 *   HORA_ENOMEM, HORA_EAGAIN
 *                 From a call that blocks, also: the thread makes its first blocking call, and there is no
 *                 memory or no thread-specific storage for the record that hora keeps of it. A thread that
 *                 has called hora_thread_self successfully never gets an error for this reason.
 *
 * Output parameters are named ret_... and are written only if the call succeeds. reterr_... is written only
 * if the call fails.
 *
 * Structs that may grow start with struct_size, which allows the library to be older or newer than the
 * program. Initialize such a struct with HORA_INIT(type), or write it with its own macro.
 *
 *   Input    All zero means the defaults, and so does NULL instead of a pointer, unless the call requires a
 *            field. If a newer program sets a field that an older library does not know, the call returns
 *            HORA_EINVAL.
 *   Output   The library fills in the fields that both sides know and sets the rest of the caller's struct
 *            to zero. It does not change struct_size.
 *
 * A struct_size that is smaller than in the first release, larger than 4096 or not a multiple of 4 is refused
 * with HORA_EINVAL, so that a forgotten HORA_INIT is noticed.
 *
 * HORA_POOL_OPTIONS(.core_threads = 4) and its siblings are struct literals that are passed by pointer in a
 * call. In C a literal lives until the end of the enclosing block, so do not keep a pointer to one that was
 * written in the branch of an if. In C++ it requires C++20 and designators in field order, and it lives only
 * until the call returns.
 *
 * Structs without struct_size are frozen: they will never change. These are hora_instant, hora_task,
 * hora_error, hora_executor, hora_date, hora_calendar_window, hora_local, hora_local_moments,
 * hora_transition, hora_future_list, hora_timer, hora_future_storage and hora_scheduled_functions.
 * hora_scheduled_function grows only with the hora_declaration at its end.
 *
 * Callbacks come with an `arg` that hora passes to them, and with a `drop` where hora keeps arg beyond the
 * call. If the call fails, the caller keeps arg. Otherwise hora calls drop(arg) exactly once. drop may be
 * NULL. */
#ifndef HORA_BASE_H
#define HORA_BASE_H

#include <stddef.h>
#include <stdint.h>

/* HORA_BEGIN_DECLS and HORA_END_DECLS enclose the declarations of each header: in C++ they have C linkage. */
#if defined(__cplusplus)
#define HORA_BEGIN_DECLS extern "C" {
#define HORA_END_DECLS   }
#else
#define HORA_BEGIN_DECLS
#define HORA_END_DECLS
#endif

/* HORA_API marks a function that the library exports. HORA_NODISCARD makes the compiler warn if a caller
 * ignores the result of a call. */
#if defined(HORA_WHOLE) && !defined(__clang__) /* only while hora itself is built; see src/whole.cmake */
#define HORA_API       __attribute__((visibility("default"), externally_visible))
#define HORA_NODISCARD __attribute__((warn_unused_result))
#elif defined(__GNUC__)
#define HORA_API       __attribute__((visibility("default")))
#define HORA_NODISCARD __attribute__((warn_unused_result))
#else
#define HORA_API
#define HORA_NODISCARD
#endif

HORA_BEGIN_DECLS

/* A span of time or a clock reading, in nanoseconds.
 *
 * Timeouts are relative. Zero and all negative values, including INT64_MIN, mean "already expired": the call
 * tries once and does not wait. HORA_FOREVER never expires. Sums saturate; they never wrap. */
typedef int64_t hora_ns;

/* As a timeout: wait without a limit. As a time: it never comes. */
#define HORA_FOREVER INT64_MAX

/* HORA_INIT(type): initializer for a struct whose first field is struct_size. All other fields are zero.
 *
 *     hora_pool_stats stats = HORA_INIT(hora_pool_stats);
 *     hora_worker_info workers[64] = {HORA_INIT(hora_worker_info)};    // the first one gives the stride
 */
#if !defined(__cplusplus) /* for C++ see the end of this file */
#define HORA_INIT(type) {.struct_size = (uint32_t)sizeof(type)}
#endif

/* The struct literal that HORA_POOL_OPTIONS and its siblings expand to; see above. */
#if !defined(__cplusplus)
#define HORA__VALUE(type, ...)   {.struct_size = (uint32_t)sizeof(type), __VA_ARGS__}
#define HORA__LITERAL(type, ...) (&(type)HORA__VALUE(type, __VA_ARGS__))
#endif

/* Spans of time. The number may be fractional: HORA_SECONDS(0.5). */
#define HORA_US(n)      HORA__NS((n) * INT64_C(1000))
#define HORA_MS(n)      HORA__NS((n) * INT64_C(1000000))
#define HORA_SECONDS(n) HORA__NS((n) * INT64_C(1000000000))
#define HORA_MINUTES(n) HORA__NS((n) * INT64_C(60000000000))
#define HORA_HOURS(n)   HORA__NS((n) * INT64_C(3600000000000))

#if defined(__cplusplus)
#define HORA__NS(n) (static_cast<hora_ns>(n))
#else
#define HORA__NS(n) ((hora_ns)(n))
#endif

/* A point in calendar time: nanoseconds since 1970-01-01T00:00:00Z. It is a separate type so that an instant
 * and a span cannot be confused. */
typedef struct hora_instant {
    /* nanoseconds since the epoch, without leap seconds; negative before 1970. The range is 1677 to 2262 */
    int64_t ns;
} hora_instant;

/* Receives a text in consecutive pieces of `length` bytes, without a terminating NUL. `arg` is the argument
 * that the caller passed together with the function. Returns 0, or an error, which stops the output and which
 * the writing call returns. */
typedef int (*hora_write_fn)(const char *text, size_t length, void *arg);

HORA_END_DECLS

#if defined(__cplusplus)
/* The rest of this file counts as a system header. Otherwise g++ -Wextra would warn, wherever one of the
 * macros is used, about every field that is left out. Leaving fields out is intended. */
#if defined(__GNUC__)
#pragma GCC system_header
#endif

#define HORA_INIT(type) hora__init<type>()
#define HORA__VALUE(type, ...)                                          \
    type                                                                \
    {                                                                   \
        .struct_size = static_cast<uint32_t>(sizeof(type)), __VA_ARGS__ \
    }
#define HORA__LITERAL(type, ...) (hora__literal<type>{HORA__VALUE(type, __VA_ARGS__)})

extern "C++" {
template <typename Type> inline Type hora__init() noexcept
{
    Type value = Type();
    value.struct_size = static_cast<uint32_t>(sizeof(Type));
    return value;
}

template <typename Type> struct hora__literal {
    Type value;
    operator const Type *() const noexcept
    {
        return &value;
    }
};
}
#endif

#endif
