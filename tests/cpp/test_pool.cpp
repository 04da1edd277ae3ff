/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.cpp - pools of the C++ interface: rejection, shutdown, handlers, invoke_all and invoke_any, texts
 */
#include <functional>
#include <hora/hora.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"

using check::tracked;
using namespace std::chrono_literals;

namespace {

void errors_give_reasons()
{
    hora::pool_options options;
    options.core_threads = -1;
    CHECK(check::throws<hora::error>([&] { hora::pool pool(options); },
                                     [](const hora::error &e) {
                                         return e.code() == HORA_EINVAL &&
                                                std::string(e.field()) == "core_threads" &&
                                                std::string(e.what()).find("-1") != std::string::npos;
                                     }));
}

void a_rejected_task_is_destroyed()
{
    {
        hora::pool_options options;
        options.core_threads = 1;
        options.queue_capacity = 1;
        hora::latch running(1);
        hora::latch go(1);
        hora::pool pool(options);
        auto first = pool.submit([&] {
            running.count_down();
            go.await();
        });
        running.await();
        auto second = pool.submit([held = tracked()] {});
        CHECK_THROWS(hora::rejected_error, static_cast<void>(pool.submit([held = tracked()] {})));
        CHECK_THROWS(hora::rejected_error, pool.execute([held = tracked()] {}));
        CHECK(tracked::alive == 1);
        go.count_down();
        pool.shutdown();
        CHECK_THROWS(hora::rejected_error, pool.execute([held = tracked()] {}));
    }
    CHECK(tracked::alive == 0);
}

void a_discarded_task_is_destroyed()
{
    {
        hora::latch running(1);
        hora::latch go(1);
        hora::pool_options options;
        options.core_threads = 1;
        options.queue_capacity = 1;
        options.reject = HORA_REJECT_DISCARD_OLDEST;
        hora::pool pool(options);
        auto first = pool.submit([&] {
            running.count_down();
            go.await();
        });
        running.await();
        auto oldest = pool.submit([held = tracked()] { return tracked(); });
        auto newest = pool.submit([held = tracked()] { return tracked(1); });
        CHECK(tracked::alive == 1);
        CHECK_THROWS(hora::rejected_error, static_cast<void>(oldest.get()));
        go.count_down();
        CHECK(newest.get().value == 1);
        first.get();
    }
    CHECK(tracked::alive == 0);
}

void the_caller_may_run_tasks_that_throw()
{
    hora::pool_options options;
    options.core_threads = 1;
    options.queue_capacity = -1;
    options.reject = HORA_REJECT_CALLER_RUNS;
    hora::latch go(1);
    hora::pool pool(options);
    auto first = pool.submit([&] { go.await(); });
    auto thrown = pool.submit([] { throw std::runtime_error("in the caller"); });
    CHECK(thrown.is_done());
    CHECK_THROWS(std::runtime_error, thrown.get());
    pool.execute([] { throw 1; });
    go.count_down();
    first.get();
}

void handlers_and_listeners_see_exceptions()
{
    struct seen {
        std::atomic<int> handled{0};
        std::atomic<int> listened{0};
        std::atomic<int> after{0};
        std::string text;
    } seen;
    hora_listener listener = HORA_INIT(hora_listener);
    listener.arg = &seen;
    listener.failed = [](hora_pool *, const hora_event *event, void *arg) {
        static_cast<struct seen *>(arg)->listened += event->code == HORA_EFAILED ? 1 : 100;
    };
    hora::pool_options options;
    options.core_threads = 1;
    options.listener = &listener;
    options.arg = &seen;
    options.after = [](hora_pool *, const hora_run_info *run, void *arg) {
        static_cast<struct seen *>(arg)->after += run->code == HORA_EFAILED ? 1 : 0;
    };
    options.on_exception.arg = &seen;
    options.on_exception.function = [](const hora::failed_run &run, void *arg) noexcept {
        auto &into = *static_cast<struct seen *>(arg);
        into.handled += run.code == HORA_EFAILED && run.exception ? 1 : 100;
        into.text += std::string(run.where.name) + ": " + (run.what != nullptr ? run.what : "?") + ";";
    };
    hora::pool pool(options);
    pool.execute([] { throw std::runtime_error("detached"); }, "one");
    auto future = pool.submit([] { throw 3; }, "two");
    CHECK_THROWS(int, future.get());
    pool.close();
    CHECK(seen.handled == 2 && seen.listened == 2 && seen.after == 2);
    CHECK(seen.text == "one: detached;two: ?;");
    CHECK(pool.stats().failed == 2);
}

void detached_tasks_may_throw_without_a_handler()
{
    hora::pool pool = hora::pool::fixed(1);
    for (int i = 0; i < 10; i++)
        pool.execute([] { throw std::runtime_error("lost"); });
    CHECK(pool.await_idle());
    CHECK(pool.stats().failed == 10);
    CHECK(pool.stats().threads == 1);
}

void queued_tasks_are_handed_back_or_abandoned()
{
    {
        hora::latch running(2);
        hora::pool pool = hora::pool::fixed(1);
        hora::pool other = hora::pool::fixed(1);
        auto blocked = [&running] {
            running.count_down();
            try {
                hora::sleep_for(hora::forever);
            } catch (const hora::interrupted_error &) {
            }
        };
        auto a = pool.submit(blocked);
        auto b = other.submit(blocked);
        running.await();
        auto back = pool.submit([held = tracked()] { return 5; });
        pool.execute([held = tracked()] {});
        auto lost = other.submit([held = tracked()] { return 6; });
        std::vector<hora::any_future> list = pool.shutdown_now();
        CHECK(list.size() == 2);
        CHECK(list[0].run());
        CHECK(back.get() == 5);
        list.clear();
        other.abandon();
        CHECK_CODE(HORA_EABANDONED, static_cast<void>(lost.get()));
        CHECK(pool.close() && other.close_for(hora::forever));
        CHECK(pool.is_terminated() && pool.is_shutdown() && pool.await_termination(0s));
    }
    CHECK(tracked::alive == 0);
}

void all_are_invoked()
{
    hora::pool pool = hora::pool::fixed(2);
    std::vector<std::function<int()>> tasks = {
        [] { return 1; }, []() -> int { throw std::logic_error("two"); }, [] { return 3; }};
    auto futures = hora::invoke_all(pool, tasks);
    CHECK(futures.size() == 3 && futures[0].get() == 1 && futures[2].get() == 3);
    CHECK_THROWS(std::logic_error, static_cast<void>(futures[1].get()));
    CHECK(hora::invoke_all(pool, std::vector<std::function<int()>>{}).empty());
    pool.shutdown();
    std::vector<std::function<tracked()>> refused(3, [] { return tracked(); });
    CHECK_THROWS(hora::rejected_error, static_cast<void>(hora::invoke_all(pool, refused)));
}

void invoke_all_can_time_out()
{
    hora::pool pool = hora::pool::fixed(1);
    std::vector<std::function<int()>> tasks = {[]() -> int {
        hora::sleep_for(hora::forever);
        return 1;
    }};
    auto futures = hora::invoke_all(pool, tasks, 1ms);
    CHECK(futures.size() == 1 && futures[0].is_cancelled());
}

void one_is_invoked()
{
    hora::pool pool = hora::pool::fixed(1);
    std::vector<std::function<std::string()>> tasks = {[]() -> std::string { throw 1; },
                                                       [] { return std::string("second"); },
                                                       [] { return std::string("third"); }};
    CHECK(hora::invoke_any(pool, tasks) == "second");
    std::vector<std::function<int()>> failing = {[]() -> int { throw std::logic_error("all fail"); }};
    CHECK_THROWS(std::logic_error, static_cast<void>(hora::invoke_any(pool, failing)));
    std::vector<std::function<int()>> slow = {[]() -> int {
        hora::sleep_for(hora::forever);
        return 1;
    }};
    CHECK_THROWS(hora::timeout_error, static_cast<void>(hora::invoke_any(pool, slow, 1ms)));
    CHECK_CODE(HORA_EINVAL, static_cast<void>(hora::invoke_any(pool, std::vector<std::function<int()>>{})));
}

void a_worker_that_waits_runs_tasks_itself()
{
    hora::pool pool = hora::pool::fixed(1);
    auto outer = pool.submit([&pool] { return pool.submit([] { return 20; }).get() + 1; });
    CHECK(outer.get() == 21);
}

void task_options_are_passed_on()
{
    hora_admission admission = HORA_INIT(hora_admission);
    hora::pool_options options;
    options.core_threads = 2;
    options.admission = &admission;
    hora::pool pool(options);
    hora_class_options settings = HORA_INIT(hora_class_options);
    settings.name = "slow";
    settings.limit = 1;
    hora::task_options task;
    task.task_class = pool.new_class(settings);
    task.run_limit = 1h;
    CHECK(pool.find_class("slow") == task.task_class);
    CHECK(pool.submit([] { return 1; }, task, "limited").get() == 1);
    pool.execute([] {}, task);
    CHECK(pool.await_idle());
    hora_class_info info = HORA_INIT(hora_class_info);
    CHECK(hora_class_get_info(task.task_class, &info) == 0 && info.started == 2);

    hora::pool plain = hora::pool::fixed(1);
    CHECK_CODE(HORA_ENOTSUP, static_cast<void>(plain.submit([held = tracked()] {}, task)));
    CHECK(tracked::alive == 0);
}

void a_pool_tells_about_itself()
{
    hora_metrics metrics = HORA_INIT(hora_metrics);
    hora::pool_options options;
    options.core_threads = 1;
    options.metrics = &metrics;
    options.name = "talk";
    hora::pool pool(options);
    pool.submit([] {}, "word").get();
    CHECK(pool.await_idle());
    CHECK(pool.describe().find("talk") != std::string::npos);
    CHECK(pool.dump().find("talk") != std::string::npos);
    CHECK(pool.metrics_text().find("hora_tasks_total") != std::string::npos);
    CHECK(pool.counts("word").done == 1 && pool.counts().submitted == 1);
    CHECK(pool.distribution(HORA_METRIC_RUN).count == 1);
    CHECK(pool.workers().size() == 1 && pool.workers()[0].number == 1);
    CHECK_CODE(HORA_ENOENT, static_cast<void>(pool.counts("unknown")));
    pool.set_core_threads(2);
    CHECK(pool.stats().core_threads == 2 && pool.prestart_all() == 1);
    CHECK_CODE(HORA_EINVAL, pool.set_core_threads(-1));
    CHECK(pool.idle_fd() >= 0 && pool.purge() == 0);
}

void pools_of_every_kind()
{
    CHECK(hora::pool::single().submit([] { return 1; }).get() == 1);
    CHECK(hora::pool::cached().submit([] { return 2; }).get() == 2);
    CHECK(hora::pool::work_stealing(2).submit([] { return 4; }).get() == 4);
    hora::pool pool = hora::pool::fixed(1);
    auto future = pool.submit([] { return 3; });
    pool = hora::pool::fixed(2); // closes the first
    CHECK(future.is_done() && future.get() == 3);
    CHECK_CODE(HORA_ENOTSUP, hora::pool::single().set_core_threads(2));
}

} // namespace

int main()
{
    RUN(errors_give_reasons);
    RUN(a_rejected_task_is_destroyed);
    RUN(a_discarded_task_is_destroyed);
    RUN(the_caller_may_run_tasks_that_throw);
    RUN(handlers_and_listeners_see_exceptions);
    RUN(detached_tasks_may_throw_without_a_handler);
    RUN(queued_tasks_are_handed_back_or_abandoned);
    RUN(all_are_invoked);
    RUN(invoke_all_can_time_out);
    RUN(one_is_invoked);
    RUN(a_worker_that_waits_runs_tasks_itself);
    RUN(task_options_are_passed_on);
    RUN(a_pool_tells_about_itself);
    RUN(pools_of_every_kind);
    return check::failed == 0 ? 0 : 1;
}
