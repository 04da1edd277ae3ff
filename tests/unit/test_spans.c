/* SPDX-License-Identifier: Apache-2.0 */
/* test_spans.c - tables of spans from random drafts: the index finds the right span */
#include <string.h>

#include "cron/zone.h"
#include "harness.h"
#include "sys/alloc.h"

enum { ROUNDS = 300, MOST = 400 };

static int64_t random_between(int64_t low, int64_t high)
{
    uint64_t top = test_random(UINT32_MAX), bottom = test_random(UINT32_MAX);
    return low + (int64_t)((top << 32 | bottom) % (uint64_t)(high - low));
}

/* Some tables are spread over all time, some are crowded in a day of it. */
static struct hora__spans *random_spans(void)
{
    struct hora__draft draft;
    CHECK_OK(hora__draft_init(&draft, MOST, 64));
    bool is_crowded = test_random(2) == 0;
    size_t count = 1 + test_random(MOST - 1);
    int64_t at = is_crowded ? random_between(HORA__SECOND_MIN, HORA__SECOND_MAX - 100000)
                            : HORA__SECOND_FIRST - 1000000000;
    for (size_t i = 0; i < count; i++) {
        struct hora__span span = {.offset = (int32_t)test_random(3) * 3600, .is_dst = test_random(2) == 0};
        span.short_name = hora__draft_name(&draft, &"ABCDEFG"[test_random(2)], 4);
        hora__draft_add(&draft, at, span);
        at += is_crowded ? test_random(200) : random_between(0, INT64_C(100000000));
    }
    struct hora__spans *spans = NULL;
    CHECK_OK(hora__draft_finish(&draft, &spans));
    hora__draft_destroy(&draft);
    return spans;
}

static void check_find(const struct hora__spans *spans, int64_t second)
{
    size_t want = 0;
    while (want + 1 < spans->count && spans->begins[want + 1] <= second)
        want++;
    CHECK_INT(hora__spans_find(spans, second), want);
    CHECK(second < hora__spans_end(spans, want) || second == INT64_MAX);
}

TEST_REAL(spans_are_found, "")
{
    for (int round = 0; round < ROUNDS; round++) {
        struct hora__spans *spans = random_spans();
        CHECK(hora__spans_is_sound(spans));
        CHECK(hora__spans_equal(spans, spans));
        for (size_t i = 1; i < spans->count; i++) {
            check_find(spans, spans->begins[i] - 1);
            check_find(spans, spans->begins[i]);
            check_find(spans, spans->begins[i] + 1);
        }
        for (int k = 0; k < 100; k++)
            check_find(spans, random_between(HORA__SECOND_FIRST, HORA__SECOND_MAX));
        static const int64_t ends[] = {INT64_MIN,        HORA__SECOND_FIRST - 1, HORA__SECOND_FIRST,
                                       HORA__SECOND_MIN, HORA__SECOND_MAX,       HORA__SECOND_MAX + 1,
                                       INT64_MAX};
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
            check_find(spans, ends[i]);
        hora__free(spans);
    }
}

TEST_REAL(spans_of_utc, "")
{
    const struct hora__spans *utc = hora__spans_utc();
    struct hora__spans *fixed = NULL;
    CHECK(hora__spans_is_sound(utc) && hora__spans_is_fixed(utc));
    check_find(utc, INT64_MIN);
    check_find(utc, 0);
    check_find(utc, INT64_MAX);
    CHECK_OK(hora__spans_fixed(0, "UTC", &fixed));
    CHECK(hora__spans_equal(utc, fixed));
    hora__free(fixed);
    CHECK_OK(hora__spans_fixed(0, "GMT", &fixed));
    CHECK(!hora__spans_equal(utc, fixed));
    hora__free(fixed);
}

/* Of two spans that begin at the same second the one added last counts. If it equals the span before it, the
 * two become one. */
TEST_REAL(spans_drafts_keep_the_invariants, "")
{
    struct hora__draft draft;
    struct hora__spans *spans = NULL;
    CHECK_OK(hora__draft_init(&draft, 4, 8));
    uint16_t name = hora__draft_name(&draft, "ABC", 3);
    CHECK_INT(hora__draft_name(&draft, "ABC", 3), name);
    const struct hora__span summer = {.offset = 1, .short_name = name},
                            winter = {.offset = 0, .short_name = name};
    hora__draft_add(&draft, 5, winter);
    hora__draft_add(&draft, 10, summer);
    hora__draft_add(&draft, 10, winter);
    CHECK_INT(draft.count, 1);
    hora__draft_add(&draft, 20, summer);
    hora__draft_add(&draft, 30, summer);
    CHECK_INT(draft.count, 2);
    hora__draft_add(&draft, INT64_MAX, winter);
    CHECK_OK(hora__draft_finish(&draft, &spans));
    hora__draft_destroy(&draft);
    CHECK_INT(spans->count, 2);
    CHECK_INT(spans->begins[1], 20);
    CHECK(hora__spans_is_sound(spans) && !hora__spans_is_fixed(spans));
    hora__free(spans);
}
