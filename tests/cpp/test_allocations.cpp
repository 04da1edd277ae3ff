/* SPDX-License-Identifier: Apache-2.0 */
/* test_allocations.cpp - how much memory the C++ interface allocates
 *
 * The program replaces operator new by one that counts. The library itself does not use operator new. */
#include <atomic>
#include <cstdlib>
#include <hora/hora.hpp>
#include <memory>
#include <new>

#include "check.hpp"

using namespace std::chrono_literals;

namespace {

std::atomic<long> allocated{0};
std::atomic<long> freed{0};

void *counted_new(std::size_t size)
{
    void *memory = std::malloc(size);
    if (memory == nullptr)
        throw std::bad_alloc();
    allocated++;
    return memory;
}

void counted_delete(void *memory) noexcept
{
    freed += memory != nullptr ? 1 : 0;
    std::free(memory);
}

} // namespace

void *operator new(std::size_t size)
{
    return counted_new(size);
}

void operator delete(void *memory) noexcept
{
    counted_delete(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    counted_delete(memory);
}

namespace {

/* Returns how often body() allocates, on all threads. */
template <typename Body> long allocations(Body &&body)
{
    const long before = allocated;
    body();
    return allocated - before;
}

void one_per_task()
{
    hora::pool pool = hora::pool::fixed(1);
    const long before = allocated - freed;
    long large[16] = {1};
    pool.submit([] {}).get();
    CHECK(allocations([&] { CHECK(pool.submit([large] { return large[0]; }).get() == 1); }) == 1);
    CHECK(allocations([&] {
              pool.execute([large] { return large[0]; });
              pool.await_idle();
          }) == 1);
    CHECK(allocations([&] { pool.submit([] {}).cancel(); }) == 1);
    CHECK(pool.close());
    CHECK(allocations([&] {
              try {
                  pool.execute([large] { return large[0]; });
              } catch (const hora::rejected_error &) {
              }
          }) >= 1);
    CHECK(allocated - freed == before);
}

void one_per_scheduled_task()
{
    hora::virtual_clock clock;
    hora::scheduler_options options;
    options.core_threads = 1;
    options.clock = clock.view();
    hora::scheduler scheduler(options);
    hora::schedule schedule;
    schedule.fixed_rate = 1s;
    schedule.count = 100;
    scheduler.schedule([] {}, 0s).get();
    CHECK(allocations([&] {
              auto series = scheduler.schedule([] { return 1; }, schedule);
              clock.run(1h);
              CHECK(series.get() == 1 && series.schedule_info().runs == 100);
          }) == 1);
    CHECK(allocations([&] {
              hora::timer timer([] {});
              for (int i = 0; i < 10; i++)
                  timer.start(scheduler, 1s);
          }) == 0);
}

void queues_of_pointers_allocate_nothing()
{
    int number = 0;
    auto pointers = hora::queue<int *>::array(1);
    auto values = hora::queue<int>::array(1);
    auto owned = hora::queue<std::unique_ptr<int>>::array(1);
    auto given = std::make_unique<int>(1);
    CHECK(allocations([&] {
              pointers.put(&number);
              CHECK(pointers.take() == &number);
              owned.put(std::move(given));
              CHECK(*owned.take() == 1);
          }) == 0);
    CHECK(allocations([&] {
              values.put(1);
              CHECK(values.take() == 1);
          }) == 1);
}

void one_per_promise_and_callback()
{
    CHECK(allocations([] {
              hora::promise<int> promise;
              auto future = promise.get_future();
              promise.set_value(1);
              CHECK(future.get() == 1);
          }) == 1);
    hora::promise<int> promise;
    CHECK(allocations([&] { promise.get_future().on_done([](const hora::any_future &) noexcept {}); }) == 1);
}

} // namespace

int main()
{
    RUN(one_per_task);
    RUN(one_per_scheduled_task);
    RUN(queues_of_pointers_allocate_nothing);
    RUN(one_per_promise_and_callback);
    return check::failed == 0 ? 0 : 1;
}
