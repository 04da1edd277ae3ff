/* SPDX-License-Identifier: Apache-2.0 */
/* test_histogram.c - distributions of values, compared with the sorted values themselves
 *
 * Values are drawn from all powers of two, so that all buckets are used, or from few, so that each bucket has
 * many. */
#include <stdlib.h>
#include <string.h>

#include "base/distribution.h"
#include "harness.h"
#include "observe/histogram.h"

enum { MOST = 3000, ROUNDS = 60 };

static struct hora__histogram histogram;
static struct hora__distribution all;
static int64_t values[MOST];

static int compare(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

static uint64_t random64(void)
{
    uint64_t high = test_random(UINT32_MAX);
    return high << 32 ^ test_random(UINT32_MAX) ^ (uint64_t)test_random(2) << 63;
}

/* Of any size up to this many bits. */
static int64_t some_value(uint32_t bits)
{
    return (int64_t)(random64() >> (64 - bits + test_random(bits)));
}

static int64_t width_at(int64_t value)
{
    return (int64_t)hora__bucket_width(hora__bucket_of((uint64_t)value));
}

static void read_all(void)
{
    all = (struct hora__distribution){.count = 0};
    hora__histogram_add(&all, &histogram);
}

TEST_REAL(buckets_follow_one_another_without_gaps, "")
{
    uint64_t next = 0;
    for (unsigned i = 0; i < HORA__BUCKETS; i++) {
        uint64_t low = hora__bucket_low(i);
        uint64_t width = hora__bucket_width(i);
        CHECK(low == next);
        CHECK_INT(hora__bucket_of(low), i);
        CHECK_INT(hora__bucket_of(low + width - 1), i);
        CHECK(width == 1 || width <= low / 8);
        next = low + width;
    }
    CHECK(next == UINT64_C(1) << 63);
    CHECK_INT(hora__bucket_width(15), 1); /* exact below 16 */
    CHECK_INT(hora__bucket_width(16), 2);
}

TEST_REAL(what_is_empty_has_no_values, "")
{
    histogram = (struct hora__histogram){.max = {0}};
    read_all();
    CHECK_INT(all.count, 0);
    CHECK_INT(all.max, 0);
    CHECK_INT(hora__distribution_quantile(&all, 0.5), 0);
    CHECK_INT(hora__distribution_quantile(&all, 1), 0);
    CHECK_INT(hora__distribution_up_to(&all, INT64_MAX), 0);
}

TEST_REAL(extremes_have_their_place, "")
{
    histogram = (struct hora__histogram){.max = {0}};
    hora__histogram_record(&histogram, 0);
    hora__histogram_record(&histogram, -5);
    hora__histogram_record(&histogram, INT64_MIN);
    read_all();
    CHECK_INT(all.count, 3);
    CHECK_INT(all.max, 0);
    CHECK_INT(all.counts[0], 3);
    CHECK_INT(hora__distribution_quantile(&all, 0.99), 0);
    CHECK_INT(hora__distribution_up_to(&all, 0), 3);
    CHECK_INT(hora__distribution_up_to(&all, -1), 0);
    hora__histogram_record(&histogram, INT64_MAX);
    hora__histogram_record(&histogram, INT64_MAX);
    read_all();
    CHECK_INT(all.count, 5);
    CHECK_INT(all.counts[HORA__BUCKETS - 1], 2);
    CHECK_INT(all.max, INT64_MAX);
    CHECK_INT(hora__distribution_quantile(&all, 1), INT64_MAX);
    CHECK_INT(hora__distribution_quantile(&all, 2), INT64_MAX);
    CHECK_INT(hora__distribution_quantile(&all, -1), 0);
    CHECK_INT(hora__distribution_up_to(&all, INT64_MAX), 5);
    struct hora__seconds sum = hora__distribution_sum(&all, HORA__RATE_ONE);
    CHECK_INT(sum.seconds, 18446744073); /* 2^64 - 2 */
    CHECK_INT(sum.nanoseconds, 709551614);
    sum = hora__distribution_sum(&all, (struct hora__rate){1, 2});
    CHECK_INT(sum.seconds, 9223372036);
    /* As exact as a double is for this number of seconds, about 2 us: under valgrind, and on some machines, a
     * long double is not more exact. */
    CHECK(sum.nanoseconds > 854765000 && sum.nanoseconds < 854785000);
}

/* As the k-th of n values, k = ceil(q * n). */
static int64_t true_quantile(int count, int per_mille)
{
    int rank = (count * per_mille + 999) / 1000;
    return values[rank < 1 ? 0 : rank - 1];
}

static void check_quantiles(int count)
{
    static const int per_milles[] = {0, 1, 70, 250, 500, 900, 950, 990, 999, 1000};
    int64_t before = 0;
    for (size_t i = 0; i < sizeof per_milles / sizeof per_milles[0]; i++) {
        int64_t got = hora__distribution_quantile(&all, per_milles[i] / 1000.0);
        int64_t want = true_quantile(count, per_milles[i]);
        CHECK_INT(hora__bucket_of((uint64_t)got), hora__bucket_of((uint64_t)want));
        CHECK(llabs(got - want) < width_at(want));
        CHECK(got <= all.max && got >= before);
        before = got;
    }
    CHECK_INT(before, values[count - 1]);
}

/* Those below the bucket of the bound count in full, those above it not at all. */
static void check_bounds(int count)
{
    int64_t before = 0;
    for (uint32_t bits = 1; bits < 63; bits++) {
        int64_t bound = (INT64_C(1) << bits) - 1 + (int64_t)test_random(2) * (INT64_C(1) << bits) / 2;
        int64_t got = hora__distribution_up_to(&all, bound);
        unsigned bucket = hora__bucket_of((uint64_t)bound);
        int64_t least = 0;
        int64_t most = 0;
        for (int i = 0; i < count; i++) {
            least += hora__bucket_of((uint64_t)values[i]) < bucket;
            most += hora__bucket_of((uint64_t)values[i]) <= bucket;
        }
        CHECK(got >= least && got <= most && got >= before);
        if ((uint64_t)bound == hora__bucket_low(bucket) + hora__bucket_width(bucket) - 1)
            CHECK_INT(got, most); /* at an edge it is exact */
        before = got;
    }
}

TEST_REAL(quantiles_are_in_the_right_bucket, "")
{
    for (int round = 0; round < ROUNDS; round++) {
        int count = 1 + (int)test_random(round % 2 == 0 ? MOST : 20);
        uint32_t bits = 1 + test_random(62);
        int64_t sum = 0;
        histogram = (struct hora__histogram){.max = {0}};
        for (int i = 0; i < count; i++) {
            values[i] = some_value(bits);
            hora__histogram_record(&histogram, values[i]);
            sum = (int64_t)((uint64_t)sum + (uint64_t)values[i]);
        }
        qsort(values, (size_t)count, sizeof values[0], compare);
        read_all();
        CHECK_INT(all.count, count);
        CHECK_INT(all.max, values[count - 1]);
        CHECK_INT((int64_t)(all.sum_high << HORA__SUM_SHIFT) + (int64_t)all.sum_low, sum); /* modulo 2^64 */
        check_quantiles(count);
        check_bounds(count);
    }
}

TEST_REAL(small_values_are_exact, "")
{
    histogram = (struct hora__histogram){.max = {0}};
    for (int i = 1; i <= 10; i++)
        hora__histogram_record(&histogram, i);
    read_all();
    for (int i = 1; i <= 10; i++) {
        CHECK_INT(hora__distribution_quantile(&all, i / 10.0), i);
        CHECK_INT(hora__distribution_up_to(&all, i), i);
    }
}

TEST_REAL(one_value_is_known_by_its_bucket_and_max, "")
{
    histogram = (struct hora__histogram){.max = {0}};
    for (int i = 0; i < 3; i++)
        hora__histogram_record(&histogram, 1000);
    read_all();
    int64_t median = hora__distribution_quantile(&all, 0.5);
    CHECK(median >= 960 && median <= 1000); /* [960, 1024), and no more than max */
    CHECK_INT(hora__distribution_quantile(&all, 1), 1000);
}

TEST_REAL(values_in_a_bucket_count_as_evenly_spread, "")
{
    histogram = (struct hora__histogram){.max = {0}};
    for (int i = 960; i < 1024; i++) /* one bucket, and another one for what is greatest */
        hora__histogram_record(&histogram, i);
    hora__histogram_record(&histogram, 2000);
    read_all();
    for (int k = 1; k <= 64; k++)
        CHECK_INT(hora__distribution_quantile(&all, k / 65.0), 959 + k);
    for (int i = 960; i < 1024; i++)
        CHECK_INT(hora__distribution_up_to(&all, i), i - 959);
}

/* 0.07 is a little more than 7 of 100. */
TEST_REAL(ranks_are_not_rounded_up_for_nothing, "")
{
    histogram = (struct hora__histogram){.max = {0}};
    for (int i = 1; i <= 100; i++)
        hora__histogram_record(&histogram, i <= 7 ? 0 : 10);
    read_all();
    CHECK_INT(hora__distribution_quantile(&all, 0.07), 0);
    CHECK_INT(hora__distribution_quantile(&all, 0.0701), 10);
}

TEST_REAL(sums_carry, "")
{
    histogram = (struct hora__histogram){.max = {0}};
    hora__histogram_record(&histogram, 0xFFFF);
    read_all();
    hora__histogram_add(&all, &histogram);
    CHECK_INT(all.count, 2);
    CHECK_INT(all.sum_high, 1);
    CHECK_INT(all.sum_low, 0xFFFE);
    CHECK_INT(hora__distribution_sum(&all, HORA__RATE_ONE).nanoseconds, 2 * 0xFFFF);
}

TEST_REAL(sums_are_those_of_all_parts, "")
{
    static struct hora__histogram parts[3];
    static struct hora__distribution merged;
    memset(parts, 0, sizeof parts);
    histogram = (struct hora__histogram){.max = {0}};
    for (int i = 0; i < MOST; i++) {
        int64_t value = some_value(63);
        hora__histogram_record(&histogram, value);
        hora__histogram_record(&parts[test_random(3)], value);
    }
    read_all();
    merged = (struct hora__distribution){.count = 0};
    for (int i = 0; i < 3; i++)
        hora__histogram_add(&merged, &parts[i]);
    CHECK(memcmp(&merged, &all, sizeof all) == 0);
}

TEST_REAL(the_count_up_to_a_bound_never_falls, "")
{
    static const int64_t bounds[] = {100, 1000, 12345, 1000000};
    int64_t before[4] = {0};
    histogram = (struct hora__histogram){.max = {0}};
    for (int i = 0; i < MOST; i++) {
        hora__histogram_record(&histogram, some_value(21));
        read_all();
        for (int k = 0; k < 4; k++) {
            int64_t got = hora__distribution_up_to(&all, bounds[k]);
            CHECK(got >= before[k]);
            before[k] = got;
        }
    }
}

/* ---- while it is written ---- */

enum { WRITES = 200000 };

static hora__atomic is_over;

static void write_many(void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < WRITES; i++)
        hora__histogram_record(&histogram, i * i);
    hora__atomic_store(&is_over, 1);
}

