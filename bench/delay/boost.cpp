/* SPDX-License-Identifier: Apache-2.0 */
/* boost.cpp - Boost.Thread: sync_timed_queue, a heap under one lock */
#include <boost/thread/concurrent_queues/sync_timed_queue.hpp>
#include <memory>

#include "delay.h"

using boost::chrono::nanoseconds;
using boost::chrono::steady_clock;

static std::unique_ptr<boost::concurrent::sync_timed_queue<struct item *>> queue;

void delay_open()
{
    queue = std::make_unique<boost::concurrent::sync_timed_queue<struct item *>>();
}

/* Its steady clock is the monotonic one. */
void delay_put(struct item *item)
{
    queue->push(item, steady_clock::time_point(nanoseconds(item->due_ns)));
}

struct item *delay_take()
{
    return queue->pull();
}

void delay_close()
{
    queue.reset();
}
