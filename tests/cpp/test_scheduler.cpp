/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler.cpp - schedulers, schedules, timers and virtual clocks of the C++ interface */
#include <atomic>
#include <hora/hora.hpp>
#include <stdexcept>
#include <string>

#include "check.hpp"

using check::tracked;
using namespace std::chrono_literals;

namespace {

hora::scheduler_options on(const hora::virtual_clock &clock)
{
    hora::scheduler_options options;
    options.core_threads = 2;
    options.clock = clock.view();
    options.cancel_delayed = true;
    return options;
}

void delayed_tasks()
{
    hora::virtual_clock clock;
    hora::scheduler scheduler(on(clock));
    auto future = scheduler.schedule([] { return 1; }, 10s);
    auto thrown = scheduler.schedule([]() -> int { throw std::runtime_error("late"); }, 10s);
    std::atomic<int> detached{0};
    scheduler.execute_after([&detached] { detached++; }, 10s);
    CHECK(future.delay() == 10s && !future.is_periodic());
    clock.run(10s - 1ns);
    CHECK(!future.is_done() && detached == 0);
    clock.run(1ns);
    CHECK(future.get() == 1 && detached == 1);
    CHECK_THROWS(std::runtime_error, static_cast<void>(thrown.get()));
    CHECK(scheduler.submit([] { return 2; }).get() == 2); // it is a pool
}

void series()
{
    {
        hora::virtual_clock clock;
        hora::scheduler scheduler(on(clock));
        std::atomic<int> rate{0};
        std::atomic<int> delay{0};
        auto first =
            scheduler.schedule_at_fixed_rate([&rate, held = tracked()] { return tracked(++rate); }, 1s, 2s);
        auto second = scheduler.schedule_with_fixed_delay(
            [&delay] {
                if (++delay == 3)
                    throw std::out_of_range("third");
            },
            0s, 1s);
        clock.run(10s);
        CHECK(rate == 5 && delay == 3);
        CHECK_THROWS(std::out_of_range, second.get());
        CHECK(first.schedule_info().runs == 5 && first.is_periodic());
        CHECK(first.pause() && !first.pause() && first.resume());
        first.reschedule(1h, 1h);
        CHECK(first.delay() == 1h);
        CHECK_CODE(HORA_EBUSY, second.reschedule(1s));
        CHECK(first.cancel() == HORA_CANCEL_REMOVED);
        CHECK_THROWS(hora::cancelled_error, static_cast<void>(first.get()));
    }
    CHECK(tracked::alive == 0);
}

void schedules()
{
    hora::virtual_clock clock(hora::parse_instant("2026-01-01T02:59:00Z"));
    hora::scheduler scheduler(on(clock));
    hora::schedule counted;
    counted.fixed_rate = 1s;
    counted.count = 3;
    int runs = 0;
    auto last = scheduler.schedule([&runs] { return std::to_string(++runs); }, counted, "counted");
    hora::schedule nightly;
    nightly.cron = "0 0 3 * * *";
    nightly.zone = "UTC";
    std::atomic<int> nights{0};
    scheduler.schedule([&nights] { nights++; }, nightly);
    hora::schedule triggered;
    {
        const auto trigger = hora::trigger::fixed_rate(1min);
        triggered.trigger = trigger.native();
        scheduler.schedule([&nights] { nights += 100; }, triggered);
    }
    clock.run(1min);
    CHECK(last.get() == "3" && runs == 3);
    CHECK(nights == 201);

    hora::schedule wrong;
    wrong.fixed_rate = 1s;
    wrong.fixed_delay = 1s;
    CHECK_CODE(HORA_EINVAL, wrong.check());
    CHECK_CODE(HORA_EINVAL, scheduler.schedule([held = tracked()] {}, wrong));
    hora::schedule limited;
    limited.options = hora::task_options();
    limited.options->run_limit = 1s;
    CHECK_CODE(HORA_ENOTSUP, scheduler.schedule([held = tracked()] {}, limited));
    CHECK(tracked::alive == 0);
    counted.check();
    CHECK(!scheduler.refresh_zones());
}

void a_failed_task_is_retried()
{
    hora::virtual_clock clock;
    hora::scheduler scheduler(on(clock));
    hora::schedule retry;
    retry.failure = HORA_FAILURE_BACK_OFF;
    retry.back_off = 1s;
    int tries = 0;
    auto future = scheduler.schedule(
        [&tries] {
            if (++tries < 3)
                throw std::runtime_error("not yet");
            return tries;
        },
        retry);
    clock.run(1min);
    CHECK(future.get() == 3);
}

void overlapping_runs_store_their_outcomes()
{
    {
        hora::virtual_clock clock;
        hora::scheduler_options options = on(clock);
        options.core_threads = 4;
        hora::scheduler scheduler(options);
        hora::schedule overlapping;
        overlapping.fixed_rate = 1s;
        overlapping.overlap = HORA_OVERLAP_ALLOW;
        overlapping.overlap_max = 4;
        overlapping.count = 40;
        std::atomic<int> runs{0};
        const hora_clock *view = clock.view();
        auto future = scheduler.schedule(
            [&runs, view] {
                hora::sleep_for(3s, view);
                if (++runs % 2 == 0)
                    throw std::runtime_error("even");
                return tracked(runs);
            },
            overlapping);
        clock.run(2min);
        CHECK(future.is_done() && runs == 40);
        try {
            CHECK(future.get().value > 0);
        } catch (const std::runtime_error &) {
            CHECK(future.failure() == HORA_EFAILED);
        }
    }
    CHECK(tracked::alive == 0);
}

void schedulers_end()
{
    CHECK(hora::scheduler::single().schedule([] { return 1; }, 0s).get() == 1);
    CHECK_CODE(HORA_ENOTSUP, hora::scheduler::single().set_cancel_delayed(true));
    hora::scheduler scheduler;
    auto delayed = scheduler.schedule([held = tracked()] { return 1; }, 1h);
    auto repeated = scheduler.schedule_at_fixed_rate([held = tracked()] {}, 1h, 1h);
    scheduler.set_keep_cancelled(false);
    scheduler.set_continue_periodic(false);
    scheduler.shutdown();
    CHECK(repeated.is_cancelled() && !delayed.is_done());
    CHECK(!scheduler.close_for(0s));
    CHECK_CODE(HORA_EABANDONED, static_cast<void>(delayed.get()));
    CHECK_THROWS(hora::rejected_error, scheduler.schedule([held = tracked()] {}, 1h));
    CHECK(tracked::alive == 0);
}

void timers()
{
    hora::virtual_clock clock;
    hora::scheduler scheduler(on(clock));
    std::atomic<int> fired{0};
    std::atomic<int> reported{0};
    hora::exception_handler handler;
    handler.arg = &reported;
    handler.function = [](const hora::failed_run &, void *arg) noexcept {
        (*static_cast<std::atomic<int> *>(arg))++;
    };
    hora::timer timer([&fired] { fired++; });
    auto throwing = [] { throw std::runtime_error("timer"); };
    hora::timer<decltype(throwing)> failing(throwing, handler);
    CHECK(!timer.start(scheduler, 1s) && timer.start(scheduler, 2s) && timer.is_pending());
    failing.start(scheduler, 1s);
    clock.run(1s);
    CHECK(fired == 0 && reported == 1);
    clock.run(1s);
    CHECK(fired == 1 && !timer.is_pending());
    CHECK(timer.cancel() == HORA_CANCEL_TOO_LATE);
    timer.start(scheduler, 1s);
    CHECK(timer.stop() == HORA_CANCEL_REMOVED);
    timer.start(scheduler, 1s); // stopped by its destructor
    CHECK(scheduler.stats().failed == 1);
}

void clocks()
{
    hora::virtual_clock clock({}, 5s);
    CHECK(hora_clock_now(clock.view()) == 5000000000);
    CHECK(!clock.advance_to_next());
    clock.step_wall(-1s);
    clock.suspend(2s);
    CHECK(hora_clock_now(clock.view(HORA_CLOCK_WALL)) == 1000000000);
    CHECK(hora_clock_now(clock.view(HORA_CLOCK_BOOTTIME)) == 7000000000);
    clock.expect(1);
    clock.attach();
    clock.detach();
    clock.settle();
    clock.set_lateness(1s);
    CHECK_CODE(HORA_EINVAL, clock.advance(-1s));
    CHECK_CODE(HORA_EINVAL, clock.detach());
}

} // namespace

int main()
{
    RUN(delayed_tasks);
    RUN(series);
    RUN(schedules);
    RUN(a_failed_task_is_retried);
    RUN(overlapping_runs_store_their_outcomes);
    RUN(schedulers_end);
    RUN(timers);
    RUN(clocks);
    return check::failed == 0 ? 0 : 1;
}
