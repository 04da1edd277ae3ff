/* SPDX-License-Identifier: Apache-2.0 */
/* hora.cpp - the C++ interface: pools, futures, exceptions, queues, schedulers and timers
 *
 * It is written for C++17, in which options are assigned field by field. In C++20 they can be written in
 * place: hora::pool pool({.core_threads = 2, .name = "words"}). */
#include <chrono>
#include <cstdio>
#include <hora/hora.hpp>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

int count_words(const std::string &text)
{
    std::istringstream stream(text);
    std::string word;
    int words = 0;
    while (stream >> word)
        words++;
    if (words == 0)
        throw std::invalid_argument("no words");
    return words;
}

/* A pool: results and exceptions come through futures. */
void count_lines(const std::vector<std::string> &lines)
{
    hora::pool_options options;
    options.core_threads = 2;
    options.name = "words";
    hora::pool pool(options);
    std::vector<hora::future<int>> counts;
    for (const std::string &line : lines)
        counts.push_back(pool.submit([&line] { return count_words(line); }, "count"));
    for (hora::future<int> &count : counts) {
        try {
            std::printf("%d words\n", count.get());
        } catch (const std::invalid_argument &wrong) {
            std::printf("%s\n", wrong.what());
        }
    }
}

/* A queue that owns its elements, between two threads of a pool. */
void pass_along()
{
    auto queue = hora::queue<std::unique_ptr<std::string>>::array(1);
    hora::pool pool = hora::pool::fixed(2);
    pool.execute([&queue] {
        for (const char *text : {"one", "two", "three"})
            queue.put(std::make_unique<std::string>(text));
        queue.close();
    });
    auto reader = pool.submit([&queue] {
        try {
            for (;;)
                std::printf("took %s\n", queue.take()->c_str());
        } catch (const hora::closed_error &) {
            std::printf("the queue is closed\n");
        }
    });
    reader.get();
}

/* A scheduler on a virtual clock: a day passes at once. */
void live_through_a_day()
{
    hora::virtual_clock clock(hora::parse_instant("2026-03-28T12:00:00Z"));
    hora::scheduler_options options;
    options.core_threads = 1;
    options.clock = clock.view();
    hora::scheduler scheduler(options);

    hora::schedule nightly;
    nightly.cron = "0 30 3 * * *";
    nightly.zone = "Europe/Paris";
    int hours = 0;
    scheduler.schedule_at_fixed_rate([&hours] { hours++; }, 1h, 1h, "hourly");
    auto report =
        scheduler.schedule([&hours] { std::printf("nightly: %d hours\n", hours); }, nightly, "nightly");
    hora::timer timeout([] { std::printf("the timer has expired\n"); });
    timeout.start(scheduler, 30min);
    clock.run(24h);
    std::printf("%d hours have passed\n", hours);
}

} // namespace

int main()
{
    try {
        count_lines({"the quick brown fox", "", "jumps"});
        pass_along();
        live_through_a_day();
        hora::cron("0 0 25 * * *");
    } catch (const hora::error &error) {
        std::printf("%s: %s\n", hora_errname(error.code()), error.what());
        return error.code() == HORA_EINVAL ? 0 : 1;
    }
    return 1;
}
