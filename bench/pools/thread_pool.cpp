/* SPDX-License-Identifier: Apache-2.0 */
/* thread_pool.cpp - the thread_pool of libthread-pool: a queue per worker, stealing, and a future per task,
 * whether it is needed or not */
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread_pool/thread_pool.hpp>

#include "pools.h"

static std::unique_ptr<thread_pool::ThreadPool> pool;

static void open_pool(int workers)
{
    pool = std::make_unique<thread_pool::ThreadPool>(workers);
}

static void execute(long tasks)
{
    for (long i = 0; i < tasks; i++)
        pool->Submit(pool_ran);
}

static void submit()
{
    pool->Submit(pool_ran).get();
}

static void close_pool()
{
    pool.reset();
}

extern "C" const struct pool_peer pool_peer = {open_pool, execute, submit, close_pool};
