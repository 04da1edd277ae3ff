/* SPDX-License-Identifier: Apache-2.0 */
/* thread_pool.cpp - the thread_pool of libthread-pool: a queue per worker, stealing, and a future per task */
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread_pool/thread_pool.hpp>

static std::unique_ptr<thread_pool::ThreadPool> pool;

template <typename F> static auto submit(F function)
{
    return pool->Submit(std::move(function));
}

template <typename F> static void post(F function)
{
    pool->Submit(std::move(function)); /* there is no other way to execute a function */
}

#include "cxx.hpp"

static void open_pool(int workers)
{
    pool = std::make_unique<thread_pool::ThreadPool>(workers);
}

static void close_pool()
{
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