TEST_REAL(readings_while_it_is_written_agree_with_themselves, "")
{
    histogram = (struct hora__histogram){.max = {0}};
    hora__atomic_init(&is_over, 0);
    test_thread *writer = test_thread_start(NULL, write_many, NULL);
    int64_t count = 0;
    int64_t max = 0;
    bool last;
    do {
        last = hora__atomic_load(&is_over) != 0;
        read_all();
        CHECK(all.count >= count && all.max >= max);
        CHECK(hora__distribution_quantile(&all, 0.999) <= all.max);
        CHECK_INT(hora__distribution_up_to(&all, INT64_MAX), all.count);
        count = all.count;
        max = all.max;
    } while (!last);
    test_thread_join(writer);
    CHECK_INT(all.count, WRITES);
    CHECK_INT(all.max, (int64_t)(WRITES - 1) * (WRITES - 1));
}

/* The greatest value may become visible after the bucket. */
TEST_REAL(a_bucket_without_its_max_is_read_as_its_least_value, "")
{
    histogram = (struct hora__histogram){.max = {0}};
    hora__counter_add(&histogram.counts[hora__bucket_of(1000)], 2);
    read_all();
    CHECK_INT(all.max, 960);
    CHECK_INT(hora__distribution_quantile(&all, 0.5), 960);
    CHECK_INT(hora__distribution_quantile(&all, 1), 960);
}
