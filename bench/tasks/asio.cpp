/* SPDX-License-Identifier: Apache-2.0 */
/* asio.cpp - Boost.Asio: post to a thread_pool, with packaged tasks for futures */
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <memory>

static std::unique_ptr<boost::asio::thread_pool> pool;

template <typename F> static void post(F function)
{
    boost::asio::post(*pool, std::move(function));
}

template <typename F> static auto submit(F function)
{
    std::packaged_task<decltype(function())()> task(std::move(function));
    auto future = task.get_future();
    boost::asio::post(*pool, std::move(task));
    return future;
}

#include "cxx.hpp"

static void open_pool(int workers)
{
    pool = std::make_unique<boost::asio::thread_pool>(workers);
}

static void close_pool()
{
    pool->join();
    pool.reset();
}

extern "C" const struct tasks_peer tasks_peer = {
    .open = open_pool,
    .close = close_pool,
    .order = peer::order,
    .group = nullptr,
    .completion = nullptr,
    .batch = nullptr,
    .latch = peer::await_latch,
    .tree = peer::tree,
    .pipe = peer::pipe,
    .forms = nullptr,
    .block = peer::block,
    .execute = peer::execute,
    .submit = peer::submit_all,
};
