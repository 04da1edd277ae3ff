/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/time.hpp - std::chrono for the times of hora, and texts
 *
 * Spans and instants convert from every std::chrono type. A value that nanoseconds in 64 bits cannot hold
 * becomes the largest or the smallest one that they can: std::chrono::hours::max() means HORA_FOREVER. */
#ifndef HORA_CPP_TIME_HPP
#define HORA_CPP_TIME_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ratio>
#include <string>
#include <type_traits>

#include <hora/clock.h>
#include <hora/cpp/error.hpp>

namespace hora {
namespace detail {

/* Converts to nanoseconds and saturates. A fraction of a nanosecond is cut off, and NaN counts as 0. */
template <typename Rep, typename Period>
constexpr hora_ns to_ns(const std::chrono::duration<Rep, Period> &given) noexcept
{
    using scale = std::ratio_divide<Period, std::nano>;
    if constexpr (std::is_floating_point_v<Rep>) {
        using wide = std::common_type_t<Rep, double>;
        const wide ns =
            static_cast<wide>(given.count()) * static_cast<wide>(scale::num) / static_cast<wide>(scale::den);
        return ns >= static_cast<wide>(INT64_MAX)   ? INT64_MAX
               : ns <= static_cast<wide>(INT64_MIN) ? INT64_MIN
               : ns != ns                           ? 0
                                                    : static_cast<hora_ns>(ns);
    } else {
        static_assert(std::is_integral_v<Rep> && sizeof(Rep) <= sizeof(int64_t),
                      "the representation of a duration is an integer or a floating-point number");
        if constexpr (!std::is_signed_v<Rep> && sizeof(Rep) == sizeof(uint64_t)) {
            if (given.count() > static_cast<uint64_t>(INT64_MAX)) {
                const auto whole = given.count() / static_cast<uint64_t>(scale::den);
                return whole > static_cast<uint64_t>(INT64_MAX / scale::num)
                           ? INT64_MAX
                           : static_cast<hora_ns>(whole) * scale::num;
            }
        }
        const auto count = static_cast<int64_t>(given.count());
        if (count > INT64_MAX / scale::num)
            return INT64_MAX;
        if (count < INT64_MIN / scale::num)
            return INT64_MIN;
        return count * scale::num / scale::den;
    }
}

/* Returns the text that a call in the manner of snprintf writes: write(buffer, size) returns the complete
 * length. The text may grow between two calls. */
template <typename Write> std::string text_of(Write &&write)
{
    std::string text(127, '\0');
    for (;;) {
        const auto length = static_cast<std::size_t>(check(write(&text[0], text.size() + 1)));
        const bool fits = length <= text.size();
        text.resize(length);
        if (fits)
            return text;
    }
}

/* A hora_write_fn that appends to a std::string. */
inline int append_to_string(const char *text, std::size_t length, void *string) noexcept
{
    try {
        static_cast<std::string *>(string)->append(text, length);
        return 0;
    } catch (...) {
        return HORA_ENOMEM;
    }
}

} // namespace detail

/* A span of time: what calls of hora take as a timeout, delay or period. */
class span {
  public:
    constexpr span() noexcept = default;

    template <typename Rep, typename Period>
    constexpr span(const std::chrono::duration<Rep, Period> &given) noexcept : ns_(detail::to_ns(given))
    {
    }

    /* From nanoseconds as the C interface has them. */
    static constexpr span from_ns(hora_ns ns) noexcept
    {
        span made;
        made.ns_ = ns;
        return made;
    }

    constexpr hora_ns ns() const noexcept
    {
        return ns_;
    }

    constexpr operator std::chrono::nanoseconds() const noexcept
    {
        return std::chrono::nanoseconds(ns_);
    }

  private:
    hora_ns ns_ = 0;
};

/* As a timeout: wait without a limit. */
inline constexpr span forever = span::from_ns(HORA_FOREVER);

/* A point in calendar time, from 1677 to 2262. It converts from and to std::chrono::system_clock. */
class instant {
  public:
    using time_point = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

    constexpr instant() noexcept = default;

    template <typename Duration>
    constexpr instant(const std::chrono::time_point<std::chrono::system_clock, Duration> &time) noexcept
        : ns_(detail::to_ns(time.time_since_epoch()))
    {
    }

    constexpr instant(hora_instant given) noexcept : ns_(given.ns)
    {
    }

    /* nanoseconds since 1970-01-01T00:00:00Z */
    constexpr int64_t ns() const noexcept
    {
        return ns_;
    }

    constexpr operator hora_instant() const noexcept
    {
        return hora_instant{ns_};
    }

    constexpr operator time_point() const noexcept
    {
        return time_point(std::chrono::nanoseconds(ns_));
    }

    friend constexpr bool operator==(instant a, instant b) noexcept
    {
        return a.ns_ == b.ns_;
    }

    friend constexpr bool operator!=(instant a, instant b) noexcept
    {
        return a.ns_ != b.ns_;
    }

    friend constexpr bool operator<(instant a, instant b) noexcept
    {
        return a.ns_ < b.ns_;
    }

  private:
    int64_t ns_ = 0;
};

/* Parses a duration as hora_duration_parse does: "10s", "1h30m", "PT1.5S". A plain number counts units.
 *
 * Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_ERANGE. */
inline std::chrono::nanoseconds parse_duration(const char *text, span unit = std::chrono::milliseconds(1))
{
    hora_ns duration;
    hora_error reason;
    detail::check(hora_duration_parse(text, unit.ns(), &duration, &reason), reason);
    return std::chrono::nanoseconds(duration);
}

/* Formats a duration in ISO 8601, such as PT26H3M4.5S.   Threads: Any thread.   Blocks: Never. */
inline std::string format_duration(span duration)
{
    return detail::text_of(
        [&](char *text, std::size_t size) { return hora_duration_format(duration.ns(), text, size); });
}

} // namespace hora

#endif
