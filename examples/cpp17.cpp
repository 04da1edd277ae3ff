/* SPDX-License-Identifier: Apache-2.0 */
/* cpp17.cpp - hora in C++17
 *
 * Structs are initialized with HORA_INIT, smart pointers own objects, and tasks are functions or lambdas.
 * Macros with field names, such as HORA_POOL_OPTIONS(.core_threads = 2), require C++20: see cpp20.cpp. */
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <hora/hora.h>

namespace {

struct close_pool {
    void operator()(hora_pool *pool) const
    {
        hora_pool_close(pool);
        if (hora_pool_free(pool) != 0)
            std::puts("tasks were abandoned");
    }
};

struct unref_future {
    void operator()(hora_future *future) const
    {
        hora_future_unref(future);
    }
};

struct free_registrar {
    void operator()(hora_registrar *registrar) const
    {
        hora_registrar_free(registrar);
    }
};

using pool_ptr = std::unique_ptr<hora_pool, close_pool>;
using future_ptr = std::unique_ptr<hora_future, unref_future>;
using registrar_ptr = std::unique_ptr<hora_registrar, free_registrar>;

int count_words(void *arg, void **ret_result)
{
    const std::string &text = *static_cast<const std::string *>(arg);
    std::intptr_t words = text.empty() ? 0 : 1;
    for (char c : text)
        words += c == ' ' ? 1 : 0;
    *ret_result = reinterpret_cast<void *>(words);
    return 0;
}

pool_ptr make_pool(int threads)
{
    hora_pool_options options = HORA_INIT(hora_pool_options);
    hora_metrics metrics = HORA_INIT(hora_metrics);
    hora_pool *pool = nullptr;
    hora_error error;
    options.core_threads = threads;
    options.name = "words-";
    options.metrics = &metrics; /* copied, like everything that options point to */
    if (hora_pool_new(&options, &pool, &error) < 0)
        std::printf("%s: %s\n", error.field, error.message);
    return pool_ptr(pool);
}

/* Returns -1 on failure. */
int count(hora_pool *pool, std::string &text)
{
    hora_future *submitted;
    void *words = nullptr;
    if (hora_pool_submit(pool, HORA_TASK(count_words, &text), &submitted) < 0)
        return -1;
    future_ptr future(submitted);
    return hora_future_get_for(submitted, HORA_SECONDS(10), &words) < 0
               ? -1
               : static_cast<int>(reinterpret_cast<std::intptr_t>(words));
}

/* Returns how many functions have declared themselves: none, because HORA_SCHEDULED_FUNCTION requires C++20.
 * Returns -1 on failure. */
int scan()
{
    hora_registrar *made;
    hora_error error;
    if (hora_registrar_new(nullptr, &made, &error) < 0)
        return -1;
    registrar_ptr registrar(made);
    return hora_registrar_scan(made, &error);
}

} // namespace

int main()
{
    std::string text = "the quick brown fox";
    if (make_pool(-1) != nullptr) /* prints the reason */
        return 1;
    pool_ptr pool = make_pool(2);
    if (pool == nullptr)
        return 1;
    int words = count(pool.get(), text);
    std::printf("%d words\n", words);

    int ran = 0;
    auto add = [](void *arg, void **) { return ++*static_cast<int *>(arg), 0; };
    if (hora_pool_execute(pool.get(), HORA_TASK(add, &ran)) < 0 || hora_pool_await_idle(pool.get()) < 0)
        return 1;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    hora_distribution runs = HORA_INIT(hora_distribution);
    if (hora_pool_get_stats(pool.get(), &stats) < 0 ||
        hora_pool_get_distribution(pool.get(), nullptr, HORA_METRIC_RUN, &runs) < 0)
        return 1;
    std::printf("%d tasks were accepted, %d ran\n", static_cast<int>(stats.accepted),
                static_cast<int>(runs.count));
    return words != 4 || ran != 1 || stats.accepted != 2 || runs.count != 2 || scan() != 0;
}
