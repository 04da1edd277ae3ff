/* SPDX-License-Identifier: Apache-2.0 */
/* check.hpp - checks for the tests of the C++ interface, and objects that count themselves
 *
 * A test is a function. main() calls RUN for each, and returns failures(). */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <atomic>
#include <cstdio>
#include <exception>

namespace check {

inline std::atomic<int> failed{0};

inline void that(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    failed++;
    std::printf("FAIL %s:%d: %s\n", file, line, what);
}

/* Returns whether an exception of type E leaves body(), and examine(exception) is true. */
template <typename E, typename Body, typename Examine> bool throws(Body &&body, Examine &&examine)
{
    try {
        body();
    } catch (const E &thrown) {
        return examine(thrown);
    } catch (const std::exception &thrown) {
        std::printf("another exception: %s\n", thrown.what());
    }
    return false;
}

template <typename Test> void run(Test &&test, const char *name)
{
    const int before = failed;
    try {
        test();
    } catch (const std::exception &thrown) {
        failed++;
        std::printf("FAIL %s: %s\n", name, thrown.what());
    }
    std::printf("%s %s\n", failed == before ? "ok  " : "FAIL", name);
}

/* An object that is destroyed exactly once, or `alive` shows it. It can be moved, not copied. */
struct tracked {
    static inline std::atomic<int> alive{0};
    int value;

    explicit tracked(int given = 0) : value(given)
    {
        alive++;
    }
    tracked(tracked &&other) noexcept : value(other.value)
    {
        alive++;
        other.value = -1;
    }
    tracked &operator=(tracked &&other) noexcept
    {
        value = other.value;
        other.value = -1;
        return *this;
    }
    ~tracked()
    {
        alive--;
    }
};

} // namespace check

#define CHECK(condition)         check::that((condition), #condition, __FILE__, __LINE__)
#define CHECK_THROWS(type, body) CHECK(check::throws<type>([&] { body; }, [](const type &) { return true; }))
#define CHECK_CODE(expected, body)    \
    CHECK(check::throws<hora::error>( \
        [&] { body; }, [&](const hora::error &thrown) { return thrown.code() == (expected); }))
#define RUN(test) check::run(test, #test)

#endif
