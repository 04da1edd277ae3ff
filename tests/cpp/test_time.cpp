/* SPDX-License-Identifier: Apache-2.0 */
/* test_time.cpp - std::chrono, zones, cron expressions and triggers of the C++ interface */
#include <cstdint>
#include <hora/hora.hpp>
#include <limits>
#include <ratio>
#include <string>

#include "check.hpp"

using check::tracked;
using namespace std::chrono_literals;

namespace {

void spans_saturate()
{
    using std::chrono::duration;
    CHECK(hora::span(5ms).ns() == 5000000 && hora::span(-5ns).ns() == -5 && hora::span().ns() == 0);
    CHECK(hora::span(std::chrono::hours::max()).ns() == INT64_MAX);
    CHECK(hora::span(std::chrono::hours::min()).ns() == INT64_MIN);
    CHECK(hora::span(std::chrono::nanoseconds::max()).ns() == HORA_FOREVER);
    CHECK(hora::span(std::chrono::nanoseconds::min()).ns() == INT64_MIN);
    CHECK(hora::span(duration<double>(0.5)).ns() == 500000000);
    CHECK(hora::span(duration<double>(1e300)).ns() == INT64_MAX);
    CHECK(hora::span(duration<float>(-1e30f)).ns() == INT64_MIN);
    CHECK(hora::span(duration<double>(std::numeric_limits<double>::quiet_NaN())).ns() == 0);
    CHECK(hora::span(duration<int64_t, std::pico>(2999)).ns() == 2);
    CHECK(hora::span(duration<uint64_t, std::pico>(UINT64_MAX)).ns() ==
          static_cast<int64_t>(UINT64_MAX / 1000));
    CHECK(hora::span(duration<uint64_t>(UINT64_MAX)).ns() == INT64_MAX);
    CHECK(hora::span(duration<uint64_t, std::nano>(UINT64_MAX)).ns() == INT64_MAX);
    CHECK(hora::span(duration<unsigned char>(255)).ns() == 255000000000);
    CHECK(std::chrono::nanoseconds(hora::span(7us)) == 7us);
    CHECK(hora::parse_duration("1h30m") == 90min && hora::parse_duration("3", 1s) == 3s);
    CHECK(hora::format_duration(90min) == "PT1H30M");
    CHECK(check::throws<hora::error>([] { static_cast<void>(hora::parse_duration("1x")); },
                                     [](const hora::error &e) { return e.offset() == 1; }));
}

void instants_are_time_points()
{
    const auto now = std::chrono::system_clock::now();
    const hora::instant instant = now;
    CHECK(std::chrono::time_point_cast<std::chrono::system_clock::duration>(
              hora::instant::time_point(instant)) == now);
    using years = std::chrono::duration<int64_t, std::ratio<31556952>>;
    const std::chrono::time_point<std::chrono::system_clock, years> far(years(5000));
    CHECK(hora::instant(far).ns() == INT64_MAX);
    CHECK(hora::format_instant(hora::instant()) == "1970-01-01T00:00:00Z");
    const hora::zone paris("Europe/Paris");
    const hora::instant summer = hora::parse_instant("2026-07-01T12:00:00", paris);
    CHECK(hora::format_instant(summer, paris, true) == "2026-07-01T12:00:00+02:00[Europe/Paris]");
    CHECK(hora::instant() < summer && hora::instant() != summer && summer == summer);
    CHECK_CODE(HORA_EINVAL, static_cast<void>(hora::parse_instant("noon")));
}

void zones()
{
    const hora::zone paris("Europe/Paris");
    hora::zone copy = paris;
    copy = hora::zone("+05:30");
    CHECK(std::string(paris.name()) == "Europe/Paris" && std::string(copy.name()) == "+05:30");
    CHECK(copy.is_fixed() && !paris.is_fixed() && std::string(hora::zone().name()) == "UTC");
    const auto change = paris.next_transition(hora::parse_instant("2026-01-01T00:00:00Z"));
    CHECK(change && hora::format_instant(change->at) == "2026-03-29T01:00:00Z");
    CHECK(!hora::zone().next_transition({}));
    const hora_local local = paris.to_local(change->at);
    CHECK(local.hour == 3 && local.is_dst);
    CHECK(paris.to_instant(local).first.ns == change->at.ns);
    CHECK_CODE(HORA_ENOENT, hora::zone("Europe/Nowhere"));
}

void expressions()
{
    const hora::cron cron("0 0 3 * * *");
    const hora::zone paris("Europe/Paris");
    const hora::instant start = hora::parse_instant("2026-01-01T12:00:00Z");
    CHECK(hora::format_instant(*cron.next(start)) == "2026-01-02T03:00:00Z");
    CHECK(hora::format_instant(*cron.next(start, paris)) == "2026-01-02T02:00:00Z");
    CHECK(hora::format_instant(*cron.previous(start)) == "2026-01-01T03:00:00Z");
    CHECK(cron.next_n(start, 3).size() == 3 && cron.next_n(start, 0).empty());
    CHECK(cron.matches(*cron.next(start)) && !cron.matches(start));
    CHECK(cron == hora::cron("0 0 3 ? * *") && cron != hora::cron("@daily"));
    CHECK(cron.format() == "0 0 3 * * *");
    CHECK(cron.describe().find("03:00") != std::string::npos);
    CHECK(cron.describe(paris).find("Europe/Paris") != std::string::npos);
    CHECK(!hora::cron("@reboot", HORA_CRON_UNIX).next(start));
    CHECK_CODE(HORA_EINVAL, static_cast<void>(cron.next_n(start, -1)));
    CHECK(check::throws<hora::error>([] { hora::cron("0 0 99 * * *"); },
                                     [](const hora::error &e) {
                                         return std::string(e.field()) == "hour" && e.offset() == 4 &&
                                                e.length() == 2;
                                     }));
}

void triggers()
{
    {
        const hora::instant start = hora::parse_instant("2026-01-01T12:00:00Z"); // a Thursday
        const auto daily = hora::trigger::cron(hora::cron("0 0 3 * * *"));
        const auto noon = hora::trigger::cron(hora::cron("0 0 12 * * *"));
        CHECK(hora::format_instant(*daily.first(start)) == "2026-01-02T03:00:00Z");
        CHECK(*hora::trigger::first_of({daily, noon}).first(start) == *daily.first(start));
        CHECK(!hora::trigger::all_of({daily, hora::trigger::instants({start})}).first(start));
        hora::calendar_options closed;
        closed.weekdays = 1U << 5; // Friday
        const hora::calendar calendar(closed);
        CHECK(hora::format_instant(*daily.excluding(calendar).first(start)) == "2026-01-03T03:00:00Z");
        CHECK(calendar.excludes(*daily.first(start)) && !calendar.excludes(start));
        CHECK(hora::trigger::fixed_rate(5s, 1s).first(start)->ns() == start.ns() + 1000000000);
        CHECK(!hora::trigger::fixed_delay(5s).is_wall() && daily.is_wall() && !daily.refresh());
        CHECK(hora::trigger::fixed_delay(5s).describe().find("5 s") != std::string::npos);
        const auto own = hora::trigger::function(
            [held = tracked()](const hora_trigger_context &context) noexcept { return context.now + 1; });
        CHECK(own.first(start)->ns() == start.ns() + 1 && tracked::alive == 1);
        CHECK_CODE(HORA_EINVAL, hora::trigger::fixed_rate(-1s));
    }
    CHECK(tracked::alive == 0);
}

} // namespace

int main()
{
    RUN(spans_saturate);
    RUN(instants_are_time_points);
    RUN(zones);
    RUN(expressions);
    RUN(triggers);
    return check::failed == 0 ? 0 : 1;
}
