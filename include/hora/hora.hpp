/* SPDX-License-Identifier: Apache-2.0 */
/* hora/hora.hpp - hora for C++17 and later
 *
 *     hora::pool pool = hora::pool::fixed(4);
 *     hora::future<int> answer = pool.submit([] { return 6 * 7; });
 *     std::printf("%d\n", answer.get());
 *
 * These headers are all there is: they call the functions of libhora, and programs link only with that. Each
 * class owns an object of C or a reference to it, and native() returns it for calls that have no counterpart
 * here. docs/guide/cpp.md shows complete programs.
 *
 * Comments use the labels of hora/base.h. "Errors:" lists the codes of hora::error, and exceptions by their
 * names; see hora/cpp/error.hpp. A class that owns an object releases it in its destructor. A class that has
 * been moved from is empty: its calls throw HORA_EINVAL, and it can be assigned to and destroyed. */
#ifndef HORA_HORA_HPP
#define HORA_HORA_HPP

#include <hora/cpp/clock.hpp>
#include <hora/cpp/cron.hpp>
#include <hora/cpp/error.hpp>
#include <hora/cpp/future.hpp>
#include <hora/cpp/group.hpp>
#include <hora/cpp/latch.hpp>
#include <hora/cpp/pool.hpp>
#include <hora/cpp/queue.hpp>
#include <hora/cpp/scheduler.hpp>
#include <hora/cpp/task.hpp>
#include <hora/cpp/thread.hpp>
#include <hora/cpp/time.hpp>
#include <hora/cpp/timer.hpp>
#include <hora/cpp/trigger.hpp>
#include <hora/hora.h>

#endif
