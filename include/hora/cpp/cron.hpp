/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/cron.hpp - time zones, texts of instants, and cron expressions
 *
 * Zones and expressions are handles that may be copied; each copy holds a reference. They are immutable, and
 * all threads may use the same handle, except to assign to it. No call blocks, unless its comment says so.
 * See hora/zone.h and hora/cron.h. */
#ifndef HORA_CPP_CRON_HPP
#define HORA_CPP_CRON_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hora/cpp/error.hpp>
#include <hora/cpp/time.hpp>
#include <hora/cron.h>
#include <hora/zone.h>

namespace hora {
namespace detail {

/* A handle to an object of C that counts its references. */
template <typename T, T *(*Ref)(T *), T *(*Unref)(T *)> class handle {
  public:
    handle(const handle &other) noexcept : object_(Ref(other.object_))
    {
    }

    handle(handle &&other) noexcept : object_(std::exchange(other.object_, nullptr))
    {
    }

    handle &operator=(handle other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }

    ~handle()
    {
        Unref(object_);
    }

    /* The object of C, borrowed. */
    T *native() const noexcept
    {
        return object_;
    }

  protected:
    handle() noexcept = default;

    explicit handle(T *object) noexcept : object_(object)
    {
    }

    T *object_ = nullptr;
};

} // namespace detail

/* A time zone. */
class zone : public detail::handle<hora_zone, hora_zone_ref, hora_zone_unref> {
  public:
    /* UTC. */
    zone() noexcept = default;

    /* Loads a zone by name: "Europe/Paris", "+05:30", "local" and so on.
     *
     * Blocks: While the file is read.   Errors: those of hora_zone_new, with a reason. */
    explicit zone(const char *name)
    {
        hora_error reason;
        detail::check(hora_zone_new(name, nullptr, &object_, &reason), reason);
    }

    const char *name() const noexcept
    {
        return hora_zone_name(object_);
    }

    bool is_fixed() const noexcept
    {
        return hora_zone_is_fixed(object_);
    }

    /* What clocks in the zone show at an instant. short_name belongs to the zone. */
    hora_local to_local(instant at) const
    {
        hora_local local;
        detail::check(hora_zone_to_local(object_, at, &local));
        return local;
    }

    /* The instants at which a local time occurs.   Errors: HORA_EINVAL, HORA_ERANGE. */
    hora_local_moments to_instant(const hora_local &local) const
    {
        hora_local_moments moments;
        detail::check(hora_zone_to_instant(object_, &local, &moments));
        return moments;
    }

    /* The first change of the offset after an instant. */
    std::optional<hora_transition> next_transition(instant after) const
    {
        hora_transition found;
        if (detail::check(hora_zone_next_transition(object_, after, &found)) == 0)
            return std::nullopt;
        return found;
    }
};

/* Parses an instant in ISO 8601; see hora_instant_parse. `in` is for texts that name no zone.
 *
 * Blocks: While a file is read, if the text names a zone.   Errors: those of hora_instant_parse. */
inline instant parse_instant(const char *text, const zone &in = {})
{
    hora_instant parsed;
    hora_error reason;
    detail::check(hora_instant_parse(text, in.native(), &parsed, nullptr, &reason), reason);
    return parsed;
}

/* Formats an instant, for example as 2026-03-29T01:30:00+01:00[Europe/Paris]. */
inline std::string format_instant(instant at, const zone &in = {}, bool with_name = false)
{
    return detail::text_of([&](char *text, std::size_t size) {
        return hora_instant_format(at, in.native(), with_name, text, size);
    });
}

/* A cron expression. */
class cron : public detail::handle<hora_cron, hora_cron_ref, hora_cron_unref> {
  public:
    /* Errors: HORA_EINVAL; offset() and field() of the exception say where the text is wrong. */
    explicit cron(const char *text, hora_cron_dialect dialect = HORA_CRON_SPRING,
                  hora_dst dst = HORA_DST_LITERAL)
    {
        hora_cron_options options = HORA_INIT(hora_cron_options);
        hora_error reason;
        options.dialect = dialect;
        options.dst = dst;
        detail::check(hora_cron_parse(text, &options, &object_, &reason), reason);
    }

    /* The first matching time after an instant; nothing if there is none. */
    std::optional<instant> next(instant after, const zone &in = {}) const
    {
        hora_instant found;
        if (detail::check(hora_cron_next(object_, in.native(), after, &found)) == 0)
            return std::nullopt;
        return found;
    }

    /* The last matching time before an instant; nothing if there is none. */
    std::optional<instant> previous(instant before, const zone &in = {}) const
    {
        hora_instant found;
        if (detail::check(hora_cron_previous(object_, in.native(), before, &found)) == 0)
            return std::nullopt;
        return found;
    }

    /* The first `count` matching times after an instant, or all if there are fewer. */
    std::vector<instant> next_n(instant after, int count, const zone &in = {}) const
    {
        if (count < 0)
            detail::throw_code(HORA_EINVAL);
        std::vector<hora_instant> found(static_cast<std::size_t>(count) + 1);
        const int there = detail::check(hora_cron_next_n(object_, in.native(), after, found.data(), count));
        return std::vector<instant>(found.begin(), found.begin() + there);
    }

    bool matches(instant at, const zone &in = {}) const noexcept
    {
        return hora_cron_matches(object_, in.native(), at);
    }

    /* The normal form; equal expressions have the same. */
    std::string format() const
    {
        return detail::text_of(
            [this](char *text, std::size_t size) { return hora_cron_format(object_, text, size); });
    }

    /* A description in words that names the zone. */
    std::string describe(const zone &in) const
    {
        return detail::text_of([&](char *text, std::size_t size) {
            return hora_cron_describe(object_, in.native(), text, size);
        });
    }

    /* A description in words without a zone. */
    std::string describe() const
    {
        return detail::text_of([this](char *text, std::size_t size) {
            return hora_cron_describe(object_, nullptr, text, size);
        });
    }

    friend bool operator==(const cron &a, const cron &b) noexcept
    {
        return hora_cron_equal(a.object_, b.object_);
    }

    friend bool operator!=(const cron &a, const cron &b) noexcept
    {
        return !hora_cron_equal(a.object_, b.object_);
    }
};

} // namespace hora

#endif
