/* SPDX-License-Identifier: Apache-2.0 */
/* hora/base.h - what every other header of hora needs: linkage, attributes, the one time type
 *
 * Words used in all headers, always with the same meaning:
 *
 *   Ownership:  who must free what, and when that duty passes on.
 *   Threads:    "Any thread" - may be called by any number of threads on the same object at once.
 *               "Owner" - no other thread may be inside a call on this object.
 *   Blocks:     "Never", or on what the call may sleep. Internal locks held for a few instructions do not
 *   count.
 *   Errors:     every code that the call can return, or "None".
 *
 * Outputs are named ret_... and are written only when the call succeeds.
 *
 * Structs that may grow begin with struct_size. It lets the library be older or newer than the program.
 * Start such a struct with HORA_INIT(type), or write it with the macro that belongs to it.
 *
 *   Input    All zero, and NULL instead of a pointer, mean the defaults. If a newer program sets a field
 *   that an
 *            older library does not know, the call returns HORA_EINVAL.
 *   Output   The library fills as much as both know, and sets the rest of the caller's struct to zero. It
 *   leaves
 *            struct_size alone.
 *
 * A struct_size below that of the first release, above 4096 or not a multiple of 4 is refused with
 * HORA_EINVAL: so a forgotten HORA_INIT shows.
 *
 * Structs without struct_size are frozen: they will never change. These are hora_instant, hora_task,
 * hora_error, hora_executor, hora_date, hora_calendar_window, hora_local, hora_local_moments,
 * hora_transition, hora_future_list, hora_timer and hora_future_storage.
 *
 * Callbacks come with `arg`, which hora hands to them, and with `drop` where hora keeps arg beyond the
 * call. If the call fails the caller keeps arg; else hora calls drop(arg) exactly once. drop may be NULL.
 */
#ifndef HORA_BASE_H
#define HORA_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
#define HORA_BEGIN_DECLS extern "C" {
#define HORA_END_DECLS   }
#else
#define HORA_BEGIN_DECLS
#define HORA_END_DECLS
#endif

#if defined(HORA_WHOLE) && !defined(__clang__) /* hora itself is being built; see src/whole.cmake */
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

/* A span of time, or a reading of a clock, in nanoseconds.
 *
 * Timeouts are relative. Zero and every negative value, INT64_MIN included, mean "already over":
 * the call tries once and does not wait. HORA_FOREVER never passes. Sums saturate, they never wrap. */
typedef int64_t hora_ns;

#define HORA_FOREVER INT64_MAX

/* HORA_INIT(type): the first value of a struct whose first field is struct_size; everything else is zero.
 *
 *     hora_pool_stats stats = HORA_INIT(hora_pool_stats);
 *     hora_worker_info workers[64] = {HORA_INIT(hora_worker_info)};      the first element gives the stride */
#if !defined(__cplusplus) /* for C++ see the end of this file */
#define HORA_INIT(type) {.struct_size = (uint32_t)sizeof(type)}
#endif

/* A struct written where it is used, as a pointer argument of a call: what HORA_POOL_OPTIONS(.core_threads
 * = 4) and its like are made of. In C it lives until the end of the enclosing block: do not keep one that
 * stands in the branch of an if. In C++ this takes C++20, and the fields in their order; there it lives
 * until the call returns, and no longer. */
#if !defined(__cplusplus)
#define HORA__VALUE(type, ...)   {.struct_size = (uint32_t)sizeof(type), __VA_ARGS__}
#define HORA__LITERAL(type, ...) (&(type)HORA__VALUE(type, __VA_ARGS__))
#endif

/* Spans of time. The number may have a fraction: HORA_SECONDS(0.5). */
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

/* A moment of the calendar: nanoseconds since 1970-01-01T00:00:00Z. A type of its own, so that a
 * moment and a span cannot be mixed up by accident. */
typedef struct hora_instant {
    int64_t ns;
} hora_instant;

/* A text comes out in pieces, in order: `length` bytes, without a final NUL. 0, or an error, which ends
 * it. */
typedef int (*hora_write_fn)(const char *text, size_t length, void *arg);

HORA_END_DECLS

#if defined(__cplusplus)
/* From here on it counts as a system header. Else g++ would warn, with -Wextra and where a macro is used,
 * of each field that is left out: they are meant to be left out. */
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
