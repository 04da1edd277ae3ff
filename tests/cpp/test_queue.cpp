/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue.cpp - queues and latches of the C++ interface */
#include <hora/hora.hpp>
#include <memory>
#include <string>
#include <thread>

#include "check.hpp"

using check::tracked;
using namespace std::chrono_literals;

namespace {

void elements_of_every_kind()
{
    {
        auto values = hora::queue<tracked>::array(2);
        values.put(tracked(1));
        CHECK(values.offer(tracked(2)));
        CHECK(values.size() == 2 && values.remaining_capacity() == 0);
        CHECK(values.take().value == 1);
        CHECK(values.poll()->value == 2);
        CHECK(!values.poll());
        CHECK(!values.poll_for(1ms));
        values.put(tracked(3)); // destroyed with the queue
        auto owned = hora::queue<std::unique_ptr<tracked>>::linked();
        owned.put(std::make_unique<tracked>(4));
        owned.put(std::make_unique<tracked>(5));
        CHECK(owned.take()->value == 4);
    }
    CHECK(tracked::alive == 0);

    int number = 1;
    auto pointers = hora::queue<const int *>::linked(3);
    pointers.put(&number);
    CHECK(pointers.take() == &number);
    CHECK_CODE(HORA_EINVAL, pointers.put(nullptr));
    CHECK_CODE(HORA_EINVAL, hora::queue<int>::array(0));
    auto copied = hora::queue<std::string>::linked();
    const std::string text = "text";
    copied.put(text);
    CHECK(copied.take() == text);
}

void an_element_that_does_not_fit_stays_with_the_caller()
{
    auto queue = hora::queue<std::unique_ptr<int>>::array(1);
    auto boxed = hora::queue<tracked>::array(1);
    queue.put(std::make_unique<int>(1));
    boxed.put(tracked(1));
    auto extra = std::make_unique<int>(2);
    tracked value(2);
    CHECK(!queue.offer(std::move(extra)) && *extra == 2);
    CHECK(!queue.offer_for(std::move(extra), 1ms) && *extra == 2);
    CHECK(!boxed.offer(std::move(value)) && value.value == 2);
    hora::thread_handle::self().interrupt();
    CHECK_THROWS(hora::interrupted_error, queue.put(std::move(extra)));
    CHECK(extra && *extra == 2);
    queue.close();
    CHECK_THROWS(hora::closed_error, queue.put(std::move(extra)));
    CHECK(extra && queue.is_closed());
    CHECK(*queue.take() == 1);
    CHECK_THROWS(hora::closed_error, static_cast<void>(queue.take()));
    CHECK_THROWS(hora::closed_error, static_cast<void>(queue.poll()));
}

void priorities()
{
    auto queue = hora::queue<int>::priority(std::greater<>());
    for (int number : {3, 9, 4, 1})
        queue.put(number);
    CHECK(queue.take() == 9 && queue.take() == 4 && queue.take() == 3 && queue.take() == 1);
    auto moved = std::move(queue); // the comparison moves with it
    moved.put(5);
    moved.put(6);
    CHECK(moved.take() == 6);

    auto by_length = hora::queue<std::unique_ptr<std::string>>::priority(
        [](const std::string &a, const std::string &b) { return a.size() < b.size(); });
    by_length.put(std::make_unique<std::string>("long"));
    by_length.put(std::make_unique<std::string>("s"));
    CHECK(*by_length.take() == "s");
}

void delays()
{
    hora::virtual_clock clock;
    auto queue = hora::queue<int>::delay(clock.view());
    queue.put_delayed(2, 2s);
    queue.put_delayed(1, 1s);
    CHECK(!queue.poll());
    clock.advance(1s);
    CHECK(queue.take() == 1 && !queue.poll());
    clock.advance(1s);
    CHECK(queue.take() == 2);
    CHECK_CODE(HORA_EINVAL, hora::queue<int>::array(1).put_delayed(1, 1s));
}

void handover_between_threads()
{
    auto queue = hora::queue<std::string>::synchronous(true);
    std::thread taker([&queue] { CHECK(queue.take() == "hand"); });
    queue.put("hand");
    taker.join();
}

void many_at_once()
{
    {
        auto queue = hora::queue<tracked>::linked();
        for (int i = 0; i < 5; i++)
            queue.put(tracked(i));
        auto three = queue.drain(3);
        CHECK(three.size() == 3 && three[2].value == 2);
        CHECK(queue.drain(0).empty() && queue.drain(-1).empty());
        queue.clear();
        CHECK(queue.size() == 0 && tracked::alive == 3);
        CHECK(queue.fd() >= 0);
    }
    CHECK(tracked::alive == 0);
}

void latches()
{
    hora::latch latch(2);
    CHECK(!latch.await(0s) && latch.count() == 2);
    std::thread other([&latch] { latch.count_down(); });
    latch.count_down();
    CHECK(latch.await());
    other.join();
    CHECK_CODE(HORA_EINVAL, hora::latch(-1));
}

} // namespace

int main()
{
    RUN(elements_of_every_kind);
    RUN(an_element_that_does_not_fit_stays_with_the_caller);
    RUN(priorities);
    RUN(delays);
    RUN(handover_between_threads);
    RUN(many_at_once);
    RUN(latches);
    return check::failed == 0 ? 0 : 1;
}
