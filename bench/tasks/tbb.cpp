/* SPDX-License-Identifier: Apache-2.0 */
/* tbb.cpp - oneTBB: enqueue to a task_arena, task_group, and concurrent_bounded_queue for completion
 *
 * The first arena reserves no slot for a thread from outside; see pools/tbb.cpp. The arena of W9.group has
 * one slot more, for the thread that waits for the group: it runs tasks meanwhile. An enqueued function
 * object is called as const, so a packaged task is enqueued by a shared pointer. */
#include <future>
#include <memory>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

static std::unique_ptr<tbb::global_control> threads;
static std::unique_ptr<tbb::task_arena> arena;
static std::unique_ptr<tbb::task_arena> group_arena;

template <typename F> static void post(F function)
{
    arena->enqueue(std::move(function));
}

template <typename F> static auto submit(F function)
{
    auto task = std::make_shared<std::packaged_task<decltype(function())()>>(std::move(function));
    auto future = task->get_future();
    arena->enqueue([task] { (*task)(); });
    return future;
}

#include "cxx.hpp"

static void open_pool(int workers)
{
    threads =
        std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, workers + 1);
    arena = std::make_unique<tbb::task_arena>(workers, 0);
    arena->initialize();
    group_arena = std::make_unique<tbb::task_arena>(workers + 1, 1);
    group_arena->initialize();
}

static void close_pool()
{
    arena.reset();
    group_arena.reset();
    threads.reset();
}

static void group(struct cell *cells, long count)
{
    group_arena->execute([cells, count] {
        tbb::task_group all;
        for (long i = 0; i < count; i++)
            all.run([cell = &cells[i]] { cell_add(cell); });
        all.wait();
    });
}

static void completion(struct cell *cells, long count)
{
    tbb::concurrent_bounded_queue<struct cell *> done;
    for (long i = 0; i < count; i++)
        arena->enqueue([cell = &cells[i], &done] { done.push(cell_add(cell)); });
    for (long i = 0; i < count; i++) {
        struct cell *cell = nullptr;
        done.pop(cell);
        cell_check(cell);
    }
}

extern "C" const struct tasks_peer tasks_peer = {
    .open = open_pool,
    .close = close_pool,
    .order = peer::order,
    .group = group,
    .completion = completion,
    .batch = nullptr,
    .latch = peer::await_latch,
    .tree = peer::tree,
    .pipe = peer::pipe,
    .forms = peer::execute_forms,
    .block = peer::block,
    .execute = peer::execute,
    .submit = peer::submit_all,
};
