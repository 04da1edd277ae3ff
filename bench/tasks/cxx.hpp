/* SPDX-License-Identifier: Apache-2.0 */
/* cxx.hpp - what the C++ libraries of W9 to W12 have in common
 *
 * Before it includes this file, the file of a library defines
 *
 *     template <typename F> static void post(F function);     executes a function object
 *     template <typename F> static auto submit(F function);   the same; returns the std::future of its result
 *
 * W9.order and W12.submit use std::future, and W9.latch uses std::latch. The forms of W11 are a thousand
 * types of function objects. */
#ifndef HORA_BENCH_TASKS_CXX_HPP
#define HORA_BENCH_TASKS_CXX_HPP

#include <array>
#include <future>
#include <latch>
#include <utility>
#include <vector>

#include "tasks.h"

namespace peer {

inline void order(struct cell *cells, long count)
{
    static std::vector<std::future<struct cell *>> futures;
    futures.clear();
    for (long i = 0; i < count; i++)
        futures.push_back(submit([cell = &cells[i]] { return cell_add(cell); }));
    for (auto &future : futures)
        cell_check(future.get());
}

inline void await_latch(struct cell *cells, long count)
{
    std::latch latch(count);
    for (long i = 0; i < count; i++)
        post([cell = &cells[i], &latch] {
            cell_add(cell);
            latch.count_down();
        });
    latch.wait();
}

inline void tree(long number)
{
    post([number] { tree_ran(number); });
}

inline void pipe(long number)
{
    post([number] { pipe_ran(number); });
}

template <int Number> struct form {
    void operator()() const
    {
        task_ran();
    }
};

template <int Number> void post_form()
{
    post(form<Number>());
}

using form_table = std::array<void (*)(), TASK_FORMS>;

template <int... Numbers> constexpr form_table make_forms(std::integer_sequence<int, Numbers...>)
{
    return {post_form<Numbers>...};
}

/* A template, so that only a library that uses it pays for the compilation of a thousand types. */
template <typename Table = form_table> void execute_forms(const short *forms, long count)
{
    static constexpr Table table = make_forms(std::make_integer_sequence<int, TASK_FORMS>());
    for (long i = 0; i < count; i++)
        table[forms[i]]();
}

inline void block()
{
    post([] { worker_block(); });
}

inline void execute(long count)
{
    for (long i = 0; i < count; i++)
        post([] { task_ran(); });
}

inline void submit_all(void **, long count)
{
    std::vector<std::future<void>> futures;
    futures.reserve(count);
    for (long i = 0; i < count; i++)
        futures.push_back(submit([] { task_ran(); }));
    workers_release();
    for (auto &future : futures) {
        future.get();
        future = {};
    }
}

} // namespace peer

#endif
