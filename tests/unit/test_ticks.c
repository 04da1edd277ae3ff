/* SPDX-License-Identifier: Apache-2.0 */
/* test_ticks.c - spans measured in ticks are those of the monotonic clock */
#include "harness.h"
#include "sys/clock.h"

static void wait_until(int64_t ns)
{
    while (hora__now(HORA__MONOTONIC) < ns)
        ;
}

/* A busy machine may preempt the thread between two readings. So the span in ticks lies inside one span by
 * the clock, and around another. */
static void check_span(const struct hora__ticker *ticker, int64_t ns, int64_t tolerance_ppm)
{
    int64_t outer_start = hora__now(HORA__MONOTONIC);
    int64_t start = hora__ticks(ticker);
    int64_t inner_start = hora__now(HORA__MONOTONIC);
    wait_until(inner_start + ns);
    int64_t inner_end = hora__now(HORA__MONOTONIC);
    int64_t end = hora__ticks(ticker);
    int64_t outer_end = hora__now(HORA__MONOTONIC);
    int64_t span = hora__rate_to_ns(hora__ticker_scale(ticker).values, end - start);
    int64_t tolerance = (outer_end - outer_start) * tolerance_ppm / 1000000 + 200;
    CHECK(span >= inner_end - inner_start - tolerance);
    CHECK(span <= outer_end - outer_start + tolerance);
}

TEST_REAL(ticks_are_as_long_as_the_clock_says, "")
{
    struct hora__ticker ticker;
    hora__ticker_init(&ticker);
    check_span(&ticker, HORA_US(1), 10000); /* at once: by the first rate */
    check_span(&ticker, HORA_US(100), 10000);
    wait_until(ticker.start_ns + HORA_MS(100));
    check_span(&ticker, HORA_MS(20), 100);
    struct hora__scale scale = hora__ticker_scale(&ticker);
    CHECK(scale.bounds.ns == ticker.coarse.ns && scale.bounds.ticks == ticker.coarse.ticks);
}

TEST_REAL(rates_agree_with_one_another, "")
{
    struct hora__ticker first;
    struct hora__ticker second;
    hora__ticker_init(&first);
    hora__ticker_init(&second);
    if (!first.is_fast || !second.is_fast)
        return;
    int64_t a = hora__rate_to_ns(first.coarse, HORA_SECONDS(1));
    int64_t b = hora__rate_to_ns(second.coarse, HORA_SECONDS(1));
    CHECK(a < b * 102 / 100 && b < a * 102 / 100);
}

TEST_REAL(without_a_counter_ticks_are_nanoseconds, "")
{
    struct hora__ticker ticker = {.coarse = HORA__RATE_ONE};
    int64_t before = hora__now(HORA__MONOTONIC);
    int64_t ticks = hora__ticks(&ticker);
    CHECK(ticks >= before && ticks <= hora__now(HORA__MONOTONIC));
    CHECK_INT(hora__rate_to_ns(hora__ticker_scale(&ticker).values, INT64_MAX), INT64_MAX);
}

/* As after a suspend: the counter has advanced by an hour, or started again. */
TEST_REAL(a_rate_that_cannot_be_is_not_believed, "")
{
    struct hora__ticker ticker;
    hora__ticker_init(&ticker);
    if (!ticker.is_fast)
        return;
    int64_t start = ticker.start_ticks;
    const int64_t shifts[] = {-hora__rate_to_ticks(ticker.coarse, HORA_HOURS(1)), start, INT64_MAX / 4};
    for (int i = 0; i < 3; i++) {
        ticker.start_ticks = start + shifts[i];
        struct hora__rate rate = hora__ticker_scale(&ticker).values;
        CHECK(rate.ns == ticker.coarse.ns && rate.ticks == ticker.coarse.ticks);
    }
}

TEST_REAL(conversions_are_exact_or_saturate, "")
{
    struct hora__rate third = {1000000000, 3000000000};
    CHECK_INT(hora__rate_to_ns(third, 3), 1);
    CHECK_INT(hora__rate_to_ns(third, INT64_C(3000000000) * 86400), HORA_SECONDS(86400));
    CHECK_INT(hora__rate_to_ticks(third, HORA_SECONDS(5)), INT64_C(15000000000));
    CHECK_INT(hora__rate_to_ticks(third, INT64_MAX - (int64_t)test_random(2)),
              INT64_MAX); /* not known to the compiler */
    CHECK_INT(hora__rate_to_ns(HORA__RATE_ONE, INT64_MAX - 1), INT64_MAX - 1);
}
