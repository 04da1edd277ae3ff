/* SPDX-License-Identifier: Apache-2.0 */
/* asio.cpp - Boost.Asio: steady_timer on a thread_pool
 *
 * A thread of the pool also calls the handler of a cancelled timer, with an error. timers_settle waits for
 * that. timers_churn makes a new steady_timer each time, timers_reuse sets the same one again; in both cases
 * Asio allocates the operation that waits, from memory that it keeps per thread if it can. */
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "timers.h"

using boost::asio::steady_timer;
using boost::system::error_code;
using std::chrono::nanoseconds;

static std::unique_ptr<boost::asio::thread_pool> pool;
static std::vector<std::unique_ptr<steady_timer>> pending;
static std::vector<steady_timer> embedded;
static std::unique_ptr<steady_timer> lagging[MOST_LAG];
static std::unique_ptr<steady_timer> own[MOST_PRODUCERS]; /* of timers_reuse */
static std::atomic<long> cancelled;
static std::atomic<long> told;
static std::atomic<bool> over;

/* The clock of steady_timer is the monotonic one. */
static steady_timer::time_point at(int64_t ns)
{
    return steady_timer::time_point(nanoseconds(ns));
}

void timers_open()
{
    pool = std::make_unique<boost::asio::thread_pool>(TIMERS_WORKERS);
    for (std::unique_ptr<steady_timer> &timer : own)
        timer = std::make_unique<steady_timer>(*pool);
}

static void expire(steady_timer &timer)
{
    timer.async_wait([](const error_code &error) {
        if (!error)
            timer_expired();
    });
}

void timers_fill(const int64_t *due_ns, long count)
{
    pending.reserve(count);
    for (long i = 0; i < count; i++)
        expire(*pending.emplace_back(std::make_unique<steady_timer>(*pool, at(due_ns[i]))));
}

void timers_embed(const int64_t *due_ns, long count)
{
    embedded.reserve(count);
    for (long i = 0; i < count; i++)
        expire(embedded.emplace_back(*pool, at(due_ns[i])));
}

void timers_part()
{
}

static void forbid(steady_timer &timer)
{
    timer.async_wait([](const error_code &error) {
        if (!error)
            timer_forbidden();
        told++;
    });
}

static void churn_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++) {
        std::unique_ptr<steady_timer> &slot = lagging[calls++ % lag];
        if (slot) {
            MUST(slot->cancel() == 1);
            cancelled++;
        }
        slot = std::make_unique<steady_timer>(*pool, nanoseconds(delay_ns[i]));
        forbid(*slot);
    }
}

void timers_churn(int, const int64_t *delay_ns, long count, int lag)
{
    if (lag > 0) {
        churn_behind(delay_ns, count, lag);
        return;
    }
    for (long i = 0; i < count; i++) {
        steady_timer timer(*pool, nanoseconds(delay_ns[i]));
        forbid(timer);
        MUST(timer.cancel() == 1);
    }
    cancelled += count;
}

static void reuse_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++, calls++) {
        std::unique_ptr<steady_timer> &slot = lagging[calls % lag];
        if (!slot)
            slot = std::make_unique<steady_timer>(*pool);
        cancelled += slot->expires_after(nanoseconds(delay_ns[i])); /* cancels it if it is pending */
        forbid(*slot);
    }
}

void timers_reuse(int producer, const int64_t *delay_ns, long count, int lag)
{
    if (lag > 0) {
        reuse_behind(delay_ns, count, lag);
        return;
    }
    steady_timer &timer = *own[producer];
    for (long i = 0; i < count; i++) {
        timer.expires_after(nanoseconds(delay_ns[i]));
        forbid(timer);
        MUST(timer.cancel() == 1);
    }
    cancelled += count;
}

void timers_settle()
{
    while (told != cancelled)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count)
{
    for (long i = 0; i < count; i++) {
        due_ns[i] = now_ns() + delay_ns[i];
        auto timer = std::make_unique<steady_timer>(*pool, at(due_ns[i]));
        auto &waiting = *timer;
        waiting.async_wait([i, timer = std::move(timer)](const error_code &) { timer_fired(i); });
    }
}

static void repeat(steady_timer &timer, int number, int64_t period_ns)
{
    timer.async_wait([&timer, number, period_ns](const error_code &) {
        if (over) {
            told++;
            return;
        }
        timer_ran(number);
        timer.expires_at(timer.expiry() + nanoseconds(period_ns));
        repeat(timer, number, period_ns);
    });
}

/* A timer must not be used by two threads at once, so each ends by itself, at its next run. */
void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns)
{
    std::vector<steady_timer> series;
    over = false;
    series.reserve(tasks);
    for (int i = 0; i < tasks; i++)
        repeat(series.emplace_back(*pool, at(first_ns[i])), i, period_ns);
    wait_until(end_ns);
    over = true;
    cancelled += tasks;
    timers_settle();
}

void timers_close()
{
    pool->stop();
    pool->join();
    pending.clear();
    embedded.clear();
    for (std::unique_ptr<steady_timer> &timer : own)
        timer.reset();
    for (std::unique_ptr<steady_timer> &timer : lagging)
        timer.reset();
}
