/* SPDX-License-Identifier: Apache-2.0 */
/* tbb.cpp - oneTBB: enqueue to a task_arena, and a packaged task with its future to wait with
 *
 * The arena reserves no slot for a thread from outside, and allows one thread more than there are workers:
 * the one that enqueues. So the arena uses as many of its own threads as were asked for, also on a machine
 * with fewer processors. */
#include <future>
#include <memory>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "pools.h"

static std::unique_ptr<tbb::global_control> threads;
static std::unique_ptr<tbb::task_arena> arena;

static void open_pool(int workers)
{
    threads =
        std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, workers + 1);
    arena = std::make_unique<tbb::task_arena>(workers, 0);
    arena->initialize();
}

static void execute(long tasks)
{
    for (long i = 0; i < tasks; i++)
        arena->enqueue([] { pool_ran(); });
}

static void submit()
{
    std::packaged_task<void()> task([] { pool_ran(); });
    std::future<void> future = task.get_future();
    arena->enqueue([&task] { task(); });
    future.get();
}

static void close_pool()
{
    arena.reset();
    threads.reset();
}

extern "C" const struct pool_peer pool_peer = {open_pool, execute, submit, close_pool};
