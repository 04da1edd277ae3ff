/* SPDX-License-Identifier: Apache-2.0 */
/* test_group.cpp - groups and completion services of the C++ interface */
#include <hora/hora.hpp>
#include <memory>
#include <set>
#include <stdexcept>

#include "check.hpp"

using check::tracked;
using namespace std::chrono_literals;

namespace {

void a_group_waits_for_its_tasks()
{
    hora::pool pool = hora::pool::fixed(2);
    hora::group group;
    auto one = group.submit(pool, [] { return 1; });
    group.submit(pool, [] { throw std::runtime_error("failed"); });
    hora::promise<int> promise;
    auto added = promise.get_future();
    group.add(added);
    CHECK(!group.await(0s));
    promise.set_value(2);
    CHECK(group.await());
    CHECK(group.pending() == 0 && group.failed() == 1 && group.fd() >= 0);
    CHECK(one.get() == 1 && added.get() == 2);
}

void a_group_cancels_what_is_pending()
{
    {
        hora::latch begun(1);
        hora::pool pool = hora::pool::fixed(1);
        hora::future<void> running;
        hora::future<void> queued;
        {
            hora::group group;
            running = group.submit(pool, [&begun, held = tracked()] {
                begun.count_down();
                hora::sleep_for(hora::forever);
            });
            begun.await();
            queued = group.submit(pool, [held = tracked()] {});
            hora::thread_handle::self().interrupt();
        }
        CHECK(hora::interrupted()); // stays pending
        CHECK(running.is_cancelled() && queued.is_cancelled());

        hora::group_options options;
        options.cancel_on_failure = true;
        hora::group strict(options);
        hora::promise<int> pending;
        auto other = pending.get_future();
        strict.add(other);
        strict.submit(pool, [] { throw 1; });
        CHECK(strict.await());
        CHECK(other.is_cancelled() && strict.failed() == 2 && strict.cancel() == 0);
    }
    CHECK(tracked::alive == 0);
}

void futures_come_in_the_order_of_completion()
{
    hora::latch first_taken(1);
    hora::pool pool = hora::pool::fixed(2);
    hora::completion_service<std::unique_ptr<int>> service(pool);
    service.submit([&first_taken] {
        first_taken.await();
        return std::make_unique<int>(2);
    });
    service.submit([] { return std::make_unique<int>(1); });
    CHECK(*service.take().get() == 1);
    CHECK(!service.poll());
    CHECK(!service.poll_for(1ms));
    first_taken.count_down();
    CHECK(*service.take().get() == 2);
    service.submit([]() -> std::unique_ptr<int> { throw std::logic_error("third"); });
    auto third = service.poll_for(hora::forever);
    CHECK(third.has_value());
    CHECK_THROWS(std::logic_error, static_cast<void>(third->get()));
    CHECK(service.fd() >= 0);
}

void many_completions()
{
    hora::pool pool = hora::pool::fixed(2);
    hora::completion_service<int> service(pool);
    std::set<int> seen;
    for (int i = 0; i < 200; i++)
        service.submit([i] { return i; });
    for (int i = 0; i < 200; i++)
        seen.insert(service.take().get());
    CHECK(seen.size() == 200);
}

void a_service_may_end_before_its_tasks()
{
    {
        hora::latch go(1);
        hora::latch begun(1);
        hora::pool pool = hora::pool::fixed(1);
        {
            hora::completion_service<tracked> service(pool);
            service.submit([held = tracked()] { return tracked(); }); // done, and not taken
            CHECK(pool.await_idle());
            service.submit([&go, &begun, held = tracked()] {
                begun.count_down();
                go.await();
                return tracked();
            });
            begun.await();
            service.submit([held = tracked()]() -> tracked { throw std::runtime_error("lost"); });
        }
        go.count_down();
        pool.shutdown();
        hora::completion_service<tracked> refused(pool);
        CHECK_THROWS(hora::rejected_error, refused.submit([held = tracked()] { return tracked(); }));
    }
    CHECK(tracked::alive == 0);
}

void executors_of_the_program()
{
    struct here {
        static int run(hora_future *future, void *)
        {
            const int ran = hora_future_run(future);
            return ran < 0 ? ran : 0;
        }
    };
    hora_executor native = {here::run, nullptr, nullptr};
    hora::completion_service<int> service(native);
    service.submit([] { return 8; });
    CHECK(service.take().get() == 8);
    hora::group group;
    CHECK(group.submit(native, [] { return 9; }).get() == 9);
}

} // namespace

int main()
{
    RUN(a_group_waits_for_its_tasks);
    RUN(a_group_cancels_what_is_pending);
    RUN(futures_come_in_the_order_of_completion);
    RUN(many_completions);
    RUN(a_service_may_end_before_its_tasks);
    RUN(executors_of_the_program);
    return check::failed == 0 ? 0 : 1;
}
