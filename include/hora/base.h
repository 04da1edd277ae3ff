/* SPDX-License-Identifier: Apache-2.0 */
/* hora/base.h - what every other header of hora needs: linkage, attributes, the one time type
 *
 * Words used in all headers, always with the same meaning:
 *
 *   Ownership:  who must free what, and when that duty passes on.
 *   Threads:    "Any thread" - may be called by any number of threads on the same object at once.
 *               "Owner" - no other thread may be inside a call on this object.
 *   Blocks:     "Never", or on what the call may sleep. Internal locks held for a few instructions do not count.
 *   Errors:     every code that the call can return, or "None".
 *
 * Outputs are named ret_... and are written only when the call succeeds.
 *
 * Options are structs of which all zero, and NULL instead of a pointer, mean the defaults. Their first field, struct_size, is set
 * by the macro that belongs to them: so a library may be older or newer than the program. What a newer program says and an
 * older library does not know is refused with HORA_EINVAL, unless it is zero.
 */
#ifndef HORA_BASE_H
#define HORA_BASE_H

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
#if defined(__cplusplus)
#define HORA_INIT(type) hora__init<type>()
#else
#define HORA_INIT(type) {.struct_size = (uint32_t)sizeof(type)}
#endif

#define HORA_US(n)      ((hora_ns)(n) * INT64_C(1000))
#define HORA_MS(n)      ((hora_ns)(n) * INT64_C(1000000))
#define HORA_SECONDS(n) ((hora_ns)(n) * INT64_C(1000000000))
#define HORA_MINUTES(n) ((hora_ns)(n) * INT64_C(60000000000))
#define HORA_HOURS(n)   ((hora_ns)(n) * INT64_C(3600000000000))

/* A moment of the calendar: nanoseconds since 1970-01-01T00:00:00Z. A type of its own, so that a
 * moment and a span cannot be mixed up by accident. */
typedef struct hora_instant {
    int64_t ns;
} hora_instant;

HORA_END_DECLS

#if defined(__cplusplus)
extern "C++" {
template <typename Type> inline Type hora__init() noexcept
{
    Type value = Type();
    value.struct_size = (uint32_t)sizeof(Type);
    return value;
}
}
#endif

#endif
