/* SPDX-License-Identifier: Apache-2.0 */
/* cpp20.cpp - hora in C++20: options are written as literals in the call, as in C, with fields in order
 *
 * A producer puts numbers into a queue, and two tasks of a pool add them up. Then a function runs that has
 * declared itself. */
#include <atomic>
#include <cstdio>

#include <hora/hora.h>

namespace {

constexpr int NUMBERS = 100;

std::atomic<int> dropped{0};
std::atomic<int> ticks{0};

void drop_number(void *number)
{
    (void)number;
    ++dropped;
}

struct adder {
    hora_queue *queue;
    std::atomic<int> total{0};
};

int add_up(void *arg, void **)
{
    auto *own = static_cast<adder *>(arg);
    void *number;
    int error;
    while ((error = hora_queue_take(own->queue, &number)) == 0)
        own->total += *static_cast<int *>(number);
    return error == HORA_ECLOSED ? 0 : error;
}

/* Structs that options point to may be written as literals as well. */
bool add_with(hora_queue *queue)
{
    static int numbers[NUMBERS];
    hora_pool *pool;
    hora_error error;
    adder all{queue};
    if (hora_pool_new(
            HORA_POOL_OPTIONS(.core_threads = 2, .name = "sum-", .metrics = HORA_METRICS(.max_names = 10)),
            &pool, &error) < 0) {
        std::puts(error.message);
        return false;
    }
    bool good = true;
    for (int i = 0; i < 2; i++)
        good = hora_pool_execute(pool, HORA_TASK(add_up, &all, .name = "add up")) == 0 && good;
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] = i + 1;
        good = hora_queue_put(queue, &numbers[i]) == 0 && good;
    }
    hora_queue_close(queue); /* its elements can still be taken */
    good = hora_pool_close(pool) == 0 && good;
    hora_counts counts = HORA_INIT(hora_counts);
    good = hora_pool_get_counts(pool, "add up", &counts) == 0 && good;
    std::printf("%d tasks have added up %d\n", static_cast<int>(counts.done), all.total.load());
    return hora_pool_free(pool) == 0 && good && counts.done == 2 && all.total == NUMBERS * (NUMBERS + 1) / 2;
}

hora_latch *ticked;

HORA_SCHEDULED_FUNCTION(tick, .fixed_rate = HORA_MS(10), .initial_delay = HORA_MS(1))
{
    if (++ticks == 3)
        hora_latch_count_down(ticked);
    return 0;
}

bool run_declared()
{
    hora_registrar *registrar;
    hora_error error;
    if (hora_latch_new(1, nullptr, &ticked, &error) < 0 ||
        hora_registrar_new(nullptr, &registrar, &error) < 0)
        return false;
    int found = hora_registrar_scan(registrar, &error);
    std::printf("%d function declares itself\n", found);
    bool good =
        found == 1 && hora_registrar_bind(registrar, nullptr, &error) == 0 && hora_latch_await(ticked) == 0;
    return hora_registrar_free(registrar) == 0 && hora_latch_free(ticked) == 0 && good;
}

} // namespace

int main()
{
    hora_queue *queue;
    hora_error error;
    if (hora_queue_new_array(8, HORA_QUEUE_OPTIONS(.fair = true, .drop = drop_number), &queue, &error) < 0) {
        std::puts(error.message);
        return 1;
    }
    bool good = add_with(queue);
    return hora_queue_free(queue) < 0 || dropped != 0 || !good || !run_declared();
}
