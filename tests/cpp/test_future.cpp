/* SPDX-License-Identifier: Apache-2.0 */
/* test_future.cpp - futures and promises of the C++ interface: results, exceptions, lifetimes */
#include <pthread.h>

#include <hora/hora.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "check.hpp"

using check::tracked;
using namespace std::chrono_literals;

namespace {

void results_of_every_kind()
{
    hora::pool pool = hora::pool::fixed(2);
    int target = 1;
    CHECK(pool.submit([] { return 42; }).get() == 42);
    CHECK(pool.submit([] { return std::string("text"); }).get() == "text");
    CHECK(&pool.submit([&target]() -> int & { return target; }).get() == &target);
    pool.submit([&target] { target = 2; }).get();
    CHECK(target == 2);

    auto owned = std::make_unique<int>(7); // a move-only callable with a move-only result
    auto future = pool.submit([owned = std::move(owned)]() mutable { return std::move(owned); });
    CHECK(*future.get() == 7);
    CHECK_CODE(HORA_EEMPTY, static_cast<void>(future.get()));
}

void exceptions_arrive_at_get()
{
    hora::pool pool = hora::pool::fixed(1);
    auto thrown = pool.submit([]() -> int { throw std::out_of_range("far"); });
    for (int i = 0; i < 2; i++)
        CHECK(check::throws<std::out_of_range>(
            [&] { static_cast<void>(thrown.get()); },
            [](const std::out_of_range &e) { return std::string(e.what()) == "far"; }));
    CHECK(thrown.failure() == HORA_EFAILED);
    CHECK(thrown.state() == HORA_FUTURE_FAILED);

    auto coded = pool.submit([] { throw hora::error(-77, "mine"); });
    CHECK(check::throws<hora::error>(
        [&] { coded.get(); },
        [](const hora::error &e) { return e.code() == -77 && std::string(e.what()) == "mine"; }));
    CHECK(coded.failure() == -77);

    auto number = pool.submit([] { throw 5; });
    CHECK(check::throws<int>([&] { number.get(); }, [](int n) { return n == 5; }));
    auto memory = pool.submit([] { throw std::bad_alloc(); });
    CHECK_THROWS(std::bad_alloc, memory.get());
    CHECK(memory.failure() == HORA_ENOMEM);

    // A code that would be taken for another outcome is replaced, but the exception is the one thrown.
    auto rejected = pool.submit([] { throw hora::rejected_error(); });
    CHECK_THROWS(hora::rejected_error, rejected.get());
    CHECK(rejected.failure() == HORA_EFAILED);
}

void a_result_whose_move_throws_is_a_failure()
{
    struct stubborn {
        stubborn() = default;
        stubborn(stubborn &&)
        {
            throw std::runtime_error("no move");
        }
    };
    hora::pool pool = hora::pool::fixed(1);
    stubborn source;
    auto future = pool.submit([&source] { return stubborn(std::move(source)); });
    CHECK_THROWS(std::runtime_error, static_cast<void>(future.get()));
}

void results_and_callables_are_destroyed_once()
{
    {
        hora::latch begin(1);
        hora::pool pool = hora::pool::fixed(1);
        auto blocker = pool.submit([&begin] { begin.await(); });
        auto untaken = pool.submit([held = tracked(1)] { return tracked(2); });
        auto taken = pool.submit([held = tracked(1)] { return tracked(3); });
        auto cancelled = pool.submit([held = tracked(1)] { return tracked(4); });
        static_cast<void>(pool.submit([held = tracked(1)] { return tracked(5); })); // the handle is dropped
        pool.execute([held = tracked(1)] { return tracked(6); });
        CHECK(tracked::alive == 5);
        CHECK(cancelled.cancel() == HORA_CANCEL_REMOVED);
        CHECK(tracked::alive == 4); // the callable is gone before the handle
        begin.count_down();
        CHECK_THROWS(hora::cancelled_error, static_cast<void>(cancelled.get()));
        CHECK(taken.get().value == 3);
        pool.close();
        CHECK(tracked::alive == 2); // the result that was not taken, and that which was moved from
    }
    CHECK(tracked::alive == 0);
}

void a_task_that_is_cancelled_while_it_runs_drops_its_result()
{
    {
        hora::latch running(1);
        hora::pool pool = hora::pool::fixed(1);
        auto future = pool.submit([&running, held = tracked(1)] {
            running.count_down();
            CHECK_THROWS(hora::interrupted_error, hora::sleep_for(hora::forever));
            return tracked(2);
        });
        running.await();
        CHECK(future.cancel() == HORA_CANCEL_INTERRUPTED);
        CHECK_THROWS(hora::cancelled_error, static_cast<void>(future.get()));
    }
    CHECK(tracked::alive == 0);
}

void an_interrupt_becomes_the_exception_of_the_task()
{
    hora::latch running(1);
    hora::pool pool = hora::pool::fixed(1);
    std::optional<hora::thread_handle> worker;
    auto future = pool.submit([&] {
        worker = hora::thread_handle::self();
        running.count_down();
        hora::sleep_for(hora::forever);
    });
    running.await();
    worker->interrupt();
    CHECK_THROWS(hora::interrupted_error, future.get());
    CHECK(future.failure() == HORA_EINTERRUPTED);
    CHECK(!hora::interrupted());
}

void waiting_can_time_out_and_be_interrupted()
{
    hora::promise<int> promise;
    auto future = promise.get_future();
    CHECK(!future.wait_for(0s));
    CHECK_THROWS(hora::timeout_error, static_cast<void>(future.get_for(1ms)));
    hora::thread_handle::self().interrupt();
    CHECK_THROWS(hora::interrupted_error, static_cast<void>(future.get()));
    hora::thread_handle::self().interrupt();
    CHECK_THROWS(hora::interrupted_error, future.wait());
    promise.set_value(3);
    future.wait();
    CHECK(future.wait_for(0s) && future.is_done());
    CHECK(future.get() == 3);
}

void promises_have_one_outcome()
{
    {
        hora::promise<tracked> promise;
        auto future = promise.get_future();
        CHECK(promise.set_value(tracked(1)));
        CHECK(!promise.set_value(tracked(2)));
        CHECK(!promise.set_exception(std::make_exception_ptr(1)));
        CHECK(!promise.fail(-5));
        CHECK(future.get().value == 1);
    }
    CHECK(tracked::alive == 0);

    hora::promise<void> nothing;
    auto done = nothing.get_future();
    CHECK(nothing.set_value());
    done.get();

    hora::promise<int &> reference;
    int target = 0;
    auto referring = reference.get_future();
    CHECK(reference.set_value(target) && &referring.get() == &target);

    hora::promise<int> failing;
    auto failed = failing.get_future();
    CHECK(failing.set_exception(std::make_exception_ptr(std::logic_error("wrong"))));
    CHECK_THROWS(std::logic_error, static_cast<void>(failed.get()));
    CHECK_CODE(HORA_EINVAL, failing.set_exception(nullptr));

    hora::promise<int> coded;
    auto code = coded.get_future();
    CHECK(coded.fail(-99));
    CHECK_CODE(-99, static_cast<void>(code.get()));

    hora::future<int> broken;
    {
        hora::promise<int> left;
        broken = left.get_future();
        hora::promise<int> moved(std::move(left));
    }
    CHECK_CODE(HORA_EABANDONED, static_cast<void>(broken.get()));

    hora::promise<int> late;
    auto cancelled = late.get_future();
    CHECK(cancelled.cancel() == HORA_CANCEL_REMOVED);
    CHECK(!late.set_value(1));
}

void callbacks_run_once_and_are_destroyed()
{
    {
        hora::promise<int> promise;
        auto future = promise.get_future();
        int calls = 0;
        future.on_done([&calls, held = tracked()](const hora::any_future &f) noexcept {
            calls += f.state() == HORA_FUTURE_SUCCEEDED ? 1 : 100;
        });
        CHECK(calls == 0 && tracked::alive == 1);
        promise.set_value(1);
        CHECK(calls == 1 && tracked::alive == 0);
        future.on_done([&calls](const hora::any_future &) noexcept { calls++; });
        CHECK(calls == 2);
        hora::promise<int> never;
        never.get_future().on_done([held = tracked()](const hora::any_future &) noexcept {});
    }
    CHECK(tracked::alive == 0);
}

void empty_handles_are_refused()
{
    hora::future<int> empty;
    CHECK(!empty);
    CHECK_CODE(HORA_EINVAL, static_cast<void>(empty.get()));
    CHECK_CODE(HORA_EINVAL, empty.wait());
    CHECK_CODE(HORA_EINVAL, empty.cancel());
    hora::pool pool = hora::pool::fixed(1);
    hora::pool moved(std::move(pool));
    CHECK_CODE(HORA_EINVAL, pool.execute([] {})); // NOLINT: the state after a move is defined
    CHECK_CODE(HORA_EINVAL, static_cast<void>(hora::invoke_all(pool, std::vector<int (*)()>{})));
    CHECK(moved.submit([] { return 1; }).get() == 1);
}

void a_task_may_end_its_thread()
{
    {
        hora::pool pool = hora::pool::fixed(1);
        auto future = pool.submit([held = tracked()] { pthread_exit(nullptr); });
        CHECK_CODE(HORA_EABANDONED, future.get());
        CHECK(pool.submit([] { return 1; }).get() == 1);
    }
    CHECK(tracked::alive == 0);
}

void a_future_tells_about_itself()
{
    hora::pool pool = hora::pool::fixed(1);
    auto future = pool.submit([] {}, "sweep");
    future.get();
    CHECK(future.describe().find("sweep") != std::string::npos);
    CHECK(future.describe().find("Completed normally") != std::string::npos);
    CHECK(future.describe().find("test_future.cpp") != std::string::npos);
    CHECK(!future.explain().empty());
    CHECK(future.fd() >= 0);
    CHECK_CODE(HORA_EINVAL, static_cast<void>(future.delay()));
}

} // namespace

int main()
{
    RUN(results_of_every_kind);
    RUN(exceptions_arrive_at_get);
    RUN(a_result_whose_move_throws_is_a_failure);
    RUN(results_and_callables_are_destroyed_once);
    RUN(a_task_that_is_cancelled_while_it_runs_drops_its_result);
    RUN(an_interrupt_becomes_the_exception_of_the_task);
    RUN(waiting_can_time_out_and_be_interrupted);
    RUN(promises_have_one_outcome);
    RUN(callbacks_run_once_and_are_destroyed);
    RUN(empty_handles_are_refused);
    RUN(a_task_may_end_its_thread);
    RUN(a_future_tells_about_itself);
    return check::failed == 0 ? 0 : 1;
}
