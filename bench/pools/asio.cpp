/* SPDX-License-Identifier: Apache-2.0 */
/* asio.cpp - Boost.Asio: post to a thread_pool, and a packaged task with its future to wait with */
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <memory>

#include "pools.h"

static std::unique_ptr<boost::asio::thread_pool> pool;

static void open_pool(int workers)
{
    pool = std::make_unique<boost::asio::thread_pool>(workers);
}

static void execute(long tasks)
{
    for (long i = 0; i < tasks; i++)
        boost::asio::post(*pool, [] { pool_ran(); });
}

static void submit()
{
    std::packaged_task<void()> task([] { pool_ran(); });
    std::future<void> future = task.get_future();
    boost::asio::post(*pool, std::move(task));
    future.get();
}

static void close_pool()
{
    pool->join();
    pool.reset();
}

extern "C" const struct pool_peer pool_peer = {open_pool, execute, submit, close_pool};
